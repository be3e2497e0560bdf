#pragma once

// The step of conjugate gradients and of methods like them, in one pass over its vectors:
//
//     x <- x + scale alpha p,   r <- r - alpha q,   returns (r, r)
//
// with alpha = square / (p, q), or as given. On a GPU alpha stays there: one wait for the stream, for both products at once.
// Where (p, q) is not above zero nothing is changed. Words a node: 2 for (p, q), 6 for the step.

#include <stratum/core/operators/linear_operator.hpp>

namespace stratum {

struct ConjugateStep {
  double curvature;  // (p, q)
  double square;     // (r, r); NaN where the curvature is not above zero
};

template <class T, class X>
ConjugateStep conjugate_step(Context& ctx, double square, GridView<const T> p, GridView<const T> q, double scale,
                             GridView<X> x, GridView<T> r);

/// The same with alpha from elsewhere.
template <class T, class X>
double residual_step(Context& ctx, double alpha, GridView<const T> p, GridView<const T> q, double scale, GridView<X> x,
                     GridView<T> r);

/// The direction p that such a method goes along. On a GPU there are two, and an iteration's first three passes are one where A
/// has it (LinearOperator::next_direction_on_gpu): 4 words and those of A, before the 6 of the step.
template <class T>
class SearchDirection {
 public:
  SearchDirection(Context& ctx, const GridShape& shape);

  /// p <- z + beta p, q <- A p, and the step with these.
  ConjugateStep step(Context& ctx, const LinearOperator<T>& a, double square, GridView<const T> z, double beta,
                     GridView<T> q, GridView<T> x, GridView<T> r);

 private:
  SharedVector<T> p_, next_;
};

}  // namespace stratum
