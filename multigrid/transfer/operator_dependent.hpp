#pragma once

// Interpolation that follows K in -div(K grad u) + c u: that of a network of resistors between the nodes.
//
// A cell conducts gx = kxx hy / hx along x and gy = kyy hx / hy along y. A coarse cell conducts as its cells do, in series
// along the direction and parallel across it:
//
//     gx_C = sum over its rows of 1 / (sum over the row of 1 / gx)          gy_C alike
//
// The node between coarse nodes L and R, with wL = gx of the two cells at its left and wR of those at its right (0 outside the
// grid), is
//
//     x = (wL x_L + wR x_R) / (wL + wR)          of widths, where K = 1
//
// The node at the centre of a coarse cell satisfies its equation A x = 0, its neighbours on the cell's edges being
// interpolated, where s = - (sum of the eight other coefficients) >= a_(0,0) / 2; beside a Dirichlet boundary, whose
// coefficients a matrix need not hold, s is a_(0,0) less what a reaction term adds to the row. Where the reaction dominates it
// is the mean of the four neighbours, weighted by conductances. No weight suffers cancellation; with K = 1 all are those of the
// widths.
//
// Or wL and wR are split sums, - (a_(-1,-1) + a_(-1,0) + a_(-1,1)) of the part A_x of A that has derivatives in x, those in y
// of A_y, both with the mixed terms, on all nodes, carried down as P^T A_x P: fewer cycles where K jumps (where a sum is
// negative, conductances). Of a five-point matrix A_x are the links along x, A_y those along y.
//
// Where no K is known, wL and wR are sums of a matrix row, - (a_(-1,-1) + a_(-1,0) + a_(-1,1)) and so on (beside a Dirichlet
// side what the others leave of the diagonal entry), as long as both are above 1e-6 of their entries: below it rounding would
// be amplified from level to level. There, and in the row beside a Dirichlet boundary, the widths serve.
//
// Sources: J. E. Dendy, Black Box Multigrid, J. Comput. Phys. 48, 1982 (sums, centres); conductances as in AMReX's nodal
// solvers. Nothing here waits for the stream but the making of Conductances.

#include <cstdint>

#include <stratum/assembly/cell_fields.hpp>
#include <stratum/assembly/coefficients.hpp>
#include <stratum/assembly/mapped_operators.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/multigrid/transfer/transfer.hpp>

namespace stratum {

/// Of the cells of a mesh.
struct Conductances {
  Field<double> x, y;      // gx, gy
  Field<double> reaction;  // c hx hy; empty where there is none

  /// Of a mesh with this many cells, zero.
  Conductances(Context& ctx, const TensorMesh<2>& mesh, bool with_reaction);
  /// K and c of these cells; c beside a constant one. Throws UsageError for those of another mesh.
  Conductances(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& k, double constant_reaction = 0);
  Conductances(Context& ctx, const TensorMesh<2>& mesh, const CellFields& fields);
  /// K = 1.
  Conductances(Context& ctx, const TensorMesh<2>& mesh);
  /// Of a five-point matrix on all nodes of the mesh: a cell conducts along x as the mean of the links on its lower and its
  /// upper edge, and along y alike.
  Conductances(Context& ctx, const TensorMesh<2>& mesh, const GridOperator<double>& a);
  /// Of quadrilaterals: integrals of g_tt and g_ss (assembly/mapped_element.hpp), which on rectangles are the above.
  Conductances(Context& ctx, const MappedMesh& mesh, const MappedCells& cells);

  /// Those of other K and c, in the same memory.
  void assign(Context& ctx, const CellFields& fields);
};

/// Those of the next coarser mesh.
void coarsen(Context& ctx, const Conductances& fine, Conductances& coarse);

/// Where the weights of edges come from.
enum class EdgeWeights : std::uint8_t { conductances, matrix };

/// The weights of p (Transfer::weighted) for A on its fine grid, or on a subdomain of it; k is that of the whole mesh. From the
/// matrix, k serves where its sums do not: that of the widths. With `identity_rows` rows of A lack what they had towards nodes
/// whose values are known, and centres take it from the diagonal entry.
void set_conductance_weights(Context& ctx, const GridOperator<double>& a, const Conductances& k, EdgeWeights edges,
                             Transfer<double>& p, bool identity_rows = false);

/// A_x and A_y on all nodes of a mesh, whatever its ends; of a subdomain of its unknowns on these rows, and those of sides
/// where the subdomain ends.
class SplitParts {
 public:
  SplitParts(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& k, const GridLayout<2>& unknowns);
  /// Of a five-point matrix on all nodes of the mesh.
  SplitParts(Context& ctx, const TensorMesh<2>& mesh, const GridOperator<double>& a);
  /// The weights of p by split sums, and A_x and A_y of the coarser mesh.
  void set_weights(Context& ctx, const GridOperator<double>& a, const Conductances& k, Transfer<double>& p) const;
  void coarsen(Context& ctx, const Transfer<double>& p, const TensorMesh<2>& coarse);
  /// Of the finest replicated level, which they have been coarsened to: the rows of all subdomains, on every subdomain.
  void gather(Context& ctx, const PartitionLevels& partition);

 private:
  TensorMesh<2> mesh_;  // its ends are Neumann or Robin where they are not periodic
  GridOperator<double> x_, y_;
};

}  // namespace stratum
