// team20: problem 20 of the TEAM Workshop by edge elements: the field of a coil that lifts a pole of steel, the force on it, and
// Krylov methods for the singular system that it takes. --help explains; the file is parse, assemble, solve, evaluate, print,
// write, in that order.

#include <algorithm>
#include <cmath>

#include <stratum/assembly/picture.hpp>
#include <stratum/magnetics/magnetic_field.hpp>
#include <stratum/magnetics/nonlinear_field.hpp>
#include <stratum/magnetics/team20_problem.hpp>
#include <stratum/mesh/vtk/vtu.hpp>

#include "edge_system.hpp"
#include "support/program.hpp"
#include "support/progress.hpp"
#include "support/solve_output.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;

struct Settings {
  EdgeElement element = EdgeElement::hexahedron;
  team20::GridParams grid;
  double permeability = 200, ampere_turns = 1000;
  bool curve = false;  // of the steel, instead of the permeability
  NonlinearParams nonlinear;
  EdgeMethod solver;
  StoppingParams stop;
  bool tolerance_asked_for = false;
  Machine machine;
  bool quiet = false;
};

// --- options ------------------------------------------------------------------------------------------------------------

CommandLine make_command_line() {
  const Settings defaults;
  return CommandLine(
      {{"Problem: curl (1/mu curl A) = J in a quarter of the device",
        {{"element", "NAME", "hexahedra", "hexahedra, or tetrahedra: every box cut in six"},
         {"spacing", "H", "3.2", "millimetres between planes of the grid in the device, 0.3 .. 50"},
         {"growth", "G", plain(defaults.grid.growth), "of the cells around the device, 1 .. 10"},
         {"gap-cells", "N", plain(defaults.grid.gap_cells), "at least across the gaps of 1 and 1.5 mm, 1 .. 100"},
         {"permeability", "MU", plain(defaults.permeability), "of the steel, relative, above 0"},
         {"curve", "", "", "the steel's magnetisation curve instead: the field is nonlinear"},
         {"ampere-turns", "NI", plain(defaults.ampere_turns), "of the coil, above 0"}}},
       {"Solver",
        {{"method", "NAME", "cg",
          "vpcg, vpgcr or vpgmres, preconditioned by an inner solve, or see --list-methods (cg, cr ...)"},
         {"restart", "N", plain(defaults.solver.restart), "directions that gcr and gmres keep, 1 .. 10000"},
         {"rtol", "X", "1e-8", "stop when the true residual has fallen below X ||b||, X in (0, 1)"},
         {"nonlinear", "NAME", std::string(to_string(defaults.nonlinear.method)),
          "--curve: newton with steps that lower the energy, or anderson: fixed points, accelerated"},
         {"nonlinear-max", "N", plain(defaults.nonlinear.max_iterations), "of these, 1 .. 1000000"},
         {"damping", "X", plain(defaults.nonlinear.damping), "of anderson, in (0, 1]"},
         {"max-iterations", "N", "", "1 .. 1000000000 (100000; 1000 around an inner solve)"},
         {"inner", "METHOD", "", "of the inner solve, of --list-methods (vpcg cg; vpgcr and vpgmres cr)"},
         {"inner-tolerance", "X", "1e-3", "of the inner solve, in (0, 1)"},
         {"inner-max", "N", "300", "iterations of the inner solve, 1 .. 1000000000"},
         {"precision", "NAME", "double", "double, or mixed: preconditioner and inner solve in float"},
         {"preconditioner", "NAME", "none",
          "none, or see --list-preconditioners; where there is an inner solve, of that one"},
         {"block-size", "N", plain(IncompleteCholeskyParams::usual_block_size),
          "block-ic: rows of a block, 1 .. 1000000000"},
         {"ic-shift", "X", "1e-3", "ic, block-ic: factorise A + X diag(A), X from 0 on; A is singular"}}},
       machine_options(),
       {"Output",
        {output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
         output_file("history", "FILE.csv", "the residual after every iteration"),
         output_file("inner-history", "FILE.csv", "the same of every inner solve"),
         output_file("png", "FILE.png", "a picture of |B| in the plane y = 0: pole, yoke and what is around"),
         output_file("vtk", "FILE.vtu", "B, H, |B|, J and the material of every element"),
         {"quiet", "", "", "print errors only"}}}},
      {"Other",
       {input_file("config", "FILE", "read options from a file of lines like spacing=5; the command line wins"),
        {"print-config", "", "", "print such a file for this command line, and stop"},
        {"list-methods", "", "", "list the methods and what they ask of the matrix"},
        {"list-preconditioners", "", "", "list the preconditioners, likewise"},
        {"help", "", "", "print this"},
        {"version", "", "", "print the version"}}});
}

constexpr const char* before_options =
    "Usage: team20 [OPTIONS]\n\n"
    "Computes the field in problem 20 of the TEAM Workshop, a coil around a pole of steel below a yoke, by edge "
    "elements\n"
    "without a gauge: the matrix is singular, the right-hand side is orthogonal to its kernel, and Krylov methods do.\n"
    "Prints force, energy and flux densities beside what was measured.\n";

constexpr const char* examples =
    "Examples:\n"
    "  team20                                                    106131 unknowns, conjugate gradients\n"
    "  team20 --preconditioner multigrid --permeability 1500     16 iterations, nearer to the steel that it was\n"
    "  team20 --curve --ampere-turns 3000 --preconditioner multigrid    beside what was measured\n"
    "  team20 --method vpgcr --precision mixed --inner-max 200   a preconditioner that is a solve in float\n"
    "  team20 --element tetrahedra --spacing 5 --growth 1.4 --preconditioner jacobi --vtk field.vtu\n\n";

void list_methods() {
  for (const auto& m : variable_methods)
    std::printf("%-11s %s, preconditioned by an inner solve, by %s unless --inner says otherwise\n", m.name, m.outer,
                m.inner);
  for (const auto& [name, entry] : solver_entries()) std::printf("%-11s %s\n", name.c_str(), entry.description.c_str());
}

void list_preconditioners() {
  const auto registry = edge_preconditioners();
  for (const auto& [name, entry] : registry.entries())
    std::printf("%-18s %s\n", name.c_str(), entry.description.c_str());
}

Settings parse_settings(const CommandLine& options) {
  Settings s;
  s.element = choice<EdgeElement>("--element", options.text("element"),
                                  {{"hexahedra", EdgeElement::hexahedron}, {"tetrahedra", EdgeElement::tetrahedron}});
  s.grid.spacing = 1e-3 * options.number("spacing", {0.3, 50});
  s.grid.growth = options.number("growth", {1, 10});
  s.grid.gap_cells = options.integer("gap-cells", 1, 100);
  s.permeability = options.number("permeability", positive);
  s.ampere_turns = options.number("ampere-turns", positive);
  s.curve = options.is_set("curve");
  expects(!s.curve || !options.has("permeability"), "--permeability: --curve says what the steel is");
  s.nonlinear.method =
      choice<NonlinearMethod>("--nonlinear", options.text("nonlinear"),
                              {{"newton", NonlinearMethod::newton}, {"anderson", NonlinearMethod::anderson}});
  for (const char* name : {"nonlinear", "nonlinear-max", "damping"})
    expects(!options.has(name) || s.curve, "--", name, ": the field is linear without --curve");
  expects(!options.has("damping") || s.nonlinear.method == NonlinearMethod::anderson,
          "--damping: belongs to --nonlinear anderson");
  s.nonlinear.max_iterations = options.integer("nonlinear-max", 1, 1'000'000);
  s.nonlinear.damping = options.number("damping", {0, 1, true, false});

  s.solver.method = options.text("method");
  for (const auto& m : variable_methods)
    if (s.solver.method == m.name) {
      s.solver.method = m.outer;
      s.solver.inner = m.inner;
    }
  s.solver.method = parsed("--method", [&] { return solver_entry(s.solver.method).name; });
  if (options.has("inner"))
    s.solver.inner = parsed("--inner", [&] { return solver_entry(options.text("inner")).name; });
  expects(s.solver.inner.empty() || !solver_entry(s.solver.method).constant_symmetric, "--method ", s.solver.method,
          ": an inner solve varies from call to call; use vpcg, vpgcr or vpgmres");
  s.solver.restart = options.integer("restart", 1, 10000);
  s.stop.rtol = s.nonlinear.rtol = options.number("rtol", fraction);
  s.tolerance_asked_for = options.has("rtol");
  s.stop.max_iterations = options.has("max-iterations") ? options.integer("max-iterations", 1, 1'000'000'000)
                          : s.solver.inner.empty()      ? 100'000
                                                        : 1000;
  for (const char* name : {"inner-tolerance", "inner-max", "inner-history"})
    expects(!options.has(name) || !s.solver.inner.empty(), "--", name,
            ": there is no inner solve; --method vpcg, vpgcr and vpgmres have one");
  s.solver.inner_stop.rtol = options.number("inner-tolerance", {0, 1, true, true});
  s.solver.inner_stop.max_iterations = options.integer("inner-max", 1, 1'000'000'000);
  s.solver.mixed = choice<bool>("--precision", options.text("precision"), {{"double", false}, {"mixed", true}});

  std::vector<std::pair<std::string, std::string>> names{{"none", ""}};
  const auto registry = edge_preconditioners();
  for (const auto& [name, entry] : registry.entries()) names.emplace_back(name, name);
  s.solver.preconditioner = choice("--preconditioner", options.text("preconditioner"), names);
  expects(!s.solver.mixed || !s.solver.inner.empty() || !s.solver.preconditioner.empty(),
          "--precision mixed: there is neither an inner solve nor a preconditioner to be in float");
  const bool block_ic = s.solver.preconditioner == "block-ic";
  expects(!options.has("block-size") || block_ic, "--block-size: belongs to --preconditioner block-ic");
  expects(!options.has("ic-shift") || block_ic || s.solver.preconditioner == "ic",
          "--ic-shift: belongs to --preconditioner ic or block-ic");
  if (block_ic) s.solver.incomplete_cholesky.block_size = options.integer("block-size", 1, 1'000'000'000);
  s.solver.incomplete_cholesky.shift = options.number("ic-shift", not_negative);
  s.machine = parse_machine(options);
  s.quiet = options.is_set("quiet");
  return s;
}

// --- the problem --------------------------------------------------------------------------------------------------------

struct Problem {
  EdgeElements elements;
  std::vector<team20::Material> materials;
  std::vector<double> b;
  std::vector<bool> steel;  // of elements
  double source_check = 0;  // |(b, G phi)| / (|b| |G phi|), phi at random
  double seconds = 0;
};

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

double source_check(const EdgeElements& elements, const std::vector<double>& b) {
  const SparseRows g = elements.gradient();
  // Numbers without a pattern, the same on every machine.
  std::vector<double> phi(static_cast<std::size_t>(g.columns)), image(static_cast<std::size_t>(g.rows));
  std::uint32_t state = 12345;
  for (double& value : phi) {
    state = 1664525U * state + 1013904223U;
    value = static_cast<double>(state) / 4294967296.0 - 0.5;
  }
  for (std::size_t i = 0; i < image.size(); ++i)
    for (int k = g.start[i]; k < g.start[i + 1]; ++k)
      image[i] +=
          g.value[static_cast<std::size_t>(k)] * phi[static_cast<std::size_t>(g.column[static_cast<std::size_t>(k)])];
  return std::abs(dot(b, image)) / std::sqrt(dot(b, b) * dot(image, image));
}

/// Throws ResourceError where it does not fit: rows of the matrix, on the host and for the solver, in float once more where the
/// precision is mixed; vectors of the method, and the images of the elements.
void expect_room_for(const Context& ctx, const Settings& settings, const EdgeElements& elements) {
  const std::int64_t n = elements.unknowns(), entries = n * (settings.element == EdgeElement::hexahedron ? 33 : 17);
  const auto& method = solver_entry(settings.solver.method);
  const std::int64_t vectors = 12 + method.vectors + std::int64_t{settings.solver.restart} * method.vectors_per_restart;
  const std::int64_t solving = entries * (settings.solver.mixed ? 20 : 12) + 8 * n * vectors;
  const std::int64_t host = 24 * entries + 100 * std::int64_t{elements.elements()};
  expect_room(ctx, message(n, " unknowns"), host + (ctx.on_gpu() ? 0 : solving), solving);
}

Problem make_problem(Context& ctx, const Settings& settings) {
  const double begin = wall_seconds();
  Problem problem{EdgeElements(team20::make_grid(settings.grid), settings.element), {}, {}, {}, 0, 0};
  expect_room_for(ctx, settings, problem.elements);
  problem.materials = team20::materials(problem.elements.grid());
  for (int e = 0; e < problem.elements.elements(); ++e)
    problem.steel.push_back(team20::is_steel(problem.materials[static_cast<std::size_t>(problem.elements.box_of(e))]));
  problem.b = problem.elements.load(ctx, team20::current_potential(settings.ampere_turns));
  problem.source_check = source_check(problem.elements, problem.b);
  problem.seconds = wall_seconds() - begin;
  return problem;
}

// --- solving ------------------------------------------------------------------------------------------------------------

/// Residuals of inner solves, one history after the other.
struct InnerHistories {
  std::vector<std::vector<double>> all;
  [[nodiscard]] Monitor monitor() {
    return [this](int iteration, double residual) {
      if (iteration == 0) all.emplace_back();
      all.back().push_back(residual);
    };
  }
  [[nodiscard]] std::string csv() const {
    std::ostringstream out;
    out.precision(17);
    out << "solve,iteration,relative_residual\n";
    for (std::size_t n = 0; n < all.size(); ++n)
      for (std::size_t k = 0; k < all[n].size(); ++k)
        out << n + 1 << ',' << k << ',' << (all[n][0] > 0 ? all[n][k] / all[n][0] : 0) << '\n';
    return out.str();
  }
};

/// A solution, and how it came.
struct Field {
  std::vector<double> a, nu;  // circulations; of elements
  SolveReport report;         // where the field is nonlinear, of the outer iteration
  std::vector<double> steps;  // of Newton's method
  double largest = 0;         // |B| in steel, tesla
};

Field solve_linear(Context& ctx, const Problem& problem, const Settings& settings, InnerHistories* histories) {
  Field field;
  for (const bool steel : problem.steel) field.nu.push_back(steel ? 1 / settings.permeability : 1);
  field.a.assign(problem.b.size(), 0);
  const KeptPlanes kept = planes_of_steel(problem.elements.grid(), problem.materials);
  Progress progress(!settings.quiet);
  const auto table = [&](double norm) -> Monitor {
    if (settings.quiet) return {};
    return with_progress(progress, settings.stop, norm, residual_table(settings.stop.reference_norm, norm));
  };
  field.report = solve_edge_system(ctx, problem.elements.curl_curl(ctx, field.nu), {problem.elements, field.nu, {kept}},
                                   problem.b, field.a, settings.solver, settings.stop, table,
                                   histories == nullptr ? Monitor{} : histories->monitor());
  progress.clear();
  return field;
}

Field solve_nonlinear(Context& ctx, const Problem& problem, const Settings& settings, InnerHistories* histories) {
  Field field;
  const double begin = wall_seconds(), norm = std::sqrt(dot(problem.b, problem.b));
  const auto curve = team20::steel_curve();
  const KeptPlanes kept = planes_of_steel(problem.elements.grid(), problem.materials);
  field.a.assign(problem.b.size(), 0);
  double setup = 0;
  const LinearSolve linear = [&](const SparseRows& matrix, const std::vector<double>& nu, const std::vector<double>& b,
                                 std::vector<double>& x, double rtol) {
    StoppingParams stop = settings.stop;
    stop.rtol = rtol;
    const auto report = solve_edge_system(
        ctx, matrix, {problem.elements, nu, {kept}}, b, x, settings.solver, stop, [](double) { return Monitor{}; },
        histories == nullptr ? Monitor{} : histories->monitor());
    setup += report.setup_seconds;
    if (!settings.quiet) std::printf("%16d linear iterations to %.0e\n", report.iterations, rtol);
    return report;
  };
  auto nonlinear = solve_nonlinear_field(ctx, problem.elements, problem.steel, curve, problem.b, field.a, linear,
                                         settings.nonlinear, [&](int iteration, double residual) {
                                           if (settings.quiet) return;
                                           if (iteration == 0) std::printf("iteration   relative residual\n");
                                           std::printf("%9d   %17.3e\n", iteration, residual / norm);
                                           (void)std::fflush(stdout);
                                         });
  field.report = std::move(nonlinear.outer);
  field.steps = std::move(nonlinear.steps);
  field.report.setup_seconds = setup;
  field.report.solve_seconds = wall_seconds() - begin - setup;
  const auto s = problem.elements.mean_square_curl(ctx, field.a);
  field.nu = reluctivities(problem.steel, curve, s);
  for (std::size_t e = 0; e < s.size(); ++e)
    if (problem.steel[e]) field.largest = std::max(field.largest, vacuum_permeability * std::sqrt(s[e]));
  return field;
}

// --- what the field says ------------------------------------------------------------------------------------------------

/// Of the whole device; not numbers where there is no solution.
struct Results {
  double force = NAN;                                 // on the pole along z, newton
  double energy = NAN;                                // joule
  double inductance = NAN;                            // henry, per turn squared
  double p1 = NAN, p2 = NAN, pole = NAN, yoke = NAN;  // B_z, tesla
};

Results evaluate(Context& ctx, const Problem& problem, const Field& field, const Settings& settings) {
  const auto& a = field.a;
  const auto& elements = problem.elements;
  const auto mean = [&](team20::Material material) {
    return mean_flux_density(elements, a, team20::boxes_of(problem.materials, material), team20::section)[2];
  };
  const auto pole = team20::boxes_of(problem.materials, team20::Material::pole);
  Results r;
  r.force = team20::quarters * eggshell_force(elements, a, pole)[2];
  const double linkage = team20::quarters * vacuum_permeability * dot(a, problem.b);
  r.energy = settings.curve ? team20::quarters * field_energy(elements, problem.steel, team20::steel_curve(),
                                                              elements.mean_square_curl(ctx, a))
                            : linkage / 2;
  r.inductance = linkage / (settings.ampere_turns * settings.ampere_turns);
  r.p1 = flux_density_at(elements, a, team20::p1)[2];
  r.p2 = flux_density_at(elements, a, team20::p2)[2];
  r.pole = mean(team20::Material::pole);
  r.yoke = mean(team20::Material::yoke);
  return r;
}

const team20::Measurement* measurement(double ampere_turns) {
  for (const auto& m : team20::measured)
    if (m.ampere_turns == ampere_turns) return &m;
  return nullptr;
}

/// Why ours are not what was measured, or hang on an extrapolation; else empty.
std::string remark(const Settings& settings, const Field& field) {
  const double end = team20::steel_curve().end();
  if (field.largest > end)
    return message("|B| in the steel goes up to ", field.largest, " T, beyond the curve's last point at ", end,
                   " T: there B = mu0 H + 2.16 T is taken");
  if (settings.curve) return "";
  return message("a permeability of ", settings.permeability,
                 " whatever the field is no model of this steel: the measured values cannot come out of it");
}

// --- printing and writing -----------------------------------------------------------------------------------------------

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

void print_results(const Results& r, const Settings& settings, const Field& field) {
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
                        const Settings& settings, const Field& field, const Results& r) {
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
    json.add("measured",
             Json{{"force", m->force}, {"bz_p1", m->p1}, {"bz_p2", m->p2}, {"bz_pole", m->pole}, {"bz_yoke", m->yoke}});
  json.add("remark", remark(settings, field));
  add_machine(json, ctx);
  json.add("assembly_seconds", problem.seconds);
  json.add("setup_seconds", report.setup_seconds).add("solve_seconds", report.solve_seconds);
  json.add("history", report.history);
  return json.text();
}

/// Fields at the middle of every element.
void write_fields(const std::string& path, const Problem& problem, const Field& solution, const Settings& settings) {
  const auto& elements = problem.elements;
  const BoxGrid& grid = elements.grid();
  VtkCells cells;
  cells.corners_per_cell = static_cast<int>(elements.reference().front().corners.size());
  for (int node = 0; node < grid.nodes(); ++node) {
    const int nx = grid.cells(0) + 1, ny = grid.cells(1) + 1;
    cells.points.push_back({grid.plane(0, node % nx), grid.plane(1, node / nx % ny), grid.plane(2, node / nx / ny)});
  }
  std::vector<double> b, h, size, j, material;
  for (int e = 0; e < elements.elements(); ++e) {
    const auto& reference = elements.reference(e);
    const Index3 box = grid.place(elements.box_of(e));
    Point3 middle{};
    for (const int c : reference.corners) {
      const Index3 corner{c & 1, c >> 1 & 1, c >> 2};
      cells.corners.push_back(grid.node_number({box[0] + corner[0], box[1] + corner[1], box[2] + corner[2]}));
      for (std::size_t d = 0; d < 3; ++d) middle[d] += static_cast<double>(corner[d]) / cells.corners_per_cell;
    }
    const Point3 field = flux_density(elements, solution.a, e, middle);
    const Point3 current = team20::current_density(settings.ampere_turns, grid.point(box, middle));
    const auto kind = problem.materials[static_cast<std::size_t>(elements.box_of(e))];
    for (std::size_t d = 0; d < 3; ++d) {
      b.push_back(field[d]);
      h.push_back(field[d] * solution.nu[static_cast<std::size_t>(e)] / vacuum_permeability);
      j.push_back(current[d]);
    }
    size.push_back(std::hypot(field[0], field[1], field[2]));
    material.push_back(kind == team20::Material::yoke             ? 1
                       : kind == team20::Material::pole           ? 2
                       : team20::in_coil(grid.point(box, middle)) ? 3
                                                                  : 0);
  }
  write_vtu(path, cells, {{"|B|", size}, {"material", material}, {"B", b}, {"H", h}, {"J", j}});
}

/// |B| where the steel is, and what it encloses.
void draw(const std::string& path, const Problem& problem, const Field& field) {
  const BoxGrid& grid = problem.elements.grid();
  constexpr Point3 end{63.5e-3, 0, 150e-3};
  const auto planes = [&](int d) {
    std::vector<double> p;
    for (const double at : grid.planes(d))
      if (at > -1e-9 && at < end[static_cast<std::size_t>(d)] + 1e-9) p.push_back(at);
    return p;
  };
  const auto line = [](const std::vector<double>& p) {
    std::vector<double> widths;
    for (std::size_t i = 0; i + 1 < p.size(); ++i) widths.push_back(p[i + 1] - p[i]);
    return Line(std::move(widths));
  };
  const auto x = planes(0), z = planes(2);
  std::vector<double> size;
  for (const double height : z)
    for (const double along : x) {
      const Point3 b = flux_density_at(problem.elements, field.a, {along, 0, height});
      size.push_back(std::hypot(b[0], b[1], b[2]));
    }
  write_png(path, TensorMesh(line(x), line(z)), size, "|B| in tesla, y = 0");
}

int run(const Settings& settings, const CommandLine& options, OutputFiles outputs) {
  Context ctx = settings.machine.context();
  expects(!outputs.has("vtk") || vtk_available(), "--vtk: this build has no VTK (Debian: libvtk9-dev)");
  expects(!outputs.has("png") || pictures_available(), "--png: this build has no VTK that draws (Debian: libvtk9-dev)");
  outputs.check();
  progress(settings.quiet ? "" : "assembling ...");
  const Problem problem = make_problem(ctx, settings);
  if (!settings.quiet) {
    progress("");
    print_heading(ctx, problem, settings);
  }
  InnerHistories histories;
  InnerHistories* const kept = outputs.has("inner-history") ? &histories : nullptr;
  const Field field =
      settings.curve ? solve_nonlinear(ctx, problem, settings, kept) : solve_linear(ctx, problem, settings, kept);
  const SolveReport& report = field.report;
  const int code = exit_code(report.status, settings.tolerance_asked_for);
  const bool solved = report.status == Status::converged || report.status == Status::round_off_limit;
  const Results results = solved ? evaluate(ctx, problem, field, settings) : Results{};
  if (!settings.quiet) {
    print_end(report, settings.curve || !settings.solver.inner.empty());
    if (solved) print_results(results, settings, field);
    std::printf("time        %.3g s assembly, %.3g s set-up, %.3g s solve\n", problem.seconds, report.setup_seconds,
                report.solve_seconds);
  } else if (code != 0) {
    print_failure("team20", report);
  }
  // First what is small: a full disk shall not lose it.
  outputs.write_text("report", json_report(options, ctx, problem, settings, field, results));
  outputs.write_text("history", csv_history({&report, 1}));
  outputs.write_text("inner-history", histories.csv());
  if (solved) outputs.write("png", [&](const std::string& path) { draw(path, problem, field); });
  if (solved) outputs.write("vtk", [&](const std::string& path) { write_fields(path, problem, field, settings); });
  if (!settings.quiet) outputs.print_written();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Program program{"team20",
                  before_options,
                  message(examples, about_outputs, about_exit_codes),
                  make_command_line(),
                  {{"list-methods", list_methods}, {"list-preconditioners", list_preconditioners}},
                  [](const CommandLine& options) -> std::function<int()> {
                    return [settings = parse_settings(options), outputs = OutputFiles(options), &options] {
                      return run(settings, options, outputs);
                    };
                  }};
  return run_program(program, argc, argv);
}
