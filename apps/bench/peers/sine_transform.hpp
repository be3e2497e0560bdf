#pragma once

// The fast direct solver of uniform meshes as a peer of the benchmark: the sines sin(pi k i / (nx + 1)) sin(pi l j / (ny + 1))
// are eigenvectors of the Q1 Laplacian with Dirichlet boundaries, so that two sine transforms of two dimensions solve A x = b,
//
//     x = S D^-1 S b ,   d_kl = kx_k my_l + mx_k ky_l ,   kx_k = (2 - 2 cos t) / hx ,   mx_k = hx (4 + 2 cos t) / 6 ,   t = pi k / (nx + 1)
//
// in double, by FFTW on one thread (kind RODFT00, in place). Set-up is FFTW's planning, which tries and measures. Source: FFTW
// manual, version 3.3, 1d Real-odd DFTs (DSTs).

#include <memory>
#include <string>
#include <vector>

#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

#include "support/timing.hpp"

namespace stratum::apps {

/// kx_k, mx_k, ky_l, my_l. Throws UsageError for a mesh that sine transforms do not solve on.
struct SineEigenvalues {
  std::vector<double> kx, mx, ky, my;
  explicit SineEigenvalues(const TensorMesh<2>& mesh);
};

/// The same in a box, by one transform of three dimensions and another one back: true residual and times; f = 1. Throws
/// ResourceError without FFTW, UsageError for another mesh.
[[nodiscard]] SolveReport solve_box_by_sines(const TensorMesh<3>& mesh, double rtol, Stopwatch now);
[[nodiscard]] bool sines_solve(const TensorMesh<3>& mesh);

/// Of a direct solver's x: the true residual, and whether it is below rtol || b ||; no times.
[[nodiscard]] SolveReport direct_report(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                                        FieldView<const double> x, double rtol);

class SineTransforms {
 public:
  [[nodiscard]] static bool available();
  [[nodiscard]] static std::string version();
  /// All intervals of a direction are alike, and no side is Neumann or Robin or periodic.
  [[nodiscard]] static bool solves(const TensorMesh<2>& mesh);

  /// Throws ResourceError when this program was built without FFTW, UsageError for a mesh that it does not solve on.
  SineTransforms(const TensorMesh<2>& mesh, Stopwatch now);

  /// `a` tells the true residual; there are no iterations.
  SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                    double rtol) const;

 private:
  Stopwatch now_;
  double setup_seconds_ = 0;
  GridLayout<2> shape_;
  std::shared_ptr<double> values_;
  std::shared_ptr<void> plan_;
  SineEigenvalues eigenvalues_;
};

}  // namespace stratum::apps
