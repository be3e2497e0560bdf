#pragma once

// Gated coarsening of boxes: the nodes of each direction that a coarser level keeps, and the directions that need line
// smoothing. Consider an error that is rough in one direction and smooth in the two others, both of which couple more strongly.
// No line solve damps it, and no coarser grid represents it, whatever is stretched. Hence a direction is coarsened only where
// it is not much weaker than the second strongest one. With H_e the smallest width of direction e on a level, and w = sqrt(h_l
// h_r) of a node between widths h_l and h_r:
//
//     gate    node I of direction e may be dropped if  w <= C max(H_f, f != e) , but never two neighbours. In each run of such
//             nodes every second one is dropped, starting at the thinner end. If no node may be dropped, C is raised by factors
//             of 1.25 until one may.
//     lines   along e if another direction drops a node with  w > T H_e ; if there are none, points are smoothed.
//
// C = 2 and T = 2; C = 4 if all levels together would have more than 3.5 times the nodes of the finest one. The last level has
// at most `coarsest_unknowns`, or nothing to drop. Spaces are nested, since coarse nodes are a subset of the fine ones. The
// functions work on widths alone, on the host.
//
// An anisotropic K changes the widths that enter: h / sqrt(K_e / (kxx kyy kzz)^(1/3)), with the median of K in the layer of
// cells.

#include <array>
#include <string>
#include <vector>

namespace stratum {

/// Of one direction: the widths of its intervals, and whether its ends are nodes of the grid.
struct GatedAxis {
  std::vector<double> widths;
  bool first = false, last = false;  // unknowns
  bool periodic = false;

  [[nodiscard]] int unknowns() const {
    const int inner = static_cast<int>(widths.size()) - 1;
    return periodic ? inner + 1 : inner + (first ? 1 : 0) + (last ? 1 : 0);
  }
  /// The number of the node that is unknown 0.
  [[nodiscard]] int first_unknown() const { return periodic || first ? 0 : 1; }
};

struct GatedLevel {
  std::array<GatedAxis, 3> axes;
  std::array<std::vector<bool>, 3> dropped;  // of unknowns; empty on the last level
  std::array<bool, 3> lines{};               // none: points

  [[nodiscard]] double unknowns() const;
  /// "points", "lines along y and z", "inverse".
  [[nodiscard]] std::string smoother() const;
};

struct GateParams {
  double coarsen = 2, lines = 2;  // C and T
  double most_nodes = 3.5;        // of all levels, by those of the finest one
  double coarsen_where_many = 4;  // C then
  int coarsest_unknowns = 300;    // at most
};

/// The finest level first.
[[nodiscard]] std::vector<GatedLevel> gated_levels(const std::array<GatedAxis, 3>& finest,
                                                   const GateParams& params = {});

}  // namespace stratum
