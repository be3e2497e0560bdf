#pragma once

// The Q1 matrix of a box between Dirichlet faces, K = 1, as its 27 bands, a row after another, and the load of f = 1: what
// peers of boxes solve, and what their true residuals are formed by. On the host in double.

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum::apps {

struct BoxSystem {
  static constexpr int bands = 27;
  std::array<int, 3> n;
  std::vector<double> rows, b;

  explicit BoxSystem(const TensorMesh<3>& mesh)
      : n{mesh.x().size() - 1, mesh.y().size() - 1, mesh.z().size() - 1}, rows(count() * bands), b(count()) {
    const auto width = [&](int d, int i) { return mesh.axis(d).widths()[static_cast<std::size_t>(i)]; };
    const auto k = [&](int d, int i, int to) {
      const double before = 1 / width(d, i), behind = 1 / width(d, i + 1);
      return to == 0 ? before + behind : to < 0 ? -before : -behind;
    };
    const auto m = [&](int d, int i, int to) {
      const double before = width(d, i), behind = width(d, i + 1);
      return to == 0 ? (before + behind) / 3 : (to < 0 ? before : behind) / 6;
    };
    const auto hat = [&](int d, int i) { return (width(d, i) + width(d, i + 1)) / 2; };
    std::size_t row = 0;
    each([&](int i, int j, int l) {
      b[row] = hat(0, i) * hat(1, j) * hat(2, l);
      double* const to = &rows[row++ * bands];
      each_band([&](int band, int dx, int dy, int dz) {
        const bool inside = has(0, i + dx) && has(1, j + dy) && has(2, l + dz);
        to[band] = inside ? k(0, i, dx) * m(1, j, dy) * m(2, l, dz) + m(0, i, dx) * k(1, j, dy) * m(2, l, dz) +
                                m(0, i, dx) * m(1, j, dy) * k(2, l, dz)
                          : 0;
      });
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
