#include <stratum/mesh/patches/patch_mesh.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <tuple>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/patches/touching.hpp>

namespace stratum {

namespace {

Position operator+(const Position& p, const Position& q) { return {p.x + q.x, p.y + q.y}; }
Position operator-(const Position& p, const Position& q) { return {p.x - q.x, p.y - q.y}; }
Position operator*(double a, const Position& p) { return {a * p.x, a * p.y}; }
double length(const Position& p) { return std::hypot(p.x, p.y); }
double cross(const Position& p, const Position& q) { return p.x * q.y - p.y * q.x; }
bool is_finite(const Position& p) { return std::isfinite(p.x) && std::isfinite(p.y); }

/// Local corners at which a local edge begins and ends.
constexpr std::array<std::array<int, 2>, 4> ends = {{{0, 1}, {1, 2}, {3, 2}, {0, 3}}};
constexpr std::array<int, 4> opposite = {2, 3, 0, 1};

/// Widths are the same but for rounding.
bool same_widths(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double rounding = 1e-12;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double v, double w) { return std::abs(v - w) <= rounding * v; });
}

std::vector<double> reversed(std::vector<double> widths) {
  std::reverse(widths.begin(), widths.end());
  return widths;
}

/// Of length 1.
std::vector<double> scaled(const std::vector<double>& widths, double whole) {
  std::vector<double> fractions;
  fractions.reserve(widths.size());
  for (const double w : widths) fractions.push_back(w / whole);
  return fractions;
}

/// From the centre of an arc to its ends.
struct Arc {
  Position centre;
  double radius_first, radius_last, angle_first, turn;

  [[nodiscard]] double radius(double t) const { return (1 - t) * radius_first + t * radius_last; }
  [[nodiscard]] Position towards(double t) const {
    const double angle = angle_first + t * turn;
    return {std::cos(angle), std::sin(angle)};
  }
  [[nodiscard]] Position at(double t) const { return centre + radius(t) * towards(t); }
  /// From t to t + width, without a difference of positions.
  [[nodiscard]] Position step(double t, double width) const {
    const Position middle = towards(t + width / 2);
    return (width * (radius_last - radius_first)) * towards(t + width) +
           (radius(t) * 2 * std::sin(width * turn / 2)) * Position{-middle.y, middle.x};
  }
};

Arc arc_between(const Position& first, const Position& last, const Position& centre, const std::string& edge) {
  const Position a = first - centre, b = last - centre;
  const double ra = length(a), rb = length(b), turn = std::atan2(cross(a, b), a.x * b.x + a.y * b.y);
  expects(ra > 0 && rb > 0, edge, ": the centre of the arc, (", centre.x, ", ", centre.y, "), is one of its ends");
  expects(std::abs(turn) < std::numbers::pi * (1 - 1e-9), edge, ": an arc of half a turn can go either way around (",
          centre.x, ", ", centre.y, "); put a vertex between its ends");
  return {centre, ra, rb, std::atan2(a.y, a.x), turn};
}

}  // namespace

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
    expects(edge.sides.size() < 2, edge_name(number), " belongs to three patches, ", edge.sides.front().patch, ", ",
            edge.sides.back().patch, " and ", patch, "; an edge has one patch or two");
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
          const OrientedEdge own = row[index(local)], across = row[index(opposite[index(local)])];
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
    std::vector<int> candidates;
    for (std::size_t v = 0; v < mesh.vertices.size(); ++v)
      if (mesh.on_boundary[v]) candidates.push_back(static_cast<int>(v));
    std::vector<std::pair<int, int>> edges;
    for (std::size_t e = 0; e < mesh.edges.size(); ++e) {
      const PatchEdge& edge = mesh.edges[e];
      if (edge.on_boundary() && edge.boundary < 0 && mesh.curves[e].kind == EdgeCurve::Kind::straight)
        edges.emplace_back(edge.first, edge.second);
    }
    const auto touch = detail::first_touch(mesh.vertices, std::move(candidates), edges);
    if (!touch) return;
    const auto& [first, second] = edges[touch->edge];
    throw UsageError(message("vertex ", vertex_name(touch->point), " lies on edge ", vertex_name(first), " ",
                             vertex_name(second),
                             ", which it is no end of: the patches do not match there. Patches meet in whole edges; "
                             "boundaries that touch (a crack) are named one by one"));
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

PatchMesh::PatchMesh(const PatchMeshParts& parts) {
  auto shared = std::make_shared<Shared>();
  Shared& mesh = *shared;
  mesh.vertices = parts.vertices;
  mesh.vertex_names = parts.vertex_names;
  mesh.local.resize(parts.patches.size());
  Draft draft{mesh};
  const auto count = static_cast<int>(parts.vertices.size());
  expects(mesh.vertex_names.empty() || mesh.vertex_names.size() == mesh.vertices.size(), "a mesh of ", count,
          " vertices has as many names, not ", mesh.vertex_names.size());
  expects(!parts.patches.empty(), "a mesh of patches needs at least one patch");
  for (int v = 0; v < count; ++v)
    expects(is_finite(mesh.vertices[index(v)]), "vertex ", draft.vertex_name(v), " lies at (",
            mesh.vertices[index(v)].x, ", ", mesh.vertices[index(v)].y, "); positions must be finite");
  for (std::size_t p = 0; p < parts.patches.size(); ++p) {
    auto corners = parts.patches[p];
    for (const int v : corners) expects(0 <= v && v < count, "patch ", p, " has vertex ", v, "; there are ", count);
    for (int k = 0; k < 4; ++k)
      for (int l = 0; l < k; ++l)
        expects(corners[index(k)] != corners[index(l)], "patch ", p, " has vertex ",
                draft.vertex_name(corners[index(k)]), " twice; patches are quadrilaterals");
    const auto at = [&](int k) { return mesh.vertices[index(corners[index(k)])]; };
    if (cross(at(2) - at(0), at(3) - at(1)) < 0) std::swap(corners[1], corners[3]);
    mesh.corners.push_back(corners);
    for (int l = 0; l < 4; ++l)
      draft.add_local(static_cast<int>(p), l, corners[index(ends[index(l)][0])], corners[index(ends[index(l)][1])], 0,
                      {});
  }
  draft.join_chords();
  draft.list_vertices();

  // What is said of edges, spread over their chords.
  struct Said {
    int cells = 0;
    std::string cells_from{}, widths_from{};
    std::vector<double> widths{};
  };
  std::vector<Said> said(draft.twisted.size());
  mesh.curves.resize(mesh.edges.size());
  std::vector<std::pair<int, const PatchEdgeParts*>> graded;
  const auto set_cells = [&](int chord, int cells, const std::string& what) {
    Said& own = said[index(chord)];
    expects(cells >= 1 && cells <= max_cells, what, " has 1 to ", max_cells, " cells, not ", cells);
    expects(own.cells == 0 || own.cells == cells, what, " has ", cells, " cells, but ", own.cells_from, " has ",
            own.cells, "; edges that face each other across patches have the same number");
    own.cells = cells;
    if (own.cells_from.empty()) own.cells_from = what;
  };
  for (const PatchEdgeParts& edge : parts.edges) {
    const std::string prefix = edge.where.empty() ? "" : edge.where + ": ";
    expects(0 <= edge.first && edge.first < count && 0 <= edge.second && edge.second < count, prefix, "edge ",
            edge.first, " ", edge.second, ": vertices are numbered from 0 to ", count - 1);
    const std::string what =
        message(prefix, "edge ", draft.vertex_name(edge.first), " ", draft.vertex_name(edge.second));
    const auto found = draft.numbers.find({std::min(edge.first, edge.second), std::max(edge.first, edge.second), 0});
    expects(found != draft.numbers.end(), what, " is no edge of a patch");
    const int number = found->second;
    const PatchEdge& own = mesh.edges[index(number)];
    if (!edge.boundary.empty()) draft.name_boundary(number, edge.boundary, what);
    if (edge.curve.kind != EdgeCurve::Kind::straight) {
      EdgeCurve& curve = mesh.curves[index(number)];
      expects(curve.kind == EdgeCurve::Kind::straight, what, " has two curves");
      curve = edge.curve;
      if (curve.kind == EdgeCurve::Kind::function && own.first != edge.first)
        curve.at = [given = edge.curve.at](double t) { return given(1 - t); };
    }
    if (edge.cells != 0) set_cells(own.chord, edge.cells, what);
    if (edge.grading || !edge.widths.empty()) graded.emplace_back(number, &edge);
  }
  // Files and lists have numbers of their own; gradings by formula take those of their chords.
  const auto grade = [&](int number, const PatchEdgeParts& edge, const std::vector<double>& widths) {
    const PatchEdge& own = mesh.edges[index(number)];
    const std::string what = message(edge.where.empty() ? "" : edge.where + ": ", "edge ",
                                     draft.vertex_name(edge.first), " ", draft.vertex_name(edge.second));
    const bool against = own.against_chord != (own.first != edge.first);
    Said& chord = said[index(own.chord)];
    set_cells(own.chord, static_cast<int>(widths.size()), what);
    const auto in_chord = against ? reversed(widths) : widths;
    expects(chord.widths.empty() || same_widths(chord.widths, in_chord), what, " has another grading than ",
            chord.widths_from,
            "; edges that face each other across patches have the same intervals, in the same direction");
    expects(!draft.twisted[index(own.chord)] || same_widths(in_chord, reversed(in_chord)), what,
            ": the row of patches that crosses it comes back turned over (a Moebius strip), so that its grading must "
            "be the same from both ends");
    if (chord.widths.empty()) {
      chord.widths = in_chord;
      chord.widths_from = what;
    }
  };
  for (const auto& [number, edge] : graded) {
    expects(!edge->grading || edge->widths.empty(), edge->where, ": an edge has a grading or widths, not both");
    if (!edge->widths.empty()) {
      const Axis axis(edge->widths);
      grade(number, *edge, scaled(axis.widths(), axis.length()));
    } else if (edge->grading->from_file()) {
      const Axis axis = read_line(*edge->grading);
      grade(number, *edge, scaled(axis.widths(), axis.length()));
    }
  }
  for (const auto& [number, edge] : graded)
    if (edge->grading && !edge->grading->from_file()) {
      const int cells = said[index(mesh.edges[index(number)].chord)].cells;
      try {
        grade(number, *edge, make_line(*edge->grading, 1, cells == 0 ? parts.cells : cells).widths());
      } catch (const UsageError& error) {
        const std::string text = error.what();
        const std::string name = message("edge ", draft.vertex_name(edge->first), " ", draft.vertex_name(edge->second));
        if (text.find(name) != std::string::npos) throw;
        throw UsageError(message(edge->where.empty() ? "" : edge->where + ": ", name, " of length 1: ", text));
      }
    }
  for (std::size_t c = 0; c < said.size(); ++c) {
    Said& chord = said[c];
    if (chord.widths.empty()) chord.widths = uniform(1, chord.cells == 0 ? parts.cells : chord.cells).widths();
    if (draft.twisted[c])  // the same bits from both ends
      for (std::size_t i = 0; i < chord.widths.size() / 2; ++i)
        chord.widths[chord.widths.size() - 1 - i] = chord.widths[i];
    mesh.chords.emplace_back(Axis(chord.widths, 1));
  }
  draft.check_sides();
  draft.check_matching();
  draft.name_other_boundaries(parts.other_boundaries);
  shared_ = shared;
  place_edges(mesh);
  check_cells();
}

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
      const int a = corners[index(ends[index(l)][0])], b = corners[index(ends[index(l)][1])];
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
      if (known == 1 && cells > 1) mesh.chords[chord] = uniform(1, cells);
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

void PatchMesh::place_edges(Shared& mesh) {
  mesh.edge_nodes.clear();
  for (std::size_t e = 0; e < mesh.edges.size(); ++e) {
    const PatchEdge& edge = mesh.edges[e];
    const Axis& chord = mesh.chords[index(edge.chord)];
    const std::string name =
        message("edge ", mesh.vertex_names.empty() ? std::to_string(edge.first) : mesh.vertex_names[index(edge.first)],
                " ", mesh.vertex_names.empty() ? std::to_string(edge.second) : mesh.vertex_names[index(edge.second)]);
    const auto n = index(chord.size());
    // Along the edge: distances to its first and to its second vertex, and widths.
    auto from_first = edge.against_chord ? reversed(chord.from_end()) : chord.from_begin();
    auto from_second = edge.against_chord ? reversed(chord.from_begin()) : chord.from_end();
    const auto widths = edge.against_chord ? reversed(chord.widths()) : chord.widths();
    const Position a = mesh.vertices[index(edge.first)], b = mesh.vertices[index(edge.second)];
    const EdgeCurve& curve = mesh.curves[e];
    EdgeNodes nodes;
    nodes.at.resize(n + 1);
    nodes.steps.resize(n);
    if (curve.kind == EdgeCurve::Kind::straight) {
      expects(length(b - a) > 0, name, " has no length");
      for (std::size_t i = 0; i <= n; ++i)
        nodes.at[i] = from_first[i] <= from_second[i] ? a + from_first[i] * (b - a) : b - from_second[i] * (b - a);
      for (std::size_t i = 0; i < n; ++i) nodes.steps[i] = widths[i] * (b - a);
    } else if (curve.kind == EdgeCurve::Kind::arc) {
      const Arc arc = arc_between(a, b, curve.centre, name);
      for (std::size_t i = 0; i <= n; ++i) nodes.at[i] = arc.at(from_first[i]);
      for (std::size_t i = 0; i < n; ++i) nodes.steps[i] = arc.step(from_first[i], widths[i]);
    } else {
      for (std::size_t i = 0; i <= n; ++i) {
        nodes.at[i] = curve.at(from_first[i]);
        expects(is_finite(nodes.at[i]), name, ": its curve is (", nodes.at[i].x, ", ", nodes.at[i].y,
                ") at t = ", from_first[i], "; positions must be finite");
      }
      double size = 0;
      for (const Position& at : nodes.at) size = std::max(size, length(at - nodes.at[0]));
      for (const auto& [t, own, vertex] : {std::tuple{0, nodes.at.front(), a}, {1, nodes.at.back(), b}})
        expects(length(own - vertex) <= 1e-4 * size, name, ": its curve is at (", own.x, ", ", own.y, ") for t = ", t,
                ", and the vertex at (", vertex.x, ", ", vertex.y, "); t runs from the first vertex to the second");
    }
    nodes.at.front() = a;
    nodes.at.back() = b;
    if (curve.kind == EdgeCurve::Kind::function)
      for (std::size_t i = 0; i < n; ++i) nodes.steps[i] = nodes.at[i + 1] - nodes.at[i];
    mesh.edge_nodes.push_back(std::move(nodes));
  }
}

std::string PatchMesh::vertex_name(int number) const {
  return shared_->vertex_names.empty() ? std::to_string(number) : shared_->vertex_names[index(number)];
}

std::string PatchMesh::edge_name(int number) const {
  return message("edge ", vertex_name(edge(number).first), " ", vertex_name(edge(number).second));
}

Axis PatchMesh::axis(int patch, Direction direction) const {
  const OrientedEdge own = local_edges(patch)[direction == Direction::x ? 0 : 3];
  const Axis& line = chord(edge(own.number).chord);
  return edge(own.number).against_chord != own.reversed ? Axis(reversed(line.widths()), line.length()) : line;
}

std::int64_t PatchMesh::cells() const {
  std::int64_t sum = 0;
  for (int p = 0; p < patches(); ++p) sum += std::int64_t{cells_x(p)} * cells_y(p);
  return sum;
}

std::int64_t PatchMesh::nodes() const {
  std::int64_t sum = 0;
  for (int v = 0; v < vertices(); ++v) sum += edges_of_vertex(v).empty() ? 0 : 1;
  for (int e = 0; e < edges(); ++e) sum += cells_of_edge(e) - 1;
  for (int p = 0; p < patches(); ++p) sum += std::int64_t{cells_x(p) - 1} * (cells_y(p) - 1);
  return sum;
}

PatchNodes PatchMesh::nodes_of(int patch) const {
  if (!shared_->given.empty()) return shared_->given[index(patch)];
  const int nx = cells_x(patch), ny = cells_y(patch);
  const Axis x = axis(patch, Direction::x), y = axis(patch, Direction::y);
  // Edges in the direction of the patch.
  std::array<EdgeNodes, 4> sides;
  for (int l = 0; l < 4; ++l) {
    const OrientedEdge own = local_edges(patch)[index(l)];
    sides[index(l)] = shared_->edge_nodes[index(own.number)];
    if (!own.reversed) continue;
    std::reverse(sides[index(l)].at.begin(), sides[index(l)].at.end());
    std::reverse(sides[index(l)].steps.begin(), sides[index(l)].steps.end());
    for (Position& step : sides[index(l)].steps) step = -1 * step;
  }
  const auto& [bottom, right, top, left] = sides;
  const auto& c = corners(patch);
  const Position p00 = vertex(c[0]), p10 = vertex(c[1]), p11 = vertex(c[2]), p01 = vertex(c[3]);

  PatchNodes nodes{nx, ny, {}, {}, {}};
  const auto columns = index(nx) + 1, rows = index(ny) + 1;
  nodes.at.reserve(columns * rows);
  nodes.step_x.reserve(columns * rows);
  nodes.step_y.reserve(columns * rows);
  for (std::size_t j = 0; j < rows; ++j) {
    const double v = y.from_begin()[j], to_v = y.from_end()[j];
    // How far the patch is wider at v than the straight lines between its corners.
    const Position wider = (right.at[j] - left.at[j]) - (to_v * (p10 - p00) + v * (p11 - p01));
    const bool edge_y = j == 0 || j + 1 == rows;
    for (std::size_t i = 0; i < columns; ++i) {
      const double u = x.from_begin()[i], to_u = x.from_end()[i];
      const bool edge_x = i == 0 || i + 1 == columns;
      if (edge_y) {
        nodes.at.push_back((j == 0 ? bottom : top).at[i]);
      } else if (edge_x) {
        nodes.at.push_back((i == 0 ? left : right).at[j]);
      } else {
        nodes.at.push_back((to_v * bottom.at[i] + v * top.at[i]) + (to_u * left.at[j] + u * right.at[j]) -
                           (to_u * (to_v * p00 + v * p01) + u * (to_v * p10 + v * p11)));
      }
      if (i + 1 < columns)
        nodes.step_x.push_back(edge_y ? (j == 0 ? bottom : top).steps[i]
                                      : (to_v * bottom.steps[i] + v * top.steps[i]) + x.widths()[i] * wider);
      if (j + 1 < rows) {
        const Position higher = (top.at[i] - bottom.at[i]) - (to_u * (p01 - p00) + u * (p11 - p10));
        nodes.step_y.push_back(edge_x ? (i == 0 ? left : right).steps[j]
                                      : (to_u * left.steps[j] + u * right.steps[j]) + y.widths()[j] * higher);
      }
    }
  }
  return nodes;
}

void PatchMesh::check_cells() const {
  // Below this the sine of a corner's angle is rounding.
  constexpr double rounding = 1e-13;
  for (int p = 0; p < patches(); ++p) {
    expects((std::int64_t{cells_x(p)} + 1) * (std::int64_t{cells_y(p)} + 1) <= std::numeric_limits<int>::max(),
            "patch ", p, " has ", cells_x(p), " x ", cells_y(p), " cells; a patch has up to ",
            std::numeric_limits<int>::max(), " nodes");
    const PatchNodes nodes = nodes_of(p);
    std::int64_t bad = 0;
    std::string first;
    for (int j = 0; j < nodes.ny; ++j)
      for (int i = 0; i < nodes.nx; ++i) {
        bool fits = true;
        for (int corner = 0; corner < 4; ++corner) {
          const int a = i + corner % 2, b = j + corner / 2;
          const Position& along = nodes.step_x[index(b) * index(nodes.nx) + index(i)];
          const Position& up = nodes.step_y[nodes.node(a, j)];
          const double det = cross(along, up);
          if (std::isfinite(det) && det > rounding * length(along) * length(up)) continue;
          fits = false;
          if (!first.empty()) continue;
          const Position& at = nodes.at[nodes.node(a, b)];
          first = message("cell (", i, ", ", j, ") of patch ", p, " is turned over, folded or has no area: det J is ",
                          det, " at its corner (", at.x, ", ", at.y, ")");
        }
        bad += fits ? 0 : 1;
      }
    const auto& c = corners(p);
    expects(bad == 0, first, "; ", bad, " of the ", std::int64_t{nodes.nx} * nodes.ny,
            " cells of the patch with vertices ", vertex_name(c[0]), " ", vertex_name(c[1]), " ", vertex_name(c[2]),
            " ", vertex_name(c[3]), " are");
  }
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
