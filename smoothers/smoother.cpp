#include <stratum/smoothers/smoother.hpp>

namespace stratum {

double damping_or(const SmootherParams& params, double fallback) {
  const double omega = params.damping.value_or(fallback);
  expects(omega > 0 && omega < 2, "damping must lie in (0, 2), not ", omega);
  return omega;
}

}  // namespace stratum
