#pragma once

// The preconditioners of the library and multigrid, which takes the mesh where the matrix comes from one.

#include <optional>

#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/preconditioner.hpp>

namespace stratum::apps::krylov {

[[nodiscard]] PreconditionerRegistry preconditioners(const MultigridParams& multigrid = {},
                                                     const std::optional<TensorMesh<2>>& mesh = {});

/// Print what there is, for --list-methods and --list-preconditioners.
void list_methods();
void list_preconditioners();

}  // namespace stratum::apps::krylov
