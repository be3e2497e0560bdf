#include <stratum/core/operators/box_operator.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/field/field_functors.hpp>
#include <stratum/core/field/reduce_3d.hpp>

#if defined(__CUDACC__)
#include <stratum/core/device/launch.hpp>
#endif

namespace stratum {

namespace {

/// Of one node and its neighbours in a direction: weights of M, and of K to both sides.
struct NodeFactors {
  double before, here, behind;  // M
  double k_before, k_behind;

  STRATUM_HOST_DEVICE STRATUM_INLINE NodeFactors(const AxisFactorsView& axis, int i)
      : NodeFactors(axis.m[i], axis.m[i + 1], axis.k[i], axis.k[i + 1]) {}
  STRATUM_HOST_DEVICE STRATUM_INLINE NodeFactors(double m_before, double m_behind, double of_before, double of_behind)
      : before(m_before), here(2 * (m_before + m_behind)), behind(m_behind), k_before(of_before), k_behind(of_behind) {}
};

/// Differences, or what their rounding may be as large as.
template <bool magnitudes>
STRATUM_HOST_DEVICE STRATUM_INLINE double difference(double a, double b) {
  return magnitudes ? std::abs(a) + std::abs(b) : a - b;
}
template <bool magnitudes>
STRATUM_HOST_DEVICE STRATUM_INLINE double less(double a, double b) {
  return magnitudes ? a + b : a - b;
}

/// M of three numbers along a direction; K of them, from the differences of the middle one and the first, and of the last and
/// the middle one.
STRATUM_HOST_DEVICE STRATUM_INLINE double average(const NodeFactors& axis, double before, double here, double behind) {
  return axis.before * before + axis.here * here + axis.behind * behind;
}
template <bool magnitudes>
STRATUM_HOST_DEVICE STRATUM_INLINE double slope(const NodeFactors& axis, double to_here, double to_behind) {
  return less<magnitudes>(axis.k_before * to_here, axis.k_behind * to_behind);
}
template <bool magnitudes>
STRATUM_HOST_DEVICE STRATUM_INLINE double value(double number) {
  return magnitudes ? std::abs(number) : number;
}

/// Row (j, k) of A u: A u = Kx (along) + Mx (across), two numbers a column of nodes.
template <bool magnitudes>
struct OperatorRow {
  const double *nw, *n, *ne, *w, *u, *e, *sw, *s, *se;  // rows k - 1, k, k + 1 by j - 1, j, j + 1
  NodeFactors y, z;
  double c;

  STRATUM_HOST_DEVICE STRATUM_INLINE OperatorRow(const AxisFactorsView& along_y, const AxisFactorsView& along_z,
                                                 double reaction, const FieldView<const double, 3>& field, int j, int k)
      : nw(field.row(j - 1, k - 1)), n(field.row(j, k - 1)), ne(field.row(j + 1, k - 1)), w(field.row(j - 1, k)),
        u(field.row(j, k)), e(field.row(j + 1, k)), sw(field.row(j - 1, k + 1)), s(field.row(j, k + 1)),
        se(field.row(j + 1, k + 1)), y(along_y, j), z(along_z, k), c(reaction) {}

  /// My Mz (u_i - u_(i-1))
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double along(int i) const {
    const auto d = [i](const double* row) __attribute__((always_inline)) {
      return difference<magnitudes>(row[i], row[i - 1]);
    };
    return average(z, average(y, d(nw), d(n), d(ne)), average(y, d(w), d(u), d(e)), average(y, d(sw), d(s), d(se)));
  }
  /// (Ky Mz + My Kz + c My Mz) u at column i
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double across(int i) const {
    const auto d = [i](const double* a, const double* b) __attribute__((always_inline)) {
      return difference<magnitudes>(a[i], b[i]);
    };
    const double along_y = average(z, slope<magnitudes>(y, d(n, nw), d(ne, n)), slope<magnitudes>(y, d(u, w), d(e, u)),
                                   slope<magnitudes>(y, d(s, sw), d(se, s)));
    const double along_z = average(y, slope<magnitudes>(z, d(w, nw), d(sw, w)), slope<magnitudes>(z, d(u, n), d(s, u)),
                                   slope<magnitudes>(z, d(e, ne), d(se, e)));
    if (c == 0) return along_y + along_z;
    const auto v = [i](const double* row) __attribute__((always_inline)) { return value<magnitudes>(row[i]); };
    return along_y + along_z +
           c * average(z, average(y, v(nw), v(n), v(ne)), average(y, v(w), v(u), v(e)), average(y, v(sw), v(s), v(se)));
  }
};

template <bool magnitudes>
STRATUM_HOST_DEVICE STRATUM_INLINE double combined(const NodeFactors& x, double b, double along_before,
                                                   double along_behind, double across_before, double across_here,
                                                   double across_behind) {
  const double stiffness = slope<magnitudes>(x, along_before, along_behind);
  const double mass = average(x, across_before, across_here, across_behind);
  return magnitudes ? std::abs(b) + stiffness + mass : b - (stiffness + mass);
}

struct Equations {
  std::array<AxisFactorsView, 3> axes;
  double c;
  FieldView<const double, 3> b, u;
  FieldView<double, 3> r;
};

/// Row (j, k) of r, through two rows of nx + 2 numbers.
template <bool magnitudes>
STRATUM_SIMD_CLONES void residual_row(const Equations& a, int j, int k, double* along, double* across) {
  const int nx = a.r.extents.nx;
  const OperatorRow<magnitudes> row(a.axes[1], a.axes[2], a.c, a.u, j, k);
  const AxisFactorsView x = a.axes[0];
  double *const to = a.r.row(j, k), *const shifted = across + 1;
  const double* const b = a.b.row(j, k);
#pragma omp simd
  for (int i = 0; i <= nx; ++i) along[i] = row.along(i);
#pragma omp simd
  for (int i = -1; i <= nx; ++i) shifted[i] = row.across(i);
#pragma omp simd
  for (int i = 0; i < nx; ++i)
    to[i] = combined<magnitudes>(NodeFactors(x, i), b[i], along[i], along[i + 1], shifted[i - 1], shifted[i],
                                 shifted[i + 1]);
}

#if defined(__CUDACC__)

// A lane has a column of nodes, a warp `lane_rows` rows of 30 of them, with a lane more at both ends, and goes through
// `planes_of_block` planes. A plane is loaded once, `planes_ahead` planes ahead of its turn; what the next planes need of it
// stays in registers:
//
//     g = My (u_i - u_(i-1)) ,    q = Ky u + c My u ,    s = My (u_k - u_(k-1)) ,    A u = Kx Mz g + Mx (Mz q + Kz s)
//
// Of g and of the rest neighbours in x come by shuffles. Rows that warps have in common are in the cache of their block.
constexpr int lane_rows = 2, warps_of_block = 8, planes_of_block = 32, columns_of_warp = 30, planes_ahead = 2;

/// Of a plane what a lane loads: u in its rows and beside them, and b one plane before.
struct LanePlane {
  double u[lane_rows + 2] = {}, b[lane_rows] = {};
};

/// Where a lane loads from; moves on by a plane with each `next`.
struct LaneColumn {
  const double *u, *b;
  std::int64_t row_u, plane_u, row_b, plane_b;
  int rows_u, rows_b;  // that there are of u and of b: none beyond the grid
  int plane, first, end;

  __device__ STRATUM_INLINE LanePlane next() {
    LanePlane loaded;
#pragma unroll
    for (int r = 0; r < lane_rows + 2; ++r)
      if (r < rows_u && plane <= end) loaded.u[r] = u[r * row_u];
#pragma unroll
    for (int r = 0; r < lane_rows; ++r)
      if (r < rows_b && plane > first && plane <= end) loaded.b[r] = b[r * row_b];
    u += plane_u;
    b += plane_b;
    ++plane;
    return loaded;
  }
};

/// `squares`: of the sum of squares of r, a number for every block, instead of r.
template <bool magnitudes>
__global__ void __launch_bounds__(32 * warps_of_block, 2) residual_kernel(const Equations a, double* squares) {
  constexpr unsigned whole = 0xffffffffU;
  constexpr int loaded = lane_rows + 2;
  cuda::after_previous();
  const auto [nx, ny, nz] = a.r.extents;
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int i = static_cast<int>(blockIdx.x) * columns_of_warp + lane - 1;
  const int j0 = (static_cast<int>(blockIdx.y) * warps_of_block + warp) * lane_rows;
  const int first = static_cast<int>(blockIdx.z) * planes_of_block, end = min(first + planes_of_block, nz);
  double sum = 0;
  if (j0 < ny) {  // true of all lanes or of none
    const bool is_column = i <= nx, has_result = lane > 0 && lane <= columns_of_warp && i < nx;
    const int own_i = max(0, min(i, nx - 1)), rows = min(lane_rows, ny - j0);
    LaneColumn column{&a.u(i, j0 - 1, first - 1),
                      &a.b(own_i, j0, first) - 2 * a.b.strides.plane,
                      a.u.strides.row,
                      a.u.strides.plane,
                      a.b.strides.row,
                      a.b.strides.plane,
                      is_column ? rows + 2 : 0,
                      has_result ? rows : 0,
                      first - 1,
                      first,
                      end};
    double* result = &a.r(own_i, j0, first);
    const NodeFactors x(a.axes[0], own_i);
    double y_k[lane_rows + 1], y_m[lane_rows + 1];
#pragma unroll
    for (int r = 0; r <= lane_rows; ++r) {
      y_k[r] = a.axes[1].k[min(j0 + r, ny)];
      y_m[r] = a.axes[1].m[min(j0 + r, ny)];
    }
    double q0[lane_rows] = {}, q1[lane_rows] = {}, g0[lane_rows] = {}, g1[lane_rows] = {}, s0[lane_rows] = {};
    double before[loaded] = {};
    LanePlane ahead[planes_ahead];
#pragma unroll
    for (LanePlane& plane : ahead) plane = column.next();
    for (int plane = first - 1; plane <= end; ++plane) {
      const LanePlane here = ahead[0];
#pragma unroll
      for (int n = 1; n < planes_ahead; ++n) ahead[n - 1] = ahead[n];
      ahead[planes_ahead - 1] = column.next();
      const int k = plane - 1;
      double along_x[loaded], along_z[loaded];
#pragma unroll
      for (int r = 0; r < loaded; ++r) {
        along_x[r] = difference<magnitudes>(here.u[r], __shfl_up_sync(whole, here.u[r], 1));
        along_z[r] = difference<magnitudes>(here.u[r], before[r]);
      }
      const NodeFactors z(a.axes[2], max(k, 0));
#pragma unroll
      for (int r = 0; r < lane_rows; ++r) {
        const double* const v = here.u + r;
        const NodeFactors y(y_m[r], y_m[r + 1], y_k[r], y_k[r + 1]);
        double q = slope<magnitudes>(y, difference<magnitudes>(v[1], v[0]), difference<magnitudes>(v[2], v[1]));
        if (a.c != 0) q += a.c * average(y, value<magnitudes>(v[0]), value<magnitudes>(v[1]), value<magnitudes>(v[2]));
        const double g = average(y, along_x[r], along_x[r + 1], along_x[r + 2]),
                     s = average(y, along_z[r], along_z[r + 1], along_z[r + 2]);
        if (k >= first) {
          const double along = average(z, g0[r], g1[r], g),
                       across = average(z, q0[r], q1[r], q) + slope<magnitudes>(z, s0[r], s);
          const double along_behind = __shfl_down_sync(whole, along, 1),
                       across_before = __shfl_up_sync(whole, across, 1),
                       across_behind = __shfl_down_sync(whole, across, 1);
          const double left =
              combined<magnitudes>(x, here.b[r], along, along_behind, across_before, across, across_behind);
          if (has_result && r < rows) {
            if (squares == nullptr)
              result[r * a.r.strides.row] = left;
            else
              sum += left * left;
          }
        }
        q0[r] = q1[r];
        q1[r] = q;
        g0[r] = g1[r];
        g1[r] = g;
        s0[r] = s;
      }
      if (k >= first) result += a.r.strides.plane;
#pragma unroll
      for (int r = 0; r < loaded; ++r) before[r] = here.u[r];
    }
  }
  if (squares == nullptr) return;
  __shared__ double part[32 * warps_of_block];
  const int t = warp * 32 + lane;
  part[t] = sum;
  __syncthreads();
  for (int width = 16 * warps_of_block; width > 0; width /= 2) {
    if (t < width) part[t] += part[t + width];
    __syncthreads();
  }
  if (t == 0) squares[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = part[0];
}

cuda::Launch residual_launch(const Extents<3>& n) {
  const auto blocks = [](int count, int tile) { return static_cast<unsigned>(cuda::divide_up(count, tile)); };
  return {dim3(blocks(n.nx, columns_of_warp), blocks(n.ny, lane_rows * warps_of_block), blocks(n.nz, planes_of_block)),
          dim3(32, warps_of_block)};
}

#endif

template <bool magnitudes>
void run(Context& ctx, const Equations& a) {
  const int nx = a.r.extents.nx, ny = a.r.extents.ny, rows = ny * a.r.extents.nz;
  if (ctx.is_dry_run() || a.r.nodes() == 0) return;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    return residual_launch(a.r.extents)(ctx, residual_kernel<magnitudes>, a, static_cast<double*>(nullptr));
  }
#endif
#pragma omp parallel num_threads(ctx.threads()) if (a.r.nodes() > serial_limit)
  {
    std::vector<double> along(static_cast<std::size_t>(nx) + 2), across(along);
#pragma omp for schedule(static)
    for (int row = 0; row < rows; ++row) residual_row<magnitudes>(a, row % ny, row / ny, along.data(), across.data());
  }
}

struct WeightedValue {
  std::array<const double*, 3> weights;
  FieldView<const double, 3> v;
  static constexpr bool takes_maximum = false, hot = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j, int k) const {
    return weights[0][i] * weights[1][j] * weights[2][k] * v(i, j, k);
  }
};

struct AddNumber {
  static constexpr bool hot = true;
  double number;
  FieldView<double, 3> v;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const { v(i, j, k) += number; }
};

struct MultiplyNumbers {
  static constexpr bool hot = true;
  FieldView<const double, 3> w;
  FieldView<double, 3> v;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const { v(i, j, k) *= w(i, j, k); }
};

struct Magnitude3D {
  FieldView<const double, 3> v;
  static constexpr bool takes_maximum = false, hot = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j, int k) const { return std::abs(v(i, j, k)); }
};

struct SubtractWeights {
  static constexpr bool hot = true;
  double factor;
  std::array<const double*, 3> weights;
  FieldView<double, 3> v;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    v(i, j, k) -= factor * weights[0][i] * weights[1][j] * weights[2][k];
  }
};

/// Node (i, j, k) of a box and a number of the user's.
template <bool gathers>
struct ExchangeBox {
  static constexpr bool hot = true;
  std::conditional_t<gathers, const double*, double*> users;
  std::int64_t x, y, z;
  FieldView<std::conditional_t<gathers, double, const double>, 3> v;
  bool add = false;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    if constexpr (gathers)
      v(i, j, k) = (add ? v(i, j, k) : 0) + users[i * x + j * y + k * z];
    else
      users[i * x + j * y + k * z] = v(i, j, k);
  }
};

/// Copies planes of ghosts across `axis`: nodes (i, j) of the two other axes, ghosts included.
template <class T>
struct CopyGhosts {
  FieldView<T, 3> u;
  int axis, n;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    T* const at = axis == 0 ? &u(0, i - 1, j - 1) : axis == 1 ? &u(i - 1, 0, j - 1) : &u(i - 1, j - 1, 0);
    const std::int64_t stride = axis == 0 ? 1 : axis == 1 ? u.strides.row : u.strides.plane;
    at[-stride] = at[(n - 1) * stride];
    at[n * stride] = at[0];
  }
};

}  // namespace

BoxOperator::BoxOperator(Context& ctx, const std::array<AxisFactors, 3>& axes, double reaction) : reaction_(reaction) {
  std::vector<double> numbers;
  for (const AxisFactors& axis : axes) {
    numbers.insert(numbers.end(), axis.k.begin(), axis.k.end());
    numbers.insert(numbers.end(), axis.m.begin(), axis.m.end());
  }
  numbers_ = vector_from_host(ctx, numbers);
  const double* next = numbers_.cview().data;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    axes_[d] = {next, next + axes[d].k.size()};
    next += axes[d].k.size() + axes[d].m.size();
  }
  ctx.synchronise();
}

void BoxOperator::residual(Context& ctx, FieldView<const double, 3> b, FieldView<const double, 3> u,
                           FieldView<double, 3> r) const {
  run<false>(ctx, {axes_, reaction_, b, u, r});
}

double BoxOperator::residual_norm(Context& ctx, FieldView<const double, 3> b, FieldView<const double, 3> u,
                                  FieldView<double, 3> r) const {
#if defined(__CUDACC__)
  if (ctx.on_gpu() && !ctx.is_dry_run() && r.nodes() > 0) {
    const cuda::Launch launch = residual_launch(r.extents);
    const auto count = static_cast<int>(launch.grid.x * launch.grid.y * launch.grid.z);
    double* const squares = ctx.reduction_scratch(static_cast<std::size_t>(count));
    const Equations a{axes_, reaction_, b, u, r};
    launch(ctx, residual_kernel<false>, a, squares);
    const double square = sum_of_scratch(ctx, count);
    if (std::isnormal(square)) return std::sqrt(square);  // else squares may have left the range of double
  }
#endif
  residual(ctx, b, u, r);
  return norm2(ctx, r);
}

double BoxOperator::magnitude(Context& ctx, FieldView<const double, 3> b, FieldView<const double, 3> u,
                              FieldView<double, 3> scratch) const {
  run<true>(ctx, {axes_, reaction_, b, u, scratch});
  return norm2(ctx, scratch);
}

template <class T>
void fill_periodic_ghosts(Context& ctx, const std::array<bool, 3>& periodic, FieldView<T, 3> u) {
  const std::array<int, 3> n{u.extents.nx, u.extents.ny, u.extents.nz};
  for (int axis = 0; axis < 3; ++axis) {
    if (!periodic[static_cast<std::size_t>(axis)]) continue;
    const int across = axis == 0 ? 1 : 0, up = axis == 2 ? 1 : 2;
    FieldView<T, 2> nodes;
    nodes.nx = n[static_cast<std::size_t>(across)] + 2;
    nodes.ny = n[static_cast<std::size_t>(up)] + 2;
    for_each_node(ctx, all_nodes(nodes), CopyGhosts<T>{u, axis, n[static_cast<std::size_t>(axis)]});
  }
}

template void fill_periodic_ghosts(Context&, const std::array<bool, 3>&, FieldView<float, 3>);
template void fill_periodic_ghosts(Context&, const std::array<bool, 3>&, FieldView<double, 3>);

void box_add(Context& ctx, double value, FieldView<double, 3> v) {
  for_each_node(ctx, all_nodes(v), AddNumber{value, v});
}

void box_multiply(Context& ctx, FieldView<const double, 3> w, FieldView<double, 3> v) {
  for_each_node(ctx, all_nodes(v), MultiplyNumbers{w, v});
}

void box_gather(Context& ctx, const double* from, const std::array<std::int64_t, 3>& apart, FieldView<double, 3> to,
                bool add) {
  for_each_node(ctx, all_nodes(to), ExchangeBox<true>{from, apart[0], apart[1], apart[2], to, add});
}
void box_scatter(Context& ctx, FieldView<const double, 3> from, double* to, const std::array<std::int64_t, 3>& apart) {
  for_each_node(ctx, all_nodes(from), ExchangeBox<false>{to, apart[0], apart[1], apart[2], from});
}

BoxSums box_sums(Context& ctx, FieldView<const double, 3> v) {
  return {reduce(ctx, v.extents, Value<double, 3>{v}), reduce(ctx, v.extents, Magnitude3D{v})};
}

void box_subtract(Context& ctx, double factor, const std::array<const double*, 3>& weights, FieldView<double, 3> v) {
  for_each_node(ctx, all_nodes(v), SubtractWeights{factor, weights, v});
}

double box_sum(Context& ctx, const std::array<const double*, 3>& weights, FieldView<const double, 3> v) {
  return reduce(ctx, v.extents, WeightedValue{weights, v});
}

}  // namespace stratum
