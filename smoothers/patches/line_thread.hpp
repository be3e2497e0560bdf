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
#define STRATUM_NO_UNROLL _Pragma("unroll 1")
#else
#define STRATUM_UNROLL
#define STRATUM_NO_UNROLL
#endif

namespace stratum {

template <class T>
struct LineNumbers {
  PatchBands<T> a;
  const T* b;
  T* x;
};

/// The rows of a line at four nodes of a piece that follow each other: node m has couplings link[m] and link[m + 1].
template <class T>
struct FourRows {
  T excess[4], rhs[4], link[5], own[4];

  STRATUM_HOST_DEVICE STRATUM_INLINE void begin(const T (&e)[4], const T (&b)[4], const T (&x)[6]) {
    STRATUM_UNROLL
    for (int m = 0; m < 4; ++m) {
      own[m] = x[m + 1];
      excess[m] = e[m];
      rhs[m] = b[m] - (e[m] * own[m] + (link[m] * (x[m] - own[m]) + link[m + 1] * (x[m + 2] - own[m])));
    }
  }
  /// Neighbours beside the line: bands to m - 1, m and m + 1 there.
  STRATUM_HOST_DEVICE STRATUM_INLINE void add(const T (&before)[4], const T (&beside)[4], const T (&after)[4],
                                              const T (&x)[6]) {
    STRATUM_UNROLL
    for (int m = 0; m < 4; ++m) {
      excess[m] -= before[m] + beside[m] + after[m];
      rhs[m] -= before[m] * (x[m] - own[m]) + beside[m] * (x[m + 1] - own[m]) + after[m] * (x[m + 2] - own[m]);
    }
  }
};

/// Four nodes of a piece that follow each other, along (m) and across (c) the line.
template <class T>
struct FourNodes {
  T excess[4], link[5];  // link[m]: between nodes m - 1 and m
  T across[2][4];        // to (m, c - 1), (m, c + 1)
  T diagonal[4][4];      // to (m + 1, c + 1), (m - 1, c - 1), (m + 1, c - 1), (m - 1, c + 1)
  T b[4], x[3][6];       // x[c + 1][m + 1]

  STRATUM_HOST_DEVICE STRATUM_INLINE void sum(FourRows<T>& rows) const {
    STRATUM_UNROLL
    for (int m = 0; m < 5; ++m) rows.link[m] = link[m];
    rows.begin(excess, b, x[1]);
    rows.add(diagonal[1], across[0], diagonal[2], x[0]);
    rows.add(diagonal[3], across[1], diagonal[0], x[2]);
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
  STRATUM_HOST_DEVICE STRATUM_INLINE static void six(const T* from, T (&to)[6]) {
    to[0] = from[-1];
    four(from, to + 1);
    to[5] = from[4];
  }
  /// One row of neighbours after the other, so that few numbers are there at a time.
  STRATUM_HOST_DEVICE STRATUM_INLINE void sum(const LineNumbers<T>& n, FourRows<T>& rows) const {
    T x[6], before[5], beside[4], after[5];
    {
      T e[4], b[4];
      four(n.a.excess + k, e);
      four(n.b + k, b);
      rows.link[0] = n.a.east[k - 1];
      four(n.a.east + k, rows.link + 1);
      six(n.x + k, x);
      rows.begin(e, b, x);
    }
    // Below: the south-western neighbour's band begins there, that of the south-eastern one, too.
    four(n.a.north + (k - pitch), beside);
    before[0] = n.a.north_east[k - pitch - 1];
    four(n.a.north_east + (k - pitch), before + 1);
    four(n.a.north_west + (k - pitch), after);
    after[4] = n.a.north_west[k - pitch + 4];
    six(n.x + (k - pitch), x);
    const T south_east[4] = {after[1], after[2], after[3], after[4]};
    const T south_west[4] = {before[0], before[1], before[2], before[3]};
    rows.add(south_west, beside, south_east, x);
    T north_west[4], north_east[4];
    four(n.a.north + k, beside);
    four(n.a.north_west + k, north_west);
    four(n.a.north_east + k, north_east);
    six(n.x + (k + pitch), x);
    rows.add(north_west, beside, north_east, x);
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
  /// As NodesOfRow has it; added to what is there.
  STRATUM_HOST_DEVICE STRATUM_INLINE void add_sum(const LineNumbers<T>& n, FourRows<T>& to) const {
    const int c = across();
    const T *of_line = (in_row() ? n.a.east : n.a.north) + (k + lower(-along)),
            *next_to_it = in_row() ? n.a.north : n.a.east;
    FourRows<T> rows;
    T x[6], before[4], beside[4], after[4];
    {
      T e[4], b[4];
      STRATUM_UNROLL
      for (int m = 0; m < 5; ++m) rows.link[m] = m <= count ? of_line[m * along] : T(0);
      STRATUM_UNROLL
      for (int m = 0; m < 4; ++m) {
        e[m] = m < count ? n.a.excess[k + m * along] : T(1);
        b[m] = m < count ? n.b[k + m * along] : T(0);
      }
      six(n.x + k, x);
      rows.begin(e, b, x);
    }
    const auto add = [&](int side) {
      // The band of two nodes begins at the lower one.
      const T* diagonal_after = side == c ? n.a.north_east : n.a.north_west;
      const T* diagonal_before = side == c ? n.a.north_west : n.a.north_east;
      diagonal_after += k + lower(along + side);
      diagonal_before += k + lower(side - along);
      const T* straight = next_to_it + (k + lower(side));
      STRATUM_UNROLL
      for (int m = 0; m < 4; ++m) {
        before[m] = m < count ? diagonal_before[m * along] : T(0);
        beside[m] = m < count ? straight[m * along] : T(0);
        after[m] = m < count ? diagonal_after[m * along] : T(0);
      }
      six(n.x + (k + side), x);
      rows.add(before, beside, after, x);
    };
    add(-c);
    add(c);
    STRATUM_UNROLL
    for (int m = 0; m < 4; ++m) {
      to.excess[m] += rows.excess[m];
      to.rhs[m] += rows.rhs[m];
    }
    STRATUM_UNROLL
    for (int m = 0; m < 5; ++m) to.link[m] += rows.link[m];
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void six(const T* from, T (&to)[6]) const {
    STRATUM_UNROLL
    for (int m = -1; m < 5; ++m) to[m + 1] = m <= count ? from[m * along] : T(0);
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
  // Of short pieces what elimination leaves stays in registers; of others it is in memory, too, so that more blocks are at work.
  static constexpr bool in_registers = nodes == 4;
  static constexpr int arrays_of_separators = 10, arrays = arrays_of_separators + (in_registers ? 0 : 3 * (nodes - 1));

  STRATUM_HOST_DEVICE STRATUM_INLINE LineThread(const LineNumbers<T>& numbers, const PatchLinePiece* pieces,
                                                const PatchLineBlock& block, T* memory, int threads, int self)
      : numbers_(numbers), block_(block), memory_(memory), threads_(threads), self_(self) {
    const int each = block.lanes > 0 ? block.lanes : block.pieces;
    const int quotient = self / each, rest = self - quotient * each;
    line_ = block.lanes > 0 ? rest : quotient;
    number_ = block.lanes > 0 ? quotient : rest;
    active_ = line_ < block.lines && number_ < block.pieces;
    piece_ = pieces + block.pieces_begin + (active_ ? number_ : 0);
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
    if (piece_->shared) {
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
    const T first = separator(piece_->separator), last = separator(piece_->last);
    T next = last;
    if constexpr (in_registers) {
      correct_four(0, first, next);
    } else {
      STRATUM_NO_UNROLL
      for (int from = nodes - 4; from >= 0; from -= 4)
        if (from <= piece_->inner) correct_four(from, first, next);
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
  /// Of inner node k: d_k = of_rhs + of_next d_(k+1) + of_first d_0.
  enum Quotient : int { of_rhs, of_next, of_first };
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T& quotient(int k, int which) {
    if constexpr (in_registers)
      return quotients_[3 * (k - 1) + which];
    else
      return memory_[(arrays_of_separators + 3 * (k - 1) + which) * threads_ + self_];
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int node(int lane) const {
    return piece_->first[lane] + line_of_chain_ * piece_->across;
  }

  /// Nodes from .. from + 3; `next`: the correction of the node behind them, then of the first of them.
  STRATUM_HOST_DEVICE STRATUM_INLINE void correct_four(int from, T first, T& next) {
    T d[4];
    STRATUM_UNROLL
    for (int m = 3; m >= 0; --m) {
      const int k = from + m;
      if (k == 0)
        next = first;
      else if (k <= piece_->inner)
        next = quotient(k, of_rhs) + quotient(k, of_next) * next + quotient(k, of_first) * first;
      d[m] = next;
    }
    STRATUM_UNROLL
    for (int lane = 0; lane < 2; ++lane) {
      if (lane >= piece_->lanes) break;
      T* x = numbers_.x + node(lane);
#if defined(__CUDA_ARCH__)
      if constexpr (sizeof(T) == 4)
        if (block_.lanes == 0 && from + 3 <= piece_->inner) {
          auto* four = reinterpret_cast<float4*>(x + from);
          float4 numbers = *four;
          numbers.x += d[0];
          numbers.y += d[1];
          numbers.z += d[2];
          numbers.w += d[3];
          *four = numbers;
          continue;
        }
#endif
      STRATUM_UNROLL
      for (int m = 0; m < 4; ++m)
        if (from + m <= piece_->inner) x[(from + m) * piece_->along[lane]] += d[m];
    }
  }

  template <class Wait>
  STRATUM_HOST_DEVICE STRATUM_INLINE void begin_in_rows(const Wait& wait) {
    const auto four = [&](int from) { return NodesOfRow<T>{node(0) + from, piece_->pitch[0]}; };
    if constexpr (in_registers) {
      FourNodes<T> n;
      if (active_) four(0).read_bands(numbers_.a, n);
      wait();
      if (!active_) return;
      four(0).read_numbers(numbers_.b, numbers_.x, n);
      FourRows<T> rows;
      n.sum(rows);
      eliminate(0, rows.excess, rows.rhs, rows.link);
    } else {
      wait();
      if (!active_) return;
      STRATUM_NO_UNROLL
      for (int from = 0; from < nodes; from += 4) {
        if (from > piece_->inner) break;
        FourRows<T> rows;
        four(from).sum(numbers_, rows);
        eliminate(from, rows.excess, rows.rhs, rows.link);
      }
    }
    leave();
  }
  template <class Wait>
  STRATUM_HOST_DEVICE STRATUM_INLINE void begin_anywhere(const Wait& wait) {
    const auto four = [&](int from, int lane) {
      const int left = piece_->inner + 1 - from;
      return NodesOfLine<T>(node(lane) + from * piece_->along[lane], piece_->along[lane], piece_->pitch[lane],
                            left < 4 ? left : 4);
    };
    if constexpr (in_registers) {
      FourNodes<T> n;
      if (active_) four(0, 0).read_bands(numbers_.a, n);
      wait();
      if (!active_) return;
      four(0, 0).read_numbers(numbers_.b, numbers_.x, n);
      FourRows<T> rows;
      n.sum(rows);
      if (piece_->lanes > 1) four(0, 1).add_sum(numbers_, rows);
      eliminate(0, rows.excess, rows.rhs, rows.link);
    } else {
      wait();
      if (!active_) return;
      STRATUM_NO_UNROLL
      for (int from = 0; from < nodes; from += 4) {
        if (from > piece_->inner) break;
        FourRows<T> rows{};
        STRATUM_NO_UNROLL
        for (int lane = 0; lane < piece_->lanes; ++lane)
          (lane == 0 ? four(from, 0) : four(from, 1)).add_sum(numbers_, rows);
        eliminate(from, rows.excess, rows.rhs, rows.link);
      }
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
      } else if (k <= piece_->inner) {
        const bool fixed = excess[m] >= fixed_from;
        const T l = fixed ? T(0) : -link[m], u = fixed ? T(0) : -link[m + 1];
        const T own_e = fixed ? T(1) : excess[m], own_r = fixed ? T(0) : rhs[m];
        const T e = k == 1 ? own_e : own_e + l * excess_quotient_;
        const T r = k == 1 ? own_r : own_r + l * rhs_quotient_;
        const T w = k == 1 ? l : l * first_quotient_;
        const T reciprocal = T(1) / ((e + w) + u);
        excess_quotient_ = e * reciprocal;
        rhs_quotient_ = quotient(k, of_rhs) = r * reciprocal;
        first_quotient_ = quotient(k, of_first) = w * reciprocal;
        const T next = quotient(k, of_next) = u * reciprocal;
        left_excess_ += upper_ * excess_quotient_;
        left_rhs_ += upper_ * rhs_quotient_;
        upper_ *= next;
        lower_ = -link[m + 1];
      }
    }
  }
  /// Shows what the elimination left.
  STRATUM_HOST_DEVICE STRATUM_INLINE void leave() {
    if (piece_->separator >= 0) {
      at(piece_->second ? second_excess : own_excess, piece_->separator) = excess_;
      at(piece_->second ? second_rhs : own_rhs, piece_->separator) = rhs_;
    }
    if (piece_->interval < 0) return;
    const bool some = piece_->inner > 0;
    at(coupling, piece_->interval) = upper_;
    at(piece_->reversed ? later_excess : earlier_excess, piece_->interval) = left_excess_;
    at(piece_->reversed ? later_rhs : earlier_rhs, piece_->interval) = left_rhs_;
    at(piece_->reversed ? earlier_excess : later_excess, piece_->interval) = some ? lower_ * excess_quotient_ : T(0);
    at(piece_->reversed ? earlier_rhs : later_rhs, piece_->interval) = some ? lower_ * rhs_quotient_ : T(0);
  }

  LineNumbers<T> numbers_;
  const PatchLineBlock& block_;  // where they lie: what is read again stands in no register
  const PatchLinePiece* piece_;
  T* memory_;
  int threads_, self_;
  int line_, number_, line_of_chain_;
  bool active_, holds_separator_;
  T quotients_[in_registers ? 3 * (nodes - 1) : 1];
  // Of the last eliminated node, over its pivot.
  T excess_quotient_ = 0, rhs_quotient_ = 0, first_quotient_ = 0;
  T left_excess_ = 0, left_rhs_ = 0;  // at node 0
  T excess_ = 0, rhs_ = 0, lower_ = 0, upper_ = 0, to_first_ = 0;
};

}  // namespace stratum

#undef STRATUM_UNROLL
#undef STRATUM_NO_UNROLL
