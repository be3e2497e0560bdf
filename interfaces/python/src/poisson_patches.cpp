// Poisson problems on patches for Python, and steps in time: a mesh from a file, loads, conditions by name and K by cells in, u
// on the nodes of all patches out (multigrid/patches/patch_poisson_solver.hpp, patch_heat_solver.hpp). Functions f and K of Python have become arrays; those on
// boundaries are called point by point.

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>

#include <stratum/assembly/expressions/patch_expressions.hpp>
#include <stratum/assembly/patches/patch_bodies.hpp>
#include <stratum/mesh/patches/patch_files.hpp>
#include <stratum/multigrid/patches/patch_heat_solver.hpp>

#include "arrays.hpp"
#include "steps.hpp"

namespace stratum::python {

namespace {

using Conditions = std::map<std::string, nb::tuple>;  // (kind, g, alpha) by name

struct GivenPatches {
  PatchMesh mesh;
  std::vector<double> diffusion;  // of patches; empty: one
};

std::size_t index(int number) { return static_cast<std::size_t>(number); }

/// A number, or a function g(x, y) of Python.
ScalarFunction boundary_function(nb::handle value) {
  if (double number = 0; nb::try_cast(value, number)) return [number](const Point& /*p*/) { return number; };
  // Solvers copy it without the GIL, so copies share one reference of Python's; the problem, which has the GIL, outlives them.
  return [function = std::make_shared<const nb::object>(nb::borrow(value))](const Point& p) {
    return with_gil([&] { return nb::cast<double>(nb::float_((*function)(p.x, p.y))); });
  };
}

nb::tuple nodes_of(const GivenPatches& given, int patch) {
  expects(patch >= 0 && patch < given.mesh.patches(), "there is no patch ", patch, "; the mesh has ",
          given.mesh.patches());
  const PatchNodes nodes = given.mesh.nodes_of(patch);
  std::vector<double> x, y;
  for (const Position& at : nodes.at) {
    x.push_back(at.x);
    y.push_back(at.y);
  }
  const std::size_t rows = index(nodes.ny) + 1, columns = index(nodes.nx) + 1;
  return nb::make_tuple(numpy_array(std::move(x), {rows, columns}), numpy_array(std::move(y), {rows, columns}));
}

/// Numbers of every patch, in its own list.
std::vector<std::vector<double>> lists_of(const nb::list& arrays) {
  std::vector<std::vector<double>> lists;
  for (const nb::handle array : arrays) lists.push_back(vector_of(nb::cast<HostArray<double, 2>>(array)));
  return lists;
}

nb::list arrays_of(const PatchMesh& mesh, std::vector<std::vector<double>> nodal) {
  nb::list arrays;
  for (int p = 0; p < mesh.patches(); ++p)
    arrays.append(numpy_array(std::move(nodal[index(p)]), {index(mesh.cells_y(p)) + 1, index(mesh.cells_x(p)) + 1}));
  return arrays;
}

/// Without loads.
PatchProblem problem_of(const GivenPatches& given, const Conditions& conditions, const nb::object& kappa,
                        double reaction) {
  PatchProblem problem;
  problem.diffusion_of_patches = given.diffusion;
  if (!kappa.is_none()) problem.diffusion_of_cells = lists_of(nb::cast<nb::list>(kappa));
  problem.reaction = reaction;
  for (const auto& [name, given_condition] : conditions) {
    BoundaryCondition& condition = problem.boundaries[name];
    condition.kind = by_name("a boundary", nb::cast<std::string>(given_condition[0]), values_of<BoundaryConditionType>);
    condition.value = boundary_function(given_condition[1]);
    if (condition.kind == BoundaryConditionType::robin) condition.alpha = boundary_function(given_condition[2]);
  }
  return problem;
}

/// The mesh without the cells of held bodies and solids, K of its cells (NaN where no body has its own; None where none has) and
/// the cells of each body, by (inside, kind, value): functions of a point, or numbers.
nb::tuple around_bodies(const GivenPatches& given, const nb::list& bodies) {
  PatchProblem problem;
  problem.diffusion_of_patches = given.diffusion;
  std::vector<Body> all;
  for (const nb::handle one : bodies) {
    const auto [inside, kind, value] = nb::cast<std::tuple<nb::object, std::string, nb::object>>(one);
    Body& body = all.emplace_back();
    body.inside = boundary_function(inside);
    body.kind = by_name("the kind of a body", kind, values_of<BodyKind>);
    if (body.kind == BodyKind::no_flux) continue;
    expects(body.kind != BodyKind::contact, "body ", all.size(),
            ": contact resistances are for rectangles here; on patches poisson2d and heat2d have them, by --body");
    body.value = [g = boundary_function(value), which = all.size()](const Point& p) {
      const double number = g(p);
      expects(std::isfinite(number), "body ", which, " has ", number, " at (", p.x, ", ", p.y, "); it must be finite");
      return number;
    };
  }
  std::optional<PatchesWithBodies> cut, with_k;
  {
    const WithoutGil computing;
    std::vector<Body> solids;
    for (const Body& body : all)
      if (body.kind != BodyKind::coefficient) solids.push_back(body);
    if (solids.size() != all.size()) {
      PatchProblem marked = problem;
      marked.diffusion = [](const Point& /*p*/) { return std::numeric_limits<double>::quiet_NaN(); };
      with_k = with_bodies(given.mesh, marked, all);
    }
    cut = with_bodies(given.mesh, problem, with_k ? solids : all);
    if (!with_k) with_k = cut;
  }
  nb::list k;
  const auto& of_cells = with_k->problem.diffusion_of_cells;
  for (int p = 0; p < cut->mesh.patches() && !of_cells.empty(); ++p)
    k.append(numpy_array(of_cells[index(p)], {index(cut->mesh.cells_y(p)), index(cut->mesh.cells_x(p))}));
  nb::list cells;
  for (const std::int64_t count : with_k->cells) cells.append(count);
  return nb::make_tuple(GivenPatches{std::move(with_k->mesh), std::move(cut->problem.diffusion_of_patches)}, k, cells);
}

nb::tuple solve(const GivenPatches& given, const nb::list& loads, const Conditions& conditions, const nb::object& kappa,
                double reaction, const StoppingParams& stop, bool project, bool single_precision,
                const std::string& device, int threads, const nb::object& callback, bool with_fluxes) {
  const Clock clock;
  PatchProblem problem = problem_of(given, conditions, kappa, reaction);
  problem.load = lists_of(loads);
  PatchSolverParams params;
  params.stop = stop;
  params.project = project;
  params.float_cycles = single_precision;
  const Monitor monitor = monitor_of(callback);
  SolveReport report;
  std::vector<std::vector<double>> solution;
  std::map<std::string, double> fluxes;
  double setup_seconds = 0;
  {
    const WithoutGil computing;
    Context ctx = make_context(device, threads);
    PatchPoissonSolver solver(ctx, given.mesh, problem, params);
    setup_seconds = clock.seconds();
    report = solver.solve(monitor);
    for (int p = 0; p < given.mesh.patches(); ++p) solution.push_back(solver.nodal_solution(p));
    if (with_fluxes) {
      const std::vector<double> outward = solver.fluxes().boundaries;
      for (std::size_t k = 0; k < outward.size(); ++k) fluxes[given.mesh.boundary_names()[k]] = outward[k];
    }
  }
  nb::dict said = dictionary_of(report, setup_seconds);
  if (with_fluxes) said["fluxes"] = nb::cast(fluxes);
  return nb::make_tuple(arrays_of(given.mesh, std::move(solution)), said);
}

/// ((t, u) of each frame, the status and its reason, cycles). `load(t)`: lists of loads; None: `loads` stay.
nb::tuple step(const GivenPatches& given, const nb::list& initial, const nb::list& loads, const nb::object& load,
               const Conditions& conditions, const nb::object& kappa, double reaction, const GivenSteps& asked,
               const std::string& device, int threads, const nb::object& callback) {
  PatchHeatProblem problem;
  problem.space = problem_of(given, conditions, kappa, reaction);
  problem.initial_values = lists_of(initial);
  problem.space.load = lists_of(loads);
  problem.steady = load.is_none();
  if (!problem.steady)
    problem.load = [&load](double t) { return with_gil([&] { return lists_of(nb::cast<nb::list>(load(t))); }); };
  auto params = heat_params_of<PatchHeatParams>(asked);
  params.solver.float_cycles = asked.single_precision;
  const auto values = [&](Context& ctx, const PatchHeatSolver& solver) {
    std::vector<std::vector<double>> u;
    for (int p = 0; p < given.mesh.patches(); ++p) u.push_back(solver.nodal_solution(ctx, p));
    return u;
  };
  const auto arrays = [&](std::vector<std::vector<double>> u) { return arrays_of(given.mesh, std::move(u)); };
  nb::list frames;
  HeatReport report;
  {
    const WithoutGil computing;
    Context ctx = make_context(device, threads);
    PatchHeatSolver solver(ctx, given.mesh, problem, params);
    report = take_steps(ctx, solver, asked, callback, frames, values, arrays);
  }
  return nb::make_tuple(frames, std::string(to_string(report.status)), report.reason, report.cycles);
}

}  // namespace

void add_poisson_patches(nb::module_& m) {
  nb::class_<GivenPatches>(m, "PatchMesh",
                           "A mesh of patches, logically rectangular grids that meet in whole edges; made by "
                           "stratum.patches.")
      .def_prop_ro(
          "patches", [](const GivenPatches& self) { return self.mesh.patches(); }, "How many there are.")
      .def_prop_ro(
          "cells", [](const GivenPatches& self) { return self.mesh.cells(); }, "Of all patches.")
      .def_prop_ro(
          "boundaries", [](const GivenPatches& self) { return self.mesh.boundary_names(); }, "Their names.")
      .def_prop_ro(
          "kappa", [](const GivenPatches& self) { return self.diffusion; },
          "K of each patch in the file; empty where it is 1.")
      .def(
          "halved",
          [](const GivenPatches& self, int times) {
            expects(times >= 0 && times <= 20, "cells are halved 0 to 20 times, not ", times);
            return GivenPatches{self.mesh.halved(times), self.diffusion};
          },
          nb::arg("times") = 1, "The mesh whose cells are halved so often.")
      .def("nodes", &nodes_of, nb::arg("patch"), "x and y of the nodes of a patch, arrays of shape (ny + 1, nx + 1).")
      .def("__repr__", [](const GivenPatches& self) {
        return message("<stratum.PatchMesh of ", self.mesh.patches(), " patches, ", self.mesh.cells(), " cells>");
      });
  m.def(
      "read_patches",
      [](const std::string& path, std::optional<int> cells) {
        if (cells) expects(*cells >= 1 && *cells <= max_cells, "an edge has 1 to ", max_cells, " cells, not ", *cells);
        PatchFile file = read_patches(path, patch_expressions(), cells);
        return GivenPatches{std::move(file.mesh), std::move(file.diffusion)};
      },
      nb::arg("path"), nb::arg("cells").none());
  m.def(
      "solve_patches",
      [](const GivenPatches& mesh, const nb::list& loads, const Conditions& boundaries, const nb::object& kappa,
         double reaction, double rtol, double atol, int maxiter, bool project, bool single_precision,
         const std::string& device, int threads, const nb::object& callback, bool fluxes) {
        return solve(mesh, loads, boundaries, kappa, reaction, stopping_of(rtol, atol, maxiter, std::nullopt), project,
                     single_precision, device, threads, callback, fluxes);
      },
      nb::arg("mesh"), nb::arg("loads"), nb::arg("boundaries"), nb::arg("kappa").none(), nb::arg("reaction"),
      nb::arg("rtol"), nb::arg("atol"), nb::arg("maxiter"), nb::arg("project"), nb::arg("single_precision"),
      nb::arg("device"), nb::arg("threads"), nb::arg("callback").none(), nb::arg("fluxes"));
  m.def("around_bodies", &around_bodies, nb::arg("mesh"), nb::arg("bodies"));
  m.def(
      "step_patches",
      [](const GivenPatches& mesh, const nb::list& initial, const nb::list& loads, const nb::object& load,
         const Conditions& boundaries, const nb::object& kappa, double reaction, const std::string& method, double end,
         int steps, int frames, double rtol, int maxiter, bool single_precision, const std::string& device, int threads,
         const nb::object& callback) {
        return step(mesh, initial, loads, load, boundaries, kappa, reaction,
                    {method, end, steps, frames, rtol, maxiter, single_precision}, device, threads, callback);
      },
      nb::arg("mesh"), nb::arg("initial"), nb::arg("loads"), nb::arg("load").none(), nb::arg("boundaries"),
      nb::arg("kappa").none(), nb::arg("reaction"), nb::arg("method"), nb::arg("end"), nb::arg("steps"),
      nb::arg("frames"), nb::arg("rtol"), nb::arg("maxiter"), nb::arg("single_precision"), nb::arg("device"),
      nb::arg("threads"), nb::arg("callback").none());
}

}  // namespace stratum::python
