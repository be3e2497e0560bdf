#include <stratum/solvers/mixed/mixed_cg.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/error_estimate.hpp>
#include <stratum/solvers/krylov/conjugate_step.hpp>
#include <stratum/solvers/krylov/krylov.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>
#include <stratum/solvers/mixed/residual_replacement.hpp>
#include <stratum/solvers/rounding.hpp>

namespace stratum {

MixedCg::MixedCg(Context& ctx, const GridLayout<2>& shape, double delta)
    : delta_(delta), r_(ctx, shape), z_(ctx, shape), ap_(ctx, shape), y_(ctx, shape), p_(ctx, shape) {
  (void)ResidualReplacement({.delta = delta}, 0);
}

SolveReport MixedCg::solve(Context& ctx, const LinearOperator<double>& a, const LinearOperator<float>& inner,
                           Preconditioner<float>& m, FieldView<const double> b, FieldView<double> x,
                           const StoppingParams& stop, const Monitor& monitor) {
  expects_constant_symmetric("conjugate gradients", &m);
  const auto r = r_.view(), z = z_.view(), ap = ap_.view(), y = y_.view();
  const double rhs_norm = norm2(ctx, b);
  // With b = 0 the residual is A x.
  const double scale = power_of_two_below_reciprocal(rhs_norm > 0 ? rhs_norm : a.magnitude(ctx, b, x));
  const auto residual = [&] { return a.residual_in_float(ctx, scale, b, x, r) / scale; };
  const double initial = residual();
  StoppingTest test(stop, rhs_norm, initial, monitor, IterationKind::krylov);
  Rounding<double> rounding(ctx, a, b, x, rhs_norm);
  ErrorEstimate estimate;
  int iteration = 0;
  std::optional<double> product;  // (r, M^-1 r), of the next iteration where it is there
  const auto precondition = [&](bool measured) {
    product = m.apply_dot(ctx, r_.cview(), z);
    if (measured && m.estimates_error()) estimate.add(iteration, norm_max(ctx, z_.cview()) / scale);
  };
  // `fresh`: by the correction of x as it is, not by one before.
  const auto error_of_x = [&](bool fresh) -> std::optional<double> {
    if (!m.estimates_error()) return {};
    const Extremes of_x = extremes<double>(ctx, x);
    if (const auto known = estimate.of(iteration, false); known && !fresh)
      if (const double relative = relative_error(*known, of_x); relative <= test.error_limit()) return relative;
    if (!product) precondition(true);
    return relative_error(*estimate.of(iteration, fresh), of_x);
  };
  test.set_error([&] { return error_of_x(false); });
  test.set_worst_row([&] { return rounding.worst_row(); });
  bool done = test.done(0, initial);
  // Near rounding: true where the correction still falls, else the iteration ends where it is reached.
  const auto end_where = [&](const auto& reached) {
    const auto left = error_of_x(true);
    if (left && !(*left <= test.error_at_rounding()) && !estimate.stopped(iteration)) return true;
    if (!reached()) return false;
    test.end_at_rounding(left);
    done = true;
    return false;
  };
  const auto check_rounding = [&](double norm, double slack = 1) {
    return rounding.reached(norm, r_.cview(), Rounding<double>::stopped) &&
           end_where([&] { return rounding.reached(norm, r_.cview(), slack); });
  };
  // Of a tolerance relative to rounding noise nothing would be left to reduce.
  if (!done && stop.reference_norm == ReferenceNorm::initial && rounding.reached_at_start(initial, r_.cview()))
    (void)end_where([] { return true; });
  set(ctx, 0, y);
  updates_ = 0;
  ResidualReplacement updates(
      {.delta = delta_, .gain = 0.5, .patience = 3, .first_delta = std::max(first_delta, delta_)}, initial);
  int inner_iterations = 0;
  double rz = 0;
  const auto update = [&] {
    axpy<float, double>(ctx, 1 / scale, y_.cview(), x);
    set(ctx, 0, y);
    ++updates_;
    return residual();
  };
  while (!done) {
    if (!product) precondition(test.is_near(test.report().residual));
    ++iteration;
    inner_iterations += m.iterations();
    const double beta = iteration == 1 ? 0 : *product / rz;
    rz = *product;
    product.reset();
    std::string broken;
    double norm = 0;
    if (!(rz > 0)) {
      broken = message("the preconditioner is not positive definite: (r, M^-1 r) = ", rz);
    } else {
      const auto step = p_.step(ctx, inner, rz, z_.cview(), beta, ap, y, r);
      norm = std::sqrt(step.square) / scale;
      if (!(step.curvature > 0)) broken = message("the operator is not positive definite: (p, A p) = ", step.curvature);
    }
    const bool claimed = broken.empty() && norm <= test.target();
    if (broken.empty() && !claimed && !updates.due(norm) && iteration < stop.max_iterations) {
      done = test.done(iteration, norm);
      if (done) test.report().residual = update();
      continue;
    }
    const double recursive = norm;
    norm = update();
    done = test.done(iteration, norm);
    const bool gains = updates.gains(norm);
    bool falls = false;  // the error does, whatever the residual
    if (done ? test.status() == Status::max_iterations : !gains || test.rounding_will_do(iteration, norm))
      falls = check_rounding(norm);
    if (!done && claimed && !gains) falls = check_rounding(norm, Rounding<double>::stopped);
    falls = falls || (norm <= test.target() && !estimate.stopped(iteration));
    updates.replaced(norm, gains || falls);
    if (done) break;
    // What x has most of, as a constant between Robin boundaries with a small alpha, is lost in the operator in float: it would
    // creep.
    constexpr double far = 4;
    if (updates_ == 1 && stop.patience && norm > std::max(initial, far * recursive)) {
      test.end(Status::stagnated, message("the residual grew from ", initial, " to ", norm,
                                          ", where the recursion in float has ", recursive));
      break;
    }
    if (!broken.empty()) {
      test.end(Status::breakdown, message(broken, " in iteration ", iteration));
      break;
    }
    if (!updates.follows()) {
      test.end(Status::stagnated, updates.reason());
      break;
    }
  }
  SolveReport& report = test.report();
  report.inner_iterations = inner_iterations;
  return report;
}

}  // namespace stratum
