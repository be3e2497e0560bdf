#pragma once

// Full multigrid (nested iteration): the solution of A x = b in one pass from the coarsest level to the finest,
//
//     x_0 = A_0^-1 b_0 ;   x_l = P x_(l-1) ,   x_l <- x_l + cycle(l, b_l - A_l x_l)     l = 1 .. L ,
//
// with b_l = P^T b_(l+1), the load vector of level l. One V(2,2) cycle of zebra ADI a level reaches the discretisation
// error within a few per cent. Iterate and defect are in double on every level; the correction cycle is in T. (All
// in float, rounding stays 1000 times above the discretisation error at level 10.)
// Work: 4/3 of a cycle and a double defect on the finest level.

#include <memory>
#include <vector>

#include <stratum/multigrid/multigrid.hpp>

namespace stratum {

struct FullMultigridPass {
  double interpolated = 0;
  double corrected = 0;
};

template <class T>
class FullMultigrid {
 public:
  /// Keeps a reference to `multigrid`, whose meshes these are.
  FullMultigrid(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form, Multigrid<T>& multigrid);

  /// x is overwritten. Returns the residual norms before and after the finest level's cycle; that waits for the stream.
  FullMultigridPass solve(Context& ctx, GridView<const double> b, GridView<double> x);

 private:
  struct Level {
    GridOperator<double> a;
    Transfer<double> transfer;
    Vector<double> b, x, r, z;
    std::unique_ptr<Preconditioner<T>> cycle;
    std::unique_ptr<Preconditioner<double>> correction;
  };
  std::vector<Level> levels_;
};

}  // namespace stratum
