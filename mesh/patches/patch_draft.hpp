#pragma once

// How patches become edges and chords: what the constructors of PatchMesh share.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/patches/patch_mesh.hpp>
#include <stratum/mesh/patches/touching.hpp>

namespace stratum {

namespace detail {

inline Position operator+(const Position& p, const Position& q) { return {p.x + q.x, p.y + q.y}; }
inline Position operator-(const Position& p, const Position& q) { return {p.x - q.x, p.y - q.y}; }
inline Position operator*(double a, const Position& p) { return {a * p.x, a * p.y}; }
inline double length(const Position& p) { return std::hypot(p.x, p.y); }
inline double cross(const Position& p, const Position& q) { return p.x * q.y - p.y * q.x; }
inline bool is_finite(const Position& p) { return std::isfinite(p.x) && std::isfinite(p.y); }

/// Local corners at which a local edge begins and ends.
inline constexpr std::array<std::array<int, 2>, 4> local_ends = {{{0, 1}, {1, 2}, {3, 2}, {0, 3}}};
inline constexpr std::array<int, 4> opposite = {2, 3, 0, 1};

}  // namespace detail

/// Joins patches into edges and chords, and numbers them.
struct PatchMesh::Draft {
  /// What tells edges apart: their vertices, and a number where two edges have the same ones.
  using Key = std::tuple<int, int, std::int64_t>;

  Shared& mesh;
  std::map<Key, int> numbers{};
  std::vector<bool> twisted{};  // chords that come back the other way

  [[nodiscard]] std::string vertex_name(int v) const {
    return mesh.vertex_names.empty() ? std::to_string(v) : mesh.vertex_names[index(v)];
  }
  [[nodiscard]] std::string edge_name(int e) const {
    const PatchEdge& edge = mesh.edges[index(e)];
    return message("edge ", vertex_name(edge.first), " ", vertex_name(edge.second));
  }

  /// The edge from vertex a to vertex b as a local edge of a patch. `forward`: an edge that is known runs the same way.
  void add_local(int patch, int local, int a, int b, std::int64_t tag, std::optional<bool> forward) {
    const auto [found, is_new] =
        numbers.try_emplace({std::min(a, b), std::max(a, b), tag}, static_cast<int>(mesh.edges.size()));
    const int number = found->second;
    if (is_new) {
      mesh.edges.emplace_back();
      mesh.edges.back().first = a;
      mesh.edges.back().second = b;
    }
    PatchEdge& edge = mesh.edges[index(number)];
    const bool reverse = is_new ? false : forward ? !*forward : edge.first != a;
    if (edge.sides.size() == 2)
      throw UsageError(message(edge_name(number), " belongs to three patches, ", edge.sides.front().patch, ", ",
                               edge.sides.back().patch, " and ", patch, "; an edge has one patch or two"));
    edge.sides.push_back({patch, local});
    mesh.local[index(patch)][index(local)] = {number, reverse};
  }

  void join_chords() {
    std::vector<bool> known(mesh.edges.size(), false);
    int chord = 0;
    for (std::size_t start = 0; start < mesh.edges.size(); ++start) {
      if (known[start]) continue;
      std::vector<int> stack{static_cast<int>(start)};
      known[start] = true;
      mesh.edges[start].chord = chord;
      twisted.push_back(false);
      while (!stack.empty()) {
        const int number = stack.back();
        stack.pop_back();
        const PatchEdge& edge = mesh.edges[index(number)];
        for (const auto& [patch, local] : edge.sides) {
          const auto& row = mesh.local[index(patch)];
          const OrientedEdge own = row[index(local)], across = row[index(detail::opposite[index(local)])];
          const bool against = edge.against_chord != (own.reversed != across.reversed);
          PatchEdge& other = mesh.edges[index(across.number)];
          if (!known[index(across.number)]) {
            known[index(across.number)] = true;
            other.chord = chord;
            other.against_chord = against;
            stack.push_back(across.number);
          } else if (other.against_chord != against) {
            twisted.back() = true;
          }
        }
      }
      ++chord;
    }
  }

  /// Patches on both sides of every edge, or on one and nothing on the other.
  void check_sides() const {
    for (std::size_t e = 0; e < mesh.edges.size(); ++e) {
      const PatchEdge& edge = mesh.edges[e];
      if (edge.on_boundary()) continue;
      // The direction in which the boundary of a patch runs along the edge, anticlockwise.
      const auto along = [&](const PatchEdge::Side& side) {
        return mesh.local[index(side.patch)][index(side.local)].reversed != (side.local >= 2);
      };
      expects(along(edge.sides[0]) != along(edge.sides[1]), "patches ", edge.sides[0].patch, " and ",
              edge.sides[1].patch, " lie on the same side of their ", edge_name(static_cast<int>(e)),
              ": the mesh is folded there");
    }
  }

  void list_vertices() {
    mesh.vertex_edges.resize(mesh.vertices.size());
    mesh.vertex_patches.resize(mesh.vertices.size());
    mesh.on_boundary.assign(mesh.vertices.size(), false);
    for (std::size_t e = 0; e < mesh.edges.size(); ++e)
      for (const int v : {mesh.edges[e].first, mesh.edges[e].second}) {
        mesh.vertex_edges[index(v)].push_back(static_cast<int>(e));
        if (mesh.edges[e].on_boundary()) mesh.on_boundary[index(v)] = true;
      }
    for (std::size_t p = 0; p < mesh.corners.size(); ++p)
      for (int c = 0; c < 4; ++c)
        mesh.vertex_patches[index(mesh.corners[p][index(c)])].push_back({static_cast<int>(p), c});
  }

  int boundary_number(const std::string& name) {
    const auto found = std::find(mesh.boundary_names.begin(), mesh.boundary_names.end(), name);
    const auto number = found - mesh.boundary_names.begin();
    if (found == mesh.boundary_names.end()) mesh.boundary_names.push_back(name);
    return static_cast<int>(number);
  }

  void name_boundary(int number, const std::string& name, const std::string& what) {
    PatchEdge& edge = mesh.edges[index(number)];
    expects(edge.on_boundary(), what, " lies inside, between patches ", edge.sides.front().patch, " and ",
            edge.sides.back().patch, ", and cannot be part of the boundary '", name, "'");
    const int boundary = boundary_number(name);
    expects(edge.boundary < 0 || edge.boundary == boundary, what, " is part of two boundaries, '",
            edge.boundary < 0 ? name : mesh.boundary_names[index(edge.boundary)], "' and '", name, "'");
    edge.boundary = boundary;
  }

  /// Boundaries that nobody has named one by one may be edges of patches that do not match.
  void check_matching() const {
    constexpr const char* joined = "Patches meet in whole edges and have their vertices in common; boundaries that "
                                   "touch (a crack) are named one by one";
    std::vector<int> candidates;
    for (std::size_t v = 0; v < mesh.vertices.size(); ++v)
      if (mesh.on_boundary[v]) candidates.push_back(static_cast<int>(v));
    std::vector<std::pair<int, int>> edges;
    std::vector<int> patches;
    for (std::size_t e = 0; e < mesh.edges.size(); ++e) {
      const PatchEdge& edge = mesh.edges[e];
      if (!edge.on_boundary() || edge.boundary >= 0 || mesh.curves[e].kind != EdgeCurve::Kind::straight) continue;
      edges.emplace_back(edge.first, edge.second);
      patches.push_back(edge.sides.front().patch);
    }
    const auto name_of = [&](const std::pair<int, int>& edge) {
      return message("edge ", vertex_name(edge.first), " ", vertex_name(edge.second));
    };
    if (const auto touch = detail::first_touch(mesh.vertices, std::move(candidates), edges))
      throw UsageError(message("vertex ", vertex_name(touch->point), " lies on ", name_of(edges[touch->edge]),
                               ", which it is no end of: the patches do not match there. ", joined));
    if (const auto pair = detail::first_meeting(mesh.vertices, edges, patches)) {
      const auto& [one, other, same] = *pair;
      throw UsageError(
          message(name_of(edges[one]), " and ", name_of(edges[other]),
                  same ? " lie at the same place: the patches are not joined there. " : " cross: the patches overlap. ",
                  joined));
    }
  }

  void name_other_boundaries(const std::string& name) {
    std::string unnamed;
    int count = 0;
    for (std::size_t e = 0; e < mesh.edges.size(); ++e) {
      PatchEdge& edge = mesh.edges[e];
      if (!edge.on_boundary() || edge.boundary >= 0) continue;
      if (!name.empty()) {
        edge.boundary = boundary_number(name);
        continue;
      }
      if (++count <= 3) unnamed += message(count > 1 ? ", " : "", edge_name(static_cast<int>(e)));
    }
    expects(count == 0, count == 1 ? "a boundary edge has no name: " : message(count, " boundary edges have no name: "),
            unnamed, count > 3 ? ", ..." : "",
            "; name them, or all others at once. If another patch lies beyond such an edge, the two patches do not "
            "have both its ends in common");
  }
};

}  // namespace stratum
