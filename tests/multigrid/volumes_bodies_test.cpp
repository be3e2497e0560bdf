// Bodies in finite volumes: against a dense system that has the flux through every face as an unknown of its own, against
// closed forms, and how few iterations they take.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>

#include <gmock/gmock.h>

#include <stratum/assembly/finite_volumes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "reference/elimination.hpp"
#include "support/bodies.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;
using Kind = BoundaryConditionType;
using test::all_neumann, test::contact, test::held, test::material, test::neumann, test::number, test::solid,
    test::unit_square;

struct Solution {
  Values cells;
  SolveReport report;
  BoundaryFluxes fluxes;
  std::vector<BodyFlux> bodies;
  std::optional<RelativeErrors> errors;
  double load = 0;
};

Solution solve(Context& ctx, const TensorMesh<2>& mesh, PoissonProblem problem, bool project = false,
               double rtol = 1e-10) {
  if (!problem.rhs) problem.rhs = number(0);
  PoissonSolverParams params;
  params.stop.rtol = rtol;
  params.stop.max_iterations = 60;
  const FiniteVolumes volumes(ctx, mesh, problem);
  PoissonSolver solver(ctx, volumes, params);
  const GridLayout<2> shape = PoissonSolver::cells_of_subdomain(ctx, volumes, params);
  Field<double> b(ctx, shape), u(ctx, shape);
  Solution found;
  found.load = volumes.assemble_load(ctx, problem, b);
  if (volumes.is_singular()) found.load -= volumes.make_compatible(ctx, b, project).sum;
  found.report = solver.solve(ctx, b.cview(), u.view());
  if (volumes.is_singular()) volumes.subtract_mean(ctx, u);
  found.cells = volumes.cell_values(ctx, problem, u);
  found.fluxes = volumes.fluxes(problem, found.cells);
  found.bodies = volumes.body_fluxes(problem, found.cells);
  found.errors = volumes.errors(ctx, problem, found.cells);
  return found;
}

/// What a cell is, with the resistance on the surface of its body.
struct Cell {
  enum { live, empty, given } kind = live;
  double k = 1, value = 0;
  int body = 0;  // those of one number have no resistance between them
  double resistance = 0;
};

/// Unknowns: u of all cells, then the flux through every face. u = `sides` at the left and the right, nothing flows through
/// bottom and top, or these are periodic. f = 1.
Values with_fluxes(const Values& hx, const Values& hy, const std::function<Cell(double, double)>& cell_at,
                   std::array<double, 2> sides, bool periodic) {
  const std::size_t nx = hx.size(), ny = hy.size(), cells = nx * ny, faces = (nx + 1) * ny + nx * (ny + 1);
  std::vector<Cell> cell;
  double y = 0;
  for (std::size_t j = 0; j < ny; y += hy[j++]) {
    double x = 0;
    for (std::size_t i = 0; i < nx; x += hx[i++]) cell.push_back(cell_at(x + hx[i] / 2, y + hy[j] / 2));
  }
  const std::size_t n = cells + faces;
  std::vector<Values> a(n, Values(n, 0.0));
  Values b(n, 0.0);
  std::size_t face = cells;
  for (std::size_t c = 0; c < cells; ++c) {
    if (cell[c].kind == Cell::live)
      b[c] = hx[c % nx] * hy[c / nx];
    else
      a[c][c] = 1;  // no matter what
  }
  // The flux from p to q, both with the resistance of half a cell.
  const auto flux = [&](std::optional<std::size_t> p, std::optional<std::size_t> q, double hp, double hq, double area,
                        double outside) {
    const std::size_t own = face++;
    const auto state = [&](std::optional<std::size_t> c) { return c ? cell[*c].kind : Cell::given; };
    a[own][own] = 1;
    if (state(p) == Cell::empty || state(q) == Cell::empty || (state(p) == Cell::given && state(q) == Cell::given))
      return;
    double resistance = 0;
    for (const auto& [c, h, sign] : {std::tuple{p, hp, 1.0}, {q, hq, -1.0}}) {
      if (state(c) == Cell::given) {
        b[own] += sign * (c ? cell[*c].value : outside);
        continue;
      }
      a[own][*c] = -sign;
      a[*c][own] = sign;
      resistance += h / 2 / cell[*c].k / area;
    }
    if (p && q && cell[*p].body != cell[*q].body) resistance += (cell[*p].resistance + cell[*q].resistance) / area;
    a[own][own] = resistance;
  };
  for (std::size_t j = 0; j < ny; ++j)
    for (std::size_t i = 0; i <= nx; ++i)
      flux(i > 0 ? std::optional(j * nx + i - 1) : std::nullopt, i < nx ? std::optional(j * nx + i) : std::nullopt,
           i > 0 ? hx[i - 1] : 0, i < nx ? hx[i] : 0, hy[j], i == 0 ? sides[0] : sides[1]);
  for (std::size_t i = 0; i < nx; ++i)
    for (std::size_t j = 0; j <= ny; ++j) {
      const bool outermost = j == 0 || j == ny;
      if (outermost && (!periodic || j == ny)) {
        const std::size_t own = face++;
        a[own][own] = 1;
        continue;
      }
      const std::size_t below = j > 0 ? j - 1 : ny - 1;
      flux(below * nx + i, j * nx + i, hy[below], hy[j], hx[i], 0);
    }
  Values all = reference::eliminated(std::move(a), std::move(b));
  all.resize(cells);
  for (std::size_t c = 0; c < cells; ++c)
    if (cell[c].kind != Cell::live) all[c] = cell[c].kind == Cell::given ? cell[c].value : std::nan("");
  return all;
}

TEST(VolumesBodies, SolveWhatASystemWithFluxesSolves) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> width(0.05, 0.2);
  for (const Backend backend : test::available_backends())
    for (const bool periodic : {false, true})
      for (int trial = 0; trial < 4; ++trial) {
        Context ctx = test::context_on(backend);
        Values hx(9), hy(8);
        for (double& h : hx) h = width(random);
        for (double& h : hy) h = width(random);
        const Axis x(hx), y(hy);
        const double right = x.length(), top = y.length();
        // A strip with a resistance and another K across the domain, a held plate and a solid on it. Beta is 1 along the mesh.
        const auto rows = y.coordinates();
        const ScalarFunction strip = rectangle_shape(-1, rows[2], 2 * right, rows[4]),
                             plate = rectangle_shape(0.6 * right, rows[4], 0.8 * right, top + 1),
                             stone = rectangle_shape(-1, rows[4], 0.3 * right, rows[6]);
        const double r = trial == 0 ? 0 : std::pow(10.0, trial - 2);
        const auto cell_at = [&](double px, double py) -> Cell {
          Point p;
          p.x = px;
          p.y = py;
          if (strip(p) > 0) return {Cell::live, 5, 0, 1, r};
          if (plate(p) > 0) return {Cell::given, 1, -2, 2, 0};
          if (stone(p) > 0) return {Cell::empty, 1, 0, 3, 0};
          return {};
        };
        PoissonProblem problem;
        problem.rhs = number(1);
        problem.boundaries = {{Kind::dirichlet, number(1)}, {Kind::dirichlet, number(3)}, neumann(), neumann()};
        if (periodic) problem.boundaries.bottom = problem.boundaries.top = {Kind::periodic};
        problem.bodies = {held(plate, -2), solid(stone), material(strip, 5), contact(strip, r)};
        const Values expected = with_fluxes(hx, hy, cell_at, {1, 3}, periodic);
        const Solution found = solve(ctx, TensorMesh<2>(x, y, "random"), problem, false, 1e-12);
        SCOPED_TRACE(testing::Message() << "trial " << trial << (periodic ? ", periodic" : ""));
        ASSERT_EQ(found.cells.size(), expected.size());
        for (std::size_t c = 0; c < expected.size(); ++c) {
          if (std::isnan(expected[c]))
            EXPECT_TRUE(std::isnan(found.cells[c])) << c;
          else
            EXPECT_NEAR(found.cells[c], expected[c], 1e-8) << c;
        }
        EXPECT_NEAR(found.fluxes.sum(), found.load + found.bodies[0].flux, 1e-8);
        EXPECT_EQ(found.bodies[1].flux, 0);
      }
}

/// Order 2 around held bodies and beside solids whose faces are those of the mesh.
TEST(VolumesBodies, AreOfSecondOrder) {
  Context ctx(Backend::cpu, 2);
  const auto exact = [](const Point& p) { return std::cos(std::numbers::pi * p.y) * (1 + p.x * p.x * p.x / 3); };
  const auto rhs = [=](const Point& p) {
    return std::numbers::pi * std::numbers::pi * exact(p) - 2 * p.x * std::cos(std::numbers::pi * p.y);
  };
  double before = 0;
  for (const int n : {16, 32, 64}) {
    PoissonProblem problem;
    problem.rhs = rhs;
    problem.exact = exact;
    // du/dn = 0 at x = 0 and at y = 0 and 1.
    problem.boundaries = {neumann(), {}, neumann(), neumann()};
    Body plate = held(rectangle_shape(0.25, 0.25, 0.5, 0.625), 0);
    plate.value = exact;
    problem.bodies = {plate, material(rectangle_shape(0.75, 0, 1, 0.5), 1)};
    const Solution found = solve(ctx, unit_square(n), problem);
    EXPECT_EQ(found.report.status, Status::converged) << found.report.reason;
    if (before > 0) {
      EXPECT_NEAR(before / found.errors->l2, 4, 0.3) << n;
    }
    before = found.errors->l2;
  }
  EXPECT_LT(before, 1e-3);
}

TEST(VolumesBodies, RoomsAndTheirConstants) {
  Context ctx(Backend::cpu, 2);
  const TensorMesh<2> mesh = unit_square(40);
  PoissonProblem problem;
  problem.boundaries = all_neumann();
  problem.bodies = {solid(rectangle_shape(0.45, -1, 0.55, 2))};
  problem.rhs = [](const Point& p) { return p.x < 0.5 ? std::cos(std::numbers::pi * p.y) : 3 * (p.y - 0.5); };
  const Solution found = solve(ctx, mesh, problem);
  EXPECT_EQ(found.report.status, Status::converged) << found.report.reason;
  for (int j = 0; j < 40; ++j) {
    const double y = (j + 0.5) / 40, t = y - 0.5;
    EXPECT_NEAR(found.cells[static_cast<std::size_t>(40 * j)],
                std::cos(std::numbers::pi * y) / (std::numbers::pi * std::numbers::pi), 3e-4);
    EXPECT_NEAR(found.cells[static_cast<std::size_t>(40 * j + 39)], -t * t * t / 2 + 3 * t / 8, 3e-4);
  }
  EXPECT_TRUE(std::isnan(found.cells[20]));
  problem.rhs = [](const Point& p) { return p.x < 0.5 ? std::cos(std::numbers::pi * p.y) : 1.0; };
  try {
    (void)solve(ctx, mesh, problem);
    FAIL() << "a room without a solution was solved";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nothing holds u in the room of 720 cells around (0.5625, 0.0125)"));
  }
  const Solution projected = solve(ctx, mesh, problem, true);
  EXPECT_EQ(projected.report.status, Status::converged) << projected.report.reason;
  EXPECT_NEAR(projected.cells[39], 0, 1e-9);
  problem.bodies.push_back(held(rectangle_shape(0.9, -1, 2, 2), 5));
  const Solution half = solve(ctx, mesh, problem);
  EXPECT_EQ(half.report.status, Status::converged) << half.report.reason;
  EXPECT_NEAR(half.bodies[1].flux, -0.35, 1e-8);
}

TEST(VolumesBodies, FluxesAndContactOfCylinders) {
  Context ctx(Backend::cpu, 2);
  constexpr double inner = 0.1, middle = 0.28, outer = 0.45;
  const auto beyond = [](const Point& p) { return std::hypot(p.x - 0.5, p.y - 0.5) - outer; };
  for (const double r : {0.0, 0.3, 10.0}) {
    PoissonProblem disc;
    disc.bodies = {held(disc_shape(0.5, 0.5, inner), 1), held(beyond, 0)};
    disc.bodies.push_back(contact(disc_shape(0.5, 0.5, middle), r));
    // The held body has no resistance of its own.
    disc.bodies.back().inside = [](const Point& p) {
      const double d = std::hypot(p.x - 0.5, p.y - 0.5);
      return std::min(middle - d, d - inner - 0.01);
    };
    const double resistance =
        (std::log(outer / inner) + r * (1 / middle + 1 / (inner + 0.01))) / (2 * std::numbers::pi);
    const Solution found = solve(ctx, unit_square(128), disc);
    EXPECT_NEAR(found.bodies[0].flux * resistance, 1, 0.02) << r;
    EXPECT_NEAR(found.bodies[0].flux, -found.bodies[1].flux, 1e-7);
  }
}

struct Shape {
  const char* name;
  Body body;
  int most;
};

std::vector<Shape> shapes(int n) {
  const auto nozzle = [](const Point& p) {
    const double y = std::abs(p.y - 0.5), throat = 0.15 + 0.6 * (p.x - 0.5) * (p.x - 0.5);
    return p.x > 0.1 && p.x < 0.9 ? y - throat : -1.0;
  };
  const double h = 1.0 / n;
  const ScalarFunction slit = rectangle_shape(0.5, 0.2, 0.5 + h, 0.8);
  const auto grains = [n](const Point& p) {
    std::mt19937 random(static_cast<unsigned>(static_cast<int>(p.x * n) + n * static_cast<int>(p.y * n)));
    random.discard(8);
    return random() % 10 < 3 ? 1.0 : -1.0;
  };
  return {{"nozzle", solid(nozzle), 10},
          {"held nozzle", held(nozzle, 1), 10},
          {"disc", solid(disc_shape(0.4, 0.5, 0.2)), 10},
          {"held box", held(rectangle_shape(0.3, 0.2, 0.6, 0.7), 1), 10},
          {"slit", solid(slit), 10},
          {"held slit", held(slit, 1), 10},
          {"porous", solid(grains), 40}};
}

TEST(VolumesBodies, TakeFewIterations) {
  for (const Backend backend : test::available_backends())
    for (const int n : {64, 128, 256}) {
      if (n > 128 && backend == Backend::cpu) continue;
      Context ctx = test::context_on(backend);
      for (const Shape& shape : shapes(n)) {
        PoissonProblem problem;
        problem.boundaries = {{}, {}, neumann(), neumann()};
        problem.rhs = number(1);
        problem.bodies = {shape.body};
        const Solution found = solve(ctx, unit_square(n), problem, true, 1e-8);
        EXPECT_EQ(found.report.status, Status::converged) << shape.name << found.report.reason;
        EXPECT_LE(found.report.iterations, shape.most) << shape.name << ", " << n;
      }
    }
}

/// The same numbers on one, two and three subdomains.
TEST(VolumesBodies, Subdomains) {
  PoissonProblem problem;
  problem.boundaries = {neumann(), {Kind::robin, number(1), number(2)}, {Kind::periodic}, {Kind::periodic}};
  problem.rhs = [](const Point& p) { return p.x * p.y; };
  problem.bodies = {held(disc_shape(0.3, 0.3, 0.15), 1), solid(disc_shape(0.7, 0.6, 0.2)),
                    solid(rectangle_shape(0.1, 0.95, 0.2, 2)), material(rectangle_shape(0.1, 0.6, 0.3, 0.8), 20),
                    contact(rectangle_shape(0.1, 0.6, 0.3, 0.8), 0.1)};
  PoissonProblem closed;
  closed.boundaries = all_neumann();
  closed.bodies = {solid(rectangle_shape(0.45, -1, 0.55, 2))};
  closed.rhs = [](const Point& p) { return p.x - (p.x < 0.5 ? 0.225 : 0.775); };
  for (const PoissonProblem& given : {problem, closed}) {
    const auto numbers = [&](Context& ctx) {
      const Solution found = solve(ctx, unit_square(40), given, true, 1e-9);
      Values values{static_cast<double>(found.report.iterations), found.load, found.fluxes.left, found.fluxes.right};
      for (const BodyFlux& body : found.bodies) values.insert(values.end(), {body.flux, body.mean, body.area});
      return values;
    };
    test::expect_the_same_on_subdomains(1e-7, numbers);
  }
}

TEST(VolumesBodies, BadInput) {
  Context ctx(Backend::cpu, 1);
  const auto refused = [&](std::vector<Body> bodies, const char* words) {
    PoissonProblem problem;
    problem.bodies = std::move(bodies);
    try {
      (void)solve(ctx, unit_square(8), problem);
      ADD_FAILURE() << "not refused: " << words;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  };
  const ScalarFunction left = rectangle_shape(-1, -1, 0.5, 2), middle = rectangle_shape(0.25, 0, 0.75, 1),
                       right = rectangle_shape(0.5, -1, 0.75, 2);
  refused({held(number(1), 1)}, "no unknown is left");
  refused({solid(number(1))}, "no unknown is left");
  refused({held(disc_shape(3, 3, 0.5), 1)}, "body 1 holds no cell of the mesh of 8 x 8: it lies outside");
  refused({held(left, 1), held(middle, 2)}, "meet with different values");
  refused({held(left, 1), held(right, 2)}, "meet with different values");
  refused({held(left, 1), solid(middle)}, "overlap in the cell around");
  refused({material(left, 1), material(middle, 2)}, "a cell has one K");
  refused({material(left, -1)}, "K must be positive definite");
  refused({held(left, std::nan(""))}, "value of a body is nan");
  Body rotated = material(left, 1);
  rotated.kxy = number(0.5);
  refused({rotated}, "kxy");
  // Of one cell that is left there is an answer: half cells on all sides.
  PoissonProblem well;
  well.bodies = {
      held([](const Point& p) { return std::max(std::abs(p.x - 0.5625), std::abs(p.y - 0.5625)) - 0.0625; }, 2)};
  well.rhs = number(64);
  const Solution found = solve(ctx, unit_square(8), well);
  EXPECT_NEAR(found.cells[4 * 8 + 4], 2 + 1.0 / 8, 1e-9);
}

TEST(VolumesBodies, RefuseProblemsWithOtherBodies) {
  Context ctx(Backend::cpu, 1);
  PoissonProblem given;
  given.rhs = number(0);
  given.bodies = {held(disc_shape(0.3, 0.3, 0.2), 1), held(disc_shape(0.7, 0.7, 0.2), 2)};
  const FiniteVolumes volumes(ctx, unit_square(8), given);
  Field<double> u(ctx, volumes.centres().unknowns());
  const Values cells(64, 0.0);
  PoissonProblem fewer = given, other = given, none = given;
  fewer.bodies.pop_back();
  other.bodies[1] = solid(disc_shape(0.7, 0.7, 0.2));
  none.bodies.clear();
  for (const auto& [problem, words] :
       {std::pair{&fewer, "the problem has 1 bodies; these finite volumes were made with 2"},
        {&other, "body 2 is of the kind no-flux; these finite volumes were made with value"},
        {&none, "the problem has 0 bodies"}}) {
    const auto says = testing::ThrowsMessage<UsageError>(HasSubstr(words));
    EXPECT_THAT([&] { (void)volumes.cell_values(ctx, *problem, u); }, says);
    EXPECT_THAT([&] { (void)volumes.largest_body_gap(*problem); }, says);
    EXPECT_THAT([&] { (void)volumes.body_fluxes(*problem, cells); }, says);
    EXPECT_THAT([&] { (void)volumes.assemble_load(ctx, *problem, u); }, says);
  }
  const FiniteVolumes without(ctx, unit_square(8), none);
  EXPECT_THAT(
      [&] { (void)without.cell_values(ctx, given, u); },
      testing::ThrowsMessage<UsageError>(HasSubstr("the problem has 2 bodies; these finite volumes were made with 0")));
}

/// What f is inside of held bodies and solids does not count, finite or not.
TEST(VolumesBodies, WhatDataAreInsideDoesNotCount) {
  Context ctx(Backend::cpu, 1);
  PoissonProblem problem;
  problem.bodies = {held(disc_shape(0.3, 0.5, 0.15), 1.0), solid(disc_shape(0.7, 0.5, 0.15))};
  problem.rhs = number(2);
  const Solution plain = solve(ctx, unit_square(16), problem);
  problem.rhs = [](const Point& p) {
    return std::hypot(p.x - 0.3, p.y - 0.5) < 0.05 || std::hypot(p.x - 0.7, p.y - 0.5) < 0.05 ? NAN : 2.0;
  };
  const Solution same = solve(ctx, unit_square(16), problem);
  for (std::size_t c = 0; c < plain.cells.size(); ++c)
    if (!std::isnan(plain.cells[c])) {
      EXPECT_EQ(same.cells[c], plain.cells[c]);
    }
  EXPECT_EQ(same.load, plain.load);
}

}  // namespace
