// Smoother "auto": what it chooses on meshes whose answer is known, that what was asked for wins, and that whatever it chooses
// converges, on random meshes as well.

#include <algorithm>
#include <cmath>
#include <set>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

std::vector<SmootherChoice> choose(const TensorMesh& mesh, const SmootherParams& given = {},
                                   std::optional<int> steps = std::nullopt) {
  return choose_smoothers(mesh_hierarchy(mesh), given, steps);
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
  const TensorMesh layer{geometric(1e-3, 64, 1.2, GradedSide::first), uniform(1, 64)};
  EXPECT_EQ(names(choose(layer)), Names{"line_x"});
  const TensorMesh turned{uniform(1, 64), geometric(1e-3, 64, 1.2, GradedSide::first)};
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
    EXPECT_EQ(choices[l].steps, 4);
  }
  EXPECT_EQ(choose(make_mesh(mesh_family("U1"), 6), {}, 3).back().steps, 3);
  EXPECT_EQ(choose(make_mesh(mesh_family("A3"), 6), {}, 3).back().steps, 4) << "an application of adi is two";
}

TEST(SmootherChoice, WidthsAtTheEndsOfDoubleAreCompared) {
  const TensorMesh mesh{Intervals({1e-150, 1e-150, 1e-150, 1e-150}), Intervals({1e150, 1e150, 1e150, 1e150})};
  EXPECT_EQ(names(choose(mesh)), Names{"line_x"});
}

TEST(SmootherChoice, TheLargestJumpIsBetweenNeighbours) {
  EXPECT_EQ(largest_jump(uniform(1, 1)), 1);
  EXPECT_EQ(largest_jump(Intervals({1, 2, 8, 4})), 4);
  EXPECT_EQ(largest_jump(Intervals({8, 1, 3})), 8);
}

class AutoSmootherTest : public test::OnEveryBackend {
 protected:
  static PoissonSolverParams automatic() {
    PoissonSolverParams params;
    params.multigrid.smoother = "auto";
    return params;
  }
  SolveReport solve(const TensorMesh& mesh, const PoissonSolverParams& params, bool random_rhs = true) {
    Vector<double> b(ctx(), mesh.unknowns()), x(ctx(), mesh.unknowns());
    if (random_rhs)
      b = test::to_device<double>(ctx(), mesh.unknowns(),
                                  random_.values(static_cast<std::size_t>(mesh.unknowns().nodes())));
    else
      assemble_load(ctx(), mesh, {}, b.view());
    return PoissonSolver(ctx(), mesh, params).solve(ctx(), b.cview(), x.view());
  }
  test::Random random_{211};
};
INSTANTIATE_ON_EVERY_BACKEND(AutoSmootherTest);

TEST_P(AutoSmootherTest, SolvesThePublishedMeshesInFewCycles) {
  for (const auto& family : named_meshes())
    for (const int level : {1, 2, 5, 8})
      for (const auto precision : {Precision::mixed, Precision::full}) {
        SCOPED_TRACE(testing::Message() << family.name << ", level " << level);
        auto params = automatic();
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
      default: return Intervals(random_.widths(cells, random_.uniform(0, 3)));
    }
  };
  for (int k = 0; k < 150; ++k) {
    const TensorMesh mesh{line(std::pow(10.0, random_.uniform(-3, 3))), line(1)};
    const auto report = solve(mesh, automatic());
    EXPECT_EQ(report.status, Status::converged)
        << mesh.x().size() << " x " << mesh.y().size() << " cells, aspect ratio " << mesh.largest_aspect_ratio() << ": "
        << report.reason << "; " << report.choice;
    EXPECT_LE(report.iterations, 45) << mesh.x().size() << " x " << mesh.y().size() << ", " << report.choice;
  }
}

TEST_P(AutoSmootherTest, TheIterationFollowsTheJumpsAndWhatWasAskedForWins) {
  const auto chosen = [&](const TensorMesh& mesh, const PoissonSolverParams& params) {
    const PoissonSolver solver(ctx(), mesh, params);
    return std::pair(solver.params().method.value(), solver.params().multigrid.cycle.value());
  };
  using Choice = std::pair<Method, Cycle>;
  const Choice v{Method::multigrid, Cycle::v}, f{Method::multigrid, Cycle::f}, cg{Method::cg, Cycle::v};
  const auto crossing = [](int cells, double transition) {
    return TensorMesh{shishkin(1, cells, transition, GradedSide::first),
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
  params.inner.digits = 2;
  EXPECT_EQ(chosen(crossing(64, 1e-6), params).first, Method::multigrid) << "digits are not constant";
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
  const auto report = solve(make_mesh(mesh_family("A3"), 5), automatic());
  ASSERT_EQ(report.levels.size(), 5U);
  EXPECT_EQ(report.levels[0].smoother, "");
  EXPECT_EQ(report.levels[4].smoother, "adi");
  EXPECT_EQ(report.levels[4].steps, 2);
  EXPECT_NE(report.levels[4].reason.find("as high as wide"), std::string::npos) << report.levels[4].reason;
  EXPECT_NE(report.choice.find("V-cycles"), std::string::npos) << report.choice;

  const auto fixed = solve(make_mesh(mesh_family("A3"), 5), {});
  EXPECT_EQ(fixed.levels[4].smoother, "adi");
  EXPECT_EQ(fixed.levels[4].steps, GetParam() == Backend::cuda ? 2 : 4);
  EXPECT_EQ(fixed.levels[4].reason, "");
  EXPECT_EQ(fixed.choice, "");
}

TEST_P(AutoSmootherTest, FullMultigridAndConjugateGradientsTakeIt) {
  for (const auto* name : {"U1", "U3", "A1", "A3"}) {
    const auto mesh = make_mesh(mesh_family(name), 6);
    auto params = automatic();
    params.full_multigrid = true;
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
    Vector<double> b(own, mesh.unknowns()), x(own, mesh.unknowns());
    const PoissonSolver solver(own, mesh, automatic());
    const auto taken = static_cast<double>(own.memory()->bytes.load());
    const auto required = static_cast<double>(required_memory(own, mesh, automatic()));
    EXPECT_GT(required, 0.9 * taken) << name;
    EXPECT_LT(required, 1.25 * taken) << name;
  }
}

}  // namespace
