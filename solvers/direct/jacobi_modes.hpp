#pragma once

// All modes of a line by one-sided Jacobi rotations: eigenvalues and eigenvectors of the pencil K v = lambda M v, V^T M V = 1,
// of an axis that may be periodic (core/operators/box_operator.hpp: AxisFactors). With S = diag(M)^-1/2, S M S = L L^T and K =
// B^T B, a row (k_i)^1/2 (v_i - v_(i-1)) of B for every interval,
//
//     G = B S L^-T ,    G W = U Sigma ,    V = S L^-T W ,    lambda = sigma^2
//
// K is never formed, so that small eigenvalues beside large ones keep their digits: layers of 10^-12 of the axis. On the host
// in double; about 100 n^3 operations. Throws BreakdownError where the rotations do not converge.
//
// Source: J. Demmel, K. Veselic, Jacobi's method is more accurate than QR, SIAM J. Matrix Anal. Appl. 13, 1992.

#include <stratum/core/operators/box_operator.hpp>
#include <stratum/solvers/direct/line_modes.hpp>

namespace stratum {

[[nodiscard]] LineModes jacobi_modes(const AxisFactors& axis, int threads);

/// Of a uniform axis in closed form (solvers/direct/fourier_modes.hpp), else by solvers/direct/line_modes.hpp where that has
/// them, else by rotations. Where K has constants as its kernel the first value is zero and its vector constant, exactly.
[[nodiscard]] LineModes axis_modes(const AxisFactors& axis, int threads);

}  // namespace stratum
