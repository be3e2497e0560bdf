#pragma once

// Fluxes out of a mesh of patches through its boundaries, of the discrete solution u_h of a problem on it
// (assembly/patches/patch_problem.hpp), as assembly/boundary_fluxes.hpp has them on rectangles:
//
//     F_S = - integral over boundary S of n.K grad u,  n outward;      sum of F_S  +  integral of c u_h  =  integral of f
//
// up to the residuals of the equations: by the data of Neumann and Robin boundaries, and by the residuals of natural rows at the
// nodes of Dirichlet boundaries. Of a vertex where Dirichlet boundaries meet each takes the integral of phi_i n.K grad u_h over
// its own interval, and an equal part of the rest. F_S has a second-order error.
//
// Work: the cells at the boundaries; with c all cells. Where the Context has a communicator: collective, and `nodal` has the
// patches of the rank.

#include <functional>
#include <span>
#include <vector>

#include <stratum/assembly/patches/patch_problem.hpp>

namespace stratum {

struct PatchFluxes {
  std::vector<double> boundaries{};  // as PatchMesh::boundary_names
  double magnitudes = 0;             // of what cells and intervals give to them and to the reaction, which may cancel
  double reaction = 0;               // integral of c u_h
  double from_data = 0;              // integral of g over Neumann and Robin boundaries, which a load has beside f
  double load = 0;                   // integral of f, as the load vector has it: where the solver has filled it in
  double rounding = 0;               // what the rounding of nodal values may have done to all of them

  [[nodiscard]] double sum() const;
};

/// `nodal(p)`: u_h at the nodes of patch p, x fastest.
[[nodiscard]] PatchFluxes patch_fluxes(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem,
                                       const std::function<std::vector<double>(int)>& nodal);

}  // namespace stratum
