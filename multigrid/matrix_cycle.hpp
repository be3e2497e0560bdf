#pragma once

// MatrixCycle: one multigrid cycle made from a matrix, as a preconditioner in double whatever the precision that it computes
// in,
//
//     z = M^-1 r ,   M^-1 one cycle of Multigrid<double>, or of Multigrid<float> behind PrecisionCast .
//
// What interfaces to other people's code hand on. Shares the matrix; copies are the same cycle. Errors as for Multigrid.

#include <optional>

#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/precision_cast.hpp>

namespace stratum {

class MatrixCycle final : public Preconditioner<double>, public Handle {
 public:
  MatrixCycle(Context& ctx, const GridOperator<double>& a, const TensorMesh& mesh, const MultigridParams& params,
              bool single_precision);

  /// Multigrid::update.
  void update(Context& ctx, const GridOperator<double>& a);

  void apply(Context& ctx, GridView<const double> r, GridView<double> z) override { cycle().apply(ctx, r, z); }
  [[nodiscard]] bool is_constant() const override { return constant_; }
  [[nodiscard]] bool is_symmetric() const override { return symmetric_; }

 private:
  [[nodiscard]] Preconditioner<double>& cycle();

  bool symmetric_, constant_;
  std::optional<Multigrid<double>> in_double_;
  std::optional<Multigrid<float>> in_float_;
  std::optional<PrecisionCast<double, float>> cast_;
};

}  // namespace stratum
