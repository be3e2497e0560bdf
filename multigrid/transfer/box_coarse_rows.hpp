#pragma once

// Rows of R^T A P for kernels of multigrid/transfer/box_transfer.cpp, one of a coarse node by itself: of all fine nodes around, at
// most five in a direction, weights are read once, rows of A are added up, and P is multiplied with the sums. Where no Dirichlet
// and no fixed node is near what coarse rows have left is a sum of what fine rows have left, without a difference.

#include <cmath>
#include <cstddef>

#include <stratum/core/operators/box_rows.hpp>
#include <stratum/multigrid/transfer/box_transfer.hpp>

namespace stratum::detail {

/// No node; planes beside a slab have negative numbers.
inline constexpr int no_node = -(1 << 30);

/// Index i of a direction, brought back from across a periodic box.
STRATUM_HOST_DEVICE STRATUM_INLINE int inside(const BoxShape& shape, int axis, int i) {
  if (!shape.periodic[static_cast<std::size_t>(axis)]) return i;
  const int n = shape.size(axis);
  return i < 0 ? i + n : i >= n ? i - n : i;
}

/// Of one direction the fine nodes around that of a coarse node, by their distances -2 .. 2, and their coarse ones: one, or two
/// of a node that lies between. Of all those there are at most 7, numbered as `slots`.
struct Window {
  int node[5];
  int first[6];  // slot
  int place
      [10];  // of a slot: the coarse node beside the one in the middle, 0 .. 2; -1: a Dirichlet node, or farther away
  bool outside[5];  // a coarse one is a Dirichlet node

  STRATUM_HOST_DEVICE STRATUM_INLINE Window(const BoxAxisMap& map, const BoxShape& fine, const BoxShape& coarse,
                                            int axis, int middle) {
    int slot = 0;
    for (int o = 0; o < 5; ++o) {
      const int i = map.kept[middle] + o - 2;
      const bool there = fine.has(axis, i);
      node[o] = there ? inside(fine, axis, i) : no_node;
      first[o] = slot;
      outside[o] = false;
      if (!there) continue;
      for (int behind = 0; behind <= (map.dropped[node[o]] >= 0 ? 1 : 0); ++behind) {
        const int at = map.coarse[node[o]] + behind, n = coarse.size(axis);
        int shift = at - middle;
        if (shift > 1) shift -= n;
        if (shift < -1) shift += n;
        const bool is_node = coarse.has(axis, at);
        outside[o] = outside[o] || !is_node;
        place[slot++] = is_node && shift >= -1 && shift <= 1 ? shift + 1 : -1;
      }
    }
    first[5] = slot;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_between(int o) const { return first[o + 1] - first[o] == 2; }
  /// In the support of the coarse node: it, and its neighbours that lie between.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool supports(int o) const {
    return node[o] != no_node && (o == 2 || is_between(o));
  }
  /// Beside one of those.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool reaches(int o) const {
    return node[o] != no_node && (o == 0 ? supports(1) : o == 4 ? supports(3) : true);
  }
};

/// The row of a coarse node of R^T A P: its support's rows, each with what their differences of P make of them. R is P where A
/// is symmetric.
template <class T, class Rows, class CoarseRows>
struct CoarseRow {
  static constexpr int slots = 7;
  BoxTransferView<T> p, r;
  Rows rows;
  CoarseRows coarse;

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    double sums[box_row] = {};
    double excess;
#if !defined(__CUDA_ARCH__)
    if (is_copied(0, i) && is_copied(1, j) && is_copied(2, k))
      excess = rows.row(p.axes[0].kept[i], p.axes[1].kept[j], p.axes[2].kept[k], sums);
    else
#endif
      excess = product(i, j, k, sums);
    coarse.at(0, i, j, k) = excess;
    for (int n = CoarseRows::first_band; n <= box_neighbours; ++n) {
      if (n == 0) continue;
      const BoxOffset o(n);
      const bool there = coarse.shape.has(0, i + o.x) && coarse.shape.has(1, j + o.y) && coarse.shape.has(2, k + o.z);
      coarse.at(n, i, j, k) = there ? sums[box_neighbours + n] : 0;
    }
  }

 private:
  /// Neither node beside this one of a direction lies between. If this is so in all directions, P copies the fine row.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_copied(int axis, int at) const {
    const auto& map = p.axes[static_cast<std::size_t>(axis)];
    const auto lies_between = [&](int i) { return p.fine.has(axis, i) && map.dropped[inside(p.fine, axis, i)] >= 0; };
    const bool short_circle = p.fine.periodic[static_cast<std::size_t>(axis)] && p.fine.size(axis) < 3;
    return !short_circle && !lies_between(map.kept[at] - 1) && !lies_between(map.kept[at] + 1);
  }

  /// Entries of the row, to be added to `sums`, and what it has left.
  STRATUM_HOST_DEVICE STRATUM_INLINE double product(int i, int j, int k, double (&sums)[box_row]) const {
    const Window x(p.axes[0], p.fine, p.coarse, 0, i), y(p.axes[1], p.fine, p.coarse, 1, j),
        z(p.axes[2], p.fine, p.coarse, 2, k);
    T weights[slots * slots * slots];
    // What a node has of Dirichlet and fixed nodes. Exactly zero where none is near: natural boundaries leave nothing of rows.
    // Weights are T's.
    const auto is_apart = [](double inner) { return std::abs(1 - inner) > 1e-5; };
    const auto outside = [&](int a, int b, int c) {
      double inner = 0;
      for (int w = z.first[c]; w < z.first[c + 1]; ++w)
        for (int v = y.first[b]; v < y.first[b + 1]; ++v)
          for (int u = x.first[a]; u < x.first[a + 1]; ++u)
            if (x.place[u] >= 0 && y.place[v] >= 0 && z.place[w] >= 0)
              inner += static_cast<double>(weights[(w * slots + v) * slots + u]);
      const bool has_outside = x.outside[a] || y.outside[b] || z.outside[c] || is_apart(inner);
      return has_outside ? 1 - inner : 0;
    };
    bool near = false;  // any such node
    for (int c = 0; c < 5; ++c)
      for (int b = 0; b < 5; ++b) {
        if (!y.reaches(b) || !z.reaches(c)) continue;
        double inner[5] = {};
        for (int w = z.first[c]; w < z.first[c + 1]; ++w)
          for (int v = y.first[b]; v < y.first[b + 1]; ++v) {
            const int bits = (v - y.first[b]) << 1 | (w - z.first[c]) << 2;
            const int of_y = v > y.first[b] ? p.axes[1].dropped[y.node[b]] : y.node[b],
                      of_z = w > z.first[c] ? p.axes[2].dropped[z.node[c]] : z.node[c];
            const T* const before = p.weights[static_cast<std::size_t>(bits)].row(of_y, of_z);
            const T* const behind = p.weights[static_cast<std::size_t>(bits | 1)].row(of_y, of_z);
            T* const to = weights + (w * slots + v) * slots;
            const bool is_node = y.place[v] >= 0 && z.place[w] >= 0;
            for (int a = 0; a < 5; ++a) {
              if (!x.reaches(a)) continue;
              const int u = x.first[a];
              to[u] = before[x.node[a]];
              if (is_node && x.place[u] >= 0) inner[a] += static_cast<double>(to[u]);
              if (!x.is_between(a)) continue;
              to[u + 1] = behind[p.axes[0].dropped[x.node[a]]];
              if (is_node && x.place[u + 1] >= 0) inner[a] += static_cast<double>(to[u + 1]);
            }
          }
        for (int a = 0; a < 5; ++a)
          near = near || (x.reaches(a) && (x.outside[a] || y.outside[b] || z.outside[c] || is_apart(inner[a])));
      }
    // First the row of P^T A, over the nodes around; then what P makes of it.
    double row[125] = {}, entries[box_row], excess = 0;
    for (int c = 1; c < 4; ++c)
      for (int b = 1; b < 4; ++b)
        for (int a = 1; a < 4; ++a) {
          if (!x.supports(a) || !y.supports(b) || !z.supports(c)) continue;
          // Before the coarse node it is the one behind of those that lie between.
          const int bits = (a == 1 ? 1 : 0) | (b == 1 ? 2 : 0) | (c == 1 ? 4 : 0);
          const auto weight = static_cast<double>(r.at(bits, x.node[a], y.node[b], z.node[c]));
          if (weight == 0) continue;
          const int here = (c * 5 + b) * 5 + a;
          const double left = rows.row(x.node[a], y.node[b], z.node[c], entries), own = near ? outside(a, b, c) : 0;
          double of_row = 0;
          const double* entry = entries;
          for (int dz = -1; dz <= 1; ++dz)
            for (int dy = -1; dy <= 1; ++dy) {
              double* const to = row + here + dz * 25 + dy * 5;
              for (int dx = -1; dx <= 1; ++dx, ++entry) {
                if (*entry == 0) continue;
                of_row += *entry;
                to[dx] += weight * *entry;
              }
            }
          row[here] += weight * (left - of_row);
          double of_excess = left * (1 - own);
          if (near)
            for (int n = 0; n < box_row; ++n)
              if (n != box_neighbours && entries[n] != 0)
                of_excess += entries[n] * (own - outside(a + n % 3 - 1, b + n / 3 % 3 - 1, c + n / 9 - 1));
          excess += weight * of_excess;
        }
    // Of a symmetric matrix entries to later nodes, those in planes behind and in the own one.
    constexpr int first_plane = CoarseRows::first_band == 0 ? 1 : 0;
    for (int c = 0; c < 5; ++c)
      for (int b = 0; b < 5; ++b)
        for (int a = 0; a < 5; ++a) {
          const double factor = row[(c * 5 + b) * 5 + a];
          if (factor == 0) continue;
          for (int w = z.first[c]; w < z.first[c + 1]; ++w) {
            if (z.place[w] < first_plane) continue;
            for (int v = y.first[b]; v < y.first[b + 1]; ++v)
              for (int u = x.first[a]; u < x.first[a + 1]; ++u)
                if (x.place[u] >= 0 && y.place[v] >= 0)
                  sums[(z.place[w] * 3 + y.place[v]) * 3 + x.place[u]] +=
                      factor * static_cast<double>(weights[(w * slots + v) * slots + u]);
          }
        }
    return excess;
  }
};

}  // namespace stratum::detail
