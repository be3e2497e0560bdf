#include <stratum/solvers/direct.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/config.hpp>
#include <stratum/core/grid/blas.hpp>

namespace stratum {

namespace {

/// b - sum of a[k] c[k].
STRATUM_SIMD_CLONES double subtract_dot(double b, const double* a, const double* c, std::size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < n; ++k) sum += a[k] * c[k];
  return b - sum;
}

/// a <- a - factor c
STRATUM_SIMD_CLONES void subtract_multiple(double factor, const double* c, double* a, std::size_t n) {
#pragma omp simd
  for (std::size_t k = 0; k < n; ++k) a[k] -= factor * c[k];
}

std::size_t half_bandwidth(const GridShape& shape) {
  return static_cast<std::size_t>(std::min(shape.nx, shape.ny)) + 1;
}

void expects_affordable(const GridShape& shape, std::int64_t bytes, std::int64_t allowed) {
  expects(bytes <= allowed, "a direct solve of ", shape.nodes(), " unknowns takes ", bytes >> 20, " MiB, ",
          allowed >> 20, " are allowed");
}

}  // namespace

template <class T>
BandEntries<T>::BandEntries(Context& ctx, const GridShape& shape)
    : width_(stratum::half_bandwidth(shape)), order_(static_cast<std::size_t>(shape.nodes())), host_(order_.size()),
      probe_(ctx, shape), image_(ctx, shape) {
  std::size_t k = 0;
  for (int j = 0; j < shape.ny; ++j)
    for (int i = 0; i < shape.nx; ++i, ++k)
      order_[k] = shape.nx <= shape.ny ? k : static_cast<std::size_t>(std::int64_t{i} * shape.ny + j);
}

template <class T>
void BandEntries<T>::read(Context& ctx, const GridOperator<T>& a,
                          const std::function<void(std::size_t, std::size_t, double)>& take) {
  const GridShape shape = probe_.shape();
  const auto node = [&](int i, int j) { return static_cast<std::size_t>(std::int64_t{j} * shape.nx + i); };
  // Probe A with the nine vectors that are one at every third node in each direction: every entry shows up alone.
  for (int sy = 0; sy < 3; ++sy)
    for (int sx = 0; sx < 3; ++sx) {
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i) host_[node(i, j)] = i % 3 == sx && j % 3 == sy ? T(1) : T(0);
      copy_from_host(ctx, host_.data(), probe_.view());
      a.apply(ctx, probe_.cview(), image_.view());
      copy_to_host(ctx, image_.cview(), host_.data());
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i) {
          // The one node of the pattern within reach of (i, j).
          const int p = i + (sx - i % 3 + 4) % 3 - 1, q = j + (sy - j % 3 + 4) % 3 - 1;
          if (p < 0 || p >= shape.nx || q < 0 || q >= shape.ny) continue;
          take(order_[node(i, j)], order_[node(p, q)], static_cast<double>(host_[node(i, j)]));
        }
    }
}

template <class T>
void BandEntries<T>::gather(Context& ctx, GridView<const T> b, std::vector<double>& to) const {
  expects_fit(ctx, "b", b, probe_.shape());
  copy_to_host(ctx, b, host_.data());
  for (std::size_t k = 0; k < order_.size(); ++k) to[order_[k]] = static_cast<double>(host_[k]);
}

template <class T>
void BandEntries<T>::scatter(Context& ctx, const std::vector<double>& from, GridView<T> x) const {
  expects_fit(ctx, "x", x, probe_.shape());
  for (std::size_t k = 0; k < order_.size(); ++k) host_[k] = static_cast<T>(from[order_[k]]);
  copy_from_host(ctx, host_.data(), x);
}

// --- Cholesky ------------------------------------------------------------------------------------------------------------

template <class T>
std::int64_t BandCholesky<T>::required_bytes(const GridShape& shape) {
  const auto row = (half_bandwidth(shape) + 4) * sizeof(double) + sizeof(T);
  return shape.nodes() * static_cast<std::int64_t>(row);
}

template <class T>
BandCholesky<T>::BandCholesky(Context& ctx, const GridOperator<T>& a) {
  const GridShape shape = a.shape();
  expects_affordable(shape, required_bytes(shape), max_bytes);
  entries_ = {ctx, shape};
  factor_.resize(entries_.size() * (entries_.half_bandwidth() + 1));
  scale_.resize(entries_.size());
  work_.resize(entries_.size());
  factor(ctx, a);
}

template <class T>
void BandCholesky<T>::factor(Context& ctx, const GridOperator<T>& a) {
  const std::size_t n = entries_.size(), width = entries_.half_bandwidth();
  const auto entry = [&](std::size_t row, std::size_t col) -> double& {
    return factor_[row * (width + 1) + (col + width - row)];
  };
  std::fill(factor_.begin(), factor_.end(), 0.0);
  entries_.read(ctx, a, [&](std::size_t row, std::size_t col, double value) {
    if (col <= row) entry(row, col) = value;
  });

  const auto first = [&](std::size_t row) { return row > width ? row - width : 0; };
  for (std::size_t i = 0; i < n; ++i) {
    const double d = entry(i, i);
    breaks_down_unless(d > 0 && std::isfinite(d), "the matrix is not positive definite: diagonal entry ", d, " in row ",
                       i);
    scale_[i] = 1 / std::sqrt(d);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = first(i); j <= i; ++j) entry(i, j) *= scale_[i] * scale_[j];
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = first(i); j <= i; ++j) {
      const std::size_t k = first(i);  // at or beyond the first column of row j
      const double rest = subtract_dot(entry(i, j), &entry(i, k), &entry(j, k), j - k);
      if (j < i) {
        entry(i, j) = rest / entry(j, j);
      } else {
        breaks_down_unless(rest > 0 && std::isfinite(rest), "the matrix is not positive definite to rounding: pivot ",
                           rest, " in row ", i);
        entry(i, i) = std::sqrt(rest);
      }
    }
}

template <class T>
void BandCholesky<T>::solve(Context& ctx, GridView<const T> b, GridView<T> x) const {
  const std::size_t n = entries_.size(), width = entries_.half_bandwidth();
  entries_.gather(ctx, b, work_);
  for (std::size_t i = 0; i < n; ++i) work_[i] *= scale_[i];
  const auto row = [&](std::size_t i) { return &factor_[i * (width + 1) + width - std::min(i, width)]; };
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t length = std::min(i, width);
    work_[i] = subtract_dot(work_[i], row(i), &work_[i - length], length) / row(i)[length];
  }
  for (std::size_t i = n; i-- > 0;) {
    const std::size_t length = std::min(i, width);
    const double* l = row(i);
    const double value = work_[i] /= l[length];
    subtract_multiple(value, l, &work_[i - length], length);
  }
  for (std::size_t i = 0; i < n; ++i) work_[i] *= scale_[i];
  entries_.scatter(ctx, work_, x);
}

// --- LU ------------------------------------------------------------------------------------------------------------------

template <class T>
std::int64_t BandLU<T>::required_bytes(const GridShape& shape) {
  const auto row = (3 * half_bandwidth(shape) + 5) * sizeof(double) + sizeof(T);
  return shape.nodes() * static_cast<std::int64_t>(row);
}

template <class T>
BandLU<T>::BandLU(Context& ctx, const GridOperator<T>& a) {
  const GridShape shape = a.shape();
  expects_affordable(shape, required_bytes(shape), max_bytes);
  entries_ = {ctx, shape};
  factor_.resize(entries_.size() * (3 * entries_.half_bandwidth() + 1));
  scale_.resize(entries_.size());
  pivot_.resize(entries_.size());
  work_.resize(entries_.size());
  factor(ctx, a);
}

template <class T>
void BandLU<T>::factor(Context& ctx, const GridOperator<T>& a) {
  const std::size_t n = entries_.size(), width = entries_.half_bandwidth();
  const auto entry = [&](std::size_t row, std::size_t col) -> double& {
    return factor_[row * (3 * width + 1) + (col + width - row)];
  };
  std::fill(factor_.begin(), factor_.end(), 0.0);
  std::fill(scale_.begin(), scale_.end(), 0.0);
  entries_.read(ctx, a, [&](std::size_t row, std::size_t col, double value) {
    entry(row, col) = value;
    // A NaN stays.
    if (!(std::abs(value) <= scale_[row])) scale_[row] = std::abs(value);
  });
  for (std::size_t i = 0; i < n; ++i) {
    breaks_down_unless(scale_[i] > 0 && std::isfinite(scale_[i]), "the matrix is singular: the largest entry of row ",
                       i, " is ", scale_[i]);
    scale_[i] = 1 / scale_[i];
    for (std::size_t j = i > width ? i - width : 0; j <= std::min(n - 1, i + width); ++j) entry(i, j) *= scale_[i];
  }
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t last_row = std::min(n - 1, k + width), last = std::min(n - 1, k + 2 * width);
    std::size_t p = k;
    for (std::size_t i = k + 1; i <= last_row; ++i)
      if (std::abs(entry(i, k)) > std::abs(entry(p, k))) p = i;
    pivot_[k] = p;
    if (p != k) std::swap_ranges(&entry(k, k), &entry(k, last) + 1, &entry(p, k));
    const double d = entry(k, k);
    breaks_down_unless(std::abs(d) > std::numeric_limits<double>::epsilon(),
                       "the matrix is singular to rounding: pivot ", d, " in row ", k, " after scaling rows to one");
    for (std::size_t i = k + 1; i <= last_row; ++i) {
      const double multiplier = entry(i, k) /= d;
      if (multiplier != 0) subtract_multiple(multiplier, &entry(k, k) + 1, &entry(i, k) + 1, last - k);
    }
  }
}

template <class T>
void BandLU<T>::solve(Context& ctx, GridView<const T> b, GridView<T> x) const {
  const std::size_t n = entries_.size(), width = entries_.half_bandwidth();
  const auto entry = [&](std::size_t row, std::size_t col) {
    return &factor_[row * (3 * width + 1) + (col + width - row)];
  };
  entries_.gather(ctx, b, work_);
  for (std::size_t i = 0; i < n; ++i) work_[i] *= scale_[i];
  for (std::size_t k = 0; k < n; ++k) {
    std::swap(work_[k], work_[pivot_[k]]);
    for (std::size_t i = k + 1; i <= std::min(n - 1, k + width); ++i) work_[i] -= *entry(i, k) * work_[k];
  }
  for (std::size_t i = n; i-- > 0;) {
    const std::size_t length = std::min(n - 1 - i, 2 * width);
    work_[i] = subtract_dot(work_[i], entry(i, i) + 1, &work_[i] + 1, length) / *entry(i, i);
  }
  entries_.scatter(ctx, work_, x);
}

template class BandEntries<float>;
template class BandEntries<double>;
template class BandCholesky<float>;
template class BandCholesky<double>;
template class BandLU<float>;
template class BandLU<double>;

}  // namespace stratum
