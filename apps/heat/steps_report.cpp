#include "steps_report.hpp"

namespace stratum::apps::heat {

std::string plain_time(double t) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.12g", t);
  return text;
}

void print_moment(const Moment& moment, const HeatReport& report, bool first) {
  if (first) std::printf("%14s %10s %10s %10s %24s\n", "t", "steps", "rejected", "cycles", "heat");
  std::printf("%14.12g %10lld %10lld %10lld %24.16g\n", moment.t, static_cast<long long>(moment.steps),
              static_cast<long long>(report.rejected), static_cast<long long>(report.cycles), moment.heat);
  (void)std::fflush(stdout);
}

namespace {

void print_fluxes(const FluxesAtEnd& f) {
  std::string text;
  for (const auto& [name, flux] : f.fluxes) {
    char number[48];
    (void)std::snprintf(number, sizeof number, "%s%s %.6g", text.empty() ? "" : ", ", name, flux);
    text += number;
  }
  if (!text.empty()) {
    std::printf("flux        outward at the end: %s", text.c_str());
    if (f.reaction != 0) std::printf(" with %.6g of the reaction", f.reaction);
    std::printf("; integral of f %.6g", f.source);
    if (f.from_held != 0) std::printf(" and %.6g out of bodies", f.from_held);
    std::printf("; heat gains %.6g a unit of time, which differs by %.1e\n", f.gain, std::abs(f.left));
  }
  for (std::size_t n = 0; n < f.bodies.size(); ++n) {
    const auto& body = f.bodies[n];
    std::printf("%-11s %s: %lld cells, %s %.6g, ", message("body ", n + 1).c_str(), body.name.c_str(),
                static_cast<long long>(body.cells), f.size_name, body.size);
    if (body.flux) std::printf("flux out of it %.6g, ", *body.flux);
    std::printf("mean %.6g%s\n", body.mean, body.kind == BodyKind::no_flux ? " on its surface" : "");
  }
}

}  // namespace

void print_end(const Run& run) {
  const HeatReport& r = run.report;
  std::printf("\nstatus      %s: %s\n", std::string(to_string(r.status)).c_str(), r.reason.c_str());
  std::printf("steps       %lld, %lld rejected, dt %.3g to %.3g\n", static_cast<long long>(r.steps),
              static_cast<long long>(r.rejected), r.shortest_dt, r.longest_dt);
  if (r.forced > 0)
    std::printf("            %lld as short as steps may be, in spite of their error: data that jump in time, or too "
                "small a --tol\n",
                static_cast<long long>(r.forced));
  std::printf("cycles      %lld in %lld solves, %d at most; %lld updates of the hierarchy\n",
              static_cast<long long>(r.cycles), static_cast<long long>(r.solves), r.most_cycles,
              static_cast<long long>(r.updates));
  if (r.estimated_error)
    std::printf("estimated error %.1e of the range of u at most, left by the solves\n", *r.estimated_error);
  std::printf("heat        %.16g, %.16g at first\n", run.moments.back().heat, run.moments.front().heat);
  if (run.at_end) print_fluxes(*run.at_end);
  if (run.error) std::printf("error       %.7e (L2, relative to the exact solution at the end)\n", *run.error);
  std::printf("time        %.3g s set-up, %.3g s steps\n", run.setup_seconds, run.solve_seconds);
}

void add_status(JsonObject& json, const Run& run) {
  const HeatReport& r = run.report;
  json.add("status", to_string(r.status)).add("reason", r.reason).add("exit_code", exit_code(r.status));
  json.add("relative_l2_error", run.error.value_or(std::nan("")));
}

void add_steps(JsonObject& json, const HeatReport& r, const Run& run) {
  json.add("t", r.t).add("steps", r.steps).add("rejected", r.rejected);
  json.add("forced", r.forced);
  json.add("shortest_dt", r.shortest_dt).add("longest_dt", r.longest_dt);
  json.add("solves", r.solves).add("cycles", r.cycles);
  json.add("most_cycles", r.most_cycles).add("updates", r.updates);
  json.add("estimated_error", r.estimated_error.value_or(std::nan("")));
  json.add("heat_at_first", run.moments.front().heat).add("heat", run.moments.back().heat);
}

void add_ends(JsonObject& json, const Run& run) {
  if (run.at_end) {
    const FluxesAtEnd& f = *run.at_end;
    if (!f.fluxes.empty()) {
      json.add("fluxes", json_array(f.fluxes, [](const auto& flux) { return Json(flux.second); }));
      json.add("heat_gain", f.gain).add("source", f.source).add("reaction_integral", f.reaction);
      json.add("from_held_bodies", f.from_held).add("balance_difference", f.left);
    }
    json.add("bodies", json_array(f.bodies, [&](const auto& body) {
               JsonObject row;
               row.add("body", body.name).add("kind", to_string(body.kind)).add("cells", body.cells);
               row.add(f.size_name, body.size).add("flux", body.flux.value_or(std::nan("")));
               return row.add("mean", body.mean).value();
             }));
  }
  json.add("setup_seconds", run.setup_seconds).add("solve_seconds", run.solve_seconds);
  json.add("expected_memory_bytes", run.expected_memory).add("peak_memory_bytes", peak_memory());
  json.add("outputs", json_array(run.moments, [](const Moment& m) {
             return JsonObject().add("t", m.t).add("steps", m.steps).add("heat", m.heat).value();
           }));
}

}  // namespace stratum::apps::heat
