#pragma once

// The Q1 matrix of a box between Dirichlet faces, K by cells, as its 27 bands, a row after another, and the load of f = 1: what
// peers of boxes solve, and what their true residuals are formed by. On the host in double.

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum::apps {

struct BoxSystem {
  static constexpr int bands = 27;
  std::array<int, 3> n;
  std::vector<double> rows, b;

  /// `k`: at the middles of cells; null: 1.
  BoxSystem(const TensorMesh<3>& mesh, const ScalarFunction3D& k)
      : n{mesh.x().size() - 1, mesh.y().size() - 1, mesh.z().size() - 1}, rows(count() * bands), b(count()) {
    const auto width = [&](int d, int i) { return mesh.axis(d).widths()[static_cast<std::size_t>(i)]; };
    const auto middle = [&](int d, int i) {
      return mesh.axis(d).origin() + mesh.axis(d).from_begin()[static_cast<std::size_t>(i)] + width(d, i) / 2;
    };
    const auto stiffness = [&](int d, int i, bool same) { return (same ? 1 : -1) / width(d, i); };
    const auto mass = [&](int d, int i, bool same) { return width(d, i) * (same ? 2 : 1) / 6; };
    const auto hat = [&](int d, int i) { return (width(d, i) + width(d, i + 1)) / 2; };
    std::size_t row = 0;
    each([&](int i, int j, int l) {
      b[row] = hat(0, i) * hat(1, j) * hat(2, l);
      double* const to = &rows[row++ * bands];
      // Cells around the node, of each what its corners give.
      for (int cell = 0; cell < 8; ++cell) {
        const std::array<int, 3> c{cell & 1, cell >> 1 & 1, cell >> 2}, at{i + c[0], j + c[1], l + c[2]};
        const double of_cell = k ? k({middle(0, at[0]), middle(1, at[1]), middle(2, at[2])}) : 1.0;
        for (int corner = 0; corner < 8; ++corner) {
          const std::array<int, 3> q{corner & 1, corner >> 1 & 1, corner >> 2};
          std::array<int, 3> step{};
          std::array<double, 3> s{}, m{};
          for (std::size_t d = 0; d < 3; ++d) {
            const int axis = static_cast<int>(d);
            step[d] = q[d] + c[d] - 1;  // the node is corner 1 - c
            s[d] = stiffness(axis, at[d], step[d] == 0);
            m[d] = mass(axis, at[d], step[d] == 0);
          }
          if (!has(0, i + step[0]) || !has(1, j + step[1]) || !has(2, l + step[2])) continue;
          to[(step[2] + 1) * 9 + (step[1] + 1) * 3 + step[0] + 1] +=
              of_cell * (s[0] * m[1] * m[2] + m[0] * s[1] * m[2] + m[0] * m[1] * s[2]);
        }
      }
    });
  }
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
  [[nodiscard]] double residual(const std::vector<double>& x) const {
    double square = 0;
    for (std::size_t row = 0; row < b.size(); ++row) {
      double r = b[row];
      each_band([&](int band, int dx, int dy, int dz) {
        const double entry = rows[row * bands + static_cast<std::size_t>(band)];
        if (entry != 0) r -= entry * x[static_cast<std::size_t>(static_cast<std::int64_t>(row) + step(dx, dy, dz))];
      });
      square += r * r;
    }
    return std::sqrt(square);
  }
};

}  // namespace stratum::apps
