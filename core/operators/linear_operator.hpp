#pragma once

// LinearOperator and Preconditioner: the two interfaces that solvers are written against,
//
//     y = A x ,   r = b - A x ;       z = M^-1 r .
//
// There is one virtual call per sweep, not per node. Vectors have the operator's shape, and the implementations of this library
// throw UsageError for others. They must not alias unless a class allows it. `apply` and `residual` neither allocate nor wait
// for the stream; functions that return a number wait for it.

#include <limits>

#include <stratum/core/device/context.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

template <class T>
class LinearOperator {
 public:
  virtual ~LinearOperator() = default;

  /// Shape of the vectors that the operator maps between.
  [[nodiscard]] virtual GridLayout<2> shape() const = 0;
  /// y = A x
  virtual void apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const = 0;
  /// Every `apply` to the same vectors submits the same work, and nothing else happens: it can be recorded
  /// (core/device/recording.hpp).
  [[nodiscard]] virtual bool is_recordable() const { return false; }
  /// r = b - A x in one pass; r may be b.
  virtual void residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const = 0;
  /// r = scale (b - A x), rounded to float, and its norm, which the host waits for: for iterations in float
  /// (solvers/mixed/mixed_cg.hpp). NaN: A has no such pass.
  [[nodiscard]] virtual double residual_in_float(Context& /*ctx*/, double /*scale*/, FieldView<const T> /*b*/,
                                                 FieldView<const T> /*x*/, FieldView<float> /*r*/) const {
    return std::numeric_limits<double>::quiet_NaN();
  }
  /// || |A| |x| + |b| ||_2, the size of what b - A x is the difference of (solvers/rounding.hpp); zero: not known.
  [[nodiscard]] virtual double magnitude(Context& /*ctx*/, FieldView<const T> /*b*/, FieldView<const T> /*x*/) const {
    return 0;
  }
  /// max_i |b - A x|_i / (|A| max(|x|, least) + |b|)_i, the backward error by rows (W. Oettli, W. Prager, Compatibility of
  /// approximate solution of linear equations with given error bounds, 1964); zero: not known.
  [[nodiscard]] virtual double backward_error(Context& /*ctx*/, FieldView<const T> /*b*/, FieldView<const T> /*x*/,
                                              double /*least*/ = 0) const {
    return 0;
  }
  /// p = z + beta p, q = A p; (p, q), for which the stream is waited for. On a CPU three passes may be one.
  [[nodiscard]] virtual double next_direction(Context& ctx, FieldView<const T> z, double beta, FieldView<T> p,
                                              FieldView<T> q) const {
    xpay<T>(ctx, z, beta, p);
    apply(ctx, p, q);
    return dot<T>(ctx, p, q);
  }
  /// The same on a GPU in one pass, from p to another vector, `next`, and not waited for: (next, q) comes to the first number
  /// of the Context's scratch, which the caller holds, and to its number on the host. False where there is no such pass.
  [[nodiscard]] virtual bool next_direction_on_gpu(Context& /*ctx*/, FieldView<const T> /*z*/, double /*beta*/,
                                                   FieldView<const T> /*p*/, FieldView<T> /*next*/,
                                                   FieldView<T> /*q*/) const {
    return false;
  }
};

template <class T>
class Preconditioner {
 public:
  virtual ~Preconditioner() = default;

  /// z = M^-1 r for a zero initial guess; what z holds on entry does not matter.
  virtual void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) = 0;
  /// The same linear map at every call: plain CG and restarted methods rely on it.
  [[nodiscard]] virtual bool is_constant() const = 0;
  /// (M^-1 r, s) = (r, M^-1 s) to rounding: CG relies on it.
  [[nodiscard]] virtual bool is_symmetric() const = 0;
  /// M is a good approximate inverse of the whole of A, so that M^-1 r is an estimate of the error
  /// (solvers/error_estimate.hpp). Scaling by a diagonal or incomplete factors are not.
  [[nodiscard]] virtual bool estimates_error() const { return false; }
  /// Iterations that the latest apply took, for preconditioners that iterate; one otherwise.
  [[nodiscard]] virtual int iterations() const { return 1; }
  /// On one subdomain of a grid: `apply` may wait for work that it has submitted, as for an inner product. Else it may be
  /// called before it is certain that its result will be wanted, while a reduction is on its way.
  [[nodiscard]] virtual bool waits() const { return true; }
  /// z = M^-1 r; (r, z), for which the stream is waited for. On a CPU two passes may be one.
  [[nodiscard]] virtual double apply_dot(Context& ctx, FieldView<const T> r, FieldView<T> z) {
    apply(ctx, r, z);
    return dot<T>(ctx, r, z);
  }
};

}  // namespace stratum
