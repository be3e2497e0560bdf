#include <stratum/mesh/patches/patch_geometries.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <set>
#include <utility>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

constexpr double pi = std::numbers::pi;

std::size_t index(int number) { return static_cast<std::size_t>(number); }

Position on_circle(double angle, double radius = 1, const Position& centre = {}) {
  return {centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)};
}

PatchEdgeParts named(int first, int second, std::string boundary) {
  PatchEdgeParts edge;
  edge.first = first;
  edge.second = second;
  edge.boundary = std::move(boundary);
  return edge;
}

PatchEdgeParts arc(int first, int second, const Position& centre, std::string boundary = {}) {
  PatchEdgeParts edge = named(first, second, std::move(boundary));
  edge.curve.kind = EdgeCurve::Kind::arc;
  edge.curve.centre = centre;
  return edge;
}

/// m x n squares, without those for which `left_out` is true; vertices (x, y) = (i, j) in their numbers.
template <class LeftOut>
PatchMeshParts squares(int m, int n, const LeftOut& left_out) {
  PatchMeshParts parts;
  std::map<std::pair<int, int>, int> numbers;
  const auto vertex = [&](int i, int j) {
    const auto [found, is_new] = numbers.try_emplace({j, i}, static_cast<int>(parts.vertices.size()));
    if (is_new) parts.vertices.push_back({static_cast<double>(i), static_cast<double>(j)});
    return found->second;
  };
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i)
      if (!left_out(i, j))
        parts.patches.push_back({vertex(i, j), vertex(i + 1, j), vertex(i + 1, j + 1), vertex(i, j + 1)});
  return parts;
}

/// Edges of one patch.
std::vector<std::pair<int, int>> boundary_edges(const PatchMeshParts& parts) {
  std::map<std::pair<int, int>, int> count;
  for (const auto& p : parts.patches)
    for (int l = 0; l < 4; ++l) ++count[std::minmax(p[index(l)], p[index((l + 1) % 4)])];
  std::vector<std::pair<int, int>> edges;
  for (const auto& [edge, patches] : count)
    if (patches == 1) edges.push_back(edge);
  return edges;
}

}  // namespace

PatchMeshParts l_shape() {
  PatchMeshParts parts = squares(2, 2, [](int i, int j) { return i == 1 && j == 0; });
  for (Position& v : parts.vertices) v = {v.x - 1, v.y - 1};
  parts.other_boundaries = "wall";
  return parts;
}

PatchMeshParts square_with_hole() {
  PatchMeshParts parts = squares(3, 3, [](int i, int j) { return i == 1 && j == 1; });
  for (Position& v : parts.vertices) v = {v.x - 1.5, v.y - 1.5};
  const auto inside = [&](int v) {
    return std::max(std::abs(parts.vertices[index(v)].x), std::abs(parts.vertices[index(v)].y)) < 1;
  };
  for (const auto& [a, b] : boundary_edges(parts))
    if (inside(a) && inside(b)) parts.edges.push_back(named(a, b, "wall"));
  parts.other_boundaries = "outer";
  return parts;
}

PatchMeshParts cylinder_in_channel() {
  PatchMeshParts parts;
  const Position centre{0.2, 0.2};
  for (int k = 0; k < 8; ++k) parts.vertices.push_back(on_circle(pi * (k - 3) / 4, 0.05, centre));
  for (const Position& v : {Position{0, 0}, {.2, 0}, {.41, 0}, {.41, .2}, {.41, .41}, {.2, .41}, {0, .41}, {0, .2}})
    parts.vertices.push_back(v);
  for (int k = 0; k < 8; ++k) {
    const int next = (k + 1) % 8;
    parts.patches.push_back({k, 8 + k, 8 + next, next});
    parts.edges.push_back(arc(k, next, centre, "wall"));
  }
  parts.edges.push_back(named(14, 15, "inlet"));
  parts.edges.push_back(named(15, 8, "inlet"));
  std::array<int, 3> before = {10, 11, 12};
  for (const double x : {.86, 1.53, 2.2}) {
    const int base = static_cast<int>(parts.vertices.size());
    for (const double y : {0., .2, .41}) parts.vertices.push_back({x, y});
    for (int j = 0; j < 2; ++j)
      parts.patches.push_back({before[index(j)], base + j, base + j + 1, before[index(j + 1)]});
    before = {base, base + 1, base + 2};
  }
  parts.edges.push_back(named(before[0], before[1], "outlet"));
  parts.edges.push_back(named(before[1], before[2], "outlet"));
  parts.other_boundaries = "channel";
  return parts;
}

PatchMeshParts c_grid() {
  constexpr double radius = 2, half = 0.25;
  PatchMeshParts parts;
  parts.vertices = {{0, -half},   {-half, 0},   {0, half},   {1, 0},  // lower shoulder, nose, upper shoulder, tail
                    {0, -radius}, {-radius, 0}, {0, radius}, {1, radius},
                    {1, -radius}, {4, 0},       {4, radius}, {4, -radius}};
  parts.patches = {{1, 0, 4, 5}, {2, 1, 5, 6}, {3, 2, 6, 7}, {0, 3, 8, 4}, {9, 3, 7, 10}, {3, 9, 11, 8}};
  parts.edges = {arc(0, 1, {}, "wall"), arc(1, 2, {}, "wall"), named(2, 3, "wall"),
                 named(0, 3, "wall"),   arc(4, 5, {}),         arc(5, 6, {})};
  parts.other_boundaries = "outer";
  return parts;
}

PatchMeshParts pipe_section() {
  const double q = 1 / std::numbers::sqrt2, b = 0.45 * q;
  PatchMeshParts parts;
  parts.vertices = {{-b, -b}, {b, -b}, {b, b}, {-b, b}, {-q, -q}, {q, -q}, {q, q}, {-q, q}};
  parts.patches = {{0, 1, 2, 3}};
  for (int k = 0; k < 4; ++k) {
    const int next = (k + 1) % 4;
    parts.patches.push_back({4 + k, 4 + next, next, k});
    parts.edges.push_back(arc(4 + k, 4 + next, {}, "wall"));
  }
  return parts;
}

PatchMeshParts star(int patches) {
  expects(patches >= 3, "a star has at least 3 patches, not ", patches);
  PatchMeshParts parts;
  parts.vertices = {{0, 0}};
  const auto angle = [&](int k) { return 2 * pi * k / patches; };
  for (int k = 0; k < patches; ++k) parts.vertices.push_back(on_circle(angle(k)));
  for (int k = 0; k < patches; ++k) {
    const Position a = on_circle(angle(k)), b = on_circle(angle(k + 1));
    parts.vertices.push_back({(a.x + b.x) / 2, (a.y + b.y) / 2});
  }
  for (int k = 0; k < patches; ++k)
    parts.patches.push_back({0, 1 + patches + (k + patches - 1) % patches, 1 + k, 1 + patches + k});
  parts.other_boundaries = "outer";
  return parts;
}

PatchMeshParts patch_grid(int m, int n) {
  expects(m >= 1 && n >= 1, "a grid has at least 1 x 1 patches, not ", m, " x ", n);
  PatchMeshParts parts = squares(m, n, [](int, int) { return false; });
  for (Position& v : parts.vertices) v = {v.x / m, v.y / n};
  for (const auto& [a, b] : boundary_edges(parts)) {
    const Position &p = parts.vertices[index(a)], &q = parts.vertices[index(b)];
    parts.edges.push_back(named(a, b,
                                p.x == 0 && q.x == 0   ? "left"
                                : p.x == 1 && q.x == 1 ? "right"
                                : p.y == 0 && q.y == 0 ? "bottom"
                                                       : "top"));
  }
  return parts;
}

PatchMeshParts triangle_patches(int k, std::uint64_t seed, double jitter) {
  expects(k >= 1, "at least 1 x 1 squares are cut into triangles, not ", k);
  std::mt19937_64 random(seed);
  const auto draw = [&random] { return std::ldexp(static_cast<double>(random() >> 11), -53); };  // in [0, 1)
  PatchMeshParts parts;
  for (int j = 0; j <= k; ++j)
    for (int i = 0; i <= k; ++i) {
      Position v{static_cast<double>(i) / k, static_cast<double>(j) / k};
      if (0 < i && i < k && 0 < j && j < k) {
        const double right = 2 * draw() - 1, up = 2 * draw() - 1;
        v = {v.x + jitter / k * right, v.y + jitter / k * up};
      }
      parts.vertices.push_back(v);
    }
  std::vector<std::array<int, 3>> triangles;
  for (int j = 0; j < k; ++j)
    for (int i = 0; i < k; ++i) {
      const int a = j * (k + 1) + i, b = a + 1, c = a + k + 2, d = a + k + 1;
      if (draw() < 0.5) {
        triangles.push_back({a, b, c});
        triangles.push_back({a, c, d});
      } else {
        triangles.push_back({a, b, d});
        triangles.push_back({b, c, d});
      }
    }
  std::map<std::pair<int, int>, int> middles;
  const auto middle = [&](int a, int b) {
    const auto [found, is_new] = middles.try_emplace(std::minmax(a, b), static_cast<int>(parts.vertices.size()));
    const Position p = parts.vertices[index(a)], q = parts.vertices[index(b)];
    if (is_new) parts.vertices.push_back({(p.x + q.x) / 2, (p.y + q.y) / 2});
    return found->second;
  };
  for (const auto& [a, b, c] : triangles) {
    const int centre = static_cast<int>(parts.vertices.size());
    const Position p = parts.vertices[index(a)], q = parts.vertices[index(b)], r = parts.vertices[index(c)];
    parts.vertices.push_back({(p.x + q.x + r.x) / 3, (p.y + q.y + r.y) / 3});
    const int ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
    parts.patches.push_back({a, ab, centre, ca});
    parts.patches.push_back({b, bc, centre, ab});
    parts.patches.push_back({c, ca, centre, bc});
  }
  parts.other_boundaries = "outer";
  return parts;
}

PatchMeshParts patch_ring(int patches) {
  expects(patches >= 3, "an annulus has at least 3 patches, not ", patches);
  PatchMeshParts parts;
  for (const double radius : {1., 2.})
    for (int k = 0; k < patches; ++k) parts.vertices.push_back(on_circle(2 * pi * k / patches, radius));
  for (int k = 0; k < patches; ++k) {
    const int next = (k + 1) % patches;
    parts.patches.push_back({k, patches + k, patches + next, next});
    parts.edges.push_back(arc(k, next, {}, "wall"));
    parts.edges.push_back(arc(patches + k, patches + next, {}, "outer"));
  }
  return parts;
}

std::vector<int> vertices_of_boundary(const PatchMeshParts& parts, const std::string& name) {
  std::set<int> found;
  std::set<std::pair<int, int>> others;
  for (const PatchEdgeParts& edge : parts.edges) {
    if (edge.boundary.empty()) continue;
    others.insert(std::minmax(edge.first, edge.second));
    if (edge.boundary == name) found.insert({edge.first, edge.second});
  }
  if (parts.other_boundaries == name)
    for (const auto& edge : boundary_edges(parts))
      if (!others.contains(edge)) found.insert({edge.first, edge.second});
  return {found.begin(), found.end()};
}

PatchMeshParts graded_towards(PatchMeshParts parts, const std::vector<int>& vertices, const VertexGrading& grading) {
  const PatchMesh mesh(parts);
  const std::set<int> thin(vertices.begin(), vertices.end());
  const auto chords = index(mesh.chords());
  std::vector<bool> at_first(chords), at_last(chords);
  std::vector<int> edge_of(chords, -1);
  for (int e = 0; e < mesh.edges(); ++e) {
    const PatchEdge& edge = mesh.edge(e);
    const auto chord = index(edge.chord);
    if (edge_of[chord] < 0) edge_of[chord] = e;
    const bool first = thin.contains(edge.first), second = thin.contains(edge.second);
    if (first && second && edge.on_boundary()) continue;
    if (edge.against_chord ? second : first) at_first[chord] = true;
    if (edge.against_chord ? first : second) at_last[chord] = true;
  }
  for (std::size_t c = 0; c < chords; ++c) {
    if (!at_first[c] && !at_last[c]) continue;
    const bool both = at_first[c] && at_last[c];
    const auto side = both ? GradedSide::both : at_first[c] ? GradedSide::first : GradedSide::last;
    std::vector<double> widths;
    if (grading.kind == VertexGrading::Kind::smallest) {
      // Of both halves if thin at both ends: the fraction is that of a half.
      widths = geometric_with_smallest(1, parts.cells, both ? grading.value / 2 : grading.value, side).widths();
    } else {
      int level = 0;
      while (2 << level <= (both ? parts.cells / 2 : parts.cells)) ++level;
      expects((both ? 2 : 1) << level == parts.cells, "repeated bisection gives a power of two cells, not ",
              parts.cells);
      widths = bisected(1, level, ThinSide::first, grading.value).widths();
      const std::vector<double> last(widths.rbegin(), widths.rend());
      if (both) {
        widths.insert(widths.end(), last.begin(), last.end());
      } else if (!at_first[c]) {
        widths = last;
      }
    }
    const PatchEdge& edge = mesh.edge(edge_of[c]);
    if (edge.against_chord) std::reverse(widths.begin(), widths.end());
    PatchEdgeParts said;
    said.first = edge.first;
    said.second = edge.second;
    said.widths = std::move(widths);
    parts.edges.push_back(std::move(said));
  }
  return parts;
}

PatchMeshParts turned_at_random(PatchMeshParts parts, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (auto& patch : parts.patches) std::rotate(patch.begin(), patch.begin() + random() % 4, patch.end());
  return parts;
}

}  // namespace stratum
