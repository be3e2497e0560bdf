// heat2d: solves capacity u_t - div(K grad u) + c u = f on a rectangle or a deformed mesh by implicit steps in time over
// geometric multigrid, and writes what ParaView opens as a film. --help explains; the file is parse, step, print, write, in
// that order.

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include <stratum/assembly/picture.hpp>
#include <stratum/multigrid/heat_solver.hpp>
#include <stratum/version.h>

#include "support/mapped_mesh_options.hpp"
#include "support/mesh_options.hpp"
#include "support/probe.hpp"
#include "support/problem_options.hpp"
#include "support/program.hpp"
#include "support/progress.hpp"
#include "support/rank_output.hpp"
#include "support/restart_file.hpp"
#include "support/solve_output.hpp"
#include "support/solver_options.hpp"
#include "support/vtk_series.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;

constexpr const char* program_name = "heat2d";
constexpr double most_outputs = 100'000;
const std::vector<std::string> coefficient_options{"kappa", "reaction", "capacity"};

struct Settings {
  MeshChoice mesh;
  Deformation deformation;
  int level = 0;
  HeatProblem problem;
  HeatParams params;
  double end = 0;
  double output_every = 0, restart_every = 0;  // 0: at the end alone
  Machine machine;
  std::optional<Probe> probe;
  bool quiet = false;

  [[nodiscard]] ProblemMesh mesh_at(Context& ctx) const {
    return with_boundaries(deformation.at(ctx, machine, mesh, level), problem.space.boundaries);
  }
};

// --- options ------------------------------------------------------------------------------------------------------------

CommandLine make_command_line() {
  const std::vector<OptionGroup> settings{
      {"Mesh", joined(mesh_options(), mapped_mesh_options())},
      {"Problem: capacity u_t - div(K grad u) + c u = f; expressions in x, y, the time t, a, b, xl, xr, yl, yr",
       joined({{"initial", "EXPR", "", "u at the start (the exact solution there where it is given, else 0)"},
               {"rhs", "EXPR", "0", "f"},
               coefficient_option("capacity", "EXPR", "1",
                                  "positive; an expression or file:PATH, taken cell by cell as c is"),
               {"exact", "EXPR", "", "the exact solution, to measure the error by"},
               {"boundary", "EXPR", "",
                "u on the boundaries that have no value of their own (the exact solution where it is given, else 0)"}},
              boundary_and_coefficient_options())},
      {"Time",
       {{"start", "T", "0", "when it starts"},
        {"end", "T", "0.1", "and ends"},
        {"method", "NAME", "tr-bdf2",
         "euler (implicit, first order), crank-nicolson (second; a start that is not smooth rings on) or tr-bdf2 "
         "(second; "
         "damps it)"},
        {"tol", "X", "",
         "tr-bdf2 finds its steps so that each errs by X of the norm of u, X in (0, 1) (1e-4 where "
         "there is "
         "no --dt)"},
        {"dt", "DT", "", "steps of this length or a little shorter; with --tol of the first one"},
        {"max-steps", "N", "10000000", "1 .. 1000000000"},
        input_file("restart", "FILE",
                   "go on from a file of --save, with the bits of a run without the break; with other data from its u "
                   "alone, which is said")}},
      {"Solver",
       joined({{"solver", "NAME", "", "multigrid, or cg around the cycle (cg where coefficients vary, else multigrid)"},
               {"cycle", "NAME", "v", "v, w or f"}},
              smoothing_options(),
              {{"precision", "NAME", "mixed", "mixed (float cycles, double defect and update) or double"},
               {"inner", "KIND:N", "cycles:1",
                "mixed precision: between updates in double cycles:N (1 .. 1000), or rtol:X, as many as reduce the "
                "residual to X (1e-6 .. 1)"},
               {"rtol", "X", "",
                "a stage is solved as well as its start were known up to X, X in (0, 1) (a hundredth of --tol; 1e-8)"},
               {"max-iterations", "N", "100", "of a stage, 1 .. 1000000"}})},
      machine_options_of_ranks(),
      {"Output",
       {output_file(
            "vtk", "SERIES.pvd",
            "a film for ParaView: SERIES_0000.vtr at the start, SERIES_0001.vtr ... at the times of --output-every; "
            ".vts of a deformed mesh, .pvtr or .pvts with a subdomain of each of several ranks"),
        {"output-every", "DT", "",
         "a line, a file of the film and points of --probe whenever so much time has passed (at the end)"},
        with_files({"probe", "LINE:FILE", "",
                    "X0,Y0,X1,Y1,N:FILE.csv, u along a line, at N points from (X0, Y0) to (X1, Y1), at the start and "
                    "the times of --output-every: t, x, y, the distance from the first end and u; written at the end"},
                   Names::output, probe_files),
        output_file("save", "FILE", "all that --restart goes on from, on any number of ranks"),
        {"restart-every", "DT", "", "write it whenever so much time has passed (at the end)"},
        output_file("png", "FILE.png", "a picture of u at the end, and enlarged where cells are thin"),
        output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
        {"quiet", "", "", "print errors only"}}}};
  return CommandLine(
      settings, {"Other",
                 {input_file("config", "FILE", "read options from a file of lines like level=9; the command line wins"),
                  {"print-config", "", "", "print such a file for this command line, and stop"},
                  {"list-meshes", "", "", "list the named meshes"},
                  {"list-smoothers", "", "", "list the smoothers"},
                  {"help", "", "", "print this"},
                  {"version", "", "", "print the version"}}});
}

constexpr const char* before_options = "Usage: heat2d [OPTIONS]\n\n"
                                       "Solves the heat equation capacity u_t - div(K grad u) + c u = f on a rectangle "
                                       "with bilinear finite elements, implicit\n"
                                       "steps in time and geometric multigrid; the mesh may be stretched as far as "
                                       "double precision reaches. All data may\n"
                                       "change with the time. Without a problem of yours, u = sin(pi x/a) sin(pi y/b) "
                                       "decays between boundaries held at zero.\n";

constexpr const char* examples =
    "Examples:\n"
    "  heat2d                                          steps that adapt; prints the error\n"
    "  heat2d --initial 'x<1/2' --left neumann --right neumann --bottom neumann --top neumann --end 1\n"
    "  heat2d --mesh A3 --method crank-nicolson --dt 1e-3 --exact 'sin(x+y-t)' --rhs '2*sin(x+y-t)-cos(x+y-t)'\n"
    "  heat2d --boundary 'sin(20*t)' --end 1 --tol 1e-5 --output-every 0.02 --vtk film.pvd\n"
    "  heat2d --map '(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)' --initial 'x>1' --end 1 --vtk ring.pvd\n"
    "  heat2d --kappa 'y<0.1 ? 0.01 : 1' --capacity '1+x' --rhs 'exp(-t)' --left robin:5,0 --end 2\n"
    "  heat2d --end 1 --restart-every 0.1 --save run.state;  heat2d --end 2 --restart run.state --save more.state\n"
    "  mpirun -n 4 heat2d --level 10 --rhs 1           on four ranks, a subdomain each\n\n";

constexpr const char* about_end =
    "Exit codes: 0 all steps were solved, 1 usage, 2 a stage was not, or steps became too short or too many, 3 "
    "diverged,\n"
    "breakdown or not finite, 4 device or memory, 5 files; 128 + N after signal N: 130 interrupted.\n";

/// Nothing of a problem is given.
bool is_default_problem(const CommandLine& options) {
  for (const char* name :
       {"initial", "rhs", "capacity", "exact", "boundary", "left", "right", "bottom", "top", "kappa", "reaction"})
    if (options.has(name)) return false;
  return true;
}

/// K, c, the capacity or alpha have the time in them.
bool coefficients_have_time(const CommandLine& options, const MeshFamily& family) {
  std::vector<std::string> texts;
  for (const auto& option : coefficient_options)
    for (const auto& part : expressions_of(options.text(option)))
      if (!part.starts_with(file_prefix)) texts.push_back(part);
  for (const char* side : boundary_names) {
    const std::string text = options.text(side);
    constexpr std::string_view robin = "robin:";
    if (text.starts_with(robin)) texts.push_back(expressions_of(text.substr(robin.size()))[0]);
  }
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return depends_on_time(text, family.a, family.b); });
}

HeatProblem parse_problem(const CommandLine& options, const MeshFamily& family, Variables variables, double start) {
  const auto function = [&](const std::string& name) -> ScalarFunction {
    return parsed("--" + name, [&] { return parse_expression(options.text(name), family.a, family.b, variables); });
  };
  HeatProblem problem;
  if (is_default_problem(options)) {
    const double kx = std::numbers::pi / family.a, ky = std::numbers::pi / family.b;
    problem.space.exact = [=](const Point& p) {
      return std::sin(kx * p.to_left) * std::sin(ky * p.to_bottom) * std::exp(-(kx * kx + ky * ky) * (p.t - start));
    };
    return problem;
  }
  problem.space.boundaries = parse_boundaries(options, family, variables);
  parse_coefficients(options, family, problem.space, variables);
  if (options.has("capacity"))
    problem.capacity = parsed("--capacity", [&] {
      auto read = parse_coefficient(options.text("capacity"), family, variables);
      expects(read.size() == 1, "'", options.text("capacity"), "' has ", read.size(),
              " numbers a cell, one is needed here");
      return std::move(read[0]);
    });
  if (options.has("initial")) problem.initial = function("initial");
  if (options.has("exact")) problem.space.exact = function("exact");
  if (options.has("boundary")) problem.space.boundary = function("boundary");
  if (options.has("rhs")) {
    problem.space.rhs = function("rhs");
    problem.steady_rhs = !depends_on_time(options.text("rhs"), family.a, family.b);
  }
  problem.steady_coefficients = !coefficients_have_time(options, family);
  return problem;
}

PoissonSolverParams parse_solver(const CommandLine& options) {
  PoissonSolverParams params;
  parse_smoothing(options, params.multigrid);
  if (options.has("solver"))
    params.method =
        choice<Method>("--solver", options.text("solver"), {{"multigrid", Method::multigrid}, {"cg", Method::cg}});
  if (options.has("cycle"))
    params.multigrid.cycle =
        choice<Cycle>("--cycle", options.text("cycle"), {{"v", Cycle::v}, {"w", Cycle::w}, {"f", Cycle::f}});
  params.precision = choice<Precision>("--precision", options.text("precision"),
                                       {{"mixed", Precision::mixed}, {"double", Precision::full}});
  params.inner = parse_inner(options);
  expects(!options.has("inner") || params.precision == Precision::mixed,
          "--inner: only mixed precision has inner cycles, not ", options.text("precision"));
  params.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000);
  return params;
}

Settings parse_settings(const CommandLine& options) {
  Settings settings;
  settings.mesh = parse_mesh(options);
  settings.deformation = parse_deformation(options, settings.mesh);
  settings.level = parse_level(options, settings.mesh);
  HeatParams& params = settings.params;
  params.start = options.number("start", any_number);
  settings.end = options.number("end", any_number);
  expects(settings.end > params.start, "--end: '", options.text("end"), "' does not come after the start, ",
          params.start);
  params.method = parsed("--method", [&] { return time_method(options.text("method")); });
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
  params.solver = parse_solver(options);
  for (const auto& [name, every] :
       {std::pair{"output-every", &settings.output_every}, {"restart-every", &settings.restart_every}}) {
    if (!options.has(name)) continue;
    *every = options.number(name, positive);
    const double count = (settings.end - params.start) / *every;
    expects(count <= most_outputs, "--", name, ": '", options.text(name), "' comes ", std::floor(count),
            " times, more than ", most_outputs);
  }
  expects(!options.has("restart-every") || options.has("save"), "--restart-every: to what file? --save FILE says");
  expects(!settings.deformation.is_given() || !is_default_problem(options),
          options.has("map") ? "--map" : "--mesh-file",
          ": give --initial, --rhs or boundaries as well; what decays without them is of a rectangle");
  settings.problem = parse_problem(options, settings.mesh.family, settings.deformation.variables(true), params.start);
  (void)with_boundaries(settings.mesh.at(std::min(settings.level, 2)), settings.problem.space.boundaries);
  if (options.has("probe")) {
    settings.probe = parse_probe(options.text("probe"));
    if (!settings.deformation.is_given()) (void)located(*settings.probe, settings.mesh.at(settings.mesh.base ? 0 : 1));
  }
  settings.machine = parse_machine(options);
  settings.quiet = options.is_set("quiet");
  return settings;
}

OutputFiles parse_outputs(const CommandLine& options, const Settings& settings) {
  OutputFiles outputs(options);
  const std::string series = outputs.path("vtk");
  expects(series.empty() || series.ends_with(".pvd"), "--vtk: '", series,
          "' must end in .pvd, by which ParaView knows a film; its pictures are files beside it");
  if (!series.empty())
    outputs.add_family("vtk", series,
                       [series, ranks = settings.machine.has_ranks() ? settings.machine.ranks->size() : 1,
                        grid = settings.deformation.is_given() ? 's' : 'r'](const std::string& file) {
                         return VtkSeries::names(series, ranks, grid, file);
                       });
  const std::string png = outputs.path("png");
  expects(png.empty() || png == "-" || png.ends_with(".png"), "--png: '", png, "' must end in .png");
  expects(png.empty() || pictures_available(), "--png: this build has no VTK that draws (Debian: libvtk9-dev)");
  expects(outputs.path("save") != "-", "--save: it is read again, and standard output is not");
  return outputs;
}

// --- stepping and printing ------------------------------------------------------------------------------------------------

/// What is known whenever a line is printed.
struct Moment {
  double t;
  std::int64_t steps;
  double heat;
};

struct Run {
  std::vector<Moment> moments;
  HeatReport report;
  std::optional<double> error;
  std::int64_t expected_memory = 0;
  double setup_seconds = 0, solve_seconds = 0;
  std::vector<RankNumbers> ranks{};  // where there are several
};

void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const HeatSolver& solver,
                   const std::vector<RankNumbers>& ranks) {
  const auto& mesh = solver.mesh();
  const auto& params = solver.solver().params();
  const auto shape = mesh.unknowns();
  std::string where =
      message(settings.mesh.family.name, " on [", mesh.x().origin(), ", ", mesh.x().origin() + mesh.x().length(),
              "] x [", mesh.y().origin(), ", ", mesh.y().origin() + mesh.y().length(), "]");
  if (options.has("map")) where += ", mapped by " + settings.deformation.text;
  if (options.has("mesh-file")) where = "from " + settings.deformation.text;
  std::printf("mesh      %s: %d x %d cells, %d x %d unknowns, aspect ratio up to %.3g\n", where.c_str(),
              mesh.x().size(), mesh.y().size(), shape.nx, shape.ny, solver.geometry().largest_aspect_ratio());
  std::string problem;
  for (const char* name :
       {"initial", "rhs", "capacity", "kappa", "reaction", "left", "right", "bottom", "top", "boundary"})
    if (options.has(name)) problem += message(problem.empty() ? "" : ", ", name, " ", options.text(name));
  std::printf("problem   %s\n", problem.empty() ? "sin(pi x/a) sin(pi y/b) decays" : problem.c_str());
  const auto& [method, start, dt, tol, eta, unused, most] = settings.params;
  const std::string steps = tol ? message("steps to a tolerance of ", *tol) : message("steps of ", *dt);
  std::printf("time      %s, %s, from t = %.12g to %.12g\n", std::string(to_string(method)).c_str(), steps.c_str(),
              solver.time(), settings.end);
  std::printf("solver    %s, %s; %s precision, %s operator; %s\n",
              std::string(to_string(params.method.value_or(Method::multigrid))).c_str(),
              options.text("smoother").c_str(), options.text("precision").c_str(),
              std::string(to_string(params.format)).c_str(), ctx.description().c_str());
  print_ranks(ctx, ranks);
  print_alone(settings.machine);
  std::printf("\n");
}

/// With the digits that tell it from others.
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
  if (run.error) std::printf("error       %.7e (L2, relative to the exact solution at the end)\n", *run.error);
  std::printf("time        %.3g s set-up, %.3g s steps\n", run.setup_seconds, run.solve_seconds);
}

std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx,
                        const HeatSolver& solver, const Run& run) {
  const HeatReport& r = run.report;
  const double unknown = std::nan("");
  const auto& mesh = solver.mesh();
  JsonObject json;
  json.add("program", program_name).add("version", STRATUM_VERSION);
  json.add("status", to_string(r.status)).add("reason", r.reason).add("exit_code", exit_code(r.status));
  json.add("relative_l2_error", run.error.value_or(unknown));
  json.add("mesh", settings.mesh.family.name).add("level", settings.level);
  json.add("cells", {mesh.x().size(), mesh.y().size()});
  json.add("unknowns", mesh.unknowns().nodes());
  for (const char* name : {"map", "mesh-file"})
    if (options.has(name)) json.add(name[3] == 'h' ? "mesh_file" : name, options.text(name));
  json.add("largest_aspect_ratio", solver.geometry().largest_aspect_ratio());
  for (const char* side : boundary_names) json.add(side, options.has(side) ? options.text(side) : "dirichlet");
  for (const char* name : {"initial", "rhs", "capacity", "kappa", "reaction", "boundary", "exact"})
    if (options.has(name)) json.add(name, options.text(name));
  json.add("method", to_string(settings.params.method)).add("start", settings.params.start).add("end", settings.end);
  json.add("dt", settings.params.dt.value_or(unknown)).add("tol", settings.params.tol.value_or(unknown));
  json.add("t", r.t).add("steps", r.steps).add("rejected", r.rejected);
  json.add("forced", r.forced);
  json.add("shortest_dt", r.shortest_dt).add("longest_dt", r.longest_dt);
  json.add("solves", r.solves).add("cycles", r.cycles);
  json.add("most_cycles", r.most_cycles).add("updates", r.updates);
  json.add("estimated_error", r.estimated_error.value_or(std::numeric_limits<double>::quiet_NaN()));
  json.add("heat_at_first", run.moments.front().heat).add("heat", run.moments.back().heat);
  const auto& params = solver.solver().params();
  json.add("solver", to_string(params.method.value_or(Method::multigrid))).add("operator", to_string(params.format));
  for (const char* name : {"smoother", "precision", "inner"}) json.add(name, options.text(name));
  add_machine(json, ctx);
  json.add("setup_seconds", run.setup_seconds).add("solve_seconds", run.solve_seconds);
  json.add("expected_memory_bytes", run.expected_memory).add("peak_memory_bytes", peak_memory());
  add_ranks(json, ctx, run.ranks);
  add_alone(json, settings.machine);
  json.add("outputs", json_array(run.moments, [](const Moment& m) {
             return Json{{"t", m.t}, {"steps", m.steps}, {"heat", m.heat}};
           }));
  return json.text();
}

/// The times that a run stops at: multiples of what was asked for, from the start on, and the end.
class Stops {
 public:
  Stops(double start, double end, double every) : start_(start), end_(end), every_(every) {}
  /// The first one after t.
  [[nodiscard]] double after(double t) const { return every_ > 0 ? std::min(at(number(t) + 1), end_) : end_; }
  /// How many have come until t; the end is one.
  [[nodiscard]] int number(double t) const {
    if (t >= end_) return every_ > 0 ? static_cast<int>(std::ceil((end_ - start_) / every_ * (1 - rounding))) : 1;
    return every_ > 0 ? static_cast<int>(std::floor((t - start_) / every_ * (1 + rounding) + rounding)) : 0;
  }
  [[nodiscard]] bool has(double t) const {
    return t == end_ || (every_ > 0 && std::abs(t - at(number(t))) <= rounding * (end_ - start_));
  }
  [[nodiscard]] double at(int n) const { return n >= number(end_) ? end_ : start_ + n * every_; }

 private:
  static constexpr double rounding = 1e-12;  // 3 * 0.1 is 0.3
  double start_, end_, every_;
};

/// The nodes that this rank has values of.
NodeRows rows_of(const HeatSolver& solver) { return node_rows(solver.mesh(), solver.solution().shape()); }

void write_picture(Context& ctx, const Settings& settings, const HeatSolver& solver, int number, VtkSeries& series) {
  const ProblemMesh& mesh = solver.geometry();
  const NodeRows rows = rows_of(solver);
  const PoissonProblem now = at_time(settings.problem, solver.time());
  std::deque<std::pair<std::string, std::vector<double>>> nodal;
  nodal.emplace_back("u", solver.nodal_solution(ctx));
  if (now.exact) {
    nodal.emplace_back("exact", at_nodes(ctx, mesh, now.exact, rows));
    nodal.emplace_back("error", nodal[0].second);
    std::transform(nodal[0].second.begin(), nodal[0].second.end(), nodal[1].second.begin(), nodal[2].second.begin(),
                   std::minus<>());
  }
  std::vector<VtkField> fields;
  for (const auto& [name, values] : nodal) fields.push_back({name, values});
  const auto line = static_cast<std::size_t>(solver.mesh().x().size()),
             first = static_cast<std::size_t>(rows.first) * line,
             count = static_cast<std::size_t>(rows.count() - 1) * line;
  std::vector<double> kappa;
  if (coefficients_are_numbers(mesh, settings.problem, solver.time())) {
    kappa.assign(count, now.diffusion.xx.constant.value_or(1));
  } else {
    const auto all = on_cells(ctx, mesh, now.diffusion, {}).xx;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    kappa.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  series.write(number, solver.time(), mesh, fields, {{"kappa", kappa}}, rows);
}

/// What the peak of this machine's own memory will be, of this rank. Throws where there is less of it or of the GPU's, before
/// anything of the grid's size is allocated.
std::int64_t expected_memory(const Context& ctx, const Settings& settings, const ProblemMesh& geometry,
                             const OutputFiles& outputs) {
  const TensorMesh& mesh = geometry.logical();
  const std::string what = named(mesh);
  const GridShape strip =
      PartitionLevels(ctx, mesh_hierarchy(mesh), settings.params.solver.multigrid.strips()).finest();
  const std::int64_t line = std::int64_t{mesh.x().size() + 1} * std::int64_t{sizeof(double)};
  const std::int64_t whole = line * (mesh.y().size() + 1), field = line * node_rows(mesh, strip).count();
  // K, c and the capacity of all cells, and K = 0 beside the capacity once more; every rank has them.
  const bool numbers = coefficients_are_numbers(geometry, settings.problem, settings.params.start);
  const std::int64_t coefficients = numbers ? 0 : 5 * whole;
  expect_room_on_ranks(ctx, settings.machine, what, coefficients, 0);
  const std::int64_t solver = required_memory(ctx, geometry, settings.problem, settings.params);
  // A state has three vectors, which rank 0 makes one text of; a picture is drawn of values that all ranks have.
  const bool speaks = settings.machine.ranks->rank() == 0;
  const std::int64_t states =
      std::max(outputs.has("save") && speaks ? 6 * whole : 0, outputs.has("png") || settings.probe ? 2 * whole : 0);
  const std::int64_t meanwhile = std::max({coefficients, 4 * field, states});
  const std::int64_t needed = meanwhile + (ctx.on_gpu() ? 0 : solver);
  expect_room_on_ranks(ctx, settings.machine, what, needed, solver);
  return peak_memory() + needed;
}

/// From a restart file; what has changed since it was saved is said.
void go_on(Context& ctx, const CommandLine& options, const Restart& restart, HeatSolver& solver) {
  const auto is_of_problem = [](const std::string& name) {
    return std::find(std::begin(problem_options), std::end(problem_options), name) != std::end(problem_options);
  };
  std::string changed;
  for (const auto& name : restart.changed) changed += (changed.empty() ? "--" : ", --") + name;
  const bool same_problem = std::none_of(restart.changed.begin(), restart.changed.end(), is_of_problem);
  const bool taken_over = solver.restore(ctx, restart.state, same_problem);
  if (changed.empty() && taken_over) return;
  const std::string what = changed.empty() ? "its du/dt does not solve the equation of this run"
                                           : message("it was saved with other values of ", changed);
  warn(program_name, message("the restart file '", options.text("restart"), "': ", what, "; this run goes on from ",
                             taken_over ? "its state" : "its u, and du/dt is found anew", " at t = ", solver.time()));
}

/// Why one rank is faster than several; nothing where that is not so. The same on all ranks.
std::string why_alone(Context& ctx, const Settings& settings, const ProblemMesh& mesh) {
  const Machine& machine = settings.machine;
  if (auto why = machine.too_few(mesh.logical().unknowns().nodes(), PartitionLevels::least_for_several_gpus);
      !why.empty())
    return why;
  if (!machine.may_take_one_gpu()) return "";
  const HeatSolver solver(ctx, mesh, settings.problem, settings.params);
  return why_one_gpu(ctx, solver.solver(), mesh);
}

int run(Settings settings, const CommandLine& options, OutputFiles outputs) {
  settings.machine.warn_of_binding(program_name);
  Context ctx = settings.machine.context();
  expects(!outputs.has("vtk") || vtk_available(), "--vtk: this build has no VTK (Debian: libvtk9-dev)");
  const bool speaks = settings.machine.ranks->rank() == 0;
  if (speaks) outputs.check();
  const double begin = wall_seconds();
  const ProblemMesh mesh = settings.mesh_at(ctx);
  if (const auto why = why_alone(ctx, settings, mesh); !why.empty())
    if (const auto code = settings.machine.go_on_alone(ctx, why)) return *code;
  const GivenData given = given_data(options);
  std::optional<Restart> restart;
  if (options.has("restart")) {
    const HeatParams& params = settings.params;
    restart = read_restart(options.text("restart"), {mesh, params.method, params.tol.has_value(), params.start, given});
    expects(!options.has("start") || restart->start == params.start, "--start: '", options.text("start"),
            "' is not the start of the restart file, ", restart->start, "; leave it out");
    expects(settings.end > restart->state.report.t, "--end: '", options.text("end"),
            "' does not come after the restart file's t = ", restart->state.report.t);
    settings.params.start = restart->start;
  }
  Run result;
  const auto probed = settings.probe ? located(*settings.probe, mesh) : std::vector<MeshPoint>();
  std::string profiles;
  result.expected_memory = expected_memory(ctx, settings, mesh, outputs);
  const bool saves_state = outputs.has("save"), draws = outputs.has("png");
  if (!speaks) outputs.remove_all_but("vtk");
  if (!settings.quiet) progress("setting up ...");
  HeatSolver solver(ctx, mesh, settings.problem, settings.params);
  if (restart) go_on(ctx, options, *restart, solver);
  restart.reset();
  if (!settings.quiet) progress("");

  result.setup_seconds = wall_seconds() - begin;
  const auto find_rank_numbers = [&] {
    const PoissonSolver& of_stages = solver.solver();
    result.ranks = rank_numbers(ctx, settings.machine,
                                PartitionLevels(ctx, of_stages.meshes(), of_stages.params().multigrid.strips()),
                                result.setup_seconds, result.solve_seconds, result.expected_memory);
  };
  find_rank_numbers();
  if (!settings.quiet) print_heading(settings, options, ctx, solver, result.ranks);
  const double start = settings.params.start;
  const Stops pictures(start, settings.end, settings.output_every), saves(start, settings.end, settings.restart_every);
  std::optional<VtkSeries> series;
  if (outputs.has("vtk")) {
    const Machine& machine = settings.machine;
    series.emplace(outputs.path("vtk"), machine.has_ranks() ? machine.ranks->communicator() : nullptr);
  }
  const int first = pictures.number(solver.time());
  if (series)
    for (int n = 0; n < first; ++n) series->adopt(n, pictures.at(n));
  const auto show = [&](bool with_picture) {
    result.moments.push_back({solver.time(), solver.report().steps, solver.heat(ctx)});
    if (!settings.quiet) {
      progress("");
      print_moment(result.moments.back(), solver.report(), result.moments.size() == 1);
    }
    if (settings.probe && with_picture) {
      const auto u = gathered(ctx, mesh.logical(), rows_of(solver), solver.nodal_solution(ctx));
      if (speaks) add_profile(profiles, solver.time(), *settings.probe, mesh, probed, u);
    }
    if (!series || !with_picture) return;
    outputs.write("vtk", [&](const std::string&) {
      write_picture(ctx, settings, solver, pictures.number(solver.time()), *series);
    });
  };
  const auto save = [&] {
    const HeatState now = solver.state(ctx);
    outputs.write("save", [&](const std::string& path) {
      const HeatParams& params = settings.params;
      write_restart(path, {mesh, params.method, params.tol.has_value(), start, given}, now);
    });
  };
  show(pictures.has(solver.time()) || solver.time() == start);
  Progress monitor(!settings.quiet);
  const double from = solver.time();
  const double ready = wall_seconds();
  while (solver.time() < settings.end) {
    const double to = std::min(pictures.after(solver.time()), saves.after(solver.time()));
    result.report = solver.advance(ctx, to, [&](const HeatReport& report, double dt) {
      monitor((report.t - from) / (settings.end - from), [&] {
        char text[96];
        (void)std::snprintf(text, sizeof text, "t = %.12g, %lld steps, dt %.3g", report.t,
                            static_cast<long long>(report.steps), dt);
        return std::string(text);
      });
    });
    if (result.report.status != Status::converged) break;
    if (pictures.has(to)) show(true);
    if (saves_state && saves.has(to)) save();
  }
  result.solve_seconds = wall_seconds() - ready;
  if (result.report.status != Status::converged) show(false);
  result.error = solver.relative_l2_error(ctx);
  find_rank_numbers();
  const int code = exit_code(result.report.status);
  if (!settings.quiet) {
    progress("");
    print_end(result);
  } else if (code != 0) {
    (void)std::fprintf(stderr, "%s: %s: %s\n", program_name, std::string(to_string(result.report.status)).c_str(),
                       result.report.reason.c_str());
  }
  if (settings.probe) outputs.write_text("probe", profiles);
  outputs.write_text("report", json_report(settings, options, ctx, solver, result));
  if (draws && code != 3) {  // there is something to show
    const auto u = gathered(ctx, mesh.logical(), rows_of(solver), solver.nodal_solution(ctx));
    outputs.write("png", [&](const std::string& path) {
      write_png(path, mesh, u, message("u at t = ", plain_time(solver.time())));
    });
  }
  if (!settings.quiet) outputs.print_written();
  return settings.machine.ended(code);
}

}  // namespace

int main(int argc, char** argv) {
  Ranks ranks;
  Program program{
      program_name,
      before_options,
      message(about_expressions, about_gradings, about_coefficient_files, examples, about_outputs, about_end),
      make_command_line(),
      {{"list-meshes", list_meshes}, {"list-smoothers", list_smoothers}},
      [&ranks](const CommandLine& options) -> std::function<int()> {
        Settings settings = parse_settings(options);
        settings.machine.ranks = &ranks;
        OutputFiles outputs = parse_outputs(options, settings);
        return [settings = std::move(settings), outputs = std::move(outputs), &options] {
          return run(settings, options, outputs);
        };
      }};
  return run_program(program, argc, argv, &ranks);
}
