#pragma once

// For CUDA sources only: lines along y or z of one colour, solved by one kernel. A thread has a line, and neighbours in x are
// those of neighbouring threads. Going along its line it forms what is left of the rows, with x as it was, and eliminates;
// coming back it solves for the correction and adds it. Where lines are few, a thread a line leaves a GPU waiting for memory at
// every node: then what is left of the rows is formed before, by as many threads as there are nodes.

#include <cstdint>

#include <stratum/core/device/launch.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/core/operators/box_line_products.hpp>

namespace stratum::cuda {

/// Lines of one colour. inverse, factor: of BoxLineNumbers; y: scratch, may be the lines of x of no other use.
template <class Rows, class T = typename Rows::Number>
struct ColourOfLines {
  Rows rows;
  FieldView<const T, 3> b, inverse, factor;
  FieldView<T, 3> x, y;
  AxisRange p, q;  // x and the third direction
};

inline constexpr int line_rows = 4;
/// Below so many lines of a colour their rows are formed before.
inline constexpr std::int64_t few_lines = 1 << 15;

/// What is left of the rows, to y, by pieces of lines of `chunk` nodes.
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

/// `formed`: y has what is left of the rows.
template <class Rows, int axis, BoxKind kind, bool formed>
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
  T y = 0, f = 0;
  if constexpr (formed) {
    for (int begin = 0; begin < n; begin += batch) {
      T of_row[batch], of_factor[batch];
#pragma unroll
      for (int r = 0; r < batch; ++r) {
        if (begin + r >= n) continue;
        of_row[r] = on_line(s.y, begin + r);
        of_factor[r] = on_line(s.factor, begin + r);
      }
#pragma unroll
      for (int r = 0; r < batch; ++r) {
        if (begin + r >= n) continue;
        y = of_row[r] + of_factor[r] * y;
        on_line(s.y, begin + r) = y;
      }
    }
  } else {
    LineProducts<Rows, axis, kind> products(s.rows, x, i, q, 0, n);
    T b = on_line(s.b, 0);
    for (int k = 0; k < n; ++k) {
      const T b_next = k + 1 < n ? on_line(s.b, k + 1) : T(0), f_next = k + 1 < n ? on_line(s.factor, k + 1) : T(0);
      y = b - products.next() + f * y;
      on_line(s.y, k) = y;
      b = b_next;
      f = f_next;
    }
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

/// Lines along y or z that do not go round. `formed`: y has what is left of the rows.
template <class Rows>
void launch_lines(const Context& ctx, const ColourOfLines<Rows>& s, int axis, bool formed) {
  const int p = s.p.count(), q = s.q.count();
  if (p <= 0 || q <= 0) return;
  const Launch launch{dim3(static_cast<unsigned>(divide_up(p, 32)), static_cast<unsigned>(divide_up(q, line_rows))),
                      dim3(32, line_rows)};
  if (formed) {
    if (axis == 1)
      launch(ctx, solve_colour<Rows, 1, BoxKind::plain, true>, s);
    else
      launch(ctx, solve_colour<Rows, 2, BoxKind::plain, true>, s);
    return;
  }
  with_kind(s.rows, [&]<BoxKind kind>() {
    if (axis == 1)
      launch(ctx, solve_colour<Rows, 1, kind, false>, s);
    else
      launch(ctx, solve_colour<Rows, 2, kind, false>, s);
  });
}

}  // namespace stratum::cuda
