// bubbly2d: solves the pressure equation -div(1/density grad p) = f of two fluids in a box, in cells, by conjugate gradients
// with a preconditioner and deflation; one system, or a series of them while bubbles move. --help explains; the file is parse,
// make the system, solve, print, write, in that order.

#include <future>
#include <numbers>
#include <optional>
#include <tuple>

#include <stratum/assembly/cell_files.hpp>
#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/assembly/picture.hpp>
#include <stratum/core/io/npy_file.hpp>
#include <stratum/mesh/vtk/vtk.hpp>
#include <stratum/version.h>

#include "support/problem_options.hpp"
#include "support/program.hpp"
#include "support/progress.hpp"
#include "support/solve_output.hpp"
#include "support/vtk_series.hpp"
#include "two_phase.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;

constexpr const char* program_name = "bubbly2d";

enum class Problem : std::uint8_t { poisson, layers, bubbles, phase };
enum class Reuse : std::uint8_t { none, guess, ritz, automatic };

struct Settings {
  Problem problem = Problem::bubbles;
  int nx = 0, ny = 0;
  double width = 1, height = 1;
  std::vector<Disc> bubbles;
  std::vector<double> phase;
  double inside = 1, outside = 1;  // densities
  double contrast = 1;             // of layers
  bool pinned = false, project = false;
  std::string rhs;
  unsigned seed = 0;
  PressureParams params;
  StoppingParams stop;
  bool tolerance_asked_for = false;
  int time_steps = 0;  // 0: one system
  double dt = 0;
  Reuse reuse = Reuse::automatic;
  int ritz = 0;
  Machine machine;
  bool quiet = false;

  [[nodiscard]] double cell_width() const { return width / nx; }
  [[nodiscard]] double cell_height() const { return height / ny; }
  [[nodiscard]] std::size_t cells() const { return static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny); }
};

// --- options ------------------------------------------------------------------------------------------------------------

constexpr int most_cells_across = 32768;

/// Of FILE[:ARRAY].
std::vector<std::string> phase_files(const std::string& text) {
  return coefficient_files(std::string(file_prefix) + text);
}

CommandLine make_command_line() {
  const PressureParams defaults;
  return CommandLine(
      {{"Problem: -div(1/density grad p) = f in cells, walls all around",
        {{"problem", "NAME", "bubbles",
          "bubbles; layers (two of them, the heavy one above); poisson (4 and -1, zeros beyond the boundaries)"},
         with_files({"phase", "FILE[:ARRAY]", "",
                     "instead: numbers in 0 .. 1 on the cells, where the fluid inside is, .npy, .csv, .vti or .vtr"},
                    Names::input, phase_files),
         {"cells", "N|NX,NY", "128", "N x N or NX x NY cells, each 2 .. 32768 (those of --phase)"},
         {"domain", "W,H", "1,1", "bubbles, --phase: width and height of the box, above 0"},
         {"contrast", "C", "1000", "density of the heavy fluid over that of the light one, 1 .. 1e12"},
         {"inside", "NAME", "light", "bubbles, --phase: the fluid inside is light (1/C, and 1 outside) or heavy (C)"},
         {"densities", "IN,OUT", "", "bubbles, --phase: densities inside and outside instead, above 0"},
         {"bubbles", "N|NxN", "3x3", "N anywhere, or N x N in rows, 1 .. 10000 in all"},
         {"bubble", "X,Y,R", "", "one bubble, by centre and radius; as many as you like, instead of --bubbles", true},
         coefficient_option(
             "rhs", "RHS", "",
             "white (noise), ax (A times a random solution, which is known then), gravity (p holds the fluids, at rest "
             "so far), file:PATH as --phase, or f as an expression in x and y (white; poisson ax; in time gravity)"),
         {"project", "", "", "make a right-hand side compatible that is not: take its mean away"},
         {"seed", "N", "12345", "of random bubbles and right-hand sides, 0 .. 2147483647"},
         {"pin", "", "", "fix p in the last cell instead of its mean, as some do; costs digits and iterations"}}},
       {"Solver: conjugate gradients",
        {{"preconditioner", "NAME", defaults.preconditioner,
          "none, jacobi, ic, block-ic, incomplete-poisson, multigrid, or auto"},
         {"blocks", "N", "", "block-ic: so many blocks, 1 .. the number of cells (a block for every two rows)"},
         {"ip-form", "NAME", "scaled", "incomplete-poisson: scaled by the diagonal, or printed, as published"},
         {"smoother", "NAME", defaults.smoother, "multigrid: see poisson2d --list-smoothers"},
         {"sweeps", "N", plain(defaults.sweeps), "multigrid: sweeps before and after, 1 .. 1000"},
         {"interpolation", "NAME", std::string(to_string(defaults.interpolation)),
          "multigrid: split (sums of links along x and y), conductance, matrix or bilinear"},
         {"deflate", "VECTORS", "auto",
          "none; stripes:D of consecutive cells; blocks:Q, Q x Q of them; split-blocks:Q, split where two fluids meet "
          "in one; inclusions, one for each of low density; ritz:K of a solve of its own; or auto"},
         {"precision", "NAME", "double", "double, or mixed: the preconditioner in float"},
         {"rtol", "X", "1e-8", "stop when the true residual has fallen below X ||b||, X in (0, 1)"},
         {"max-iterations", "N", "10000", "1 .. 1000000000"}}},
       {"Time: bubbles rise and turn",
        {{"time-steps", "N", "", "solve again after each of so many steps, 1 .. 1000000"},
         {"dt", "DT", "0.01", "of this length; the box is as high as a bubble rises in a time of 1"},
         {"reuse", "WHAT", "auto",
          "of the step before: none, guess (its p to start from), ritz:K (that and its K lowest Ritz vectors to "
          "deflate "
          "with, K in 1 .. 100) or auto (the guess where it is nearer to p than zero is, in the energy norm)"}}},
       machine_options(),
       {"Output",
        {output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
         output_file("history", "FILE.csv", "the residual after every iteration"),
         output_file("vtk", "FILE.vtr",
                     "density, p, f and numbers of deflation vectors on the cells; in time FILE.pvd"),
         output_file("npy", "FILE.npy", "p alone, as NumPy's array"),
         output_file("png", "FILE.png", "a picture of p"),
         {"quiet", "", "", "print errors only"}}}},
      {"Other",
       {input_file("config", "FILE", "read options from a file of lines like contrast=10; the command line wins"),
        {"print-config", "", "", "print such a file for this command line, and stop"},
        {"help", "", "", "print this"},
        {"version", "", "", "print the version"}}});
}

constexpr const char* before_options =
    "Usage: bubbly2d [OPTIONS]\n\n"
    "Solves the pressure equation of two fluids, whose densities may be 10^6 apart, on the cells of a box, by\n"
    "conjugate gradients with a preconditioner of your choice and deflation vectors that take out what it leaves "
    "slow.\n"
    "Between walls p is known up to a constant, and the system is solved as it is: singular and consistent.\n";

constexpr const char* examples =
    "Examples:\n"
    "  bubbly2d                                          3 x 3 light bubbles, a thousandth as dense as what is around\n"
    "  bubbly2d --bubbles 25 --contrast 1e6 --rhs gravity --vtk bubbles.vtr\n"
    "  bubbly2d --problem layers --preconditioner block-ic --deflate blocks:32 --rtol 1e-6\n"
    "  bubbly2d --problem poisson --preconditioner ic --deflate stripes:512\n"
    "  bubbly2d --phase colour.npy --densities 1.2,1000 --rhs 'sin(pi*x)*cos(pi*y)'\n"
    "  bubbly2d --bubbles 10 --time-steps 100 --vtk rising.pvd\n\n";

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
  const auto [x, y] = parse_sizes(options.text("cells"));
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
  params.interpolation =
      choice("--interpolation", options.text("interpolation"), named_values(values_of<InterpolationKind>));
  std::tie(params.deflate, params.count) = parse_pressure_deflation(options.text("deflate"));
  const bool blocks = params.deflate == DeflatePressure::blocks || params.deflate == DeflatePressure::split_blocks;
  const int most = std::min(s.nx, s.ny);
  expects(!blocks || params.count <= most, "--deflate: ", params.count, " x ", params.count, " blocks of ", s.nx, " x ",
          s.ny, " cells; up to ", most, " x ", most, " can be made");
  expects(params.deflate != DeflatePressure::stripes || static_cast<std::size_t>(params.count) <= s.cells(),
          "--deflate: ", params.count, " stripes of ", s.cells(), " cells; as many can be made as there are cells");
  params.mixed = choice<bool>("--precision", options.text("precision"), {{"double", false}, {"mixed", true}});
  return params;
}

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

OutputFiles parse_outputs(const CommandLine& options, const Settings& s) {
  OutputFiles outputs(options);
  const auto ends = [&](const char* option, const char* ending) {
    const std::string path = outputs.path(option);
    expects(path.empty() || path == "-" || path.ends_with(ending), "--", option, ": '", path, "' must end in ", ending);
  };
  ends("vtk", s.time_steps > 0 ? ".pvd" : ".vtr");
  ends("npy", ".npy");
  ends("png", ".png");
  expects(s.time_steps == 0 || outputs.path("vtk") != "-", "--vtk: a film is several files");
  if (const std::string film = outputs.path("vtk"); s.time_steps > 0 && !film.empty())
    outputs.add_family("vtk", film, [film](const std::string& file) { return VtkSeries::names(film, 1, 'r', file); });
  expects(s.time_steps == 0 || !outputs.has("history"), "--history: of one solve; --report tells of every step");
  expects(!outputs.has("png") || pictures_available(), "--png: this build has no VTK that draws (Debian: libvtk9-dev)");
  return outputs;
}

// --- the system ---------------------------------------------------------------------------------------------------------

PressureSystem make_system(const Settings& s, int threads) {
  auto system = [&] {
    switch (s.problem) {
      case Problem::poisson: return poisson_system(s.nx, s.ny);
      case Problem::layers: return layered_system(s.nx, s.contrast);
      case Problem::phase:
        return parsed("--phase", [&] {
          return flow_system(s.nx, s.ny, densities_of_phase(s.nx, s.ny, s.phase, s.inside, s.outside), s.width,
                             s.height, threads);
        });
      default:
        return flow_system(s.nx, s.ny,
                           densities_of_discs(s.nx, s.ny, s.bubbles, s.inside, s.outside, s.width, s.height, threads),
                           s.width, s.height, threads);
    }
  }();
  if (s.pinned) pin(system.links, s.nx - 1, s.ny - 1);
  return system;
}

/// f of every cell times its area.
std::vector<double> load_of(const Settings& s) {
  const double hx = s.cell_width(), hy = s.cell_height();
  std::vector<double> b(s.cells(), 0.0);
  const auto at = [&](int i, int j) {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(s.nx) + static_cast<std::size_t>(i);
  };
  if (s.rhs == "gravity") {
    // 1/density grad p = g but for what makes the flow free of divergence: the walls carry it.
    for (int i = 0; i < s.nx; ++i) {
      b[at(i, 0)] = hx;
      b[at(i, s.ny - 1)] = -hx;
    }
    return b;
  }
  if (s.rhs.starts_with(file_prefix)) {
    return parsed("--rhs", [&] {
      const auto file = parse_cell_file(std::string_view(s.rhs).substr(file_prefix.size()));
      const auto read = read_cell_values(file.path, file.array);
      expects(read.size() == 1 && read.front().nx == s.nx && read.front().ny == s.ny, "'", file.path, "' has ",
              read.size(), " numbers on ", read.front().nx, " x ", read.front().ny, " cells, not one on ", s.nx, " x ",
              s.ny);
      for (std::size_t k = 0; k < b.size(); ++k) b[k] = read.front().values[k] * hx * hy;
      return b;
    });
  }
  const ScalarFunction f =
      parsed("--rhs", [&] { return parse_expression(s.rhs, s.width, s.height, Variables::space); });
  for (int j = 0; j < s.ny; ++j)
    for (int i = 0; i < s.nx; ++i) {
      const double x = (i + 0.5) * hx, y = (j + 0.5) * hy;
      const double value = f({x, y, s.width - x, s.height - y, x, y});
      expects(std::isfinite(value), "--rhs: '", shown(s.rhs), "' is ", value, " at (", x, ", ", y, ")");
      b[at(i, j)] = value * hx * hy;
    }
  return b;
}

/// Between walls nothing flows out, so that the sum must be zero: of a system whose p is known up to a constant, and of one that
/// is pinned, where the pinned cell would take up what is left as a source or sink of its own.
void make_compatible(const Settings& s, std::vector<double>& b) {
  double sum = 0, magnitudes = 0;
  for (const double value : b) {
    sum += value;
    magnitudes += std::abs(value);
  }
  constexpr double rounding = 1e-8;
  expects(std::abs(sum) <= rounding * magnitudes || s.project, "--rhs: between walls f must balance; its sum is ", sum,
          ", ", 100 * std::abs(sum) / magnitudes, " % of the sum of its magnitudes; --project subtracts a constant");
  for (double& value : b) value -= sum / static_cast<double>(b.size());
}

struct RightHandSide {
  std::vector<double> b;
  std::vector<double> solution;  // empty: not known
};

RightHandSide make_rhs(const Settings& s, const PressureSystem& system, int threads) {
  RightHandSide rhs;
  if (s.rhs == "white") {
    rhs.b = white_noise(s.cells(), s.seed, system.links.walls);
  } else if (s.rhs == "ax") {
    rhs.solution = uniform_noise(s.cells(), s.seed);
    Context host(Backend::cpu, threads);
    const auto a = five_point_operator(host, system.links);
    Vector<double> x(host, a.shape()), b(host, a.shape());
    copy_from_host(host, rhs.solution.data(), x.view());
    a.apply(host, x.cview(), b.view());
    rhs.b.resize(s.cells());
    copy_to_host(host, b.cview(), rhs.b.data());
  } else {
    rhs.b = load_of(s);
  }
  // A times a solution is what it is; pinned, it does not balance, and has that solution.
  if (system.is_singular() || (s.pinned && s.rhs != "ax")) make_compatible(s, rhs.b);
  return rhs;
}

/// Noise comes from one thread, one number after the other: where there are more, while these do something else.
std::future<RightHandSide> start_rhs(const Settings& s, const PressureSystem& system, int threads) {
  if (s.rhs == "white" && threads > 1)
    return std::async(std::launch::async, [&s, &system, threads] { return make_rhs(s, system, threads); });
  std::promise<RightHandSide> ready;
  ready.set_value(make_rhs(s, system, threads));
  return ready.get_future();
}

/// In the L2 norm, relative; of a singular system without the means.
double relative_error(std::vector<double> p, std::vector<double> exact, bool singular) {
  double difference = 0, norm = 0;
  for (auto* values : {&p, &exact}) {
    double mean = 0;
    for (const double value : *values) mean += value;
    mean /= static_cast<double>(values->size());
    if (singular)
      for (double& value : *values) value -= mean;
  }
  for (std::size_t k = 0; k < p.size(); ++k) {
    difference += (p[k] - exact[k]) * (p[k] - exact[k]);
    norm += exact[k] * exact[k];
  }
  return std::sqrt(difference / norm);
}

/// Throws where the cells leave no room to solve. Counted by hand, in words a cell: links, densities and rows on the host, and
/// what the solver has on the backend.
void expect_room_for(const Context& ctx, const Settings& s) {
  const auto cells = static_cast<std::int64_t>(s.cells());
  expects(5 * cells < std::numeric_limits<int>::max(), "--cells: ", s.nx, " x ", s.ny,
          " make more than 2^31 entries of a matrix");
  constexpr std::int64_t host_words = 20, solver_words = 30;
  const std::int64_t solving = 8 * solver_words * cells;
  expect_room(ctx, message(s.nx, " x ", s.ny, " cells"), 8 * host_words * cells + (ctx.on_gpu() ? 0 : solving),
              solving);
}

// --- printing and writing -----------------------------------------------------------------------------------------------

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

struct Outcome {
  SolveReport report;
  double residual_of_parts = 0;
  std::optional<double> error;
};

std::string as_text(std::int64_t bytes) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.3g MB", static_cast<double>(bytes) / 1e6);
  return text;
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

/// Cells whose corners are nodes.
TensorMesh mesh_of_cells(const Settings& s) {
  return {Line(std::vector<double>(static_cast<std::size_t>(s.nx), s.cell_width()), s.width),
          Line(std::vector<double>(static_cast<std::size_t>(s.ny), s.cell_height()), s.height), "cells"};
}

/// Fields on the cells: density, p and what else there is.
struct Fields {
  std::vector<double> density, p, f, domains;

  [[nodiscard]] std::vector<VtkField> of_cells() const {
    std::vector<VtkField> fields{{"pressure", p}, {"density", density}, {"rhs", f}};
    if (!domains.empty()) fields.push_back({"deflation_vector", domains});
    return fields;
  }
};

Fields fields_of(const Settings& s, const PressureSystem& system, const PressureSolver& solver,
                 const std::vector<double>& p, const std::vector<double>& b) {
  Fields fields{system.density, p, b, {solver.domains().begin(), solver.domains().end()}};
  for (double& value : fields.f) value /= s.cell_width() * s.cell_height();
  return fields;
}

void write_picture(const Settings& s, const std::vector<double>& p, const std::string& path, const std::string& title) {
  const auto centres = [](int cells, double width) {
    return Line(std::vector<double>(static_cast<std::size_t>(cells - 1), width)).starting_at(width / 2);
  };
  write_png(path, TensorMesh(centres(s.nx, s.cell_width()), centres(s.ny, s.cell_height())), p, title);
}

// --- one system -----------------------------------------------------------------------------------------------------------

int solve_once(Context& ctx, const Settings& s, const CommandLine& options, OutputFiles& outputs) {
  const double begin = wall_seconds();
  if (!s.quiet) progress("setting up ...");
  const PressureSystem system = make_system(s, ctx.threads());
  auto making = start_rhs(s, system, ctx.threads());
  PressureSolver solver(ctx, system, s.params);
  const RightHandSide rhs = making.get();
  Vector<double> b(ctx, solver.a().shape()), x(ctx, solver.a().shape());
  copy_from_host(ctx, rhs.b.data(), b.view());
  solver.warm_up(ctx, b.cview(), x.view());
  ctx.synchronise();
  const double ready = wall_seconds();
  Outcome outcome;
  Monitor table;
  Progress monitor(!s.quiet);
  if (!s.quiet) {
    progress("");
    print_heading(s, options, ctx, system, solver);
    const double norm = norm2(ctx, b.cview());
    table = with_progress(monitor, s.stop, norm, residual_table(ReferenceNorm::rhs, norm));
  }
  outcome.report = solver.solve(ctx, b.cview(), x.view(), s.stop, table);
  monitor.clear();
  outcome.report.setup_seconds = ready - begin;
  outcome.residual_of_parts = solver.residual_of_parts();
  std::vector<double> p(s.cells());
  copy_to_host(ctx, x.cview(), p.data());
  if (!rhs.solution.empty()) outcome.error = relative_error(p, rhs.solution, system.is_singular());

  const SolveReport& report = outcome.report;
  const int code = exit_code(report.status, s.tolerance_asked_for);
  if (!s.quiet)
    print_outcome(solver, outcome);
  else if (code != 0)
    print_failure(program_name, report);
  JsonObject json = start_report(s, options, ctx, system, solver);
  add_end(json, report, code);
  json.add("residual_of_parts", outcome.residual_of_parts);
  json.add("relative_error", outcome.error.value_or(std::nan("")));
  json.add("setup_seconds", report.setup_seconds).add("solve_seconds", report.solve_seconds);
  json.add("history", report.history);
  outputs.write_text("report", json.text());
  outputs.write_text("history", csv_history({&report, 1}));
  if (code != 3) {  // there is a solution to show
    outputs.write("npy", [&](const std::string& path) {
      write_npy(path, {static_cast<std::size_t>(s.ny), static_cast<std::size_t>(s.nx)}, {p});
    });
    outputs.write("vtk", [&](const std::string& path) {
      write_vtr(path, mesh_of_cells(s), {}, fields_of(s, system, solver, p, rhs.b).of_cells());
    });
    outputs.write("png", [&](const std::string& path) { write_picture(s, p, path, "p"); });
  }
  if (!s.quiet) outputs.print_written();
  return code;
}

// --- in time --------------------------------------------------------------------------------------------------------------

/// Bubbles rise by a height of the box in a time of 1 and turn with an eddy as large as the box. Who leaves through the top
/// comes back at the bottom.
void move(const Settings& s, std::vector<Disc>& bubbles) {
  constexpr double eddy = 0.5;
  for (Disc& bubble : bubbles) {
    const double x = std::numbers::pi * bubble.x / s.width, y = std::numbers::pi * bubble.y / s.height;
    bubble.x += s.dt * eddy * s.width * std::sin(x) * std::cos(y);
    bubble.y += s.dt * s.height * (1 - eddy * std::cos(x) * std::sin(y));
    bubble.x = std::clamp(bubble.x, 0.0, s.width);
    bubble.y -= s.height * std::floor(bubble.y / s.height);
  }
}

struct TimeStep {
  double t = 0;
  SolveReport report;
  double first = 0, residual = 0;  // relative; of both parts where x is kept so
  int vectors = 0;
};

void print_step(const TimeStep& step, int number) {
  if (number == 0)
    std::printf("%6s %12s %11s %11s %11s %9s %10s %10s\n", "step", "t", "at first", "iterations", "residual", "vectors",
                "set-up s", "solve s");
  std::printf("%6d %12.6g %11.3e %11d %11.3e %9d %10.3g %10.3g\n", number, step.t, step.first, step.report.iterations,
              step.residual, step.vectors, step.report.setup_seconds, step.report.solve_seconds);
  (void)std::fflush(stdout);
}

/// Where a cell has become light the last p may be worse than none. Nearer than zero in the energy norm, (x, A x) < 2 (x, b):
/// what takes the fewer iterations of both wherever that was tried.
bool may_start_from(Context& ctx, Reuse reuse, const GridOperator<double>& a, GridView<const double> b,
                    GridView<const double> x) {
  if (reuse != Reuse::automatic) return reuse != Reuse::none;
  Vector<double> r(ctx, a.shape());
  a.residual(ctx, b, x, r.view());
  return dot<double>(ctx, x, r.cview()) + dot<double>(ctx, x, b) > 0;
}

int solve_in_time(Context& ctx, Settings s, const CommandLine& options, OutputFiles& outputs) {
  std::optional<VtkSeries> series;
  if (outputs.has("vtk")) series.emplace(outputs.path("vtk"));
  constexpr int kept_iterations = 60;
  if (s.reuse == Reuse::ritz) s.params.keep = std::max(kept_iterations, 2 * s.ritz);
  const ProblemMesh mesh(mesh_of_cells(s));
  const GridShape shape = mesh_of_centres(make_system(s, ctx.threads()).links).unknowns();
  Vector<double> b(ctx, shape), x(ctx, shape);
  std::vector<double> p(s.cells());
  std::vector<TimeStep> steps;
  DeflationVectors ritz;
  std::optional<JsonObject> json;
  int code = 0;
  for (int n = 0; n <= s.time_steps && code == 0; ++n) {
    if (n > 0) move(s, s.bubbles);
    const double begin = wall_seconds();
    const PressureSystem system = make_system(s, ctx.threads());
    auto making = start_rhs(s, system, ctx.threads());
    PressureSolver solver(ctx, system, s.params, ritz);
    const RightHandSide rhs = making.get();
    copy_from_host(ctx, rhs.b.data(), b.view());
    if (!may_start_from(ctx, s.reuse, solver.a(), b.cview(), x.cview())) set(ctx, 0.0, x.view());
    ctx.synchronise();
    TimeStep step{s.dt * n, {}, 0, 0, solver.vectors()};
    const double setup = wall_seconds() - begin;
    step.report = solver.solve(ctx, b.cview(), x.view(), s.stop);
    step.report.setup_seconds = setup;
    if (step.report.reference_norm_value > 0) {
      step.first = step.report.initial_residual / step.report.reference_norm_value;
      step.residual = solver.residual_of_parts() / step.report.reference_norm_value;
    }
    if (n == 0) {
      json = start_report(s, options, ctx, system, solver);
      if (!s.quiet) print_heading(s, options, ctx, system, solver);
    }
    steps.push_back(step);
    code = exit_code(step.report.status, s.tolerance_asked_for);
    if (!s.quiet) print_step(step, n);
    if (code == 3) break;
    if (s.reuse == Reuse::ritz && step.report.iterations > 0) ritz = solver.ritz(ctx, s.ritz);
    copy_to_host(ctx, x.cview(), p.data());
    if (series)
      outputs.write("vtk", [&](const std::string&) {
        series->write(n, step.t, mesh, {}, fields_of(s, system, solver, p, rhs.b).of_cells());
      });
  }
  int iterations = 0;
  double setup = 0, solving = 0;
  for (const TimeStep& step : steps) {
    iterations += step.report.iterations;
    setup += step.report.setup_seconds;
    solving += step.report.solve_seconds;
  }
  const SolveReport& last = steps.back().report;
  if (!s.quiet)
    std::printf("\nstatus      %s: %s\niterations  %d in %zu solves\ntime        %.3g s set-up, %.3g s solve\n",
                std::string(to_string(last.status)).c_str(), last.reason.c_str(), iterations, steps.size(), setup,
                solving);
  else if (code != 0)
    print_failure(program_name, last);
  json->add("status", to_string(last.status)).add("reason", last.reason).add("exit_code", code);
  json->add("iterations", iterations).add("reuse", options.text("reuse")).add("dt", s.dt);
  json->add("setup_seconds", setup).add("solve_seconds", solving);
  json->add("steps", json_array(steps, [](const TimeStep& step) {
              return Json{{"t", step.t},
                          {"status", to_string(step.report.status)},
                          {"relative_residual_at_first", step.first},
                          {"iterations", step.report.iterations},
                          {"relative_residual", step.residual},
                          {"vectors", step.vectors},
                          {"setup_seconds", step.report.setup_seconds},
                          {"solve_seconds", step.report.solve_seconds}};
            }));
  outputs.write_text("report", json->text());
  if (code != 3) {
    outputs.write("npy", [&](const std::string& path) {
      write_npy(path, {static_cast<std::size_t>(s.ny), static_cast<std::size_t>(s.nx)}, {p});
    });
    outputs.write("png",
                  [&](const std::string& path) { write_picture(s, p, path, message("p at t = ", steps.back().t)); });
  }
  if (!s.quiet) outputs.print_written();
  return code;
}

int run(const Settings& settings, const CommandLine& options, OutputFiles outputs) {
  Context ctx = settings.machine.context();
  expects(!outputs.has("vtk") || vtk_available(), "--vtk: this build has no VTK (Debian: libvtk9-dev)");
  outputs.check();
  expect_room_for(ctx, settings);
  return settings.time_steps > 0 ? solve_in_time(ctx, settings, options, outputs)
                                 : solve_once(ctx, settings, options, outputs);
}

}  // namespace

int main(int argc, char** argv) {
  Program program{program_name,
                  before_options,
                  message(about_expressions, examples, about_outputs, about_exit_codes),
                  make_command_line(),
                  {},
                  [](const CommandLine& options) -> std::function<int()> {
                    Settings settings = parse_settings(options);
                    OutputFiles outputs = parse_outputs(options, settings);
                    return [settings = std::move(settings), outputs = std::move(outputs), &options] {
                      return run(settings, options, outputs);
                    };
                  }};
  return run_program(program, argc, argv);
}
