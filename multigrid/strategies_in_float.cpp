// Strategies that keep vectors in float: single precision, and double-single.

#include <cmath>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/precision_strategies.hpp>
#include <stratum/solvers/error_estimate.hpp>
#include <stratum/solvers/mixed/double_single.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>

namespace stratum {

namespace {

/// Everything in float, the residual updated recursively as the solver sees it; then the truth.
class Single final : public PrecisionStrategy {
 public:
  Single(Context& ctx, const GridOperator<double>& a, const PoissonSolverParams& params,
         const CycleInPrecision<float>& cycle)
      : cycle_(cycle), b_(ctx, a.shape()), x_(ctx, a.shape()) {
    if (params.method == Method::multigrid)
      solver_ = std::make_unique<Refinement<float>>(ctx, a.shape(), ResidualUpdate::updated);
    else
      solver_ = make_solver<float>(ctx, entry_of(params).name, a.shape(), params.krylov);
  }
  SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                    const StoppingParams& asked, const Monitor& monitor, std::optional<double> /*rhs_norm*/) override {
    // Scaled by a power of two: the loads of the thinnest cells would vanish in float.
    const double scale = power_of_two_below_reciprocal(norm_max(ctx, b));
    const auto bf = b_.view(), xf = x_.view();
    copy_scaled(ctx, scale, b, bf);
    copy_scaled<double, float>(ctx, scale, x, xf);
    StoppingParams stop = asked;
    stop.atol *= scale;
    const Monitor scaled = monitor ? Monitor([&](int it, double r) { monitor(it, r / scale); }) : Monitor();
    SolveReport report =
        solver_->solve(ctx, cycle_.fine_operator(), *cycle_.in_own_precision, b_.cview(), xf, stop, scaled);
    copy_scaled(ctx, 1 / scale, x_.cview(), x);
    const double residual = a.scaled_residual_norm<float>(ctx, scale, b, x, bf) / scale;
    judge_single_precision(report, asked, scale, residual, "use mixed precision");
    if (report.estimated_error && std::isfinite(residual)) {
      cycle_.in_own_precision->apply(ctx, b_.cview(), xf);
      report.estimated_error = relative_error(norm_max<float>(ctx, x_.cview()) / scale, extremes<double>(ctx, x));
    }
    return report;
  }

 private:
  CycleInPrecision<float> cycle_;  // handles
  Field<float> b_, x_;
  std::unique_ptr<Solver<float>> solver_;
};

class DoubleSingle final : public PrecisionStrategy {
  static std::int64_t singular_nodes(const Hierarchy<float>& hierarchy) {
    return hierarchy.is_singular() ? hierarchy.meshes().back().unknowns().nodes() : 0;
  }

 public:
  DoubleSingle(Context& ctx, const GridOperator<double>& a, const PoissonSolverParams& params,
               const CycleInPrecision<float>& cycle)
      : cycle_(cycle), refinement_(ctx, a.shape(), singular_nodes(cycle.multigrid.hierarchy())),
        solver_(make_solver<float>(ctx, entry_of(params).name, a.shape(), params.krylov)) {}
  SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                    const StoppingParams& stop, const Monitor& monitor, std::optional<double> /*rhs_norm*/) override {
    return refinement_.solve(ctx, a, cycle_.fine_operator(), *solver_, *cycle_.in_own_precision, b, x, stop, monitor);
  }
  [[nodiscard]] std::string_view may_fall_back_as() const override { return "double-single precision"; }

 private:
  CycleInPrecision<float> cycle_;  // handles
  DoubleSingleRefinement refinement_;
  std::unique_ptr<Solver<float>> solver_;
};

}  // namespace

std::unique_ptr<PrecisionStrategy> make_strategy_in_float(Context& ctx, const GridOperator<double>& a,
                                                          const PoissonSolverParams& params,
                                                          const CycleInPrecision<float>& cycle) {
  if (params.precision == Precision::single) return std::make_unique<Single>(ctx, a, params, cycle);
  return std::make_unique<DoubleSingle>(ctx, a, params, cycle);
}

}  // namespace stratum
