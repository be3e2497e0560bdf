#pragma once

// What operator_dependent.cpp, which forms the weights of conductances, and operator_dependent_split.cpp, which forms those of
// split sums, have in common. The two are compiled beside each other.

#include <functional>

#include <stratum/core/field/for_each_node.hpp>
#include <stratum/multigrid/transfer/by_cells.hpp>
#include <stratum/multigrid/transfer/operator_dependent.hpp>

namespace stratum::operator_dependent {

/// The cells along one direction, and the coarse ones.
struct CellLine {
  int fine, coarse;
  bool periodic;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_coarsened() const { return coarse < fine; }
  /// Node of the fine grid, with its sides, where coarse node I lies; beyond a periodic end, too.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int node(int i) const {
    if (!is_coarsened()) return i;
    if (periodic && i < 0) return 2 * (i + coarse) - fine;
    if (i >= coarse) return fine + 2 * (i - coarse);
    return 2 * i;
  }
  /// Coarse interval I is one of the fine grid.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_alone(int i) const {
    return is_coarsened() && node(i + 1) == node(i) + 1;
  }
};

/// A number of every cell, zero outside the grid.
struct CellNumbers {
  FieldView<const double> g;
  bool periodic_x, periodic_y;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const int column = fine_node(periodic_x, i, g.nx), row = fine_node(periodic_y, j, g.ny);
    return column >= 0 && row >= 0 ? g(column, row) : 0.0;
  }
};

/// What the weights of coarse cell (I, J), its lower and its left edge are made from.
struct Cells {
  CellLine x, y;
  CellNumbers gx, gy, reaction;
  int fine_nx, fine_ny;
  bool below, above;  // other subdomains
  WeightsView<double> w;

  // Conductances from node (i, j), numbered with the sides.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double to_west(int i, int j) const {
    return gx(i - 1, j - 1) + gx(i - 1, j);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double to_east(int i, int j) const {
    return gx(i, j - 1) + gx(i, j);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double to_south(int i, int j) const {
    return gy(i - 1, j - 1) + gy(i, j - 1);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double to_north(int i, int j) const {
    return gy(i - 1, j) + gy(i, j);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static double share(double first, double second) {
    return first + second > 0 ? first / (first + second) : 0.0;
  }
  /// The unknown with this number, or a negative one.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int column_of(int i) const {
    return fine_node(w.periodic_x, i - w.origin_x, fine_nx);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int row_of(int j) const {
    return fine_node(w.periodic_y, j - w.origin_y, fine_ny);
  }
};

/// Makes of the weights of edges in this range what it likes.
using SetEdges = std::function<void(const Cells&, const NodeRange<2>&)>;
/// Edges by conductances, then by what `edges` makes of them, then centres.
void set_weights_by(Context& ctx, const GridOperator<double>& a, const Conductances& k, Transfer<double>& p,
                    const SetEdges& edges, bool identity_rows = false);
/// What edges of rows that other subdomains have are, from these, after a subdomain has set its own.
void take_edges_beside(Context& ctx, Cells cells, const NodeRange<2>& range, Transfer<double>& p);
/// Throws UsageError for a matrix that is not one on all nodes of the mesh.
void expects_all_nodes(const TensorMesh<2>& mesh, const GridOperator<double>& a);

}  // namespace stratum::operator_dependent
