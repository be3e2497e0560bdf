#include "box_system.hpp"

#include <cmath>
#include <cstdint>

namespace stratum::apps {

BoxSystem::BoxSystem(const TensorMesh<3>& mesh, const ScalarFunction3D& k, int threads)
    : n{mesh.x().size() - 1, mesh.y().size() - 1, mesh.z().size() - 1}, rows(count() * bands), b(count()),
      threads_(threads) {
  const auto width = [&](int d, int i) { return mesh.axis(d).widths()[static_cast<std::size_t>(i)]; };
  const auto middle = [&](int d, int i) {
    return mesh.axis(d).origin() + mesh.axis(d).from_begin()[static_cast<std::size_t>(i)] + width(d, i) / 2;
  };
  const auto stiffness = [&](int d, int i, bool same) { return (same ? 1 : -1) / width(d, i); };
  const auto mass = [&](int d, int i, bool same) { return width(d, i) * (same ? 2 : 1) / 6; };
  const auto hat = [&](int d, int i) { return (width(d, i) + width(d, i + 1)) / 2; };
  const auto assemble = [&](std::size_t row, int i, int j, int l) {
    b[row] = hat(0, i) * hat(1, j) * hat(2, l);
    double* const to = &rows[row * bands];
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
  };
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int l = 0; l < n[2]; ++l) {
    auto row = count() / static_cast<std::size_t>(n[2]) * static_cast<std::size_t>(l);
    for (int j = 0; j < n[1]; ++j)
      for (int i = 0; i < n[0]; ++i) assemble(row++, i, j, l);
  }
}

double BoxSystem::residual(const std::vector<double>& x) const {
  double square = 0;
#pragma omp parallel for schedule(static) num_threads(threads_) reduction(+ : square)
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

}  // namespace stratum::apps
