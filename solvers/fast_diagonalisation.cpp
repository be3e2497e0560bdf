#include <stratum/solvers/fast_diagonalisation.hpp>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include <stratum/core/grid/blas.hpp>
#include <stratum/solvers/jacobi_rotations.hpp>

#if defined(__CUDACC__)
#include <cuda_pipeline.h>

#include <stratum/core/device/cluster.hpp>
#include <stratum/core/device/launch.hpp>
#endif

namespace stratum {

namespace {

/// Eigenvectors (v[i * n + a], vector a) and eigenvalues of K V = M V Lambda with V^T M V = 1, K and M of 1-D linear elements.
struct Eigenpairs {
  std::size_t n;
  std::vector<double> vectors, values;
};

/// With M = L L^T, Jacobi rotations on L^-1 K L^-T: they find small eigenvalues beside large ones to full relative accuracy,
/// which a boundary layer needs.
Eigenpairs decompose(const std::vector<double>& stiffness, const std::vector<double>& mass,
                     const std::vector<double>& diagonal_term) {
  const std::size_t n = stiffness.size() - 1;
  std::vector<double> diagonal(n), lower(n, 0.0);  // of L
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) lower[i] = mass[i] / diagonal[i - 1];
    diagonal[i] = std::sqrt(2 * (mass[i] + mass[i + 1]) - lower[i] * lower[i]);
  }
  std::vector<double> c(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    c[i * n + i] = stiffness[i] + stiffness[i + 1] + diagonal_term[i];
    if (i > 0) c[i * n + i - 1] = c[(i - 1) * n + i] = -stiffness[i];
  }
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      c[i * n + k] = (c[i * n + k] - (i > 0 ? lower[i] * c[(i - 1) * n + k] : 0)) / diagonal[i];
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      c[k * n + i] = (c[k * n + i] - (i > 0 ? lower[i] * c[k * n + i - 1] : 0)) / diagonal[i];

  std::vector<double> u = diagonalise(n, c);
  Eigenpairs pairs{n, std::move(u), std::vector<double>(n)};
  for (std::size_t a = 0; a < n; ++a) {
    pairs.values[a] = c[a * n + a];
    for (std::size_t i = n; i-- > 0;) {
      double& v = pairs.vectors[i * n + a];
      v = (v - (i + 1 < n ? lower[i + 1] * pairs.vectors[(i + 1) * n + a] : 0)) / diagonal[i];
    }
  }
  return pairs;
}

template <class T>
std::vector<double> factors_to_host(Context& ctx, const Vector<T>& v) {
  std::vector<T> host(static_cast<std::size_t>(v.shape().nx));
  copy_to_host(ctx, v.cview(), host.data());
  return {host.begin(), host.end()};
}

/// Entry (i, column - 1) of K (sign -1) or M (sign 1) of linear elements.
double entry(const std::vector<double>& k, std::size_t i, std::size_t column, double sign) {
  if (column == i + 1) return (sign < 0 ? 1 : 2) * (k[i] + k[i + 1]);
  return sign * (column == i ? k[i] : k[i + 1]);
}

/// c[r * n + s] = sum over k of p[k * n + r] q[k * n + s]
template <class T>
STRATUM_SIMD_CLONES void multiply_transposed(const T* p, const T* q, int n, T* c) {
  for (int r = 0; r < n; ++r) {
    T* row = c + r * n;
#pragma omp simd
    for (int s = 0; s < n; ++s) row[s] = 0;
    for (int k = 0; k < n; ++k) {
      const T factor = p[k * n + r];
#pragma omp simd
      for (int s = 0; s < n; ++s) row[s] += factor * q[k * n + s];
    }
  }
}

/// X from B in place; matrices as the kernel has them.
template <class T>
void solve_on_host(const T* matrices, int n, T* values, T* other) {
  const int square = n * n;
  const T *vx = matrices, *vx_t = vx + square, *vy = vx_t + square, *vy_t = vy + square;
  const T *lambda = vy_t + square, *mu = lambda + n;
  multiply_transposed(values, vy, n, other);
  multiply_transposed(vx, other, n, values);
  for (int r = 0; r < n; ++r)
    for (int s = 0; s < n; ++s) {
      const T value = lambda[r] + mu[s];
      values[r * n + s] = value > 0 ? values[r * n + s] / value : T(0);
    }
  multiply_transposed(values, vx_t, n, other);
  multiply_transposed(vy_t, other, n, values);
}

#if defined(__CUDACC__)

constexpr int solve_threads = 128;  // 16 along the columns of a product, 8 along its rows
// Blocks of the one cluster, each with a quarter of the rows of every product; without clusters one block has all.
constexpr int cluster_blocks = 4;

/// Rows start at multiples of 16 bytes, apart in the banks.
template <class T, int n>
constexpr int row_length = n + 16 / static_cast<int>(sizeof(T));

/// Numbers that are read together.
template <class T, int n>
struct alignas(n * sizeof(T) < 16 ? n * sizeof(T) : 16) Part {
  T v[n];
};

/// Rows of p q, p of n / blocks rows: store(row, first column, numbers) for the tile in the registers of each thread.
template <int n, int blocks, class T, class Store>
__device__ STRATUM_INLINE void multiply_rows(const T* p, const T* q, const Store& store) {
  constexpr int columns = n / 16, rows = n / blocks / 8, together = 4, pitch = row_length<T, n>;
  const int s0 = static_cast<int>(threadIdx.x) % 16 * columns, r0 = static_cast<int>(threadIdx.x) / 16 * rows;
  Part<T, columns> sum[rows] = {};
#pragma unroll 4
  for (int k = 0; k < n; k += together) {
    Part<T, together> a[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) a[r] = *reinterpret_cast<const Part<T, together>*>(p + (r0 + r) * pitch + k);
#pragma unroll
    for (int e = 0; e < together; ++e) {
      const auto b = *reinterpret_cast<const Part<T, columns>*>(q + (k + e) * pitch + s0);
#pragma unroll
      for (int r = 0; r < rows; ++r)
#pragma unroll
        for (int s = 0; s < columns; ++s) sum[r].v[s] += a[r].v[e] * b.v[s];
    }
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) store(r0 + r, s0, sum[r]);
}

/// Numbers of shared memory: Vx, Vx^T, two products, which share a place in a block that is alone; the block's rows of B or U, of
/// Vy and Vy^T.
template <class T, int n, int blocks>
constexpr std::size_t solve_bytes = ((blocks > 1 ? 4 : 3) * n + 3 * n / blocks) * row_length<T, n> * sizeof(T);

/// matrices: Vx, Vx^T, Vy, Vy^T, lambda, mu, padded to n. A block keeps rows of B Vx and of Z = U Vx^T, by j or by the number
/// of an eigenvector of y, and passes them to all blocks of the cluster; the matrices are there before the right-hand side is.
template <int n, int blocks, class T>
__global__ void __launch_bounds__(solve_threads)
    diagonal_solve_kernel(const T* matrices, const GridView<const T> b, const GridView<T> x) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int pitch = row_length<T, n>, chunk = 16 / static_cast<int>(sizeof(T)), mine = n / blocks;
  constexpr int columns = n / 16;
  T* const vx = reinterpret_cast<T*>(memory);
  T *const vx_t = vx + n * pitch, *const product = vx_t + n * pitch,
           *const z = blocks > 1 ? product + n * pitch : product;
  T *const own = z + n * pitch, *const vy = own + mine * pitch, *const vy_t = vy + mine * pitch;
  const cuda::Cluster cluster;
  const auto meet = [&cluster] {
    if constexpr (blocks > 1)
      cluster.sync();
    else
      __syncthreads();
  };
  const int t = static_cast<int>(threadIdx.x), first = blocks > 1 ? cluster.rank() * mine : 0;
  const auto fetch = [&](const T* from, T* to, int rows) {
    for (int k = t * chunk; k < rows * n; k += solve_threads * chunk)
      __pipeline_memcpy_async(to + k / n * pitch + k % n, from + k, 16);
  };
  fetch(matrices, vx, n);
  fetch(matrices + n * n, vx_t, n);
  fetch(matrices + 2 * n * n + first * n, vy, mine);
  fetch(matrices + 3 * n * n + first * n, vy_t, mine);
  __pipeline_commit();
  meet();  // all run: they will write to each other
  cuda::after_previous();
  for (int k = t; k < mine * n; k += solve_threads) {
    const int i = k % n, r = k / n;
    own[r * pitch + i] = i < b.nx && first + r < b.ny ? b(i, first + r) : T(0);
  }
  __pipeline_wait_prior(0);
  __syncthreads();

  const auto pass_to_all = [&](T* to) {
    return [&cluster, to, first](int r, int s, const Part<T, columns>& numbers) {
#pragma unroll
      for (int k = 0; k < blocks; ++k)
        *reinterpret_cast<Part<T, columns>*>((blocks > 1 ? cluster.at(to, k) : to) + (first + r) * pitch + s) = numbers;
    };
  };
  multiply_rows<n, blocks>(own, vx, pass_to_all(product));
  meet();
  const T *lambda = matrices + 4 * n * n, *mu = lambda + n;
  multiply_rows<n, blocks>(vy_t, product, [&](int r, int s, const Part<T, columns>& numbers) {
#pragma unroll
    for (int e = 0; e < columns; ++e) {
      const T value = lambda[s + e] + mu[first + r];
      own[r * pitch + s + e] = value > 0 ? numbers.v[e] / value : T(0);
    }
  });
  __syncthreads();
  multiply_rows<n, blocks>(own, vx_t, pass_to_all(z));
  meet();
  multiply_rows<n, blocks>(vy, z, [&](int r, int s, const Part<T, columns>& numbers) {
#pragma unroll
    for (int e = 0; e < columns; ++e)
      if (s + e < x.nx && first + r < x.ny) x(s + e, first + r) = numbers.v[e];
  });
}

/// f(launch, kernel) for matrices of `size`.
template <class T, class F>
void with_kernel(int size, const F& f) {
  const auto take = [&]<int n, int blocks>() {
    f(cuda::Launch{blocks, solve_threads, solve_bytes<T, n, blocks>, blocks}, diagonal_solve_kernel<n, blocks, T>);
  };
  const bool clusters = cuda::has_clusters();
  if (size == 32)
    clusters ? take.template operator()<32, cluster_blocks>() : take.template operator()<32, 1>();
  else
    clusters ? take.template operator()<64, cluster_blocks>() : take.template operator()<64, 1>();
}

#endif

bool fits(const GridShape& shape, int most) { return shape.nodes() > 0 && std::max(shape.nx, shape.ny) <= most; }

/// The size of the matrices, one of two.
int padded(const GridShape& shape) { return std::max(shape.nx, shape.ny) <= 32 ? 32 : 64; }

/// Numbers of four matrices and two rows of eigenvalues, from an aligned number on: a flat vector starts one after.
constexpr int unaligned = 15;
int numbers(int size) { return unaligned + 4 * size * size + 2 * size; }

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
  if (separable == nullptr || shape.has_halo() || !fits(shape, max_nodes)) return nullptr;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    bool has_room = true;
    with_kernel<T>(padded(shape), [&](const cuda::Launch& solve, auto /*kernel*/) { has_room = solve.fits(); });
    if (!has_room) return nullptr;
  }
#endif
  std::unique_ptr<FastDiagonalisation> solver(
      new FastDiagonalisation(ctx, shape));  // NOLINT: the constructor is private
  if (ctx.plans()) return solver;
  const auto& factors = *separable;
  const auto kx = factors_to_host(ctx, factors.kx), mx = factors_to_host(ctx, factors.mx);
  const auto ky = factors_to_host(ctx, factors.ky), my = factors_to_host(ctx, factors.my);
  const auto e = factors.has_reaction() ? factors_to_host(ctx, factors.e) : std::vector<double>(ky.size() - 1, 0.0);
  Eigenpairs pairs[] = {decompose(kx, mx, std::vector<double>(kx.size() - 1, 0.0)), decompose(ky, my, e)};
  if (singular)
    for (auto& pair : pairs) *std::min_element(pair.values.begin(), pair.values.end()) = 0;
  const int size = padded(shape);
  const auto n = static_cast<std::size_t>(size);
  std::vector<T> packed(4 * n * n + 2 * n, T(0));
  for (std::size_t d = 0; d < 2; ++d) {
    const Eigenpairs& pair = pairs[d];
    T *v = packed.data() + 2 * d * n * n, *transposed = v + n * n, *values = packed.data() + 4 * n * n + d * n;
    for (std::size_t i = 0; i < pair.n; ++i)
      for (std::size_t k = 0; k < pair.n; ++k)
        v[i * n + k] = transposed[k * n + i] = static_cast<T>(pair.vectors[i * pair.n + k]);
    for (std::size_t k = 0; k < n; ++k) values[k] = k < pair.n ? static_cast<T>(pair.values[k]) : T(1);
  }

  // Tried on the host, in T, with the load of a constant.
  std::vector<T> b(n * n, T(0)), x(n * n), scratch(n * n);
  for (std::size_t j = 0; j < pairs[1].n; ++j)
    for (std::size_t i = 0; i < pairs[0].n; ++i)
      b[j * n + i] =
          static_cast<T>((mx[i] + mx[i + 1]) * (my[j] + my[j + 1]) * (singular && i < pairs[0].n / 2 ? -1 : 1));
  if (singular) {
    double sum = 0;
    for (std::size_t j = 0; j < pairs[1].n; ++j)
      for (std::size_t i = 0; i < pairs[0].n; ++i) sum += static_cast<double>(b[j * n + i]);
    const double mean = sum / static_cast<double>(shape.nodes());
    for (std::size_t j = 0; j < pairs[1].n; ++j)
      for (std::size_t i = 0; i < pairs[0].n; ++i) b[j * n + i] -= static_cast<T>(mean);
  }
  x = b;
  solve_on_host(packed.data(), size, x.data(), scratch.data());
  double residual = 0, norm = 0;
  for (std::size_t j = 0; j < pairs[1].n; ++j)
    for (std::size_t i = 0; i < pairs[0].n; ++i) {
      double sum = 0;
      for (const std::size_t r : {j, j + 1, j + 2})
        for (const std::size_t c : {i, i + 1, i + 2})
          if (r >= 1 && c >= 1 && r <= pairs[1].n && c <= pairs[0].n)
            sum += (entry(kx, i, c, -1) * entry(my, j, r, 1) +
                    entry(mx, i, c, 1) * (entry(ky, j, r, -1) + (r == j + 1 ? e[j] : 0))) *
                   static_cast<double>(x[(r - 1) * n + c - 1]);
      const double right = static_cast<double>(b[j * n + i]);
      residual += (right - sum) * (right - sum);
      norm += right * right;
    }
  if (!(residual <= 1e-4 * norm)) return nullptr;

  copy_from_host(ctx, packed.data(), part(solver->matrices_, 0, static_cast<int>(packed.size())));
  solver->mu_ = std::move(pairs[1].values);
  return solver;
}

template <class T>
void FastDiagonalisation<T>::set_mass(Context& ctx, double c) {
  std::vector<T> moved;
  for (const double mu : mu_) moved.push_back(static_cast<T>(mu + c));
  copy_from_host(ctx, moved.data(), part(matrices_, (4 * size_ + 1) * size_, static_cast<int>(moved.size())));
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
