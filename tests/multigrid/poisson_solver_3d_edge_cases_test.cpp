#include <stratum/multigrid/poisson_solver_3d.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stratum/mesh/graded.hpp>

#include "support/backends.hpp"
#include "support/dense_box.hpp"
#include "support/random.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using Kind = BoundaryConditionType;

double f_of(const Point3D& p) { return 1 + p.x - 2 * p.y * p.z; }
double one(const Point3D& /*p*/) { return 1; }

/// All faces of one kind.
BoundaryConditions3D all_faces(Kind kind) {
  BoundaryConditions3D boundaries;
  for (auto& face : boundaries.faces) face.kind = kind;
  return boundaries;
}

TensorMesh<3> cube(int cells) { return {uniform(1, cells), uniform(1, cells), uniform(1, cells)}; }

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.size(); ++n) largest = std::max(largest, std::abs(a[n] - b[n]));
  return largest;
}

TEST(PoissonSolver3DEdges, TinyLongAndOddBoxes) {
  test::Random random(7);
  Context ctx(Backend::cpu, 2);
  const auto check = [&](std::array<int, 3> cells, const std::array<Kind, 3>& kinds) {
    SCOPED_TRACE(testing::Message() << cells[0] << " x " << cells[1] << " x " << cells[2]);
    const TensorMesh<3> mesh{Axis(random.widths(cells[0], 1)), Axis(random.widths(cells[1], 1)),
                             Axis(random.widths(cells[2], 1))};
    PoissonProblem3D problem{.rhs = f_of, .boundary = f_of, .reaction = 0.1};
    for (std::size_t f = 0; f < 6; ++f) problem.boundaries.faces[f].kind = kinds[f / 2];
    PoissonSolver3D solver(ctx, mesh, problem);
    EXPECT_EQ(solver.solve().status, Status::converged);
    EXPECT_LT(largest_difference(solver.nodal_solution(), test::DenseBox(mesh, problem).solve()), 1e-10);
  };
  constexpr Kind D = Kind::dirichlet, N = Kind::neumann, P = Kind::periodic;
  check({2, 2, 2}, {D, D, D});
  check({2, 3, 2}, {D, D, D});
  check({1, 4, 3}, {N, D, D});
  check({5, 1, 2}, {D, N, N});
  check({1, 1, 1}, {N, N, N});
  check({1, 1, 17}, {N, N, D});
  check({19, 1, 1}, {D, N, N});
  check({1, 23, 2}, {N, D, N});
  check({7, 2, 5}, {D, D, D});
  check({3, 3, 3}, {P, P, P});
  check({3, 2, 11}, {P, D, P});
  check({2, 13, 3}, {N, P, D});
  check({26, 2, 2}, {N, D, D});  // more than a panel of the products
}

TEST(PoissonSolver3DEdges, PrimeSizesAcrossRegisters) {
  Context ctx(Backend::cpu, 2);
  for (const auto& [nx, ny, nz] : {std::array{67, 5, 71}, {5, 67, 71}, {71, 67, 5}, {13, 131, 7}}) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny << " x " << nz);
    PoissonSolver3D solver(ctx, {uniform(1, nx), uniform(1, ny), uniform(1, nz)}, {}, {.stop = {.rtol = 1e-12}});
    const SolveReport report = solver.solve();
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LT(solver.relative_errors()->l2, 0.04);
  }
}

TEST(PoissonSolver3DEdges, SameBitsOnAnyNumberOfThreads) {
  const TensorMesh<3> mesh{uniform(1, 37), geometric(1, 41, 1.2, GradedSide::both), uniform(2, 43)};
  std::vector<double> first;
  for (const int threads : {1, 2, 3}) {
    Context ctx(Backend::cpu, threads);
    PoissonSolver3D solver(ctx, mesh, {.rhs = f_of, .boundary = f_of});
    (void)solver.solve();
    const auto u = solver.nodal_solution();
    if (first.empty()) first = u;
    EXPECT_EQ(u, first) << threads << " threads";
  }
}

// Another right-hand side for a solver, given as a function, at the nodes and as a load, and again the first one.
TEST(PoissonSolver3DEdges, TakesOtherRightHandSides) {
  Context ctx(Backend::cpu, 2);
  for (const auto& [nx, ny, nz] : {std::array{4, 5, 9}, {9, 4, 5}}) {
    const TensorMesh<3> mesh{uniform(1, nx), geometric(1, ny, 1.5, GradedSide::last), uniform(1, nz)};
    PoissonProblem3D problem{.rhs = one, .boundary = f_of};
    problem.boundaries[BoxFace::top] = {.kind = Kind::neumann, .value = f_of};
    PoissonSolver3D solver(ctx, mesh, problem);
    (void)solver.solve();
    const auto u_one = solver.nodal_solution();
    // Trilinear functions are their own interpolants.
    const auto trilinear = [](const Point3D& p) { return 1 + p.x - p.y * p.z + 3 * p.x * p.y * p.z; };
    solver.set_rhs(trilinear);
    (void)solver.solve();
    const auto u = solver.nodal_solution();
    EXPECT_GT(largest_difference(u, u_one), 1e-3);
    std::vector<double> nodal;
    for (const double z : mesh.z().coordinates())
      for (const double y : mesh.y().coordinates())
        for (const double x : mesh.x().coordinates()) nodal.push_back(trilinear({.x = x, .y = y, .z = z}));
    solver.set_rhs(one);
    solver.set_nodal_rhs(nodal);
    (void)solver.solve();
    EXPECT_LT(largest_difference(solver.nodal_solution(), u), 1e-13);
    // Of f = 1 the load is a product of hats.
    std::vector<double> load;
    const auto hat = [](const Axis& axis, std::size_t i) {
      return ((i > 0 ? axis.widths()[i - 1] : 0) + (i < axis.widths().size() ? axis.widths()[i] : 0)) / 2;
    };
    for (std::size_t k = 0; k <= static_cast<std::size_t>(nz); ++k)
      for (std::size_t j = 0; j <= static_cast<std::size_t>(ny); ++j)
        for (std::size_t i = 0; i <= static_cast<std::size_t>(nx); ++i)
          load.push_back(hat(mesh.x(), i) * hat(mesh.y(), j) * hat(mesh.z(), k));
    solver.set_load(load);
    (void)solver.solve();
    EXPECT_LT(largest_difference(solver.nodal_solution(), u_one), 1e-13);
    EXPECT_NEAR(solver.fluxes().load, 1, 1e-13);
    EXPECT_THROW(solver.set_load(std::vector<double>(7)), UsageError);
    EXPECT_THROW(solver.set_nodal_rhs(std::vector<double>(7)), UsageError);
    EXPECT_THROW(solver.set_rhs({}), UsageError);
  }
}

TEST(PoissonSolver3DEdges, ALargeAlphaIsADirichletFace) {
  Context ctx(Backend::cpu, 2);
  const TensorMesh<3> mesh{geometric_with_smallest(1, 16, 1e-4, GradedSide::first), uniform(1, 16), uniform(1, 16)};
  PoissonProblem3D problem{.rhs = one, .boundary = f_of};
  PoissonSolver3D dirichlet(ctx, mesh, problem);
  (void)dirichlet.solve();
  for (const double alpha : {1e8, 1e12}) {
    problem.boundaries[BoxFace::left] = {.kind = Kind::robin,
                                         .value = [alpha](const Point3D& p) { return alpha * f_of(p); },
                                         .alpha = [alpha](const Point3D&) { return alpha; }};
    PoissonSolver3D robin(ctx, mesh, problem);
    (void)robin.solve();
    EXPECT_LT(largest_difference(robin.nodal_solution(), dirichlet.nodal_solution()), 100 / alpha + 1e-9) << alpha;
  }
}

// Boxes of more than 2^18 cells take two points: what that loses is far below what the elements lose.
TEST(PoissonSolver3DEdges, TwoPointsAreEnough) {
  Context ctx(Backend::cpu, 2);
  const auto exact = [](const Point3D& p) { return std::sin(9 * p.x) * std::cos(9 * p.y) * std::sin(9 * p.z); };
  const PoissonProblem3D problem{.rhs = [exact](const Point3D& p) { return 243 * exact(p); }, .exact = exact};
  PoissonSolver3D four(ctx, cube(24), problem, {.quadrature_points = 4}),
      two(ctx, cube(24), problem, {.quadrature_points = 2});
  (void)four.solve();
  (void)two.solve();
  EXPECT_GT(largest_difference(four.nodal_solution(), two.nodal_solution()), 1e-9);
  EXPECT_LT(largest_difference(four.nodal_solution(), two.nodal_solution()), 0.01 * four.relative_errors()->largest);
}

TEST(PoissonSolver3DEdges, ZeroDataGiveZero) {
  Context ctx(Backend::cpu, 1);
  PoissonSolver3D solver(ctx, cube(4), {.rhs = [](const Point3D&) { return 0.0; }});
  const SolveReport report = solver.solve();
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 0);
  for (const double u : solver.nodal_solution()) EXPECT_EQ(u, 0);
  // A constant on all faces is the solution, to the last bit.
  PoissonSolver3D constant(ctx, cube(4), {.rhs = [](const Point3D&) { return 0.0; }, .boundary = one});
  EXPECT_EQ(constant.solve().status, Status::converged);
  for (const double u : constant.nodal_solution()) EXPECT_NEAR(u, 1, 1e-15);
}

TEST(PoissonSolver3DEdges, ReportsEdgesWithTwoValues) {
  PoissonProblem3D problem{.rhs = one};
  EXPECT_EQ(largest_edge_gap(cube(4), problem).gap, 0);
  problem.boundaries[BoxFace::right].value = [](const Point3D& p) { return p.y; };
  problem.boundaries[BoxFace::top].value = [](const Point3D& p) { return p.x + (p.z > 0.4 && p.z < 0.6 ? 0.5 : 0.0); };
  const EdgeGap gap = largest_edge_gap(cube(4), problem);
  EXPECT_EQ(gap.gap, 1);  // right and front or back: y there, 0 here
  problem.boundaries[BoxFace::front].kind = problem.boundaries[BoxFace::back].kind = Kind::neumann;
  problem.boundaries[BoxFace::left].kind = Kind::neumann;
  const EdgeGap other = largest_edge_gap(cube(4), problem);
  EXPECT_EQ(other.gap, 0.5);
  EXPECT_EQ(other.x, 1);
  EXPECT_EQ(other.y, 1);
  EXPECT_EQ(other.z, 0.5);
  EXPECT_EQ(other.kept, BoxFace::right);
  EXPECT_EQ(other.other, BoxFace::top);
}

TEST(PoissonSolver3DEdges, RangeOfTheSolution) {
  Context ctx(Backend::cpu, 1);
  for (const auto& [nx, ny, nz] : {std::array{4, 5, 9}, {9, 5, 4}}) {
    const TensorMesh<3> mesh{uniform(2, nx).starting_at(1), uniform(1, ny), uniform(1, nz)};
    const auto linear = [](const Point3D& p) { return 10 * p.x + p.y - 0.1 * p.z; };
    PoissonSolver3D solver(ctx, mesh, {.rhs = [](const Point3D&) { return 0.0; }, .exact = linear});
    (void)solver.solve();
    const SolutionRange3D range = solver.range();
    EXPECT_NEAR(range.smallest.value, 9.9, 1e-12);
    EXPECT_EQ(range.smallest.x, 1);
    EXPECT_EQ(range.smallest.z, 1);
    EXPECT_NEAR(range.largest.value, 31, 1e-12);
    EXPECT_EQ(range.largest.x, 3);
    EXPECT_EQ(range.largest.y, 1);
    EXPECT_EQ(range.largest.value, range.largest_on_boundary);
    EXPECT_NEAR(std::abs(range.step_to.value - range.step_from.value), 20.0 / nx, 1e-12);
    EXPECT_NEAR(range.step_to.x - range.step_from.x, 2.0 / nx, 1e-12);
    EXPECT_LT(solver.relative_errors()->largest, 1e-14);
  }
}

TEST(PoissonSolver3DEdges, MemoryIsWhatTheDryRunSays) {
  for (const auto& [nx, ny, nz] : {std::array{40, 30, 50}, {50, 40, 30}}) {
    Context ctx(Backend::cpu, 2);
    const TensorMesh<3> mesh{uniform(1, nx), uniform(1, ny), uniform(1, nz)};
    const std::int64_t needed = required_memory(ctx, mesh, {});
    EXPECT_EQ(ctx.memory()->peak_bytes, 0);
    PoissonSolver3D solver(ctx, mesh, {});
    (void)solver.solve();
    EXPECT_LE(ctx.memory()->peak_bytes, needed);
    EXPECT_GT(static_cast<double>(ctx.memory()->peak_bytes), 0.6 * static_cast<double>(needed));
    const std::int64_t allocations = ctx.memory()->allocations;
    (void)solver.solve();
    EXPECT_EQ(ctx.memory()->allocations, allocations);
  }
  // What does not fit is refused before anything is allocated: 8 TiB a vector.
  Context ctx(Backend::cpu, 1);
  try {
    const PoissonSolver3D solver(ctx, {uniform(1, 8000), uniform(1, 8000), uniform(1, 16000)}, {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ResourceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("7999 x 7999 x 15999 unknowns needs"));
  }
}

TEST(PoissonSolver3DEdges, RefusesBadInput) {
  Context ctx(Backend::cpu, 1);
  const auto refused = [&](const PoissonProblem3D& problem, const char* why, const TensorMesh<3>& mesh = cube(4),
                           const PoissonSolver3DParams& params = {}) {
    try {
      const PoissonSolver3D solver(ctx, mesh, problem, params);
      ADD_FAILURE() << "not refused: " << why;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto with = [](BoxFace face, const BoundaryCondition3D& condition) {
    PoissonProblem3D problem{.rhs = f_of};
    problem.boundaries[face] = condition;
    return problem;
  };
  refused({.rhs = [](const Point3D& p) { return p.x > 0.9 ? nan : 1; }}, "the right-hand side is nan at (0.");
  refused({.rhs = one, .boundary = [](const Point3D& p) { return 1 / p.x; }}, "the boundary value is inf at (0, ");
  refused({.rhs = one, .reaction = -1}, "must be finite and not negative, not -1");
  refused(with(BoxFace::top, {.kind = Kind::robin}), "the top face is a robin face and has no alpha");
  refused(with(BoxFace::top, {.kind = Kind::robin, .alpha = [](const Point3D&) { return -2.0; }}),
          "alpha of the top face is -2");
  refused(with(BoxFace::front, {.kind = Kind::robin, .alpha = [](const Point3D& p) { return 1 + p.x; }}),
          "alpha of the front face varies");
  refused(with(BoxFace::back, {.kind = Kind::neumann, .alpha = one}), "the back face is neumann and has an alpha");
  refused(with(BoxFace::left, {.kind = Kind::neumann, .value = [](const Point3D&) { return nan; }}),
          "the value of a face is nan");
  refused(with(BoxFace::left, {.kind = Kind::periodic}), "the left face is periodic and the right face is dirichlet");
  PoissonProblem3D periodic = with(BoxFace::front, {.kind = Kind::periodic});
  periodic.boundaries[BoxFace::back].kind = Kind::periodic;
  refused(periodic, "at least 3 cells; z has 2", {uniform(1, 4), uniform(1, 4), uniform(1, 2)});
  refused({.rhs = one}, "direction y has 1 cell between two Dirichlet faces",
          {uniform(1, 4), uniform(1, 1), uniform(1, 4)});
  refused({.rhs = one, .diffusion = {.xx = [](const Point3D& p) { return p.x - 0.5; }}}, "kxx is -0.375 at (0.125, ");
  refused({.rhs = one, .diffusion = {.xx = [](const Point3D& p) { return 1 + p.x * p.y; }}},
          "kxx is not a product of functions of x, y and z", cube(4), {.method = BoxMethod::direct});
  refused({.rhs = one, .diffusion = {.yy = one}}, "K is given without kxx");
  refused({.rhs = one, .reaction = 1, .diffusion = {.xx = [](const Point3D& p) { return 1 + p.x; }}},
          "a reaction c = 1 beside a kxx that depends on more than x", cube(4), {.method = BoxMethod::direct});
  refused({.rhs = one, .boundaries = all_faces(Kind::neumann)}, "incompatible data");
  refused({.rhs = one, .boundaries = all_faces(Kind::periodic)}, "is 1, 100 % of the sum of magnitudes");
  refused({.rhs = one}, "1 to 4 points a direction, not 5", cube(4), {.quadrature_points = 5});
  refused({.rhs = one}, "has 9000 unknowns", {uniform(1, 9001), uniform(1, 9001), uniform(1, 2)},
          {.method = BoxMethod::direct});
}

TEST(PoissonSolver3DEdges, ServesOneThreadAtATime) {
  Context ctx(Backend::cpu, 1);
  PoissonSolver3D solver(ctx, cube(4), {});
  bool refused = false;
  (void)solver.solve([&](int /*iteration*/, double /*residual*/) {
    try {
      (void)solver.solve();
    } catch (const UsageError&) {
      refused = true;
    }
  });
  EXPECT_TRUE(refused);
}

}  // namespace
