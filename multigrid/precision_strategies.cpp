#include <stratum/multigrid/precision_strategies.hpp>

#include <utility>

#include <stratum/solvers/mixed/mixed_cg.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>

namespace stratum {

namespace {

MultigridParams cycle_params(const PoissonSolverParams& params) {
  MultigridParams cycle = params.multigrid;
  const bool iterates = !params.full_multigrid || params.continue_after_full_multigrid;
  if (iterates && !cycle.symmetric && !entry_of(params).constant_symmetric) cycle.is_corrected = true;
  cycle.symmetric = cycle.symmetric || entry_of(params).symmetric;
  return cycle;
}

/// A Krylov method, or refinement, in double.
class InDouble final : public PrecisionStrategy {
 public:
  InDouble(std::shared_ptr<Solver<double>> solver, std::shared_ptr<Preconditioner<double>> cycle, bool of_float)
      : solver_(std::move(solver)), cycle_(std::move(cycle)), of_float_(of_float) {}
  SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                    const StoppingParams& stop, const Monitor& monitor, std::optional<double> /*rhs_norm*/) override {
    return solver_->solve(ctx, a, *cycle_, b, x, stop, monitor);
  }
  [[nodiscard]] std::string_view may_fall_back_as() const override { return of_float_ ? "mixed precision" : ""; }
  [[nodiscard]] bool relies_on_cycle() const override { return of_float_; }

 private:
  std::shared_ptr<Solver<double>> solver_;
  std::shared_ptr<Preconditioner<double>> cycle_;
  bool of_float_;
};

/// What the others share: the cycle in float.
class AroundFloat : public PrecisionStrategy {
 public:
  explicit AroundFloat(const CycleInPrecision<float>& cycle) : cycle_(cycle) {}

 protected:
  CycleInPrecision<float> cycle_;  // handles
};

class Refined final : public AroundFloat {
 public:
  Refined(Context& ctx, const GridOperator<double>& a, const CycleInPrecision<float>& cycle)
      : AroundFloat(cycle), refinement_(ctx, a, cycle.room().has_value()) {}
  SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                    const StoppingParams& stop, const Monitor& monitor, std::optional<double> rhs_norm) override {
    return refinement_.solve(ctx, a, *cycle_.in_own_precision, b, x, stop, monitor, rhs_norm, cycle_.room());
  }
  [[nodiscard]] std::string_view may_fall_back_as() const override { return "mixed precision"; }

 private:
  MixedRefinement refinement_;
};

class Replaced final : public AroundFloat {
 public:
  Replaced(Context& ctx, const GridOperator<double>& a, const CycleInPrecision<float>& cycle)
      : AroundFloat(cycle), cg_(ctx, a.shape()) {}
  SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                    const StoppingParams& stop, const Monitor& monitor, std::optional<double> /*rhs_norm*/) override {
    return cg_.solve(ctx, a, cycle_.fine_operator(), *cycle_.in_own_precision, b, x, stop, monitor);
  }
  [[nodiscard]] std::string_view may_fall_back_as() const override { return "conjugate gradients in float"; }
  [[nodiscard]] bool relies_on_cycle() const override { return true; }

 private:
  MixedCg cg_;
};

}  // namespace

template <class T>
CycleInPrecision<T>::CycleInPrecision(Context& ctx, const Hierarchy<T>& hierarchy, const PoissonSolverParams& params,
                                      const SmootherRegistry& registry)
    : multigrid(ctx, hierarchy, cycle_params(params), registry),
      in_own_precision(std::make_shared<Multigrid<T>>(multigrid)) {
  if constexpr (std::is_same_v<T, double>) {
    in_double = in_own_precision;
  } else {
    if (params.inner.rtol > 0 || params.inner.cycles != 1)
      in_own_precision = std::make_shared<InnerIteration<T>>(ctx, fine_operator(), multigrid, params.inner);
    if (params.precision != Precision::double_single && params.precision != Precision::residual_replacement &&
        (params.method != Method::multigrid || params.precision == Precision::single))
      make_in_double(ctx);
  }
}

template <class T>
void CycleInPrecision<T>::make_in_double(Context& ctx) {
  if constexpr (std::is_same_v<T, float>) {
    if (!in_double)
      in_double = std::make_shared<PrecisionCast<double, T>>(ctx, fine_operator().shape(), in_own_precision);
  }
}

template <class T>
std::optional<Room<T>> CycleInPrecision<T>::room() const {
  const bool is_cycle = std::dynamic_pointer_cast<Multigrid<T>>(in_own_precision) != nullptr;
  return is_cycle ? multigrid.room(multigrid.levels() - 1) : std::nullopt;
}

template struct CycleInPrecision<float>;
template struct CycleInPrecision<double>;

std::unique_ptr<PrecisionStrategy> make_krylov_strategy(std::shared_ptr<Solver<double>> solver,
                                                        std::shared_ptr<Preconditioner<double>> cycle, bool of_float) {
  return std::make_unique<InDouble>(std::move(solver), std::move(cycle), of_float);
}

std::unique_ptr<PrecisionStrategy> make_precision_strategy(Context& ctx, const GridOperator<double>& a,
                                                           const PoissonSolverParams& params,
                                                           const CycleInPrecision<float>& cycle) {
  switch (params.precision) {
    case Precision::single:
    case Precision::double_single: return make_strategy_in_float(ctx, a, params, cycle);
    case Precision::residual_replacement: return std::make_unique<Replaced>(ctx, a, cycle);
    case Precision::mixed:
      if (params.method == Method::multigrid) return std::make_unique<Refined>(ctx, a, cycle);
      break;
    case Precision::full: break;
  }
  return nullptr;
}

}  // namespace stratum
