// Cylindrical, polar, spherical and geographic coordinates: weights against closed forms, solutions against exact ones.

#include <cmath>
#include <numbers>

#include <gmock/gmock.h>

#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/mapped_element.hpp>
#include <stratum/assembly/mapped_operators.hpp>
#include <stratum/mesh/coordinates.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;
constexpr double pi = std::numbers::pi;

Axis even(int cells, double length, double origin = 0) {
  return Axis(std::vector<double>(static_cast<std::size_t>(cells), length / cells), length).starting_at(origin);
}

/// Of interval k.
std::array<double, 7> weights_of(Coordinates coordinates, const Axis& axis, Direction direction, int k) {
  const auto all = axis_weights(coordinates, axis, direction).numbers;
  std::array<double, 7> own{};
  for (std::size_t n = 0; n < own.size(); ++n) own[n] = all[AxisWeights::count * static_cast<std::size_t>(k) + n];
  return own;
}

TEST(Coordinates, WeightsAreIntegralsInClosedForm) {
  const auto near = [](double found, double exact) { EXPECT_NEAR(found, exact, 1e-12 * std::abs(exact)); };
  // r from 2 to 5.
  const Axis axis = Axis({1, 3, 1}).starting_at(1);
  const auto r = weights_of(Coordinates::cylindrical, axis, Direction::x, 1);
  near(r[AxisWeights::stiffness], 3.5 / 3);
  for (const std::size_t of : {std::size_t{AxisWeights::mass}, std::size_t{AxisWeights::volume}}) {
    near(r[of], 3 * (2. / 4 + 5. / 12));
    near(r[of + 1], 3 * (2. + 5.) / 12);
    near(r[of + 2], 3 * (2. / 12 + 5. / 4));
  }
  // 1 / r, by logarithms, where r is not much larger than the width, and where it is.
  for (const double begin : {3.0, 300.0}) {
    const auto inverse = weights_of(Coordinates::polar, Axis({3, 3}).starting_at(begin - 3), Direction::x, 1);
    const long double rho = begin / 3, l = std::log1p(1 / rho);
    const long double first = l, second = 1 - rho * l, third = 0.5L - rho + rho * rho * l;
    const double rounding = begin > 100 ? 1e-9 : 1e-12;  // of this form
    EXPECT_NEAR(inverse[1], static_cast<double>(first - 2 * second + third), rounding * inverse[1]);
    EXPECT_NEAR(inverse[2], static_cast<double>(second - third), rounding * inverse[2]);
    EXPECT_NEAR(inverse[3], static_cast<double>(third), rounding * inverse[3]);
  }
  const auto square = weights_of(Coordinates::spherical, axis, Direction::x, 1);
  near(square[AxisWeights::stiffness], 39. / 9);
  near(square[1] + 2 * square[2] + square[3], 3);
  near(square[4] + 2 * square[5] + square[6], 39);
  const Axis angles = even(4, pi);
  const auto sine = weights_of(Coordinates::spherical, angles, Direction::y, 0);
  near(sine[0], (1 - std::sqrt(0.5)) / std::pow(pi / 4, 2));
  const auto cosine = weights_of(Coordinates::lat_lon, even(4, pi, -pi / 2), Direction::y, 2);
  near(cosine[0], std::sqrt(0.5) / std::pow(pi / 4, 2));
  // The integral of 1 / cos is ln tan(pi/4 + y/2).
  near(cosine[1] + 2 * cosine[2] + cosine[3], std::log(std::tan(3 * pi / 8)));
  // A circle around a centre or a pole: integrals of hats that vanish there are finite.
  const auto centre = weights_of(Coordinates::polar, even(8, 4), Direction::x, 0);
  near(centre[2], 0.5);
  near(centre[3], 0.5);
  EXPECT_GT(centre[1], 2);
}

TEST(Coordinates, ElementsHaveConstantsInTheirNullSpaceAndTheVolume) {
  const MappedMesh mesh({even(3, 1.5, 1), even(4, pi)}, Coordinates::spherical);
  double volume = 0;
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 3; ++i) {
      const auto stiff = element_of(mesh, i, j, {.xx = 2, .yy = 5, .c = 0}), mass = element_of(mesh, i, j, {.c = 1});
      for (int a = 0; a < 4; ++a) {
        double row = 0, size = 0;
        for (int b = 0; b < 4; ++b) {
          const double entry = stiff.entry(a % 2, a / 2, b % 2, b / 2);
          row += entry;
          size += std::abs(entry);
          EXPECT_DOUBLE_EQ(entry, stiff.entry(b % 2, b / 2, a % 2, a / 2));
        }
        EXPECT_NEAR(row, 0, 1e-14 * size);
      }
      volume += mass.reaction() - element_of(mesh, i, j, {.c = 0}).reaction();
    }
  EXPECT_NEAR(volume, (std::pow(2.5, 3) - 1) / 3 * 2, 1e-12);  // of a shell, per radian
}

struct Case {
  const char* name;
  Coordinates coordinates;
  double width, height, x0, y0;
  BoundaryConditions boundaries;
  ScalarFunction rhs, exact;
};

std::vector<Case> cases() {
  const BoundaryCondition free{BoundaryConditionType::neumann}, around{BoundaryConditionType::periodic}, given{};
  return {
      {"cylinder",
       Coordinates::cylindrical,
       1,
       1,
       0,
       0,
       {free, given, given, given},
       [](const Point& p) { return (5 - p.x * p.x) * std::cos(p.y); },
       [](const Point& p) { return (1 - p.x * p.x) * std::cos(p.y); }},
      {"disc",
       Coordinates::polar,
       1,
       2 * pi,
       0,
       0,
       {free, given, around, around},
       [](const Point& p) { return 8 * p.x * std::cos(p.y); },
       [](const Point& p) { return (p.x - p.x * p.x * p.x) * std::cos(p.y); }},
      {"ball",
       Coordinates::spherical,
       1,
       pi,
       0,
       0,
       {free, given, free, free},
       [](const Point& p) { return -4 * std::cos(p.y); },
       [](const Point& p) { return p.x * p.x * std::cos(p.y); }},
      // The stream function of a Rossby-Haurwitz wave.
      {"globe",
       Coordinates::lat_lon,
       2 * pi,
       pi,
       0,
       -pi / 2,
       {around, around, free, free},
       [](const Point& p) {
         return -2 * std::sin(p.y) + 30 * std::sin(p.y) * std::pow(std::cos(p.y), 4) * std::cos(4 * p.x);
       },
       [](const Point& p) { return -std::sin(p.y) + std::sin(p.y) * std::pow(std::cos(p.y), 4) * std::cos(4 * p.x); }}};
}

struct Found {
  RelativeErrors errors;
  int iterations;
  BoundaryFluxes fluxes;
};

Found solve(Context& ctx, const TensorMesh<2>& rectangle, Coordinates coordinates, const PoissonProblem& problem,
            const char* smoother = "adi") {
  const MappedMesh mesh = with_boundaries(MappedMesh(rectangle, coordinates), problem.boundaries);
  const Geometry geometry(mesh);
  const auto cells = cell_coefficients(ctx, geometry, problem);
  Field<double> b(ctx, mesh.logical().unknowns()), u(ctx, mesh.logical().unknowns());
  assemble_load(ctx, geometry, problem, b, cells ? &*cells : nullptr);
  const bool singular = is_singular(ctx, geometry, problem);
  if (singular) (void)make_compatible(ctx, geometry, b);
  PoissonSolverParams params;
  params.terms = operator_terms(geometry, problem);
  if (cells) params.coefficients = std::make_shared<const CellCoefficients>(*cells);
  params.multigrid.smoother = smoother;
  params.stop.rtol = 1e-10;
  const SolveReport report = PoissonSolver(ctx, geometry, params).solve(ctx, b.cview(), u.view());
  EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
  if (singular) subtract_integral_mean(ctx, geometry, u);
  return {relative_errors(ctx, geometry, problem, u).value_or(RelativeErrors{}), report.iterations,
          boundary_fluxes(ctx, geometry, problem, u, cells ? &*cells : nullptr)};
}

TEST(Coordinates, ErrorsFallByFour) {
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    if (!test::available(backend)) continue;
    Context ctx(backend);
    for (const Case& c : cases()) {
      PoissonProblem problem;
      problem.rhs = c.rhs;
      problem.exact = c.exact;
      problem.boundaries = c.boundaries;
      double before = 0, largest_before = 0;
      for (const int cells : {32, 64, 128}) {
        const auto found =
            solve(ctx, {even(cells, c.width, c.x0), even(cells, c.height, c.y0)}, c.coordinates, problem);
        EXPECT_LE(found.iterations, 9) << c.name << ' ' << cells;
        if (before > 0) {
          EXPECT_NEAR(before / found.errors.l2, 4, 0.15) << c.name << ' ' << cells;
          EXPECT_GT(largest_before / found.errors.largest, 2.7) << c.name << ' ' << cells;  // h^2 log h on an axis
        }
        before = found.errors.l2;
        largest_before = found.errors.largest;
      }
    }
  }
}

/// Of a pipe of two layers that loses heat to the air: from 1 to 2 with K = 1, to 4 with K = 10, alpha = 3 outside.
TEST(Coordinates, FluxesOfAPipeAreThoseOfItsResistances) {
  Context ctx(Backend::cpu);
  const double resistance = std::log(2) + std::log(2) / 10 + 1 / (3 * 4.0), flux = 1 / resistance;
  for (const auto& [coordinates, height] : {std::pair{Coordinates::cylindrical, 1.0}, {Coordinates::polar, 2 * pi}}) {
    PoissonProblem problem;
    problem.rhs = [](const Point&) { return 0.0; };
    problem.diffusion.xx = Coefficient(ScalarFunction([](const Point& p) { return p.x < 2 ? 1.0 : 10.0; }));
    const BoundaryCondition end{coordinates == Coordinates::polar ? BoundaryConditionType::periodic
                                                                  : BoundaryConditionType::neumann};
    problem.boundaries = {
        {BoundaryConditionType::dirichlet, [](const Point&) { return 1.0; }},
        {BoundaryConditionType::robin, [](const Point&) { return 0.0; }, [](const Point&) { return 3.0; }},
        end,
        end};
    const auto found = solve(ctx, {even(96, 3, 1), even(16, height)}, coordinates, problem);
    EXPECT_NEAR(found.fluxes.left, -flux * height, 2e-4 * flux * height) << to_string(coordinates);
    EXPECT_NEAR(found.fluxes.right, flux * height, 2e-4 * flux * height) << to_string(coordinates);
    EXPECT_NEAR(found.fluxes.bottom, 0, 1e-9);
  }
}

TEST(Coordinates, WhatHasNoAreaTakesNoCondition) {
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 1.0; };
  const auto refused = [&](const TensorMesh<2>& rectangle, Coordinates coordinates, const char* words) {
    EXPECT_THAT(
        [&] {
          const MappedMesh mesh = with_boundaries(MappedMesh(rectangle, coordinates), problem.boundaries);
          (void)operator_terms(mesh, problem);
        },
        ThrowsMessage<UsageError>(HasSubstr(words)));
  };
  const TensorMesh<2> cylinder{even(4, 1), even(4, 1)}, globe{even(4, 1), even(4, pi, -pi / 2)};
  refused(cylinder, Coordinates::cylindrical, "the left boundary is the axis of cylindrical coordinates");
  problem.boundaries.left.kind = BoundaryConditionType::neumann;
  problem.boundaries.left.value = [](const Point&) { return 1.0; };
  refused(cylinder, Coordinates::cylindrical, "a neumann boundary without a value");
  refused(cylinder, Coordinates::polar, "not one with a flux");
  problem.boundaries.left = {};
  problem.boundary = [](const Point& p) { return p.x; };
  refused(globe, Coordinates::lat_lon, "its values differ: 0 at (0, -1.5708) and 0.25 at (0.25, -1.5708)");
  problem.boundary = {};
  EXPECT_NO_THROW((void)operator_terms(MappedMesh(globe, Coordinates::lat_lon), problem));
  refused({even(4, 1, -1), even(4, 1)}, Coordinates::cylindrical,
          "lies in [0, infinity); the mesh has it from -1 to 0");
  refused({even(4, 7), even(4, 1)}, Coordinates::lat_lon, "the longitude, goes around once, 2 pi");
  refused({even(4, 1), even(4, 4)}, Coordinates::spherical, "in radians, lies in [0, pi]; the mesh has it from 0 to 4");
  Context ctx(Backend::cpu);
  CellCoefficients k;
  k.nx = k.ny = 4;
  k.xx.assign(16, 1.0);
  k.xy.assign(16, 0.5);
  EXPECT_THAT([&] { MappedCells(ctx, MappedMesh(cylinder, Coordinates::cylindrical), &k); },
              ThrowsMessage<UsageError>(HasSubstr("kxy is for Cartesian coordinates")));
}

}  // namespace
