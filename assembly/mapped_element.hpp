#pragma once

// The Q1 element matrix of a quadrilateral, by 2 x 2 Gauss points, on host and device. With J = d(x, y)/d(t, s) and phi_a the
// corner functions of the unit square,
//
//     a_ab = integral of grad phi_a . g grad phi_b + c det J phi_a phi_b,      g = det J  J^-1 K J^-T ,
//
// gradients by t and s. A slope by t does not depend on t, so that of g_tt only the sums over the points at one height matter.
// On a rectangle entries are those of element_entry (assembly/coefficients.hpp) to rounding.

#include <stratum/core/config.hpp>
#include <stratum/mesh/mapped_mesh.hpp>

namespace stratum {

/// K and c of a cell.
struct CellMaterial {
  double xx = 1, xy = 0, yy = 1, c = 0;
};

/// x or y of the corners (0, 0), (1, 0), (0, 1), (1, 1).
struct CornerNumbers {
  double sw, se, nw, ne;
};

class MappedElement {
 public:
  /// Of no cell: zero.
  MappedElement() = default;

  STRATUM_HOST_DEVICE STRATUM_INLINE MappedElement(const CornerNumbers& x, const CornerNumbers& y,
                                                   const CellMaterial& k) {
    // Derivatives by t at both heights, by s at both distances.
    const double xt[2] = {near * (x.se - x.sw) + far * (x.ne - x.nw), far * (x.se - x.sw) + near * (x.ne - x.nw)},
                 yt[2] = {near * (y.se - y.sw) + far * (y.ne - y.nw), far * (y.se - y.sw) + near * (y.ne - y.nw)},
                 xs[2] = {near * (x.nw - x.sw) + far * (x.ne - x.se), far * (x.nw - x.sw) + near * (x.ne - x.se)},
                 ys[2] = {near * (y.nw - y.sw) + far * (y.ne - y.se), far * (y.nw - y.sw) + near * (y.ne - y.se)};
    for (int q = 0; q < 2; ++q)
      for (int p = 0; p < 2; ++p) {
        const double det = xt[q] * ys[p] - xs[p] * yt[q], weight = 0.25 / det;
        // K times the vectors (ys, -xs) and (-yt, xt), which are det J times the rows of J^-1.
        const double tx = k.xx * ys[p] - k.xy * xs[p], ty = k.xy * ys[p] - k.yy * xs[p],
                     sx = k.xy * xt[q] - k.xx * yt[q], sy = k.yy * xt[q] - k.xy * yt[q];
        tt_[q] += weight * (ys[p] * tx - xs[p] * ty);
        ss_[p] += weight * (xt[q] * sy - yt[q] * sx);
        ts_[q][p] = weight * (ys[p] * sx - xs[p] * sy);
        mass_[q][p] = 0.25 * k.c * det;
      }
  }

  /// Between corners (ax, ay) and (bx, by).
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double entry(int ax, int ay, int bx, int by) const {
    double sum = sign(ax, bx) * (tt_[0] * value(ay, 0) * value(by, 0) + tt_[1] * value(ay, 1) * value(by, 1)) +
                 sign(ay, by) * (ss_[0] * value(ax, 0) * value(bx, 0) + ss_[1] * value(ax, 1) * value(bx, 1));
    for (int q = 0; q < 2; ++q)
      for (int p = 0; p < 2; ++p)
        sum += ts_[q][p] * (sign(ax, by) * value(ay, q) * value(bx, p) + sign(bx, ay) * value(by, q) * value(ax, p)) +
               mass_[q][p] * (value(ax, p) * value(bx, p) * value(ay, q) * value(by, q));
    return sum;
  }

  /// Integrals of g_tt, g_ss and c det J: what the cell conducts along its directions, and its reaction
  /// (multigrid/transfer/operator_dependent.hpp).
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double along_x() const { return tt_[0] + tt_[1]; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double along_y() const { return ss_[0] + ss_[1]; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double reaction() const {
    return (mass_[0][0] + mass_[0][1]) + (mass_[1][0] + mass_[1][1]);
  }

 private:
  // A corner's function at the Gauss point on its own side, (1 + 1 / sqrt(3)) / 2, and at the other one.
  static constexpr double near = 0.78867513459481288, far = 0.21132486540518712;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static constexpr double value(int corner, int point) {
    return corner == point ? near : far;
  }
  /// Of the product of two corners' slopes.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static constexpr double sign(int a, int b) {
    return a == b ? 1 : -1;
  }

  double tt_[2] = {}, ss_[2] = {};          // at heights, at distances
  double ts_[2][2] = {}, mass_[2][2] = {};  // at points, by height first
};

/// Of cell (i, j).
[[nodiscard]] inline MappedElement element_of(const MappedMesh& mesh, int i, int j, const CellMaterial& k) {
  const auto [sw, se, nw, ne] = mesh.cell(i, j);
  return {{sw.x, se.x, nw.x, ne.x}, {sw.y, se.y, nw.y, ne.y}, k};
}

}  // namespace stratum
