// Steps in time on a grid partitioned into subdomains, a thread and a Context each, against the same on one subdomain.

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <utility>

#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/heat_solver.hpp>

#include <gmock/gmock.h>

#include "support/boundaries.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;
using enum BoundaryConditionType;

/// What a run says beside the solution; the same on all subdomains.
struct Told {
  HeatReport report;
  double heat = 0, error = 0;
  HeatState state{};
};

struct Stepped {
  Values u;                // on the unknowns
  std::vector<Told> told;  // by rank
};

double smooth(const Point& p) { return (1 + p.x * p.x) * std::cos(3 * p.t) + (p.x + 2 * p.y) * std::sin(p.t); }

class HeatSubdomainsTest : public test::OnEveryBackend {
 protected:
  /// From `from`, where it is given, over 0.1 to 0.3.
  [[nodiscard]] Stepped run(int count, const Geometry& mesh, const HeatProblem& problem, const HeatParams& params,
                            const HeatState* from = nullptr, double to = 0.3) const {
    Stepped run;
    run.told.resize(static_cast<std::size_t>(count));
    const auto found = test::on_subdomains(GetParam(), count, [&](Context& ctx) {
      HeatSolver solver(ctx, mesh, problem, params);
      if (from != nullptr)
        solver.restore(ctx, *from);
      else
        (void)solver.advance(ctx, 0.1);
      if (solver.time() < to) (void)solver.advance(ctx, to);
      EXPECT_EQ(solver.report().status, Status::converged) << solver.report().reason;
      const auto rank = ctx.communicator() == nullptr ? 0 : ctx.communicator()->rank();
      run.told[static_cast<std::size_t>(rank)] = {solver.report(), solver.heat(ctx),
                                                  solver.relative_l2_error(ctx).value_or(-1), solver.state(ctx)};
      const FieldView<const double> u = solver.solution();
      Values values(static_cast<std::size_t>(u.nodes()));
      copy_to_host(ctx, u, values.data());
      return values;
    });
    EXPECT_THAT(found.errors, testing::Each(""));
    run.u = found.values;
    return run;
  }
  void expect_the_same(const Geometry& mesh, const HeatProblem& problem, const HeatParams& params,
                       std::initializer_list<int> counts, double tolerance) const {
    const Stepped one = run(1, mesh, problem, params);
    for (const int count : counts) {
      SCOPED_TRACE(testing::Message() << count << " subdomains");
      const Stepped several = run(count, mesh, problem, params);
      if (HasFailure()) return;
      expect_near(several, one, tolerance);
      EXPECT_EQ(run(count, mesh, problem, params).u, several.u) << "the same subdomains, the same bits";
    }
  }
  static void expect_near(const Stepped& several, const Stepped& one, double tolerance) {
    const Told& first = one.told[0];
    for (const Told& told : several.told) {
      EXPECT_EQ(told.report.t, first.report.t);
      EXPECT_EQ(told.report.steps, first.report.steps);
      EXPECT_EQ(told.report.rejected, first.report.rejected);
      // An estimate of an error that is nothing but rounding may take one more.
      EXPECT_NEAR(static_cast<double>(told.report.cycles), static_cast<double>(first.report.cycles), 1);
      EXPECT_NEAR(told.report.shortest_dt / first.report.shortest_dt, 1, 1e3 * tolerance);
      EXPECT_NEAR(told.heat, first.heat, tolerance * std::abs(first.heat));
      EXPECT_NEAR(told.error, first.error, tolerance * (1 + std::abs(first.error)));
      EXPECT_EQ(told.heat, several.told[0].heat);
      EXPECT_EQ(told.state.u, &told == &several.told[0] ? several.u : Values{});
    }
    ASSERT_EQ(several.u.size(), one.u.size());
    double largest = 0, difference = 0;
    for (const double value : one.u) largest = std::max(largest, std::abs(value));
    for (std::size_t k = 0; k < one.u.size(); ++k)
      if (!(std::abs(several.u[k] - one.u[k]) <= difference)) difference = std::abs(several.u[k] - one.u[k]);
    EXPECT_LE(difference, tolerance * largest);
  }
  static HeatParams params(TimeMethod method, Precision precision = Precision::full) {
    HeatParams p;
    p.method = method;
    if (method == TimeMethod::tr_bdf2)
      p.tol = 1e-3;
    else
      p.dt = 0.06;
    p.solver.precision = precision;
    p.solver.multigrid.distributed_levels = 2;
    p.solver.multigrid.exact_below = 0;
    return p;
  }
  static BoundaryCondition side(BoundaryConditionType kind) {
    if (kind == periodic) return {kind, {}, {}};
    return {kind, smooth, [](const Point& p) { return 1 + p.x * p.x + p.y; }};
  }
  enum class Data { constant, steady, changing };
  static HeatProblem problem(const BoundaryConditions& boundaries, Data data) {
    HeatProblem problem;
    problem.space.boundaries = boundaries;
    problem.space.exact = smooth;
    problem.space.rhs = [](const Point& p) { return std::cos(5 * p.t) * (1 + p.x * p.y); };
    problem.steady_coefficients = data != Data::changing;
    if (data == Data::constant) {
      problem.capacity = 2.0;
      problem.space.diffusion.xx = 0.3;
      problem.space.reaction = 0.5;
      problem.space.rhs = [](const Point& p) { return 1 + p.x * p.y; };
      problem.steady_rhs = true;
      return problem;
    }
    const bool changes = data == Data::changing;
    problem.capacity = ScalarFunction([=](const Point& p) { return 2 + p.x * p.y + (changes ? p.t : 0); });
    problem.space.diffusion.xx = ScalarFunction([=](const Point& p) { return 1 + p.x + (changes ? p.t : 0); });
    problem.space.diffusion.xy = ScalarFunction([](const Point& p) { return 0.2 * p.y; });
    problem.space.diffusion.yy = ScalarFunction([](const Point& p) { return p.y > 0.5 ? 5.0 : 1.0; });
    problem.space.reaction_of_cells = ScalarFunction([=](const Point& p) { return changes ? p.t : p.x; });
    return problem;
  }
  static constexpr TimeMethod every_method[] = {TimeMethod::euler, TimeMethod::crank_nicolson, TimeMethod::tr_bdf2};
  test::Random random_{519};
};
INSTANTIATE_ON_EVERY_BACKEND(HeatSubdomainsTest);

TEST_P(HeatSubdomainsTest, EveryMethodWithSidesAndCoefficientsOfEveryKind) {
  const BoundaryConditionType every_sides[][4] = {{dirichlet, dirichlet, dirichlet, dirichlet},
                                                  {neumann, dirichlet, neumann, robin},
                                                  {dirichlet, robin, periodic, periodic},
                                                  {periodic, periodic, dirichlet, neumann},
                                                  {periodic, periodic, periodic, periodic}};
  const TensorMesh<2> mesh{Axis(random_.widths(13, 1)), Axis(random_.widths(19, 1))};
  for (const auto& [left, right, bottom, top] : every_sides)
    for (const Data data : {Data::constant, Data::steady, Data::changing}) {
      const BoundaryConditions boundaries{side(left), side(right), side(bottom), side(top)};
      for (const auto method : every_method) {
        SCOPED_TRACE(testing::Message() << to_string(left) << " " << to_string(right) << " " << to_string(bottom) << " "
                                        << to_string(top) << ", data " << static_cast<int>(data) << ", "
                                        << to_string(method));
        const int count = method == TimeMethod::euler ? 2 : method == TimeMethod::crank_nicolson ? 3 : 4;
        expect_the_same(mesh, problem(boundaries, data), params(method), {count}, 1e-11);
      }
    }
}

TEST_P(HeatSubdomainsTest, DeformedMeshes) {
  Context host(Backend::cpu, 1);
  const auto mesh_of = [&](int nx, int ny, const BoundaryConditions& boundaries) {
    return test::wavy(
        host, with_boundaries(TensorMesh<2>{Axis(random_.widths(nx, 1)), Axis(random_.widths(ny, 1))}, boundaries));
  };
  for (const BoundaryConditions& boundaries :
       {BoundaryConditions{}, BoundaryConditions{side(neumann), {}, side(neumann), side(robin)},
        BoundaryConditions{side(robin), side(neumann), side(periodic), side(periodic)},
        BoundaryConditions{side(periodic), side(periodic), {}, side(neumann)}})
    for (const Data data : {Data::constant, Data::steady, Data::changing}) {
      SCOPED_TRACE(testing::Message() << to_string(boundaries.left.kind) << " " << to_string(boundaries.bottom.kind)
                                      << ", data " << static_cast<int>(data));
      const auto method = every_method[static_cast<int>(data)];
      const int nx = data == Data::steady ? 12 : 13, ny = data == Data::steady ? 18 : 21;
      expect_the_same(mesh_of(nx, ny, boundaries), problem(boundaries, data), params(method),
                      {data == Data::constant ? 2
                       : data == Data::steady ? 3
                                              : 4},
                      1e-10);
    }
  HeatParams p = params(TimeMethod::tr_bdf2, Precision::mixed);
  p.solver.multigrid.distributed_levels.reset();
  p.solver.multigrid.smoother = "auto";
  expect_the_same(test::wavy(host, make_mesh(mesh_family("U1"), 6)), problem({}, Data::steady), p, {2}, 1e-6);
}

TEST_P(HeatSubdomainsTest, SmoothersSolversAndMixedPrecision) {
  const HeatProblem changing = problem({side(neumann), {}, {}, side(robin)}, Data::changing),
                    constant = problem({}, Data::constant);
  struct Case {
    const char *mesh, *smoother;
    Method method;
  };
  for (const auto& [name, smoother, method] :
       {Case{"U1", "auto", Method::multigrid}, Case{"U1", "colour_gs", Method::cg}, Case{"A3", "auto", Method::cg},
        Case{"A3", "line_y", Method::multigrid}, Case{"A3", "adi", Method::multigrid}}) {
    SCOPED_TRACE(testing::Message() << name << ", " << smoother << ", " << to_string(method));
    HeatParams p = params(TimeMethod::tr_bdf2, Precision::mixed);
    p.solver.multigrid.smoother = smoother;
    p.solver.method = method;
    for (const HeatProblem* given : {&changing, &constant})
      expect_the_same(make_mesh(mesh_family(name), 5), *given, p, {3}, 1e-7);
  }
}

// Levels are cut as far as it is worth it.
TEST_P(HeatSubdomainsTest, LevelsAsTheyAreCutByDefault) {
  HeatParams p = params(TimeMethod::tr_bdf2, Precision::mixed);
  p.solver.multigrid.distributed_levels.reset();
  expect_the_same(make_mesh(mesh_family("A2"), 8), problem({}, Data::constant), p, {2}, 1e-7);
}

TEST_P(HeatSubdomainsTest, SubdomainsOfOneRow) {
  const TensorMesh<2> mesh{Axis(random_.widths(5, 1)), Axis(random_.widths(9, 1))};
  HeatParams p = params(TimeMethod::tr_bdf2);
  p.solver.multigrid.distributed_levels = 1;
  for (const auto& boundaries :
       {BoundaryConditions{}, BoundaryConditions{{}, {}, {periodic, {}, {}}, {periodic, {}, {}}}})
    for (const Data data : {Data::constant, Data::changing})
      expect_the_same(mesh, problem(boundaries, data), p, {4}, 1e-11);
}

TEST_P(HeatSubdomainsTest, WallsKeepTheHeat) {
  HeatProblem walls;
  walls.initial = [](const Point& p) { return p.x < 0.3 ? 1 + p.y : 0.0; };
  walls.space.boundaries = {{neumann, {}, {}}, {neumann, {}, {}}, {neumann, {}, {}}, {neumann, {}, {}}};
  walls.steady_coefficients = true;
  HeatProblem jump = walls;
  jump.space.diffusion.xx = ScalarFunction([](const Point& p) { return p.y > 0.5 ? 1000.0 : 1.0; });
  for (const HeatProblem* given : {&walls, &jump}) {
    HeatParams p = params(TimeMethod::crank_nicolson);
    p.eta = 1e-3;  // what is not solved for is heat
    const TensorMesh<2> mesh = make_mesh(mesh_family("A1"), 5);
    double before = 0;
    (void)test::on_subdomains(GetParam(), 1, [&](Context& ctx) {
      before = HeatSolver(ctx, mesh, *given, p).heat(ctx);
      return Values{};
    });
    for (const Told& told : run(3, mesh, *given, p).told) EXPECT_NEAR(told.heat / before, 1, 1e-12);
  }
}

TEST_P(HeatSubdomainsTest, AStateGoesOnOnAnyNumberOfSubdomains) {
  const TensorMesh<2> mesh{Axis(random_.widths(13, 1)), Axis(random_.widths(22, 1))};
  for (const Data data : {Data::constant, Data::changing})
    for (const auto method : every_method) {
      SCOPED_TRACE(testing::Message() << to_string(method) << ", data " << static_cast<int>(data));
      const HeatProblem given = problem({side(neumann), {}, side(periodic), side(periodic)}, data);
      const HeatParams p = params(method);
      const Stepped whole = run(1, mesh, given, p), on_three = run(3, mesh, given, p);
      const Stepped half = run(3, mesh, given, p, nullptr, 0.1);
      EXPECT_EQ(half.told[0].report.t, 0.1);
      for (const int count : {1, 2, 4}) {
        SCOPED_TRACE(testing::Message() << "on " << count);
        expect_near(run(count, mesh, given, p, &half.told[0].state), whole, 1e-11);
      }
      EXPECT_EQ(run(3, mesh, given, p, &half.told[0].state).u, on_three.u) << "not the bits of a run without the break";
      const auto of_another_mesh = test::on_subdomains(GetParam(), 3, [&](Context& ctx) {
        HeatSolver solver(ctx, make_mesh(mesh_family("U1"), 4), {}, p);
        solver.restore(ctx, half.told[0].state);
        return Values{};
      });
      EXPECT_THAT(of_another_mesh.errors, testing::Each(testing::HasSubstr("is not one of 225 and 64")));
    }
}

TEST_P(HeatSubdomainsTest, ASubdomainWhoseDataAreNotFiniteEndsAll) {
  HeatProblem given = problem({}, Data::changing);
  given.space.rhs = [](const Point& p) { return p.t > 0.05 && p.y > 0.9 ? std::sqrt(-1.0) : 1.0; };
  const auto found = test::on_subdomains(GetParam(), 3, [&](Context& ctx) {
    HeatSolver solver(ctx, make_mesh(mesh_family("U1"), 4), given, params(TimeMethod::euler));
    (void)solver.advance(ctx, 1);
    return Values{};
  });
  EXPECT_THAT(found.errors[2],
              testing::AllOf(testing::HasSubstr("at t = 0.0588"), testing::HasSubstr("right-hand side")));
  for (const int other : {0, 1})
    EXPECT_THAT(found.errors[static_cast<std::size_t>(other)], testing::HasSubstr("given up"));
}

TEST_P(HeatSubdomainsTest, EverySubdomainTakesItsPartOfTheMemory) {
  const TensorMesh<2> rectangle = make_mesh(mesh_family("U1"), 8);
  Context host(Backend::cpu, 1);
  const MappedMesh wavy = test::wavy(host, rectangle);
  for (const auto& [mesh, data] : {std::pair{Geometry(rectangle), Data::constant},
                                   {Geometry(rectangle), Data::steady},
                                   {Geometry(wavy), Data::steady},
                                   {Geometry(wavy), Data::changing}}) {
    const HeatProblem given = problem({}, data);
    HeatParams p = params(TimeMethod::tr_bdf2, Precision::mixed);
    Context one(GetParam(), 1);
    const auto whole = static_cast<double>(required_memory(one, mesh, given, p));
    const auto found = test::on_subdomains(GetParam(), 3, [&, mesh = mesh, data = data](Context& ctx) {
      const auto required = static_cast<double>(required_memory(ctx, mesh, given, p));
      HeatSolver solver(ctx, mesh, given, p);
      if (data == Data::changing) (void)solver.advance(ctx, 1e-3);
      return Values{required, static_cast<double>(ctx.memory()->peak_bytes)};
    });
    ASSERT_THAT(found.errors, testing::Each(""));
    for (std::size_t k = 0; k < found.values.size(); k += 2) {
      EXPECT_NEAR(found.values[k] / found.values[k + 1], 1, 0.1);
      EXPECT_LT(found.values[k], 0.6 * whole);
    }
  }
}

}  // namespace
