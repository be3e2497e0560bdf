#include <stratum/solvers/direct.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/blas.hpp>

namespace stratum {

namespace {

/// The host's copy of one band of the stencil; works for every form and backend: column sums of A e_colour.
template <class T>
std::vector<T> to_host(Context& ctx, GridView<const T> x) {
  std::vector<T> host(static_cast<std::size_t>(x.nodes()));
  copy_to_host(ctx, x, host.data());
  return host;
}

}  // namespace

template <class T>
BandCholesky<T>::BandCholesky(Context& ctx, const GridOperator<T>& a) {
  const GridShape shape = a.shape();
  expects(shape.nodes() <= max_unknowns, "a direct solve takes at most ", max_unknowns, " unknowns, not ",
          shape.nodes());
  n_ = static_cast<int>(shape.nodes());
  width_ = shape.nx + 1;
  const auto n = static_cast<std::size_t>(n_), stride = static_cast<std::size_t>(width_) + 1;
  factor_.assign(n * stride, 0.0);
  scale_.assign(n, 0.0);
  work_.assign(n, 0.0);
  host_.assign(n, T(0));

  // Probe A with the nine vectors that are one at every third node in each direction: every entry shows up alone.
  Vector<T> probe(ctx, shape), image(ctx, shape);
  std::vector<T> pattern(n);
  for (int sy = 0; sy < 3; ++sy)
    for (int sx = 0; sx < 3; ++sx) {
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i)
          pattern[static_cast<std::size_t>(j * shape.nx + i)] = i % 3 == sx && j % 3 == sy ? T(1) : T(0);
      copy_from_host(ctx, pattern.data(), probe.view());
      a.apply(ctx, probe.cview(), image.view());
      const auto column = to_host(ctx, image.cview());
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i) {
          // The one node of the pattern within reach of (i, j).
          const int dx = (sx - i % 3 + 4) % 3 - 1, dy = (sy - j % 3 + 4) % 3 - 1;
          const int p = i + dx, q = j + dy;
          if (p < 0 || p >= shape.nx || q < 0 || q >= shape.ny) continue;
          const int row = j * shape.nx + i, col = q * shape.nx + p;
          if (col > row) continue;
          factor_[static_cast<std::size_t>(row) * stride + static_cast<std::size_t>(col - row + width_)] =
              static_cast<double>(column[static_cast<std::size_t>(row)]);
        }
    }

  const auto entry = [&](std::size_t row, std::size_t col) -> double& {
    return factor_[row * stride + (col + static_cast<std::size_t>(width_) - row)];
  };
  const auto first = [&](std::size_t row) {
    return row > static_cast<std::size_t>(width_) ? row - static_cast<std::size_t>(width_) : 0;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const double d = entry(i, i);
    expects(d > 0 && std::isfinite(d), "the matrix is not positive definite: diagonal entry ", d, " in row ", i);
    scale_[i] = 1 / std::sqrt(d);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = first(i); j <= i; ++j) entry(i, j) *= scale_[i] * scale_[j];
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = first(i); j <= i; ++j) {
      double sum = entry(i, j);
      for (std::size_t k = std::max(first(i), first(j)); k < j; ++k) sum -= entry(i, k) * entry(j, k);
      if (j < i) {
        entry(i, j) = sum / entry(j, j);
      } else {
        expects(sum > 0 && std::isfinite(sum), "the matrix is not positive definite to rounding: pivot ", sum,
                " in row ", i);
        entry(i, i) = std::sqrt(sum);
      }
    }
}

template <class T>
void BandCholesky<T>::solve(Context& ctx, GridView<const T> b, GridView<T> x) const {
  copy_to_host(ctx, b, host_.data());
  const auto n = static_cast<std::size_t>(n_), width = static_cast<std::size_t>(width_), stride = width + 1;
  const auto entry = [&](std::size_t row, std::size_t col) { return factor_[row * stride + (col + width - row)]; };
  for (std::size_t i = 0; i < n; ++i) {
    double sum = scale_[i] * static_cast<double>(host_[i]);
    for (std::size_t k = i > width ? i - width : 0; k < i; ++k) sum -= entry(i, k) * work_[k];
    work_[i] = sum / entry(i, i);
  }
  for (std::size_t i = n; i-- > 0;) {
    double sum = work_[i];
    for (std::size_t k = i + 1; k < std::min(n, i + width + 1); ++k) sum -= entry(k, i) * work_[k];
    work_[i] = sum / entry(i, i);
  }
  for (std::size_t i = 0; i < n; ++i) host_[i] = static_cast<T>(scale_[i] * work_[i]);
  copy_from_host(ctx, host_.data(), x);
}

template class BandCholesky<float>;
template class BandCholesky<double>;

}  // namespace stratum
