#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/version.h>

#include "support/json.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::krylov {

namespace {

std::string grid_storage(const System& system) {
  const auto format = system.mesh        ? StorageFormat::tensor
                      : system.symmetric ? StorageFormat::symmetric
                                         : StorageFormat::nine_band;
  return std::string(to_string(format));
}

std::string describe_preconditioner(const Settings& settings) {
  if (settings.preconditioner.empty()) return "no preconditioner";
  if (settings.incomplete_cholesky.blocks > 0)
    return message("block-ic in ", settings.incomplete_cholesky.blocks, " blocks");
  if (settings.preconditioner == "block-ic")
    return message("block-ic with ", settings.incomplete_cholesky.block_size, " rows a block");
  if (settings.incomplete_poisson == IncompletePoissonForm::printed) return "incomplete-poisson as printed";
  if (settings.in_box && settings.preconditioner == "multigrid") return "multigrid, gated coarsening, 1 + 1 sweeps";
  if (settings.preconditioner == "multigrid")
    return message("multigrid, ", settings.multigrid.smoother, ", ", settings.sweeps, " + ", settings.sweeps,
                   " sweeps");
  return settings.preconditioner;
}

/// Where every row sums to zero, up to this part of its entries: what the matrix is, and what becomes of b; else empty.
std::string why_singular(const System& system) {
  constexpr double digits_of_files = 1e-8;
  double largest = 0, sum_of_b = 0, magnitudes = 0;
  for (int i = 0; i < system.a.rows; ++i) {
    double sum = 0, entries = 0;
    for (auto k = static_cast<std::size_t>(system.a.start[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(system.a.start[static_cast<std::size_t>(i) + 1]); ++k) {
      sum += system.a.value[k];
      entries += std::abs(system.a.value[k]);
    }
    if (!(std::abs(sum) <= digits_of_files * entries)) return "";
    largest = std::max(largest, entries > 0 ? std::abs(sum) / entries : 0);
  }
  for (const double value : system.b) {
    sum_of_b += value;
    magnitudes += std::abs(value);
  }
  const std::string what =
      message("the matrix is singular: its rows sum to zero, up to ", largest, " of their entries");
  if (std::abs(sum_of_b) > Compatibility::negligible * magnitudes)
    return message(what, ", and b sums to ", sum_of_b, ", ", 100 * std::abs(sum_of_b) / magnitudes,
                   " % of the sum of its magnitudes: there is no solution; subtract the mean of b");
  return message(what, "; if that is the rounding of its file, write it with 17 digits");
}

}  // namespace

int exit_code_of(const SolveReport& report, const Settings& settings) {
  constexpr double next_to_nothing = 1e-3;
  return exit_code(report.status, settings.tolerance_asked_for || !(report.relative_residual() <= next_to_nothing));
}

void print_heading(const Context& ctx, const System& system, const Settings& settings, const Plan& plan,
                   const std::string& box) {
  const auto rows = system.a.rows;
  std::printf("matrix    %s: %d rows, %lld entries, %ssymmetric; ", system.name.c_str(), rows,
              static_cast<long long>(system.a.entries()), system.symmetric ? "" : "not ");
  if (plan.on_grid)
    std::printf("%s operator\n", grid_storage(system).c_str());
  else if (plan.storage == Storage::band)
    std::printf("%zu bands\n", plan.diagonals);
  else
    std::printf("csr, %.1f entries a row\n", static_cast<double>(system.a.entries()) / rows);
  const auto precision = [](bool single) { return single ? "single" : "double"; };
  if (!box.empty()) std::printf("box       %s\n", box.c_str());
  if (system.negated) std::printf("negated   its diagonal is negative: -A x = -b is solved\n");
  std::printf("solver    %s in %s precision; ", plan.method.c_str(), precision(settings.single));
  if (!settings.inner.empty())
    std::printf("inner %s to %g in %s precision%s", settings.inner.c_str(), settings.inner_stop.rtol,
                precision(settings.inner_single), settings.inner == "jacobi" ? "" : ", with ");
  if (settings.inner != "jacobi") {
    std::printf("%s", describe_preconditioner(settings).c_str());
    if (!settings.preconditioner.empty() && settings.inner.empty())
      std::printf(" in %s precision", precision(settings.inner_single));
  }
  std::printf("; %s\n\n", ctx.description().c_str());
}

void print_outcome(const Outcome& outcome) {
  const auto& report = outcome.report;
  print_end(report, report.inner_iterations > 0);
  if (outcome.error) std::printf("error       %.3e (largest; the solution is one everywhere)\n", *outcome.error);
  std::printf("time        %.3g s set-up, %.3g s solve\n", report.setup_seconds, report.solve_seconds);
}

std::string advice(const System& system, const Plan& plan, const SolveReport& report) {
  const bool wants_definite = plan.method == "cg" || plan.method == "fcg" || plan.method == "cr";
  const bool failed = report.status == Status::breakdown || report.status == Status::stagnated ||
                      report.status == Status::diverged || report.status == Status::max_iterations;
  if (!failed || !system.symmetric) return "";
  if (std::string singular = why_singular(system); !singular.empty()) return singular;
  if (report.status != Status::breakdown || !wants_definite) return "";
  const auto diagonal = system.a.diagonal();
  const auto negative = std::count_if(diagonal.begin(), diagonal.end(), [](double d) { return d < 0; });
  const bool by_preconditioner = report.reason.find("preconditioner") != std::string::npos;
  if (by_preconditioner && negative == 0) return "";
  const std::string others = plan.method == "cr" ? "--method gmres" : "--method cr or gmres";
  return "the matrix is symmetric and indefinite: try " + others;
}

std::string json_report(const CommandLine& options, const Context& ctx, const System& system, const Settings& settings,
                        const Plan& plan, const Outcome& outcome) {
  const auto& report = outcome.report;
  JsonObject json;
  json.add("program", "krylov").add("version", STRATUM_VERSION);
  add_end(json, report, exit_code_of(report, settings));
  json.add("advice", advice(system, plan, report));
  json.add("rtol", settings.stop.rtol).add("largest_error", outcome.error.value_or(std::nan("")));
  json.add("matrix", system.name).add("rows", system.a.rows).add("entries", system.a.entries());
  json.add("symmetric", system.symmetric).add("negated", system.negated);
  json.add("storage", plan.on_grid ? grid_storage(system) : plan.storage == Storage::band ? "band" : "csr");
  json.add("method", plan.method).add("restart", settings.restart);
  json.add("precision", settings.single ? "single" : "double");
  json.add("preconditioner", settings.preconditioner.empty() ? "none" : settings.preconditioner);
  if (!outcome.box.empty()) json.add("box", outcome.box);
  json.add("block_size", settings.incomplete_cholesky.block_size).add("blocks", settings.incomplete_cholesky.blocks);
  json.add("ic_shift", settings.incomplete_cholesky.shift).add("ip_form", options.text("ip-form"));
  json.add("inner", settings.inner.empty() ? "none" : settings.inner);
  json.add("inner_tolerance", settings.inner_stop.rtol).add("inner_max", settings.inner_stop.max_iterations);
  json.add("inner_test", options.text("inner-test"))
      .add("inner_precision", settings.inner_single ? "single" : "double");
  add_machine(json, ctx);
  json.add("setup_seconds", report.setup_seconds).add("solve_seconds", report.solve_seconds);
  json.add("history", report.history);
  return json.text();
}

}  // namespace stratum::apps::krylov
