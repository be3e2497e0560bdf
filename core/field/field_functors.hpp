#pragma once

// The per-node formulas of vector updates and products (core/field/blas.hpp), shared with passes that take several of them row
// by row, while a row is in the cache.

#include <stratum/core/field/field.hpp>

namespace stratum {

/// y = y + alpha x
template <class From, class To>
struct Axpy {
  static constexpr bool hot = true;
  double alpha;
  FieldView<const From> x;
  FieldView<To> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE To value(int i, int j) const {
    return static_cast<To>(static_cast<double>(y(i, j)) + alpha * static_cast<double>(x(i, j)));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, To value) const { y(i, j) = value; }
};

/// y = x + beta y
template <class T>
struct Xpay {
  static constexpr bool hot = true;
  FieldView<const T> x;
  double beta;
  FieldView<T> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const {
    return static_cast<T>(static_cast<double>(x(i, j)) + beta * static_cast<double>(y(i, j)));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
};

/// Terms of (x, y).
template <class X, class Y = X>
struct Product {
  FieldView<const X> x;
  FieldView<const Y> y;
  static constexpr bool takes_maximum = false, hot = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return static_cast<double>(x(i, j)) * static_cast<double>(y(i, j));
  }
};

}  // namespace stratum
