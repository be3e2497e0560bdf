// Steps in time in a box that several ranks share, threads of this process: solutions, reports and states are those of one rank.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <stratum/core/field/blas_3d.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/heat_solver_3d.hpp>

#include "support/bodies.hpp"
#include "support/box_ranks.hpp"

namespace {

using namespace stratum;
using test::Random, test::Values;
using namespace test::box_ranks;
using testing::Each, testing::HasSubstr;

constexpr TimeMethod every_method[] = {TimeMethod::euler, TimeMethod::crank_nicolson, TimeMethod::tr_bdf2};
constexpr double middle = 0.08, end = 0.2;

/// What a run comes to, on every rank.
struct Steps {
  Values nodal;             // of all nodes
  std::vector<Values> own;  // of each rank's unknowns
  std::vector<HeatReport> reports;
  double heat = 0, error = 0;
  std::vector<BoxBodyFlux> bodies;
  HeatState state;  // of the first rank
  int axis = 0, distributed = 0;
};

double smooth(const Point3D& p) { return (1 + p.x * p.x - p.z) * std::cos(3 * p.t) + (p.x + 2 * p.y) * std::sin(p.t); }

HeatProblem3D heat_problem(const std::array<Kind, 6>& kinds, bool changes) {
  HeatProblem3D problem;
  for (std::size_t f = 0; f < kinds.size(); ++f) {
    BoundaryCondition3D& face = problem.space.boundaries.faces[f];
    face.kind = kinds[f];
    if (face.kind == P) continue;
    const double shift = 0.2 * static_cast<double>(f);
    face.value = [=](const Point3D& p) { return wave(p) + shift + (changes ? smooth(p) : 0); };
    if (face.kind == R) face.alpha = [shift](const Point3D& /*p*/) { return 1.5 + shift; };
  }
  problem.space.rhs = [=](const Point3D& p) { return 1 + p.x * p.y + (changes ? p.z * std::cos(5 * p.t) : 0); };
  problem.steady_rhs = problem.steady_faces = !changes;
  problem.initial = [](const Point3D& p) { return p.x < 0.4 ? 1 + p.y : p.z; };
  problem.space.exact = smooth;  // not the solution: its error is a number like others
  problem.space.boundary = wave;
  problem.capacity = 1.7;
  problem.space.reaction = 0.3;
  return problem;
}

HeatParams3D steps_by(TimeMethod method, BoxMethod by = BoxMethod::automatic) {
  HeatParams3D params;
  params.method = method;
  if (method == TimeMethod::tr_bdf2)
    params.tol = 3e-2;
  else
    params.dt = 0.04;
  params.eta = 1e-13;
  params.solver.method = by;
  return params;
}

/// To the middle, or from a state, and on to the end.
Steps run_on(Backend backend, int ranks, const TensorMesh<3>& mesh, const HeatProblem3D& problem,
             const HeatParams3D& params, double to = end, const HeatState* from = nullptr) {
  Steps run;
  run.nodal.assign(count_of(mesh, 0) * count_of(mesh, 1) * count_of(mesh, 2), HUGE_VAL);
  run.own.resize(static_cast<std::size_t>(ranks));
  run.reports.resize(run.own.size());
  const auto result = test::on_subdomains(backend, ranks, [&](Context& ctx) {
    HeatSolver3D solver(ctx, mesh, problem, params);
    if (from != nullptr) {
      EXPECT_TRUE(solver.restore(ctx, *from));
    } else {
      (void)solver.advance(ctx, middle);
    }
    if (to > middle) (void)solver.advance(ctx, to);
    const std::size_t rank = ranks > 1 ? static_cast<std::size_t>(ctx.communicator()->rank()) : 0;
    run.reports[rank] = solver.report();
    EXPECT_EQ(solver.report().status, Status::converged) << solver.report().reason;
    const FieldView<const double, 3> u = solver.solution();
    run.own[rank].resize(static_cast<std::size_t>(u.nodes()));
    copy_to_host(ctx, u, run.own[rank].data());
    const Values nodal = solver.nodal_solution(ctx);
    const auto there = own_nodes(mesh, solver.nodes());
    EXPECT_EQ(nodal.size(), there.size());
    const double heat = solver.heat(ctx), error = solver.relative_l2_error(ctx).value_or(-1);
    const auto bodies = solver.body_fluxes(ctx);
    HeatState state = solver.state(ctx);
    if (rank > 0) {
      EXPECT_TRUE(state.u.empty() && state.boundary_slope.empty());
    }
    for (std::size_t r = 0; r < run.own.size(); ++r) {
      if (ranks > 1) ctx.communicator()->barrier();
      if (r != rank) continue;
      for (std::size_t n = 0; n < nodal.size(); ++n) {
        // Planes of nodes that ranks share have the same bits on both.
        double& value = run.nodal[there[n]];
        EXPECT_TRUE(value == HUGE_VAL || value == nodal[n] || (std::isnan(value) && std::isnan(nodal[n]))) << n;
        value = nodal[n];
      }
      if (rank > 0) continue;
      run.heat = heat;
      run.error = error;
      run.bodies = bodies;
      run.state = std::move(state);
      run.axis = solver.nodes().axis;
      run.distributed = solver.plan().distributed_levels();
    }
    return Values{heat, error};
  });
  EXPECT_THAT(result.errors, Each(""));
  for (std::size_t k = 2; k < result.values.size(); ++k) EXPECT_EQ(result.values[k], result.values[k % 2]);
  return run;
}

void expect_as_on_one(const Steps& several, const Steps& one, double rounding) {
  for (const HeatReport& report : several.reports) {
    EXPECT_EQ(report.t, one.reports[0].t);
    EXPECT_EQ(report.steps, one.reports[0].steps);
    EXPECT_EQ(report.rejected, one.reports[0].rejected);
    EXPECT_EQ(report.shortest_dt, several.reports[0].shortest_dt);
    EXPECT_EQ(report.cycles, several.reports[0].cycles);
    EXPECT_NEAR(static_cast<double>(report.cycles), static_cast<double>(one.reports[0].cycles),
                2 + 0.02 * static_cast<double>(one.reports[0].cycles));
  }
  double largest = 0, difference = 0;
  for (std::size_t n = 0; n < one.nodal.size(); ++n) {
    ASSERT_EQ(std::isnan(several.nodal[n]), std::isnan(one.nodal[n])) << n;
    if (std::isnan(one.nodal[n])) continue;
    largest = std::max(largest, std::abs(one.nodal[n]));
    difference = std::max(difference, std::abs(several.nodal[n] - one.nodal[n]));
  }
  EXPECT_LE(difference, rounding * largest);
  EXPECT_NEAR(several.heat, one.heat, rounding * std::abs(one.heat));
  EXPECT_NEAR(several.error, one.error, rounding * std::abs(one.error));
  ASSERT_EQ(several.state.boundary_slope.size(), one.state.boundary_slope.size());
  ASSERT_EQ(several.bodies.size(), one.bodies.size());
  for (std::size_t b = 0; b < one.bodies.size(); ++b) {
    EXPECT_EQ(several.bodies[b].cells, one.bodies[b].cells);
    EXPECT_NEAR(several.bodies[b].mean, one.bodies[b].mean, rounding * largest);
    EXPECT_NEAR(several.bodies[b].flux.value_or(0), one.bodies[b].flux.value_or(0),
                1e3 * rounding * (1 + std::abs(one.bodies[b].flux.value_or(0))));
  }
}

void compare(const TensorMesh<3>& mesh, const HeatProblem3D& problem, const HeatParams3D& params,
             const std::vector<int>& counts, double rounding, int axis = 2) {
  for (const Backend backend : test::available_backends()) {
    const Steps one = run_on(backend, 1, mesh, problem, params);
    for (const int ranks : counts) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, " << to_string(params.method) << " by "
                                      << to_string(params.solver.method));
      const Steps several = run_on(backend, ranks, mesh, problem, params);
      if (testing::Test::HasFailure()) return;
      EXPECT_EQ(several.axis, axis);
      expect_as_on_one(several, one, rounding);
    }
  }
}

// Faces of every kind, data that change or do not; direct and by multigrid.
TEST(HeatSolver3DRanks, EveryMethodAndKindOfFaceAsOnOne) {
  constexpr std::array<Kind, 6> every_kind[] = {
      {D, D, D, D, D, D}, {N, D, R, N, N, R}, {P, P, D, N, D, N}, {D, R, N, N, P, P}, {P, P, P, P, P, P}};
  Random random(31);
  const TensorMesh<3> mesh = random_mesh(random, 5, 4, 13);
  bool changes = false;
  for (const auto& kinds : every_kind)
    for (const TimeMethod method : every_method) {
      changes = !changes;
      SCOPED_TRACE(testing::Message() << to_string(kinds[0]) << " " << to_string(kinds[4]) << ", " << changes);
      const HeatProblem3D problem = heat_problem(kinds, changes);
      compare(mesh, problem, steps_by(method, BoxMethod::direct), {method == TimeMethod::tr_bdf2 ? 2 : 3}, 1e-12);
      compare(mesh, problem, steps_by(method, BoxMethod::multigrid), {method == TimeMethod::euler ? 2 : 4}, 1e-11);
    }
}

// The direct solver cuts the direction of its lines, and vectors are stored in its order.
TEST(HeatSolver3DRanks, LinesAlongEveryDirectionAsOnOne) {
  Random random(32);
  for (const TimeMethod method : every_method) {
    // Lengths of steps that adapt follow estimates, which differ by rounding.
    const double rounding = method == TimeMethod::tr_bdf2 ? 1e-11 : 1e-12;
    const HeatProblem3D problem = heat_problem({D, N, R, D, N, D}, true);
    compare(random_mesh(random, 17, 4, 5), problem, steps_by(method), {2, 3}, rounding, 0);
    compare(random_mesh(random, 5, 18, 4), problem, steps_by(method), {2, 3}, rounding, 1);
    HeatProblem3D by_directions = heat_problem({D, N, P, P, R, D}, true);
    by_directions.space.diffusion = {[](const Point3D& p) { return 1 + p.x; }, [](const Point3D& p) { return 2 + p.y; },
                                     [](const Point3D& /*p*/) { return 0.5; }};
    by_directions.space.reaction = 0;
    compare(random_mesh(random, 5, 18, 4), by_directions, steps_by(method), {4}, rounding, 1);
  }
}

// K by cells that jumps, is smooth, or has a number for each direction; distributed levels, and lines along z.
TEST(HeatSolver3DRanks, KByCellsAsOnOne) {
  const ScalarFunction3D jumps = [](const Point3D&p) { return p.x + p.z > 1 ? 100 : 1; },
                         is_smooth = [](const Point3D&p) { return 1 + p.x * p.y + p.z; };
  const TensorMesh<3> mesh{uniform(1, 13), geometric_with_smallest(1, 13, 1e-2, GradedSide::first),
                           geometric_with_smallest(1, 26, 1e-3, GradedSide::last)};
  const Diffusion3D by_jumps{jumps, {}, {}}, smoothly{is_smooth, {}, {}}, by_directions{jumps, is_smooth, is_smooth};
  HeatProblem3D problem = heat_problem({D, N, N, R, N, D}, true);
  // Steps to the middle and from there on differ in length, and take other levels.
  HeatParams3D params = steps_by(TimeMethod::euler, BoxMethod::multigrid);
  params.dt = 0.075;
  for (const auto& [k, method] : {std::pair{&by_jumps, TimeMethod::crank_nicolson},
                                  {&smoothly, TimeMethod::euler},
                                  {&by_directions, TimeMethod::euler}}) {
    problem.space.diffusion = *k;
    params.method = method;
    compare(mesh, problem, params, {2}, 1e-11);
  }
  EXPECT_GT(run_on(Backend::cpu, 2, mesh, problem, params, middle).distributed, 0);
  problem.space.diffusion = smoothly;
  params.solver.method = BoxMethod::fd_cg;
  compare(mesh, problem, params, {2, 4}, 1e-11);
  problem.space.diffusion = by_directions;
  params.solver.method = BoxMethod::multigrid;
  params.solver.float_cycles = true;
  params.eta = 1e-10;
  compare(mesh, problem, params, {3}, 1e-8);
}

TEST(HeatSolver3DRanks, BodiesAsOnOne) {
  HeatProblem3D problem = heat_problem({D, N, N, D, N, N}, true);
  problem.space.exact = {};
  problem.space.reaction = 0;
  problem.space.bodies = {test::held(ball_shape({0.3, 0.3, 0.45}, 0.2), 2),
                          test::solid(box_shape({0.2, 0.6, -1}, {0.5, 0.8, 0.66})),
                          test::material(box_shape({0.7, -1, 0.2}, {0.9, 2, 0.7}), 5)};
  problem.space.bodies[0].value = [](const Point3D& p) { return 2 + std::sin(4 * p.t); };
  const TensorMesh<3> mesh{uniform(1, 10), uniform(1, 9), uniform(1, 20)};
  for (const TimeMethod method : every_method) {
    HeatParams3D params = steps_by(method);
    params.tol.reset();
    params.dt = 0.04;
    compare(mesh, problem, params, {method == TimeMethod::euler ? 2 : 3}, 1e-10);
  }
  // Nothing holds u, and heat is conserved.
  HeatProblem3D walls;
  for (auto& face : walls.space.boundaries.faces) face.kind = N;
  walls.initial = [](const Point3D& p) { return p.z; };
  walls.space.bodies = {test::solid(box_shape({0.4, -1, -1}, {0.6, 2, 0.8}))};
  compare(mesh, walls, steps_by(TimeMethod::tr_bdf2), {3}, 1e-10);
  const double first = run_on(Backend::cpu, 1, mesh, walls, steps_by(TimeMethod::euler), middle).heat;
  EXPECT_NEAR(run_on(Backend::cpu, 3, mesh, walls, steps_by(TimeMethod::euler)).heat, first, 1e-12 * first);
}

TEST(HeatSolver3DRanks, WallsKeepTheHeat) {
  HeatProblem3D walls;
  for (auto& face : walls.space.boundaries.faces) face.kind = N;
  walls.initial = [](const Point3D& p) { return p.x + p.z < 0.6 ? 1 + p.y : 0.0; };
  HeatProblem3D jump = walls;
  jump.space.diffusion.xx = [](const Point3D& p) { return p.y > 0.5 ? 1000 : 1; };
  const TensorMesh<3> mesh{uniform(1, 9), uniform(1, 8), uniform(1, 14)};
  for (const HeatProblem3D* problem : {&walls, &jump}) {
    HeatParams3D params = steps_by(TimeMethod::crank_nicolson);
    params.eta = 1e-3;  // what is not solved for is heat
    const double first = run_on(Backend::cpu, 1, mesh, *problem, params, middle).heat;
    EXPECT_NEAR(run_on(Backend::cpu, 3, mesh, *problem, params).heat, first, 1e-12 * first);
  }
}

TEST(HeatSolver3DRanks, AStateGoesOnOnAnyNumberOfRanks) {
  Random random(33);
  const TensorMesh<3> tall = random_mesh(random, 5, 6, 17), wide = random_mesh(random, 19, 4, 5);
  const HeatProblem3D direct = heat_problem({D, N, D, D, R, D}, true);
  HeatProblem3D by_cells = direct, around = heat_problem({D, N, N, D, N, N}, true);
  by_cells.space.diffusion.xx = [](const Point3D& p) { return p.x + p.y * p.z > 0.8 ? 30 : 1; };
  around.space.exact = {};
  around.space.reaction = 0;
  around.space.bodies = {test::held(ball_shape({0.4, 0.5, 0.5}, 0.3), 2),
                         test::solid(box_shape({0.8, -1, -1}, {2, 2, 0.6}))};
  struct Case {
    const TensorMesh<3>& mesh;
    const HeatProblem3D& problem;
    TimeMethod method;
  };
  for (const auto& [mesh, problem, method] :
       {Case{tall, by_cells, TimeMethod::tr_bdf2}, Case{tall, direct, TimeMethod::euler},
        Case{wide, direct, TimeMethod::tr_bdf2}, Case{tall, around, TimeMethod::crank_nicolson}}) {
    const HeatParams3D params = steps_by(method);
    const Steps whole = run_on(Backend::cpu, 1, mesh, problem, params),
                on_three = run_on(Backend::cpu, 3, mesh, problem, params),
                half = run_on(Backend::cpu, 3, mesh, problem, params, middle);
    for (const int ranks : {1, 2}) {
      SCOPED_TRACE(testing::Message() << to_string(method) << " on " << ranks);
      expect_as_on_one(run_on(Backend::cpu, ranks, mesh, problem, params, end, &half.state), whole, 1e-10);
    }
    EXPECT_EQ(run_on(Backend::cpu, 3, mesh, problem, params, end, &half.state).own, on_three.own)
        << "not the bits of a run without the break";
    const Steps of_one = run_on(Backend::cpu, 1, mesh, problem, params, middle);
    expect_as_on_one(run_on(Backend::cpu, 3, mesh, problem, params, end, &of_one.state), whole, 1e-10);
  }
}

/// What every rank of so many says.
std::vector<std::string> refusals(int ranks, const TensorMesh<3>& mesh, const HeatProblem3D& problem,
                                  const HeatParams3D& params) {
  return test::on_subdomains(Backend::cpu, ranks,
                             [&](Context& ctx) {
                               HeatSolver3D solver(ctx, mesh, problem, params);
                               (void)solver.advance(ctx, 1);
                               return Values{};
                             })
      .errors;
}

TEST(HeatSolver3DRanks, SaysWhatRanksCannotDo) {
  const TensorMesh<3> mesh{uniform(1, 9), uniform(1, 6), uniform(1, 6)};
  const auto params = [](BoxMethod by) { return steps_by(TimeMethod::euler, by); };
  HeatProblem3D problem;
  EXPECT_THAT(refusals(2, mesh, problem, params(BoxMethod::planes)), Each(HasSubstr("one rank on a CPU")));
  EXPECT_THAT(refusals(9, mesh, problem, params(BoxMethod::direct)), Each(HasSubstr("9 ranks need as many planes")));
  problem.space.diffusion.xx = [](const Point3D& p) { return 1 + p.x * p.y + p.z; };
  EXPECT_THAT(refusals(6, mesh, problem, params(BoxMethod::fd_cg)), Each(HasSubstr("fd-cg gives every rank planes")));
  EXPECT_THAT(refusals(6, mesh, problem, params(BoxMethod::automatic)),
              Each(HasSubstr("fd-cg gives every rank planes across z, of which 6 ranks need as many")));
  EXPECT_THAT(refusals(6, mesh, problem, params(BoxMethod::multigrid)),
              Each(HasSubstr("multigrid gives every rank planes across z")));
  HeatProblem3D late;
  late.space.rhs = [](const Point3D& p) { return p.t > 0.05 && p.x > 0.8 ? std::nan("") : 1; };
  const auto found = refusals(2, mesh, late, params(BoxMethod::automatic));
  EXPECT_THAT(found[0], HasSubstr("given up"));
  EXPECT_THAT(found[1], testing::AllOf(HasSubstr("at t = 0.08"), HasSubstr("the right-hand side is nan")));
}

TEST(HeatSolver3DRanks, EveryRankTakesItsPartOfTheMemory) {
  const TensorMesh<3> mesh{uniform(1, 20), uniform(1, 18), uniform(1, 40)};
  for (const bool by_cells : {false, true}) {
    HeatProblem3D problem = heat_problem({D, N, D, D, R, D}, true);
    if (by_cells) problem.space.diffusion.xx = [](const Point3D& p) { return p.x + p.y * p.z > 0.8 ? 30 : 1; };
    const HeatParams3D params = steps_by(TimeMethod::crank_nicolson);
    Context one(Backend::cpu, 1);
    const auto whole = static_cast<double>(required_memory(one, mesh, problem, params));
    const auto found = test::on_subdomains(Backend::cpu, 3, [&](Context& ctx) {
      const auto required = static_cast<double>(required_memory(ctx, mesh, problem, params));
      HeatSolver3D solver(ctx, mesh, problem, params);
      (void)solver.advance(ctx, 0.02);
      return Values{required, static_cast<double>(ctx.memory()->peak_bytes)};
    });
    ASSERT_THAT(found.errors, Each(""));
    for (std::size_t k = 0; k < found.values.size(); k += 2) {
      EXPECT_LE(found.values[k + 1], found.values[k]);
      EXPECT_GT(found.values[k + 1], 0.6 * found.values[k]);
      EXPECT_LT(found.values[k], 0.6 * whole);
    }
  }
}

}  // namespace
