#pragma once

// Rows of a matrix on a grid that are a diagonal entry alone: nodes whose value is known, as those of a body that is held at a
// value. What a cycle does with them.
//
// The correction of such a node is zero. An interpolation P from a coarser grid that leaves them out, and the coarse matrix,
// are
//
//     A_c = P^T A P      P without rows of these nodes, and without columns of coarse nodes that lie on them
//
// so that they weigh nothing in the equations of other coarse nodes: in the product their diagonal entries are zero. A coarse
// node that lies on one has such a row itself. The cycle's P has weights at these nodes, as it has at others. That does no
// harm: a smoother that solves lines or points takes what P writes there, and a diagonal entry of a coarse level that is by a
// factor of `firm` above all others keeps the correction there at zero to rounding.
//
// Of a user's matrix nobody says what its identity rows are. `link_solids` takes those whose free neighbours' rows sum to
// nothing, as at a wall without flux, for solids, and links them to their neighbours by next to nothing: coarse nodes that lie
// in a solid then serve what is narrow beside it. Those beside rows that sum to something are nodes with a value. A wrong guess
// costs iterations, and nothing else.
//
// Kernels, for the stream, unless a line says that it waits. Only matrices in bands have such rows.

#include <span>

#include <stratum/core/field/field.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/multigrid/transfer/transfer.hpp>

namespace stratum {

/// Nodes that `keep` has a zero for lose their couplings; diagonals that are zero there become one. `keep` has its halo.
void decouple(Context& ctx, const Field<double>& keep, GridOperator<double>& a);

/// The diagonal entries of rows without couplings become zero; what all were.
[[nodiscard]] Field<double> hide_identity_rows(Context& ctx, GridOperator<double>& a);
void restore_diagonal(Context& ctx, const Field<double>& diagonal, GridOperator<double>& a);

/// The product of a matrix whose identity rows are hidden: coarse nodes that lie on such rows lose their couplings and their
/// diagonal entry. cells_x, cells_y: of the finer mesh.
void hide_coarse_rows(Context& ctx, const GridOperator<double>& fine, const Transfer<double>& p, int cells_x,
                      int cells_y, GridOperator<double>& coarse);
/// Diagonal entries that are zero become `firm` times the largest one. Waits for the stream.
void firm_identity_rows(Context& ctx, GridOperator<double>& a);
inline constexpr double firm = 1e4;

/// A symmetric matrix in bands that is `a` with its solids linked. `unknown`: below 0 at nodes of identity
/// rows, x first; of a subdomain its own.
struct LinkedSolids {
  GridOperator<double> matrix;
  bool any_solid = false, any_value = false;
};
/// Waits for the stream.
[[nodiscard]] LinkedSolids link_solids(Context& ctx, std::span<const int> unknown, const GridOperator<double>& a);

}  // namespace stratum
