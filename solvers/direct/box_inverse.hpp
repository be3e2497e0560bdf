#pragma once

// The inverse of a small matrix on a box (core/operators/box_matrix.hpp), symmetric positive definite, or in 27 bands and
// regular: what a cycle ends with.
//
//     x = A^-1 b ;       of a singular A with A 1 = 0:  x = P (A + t 1 1^T)^-1 P b ,  P = 1 - 1 1^T / n
//
// Factored on the host in extended precision, n^3 operations, and kept in double, n^2 numbers. apply is one kernel and waits
// for nothing. Throws BreakdownError for a matrix that is not positive definite,
// or not regular, to rounding.

#include <stratum/core/operators/box_matrix.hpp>

namespace stratum {

class BoxInverse {
 public:
  BoxInverse() = default;
  BoxInverse(Context& ctx, const BoxMatrix<double>& a, bool singular);

  template <class T>
  void apply(Context& ctx, FieldView<const T, 3> b, FieldView<T, 3> x) const;

 private:
  SharedField<double> inverse_;
};

}  // namespace stratum
