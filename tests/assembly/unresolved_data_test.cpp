// Data that lie between the points where a mesh takes them are warned of, and others are not.

#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/assembly/unresolved_data.hpp>
#include <stratum/mesh/graded.hpp>

#include "support/bodies.hpp"

namespace {

using namespace stratum;
using test::number, test::unit_cube, test::unit_square;
using testing::HasSubstr, testing::IsEmpty, testing::Not;
using Kind = BoundaryConditionType;

PoissonProblem of_source(ScalarFunction f) {
  PoissonProblem problem;
  problem.rhs = std::move(f);
  return problem;
}
std::string warning_of(const TensorMesh<2>& mesh, const PoissonProblem& problem, const DataRule& rule = {}) {
  Context ctx(Backend::cpu, 2);
  return warning_of_data(ctx, mesh, problem, rule);
}
std::string warning_of(int n, ScalarFunction f) { return warning_of(unit_square(n), of_source(std::move(f))); }

/// 1 in a box with this corner and these widths.
ScalarFunction box(double x, double y, double wx, double wy) {
  return [=](const Point& p) { return x < p.x && p.x < x + wx && y < p.y && p.y < y + wy ? 1.0 : 0.0; };
}
ScalarFunction peak(double x, double y, double width, double height) {
  return [=](const Point& p) {
    return height * std::exp(-((p.x - x) * (p.x - x) + (p.y - y) * (p.y - y)) / (width * width));
  };
}

TEST(UnresolvedData, ASourceBetweenAllPointsIsToldWithItsPlace) {
  const std::string text = warning_of(16, box(0.506, 0.507, 0.01, 0.01));
  EXPECT_THAT(text, HasSubstr("the right-hand side is zero at all 4096 points where it is taken, but 1 at (0.50"));
  EXPECT_THAT(text, HasSubstr("a finer mesh"));
  EXPECT_THAT(warning_of(64, box(0.506, 0.507, 0.05, 0.05)), IsEmpty());
}

TEST(UnresolvedData, APeakIsMissedBesideOtherSources) {
  const ScalarFunction f = [narrow = peak(0.53, 0.52, 1e-3, 1e6)](const Point& p) { return 1 + narrow(p); };
  const std::string text = warning_of(16, f);
  EXPECT_THAT(text, HasSubstr("the mesh does not resolve the right-hand side: its integrals over cells"));
  EXPECT_THAT(text, HasSubstr("most of all near (0.5"));
  // So far above the largest value that any point meets. One of a width that the mesh has is right.
  EXPECT_THAT(warning_of(16, peak(0.53, 0.52, 1e-3, 1)), Not(IsEmpty()));
  EXPECT_THAT(warning_of(16, peak(0.53, 0.52, 1.0 / 16, 1)), IsEmpty());
}

// Where jumps lie within cells, elements have a part of f there: 20 per cent of all at most, from three cells on.
TEST(UnresolvedData, JumpsAndWavesOfSomeCellsAreResolved) {
  for (const int n : {4, 5, 16, 200})
    for (int k = 0; k < 11; ++k) {
      const double h = 1.0 / n, at = k / 11.0;
      EXPECT_THAT(warning_of(n, [&](const Point& p) { return p.x < at + 3 * h ? 2.0 : 0.0; }), IsEmpty()) << n;
      EXPECT_THAT(warning_of(n, [&](const Point& p) { return p.x + 0.7 * p.y < at + 0.5 ? 1.0 : -3.0; }), IsEmpty())
          << n;
      EXPECT_THAT(warning_of(n, box(at * h, (0.3 + at) * h, 3 * h, 3 * h)), IsEmpty()) << n << ", " << at;
      EXPECT_THAT(warning_of(n, [&](const Point& p) { return std::sin(p.x / h * 2 + at) * std::cos(3 * p.y); }),
                  IsEmpty())
          << n;
      EXPECT_THAT(warning_of(n, [&](const Point& p) { return std::log(std::hypot(p.x - at, p.y - 0.3)); }), IsEmpty())
          << n;
      EXPECT_THAT(warning_of(n, [&](const Point& p) { return std::hypot(p.x - at, p.y) < 2 * h ? 1.0 : 0.0; }),
                  IsEmpty())
          << n;
    }
}

TEST(UnresolvedData, BoundariesAreLookedAtBetweenTheirNodesAndPoints) {
  const auto narrow = [](const Point& p) { return std::abs(p.y - 0.53) < 0.01 ? 100.0 : 0.0; };
  PoissonProblem problem = of_source(number(1));
  problem.boundaries.left = {Kind::dirichlet, narrow};
  EXPECT_THAT(warning_of(unit_square(16), problem),
              HasSubstr("u of the left boundary is zero at all nodes, but 100 at (0, 0.52"));
  EXPECT_THAT(warning_of(unit_square(100), problem), IsEmpty());
  problem.boundaries.left = {Kind::dirichlet, [&](const Point& p) { return 293 + narrow(p); }};
  EXPECT_THAT(warning_of(unit_square(16), problem),
              HasSubstr("the mesh does not resolve u of the left boundary: between nodes"));
  problem.boundaries.left = {Kind::neumann, [](const Point& p) { return std::abs(p.y - 0.53) < 0.003 ? 100.0 : 0.0; }};
  EXPECT_THAT(warning_of(unit_square(16), problem),
              HasSubstr("g of the left boundary is zero at all 64 points where it is taken, but"));
  problem.boundaries.left = {Kind::robin, number(1), problem.boundaries.left.value};
  EXPECT_THAT(warning_of(unit_square(16), problem), HasSubstr("alpha of the left boundary is zero at all 64 points"));
  // Values that finite volumes take as means meet what nodes do not, but for what is narrower still.
  problem.boundaries.left = {Kind::dirichlet, narrow};
  EXPECT_THAT(warning_of(unit_square(16), problem, {.boundary_means = true}), Not(HasSubstr("all nodes")));
}

TEST(UnresolvedData, JumpsAndSmoothValuesOnBoundariesAreResolved) {
  for (const int n : {4, 5, 16, 200})
    for (int k = 0; k < 11; ++k) {
      const double h = 1.0 / n, at = k / 11.0;
      PoissonProblem problem = of_source(number(1));
      const auto is_resolved = [&](ScalarFunction g) {
        problem.boundary = std::move(g);
        EXPECT_THAT(warning_of(unit_square(n), problem), IsEmpty()) << n << ", " << at;
      };
      is_resolved([&](const Point& p) { return p.x < at ? 2.0 : 1.0; });
      is_resolved([&](const Point& p) { return at < p.x && p.x < at + 1.01 * h ? 1.0 : 0.0; });
      is_resolved([&](const Point& p) { return 1e3 + std::sin(p.x / h * 1.2 + at) * std::cos(3 * p.y); });
      is_resolved([&](const Point& p) { return std::exp(-p.y / h) + p.x + at; });
      is_resolved([&](const Point& p) { return std::sqrt(2.0) + 0.1 * (p.x - p.x) + (p.y + 1.1) / (p.y + 1.1); });
    }
}

TEST(UnresolvedData, DataThatAreZeroAtAllPointsAreToldWhereTheyAreNoNumber) {
  if (!expressions_available()) GTEST_SKIP() << "this build has no muParser";
  const auto text = [](const std::string& f) { return parse_expression(f, 1, 1); };
  const std::string hidden = "abs(x-0.53)<1e-6 && abs(y-0.5)<1e-6 ? 1e6 : 0";
  const auto zero =
      HasSubstr("the right-hand side is zero at all 4096 points where it is taken, as all data are: so u is zero");
  EXPECT_THAT(warning_of(16, text(hidden)), zero);
  EXPECT_THAT(warning_of(16, text("0")), IsEmpty());
  EXPECT_THAT(warning_of(16, number(0)), IsEmpty());
  EXPECT_THAT(warning_of(16, text("x")), IsEmpty());
  PoissonProblem problem = of_source(text(hidden));
  for (const ScalarFunction& one : {ScalarFunction(number(1)), text("1")}) {
    problem.boundary = one;
    const std::string alone = warning_of(unit_square(16), problem);
    EXPECT_THAT(alone, HasSubstr("the right-hand side is zero at all 4096 points where it is taken. A source"));
    EXPECT_THAT(alone, Not(HasSubstr("so u is zero")));
  }
  problem.rhs = number(0);
  problem.boundaries.left = {Kind::dirichlet, text("x")};  // zero there, and not of interest
  EXPECT_THAT(warning_of(unit_square(16), problem), IsEmpty());
  problem = of_source(text(hidden));
  problem.boundary = text("abs(y-0.53)<1e-6 ? 1 : 0");
  EXPECT_THAT(warning_of(unit_square(16), problem), zero);
  problem.rhs = number(0);
  EXPECT_THAT(warning_of(unit_square(16), problem),
              HasSubstr("u of the left boundary is zero at all nodes, as all data are"));
  // Of many cells some are looked at, and the load says whether there is anything.
  EXPECT_THAT(warning_of(512, text(hidden)), IsEmpty());
  EXPECT_THAT(warning_of(unit_square(512), of_source(text(hidden)), {.vanishes = true}), HasSubstr("so u is zero"));
  problem = of_source(text(hidden));
  problem.bodies = {test::held([](const Point& p) { return 0.2 - p.x; }, 1)};
  EXPECT_THAT(warning_of(unit_square(16), problem), Not(HasSubstr("so u is zero")));
}

TEST(UnresolvedData, GradedMeshesResolveLayers) {
  const ScalarFunction layer = [](const Point& p) { return std::exp(-p.to_right / 1e-4); };
  const Axis plain = test::unit_axis(64), graded = geometric_with_smallest(1, 64, 5e-6, GradedSide::last);
  EXPECT_THAT(warning_of(TensorMesh<2>(plain, plain), of_source(layer)), HasSubstr("does not resolve"));
  EXPECT_THAT(warning_of(TensorMesh<2>(graded, plain), of_source(layer)), IsEmpty());
}

TEST(UnresolvedData, OfRunsAreThoseOfTheStartAndOfLaterTimes) {
  Context ctx(Backend::cpu, 2);
  const TensorMesh<2> mesh = unit_square(16);
  HeatProblem problem;
  problem.initial = peak(0.53, 0.53, 0.01, 1);
  const auto warning = [&] { return warning_of_data(ctx, mesh, problem, 0, 2); };
  EXPECT_THAT(warning(), HasSubstr("at t = 0 the mesh does not resolve u at the start: between nodes"));
  problem.initial = peak(0.53, 0.53, 0.1, 1);
  EXPECT_THAT(warning(), IsEmpty());
  problem.space.rhs = [f = box(0.525, 0.525, 0.01, 0.01)](const Point& p) { return p.t > 1.5 ? f(p) : 0.0; };
  EXPECT_THAT(warning(),
              HasSubstr("at t = 2 the right-hand side is zero at all 1024 points where it is taken, but 1 at"));
  problem.steady_rhs = true;
  EXPECT_THAT(warning(),
              HasSubstr("at t = 2 the right-hand side is zero at all 4096 points where it is taken, but 1 at"));
  problem.space.rhs = {};
  problem.initial = {};
  EXPECT_THAT(warning(), IsEmpty());
  HeatProblem3D in_box;
  in_box.initial = [](const Point3D& p) { return std::abs(p.x - 0.53) < 0.02 ? 1.0 : 0.0; };
  EXPECT_THAT(warning_of_data(ctx, unit_cube(8), in_box, 0, 2),
              HasSubstr("at t = 0 u at the start is zero at all nodes, but 1 at (0.5"));
  in_box.initial = [](const Point3D& p) { return p.x < 0.53 ? 1.0 : 0.0; };
  for (const char* f : {"sin(t)", "t > 0.01 ? 1/(t-1) : 0", "1"})
    if (expressions_available()) {
      in_box.space.rhs = parse_expression(f, std::array{1.0, 1.0, 1.0}, Variables::space_and_time);
      EXPECT_THAT(warning_of_data(ctx, unit_cube(8), in_box, 0, 2), IsEmpty()) << f;
      problem.space.rhs = parse_expression(f, 1, 1, Variables::space_and_time);
      EXPECT_THAT(warning(), IsEmpty()) << f;
    }
  in_box.space.rhs = number(1);
  EXPECT_THAT(warning_of_data(ctx, unit_cube(8), in_box, 0, 2), IsEmpty());
}

TEST(UnresolvedData, BoxesHaveTheSame) {
  Context ctx(Backend::cpu, 2);
  const auto warning = [&](int n, const PoissonProblem3D& problem, const DataRule& rule = {}) {
    return warning_of_data(ctx, unit_cube(n), problem, rule);
  };
  const auto near = [](const Point3D& p, double x, double y, double z) {
    return std::max({std::abs(p.x - x), std::abs(p.y - y), std::abs(p.z - z)});
  };
  PoissonProblem3D problem;
  EXPECT_THAT(warning(8, problem), IsEmpty());
  problem.rhs = [&](const Point3D& p) { return near(p, 0.5625, 0.5625, 0.5625) < 0.02 ? 8.0 : 0.0; };
  EXPECT_THAT(warning(8, problem),
              HasSubstr("the right-hand side is zero at all 32768 points where it is taken, but 8 at (0.5"));
  EXPECT_THAT(warning(8, problem, {.points = 1}), Not(HasSubstr("all 32768 points")));
  for (int k = 0; k < 11; ++k) {
    const double at = k / 11.0;
    problem.rhs = [=](const Point3D& p) { return p.x + 0.3 * p.z < at ? 1.0 : 0.0; };
    EXPECT_THAT(warning(12, problem), IsEmpty()) << at;
    problem.rhs = [=](const Point3D& p) { return std::sin(20 * p.x + at) * p.y + std::exp(-p.z * 10); };
    EXPECT_THAT(warning(12, problem), IsEmpty()) << at;
  }
  problem.rhs = number(1);
  problem.boundaries[BoxFace::top] = {Kind::dirichlet,
                                      [&](const Point3D& p) { return near(p, 0.56, 1, 0.44) < 0.05 ? 8.0 : 0.0; }};
  EXPECT_THAT(warning(8, problem), HasSubstr("u of the top face is zero at all nodes, but 8 at (0.5"));
  problem.boundaries[BoxFace::top].value = [](const Point3D& p) { return p.x + 0.31 * p.z < 0.7 ? 8.0 : 0.0; };
  EXPECT_THAT(warning(8, problem), IsEmpty());
  problem.boundaries[BoxFace::top] = {Kind::neumann,
                                      [&](const Point3D& p) { return near(p, 0.5625, 1, 0.5625) < 0.02 ? 8.0 : 0.0; }};
  EXPECT_THAT(warning(8, problem),
              HasSubstr("g of the top face is zero at all 1024 points where it is taken, but 8 at (0.5"));
}

PoissonProblem of_k(ScalarFunction k) {
  PoissonProblem problem = of_source([](const Point&) { return 1.0; });
  problem.diffusion.xx = std::move(k);
  return problem;
}
std::string warning_of_k(int n, ScalarFunction k) { return warning_of(unit_square(n), of_k(std::move(k))); }

TEST(UnresolvedData, LayersOfKBetweenAllCentresAreLost) {
  for (const double k : {1e-4, 1e4}) {
    const std::string text = warning_of_k(16, [k](const Point& p) { return std::abs(p.x - 0.5) < 0.002 ? k : 1.0; });
    EXPECT_THAT(text, HasSubstr(message("the mesh does not resolve K: it is ", k, " at (0.49902")));
    EXPECT_THAT(text, HasSubstr("but 1 at the centres of the cells around"));
  }
  const std::string diagonal =
      warning_of_k(32, [](const Point& p) { return std::abs(p.x + 0.7 * p.y - 0.81) < 0.001 ? 1e-6 : 3.0; });
  EXPECT_THAT(diagonal, HasSubstr("but 3 at the centres"));
  // Of many cells some are looked at, and a layer crosses many.
  EXPECT_THAT(warning_of_k(512, [](const Point& p) { return std::abs(p.y - 0.25) < 3e-4 ? 1e-5 : 1.0; }),
              HasSubstr("does not resolve K"));
  Context ctx(Backend::cpu, 2);
  PoissonProblem3D box;
  box.rhs = [](const Point3D&) { return 1.0; };
  box.diffusion.xx = box.diffusion.yy = [](const Point3D&) { return 1.0; };
  box.diffusion.zz = [](const Point3D& p) { return std::abs(p.z - 0.3) < 0.004 ? 1e-3 : 1.0; };
  EXPECT_THAT(warning_of_data(ctx, unit_cube(8), box), HasSubstr("does not resolve kzz: it is 0.001 at ("));
}

TEST(UnresolvedData, ALayerOfKThatComesLaterIsLost) {
  Context ctx(Backend::cpu, 2);
  HeatProblem problem;
  problem.space = of_k([](const Point& p) { return p.t > 1 && std::abs(p.x - 0.5) < 0.002 ? 1e-4 : 1.0; });
  EXPECT_THAT(warning_of_data(ctx, unit_square(16), problem, 0, 1), IsEmpty());
  EXPECT_THAT(warning_of_data(ctx, unit_square(16), problem, 0, 2), HasSubstr("at t = 2 the mesh does not resolve K"));
}

TEST(UnresolvedData, AnInterfaceAtAPeriodicEndIsNoLayer) {
  PoissonProblem problem = of_k([](const Point& p) { return p.x < 0.02 || p.x > 0.9 ? 1e6 : 1.0; });
  EXPECT_THAT(warning_of(unit_square(16), problem), HasSubstr("does not resolve K"));
  problem.boundaries.left.kind = problem.boundaries.right.kind = Kind::periodic;
  EXPECT_THAT(warning_of(unit_square(16), problem), IsEmpty());
}

TEST(UnresolvedData, InterfacesAndSmoothCoefficientsAreResolved) {
  for (int n = 0; n < 13; ++n) {
    const double at = 0.3 + n * 0.0137;
    EXPECT_THAT(warning_of_k(16, [at](const Point& p) { return p.x < at ? 1e6 : 1.0; }), IsEmpty()) << at;
    EXPECT_THAT(warning_of_k(16, [at](const Point& p) { return p.x + 0.6 * p.y < at ? 1e-6 : 1.0; }), IsEmpty()) << at;
    const auto disc = [at](const Point& p) { return std::hypot(p.x - at, p.y - 0.5) < 0.2 ? 1e4 : 1.0; };
    EXPECT_THAT(warning_of_k(16, disc), IsEmpty()) << at;
    // Layers of one cell and more.
    EXPECT_THAT(warning_of_k(16, [at](const Point& p) { return std::abs(p.x - at) < 0.032 ? 1e-6 : 1.0; }), IsEmpty());
  }
  EXPECT_THAT(warning_of_k(16, [](const Point& p) { return p.x; }), IsEmpty());  // a radius
  EXPECT_THAT(warning_of_k(16, [](const Point& p) { return 1 / p.x; }), IsEmpty());
  EXPECT_THAT(warning_of_k(16, [](const Point& p) { return std::exp(20 * p.x * p.y); }), IsEmpty());
  EXPECT_THAT(warning_of_k(4, [](const Point& p) { return 2 + std::sin(9 * p.x) * std::cos(7 * p.y); }), IsEmpty());
  const auto field = [](double x) { return static_cast<int>(7 * x); };
  EXPECT_THAT(warning_of_k(16, [=](const Point& p) { return (field(p.x) + field(p.y)) % 2 == 0 ? 1.0 : 1e4; }),
              IsEmpty());
}

}  // namespace
