#pragma once

// The Q1 matrix of -Laplace u + c u on a tensor-product mesh, with n.grad u + alpha u given on its Neumann or Robin boundaries,
//
//     A = Kx (x) My + Mx (x) Ky + c Mx (x) My,    K = 1/h [1 -1; -1 1],   M = h/6 [2 1; 1 2]   per interval,
//
// and alpha added to K at a Neumann or Robin boundary (alpha = 0: Neumann), restricted to the nodes that are unknowns (those of
// Dirichlet boundaries are eliminated symmetrically; their identity rows are not stored). An alpha that varies along its side
// adds the integrals of alpha phi_i phi_j, by the 4-point Gauss rule; a tensor operator cannot hold it. Entries are formed in
// double and converted at the end. Throws UsageError when an entry leaves the range of T, for c or alpha that is negative or
// not finite, for alpha at a side that is not Neumann or Robin, and for a tensor operator where alpha varies.

#include <functional>
#include <optional>

#include <stratum/assembly/cell_fields.hpp>
#include <stratum/assembly/coefficients.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// alpha of one side: a number, or a function of the distance along the side from its first end.
struct RobinCoefficient {
  double constant = 0;
  std::function<double(double)> varying;
  [[nodiscard]] bool is_zero() const { return constant == 0 && !varying; }
};

/// What A has beside the Laplacian.
struct OperatorTerms {
  double reaction = 0;                        // c
  RobinCoefficient left, right, bottom, top;  // alpha

  [[nodiscard]] bool varies() const { return left.varying || right.varying || bottom.varying || top.varying; }
};

/// A u = 0 for constants: no Dirichlet boundary, no alpha and no reaction. Decided from the problem, never from entries.
[[nodiscard]] bool is_singular(const TensorMesh<2>& mesh, const OperatorTerms& terms);

/// Of all unknowns of the mesh, or of a subdomain of them (mesh/partition.hpp).
template <class T>
[[nodiscard]] GridOperator<T> assemble_operator(Context& ctx, const TensorMesh<2>& mesh, StorageFormat format,
                                                const OperatorTerms& terms,
                                                const std::optional<GridLayout<2>>& subdomain = {});
/// Without other terms.
template <class T>
[[nodiscard]] GridOperator<T> assemble_laplace(Context& ctx, const TensorMesh<2>& mesh, StorageFormat format) {
  return assemble_operator<T>(ctx, mesh, format, {});
}

/// The same operator with its entries in memory. Throws UsageError for a storage format that has none.
[[nodiscard]] GridOperator<double> stored(Context& ctx, const GridOperator<double>& a, StorageFormat format);

/// -div(K grad u) + c u with K and c by cells, c beside `terms.reaction`: a tensor operator where they are separable and it
/// holds them, else an element-coefficient operator. (A separable c whose weights are those of K's masses folds into a tensor
/// operator, an alpha where K is constant along its side.)
[[nodiscard]] GridOperator<double> assemble_diffusion(Context& ctx, const TensorMesh<2>& mesh,
                                                      const CellCoefficients& k, const OperatorTerms& terms = {});
/// The same with the fields of k, which kernels take c beside it from; on a subdomain, both those of the whole mesh.
[[nodiscard]] GridOperator<double> assemble_diffusion(Context& ctx, const TensorMesh<2>& mesh,
                                                      const CellCoefficients& k, const CellFields& fields,
                                                      const OperatorTerms& terms, const GridLayout<2>& subdomain);

/// Another c for a tensor operator of this mesh that was assembled with one, in the memory it has: nothing is allocated on the
/// device. `terms` are the operator's with the new c.
template <class T>
void set_reaction(Context& ctx, const TensorMesh<2>& mesh, const OperatorTerms& terms, GridOperator<T>& a);

/// The matrix of the integrals of `capacity` phi_i phi_j, as a tensor operator; of all unknowns or a subdomain of them.
[[nodiscard]] GridOperator<double> assemble_mass(Context& ctx, const TensorMesh<2>& mesh, double capacity,
                                                 const GridLayout<2>& subdomain);

/// What an element-coefficient operator stores of this K.
[[nodiscard]] CellTensor cell_tensor(const TensorMesh<2>& mesh, const CellCoefficients& k);
/// -div(K grad u) + c u in cell form, separable or not, with room for K of this kind and for c; in five bands where `form` says
/// so, which an alpha that varies along its side needs. K = 0 gives the mass matrix of c. Of all unknowns or a subdomain of
/// them, the fields those of the whole mesh.
[[nodiscard]] GridOperator<double> assemble_cells(Context& ctx, const TensorMesh<2>& mesh, const CellFields& fields,
                                                  const OperatorTerms& terms, CellTensor tensor, StorageFormat format,
                                                  const GridLayout<2>& subdomain);
/// Other coefficients for one of those, `fields` those of k, in the memory it has; nothing is allocated on the device where it
/// is of cell form. Throws UsageError for K that it has no room for.
void assign_cells(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& k, const CellFields& fields,
                  const OperatorTerms& terms, GridOperator<double>& a);

}  // namespace stratum
