#include <stratum/multigrid/box_iteration.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

namespace stratum {

BoxIteration::BoxIteration(Context& ctx, const BoxMatrix<double>& matrix, const std::array<GatedAxis, 3>& gate,
                           const BoxMultigridParams& params, bool in_float)
    : a(matrix), b(ctx, rows_of(a.shape())), x(ctx, rows_of(a.shape())), op_(ctx, a) {
  if (in_float) {
    auto cycle = std::make_shared<BoxMultigrid<float>>(ctx, a, gate, params);
    levels_ = cycle->gate();
    distributed_ = cycle->distributed_levels();
    in_float_.emplace(ctx, std::move(cycle), b.shape());
  } else {
    auto cycle = std::make_unique<BoxMultigrid<double>>(ctx, a, gate, params);
    levels_ = cycle->gate();
    distributed_ = cycle->distributed_levels();
    in_double_.emplace(ctx, std::move(cycle), b.shape());
  }
}

BoxIteration::BoxIteration(Context& ctx, const BoxMatrix<double>& matrix, Shared<Preconditioner<double>> m)
    : a(matrix), b(ctx, rows_of(a.shape())), x(ctx, rows_of(a.shape())), op_(ctx, a) {
  in_double_.emplace(ctx, std::move(m), b.shape());
}

void BoxIteration::set_reaction(Context& ctx, double c) {
  a = a.with_reaction(c);
  op_ = BoxLinearOperator<double>(ctx, a);
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
  if (solver_) return solver_->solve(ctx, op_, *in_double(ctx).m, b.cview(), x.view(), stop, monitor);
  if (!in_float_) return in_double_->cg.solve(ctx, op_, *in_double_->m, b.cview(), x.view(), stop, monitor);
  // What conjugate gradients take for granted of a cycle one in float may not have: it is not waited for long.
  constexpr int patience = 30;
  StoppingParams of_float = stop;
  if (!of_float.patience) of_float.patience = patience;
  SolveReport report =
      in_float_->cg.solve(ctx, op_, in_float_->op, *in_float_->m, b.cview(), x.view(), of_float, monitor);
  constexpr double most = 1e-6;
  const bool may_be_better = report.estimated_error.value_or(0) > std::max(stop.error_limit(), most);
  const bool failed = report.status == Status::stagnated || report.status == Status::breakdown ||
                      report.status == Status::diverged || (report.status == Status::round_off_limit && may_be_better);
  return failed && report.iterations < stop.max_iterations ? go_on(ctx, report, stop, monitor) : report;
}

SolveReport BoxIteration::go_on(Context& ctx, const SolveReport& before, const StoppingParams& stop,
                                const Monitor& monitor) {
  InDouble& by = in_double(ctx);
  if (before.status == Status::diverged || !std::isfinite(before.residual)) set(ctx, 0, x.view());
  const Monitor on = [&](int k, double r) {
    if (k > 0 && monitor) monitor(before.iterations + k, r);
  };
  SolveReport report = by.cg.solve(ctx, op_, *by.m, b.cview(), x.view(), rest_of(stop, before), on);
  report.reason = message("in double, since conjugate gradients in float ended as ", to_string(before.status), " (",
                          before.reason, "): ", report.reason);
  put_before(before, report);
  return report;
}

}  // namespace stratum
