#include <stratum/multigrid/patches/patch_levels.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace stratum {

namespace {

std::size_t at(int k) { return static_cast<std::size_t>(k); }

}  // namespace

std::vector<int> nodes_of_edges(const PatchLayout& layout, const std::vector<bool>& edges) {
  const auto& t = layout.topology();
  std::vector<int> nodes;
  std::vector<bool> vertex(t.vertices.size(), false);
  for (std::size_t e = 0; e < t.edges.size(); ++e) {
    if (!edges[e]) continue;
    vertex[at(t.edges[e].first)] = vertex[at(t.edges[e].second)] = true;
    for (const auto& side : t.edges[e].sides) {
      const auto run = layout.run_of(side);
      for (int k = 1; k < layout.cells_of_edge(static_cast<int>(e)); ++k) nodes.push_back(run.first + k * run.stride);
    }
  }
  for (std::size_t v = 0; v < t.vertices.size(); ++v)
    if (vertex[v])
      for (const auto& corner : t.vertices[v].corners) nodes.push_back(layout.corner(corner));
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::vector<bool> crossed_edges(const PatchLayout& layout, const PatchConductances& conductances, double most) {
  const auto& edges = layout.topology().edges;
  std::vector<bool> crossed(edges.size(), false);
  for (std::size_t e = 0; e < edges.size(); ++e)
    for (const auto& side : edges[e].sides) {
      const auto& p = layout.patch(side.patch);
      const bool along_x = side.local % 2 == 0;
      for (int k = 0; k < (along_x ? p.nx : p.ny); ++k) {
        const int cell =
            along_x ? p.node(k, side.local == 0 ? 0 : p.ny - 1) : p.node(side.local == 3 ? 0 : p.nx - 1, k);
        const double x = conductances.x[at(cell)], y = conductances.y[at(cell)];
        if (along_x ? y > most * x : x > most * y) crossed[e] = true;
      }
    }
  return crossed;
}

std::vector<PatchLevelOnHost> patch_levels(PatchLayout layout, PatchRowsOnHost rows, PatchConductances conductances,
                                           const std::vector<bool>& fixed_edges, std::int64_t coarsest_unknowns,
                                           int threads) {
  std::vector<PatchLevelOnHost> levels;
  for (;;) {
    auto fixed = nodes_of_edges(layout, fixed_edges);
    PatchLevelOnHost level{std::move(layout), std::move(rows), std::move(conductances), std::move(fixed)};
    // Fixed nodes, each once.
    const auto& t = level.layout.topology();
    std::vector<bool> vertex(t.vertices.size(), false);
    std::int64_t once = 0;
    for (std::size_t e = 0; e < t.edges.size(); ++e)
      if (fixed_edges[e]) {
        once += level.layout.cells_of_edge(static_cast<int>(e)) - 1;
        vertex[at(t.edges[e].first)] = vertex[at(t.edges[e].second)] = true;
      }
    once += std::count(vertex.begin(), vertex.end(), true);
    level.unknowns = level.layout.nodes() - once;
    if (level.unknowns <= coarsest_unknowns || !level.layout.coarsens()) {
      levels.push_back(std::move(level));
      return levels;
    }
    level.lines = plan_lines(level.layout, crossed_edges(level.layout, level.conductances), fixed_edges);
    PatchLayout next = level.layout.coarser();
    level.weights = interpolation_weights(level.layout, next, level.conductances);
    rows = galerkin(level.layout, next, level.weights, level.rows, threads);
    conductances = coarser(level.layout, next, level.conductances);
    layout = std::move(next);
    levels.push_back(std::move(level));
  }
}

PatchUnknowns unknowns_of(const PatchLevelOnHost& level) {
  const auto& layout = level.layout;
  const auto& t = layout.topology();
  PatchUnknowns result;
  std::vector<int> number(at(layout.size()), -1);
  result.begin = {0};
  const auto is_fixed = [&](int node) { return std::binary_search(level.fixed.begin(), level.fixed.end(), node); };
  const auto put = [&](const std::vector<int>& copies) {
    if (is_fixed(copies.front())) return;
    for (const int k : copies) number[at(k)] = result.count();
    result.copies.insert(result.copies.end(), copies.begin(), copies.end());
    result.begin.push_back(static_cast<int>(result.copies.size()));
  };
  for (const auto& vertex : t.vertices) {
    std::vector<int> copies;
    for (const auto& corner : vertex.corners) copies.push_back(layout.corner(corner));
    if (!copies.empty()) put(copies);
  }
  for (std::size_t e = 0; e < t.edges.size(); ++e)
    for (int k = 1; k < layout.cells_of_edge(static_cast<int>(e)); ++k) {
      std::vector<int> copies;
      for (const auto& side : t.edges[e].sides) {
        const auto run = layout.run_of(side);
        copies.push_back(run.first + k * run.stride);
      }
      put(copies);
    }
  for (int p = 0; p < layout.patches(); ++p)
    for (int j = 1; j < layout.patch(p).ny; ++j)
      for (int i = 1; i < layout.patch(p).nx; ++i) put({layout.patch(p).node(i, j)});

  const PatchRowsOnHost& a = level.rows;
  const PatchBands<double> bands{a.excess.data(), a.east.data(), a.north.data(), a.north_east.data(),
                                 a.north_west.data()};
  std::vector<int> pitch(at(layout.size()), 0);
  for (int p = 0; p < layout.patches(); ++p)
    for (int j = 0; j <= layout.patch(p).ny; ++j)
      for (int i = 0; i <= layout.patch(p).nx; ++i) pitch[at(layout.patch(p).node(i, j))] = layout.patch(p).pitch;
  result.row_begin = {0};
  for (int u = 0; u < result.count(); ++u) {
    std::map<int, double> row;
    for (int c = result.begin[at(u)]; c < result.begin[at(u) + 1]; ++c) {
      const int k = result.copies[at(c)];
      const auto stencil = bands.row(k, pitch[at(k)]);
      double diagonal = stencil.excess;
      for (int dj = -1; dj <= 1; ++dj)
        for (int di = -1; di <= 1; ++di) {
          const double entry = stencil.to[dj + 1][di + 1];
          diagonal -= entry;
          const int other = entry == 0 ? -1 : number[at(k + dj * pitch[at(k)] + di)];
          if (other >= 0) row[other] += entry;
        }
      row[u] += diagonal;
    }
    for (const auto& [column, entry] : row) {
      result.column.push_back(column);
      result.entry.push_back(entry);
    }
    result.row_begin.push_back(static_cast<int>(result.column.size()));
  }
  return result;
}

}  // namespace stratum
