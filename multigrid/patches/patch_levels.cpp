#include <stratum/multigrid/patches/patch_levels.hpp>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/multigrid/patches/patch_transfer_formulas.hpp>

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
      if (!layout.has(side.patch)) continue;
      const auto run = layout.run_of(side);
      for (int k = 1; k < layout.cells_of_edge(static_cast<int>(e)); ++k) nodes.push_back(run.first + k * run.stride);
    }
  }
  for (std::size_t v = 0; v < t.vertices.size(); ++v)
    if (vertex[v])
      for (const auto& corner : t.vertices[v].corners)
        if (layout.has(corner.patch)) nodes.push_back(layout.corner(corner));
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::vector<bool> crossed_edges(const PatchLayout& layout, const PatchConductances& conductances, double most) {
  const auto& edges = layout.topology().edges;
  std::vector<bool> crossed(edges.size(), false);
  for (std::size_t e = 0; e < edges.size(); ++e)
    for (const auto& side : edges[e].sides) {
      if (!layout.has(side.patch)) continue;
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

namespace {

/// Nodes that are no Dirichlet nodes, each once.
std::int64_t unknowns_of(const PatchLayout& layout, const std::vector<bool>& fixed_edges) {
  const auto& t = layout.topology();
  std::vector<bool> vertex(t.vertices.size(), false);
  std::int64_t once = 0;
  for (std::size_t e = 0; e < t.edges.size(); ++e)
    if (fixed_edges[e]) {
      once += layout.cells_of_edge(static_cast<int>(e)) - 1;
      vertex[at(t.edges[e].first)] = vertex[at(t.edges[e].second)] = true;
    }
  once += std::count(vertex.begin(), vertex.end(), true);
  return layout.nodes() - once;
}

/// Numbers of all patches, from those of the rank's where they lie in `from`, which is `complete` or the layout of the rank.
void gather_parts(Communicator& ranks, const PatchLayout& from, const PatchLayout& complete,
                  std::vector<double>& numbers) {
  const auto own = from.numbers_of(ranks.rank());
  const auto all = ranks.join_on_host(std::span(numbers.data() + own.begin, numbers.data() + own.end));
  numbers.assign(at(complete.size()), 0.0);
  auto next = all.begin();
  for (int r = 0; r < ranks.size(); ++r) {
    const auto part = complete.numbers_of(r);
    std::copy(next, next + (part.end - part.begin), numbers.begin() + part.begin);
    next += part.end - part.begin;
  }
}
void gather_parts(Communicator& ranks, const PatchLayout& from, const PatchLayout& complete, PatchRowsOnHost& rows,
                  PatchConductances& conductances) {
  for (auto* numbers :
       {&rows.excess, &rows.east, &rows.north, &rows.north_east, &rows.north_west, &conductances.x, &conductances.y})
    gather_parts(ranks, from, complete, *numbers);
}

/// On any rank.
std::vector<bool> any_of(Communicator& ranks, const std::vector<bool>& own) {
  const std::vector<char> mine(own.begin(), own.end());
  std::vector<char> all(mine.size() * at(ranks.size()));
  ranks.gather_on_host(mine.data(), all.data(), mine.size());
  std::vector<bool> any(own.size(), false);
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k] != 0) any[k % own.size()] = true;
  return any;
}

}  // namespace

std::vector<PatchLevelOnHost> patch_levels(PatchLayout layout, PatchRowsOnHost rows, PatchConductances conductances,
                                           const std::vector<bool>& fixed_edges, std::int64_t coarsest_unknowns,
                                           int threads, Communicator* ranks, std::int64_t least_distributed) {
  const auto is_last = [&](const PatchLayout& l) {
    return unknowns_of(l, fixed_edges) <= coarsest_unknowns || !l.coarsens();
  };
  const auto is_distributed = [&](const PatchLayout& l) {
    return l.is_part() && !is_last(l) && unknowns_of(l, fixed_edges) >= least_distributed;
  };
  if (layout.is_part() && !is_distributed(layout)) {
    const PatchLayout part = layout;
    layout = part.complete();
    gather_parts(*ranks, part, layout, rows, conductances);
  }
  std::vector<PatchLevelOnHost> levels;
  for (;;) {
    auto fixed = nodes_of_edges(layout, fixed_edges);
    PatchLevelOnHost level{std::move(layout), std::move(rows), std::move(conductances), std::move(fixed)};
    level.unknowns = unknowns_of(level.layout, fixed_edges);
    if (is_last(level.layout)) {
      levels.push_back(std::move(level));
      return levels;
    }
    auto crossed = crossed_edges(level.layout, level.conductances);
    if (level.layout.is_part()) crossed = any_of(*ranks, crossed);
    level.lines = plan_lines(level.layout, crossed, fixed_edges);
    if (level.layout.is_part())
      level.distributed = distributed_lines(*ranks, level.layout, level.rows, level.fixed, level.lines);
    PatchLayout next = level.layout.coarser();
    const bool gathered = next.is_part() && !is_distributed(next);
    if (gathered) next = next.complete();
    level.weights = interpolation_weights(level.layout, next, level.conductances, ranks);
    rows = galerkin(level.layout, next, level.weights, level.rows, threads);
    conductances = coarser(level.layout, next, level.conductances);
    if (gathered) gather_parts(*ranks, next, next, rows, conductances);
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
