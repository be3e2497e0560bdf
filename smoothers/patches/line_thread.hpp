#pragma once

// LineThread: what a thread of a block does that relaxes lines (smoothers/patches/line_blocks.hpp), step by step; the block
// waits for all of its threads between steps. The method is that of smoothers/patches/patch_lines.hpp:
//
//     begin      reads the rows of a piece and eliminates its inner nodes: what they leave at the separators of both ends
//     assemble   collects the row of a separator, e d - l d_before - u d_after - w d_0 = r with pivot e + l + u + w ;
//                w: coupling to separator 0 of a cyclic line, which is kept to the end
//     publish    shows it to others
//     reduce     eliminates the separators `distance` before and behind: parallel cyclic reduction
//     solve      the corrections of separators
//     correct    those of inner nodes, and x
//
// Rows of a symmetric matrix: the coupling of two nodes of a line is read once, and serves both.
//
// `memory`: `arrays` numbers for each thread of the block. Steps are plain functions, so that a CPU can run them for one thread
// after another.

#include <stratum/core/patches/patch_operator.hpp>
#include <stratum/smoothers/patches/line_blocks.hpp>

#if defined(__CUDACC__)
#define STRATUM_UNROLL _Pragma("unroll")
#else
#define STRATUM_UNROLL
#endif

namespace stratum {

template <class T>
struct LineNumbers {
  PatchBands<T> a;
  const T* b;
  T* x;
};

/// Four nodes of a piece that follow each other, along (m) and across (c) the line.
template <class T>
struct FourNodes {
  T excess[4], link[5];  // link[m]: between nodes m - 1 and m
  T across[2][4];        // to (m, c - 1), (m, c + 1)
  T diagonal[4][4];      // to (m + 1, c + 1), (m - 1, c - 1), (m + 1, c - 1), (m - 1, c + 1)
  T b[4], x[3][6];       // x[c + 1][m + 1]

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T excess_of_line(int m) const {
    return excess[m] -
           ((across[0][m] + across[1][m]) + ((diagonal[0][m] + diagonal[1][m]) + (diagonal[2][m] + diagonal[3][m])));
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T residual(int m) const {
    const T own = x[1][m + 1];
    const T along = link[m] * (x[1][m] - own) + link[m + 1] * (x[1][m + 2] - own);
    const T below =
        diagonal[1][m] * (x[0][m] - own) + across[0][m] * (x[0][m + 1] - own) + diagonal[2][m] * (x[0][m + 2] - own);
    const T above =
        diagonal[3][m] * (x[2][m] - own) + across[1][m] * (x[2][m + 1] - own) + diagonal[0][m] * (x[2][m + 2] - own);
    return b[m] - (excess[m] * own + (below + along + above));
  }
};

/// Nodes k, k + 1, k + 2, k + 3 of a row of a patch, k a multiple of four.
template <class T>
struct NodesOfRow {
  int k, pitch;

  static STRATUM_HOST_DEVICE STRATUM_INLINE void four(const T* from, T* to) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 4) {
      const float4 numbers = *reinterpret_cast<const float4*>(from);
      to[0] = numbers.x;
      to[1] = numbers.y;
      to[2] = numbers.z;
      to[3] = numbers.w;
    } else {
      const double2 first = *reinterpret_cast<const double2*>(from),
                    second = *reinterpret_cast<const double2*>(from + 2);
      to[0] = first.x;
      to[1] = first.y;
      to[2] = second.x;
      to[3] = second.y;
    }
#else
    STRATUM_UNROLL
    for (int m = 0; m < 4; ++m) to[m] = from[m];
#endif
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void read_bands(const PatchBands<T>& a, FourNodes<T>& nodes) const {
    T below_east[4], below_west[4];
    four(a.excess + k, nodes.excess);
    nodes.link[0] = a.east[k - 1];
    four(a.east + k, nodes.link + 1);
    four(a.north + (k - pitch), nodes.across[0]);
    four(a.north + k, nodes.across[1]);
    four(a.north_east + k, nodes.diagonal[0]);
    nodes.diagonal[1][0] = a.north_east[k - pitch - 1];
    four(a.north_east + (k - pitch), below_east);
    four(a.north_west + (k - pitch), below_west);
    nodes.diagonal[2][3] = a.north_west[k - pitch + 4];
    four(a.north_west + k, nodes.diagonal[3]);
    STRATUM_UNROLL
    for (int m = 0; m < 3; ++m) {
      nodes.diagonal[1][m + 1] = below_east[m];
      nodes.diagonal[2][m] = below_west[m + 1];
    }
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void read_numbers(const T* b, const T* x, FourNodes<T>& nodes) const {
    four(b + k, nodes.b);
    STRATUM_UNROLL
    for (int c = 0; c < 3; ++c) {
      const T* row = x + (k + (c - 1) * pitch);
      nodes.x[c][0] = row[-1];
      four(row, nodes.x[c] + 1);
      nodes.x[c][5] = row[4];
    }
  }
};

/// Nodes k, k + along, ... of any line, `count` of them, four at most.
template <class T>
struct NodesOfLine {
  int k, along, pitch, count;

  STRATUM_HOST_DEVICE STRATUM_INLINE NodesOfLine(int node, int step, int row_pitch, int nodes)
      : k(node), along(step), pitch(row_pitch), count(nodes) {}
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool in_row() const { return along == 1 || along == -1; }
  /// So that the neighbour along and across is the north-eastern one, or the one opposite.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int across() const {
    return in_row() ? along * pitch : (along > 0 ? 1 : -1);
  }
  static STRATUM_HOST_DEVICE STRATUM_INLINE int lower(int offset) { return offset < 0 ? offset : 0; }

  STRATUM_HOST_DEVICE STRATUM_INLINE void read_bands(const PatchBands<T>& a, FourNodes<T>& nodes) const {
    const int c = across();
    const T *of_line = in_row() ? a.east : a.north, *beside = in_row() ? a.north : a.east;
    const T *before = of_line + lower(-along), *near = beside + lower(-c), *far = beside + lower(c),
            *d0 = a.north_east + lower(along + c), *d1 = a.north_east + lower(-along - c),
            *d2 = a.north_west + lower(along - c), *d3 = a.north_west + lower(c - along);
    STRATUM_UNROLL
    for (int m = 0; m < 4; ++m) {
      const int node = k + m * along;
      const bool there = m < count;
      nodes.excess[m] = there ? a.excess[node] : T(1);
      nodes.link[m] = m <= count ? before[node] : T(0);
      nodes.across[0][m] = there ? near[node] : T(0);
      nodes.across[1][m] = there ? far[node] : T(0);
      nodes.diagonal[0][m] = there ? d0[node] : T(0);
      nodes.diagonal[1][m] = there ? d1[node] : T(0);
      nodes.diagonal[2][m] = there ? d2[node] : T(0);
      nodes.diagonal[3][m] = there ? d3[node] : T(0);
    }
    nodes.link[4] = count == 4 ? before[k + 4 * along] : T(0);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void read_numbers(const T* b, const T* x, FourNodes<T>& nodes) const {
    const int c = across();
    STRATUM_UNROLL
    for (int m = -1; m < 5; ++m) {
      const int node = k + m * along;
      const bool there = m <= count;
      nodes.x[0][m + 1] = there ? x[node - c] : T(0);
      nodes.x[1][m + 1] = there ? x[node] : T(0);
      nodes.x[2][m + 1] = there ? x[node + c] : T(0);
      if (m >= 0 && m < 4) nodes.b[m] = m < count ? b[node] : T(0);
    }
  }
};

/// `nodes`: of a piece at most, a multiple of four.
template <class T, int nodes>
class LineThread {
 public:
  static constexpr int arrays = 10;

  STRATUM_HOST_DEVICE STRATUM_INLINE LineThread(const LineNumbers<T>& numbers, const PatchLinePiece* pieces,
                                                const PatchLineBlock& block, T* memory, int threads, int self)
      : numbers_(numbers), block_(block), memory_(memory), threads_(threads), self_(self) {
    const int each = block.lanes > 0 ? block.lanes : block.pieces;
    const int quotient = self / each, rest = self - quotient * each;
    line_ = block.lanes > 0 ? rest : quotient;
    number_ = block.lanes > 0 ? quotient : rest;
    active_ = line_ < block.lines && number_ < block.pieces;
    if (active_) piece_ = pieces[block.pieces_begin + number_];
    line_of_chain_ = block.first_line + line_ * block.step;
    holds_separator_ = active_ && number_ < block.separators;
  }

  /// `wait()`: until b and x may be read.
  template <class Wait>
  STRATUM_HOST_DEVICE STRATUM_INLINE void begin(const Wait& wait) {
    if (block_.lanes == 0)
      begin_in_rows(wait);
    else
      begin_anywhere(wait);
  }

  STRATUM_HOST_DEVICE STRATUM_INLINE void assemble() {
    if (!holds_separator_) return;
    const int count = block_.separators;
    excess_ = at(own_excess, number_);
    rhs_ = at(own_rhs, number_);
    if (piece_.shared) {
      excess_ += at(second_excess, number_);
      rhs_ += at(second_rhs, number_);
    }
    const bool fixed = excess_ >= fixed_from || (block_.first_fixed && number_ == 0);
    lower_ = upper_ = to_first_ = 0;
    if (number_ > 0 || block_.cyclic) {
      const int before = number_ > 0 ? number_ - 1 : count - 1;
      lower_ = at(coupling, before);
      excess_ += at(later_excess, before);
      rhs_ += at(later_rhs, before);
    }
    if (number_ + 1 < count || block_.cyclic || block_.last_fixed) {
      upper_ = at(coupling, number_);
      excess_ += at(earlier_excess, number_);
      rhs_ += at(earlier_rhs, number_);
    }
    if (block_.last_fixed && number_ == count - 1) {  // coupled to a zero
      excess_ += upper_;
      upper_ = 0;
    }
    if (block_.cyclic) {
      if (count == 1) lower_ = upper_ = 0;
      if (number_ == 1) {
        to_first_ += lower_;
        lower_ = 0;
      }
      if (number_ > 0 && number_ == count - 1) {
        to_first_ += upper_;
        upper_ = 0;
      }
    }
    if (fixed) {
      excess_ = 1;
      rhs_ = lower_ = upper_ = to_first_ = 0;
    }
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void publish(int buffer) {
    if (!holds_separator_) return;
    at(5 * buffer, number_) = excess_;
    at(5 * buffer + 1, number_) = rhs_;
    at(5 * buffer + 2, number_) = lower_;
    at(5 * buffer + 3, number_) = upper_;
    if (block_.cyclic) at(5 * buffer + 4, number_) = to_first_;
  }
  /// Distances 1, 2, 4, ... below this.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int distances() const {
    return block_.separators - (block_.cyclic ? 1 : 0);
  }
  /// From one buffer to the other.
  STRATUM_HOST_DEVICE STRATUM_INLINE void reduce(int distance, int buffer) {
    if (!holds_separator_) return;
    const bool stays = block_.cyclic && number_ == 0;
    const int below = number_ - distance, above = number_ + distance;
    const bool has_below = !stays && below >= (block_.cyclic ? 1 : 0), has_above = !stays && above < block_.separators;
    T excess = excess_, rhs = rhs_, lower = stays ? lower_ : T(0), upper = stays ? upper_ : T(0), to_first = to_first_;
    const auto eliminate = [&](int other, T own, int outer, T& outer_of_own) {
      const T e = at(5 * buffer, other), l = at(5 * buffer + 2, other), u = at(5 * buffer + 3, other);
      const T w = block_.cyclic ? at(5 * buffer + 4, other) : T(0);
      const T factor = own / ((e + w) + (l + u));
      excess += factor * e;
      rhs += factor * at(5 * buffer + 1, other);
      to_first += factor * w;
      outer_of_own = factor * (outer == 2 ? l : u);
    };
    if (has_below) eliminate(below, lower_, 2, lower);
    if (has_above) eliminate(above, upper_, 3, upper);
    excess_ = excess;
    rhs_ = rhs;
    lower_ = lower;
    upper_ = upper;
    to_first_ = to_first;
    publish(1 - buffer);
  }
  /// From `buffer`, into the first array of the other.
  STRATUM_HOST_DEVICE STRATUM_INLINE void solve(int buffer) {
    if (!holds_separator_) return;
    T d = 0;
    if (block_.cyclic) {
      T e = at(5 * buffer, 0), r = at(5 * buffer + 1, 0);
      if (block_.separators > 1) {
        const int last = block_.separators - 1;
        const T before = at(5 * buffer + 2, 0) / (at(5 * buffer, last) + at(5 * buffer + 4, last)),
                after = at(5 * buffer + 3, 0) / (at(5 * buffer, 1) + at(5 * buffer + 4, 1));
        e += before * at(5 * buffer, last) + after * at(5 * buffer, 1);
        r += before * at(5 * buffer + 1, last) + after * at(5 * buffer + 1, 1);
      }
      const T first = r / e;
      d = number_ == 0 ? first : (rhs_ + to_first_ * first) / (excess_ + to_first_);
    } else {
      d = rhs_ / excess_;
    }
    at(5 * (1 - buffer), number_) = d;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void correct(int buffer) {
    if (!active_) return;
    const auto separator = [&](int number) { return number < 0 ? T(0) : at(5 * (1 - buffer), number); };
    const T first = separator(piece_.separator), last = separator(piece_.last);
    T d[nodes];
    d[0] = first;
    T next = last;
    STRATUM_UNROLL
    for (int m = nodes - 1; m >= 1; --m) {
      if (m <= piece_.inner) next = of_rhs_[m - 1] + of_next_[m - 1] * next + of_first_[m - 1] * first;
      d[m] = next;
    }
    STRATUM_UNROLL
    for (int lane = 0; lane < 2; ++lane) {
      if (lane >= piece_.lanes) break;
      T* x = numbers_.x + node(lane);
      STRATUM_UNROLL
      for (int from = 0; from < nodes; from += 4) {
        if (from > piece_.inner) break;
#if defined(__CUDA_ARCH__)
        if constexpr (sizeof(T) == 4)
          if (block_.lanes == 0 && from + 3 <= piece_.inner) {
            auto* four = reinterpret_cast<float4*>(x + from);
            float4 numbers = *four;
            numbers.x += d[from];
            numbers.y += d[from + 1];
            numbers.z += d[from + 2];
            numbers.w += d[from + 3];
            *four = numbers;
            continue;
          }
#endif
        STRATUM_UNROLL
        for (int m = from; m < from + 4; ++m)
          if (m <= piece_.inner) x[m * piece_.along[lane]] += d[m];
      }
    }
  }

 private:
  // Arrays of the first steps; of intervals what they leave at the separators of both ends.
  enum Array : int {
    coupling,
    earlier_excess,
    earlier_rhs,
    later_excess,
    later_rhs,
    own_excess,
    own_rhs,
    second_excess,
    second_rhs
  };
  // Fixed nodes, which may have the sum of several such numbers.
  static constexpr T fixed_from = fixed_row<T> / 4;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T& at(int array, int number) const {
    const int slot = block_.lanes > 0 ? number * block_.lanes + line_ : line_ * block_.pieces + number;
    return memory_[array * threads_ + slot];
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int node(int lane) const {
    return piece_.first[lane] + line_of_chain_ * piece_.across;
  }

  template <class Wait>
  STRATUM_HOST_DEVICE STRATUM_INLINE void begin_in_rows(const Wait& wait) {
    const auto four = [&](int from) { return NodesOfRow<T>{node(0) + from, piece_.pitch[0]}; };
    FourNodes<T> n;
    if (active_ && nodes == 4) four(0).read_bands(numbers_.a, n);
    wait();
    if (!active_) return;
    STRATUM_UNROLL
    for (int from = 0; from < nodes; from += 4) {
      if (from > piece_.inner) break;
      const auto of_row = four(from);
      if (nodes > 4) of_row.read_bands(numbers_.a, n);
      of_row.read_numbers(numbers_.b, numbers_.x, n);
      T excess[4], rhs[4];
      STRATUM_UNROLL
      for (int m = 0; m < 4; ++m) {
        excess[m] = n.excess_of_line(m);
        rhs[m] = n.residual(m);
      }
      eliminate(from, excess, rhs, n.link);
    }
    leave();
  }
  template <class Wait>
  STRATUM_HOST_DEVICE STRATUM_INLINE void begin_anywhere(const Wait& wait) {
    const auto four = [&](int from, int lane) {
      const int left = piece_.inner + 1 - from;
      return NodesOfLine<T>(node(lane) + from * piece_.along[lane], piece_.along[lane], piece_.pitch[lane],
                            left < 4 ? left : 4);
    };
    FourNodes<T> n;
    if (active_ && nodes == 4) four(0, 0).read_bands(numbers_.a, n);
    wait();
    if (!active_) return;
    STRATUM_UNROLL
    for (int from = 0; from < nodes; from += 4) {
      if (from > piece_.inner) break;
      const auto of_line = four(from, 0);
      if (nodes > 4) of_line.read_bands(numbers_.a, n);
      of_line.read_numbers(numbers_.b, numbers_.x, n);
      T excess[4], rhs[4], link[5];
      STRATUM_UNROLL
      for (int m = 0; m < 4; ++m) {
        excess[m] = n.excess_of_line(m);
        rhs[m] = n.residual(m);
      }
      STRATUM_UNROLL
      for (int m = 0; m < 5; ++m) link[m] = n.link[m];
      if (piece_.lanes > 1) {
        const auto of_other = four(from, 1);
        of_other.read_bands(numbers_.a, n);
        of_other.read_numbers(numbers_.b, numbers_.x, n);
        STRATUM_UNROLL
        for (int m = 0; m < 4; ++m) {
          excess[m] += n.excess_of_line(m);
          rhs[m] += n.residual(m);
        }
        STRATUM_UNROLL
        for (int m = 0; m < 5; ++m) link[m] += n.link[m];
      }
      eliminate(from, excess, rhs, link);
    }
    leave();
  }

  /// Of nodes from .. from + 3 of the piece.
  STRATUM_HOST_DEVICE STRATUM_INLINE void eliminate(int from, const T (&excess)[4], const T (&rhs)[4],
                                                    const T (&link)[5]) {
    STRATUM_UNROLL
    for (int m = 0; m < 4; ++m) {
      const int k = from + m;
      if (k == 0) {
        excess_ = excess[0];
        rhs_ = rhs[0];
        upper_ = lower_ = -link[1];
        left_excess_ = left_rhs_ = 0;
      } else if (k <= piece_.inner) {
        const bool fixed = excess[m] >= fixed_from;
        const T l = fixed ? T(0) : -link[m], u = fixed ? T(0) : -link[m + 1];
        const T own_e = fixed ? T(1) : excess[m], own_r = fixed ? T(0) : rhs[m];
        const T e = k == 1 ? own_e : own_e + l * excess_quotient_;
        const T r = k == 1 ? own_r : own_r + l * rhs_quotient_;
        const T w = k == 1 ? l : l * first_quotient_;
        const T reciprocal = T(1) / ((e + w) + u);
        excess_quotient_ = e * reciprocal;
        rhs_quotient_ = of_rhs_[k - 1] = r * reciprocal;
        first_quotient_ = of_first_[k - 1] = w * reciprocal;
        of_next_[k - 1] = u * reciprocal;
        left_excess_ += upper_ * excess_quotient_;
        left_rhs_ += upper_ * rhs_quotient_;
        upper_ *= of_next_[k - 1];
        lower_ = -link[m + 1];
      }
    }
  }
  /// Shows what the elimination left.
  STRATUM_HOST_DEVICE STRATUM_INLINE void leave() {
    if (piece_.separator >= 0) {
      at(piece_.second ? second_excess : own_excess, piece_.separator) = excess_;
      at(piece_.second ? second_rhs : own_rhs, piece_.separator) = rhs_;
    }
    if (piece_.interval < 0) return;
    const bool some = piece_.inner > 0;
    at(coupling, piece_.interval) = upper_;
    at(piece_.reversed ? later_excess : earlier_excess, piece_.interval) = left_excess_;
    at(piece_.reversed ? later_rhs : earlier_rhs, piece_.interval) = left_rhs_;
    at(piece_.reversed ? earlier_excess : later_excess, piece_.interval) = some ? lower_ * excess_quotient_ : T(0);
    at(piece_.reversed ? earlier_rhs : later_rhs, piece_.interval) = some ? lower_ * rhs_quotient_ : T(0);
  }

  LineNumbers<T> numbers_;
  PatchLineBlock block_;
  T* memory_;
  int threads_, self_;
  PatchLinePiece piece_;
  int line_, number_, line_of_chain_;
  bool active_, holds_separator_;
  // Of inner node k: d_k = of_rhs + of_next d_(k+1) + of_first d_0.
  T of_rhs_[nodes - 1], of_next_[nodes - 1], of_first_[nodes - 1];
  // Of the last eliminated node, over its pivot.
  T excess_quotient_ = 0, rhs_quotient_ = 0, first_quotient_ = 0;
  T left_excess_ = 0, left_rhs_ = 0;  // at node 0
  T excess_ = 0, rhs_ = 0, lower_ = 0, upper_ = 0, to_first_ = 0;
};

}  // namespace stratum

#undef STRATUM_UNROLL
