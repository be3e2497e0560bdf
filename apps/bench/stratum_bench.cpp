// stratum_bench: how fast the kernels, the cycles and the solvers run, beside a copy of long vectors measured in the same run.
// --help explains. What is measured stands in kernels, lines, solves with contestants, matrix_study, boxes, patches and auto_table;
// libraries to compare with stand in peers/. Times are the shortest of several samples.

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <stratum/version.h>

#include "auto_table.hpp"
#include "bench/peers/hypre.hpp"
#include "boxes.hpp"
#include "contestants.hpp"
#include "kernels.hpp"
#include "lines.hpp"
#include "matrix_study.hpp"
#include "options.hpp"
#include "patches.hpp"
#include "recorder.hpp"
#include "settings.hpp"
#include "solves.hpp"
#include "support/program.hpp"
#include "support/solve_output.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;
using namespace stratum::apps::bench;

/// The processor by its own name, where the system tells it.
std::string processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "";
}

/// Processes that wanted to run during the last minute: about the number of our own threads on an idle machine.
double load_average() {
  double load = std::nan("");
  (void)getloadavg(&load, 1);
  return load;
}

/// Measures and prints all that is asked for. Returns 4 where something did not fit.
int measure(Context& ctx, const Settings& settings, OutputFiles& outputs) {
  std::optional<Hypre> library;
  if (!settings.peers.empty() || !settings.box_peers.empty()) library.emplace(settings.now, ctx.on_gpu());
  const Hypre* hypre = library ? &*library : nullptr;
  const double load_before = load_average();
  Recorder recorder(ctx, settings);
  Json kernels = Json::array(), lines = kernels, solves = kernels, matrices = kernels, boxes = kernels,
       patches = kernels;
  if (settings.kernels) kernels = measure_kernels(recorder);
  if (settings.lines) lines = measure_lines(recorder);
  if (settings.solves) solves = measure_solves(recorder, hypre);
  if (settings.coefficients) solves.append(measure_coefficients(recorder, hypre));
  if (settings.matrices)
    recorder.attempt("matrices", [&] {
      matrices = run_matrix_study(ctx, hypre, settings.peers, settings.csr_peers, settings.now, settings.quick ? 8 : 1);
    });
  if (settings.in_boxes) boxes = measure_boxes(recorder, hypre);
  if (settings.on_patches) patches = measure_patches(recorder);

  JsonObject json;
  json.add("program", "stratum_bench").add("version", STRATUM_VERSION);
  add_machine(json, ctx);
  json.add("processor", processor());
  if (ctx.subdomains() > 1)
    json.add("ranks", ctx.subdomains()).add("ranks_exchange_by", std::string(ctx.communicator()->name()));
  json.add("clock", settings.now == cpu_seconds ? "cpu" : "wall");
  json.add("load_average_before", load_before).add("load_average_after", load_average());
  json.add("quick", settings.quick).add("rounds", settings.rounds);
  json.add("copy_vector_bytes", recorder.copy_bytes()).add("copy_gb_per_s", recorder.copy_rate() * 1e-9);
  json.add("rtol", rtol).add("max_iterations", max_iterations).add("peers", peers(ctx, settings));
  json.add("line_peer", line_peer(settings));
  json.add("kernels", kernels).add("lines", lines).add("solves", solves);
  json.add("matrices", matrices).add("boxes", boxes).add("patches", patches).add("left_out", recorder.left_out());
  outputs.write_text("json", json.text());
  return recorder.left_out().empty() ? 0 : 4;
}

int run(Context ctx, const Settings& settings, const CommandLine& options, OutputFiles outputs) {
  outputs.check();
  if (!options.is_set("auto")) return measure(ctx, settings, outputs);
  outputs.write_text("json", print_auto_table(ctx, settings.now, options.text("clock"), settings.meshes,
                                              settings.levels, options.integer("random", 0, 1000)));
  return 0;
}

/// What the options ask for.
std::function<int()> prepare(const CommandLine& options, const Ranks& ranks) {
  Machine machine = parse_machine(options);
  machine.ranks = &ranks;
  const std::string what = options.text("what");
  expects(!machine.has_ranks() || ((what == "boxes" || what == "patches") && !options.is_set("auto")),
          "several ranks measure --what boxes or patches, and nothing else");
  machine.warn_of_binding("stratum_bench");
  const Context ctx = machine.context();
  expects(options.is_set("auto") || !options.has("random"), "--random: only --auto takes random meshes");
  (void)options.integer("random", 0, 1000);
  OutputFiles outputs(options);
  if (ranks.rank() > 0) outputs.remove_all_but("");
  return [ctx, settings = parse_settings(options, ctx), outputs, &options] {
    return run(ctx, settings, options, outputs);
  };
}

}  // namespace

int main(int argc, char** argv) {
  Ranks ranks;
  Program program{"stratum_bench",
                  text_before_options(),
                  text_after_options(),
                  make_command_line(),
                  {},
                  [&ranks](const CommandLine& options) { return prepare(options, ranks); }};
  return run_program(program, argc, argv, &ranks);
}
