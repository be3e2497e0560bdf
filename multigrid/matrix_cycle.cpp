#include <stratum/multigrid/matrix_cycle.hpp>

namespace stratum {

MatrixCycle::MatrixCycle(Context& ctx, const GridOperator<double>& a, const TensorMesh& mesh,
                         const MultigridParams& params, bool single_precision)
    : symmetric_(params.symmetric), constant_(params.cycle != Cycle::k) {
  if (single_precision) {
    in_float_.emplace(ctx, a, mesh, params);
    cast_.emplace(ctx, a.shape(), *in_float_);
  } else {
    in_double_.emplace(ctx, a, mesh, params);
  }
}

void MatrixCycle::update(Context& ctx, const GridOperator<double>& a) {
  if (in_float_)
    in_float_->update(ctx, a);
  else
    in_double_->update(ctx, a);
}

Preconditioner<double>& MatrixCycle::cycle() {
  if (cast_) return *cast_;
  return *in_double_;
}

}  // namespace stratum
