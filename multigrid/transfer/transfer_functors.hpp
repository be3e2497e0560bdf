#pragma once

// The per-node formulas of transfer_kernels.hpp.

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/multigrid/transfer/transfer.hpp>

namespace stratum {

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

/// Coarse rows that fine row j takes from, with weights: x_fine = w0 x_coarse(j0) + w1 x_coarse(j1).
template <class T>
struct CoarseRows {
  int j0, j1;
  T w0, w1;
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
    const T l = rows.w0 * coarse(node, rows.j0) + rows.w1 * coarse(node, rows.j1);
    const T r = rows.w0 * coarse(node + 1, rows.j0) + rows.w1 * coarse(node + 1, rows.j1);
    store(first, j, x.left[interval] * l + x.right[interval] * r);
    store(first + 1, j, r);
  }
  /// Intervals whose right ends are all coarse nodes, from -1 on where the first side's node is one.
  [[nodiscard]] int begin() const { return x.origin - 1; }
  [[nodiscard]] int end() const { return coarse.nx + x.origin; }
};

template <bool add, class T>
struct ProlongateIdentity {
  static constexpr bool hot = true;
  TransferView<T> y;
  FieldView<const T> coarse;
  FieldView<T> fine;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const auto rows = coarse_rows(y, j);
    const T value = rows.w0 * coarse(i, rows.j0) + rows.w1 * coarse(i, rows.j1);
    fine(i, j) = add ? fine(i, j) + value : value;
  }
};

/// The fine node with number i, where there is one; otherwise a negative number.
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE int fine_node(const TransferView<T>& t, int i, int n) {
  if (t.periodic) return i < 0 ? i + n : i < n ? i : i - n;
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
  STRATUM_HOST_DEVICE STRATUM_INLINE T at(T weight, int i, int j) const {
    if constexpr (plain) return weight * defect(i, j);
    const int node = fine_node(x, i, fine_nx);
    return node >= 0 ? weight * defect(node, j) : T(0);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE T row(T weight, int i, int fine_row) const {
    const int j = plain ? fine_row : fine_node(y, fine_row, fine_ny);
    if (j < 0) return T(0);
    if (x.left == nullptr) return weight * defect(i, j);
    const int node = i + x.coarse_origin, centre = 2 * node - x.origin;
    return weight * (at(x.right[node - 1], centre - 1, j) + at(T(1), centre, j) + at(x.left[node], centre + 1, j));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    if (y.left == nullptr) {
      coarse(i, j) = row(T(1), i, j);
      return;
    }
    const int node = j + y.coarse_origin, centre = 2 * node - y.origin;
    coarse(i, j) = row(y.right[node - 1], i, centre - 1) + row(T(1), i, centre) + row(y.left[node], i, centre + 1);
  }
};

}  // namespace stratum
