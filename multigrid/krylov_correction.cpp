#include <stratum/multigrid/krylov_correction.hpp>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/field/reduce.hpp>

namespace stratum {

namespace {

enum Number : int { z1_q1, z1_b, z2_q1, z2_q2, z2_b, count };

template <class T>
struct ProductOfTwo {
  static constexpr bool hot = true;
  FieldView<const T> x, y;
  static constexpr bool takes_maximum = false;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return static_cast<double>(x(i, j)) * static_cast<double>(y(i, j));
  }
};

STRATUM_HOST_DEVICE STRATUM_INLINE double first_step(double r1, double z1_times_b) {
  return r1 > 0 ? z1_times_b / r1 : 1.0;
}

/// b <- b - t1 q1
template <class T>
struct SubtractFirst {
  static constexpr bool hot = true;
  const double *r1, *z1_times_b;
  FieldView<const T> q;
  FieldView<T> b;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    b(i, j) = static_cast<T>(b(i, j) - first_step(*r1, *z1_times_b) * q(i, j));
  }
};

/// x <- (t1 - g t2 / r1) z1 + t2 x
template <class T>
struct BothSteps {
  static constexpr bool hot = true;
  const double *r1, *z1_times_b, *g, *z2_times_q2, *z2_times_b;
  FieldView<const T> z;
  FieldView<T> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    // Directions that differ by rounding alone leave nothing for a second step.
    constexpr double least = 1e-5;
    const double along = *r1 > 0 ? *g / *r1 : 0.0, r2 = *z2_times_q2 - along * *g;
    const double t2 = r2 > least * *z2_times_q2 ? *z2_times_b / r2 : 0.0;
    x(i, j) = static_cast<T>((first_step(*r1, *z1_times_b) - along * t2) * z(i, j) + t2 * x(i, j));
  }
};

}  // namespace

template <class T>
KrylovCorrection<T>::KrylovCorrection(Context& ctx, const GridLayout<2>& shape)
    : z_(ctx, shape), q_(ctx, shape), q2_(ctx, shape), apart_(reduction_numbers(ctx, shape.nx, shape.ny) + 1) {
  numbers_ = Field<double>(ctx, count * apart_);
}

template <class T>
const double* KrylovCorrection<T>::number(int k) const {
  return &numbers_.cview()(k * apart_, 0);
}

template <class T>
void KrylovCorrection<T>::dot_to(Context& ctx, int k, FieldView<const T> x, FieldView<const T> y) {
  double* const sum = &numbers_.view()(k * apart_, 0);
  reduce_to(ctx, x.nx, x.ny, ProductOfTwo<T>{x, y}, sum, sum + apart_ - 1);
}

template <class T>
void KrylovCorrection<T>::first(Context& ctx, const GridOperator<T>& a, FieldView<const T> z, FieldView<T> b) {
  copy(ctx, z, z_.view());
  a.apply(ctx, z_.cview(), q_.view());
  dot_to(ctx, z1_q1, z, q_.cview());
  dot_to(ctx, z1_b, z, FieldView<const T>(b));
  for_each_node(ctx, all_nodes(b), SubtractFirst<T>{number(z1_q1), number(z1_b), q_.cview(), b});
}

template <class T>
void KrylovCorrection<T>::second(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<T> x) {
  const FieldView<const T> z(x);
  a.apply(ctx, z, q2_.view());
  dot_to(ctx, z2_q1, z, q_.cview());
  dot_to(ctx, z2_q2, z, q2_.cview());
  dot_to(ctx, z2_b, z, b);
  for_each_node(ctx, all_nodes(x),
                BothSteps<T>{number(z1_q1), number(z1_b), number(z2_q1), number(z2_q2), number(z2_b), z_.cview(), x});
}

template class KrylovCorrection<float>;
template class KrylovCorrection<double>;

}  // namespace stratum
