#pragma once

// The row formula of a tensor operator, A = Kx (x) My + Mx (x) (Ky + E), from interval to interval. Every residual and every sweep, on
// lines along either direction, on CPU and GPU, in packs or single numbers, is put together from these.
//
// An interval along a line has stiffness k and mass m. What the rest of A makes of x at its two ends is a mass M = (My x) and a
// stiffness S = ((Ky + E) x); the interval adds
//
//     k [1 -1; -1 1] M + m [2 1; 1 2] S
//
// to the products at its ends. Differences first: on smooth x the first part is a small difference of large terms, and in float the
// rounding of their sum would drown it.
//
// Constexpr, which nvcc takes for device code where device code calls it, and not __device__: then it would compile for the device what
// is called with packs of numbers, which are not for devices.

#include <stratum/core/config.hpp>

namespace stratum {

/// One direction alone: what an interval makes of a function, at one of its ends. For sums that are gathered at a node.
template <class Factor, class Number>
STRATUM_INLINE constexpr Number stiffness_at(Factor k, Number here, Number there) {
  return k * (here - there);
}
template <class Factor, class Number>
STRATUM_INLINE constexpr Number mass_at(Factor m, Number here, Number there) {
  return m * (2 * here + there);
}

/// The entries of one direction at a node, towards the node before (-1), itself (0) or the node after (1).
template <int towards, class Factor>
STRATUM_INLINE constexpr Factor stiffness_entry(Factor before, Factor after) {
  return towards < 0 ? -before : towards > 0 ? -after : before + after;
}
template <int towards, class Factor>
STRATUM_INLINE constexpr Factor mass_entry(Factor before, Factor after) {
  return towards < 0 ? before : towards > 0 ? after : 2 * (before + after);
}

/// What an interval adds to the nodes at its two ends.
template <class Number>
struct AtEnds {
  Number left, right;
};

template <class Factor, class Number>
STRATUM_INLINE constexpr AtEnds<Number> interval_product(Factor k, Factor m, Number mass_left, Number mass_right,
                                                         Number stiffness_left, Number stiffness_right) {
  const Number flux = k * (mass_right - mass_left), sum = stiffness_left + stiffness_right;
  return {m * (sum + stiffness_left) - flux, m * (sum + stiffness_right) + flux};
}

/// The coefficient between the two ends, where the line itself has mass M and stiffness S; the same added to a sum.
template <class Factor, class Number>
STRATUM_INLINE constexpr auto interval_coupling(Factor k, Factor m, Number mass, Number stiffness) {
  return m * stiffness - k * mass;
}
template <class Factor, class Number>
STRATUM_INLINE constexpr Number add_coupling(Number sum, Factor k, Factor m, Number mass, Number stiffness) {
  return sum + m * stiffness - k * mass;
}

/// What it adds to the diagonal entry at either end: the coupling's negative and a row sum, 3 m S.
template <class Factor, class Number>
STRATUM_INLINE constexpr auto interval_weight(Factor k, Factor m, Number mass, Number stiffness) {
  return m * (2 * stiffness) + k * mass;
}

}  // namespace stratum
