#include <stratum/solvers/jacobi_rotations.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <stratum/core/config.hpp>

namespace stratum {

namespace {

constexpr int max_sweeps = 60;
constexpr double negligible = 1e-16;  // of an entry beside those of the diagonal

/// x' = c x - s y, y' = s x + c y makes a symmetric matrix [[xx, xy], [xy, yy]] diagonal.
struct Rotation {
  double tangent, cosine, sine;
  Rotation(double xx, double xy, double yy) {
    const double theta = (yy - xx) / (2 * xy);
    tangent = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
    cosine = 1 / std::sqrt(tangent * tangent + 1);
    sine = tangent * cosine;
  }
  STRATUM_INLINE void operator()(double& x, double& y) const {
    const double old = x;
    x = cosine * old - sine * y;
    y = sine * old + cosine * y;
  }
};

std::vector<double> unit_matrix(std::size_t n) {
  std::vector<double> unit(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) unit[i * n + i] = 1;
  return unit;
}

STRATUM_SIMD_CLONES double dot(const double* x, const double* y, std::size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < n; ++k) sum += x[k] * y[k];
  return sum;
}

STRATUM_SIMD_CLONES void rotate(const Rotation rotation, double* x, double* y, std::size_t n) {
#pragma omp simd
  for (std::size_t k = 0; k < n; ++k) rotation(x[k], y[k]);
}

}  // namespace

std::vector<double> diagonalise(std::size_t n, std::vector<double>& a) {
  std::vector<double> vectors = unit_matrix(n);
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < max_sweeps; ++sweep) {
    rotated = false;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        const double xx = a[p * n + p], xy = a[p * n + q], yy = a[q * n + q];
        if (std::abs(xy) <= negligible * std::sqrt(std::abs(xx * yy))) continue;
        rotated = true;
        const Rotation rotation(xx, xy, yy);
        for (std::size_t k = 0; k < n; ++k) rotation(a[k * n + p], a[k * n + q]);
        for (std::size_t k = 0; k < n; ++k) rotation(a[p * n + k], a[q * n + k]);
        for (std::size_t k = 0; k < n; ++k) rotation(vectors[k * n + p], vectors[k * n + q]);
      }
  }
  return vectors;
}

// Q is formed by the same rotations, not found from F: its small entries beside large ones are to be as accurate.
Eigenvectors diagonalise_square(std::size_t n, const std::vector<double>& f) {
  constexpr double rounding = 1e-15;  // a sum of n products is not known better
  const std::size_t width = f.size() / n, length = width + n;
  std::vector<double> squares(n), rows(n * length, 0.0);  // F with Q beside it
  for (std::size_t i = 0; i < n; ++i) squares[i] = dot(&f[i * width], &f[i * width], width);
  // Large rows first: fewer sweeps.
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return squares[i] > squares[j]; });
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(&f[order[i] * width], width, &rows[i * length]);
    rows[i * length + width + order[i]] = 1;
  }
  // Of a singular matrix rows become noise, then smaller from sweep to sweep, and are orthogonal long before they vanish.
  constexpr double vanished = 1e-100;
  const double least = vanished * squares[order[0]];
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < max_sweeps; ++sweep) {
    rotated = false;
    for (std::size_t i = 0; i < n; ++i) squares[i] = dot(&rows[i * length], &rows[i * length], width);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) {
        double *const x = &rows[i * length], *const y = &rows[j * length];
        if (!(std::min(squares[i], squares[j]) > least)) continue;
        const double product = dot(x, y, width);
        if (std::abs(product) <= rounding * std::sqrt(squares[i]) * std::sqrt(squares[j])) continue;
        rotated = true;
        const Rotation rotation(squares[i], product, squares[j]);
        rotate(rotation, x, y, length);
        squares[i] -= rotation.tangent * product;
        squares[j] += rotation.tangent * product;
      }
  }
  Eigenvectors result{std::vector<double>(n * n), std::vector<double>(n)};
  for (std::size_t a = 0; a < n; ++a) squares[a] = dot(&rows[a * length], &rows[a * length], width);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return squares[a] > squares[b]; });
  for (std::size_t a = 0; a < n; ++a) {
    result.values[a] = squares[order[a]];
    std::copy_n(&rows[order[a] * length + width], n, &result.vectors[a * n]);
  }
  return result;
}

}  // namespace stratum
