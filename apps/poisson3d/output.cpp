#include "output.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <stratum/assembly/box_values.hpp>
#include <stratum/core/io/npy_file.hpp>

#include "bodies.hpp"
#include "problem.hpp"
#include "support/picture_output.hpp"
#include "support/rank_output.hpp"

namespace stratum::apps::poisson3d {

namespace {

constexpr std::string_view pieces_ending = ".pvtr";

/// The whole box, or this rank's planes of nodes and the cells between.
void write_fields(const Context& ctx, const Settings& settings, const Solved& solved, const std::string& path) {
  const TensorMesh<3>& whole = solved.outcome.mesh;
  const bool pieces = path.ends_with(pieces_ending);
  const NodePlanes planes = pieces ? solved.planes : NodePlanes{2, 0, whole.z().size()};
  const TensorMesh<3> mesh = part_of(whole, planes);
  const std::vector<double>& nodal = pieces ? solved.own : solved.nodal;
  const auto rhs = at_nodes(ctx, mesh, rhs_function(settings.problem));
  std::vector<double> exact, error;
  std::vector<VtkField> fields{{"solution", nodal}, {"rhs", rhs}};
  if (settings.problem.has_exact()) {
    exact = at_nodes(ctx, mesh, exact_function(settings.problem));
    error.resize(exact.size());
    std::transform(nodal.begin(), nodal.end(), exact.begin(), error.begin(), std::minus<>());
    fields.push_back({"exact", exact});
    fields.push_back({"error", error});
  }
  const auto aspect_ratios = cell_aspect_ratios(mesh);
  std::vector<VtkField> on_cells{{"aspect_ratio", aspect_ratios}};
  const auto k = diffusion_on_cells(ctx, mesh, settings.problem.diffusion);
  for (const auto& [name, values] : k) on_cells.push_back({name, values});
  const auto numbers = numbers_of_bodies(solved.bodies, planes);
  if (!numbers.empty()) on_cells.push_back({"body", numbers});
  if (!pieces) return write_vtr(path, mesh, fields, on_cells, settings.compression, ctx.threads());
  write_pieces(*communicator_of(settings.machine), path, whole, planes, fields, on_cells, settings.compression,
               ctx.threads());
}

void write_array(const Solved& solved, const std::string& path) {
  const auto nodes = [&](int d) { return static_cast<std::size_t>(solved.outcome.mesh.axis(d).size()) + 1; };
  write_npy(path, {nodes(2), nodes(1), nodes(0)}, {solved.nodal});
}

void draw(const Settings& settings, const Solved& solved, const std::string& path) {
  const TensorMesh<3>& mesh = solved.outcome.mesh;
  const std::string title = message("solution", mesh.name() == "custom" ? "" : " on " + mesh.name(), ", ",
                                    mesh.x().size(), " x ", mesh.y().size(), " x ", mesh.z().size(), " cells");
  if (!settings.slice) {
    const auto& range = solved.outcome.range;
    if (range && range->smallest_on_boundary == range->largest_on_boundary)
      warn(program_name, message("the picture has one colour, since all faces have the value ",
                                 range->largest_on_boundary, "; --slice z=AT shows the inside"));
  }
  draw_box(path, mesh, solved.nodal, settings.slice, title);
}

}  // namespace

bool has_pieces(const OutputFiles& outputs) { return outputs.path("vtk").ends_with(pieces_ending); }

OutputFiles parse_outputs(const CommandLine& options, Settings& settings) {
  OutputFiles outputs(options);
  settings.vtk_asked_for = outputs.has("vtk");
  const std::string name = outputs.path("vtk");
  const bool ranks = settings.machine.has_ranks(), pieces = has_pieces(outputs);
  expects(!pieces || ranks, "--vtk: '", name, "' is for the subdomains of several ranks; one rank writes a .vtr file");
  expects(name.empty() || name == "-" || name.ends_with(".vtr") || pieces || is_array(outputs), "--vtk: '", name,
          "' must end in .vtr for ParaView, ", ranks ? "in .pvtr, for a file of every rank's subdomain, " : "",
          "or in .npy");
  expects(!is_array(outputs) || !options.has("vtk-compress"), "--vtk-compress: .npy is not compressed");
  check_picture(outputs);
  if (!options.has("vtk") && !settings.table)
    outputs.add("vtk", message("poisson3d_", mesh_label<3>(options), "_L", settings.last_level,
                               vtk_available() ? ".vtr" : array_ending));
  if (pieces)
    outputs.add_family("vtk", name, [name, count = settings.machine.ranks->size()](const std::string& file) {
      return is_piece(name, count, file);
    });
  return outputs;
}

void write_solution(const Context& ctx, const Settings& settings, const Solved& solved, OutputFiles& outputs) {
  if (settings.exit_code(solved.outcome.report) == 3)
    return leave_out_solution(outputs, "there is", !settings.quiet && !settings.table);
  if (std::string values; outputs.has("probe")) {
    add_profile(values, std::nullopt, *settings.probe, solved.outcome.mesh, solved.nodal);
    outputs.write_text("probe", values);
  }
  if (outputs.has("png")) {
    progress(settings, "drawing ...");
    outputs.write("png", [&](const std::string& path) { draw(settings, solved, path); });
    progress(settings, "");
  }
  write_solution_file(settings.files(), outputs, [&](const std::string& path) {
    if (is_array(outputs))
      write_array(solved, path);
    else
      write_fields(ctx, settings, solved, path);
  });
}

}  // namespace stratum::apps::poisson3d
