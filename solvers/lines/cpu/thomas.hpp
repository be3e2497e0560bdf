#pragma once

// Line relaxation on the CPU: the Thomas algorithm, SIMD across a batch of W lines, one lane each,
//
//     c_p = u_p / (d_p - l_p c_(p-1)),   z_p = (r_p - l_p z_(p-1)) / (d_p - l_p c_(p-1)),   x_p = z_p - c_p x_(p+1) .
//
// Which body runs when:
//
//     lines       operator                body
//     along x     any                     solve_batch (x_lines.hpp): W lines. Right-hand sides and coefficients of a chunk of
//                                         positions are formed row by row, where memory is contiguous, and turned so that lanes
//                                         are contiguous. Lanes without a line solve d x = 0
//     along y     tensor                  solve_panel: both colours of 2 W columns at once
//                 bands, cells            solve_wide_batch (wide_batches.hpp): whole rows of up to 1024 lines; nine bands at
//                                         4095^2 take 5.9 ns for each unknown, by W lines 15.8
//     along y,    tensor                  EliminateTensorBatch, SubstituteTensorBatch (partitioned_lines.cpp): W lines
//     in chunks   bands, cells            EliminateRows, SubstituteRows: 512 lines, then as above
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
// For smoothers/line_sweep_cpu.hpp and solvers/lines/tridiagonal.cpp.

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include <stratum/solvers/lines/cpu/elimination.hpp>
#include <stratum/solvers/lines/cpu/wide_batches.hpp>
#include <stratum/solvers/lines/cpu/x_lines.hpp>

namespace stratum::line {

// --- panels: y lines of a tensor operator ----------------------------------------------------------------------------------

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

  /// Lane k has line k of the batch, for k = skip .. count - 1.
  STRATUM_INLINE PanelLines(const View& a, const LineBatch& batch, int skip = 0) {
    constexpr int w = batch_width<T>, numbers = sizeof(LinesBeside<T, differences>) / sizeof(T);
    alignas(64) T own[2][w], others[numbers][w];
    for (int k = 0; k < w; ++k) {
      const int i = batch.line(k);
      LinesBeside<T, differences> lane{};
      own[0][k] = 0, own[1][k] = 1;
      if (k >= skip && k < batch.count) {
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
  const LineBatch firsts{Direction::y, start + 1, 2, std::min(w, (end - start) / 2)};
  const LineBatch seconds{Direction::y, start, 2, std::min(w, (end - start + 1) / 2), LineColour::second};
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
  PanelLines<R, is_cyclic, true, View> lines(a, seconds, start < begin ? 1 : 0);
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
  LineBatch batch;
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
  void solve(const LineBatch& batch, const LineScratch<T>& scratch) const {
    using Rhs = LineRhs<direction, coupled, View, T>;
    simd::run_widest(SolveBatch<Rhs, T, is_cyclic>{Rhs{a, b, x}, batch, length(), omega, keep(), y, scratch});
  }
  void solve_first(const LineBatch& batch, const LineScratch<T>& scratch) const {
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
            solve_first({direction, first, 2, (std::min(line + w, end) - first + 1) / 2}, scratch(part));
        else
          solve_first({direction, line, 1, std::min(w, end - line)}, scratch(part));
      }
    }
  }

  /// One line from the old ones beside it.
  void one(int line) const {
    if constexpr (in_panels)
      solve_panel({line, line, line + 1, line + 1, scratch(0)}, Colours::both);
    else
      solve_first({direction, line, 1, 1}, scratch(0));
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
    solve_first({direction, line, 2, count}, scratch);
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
        solve<true>({direction, behind, 2, count, LineColour::second}, scratch);
        behind += 2 * count;
      }
    }
  }
};

}  // namespace stratum::line
