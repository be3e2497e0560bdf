#pragma once

// What the two backends of solvers/lines/partitioned_lines.hpp have in common: a cut line's equations, and what is done with
// its ends. A functor's first index is the number of a line among those that are solved together.

#include <utility>
#include <vector>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/solvers/lines/equations.hpp>
#include <stratum/solvers/lines/partitioned_lines.hpp>

namespace stratum::line {

template <class View, class T>
struct PartitionedLine {
  LineRhs<Direction::y, true, View, T> rhs;
  FieldView<T> y;
  T omega;
  LineBatch lines;
  bool below = false, above = false;  // other pieces of the lines follow there

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int column(int line) const { return lines.line(line); }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE LineRow<T> row(int i, int j) const {
    return line_row<Direction::y, true>(rhs.a, i, j);
  }
  /// y where x has `value` more than what lies near.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T result(int i, int j, T value) const {
    value += rhs.near(i, j);
    return omega == T(1) ? value : (T(1) - omega) * rhs.x(i, j) + omega * value;
  }
};

/// The view whose row 0 is row `j`.
template <class T>
[[nodiscard]] FieldView<T> from_row(FieldView<T> v, int j) {
  v.data += j * v.pitch;
  v.ny -= j;
  return v;
}
template <class T, bool reaction>
[[nodiscard]] TensorView<T, reaction> from_row(TensorView<T, reaction> a, int j) {
  a.ky += j;
  a.my += j;
  if constexpr (reaction) {
    a.column_ky += j;
    a.e += j;
  }
  return a;
}
template <class T, bool scalar>
[[nodiscard]] ElementView<T, scalar> from_row(ElementView<T, scalar> a, int j) {
  a.p += j * a.pitch;
  if constexpr (scalar) {
    a.ry2 += j;
  } else {
    a.q += j * a.pitch;
    if (a.has_s) a.s += j * a.others_pitch;
    if (a.has_m) a.m += j * a.others_pitch;
  }
  return a;
}
template <class View>
requires View::has_bands [[nodiscard]] View from_row(View a, int j) {
  for (auto& band : a.band) band += j * a.pitch;
  return a;
}

/// Rows begin .. end - 1 of cut lines, which others follow below or above.
template <class View, class T>
[[nodiscard]] PartitionedLine<View, T> chunk_of(const PartitionedLine<View, T>& cut, int begin, int end, bool below,
                                                bool above) {
  PartitionedLine<View, T> chunk{{from_row(cut.rhs.a, begin), from_row(cut.rhs.b, begin), from_row(cut.rhs.x, begin)},
                                 from_row(cut.y, begin),
                                 cut.omega,
                                 cut.lines,
                                 below,
                                 above};
  chunk.y.ny = chunk.rhs.x.ny = chunk.rhs.b.ny = end - begin;
  return chunk;
}

/// What chunk `me` is to know, once the interface is solved.
template <class View, class T>
struct TakeInterface {
  PartitionedLine<View, T> cut;
  Interface<T> interface;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int /*row*/) const {
    const auto& [own, sides, factors, ends, me, count, is_cyclic] = interface;
    const int i = cut.column(line), n = cut.y.ny;
    const T left = cut.below ? sides.last((me > 0 ? me : count) - 1, line) : T(0);
    const T right = cut.above ? sides.first(me + 1 < count ? me + 1 : 0, line) : T(0);
    if (own.numbers != nullptr) own.x_last(0, line) = sides.last(me, line);
    ends.left(line) = left;
    ends.right(line) = right;
    ends.result(0, line) = cut.result(i, -1, left);
    ends.result(1, line) = cut.result(i, 0, sides.first(me, line));
    ends.result(2, line) = cut.result(i, n - 1, sides.last(me, line));
    ends.result(3, line) = cut.result(i, n, right);
  }
};
// clang++ before 17 deduces no arguments of aggregates by itself.
template <class View, class T>
TakeInterface(PartitionedLine<View, T>, Interface<T>) -> TakeInterface<View, T>;

template <class View, class T>
struct SolveInterface {
  TakeInterface<View, T> take;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int row) const {
    const Interface<T>& interface = take.interface;
    interface.factors.solve(interface.sides, interface.count, interface.is_cyclic, line, take.cut.column(line));
    take(line, row);
  }
};
template <class View, class T>
SolveInterface(TakeInterface<View, T>) -> SolveInterface<View, T>;

/// The rows beside the cuts as the subdomains beside have them, bit for bit.
template <class T>
struct PutInterface {
  FieldView<T> y;
  LineBatch lines;
  bool below, above;
  InterfaceOfLines<T> ends;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int /*row*/) const {
    const int i = lines.line(line);
    if (below) {
      y(i, -1) = ends.result(0, line);
      y(i, 0) = ends.result(1, line);
    }
    if (above) {
      y(i, y.ny - 1) = ends.result(2, line);
      y(i, y.ny) = ends.result(3, line);
    }
  }
};
template <class T>
PutInterface(FieldView<T>, LineBatch, bool, bool, InterfaceOfLines<T>) -> PutInterface<T>;

/// Columns -1 and nx, where x is periodic, from the other ends.
template <class T>
struct WrapRow {
  FieldView<T> y;
  [[nodiscard]] static NodeRange<2> range(const FieldView<T>& y) { return {-1, y.ny + 1, 1, 0, 1, 1}; }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int j, int /*row*/) const {
    y(-1, j) = y(y.nx - 1, j);
    y(y.nx, j) = y(0, j);
  }
};

template <class T>
struct FactorInterface {
  FactoredInterface<T> factors;
  int count;
  bool is_cyclic;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int /*row*/) const {
    factors.factor(count, is_cyclic, line);
  }
};

/// The three steps for chunks 0 .. own - 1 of this subdomain, all of them by what `chunk(k)` says: a pair of its
/// PartitionedLine and Interface. `eliminate(chunk)` gives its right-hand sides, `gather()` puts those of all subdomains
/// together, `substitute(chunk)` gives y from its ends.
template <class ChunkAt, class Eliminate, class Gather, class Substitute>
void solve_partitioned_lines(Context& ctx, int own, const ChunkAt& chunk, const Eliminate& eliminate,
                             const Gather& gather, const Substitute& substitute) {
  for (int k = 0; k < own; ++k) eliminate(chunk(k));
  gather();
  const auto on_lines = [&](const auto& cut, const auto& functor) {
    for_each_node(ctx, {0, cut.lines.count, 1, 0, 1, 1}, functor);
  };
  for (int k = 0; k < own; ++k) {
    const auto [cut, interface] = chunk(k);
    const TakeInterface take{cut, interface};
    if (k == 0)
      on_lines(cut, SolveInterface{take});
    else
      on_lines(cut, take);
  }
  for (int k = 0; k < own; ++k) substitute(chunk(k));
  for (int k = 0; k < own; ++k) {
    const auto [cut, interface] = chunk(k);
    on_lines(cut, PutInterface{cut.y, cut.lines, cut.below, cut.above, interface.ends});
  }
}

// --- in segments ---------------------------------------------------------------------------------------------------------
//
// So that there is work for all threads of a GPU, a subdomain's part of a line is cut further, into segments of S rows, a
// thread each, whose chunks are joined by up to 16 on several levels to the chunk of the subdomain, and opened again once its
// ends are known:
//
//     rows  | S | S | S | S | ...         level 0, eliminated
//           |    16    |    16   | ...    level 1, joined
//           |        subdomain           |    the last level, interface.own
//
// Neighbouring threads have neighbouring columns of a colour. 7 numbers a segment and line go to memory and back.

/// Rows of a segment: two numbers each stay in registers.
template <class T>
constexpr int segment_rows = static_cast<int>(128 / sizeof(T));
inline constexpr int chunks_joined = 16;

/// `sides`: with right-hand sides, else as if they were zero.
template <int S, bool sides, class View, class T>
struct EliminateSegment {
  PartitionedLine<View, T> cut;
  ChunksOfLines<T> segments;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int segment) const {
    const int i = cut.column(line), begin = segment * S, end = begin + S < cut.y.ny ? begin + S : cut.y.ny;
    ChunkElimination<T> chunk;
    chunk.start(0);
    for (int j = begin; j < end; ++j) {
      const LineRow<T> r = cut.row(i, j);
      T right = 0;
      if constexpr (sides) right = cut.rhs(i, j);
      chunk.step(j + 1 == end, r.lower, r.diagonal, r.upper, right);
    }
    segments.put_last(segment, line, chunk.last());
    segments.put_first(segment, line, chunk.first());
  }
};

/// `count` chunks of a line, by up to 16, to those of the next level.
template <class T>
struct JoinChunks {
  ChunksOfLines<T> chunks, joined;
  int count;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int group) const {
    const int begin = group * chunks_joined, end = begin + chunks_joined < count ? begin + chunks_joined : count;
    const ReducedChunk<T, true> chunk = chunks.joined(begin, end, line);
    joined.put_last(group, line, chunk.last);
    joined.put_first(group, line, chunk.first);
  }
};

template <class T>
struct OpenChunks {
  ChunksOfLines<T> chunks, joined;
  int count;
  InterfaceOfLines<T> ends;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int group) const {
    const int begin = group * chunks_joined, end = begin + chunks_joined < count ? begin + chunks_joined : count;
    chunks.open(begin, end, line, group > 0 ? joined.x_last(group - 1, line) : ends.left(line),
                joined.x_last(group, line));
  }
};

/// Thomas' algorithm by row sums from the unknown left of the segment to its last one, both known; the numbers between stay in
/// registers: x_k = x_(k+1) + (z_k - q_k x_(k+1)).
template <int S, class View, class T>
struct SubstituteSegment {
  PartitionedLine<View, T> cut;
  ChunksOfLines<T> segments;
  InterfaceOfLines<T> ends;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int segment) const {
    const int i = cut.column(line), begin = segment * S, n = cut.y.ny - begin, last = n < S ? n - 1 : S - 1;
    T q[S], z[S];
    T q_before = 1, z_before = segment > 0 ? segments.x_last(segment - 1, line) : ends.left(line);
#if defined(__CUDACC__)
#pragma unroll
#endif
    for (int k = 0; k < S; ++k) {
      if (k >= last) continue;
      const LineRow<T> r = cut.row(i, begin + k);
      const T excess = r.diagonal - r.lower * q_before, pivot = T(1) / (excess - r.upper);
      z[k] = z_before = (cut.rhs(i, begin + k) - r.lower * z_before) * pivot;
      q[k] = q_before = excess * pivot;
    }
    T x = segments.x_last(segment, line);
    cut.y(i, begin + last) = cut.result(i, begin + last, x);
#if defined(__CUDACC__)
#pragma unroll
#endif
    for (int k = S - 2; k >= 0; --k) {
      if (k >= last) continue;
      x += z[k] - q[k] * x;
      cut.y(i, begin + k) = cut.result(i, begin + k, x);
    }
  }
};

/// Numbers that a subdomain of this shape takes for the chunks of its segments.
[[nodiscard]] inline std::int64_t segment_numbers(int rows_of_segment, const GridLayout<2>& shape) {
  std::int64_t chunks = 0;
  for (int count = (shape.ny - 1) / rows_of_segment + 1; count > 1; count = (count - 1) / chunks_joined + 1)
    chunks += count;
  return chunks * ChunksOfLines<double>::rows * shape.nx;
}

/// The levels of a subdomain's lines, `memory` having segment_numbers of numbers for them.
template <int S, class T>
struct SegmentLevels {
  struct Level {
    ChunksOfLines<T> chunks;
    int count;
  };
  int lines;
  std::vector<Level> levels;

  SegmentLevels(const ChunksOfLines<T>& own, int rows, T* memory) : lines(own.lines) {
    for (int count = (rows - 1) / S + 1; count > 1; count = (count - 1) / chunks_joined + 1) {
      levels.push_back({{memory, lines}, count});
      memory += std::int64_t{ChunksOfLines<T>::rows} * count * lines;
    }
    levels.push_back({own, 1});
  }
  template <bool sides, class View>
  void eliminate(Context& ctx, const PartitionedLine<View, T>& cut) const {
    for_each_node(ctx, range(0), EliminateSegment<S, sides, View, T>{cut, levels[0].chunks});
    for (std::size_t k = 1; k < levels.size(); ++k)
      for_each_node(ctx, range(k), JoinChunks<T>{levels[k - 1].chunks, levels[k].chunks, levels[k - 1].count});
  }
  template <class View>
  void substitute(Context& ctx, const PartitionedLine<View, T>& cut, const InterfaceOfLines<T>& ends) const {
    for (std::size_t k = levels.size() - 1; k > 0; --k)
      for_each_node(ctx, range(k), OpenChunks<T>{levels[k - 1].chunks, levels[k].chunks, levels[k - 1].count, ends});
    for_each_node(ctx, range(0), SubstituteSegment<S, View, T>{cut, levels[0].chunks, ends});
  }

 private:
  [[nodiscard]] NodeRange<2> range(std::size_t level) const { return {0, lines, 1, 0, levels[level].count, 1}; }
};

/// The matrix of all lines, to where it is factored. `memory`: segment_numbers.
template <int S, class View, class T>
void eliminate_matrix(Context& ctx, const PartitionedLine<View, T>& cut, const Interface<T>& interface, T* memory) {
  SegmentLevels<S, T>(interface.factors.chunk(interface.me), cut.y.ny, memory).template eliminate<false>(ctx, cut);
}

/// Of a subdomain that is one chunk.
template <int S, class View, class T, class Gather>
void solve_in_segments(Context& ctx, const PartitionedLine<View, T>& cut, const Interface<T>& interface, T* memory,
                       const Gather& gather) {
  const SegmentLevels<S, T> segments(interface.own, cut.y.ny, memory);
  solve_partitioned_lines(
      ctx, 1, [&](int /*chunk*/) { return std::pair(cut, interface); },
      [&](const auto& chunk) { segments.template eliminate<true>(ctx, chunk.first); }, gather,
      [&](const auto& chunk) { segments.substitute(ctx, chunk.first, interface.ends); });
}

}  // namespace stratum::line
