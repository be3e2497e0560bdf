#pragma once

// The per-node formulas of vector updates and products (core/field/blas.hpp). They stand here because kernels that do several
// updates in one pass over the cached rows use them, too. They are formulas of two dimensions; in three dimensions the formula
// of two runs on each plane k (core/field/for_each_node_3d.hpp).

#include <stratum/core/field/field.hpp>

namespace stratum {

/// x = number
template <class T, int D = 2>
struct Set {
  static constexpr bool hot = true;
  T number;
  FieldView<T, D> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int /*i*/, int /*j*/) const { return number; }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { x(i, j) = value; }
  STRATUM_HOST_DEVICE STRATUM_INLINE auto plane(int k) const requires(D == 3) { return Set<T>{number, x.plane(k)}; }
};

/// y = x
template <class From, class To, int D = 2>
struct Copy {
  static constexpr bool hot = true;
  FieldView<const From, D> x;
  FieldView<To, D> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE To value(int i, int j) const { return static_cast<To>(x(i, j)); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, To value) const { y(i, j) = value; }
  STRATUM_HOST_DEVICE STRATUM_INLINE auto plane(int k) const requires(D == 3) {
    return Copy<From, To>{x.plane(k), y.plane(k)};
  }
};

/// y = alpha x
template <class From, class To, int D = 2>
struct CopyScaled {
  static constexpr bool hot = true;
  double alpha;
  FieldView<const From, D> x;
  FieldView<To, D> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE To value(int i, int j) const {
    return static_cast<To>(alpha * static_cast<double>(x(i, j)));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, To value) const { y(i, j) = value; }
  STRATUM_HOST_DEVICE STRATUM_INLINE auto plane(int k) const requires(D == 3) {
    return CopyScaled<From, To>{alpha, x.plane(k), y.plane(k)};
  }
};

/// y = y + alpha x
template <class From, class To, int D = 2>
struct Axpy {
  static constexpr bool hot = true;
  double alpha;
  FieldView<const From, D> x;
  FieldView<To, D> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE To value(int i, int j) const {
    return static_cast<To>(static_cast<double>(y(i, j)) + alpha * static_cast<double>(x(i, j)));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, To value) const { y(i, j) = value; }
  STRATUM_HOST_DEVICE STRATUM_INLINE auto plane(int k) const requires(D == 3) {
    return Axpy<From, To>{alpha, x.plane(k), y.plane(k)};
  }
};

/// y = x + beta y
template <class T, int D = 2>
struct Xpay {
  static constexpr bool hot = true;
  FieldView<const T, D> x;
  double beta;
  FieldView<T, D> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const {
    return static_cast<T>(static_cast<double>(x(i, j)) + beta * static_cast<double>(y(i, j)));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
  STRATUM_HOST_DEVICE STRATUM_INLINE auto plane(int k) const requires(D == 3) {
    return Xpay<T>{x.plane(k), beta, y.plane(k)};
  }
};

/// x = x - sum / nodes, with a sum that lies where kernels read it
template <class T, int D = 2>
struct SubtractMean {
  static constexpr bool hot = true;
  const double* sum;
  double nodes;
  FieldView<T, D> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const {
    return static_cast<T>(static_cast<double>(x(i, j)) - *sum / nodes);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { x(i, j) = value; }
  STRATUM_HOST_DEVICE STRATUM_INLINE auto plane(int k) const requires(D == 3) {
    return SubtractMean<T>{sum, nodes, x.plane(k)};
  }
};

/// Terms of (x, y).
template <class X, class Y = X, int D = 2>
struct Product {
  FieldView<const X, D> x;
  FieldView<const Y, D> y;
  static constexpr bool takes_maximum = false, hot = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return static_cast<double>(x(i, j)) * static_cast<double>(y(i, j));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE auto plane(int k) const requires(D == 3) {
    return Product<X, Y>{x.plane(k), y.plane(k)};
  }
};

/// What a reduction adds up or takes the maximum of, beside products.
template <class T, int D = 2>
struct Value {
  FieldView<const T, D> x;
  static constexpr bool takes_maximum = false, hot = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return static_cast<double>(x(i, j)); }
  STRATUM_HOST_DEVICE STRATUM_INLINE auto plane(int k) const requires(D == 3) { return Value<T>{x.plane(k)}; }
};

/// The maximum of x, and of its negative: reductions take maxima.
template <class T, int D = 2>
struct Signed {
  FieldView<const T, D> x;
  double sign;
  static constexpr bool takes_maximum = true, of_any_sign = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return sign * x(i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE auto plane(int k) const requires(D == 3) { return Signed<T>{x.plane(k), sign}; }
};

}  // namespace stratum
