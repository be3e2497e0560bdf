#pragma once

// Line relaxation on the CPU: the Thomas algorithm, SIMD across a batch of W lines, one lane each,
//
//     c_p = u_p / (d_p - l_p c_(p-1)),   z_p = (r_p - l_p z_(p-1)) / (d_p - l_p c_(p-1)),   x_p = z_p - c_p x_(p+1) .
//
// x lines run in chunks of positions: right-hand sides and coefficients of a chunk are formed row by row, where memory is
// contiguous, and turned so that lanes are contiguous. Lanes without a line solve d x = 0. y lines of a tensor operator take
// both colours of a strip of columns at once (solve_strip), those of stored bands whole rows (solve_wide_batch).
//
// In zebra order the second colour follows the first by one batch, so that what both read is still in the cache: b and x come
// from memory once a sweep. What comes later is asked for: lines that are far apart defeat hardware prefetchers. Threads share
// the lines as follows; every part is then independent of the others.
//
//     | part 0         | part 1         | part 2         |      L  lines of the first colour between parts: solved first,
//      s f s f s f s f L s f s f s f s f L s f s f s f s            one by one
//
// For smoothers/line.cpp and solvers/lines/tridiagonal.cpp.

#include <algorithm>
#include <type_traits>
#include <utility>

#include <stratum/core/device/simd.hpp>
#include <stratum/core/grid/for_each_node.hpp>
#include <stratum/core/operators/grid_operator.hpp>

namespace stratum::line {

// --- per-node formulas, of the GPU's kernels too -------------------------------------------------------------------------

/// Coefficients that lie in memory, and not in 1-D arrays that the cache holds.
template <class View>
constexpr bool has_bands = !is_tensor<View>;

/// What a line solve has on its right: b less the coupling to the lines beside it; b alone where those are zero.
template <Direction direction, bool coupled, class View, class T>
struct LineRhs {
  static constexpr Direction along = direction;
  static constexpr bool is_coupled = coupled;
  View a;
  GridView<const T> b, x;
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(int i, int j) const {
    if constexpr (!coupled)
      return b(i, j);
    else if constexpr (direction == Direction::x)
      return b(i, j) - a.off_row_sum(x, i, j);
    else
      return b(i, j) - a.off_column_sum(x, i, j);
  }
};

/// Coefficient towards the previous (-1), the same (0) or the next (1) node of the line.
template <Direction direction, int offset, class View>
struct LineCoefficient {
  View a;
  STRATUM_HOST_DEVICE STRATUM_INLINE auto operator()(int i, int j) const {
    if constexpr (direction == Direction::x)
      return a.template coefficient<offset, 0>(i, j);
    else
      return a.template coefficient<0, offset>(i, j);
  }
};

// --- batches -------------------------------------------------------------------------------------------------------------

/// Lines of a batch: two cache lines of numbers, so that the recurrence has independent work to hide its latency.
template <class T>
constexpr int batch_width = static_cast<int>(128 / sizeof(T));
template <class T>
constexpr int cache_line = static_cast<int>(64 / sizeof(T));
constexpr int chunk_length = 16;

/// y lines with bands come in batches of up to so many: memory delivers a long piece of a row faster than many short ones.
constexpr int widest_batch = 1024;

/// A batch as packs as wide as the machine's registers, which all advance together: one alone would wait for its own
/// divisions.
template <class T, int bytes>
struct Registers {
  using Pack = simd::Pack<T, bytes>;
  static constexpr int width = bytes / static_cast<int>(sizeof(T));
  static constexpr int packs = batch_width<T> / width;
  using InMemory = typename simd::PackOf<T, bytes>::in_memory;
  STRATUM_INLINE static Pack pack(const T* from) { return simd::pack<bytes>(from); }
  STRATUM_INLINE static InMemory& pack(T* to) { return simd::pack<bytes>(to); }
  /// Pack v of every second number of a row, from the first or from the second on.
  STRATUM_INLINE static Pack evens(const T* row, int v) {
    return simd::evens<T, bytes>(pack(row + 2 * v * width), pack(row + (2 * v + 1) * width));
  }
  STRATUM_INLINE static Pack odds(const T* row, int v) {
    return simd::odds<T, bytes>(pack(row + 2 * v * width), pack(row + (2 * v + 1) * width));
  }
};

template <class T>
using Chunk = T[chunk_length * batch_width<T>];

/// Lane k solves line first + k stride, for k = skip .. count - 1.
struct Batch {
  int first;
  int stride;
  int count;
  int skip = 0;
  [[nodiscard]] bool used(int k) const { return k >= skip && k < count; }
};

/// A thread's memory for lines of n positions: three arrays of n + 1 by W numbers, or two of n by `wide` from the first on, for
/// y lines with bands.
template <class T>
struct LineScratch {
  T *multipliers, *eliminated, *second;
  int wide;

  static std::int64_t size(const GridShape& shape, int threads, OperatorForm form) {
    const std::int64_t batches = 3 * lane_numbers(std::max(shape.nx, shape.ny));
    if (traits(form).is_separable) return batches;
    const int share = (shape.nx + 2 * threads - 1) / (2 * threads);  // of one colour
    return std::max(batches, 2 * std::int64_t{std::min(widest_batch, share)} * shape.ny);
  }
  LineScratch(T* memory, int n, std::int64_t size)
      : multipliers(memory), eliminated(multipliers + lane_numbers(n)), second(eliminated + lane_numbers(n)),
        wide(static_cast<int>(std::min<std::int64_t>(widest_batch, size / (2 * n)))) {}

 private:
  static std::int64_t lane_numbers(int n) { return batch_width<T> * (std::int64_t{n} + 1); }
};

/// to[c * W + k] = f at column begin + c of lane k; lanes without a line get `idle`.
template <class T, class F>
STRATUM_INLINE void gather(const F& f, const Batch& batch, int begin, int length, T idle, T* to) {
  constexpr int w = batch_width<T>;
  alignas(64) Chunk<T> rows;
  for (int k = 0; k < batch.count; ++k) {
    T* row = rows + k * chunk_length;
    const int j = batch.first + k * batch.stride;
    if (length == chunk_length) {  // a constant length, so that the loop unrolls into whole vectors
#pragma omp simd
      for (int c = 0; c < chunk_length; ++c) row[c] = f(begin + c, j);
    } else {
      for (int c = 0; c < chunk_length; ++c) row[c] = c < length ? f(begin + c, j) : idle;
    }
  }
  for (int n = batch.count * chunk_length; n < w * chunk_length; ++n) rows[n] = idle;
  simd::transpose<w, chunk_length>(rows, chunk_length, to, w);
}

/// The state of the elimination: what the next position takes from the last.
template <class T>
struct Elimination {
  alignas(64) T c[batch_width<T>] = {};
  alignas(64) T z[batch_width<T>] = {};
};

/// Forward elimination of a chunk of x lines, coefficients from the bands.
template <class R, class View, class T>
struct Eliminator {
  View a;
  Batch batch;
  STRATUM_INLINE Eliminator(const View& view, const Batch& lines) : a(view), batch(lines) {}

  STRATUM_INLINE void operator()(int begin, int length, const T* right, T* multipliers, T* eliminated,
                                 Elimination<T>& last) {
    constexpr int w = batch_width<T>;
    alignas(64) Chunk<T> lower, centre, upper;
    gather<T>(LineCoefficient<Direction::x, -1, View>{a}, batch, begin, length, T(0), lower);
    gather<T>(LineCoefficient<Direction::x, 0, View>{a}, batch, begin, length, T(1), centre);
    gather<T>(LineCoefficient<Direction::x, 1, View>{a}, batch, begin, length, T(0), upper);
    for (int n = 0; n < length * w; n += w) {
#pragma omp simd
      for (int k = 0; k < w; ++k) {
        const T pivot = T(1) / (centre[n + k] - lower[n + k] * last.c[k]);
        multipliers[n + k] = last.c[k] = upper[n + k] * pivot;
        eliminated[n + k] = last.z[k] = (right[n + k] - lower[n + k] * last.z[k]) * pivot;
      }
    }
  }
};

/// The same for a tensor operator, whose coefficients on a line are a number of the line times a number of the position,
/// twice: nothing is read but 1-D arrays. The line matrix is symmetric.
template <class R, class T, bool reaction>
struct Eliminator<R, TensorView<T, reaction>, T> {
  using Pack = typename R::Pack;
  const T *kx, *mx;
  alignas(64) T stiffness[batch_width<T>], mass[batch_width<T>], lower[batch_width<T>];

  STRATUM_INLINE Eliminator(const TensorView<T, reaction>& a, const Batch& batch) : kx(a.kx), mx(a.mx) {
    for (int k = 0; k < batch_width<T>; ++k) {
      const int line = batch.first + k * batch.stride;
      stiffness[k] = batch.used(k) ? a.with_e(a.ky[line] + a.ky[line + 1], line) : T(0);
      mass[k] = batch.used(k) ? 2 * (a.my[line] + a.my[line + 1]) : T(1);
      lower[k] = T(0);
    }
  }

  STRATUM_INLINE void operator()(int begin, int length, const T* right, T* multipliers, T* eliminated,
                                 Elimination<T>& last) {
    constexpr int w = batch_width<T>;
    Pack s[R::packs], m[R::packs], lo[R::packs], cl[R::packs], zl[R::packs];
    for (int v = 0; v < R::packs; ++v) {
      const int k = v * R::width;
      s[v] = R::pack(stiffness + k), m[v] = R::pack(mass + k), lo[v] = R::pack(lower + k);
      cl[v] = R::pack(last.c + k), zl[v] = R::pack(last.z + k);
    }
    for (int p = begin, n = 0; p < begin + length; ++p, n += w) {
      const T ku = kx[p + 1], mu = mx[p + 1], kd = kx[p] + ku, md = 2 * (mx[p] + mu);
#pragma GCC unroll 8
      for (int v = 0; v < R::packs; ++v) {
        const int at = n + v * R::width;
        const Pack up = mu * s[v] - ku * m[v];
        const Pack pivot = T(1) / (kd * m[v] + md * s[v] - lo[v] * cl[v]);
        cl[v] = up * pivot;
        zl[v] = (R::pack(right + at) - lo[v] * zl[v]) * pivot;
        R::pack(multipliers + at) = cl[v];
        R::pack(eliminated + at) = zl[v];
        lo[v] = up;
      }
    }
    for (int v = 0; v < R::packs; ++v) {
      const int k = v * R::width;
      R::pack(lower + k) = lo[v], R::pack(last.c + k) = cl[v], R::pack(last.z + k) = zl[v];
    }
  }
};

/// Back-substitution of a chunk; `next` holds the solution at the position behind it, and then at its first.
template <class R, class T>
STRATUM_INLINE void substitute_back(int length, const T* multipliers, const T* eliminated, T* next, T* solution) {
  constexpr int w = batch_width<T>;
  typename R::Pack x[R::packs];
  for (int v = 0; v < R::packs; ++v) x[v] = R::pack(next + v * R::width);
  for (int n = (length - 1) * w; n >= 0; n -= w) {
#pragma GCC unroll 8
    for (int v = 0; v < R::packs; ++v) {
      const int at = n + v * R::width;
      x[v] = R::pack(eliminated + at) - R::pack(multipliers + at) * x[v];
      R::pack(solution + at) = x[v];
    }
  }
  for (int v = 0; v < R::packs; ++v) R::pack(next + v * R::width) = x[v];
}

inline int last_chunk(int n) { return (n - 1) / chunk_length * chunk_length; }

// --- x lines -------------------------------------------------------------------------------------------------------------

/// x lines are filled in blocks of this many columns, long enough for hardware prefetchers to follow.
constexpr int block_length = 512;

/// Asks for the coefficients around node (i, j), of the line alone or of its coupling, too.
template <bool coupled, class View>
STRATUM_INLINE void prefetch_bands(const View& a, int i, int j) {
  constexpr int bands = std::extent_v<decltype(View::band)>;
  constexpr int first = bands == 9 && !coupled ? 3 : 0, last = coupled ? bands - 1 : bands == 9 ? 5 : 1;
  for (int k = first; k <= last; ++k) __builtin_prefetch(a.band[k] + j * a.pitch + i, 0, 2);
}

/// Right-hand sides of columns begin .. begin + length - 1, row by row, with stored bands. Asks for what the next row reads, as
/// hardware prefetchers lose the many streams where a row's block ends, and for what elimination reads of this one.
template <class R, bool coupled, class View, class T>
STRATUM_INLINE void fill_rows(const LineRhs<Direction::x, coupled, View, T>& rhs, const Batch& batch, int begin,
                              int length, T* rows, std::int64_t pitch) {
  for (int k = 0; k < batch.count; ++k) {
    T* row = rows + k * pitch;
    const int j = batch.first + k * batch.stride, next = j + batch.stride;
    for (int part = 0; part < length; part += cache_line<T>) {
      const int i = begin + part, end = std::min(length, part + cache_line<T>);
      if constexpr (requires { rhs.a.band; }) {
        prefetch_bands<false>(rhs.a, i, j);
        if (k + 1 < batch.count) {
          prefetch_bands<coupled>(rhs.a, i, next);
          __builtin_prefetch(&rhs.b(i, next), 0, 2);
        }
      }
#pragma omp simd
      for (int n = part; n < end; ++n) row[n] = rhs(begin + n, j);
    }
  }
}

/// Rows j, j + 2, ... of a tensor operator: Kx and Mx applied along the row between two are formed once for both. Packs start where
/// rows are aligned, one column before `begin`, and neighbours come out of registers. What the next block reads is asked for.
/// Behind `last_row`, the batch's, it stands for what is missing: those rows may be another thread's.
template <class R, int count, class View, class T>
STRATUM_INLINE void fill_tensor_rows(const LineRhs<Direction::x, true, View, T>& rhs, int j, int last_row, int begin,
                                     int length, T* rows, std::int64_t pitch) {
  using Pack = typename R::Pack;
  constexpr int width = R::width, bytes = width * static_cast<int>(sizeof(T));
  const View& a = rhs.a;
  const int nx = rhs.b.nx;
  const T *x[count + 1], *b[count];
  for (int r = 0; r <= count; ++r) x[r] = &rhs.x(0, std::min(j - 1 + 2 * r, last_row + 1));
  for (int r = 0; r < count; ++r) b[r] = &rhs.b(0, std::min(j + 2 * r, last_row));
  Pack last[count + 1] = {}, flux[count + 1] = {}, mean[count + 1] = {}, m{};
  for (int i = begin - 1; i - width < begin + length; i += width) {
    const Pack k = R::pack(a.kx + i), next_m = R::pack(a.mx + i), both = m + simd::one_ahead<T, bytes>(m, next_m);
    m = next_m;
    Pack stiffness[count + 1], mass[count + 1];
#pragma GCC unroll 8
    for (int r = 0; r <= count; ++r) {
      __builtin_prefetch(x[r] + i + block_length, 0, 2);
      const Pack here = i < nx ? R::pack(x[r] + i) : Pack{}, back = simd::one_back<T, bytes>(last[r], here);
      const Pack next_flux = k * (here - back), next_mean = m * (here + back);
      stiffness[r] = flux[r] - simd::one_ahead<T, bytes>(flux[r], next_flux);
      mass[r] = mean[r] + simd::one_ahead<T, bytes>(mean[r], next_mean) + both * last[r];
      last[r] = here, flux[r] = next_flux, mean[r] = next_mean;
    }
    const int first = i - width;
    if (first < begin - 1) continue;
#pragma GCC unroll 4
    for (int r = 0; r < count; ++r) {
      const int row = std::min(j + 2 * r, last_row);
      __builtin_prefetch(b[r] + i + block_length, 0, 2);
      R::pack(rows + r * pitch + (first - begin)) =
          R::pack(b[r] + first) - (a.my[row] * stiffness[r] - a.ky[row] * mass[r] + a.my[row + 1] * stiffness[r + 1] -
                                   a.ky[row + 1] * mass[r + 1]);
    }
  }
}

template <class R, class T, bool reaction>
STRATUM_INLINE void fill_rows(const LineRhs<Direction::x, true, TensorView<T, reaction>, T>& rhs, const Batch& batch,
                              int begin, int length, T* rows, std::int64_t pitch) {
  // Fours even where fewer rows are left: a row has the same bits wherever it comes in a batch.
  constexpr int four = 4;
  const bool zebra = batch.stride == 2;
  const int last_row = batch.first + (batch.count - 1) * batch.stride;
  for (int k = 0; k < batch.count; k += zebra ? four : 1) {
    const int j = batch.first + k * batch.stride;
    zebra ? fill_tensor_rows<R, four>(rhs, j, last_row, begin, length, rows + k * pitch, pitch)
          : fill_tensor_rows<R, 1>(rhs, j, last_row, begin, length, rows + k * pitch, pitch);
  }
}

/// Solves one batch of x lines of n positions.
template <class R, bool coupled, class View, class T>
STRATUM_INLINE void solve_batch(const LineRhs<Direction::x, coupled, View, T> rhs, const Batch batch, const int n,
                                const T omega, const T keep, const GridView<T> y, const LineScratch<T> scratch) {
  constexpr int w = batch_width<T>, pitch = block_length + 16;
  alignas(64) T before_rows[16 + w * pitch];
  T* const rows = before_rows + 16;  // a row's column -1 is written, too
  alignas(64) Chunk<T> right;
  Eliminator<R, View, T> eliminate(rhs.a, batch);
  Elimination<T> last;
  for (int block = 0; block < n; block += block_length) {
    const int end = std::min(n, block + block_length);
    const int length = end - block;
    fill_rows<R>(rhs, batch, block, length, rows, pitch);
    for (int k = 0; k < w; ++k)  // the rest of the last chunk, and lanes without a line
      std::fill(rows + k * pitch + (k < batch.count ? length : 0), rows + k * pitch + last_chunk(length) + chunk_length,
                T(0));
    for (int begin = block; begin < end; begin += chunk_length) {
      simd::transpose<w, chunk_length>(rows + (begin - block), pitch, right, w);
      const std::int64_t at = std::int64_t{begin} * w;
      eliminate(begin, std::min(chunk_length, end - begin), right, scratch.multipliers + at, scratch.eliminated + at,
                last);
    }
  }
  alignas(64) T next[w] = {};
  alignas(64) Chunk<T> solution;
  const bool direct = keep == T(0) && omega == T(1) && batch.count == w;
  for (int begin = last_chunk(n); begin >= 0; begin -= chunk_length) {
    const int length = std::min(chunk_length, n - begin);
    // Asks for what is written later, in pieces that hardware prefetchers continue: a few rows with every chunk.
    constexpr int chunks = 4, share = w / chunks;
    const int part = begin / chunk_length % chunks, later = begin - (part + chunks) * chunk_length;
    if (later >= 0)
      for (int k = part * share; k < std::min(batch.count, (part + 1) * share); ++k)
        for (int i = later; i < later + chunks * chunk_length; i += cache_line<T>)
          __builtin_prefetch(&y(i, batch.first + k * batch.stride), 0, 2);
    const std::int64_t at = std::int64_t{begin} * w;
    substitute_back<R>(length, scratch.multipliers + at, scratch.eliminated + at, next, solution);
    if (direct && length == chunk_length) {
      simd::transpose<chunk_length, w>(solution, w, &y(begin, batch.first), batch.stride * y.pitch);
      continue;
    }
    simd::transpose<chunk_length, w>(solution, w, rows, pitch);
    for (int k = 0; k < batch.count; ++k) {
      const T* row = rows + k * pitch;
      const int j = batch.first + k * batch.stride;
      for (int c = 0; c < length; ++c)
        y(begin + c, j) = keep == T(0) ? omega * row[c] : keep * rhs.x(begin + c, j) + omega * row[c];
    }
  }
}

// --- y lines -------------------------------------------------------------------------------------------------------------

/// One wide batch of y lines with bands, row after row.
template <int stride, bool coupled, class View, class T>
STRATUM_INLINE void solve_wide_batch(const LineRhs<Direction::y, coupled, View, T> rhs, const int first,
                                     const int count, const int n, const T omega, const T keep, const GridView<T> y,
                                     const LineScratch<T> scratch) {
  const int w = scratch.wide;
  const LineCoefficient<Direction::y, -1, View> lower{rhs.a};
  const LineCoefficient<Direction::y, 0, View> centre{rhs.a};
  const LineCoefficient<Direction::y, 1, View> upper{rhs.a};
  T *const multipliers = scratch.multipliers, *const solution = multipliers + std::int64_t{w} * n;
  alignas(64) const T zeros[widest_batch] = {};
  for (int j = 0; j < n; ++j) {
    T *const c = multipliers + std::int64_t{j} * w, *const z = solution + std::int64_t{j} * w;
    const T *const c_below = j == 0 ? zeros : c - w, *const z_below = j == 0 ? zeros : z - w;
#pragma omp simd
    for (int k = 0; k < count; ++k) {
      const int i = first + stride * k;
      const T l = lower(i, j), pivot = T(1) / (centre(i, j) - l * c_below[k]);
      c[k] = upper(i, j) * pivot;
      z[k] = (rhs(i, j) - l * z_below[k]) * pivot;
    }
  }
  for (int j = n - 1; j >= 0; --j) {
    const T* const c = multipliers + std::int64_t{j} * w;
    T* const z = solution + std::int64_t{j} * w;
    const T* const above = j == n - 1 ? zeros : z + w;
#pragma omp simd
    for (int k = 0; k < count; ++k) {
      z[k] -= c[k] * above[k];
      const int i = first + stride * k;
      y(i, j) = keep == T(0) ? omega * z[k] : keep * rhs.x(i, j) + omega * z[k];
    }
  }
}

/// Solves one batch of y lines of n positions with bands.
template <class R, bool coupled, class View, class T>
STRATUM_INLINE void solve_batch(const LineRhs<Direction::y, coupled, View, T> rhs, const Batch batch, const int n,
                                const T omega, const T keep, const GridView<T> y, const LineScratch<T> scratch) {
  if (batch.stride == 1)
    solve_wide_batch<1>(rhs, batch.first, batch.count, n, omega, keep, y, scratch);
  else
    solve_wide_batch<2>(rhs, batch.first, batch.count, n, omega, keep, y, scratch);
}

/// Elimination along one colour of the y lines in a strip, tensor operator by columns, position after position. What couples a line to
/// its neighbours, combined first, is then one more line, and what an interval adds to both its positions is formed once:
///
///     p = m_l x_left + m_r x_right,  q = k_l x_left + k_r x_right ;   f = k (p_- - p),  g = m (q_- + q) ,
///     right + f + g  behind,   right - f + g  before,   and (m + m_next) q at the position itself.
template <class R, bool coupled, class View>
struct StripLines {
  using T = typename View::Number;
  using Pack = typename R::Pack;
  Pack s[R::packs], m[R::packs], kl[R::packs], ml[R::packs], kr[R::packs], mr[R::packs];
  Pack lower[R::packs] = {}, c[R::packs] = {}, z[R::packs] = {}, p[R::packs], q[R::packs], from_before[R::packs];

  STRATUM_INLINE StripLines(const View& a, const Batch& batch) {
    constexpr int w = batch_width<T>;
    alignas(64) T numbers[6][w];
    for (int k = 0; k < w; ++k) {
      const int i = batch.first + k * batch.stride;
      const bool used = batch.used(k);
      numbers[0][k] = used ? a.kx[i] : T(0);
      numbers[1][k] = used ? a.mx[i] : T(0);
      numbers[2][k] = used ? a.kx[i + 1] : T(0);
      numbers[3][k] = used ? a.mx[i + 1] : T(0);
      numbers[4][k] = used ? a.with_e(numbers[0][k] + numbers[2][k], i) : T(0);
      numbers[5][k] = used ? 2 * (numbers[1][k] + numbers[3][k]) : T(1);
    }
    for (int v = 0; v < R::packs; ++v) {
      const int k = v * R::width;
      kl[v] = R::pack(numbers[0] + k), ml[v] = R::pack(numbers[1] + k), kr[v] = R::pack(numbers[2] + k);
      mr[v] = R::pack(numbers[3] + k), s[v] = R::pack(numbers[4] + k), m[v] = R::pack(numbers[5] + k);
    }
  }

  /// Pack v of the neighbours at position 0.
  STRATUM_INLINE void start(const View& a, int v, Pack left, Pack right) {
    p[v] = ml[v] * left + mr[v] * right;
    q[v] = kl[v] * left + kr[v] * right;
    from_before[v] = a.my[0] * q[v] - a.ky[0] * p[v];
  }

  /// Pack v at position j, with the neighbours at the next one.
  STRATUM_INLINE void eliminate(const View& a, int j, int v, Pack right_side, Pack left, Pack right) {
    const T ku = a.ky[j + 1], mu = a.my[j + 1], kd = a.ky[j] + ku, md = a.my[j] + mu;
    if constexpr (coupled) {
      const Pack next_p = ml[v] * left + mr[v] * right, next_q = kl[v] * left + kr[v] * right;
      const Pack f = ku * (p[v] - next_p), g = mu * (q[v] + next_q);
      right_side += from_before[v] + (g - f) + md * q[v];
      from_before[v] = g + f;
      p[v] = next_p;
      q[v] = next_q;
    }
    const Pack upper = mu * s[v] - ku * m[v];
    const Pack pivot = T(1) / (kd * m[v] + 2 * md * s[v] - lower[v] * c[v]);
    c[v] = upper * pivot;
    z[v] = (right_side - lower[v] * z[v]) * pivot;
    lower[v] = upper;
  }
};

/// 2 W + 1 columns of row j from `start` on: in place where all of them may be read, else those of lowest .. highest in `row`,
/// zeros elsewhere.
template <class T>
STRATUM_INLINE const T* strip_row(const GridView<const T>& x, int j, int start, bool whole, int lowest, int highest,
                                  T* row) {
  constexpr int columns = 2 * batch_width<T>;
  if (whole) {
    for (int i = 0; i < columns; i += cache_line<T>)
      __builtin_prefetch(&x(start + i, std::min(j + chunk_length, x.ny)));
    return &x(start, j);
  }
  for (int n = 0; n <= columns; ++n) row[n] = start + n >= lowest && start + n <= highest ? x(start + n, j) : T(0);
  return row;
}

/// Asks for what later strips read while one is solved. Long pieces of rows, which hardware prefetchers continue: those of a
/// group of strips together, each strip of the group before asking for its share of the rows. Longer lines have smaller
/// groups, as these have to stay in a cache.
template <class T>
struct StripsAhead {
  int strips, share, begin, end;  // strips of a group; columns of the next one

  STRATUM_INLINE StripsAhead(int start, int last_column, int rows) {
    constexpr int strip = 2 * batch_width<T>;
    strips = rows <= 1024 ? 4 : 2;
    const int index = (start + 1) / strip;  // strips start at column -1 or 0
    share = index % strips;
    begin = start + (strips - share) * strip;
    end = std::min(begin + strips * strip, last_column);
  }
  /// Quarters from .. to - 1 of row j.
  STRATUM_INLINE void prefetch(const GridView<const T>& x, int j, int from, int to) const {
    if (j % strips != share) return;
    const int quarter = strips * batch_width<T> / 2;
    for (int i = begin + from * quarter; i < std::min(end, begin + to * quarter); i += cache_line<T>)
      __builtin_prefetch(&x(i, j), 0, 2);
  }
};

/// What all strips of a sweep have in common: y = (1 - omega) x + omega solution, y the same as x unless `simultaneous`.
template <class View, class T>
struct StripSweep {
  View a;
  GridView<const T> b, x;
  GridView<T> y;
  T omega;
  bool from_zero, simultaneous;
};

/// Both colours of the y lines in a strip of 2 W columns, tensor operator: lane k of the second colour is column start + 2 k,
/// lane k of the first column start + 2 k + 1. Only columns begin .. end - 1 are solved; begin - 1 and end are the halo or
/// solved already, and so is everything on the left of the strip. Rows are taken apart into the two colours when they are
/// first read and put together once, when both are solved; all four passes ask for later strips, as only so many requests can
/// be under way. `only_last`: of the first colour's last lane, no more. `damped`: omega is not one, or the sweep simultaneous.
template <class R, bool from_zero, bool damped, class View, class T>
STRATUM_INLINE void solve_strip(const StripSweep<View, T>& sweep, const bool only_last, const int start,
                                const int begin, const int end, const LineScratch<T> scratch) {
  const View a = sweep.a.columns();
  const GridView<const T> b = sweep.b, x = sweep.x;
  const GridView<T> y = sweep.y;
  const T omega = sweep.omega, keep = T(1) - omega;
  const bool simultaneous = damped && sweep.simultaneous;
  using Pack = typename R::Pack;
  constexpr int w = batch_width<T>, width = R::width, packs = R::packs;
  constexpr int bytes = width * static_cast<int>(sizeof(T));
  const int n = x.ny, next_strip = start + 2 * w;
  const bool whole = start >= begin && next_strip <= end;
  const StripsAhead<T> ahead(start, end, n);
  const Batch firsts{start + 1, 2, std::min(w, (end - start) / 2), only_last ? w - 1 : 0};
  const Batch seconds{start, 2, std::min(w, (end - start + 1) / 2), start < begin ? 1 : 0};
  T *const multipliers = scratch.multipliers, *const first = scratch.eliminated, *const second = scratch.second;
  alignas(64) T row[2 * w + 1];
  {
    StripLines<R, !from_zero, View> lines(a, firsts);
    // The columns on the left of pack v of the first colour and on its right.
    Pack left[packs + 1];
    const auto take_second = [&](int j) __attribute__((always_inline)) {
      const T* from = strip_row<T>(x, j, start, whole, begin - 1, end, row);
#pragma GCC unroll 8
      for (int v = 0; v < packs; ++v) left[v] = R::evens(from, v);
      left[packs] = simd::filled<T, bytes>(from[2 * w]);
    };
    if constexpr (!from_zero) {
      take_second(0);
      for (int v = 0; v < packs; ++v) lines.start(a, v, left[v], simd::one_ahead<T, bytes>(left[v], left[v + 1]));
    }
    for (int j = 0; j < n; ++j) {
      const T* from = strip_row<T>(b, j, start, whole, begin, end - 1, row);
      Pack right_side[packs];
#pragma GCC unroll 8
      for (int v = 0; v < packs; ++v) {
        R::pack(second + std::int64_t{j} * w + v * width) = R::evens(from, v);
        right_side[v] = R::odds(from, v);
      }
      ahead.prefetch(b, j, 0, 3);
      if constexpr (!from_zero) take_second(j + 1);
#pragma GCC unroll 8
      for (int v = 0; v < packs; ++v) {
        lines.eliminate(a, j, v, right_side[v], left[v], simd::one_ahead<T, bytes>(left[v], left[v + 1]));
        R::pack(multipliers + std::int64_t{j} * w + v * width) = lines.c[v];
        R::pack(first + std::int64_t{j} * w + v * width) = lines.z[v];
      }
    }
    Pack next[packs] = {};
    for (int j = n - 1; j >= 0; --j) {
      ahead.prefetch(b, j, 3, 4);
#pragma GCC unroll 8
      for (int v = 0; v < packs; ++v) {
        const std::int64_t at = std::int64_t{j} * w + v * width;
        next[v] = R::pack(first + at) - R::pack(multipliers + at) * next[v];
        R::pack(first + at) = damped ? omega * next[v] : next[v];
      }
      if constexpr (damped && !from_zero) {
        const T* old = strip_row<T>(x, j, start, whole, begin - 1, end, row);
        for (int v = 0; v < packs; ++v) R::pack(first + std::int64_t{j} * w + v * width) += keep * R::odds(old, v);
      }
    }
  }
  if (only_last) {
    for (int j = 0; j < n; ++j) y(end - 1, j) = first[std::int64_t{j} * w + w - 1];
    return;
  }
  std::fill_n(first + std::int64_t{n} * w, w, T(0));
  if (firsts.count < seconds.count)  // the second colour ends at column end, which somebody else solved
    for (int j = 0; j < n; ++j) first[std::int64_t{j} * w + firsts.count] = x(end, j);
  StripLines<R, true, View> lines(a, seconds);
  // The columns on the left of the second colour: the first colour's, and the one before the strip.
  Pack before[packs + 1] = {};
  const auto take_first = [&](int j) __attribute__((always_inline)) {
    if (simultaneous && from_zero) return;
    before[0] = simd::filled<T, bytes>(start > 0 ? x(start - 1, j) : T(0));
    if (simultaneous) {
      const T* old = strip_row<T>(x, j, start, whole, begin - 1, end, row);
      for (int v = 0; v < packs; ++v) before[v + 1] = R::odds(old, v);
      return;
    }
#pragma GCC unroll 8
    for (int v = 0; v < packs; ++v) before[v + 1] = R::pack(first + std::int64_t{j} * w + v * width);
  };
  take_first(0);
  for (int v = 0; v < packs; ++v) lines.start(a, v, simd::one_back<T, bytes>(before[v], before[v + 1]), before[v + 1]);
  for (int j = 0; j < n; ++j) {
    ahead.prefetch(x, j, 0, 3);
    take_first(j + 1);
#pragma GCC unroll 8
    for (int v = 0; v < packs; ++v) {
      const std::int64_t at = std::int64_t{j} * w + v * width;
      lines.eliminate(a, j, v, R::pack(second + at), simd::one_back<T, bytes>(before[v], before[v + 1]), before[v + 1]);
      R::pack(multipliers + at) = lines.c[v];
      R::pack(second + at) = lines.z[v];
    }
  }
  Pack next[packs] = {};
  for (int j = n - 1; j >= 0; --j) {
    ahead.prefetch(x, j, 3, 4);
    T* to = whole ? &y(start, j) : row;
    const T* old = damped && !from_zero ? strip_row<T>(x, j, start, whole, begin - 1, end, row) : to;
#pragma GCC unroll 8
    for (int v = 0; v < packs; ++v) {
      const std::int64_t at = std::int64_t{j} * w + v * width;
      next[v] = R::pack(second + at) - R::pack(multipliers + at) * next[v];
      const Pack odd = R::pack(first + at);
      Pack even = damped ? omega * next[v] : next[v];
      if constexpr (damped && !from_zero) even += keep * R::evens(old, v);
      R::pack(to + 2 * v * width) = simd::woven_low<T, bytes>(even, odd);
      R::pack(to + (2 * v + 1) * width) = simd::woven_high<T, bytes>(even, odd);
    }
    if (!whole)
      for (int i = std::max(start, begin); i < std::min(end, next_strip); ++i) y(i, j) = row[i - start];
  }
}

// --- for the registers of this machine ---------------------------------------------------------------------------------

template <class Rhs, class T>
struct SolveBatch {
  Rhs rhs;
  Batch batch;
  int n;
  T omega, keep;
  GridView<T> y;
  LineScratch<T> scratch;
  template <int bytes>
  STRATUM_INLINE void run() const {
    solve_batch<Registers<T, bytes>>(rhs, batch, n, omega, keep, y, scratch);
  }
};

template <class View, class T>
struct SolveStrip {
  StripSweep<View, T> sweep;
  bool only_last;
  int start, begin, end;
  LineScratch<T> scratch;
  template <int bytes>
  STRATUM_INLINE void run() const {
    const bool damped = sweep.simultaneous || sweep.omega != T(1);
    if (sweep.from_zero)
      damped ? solve<bytes, true, true>() : solve<bytes, true, false>();
    else
      damped ? solve<bytes, false, true>() : solve<bytes, false, false>();
  }

 private:
  template <int bytes, bool from_zero, bool damped>
  STRATUM_INLINE void solve() const {
    solve_strip<Registers<T, bytes>, from_zero, damped>(sweep, only_last, start, begin, end, scratch);
  }
};

// --- sweeps --------------------------------------------------------------------------------------------------------------

template <Direction direction, class View, class T>
struct Sweep {
  View a;
  GridView<const T> b, x;
  GridView<T> y;
  T omega;
  bool from_zero;
  int threads;
  GridView<T> memory;  // a row a thread

  [[nodiscard]] int lines() const { return direction == Direction::x ? y.ny : y.nx; }
  [[nodiscard]] int length() const { return direction == Direction::x ? y.nx : y.ny; }
  [[nodiscard]] T keep() const { return from_zero ? T(0) : T(1) - omega; }
  /// Threads worth having for a number of batches.
  [[nodiscard]] int team(int batches) const {
    return y.nodes() > serial_limit ? std::max(1, std::min({threads, memory.ny, batches})) : 1;
  }
  [[nodiscard]] LineScratch<T> scratch(int part) const {
    return {&memory(-1, part), length(), memory.nx};  // column -1 is where rows are aligned
  }
  [[nodiscard]] int lanes() const {
    return direction == Direction::y && has_bands<View> ? scratch(0).wide : batch_width<T>;
  }
  template <bool coupled>
  void solve(const Batch& batch, const LineScratch<T>& scratch) const {
    using Rhs = LineRhs<direction, coupled, View, T>;
    simd::run_widest(SolveBatch<Rhs, T>{Rhs{a, b, x}, batch, length(), omega, keep(), y, scratch});
  }
  void solve_first(const Batch& batch, const LineScratch<T>& scratch) const {
    from_zero ? solve<false>(batch, scratch) : solve<true>(batch, scratch);
  }

  /// All lines from the old x.
  void simultaneous() const {
    const int w = in_strips ? 2 * batch_width<T> : lanes();
    const int batches = (lines() + w - 1) / w, parts = team(batches);
#pragma omp parallel for schedule(static, 1) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
      const auto share = [&](int p) { return static_cast<int>(std::int64_t{batches} * p / parts); };
      const int begin = share(part) * w, end = std::min(share(part + 1) * w, lines());
      for (int line = begin; line < end; line += w) {
        if constexpr (in_strips)
          solve_strip(line, begin, end, scratch(part), true);
        else
          solve_first({line, 1, std::min(w, end - line)}, scratch(part));
      }
    }
  }

  /// Lines first, first + 2, ... and then the others; x and y are the same.
  void zebra(int first) const {
    const int strip = 2 * batch_width<T>, start = first - 1;  // of the first strip: its lane 0 of the second colour
    const int strips = (lines() - start + strip - 1) / strip, parts = team(strips);
    const auto begin = [&](int p) {
      return p == 0 ? 0 : p == parts ? lines() + 1 : start + static_cast<int>(std::int64_t{strips} * p / parts) * strip;
    };
#pragma omp parallel num_threads(parts) if (parts > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 1; part < parts; ++part) solve_line_before(begin(part), scratch(part));
#pragma omp for schedule(static, 1)
      for (int part = 0; part < parts; ++part)
        part_in_zebra_order(first, begin(part), begin(part + 1) - 1, scratch(part));
    }
  }

 private:
  static constexpr bool in_strips = direction == Direction::y && !has_bands<View>;

  void solve_strip(int start, int begin, int end, const LineScratch<T>& scratch, bool all_from_old = false,
                   bool only_last = false) const {
    simd::run_widest(
        SolveStrip<View, T>{{a, b, x, y, omega, from_zero, all_from_old}, only_last, start, begin, end, scratch});
  }

  /// The line of the first colour before a part, with the same arithmetic as in the middle of one: the number of threads
  /// changes no bit.
  void solve_line_before(int part, const LineScratch<T>& scratch) const {
    const int start = part - 2 * batch_width<T>;
    if constexpr (in_strips)
      solve_strip(start, std::max(start, 0), part, scratch, false, true);
    else
      solve_first({part - 1, 2, 1}, scratch);
  }

  /// Lines begin .. end - 1, the second colour as soon as both its neighbours are solved.
  void part_in_zebra_order(int first, int begin, int end, const LineScratch<T>& scratch) const {
    const int w = lanes();
    if constexpr (in_strips) {
      for (int start = begin == 0 ? first - 1 : begin; start < end; start += 2 * w)
        solve_strip(start, begin, end, scratch);
      return;
    }
    const auto next_of = [&](int line, int colour) { return line + ((line ^ colour) & 1); };
    int next = next_of(begin, first), behind = next_of(begin, first + 1);
    while (next < end || behind < end) {
      if (next < end) {
        const int count = std::min(w, (end - next + 1) / 2);
        solve_first({next, 2, count}, scratch);
        next += 2 * count;
      }
      const int ready = next < end ? next - 1 : end;
      while (behind < ready) {
        const int count = std::min(w, (ready - behind + 1) / 2);
        solve<true>({behind, 2, count}, scratch);
        behind += 2 * count;
      }
    }
  }
};

}  // namespace stratum::line
