#pragma once

// For CUDA sources only: lines of one colour that do not go round, of a symmetric matrix. Residual, elimination and substitution
// are one kernel. With f_i and D_i of smoothers/box/box_smoothers.hpp, and r = b - A x with x as it was:
//
//     y_i = r_i + f_(i-1) y_(i-1) ,    d_i = y_i / D_i + f_i d_(i+1) ,    x_i += d_i .
//
// A line is cut into chunks, a thread each. Each of the two recurrences takes what comes into a chunk to what leaves it,
// v -> Y + F v. Threads find Y and F from their own nodes, chain these maps in the logarithm of the number of chunks in steps,
// and go through their nodes again. With a thread for each line, a GPU waits for memory and arithmetic at every node, unless lines
// are many: lines along y and z of cells then have a thread each, which loads what two nodes have in common once
// (512 x 512 x 512 cells graded in z: 409 ms for 477 on an H200).
//
// Memory traffic: that of the product, and once each b, f, 1 / D and twice x.

#include <cstdint>
#include <type_traits>

#include <stratum/core/device/launch.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/core/operators/box_line_products.hpp>

namespace stratum::cuda {

/// Lines of one colour. inverse, factor: of BoxLineNumbers; y: r where another kernel forms it, or memory for y_i.
template <class Rows, class T = typename Rows::Number>
struct ColourOfLines {
  Rows rows;
  FieldView<const T, 3> b, inverse, factor;
  FieldView<T, 3> x, y;
  AxisRange p, q;  // the two other directions in their order
};

/// What is left of the rows along x of these is formed by a kernel for pairs of rows.
template <class Rows>
inline constexpr bool is_of_cells = std::is_same_v<Rows, BoxCellRows<typename Rows::Number>>;

/// v -> left + factor v.
template <class T>
struct AffineMap {
  T left = 0, factor = 1;
  /// Of this map and then another one.
  __device__ STRATUM_INLINE void append(T r, T f) {
    left = r + f * left;
    factor *= f;
  }
  [[nodiscard]] __device__ STRATUM_INLINE AffineMap after(const AffineMap& first) const {
    return {left + factor * first.left, factor * first.factor};
  }
};

inline constexpr int line_rows = 4, most_line_threads = 512;
/// From so many lines of a colour on, those of cells have a thread each.
inline constexpr std::int64_t many_lines = 1 << 15;

/// What is left of the rows of lines along y or z, to y, by pieces of lines of `chunk` nodes.
template <class Rows, int axis, BoxKind kind>
__global__ void __launch_bounds__(32 * line_rows) form_colour(const ColourOfLines<Rows> s, int chunk) {
  using T = typename Rows::Number;
  after_previous();
  const int i = s.p.begin + s.p.step * static_cast<int>(blockIdx.x * 32 + threadIdx.x),
            q = s.q.begin + s.q.step * static_cast<int>(blockIdx.y * line_rows + threadIdx.y);
  const int n = s.rows.shape.size(axis), first = static_cast<int>(blockIdx.z) * chunk,
            end = first + chunk < n ? first + chunk : n;
  if (i >= s.p.end || q >= s.q.end) return;
  const auto on_line = [&](const auto& v, int k) -> auto& { return axis == 1 ? v(i, k, q) : v(i, q, k); };
  const FieldView<const T, 3> x = s.x;
  LineProducts<Rows, axis, kind> products(s.rows, x, i, q, first, end);
  T b = on_line(s.b, first);
  for (int k = first; k < end; ++k) {
    const T next = k + 1 < end ? on_line(s.b, k + 1) : T(0);
    on_line(s.y, k) = b - products.next();
    b = next;
  }
}

/// Lines along y or z, a thread each; neighbours in x are those of neighbouring threads. y takes the y_i of the way forward.
template <class Rows, int axis, BoxKind kind>
__global__ void __launch_bounds__(32 * line_rows) relax_many_of_colour(const ColourOfLines<Rows> s) {
  using T = typename Rows::Number;
  constexpr int batch = 8;
  after_previous();
  const int i = s.p.begin + s.p.step * static_cast<int>(blockIdx.x * 32 + threadIdx.x),
            q = s.q.begin + s.q.step * static_cast<int>(blockIdx.y * line_rows + threadIdx.y);
  if (i >= s.p.end || q >= s.q.end) return;
  const int n = s.rows.shape.size(axis);
  const auto on_line = [&](const auto& v, int k) -> auto& { return axis == 1 ? v(i, k, q) : v(i, q, k); };
  const FieldView<const T, 3> x = s.x;
  LineProducts<Rows, axis, kind> products(s.rows, x, i, q, 0, n);
  T y = 0, f = 0, b = on_line(s.b, 0);
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

/// Lines along y or z. Of a block, x has neighbours in x, and y the chunks, of `chunk` <= `nodes` nodes each.
template <class Rows, int axis, BoxKind kind, int nodes>
__global__ void __launch_bounds__(most_line_threads) relax_colour(const ColourOfLines<Rows> s, int chunk) {
  using T = typename Rows::Number;
  __shared__ T memory[2][2][most_line_threads];  // of two sets, left and factor
  after_previous();
  const int lanes = static_cast<int>(blockDim.x), chunks = static_cast<int>(blockDim.y),
            own = static_cast<int>(threadIdx.y), self = own * lanes + static_cast<int>(threadIdx.x);
  const int i = s.p.begin + s.p.step * (static_cast<int>(blockIdx.x) * lanes + static_cast<int>(threadIdx.x)),
            q = s.q.begin + s.q.step * static_cast<int>(blockIdx.y);
  const int n = s.rows.shape.size(axis), first = own * chunk, end = first + chunk < n ? first + chunk : n;
  const int count = i < s.p.end && first < end ? end - first : 0;
  const auto on_line = [&](const auto& v, int r) -> auto& {
    return axis == 1 ? v(i, first + r, q) : v(i, q, first + r);
  };

  // What comes into each chunk: from the one before, or from the one behind.
  int set = 0;
  const auto incoming = [&](AffineMap<T> map, bool from_before) {
    for (int distance = 1;; distance *= 2) {
      T(&left)[most_line_threads] = memory[set][0], (&factor)[most_line_threads] = memory[set][1];
      left[self] = map.left;
      factor[self] = map.factor;
      set = 1 - set;
      __syncthreads();
      const int apart = distance < chunks ? distance : 1, other = from_before ? own - apart : own + apart,
                at = self + (other - own) * lanes;
      const bool has_other = other >= 0 && other < chunks;
      if (distance >= chunks) return has_other ? left[at] : T(0);
      if (has_other) map = map.after({left[at], factor[at]});
    }
  };

  T y[nodes], inverse[nodes], factor[nodes + 1];
  if (count > 0) {
    const FieldView<const T, 3> x = s.x;
    LineProducts<Rows, axis, kind> products(s.rows, x, i, q, first, end);
#pragma unroll
    for (int r = 0; r < nodes; ++r)
      if (r < count) y[r] = on_line(s.b, r) - products.next();
  }
  AffineMap<T> map;
#pragma unroll
  for (int r = 0; r < nodes; ++r)
    if (r < count) {
      inverse[r] = on_line(s.inverse, r);
      factor[r] = on_line(s.factor, r);
      map.append(y[r], factor[r]);
    }
  const T behind = count > 0 && end < n ? on_line(s.factor, count) : T(0);
  T v = incoming(map, true);
#pragma unroll
  for (int r = 0; r < nodes; ++r)
    if (r < count) y[r] = v = y[r] + factor[r] * v;
  map = {};
#pragma unroll
  for (int r = nodes - 1; r >= 0; --r) {
    if (r + 1 == count) factor[r + 1] = behind;
    if (r < count) map.append(y[r] * inverse[r], factor[r + 1]);
  }
  v = incoming(map, false);
#pragma unroll
  for (int r = nodes - 1; r >= 0; --r)
    if (r < count) on_line(s.x, r) += v = y[r] * inverse[r] + factor[r + 1] * v;
}

/// Lines along x, a warp each. Of a line shared memory has three times 32 `chunk` numbers; `chunk` is odd, and neighbours
/// do not ask the same bank for theirs.
template <class Rows>
__global__ void __launch_bounds__(32 * line_rows) relax_x_colour(const ColourOfLines<Rows> s, int chunk) {
  using T = typename Rows::Number;
  constexpr unsigned all = 0xffffffffU;
  extern __shared__ double shared[];
  after_previous();
  const int self = static_cast<int>(threadIdx.x), n = s.rows.shape.size(0), length = 32 * chunk;
  T* const y = reinterpret_cast<T*>(shared) + 3 * length * static_cast<int>(threadIdx.y);
  T *const factor = y + length, *const inverse = factor + length;
  const int line = static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y);
  const int j = s.p.begin + s.p.step * (line % s.p.count()), k = s.q.begin + s.q.step * (line / s.p.count());
  if (k >= s.q.end) return;
  for (int i = self; i < length; i += 32) {
    const bool there = i < n;
    if constexpr (is_of_cells<Rows>)
      y[i] = there ? s.y(i, j, k) : T(0);
    else
      y[i] = there ? s.b(i, j, k) - s.rows.product(FieldView<const T, 3>(s.x), i, j, k).value : T(0);
    factor[i] = there ? s.factor(i, j, k) : T(0);
    inverse[i] = there ? s.inverse(i, j, k) : T(0);
  }
  __syncwarp();
  const int first = self * chunk, last = first + chunk - 1;
  AffineMap<T> map;
  for (int i = first; i <= last; ++i) map.append(y[i], factor[i]);
  for (int distance = 1; distance < 32; distance *= 2) {
    const AffineMap<T> other{__shfl_up_sync(all, map.left, distance), __shfl_up_sync(all, map.factor, distance)};
    if (self >= distance) map = map.after(other);
  }
  T v = __shfl_up_sync(all, map.left, 1);
  if (self == 0) v = 0;
  for (int i = first; i <= last; ++i) y[i] = v = y[i] + factor[i] * v;
  const T behind = self < 31 ? factor[last + 1] : T(0);
  map = {};
  T f = behind;
  for (int i = last; i >= first; --i) {
    map.append(y[i] * inverse[i], f);
    f = factor[i];
  }
  for (int distance = 1; distance < 32; distance *= 2) {
    const AffineMap<T> other{__shfl_down_sync(all, map.left, distance), __shfl_down_sync(all, map.factor, distance)};
    if (self + distance < 32) map = map.after(other);
  }
  v = __shfl_down_sync(all, map.left, 1);
  if (self == 31) v = 0;
  f = behind;
  for (int i = last; i >= first; --i) {
    y[i] = v = y[i] * inverse[i] + f * v;
    f = factor[i];
  }
  __syncwarp();
  for (int i = self; i < n; i += 32) s.x(i, j, k) += y[i];
}

template <class Rows>
void launch_forming(const Context& ctx, const ColourOfLines<Rows>& s, int axis) {
  const int p = s.p.count(), q = s.q.count(), n = s.rows.shape.size(axis);
  if (p <= 0 || q <= 0) return;
  constexpr int longest = 32, shortest = 8, most_chunks = 65535;
  constexpr std::int64_t enough = 1 << 17;
  // Threads enough for the device, as far as there are.
  int chunk = longest;
  while (chunk > shortest && std::int64_t{p} * q * divide_up(n, chunk) < enough) chunk /= 2;
  if (divide_up(n, chunk) > most_chunks) chunk = divide_up(n, most_chunks);
  const Launch launch{dim3(static_cast<unsigned>(divide_up(p, 32)), static_cast<unsigned>(divide_up(q, line_rows)),
                           static_cast<unsigned>(divide_up(n, chunk))),
                      dim3(32, line_rows)};
  with_kind(s.rows, [&]<BoxKind kind>() {
    if (axis == 1)
      launch(ctx, form_colour<Rows, 1, kind>, s, chunk);
    else
      launch(ctx, form_colour<Rows, 2, kind>, s, chunk);
  });
}

/// Lines along y or z; false where a block cannot have them, as lines of more than 2048 nodes.
template <class Rows>
bool launch_lines(const Context& ctx, const ColourOfLines<Rows>& s, int axis) {
  constexpr int few = 4, longest = 16, usual_chunks = 32, usual_lanes = 8;
  const int p = s.p.count(), q = s.q.count(), n = s.rows.shape.size(axis);
  constexpr int most_blocks = 65535;
  if (p <= 0 || q <= 0) return true;
  if constexpr (is_of_cells<Rows>)
    if (std::int64_t{p} * q >= many_lines) {
      const Launch launch{dim3(static_cast<unsigned>(divide_up(p, 32)), static_cast<unsigned>(divide_up(q, line_rows))),
                          dim3(32, line_rows)};
      with_kind(s.rows, [&]<BoxKind kind>() {
        if (axis == 1)
          launch(ctx, relax_many_of_colour<Rows, 1, kind>, s);
        else
          launch(ctx, relax_many_of_colour<Rows, 2, kind>, s);
      });
      return true;
    }
  if (q > most_blocks) return false;
  int chunks = 1, lanes = usual_lanes;
  while (n > chunks * (chunks < usual_chunks ? few : longest)) chunks *= 2;
  while (lanes * chunks > most_line_threads) lanes /= 2;
  constexpr int least_lanes = 4;  // a sector of float in memory, as every second line is of a colour
  if (lanes < least_lanes) return false;
  const int chunk = divide_up(n, chunks);
  const Launch launch{dim3(static_cast<unsigned>(divide_up(p, lanes)), static_cast<unsigned>(q)),
                      dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(chunks))};
  with_kind(s.rows, [&]<BoxKind kind>() {
    const auto run = [&]<int nodes>() {
      if (axis == 1)
        launch(ctx, relax_colour<Rows, 1, kind, nodes>, s, chunk);
      else
        launch(ctx, relax_colour<Rows, 2, kind, nodes>, s, chunk);
    };
    if (chunk <= few)
      run.template operator()<few>();
    else if (chunk <= 2 * few)
      run.template operator()<2 * few>();
    else
      run.template operator()<longest>();
  });
  return true;
}

/// Lines along x; false where shared memory cannot have one.
template <class Rows>
bool launch_x_lines(const Context& ctx, const ColourOfLines<Rows>& s) {
  using T = typename Rows::Number;
  const int p = s.p.count(), q = s.q.count();
  if (p <= 0 || q <= 0) return true;
  constexpr std::size_t room = 48 * 1024;
  const int chunk = divide_up(s.rows.shape.size(0), 32) | 1;
  const std::size_t of_line = 3 * 32 * sizeof(T) * static_cast<std::size_t>(chunk);
  unsigned lines = line_rows;
  while (lines > 1 && lines * of_line > room) lines /= 2;
  if (lines * of_line > room) return false;
  const Launch launch{dim3(static_cast<unsigned>(divide_up(p * q, static_cast<int>(lines)))), dim3(32, lines),
                      lines * of_line};
  launch(ctx, relax_x_colour<Rows>, s, chunk);
  return true;
}

}  // namespace stratum::cuda
