#pragma once

// A preconditioner for a smooth scalar K by cells: fast diagonalization of the operator with K = 1, scaled at nodes on both
// sides,
//
//     z = S A_1^-1 S r ,    S = K^-1/2 at nodes, the mean of log K over the cells around one.
//
// Conjugate gradients take 8 to 26 iterations whatever the mesh and for contrasts up to e^6 of a smooth K; for jumps many more,
// and for small ones beside thin cells, too: a jump by k in a cell of width h, of an axis of length L, is in the energy of
// S u about (k - 1)^2 L / (16 h) of that of u. k = 1.46 takes 12 iterations with L / h = 100, 24 with 1000, 75 with 10 000.
// A reaction is divided by the mean of K. Memory: 3 vectors, and the modes. Waits for nothing.

#include <array>
#include <memory>
#include <vector>

#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/multigrid/box_memory.hpp>
#include <stratum/solvers/direct/box_diagonalization.hpp>

namespace stratum {

class ScaledDiagonalization final : public Preconditioner<double> {
 public:
  /// `axes`: of K = 1, of the whole box. `lines`: the direction that modes are not needed of. `cuts`: of several ranks, which
  /// have planes across the lines, z, as BoxDiagonalization takes them. In a memory dry run K may be empty.
  ScaledDiagonalization(Context& ctx, const BoxCoefficients& coefficients, const std::array<AxisFactors, 3>& axes,
                        int lines, const std::vector<int>& cuts);

  /// Another c; the modes are the same.
  void set_reaction(Context& ctx, double c) { direct_.set_reaction(ctx, c / mean_); }

  void apply(Context& ctx, FieldView<const double> r, FieldView<double> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
  [[nodiscard]] bool estimates_error() const override { return true; }
  [[nodiscard]] bool waits() const override { return false; }

 private:
  BoxShape shape_;
  BoxOrder order_;
  double mean_ = 1;  // of K
  BoxDiagonalization direct_;
  BoxMemory scale_, b_, x_;
};

}  // namespace stratum
