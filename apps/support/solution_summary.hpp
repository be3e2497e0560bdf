#pragma once

// How a solution balances its data and whether the mesh resolves it, as Poisson programs say it on the screen.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <stratum/assembly/bodies.hpp>
#include <stratum/core/io/solve_report.hpp>

#include "json.hpp"
#include "program.hpp"

namespace stratum::apps {

/// Outward fluxes and the reaction add up to the integral of f, but for residuals and rounding.
struct Balance {
  std::vector<double> fluxes;
  double reaction = 0, sum = 0, load = 0;
  double rounding = 0;     // of all of them
  double from_bodies = 0;  // in the load, what held bodies give off
  double magnitudes = 0;   // of what the fluxes or the load are sums of, which may cancel

  [[nodiscard]] double largest() const {
    double most = std::abs(reaction);
    for (const double flux : fluxes) most = std::max(most, std::abs(flux));
    return most;
  }
};

/// Behind a line of fluxes: their rounding where it is seen, and the balance in a line of its own where they have digits.
inline void print_balance(const Balance& balance) {
  constexpr double digits_shown = 1e-6, no_digits = 1e-2;
  const double largest = balance.largest();
  if (balance.rounding > digits_shown * largest)
    std::printf("; known to %.0e: rounding in thin cells", balance.rounding);
  if (balance.rounding > no_digits * largest) return (void)std::printf("\n");
  std::printf("\nbalance     %.6g", balance.sum);
  if (balance.reaction != 0) std::printf(" with %.6g of the reaction", balance.reaction);
  std::printf(", integral of f %.6g", balance.load - balance.from_bodies);
  if (balance.from_bodies != 0) std::printf(" and %.6g out of bodies", balance.from_bodies);
  std::printf("; they differ by %.1e\n", std::abs(balance.sum - balance.load));
}

/// What is said of a body. Without a flux: it is one of another material.
struct BodyLine {
  std::string name;
  BodyKind kind = BodyKind::value;
  std::int64_t cells = 0;
  double size = std::nan(""), mean = std::nan("");
  std::optional<double> flux{};
};
/// `found`: of these bodies, or empty where the solution is not finite; `size`: its area or volume.
template <class Body, class Flux>
[[nodiscard]] std::vector<BodyLine> body_lines(const std::vector<Body>& bodies, const std::vector<Flux>& found,
                                               double Flux::*size) {
  std::vector<BodyLine> lines;
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    lines.push_back({bodies[k].name, bodies[k].kind});
    if (found.empty()) continue;
    const Flux& of = found[k];
    lines.back() = {bodies[k].name, bodies[k].kind, of.cells, of.*size, of.mean, of.flux};
  }
  return lines;
}
/// `size`: area or volume.
inline void print_bodies(const std::vector<BodyLine>& bodies, const char* size) {
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    const BodyLine& body = bodies[k];
    std::printf("%-11s %s: %lld cells, %s %.6g, ", message("body ", k + 1).c_str(), body.name.c_str(),
                static_cast<long long>(body.cells), size, body.size);
    if (body.flux) std::printf("flux out of it %.6g, ", *body.flux);
    std::printf("mean %.6g%s\n", body.mean, body.kind == BodyKind::no_flux ? " on its surface" : "");
  }
}
inline void add_bodies(JsonObject& json, const std::vector<BodyLine>& bodies, const char* size) {
  if (bodies.empty()) return;
  json.add("bodies", json_array(bodies, [&](const BodyLine& body) {
             JsonObject entry;
             entry.add("body", body.name).add("kind", to_string(body.kind)).add("cells", body.cells);
             entry.add(size, body.size).add("flux", body.flux.value_or(std::nan(""))).add("mean", body.mean);
             return entry.value();
           }));
}

/// Warns where the fluxes and the load do not balance: some equations are not solved then, whatever the norm of the residual
/// is.
inline void warn_of_balance(const char* program, const std::string& of_solution, const Balance& balance,
                            double error_limit, const SolveReport& report) {
  constexpr double most = 1e-3;
  const double gap = std::abs(balance.sum - balance.load),
               largest = std::max({balance.largest(), std::abs(balance.load), balance.magnitudes});
  if (!(gap > std::max(most, error_limit) * largest) || !(gap > balance.rounding)) return;
  const bool ended_well = report.status == Status::converged || report.status == Status::round_off_limit;
  const std::string sums =
      message("the fluxes and the reaction add up to ", balance.sum, ", and the integral of f is ", balance.load);
  if (ended_well)
    warn(program, message(of_solution, sums,
                          ": some of the equations are not solved well; a smaller --rtol solves them better"));
  else
    warn(program, message(of_solution, "the solve did not converge (", to_string(report.status),
                          "), and the balance is off by ", gap, ": ", sums, ". Do not use this solution"));
}

/// Warns where neighbouring nodes, at `from` and `to`, differ by a large part of the range, and the solution is not linear
/// there.
inline void warn_of_layers(const char* program, const std::string& solution, double largest_step, double change_of_flux,
                           const std::string& from, const std::string& to) {
  constexpr double most = 0.2, linear = 0.1;
  if (largest_step <= most || change_of_flux <= linear) return;
  warn(program, message(solution, " changes by ", std::lround(100 * largest_step),
                        " % of its range between the neighbouring nodes (", from, ") and (", to,
                        "): the mesh does not resolve it there"));
}

}  // namespace stratum::apps
