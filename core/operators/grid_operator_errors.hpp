#pragma once

// The size of the terms of b - A x, and the componentwise backward error. The build generates one source per number type.

#include <stratum/core/field/reduce.hpp>
#include <stratum/core/operators/grid_operator_kernels.hpp>

namespace stratum {

namespace {

/// |A| max(|x|, least) + |b|
template <class View, class T>
struct Magnitudes {
  static constexpr bool hot = true;
  View a;
  FieldView<const T> b, x;
  T least;
  STRATUM_HOST_DEVICE STRATUM_INLINE static T size(T value) { return value < 0 ? -value : value; }
  template <int dx, int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE T term(int i, int j) const {
    const T of_x = size(x(i + dx, j + dy));
    return size(a.template coefficient<dx, dy>(i, j)) * (of_x < least ? least : of_x);
  }
  template <int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE T row(int i, int j) const {
    return term<-1, dy>(i, j) + term<0, dy>(i, j) + term<1, dy>(i, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return static_cast<double>(row<-1>(i, j) + row<0>(i, j) + row<1>(i, j) + size(b(i, j)));
  }
};

/// |b - A x| / (|A| max(|x|, least) + |b|)
template <class View, class T>
struct BackwardError {
  Magnitudes<View, T> of;
  static constexpr bool takes_maximum = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const double size = of(i, j), residual = of.size(of.b(i, j) - of.a.sum(of.x, i, j));
    return residual == 0 ? 0 : residual / size;
  }
};

}  // namespace

template <class T>
double GridOperator<T>::magnitude(Context& ctx, FieldView<const T> b, FieldView<const T> x) const {
  prepare_residual(ctx, shape(), b, x);
  return visit([&](const auto& a) {
    return norm_of(ctx, x.nx, x.ny, Magnitudes<std::decay_t<decltype(a)>, T>{a, b, x, T(0)});
  });
}

template <class T>
double GridOperator<T>::backward_error(Context& ctx, FieldView<const T> b, FieldView<const T> x, double least) const {
  prepare_residual(ctx, shape(), b, x);
  return visit([&](const auto& a) {
    return reduce(ctx, x.nx, x.ny, BackwardError<std::decay_t<decltype(a)>, T>{{a, b, x, static_cast<T>(least)}});
  });
}

}  // namespace stratum
