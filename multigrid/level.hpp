#pragma once

// Level: the operations of a cycle on one level (multigrid/multigrid.cpp),
//
//     solve     x = A^-1 b                                        on the level where the cycle ends
//     descend   pre-smooths x and computes the coarser level's b = P^T (b - A x)
//     below     runs the cycle on the coarser level
//     ascend    x <- x + P e, e the coarser level's x, and post-smooths x
//
// A distributed level may smooth redundant rows of its neighbours (multigrid/overlap.hpp). Below the coarsest distributed level
// the levels are replicated: all ranks gather b, do the same work, and take their own rows of e; on a GPU this work is
// recorded. Nothing is allocated after `set_up`, and nothing waits for the stream unless times are measured. `descend` with a
// zero guess takes x as zero, whatever it holds.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/core/clock.hpp>
#include <stratum/core/device/recording.hpp>
#include <stratum/multigrid/hierarchy.hpp>
#include <stratum/multigrid/krylov_correction.hpp>
#include <stratum/multigrid/overlap.hpp>
#include <stratum/multigrid/smoother_choice.hpp>

namespace stratum {

/// Adds the time until it goes out of scope, the Context's work included; to nothing where `seconds` is null.
class Stopwatch {
 public:
  Stopwatch(const Context& ctx, double* seconds) : ctx_(ctx), seconds_(seconds) {
    if (seconds_ == nullptr) return;
    ctx_.synchronise();
    begin_ = Clock::now();
  }
  ~Stopwatch() {
    if (seconds_ == nullptr) return;
    ctx_.synchronise();
    *seconds_ += seconds_since(begin_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const Context& ctx_;
  double* seconds_;
  Clock::time_point begin_;
};

template <class T>
class Level {
 public:
  /// Level `index` of the hierarchy, which outlives it, smoothed as `choice` says. `overlap`: rows by rank, where it is
  /// smoothed so; `keeps_b_and_x`: it is below another one.
  void make(Context& ctx, const Hierarchy<T>& hierarchy, int index, const SmootherRegistry& registry,
            const std::optional<std::vector<OverlapRows>>& overlap, bool keeps_b_and_x);
  /// Once all levels are made, and after one has been made anew.
  void connect(Level* coarser, SweepOrder after, bool measures);
  /// For the numbers that the operator has now.
  void set_up(Context& ctx);

  void descend(Context& ctx, FieldView<const T> b, FieldView<T> x, Guess guess);
  /// Calls correct(the Context that the coarser level works on). `records`: it may be recorded.
  void below(Context& ctx, const std::function<void(Context&)>& correct, bool records);
  /// `of_correction`: whether the ghosts of e may be current.
  void ascend(Context& ctx, FieldView<const T> b, FieldView<T> x, bool of_correction);

  /// b and x of the level's operator.
  [[nodiscard]] FieldView<T> own_b() { return own(b); }
  [[nodiscard]] FieldView<T> own_x() { return own(x); }
  [[nodiscard]] double* stopwatch() { return measures_ ? &seconds : nullptr; }

  SmootherChoice choice;
  std::function<void(Context&, FieldView<const T>, FieldView<T>)> solve;  // where the cycle ends, else empty
  std::unique_ptr<Smoother<T>> smoother;
  std::optional<Overlap<T>> overlap;  // of one that is cut, where it is smoothed so
  Field<T> b, x;                      // on levels below the finest, and where there are rows beside
  Field<T> gathered;                  // of the finest replicated level: a subdomain's rows of b
  KrylovCorrection<T> krylov;         // below the two finest levels of a K-cycle
  Recording recording;  // of a cycle from zero that starts here, or of all below the lowest distributed level
  double seconds = 0;

 private:
  /// What is smoothed: b and x as they are, or among the rows beside.
  struct Smoothed {
    const GridOperator<T>& a;
    FieldView<const T> b;
    FieldView<T> x;
  };
  [[nodiscard]] Smoothed smoothed(FieldView<const T> given_b, FieldView<T> given_x);
  [[nodiscard]] FieldView<T> own(Field<T>& v) const { return overlap ? overlap->own(v.view()) : v.view(); }
  /// Puts rows of `from` among those beside, which come from other subdomains.
  void bring(Context& ctx, FieldView<const T> from, Field<T>& to);
  [[nodiscard]] Ghosts ghosts_after(SweepOrder order) const;
  [[nodiscard]] const GridOperator<T>& level_operator() const { return hierarchy_->level_operator(index_); }

  const Hierarchy<T>* hierarchy_ = nullptr;
  int index_ = 0;
  bool distributed_ = false, above_replicated_ = false, measures_ = false;
  Level* coarser_ = nullptr;
  SweepOrder after_ = SweepOrder::forward;
  Ghosts of_x_ = Ghosts::stale, of_correction_ = Ghosts::stale;  // after a sweep; of the coarser level's x
  SomeRows rows_read_ = SomeRows::all;                           // of P e, by the sweeps that follow
};

}  // namespace stratum
