// Smoother "auto": what it chooses on meshes whose answer is known, that what was asked for wins, and that whatever it chooses
// converges, on random meshes as well.

#include <algorithm>
#include <cmath>
#include <set>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/sample_coefficients.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

std::vector<SmootherChoice> choose(const TensorMesh<2>& mesh, const SmootherParams& given = {},
                                   std::optional<int> sweeps = std::nullopt) {
  return choose_smoothers(mesh_hierarchy(mesh), given, sweeps);
}

/// The smoothers of all levels but the coarsest.
std::set<std::string> names(const std::vector<SmootherChoice>& choices) {
  std::set<std::string> found;
  for (std::size_t l = 1; l < choices.size(); ++l) found.insert(choices[l].smoother);
  return found;
}

using Names = std::set<std::string>;

TEST(SmootherChoice, SquareCellsGetAPointSmoother) {
  EXPECT_EQ(names(choose(make_mesh(mesh_family("U1"), 8))), Names{"colour_gs"});
  EXPECT_EQ(names(choose({uniform(1.25, 96), uniform(1, 96)})), Names{"colour_gs"});
}

TEST(SmootherChoice, CellsStretchedOneWayGetLinesAlongTheirNarrowDirection) {
  for (const double ratio : {1.6, 4.0, 16.0, 1e6}) {
    EXPECT_EQ(names(choose({uniform(1, 64), uniform(ratio, 64)})), Names{"line_x"}) << ratio;
    EXPECT_EQ(names(choose({uniform(ratio, 64), uniform(1, 64)})), Names{"line_y"}) << ratio;
  }
  // Graded, but narrow in x everywhere.
  const TensorMesh<2> layer{geometric(1e-3, 64, 1.2, GradedSide::first), uniform(1, 64)};
  EXPECT_EQ(names(choose(layer)), Names{"line_x"});
  const TensorMesh<2> turned{uniform(1, 64), geometric(1e-3, 64, 1.2, GradedSide::first)};
  EXPECT_EQ(names(choose(turned)), Names{"line_y"});
}

TEST(SmootherChoice, CellsStretchedBothWaysGetAdi) {
  for (const char* name : {"A1", "A2", "A3", "A4", "A5"}) {
    const auto choices = choose(make_mesh(mesh_family(name), 8));
    EXPECT_EQ(choices.back().smoother, "adi") << name;
    EXPECT_NE(choices.back().reason.find("here"), std::string::npos) << choices.back().reason;
  }
}

TEST(SmootherChoice, FollowsTheLevels) {
  // Cells that are four times as wide as high, until x stops coarsening at 2 cells; then y catches up.
  const auto choices = choose({uniform(1, 16), uniform(1, 64)});
  ASSERT_EQ(choices.size(), 6U);  // 2 x 2, 2 x 4, 2 x 8, 4 x 16, 8 x 32, 16 x 64
  EXPECT_EQ(choices[5].smoother, "line_y");
  EXPECT_EQ(choices[3].smoother, "line_y");
  // Strong along y, which alone coarsens: nothing that a point smoother would leave.
  EXPECT_EQ(choices[2].smoother, "colour_gs");
  EXPECT_EQ(choices[1].smoother, "colour_gs");
  // Strong along x, and y alone coarsens.
  EXPECT_EQ(names(choose({uniform(1e-3, 2), uniform(1, 64)})), Names{"line_x"});
}

TEST(SmootherChoice, WhatWasAskedForWins) {
  for (const auto& choice : choose(make_mesh(mesh_family("A3"), 6))) {
    EXPECT_FALSE(choice.params.damping);
  }
  SmootherParams given;
  given.damping = 0.9;
  given.line_order = LineOrder::simultaneous;
  const auto choices = choose(make_mesh(mesh_family("A3"), 6), given, 4);
  for (std::size_t l = 1; l < choices.size(); ++l) {
    EXPECT_EQ(choices[l].params.damping, 0.9);
    EXPECT_EQ(choices[l].params.line_order, LineOrder::simultaneous);
    EXPECT_EQ(choices[l].sweeps, 4);
  }
  EXPECT_EQ(choose(make_mesh(mesh_family("U1"), 6), {}, 3).back().sweeps, 3);
  EXPECT_EQ(choose(make_mesh(mesh_family("A3"), 6), {}, 3).back().sweeps, 4) << "an application of adi is two";
}

TEST(SmootherChoice, WidthsAtTheEndsOfDoubleAreCompared) {
  const TensorMesh<2> mesh{Axis({1e-150, 1e-150, 1e-150, 1e-150}), Axis({1e150, 1e150, 1e150, 1e150})};
  EXPECT_EQ(names(choose(mesh)), Names{"line_x"});
}

TEST(SmootherChoice, TheLargestJumpIsBetweenNeighbours) {
  EXPECT_EQ(largest_jump(uniform(1, 1)), 1);
  EXPECT_EQ(largest_jump(Axis({1, 2, 8, 4})), 4);
  EXPECT_EQ(largest_jump(Axis({8, 1, 3})), 8);
}

class AutoSmootherTest : public test::OnEveryBackend {
 protected:
  static PoissonSolverParams automatic() {
    PoissonSolverParams params;
    params.multigrid.smoother = "auto";
    return params;
  }
  /// The same where a GPU would solve the finest level.
  static PoissonSolverParams automatic_cycles() {
    auto params = automatic();
    params.multigrid.exact_below = 0;
    return params;
  }
  SolveReport solve(const TensorMesh<2>& mesh, const PoissonSolverParams& params, bool random_rhs = true) {
    Field<double> b(ctx(), mesh.unknowns()), x(ctx(), mesh.unknowns());
    if (random_rhs)
      b = test::to_device<double>(ctx(), mesh.unknowns(),
                                  random_.values(static_cast<std::size_t>(mesh.unknowns().nodes())));
    else
      assemble_load(ctx(), mesh, {}, b);
    if (params.full_multigrid) set(ctx(), std::numeric_limits<double>::quiet_NaN(), x.view());  // nobody looks
    return PoissonSolver(ctx(), mesh, params).solve(ctx(), b.cview(), x.view());
  }
  test::Random random_{211};
};
INSTANTIATE_ON_EVERY_BACKEND(AutoSmootherTest);

TEST_P(AutoSmootherTest, SolvesThePublishedMeshesInFewCycles) {
  for (const auto& family : named_meshes())
    for (const int level : {1, 2, 5, 8})
      for (const auto precision : {Precision::mixed, Precision::full})
        for (auto params : {automatic(), automatic_cycles()}) {
          SCOPED_TRACE(testing::Message() << family.name << ", level " << level);
          params.precision = precision;
          const auto report = solve(make_mesh(family, level), params, false);
          EXPECT_EQ(report.status, Status::converged) << report.reason;
          EXPECT_LE(report.iterations, 10);
        }
}

TEST_P(AutoSmootherTest, NeverMissesOnRandomMeshes) {
  const auto line = [&](double length) {
    const int cells = static_cast<int>(random_.uniform(1, 130));
    const auto side = static_cast<GradedSide>(static_cast<int>(random_.uniform(0, 2.999)));
    const double thin = length * std::pow(10.0, -random_.uniform(0.7, 7));
    switch (static_cast<int>(random_.uniform(0, 5.999))) {
      case 0: return uniform(length, cells);
      case 1: return geometric(length, cells, 1 + random_.uniform(0, 20) / cells, side);
      case 2: return cells > 2 ? geometric_with_smallest(length, cells, thin / cells, side) : uniform(length, cells);
      case 3: return hyperbolic_tangent(length, cells, random_.uniform(0.5, 9), side);
      case 4: return cells > 2 ? shishkin(length, cells, thin, side) : uniform(length, cells);
      default: return Axis(random_.widths(cells, random_.uniform(0, 3)));
    }
  };
  for (int k = 0; k < 150; ++k) {
    const TensorMesh<2> mesh{line(std::pow(10.0, random_.uniform(-3, 3))), line(1)};
    for (const auto& params : {automatic(), automatic_cycles()}) {
      const auto report = solve(mesh, params);
      EXPECT_EQ(report.status, Status::converged)
          << mesh.x().size() << " x " << mesh.y().size() << " cells, aspect ratio " << mesh.largest_aspect_ratio()
          << ": " << report.reason << "; " << report.choice;
      EXPECT_LE(report.iterations, 45) << mesh.x().size() << " x " << mesh.y().size() << ", " << report.choice;
      if (!ctx().on_gpu()) break;  // the same
    }
  }
}

TEST_P(AutoSmootherTest, TheIterationFollowsTheJumpsAndWhatWasAskedForWins) {
  const auto chosen = [&](const TensorMesh<2>& mesh, const PoissonSolverParams& params) {
    const PoissonSolver solver(ctx(), mesh, params);
    return std::pair(solver.params().method.value(), solver.params().multigrid.cycle.value());
  };
  using Choice = std::pair<Method, Cycle>;
  const Choice v{Method::multigrid, Cycle::v}, f{Method::multigrid, Cycle::f}, cg{Method::cg, Cycle::v};
  const auto crossing = [](int cells, double transition) {
    return TensorMesh<2>{shishkin(1, cells, transition, GradedSide::first),
                         shishkin(1, cells, transition, GradedSide::last)};
  };
  EXPECT_EQ(chosen(make_mesh(mesh_family("A3"), 6), automatic()), v);
  EXPECT_EQ(chosen({shishkin(1, 64, 1e-6, GradedSide::first), uniform(1, 64)}, automatic()), v) << "no crossing";
  EXPECT_EQ(chosen(crossing(64, 1e-2), automatic()), cg) << "small";
  EXPECT_EQ(chosen(crossing(256, 1e-2), automatic()), ctx().on_gpu() ? cg : f);
  EXPECT_EQ(chosen(crossing(256, 1e-6), automatic()), cg);

  auto params = automatic();
  params.method = Method::multigrid;
  EXPECT_EQ(chosen(crossing(64, 1e-6), params), v);
  params = automatic();
  params.multigrid.cycle = Cycle::w;
  EXPECT_EQ(chosen(crossing(64, 1e-6), params), (Choice{Method::multigrid, Cycle::w}));
  params = automatic();
  params.method = Method::cg;
  EXPECT_EQ(chosen(make_mesh(mesh_family("U1"), 6), params), cg);
  params = automatic();
  params.inner.rtol = 1e-2;
  EXPECT_EQ(chosen(crossing(64, 1e-6), params).first, Method::multigrid) << "a tolerance is not constant";
  EXPECT_EQ(chosen(crossing(64, 1e-6), {}), v) << "only auto chooses";
}

TEST_P(AutoSmootherTest, CrossingJumpsTakeFewIterationsAtEverySize) {
  for (const int cells : {64, 104, 256}) {
    const auto line = shishkin(1, cells, 1e-6, GradedSide::first);
    const auto report = solve({line, line}, automatic());
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(report.iterations, 14);
  }
}

TEST_P(AutoSmootherTest, TheReportSaysWhatWasChosenAndWhy) {
  const auto report = solve(make_mesh(mesh_family("A3"), 5), automatic_cycles());
  ASSERT_EQ(report.levels.size(), 5U);
  EXPECT_EQ(report.levels[0].smoother, "");
  EXPECT_EQ(report.levels[4].smoother, "adi");
  EXPECT_EQ(report.levels[4].sweeps, 2);
  EXPECT_NE(report.levels[4].reason.find("as high as wide"), std::string::npos) << report.levels[4].reason;
  EXPECT_NE(report.choice.find("V-cycles"), std::string::npos) << report.choice;

  const auto fixed = solve(make_mesh(mesh_family("A3"), 5), {});
  EXPECT_EQ(fixed.levels[4].smoother, "adi");
  EXPECT_EQ(fixed.levels[4].sweeps, GetParam() == Backend::cuda ? 2 : 4);
  EXPECT_EQ(fixed.levels[4].reason, "");
  EXPECT_EQ(fixed.choice, "");

  if (!ctx().on_gpu()) return;
  const auto exact = solve(make_mesh(mesh_family("A3"), 5), automatic());
  EXPECT_EQ(exact.levels[4].smoother, "");
  EXPECT_NE(exact.levels[4].reason.find("31 unknowns"), std::string::npos) << exact.levels[4].reason;
  EXPECT_LE(exact.iterations, 2);
}

TEST_P(AutoSmootherTest, FullMultigridAndConjugateGradientsTakeIt) {
  for (const auto* name : {"U1", "U3", "A1", "A3"}) {
    const auto mesh = make_mesh(mesh_family(name), 6);
    auto params = automatic();
    params.full_multigrid = true;
    EXPECT_EQ(solve(mesh, params, false).status, Status::converged) << name;
    params.continue_after_full_multigrid = true;
    EXPECT_EQ(solve(mesh, params, false).status, Status::converged) << name;
    params.full_multigrid = false;
    params.method = Method::cg;
    const auto report = solve(mesh, params);
    EXPECT_EQ(report.status, Status::converged) << name << ": " << report.reason;
    EXPECT_LE(report.iterations, 10);
  }
}

TEST_P(AutoSmootherTest, RequiredMemoryIsWhatIsTaken) {
  for (const auto* name : {"U1", "U3", "A2", "A5"}) {
    Context own(GetParam(), GetParam() == Backend::cpu ? test::cpu_threads : 0);
    const auto mesh = make_mesh(mesh_family(name), 9);
    Field<double> b(own, mesh.unknowns()), x(own, mesh.unknowns());
    const PoissonSolver solver(own, mesh, automatic());
    const auto taken = static_cast<double>(own.memory()->bytes.load());
    const auto required = static_cast<double>(required_memory(own, mesh, automatic()));
    EXPECT_GT(required, 0.9 * taken) << name;
    EXPECT_LT(required, 1.25 * taken) << name;
  }
}

// --- by the matrix, where K varies ---------------------------------------------------------------------------------------

class AutoByMatrixTest : public AutoSmootherTest {
 protected:
  static PoissonSolverParams automatic_with(CellCoefficients k) {
    auto params = automatic_cycles();
    params.coefficients = std::make_shared<const CellCoefficients>(std::move(k));
    return params;
  }
  struct Outcome {
    SolveReport report;
    Method method;
    Cycle cycle;
    std::string finest;  // smoother
  };
  Outcome solve_with(const TensorMesh<2>& mesh, const PoissonSolverParams& params) {
    Field<double> b(ctx(), mesh.unknowns()), x(ctx(), mesh.unknowns());
    assemble_load(ctx(), mesh, {}, b);
    PoissonSolver solver(ctx(), mesh, params);
    auto report = solver.solve(ctx(), b.cview(), x.view());
    EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
    return {std::move(report), *solver.params().method, *solver.params().multigrid.cycle,
            solver.level_reports().back().smoother};
  }
  TensorMesh<2> square() { return make_mesh(mesh_family("U1"), 7); }
};
INSTANTIATE_ON_EVERY_BACKEND(AutoByMatrixTest);

TEST_P(AutoByMatrixTest, CouplingsAreThoseOfTheCells) {
  const TensorMesh<2> mesh{uniform(1, 40), uniform(4, 32)};  // 5 times as high as wide
  for (const auto format : {StorageFormat::tensor, StorageFormat::nine_band}) {
    const auto found = couplings(ctx(), assemble_laplace<double>(ctx(), mesh, format));
    EXPECT_NEAR(found.along_x, 5, 1e-10);
    EXPECT_NEAR(found.along_y, 0.2, 1e-10);
    EXPECT_NEAR(found.jump, 1, 1e-10);
    EXPECT_NEAR(found.least_aligned, 1, 1e-10);
    EXPECT_FALSE(found.is_rotated());
  }
  const auto plain = square();
  const auto of = [&](const CellCoefficients& k) { return couplings(ctx(), assemble_diffusion(ctx(), plain, k)); };
  const auto turned = of(rotated(plain, 1000, 30));
  EXPECT_NEAR(turned.least_aligned, 0.001 / (0.75025 * 0.25075), 1e-6);
  EXPECT_TRUE(turned.is_rotated());
  EXPECT_FALSE(of(rotated(plain, 10, 45)).is_rotated());
  const auto jumps = of(discs(plain, 1e4));
  EXPECT_NEAR(jumps.along_x, 1, 1e-6);
  EXPECT_NEAR(jumps.along_y, 1, 1e-6);
  EXPECT_GT(jumps.jump, 1e3);
  EXPECT_LE(jumps.jump, 1e4);
  // Nor is rounding mistaken for K where cells are 10^15 times as long as wide.
  const auto thin =
      couplings(ctx(), assemble_laplace<double>(ctx(), make_mesh(mesh_family("A5"), 9), StorageFormat::symmetric));
  EXPECT_GT(thin.along_x, 1e6);
  EXPECT_GT(thin.along_y, 1e6);
  EXPECT_FALSE(thin.is_rotated());
}

TEST_P(AutoByMatrixTest, EqualCoefficientsAreChosenForAsTheMeshIs) {
  for (const auto& family : named_meshes()) {
    const auto mesh = make_mesh(family, 6);
    const auto by_matrix = solve_with(mesh, automatic_with(unit_cells(mesh)));
    const auto by_widths = PoissonSolver(ctx(), mesh, automatic_cycles()).level_reports();
    EXPECT_EQ(by_matrix.finest, by_widths.back().smoother) << family.name;
    EXPECT_LE(by_matrix.report.iterations, 9) << family.name;
  }
}

TEST_P(AutoByMatrixTest, JumpsOnSquareCellsTakePointsAndConjugateGradients) {
  const auto mesh = square();
  for (const auto& [k, most] : {std::pair{checkerboard(mesh, 7, 1e4), 13},
                                {discs(mesh, 1e-4), 11},
                                {log_normal(mesh, 1), 11},
                                {discs(mesh, 1e4), 28}}) {
    const auto found = solve_with(mesh, automatic_with(k));
    EXPECT_EQ(found.method, Method::cg);
    EXPECT_EQ(found.cycle, Cycle::v);
    EXPECT_EQ(found.finest, "colour_gs");
    EXPECT_LE(found.report.iterations, most);
    EXPECT_NE(found.report.choice.find("K jumps by up to"), std::string::npos) << found.report.choice;
    EXPECT_EQ(found.report.levels.back().reason, "coupled alike along x and y");
  }
}

TEST_P(AutoByMatrixTest, StrongDirectionsOfKTakeLines) {
  const auto mesh = square();
  CellCoefficients k = unit_cells(mesh);
  k.yy.assign(k.xx.size(), 100.0);
  const auto up = solve_with(mesh, automatic_with(k));
  EXPECT_EQ(up.finest, "line_y");
  EXPECT_LE(up.report.iterations, 9);
  EXPECT_NE(up.report.levels.back().reason.find("10 times as wide as high"), std::string::npos)
      << up.report.levels.back().reason;
  // Along x below and along y above.
  for (std::size_t n = 0; n < k.xx.size() / 2; ++n) std::swap(k.xx[n], k.yy[n]);
  const auto both = solve_with(mesh, automatic_with(k));
  EXPECT_EQ(both.finest, "adi");
  EXPECT_LE(both.report.iterations, 11);
  // Cells as much higher than wide undo it: what counts is what is coupled.
  const TensorMesh<2> high{uniform(1, 128), uniform(10, 128)};
  CellCoefficients against = unit_cells(high);
  against.yy.assign(against.xx.size(), 100.0);
  EXPECT_EQ(solve_with(high, automatic_with(against)).finest, "colour_gs");
}

TEST_P(AutoByMatrixTest, RotatedTensorsTakeMoreOfCoarseLevels) {
  const auto mesh = square();
  for (const auto& [degrees, most] : {std::pair{15.0, 18}, {30.0, 13}, {45.0, 11}}) {
    auto k = rotated(mesh, 1000, degrees);
    const auto smooth = solve_with(mesh, automatic_with(k));
    EXPECT_EQ(smooth.method, Method::fcg);
    EXPECT_EQ(smooth.cycle, Cycle::k);
    EXPECT_EQ(smooth.finest, "adi");
    EXPECT_LE(smooth.report.iterations, most);
    EXPECT_NE(smooth.report.choice.find("rotated against the mesh"), std::string::npos) << smooth.report.choice;
    const auto board = checkerboard(mesh, 4, 1e4);
    for (std::size_t n = 0; n < k.xx.size(); ++n)
      for (auto* part : {&k.xx, &k.xy, &k.yy}) (*part)[n] *= board.xx[n];
    const auto jumps = solve_with(mesh, automatic_with(k));
    EXPECT_EQ(jumps.method, Method::cg);
    EXPECT_EQ(jumps.cycle, Cycle::w2);
    EXPECT_LE(jumps.report.iterations, 40);
  }
  // What is asked for wins.
  auto params = automatic_with(rotated(mesh, 1000, 45));
  for (const auto& [method, cycle] :
       {std::pair{Method::gcr, Cycle::k}, {Method::multigrid, Cycle::k}, {Method::cr, Cycle::w2}}) {
    params.method = method;
    const auto found = solve_with(mesh, params);
    EXPECT_EQ(found.method, method);
    EXPECT_EQ(found.cycle, cycle);
    EXPECT_LE(found.report.iterations, 18);
  }
  params.method.reset();
  params.multigrid.cycle = Cycle::w;
  EXPECT_EQ(solve_with(mesh, params).method, Method::cg);
  params = automatic_with(rotated(mesh, 10, 30));
  EXPECT_EQ(solve_with(mesh, params).cycle, Cycle::v);
}

TEST_P(AutoByMatrixTest, SymmetricMatricesAreLookedAtToo) {
  const auto mesh = square();
  auto params = automatic();
  params.multigrid.symmetric = true;
  const auto chosen = [&](const CellCoefficients& k) {
    const PoissonSolver solver(ctx(), assemble_diffusion(ctx(), mesh, k), mesh, params);
    return std::pair(solver.params().method.value(), solver.params().multigrid.cycle.value());
  };
  using Choice = std::pair<Method, Cycle>;
  EXPECT_EQ(chosen(rotated(mesh, 1000, 30)), (Choice{Method::fcg, Cycle::k}));
  EXPECT_EQ(chosen(discs(mesh, 1e3)), (Choice{Method::cg, Cycle::v}));
  EXPECT_EQ(chosen(unit_cells(mesh)), (Choice{Method::cg, Cycle::v}));
}

}  // namespace
