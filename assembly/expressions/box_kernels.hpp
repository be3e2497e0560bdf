#pragma once

// The contents of assembly/expressions/point_kernels.hpp for the cells of boxes; it is included after that header. Directions
// are those of storage: the numbers of the first one are contiguous.

#if !defined(__CUDACC_RTC__)
#include <stratum/assembly/expressions/point_kernels.hpp>
#endif

// Loops over the points of a cell: unrolled by nvcc; not by the compiler of expressions, which takes half as long then.
#if defined(__CUDACC_RTC__)
#define STRATUM_POINTS _Pragma("unroll 1")
#elif defined(__CUDACC__)
#define STRATUM_POINTS _Pragma("unroll")
#else
#define STRATUM_POINTS _Pragma("GCC unroll 27")
#endif

namespace stratum {

/// Adds those of one cell, or of a pack of cells: `values` at its points, by the third, the second and the first direction, one
/// over its edges, its volume, K in each direction, and c.
template <class V>
STRATUM_AT_POINTS void add_box_cell(const V (&values)[3][3][3], const V (&by)[3], const V& volume, const V (&k)[3],
                                    double c, FieldSumsOf<V>& sums) {
  const auto weight_at = [](int p) { return p == 1 ? 8.0 / 18 : 5.0 / 18; };
  STRATUM_POINTS
  for (int n = 0; n < 27; ++n) {
    const int p = n % 3, q = n / 3 % 3, r = n / 9;
    const V value = values[r][q][p], weight = weight_at(p) * weight_at(q) * weight_at(r) * volume;
    const V first[3] = {values[r][q][0], values[r][q][1], values[r][q][2]},
            second[3] = {values[r][0][p], values[r][1][p], values[r][2][p]},
            third[3] = {values[0][q][p], values[1][q][p], values[2][q][p]};
    const V gx = slope_at(p, first) * by[0], gy = slope_at(q, second) * by[1], gz = slope_at(r, third) * by[2];
    const V square = value * value;
    add(FieldSumsOf<V>{weight * square, weight * value,
                       weight * (k[0] * gx * gx + k[1] * gy * gy + k[2] * gz * gz + c * square), value, value},
        sums);
  }
}

/// u_h at fractions of the edges of a cell with these values at its corners, by the third, the second and the first direction.
template <class V>
STRATUM_AT_POINTS V trilinear(const V (&corners)[2][2][2], const V& t, double s, double r) {
  const V low = (1 - s) * ((1 - t) * corners[0][0][0] + t * corners[0][0][1]) +
                s * ((1 - t) * corners[0][1][0] + t * corners[0][1][1]);
  const V high = (1 - s) * ((1 - t) * corners[1][0][0] + t * corners[1][0][1]) +
                 s * ((1 - t) * corners[1][1][0] + t * corners[1][1][1]);
  return (1 - r) * low + r * high;
}

}  // namespace stratum

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

namespace stratum::cuda {

/// What functions are given, as stratum::Point3D.
struct BoxPointOnDevice {
  double x, y, z, to_left, to_right, to_bottom, to_top, to_front, to_back, t;
};

/// Directions of storage: those of the box, but that direction `last` and z have changed places. At a time.
struct BoxLines {
  GaussLine line[3];
  int last;
  double t;
};

/// With these points of the directions of storage.
__device__ inline BoxPointOnDevice box_point_at(const BoxLines& box, int p, int q, int r) {
  const GaussLine &x = box.line[box.last == 0 ? 2 : 0], &y = box.line[box.last == 1 ? 2 : 1], &z = box.line[box.last];
  const int i = box.last == 0 ? r : p, j = box.last == 1 ? r : q, k = box.last == 0 ? p : box.last == 1 ? q : r;
  return {x.at[i],         y.at[j],       z.at[k],         x.from_begin[i], x.from_end[i],
          y.from_begin[j], y.from_end[j], z.from_begin[k], z.from_end[k],   box.t};
}

/// Where the results lie, how far apart, and a flag that is raised at numbers that are not finite. Lines without intervals
/// beyond an end have a part of the box: its own cells alone.
struct BoxLoadArguments {
  BoxLines box;
  double* b;
  long long apart[3];
  int* not_finite;
};

/// A thread has a node and gathers from the cells at it.
template <class F>
__device__ void box_load_of(const F& f, const BoxLoadArguments& to) {
  const GaussLine &x = to.box.line[0], &y = to.box.line[1], &z = to.box.line[2];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= x.unknowns) return;
  const long long rows = static_cast<long long>(y.unknowns) * z.unknowns;
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    const int j = static_cast<int>(row % y.unknowns), k = static_cast<int>(row / y.unknowns);
    double sum = 0;
    for (int corner = 0; corner < 8; ++corner) {
      const bool of_x = corner % 2 == 1, of_y = corner / 2 % 2 == 1, of_z = corner / 4 == 1;
      const int cell_x = x.beside(i, of_x), cell_y = y.beside(j, of_y), cell_z = z.beside(k, of_z);
      if (cell_x < 0 || cell_y < 0 || cell_z < 0) continue;
      for (int r = cell_z * z.count; r < (cell_z + 1) * z.count; ++r)
        for (int q = cell_y * y.count; q < (cell_y + 1) * y.count; ++q) {
          double line = 0;
          for (int p = cell_x * x.count; p < (cell_x + 1) * x.count; ++p)
            line += x.weight[p] * (of_x ? 1 - x.fraction[p] : x.fraction[p]) * f(box_point_at(to.box, p, q, r));
          sum += z.weight[r] * (of_z ? 1 - z.fraction[r] : z.fraction[r]) * y.weight[q] *
                 (of_y ? 1 - y.fraction[q] : y.fraction[q]) * line;
        }
    }
    if (!(sum - sum == 0)) *to.not_finite = 1;
    to.b[i * to.apart[0] + j * to.apart[1] + k * to.apart[2]] = sum;
  }
}

/// One point an interval. Where values of cells lie, x fastest, and a flag that is raised at numbers that are not finite and
/// positive.
struct BoxCellArguments {
  BoxLines box;
  double* values;
  int* refused;
};

/// A thread has a cell.
template <class F>
__device__ void box_cells_of(const F& f, const BoxCellArguments& to) {
  const GaussLine &x = to.box.line[0], &y = to.box.line[1], &z = to.box.line[2];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= x.intervals) return;
  const long long rows = static_cast<long long>(y.intervals) * z.intervals;
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    const double value =
        f(box_point_at(to.box, i, static_cast<int>(row % y.intervals), static_cast<int>(row / y.intervals)));
    if (!(value > 0 && value - value == 0)) *to.refused = 1;
    to.values[row * x.intervals + i] = value;
  }
}

struct BoxErrorArguments {
  BoxLines box;     // three points an interval
  const double* u;  // of node (0, 0, 0)
  long long row, plane;
  const double *k[3], *w[3];  // of intervals: K of direction d is k[d] times w of the two others
  double reaction;
  ErrorSums* sums;  // of every block
};

/// The compiler of expressions is done sooner where the cell's 27 points do not each have a copy of the function.
template <class F>
__device__ __noinline__ double value_by_call(const F& f, BoxPointOnDevice point) {
  return f(point);
}

/// A block takes rows of cells.
template <bool inlined = false, class F>
__device__ void box_errors_of(const F& exact, const BoxErrorArguments& to) {
  __shared__ ErrorSums part[error_threads];
  const GaussLine &x = to.box.line[0], &y = to.box.line[1], &z = to.box.line[2];
  const int thread = static_cast<int>(threadIdx.x);
  const long long rows = static_cast<long long>(y.intervals) * z.intervals;
  ErrorSums sums = no_error_sums();
  // The weights of an interval's points add up to its width.
  const auto width_of = [](const GaussLine& line, int i) {
    return line.weight[3 * i] + line.weight[3 * i + 1] + line.weight[3 * i + 2];
  };
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const int j = static_cast<int>(row % y.intervals), k = static_cast<int>(row / y.intervals);
    const double hy = width_of(y, j), hz = width_of(z, k);
    for (int i = thread; i < x.intervals; i += error_threads) {
      const double hx = width_of(x, i), volume = hx * hy * hz;
      const double by[3] = {1 / hx, 1 / hy, 1 / hz};
      const double material[3] = {to.k[0][i] * to.w[1][j] * to.w[2][k], to.w[0][i] * to.k[1][j] * to.w[2][k],
                                  to.w[0][i] * to.w[1][j] * to.k[2][k]};
      const double* const u = to.u + k * to.plane + j * to.row + i;
      const double corners[2][2][2] = {
          {{u[0], u[1]}, {u[to.row], u[to.row + 1]}},
          {{u[to.plane], u[to.plane + 1]}, {u[to.plane + to.row], u[to.plane + to.row + 1]}}};
      double v[3][3][3];
      STRATUM_POINTS
      for (int n = 0; n < 27; ++n) {
        const int p = n % 3, q = n / 3 % 3, r = n / 9;
        const BoxPointOnDevice point = box_point_at(to.box, 3 * i + p, 3 * j + q, 3 * k + r);
        v[r][q][p] = inlined ? exact(point) : value_by_call(exact, point);
      }
      add_box_cell(v, by, volume, material, to.reaction, sums.exact);
      STRATUM_POINTS
      for (int n = 0; n < 27; ++n) {
        const int p = n % 3, q = n / 3 % 3, r = n / 9;
        v[r][q][p] =
            trilinear(corners, x.fraction[3 * i + p], y.fraction[3 * j + q], z.fraction[3 * k + r]) - v[r][q][p];
      }
      add_box_cell(v, by, volume, material, to.reaction, sums.error);
      sums.area += volume;
    }
  }
  part[thread] = sums;
  __syncthreads();
  for (int width = error_threads / 2; width > 0; width /= 2) {
    if (thread < width) add(part[thread + width], part[thread]);
    __syncthreads();
  }
  if (thread == 0) to.sums[blockIdx.x] = part[0];
}

}  // namespace stratum::cuda

#endif

#undef STRATUM_POINTS
