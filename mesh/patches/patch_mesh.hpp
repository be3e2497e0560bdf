#pragma once

// PatchMesh: a domain that is covered by quadrilateral patches, each of which is a logically rectangular grid of cells,
//
//     patch p = { X_p(u, v) : 0 <= u, v <= 1 },   nodes X_p(u_i, v_j),  0 <= i <= nx,  0 <= j <= ny.
//
//     01 --- edge 2 --- 11
//      |                 |          The local edges 0 (v = 0), 1 (u = 1), 2 (v = 1), 3 (u = 0) run in the direction
//    edge 3            edge 1       of the growing coordinate of the patch. corners(p) are the vertices 00, 10, 11, 01.
//      |                 |
//     00 --- edge 0 --- 10
//
// Patches meet in whole edges or in vertices. Two patches may see their common edge in different directions, and as local edges
// of any number. Edges have numbers: two edges may have the same two vertices, and a patch may be its own neighbour.
//
// Chords. The edges that face each other across patches, from one patch to the next, form a chord. A chord has one list of
// interval widths, fractions of the edge that sum to one, so that patches match by construction. Widths are stored, never
// differences of positions; an edge against the direction of its chord has the widths in reverse order. A chord that comes back
// to its own edges in the other direction (a Moebius band) takes widths that read the same both ways.
//
// Nodes. An edge is a straight line, an arc, or a curve of t, the fraction of its intervals. Nodes inside are those of
// transfinite interpolation in the fractions u and v of both chords (Gordon, Hall 1973):
//
//     X(u, v) = (1-v) B(u) + v T(u) + (1-u) L(v) + u R(v) - (1-u)(1-v) P_00 - u (1-v) P_10 - u v P_11 - (1-u) v P_01.
//
// The steps between neighbouring nodes come from the widths, not from the positions, so that cells of 1e-15 of an edge have all
// their digits, unless an edge is a curve by a function. A mesh can also be made from the nodes of a file; their steps are
// differences, and a chord has the widths of the first edge of it.
//
// Positions are in the plane and in double. Patches are oriented: det J > 0.
//
// Errors: UsageError names the edge, the patch or the cell: an edge of three patches, two numbers of cells or two gradings in a
// chord, a Moebius band whose widths do not read the same both ways, patches that lie on the same side of their edge, cells
// with det J <= 0, positions that are not finite, a boundary edge that has no name.
//
// Source: Gordon, Hall, Construction of curvilinear co-ordinate systems and applications to mesh generation, 1973.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stratum/mesh/axis.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/mapped_mesh.hpp>

namespace stratum {

/// Where the nodes of an edge lie: t = 0 at its first vertex, 1 at its second one.
struct EdgeCurve {
  enum class Kind : std::uint8_t { straight, arc, function };
  Kind kind = Kind::straight;
  Position centre{};  // of an arc of less than half a turn; the radius changes linearly from end to end
  std::function<Position(double)> at{};  // of a function
};

/// What is said of an edge, in the direction from `first` to `second`. All but the vertices may be left out.
struct PatchEdgeParts {
  int first = 0, second = 0;         // vertices
  int cells = 0;                     // 0: not said here
  std::optional<Grading> grading{};  // of a length of 1; its files hold widths or coordinates of any length
  std::vector<double> widths{};      // in place of both; they are scaled to sum to one
  EdgeCurve curve{};
  std::string boundary{};  // name of the boundary that the edge is part of
  std::string where{};     // for messages, such as "'FILE', line 12"
};

/// What a mesh of patches is made of.
struct PatchMeshParts {
  std::vector<Position> vertices{};
  std::vector<std::array<int, 4>> patches{};  // vertices in order around the patch, either way around
  std::vector<PatchEdgeParts> edges{};        // those of which something is said
  int cells = 16;                             // of chords that have no number
  std::string other_boundaries{};             // name of boundary edges that have none; empty: they are refused
  std::vector<std::string> vertex_names{};    // for messages; empty: their numbers
};

/// Edge `number`, in its own direction or against it.
struct OrientedEdge {
  int number = 0;
  bool reversed = false;
};

/// An edge of one patch (on the boundary) or of two.
struct PatchEdge {
  struct Side {
    int patch = 0, local = 0;
  };
  int first = 0, second = 0;  // vertices; the edge runs from the first one to the second one
  int chord = 0;
  bool against_chord = false;  // the widths of the chord, from the second vertex on
  int boundary = -1;           // index in boundary_names(), or -1 inside
  std::vector<Side> sides{};   // patches in ascending order

  [[nodiscard]] bool on_boundary() const { return sides.size() == 1; }
};

/// The closed grid of a patch, x fastest: node (i, j) is number j (nx + 1) + i.
struct PatchNodes {
  int nx = 0, ny = 0;
  std::vector<Position> at{};      // (nx + 1) (ny + 1)
  std::vector<Position> step_x{};  // from node (i, j) to (i + 1, j), number j nx + i: nx (ny + 1)
  std::vector<Position> step_y{};  // from node (i, j) to (i, j + 1), number j (nx + 1) + i: (nx + 1) ny

  [[nodiscard]] std::size_t node(int i, int j) const {
    return static_cast<std::size_t>(j) * (static_cast<std::size_t>(nx) + 1) + static_cast<std::size_t>(i);
  }
};

/// Nodes of a patch that are numbers in a list of nodes, x fastest.
struct PatchGrid {
  int nx = 0, ny = 0;
  std::vector<int> nodes{};
};

/// Patches whose nodes come from a file. Patches meet where they have the same nodes.
struct GridPatchParts {
  std::vector<Position> nodes{};
  std::vector<PatchGrid> patches{};
  struct BoundaryLine {
    int first = 0, second = 0;  // two nodes that are neighbours on a boundary
    std::string name{};
  };
  std::vector<BoundaryLine> boundaries{};
  std::string other_boundaries{};
};

class PatchMesh {
 public:
  explicit PatchMesh(const PatchMeshParts& parts);
  explicit PatchMesh(const GridPatchParts& parts);

  [[nodiscard]] int patches() const { return static_cast<int>(shared_->corners.size()); }
  [[nodiscard]] int edges() const { return static_cast<int>(shared_->edges.size()); }
  [[nodiscard]] int vertices() const { return static_cast<int>(shared_->vertices.size()); }
  [[nodiscard]] int chords() const { return static_cast<int>(shared_->chords.size()); }

  /// Vertices 00, 10, 11, 01.
  [[nodiscard]] const std::array<int, 4>& corners(int patch) const { return shared_->corners[index(patch)]; }
  /// Local edges 0 to 3; reversed: the edge runs against the growing coordinate of the patch.
  [[nodiscard]] const std::array<OrientedEdge, 4>& local_edges(int patch) const { return shared_->local[index(patch)]; }
  [[nodiscard]] const PatchEdge& edge(int number) const { return shared_->edges[index(number)]; }
  [[nodiscard]] const Position& vertex(int number) const { return shared_->vertices[index(number)]; }
  /// Names as the user gave them, for messages and reports.
  [[nodiscard]] std::string vertex_name(int number) const;
  [[nodiscard]] std::string edge_name(int number) const;

  /// The edges and the patches of a vertex, ascending. An edge from a vertex to itself and a patch that has the vertex twice
  /// are listed twice.
  [[nodiscard]] const std::vector<int>& edges_of_vertex(int vertex) const {
    return shared_->vertex_edges[index(vertex)];
  }
  struct Corner {
    int patch = 0, corner = 0;  // corner: index in corners(patch)
  };
  [[nodiscard]] const std::vector<Corner>& patches_of_vertex(int vertex) const {
    return shared_->vertex_patches[index(vertex)];
  }
  /// A boundary edge ends there.
  [[nodiscard]] bool vertex_on_boundary(int vertex) const { return shared_->on_boundary[index(vertex)]; }

  [[nodiscard]] const std::vector<std::string>& boundary_names() const { return shared_->boundary_names; }

  /// The intervals of a chord, of length 1, in its direction.
  [[nodiscard]] const Axis& chord(int number) const { return shared_->chords[index(number)]; }
  /// The intervals of a patch in x (edges 0 and 2) or y (edges 1 and 3), in the direction of the patch.
  [[nodiscard]] Axis axis(int patch, Direction direction) const;
  [[nodiscard]] int cells_x(int patch) const { return chord(edge(local_edges(patch)[0].number).chord).size(); }
  [[nodiscard]] int cells_y(int patch) const { return chord(edge(local_edges(patch)[1].number).chord).size(); }
  [[nodiscard]] int cells_of_edge(int number) const { return chord(edge(number).chord).size(); }
  [[nodiscard]] std::int64_t cells() const;
  /// Nodes of the domain, each once.
  [[nodiscard]] std::int64_t nodes() const;

  /// Positions of the nodes of a patch and the steps between them. Patches of an edge give the same bits for its nodes.
  [[nodiscard]] PatchNodes nodes_of(int patch) const;

  /// Every interval halved `times` times. Curves are followed; cells between the nodes of a file are cut into four.
  [[nodiscard]] PatchMesh halved(int times) const;

 private:
  /// Positions of the nodes of an edge, in its direction, and the steps between them.
  struct EdgeNodes {
    std::vector<Position> at, steps;
  };
  struct Shared {
    std::vector<Position> vertices;
    std::vector<std::string> vertex_names;
    std::vector<std::array<int, 4>> corners;
    std::vector<std::array<OrientedEdge, 4>> local;
    std::vector<PatchEdge> edges;
    std::vector<Axis> chords;
    std::vector<std::vector<int>> vertex_edges;
    std::vector<std::vector<Corner>> vertex_patches;
    std::vector<bool> on_boundary;
    std::vector<std::string> boundary_names;
    std::vector<EdgeCurve> curves;      // of edges
    std::vector<EdgeNodes> edge_nodes;  // of edges; empty where nodes are given
    std::vector<PatchNodes> given;      // of patches; empty where nodes are blended
  };
  struct Draft;

  explicit PatchMesh(std::shared_ptr<const Shared> shared) : shared_(std::move(shared)) {}
  [[nodiscard]] static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  static void place_edges(Shared& shared);
  void check_cells() const;

  std::shared_ptr<const Shared> shared_;
};

}  // namespace stratum
