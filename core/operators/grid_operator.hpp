#pragma once

// Grid operators: nine-point operators in one of the storage formats of core/operators/storage_formats.hpp. The view of a
// format gives coefficients through one accessor, `coefficient<dx, dy>(i, j)`, and the partial sums that smoothers need.
// Smoothers are templates on the view; `GridOperator::visit` selects it once per sweep.

#include <concepts>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/operators/storage_formats.hpp>
#include <stratum/core/shared.hpp>

namespace stratum {

/// Any of the storage formats behind LinearOperator. A handle: copies are the same operator. Throws UsageError for bands that
/// differ in shape or pitch, factors of another length, and vectors of another shape.
template <class T>
class GridOperator final : public LinearOperator<T>, public Handle {
 public:
  /// Of no unknowns.
  GridOperator() : GridOperator(TensorOperator<T>()) {}
  template <class Format>
  requires(!std::same_as<Format, GridOperator>) &&
      std::constructible_from<AnyStorageFormat<T>, std::in_place_type_t<Format>, Format> GridOperator(
          Format a)  // NOLINT(google-explicit-constructor)
      : storage_(std::make_shared<AnyStorageFormat<T>>(std::in_place_type<Format>, std::move(a))) {
    std::get<Format>(*storage_).check();
  }

  [[nodiscard]] GridLayout<2> shape() const override {
    return std::visit([](const auto& a) { return a.shape(); }, *storage_);
  }
  [[nodiscard]] StorageFormat format() const { return static_cast<StorageFormat>(storage_->index()); }

  [[nodiscard]] const StorageFormatTraits& traits() const { return stratum::traits(format()); }
  /// Words read per node for the coefficients.
  [[nodiscard]] int coefficient_words() const { return traits().coefficient_words; }

  void apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const override;
  void residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const override;
  [[nodiscard]] double next_direction(Context& ctx, FieldView<const T> z, double beta, FieldView<T> p,
                                      FieldView<T> q) const override;
  [[nodiscard]] bool next_direction_on_gpu(Context& ctx, FieldView<const T> z, double beta, FieldView<const T> p,
                                           FieldView<T> next, FieldView<T> q) const override;
  /// r = scale (b - A x), rounded to the precision of r.
  template <class R>
  void scaled_residual(Context& ctx, double scale, FieldView<const T> b, FieldView<const T> x, FieldView<R> r) const;
  /// The same, and its norm, which the host waits for; on a GPU for no byte more and taken before r is rounded, where the
  /// storage format streams; there `meanwhile` submits what may follow before the host waits (sum_of_scratch).
  template <class R>
  [[nodiscard]] double scaled_residual_norm(Context& ctx, double scale, FieldView<const T> b, FieldView<const T> x,
                                            FieldView<R> r, const std::function<void()>& meanwhile = {}) const;
  [[nodiscard]] double residual_in_float(Context& ctx, double scale, FieldView<const T> b, FieldView<const T> x,
                                         FieldView<float> r) const override {
    if constexpr (std::same_as<T, double>)
      return scaled_residual_norm(ctx, scale, b, x, r);
    else
      return LinearOperator<T>::residual_in_float(ctx, scale, b, x, r);
  }
  /// next = x + alpha c and r = scale (b - A next) in one pass, 4 words of T and 2 of R, and the norm of r as above; in two it
  /// would be a word of T more. For a GPU, where the storage format streams, on grids without a halo, and vectors whose rows
  /// are aligned as those of a Field: `fuses_update`. All five are different vectors.
  [[nodiscard]] bool fuses_update(const Context& ctx, FieldView<const T> b, FieldView<const T> x) const;
  template <class R>
  [[nodiscard]] double updated_residual_norm(Context& ctx, double scale, FieldView<const T> b, FieldView<const T> x,
                                             double alpha, FieldView<const R> c, FieldView<T> next, FieldView<R> r,
                                             const std::function<void()>& meanwhile = {}) const;
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const T> b, FieldView<const T> x) const override;
  [[nodiscard]] double backward_error(Context& ctx, FieldView<const T> b, FieldView<const T> x,
                                      double least = 0) const override;

  /// Calls f with the view of the storage format that is stored.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit([&f](const auto& a) -> decltype(auto) { return a.visit(std::forward<F>(f)); }, *storage_);
  }
  [[nodiscard]] const auto& storage() const { return *storage_; }
  [[nodiscard]] auto& storage() { return *storage_; }

 private:
  std::shared_ptr<AnyStorageFormat<T>> storage_;
};

/// The same operator in another precision. Throws UsageError when a coefficient leaves the range of To, naming it:
/// widths below 1e-38 have no reciprocal in float. `symmetric`: nine bands are known to be, and five are kept.
template <class To, class From>
[[nodiscard]] GridOperator<To> convert(Context& ctx, const GridOperator<From>& a, bool symmetric = false);

/// The same, into an operator of the same shape and form, or of nine bands into five: nothing is allocated. Waits for the
/// stream.
template <class To, class From>
void assign(Context& ctx, const GridOperator<From>& from, GridOperator<To>& to);

/// d_ij = a_(0,0)(i, j)
template <class T>
void diagonal(Context& ctx, const GridOperator<T>& a, FieldView<T> d);

}  // namespace stratum
