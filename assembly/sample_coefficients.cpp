#include <stratum/assembly/sample_coefficients.hpp>

#include <array>
#include <cmath>
#include <numbers>
#include <random>

namespace stratum {

namespace {

/// K from a function of the cell's numbers.
template <class K>
CellCoefficients by_cells(const TensorMesh<2>& mesh, const K& k) {
  CellCoefficients cells;
  cells.nx = mesh.x().size();
  cells.ny = mesh.y().size();
  cells.xx.reserve(static_cast<std::size_t>(mesh.cells()));
  for (int j = 0; j < cells.ny; ++j)
    for (int i = 0; i < cells.nx; ++i) cells.xx.push_back(k(i, j));
  return cells;
}

}  // namespace

CellCoefficients unit_cells(const TensorMesh<2>& mesh) {
  return by_cells(mesh, [](int, int) { return 1.0; });
}

CellCoefficients checkerboard(const TensorMesh<2>& mesh, int parts, double contrast) {
  const std::int64_t nx = mesh.x().size(), ny = mesh.y().size(), n = parts;
  return by_cells(mesh, [=](int i, int j) { return (i * n / nx + j * n / ny) % 2 != 0 ? contrast : 1.0; });
}

CellCoefficients discs(const TensorMesh<2>& mesh, double inside) {
  struct Disc {
    double x, y, radius;
  };
  std::array<Disc, 50> all;
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> uniform;
  for (auto& [x, y, radius] : all) {
    x = uniform(engine);
    y = uniform(engine);
    radius = 0.01 + 0.07 * uniform(engine);
  }
  const int nx = mesh.x().size(), ny = mesh.y().size();
  return by_cells(mesh, [&](int i, int j) {
    for (const auto& [x, y, radius] : all)
      if (std::hypot((i + 0.5) / nx - x, (j + 0.5) / ny - y) < radius) return inside;
    return 1.0;
  });
}

CellCoefficients strips(const TensorMesh<2>& mesh, bool along_x, bool along_y, double inside) {
  constexpr int count = 8, width = 3;
  const auto in_a_strip = [](int i, int cells, int step) {
    for (int q = 0; q < count; ++q) {
      const int first = static_cast<int>((q + 0.5) * cells / count) + (q * step) % 7 - width;
      if (i >= first && i < first + width) return true;
    }
    return false;
  };
  const int nx = mesh.x().size(), ny = mesh.y().size();
  return by_cells(mesh, [&](int i, int j) {
    return (along_x && in_a_strip(j, ny, 3)) || (along_y && in_a_strip(i, nx, 5)) ? inside : 1.0;
  });
}

CellCoefficients log_normal(const TensorMesh<2>& mesh, double sigma) {
  std::mt19937 engine(1);
  std::normal_distribution<double> normal;
  return by_cells(mesh, [&](int, int) { return std::exp(sigma * normal(engine)); });
}

CellCoefficients rotated(const TensorMesh<2>& mesh, double ratio, double degrees) {
  const double angle = degrees * std::numbers::pi / 180, s = std::sin(angle), c = std::cos(angle);
  CellCoefficients cells = unit_cells(mesh);
  const std::size_t count = cells.xx.size();
  cells.xx.assign(count, c * c + s * s / ratio);
  cells.yy.assign(count, s * s + c * c / ratio);
  cells.xy.assign(count, s * c * (1 - 1 / ratio));
  return cells;
}

}  // namespace stratum
