#include "report.hpp"

#include <cstdint>
#include <cstdio>
#include <string>

#include <stratum/version.h>

#include "support/solve_output.hpp"

namespace stratum::apps::bubbly {

namespace {

std::string describe_problem(const Settings& s, const CommandLine& options) {
  switch (s.problem) {
    case Problem::poisson: return "4 and -1, zeros beyond the boundaries";
    case Problem::layers: return message("two layers, densities 1 and ", s.contrast);
    default: break;
  }
  const std::string what = s.problem == Problem::phase
                               ? "phases of " + options.text("phase")
                               : message(s.bubbles.size(), s.bubbles.size() == 1 ? " bubble" : " bubbles");
  return message(what, ", densities ", s.inside, " inside and ", s.outside, " outside");
}

std::string as_text(std::int64_t bytes) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.3g MB", static_cast<double>(bytes) / 1e6);
  return text;
}

}  // namespace

void print_heading(const Settings& s, const CommandLine& options, const Context& ctx, const PressureSystem& system,
                   const PressureSolver& solver) {
  std::printf("problem   %s; %d x %d cells%s; right-hand side %s\n", describe_problem(s, options).c_str(), s.nx, s.ny,
              system.is_singular() ? " between walls"
              : s.pinned           ? " between walls, the last one pinned"
                                   : "",
              s.rhs.c_str());
  std::printf("solver    conjugate gradients; %s; %s; %s\n\n", solver.describe_preconditioner().c_str(),
              solver.describe_deflation().c_str(), ctx.description().c_str());
}

void print_outcome(const PressureSolver& solver, const Outcome& outcome) {
  const SolveReport& report = outcome.report;
  print_end(report, false);
  if (solver.two_parts())
    std::printf("in parts    %.3e, %.3e of the right-hand side\n", outcome.residual_of_parts,
                report.reference_norm_value > 0 ? outcome.residual_of_parts / report.reference_norm_value : 0);
  if (outcome.error) std::printf("error       %.3e (L2, relative to the solution)\n", *outcome.error);
  if (solver.vectors() > 0)
    std::printf("deflation   %d vectors, %s\n", solver.vectors(), as_text(solver.deflation_bytes()).c_str());
  std::printf("time        %.3g s set-up, %.3g s solve\n", report.setup_seconds, report.solve_seconds);
}

JsonObject start_report(const Settings& s, const CommandLine& options, const Context& ctx, const PressureSystem& system,
                        const PressureSolver& solver) {
  const PressureParams& params = solver.params();
  JsonObject json;
  json.add("program", program_name).add("version", STRATUM_VERSION);
  json.add("problem", options.has("phase") ? "phase" : options.text("problem")).add("cells", {s.nx, s.ny});
  json.add("domain", {s.width, s.height}).add("contrast", system.contrast()).add("singular", system.is_singular());
  json.add("bubbles", s.bubbles.size()).add("inside", s.inside).add("outside", s.outside);
  json.add("rhs", s.rhs).add("seed", s.seed).add("rtol", s.stop.rtol);
  json.add("preconditioner", params.preconditioner).add("precision", options.text("precision"));
  json.add("preconditioner_in_words", solver.describe_preconditioner());
  json.add("deflate", options.text("deflate")).add("deflation_in_words", solver.describe_deflation());
  json.add("deflation_vectors", solver.vectors()).add("deflation_bytes", solver.deflation_bytes());
  json.add("two_parts", solver.two_parts());
  add_machine(json, ctx);
  return json;
}

}  // namespace stratum::apps::bubbly
