#pragma once

// What scaled_rows wants to know of a matrix A, and of D A. Each of the two has a source of its own, rows_of_matrix.cpp and
// rows_of_scaled_matrix.cpp, which are compiled beside each other.

#include <stratum/core/operators/grid_operator.hpp>

namespace stratum {

STRATUM_HOST_DEVICE STRATUM_INLINE double magnitude(double v) { return v < 0 ? -v : v; }

/// The whole grid, and its row that is the subdomain's first. Rows beside the subdomain's are read from halos.
struct Whole {
  int nx, ny, first = 0;

  /// Subdomains call it together.
  Whole(const Context& ctx, const GridLayout<2>& shape);
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool has(int i, int j) const {
    return i >= 0 && i < nx && j + first >= 0 && j + first < ny;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_inner(int i, int j) const {
    return (nx < 3 || (i > 0 && i < nx - 1)) && (ny < 3 || (j + first > 0 && j + first < ny - 1));
  }
};

/// How far two couplings between neighbours in x or in y are apart, the larger by the smaller.
[[nodiscard]] double most_apart(Context& ctx, const GridOperator<double>& a, const Whole& whole);
/// The largest |sum of a row| by the sum of its magnitudes.
[[nodiscard]] double largest_row_sum(Context& ctx, const GridOperator<double>& a);

/// The largest d_i / d_j of a row and those that it is coupled to; the halo of d is up to date.
[[nodiscard]] double largest_scale_jump(Context& ctx, const GridOperator<double>& a, FieldView<const double> d);
/// How far D A is from conserving, as in scaled_rows.hpp; the halo of d is up to date.
[[nodiscard]] double loss_of(Context& ctx, const GridOperator<double>& a, FieldView<const double> d,
                             const Whole& whole);

}  // namespace stratum
