#include <stratum/smoothers/smoother.hpp>

namespace stratum {

std::string_view to_string(LineOrder order) { return order == LineOrder::zebra ? "zebra" : "simultaneous"; }

LineOrder line_order(std::string_view name) {
  for (const auto order : {LineOrder::zebra, LineOrder::simultaneous})
    if (name == to_string(order)) return order;
  throw UsageError(message("unknown line order '", name, "'; known: zebra, simultaneous"));
}

double damping_or(const SmootherParams& params, double fallback) {
  const double omega = params.damping.value_or(fallback);
  expects(omega > 0 && omega < 2, "damping must lie in (0, 2), not ", omega);
  return omega;
}

}  // namespace stratum
