#pragma once

// GridRows: a matrix that somebody has, read as a nine-point operator on a grid of nx x ny nodes,
//
//     (A x)_k = sum over m of a_km x_m ,     k at node (i, j), m at one of the eight nodes around it where a_km != 0 .
//
// What is detected:
//
//   numbering   node (i, j) is unknown j nx + i (x first), or i ny + j (y first); any other is to be given
//   periodic    directions in which the first nodes are coupled to the last, where no numbering does without
//   identity rows, which hold nothing but their diagonal, as those of Dirichlet nodes that were kept, or less than 1e-13 of it,
//               as where penalties stand for them: x_k = b_k / a_kk is known,
//               and what other rows have towards it is carried to the right-hand side. Boundaries of such nodes alone are left
//               off
//               the grid; others stay on it, coupled to nothing
//   negative    diagonals throughout, as those of negative definite matrices: all is of -A then
//   triangle    one alone of a symmetric matrix, which is refused or filled in (multigrid/structured/rows_as_given.hpp)
//   symmetry    |a_km - a_mk| <= 1e-12 sqrt(a_kk a_mm); five bands are kept where it is to 8 eps
//   ends        a boundary is Neumann or Robin where its rows, less those behind them, sum to less than a tenth of what couples
//   the two;
//               else it is Dirichlet's. The number of cells says more: nx - 1 lie between nodes that are all there, nx + 1
//               between two Dirichlet boundaries whose nodes are not. It matters to the interpolation alone
//   singular    symmetric, no row fixed, every row sums to zero but for rounding, that of a text file included: the diagonal
//               loses what is left. Of grids that fall into parts, or have identity rows, every part by itself
//               (multigrid/singular_parts.hpp)
//
// On a Context with a communicator each subdomain gives rows of its own, all of the grid's between them:
//
//     no nodes given   those that follow the rows of the subdomains before; columns are numbers of the whole matrix
//     nodes given      any, in any order; columns are nodes, too, and numbers of rows in messages
//
// They are brought to subdomains of lines where the hierarchy cuts them (mesh/partition.hpp, core/comm/redistribution.hpp),
// from which `a`, `unknown`, `fixed` and `eliminated` are made: unknowns are numbers of the subdomain's lines then, and `moved`
// leads there. What is detected is the same on all subdomains, and refusals are thrown on all.
//
// Entries of a row come in any order; those of one place are added; zeros are none. Rows are read once, by the Context's
// threads. Throws UsageError, naming the first row, for rows that do not fit the grid, numbers that are not finite, diagonals
// that are missing, zero or of both signs, and arrays that are no matrix.

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stratum/core/comm/redistribution.hpp>
#include <stratum/core/names.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/singular_parts.hpp>

namespace stratum {

/// Rows k of a square matrix: entries start[k] .. start[k + 1] - 1. Index: std::int32_t or std::int64_t.
template <class Index>
struct RowArrays {
  std::span<const Index> start, column;
  std::span<const double> value;
};

/// Nine arrays of nx ny numbers one behind the other, or the five from the centre on: band_index(dx, dy), node (i, j) at
/// j nx + i. What reaches across a side couples to the other end. On subdomains each gives those of its own lines, as many as
/// it has, which follow the lines of the subdomains before.
struct BandArrays {
  std::span<const double> bands;
};

enum class Numbering : std::uint8_t { x_first, y_first, given };

/// Of the grid, with those beyond its outer nodes to Dirichlet boundaries that are not; 0: not known.
struct CellCounts {
  int x = 0, y = 0;
};

/// A matrix with entries on one side of its diagonal alone that looks like half of a symmetric one: is refused with this
/// question, gets its other triangle (not on subdomains), or is all there is.
enum class Triangle : std::uint8_t { ask, symmetric, general };
template <>
inline constexpr auto names_of<Triangle> = std::to_array<Named<Triangle>>({{Triangle::ask, "ask"},
                                                                           {Triangle::symmetric, "symmetric"},
                                                                           {Triangle::general, "general"}});

/// What is made of rows as they are read; levels are those of a matrix that lies on several subdomains.
struct OnSubdomains {
  bool scale_to_symmetry =
      false;  // rows by the scales, where there are such, that make A symmetric (core/operators/row_scales.hpp)
  std::optional<int> distributed_levels{};  // levels, as PartitionLevels takes it
  Triangle triangle = Triangle::ask;
};

/// Throws UsageError unless there are 1 to 2^31 - 1 nodes.
void expects_grid(int nx, int ny);

/// A subdomain's rows from entries in any order, those of one place added. Rows and columns are numbers of the whole matrix, or
/// nodes where own rows are given by these; else a subdomain's rows are those from its first to its last entry. `fault`: what
/// was wrong before. Throws UsageError on all subdomains.
[[nodiscard]] SparseRows own_rows(Communicator& comm, std::vector<SparseEntry> entries, std::string fault,
                                  std::span<const int> node, int nx, int ny);

struct GridRows {
  /// `node`: j nx + i of every unknown; empty: to be detected.
  template <class Index>
  GridRows(Context& ctx, const RowArrays<Index>& a, int nx, int ny, std::span<const int> node = {},
           const CellCounts& cells = {}, const OnSubdomains& on_subdomains = {});
  /// On subdomains ny counts its own lines.
  GridRows(Context& ctx, const BandArrays& a, int nx, int ny, const CellCounts& cells = {},
           const OnSubdomains& on_subdomains = {});

  /// Other values at the same places, into the same memory. Throws UsageError where rows become fixed or cease to be, and where
  /// five bands no longer suffice.
  template <class Index>
  void update(Context& ctx, const RowArrays<Index>& a);
  void update(Context& ctx, const BandArrays& a);

  /// Of this subdomain.
  [[nodiscard]] int unknowns() const { return moved ? static_cast<int>(moved->own_size()) : nx * ny; }
  /// Of the grid that is left, with the widths of the whole: one a cell between nodes that are there, and one beyond a
  /// Dirichlet boundary that is not; all alike where none are given. Throws UsageError for another number.
  [[nodiscard]] TensorMesh<2> mesh(const std::vector<double>& widths_x, const std::vector<double>& widths_y) const;

  int nx, ny;  // as given
  CellCounts cells;
  Numbering numbering{};
  bool periodic_x = false, periodic_y = false;
  std::vector<int> node;         // of a given numbering
  int first_i = 0, first_j = 0;  // of the grid that is left, and its size
  int left_nx = 0, left_ny = 0;
  BoundaryType west{}, east{}, south{}, north{};
  bool negative = false;                     // the diagonal of what was given: all that is here is of -A
  bool symmetric = false, singular = false;  // the latter: the whole grid, in one part
  SingularParts parts;
  std::string unsymmetric;  // where it is not, in words

  std::vector<int> unknown;  // at every node that is left, x first; empty where that is all in order
  std::vector<int> fixed;    // unknowns, and their diagonals
  std::vector<double> fixed_diagonal;
  /// a_km with k on the grid and m fixed, by rows: row r of `eliminated` is that of node lifted_node[r] of the grid that is
  /// left.
  SparseRows eliminated;
  std::vector<int> lifted_node;

  GridOperator<double> a;  // on left_nx x left_ny nodes, or the subdomain of them

  std::shared_ptr<const Redistribution> moved;  // on subdomains: from rows as they are given to those of the subdomain
  std::vector<double> scales;                   // of rows as they are given; empty: none
  int fixed_in_all = 0;

 private:
  OnSubdomains on_subdomains_{};
};

}  // namespace stratum
