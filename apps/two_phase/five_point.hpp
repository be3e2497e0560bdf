#pragma once

// Cell-centred five-point matrices: finite volumes for -div(kappa grad p) = f, kappa = 1 / density, on nx x ny equal cells,
//
//     (A p)_ij = sum over the neighbours nb of cell (i, j) of  l_nb (p_ij - p_nb)  +  s_ij p_ij .
//
// What leaves a cell through a face enters the next: rows sum to s, the entry of a sink, and where there is none A is singular,
// A 1 = 0 (walls, no flux). Links between cells of densities r and q are 2 / (r + q), the harmonic mean of kappa, times the
// face's length over the distance of the centres. Unknowns are numbered along x first, bottom row first.
//
// Throws UsageError for links that are negative or not finite, densities that are not positive, and counts that do not fit,
// naming the cell. Source of the layered matrix: R. Gupta, Implementation of the Deflated Preconditioned Conjugate Gradient
// Method for Bubbly Flow on the Graphical Processing Unit, 2010, Section 5, with the interface's diagonal as the sum of its
// links (the printed one makes A indefinite).

#include <vector>

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

struct FivePointLinks {
  int nx = 0, ny = 0;
  std::vector<double> east;   // of (i, j) and (i + 1, j), nx numbers a row; zero in the last column
  std::vector<double> north;  // of (i, j) and (i, j + 1); zero in the last row
  std::vector<double> sink;   // empty: none
  bool walls = true;          // no flux through the sides; false: zeros one cell beyond them, which `sink` accounts for

  [[nodiscard]] std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i);
  }
  /// Throws UsageError for what the page's head names.
  void validate(int threads = 1) const;
};

/// 4 on the diagonal and -1 beside it, zeros beyond the sides.
[[nodiscard]] FivePointLinks poisson_links(int nx, int ny);

/// Two layers on n x n cells between walls: a fluid of density 1 below row n / 2 - 1, one of density `contrast` above it, and a
/// row whose horizontal links are the mean of both.
[[nodiscard]] FivePointLinks layered_links(int n, double contrast);

/// Of densities on nx x ny cells of a rectangle of this width and height, between walls.
[[nodiscard]] FivePointLinks flow_links(int nx, int ny, const std::vector<double>& density, double width = 1,
                                        double height = 1, int threads = 1);

/// Cell (i, j) sinks with its own diagonal once more: A is regular, and one unknown of a singular problem is pinned. Not
/// advisable: what flows to the sink goes through one corner.
void pin(FivePointLinks& links, int i, int j);

struct Disc {
  double x = 0, y = 0, radius = 0;
};
/// `inside` where a cell's centre lies in a disc, `outside` elsewhere. Throws UsageError for a radius that is not positive.
[[nodiscard]] std::vector<double> densities_of_discs(int nx, int ny, const std::vector<Disc>& discs, double inside,
                                                     double outside, double width = 1, double height = 1,
                                                     int threads = 1);

/// phase first + (1 - phase) second, of phases in 0 .. 1. Throws UsageError for others, naming the cell.
[[nodiscard]] std::vector<double> densities_of_phase(int nx, int ny, const std::vector<double>& phase, double first,
                                                     double second);

/// A in five bands.
[[nodiscard]] GridOperator<double> five_point_operator(Context& ctx, const FivePointLinks& links);

/// The mesh whose unknowns are the cells: nodes at their centres, Neumann or Robin boundaries between walls, Dirichlet's else.
[[nodiscard]] TensorMesh<2> mesh_of_centres(const FivePointLinks& links);

}  // namespace stratum
