#include <stratum/solvers/fast_diagonalisation.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <stratum/core/grid/blas.hpp>
#include <stratum/solvers/jacobi_rotations.hpp>

#if defined(__CUDACC__)
#include <cuda_pipeline.h>

#include <stratum/core/device/cluster.hpp>
#include <stratum/core/device/launch.hpp>
#include <stratum/core/device/signal.hpp>
#endif

namespace stratum {

namespace {

/// Eigenvectors (v[i * n + a], vector a) and eigenvalues of K V = M V Lambda with V^T M V = 1, K and M of 1-D linear elements.
struct Eigenpairs {
  std::size_t n;
  std::vector<double> vectors, values;
};

/// With M = L L^T and K + E = D^T D, of the matrix F F^T with F = L^-1 D^T: Jacobi's rotations find small eigenvalues beside
/// large ones to full relative accuracy, which a boundary layer needs.
Eigenpairs decompose(const std::vector<double>& stiffness, const std::vector<double>& mass,
                     const std::vector<double>& diagonal_term) {
  const std::size_t n = stiffness.size() - 1;
  std::vector<double> diagonal(n), lower(n, 0.0);  // of L
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) lower[i] = mass[i] / diagonal[i - 1];
    diagonal[i] = std::sqrt(2 * (mass[i] + mass[i + 1]) - lower[i] * lower[i]);
  }
  // D by intervals, without rounding, unless a reaction makes one negative: 1 / h < c h / 6. Then by Cholesky's factor.
  const auto any = [](const std::vector<double>& v, const auto& is) { return std::any_of(v.begin(), v.end(), is); };
  const auto negative = [](double value) { return value < 0; };
  const bool by_intervals = !any(stiffness, negative) && !any(diagonal_term, negative);
  const bool has_term = by_intervals && any(diagonal_term, [](double e) { return e != 0; });
  const std::size_t width = n + (by_intervals ? 1 : 0) + (has_term ? n : 0);
  std::vector<double> rows(n * width, 0.0);
  double before = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = &rows[i * width];
    if (by_intervals) {
      row[i] = std::sqrt(stiffness[i]);
      row[i + 1] = -std::sqrt(stiffness[i + 1]);
      if (has_term) row[n + 1 + i] = std::sqrt(diagonal_term[i]);
    } else {
      const double beside = i > 0 ? -stiffness[i] / before : 0;
      if (i > 0) row[i - 1] = beside;
      row[i] = before = std::sqrt(stiffness[i] + stiffness[i + 1] + diagonal_term[i] - beside * beside);
    }
    for (std::size_t k = 0; k < width; ++k)
      row[k] = (row[k] - (i > 0 ? lower[i] * rows[(i - 1) * width + k] : 0)) / diagonal[i];
  }

  auto [u, values] = diagonalise_square(n, rows);
  Eigenpairs pairs{n, std::vector<double>(n * n), std::move(values)};
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t i = n; i-- > 0;) {
      const double behind = i + 1 < n ? lower[i + 1] * pairs.vectors[(i + 1) * n + a] : 0;
      pairs.vectors[i * n + a] = (u[a * n + i] - behind) / diagonal[i];
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
  const auto& factors = *separable;
  const auto kx = factors_to_host(ctx, factors.kx), mx = factors_to_host(ctx, factors.mx);
  const auto ky = factors_to_host(ctx, factors.ky), my = factors_to_host(ctx, factors.my);
  const auto e = factors.has_reaction() ? factors_to_host(ctx, factors.e) : std::vector<double>(ky.size() - 1, 0.0);
  const std::vector<double> none(kx.size() - 1, 0.0);
  Eigenpairs pairs[2];
  if (kx == ky && mx == my && none == e)
    pairs[0] = pairs[1] = decompose(kx, mx, none);
  else
#pragma omp parallel for num_threads(std::min(ctx.threads(), 2))
    for (int d = 0; d < 2; ++d) pairs[d] = d == 0 ? decompose(kx, mx, none) : decompose(ky, my, e);
  if (singular)
    for (auto& pair : pairs) *std::min_element(pair.values.begin(), pair.values.end()) = 0;
  const int size = padded(shape);
  const auto n = static_cast<std::size_t>(size);
  std::vector<T> packed(2 * n * n + 2 * n, T(0));
  for (std::size_t d = 0; d < 2; ++d) {
    const Eigenpairs& pair = pairs[d];
    T *v = packed.data() + d * n * n, *values = packed.data() + 2 * n * n + d * n;
    for (std::size_t i = 0; i < pair.n; ++i)
      for (std::size_t k = 0; k < pair.n; ++k) v[i * n + k] = static_cast<T>(pair.vectors[i * pair.n + k]);
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
