#pragma once

// Coefficients for comparing solvers: K per cell, one outside the patterns. Patterns are placed by cell numbers, i / nx and
// j / ny, so that they lie in the same cells however these are stretched. Random ones are the same on every machine with the
// same standard library.
//
// Source of the patterns: multigrid papers, among them R. Alcouffe, A. Brandt, J. Dendy, J. Painter, The Multi-Grid Method for
// the Diffusion Equation with Strongly Discontinuous Coefficients, SIAM J. Sci. Stat. Comput. 2, 1981.

#include <stratum/assembly/coefficients.hpp>

namespace stratum {

/// K = 1.
[[nodiscard]] CellCoefficients unit_cells(const TensorMesh<2>& mesh);
/// parts x parts squares, K = 1 and `contrast` in turn.
[[nodiscard]] CellCoefficients checkerboard(const TensorMesh<2>& mesh, int parts, double contrast);
/// 50 discs of radii 0.01 to 0.08, some of which overlap, K = `inside` in them.
[[nodiscard]] CellCoefficients discs(const TensorMesh<2>& mesh, double inside);
/// Eight strips three cells wide along x, along y or both, K = `inside` in them: channels, or barriers.
[[nodiscard]] CellCoefficients strips(const TensorMesh<2>& mesh, bool along_x, bool along_y, double inside);
/// exp(sigma N), N normal, every cell on its own.
[[nodiscard]] CellCoefficients log_normal(const TensorMesh<2>& mesh, double sigma);
/// 1 along a direction at this angle to x, 1 / ratio across it.
[[nodiscard]] CellCoefficients rotated(const TensorMesh<2>& mesh, double ratio, double degrees);

}  // namespace stratum
