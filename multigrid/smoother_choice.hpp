#pragma once

// Which smoother suits a level: the meaning of smoother "auto". A node between widths h_l and h_r is sqrt(h_l h_r) wide: the
// square root of 1-D mass over 1-D stiffness there, up to a factor. With w_ij and h_ij the width of node (i, j) and its height,
//
//     R_x = max h_ij / w_ij ,     R_y = max w_ij / h_ij .
//
// Point smoothers leave errors that are smooth along the strong direction and rough along the weak one. That hurts where the
// weak direction is coarsened, so that the next level has no room for them, and calls for lines along the strong direction.
// R_x therefore counts on levels whose coarser one merges cells in y, R_y likewise for x:
//
//   R_x, R_y <= 1.4              point smoother
//   min(R_x, R_y) <= 2.2         lines along the narrow direction; the other one a line smoother still copes with
//   else                         adi
//
// On lines of more than eight cells the two nodes beside either end do not count as narrow: the boundary value holds them,
// however thin their cells. Each smoother is undamped, two sweeps before and two after. The limits are where measured times to
// 1e-8 cross.
// Of Galerkin products the matrix decides, since what it couples also follows K: R_x and R_y are those of
// multigrid/couplings.hpp, and where K is rotated against the axes it is adi. O(nx + ny) a level on the host; of a matrix some
// passes over it. Source: Trottenberg, Oosterlee, Schueller, Multigrid, 2001, Section 5.1.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/couplings.hpp>
#include <stratum/smoothers/smoother.hpp>

namespace stratum {

/// What smooths on a level, and why; the reason is empty where nothing was chosen.
struct SmootherChoice {
  std::string smoother;
  SmootherParams params;
  int sweeps = 0;
  std::string reason;
};

/// Sweeps before and after the coarse correction where none are asked for. On a GPU, of PoissonSolver, few sweeps and
/// more cycles are the faster choice with every smoother.
[[nodiscard]] constexpr int default_sweeps(std::string_view smoother, bool on_gpu = false) {
  return smoother == "auto" || on_gpu ? 2 : 4;
}

/// One choice a mesh, coarsest first; the coarsest level is solved, not smoothed. What `given` and `sweeps` hold wins, but for
/// an odd number of sweeps, which is one more where adi is chosen.
[[nodiscard]] std::vector<SmootherChoice> choose_smoothers(const std::vector<TensorMesh<2>>& meshes,
                                                           const SmootherParams& given, std::optional<int> sweeps);

/// The same by what the matrix of every level couples.
[[nodiscard]] std::vector<SmootherChoice> choose_smoothers(const std::vector<TensorMesh<2>>& meshes,
                                                           const std::vector<Couplings>& matrices,
                                                           const SmootherParams& given, std::optional<int> sweeps);

/// The largest ratio of neighbouring widths. Where widths jump in both directions, the strongly coupled row and column that
/// meet share an error that no smoother here reduces and V-cycles reduce slowly.
[[nodiscard]] double largest_jump(const Axis& line);

}  // namespace stratum
