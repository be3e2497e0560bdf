#pragma once

// How a Poisson problem in a box is solved, and which planes of it a rank has: pure functions of the mesh, the problem, its K
// and the number of ranks. For PoissonSolver3D (multigrid/poisson_solver_3d.hpp).
//
//     direct       a separable K, where two directions have few enough unknowns for dense modes: the lines are those of the
//                  direction that costs the least, 4 n operations an unknown for each of the two others, or those of Fourier
//                  transforms (solvers/direct/mode_products.hpp)
//     planes       K = 1, where modes of one direction and multigrid in the planes of the others cost less than that
//     fd-cg        a scalar K by cells that is smooth, of a problem that is not singular
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

/// Isolated bodies of high K, where conjugate gradients are around cycles of a scalar K.
struct DeflationFacts {
  int bodies = 0;
  double jump = 1;  // of K: the largest by the smallest
  bool float_cycles = true;
};
/// Whether a deflation vector for each takes less time in one solve than the iterations that it saves. With l the decades of the
/// jump beyond two, n bodies cost about n l / 4 iterations in double and n l^2 / 4 in single precision, where what rounding
/// leaves of large K comes on top (64^3, 1 to 25 balls). Vectors cost the time of two iterations in double and of four in single
/// precision, whose vectors they take to double: one to make them, the rest in all iterations together. Too many vectors would
/// have a coarse matrix that costs more.
[[nodiscard]] bool deflation_pays(const DeflationFacts& facts);

/// Widths as coarsening is to see them: those that an anisotropic K makes of them, by its median in each layer of cells.
[[nodiscard]] std::array<GatedAxis, 3> gate_of(const TensorMesh<3>& mesh, const BoxMaterial& material);

[[nodiscard]] int rank_of(const Context& ctx);
/// The planes of unknowns of a rank, and what lies beside them, in the order of storage.
[[nodiscard]] GridLayout<3> slab_of(const Context& ctx, const TensorMesh<3>& mesh, const BoxOrder& order, int rank);
/// The planes of nodes around this rank's cells.
[[nodiscard]] NodePlanes nodes_of(const Context& ctx, const TensorMesh<3>& mesh, int lines, const GridLayout<3>& slab);

}  // namespace stratum
