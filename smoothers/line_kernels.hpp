#pragma once

// CUDA form of the line solves of smoothers/line.cpp; included there, by CUDA compilers only.
//
// One block solves one line at a time by partitioning: thread t owns S consecutive positions, of which the last is its
// separator. With x_L the previous thread's separator, forward elimination inside a segment gives
//
//     x_k = F_k - A_k x_L - C_k x_(k+1)        k = 0 .. S - 1 ,
//
// and, going back once, x_0 = F - A x_L - C x_(S-1). Putting the next segment's x_0 into the separator's equation leaves a
// tridiagonal system of one unknown per thread, solved by parallel cyclic reduction (Hockney, Jesshope, Parallel Computers,
// 1981) inside warps and then over one unknown per warp. Global memory is read and written once, along rows: 3 words a node and the coefficients.
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

constexpr int tile = 64;
constexpr int tile_rows =
    16;  // rows of threads; each takes every 16th row of the tile, so that loads are in flight together

template <class T>
struct Transposition {
  GridView<const T> from;
  GridView<T> to;
};

/// to(j, i) = from(i, j), for one pair of vectors or two of the same shape.
template <class T>
__global__ void __launch_bounds__(tile* tile_rows)
    transpose_kernel(const Transposition<T> first, const Transposition<T> second) {
  // By value: a reference would send every access through local memory.
  const bool one = blockIdx.z == 0;
  const GridView<const T> from{one ? first.from.data : second.from.data, first.from.nx, first.from.ny,
                               one ? first.from.pitch : second.from.pitch};
  const GridView<T> to{one ? first.to.data : second.to.data, first.to.nx, first.to.ny,
                       one ? first.to.pitch : second.to.pitch};
  __shared__ T block[tile][tile + 1];
  const int i0 = static_cast<int>(blockIdx.x) * tile, j0 = static_cast<int>(blockIdx.y) * tile;
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  T values[tile / tile_rows];
#pragma unroll
  for (int k = 0; k < tile / tile_rows; ++k) {
    const int r = ty + k * tile_rows;
    values[k] = i0 + tx < from.nx && j0 + r < from.ny ? from(i0 + tx, j0 + r) : T(0);
  }
#pragma unroll
  for (int k = 0; k < tile / tile_rows; ++k) block[ty + k * tile_rows][tx] = values[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < tile / tile_rows; ++k) {
    const int r = ty + k * tile_rows;
    if (j0 + tx < from.ny && i0 + r < from.nx) to(j0 + tx, i0 + r) = block[tx][r];
  }
}

template <class T>
void transpose(const Context& ctx, const Transposition<T>& first, const Transposition<T>* second = nullptr) {
  const auto blocks = [](int n) { return static_cast<unsigned>((n + tile - 1) / tile); };
  const dim3 grid(blocks(first.from.nx), blocks(first.from.ny), second != nullptr ? 2 : 1);
  transpose_kernel<T><<<grid, dim3(tile, tile_rows), 0, static_cast<cudaStream_t>(ctx.stream())>>>(
      first, second != nullptr ? *second : first);
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
  return i + static_cast<int>(static_cast<unsigned>(i) / S);
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
  __device__ void open(int) {}
  __device__ STRATUM_INLINE void get(int p, int /*next*/, T& l, T& d, T& u) {
    l = lower[p];
    d = centre[p];
    u = upper[p];
  }
};

template <int S, class T>
struct LineCoefficients<S, TensorView<T>, T> {
  static constexpr int arrays = 2;
  T *k, *m;
  T stiffness, mass, kl, ml, lower;
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
  /// Starts at the interval left of position p; get() then walks from interval to interval.
  __device__ STRATUM_INLINE void open(int p) {
    kl = k[p];
    ml = m[p];
    lower = ml * stiffness - kl * mass;
  }
  __device__ STRATUM_INLINE void get(int /*p*/, int next, T& l, T& d, T& u) {
    const T ku = k[next], mu = m[next];
    l = lower;
    u = mu * stiffness - ku * mass;
    d = (kl + ku) * mass + 2 * (ml + mu) * stiffness;
    kl = ku;
    ml = mu;
    lower = u;
  }
};

/// Right-hand sides of a line at positions i0, i0 + step, ... with step known at compile time.
template <class Rhs, class View, class T>
struct RowLoader {
  const Rhs& rhs;
  int i0, j;
  __device__ STRATUM_INLINE RowLoader(const Rhs& r, int i, int row) : rhs(r), i0(i), j(row) {}
  __device__ STRATUM_INLINE T value(int offset) const { return rhs(i0 + offset, j); }
};

/// Tensor operators: all addresses are formed once a line, offsets are constants. By linearity the two rows are combined
/// first.
template <class Rhs, class T>
requires(Rhs::is_coupled) struct RowLoader<Rhs, TensorView<T>, T> {
  const T *south, *north, *b, *kx, *mx;
  T ks, kn, ms, mn;
  __device__ STRATUM_INLINE RowLoader(const Rhs& rhs, int i, int j)
      : south(&rhs.x(i, j) - rhs.x.pitch), north(south + 2 * rhs.x.pitch), b(&rhs.b(i, j)), kx(rhs.a.kx + i),
        mx(rhs.a.mx + i), ks(rhs.a.ky[j]), kn(rhs.a.ky[j + 1]), ms(rhs.a.my[j]), mn(rhs.a.my[j + 1]) {}
  __device__ STRATUM_INLINE T value(int o) const {
    const T sw = south[o - 1], sc = south[o], se = south[o + 1], nw = north[o - 1], nc = north[o], ne = north[o + 1];
    const T mw = ms * sw + mn * nw, mc = ms * sc + mn * nc, me = ms * se + mn * ne;
    const T kw = ks * sw + kn * nw, kc = ks * sc + kn * nc, ke = ks * se + kn * ne;
    return b[o] - (kx[o] * (mc - mw) + kx[o + 1] * (mc - me) - mx[o] * (kw + 2 * kc) - mx[o + 1] * (2 * kc + ke));
  }
};

/// 1 / x, to one unit in the last place in float. Pivots are of order one or more: entries of A are ratios of widths.
__device__ STRATUM_INLINE double reciprocal(double x) { return 1 / x; }
__device__ STRATUM_INLINE float reciprocal(float x) {
  float r;
  asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

constexpr unsigned all_lanes = 0xffffffffU;
constexpr int warp = 32;

/// A row  x + a x_left + c x_right = f  of a tridiagonal system, one a lane.
template <class T>
struct Row {
  T a, c, f;
};

/// Parallel cyclic reduction over the first `count` lanes of a warp. On return x = f - a P - c N, with P what stands left of
/// lane 0 and N what stands right of lane count - 1.
template <class T>
__device__ STRATUM_INLINE Row<T> reduce_lanes(Row<T> row, int lane, int count) {
#pragma unroll
  for (int h = 1; h < warp; h *= 2) {
    if (h >= count) break;
    const T la = __shfl_up_sync(all_lanes, row.a, h), lc = __shfl_up_sync(all_lanes, row.c, h);
    const T lf = __shfl_up_sync(all_lanes, row.f, h);
    const T ra = __shfl_down_sync(all_lanes, row.a, h), rc = __shfl_down_sync(all_lanes, row.c, h);
    const T rf = __shfl_down_sync(all_lanes, row.f, h);
    const bool left = lane >= h, right = lane + h < count;
    T d = 1, f = row.f;
    if (left) {
      d -= row.a * lc;
      f -= row.a * lf;
    }
    if (right) {
      d -= row.c * ra;
      f -= row.c * rf;
    }
    const T pivot = reciprocal(d);
    row.a = (left ? -row.a * la : row.a) * pivot;
    row.c = (right ? -row.c * rc : row.c) * pivot;
    row.f = f * pivot;
  }
  return row;
}

constexpr int published = 6;  // numbers that a warp tells the others

template <int S, class View, class T>
std::size_t line_shared_bytes(int threads) {
  const int size = threads * (S + 1) + S;
  return sizeof(T) *
         static_cast<std::size_t>((1 + LineCoefficients<S, View, T>::arrays) * size + 2 * published * (threads / warp));
}

template <int S, int max_threads, class Rhs, class View, class T>
__global__ void __launch_bounds__(max_threads, 1024 / max_threads)
    solve_lines_kernel(const Rhs rhs, const int n, const Lines<T> lines, const GridView<T> y) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x);
  const int lane = t % warp, my_warp = t / warp, warps = threads / warp;
  const int size = threads * (S + 1) + S;
  T* f = reinterpret_cast<T*>(memory);
  LineCoefficients<S, View, T> coefficients(f + size, size);
  T* const boards = f + (1 + LineCoefficients<S, View, T>::arrays) * size;
  coefficients.load_block(rhs.a, n);
  __syncthreads();

  int parity = 0;
  for (int line = static_cast<int>(blockIdx.x); line < lines.count; line += static_cast<int>(gridDim.x), parity ^= 1) {
    const int j = lines.first + line * lines.stride;
    // A warp loads the segments of its own threads: nobody else waits. Loads first, so that they are in flight together.
    const int warp_begin = my_warp * warp * S;
    const bool whole_warp = warp_begin + warp * S <= n;
    {
      const RowLoader<Rhs, View, T> loader(rhs, warp_begin + lane, j);
      T r[S];
#pragma unroll
      for (int k = 0; k < S; ++k) r[k] = whole_warp || warp_begin + k * warp + lane < n ? loader.value(k * warp) : T(0);
#pragma unroll
      for (int k = 0; k < S; ++k) {
        const int i = warp_begin + k * warp + lane;
        f[padded<S>(i)] = r[k];
        if (i < n) coefficients.load_line(rhs.a, i, j);
      }
    }
    coefficients.start(rhs.a, j);
    __syncwarp();

    // Forward elimination of the segment: x_k = F - A x_L - C x_(k+1). Positions beyond the line solve 1 x = 0. Neither end
    // of the line needs its coupling cut: what stands beyond is zero.
    T fs[S], as[S], cs[S];
    const int mine = t * (S + 1);
    coefficients.open(mine);
#pragma unroll
    for (int k = 0; k < S; ++k) {
      T l, d, u;
      coefficients.get(mine + k, k == S - 1 ? mine + S + 1 : mine + k + 1, l, d, u);
      T r = f[mine + k];
      if (!whole_warp && t * S + k >= n) {
        l = u = r = 0;
        d = 1;
      }
      const T pivot = k == 0 ? reciprocal(d) : reciprocal(d - l * cs[k == 0 ? 0 : k - 1]);
      fs[k] = (k == 0 ? r : r - l * fs[k == 0 ? 0 : k - 1]) * pivot;
      as[k] = (k == 0 ? l : -l * as[k == 0 ? 0 : k - 1]) * pivot;
      cs[k] = u * pivot;
    }
    // x_0 = first.f - first.a x_L - first.c x_s, going back from x_(S-1) = x_s.
    Row<T> first{0, -1, 0};
#pragma unroll
    for (int k = S - 2; k >= 0; --k) {
      first.f = fs[k] - cs[k] * first.f;
      first.a = as[k] - cs[k] * first.a;
      first.c = -cs[k] * first.c;
    }

    // The separators of lanes 0 to 30 by that of lane 31 and of the warp before.
    const T fl = fs[S - 1], al = as[S - 1], cl = cs[S - 1];
    Row<T> row{};
    {
      const T nf = __shfl_down_sync(all_lanes, first.f, 1), na = __shfl_down_sync(all_lanes, first.a, 1);
      const T nc = __shfl_down_sync(all_lanes, first.c, 1);
      const T pivot = reciprocal(1 - cl * na);
      row = {al * pivot, -cl * nc * pivot, (fl - cl * nf) * pivot};
      if (lane == warp - 1) row = {};
    }
    row = reduce_lanes(row, lane, warp - 1);

    // Lane 31's own equation, and x_0 of the warp's first segment, told to all warps.
    T* const board = boards + parity * published * warps;
    const T a30 = __shfl_sync(all_lanes, row.a, warp - 2), c30 = __shfl_sync(all_lanes, row.c, warp - 2);
    const T f30 = __shfl_sync(all_lanes, row.f, warp - 2);
    if (lane == warp - 1) {
      const T d = reciprocal(1 - al * c30);
      board[my_warp] = -al * a30 * d;
      board[warps + my_warp] = cl * d;
      board[2 * warps + my_warp] = (fl - al * f30) * d;
    }
    if (lane == 0) {
      board[3 * warps + my_warp] = first.a - first.c * row.a;
      board[4 * warps + my_warp] = -first.c * row.c;
      board[5 * warps + my_warp] = first.f - first.c * row.f;
    }
    __syncthreads();
    // One equation a warp, solved by every warp for itself: z + a z_previous + cl (f' - a' z - c' z_next) = f.
    T z_previous = 0, z_own = 0;
    {
      Row<T> top{};
      if (lane < warps) {
        const T c = lane + 1 < warps ? board[warps + lane] : T(0);
        const int next = lane + 1 < warps ? lane + 1 : lane;
        const T d = reciprocal(1 - c * board[3 * warps + next]);
        top = {board[lane] * d, -c * board[4 * warps + next] * d,
               (board[2 * warps + lane] - c * board[5 * warps + next]) * d};
      }
      top = reduce_lanes(top, lane, warps);
      z_own = __shfl_sync(all_lanes, top.f, my_warp);
      z_previous = __shfl_sync(all_lanes, top.f, my_warp > 0 ? my_warp - 1 : 0);
      if (my_warp == 0) z_previous = 0;
    }
    T x = lane == warp - 1 ? z_own : row.f - row.a * z_previous - row.c * z_own;
    T x_left = __shfl_up_sync(all_lanes, x, 1);
    if (lane == 0) x_left = z_previous;

    f[t * (S + 1) + S - 1] = x;
#pragma unroll
    for (int k = S - 2; k >= 0; --k) {
      x = fs[k] - as[k] * x_left - cs[k] * x;
      f[t * (S + 1) + k] = x;
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < S; ++k) {
      const int i = warp_begin + k * warp + lane;
      if (whole_warp || i < n) {
        const T solution = lines.omega * f[padded<S>(i)];
        y(i, j) = lines.keep == T(0) ? solution : lines.keep * rhs.x(i, j) + solution;
      }
    }
    __syncwarp();
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
  // Short segments: many warps hide each other's latency, which measured better than a cheaper reduction.
  if (n <= 1024) return launch.template operator()<4, 256>();
  if (n <= 4096) return launch.template operator()<8, 512>();
  if (n <= 8192) return launch.template operator()<8, 1024>();
  if (n <= 16384) return launch.template operator()<16, 1024>();
  return false;
}

}  // namespace cuda
}  // namespace stratum
