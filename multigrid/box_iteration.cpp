#include <stratum/multigrid/box_iteration.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

namespace stratum {

BoxIteration::BoxIteration(Context& ctx, const BoxMatrix<double>& matrix, const std::array<GatedAxis, 3>& gate,
                           const BoxMultigridParams& params, bool in_float)
    : a(matrix), b(ctx, rows_of(a.shape())), x(ctx, rows_of(a.shape())), op_(ctx, a) {
  const auto take = [&](auto cycle, auto& to) {
    levels_ = cycle->gate();
    distributed_ = cycle->distributed_levels();
    to.emplace(ctx, std::move(cycle), b.shape());
  };
  if (in_float) {
    try {
      take(std::make_shared<BoxMultigrid<float>>(ctx, a, gate, params), in_float_);
      make_in_double_ = [matrix, gate, params](Context& there) {
        return std::make_shared<BoxMultigrid<double>>(there, matrix, gate, params);
      };
      return;
    } catch (const BreakdownError&) {
      // The matrix of the coarsest level, by weights in float: those in double may do.
    }
  }
  take(std::make_unique<BoxMultigrid<double>>(ctx, a, gate, params), in_double_);
}

BoxIteration::BoxIteration(Context& ctx, const BoxMatrix<double>& matrix, Shared<Preconditioner<double>> m,
                           MakeCycle in_double)
    : a(matrix), b(ctx, rows_of(a.shape())), x(ctx, rows_of(a.shape())), op_(ctx, a),
      make_in_double_(std::move(in_double)) {
  in_double_.emplace(ctx, std::move(m), b.shape());
}

void BoxIteration::set_reaction(Context& ctx, double c) {
  a = a.with_reaction(c);
  op_ = BoxLinearOperator<double>(ctx, a);
  constant_.forget();
  if (in_float_) in_float_->op = BoxLinearOperator<float>(ctx, in_float_->m->matrix().with_reaction(c));
}

std::vector<GatedLevel> BoxIteration::levels() const { return levels_; }

BoxIteration::InDouble& BoxIteration::in_double(Context& ctx) {
  if (!in_double_) in_double_.emplace(ctx, PrecisionCast<double, float>(ctx, b.shape(), in_float_->m), b.shape());
  return *in_double_;
}

void BoxIteration::precondition(Context& ctx) { in_double(ctx).m->apply(ctx, b.cview(), x.view()); }

SolveReport BoxIteration::solve(Context& ctx, const StoppingParams& stop, const Monitor& monitor) {
  set(ctx, 0, x.view());
  // What conjugate gradients take for granted of a cycle one in float may not have: it is not waited for long.
  constexpr int patience = 30;
  StoppingParams of_float = stop;
  if (make_in_double_ && !of_float.patience) of_float.patience = patience;
  const auto may_go_on = [&](const SolveReport& report) {
    return report.iterations < stop.max_iterations &&
           (report.status == Status::stagnated || report.status == Status::breakdown ||
            report.status == Status::diverged);
  };
  SolveReport report;
  if (in_float_ && !solver_) {
    report = in_float_->cg.solve(ctx, op_, in_float_->op, *in_float_->m, b.cview(), x.view(), of_float, monitor);
    constexpr double most = 1e-6;
    const bool may_be_better = report.status == Status::round_off_limit && report.iterations < stop.max_iterations &&
                               report.estimated_error.value_or(0) > std::max(stop.error_limit(), most);
    if (!may_go_on(report) && !may_be_better) return report;
    report = go_on(ctx, "conjugate gradients in float", report, of_float, monitor);
  } else {
    InDouble& by = in_double(ctx);
    report = solver_ ? solver_->solve(ctx, op_, *by.m, b.cview(), x.view(), stop, monitor)
                     : by.cg.solve(ctx, op_, *by.m, b.cview(), x.view(), of_float, monitor);
  }
  if (!make_in_double_ || !may_go_on(report)) return report;
  // From zero: what is not positive definite leaves errors in x that its residual hardly shows.
  set(ctx, 0, x.view());
  in_double_.reset();  // makes room
  in_float_.reset();
  in_double_.emplace(ctx, std::exchange(make_in_double_, {})(ctx), b.shape());
  return go_on(ctx, "conjugate gradients around a cycle in float", report, stop, monitor);
}

SolveReport BoxIteration::go_on(Context& ctx, const char* in_float, const SolveReport& before,
                                const StoppingParams& stop, const Monitor& monitor) {
  InDouble& by = in_double(ctx);
  if (before.status == Status::diverged || !std::isfinite(before.residual)) set(ctx, 0, x.view());
  const Monitor on = [&](int k, double r) {
    if (k > 0 && monitor) monitor(before.iterations + k, r);
  };
  SolveReport report = by.cg.solve(ctx, op_, *by.m, b.cview(), x.view(), rest_of(stop, before), on);
  report.reason = message("in double, since ", in_float, " ended as ", to_string(before.status), " (", before.reason,
                          "): ", report.reason);
  put_before(before, report);
  return report;
}

}  // namespace stratum
