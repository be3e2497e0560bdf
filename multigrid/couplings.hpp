#pragma once

// How strongly a matrix couples its nodes along x and along y, from sums of its rows,
//
//     s_x = - sum of a over the columns left and right of a node           s_y over the rows below and above it
//     m   = mean over the cells around a node of a_nw,se - a_sw,ne, the entries between opposite corners of a cell
//
// Of bilinear elements on cells hx x hy they are s_x = 2 kxx hy / hx, s_y = 2 kyy hx / hy and m = kxy, so that sqrt(s_x / s_y)
// is how many times a node is as high as wide for what smoothers feel. Where 4 m^2 is near s_x s_y, K couples along a direction
// between the axes: 1 - 4 m^2 / (s_x s_y) is det K / (kxx kyy), about the ratio of its eigenvalues.
//
// Nodes near boundaries do not count, as boundary values hold them and their rows lack what was eliminated. Waits for the
// stream.

#include <stratum/core/operators/grid_operator.hpp>

namespace stratum {

struct Couplings {
  double along_x = 0;        // max sqrt(s_x / s_y)
  double along_y = 0;        // max sqrt(s_y / s_x)
  double rotated = 0;        // share of nodes with 1 - 4 m^2 / (s_x s_y) below `aligned`
  double least_aligned = 1;  // the least such number
  double jump = 1;           // max ratio of sqrt(s_x s_y), which is K whatever the cells' shape, at neighbouring nodes

  /// Where V-cycles, of any smoother here, begin to need help on coarse levels: eigenvalues 1 : 20 at 45 degrees, 1 : 100 at
  /// 30.
  static constexpr double aligned = 0.06;
  [[nodiscard]] bool is_rotated() const { return rotated > 0.01; }
};

template <class T>
[[nodiscard]] Couplings couplings(Context& ctx, const GridOperator<T>& a);

}  // namespace stratum
