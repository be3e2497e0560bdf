#pragma once

// Rounding: whether a residual is as small as the precision lets it be. Forming b - A x rounds terms of the size of |A| |x| and
// |b|, and x itself has the digits of its precision and no more, so that
//
//     || b - A x ||  cannot be expected below about  2 eps || |A| |x| + |b| || .
//
// Smooth solutions get to a tenth of that, and what an iteration leaves can be some times more: where it has visibly stopped, a
// `slack` is allowed. The rounding of an x that blew up is large, too, and no excuse: beyond ||b|| the residual counts as
// rounding only where x has the size it should have along itself, |(x, r)| <= |(x, b)|. (Of the multiples of x the best is then
// half of x, or more: where A is symmetric positive definite, x is nearer to the solution than zero is.)
// Source: N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, Section 12.1.
//
// That says nothing of x: in rows that are large, as those of thin cells, rounding hides what the others still have. So an
// iteration ends at rounding where the estimated error (solvers/error_estimate.hpp) is small as well, or has stopped falling,
// and as long as that falls it does not stagnate, whatever the norm does. Methods without an estimate go by the norm.
//
// Asking waits for the stream. The size is kept until a residual comes near it.

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
  /// Every row of b - A x is what rounding leaves of it: nothing is to be gained.
  [[nodiscard]] bool has_every_row() const {
    return worst_row() <= 64 * static_cast<double>(std::numeric_limits<T>::epsilon());
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
