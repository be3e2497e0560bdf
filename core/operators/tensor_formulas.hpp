#pragma once

// The row formula of a tensor operator, A = Kx (x) My + Mx (x) (Ky + E), interval by interval. Every residual and every sweep,
// on lines along either direction, on CPU and GPU, for packs or single numbers, calls these functions.
//
// An interval along a line has stiffness k and mass m. At its two ends the other direction gives a mass M = (My x) and a
// stiffness S = ((Ky + E) x). The interval adds
//
//     k [1 -1; -1 1] M + m [2 1; 1 2] S
//
// to the products at its ends. Differences are formed first: on smooth x the first part is a small difference of large terms,
// and in float the rounding error of their sum would exceed it.
//
// The functions are constexpr, which nvcc accepts in device code, and not __device__: then nvcc would also compile for the
// device the instances for packs of numbers, which only exist on the host.

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

/// The same, subtracted from a sum at either end: two operations less, as each goes into the sum.
template <class Factor, class Number>
STRATUM_INLINE constexpr void subtract_interval_product(AtEnds<Number>& sums, Factor k, Factor m, Number mass_left,
                                                        Number mass_right, Number stiffness_left,
                                                        Number stiffness_right) {
  const Number rise = mass_right - mass_left;
  sums.left -= m * (2 * stiffness_left + stiffness_right);
  sums.left += k * rise;
  sums.right -= m * (2 * stiffness_right + stiffness_left);
  sums.right -= k * rise;
}

/// Which of two lines beside a line, behind intervals of stiffness ka and kb, is the nearer one: -1 or 1.
template <class Number>
STRATUM_INLINE constexpr int nearer(Number ka, Number kb) {
  return ka >= kb ? -1 : 1;
}

/// What two lines a and b beside a line add to M and S on it, from behind intervals (ka, ma) and (kb, mb):
///
///     M = ma xa + mb xb ,   S = -(ka xa + kb xb) .
///
/// `by_difference`: for a line solve that solves for what its solution has more than the nearer of the two, x_near. The line
/// itself holds x_near then,
///
///     M = ma xa + mb xb + 2 (ma + mb) x_near ,   S = ka (x_near - xa) + kb (x_near - xb) + e x_near .
///
/// Where a thin cell lies between, both are equal but for the last digits of a number, if at all; solved for anew, they would
/// differ by some rounding, which the thin cell's k multiplies.
template <class Number, bool by_difference>
struct LinesBeside {
  Number ka, ma, kb, mb;
  template <class X>
  STRATUM_INLINE constexpr X mass(X xa, X xb) const {
    return ma * xa + mb * xb;
  }
  template <class X>
  STRATUM_INLINE constexpr X stiffness(X xa, X xb) const {
    return -(ka * xa + kb * xb);
  }
};
template <class Number>
struct LinesBeside<Number, true> {
  Number ma, mb, k, ea, eb, near_a, near_b;  // the last two are 1 and 0, or 0 and 1

  LinesBeside() = default;
  /// `a` and `b`: are there; x is zero on a line that is not, whatever it is given as.
  STRATUM_INLINE constexpr LinesBeside(Number ka, Number m_a, Number kb, Number m_b, Number e, bool a = true,
                                       bool b = true) {
    const Number own = 2 * (m_a + m_b);
    near_a = a && (!b || nearer(ka, kb) < 0) ? 1 : 0;
    near_b = b && near_a == 0 ? 1 : 0;
    ma = (a ? m_a : 0) + near_a * own;
    mb = (b ? m_b : 0) + near_b * own;
    k = !a || !b ? 0 : near_b == 1 ? ka : -kb;
    ea = near_a * (b ? e : e + kb);
    eb = near_b * (a ? e : e + ka);
  }
  template <class X>
  STRATUM_INLINE constexpr X mass(X xa, X xb) const {
    return ma * xa + mb * xb;
  }
  template <class X>
  STRATUM_INLINE constexpr X stiffness(X xa, X xb) const {
    return k * (xb - xa) + (ea * xa + eb * xb);
  }
  template <class X>
  STRATUM_INLINE constexpr X near(X xa, X xb) const {
    return near_a * xa + near_b * xb;
  }
};

/// The coefficient between the two ends, where the line itself has mass M and stiffness S; the same added to a sum.
template <class Factor, class Number>
STRATUM_INLINE constexpr auto interval_coupling(Factor k, Factor m, Number mass, Number stiffness) {
  return m * stiffness - k * mass;
}
template <class Factor, class Number>
STRATUM_INLINE constexpr Number add_coupling(Number sum, Factor k, Factor m, Number mass, Number stiffness) {
  return sum + m * stiffness - k * mass;
}

/// What it adds to the diagonal entry at either end: the coupling's negative and `interval_excess`.
template <class Factor, class Number>
STRATUM_INLINE constexpr auto interval_weight(Factor k, Factor m, Number mass, Number stiffness) {
  return m * (2 * stiffness) + k * mass;
}

/// What it adds to the sum over the row of either end. Where cells are stretched the entries, of the size of k M, cancel in
/// that sum: formed from them it is rounding. Of two intervals: with m the sum of theirs.
template <class Factor, class Number>
STRATUM_INLINE constexpr Number interval_excess(Factor m, Number stiffness) {
  return 3 * m * stiffness;
}

}  // namespace stratum
