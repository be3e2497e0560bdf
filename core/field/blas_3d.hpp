#pragma once

// Vector updates and reductions on fields of three dimensions; ghosts are neither read nor written. Extents must agree, else
// UsageError, as where memory is not the Context's. What is said in core/field/blas.hpp of streams, precision and deterministic
// sums holds here, and so do the words per unknown; the formulas are the same code. For more, `rows_of`
// (core/field/field_3d.hpp) makes a field without ghosts one of two dimensions.

#include <cstdint>
#include <type_traits>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/field_3d.hpp>

namespace stratum {

/// x = value
template <class T>
void set(Context& ctx, std::type_identity_t<T> value, FieldView<T, 3> x);
/// x = 0, ghosts included.
template <class T>
void set_zero_with_ghosts(Context& ctx, Field<T, 3>& x) {
  set(ctx, T(0), with_ghosts(x.view(), x.layout().ghost_width));
}
/// y = x, converting between precisions
template <class From, class To>
void copy(Context& ctx, FieldView<const From, 3> x, FieldView<To, 3> y);
template <class From, class To>
requires(!std::is_const_v<From>) void copy(Context& ctx, FieldView<From, 3> x, FieldView<To, 3> y) {
  copy(ctx, FieldView<const From, 3>(x), y);
}
/// y = alpha x, converting between precisions; the product is formed in double
template <class From, class To>
void copy_scaled(Context& ctx, double alpha, FieldView<const From, 3> x, FieldView<To, 3> y);
template <class From, class To>
requires(!std::is_const_v<From>) void copy_scaled(Context& ctx, double alpha, FieldView<From, 3> x,
                                                  FieldView<To, 3> y) {
  copy_scaled(ctx, alpha, FieldView<const From, 3>(x), y);
}
/// y = y + alpha x, converting between precisions
template <class From, class To>
void axpy(Context& ctx, double alpha, FieldView<const From, 3> x, FieldView<To, 3> y);
template <class From, class To>
requires(!std::is_const_v<From>) void axpy(Context& ctx, double alpha, FieldView<From, 3> x, FieldView<To, 3> y) {
  axpy(ctx, alpha, FieldView<const From, 3>(x), y);
}
/// y = x + beta y
template <class T>
void xpay(Context& ctx, FieldView<const T, 3> x, double beta, FieldView<T, 3> y);
template <class T>
void xpay(Context& ctx, FieldView<T, 3> x, double beta, FieldView<T, 3> y) requires(!std::is_const_v<T>) {
  xpay(ctx, FieldView<const T, 3>(x), beta, y);
}

/// sum of x_ijk y_ijk
template <class X, class Y>
[[nodiscard]] double dot(Context& ctx, FieldView<const X, 3> x, FieldView<const Y, 3> y);
template <class X, class Y>
requires(!std::is_const_v<X> || !std::is_const_v<Y>)
    [[nodiscard]] double dot(Context& ctx, FieldView<X, 3> x, FieldView<Y, 3> y) {
  return dot(ctx, FieldView<const X, 3>(x), FieldView<const Y, 3>(y));
}
/// square root of the sum of x_ijk^2
template <class T>
[[nodiscard]] double norm2(Context& ctx, FieldView<T, 3> x);
/// max of |x_ijk|; NaN where there is one
template <class T>
[[nodiscard]] double norm_max(Context& ctx, FieldView<T, 3> x);
/// min and max of x_ijk; NaN where there is one, zeros of no nodes
template <class T>
[[nodiscard]] Extremes extremes(Context& ctx, FieldView<T, 3> x);

/// x_ijk <- x_ijk - (sum of all) / their number, `nodes` where other subdomains have some. Nothing waits for the stream.
template <class T>
void subtract_mean(Context& ctx, FieldView<T, 3> x, FieldView<double> scratch, std::int64_t nodes);
/// Scratch for fields of these extents.
[[nodiscard]] Field<double> mean_scratch(Context& ctx, const Extents<3>& extents);

/// Makes the Context's scratch as large as reductions of these extents take.
void reserve_reductions(Context& ctx, const Extents<3>& extents);

/// The ghosts hold zeros: true of every Field before its first exchange, a duty of memory that one borrows. Waits for the
/// stream.
template <class T>
[[nodiscard]] bool ghosts_are_zero(Context& ctx, const Field<T, 3>& x);

/// Copies to and from the host, waiting for the stream. `host` has nx numbers a row, rows and planes without a gap.
template <class T>
void copy_to_host(Context& ctx, FieldView<const T, 3> x, T* host);
template <class T>
void copy_from_host(Context& ctx, const T* host, FieldView<T, 3> x);
/// Planes of all subdomains, in the order of ranks, on the host of each.
[[nodiscard]] std::vector<double> all_planes(Context& ctx, FieldView<const double, 3> x);

}  // namespace stratum
