#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include <stratum/assembly/patches/patch_problem.hpp>
#include <stratum/core/patches/patch_rows.hpp>
#include <stratum/multigrid/patches/patch_levels.hpp>

#include "patches/meshes.hpp"
#include "patches/random_numbers.hpp"
#include "support/backends.hpp"

namespace {

using namespace stratum;

std::size_t at(int k) { return static_cast<std::size_t>(k); }

/// In one pass as in two; the coarse x begins at zero.
TEST(PatchTransfer, RestrictsResidualsInOnePass) {
  for (const Backend backend : test::available_backends())
    for (const int cells : {16, 11}) {
      Context ctx = test::context_on(backend);
      PatchSystem system = assemble(ctx, PatchMesh(turned_at_random(test::with_cells(star(5), cells), 4)), {});
      const auto levels =
          patch_levels(system.layout, std::move(system.rows), std::move(system.conductances), system.fixed_edges, 100);
      const auto &fine = levels[0].layout, &coarse = levels[1].layout;
      const auto random_numbers = [&](const PatchLayout& layout, unsigned seed) {
        std::mt19937 random(seed);
        return vector_from_host(ctx, test::random_at_nodes(layout, random));
      };
      const PatchOperator<double> a(ctx, levels[0].rows, levels[0].fixed);
      const PatchTransfer<double> transfer(ctx, fine, coarse, levels[0].weights);
      const PatchRows rows(ctx, fine), coarse_rows(ctx, coarse);
      const Partial<double> b{random_numbers(fine, 1)};
      const Consistent<double> x{random_numbers(fine, 2)};
      Consistent<double> coarse_x{random_numbers(coarse, 3)};
      auto r = partial<double>(ctx, fine), expected = partial<double>(ctx, coarse),
           found = partial<double>(ctx, coarse);
      residual(ctx, rows, a, b, x, r);
      transfer.restrict_to(ctx, coarse_rows, r, expected);
      transfer.restrict_residual(ctx, coarse_rows, a, b, x, found, coarse_x);
      std::vector<double> one(at(coarse.size())), two(one), zero(one);
      copy_to_host(ctx, found.numbers.cview(), one.data());
      copy_to_host(ctx, expected.numbers.cview(), two.data());
      copy_to_host(ctx, coarse_x.numbers.cview(), zero.data());
      double largest = 0;
      for (const double number : two) largest = std::max(largest, std::abs(number));
      EXPECT_GT(largest, 1);
      for (std::size_t k = 0; k < one.size(); ++k) {
        EXPECT_NEAR(one[k], two[k], 1e-13 * largest);
        EXPECT_EQ(zero[k], 0);
      }
    }
}

}  // namespace
