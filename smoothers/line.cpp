#include <stratum/smoothers/line.hpp>

#include <algorithm>
#include <utility>

#include <stratum/core/blas.hpp>
#include <stratum/core/for_each_node.hpp>
#include <stratum/core/simd.hpp>
#if defined(__CUDACC__)
#include <stratum/smoothers/line_kernels.hpp>
#endif

namespace stratum {

void register_line(SmootherRegistry& registry);

namespace {

constexpr double simultaneous_damping = 0.8;

/// Lines up to this length fit the shared memory of a GPU block, whatever the operator.
template <class T>
constexpr int longest_partitioned = static_cast<int>(32768 / sizeof(T));

// --- per-node formulas ---------------------------------------------------------------------------------------------------

/// What a line solve has on its right: b less the coupling to the lines beside it; b alone where those are zero.
template <Direction direction, bool coupled, class View, class T>
struct LineRhs {
  static constexpr Direction along = direction;
  static constexpr bool is_coupled = coupled;
  View a;
  GridView<const T> b, x;
  /// Asks for the memory around node (i, j): y lines touch a new page with every row, where hardware prefetchers stop.
  STRATUM_INLINE void prefetch(int i, int j) const {
    __builtin_prefetch(&b(i, j));
    if constexpr (coupled) __builtin_prefetch(&x(i, j + 1));
  }
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

// --- CPU: Thomas algorithm, SIMD across a batch of lines -----------------------------------------------------------------
//
// W lines are eliminated together, one lane each. Positions along the lines run in chunks: right-hand sides and
// coefficients of a chunk are formed row by row, where memory is contiguous, and turned so that lanes are contiguous;
//
//     c_p = u_p / (d_p - l_p c_(p-1)),   z_p = (r_p - l_p z_(p-1)) / (d_p - l_p c_(p-1)),   x_p = z_p - c_p x_(p+1) .
//
// Lanes without a line solve 1 x = 0.

/// Lines of a batch: two cache lines of numbers, so that the recurrence has independent work to hide its latency.
template <class T>
constexpr int batch_width = static_cast<int>(128 / sizeof(T));
constexpr int chunk_length = 16;

template <class T>
using Chunk = T[chunk_length * batch_width<T>];

/// The lines first, first + stride, ... of a batch.
struct Batch {
  int first;
  int stride;
  int count;
};

/// to[c * W + k] = f at position begin + c of line k of the batch; lanes without a line get `idle`.
template <Direction direction, class T, class F>
STRATUM_INLINE void gather(const F& f, const Batch& batch, int begin, int length, T idle, T* to) {
  constexpr int w = batch_width<T>;
  if constexpr (direction == Direction::x) {
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
  } else {
    for (int c = 0; c < length; ++c) {
      const int j = begin + c;
      T* lanes = to + c * w;
      if (batch.stride == 1) {
#pragma omp simd
        for (int k = 0; k < batch.count; ++k) lanes[k] = f(batch.first + k, j);
      } else {
#pragma omp simd
        for (int k = 0; k < batch.count; ++k) lanes[k] = f(batch.first + 2 * k, j);
      }
      for (int k = batch.count; k < w; ++k) lanes[k] = idle;
    }
  }
}

/// Asks for the rows that the next chunk of y lines takes.
template <class T, class Rhs>
STRATUM_INLINE void prefetch(const Rhs& rhs, const Batch& batch, int begin, int length) {
  constexpr int line = static_cast<int>(64 / sizeof(T));
  for (int c = 0; c < length && begin + c + chunk_length < rhs.b.ny; ++c)
    for (int i = 0; i < batch.count * batch.stride; i += line) rhs.prefetch(batch.first + i, begin + c + chunk_length);
}

/// Right-hand sides of a chunk for every lane.
template <class T, class Rhs>
STRATUM_INLINE void gather_rhs(const Rhs& rhs, const Batch& batch, int begin, int length, T* to) {
  gather<Rhs::along, T>(rhs, batch, begin, length, T(0), to);
}

/// y lines of one colour, tensor operator: the neighbour columns have the other colour; one pass forms their stiffness and mass
/// once for the lines on both sides of them. Columns of one colour are taken apart row by row.
template <class T>
STRATUM_INLINE void gather_rhs(const LineRhs<Direction::y, true, TensorView<T>, T>& rhs, const Batch& batch, int begin,
                               int length, T* to) {
  constexpr int w = batch_width<T>;
  if (batch.stride != 2 || batch.count < w) return gather<Direction::y, T>(rhs, batch, begin, length, T(0), to);
  const TensorView<T>& a = rhs.a;
  alignas(64) T kl[w], ml[w], kr[w], mr[w];
  for (int k = 0; k < w; ++k) {
    const int i = batch.first + 2 * k;
    kl[k] = a.kx[i];
    ml[k] = a.mx[i];
    kr[k] = a.kx[i + 1];
    mr[k] = a.mx[i + 1];
  }
  // Stage by stage over the whole chunk: a vector read back right after narrower stores would wait for them.
  constexpr int pitch = w + 16;
  alignas(64) T rows[(chunk_length + 2) * pitch], stiffness[chunk_length * pitch], mass[chunk_length * pitch];
  for (int c = 0; c < length + 2; ++c) {
    const T* x = &rhs.x(batch.first - 1, begin - 1 + c);
    simd::take_every_second<w>(x, rows + c * pitch);
    rows[c * pitch + w] = x[2 * w];
  }
  for (int c = 0; c < length; ++c) simd::take_every_second<w>(&rhs.b(batch.first, begin + c), to + c * w);
  for (int c = 0; c < length; ++c) {
    const int j = begin + c;
    const T ks = a.ky[j], kn = a.ky[j + 1], ms = a.my[j], mn = a.my[j + 1];
    const T *south = rows + c * pitch, *centre = south + pitch, *north = centre + pitch;
#pragma omp simd
    for (int k = 0; k <= w; ++k) {
      stiffness[c * pitch + k] = ks * (centre[k] - south[k]) + kn * (centre[k] - north[k]);
      mass[c * pitch + k] = ms * (south[k] + 2 * centre[k]) + mn * (2 * centre[k] + north[k]);
    }
  }
  for (int c = 0; c < length; ++c) {
    const T *k_left = stiffness + c * pitch, *m_left = mass + c * pitch;
    T* lanes = to + c * w;
#pragma omp simd
    for (int k = 0; k < w; ++k)
      lanes[k] -= ml[k] * k_left[k] - kl[k] * m_left[k] + mr[k] * k_left[k + 1] - kr[k] * m_left[k + 1];
  }
}

/// The state of the elimination: what the next position takes from the last.
template <class T>
struct Elimination {
  alignas(64) T c[batch_width<T>] = {};
  alignas(64) T z[batch_width<T>] = {};
};

/// Forward elimination of a chunk, coefficients from the bands.
template <Direction direction, class View, class T>
struct Eliminator {
  View a;
  Batch batch;
  STRATUM_INLINE Eliminator(const View& view, const Batch& lines) : a(view), batch(lines) {}

  STRATUM_INLINE void operator()(int begin, int length, const T* right, T* multipliers, T* solution,
                                 Elimination<T>& last) {
    constexpr int w = batch_width<T>;
    alignas(64) Chunk<T> lower, centre, upper;
    gather<direction, T>(LineCoefficient<direction, -1, View>{a}, batch, begin, length, T(0), lower);
    gather<direction, T>(LineCoefficient<direction, 0, View>{a}, batch, begin, length, T(1), centre);
    gather<direction, T>(LineCoefficient<direction, 1, View>{a}, batch, begin, length, T(0), upper);
    for (int n = 0; n < length * w; n += w) {
#pragma omp simd
      for (int k = 0; k < w; ++k) {
        const T pivot = T(1) / (centre[n + k] - lower[n + k] * last.c[k]);
        multipliers[n + k] = last.c[k] = upper[n + k] * pivot;
        solution[n + k] = last.z[k] = (right[n + k] - lower[n + k] * last.z[k]) * pivot;
      }
    }
  }
};

/// The same for a tensor operator, whose coefficients on a line are a number of the line times a number of the position,
/// twice: nothing is read but 1-D arrays. The line matrix is symmetric.
template <Direction direction, class T>
struct Eliminator<direction, TensorView<T>, T> {
  const T *along_k, *along_m;
  alignas(64) T stiffness[batch_width<T>], mass[batch_width<T>], idle[batch_width<T>], lower[batch_width<T>];

  STRATUM_INLINE Eliminator(const TensorView<T>& a, const Batch& batch)
      : along_k(direction == Direction::x ? a.kx : a.ky), along_m(direction == Direction::x ? a.mx : a.my) {
    const T* across_k = direction == Direction::x ? a.ky : a.kx;
    const T* across_m = direction == Direction::x ? a.my : a.mx;
    for (int k = 0; k < batch_width<T>; ++k) {
      const bool used = k < batch.count;
      const int line = used ? batch.first + k * batch.stride : batch.first;
      stiffness[k] = used ? across_k[line] + across_k[line + 1] : T(0);
      mass[k] = used ? 2 * (across_m[line] + across_m[line + 1]) : T(0);
      idle[k] = used ? T(0) : T(1);
      lower[k] = T(0);
    }
  }

  STRATUM_INLINE void operator()(int begin, int length, const T* right, T* multipliers, T* solution,
                                 Elimination<T>& last) {
    constexpr int w = batch_width<T>;
    for (int c = 0; c < length; ++c) {
      const int p = begin + c, n = c * w;
      const T ku = along_k[p + 1], mu = along_m[p + 1], kd = along_k[p] + ku, md = 2 * (along_m[p] + mu);
#pragma omp simd
      for (int k = 0; k < w; ++k) {
        const T upper = mu * stiffness[k] - ku * mass[k];
        const T pivot = T(1) / (kd * mass[k] + (md * stiffness[k] + idle[k]) - lower[k] * last.c[k]);
        multipliers[n + k] = last.c[k] = upper * pivot;
        solution[n + k] = last.z[k] = (right[n + k] - lower[k] * last.z[k]) * pivot;
        lower[k] = upper;
      }
    }
  }
};

/// Right-hand sides of all x lines of a batch, row by row: two or three streams at a time, as hardware prefetchers follow.
template <class Rhs, class T>
STRATUM_INLINE void fill_rows(const Rhs& rhs, const Batch& batch, int n, T* rows, std::int64_t pitch, T* /*row_sums*/) {
  for (int k = 0; k < batch.count; ++k) {
    T* row = rows + k * pitch;
    const int j = batch.first + k * batch.stride;
#pragma omp simd
    for (int i = 0; i < n; ++i) row[i] = rhs(i, j);
  }
}

/// The same for a tensor operator: the row between two lines of one colour is summed once for both.
template <class T>
STRATUM_INLINE void fill_rows(const LineRhs<Direction::x, true, TensorView<T>, T>& rhs, const Batch& batch, int n,
                              T* rows, std::int64_t pitch, T* row_sums) {
  const TensorView<T>& a = rhs.a;
  T *stiffness = row_sums, *mass = row_sums + pitch;
  for (int k = 0; k < batch.count; ++k) {
    const int j = batch.first + k * batch.stride;
    if (k == 0 || batch.stride != 2) {
#pragma omp simd
      for (int i = 0; i < n; ++i) {
        stiffness[i] = a.row_stiffness(rhs.x, i, j - 1);
        mass[i] = a.row_mass(rhs.x, i, j - 1);
      }
    }
    const T ks = a.ky[j], kn = a.ky[j + 1], ms = a.my[j], mn = a.my[j + 1];
    T* row = rows + k * pitch;
#pragma omp simd
    for (int i = 0; i < n; ++i) {
      const T north_stiffness = a.row_stiffness(rhs.x, i, j + 1), north_mass = a.row_mass(rhs.x, i, j + 1);
      row[i] = rhs.b(i, j) - (ms * stiffness[i] - ks * mass[i] + mn * north_stiffness - kn * north_mass);
      stiffness[i] = north_stiffness;
      mass[i] = north_mass;
    }
  }
}

/// y = (1 - omega) x + omega z for a chunk of y lines, z[c * W + k].
template <class T>
STRATUM_INLINE void scatter_columns(const T* z, const Batch& batch, int begin, int length, T omega, T keep,
                                    const GridView<const T>& x, const GridView<T>& y) {
  constexpr int w = batch_width<T>;
  for (int c = 0; c < length; ++c) {
    const int j = begin + c;
    const T* lanes = z + c * w;
    for (int i = 0; i < batch.count * batch.stride; i += static_cast<int>(64 / sizeof(T)))
      __builtin_prefetch(&y(batch.first + i, std::max(j - chunk_length, 0)), 1);
    if (keep == T(0) && batch.stride == 2 && batch.count == w) {
      // Whole rows: the columns in between are written back as they were.
      simd::put_every_second<w>(omega, lanes, &y(batch.first, j));
      continue;
    }
    for (int k = 0; k < batch.count; ++k) {
      const int i = batch.first + k * batch.stride;
      y(i, j) = keep == T(0) ? omega * lanes[k] : keep * x(i, j) + omega * lanes[k];
    }
  }
}

/// A thread's memory for one batch of lines: right-hand sides and solutions row by row (x lines only), two rows of
/// sums, multipliers and solutions lane by lane.
template <class T>
struct LineScratch {
  T* rows;
  std::int64_t pitch;
  T* row_sums;
  T* multipliers;
  T* solution;

  /// Numbers that lines of n positions take.
  static std::int64_t size(int n) {
    return (batch_width<T> + 2) * row_length(n) + 2 * batch_width<T> * chunks(n) * chunk_length;
  }
  LineScratch(T* memory, int n)
      : rows(memory), pitch(row_length(n)), row_sums(rows + batch_width<T> * pitch), multipliers(row_sums + 2 * pitch),
        solution(multipliers + batch_width<T> * chunks(n) * chunk_length) {}

 private:
  static std::int64_t chunks(int n) { return (n + chunk_length - 1) / chunk_length; }
  // An odd number of cache lines: rows a power of two apart would share a few cache sets.
  static std::int64_t row_length(int n) {
    return (chunks(n) * chunk_length * std::int64_t{sizeof(T)} / 64 | 1) * 64 / std::int64_t{sizeof(T)};
  }
};

/// Solves one batch of lines of n positions.
template <Direction direction, bool coupled, class View, class T>
STRATUM_SIMD_CLONES void solve_batch(const LineRhs<direction, coupled, View, T> rhs, const Batch batch, const int n,
                                     const T omega, const bool from_zero, const GridView<T> y,
                                     const LineScratch<T> scratch) {
  constexpr int w = batch_width<T>;
  const T keep = from_zero ? T(0) : T(1) - omega;
  alignas(64) Chunk<T> right;
  Eliminator<direction, View, T> eliminate(rhs.a, batch);
  Elimination<T> last;
  if constexpr (direction == Direction::x) {
    fill_rows(rhs, batch, n, scratch.rows, scratch.pitch, scratch.row_sums);
    for (int k = batch.count; k < w; ++k) std::fill_n(scratch.rows + k * scratch.pitch, scratch.pitch, T(0));
  }
  for (int begin = 0; begin < n; begin += chunk_length) {
    const int length = std::min(chunk_length, n - begin);
    if constexpr (direction == Direction::x) {
      simd::transpose<w, chunk_length>(scratch.rows + begin, scratch.pitch, right, w);
    } else {
      prefetch<T>(rhs, batch, begin, length);
      gather_rhs(rhs, batch, begin, length, right);
    }
    const std::int64_t offset = std::int64_t{begin} * w;
    eliminate(begin, length, right, scratch.multipliers + offset, scratch.solution + offset, last);
  }
  alignas(64) T x_last[w] = {};
  for (int begin = (n - 1) / chunk_length * chunk_length; begin >= 0; begin -= chunk_length) {
    const int length = std::min(chunk_length, n - begin);
    for (int c = length - 1; c >= 0; --c) {
      const T* multiplier = scratch.multipliers + std::int64_t{begin + c} * w;
      T* z = scratch.solution + std::int64_t{begin + c} * w;
#pragma omp simd
      for (int k = 0; k < w; ++k) {
        x_last[k] = z[k] - multiplier[k] * x_last[k];
        z[k] = x_last[k];
      }
    }
    const T* lanes = scratch.solution + std::int64_t{begin} * w;
    if constexpr (direction == Direction::x)
      simd::transpose<chunk_length, w>(lanes, w, scratch.rows + begin, scratch.pitch);
    else
      scatter_columns(lanes, batch, begin, length, omega, keep, rhs.x, y);
  }
  if constexpr (direction == Direction::x) {
    for (int k = 0; k < batch.count; ++k) {
      const T* row = scratch.rows + k * scratch.pitch;
      const int j = batch.first + k * batch.stride;
      if (keep == T(0)) {
#pragma omp simd
        for (int i = 0; i < n; ++i) y(i, j) = omega * row[i];
      } else {
#pragma omp simd
        for (int i = 0; i < n; ++i) y(i, j) = keep * rhs.x(i, j) + omega * row[i];
      }
    }
  }
}

/// Solves the lines first, first + stride, ... on all threads.
template <Direction direction, bool coupled, class View, class T>
void solve_lines(Context& ctx, const LineRhs<direction, coupled, View, T>& rhs, int first, int stride, T omega,
                 bool from_zero, GridView<T> y, GridView<T> elimination) {
  constexpr int w = batch_width<T>;
  const int lines = direction == Direction::x ? y.ny : y.nx;
  const int n = direction == Direction::x ? y.nx : y.ny;
  const int wanted = lines > first ? (lines - first + stride - 1) / stride : 0;
  const int batches = (wanted + w - 1) / w;
  // Batches are given to threads by number in order: each thread works on the part of the grid it touched first.
  const int team = std::min(ctx.threads(), elimination.ny);
#pragma omp parallel for schedule(static, 1) num_threads(team) if (batches > 1 && y.nodes() > serial_limit)
  for (int part = 0; part < team; ++part) {
    const auto share = [&](int p) { return static_cast<int>(std::int64_t{batches} * p / team); };
    const LineScratch<T> scratch(&elimination(-1, part), n);  // column -1 is where rows are aligned
    for (int t = share(part); t < share(part + 1); ++t) {
      const Batch batch{first + t * w * stride, stride, std::min(w, wanted - t * w)};
      solve_batch<direction, coupled, View, T>(rhs, batch, n, omega, from_zero, y, scratch);
    }
  }
}

}  // namespace

template <class T>
LineSweep<T>::LineSweep(Context& ctx, const GridShape& shape, const SmootherParams& params)
    : line_order_(params.line_order),
      omega_(static_cast<T>(damping_or(params, params.line_order == LineOrder::zebra ? 1.0 : simultaneous_damping))),
      threads_(ctx.threads()) {
  if (ctx.on_gpu()) {
    const GridShape transposed{shape.ny, shape.nx, shape.origin_y, shape.origin_x};
    b_transposed_ = Vector<T>(ctx, transposed);
    x_transposed_ = Vector<T>(ctx, transposed);
    if (line_order_ == LineOrder::simultaneous) y_transposed_ = Vector<T>(ctx, transposed);
    if (std::max(shape.nx, shape.ny) > longest_partitioned<T>) {
      multipliers_ = Vector<T>(ctx, transposed);
      solution_ = Vector<T>(ctx, transposed);
    }
    return;
  }
  const auto size = LineScratch<T>::size(std::max(shape.nx, shape.ny));
  elimination_ = Vector<T>(ctx, GridShape{static_cast<int>(size), threads_, 0, 0});
}

template <class T>
std::int64_t LineSweep<T>::required_bytes(const Context& ctx, const GridShape& shape, const SmootherParams& params) {
  if (ctx.on_gpu()) {
    const bool too_long = std::max(shape.nx, shape.ny) > longest_partitioned<T>;
    const int vectors = (params.line_order == LineOrder::simultaneous ? 3 : 2) + (too_long ? 2 : 0);
    return vectors * vector_bytes<T>(ctx.backend(), {shape.ny, shape.nx});
  }
  const auto size = LineScratch<T>::size(std::max(shape.nx, shape.ny));
  return vector_bytes<T>(ctx.backend(), {static_cast<int>(size), ctx.threads()});
}

template <class T>
void LineSweep<T>::operator()(Context& ctx, Direction direction, const GridOperator<T>& a, GridView<const T> b,
                              GridView<const T> x, GridView<T> y, Guess guess, SweepOrder order) {
  if (ctx.on_gpu()) return sweep_on_gpu(ctx, direction, a, b, x, y, guess, order);
  expects(ctx.threads() <= threads_, "this smoother was made for ", threads_, " threads, not ", ctx.threads());
  const int origin = direction == Direction::x ? x.origin_y : x.origin_x;
  const int odd = 1 - (origin & 1);
  const bool zero = guess == Guess::zero;
  a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    const auto sweep = [&]<Direction d>(int first, int stride, bool coupled) {
      exchange(ctx, x);
      const auto elimination = elimination_.view();
      if (coupled)
        solve_lines(ctx, LineRhs<d, true, View, T>{view, b, x}, first, stride, omega_, zero, y, elimination);
      else
        solve_lines(ctx, LineRhs<d, false, View, T>{view, b, x}, first, stride, omega_, zero, y, elimination);
    };
    const auto both_colours = [&]<Direction d>() {
      if (line_order_ == LineOrder::simultaneous) {
        sweep.template operator()<d>(0, 1, !zero);
      } else {
        const int first = order == SweepOrder::forward ? odd : 1 - odd;
        sweep.template operator()<d>(first, 2, !zero);
        sweep.template operator()<d>(1 - first, 2, true);
      }
    };
    if (direction == Direction::x)
      both_colours.template operator()<Direction::x>();
    else
      both_colours.template operator()<Direction::y>();
  });
}

#if defined(__CUDACC__)

namespace {

/// Lines along x of `view`, in one kernel for simultaneous order and two for zebra.
template <class T, class View>
void sweep_x_lines(Context& ctx, const View& view, GridView<const T> b, GridView<const T> x, GridView<T> y,
                   LineOrder lines, T omega, Guess guess, SweepOrder order, GridView<T> multipliers,
                   GridView<T> solution) {
  exchange(ctx, x);
  const bool zero = guess == Guess::zero;
  const T keep = zero ? T(0) : T(1) - omega;
  const auto solve = [&]<bool coupled>(int first, int stride) {
    const int count = y.ny > first ? (y.ny - first + stride - 1) / stride : 0;
    const LineRhs<Direction::x, coupled, View, T> rhs{view, b, x};
    const cuda::Lines<T> some{first, stride, count, omega, keep};
    if (cuda::solve_x_lines<View, T>(ctx, rhs, y.nx, some, y)) return;
    cuda::solve_long_x_lines<View, T>(ctx, rhs, y.nx, some, y, multipliers, solution);
  };
  if (lines == LineOrder::simultaneous) {
    zero ? solve.template operator()<false>(0, 1) : solve.template operator()<true>(0, 1);
    return;
  }
  const int odd = 1 - (y.origin_y & 1);
  const int first = order == SweepOrder::forward ? odd : 1 - odd;
  zero ? solve.template operator()<false>(first, 2) : solve.template operator()<true>(first, 2);
  solve.template operator()<true>(1 - first, 2);
}

}  // namespace

template <class T>
void LineSweep<T>::sweep_on_gpu(Context& ctx, Direction direction, const GridOperator<T>& a, GridView<const T> b,
                                GridView<const T> x, GridView<T> y, Guess guess, SweepOrder order) {
  a.visit([&](const auto& view) {
    const auto multipliers = multipliers_.view(), solution = solution_.view();
    if (direction == Direction::x)
      return sweep_x_lines<T>(ctx, view, b, x, y, line_order_, omega_, guess, order, multipliers, solution);
    const auto bt = b_transposed_.view(), xt = x_transposed_.view();
    const auto yt = line_order_ == LineOrder::zebra ? xt : y_transposed_.view();
    const cuda::Transposition<T> x_over{x, xt};
    cuda::transpose<T>(ctx, {b, bt}, guess == Guess::given ? &x_over : nullptr);
    sweep_x_lines<T>(ctx, cuda::transposed(view), GridView<const T>(bt), GridView<const T>(xt), yt, line_order_, omega_,
                     guess, order, multipliers, solution);
    cuda::transpose<T>(ctx, {yt, y});
  });
}

#else

template <class T>
void LineSweep<T>::sweep_on_gpu(Context& /*ctx*/, Direction /*direction*/, const GridOperator<T>& /*a*/,
                                GridView<const T> /*b*/, GridView<const T> /*x*/, GridView<T> /*y*/, Guess /*guess*/,
                                SweepOrder /*order*/) {}

#endif

template class LineSweep<float>;
template class LineSweep<double>;

namespace {

/// Line relaxation in one direction.
template <class T, Direction direction>
class Line : public Smoother<T> {
 public:
  Line(Context& ctx, const GridShape& shape, const SmootherParams& params) : sweep_(ctx, shape, params) {
    if (params.line_order == LineOrder::simultaneous) scratch_ = Vector<T>(ctx, shape);
  }

  void smooth(Context& ctx, const GridOperator<T>& a, GridView<const T> b, GridView<T> x, int steps, Guess guess,
              SweepOrder order) override {
    if (steps == 0 && guess == Guess::zero) set(ctx, T(0), x);
    const bool in_place = sweep_.line_order() == LineOrder::zebra;
    GridView<T> current = x, other = in_place ? x : scratch_.view();
    for (int s = 0; s < steps; ++s) {
      sweep_(ctx, direction, a, b, current, other, s == 0 ? guess : Guess::given, order);
      std::swap(current, other);
    }
    if (current.data != x.data) copy<T, T>(ctx, current, x);
  }

  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 3.0 + coefficient_words; }

 private:
  LineSweep<T> sweep_;
  Vector<T> scratch_;
};

template <class T>
using LineX = Line<T, Direction::x>;
template <class T>
using LineY = Line<T, Direction::y>;

}  // namespace

void register_line(SmootherRegistry& registry) {
  registry.add<LineX>("line_x", "line relaxation along x, for cells narrow in x");
  registry.add<LineY>("line_y", "line relaxation along y, for cells narrow in y");
}

}  // namespace stratum
