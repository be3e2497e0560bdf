#pragma once

// Round-off limit: whether a residual is as small as the precision allows. Forming b - A x rounds terms of the size of |A| |x|
// and |b|, and x itself has only the digits of its precision. Hence
//
//     || b - A x ||  is not expected below about  2 eps || |A| |x| + |b| || .
//
// Smooth solutions reach a tenth of that. An iteration that has visibly stopped may be a few times above it; `slack` allows for
// that. An x that blew up has a large round-off limit, too, which must not excuse it: if the residual is larger than ||b||, it
// counts as round-off only if |(x, r)| <= |(x, b)|. (The best multiple of x is then x / 2 or more; if A is symmetric positive
// definite, x is closer to the solution than zero is.)
// Source: N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, Section 12.1.
//
// The limit alone says nothing about x: in rows that are large, such as those of thin cells, rounding hides what the other rows
// still have. Hence an iteration ends at the round-off limit only if the estimated error (solvers/error_estimate.hpp) is small,
// too, or has stopped falling. As long as the estimate falls, the iteration does not count as stagnated, whatever the norm
// does. Methods without an estimate use the norm alone.
//
// A test waits for the stream. The size || |A| |x| + |b| || is computed when a residual first comes near the limit, and kept.

#include <algorithm>
#include <cmath>
#include <limits>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/linear_operator.hpp>

namespace stratum {

template <class T>
class Rounding {
 public:
  /// Of an iteration for A x = b; keeps references to all.
  Rounding(Context& ctx, const LinearOperator<T>& a, FieldView<const T> b, FieldView<const T> x, double rhs_norm)
      : ctx_(ctx), a_(a), b_(b), x_(x), rhs_norm_(rhs_norm) {}

  /// Whether r = b - A x with this norm is at rounding; `scaled` is a multiple of r, in any precision. False where A does not
  /// know the size of its terms.
  template <class R>
  [[nodiscard]] bool reached(double residual, FieldView<const R> scaled, double slack = 1) {
    constexpr double near = 4;  // x may have grown since
    if (level_ == 0 || residual <= near * slack * level_) take_level();
    return std::isfinite(level_) && residual <= slack * level_ &&
           (residual <= rhs_norm_ || has_its_size(residual, scaled));
  }
  /// The same of the x that an iteration starts from.
  template <class R>
  [[nodiscard]] bool reached_at_start(double residual, FieldView<const R> scaled) {
    if (reached(residual, scaled)) return true;
    level_ = 0;  // of a start from zero it is nothing of the solution's
    return false;
  }
  /// 2 eps || |A| |x| + |b| || of the x of this call or an earlier one; infinite or NaN where it is not known.
  [[nodiscard]] double level() {
    if (level_ == 0) take_level();
    return level_;
  }
  /// max_i |b - A x|_i / (|A| max |x| + |b|)_i: of rows where x is large and where it is not alike.
  [[nodiscard]] double worst_row() const { return a_.backward_error(ctx_, b_, x_, norm_max(ctx_, x_)); }
  /// The slack for a residual that no longer falls.
  static constexpr double stopped = 16;

  /// |(x, r)| <= |(x, b)|
  template <class R>
  [[nodiscard]] bool has_its_size(double residual, FieldView<const R> scaled) const {
    const double norm = norm2(ctx_, scaled);
    return norm == 0 || residual * std::abs(dot(ctx_, x_, scaled) / norm) <= std::abs(dot(ctx_, x_, b_));
  }

 private:
  void take_level() {
    level_ = 2 * static_cast<double>(std::numeric_limits<T>::epsilon()) * a_.magnitude(ctx_, b_, x_);
  }

  Context& ctx_;
  const LinearOperator<T>& a_;
  FieldView<const T> b_, x_;
  double rhs_norm_;
  double level_ = 0;
};

}  // namespace stratum
