#pragma once

// Matrices with coefficients that vary from cell to cell, for hierarchies made from a matrix.

#include <cstddef>

#include "reference/reference.hpp"

namespace test {

/// Bilinear elements on unit cells for -div(k grad u) with Dirichlet boundaries, k constant on each of the (nx + 1) x (ny + 1)
/// cells: k(i, j) is that of the cell below and left of node (i, j).
template <class Coefficient>
[[nodiscard]] reference::Stencil variable_laplace(int nx, int ny, const Coefficient& k) {
  reference::Stencil a(nx, ny);
  // Corners of a cell by number: x fastest. Entries of the stiffness matrix of a square by how two corners differ.
  const auto entry = [](int p, int q) { return p == q ? 2.0 / 3 : (p ^ q) == 3 ? -1.0 / 3 : -1.0 / 6; };
  for (int cy = 0; cy <= ny; ++cy)
    for (int cx = 0; cx <= nx; ++cx)
      for (int p = 0; p < 4; ++p)
        for (int q = 0; q < 4; ++q) {
          const int i = cx - 1 + p % 2, j = cy - 1 + p / 2, dx = q % 2 - p % 2, dy = q / 2 - p / 2;
          if (a.inside(i, j) && a.inside(i + dx, j + dy)) a.at(dx, dy, i, j) += k(cx, cy) * entry(p, q);
        }
  return a;
}

/// -u_xx - u_yy + c (cos t u_x + sin t u_y) by central and first-order upwind differences of unit width: an M-matrix, and not
/// symmetric.
[[nodiscard]] inline reference::Stencil convection(int nx, int ny, double vx, double vy) {
  reference::Stencil a(nx, ny);
  const auto positive = [](double v) { return v > 0 ? v : 0; };
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const double west = 1 + positive(vx), east = 1 + positive(-vx), south = 1 + positive(vy),
                   north = 1 + positive(-vy);
      a.at(0, 0, i, j) = west + east + south + north;
      if (i > 0) a.at(-1, 0, i, j) = -west;
      if (i + 1 < nx) a.at(1, 0, i, j) = -east;
      if (j > 0) a.at(0, -1, i, j) = -south;
      if (j + 1 < ny) a.at(0, 1, i, j) = -north;
    }
  return a;
}

}  // namespace test
