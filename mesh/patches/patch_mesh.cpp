#include <stratum/mesh/patches/patch_mesh.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <tuple>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/patches/patch_draft.hpp>

namespace stratum {

using namespace detail;

namespace {

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
      draft.add_local(static_cast<int>(p), l, corners[index(local_ends[index(l)][0])],
                      corners[index(local_ends[index(l)][1])], 0, {});
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
      expects(curve.kind == EdgeCurve::Kind::straight, what,
              " has two curves; two edges with the same two vertices are one: put a vertex on one of them");
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
            ": the row of patches that crosses it comes back turned over (a Moebius band), so that its grading must "
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

}  // namespace stratum
