// Bodies inside the domain: against closed forms, and a dense matrix that is assembled and eliminated here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <stratum/assembly/body_fluxes.hpp>
#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/rooms.hpp>
#include <stratum/assembly/solution_range.hpp>
#include <stratum/multigrid/poisson_solver.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

#include "reference/elimination.hpp"
#include "support/backends.hpp"
#include "support/bodies.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;

using Type = BoundaryConditionType;
using test::all_neumann, test::contact, test::held, test::material, test::neumann, test::number, test::solid,
    test::unit_square;

struct Solution {
  std::vector<double> nodal;
  std::vector<BodyFlux> bodies;
  BoundaryFluxes sides;
  double load = 0;
  SolveReport report;
};

/// As programs solve it, in singular rooms too.
Solution solve(Context& ctx, const TensorMesh<2>& given, PoissonProblem problem, bool project = false,
               double rtol = 1e-10, const std::function<void(PoissonSolverParams&)>& change = {}) {
  const TensorMesh<2> mesh = with_boundaries(given, problem.boundaries);
  if (!problem.rhs) problem.rhs = number(0);
  PoissonSolverParams params;
  params.terms = operator_terms(mesh, problem);
  const auto cells = std::make_shared<const CellCoefficients>(*cell_coefficients(ctx, mesh, problem));
  params.coefficients = cells;
  params.stop.rtol = rtol;
  params.stop.max_iterations = 60;
  if (change) change(params);
  PoissonSolver solver(ctx, mesh, params);
  const GridLayout<2> unknowns = solver.fine_operator().shape();
  Field<double> b(ctx, unknowns), x(ctx, unknowns);
  assemble_load(ctx, mesh, problem, b, cells.get());
  const Rooms rooms = rooms_of(mesh, params.terms, *cells);
  const auto found = make_compatible(ctx, mesh, rooms, b);
  expect_compatible(rooms, found, project);
  Solution solution;
  solution.report = solver.solve(ctx, b.cview(), x.view());
  subtract_integral_means(ctx, mesh, rooms, x);
  solution.nodal = nodal_solution(ctx, mesh, problem, x);
  solution.bodies = body_fluxes(ctx, mesh, problem, x, cells.get());
  solution.sides = boundary_fluxes(ctx, mesh, problem, x, cells.get());
  solution.load = load_integral(ctx, mesh, problem, b, cells.get());
  for (const Compatibility& of_room : found) solution.load -= of_room.sum;
  return solution;
}

/// The matrix of all nodes by 2 x 2 Gauss points, live cells alone, and its elimination.
class Dense {
 public:
  Dense(const TensorMesh<2>& mesh, const std::function<bool(double, double)>& is_live,
        const std::function<std::array<double, 4>(double, double)>& kxx_kxy_kyy_c, const ScalarFunction& f)
      : x_(mesh.x().coordinates()), y_(mesh.y().coordinates()), n_(x_.size() * y_.size()), a_(n_ * n_, 0.0),
        b_(n_, 0.0) {
    const double offset = 0.5 / std::sqrt(3.0);
    for (std::size_t q = 0; q + 1 < y_.size(); ++q)
      for (std::size_t p = 0; p + 1 < x_.size(); ++p) {
        const double hx = x_[p + 1] - x_[p], hy = y_[q + 1] - y_[q], cx = x_[p] + hx / 2, cy = y_[q] + hy / 2;
        if (!is_live(cx, cy)) continue;
        const auto [kxx, kxy, kyy, c] = kxx_kxy_kyy_c(cx, cy);
        const std::array<std::size_t, 4> at{node(p, q), node(p + 1, q), node(p, q + 1), node(p + 1, q + 1)};
        for (const double t : {0.5 - offset, 0.5 + offset})
          for (const double s : {0.5 - offset, 0.5 + offset}) {
            const std::array<double, 4> phi{(1 - t) * (1 - s), t * (1 - s), (1 - t) * s, t * s},
                dx{-(1 - s) / hx, (1 - s) / hx, -s / hx, s / hx}, dy{-(1 - t) / hy, -t / hy, (1 - t) / hy, t / hy};
            Point point;
            point.x = x_[p] + t * hx;
            point.y = y_[q] + s * hy;
            for (std::size_t i = 0; i < 4; ++i) {
              b_[at[i]] += hx * hy / 4 * f(point) * phi[i];
              for (std::size_t j = 0; j < 4; ++j)
                a_[at[i] * n_ + at[j]] +=
                    hx * hy / 4 *
                    (dx[i] * (kxx * dx[j] + kxy * dy[j]) + dy[i] * (kxy * dx[j] + kyy * dy[j]) + c * phi[i] * phi[j]);
            }
          }
      }
  }
  [[nodiscard]] std::size_t node(std::size_t i, std::size_t j) const { return j * x_.size() + i; }
  /// u at the nodes, where `value` gives one; NaN where a node has no equation.
  [[nodiscard]] std::vector<double> solve(const std::function<std::optional<double>(std::size_t, std::size_t)>& value) {
    for (std::size_t j = 0; j < y_.size(); ++j)
      for (std::size_t i = 0; i < x_.size(); ++i)
        if (const auto given = value(i, j)) {
          const std::size_t k = node(i, j);
          std::fill_n(a_.begin() + static_cast<std::ptrdiff_t>(k * n_), n_, 0.0);
          a_[k * n_ + k] = 1;
          b_[k] = *given;
        }
    std::vector<std::size_t> without;
    for (std::size_t k = 0; k < n_; ++k)
      if (a_[k * n_ + k] == 0) {
        without.push_back(k);
        a_[k * n_ + k] = 1;
      }
    std::vector<double> u = reference::eliminated(a_, b_);
    for (const std::size_t k : without) u[k] = std::nan("");
    return u;
  }

 private:
  std::vector<double> x_, y_;
  std::size_t n_;
  std::vector<double> a_, b_;
};

/// u linear between two plates: exact at the nodes, and so are the fluxes.
TEST(Bodies, PlaneCapacitor) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    PoissonProblem problem;
    problem.boundaries = all_neumann();
    problem.bodies = {held(rectangle_shape(-1, -1, 0.25, 2), 0), held(rectangle_shape(0.75, -1, 2, 2), 1)};
    const TensorMesh<2> mesh = unit_square(16);
    const Solution found = solve(ctx, mesh, problem);
    EXPECT_EQ(found.report.status, Status::converged) << found.report.reason;
    for (std::size_t k = 0; k < found.nodal.size(); ++k) {
      const double x = static_cast<double>(k % 17) / 16;
      EXPECT_NEAR(found.nodal[k], std::clamp(2 * (x - 0.25), 0.0, 1.0), 1e-9);
    }
    ASSERT_EQ(found.bodies.size(), 2U);
    EXPECT_NEAR(found.bodies[0].flux, -2, 1e-8);
    EXPECT_NEAR(found.bodies[1].flux, 2, 1e-8);
    EXPECT_NEAR(found.bodies[1].mean, 1, 1e-12);
    EXPECT_EQ(found.bodies[1].cells, 64);
    EXPECT_NEAR(found.bodies[1].area, 0.25, 1e-12);
  }
}

/// Two cylinders: the flux is 2 pi / log of the ratio of their radii, with an error of the staircase's size.
TEST(Bodies, CoaxialCapacitor) {
  Context ctx(Backend::cpu, 2);
  PoissonProblem problem;
  const auto beyond = [](const Point& p) { return std::hypot(p.x - 0.5, p.y - 0.5) - 0.45; };
  problem.bodies = {held(disc_shape(0.5, 0.5, 0.15), 1), held(beyond, 0)};
  const double exact = 2 * std::numbers::pi / std::log(0.45 / 0.15);
  double before = 1;
  for (const int n : {64, 128}) {
    const Solution found = solve(ctx, unit_square(n), problem);
    EXPECT_LE(found.report.iterations, 10);
    EXPECT_NEAR(found.bodies[0].flux, -found.bodies[1].flux, 1e-7);
    const double error = std::abs(found.bodies[0].flux / exact - 1);
    EXPECT_LT(error, std::min(2.0 / n, before));
    before = error;
  }
}

/// All kinds of bodies, boundaries, a tensor K and c on a stretched mesh, by elimination.
TEST(Bodies, DenseElimination) {
  std::vector<double> wx{0.1, 0.05, 0.02, 0.03, 0.08, 0.12, 0.1, 0.06, 0.04, 0.1, 0.12, 0.1, 0.08},
      wy{0.2, 0.1, 0.05, 0.02, 0.03, 0.1, 0.15, 0.2, 0.1, 0.05};
  const TensorMesh<2> mesh(Axis(wx), Axis(wy), "stretched");
  PoissonProblem problem;
  problem.rhs = [](const Point& p) { return 1 + p.x - 2 * p.y; };
  problem.boundaries = {{Type::dirichlet, [](const Point& p) { return p.y; }}, neumann(), neumann(), neumann()};
  problem.diffusion = {ScalarFunction([](const Point& p) { return 1 + p.x; }), 0.3, ScalarFunction(number(2))};
  problem.reaction = 0.5;
  problem.reaction_of_cells = ScalarFunction([](const Point& p) { return p.x > 0.5 ? 1.0 : 0.0; });
  Body conductor{rectangle_shape(0.25, 0.3, 0.5, 0.6), BodyKind::value, [](const Point& p) { return 1 + p.x * p.y; }};
  Body other = material(rectangle_shape(0.6, 0.6, 0.9, 0.95), 7);
  problem.bodies = {conductor, solid(rectangle_shape(0.55, 0.1, 0.85, 0.45)), other};
  const auto in = [](double x, double y, double x0, double y0, double x1, double y1) {
    return x > x0 && x < x1 && y > y0 && y < y1;
  };
  const auto is_held = [&](double x, double y) { return in(x, y, 0.25, 0.3, 0.5, 0.6); };
  const auto is_live = [&](double x, double y) { return !is_held(x, y) && !in(x, y, 0.55, 0.1, 0.85, 0.45); };
  // c is a mean where it jumps within a cell, and so is f: no edge of a cell is at 0.5 here but by rounding.
  Dense dense(
      mesh, is_live,
      [&](double x, double y) {
        const bool inside = in(x, y, 0.6, 0.6, 0.9, 0.95);
        return std::array{inside ? 7 : 1 + x, inside ? 0 : 0.3, inside ? 7 : 2.0, 0.5 + (x > 0.5 ? 1.0 : 0.0)};
      },
      problem.rhs);
  const auto x = mesh.x().coordinates(), y = mesh.y().coordinates();
  const auto expected = dense.solve([&](std::size_t i, std::size_t j) -> std::optional<double> {
    if (i == 0) return y[j];
    for (const std::size_t p : {i - 1, i})
      for (const std::size_t q : {j - 1, j}) {
        if (p >= wx.size() || q >= wy.size()) continue;
        if (is_held((x[p] + x[p + 1]) / 2, (y[q] + y[q + 1]) / 2)) return 1 + x[i] * y[j];
      }
    return std::nullopt;
  });
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    const Solution found = solve(ctx, mesh, problem);
    EXPECT_EQ(found.report.status, Status::converged) << found.report.reason;
    int without = 0;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (std::isnan(expected[k])) {
        EXPECT_TRUE(std::isnan(found.nodal[k])) << k;
        ++without;
      } else {
        EXPECT_NEAR(found.nodal[k], expected[k], 1e-8) << k;
      }
    }
    EXPECT_GT(without, 0);
    EXPECT_NEAR(found.sides.sum(), found.load + found.bodies[0].flux, 1e-8);
    EXPECT_NEAR(found.bodies[1].flux, 0, 1e-8);
  }
}

/// Solids and conductors take as many cycles as the empty domain, from level to level.
TEST(Bodies, IterationsDoNotGrow) {
  Context ctx(Backend::cpu, 2);
  const auto nozzle = [](const Point& p) {
    return std::min({std::abs(p.y - 0.5) - 0.15 - 0.6 * (p.x - 0.5) * (p.x - 0.5), p.x - 0.1, 0.9 - p.x});
  };
  for (const bool is_held : {false, true})
    for (const int n : {32, 128}) {
      const double h = 1.0 / n;
      std::mt19937 random(7);
      std::vector<char> grains(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
      for (char& grain : grains) grain = random() % 10 < 3 ? 1 : 0;
      const auto porous = [n, grains](const Point& p) {
        const auto i = static_cast<std::size_t>(p.x * n), j = static_cast<std::size_t>(p.y * n);
        return grains[j * static_cast<std::size_t>(n) + i] != 0 ? 1.0 : -1.0;
      };
      const std::vector<std::pair<ScalarFunction, int>> shapes{{nozzle, 10},
                                                               {disc_shape(0.5, 0.5, 0.2), 10},
                                                               {rectangle_shape(0.3, 0.2, 0.7, 0.6), 10},
                                                               {rectangle_shape(0.5 + h, 0.2, 0.5 + 2 * h, 0.83), 10},
                                                               {porous, 40}};
      for (const auto& [shape, most] : shapes) {
        PoissonProblem problem;
        problem.rhs = number(1);
        problem.bodies = {is_held ? held(shape, 1) : solid(shape)};
        const Solution found = solve(ctx, unit_square(n), problem, true, 1e-8);
        EXPECT_EQ(found.report.status, Status::converged) << found.report.reason;
        EXPECT_LE(found.report.iterations, is_held ? 6 : most) << n << (is_held ? " held" : " solid");
        EXPECT_NEAR(found.sides.sum(), found.load + (is_held ? found.bodies[0].flux : 0), 1e-6 * std::abs(found.load));
      }
    }
}

/// Into two rooms by a wall, with u held in neither, in one, in both.
TEST(Bodies, Rooms) {
  Context ctx(Backend::cpu, 2);
  const TensorMesh<2> mesh = unit_square(20);
  PoissonProblem problem;
  problem.boundaries = all_neumann();
  problem.bodies = {solid(rectangle_shape(0.4, -1, 0.6, 2))};
  problem.rhs = [](const Point& p) { return p.x < 0.5 ? std::cos(std::numbers::pi * p.y) : 3 * (p.y - 0.5); };
  // Nothing depends on x: u'' = -f in y, with the mean zero in each room.
  const Solution found = solve(ctx, mesh, problem);
  EXPECT_EQ(found.report.status, Status::converged) << found.report.reason;
  EXPECT_LE(found.report.iterations, 10);
  for (int j = 0; j <= 20; ++j) {
    const double y = j / 20.0, left = found.nodal[static_cast<std::size_t>(21 * j)],
                 right = found.nodal[static_cast<std::size_t>(21 * j + 20)];
    EXPECT_NEAR(left, std::cos(std::numbers::pi * y) / (std::numbers::pi * std::numbers::pi), 3e-4);
    const double t = y - 0.5;
    EXPECT_NEAR(right, -t * t * t / 2 + 3 * t / 8, 3e-4);
  }
  EXPECT_TRUE(std::isnan(found.nodal[10]));
  // No solution in the room at the right.
  problem.rhs = [](const Point& p) { return p.x < 0.5 ? std::cos(std::numbers::pi * p.y) : 1.0; };
  try {
    (void)solve(ctx, mesh, problem);
    FAIL() << "a room without a solution was solved";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("nothing holds u in the room of 160 cells around (0.625, 0.025)"));
  }
  const Solution projected = solve(ctx, mesh, problem, true);
  EXPECT_EQ(projected.report.status, Status::converged) << projected.report.reason;
  EXPECT_NEAR(projected.nodal[20], 0, 1e-9);
  // There u is held, and f = 1 may be what it likes.
  problem.bodies.push_back(held(rectangle_shape(0.9, -1, 2, 2), 5));
  const Solution half = solve(ctx, mesh, problem);
  EXPECT_EQ(half.report.status, Status::converged) << half.report.reason;
  EXPECT_NEAR(half.nodal[0], 1 / (std::numbers::pi * std::numbers::pi), 3e-4);
  EXPECT_NEAR(half.nodal[12], 5 + 0.3 * 0.3 / 2, 1e-8);
  EXPECT_NEAR(half.bodies[1].flux, -0.3, 1e-8);
  // A thousand rooms: cells of a checkerboard, each of four.
  PoissonProblem many;
  many.boundaries = all_neumann();
  many.bodies = {solid([](const Point& p) {
    const int i = static_cast<int>(p.x * 96) % 3, j = static_cast<int>(p.y * 96) % 3;
    return i == 2 || j == 2 ? 1.0 : -1.0;
  })};
  many.rhs = [](const Point& p) { return std::sin(40 * p.x) + p.y; };
  const Solution rooms = solve(ctx, unit_square(96), many, true, 1e-8);
  EXPECT_EQ(rooms.report.status, Status::converged) << rooms.report.reason;
  EXPECT_LE(rooms.report.iterations, 10);
}

/// The same numbers on one, two and three subdomains.
TEST(Bodies, Subdomains) {
  PoissonProblem problem;
  problem.boundaries = {neumann(), {Type::robin, number(1), number(2)}, {Type::periodic}, {Type::periodic}};
  problem.rhs = [](const Point& p) { return p.x * p.y; };
  problem.bodies = {held(disc_shape(0.3, 0.3, 0.15), 1), solid(disc_shape(0.7, 0.6, 0.2)),
                    solid(rectangle_shape(0.1, 0.95, 0.2, 2)), solid(rectangle_shape(0.6, -1, 0.8, 0.1)),
                    material(rectangle_shape(0.1, 0.6, 0.3, 0.8), 20)};
  PoissonProblem closed;
  closed.boundaries = all_neumann();
  closed.bodies = {solid(rectangle_shape(0.45, -1, 0.55, 2))};
  closed.rhs = [](const Point& p) { return p.x - (p.x < 0.5 ? 0.225 : 0.775); };
  for (const PoissonProblem& given : {problem, closed}) {
    const auto numbers = [&](Context& ctx) {
      const Solution found = solve(ctx, unit_square(40), given, true, 1e-9);
      test::Values values{static_cast<double>(found.report.iterations), found.load, found.sides.left,
                          found.sides.right};
      for (const BodyFlux& body : found.bodies) values.insert(values.end(), {body.flux, body.mean, body.area});
      return values;
    };
    test::expect_the_same_on_subdomains(1e-7, numbers);
  }
}

/// Bodies that move along a periodic direction, over its ends too: the solution moves with them.
TEST(Bodies, PeriodicDirectionsHaveNoEnds) {
  Context ctx(Backend::cpu, 1);
  constexpr int n = 12;
  for (const bool along_x : {true, false})
    for (const bool leaves_room : {true, false}) {
      PoissonProblem problem;
      const BoundaryCondition held_at_one{Type::dirichlet, number(1)}, periodic{Type::periodic};
      problem.boundaries = along_x ? BoundaryConditions{periodic, periodic, held_at_one, neumann()}
                                   : BoundaryConditions{held_at_one, neumann(), periodic, periodic};
      problem.rhs = number(1);
      const auto solution = [&](int cells) {
        const double shift = static_cast<double>(cells) / n;
        const auto moved = [=](double first, double last) -> ScalarFunction {
          return [=](const Point& p) {
            const double along = along_x ? p.x : p.y, across = along_x ? p.y : p.x,
                         s = along - shift + (along < shift ? 1 : 0);
            return std::min({s - first, last - s, across - 0.25, 0.5 - across});
          };
        };
        problem.bodies = {solid(moved(0.25, 0.5))};
        if (!leaves_room) problem.bodies.push_back(held(moved(0.75, 0.9), 2));
        return solve(ctx, unit_square(n), problem);
      };
      const Solution base = solution(0);
      for (int cells = 1; cells < n; ++cells) {
        SCOPED_TRACE(testing::Message() << "by " << cells << " cells along " << (along_x ? "x" : "y"));
        const Solution moved = solution(cells);
        ASSERT_EQ(moved.report.status, Status::converged) << moved.report.reason;
        for (int along = 0; along <= n; ++along)
          for (int across = 0; across <= n; ++across) {
            const auto value = [&](const Solution& of, int s) {
              return of.nodal[static_cast<std::size_t>(along_x ? across * (n + 1) + s : s * (n + 1) + across)];
            };
            const double u = value(moved, (along + cells) % n), expected = value(base, along);
            ASSERT_EQ(std::isnan(u), std::isnan(expected)) << along << ' ' << across;
            if (!std::isnan(u)) {
              ASSERT_NEAR(u, expected, 1e-8) << along << ' ' << across;
            }
          }
        for (std::size_t b = 0; b < base.bodies.size(); ++b) {
          EXPECT_NEAR(moved.bodies[b].flux, base.bodies[b].flux, 1e-7);
          EXPECT_NEAR(moved.bodies[b].mean, base.bodies[b].mean, 1e-8);
        }
        const auto& [left, right, bottom, top] =
            std::array{moved.sides.left, moved.sides.right, moved.sides.bottom, moved.sides.top};
        EXPECT_NEAR(along_x ? left : bottom, along_x ? -right : -top, 1e-7);
        EXPECT_NEAR(along_x ? bottom : left, along_x ? base.sides.bottom : base.sides.left, 1e-7);
      }
    }
}

/// A wall between u = 0 and u = 1 with resistances on both of its surfaces conducts as their series; a cylinder likewise.
TEST(Bodies, ContactResistance) {
  Context ctx(Backend::cpu, 2);
  PoissonProblem wall;
  wall.boundaries = {{Type::dirichlet, number(1)}, {Type::dirichlet}, neumann(), neumann()};
  wall.bodies = {material(rectangle_shape(0.25, -1, 0.5, 2), 4), contact(rectangle_shape(0.25, -1, 0.5, 2), 0.3)};
  std::vector<double> widths;
  for (int k = 0; k < 16; ++k) widths.push_back(k % 2 == 0 ? 0.05 : 0.075);
  const TensorMesh<2> mesh(Axis(widths), Axis(std::vector<double>(8, 0.125)), "wall");
  const Solution planar = solve(ctx, mesh, wall);
  EXPECT_NEAR(planar.sides.right, 1 / (0.75 + 0.25 / 4 + 0.6), 1e-8);
  // Held at 1 in the middle, at 0 outside, the resistance on the middle one of three cylinders.
  constexpr double inner = 0.1, middle = 0.28, outer = 0.45;
  const auto beyond = [](const Point& p) { return std::hypot(p.x - 0.5, p.y - 0.5) - outer; };
  for (const double r : {0.01, 0.3, 10.0}) {
    PoissonProblem disc;
    disc.bodies = {held(disc_shape(0.5, 0.5, inner), 1), held(beyond, 0)};
    // A ring, as a solid body of its own.
    Body ring = contact(
        [](const Point& p) {
          const double d = std::hypot(p.x - 0.5, p.y - 0.5);
          return std::min(middle - d, d - inner - 0.01);
        },
        r);
    disc.bodies.push_back(ring);
    const double resistance =
        (std::log(outer / inner) + r * (1 / middle + 1 / (inner + 0.01))) / (2 * std::numbers::pi);
    const Solution found = solve(ctx, unit_square(128), disc);
    EXPECT_NEAR(found.bodies[0].flux * resistance, 1, 0.04) << r;
  }
}

/// What cannot be, by its words.
TEST(Bodies, BadInput) {
  Context ctx(Backend::cpu, 1);
  const auto refused = [&](std::vector<Body> bodies, const char* words) {
    PoissonProblem problem;
    problem.bodies = std::move(bodies);
    for (std::size_t k = 0; k < problem.bodies.size(); ++k) problem.bodies[k].name = "no " + std::to_string(k + 1);
    try {
      (void)solve(ctx, unit_square(8), problem);
      ADD_FAILURE() << "not refused: " << words;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(words));
    }
  };
  const ScalarFunction all = number(1), left = rectangle_shape(-1, -1, 0.5, 2),
                       middle = rectangle_shape(0.25, 0, 0.75, 1);
  refused({held(all, 1)}, "no unknown is left");
  refused({solid(all)}, "no unknown is left");
  refused({held(disc_shape(3, 3, 0.5), 1)}, "body 1, no 1 holds no cell of the mesh of 8 x 8: it lies outside");
  refused({held(disc_shape(0.5, 0.5, 0.05), 1)}, "thinner than a cell, take a finer mesh");
  refused({held(left, 1), held(middle, 2)}, "meet with different values");
  refused({held(left, 1), solid(middle)}, "overlap in the cell around");
  refused({material(left, 1), material(middle, 2)}, "a cell has one K");
  refused({material(left, -1)}, "K must be positive definite");
  refused({held(left, std::nan(""))}, "value of a body is nan");
  Body negative{left, BodyKind::contact};
  negative.resistance = -1;
  refused({negative}, "contact resistance of -1");
  EXPECT_THROW((void)disc_shape(0, 0, 0), UsageError);
  EXPECT_THROW((void)rectangle_shape(1, 0, 0, 1), UsageError);
  EXPECT_THROW((void)polygon_shape({{0, 0}, {1, 1}}), UsageError);
  // Equal values may overlap, and a polygon is what a rectangle is.
  PoissonProblem twice;
  twice.bodies = {held(left, 1), held(rectangle_shape(0.25, -1, 0.75, 2), 1)};
  const Solution found = solve(ctx, unit_square(8), twice);
  EXPECT_NEAR(found.sides.sum(), found.bodies[0].flux + found.bodies[1].flux, 1e-7);
  twice.bodies = {held(polygon_shape({{-1, -1}, {0.75, -1}, {0.75, 2}, {-1, 2}}), 1)};
  EXPECT_NEAR(solve(ctx, unit_square(8), twice).sides.sum(), found.sides.sum(), 1e-7);
}

/// A user's matrix of links between nodes, in which a solid is identity rows: a wall without flux, or u = 0 that has been
/// eliminated.
TEST(Bodies, IdentityRowsOfMatrices) {
  Context ctx(Backend::cpu, 2);
  // Of a nozzle, and of a slit one node wide.
  for (const auto& [has_value, is_slit] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}})
    for (const int n : {64, 128}) {
      const auto in_solid = [n, slit = is_slit](int i, int j) {
        if (slit) return i == n / 2 + 1 && j > n / 5 && j < 4 * n / 5;
        const double x = (i + 0.5) / n, y = (j + 0.5) / n;
        return std::abs(y - 0.5) > 0.15 + 0.6 * (x - 0.5) * (x - 0.5) && x > 0.1 && x < 0.9;
      };
      SparseRows a;
      std::vector<double> b;
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
          const int k = j * n + i;
          double diagonal = 0;
          std::vector<std::pair<int, double>> row;
          for (const auto& [p, q] : {std::pair{i, j - 1}, {i - 1, j}, {i + 1, j}, {i, j + 1}}) {
            const bool outside = q < 0 || q >= n, side = p < 0 || p >= n;
            if (outside) continue;  // a wall
            const bool fixed = !side && in_solid(p, q);
            if (fixed && !has_value) continue;
            diagonal += side ? 2 : 1;  // u = 0 at the left and the right
            if (!side && !fixed) row.emplace_back(q * n + p, -1.0);
          }
          if (in_solid(i, j)) {
            row.clear();
            diagonal = 1;
          }
          row.emplace_back(k, diagonal);
          std::sort(row.begin(), row.end());
          for (const auto& [column, value] : row) {
            a.column.push_back(column);
            a.value.push_back(value);
          }
          a.start.push_back(static_cast<int>(a.column.size()));
          b.push_back(in_solid(i, j) ? 7.0 : 1.0);
        }
      a.rows = a.columns = n * n;
      MatrixSolver solver(ctx, a, n, n);
      std::vector<double> x(b.size(), 0.0);
      const SolveReport report = solver.solve(ctx, b, x);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      EXPECT_LE(report.iterations, 10) << n << (has_value ? " held" : " solid");
      EXPECT_NEAR(x[static_cast<std::size_t>(n / 2 * n + (is_slit ? n / 2 + 1 : 0))],
                  is_slit ? 7 : x[static_cast<std::size_t>(n / 2 * n)], 1e-9);
      double largest = 0;
      for (std::size_t k = 0; k < b.size(); ++k) {
        double residual = b[k];
        for (int e = a.start[k]; e < a.start[k + 1]; ++e)
          residual -=
              a.value[static_cast<std::size_t>(e)] * x[static_cast<std::size_t>(a.column[static_cast<std::size_t>(e)])];
        largest = std::max(largest, std::abs(residual));
      }
      EXPECT_LT(largest, 1e-5);
    }
}

}  // namespace
