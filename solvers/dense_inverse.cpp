#include <stratum/solvers/dense_inverse.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/for_each_node.hpp>

namespace stratum {

namespace {

template <class T>
struct MultiplyRow {
  const T* matrix;
  GridView<const T> r;
  GridView<T> z;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const T* row = matrix + (j * r.nx + i) * r.nx * r.ny;
    T sum = 0;
    for (int q = 0, k = 0; q < r.ny; ++q)
      for (int p = 0; p < r.nx; ++p, ++k) sum += row[k] * r(p, q);
    z(i, j) = sum;
  }
};

/// Gauss-Jordan elimination with rows exchanged, in place. Rows come scaled to a largest entry of one.
void invert(std::vector<double>& a, std::size_t n) {
  std::vector<double> inverse(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) inverse[i * n + i] = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t i = column + 1; i < n; ++i)
      if (std::abs(a[i * n + column]) > std::abs(a[pivot * n + column])) pivot = i;
    const double value = a[pivot * n + column];
    if (!(std::abs(value) > 4 * std::numeric_limits<double>::epsilon()))
      throw BreakdownError(message("the matrix of ", n, " unknowns is singular to rounding: pivot ", value));
    for (std::size_t k = 0; k < n; ++k) {
      std::swap(a[pivot * n + k], a[column * n + k]);
      std::swap(inverse[pivot * n + k], inverse[column * n + k]);
      a[column * n + k] /= value;
      inverse[column * n + k] /= value;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double factor = a[i * n + column];
      if (i == column || factor == 0) continue;
      for (std::size_t k = 0; k < n; ++k) {
        a[i * n + k] -= factor * a[column * n + k];
        inverse[i * n + k] -= factor * inverse[column * n + k];
      }
    }
  }
  a = std::move(inverse);
}

}  // namespace

template <class T>
DenseInverse<T>::DenseInverse(Context& ctx, const LinearOperator<double>& a, bool singular)
    : DenseInverse(ctx, a.shape(), singular) {
  factor(ctx, a);
}

template <class T>
DenseInverse<T>::DenseInverse(Context& ctx, const GridShape& shape, bool singular)
    : shape_(shape), singular_(singular) {
  const std::int64_t n = shape_.nodes();
  expects(n <= max_unknowns, "a dense inverse is for up to ", max_unknowns, " unknowns, not ", n);
  inverse_ = Vector<T>(ctx, static_cast<int>(n * n));
  unit_ = Vector<double>(ctx, shape_);
  image_ = Vector<double>(ctx, shape_);
}

template <class T>
void DenseInverse<T>::factor(Context& ctx, const LinearOperator<double>& a) {
  expects(a.shape() == shape_, "the operator has ", a.shape().nx, " x ", a.shape().ny, " unknowns, not ", shape_.nx,
          " x ", shape_.ny);
  if (ctx.plans()) return;
  const auto n = static_cast<std::size_t>(shape_.nodes());
  std::vector<double> matrix(n * n), unit(n, 0.0), column(n);
  for (std::size_t k = 0; k < n; ++k) {
    unit[k] = 1;
    copy_from_host(ctx, unit.data(), unit_.view());
    a.apply(ctx, unit_.cview(), image_.view());
    copy_to_host(ctx, image_.cview(), column.data());
    for (std::size_t i = 0; i < n; ++i) matrix[i * n + k] = column[i];
    unit[k] = 0;
  }
  if (singular_) {
    double trace = 0;
    for (std::size_t i = 0; i < n; ++i) trace += matrix[i * n + i];
    const auto count = static_cast<double>(n);
    for (double& entry : matrix) entry += trace / (count * count);
  }
  std::vector<double> scaled = matrix;
  // Rows are scaled to a largest entry of one: the inverse of the scaled matrix, its columns divided by the same.
  std::vector<double> scale(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) scale[i] = std::max(scale[i], std::abs(matrix[i * n + k]));
    if (!(scale[i] > 0)) throw BreakdownError(message("row ", i, " of ", n, " of the matrix is zero"));
    for (std::size_t k = 0; k < n; ++k) scaled[i * n + k] /= scale[i];
  }
  invert(scaled, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) scaled[i * n + k] /= scale[k];
  if (singular_) {
    std::vector<double> rows(n, 0.0), columns(n, 0.0);
    double all = 0;
    const auto count = static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k) {
        rows[i] += scaled[i * n + k] / count;
        columns[k] += scaled[i * n + k] / count;
        all += scaled[i * n + k] / (count * count);
      }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k) scaled[i * n + k] += all - rows[i] - columns[k];
  }
  const std::vector<T> narrowed(scaled.begin(), scaled.end());
  copy_from_host(ctx, narrowed.data(), inverse_.view());
}

template <class T>
void DenseInverse<T>::apply(Context& ctx, GridView<const T> r, GridView<T> z) {
  expects_fit(ctx, "r", r, shape_);
  expects_fit(ctx, "z", z, shape_);
  for_each_node(ctx, all_nodes(z), MultiplyRow<T>{inverse_.view().data, r, z});
}

template class DenseInverse<float>;
template class DenseInverse<double>;

}  // namespace stratum
