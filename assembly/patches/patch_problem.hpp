#pragma once

// The problem -div(K grad u) + c u = f on a mesh of patches (mesh/patches/patch_mesh.hpp), with a condition on every boundary,
// by its name, n outward:
//
//     dirichlet  u = g      neumann  n.K grad u = g      robin  n.K grad u + alpha u = g
//
// A vertex where a Dirichlet boundary meets another one is Dirichlet; of two Dirichlet boundaries that with the lower number in
// boundary_names() wins. Functions see x and y of their Point alone. K and c are constant in a cell and have the value at its
// centre; a cell in which c jumps has the means of c and of f instead, as on rectangles (assembly/coefficients.hpp).

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/patches/patch_operator.hpp>
#include <stratum/mesh/patches/patch_mesh.hpp>

namespace stratum {

/// K of a cell, [xx xy; xy yy], positive definite.
struct PatchTensor {
  double xx = 1, xy = 0, yy = 1;
};

struct PatchProblem {
  ScalarFunction rhs{};  // f; empty: zero
  /// Integrals of f phi_i over each patch, (nx + 1) (ny + 1) numbers, x fastest, added to those of `rhs`; empty: none.
  std::vector<std::vector<double>> load{};
  ScalarFunction exact{};  // u, where it is known
  /// By name. A boundary without an entry is Dirichlet. A Dirichlet boundary without a value has `exact`, or else zero.
  std::map<std::string, BoundaryCondition> boundaries{};
  std::vector<double> diffusion_of_patches{};               // K of each patch; empty: one
  ScalarFunction diffusion{};                               // times K of the patch
  std::vector<std::vector<double>> diffusion_of_cells{};    // of each patch nx ny numbers, x fastest, in place of both
  std::vector<std::vector<PatchTensor>> tensor_of_cells{};  // the same, in place of all three
  double reaction = 0;                                      // c, not negative
  ScalarFunction reaction_of_cells{};                       // added to c
};

/// The Q1 matrix and load of a problem, on the host: all rows natural, b_i = integral of f phi_i + boundary data, partial.
struct PatchSystem {
  PatchLayout layout;
  PatchRowsOnHost rows;
  PatchConductances conductances{};
  std::vector<double> load{};
  std::vector<double> boundary_values{};  // consistent: g at Dirichlet nodes, zero elsewhere
  std::vector<double> vertex_values{};    // of the mesh, on all ranks: g at Dirichlet vertices, NaN elsewhere
  std::vector<bool> fixed_edges{};        // Dirichlet
  std::vector<double> measure{};          // integrals of phi_i, partial
  bool singular = false;                  // no Dirichlet boundary, no alpha, no c
};

/// Throws UsageError for boundary names that the mesh does not have, for numbers of other shapes than the patches', and for what
/// is wrong wherever it is evaluated.
void check(const PatchMesh& mesh, const PatchProblem& problem);

[[nodiscard]] std::shared_ptr<const PatchTopology> topology_of(const PatchMesh& mesh);
/// Of all patches.
[[nodiscard]] PatchLayout layout_of(const PatchMesh& mesh);
/// Where the Context has a communicator: of those that this rank has (mesh/patches/patch_partition.hpp).
[[nodiscard]] PatchLayout layout_of(const Context& ctx, const PatchMesh& mesh);

/// Of the patches that the rank has; collective. 2 x 2 Gauss points for the matrix, 4 x 4 for f, 2 x 2 on more than 2^18
/// cells; 4 points on intervals of the boundary. Throws UsageError for boundary names that the mesh does not have, K that is
/// not positive, c or alpha that is negative, numbers of other shapes than the patches', and functions that are not finite.
[[nodiscard]] PatchSystem assemble(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem);

/// Throws UsageError where the mesh has parts that do not meet, and u is determined up to a constant in one of them: it has no
/// Dirichlet and no Robin boundary, and there is no c.
void expect_determined(const PatchMesh& mesh, const PatchProblem& problem);

/// A consistent vector with g at Dirichlet nodes that is smooth in every patch, so that full multigrid finds a smooth difference
/// to the solution: transfinite interpolation (as nodes in mesh/patches/patch_mesh.hpp) between the patch's edges, linear on
/// those that are not Dirichlet. A vertex beside Dirichlet ones has their mean, one beside these the mean of these, and so on.
[[nodiscard]] std::vector<double> extended(const PatchMesh& mesh, const PatchSystem& system);

/// Of the same rows alone `load` and `boundary_values`, without the matrix: for data that change while K, c and alpha stay.
/// `layout`: layout_of(ctx, mesh), which takes longer to find than some data.
struct PatchData {
  std::vector<double> load{}, boundary_values{};
};
[[nodiscard]] PatchData assemble_data(Context& ctx, const PatchMesh& mesh, const PatchLayout& layout,
                                      const PatchProblem& problem);
/// M_ij = integral of capacity phi_i phi_j, by 2 x 2 Gauss points; a cell has the capacity at its centre. Empty: one. Throws
/// UsageError for one that is not positive and finite.
[[nodiscard]] PatchRowsOnHost assemble_mass(Context& ctx, const PatchMesh& mesh, const PatchLayout& layout,
                                            const ScalarFunction& capacity = {});

/// Beside the size of u: its L2 norm by 3 x 3 Gauss points a cell, its maximum at these points. Absolute where u = 0.
struct PatchErrors {
  double l2 = 0, largest = 0;
};
/// `nodal`: of each patch that the rank has (nx + 1) (ny + 1) numbers, x fastest, of others none; collective. With
/// `modulo_constants` of functions minus their means.
[[nodiscard]] PatchErrors relative_errors(Context& ctx, const PatchMesh& mesh, const ScalarFunction& exact,
                                          const std::vector<std::vector<double>>& nodal, bool modulo_constants = false);

}  // namespace stratum
