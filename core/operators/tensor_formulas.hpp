#pragma once

// The row formula of a tensor operator, A = Kx (x) My + Mx (x) (Ky + E), from interval to interval. Every sweep, on lines along either
// direction, on CPU and GPU, in packs or single numbers, is put together from these three.
//
// An interval along a line has stiffness k and mass m. What the rest of A makes of x at its two ends is a mass M = (My x) and a
// stiffness S = ((Ky + E) x); the interval adds
//
//     k [1 -1; -1 1] M + m [2 1; 1 2] S
//
// to the products at its ends. Differences first: on smooth x the first part is a small difference of large terms, and in float the
// rounding of their sum would drown it.

#include <stratum/core/config.hpp>

namespace stratum {

/// What an interval adds to the nodes at its two ends.
template <class Number>
struct AtEnds {
  Number left, right;
};

template <class Factor, class Number>
STRATUM_HOST_DEVICE STRATUM_INLINE AtEnds<Number> interval_product(Factor k, Factor m, Number mass_left,
                                                                   Number mass_right, Number stiffness_left,
                                                                   Number stiffness_right) {
  const Number flux = k * (mass_right - mass_left), sum = stiffness_left + stiffness_right;
  return {m * (sum + stiffness_left) - flux, m * (sum + stiffness_right) + flux};
}

/// The coefficient between the two ends, where the line itself has mass M and stiffness S.
template <class Factor, class Number>
STRATUM_HOST_DEVICE STRATUM_INLINE Number interval_coupling(Factor k, Factor m, Number mass, Number stiffness) {
  return m * stiffness - k * mass;
}

/// What it adds to the diagonal entry at either end: the coupling's negative and a row sum, 3 m S.
template <class Factor, class Number>
STRATUM_HOST_DEVICE STRATUM_INLINE Number interval_weight(Factor k, Factor m, Number mass, Number stiffness) {
  return 2 * m * stiffness + k * mass;
}

}  // namespace stratum
