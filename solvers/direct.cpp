#include <stratum/solvers/direct.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/blas.hpp>
#include <stratum/core/config.hpp>

namespace stratum {

namespace {

/// b - sum of a[k] c[k].
STRATUM_SIMD_CLONES double subtract_dot(double b, const double* a, const double* c, std::size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < n; ++k) sum += a[k] * c[k];
  return b - sum;
}

std::size_t half_bandwidth(const GridShape& shape) {
  return static_cast<std::size_t>(std::min(shape.nx, shape.ny)) + 1;
}

}  // namespace

template <class T>
std::int64_t BandCholesky<T>::required_bytes(const GridShape& shape) {
  const auto row = (half_bandwidth(shape) + 4) * sizeof(double) + sizeof(T);
  return shape.nodes() * static_cast<std::int64_t>(row);
}

template <class T>
BandCholesky<T>::BandCholesky(Context& ctx, const GridOperator<T>& a) {
  const GridShape shape = a.shape();
  expects(required_bytes(shape) <= max_bytes, "a direct solve of ", shape.nodes(), " unknowns takes ",
          required_bytes(shape) >> 20, " MiB, ", max_bytes >> 20, " are allowed");
  n_ = static_cast<std::size_t>(shape.nodes());
  width_ = half_bandwidth(shape);
  const std::size_t n = n_, width = width_, stride = width + 1;
  factor_.assign(n * stride, 0.0);
  scale_.assign(n, 0.0);
  work_.assign(n, 0.0);
  host_.assign(n, T(0));
  order_.resize(n);
  const auto node = [&](int i, int j) { return static_cast<std::size_t>(std::int64_t{j} * shape.nx + i); };
  for (int j = 0; j < shape.ny; ++j)
    for (int i = 0; i < shape.nx; ++i)
      order_[node(i, j)] = shape.nx <= shape.ny ? node(i, j) : static_cast<std::size_t>(std::int64_t{i} * shape.ny + j);
  const auto entry = [&](std::size_t row, std::size_t col) -> double& {
    return factor_[row * stride + (col + width - row)];
  };

  // Probe A with the nine vectors that are one at every third node in each direction: every entry shows up alone.
  Vector<T> probe(ctx, shape), image(ctx, shape);
  std::vector<T> pattern(n);
  for (int sy = 0; sy < 3; ++sy)
    for (int sx = 0; sx < 3; ++sx) {
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i) pattern[node(i, j)] = i % 3 == sx && j % 3 == sy ? T(1) : T(0);
      copy_from_host(ctx, pattern.data(), probe.view());
      a.apply(ctx, probe.cview(), image.view());
      copy_to_host(ctx, image.cview(), host_.data());
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i) {
          // The one node of the pattern within reach of (i, j).
          const int p = i + (sx - i % 3 + 4) % 3 - 1, q = j + (sy - j % 3 + 4) % 3 - 1;
          if (p < 0 || p >= shape.nx || q < 0 || q >= shape.ny) continue;
          const std::size_t row = order_[node(i, j)], col = order_[node(p, q)];
          if (col <= row) entry(row, col) = static_cast<double>(host_[node(i, j)]);
        }
    }

  const auto first = [&](std::size_t row) { return row > width ? row - width : 0; };
  for (std::size_t i = 0; i < n; ++i) {
    const double d = entry(i, i);
    expects(d > 0 && std::isfinite(d), "the matrix is not positive definite: diagonal entry ", d, " in row ", i);
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
        expects(rest > 0 && std::isfinite(rest), "the matrix is not positive definite to rounding: pivot ", rest,
                " in row ", i);
        entry(i, i) = std::sqrt(rest);
      }
    }
}

template <class T>
void BandCholesky<T>::solve(Context& ctx, GridView<const T> b, GridView<T> x) const {
  copy_to_host(ctx, b, host_.data());
  for (std::size_t k = 0; k < n_; ++k) work_[order_[k]] = scale_[order_[k]] * static_cast<double>(host_[k]);
  const auto row = [&](std::size_t i) { return &factor_[i * (width_ + 1) + width_ - std::min(i, width_)]; };
  for (std::size_t i = 0; i < n_; ++i) {
    const std::size_t length = std::min(i, width_);
    work_[i] = subtract_dot(work_[i], row(i), &work_[i - length], length) / row(i)[length];
  }
  for (std::size_t i = n_; i-- > 0;) {
    const std::size_t length = std::min(i, width_);
    const double* l = row(i);
    double* above = &work_[i - length];
    const double value = work_[i] /= l[length];
    for (std::size_t k = 0; k < length; ++k) above[k] -= value * l[k];
  }
  for (std::size_t k = 0; k < n_; ++k) host_[k] = static_cast<T>(scale_[order_[k]] * work_[order_[k]]);
  copy_from_host(ctx, host_.data(), x);
}

template class BandCholesky<float>;
template class BandCholesky<double>;

}  // namespace stratum
