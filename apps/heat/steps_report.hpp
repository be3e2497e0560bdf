#pragma once

// What a run in time has come to, for people and for --report, in two dimensions and in three.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/multigrid/heat_progress.hpp>

#include "support/json.hpp"
#include "support/rank_output.hpp"
#include "times.hpp"

namespace stratum::apps::heat {

/// What is known when a line is printed.
struct Moment {
  double t;
  std::int64_t steps;
  double heat;
};

/// What flows when a run has ended: heat gains  source + from_held - sum of fluxes - reaction + left  a unit of time.
struct FluxesAtEnd {
  struct OfBody {
    std::string name;
    BodyKind kind;
    std::int64_t cells;
    double size;
    std::optional<double> flux;  // where it is computed
    double mean;
  };
  std::vector<std::pair<const char*, double>>
      fluxes;  // outward, by names of boundaries; empty: bodies are all that is known
  double gain = 0, source = 0, from_held = 0, reaction = 0, left = 0;
  const char* size_name = "area";
  std::vector<OfBody> bodies{};
};

/// One run, from its start or a restart file to its end.
struct Run {
  std::vector<Moment> moments;
  HeatReport report;
  std::optional<double> error;
  std::optional<FluxesAtEnd> at_end{};
  std::int64_t expected_memory = 0;
  double setup_seconds = 0, solve_seconds = 0;
  std::vector<RankNumbers> ranks{};  // where there are several
};

/// The method, its steps and the times.
template <class Params>
void print_times(const TimeSettings<Params>& settings, double from) {
  const Params& params = settings.params;
  const std::string steps =
      params.tol ? message("steps to a tolerance of ", *params.tol) : message("steps of ", *params.dt);
  std::printf("time      %s, %s, from t = %.12g to %.12g\n", std::string(to_string(params.method)).c_str(),
              steps.c_str(), from, settings.end);
}

/// With the digits that tell it from others.
[[nodiscard]] std::string plain_time(double t);

/// A line of the table of times, and its heading before the `first` one.
void print_moment(const Moment& moment, const HeatReport& report, bool first);

/// How the run ended.
void print_end(const Run& run);

/// How the run ended; what it stepped by and how often; the times it took and what lines say.
void add_status(JsonObject& json, const Run& run);
void add_steps(JsonObject& json, const HeatReport& report, const Run& run);
void add_ends(JsonObject& json, const Run& run);
template <class Params>
void add_steps(JsonObject& json, const TimeSettings<Params>& settings, const Run& run) {
  const Params& params = settings.params;
  json.add("method", to_string(params.method)).add("start", params.start).add("end", settings.end);
  json.add("dt", params.dt.value_or(std::nan(""))).add("tol", params.tol.value_or(std::nan("")));
  add_steps(json, run.report, run);
}

}  // namespace stratum::apps::heat
