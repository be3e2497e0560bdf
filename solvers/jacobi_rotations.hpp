#pragma once

// Eigenvalues and eigenvectors of a small symmetric matrix by Jacobi's rotations, on the host: accurate in every eigenvalue of
// matrices whose rows differ in scale. n^3 a sweep, some six to fourteen of them. Source: J. Demmel, K. Veselic, Jacobi's
// method is more accurate than QR, SIAM J. Matrix Anal. Appl. 13, 1992.

#include <cstddef>
#include <vector>

namespace stratum {

/// A of n rows, row after row: its diagonal holds the eigenvalues afterwards. Returns the eigenvectors, the columns of n rows.
[[nodiscard]] std::vector<double> diagonalise(std::size_t n, std::vector<double>& a);

struct Eigenvectors {
  std::vector<double> vectors, values;  // a vector a row; the largest value first
};

/// The same for F F^T, of which F is known by n rows: they are rotated until they are orthogonal to each other, which takes
/// half the time.
[[nodiscard]] Eigenvectors diagonalise_square(std::size_t n, const std::vector<double>& f);

}  // namespace stratum
