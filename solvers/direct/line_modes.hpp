#pragma once

// All modes of a line: eigenvalues and eigenvectors of the symmetric tridiagonal pencil
//
//     K v_a = lambda_a M v_a ,    v_a^T M v_b = delta_ab ,
//
// where interval i, on the left of node i, has stiffness k_i [1 -1; -1 1] and mass m_i [2 1; 1 2] (core/operators/tensor.hpp);
// of the first and the last what they add to the nodes inside. On the host, in double; n^2 operations and, to see that vectors
// whose values are close are orthogonal, some n^3.
//
// A boundary layer has eigenvalues from 10 to 1e27, of which the small ones, beside entries of the size of the large ones, are
// wanted to all digits. So K - lambda M is factored by what its rows have left, not by its entries,
//
//     t_i = a_i t_(i-1) / d_(i-1) - 3 lambda (m_i + m_(i+1)) ,    d_i = t_i + a_(i+1) ,    a_i = k_i + lambda m_i ,
//
// from both ends. Eigenvalues by bisection: as many d_i are negative as eigenvalues are below lambda. Eigenvectors from both
// factors, which meet where the vector is large, by multiplications alone. Where eigenvalues agree to six digits, as those of
// two equal layers do, vectors are made orthogonal to each other.
//
// Sources: J. Demmel, W. Kahan, Accurate singular values of bidiagonal matrices, SIAM J. Sci. Stat. Comput. 11, 1990 (factors
// by differences); I. Dhillon, B. Parlett, Orthogonal eigenvectors and relative gaps, SIAM J. Matrix Anal. Appl. 25, 2003
// (where factors meet).

#include <cstddef>
#include <vector>

namespace stratum {

struct LineModes {
  std::vector<double> vectors, values;  // a vector a row; the smallest value first
};

/// K and M of a line.
struct LineFactors {
  std::vector<double> k, m;  // of n + 1 intervals
  friend bool operator==(const LineFactors&, const LineFactors&) = default;
};

/// No modes where K is not positive, or semidefinite with constants its only kernel, and where vectors are not orthogonal to
/// 1e-8.
[[nodiscard]] LineModes line_modes(const LineFactors& line, int threads);

}  // namespace stratum
