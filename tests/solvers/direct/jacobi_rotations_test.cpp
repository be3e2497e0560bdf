#include <stratum/solvers/direct/jacobi_rotations.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "support/random.hpp"

namespace {

using namespace stratum;
using Values = std::vector<double>;

/// Q D Q^T of a random rotation Q.
Values with_eigenvalues(const Values& d, test::Random& random) {
  const std::size_t n = d.size();
  Values symmetric = random.values(n * n, -1, 1);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) symmetric[i * n + j] = symmetric[j * n + i];
  const Values q = diagonalise(n, symmetric);
  Values a(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k) a[i * n + j] += q[i * n + k] * d[k] * q[j * n + k];
  return a;
}

/// Columns are unit vectors, orthogonal to each other, and A v = value v.
void expect_eigenvectors(const Values& a, std::size_t n) {
  Values values = a;
  const Values v = diagonalise(n, values);
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = 0; q <= p; ++q) {
      double product = 0, through = 0;
      for (std::size_t i = 0; i < n; ++i) {
        product += v[i * n + p] * v[i * n + q];
        for (std::size_t j = 0; j < n; ++j) through += v[i * n + p] * a[i * n + j] * v[j * n + q];
      }
      EXPECT_NEAR(product, p == q ? 1 : 0, 1e-13) << p << ", " << q;
      EXPECT_NEAR(through, p == q ? values[p * n + p] : 0, 1e-13) << p << ", " << q;
    }
}

TEST(JacobiRotations, EigenvectorsOfRandomMatrices) {
  test::Random random(211);
  for (const std::size_t n : {1, 2, 3, 17, 40}) {
    SCOPED_TRACE(n);
    expect_eigenvectors(with_eigenvalues(random.values(n, -1, 1), random), n);
    expect_eigenvectors(with_eigenvalues(Values(n, 0.0), random), n);
  }
}

// Rows of very different size: were small eigenvalues lost in the rounding of large ones, so would be the determinant.
TEST(JacobiRotations, SmallEigenvaluesBesideLargeOnes) {
  constexpr std::size_t n = 20;
  test::Random random(212);
  const Values eigenvalues = random.values(n, 0.5, 2);
  Values a = with_eigenvalues(eigenvalues, random);
  double expected = 0, found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) a[i * n + j] *= std::pow(10.0, static_cast<double>(i + j) / 2);
    expected += std::log(eigenvalues[i]) + static_cast<double>(i) * std::log(10.0);
  }
  (void)diagonalise(n, a);
  for (std::size_t i = 0; i < n; ++i) found += std::log(a[i * n + i]);
  EXPECT_NEAR(found, expected, 1e-12 * expected);
}

}  // namespace
