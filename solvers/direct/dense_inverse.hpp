#pragma once

// The inverse of a small operator, in double and applied by one kernel: what a cycle ends with.
//
//     z = A^-1 r ;       of a singular A with A 1 = 0 and symmetric:  z = P G P r ,  P = 1 - 1 1^T / n
//
// (G: the inverse without the last unknown, which is zero), the solution without a mean of the system without one. For up to
// `max_unknowns` unknowns, 33 x 33; n^2 doubles. Vectors in float are multiplied in double, too: where K jumps by 10^6 numbers
// of the inverse differ by as much less than they are. apply allocates nothing and does not wait for the stream. Throws
// UsageError for more unknowns, BreakdownError where A is singular to rounding although it is not said to be.

#include <stratum/core/field/field.hpp>
#include <stratum/core/operators/grid_operator.hpp>

namespace stratum {

template <class T>
class DenseInverse final : public Preconditioner<T> {
 public:
  static constexpr std::int64_t max_unknowns = 1089;
  /// Formed in a few milliseconds by one thread.
  static constexpr std::int64_t few_unknowns = 289;

  DenseInverse(Context& ctx, const GridOperator<double>& a, bool singular = false);
  /// Of operators of this shape: `factor` first.
  DenseInverse(Context& ctx, const GridLayout<2>& shape, bool singular);

  /// Of this operator from now on. Elimination within the bands of A, rows exchanged, takes n w^2 multiplications on the host,
  /// w = 1 + the shorter side; the inverse 2 n^2 w more, on a GPU there, where no row was exchanged, A is regular and the grid
  /// is not periodic. Allocates nothing on the device; waits for the stream.
  void factor(Context& ctx, const GridOperator<double>& a);

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  GridLayout<2> shape_;
  bool singular_;
  Field<double> inverse_;   // row after row, unknowns numbered along the shorter side first
  Field<double> stencils_;  // for sparse_rows
  Field<double> factors_;   // GPU
};

}  // namespace stratum
