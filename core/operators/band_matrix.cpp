#include <stratum/core/operators/band_matrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/reduce.hpp>
#include <stratum/core/operators/row_sums.hpp>

namespace stratum {

namespace {

constexpr std::size_t most_bands = 256;

/// Row i, for a GPU thread of its own.
template <RowSums what, class T>
struct BandRow {
  BandView<T> a;
  const T *b, *x;
  T* r;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int /*j*/) const {
    T sum = 0;
    for (int k = 0; k < a.count; ++k) {
      const std::int64_t j = std::int64_t{i} + a.offsets[k];
      if (j < 0 || j >= a.n) continue;
      sum += a.band(i, k) * x[j];
    }
    r[i] = row_result<what>(b, i, sum);
  }
};

/// (|A| |x| + |b|)_i
template <class T>
struct BandRowMagnitude {
  BandView<T> a;
  const T *b, *x;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int /*j*/) const {
    T sum = magnitude_of(b[i]);
    for (int k = 0; k < a.count; ++k) {
      const std::int64_t j = std::int64_t{i} + a.offsets[k];
      if (j >= 0 && j < a.n) sum += magnitude_of(a.band(i, k) * x[j]);
    }
    return static_cast<double>(sum);
  }
};

/// Rows begin .. end - 1 on the CPU, band after band over a part of the rows whose sums stay in the cache.
template <RowSums what, class T>
STRATUM_SIMD_CLONES void band_rows(const BandView<T> a, const T* b, const T* x, T* r, int begin, int end) {
  constexpr int part = 512;
  T sum[part];
  for (int first = begin; first < end; first += part) {
    const int length = std::min(part, end - first);
    std::fill_n(sum, length, T(0));
    for (int k = 0; k < a.count; ++k) {
      const std::int64_t shift = std::int64_t{first} + a.offsets[k];
      const auto from = static_cast<int>(std::clamp<std::int64_t>(-shift, 0, length));
      const auto to = static_cast<int>(std::clamp<std::int64_t>(a.n - shift, from, length));
      const T* band = &a.band(first, k);
#pragma omp simd
      for (int i = from; i < to; ++i) sum[i] += band[i] * x[shift + i];
    }
#pragma omp simd
    for (int i = 0; i < length; ++i) r[first + i] = row_result<what>(b, first + i, sum[i]);
  }
}

template <RowSums what, class T>
void run_rows(Context& ctx, const BandView<T>& a, const T* b, const T* x, T* r) {
  if (ctx.on_gpu()) return for_each_node_on_gpu(ctx, {0, a.n, 1, 0, 1, 1}, BandRow<what, T>{a, b, x, r});
  const int parts = (a.n + row_part - 1) / row_part;
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (std::int64_t{a.n} * a.count > serial_limit)
  for (int k = 0; k < parts; ++k)
    band_rows<what, T>(a, b, x, r, k * row_part, k + 1 < parts ? (k + 1) * row_part : a.n);
}

std::vector<int> few_diagonals_of(const SparseRows& a) {
  auto offsets = diagonals_of(a);
  expects(offsets.size() <= most_bands, "the matrix has entries on ", offsets.size(), " diagonals, and bands are for ",
          most_bands, "; store it as a CsrMatrix");
  return offsets;
}

}  // namespace

std::vector<int> diagonals_of(const SparseRows& a) {
  a.validate();
  expects(a.rows == a.columns, "only a square matrix has diagonals, not one of ", a.rows, " x ", a.columns);
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<bool> there(n > 0 ? 2 * n - 1 : 0);  // at offset + n - 1
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = static_cast<std::size_t>(a.start[i]); k < static_cast<std::size_t>(a.start[i + 1]); ++k)
      there[static_cast<std::size_t>(a.column[k]) + n - 1 - i] = true;
  std::vector<int> offsets;
  for (std::size_t k = 0; k < there.size(); ++k)
    if (there[k]) offsets.push_back(static_cast<int>(static_cast<std::int64_t>(k) - a.rows + 1));
  return offsets;
}

bool bands_pay(const SparseRows& a) {
  const auto bands = diagonals_of(a).size();
  return bands <= 64 && 8 * static_cast<std::int64_t>(bands) * a.rows <= 12 * a.entries();
}

template <class T>
BandMatrix<T>::BandMatrix(Context& ctx, int n, std::vector<int> offsets)
    : n_(n), offsets_(std::move(offsets)), device_offsets_(ctx, static_cast<int>(offsets_.size())) {
  for (std::size_t k = 0; k < offsets_.size(); ++k) {
    const int offset = offsets_[k];
    expects(offset > -std::max(n, 1) && offset < std::max(n, 1), "offset ", offset, " lies outside a matrix of ", n,
            " rows");
    expects(k == 0 || offset > offsets_[k - 1], "offsets must increase, and ", offset, " follows ",
            k == 0 ? 0 : offsets_[k - 1]);
  }
  bands_ = SharedField<T>(ctx, GridLayout<2>{n, static_cast<int>(offsets_.size())});
  copy_from_host(ctx, offsets_.data(), device_offsets_.view());
}

template <class T>
BandMatrix<T>::BandMatrix(Context& ctx, int n, std::vector<int> offsets, const std::vector<T>& constants)
    : BandMatrix(ctx, n, std::move(offsets)) {
  expects(constants.size() == offsets_.size(), "there are ", constants.size(), " constants for ", offsets_.size(),
          " bands");
  for (std::size_t k = 0; k < constants.size(); ++k) {
    auto band = bands_.view();
    band.data += static_cast<std::int64_t>(k) * band.pitch;
    band.ny = 1;
    set(ctx, constants[k], band);
  }
}

template <class T>
BandMatrix<T>::BandMatrix(Context& ctx, const SparseRows& a) : BandMatrix(ctx, a.rows, few_diagonals_of(a)) {
  std::vector<T> bands(static_cast<std::size_t>(n_) * offsets_.size());
  for (int i = 0; i < n_; ++i)
    for (int k = a.start[static_cast<std::size_t>(i)]; k < a.start[static_cast<std::size_t>(i) + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      const auto band = static_cast<std::size_t>(
          std::lower_bound(offsets_.begin(), offsets_.end(), a.column[entry] - i) - offsets_.begin());
      expects(!(std::abs(a.value[entry]) > static_cast<double>(std::numeric_limits<T>::max())), "an entry of ",
              a.value[entry],
              " does not fit the precision of the operator; compute in double precision (--precision double; in Python "
              "single_precision=False)");
      bands[band * static_cast<std::size_t>(n_) + static_cast<std::size_t>(i)] = static_cast<T>(a.value[entry]);
    }
  copy_from_host(ctx, bands.data(), bands_.view());
}

template <class T>
void BandMatrix<T>::apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "A x", y, shape());
  run_rows<RowSums::product, T>(ctx, view(), nullptr, x.data, y.data);
}

template <class T>
void BandMatrix<T>::residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const {
  expects_fit(ctx, "b", b, shape());
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "b - A x", r, shape());
  run_rows<RowSums::residual, T>(ctx, view(), b.data, x.data, r.data);
}

template <class T>
double BandMatrix<T>::magnitude(Context& ctx, FieldView<const T> b, FieldView<const T> x) const {
  expects_fit(ctx, "b", b, shape());
  expects_fit(ctx, "x", x, shape());
  return norm_of(ctx, n_, 1, BandRowMagnitude<T>{view(), b.data, x.data});
}

template <class T>
SparseRows sparse_rows(Context& ctx, const BandMatrix<T>& a) {
  const auto view = a.view();
  const auto n = static_cast<std::size_t>(view.n);
  std::vector<T> bands(n * a.offsets().size());
  copy_to_host(ctx, view.band, bands.data());
  SparseRows rows;
  rows.rows = rows.columns = view.n;
  for (int i = 0; i < view.n; ++i) {
    for (std::size_t k = 0; k < a.offsets().size(); ++k) {
      const std::int64_t j = std::int64_t{i} + a.offsets()[k];
      const T value = bands[k * n + static_cast<std::size_t>(i)];
      if (j < 0 || j >= view.n || value == 0) continue;
      rows.column.push_back(static_cast<int>(j));
      rows.value.push_back(static_cast<double>(value));
    }
    rows.start.push_back(static_cast<int>(rows.value.size()));
  }
  return rows;
}

SparseRows toeplitz_rows(int n, double gamma) {
  expects(n >= 1, "a Toeplitz matrix has 1 row or more, not ", n);
  expects(std::isfinite(gamma), "gamma must be finite, not ", gamma);
  SparseRows rows;
  rows.rows = rows.columns = n;
  for (int i = 0; i < n; ++i) {
    for (const auto& [offset, value] : {std::pair{-2, gamma}, {0, 2.0}, {1, 1.0}}) {
      if (i + offset < 0 || i + offset >= n || value == 0) continue;
      rows.column.push_back(i + offset);
      rows.value.push_back(value);
    }
    rows.start.push_back(static_cast<int>(rows.value.size()));
  }
  return rows;
}

template class BandMatrix<float>;
template class BandMatrix<double>;
template SparseRows sparse_rows(Context&, const BandMatrix<float>&);
template SparseRows sparse_rows(Context&, const BandMatrix<double>&);

}  // namespace stratum
