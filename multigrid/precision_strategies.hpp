#pragma once

// How an iterate is kept: a strategy for each precision, around a cycle in float or in double. One that takes a float cycle
// leaves b and x in double to its caller. PoissonSolver and its like make one by their Plan (multigrid/select.hpp), and another
// where they fall back to double.

#include <memory>
#include <optional>
#include <string_view>

#include <stratum/multigrid/select.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
#include <stratum/solvers/room.hpp>

namespace stratum {

/// A cycle in T, or several of them as PoissonSolverParams::inner says, seen as a preconditioner in T and in double.
template <class T>
struct CycleInPrecision {
  Multigrid<T> multigrid;
  std::shared_ptr<Preconditioner<T>> in_own_precision;  // the cycle, or an inner iteration with it
  std::shared_ptr<Preconditioner<double>> in_double;    // for Krylov methods

  CycleInPrecision(Context& ctx, const Hierarchy<T>& hierarchy, const PoissonSolverParams& params,
                   const SmootherRegistry& registry);
  void make_in_double(Context& ctx);
  [[nodiscard]] const GridOperator<T>& fine_operator() const { return multigrid.hierarchy().finest(); }
  /// Of in_own_precision: an inner iteration has vectors of its own.
  [[nodiscard]] std::optional<Room<T>> room() const;
};

class PrecisionStrategy {
 public:
  PrecisionStrategy() = default;
  PrecisionStrategy(const PrecisionStrategy&) = delete;
  PrecisionStrategy& operator=(const PrecisionStrategy&) = delete;
  virtual ~PrecisionStrategy() = default;

  /// Solves A x = b from the given x. `rhs_norm`: ||b||, where it is known.
  virtual SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                            const StoppingParams& stop, const Monitor& monitor, std::optional<double> rhs_norm) = 0;
  /// What did not end well in float may be taken up again in double; empty where that is not for this one.
  [[nodiscard]] virtual std::string_view may_fall_back_as() const { return {}; }
  /// It takes a float cycle for the fixed linear map that it is not quite.
  [[nodiscard]] virtual bool relies_on_cycle() const { return false; }
};

/// With the method of the parameters around the cycle in double, whatever its own precision. `solver`: of that method.
[[nodiscard]] std::unique_ptr<PrecisionStrategy> make_krylov_strategy(std::shared_ptr<Solver<double>> solver,
                                                                      std::shared_ptr<Preconditioner<double>> cycle,
                                                                      bool of_float);
/// By the precision of the parameters, around a cycle in float; null where that is a Krylov method in double around it.
[[nodiscard]] std::unique_ptr<PrecisionStrategy> make_precision_strategy(Context& ctx, const GridOperator<double>& a,
                                                                         const PoissonSolverParams& params,
                                                                         const CycleInPrecision<float>& cycle);
/// The same where vectors are in float as well: precision single and double_single (multigrid/strategies_in_float.cpp).
[[nodiscard]] std::unique_ptr<PrecisionStrategy> make_strategy_in_float(Context& ctx, const GridOperator<double>& a,
                                                                        const PoissonSolverParams& params,
                                                                        const CycleInPrecision<float>& cycle);

}  // namespace stratum
