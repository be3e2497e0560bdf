#pragma once

// Definitions of box_points and BoxLines (smoothers/box/box_smoothers.hpp), on CPUs and GPUs. The build generates one source per
// number type: together they take too long to compile.

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/smoothers/box/box_smoothers.hpp>
#if defined(__CUDACC__)
#include <stratum/smoothers/box/box_cell_planes.hpp>
#include <stratum/smoothers/box/box_line_kernels.hpp>
#include <stratum/smoothers/box/box_planes.hpp>
#endif

namespace stratum {

namespace {

template <class Rows>
constexpr bool is_full = std::is_same_v<Rows, BoxFullRows<typename Rows::Number>>;

/// Nodes of one colour of a direction; of a slab those of its own planes.
int all_of(const BoxShape& shape, int axis) { return axis == 2 ? shape.all_planes() : shape.size(axis); }
int colours(const BoxShape& shape, int axis) {
  const int n = all_of(shape, axis);
  const bool periodic = shape.periodic[static_cast<std::size_t>(axis)] || (axis == 2 && shape.slab.around);
  return n == 1 ? 1 : periodic && n % 2 == 1 ? 3 : 2;
}
AxisRange nodes_of_colour(const BoxShape& shape, int axis, int colour) {
  const int n = all_of(shape, axis), all = colours(shape, axis), first = axis == 2 ? shape.slab.first : 0;
  AxisRange nodes{colour, n, 2};
  if (all == 3) nodes = colour == 2 ? AxisRange{n - 1, n, 2} : AxisRange{colour, n - 1, 2};
  nodes.begin = std::max(nodes.begin - first, (nodes.begin - first) & 1);
  nodes.end = std::min(nodes.end - first, shape.size(axis));
  return nodes;
}

/// Before a colour is relaxed. `planes`: what lies beside a slab has changed since the last time.
template <class T>
void fill_before_colour(Context& ctx, const BoxMatrix<T>& a, const FieldView<T, 3>& x, bool planes) {
  if (a.shape().is_slab() && !planes) return fill_periodic_ghosts(ctx, a.shape().periodic, x);
  a.fill_ghosts(ctx, x);
}

template <class Rows, class T = typename Rows::Number>
struct RelaxPoint {
  static constexpr bool hot = true, strided = true;
  Rows rows;
  FieldView<const T, 3> b;
  FieldView<T, 3> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    const RowProduct<T> product = rows.product(x, i, j, k);
    x(i, j, k) += (b(i, j, k) - product.value) / product.diagonal;
  }
};

template <class Rows, class T = typename Rows::Number>
struct ResidualOfColour {
  static constexpr bool hot = true, strided = true;
  Rows rows;
  FieldView<const T, 3> b, x;
  FieldView<T, 3> r;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    r(i, j, k) = b(i, j, k) - rows.product(x, i, j, k).value;
  }
};

/// Where a line lies: node i of the line whose other indices are (p, q), in their order.
template <class View>
STRATUM_HOST_DEVICE STRATUM_INLINE auto& on_line(const View& v, int axis, int i, int p, int q) {
  return axis == 0 ? v(i, p, q) : axis == 1 ? v(p, i, q) : v(p, q, i);
}

template <class Rows, class T>
struct EliminateLine {
  Rows rows;
  BoxLineNumbers<T> to;
  int axis, n;
  bool periodic;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double edge(int i, int p, int q) const {
    return axis == 0 ? rows.edge(0, i, p, q) : axis == 1 ? rows.edge(1, p, i, q) : rows.edge(2, p, q, i);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double excess(int i, int p, int q) const {
    return axis == 0   ? rows.line_excess(0, i, p, q)
           : axis == 1 ? rows.line_excess(1, p, i, q)
                       : rows.line_excess(2, p, q, i);
  }
  /// To the node before, the last one before the first.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double edge_before(int i, int p, int q) const {
    if constexpr (is_full<Rows>)
      return axis == 0   ? rows.edge_before(0, i, p, q)
             : axis == 1 ? rows.edge_before(1, p, i, q)
                         : rows.edge_before(2, p, q, i);
    else
      return edge(i > 0 ? i - 1 : n - 1, p, q);
  }
  /// E of the next row without its own part; f and l / D of this one.
  struct State {
    double left = 0, before = 0, below = 0;
  };
  /// Row i of `end`, which `more` adds to.
  STRATUM_HOST_DEVICE STRATUM_INLINE void row(int i, int end, double more, int p, int q, State& s) const {
    const double coupling = i < end - 1 ? edge(i, p, q) : 0, part = excess(i, p, q) + more + s.left,
                 pivot = coupling + part;
    on_line(to.inverse, axis, i, p, q) = static_cast<T>(1 / pivot);
    on_line(to.factor, axis, i, p, q) = static_cast<T>(s.before);
    if (is_full<Rows>) on_line(to.lower, axis, i, p, q) = static_cast<T>(s.below);
    s.before = coupling / pivot;
    s.below = is_full<Rows> ? (i < end - 1 ? edge_before(i + 1, p, q) : 0) / pivot : s.before;
    s.left = s.below * part;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int p, int q) const {
    const auto inverse = [&](int i) -> T& { return on_line(to.inverse, axis, i, p, q); };
    const auto factor = [&](int i) -> T& { return on_line(to.factor, axis, i, p, q); };
    const auto around = [&](int i) -> T& { return on_line(to.around, axis, i, p, q); };
    // Of a periodic line the last node, `end`, is taken out; its neighbours are the first and the last of the others.
    const int end = periodic ? n - 1 : n;
    const double of_first = periodic ? edge_before(0, p, q) : 0, of_last = periodic ? edge(end - 1, p, q) : 0;
    State s;
    double sum = 0;
    for (int i = 0; i < end; ++i) {
      // The rows' sums without what the last node gives: 1 less that.
      if (periodic) {
        sum = excess(i, p, q) + s.below * sum;
        around(i) = static_cast<T>(sum);
      }
      row(i, end, (i == 0 ? of_first : 0) + (i == end - 1 ? of_last : 0), p, q, s);
    }
    if (!periodic) return;
    double behind = 0, first = 0, last = 0;
    for (int i = end - 1; i >= 0; --i) {
      const double f = i < end - 1 ? static_cast<double>(factor(i + 1)) : 0;
      behind = static_cast<double>(around(i)) * static_cast<double>(inverse(i)) + f * behind;
      if (i == end - 1) last = behind;
      first = behind;
      around(i) = static_cast<T>(1 - behind);
    }
    const double to_first = edge(end, p, q), to_last = edge_before(end, p, q);
    inverse(end) = static_cast<T>(1 / (excess(end, p, q) + to_first * first + to_last * last));
    factor(end) = static_cast<T>(to_first);
    around(end) = static_cast<T>(to_last);
  }
};

/// Solves for the correction of a line, in r, and adds it to x.
template <class T>
struct SolveLine {
  static constexpr bool strided = true;
  BoxLineNumbers<T> a;
  FieldView<T, 3> r, x;
  int axis, n;
  bool periodic;

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int p, int q) const {
    const int end = periodic ? n - 1 : n;
    T y = 0;
    for (int i = 0; i < end; ++i) {
      T& of_row = on_line(r, axis, i, p, q);
      y = of_row + on_line(a.lower, axis, i, p, q) * y;
      of_row = y;
    }
    T d = 0;
    if (!periodic) {
      for (int i = end - 1; i >= 0; --i) {
        const T f = i < end - 1 ? on_line(a.factor, axis, i + 1, p, q) : T(0);
        d = on_line(r, axis, i, p, q) * on_line(a.inverse, axis, i, p, q) + f * d;
        on_line(x, axis, i, p, q) += d;
      }
      return;
    }
    T last = 0;
    for (int i = end - 1; i >= 0; --i) {
      const T f = i < end - 1 ? on_line(a.factor, axis, i + 1, p, q) : T(0);
      d = on_line(r, axis, i, p, q) * on_line(a.inverse, axis, i, p, q) + f * d;
      on_line(r, axis, i, p, q) = d;
      if (i == end - 1) last = d;
    }
    const T of_end = (on_line(r, axis, end, p, q) + on_line(a.factor, axis, end, p, q) * d +
                      on_line(a.around, axis, end, p, q) * last) *
                     on_line(a.inverse, axis, end, p, q);
    for (int i = 0; i < end; ++i)
      on_line(x, axis, i, p, q) += on_line(r, axis, i, p, q) + on_line(a.around, axis, i, p, q) * of_end;
    on_line(x, axis, end, p, q) += of_end;
  }
};

/// Two directions in their order.
std::array<int, 2> others(int axis) { return {axis == 0 ? 1 : 0, axis == 2 ? 1 : 2}; }

NodeRange<2> lines_of(const AxisRange& p, const AxisRange& q) {
  return {p.begin, p.end, p.step, q.begin, q.end, q.step};
}

#if defined(__CUDACC__)

constexpr int warp = 32;

/// A warp has 32 lines along x, and goes through them in tiles of 32 columns, which it loads and stores by rows. All rows of a
/// tile are asked for before one is waited for: there is no other warp to wait with.
template <class T>
struct XLines {
  SolveLine<T> solve;
  AxisRange p, q;

  struct Tile {
    T numbers[warp][warp + 1];
  };
  /// The last line that there is stands for those behind it.
  struct Place {
    int j, k;
  };
  [[nodiscard]] __device__ STRATUM_INLINE Place place(int line) const {
    return {p.begin + line % p.count() * p.step, q.begin + line / p.count() * q.step};
  }
  __device__ STRATUM_INLINE void go_on(Place& at) const {
    if (at.j + p.step < p.end) {
      at.j += p.step;
    } else if (at.k + q.step < q.end) {
      at.j = p.begin;
      at.k += q.step;
    }
  }
  template <class View>
  __device__ STRATUM_INLINE void read(const View& v, Place at, int i, T (&numbers)[warp]) const {
#pragma unroll
    for (int l = 0; l < warp; ++l, go_on(at)) numbers[l] = v(i, at.j, at.k);
  }
  template <class View>
  __device__ STRATUM_INLINE void load(const View& v, Tile& tile, Place at, int begin, int end) const {
    const int i = begin + static_cast<int>(threadIdx.x);
    if (i >= end) return;
    T numbers[warp];
    read(v, at, i, numbers);
#pragma unroll
    for (int l = 0; l < warp; ++l) tile.numbers[l][threadIdx.x] = numbers[l];
  }
  /// Of `lines` lines.
  template <class View>
  __device__ STRATUM_INLINE void store(const View& v, const Tile& tile, Place at, int lines, int begin, int end,
                                       bool add) const {
    const int i = begin + static_cast<int>(threadIdx.x);
    if (i >= end) return;
    T numbers[warp] = {};
    if (add) read(v, at, i, numbers);
#pragma unroll
    for (int l = 0; l < warp; ++l, go_on(at))
      if (l < lines) v(i, at.j, at.k) = numbers[l] + tile.numbers[l][threadIdx.x];
  }
};

template <class T>
__global__ void __launch_bounds__(warp) x_lines_kernel(const XLines<T> lines) {
  using Tile = typename XLines<T>::Tile;
  __shared__ Tile r, factor, inverse;
  cuda::after_previous();
  const SolveLine<T>& s = lines.solve;
  const int first = static_cast<int>(blockIdx.x) * warp, count = lines.p.count() * lines.q.count() - first;
  const auto place = lines.place(first);
  const int t = static_cast<int>(threadIdx.x), end = s.periodic ? s.n - 1 : s.n;
  T y = 0;
  for (int begin = 0; begin < end; begin += warp) {
    const int stop = begin + warp < end ? begin + warp : end;
    __syncwarp();
    lines.load(s.r, r, place, begin, stop);
    lines.load(s.a.lower, factor, place, begin, stop);
    __syncwarp();
    for (int i = 0; i < stop - begin; ++i) r.numbers[t][i] = y = r.numbers[t][i] + factor.numbers[t][i] * y;
    __syncwarp();
    lines.store(s.r, r, place, count, begin, stop, false);
  }
  T d = 0, f = 0, last = 0;
  for (int begin = (end - 1) / warp * warp; begin >= 0; begin -= warp) {
    const int stop = begin + warp < end ? begin + warp : end;
    __syncwarp();
    lines.load(s.r, r, place, begin, stop);
    lines.load(s.a.factor, factor, place, begin, stop);
    lines.load(s.a.inverse, inverse, place, begin, stop);
    __syncwarp();
    for (int i = stop - begin - 1; i >= 0; --i) {
      r.numbers[t][i] = d = r.numbers[t][i] * inverse.numbers[t][i] + f * d;
      f = factor.numbers[t][i];
      if (begin + i == end - 1) last = d;
    }
    __syncwarp();
    if (s.periodic)
      lines.store(s.r, r, place, count, begin, stop, false);
    else
      lines.store(s.x, r, place, count, begin, stop, true);
  }
  __syncwarp();
  if (!s.periodic || t >= count) return;
  const auto [j, k] = lines.place(first + t);
  const T of_end = (s.r(end, j, k) + s.a.factor(end, j, k) * d + s.a.around(end, j, k) * last) * s.a.inverse(end, j, k);
  for (int i = 0; i < end; ++i) s.x(i, j, k) += s.r(i, j, k) + s.a.around(i, j, k) * of_end;
  s.x(end, j, k) += of_end;
}

template <class T>
void solve_lines(Context& ctx, const SolveLine<T>& s, const AxisRange& p, const AxisRange& q) {
  if (ctx.is_dry_run() || p.count() == 0 || q.count() == 0) return;
  if (s.axis == 0) {
    const auto blocks = static_cast<unsigned>(cuda::divide_up(p.count() * q.count(), warp));
    return cuda::Launch{blocks, warp}(ctx, x_lines_kernel<T>, XLines<T>{s, p, q});
  }
  for_each_node(ctx, lines_of(p, q), s);
}

#endif

// On a CPU the rows of a plane, or of the lines of one index q, go through all of their colours while they are in cache.

constexpr int lines_in_step = 64;

/// f of every second node of a row. A distance that is a constant lets compilers load whole registers, and sort them.
template <class Functor>
STRATUM_SIMD_CLONES void for_every_second(const Functor f, const AxisRange& x, int j, int k) {
  const int first = x.begin, count = x.count();
#pragma omp simd
  for (int c = 0; c < count; ++c) f(first + 2 * c, j, k);
}

template <class Rows>
void relax_row(const RelaxPoint<Rows>& point, bool reversed, int j, int k) {
  const BoxShape& shape = point.rows.shape;
  const int all = colours(shape, 0), last = shape.n.nx - 1;
  for (int step = 0; step < all; ++step) {
    if (step > 0 && shape.periodic[0]) {
      auto* const row = point.x.row(j, k);
      row[-1] = row[last];
      row[last + 1] = row[0];
    }
    for_every_second(point, nodes_of_colour(shape, 0, reversed ? all - 1 - step : step), j, k);
  }
}

/// Lines along y or z of one index q go in step, side by side along x, as their matrix lies in memory.
template <class Rows, class T>
STRATUM_SIMD_CLONES void eliminate_side_by_side(const EliminateLine<Rows, T> line, int lines, int q) {
  for (int begin = 0; begin < lines; begin += lines_in_step) {
    const int count = std::min(lines_in_step, lines - begin);
    double left[lines_in_step] = {}, before[lines_in_step] = {}, below[lines_in_step] = {};
    for (int i = 0; i < line.n; ++i)
#pragma omp simd
      for (int c = 0; c < count; ++c) {
        typename EliminateLine<Rows, T>::State s{left[c], before[c], below[c]};
        line.row(i, line.n, 0, begin + c, q, s);
        left[c] = s.left;
        before[c] = s.before;
        below[c] = s.below;
      }
  }
}

/// Lines go in step, side by side: those along y and z `apart` numbers from each other, those along x (0) by rows.
template <int apart, class T>
STRATUM_SIMD_CLONES void solve_side_by_side(const SolveLine<T>& s, const AxisRange& p, int q) {
  T y[lines_in_step];
  const auto distance = [&](const FieldView<T, 3>& v) { return apart > 0 ? apart : p.step * v.strides.row; };
  const std::int64_t of_a = distance(s.a.inverse), of_r = distance(s.r), of_x = distance(s.x);
  for (int begin = p.begin; begin < p.end; begin += lines_in_step * p.step) {
    const int count = std::min(lines_in_step, (p.end - begin + p.step - 1) / p.step);
    const auto first = [&](const FieldView<T, 3>& v, int i) { return &on_line(v, s.axis, i, begin, q); };
    std::fill_n(y, count, T(0));
    for (int i = 0; i < s.n; ++i) {
      T* const r = first(s.r, i);
      const T* const f = first(s.a.lower, i);
#pragma omp simd
      for (int c = 0; c < count; ++c) r[c * of_r] = y[c] = r[c * of_r] + f[c * of_a] * y[c];
    }
    std::fill_n(y, count, T(0));
    for (int i = s.n - 1; i >= 0; --i) {
      const T *const r = first(s.r, i), *const inverse = first(s.a.inverse, i);
      const T* const f = first(s.a.factor, std::min(i + 1, s.n - 1));
      T* const u = first(s.x, i);
#pragma omp simd
      for (int c = 0; c < count; ++c) {
        y[c] = r[c * of_r] * inverse[c * of_a] + f[c * of_a] * y[c];
        u[c * of_x] += y[c];
      }
    }
  }
}

template <class Rows>
void form_lines(const ResidualOfColour<Rows>& residual, int axis, int n, const AxisRange& p, int q) {
  if (axis == 0)
    for (int j = p.begin; j < p.end; j += p.step) for_row(detail::plane_of(residual, q), 0, n, 1, j);
  else
    for (int i = 0; i < n; ++i) for_every_second(residual, p, axis == 1 ? i : q, axis == 1 ? q : i);
}

template <class T>
void solve_lines_of(const SolveLine<T>& s, const AxisRange& p, int q) {
  if (s.periodic)
    for (int line = p.begin; line < p.end; line += p.step) s(line, q);
  else if (s.axis == 0)
    solve_side_by_side<0>(s, p, q);
  else
    solve_side_by_side<2>(s, p, q);
}

template <class Rows, class T>
void relax_lines(Context& ctx, const BoxMatrix<T>& a, const ResidualOfColour<Rows>& residual, const SolveLine<T>& s,
                 const BoxChunks<T>* chunks, bool reversed) {
  const BoxShape& shape = a.shape();
  const auto [first, second] = others(s.axis);
  const int cp = colours(shape, first), cq = colours(shape, second);
  const auto nodes = [&, reversed](int axis, int step, int all) {
    return nodes_of_colour(shape, axis, reversed ? all - 1 - step : step);
  };
  for (int step_q = 0; step_q < cq; ++step_q) {
    const AxisRange q = nodes(second, step_q, cq);
    const bool together = chunks == nullptr && !s.periodic && !shape.periodic[static_cast<std::size_t>(first)] &&
                          q.count() >= ctx.threads();
    for (int round = 0; round < (together ? 1 : cp); ++round) {
      fill_before_colour(ctx, a, s.x, second == 1 || round == 0);
      const AxisRange own = nodes(first, round, cp);
      // All threads have work, of few q as well.
      const int blocks = together ? 1 : (own.count() + lines_in_step - 1) / lines_in_step, all = blocks * q.count();
      if (!ctx.is_dry_run()) {
#pragma omp parallel for schedule(static) \
    num_threads(ctx.threads()) if (std::int64_t{s.n} * own.count() * q.count() > serial_limit)
        for (int n = 0; n < all; ++n) {
          const int at = q.begin + n / blocks * q.step;
          for (int step_p = round; step_p < (together ? cp : round + 1); ++step_p) {
            AxisRange p = nodes(first, step_p, cp);
            if (!together) {
              p.begin += n % blocks * lines_in_step * p.step;
              p.end = std::min(p.end, p.begin + lines_in_step * p.step);
            }
            form_lines(residual, s.axis, s.n, p, at);
            if (chunks == nullptr) solve_lines_of(s, p, at);
          }
        }
      }
      if (chunks != nullptr) chunks->apply(ctx, s.a, s.r, s.x, own, q);
    }
  }
}

}  // namespace

template <class T>
void box_points(Context& ctx, const BoxMatrix<T>& a, FieldView<const T, 3> b, Field<T, 3>& x,
                [[maybe_unused]] Field<T, 3>& other, bool reversed, bool from_zero) {
  const BoxShape& shape = a.shape();
  const int cx = colours(shape, 0), cy = colours(shape, 1), cz = colours(shape, 2), all = cx * cy * cz;
  a.with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
#if defined(__CUDACC__)
    if constexpr (!is_full<Rows>)
      if (ctx.on_gpu() && cx < 3 && cy < 3 && cz < 3) {
        if (ctx.is_dry_run()) return;
        using cuda::BoxZeros;
        const int first = reversed ? 1 : 0, odd = shape.slab.first & 1;
        cuda::PlanesOfParity<Rows> planes{rows,         b,     x.cview(), x.cview(),
                                          other.view(), first, first,     cz == 1 ? 0 : first ^ odd};
        if (!from_zero) a.fill_ghosts(ctx, x.view());
        cuda::launch_planes(ctx, planes, from_zero ? BoxZeros::all : BoxZeros::none);
        if (cz == 2) {
          a.fill_ghosts(ctx, other.view());
          planes.beside = other.cview();
          planes.plane = (1 - first) ^ odd;
          cuda::launch_planes(ctx, planes, from_zero ? BoxZeros::own_plane : BoxZeros::none);
        }
        return std::swap(x, other);
      }
#endif
    if (from_zero) set_zero_with_ghosts(ctx, x);
    const int rounds = ctx.on_gpu() ? all : cy * cz, of_plane = rounds / cz;
    for (int step = 0; step < rounds; ++step) {
      const int round = reversed ? rounds - 1 - step : step, colour = ctx.on_gpu() ? round : round * cx;
      const AxisRange y = nodes_of_colour(shape, 1, colour / cx % cy),
                      z = nodes_of_colour(shape, 2, colour / (cx * cy));
      fill_before_colour(ctx, a, x.view(), step % of_plane == 0 && !(from_zero && step == 0));
      const RelaxPoint<Rows> point{rows, b, x.view()};
      if (ctx.on_gpu()) {
        for_each_node(ctx, {nodes_of_colour(shape, 0, colour % cx), y, z}, point);
        continue;
      }
      if (ctx.is_dry_run()) continue;
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(ctx.threads()) if (std::int64_t{shape.n.nx} * y.count() * z.count() > serial_limit)
      for (int k = z.begin; k < z.end; k += z.step)
        for (int j = y.begin; j < y.end; j += y.step) relax_row(point, reversed, j, k);
    }
  });
}

template <class T>
BoxLines<T>::BoxLines(Context& ctx, const BoxMatrix<double>& a, int axis)
    : axis_(axis), numbers_(std::make_shared<std::array<Field<T, 3>, 4>>()) {
  const BoxShape& shape = a.shape();
  const auto layout = GridLayout<3>::box(shape.n, {}, 0);
  const bool periodic = shape.periodic[static_cast<std::size_t>(axis)];
  for (const std::size_t n : {0U, 1U, 2U, 3U})
    if (n < 2 || (n == 2 ? a.is_full() : periodic)) (*numbers_)[n] = Field<T, 3>(ctx, layout);
  view_ = {(*numbers_)[0].view(), (*numbers_)[1].view(), (*numbers_)[a.is_full() ? 2 : 1].view(),
           (*numbers_)[3].view()};
  if (axis == 2 && shape.is_slab()) {
    chunks_ = std::make_shared<const BoxChunks<T>>(ctx, a, view_);
    return;
  }
  const auto [p, q] = others(axis);
  const int lines = shape.size(p), all = shape.size(q);
  a.with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
    const EliminateLine<Rows, T> line{rows, view_, axis, shape.size(axis), periodic};
    if (ctx.on_gpu() || periodic || axis == 0) return for_each_node(ctx, lines_of({0, lines}, {0, all}), line);
    if (ctx.is_dry_run()) return;
#pragma omp parallel for schedule(static) \
    num_threads(ctx.threads()) if (std::int64_t{line.n} * lines * all > serial_limit)
    for (int at = 0; at < all; ++at) eliminate_side_by_side(line, lines, at);
  });
}

template <class T>
void BoxLines<T>::apply(Context& ctx, const BoxMatrix<T>& a, FieldView<const T, 3> b, FieldView<T, 3> x,
                        FieldView<T, 3> r, bool reversed) const {
  const BoxShape& shape = a.shape();
  const SolveLine<T> solve{view_, r, x, axis_, shape.size(axis_), shape.periodic[static_cast<std::size_t>(axis_)]};
  a.with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
    const ResidualOfColour<Rows> residual{rows, b, x, r};
    if (!ctx.on_gpu()) return relax_lines(ctx, a, residual, solve, chunks_.get(), reversed);
#if defined(__CUDACC__)
    const bool through_ranks = chunks_ != nullptr;
    const auto [first, second] = others(axis_);
    const int cp = colours(shape, first), all = cp * colours(shape, second);
    const AxisRange along{0, shape.size(axis_)};
    for (int step = 0; step < all; ++step) {
      const int colour = reversed ? all - 1 - step : step;
      const AxisRange p = nodes_of_colour(shape, first, colour % cp), q = nodes_of_colour(shape, second, colour / cp);
      fill_before_colour(ctx, a, x, second == 1 || step % cp == 0);
      const NodeRange<3> nodes = axis_ == 0   ? NodeRange<3>{along, p, q}
                                 : axis_ == 1 ? NodeRange<3>{p, along, q}
                                              : NodeRange<3>{p, q, along};
      if (ctx.is_dry_run()) {
        if (through_ranks) chunks_->apply(ctx, view_, r, x, p, q);
        continue;
      }
      bool formed = false;
      if constexpr (cuda::is_of_cells<Rows>)
        if (axis_ == 0) {
          cuda::run_pairs<T>(ctx, rows, b, x, r, nodes);
          formed = true;
        }
      if constexpr (!is_full<Rows>) {
        const cuda::ColourOfLines<Rows> lines{rows, b, view_.inverse, view_.factor, x, r, p, q};
        if (!solve.periodic && !through_ranks &&
            (axis_ == 0 ? cuda::launch_x_lines(ctx, lines) : cuda::launch_lines(ctx, lines, axis_)))
          continue;
        if constexpr (cuda::is_of_cells<Rows>)
          if (through_ranks) {
            cuda::launch_forming(ctx, lines, axis_);
            formed = true;
          }
      }
      if (!formed) for_each_node(ctx, nodes, residual);
      if (through_ranks)
        chunks_->apply(ctx, view_, r, x, p, q);
      else
        solve_lines(ctx, solve, p, q);
    }
#endif
  });
}

}  // namespace stratum
