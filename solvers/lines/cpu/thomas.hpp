#pragma once

// Line relaxation on the CPU: the Thomas algorithm, SIMD across a batch of W lines, one lane each,
//
//     c_p = u_p / (d_p - l_p c_(p-1)),   z_p = (r_p - l_p z_(p-1)) / (d_p - l_p c_(p-1)),   x_p = z_p - c_p x_(p+1) .
//
// x lines run in chunks of positions: right-hand sides and coefficients of a chunk are formed row by row, where memory is
// contiguous, and turned so that lanes are contiguous. Lanes without a line solve d x = 0. y lines of a tensor operator take
// both colours of a panel of columns at once (solve_panel), those of stored bands whole rows (solve_wide_batch).
//
// In zebra order the second colour follows the first by one batch, so that what both read is still in the cache: b and x come
// from memory once a sweep. What comes later is asked for: lines that are far apart defeat hardware prefetchers. Threads share
// the lines as follows; every part is then independent of the others.
//
//     | part 0         | part 1         | part 2         |      L  the last batch of the first colour in a part: solved
//      s f s f s L s L | s f s f s L s L | s f s f s f s         first, in all parts
//
// Cyclic lines, along a periodic direction, take the sums of the rows along as second right-hand sides (`is_cyclic`).
//
// For smoothers/line_cpu.hpp and solvers/lines/tridiagonal.cpp.

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include <stratum/core/device/simd.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/operators/element_row.hpp>
#include <stratum/solvers/lines/equations.hpp>

namespace stratum::line {

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
/// y lines with bands. On periodic grids there is one more of either, for `sums` of cyclic lines. Several threads have two
/// more of the former each, for a panel that waits for its second colour.
template <class T>
struct LineScratch {
  T *multipliers, *eliminated, *second, *sums;
  int wide;
  /// Batches are multiples of this long, so that a node has its place in a pack, and with it its bits, for any number of
  /// threads.
  static constexpr int rounded = 16;

  static std::int64_t size(const GridLayout<2>& shape, int threads, StorageFormat format) {
    const int more = shape.has_halo() ? 1 : 0;
    const std::int64_t batches = (3 + more + (threads > 1 ? 2 : 0)) * lane_numbers(std::max(shape.nx, shape.ny));
    if (traits(format).is_separable) return batches;
    // Of one colour.
    const int share = ((shape.nx + 2 * threads - 1) / (2 * threads) + rounded - 1) / rounded * rounded;
    return std::max(batches, (2 + more) * std::int64_t{std::min(widest_batch, share)} * shape.ny);
  }
  /// `is_cyclic`: of cyclic lines.
  LineScratch(T* memory, int n, std::int64_t size, bool is_cyclic = false)
      : multipliers(memory), eliminated(multipliers + lane_numbers(n)), second(eliminated + lane_numbers(n)),
        sums(second + lane_numbers(n)),
        wide(static_cast<int>(std::min<std::int64_t>(widest_batch, size / ((is_cyclic ? 3 : 2) * n))) / rounded *
             rounded) {}

  /// For the panel that waits, with lines of n positions.
  [[nodiscard]] LineScratch waiting(int n, bool has_sums) const {
    LineScratch other = *this;
    other.eliminated = (has_sums ? sums : second) + lane_numbers(n);
    other.second = other.eliminated + lane_numbers(n);
    return other;
  }

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

/// Elimination along a line; `multiplier` is c. `by_row_sums`: the excess a of a row, what the matrix that is left has as the
/// row's sum, goes along beside the pivot,
///
///     a_p = s_p - l_p q_(p-1) ,   d_p = a_p - u_p ,   q_p = a_p / d_p = 1 + c_p ,
///     x_p = x_(p+1) + (z_p - q_p x_(p+1)) ,
///
/// s_p the sum of row p with the entries beyond the line's ends, q_(-1) = 1, and `multiplier` is q. Where cells are stretched
/// (l, u < 0) that adds positive numbers only, and a small row sum is not lost in large entries (Grassmann, Taksar, Heyman,
/// Operations Research 33, 1985).
///
/// `is_cyclic`: of a cyclic line, by row sums. The sums are eliminated like right-hand sides, to `sum`: see CyclicLine.
template <class Pack, class T, bool by_row_sums, bool is_cyclic = false>
struct Elimination {
  Pack multiplier, z, sum;

  STRATUM_INLINE void start() {
    multiplier = by_row_sums ? Pack{} + T(1) : Pack{};
    z = sum = Pack{};
  }
  /// A position with its entry towards the one before, its sum or diagonal entry, and its entry towards the next.
  STRATUM_INLINE void step(Pack lower, Pack own, Pack upper, Pack right) {
    step(multiplier, z, sum, lower, own, upper, right);
  }
  /// On numbers that are no structure, which compilers would not take together to packs.
  STRATUM_INLINE static void step(Pack& multiplier, Pack& z, Pack& sum, Pack lower, Pack own, Pack upper, Pack right) {
    Pack pivot;
    if constexpr (by_row_sums) {
      const Pack excess = own - lower * multiplier;
      pivot = T(1) / (own - upper - lower * multiplier);  // excess - upper, which would be there later
      multiplier = excess * pivot;
    } else {
      pivot = T(1) / (own - lower * multiplier);
      multiplier = upper * pivot;
    }
    z = (right - lower * z) * pivot;
    if constexpr (is_cyclic) sum = (own - lower * sum) * pivot;
  }
};

/// Closes a cyclic line of n unknowns. Elimination leaves  x_p + c_p x_(p+1) + a_p x_(n-1) = z_p  with the sum
/// s_p = 1 + c_p + a_p, and with that
///
///     x_0 = F - (S - 1) x_(n-1) ,   F = sum w_p z_p ,   S = sum w_p s_p ,   w_p = (-c_0) ... (-c_(p-1)) ,   p < n - 1 ,
///     x_(n-1) = (z_(n-1) - c_(n-1) F) / (s_(n-1) - c_(n-1) S) .
///
/// What the others have more than x_(n-1) comes from back-substitution with z_p - s_p x_(n-1), from zero at n - 1 on.
template <class Pack, class T>
struct CyclicLine {
  Pack weight, first, first_sum;

  CyclicLine() {  // not by default member initialisers: nvcc 13.0 crashes on such of packs
    weight = Pack{} + T(1);
    first = first_sum = Pack{};
  }

  /// Position p < n - 1, once it is eliminated.
  STRATUM_INLINE void add(Pack multiplier, Pack z, Pack sum) { add(weight, first, first_sum, multiplier, z, sum); }
  STRATUM_INLINE static void add(Pack& weight, Pack& first, Pack& first_sum, Pack multiplier, Pack z, Pack sum) {
    first += weight * z;
    first_sum += weight * sum;
    weight *= T(1) - multiplier;
  }
  /// x_(n-1)
  STRATUM_INLINE static Pack last(Pack first, Pack first_sum, Pack multiplier, Pack z, Pack sum) {
    const Pack c = multiplier - T(1);
    return (z - c * first) / (sum - c * first_sum);
  }
};

/// Of symmetric lines.
template <class Pack, class T, bool by_row_sums, bool is_cyclic>
struct SymmetricElimination : Elimination<Pack, T, by_row_sums, is_cyclic> {
  using Base = Elimination<Pack, T, by_row_sums, is_cyclic>;
  Pack upper;

  /// Before position 0; `before`: the entry there towards what lies before the line.
  STRATUM_INLINE void start(Pack before) {
    Base::start();
    upper = before;
  }
  STRATUM_INLINE void step(Pack own, Pack next, Pack right) {
    const Pack lower = upper;
    upper = next;
    Base::step(lower, own, next, right);
  }
};

/// Of a tensor operator's line, M its own mass and S its own stiffness (core/operators/tensor_formulas.hpp).
template <class Pack, class T, bool by_row_sums, bool is_cyclic>
struct TensorElimination : SymmetricElimination<Pack, T, by_row_sums, is_cyclic> {
  using Base = SymmetricElimination<Pack, T, by_row_sums, is_cyclic>;
  Pack mass, stiffness;

  /// Behind interval 0 (k, m): what it adds goes to position 0 alone.
  STRATUM_INLINE void start(T k, T m) { Base::start(interval_coupling(k, m, mass, stiffness)); }
  /// A position with (k, m) on both its sides together, before interval (k_next, m_next).
  STRATUM_INLINE void step(T k, T m, T k_next, T m_next, Pack right) {
    Base::step(by_row_sums ? interval_excess(m, stiffness) : interval_weight(k, m, mass, stiffness),
               interval_coupling(k_next, m_next, mass, stiffness), right);
  }
};

/// Where elimination leaves lines, W numbers a position; `sums` of cyclic ones.
template <class T>
struct Eliminated {
  T *multipliers, *z, *sums;
};

/// A batch of lines, which are eliminated position after position and, if cyclic, closed.
template <class R, class Axis, class T, bool is_cyclic>
struct BatchOfLines {
  using Pack = typename R::Pack;
  Axis lines[R::packs];
  CyclicLine<Pack, T> cyclic_lines[is_cyclic ? R::packs : 1];

  BatchOfLines& batch_of_lines() { return *this; }
  /// Pack v at position p of lines of n, where it is eliminated now.
  STRATUM_INLINE void keep(int v, int p, [[maybe_unused]] int n, const Eliminated<T>& to) {
    const std::int64_t at = std::int64_t{p} * batch_width<T> + v * R::width;
    R::pack(to.multipliers + at) = lines[v].multiplier;
    R::pack(to.z + at) = lines[v].z;
    if constexpr (is_cyclic) {
      R::pack(to.sums + at) = lines[v].sum;
      if (p < n - 1) cyclic_lines[v].add(lines[v].multiplier, lines[v].z, lines[v].sum);
    }
  }
  /// The last unknowns of cyclic lines, in pack v; back-substitution gives 0 there.
  STRATUM_INLINE Pack close(int v, int n, const Eliminated<T>& to) const {
    if constexpr (!is_cyclic) {
      return Pack{};
    } else {
      const std::int64_t at = std::int64_t{n - 1} * batch_width<T> + v * R::width;
      R::pack(to.z + at) = R::pack(to.sums + at) = Pack{};
      const auto& line = lines[v];
      return cyclic_lines[v].last(cyclic_lines[v].first, cyclic_lines[v].first_sum, line.multiplier, line.z, line.sum);
    }
  }
};

/// Forward elimination of a chunk of x lines, coefficients from the bands.
template <class R, bool is_cyclic, class View, class T>
struct Eliminator : BatchOfLines<R, Elimination<typename R::Pack, T, is_cyclic, is_cyclic>, T, is_cyclic> {
  using Pack = typename R::Pack;
  View a;
  Batch batch;

  STRATUM_INLINE Eliminator(const View& view, const Batch& some) : a(view), batch(some) {
    for (auto& line : this->lines) line.start();
  }

  STRATUM_INLINE void operator()(int begin, int length, int n, const T* right, const Eliminated<T>& to) {
    constexpr int w = batch_width<T>;
    alignas(64) Chunk<T> lower, centre, upper;
    gather<T>(LineCoefficient<Direction::x, -1, View>{a}, batch, begin, length, T(0), lower);
    gather<T>(LineCoefficient<Direction::x, 0, View>{a}, batch, begin, length, T(1), centre);
    gather<T>(LineCoefficient<Direction::x, 1, View>{a}, batch, begin, length, T(0), upper);
    auto here = this->batch_of_lines();  // in registers
    for (int p = begin, at = 0; p < begin + length; ++p, at += w) {
#pragma GCC unroll 8
      for (int v = 0; v < R::packs; ++v) {
        const int k = at + v * R::width;
        const Pack l = R::pack(lower + k), d = R::pack(centre + k), u = R::pack(upper + k);
        here.lines[v].step(l, is_cyclic ? l + d + u : d, u, R::pack(right + k));
        here.keep(v, p, n, to);
      }
    }
    this->batch_of_lines() = here;
  }
};

/// The same for a tensor operator, whose coefficients on a line are a number of the line times a number of the position,
/// twice: nothing is read but 1-D arrays. The line matrix is symmetric.
template <class R, bool is_cyclic, class T, bool reaction>
struct Eliminator<R, is_cyclic, TensorView<T, reaction>, T>
    : BatchOfLines<R, TensorElimination<typename R::Pack, T, reaction, is_cyclic>, T, is_cyclic> {
  const T *kx, *mx;

  STRATUM_INLINE Eliminator(const TensorView<T, reaction>& a, const Batch& batch) : kx(a.kx), mx(a.mx) {
    alignas(64) T stiffness[batch_width<T>], mass[batch_width<T>];
    for (int k = 0; k < batch_width<T>; ++k) {
      const int line = batch.first + k * batch.stride;
      stiffness[k] = batch.used(k) ? a.with_e(a.ky[line] + a.ky[line + 1], line) : T(1);
      mass[k] = batch.used(k) ? 2 * (a.my[line] + a.my[line + 1]) : T(0);
    }
    for (int v = 0; v < R::packs; ++v) {
      auto& line = this->lines[v];
      line.mass = R::pack(mass + v * R::width), line.stiffness = R::pack(stiffness + v * R::width);
      line.start(kx[0], mx[0]);
    }
  }

  STRATUM_INLINE void operator()(int begin, int length, int n, const T* right, const Eliminated<T>& to) {
    auto here = this->batch_of_lines();
    for (int p = begin; p < begin + length; ++p, right += batch_width<T>) {
      const T k_next = kx[p + 1], m_next = mx[p + 1], k = kx[p] + k_next, m = mx[p] + m_next;
#pragma GCC unroll 8
      for (int v = 0; v < R::packs; ++v) {
        here.lines[v].step(k, m, k_next, m_next, R::pack(right + v * R::width));
        here.keep(v, p, n, to);
      }
    }
    this->batch_of_lines() = here;
  }
};

/// x lines are filled in blocks of this many columns, long enough for hardware prefetchers to follow.
constexpr int block_length = 512;

/// The same for an element-coefficient operator, whose entries come with the right-hand sides, row by row.
template <class R, bool is_cyclic, class T, bool scalar>
struct Eliminator<R, is_cyclic, ElementView<T, scalar>, T>
    : BatchOfLines<R, SymmetricElimination<typename R::Pack, T, true, is_cyclic>, T, is_cyclic> {
  static constexpr int pitch = block_length + 16;
  alignas(64) T sums_with_margin[16 + batch_width<T> * pitch], uppers_with_margin[16 + batch_width<T> * pitch];
  T *const sums = sums_with_margin + 16, *const uppers = uppers_with_margin + 16;  // of a block of columns

  STRATUM_INLINE Eliminator(const ElementView<T, scalar>& a, const Batch& batch) {
    alignas(64) T before[batch_width<T>] = {};
    for (int k = 0; k < batch_width<T>; ++k) {
      if (batch.used(k)) before[k] = a.template coefficient<-1, 0>(0, batch.first + k * batch.stride);
      if (k < batch.count) continue;
      std::fill_n(sums + k * pitch, pitch - 16, T(1));
      std::fill_n(uppers + k * pitch, pitch - 16, T(0));
    }
    for (int v = 0; v < R::packs; ++v) this->lines[v].start(R::pack(before + v * R::width));
  }

  STRATUM_INLINE void operator()(int begin, int length, int n, const T* right, const Eliminated<T>& to) {
    constexpr int w = batch_width<T>;
    alignas(64) Chunk<T> sum, next;
    simd::transpose<w, chunk_length>(sums + begin % block_length, pitch, sum, w);
    simd::transpose<w, chunk_length>(uppers + begin % block_length, pitch, next, w);
    auto here = this->batch_of_lines();
    for (int p = begin, at = 0; p < begin + length; ++p, at += w) {
#pragma GCC unroll 8
      for (int v = 0; v < R::packs; ++v) {
        const int k = at + v * R::width;
        here.lines[v].step(R::pack(sum + k), R::pack(next + k), R::pack(right + k));
        here.keep(v, p, n, to);
      }
    }
    this->batch_of_lines() = here;
  }
};

/// The solution at a position from that behind it.
template <bool by_row_sums, class Pack>
STRATUM_INLINE Pack substituted(Pack multiplier, Pack eliminated, Pack next) {
  const Pack x = eliminated - multiplier * next;
  return by_row_sums ? x + next : x;
}

/// Back-substitution of a chunk; `next` holds the solution at the position behind it, and then at its first. `is_cyclic`: it,
/// but not `solution`, is what cyclic lines have more than in their last unknown, `last`.
template <class R, bool by_row_sums, bool is_cyclic, class T>
STRATUM_INLINE void substitute_back(int length, const Eliminated<T>& from, [[maybe_unused]] const T* last, T* next,
                                    T* solution) {
  constexpr int w = batch_width<T>;
  using Pack = typename R::Pack;
  Pack x[R::packs], own[R::packs];
  for (int v = 0; v < R::packs; ++v) x[v] = R::pack(next + v * R::width);
  if constexpr (is_cyclic)
    for (int v = 0; v < R::packs; ++v) own[v] = R::pack(last + v * R::width);
  for (int n = (length - 1) * w; n >= 0; n -= w) {
#pragma GCC unroll 8
    for (int v = 0; v < R::packs; ++v) {
      const int at = n + v * R::width;
      Pack z = R::pack(from.z + at);
      if constexpr (is_cyclic) z -= R::pack(from.sums + at) * own[v];
      x[v] = substituted<by_row_sums, Pack>(R::pack(from.multipliers + at), z, x[v]);
      R::pack(solution + at) = is_cyclic ? x[v] + own[v] : x[v];
    }
  }
  for (int v = 0; v < R::packs; ++v) R::pack(next + v * R::width) = x[v];
}

inline int last_chunk(int n) { return (n - 1) / chunk_length * chunk_length; }

// --- x lines -------------------------------------------------------------------------------------------------------------

/// Asks for the coefficients around node (i, j), of the line alone or of its coupling, too.
template <bool coupled, class View>
STRATUM_INLINE void prefetch_bands(const View& a, int i, int j) {
  constexpr int bands = std::extent_v<decltype(View::band)>;
  constexpr int first = bands == 9 && !coupled ? 3 : 0, last = coupled ? bands - 1 : bands == 9 ? 5 : 1;
  for (int k = first; k <= last; ++k) __builtin_prefetch(a.band[k] + j * a.pitch + i, 0, 2);
}

/// Right-hand sides of columns begin .. begin + length - 1, row by row, with stored bands. Asks for what the next row reads, as
/// hardware prefetchers lose the many streams where a row's block ends, and for what elimination reads of this one.
template <class R, bool is_cyclic, bool coupled, class View, class T>
STRATUM_INLINE void fill_rows(const LineRhs<Direction::x, coupled, View, T>& rhs, const Batch& batch, int begin,
                              int length, T* rows, std::int64_t pitch, Eliminator<R, is_cyclic, View, T>& /*entries*/) {
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

/// Right-hand sides of lines j, j + 2, ... of a tensor operator. Packs start where rows are aligned, one column before `begin`,
/// and neighbours come out of registers. What the next block reads is asked for. Behind `last_row`, the batch's, it stands for
/// what is missing: those rows may be another thread's.
template <class R, int count, class View, class T>
STRATUM_INLINE void fill_tensor_rows(const LineRhs<Direction::x, true, View, T>& rhs, int j, int last_row, int begin,
                                     int length, T* rows, std::int64_t pitch) {
  using Pack = typename R::Pack;
  constexpr int width = R::width, bytes = width * static_cast<int>(sizeof(T));
  const View& a = rhs.a;
  const int end = last_column(rhs.x) + 1;  // of what is read
  const T *x[count + 1], *b[count];
  for (int r = 0; r <= count; ++r) x[r] = &rhs.x(0, std::min(j - 1 + 2 * r, last_row + 1));
  LinesBeside<T, solves_for_difference<View>> beside[count];
  for (int r = 0; r < count; ++r) {
    const int row = std::min(j + 2 * r, last_row);
    b[r] = &rhs.b(0, row);
    beside[r] = lines_beside<Direction::x, solves_for_difference<View>>(a, row);
  }
  Pack mass[count] = {}, stiffness[count] = {}, to_left[count] = {}, to_right[count] = {};
  for (int i = begin - 1; i - width < begin + length; i += width) {
    const Pack k = R::pack(a.kx + i), m = R::pack(a.mx + i);
    const int first = i - width;
    Pack south = i < end ? R::pack(x[0] + i) : Pack{};
    __builtin_prefetch(x[0] + i + block_length, 0, 2);
#pragma GCC unroll 8
    for (int r = 0; r < count; ++r) {
      const Pack north = i < end ? R::pack(x[r + 1] + i) : Pack{};
      __builtin_prefetch(x[r + 1] + i + block_length, 0, 2);
      __builtin_prefetch(b[r] + i + block_length, 0, 2);
      const Pack next_mass = beside[r].mass(south, north), next_stiffness = beside[r].stiffness(south, north);
      const auto add = interval_product(k, m, simd::one_back<T, bytes>(mass[r], next_mass), next_mass,
                                        simd::one_back<T, bytes>(stiffness[r], next_stiffness), next_stiffness);
      const Pack sum = to_right[r] + simd::one_ahead<T, bytes>(to_left[r], add.left);
      mass[r] = next_mass, stiffness[r] = next_stiffness, to_left[r] = add.left, to_right[r] = add.right;
      south = north;
      if (first >= begin - 1) R::pack(rows + r * pitch + (first - begin)) = R::pack(b[r] + first) - sum;
    }
  }
}

template <class R, bool is_cyclic, class T, bool reaction>
STRATUM_INLINE void fill_rows(const LineRhs<Direction::x, true, TensorView<T, reaction>, T>& rhs, const Batch& batch,
                              int begin, int length, T* rows, std::int64_t pitch,
                              Eliminator<R, is_cyclic, TensorView<T, reaction>, T>& /*entries*/) {
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

/// Right-hand sides of an element-coefficient operator, and its entries.
template <class R, bool is_cyclic, bool coupled, class T, bool scalar>
STRATUM_INLINE void fill_rows(const LineRhs<Direction::x, coupled, ElementView<T, scalar>, T>& rhs, const Batch& batch,
                              int begin, int length, T* rows, std::int64_t pitch,
                              Eliminator<R, is_cyclic, ElementView<T, scalar>, T>& entries) {
  constexpr int bytes = R::width * static_cast<int>(sizeof(T));
  for (int k = 0; k < batch.count; ++k) {
    const int j = batch.first + k * batch.stride;
    CellRow<bytes, T, scalar, true> row(rhs.a, rhs.b, rhs.x, j, batch.stride, begin - 1, coupled);
    for (int n = -1; n < length; n += R::width) {
      const int i = begin + n + R::width;
      R::pack(rows + k * pitch + n) = coupled ? row.next(i) : row.next_of_zero(i);
      R::pack(entries.sums + k * entries.pitch + n) = row.row_excess();
      R::pack(entries.uppers + k * entries.pitch + n) = row.east();
    }
  }
}

/// Solves one batch of x lines of n positions. `is_cyclic`: cyclic lines, whose halo follows, as lines beside them may read it.
template <class R, bool is_cyclic, bool coupled, class View, class T>
STRATUM_INLINE void solve_batch(const LineRhs<Direction::x, coupled, View, T> rhs, const Batch batch, const int n,
                                const T omega, const T keep, const FieldView<T> y, const LineScratch<T> scratch) {
  constexpr int w = batch_width<T>, pitch = block_length + 16;
  alignas(64) T before_rows[16 + w * pitch];
  T* const rows = before_rows + 16;  // a row's column -1 is written, too
  alignas(64) Chunk<T> right;
  Eliminator<R, is_cyclic, View, T> eliminate(rhs.a, batch);
  const Eliminated<T> eliminated{scratch.multipliers, scratch.eliminated, scratch.sums};
  for (int block = 0; block < n; block += block_length) {
    const int end = std::min(n, block + block_length);
    const int length = end - block;
    fill_rows<R, is_cyclic>(rhs, batch, block, length, rows, pitch, eliminate);
    for (int k = 0; k < w; ++k)  // the rest of the last chunk, and lanes without a line
      std::fill(rows + k * pitch + (k < batch.count ? length : 0), rows + k * pitch + last_chunk(length) + chunk_length,
                T(0));
    for (int begin = block; begin < end; begin += chunk_length) {
      simd::transpose<w, chunk_length>(rows + (begin - block), pitch, right, w);
      eliminate(begin, std::min(chunk_length, end - begin), n, right, eliminated);
    }
  }
  alignas(64) T last[w];
  for (int v = 0; v < R::packs; ++v) R::pack(last + v * R::width) = eliminate.close(v, n, eliminated);
  alignas(64) T next[w] = {};
  alignas(64) Chunk<T> solution;
  constexpr bool differences = coupled && solves_for_difference<View>;
  const bool direct = !differences && keep == T(0) && omega == T(1) && batch.count == w;
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
    const Eliminated<T> here{eliminated.multipliers + at, eliminated.z + at, eliminated.sums + at};
    substitute_back<R, is_cyclic || by_row_sums<View>, is_cyclic>(length, here, last, next, solution);
    if (direct && length == chunk_length) {
      simd::transpose<chunk_length, w>(solution, w, &y(begin, batch.first), batch.stride * y.pitch);
      continue;
    }
    simd::transpose<chunk_length, w>(solution, w, rows, pitch);
    for (int k = 0; k < batch.count; ++k) {
      T* row = rows + k * pitch;
      const int j = batch.first + k * batch.stride;
      if constexpr (differences) {
        const T* const near = &rhs.x(begin, j + nearer(rhs.a.ky[j], rhs.a.ky[j + 1]));
        for (int c = 0; c < length; ++c) row[c] += near[c];
      }
      for (int c = 0; c < length; ++c)
        y(begin + c, j) = keep == T(0) ? omega * row[c] : keep * rhs.x(begin + c, j) + omega * row[c];
    }
  }
  if constexpr (is_cyclic)
    for (int k = 0; k < batch.count; ++k) {
      const int j = batch.first + k * batch.stride;
      y(-1, j) = y(n - 1, j);
      y(n, j) = y(0, j);
    }
}

// --- y lines -------------------------------------------------------------------------------------------------------------

/// What lines are given beyond their ends, a number a line: the unknowns of other chunks (solvers/lines/partitioned_lines.hpp).
/// Null: zeros.
template <class T>
struct KnownNeighbours {
  const T *before, *behind;
};

/// A wide batch of y lines, row after row; lane k is column first + stride k.
template <class T, bool by_row_sums, bool is_cyclic>
struct WideBatch {
  int n, w;
  Eliminated<T> rows;
  alignas(64) T start[widest_batch], zeros[widest_batch] = {};
  // Of cyclic lines: what closes them, whose weights make place for the last unknowns.
  alignas(64) T weight[is_cyclic ? widest_batch : 1], first[is_cyclic ? widest_batch : 1],
      first_sum[is_cyclic ? widest_batch : 1];

  const T *before, *behind;  // the lines

  STRATUM_INLINE WideBatch(const LineScratch<T>& scratch, int positions, const KnownNeighbours<T>& ends)
      : n(positions), w(scratch.wide), rows{scratch.multipliers, scratch.multipliers + std::int64_t{w} * n,
                                            scratch.multipliers + 2 * std::int64_t{w} * n} {
    before = ends.before == nullptr ? zeros : ends.before;
    behind = ends.behind == nullptr ? zeros : ends.behind;
    std::fill_n(start, widest_batch, by_row_sums ? T(1) : T(0));
    if constexpr (is_cyclic) {
      std::fill_n(weight, widest_batch, T(1));
      std::fill_n(first, widest_batch, T(0));
      std::fill_n(first_sum, widest_batch, T(0));
    }
  }
  /// A row under elimination, and the one before.
  struct Row {
    const T *multipliers_before, *z_before, *sums_before;
    T *multipliers, *z, *sums;
  };
  STRATUM_INLINE Row row(int j) const {
    const std::int64_t here = std::int64_t{j} * w;
    T *const q = rows.multipliers + here, *const z = rows.z + here, *const s = rows.sums + here;
    return {j == 0 ? start : q - w, j == 0 ? before : z - w, j == 0 ? zeros : s - w, q, z, s};
  }
  /// What cyclic lines take of row j, and of the last row the last unknowns.
  STRATUM_INLINE void add_to_cyclic_lines(int j, int count) {
    if constexpr (is_cyclic) {
      const std::int64_t row = std::int64_t{j} * w;
      T *const q = rows.multipliers + row, *const z = rows.z + row, *const s = rows.sums + row;
      if (j < n - 1) {
#pragma omp simd
        for (int k = 0; k < count; ++k) {
          T f = first[k], f_sum = first_sum[k], product = weight[k];
          CyclicLine<T, T>::add(product, f, f_sum, q[k], z[k], s[k]);
          weight[k] = product, first[k] = f, first_sum[k] = f_sum;
        }
      } else {
#pragma omp simd
        for (int k = 0; k < count; ++k) {
          weight[k] = CyclicLine<T, T>::last(first[k], first_sum[k], q[k], z[k], s[k]);
          z[k] = s[k] = 0;
        }
      }
    }
  }
  /// Back-substitution. In packs, which compilers do not make of every second number: what lies between is written back as it
  /// was, up to the last line, behind which somebody else may write.
  template <class R, int stride, class Rhs>
  STRATUM_INLINE void substitute(const Rhs& rhs, int first_column, int count, T omega, T keep_old,
                                 const FieldView<T>& y) {
    keep_old == T(0) ? substitute<R, stride, false>(rhs.x, first_column, count, omega, keep_old, y)
                     : substitute<R, stride, true>(rhs.x, first_column, count, omega, keep_old, y);
  }
  template <class R, int stride, bool keeps>
  STRATUM_INLINE void substitute(const FieldView<const T>& x, int first_column, int count, T omega, T keep_old,
                                 const FieldView<T>& y) {
    using Pack = typename R::Pack;
    constexpr int width = R::width, bytes = width * static_cast<int>(sizeof(T));
    const int in_packs = count / width * width;
    T* const above = start;  // which elimination is done with
    std::copy_n(behind, count, above);
    for (int j = n - 1; j >= 0; --j) {
      const std::int64_t row = std::int64_t{j} * w;
      const T *const q = rows.multipliers + row, *const z = rows.z + row, *const s = rows.sums + row;
      const T* const old = &x(first_column, j);
      T* const to = &y(first_column, j);
      for (int k = 0; k < in_packs; k += width) {
        Pack right = R::pack(z + k);
        if constexpr (is_cyclic) right -= R::pack(s + k) * R::pack(weight + k);
        Pack value = substituted<by_row_sums, Pack>(R::pack(q + k), right, R::pack(above + k));
        R::pack(above + k) = value;
        if constexpr (is_cyclic) value += R::pack(weight + k);
        const auto relaxed = [&](Pack was) __attribute__((always_inline)) {
          return keeps ? keep_old * was + omega * value : omega * value;
        };
        if constexpr (stride == 1) {
          R::pack(to + k) = relaxed(keeps ? R::pack(old + k) : Pack{});
        } else {
          T* const low = to + 2 * k;
          const Pack between = simd::odds<T, bytes>(R::pack(low), R::pack(low + width));
          const Pack now =
              relaxed(keeps ? simd::evens<T, bytes>(R::pack(old + 2 * k), R::pack(old + 2 * k + width)) : Pack{});
          R::pack(low) = simd::woven_low<T, bytes>(now, between);
          const Pack high = simd::woven_high<T, bytes>(now, between);
          if (k + width < in_packs)
            R::pack(low + width) = high;
          else
            std::memcpy(low + width, &high, (width - 1) * sizeof(T));
        }
      }
      for (int k = in_packs; k < count; ++k) {
        T right = z[k];
        if constexpr (is_cyclic) right -= s[k] * weight[k];
        T value = above[k] = substituted<by_row_sums, T>(q[k], right, above[k]);
        if constexpr (is_cyclic) value += weight[k];
        to[stride * k] = keeps ? keep_old * old[stride * k] + omega * value : omega * value;
      }
    }
    if constexpr (is_cyclic)  // lines beside them may read their halo
      for (int k = 0; k < count; ++k) {
        const int i = first_column + stride * k;
        y(i, -1) = y(i, n - 1);
        y(i, n) = y(i, 0);
      }
  }
};

/// Where bands have coefficient (dx, dy) of node (i, j). The lower half of five lies with the neighbour.
template <int dx, int dy, class View>
STRATUM_INLINE auto place_of(const View& a, int i, int j) {
  constexpr int first = 9 - std::extent_v<decltype(View::band)>;
  if constexpr (band_index(dx, dy) >= first)
    return a.band[band_index(dx, dy) - first] + j * a.pitch + i;
  else
    return a.band[band_index(-dx, -dy) - first] + (j + dy) * a.pitch + i + dx;
}

/// The equations of y lines with bands at nodes (i, j), (i + stride, j), ..., a pack of them: what compilers make of every
/// second number takes twice as long. Of x no column is read but those beside a line.
template <class R, bool coupled, int stride, class View, class T>
struct BandColumns {
  using Pack = typename R::Pack;
  Pack lower, diagonal, upper, right;

  STRATUM_INLINE BandColumns(const LineRhs<Direction::y, coupled, View, T>& rhs, int i, int j)
      : lower(own(place_of<0, -1>(rhs.a, i, j))), diagonal(own(place_of<0, 0>(rhs.a, i, j))),
        upper(own(place_of<0, 1>(rhs.a, i, j))), right(own(&rhs.b(i, j))) {
    if constexpr (coupled) right -= column_sum<-1>(rhs, i, j) + column_sum<1>(rhs, i, j);
  }

 private:
  STRATUM_INLINE static Pack own(const T* from) { return stride == 1 ? R::pack(from) : R::evens(from, 0); }
  template <int dx>
  STRATUM_INLINE static Pack beside(const T* from) {
    return stride == 1 ? R::pack(from + dx) : dx > 0 ? R::odds(from, 0) : R::evens(from + dx, 0);
  }
  /// As StencilSums has it, which is for the device, too, and so for numbers alone.
  template <int dx>
  STRATUM_INLINE static Pack column_sum(const LineRhs<Direction::y, coupled, View, T>& rhs, int i, int j) {
    const T* const x = &rhs.x(i, j);
    return own(place_of<dx, -1>(rhs.a, i, j)) * beside<dx>(x - rhs.x.pitch) +
           own(place_of<dx, 0>(rhs.a, i, j)) * beside<dx>(x) +
           own(place_of<dx, 1>(rhs.a, i, j)) * beside<dx>(x + rhs.x.pitch);
  }
};

/// One wide batch of y lines with bands. Lines that fill no pack make one with lines of the pack before; a few go alone.
template <class R, int stride, bool is_cyclic, bool coupled, class View, class T>
STRATUM_INLINE void solve_wide_batch(const LineRhs<Direction::y, coupled, View, T> rhs, const int first,
                                     const int count, const int n, const T omega, const T keep, const FieldView<T> y,
                                     const LineScratch<T> scratch, const KnownNeighbours<T> ends = {}) {
  using Pack = typename R::Pack;
  constexpr int few = 4;
  const LineCoefficient<Direction::y, -1, View> lower{rhs.a};
  const LineCoefficient<Direction::y, 0, View> centre{rhs.a};
  const LineCoefficient<Direction::y, 1, View> upper{rhs.a};
  WideBatch<T, is_cyclic, is_cyclic> lines(scratch, n, ends);
  const int in_packs = count / R::width * R::width;
  const bool shares = in_packs > 0 && count - in_packs > few;
  for (int j = 0; j < n; ++j) {
    const auto row = lines.row(j);
    const auto eliminate = [&](int k) __attribute__((always_inline)) {
      const BandColumns<R, coupled, stride, View, T> columns(rhs, first + stride * k, j);
      const Pack l = columns.lower, d = columns.diagonal, u = columns.upper;
      Pack c = R::pack(row.multipliers_before + k), z = R::pack(row.z_before + k), sum = Pack{};
      if constexpr (is_cyclic) sum = R::pack(row.sums_before + k);
      Elimination<Pack, T, is_cyclic, is_cyclic>::step(c, z, sum, l, is_cyclic ? l + d + u : d, u, columns.right);
      R::pack(row.multipliers + k) = c;
      R::pack(row.z + k) = z;
      if constexpr (is_cyclic) R::pack(row.sums + k) = sum;
    };
    for (int k = 0; k < in_packs; k += R::width) eliminate(k);
    if (shares) eliminate(count - R::width);
    for (int k = shares ? count : in_packs; k < count; ++k) {
      const int i = first + stride * k;
      const T l = lower(i, j), d = centre(i, j), u = upper(i, j);
      T c = row.multipliers_before[k], z = row.z_before[k], sum = is_cyclic ? row.sums_before[k] : T(0);
      Elimination<T, T, is_cyclic, is_cyclic>::step(c, z, sum, l, is_cyclic ? l + d + u : d, u, rhs(i, j));
      row.multipliers[k] = c;
      row.z[k] = z;
      if constexpr (is_cyclic) row.sums[k] = sum;
    }
    lines.add_to_cyclic_lines(j, count);
  }
  lines.template substitute<R, stride>(rhs, first, count, omega, keep, y);
}

/// A row of numbers from column `start` on, as packs read it: in place, or what there is of columns first .. last in `row`,
/// zeros elsewhere.
template <class T>
struct RowPart {
  int start, first, last;
  bool whole;
  template <int count>
  STRATUM_INLINE const T* operator()(const T* column_0, T (&row)[count]) const {
    if (whole) return column_0 + start;
    for (int n = 0; n < count; ++n) row[n] = start + n >= first && start + n <= last ? column_0[start + n] : T(0);
    return row;
  }
};

/// The equations of y lines of an element-coefficient operator in row j, in packs: of every second column, or of all.
template <class R, bool coupled, int stride, class T, bool scalar>
struct CellColumns {
  using Pack = typename R::Pack;
  static constexpr int width = R::width, bytes = width * static_cast<int>(sizeof(T)), count = (stride + 1) * width + 2;
  const LineRhs<Direction::y, coupled, ElementView<T, scalar>, T>& rhs;
  int j;
  RowPart<T> nodes, cells;
  Pack right, sum, upper;

  /// `start`: the column before the first line of the pack.
  STRATUM_INLINE CellColumns(const LineRhs<Direction::y, coupled, ElementView<T, scalar>, T>& equations, int row,
                             int start)
      : rhs(equations),
        j(row), nodes{start, -1, rhs.b.nx, start + count <= rhs.b.nx + 1}, cells{start, 0, rhs.b.nx,
                                                                                 start >= 0 && nodes.whole} {
    format();
  }

 private:
  /// The columns before the lines, on them and behind them.
  struct Three {
    Pack before, on, behind;
  };
  STRATUM_INLINE Three three(const RowPart<T>& part, const T* column_0) const {
    alignas(64) T row[count];
    const T* const from = part(column_0, row);
    if constexpr (stride == 1) {
      return {R::pack(from), R::pack(from + 1), R::pack(from + 2)};
    } else {
      const Pack low = R::pack(from), high = R::pack(from + width), behind = R::pack(from + 2 * width);
      const Pack evens = simd::evens<T, bytes>(low, high);
      return {evens, simd::odds<T, bytes>(low, high), simd::one_ahead<T, bytes>(evens, behind)};
    }
  }
  STRATUM_INLINE void format() {
    const auto& a = rhs.a;
    const Three p_south = three(cells, a.p + j * a.pitch), p_north = three(cells, a.p + (j + 1) * a.pitch);
    CellPair<Pack> west, east;  // of the interval before the line, and of that behind it
    if constexpr (scalar) {
      const Three rx2 = three(cells, a.rx2);
      const T ry2_south = a.ry2[j], ry2_north = a.ry2[j + 1];
      west.p_south = p_south.on * rx2.on, east.p_south = p_south.behind * rx2.behind;
      west.p_north = p_north.on * rx2.on, east.p_north = p_north.behind * rx2.behind;
      west.q_south = p_south.on * ry2_south, east.q_south = p_south.behind * ry2_south;
      west.q_north = p_north.on * ry2_north, east.q_north = p_north.behind * ry2_north;
    } else {
      west.p_south = p_south.on, east.p_south = p_south.behind;
      west.p_north = p_north.on, east.p_north = p_north.behind;
      const Three q_south = three(cells, a.q + j * a.pitch), q_north = three(cells, a.q + (j + 1) * a.pitch);
      west.q_south = q_south.on, east.q_south = q_south.behind;
      west.q_north = q_north.on, east.q_north = q_north.behind;
    }
    west.s_south = west.s_north = west.m_south = west.m_north = Pack{};
    east.s_south = east.s_north = east.m_south = east.m_north = Pack{};
    west.has_s = east.has_s = !scalar && a.has_s;
    west.has_m = east.has_m = !scalar && a.has_m;
    if (west.has_s) {
      const T* const s = a.s + j * a.others_pitch;
      const Three south = three(cells, s), north = three(cells, s + a.others_pitch);
      west.s_south = south.on, east.s_south = south.behind, west.s_north = north.on, east.s_north = north.behind;
    }
    if (west.has_m) {
      const T* const m = a.m + j * a.others_pitch;
      const Three south = three(cells, m), north = three(cells, m + a.others_pitch);
      west.m_south = south.on, east.m_south = south.behind, west.m_north = north.on, east.m_north = north.behind;
    }
    sum = west.column_excess().right + east.column_excess().left;
    upper = west.coupling_north() + east.coupling_north();
    right = three(nodes, &rhs.b(0, j)).on;
    if constexpr (coupled) {
      const Three south = three(nodes, &rhs.x(0, j - 1)), centre = three(nodes, &rhs.x(0, j)),
                  north = three(nodes, &rhs.x(0, j + 1));
      ColumnOfThree<Pack> none, before, behind;
      none.south = none.centre = none.north = Pack{};
      before.south = south.before, before.centre = centre.before, before.north = north.before;
      behind.south = south.behind, behind.centre = centre.behind, behind.north = north.behind;
      right -= west.product(before, none).right + east.product(none, behind).left;
    }
  }
};

/// The same of an element-coefficient operator, by row sums.
template <class R, int stride, bool is_cyclic, bool coupled, class T, bool scalar>
STRATUM_INLINE void solve_wide_batch(const LineRhs<Direction::y, coupled, ElementView<T, scalar>, T>& rhs,
                                     const int first, const int count, const int n, const T omega, const T keep,
                                     const FieldView<T> y, const LineScratch<T>& scratch,
                                     const KnownNeighbours<T>& ends = {}) {
  using Pack = typename R::Pack;
  WideBatch<T, true, is_cyclic> lines(scratch, n, ends);
  alignas(64) T lower[widest_batch] = {};
  for (int k = 0; k < count; ++k) lower[k] = rhs.a.template coefficient<0, -1>(first + stride * k, 0);
  for (int j = 0; j < n; ++j) {
    const auto row = lines.row(j);
    for (int k = 0; k < count; k += R::width) {
      const CellColumns<R, coupled, stride, T, scalar> columns(rhs, j, first + stride * k - 1);
      Elimination<Pack, T, true, is_cyclic> line{R::pack(row.multipliers_before + k), R::pack(row.z_before + k),
                                                 Pack{}};
      if constexpr (is_cyclic) line.sum = R::pack(row.sums_before + k);
      line.step(R::pack(lower + k), columns.sum, columns.upper, columns.right);
      R::pack(row.multipliers + k) = line.multiplier;
      R::pack(row.z + k) = line.z;
      if constexpr (is_cyclic) R::pack(row.sums + k) = line.sum;
      R::pack(lower + k) = columns.upper;
    }
    lines.add_to_cyclic_lines(j, count);
  }
  lines.template substitute<R, stride>(rhs, first, count, omega, keep, y);
}

/// Lines that are solved side by side, and not every second one: those that nothing couples, of a matrix with nine bands, as
/// TridiagonalSolver has them.
template <bool coupled, class View>
constexpr bool side_by_side = false;
template <class T>
constexpr bool side_by_side<false, NineBandView<T>> = true;

/// Solves one batch of y lines of n positions with bands.
template <class R, bool is_cyclic, bool coupled, class View, class T>
STRATUM_INLINE void solve_batch(const LineRhs<Direction::y, coupled, View, T> rhs, const Batch batch, const int n,
                                const T omega, const T keep, const FieldView<T> y, const LineScratch<T> scratch) {
  if constexpr (side_by_side<coupled, View>)
    if (batch.stride == 1)
      return solve_wide_batch<R, 1, is_cyclic>(rhs, batch.first, batch.count, n, omega, keep, y, scratch);
  solve_wide_batch<R, 2, is_cyclic>(rhs, batch.first, batch.count, n, omega, keep, y, scratch);
}

/// Elimination along one colour of the y lines in a panel, tensor operator by columns, position after position. `goes_on`: what
/// lies beside the line before position 0 is given, as cyclic lines have it and chunks of lines.
template <class R, bool is_cyclic, bool coupled, class View, bool goes_on = is_cyclic>
struct PanelLines
    : BatchOfLines<R,
                   TensorElimination<typename R::Pack, typename View::Number, solves_for_difference<View>, is_cyclic>,
                   typename View::Number, is_cyclic> {
  using T = typename View::Number;
  using Pack = typename R::Pack;
  static constexpr bool differences = solves_for_difference<View>;
  LinesBeside<Pack, differences> beside[R::packs];
  Pack mass[R::packs], stiffness[R::packs], from_before[R::packs];

  STRATUM_INLINE PanelLines(const View& a, const Batch& batch) {
    constexpr int w = batch_width<T>, numbers = sizeof(LinesBeside<T, differences>) / sizeof(T);
    alignas(64) T own[2][w], others[numbers][w];
    for (int k = 0; k < w; ++k) {
      const int i = batch.first + k * batch.stride;
      LinesBeside<T, differences> lane{};
      own[0][k] = 0, own[1][k] = 1;
      if (batch.used(k)) {
        own[0][k] = 2 * (a.mx[i] + a.mx[i + 1]);
        own[1][k] = a.with_e(a.kx[i] + a.kx[i + 1], i);
        lane = lines_beside<Direction::y, differences>(a, i);
      }
      T one[numbers];
      std::memcpy(one, &lane, sizeof(lane));
      for (int n = 0; n < numbers; ++n) others[n][k] = one[n];
    }
    for (int v = 0; v < R::packs; ++v) {
      const int k = v * R::width;
      auto& line = this->lines[v];
      line.mass = R::pack(own[0] + k), line.stiffness = R::pack(own[1] + k);
      line.start(a.ky[0], a.my[0]);
      Pack some[numbers];
      for (int n = 0; n < numbers; ++n) some[n] = R::pack(others[n] + k);
      std::memcpy(&beside[v], some, sizeof(some));
    }
  }

  /// Pack v of the neighbours of position -1.
  STRATUM_INLINE void before(int v, Pack left, Pack right) {
    mass[v] = beside[v].mass(left, right);
    stiffness[v] = beside[v].stiffness(left, right);
  }
  /// At position 0.
  STRATUM_INLINE void start(const View& a, int v, Pack left, Pack right) {
    const Pack mass_before = goes_on ? mass[v] : Pack{}, stiffness_before = goes_on ? stiffness[v] : Pack{};
    before(v, left, right);
    from_before[v] = interval_product(a.ky[0], a.my[0], mass_before, mass[v], stiffness_before, stiffness[v]).right;
  }

  /// The right-hand side of pack v at position j, with the neighbours at the next one.
  STRATUM_INLINE Pack right_side(const View& a, int j, int v, Pack own, Pack left, Pack right) {
    if constexpr (coupled) {
      const T k = a.ky[j + 1], m = a.my[j + 1];
      const Pack next_mass = beside[v].mass(left, right), next_stiffness = beside[v].stiffness(left, right);
      const auto add = interval_product(k, m, mass[v], next_mass, stiffness[v], next_stiffness);
      own -= from_before[v] + add.left;
      from_before[v] = add.right;
      mass[v] = next_mass;
      stiffness[v] = next_stiffness;
    }
    return own;
  }
  STRATUM_INLINE void eliminate(const View& a, int j, int v, Pack own, Pack left, Pack right) {
    const T k = a.ky[j + 1], m = a.my[j + 1];
    this->lines[v].step(a.ky[j] + k, a.my[j] + m, k, m, right_side(a, j, v, own, left, right));
  }
};

/// Rows of a panel, 2 W columns from `start` on, of which lowest .. highest may be read: in place where these are all, else
/// copies with zeros elsewhere.
template <class T>
class PanelRows {
 public:
  static constexpr int columns = 2 * batch_width<T>;

  STRATUM_INLINE PanelRows(int start, int lowest, int highest)
      : start_(start), from_(std::max(lowest - start, 0)), count_(std::min(highest - start + 1, columns) - from_),
        has_behind_(start + columns <= highest) {}

  [[nodiscard]] STRATUM_INLINE const T* row(const FieldView<const T>& x, int j) {
    for (int i = 0; i < columns; i += cache_line<T>)
      __builtin_prefetch(&x(start_ + i, std::min(j + chunk_length, x.ny)));
    if (count_ == columns) return &x(start_, j);
    std::copy_n(&x(start_ + from_, j), count_, copy_ + from_);
    return copy_;
  }
  /// The column after the panel.
  [[nodiscard]] STRATUM_INLINE T behind(const FieldView<const T>& x, int j) const {
    return has_behind_ ? x(start_ + columns, j) : T(0);
  }

 private:
  int start_, from_, count_;
  bool has_behind_;
  alignas(64) T copy_[columns] = {};
};

/// Asks for what later panels read while one is solved. Long pieces of rows, which hardware prefetchers continue: those of a
/// group of panels together, each panel of the group before asking for its share of the rows. Longer lines have smaller
/// groups, as these have to stay in a cache.
template <class T>
struct PanelsAhead {
  int panels, share, begin, end;  // panels of a group; columns of the next one

  STRATUM_INLINE PanelsAhead(int start, int last_column, int rows) {
    constexpr int panel = 2 * batch_width<T>;
    panels = rows <= 1024 ? 4 : 2;
    const int index = (start + 1) / panel;  // panels start at column -1 or 0
    share = index % panels;
    begin = start + (panels - share) * panel;
    end = std::min(begin + panels * panel, last_column);
  }
  /// Quarters from .. to - 1 of row j.
  STRATUM_INLINE void prefetch(const FieldView<const T>& x, int j, int from, int to) const {
    if (j % panels != share) return;
    const int quarter = panels * batch_width<T> / 2;
    for (int i = begin + from * quarter; i < std::min(end, begin + to * quarter); i += cache_line<T>)
      __builtin_prefetch(&x(i, j), 0, 2);
  }
};

/// What all panels of a sweep have in common: y = (1 - omega) x + omega solution, y the same as x unless `simultaneous`.
/// `from_zero`: x stands for zeros, whatever it holds; not where omega is not one, `simultaneous` or cyclic lines.
template <class View, class T>
struct PanelSweep {
  View a;
  FieldView<const T> b, x;
  FieldView<T> y;
  T omega;
  bool from_zero, simultaneous;
};

/// 2 W columns from `start` on, of which begin .. end - 1 are solved; begin - 1 and end are the halo or solved already.
template <class T>
struct Panel {
  int start, begin, end;
  int share_end;  // of the columns that the thread goes on with
  LineScratch<T> scratch;
  /// The line before the panel, where x does not have its solution yet, by position W apart.
  const T* line_before = nullptr;
};

enum class Colours { first, second, both };

/// Both colours of the y lines in a panel, tensor operator: lane k of the second colour is column start + 2 k, lane k of the
/// first column start + 2 k + 1. Everything on the left of the panel is solved before the second colour. Rows are taken apart
/// into the two colours when they are first read and put together once, when both are solved; all four passes ask for later
/// panels, as only so many requests can be under way. The first colour alone leaves its solution and the second's right-hand
/// sides in the panel's memory and x as it is; the second alone goes on from there. `damped`: omega may be other than one,
/// or the sweep simultaneous. `is_cyclic`: cyclic lines. Their halo is not read.
template <class R, bool is_cyclic, bool from_zero, bool damped, class View, class T>
STRATUM_INLINE void solve_panel(const PanelSweep<View, T>& sweep, const Panel<T>& panel, const Colours colours) {
  const int start = panel.start, begin = panel.begin, end = panel.end;
  const LineScratch<T>& scratch = panel.scratch;
  const View a = along<Direction::y>(sweep.a);
  const FieldView<const T> b = sweep.b, x = sweep.x;
  const FieldView<T> y = sweep.y;
  const T omega = sweep.omega, keep = T(1) - omega;
  const bool simultaneous = damped && sweep.simultaneous;
  constexpr bool differences = solves_for_difference<View>;
  using Pack = typename R::Pack;
  constexpr int w = batch_width<T>, width = R::width, packs = R::packs;
  constexpr int bytes = width * static_cast<int>(sizeof(T));
  const int n = x.ny, next_panel = start + 2 * w;
  const bool whole = start >= begin && next_panel <= end;  // all columns are solved
  const int own_begin = std::max(start, begin) - start, own_end = std::min(end, next_panel) - start;
  const PanelsAhead<T> ahead(start, panel.share_end, n);
  const Batch firsts{start + 1, 2, std::min(w, (end - start) / 2)};
  const Batch seconds{start, 2, std::min(w, (end - start + 1) / 2), start < begin ? 1 : 0};
  T *const multipliers = scratch.multipliers, *const first = scratch.eliminated, *const second = scratch.second;
  T* const sums = scratch.sums;
  PanelRows<T> rows_of_x(start, begin - 1, end), rows_of_b(start, std::max(begin - 1, 0), std::min(end, x.nx - 1));
  alignas(64) T solved[2 * w];
  const auto row_at = [n](int j) { return !is_cyclic ? j : j < 0 ? n - 1 : j < n ? j : 0; };
  const auto back = [&](int j, int v, const T* z, Pack behind, Pack last) __attribute__((always_inline)) {
    const std::int64_t at = std::int64_t{j} * w + v * width;
    Pack right = R::pack(z + at);
    if constexpr (is_cyclic) right -= R::pack(sums + at) * last;
    return substituted < is_cyclic || by_row_sums<View>, Pack > (R::pack(multipliers + at), right, behind);
  };
  if (colours != Colours::second && firsts.count > 0) {
    PanelLines<R, is_cyclic, !from_zero, View> lines(a, firsts);
    const Eliminated<T> to_first{multipliers, first, sums};
    // The columns on the left of pack v of the first colour and on its right.
    Pack left[packs + 1];
    const auto take_second = [&](int j) __attribute__((always_inline)) {
      const T* from = rows_of_x.row(x, row_at(j));
#pragma GCC unroll 8
      for (int v = 0; v < packs; ++v) left[v] = R::evens(from, v);
      left[packs] = simd::filled<T, bytes>(rows_of_x.behind(x, row_at(j)));
    };
    if constexpr (is_cyclic) {
      take_second(-1);
      for (int v = 0; v < packs; ++v) lines.before(v, left[v], simd::one_ahead<T, bytes>(left[v], left[v + 1]));
    }
    if constexpr (!from_zero) {
      take_second(0);
      for (int v = 0; v < packs; ++v) lines.start(a, v, left[v], simd::one_ahead<T, bytes>(left[v], left[v + 1]));
    }
    for (int j = 0; j < n; ++j) {
      const T* from = rows_of_b.row(b, j);
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
        lines.keep(v, j, n, to_first);
      }
    }
    Pack next[packs] = {}, last[packs];
    for (int v = 0; v < packs; ++v) last[v] = lines.close(v, n, to_first);
    for (int j = n - 1; j >= 0; --j) {
      ahead.prefetch(b, j, 3, 4);
      if constexpr (differences && !from_zero) take_second(j);
#pragma GCC unroll 8
      for (int v = 0; v < packs; ++v) {
        const std::int64_t at = std::int64_t{j} * w + v * width;
        next[v] = back(j, v, first, next[v], last[v]);
        Pack odd = is_cyclic ? next[v] + last[v] : next[v];
        if constexpr (differences && !from_zero)
          odd += lines.beside[v].near(left[v], simd::one_ahead<T, bytes>(left[v], left[v + 1]));
        R::pack(first + at) = damped ? omega * odd : odd;
      }
      if constexpr (damped) {
        const T* old = rows_of_x.row(x, j);
        for (int v = 0; v < packs; ++v) R::pack(first + std::int64_t{j} * w + v * width) += keep * R::odds(old, v);
      }
    }
  } else if (colours != Colours::second) {  // one line
    for (int j = 0; j < n; ++j) second[std::int64_t{j} * w] = b(start, j);
  }
  if (colours != Colours::second) std::fill_n(first + std::int64_t{n} * w, w, T(0));  // beyond the lines
  if (colours == Colours::first) return;
  if (firsts.count < seconds.count)  // the second colour ends at column end, which somebody else solved
    for (int j = 0; j < n; ++j) first[std::int64_t{j} * w + firsts.count] = x(end, j);
  PanelLines<R, is_cyclic, true, View> lines(a, seconds);
  const Eliminated<T> to_second{multipliers, second, sums};
  // The columns on the left of the second colour: the first colour's, and the one before the panel.
  Pack before[packs + 1] = {};
  const auto take_first = [&](int position) __attribute__((always_inline)) {
    const int j = row_at(position);
    before[0] = simd::filled<T, bytes>(start < begin                  ? T(0)
                                       : panel.line_before != nullptr ? panel.line_before[std::int64_t{j} * w]
                                                                      : x(start - 1, j));
    if (simultaneous) {
      const T* old = rows_of_x.row(x, j);
      for (int v = 0; v < packs; ++v) before[v + 1] = R::odds(old, v);
      return;
    }
#pragma GCC unroll 8
    for (int v = 0; v < packs; ++v) before[v + 1] = R::pack(first + std::int64_t{j} * w + v * width);
  };
  if constexpr (is_cyclic) {
    take_first(-1);
    for (int v = 0; v < packs; ++v) lines.before(v, simd::one_back<T, bytes>(before[v], before[v + 1]), before[v + 1]);
  }
  take_first(0);
  for (int v = 0; v < packs; ++v) lines.start(a, v, simd::one_back<T, bytes>(before[v], before[v + 1]), before[v + 1]);
  for (int j = 0; j < n; ++j) {
    ahead.prefetch(x, j, 0, 3);
    take_first(j + 1);
#pragma GCC unroll 8
    for (int v = 0; v < packs; ++v) {
      const std::int64_t at = std::int64_t{j} * w + v * width;
      lines.eliminate(a, j, v, R::pack(second + at), simd::one_back<T, bytes>(before[v], before[v + 1]), before[v + 1]);
      lines.keep(v, j, n, to_second);
    }
  }
  Pack next[packs] = {}, last[packs];
  for (int v = 0; v < packs; ++v) last[v] = lines.close(v, n, to_second);
  for (int j = n - 1; j >= 0; --j) {
    ahead.prefetch(x, j, 3, 4);
    if constexpr (differences) take_first(j);
    T* const to = whole ? &y(start, j) : solved;
    const T* old = damped ? rows_of_x.row(x, j) : to;
#pragma GCC unroll 8
    for (int v = 0; v < packs; ++v) {
      const std::int64_t at = std::int64_t{j} * w + v * width;
      next[v] = back(j, v, second, next[v], last[v]);
      const Pack odd = R::pack(first + at);
      Pack even = is_cyclic ? next[v] + last[v] : next[v];
      if constexpr (differences)
        even += lines.beside[v].near(simd::one_back<T, bytes>(before[v], before[v + 1]), before[v + 1]);
      if constexpr (damped) even = omega * even;
      if constexpr (damped) even += keep * R::evens(old, v);
      R::pack(to + 2 * v * width) = simd::woven_low<T, bytes>(even, odd);
      R::pack(to + (2 * v + 1) * width) = simd::woven_high<T, bytes>(even, odd);
    }
    if (!whole) std::copy(solved + own_begin, solved + own_end, &y(start + own_begin, j));
  }
}

// --- for the registers of this machine ---------------------------------------------------------------------------------

template <class Rhs, class T, bool is_cyclic = false>
struct SolveBatch {
  Rhs rhs;
  Batch batch;
  int n;
  T omega, keep;
  FieldView<T> y;
  LineScratch<T> scratch;
  template <int bytes>
  STRATUM_INLINE void run() const {
    solve_batch<Registers<T, bytes>, is_cyclic>(rhs, batch, n, omega, keep, y, scratch);
  }
};

template <class View, class T, bool is_cyclic = false>
struct SolvePanel {
  PanelSweep<View, T> sweep;
  Panel<T> panel;
  Colours colours;
  template <int bytes>
  STRATUM_INLINE void run() const {
    if (is_cyclic || sweep.simultaneous || sweep.omega != T(1)) return solve<bytes, false, true>();
    if constexpr (!is_cyclic) sweep.from_zero ? solve<bytes, true, false>() : solve<bytes, false, false>();
  }

 private:
  template <int bytes, bool from_zero, bool damped>
  STRATUM_INLINE void solve() const {
    solve_panel<Registers<T, bytes>, is_cyclic, from_zero, damped>(sweep, panel, colours);
  }
};

// --- sweeps --------------------------------------------------------------------------------------------------------------

/// `is_cyclic`: lines are cyclic; from a given x.
template <Direction direction, class View, class T, bool is_cyclic = false>
struct Sweep {
  View a;
  FieldView<const T> b, x;
  FieldView<T> y;
  T omega;
  bool from_zero;
  int threads;
  FieldView<T> memory;  // a row a thread

  [[nodiscard]] int lines() const { return direction == Direction::x ? y.ny : y.nx; }
  [[nodiscard]] int length() const { return direction == Direction::x ? y.nx : y.ny; }
  [[nodiscard]] T keep() const { return from_zero ? T(0) : T(1) - omega; }
  /// Threads that have something to do for a number of batches. The team is all threads: libgomp ends those that a smaller team
  /// leaves over, and makes them anew for the next larger one.
  [[nodiscard]] int team(int batches) const {
    return y.nodes() > serial_limit ? std::max(1, std::min({threads, memory.ny, batches})) : 1;
  }
  [[nodiscard]] LineScratch<T> scratch(int part) const {
    return {&memory(-1, part), length(), memory.nx, is_cyclic};  // column -1 is where rows are aligned
  }
  [[nodiscard]] int lanes() const {
    return direction == Direction::y && has_bands<View> ? scratch(0).wide : batch_width<T>;
  }
  template <bool coupled>
  void solve(const Batch& batch, const LineScratch<T>& scratch) const {
    using Rhs = LineRhs<direction, coupled, View, T>;
    simd::run_widest(SolveBatch<Rhs, T, is_cyclic>{Rhs{a, b, x}, batch, length(), omega, keep(), y, scratch});
  }
  void solve_first(const Batch& batch, const LineScratch<T>& scratch) const {
    if constexpr (!is_cyclic)
      if (from_zero) return solve<false>(batch, scratch);
    solve<true>(batch, scratch);
  }

  /// All lines from the old x.
  void simultaneous() const {
    const int w = in_panels ? panel_lines : by_twos() ? 2 * lanes() : lanes();
    const int batches = (lines() + w - 1) / w, parts = team(batches);
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
      const auto share = [&](int p) { return static_cast<int>(std::int64_t{batches} * p / parts); };
      const int begin = share(part) * w, end = std::min(share(part + 1) * w, lines());
      for (int line = begin; line < end; line += w) {
        if constexpr (in_panels)
          solve_panel({line, begin, end, end, scratch(part)}, Colours::both, true);
        else if (by_twos())
          for (int first = line; first < std::min(line + 2, end); ++first)
            solve_first({first, 2, (std::min(line + w, end) - first + 1) / 2}, scratch(part));
        else
          solve_first({line, 1, std::min(w, end - line)}, scratch(part));
      }
    }
  }

  /// One line from the old ones beside it.
  void one(int line) const {
    if constexpr (in_panels)
      solve_panel({line, line, line + 1, line + 1, scratch(0)}, Colours::both);
    else
      solve_first({line, 1, 1}, scratch(0));
  }

  /// Of lines lowest .. end - 1 those of the parity of `first`, 0 or 1, and then the others; x and y are the same.
  void zebra(int first, int lowest, int end) const {
    const int start = first - 1;  // of the first panel: its lane 0 of the second colour
    const int panels = (end - start + panel_lines - 1) / panel_lines, parts = team(panels);
    const auto begin = [&](int p) { return start + static_cast<int>(std::int64_t{panels} * p / parts) * panel_lines; };
#pragma omp parallel num_threads(threads) if (parts > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < parts - 1; ++part) {
        const int next = begin(part + 1);
        if constexpr (in_panels)
          solve_panel({next - panel_lines, lowest, end, next, waiting(part)}, Colours::first);
        else
          solve_colour(last_batch(begin(part), next), next, lanes(), scratch(part));
      }
#pragma omp for schedule(static, 1) nowait
      for (int part = 0; part < parts; ++part) {
        const bool is_last = part == parts - 1;
        const int next = is_last ? end : begin(part + 1);
        if constexpr (in_panels)
          solve_panels(begin(part), next, lowest, end, part, !is_last);
        else
          solve_batches(first, std::max(begin(part), lowest), is_last ? end : last_batch(begin(part), next),
                        is_last ? end : next - 1, scratch(part));
      }
    }
  }

 private:
  static constexpr bool in_panels = direction == Direction::y && !has_bands<View>;
  static constexpr int panel_lines = 2 * batch_width<T>;
  /// Batches of every second line, where all are solved at once.
  [[nodiscard]] bool by_twos() const {
    return direction == Direction::y && has_bands<View> && !(from_zero && side_by_side<false, View>);
  }

  [[nodiscard]] LineScratch<T> waiting(int part) const { return scratch(part).waiting(length(), is_cyclic); }

  void solve_panel(const Panel<T>& panel, Colours colours, bool all_from_old = false) const {
    simd::run_widest(SolvePanel<View, T, is_cyclic>{{a, b, x, y, omega, from_zero, all_from_old}, panel, colours});
  }

  /// The panels from `start` to `next`; `waits`: the first colour of the last one is solved. So it is in every part but the
  /// last, and with it the line before a part.
  void solve_panels(int start, int next, int lowest, int end, int part, bool waits) const {
    const T* line_before = part > 0 ? waiting(part - 1).eliminated + batch_width<T> - 1 : nullptr;
    for (; start < next; start += panel_lines) {
      const bool second = waits && start + panel_lines == next;
      solve_panel({start, lowest, end, next, second ? waiting(part) : scratch(part), line_before},
                  second ? Colours::second : Colours::both);
      line_before = nullptr;
    }
  }

  /// The first line of the last batch of the first colour in a part.
  [[nodiscard]] int last_batch(int begin, int next) const {
    const int batch = 2 * lanes();
    return begin + (next - begin - 1) / batch * batch + 1;
  }
  /// Every second line from `line` to `end` - 1, a batch at most. Returns the first line that is left.
  int solve_colour(int line, int end, int most, const LineScratch<T>& scratch) const {
    const int count = std::min(most, (end - line + 1) / 2);
    solve_first({line, 2, count}, scratch);
    return line + 2 * count;
  }

  /// Lines begin .. end - 1, the first colour up to first_boundary, the second as soon as both its neighbours are solved.
  void solve_batches(int first, int begin, int first_boundary, int end, const LineScratch<T>& scratch) const {
    const int w = lanes();
    const auto next_of = [&](int line, int colour) { return line + ((line ^ colour) & 1); };
    int next = next_of(begin, first), behind = next_of(begin, first + 1);
    while (next < first_boundary || behind < end) {
      if (next < first_boundary) next = solve_colour(next, first_boundary, w, scratch);
      const int ready = next < first_boundary ? next - 1 : end;
      while (behind < ready) {
        const int count = std::min(w, (ready - behind + 1) / 2);
        solve<true>({behind, 2, count}, scratch);
        behind += 2 * count;
      }
    }
  }
};

}  // namespace stratum::line
