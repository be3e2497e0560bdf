#pragma once

// The Q1 matrix of -div(K grad u) + c u on a mesh of quadrilaterals, with n.K grad u + alpha u given on its Neumann or Robin
// boundaries:
//
//     a_ij = integral of grad phi_i . K grad phi_j + c phi_i phi_j  +  integral of alpha phi_i phi_j over Neumann or Robin boundaries
//
// by 2 x 2 Gauss points in a cell, where K and c are constant, and 4 on an interval of a side. Five bands on the nodes that are
// unknowns; those of Dirichlet boundaries are eliminated. Words per unknown: 2 for positions and those of K and c read, 5
// written; about 500 operations. In other coordinates than Cartesian ones integrals are exact and K is diagonal. Nothing here
// waits for the stream but copies from the host. Throws UsageError as assembly/operators.hpp does.

#include <stratum/assembly/coefficients.hpp>
#include <stratum/assembly/mapped_element.hpp>
#include <stratum/assembly/operators.hpp>

namespace stratum {

/// As kernels see them.
struct MappedCellsView {
  FieldView<const double> x, y;                   // of nodes, numbered with the boundaries
  FieldView<const double> xx, xy, yy, c;          // of cells; null: ones, zeros, xx, zeros
  const double *in_x = nullptr, *in_y = nullptr;  // weights of intervals, where coordinates are not Cartesian
  double constant_reaction = 0;                   // beside c

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE MappedElement element(int i, int j) const {
    CellMaterial k;
    if (xx.data != nullptr) k.xx = k.yy = xx(i, j);
    if (xy.data != nullptr) k.xy = xy(i, j);
    if (yy.data != nullptr) k.yy = yy(i, j);
    k.c = constant_reaction + (c.data != nullptr ? c(i, j) : 0.0);
    if (in_x != nullptr) return {in_x + AxisWeights::count * i, in_y + AxisWeights::count * j, k};
    return {
        {x(i, j), x(i + 1, j), x(i, j + 1), x(i + 1, j + 1)}, {y(i, j), y(i + 1, j), y(i, j + 1), y(i + 1, j + 1)}, k};
  }
};

/// The cells of a mesh where the Context computes.
class MappedCells {
 public:
  /// `k`: null where K = 1 and c = 0.
  MappedCells(Context& ctx, const MappedMesh& mesh, const CellCoefficients* k, double constant_reaction = 0);

  [[nodiscard]] MappedCellsView view() const;
  [[nodiscard]] bool has_reaction() const { return constant_reaction_ != 0 || !c_.empty(); }

 private:
  Field<double> x_, y_, xx_, xy_, yy_, c_, in_x_, in_y_;
  double constant_reaction_;
};

/// `cells` with the constant reaction of `terms`; an alpha that varies is a function of the distance along its side of the
/// logical mesh.
[[nodiscard]] GridOperator<double> assemble_diffusion(Context& ctx, const MappedMesh& mesh, const MappedCells& cells,
                                                      const OperatorTerms& terms = {});
/// Of a subdomain (mesh/partition.hpp), the cells those of the whole mesh.
[[nodiscard]] GridOperator<double> assemble_diffusion(Context& ctx, const MappedMesh& mesh, const MappedCells& cells,
                                                      const OperatorTerms& terms, const GridLayout<2>& subdomain);

}  // namespace stratum
