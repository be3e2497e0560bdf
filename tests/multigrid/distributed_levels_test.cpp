// Multigrid on a grid partitioned into subdomains that is smoothed exactly, a thread and a Context each, against the same work
// on one subdomain. By overlap: multigrid/overlap_test.cpp.

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/solution_range.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/multigrid/couplings.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gmock/gmock.h>

#include "support/boundaries.hpp"
#include "support/poisson_solves.hpp"
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
                               {periodic, periodic, neumann, neumann}};

template <class T>
class DistributedLevelsTest : public test::OnEverySetting<T> {
 protected:
  using Number = T;

  /// work(ctx) on one subdomain and on several; the same within `tolerance` of the largest number.
  template <class Work>
  void expect_the_same(std::initializer_list<int> counts, double tolerance, const Work& work) {
    const auto one = test::on_subdomains(this->backend(), 1, work);
    ASSERT_EQ(one.errors[0], "");
    double largest = 0;
    for (const double value : one.values) largest = std::max(largest, std::abs(value));
    ASSERT_GT(largest, 0);
    for (const int count : counts) {
      SCOPED_TRACE(testing::Message() << count << " subdomains");
      const auto several = test::on_subdomains(this->backend(), count, work);
      ASSERT_THAT(several.errors, testing::Each(""));
      ASSERT_EQ(several.values.size(), one.values.size());
      double difference = 0;
      for (std::size_t k = 0; k < one.values.size(); ++k)
        if (!(std::abs(several.values[k] - one.values[k]) <= difference))
          difference = std::abs(several.values[k] - one.values[k]);
      EXPECT_LE(difference, tolerance * largest);
    }
  }

  /// Two cycles, from zero and from what that gives, with halos poisoned before.
  [[nodiscard]] static Values two_cycles(Context& ctx, const Hierarchy<Number>& levels, MultigridParams params,
                                         const Values& bs) {
    params.exact_below = 0;  // on one subdomain a GPU would solve a distributed level on several
    params.distributed_smoothing = DistributedSmoothing::exact;
    Multigrid<Number> m(ctx, levels, params);
    const GridLayout<2> shape = levels.finest().shape(), whole = levels.meshes().back().unknowns();
    const auto b = test::poisoned_rows<Number>(ctx, shape, whole, bs);
    Field<Number> x(ctx, shape);
    test::poison(ctx, x);
    m.cycle(ctx, m.levels() - 1, b.cview(), x.view(), Guess::zero);
    test::poison(ctx, x);
    m.cycle(ctx, m.levels() - 1, b.cview(), x.view(), Guess::given);
    return test::to_host(ctx, x);
  }
  [[nodiscard]] Values random_numbers(const TensorMesh<2>& mesh) {
    return random_.values(static_cast<std::size_t>(mesh.unknowns().nodes()));
  }
  static constexpr double rounding = std::is_same_v<Number, float> ? 1e-4 : 1e-13;
  test::Random random_{402};
};

TEST_ON_EVERY_SETTING(DistributedLevelsTest, CyclesSeeNoCut) {
  for (const auto& [name, smoothers] :
       {std::pair<const char*, std::vector<const char*>>{"U1", {"jacobi", "colour_gs", "line_x"}},
        {"A3", {"colour_gs", "line_y", "adi"}},
        {"A5", {"adi"}}}) {
    const TensorMesh<2> mesh = make_mesh(mesh_family(name), 8);
    const auto bs = this->random_numbers(mesh);
    for (const char* smoother : smoothers)
      for (const int cut : {1, 3}) {
        SCOPED_TRACE(testing::Message() << name << ", " << smoother << ", " << cut << " levels cut");
        this->expect_the_same({2, 3, 4, 8}, this->rounding, [&](Context& ctx) {
          return this->two_cycles(ctx,
                                  Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, {}, cut),
                                  {.smoother = smoother, .distributed_levels = cut}, bs);
        });
      }
  }
}

// Of a V-cycle with zebra ADI: rows after the first colour of x lines and after the second, two gathers of y lines, before
// and after the coarse correction, and the partial sums of restriction. Once a cycle the right-hand side is gathered.
TEST_ON_EVERY_SETTING(DistributedLevelsTest, NineExchangesALevel) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("A1"), 7);
  const auto bs = this->random_numbers(mesh);
  for (const int cut : {1, 2, 3}) {
    const auto counted = test::on_subdomains(this->backend(), 3, [&](Context& ctx) {
      const auto levels = Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, {}, cut);
      Multigrid<T> m(ctx, levels,
                     {.smoother = "adi",
                      .sweeps = 2,
                      .distributed_levels = cut,
                      .distributed_smoothing = DistributedSmoothing::exact});
      const GridLayout<2> shape = levels.finest().shape();
      const auto b = test::poisoned_rows<T>(ctx, shape, mesh.unknowns(), bs);
      Field<T> x(ctx, shape);
      const auto& communicator = *ctx.communicator();
      const auto before = communicator.exchanges() + communicator.gathers();
      m.apply(ctx, b.cview(), x.view());
      return Values{static_cast<double>(communicator.exchanges() + communicator.gathers() - before)};
    });
    EXPECT_THAT(counted.values, testing::Each(9 * cut + 1));
  }
}

TEST_ON_EVERY_SETTING(DistributedLevelsTest, EveryCycleOnEverySide) {
  for (const Ends& ends : every_ends)
    for (const auto& [nx, ny] : {std::pair{20, 32}, {33, 45}}) {
      const TensorMesh<2> mesh =
          with_boundaries({Axis(this->random_.widths(nx, 1)), Axis(this->random_.widths(ny, 1))}, ends);
      const auto bs = this->random_numbers(mesh);
      for (const auto cycle : {Cycle::v, Cycle::w, Cycle::f, Cycle::w2, Cycle::k})
        for (const int cut : {1, 2}) {
          SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(ends.left) << " "
                                          << to_string(ends.right) << " " << to_string(ends.bottom) << " "
                                          << to_string(ends.top) << ", " << to_string(cycle) << ", " << cut);
          OperatorTerms terms;
          terms.reaction = 0.5;
          this->expect_the_same({2, 5}, 10 * this->rounding, [&](Context& ctx) {
            return this->two_cycles(
                ctx, Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, terms, cut),
                {.smoother = "colour_gs", .cycle = cycle, .distributed_levels = cut}, bs);
          });
        }
    }
}

TEST_ON_EVERY_SETTING(DistributedLevelsTest, EveryForm) {
  for (const auto format : storage_formats) {
    SCOPED_TRACE(to_string(format));
    const TensorMesh<2> mesh = with_boundaries({Axis(this->random_.widths(40, 1)), Axis(this->random_.widths(50, 1))},
                                               {neumann, dirichlet, periodic, periodic});
    const auto bs = this->random_numbers(mesh);
    this->expect_the_same({3}, 10 * this->rounding, [&](Context& ctx) {
      return this->two_cycles(ctx, Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh), format, {}, 2),
                              {.smoother = "jacobi", .distributed_levels = 2}, bs);
    });
  }
}

// The lowest distributed level has subdomains of 1, 2 and 4 rows, of which the first subdomain keeps none below.
TEST_ON_EVERY_SETTING(DistributedLevelsTest, SubdomainsOfOneRow) {
  for (const Ends& ends : every_ends) {
    const TensorMesh<2> mesh =
        with_boundaries({Axis(this->random_.widths(20, 1)), Axis(this->random_.widths(16, 1))}, ends);
    const auto bs = this->random_numbers(mesh);
    OperatorTerms terms;
    terms.reaction = 0.5;
    for (const char* smoother : {"jacobi", "colour_gs", "line_x", "line_y", "adi"})
      for (const bool symmetric : {false, true}) {
        SCOPED_TRACE(testing::Message() << smoother << (symmetric ? ", symmetric, " : ", ") << to_string(ends.bottom));
        this->expect_the_same({3}, 10 * this->rounding, [&](Context& ctx) {
          return this->two_cycles(ctx,
                                  Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, terms, 2),
                                  {.smoother = smoother, .symmetric = symmetric, .distributed_levels = 2}, bs);
        });
      }
  }
}

// Products on subdomains, gathered to the whole, and their interpolation by widths, conductances, split sums or the matrix.
TEST_ON_EVERY_SETTING(DistributedLevelsTest, ProductsSeeNoCut) {
  for (const Ends& ends : every_ends) {
    const TensorMesh<2> mesh =
        with_boundaries({Axis(this->random_.widths(33, 1)), Axis(this->random_.widths(45, 1))}, ends);
    const auto bs = this->random_numbers(mesh);
    const auto cells = [&](double low, double high) {
      return this->random_.values(static_cast<std::size_t>(mesh.cells()), low, high);
    };
    const CellCoefficients k{mesh.x().size(), mesh.y().size(), cells(1, 9), cells(-0.9, 0.9), cells(1, 9), cells(1, 2)};
    for (const auto kind : values_of<InterpolationKind>)
      for (const int cut : {1, 2}) {
        SCOPED_TRACE(testing::Message() << to_string(ends.left) << " " << to_string(ends.bottom) << ", " << cut << ", "
                                        << to_string(kind));
        this->expect_the_same({2, 3}, 10 * this->rounding, [&](Context& ctx) {
          const PartitionLevels partition(ctx, mesh_hierarchy(mesh), cut);
          const CellFields fields(ctx, mesh, k, 0);
          const auto a = assemble_diffusion(ctx, mesh, k, fields, {}, partition.finest());
          const Conductances conductances(ctx, mesh, fields);
          const auto interpolation = kind == InterpolationKind::conductance
                                         ? Interpolation::by_conductances(conductances)
                                     : kind == InterpolationKind::split  ? Interpolation::split(conductances, k)
                                     : kind == InterpolationKind::matrix ? Interpolation::of_matrix()
                                                                         : Interpolation();
          const auto levels = Hierarchy<double>::galerkin(ctx, a, mesh, {true, false}, interpolation, cut);
          return this->two_cycles(ctx, Hierarchy<T>(ctx, levels), {.smoother = "colour_gs", .distributed_levels = cut},
                                  bs);
        });
      }
  }
}

// Smoothers hear of what operators are given in place: another reaction, and products of another matrix.
TEST_ON_EVERY_SETTING(DistributedLevelsTest, OtherCoefficients) {
  const TensorMesh<2> mesh = with_boundaries({Axis(this->random_.widths(33, 1)), Axis(this->random_.widths(45, 1))},
                                             {neumann, dirichlet, dirichlet, neumann});
  const auto bs = this->random_numbers(mesh);
  const auto cycle_from_zero = [&](Context& ctx, Multigrid<T>& m) {
    const GridLayout<2> shape = m.hierarchy().finest().shape();
    const auto b = test::poisoned_rows<T>(ctx, shape, mesh.unknowns(), bs);
    Field<T> x(ctx, shape);
    m.apply(ctx, b.cview(), x.view());
    return test::to_host(ctx, x);
  };
  const MultigridParams params{.smoother = "adi", .exact_below = 0, .distributed_levels = 2};
  this->expect_the_same({2, 3}, 10 * this->rounding, [&](Context& ctx) {
    OperatorTerms terms;
    terms.reaction = 0.5;
    Multigrid<T> m(ctx, Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, terms, 2), params);
    (void)cycle_from_zero(ctx, m);
    m.set_reaction(ctx, 500);
    return cycle_from_zero(ctx, m);
  });
  this->expect_the_same({2, 3}, 10 * this->rounding, [&](Context& ctx) {
    const PartitionLevels partition(ctx, mesh_hierarchy(mesh), 2);
    const auto matrix = [&](double reaction) {
      OperatorTerms terms;
      terms.reaction = reaction;
      return assemble_operator<double>(ctx, mesh, StorageFormat::nine_band, terms, partition.finest());
    };
    Multigrid<T> m(ctx, matrix(0.5), mesh, params);
    (void)cycle_from_zero(ctx, m);
    m.update(ctx, matrix(500));
    return cycle_from_zero(ctx, m);
  });
}

// Constants are taken from the whole grid.
TEST_ON_EVERY_SETTING(DistributedLevelsTest, SingularOperators) {
  const TensorMesh<2> mesh = with_boundaries({Axis(this->random_.widths(40, 1)), Axis(this->random_.widths(50, 1))},
                                             {neumann, neumann, periodic, periodic});
  Values bs = this->random_numbers(mesh);
  double mean = 0;
  for (const double b : bs) mean += b / static_cast<double>(bs.size());
  for (double& b : bs) b -= mean;
  for (const int cut : {1, 2})
    this->expect_the_same({2, 3}, 10 * this->rounding, [&](Context& ctx) {
      const auto levels = Hierarchy<T>::assembled(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, {}, cut);
      EXPECT_TRUE(levels.is_singular());
      return this->two_cycles(ctx, levels, {.smoother = "jacobi", .distributed_levels = cut}, bs);
    });
}

/// Of the kinds that the ends of a line can be of.
BoundaryCondition side(BoundaryType end, const ScalarFunction& value) {
  const auto kind = end == dirichlet ? BoundaryConditionType::dirichlet
                    : end == neumann ? BoundaryConditionType::robin
                                     : BoundaryConditionType::periodic;
  return {kind, value, [](const Point& p) { return 1 + p.x * p.x + p.y; }};
}

// --- solvers -------------------------------------------------------------------------------------------------------------

class DistributedSolversTest : public test::OnEveryBackend {
 protected:
  struct Solved {
    Values x;
    std::vector<int> iterations;  // by rank
  };
  [[nodiscard]] Solved solve(int count, const Geometry& mesh, const PoissonProblem& problem,
                             const PoissonSolverParams& params) const {
    Solved solved{{}, std::vector<int>(static_cast<std::size_t>(count))};
    const auto found = test::on_subdomains(GetParam(), count, [&](Context& ctx) {
      auto [x, report] = test::solved(ctx, mesh, problem, params);
      if (is_singular(ctx, mesh, problem)) subtract_integral_mean(ctx, mesh, x);
      const auto rank = ctx.communicator() == nullptr ? 0 : ctx.communicator()->rank();
      solved.iterations[static_cast<std::size_t>(rank)] = report.iterations;
      return test::to_host(ctx, x);
    });
    EXPECT_THAT(found.errors, testing::Each(""));
    solved.x = found.values;
    return solved;
  }
  void expect_the_same(const Geometry& mesh, const PoissonProblem& problem, const PoissonSolverParams& params,
                       std::initializer_list<int> counts, double tolerance) const {
    const Solved one = solve(1, mesh, problem, params);
    double largest = 0;
    for (const double value : one.x) largest = std::max(largest, std::abs(value));
    for (const int count : counts) {
      SCOPED_TRACE(testing::Message() << count << " subdomains");
      const Solved several = solve(count, mesh, problem, params);
      EXPECT_THAT(several.iterations, testing::Each(one.iterations[0]));
      ASSERT_EQ(several.x.size(), one.x.size());
      double difference = 0;
      for (std::size_t k = 0; k < one.x.size(); ++k)
        if (!(std::abs(several.x[k] - one.x[k]) <= difference)) difference = std::abs(several.x[k] - one.x[k]);
      EXPECT_LE(difference, tolerance * largest);
      EXPECT_EQ(solve(count, mesh, problem, params).x, several.x) << "the same subdomains, the same bits";
    }
  }
  [[nodiscard]] static PoissonSolverParams params() {
    PoissonSolverParams p;
    p.multigrid.smoother = "colour_gs";
    p.multigrid.distributed_levels = 2;
    p.multigrid.distributed_smoothing = DistributedSmoothing::exact;
    p.multigrid.exact_below = 0;
    p.stop.rtol = 1e-9;
    return p;
  }
  test::Random random_{403};
  // Of x, where cycles in float end at a tolerance.
  static constexpr double at_tolerance = 1e-9;
};
INSTANTIATE_ON_EVERY_BACKEND(DistributedSolversTest);

TEST_P(DistributedSolversTest, EveryMethodAndPrecision) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 6);
  for (const auto precision : {Precision::mixed, Precision::full})
    for (const auto method : values_of<Method>) {
      // Starts anew where rounding says so.
      if (method == Method::cr && precision == Precision::mixed) continue;
      SCOPED_TRACE(testing::Message() << to_string(method) << (precision == Precision::full ? ", double" : ", mixed"));
      auto p = params();
      p.precision = precision;
      p.method = method;
      expect_the_same(mesh, {}, p, {3}, at_tolerance);
    }
}

TEST_P(DistributedSolversTest, TwoFloats) {
  auto p = params();
  p.precision = Precision::double_single;
  p.stop.rtol = 1e-5;
  expect_the_same(make_mesh(mesh_family("U1"), 6), {}, p, {3}, 1e-6);
}

// What "auto" chooses goes by the whole mesh, and K by cells by what the matrices of all subdomains couple.
TEST_P(DistributedSolversTest, AutomaticSmoothersAndLevels) {
  const TensorMesh<2> mesh{Axis(random_.widths(200, 1)), Axis(random_.widths(300, 1))};
  PoissonSolverParams p;
  p.multigrid.smoother = "auto";
  p.multigrid.exact_below = 0;  // one GPU alone would not need a cycle
  p.stop.rtol = 1e-9;
  expect_the_same(mesh, {}, p, {2, 4}, at_tolerance);
  PoissonProblem problem;
  problem.rhs = [](const Point& q) { return 1 + q.x; };
  problem.diffusion.xx = ScalarFunction([](const Point& q) { return q.x < 0.3 * q.y ? 100 : 1; });
  Context one(Backend::cpu, 1);
  p.coefficients = std::make_shared<const CellCoefficients>(*cell_coefficients(one, mesh, problem));
  expect_the_same(mesh, problem, p, {2, 3}, at_tolerance);
}

// K rotated at random, and one that jumps where the grid is cut in two.
TEST_P(DistributedSolversTest, CouplingsSeeNoCut) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 5);
  const auto cells = [&](double low, double high) {
    return random_.values(static_cast<std::size_t>(mesh.cells()), low, high);
  };
  const CellCoefficients rotated{mesh.x().size(), mesh.y().size(), cells(1, 9), cells(-0.99, 0.99), cells(1, 9), {}};
  CellCoefficients layers{mesh.x().size(), mesh.y().size(), cells(1, 1), {}, {}, {}};
  const auto below = static_cast<std::size_t>(Subdomain(mesh, 2, 1, 1).unknowns().origin_y * layers.nx);
  for (std::size_t k = 0; k < below; ++k) layers.xx[k] = 1e-3;
  layers.xx[0] = 2e-3;  // not separable
  for (const auto* k : {&rotated, &std::as_const(layers)}) {
    const auto numbers = [&](Context& ctx) {
      const PartitionLevels partition(ctx, mesh_hierarchy(mesh), 1);
      const auto a = assemble_diffusion(ctx, mesh, *k, CellFields(ctx, mesh, *k, 0), {}, partition.finest());
      const Couplings found = couplings(ctx, a);
      return Values{found.along_x, found.along_y, found.least_aligned, found.rotated, found.jump};
    };
    const Values one = test::on_subdomains(GetParam(), 1, numbers).values;
    EXPECT_GT(one.back(), 2);
    for (const int count : {2, 3}) {
      const auto several = test::on_subdomains(GetParam(), count, numbers);
      ASSERT_THAT(several.errors, testing::Each(""));
      for (std::size_t n = 0; n < several.values.size(); ++n)
        EXPECT_NEAR(several.values[n], one[n % one.size()], 1e-12 * one[n % one.size()]) << count << ", " << n;
    }
  }
}

TEST_P(DistributedSolversTest, FullMultigrid) {
  for (const char* name : {"U1", "A1"}) {
    const TensorMesh<2> mesh = make_mesh(mesh_family(name), 7);
    for (const auto precision : {Precision::mixed, Precision::full})
      for (const int cut : {1, 3}) {
        SCOPED_TRACE(testing::Message() << name << ", " << cut << " levels cut");
        auto p = params();
        p.precision = precision;
        p.multigrid.distributed_levels = cut;
        p.full_multigrid = true;
        expect_the_same(mesh, {}, p, {2, 4}, precision == Precision::full ? 1e-13 : 1e-6);
        p.continue_after_full_multigrid = true;
        expect_the_same(mesh, {}, p, {2}, at_tolerance);
      }
  }
  for (const Ends& ends : every_ends) {
    const TensorMesh<2> mesh = with_boundaries({Axis(random_.widths(33, 1)), Axis(random_.widths(44, 1))}, ends);
    PoissonProblem problem;
    problem.rhs = [](const Point& q) { return q.x * q.to_top + 3; };
    problem.reaction = 0.5;
    problem.boundaries = {side(ends.left, {}), side(ends.right, {}), side(ends.bottom, {}), side(ends.top, {})};
    auto p = params();
    p.precision = Precision::full;
    p.full_multigrid = true;
    p.terms = operator_terms(mesh, problem);
    expect_the_same(mesh, problem, p, {2, 3}, 1e-12);
  }
}

// K and c of the cells, alpha along the boundaries, and what is said of the solution.
TEST_P(DistributedSolversTest, SolutionsAndWhatIsSaidOfThem) {
  Context host(Backend::cpu, 1);
  for (const Ends& ends : every_ends)
    for (const auto& [by_cells, deformed] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      const TensorMesh<2> rectangle = with_boundaries({Axis(random_.widths(33, 1)), Axis(random_.widths(45, 1))}, ends);
      const ProblemMesh mesh = deformed ? ProblemMesh(test::wavy(host, rectangle)) : ProblemMesh(rectangle);
      SCOPED_TRACE(testing::Message() << to_string(ends.left) << " " << to_string(ends.right) << " "
                                      << to_string(ends.bottom) << " " << to_string(ends.top)
                                      << (by_cells ? ", K and c by cells" : "") << (deformed ? ", deformed" : ""));
      PoissonProblem problem;
      problem.exact = [](const Point& p) { return 2 + std::sin(p.x) * p.y; };
      problem.rhs = [](const Point& p) { return p.x * p.y + 3; };
      problem.boundaries = {side(ends.left, problem.exact), side(ends.right, problem.exact),
                            side(ends.bottom, problem.exact), side(ends.top, problem.exact)};
      if (by_cells) {
        problem.diffusion.xx = ScalarFunction([](const Point& p) { return 1 + p.x * p.x; });
        problem.reaction_of_cells = ScalarFunction([](const Point& p) { return 1 + p.y; });
      } else {
        problem.reaction = 0.5;
      }
      const auto numbers = [&](Context& ctx) {
        auto p = params();
        p.multigrid.cycle = Cycle::v;
        p.terms = operator_terms(mesh, problem);
        if (const auto cells = cell_coefficients(ctx, mesh, problem))
          p.coefficients = std::make_shared<const CellCoefficients>(*cells);
        PoissonSolver solver(ctx, mesh, p);
        Field<double> b(ctx, solver.fine_operator().shape()), x(ctx, b.shape());
        assemble_load(ctx, mesh, problem, b);
        const auto report = solver.solve(ctx, b.cview(), x.view());
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        test::poison(ctx, x);
        const auto errors = relative_errors(ctx, mesh, problem, x);
        const auto range = solution_range(ctx, mesh, problem, x);
        const auto fluxes = boundary_fluxes(ctx, mesh, problem, x);
        return Values{static_cast<double>(report.iterations),
                      report.initial_residual,
                      errors->l2,
                      errors->largest,
                      errors->energy,
                      relative_l2_error(ctx, mesh, problem, x).value_or(-1),
                      range.smallest.value,
                      range.smallest.x,
                      range.largest.value,
                      range.largest.y,
                      range.smallest_on_boundary,
                      range.largest_on_boundary,
                      range.largest_step(),
                      fluxes.left,
                      fluxes.right,
                      fluxes.bottom,
                      fluxes.top,
                      fluxes.reaction,
                      load_integral(ctx, mesh, problem, b)};
      };
      const auto one = test::on_subdomains(GetParam(), 1, numbers);
      ASSERT_EQ(one.errors[0], "");
      const auto several = test::on_subdomains(GetParam(), 3, numbers);
      ASSERT_THAT(several.errors, testing::Each(""));
      for (std::size_t k = 0; k < several.values.size(); ++k) {
        const double expected = one.values[k % one.values.size()];
        EXPECT_NEAR(several.values[k], expected, 1e-8 * (1 + std::abs(expected))) << "number " << k % one.values.size();
      }
    }
}

TEST_P(DistributedSolversTest, DeformedMeshes) {
  Context host(Backend::cpu, 1);
  PoissonProblem problem;
  problem.rhs = [](const Point& q) { return std::cos(q.x) + q.y; };
  for (const Ends& ends : every_ends) {
    SCOPED_TRACE(testing::Message() << to_string(ends.left) << " " << to_string(ends.right) << " "
                                    << to_string(ends.bottom) << " " << to_string(ends.top));
    problem.boundaries = {side(ends.left, {}), side(ends.right, {}), side(ends.bottom, {}), side(ends.top, {})};
    const auto check = [&](int nx, int ny, const char* smoother, std::initializer_list<int> counts) {
      SCOPED_TRACE(smoother);
      const MappedMesh mesh =
          test::wavy(host, with_boundaries({Axis(random_.widths(nx, 1)), Axis(random_.widths(ny, 1))}, ends));
      auto p = params();
      p.precision = Precision::full;
      p.multigrid.smoother = smoother;
      p.terms = operator_terms(mesh, problem);
      expect_the_same(mesh, problem, p, counts, at_tolerance);
    };
    check(33, 45, "adi", {2, 3, 4});
    for (const char* smoother : {"jacobi", "colour_gs", "line_x", "line_y", "auto"}) check(20, 33, smoother, {3});
  }
  // Natural and periodic boundaries alone: u up to a constant.
  const auto walls = [](BoundaryType end) {
    return BoundaryCondition{end == neumann ? BoundaryConditionType::neumann : BoundaryConditionType::periodic, {}, {}};
  };
  const Ends closed{periodic, periodic, neumann, neumann};
  const MappedMesh ring =
      test::wavy(host, with_boundaries({Axis(random_.widths(24)), Axis(random_.widths(41))}, closed));
  problem.boundaries = {walls(closed.left), walls(closed.right), walls(closed.bottom), walls(closed.top)};
  for (const auto kind : {InterpolationKind::conductance, InterpolationKind::bilinear, InterpolationKind::matrix})
    for (const auto precision : {Precision::mixed, Precision::full, Precision::residual_replacement}) {
      SCOPED_TRACE(testing::Message() << to_string(kind) << ", precision " << static_cast<int>(precision));
      auto p = params();
      p.precision = precision;
      p.interpolation = kind;
      p.multigrid.smoother = "adi";
      expect_the_same(ring, problem, p, {2, 4}, 1e-7);
    }
  // Full multigrid, and methods.
  const MappedMesh mesh = test::wavy(host, make_mesh(mesh_family("U1"), 6));
  problem.boundaries = {};
  auto p = params();
  p.full_multigrid = p.continue_after_full_multigrid = true;
  expect_the_same(mesh, problem, p, {2, 4}, at_tolerance);
  for (const auto method : values_of<Method>) {
    SCOPED_TRACE(to_string(method));
    auto of_method = params();
    of_method.method = method;
    of_method.precision = Precision::full;
    expect_the_same(mesh, problem, of_method, {3}, at_tolerance);
  }
}

TEST_P(DistributedSolversTest, EverySubdomainTakesItsPartOfTheMemory) {
  const TensorMesh<2> rectangle = make_mesh(mesh_family("U1"), 8);
  Context host(Backend::cpu, 1);
  const MappedMesh wavy = test::wavy(host, rectangle);
  for (const Geometry& mesh : {Geometry(rectangle), Geometry(wavy)}) {
    Context one(GetParam(), 1);
    const auto whole = static_cast<double>(required_memory(one, mesh, params()));
    const auto found = test::on_subdomains(GetParam(), 3, [&](Context& ctx) {
      const auto required = static_cast<double>(required_memory(ctx, mesh, params()));
      const GridLayout<2> subdomain =
          PartitionLevels(ctx, mesh_hierarchy(mesh.logical()), params().multigrid.partition()).finest();
      const Field<double> b(ctx, subdomain), x(ctx, subdomain);
      const PoissonSolver solver(ctx, mesh, params());
      return Values{required, static_cast<double>(ctx.memory()->peak_bytes)};
    });
    ASSERT_THAT(found.errors, testing::Each(""));
    for (std::size_t k = 0; k < found.values.size(); k += 2) {
      EXPECT_NEAR(found.values[k] / found.values[k + 1], 1, 0.1);
      EXPECT_LT(found.values[k], 0.6 * whole);
    }
  }
}

TEST_P(DistributedSolversTest, EverySubdomainNeedsRows) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 3);
  for (const auto& [count, message] : {std::pair{4, "7 rows cannot be cut into 4 subdomains"}, {9, "7 rows cannot"}}) {
    const auto found = test::on_subdomains(GetParam(), count, [&](Context& ctx) {
      PoissonSolver solver(ctx, mesh, {});
      return Values{};
    });
    for (const auto& error : found.errors)
      EXPECT_THAT(error, testing::AnyOf(testing::HasSubstr(message), testing::HasSubstr("given up")));
    EXPECT_THAT(found.errors, testing::Contains(testing::HasSubstr(message)));
  }
}

}  // namespace
