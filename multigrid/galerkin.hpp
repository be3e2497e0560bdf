#pragma once

// Coarse operators from a matrix alone: the Galerkin product
//
//     A_c = P^T A P
//
// with the interpolation P of a Transfer. The product of a nine-point operator is a nine-point operator: coarse node (I, J)
// sums the rows of the 3 x 3 fine nodes around it, whose columns reach the 3 x 3 coarse nodes around (I, J). The product is
// formed one direction at a time. For bilinear elements on nested meshes and linear interpolation it equals the assembled
// coarse operator. Source: W. Hackbusch, Multi-Grid Methods and Applications, 1985, Section 3.7.
//
// Nine bands give nine bands, or five if the matrix is declared symmetric; symmetric storage formats give five. Products are
// formed in double: in float the rows of a coarse operator would lose the small sums that smooth functions see. Coarse
// coefficients that reach across the boundary are zero. Memory traffic per coarse node: 36 words read from nine bands (20 from
// five), 9 (5) written. Nothing waits for the stream but the checks.

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/transfer/transfer.hpp>

namespace stratum {

/// coarse = P^T fine P, into bands that are there: those of galerkin_operator.
void galerkin_product(Context& ctx, const GridOperator<double>& fine, const Transfer<double>& p,
                      GridOperator<double>& coarse);

/// Throws UsageError for a coefficient that is not finite or reaches across a side of the grid without being zero, for a row
/// whose diagonal entry is zero, and for one that is not symmetric where `symmetric` says that all are: two coefficients of
/// one pair of nodes may differ by rounding, 1e-12 of the geometric mean of their diagonal entries. Names the first such row.
/// Waits for the stream.
void check_coefficients(Context& ctx, const GridOperator<double>& a, bool symmetric = false);

/// Bands for the products of `fine`, on a coarser grid: five where its storage format or `symmetric` says that it is, else
/// nine.
[[nodiscard]] GridOperator<double> galerkin_operator(Context& ctx, const GridOperator<double>& fine,
                                                     const GridLayout<2>& coarse, bool symmetric = false);

/// The rows of all subdomains on the finest replicated level: bands of galerkin_operator, on the nodes of boundaries too
/// or not.
void gather(Context& ctx, const PartitionLevels& partition, const GridOperator<double>& own,
            GridOperator<double>& whole);

}  // namespace stratum
