#pragma once

// Device code that evaluates a function at the Gauss points of a rectangle's cells: load vector and error sums. The project
// compiles it for the functions that it knows, and the runtime compiler for expressions: nothing is included here, and nothing
// of the standard library is used. assembly/gpu_integrals.hpp has the formulas.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

namespace stratum::cuda {

/// What functions are given, as stratum::Point.
struct PointOnDevice {
  double x, y, to_left, to_right, to_bottom, to_top;
};

/// The nodes of a line that are unknowns begin with node `first`.
struct LineNodes {
  int intervals, first, unknowns;
  bool periodic;

  /// Negative: none.
  __host__ __device__ int unknown(int node) const {
    if (periodic && node == intervals) return 0;
    const int i = node - first;
    return i < unknowns ? i : -1;
  }
};

/// And the Gauss points of its intervals, number n of interval k at k * count + n.
struct GaussLine : LineNodes {
  const double *at, *from_begin, *from_end;
  const double *fraction, *weight;  // of the interval; times its width
  int count;
};

template <class F>
__device__ double value_at(const F& f, const GaussLine& x, const GaussLine& y, int p, int q) {
  return f(PointOnDevice{x.at[p], y.at[q], x.from_begin[p], x.from_end[p], y.from_begin[q], y.from_end[q]});
}

/// Where the results lie, and a flag that is raised at numbers that are not finite.
struct LoadArguments {
  GaussLine x, y;
  double* b;
  long long pitch;
  int* not_finite;
};

/// A thread has a node and gathers from the cells at it.
template <class F>
__device__ void load_of(const F& f, const LoadArguments& to) {
  const GaussLine &x = to.x, &y = to.y;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= x.unknowns) return;
  for (int j = static_cast<int>(blockIdx.y); j < y.unknowns; j += static_cast<int>(gridDim.y)) {
    double sum = 0;
    for (int upper = 0; upper < 2; ++upper) {
      int cell_y = j + y.first - 1 + upper;
      if (cell_y < 0 && y.periodic) cell_y = y.intervals - 1;
      if (cell_y < 0 || cell_y == y.intervals) continue;
      for (int right = 0; right < 2; ++right) {
        int cell_x = i + x.first - 1 + right;
        if (cell_x < 0 && x.periodic) cell_x = x.intervals - 1;
        if (cell_x < 0 || cell_x == x.intervals) continue;
        for (int q = cell_y * y.count; q < (cell_y + 1) * y.count; ++q) {
          double row = 0;
          for (int p = cell_x * x.count; p < (cell_x + 1) * x.count; ++p) {
            const double phi = right == 1 ? 1 - x.fraction[p] : x.fraction[p];
            row += x.weight[p] * phi * value_at(f, x, y, p, q);
          }
          sum += y.weight[q] * (upper == 1 ? 1 - y.fraction[q] : y.fraction[q]) * row;
        }
      }
    }
    if (!(sum - sum == 0)) *to.not_finite = 1;
    to.b[j * to.pitch + i] = sum;
  }
}

/// u_h at the unknowns, and at Dirichlet nodes by side.
struct NodalValues {
  const double* u;
  long long pitch;
  const double *left, *right, *bottom, *top;

  __host__ __device__ double operator()(const LineNodes& x, const LineNodes& y, int i, int j) const {
    const int p = x.unknown(i), q = y.unknown(j);
    if (p >= 0 && q >= 0) return u[q * pitch + p];
    // The left and right side have the corners.
    if (p < 0) return (i == 0 ? left : right)[j];
    return (j == 0 ? bottom : top)[i];
  }
};

constexpr int error_sums = 5;
constexpr int error_threads = 256;

struct ErrorArguments {
  GaussLine x, y;
  NodalValues values;
  double* sums;  // error_sums a row of cells
};

/// A block has a row of cells and adds up squared error, squared norm, integrals of error and solution, and the area.
template <class F>
__device__ void errors_of(const F& exact, const ErrorArguments& to) {
  __shared__ double part[error_sums][error_threads];
  const GaussLine &x = to.x, &y = to.y;
  const int t = static_cast<int>(threadIdx.x);
  for (int j = static_cast<int>(blockIdx.x); j < y.intervals; j += static_cast<int>(gridDim.x)) {
    double sum[error_sums] = {};
    for (int i = t; i < x.intervals; i += error_threads) {
      const double south_west = to.values(x, y, i, j), south_east = to.values(x, y, i + 1, j);
      const double north_west = to.values(x, y, i, j + 1), north_east = to.values(x, y, i + 1, j + 1);
      for (int q = j * y.count; q < (j + 1) * y.count; ++q)
        for (int p = i * x.count; p < (i + 1) * x.count; ++p) {
          const double r = x.fraction[p], s = y.fraction[q], weight = x.weight[p] * y.weight[q];
          const double uh =
              (1 - s) * ((1 - r) * south_west + r * south_east) + s * ((1 - r) * north_west + r * north_east);
          const double u = value_at(exact, x, y, p, q);
          sum[0] += weight * (uh - u) * (uh - u);
          sum[1] += weight * u * u;
          sum[2] += weight * (uh - u);
          sum[3] += weight * u;
          sum[4] += weight;
        }
    }
    for (int k = 0; k < error_sums; ++k) part[k][t] = sum[k];
    __syncthreads();
    for (int width = error_threads / 2; width > 0; width /= 2) {
      if (t < width)
        for (int k = 0; k < error_sums; ++k) part[k][t] += part[k][t + width];
      __syncthreads();
    }
    if (t < error_sums) to.sums[j * error_sums + t] = part[t][0];
    __syncthreads();
  }
}

}  // namespace stratum::cuda

#endif
