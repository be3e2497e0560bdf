#pragma once

// The rows of the lines of a group (smoothers/patches/line_plan.hpp) in excess form, and their elimination: node by node for a
// GPU, and for all lines of a group beside each other on a CPU. Of smoothers/patches/patch_lines.cpp, which has what is
// computed.

#include <vector>

#include <stratum/core/field/for_each_node.hpp>
#include <stratum/smoothers/patches/line_plan.hpp>
#include <stratum/smoothers/patches/line_thread.hpp>

namespace stratum::group_lines {

inline constexpr int wide = PatchLinePlan::lines_of_group;

/// Row k of a line, in excess form.
template <class T>
struct LineRow {
  T lower = 0, upper = 0, excess = 0, rhs = 0;
  bool fixed = false;
};

template <class T>
struct LineRows : LineNumbers<T> {
  using LineNumbers<T>::a;
  using LineNumbers<T>::b;
  using LineNumbers<T>::x;

  /// What a patch gives to the row of a node: couplings to the nodes before and after it in memory, in x or y.
  struct Terms {
    T before, after, excess, rhs;
  };
  template <bool along_x>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Terms terms(int node, int pitch) const {
    const auto r = a.row(node, pitch);
    const T before = along_x ? r.to[1][0] : r.to[0][1], after = along_x ? r.to[1][2] : r.to[2][1];
    const T corners = (r.to[0][0] + r.to[0][2]) + (r.to[2][0] + r.to[2][2]);
    const T sides = along_x ? r.to[0][1] + r.to[2][1] : r.to[1][0] + r.to[1][2];
    return {-before, -after, r.excess - (corners + sides), b[node] - a.product(r, x, node, pitch)};
  }
  /// Of node k of a line.
  STRATUM_HOST_DEVICE STRATUM_INLINE void add(const PatchLane& lane, int k, int line, LineRow<T>& row) const {
    const int node = lane.first + k * lane.along + line * lane.across;
    row.fixed = row.fixed || a.excess[node] == fixed_row<T>;
    const Terms t =
        lane.along == 1 || lane.along == -1 ? terms<true>(node, lane.pitch) : terms<false>(node, lane.pitch);
    row.excess += t.excess;
    row.rhs += t.rhs;
    row.upper += lane.along > 0 ? t.after : t.before;
    row.lower += lane.along > 0 ? t.before : t.after;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void add(const PatchSegment& segment, int k, int line, LineRow<T>& row) const {
    add(segment.lane[0], k, line, row);
    if (segment.lanes > 1) add(segment.lane[1], k, line, row);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void correct(const PatchSegment& segment, int k, int line, T d) const {
    for (int m = 0; m < segment.lanes; ++m) {
      const PatchLane& lane = segment.lane[m];
      x[lane.first + k * lane.along + line * lane.across] += d;
    }
  }
};

/// Lines of a group: nodes 0 .. nodes - 1.
template <class T>
struct GroupLines {
  LineRows<T> numbers;
  const PatchSegment* segments;
  PatchLineGroup group;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int nodes() const { return group.cells + (group.cyclic ? 0 : 1); }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int line(int m) const { return group.first_line + m * group.step; }
  /// Segment of node k: the last one that begins there or before.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int segment_of(int k, int from) const {
    int s = from;
    while (s + 1 < group.segments_end && segments[s + 1].start <= k) ++s;
    return s;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int segment_before(int s) const {
    return s > group.segments_begin ? s - 1 : group.cyclic ? group.segments_end - 1 : -1;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE LineRow<T> row(int k, int s, int line) const {
    LineRow<T> row;
    const PatchSegment& segment = segments[s];
    const int at = k - segment.start;
    const int before = at == 0 ? segment_before(s) : -1;
    if (before >= 0) numbers.add(segments[before], segments[before].cells, line, row);
    numbers.add(segment, at, line, row);
    row.fixed = row.fixed || (group.first_fixed && k == 0) || (group.last_fixed && k == nodes() - 1);
    if (row.fixed) {
      row.lower = row.upper = row.rhs = 0;
      row.excess = 1;
    }
    return row;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void correct(int k, int s, int line, T d) const {
    const PatchSegment& segment = segments[s];
    const int at = k - segment.start;
    const int before = at == 0 ? segment_before(s) : -1;
    if (before >= 0) numbers.correct(segments[before], segments[before].cells, line, d);
    numbers.correct(segment, at, line, d);
  }
};

/// The elimination of a chunk, row after row.
template <class T>
struct Elimination {
  // To be added to the row of the chunk's first node, whose coupling to the node after those eliminated is `upper`.
  T upper = 0, excess = 0, rhs = 0;
  // Of the last eliminated node, over its pivot.
  T excess_quotient = 0, rhs_quotient = 0, upper_quotient = 0, first_quotient = 0;

  STRATUM_HOST_DEVICE STRATUM_INLINE void begin(const LineRow<T>& first) { upper = first.upper; }
  STRATUM_HOST_DEVICE STRATUM_INLINE void next(const LineRow<T>& row, bool second) {
    const T e = second ? row.excess : row.excess + row.lower * excess_quotient;
    const T r = second ? row.rhs : row.rhs + row.lower * rhs_quotient;
    const T w = second ? row.lower : row.lower * first_quotient;
    const T reciprocal = T(1) / (e + row.upper + w);
    excess_quotient = e * reciprocal;
    rhs_quotient = r * reciprocal;
    upper_quotient = row.upper * reciprocal;
    first_quotient = w * reciprocal;
    excess += upper * excess_quotient;
    rhs += upper * rhs_quotient;
    upper *= upper_quotient;
  }
};

/// Rows of a node of all lines of a group on the CPU. Elimination leaves r'/p, u/p and w/p in the places of rhs, upper and
/// lower.
template <class T>
struct WideRow {
  T lower[wide], upper[wide], excess[wide], rhs[wide];
};

/// Adds what the patch of a lane gives to nodes 0 .. cells of its segment; node k is rows[k * step].
template <class T, bool along_x>
STRATUM_SIMD_CLONES void add_lane(const LineRows<T> numbers, const PatchLane lane, const PatchLineGroup& group,
                                  int cells, WideRow<T>* rows, WideRow<T>* last, T* memory) {
  const bool forward = lane.along > 0;
  const int first = forward ? lane.first : lane.first + cells * lane.along, n = cells + 1;
  const auto row_of = [&](int i) {
    return (forward ? i : cells - i) == cells ? last : rows + (forward ? i : cells - i);
  };
  if constexpr (along_x) {
    T *before = memory, *after = memory + n, *excess = memory + 2 * n, *rhs = memory + 3 * n;
    for (int m = 0; m < group.lines; ++m) {
      const int begin = first + (group.first_line + m * group.step) * lane.across;
#pragma omp simd
      for (int i = 0; i < n; ++i) {
        const auto t = numbers.template terms<true>(begin + i, lane.pitch);
        before[i] = t.before;
        after[i] = t.after;
        excess[i] = t.excess;
        rhs[i] = t.rhs;
      }
      const T *lower = forward ? before : after, *upper = forward ? after : before;
      for (int i = 0; i < n; ++i) {
        WideRow<T>& row = *row_of(i);
        row.lower[m] += lower[i];
        row.upper[m] += upper[i];
        row.excess[m] += excess[i];
        row.rhs[m] += rhs[i];
      }
    }
  } else {
    const int step = group.step * lane.across;
    for (int i = 0; i < n; ++i) {
      WideRow<T>& row = *row_of(i);
      T *lower = forward ? row.lower : row.upper, *upper = forward ? row.upper : row.lower;
      const int begin = first + i * lane.pitch + group.first_line * lane.across;
      const auto add = [&](int m, int node) __attribute__((always_inline)) {
        const auto t = numbers.template terms<false>(node, lane.pitch);
        lower[m] += t.before;
        upper[m] += t.after;
        row.excess[m] += t.excess;
        row.rhs[m] += t.rhs;
      };
      // With distances that the compiler knows.
      if (step == 2 && group.lines == wide) {
#pragma omp simd
        for (int m = 0; m < wide; ++m) add(m, begin + 2 * m);
      } else if (step == -2 && group.lines == wide) {
#pragma omp simd
        for (int m = 0; m < wide; ++m) add(m, begin - 2 * m);
      } else {
        for (int m = 0; m < group.lines; ++m) add(m, begin + m * step);
      }
    }
  }
}

/// The corrections of all lines, rows[k].rhs.
template <class T>
STRATUM_SIMD_CLONES void eliminate(WideRow<T>* rows, int nodes, const PatchLineGroup& group) {
  // Fixed nodes, which may have the sum of several such numbers.
  constexpr T fixed_from = fixed_row<T> / 4;
  T upper[wide], excess[wide], rhs[wide];           // of the first node
  T of_excess[wide], of_rhs[wide], of_first[wide];  // of the latest node, over its pivot
  const auto forced = [&](int k) { return (group.first_fixed && k == 0) || (group.last_fixed && k == nodes - 1); };
  const auto fix = [&](int k) {
    WideRow<T>& row = rows[k];
    const bool all = forced(k);
#pragma omp simd
    for (int m = 0; m < wide; ++m) {
      const bool fixed = all || m >= group.lines || row.excess[m] >= fixed_from;
      row.excess[m] = fixed ? T(1) : row.excess[m];
      row.upper[m] = fixed ? T(0) : row.upper[m];
      row.lower[m] = fixed ? T(0) : row.lower[m];
      row.rhs[m] = fixed ? T(0) : row.rhs[m];
    }
  };
  fix(0);
  for (int m = 0; m < wide; ++m) {
    upper[m] = rows[0].upper[m];
    excess[m] = rows[0].excess[m];
    rhs[m] = rows[0].rhs[m];
    of_excess[m] = of_rhs[m] = 0;
    of_first[m] = 1;
  }
  for (int k = 1; k < nodes; ++k) {
    fix(k);
    WideRow<T>& row = rows[k];
#pragma omp simd
    for (int m = 0; m < wide; ++m) {
      const T e = row.excess[m] + row.lower[m] * of_excess[m], r = row.rhs[m] + row.lower[m] * of_rhs[m],
              w = row.lower[m] * of_first[m], reciprocal = T(1) / (e + row.upper[m] + w);
      of_excess[m] = e * reciprocal;
      of_rhs[m] = r * reciprocal;
      of_first[m] = w * reciprocal;
      row.rhs[m] = of_rhs[m];
      row.lower[m] = of_first[m];
      row.upper[m] *= reciprocal;
      excess[m] += upper[m] * of_excess[m];
      rhs[m] += upper[m] * of_rhs[m];
      upper[m] *= row.upper[m];
    }
  }
  T d[wide], next[wide];
  for (int m = 0; m < wide; ++m) {
    if (group.cyclic && nodes > 1) {
      excess[m] += rows[0].lower[m] * of_excess[m];
      rhs[m] += rows[0].lower[m] * of_rhs[m];
    }
    d[m] = rhs[m] / excess[m];
    next[m] = group.cyclic ? d[m] : T(0);
    rows[0].rhs[m] = d[m];
  }
  for (int k = nodes - 1; k >= 1; --k) {
    WideRow<T>& row = rows[k];
#pragma omp simd
    for (int m = 0; m < wide; ++m) {
      next[m] = row.rhs[m] + row.upper[m] * next[m] + row.lower[m] * d[m];
      row.rhs[m] = next[m];
    }
  }
}

template <class T>
void relax_group(const GroupLines<T>& lines, std::vector<WideRow<T>>& rows, std::vector<T>& memory) {
  const int nodes = lines.nodes();
  const PatchLineGroup& group = lines.group;
  rows.assign(static_cast<std::size_t>(nodes), {});
  for (int s = group.segments_begin; s < group.segments_end; ++s) {
    const PatchSegment& segment = lines.segments[s];
    memory.resize(std::max(memory.size(), 4 * (static_cast<std::size_t>(segment.cells) + 1)));
    WideRow<T>* begin = rows.data() + segment.start;
    WideRow<T>* last = segment.start + segment.cells < nodes ? begin + segment.cells : rows.data();
    for (int l = 0; l < segment.lanes; ++l) {
      const PatchLane& lane = segment.lane[l];
      if (lane.along == 1 || lane.along == -1)
        add_lane<T, true>(lines.numbers, lane, group, segment.cells, begin, last, memory.data());
      else
        add_lane<T, false>(lines.numbers, lane, group, segment.cells, begin, last, memory.data());
    }
  }
  eliminate(rows.data(), nodes, group);
  for (int s = group.segments_begin; s < group.segments_end; ++s) {
    const PatchSegment& segment = lines.segments[s];
    for (int l = 0; l < segment.lanes; ++l) {
      const PatchLane& lane = segment.lane[l];
      for (int k = 0; k <= segment.cells; ++k) {
        const int q = segment.start + k < nodes ? segment.start + k : 0;
        T* x = lines.numbers.x + lane.first + k * lane.along + group.first_line * lane.across;
        for (int m = 0; m < group.lines; ++m)
          x[m * group.step * lane.across] += rows[static_cast<std::size_t>(q)].rhs[m];
      }
    }
  }
}

}  // namespace stratum::group_lines
