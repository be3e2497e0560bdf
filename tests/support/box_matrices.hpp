#pragma once

// What tests of matrices of a box ask: how well A x = b holds, and why a matrix is refused.

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <stratum/multigrid/structured/box_matrix_solver.hpp>

namespace test {

/// || b - A x || / || b ||
[[nodiscard]] inline double residual(const stratum::SparseRows& a, const std::vector<double>& b,
                                     const std::vector<double>& x) {
  long double sum = 0, of_b = 0;
  for (int i = 0; i < a.rows; ++i) {
    long double r = b[i];
    for (int e = a.start[i]; e < a.start[i + 1]; ++e) r -= static_cast<long double>(a.value[e]) * x[a.column[e]];
    sum += r * r;
    of_b += static_cast<long double>(b[i]) * b[i];
  }
  return static_cast<double>(std::sqrt(sum / of_b));
}

/// What the error says; nothing where the matrix is taken.
[[nodiscard]] inline std::string refusal(const stratum::SparseRows& a, const std::array<int, 3>& n,
                                         const stratum::BoxMatrixParams& params = {}) {
  stratum::Context ctx(stratum::Backend::cpu, 1);
  try {
    const stratum::BoxMatrixSolver solver(ctx, a, n, params);
  } catch (const stratum::UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace test
