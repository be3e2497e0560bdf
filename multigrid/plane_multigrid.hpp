#pragma once

// The modes of one direction of a box, and multigrid in two: the solution of A x = v, K = 1, where two directions are too long
// for dense matrices. With Kz V = Mz V Lambda and V^T Mz V = 1,
//
//     w = V^T v ,    (Kx My + Mx Ky + (lambda_a + c) Mx My) u_a = w_a  in the plane of every mode a ,    x = V u ,
//
// each plane a problem of PoissonSolver with another reaction coefficient, on one hierarchy. Beside the products, 4 nz
// operations a number or Fourier transforms, a number takes what it takes in two dimensions. Planes are solved to `plane_rtol`,
// so that refinement is what the direct solver needs.
//
// On the host. Memory: a plane's hierarchy, of a mode of constants without a reaction another one, and rows for the threads.
// The box's problem must not be singular. Source: as in multigrid/poisson_solver_3d.hpp.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field_3d.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/poisson_solver.hpp>
#include <stratum/solvers/direct/mode_products.hpp>

namespace stratum {

class PlaneMultigrid {
 public:
  static constexpr double plane_rtol = 1e-11;
  /// What multigrid takes for a number of a plane, in operations of dense products: 130 to 150 ns to 1e-11 on one core,
  /// where two products there and back with 2047 modes take 250.
  static constexpr double operations = 8000;

  /// `planes`: two directions of the box, `across` the factors of the third.
  PlaneMultigrid(Context& ctx, const TensorMesh<2>& planes, const AxisFactors& across, double reaction);

  /// Another c > 0, of a problem that had one.
  void set_reaction(double c);

  /// x = A^-1 b, or x + A^-1 b where `add`. v is scratch, and may be b; planes of modes lie in it.
  void apply(Context& ctx, FieldView<const double, 3> b, FieldView<double, 3> v, FieldView<double, 3> x, bool add);

 private:
  PlaneMultigrid(Context& ctx, const TensorMesh<2>& planes, const AxisFactors& across, double reaction,
                 const LineModes& modes);
  [[nodiscard]] std::int64_t room() const;
  /// out = V^T in or V in, row by row of the planes.
  void multiply_planes(const Context& ctx, ModeProducts::Product product, FieldView<const double, 3> in,
                       FieldView<double, 3> out, bool add);

  std::vector<double> values_, reactions_;  // of the modes: lambda, and lambda + c
  ModeProducts modes_;
  std::optional<PoissonSolver> solver_, without_reaction_;
  Field<double> b_, x_;
  std::shared_ptr<void> rows_;  // of a thread: the numbers of all planes in a row, and scratch
};

}  // namespace stratum
