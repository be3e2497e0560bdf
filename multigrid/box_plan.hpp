#pragma once

// How a Poisson problem in a box is solved, and which planes of it a rank has: pure functions of the mesh, the problem, its K
// and the number of ranks. For PoissonSolver3D (multigrid/poisson_solver_3d.hpp).
//
//     direct       a separable K, where two directions have few enough unknowns for dense modes: the lines are those of the
//                  direction that costs the least, 4 n operations an unknown for each of the two others, or those of Fourier
//                  transforms (solvers/direct/mode_products.hpp)
//     planes       K = 1, where modes of one direction and multigrid in the planes of the others cost less than that
//     fd-cg        a scalar K by cells that is smooth, of a problem that is not singular, on one rank
//     multigrid    all else, and what is asked for
//
// Throws UsageError where the method that is asked for cannot solve the problem, or not on so many ranks.

#include <array>
#include <optional>

#include <stratum/assembly/box_material.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field_3d.hpp>
#include <stratum/multigrid/box_memory.hpp>
#include <stratum/multigrid/gate.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

namespace stratum {

/// Of fast diagonalization.
[[nodiscard]] BoxSolverPlan direct_plan(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                        const BoxMaterial& material);
/// Of the modes of one direction and multigrid in planes; none where the problem is another one.
[[nodiscard]] std::optional<BoxSolverPlan> planes_plan(const Context& ctx, const TensorMesh<3>& mesh,
                                                       const PoissonProblem3D& problem, const BoxMaterial& material);
[[nodiscard]] BoxSolverPlan select_box_method(const Context& ctx, const TensorMesh<3>& mesh,
                                              const PoissonProblem3D& problem, const BoxMaterial& material,
                                              BoxMethod asked);

/// Widths as coarsening is to see them: those that an anisotropic K makes of them, by its median in each layer of cells.
[[nodiscard]] std::array<GatedAxis, 3> gate_of(const TensorMesh<3>& mesh, const BoxMaterial& material);

[[nodiscard]] int rank_of(const Context& ctx);
/// The planes of unknowns of a rank, and what lies beside them, in the order of storage.
[[nodiscard]] GridLayout<3> slab_of(const Context& ctx, const TensorMesh<3>& mesh, const BoxOrder& order, int rank);
/// The planes of nodes around this rank's cells.
[[nodiscard]] NodePlanes nodes_of(const Context& ctx, const TensorMesh<3>& mesh, int lines, const GridLayout<3>& slab);

}  // namespace stratum
