#include <stratum/solvers/direct/box_inverse.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>

namespace stratum {

namespace {

using Number = long double;

/// A square matrix on the host.
struct Square {
  std::size_t n;
  std::vector<Number> numbers;

  explicit Square(std::size_t size) : n(size), numbers(size * size, 0) {}
  Number& operator()(std::size_t i, std::size_t j) { return numbers[i * n + j]; }
};

/// `mirrored`: an entry stands for that of the other triangle, too.
template <class Bands>
Square dense(Context& ctx, const Bands& bands, int first_band, bool mirrored) {
  const BoxShape& shape = bands.rows().shape;
  const auto& [nx, ny, nz] = shape.n;
  const auto count = static_cast<std::size_t>(shape.n.nodes());
  Square matrix(count);
  std::vector<double> band(count);
  const auto inside = [](int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; };
  for (int n = first_band; n <= box_neighbours; ++n) {
    copy_to_host<double>(ctx, bands.band(n), band.data());
    const BoxOffset o(n);
    std::size_t here = 0;
    for (int k = 0; k < nz; ++k)
      for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i, ++here) {
          if (n == 0) {
            matrix(here, here) += band[here];
            continue;
          }
          if (!shape.has(0, i + o.x) || !shape.has(1, j + o.y) || !shape.has(2, k + o.z)) continue;
          const auto there =
              static_cast<std::size_t>((inside(k + o.z, nz) * ny + inside(j + o.y, ny)) * nx + inside(i + o.x, nx));
          matrix(here, there) += band[here];
          matrix(here, here) -= band[here];
          if (!mirrored) continue;
          matrix(there, here) += band[here];
          matrix(there, there) -= band[here];
        }
  }
  return matrix;
}
Square dense(Context& ctx, const BoxMatrix<double>& a) {
  if (a.is_full()) return dense(ctx, a.full(), BoxFullRows<double>::first_band, false);
  return dense(ctx, bands_of(ctx, a), 0, true);
}

/// Of a symmetric positive definite matrix, in place.
void invert(Square& a) {
  const std::size_t n = a.n;
  for (std::size_t j = 0; j < n; ++j) {
    Number pivot = a(j, j);
    for (std::size_t k = 0; k < j; ++k) pivot -= a(j, k) * a(j, k);
    if (!(pivot > 0))
      throw BreakdownError(message("the matrix of the coarsest level is not positive definite: pivot ", j, " of ", n,
                                   " is ", static_cast<double>(pivot),
                                   ". Cells or coefficients differ by more than double precision holds"));
    a(j, j) = pivot = std::sqrt(pivot);
    for (std::size_t i = j + 1; i < n; ++i) {
      Number sum = a(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= a(i, k) * a(j, k);
      a(i, j) = sum / pivot;
    }
  }
  // The inverse of the factor, then its product with itself.
  Square of_factor(n);
  for (std::size_t j = 0; j < n; ++j) {
    of_factor(j, j) = 1 / a(j, j);
    for (std::size_t i = j + 1; i < n; ++i) {
      Number sum = 0;
      for (std::size_t k = j; k < i; ++k) sum -= a(i, k) * of_factor(k, j);
      of_factor(i, j) = sum / a(i, i);
    }
  }
  std::fill(a.numbers.begin(), a.numbers.end(), Number(0));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i <= k; ++i)
      for (std::size_t j = 0; j <= k; ++j) a(i, j) += of_factor(k, i) * of_factor(k, j);
}

/// Of any regular matrix, in place, by Gauss and Jordan with the largest pivot of a column.
void invert_any(Square& a) {
  const std::size_t n = a.n;
  std::vector<std::size_t> of_pivot(n);
  Number most = 0;
  for (const Number v : a.numbers) most = std::max(most, std::abs(v));
  for (std::size_t j = 0; j < n; ++j) {
    std::size_t row = j;
    for (std::size_t i = j + 1; i < n; ++i)
      if (std::abs(a(i, j)) > std::abs(a(row, j))) row = i;
    of_pivot[j] = row;
    const Number pivot = a(row, j);
    if (!(std::abs(pivot) > std::numeric_limits<double>::min() * most))
      throw BreakdownError(message("the matrix of the coarsest level is singular: pivot ", j, " of ", n, " is ",
                                   static_cast<double>(pivot)));
    if (row != j) std::swap_ranges(&a(row, 0), &a(row, 0) + n, &a(j, 0));
    a(j, j) = 1;
    for (std::size_t k = 0; k < n; ++k) a(j, k) /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      const Number factor = a(i, j);
      if (i == j || factor == 0) continue;
      a(i, j) = 0;
      for (std::size_t k = 0; k < n; ++k) a(i, k) -= factor * a(j, k);
    }
  }
  for (std::size_t j = n; j-- > 0;)
    if (of_pivot[j] != j)
      for (std::size_t i = 0; i < n; ++i) std::swap(a(i, j), a(i, of_pivot[j]));
}

/// Rows and columns sum to zero then.
void project(Square& a) {
  for (int side = 0; side < 2; ++side)
    for (std::size_t i = 0; i < a.n; ++i) {
      Number sum = 0;
      for (std::size_t j = 0; j < a.n; ++j) sum += side == 0 ? a(i, j) : a(j, i);
      for (std::size_t j = 0; j < a.n; ++j) (side == 0 ? a(i, j) : a(j, i)) -= sum / static_cast<Number>(a.n);
    }
}

/// The matrix is the transposed inverse: threads that have neighbouring rows read neighbouring numbers.
template <class T>
struct MultiplyBox {
  const double* matrix;
  FieldView<const T, 3> b;
  FieldView<T, 3> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    const auto& [nx, ny, nz] = b.extents;
    const std::int64_t n = std::int64_t{nx} * ny * nz;
    const double* next = matrix + (static_cast<std::int64_t>(k) * ny + j) * nx + i;
    double sum = 0;
    for (int c = 0; c < nz; ++c)
      for (int q = 0; q < ny; ++q)
        for (int p = 0; p < nx; ++p, next += n) sum += *next * static_cast<double>(b(p, q, c));
    x(i, j, k) = static_cast<T>(sum);
  }
};

}  // namespace

BoxInverse::BoxInverse(Context& ctx, const BoxMatrix<double>& a, bool singular) {
  const auto n = static_cast<std::size_t>(a.shape().n.nodes());
  if (ctx.is_dry_run()) {
    if (!a.is_full()) (void)bands_of(ctx, a);
    inverse_ = Field<double>(ctx, GridLayout<2>::flat(static_cast<int>(n * n)));
    return;
  }
  Square matrix = dense(ctx, a);
  if (singular) {
    Number most = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, matrix(i, i));
    for (Number& number : matrix.numbers) number += most / static_cast<Number>(n);
  }
  a.is_full() ? invert_any(matrix) : invert(matrix);
  if (singular) project(matrix);
  std::vector<double> numbers;
  numbers.reserve(n * n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) numbers.push_back(static_cast<double>(matrix(i, j)));
  inverse_ = vector_from_host(ctx, numbers);
  ctx.synchronise();
}

template <class T>
void BoxInverse::apply(Context& ctx, FieldView<const T, 3> b, FieldView<T, 3> x) const {
  for_each_node(ctx, all_nodes(x), MultiplyBox<T>{inverse_.cview().data, b, x});
}

template void BoxInverse::apply(Context&, FieldView<const float, 3>, FieldView<float, 3>) const;
template void BoxInverse::apply(Context&, FieldView<const double, 3>, FieldView<double, 3>) const;

}  // namespace stratum
