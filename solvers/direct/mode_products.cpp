#include <stratum/solvers/direct/mode_products.hpp>

#include <algorithm>
#include <vector>

#include <stratum/solvers/direct/jacobi_modes.hpp>

namespace stratum {

std::optional<UniformAxis> ModeProducts::by_fourier(bool on_gpu, const AxisFactors& axis) {
  if (on_gpu) return std::nullopt;
  const auto uniform = uniform_axis(axis);
  if (!uniform || !(slower * FourierTransform::operations(*uniform) < 2.0 * axis.unknowns())) return std::nullopt;
  return uniform;
}

double ModeProducts::operations(bool on_gpu, const AxisFactors& axis) {
  const auto uniform = by_fourier(on_gpu, axis);
  return uniform ? FourierTransform::operations(*uniform) : 2.0 * axis.unknowns();
}

double ModeProducts::cost(bool on_gpu, const AxisFactors& axis) {
  return (by_fourier(on_gpu, axis) ? slower : 1) * operations(on_gpu, axis);
}

LineModes ModeProducts::modes(const Context& ctx, const AxisFactors& axis) {
  if (const auto uniform = by_fourier(ctx.on_gpu(), axis)) return {{}, fourier_values(*uniform)};
  return axis_modes(axis, std::max(1, ctx.threads()));
}

ModeProducts::ModeProducts(Context& ctx, const AxisFactors& axis, const LineModes& modes) : n_(axis.unknowns()) {
  const int size = padded_size(n_);
  const auto row = static_cast<std::size_t>(size), square = row * row;
  const auto uniform = by_fourier(ctx.on_gpu(), axis);
  numbers_ = allocate(ctx, (row + (uniform ? 0 : 2 * square)) * sizeof(double));
  auto* next = static_cast<double*>(numbers_.get());
  const auto put = [&](const std::vector<double>& numbers) {
    const double* const at = next;
    if (ctx.is_dry_run()) return at;
    copy_bytes(ctx, numbers.data(), next, numbers.size() * sizeof(double));
    ctx.synchronise();
    next += numbers.size();
    return at;
  };
  std::vector<double> values(modes.values);
  values.resize(row, 1.0);
  values_ = put(values);
  forward_.size = back_.size = size;
  if (uniform) {
    transform_ = std::make_shared<const FourierTransform>(*uniform);
    return;
  }
  const auto matrix = [&](bool transposed) {
    std::vector<double> numbers;
    if (ctx.is_dry_run()) return put(numbers);
    numbers.assign(square, 0.0);
    const auto n = static_cast<std::size_t>(n_);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t i = 0; i < n; ++i) numbers[transposed ? a * row + i : i * row + a] = modes.vectors[a * n + i];
    return put(numbers);
  };
  forward_.data = matrix(false);
  back_.data = matrix(true);
}

void ModeProducts::along_rows(Product product, int count, const double* in, std::int64_t in_pitch, double* out,
                              std::int64_t out_pitch, bool add, double* scratch) const {
  if (transform_) return transform_->along_rows(product, count, in, in_pitch, out, out_pitch, add, scratch);
  const DenseMatrix& matrix = product == Product::to_modes ? forward_ : back_;
  multiply(count, n_, n_, in, in_pitch, matrix.data, matrix.size, out, out_pitch, add, scratch);
}

void ModeProducts::across_rows(Product product, int count, const double* in, std::int64_t in_pitch, double* out,
                               std::int64_t out_pitch, double* scratch) const {
  if (transform_) return transform_->across_rows(product, count, in, in_pitch, out, out_pitch, false, scratch);
  const DenseMatrix& matrix = product == Product::to_modes ? back_ : forward_;
  multiply(n_, count, n_, matrix.data, matrix.size, in, in_pitch, out, out_pitch, false, scratch);
}

std::size_t ModeProducts::scratch() const {
  return transform_ ? transform_->scratch() : product_scratch(forward_.size);
}

}  // namespace stratum
