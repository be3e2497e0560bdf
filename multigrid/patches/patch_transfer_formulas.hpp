#pragma once

// The nodes that an interpolated node depends on, and their weights: shared by transfer and Galerkin products.

#include <stratum/multigrid/patches/patch_transfer.hpp>

namespace stratum::detail {

template <class T>
struct PatchInterpolation {
  PatchWeights<T> weights;
  PatchCoarsening patch;

  /// Of the node between coarse nodes (I, J) and (I + 1, J): the stored weight is that of the second one.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool turned_x(int J) const {
    return (J == 0 && patch.reversed[0]) || (J == patch.coarse.ny && patch.reversed[2]);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool turned_y(int I) const {
    return (I == 0 && patch.reversed[3]) || (I == patch.coarse.nx && patch.reversed[1]);
  }
  /// Weight of the west (second = false) or east node.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T weight_x(int I, int J, bool second) const {
    const T stored = weights.x[patch.coarse.node(I, J)];
    return turned_x(J) == second ? stored : T(1) - stored;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T weight_y(int I, int J, bool second) const {
    const T stored = weights.y[patch.coarse.node(I, J)];
    return turned_y(I) == second ? stored : T(1) - stored;
  }
  /// There is a fine node between coarse ones k and k + 1.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static bool has_middle(const CoarseChord& chord, int k) {
    return k >= 0 && k < chord.coarse() && chord.fine(k + 1) - chord.fine(k) == 2;
  }

  /// P e at fine node (i, j).
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T interpolated(const T* e, int i, int j) const {
    const int I = patch.x.at_or_before(i), J = patch.y.at_or_before(j);
    const bool between_x = patch.x.fine(I) != i, between_y = patch.y.fine(J) != j;
    const int at = patch.coarse.node(I, J), pitch = patch.coarse.pitch;
    if (!between_x && !between_y) return e[at];
    if (between_x && between_y)
      return weights.south_west[at] * e[at] + weights.south_east[at] * e[at + 1] +
             weights.north_west[at] * e[at + pitch] + weights.north_east[at] * e[at + pitch + 1];
    const int step = between_x ? 1 : pitch;
    const bool turned = between_x ? turned_x(J) : turned_y(I);
    const T stored = between_x ? weights.x[at] : weights.y[at];
    return stored * e[turned ? at + step : at] + (T(1) - stored) * e[turned ? at : at + step];
  }

  /// P^T r at coarse node (I, J), r[k] for the number of a node.
  template <class Numbers>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T restricted(const Numbers& r, int I, int J) const {
    const int k = patch.fine.node(patch.x.fine(I), patch.y.fine(J)), pitch = patch.fine.pitch;
    const int at = patch.coarse.node(I, J), below = at - patch.coarse.pitch;
    const bool west = has_middle(patch.x, I - 1), east = has_middle(patch.x, I), south = has_middle(patch.y, J - 1),
               north = has_middle(patch.y, J);
    T sum = r[k];
    if (west) sum += weight_x(I - 1, J, true) * r[k - 1];
    if (east) sum += weight_x(I, J, false) * r[k + 1];
    if (south) sum += weight_y(I, J - 1, true) * r[k - pitch];
    if (north) sum += weight_y(I, J, false) * r[k + pitch];
    if (west && south) sum += weights.north_east[below - 1] * r[k - pitch - 1];
    if (east && south) sum += weights.north_west[below] * r[k - pitch + 1];
    if (west && north) sum += weights.south_east[at - 1] * r[k + pitch - 1];
    if (east && north) sum += weights.south_west[at] * r[k + pitch + 1];
    return sum;
  }

  /// The row of P of fine node (i, j).
  struct Parents {
    int count = 0;
    int I[4] = {}, J[4] = {};
    T weight[4] = {};
    STRATUM_INLINE void add(int i, int j, T w) {
      I[count] = i;
      J[count] = j;
      weight[count++] = w;
    }
  };
  [[nodiscard]] Parents parents(int i, int j) const {
    const int I = patch.x.at_or_before(i), J = patch.y.at_or_before(j);
    const bool between_x = patch.x.fine(I) != i, between_y = patch.y.fine(J) != j;
    const int at = patch.coarse.node(I, J);
    Parents p;
    if (!between_x && !between_y) {
      p.add(I, J, 1);
    } else if (!between_y) {
      p.add(I, J, weight_x(I, J, false));
      p.add(I + 1, J, weight_x(I, J, true));
    } else if (!between_x) {
      p.add(I, J, weight_y(I, J, false));
      p.add(I, J + 1, weight_y(I, J, true));
    } else {
      p.add(I, J, weights.south_west[at]);
      p.add(I + 1, J, weights.south_east[at]);
      p.add(I, J + 1, weights.north_west[at]);
      p.add(I + 1, J + 1, weights.north_east[at]);
    }
    return p;
  }
};

}  // namespace stratum::detail
