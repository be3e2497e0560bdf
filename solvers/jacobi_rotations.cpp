#include <stratum/solvers/jacobi_rotations.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

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

/// y += factor x
STRATUM_SIMD_CLONES void add(double factor, const double* x, double* y, std::size_t n) {
#pragma omp simd
  for (std::size_t k = 0; k < n; ++k) y[k] += factor * x[k];
}

STRATUM_SIMD_CLONES void rotate(const Rotation rotation, double* x, double* y, std::size_t n) {
#pragma omp simd
  for (std::size_t k = 0; k < n; ++k) rotation(x[k], y[k]);
}

/// R of F^T P = Q R by Householder's reflections, P such that the largest column comes next; `order` is P. No zeros on the
/// diagonal: what is singular has tiny ones.
std::vector<double> pivoted_triangle(std::size_t n, std::vector<double>& f, std::vector<std::size_t>& order) {
  const std::size_t width = f.size() / n;
  std::vector<double> r(n * n, 0.0);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto column = [&](std::size_t k, std::size_t from) { return &f[order[k] * width + from]; };
  for (std::size_t k = 0; k < std::min(n, width); ++k) {
    const std::size_t rest = width - k;
    double largest = -1;
    std::size_t next = k;
    for (std::size_t i = k; i < n; ++i)
      if (const double square = dot(column(i, k), column(i, k), rest); square > largest) {
        largest = square;
        next = i;
      }
    std::swap(order[k], order[next]);
    if (!(largest > 0)) break;
    double* const v = column(k, k);
    const double diagonal = v[0] > 0 ? -std::sqrt(largest) : std::sqrt(largest);
    v[0] -= diagonal;
    for (std::size_t i = k + 1; i < n; ++i) add(dot(v, column(i, k), rest) / (diagonal * v[0]), v, column(i, k), rest);
    r[k * n + k] = diagonal;
  }
  constexpr double tiny = 1e-60;
  const double singular = r[0] != 0 ? tiny * std::abs(r[0]) : tiny;
  for (std::size_t k = 0; k < n; ++k) {
    if (r[k * n + k] == 0) r[k * n + k] = singular;
    for (std::size_t i = k + 1; i < n && k < width; ++i) r[k * n + i] = *column(i, k);
  }
  return r;
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

// F F^T = P R^T R P^T, and rows of R are closer to orthogonal than those of F. Once rotations have made them so, they are
// eigenvectors but for their lengths: nothing else need be rotated.
Eigenvectors diagonalise_square(std::size_t n, std::vector<double> f) {
  constexpr double rounding = 1e-15;  // a sum of n products is not known better
  std::vector<std::size_t> order(n);
  std::vector<double> rows = pivoted_triangle(n, f, order);
  Eigenvectors result{std::vector<double>(n * n), std::vector<double>(n)};
  auto& [vectors, squares] = result;
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < max_sweeps; ++sweep) {
    rotated = false;
    for (std::size_t i = 0; i < n; ++i) squares[i] = dot(&rows[i * n], &rows[i * n], n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) {
        const double product = dot(&rows[i * n], &rows[j * n], n);
        if (std::abs(product) <= rounding * std::sqrt(squares[i]) * std::sqrt(squares[j])) continue;
        rotated = true;
        const Rotation rotation(squares[i], product, squares[j]);
        rotate(rotation, &rows[i * n], &rows[j * n], n);
        squares[i] -= rotation.tangent * product;
        squares[j] += rotation.tangent * product;
      }
  }
  for (std::size_t a = 0; a < n; ++a) {
    const double* const row = &rows[a * n];
    squares[a] = dot(row, row, n);
    const double length = std::sqrt(squares[a]);
    for (std::size_t i = 0; i < n; ++i) vectors[a * n + order[i]] = row[i] / length;
  }
  return result;
}

}  // namespace stratum
