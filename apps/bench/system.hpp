#pragma once

// A x = b on a mesh, which the solvers that stratum_bench compares have in common.

#include <cmath>
#include <memory>

#include <stratum/assembly/coefficients.hpp>
#include <stratum/core/field/field.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum::apps::bench {

/// With the load of the published problem, and the solution to compare others with.
struct System {
  TensorMesh<2> mesh;
  Field<double> b, x, converged;
  double converged_error = std::nan("");
  std::shared_ptr<const CellCoefficients> k;  // none: one
  GridOperator<double> nine_band;             // what the peers are given

  /// The load vector is assembled on the host, and takes longer than many a solve.
  System(Context& ctx, TensorMesh<2> m);

  void assemble_nine_band(Context& ctx);
  [[nodiscard]] double error(Context& ctx, const Field<double>& u) const;
  /// || x - converged || / || converged - exact ||, overwriting x.
  [[nodiscard]] double algebraic_error(Context& ctx);
};

}  // namespace stratum::apps::bench
