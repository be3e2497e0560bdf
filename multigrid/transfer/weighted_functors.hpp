#pragma once

// The per-node formulas of transfers with weights by coarse cells (WeightsView).

#include <stratum/multigrid/transfer/transfer_functors.hpp>

namespace stratum {

/// Number of a fine node, where there is one; otherwise a negative one.
STRATUM_HOST_DEVICE STRATUM_INLINE int fine_node(bool periodic, int i, int n) {
  if (periodic) return i < 0 ? i + n : i < n ? i : i - n;
  return i >= 0 && i < n ? i : -1;
}

/// The fine nodes of coarse cell (I, J) but those on its lower and its left side. A direction that is not coarsened has nodes
/// for cells.
template <bool add, class T>
struct ProlongateCell {
  WeightsView<const T> w;
  FieldView<const T> coarse;
  FieldView<T> fine;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static T between(T weight, T first, T second) {
    return weight * first + (T(1) - weight) * second;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const {
    if (i >= 0 && i < fine.nx && j >= 0 && j < fine.ny) fine(i, j) = add ? fine(i, j) + value : value;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int column, int row) const {
    const T* c = &coarse(column - w.origin_x, row - w.coarse_origin_y);
    const int i = 2 * column + 1 - w.origin_x, j = 2 * row + 1 - w.origin_y;
    const std::int64_t at = w.at(column, row), up = coarse.pitch;
    if (w.south == nullptr) {
      store(i, row - w.origin_y, between(w.west[at], c[0], c[1]));
      store(i + 1, row - w.origin_y, c[1]);
    } else if (w.west == nullptr) {
      store(column - w.origin_x, j, between(w.south[at], c[0], c[up]));
      store(column - w.origin_x, j + 1, c[up]);
    } else {
      store(i, j, w.sw[at] * c[0] + w.se[at] * c[1] + w.nw[at] * c[up] + w.ne[at] * c[up + 1]);
      store(i + 1, j, between(w.south[at + 1], c[1], c[up + 1]));
      store(i, j + 1, between(w.west[at + w.pitch], c[up], c[up + 1]));
      store(i + 1, j + 1, c[up + 1]);
    }
  }
  [[nodiscard]] NodeRange<2> range() const {
    const auto first = [](const T* weights, int origin) { return weights != nullptr ? origin - 1 : origin; };
    return {first(w.west, w.origin_x),         coarse.nx + w.origin_x,        1,
            first(w.south, w.coarse_origin_y), coarse.ny + w.coarse_origin_y, 1};
  }
};

/// d(I, J) = P^T d_fine with the fine defect, of fine_nx x fine_ny nodes, given by a functor.
template <class Defect, class T>
struct RestrictWeighted {
  static constexpr bool hot = std::is_same_v<Defect, GivenDefect<T>>;
  WeightsView<const T> w;
  Defect defect;
  int fine_nx, fine_ny;
  FieldView<T> coarse;

  STRATUM_HOST_DEVICE STRATUM_INLINE T at(T weight, int i, int j) const {
    const int column = fine_node(w.periodic_x, i, fine_nx), row = fine_node(w.periodic_y, j, fine_ny);
    return column >= 0 && row >= 0 ? weight * defect(column, row) : T(0);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int column = i + w.origin_x, row = j + w.coarse_origin_y;
    const int x = 2 * column - w.origin_x, y = 2 * row - w.origin_y;
    const std::int64_t own = w.at(column, row), left = own - 1, below = own - w.pitch;
    if (w.south == nullptr) {
      coarse(i, j) = at(T(1) - w.west[left], x - 1, j) + at(T(1), x, j) + at(w.west[own], x + 1, j);
    } else if (w.west == nullptr) {
      coarse(i, j) = at(T(1) - w.south[below], i, y - 1) + at(T(1), i, y) + at(w.south[own], i, y + 1);
    } else {
      const T lower =
          at(w.ne[below - 1], x - 1, y - 1) + at(T(1) - w.south[below], x, y - 1) + at(w.nw[below], x + 1, y - 1);
      const T middle = at(T(1) - w.west[left], x - 1, y) + at(T(1), x, y) + at(w.west[own], x + 1, y);
      const T upper = at(w.se[left], x - 1, y + 1) + at(w.south[own], x, y + 1) + at(w.sw[own], x + 1, y + 1);
      coarse(i, j) = lower + middle + upper;
    }
  }
};

}  // namespace stratum
