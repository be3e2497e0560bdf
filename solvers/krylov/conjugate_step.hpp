#pragma once

// The step of conjugate gradients and of methods like them, in one pass over its vectors:
//
//     x <- x + scale alpha p,   r <- r - alpha q,   returns (r, r)
//
// with alpha = square / (p, q), or as given. On a GPU alpha stays there: one wait for the stream, for both products at once.
// Where (p, q) is not above zero nothing is changed. Memory traffic per unknown: 2 words for (p, q), 6 for the step.

#include <memory>

#include <stratum/core/device/recording.hpp>
#include <stratum/core/operators/linear_operator.hpp>

namespace stratum {

struct ConjugateStep {
  double curvature;  // (p, q)
  double square;     // (r, r); NaN where the curvature is not above zero
};

template <class T, class X>
ConjugateStep conjugate_step(Context& ctx, double square, FieldView<const T> p, FieldView<const T> q, double scale,
                             FieldView<X> x, FieldView<T> r);

/// The same with alpha from elsewhere.
template <class T, class X>
double residual_step(Context& ctx, double alpha, FieldView<const T> p, FieldView<const T> q, double scale,
                     FieldView<X> x, FieldView<T> r);

/// The direction p that such a method goes along. On a GPU there are two, and an iteration's first three passes are one where A
/// has it (LinearOperator::next_direction_on_gpu): 4 words and those of A, before the 6 of the step.
template <class T>
class SearchDirection {
 public:
  SearchDirection(Context& ctx, const GridLayout<2>& shape);

  /// p <- z + beta p, q <- A p, and the step with these.
  ConjugateStep step(Context& ctx, const LinearOperator<T>& a, double square, FieldView<const T> z, double beta,
                     FieldView<T> q, FieldView<T> x, FieldView<T> r);

 private:
  SharedField<T> p_, next_;
};

/// Iterations of conjugate gradients without a preconditioner of which the host submits one before it knows the numbers of the
/// one before, so that a GPU never waits for the host,
///
///     p <- r + beta p,  q <- A p,  x <- x + alpha p,  r <- r - alpha q,    alpha = (r, r) / (p, q),  beta = (r, r)_new / (r, r)
///
/// All numbers are in the memory of the Context, where those of subdomains of a grid are added up by rank. On a GPU an
/// iteration is recorded if A is_recordable. Where (p, q) is not above zero x and r stay as they are from there on, and (r, r)
/// is NaN.
template <class T>
class QueuedSteps {
 public:
  static constexpr int most_in_flight = 2;

  QueuedSteps(Context& ctx, const GridLayout<2>& shape);

  /// Subdomains of a grid whose numbers go by way of the host wait for them: there is nothing to be gained, though it works.
  [[nodiscard]] static bool pays(const Context& ctx);

  /// For another operator or other vectors; forgets iterations that nobody has waited for.
  void reset(Context& ctx);
  /// The next iteration goes from this (r, r) with this beta. None may be in flight.
  void start(Context& ctx, double square, double beta);
  /// One more iteration. Throws UsageError where most_in_flight are.
  void submit(Context& ctx, const LinearOperator<T>& a, FieldView<T> p, FieldView<T> q, FieldView<T> x, FieldView<T> r);
  [[nodiscard]] int in_flight() const { return in_flight_; }
  /// (p, q) and the new (r, r) of the first one that is in flight.
  [[nodiscard]] ConjugateStep await(Context& ctx);

 private:
  void iterate(Context& ctx, const LinearOperator<T>& a, FieldView<T> p, FieldView<T> q, FieldView<T> x, FieldView<T> r,
               double* host);

  int count_;  // of a sum's numbers
  Field<double> numbers_;
  std::shared_ptr<double> host_;
  Recording recording_;
  int next_ = 0, in_flight_ = 0;
};

}  // namespace stratum
