#pragma once

// FullMultigridSolve: one FMG cycle (multigrid/full_multigrid.hpp) as a solve with a report, for b or for the residual of a
// given x. A single FMG cycle is judged by the reduction of the residual in the cycle on the finest level. If cycles follow,
// they test the residual.

#include <memory>
#include <string>

#include <stratum/multigrid/full_multigrid.hpp>
#include <stratum/multigrid/select.hpp>

namespace stratum {

class FullMultigridSolve {
 public:
  template <class T>
  FullMultigridSolve(Context& ctx, const GridOperator<double>& a, const Hierarchy<double>& hierarchy,
                     const Multigrid<T>& multigrid, const PoissonSolverParams& params);

  SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                    ReferenceNorm reference_norm, const Monitor& monitor);

 private:
  /// A pass whose last cycle gained little, or that ended above the residual of zero.
  void look_closer(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<const double> x,
                   double interpolated, SolveReport& report) const;

  bool from_x_, goes_on_;
  std::unique_ptr<FullMultigrid<float>> float_;
  std::unique_ptr<FullMultigrid<double>> double_;
  Field<double> defect_, correction_;  // from a given x
};

[[nodiscard]] std::string blown_up_reason(double residual, double initial);

/// Whether a residual is no more than float leaves of an x as large as this one. An iteration that ends so would not in
/// double.
[[nodiscard]] bool is_rounding_of_float(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                                        FieldView<const double> x, double residual);

}  // namespace stratum
