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
      : before(axis.m[i]), here(2 * (axis.m[i] + axis.m[i + 1])), behind(axis.m[i + 1]), k_before(axis.k[i]),
        k_behind(axis.k[i + 1]) {}
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
    return z.before * (y.before * d(nw) + y.here * d(n) + y.behind * d(ne)) +
           z.here * (y.before * d(w) + y.here * d(u) + y.behind * d(e)) +
           z.behind * (y.before * d(sw) + y.here * d(s) + y.behind * d(se));
  }
  /// (Ky Mz + My Kz + c My Mz) u at column i
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double across(int i) const {
    const auto d = [i](const double* a, const double* b) __attribute__((always_inline)) {
      return difference<magnitudes>(a[i], b[i]);
    };
    const double along_y = z.before * less<magnitudes>(y.k_before * d(n, nw), y.k_behind * d(ne, n)) +
                           z.here * less<magnitudes>(y.k_before * d(u, w), y.k_behind * d(e, u)) +
                           z.behind * less<magnitudes>(y.k_before * d(s, sw), y.k_behind * d(se, s));
    const double along_z = y.before * less<magnitudes>(z.k_before * d(w, nw), z.k_behind * d(sw, w)) +
                           y.here * less<magnitudes>(z.k_before * d(u, n), z.k_behind * d(s, u)) +
                           y.behind * less<magnitudes>(z.k_before * d(e, ne), z.k_behind * d(se, e));
    if (c == 0) return along_y + along_z;
    const auto v = [i](const double* row) __attribute__((always_inline)) {
      return magnitudes ? std::abs(row[i]) : row[i];
    };
    const double mass = z.before * (y.before * v(nw) + y.here * v(n) + y.behind * v(ne)) +
                        z.here * (y.before * v(w) + y.here * v(u) + y.behind * v(e)) +
                        z.behind * (y.before * v(sw) + y.here * v(s) + y.behind * v(se));
    return along_y + along_z + c * mass;
  }
};

template <bool magnitudes>
STRATUM_HOST_DEVICE STRATUM_INLINE double combined(const AxisFactorsView& x, int i, double b, double along_before,
                                                   double along_behind, double across_before, double across_here,
                                                   double across_behind) {
  const double stiffness = less<magnitudes>(x.k[i] * along_before, x.k[i + 1] * along_behind);
  const double mass = x.m[i] * across_before + 2 * (x.m[i] + x.m[i + 1]) * across_here + x.m[i + 1] * across_behind;
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
    to[i] = combined<magnitudes>(x, i, b[i], along[i], along[i + 1], shifted[i - 1], shifted[i], shifted[i + 1]);
}

#if defined(__CUDACC__)

constexpr int tile_x = 64, tile_y = 4, tile_z = 16;

/// A block has tile_x - 2 columns of tile_y rows, and goes through tile_z planes: what three planes share stays in its cache.
/// `squares`: of the sum of squares of r, a number for every block, instead of r.
template <bool magnitudes>
__global__ void __launch_bounds__(tile_x* tile_y) residual_kernel(const Equations a, double* squares) {
  __shared__ double along[tile_y][tile_x], across[tile_y][tile_x];
  cuda::after_previous();
  const auto [nx, ny, nz] = a.r.extents;
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int i = static_cast<int>(blockIdx.x) * (tile_x - 2) + tx - 1, j = static_cast<int>(blockIdx.y) * tile_y + ty;
  const int first = static_cast<int>(blockIdx.z) * tile_z, end = min(first + tile_z, nz);
  double sum = 0;
  for (int k = first; k < end; ++k) {
    if (i <= nx && j < ny) {
      const OperatorRow<magnitudes> row(a.axes[1], a.axes[2], a.c, a.u, j, k);
      across[ty][tx] = row.across(i);
      along[ty][tx] = i >= 0 ? row.along(i) : 0;
    }
    __syncthreads();
    if (tx > 0 && tx < tile_x - 1 && i < nx && j < ny) {
      const double r = combined<magnitudes>(a.axes[0], i, a.b(i, j, k), along[ty][tx], along[ty][tx + 1],
                                            across[ty][tx - 1], across[ty][tx], across[ty][tx + 1]);
      if (squares == nullptr)
        a.r(i, j, k) = r;
      else
        sum += r * r;
    }
    __syncthreads();
  }
  if (squares == nullptr) return;
  double* const part = &along[0][0];
  const int t = ty * tile_x + tx;
  part[t] = sum;
  __syncthreads();
  for (int width = tile_x * tile_y / 2; width > 0; width /= 2) {
    if (t < width) part[t] += part[t + width];
    __syncthreads();
  }
  if (t == 0) squares[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = part[0];
}

dim3 residual_grid(const Extents<3>& n) {
  const auto blocks = [](int count, int tile) { return static_cast<unsigned>(cuda::divide_up(count, tile)); };
  return {blocks(n.nx, tile_x - 2), blocks(n.ny, tile_y), blocks(n.nz, tile_z)};
}

#endif

template <bool magnitudes>
void run(Context& ctx, const Equations& a) {
  const int nx = a.r.extents.nx, ny = a.r.extents.ny, rows = ny * a.r.extents.nz;
  if (ctx.is_dry_run() || a.r.nodes() == 0) return;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    const cuda::Launch launch{residual_grid(a.r.extents), dim3(tile_x, tile_y)};
    return launch(ctx, residual_kernel<magnitudes>, a, static_cast<double*>(nullptr));
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
    const dim3 grid = residual_grid(r.extents);
    const auto count = static_cast<int>(grid.x * grid.y * grid.z);
    double* const squares = ctx.reduction_scratch(static_cast<std::size_t>(count));
    const Equations a{axes_, reaction_, b, u, r};
    cuda::Launch{grid, dim3(tile_x, tile_y)}(ctx, residual_kernel<false>, a, squares);
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
