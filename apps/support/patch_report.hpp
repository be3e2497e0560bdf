#pragma once

// What programs on a mesh of patches print, report and write alike: the mesh, its levels and ranks, fields and values on lines.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/patch_values.hpp>
#include <stratum/mesh/vtk/vtm.hpp>
#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

#include "json.hpp"
#include "patch_options.hpp"
#include "probe.hpp"
#include "rank_output.hpp"

namespace stratum::apps {

/// Values at all nodes of each patch.
using PatchValues = std::vector<std::vector<double>>;

/// The cells of a patch.
struct CellShapes {
  std::vector<double> aspect_ratios;
  double thinnest = HUGE_VAL;
};

[[nodiscard]] inline CellShapes shapes_of(const PatchNodes& nodes) {
  const auto length = [](const Position& p, const Position& q) { return std::hypot((p.x + q.x) / 2, (p.y + q.y) / 2); };
  CellShapes shapes;
  const auto nx = static_cast<std::size_t>(nodes.nx);
  for (std::size_t j = 0; j < static_cast<std::size_t>(nodes.ny); ++j)
    for (std::size_t i = 0; i < nx; ++i) {
      const std::size_t left = j * (nx + 1) + i;
      const double along = length(nodes.step_x[j * nx + i], nodes.step_x[(j + 1) * nx + i]),
                   up = length(nodes.step_y[left], nodes.step_y[left + 1]);
      shapes.aspect_ratios.push_back(std::max(along / up, up / along));
      shapes.thinnest = std::min({shapes.thinnest, along, up});
    }
  return shapes;
}

/// The less of all ranks' by `less`.
template <class T, class Less>
[[nodiscard]] T least_of_ranks(const Context& ctx, const T& own, const Less& less) {
  if (ctx.subdomains() == 1) return own;
  const auto all = ctx.communicator()->gather_on_host(own);
  return *std::min_element(all.begin(), all.end(), less);
}

/// What of the nodal values of a patch is wanted on the first rank.
[[nodiscard]] inline std::vector<double> on_first_rank(const Context& ctx, std::vector<double> own) {
  return ctx.subdomains() == 1 ? std::move(own) : ctx.communicator()->join_on_first(own);
}

/// Of the cells of all ranks; `numbers` gets how many patches this rank has, and how many levels it shares.
struct PatchSizes {
  double thinnest = HUGE_VAL, largest_aspect_ratio = 1;
};
template <class Solver>
[[nodiscard]] PatchSizes patch_sizes(const Context& ctx, const PatchMesh& mesh, const Solver& solver,
                                     RankNumbers& numbers) {
  PatchSizes sizes;
  const int rank = ctx.subdomains() == 1 ? 0 : ctx.communicator()->rank();
  for (int p = 0; p < mesh.patches(); ++p) {
    if (solver.rank_of(p) != rank) continue;
    ++numbers.rows;
    const CellShapes shapes = shapes_of(mesh.nodes_of(p));
    sizes.thinnest = std::min(sizes.thinnest, shapes.thinnest);
    for (const double ratio : shapes.aspect_ratios)
      sizes.largest_aspect_ratio = std::max(sizes.largest_aspect_ratio, ratio);
  }
  for (const PatchLevelPlan& plan : solver.levels()) numbers.distributed_levels += plan.distributed ? 1 : 0;
  sizes.thinnest = least_of_ranks(ctx, sizes.thinnest, std::less<>());
  sizes.largest_aspect_ratio = least_of_ranks(ctx, sizes.largest_aspect_ratio, std::greater<>());
  return sizes;
}

[[nodiscard]] inline int inner_edges(const PatchMesh& mesh) {
  int count = 0;
  for (int e = 0; e < mesh.edges(); ++e) count += mesh.edge(e).on_boundary() ? 0 : 1;
  return count;
}

inline void print_patch_mesh(const std::string& path, const PatchFile& file, const PatchesWithBodies& on,
                             const std::vector<Body>& bodies, const PatchSizes& sizes) {
  const PatchMesh& mesh = on.mesh;
  std::printf("mesh      %s: %d patches, %d inner edges, %lld cells, smallest width %.3g, aspect ratio up to %.3g\n",
              path.c_str(), mesh.patches(), inner_edges(mesh), static_cast<long long>(mesh.cells()), sizes.thinnest,
              sizes.largest_aspect_ratio);
  for (const std::string& summary : {file.summary, on.summary})
    if (!summary.empty()) std::printf("          %s\n", summary.c_str());
  for (std::size_t k = 0; k < bodies.size(); ++k)
    std::printf("%-9s %s: %lld cells\n", boundary_of_body(k).c_str(), bodies[k].name.c_str(),
                static_cast<long long>(on.cells[k]));
}
inline void add_patch_bodies(JsonObject& json, const PatchesWithBodies& on, const std::vector<Body>& bodies) {
  if (bodies.empty()) return;
  std::size_t k = 0;
  json.add("bodies", json_array(bodies, [&](const Body& body) {
             JsonObject row;
             row.add("name", body.name).add("kind", to_string(body.kind));
             return row.add("cells", on.cells[k++]).value();
           }));
}

/// The conditions, and what else of `names` is given.
[[nodiscard]] inline std::string problem_on_patches(const CommandLine& options, const PatchMesh& mesh,
                                                    const PatchConditions& conditions,
                                                    std::initializer_list<const char*> names) {
  std::string text;
  for (const auto& name : mesh.boundary_names())
    text += message(text.empty() ? "" : ", ", name, " ", conditions.at(name));
  for (const char* name : names)
    if (options.has(name)) text += message(", ", name, " ", options.text(name));
  return text;
}

/// `solved_as`: of PatchPoissonSolver.
[[nodiscard]] inline std::string levels_text(const std::vector<PatchLevelPlan>& levels,
                                             const std::string& solved_as = "") {
  std::string text;
  const auto& first = levels.front();
  for (const PatchLevelPlan& level : levels) {
    text += message(text.empty() ? "" : ", ", level.unknowns);
    if (level.colours > 0 && level.colours != first.colours) text += message(" in ", level.colours);
  }
  if (!solved_as.empty()) return message(text, " unknowns; the patch is solved as ", solved_as);
  return first.colours == 0 ? text + " unknowns, solved directly"
                            : message(text, " unknowns; lines in ", first.colours,
                                      " colours cross the edges of patches, the last level is solved directly");
}

inline void print_ranks_of_patches(const Context& ctx, const std::vector<RankNumbers>& ranks) {
  if (ranks.empty()) return;
  const auto most =
      std::max_element(ranks.begin(), ranks.end(), [](const auto& l, const auto& r) { return l.rows < r.rows; });
  const int levels = ranks.front().distributed_levels;
  std::printf("ranks     %zu, with %s patch%s each; %d level%s distributed, the others replicated on every rank%s\n",
              ranks.size(), rows_text(ranks).c_str(), most->rows == 1 ? "" : "es", levels,
              levels == 1 ? " is" : "s are", ctx.on_gpu() ? exchange_text(*ctx.communicator()).c_str() : "");
}

inline void print_patch_fluxes(const PatchMesh& mesh, const PatchFluxes& fluxes) {
  std::string text;
  for (std::size_t k = 0; k < fluxes.boundaries.size(); ++k)
    text += message(k == 0 ? "" : ", ", mesh.boundary_names()[k], " ", fluxes.boundaries[k]);
  std::printf("flux        outward: %s", text.c_str());
}

inline void add_patch_mesh(JsonObject& json, const PatchMesh& mesh, std::int64_t unknowns, const PatchSizes& sizes,
                           const PatchConditions& conditions) {
  json.add("patches", mesh.patches()).add("edges", mesh.edges()).add("inner_edges", inner_edges(mesh));
  json.add("vertices", mesh.vertices()).add("cells", mesh.cells()).add("unknowns", unknowns);
  json.add("largest_aspect_ratio", sizes.largest_aspect_ratio).add("smallest_width", sizes.thinnest);
  json.add("boundaries", json_array(mesh.boundary_names(), [&](const std::string& name) {
             return JsonObject().add("name", name).add("condition", conditions.at(name)).value();
           }));
}

/// null where there are none.
inline void add_patch_fluxes(JsonObject& json, const PatchFluxes* fluxes) {
  const double unknown = std::nan("");
  json.add("fluxes", fluxes != nullptr ? Json(fluxes->boundaries) : Json());
  json.add("flux_rounding", fluxes != nullptr ? fluxes->rounding : unknown);
  json.add("reaction_integral", fluxes != nullptr ? fluxes->reaction : unknown);
  json.add("load_integral", fluxes != nullptr ? fluxes->load : unknown);
}

inline void add_patch_levels(JsonObject& json, const std::vector<PatchLevelPlan>& levels) {
  json.add("hierarchy", json_array(levels, [](const PatchLevelPlan& level) {
             JsonObject row;
             row.add("unknowns", level.unknowns).add("colours", level.colours);
             return row.add("crossed_edges", level.crossed_edges).value();
           }));
}

inline void add_ranks_of_patches(JsonObject& json, const Context& ctx, const std::vector<RankNumbers>& ranks) {
  if (ranks.empty()) return;
  json.add("distributed_levels", ranks.front().distributed_levels);
  json.add("ranks_exchange_by", std::string(ctx.communicator()->name()));
  json.add("ranks", json_array(ranks, [](const RankNumbers& rank) {
             JsonObject numbers;
             numbers.add("patches", rank.rows).add("threads", rank.threads);
             add_rank(numbers, rank);
             return numbers.value();
           }));
}

/// Fields of patch `p` for ParaView: u by this name and, where it is known, the exact solution and the error; on cells the
/// number of the patch, K and aspect ratios. Functions see the positions of nodes.
[[nodiscard]] inline PatchFields patch_fields(const PatchMesh& mesh, int p, const PatchProblem& problem,
                                              const char* name, const std::vector<double>& u) {
  const PatchNodes nodes = mesh.nodes_of(p);
  const auto at_nodes = [&](const ScalarFunction& f) {
    std::vector<double> values;
    for (const Position& at : nodes.at) values.push_back(f(make_point(at, 0, 0)));
    return values;
  };
  PatchFields fields{{{name, u}}, {}};
  if (problem.rhs) fields.nodes.emplace_back("rhs", at_nodes(problem.rhs));
  if (problem.exact) {
    auto exact = at_nodes(problem.exact);
    std::vector<double> error(exact.size());
    std::transform(u.begin(), u.end(), exact.begin(), error.begin(), std::minus<>());
    fields.nodes.emplace_back("exact", std::move(exact));
    fields.nodes.emplace_back("error", std::move(error));
  }
  const auto& of_patches = problem.diffusion_of_patches;
  const double of_patch = of_patches.empty() ? 1 : of_patches[static_cast<std::size_t>(p)];
  std::vector<double> k;
  const bool is_tensor = !problem.tensor_of_cells.empty();
  for (int j = 0; j < nodes.ny && !is_tensor; ++j)
    for (int i = 0; i < nodes.nx; ++i) {
      const Position centre = Quadrilateral{nodes.at[nodes.node(i, j)], nodes.at[nodes.node(i + 1, j)],
                                            nodes.at[nodes.node(i, j + 1)], nodes.at[nodes.node(i + 1, j + 1)]}
                                  .at(0.5, 0.5);
      k.push_back(!problem.diffusion_of_cells.empty()
                      ? problem.diffusion_of_cells[static_cast<std::size_t>(p)][k.size()]
                      : of_patch * (problem.diffusion ? problem.diffusion(make_point(centre, 0, 0)) : 1));
    }
  const std::size_t cells = static_cast<std::size_t>(nodes.nx) * static_cast<std::size_t>(nodes.ny);
  fields.cells.emplace_back("patch", std::vector<double>(cells, p));
  if (!is_tensor) fields.cells.emplace_back("kappa", std::move(k));
  for (const auto& [component, which] :
       {std::pair("kxx", &PatchTensor::xx), {"kxy", &PatchTensor::xy}, {"kyy", &PatchTensor::yy}}) {
    if (!is_tensor) break;
    std::vector<double> numbers;
    for (const PatchTensor& tensor : problem.tensor_of_cells[static_cast<std::size_t>(p)])
      numbers.push_back(tensor.*which);
    fields.cells.emplace_back(component, std::move(numbers));
  }
  fields.cells.emplace_back("aspect_ratio", shapes_of(nodes).aspect_ratios);
  return fields;
}

/// --probe on patches: a line for every point, with the time if there is one.
inline void write_patch_points(std::ostream& out, const Probe& probe, const PatchLocator& locator,
                               const std::vector<PatchPoint>& points, const PatchValues& nodal,
                               std::optional<double> t = {}) {
  out.precision(17);
  for (int k = 0; k < probe.count; ++k) {
    if (t) out << *t << ',';
    out << probe.at(k).x << ',' << probe.at(k).y << ',' << probe.arc_length(k) << ','
        << locator.value_at(nodal, points[static_cast<std::size_t>(k)]) << '\n';
  }
}

}  // namespace stratum::apps
