#pragma once

// The diagonal of a mass matrix as a preconditioner, z_i = r_i / m_ii. It is near enough to the matrix itself to estimate
// errors with. Errors, traffic and streams are those of JacobiPreconditioner.

#include <vector>

#include <stratum/solvers/preconditioners/jacobi.hpp>

namespace stratum {

class MassDiagonal final : public Preconditioner<double>, public Handle {
 public:
  MassDiagonal(Context& ctx, const GridLayout<2>& shape, const std::vector<double>& diagonal)
      : jacobi_(ctx, shape, diagonal) {}
  void apply(Context& ctx, FieldView<const double> r, FieldView<double> z) override { jacobi_.apply(ctx, r, z); }
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
  [[nodiscard]] bool estimates_error() const override { return true; }

 private:
  JacobiPreconditioner<double> jacobi_;
};

}  // namespace stratum
