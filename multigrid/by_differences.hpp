#pragma once

// Operators whose rows are summed by differences, for iterations on matrices in bands that lose digits in films
// (assembly/films.hpp). The cycle around them may be that of the bands.
//
//     SumByDifferences         y = D (A + s M) x     A in a storage format that keeps differences, M another operator, D zero at
//                                                    nodes that are no unknowns and one at others
//     FiveBandsByDifferences   y_i = e_i x_i + sum over the four neighbours k of a_ik (x_k - x_i) ,    e the sums of rows
//
// magnitude and backward_error are those of A, since x is rounded to double whatever the sums are; with M the backward error is
// not known. Vectors of another shape throw UsageError. SumByDifferences has a vector of its own: one thread may use it at a time.

#include <memory>
#include <optional>

#include <stratum/core/field/field.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum {

class SumByDifferences final : public LinearOperator<double> {
 public:
  /// `keep`: D, flat; null: one everywhere.
  SumByDifferences(Context& ctx, GridOperator<double> a, std::shared_ptr<const Field<double>> keep);
  /// From now on of these. M needs nothing of differences.
  void assign(const GridOperator<double>& a, double s, const GridOperator<double>& m);

  [[nodiscard]] GridLayout<2> shape() const override { return a_.shape(); }
  void apply(Context& ctx, FieldView<const double> x, FieldView<double> y) const override;
  void residual(Context& ctx, FieldView<const double> b, FieldView<const double> x, FieldView<double> r) const override;
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const double> b, FieldView<const double> x) const override;
  [[nodiscard]] double backward_error(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                                      double least) const override;

 private:
  void keep(Context& ctx, FieldView<double> y) const;

  GridOperator<double> a_;
  std::optional<GridOperator<double>> m_;
  double s_ = 0;
  std::shared_ptr<const Field<double>> keep_;
  mutable Field<double> product_;
};

/// On CPUs alone. Bands and sums are those of the handles, whatever they hold later.
class FiveBandsByDifferences final : public LinearOperator<double> {
 public:
  FiveBandsByDifferences(GridOperator<double> bands, std::shared_ptr<const Field<double>> sums);

  [[nodiscard]] GridLayout<2> shape() const override { return bands_.shape(); }
  void apply(Context& ctx, FieldView<const double> x, FieldView<double> y) const override;
  void residual(Context& ctx, FieldView<const double> b, FieldView<const double> x, FieldView<double> r) const override;
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const double> b, FieldView<const double> x) const override;
  [[nodiscard]] double backward_error(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                                      double least) const override;

 private:
  GridOperator<double> bands_;
  std::shared_ptr<const Field<double>> sums_;
};

/// Solves with `a`, whatever operator it is given, by another solver; that one where `a` is null.
[[nodiscard]] std::shared_ptr<Solver<double>> solver_on(std::shared_ptr<const LinearOperator<double>> a,
                                                        std::shared_ptr<Solver<double>> by);

}  // namespace stratum
