#include "settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "support/body_options.hpp"
#include "support/patch_options.hpp"
#include "support/problem_options.hpp"
#include "support/solver_options.hpp"

namespace stratum::apps::heat {

namespace {

const std::vector<std::string> coefficient_options{"kappa", "reaction", "capacity"};

/// Nothing of a problem is given.
bool is_default_problem(const CommandLine& options) {
  for (const char* name : {"initial", "rhs", "capacity", "exact", "boundary", "left", "right", "bottom", "top", "kappa",
                           "reaction", "body"})
    if (options.has(name)) return false;
  return true;
}

/// K, c, the capacity or alpha have the time in them.
bool coefficients_have_time(const CommandLine& options, const ProblemReader& read) {
  std::vector<std::string> texts;
  for (const auto& option : coefficient_options)
    for (const auto& part : expressions_of(options.text(option))) texts.push_back(part);
  for (const char* side : boundary_names) {
    const std::string text = options.text(side);
    constexpr std::string_view robin = "robin:";
    if (text.starts_with(robin)) texts.push_back(expressions_of(text.substr(robin.size()))[0]);
  }
  for (const std::string& text : options.texts("body"))
    if (const auto body = split_body(text); body && body->kind == BodyKind::coefficient)
      for (const auto& part : expressions_of(body->data)) texts.push_back(part);
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) { return read.depends_on_time(text); });
}

/// Values of bodies have no time in them. Shapes may not have it.
bool bodies_are_steady(const CommandLine& options, const ProblemReader& read) {
  bool steady = true;
  for (const std::string& text : options.texts("body")) {
    const auto body = split_body(text);
    expects(!is_expression_shape(body->shape) || !read.depends_on_time(body->shape), "--body: the shape '",
            shown(body->shape), "' depends on the time; bodies stay where they are. Leave t out of it");
    steady = steady && (body->kind != BodyKind::value || !read.depends_on_time(body->data));
  }
  return steady;
}

HeatProblem parse_problem(const CommandLine& options, const ProblemReader& read, double start) {
  const auto function = [&](const std::string& name) -> ScalarFunction {
    return parsed("--" + name, [&] { return read.function(options.text(name)); });
  };
  HeatProblem problem;
  if (is_default_problem(options)) {
    const auto [a, b] = read.mesh.family.lengths;
    const double kx = std::numbers::pi / a, ky = std::numbers::pi / b;
    problem.space.exact = [=](const Point& p) {
      return std::sin(kx * p.to_left) * std::sin(ky * p.to_bottom) * std::exp(-(kx * kx + ky * ky) * (p.t - start));
    };
    return problem;
  }
  problem.space.boundaries = parse_boundaries(options, read);
  parse_coefficients(options, read, problem.space);
  problem.space.bodies = parse_bodies(options, read);
  problem.steady_bodies = bodies_are_steady(options, read);
  if (options.has("capacity"))
    problem.capacity = parsed("--capacity", [&] {
      auto capacity = read.coefficient(options.text("capacity"));
      expects(capacity.size() == 1, "'", options.text("capacity"), "' has ", capacity.size(),
              " numbers a cell, one is needed here");
      return std::move(capacity[0]);
    });
  if (options.has("initial")) problem.initial = function("initial");
  if (options.has("exact")) problem.space.exact = function("exact");
  if (options.has("boundary")) problem.space.boundary = function("boundary");
  if (options.has("rhs")) {
    problem.space.rhs = function("rhs");
    problem.steady_rhs = !read.depends_on_time(options.text("rhs"));
  }
  problem.steady_coefficients = !coefficients_have_time(options, read);
  return problem;
}

/// What does not go with finite volumes.
void check_volumes(const CommandLine& options, const Settings& settings) {
  expects(!settings.deformation.is_given(), "--discretisation fv: it is for rectangles; leave out ",
          settings.deformation.option(), ", or take elements");
  expects(!options.has("mass") || options.text("mass") == "lumped",
          "--mass: finite volumes have a diagonal; leave it out");
}

PoissonSolverParams parse_solver(const CommandLine& options) {
  PoissonSolverParams params;
  parse_smoothing(options, params.multigrid);
  if (options.has("solver"))
    params.method = choice<Method>("--solver", options.text("solver"), std::array{Method::multigrid, Method::cg});
  if (options.has("cycle"))
    params.multigrid.cycle = choice<Cycle>("--cycle", options.text("cycle"), std::array{Cycle::v, Cycle::w, Cycle::f});
  params.precision =
      choice<Precision>("--precision", options.text("precision"), std::array{Precision::mixed, Precision::full});
  params.inner = parse_inner(options);
  expects(!options.has("inner") || params.precision == Precision::mixed,
          "--inner: only mixed precision has inner cycles, not ", options.text("precision"));
  params.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000);
  return params;
}

}  // namespace

Settings parse_settings(const CommandLine& options) {
  Settings settings;
  expect_one_boundary(options);
  settings.mesh = parse_mesh<2>(options);
  settings.deformation = parse_deformation(options, settings.mesh);
  settings.level = parse_level(options, settings.mesh);
  parse_times(options, settings);
  settings.params.solver = parse_solver(options);
  expects(!settings.deformation.is_given() || !is_default_problem(options), settings.deformation.option(),
          ": give --initial, --rhs or boundaries as well; what decays without them is of a rectangle");
  settings.problem = parse_problem(options, {settings.mesh, settings.level, settings.deformation.variables(true)},
                                   settings.params.start);
  settings.volumes =
      choice<bool>("--discretisation", options.text("discretisation"), {{"elements", false}, {"fv", true}});
  if (settings.volumes) check_volumes(options, settings);
  settings.problem.lumped = choice<bool>("--mass", options.text("mass"), {{"consistent", false}, {"lumped", true}});
  free_sides_without_area(options, settings.mesh, settings.deformation, settings.problem.space.boundaries);
  if (!settings.volumes)
    (void)with_boundaries(settings.mesh.at(std::min(settings.level, 2)), settings.problem.space.boundaries);
  settings.probe = parse_probe(options, settings.mesh, settings.deformation);
  return settings;
}

}  // namespace stratum::apps::heat
