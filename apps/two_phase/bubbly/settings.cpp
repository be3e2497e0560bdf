#include "settings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include <stratum/assembly/cell_files.hpp>

#include "support/problem_options.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::bubbly {

namespace {

constexpr int most_cells_across = 32768;

Reuse parse_reuse(const std::string& text, int& ritz) {
  if (text == "auto") return Reuse::automatic;
  if (text == "guess") return Reuse::guess;
  if (text == "none") return Reuse::none;
  const std::string what = "none, guess, ritz:K or auto";
  const auto [kind, number] = parse_pair("--reuse", text, ":", what);
  expects(kind == "ritz", "--reuse: '", shown(text), "' is not ", what);
  ritz = parse_integer("--reuse", number, 1, 100);
  return Reuse::ritz;
}

std::pair<double, double> parse_two(const std::string& option, const std::string& text, const char* what) {
  const auto [first, second] = parse_pair(option, text, ",", what);
  return {parse_number(option, first, positive), parse_number(option, second, positive)};
}

Disc parse_bubble(const std::string& text) {
  const std::string what = "X,Y,R, a centre and a radius";
  const auto [x, rest] = parse_pair("--bubble", text, ",", what);
  const auto [y, r] = parse_pair("--bubble", rest, ",", what);
  return {parse_number("--bubble", x, any_number), parse_number("--bubble", y, any_number),
          parse_number("--bubble", r, positive)};
}

/// The distance from x to the nearest of n cell centres that are `width` apart.
double to_centre(double x, double width, int n) {
  const double nearest = std::clamp(std::floor(x / width), 0.0, n - 1.0);
  return x - (nearest + 0.5) * width;
}

std::vector<Disc> parse_bubbles(const CommandLine& options, const Settings& s) {
  std::vector<Disc> bubbles;
  for (const auto& text : options.texts("bubble")) {
    const Disc bubble = bubbles.emplace_back(parse_bubble(text));
    expects(std::hypot(to_centre(bubble.x, s.cell_width(), s.nx), to_centre(bubble.y, s.cell_height(), s.ny)) <=
                bubble.radius,
            "--bubble: '", shown(text), "' holds the centre of none of the ", s.nx, " x ", s.ny, " cells");
  }
  expects(bubbles.empty() || !options.has("bubbles"), "--bubbles: --bubble gives them already");
  if (!bubbles.empty()) return bubbles;
  const std::string text = options.text("bubbles");
  constexpr int most = 10000, most_across = 100;
  if (text.find('x') == std::string::npos)
    return random_bubbles(parse_integer("--bubbles", text, 1, most), s.seed, s.width, s.height);
  const auto [first, second] = parse_pair("--bubbles", text, "x", "");
  expects(first == second, "--bubbles: '", shown(text), "' is not N or NxN");
  return regular_bubbles(parse_integer("--bubbles", first, 1, most_across), s.width, s.height);
}

/// Options of another problem or preconditioner would be ignored without a word.
void check_owners(const CommandLine& options, const Settings& s) {
  const bool flow = s.problem == Problem::bubbles || s.problem == Problem::phase;
  for (const char* name : {"domain", "inside", "densities"})
    expects(!options.has(name) || flow, "--", name, ": belongs to --problem bubbles and --phase");
  for (const char* name : {"bubbles", "bubble", "time-steps"})
    expects(!options.has(name) || s.problem == Problem::bubbles, "--", name, ": belongs to --problem bubbles");
  for (const char* name : {"contrast", "pin", "project"})
    expects(!options.has(name) || s.problem != Problem::poisson, "--", name,
            ": --problem poisson has one density, and no walls");
  expects(!options.has("densities") || (!options.has("contrast") && !options.has("inside")),
          "--densities: they say the contrast and what is inside");
  const std::string& preconditioner = s.params.preconditioner;
  const bool cycles = preconditioner == "multigrid" || preconditioner == "auto";
  const std::pair<const char*, std::pair<bool, const char*>> users[] = {
      {"blocks", {preconditioner == "block-ic", "block-ic"}},
      {"ip-form", {preconditioner == "incomplete-poisson", "incomplete-poisson"}},
      {"smoother", {cycles, "multigrid"}},
      {"sweeps", {cycles, "multigrid"}},
      {"interpolation", {cycles && s.problem != Problem::poisson, "multigrid, between walls"}}};
  for (const auto& [name, user] : users)
    expects(!options.has(name) || user.first, "--", name, ": belongs to --preconditioner ", user.second);
  for (const char* name : {"dt", "reuse"})
    expects(!options.has(name) || s.time_steps > 0, "--", name, ": nothing moves without --time-steps");
}

/// The cells, and what --phase says of them.
void parse_cells(const CommandLine& options, Settings& s) {
  const auto [x, y] = parse_sizes<2>("--cells", options.text("cells"));
  s.nx = parse_integer("--cells", x, 2, most_cells_across);
  s.ny = parse_integer("--cells", y, 2, most_cells_across);
  if (s.problem != Problem::phase) return;
  const auto file = parsed("--phase", [&] { return parse_cell_file(options.text("phase")); });
  const auto read = parsed("--phase", [&] { return read_cell_values(file.path, file.array); });
  expects(read.size() == 1, "--phase: '", file.path, "' has ", read.size(), " numbers a cell, one is needed here");
  const CellValues& cells = read.front();
  expects(!options.has("cells") || (cells.nx == s.nx && cells.ny == s.ny), "--phase: '", file.path, "' has ", cells.nx,
          " x ", cells.ny, " cells, and --cells asks for ", s.nx, " x ", s.ny);
  s.nx = cells.nx;
  s.ny = cells.ny;
  s.phase = cells.values;
}

PressureParams parse_solver(const CommandLine& options, const Settings& s) {
  PressureParams params;
  params.preconditioner = choice("--preconditioner", options.text("preconditioner"), pressure_preconditioners());
  if (options.has("blocks"))
    params.blocks = options.integer("blocks", 1, static_cast<int>(std::min<std::size_t>(s.cells(), 1'000'000'000)));
  params.form = choice<IncompletePoissonForm>(
      "--ip-form", options.text("ip-form"),
      {{"scaled", IncompletePoissonForm::scaled}, {"printed", IncompletePoissonForm::printed}});
  params.smoother = options.text("smoother");
  check_smoother("--smoother", params.smoother);
  params.sweeps = options.integer("sweeps", 1, 1000);
  params.interpolation = choice<InterpolationKind>("--interpolation", options.text("interpolation"));
  std::tie(params.deflate, params.count) = parse_pressure_deflation(options.text("deflate"));
  const bool blocks = params.deflate == DeflatePressure::blocks || params.deflate == DeflatePressure::split_blocks;
  const int most = std::min(s.nx, s.ny);
  expects(!blocks || params.count <= most, "--deflate asks for ", params.count, " x ", params.count,
          " blocks, but the grid has only ", s.nx, " x ", s.ny, " cells; take at most ", most);
  expects(params.deflate != DeflatePressure::stripes || static_cast<std::size_t>(params.count) <= s.cells(),
          "--deflate asks for ", params.count, " stripes, but the grid has only ", s.cells(), " cells");
  params.mixed = choice<bool>("--precision", options.text("precision"), {{"double", false}, {"mixed", true}});
  return params;
}

}  // namespace

Settings parse_settings(const CommandLine& options) {
  Settings s;
  expects(!options.has("phase") || !options.has("problem"), "--problem: --phase gives it already");
  s.problem = options.has("phase")
                  ? Problem::phase
                  : choice<Problem>(
                        "--problem", options.text("problem"),
                        {{"bubbles", Problem::bubbles}, {"layers", Problem::layers}, {"poisson", Problem::poisson}});
  s.seed = static_cast<unsigned>(options.integer("seed", 0, std::numeric_limits<int>::max()));
  std::tie(s.width, s.height) = parse_two("--domain", options.text("domain"), "W,H, a width and a height");
  s.contrast = options.number("contrast", {1, 1e12});
  const bool light = choice<bool>("--inside", options.text("inside"), {{"light", true}, {"heavy", false}});
  s.inside = light ? 1 / s.contrast : s.contrast;
  if (options.has("densities"))
    std::tie(s.inside, s.outside) =
        parse_two("--densities", options.text("densities"), "IN,OUT, densities inside and outside");
  if (options.has("time-steps")) s.time_steps = options.integer("time-steps", 1, 1'000'000);
  parse_cells(options, s);
  expects(s.problem != Problem::layers || s.nx == s.ny, "--problem layers: as many cells in x as in y, not ", s.nx,
          " x ", s.ny);
  s.params = parse_solver(options, s);
  check_owners(options, s);
  if (s.problem == Problem::bubbles) s.bubbles = parse_bubbles(options, s);
  s.pinned = options.is_set("pin");
  s.project = options.is_set("project");
  s.rhs = options.has("rhs")              ? options.text("rhs")
          : s.problem == Problem::poisson ? "ax"
          : s.time_steps > 0              ? "gravity"
                                          : "white";
  expects(
      !s.project || !s.pinned || s.rhs != "ax",
      "--project: with --pin and --rhs ax the solution is known, and would be another one's; leave one of them out");
  expects(s.rhs != "gravity" || s.problem != Problem::poisson, "--rhs gravity: --problem poisson has no walls");
  s.stop.rtol = options.number("rtol", fraction);
  s.tolerance_asked_for = options.has("rtol");
  s.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000'000);
  s.dt = options.number("dt", positive);
  s.reuse = parse_reuse(options.text("reuse"), s.ritz);
  s.machine = parse_machine(options);
  s.quiet = options.is_set("quiet");
  return s;
}

}  // namespace stratum::apps::bubbly
