#pragma once

// Rows by whose scales a matrix is symmetric:
//
//     d_i a_ij = d_j a_ji ,   d > 0 ,   i != j ,
//
// as where equations were divided by the volumes of their cells, have half cells at Neumann or Robin boundaries, or a coefficient before the
// Laplacian. D A is then what conjugate gradients and Galerkin products want, and A^-1 = (D A)^-1 D. O(entries), on the host.

#include <optional>
#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>

namespace stratum {

/// Makes a into D A, symmetric bit for bit, and returns d: 1 in the first row of every part of the matrix that is coupled to
/// no other. Rows that hold nothing but their diagonal stay as they are, whatever others have in their columns. Empty, and a is
/// not touched, where there is no such d, or one that spans more than 12 orders of magnitude: that is a flow, exp(v x), and no
/// volume. Equality is meant to 1e-10. Columns must increase in every row.
[[nodiscard]] std::vector<double> scale_to_symmetry(SparseRows& a);

inline constexpr double scales_agree = 1e-10, widest_scales = 1e12;

/// The same d, by parts that are coupled to no other: the number of each row's part, in the order of their first rows.
struct PartScales {
  std::vector<double> d;
  std::vector<int> part;
  int parts = 0;
};
[[nodiscard]] std::optional<PartScales> part_scales(const SparseRows& a);

}  // namespace stratum
