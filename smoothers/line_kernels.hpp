#pragma once

// CUDA form of the line solves of smoothers/line.cpp; included there, by CUDA compilers only.
//
// One block solves one line at a time by partitioning: thread t owns S consecutive positions, of which the last is its
// separator. With x_L the previous thread's separator, forward elimination inside a segment gives
//
//     x_k = F_k - A_k x_L - C_k x_(k+1)        k = 0 .. S - 1 ,
//
// and, going back once, x_0 = F - A x_L - C x_(S-1). Putting the next segment's x_0 into the separator's equation leaves a
// tridiagonal system of one unknown per thread, solved in shared memory by parallel cyclic reduction (Hockney, Jesshope,
// Parallel Computers, 1981). Global memory is read and written once, along rows: 3 words a node and the coefficients.
//
// Lines along y are solved as x lines of the transposed grid; transposing costs 4 words a node, and 2 for b. (Goeddeke,
// Strzodka 2011, Section 3.5, permute their vectors likewise.) Lines too long for the shared memory of a block are solved
// by the Thomas algorithm, one thread a line: right, but slow.

#include <cuda_runtime.h>

#include <stratum/core/cuda_check.hpp>

namespace stratum {
namespace cuda {

/// An operator seen with x and y exchanged.
template <class View>
struct Transposed : StencilSums<Transposed<View>, typename View::Number> {
  View a;
  explicit Transposed(const View& view) : a(view) {}
  template <int dx, int dy>
  __device__ STRATUM_INLINE auto coefficient(int i, int j) const {
    return a.template coefficient<dy, dx>(j, i);
  }
};

template <class View>
Transposed<View> transposed(const View& a) {
  return Transposed<View>(a);
}

template <class T>
TensorView<T> transposed(const TensorView<T>& a) {
  TensorView<T> t;
  t.kx = a.ky;
  t.mx = a.my;
  t.ky = a.kx;
  t.my = a.mx;
  return t;
}

constexpr int tile = 32;

/// to(j, i) = from(i, j)
template <class T>
__global__ void transpose_kernel(const GridView<const T> from, const GridView<T> to) {
  __shared__ T block[tile][tile + 1];
  const int i0 = static_cast<int>(blockIdx.x) * tile, j0 = static_cast<int>(blockIdx.y) * tile;
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  for (int r = ty; r < tile; r += 8)
    if (i0 + tx < from.nx && j0 + r < from.ny) block[r][tx] = from(i0 + tx, j0 + r);
  __syncthreads();
  for (int r = ty; r < tile; r += 8)
    if (j0 + tx < from.ny && i0 + r < from.nx) to(j0 + tx, i0 + r) = block[tx][r];
}

template <class T>
void transpose(const Context& ctx, GridView<const T> from, GridView<T> to) {
  const dim3 grid(static_cast<unsigned>((from.nx + tile - 1) / tile),
                  static_cast<unsigned>((from.ny + tile - 1) / tile));
  transpose_kernel<T><<<grid, dim3(tile, 8), 0, static_cast<cudaStream_t>(ctx.stream())>>>(from, to);
}

/// The lines first, first + stride, ... of a sweep, and how their solution enters.
template <class T>
struct Lines {
  int first, stride, count;
  T omega, keep;  // y = keep x + omega solution
};

/// Where position i of a line lies in shared memory: one number of padding after each segment, so that threads that walk
/// their segments in step meet different banks.
template <int S>
__device__ STRATUM_INLINE int padded(int i) {
  return i + i / S;
}

/// Coefficients of a line in shared memory. Tensor operators keep the two 1-D factors, loaded once a block; others the
/// three coefficients, loaded for every line.
template <int S, class View, class T>
struct LineCoefficients {
  static constexpr int arrays = 3;
  T *lower, *centre, *upper;
  __device__ LineCoefficients(T* memory, int size) : lower(memory), centre(memory + size), upper(memory + 2 * size) {}
  __device__ void load_block(const View&, int) {}
  __device__ void load_line(const View& a, int i, int j) {
    const int p = padded<S>(i);
    lower[p] = a.template coefficient<-1, 0>(i, j);
    centre[p] = a.template coefficient<0, 0>(i, j);
    upper[p] = a.template coefficient<1, 0>(i, j);
  }
  __device__ void start(const View&, int) {}
  __device__ STRATUM_INLINE void get(int i, T& l, T& d, T& u) const {
    const int p = padded<S>(i);
    l = lower[p];
    d = centre[p];
    u = upper[p];
  }
};

template <int S, class T>
struct LineCoefficients<S, TensorView<T>, T> {
  static constexpr int arrays = 2;
  T *k, *m;
  T stiffness, mass;
  __device__ LineCoefficients(T* memory, int size) : k(memory), m(memory + size) {}
  __device__ void load_block(const TensorView<T>& a, int n) {
    for (int i = static_cast<int>(threadIdx.x); i <= n; i += static_cast<int>(blockDim.x)) {
      k[padded<S>(i)] = a.kx[i];
      m[padded<S>(i)] = a.mx[i];
    }
  }
  __device__ void load_line(const TensorView<T>&, int, int) {}
  __device__ void start(const TensorView<T>& a, int j) {
    stiffness = a.ky[j] + a.ky[j + 1];
    mass = 2 * (a.my[j] + a.my[j + 1]);
  }
  __device__ STRATUM_INLINE void get(int i, T& l, T& d, T& u) const {
    const T kl = k[padded<S>(i)], ml = m[padded<S>(i)], ku = k[padded<S>(i + 1)], mu = m[padded<S>(i + 1)];
    l = ml * stiffness - kl * mass;
    u = mu * stiffness - ku * mass;
    d = (kl + ku) * mass + 2 * (ml + mu) * stiffness;
  }
};

template <int S, class View, class T>
std::size_t line_shared_bytes(int threads) {
  const int size = threads * (S + 1) + S;
  return sizeof(T) * static_cast<std::size_t>((1 + LineCoefficients<S, View, T>::arrays) * size + 6 * threads);
}

template <int S, int max_threads, class Rhs, class View, class T>
__global__ void __launch_bounds__(max_threads)
    solve_lines_kernel(const Rhs rhs, const int n, const Lines<T> lines, const GridView<T> y) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x);
  const int size = threads * (S + 1) + S;
  T* f = reinterpret_cast<T*>(memory);
  LineCoefficients<S, View, T> coefficients(f + size, size);
  T* reduced = f + (1 + LineCoefficients<S, View, T>::arrays) * size;  // two buffers of a, c, f
  coefficients.load_block(rhs.a, n);

  for (int line = static_cast<int>(blockIdx.x); line < lines.count; line += static_cast<int>(gridDim.x)) {
    const int j = lines.first + line * lines.stride;
    for (int i = t; i < n; i += threads) {
      f[padded<S>(i)] = rhs(i, j);
      coefficients.load_line(rhs.a, i, j);
    }
    coefficients.start(rhs.a, j);
    __syncthreads();

    // Forward elimination of the segment. Positions beyond the line solve 1 x = 0.
    T fs[S], as[S], cs[S];
    const int begin = t * S;
#pragma unroll
    for (int k = 0; k < S; ++k) {
      const int i = begin + k;
      T l = 0, d = 1, u = 0, r = 0;
      if (i < n) {
        coefficients.get(i, l, d, u);
        r = f[padded<S>(i)];
      }
      if (i == 0) l = 0;
      if (i >= n - 1) u = 0;
      if (k == 0) {
        const T pivot = T(1) / d;
        fs[0] = r * pivot;
        as[0] = l * pivot;
        cs[0] = u * pivot;
      } else {
        const T pivot = T(1) / (d - l * cs[k - 1]);
        fs[k] = (r - l * fs[k - 1]) * pivot;
        as[k] = -l * as[k - 1] * pivot;
        cs[k] = u * pivot;
      }
    }
    // x_0 = f0 - a0 x_L - c0 x_s, going back from x_(S-1) = x_s.
    T f0 = 0, a0 = 0, c0 = -1;
#pragma unroll
    for (int k = S - 2; k >= 0; --k) {
      f0 = fs[k] - cs[k] * f0;
      a0 = as[k] - cs[k] * a0;
      c0 = -cs[k] * c0;
    }
    T* first = reduced + 3 * threads;
    first[t] = f0;
    first[threads + t] = a0;
    first[2 * threads + t] = c0;
    __syncthreads();
    // x_s = F - A x_L - C x_0(next)
    T f1 = 0, a1 = 0, c1 = 0;
    if (t + 1 < threads) {
      f1 = first[t + 1];
      a1 = first[threads + t + 1];
      c1 = first[2 * threads + t + 1];
    }
    {
      const T c = cs[S - 1];
      const T pivot = T(1) / (T(1) - c * a1);
      T *a_row = reduced, *c_row = reduced + threads, *f_row = reduced + 2 * threads;
      a_row[t] = t > 0 ? as[S - 1] * pivot : T(0);
      c_row[t] = t + 1 < threads ? -c * c1 * pivot : T(0);
      f_row[t] = (fs[S - 1] - c * f1) * pivot;
    }
    __syncthreads();
    T* current = reduced;
    T* other = reduced + 3 * threads;
    for (int h = 1; h < threads; h *= 2) {
      T a = current[t], c = current[threads + t], r = current[2 * threads + t], d = 1;
      T na = 0, nc = 0;
      if (t >= h) {
        d -= a * current[threads + t - h];
        r -= a * current[2 * threads + t - h];
        na = -a * current[t - h];
      }
      if (t + h < threads) {
        d -= c * current[t + h];
        r -= c * current[2 * threads + t + h];
        nc = -c * current[threads + t + h];
      }
      const T pivot = T(1) / d;
      other[t] = na * pivot;
      other[threads + t] = nc * pivot;
      other[2 * threads + t] = r * pivot;
      __syncthreads();
      T* const swap = current;
      current = other;
      other = swap;
    }
    const T x_left = t > 0 ? current[2 * threads + t - 1] : T(0);
    T x = current[2 * threads + t];
    f[t * (S + 1) + S - 1] = x;
#pragma unroll
    for (int k = S - 2; k >= 0; --k) {
      x = fs[k] - as[k] * x_left - cs[k] * x;
      f[t * (S + 1) + k] = x;
    }
    __syncthreads();
    for (int i = t; i < n; i += threads) {
      const T solution = lines.omega * f[padded<S>(i)];
      y(i, j) = lines.keep == T(0) ? solution : lines.keep * rhs.x(i, j) + solution;
    }
    __syncthreads();
  }
}

/// Thomas algorithm, one thread a line, multipliers and solutions in global memory: any length, but few threads.
template <class Rhs, class View, class T>
__global__ void thomas_kernel(const Rhs rhs, const int n, const Lines<T> lines, const GridView<T> y, T* multipliers,
                              T* solution) {
  const int line = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (line >= lines.count) return;
  const int j = lines.first + line * lines.stride;
  T c_last = 0, z_last = 0;
  for (int i = 0; i < n; ++i) {
    const T l = i > 0 ? rhs.a.template coefficient<-1, 0>(i, j) : T(0);
    const T pivot = T(1) / (rhs.a.template coefficient<0, 0>(i, j) - l * c_last);
    c_last = rhs.a.template coefficient<1, 0>(i, j) * pivot;
    z_last = (rhs(i, j) - l * z_last) * pivot;
    multipliers[std::int64_t{i} * lines.count + line] = c_last;
    solution[std::int64_t{i} * lines.count + line] = z_last;
  }
  T x = 0;
  for (int i = n - 1; i >= 0; --i) {
    x = solution[std::int64_t{i} * lines.count + line] -
        (i + 1 < n ? multipliers[std::int64_t{i} * lines.count + line] * x : T(0));
    y(i, j) = lines.keep == T(0) ? lines.omega * x : lines.keep * rhs.x(i, j) + lines.omega * x;
  }
}

template <class View, class T, class Rhs>
void solve_long_x_lines(const Context& ctx, const Rhs& rhs, int n, const Lines<T>& lines, GridView<T> y,
                        GridView<T> multipliers, GridView<T> solution) {
  if (lines.count <= 0) return;
  constexpr int threads = 64;
  thomas_kernel<Rhs, View, T>
      <<<(lines.count + threads - 1) / threads, threads, 0, static_cast<cudaStream_t>(ctx.stream())>>>(
          rhs, n, lines, y, multipliers.data, solution.data);
}

/// Launches the partitioned solver on x lines of n positions; false where a block's shared memory does not suffice.
template <class View, class T, class Rhs>
bool solve_x_lines(const Context& ctx, const Rhs& rhs, int n, const Lines<T>& lines, GridView<T> y) {
  if (lines.count <= 0) return true;
  int device = 0, limit = 0, processors = 0;
  STRATUM_CUDA_CHECK(cudaGetDevice(&device));
  STRATUM_CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  STRATUM_CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const auto launch = [&]<int S, int max_threads>() {
    const int threads = std::max(32, ((n + S - 1) / S + 31) / 32 * 32);
    const std::size_t bytes = line_shared_bytes<S, View, T>(threads);
    if (bytes > static_cast<std::size_t>(limit)) return false;
    const auto kernel = solve_lines_kernel<S, max_threads, Rhs, View, T>;
    STRATUM_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    int resident = 1;
    STRATUM_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, bytes));
    const int blocks = std::min(lines.count, std::max(1, resident) * processors);
    kernel<<<blocks, threads, bytes, static_cast<cudaStream_t>(ctx.stream())>>>(rhs, n, lines, y);
    return true;
  };
  if (n <= 1024) return launch.template operator()<4, 256>();
  if (n <= 4096) return launch.template operator()<8, 512>();
  if (n <= 16384) return launch.template operator()<16, 1024>();
  return false;
}

}  // namespace cuda
}  // namespace stratum
