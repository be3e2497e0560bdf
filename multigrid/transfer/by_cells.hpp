#pragma once

// Interpolation P by weights of coarse cells (WeightsView), and its transpose: the formulas that every kernel calls, node by
// node and, on the CPU, row by row. Kernels for GPUs: multigrid/transfer/streams.hpp.

#include <stratum/multigrid/transfer/linear.hpp>

namespace stratum {

namespace by_cells {

/// P on an edge.
template <class T>
[[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T between(T weight, T first, T second) {
  return weight * first + (T(1) - weight) * second;
}
/// P at the centre of a cell: a sum over its corners, the lower ones first.
template <class T>
[[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T centre(T sw, T se, T nw, T ne, T x_sw, T x_se, T x_nw, T x_ne) {
  return sw * x_sw + se * x_se + nw * x_nw + ne * x_ne;
}

/// Weight of coarse node (I, J) at the fine node p columns and q rows from it, p and q from -1 to 1: P^T is the sum of these
/// times d.
template <class T>
[[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T weight(const WeightsView<const T>& w, int column, int row, int p,
                                                          int q) {
  if (p == 0 && q == 0) return T(1);
  const std::int64_t at = w.at(column - (p < 0 ? 1 : 0), row - (q < 0 ? 1 : 0));
  if (q == 0) return p < 0 ? T(1) - w.west[at] : w.west[at];
  if (p == 0) return q < 0 ? T(1) - w.south[at] : w.south[at];
  if (q < 0) return p < 0 ? w.ne[at] : w.nw[at];
  return p < 0 ? w.se[at] : w.sw[at];
}
/// P^T on a line of three nodes, by the weights of the edges before and behind the coarse node in the middle.
template <class T>
[[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T gathered(T edge_before, T before, T own, T edge, T behind) {
  return (T(1) - edge_before) * before + own + edge * behind;
}
/// Of three nodes with weights: P^T in a row or a column of new nodes.
template <class T>
[[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T sum(T a, T x, T b, T y, T c, T z) {
  return a * x + b * y + c * z;
}

}  // namespace by_cells

/// The fine nodes of coarse cell (I, J) but those on its lower and its left side. A direction that is not coarsened has nodes
/// for cells.
template <bool add, class T>
struct ProlongateCell {
  WeightsView<const T> w;
  FieldView<const T> coarse;
  FieldView<T> fine;

  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const {
    if (i >= 0 && i < fine.nx && j >= 0 && j < fine.ny) fine(i, j) = add ? fine(i, j) + value : value;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int column, int row) const {
    const T* c = &coarse(column - w.origin_x, row - w.coarse_origin_y);
    const int i = 2 * column + 1 - w.origin_x, j = 2 * row + 1 - w.origin_y;
    const std::int64_t at = w.at(column, row), up = coarse.pitch;
    if (w.south == nullptr) {
      store(i, row - w.origin_y, by_cells::between(w.west[at], c[0], c[1]));
      store(i + 1, row - w.origin_y, c[1]);
    } else if (w.west == nullptr) {
      store(column - w.origin_x, j, by_cells::between(w.south[at], c[0], c[up]));
      store(column - w.origin_x, j + 1, c[up]);
    } else {
      store(i, j, by_cells::centre(w.sw[at], w.se[at], w.nw[at], w.ne[at], c[0], c[1], c[up], c[up + 1]));
      store(i + 1, j, by_cells::between(w.south[at + 1], c[1], c[up + 1]));
      store(i, j + 1, by_cells::between(w.west[at + w.pitch], c[up], c[up + 1]));
      store(i + 1, j + 1, c[up + 1]);
    }
  }
  [[nodiscard]] NodeRange<2> range() const {
    const auto first = [](const T* weights, int origin) { return weights != nullptr ? origin - 1 : origin; };
    return {first(w.west, w.origin_x),         coarse.nx + w.origin_x,        1,
            first(w.south, w.coarse_origin_y), coarse.ny + w.coarse_origin_y, 1};
  }
};

namespace {

/// CPU: the fine rows of a row of coarse cells, both directions coarsened, in blocks that stay in the nearest cache.
template <bool add, class T>
STRATUM_SIMD_CLONES void prolongate_cells(const ProlongateCell<add, T> p, const int row) {
  constexpr int block = 256;
  T edge[block], middle[block];
  const auto& w = p.w;
  const NodeRange<2> range = p.range();
  const int pairs = std::min(range.end_x, (p.fine.nx + w.origin_x - 1) / 2), j = 2 * row + 1 - w.origin_y;
  if (range.begin_x < 0) p(-1, row);
  for (int begin = 0; begin < pairs; begin += block) {
    const int length = std::min(block, pairs - begin), i = 2 * begin + 1 - w.origin_x;
    const T *lower = &p.coarse(begin - w.origin_x, row - w.coarse_origin_y), *upper = lower + p.coarse.pitch;
    const std::int64_t at = w.at(begin, row);
    if (j >= 0 && j < p.fine.ny) {
      const T *south = w.south + at + 1, *sw = w.sw + at, *se = w.se + at, *nw = w.nw + at, *ne = w.ne + at;
#pragma omp simd
      for (int n = 0; n < length; ++n) {
        edge[n] = by_cells::between(south[n], lower[n + 1], upper[n + 1]);
        middle[n] = by_cells::centre(sw[n], se[n], nw[n], ne[n], lower[n], lower[n + 1], upper[n], upper[n + 1]);
      }
      simd::interleave<add>(middle, edge, length, &p.fine(i, j));
    }
    if (j + 1 >= 0 && j + 1 < p.fine.ny) {
      const T* west = w.west + at + w.pitch;
#pragma omp simd
      for (int n = 0; n < length; ++n) middle[n] = by_cells::between(west[n], upper[n], upper[n + 1]);
      simd::interleave<add>(middle, upper + 1, length, &p.fine(i, j + 1));
    }
  }
  for (int column = pairs; column < range.end_x; ++column) p(column, row);
}

}  // namespace

/// d(I, J) = P^T d_fine with the fine defect, of fine_nx x fine_ny nodes, given by a functor.
template <class Defect, class T>
struct RestrictWeighted {
  static constexpr bool hot = std::is_same_v<Defect, GivenDefect<T>>;
  WeightsView<const T> w;
  Defect defect;
  int fine_nx, fine_ny;
  FieldView<T> coarse;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T at(T weight, int i, int j) const {
    const int column = fine_node(w.periodic_x, i, fine_nx), row = fine_node(w.periodic_y, j, fine_ny);
    return column >= 0 && row >= 0 ? weight * defect(column, row) : T(0);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int column = i + w.origin_x, row = j + w.coarse_origin_y;
    const int x = w.west == nullptr ? i : 2 * column - w.origin_x, y = w.south == nullptr ? j : 2 * row - w.origin_y;
    const auto term = [&](int p, int q) { return at(by_cells::weight(w, column, row, p, q), x + p, y + q); };
    if (w.south == nullptr)
      coarse(i, j) = term(-1, 0) + term(0, 0) + term(1, 0);
    else if (w.west == nullptr)
      coarse(i, j) = term(0, -1) + term(0, 0) + term(0, 1);
    else
      coarse(i, j) = (term(-1, -1) + term(0, -1) + term(1, -1)) + (term(-1, 0) + term(0, 0) + term(1, 0)) +
                     (term(-1, 1) + term(0, 1) + term(1, 1));
  }
};

}  // namespace stratum
