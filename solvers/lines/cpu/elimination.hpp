#pragma once

// Thomas' algorithm for a batch of W lines on the CPU, one SIMD lane each: memory, elimination in every storage format along x
// and of a tensor operator along y, cyclic lines, and back-substitution. For solvers/lines/cpu/thomas.hpp, which has the
// equations.

#include <algorithm>
#include <type_traits>
#include <utility>

#include <stratum/core/device/simd.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/operators/element_row.hpp>
#include <stratum/solvers/lines/equations.hpp>
#include <stratum/solvers/lines/line_batch.hpp>

namespace stratum::line {

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

/// to[c * W + k] = f at column begin + c of lane k, which has line k of the batch; lanes without a line get `idle`.
template <class T, class F>
STRATUM_INLINE void gather(const F& f, const LineBatch& batch, int begin, int length, T idle, T* to) {
  constexpr int w = batch_width<T>;
  alignas(64) Chunk<T> rows;
  for (int k = 0; k < batch.count; ++k) {
    T* row = rows + k * chunk_length;
    const int j = batch.line(k);
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
  /// At a position with (k, m) on both its sides together: its diagonal entry or sum, and the entry towards the next one,
  /// before interval (k_next, m_next).
  STRATUM_INLINE Pack own(T k, T m) const {
    return by_row_sums ? interval_excess(m, stiffness) : interval_weight(k, m, mass, stiffness);
  }
  STRATUM_INLINE Pack next(T k_next, T m_next) const { return interval_coupling(k_next, m_next, mass, stiffness); }
  STRATUM_INLINE void step(T k, T m, T k_next, T m_next, Pack right) {
    Base::step(own(k, m), next(k_next, m_next), right);
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
  LineBatch batch;

  STRATUM_INLINE Eliminator(const View& view, const LineBatch& some) : a(view), batch(some) {
    for (auto& line : this->lines) line.start();
  }

  STRATUM_INLINE void operator()(int begin, int length, int n, const T* right, const Eliminated<T>& to) {
    constexpr int w = batch_width<T>;
    alignas(64) Chunk<T> lower, centre, upper;
    const auto gather_entries = [&]<int dx>(T idle, T * entries) __attribute__((always_inline)) {
      gather<T>([this](int i, int j) { return a.template coefficient<dx, 0>(i, j); }, batch, begin, length, idle,
                entries);
    };
    gather_entries.template operator()<-1>(T(0), lower);
    gather_entries.template operator()<0>(T(1), centre);
    gather_entries.template operator()<1>(T(0), upper);
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

  STRATUM_INLINE Eliminator(const TensorView<T, reaction>& a, const LineBatch& batch) : kx(a.kx), mx(a.mx) {
    alignas(64) T stiffness[batch_width<T>], mass[batch_width<T>];
    for (int k = 0; k < batch_width<T>; ++k) {
      const int line = batch.line(k);
      stiffness[k] = k < batch.count ? a.with_e(a.ky[line] + a.ky[line + 1], line) : T(1);
      mass[k] = k < batch.count ? 2 * (a.my[line] + a.my[line + 1]) : T(0);
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

  STRATUM_INLINE Eliminator(const ElementView<T, scalar>& a, const LineBatch& batch) {
    alignas(64) T before[batch_width<T>] = {};
    for (int k = 0; k < batch_width<T>; ++k) {
      if (k < batch.count) {
        before[k] = a.template coefficient<-1, 0>(0, batch.line(k));
        continue;
      }
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

}  // namespace stratum::line
