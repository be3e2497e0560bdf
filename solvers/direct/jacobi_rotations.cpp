#include <stratum/solvers/direct/jacobi_rotations.hpp>

#include <cmath>

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

}  // namespace stratum
