#pragma once

// The Q1 matrix of a box between Dirichlet faces, K by cells, as its 27 bands, a row after another, and the load of f = 1: what
// peers of boxes solve, and what their true residuals are formed by. On the host in double.

#include <array>
#include <cstddef>
#include <vector>

#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum::apps {

class BoxSystem {
 public:
  static constexpr int bands = 27;
  std::array<int, 3> n;
  std::vector<double> rows, b;

  /// `k`: at the middles of cells, which `threads` ask for at once; null: 1.
  BoxSystem(const TensorMesh<3>& mesh, const ScalarFunction3D& k, int threads = 1);
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(n[0]) * static_cast<std::size_t>(n[1]) * static_cast<std::size_t>(n[2]);
  }
  [[nodiscard]] bool has(int d, int i) const { return i >= 0 && i < n[static_cast<std::size_t>(d)]; }
  [[nodiscard]] int step(int dx, int dy, int dz) const { return (dz * n[1] + dy) * n[0] + dx; }
  template <class F>
  void each(const F& f) const {
    for (int l = 0; l < n[2]; ++l)
      for (int j = 0; j < n[1]; ++j)
        for (int i = 0; i < n[0]; ++i) f(i, j, l);
  }
  template <class F>
  static void each_band(const F& f) {
    int band = 0;
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) f(band++, dx, dy, dz);
  }
  /// ||b - A x||_2.
  [[nodiscard]] double residual(const std::vector<double>& x) const;

 private:
  int threads_;
};

}  // namespace stratum::apps
