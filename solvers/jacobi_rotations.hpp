#pragma once

// Eigenvalues and eigenvectors of a small symmetric matrix by Jacobi's rotations, on the host: accurate in every eigenvalue of
// matrices whose rows differ in scale. n^3 a sweep, some six to ten of them. Source: J. Demmel, K. Veselic, Jacobi's method is
// more accurate than QR, SIAM J. Matrix Anal. Appl. 13, 1992.

#include <cmath>
#include <cstddef>
#include <vector>

namespace stratum {

/// A of n rows, row after row: its diagonal holds the eigenvalues afterwards. Returns the eigenvectors, the columns of n rows.
[[nodiscard]] inline std::vector<double> diagonalise(std::size_t n, std::vector<double>& a) {
  std::vector<double> vectors(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1;
  constexpr int max_sweeps = 60;
  constexpr double negligible = 1e-16;
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < max_sweeps; ++sweep) {
    rotated = false;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        const double off = a[p * n + q];
        if (std::abs(off) <= negligible * std::sqrt(std::abs(a[p * n + p] * a[q * n + q]))) continue;
        rotated = true;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double cosine = 1 / std::sqrt(t * t + 1), sine = t * cosine;
        const auto rotate = [cosine, sine](double& x, double& y) {
          const double old = x;
          x = cosine * old - sine * y;
          y = sine * old + cosine * y;
        };
        for (std::size_t k = 0; k < n; ++k) rotate(a[k * n + p], a[k * n + q]);
        for (std::size_t k = 0; k < n; ++k) rotate(a[p * n + k], a[q * n + k]);
        for (std::size_t k = 0; k < n; ++k) rotate(vectors[k * n + p], vectors[k * n + q]);
      }
  }
  return vectors;
}

}  // namespace stratum
