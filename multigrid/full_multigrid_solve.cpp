#include <stratum/multigrid/full_multigrid_solve.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
#include <stratum/solvers/rounding.hpp>

namespace stratum {

std::string blown_up_reason(double residual, double initial) {
  return message("the FMG cycle blew up: the residual is ", residual, ", that of x = 0 was ", initial);
}

bool is_rounding_of_float(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                          FieldView<const double> x, double residual) {
  constexpr double digits = std::numeric_limits<float>::epsilon() / std::numeric_limits<double>::epsilon();
  const double level = Rounding<double>::stopped * digits * Rounding<double>(ctx, a, b, x, 0).level();
  return std::isfinite(level) && residual <= level;
}

namespace {

/// A tensor operator with K = 1 whose rows are not so different that float would tell.
bool suits_float(const GridOperator<double>& a, const TensorMesh<2>& mesh, const PoissonSolverParams& params) {
  constexpr double thin = 1e-5;
  const auto is_even = [](const Axis& axis) {
    return *std::min_element(axis.widths().begin(), axis.widths().end()) >= thin * axis.length();
  };
  return a.format() == StorageFormat::tensor && !params.coefficients && is_even(mesh.x()) && is_even(mesh.y());
}

}  // namespace

template <class T>
FullMultigridSolve::FullMultigridSolve(Context& ctx, const GridOperator<double>& a, const Hierarchy<double>& hierarchy,
                                       const Multigrid<T>& multigrid, const PoissonSolverParams& params)
    : from_x_(params.full_multigrid_from_x), goes_on_(params.continue_after_full_multigrid),
      suits_float_(suits_float(a, hierarchy.meshes().back(), params)), singular_(hierarchy.is_singular()) {
  auto made = std::make_unique<FullMultigrid<T>>(ctx, hierarchy, multigrid);
  auto cycle = std::make_shared<Multigrid<T>>(multigrid);
  if constexpr (std::is_same_v<T, double>) {
    double_ = std::move(made);
    double_cycle_ = std::move(cycle);
  } else {
    float_ = std::move(made);
    float_cycle_ = std::move(cycle);
  }
  if (!from_x_) return;
  defect_ = Field<double>(ctx, a.shape());
  corrected_ = Field<double>(ctx, a.shape());
}

template FullMultigridSolve::FullMultigridSolve(Context&, const GridOperator<double>&, const Hierarchy<double>&,
                                                const Multigrid<float>&, const PoissonSolverParams&);
template FullMultigridSolve::FullMultigridSolve(Context&, const GridOperator<double>&, const Hierarchy<double>&,
                                                const Multigrid<double>&, const PoissonSolverParams&);

SolveReport FullMultigridSolve::solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                                      FieldView<double> x, ReferenceNorm reference_norm, const Monitor& monitor,
                                      const Factory& in_double) {
  if (float_ && in_double && !goes_on_) {
    if (!failure_) failure_ = float_fails(ctx, a, in_double);
    if (!failure_->empty()) {
      SolveReport report = instead_->solve(ctx, a, b, x, reference_norm, monitor);
      report.reason = message("double-precision fallback, since ", *failure_, ": ", report.reason);
      return report;
    }
  }
  SolveReport report;
  const auto norms = goes_on_ ? FullMultigridNorms::initial : FullMultigridNorms::all;
  const auto pass = [&](FieldView<const double> rhs, FieldView<double> solution) {
    return double_ ? double_->solve(ctx, rhs, solution, norms) : float_->solve(ctx, rhs, solution, norms);
  };
  FullMultigridPass norms_found;
  const FieldView<double> found = from_x_ ? corrected_.view() : x;  // a second pass needs the given x
  if (from_x_) {
    a.residual(ctx, b, x, defect_.view());
    norms_found = pass(defect_.cview(), found);
    axpy<double, double>(ctx, 1, x, found);
  } else {
    norms_found = pass(b, x);
  }
  const auto [rhs_norm, interpolated, corrected] = norms_found;
  report.reference_norm = reference_norm;
  report.initial_residual = rhs_norm;
  report.reference_norm_value = from_x_ && report.reference_norm == ReferenceNorm::rhs ? norm2(ctx, b) : rhs_norm;
  report.residual = std::isfinite(rhs_norm) ? corrected : rhs_norm;
  report.iterations = report.inner_iterations = 1;
  report.history = {rhs_norm};
  const bool is_judged = !goes_on_ || !std::isfinite(rhs_norm);
  if (is_judged) {
    report.history.push_back(report.residual);
    judge(ctx, a, b, found, interpolated, report);
    const bool diverged = report.status == Status::diverged;
    const bool failed = float_ && (diverged || report.status == Status::stagnated);
    const bool is_left_by_float = failed && is_rounding_of_float(ctx, a, b, found, corrected);
    if (in_double && failed && (is_left_by_float || !std::isfinite(corrected))) {
      SolveReport second = in_double()->solve(ctx, a, b, x, reference_norm, monitor);
      second.reason = message("double-precision fallback, since in float ", report.reason, ": ", second.reason);
      return second;
    }
    if (is_left_by_float && diverged) report.reason += ", which is what float leaves; use double precision";
    if (!compared_) report.reason += float_not_compared;
  }
  if (from_x_) copy(ctx, corrected_.cview(), x);
  for (std::size_t k = 0; monitor && k < report.history.size(); ++k) monitor(static_cast<int>(k), report.history[k]);
  return report;
}

void FullMultigridSolve::count_check(Context& ctx, const GridLayout<2>& shape) const {
  if (goes_on_ || suits_float_ || (double_cycle_ && singular_)) return;
  const Field<double> v(ctx, shape), r(ctx, shape), z(ctx, shape);
  if (float_cycle_) (void)PrecisionCast<double, float>(ctx, shape, float_cycle_);
}

void FullMultigridSolve::forget() {
  failure_.reset();
  left_.reset();
  instead_.reset();
  compared_ = true;
}

Field<double> FullMultigridSolve::cycle_of(Context& ctx, const GridOperator<double>& a,
                                           FieldView<const double> v) const {
  Field<double> r(ctx, a.shape()), z(ctx, a.shape());
  a.apply(ctx, v, r.view());
  if (float_cycle_)
    PrecisionCast<double, float>(ctx, a.shape(), float_cycle_).apply(ctx, r.cview(), z.view());
  else
    double_cycle_->apply(ctx, r.cview(), z.view());
  return z;
}

Field<double> FullMultigridSolve::error_of(Context& ctx, const GridOperator<double>& a, FieldView<const double> v) {
  Field<double> error = cycle_of(ctx, a, v);
  axpy<double, double>(ctx, -1, v, error.view());
  left_ = norm2(ctx, error.cview()) / norm2(ctx, v);
  return error;
}

std::string FullMultigridSolve::float_fails(Context& ctx, const GridOperator<double>& a, const Factory& in_double) {
  if (suits_float_) return {};
  Field<double> v(ctx, a.shape());
  set(ctx, 1.0, v.view());
  if (singular_) {
    const auto nodes = static_cast<std::size_t>(v.view().nodes());
    std::vector<double> ramp(nodes);
    for (std::size_t k = 0; k < nodes; ++k) ramp[k] = static_cast<double>(k) / static_cast<double>(nodes);
    copy_from_host(ctx, ramp.data(), v.view());
    ctx.synchronise();
  }
  Field<double> of_float = singular_ ? cycle_of(ctx, a, v.cview()) : error_of(ctx, a, v.cview());
  if (!singular_) {
    if (norm_max(ctx, of_float.cview()) <= float_may_leave) return {};
    axpy<double, double>(ctx, 1, v.cview(), of_float.view());
  }
  try {
    auto second = in_double();
    const Field<double> of_double = second->cycle_of(ctx, a, v.cview());
    axpy<double, double>(ctx, -1, of_double.cview(), of_float.view());
    const double difference = norm2(ctx, of_float.cview()) / norm2(ctx, of_double.cview());
    if (difference <= float_may_differ) return {};
    instead_ = std::move(second);
    return message("cycles in float differ from those in double by ", difference);
  } catch (const ResourceError&) {
    if (ctx.subdomains() > 1) throw;  // others may have had room
    compared_ = false;
    return {};
  }
}

double FullMultigridSolve::left_of_constant(Context& ctx, const GridOperator<double>& a) {
  if (suits_float_ || singular_) return 0;
  if (!left_) {
    Field<double> v(ctx, a.shape());
    set(ctx, 1.0, v.view());
    (void)error_of(ctx, a, v.cview());
  }
  return *left_;
}

void FullMultigridSolve::judge(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                               FieldView<const double> x, double interpolated, SolveReport& report) {
  const double corrected = report.residual, rhs_norm = report.initial_residual;
  if (!std::isfinite(rhs_norm)) {
    report.status = Status::non_finite;
    report.reason = "the right-hand side is not finite";
  } else if (!(corrected <= 0.5 * interpolated) || corrected > rhs_norm) {
    look_closer(ctx, a, b, x, interpolated, report);
  } else {
    report.status = Status::converged;
  }
  // In films residuals are those of differences across them, and small whatever u is along them. Good cycles leave less than 0.1.
  constexpr double too_much = 0.5;
  const double left = report.status == Status::converged && corrected > 0 ? left_of_constant(ctx, a) : 0;
  if (left > too_much) {
    report.status = Status::stagnated;
    report.reason = message("one cycle leaves ", std::lround(100 * left),
                            " % of a constant error, so one FMG cycle does not do for this problem: iterate to a "
                            "tolerance, best by conjugate gradients");
  }
  if (report.status == Status::converged)
    report.reason = message("one full multigrid pass; the finest level's cycle reduced the residual from ",
                            interpolated, " to ", corrected, "; no tolerance was asked for and none is claimed");
}

void FullMultigridSolve::look_closer(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                                     FieldView<const double> x, double interpolated, SolveReport& report) const {
  const double corrected = report.residual, rhs_norm = report.initial_residual;
  Field<double> r(ctx, a.shape());
  a.residual(ctx, b, x, r.view());
  Rounding<double> rounding(ctx, a, b, x, rhs_norm);
  if (corrected > 0.5 * interpolated && rounding.reached(corrected, r.cview(), Rounding<double>::stopped)) {
    report.status = Status::round_off_limit;
    report.reason = message("one full multigrid pass; its residual, ", corrected, ", is at rounding");
  } else if (!(corrected <= interpolated)) {
    report.status = Status::diverged;
    report.reason = message("the finest level's cycle raised the residual from ", interpolated, " to ", corrected);
  } else if (corrected > rhs_norm && !rounding.has_its_size(corrected, r.cview())) {
    report.status = Status::diverged;
    report.reason = blown_up_reason(corrected, rhs_norm);
  } else if (corrected > 0.5 * interpolated) {
    report.status = Status::stagnated;
    report.reason = message("the finest level's cycle only reduced the residual from ", interpolated, " to ", corrected,
                            "; this smoother does not suit the mesh");
  } else {
    report.status = Status::converged;
  }
}

}  // namespace stratum
