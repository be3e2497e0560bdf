#include <stratum/solvers/mixed/residual_replacement.hpp>

#include <algorithm>

#include <stratum/core/field/blas.hpp>

namespace stratum {

double update_beta(UpdateBeta kind, double before, double recursive, double truth) {
  constexpr double far = 4;  // twice the norm
  const bool use_true = kind == UpdateBeta::by_true || (kind == UpdateBeta::guarded && truth <= far * recursive);
  return (use_true ? truth : recursive) / before;
}

ResidualReplacement::ResidualReplacement(const Params& params, double norm)
    : params_(params), delta_(params.first_delta.value_or(params.delta)), largest_(norm), best_(norm) {
  expects(params.delta > 0 && params.delta < 1, "delta must lie between 0 and 1, not ", params.delta);
}

bool ResidualReplacement::due(double norm) {
  largest_ = std::max(largest_, norm);
  return norm < delta_ * largest_;
}

void ResidualReplacement::replaced(double truth, bool gains) {
  ++count_;
  delta_ = params_.delta;
  largest_ = truth;
  without_gain_ = gains ? 0 : without_gain_ + 1;
  best_ = std::min(best_, truth);
}

std::string ResidualReplacement::reason() const {
  return message("no better true residual than ", best_, " at the last ", params_.patience, " updates");
}

ReplacedResidual replace_residual(Context& ctx, double scale, FieldView<const double> residual, FieldView<float> r,
                                  FieldView<float> d, std::optional<UpdateBeta> kind, double before, double recursive) {
  copy_scaled(ctx, scale, residual, r);
  const double square = dot<float>(ctx, r, r);
  if (!kind) return {square, 0};
  axpy<float, float>(ctx, -dot<float>(ctx, r, d) / square, r, d);
  return {square, update_beta(*kind, before, recursive, square)};
}

}  // namespace stratum
