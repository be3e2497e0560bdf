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
  bool general = false;  // neither A nor D A is symmetric
  /// Of a general one: couplings to the two sides of nodes differ by more than half their sum, in a twentieth of the nodes or
  /// more; they differ in sign, and the smaller ones are of a size, likewise.
  bool convective = false, oscillating = false;
  std::vector<double> scales;  // of rows, d; empty: none
  double power = 1;            // of two, by which everything is multiplied so that diagonals are near one
  /// Unknowns whose rows hold nothing but their diagonal, and that.
  std::vector<int> fixed;
  std::vector<double> fixed_diagonal;
  /// Of all nodes, x fastest: number 0 what is left of rows, and entries to later nodes; empty: zeros. `before`: of a matrix that is not
  /// symmetric, nor by scales, those to earlier ones, -1 .. -13, likewise; else none.
  std::array<std::vector<double>, box_neighbours + 1> bands;
  std::array<std::vector<double>, box_neighbours> before;
  std::array<GatedAxis, 3> gate;

  [[nodiscard]] bool has(std::size_t unknown) const { return node.empty() || node[unknown] >= 0; }
  [[nodiscard]] std::size_t at(std::size_t unknown) const {
    return node.empty() ? unknown : static_cast<std::size_t>(node[unknown]);
  }
};

/// Throws UsageError for what BoxMatrixSolver refuses.
[[nodiscard]] BoxRows read_box_rows(const SparseRows& a, const std::array<int, 3>& n, const BoxRowsParams& params);

}  // namespace stratum
