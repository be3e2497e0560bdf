#include <stratum/solvers/jacobi_rotations.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/random.hpp"

namespace {

using namespace stratum;
using Values = std::vector<double>;

double dot(const Values& x, std::size_t a, const Values& y, std::size_t b, std::size_t n) {
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += x[a * n + k] * y[b * n + k];
  return sum;
}

/// Of F F^T: unit vectors, orthogonal to each other, and F^T v of length sqrt(value).
void expect_eigenvectors(const Values& f, std::size_t n, const Eigenvectors& found) {
  const std::size_t width = f.size() / n;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b <= a; ++b)
      EXPECT_NEAR(dot(found.vectors, a, found.vectors, b, n), a == b ? 1 : 0, 1e-13) << a << ", " << b;
    double square = 0;
    for (std::size_t k = 0; k < width; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += found.vectors[a * n + i] * f[i * width + k];
      square += sum * sum;
    }
    const double largest = *std::max_element(found.values.begin(), found.values.end());
    EXPECT_NEAR(square, found.values[a], 1e-13 * largest) << a;
  }
}

TEST(JacobiRotations, SquaresOfRandomMatrices) {
  test::Random random(211);
  for (const auto& [n, width] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {1, 4}, {2, 3}, {17, 18}, {40, 40}, {9, 5}}) {
    SCOPED_TRACE(testing::Message() << n << " x " << width);
    const Values f = random.values(n * width, -1, 1);
    expect_eigenvectors(f, n, diagonalise_square(n, f));
  }
}

// Rows of very different size: every eigenvalue to all digits.
TEST(JacobiRotations, SmallEigenvaluesBesideLargeOnes) {
  constexpr std::size_t n = 30;
  test::Random random(212);
  const Values unit = diagonalise_square(n, random.values(n * n, -1, 1)).vectors;
  Values f = unit, expected(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double size = std::pow(10.0, 15 - static_cast<double>(i));
    for (std::size_t k = 0; k < n; ++k) f[i * n + k] *= size;
    expected[n - 1 - i] = size * size;
  }
  Values values = diagonalise_square(n, f).values;
  std::sort(values.begin(), values.end());
  for (std::size_t a = 0; a < n; ++a) EXPECT_NEAR(values[a], expected[a], 1e-13 * expected[a]);
}

TEST(JacobiRotations, SingularOnes) {
  // Differences of neighbours: F^T 1 = 0.
  constexpr std::size_t n = 12;
  Values f(n * (n + 1), 0.0);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    f[i * (n + 1) + i] = 1;
    f[(i + 1) * (n + 1) + i] = -1;
  }
  const auto found = diagonalise_square(n, f);
  expect_eigenvectors(f, n, found);
  const auto smallest = std::min_element(found.values.begin(), found.values.end()) - found.values.begin();
  EXPECT_LT(found.values[static_cast<std::size_t>(smallest)], 1e-28);
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_NEAR(std::abs(found.vectors[static_cast<std::size_t>(smallest) * n + i]), 1 / std::sqrt(n), 1e-14);
  EXPECT_GT(found.values[static_cast<std::size_t>(smallest)], 1e-150);  // rotations stop when the row is noise
  expect_eigenvectors(Values(9, 0.0), 3, diagonalise_square(3, Values(9, 0.0)));
}

}  // namespace
