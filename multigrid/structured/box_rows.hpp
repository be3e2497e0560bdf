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
  std::vector<int> numbering{};
};

struct BoxRows {
  BoxShape shape;
  std::array<int, 3> order{0, 1, 2};
  std::vector<int> node;  // of every unknown; empty: the same
  bool symmetric = false, singular = false;
  std::vector<double> scales;  // of rows, d; empty: none
  double power = 1;            // of two, by which everything is multiplied so that diagonals are near one
  /// Fixed unknowns and their diagonals, and what other rows have in their columns, as A has it.
  std::vector<int> fixed;
  std::vector<double> fixed_diagonal;
  struct Lifted {
    int row, fixed;  // unknowns
    double value;
  };
  std::vector<Lifted> lifted;
  /// 14 of them, of all nodes, x fastest: number 0 what is left of rows, and entries to later nodes.
  std::array<std::vector<double>, box_neighbours + 1> bands;
  std::array<GatedAxis, 3> gate;

  [[nodiscard]] std::size_t at(std::size_t unknown) const {
    return node.empty() ? unknown : static_cast<std::size_t>(node[unknown]);
  }
};

/// Throws UsageError for what BoxMatrixSolver refuses.
[[nodiscard]] BoxRows read_box_rows(const SparseRows& a, const std::array<int, 3>& n, const BoxRowsParams& params);

}  // namespace stratum
