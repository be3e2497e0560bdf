#pragma once

// Linear interpolation P and its transpose, one direction at a time: the formulas that every kernel calls, node by node and, on
// the CPU, row by row. Kernels for GPUs: multigrid/transfer/streams.hpp.
//
//     P      x = left_I x_I + right_I x_(I+1)                                   at the node between coarse nodes I and I + 1
//     P^T    d_I = right_(I-1) d_before + d_own + left_I d_behind               d at coarse node I and the nodes beside it

#include <algorithm>

#include <stratum/core/device/simd.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/multigrid/transfer/transfer.hpp>

namespace stratum {

namespace linear {

template <class T>
[[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T between(T left, T right, T first, T second) {
  return left * first + right * second;
}
/// term(weight, k): weight times d at the node before (-1), the coarse one (0) and the node behind it (1), as far as it is
/// there.
template <class T, class Term>
[[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T gathered(T right_before, T left, const Term& term) {
  return term(right_before, -1) + term(T(1), 0) + term(left, 1);
}
template <class T>
[[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T gathered(T right_before, T before, T own, T left, T behind) {
  return gathered(right_before, left, [&](T weight, int k) {
    return weight * (k < 0 ? before : k > 0 ? behind : own);
  });
}

}  // namespace linear

template <class T>
struct GivenDefect {
  FieldView<const T> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(int i, int j) const { return d(i, j); }
};

template <class View, class T>
struct ComputedDefect {
  View a;
  FieldView<const T> b, x;
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(int i, int j) const { return b(i, j) - a.sum(x, i, j); }
};

/// Coarse rows that a subdomain restricts to: its own, and where y is coarsened one of the next subdomain, which adds it to its
/// own.
inline int restricted_rows(bool coarsened_y, const GridLayout<2>& coarse) {
  return coarse.ny + (coarsened_y && coarse.above ? 1 : 0);
}

/// Coarse rows that fine row j takes from, with weights: x_fine = w0 x_coarse(j0) + w1 x_coarse(j1).
template <class T>
struct CoarseRows {
  int j0, j1;
  T w0, w1;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T at(const FieldView<const T>& coarse, int i) const {
    return linear::between(w0, w1, coarse(i, j0), coarse(i, j1));
  }
};

template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE CoarseRows<T> coarse_rows(const TransferView<T>& y, int j) {
  if (y.left == nullptr) return {j, j, T(1), T(0)};
  const int node = j + y.origin, interval = node / 2, row = interval - y.coarse_origin;
  if (node % 2 == 0) return {row, row, T(1), T(0)};
  return {row, row + 1, y.left[interval], y.right[interval]};
}

/// The fine node inside coarse interval I and the coarse node at its right, in row j.
template <bool add, class T>
struct ProlongateCoarsened {
  TransferView<T> x, y;
  FieldView<const T> coarse;
  FieldView<T> fine;
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const {
    if (i >= 0 && i < fine.nx) fine(i, j) = add ? fine(i, j) + value : value;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int interval, int j) const {
    const auto rows = coarse_rows(y, j);
    const int node = interval - x.origin, first = 2 * interval + 1 - x.origin;
    const T l = rows.at(coarse, node), r = rows.at(coarse, node + 1);
    store(first, j, linear::between(x.left[interval], x.right[interval], l, r));
    store(first + 1, j, r);
  }
  /// Intervals whose right ends are all coarse nodes, from -1 on where the first side's node is one.
  [[nodiscard]] int begin() const { return x.origin - 1; }
  [[nodiscard]] int end() const { return coarse.nx + x.origin; }
};

namespace {

/// CPU: one fine row of a coarsened x direction, in blocks that stay in the nearest cache.
template <bool add, class T>
STRATUM_SIMD_CLONES void prolongate_row(const ProlongateCoarsened<add, T> p, const int j) {
  constexpr int block = 256;
  const auto rows = coarse_rows(p.y, j);
  T edge[block + 1],
      middle[block];  // the coarse rows combined, from the left end of the first interval on; the new nodes
  // An interval that stays alone beside a Neumann or Robin boundary has one fine node of its own, not two.
  const int origin = p.x.origin, pairs = std::min(p.end(), (p.fine.nx + p.x.origin - 1) / 2);
  if (p.begin() < 0) p(-1, j);
  for (int begin = 0; begin < pairs; begin += block) {
    const int length = std::min(block, pairs - begin);
    const T *c0 = &p.coarse(begin - origin, rows.j0), *c1 = &p.coarse(begin - origin, rows.j1);
    const T *left = p.x.left + begin, *right = p.x.right + begin;
#pragma omp simd
    for (int n = 0; n <= length; ++n) edge[n] = linear::between(rows.w0, rows.w1, c0[n], c1[n]);
#pragma omp simd
    for (int n = 0; n < length; ++n) middle[n] = linear::between(left[n], right[n], edge[n], edge[n + 1]);
    simd::interleave<add>(middle, edge + 1, length, &p.fine(2 * begin + 1 - origin, j));
  }
  for (int interval = pairs; interval < p.end(); ++interval) p(interval, j);
}

}  // namespace

template <bool add, class T>
struct ProlongateIdentity {
  static constexpr bool hot = true;
  TransferView<T> y;
  FieldView<const T> coarse;
  FieldView<T> fine;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const auto rows = coarse_rows(y, j);
    const T value = rows.at(coarse, i);
    fine(i, j) = add ? fine(i, j) + value : value;
  }
};

/// The fine node with number i, where there is one; otherwise a negative number.
STRATUM_HOST_DEVICE STRATUM_INLINE int fine_node(bool periodic, int i, int n) {
  if (periodic) return i < 0 ? i + n : i < n ? i : i - n;
  return i >= 0 && i < n ? i : -1;
}

/// d(I, J) = P^T d_fine with the fine defect, of fine_nx x fine_ny nodes, given by a functor. `plain`: every coarse node has
/// fine ones on both sides.
template <bool plain, class Defect, class T>
struct Restrict {
  static constexpr bool hot = plain;
  TransferView<T> x, y;
  Defect defect;
  int fine_nx, fine_ny;
  FieldView<T> coarse;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T at(T weight, int i, int j) const {
    if constexpr (plain) return weight * defect(i, j);
    const int node = fine_node(x.periodic, i, fine_nx);
    return node >= 0 ? weight * defect(node, j) : T(0);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T row(T weight, int i, int fine_row) const {
    const int j = plain ? fine_row : fine_node(y.periodic, fine_row, fine_ny);
    if (j < 0) return T(0);
    if (x.left == nullptr) return weight * defect(i, j);
    const int node = i + x.coarse_origin, centre = 2 * node - x.origin;
    return weight *
           linear::gathered(x.right[node - 1], x.left[node], [&](T along, int k) { return at(along, centre + k, j); });
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    if (y.left == nullptr) {
      coarse(i, j) = row(T(1), i, j);
      return;
    }
    const int node = j + y.coarse_origin, centre = 2 * node - y.origin;
    coarse(i, j) =
        linear::gathered(y.right[node - 1], y.left[node], [&](T along, int k) { return row(along, i, centre + k); });
  }
};

}  // namespace stratum
