#pragma once

// Common parts of the methods of this folder: how an iteration begins, is tested and ends (KrylovIteration), and the
// orthogonalisation against a basis (Basis). You need it to write a method, not to use one.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/error_estimate.hpp>
#include <stratum/solvers/extremes_of_unknowns.hpp>
#include <stratum/solvers/rounding.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum {

/// Throws UsageError unless m is constant and symmetric, or absent.
template <class T>
void expects_constant_symmetric(std::string_view method, const Preconditioner<T>* m) {
  expects(m == nullptr || (m->is_constant() && m->is_symmetric()), method,
          " need a constant symmetric preconditioner, and this one is not ",
          m != nullptr && m->is_constant() ? "symmetric" : "constant",
          ": use a symmetric cycle with a fixed number of inner cycles, or a method that takes any preconditioner (fcg "
          "for a symmetric one that varies, gcr, gmres, bicgstab, richardson)");
}

/// One solve: the residual r, its tests and its report. r belongs to the solver, and so does `free`, a vector that holds
/// nothing between iterations: the error is estimated in it (solvers/error_estimate.hpp) where M says that it can.
template <class T>
class KrylovIteration {
 public:
  /// Where the method does more to M^-1 r than M, or keeps x in parts.
  struct Corrections {
    std::function<void()> complete;  // turns M^-1 r in `free` into the correction
    /// What stands for `free` after that, or for x, where it is not all of the correction, or of the solution.
    std::function<FieldView<const T>(FieldView<const T> part)> whole_correction, whole_solution;
  };
  /// r = b - A x and the first test.
  KrylovIteration(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b, FieldView<T> x,
                  FieldView<T> r, FieldView<T> free, const StoppingParams& stop, const Monitor& monitor,
                  IterationKind kind = IterationKind::krylov, Corrections corrections = {})
      : ctx_(ctx), a_(a), m_(m), b_(b), x_(x), r_(r), free_(free), rhs_norm_(norm2(ctx, b)), residual_(true_residual()),
        best_verified_(residual_), kind_(kind), max_iterations_(stop.max_iterations),
        test_(stop, rhs_norm_, residual_, monitor, kind), rounding_(ctx, a, b, x, rhs_norm_),
        estimates_(free.data != nullptr && m != nullptr && m->estimates_error()), corrections_(std::move(corrections)) {
    if (estimates_) test_.set_error([this] { return error(); });
    test_.set_worst_row([this] { return rounding_.worst_row(); });
    done_ = test_.done(0, residual_);
    // Of a tolerance relative to rounding noise nothing would be left to reduce.
    if (!done_ && stop.reference_norm == ReferenceNorm::initial &&
        rounding_.template reached_at_start<T>(residual_, r_))
      end_where([] { return true; });
  }

  /// Without an estimate of the error.
  KrylovIteration(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b, FieldView<T> x,
                  FieldView<T> r, const StoppingParams& stop, const Monitor& monitor,
                  IterationKind kind = IterationKind::krylov)
      : KrylovIteration(ctx, a, m, b, x, r, FieldView<T>(), stop, monitor, kind) {}

  KrylovIteration(const KrylovIteration&) = delete;
  KrylovIteration& operator=(const KrylovIteration&) = delete;

  [[nodiscard]] bool done() const { return done_; }
  /// Of the latest iterate: recursive or true.
  [[nodiscard]] double residual() const { return residual_; }
  [[nodiscard]] double target() const { return test_.target(); }
  /// The next iteration is the last that the limit allows.
  [[nodiscard]] bool at_limit() const { return iteration_ + 1 >= max_iterations_; }

  /// M^-1 v in z; v itself without a preconditioner.
  [[nodiscard]] FieldView<const T> precondition(FieldView<const T> v, FieldView<T> z) {
    if (m_ == nullptr) return v;
    if (!is_there(v, z)) m_->apply(ctx_, v, z);
    preconditioned(v, z);
    return z;
  }
  /// The same; (v, M^-1 v).
  [[nodiscard]] double precondition_dot(FieldView<const T> v, FieldView<T> z) {
    if (m_ == nullptr) return dot<T>(ctx_, v, v);
    const double product = is_there(v, z) ? dot<T>(ctx_, v, z) : m_->apply_dot(ctx_, v, z);
    preconditioned(v, z);
    return product;
  }
  /// Another vector that holds nothing until M is next applied to r.
  void set_free(FieldView<T> free) { free_ = free; }
  /// max |z| is the estimate of the error before this iteration.
  void measure(FieldView<const T> z) {
    const bool may_end_next = kind_ == IterationKind::stationary && test_.is_near(residual_ * test_.rate());
    if (estimates_ && (may_end_next || test_.is_near(residual_)) && !estimate_.has(iteration_)) add_to_estimate(z);
  }

  /// An iteration has ended with x up to date and a recursive residual of this norm in r. True when r has been replaced
  /// by the true residual, from which to start again.
  bool advance(double norm) {
    const double unbelievable = std::numeric_limits<T>::epsilon() * rhs_norm_;
    if (norm <= std::max(target(), unbelievable) || has_parted(norm)) {
      advance_truly(true);
      // Where the error alone is to fall on, so does the recursion.
      return residual_ > std::min(target(), apart * norm);
    }
    if (may_end_at_rounding(norm))
      advance_truly();
    else
      record(norm);
    return false;
  }
  /// The same when r is to be computed from x. `claimed`: the recursion says that the target is reached.
  void advance_truly(bool claimed = false) {
    const double norm = true_residual();
    record(norm);
    verified_ = true;
    const bool no_gain = norm > 0.5 * best_verified_, stopped = claimed && no_gain;
    const bool slow = kind_ == IterationKind::stationary ? test_.slow() : no_gain;
    bool falls = false;
    if (!done_ && (claimed || slow || test_.rounding_will_do(iteration_, norm))) falls = check_rounding();
    if (!done_ && stopped) falls = check_rounding(Rounding<T>::stopped);
    if (!done_ && stopped && !falls && !(norm <= target() && !estimate_.stopped(iteration_)))
      give_up(message("the true residual no longer follows the recursive one and stays at ", norm,
                      norm <= target() ? "" : message(", above the tolerance ", target())));
    if (claimed && !done_ && norm > target()) keep_best(norm);
    best_verified_ = std::min(best_verified_, norm);
  }
  /// The same with a norm to be taken as it is, above the target; x may be behind.
  void record(double norm) {
    residual_ = norm;
    verified_ = false;
    done_ = test_.done(++iteration_, norm);
  }

  /// The recursion cannot go on from here: true to start again from the true residual, now in r. Where nothing has happened
  /// since the last start, or starting again has gained nothing before, the iteration ends as a breakdown.
  bool recover(const std::string& why) {
    if (!verified_) residual_ = true_residual();
    if (iteration_ > iteration_at_restart_ && residual_ < 0.99 * residual_at_restart_) {
      iteration_at_restart_ = iteration_;
      residual_at_restart_ = residual_;
      return true;
    }
    break_down(why);
    return false;
  }
  /// The residual is so small that rounding may be all there is to it.
  [[nodiscard]] bool may_be_rounding() {
    constexpr double late = 1e-6;
    return !done_ && residual_ <= late * rhs_norm_ && residual_ <= rounding_.level();
  }
  /// As whoever iterates has detected.
  void end_at_rounding() {
    test_.end_at_rounding();
    done_ = true;
  }
  void break_down(const std::string& why) {
    if (!verified_) test_.report().residual = residual_ = true_residual();
    give_up(message(why, " in iteration ", iteration_ + 1));
  }
  void stagnate(std::string why) { end(Status::stagnated, std::move(why)); }

  /// The report, with the true residual of x. `as_recorded` keeps the recursive one.
  [[nodiscard]] SolveReport finish(bool as_recorded = false) {
    SolveReport& report = test_.report();
    report.inner_iterations = inner_;
    if (!verified_ && !as_recorded) report.residual = true_residual();
    if (verified_ && report.status == Status::stagnated) check_rounding(Rounding<T>::stopped);
    if (verified_ && report.status == Status::max_iterations) check_rounding();
    if (is_worse(report.residual) && report.status != Status::converged) {
      copy<T, T>(ctx_, best_x_.cview(), x_);
      report.residual = true_residual();
      if (report.status == Status::stagnated || report.status == Status::breakdown)
        check_rounding(Rounding<T>::stopped);
    }
    if (!report.estimated_error && estimates_ && iteration_ > 1 && report.residual > 0)
      if (const auto known = known_error()) report.estimated_error = relative_error(*known, extremes_of_x());
    return std::move(report);
  }

 private:
  static constexpr double apart = 1.5;  // of true and recursive residuals

  [[nodiscard]] bool may_end_at_rounding(double norm) {
    return test_.rounding_will_do(iteration_ + 1, norm) && norm <= rounding_.level();
  }
  /// Recursions go on falling where the true residual cannot follow. Near rounding that is looked at whenever this norm has
  /// fallen to a quarter; where it is not so, r is the true residual from now on. How large rounding is costs a pass over
  /// memory, once in a solve that takes some iterations.
  [[nodiscard]] bool has_parted(double norm) {
    constexpr int some = 7;
    constexpr double late = 1e-4, fall = 0.25;
    if (iteration_ < some || norm > late * rhs_norm_ || norm > fall * looked_at_ || !(norm <= rounding_.level()))
      return false;
    looked_at_ = norm;
    return true_residual() > apart * norm;
  }
  [[nodiscard]] double true_residual() {
    a_.residual(ctx_, b_, x_, r_);
    verified_ = true;
    return norm2<T>(ctx_, r_);
  }
  /// M^-1 v is in z since the error was last asked for.
  [[nodiscard]] bool is_there(FieldView<const T> v, FieldView<T> z) {
    return std::exchange(holds_correction_, false) && v.data == r_.data && z.data == free_.data;
  }
  void preconditioned(FieldView<const T> v, FieldView<const T> z) {
    inner_ += m_->iterations();
    if (v.data == r_.data && !corrections_.complete) measure(z);
  }
  void add_to_estimate(FieldView<const T> z) {
    estimate_.add(iteration_, norm_max<T>(ctx_, corrections_.whole_correction ? corrections_.whole_correction(z) : z));
  }
  [[nodiscard]] Extremes extremes_of_x() const {
    return extremes_of_unknowns<T>(ctx_, m_, corrections_.whole_solution ? corrections_.whole_solution(x_) : x_);
  }
  /// Where one stops for no reason but rounding the iteration may be as slow as a stationary one.
  [[nodiscard]] std::optional<double> known_error(bool stops = false) const {
    return estimate_.of(iteration_, stops || kind_ == IterationKind::stationary);
  }
  /// Estimated, relative to the size of x, whose residual is in r; nothing where it is not known. Takes a cycle where the
  /// corrections before do not tell that it is small, or where it is to be `fresh`: of x as it is, whatever corrections were.
  [[nodiscard]] std::optional<double> error(bool fresh = false) {
    if (!estimates_) return {};
    const Extremes of_x = extremes_of_x();
    const double doubt = kind_ == IterationKind::stationary ? estimate_.doubt(iteration_) : 1;
    if (const auto known = known_error(fresh); known && !fresh)
      if (const double relative = relative_error(*known, of_x); relative * doubt <= test_.error_limit())
        return relative;
    if (!estimate_.has(iteration_)) {
      m_->apply(ctx_, r_, free_);
      holds_correction_ = !corrections_.complete;
      if (corrections_.complete) corrections_.complete();
      add_to_estimate(free_);
    }
    return relative_error(*known_error(fresh), of_x);
  }
  /// Near rounding: true where the error still falls, else the iteration ends where it is reached.
  template <class Reached>
  bool end_where(const Reached& reached) {
    const auto left = error(true);
    if (left && !(*left <= test_.error_at_rounding()) && !estimate_.stopped(iteration_)) {
      test_.gained();
      return true;
    }
    if (!reached()) return false;
    test_.end_at_rounding(left);
    done_ = true;
    return false;
  }
  bool check_rounding(double slack = 1) {
    const double norm = test_.report().residual;
    const auto reached = [&](double times) { return rounding_.template reached<T>(norm, r_, times); };
    if (is_worse(norm) || !reached(estimates_ ? Rounding<T>::stopped : slack)) return false;
    return end_where([&] { return reached(slack); });
  }
  /// The iteration cannot go on, with its true residual in r. That is no breakdown where this is as small as was asked for, or
  /// as rounding lets it be: what is left of it has no direction.
  void give_up(const std::string& why) {
    const SolveReport& report = test_.report();
    if (!(residual_ <= target())) {
      (void)check_rounding(Rounding<T>::stopped);
      if (!done_) end(Status::breakdown, why);
      return;
    }
    constexpr double rounding_of_rows = 16 * static_cast<double>(std::numeric_limits<T>::epsilon());
    if (rounding_.worst_row() <= rounding_of_rows) {
      test_.end_at_rounding(report.estimated_error);
      done_ = true;
    } else {
      end(Status::stagnated, message("residual ", residual_, " <= ", target(), ", but the estimated error stays at ",
                                     report.estimated_error.value_or(0), " of the range of x, above the limit ",
                                     test_.error_limit(), ": ", why));
    }
  }
  /// x is kept where the recursion meets the target and the truth comes near it: what follows may be worse.
  void keep_best(double norm) {
    constexpr double near = 32;
    if (norm > near * target() || norm >= best_kept_) return;
    if (best_x_.empty()) best_x_ = Field<T>(ctx_, a_.shape());
    copy<T, T>(ctx_, FieldView<const T>(x_), best_x_.view());
    best_kept_ = norm;
  }
  [[nodiscard]] bool is_worse(double norm) const {
    return !best_x_.empty() && !(norm <= std::max(2 * best_kept_, target()));
  }
  void end(Status status, std::string reason) {
    test_.end(status, std::move(reason));
    done_ = true;
  }

  Context& ctx_;
  const LinearOperator<T>& a_;
  Preconditioner<T>* m_;
  FieldView<const T> b_;
  FieldView<T> x_;
  FieldView<T> r_, free_;
  double rhs_norm_;
  double residual_;
  double best_verified_;                                        // smallest true residual seen
  double looked_at_ = std::numeric_limits<double>::infinity();  // has_parted
  IterationKind kind_;
  int max_iterations_;
  StoppingTest test_;
  Rounding<T> rounding_;
  bool estimates_;
  Corrections corrections_;
  ErrorEstimate estimate_;
  bool holds_correction_ = false;
  Field<T> best_x_;
  double best_kept_ = std::numeric_limits<double>::infinity();
  int iteration_ = 0;
  int iteration_at_restart_ = 0;  // where the recursion last broke down
  double residual_at_restart_ = std::numeric_limits<double>::infinity();
  int inner_ = 0;
  bool done_ = false;
  bool verified_ = true;  // r is the true residual of x
};

/// Vectors to orthogonalise against, orthonormal among themselves.
template <class T>
class Basis {
 public:
  /// Throws UsageError for fewer than one.
  Basis(Context& ctx, const GridLayout<2>& shape, int count) {
    expects_restart(count);
    vectors_.reserve(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) vectors_.emplace_back(ctx, shape);
  }
  [[nodiscard]] FieldView<T> operator[](int k) { return vectors_[static_cast<std::size_t>(k)].view(); }
  [[nodiscard]] int capacity() const { return static_cast<int>(vectors_.size()); }
  /// The first `count` of them.
  [[nodiscard]] std::vector<FieldView<const T>> first(int count) const {
    std::vector<FieldView<const T>> views;
    views.reserve(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) views.push_back(vectors_[static_cast<std::size_t>(k)].cview());
    return views;
  }

  /// w <- w - sum h_k v_k over the first `count`, by classical Gram-Schmidt: all products for one wait, and once more where w
  /// lost more than half of its square ("twice is enough", Daniel, Gragg, Kaufman, Stewart 1976). Returns the norm of what is
  /// left, zero when that is rounding, and `h` with the factors of both passes. NaN stays.
  [[nodiscard]] double orthogonalise(Context& ctx, int count, FieldView<T> w, std::vector<double>& h) const {
    const auto basis = first(count);
    std::vector<DotPair<T>> pairs;
    pairs.reserve(basis.size() + 1);
    for (const auto& v : basis) pairs.push_back({w, v});
    pairs.push_back({w, w});
    h.assign(static_cast<std::size_t>(count), 0.0);
    double before = 0, left = 0;
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<double> products = dots<T>(ctx, pairs);
      const double square = products.back();
      products.pop_back();
      if (pass == 0) before = std::sqrt(square);
      if (count == 0) return before;
      left = square;
      for (std::size_t k = 0; k < products.size(); ++k) {
        h[k] += products[k];
        left -= products[k] * products[k];
        products[k] = -products[k];
      }
      axpys<T>(ctx, products, basis, w);
      // By Pythagoras, accurate as long as there is no cancellation.
      if (left > 0.5 * square) break;
      left = -1;
    }
    const double norm = left >= 0 ? std::sqrt(left) : norm2<T>(ctx, w);
    constexpr double rounding = 8 * static_cast<double>(std::numeric_limits<T>::epsilon());
    return norm <= rounding * before ? 0 : norm;
  }

 private:
  std::vector<Field<T>> vectors_;
};

}  // namespace stratum
