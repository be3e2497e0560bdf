#include "report.hpp"

#include <cmath>
#include <cstdio>

#include <stratum/version.h>

#include "support/json.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::magnetics {

namespace {

std::string describe_solver(const Settings& settings) {
  const std::string precision = settings.solver.mixed ? "single" : "double";
  std::string text = settings.solver.method + " in double precision";
  if (!settings.solver.inner.empty())
    text += message(", inner ", settings.solver.inner, " to ", settings.solver.inner_stop.rtol, " or ",
                    settings.solver.inner_stop.max_iterations, " iterations in ", precision);
  if (settings.solver.preconditioner.empty())
    return text + (settings.solver.inner.empty() ? ", no preconditioner" : "");
  return text + ", " + settings.solver.preconditioner + " in " + precision;
}

}  // namespace

void print_heading(const Context& ctx, const Problem& problem, const Settings& settings) {
  const auto& elements = problem.elements;
  const BoxGrid& grid = elements.grid();
  std::printf("grid      %d x %d x %d boxes, %d %s, %d nodes\n", grid.cells(0), grid.cells(1), grid.cells(2),
              elements.elements(), std::string(to_string(elements.element())).c_str(), grid.nodes());
  std::printf("unknowns  %d of %lld edges; the gradients of %d inner nodes are the kernel\n", elements.unknowns(),
              static_cast<long long>(elements.edges()), elements.kernel_size());
  if (settings.curve)
    std::printf("steel     by its magnetisation curve, %s\n",
                settings.nonlinear.method == NonlinearMethod::newton ? "Newton's method" : "Anderson acceleration");
  else
    std::printf("steel     relative permeability %g\n", settings.permeability);
  std::printf("source    %g ampere-turns; |(b, G phi)| / (|b| |G phi|) = %.1e\n", settings.ampere_turns,
              problem.source_check);
  std::printf("solver    %s; %s\n\n", describe_solver(settings).c_str(), ctx.description().c_str());
}

void print_results(const Results& r, const Settings& settings, const SolvedField& field) {
  const auto* const measured = measurement(settings.ampere_turns);
  const auto line = [&](const char* name, double ours, double there, const char* unit) {
    std::printf("%-24s %10.4g", name, ours);
    if (measured != nullptr) std::printf(" %10g", there);
    std::printf("  %s\n", unit);
  };
  std::printf("\n%-24s %10s%s\n", "", "computed", measured == nullptr ? "" : "   measured");
  const team20::Measurement none{};
  const team20::Measurement& m = measured == nullptr ? none : *measured;
  line("force on the pole, down", -r.force, m.force, "N");
  line("B_z at P1", r.p1, m.p1, "T");
  line("B_z at P2, an edge", r.p2, m.p2, "T");
  line("B_z in the pole, |mean|", std::abs(r.pole), m.pole, "T");
  line("B_z in the yoke, |mean|", std::abs(r.yoke), m.yoke, "T");
  std::printf("energy      %.5g J\ninductance  %.5g H per turn squared\n", r.energy, r.inductance);
  const std::string text = remark(settings, field);
  if (!text.empty()) std::printf("note        %s\n", text.c_str());
}

std::string json_report(const CommandLine& options, const Context& ctx, const Problem& problem,
                        const Settings& settings, const SolvedField& field, const Results& r) {
  const SolveReport& report = field.report;
  const auto& elements = problem.elements;
  const BoxGrid& grid = elements.grid();
  JsonObject json;
  json.add("program", "team20").add("version", STRATUM_VERSION);
  add_end(json, report, exit_code(report.status, settings.tolerance_asked_for));
  json.add("rtol", settings.stop.rtol);
  json.add("element", to_string(elements.element())).add("boxes", {grid.cells(0), grid.cells(1), grid.cells(2)});
  json.add("spacing", 1e3 * settings.grid.spacing).add("growth", settings.grid.growth);
  json.add("gap_cells", settings.grid.gap_cells);
  json.add("nodes", grid.nodes()).add("elements", elements.elements()).add("edges", elements.edges());
  json.add("unknowns", elements.unknowns()).add("kernel", elements.kernel_size());
  json.add("ampere_turns", settings.ampere_turns).add("curve", settings.curve);
  json.add("permeability", settings.curve ? std::nan("") : settings.permeability);
  json.add("nonlinear", settings.curve ? std::string(to_string(settings.nonlinear.method)) : "none");
  json.add("largest_b_in_steel", settings.curve ? field.largest : std::nan("")).add("newton_steps", field.steps);
  json.add("source_check", problem.source_check);
  json.add("method", options.text("method"))
      .add("outer", settings.solver.method)
      .add("restart", settings.solver.restart);
  json.add("inner", settings.solver.inner.empty() ? "none" : settings.solver.inner);
  json.add("inner_tolerance", settings.solver.inner_stop.rtol)
      .add("inner_max", settings.solver.inner_stop.max_iterations);
  json.add("precision", settings.solver.mixed ? "mixed" : "double")
      .add("preconditioner", options.text("preconditioner"));
  json.add("force", r.force).add("energy", r.energy).add("inductance", r.inductance);
  json.add("bz_p1", r.p1).add("bz_p2", r.p2).add("bz_pole", r.pole).add("bz_yoke", r.yoke);
  if (const auto* const m = measurement(settings.ampere_turns); m != nullptr)
    json.add("measured", JsonObject()
                             .add("force", m->force)
                             .add("bz_p1", m->p1)
                             .add("bz_p2", m->p2)
                             .add("bz_pole", m->pole)
                             .add("bz_yoke", m->yoke)
                             .value());
  json.add("remark", remark(settings, field));
  add_machine(json, ctx);
  json.add("assembly_seconds", problem.seconds);
  json.add("setup_seconds", report.setup_seconds).add("solve_seconds", report.solve_seconds);
  json.add("history", report.history);
  return json.text();
}

}  // namespace stratum::apps::magnetics
