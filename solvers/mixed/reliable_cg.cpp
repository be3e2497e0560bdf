#include <stratum/solvers/mixed/reliable_cg.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/solvers/krylov/conjugate_step.hpp>
#include <stratum/solvers/krylov/krylov.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>

namespace stratum {

namespace {

// A true residual oscillates more than the recursive one.
constexpr int patience = 20;

}  // namespace

ReliableCg::ReliableCg(Context& ctx, const GridLayout<2>& shape, const ReliableCgParams& params)
    : params_(params), shape_(shape), residual_(ctx, shape), r_(ctx, shape), d_(ctx, shape), ad_(ctx, shape) {
  (void)ResidualReplacement({.delta = params.delta}, 0);
  if (!params_.solution_in_double) y_ = Field<float>(ctx, shape);
  expects(!params_.ahead.value_or(false) || !params_.solution_in_double,
          "the host goes ahead of iterations whose solution is in float");
  if (params_.ahead.value_or(QueuedSteps<float>::pays(ctx)) && !params_.solution_in_double) queue_.emplace(ctx, shape);
  if (!params_.reset_solution && !params_.solution_in_double) start_ = Field<double>(ctx, shape);
}

void ReliableCg::add_to(Context& ctx, FieldView<double> x, double scale) {
  if (y_.empty()) return;
  if (!start_.empty()) copy(ctx, start_.cview(), x);
  axpy<float, double>(ctx, 1 / scale, y_.cview(), x);
  if (start_.empty()) set(ctx, 0, y_.view());
}

SolveReport ReliableCg::solve(Context& ctx, const LinearOperator<double>& a, const LinearOperator<float>& inner,
                              FieldView<const double> b, FieldView<double> x, const StoppingParams& stop,
                              const Monitor& monitor) {
  const auto entered = guard_->enter("ReliableCg");
  expects(a.shape() == shape_ && inner.shape() == shape_,
          "the operators must have the shape that the solver was made for");
  expects_fit(ctx, "b", b, shape_);
  expects_fit(ctx, "x", x, shape_);
  const auto r = r_.view(), d = d_.view(), ad = ad_.view();
  KrylovIteration<double> iteration(ctx, a, nullptr, b, x, residual_.view(), stop, monitor);
  const double scale = power_of_two_below_reciprocal(iteration.residual());
  copy_scaled(ctx, scale, residual_.cview(), r);
  copy(ctx, r_.cview(), d);
  if (!y_.empty()) set(ctx, 0, y_.view());
  if (!start_.empty()) copy(ctx, FieldView<const double>(x), start_.view());
  updates_ = 0;
  ResidualReplacement updates({.delta = params_.delta, .patience = patience}, iteration.residual());
  // Iterations that an update may take, in terms of the longest of those before: at the end of an iteration they take less than
  // at its beginning.
  constexpr int some = 1000, times_longer = 3;
  int since_update = 0, longest = 0;
  double rr = dot<float>(ctx, r, r);
  // Where the host goes ahead, iterations that are on their way belong to the solve; an update waits for them.
  bool update_wanted = false;
  int begun = 0;
  const auto go_on = [&](double square, double beta) {
    if (queue_)
      queue_->start(ctx, square, beta);
    else
      xpay<float>(ctx, r, beta, d);
  };
  const auto next_step = [&]() -> ConjugateStep {
    if (queue_) {
      for (; !update_wanted && queue_->in_flight() < QueuedSteps<float>::most_in_flight && begun < stop.max_iterations;
           ++begun)
        queue_->submit(ctx, inner, d, ad, y_.view(), r);
      return queue_->await(ctx);
    }
    inner.apply(ctx, d, ad);
    return y_.empty() ? conjugate_step<float, double>(ctx, rr, d, ad, 1 / scale, x, r)
                      : conjugate_step<float, float>(ctx, rr, d, ad, 1, y_.view(), r);
  };
  if (queue_) {
    queue_->reset(ctx);
    queue_->start(ctx, rr, 0);
  }
  while (!iteration.done()) {
    const double before = rr;
    const auto step = next_step();
    if (!(step.curvature > 0)) {
      iteration.break_down(message("the operator is not positive definite: (d, A d) = ", step.curvature));
      break;
    }
    rr = step.square;
    const double norm = std::sqrt(rr) / scale;
    const bool claimed = norm <= iteration.target();
    ++since_update;
    if (updates_ > 0 && since_update > some + times_longer * longest) {
      iteration.stagnate(message("no reduction of the residual by ", params_.delta, " in the last ", since_update,
                                 " iterations; before, none took more than ", longest));
      break;
    }
    update_wanted = updates.due(norm) || claimed || update_wanted;
    if (!update_wanted || (queue_ && queue_->in_flight() > 0)) {
      // Only a true residual may end the iteration.
      iteration.record(claimed ? std::nextafter(iteration.target(), HUGE_VAL) : norm);
      if (!queue_) xpay<float>(ctx, r, rr / before, d);
      continue;
    }
    update_wanted = false;
    add_to(ctx, x, scale);
    iteration.advance_truly();
    ++updates_;
    longest = std::max(longest, std::exchange(since_update, 0));
    if (iteration.done()) break;
    const double truth = iteration.residual();
    updates.replaced(truth);
    if (!params_.replace_residual) {
      if (claimed) {
        iteration.break_down(message("the recursive residual fell to ", norm, ", and the true one is ", truth,
                                     ": it has not been replaced"));
        break;
      }
      updates.kept(norm);
      go_on(rr, rr / before);
      continue;
    }
    if (!updates.follows()) {
      iteration.stagnate(updates.reason());
      break;
    }
    const auto kind = params_.carry_direction ? std::optional(params_.beta) : std::nullopt;
    const auto replaced = replace_residual(ctx, scale, residual_.cview(), r, d, kind, before, rr);
    rr = replaced.square;
    go_on(rr, replaced.beta);
  }
  if (queue_) queue_->reset(ctx);
  add_to(ctx, x, scale);
  return iteration.finish();
}

}  // namespace stratum
