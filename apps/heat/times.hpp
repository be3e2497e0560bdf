#pragma once

// Options that say when a run steps and stops, and to what files it writes, of programs in two and in three dimensions.

#include <cmath>
#include <string>
#include <utility>

#include <stratum/multigrid/heat_progress.hpp>

#include "support/command_line.hpp"
#include "support/output_files.hpp"
#include "support/picture_output.hpp"
#include "support/program.hpp"
#include "support/vtk_series.hpp"

namespace stratum::apps::heat {

/// What they say, with what solves the stages.
template <class Params>
struct TimeSettings {
  Params params;
  int level = 0;
  double end = 0;
  double output_every = 0, restart_every = 0;  // 0: at the end alone
  Machine machine;
  bool quiet = false;
};

[[nodiscard]] inline OptionGroup time_options() {
  return {
      "Time",
      {{"start", "T", "0", "time at which the run starts"},
       {"end", "T", "0.1", "time at which it ends"},
       {"method", "NAME", "tr-bdf2",
        "euler (implicit, first order), crank-nicolson (second order; initial values that are not smooth keep "
        "oscillating) or tr-bdf2 (second order; damps such oscillations)"},
       {"tol", "X", "",
        "tr-bdf2 adapts its steps so that the error of each is X times the norm of u, X in (0, 1) (1e-4 without "
        "--dt). Data are looked at 512 times between the start and the end; a change that is shorter than that may be "
        "missed: give --output-every or --dt"},
       {"dt", "DT", "", "length of the steps, which may be a little shorter; with --tol the length of the first step"},
       {"max-steps", "N", "10000000", "1 .. 1000000000"},
       input_file(
           "restart", "FILE",
           "continue from a file of --save, bit for bit like the run that saved it and went on. If the data have "
           "changed, continue from its u alone, with a warning")}};
}

/// All of `settings` but the level.
template <class Params>
void parse_times(const CommandLine& options, TimeSettings<Params>& settings) {
  constexpr double most_outputs = 100'000;
  Params& params = settings.params;
  params.start = options.number("start", any_number);
  settings.end = options.number("end", any_number);
  expects(settings.end > params.start, "--end: '", options.text("end"), "' does not come after the start, ",
          params.start);
  params.method = choice<TimeMethod>("--method", options.text("method"));
  if (options.has("dt")) params.dt = options.number("dt", positive);
  const bool adapts = params.method == TimeMethod::tr_bdf2;
  expects(adapts || !options.has("tol"), "--tol: only tr-bdf2 estimates errors, ", options.text("method"),
          " takes steps of one length; --dt says which");
  expects(adapts || params.dt, "--dt: ", options.text("method"), " takes steps of one length; how long are they?");
  if (options.has("tol"))
    params.tol = options.number("tol", fraction);
  else if (!params.dt)
    params.tol = 1e-4;
  if (options.has("rtol")) params.eta = options.number("rtol", fraction);
  params.max_steps = options.integer("max-steps", 1, 1'000'000'000);
  for (const auto& [name, every] :
       {std::pair{"output-every", &settings.output_every}, {"restart-every", &settings.restart_every}}) {
    if (!options.has(name)) continue;
    *every = options.number(name, positive);
    const double count = (settings.end - params.start) / *every;
    expects(count <= most_outputs, "--", name, ": '", options.text(name), "' comes ", std::floor(count),
            " times, more than ", most_outputs);
  }
  expects(!options.has("restart-every") || options.has("save"), "--restart-every: to what file? --save FILE says");
  settings.machine = parse_machine(options);
  settings.quiet = options.is_set("quiet");
}

/// The names of the files, checked. `grid` of the film's: r, or s of quadrilaterals.
[[nodiscard]] inline OutputFiles parse_outputs_of_steps(const CommandLine& options, int ranks, char grid) {
  OutputFiles outputs(options);
  const std::string series = outputs.path("vtk");
  expects(series.empty() || series.ends_with(".pvd"), "--vtk: '", series,
          "' must end in .pvd, ParaView's format for a series of files, which are written beside it");
  if (!series.empty())
    outputs.add_family("vtk", series,
                       [=](const std::string& file) { return VtkSeries::names(series, ranks, grid, file); });
  check_picture(outputs);
  expects(outputs.path("save") != "-", "--save: it is read again, and standard output is not");
  return outputs;
}

}  // namespace stratum::apps::heat
