#pragma once

// Sums over the Gauss points of cells for error norms, on host and device, and device code that evaluates a function at the
// points of a rectangle's cells: load vector and error sums. The project compiles it for the functions that it knows, and the
// runtime compiler for expressions. Hence it includes nothing and uses nothing of the standard library.
// assembly/expressions/gpu_integrals.hpp and assembly/error_norms.hpp have the formulas.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define STRATUM_AT_POINTS inline __host__ __device__
#else
#define STRATUM_AT_POINTS inline __attribute__((always_inline))  // into code for wider registers
#endif

namespace stratum {

/// Of a function given at the points of cells: integrals of its square and itself, its energy, and its extremes. V is double,
/// or a pack of numbers, one for each of several cells.
template <class V>
struct FieldSumsOf {
  V square, integral, energy, smallest, largest;
};
using FieldSums = FieldSumsOf<double>;

/// Of error and exact solution; integral of 1.
struct ErrorSums {
  FieldSums error, exact;
  double area;
};

STRATUM_AT_POINTS FieldSums no_field_sums() { return {0, 0, 0, 1.7976931348623157e308, -1.7976931348623157e308}; }
STRATUM_AT_POINTS ErrorSums no_error_sums() { return {no_field_sums(), no_field_sums(), 0}; }

template <class V>
STRATUM_AT_POINTS void add(const FieldSumsOf<V>& from, FieldSumsOf<V>& to) {
  to.square += from.square;
  to.integral += from.integral;
  to.energy += from.energy;
  to.smallest = from.smallest < to.smallest ? from.smallest : to.smallest;
  to.largest = from.largest > to.largest ? from.largest : to.largest;
}
STRATUM_AT_POINTS void add(const ErrorSums& from, ErrorSums& to) {
  add(from.error, to.error);
  add(from.exact, to.exact);
  to.area += from.area;
}

/// K and c.
template <class V>
struct PointMaterialOf {
  V xx, xy, yy, c;
};
using PointMaterial = PointMaterialOf<double>;

/// At point k of three of the Gauss rule on [0, 1], of the quadratic function with these values there.
template <class V>
STRATUM_AT_POINTS V slope_at(int k, const V (&values)[3]) {
  constexpr double inverse = 1.2909944487358056;  // of twice the distance sqrt(3/20) of neighbours
  const V first = values[1] - values[0], second = values[2] - values[1];
  if (k == 1) return inverse * (first + second);
  return inverse * (k == 0 ? 3 * first - second : 3 * second - first);
}

/// d(t, s)/d(x, y) of a cell at a point, and the point's weight.
template <class V>
struct PointSlopesOf {
  V tx, ty, sx, sy, weight;
};
using PointSlopes = PointSlopesOf<double>;

/// Adds those of one cell, `values` by height first, `cell(p, q)` the PointSlopes at point p of height q.
template <class V, class Cell>
STRATUM_AT_POINTS void add_cell(const V (&values)[3][3], const Cell& cell, const PointMaterialOf<V>& k,
                                FieldSumsOf<V>& sums) {
  for (int q = 0; q < 3; ++q)
    for (int p = 0; p < 3; ++p) {
      const V value = values[q][p], beside[3] = {values[0][p], values[1][p], values[2][p]};
      const V by_t = slope_at(p, values[q]), by_s = slope_at(q, beside);
      const PointSlopesOf<V> at = cell(p, q);
      const V by_x = at.tx * by_t + at.sx * by_s, by_y = at.ty * by_t + at.sy * by_s, square = value * value;
      add({at.weight * square, at.weight * value,
           at.weight * (k.xx * by_x * by_x + 2 * k.xy * by_x * by_y + k.yy * by_y * by_y + k.c * square), value, value},
          sums);
    }
}

/// u_h at a point of a cell with these values at its corners.
template <class V>
STRATUM_AT_POINTS V bilinear(V sw, V se, V nw, V ne, double t, double s) {
  return (1 - s) * ((1 - t) * sw + t * se) + s * ((1 - t) * nw + t * ne);
}

}  // namespace stratum

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
  /// The interval before or behind an unknown. Negative: none.
  __host__ __device__ int beside(int i, bool behind) const {
    const int interval = i + first - (behind ? 0 : 1);
    if (interval < 0 && periodic) return intervals - 1;
    return interval < intervals ? interval : -1;
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
      const int cell_y = y.beside(j, upper == 1);
      if (cell_y < 0) continue;
      for (int right = 0; right < 2; ++right) {
        const int cell_x = x.beside(i, right == 1);
        if (cell_x < 0) continue;
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

/// K and c by cells; null: one, zero, that of xx, zero.
struct CellMaterials {
  const double *xx, *xy, *yy, *c;
  long long pitch;
  double reaction;  // added to c

  __device__ PointMaterial operator()(int i, int j) const {
    const long long cell = j * pitch + i;
    const double k = xx != nullptr ? xx[cell] : 1;
    return {k, xy != nullptr ? xy[cell] : 0, yy != nullptr ? yy[cell] : k, reaction + (c != nullptr ? c[cell] : 0)};
  }
};

/// Of a rectangle's cell.
struct RectanglePoints {
  double by_x, by_y;
  const double *weight_x, *weight_y;
  __device__ PointSlopes operator()(int p, int q) const { return {by_x, 0, 0, by_y, weight_x[p] * weight_y[q]}; }
};

constexpr int error_threads = 128;

struct ErrorArguments {
  GaussLine x, y;  // three points an interval
  NodalValues values;
  CellMaterials materials;
  ErrorSums* sums;  // of every row of cells
};

/// A block has a row of cells.
template <class F>
__device__ void errors_of(const F& exact, const ErrorArguments& to) {
  __shared__ ErrorSums part[error_threads];
  const GaussLine &x = to.x, &y = to.y;
  const int thread = static_cast<int>(threadIdx.x);
  for (int j = static_cast<int>(blockIdx.x); j < y.intervals; j += static_cast<int>(gridDim.x)) {
    ErrorSums sums = no_error_sums();
    // The weights of an interval's points add up to its width.
    const double* const weight_y = y.weight + 3 * j;
    const double height = weight_y[0] + weight_y[1] + weight_y[2];
    for (int i = thread; i < x.intervals; i += error_threads) {
      const double sw = to.values(x, y, i, j), se = to.values(x, y, i + 1, j);
      const double nw = to.values(x, y, i, j + 1), ne = to.values(x, y, i + 1, j + 1);
      double e[3][3], u[3][3];  // by height first
      for (int q = 0; q < 3; ++q)
        for (int p = 0; p < 3; ++p) {
          u[q][p] = value_at(exact, x, y, 3 * i + p, 3 * j + q);
          e[q][p] = bilinear(sw, se, nw, ne, x.fraction[3 * i + p], y.fraction[3 * j + q]) - u[q][p];
        }
      const double* const weight_x = x.weight + 3 * i;
      const double width = weight_x[0] + weight_x[1] + weight_x[2];
      const RectanglePoints points{1 / width, 1 / height, weight_x, weight_y};
      const PointMaterial k = to.materials(i, j);
      add_cell(e, points, k, sums.error);
      add_cell(u, points, k, sums.exact);
      sums.area += width * height;
    }
    part[thread] = sums;
    __syncthreads();
    for (int width = error_threads / 2; width > 0; width /= 2) {
      if (thread < width) add(part[thread + width], part[thread]);
      __syncthreads();
    }
    if (thread == 0) to.sums[j] = part[0];
    __syncthreads();
  }
}

}  // namespace stratum::cuda

#endif
