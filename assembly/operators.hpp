#pragma once

// The Q1 stiffness matrix of -Laplace on a tensor-product mesh with Dirichlet sides,
//
//     A = Kx (x) My + Mx (x) Ky,    K = 1/h [1 -1; -1 1],   M = h/6 [2 1; 1 2]   per interval,
//
// restricted to the interior nodes (Dirichlet unknowns are eliminated symmetrically; their identity rows are not stored).
// Entries are formed in double and converted at the end. Throws UsageError when an entry leaves the range of T.

#include <stratum/core/grid_operator.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

template <class T>
[[nodiscard]] GridOperator<T> assemble_laplace(Context& ctx, const TensorMesh& mesh, OperatorForm form);

}  // namespace stratum
