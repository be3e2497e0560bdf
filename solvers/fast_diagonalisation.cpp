#include <stratum/solvers/fast_diagonalisation.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <stratum/core/grid/blas.hpp>

#if defined(__CUDACC__)
#include <cuda_pipeline.h>

#include <stratum/core/device/cluster.hpp>
#include <stratum/core/device/launch.hpp>
#include <stratum/core/device/signal.hpp>
#endif

namespace stratum {

namespace {

enum class Of : std::uint8_t { itself, transposed };

/// c = p q or p^T q, by rows.
template <Of left, class T>
STRATUM_SIMD_CLONES void multiply(const T* p, const T* q, int n, T* c) {
  for (int r = 0; r < n; ++r) {
    T* row = c + r * n;
#pragma omp simd
    for (int s = 0; s < n; ++s) row[s] = 0;
    for (int k = 0; k < n; ++k) {
      const T factor = left == Of::itself ? p[r * n + k] : p[k * n + r];
#pragma omp simd
      for (int s = 0; s < n; ++s) row[s] += factor * q[k * n + s];
    }
  }
}

template <class T>
void transpose(int n, T* a) {
  for (int r = 0; r < n; ++r)
    for (int s = 0; s < r; ++s) std::swap(a[r * n + s], a[s * n + r]);
}

/// X from B in place; matrices as the kernel has them.
template <class T>
void solve_on_host(const T* matrices, int n, T* values, T* other) {
  const T *vx = matrices, *vy = vx + n * n, *lambda = vy + n * n, *mu = lambda + n;
  multiply<Of::itself>(values, vx, n, other);
  multiply<Of::transposed>(vy, other, n, values);
  for (int c = 0; c < n; ++c)
    for (int a = 0; a < n; ++a) {
      const T value = lambda[a] + mu[c];
      values[c * n + a] = value > 0 ? values[c * n + a] / value : T(0);
    }
  multiply<Of::itself>(vy, values, n, other);
  transpose(n, other);
  multiply<Of::itself>(vx, other, n, values);
  transpose(n, values);
}

#if defined(__CUDACC__)

constexpr int solve_warps = 8, solve_threads = solve_warps * 32;
// Rows of the grid a block of the cluster has, and numbers of eigenvectors; without clusters one block has all, 8 at a time.
constexpr int solve_rows = 8;

/// Rows start at multiples of 16 bytes, apart in the banks.
template <class T, int n>
constexpr int row_length = n + 16 / static_cast<int>(sizeof(T));

/// Numbers that are read together.
template <class T, int n>
struct alignas(n * sizeof(T) < 16 ? n * sizeof(T) : 16) Part {
  T v[n];
};

/// p q or p q^T for 8 rows of p, in slices of the sum that add up to it, a warp each; ends with a barrier of the block.
template <Of right, int n, class T>
__device__ STRATUM_INLINE void multiply_rows(const T* p, const T* q, T* slices) {
  constexpr int columns = n / 32, together = 16 / static_cast<int>(sizeof(T)), pitch = row_length<T, n>;
  constexpr int slice = n / solve_warps;
  const int lane = static_cast<int>(threadIdx.x) % 32, my_warp = static_cast<int>(threadIdx.x) / 32;
  T sum[solve_rows][columns] = {};
#pragma unroll
  for (int from = 0; from < slice; from += together) {
    const int k = my_warp * slice + from;
    Part<T, together> a[solve_rows];
#pragma unroll
    for (int r = 0; r < solve_rows; ++r) a[r] = *reinterpret_cast<const Part<T, together>*>(p + r * pitch + k);
    if constexpr (right == Of::itself) {
#pragma unroll
      for (int e = 0; e < together; ++e) {
        const auto b = *reinterpret_cast<const Part<T, columns>*>(q + (k + e) * pitch + lane * columns);
#pragma unroll
        for (int r = 0; r < solve_rows; ++r)
#pragma unroll
          for (int s = 0; s < columns; ++s) sum[r][s] += a[r].v[e] * b.v[s];
      }
    } else {
#pragma unroll
      for (int s = 0; s < columns; ++s) {
        const auto b = *reinterpret_cast<const Part<T, together>*>(q + (lane + s * 32) * pitch + k);
#pragma unroll
        for (int r = 0; r < solve_rows; ++r)
#pragma unroll
          for (int e = 0; e < together; ++e) sum[r][s] += a[r].v[e] * b.v[e];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < solve_rows; ++r)
#pragma unroll
    for (int s = 0; s < columns; ++s)
      slices[(my_warp * solve_rows + r) * pitch + (right == Of::itself ? lane * columns + s : lane + s * 32)] =
          sum[r][s];
  __syncthreads();
}

/// Numbers of shared memory: Vx and Vy, two matrices of the block's rows, slices of a product, lambda and mu.
template <class T, int n, int blocks>
constexpr std::size_t solve_bytes = sizeof(cuda::Signal) * 2 +
                                    ((2 * n + 2 * n / blocks + solve_warps * solve_rows) * row_length<T, n> + 2 * n) *
                                        sizeof(T);

/// matrices: Vx, Vy, lambda, mu, padded to n. A block has rows of B and of X by j, between them rows of (B Vx)^T and so on by
/// the number of an eigenvector of x: blocks transpose what they have by writing to each other.
template <int n, int blocks, class T>
__global__ void __launch_bounds__(solve_threads)
    diagonal_solve_kernel(const T* matrices, const GridView<const T> b, const GridView<T> x) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int pitch = row_length<T, n>, chunk = 16 / static_cast<int>(sizeof(T)), mine = n / blocks;
  constexpr int columns = n / 32;
  auto* const arrived = reinterpret_cast<cuda::Signal*>(memory);
  T* const vx = reinterpret_cast<T*>(arrived + 2);
  T *const vy = vx + n * pitch, *const by_row = vy + n * pitch, *const by_vector = by_row + mine * pitch,
           *const slices = by_vector + mine * pitch, *const lambda = slices + solve_warps * solve_rows * pitch,
           *const mu = lambda + n;
  const cuda::Cluster cluster;
  const auto meet = [&cluster] {
    if constexpr (blocks > 1)
      cluster.sync();
    else
      __syncthreads();
  };
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, my_warp = t / 32;
  const int first = blocks > 1 ? cluster.rank() * mine : 0;
  if constexpr (blocks > 1) {
    constexpr int row_bytes = n * static_cast<int>(sizeof(T));
    if (t < 2) {
      arrived[t].open(1);
      arrived[t].expect(n * row_bytes);
    }
    __syncthreads();
    for (int row = t; row < 2 * n; row += solve_threads)
      arrived[row / n].fetch(vx + row * pitch, matrices + row * n, row_bytes);
  } else {
    for (int k = t * chunk; k < 2 * n * n; k += solve_threads * chunk)
      __pipeline_memcpy_async(vx + k / n * pitch + k % n, matrices + k, 16);
    __pipeline_commit();
  }
  for (int k = t; k < 2 * n; k += solve_threads) lambda[k] = matrices[2 * n * n + k];
  meet();  // all run, and may be written to
  cuda::after_previous();
  for (int k = t; k < mine * n; k += solve_threads) {
    const int i = k % n, r = k / n;
    by_row[r * pitch + i] = i < b.nx && first + r < b.ny ? b(i, first + r) : T(0);
  }
  if constexpr (blocks > 1)
    arrived[0].wait(0);
  else
    __pipeline_wait_prior(0);
  __syncthreads();

  const auto sum_of_slices = [&](int at) {
    T sum = 0;
#pragma unroll
    for (int w = 0; w < solve_warps; ++w) sum += slices[w * solve_rows * pitch + at];
    return sum;
  };
  // Columns s of a product go to the blocks that have them as rows of `to`.
  const auto pass = [&](T* to, int r0) {
    constexpr int parts = solve_rows / chunk;
    if (t >= n * parts) return;
    const int s = t / parts, r = t % parts * chunk;
    Part<T, chunk> numbers;
#pragma unroll
    for (int e = 0; e < chunk; ++e) numbers.v[e] = sum_of_slices((r + e) * pitch + s);
    T* const place = to + s % mine * pitch + first + r0 + r;
    *reinterpret_cast<Part<T, chunk>*>(blocks > 1 ? cluster.at(place, s / mine) : place) = numbers;
  };
  const auto each_eight_rows = [](const auto& f) {
    for (int r0 = 0; r0 < mine; r0 += solve_rows) {
      if (r0 > 0) __syncthreads();
      f(r0);
    }
  };
  each_eight_rows([&](int r0) {
    multiply_rows<Of::itself, n>(by_row + r0 * pitch, vx, slices);
    pass(by_vector, r0);
  });
  if constexpr (blocks > 1) arrived[1].wait(0);
  meet();
  each_eight_rows([&](int r0) {
    T* const row = by_vector + (r0 + my_warp) * pitch;
    multiply_rows<Of::itself, n>(by_vector + r0 * pitch, vy, slices);
#pragma unroll
    for (int e = 0; e < columns; ++e) {
      const int s = lane + e * 32;
      const T value = lambda[first + r0 + my_warp] + mu[s];
      row[s] = value > 0 ? sum_of_slices(my_warp * pitch + s) / value : T(0);
    }
  });
  __syncthreads();
  each_eight_rows([&](int r0) {
    multiply_rows<Of::transposed, n>(by_vector + r0 * pitch, vy, slices);
    pass(by_row, r0);
  });
  meet();
  each_eight_rows([&](int r0) {
    multiply_rows<Of::transposed, n>(by_row + r0 * pitch, vx, slices);
#pragma unroll
    for (int e = 0; e < columns; ++e) {
      const int i = lane + e * 32, j = first + r0 + my_warp;
      const T sum = sum_of_slices(my_warp * pitch + i);
      if (i < x.nx && j < x.ny) x(i, j) = sum;
    }
  });
}

/// f(launch, kernel) for matrices of `size`.
template <class T, class F>
void with_kernel(int size, const F& f) {
  const auto launch = [&]<int n, int blocks>() {
    f(cuda::Launch{blocks, solve_threads, solve_bytes<T, n, blocks>, blocks}, diagonal_solve_kernel<n, blocks, T>);
  };
  const auto take = [&]<int n>() {
    cuda::has_clusters() ? launch.template operator()<n, n / solve_rows>() : launch.template operator()<n, 1>();
  };
  if (size == 32) return take.template operator()<32>();
  if (size == 64) return take.template operator()<64>();
  if constexpr (sizeof(T) == 4) launch.template operator()<128, 128 / solve_rows>();
}

#endif

/// The size of the matrices.
int padded(const GridShape& shape) {
  const int most = std::max(shape.nx, shape.ny);
  return most <= 32 ? 32 : most <= 64 ? 64 : 128;
}

/// Numbers of two matrices and two rows of eigenvalues, from an aligned number on: a flat vector starts one after.
constexpr int unaligned = 15;
int numbers(int size) { return unaligned + 2 * size * size + 2 * size; }

/// `count` of those numbers from `first` on.
template <class T>
GridView<T> part(Vector<T>& matrices, int first, int count) {
  GridView<T> view = matrices.view();
  view.data += unaligned + first;
  view.nx = count;
  return view;
}

}  // namespace

template <class T>
FastDiagonalisation<T>::FastDiagonalisation(Context& ctx, const GridShape& shape)
    : shape_(shape), size_(padded(shape)), matrices_(ctx, numbers(size_)) {
  if (!ctx.on_gpu()) scratch_ = Vector<T>(ctx, 2 * size_ * size_);
}

template <class T>
std::unique_ptr<FastDiagonalisation<T>> FastDiagonalisation<T>::make(Context& ctx, const GridOperator<T>& a,
                                                                     bool singular) {
  const GridShape shape = a.shape();
  const auto* const separable = std::get_if<TensorOperator<T>>(&a.storage());
  if (separable == nullptr || shape.has_halo() || shape.nodes() == 0 || std::max(shape.nx, shape.ny) > max_nodes)
    return nullptr;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    bool has_room = false;
    with_kernel<T>(padded(shape), [&](const cuda::Launch& solve, auto kernel) { has_room = solve.runs(ctx, kernel); });
    if (!has_room) return nullptr;
  }
#endif
  std::unique_ptr<FastDiagonalisation> solver(
      new FastDiagonalisation(ctx, shape));  // NOLINT: the constructor is private
  if (ctx.plans()) return solver;
  const int size = padded(shape);
  const auto n = static_cast<std::size_t>(size);
  std::vector<T> packed(2 * n * n + 2 * n, T(0));
  LineFactors known;
  LineModes modes;
  for (const Direction direction : {Direction::x, Direction::y}) {
    if (LineFactors line = line_factors(ctx, *separable, direction); line != known) {
      modes = line_modes(line, ctx.threads());
      if (modes.values.empty() || !survive_rounding<T>(line, modes)) return nullptr;
      known = std::move(line);
    }
    if (singular) modes.values.front() = 0;
    const double c = direction == Direction::y ? reaction_of(ctx, *separable) : 0;
    for (double& value : modes.values) value += c;
    const std::size_t d = direction == Direction::x ? 0 : 1, nodes = modes.values.size();
    T *v = packed.data() + d * n * n, *values = packed.data() + 2 * n * n + d * n;
    for (std::size_t k = 0; k < nodes; ++k)
      for (std::size_t i = 0; i < nodes; ++i) v[i * n + k] = static_cast<T>(modes.vectors[k * nodes + i]);
    for (std::size_t k = 0; k < n; ++k) values[k] = k < nodes ? static_cast<T>(modes.values[k]) : T(1);
    if (direction == Direction::y) solver->mu_ = std::move(modes.values);
  }
  copy_from_host(ctx, packed.data(), part(solver->matrices_, 0, static_cast<int>(packed.size())));
  return solver;
}

template <class T>
void FastDiagonalisation<T>::set_mass(Context& ctx, double c) {
  std::vector<T> moved;
  for (const double mu : mu_) moved.push_back(static_cast<T>(mu + c));
  copy_from_host(ctx, moved.data(), part(matrices_, (2 * size_ + 1) * size_, static_cast<int>(moved.size())));
}

template <class T>
void FastDiagonalisation<T>::apply(Context& ctx, GridView<const T> b, GridView<T> x) {
  expects_fit(ctx, "b", b, shape_);
  expects_fit(ctx, "x", x, shape_);
  const T* matrices = matrices_.view().data + unaligned;
#if defined(__CUDACC__)
  if (ctx.on_gpu())
    return with_kernel<T>(size_, [&](const cuda::Launch& solve, auto kernel) { solve(ctx, kernel, matrices, b, x); });
#endif
  (void)ctx;
  const int n = size_, square = n * n;
  T *values = scratch_.view().data, *other = values + square;
  std::fill_n(values, square, T(0));
  for (int j = 0; j < b.ny; ++j)
    for (int i = 0; i < b.nx; ++i) values[j * n + i] = b(i, j);
  solve_on_host(matrices, n, values, other);
  for (int j = 0; j < x.ny; ++j)
    for (int i = 0; i < x.nx; ++i) x(i, j) = values[j * n + i];
}

template class FastDiagonalisation<float>;
template class FastDiagonalisation<double>;

}  // namespace stratum
