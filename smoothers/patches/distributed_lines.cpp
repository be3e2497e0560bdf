#include <stratum/smoothers/patches/distributed_lines.hpp>

#include <algorithm>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/patches/in_memory.hpp>

namespace stratum {

namespace {

template <class T>
struct Residuals {
  PatchBands<T> a;
  const T *b, *x;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T at(int node, int pitch) const {
    const auto row = a.row(node, pitch);
    return a.is_fixed(row) ? T(0) : b[node] - a.product(row, x, node, pitch);
  }
};

template <class T>
struct SendNodes {
  Residuals<T> r;
  const DistributedLinesOnHost::Node* nodes;
  T* to;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int /*j*/) const {
    to[nodes[k].sent] = r.at(nodes[k].node, nodes[k].pitch);
  }
};

/// v_0 . r and v_n . r of the lines of a chunk, each over nodes k, k + step, ...
template <class T>
struct ChunkSums {
  Residuals<T> r;
  const PatchSegment* segments;
  const T *to_first, *to_last;

  struct Two {
    T first = 0, last = 0;
  };
  STRATUM_HOST_DEVICE STRATUM_INLINE void add(const DistributedLinesOnHost::Chunk& chunk, const PatchSegment& segment,
                                              int m, int k, Two& sums) const {
    const int line = chunk.group.first_line + m * chunk.group.step;
    T residual = 0;
    for (int l = 0; l < segment.lanes; ++l) {
      const PatchLane& lane = segment.lane[l];
      residual += r.at(lane.first + k * lane.along + line * lane.across, lane.pitch);
    }
    const int at = chunk.weights + m * chunk.of_line + (segment.start + k) * chunk.of_node;
    sums.first += to_first[at] * residual;
    sums.last += to_last[at] * residual;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Two of_line(const DistributedLinesOnHost::Chunk& chunk, int m,
                                                               int first, int step) const {
    Two sums;
    for (int s = chunk.group.segments_begin; s < chunk.group.segments_end; ++s) {
      const PatchSegment& segment = segments[s];
      for (int k = first; k <= segment.cells; k += step) add(chunk, segment, m, k, sums);
    }
    return sums;
  }
};

template <class T>
struct Sources {
  const int *places, *begin;
  const T* all;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T sum(int number) const {
    T sum = 0;
    for (int s = begin[number]; s < begin[number + 1]; ++s) sum += all[places[s]];
    return sum;
  }
};

/// Solves short lines that are left and corrects their nodes, by the elimination of smoothers/patches/patch_lines.hpp; then the
/// right-hand sides of the others.
template <class T>
struct SolveShortLines {
  Sources<T> sources;
  PatchBands<T> a;
  const DistributedLinesOnHost::ShortLine* lines;
  const DistributedLinesOnHost::Target* targets;
  T* x;
  int count;
  const int* summed;
  T *left_b, *left_x;

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int /*j*/) const {
    if (k < count) return solve(lines[k]);
    const int number = summed[k - count];
    left_b[number] = sources.sum(number);
    left_x[number] = 0;
  }

  STRATUM_HOST_DEVICE STRATUM_INLINE void solve(const DistributedLinesOnHost::ShortLine& line) const {
    constexpr int most = DistributedLinesOnHost::most_nodes;
    // Fixed nodes, which may have the sum of several such numbers.
    constexpr T fixed_from = fixed_row<T> / 4;
    T d[most], to_next[most], to_first[most];  // d, u / p and w / p
    T upper = 0, excess = 0, rhs = 0;          // of node 0
    T of_excess = 0, of_rhs = 0, of_first = 1;
    const int n = line.nodes;
    for (int k = 0; k < n; ++k) {
      const int number = line.first + k;
      T e = a.excess[number], r = sources.sum(number);
      T l = k > 0 ? -a.east[number - 1] : T(0), u = k + 1 < n || line.cyclic ? -a.east[number] : T(0);
      if (line.cyclic && k == 0) {
        e += a.excess[number + n];
        r += sources.sum(number + n);
        l = -a.east[number + n - 1];
      }
      if (e >= fixed_from || (line.first_fixed && k == 0) || (line.last_fixed && !line.cyclic && k + 1 == n)) {
        e = 1;
        r = l = u = 0;
      }
      if (k == 0) {
        upper = u;
        excess = e;
        rhs = r;
        to_first[0] = l;
        continue;
      }
      const T own_e = e + l * of_excess, own_r = r + l * of_rhs, w = l * of_first, reciprocal = T(1) / (own_e + u + w);
      of_excess = own_e * reciprocal;
      of_rhs = d[k] = own_r * reciprocal;
      of_first = to_first[k] = w * reciprocal;
      to_next[k] = u * reciprocal;
      excess += upper * of_excess;
      rhs += upper * of_rhs;
      upper *= to_next[k];
    }
    if (line.cyclic && n > 1) {
      excess += to_first[0] * of_excess;
      rhs += to_first[0] * of_rhs;
    }
    d[0] = rhs / excess;
    T next = line.cyclic ? d[0] : T(0);
    for (int k = n - 1; k >= 1; --k) next = d[k] = d[k] + to_next[k] * next + to_first[k] * d[0];
    for (int t = line.targets_begin; t < line.targets_end; ++t) x[targets[t].node] += d[targets[t].number];
  }
};

template <class T>
struct CorrectTargets {
  const DistributedLinesOnHost::Target* targets;
  const T* d;
  T* x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int /*j*/) const {
    x[targets[k].node] += d[targets[k].number];
  }
};

/// The same of all lines on a CPU, into `first` and `last`.
template <class T>
STRATUM_SIMD_CLONES void sum_chunk(const ChunkSums<T> sums, const DistributedLinesOnHost::Chunk& chunk, T* first,
                                   T* last) {
  const PatchLineGroup& group = chunk.group;
  for (int m = 0; m < group.lines; ++m) first[m] = last[m] = 0;
  for (int s = group.segments_begin; s < group.segments_end; ++s) {
    const PatchSegment& segment = sums.segments[s];
    const int weights = chunk.weights + segment.start * chunk.of_node;
    for (int l = 0; l < segment.lanes; ++l) {
      const PatchLane lane = segment.lane[l];
      const int begin = lane.first + group.first_line * lane.across, step = group.step * lane.across;
      if (lane.along == 1 || lane.along == -1) {
        for (int m = 0; m < group.lines; ++m) {
          const T *to_first = sums.to_first + weights + m * chunk.of_line,
                  *to_last = sums.to_last + weights + m * chunk.of_line;
          T of_first = 0, of_last = 0;
#pragma omp simd reduction(+ : of_first, of_last)
          for (int k = 0; k <= segment.cells; ++k) {
            const T residual = sums.r.at(begin + m * step + k * lane.along, lane.pitch);
            of_first += to_first[k * chunk.of_node] * residual;
            of_last += to_last[k * chunk.of_node] * residual;
          }
          first[m] += of_first;
          last[m] += of_last;
        }
      } else {
        for (int k = 0; k <= segment.cells; ++k) {
          const T *to_first = sums.to_first + weights + k * chunk.of_node,
                  *to_last = sums.to_last + weights + k * chunk.of_node;
#pragma omp simd
          for (int m = 0; m < group.lines; ++m) {
            const T residual = sums.r.at(begin + m * step + k * lane.along, lane.pitch);
            first[m] += to_first[m * chunk.of_line] * residual;
            last[m] += to_last[m * chunk.of_line] * residual;
          }
        }
      }
    }
  }
}

#if defined(__CUDACC__)

// As many as a block can have: there are few chunks, and each round of loads takes a microsecond.
constexpr int chunk_threads = 1024;

/// A block for each chunk, whose threads its lines share equally: threads that are neighbours take nodes that are neighbours
/// in memory. Then blocks of nodes.
template <class T>
__global__ void __launch_bounds__(chunk_threads)
    send_kernel(const ChunkSums<T> sums, const DistributedLinesOnHost::Chunk* chunks, int chunk_count,
                const SendNodes<T> nodes, int node_count, T* to) {
  __shared__ T memory[2 * chunk_threads];
  cuda::after_previous();
  if (static_cast<int>(blockIdx.x) >= chunk_count) {
    const int k = (static_cast<int>(blockIdx.x) - chunk_count) * chunk_threads + static_cast<int>(threadIdx.x);
    if (k < node_count) nodes(k, 0);
    return;
  }
  const DistributedLinesOnHost::Chunk chunk = chunks[blockIdx.x];
  int lanes = 1;
  while (lanes < chunk.group.lines) lanes *= 2;
  const int self = static_cast<int>(threadIdx.x), parts = chunk_threads / lanes;
  const bool along_x = chunk.of_node == 1;
  const int m = along_x ? self / parts : self % lanes, part = along_x ? self % parts : self / lanes;
  typename ChunkSums<T>::Two own;
  if (m < chunk.group.lines) own = sums.of_line(chunk, m, part, parts);
  T *first = memory + m * parts, *last = first + chunk_threads;
  first[part] = own.first;
  last[part] = own.last;
  for (int width = parts / 2; width > 0; width /= 2) {
    __syncthreads();
    if (part < width) {
      first[part] += first[part + width];
      last[part] += last[part + width];
    }
  }
  if (part == 0 && m < chunk.group.lines) {
    to[chunk.sent + m] = first[0];
    to[chunk.sent + chunk.group.lines + m] = last[0];
  }
}

#endif

template <class T>
Field<T> rounded(Context& ctx, const std::vector<double>& numbers) {
  return vector_from_host(ctx, numbers.empty() ? std::vector<T>{0} : std::vector<T>(numbers.begin(), numbers.end()));
}

}  // namespace

template <class T>
DistributedLines<T>::DistributedLines(Context& ctx, const PatchLayout& layout, const DistributedLinesOnHost& from,
                                      const PatchLinePlan& own)
    : segments_(own.segments), chunks_(from.chunks), chunk_phases_(from.chunk_phases), node_phases_(from.node_phases),
      target_phases_(from.target_phases), summed_phases_(from.summed_phases), short_phases_(from.short_phases),
      to_first_(rounded<T>(ctx, from.to_first)), to_last_(rounded<T>(ctx, from.to_last)),
      nodes_(in_memory(ctx, from.nodes)), targets_(in_memory(ctx, from.targets)),
      short_lines_(in_memory(ctx, from.short_lines)), short_targets_(in_memory(ctx, from.short_targets)),
      a_(ctx, from.rows, from.fixed),
      lines_(ctx, layout, from.lines), b_{Field<T>(ctx, from.size)}, x_{Field<T>(ctx, from.size)} {
  for (const auto& counts : from.counts) numbers_.emplace_back(ctx, counts);
  std::vector<int> places;
  for (std::size_t phase = 0; phase < numbers_.size(); ++phase)
    for (int s = from.begin[static_cast<std::size_t>(from.number_phases[phase])];
         s < from.begin[static_cast<std::size_t>(from.number_phases[phase + 1])]; ++s) {
      const auto& source = from.sources[static_cast<std::size_t>(s)];
      places.push_back(numbers_[phase].place(source.rank, source.sent));
    }
  sources_ = vector_from_host(ctx, places.empty() ? std::vector<int>{0} : places);
  begin_ = vector_from_host(ctx, from.begin);
  summed_ = vector_from_host(ctx, from.summed.empty() ? std::vector<int>{0} : from.summed);
  if (!ctx.on_gpu()) return;
  segments_on_gpu_ = in_memory(ctx, segments_);
  chunks_on_gpu_ = in_memory(ctx, chunks_);
}

template <class T>
void DistributedLines<T>::relax_left(Context& ctx, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x,
                                     std::size_t phase) {
  NumbersOfRanks<T>& numbers = numbers_[phase];
  if (numbers.empty()) return;
  const auto over = [&](const std::vector<int>& phases) {
    return NodeRange<2>{phases[phase], phases[phase + 1], 1, 0, 1, 1};
  };
  const Residuals<T> residuals{a.bands(), b.numbers.view().data, x.numbers.view().data};
  T* const mine = numbers.mine();
  const int first = chunk_phases_[phase], end = chunk_phases_[phase + 1];
  const ChunkSums<T> sums{residuals,
                          ctx.on_gpu() ? static_cast<const PatchSegment*>(segments_on_gpu_.get()) : segments_.data(),
                          to_first_.view().data, to_last_.view().data};
  if (!ctx.on_gpu()) {
#pragma omp parallel for schedule(dynamic) num_threads(ctx.threads()) if (end - first > 1)
    for (int p = first; p < end; ++p) {
      const auto& chunk = chunks_[static_cast<std::size_t>(p)];
      sum_chunk(sums, chunk, mine + chunk.sent, mine + chunk.sent + chunk.group.lines);
    }
    for_each_node(ctx, over(node_phases_),
                  SendNodes<T>{residuals, static_cast<const DistributedLinesOnHost::Node*>(nodes_.get()), mine});
  }
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    const int nodes = node_phases_[phase + 1] - node_phases_[phase];
    const SendNodes<T> send{residuals,
                            static_cast<const DistributedLinesOnHost::Node*>(nodes_.get()) + node_phases_[phase], mine};
    const int blocks = end - first + (nodes + chunk_threads - 1) / chunk_threads;
    cuda::Launch{static_cast<unsigned>(blocks), chunk_threads}(
        ctx, send_kernel<T>, sums, static_cast<const DistributedLinesOnHost::Chunk*>(chunks_on_gpu_.get()) + first,
        end - first, send, nodes, mine);
  }
#endif
  numbers.gather(ctx);
  const int lines = short_phases_[phase + 1] - short_phases_[phase],
            summed = summed_phases_[phase + 1] - summed_phases_[phase];
  for_each_node(ctx, {0, lines + summed, 1, 0, 1, 1},
                SolveShortLines<T>{{sources_.view().data, begin_.view().data, numbers.all()},
                                   a_.bands(),
                                   static_cast<const DistributedLinesOnHost::ShortLine*>(short_lines_.get()) +
                                       short_phases_[phase],
                                   static_cast<const DistributedLinesOnHost::Target*>(short_targets_.get()),
                                   x.numbers.view().data,
                                   lines,
                                   summed_.view().data + summed_phases_[phase],
                                   b_.numbers.view().data,
                                   x_.numbers.view().data});
  if (summed == 0) return;
  lines_.relax(ctx, a_, b_, x_, static_cast<int>(phase));
  for_each_node(ctx, over(target_phases_),
                CorrectTargets<T>{static_cast<const DistributedLinesOnHost::Target*>(targets_.get()),
                                  x_.numbers.view().data, x.numbers.view().data});
}

template <class T>
void DistributedLines<T>::sweep(Context& ctx, PatchLines<T>& lines, const PatchOperator<T>& a, const Partial<T>& b,
                                Consistent<T>& x, bool backward) {
  if (ctx.is_dry_run()) return;
  const int all = lines.phases();
  for (int k = 0; k < all; ++k) {
    const int phase = backward ? all - 1 - k : k;
    relax_left(ctx, a, b, x, static_cast<std::size_t>(phase));
    lines.relax(ctx, a, b, x, phase);
  }
}

template class DistributedLines<float>;
template class DistributedLines<double>;

}  // namespace stratum
