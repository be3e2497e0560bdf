// Multigrid on a grid partitioned into subdomains that is smoothed by overlap (multigrid/overlap.hpp), a thread and a Context
// each, against the same work on one subdomain.

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/multigrid/overlap.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gmock/gmock.h>

#include "support/boundaries.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Ends;
using test::Values;
using test::with_boundaries;
using enum BoundaryType;

constexpr Ends every_ends[] = {{dirichlet, dirichlet, dirichlet, dirichlet},
                               {neumann, dirichlet, neumann, neumann},
                               {dirichlet, neumann, periodic, periodic},
                               {periodic, periodic, dirichlet, neumann},
                               {periodic, periodic, periodic, periodic}};

template <class T>
class OverlapTest : public test::OnEverySetting<T> {
 protected:
  using Number = T;
  static constexpr bool in_float = std::is_same_v<Number, float>;

  /// Two cycles, from zero and from what that gives, with halos poisoned before; `update` before them.
  template <class Update>
  [[nodiscard]] static Values two_cycles(Context& ctx, const Hierarchy<Number>& levels, MultigridParams params,
                                         const Values& bs, const Update& update) {
    params.exact_below = 0;  // on one subdomain a GPU would solve a distributed level on several
    Multigrid<Number> m(ctx, levels, params);
    update(m);
    const GridLayout<2> shape = levels.finest().shape(), whole = levels.meshes().back().unknowns();
    const auto b = test::poisoned_rows<Number>(ctx, shape, whole, bs);
    Field<Number> x(ctx, shape);
    test::poison(ctx, x);
    m.cycle(ctx, m.levels() - 1, b.cview(), x.view(), Guess::zero);
    test::poison(ctx, x);
    m.cycle(ctx, m.levels() - 1, b.cview(), x.view(), Guess::given);
    return test::to_host(ctx, x);
  }
  [[nodiscard]] static Values two_cycles(Context& ctx, const Hierarchy<Number>& levels, const MultigridParams& params,
                                         const Values& bs) {
    return two_cycles(ctx, levels, params, bs, [](auto& /*m*/) {});
  }

  /// The largest difference between work(ctx) on one subdomain and on `count`, relative to the largest number.
  template <class Work>
  [[nodiscard]] double difference(int count, const Work& work) {
    const auto one = test::on_subdomains(this->backend(), 1, work),
               several = test::on_subdomains(this->backend(), count, work);
    EXPECT_THAT(one.errors, testing::Each(""));
    EXPECT_THAT(several.errors, testing::Each(""));
    EXPECT_EQ(several.values.size(), one.values.size());
    if (several.values.size() != one.values.size()) return INFINITY;
    double largest = 0, apart = 0;
    for (std::size_t k = 0; k < one.values.size(); ++k) {
      largest = std::max(largest, std::abs(one.values[k]));
      if (!(std::abs(several.values[k] - one.values[k]) <= apart)) apart = std::abs(several.values[k] - one.values[k]);
    }
    EXPECT_GT(largest, 0);
    return apart / largest;
  }

  /// How often a cycle from zero exchanges rows and gathers.
  [[nodiscard]] double exchanges(int count, const TensorMesh<2>& mesh, const MultigridParams& params) {
    const auto counted = test::on_subdomains(this->backend(), count, [&](Context& ctx) {
      const auto levels =
          Hierarchy<Number>::assembled(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, {}, params.distributed_levels);
      Multigrid<Number> m(ctx, levels, params);
      const GridLayout<2> shape = levels.finest().shape();
      const Field<Number> b(ctx, shape);
      Field<Number> x(ctx, shape);
      const auto& communicator = *ctx.communicator();
      const auto before = communicator.exchanges() + communicator.gathers();
      m.apply(ctx, b.cview(), x.view());
      return Values{static_cast<double>(communicator.exchanges() + communicator.gathers() - before)};
    });
    EXPECT_THAT(counted.errors, testing::Each(""));
    EXPECT_THAT(counted.values, testing::Each(counted.values.at(0)));
    return counted.values.at(0);
  }

  [[nodiscard]] Values random_numbers(const TensorMesh<2>& mesh) {
    return random_.values(static_cast<std::size_t>(mesh.unknowns().nodes()));
  }
  [[nodiscard]] TensorMesh<2> random_mesh(int nx, int ny, const Ends& ends) {
    return with_boundaries({Axis(random_.widths(nx, 1)), Axis(random_.widths(ny, 1))}, ends);
  }
  static MultigridParams params(const char* smoother, int cut, std::optional<int> sweeps = {}) {
    return {.smoother = smoother,
            .sweeps = sweeps,
            .distributed_levels = cut,
            .distributed_smoothing = DistributedSmoothing::overlap};
  }
  /// What rounding and the depth leave. A GPU eliminates lines in another order: an H200 leaves 3e-6 (A1, three subdomains).
  [[nodiscard]] double tolerance() const {
    if (!in_float) return 1e-14;
    return this->backend() == Backend::cuda ? 4e-6 : 2e-6;
  }
  test::Random random_{404};
};

// Distributed levels, of smoothers that reach so many rows, have rows enough where the count of exchanges says so.
TEST_ON_EVERY_SETTING(OverlapTest, CyclesSeeNoCut) {
  struct Case {
    const char* mesh;
    int level, count;
    std::vector<const char*> smoothers;
  };
  for (const auto& [name, level, count, smoothers] :
       {Case{"U1", 8, 2, {"jacobi", "colour_gs", "line_x", "line_y", "adi"}}, Case{"U1", 8, 3, {"line_y", "adi"}},
        Case{"U1", 8, 4, {"colour_gs", "adi"}}, Case{"A3", std::is_same_v<T, float> ? 8 : 9, 2, {"line_y", "adi"}},
        Case{"A1", 8, 3, {"adi"}}, Case{"A5", 8, 4, {"line_x", "colour_gs"}}, Case{"U1", 9, 8, {"adi"}}}) {
    const TensorMesh<2> mesh = make_mesh(mesh_family(name), level);
    const auto bs = this->random_numbers(mesh);
    for (const char* smoother : smoothers) {
      SCOPED_TRACE(testing::Message() << name << ", " << smoother << ", " << count << " subdomains");
      const auto params = this->params(smoother, 1, 2);
      EXPECT_EQ(this->exchanges(count, mesh, params), 3);
      EXPECT_LE(this->difference(count,
                                 [&](Context& ctx) {
                                   return this->two_cycles(
                                       ctx,
                                       Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, {}, 1),
                                       params, bs);
                                 }),
                this->tolerance());
    }
  }
}

// Of b before smoothing, of x after prolongation, and the right-hand side of the level that all subdomains have, once.
TEST_ON_EVERY_SETTING(OverlapTest, TwoExchangesALevel) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 8);
  for (const int cut : {1, 2}) EXPECT_EQ(this->exchanges(2, mesh, this->params("adi", cut, 2)), 2 * cut + 1) << cut;
  for (const int cut : {1, 2, 3})
    EXPECT_EQ(this->exchanges(3, mesh, this->params("colour_gs", cut, 2)), 2 * cut + 1) << cut;
}

// Where an error never dies within the rows there are, lines that are cut are solved exactly: nine exchanges.
TEST_ON_EVERY_SETTING(OverlapTest, DeepLinesAreSolvedExactly) {
  EXPECT_EQ(this->exchanges(2, make_mesh(mesh_family("A5"), 7), this->params("adi", 1, 2)), 10);
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 9);
  auto params = this->params("adi", 3, 2);
  params.distributed_smoothing = DistributedSmoothing::exact;
  EXPECT_EQ(this->exchanges(2, mesh, params), 28);
  // Left open: by overlap where it takes a quarter of the rows or less, on GPUs half of them.
  params.distributed_smoothing = DistributedSmoothing::automatic;
  const bool on_gpu = this->backend() == Backend::cuda;
  EXPECT_EQ(this->exchanges(2, mesh, params), on_gpu ? 2 * 3 + 1 : 2 * 2 + 9 + 1);
}

TEST_ON_EVERY_SETTING(OverlapTest, EveryCycleOnEverySide) {
  for (const Ends& ends : every_ends)
    for (const auto& [nx, ny] : {std::pair{20, 64}, {33, 66}, {21, 67}}) {
      const TensorMesh<2> mesh = this->random_mesh(nx, ny, ends);
      const auto bs = this->random_numbers(mesh);
      for (const char* smoother : {"jacobi", "colour_gs", "line_x"})
        for (const auto cycle : {Cycle::v, Cycle::w, Cycle::f, Cycle::w2, Cycle::k}) {
          SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(ends.left) << " "
                                          << to_string(ends.bottom) << ", " << to_string(cycle) << ", " << smoother);
          OperatorTerms terms;
          terms.reaction = 0.5;
          auto params = this->params(smoother, 2, 2);
          params.cycle = cycle;
          params.symmetric = cycle == Cycle::k;
          EXPECT_LE(this->difference(2,
                                     [&](Context& ctx) {
                                       return this->two_cycles(ctx,
                                                               Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh),
                                                                                       StorageFormat::tensor, terms, 2),
                                                               params, bs);
                                     }),
                    10 * this->tolerance());
        }
    }
}

TEST_ON_EVERY_SETTING(OverlapTest, EveryForm) {
  for (const auto format : storage_formats)
    for (const Ends& ends : {every_ends[1], every_ends[2], every_ends[3]})
      for (const char* smoother : {"colour_gs", "adi"}) {
        SCOPED_TRACE(testing::Message() << to_string(format) << ", " << to_string(ends.bottom) << ", " << smoother);
        const TensorMesh<2> mesh = this->random_mesh(40, 400, ends);
        const auto bs = this->random_numbers(mesh);
        OperatorTerms terms;
        terms.reaction = 1;
        EXPECT_LE(this->difference(2,
                                   [&](Context& ctx) {
                                     return this->two_cycles(
                                         ctx, Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh), format, terms, 2),
                                         this->params(smoother, 2, 2), bs);
                                   }),
                  10 * this->tolerance());
      }
}

// K by cells, products whose interpolation follows it or not, and other coefficients afterwards, which want more rows.
TEST_ON_EVERY_SETTING(OverlapTest, ProductsAndOtherCoefficients) {
  for (const Ends& ends : {every_ends[0], every_ends[2]}) {
    const TensorMesh<2> mesh = this->random_mesh(24, 300, ends);
    const auto bs = this->random_numbers(mesh);
    const auto cells = [&](double low, double high) {
      return this->random_.values(static_cast<std::size_t>(mesh.cells()), low, high);
    };
    const CellCoefficients k{mesh.x().size(), mesh.y().size(), cells(5, 9), cells(-0.9, 0.9), cells(1, 2), {}},
        other{mesh.x().size(), mesh.y().size(), cells(1, 2), cells(-0.5, 0.5), cells(5, 9), {}};
    for (const bool follows : {false, true})
      for (const bool updates : {false, true})
        for (const char* smoother : {"colour_gs", "adi"}) {
          SCOPED_TRACE(testing::Message() << to_string(ends.bottom) << ", " << smoother);
          EXPECT_LE(this->difference(2,
                                     [&](Context& ctx) {
                                       const PartitionLevels partition(ctx, mesh_hierarchy(mesh), 2);
                                       const auto matrix = [&](const CellCoefficients& numbers,
                                                               const CellFields& fields) {
                                         return assemble_diffusion(ctx, mesh, numbers, fields, {}, partition.finest());
                                       };
                                       const CellFields fields(ctx, mesh, k, 0), others(ctx, mesh, other, 0);
                                       const Conductances conductances(ctx, mesh, fields), later(ctx, mesh, others);
                                       const auto levels = Hierarchy<double>::galerkin(
                                           ctx, matrix(k, fields), mesh, {true, false},
                                           follows ? Interpolation::by_conductances(conductances) : Interpolation(), 2);
                                       return this->two_cycles(ctx, Hierarchy<T>(ctx, levels),
                                                               this->params(smoother, 2, 2), bs, [&](auto& m) {
                                                                 if (!updates) return;
                                                                 const auto a = matrix(other, others);
                                                                 follows ? m.update(ctx, a, &later) : m.update(ctx, a);
                                                               });
                                     }),
                    10 * this->tolerance());
        }
  }
}

TEST_ON_EVERY_SETTING(OverlapTest, DepthIsThatOfTheLines) {
  // p = 2: of the float's bound below 6e-8 40 rows on A3 and 9 on U1 (level 8); of the double's 86 and 18 (level 9).
  // Of a cycle that is corrected, 1e-3.
  for (const auto& [name, depth] : {std::pair{"U1", this->in_float ? 9 : 18}, {"A3", this->in_float ? 40 : 86}}) {
    const TensorMesh<2> mesh = make_mesh(mesh_family(name), this->in_float ? 8 : 9);
    const auto found = test::on_subdomains(this->backend(), 2, [&](Context& ctx) {
      const PartitionLevels partition(ctx, mesh_hierarchy(mesh), 1);
      const auto rows_of = [&](double share, bool along_y, double bound = overlap_rounding<T>) {
        const auto rows = overlap_rows(ctx, *ctx.communicator(),
                                       assemble_operator<T>(ctx, mesh, StorageFormat::tensor, {}, partition.finest()),
                                       {4, along_y}, {share, bound});
        if (!rows) return -1.0;
        // Of the two sides of the cut the larger number.
        return static_cast<double>(std::max(rows->front().above, rows->back().below));
      };
      return Values{rows_of(1, true), rows_of(1, false), rows_of(0.04, true), rows_of(1, true, OverlapWish::corrected)};
    });
    ASSERT_THAT(found.errors, testing::Each(""));
    const double wanted = 6 + std::ceil(1.3 * depth), corrected = found.values.at(3);
    EXPECT_THAT(found.values, testing::ElementsAre(wanted, 6, -1, corrected, wanted, 6, -1, corrected)) << name;
    // 4 rows on U1, whatever the number.
    if (name == std::string("U1")) {
      EXPECT_EQ(corrected, 6 + std::ceil(1.3 * 4));
    }
    EXPECT_GT(corrected, 6);
    EXPECT_LT(corrected, 6 + std::ceil(1.3 * depth) / 1.5);
  }
}

// --- solvers -------------------------------------------------------------------------------------------------------------

class OverlapSolversTest : public test::OnEveryBackend {
 protected:
  struct Solved {
    Values x;
    std::vector<int> iterations;  // by rank
  };
  [[nodiscard]] Solved solve(int count, const TensorMesh<2>& mesh, const PoissonSolverParams& params) const {
    Solved solved{{}, std::vector<int>(static_cast<std::size_t>(count))};
    const auto found = test::on_subdomains(GetParam(), count, [&](Context& ctx) {
      PoissonSolver solver(ctx, mesh, params);
      const GridLayout<2> shape = solver.fine_operator().shape();
      Field<double> b(ctx, shape), x(ctx, shape);
      assemble_load(ctx, mesh, PoissonProblem{}, b);
      test::poison(ctx, b);
      test::poison(ctx, x);
      const auto report = solver.solve(ctx, b.cview(), x.view());
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      solved.iterations[static_cast<std::size_t>(ctx.subdomains() == 1 ? 0 : ctx.communicator()->rank())] =
          report.iterations;
      return test::to_host(ctx, x);
    });
    EXPECT_THAT(found.errors, testing::Each(""));
    solved.x = found.values;
    return solved;
  }
  void expect_the_same(const TensorMesh<2>& mesh, PoissonSolverParams params, int count) const {
    params.multigrid.distributed_levels = 2;
    params.multigrid.distributed_smoothing = DistributedSmoothing::overlap;
    params.multigrid.exact_below = 0;
    const Solved one = solve(1, mesh, params), several = solve(count, mesh, params);
    EXPECT_THAT(several.iterations, testing::Each(one.iterations[0]));
    ASSERT_EQ(several.x.size(), one.x.size());
    double largest = 0, apart = 0;
    for (std::size_t k = 0; k < one.x.size(); ++k) {
      largest = std::max(largest, std::abs(one.x[k]));
      if (!(std::abs(several.x[k] - one.x[k]) <= apart)) apart = std::abs(several.x[k] - one.x[k]);
    }
    EXPECT_LE(apart, 1e-8 * largest);
    EXPECT_EQ(solve(count, mesh, params).x, several.x) << "the same subdomains, the same bits";
  }
};
INSTANTIATE_ON_EVERY_BACKEND(OverlapSolversTest);

TEST_P(OverlapSolversTest, AsManyIterationsAsWithoutACut) {
  for (const char* name : {"U1", "A3"})
    for (const auto precision : {Precision::mixed, Precision::full})
      for (const auto method : {Method::multigrid, Method::cg, Method::gcr})
        for (const bool full : {false, true}) {
          if (full && method != Method::multigrid) continue;
          SCOPED_TRACE(testing::Message() << name << ", " << to_string(method) << (full ? ", full multigrid" : "")
                                          << (precision == Precision::full ? ", double" : ", mixed"));
          PoissonSolverParams params;
          params.precision = precision;
          params.method = method;
          params.full_multigrid = params.continue_after_full_multigrid = full;
          params.multigrid.sweeps = 2;
          params.stop.rtol = 1e-8;
          expect_the_same(make_mesh(mesh_family(name), 8), params, name == std::string("U1") ? 3 : 2);
        }
}

TEST_P(OverlapSolversTest, MemoryIsFoundByADryRun) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 8);
  for (const auto format : {StorageFormat::tensor, StorageFormat::nine_band}) {
    const auto found = test::on_subdomains(GetParam(), 2, [&](Context& ctx) {
      PoissonSolverParams params;
      params.format = format;
      params.multigrid.distributed_levels = 2;
      params.multigrid.distributed_smoothing = DistributedSmoothing::overlap;
      const auto required = static_cast<double>(required_memory(ctx, mesh, params));
      const PoissonSolver solver(ctx, mesh, params);
      const Field<double> b(ctx, solver.fine_operator().shape()), x(ctx, b.shape());
      return Values{required / static_cast<double>(ctx.memory()->bytes.load())};
    });
    ASSERT_THAT(found.errors, testing::Each(""));
    EXPECT_THAT(found.values, testing::Each(testing::DoubleNear(1, 0.1)));
  }
}

}  // namespace
