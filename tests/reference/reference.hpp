#pragma once

// Serial oracles in double precision on std::vector<double>: what every fast path is compared with. Plain loops,
// written from the formulae and sharing no code with the library. A grid function holds node (i, j) at j * nx + i;
// nodes and lines count from 1 in the formulae below (0 is the boundary), from 0 in the arrays.

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace reference {

using Values = std::vector<double>;

/// Nine coefficients at every node: coefficient(dx, dy, i, j) multiplies x at (i + dx, j + dy). Coefficients that reach
/// across a side are zero. In a periodic direction there is none, and the first node lies behind the last.
struct Stencil {
  int nx = 0;
  int ny = 0;
  bool periodic_x = false;
  bool periodic_y = false;
  std::array<Values, 9> band;

  Stencil() = default;
  Stencil(int nodes_x, int nodes_y, bool joined_x = false, bool joined_y = false);
  [[nodiscard]] double& at(int dx, int dy, int i, int j);
  [[nodiscard]] double coefficient(int dx, int dy, int i, int j) const;
  [[nodiscard]] bool inside(int i, int j) const {
    return (periodic_x || (i >= 0 && i < nx)) && (periodic_y || (j >= 0 && j < ny));
  }
  [[nodiscard]] std::size_t index(int i, int j) const;
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny); }
};

/// Kx (x) My + Mx (x) Ky + c Mx (x) My of 1-D factors: interval i has stiffness kx[i] [1 -1; -1 1] and mass mx[i] [2 1; 1 2].
/// In a periodic direction the last interval is the first.
Stencil kronecker(const Values& kx, const Values& mx, const Values& ky, const Values& my, double c = 0,
                  bool periodic_x = false, bool periodic_y = false);
/// Bilinear elements for -Laplace on the intervals hx, hy.
Stencil laplace(const Values& hx, const Values& hy);

Values apply(const Stencil& a, const Values& x);
Values residual(const Stencil& a, const Values& b, const Values& x);
double dot(const Values& x, const Values& y);
double norm(const Values& x);
/// max |x_i - y_i| / max |y_i|
double relative_difference(const Values& x, const Values& y);

/// Bilinear elements for -div(K grad u) + c u between Dirichlet or periodic boundaries, K and c given by (cell in x, cell in
/// y); 2 x 2 Gauss points.
struct CellTerms {
  double xx = 1, xy = 0, yy = 1, c = 0;
};
Stencil diffusion(const Values& hx, const Values& hy, const std::function<CellTerms(int, int)>& terms,
                  bool periodic_x = false, bool periodic_y = false);

/// A^-1 b by elimination within the band, without pivoting: for positive definite or diagonally dominant A.
Values solve(const Stencil& a, const Values& b);

enum class Lines { zebra, simultaneous };

/// x <- x + omega D^-1 (b - A x)
void jacobi(const Stencil& a, const Values& b, Values& x, double omega);
/// Gauss-Seidel by four colours: odd x in odd rows, even x in odd rows, then the same in even rows; backwards reversed.
void colour_gs(const Stencil& a, const Values& b, Values& x, double omega, bool backward);
/// Tridiagonal solves for the defect along every x line (or y line). Zebra: odd lines, then even, and of an odd number of lines
/// across a periodic direction the last alone; backwards reversed. Periodic directions count lines from 0.
void line_x(const Stencil& a, const Values& b, Values& x, Lines order, double omega, bool backward);
void line_y(const Stencil& a, const Values& b, Values& x, Lines order, double omega, bool backward);
/// x lines, then y lines; backwards reversed.
void adi(const Stencil& a, const Values& b, Values& x, Lines order, double omega, bool backward);

struct SmootherChoice {
  std::string name = "adi";  // jacobi, colour_gs, line_x, line_y, adi
  Lines order = Lines::zebra;
  double omega = 1;
};

/// Sweeps: an application of adi is two.
void smooth(const SmootherChoice& choice, const Stencil& a, const Values& b, Values& x, int sweeps, bool backward);

/// Intervals merged in pairs where their number is even and more than two; otherwise as they are.
Values coarser(const Values& h);

/// Interpolation from the nodes of the merged intervals to those of (hx, hy), and its transpose.
Values prolongate(const Values& hx, const Values& hy, const Values& coarse);
Values restrict_to(const Values& hx, const Values& hy, const Values& fine);

/// What is done on the next coarser mesh: V once the same, W twice the same, F an F-cycle and then a V-cycle.
enum class Shape { v, w, f };

struct CycleChoice {
  SmootherChoice smoother;
  int sweeps = 4;
  Shape shape = Shape::v;
  bool symmetric = false;  // post-smoothing backwards
};

/// One cycle for A x = b on (hx, hy), with an exact solve on the coarsest mesh.
void cycle(const CycleChoice& choice, const Values& hx, const Values& hy, const Values& b, Values& x);

}  // namespace reference
