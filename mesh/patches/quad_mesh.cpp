#include <stratum/mesh/patches/quad_mesh.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/patches/patch_text.hpp>

namespace stratum {

namespace {

std::size_t index(int number) { return static_cast<std::size_t>(number); }

/// Edges, cuts and patches of a mesh of quadrilaterals.
class Complex {
 public:
  Complex(const QuadMesh& mesh, const std::string& name) : mesh_(mesh), name_(name), star_(mesh.nodes.size()) {
    std::map<std::pair<int, int>, int> numbers;
    edges_of_quads_.resize(mesh.quads.size());
    quads_at_.assign(mesh.nodes.size(), 0);
    for (int q = 0; q < static_cast<int>(mesh.quads.size()); ++q)
      for (int l = 0; l < 4; ++l) {
        const int a = node(q, l), b = node(q, l + 1);
        ++quads_at_[index(a)];
        const auto [found, is_new] = numbers.try_emplace(std::minmax(a, b), static_cast<int>(edges_.size()));
        if (is_new) {
          edges_.push_back({a, b, {-1, -1}});
          star_[index(a)].push_back(found->second);
          star_[index(b)].push_back(found->second);
        }
        Edge& edge = edges_[index(found->second)];
        expects(edge.quads[1] < 0, "'", name_, "': the edge from (", mesh.nodes[index(a)].x, ", ",
                mesh.nodes[index(a)].y, ") to (", mesh.nodes[index(b)].x, ", ", mesh.nodes[index(b)].y,
                ") belongs to three quadrilaterals");
        edge.quads[edge.quads[0] < 0 ? 0 : 1] = q;
        edges_of_quads_[index(q)][index(l)] = found->second;
      }
    on_boundary_.assign(mesh.nodes.size(), false);
    cut_.assign(edges_.size(), false);
    std::vector<int> all;
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      const auto& [a, b, quads] = edges_[e];
      if (quads[1] < 0) on_boundary_[index(a)] = on_boundary_[index(b)] = true;
      cut_[e] = quads[1] < 0 || region(quads[0]) != region(quads[1]);
    }
    for (std::size_t v = 0; v < mesh.nodes.size(); ++v)
      if (!star_[v].empty()) all.push_back(static_cast<int>(v));
    end_boundaries(numbers);
    close(std::move(all));
  }

  /// An edge of one quadrilateral lies between these nodes.
  [[nodiscard]] bool on_boundary(int a, int b) const {
    return std::any_of(star_[index(a)].begin(), star_[index(a)].end(), [&](int e) {
      const auto& [first, second, quads] = edges_[index(e)];
      return quads[1] < 0 && (first == b || second == b);
    });
  }

  /// Grids of nodes; cuts annuli on the way.
  std::vector<PatchGrid> patches(std::vector<int>& regions) {
    for (;;) {
      std::vector<PatchGrid> grids;
      regions.clear();
      std::vector<bool> seen(mesh_.quads.size(), false);
      bool again = false;
      for (int start = 0; start < static_cast<int>(seen.size()) && !again; ++start) {
        if (seen[index(start)]) continue;
        const auto members = flood(start, seen);
        auto grid = ordered(members);
        if (!grid) {
          cut_ring(members);
          again = true;
        } else {
          expects(grids.size() < index(max_patches), "'", name_, "' is no structured mesh: its ", mesh_.quads.size(),
                  " quadrilaterals make more than ", max_patches,
                  " patches; mesh with transfinite surfaces instead of paving");
          grids.push_back(std::move(*grid));
          regions.push_back(region(start));
        }
      }
      if (!again) return grids;
    }
  }

 private:
  struct Edge {
    int first, second;
    std::array<int, 2> quads;
  };

  [[nodiscard]] int node(int q, int l) const { return mesh_.quads[index(q)][index(l % 4)]; }
  [[nodiscard]] int edge_of(int q, int l) const { return edges_of_quads_[index(q)][index(l % 4)]; }
  [[nodiscard]] bool is_cut(int q, int l) const { return cut_[index(edge_of(q, l))]; }
  [[nodiscard]] int region(int q) const { return mesh_.regions.empty() ? 0 : mesh_.regions[index(q)]; }

  /// Straight on through a regular node inside: the edge that shares no quadrilateral.
  [[nodiscard]] int opposite(int v, int e) const {
    const auto& mine = edges_[index(e)].quads;
    for (const int f : star_[index(v)]) {
      const auto& its = edges_[index(f)].quads;
      if (f != e && its[0] != mine[0] && its[0] != mine[1] && (its[1] < 0 || (its[1] != mine[0] && its[1] != mine[1])))
        return f;
    }
    return e;  // two quadrilaterals that are neighbours twice
  }

  /// A boundary ends where the next edge of the mesh's boundary has another name: patches end there, too.
  void end_boundaries(const std::map<std::pair<int, int>, int>& numbers) {
    std::vector<std::string> names(edges_.size());
    for (const auto& [first, second, name] : mesh_.lines)
      if (const auto found = numbers.find(std::minmax(first, second)); found != numbers.end())
        names[index(found->second)] = name;
    ends_.assign(star_.size(), false);
    for (std::size_t v = 0; v < star_.size(); ++v) {
      const std::string* own = nullptr;
      for (const int e : star_[v]) {
        if (edges_[index(e)].quads[1] >= 0) continue;
        if (own != nullptr && *own != names[index(e)]) ends_[v] = true;
        own = &names[index(e)];
      }
    }
  }

  void close(std::vector<int> queue) {
    while (!queue.empty()) {
      const int v = queue.back();
      queue.pop_back();
      const auto& star = star_[index(v)];
      bool all = on_boundary_[index(v)] ? quads_at_[index(v)] != 2 || ends_[index(v)] : quads_at_[index(v)] != 4;
      std::vector<int> want;
      if (!all) {
        std::vector<int> cuts;
        for (const int e : star)
          if (cut_[index(e)]) cuts.push_back(e);
        if (on_boundary_[index(v)]) {
          // Between regions of the two quadrilaterals, or none: an edge inside is cut or not.
        } else if (cuts.size() > 2) {
          all = true;
        } else {
          for (const int e : cuts) want.push_back(opposite(v, e));
          if (cuts.size() == 2 && opposite(v, cuts[0]) != cuts[1]) all = true;
        }
      }
      if (all) want = star;
      for (const int e : want) {
        if (cut_[index(e)]) continue;
        cut_[index(e)] = true;
        queue.push_back(edges_[index(e)].first);
        queue.push_back(edges_[index(e)].second);
      }
    }
  }

  std::vector<int> flood(int start, std::vector<bool>& seen) const {
    std::vector<int> members{start};
    seen[index(start)] = true;
    for (std::size_t k = 0; k < members.size(); ++k)
      for (int l = 0; l < 4; ++l) {
        if (is_cut(members[k], l)) continue;
        const int other = across(members[k], l);
        if (other < 0 || seen[index(other)]) continue;
        seen[index(other)] = true;
        members.push_back(other);
      }
    return members;
  }

  /// The quadrilateral beyond a local edge; -1: none.
  [[nodiscard]] int across(int q, int l) const {
    const auto& quads = edges_[index(edge_of(q, l))].quads;
    return quads[0] == q ? quads[1] : quads[0];
  }
  /// The next one and its local edge through which it was entered, not through cuts.
  [[nodiscard]] std::optional<std::pair<int, int>> step(int q, int l) const {
    if (is_cut(q, l)) return std::nullopt;
    const int other = across(q, l);
    if (other < 0) return std::nullopt;
    for (int m = 0; m < 4; ++m)
      if (edge_of(other, m) == edge_of(q, l)) return std::pair{other, m};
    return std::nullopt;
  }

  /// Rows of quadrilaterals from a corner on; nothing where they are no rectangle.
  [[nodiscard]] std::optional<PatchGrid> ordered(const std::vector<int>& members) const {
    std::optional<std::pair<int, int>> row;  // quadrilateral, and its local edge at the bottom
    for (const int q : members)
      for (int l = 0; l < 4 && !row; ++l)
        if (is_cut(q, l + 3) && is_cut(q, l)) row = {q, l};
    if (!row) return std::nullopt;
    std::vector<std::vector<std::pair<int, int>>> rows;
    std::size_t count = 0;
    while (row) {
      rows.emplace_back();
      auto cell = row;
      while (cell) {
        const auto [q, bottom] = *cell;
        if (++count > members.size()) return std::nullopt;
        rows.back().push_back({q, bottom % 4});
        cell = step(q, bottom + 1);
        if (cell) cell->second += 1;  // entered through its left edge, which follows the top one
      }
      if (rows.back().size() != rows.front().size()) return std::nullopt;
      row = step(row->first, row->second + 2);
    }
    if (count != members.size()) return std::nullopt;
    PatchGrid grid{static_cast<int>(rows.front().size()), static_cast<int>(rows.size()), {}};
    const auto columns = index(grid.nx) + 1;
    grid.nodes.assign(columns * (index(grid.ny) + 1), 0);
    for (std::size_t j = 0; j < rows.size(); ++j)
      for (std::size_t i = 0; i < rows[j].size(); ++i) {
        const auto [q, l] = rows[j][i];
        const std::array<std::size_t, 4> places = {j * columns + i, j * columns + i + 1, (j + 1) * columns + i + 1,
                                                   (j + 1) * columns + i};
        for (int c = 0; c < 4; ++c) grid.nodes[places[index(c)]] = node(q, l + c);
      }
    return grid;
  }

  /// A part without corners goes around: three cuts across it.
  void cut_ring(const std::vector<int>& members) {
    std::vector<int> inner, from_boundary;
    for (const int q : members)
      for (int l = 0; l < 4; ++l) {
        const int e = edge_of(q, l);
        if (cut_[index(e)]) continue;
        inner.push_back(e);
        const auto& [a, b, quads] = edges_[index(e)];
        const bool cut_a = has_cut(a), cut_b = has_cut(b);
        if (cut_a != cut_b) from_boundary.push_back(e);
      }
    expects(!inner.empty(), "'", name_, "': ", members.size(), " quadrilaterals are no rectangle of cells");
    const auto& across_ring = from_boundary.empty() ? inner : from_boundary;
    for (std::size_t k = 0; k < 3; ++k) {
      const int e = across_ring[k * across_ring.size() / 3];
      cut_[index(e)] = true;
      close({edges_[index(e)].first, edges_[index(e)].second});
    }
  }
  [[nodiscard]] bool has_cut(int v) const {
    return std::any_of(star_[index(v)].begin(), star_[index(v)].end(), [&](int e) { return cut_[index(e)]; });
  }

  const QuadMesh& mesh_;
  const std::string& name_;
  std::vector<Edge> edges_;
  std::vector<std::array<int, 4>> edges_of_quads_;
  std::vector<std::vector<int>> star_;  // edges of nodes
  std::vector<int> quads_at_;
  std::vector<bool> on_boundary_, ends_, cut_;
};

}  // namespace

BaseComplex base_complex(QuadMesh mesh, const std::string& name) {
  expects(!mesh.quads.empty(), "'", name, "' has no quadrilaterals");
  const auto count = static_cast<int>(mesh.nodes.size());
  for (auto& quad : mesh.quads) {
    for (std::size_t k = 0; k < 4; ++k) {
      expects(0 <= quad[k] && quad[k] < count, "'", name, "': a quadrilateral has node ", quad[k],
              ", which is not there");
      for (std::size_t l = 0; l < k; ++l)
        expects(quad[k] != quad[l], "'", name, "': a quadrilateral has a node twice, at (",
                mesh.nodes[index(quad[k])].x, ", ", mesh.nodes[index(quad[k])].y, ")");
    }
    // All the same way around.
    const auto at = [&](std::size_t k) { return mesh.nodes[index(quad[k])]; };
    const double area = (at(2).x - at(0).x) * (at(3).y - at(1).y) - (at(2).y - at(0).y) * (at(3).x - at(1).x);
    if (area < 0) std::swap(quad[1], quad[3]);
  }
  BaseComplex result;
  result.parts.nodes = mesh.nodes;
  Complex complex(mesh, name);
  result.parts.patches = complex.patches(result.regions);
  for (const auto& [first, second, boundary] : mesh.lines)
    if (complex.on_boundary(first, second)) result.parts.boundaries.push_back({first, second, boundary});
  const auto& grids = result.parts.patches;
  const auto cells = [](const PatchGrid& grid) { return std::int64_t{grid.nx} * grid.ny; };
  const auto [least, most] = std::minmax_element(grids.begin(), grids.end(),
                                                 [&](const auto& a, const auto& b) { return cells(a) < cells(b); });
  result.summary =
      message(mesh.quads.size(), " quadrilaterals in ", grids.size(), grids.size() == 1 ? " patch" : " patches", " of ",
              least->nx, " x ", least->ny, " to ", most->nx, " x ", most->ny, " cells");
  return result;
}

}  // namespace stratum
