#pragma once

// What bodies in two and in three dimensions (assembly/bodies.hpp, assembly/box_bodies.hpp) have in common.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <stratum/assembly/bodies.hpp>
#include <stratum/core/errors.hpp>

namespace stratum::detail {

[[nodiscard]] inline std::string body_label(const std::vector<std::string>& names, std::size_t body) {
  return message("body ", body + 1, names[body].empty() ? "" : ", " + names[body]);
}

/// Values of bodies that touch, but for rounding.
[[nodiscard]] inline bool agree(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

/// Throws UsageError for a body without what its kind needs.
template <class AnyBody>
void check_body(const AnyBody& body, const std::string& label) {
  expects(static_cast<bool>(body.inside), label, " has no shape");
  const bool needs_value = body.kind == BodyKind::value || body.kind == BodyKind::coefficient;
  expects(!needs_value || static_cast<bool>(body.value), label,
          body.kind == BodyKind::value ? " is held at a value that is not given" : " has a K that is not given");
  expects(body.kind != BodyKind::contact || (std::isfinite(body.resistance) && body.resistance >= 0), label,
          " has a contact resistance of ", body.resistance, "; it must be finite and not negative");
}

}  // namespace stratum::detail
