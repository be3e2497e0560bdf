#pragma once

// Values of a Q1 function on patches between its nodes: the patch and the cell that a point lies in, and its fractions there
// (assembly/point_values.hpp). A point on an edge of patches belongs to one of them, one outside by less than 1e-12 of the
// domain's size to the cell that it touches. Where an edge is a curve the domain is that of the cells, a polygon.
// On the host. Nodal values are those of all nodes of each patch, x fastest. A point outside is no error: `locate` returns
// nothing.

#include <optional>
#include <span>
#include <vector>

#include <stratum/assembly/point_values.hpp>
#include <stratum/mesh/patches/patch_mesh.hpp>

namespace stratum {

struct PatchPoint {
  int patch = 0;
  MeshPoint at{};
};

class PatchLocator {
 public:
  explicit PatchLocator(const PatchMesh& mesh);
  /// Nothing for a point outside.
  [[nodiscard]] std::optional<PatchPoint> locate(const Position& p) const;
  /// `nodal`: values at all nodes of each patch, x fastest.
  [[nodiscard]] double value_at(std::span<const std::vector<double>> nodal, const PatchPoint& p) const;

 private:
  struct Box {
    double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
    void add(const Position& p);
    [[nodiscard]] bool contains(const Position& p, double margin) const {
      return p.x >= x0 - margin && p.x <= x1 + margin && p.y >= y0 - margin && p.y <= y1 + margin;
    }
  };
  struct Patch {
    int nx = 0, ny = 0;
    std::vector<Position> nodes{};
    Box whole{};
    std::vector<Box> rows{};  // of cells
  };
  std::vector<Patch> patches_;
  double size_ = 0;
};

}  // namespace stratum
