#pragma once

// The Q1 element matrix of a quadrilateral, by 2 x 2 Gauss points, on host and device. With J = d(x, y)/d(t, s) and phi_a the
// corner functions of the unit square,
//
//     a_ab = integral of grad phi_a . g grad phi_b + c det J phi_a phi_b,      g = det J  J^-1 K J^-T ,
//
// where gradients are with respect to t and s. The derivative of phi_a by t does not depend on t; hence only the integrals of
// g_tt times two functions of s are needed. In coordinates other than Cartesian ones (mesh/coordinates.hpp) the integrals are
// products of the weights of the axes. On a rectangle the entries equal element_entry (assembly/coefficients.hpp) to round-off.

#include <stratum/core/config.hpp>
#include <stratum/mesh/coordinates.hpp>
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

/// The x or y components of a cell's edges: from west to east and from south to north.
struct EdgeNumbers {
  double bottom, top, left, right;
};

class MappedElement {
 public:
  /// Of no cell: zero.
  MappedElement() = default;

  STRATUM_HOST_DEVICE STRATUM_INLINE MappedElement(const CornerNumbers& x, const CornerNumbers& y,
                                                   const CellMaterial& k) {
    integrate({x.se - x.sw, x.ne - x.nw, x.nw - x.sw, x.ne - x.se},
              {y.se - y.sw, y.ne - y.nw, y.nw - y.sw, y.ne - y.se}, k);
  }
  /// Also of a cell that is thinner than the round-off of its corners.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static MappedElement
  of_edges(const EdgeNumbers& x, const EdgeNumbers& y, const CellMaterial& k) {
    MappedElement element;
    element.integrate(x, y, k);
    return element;
  }
  /// Of a rectangle, with the weights of its intervals; K is diagonal.
  STRATUM_HOST_DEVICE STRATUM_INLINE MappedElement(const double* in_x, const double* in_y, const CellMaterial& k) {
    for (int a = 0; a < 3; ++a) {
      tt_[a] = k.xx * in_x[AxisWeights::stiffness] * in_y[AxisWeights::mass + a];
      ss_[a] = k.yy * in_y[AxisWeights::stiffness] * in_x[AxisWeights::mass + a];
      for (int b = 0; b < 3; ++b) mass_[a][b] = k.c * in_y[AxisWeights::volume + a] * in_x[AxisWeights::volume + b];
    }
  }

  /// Between corners (ax, ay) and (bx, by).
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double entry(int ax, int ay, int bx, int by) const {
    return entry_along_x(ax, ay, bx, by) + entry_along_y(ax, ay, bx, by) + rest_of_entry(ax, ay, bx, by);
  }
  /// Parts of it: what multiplies differences of u along x, along y, and the rest.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double entry_along_x(int ax, int ay, int bx, int by) const {
    return sign(ax, bx) * tt_[ay + by];
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double entry_along_y(int ax, int ay, int bx, int by) const {
    return sign(ay, by) * ss_[ax + bx];
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double rest_of_entry(int ax, int ay, int bx, int by) const {
    double sum = mass_[ay + by][ax + bx];
    for (int q = 0; q < 2; ++q)
      for (int p = 0; p < 2; ++p)
        sum += ts_[q][p] * (sign(ax, by) * value(ay, q) * value(bx, p) + sign(bx, ay) * value(by, q) * value(ax, p));
    return sum;
  }

  /// Integrals of g_tt, g_ss and c det J: what the cell conducts along its directions, and its reaction
  /// (multigrid/transfer/operator_dependent.hpp).
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double along_x() const { return tt_[0] + 2 * tt_[1] + tt_[2]; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double along_y() const { return ss_[0] + 2 * ss_[1] + ss_[2]; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double reaction() const {
    double sum = 0;
    for (int a = 0; a < 3; ++a) sum += (a == 1 ? 2 : 1) * (mass_[a][0] + 2 * mass_[a][1] + mass_[a][2]);
    return sum;
  }

 private:
  STRATUM_HOST_DEVICE STRATUM_INLINE void integrate(const EdgeNumbers& x, const EdgeNumbers& y, const CellMaterial& k) {
    // Derivatives by t at both heights, by s at both distances.
    const double xt[2] = {near * x.bottom + far * x.top, far * x.bottom + near * x.top},
                 yt[2] = {near * y.bottom + far * y.top, far * y.bottom + near * y.top},
                 xs[2] = {near * x.left + far * x.right, far * x.left + near * x.right},
                 ys[2] = {near * y.left + far * y.right, far * y.left + near * y.right};
    for (int q = 0; q < 2; ++q)
      for (int p = 0; p < 2; ++p) {
        const double det = xt[q] * ys[p] - xs[p] * yt[q], weight = 0.25 / det;
        // K times the vectors (ys, -xs) and (-yt, xt), which are det J times the rows of J^-1.
        const double tx = k.xx * ys[p] - k.xy * xs[p], ty = k.xy * ys[p] - k.yy * xs[p],
                     sx = k.xy * xt[q] - k.xx * yt[q], sy = k.yy * xt[q] - k.xy * yt[q];
        const double tt = weight * (ys[p] * tx - xs[p] * ty), ss = weight * (xt[q] * sy - yt[q] * sx),
                     mass = 0.25 * k.c * det;
        ts_[q][p] = weight * (ys[p] * sx - xs[p] * sy);
        for (int a = 0; a < 3; ++a) {
          tt_[a] += tt * product(a, q);
          ss_[a] += ss * product(a, p);
          for (int b = 0; b < 3; ++b) mass_[a][b] += mass * product(a, q) * product(b, p);
        }
      }
  }

  // A corner's function at the Gauss point on its own side, (1 + 1 / sqrt(3)) / 2, and at the other one.
  static constexpr double near = 0.78867513459481288, far = 0.21132486540518712;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static constexpr double value(int corner, int point) {
    return corner == point ? near : far;
  }
  /// Of two corners' functions, which are 0 and 0, 0 and 1 or 1 and 1.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static constexpr double product(int both, int point) {
    return value(both / 2, point) * value((both + 1) / 2, point);
  }
  /// Of the product of two corners' slopes.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static constexpr double sign(int a, int b) {
    return a == b ? 1 : -1;
  }

  double tt_[3] = {}, ss_[3] = {};  // times functions of s, of t
  double ts_[2][2] = {};            // at points, by height first
  double mass_[3][3] = {};          // times functions of s and t
};

/// Of cell (i, j).
[[nodiscard]] inline MappedElement element_of(const MappedMesh& mesh, int i, int j, const CellMaterial& k) {
  if (!mesh.is_cartesian()) {
    const auto of = [&](Direction d, int n) {
      return &mesh.weights(d).numbers[AxisWeights::count * static_cast<std::size_t>(n)];
    };
    return {of(Direction::x, i), of(Direction::y, j), k};
  }
  const auto [sw, se, nw, ne] = mesh.cell(i, j);
  return {{sw.x, se.x, nw.x, ne.x}, {sw.y, se.y, nw.y, ne.y}, k};
}

}  // namespace stratum
