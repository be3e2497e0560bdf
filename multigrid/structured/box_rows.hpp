#pragma once

// A user's rows on a box as bands, on the host: what BoxMatrixSolver detects and refuses
// (multigrid/structured/box_matrix_solver.hpp).

#include <array>
#include <optional>
#include <vector>

#include <stratum/core/operators/box_rows.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/gate.hpp>

namespace stratum {

struct BoxRowsParams {
  std::optional<bool> symmetric{}, singular{};
  std::array<std::vector<double>, 3> widths{};
  bool widths_beyond_ends = false;
  std::vector<int> numbering{};
};

struct BoxRows {
  BoxShape shape;  // what is left without outer layers of fixed unknowns
  std::array<int, 3> order{0, 1, 2};
  std::vector<int> node;  // of every unknown, -1: none, of one that is fixed; empty: the same
  bool symmetric = false, singular = false;
  std::vector<double> scales;  // of rows, d; empty: none
  double power = 1;            // of two, by which everything is multiplied so that diagonals are near one
  /// Unknowns whose rows hold nothing but their diagonal, and that.
  std::vector<int> fixed;
  std::vector<double> fixed_diagonal;
  /// 14 of them, of all nodes, x fastest: number 0 what is left of rows, and entries to later nodes. Of a matrix that is not
  /// symmetric, nor by scales, those of (A + A^T) / 2 with 0 in place of negative sums of rows.
  std::array<std::vector<double>, box_neighbours + 1> bands;
  std::array<GatedAxis, 3> gate;
  /// A on the nodes, without the columns of fixed ones, where the bands are not A's; else of no rows.
  SparseRows general;

  [[nodiscard]] bool is_general() const { return general.rows > 0; }
  [[nodiscard]] bool has(std::size_t unknown) const { return node.empty() || node[unknown] >= 0; }
  [[nodiscard]] std::size_t at(std::size_t unknown) const {
    return node.empty() ? unknown : static_cast<std::size_t>(node[unknown]);
  }
};

/// Throws UsageError for what BoxMatrixSolver refuses.
[[nodiscard]] BoxRows read_box_rows(const SparseRows& a, const std::array<int, 3>& n, const BoxRowsParams& params);

}  // namespace stratum
