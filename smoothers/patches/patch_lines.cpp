#include <stratum/smoothers/patches/patch_lines.hpp>

#include <algorithm>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/patches/in_memory.hpp>
#include <stratum/smoothers/patches/group_lines.hpp>
#include <stratum/smoothers/patches/line_thread.hpp>

namespace stratum {

namespace {

using group_lines::Elimination;
using group_lines::GroupLines;
using group_lines::LineRow;
using group_lines::LineRows;
using group_lines::relax_group;
using group_lines::wide;
using group_lines::WideRow;

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

/// How a GPU takes the lines of a group that are too long for a thread for each of their pieces: a block for each, a thread
/// for each line and chunk. Rows come tile by tile, some nodes of every chunk, by threads that are neighbours in memory,
/// through shared memory.
struct Chunking {
  static constexpr int threads = 32 * wide, least = 4;  // nodes of a chunk
  int nodes, lines, count;                              // lines: that a block has threads for, the group's or more

  STRATUM_HOST_DEVICE STRATUM_INLINE Chunking(int nodes_of_line, int lines_of_group) : nodes(nodes_of_line), lines(1) {
    while (lines < lines_of_group) lines *= 2;
    count = threads / lines;
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
  const Chunking chunking(lines.nodes(), lines.group.lines);
  const int self = static_cast<int>(threadIdx.x), lanes = chunking.lines;
  const int chunk = self / lanes, own = self % lanes, line = lines.line(own);
  const int count = chunking.count, begin = chunk < count ? chunking.first(chunk) : 0,
            end = chunk < count ? chunking.first(chunk + 1) : 0;
  const bool active = own < lines.group.lines && chunk < count;
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
    it.valid = who / lanes < count && who % lanes < lines.group.lines;
    if (!it.valid) return it;
    it.node = chunking.first(who / lanes) + 1 + tile * depth + behind;
    it.valid = it.node < chunking.first(who / lanes + 1);
    if (!it.valid) return it;
    it.line = lines.line(who % lanes);
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
      const int at = before * lanes + own;
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
        const T* at = current + below * lanes + own;
        const T factor = own_lower / (at[0] + at[2 * Chunking::threads] + at[3 * Chunking::threads]);
        e += factor * at[0];
        r += factor * at[Chunking::threads];
        l = factor * at[2 * Chunking::threads];
      }
      if (above < count) {
        const T* at = current + above * lanes + own;
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
    next = chunk + 1 < count ? memory[self + lanes] : lines.group.cyclic ? memory[own] : T(0);
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

}  // namespace

template <class T>
PatchLines<T>::PatchLines(Context& ctx, const PatchLayout& layout, PatchLinePlan plan)
    : plan_(std::move(plan)), nodes_(layout.nodes()) {
  vertex_copies_ = vector_from_host(ctx, plan_.vertex_copies.empty() ? std::vector<int>{0} : plan_.vertex_copies);
  vertex_begin_ = vector_from_host(ctx, plan_.vertex_begin);
  if (!ctx.on_gpu()) return;
  blocks_ = blocks_of(plan_, sizeof(T) == 4 ? 16 : 8);
  pieces_ = in_memory(ctx, blocks_.pieces);
  block_list_ = in_memory(ctx, blocks_.blocks);
  segments_ = in_memory(ctx, plan_.segments);
  int most = 0;
  for (std::size_t phase = 0; phase + 1 < plan_.phases.size(); ++phase) {
    int taken = 0;
    for (int g = plan_.phases[phase]; g < plan_.phases[phase] + blocks_.phases[phase].groups_left; ++g) {
      auto& group = plan_.groups[static_cast<std::size_t>(g)];
      group.scratch = taken;
      const Chunking chunking(group.cells + (group.cyclic ? 0 : 1), group.lines);
      taken += chunking.tiles(nodes_of_tile<T>) * nodes_of_tile<T> * Chunking::threads;
    }
    most = std::max(most, taken);
  }
  scratch_ = most;
  quotients_ = Field<T>(ctx, 3 * std::max(1, most));
  groups_ = in_memory(ctx, plan_.groups);
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
