#pragma once

// The operator of steps in time in a box (multigrid/heat_solver_3d.hpp).

#include <array>
#include <variant>

#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/core/operators/box_operator.hpp>

namespace stratum {

/// A with some c: a product of its directions, or of K by cells.
class BoxA {
 public:
  BoxA() = default;
  BoxA(Context& ctx, const std::array<AxisFactors, 3>& factors, double c) : a_(BoxOperator(ctx, factors, c)) {}
  BoxA(Context& ctx, const BoxCoefficients& coefficients, bool scalar)
      : a_(BoxMatrix<double>(BoxCells<double>(ctx, coefficients, scalar))) {}

  /// The same with another c, of the same memory.
  [[nodiscard]] BoxA with_reaction(double c) const {
    BoxA other = *this;
    if (auto* const tensor = std::get_if<BoxOperator>(&other.a_))
      tensor->set_reaction(c);
    else
      other.a_ = std::get<BoxMatrix<double>>(a_).with_reaction(c);
    return other;
  }
  /// r = b - A u, u with its ghosts; r may be b.
  void residual(Context& ctx, FieldView<const double, 3> b, FieldView<const double, 3> u,
                FieldView<double, 3> r) const {
    std::visit([&](const auto& a) { a.residual(ctx, b, u, r); }, a_);
  }

 private:
  std::variant<BoxOperator, BoxMatrix<double>> a_;
};

}  // namespace stratum
