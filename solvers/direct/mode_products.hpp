#pragma once

// The modes of one axis, applied to the planes of a box: w = V^T x and x = V w along its rows or across them, V^T M V = 1. Of
// two kinds, whichever takes less time:
//
//     dense products     with V as a matrix, 2 n operations a number (solvers/direct/dense_products.hpp)
//     Fourier transforms of a uniform axis, on a CPU (solvers/direct/fourier_modes.hpp), about 40 operations a number
//
// An operation of a transform takes `slower` times as long as one of a product. Memory: two matrices, or 8 N numbers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <stratum/core/device/context.hpp>
#include <stratum/core/operators/box_operator.hpp>
#include <stratum/solvers/direct/dense_products.hpp>
#include <stratum/solvers/direct/fourier_modes.hpp>
#include <stratum/solvers/direct/line_modes.hpp>

namespace stratum {

class ModeProducts {
 public:
  /// Measured with AVX-512, 4 to 5: 20 to 30 GFLOP/s beside 95.
  static constexpr double slower = 4.5;

  /// The axis, where transforms are faster there.
  [[nodiscard]] static std::optional<UniformAxis> by_fourier(bool on_gpu, const AxisFactors& axis);
  /// Operations for a number of one product, and the same in operations of dense products.
  [[nodiscard]] static double operations(bool on_gpu, const AxisFactors& axis);
  [[nodiscard]] static double cost(bool on_gpu, const AxisFactors& axis);
  /// What the constructor takes: without vectors where transforms take their place.
  [[nodiscard]] static LineModes modes(const Context& ctx, const AxisFactors& axis);

  ModeProducts() = default;
  /// In a memory dry run modes are not looked at.
  ModeProducts(Context& ctx, const AxisFactors& axis, const LineModes& modes);

  /// padded_size(n) numbers; beyond n ones.
  [[nodiscard]] const double* values() const { return values_; }
  [[nodiscard]] int size() const { return forward_.size; }
  // On a GPU: V and V^T in rows, for products from the right; for those from the left the other way round.
  [[nodiscard]] DenseMatrix v() const { return forward_; }
  [[nodiscard]] DenseMatrix transposed() const { return back_; }

  // On the host, of `count` rows or columns, by one thread; `out` is another plane than `in`. Scratch: `scratch()` numbers.
  using Product = FourierTransform::Product;
  void along_rows(Product product, int count, const double* in, std::int64_t in_pitch, double* out,
                  std::int64_t out_pitch, bool add, double* scratch) const;
  void across_rows(Product product, int count, const double* in, std::int64_t in_pitch, double* out,
                   std::int64_t out_pitch, double* scratch) const;
  [[nodiscard]] std::size_t scratch() const;

 private:
  int n_ = 0;
  std::shared_ptr<void> numbers_;
  const double* values_ = nullptr;
  DenseMatrix forward_, back_;  // without numbers where there is a transform
  std::shared_ptr<const FourierTransform> transform_;
};

}  // namespace stratum
