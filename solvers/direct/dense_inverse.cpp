#include <stratum/solvers/direct/dense_inverse.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/operators/csr_matrix.hpp>

#if defined(__CUDACC__)
#include <stratum/core/device/launch.hpp>
#endif

namespace stratum {

namespace {

/// Unknowns along the shorter side first.
struct ShortSideFirst {
  int nx, ny;
  STRATUM_HOST_DEVICE STRATUM_INLINE int column(int k) const { return nx <= ny ? k % nx : k / ny; }
  STRATUM_HOST_DEVICE STRATUM_INLINE int row(int k) const { return nx <= ny ? k / nx : k % ny; }
  STRATUM_HOST_DEVICE STRATUM_INLINE int operator()(int i, int j) const { return nx <= ny ? j * nx + i : i * ny + j; }
};

template <class T>
struct MultiplyRow {
  static constexpr bool hot = true;
  const double* matrix;
  FieldView<const T> r;
  FieldView<T> z;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const ShortSideFirst number{r.nx, r.ny};
    const int n = r.nx * r.ny;
    const double* row = matrix + static_cast<std::int64_t>(number(i, j)) * n;
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += row[k] * static_cast<double>(r(number.column(k), number.row(k)));
    z(i, j) = static_cast<T>(sum);
  }
};

/// Of grids that are not periodic: as many diagonals have entries above the main one, and below. On a GPU at most so many.
int bandwidth(const GridLayout<2>& shape) {
  return std::min(std::min(shape.nx, shape.ny) + 1, static_cast<int>(shape.nodes()) - 1);
}
constexpr int widest = 34;

/// What a row of the factors is to the GPU: entries below the diagonal, by their distance, and above; the reciprocal of that on
/// it, and of what the row was divided by.
constexpr int factor_numbers = 2 * widest + 2;

#if defined(__CUDACC__)

constexpr int warp = 32, rows_a_block = 8;

/// A warp a row; `most` numbers a lane.
template <int most, class T>
__global__ void __launch_bounds__(rows_a_block* warp)
    multiply_rows(const double* matrix, const FieldView<const T> r, const FieldView<T> z) {
  const ShortSideFirst number{r.nx, r.ny};
  const int n = r.nx * r.ny, lane = static_cast<int>(threadIdx.x) % warp;
  const int row = static_cast<int>(blockIdx.x) * rows_a_block + static_cast<int>(threadIdx.x) / warp;
  double entries[most];
#pragma unroll
  for (int m = 0; m < most; ++m) {
    const int k = lane + m * warp;
    entries[m] = row < n && k < n ? matrix[row * n + k] : 0;
  }
  cuda::after_previous();
  double sum = 0;
#pragma unroll
  for (int m = 0; m < most; ++m) {
    const int k = lane + m * warp;
    if (k < n) sum += entries[m] * static_cast<double>(r(number.column(k), number.row(k)));
  }
  for (int distance = warp / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, distance);
  if (row < n && lane == 0) z(number.column(row), number.row(row)) = static_cast<T>(sum);
}

/// A thread a column of the inverse. What it has found last it keeps, as far as a row reaches.
__global__ void __launch_bounds__(warp) substitute(const double* factors, const int n, double* inverse) {
  cuda::after_previous();
  const int c = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int start = static_cast<int>(blockIdx.x * blockDim.x) / widest * widest;  // above it the unit vectors are zero
  if (c >= n) return;
  double found[widest] = {};
  for (int i0 = start; i0 < n; i0 += widest)
#pragma unroll
    for (int u = 0; u < widest; ++u) {
      const int i = i0 + u;
      if (i >= n) break;
      const double* const row = factors + i * factor_numbers;
      double sum = i == c ? 1 : 0;
#pragma unroll
      for (int d = widest; d > 0; --d) sum -= row[d - 1] * found[(u - d + widest) % widest];
      inverse[static_cast<std::int64_t>(i) * n + c] = found[u] = sum;
    }
#pragma unroll
  for (int u = 0; u < widest; ++u) found[u] = 0;
  const double scale = factors[c * factor_numbers + 2 * widest + 1];
  for (int k0 = 0; k0 < n; k0 += widest)
#pragma unroll
    for (int u = 0; u < widest; ++u) {
      const int i = n - 1 - k0 - u;
      if (i < 0) break;
      const double* const row = factors + i * factor_numbers + widest;
      const std::int64_t at = static_cast<std::int64_t>(i) * n + c;
      double sum = i >= start ? inverse[at] : 0;
#pragma unroll
      for (int d = widest; d > 0; --d) sum -= row[d - 1] * found[(u - d + widest) % widest];
      found[u] = sum * row[widest];
      inverse[at] = found[u] * scale;
    }
}

#endif

/// A square matrix with entries up to `width` beside its diagonal, and room for those that exchanges of rows bring.
class Bands {
 public:
  Bands(std::size_t n, std::size_t width) : n_(n), width_(width), entries_(n * (3 * width + 1), 0.0), from_(n) {}
  [[nodiscard]] double& operator()(std::size_t i, std::size_t k) {
    return entries_[i * (3 * width_ + 1) + k + width_ - i];
  }
  [[nodiscard]] std::size_t begin(std::size_t i) const { return i > width_ ? i - width_ : 0; }
  /// Before and after elimination.
  [[nodiscard]] std::size_t end(std::size_t i) const { return std::min(i + width_ + 1, n_); }
  [[nodiscard]] std::size_t filled_end(std::size_t i) const { return std::min(i + 2 * width_ + 1, n_); }

  /// Gaussian elimination: factors take the place of entries. Rows come scaled to a largest entry of one, and are exchanged
  /// where the diagonal is much smaller than what lies below: of matrices that need no exchange scaling alone makes it somewhat
  /// so.
  void eliminate() {
    constexpr double much = 1000;
    const double rounding = std::max(4.0, static_cast<double>(n_)) * std::numeric_limits<double>::epsilon();
    for (std::size_t column = 0; column < n_; ++column) {
      const std::size_t last = end(column), filled = filled_end(column);
      std::size_t pivot = column;
      for (std::size_t i = column + 1; i < last; ++i)
        if (std::abs((*this)(i, column)) > std::abs((*this)(pivot, column))) pivot = i;
      if (std::abs((*this)(pivot, column)) <= much * std::abs((*this)(column, column))) pivot = column;
      const double value = (*this)(pivot, column);
      if (!(std::abs(value) > rounding))
        throw BreakdownError(message(std::isfinite(value) ? "the matrix is singular to working precision: pivot "
                                                          : "entries of the matrix overflow or are not finite: pivot ",
                                     value, " in row ", column + 1, " of ", n_));
      from_[column] = pivot;
      if (pivot != column) {
        exchanges_ = true;
        for (std::size_t k = column; k < filled; ++k) std::swap((*this)(pivot, k), (*this)(column, k));
      }
      const double* const row = &(*this)(column, column);
      const std::size_t length = (exchanges_ ? filled : last) - column;
      for (std::size_t i = column + 1; i < last; ++i) {
        double* const to = &(*this)(i, column);
        const double factor = to[0] /= value;
        if (factor == 0) continue;
        for (std::size_t k = 1; k < length; ++k) to[k] -= factor * row[k];
      }
    }
  }
  [[nodiscard]] bool exchanges() const { return exchanges_; }
  /// After elimination; row after row.
  [[nodiscard]] std::vector<double> inverse() {
    std::vector<double> x(n_ * n_, 0.0);
    const auto subtract = [&](std::size_t from, double factor, std::size_t row, std::size_t columns) {
      double* const to = &x[from * n_];
      const double* const of = &x[row * n_];
      for (std::size_t k = 0; k < columns; ++k) to[k] -= factor * of[k];
    };
    for (std::size_t i = 0; i < n_; ++i) x[i * n_ + i] = 1;
    for (std::size_t column = 0; column < n_; ++column) {
      if (from_[column] != column) std::swap_ranges(&x[column * n_], &x[column * n_] + n_, &x[from_[column] * n_]);
      // No row from further down has come so far.
      for (std::size_t i = column + 1; i < end(column); ++i)
        if ((*this)(i, column) != 0) subtract(i, (*this)(i, column), column, end(column));
    }
    for (std::size_t i = n_; i-- > 0;) {
      for (std::size_t k = i + 1; k < filled_end(i); ++k)
        if ((*this)(i, k) != 0) subtract(i, (*this)(i, k), k, n_);
      for (std::size_t k = 0; k < n_; ++k) x[i * n_ + k] /= (*this)(i, i);
    }
    return x;
  }

 private:
  std::size_t n_, width_;
  std::vector<double> entries_;
  std::vector<std::size_t> from_;  // the row that each step took
  bool exchanges_ = false;
};

Bands bands_of(const SparseRows& a, const GridLayout<2>& shape) {
  const ShortSideFirst number{shape.nx, shape.ny};
  const auto place = [&](int k) { return static_cast<std::size_t>(number(k % shape.nx, k / shape.nx)); };
  const auto n = static_cast<std::size_t>(a.rows);
  Bands matrix(n, shape.periodic_x || shape.periodic_y ? n - 1 : static_cast<std::size_t>(bandwidth(shape)));
  for (int row = 0; row < a.rows; ++row)
    for (int k = a.start[static_cast<std::size_t>(row)]; k < a.start[static_cast<std::size_t>(row) + 1]; ++k)
      matrix(place(row), place(a.column[static_cast<std::size_t>(k)])) += a.value[static_cast<std::size_t>(k)];
  return matrix;
}

/// P G P
void without_mean(std::vector<double>& g, std::size_t n) {
  g.back() = 0;
  std::vector<double> rows(n, 0.0), columns(n, 0.0);
  double all = 0;
  const auto count = static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) {
      rows[i] += g[i * n + k] / count;
      columns[k] += g[i * n + k] / count;
      all += g[i * n + k] / (count * count);
    }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) g[i * n + k] += all - rows[i] - columns[k];
}

}  // namespace

template <class T>
DenseInverse<T>::DenseInverse(Context& ctx, const GridOperator<double>& a, bool singular)
    : DenseInverse(ctx, a.shape(), singular) {
  factor(ctx, a);
}

template <class T>
DenseInverse<T>::DenseInverse(Context& ctx, const GridLayout<2>& shape, bool singular)
    : shape_(shape), singular_(singular) {
  const std::int64_t n = shape_.nodes();
  expects(n <= max_unknowns, "a dense inverse is for up to ", max_unknowns, " unknowns, not ", n);
  inverse_ = Field<double>(ctx, static_cast<int>(n * n));
  stencils_ = Field<double>(ctx, 9 * static_cast<int>(n));
  if (!ctx.on_gpu() || singular || shape.has_halo() || bandwidth(shape) > widest) return;
  factors_ = Field<double>(ctx, static_cast<int>(n) * factor_numbers);
}

template <class T>
void DenseInverse<T>::factor(Context& ctx, const GridOperator<double>& a) {
  expects(a.shape() == shape_, "the operator has ", a.shape().nx, " x ", a.shape().ny, " unknowns, not ", shape_.nx,
          " x ", shape_.ny);
  if (ctx.is_dry_run()) return;
  const auto n = static_cast<std::size_t>(shape_.nodes());
  Bands matrix = bands_of(sparse_rows(ctx, a, stencils_), shape_);
  if (singular_) {  // the last unknown is zero
    for (std::size_t k = matrix.begin(n - 1); k < n; ++k) matrix(n - 1, k) = matrix(k, n - 1) = 0;
    matrix(n - 1, n - 1) = 1;
  }
  // Rows are scaled to a largest entry of one: the inverse of the scaled matrix, its columns divided by the same.
  std::vector<double> scale(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = matrix.begin(i); k < matrix.end(i); ++k) {
      if (!std::isfinite(matrix(i, k)))
        throw BreakdownError(message("row ", i, " of ", n, " of the matrix overflows: an entry is ", matrix(i, k),
                                     "; scale the matrix, or the coefficients and widths that it comes from"));
      scale[i] = std::max(scale[i], std::abs(matrix(i, k)));
    }
    if (!(scale[i] > 0)) throw BreakdownError(message("row ", i, " of ", n, " of the matrix is zero"));
    for (std::size_t k = matrix.begin(i); k < matrix.end(i); ++k) matrix(i, k) /= scale[i];
  }
  matrix.eliminate();
#if defined(__CUDACC__)
  if (!factors_.empty() && !matrix.exchanges()) {
    std::vector<double> factors(n * factor_numbers, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      double* const row = &factors[i * factor_numbers];
      for (std::size_t k = matrix.begin(i); k < i; ++k) row[i - k - 1] = matrix(i, k);
      for (std::size_t k = i + 1; k < matrix.end(i); ++k) row[widest + k - i - 1] = matrix(i, k);
      row[2 * widest] = 1 / matrix(i, i);
      row[2 * widest + 1] = 1 / scale[i];
    }
    copy_from_host(ctx, factors.data(), factors_.view());
    const cuda::Launch launch{cuda::divide_up(static_cast<int>(n), warp), warp};
    launch(ctx, substitute, factors_.view().data, static_cast<int>(n), inverse_.view().data);
    ctx.synchronise();
    return;
  }
#endif
  std::vector<double> inverse = matrix.inverse();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) inverse[i * n + k] /= scale[k];
  if (singular_) without_mean(inverse, n);
  copy_from_host(ctx, inverse.data(), inverse_.view());
}

template <class T>
void DenseInverse<T>::apply(Context& ctx, FieldView<const T> r, FieldView<T> z) {
  expects_fit(ctx, "r", r, shape_);
  expects_fit(ctx, "z", z, shape_);
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    const auto n = static_cast<int>(shape_.nodes());
    const cuda::Launch launch{cuda::divide_up(n, rows_a_block), rows_a_block * warp};
    constexpr auto lanes_for = [](std::int64_t unknowns) { return static_cast<int>((unknowns + warp - 1) / warp); };
    if (n <= few_unknowns) return launch(ctx, multiply_rows<lanes_for(few_unknowns), T>, inverse_.view().data, r, z);
    return launch(ctx, multiply_rows<lanes_for(max_unknowns), T>, inverse_.view().data, r, z);
  }
#endif
  for_each_node(ctx, all_nodes(z), MultiplyRow<T>{inverse_.view().data, r, z});
}

template class DenseInverse<float>;
template class DenseInverse<double>;

}  // namespace stratum
