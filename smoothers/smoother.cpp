#include <stratum/smoothers/smoother.hpp>

#include <utility>

namespace stratum {

std::string_view to_string(LineOrder order) { return order == LineOrder::zebra ? "zebra" : "simultaneous"; }

LineOrder line_order(std::string_view name) {
  for (const auto order : {LineOrder::zebra, LineOrder::simultaneous})
    if (name == to_string(order)) return order;
  throw UsageError(message("unknown line order '", name, "'; known: zebra, simultaneous"));
}

void SmootherRegistry::add(std::string name, SmootherEntry entry) {
  expects(!entries_.contains(name), "a smoother named '", name, "' is registered already");
  entries_.emplace(std::move(name), std::move(entry));
}

const SmootherEntry& SmootherRegistry::find(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found != entries_.end()) return found->second;
  std::string known;
  for (const auto& [known_name, entry] : entries_) known += (known.empty() ? "" : ", ") + known_name;
  throw UsageError(message("unknown smoother '", name, "'; known: ", known));
}

double damping_or(const SmootherParams& params, double fallback) {
  const double omega = params.damping.value_or(fallback);
  expects(omega > 0 && omega < 2, "damping must lie in (0, 2), not ", omega);
  return omega;
}

}  // namespace stratum
