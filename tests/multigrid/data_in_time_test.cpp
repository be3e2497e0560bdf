// Steps that adapt do not pass over what data do between the stages, whatever has the data: elements and volumes in a plane,
// boxes, patches.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include <stratum/multigrid/data_in_time.hpp>
#include <stratum/multigrid/heat_solver.hpp>
#include <stratum/multigrid/heat_solver_3d.hpp>
#include <stratum/multigrid/heat_solver_volumes.hpp>
#include <stratum/multigrid/patches/patch_heat_solver.hpp>

#include <gtest/gtest.h>

namespace {

using namespace stratum;
using enum BoundaryConditionType;

using OfTime = double (*)(double t);
double waves(double t) { return std::max(0.0, std::sin(2 * std::numbers::pi * t)); }
double pulse(double t) { return t > 2 && t < 3 ? 1 : 0; }
double tail(double t) { return std::exp(-std::pow((t - 5) / 0.2, 2)); }

ScalarFunction plane(OfTime f) {
  return [f](const Point& p) { return f(p.t); };
}
ScalarFunction3D box(OfTime f) {
  return [f](const Point3D& p) { return f(p.t); };
}
Axis even(int cells) { return {std::vector<double>(static_cast<std::size_t>(cells), 1.0 / cells), 1}; }
TensorMesh<2> square() { return {even(8), even(8)}; }
TensorMesh<3> cube() { return {even(4), even(4), even(4)}; }

HeatProblem walls(OfTime f) {
  HeatProblem problem;
  problem.space.rhs = plane(f);
  problem.space.boundaries = {{neumann}, {neumann}, {neumann}, {neumann}};
  problem.initial = [](const Point&) { return 0.0; };
  problem.steady_coefficients = true;
  return problem;
}
HeatProblem3D box_walls(OfTime f) {
  HeatProblem3D problem;
  if (f != nullptr) problem.space.rhs = box(f);
  for (BoundaryCondition3D& face : problem.space.boundaries.faces) face.kind = neumann;
  problem.initial = [](const Point3D&) { return 0.0; };
  return problem;
}

/// At the end of steps of these parameters; how many there were.
template <class Solver>
double heat_at(Context& ctx, Solver& solver, double end, std::int64_t* steps = nullptr) {
  const HeatReport& report = solver.advance(ctx, end);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  if (steps != nullptr) *steps = report.steps;
  return solver.heat(ctx);
}

template <class Params>
Params adaptive(double tol = 1e-4) {
  Params params;
  params.tol = tol;
  return params;
}

/// The heat of steps that adapt is that of short fixed ones, and not little.
template <class Solver, class Params, class Mesh, class Problem>
void expect_heat_of_fixed_steps(const Mesh& mesh, const Problem& problem, double dt, double end, double least) {
  Context ctx(Backend::cpu, 1);
  Params fixed;
  fixed.dt = dt;
  Solver exact(ctx, mesh, problem, fixed), adapting(ctx, mesh, problem, adaptive<Params>());
  const double expected = heat_at(ctx, exact, end);
  EXPECT_GT(expected, least);
  EXPECT_NEAR(heat_at(ctx, adapting, end), expected, 0.01 * expected);
}

PatchMesh two_squares() {
  PatchMeshParts parts;
  parts.vertices = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}};
  parts.patches = {{0, 1, 4, 3}, {1, 2, 5, 4}};
  parts.cells = 8;
  parts.other_boundaries = "walls";
  return PatchMesh(parts);
}
PatchHeatProblem on_patches(OfTime f) {
  PatchHeatProblem problem;
  problem.space.rhs = plane(f);
  problem.space.boundaries["walls"] = {neumann};
  return problem;
}

/// The heat after 10 between walls that keep it, by all discretizations, beside the integral of f.
void expect_heat(OfTime f, double expected, double relative) {
  Context ctx(Backend::cpu, 1);
  HeatSolver elements(ctx, square(), walls(f), adaptive<HeatParams>());
  EXPECT_NEAR(heat_at(ctx, elements, 10), expected, relative * expected);
  VolumeHeatSolver volumes(ctx, square(), walls(f), adaptive<HeatParams>());
  EXPECT_NEAR(heat_at(ctx, volumes, 10), expected, relative * expected);
  HeatSolver3D boxes(ctx, cube(), box_walls(f), adaptive<HeatParams3D>());
  EXPECT_NEAR(heat_at(ctx, boxes, 10), expected, relative * expected);
  PatchHeatSolver patches(ctx, two_squares(), on_patches(f), adaptive<PatchHeatParams>());
  EXPECT_NEAR(heat_at(ctx, patches, 10), 2 * expected, 2 * relative * expected);
}

TEST(DataInTime, WavesAreNotSteppedOver) { expect_heat(waves, 10 / std::numbers::pi, 0.01); }
TEST(DataInTime, APulseIsNotSteppedOver) { expect_heat(pulse, 1, 0.01); }
// Its first values are 4e-272, whose squares are zero.
TEST(DataInTime, TheTailOfAGaussianIsNearlyNothing) {
  Context ctx(Backend::cpu, 1);
  const double expected = 0.2 * std::sqrt(std::numbers::pi);
  const auto fixed = [](auto params) {
    params.dt = 0.05;
    return params;
  };
  HeatSolver elements(ctx, square(), walls(tail), fixed(HeatParams()));
  EXPECT_NEAR(heat_at(ctx, elements, 10), expected, 1e-4);
  VolumeHeatSolver volumes(ctx, square(), walls(tail), fixed(HeatParams()));
  EXPECT_NEAR(heat_at(ctx, volumes, 10), expected, 1e-4);
  PatchHeatSolver patches(ctx, two_squares(), on_patches(tail), fixed(PatchHeatParams()));
  EXPECT_NEAR(heat_at(ctx, patches, 10), 2 * expected, 1e-4);
  PatchHeatProblem warm_patches = on_patches(tail);
  warm_patches.initial = [](const Point&) { return 1.0; };
  PatchHeatSolver adapting(ctx, two_squares(), warm_patches, adaptive<PatchHeatParams>());
  EXPECT_NEAR(heat_at(ctx, adapting, 10), 2 + 2 * expected, 2e-3);
  HeatProblem warm = walls(tail);
  warm.initial = [](const Point&) { return 1.0; };
  HeatSolver warmed(ctx, square(), warm, adaptive<HeatParams>());
  EXPECT_NEAR(heat_at(ctx, warmed, 10), 1 + expected, 1e-3);
}
/// What is tiny altogether is not lost.
TEST(DataInTime, HeatThatIsTinyEverywhereIsKept) {
  Context ctx(Backend::cpu, 1);
  HeatParams params;
  params.dt = 1;
  HeatSolver solver(ctx, square(), walls([](double) { return 1e-200; }), params);
  EXPECT_NEAR(heat_at(ctx, solver, 10) * 1e200, 10, 1e-6);
}

TEST(DataInTime, APulseOfABoundaryIsNotSteppedOver) {
  Context ctx(Backend::cpu, 1);
  HeatProblem problem = walls(pulse);
  problem.space.rhs = {};
  problem.space.boundaries.left.value = plane(pulse);
  HeatSolver flux(ctx, square(), problem, adaptive<HeatParams>());
  EXPECT_NEAR(heat_at(ctx, flux, 10), 1, 0.01);
  // A cold wall takes in what fixed steps say.
  for (const bool of_problem : {false, true}) {
    HeatProblem held = walls(pulse);
    held.space.rhs = {};
    held.space.boundaries.left = {dirichlet};
    (of_problem ? held.space.boundary : held.space.boundaries.left.value) = plane(pulse);
    expect_heat_of_fixed_steps<HeatSolver, HeatParams>(square(), held, 0.005, 3.5, 0.1);
  }
}

TEST(DataInTime, APulseOfAHeldBodyIsNotSteppedOver) {
  HeatProblem3D problem = box_walls(nullptr);
  problem.space.boundaries[BoxFace::left].kind = dirichlet;
  Body3D body;
  body.inside = [](const Point3D& p) {
    return 0.3 - std::max({std::abs(p.x - 0.5), std::abs(p.y - 0.5), std::abs(p.z - 0.5)});
  };
  body.value = box(pulse);
  problem.space.bodies = {body};
  expect_heat_of_fixed_steps<HeatSolver3D, HeatParams3D>(cube(), problem, 0.01, 2.9, 0.05);
}

/// In equilibrium until the pulse: the estimate of an error is zero however long the step is.
TEST(DataInTime, APulseAfterEquilibriumIsNotSteppedOver) {
  Context ctx(Backend::cpu, 1);
  HeatProblem problem = walls([](double t) { return t > 12 && t < 13 ? 5.0 : 0.0; });
  problem.initial = [](const Point&) { return 20.0; };
  problem.space.boundaries.left = {robin, [](const Point&) { return 2.0; }, [](const Point&) { return 0.1; }};
  for (const double tol : {1e-4, 1e-8}) {
    HeatParams params = adaptive<HeatParams>(tol);
    params.start = 6;
    params.max_steps = 3000;
    HeatSolver solver(ctx, square(), problem, params);
    EXPECT_NEAR(heat_at(ctx, solver, 24), 21.633, 0.005 * 21.633);
  }
}

TEST(DataInTime, StepsOfSmoothDataAreThoseOfTheEstimate) {
  std::vector<TimeFunction> functions;
  functions.push_back({1, [](int, double t) { return std::sin(t); }});
  functions.push_back({300, [](int, double) { return 7.0; }});
  const std::vector<DataInTime::Stage> middle{{0.5, 1.0}};
  const DataInTime data(functions, 0, 0, 10, 1e-4);
  EXPECT_EQ(data.longest(1, 0.1, middle), 0.1);
  EXPECT_LT(data.longest(1, 5, middle), 2);
  const DataInTime steady({functions[1]}, 0, 0, 10, 1e-4);
  EXPECT_EQ(steady.longest(0, 10, middle), 10);
}

/// At one of many places alone.
TEST(DataInTime, APulseAtAFewPlacesIsSeen) {
  const std::vector<TimeFunction> functions{{256, [](int place, double t) { return place > 240 ? pulse(t) : 0.0; }}};
  const DataInTime data(functions, 0, 0, 10, 1e-4);
  EXPECT_NEAR(data.longest(0, 10, {{0.5, 1.0}}), 2, 0.2);
}

/// (end - start) / dt is 1 + 6e-9, or 3 + 1e-9 after a start far from 0.
TEST(DataInTime, RoundingOfTimesIsNoStep) {
  Context ctx(Backend::cpu, 1);
  const HeatProblem problem = walls(pulse);
  for (const auto& [end, count] : {std::pair{1.0000001, 1}, {1.0000003, 3}}) {
    HeatParams params;
    params.start = 1;
    params.dt = 1e-7;
    HeatSolver solver(ctx, square(), problem, params);
    std::int64_t steps = 0;
    (void)heat_at(ctx, solver, end, &steps);
    EXPECT_EQ(steps, count);
  }
}

}  // namespace
