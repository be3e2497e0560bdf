#pragma once

// Integrals of a function of one coordinate times the hat functions phi_i of an axis. The loads of products of such functions
// are products of these, in two and in three dimensions. Results are for all nodes; `at_unknowns` selects those of the
// unknowns.

#include <cstddef>
#include <vector>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/mesh/axis.hpp>

namespace stratum {

/// Integrals of f phi_i over a line of `intervals`, length(i) that of an interval and f(i, t) at a fraction of it, by the
/// 4-point rule.
template <class Length, class F>
std::vector<double> line_loads(int intervals, const Length& length, const F& f) {
  std::vector<double> loads(static_cast<std::size_t>(intervals) + 1, 0.0);
  for (int i = 0; i < intervals; ++i)
    for (const auto& [t, weight] : gauss4) {
      const auto k = static_cast<std::size_t>(i);
      const double value = weight * length(i) * f(i, t);
      loads[k] += value * (1 - t);
      loads[k + 1] += value * t;
    }
  return loads;
}

/// Integrals of s (length - s) phi_i, exact.
[[nodiscard]] std::vector<double> parabola_loads(const Axis& line);
/// Integrals of phi_i.
[[nodiscard]] std::vector<double> hat_integrals(const Axis& line);
/// Of numbers at all nodes those that belong to unknowns: both ends of a periodic axis are one.
[[nodiscard]] std::vector<double> at_unknowns(const Axis& line, std::vector<double> numbers);

}  // namespace stratum
