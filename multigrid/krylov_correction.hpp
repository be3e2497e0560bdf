#pragma once

// The K-cycle on one level: two steps of flexible conjugate gradients from zero for A x = b, preconditioned by C, a cycle from
// zero on that level,
//
//     z1 = C b          q1 = A z1,   r1 = (z1, q1),                t1 = (z1, b) / r1,    b <- b - t1 q1
//     z2 = C b          q2 = A z2,   r2 = (z2, q2) - g^2 / r1,     t2 = (z2, b) / r2,    g = (z2, q1)
//     x = (t1 - g t2 / r1) z1 + t2 z2
//
// for A symmetric positive definite. If r1 is not positive, t1 = 1, which is the cycle's own step; if r2 is not positive,
// t2 = 0. Scalars stay on the device: nothing waits for the stream, and nothing is allocated. Not for
// distributed levels. Memory traffic per unknown: 21 words, and two products with A. Source: Y. Notay, P. Vassilevski,
// Recursive Krylov-based multigrid cycles, Numer. Linear Algebra Appl. 15, 2008.

#include <stratum/core/operators/grid_operator.hpp>

namespace stratum {

template <class T>
class KrylovCorrection {
 public:
  KrylovCorrection() = default;
  KrylovCorrection(Context& ctx, const GridLayout<2>& shape);

  /// z = C b in, what b leaves in it out.
  void first(Context& ctx, const GridOperator<T>& a, FieldView<const T> z, FieldView<T> b);
  /// x = C b in, both steps together out.
  void second(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<T> x);

 private:
  /// Number k of five: (x, y).
  void dot_to(Context& ctx, int k, FieldView<const T> x, FieldView<const T> y);
  [[nodiscard]] const double* number(int k) const;

  Field<T> z_, q_, q2_;
  Field<double> numbers_;
  int apart_ = 0;  // numbers of scratch that a reduction takes, its result the first
};

}  // namespace stratum
