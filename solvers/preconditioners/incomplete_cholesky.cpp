#include <stratum/solvers/preconditioners/incomplete_cholesky.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/solvers/preconditioner.hpp>
#if defined(__CUDACC__)
#include <stratum/core/device/launch.hpp>
#endif

namespace stratum {

void register_incomplete_cholesky(PreconditionerRegistry& registry);

namespace {

struct Factor {
  SparseRows lower;  // L, strictly below the diagonal
  std::vector<double> pivots;
};

/// Row by row: l_ij d_j = a_ij - sum over k < j of l_ik d_k l_jk on the pattern of a, d_i = a_ii - sum of l_ik^2 d_k.
Factor factorise(const SparseRows& a, const std::vector<int>& blocks, double shift) {
  Factor f;
  f.lower.rows = f.lower.columns = a.rows;
  f.pivots.resize(static_cast<std::size_t>(a.rows));
  auto& l = f.lower;
  std::size_t block = 0;
  for (int i = 0; i < a.rows; ++i) {
    if (i == blocks[block + 1]) ++block;
    const int first = blocks[block];
    const auto begin = l.value.size();
    double diagonal = 0;
    for (int k = a.start[static_cast<std::size_t>(i)]; k < a.start[static_cast<std::size_t>(i) + 1]; ++k) {
      const int j = a.column[static_cast<std::size_t>(k)];
      const double a_ij = a.value[static_cast<std::size_t>(k)];
      if (j == i) diagonal = a_ij;
      if (j < first || j >= i) continue;
      // Row i as far as it is known and row j, both with increasing columns.
      double sum = a_ij;
      auto p = begin;
      auto q = static_cast<std::size_t>(l.start[static_cast<std::size_t>(j)]);
      const auto q_end = static_cast<std::size_t>(l.start[static_cast<std::size_t>(j) + 1]);
      while (p < l.value.size() && q < q_end) {
        if (l.column[p] == l.column[q])
          sum -= l.value[p] * f.pivots[static_cast<std::size_t>(l.column[p])] * l.value[q];
        const int column_p = l.column[p], column_q = l.column[q];
        p += column_p <= column_q ? 1 : 0;
        q += column_q <= column_p ? 1 : 0;
      }
      l.column.push_back(j);
      l.value.push_back(sum / f.pivots[static_cast<std::size_t>(j)]);
    }
    double pivot = diagonal * (1 + shift);
    for (auto k = begin; k < l.value.size(); ++k)
      pivot -= l.value[k] * l.value[k] * f.pivots[static_cast<std::size_t>(l.column[k])];
    breaks_down_unless(pivot > std::numeric_limits<double>::epsilon() * std::abs(diagonal) && std::isfinite(pivot),
                       "incomplete Cholesky breaks down in row ", a.first_row + i, ": the pivot is ", pivot,
                       " where the diagonal is ", diagonal,
                       shift > 0 ? ", even with a shift of " : "; the matrix is indefinite, or wants a shift above ",
                       shift, " (0.001, 0.01, ...)");
    f.pivots[static_cast<std::size_t>(i)] = pivot;
    l.start.push_back(static_cast<int>(l.value.size()));
  }
  return f;
}

/// First rows of the blocks, and the end.
std::vector<int> block_beginnings(int rows, const IncompleteCholeskyParams& params) {
  const int size = params.block_size > 0 ? params.block_size : std::max(rows, 1);
  const std::int64_t count = params.blocks > 0 ? params.blocks : (std::int64_t{rows} + size - 1) / size;
  std::vector<int> begin;
  for (std::int64_t b = 0; b < count; ++b)
    begin.push_back(static_cast<int>(params.blocks > 0 ? b * rows / count : b * size));
  begin.push_back(rows);
  return begin;
}

/// The entry of row i in the column of the row that is solved before it, if that may be a link of a chain; else -1. Factors up
/// to one: products of many of them stay in range.
int possible_link(const SparseRows& triangle, int i, bool backward) {
  const auto row = static_cast<std::size_t>(i);
  if (triangle.start[row] == triangle.start[row + 1]) return -1;
  const int k = backward ? triangle.start[row] : triangle.start[row + 1] - 1;
  const auto entry = static_cast<std::size_t>(k);
  return triangle.column[entry] == (backward ? i + 1 : i - 1) && std::abs(triangle.value[entry]) <= 1 ? k : -1;
}

/// Rows in the order in which they are solved, block by block: where steps begin, and the first step of every block. A row's
/// step is one above its highest predecessor's, or that of the row before where that is linked to it.
struct Steps {
  std::vector<int> rows, begin, of_block;

  /// The most parts of `part` rows that the steps of a block make.
  [[nodiscard]] int parts(int part) const {
    int most = 0;
    for (std::size_t b = 0; b + 1 < of_block.size(); ++b) {
      int own = 0;
      for (auto s = static_cast<std::size_t>(of_block[b]); s < static_cast<std::size_t>(of_block[b + 1]); ++s)
        own += (begin[s + 1] - begin[s] + part - 1) / part;
      most = std::max(most, own);
    }
    return most;
  }
  [[nodiscard]] int widest() const {
    int most = 0;
    for (std::size_t s = 0; s + 1 < begin.size(); ++s) most = std::max(most, begin[s + 1] - begin[s]);
    return most;
  }
};

Steps find_steps(const SparseRows& triangle, const std::vector<int>& blocks, bool backward, bool linked) {
  Steps steps;
  const auto n = static_cast<std::size_t>(triangle.rows);
  steps.rows.resize(n);
  std::vector<int> step(n);
  for (std::size_t b = 0; b + 1 < blocks.size(); ++b) {
    const int first = blocks[b], end = blocks[b + 1];
    const auto in_order = [&](int m) { return static_cast<std::size_t>(backward ? first + end - 1 - m : m); };
    steps.of_block.push_back(static_cast<int>(steps.begin.size()));
    std::vector<int> next;  // places of the rows of each step
    for (int m = first; m < end; ++m) {
      const auto i = in_order(m);
      const int link = linked ? possible_link(triangle, static_cast<int>(i), backward) : -1;
      int own = 0;
      for (int k = triangle.start[i]; k < triangle.start[i + 1]; ++k)
        own = std::max(own, step[static_cast<std::size_t>(triangle.column[static_cast<std::size_t>(k)])] +
                                (k == link ? 0 : 1));
      step[i] = own;
      if (static_cast<std::size_t>(own) >= next.size()) next.push_back(0);
      ++next[static_cast<std::size_t>(own)];
    }
    int place = first;
    for (int& count : next) {
      steps.begin.push_back(place);
      place += count;
      count = steps.begin.back();
    }
    for (int m = first; m < end; ++m) {
      const auto i = in_order(m);
      steps.rows[static_cast<std::size_t>(next[static_cast<std::size_t>(step[i])]++)] = static_cast<int>(i);
    }
  }
  steps.of_block.push_back(static_cast<int>(steps.begin.size()));
  steps.begin.push_back(triangle.rows);
  return steps;
}

/// The rows of a triangle in the order of the steps, and the links, taken out of them.
struct Ordered {
  SparseRows rows;
  std::vector<double> link;
};

Ordered in_order(const SparseRows& triangle, const Steps& steps, bool backward, bool linked) {
  Ordered ordered;
  ordered.rows.rows = ordered.rows.columns = triangle.rows;
  for (std::size_t s = 0; s + 1 < steps.begin.size(); ++s)
    for (int m = steps.begin[s]; m < steps.begin[s + 1]; ++m) {
      const int i = steps.rows[static_cast<std::size_t>(m)];
      int link = linked ? possible_link(triangle, i, backward) : -1;
      if (m == steps.begin[s] || steps.rows[static_cast<std::size_t>(m) - 1] != (backward ? i + 1 : i - 1)) link = -1;
      for (int k = triangle.start[static_cast<std::size_t>(i)]; k < triangle.start[static_cast<std::size_t>(i) + 1];
           ++k) {
        if (k == link) continue;
        ordered.rows.column.push_back(triangle.column[static_cast<std::size_t>(k)]);
        ordered.rows.value.push_back(triangle.value[static_cast<std::size_t>(k)]);
      }
      ordered.rows.start.push_back(static_cast<int>(ordered.rows.value.size()));
      ordered.link.push_back(link < 0 ? 0 : -triangle.value[static_cast<std::size_t>(link)]);
    }
  return ordered;
}

/// The number of unknown k on the grid.
template <class X>
STRATUM_HOST_DEVICE STRATUM_INLINE auto& number(const X& x, int k) {
  return x.ny == 1 ? x.data[k] : x(k % x.nx, k / x.nx);
}

/// z_i = r_i - sum over j of l_ij z_j, and z_i = z_i / d_i - sum over j of l_ji z_j.
template <bool backward, class T>
struct SolveRow {
  CsrView<T> triangle;
  const T* inverse_pivots;
  FieldView<const T> r;
  FieldView<T> z;
  const int* rows = nullptr;  // in the order of the triangle, on a GPU

  /// Row i, which is number m of the triangle.
  STRATUM_HOST_DEVICE STRATUM_INLINE void row(int i, int m) const {
    T sum = backward ? inverse_pivots[i] * number(z, i) : number(r, i);
    for (int k = triangle.start[m]; k < triangle.start[m + 1]; ++k)
      sum -= triangle.value[k] * number(z, triangle.column[k]);
    number(z, i) = sum;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int m, int /*j*/) const { row(rows[m], m); }
};

constexpr int most_threads = 1024;

#if defined(__CUDACC__)

constexpr int warp = 32, most_warps = most_threads / warp;

template <class T>
struct StepsView {
  CsrView<T> triangle;
  const T* link;
  const int *rows, *steps, *of_block;
};

/// The numbers of a block, where it is solved: in shared memory, or in z.
template <bool in_shared, class T>
struct Numbers {
  T* shared;
  int first;
  FieldView<T> z;

  __device__ STRATUM_INLINE T& operator()(int i) const {
    if constexpr (in_shared)
      return shared[i - first];
    else
      return number(z, i);
  }
};

/// The maps z -> factor z + sum of the lanes up to each, one after the other.
template <class T>
__device__ STRATUM_INLINE void compose(T& factor, T& sum) {
  const int lane = static_cast<int>(threadIdx.x) % warp;
#pragma unroll
  for (int distance = 1; distance < warp; distance *= 2) {
    const T factor_before = __shfl_up_sync(~0U, factor, distance), sum_before = __shfl_up_sync(~0U, sum, distance);
    if (lane >= distance) {
      sum += factor * sum_before;
      factor *= factor_before;
    }
  }
}

/// x <- (I + triangle)^-1 x by all threads of a block, step by step, in parts of a row a thread. `totals`: the maps of whole
/// warps.
template <class T, class X>
__device__ STRATUM_INLINE void solve_steps(const StepsView<T>& a, const X& x, T* totals) {
  const auto threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp, own_warp = thread / warp, warps = threads / warp;
  const auto block = static_cast<int>(blockIdx.x);
  for (int step = a.of_block[block]; step < a.of_block[block + 1]; ++step) {
    const int end = a.steps[step + 1];
    for (int begin = a.steps[step]; begin < end; begin += threads) {
      const int m = begin + thread;
      int i = 0;
      T factor = 0, sum = 0;
      if (m < end) {
        i = a.rows[m];
        factor = a.link[m];
        sum = x(i);
        for (int k = a.triangle.start[m]; k < a.triangle.start[m + 1]; ++k)
          sum -= a.triangle.value[k] * x(a.triangle.column[k]);
        if (thread == 0 && factor != 0) {  // the row before is in the part before, solved
          sum += factor * x(a.rows[m - 1]);
          factor = 0;
        }
      }
      compose(factor, sum);
      if (lane == warp - 1) {
        totals[own_warp] = factor;
        totals[most_warps + own_warp] = sum;
      }
      __syncthreads();
      T factor_of_warps = lane < warps ? totals[lane] : T(0);
      T sum_of_warps = lane < warps ? totals[most_warps + lane] : T(0);
      compose(factor_of_warps, sum_of_warps);
      const T before = __shfl_sync(~0U, sum_of_warps, (own_warp + warp - 1) % warp);
      if (m < end) x(i) = own_warp == 0 ? sum : sum + factor * before;
      __syncthreads();
    }
  }
}

/// A thread block for every block.
template <bool in_shared, class T>
__global__ void __launch_bounds__(most_threads)
    solve_blocks_kernel(const int* blocks, const StepsView<T> lower, const StepsView<T> upper, const T* inverse_pivots,
                        const FieldView<const T> r, const FieldView<T> z) {
  cuda::after_previous();
  extern __shared__ __align__(16) unsigned char memory[];
  T* const totals = reinterpret_cast<T*>(memory);
  const int first = blocks[blockIdx.x], end = blocks[blockIdx.x + 1];
  const auto threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const Numbers<in_shared, T> x{totals + 2 * most_warps, first, z};
  for (int i = first + thread; i < end; i += threads) x(i) = number(r, i);
  __syncthreads();
  solve_steps(lower, x, totals);
  for (int i = first + thread; i < end; i += threads) x(i) *= inverse_pivots[i];
  __syncthreads();
  solve_steps(upper, x, totals);
  if constexpr (in_shared)
    for (int i = first + thread; i < end; i += threads) number(z, i) = x(i);
}

#endif

}  // namespace

template <class T>
typename IncompleteCholesky<T>::Triangle IncompleteCholesky<T>::upload(Context& ctx, const SparseRows& triangle,
                                                                       bool backward) const {
  const auto narrow = [](const std::vector<double>& values) { return std::vector<T>(values.begin(), values.end()); };
  const auto put = [&](const SparseRows& rows) {
    return Triangle{vector_from_host(ctx, rows.start),
                    vector_from_host(ctx, rows.column),
                    vector_from_host(ctx, narrow(rows.value)),
                    {},
                    {},
                    {},
                    {},
                    {}};
  };
  if (!ctx.on_gpu()) return put(triangle);
  // Launch by launch the blocks take their steps together.
  const auto together = std::vector<int>{0, triangle.rows};
  const auto steps = find_steps(triangle, one_launch_ ? blocks_ : together, backward, one_launch_);
  const auto ordered = in_order(triangle, steps, backward, one_launch_);
  Triangle t = put(ordered.rows);
  t.rows = vector_from_host(ctx, steps.rows);
  if (!one_launch_) {
    t.launches = steps.begin;
    return t;
  }
  t.link = vector_from_host(ctx, narrow(ordered.link));
  t.steps = vector_from_host(ctx, steps.begin);
  t.steps_of_block = vector_from_host(ctx, steps.of_block);
  return t;
}

template <class T>
IncompleteCholesky<T>::IncompleteCholesky(Context& ctx, const GridLayout<2>& shape, const SparseRows& a,
                                          const IncompleteCholeskyParams& params)
    : shape_(shape) {
  expects(params.block_size >= 0, "a block has 1 row or more (0: all), not ", params.block_size);
  expects(params.blocks >= 0 && params.blocks <= std::max(a.rows, 1), "a matrix of ", a.rows,
          " rows has no more blocks than rows, and 1 or more (0: by their size), not ", params.blocks);
  expects(params.blocks == 0 || params.block_size == 0, "either the size of the blocks is given, or their number, not ",
          params.block_size, " and ", params.blocks);
  expects(params.shift >= 0 && std::isfinite(params.shift), "the shift must be from 0 on, not ", params.shift);
  a.validate();
  expects(shape.nodes() == a.rows, "a matrix of ", a.rows, " rows for vectors of ", shape.nodes());
  expects(a.is_symmetric(1e-12), "incomplete Cholesky needs a symmetric matrix; use jacobi or none");
  blocks_ = block_beginnings(a.rows, params);
  const auto factor = factorise(a, blocks_, params.shift);
  const auto upper = transposed(factor.lower);
  // Turned over, a chain is as long.
  levels_ = static_cast<int>(find_steps(factor.lower, {0, a.rows}, false, false).begin.size()) - 1;
  if (ctx.on_gpu()) {
    const auto forward = find_steps(factor.lower, blocks_, false, true),
               backward = find_steps(upper, blocks_, true, true);
    one_launch_ = forward.parts(most_threads) + backward.parts(most_threads) <= 2 * levels_;
    const int widest = std::min(most_threads, std::max(forward.widest(), backward.widest()));
    threads_ = static_cast<unsigned>((std::max(widest, 1) + 31) / 32 * 32);
    device_blocks_ = vector_from_host(ctx, blocks_);
  }
  lower_ = upload(ctx, factor.lower, false);
  upper_ = upload(ctx, upper, true);
  std::vector<T> inverse(factor.pivots.size());
  for (std::size_t i = 0; i < inverse.size(); ++i) inverse[i] = static_cast<T>(1 / factor.pivots[i]);
  inverse_pivots_ = vector_from_host(ctx, inverse);
}

/// In one launch, on a GPU.
template <class T>
void IncompleteCholesky<T>::solve_blocks([[maybe_unused]] Context& ctx, [[maybe_unused]] FieldView<const T> r,
                                         [[maybe_unused]] FieldView<T> z) const {
#if defined(__CUDACC__)
  if (ctx.is_dry_run()) return;
  const auto view = [](const Triangle& t) {
    return StepsView<T>{{t.start.view().data, t.column.view().data, t.value.view().data},
                        t.link.view().data,
                        t.rows.view().data,
                        t.steps.view().data,
                        t.steps_of_block.view().data};
  };
  int largest = 0;
  for (std::size_t b = 0; b + 1 < blocks_.size(); ++b) largest = std::max(largest, blocks_[b + 1] - blocks_[b]);
  const std::size_t totals = 2 * most_warps * sizeof(T);
  cuda::Launch launch{static_cast<unsigned>(blocks()), threads_,
                      totals + static_cast<std::size_t>(largest) * sizeof(T)};
  const bool in_shared = launch.fits();
  if (!in_shared) launch.bytes = totals;
  launch(ctx, in_shared ? solve_blocks_kernel<true, T> : solve_blocks_kernel<false, T>, device_blocks_.view().data,
         view(lower_), view(upper_), inverse_pivots_.view().data, r, z);
#endif
}

template <class T>
void IncompleteCholesky<T>::apply(Context& ctx, FieldView<const T> r, FieldView<T> z) {
  expects_fit(ctx, "r", r, shape_);
  expects_fit(ctx, "z", z, shape_);
  if (one_launch_) return solve_blocks(ctx, r, z);
  const auto view = [](const Triangle& t) {
    return CsrView<T>{t.start.view().data, t.column.view().data, t.value.view().data};
  };
  const T* pivots = inverse_pivots_.view().data;
  const SolveRow<false, T> forward{view(lower_), pivots, r, z, lower_.rows.view().data};
  const SolveRow<true, T> backward{view(upper_), pivots, r, z, upper_.rows.view().data};
  if (ctx.on_gpu()) {
    recording_.run(ctx, r.data, z.data, [&] {
      const auto step_by_step = [&ctx](const std::vector<int>& begin, const auto& solve) {
        for (std::size_t k = 0; k + 1 < begin.size(); ++k)
          for_each_node(ctx, {begin[k], begin[k + 1], 1, 0, 1, 1}, solve);
      };
      step_by_step(lower_.launches, forward);
      step_by_step(upper_.launches, backward);
    });
    return;
  }
  const int n = static_cast<int>(shape_.nodes());
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (n > serial_limit && blocks() > 1)
  for (int block = 0; block < blocks(); ++block) {
    const auto b = static_cast<std::size_t>(block);
    for (int i = blocks_[b]; i < blocks_[b + 1]; ++i) forward.row(i, i);
    for (int i = blocks_[b + 1] - 1; i >= blocks_[b]; --i) backward.row(i, i);
  }
}

template class IncompleteCholesky<float>;
template class IncompleteCholesky<double>;

namespace {

template <class T>
std::unique_ptr<Preconditioner<T>> make_ic(Context& ctx, const GridLayout<2>& shape,
                                           const PreconditionerParams& params) {
  return std::make_unique<IncompleteCholesky<T>>(ctx, shape, params.matrix,
                                                 IncompleteCholeskyParams{.shift = params.incomplete_cholesky.shift});
}

template <class T>
std::unique_ptr<Preconditioner<T>> make_block_ic(Context& ctx, const GridLayout<2>& shape,
                                                 const PreconditionerParams& params) {
  IncompleteCholeskyParams blocks = params.incomplete_cholesky;
  if (blocks.block_size == 0 && blocks.blocks == 0) blocks.block_size = IncompleteCholeskyParams::usual_block_size;
  return std::make_unique<IncompleteCholesky<T>>(ctx, shape, params.matrix, blocks);
}

}  // namespace

void register_incomplete_cholesky(PreconditionerRegistry& registry) {
  registry.add(
      {{.symmetric = true}, "ic", "incomplete Cholesky without fill: A symmetric", make_ic<float>, make_ic<double>});
  registry.add({{.symmetric = true},
                "block-ic",
                "incomplete Cholesky in independent blocks of rows, which run in parallel: A symmetric",
                make_block_ic<float>,
                make_block_ic<double>});
}

}  // namespace stratum
