#pragma once

// The per-node formulas of transfer.cpp, shared with the kernel that runs the small levels.

#include <stratum/core/grid_operator.hpp>
#include <stratum/multigrid/transfer.hpp>

namespace stratum {

template <class T>
struct GivenDefect {
  GridView<const T> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(int i, int j) const { return d(i, j); }
};

template <class View, class T>
struct ComputedDefect {
  View a;
  GridView<const T> b, x;
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
  const int interval = j / 2;  // local fine row j is global node j + 1
  if (j % 2 == 1) return {interval, interval, T(1), T(0)};
  return {interval - 1, interval, y.left[interval], y.right[interval]};
}

/// Fine nodes 2 I and 2 I + 1 (local) of row j from coarse interval I: the new node inside and the coarse node at its right.
template <bool add, class T>
struct ProlongateCoarsened {
  TransferView<T> x, y;
  GridView<const T> coarse;
  GridView<T> fine;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int interval, int j) const {
    const auto rows = coarse_rows(y, j);
    const T l = rows.w0 * coarse(interval - 1, rows.j0) + rows.w1 * coarse(interval - 1, rows.j1);
    const T r = rows.w0 * coarse(interval, rows.j0) + rows.w1 * coarse(interval, rows.j1);
    const T middle = x.left[interval] * l + x.right[interval] * r;
    fine(2 * interval, j) = add ? fine(2 * interval, j) + middle : middle;
    if (2 * interval + 1 < fine.nx) fine(2 * interval + 1, j) = add ? fine(2 * interval + 1, j) + r : r;
  }
};

template <bool add, class T>
struct ProlongateIdentity {
  TransferView<T> y;
  GridView<const T> coarse;
  GridView<T> fine;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const auto rows = coarse_rows(y, j);
    const T value = rows.w0 * coarse(i, rows.j0) + rows.w1 * coarse(i, rows.j1);
    fine(i, j) = add ? fine(i, j) + value : value;
  }
};

/// d(I, J) = P^T d_fine with the fine defect given by a functor.
template <class Defect, class T>
struct Restrict {
  TransferView<T> x, y;
  Defect defect;
  GridView<T> coarse;
  STRATUM_HOST_DEVICE STRATUM_INLINE T row(int interval, int j) const {
    if (x.left == nullptr) return defect(interval, j);
    return x.right[interval] * defect(2 * interval, j) + defect(2 * interval + 1, j) +
           x.left[interval + 1] * defect(2 * interval + 2, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    coarse(i, j) = y.left == nullptr
                       ? row(i, j)
                       : y.right[j] * row(i, 2 * j) + row(i, 2 * j + 1) + y.left[j + 1] * row(i, 2 * j + 2);
  }
};

}  // namespace stratum
