#pragma once

// Eigenvalues and eigenvectors of a small symmetric matrix by Jacobi's rotations, on the host: accurate in every eigenvalue of
// positive matrices whose rows differ in scale. n^3 a sweep, some six to fourteen of them. Source: J. Demmel, K. Veselic,
// Jacobi's method is more accurate than QR, SIAM J. Matrix Anal. Appl. 13, 1992.

#include <cstddef>
#include <vector>

namespace stratum {

/// A of n rows, row after row: its diagonal holds the eigenvalues afterwards. Returns the eigenvectors, the columns of n rows.
[[nodiscard]] std::vector<double> diagonalise(std::size_t n, std::vector<double>& a);

}  // namespace stratum
