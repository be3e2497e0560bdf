#pragma once

// Reductions: sums and largest values of a functor over the nodes of a grid, in double,
//
//     reduce(ctx, nx, ny, term)       sum of term(i, j), or the largest if Term::takes_maximum: at least 0 unless
//                                     Term::of_any_sign
//     norm_of(ctx, nx, ny, value)     square root of the sum of value(i, j)^2, in the whole range of double
//     largest_of(ctx, nx, ny, value)  max |value(i, j)|; NaN if any is
//
// Functors are named types with STRATUM_HOST_DEVICE STRATUM_INLINE members, and `hot` if iterations reduce them, as for
// for_each_node. Partial sums belong to rows (to parts of the row if there is only one), not to threads, and are added in
// order: the same input gives the same bits on any number of threads. On the CPU the sums of rows are added without rounding
// (core/field/exact_sum.hpp), so that any partition into rows gives the same bits. The host receives the result and waits for
// it. For sources that are compiled as CUDA if there is CUDA.

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <vector>

#include <stratum/core/field/exact_sum.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace detail {

template <class Term>
STRATUM_HOST_DEVICE STRATUM_INLINE double combine(double a, double b) {
  if constexpr (Term::takes_maximum)
    return (b > a || b != b) ? b : a;  // a NaN stays
  else
    return a + b;
}

template <class Term>
concept OfAnySign = requires {
  requires Term::of_any_sign;
};

/// What combined with a number leaves it as it is.
template <class Term>
STRATUM_HOST_DEVICE STRATUM_INLINE constexpr double neutral() {
  if constexpr (OfAnySign<Term>)
    return -HUGE_VAL;
  else
    return 0;
}

template <class Term>
STRATUM_INLINE double sum_of_row(const Term& term, int begin, int end, int j) {
  // Eight partial sums in a fixed order, whatever the vector length: the compiler may not reorder them. Of maxima, which take
  // longer, four times as many.
  constexpr int parts = Term::takes_maximum ? 32 : 8;
  double part[parts];
  for (double& number : part) number = neutral<Term>();
  int i = begin;
  for (; i + parts <= end; i += parts)
    for (int k = 0; k < parts; ++k) part[k] = combine<Term>(part[k], term(i + k, j));
  for (int k = 0; i < end; ++i, ++k) part[k] = combine<Term>(part[k], term(i, j));
  for (int width = parts / 2; width > 0; width /= 2)
    for (int k = 0; k < width; ++k) part[k] = combine<Term>(part[k], part[k + width]);
  return part[0];
}
template <class Term>
double reduce_cold_row(const Term term, int begin, int end, int j) {
  return sum_of_row(term, begin, end, j);
}
template <class Term>
STRATUM_SIMD_CLONES double reduce_hot_row(const Term term, int begin, int end, int j) {
  return sum_of_row(term, begin, end, j);
}
template <class Term>
double reduce_row(const Term& term, int begin, int end, int j) {
  if constexpr (Hot<Term>)
    return reduce_hot_row(term, begin, end, j);
  else
    return reduce_cold_row(term, begin, end, j);
}

/// What the CPU reduces separately and adds up in order: rows, or parts of a row that is alone.
struct RowParts {
  int nx, ny;
  [[nodiscard]] int count() const { return ny == 1 ? (nx - 1) / row_part + 1 : ny; }
  /// Columns begin .. end - 1 of row j.
  struct Part {
    int begin, end, j;
  };
  [[nodiscard]] Part part(int k) const {
    if (ny != 1) return {0, nx, k};
    return {k * row_part, k + 1 < count() ? (k + 1) * row_part : nx, 0};
  }
  template <class Term>
  [[nodiscard]] double reduce(const Term& term, int k) const {
    const auto [begin, end, j] = part(k);
    return reduce_row(term, begin, end, j);
  }
};

template <class Term>
struct Largest {
  double number = neutral<Term>();
  void add(double x) { number = combine<Term>(number, x); }
  void add(const Largest& other) { add(other.number); }
  [[nodiscard]] double value() const { return number; }
};

/// What the CPU combines the results of rows in, and those of subdomains: in any order the same bits.
template <class Term>
using Total = std::conditional_t<Term::takes_maximum, Largest<Term>, ExactSum>;

/// Totals of all subdomains.
template <class T>
void add_subdomains(const Context& ctx, std::span<T> totals) {
  if (ctx.communicator() == nullptr) return;
  auto& communicator = *ctx.communicator();
  std::vector<T> all(totals.size() * static_cast<std::size_t>(communicator.size()));
  communicator.gather_on_host(totals.data(), all.data(), totals.size_bytes());
  std::copy_n(all.begin(), totals.size(), totals.begin());
  for (std::size_t k = totals.size(); k < all.size(); ++k) totals[k % totals.size()].add(all[k]);
}
/// Of `count` rows' results, on all subdomains.
template <class Term>
double total_of(const Context& ctx, const double* partial, int count) {
  Total<Term> total;
  for (int k = 0; k < count; ++k) total.add(partial[k]);
  add_subdomains(ctx, std::span(&total, 1));
  return total.value();
}

#if defined(__CUDACC__)

constexpr int reduction_threads = 256;
constexpr int reduction_blocks = 1024;
constexpr int reduction_unroll = 8;  // loads of a thread that are in flight together
constexpr int row_unroll = 4;        // the same in a row that is alone

/// Blocks, and so partial sums, of a grid of ny rows.
inline int reduction_grid(int ny) { return ny == 1 ? reduction_blocks : std::clamp(ny, 1, reduction_blocks); }

/// Adds `value` over the block in a fixed tree; all threads have the result.
template <class Term>
__device__ double reduce_block(double value) {
  __shared__ double part[reduction_threads];
  part[threadIdx.x] = value;
  __syncthreads();
  for (int width = reduction_threads / 2; width > 0; width /= 2) {
    if (static_cast<int>(threadIdx.x) < width)
      part[threadIdx.x] = combine<Term>(part[threadIdx.x], part[threadIdx.x + width]);
    __syncthreads();
  }
  return part[0];
}

/// What a thread works with: the term itself, or `begun()` of one that has something to read first.
template <class Term>
__device__ auto begun(const Term& term) {
  if constexpr (requires { term.begun(); })
    return term.begun();
  else
    return term;
}

/// Threads of a block that share a row of so many numbers, a power of two. The others have rows of their own.
__host__ __device__ inline int threads_of_row(int numbers) {
  int threads = reduction_threads;
  while (threads > 1 && threads / 2 >= numbers) threads /= 2;
  return threads;
}

/// How a grid is taken: a row that is alone by columns; rows one after the other, or several at once, whatever has more loads
/// of a thread in flight.
enum class RowsOf { one, after_another, at_once };
inline RowsOf rows_taken(int nx, int ny) {
  if (ny == 1) return RowsOf::one;
  const int rows = reduction_threads / threads_of_row(nx) * reduction_grid(ny);
  return cuda::divide_up(nx, reduction_threads) < std::min(reduction_unroll, ny / rows) ? RowsOf::at_once
                                                                                        : RowsOf::after_another;
}

/// Block k takes rows k, k + blocks, ...; of a row that is alone, columns. Kernels of their own: all loops in one take more
/// registers, and with more than 32 a GPU does not hold all blocks at once.
template <class Term, RowsOf rows>
__global__ void reduce_rows(const Term given, int nx, int ny, double* partial) {
  cuda::after_previous();
  const auto term = begun(given);
  double value = neutral<Term>();
  if constexpr (rows == RowsOf::one) {
    const int stride = static_cast<int>(gridDim.x * blockDim.x);
    std::int64_t begin = blockIdx.x * blockDim.x + threadIdx.x;
    for (; begin + std::int64_t{row_unroll - 1} * stride < nx; begin += std::int64_t{row_unroll} * stride) {
      double terms[row_unroll];
#pragma unroll
      for (int k = 0; k < row_unroll; ++k) terms[k] = term(static_cast<int>(begin) + k * stride, 0);
#pragma unroll
      for (int k = 0; k < row_unroll; ++k) value = combine<Term>(value, terms[k]);
    }
    for (; begin < nx; begin += stride) value = combine<Term>(value, term(static_cast<int>(begin), 0));
  } else if constexpr (rows == RowsOf::at_once) {
    const int of_row = threads_of_row(nx), together = reduction_threads / of_row;
    const int stride = together * static_cast<int>(gridDim.x);
    const int first = together * static_cast<int>(blockIdx.x) + static_cast<int>(threadIdx.x) / of_row;
    for (int i = static_cast<int>(threadIdx.x) % of_row; i < nx; i += of_row) {
      std::int64_t j = first;
      for (; j + std::int64_t{reduction_unroll - 1} * stride < ny; j += std::int64_t{reduction_unroll} * stride) {
        double terms[reduction_unroll];
#pragma unroll
        for (int k = 0; k < reduction_unroll; ++k) terms[k] = term(i, static_cast<int>(j) + k * stride);
#pragma unroll
        for (int k = 0; k < reduction_unroll; ++k) value = combine<Term>(value, terms[k]);
      }
      for (; j < ny; j += stride) value = combine<Term>(value, term(i, static_cast<int>(j)));
    }
  } else {
    for (int j = static_cast<int>(blockIdx.x); j < ny; j += static_cast<int>(gridDim.x))
      for (int begin = static_cast<int>(threadIdx.x); begin < nx; begin += reduction_unroll * reduction_threads) {
        double terms[reduction_unroll];
#pragma unroll
        for (int k = 0; k < reduction_unroll; ++k) {
          const int i = begin + k * reduction_threads;
          terms[k] = i < nx ? term(i, j) : neutral<Term>();
        }
#pragma unroll
        for (int k = 0; k < reduction_unroll; ++k) value = combine<Term>(value, terms[k]);
      }
  }
  value = reduce_block<Term>(value);
  if (threadIdx.x == 0) partial[blockIdx.x] = value;
}

/// By one block, what blocks have; all threads have the result.
template <class Term>
__device__ double reduce_numbers(const double* partial, int count) {
  double value = neutral<Term>();
  for (int begin = static_cast<int>(threadIdx.x); begin < count; begin += reduction_unroll * reduction_threads) {
    double numbers[reduction_unroll];
#pragma unroll
    for (int k = 0; k < reduction_unroll; ++k) {
      const int i = begin + k * reduction_threads;
      numbers[k] = i < count ? partial[i] : neutral<Term>();
    }
#pragma unroll
    for (int k = 0; k < reduction_unroll; ++k) value = combine<Term>(value, numbers[k]);
  }
  return reduce_block<Term>(value);
}

template <class Term>
__global__ void reduce_partials(double* partial, int count, double* host) {
  cuda::after_previous();
  const double value = reduce_numbers<Term>(partial, count);
  if (threadIdx.x == 0) *host = partial[0] = value;
}

#endif

/// The first number is the result of those after it, in their order.
template <class Term>
struct CombineSubdomains {
  double* numbers;
  int subdomains;
  double* host;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int /*i*/, int /*row*/) const {
    double result = numbers[1];
    for (int k = 2; k <= subdomains; ++k) result = combine<Term>(result, numbers[k]);
    *host = numbers[0] = result;
  }
};
}  // namespace detail

// See core/field/for_each_node.hpp.
#if defined(__CUDACC__)
inline namespace on_either {
#else
inline namespace on_cpu {
#endif

/// Numbers of scratch that a reduction over so many nodes takes, and the results of all subdomains of a grid.
inline int reduction_numbers(const Context& ctx, int nx, int ny) {
  int own = detail::RowParts{nx, ny}.count();
#if defined(__CUDACC__)
  if (ctx.on_gpu()) own = detail::reduction_blocks - 1;
#endif
  return std::max(own, ctx.subdomains() > 1 ? ctx.subdomains() : 0) + 1;
}

#if defined(__CUDACC__)
/// Reduces what this subdomain has to a number of every block, and returns how many these are.
template <class Term>
int reduce_by_blocks(Context& ctx, int nx, int ny, const Term& term, double* partial) {
  const int blocks = detail::reduction_grid(ny);
  const cuda::Launch launch{blocks, detail::reduction_threads};
  using detail::RowsOf;
  const RowsOf rows = detail::rows_taken(nx, ny);
  if (rows == RowsOf::one)
    launch(ctx, detail::reduce_rows<Term, RowsOf::one>, term, nx, ny, partial);
  else if (rows == RowsOf::after_another)
    launch(ctx, detail::reduce_rows<Term, RowsOf::after_another>, term, nx, ny, partial);
  else
    launch(ctx, detail::reduce_rows<Term, RowsOf::at_once>, term, nx, ny, partial);
  return blocks;
}
/// To the first of reduction_numbers numbers of the caller's, and to `*host`.
template <class Term>
void reduce_on_gpu(Context& ctx, int nx, int ny, const Term& term, double* partial, double* host) {
  const int blocks = reduce_by_blocks(ctx, nx, ny, term, partial);
  cuda::Launch{1, detail::reduction_threads}(ctx, detail::reduce_partials<Term>, partial, blocks, host);
}
#endif

/// What all subdomains have, by `partial` as above; of each row, or part of one that is alone, prepare(begin, end, j) first.
template <class Term, class Prepare>
double reduce_on_cpu(Context& ctx, int nx, int ny, const Prepare& prepare, const Term& term, double* partial) {
  const detail::RowParts parts{nx, ny};
  const int count = parts.count();
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (std::int64_t{nx} * ny > serial_limit)
  for (int k = 0; k < count; ++k) {
    const auto [begin, end, j] = parts.part(k);
    prepare(begin, end, j);
    partial[k] = detail::reduce_row(term, begin, end, j);
  }
  return detail::total_of<Term>(ctx, partial, count);
}
template <class Term>
double reduce_on_cpu(Context& ctx, int nx, int ny, const Term& term, double* partial) {
  return reduce_on_cpu(
      ctx, nx, ny, [](int /*begin*/, int /*end*/, int /*j*/) {}, term, partial);
}

/// Reduces to the first of reduction_numbers numbers of the caller's what all subdomains have, and on a GPU to `*host` as well.
/// There it does not wait for the stream.
template <class Term>
void reduce_to(Context& ctx, int nx, int ny, const Term& term, double* partial, [[maybe_unused]] double* host) {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    if (ctx.subdomains() == 1) return reduce_on_gpu(ctx, nx, ny, term, partial, host);
    // Where it is gathered: nothing is copied.
    double* const own = partial + 1 + ctx.communicator()->rank();
    reduce_on_gpu(ctx, nx, ny, term, partial, own);
    ctx.communicator()->gather(ctx, own, partial + 1, sizeof(double));
    return for_each_node(ctx, {0, 1, 1, 0, 1, 1}, detail::CombineSubdomains<Term>{partial, ctx.subdomains(), host});
  }
#endif
  partial[0] = reduce_on_cpu(ctx, nx, ny, term, partial);
}

/// The same to the first number of the Context's scratch.
template <class Term>
double* reduce_in_place(Context& ctx, int nx, int ny, const Term& term) {
  double* partial = ctx.reduction_scratch(static_cast<std::size_t>(reduction_numbers(ctx, nx, ny)));
  reduce_to(ctx, nx, ny, term, partial, ctx.host_number());
  return partial;
}

/// The results of all subdomains of a grid, in the order of their ranks: what is reduced on a GPU and comes back to the host
/// leaves here.
template <class Term>
void finish(const Context& ctx, std::span<double> results) {
  if (ctx.communicator() == nullptr) return;
  auto& communicator = *ctx.communicator();
  const std::size_t count = results.size();
  std::vector<double> all(count * static_cast<std::size_t>(communicator.size()));
  communicator.gather_on_host(results.data(), all.data(), count * sizeof(double));
  std::copy_n(all.begin(), count, results.begin());
  for (std::size_t k = count; k < all.size(); ++k)
    results[k % count] = detail::combine<Term>(results[k % count], all[k]);
}
template <class Term>
double finish(const Context& ctx, double own) {
  finish<Term>(ctx, std::span(&own, 1));
  return own;
}

template <class Term>
double reduce(Context& ctx, int nx, int ny, const Term& term) {
  const auto hold = ctx.hold_scratch();
  double* partial = ctx.reduction_scratch(static_cast<std::size_t>(reduction_numbers(ctx, nx, ny)));
  if (ctx.is_dry_run()) return 0;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    reduce_on_gpu(ctx, nx, ny, term, partial, ctx.expected_number());
    return finish<Term>(ctx, ctx.await_number());
  }
#endif
  return reduce_on_cpu(ctx, nx, ny, term, partial);
}

/// On a CPU: reduce, each row by `prepare(begin, end, j)` first (a part of one that is alone), which may write what the terms
/// read there: it is still in the cache.
template <class Term, class Prepare>
double reduce_prepared(Context& ctx, int nx, int ny, const Prepare& prepare, const Term& term) {
  const auto hold = ctx.hold_scratch();
  double* partial = ctx.reduction_scratch(static_cast<std::size_t>(reduction_numbers(ctx, nx, ny)));
  return ctx.is_dry_run() ? 0 : reduce_on_cpu(ctx, nx, ny, prepare, term, partial);
}

}  // inline namespace

/// The square of a value, of one times `scale`, or its magnitude.
template <class Value>
struct Square {
  Value of;
  static constexpr bool takes_maximum = false, hot = Hot<Value>;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const double v = of(i, j);
    return v * v;
  }
};

template <class Value>
struct ScaledSquare {
  Value of;
  double scale;
  static constexpr bool takes_maximum = false;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const double v = scale * of(i, j);
    return v * v;
  }
};

template <class Value>
struct Magnitude {
  Value of;
  static constexpr bool takes_maximum = true, hot = Hot<Value>;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const double v = of(i, j);
    return v < 0 ? -v : v;
  }
};

template <class Value>
double largest_of(Context& ctx, int nx, int ny, const Value& value) {
  return reduce(ctx, nx, ny, Magnitude<Value>{value});
}

template <class Value>
double norm_of(Context& ctx, int nx, int ny, const Value& value) {
  const double square = reduce(ctx, nx, ny, Square<Value>{value});
  if (std::isnormal(square)) return std::sqrt(square);
  // Zero, or squares that leave the range of double although the norm does not.
  const double largest = largest_of(ctx, nx, ny, value);
  if (largest == 0 || !std::isfinite(largest)) return largest;
  const int exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  return std::ldexp(std::sqrt(reduce(ctx, nx, ny, ScaledSquare<Value>{value, std::ldexp(1.0, -exponent)})), exponent);
}

}  // namespace stratum
