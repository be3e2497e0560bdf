#include <stratum/core/field/blas.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include <stratum/core/field/field_functors.hpp>
#include <stratum/core/field/reduce.hpp>

#if defined(__CUDACC__)
#include <stratum/core/device/cuda_check.hpp>
#endif

namespace stratum {

namespace {

using namespace detail;

/// Terms or pairs that one pass takes.
constexpr std::size_t most_per_pass = 8;

template <class T, int count>
struct Axpys {
  static constexpr bool hot = true;
  double alpha[count];
  FieldView<const T> x[count];
  FieldView<T> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const {
    double sum = static_cast<double>(y(i, j));
    for (int k = 0; k < count; ++k) sum += alpha[k] * static_cast<double>(x[k](i, j));
    return static_cast<T>(sum);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
};

/// The number of terms is a constant of the loop that adds them up.
template <class T, int count = static_cast<int>(most_per_pass)>
void axpys_pass(Context& ctx, int terms, const double* alpha, const FieldView<const T>* x, FieldView<T> y) {
  if (terms == count) {
    Axpys<T, count> pass{{}, {}, y};
    std::copy_n(alpha, count, pass.alpha);
    std::copy_n(x, count, pass.x);
    for_each_node(ctx, all_nodes(y), pass);
  } else if constexpr (count > 1) {
    axpys_pass<T, count - 1>(ctx, terms, alpha, x, y);
  }
}

#if defined(__CUDACC__)

template <class T>
struct Products {
  int count;
  Product<T> pair[most_per_pass];
};

/// reduce_rows for several products: partial[k * gridDim.x + block] belongs to pair k.
template <class T>
__global__ void reduce_rows_of_pairs(const Products<T> products, int nx, int ny, double* partial) {
  cuda::after_previous();
  double value[most_per_pass] = {};
  const auto add = [&](int i, int j) {
#pragma unroll
    for (int k = 0; k < static_cast<int>(most_per_pass); ++k)
      if (k < products.count) value[k] += products.pair[k](i, j);
  };
  if (ny == 1) {
    for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < nx; i += std::int64_t{gridDim.x} * blockDim.x)
      add(static_cast<int>(i), 0);
  } else {
    for (int j = static_cast<int>(blockIdx.x); j < ny; j += static_cast<int>(gridDim.x))
      for (int i = static_cast<int>(threadIdx.x); i < nx; i += reduction_threads) add(i, j);
  }
#pragma unroll
  for (int k = 0; k < static_cast<int>(most_per_pass); ++k) {
    if (k >= products.count) break;
    const double sum = reduce_block<Product<T>>(value[k]);
    if (threadIdx.x == 0) partial[k * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)] = sum;
    __syncthreads();
  }
}

/// Block k adds up the partial sums of pair k.
template <class T>
__global__ void reduce_partials_of_pairs(const double* partial, int count, double* result) {
  cuda::after_previous();
  double value = 0;
  for (int k = static_cast<int>(threadIdx.x); k < count; k += reduction_threads)
    value += partial[static_cast<int>(blockIdx.x) * count + k];
  value = reduce_block<Product<T>>(value);
  if (threadIdx.x == 0) result[blockIdx.x] = value;
}

#endif

template <class A>
void expects_on(const Context& ctx, const A& a) {
  expects_fit(ctx, "a vector", a, a.nx, a.ny);
}

template <class A, class B>
void expects_alike(const Context& ctx, const A& a, const B& b) {
  expects(a.nx == b.nx && a.ny == b.ny, "vectors differ in shape: ", a.nx, " x ", a.ny, " and ", b.nx, " x ", b.ny);
  expects_on(ctx, a);
  expects_on(ctx, b);
}

}  // namespace

template <class T>
void set(Context& ctx, std::type_identity_t<T> value, FieldView<T> x) {
  expects_on(ctx, x);
  for_each_node(ctx, all_nodes(x), Set<T>{value, x});
}

template <class From, class To>
void copy(Context& ctx, FieldView<const From> x, FieldView<To> y) {
  expects_alike(ctx, x, y);
  for_each_node(ctx, all_nodes(y), Copy<From, To>{x, y});
}

template <class From, class To>
void copy_scaled(Context& ctx, double alpha, FieldView<const From> x, FieldView<To> y) {
  expects_alike(ctx, x, y);
  for_each_node(ctx, all_nodes(y), CopyScaled<From, To>{alpha, x, y});
}

template <class From, class To>
void axpy(Context& ctx, double alpha, FieldView<const From> x, FieldView<To> y) {
  expects_alike(ctx, x, y);
  for_each_node(ctx, all_nodes(y), Axpy<From, To>{alpha, x, y});
}

template <class T>
void xpay(Context& ctx, FieldView<const T> x, double beta, FieldView<T> y) {
  expects_alike(ctx, x, y);
  for_each_node(ctx, all_nodes(y), Xpay<T>{x, beta, y});
}

template <class T>
void axpys(Context& ctx, const std::vector<double>& alpha, const std::vector<FieldView<const T>>& xs, FieldView<T> y) {
  expects(alpha.size() == xs.size(), alpha.size(), " factors for ", xs.size(), " vectors");
  for (const auto& x : xs) expects_alike(ctx, x, y);
  for (std::size_t first = 0; first < xs.size(); first += most_per_pass)
    axpys_pass(ctx, static_cast<int>(std::min(most_per_pass, xs.size() - first)), &alpha[first], &xs[first], y);
}

template <class T>
double dot(Context& ctx, FieldView<const T> x, FieldView<const T> y) {
  expects_alike(ctx, x, y);
  return reduce(ctx, x.nx, x.ny, Product<T>{x, y});
}

template <class X, class Y>
requires(!std::is_same_v<X, Y>) double dot(Context& ctx, FieldView<const X> x, FieldView<const Y> y) {
  expects_alike(ctx, x, y);
  return reduce(ctx, x.nx, x.ny, Product<X, Y>{x, y});
}

namespace {

/// Numbers of scratch that `dots` takes.
std::size_t dots_numbers([[maybe_unused]] const Context& ctx, int nx, int ny, [[maybe_unused]] std::size_t pairs) {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    // Room for a basis that grows by one vector an iteration: the scratch is not to be allocated anew every time.
    constexpr std::size_t granularity = 64;
    return most_per_pass * reduction_blocks + (pairs + granularity - 1) / granularity * granularity;
  }
#endif
  return static_cast<std::size_t>(RowParts{nx, ny}.count()) * most_per_pass;
}

}  // namespace

void reserve_reductions(Context& ctx, const GridLayout<2>& shape) {
  const auto hold = ctx.hold_scratch();
  (void)ctx.reduction_scratch(dots_numbers(ctx, shape.nx, shape.ny, 1));
}

template <class T>
std::vector<double> dots(Context& ctx, const std::vector<DotPair<T>>& pairs) {
  std::vector<double> results(pairs.size());
  if (pairs.empty()) return results;
  const auto hold = ctx.hold_scratch();
  const int nx = pairs[0].x.nx, ny = pairs[0].x.ny;
  for (const auto& pair : pairs) {
    expects_alike(ctx, pair.x, pair.y);
    expects_alike(ctx, pair.x, pairs[0].x);
  }
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    auto* stream = static_cast<cudaStream_t>(ctx.stream());
    const int blocks = reduction_grid(ny);
    double* partial = ctx.reduction_scratch(dots_numbers(ctx, nx, ny, pairs.size()));
    double* result = partial + most_per_pass * reduction_blocks;
    for (std::size_t first = 0; first < pairs.size(); first += most_per_pass) {
      Products<T> products{static_cast<int>(std::min(most_per_pass, pairs.size() - first)), {}};
      for (int k = 0; k < products.count; ++k) {
        const auto& pair = pairs[first + static_cast<std::size_t>(k)];
        products.pair[k] = {pair.x, pair.y};
      }
      cuda::Launch{blocks, reduction_threads}(ctx, reduce_rows_of_pairs<T>, products, nx, ny, partial);
      cuda::Launch{products.count, reduction_threads}(ctx, reduce_partials_of_pairs<T>, partial, blocks,
                                                      result + first);
    }
    STRATUM_CUDA_CHECK(
        cudaMemcpyAsync(results.data(), result, results.size() * sizeof(double), cudaMemcpyDeviceToHost, stream));
    STRATUM_CUDA_CHECK(cudaStreamSynchronize(stream));
    finish<Product<T>>(ctx, std::span(results));
    return results;
  }
#endif
  // Row by row, so that a vector in several pairs is read from memory once.
  const RowParts parts{nx, ny};
  const int rows = parts.count();
  double* partial = ctx.reduction_scratch(dots_numbers(ctx, nx, ny, pairs.size()));
  std::vector<ExactSum> sums(pairs.size());
  for (std::size_t first = 0; first < pairs.size(); first += most_per_pass) {
    const std::size_t count = std::min(most_per_pass, pairs.size() - first);
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (std::int64_t{nx} * ny > serial_limit)
    for (int j = 0; j < rows; ++j)
      for (std::size_t k = 0; k < count; ++k)
        partial[static_cast<std::size_t>(j) * most_per_pass + k] =
            parts.reduce(Product<T>{pairs[first + k].x, pairs[first + k].y}, j);
    for (std::size_t j = 0; j < static_cast<std::size_t>(rows); ++j)
      for (std::size_t k = 0; k < count; ++k) sums[first + k].add(partial[j * most_per_pass + k]);
  }
  detail::add_subdomains(ctx, std::span(sums));
  for (std::size_t k = 0; k < sums.size(); ++k) results[k] = sums[k].value();
  return results;
}

template <class T>
double norm_max(Context& ctx, FieldView<const T> x) {
  expects_on(ctx, x);
  return largest_of(ctx, x.nx, x.ny, Value<T>{x});
}

template <class T>
Extremes extremes(Context& ctx, FieldView<const T> x) {
  expects_on(ctx, x);
  const double most = reduce(ctx, x.nx, x.ny, Signed<T>{x, 1});
  if (most == -HUGE_VAL) return {};
  return {-reduce(ctx, x.nx, x.ny, Signed<T>{x, -1}), most};
}

#if defined(__CUDACC__)

namespace {

using Maximum = Signed<double>;  // how numbers of any sign are combined

/// partial[k * gridDim.x + block]: the largest |c| (k = 0), x (1) and -x (2) of the rows of a block, of columns of a row that
/// is alone.
template <bool with_x>
__global__ void sizes_of_rows(FieldView<const float> c, FieldView<const double> x, double* partial) {
  cuda::after_previous();
  constexpr int numbers = with_x ? 3 : 1;
  double value[3] = {0, -HUGE_VAL, -HUGE_VAL};
  const bool one_row = c.ny == 1;
  const int first = one_row ? 0 : static_cast<int>(blockIdx.x), rows = one_row ? 1 : static_cast<int>(gridDim.x);
  const std::int64_t begin = threadIdx.x + (one_row ? std::int64_t{blockIdx.x} * reduction_threads : 0);
  const int columns = reduction_threads * (one_row ? static_cast<int>(gridDim.x) : 1);
  for (int j = first; j < c.ny; j += rows)
#pragma unroll 4
    for (std::int64_t i = begin; i < c.nx; i += columns) {
      const int column = static_cast<int>(i);
      value[0] = combine<Maximum>(value[0], fabs(static_cast<double>(c(column, j))));
      if constexpr (with_x) {
        value[1] = combine<Maximum>(value[1], x(column, j));
        value[2] = combine<Maximum>(value[2], -x(column, j));
      }
    }
  for (int k = 0; k < numbers; ++k) {
    const double largest = reduce_block<Maximum>(value[k]);
    if (threadIdx.x == 0) partial[k * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)] = largest;
    __syncthreads();
  }
}

/// Block k combines what the blocks above have left of number k.
__global__ void sizes_of_partials(const double* partial, int count, double* host) {
  cuda::after_previous();
  double value = -HUGE_VAL;
  for (int k = static_cast<int>(threadIdx.x); k < count; k += reduction_threads)
    value = combine<Maximum>(value, partial[static_cast<int>(blockIdx.x) * count + k]);
  value = reduce_block<Maximum>(value);
  if (threadIdx.x == 0) host[blockIdx.x] = value;
}

}  // namespace

#endif

DeferredSizes::DeferredSizes([[maybe_unused]] Context& ctx) {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) partial_ = Field<double>(ctx, 3 * reduction_blocks);
#endif
}

void DeferredSizes::submit([[maybe_unused]] Context& ctx, [[maybe_unused]] FieldView<const float> c,
                           [[maybe_unused]] const std::optional<FieldView<const double>>& x) {
  expects(available() && !submitted_, "sizes are deferred on a GPU, and those submitted before are fetched first");
#if defined(__CUDACC__)
  const int blocks = reduction_grid(c.ny);
  const cuda::Launch launch{blocks, reduction_threads};
  double* const partial = partial_.view().data;
  // Three numbers that follow each other.
  double* const host = ctx.expected_number(1);
  for (const int k : {2, 3}) (void)ctx.expected_number(k);
  if (x) {
    expects_alike(ctx, c, *x);
    launch(ctx, sizes_of_rows<true>, c, *x, partial);
  } else {
    launch(ctx, sizes_of_rows<false>, c, FieldView<const double>{}, partial);
  }
  cuda::Launch{x ? 3 : 1, reduction_threads}(ctx, sizes_of_partials, partial, blocks, host);
  with_x_ = x.has_value();
  submitted_ = true;
#endif
}

DeferredSizes::Sizes DeferredSizes::fetch(Context& ctx) {
  expects(submitted_, "no sizes were submitted");
  submitted_ = false;
  std::array<double, 3> numbers{};
  const std::span<double> own(numbers.data(), with_x_ ? 3 : 1);
  for (std::size_t k = 0; k < own.size(); ++k) own[k] = ctx.await_number(static_cast<int>(k) + 1);
  finish<Signed<double>>(ctx, own);
  if (!with_x_) return {numbers[0], {}};
  return {numbers[0], Extremes{-numbers[2], numbers[1]}};
}

template <class T>
double norm2(Context& ctx, FieldView<const T> x) {
  expects_on(ctx, x);
  return norm_of(ctx, x.nx, x.ny, Value<T>{x});
}

template <class T>
const double* norm_max_in_place(Context& ctx, FieldView<const T> x) {
  expects_on(ctx, x);
  const auto hold = ctx.hold_scratch();
  return reduce_in_place(ctx, x.nx, x.ny, Magnitude<Value<T>>{{x}});
}

namespace {

/// x <- x - (sum of all terms) / divisor
template <class Term, class T>
void subtract_sum_of(Context& ctx, const Term& term, double divisor, FieldView<T> x, FieldView<double> scratch) {
  const int numbers = reduction_numbers(ctx, x.nx, x.ny);
  expects(scratch.nx > numbers, "the scratch of a mean must have ", numbers + 1, " numbers, not ", scratch.nx);
  double* const sum = scratch.data;
  reduce_to(ctx, x.nx, x.ny, term, sum, sum + numbers);
  for_each_node(ctx, all_nodes(x), SubtractMean<T>{sum, divisor, x});
}
}  // namespace

template <class T>
void subtract_mean(Context& ctx, FieldView<T> x, FieldView<double> scratch, std::int64_t nodes) {
  expects_on(ctx, x);
  if (nodes == 0) return;
  subtract_sum_of(ctx, Value<T>{x}, static_cast<double>(nodes), x, scratch);
}

template <class T>
void subtract_mean(Context& ctx, FieldView<const T> weights, FieldView<T> x, FieldView<double> scratch) {
  expects_on(ctx, x);
  expects_fit(ctx, "weights", weights, x.nx, x.ny);
  if (x.nodes() > 0) subtract_sum_of(ctx, Product<T>{weights, x}, 1, x, scratch);
}

Field<double> mean_scratch(Context& ctx, const GridLayout<2>& shape) {
  return {ctx, reduction_numbers(ctx, shape.nx, shape.ny) + 1};
}

double sum_of_scratch(Context& ctx, int count, [[maybe_unused]] const std::function<void()>& meanwhile) {
  const auto hold = ctx.hold_scratch();
  double* numbers = ctx.reduction_scratch(static_cast<std::size_t>(count));
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    cuda::Launch{1, reduction_threads}(ctx, reduce_partials<Product<double>>, numbers, count, ctx.expected_number());
    try {
      if (meanwhile) meanwhile();
    } catch (...) {
      ctx.synchronise();  // the number comes, and is not for the next one who waits
      throw;
    }
    return finish<Product<double>>(ctx, ctx.await_number());
  }
#endif
  return finish<Product<double>>(ctx, std::accumulate(numbers, numbers + count, 0.0));
}

template <class T>
bool halo_is_zero(Context& ctx, const Field<T>& field) {
  const FieldView<const T> x = field.cview();
  const auto part_is_zero = [&](int i, int j, int nx, int ny) {
    return largest_of(ctx, nx, ny, Value<T>{{&x(i, j), nx, ny, x.pitch}}) == 0;
  };
  const bool columns = part_is_zero(-1, 0, 1, x.ny) && part_is_zero(x.nx, 0, 1, x.ny);
  if (field.shape().halo_rows() == 0) return columns;
  return columns && part_is_zero(-1, -1, x.nx + 2, 1) && part_is_zero(-1, x.ny, x.nx + 2, 1);
}

template <class T>
void copy_to_host(Context& ctx, FieldView<const T> x, T* host) {
  expects_on(ctx, x);
  if (ctx.is_dry_run()) return;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    const auto row = static_cast<std::size_t>(x.nx) * sizeof(T);
    auto* stream = static_cast<cudaStream_t>(ctx.stream());
    STRATUM_CUDA_CHECK(cudaMemcpy2DAsync(host, row, x.data, static_cast<std::size_t>(x.pitch) * sizeof(T), row,
                                         static_cast<std::size_t>(x.ny), cudaMemcpyDeviceToHost, stream));
    STRATUM_CUDA_CHECK(cudaStreamSynchronize(stream));
    return;
  }
#endif
  ctx.synchronise();
  for (int j = 0; j < x.ny; ++j) std::copy_n(&x(0, j), x.nx, host + std::size_t(j) * static_cast<std::size_t>(x.nx));
}

std::vector<double> all_rows(Context& ctx, FieldView<const double> x) {
  std::vector<double> own(static_cast<std::size_t>(x.nodes()));
  if (!own.empty()) copy_to_host(ctx, x, own.data());
  return ctx.communicator() == nullptr ? own : ctx.communicator()->join_on_host(own);
}

template <class T>
void copy_from_host(Context& ctx, const T* host, FieldView<T> x) {
  expects_on(ctx, x);
  if (ctx.is_dry_run()) return;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    const auto row = static_cast<std::size_t>(x.nx) * sizeof(T);
    auto* stream = static_cast<cudaStream_t>(ctx.stream());
    STRATUM_CUDA_CHECK(cudaMemcpy2DAsync(x.data, static_cast<std::size_t>(x.pitch) * sizeof(T), host, row, row,
                                         static_cast<std::size_t>(x.ny), cudaMemcpyHostToDevice, stream));
    STRATUM_CUDA_CHECK(cudaStreamSynchronize(stream));
    return;
  }
#endif
  ctx.synchronise();
  for (int j = 0; j < x.ny; ++j) std::copy_n(host + std::size_t(j) * static_cast<std::size_t>(x.nx), x.nx, &x(0, j));
}

#define STRATUM_INSTANTIATE(T)                                                                                     \
  template void set<T>(Context&, T, FieldView<T>);                                                                 \
  template void xpay(Context&, FieldView<const T>, double, FieldView<T>);                                          \
  template void axpys(Context&, const std::vector<double>&, const std::vector<FieldView<const T>>&, FieldView<T>); \
  template double dot(Context&, FieldView<const T>, FieldView<const T>);                                           \
  template std::vector<double> dots(Context&, const std::vector<DotPair<T>>&);                                     \
  template void subtract_mean(Context&, FieldView<T>, FieldView<double>, std::int64_t);                            \
  template void subtract_mean(Context&, FieldView<const T>, FieldView<T>, FieldView<double>);                      \
  template double norm2(Context&, FieldView<const T>);                                                             \
  template double norm_max(Context&, FieldView<const T>);                                                          \
  template Extremes extremes(Context&, FieldView<const T>);                                                        \
  template const double* norm_max_in_place(Context&, FieldView<const T>);                                          \
  template bool halo_is_zero(Context&, const Field<T>&);                                                           \
  template void copy_to_host(Context&, FieldView<const T>, T*);                                                    \
  template void copy_from_host(Context&, const T*, FieldView<T>);
STRATUM_INSTANTIATE(float)
STRATUM_INSTANTIATE(double)
#undef STRATUM_INSTANTIATE
// Row starts, columns and offsets of matrices.
template void copy_to_host(Context&, FieldView<const int>, int*);
template void copy_from_host(Context&, const int*, FieldView<int>);

template double dot(Context&, FieldView<const double>, FieldView<const float>);

#define STRATUM_INSTANTIATE(From, To)                                                \
  template void copy(Context&, FieldView<const From>, FieldView<To>);                \
  template void copy_scaled(Context&, double, FieldView<const From>, FieldView<To>); \
  template void axpy(Context&, double, FieldView<const From>, FieldView<To>);
STRATUM_INSTANTIATE(float, float)
STRATUM_INSTANTIATE(float, double)
STRATUM_INSTANTIATE(double, float)
STRATUM_INSTANTIATE(double, double)
#undef STRATUM_INSTANTIATE

}  // namespace stratum
