#pragma once

// For CUDA sources only: lines along y or z of one colour, solved by one kernel. A thread has a line, and neighbours in x are
// those of neighbouring threads. Going along its line it forms what is left of the rows, with x as it was, and eliminates; coming
// back it solves for the correction and adds it. Of cells a plane across the line is loaded once, one plane ahead of its turn,
// and what two rows have in common is formed once: with differences T along the plane, and d = u_(k+1) - u_k, a cell of the layer
// between gives
//
//     K (m (2 T_k + T_(k+1)) - k M d)  to row k,    K (m (2 T_(k+1) + T_k) + k M d)  to row k + 1 .

#include <stratum/core/device/launch.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/core/operators/box_pairs.hpp>

namespace stratum::cuda {

/// A u of node after node along a line through (i, q), from the first one on; q is the index of the third direction.
template <class Rows, int axis, BoxKind kind>
class LineProducts {
 public:
  using T = typename Rows::Number;
  __device__ LineProducts(const Rows& rows, const FieldView<const T, 3>& u, int i, int q)
      : rows_(rows), u_(u), i_(i), q_(q) {}
  __device__ STRATUM_INLINE T next() {
    const int k = k_++;
    return axis == 1 ? rows_.product(u_, i_, k, q_).value : rows_.product(u_, i_, q_, k).value;
  }

 private:
  const Rows& rows_;
  const FieldView<const T, 3>& u_;
  int i_, q_, k_ = 0;
};

template <class T, int axis, BoxKind kind>
class LineProducts<BoxCellRows<T>, axis, kind> {
 public:
  __device__ LineProducts(const BoxCellRows<T>& rows, const FieldView<const T, 3>& u, int i, int q)
      : rows_(rows), u_(u), i_(i), q_(q), n_(rows.shape.size(axis)) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      k_x_[side] = rows.axes[0].k[i + side];
      m_x_[side] = rows.axes[0].m[i + side];
      k_q_[side] = rows.axes[other].k[q + side];
      m_q_[side] = rows.axes[other].m[q + side];
    }
    load(-1, here_);
    differences(here_, of_x_, of_q_);
    load(0, ahead_);
    load_cells(0);
    (void)next();
  }

  /// Of row -1 the first time, in the constructor.
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
    if (layer < n_) {
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
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      const T* const row = axis == 1 ? u_.row(k, q_ + b - 1) : u_.row(q_ + b - 1, k);
#pragma unroll
      for (int a = 0; a < 3; ++a) to[a][b] = row[i_ + a - 1];
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
  int i_, q_, n_, layer_ = 0;
  T k_x_[2], m_x_[2], k_q_[2], m_q_[2];
  T here_[3][3], ahead_[3][3], cells_[parts][2][2];  // planes, by x and q; cells of the layer ahead
  T of_x_[2][2], of_q_[2][2], of_row_ = 0;           // of plane `here`; what its row has so far
};

/// Lines of one colour. inverse, factor: of BoxLineNumbers; y: scratch, may be the lines of x of no other use.
template <class Rows, class T = typename Rows::Number>
struct ColourOfLines {
  Rows rows;
  FieldView<const T, 3> b, inverse, factor;
  FieldView<T, 3> x, y;
  AxisRange p, q;  // x and the third direction
};

inline constexpr int line_rows = 4;

template <class Rows, int axis, BoxKind kind>
__global__ void __launch_bounds__(32 * line_rows) solve_colour(const ColourOfLines<Rows> s) {
  using T = typename Rows::Number;
  constexpr int batch = 8;
  after_previous();
  const int i = s.p.begin + s.p.step * static_cast<int>(blockIdx.x * 32 + threadIdx.x),
            q = s.q.begin + s.q.step * static_cast<int>(blockIdx.y * line_rows + threadIdx.y);
  if (i >= s.p.end || q >= s.q.end) return;
  const int n = s.rows.shape.size(axis);
  const auto on_line = [&](const auto& v, int k) -> auto& { return axis == 1 ? v(i, k, q) : v(i, q, k); };
  const FieldView<const T, 3> x = s.x;
  LineProducts<Rows, axis, kind> products(s.rows, x, i, q);
  T y = 0, b = on_line(s.b, 0), f = 0;
  for (int k = 0; k < n; ++k) {
    const T b_next = k + 1 < n ? on_line(s.b, k + 1) : T(0), f_next = k + 1 < n ? on_line(s.factor, k + 1) : T(0);
    y = b - products.next() + f * y;
    on_line(s.y, k) = y;
    b = b_next;
    f = f_next;
  }
  T d = 0;
  f = 0;
  for (int end = n; end > 0; end -= batch) {
    T of_y[batch], of_inverse[batch], of_factor[batch], of_x[batch];
#pragma unroll
    for (int r = 0; r < batch; ++r) {
      const int k = end - 1 - r;
      if (k < 0) continue;
      of_y[r] = on_line(s.y, k);
      of_inverse[r] = on_line(s.inverse, k);
      of_factor[r] = on_line(s.factor, k);
      of_x[r] = on_line(s.x, k);
    }
#pragma unroll
    for (int r = 0; r < batch; ++r) {
      const int k = end - 1 - r;
      if (k < 0) continue;
      d = of_y[r] * of_inverse[r] + f * d;
      f = of_factor[r];
      on_line(s.x, k) = of_x[r] + d;
    }
  }
}

/// Lines along y or z that do not go round.
template <class Rows>
void launch_lines(const Context& ctx, const ColourOfLines<Rows>& s, int axis) {
  const int p = s.p.count(), q = s.q.count();
  if (p <= 0 || q <= 0) return;
  const Launch launch{dim3(static_cast<unsigned>(divide_up(p, 32)), static_cast<unsigned>(divide_up(q, line_rows))),
                      dim3(32, line_rows)};
  with_kind(s.rows, [&]<BoxKind kind>() {
    if (axis == 1)
      launch(ctx, solve_colour<Rows, 1, kind>, s);
    else
      launch(ctx, solve_colour<Rows, 2, kind>, s);
  });
}

}  // namespace stratum::cuda
