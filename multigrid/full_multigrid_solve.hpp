#pragma once

// FullMultigridSolve: one FMG cycle (multigrid/full_multigrid.hpp) as a solve with a report, for b or for the residual of a
// given x. A single FMG cycle is judged by the reduction of the residual in the cycle on the finest level. If cycles follow,
// they test the residual.
//
// What a float cycle leaves is not known by the residual. Where rows of thin cells are large, their rounding in float may hide
// what holds u, as a Robin boundary or c do; the cycle is then one of another problem, and x may be wrong by more than itself
// while the residual falls. (An iteration sees that its cycle is a bad one.) Hence before the first pass the float cycle is
// asked for a constant: M A 1 = 1 but for what a cycle leaves. Where that is much it is compared with the cycle in double; of a
// singular A, with a ramp in place of 1, always; of K = 1 on cells that are not that thin, never. Where the cycles differ, and
// where no less than the rounding of float is left of the residual, the pass is one in double. The reason says
// where one rank has no memory to compare them.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <stratum/multigrid/full_multigrid.hpp>
#include <stratum/multigrid/select.hpp>

namespace stratum {

class FullMultigridSolve {
 public:
  template <class T>
  FullMultigridSolve(Context& ctx, const GridOperator<double>& a, const Hierarchy<double>& hierarchy,
                     const Multigrid<T>& multigrid, const PoissonSolverParams& params);

  /// Makes the same in double.
  using Factory = std::function<std::unique_ptr<FullMultigridSolve>()>;

  /// `in_double`: for a single pass that float does not do for; the reason then begins with "double-precision fallback". Null:
  /// float has to do.
  SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                    ReferenceNorm reference_norm, const Monitor& monitor, const Factory& in_double = {});
  /// Takes, and gives back, the vectors that the check of a cycle takes while it runs: for dry runs, which count memory.
  void count_check(Context& ctx, const GridLayout<2>& shape) const;
  /// Of other coefficients it is not known whether float does.
  void forget();

 private:
  /// Why not; empty where it does.
  [[nodiscard]] std::string float_fails(Context& ctx, const GridOperator<double>& a, const Factory& in_double);
  /// M A v
  [[nodiscard]] Field<double> cycle_of(Context& ctx, const GridOperator<double>& a, FieldView<const double> v) const;
  /// M A v - v, of a v that is 1; what it leaves of it is left_ then.
  [[nodiscard]] Field<double> error_of(Context& ctx, const GridOperator<double>& a, FieldView<const double> v);
  /// Which part of a constant error a cycle leaves; 0 where that is not asked.
  [[nodiscard]] double left_of_constant(Context& ctx, const GridOperator<double>& a);
  /// How a single pass went.
  void judge(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<const double> x,
             double interpolated, SolveReport& report);
  /// A pass whose last cycle gained little, or that ended above the residual of zero.
  void look_closer(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<const double> x,
                   double interpolated, SolveReport& report) const;

  bool from_x_, goes_on_, suits_float_, singular_, compared_ = true;  // the last: unless memory did not suffice
  std::unique_ptr<FullMultigrid<float>> float_;
  std::unique_ptr<FullMultigrid<double>> double_;
  std::shared_ptr<Multigrid<float>> float_cycle_;  // of float_
  std::shared_ptr<Multigrid<double>> double_cycle_;
  std::optional<std::string> failure_;           // of float; none: it is not known yet
  std::optional<double> left_;                   // of a constant; none: it is not known yet
  std::unique_ptr<FullMultigridSolve> instead_;  // in double, where float fails
  Field<double> defect_, corrected_;             // from a given x
};

/// What a float cycle may leave of a constant, and by how much it may differ from one in double. Good cycles leave about 0.02; where
/// float suffices, good and bad ones differ by 1e-4.
inline constexpr double float_may_leave = 0.025, float_may_differ = 0.003;
inline constexpr const char* float_not_compared =
    "; there is no memory to compare the cycle in float with one in double, and it may be a bad one";

[[nodiscard]] std::string blown_up_reason(double residual, double initial);

/// Whether a residual is no more than float leaves of an x as large as this one. An iteration that ends so would not in
/// double.
[[nodiscard]] bool is_rounding_of_float(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                                        FieldView<const double> x, double residual);

}  // namespace stratum
