// Meshes of patches whose nodes are given, and the halving of all meshes.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/patches/patch_draft.hpp>
#include <stratum/mesh/patches/patch_mesh.hpp>

namespace stratum {

using namespace detail;

PatchMesh::PatchMesh(const GridPatchParts& parts) {
  auto shared = std::make_shared<Shared>();
  Shared& mesh = *shared;
  Draft draft{mesh};
  const auto count = static_cast<int>(parts.nodes.size());
  expects(!parts.patches.empty(), "a mesh of patches needs at least one patch");
  mesh.local.resize(parts.patches.size());
  std::map<int, int> vertex_of;                // of nodes
  std::map<std::pair<int, int>, int> edge_of;  // of two neighbours on an edge
  std::vector<int> second_node;                // of edges
  for (std::size_t p = 0; p < parts.patches.size(); ++p) {
    PatchGrid grid = parts.patches[p];
    const auto size = [&] { return (index(grid.nx) + 1) * (index(grid.ny) + 1); };
    expects(grid.nx >= 1 && grid.ny >= 1 && grid.nodes.size() == size(), "patch ", p, " has ", grid.nx, " x ", grid.ny,
            " cells and ", grid.nodes.size(), " nodes");
    for (const int k : grid.nodes) {
      expects(0 <= k && k < count, "patch ", p, " has node ", k, "; there are ", count);
      expects(is_finite(parts.nodes[index(k)]), "node ", k, " lies at (", parts.nodes[index(k)].x, ", ",
              parts.nodes[index(k)].y, "); positions must be finite");
    }
    const auto node = [&grid](int i, int j) { return grid.nodes[index(j) * (index(grid.nx) + 1) + index(i)]; };
    const auto place = [&](int i, int j) { return parts.nodes[index(node(i, j))]; };
    // A patch may wind: its first cell says how it is oriented.
    if (cross(place(1, 0) - place(0, 0), place(0, 1) - place(0, 0)) < 0) {
      PatchGrid turned{grid.ny, grid.nx, {}};
      for (int j = 0; j <= turned.ny; ++j)
        for (int i = 0; i <= turned.nx; ++i) turned.nodes.push_back(node(j, i));
      grid = std::move(turned);
    }
    PatchNodes nodes{grid.nx, grid.ny, {}, {}, {}};
    for (int j = 0; j <= grid.ny; ++j)
      for (int i = 0; i <= grid.nx; ++i) {
        nodes.at.push_back(place(i, j));
        if (i < grid.nx) nodes.step_x.push_back(place(i + 1, j) - place(i, j));
        if (j < grid.ny) nodes.step_y.push_back(place(i, j + 1) - place(i, j));
      }
    mesh.given.push_back(std::move(nodes));
    const std::array<int, 4> corner_nodes = {node(0, 0), node(grid.nx, 0), node(grid.nx, grid.ny), node(0, grid.ny)};
    std::array<int, 4> corners{};
    for (int c = 0; c < 4; ++c) {
      const int k = corner_nodes[index(c)];
      const auto [found, is_new] = vertex_of.try_emplace(k, static_cast<int>(mesh.vertices.size()));
      if (is_new) mesh.vertices.push_back(parts.nodes[index(k)]);
      corners[index(c)] = found->second;
    }
    mesh.corners.push_back(corners);
    for (int l = 0; l < 4; ++l) {
      const int length = l % 2 == 0 ? grid.nx : grid.ny;
      const auto on_edge = [&](int k) {
        return l == 0 ? node(k, 0) : l == 1 ? node(grid.nx, k) : l == 2 ? node(k, grid.ny) : node(0, k);
      };
      const int a = corners[index(local_ends[index(l)][0])], b = corners[index(local_ends[index(l)][1])];
      // The first inner node from either end tells edges with the same vertices apart.
      const std::int64_t tag = length > 1 ? std::int64_t{std::min(on_edge(1), on_edge(length - 1))} + 1 : 0;
      const auto known = draft.numbers.find({std::min(a, b), std::max(a, b), tag});
      const bool is_new = known == draft.numbers.end();
      // Vertices say how an edge runs, unless it runs from a vertex to itself.
      std::optional<bool> forward;
      if (a == b && !is_new) forward = second_node[index(known->second)] == on_edge(1);
      draft.add_local(static_cast<int>(p), l, a, b, tag, forward);
      const int number = mesh.local[p][index(l)].number;
      if (is_new) second_node.push_back(on_edge(1));
      for (int k = 0; k < length; ++k) {
        const std::pair key{std::min(on_edge(k), on_edge(k + 1)), std::max(on_edge(k), on_edge(k + 1))};
        const auto [at, first_time] = edge_of.try_emplace(key, number);
        expects(first_time || at->second == number, "patch ", p, " shares a part of ", draft.edge_name(at->second),
                " with a patch that it does not share all of it with: patches meet in whole edges");
      }
    }
  }
  draft.join_chords();
  draft.list_vertices();
  for (std::size_t p = 0; p < mesh.given.size(); ++p)
    for (int l = 0; l < 2; ++l) {
      const PatchEdge& edge = mesh.edges[index(mesh.local[p][index(l)].number)];
      const auto chord = index(edge.chord);
      // Chords are numbered in the order of their first edges, which patches list in this order too but for skipped ones.
      while (mesh.chords.size() <= chord) mesh.chords.emplace_back(Axis(std::vector<double>{1.0}));
      const int cells = l == 0 ? mesh.given[p].nx : mesh.given[p].ny;
      const int known = mesh.chords[chord].size();
      expects(known == 1 || known == cells, draft.edge_name(mesh.local[p][index(l)].number), " of patch ", p, " has ",
              cells, " cells, and ", known, " in another patch");
      if (known > 1 || cells == 1) continue;
      // Those of its first edge; where nodes coincide the check of the cells says so.
      std::vector<double> widths;
      double sum = 0;
      for (int k = 0; k < cells; ++k) {
        const PatchNodes& nodes = mesh.given[p];
        widths.push_back(length(l == 0 ? nodes.step_x[index(k)] : nodes.step_y[nodes.node(nodes.nx, k)]));
        sum += widths.back();
      }
      const bool are_widths =
          std::isfinite(sum) && std::all_of(widths.begin(), widths.end(), [](double width) { return width > 0; });
      for (double& width : widths) width = are_widths ? width / sum : 1.0 / cells;
      if (edge.against_chord != mesh.local[p][index(l)].reversed) std::reverse(widths.begin(), widths.end());
      mesh.chords[chord] = Axis(std::move(widths), 1);
    }
  draft.check_sides();
  for (const auto& [first, second, name] : parts.boundaries) {
    const auto found = edge_of.find({std::min(first, second), std::max(first, second)});
    if (found != edge_of.end()) draft.name_boundary(found->second, name, draft.edge_name(found->second));
  }
  draft.name_other_boundaries(parts.other_boundaries);
  shared_ = shared;
  check_cells();
}

PatchMesh PatchMesh::halved(int times) const {
  auto shared = std::make_shared<Shared>(*shared_);
  for (Axis& chord : shared->chords) chord = stratum::halved(chord, times);
  if (shared->given.empty()) {
    place_edges(*shared);
  } else {
    const int parts = 1 << times;
    for (PatchNodes& coarse : shared->given) {
      PatchNodes fine{coarse.nx * parts, coarse.ny * parts, {}, {}, {}};
      const auto step_x = [&](int i, int j) { return coarse.step_x[index(j) * index(coarse.nx) + index(i)]; };
      const auto step_y = [&](int i, int j) { return coarse.step_y[coarse.node(i, j)]; };
      for (int j = 0; j <= fine.ny; ++j)
        for (int i = 0; i <= fine.nx; ++i) {
          // Of the last node the cell before it.
          const int p = std::min(i / parts, coarse.nx - 1), q = std::min(j / parts, coarse.ny - 1);
          const double t = static_cast<double>(i - p * parts) / parts, s = static_cast<double>(j - q * parts) / parts;
          const auto at = [&](int a, int b) { return coarse.at[coarse.node(a, b)]; };
          fine.at.push_back(Quadrilateral{at(p, q), at(p + 1, q), at(p, q + 1), at(p + 1, q + 1)}.at(t, s));
          if (i < fine.nx) fine.step_x.push_back((1.0 / parts) * ((1 - s) * step_x(p, q) + s * step_x(p, q + 1)));
          if (j < fine.ny) fine.step_y.push_back((1.0 / parts) * ((1 - t) * step_y(p, q) + t * step_y(p + 1, q)));
        }
      coarse = std::move(fine);
    }
  }
  PatchMesh mesh{std::shared_ptr<const Shared>(shared)};
  mesh.check_cells();
  return mesh;
}

}  // namespace stratum
