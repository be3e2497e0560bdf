#pragma once

// The inverse of a small operator, formed in double and applied by one kernel: what a cycle ends with.
//
//     z = A^-1 r ;       of a singular A with A 1 = 0 and symmetric:  z = P (A + t 1 1^T)^-1 P r ,  P = 1 - 1 1^T / n
//
// (t: the mean of the diagonal entries over n), which is the solution without a mean of the system without one. For any
// operator of up to `max_unknowns` unknowns; n^2 words. apply allocates nothing and does not wait for the stream. Throws
// UsageError for more unknowns, BreakdownError where A is singular to rounding although it is not said to be.

#include <stratum/core/grid/vector.hpp>
#include <stratum/core/operators/linear_operator.hpp>

namespace stratum {

template <class T>
class DenseInverse final : public Preconditioner<T> {
 public:
  static constexpr std::int64_t max_unknowns = 64;

  DenseInverse(Context& ctx, const LinearOperator<double>& a, bool singular = false);
  /// Of operators of this shape: `factor` first.
  DenseInverse(Context& ctx, const GridShape& shape, bool singular);

  /// Of this operator from now on. Allocates nothing on the device; waits for the stream.
  void factor(Context& ctx, const LinearOperator<double>& a);

  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  GridShape shape_;
  bool singular_;
  Vector<T> inverse_;  // row after row
  Vector<double> unit_, image_;
};

}  // namespace stratum
