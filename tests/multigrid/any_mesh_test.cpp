// Hierarchies and solves on meshes of any size: subdomains, primes, odd numbers of cells, strong gradings.

#include <cmath>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

TensorMesh<2> uniform_mesh(int cells_x, int cells_y) { return {uniform(1, cells_x), uniform(1, cells_y)}; }

TEST(AnyHierarchy, CoarsensAsFarAsEachDirectionGoes) {
  test::Random random(171);
  const auto stops = [](int cells) { return cells <= 2; };
  for (int nx = 1; nx <= 40; ++nx)
    for (int ny = 1; ny <= 40; ++ny) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << " cells");
      const TensorMesh<2> fine{Axis(random.widths(nx, 8)), Axis(random.widths(ny, 8))};
      const auto meshes = mesh_hierarchy(fine);
      EXPECT_EQ(meshes.back().x().widths(), fine.x().widths());
      EXPECT_EQ(meshes.back().y().widths(), fine.y().widths());
      for (std::size_t l = 1; l < meshes.size(); ++l)
        for (const auto direction : {&TensorMesh<2>::x, &TensorMesh<2>::y}) {
          const Axis &upper = (meshes[l].*direction)(), &lower = (meshes[l - 1].*direction)();
          if (stops(upper.size())) {
            EXPECT_EQ(lower.widths(), upper.widths());
            continue;
          }
          ASSERT_EQ(lower.size(), (upper.size() + 1) / 2);
          for (std::size_t i = 0; i < lower.widths().size(); ++i)
            EXPECT_EQ(lower.widths()[i],
                      upper.widths()[2 * i] + (2 * i + 1 < upper.widths().size() ? upper.widths()[2 * i + 1] : 0));
        }
      if (fine.unknowns().nodes() == 0) {
        EXPECT_EQ(meshes.size(), 1U) << "levels without unknowns";
      } else {
        EXPECT_EQ(meshes[0].unknowns().nodes(), 1);
      }
    }
}

TEST(AnyHierarchy, TheCoarsestLevelIsSolvedDirectlyWhereItIsSmall) {
  const auto registry = builtin_coarse_solvers();
  const auto automatic = [&](int nx, int ny) {
    return coarse_solver_for(registry, test::unknowns(nx, ny), "automatic");
  };
  EXPECT_EQ(automatic(8, 8), "direct");
  EXPECT_EQ(automatic(1, 2), "direct");
  EXPECT_EQ(automatic(1, 1), "direct");
  EXPECT_EQ(coarse_solver_for(registry, test::unknowns(1, 1), "cg_jacobi"), "direct") << "a quotient";
  EXPECT_EQ(automatic(96, 100), "cg_adi") << "a list of meshes that ends early";
  for (const auto& [name, entry] : registry.entries())
    EXPECT_EQ(coarse_solver_for(registry, test::unknowns(96, 100), name), name);
}

class AnyMeshTest : public test::OnEveryBackend {
 protected:
  struct Result {
    SolveReport report;
    double true_reduction = 0;  // by the oracle
    std::string coarse;
  };
  /// Solves for a random right-hand side, in four sweeps before and after on a GPU too.
  Result solve(const TensorMesh<2>& mesh, PoissonSolverParams params) {
    if (params.multigrid.smoother != "auto") params.multigrid.sweeps = params.multigrid.sweeps.value_or(4);
    const auto oracle = reference::laplace(mesh.x().widths(), mesh.y().widths());
    const auto b = test::to_device<double>(ctx(), mesh.unknowns(), random_.values(oracle.size()));
    Field<double> x(ctx(), mesh.unknowns());
    PoissonSolver solver(ctx(), mesh, params);
    Result result{solver.solve(ctx(), b.cview(), x.view()), 0, solver.coarse_solver()};
    const double norm = reference::norm(test::to_host(ctx(), b));
    if (norm > 0)
      result.true_reduction =
          reference::norm(reference::residual(oracle, test::to_host(ctx(), b), test::to_host(ctx(), x))) / norm;
    return result;
  }
  void expect_solved(const Result& result, int most_cycles) {
    EXPECT_EQ(result.report.status, Status::converged) << result.report.reason;
    EXPECT_LE(result.true_reduction, 1.001e-8);
    EXPECT_LE(result.report.iterations, most_cycles);
  }
  TensorMesh<2> random_mesh(int cells_x, int cells_y, double decades) {
    return {Axis(random_.widths(cells_x, decades)), Axis(random_.widths(cells_y, decades))};
  }
  test::Random random_{172};
};
INSTANTIATE_ON_EVERY_BACKEND(AnyMeshTest);

TEST_P(AnyMeshTest, StripsPrimesAndOddNumbersAreSolved) {
  for (const auto& [nx, ny] : {std::pair{1, 1},
                               {1, 2},
                               {1, 37},
                               {64, 1},
                               {2, 2},
                               {2, 1000},
                               {1000, 2},
                               {3, 5},
                               {5, 3},
                               {3, 3},
                               {2, 3},
                               {4, 7},
                               {3, 1024},
                               {1009, 3},
                               {7, 96},
                               {97, 101},
                               {31, 62}})
    for (const auto precision : {Precision::mixed, Precision::full})
      for (const auto method : {Method::multigrid, Method::cg}) {
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << " cells" << (method == Method::cg ? ", cg" : ""));
        PoissonSolverParams params;
        params.precision = precision;
        params.method = method;
        expect_solved(solve(random_mesh(nx, ny, 2), params), 12);
      }
}

TEST_P(AnyMeshTest, FullMultigridTakesAnyMesh) {
  for (const auto& [nx, ny] : {std::pair{1, 5}, {2, 40}, {3, 5}, {97, 101}, {48, 36}}) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny << " cells");
    PoissonSolverParams params;
    params.full_multigrid = params.continue_after_full_multigrid = true;
    expect_solved(solve(random_mesh(nx, ny, 2), params), 12);
  }
}

// A hierarchy of one mesh: its solver does it all.
TEST_P(AnyMeshTest, ASingleLevelIsSolvedByItsSolver) {
  const auto mesh = random_mesh(97, 101, 3);
  const auto oracle = reference::laplace(mesh.x().widths(), mesh.y().widths());
  const auto b = test::to_device<double>(ctx(), mesh.unknowns(), random_.values(oracle.size()));
  for (const char* asked : {"automatic", "cg_adi"}) {
    MultigridParams params;
    params.coarse = asked;
    Multigrid<double> single(ctx(), {mesh}, StorageFormat::tensor, params);
    EXPECT_EQ(single.coarse_solver(), "cg_adi");
    Field<double> x(ctx(), mesh.unknowns());
    single.apply(ctx(), b.cview(), x.view());
    const auto r = reference::residual(oracle, test::to_host(ctx(), b), test::to_host(ctx(), x));
    EXPECT_LT(reference::norm(r), 1e-8 * reference::norm(test::to_host(ctx(), b)));
  }
  MultigridParams direct;
  direct.coarse = "direct";
  EXPECT_THROW(Multigrid<double>(ctx(), {mesh}, StorageFormat::tensor, direct), UsageError) << "too many unknowns";
}

// Lines beside the grid, which long line solves carry along, are no numbers that spoil the others: no second attempt in double.
TEST_P(AnyMeshTest, EvenNumbersOfUnknownsAreSolvedInMixedPrecision) {
  for (const auto& [nx, ny] : {std::pair{1001, 1025}, {2001, 1501}, {1501, 3001}}) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny << " cells");
    const auto report = solve(uniform_mesh(nx, ny), {}).report;
    EXPECT_EQ(report.status, Status::converged);
    EXPECT_LE(report.iterations, 8);
    EXPECT_EQ(report.reason.find("double-precision fallback"), std::string::npos) << report.reason;
  }
}

// Sizes that halve and sizes that do not: the same cycles, within one.
TEST_P(AnyMeshTest, OddSizesTakeTheCyclesOfEvenOnes) {
  for (const char* smoother : {"adi", "colour_gs"}) {
    PoissonSolverParams params;
    params.multigrid.smoother = smoother;
    const int even = solve(uniform_mesh(128, 128), params).report.iterations;
    for (const auto& [nx, ny] : {std::pair{127, 129}, {131, 97}, {97, 160}, {126, 130}}) {
      SCOPED_TRACE(testing::Message() << smoother << ", " << nx << " x " << ny << " cells");
      expect_solved(solve(uniform_mesh(nx, ny), params), even + 1);
    }
  }
  for (const int n : {97, 129, 131, 193})
    expect_solved(solve({geometric(1, n, 1.1, GradedSide::last), geometric(1, n, 1.1, GradedSide::first)}, {}), 7);
}

// Neighbouring widths that differ by up to a factor of a thousand, at random, on hierarchies that semi-coarsen.
TEST_P(AnyMeshTest, RandomWidthsTakeTheSameCyclesAtEverySize) {
  for (const auto& [nx, ny] :
       {std::pair{48, 80}, {97, 160}, {101, 512}, {512, 101}, {194, 202}, {3, 512}, {388, 404}}) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny << " cells");
    expect_solved(solve(random_mesh(nx, ny, 2), {}), 12);
    expect_solved(solve(random_mesh(nx, ny, 3), {}), 20);
    PoissonSolverParams params;
    params.method = Method::cg;
    expect_solved(solve(random_mesh(nx, ny, 3), params), 14);
    expect_solved(solve(random_mesh(nx, ny, 4), params), 20);
  }
}

// Every grading, to widths of 1e-9 and aspect ratios of 1e8, on sizes that coarsen differently in each direction.
TEST_P(AnyMeshTest, GradedMeshesTakeTheSameCyclesAtEverySize) {
  const auto lines = [](int cells) {
    return std::vector<Axis>{uniform(1, cells),
                             geometric(1, cells, 1.0 + 20.0 / cells, GradedSide::last),
                             geometric_with_smallest(1, cells, 1e-9, GradedSide::both),
                             hyperbolic_tangent(1, cells, 8, GradedSide::first),
                             cosine(1, cells),
                             shishkin(1, cells, 1e-6, GradedSide::first)};
  };
  for (const auto& [nx, ny] : {std::pair{47, 96}, {160, 36}, {97, 160}, {202, 194}}) {
    const auto xs = lines(nx), ys = lines(ny);
    for (std::size_t i = 0; i < xs.size(); ++i)
      for (std::size_t j = 0; j < ys.size(); ++j) {
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << " cells, gradings " << i << " and " << j);
        const TensorMesh<2> mesh{xs[i], ys[j]};
        Field<double> b(ctx(), mesh.unknowns()), x(ctx(), mesh.unknowns());
        assemble_load(ctx(), mesh, {}, b);
        const auto report = PoissonSolver(ctx(), mesh).solve(ctx(), b.cview(), x.view());
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        EXPECT_LE(report.iterations, 20);
      }
  }
}

// Where widths jump in both directions, the strongly coupled row and column that meet there share an error that no line
// smoother reduces, and whose energy doubles with every coarsening: V-cycles slow down with the number of levels (14
// cycles with 64 x 64 cells, 31 with 256 x 256). It is one error a crossing, which CG removes.
TEST_P(AnyMeshTest, JumpsThatCrossAreForConjugateGradients) {
  for (const int cells : {64, 104, 256}) {
    const auto line = shishkin(1, cells, 1e-6, GradedSide::first);
    PoissonSolverParams params;
    params.method = Method::cg;
    expect_solved(solve({line, line}, params), 12);
  }
}

TEST_P(AnyMeshTest, HalvingDividesTheErrorByFour) {
  const TensorMesh<2> base{hyperbolic_tangent(1, 11, 2, GradedSide::both), geometric(2, 14, 1.3, GradedSide::first)};
  double previous = 0;
  for (int level = 0; level <= 3; ++level) {
    const TensorMesh<2> mesh{halved(base.x(), level), halved(base.y(), level)};
    Field<double> b(ctx(), mesh.unknowns()), x(ctx(), mesh.unknowns());
    assemble_load(ctx(), mesh, {}, b);
    EXPECT_EQ(PoissonSolver(ctx(), mesh).solve(ctx(), b.cview(), x.view()).status, Status::converged);
    const double error = relative_l2_error(ctx(), mesh, {}, x).value();
    if (level > 1) {
      EXPECT_NEAR(previous / error, 4, 0.05);
    }
    previous = error;
  }
}

}  // namespace
