#include "report.hpp"

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <sstream>

#include <stratum/staggered/propagator.hpp>
#include <stratum/version.h>

#include "support/json.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::propagators {

void print_heading(const Context& ctx, const GaugeField& field, const Settings& s) {
  const Lattice& l = field.lattice;
  std::printf("lattice     %d x %d x %d x %d sites, antiperiodic in t; %d unknowns on the even ones\n", l.nx, l.ny,
              l.nz, l.nt, 6 * l.half());
  std::printf("field       %s, plaquette %.6f, link trace %.6f\n",
              !s.gauge.empty()                ? s.gauge.c_str()
              : s.field == StartField::unit   ? "unit"
              : s.field == StartField::random ? "random"
                                              : message("near the unit field, sigma ", s.sigma).c_str(),
              plaquette(field), link_trace(field));
  if (ctx.subdomains() > 1) {
    const auto subdomain = LatticeSubdomain::of(ctx, l, s.partition);
    std::printf("ranks       %d, with %d times%s each; %s\n", ctx.subdomains(), subdomain.lattice().nt,
                subdomain.is_distributed(2) ? message(" and nz = ", subdomain.lattice().nz).c_str() : "",
                *subdomain.partition.overlap ? "work goes on while sites travel" : "sites travel first");
  }
  if (!s.machine.alone.empty()) std::printf("ranks       %s\n", s.machine.alone.c_str());
  const int reals = static_cast<int>(s.reals);
  if (s.mixed)
    std::printf(
        "solver      conjugate gradients, steps in float with %d reals%s a link (%d bytes a site and D), residuals in "
        "double%s; %s\n\n",
        reals, s.shorts ? " of 16 bits" : "",
        s.shorts ? bytes_per_site<Short>(s.reals) : bytes_per_site<float>(s.reals),
        s.together ? ", all masses together" : "", ctx.description().c_str());
  else
    std::printf("solver      conjugate gradients in double with %d reals a link (%d bytes a site and D)%s; %s\n\n",
                reals, bytes_per_site<double>(s.reals), s.together ? ", all masses together" : "",
                ctx.description().c_str());
}

void print_outcome(const Outcome& outcome, const Settings& s, const SolveReport& report) {
  std::printf("\n%10s %7s %11s %8s %12s  %s\n", "mass", "colour", "iterations", "updates", "residual", "status");
  for (const auto& run : outcome.runs)
    std::printf("%10g %7d %11d %8d %12.3e  %s\n", run.mass, run.colour, run.report.iterations, run.updates,
                run.report.relative_residual(), std::string(to_string(run.report.status)).c_str());
  if (s.source != Source::random) {
    std::printf("\n%10s %14s %10s %18s %18s\n", "mass", "pion mass^2", "by mass", "effective, t = 0", "t = 1");
    for (std::size_t k = 0; k < s.masses.size(); ++k) {
      const double square = pion_mass_squared(outcome.correlators[k]);
      const auto effective = effective_masses(outcome.correlators[k]);
      const auto at = [&](std::size_t t) { return t < effective.size() ? effective[t] : std::nan(""); };
      std::printf("%10g %14.6f %10.4f %18.4f %18.4f\n", s.masses[k], square, square / s.masses[k], at(0), at(1));
    }
    std::printf("ward        %.1e (the sum of the correlator is (b, A^-1 b), relative)\n", ward_difference(outcome));
  }
  std::printf("\nstatus      %s: %s\n", std::string(to_string(report.status)).c_str(), report.reason.c_str());
  if (outcome.error)
    std::printf("error       %.3e (largest, relative to the propagator by Fourier transform at the origin)\n",
                *outcome.error);
  std::printf("time        %.3g s set-up, %.3g s solve\n", outcome.setup_seconds, outcome.solve_seconds);
}

std::string json_report(const CommandLine& options, const Context& ctx, const GaugeField& field, const Settings& s,
                        const Outcome& outcome, const SolveReport& report) {
  JsonObject json;
  json.add("program", "staggered").add("version", STRATUM_VERSION);
  add_end(json, report, exit_code(report.status, s.tolerance_asked_for));
  json.add("rtol", s.stop.rtol).add("error", outcome.error.value_or(std::nan("")));
  json.add("lattice", json_array(field.lattice.extents(), [](int n) { return n; }));
  json.add("field", s.gauge.empty() ? options.text("field") : s.gauge).add("sigma", s.sigma).add("seed", s.seed);
  json.add("plaquette", plaquette(field)).add("link_trace", link_trace(field));
  json.add("source", options.text("source"))
      .add("precision", s.mixed ? options.text("precision") : "double")
      .add("together", s.together);
  json.add("reals", static_cast<int>(s.reals)).add("link_error", outcome.link_error);
  json.add("delta", s.reliable.delta).add("scheme", options.text("scheme")).add("beta", options.text("beta"));
  json.add("solution_in_double", s.reliable.solution_in_double);
  add_machine(json, ctx);
  const auto subdomain = LatticeSubdomain::of(ctx, field.lattice, s.partition);
  json.add("ranks", ctx.subdomains())
      .add("partition", {subdomain.partition.t, subdomain.partition.z})
      .add("overlap", *subdomain.partition.overlap);
  if (!s.machine.alone.empty()) json.add("solved_on_one", s.machine.alone);
  json.add("setup_seconds", outcome.setup_seconds).add("solve_seconds", outcome.solve_seconds);
  json.add("runs", json_array(outcome.runs, [](const Run& run) {
             JsonObject row;
             row.add("mass", run.mass).add("colour", run.colour).add("iterations", run.report.iterations);
             row.add("updates", run.updates).add("relative_residual", run.report.relative_residual());
             return row.add("status", to_string(run.report.status)).add("reason", run.report.reason).value();
           }));
  if (s.source != Source::random) {
    json.add("correlators", outcome.correlators).add("ward_difference", ward_difference(outcome));
    json.add("pion_mass_squared", json_array(outcome.correlators, pion_mass_squared));
  }
  return json.text();
}

std::string csv_correlators(const Outcome& outcome, const Settings& s) {
  std::ostringstream out;
  out.precision(17);
  out << "mass,t,correlator,effective_mass\n";
  for (std::size_t k = 0; k < s.masses.size(); ++k) {
    const auto& c = outcome.correlators[k];
    const auto effective = effective_masses(c);
    for (std::size_t t = 0; t < c.size(); ++t) {
      out << s.masses[k] << ',' << t << ',' << c[t] << ',';
      if (t < effective.size() && std::isfinite(effective[t])) out << effective[t];
      out << '\n';
    }
  }
  return out.str();
}

}  // namespace stratum::apps::propagators
