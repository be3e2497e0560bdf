// Rows beside subdomains (multigrid/overlap.hpp): every cut has as many on either side as the lines there ask for, and cycles
// are those of one subdomain.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/multigrid/overlap.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gmock/gmock.h>

#include "support/boundaries.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;
using enum BoundaryType;

constexpr int nx = 24, ny = 480;

/// Cells are thin at the bottom, and wide at the top: 0.3 to 5 times as high as wide.
Values heights() {
  Values h(ny + 1);
  for (int j = 0; j <= ny; ++j) h[static_cast<std::size_t>(j)] = 0.3 * std::pow(1.006, j);
  return h;
}
TensorMesh<2> growing(Values y, bool periodic = false) {
  if (periodic) y.pop_back();
  const auto end = periodic ? BoundaryType::periodic : dirichlet;
  return test::with_boundaries({Axis(Values(nx + 1, 1.0)), Axis(std::move(y))}, {dirichlet, dirichlet, end, end});
}

/// Of a line along y between others that are zero, rows begin, begin + step, ... from a cut on: how many leave less than the
/// bound at the first one of an error 1 beyond the last one.
int rows_needed(const Values& h, int begin, int step, double bound) {
  const auto coupling = [&](int cell) {
    const double height = h[static_cast<std::size_t>(cell)];
    return -4.0 / 6 / height + height / 6 * 2;
  };
  const auto diagonal = [&](int row) {
    const double below = h[static_cast<std::size_t>(row)], above = h[static_cast<std::size_t>(row) + 1];
    return 4.0 / 6 * (1 / below + 1 / above) + (below + above) / 3 * 2;
  };
  // Row k's coupling to row k + step, and to row k - step.
  const auto outward = [&](int row) { return coupling(step > 0 ? row + 1 : row); };
  const auto inward = [&](int row) { return coupling(step > 0 ? row : row + 1); };
  for (int n = 1;; ++n) {
    // x_k = f - g x_(k-1), eliminated from the outer end on.
    double f = 0, g = 0;
    for (int k = n - 1; k >= 0; --k) {
      const int row = begin + k * step;
      const double own = k == 0 ? diagonal(row) - std::abs(inward(row)) : diagonal(row);
      const double right = k == n - 1 ? -outward(row) : -outward(row) * f;
      const double pivot = k == n - 1 ? own : own - outward(row) * g;
      f = right / pivot;
      g = inward(row) / pivot;
    }
    if (std::abs(f) < bound) return n;
  }
}

template <class T>
class OverlapRowsTest : public test::OnEverySetting<T> {
 protected:
  using Number = T;
  static constexpr double bound = overlap_rounding<T>;
  [[nodiscard]] double tolerance() const { return std::is_same_v<Number, double> ? 1e-13 : 2e-5; }

  static MultigridParams params(const char* smoother) {
    return {.smoother = smoother,
            .sweeps = 2,
            .exact_below = 0,  // on one subdomain a GPU would solve a distributed level on several
            .distributed_levels = 1,
            .distributed_smoothing = DistributedSmoothing::overlap};
  }

  /// Rows beside, by rank: below and above.
  [[nodiscard]] std::vector<int> rows(const Values& h, bool periodic, int count, double share = 1) {
    const TensorMesh<2> mesh = growing(h, periodic);
    const auto found = test::on_subdomains(this->backend(), count, [&](Context& ctx) {
      const PartitionLevels levels(ctx, mesh_hierarchy(mesh), 1);
      const auto a = assemble_operator<T>(ctx, mesh, StorageFormat::tensor, {}, levels.finest());
      Values numbers;
      for (const OverlapRows& beside :
           overlap_rows(ctx, *ctx.communicator(), a, {4, true}, {share, bound}).value_or(std::vector<OverlapRows>{})) {
        numbers.push_back(beside.below);
        numbers.push_back(beside.above);
      }
      return numbers;
    });
    EXPECT_THAT(found.errors, testing::Each(""));
    const std::size_t size = found.values.size() / static_cast<std::size_t>(count);
    for (std::size_t k = 0; k < found.values.size(); ++k) EXPECT_EQ(found.values[k], found.values[k % size]);
    return {found.values.begin(), found.values.begin() + static_cast<std::ptrdiff_t>(size)};
  }

  /// The largest difference between two cycles on one subdomain and on `count`, relative to the largest number. `make` gives
  /// the hierarchy of a subdomain, `update` changes the cycle afterwards.
  template <class Make, class Update>
  void expect_the_same_cycle(int count, const TensorMesh<2>& mesh, const char* smoother, const Make& make,
                             const Update& update) {
    const auto bs = random_.values(static_cast<std::size_t>(mesh.unknowns().nodes()));
    const auto cycles = [&](Context& ctx) {
      const Hierarchy<T> levels = make(ctx);
      Multigrid<T> m(ctx, levels, params(smoother));
      update(ctx, m);
      const GridLayout<2> shape = levels.finest().shape();
      const auto b = test::poisoned_rows<T>(ctx, shape, mesh.unknowns(), bs);
      Field<T> x(ctx, shape);
      test::poison(ctx, x);
      m.cycle(ctx, m.levels() - 1, b.cview(), x.view(), Guess::zero);
      test::poison(ctx, x);
      m.cycle(ctx, m.levels() - 1, b.cview(), x.view(), Guess::given);
      if (count > 1 && ctx.subdomains() > 1) {
        std::vector<int> rows;
        for (const OverlapRows& beside : m.overlap(m.levels() - 1)) rows.push_back(beside.below);
        EXPECT_EQ(rows.size(), static_cast<std::size_t>(count));
        EXPECT_NE(std::adjacent_find(rows.begin() + 1, rows.end(), std::not_equal_to<>()), rows.end());
      }
      return test::to_host(ctx, x);
    };
    const auto one = test::on_subdomains(this->backend(), 1, cycles),
               several = test::on_subdomains(this->backend(), count, cycles);
    EXPECT_THAT(one.errors, testing::Each(""));
    EXPECT_THAT(several.errors, testing::Each(""));
    ASSERT_EQ(several.values.size(), one.values.size());
    double largest = 0, apart = 0;
    for (std::size_t k = 0; k < one.values.size(); ++k) {
      largest = std::max(largest, std::abs(one.values[k]));
      if (!(std::abs(several.values[k] - one.values[k]) <= apart)) apart = std::abs(several.values[k] - one.values[k]);
    }
    EXPECT_LE(apart, this->tolerance() * largest);
  }
  template <class Make>
  void expect_the_same_cycle(int count, const TensorMesh<2>& mesh, const char* smoother, const Make& make) {
    expect_the_same_cycle(count, mesh, smoother, make, [](Context& /*ctx*/, auto& /*m*/) {});
  }

  test::Random random_{505};
};

TEST_ON_EVERY_SETTING(OverlapRowsTest, EveryCutHasItsOwn) {
  const Values h = heights();
  const auto found = this->rows(h, false, 4);
  std::vector<int> expected;
  const auto beside = [&](int begin, int step) {
    return 6 + static_cast<int>(std::ceil(1.3 * rows_needed(h, begin, step, this->bound)));
  };
  for (int r = 0; r < 4; ++r) {
    expected.push_back(r == 0 ? 0 : beside(120 * r - 1, -1));
    expected.push_back(r == 3 ? 0 : beside(120 * (r + 1), 1));
  }
  // Rounding may put a row to either side of the bound.
  const auto as = [](const std::vector<int>& rows) {
    std::vector<testing::Matcher<int>> near;
    for (const int n : rows)
      near.push_back(testing::AllOf(testing::Ge(n == 0 ? 0 : n - 2), testing::Le(n == 0 ? 0 : n + 2)));
    return testing::ElementsAreArray(near);
  };
  EXPECT_THAT(found, as(expected));
  // Thin cells below: the lowest cut asks for the most, and more of them below it than above.
  EXPECT_GT(found[2], found[1]);
  EXPECT_GT(found[1], 6 + (found[4] - 6) * 3 / 2);
  const Values turned(h.rbegin(), h.rend());
  EXPECT_THAT(this->rows(turned, false, 4), as({found.rbegin(), found.rend()}));
  // Around the ends the uppermost takes of the lowest one, and gives it rows of large cells.
  const auto around = this->rows(h, true, 4);
  EXPECT_GT(around[7], around[2]);
  EXPECT_LT(around[0], around[2]);
}

TEST_ON_EVERY_SETTING(OverlapRowsTest, NothingWhereOneCutAsksForTooMany) {
  const Values h = heights();
  const auto all = this->rows(h, false, 4);
  const int most = *std::max_element(all.begin(), all.end());
  EXPECT_EQ(this->rows(h, false, 4, (most + 0.5) / 120), all);
  EXPECT_THAT(this->rows(h, false, 4, (most - 0.5) / 120), testing::IsEmpty());
}

TEST_ON_EVERY_SETTING(OverlapRowsTest, CyclesSeeNoCut) {
  for (const bool periodic : {false, true})
    for (const int count : {3, 4})
      for (const auto format : storage_formats)
        for (const char* smoother : {"line_y", "adi"}) {
          SCOPED_TRACE(testing::Message() << count << " subdomains, " << to_string(format) << ", " << smoother
                                          << (periodic ? ", periodic" : ""));
          const TensorMesh<2> mesh = growing(heights(), periodic);
          this->expect_the_same_cycle(count, mesh, smoother, [&](Context& ctx) {
            return Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh), format, {}, 1);
          });
        }
}

// Other coefficients: the middle cut wants more rows than before and the lowest one fewer, or all fewer. All subdomains do the
// same.
TEST_ON_EVERY_SETTING(OverlapRowsTest, OtherCoefficientsChangeSomeCuts) {
  const TensorMesh<2> mesh = growing(Values(ny + 1, 1.0));
  const auto cells = [&](double below, double middle, double above) {
    CellCoefficients k{nx + 1, ny + 1, Values(static_cast<std::size_t>(mesh.cells()), 1.0), {}, {}, {}};
    k.yy = k.xx;
    for (int j = 0; j <= ny; ++j)
      for (int i = 0; i <= nx; ++i)
        k.yy[static_cast<std::size_t>(j * (nx + 1) + i)] = j < ny / 3 ? below : j < 2 * ny / 3 ? middle : above;
    k.xy.assign(k.xx.size(), 0.0);
    return k;
  };
  const CellCoefficients before = cells(8, 2, 4);
  for (const auto& after : {cells(4, 8, 2), cells(4, 1, 2)})
    this->expect_the_same_cycle(
        4, mesh, "adi",
        [&](Context& ctx) {
          const PartitionLevels levels(ctx, mesh_hierarchy(mesh), 1);
          const CellFields fields(ctx, mesh, before, 0);
          return Hierarchy<T>(
              ctx, Hierarchy<double>::galerkin(ctx, assemble_diffusion(ctx, mesh, before, fields, {}, levels.finest()),
                                               mesh, {true, false}, {}, 1));
        },
        [&](Context& ctx, auto& m) {
          const PartitionLevels levels(ctx, mesh_hierarchy(mesh), 1);
          const CellFields fields(ctx, mesh, after, 0);
          m.update(ctx, assemble_diffusion(ctx, mesh, after, fields, {}, levels.finest()));
        });
}

class OverlapRowsSolverTest : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(OverlapRowsSolverTest);

// What an iteration corrects: with fewer rows it takes as many iterations.
TEST_P(OverlapRowsSolverTest, AsManyIterationsAsOnOne) {
  const TensorMesh<2> mesh = growing(heights());
  for (const auto method : {Method::multigrid, Method::gcr})
    for (const bool full : {false, true}) {
      if (full && method != Method::multigrid) continue;
      PoissonSolverParams params;
      params.method = method;
      params.full_multigrid = params.continue_after_full_multigrid = full;
      params.multigrid.distributed_levels = 1;
      params.multigrid.exact_below = 0;
      params.multigrid.distributed_smoothing = DistributedSmoothing::overlap;
      params.stop.rtol = 1e-8;
      const auto solve = [&](Context& ctx) {
        PoissonSolver solver(ctx, mesh, params);
        const GridLayout<2> shape = solver.fine_operator().shape();
        Field<double> b(ctx, shape), x(ctx, shape);
        assemble_load(ctx, mesh, PoissonProblem{}, b);
        const auto report = solver.solve(ctx, b.cview(), x.view());
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        if (ctx.subdomains() > 1) {
          EXPECT_THAT(solver.overlaps().back(), testing::SizeIs(4));
        }
        return Values{static_cast<double>(report.iterations)};
      };
      const auto one = test::on_subdomains(GetParam(), 1, solve), four = test::on_subdomains(GetParam(), 4, solve);
      EXPECT_THAT(four.errors, testing::Each(""));
      EXPECT_THAT(four.values, testing::Each(one.values.at(0)))
          << to_string(method) << (full ? ", full multigrid" : "");
    }
}

}  // namespace
