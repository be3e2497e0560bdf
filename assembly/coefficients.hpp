#pragma once

// Coefficients of -div(K grad u) + c u = f, a number a cell: K = [kxx kxy; kxy kyy], symmetric positive definite, c >= 0.
//
// A coefficient is a number, a function, or numbers on the cells of a mesh, which the cells of refined ones inherit. Of a
// function K has the value at the centre of a cell. So have c and a capacity where the function does not jump within the cell
// by more than a twentieth. Where it does, as in cells that an edge of a region cuts, the cell has the function's mean, by the
// 4 x 4 Gauss rule; f must have its mean by the same rule there (add_averaged_load of assembly/poisson_problem.hpp), so that c
// u = f is balanced for a constant u whatever the cut. Values lie bottom row first, x fastest.
//
// Element matrix of a cell with widths hx and hy, corners a = (ax, ay) and b = (bx, by):
//
//     kxx hy/hx S(ax,bx) M(ay,by) + kyy hx/hy M(ax,bx) S(ay,by)
//       + kxy (D(ax) D(by) + D(bx) D(ay)) + c hx hy M(ax,bx) M(ay,by)
//
//     S = [1 -1; -1 1],  M = [2 1; 1 2] / 6,  D(a) = integral of the corner function's slope = (a ? 1 : -1) / 2 .
//
// Throws UsageError for values that are not finite, K that is not positive definite and c that is negative, naming the cell;
// for numbers whose cells do not refine to those of the mesh.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stratum/assembly/geometry.hpp>
#include <stratum/core/device/context.hpp>

namespace stratum {

/// Numbers on nx x ny cells, and the file they come from, if from one.
struct CellValues {
  int nx = 0, ny = 0;
  std::vector<double> values;
  std::string from{};
};

/// Parts, a power of two, that each of `given` cells is cut into to make `cells`; 0: none.
[[nodiscard]] int parts_of(int cells, int given);
/// The numbers of cells that `cells` refine, for messages.
[[nodiscard]] std::string coarser_counts(int cells);

struct Coefficient {
  std::optional<double> constant;
  ScalarFunction function;
  CellValues cells;

  Coefficient() = default;
  Coefficient(double value) : constant(value) {}                  // NOLINT(google-explicit-constructor)
  Coefficient(ScalarFunction f) : function(std::move(f)) {}       // NOLINT(google-explicit-constructor)
  Coefficient(CellValues numbers) : cells(std::move(numbers)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool is_given() const { return constant || function || !cells.values.empty(); }
};

/// K. Of a scalar one only xx is given.
struct Diffusion {
  Coefficient xx, xy, yy;
  /// One everywhere.
  [[nodiscard]] bool is_given() const { return xx.is_given() || xy.is_given() || yy.is_given(); }
};

struct BodyMap;  // assembly/bodies.hpp

/// On the cells of one mesh. Empty: yy is xx, xy and c are zero.
struct CellCoefficients {
  int nx = 0, ny = 0;
  std::vector<double> xx, xy, yy, c;
  std::vector<std::size_t> averaged{};      // cells where c is a mean, in their order
  std::shared_ptr<const BodyMap> bodies{};  // where there are any: K = 0 in solids without flux

  [[nodiscard]] bool is_scalar() const { return yy.empty() && xy.empty(); }
  [[nodiscard]] double kxx(int i, int j) const { return xx[at(i, j)]; }
  [[nodiscard]] double kxy(int i, int j) const { return xy.empty() ? 0 : xy[at(i, j)]; }
  [[nodiscard]] double kyy(int i, int j) const { return yy.empty() ? xx[at(i, j)] : yy[at(i, j)]; }
  [[nodiscard]] double reaction(int i, int j) const { return c.empty() ? 0 : c[at(i, j)]; }

 private:
  [[nodiscard]] std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i);
  }
};

[[nodiscard]] CellCoefficients on_cells(Context& ctx, const Geometry& mesh, const Diffusion& k, const Coefficient& c);

/// A heat capacity on the cells of the mesh, alike; the cells where it is a mean join `averaged`, if that is given, in their
/// order. Throws UsageError for one that is not positive.
[[nodiscard]] std::vector<double> capacity_on_cells(Context& ctx, const Geometry& mesh, const Coefficient& capacity,
                                                    std::vector<std::size_t>* averaged = nullptr);
/// The cells where this coefficient is a mean, if it is c or a capacity.
[[nodiscard]] std::vector<std::size_t> averaged_cells(Context& ctx, const Geometry& mesh,
                                                      const Coefficient& coefficient);

/// K and c that are products of functions of one direction each, to rounding: kxx_ij = x.xx_i y.xx_j and so on; kxy = 0. A
/// tensor operator holds them where its reaction term folds into the others (assembly/operators.hpp).
struct SeparableCoefficients {
  struct Factors {
    std::vector<double> xx, yy, c;  // a number an interval; c empty where there is no reaction
  };
  Factors x, y;
};
[[nodiscard]] std::optional<SeparableCoefficients> separated(const CellCoefficients& k);

/// Entry (a, b) of an element matrix.
[[nodiscard]] double element_entry(double hx, double hy, double kxx, double kxy, double kyy, double c, int ax, int ay,
                                   int bx, int by);

}  // namespace stratum
