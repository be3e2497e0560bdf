#include <stratum/smoothers/patches/patch_lines.hpp>

#include <algorithm>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/smoothers/patches/line_thread.hpp>

namespace stratum {

namespace {

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

/// Relaxes vertices alone.
template <class T>
struct RelaxVertices {
  LineRows<T> numbers;
  const int *copies, *begin;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int vertex, int /*j*/) const {
    T own = 0, rhs = 0;
    for (int c = begin[vertex]; c < begin[vertex + 1]; ++c) {
      const int node = copies[2 * c], pitch = copies[2 * c + 1];
      const auto r = numbers.a.row(node, pitch);
      own += r.excess;
      for (int dj = 0; dj < 3; ++dj)
        for (int di = 0; di < 3; ++di) own -= r.to[dj][di];
      rhs += numbers.b[node] - numbers.a.product(r, numbers.x, node, pitch);
    }
    const T d = rhs / own;
    for (int c = begin[vertex]; c < begin[vertex + 1]; ++c) numbers.x[copies[2 * c]] += d;
  }
};

constexpr int wide = PatchLinePlan::lines_of_group;

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

/// How a GPU takes the lines of a group that are too long for a thread for each of their pieces: a block for each, a thread for each line and chunk. Rows come tile by tile, some nodes
/// of every chunk, by threads that are neighbours in memory, through shared memory.
struct Chunking {
  static constexpr int chunks = 32, threads = chunks * wide, least = 4;  // nodes of a chunk
  int nodes, count;

  STRATUM_HOST_DEVICE STRATUM_INLINE explicit Chunking(int nodes_of_line) : nodes(nodes_of_line), count(chunks) {
    // A power of two, so that a cyclic system ends with couplings of its unknowns to themselves, which are nothing.
    while (count > 1 && nodes < count * least) count /= 2;
  }
  /// First node of a chunk.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int first(int chunk) const {
    return static_cast<int>(static_cast<long long>(nodes) * chunk / count);
  }
  /// Of nodes behind the first ones of chunks.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int tiles(int nodes_of_tile) const {
    const int most = (nodes + count - 1) / count - 1;
    return (most + nodes_of_tile - 1) / nodes_of_tile;
  }
};
template <class T>
constexpr int nodes_of_tile = sizeof(T) == 4 ? 8 : 4;

#if defined(__CUDACC__)

template <class T>
__global__ void relax_lines_kernel(const LineRows<T> numbers, const PatchSegment* segments,
                                   const PatchLineGroup* groups, T* quotients, long long stride) {
  constexpr int depth = nodes_of_tile<T>, pitch = Chunking::threads + 4, part = depth * pitch;
  // Tiles of four numbers a row; then two sets of the reduced system.
  __shared__ T memory[4 * part];
  cuda::after_previous();
  const GroupLines<T> lines{numbers, segments, groups[blockIdx.x]};
  const Chunking chunking(lines.nodes());
  const int self = static_cast<int>(threadIdx.x), chunk = self / wide, line = lines.line(self % wide);
  const int count = chunking.count, begin = chunk < count ? chunking.first(chunk) : 0,
            end = chunk < count ? chunking.first(chunk + 1) : 0;
  const bool active = self % wide < lines.group.lines && chunk < count;
  const int along = segments[lines.group.segments_begin].lane[0].along;
  const bool along_x = along == 1 || along == -1;
  T* own_quotients = quotients + lines.group.scratch + self;
  // Item `q` of a tile: a node of a chunk's line, and its place in shared memory.
  struct Item {
    int node, segment, line, place;
    bool valid;
  };
  const auto item = [&](int tile, int q, int from) {
    const int behind = along_x ? q % depth : q / Chunking::threads, who = along_x ? q / depth : q % Chunking::threads;
    Item it{};
    it.place = behind * pitch + who;
    it.valid = who / wide < count && who % wide < lines.group.lines;
    if (!it.valid) return it;
    it.node = chunking.first(who / wide) + 1 + tile * depth + behind;
    it.valid = it.node < chunking.first(who / wide + 1);
    if (!it.valid) return it;
    it.line = lines.line(who % wide);
    it.segment = lines.segment_of(it.node, from);
    return it;
  };
  const int tiles = chunking.tiles(depth), all = lines.group.segments_begin;

  Elimination<T> state;
  LineRow<T> first;
  if (active) {
    first = lines.row(begin, lines.segment_of(begin, all), line);
    state.begin(first);
  }
  for (int tile = 0; tile < tiles; ++tile) {
    for (int q = self; q < depth * Chunking::threads; q += Chunking::threads) {
      const Item it = item(tile, q, all);
      if (!it.valid) continue;
      const LineRow<T> row = lines.row(it.node, it.segment, it.line);
      memory[it.place] = row.lower;
      memory[it.place + part] = row.upper;
      memory[it.place + 2 * part] = row.excess;
      memory[it.place + 3 * part] = row.rhs;
    }
    __syncthreads();
    for (int k = 0; k < depth && active; ++k) {
      const int node = begin + 1 + tile * depth + k;
      if (node >= end) break;
      const T* at = memory + k * pitch + self;
      state.next({at[0], at[part], at[2 * part], at[3 * part], false}, node == begin + 1);
      T* to = own_quotients + static_cast<long long>(tile * depth + k) * Chunking::threads;
      to[0] = state.rhs_quotient;
      to[stride] = state.upper_quotient;
      to[2 * stride] = state.first_quotient;
    }
    __syncthreads();
  }

  // The rows of first nodes: each takes what the chunk before gives.
  constexpr int set = 4 * Chunking::threads;
  if (active) {
    memory[self] = state.excess_quotient;
    memory[self + Chunking::threads] = state.rhs_quotient;
    memory[self + 2 * Chunking::threads] = end - begin == 1 ? T(1) : state.first_quotient;
  }
  __syncthreads();
  T own_excess = 1, own_rhs = 0, own_lower = 0, own_upper = 0;
  if (active && !first.fixed) {
    own_excess = first.excess + state.excess;
    own_rhs = first.rhs + state.rhs;
    own_upper = state.upper;
    const int before = chunk > 0 ? chunk - 1 : lines.group.cyclic ? count - 1 : -1;
    if (before >= 0) {
      const int at = before * wide + self % wide;
      // Of a chunk of one node the quotients of excess and rhs are zero.
      own_excess += first.lower * memory[at];
      own_rhs += first.lower * memory[at + Chunking::threads];
      own_lower = first.lower * memory[at + 2 * Chunking::threads];
    }
  }
  __syncthreads();
  // Parallel cyclic reduction: couplings reach twice as far in every step.
  int side = 0;
  for (int distance = 1; distance < count; distance *= 2) {
    T* current = memory + side * set;
    if (active) {
      current[self] = own_excess;
      current[self + Chunking::threads] = own_rhs;
      current[self + 2 * Chunking::threads] = own_lower;
      current[self + 3 * Chunking::threads] = own_upper;
    }
    __syncthreads();
    if (active) {
      int below = chunk - distance, above = chunk + distance;
      if (lines.group.cyclic) {
        below = (below + count) % count;
        above = above % count;
      }
      T e = own_excess, r = own_rhs, l = 0, u = 0;
      if (below >= 0) {
        const T* at = current + below * wide + self % wide;
        const T factor = own_lower / (at[0] + at[2 * Chunking::threads] + at[3 * Chunking::threads]);
        e += factor * at[0];
        r += factor * at[Chunking::threads];
        l = factor * at[2 * Chunking::threads];
      }
      if (above < count) {
        const T* at = current + above * wide + self % wide;
        const T factor = own_upper / (at[0] + at[2 * Chunking::threads] + at[3 * Chunking::threads]);
        e += factor * at[0];
        r += factor * at[Chunking::threads];
        u = factor * at[3 * Chunking::threads];
      }
      own_excess = e;
      own_rhs = r;
      own_lower = l;
      own_upper = u;
    }
    side = 1 - side;
  }
  __syncthreads();
  if (active) memory[self] = first.fixed ? T(0) : own_rhs / own_excess;
  __syncthreads();
  T d = 0, next = 0;
  if (active) {
    d = memory[self];
    next = chunk + 1 < count ? memory[self + wide] : lines.group.cyclic ? memory[self % wide] : T(0);
    lines.correct(begin, lines.segment_of(begin, all), line, d);
  }
  __syncthreads();
  for (int tile = tiles - 1; tile >= 0; --tile) {
    for (int k = depth - 1; k >= 0 && active; --k) {
      if (begin + 1 + tile * depth + k >= end) continue;
      const T* from = own_quotients + static_cast<long long>(tile * depth + k) * Chunking::threads;
      next = from[0] + from[stride] * next + from[2 * stride] * d;
      memory[k * pitch + self] = next;
    }
    __syncthreads();
    for (int q = self; q < depth * Chunking::threads; q += Chunking::threads) {
      const Item it = item(tile, q, all);
      if (it.valid) lines.correct(it.node, it.segment, it.line, memory[it.place]);
    }
    __syncthreads();
  }
}

struct WaitForPrevious {
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()() const {
#if defined(__CUDA_ARCH__)
    cuda::after_previous();
#endif
  }
};

template <class T, int nodes>
__global__ void __launch_bounds__(PatchLineBlocks::most_threads)
    relax_blocks_kernel(const LineNumbers<T> numbers, const PatchLinePiece* pieces, const PatchLineBlock* blocks) {
  extern __shared__ double memory[];
  LineThread<T, nodes> thread(numbers, pieces, blocks[blockIdx.x], reinterpret_cast<T*>(memory),
                              static_cast<int>(blockDim.x), static_cast<int>(threadIdx.x));
  thread.begin(WaitForPrevious{});
  __syncthreads();
  thread.assemble();
  __syncthreads();
  thread.publish(0);
  __syncthreads();
  int buffer = 0;
  for (int distance = 1; distance < thread.distances(); distance *= 2) {
    thread.reduce(distance, buffer);
    buffer = 1 - buffer;
    __syncthreads();
  }
  thread.solve(buffer);
  __syncthreads();
  thread.correct(buffer);
}

#endif

template <class Item>
std::shared_ptr<void> on_device(Context& ctx, const std::vector<Item>& items) {
  auto memory = allocate(ctx, std::max<std::size_t>(1, items.size()) * sizeof(Item));
  if (ctx.is_dry_run()) return memory;
  copy_bytes(ctx, items.data(), memory.get(), items.size() * sizeof(Item));
  ctx.synchronise();
  return memory;
}

}  // namespace

template <class T>
PatchLines<T>::PatchLines(Context& ctx, const PatchLayout& layout, PatchLinePlan plan)
    : plan_(std::move(plan)), nodes_(layout.nodes()) {
  vertex_copies_ = vector_from_host(ctx, plan_.vertex_copies.empty() ? std::vector<int>{0} : plan_.vertex_copies);
  vertex_begin_ = vector_from_host(ctx, plan_.vertex_begin);
  if (!ctx.on_gpu()) return;
  blocks_ = blocks_of(plan_, sizeof(T) == 4 ? 16 : 8);
  pieces_ = on_device(ctx, blocks_.pieces);
  block_list_ = on_device(ctx, blocks_.blocks);
  segments_ = on_device(ctx, plan_.segments);
  int most = 0;
  for (std::size_t phase = 0; phase + 1 < plan_.phases.size(); ++phase) {
    int taken = 0;
    for (int g = plan_.phases[phase]; g < plan_.phases[phase] + blocks_.phases[phase].groups_left; ++g) {
      auto& group = plan_.groups[static_cast<std::size_t>(g)];
      group.scratch = taken;
      const Chunking chunking(group.cells + (group.cyclic ? 0 : 1));
      taken += chunking.tiles(nodes_of_tile<T>) * nodes_of_tile<T> * Chunking::threads;
    }
    most = std::max(most, taken);
  }
  scratch_ = most;
  quotients_ = Field<T>(ctx, 3 * std::max(1, most));
  groups_ = on_device(ctx, plan_.groups);
}

template <class T>
int PatchLines<T>::phases() const {
  return static_cast<int>(plan_.phases.size() + plan_.vertex_phases.size()) - 2;
}

template <class T>
void PatchLines<T>::lines(Context& ctx, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x, int phase) {
  const int begin = plan_.phases[static_cast<std::size_t>(phase)],
            end = plan_.phases[static_cast<std::size_t>(phase) + 1];
  if (begin == end) return;
  const LineRows<T> numbers{{a.bands(), b.numbers.view().data, x.numbers.view().data}};
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    const PatchLineLaunch& launch = blocks_.phases[static_cast<std::size_t>(phase)];
    cuda::Launch{static_cast<unsigned>(launch.groups_left), Chunking::threads}(
        ctx, relax_lines_kernel<T>, numbers, static_cast<const PatchSegment*>(segments_.get()),
        static_cast<const PatchLineGroup*>(groups_.get()) + begin, quotients_.view().data,
        static_cast<long long>(scratch_));
    const auto relax = [&](auto kernel) {
      const auto threads = static_cast<unsigned>(launch.threads);
      cuda::Launch{static_cast<unsigned>(launch.blocks_end - launch.blocks_begin), threads,
                   LineThread<T, 4>::arrays * threads * sizeof(T)}(
          ctx, kernel, static_cast<const LineNumbers<T>&>(numbers), static_cast<const PatchLinePiece*>(pieces_.get()),
          static_cast<const PatchLineBlock*>(block_list_.get()) + launch.blocks_begin);
    };
    if (launch.piece == 4) return relax(relax_blocks_kernel<T, 4>);
    if (launch.piece == 8) return relax(relax_blocks_kernel<T, 8>);
    if constexpr (sizeof(T) == 4) relax(relax_blocks_kernel<T, 16>);
    return;
  }
#endif
#pragma omp parallel num_threads(ctx.threads()) if (nodes_ > serial_limit)
  {
    std::vector<WideRow<T>> rows;
    std::vector<T> memory;
#pragma omp for schedule(dynamic)
    for (int g = begin; g < end; ++g)
      relax_group(GroupLines<T>{numbers, plan_.segments.data(), plan_.groups[static_cast<std::size_t>(g)]}, rows,
                  memory);
  }
}

template <class T>
void PatchLines<T>::vertices(Context& ctx, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x,
                             int phase) {
  const int begin = plan_.vertex_phases[static_cast<std::size_t>(phase)],
            end = plan_.vertex_phases[static_cast<std::size_t>(phase) + 1];
  if (begin == end) return;
  const LineRows<T> numbers{{a.bands(), b.numbers.view().data, x.numbers.view().data}};
  for_each_node(ctx, {begin, end, 1, 0, 1, 1},
                RelaxVertices<T>{numbers, vertex_copies_.view().data, vertex_begin_.view().data});
}

template <class T>
void PatchLines<T>::relax(Context& ctx, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x, int phase) {
  if (ctx.is_dry_run()) return;
  const int of_lines = static_cast<int>(plan_.phases.size()) - 1;
  if (phase < of_lines)
    lines(ctx, a, b, x, phase);
  else
    vertices(ctx, a, b, x, phase - of_lines);
}

template <class T>
void PatchLines<T>::sweep(Context& ctx, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x,
                          bool backward) {
  const int all = phases();
  for (int k = 0; k < all; ++k) relax(ctx, a, b, x, backward ? all - 1 - k : k);
}

template class PatchLines<float>;
template class PatchLines<double>;

}  // namespace stratum
