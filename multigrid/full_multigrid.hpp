#pragma once

// Full multigrid (nested iteration): the solution of A x = b in one FMG cycle from the coarsest level to the finest,
//
//     x_0 = A_0^-1 b_0 ;   x_l = P x_(l-1) ,   x_l <- x_l + cycle(l, b_l - A_l x_l)     l = 1 .. L ,
//
// with b_l = P^T b_(l+1), the load vector of level l. One V(2,2) cycle of zebra ADI a level reaches the discretisation
// error within a few per cent. Iterate and defect are in double on every level; the correction cycle is in T. (All
// in float, rounding stays 1000 times above the discretisation error at level 10.)
// Where the cycle ends above level 0 (Multigrid::lowest_level), so does this. Nothing waits for the stream but the norms.
// Work: 4/3 of a cycle and a double defect on the finest level. Bytes a node beside the cycle, times 4/3: restriction 10,
// interpolation 10, defect 20 and update 20 (double: 24 each); on a GPU with the tensor operator, where the interpolant is not
// stored, restriction 10, its defect 14 and the update 14 (18 each).

#include <memory>
#include <vector>

#include <stratum/core/device/recording.hpp>
#include <stratum/multigrid/multigrid.hpp>

namespace stratum {

/// Residual norms of x = 0, before the finest level's cycle, and after it.
struct FullMultigridPass {
  double initial = 0;
  double interpolated = 0;
  double corrected = 0;
};

/// Whether a pass ends with the norms that say how it went; an iteration that goes on from it finds out by itself.
enum class FullMultigridNorms : std::uint8_t { initial, all };

template <class T>
class FullMultigrid {
 public:
  /// Shares both: the levels in double, and the cycle on the same levels.
  FullMultigrid(Context& ctx, Hierarchy<double> hierarchy, Multigrid<T> multigrid);

  /// x is overwritten. Norms that are not asked for are zero.
  FullMultigridPass solve(Context& ctx, FieldView<const double> b, FieldView<double> x,
                          FullMultigridNorms norms = FullMultigridNorms::all);

 private:
  struct Level {
    Field<double> b, x;  // on all but the finest
    Field<T> r, z;       // where the cycle has no room for them
  };
  /// Where a level's defect and correction lie.
  [[nodiscard]] Room<T> room(Context& ctx, int level);
  Hierarchy<double> hierarchy_;
  Multigrid<T> multigrid_;
  std::vector<Level> levels_;
  Field<double> own_b_;            // on subdomains: a subdomain's rows of b on the finest level that all have whole
  Recording restriction_, below_;  // of b to all levels below the first two; of all levels but the finest
  double recorded_scale_ = 0;      // of below_; 0: none yet
  int recorded_generation_ = 0;
};

}  // namespace stratum
