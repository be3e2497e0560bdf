#include "output.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

#include <stratum/assembly/picture.hpp>
#include <stratum/core/io/npy_file.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

#include "screen.hpp"
#include "support/picture_output.hpp"
#include "support/program.hpp"
#include "support/rank_output.hpp"
#include "support/solution_files.hpp"
#include "volumes.hpp"
#include "vtk_cells.hpp"

namespace stratum::apps::poisson {

namespace {

/// Fields of the only right-hand side by their names, of several ones numbered from 1 on. Solutions on these rows of nodes.
void write_vtk(Context& ctx, const Settings& settings, const ProblemMesh& mesh, const NodeRows& rows,
               const std::vector<std::vector<double>>& solutions, const std::string& path) {
  std::deque<std::pair<std::string, std::vector<double>>> nodal;
  std::vector<VtkField> fields;
  for (std::size_t k = 0; k < solutions.size(); ++k) {
    const auto& problem = settings.problems[k];
    const std::string number = solutions.size() == 1 ? "" : message("_", k + 1);
    const auto& solution = solutions[k];
    const auto add = [&](const char* name, std::vector<double> values) -> auto& {
      auto& added = nodal.emplace_back(name + number, std::move(values));
      fields.push_back({added.first, added.second});
      return added.second;
    };
    fields.push_back({"solution" + number, solution});
    (void)add("rhs", at_nodes(ctx, mesh, rhs_function(problem), rows));
    if (!problem.has_exact()) continue;
    const auto& exact = add("exact", at_nodes(ctx, mesh, exact_function(problem), rows));
    auto& error = add("error", std::vector<double>(exact.size()));
    std::transform(solution.begin(), solution.end(), exact.begin(), error.begin(), std::minus<>());
  }
  const NamedFields in_cells = cell_fields(ctx, mesh, settings.problems[0], rows);
  const std::vector<VtkField> of_cells = as_vtk(in_cells);
  if (path.ends_with(".pvtr") || path.ends_with(".pvts")) {
    write_pieces(*communicator_of(settings.machine), path, mesh, rows, fields, of_cells, settings.compression);
  } else if (mesh.mapped()) {
    write_vts(path, *mesh.mapped(), fields, of_cells, settings.compression);
  } else {
    write_vtr(path, mesh.logical(), fields, of_cells, settings.compression, ctx.threads());
  }
}

/// Solutions alone, on all nodes, or in all cells.
void write_array(const Solved& solved, const std::string& path) {
  const auto& [mesh, solutions] = std::tie(solved.mesh, solved.nodal);
  const std::size_t more = solved.volumes ? 0 : 1;
  std::vector<std::size_t> shape{static_cast<std::size_t>(mesh.logical().y().size()) + more,
                                 static_cast<std::size_t>(mesh.logical().x().size()) + more};
  if (solutions.size() > 1) shape.insert(shape.begin(), solutions.size());
  write_npy(path, shape, {solutions.begin(), solutions.end()});
}

/// This rank's.
std::vector<std::vector<double>> rows_of(const Solved& solved) {
  const auto nodes = static_cast<std::ptrdiff_t>(solved.mesh.logical().x().size()) + 1;
  std::vector<std::vector<double>> parts;
  for (const auto& nodal : solved.nodal)
    parts.emplace_back(nodal.begin() + solved.rows.first * nodes, nodal.begin() + (solved.rows.last + 1) * nodes);
  return parts;
}

}  // namespace

OutputFiles parse_outputs(const CommandLine& options, Settings& settings) {
  OutputFiles outputs(options);
  settings.vtk_asked_for = outputs.has("vtk");
  const std::string name = outputs.path("vtk");
  const std::string ending = settings.vtk_ending();
  const bool is_array = name.ends_with(array_ending);
  const bool ranks = settings.machine.has_ranks();
  expects(name.empty() || (name == "-" && !ranks) || name.ends_with(ending) || is_array, "--vtk: '", name,
          "' must end in ", ending, " for ParaView", settings.deformation.is_given() ? " on a deformed mesh" : "",
          ranks ? " by several ranks" : "", ", or in .npy");
  expects(!is_array || !options.has("vtk-compress"), "--vtk-compress: .npy is not compressed");
  check_picture(outputs);
  if (!options.has("vtk") && !settings.table)
    outputs.add("vtk", message("poisson2d_", mesh_label<2>(options), "_L", settings.last_level,
                               vtk_available() ? ending : std::string(array_ending)));
  if (const std::string path = outputs.path("vtk"); ranks && path.ends_with(ending))
    outputs.add_family("vtk", path, [path, count = settings.machine.ranks->size()](const std::string& file) {
      return is_piece(path, count, file);
    });
  return outputs;
}

void write_solution(Context& ctx, const Settings& settings, const Solved& solved, OutputFiles& outputs) {
  const Outcome& outcome = solved.outcome;
  if (settings.exit_code(outcome.report) == 3) {
    const std::string who =
        settings.problems.size() == 1 ? "there is" : message("right-hand side ", outcome.worst + 1, " has");
    return leave_out_solution(outputs, who, !settings.quiet && !settings.table);
  }
  std::optional<ProblemMesh> points;
  std::vector<std::vector<double>> of_points;
  if (solved.volumes && (settings.probe || outputs.has("png"))) {
    points.emplace(solved.volumes->points());
    of_points = at_points(settings, solved);
  }
  const ProblemMesh& shown = points ? *points : solved.mesh;
  const auto& values = points ? of_points : solved.nodal;
  if (settings.probe) outputs.write_text("probe", csv_profile(*settings.probe, shown, values));
  if (outputs.has("png")) {
    progress(settings, "drawing ...");
    const auto& logical = solved.mesh.logical();
    const std::string title = message("solution", logical.name() == "custom" ? "" : " on " + logical.name(), ", ",
                                      logical.x().size(), " x ", logical.y().size(), " cells");
    outputs.write("png", [&](const std::string& path) { write_png(path, shown, values.front(), title); });
    progress(settings, "");
  }
  write_solution_file(settings.files(), outputs, [&](const std::string& path) {
    if (is_array(outputs))
      write_array(solved, path);
    else if (solved.volumes)
      write_vtk_of_cells(ctx, settings, solved, path);
    else
      write_vtk(ctx, settings, solved.mesh, solved.rows, solved.whole ? rows_of(solved) : solved.nodal, path);
  });
}

}  // namespace stratum::apps::poisson
