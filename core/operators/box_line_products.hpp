#pragma once

// For CUDA sources only: A u along lines of a box, node after node, by one thread a line: for lines along y and z, neighbours
// in x being those of neighbouring threads. Of cells a plane across the line is loaded once, one plane ahead of its turn, and
// what two rows have in common is formed once: with differences T along a plane, and d = u_(k+1) - u_k, a cell of the layer
// between gives
//
//     K (m (2 T_k + T_(k+1)) - k M d)  to row k,    K (m (2 T_(k+1) + T_k) + k M d)  to row k + 1 ,
//
// about 80 operations a node. Results are those of Rows::product up to rounding.

#include <stratum/core/device/launch.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/core/operators/box_pairs.hpp>

namespace stratum::cuda {

/// A u of nodes first .. end - 1 of the line through (i, q); q is the index of the third direction. `ghosts`: u has them.
template <class Rows, int axis, BoxKind kind, bool ghosts = true>
class LineProducts {
 public:
  using T = typename Rows::Number;
  __device__ LineProducts(const Rows& rows, const FieldView<const T, 3>& u, int i, int q, int first, int /*end*/)
      : rows_(rows), u_(u), i_(i), q_(q), k_(first) {}
  __device__ STRATUM_INLINE T next() {
    const int k = k_++;
    return axis == 1 ? rows_.product(u_, i_, k, q_).value : rows_.product(u_, i_, q_, k).value;
  }

 private:
  const Rows& rows_;
  const FieldView<const T, 3>& u_;
  int i_, q_, k_;
};

template <class T, int axis, BoxKind kind, bool ghosts>
class LineProducts<BoxCellRows<T>, axis, kind, ghosts> {
 public:
  __device__ LineProducts(const BoxCellRows<T>& rows, const FieldView<const T, 3>& u, int i, int q, int first, int end)
      : rows_(rows), u_(u), i_(i), q_(q), end_(end), layer_(first) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      k_x_[side] = rows.axes[0].k[i + side];
      m_x_[side] = rows.axes[0].m[i + side];
      k_q_[side] = rows.axes[other].k[q + side];
      m_q_[side] = rows.axes[other].m[q + side];
    }
    load(first - 1, here_);
    differences(here_, of_x_, of_q_);
    load(first, ahead_);
    load_cells(first);
    (void)next();
  }

  /// Of the row before the first one the first time, in the constructor.
  __device__ STRATUM_INLINE T next() {
    T u[3][3], cells[parts][2][2];
#pragma unroll
    for (int a = 0; a < 3; ++a)
#pragma unroll
      for (int b = 0; b < 3; ++b) u[a][b] = ahead_[a][b];
#pragma unroll
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int a = 0; a < 2; ++a)
#pragma unroll
        for (int b = 0; b < 2; ++b) cells[part][a][b] = cells_[part][a][b];
    const int layer = layer_++;  // between planes layer - 1 and layer
    if (layer < end_) {
      load(layer + 1, ahead_);
      load_cells(layer + 1);
    }
    const T k_along = rows_.axes[axis].k[layer], m_along = rows_.axes[axis].m[layer];
    T of_x[2][2], of_q[2][2], sum = of_row_, next = 0;
    differences(u, of_x, of_q);
#pragma unroll
    for (int a = 0; a < 2; ++a)
#pragma unroll
      for (int b = 0; b < 2; ++b) {
        const int x = 2 * a, y = 2 * b;
        const auto d = [&](int c, int e) __attribute__((always_inline)) { return u[c][e] - here_[c][e]; };
        const T across = m_x_[a] * m_q_[b];
        const T weighted = k_along * across * (2 * (2 * d(1, 1) + d(x, 1)) + (2 * d(1, y) + d(x, y)));
        const T k = cells[0][a][b];
        if constexpr (kind == BoxKind::any) {
          const T k_q = cells[parts - 2][a][b], k_l = cells[parts - 1][a][b];
          sum += m_along * (k * (2 * of_x_[a][b] + of_x[a][b]) + k_q * (2 * of_q_[a][b] + of_q[a][b])) - k_l * weighted;
          next +=
              m_along * (k * (2 * of_x[a][b] + of_x_[a][b]) + k_q * (2 * of_q[a][b] + of_q_[a][b])) + k_l * weighted;
        } else {
          const T before = of_x_[a][b] + of_q_[a][b], behind = of_x[a][b] + of_q[a][b];
          sum += k * (m_along * (2 * before + behind) - weighted);
          next += k * (m_along * (2 * behind + before) + weighted);
        }
        if constexpr (kind != BoxKind::plain) {
          const T mass = rows_.reaction * across * m_along;
          const auto of_plane = [&](const T(&v)[3][3]) __attribute__((always_inline)) {
            return 2 * (2 * v[1][1] + v[x][1]) + (2 * v[1][y] + v[x][y]);
          };
          const T before = of_plane(here_), behind = of_plane(u);
          sum += mass * (2 * before + behind);
          next += mass * (2 * behind + before);
        }
      }
    of_row_ = next;
#pragma unroll
    for (int a = 0; a < 3; ++a)
#pragma unroll
      for (int b = 0; b < 3; ++b) here_[a][b] = u[a][b];
#pragma unroll
    for (int a = 0; a < 2; ++a)
#pragma unroll
      for (int b = 0; b < 2; ++b) of_x_[a][b] = of_x[a][b], of_q_[a][b] = of_q[a][b];
    return sum;
  }

 private:
  static constexpr int other = axis == 1 ? 2 : 1, parts = kind == BoxKind::any ? 3 : 1;

  __device__ STRATUM_INLINE void load(int k, T (&to)[3][3]) const {
    const BoxShape& shape = rows_.shape;
    const auto inside = [](int index, int n) { return index < 0 ? index + n : index >= n ? index - n : index; };
    const bool has_plane = ghosts || shape.has(axis, k);
    if constexpr (!ghosts) k = inside(k, shape.size(axis));
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      int q = q_ + b - 1;
      const bool has_row = has_plane && (ghosts || shape.has(other, q));
      if constexpr (!ghosts) q = inside(q, shape.size(other));
      const T* const row = !has_row ? u_.data : axis == 1 ? u_.row(k, q) : u_.row(q, k);
#pragma unroll
      for (int a = 0; a < 3; ++a) {
        const int i = i_ + a - 1;
        if constexpr (ghosts)
          to[a][b] = row[i];
        else
          to[a][b] = has_row && shape.has(0, i) ? row[inside(i, shape.n.nx)] : T(0);
      }
    }
  }
  __device__ STRATUM_INLINE void load_cells(int layer) {
    constexpr int of_part[3] = {0, other, axis};
#pragma unroll
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int a = 0; a < 2; ++a)
#pragma unroll
        for (int b = 0; b < 2; ++b)
          cells_[part][a][b] =
              axis == 1 ? rows_.k[of_part[part]](i_ + a, layer, q_ + b) : rows_.k[of_part[part]](i_ + a, q_ + b, layer);
  }
  /// Of the four cells around the node, along x and along q.
  __device__ STRATUM_INLINE void differences(const T (&v)[3][3], T (&of_x)[2][2], T (&of_q)[2][2]) const {
#pragma unroll
    for (int a = 0; a < 2; ++a)
#pragma unroll
      for (int b = 0; b < 2; ++b) {
        const int x = 2 * a, y = 2 * b;
        of_x[a][b] = k_x_[a] * m_q_[b] * (2 * (v[1][1] - v[x][1]) + (v[1][y] - v[x][y]));
        of_q[a][b] = m_x_[a] * k_q_[b] * (2 * (v[1][1] - v[1][y]) + (v[x][1] - v[x][y]));
      }
  }

  const BoxCellRows<T>& rows_;
  const FieldView<const T, 3>& u_;
  int i_, q_, end_, layer_;
  T k_x_[2], m_x_[2], k_q_[2], m_q_[2];
  T here_[3][3], ahead_[3][3], cells_[parts][2][2];  // planes, by x and q; cells of the layer ahead
  T of_x_[2][2], of_q_[2][2], of_row_ = 0;           // of plane `here`; what its row has so far
};

}  // namespace stratum::cuda
