#pragma once

// How levels are smoothed: options that all programs with cycles have.

#include <cstdio>
#include <string>
#include <vector>

#include <stratum/multigrid/poisson_solver.hpp>

#include "command_line.hpp"
#include "solve_output.hpp"

namespace stratum::apps {

[[nodiscard]] inline std::vector<Option> smoothing_options() {
  const MultigridParams params;
  return {{"smoother", "NAME", params.smoother,
           "see --list-smoothers. adi suits all cells, jacobi and colour_gs suit square ones; auto chooses for each "
           "level, and chooses solver and cycle too if they are not given"},
          {"line-order", "NAME", std::string(to_string(params.smoother_params.line_order)),
           "order in which lines are solved: zebra, or simultaneous (which needs a damping of about 0.8)"},
          {"damping", "W", "", "damping factor of the smoother, in (0, 2) (the smoother's own)"},
          {"sweeps", "N", "",
           message("sweeps before and after the coarse correction, 0 .. 1000; one application of adi is two sweeps (",
                   default_sweeps(params.smoother), "; auto and on a GPU: ", default_sweeps("auto"), ")")}};
}

inline void list_smoothers() {
  const auto registry = builtin_smoothers();
  for (const auto& [name, entry] : registry.entries())
    std::printf("%-10s %s\n", name.c_str(), entry.description.c_str());
  std::printf("%-10s %s\n", "auto",
              "chooses one of these for each level by the shape of its cells; the report shows which one and why");
}

inline void parse_smoothing(const CommandLine& options, MultigridParams& multigrid) {
  multigrid.smoother = options.text("smoother");
  check_smoother("--smoother", multigrid.smoother, {"auto"});
  multigrid.smoother_params.line_order = choice<LineOrder>("--line-order", options.text("line-order"));
  if (options.has("damping")) multigrid.smoother_params.damping = options.number("damping", {0, 2, true, true});
  if (options.has("sweeps")) multigrid.sweeps = options.integer("sweeps", 0, 1000);
}

[[nodiscard]] inline InnerStop parse_inner(const CommandLine& options) {
  const std::string what = "cycles:N or rtol:X";
  const auto [kind, number] = parse_pair("--inner", options.text("inner"), ":", what);
  InnerStop inner;
  if (kind == "cycles")
    inner.cycles = parse_integer("--inner", number, 1, 1000);
  else if (kind == "rtol")
    inner.rtol = parse_number("--inner", number, {1e-6, 1, false, true});
  else if (kind == "digits")
    throw UsageError("--inner: digits:N is called rtol:X now, where X is 10^-N");
  else
    throw UsageError(message("--inner: '", options.text("inner"), "' is not ", what));
  return inner;
}

inline constexpr const char* deflation_kinds = "none, inclusions, blocks:N, ritz:K or auto";

[[nodiscard]] inline DeflateParams parse_deflation(const std::string& text) {
  for (const auto by : {DeflateBy::none, DeflateBy::inclusions, DeflateBy::automatic})
    if (text == to_string(by)) return {by};
  const auto [kind, number] = parse_pair("--deflate", text, ":", deflation_kinds);
  if (kind == to_string(DeflateBy::blocks)) return {DeflateBy::blocks, parse_integer("--deflate", number, 1, 1000)};
  if (kind == to_string(DeflateBy::ritz)) return {DeflateBy::ritz, parse_integer("--deflate", number, 1, 100)};
  throw UsageError(message("--deflate: '", text, "' is not ", deflation_kinds));
}

}  // namespace stratum::apps
