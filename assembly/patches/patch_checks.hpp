#pragma once

// What programs warn of on meshes of patches, as on rectangles: data that the mesh does not resolve
// (assembly/unresolved_data.hpp), Dirichlet boundaries that differ at a vertex, and layers of u between neighbouring nodes
// (assembly/solution_range.hpp). Host only.

#include <span>
#include <string>

#include <stratum/assembly/patches/patch_problem.hpp>

namespace stratum {

/// Empty where data are resolved, and on meshes of more than 2^21 cells, whose nodes are not formed for this. `has_more`: other
/// data, as values at the start, may differ from zero.
[[nodiscard]] std::string warning_of_data(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem,
                                          bool has_more = false);

/// f, u where it is known, and boundaries at this time. What does not change stays as it is, and numbers are known to be that.
[[nodiscard]] PatchProblem at_time(const PatchProblem& problem, double t);

/// Of the vertex where two Dirichlet boundaries differ most; empty where none do.
[[nodiscard]] std::string warning_of_vertices(const PatchMesh& mesh, const PatchProblem& problem);

/// Two neighbouring nodes of a patch, and by how much the flux K du/ds between them changes towards the edges before and behind.
struct PatchStep {
  double step = 0;  // | u_1 - u_2 |
  Position from{}, to{};
  double change_of_flux = 0;
};
/// The largest in the patch, edges on its boundary left out, if it is above `least`; else zero. Zero also where the patch has
/// but one cell along the edge, since there is nothing to compare the flux with.
[[nodiscard]] PatchStep largest_step(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem, int patch,
                                     std::span<const double> nodal, double least);

}  // namespace stratum
