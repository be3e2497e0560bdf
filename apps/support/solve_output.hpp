#pragma once

// What the programs that solve say alike: that memory does not suffice, before they take any; the table of residuals as the
// iteration goes on, its history as CSV, and how it ended, on the screen and in reports.

#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/smoothers/smoother.hpp>
#include <stratum/solvers/stopping.hpp>

#include "command_line.hpp"
#include "error_size.hpp"
#include "json.hpp"

namespace stratum::apps {

/// Throws UsageError for a smoother that is neither registered nor one of `others`.
inline void check_smoother(const std::string& option, const std::string& name,
                           const std::vector<std::string>& others = {}) {
  std::vector<std::pair<std::string, int>> known;
  const auto registry = builtin_smoothers();
  for (const auto& [registered, entry] : registry.entries()) known.emplace_back(registered, 0);
  for (const auto& other : others) known.emplace_back(other, 0);
  (void)choice(option, name, known);
}

/// Throws ResourceError when `what` needs more bytes than there are: `host` of the machine's memory, and `device` of the GPU's
/// where the Context is on one.
inline void expect_room(const Context& ctx, const std::string& what, std::int64_t host, std::int64_t device,
                        const std::string& advice = "") {
  const auto host_there = available_memory(Context(Backend::cpu, 1)), device_there = available_memory(ctx);
  if (host <= host_there && (!ctx.on_gpu() || device <= device_there)) return;
  const auto gibibytes = [](std::int64_t bytes) { return static_cast<double>(bytes >> 20) / 1024; };
  std::string text = message(what, " needs ");
  if (ctx.on_gpu())
    text +=
        message(gibibytes(device), " GiB of the GPU's memory, ", gibibytes(device_there), " GiB are available, and ");
  throw ResourceError(
      message(text, gibibytes(host), " GiB of memory, ", gibibytes(host_there), " GiB are available", advice));
}

/// Residual relative to the reference norm (to the first one where that is zero) and rate. A long table shows every tenth line,
/// a longer one every hundredth and thousandth. Copies of the monitor write one table.
[[nodiscard]] inline Monitor residual_table(ReferenceNorm reference_norm, double rhs_norm) {
  struct State {
    double first, previous;
  };
  const auto state = std::make_shared<State>(State{reference_norm == ReferenceNorm::rhs ? rhs_norm : 0, 0});
  return [state](int iteration, double residual) {
    auto& [first, previous] = *state;
    if (first == 0) first = residual > 0 ? residual : 1;
    const int step = iteration <= 20 ? 1 : iteration <= 200 ? 10 : iteration <= 2000 ? 100 : 1000;
    if (iteration == 0)
      std::printf("iteration   relative residual       rate\n%9d   %17.3e\n", iteration, residual / first);
    else if (iteration % step == 0)
      std::printf("%9d   %17.3e   %8.3g\n", iteration, residual / first, previous > 0 ? residual / previous : 0);
    (void)std::fflush(stdout);
    previous = residual;
  };
}

/// With a column for the number of the right-hand side, from 1 on, where there are several.
[[nodiscard]] inline std::string csv_history(std::span<const SolveReport> reports) {
  const bool several = reports.size() > 1;
  std::ostringstream out;
  out.precision(17);
  out << (several ? "rhs," : "") << "iteration,residual,relative_residual\n";
  for (std::size_t n = 0; n < reports.size(); ++n) {
    const auto& report = reports[n];
    for (std::size_t k = 0; k < report.history.size(); ++k) {
      if (several) out << n + 1 << ',';
      out << k << ',' << report.history[k] << ','
          << (report.reference_norm_value > 0 ? report.history[k] / report.reference_norm_value : 0) << '\n';
    }
  }
  return out.str();
}

/// How it ended: status, iterations and residual, a line each. `u`: the smallest and the largest, where they are known.
inline void print_end(const SolveReport& report, bool with_inner, std::pair<double, double> u = {}) {
  std::printf("\nstatus      %s: %s\n", std::string(to_string(report.status)).c_str(), report.reason.c_str());
  std::printf("iterations  %d", report.iterations);
  if (with_inner && report.inner_iterations != report.iterations) std::printf(" (%d inner)", report.inner_iterations);
  std::printf("\nresidual    %.3e, %.3e of the %s\n", report.residual, report.relative_residual(),
              report.reference_norm == ReferenceNorm::rhs ? "right-hand side" : "initial residual");
  if (report.estimated_error)
    std::printf("iteration error about %.1e of %s (without the error of the mesh)\n", *report.estimated_error,
                1e3 * (u.second - u.first) < std::max(-u.first, u.second)
                    ? size_of_near_constant(*report.estimated_error, u).c_str()
                    : "the range of u");
}
/// How it ended where nothing else is printed, when it did not end well.
inline void print_failure(const char* program, const SolveReport& report) {
  (void)std::fprintf(stderr, "%s: %s: %s\n", program, std::string(to_string(report.status)).c_str(),
                     report.reason.c_str());
}

inline void add_end(JsonObject& json, const SolveReport& report, int exit_code) {
  json.add("status", to_string(report.status)).add("reason", report.reason).add("exit_code", exit_code);
  json.add("iterations", report.iterations).add("inner_iterations", report.inner_iterations);
  json.add("initial_residual", report.initial_residual).add("residual", report.residual);
  json.add("relative_residual", report.relative_residual());
  json.add("estimated_error", report.estimated_error.value_or(std::numeric_limits<double>::quiet_NaN()));
  json.add("reference_norm", to_string(report.reference_norm)).add("reference_norm_value", report.reference_norm_value);
}
inline void add_machine(JsonObject& json, const Context& ctx) {
  json.add("backend", ctx.on_gpu() ? "cuda" : "cpu").add("device", ctx.description()).add("threads", ctx.threads());
}

}  // namespace stratum::apps
