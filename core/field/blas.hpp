#pragma once

// Vector updates and reductions on grid functions. They neither read nor write the halo. Shapes must agree.
//
// Updates do not synchronise. Reductions return a number to the host and therefore wait for the stream. They accumulate in
// double and are deterministic: partial sums belong to rows (to parts of the row if there is only one), not to threads, and are
// added in order, so that the same input gives the same bits on any number of threads.
//
// Memory traffic, words per unknown: set 1, copy 2, axpy 3, xpay 3, scale 2, norm2 1, dot 2. Several dots or axpys in one call
// move as many words as there are different vectors, up to eight pairs or terms; longer lists take one pass per eight.

#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field.hpp>

namespace stratum {

/// x = value
template <class T>
void set(Context& ctx, std::type_identity_t<T> value, FieldView<T> x);
/// x = 0, halo included
template <class T>
void set_zero_with_halo(Context& ctx, FieldView<T> x) {
  x.data -= x.pitch + 1;
  x.nx = x.nx + 2 <= x.pitch ? x.nx + 2 : x.nx + 1;  // else the last column is the first of the next row
  x.ny += 2;
  set(ctx, T(0), x);
}
/// y = x, converting between precisions
template <class From, class To>
void copy(Context& ctx, FieldView<const From> x, FieldView<To> y);
template <class From, class To>
requires(!std::is_const_v<From>) void copy(Context& ctx, FieldView<From> x, FieldView<To> y) {
  copy(ctx, FieldView<const From>(x), y);
}
/// y = alpha x, converting between precisions; the product is formed in double
template <class From, class To>
void copy_scaled(Context& ctx, double alpha, FieldView<const From> x, FieldView<To> y);
/// y = y + alpha x, converting between precisions
template <class From, class To>
void axpy(Context& ctx, double alpha, FieldView<const From> x, FieldView<To> y);
template <class From, class To>
requires(!std::is_const_v<From>) void axpy(Context& ctx, double alpha, FieldView<From> x, FieldView<To> y) {
  axpy(ctx, alpha, FieldView<const From>(x), y);
}
/// y = x + beta y
template <class T>
void xpay(Context& ctx, FieldView<const T> x, double beta, FieldView<T> y);

/// y = y + sum over k of alpha[k] xs[k], the sum formed in double
template <class T>
void axpys(Context& ctx, const std::vector<double>& alpha, const std::vector<FieldView<const T>>& xs, FieldView<T> y);

/// sum of x_ij y_ij
template <class T>
[[nodiscard]] double dot(Context& ctx, FieldView<const T> x, FieldView<const T> y);
/// The same of vectors in two precisions.
template <class X, class Y>
requires(!std::is_same_v<X, Y>) [[nodiscard]] double dot(Context& ctx, FieldView<const X> x, FieldView<const Y> y);

/// The same of views that could be written to.
template <class X, class Y>
requires(!std::is_const_v<X> || !std::is_const_v<Y>)
    [[nodiscard]] double dot(Context& ctx, FieldView<X> x, FieldView<Y> y) {
  return dot(ctx, FieldView<const X>(x), FieldView<const Y>(y));
}

/// Makes the Context's scratch as large as reductions of this shape take, `dots` of up to 64 pairs among them.
void reserve_reductions(Context& ctx, const GridLayout<2>& shape);

template <class T>
struct DotPair {
  FieldView<const T> x, y;
};
/// The dot product of every pair, each with the bits that `dot` gives, for one wait.
template <class T>
[[nodiscard]] std::vector<double> dots(Context& ctx, const std::vector<DotPair<T>>& pairs);
/// square root of the sum of x_ij^2
template <class T>
[[nodiscard]] double norm2(Context& ctx, FieldView<const T> x);
/// max of |x_ij|; NaN when there is one
template <class T>
[[nodiscard]] double norm_max(Context& ctx, FieldView<const T> x);
struct Extremes {
  double least = 0, most = 0;
};
/// min and max of x_ij; NaN when there is one, zeros of no nodes
template <class T>
[[nodiscard]] Extremes extremes(Context& ctx, FieldView<const T> x);

template <class T>
requires(!std::is_const_v<T>) [[nodiscard]] double norm2(Context& ctx, FieldView<T> x) {
  return norm2<T>(ctx, FieldView<const T>(x));
}
template <class T>
requires(!std::is_const_v<T>) [[nodiscard]] double norm_max(Context& ctx, FieldView<T> x) {
  return norm_max<T>(ctx, FieldView<const T>(x));
}

/// The same, left where kernels of this Context can read it: valid until its next reduction. Does not wait for the stream.
template <class T>
[[nodiscard]] const double* norm_max_in_place(Context& ctx, FieldView<const T> x);

/// max |c_ij| and the extremes of x_ij. The caller submits the reduction and fetches its results later. On a GPU it follows
/// what is submitted already, in one pass that reads one word of c and of x per node, so that the host waits once for a norm
/// and for these numbers. Every `submit` is followed by one `fetch`. It is not available on a CPU, where it would gain nothing.
class DeferredSizes {
 public:
  struct Sizes {
    double largest_c = 0;
    std::optional<Extremes> of_x{};
  };
  explicit DeferredSizes(Context& ctx);

  [[nodiscard]] bool available() const { return !partial_.empty(); }
  /// Without x: of c alone. Does not wait.
  void submit(Context& ctx, FieldView<const float> c, const std::optional<FieldView<const double>>& x);
  [[nodiscard]] bool submitted() const { return submitted_; }
  /// Waits for what was submitted. Of all subdomains of a grid.
  [[nodiscard]] Sizes fetch(Context& ctx);

 private:
  Field<double> partial_;
  bool submitted_ = false, with_x_ = false;
};

/// x_ij <- x_ij - (sum of all) / their number, `nodes` where other subdomains of the grid have some. Nothing waits for the
/// stream; the scratch, of a shape as large as x's or larger, is kept by whoever records this.
template <class T>
void subtract_mean(Context& ctx, FieldView<T> x, FieldView<double> scratch, std::int64_t nodes);
template <class T>
void subtract_mean(Context& ctx, FieldView<T> x, FieldView<double> scratch) {
  subtract_mean(ctx, x, scratch, x.nodes());
}
/// The same of a mean by weights, which sum to one: x_ij <- x_ij - sum of w x.
template <class T>
void subtract_mean(Context& ctx, FieldView<const T> weights, FieldView<T> x, FieldView<double> scratch);
[[nodiscard]] Field<double> mean_scratch(Context& ctx, const GridLayout<2>& shape);

/// The sum of the first `count` numbers of the Context's scratch for reductions, where kernels have left partial sums.
/// `meanwhile`, which a CPU does not call, submits what may follow before the host waits for the sum: nothing that takes the
/// scratch or Context::expected_number.
[[nodiscard]] double sum_of_scratch(Context& ctx, int count, const std::function<void()>& meanwhile = {});

/// The halo holds zeros: true of every Field, a duty of memory that one borrows. Waits for the stream.
template <class T>
[[nodiscard]] bool halo_is_zero(Context& ctx, const Field<T>& field);

/// Copies to and from the host, waiting for the stream; on the CPU a plain copy. `host` has nx numbers a row.
template <class T>
void copy_to_host(Context& ctx, FieldView<const T> x, T* host);
/// Rows of all subdomains of a grid, in the order of ranks, on the host of each; a subdomain may have none.
[[nodiscard]] std::vector<double> all_rows(Context& ctx, FieldView<const double> x);
template <class T>
void copy_from_host(Context& ctx, const T* host, FieldView<T> x);
/// A flat vector of these.
template <class T>
[[nodiscard]] Field<T> vector_from_host(Context& ctx, const std::vector<T>& numbers) {
  Field<T> copy(ctx, static_cast<int>(numbers.size()));
  copy_from_host(ctx, numbers.data(), copy.view());
  return copy;
}

}  // namespace stratum
