// Matrices of a box that are not symmetric, in 27 bands: products, smoothers, coarse matrices and the last level's inverse against
// dense ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <stratum/multigrid/box_multigrid.hpp>
#include <stratum/solvers/direct/box_inverse.hpp>

#include "support/box_maps.hpp"
#include "support/box_problems.hpp"

namespace {

using namespace stratum;
using test::dense;
using test::DenseMatrix;
using test::Random;

/// Entries at random, most of them negative, and diagonals that exceed their sum; its dense form besides.
struct RandomMatrix {
  BoxShape shape;
  BoxFullBands<double> bands;
  DenseMatrix entries{0, 0};
};
RandomMatrix random_matrix(Context& ctx, Random& random, const BoxShape& shape, bool sums_are_zero = false) {
  RandomMatrix m;
  m.shape = shape;
  m.bands = BoxFullBands<double>(ctx, shape);
  const auto& [nx, ny, nz] = shape.n;
  const auto n = static_cast<std::size_t>(shape.n.nodes());
  m.entries = DenseMatrix(n, n);
  std::vector<std::vector<double>> band(box_row, std::vector<double>(n, 0));
  const auto around = [](int i, int size) { return (i + size) % size; };
  std::size_t here = 0;
  for (int k = 0; k < nz; ++k)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i, ++here) {
        const double e = sums_are_zero ? 0 : random.uniform(0, 1);
        band[box_neighbours][here] = e;
        m.entries(here, here) = e;
        for (int o = -box_neighbours; o <= box_neighbours; ++o) {
          const BoxOffset to(o);
          if (o == 0 || !shape.has(0, i + to.x) || !shape.has(1, j + to.y) || !shape.has(2, k + to.z)) continue;
          const double a = -random.uniform(-0.1, 1);
          const auto there =
              (static_cast<std::size_t>(around(k + to.z, nz)) * ny + around(j + to.y, ny)) * nx + around(i + to.x, nx);
          band[static_cast<std::size_t>(box_neighbours + o)][here] = a;
          m.entries(here, there) += a;
          m.entries(here, here) -= a;
        }
      }
  for (int o = -box_neighbours; o <= box_neighbours; ++o)
    copy_from_host<double>(ctx, band[static_cast<std::size_t>(box_neighbours + o)].data(), m.bands.band(o));
  ctx.synchronise();
  m.bands.fill_ghosts(ctx);
  return m;
}
/// Sizes and directions that go round by the bits of `number`.
BoxShape some_shape(int number) {
  return {{3 + number % 3, 4 + number % 2, 5}, {(number & 1) != 0, (number & 2) != 0, (number & 4) != 0}};
}
GatedLevel level_of(Random& random, const BoxShape& shape) {
  test::BoxProblem problem;
  for (int d = 0; d < 3; ++d) {
    const auto e = static_cast<std::size_t>(d);
    problem.ends[e] = shape.periodic[e] ? "PP" : "NN";
    problem.widths[e].assign(static_cast<std::size_t>(shape.size(d) - (shape.periodic[e] ? 0 : 1)), 1.0);
  }
  return test::random_level(random, problem);
}

TEST(BoxFullBands, MultiplyAndRelaxAsDenseMatrices) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(21);
    for (int number = 0; number < 8; ++number) {
      SCOPED_TRACE(number);
      const RandomMatrix m = random_matrix(ctx, random, some_shape(number));
      const BoxMatrix<double> a(m.bands);
      const DenseMatrix product = dense(ctx, a);
      for (std::size_t i = 0; i < product.rows(); ++i)
        for (std::size_t j = 0; j < product.rows(); ++j)
          ASSERT_NEAR(static_cast<double>(product(i, j)), static_cast<double>(m.entries(i, j)), 1e-13) << i << ' ' << j;
      const auto b = random.values(product.rows()), x = random.values(product.rows());
      for (int axis = -1; axis < 3; ++axis)
        for (const bool reversed : {false, true}) {
          test::expect_step<double>(ctx, a, m.entries, axis, reversed, b, x, 1e-10);
          test::expect_step<float>(ctx, a, m.entries, axis, reversed, b, x, 1e-3);
        }
    }
  }
}

/// R^T A P in long double, from dense R, A and P; R is no P.
TEST(BoxFullBands, CoarseMatricesAreProducts) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(22);
    for (int number = 0; number < 16; ++number) {
      SCOPED_TRACE(number);
      const RandomMatrix m = random_matrix(ctx, random, some_shape(number % 8), number >= 8);
      const BoxMatrix<double> a(m.bands);
      const GatedLevel level = level_of(random, m.shape);
      const BoxTransfer<double> transfer(ctx, level, a, {}), restriction(ctx, level, a, {}, true);
      const DenseMatrix p = dense(ctx, transfer), r = dense(ctx, restriction);
      const BoxFullBands<double> bands = transfer.coarsen(ctx, m.bands, restriction);
      const DenseMatrix coarse = dense(ctx, BoxMatrix<double>(bands));
      double worst = 0, apart = 0;
      for (std::size_t i = 0; i < coarse.rows(); ++i)
        for (std::size_t j = 0; j < coarse.rows(); ++j) {
          long double sum = 0, size = std::abs(coarse(i, i));
          for (std::size_t s = 0; s < p.rows(); ++s) {
            if (r(s, i) == 0) continue;
            for (std::size_t t = 0; t < p.rows(); ++t) {
              const long double term = r(s, i) * m.entries(s, t) * p(t, j);
              sum += term;
              size += std::abs(term);
            }
          }
          worst = std::max(worst, static_cast<double>(std::abs(sum - coarse(i, j)) / size));
        }
      for (std::size_t s = 0; s < p.rows(); ++s)
        for (std::size_t i = 0; i < coarse.rows(); ++i)
          apart = std::max(apart, std::abs(static_cast<double>(p(s, i) - r(s, i))));
      EXPECT_LT(worst, 2e-14);
      EXPECT_TRUE(apart > 1e-3 || coarse.rows() == p.rows());
      // Exactly: what is left of rows is no difference.
      if (number < 8) continue;
      for (const double e : test::numbers_of<double>(ctx, FieldView<const double, 3>(bands.band(0)))) EXPECT_EQ(e, 0);
    }
  }
}

TEST(BoxFullBands, AreInverted) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(23);
    for (int number = 0; number < 8; ++number) {
      SCOPED_TRACE(number);
      const RandomMatrix m = random_matrix(ctx, random, some_shape(number));
      const BoxMatrix<double> a(m.bands);
      const auto x = random.values(m.entries.rows());
      Field<double, 3> b(ctx, m.shape.layout(0)), found(ctx, m.shape.layout(0));
      a.apply(ctx, test::box_field<double>(ctx, m.shape, x).cview(), b.view());
      BoxInverse(ctx, a, false).apply<double>(ctx, b.cview(), found.view());
      const auto values = test::numbers_of<double>(ctx, found.cview());
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(values[i], x[i], 1e-11);
    }
  }
}

}  // namespace
