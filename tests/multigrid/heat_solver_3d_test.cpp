// Steps in time in a box: modes of the discrete equations, orders, what does not depend on z beside two dimensions, restarts.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/assembly/expressions/expression_source.hpp>
#include <stratum/multigrid/heat_solver.hpp>
#include <stratum/multigrid/heat_solver_3d.hpp>

#include "support/backends.hpp"

#include <gtest/gtest.h>

namespace {

using namespace stratum;
using enum BoundaryConditionType;
using Values = std::vector<double>;

constexpr double pi = std::numbers::pi;
constexpr TimeMethod every_method[] = {TimeMethod::euler, TimeMethod::crank_nicolson, TimeMethod::tr_bdf2};

/// One thread on a CPU, as boxes are small.
Context context_on(Backend backend) { return Context(backend, backend == Backend::cpu ? 1 : 0); }

Axis uniform(int cells, double length = 1) { return {Values(static_cast<std::size_t>(cells), length / cells), length}; }
Axis graded(int cells, double ratio) {
  Values widths;
  double sum = 0, h = 1;
  for (int i = 0; i < cells; ++i, h *= ratio) sum += h;
  h = 1 / sum;
  for (int i = 0; i < cells; ++i, h *= ratio) widths.push_back(h);
  return {widths, 1};
}

HeatParams3D fixed(TimeMethod method, double dt, BoxMethod by = BoxMethod::automatic) {
  HeatParams3D params;
  params.method = method;
  params.dt = dt;
  params.eta = 1e-12;
  params.solver.method = by;
  return params;
}

ScalarFunction3D number(double value) {
  return [value](const Point3D& /*p*/) { return value; };
}

/// By what a step with lambda dt = z multiplies a mode.
double growth(TimeMethod method, double z) {
  if (method == TimeMethod::euler) return 1 / (1 + z);
  if (method == TimeMethod::crank_nicolson) return (1 - z / 2) / (1 + z / 2);
  const double gamma = 2 - std::sqrt(2.0), d = gamma / 2, w = std::sqrt(2.0) / 4;
  const double middle = (1 - d * z) / (1 + d * z);
  return (1 - w * z - w * z * middle) / (1 + d * z);
}
/// lambda of K v = lambda M v for v = cos or sin(wave x) on uniform cells.
double discrete(double wave, double h) { return 6 / (h * h) * (1 - std::cos(wave * h)) / (2 + std::cos(wave * h)); }

Values solved(Context& ctx, const TensorMesh<3>& mesh, const HeatProblem3D& problem, const HeatParams3D& params,
              double end) {
  HeatSolver3D solver(ctx, mesh, problem, params);
  const HeatReport& report = solver.advance(ctx, end);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_EQ(solver.time(), end);
  return solver.nodal_solution(ctx);
}

double largest_difference(const Values& a, const Values& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t n = 0; n < a.size(); ++n) largest = std::max(largest, std::abs(a[n] - b[n]));
  return largest;
}

/// A mode between Dirichlet faces in x, Neumann faces in y and periodic in z, with K of each direction, c and a capacity.
struct Mode {
  static constexpr std::array<int, 3> cells{8, 6, 9};
  static constexpr double kx = 0.5, ky = 2, kz = 0.7, c = 0.3, capacity = 1.7;
  TensorMesh<3> mesh{uniform(cells[0]), uniform(cells[1], 0.8), uniform(cells[2], 1.5)};
  HeatProblem3D problem;

  Mode() {
    problem.initial = [](const Point3D& p) { return at(p); };
    auto& faces = problem.space.boundaries;
    faces[BoxFace::bottom].kind = faces[BoxFace::top].kind = neumann;
    faces[BoxFace::front].kind = faces[BoxFace::back].kind = periodic;
    problem.space.diffusion = {number(kx), number(ky), number(kz)};
    problem.space.reaction = c;
    problem.capacity = capacity;
  }
  static double at(const Point3D& p) {
    return std::sin(2 * pi * p.x) * std::cos(pi * p.y / 0.8) * std::sin(2 * pi * p.z / 1.5);
  }
  static double lambda() {
    return (kx * discrete(2 * pi, 1.0 / cells[0]) + ky * discrete(pi / 0.8, 0.8 / cells[1]) +
            kz * discrete(2 * pi / 1.5, 1.5 / cells[2]) + c) /
           capacity;
  }
};

TEST(HeatSolver3D, ModesDecayAsTheMethodSays) {
  const Mode mode;
  constexpr double dt = 0.004;
  constexpr int steps = 7;
  for (const Backend backend : test::available_backends()) {
    Context ctx = context_on(backend);
    HeatSolver3D start(ctx, mode.mesh, mode.problem, fixed(TimeMethod::euler, dt));
    const Values first = start.nodal_solution(ctx);
    for (const BoxMethod by : {BoxMethod::direct, BoxMethod::multigrid})
      for (const TimeMethod method : every_method) {
        const Values u = solved(ctx, mode.mesh, mode.problem, fixed(method, dt, by), steps * dt);
        const double factor = std::pow(growth(method, Mode::lambda() * dt), steps);
        Values expected = first;
        for (double& value : expected) value *= factor;
        EXPECT_LE(largest_difference(u, expected), 1e-10) << to_string(method) << " by " << to_string(by);
      }
  }
}

// With the eigenvalues of the elements: what is left is the error of the steps.
TEST(HeatSolver3D, OrdersAgainstTheExponential) {
  const Mode mode;
  Context ctx = context_on(Backend::cpu);
  const auto error = [&](TimeMethod method, int steps) {
    constexpr double end = 0.05;
    const Values u = solved(ctx, mode.mesh, mode.problem, fixed(method, end / steps), end);
    // Node (2, 0, 2).
    const std::size_t node = (2 * (Mode::cells[1] + 1)) * (Mode::cells[0] + 1) + 2;
    const Point3D p{.x = 2.0 / Mode::cells[0], .z = 1.5 * 2 / Mode::cells[2]};
    return std::abs(u[node] - Mode::at(p) * std::exp(-Mode::lambda() * end));
  };
  for (const TimeMethod method : every_method) {
    const double order = std::log2(error(method, 20) / error(method, 40));
    EXPECT_NEAR(order, method == TimeMethod::euler ? 1 : 2, 0.1) << to_string(method);
  }
}

/// u = (1 + x + 2 y) (1 - z) sin 3t, which elements have exactly, and every kind of face with data that change.
struct EveryFace {
  static double u(const Point3D& p) { return (1 + p.x + 2 * p.y) * (1 - p.z) * std::sin(3 * p.t); }
  static double u_t(const Point3D& p) { return 3 * (1 + p.x + 2 * p.y) * (1 - p.z) * std::cos(3 * p.t); }
  static HeatProblem3D problem(double k, double c, double capacity) {
    HeatProblem3D problem;
    problem.capacity = capacity;
    problem.space.reaction = c;
    if (k != 1) problem.space.diffusion.xx = number(k);
    problem.space.exact = u;
    problem.space.rhs = [=](const Point3D& p) { return capacity * u_t(p) + c * u(p); };
    auto& faces = problem.space.boundaries;
    faces[BoxFace::right] = {neumann, [=](const Point3D& p) { return k * (1 - p.z) * std::sin(3 * p.t); }, {}};
    faces[BoxFace::top] = {robin, [=](const Point3D& p) { return k * 2 * (1 - p.z) * std::sin(3 * p.t) + 4 * u(p); },
                           number(4)};
    faces[BoxFace::front] = {
        neumann, [=](const Point3D& p) { return k * (1 + p.x + 2 * p.y) * std::sin(3 * p.t); }, {}};
    return problem;
  }
};

TEST(HeatSolver3D, OrdersWithFacesThatChange) {
  const TensorMesh<3> mesh{graded(5, 0.6), uniform(4), graded(6, 1.5)};
  for (const Backend backend : test::available_backends()) {
    Context ctx = context_on(backend);
    const auto error = [&](TimeMethod method, int steps) {
      HeatSolver3D solver(ctx, mesh, EveryFace::problem(0.3, 0.7, 2.5), fixed(method, 1.3 / steps));
      EXPECT_EQ(solver.advance(ctx, 1.3).status, Status::converged);
      return *solver.relative_l2_error(ctx);
    };
    for (const TimeMethod method : every_method) {
      const double order = std::log2(error(method, 20) / error(method, 40));
      EXPECT_NEAR(order, method == TimeMethod::euler ? 1 : 2, 0.15) << to_string(method);
    }
  }
}

TEST(HeatSolver3D, OrderInSpace) {
  HeatProblem3D problem;
  problem.space.exact = [](const Point3D& p) { return std::cos(p.x + 2 * p.y - p.z) * std::exp(-p.t); };
  problem.space.rhs = [](const Point3D& p) { return 5 * std::cos(p.x + 2 * p.y - p.z) * std::exp(-p.t); };
  Context ctx = context_on(Backend::cpu);
  const auto error = [&](int cells) {
    HeatSolver3D solver(ctx, {uniform(cells), uniform(cells), uniform(cells)}, problem,
                        fixed(TimeMethod::tr_bdf2, 0.02));
    (void)solver.advance(ctx, 0.2);
    return *solver.relative_l2_error(ctx);
  };
  EXPECT_NEAR(std::log2(error(4) / error(8)), 2, 0.15);
}

// K by cells by conjugate gradients around either preconditioner, and around none of them.
TEST(HeatSolver3D, MethodsForCellsAgree) {
  const TensorMesh<3> mesh{uniform(10), graded(9, 0.7), uniform(8)};
  HeatProblem3D problem = EveryFace::problem(1, 0.2, 1.3);
  problem.space.diffusion.xx = [](const Point3D& p) { return 1 + p.x * p.y + p.z; };
  for (const Backend backend : test::available_backends()) {
    Context ctx = context_on(backend);
    for (const TimeMethod method : every_method) {
      HeatParams3D params = fixed(method, 0.02, BoxMethod::multigrid);
      const Values multigrid = solved(ctx, mesh, problem, params, 0.1);
      params.solver.method = BoxMethod::fd_cg;
      EXPECT_LE(largest_difference(solved(ctx, mesh, problem, params, 0.1), multigrid), 1e-9);
      params.solver.method = BoxMethod::multigrid;
      params.solver.float_cycles = true;
      EXPECT_LE(largest_difference(solved(ctx, mesh, problem, params, 0.1), multigrid), 1e-9);
    }
  }
}

/// The same problem in two dimensions, and in a box in which nothing depends on z.
struct Flat {
  static double initial(double x, double y) { return x < 0.4 ? 2 * y : 1 - y; }
  static double k(double x, double y) { return x + y > 1 ? 50 : 1; }
  static HeatProblem plane(bool jump) {
    HeatProblem problem;
    problem.initial = [](const Point& p) { return initial(p.x, p.y); };
    problem.space.rhs = [](const Point& p) { return p.x * p.t; };
    problem.capacity = 1.5;
    if (jump) problem.space.diffusion.xx = ScalarFunction([](const Point& p) { return k(p.x, p.y); });
    problem.steady_coefficients = true;
    auto& s = problem.space.boundaries;
    s.left = s.bottom = s.top = {neumann, {}, {}};
    s.right.value = [](const Point& p) { return p.y * std::sin(9 * p.t); };
    return problem;
  }
  static HeatProblem3D box(bool jump) {
    HeatProblem3D problem;
    problem.initial = [](const Point3D& p) { return initial(p.x, p.y); };
    problem.space.rhs = [](const Point3D& p) { return p.x * p.t; };
    problem.capacity = 1.5;
    if (jump) problem.space.diffusion.xx = [](const Point3D& p) { return k(p.x, p.y); };
    auto& faces = problem.space.boundaries;
    for (auto& face : faces.faces) face.kind = neumann;
    faces[BoxFace::right] = {dirichlet, [](const Point3D& p) { return p.y * std::sin(9 * p.t); }, {}};
    return problem;
  }
};

TEST(HeatSolver3D, IsTwoDimensionsWhereNothingDependsOnZ) {
  const Axis x = uniform(9), y = graded(8, 0.8), z = graded(5, 1.6);
  Context ctx = context_on(Backend::cpu);
  for (const bool jump : {false, true})
    for (const bool adapts : {false, true})
      for (const TimeMethod method : every_method) {
        if (adapts && method != TimeMethod::tr_bdf2) continue;
        HeatParams plane;
        HeatParams3D box = fixed(method, 0.01);
        plane.method = method;
        plane.dt = 0.01;
        plane.eta = box.eta = 1e-13;
        plane.solver.precision = Precision::full;
        if (adapts) {
          plane.tol = box.tol = 1e-3;
        }
        HeatSolver flat(ctx, TensorMesh<2>(x, y), Flat::plane(jump), plane);
        HeatSolver3D solver(ctx, {x, y, z}, Flat::box(jump), box);
        ASSERT_EQ(flat.advance(ctx, 0.1).status, Status::converged) << flat.report().reason;
        ASSERT_EQ(solver.advance(ctx, 0.1).status, Status::converged) << solver.report().reason;
        EXPECT_NEAR(static_cast<double>(solver.report().steps), static_cast<double>(flat.report().steps),
                    adapts ? 2 : 0);
        const Values of_plane = flat.nodal_solution(ctx), all = solver.nodal_solution(ctx);
        // Steps that adapt follow an estimate that is solved for to two digits.
        const double allowed = adapts ? 1e-3 : 1e-10;
        for (std::size_t k = 0; k < 6; ++k) {
          const auto begin = all.begin() + static_cast<std::ptrdiff_t>(k * of_plane.size());
          EXPECT_LE(largest_difference(Values(begin, begin + static_cast<std::ptrdiff_t>(of_plane.size())), of_plane),
                    allowed)
              << to_string(method) << ", plane " << k << (jump ? ", K jumps" : "") << (adapts ? ", adaptive" : "");
        }
        EXPECT_NEAR(solver.heat(ctx), flat.heat(ctx), allowed);
      }
}

TEST(HeatSolver3D, WallsKeepTheHeat) {
  HeatProblem3D problem;
  problem.initial = [](const Point3D& p) { return p.x < 0.5 ? 1.0 : 0.0; };
  problem.capacity = 3;
  for (auto& face : problem.space.boundaries.faces) face.kind = neumann;
  problem.space.boundaries[BoxFace::front].kind = problem.space.boundaries[BoxFace::back].kind = periodic;
  const TensorMesh<3> mesh{graded(8, 0.5), uniform(6), uniform(5)};
  for (const Backend backend : test::available_backends()) {
    Context ctx = context_on(backend);
    for (const BoxMethod by : {BoxMethod::direct, BoxMethod::multigrid}) {
      HeatParams3D params;
      params.tol = 1e-3;
      params.solver.method = by;
      HeatSolver3D solver(ctx, mesh, problem, params);
      const double first = solver.heat(ctx);
      ASSERT_EQ(solver.advance(ctx, 0.1).status, Status::converged);
      EXPECT_NEAR(solver.heat(ctx), first, 1e-13 * first);
      EXPECT_GT(solver.report().steps, 5);
    }
  }
}

TEST(HeatSolver3D, AdaptiveStepsKeepTheTolerance) {
  const TensorMesh<3> mesh{uniform(6), uniform(5), graded(6, 1.5)};
  const HeatProblem3D problem = EveryFace::problem(0.3, 0, 1);
  Context ctx = context_on(Backend::cpu);
  double before = 1;
  for (const double tol : {1e-2, 1e-3, 1e-4}) {
    HeatParams3D params;
    params.tol = tol;
    HeatSolver3D solver(ctx, mesh, problem, params);
    ASSERT_EQ(solver.advance(ctx, 1.3).status, Status::converged);
    const double error = *solver.relative_l2_error(ctx);
    EXPECT_LE(error, 20 * tol);
    EXPECT_LT(error, before);
    before = error;
    EXPECT_EQ(solver.report().forced, 0);
  }
}

TEST(HeatSolver3D, GoesOnFromAStateWithTheSameBits) {
  const TensorMesh<3> mesh{uniform(6), graded(5, 0.7), uniform(4)};
  for (const bool by_cells : {false, true}) {
    HeatProblem3D problem = EveryFace::problem(1, 0.1, 2);
    if (by_cells) problem.space.diffusion.xx = [](const Point3D& p) { return p.x + p.y * p.z > 0.8 ? 30 : 1; };
    Context ctx = context_on(Backend::cpu);
    for (const bool adapts : {false, true})
      for (const TimeMethod method : every_method) {
        if (adapts && method != TimeMethod::tr_bdf2) continue;
        HeatParams3D params = fixed(method, 0.047);  // steps are shorter
        if (adapts) params.tol = 1e-2;
        HeatSolver3D whole(ctx, mesh, problem, params);
        (void)whole.advance(ctx, 0.2);
        const HeatState middle = whole.state(ctx);
        (void)whole.advance(ctx, 0.4);
        HeatSolver3D rest(ctx, mesh, problem, params);
        EXPECT_TRUE(rest.restore(ctx, middle));
        EXPECT_EQ(rest.time(), 0.2);
        (void)rest.advance(ctx, 0.4);
        EXPECT_EQ(rest.nodal_solution(ctx), whole.nodal_solution(ctx)) << to_string(method);
        EXPECT_EQ(rest.report().cycles, whole.report().cycles);
        EXPECT_EQ(rest.report().updates, whole.report().updates);
        // Another f: du/dt of the state is none of this problem.
        HeatProblem3D other = problem;
        other.space.rhs = number(7);
        HeatSolver3D changed(ctx, mesh, other, params);
        EXPECT_EQ(changed.restore(ctx, middle), method == TimeMethod::euler);
      }
  }
}

TEST(HeatSolver3D, TakesTheMemoryThatItSays) {
  for (const bool by_cells : {false, true}) {
    Context ctx(Backend::cpu, 1);
    const TensorMesh<3> mesh{uniform(20), uniform(18), uniform(16)};
    HeatProblem3D problem;
    problem.initial = number(1);
    if (by_cells) problem.space.diffusion.xx = [](const Point3D& p) { return p.x + p.y * p.z > 0.8 ? 30 : 1; };
    const HeatParams3D params = fixed(TimeMethod::tr_bdf2, 0.01);
    const std::int64_t needed = required_memory(ctx, mesh, problem, params);
    HeatSolver3D solver(ctx, mesh, problem, params);
    (void)solver.advance(ctx, 0.03);
    EXPECT_LE(ctx.memory()->peak_bytes, needed);
    EXPECT_GT(static_cast<double>(ctx.memory()->peak_bytes), 0.6 * static_cast<double>(needed));
    const std::int64_t allocations = ctx.memory()->allocations;
    (void)solver.advance(ctx, 0.06);
    EXPECT_EQ(ctx.memory()->allocations, allocations);
  }
}

// A GPU evaluates K of large boxes, and must not in the dry run, which has no memory to put it.
TEST(HeatSolver3D, SaysWhatLargeBoxesWithKFromAnExpressionTakeOnAGpu) {
  const TensorMesh<3> mesh{uniform(180), uniform(170), uniform(160)};
  HeatProblem3D problem;
  problem.initial = number(1);
  problem.space.diffusion.xx = parse_expression("1 + 999*(sin(20*x)*sin(20*y)*sin(20*z) > 0)", {1, 1, 1});
  for (const Backend backend : test::available_backends()) {
    if (backend == Backend::cpu) continue;
    Context ctx = context_on(backend);
    const HeatParams3D params = fixed(TimeMethod::tr_bdf2, 0.01);
    const std::int64_t needed = required_memory(ctx, mesh, problem, params);
    HeatSolver3D solver(ctx, mesh, problem, params);
    (void)solver.advance(ctx, 0.02);
    // The Gauss points of the three directions are not counted, 33 of 1,857,394 kB.
    EXPECT_LE(static_cast<double>(ctx.memory()->peak_bytes), 1.001 * static_cast<double>(needed));
  }
}

// What is said not to change is evaluated once, with the same answer.
TEST(HeatSolver3D, SteadyDataAreEvaluatedOnce) {
  const TensorMesh<3> mesh{uniform(6), graded(5, 0.7), uniform(4)};
  HeatProblem3D problem;
  problem.initial = number(1);
  problem.space.boundary = [](const Point3D& p) { return 3 + p.x - 2 * p.y * p.z; };
  problem.space.rhs = [](const Point3D& p) { return p.x * p.z; };
  auto& faces = problem.space.boundaries;
  faces[BoxFace::top] = {robin, [](const Point3D& p) { return p.x; }, number(2)};
  faces[BoxFace::front] = faces[BoxFace::back] = {periodic, {}, {}};
  HeatProblem3D steady = problem;
  steady.steady_rhs = steady.steady_faces = true;
  for (const Backend backend : test::available_backends()) {
    Context ctx = context_on(backend);
    for (const bool adapts : {false, true})
      for (const TimeMethod method : every_method) {
        if (adapts && method != TimeMethod::tr_bdf2) continue;
        HeatParams3D params = fixed(method, 0.01);
        params.solver.quadrature_points = 2;
        if (adapts) params.tol = 1e-3;
        const Values u = solved(ctx, mesh, steady, params, 0.07);
        EXPECT_LE(largest_difference(solved(ctx, mesh, problem, params, 0.07), u), adapts ? 1e-6 : 1e-11);
        EXPECT_EQ(u.front(), 3);  // of the node (0, 0, 0)
      }
  }
}

// On a GPU a kernel that is made of the text once, at every time.
TEST(HeatSolver3D, ExpressionsWithTheTime) {
  const auto f = [](const Point3D& p) { return p.x * std::sin(9 * p.t) + p.z; };
  HeatProblem3D by_text, by_function;
  by_text.space.rhs = BoxFunctionOfText{{"x*sin(9*t)+z", {1, 1, 1}, {true, false, true}, true}, f};
  by_function.space.rhs = f;
  const TensorMesh<3> mesh{uniform(41), uniform(40), uniform(40)};  // worth compiling for
  Context host = context_on(Backend::cpu);
  const HeatParams3D params = fixed(TimeMethod::euler, 0.1);
  const Values expected = solved(host, mesh, by_function, params, 0.3);
  for (const Backend backend : test::available_backends()) {
    Context ctx = context_on(backend);
    EXPECT_LE(largest_difference(solved(ctx, mesh, by_text, params, 0.3), expected), 1e-12);
  }
}

// As HeatSlope in two dimensions: beside a Robin face with alpha = 1e8 du/dt is about 1e10 at first, and 1 far from it.
TEST(HeatSolver3D, FirstSlopeBesideALargeAlpha) {
  constexpr int cells = 24;
  constexpr double alpha = 1e8;
  HeatProblem3D problem;
  problem.space.rhs = number(1);
  for (auto& face : problem.space.boundaries.faces) face.kind = neumann;
  problem.space.boundaries[BoxFace::right] = {robin, number(alpha), number(alpha)};
  // M_x s = 1 at the last node.
  Values ratio, s(cells + 1);  // s_j / s_(j + 1)
  double pivot = 2;
  for (int j = 0; j < cells; ++j) {
    ratio.push_back(-1 / pivot);
    pivot = (j + 1 < cells ? 4 : 2) - 1 / pivot;
  }
  s.back() = 6.0 * cells / pivot;
  for (auto j = static_cast<std::size_t>(cells); j-- > 0;) s[j] = ratio[j] * s[j + 1];
  for (const Backend backend : test::available_backends()) {
    Context ctx = context_on(backend);
    for (const BoxMethod by : {BoxMethod::direct, BoxMethod::multigrid}) {
      HeatSolver3D solver(ctx, {uniform(cells), uniform(4), graded(5, 1e-2)}, problem,
                          fixed(TimeMethod::crank_nicolson, 1e-12, by));
      const Values slope = solver.state(ctx).slope;
      double wrong = 0;
      for (std::size_t n = 0; n < slope.size(); ++n) {
        const double expected = 1 + alpha * s[n % s.size()];
        wrong = std::max(wrong, std::abs(slope[n] - expected) / (1 + std::abs(expected)));
      }
      EXPECT_LE(wrong, 1e-2) << to_string(by);
    }
  }
}

std::string refusal(const HeatProblem3D& problem, const HeatParams3D& params) {
  Context ctx(Backend::cpu, 1);
  try {
    HeatSolver3D solver(ctx, {uniform(4), uniform(4), uniform(4)}, problem, params);
    (void)solver.advance(ctx, 1);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(HeatSolver3D, SaysWhatIsWrong) {
  const auto says = [](const HeatProblem3D& problem, const HeatParams3D& params, const char* words) {
    EXPECT_NE(refusal(problem, params).find(words), std::string::npos) << refusal(problem, params);
  };
  const HeatParams3D params = fixed(TimeMethod::euler, 0.5);
  says({.capacity = -2}, params, "the capacity must be finite and positive, not -2");
  says({.initial = [](const Point3D& p) { return 1 / (p.x - 0.5); }}, params, "at t = 0");
  HeatParams3D adaptive = params;
  adaptive.tol = 0.1;
  says({}, adaptive, "a tolerance goes with tr-bdf2");
  HeatProblem3D late;
  late.space.rhs = [](const Point3D& p) { return p.t < 0.4 ? 1 : std::nan(""); };
  says(late, params, "at t = 0.5: the right-hand side is nan");
  HeatProblem3D cut;
  cut.space.boundaries[BoxFace::left].kind = periodic;
  HeatProblem3D with_body;
  with_body.space.bodies.emplace_back();
  says(with_body, params, "body 1 has no shape");
  says(cut, params, "a periodic direction needs both faces periodic");
}

}  // namespace
