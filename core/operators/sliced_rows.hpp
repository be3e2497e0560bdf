#pragma once

// Sparse rows in slices, for GPUs. A slice has as many rows as a warp has threads, or a quarter of them with four threads per
// row. The entries of a slice are interleaved, so that every load of values and columns is contiguous. A slice is as long as
// its longest row and padded with zeros. Rows may be in groups, for example the colours of a smoother; each group begins a new
// slice. Sums are formed in a fixed order. Nothing waits for the stream. For sources that are compiled as CUDA if there is
// CUDA; without CUDA nothing is launched.
//
// Source: A. Monakov, A. Lokhmotov, A. Avetisyan, Automatically tuning sparse matrix-vector multiplication for GPU
// architectures, 2010 (sliced ELLPACK).

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#if defined(__CUDACC__)
#include <stratum/core/device/launch.hpp>
#endif

namespace stratum {

/// What kernels see. Step s of a slice has entries 32 s .. 32 s + 31, one a thread.
template <class T>
struct SlicedView {
  const int* start;  // of slices, in steps
  const int* row;    // of the places of slices; below zero: none
  const int* column;
  const T* value;
  int lanes;  // threads a row
};

#if defined(__CUDACC__)
namespace detail {

/// A warp a slice; finish(i, sum of row i).
template <int lanes, class T, class Finish>
__global__ void sliced_kernel(const SlicedView<T> a, const T* x, int first, int last, const Finish finish) {
  constexpr int warp = 32, rows = warp / lanes;
  const int slice = first + static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / warp);
  const int lane = static_cast<int>(threadIdx.x) % warp;
  if (slice >= last) {
    cuda::after_previous();
    return;
  }
  // Of the matrix, which no kernel writes.
  const int begin = a.start[slice], end = a.start[slice + 1];
  const int i = lane < rows ? a.row[slice * rows + lane] : -1;
  cuda::after_previous();
  T sum = 0;
#pragma unroll 4
  for (int step = begin; step < end; ++step) {
    const std::int64_t k = std::int64_t{step} * warp + lane;
    sum += a.value[k] * x[a.column[k]];
  }
#pragma unroll
  for (int distance = warp / 2; distance >= rows; distance /= 2) sum += __shfl_down_sync(~0U, sum, distance);
  if (i >= 0) finish(i, sum);
}

}  // namespace detail
#endif

template <class T>
class SlicedRows {
 public:
  SlicedRows() = default;
  /// Threads a row that keep a GPU busy with so many rows at a time.
  [[nodiscard]] static int usual_lanes(std::int64_t rows) { return rows >= 60'000 ? 1 : 4; }
  /// Groups of rows in any order; those of a that are in none are left out. Empty: all rows, in their order. lanes: 1 or 4.
  SlicedRows(Context& ctx, const SparseRows& a, int lanes, const std::vector<std::vector<int>>& groups = {});

  [[nodiscard]] int groups() const { return static_cast<int>(group_.size()) - 1; }
  [[nodiscard]] SlicedView<T> view() const {
    return {start_.cview().data, row_.cview().data, column_.cview().data, value_.cview().data, lanes_};
  }
  /// Steps of 32 entries, zeros among them, that this would take.
  [[nodiscard]] static std::int64_t steps(const SparseRows& a, int lanes);

#if defined(__CUDACC__)
  /// finish(i, (A x)_i) for the rows of groups first .. last - 1.
  template <class Finish>
  void run(Context& ctx, int first, int last, const T* x, const Finish& finish) const {
    if (ctx.is_dry_run()) return;
    const int begin = group_[static_cast<std::size_t>(first)], end = group_[static_cast<std::size_t>(last)];
    constexpr int threads = 128;
    const auto blocks = static_cast<unsigned>((std::int64_t{end - begin} * 32 + threads - 1) / threads);
    const SlicedView<T> a = view();
    const auto launch = [&](auto kernel) { cuda::Launch{blocks, threads}(ctx, kernel, a, x, begin, end, finish); };
    if (lanes_ == 1) return launch(detail::sliced_kernel<1, T, Finish>);
    launch(detail::sliced_kernel<4, T, Finish>);
  }
  template <class Finish>
  void run(Context& ctx, const T* x, const Finish& finish) const {
    run(ctx, 0, groups(), x, finish);
  }
#endif

 private:
  int lanes_ = 1;
  std::vector<int> group_;  // slices
  SharedField<int> start_, row_, column_;
  SharedField<T> value_;
};

template <class T>
std::int64_t SlicedRows<T>::steps(const SparseRows& a, int lanes) {
  const int rows = 32 / lanes;
  std::int64_t count = 0;
  for (int first = 0; first < a.rows; first += rows) {
    int longest = 0;
    for (int i = first; i < std::min(a.rows, first + rows); ++i)
      longest = std::max(longest, a.start[static_cast<std::size_t>(i) + 1] - a.start[static_cast<std::size_t>(i)]);
    count += (longest + lanes - 1) / lanes;
  }
  return count;
}

template <class T>
SlicedRows<T>::SlicedRows(Context& ctx, const SparseRows& a, int lanes, const std::vector<std::vector<int>>& groups)
    : lanes_(lanes), group_{0} {
  const auto rows = static_cast<std::size_t>(32 / lanes);
  std::vector<int> row;
  if (groups.empty()) {
    row.resize((static_cast<std::size_t>(a.rows) + rows - 1) / rows * rows, -1);
    for (int i = 0; i < a.rows; ++i) row[static_cast<std::size_t>(i)] = i;
    group_.push_back(static_cast<int>(row.size() / rows));
  }
  for (const auto& group : groups) {
    row.insert(row.end(), group.begin(), group.end());
    row.resize((row.size() + rows - 1) / rows * rows, -1);
    group_.push_back(static_cast<int>(row.size() / rows));
  }
  std::vector<int> start{0};
  for (std::size_t first = 0; first < row.size(); first += rows) {
    int longest = 0;
    for (std::size_t l = first; l < first + rows; ++l)
      if (row[l] >= 0) {
        const auto i = static_cast<std::size_t>(row[l]);
        longest = std::max(longest, a.start[i + 1] - a.start[i]);
      }
    start.push_back(start.back() + (longest + lanes - 1) / lanes);
  }
  // Not set to zero first: all of it is written, by the threads that there are. Padding multiplies x at a column that its row
  // has, or 0: a NaN there does not stay alone in any case.
  const auto size = static_cast<std::size_t>(start.back()) * 32;
  expects(size <= static_cast<std::size_t>(std::numeric_limits<int>::max()), size, " numbers in slices are too many");
  const std::unique_ptr<int[]> column(new int[size]);  // NOLINT(modernize-avoid-c-arrays)
  const std::unique_ptr<T[]> value(new T[size]);       // NOLINT(modernize-avoid-c-arrays)
  const auto slices = static_cast<int>(start.size()) - 1;
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (int slice = 0; slice < slices; ++slice) {
    auto at = static_cast<std::size_t>(start[static_cast<std::size_t>(slice)]) * 32;
    const int* const of_slice = &row[static_cast<std::size_t>(slice) * rows];
    for (int k = 0; k < (start[static_cast<std::size_t>(slice) + 1] - start[static_cast<std::size_t>(slice)]) * lanes;
         ++k)
      for (std::size_t l = 0; l < rows; ++l, ++at) {
        const int i = of_slice[l];
        const int begin = i < 0 ? 0 : a.start[static_cast<std::size_t>(i)];
        const int own = i < 0 ? 0 : a.start[static_cast<std::size_t>(i) + 1] - begin;
        const auto from = static_cast<std::size_t>(begin + std::min(k, own - 1));
        column[at] = own > 0 ? a.column[from] : 0;
        value[at] = k < own ? static_cast<T>(a.value[from]) : T(0);
      }
  }
  const auto copied = [&ctx, size](const auto* numbers) {
    Field<std::remove_cvref_t<decltype(*numbers)>> copy(ctx, static_cast<int>(size));
    copy_from_host(ctx, numbers, copy.view());
    return copy;
  };
  start_ = vector_from_host(ctx, start);
  row_ = vector_from_host(ctx, row);
  column_ = copied(column.get());
  value_ = copied(value.get());
}

}  // namespace stratum
