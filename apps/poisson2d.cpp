// poisson2d: solves -Laplace u = f on a tensor-product or deformed mesh by geometric multigrid and writes what ParaView opens.
// --help explains; the file is parse, solve, print, write, in that order.

#include <algorithm>
#include <deque>
#include <optional>

#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/assembly/expressions/gpu_integrals.hpp>
#include <stratum/assembly/picture.hpp>
#include <stratum/assembly/solution_range.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/io/npy_file.hpp>
#include <stratum/mesh/vtk/vtk.hpp>
#include <stratum/multigrid/poisson_solver.hpp>
#include <stratum/version.h>

#include "support/mapped_mesh_options.hpp"
#include "support/mesh_options.hpp"
#include "support/probe.hpp"
#include "support/problem_options.hpp"
#include "support/program.hpp"
#include "support/progress.hpp"
#include "support/rank_output.hpp"
#include "support/solve_output.hpp"
#include "support/solver_options.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;

constexpr const char* program_name = "poisson2d";
// Of NumPy's arrays.
constexpr std::string_view array_ending = ".npy";
// Without being asked for, files of several hundred megabytes are not written.
constexpr std::int64_t default_vtk_nodes = 5'000'000;

struct Settings {
  MeshChoice mesh;
  Deformation deformation;
  int first_level = 0;  // below last_level: a convergence table
  int last_level = 0;
  PoissonSolverParams solver;
  std::vector<PoissonProblem> problems;  // one for each right-hand side, all with the same boundaries and reaction
  bool project = false;                  // incompatible right-hand sides
  bool reference_norm_follows_values =
      false;  // the initial residual, as Dirichlet boundaries have values and nothing was asked for
  Machine machine;
  std::optional<Probe> probe;
  VtkCompression compression = VtkCompression::fast;
  bool vtk_asked_for = false;
  bool table = false;
  bool quiet = false;
  bool tolerance_asked_for = false;  // or below what the precision asked for can reach

  /// With the ends that the boundaries want.
  [[nodiscard]] TensorMesh logical_at(int level) const {
    return with_boundaries(mesh.at(level), problems[0].boundaries);
  }
  [[nodiscard]] ProblemMesh mesh_at(Context& ctx, int level) const {
    return with_boundaries(deformation.at(ctx, machine, mesh, level), problems[0].boundaries);
  }
  /// Where widths do not decide.
  [[nodiscard]] bool interpolates_by_choice() const { return deformation.is_given() || problems[0].has_coefficients(); }
  [[nodiscard]] std::string vtk_ending() const {
    return message(machine.has_ranks() ? ".pvt" : ".vt", deformation.is_given() ? 's' : 'r');
  }
  [[nodiscard]] int exit_code(const SolveReport& report) const {
    return stratum::exit_code(report.status, tolerance_asked_for);
  }
};

// --- options ------------------------------------------------------------------------------------------------------------

CommandLine make_command_line() {
  const PoissonSolverParams params;
  const std::vector<OptionGroup> settings{
      {"Mesh", joined(mesh_options(), mapped_mesh_options())},
      {"Problem: -Laplace u + c u = f; on every side u, its outward derivative or both are given, or it is periodic",
       joined(
           {{"rhs", "EXPR", "",
             "f in x, y, the lengths a and b of the boundaries, and the distances xl, xr, yl, yr to the left, right, "
             "lower "
             "and "
             "upper side, xr = a - x (2 (yl yr + xl xr)); given several times, all are solved for, each with its own "
             "report",
             true},
            {"exact", "EXPR", "",
             "the exact solution, to measure the error by (of the default f: xl xr yl yr); once for each --rhs", true},
            {"boundary", "EXPR", "",
             "u on the boundaries that have no value of their own (the exact solution where it is given, else 0)"}},
           boundary_and_coefficient_options(),
           {{"project", "", "",
             "where u is known up to a constant only, subtract from f what keeps the problem from having a "
             "solution"}})},
      {"Solver",
       joined(
           {{"solver", "NAME", "multigrid",
             "multigrid; or a Krylov method with the cycle as its preconditioner: cg, fcg, cr (a symmetric cycle), "
             "gcr, "
             "gmres, bicgstab (any). cg is the one to take where neighbouring widths jump a thousandfold in both "
             "directions, or for a point smoother where cells are stretched"},
            {"restart", "N", plain(params.krylov.restart),
             "directions that gcr and gmres keep, each 16 bytes an unknown, 1 .. 1000"},
            {"cycle", "NAME", "v",
             "v, w, f; w2: twice below the two finest levels, for rotated tensors K and aligned boards; k: the same "
             "by two steps of flexible conjugate gradients, better for rotated tensors (solver fcg there); or fmg: "
             "one FMG cycle, and after it V-cycles, or the Krylov method of --solver, when --rtol, "
             "--atol or a Krylov method is given"},
            {"interpolation", "NAME", "",
             "where K varies or the mesh is deformed: conductance (of the cells' conductances), split (sums of the "
             "matrix's parts in x and y: fewer iterations where K jumps, more to set up; on rectangles), bilinear, or "
             "matrix (conductance)"}},
           smoothing_options(),
           {{"distributed-smoothing", "NAME", std::string(to_string(params.multigrid.distributed_smoothing)),
             "of several ranks, how levels are smoothed that are cut: exact, as if they were not; overlap, with rows "
             "of "
             "the neighbours, where these are enough; or auto, level by level what costs less"},
            {"deflate", "KIND", "none",
             "cg where K varies: vectors that take slow modes out of it, inclusions (a vector for each isolated one of "
             "high K, from 1000 times the rest on: half the iterations), blocks:N (N x N of them), ritz:K (the lowest "
             "of another solve), or auto: inclusions where they pay"},
            {"precision", "NAME", "mixed",
             "mixed (float cycles, double defect and update), double, residual-replacement (CG in float as well, set "
             "right in "
             "double now and then: much the same iterations, each in less time), double-single (for GPUs whose double "
             "is "
             "slow: CG in float, x in two of them, right to 1e-7 in the energy norm with a residual above 1e-8; tensor "
             "and element-coefficient operators), or single (to see it fail)"},
            {"inner", "KIND:N", message("cycles:", params.inner.cycles),
             "mixed precision: between updates in double cycles:N (1 .. 1000), or rtol:X, as many as reduce the "
             "residual to X (1e-6 .. 1)"},
            {"operator", "NAME", "",
             "storage: tensor (none), symmetric (5 words per unknown) or nine-band (9) (tensor; with single nine-band, "
             "whose "
             "rounded entries are what fails)"},
            {"reproducible", "", "",
             message("the same bits on any number of ranks, up to ", PartitionLevels::most_fixed,
                     ", and threads: lines along y are solved in pieces that are always the same; on CPUs, not where "
                     "interpolation follows coefficients or deformed cells")}})},
      {"Stopping",
       {{"rtol", "X", plain(params.stop.rtol),
         "stop when the residual has fallen below X times the reference norm, X in (0, 1)"},
        {"atol", "X", plain(params.stop.atol), "or below X itself, X from 0 on"},
        {"reference-norm", "NAME", "",
         "rhs (norm of the right-hand side) or initial (norm of the first residual) (initial with values on Dirichlet "
         "boundaries, which make the right-hand side of thin cells large; else rhs)"},
        {"max-iterations", "N", plain(params.stop.max_iterations), "1 .. 1000000"}}},
      machine_options_of_ranks(),
      {"Output",
       {output_file("vtk", "FILE.vtr",
                    "solution, exact solution, error, right-hand side and aspect ratios for ParaView "
                    "(poisson2d_<mesh>_L<level>.vtr); FILE.vts with --map and --mesh-file; FILE.npy: the solution "
                    "alone, an array "
                    "for NumPy of shape (ny + 1, nx + 1), which is written where VTK is missing; FILE.pvtr or .pvts, "
                    "with a subdomain of each, on several ranks"),
        {"vtk-compress", "HOW", "fast", "none, fast (LZ4), or best (zlib: up to a third less, ten times as slow)"},
        output_file("png", "FILE.png",
                    "a picture: the solution (the first one of several) in colours, and enlarged where cells are thin"),
        output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
        output_file("history", "FILE.csv", "the residual after every iteration"),
        with_files({"probe", "LINE:FILE", "",
                    "X0,Y0,X1,Y1,N:FILE.csv, the solution along a line, at N points from (X0, Y0) to (X1, Y1): x, y, "
                    "the distance from the first end and u"},
                   Names::output, probe_files),
        {"convergence-table", "L1..L2", "",
         "solve on every level from L1 to L2 and print the errors side by side; without an exact solution the "
         "differences of successive levels, the order they show, and the error that follows"},
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

constexpr const char* before_options =
    "Usage: poisson2d [OPTIONS]\n\n"
    "Solves the Poisson problem -Laplace u = f on a rectangle with bilinear finite elements and geometric\n"
    "multigrid. The mesh may be stretched as far as double precision reaches: a smoother that solves along whole\n"
    "lines (adi) keeps the number of cycles small where point smoothers stall. By default it solves a problem\n"
    "with a known solution, prints how it converges and how large the error is, and writes a file for ParaView.\n";

constexpr const char* examples =
    "Examples:\n"
    "  poisson2d                                       square cells, 65025 unknowns; writes poisson2d_U1_L8.vtr\n"
    "  poisson2d --mesh A3 --smoother adi              cells up to 1e5 times as long as wide\n"
    "  poisson2d --mesh A2 --smoother jacobi           see a point smoother diverge there (exit code 3)\n"
    "  poisson2d --mesh A5 --level 10 --cycle fmg      one FMG cycle to discretisation accuracy\n"
    "  poisson2d --mesh U2 --smoother jacobi --solver cg  what the cycle alone does in 97, in 20\n"
    "  poisson2d --nu 0.3 --domain 2,1 --thin first,none --vtk layer.vtr\n"
    "  poisson2d --cells 160,96 --grade-x geometric:1.1,last --grade-y tanh:3,both\n"
    "  poisson2d --cells ,64 --grade-x widths:layer.txt --grade-y shishkin:0.01,first --convergence-table 0..3\n"
    "  poisson2d --rhs '2*pi^2*sin(pi*x)*sin(pi*y)' --exact 'sin(pi*x)*sin(pi*y)' --report run.json\n"
    "  poisson2d --rhs 0 --boundary 'x == 0 || y == b ? 1 : 0' --quiet --report - --vtk none\n"
    "  poisson2d --rhs 1 --left neumann --right robin:10,0 --reaction 4\n"
    "  poisson2d --rhs 1 --kappa file:k.npy --level 8\n"
    "  poisson2d --rhs 1 --kappa file:a.csv,0,1+x --reaction file:c.vtr:density\n"
    "  poisson2d --cells 300,200 --left periodic --right periodic --rhs 'sin(2*pi*x)' --vtk none\n"
    "  poisson2d --map '(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)' --rhs 0 --boundary x\n"
    "  poisson2d --mesh-file wing.vts --rhs 1 --level 2\n"
    "  mpirun -n 4 poisson2d --mesh A3 --level 11      on four ranks, a subdomain each\n"
    "  poisson2d --mesh A2 --convergence-table 4..9    the error falls by four from level to level\n"
    "  poisson2d --mesh A3 --rtol 1e-10 --print-config > a3.cfg; poisson2d --config a3.cfg\n\n";

std::vector<PoissonProblem> parse_problems(const CommandLine& options, const MeshFamily& family, Variables variables) {
  const auto rhs = options.texts("rhs"), exact = options.texts("exact");
  const BoundaryConditions boundaries = parse_boundaries(options, family, variables);
  PoissonProblem plain;
  plain.boundaries = boundaries;
  parse_coefficients(options, family, plain, variables);
  expects(exact.empty() || options.has("rhs") || options.has("boundary") || !plain.has_exact(),
          "--exact: give --rhs as well; the default right-hand side has the solution xl xr yl yr");
  const std::size_t count = std::max<std::size_t>(1, rhs.size());
  expects(exact.empty() || exact.size() == count, "--exact: ", exact.size(), " given for ", count,
          " right-hand sides; give one for each --rhs, in the same order, or none");
  const auto function = [&](const std::string& name, const std::string& text) {
    return parsed("--" + name, [&] { return parse_expression(text, family.a, family.b, variables); });
  };
  std::vector<PoissonProblem> problems(count, plain);
  for (std::size_t k = 0; k < count; ++k) {
    if (!rhs.empty()) problems[k].rhs = function("rhs", rhs[k]);
    if (!exact.empty()) problems[k].exact = function("exact", exact[k]);
    if (options.has("boundary")) problems[k].boundary = function("boundary", options.text("boundary"));
  }
  return problems;
}

PoissonSolverParams parse_solver(const CommandLine& options) {
  PoissonSolverParams params;
  auto& multigrid = params.multigrid;
  parse_smoothing(options, multigrid);
  params.full_multigrid = options.text("cycle") == "fmg";
  if (options.has("cycle"))
    multigrid.cycle = choice<Cycle>(
        "--cycle", options.text("cycle"),
        {{"v", Cycle::v}, {"w", Cycle::w}, {"f", Cycle::f}, {"w2", Cycle::w2}, {"k", Cycle::k}, {"fmg", Cycle::v}});
  std::vector<std::pair<std::string, DistributedSmoothing>> distributed_smoothings;
  for (const auto method : every_distributed_smoothing) distributed_smoothings.emplace_back(to_string(method), method);
  multigrid.distributed_smoothing = choice<DistributedSmoothing>(
      "--distributed-smoothing", options.text("distributed-smoothing"), distributed_smoothings);
  std::vector<std::pair<std::string, InterpolationKind>> interpolations;
  for (const auto kind : every_interpolation) interpolations.emplace_back(to_string(kind), kind);
  if (options.has("interpolation"))
    params.interpolation = choice<InterpolationKind>("--interpolation", options.text("interpolation"), interpolations);
  params.precision = choice<Precision>("--precision", options.text("precision"),
                                       {{"mixed", Precision::mixed},
                                        {"double", Precision::full},
                                        {"residual-replacement", Precision::residual_replacement},
                                        {"double-single", Precision::double_single},
                                        {"single", Precision::single}});
  // A Krylov method is not asked for to be left out.
  const bool krylov = options.has("solver") && options.text("solver") != "multigrid";
  params.continue_after_full_multigrid =
      options.has("rtol") || options.has("atol") || krylov || params.precision == Precision::residual_replacement;
  params.inner = parse_inner(options);
  expects(!options.has("inner") || params.precision == Precision::mixed,
          "--inner: only mixed precision has inner cycles, not ", options.text("precision"));
  std::vector<std::pair<std::string, Method>> methods;
  for (const auto method : every_method) methods.emplace_back(to_string(method), method);
  if (options.has("solver")) params.method = choice<Method>("--solver", options.text("solver"), methods);
  params.deflate = parse_deflation(options.text("deflate"));
  if (params.deflate.by != DeflateBy::none && !params.method) params.method = Method::cg;
  params.krylov.restart = options.integer("restart", 1, 1000);
  expects(!options.has("restart") || params.method == Method::gcr || params.method == Method::gmres,
          "--restart: only gcr and gmres start again, not ", options.text("solver"));
  params.format = options.has("operator")
                      ? parsed("--operator", [&] { return storage_format(options.text("operator")); })
                  : params.precision == Precision::single ? StorageFormat::nine_band
                                                          : StorageFormat::tensor;
  multigrid.reproducible = options.is_set("reproducible");
  params.stop.rtol = options.number("rtol", fraction);
  params.stop.atol = options.number("atol", not_negative);
  if (options.has("reference-norm"))
    params.stop.reference_norm =
        choice<ReferenceNorm>("--reference-norm", options.text("reference-norm"),
                              {{"rhs", ReferenceNorm::rhs}, {"initial", ReferenceNorm::initial}});
  params.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000);
  return params;
}

Settings parse_settings(const CommandLine& options) {
  Settings settings;
  settings.mesh = parse_mesh(options);
  settings.deformation = parse_deformation(options, settings.mesh);
  settings.first_level = settings.last_level = parse_level(options, settings.mesh);
  settings.solver = parse_solver(options);
  settings.tolerance_asked_for =
      options.has("rtol") || options.has("atol") || settings.solver.precision == Precision::single;
  settings.solver.stop.rounding_will_do = !settings.tolerance_asked_for;
  settings.problems = parse_problems(options, settings.mesh.family, settings.deformation.variables());
  if (settings.deformation.is_given()) {
    const char* const option = options.has("map") ? "--map" : "--mesh-file";
    expects(options.has("rhs"), option, ": give --rhs as well; the default right-hand side is one of a rectangle");
    expects(!options.has("operator"), "--operator: a deformed mesh has a symmetric one; leave it out with ", option);
    expects(settings.solver.interpolation != InterpolationKind::split,
            "--interpolation: split is for rectangles; with ", option, " take conductance, bilinear or matrix");
  }
  expects(settings.solver.deflate.by == DeflateBy::none ||
              (settings.problems[0].has_coefficients() && !settings.deformation.is_given()),
          "--deflate: it is for coefficients that vary, by --kappa or an expression for --reaction, on rectangles");
  expects(settings.solver.deflate.by == DeflateBy::none || settings.solver.method == Method::cg,
          "--deflate: it is for conjugate gradients, --solver cg, not ", options.text("solver"));
  expects(!options.has("operator") || !settings.problems[0].has_coefficients(),
          "--operator: coefficients that vary choose the storage format; leave it out with --kappa and expressions "
          "for --reaction");
  expects(!options.has("interpolation") || settings.interpolates_by_choice(),
          "--interpolation: it is for coefficients that vary, by --kappa or an expression for --reaction, and for "
          "deformed meshes");
  settings.project = options.is_set("project");
  settings.reference_norm_follows_values = !options.has("reference-norm") && has_boundary_values(settings.problems[0]);
  if (settings.reference_norm_follows_values) settings.solver.stop.reference_norm = ReferenceNorm::initial;
  settings.solver.full_multigrid_from_x = has_boundary_values(settings.problems[0]);
  if (options.has("convergence-table")) {
    expects(!options.has("level"), "--convergence-table: its levels take the place of --level");
    expects(settings.problems.size() == 1, "--convergence-table: one right-hand side, not ", settings.problems.size());
    const auto [first, last] =
        parse_pair("--convergence-table", options.text("convergence-table"), "..", "a range of levels L1..L2");
    settings.first_level = parse_integer("--convergence-table", first, 0, max_level);
    settings.last_level = parse_integer("--convergence-table", last, settings.first_level, max_level);
    settings.table = true;
  }
  constexpr int always_enough = 2;  // level: 4 x 4 cells
  if (settings.mesh.base || settings.first_level < always_enough)
    (void)settings.logical_at(settings.first_level);  // too few cells for the boundaries are found here
  if (settings.mesh.base) (void)settings.logical_at(settings.last_level);  // and too many
  if (options.has("probe")) {
    settings.probe = parse_probe(options.text("probe"));
    if (!settings.deformation.is_given()) (void)located(*settings.probe, settings.mesh.at(settings.mesh.base ? 0 : 1));
  }
  settings.compression = choice<VtkCompression>(
      "--vtk-compress", options.text("vtk-compress"),
      {{"none", VtkCompression::none}, {"fast", VtkCompression::fast}, {"best", VtkCompression::best}});
  settings.machine = parse_machine(options);
  settings.quiet = options.is_set("quiet");
  return settings;
}

/// What cannot be the same on any number of ranks.
void check_reproducible(const Settings& settings) {
  if (!settings.solver.multigrid.reproducible) return;
  const auto refuse = [](bool asked, const char* why) { expects(!asked, "--reproducible: ", why); };
  refuse(settings.solver.deflate.by != DeflateBy::none, "deflation differs by rounding; leave one of the two out");
  refuse(
      settings.interpolates_by_choice() && settings.solver.interpolation != InterpolationKind::bilinear,
      "interpolation that follows coefficients or deformed cells differs by rounding; take --interpolation bilinear");
  refuse(settings.solver.multigrid.distributed_smoothing == DistributedSmoothing::overlap,
         "overlap differs by rounding; take --distributed-smoothing exact");
  refuse(settings.machine.backend == Backend::cuda, "it is for CPUs; take --backend cpu");
}

OutputFiles parse_outputs(const CommandLine& options, Settings& settings) {
  OutputFiles outputs(options);
  settings.vtk_asked_for = outputs.has("vtk");
  const std::string name = outputs.path("vtk");
  const std::string ending = settings.vtk_ending();
  const bool is_array = name.ends_with(array_ending);
  const bool ranks = settings.machine.has_ranks();
  expects(name.empty() || (name == "-" && !ranks) || name.ends_with(ending) || is_array, "--vtk: '", name,
          "' must end in ", ending, ", by which ParaView knows ",
          ranks && settings.deformation.is_given() ? "the subdomains of several ranks' deformed mesh"
          : ranks                                  ? "the subdomains of several ranks"
          : settings.deformation.is_given()        ? "a deformed mesh"
                                                   : "it",
          ", or in .npy");
  expects(!is_array || !options.has("vtk-compress"), "--vtk-compress: .npy is not compressed");
  const std::string picture = outputs.path("png");
  expects(picture.empty() || picture == "-" || picture.ends_with(".png"), "--png: '", picture, "' must end in .png");
  expects(picture.empty() || pictures_available(), "--png: this build has no VTK that draws (Debian: libvtk9-dev)");
  if (!options.has("vtk") && !settings.table)
    outputs.add("vtk", message("poisson2d_", mesh_label(options), "_L", settings.last_level,
                               vtk_available() ? ending : std::string(array_ending)));
  if (const std::string path = outputs.path("vtk"); ranks && path.ends_with(ending))
    outputs.add_family("vtk", path, [path, count = settings.machine.ranks->size()](const std::string& file) {
      return is_piece(path, count, file);
    });
  return outputs;
}

// --- output files -------------------------------------------------------------------------------------------------------

/// In place of a file for ParaView.
bool is_array(const OutputFiles& outputs) { return outputs.path("vtk").ends_with(array_ending); }

/// A file for ParaView that nobody has asked for is given up with a word.
void give_up_vtk(const Settings& settings, OutputFiles& outputs, const std::string& why) {
  if (!settings.quiet) warn(program_name, message("no file for ParaView: ", why));
  outputs.remove("vtk");
}

/// Before anything is solved; of several ranks by the first.
void check_outputs(const Settings& settings, OutputFiles& outputs) {
  outputs.check("report");
  outputs.check("history");
  outputs.check("probe");
  outputs.check("png");
  if (!outputs.has("vtk")) return;
  const std::int64_t nodes = settings.mesh.nodes(settings.last_level);
  if (!settings.vtk_asked_for && nodes > default_vtk_nodes) {
    if (!settings.quiet)
      std::printf("no file for ParaView: %lld nodes make a large one; --vtk FILE%s writes it\n",
                  static_cast<long long>(nodes), settings.vtk_ending().c_str());
    return outputs.remove("vtk");
  }
  try {
    expects(vtk_available() || is_array(outputs),
            "this build has no VTK (Debian: libvtk9-dev); --vtk FILE.npy writes an array, --vtk none no file");
    outputs.check("vtk");
  } catch (const std::exception& error) {
    if (settings.vtk_asked_for) throw;
    give_up_vtk(settings, outputs, error.what());
  }
}

/// Whether there is a file for ParaView, by what rank 0 has found.
void share_outputs(const Settings& settings, OutputFiles& outputs) {
  if (!settings.machine.has_ranks()) return;
  const auto wanted = settings.machine.ranks->communicator()->gather_on_host(outputs.has("vtk") ? 1 : 0);
  if (wanted[0] == 0) outputs.remove("vtk");
}

/// With the coefficients of one mesh, of all cells on every rank. Throws where there is no room for them.
PoissonSolverParams params_on(Context& ctx, const Settings& settings, const Geometry& mesh) {
  PoissonSolverParams params = settings.solver;
  const PoissonProblem& problem = settings.problems[0];
  if (problem.has_coefficients()) {
    int numbers = 1;
    for (const Coefficient* other : {&problem.diffusion.xy, &problem.diffusion.yy, &problem.reaction_of_cells})
      numbers += other->is_given() ? 1 : 0;
    expect_room_on_ranks(ctx, settings.machine, named(mesh.logical()),
                         numbers * mesh.logical().cells() * std::int64_t{sizeof(double)}, 0);
  }
  params.terms = operator_terms(mesh, problem);
  if (auto k = cell_coefficients(ctx, mesh, problem))
    params.coefficients = std::make_shared<const CellCoefficients>(std::move(*k));
  return params;
}

/// What is done with a solution.
struct Uses {
  bool summary = false;
  bool errors = false;
  bool vtk = false;   // for a file of VTK's
  bool kept = false;  // for other files, or to be compared with the next level
  [[nodiscard]] bool nodal() const { return vtk || kept; }
};

/// All unknowns, or this rank's.
GridShape strip_of(const Context& ctx, const TensorMesh& mesh, const PoissonSolverParams& params) {
  if (ctx.pieces() == 1) return mesh.unknowns();
  return PartitionLevels(ctx, mesh_hierarchy(mesh), params.multigrid.strips()).finest();
}

/// What lies on the host in fields of the grid's size for a while, where a GPU does not compute it: loads; solutions.
struct HostFields {
  bool loads = false, solutions = false;

  HostFields(const Context& ctx, const Settings& settings, const Geometry& mesh, const Uses& uses) {
    const bool rectangle_on_gpu = ctx.on_gpu() && mesh.mapped() == nullptr;
    const auto computed = [&](const ScalarFunction& f) {
      return rectangle_on_gpu && gpu_computes(ctx, f, mesh.logical().unknowns().nodes());
    };
    const bool cellwise_reaction = settings.problems[0].reaction_of_cells.is_given();
    solutions = uses.nodal() || (uses.summary && (!rectangle_on_gpu || cellwise_reaction));
    for (const auto& problem : settings.problems) {
      loads = loads || !computed(rhs_function(problem));
      solutions = solutions || (uses.errors && problem.has_exact() && !computed(exact_function(problem)));
    }
  }
};

/// What the peak of the machine's own memory will be: while the load is assembled beside the solver, or once that is gone,
/// while nodal values are compared or written to a file. Throws when there is less of it or of the GPU's, before anything is
/// allocated. Of this rank; those on its host take their memory alike.
std::int64_t expected_memory(const Context& ctx, const Settings& settings, const Geometry& geometry, const Uses& uses,
                             const PoissonSolverParams& params) {
  const TensorMesh& mesh = geometry.logical();
  const NodeRows rows = node_rows(mesh, strip_of(ctx, mesh, params));
  const std::int64_t line = std::int64_t{mesh.x().size() + 1} * std::int64_t{sizeof(double)};
  const std::int64_t whole = line * (mesh.y().size() + 1), field = line * rows.count();
  const HostFields on_host(ctx, settings, geometry, uses);
  const auto systems = settings.problems.size();
  const GridShape strip = strip_of(ctx, mesh, params);
  const std::int64_t solver = required_memory(ctx, geometry, params, builtin_smoothers(), systems);
  const std::int64_t solving = (on_host.loads ? field : 0) + (ctx.on_gpu() ? 0 : solver);
  // Beside the arrays VTK's writer takes its code, first run here, and the compressor's blocks.
  constexpr std::int64_t writer = std::int64_t{7} << 20;
  std::int64_t fields = geometry.mapped() != nullptr ? 4 : 1;  // aspect ratios, points
  for (const auto& problem : settings.problems) fields += problem.has_exact() ? 4 : 2;
  const auto count = static_cast<std::int64_t>(systems);
  // Unknowns and nodes of one solution, beside those that are kept.
  const std::int64_t comparing = on_host.solutions
                                     ? (uses.nodal() ? count + 1 : 2) * field +
                                           (ctx.pieces() > 1 && uses.kept ? 2 * count * whole : 0) +
                                           (ctx.on_gpu() ? 0 : count * vector_bytes<double>(Backend::cpu, strip))
                                     : 0;
  const std::int64_t needed = std::max({solving, comparing, uses.vtk ? writer + fields * field : 0});
  expect_room_on_ranks(ctx, settings.machine, named(mesh), needed, solver,
                       uses.vtk ? "; --vtk none may take less" : "");
  return peak_memory() + needed;
}

/// What became of each direction.
std::string coarsening(const std::vector<TensorMesh>& hierarchy) {
  const auto direction = [&](const char* name, const auto& line) {
    const int fine = line(hierarchy.back()).size(), coarse = line(hierarchy.front()).size();
    return message(name, " ", fine, fine == coarse ? "" : message(" to ", coarse), " cell", coarse == 1 ? "" : "s");
  };
  return message(direction("x", [](const TensorMesh& m) -> const Line& { return m.x(); }), ", ",
                 direction("y", [](const TensorMesh& m) -> const Line& { return m.y(); }));
}

/// What the solution is like.
struct Summary {
  SolutionRange range;
  BoundaryFluxes fluxes;
  double load = 0;            // integral of f
  double change_of_flux = 0;  // beside the largest step
};

/// One right-hand side.
struct System {
  std::string rhs;  // as given, where there are several
  SolveReport report;
  std::optional<RelativeErrors> errors;
  std::optional<Summary> summary;  // of one that is finite
};

struct Outcome {
  int level = 0;
  std::vector<TensorMesh> hierarchy;  // coarsest first
  std::string coarse_solver;
  PoissonSolverParams params;  // with what was left open filled in
  std::string choice;          // of method or cycle
  std::string deflation;
  std::vector<LevelReport> smoothers;
  std::int64_t expected_memory = 0;
  double largest_aspect_ratio = 1, smallest_width = 0;
  std::vector<System> systems{};  // one for each right-hand side
  std::size_t worst = 0;
  SolveReport report{};                         // of the system that went worst, the first of those
  std::vector<RankNumbers> ranks{};             // where there are several
  std::vector<int> overlaps{};                  // of several, by levels that are cut, the finest first: rows, 0 exactly
  std::optional<LevelDifference> difference{};  // to the level before, in a table without an exact solution
  std::optional<double> order{};                // that two differences show

  [[nodiscard]] const TensorMesh& mesh() const { return hierarchy.back(); }
  [[nodiscard]] std::int64_t unknowns() const { return mesh().unknowns().nodes(); }
  [[nodiscard]] std::string_view coarse_solver_name() const {
    const auto coarsest = hierarchy.front().unknowns().nodes();
    return coarsest == 1 ? "one unknown" : std::string_view(coarse_solver);
  }
  [[nodiscard]] std::string method_name() const {
    return std::string(to_string(params.method.value_or(Method::multigrid)));
  }
  /// The finest level is solved directly.
  [[nodiscard]] bool is_direct() const { return smoothers.back().smoother.empty() && !smoothers.back().reason.empty(); }
  [[nodiscard]] std::string cycle_name(const CommandLine& options) const {
    if (is_direct()) return "none";
    if (options.has("cycle")) return options.text("cycle");
    return std::string(to_string(params.multigrid.cycle.value_or(Cycle::v)));
  }
  /// A direct solution for mixed precision is in double.
  [[nodiscard]] std::string precision_name(const CommandLine& options) const {
    return params.precision == Precision::full ? "double" : options.text("precision");
  }
  [[nodiscard]] const std::optional<RelativeErrors>& errors() const { return systems[worst].errors; }
  /// Richardson's estimate of the error, with the order of bilinear elements where none is known; none where differences do not
  /// fall.
  [[nodiscard]] std::optional<double> estimated_error() const {
    constexpr double expected_order = 2, least = 0.1;
    const double p = order.value_or(expected_order);
    if (!difference || p < least) return std::nullopt;
    return difference->l2 / (std::exp2(p) - 1);
  }
  [[nodiscard]] double unknowns_per_second() const { return static_cast<double>(unknowns()) / report.solve_seconds; }
  [[nodiscard]] double reduction() const { return report.residual / report.initial_residual; }
  [[nodiscard]] double seconds_per_unknown_per_digit() const {
    return report.solve_seconds / (static_cast<double>(unknowns()) * report.digits());
  }
};

/// Fields of the only right-hand side by their names, of several ones numbered from 1 on. Solutions on these rows of nodes.
void write_vtk(Context& ctx, const Settings& settings, const ProblemMesh& mesh, const NodeRows& rows,
               const std::vector<std::vector<double>>& solutions, const std::string& path) {
  std::deque<std::pair<std::string, std::vector<double>>> nodal;
  std::vector<VtkField> fields;
  for (std::size_t k = 0; k < solutions.size(); ++k) {
    const auto& problem = settings.problems[k];
    const std::string number = solutions.size() == 1 ? "" : message("_", k + 1);
    const auto& solution = solutions[k];
    const auto add = [&](const char* name, std::vector<double> values) -> auto& {
      auto& added = nodal.emplace_back(name + number, std::move(values));
      fields.push_back({added.first, added.second});
      return added.second;
    };
    fields.push_back({"solution" + number, solution});
    (void)add("rhs", at_nodes(ctx, mesh, rhs_function(problem), rows));
    if (!problem.has_exact()) continue;
    const auto& exact = add("exact", at_nodes(ctx, mesh, exact_function(problem), rows));
    auto& error = add("error", std::vector<double>(exact.size()));
    std::transform(solution.begin(), solution.end(), exact.begin(), error.begin(), std::minus<>());
  }
  const auto aspect_ratios =
      mesh.mapped() ? cell_aspect_ratios(*mesh.mapped(), rows) : cell_aspect_ratios(mesh.logical(), rows);
  const std::vector<VtkField> of_cells{{"aspect_ratio", aspect_ratios}};
  if (path.ends_with(".pvtr") || path.ends_with(".pvts")) {
    const auto alone = pieces(1);  // the first of several ranks may be
    auto& ranks = settings.machine.has_ranks() ? *settings.machine.ranks->communicator() : *alone.front();
    write_pieces(ranks, path, mesh, rows, fields, of_cells, settings.compression);
  } else if (mesh.mapped()) {
    write_vts(path, *mesh.mapped(), fields, of_cells, settings.compression);
  } else {
    write_vtr(path, mesh.logical(), fields, of_cells, settings.compression);
  }
}

/// Solutions alone, on all nodes.
void write_array(const ProblemMesh& mesh, const std::vector<std::vector<double>>& solutions, const std::string& path) {
  std::vector<std::size_t> shape{static_cast<std::size_t>(mesh.logical().y().size()) + 1,
                                 static_cast<std::size_t>(mesh.logical().x().size()) + 1};
  if (solutions.size() > 1) shape.insert(shape.begin(), solutions.size());
  write_npy(path, shape, {solutions.begin(), solutions.end()});
}

/// What smooths on a level.
Json level_json(const LevelReport& level) {
  return {{"unknowns", {level.nx, level.ny}},
          {"smoother", level.smoother},
          {"sweeps", level.sweeps},
          {"reason", level.reason}};
}

/// Extremes and fluxes; members without numbers where the solution is not finite.
void add_summary(JsonObject& json, const std::optional<Summary>& summary) {
  const auto numbers = [&](const std::string& name, const std::vector<double>& values) {
    if (summary)
      json.add(name, values);
    else
      json.add(name, nullptr);
  };
  const auto [range, fluxes, load, unused] = summary.value_or(Summary{});
  const double unknown = std::nan("");
  json.add("minimum", summary ? range.smallest.value : unknown).add("maximum", summary ? range.largest.value : unknown);
  numbers("minimum_at", {range.smallest.x, range.smallest.y});
  numbers("maximum_at", {range.largest.x, range.largest.y});
  numbers("boundary_range", {range.smallest_on_boundary, range.largest_on_boundary});
  json.add("largest_step", summary ? range.largest_step() : unknown);
  numbers("largest_step_at", {range.step_from.x, range.step_from.y, range.step_to.x, range.step_to.y});
  numbers("fluxes", {fluxes.left, fluxes.right, fluxes.bottom, fluxes.top});
  json.add("flux_rounding", summary ? fluxes.rounding : unknown);
  json.add("reaction_integral", summary ? fluxes.reaction : unknown).add("load_integral", summary ? load : unknown);
}

void add_errors(JsonObject& json, const std::optional<RelativeErrors>& errors) {
  const double unknown = std::nan("");
  json.add("relative_l2_error", errors ? errors->l2 : unknown);
  json.add("relative_largest_error", errors ? errors->largest : unknown);
  json.add("relative_energy_error", errors ? errors->energy : unknown);
}

/// A row of the table.
Json level_row_json(const Outcome& outcome) {
  const double unknown = std::nan("");
  JsonObject json;
  json.add("level", outcome.level).add("unknowns", outcome.unknowns());
  json.add("status", to_string(outcome.report.status)).add("iterations", outcome.report.iterations);
  add_errors(json, outcome.errors());
  json.add("relative_l2_difference", outcome.difference ? outcome.difference->l2 : unknown);
  json.add("relative_largest_difference", outcome.difference ? outcome.difference->largest : unknown);
  json.add("order", outcome.order.value_or(unknown));
  json.add("estimated_l2_error", outcome.estimated_error().value_or(unknown));
  return json.value();
}

/// One of several right-hand sides.
Json system_json(const Settings& settings, const System& system) {
  const auto& report = system.report;
  JsonObject json;
  json.add("rhs", system.rhs);
  add_end(json, report, settings.exit_code(report));
  add_errors(json, system.errors);
  json.add("solve_seconds", report.solve_seconds);
  add_summary(json, system.summary);
  json.add("history", report.history);
  return json.value();
}

std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx,
                        const std::vector<Outcome>& outcomes, const OutputFiles& outputs) {
  const auto& outcome = outcomes.back();
  const auto& report = outcome.report;
  const double unknown = std::nan("");
  JsonObject json;
  json.add("program", "poisson2d").add("version", STRATUM_VERSION);
  add_end(json, report, settings.exit_code(report));
  json.add("residual_reduction", outcome.reduction());
  json.add("rtol", settings.solver.stop.rtol).add("atol", settings.solver.stop.atol);
  add_errors(json, outcome.errors());
  add_summary(json, outcome.systems[outcome.worst].summary);
  const auto& family = settings.mesh.family;
  const auto& hierarchy = outcome.hierarchy;
  const auto cells = [](const TensorMesh& mesh) { return Json{mesh.x().size(), mesh.y().size()}; };
  json.add("mesh", family.name).add("level", outcome.level).add("levels", hierarchy.size());
  json.add("domain", std::vector{family.a, family.b});
  json.add("origin", std::vector{settings.mesh.x0, settings.mesh.y0});
  json.add("nu", settings.mesh.base ? unknown : family.nu);
  if (settings.mesh.base) json.add("grade_x", settings.mesh.grade_x).add("grade_y", settings.mesh.grade_y);
  for (const char* name : {"map", "mesh-file"})
    if (options.has(name)) json.add(name[3] == 'h' ? "mesh_file" : name, options.text(name));
  json.add("largest_aspect_ratio", outcome.largest_aspect_ratio);
  json.add("smallest_width", outcome.smallest_width);
  for (const char* side : boundary_names) json.add(side, options.has(side) ? options.text(side) : "dirichlet");
  if (options.has("kappa")) json.add("kappa", options.text("kappa"));
  if (settings.problems[0].reaction_of_cells.is_given())
    json.add("reaction", options.text("reaction"));
  else
    json.add("reaction", settings.problems[0].reaction);
  json.add("cells", cells(outcome.mesh())).add("unknowns", outcome.unknowns());
  json.add("hierarchy", json_array(hierarchy, cells));
  json.add("coarsening", coarsening(hierarchy)).add("coarse_solver", outcome.coarse_solver_name());
  json.add("solver", outcome.method_name()).add("cycle", outcome.cycle_name(options)).add("choice", outcome.choice);
  json.add("smoother", options.text("smoother")).add("smoothers", json_array(outcome.smoothers, level_json));
  json.add("deflate", options.text("deflate"))
      .add("deflation", outcome.deflation)
      .add("line_order", options.text("line-order"));
  json.add("sweeps", outcome.smoothers.back().sweeps);
  json.add("damping", settings.solver.multigrid.smoother_params.damping.value_or(unknown));
  json.add("precision", outcome.precision_name(options)).add("inner", options.text("inner"));
  json.add("operator", to_string(outcome.params.format));
  if (settings.interpolates_by_choice())
    json.add("interpolation", to_string(outcome.params.interpolation.value_or(InterpolationKind::conductance)));
  json.add("reproducible", outcome.params.multigrid.reproducible);
  add_machine(json, ctx);
  json.add("setup_seconds", report.setup_seconds).add("solve_seconds", report.solve_seconds);
  json.add("write_seconds", outputs.seconds("vtk"));
  json.add("unknowns_per_second", outcome.unknowns_per_second());
  json.add("seconds_per_unknown_per_digit", outcome.seconds_per_unknown_per_digit());
  json.add("expected_memory_bytes", outcome.expected_memory);
  json.add("peak_memory_bytes", peak_memory());
  json.add("history", report.history);
  add_ranks(json, ctx, outcome.ranks, outcome.overlaps);
  add_alone(json, settings.machine);
  if (outcome.systems.size() > 1)
    json.add("right_hand_sides",
             json_array(outcome.systems, [&](const System& system) { return system_json(settings, system); }));
  if (settings.table) json.add("convergence_table", json_array(outcomes, level_row_json));
  return json.text();
}

// --- solving and printing -----------------------------------------------------------------------------------------------

void progress(const Settings& settings, const char* what) {
  if (!settings.quiet) apps::progress(what);
}

/// What smoother "auto" chose and why, levels with the same choice together, the finest first.
void print_choices(const Outcome& outcome) {
  const auto& levels = outcome.smoothers;
  const auto& damping = outcome.params.multigrid.smoother_params.damping;
  const char* title = "smoother";
  if (outcome.is_direct())
    std::printf("%-9s none: %d x %d %s\n", title, levels.back().nx, levels.back().ny, levels.back().reason.c_str());
  for (auto finest = levels.rbegin(); finest != levels.rend() && !finest->smoother.empty();) {
    auto last = finest;  // the coarsest with the same choice; those that are solved have none
    while (last + 1 != levels.rend() && (last + 1)->smoother == finest->smoother &&
           (last + 1)->sweeps == finest->sweeps)
      ++last;
    const std::string range = last == finest ? "" : message(" to ", last->nx, " x ", last->ny);
    std::printf("%-9s %d x %d%s: %s, %d + %d steps, %s; %s\n", title, finest->nx, finest->ny, range.c_str(),
                finest->smoother.c_str(), finest->sweeps, finest->sweeps,
                damping ? message("damped by ", *damping).c_str() : "undamped", finest->reason.c_str());
    title = "";
    finest = last + 1;
  }
  if (!outcome.choice.empty() && !outcome.is_direct()) std::printf("%-9s %s\n", "cycle", outcome.choice.c_str());
}

void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const Outcome& outcome) {
  const auto& family = settings.mesh.family;
  const auto& mesh = outcome.mesh();
  const auto shape = mesh.unknowns();
  const std::string how = settings.mesh.base ? message("x ", settings.mesh.grade_x, ", y ", settings.mesh.grade_y)
                                             : message("nu ", family.nu);
  const double x0 = settings.mesh.x0, y0 = settings.mesh.y0;
  std::string where =
      message(family.name, " on [", x0, ", ", x0 + family.a, "] x [", y0, ", ", y0 + family.b, "], ", how);
  if (options.has("map")) where += ", mapped by " + settings.deformation.text;
  if (options.has("mesh-file")) where = "from " + settings.deformation.text;
  std::printf("mesh      %s: %d x %d cells, %d x %d unknowns, thinnest %.3g wide, aspect ratio up to %.3g\n",
              where.c_str(), mesh.x().size(), mesh.y().size(), shape.nx, shape.ny, outcome.smallest_width,
              outcome.largest_aspect_ratio);
  std::string boundaries;
  for (const char* side : boundary_names)
    if (options.has(side)) boundaries += message(boundaries.empty() ? "" : ", ", side, " ", options.text(side));
  for (const char* name : {"kappa", "reaction"})
    if (options.has(name)) boundaries += message(boundaries.empty() ? "" : ", ", name, " ", options.text(name));
  if (!boundaries.empty()) std::printf("problem   %s\n", boundaries.c_str());
  const auto levels = outcome.hierarchy.size();
  std::printf("levels    %zu, %s; ", levels, coarsening(outcome.hierarchy).c_str());
  const auto coarsest = outcome.hierarchy.front().unknowns().nodes();
  if (coarsest == 1)
    std::printf("one unknown there\n");
  else
    std::printf("%lld unknowns there, solved directly\n", static_cast<long long>(coarsest));
  const bool chosen = options.text("smoother") == "auto";
  const int sweeps = outcome.smoothers.back().sweeps;
  const std::string smoother =
      chosen ? "auto" : message(options.text("smoother"), ", ", sweeps, " + ", sweeps, " sweeps");
  const std::string cycle = outcome.is_direct() ? "no cycle" : outcome.cycle_name(options) + "-cycle";
  std::printf("solver    %s, %s, %s; %s precision, %s operator; %s\n", outcome.method_name().c_str(), cycle.c_str(),
              smoother.c_str(), outcome.precision_name(options).c_str(),
              std::string(to_string(outcome.params.format)).c_str(), ctx.description().c_str());
  print_ranks(ctx, outcome.ranks, outcome.overlaps);
  print_alone(settings.machine);
  if (chosen) print_choices(outcome);
  if (!outcome.deflation.empty()) std::printf("deflated  %s\n", outcome.deflation.c_str());
  std::printf("\n");
}

void print_summary(const Summary& summary) {
  const auto& [range, fluxes, load, unused] = summary;
  std::printf("solution    %.6g at (%.6g, %.6g) to %.6g at (%.6g, %.6g); %.6g to %.6g on the boundary\n",
              range.smallest.value, range.smallest.x, range.smallest.y, range.largest.value, range.largest.x,
              range.largest.y, range.smallest_on_boundary, range.largest_on_boundary);
  std::printf("flux        outward: left %.6g, right %.6g, bottom %.6g, top %.6g", fluxes.left, fluxes.right,
              fluxes.bottom, fluxes.top);
  constexpr double digits_shown = 1e-6, no_digits = 1e-2;
  const double largest = std::max({std::abs(fluxes.left), std::abs(fluxes.right), std::abs(fluxes.bottom),
                                   std::abs(fluxes.top), std::abs(fluxes.reaction)});
  if (fluxes.rounding > digits_shown * largest) std::printf("; known to %.0e: rounding in thin cells", fluxes.rounding);
  if (fluxes.rounding > no_digits * largest) return (void)std::printf("\n");
  std::printf("\nbalance     %.6g", fluxes.sum());
  if (fluxes.reaction != 0) std::printf(" with %.6g of the reaction", fluxes.reaction);
  std::printf(", integral of f %.6g; they differ by %.1e\n", load, std::abs(fluxes.sum() - load));
}

/// What leaves the domain and what is fed into it tell of equations that are not solved, whatever the residual's norm says.
void warn_of_balance(const Outcome& outcome) {
  constexpr double most = 1e-3;
  for (std::size_t k = 0; k < outcome.systems.size(); ++k) {
    const auto& summary = outcome.systems[k].summary;
    if (!summary) continue;
    const auto& fluxes = summary->fluxes;
    const double load = summary->load;
    const double gap = std::abs(fluxes.sum() - load),
                 largest = std::max({std::abs(fluxes.left), std::abs(fluxes.right), std::abs(fluxes.bottom),
                                     std::abs(fluxes.top), std::abs(fluxes.reaction), std::abs(load)});
    if (!(gap > std::max(most, outcome.params.stop.error_limit()) * largest) || !(gap > fluxes.rounding)) continue;
    warn(program_name,
         message(outcome.systems.size() == 1 ? "" : message("solution ", k + 1, ": "),
                 "the fluxes and the reaction add up to ", fluxes.sum(), ", and the integral of f is ", load,
                 ": some of the equations are not solved well; a smaller --rtol solves them better"));
  }
}

/// Where neighbouring nodes differ by a large part of the range, and the solution is not linear there.
void warn_of_layers(const Outcome& outcome) {
  constexpr double most = 0.2, linear = 0.1;
  for (std::size_t k = 0; k < outcome.systems.size(); ++k) {
    const auto& summary = outcome.systems[k].summary;
    if (!summary || summary->range.largest_step() <= most || summary->change_of_flux <= linear) continue;
    const auto& [from, to] = std::pair{summary->range.step_from, summary->range.step_to};
    warn(program_name,
         message(outcome.systems.size() == 1 ? "the solution" : message("solution ", k + 1), " changes by ",
                 std::lround(100 * summary->range.largest_step()), " % of its range between the neighbouring nodes (",
                 from.x, ", ", from.y, ") and (", to.x, ", ", to.y, "): the mesh does not resolve it there"));
  }
}

void print_outcome(const Settings& settings, const Outcome& outcome) {
  const auto& report = outcome.report;
  print_end(report, settings.solver.precision == Precision::mixed);
  if (const auto& errors = outcome.errors())
    std::printf("error       %.7e (L2, relative to the exact solution), largest %.2e, energy %.2e\n", errors->l2,
                errors->largest, errors->energy);
  else
    std::printf("error       not known (--exact gives the exact solution)\n");
  if (const auto& summary = outcome.systems.front().summary) print_summary(*summary);
  std::printf("time        %.3g s set-up, %.3g s solve", report.setup_seconds, report.solve_seconds);
  if (report.iterations > 0) std::printf(": %.3g million unknowns per second", outcome.unknowns_per_second() / 1e6);
  std::printf("\n");
}

void print_table_row(const Outcome& outcome, const Outcome* coarser) {
  const auto& report = outcome.report;
  if (coarser == nullptr)
    std::printf(outcome.errors()
                    ? "level   unknowns   iterations   residual    relative error   reduction    largest     "
                      "energy    seconds\n"
                    : "level   unknowns   iterations   residual    difference   order   estimated error    "
                      "largest difference    seconds\n");
  std::printf("%5d %10lld   %10d   %8.1e   ", outcome.level, static_cast<long long>(outcome.unknowns()),
              report.iterations, report.relative_residual());
  const auto number = [](const char* format, int width, const std::optional<double>& value) {
    if (value)
      std::printf(format, *value);
    else
      std::printf("%*s", width, "");
  };
  if (const auto& errors = outcome.errors()) {
    std::printf("  %12.7e   ", errors->l2);
    number("%9.3f", 9, coarser != nullptr ? std::optional(coarser->errors()->l2 / errors->l2) : std::nullopt);
    std::printf("   %8.2e   %8.2e", errors->largest, errors->energy);
  } else {
    const auto& difference = outcome.difference;
    number(" %10.4e", 11, difference ? std::optional(difference->l2) : std::nullopt);
    number("   %5.2f", 8, outcome.order);
    number("   %15.4e", 18, outcome.estimated_error());
    number("   %19.4e", 22, difference ? std::optional(difference->largest) : std::nullopt);
  }
  std::printf("   %8.3g%s%s\n", report.solve_seconds, report.status == Status::converged ? "" : "  ",
              report.status == Status::converged ? "" : std::string(to_string(report.status)).c_str());
  (void)std::fflush(stdout);
}

/// Several right-hand sides: a line each.
void print_systems(const Outcome& outcome) {
  std::printf("  rhs   iterations   relative residual   relative error    seconds   status\n");
  for (std::size_t k = 0; k < outcome.systems.size(); ++k) {
    const auto& [rhs, report, errors, summary] = outcome.systems[k];
    std::printf("%5zu   %10d   %17.3e   ", k + 1, report.iterations, report.relative_residual());
    std::printf(errors ? "%14.7e" : "     not known", errors ? errors->l2 : 0);
    std::printf("   %8.3g   %s: %s\n", report.solve_seconds, std::string(to_string(report.status)).c_str(),
                report.reason.c_str());
  }
}

/// One with a line for every iteration, several as a batch.
std::vector<SolveReport> solve_all(Context& ctx, const Settings& settings, PoissonSolver& solver,
                                   const std::vector<Vector<double>>& bs, std::vector<Vector<double>>& xs) {
  const auto& stop = solver.params().stop;
  const bool talk = !settings.quiet && !settings.table;
  if (bs.size() == 1) {
    if (settings.quiet) return {solver.solve(ctx, bs[0].cview(), xs[0].view())};
    const double norm = norm2(ctx, bs[0].cview());
    Progress progress(true);
    std::vector<SolveReport> reports{solver.solve(
        ctx, bs[0].cview(), xs[0].view(),
        with_progress(progress, stop, norm, talk ? residual_table(stop.reference_norm, norm) : Monitor{}))};
    progress.clear();
    return reports;
  }
  std::vector<GridView<const double>> b;
  std::vector<GridView<double>> x;
  for (std::size_t k = 0; k < bs.size(); ++k) {
    b.push_back(bs[k].cview());
    x.push_back(xs[k].view());
  }
  return solver.solve(ctx, b, x);
}

std::vector<SolveReport> reports_of(const Outcome& outcome) {
  std::vector<SolveReport> reports;
  for (const auto& system : outcome.systems) reports.push_back(system.report);
  return reports;
}

/// Of one level.
struct Solved {
  Outcome outcome;
  ProblemMesh mesh;
  NodeRows rows;                             // of this rank
  std::vector<std::vector<double>> nodal{};  // of every right-hand side, where a file is made of it
  bool whole = true;                         // on all nodes, not on those rows alone
};

/// What the ranks tell each other of a solve.
std::vector<RankNumbers> rank_numbers(const Context& ctx, const Settings& settings, const Outcome& outcome) {
  return rank_numbers(ctx, settings.machine, PartitionLevels(ctx, outcome.hierarchy, outcome.params.multigrid.strips()),
                      outcome.report.setup_seconds, outcome.report.solve_seconds, outcome.expected_memory);
}

/// What the solver is given as a start has, for one right-hand side, no residual but rounding: nothing is left to measure by.
bool starts_at_solution(Context& ctx, const GridOperator<double>& a, const std::vector<Vector<double>>& bs,
                        const std::vector<Vector<double>>& xs) {
  constexpr double rounding = 1e-14;
  for (std::size_t k = 0; k < bs.size(); ++k)
    if (a.backward_error(ctx, bs[k].cview(), xs[k].cview()) <= rounding) return true;
  return false;
}

/// As solved: f is less by what makes it compatible.
PoissonProblem solved_problem(const PoissonProblem& problem, double mean) {
  if (mean == 0) return problem;
  PoissonProblem less = problem;
  less.rhs = [f = rhs_function(problem), mean](const Point& p) { return f(p) - mean; };
  return less;
}

/// A level's solver, before it has run.
struct Prepared {
  ProblemMesh mesh;
  PoissonSolverParams params;
  std::int64_t expected_memory;
  std::unique_ptr<PoissonSolver> solver;
};

Prepared prepare(Context& ctx, const Settings& settings, int level, const Uses& uses) {
  ProblemMesh mesh = settings.mesh_at(ctx, level);
  PoissonSolverParams params = params_on(ctx, settings, mesh);
  const auto expected = expected_memory(ctx, settings, mesh, uses, params);
  progress(settings, "setting up ...");
  auto solver = std::make_unique<PoissonSolver>(ctx, mesh, params);
  progress(settings, "");
  return {std::move(mesh), std::move(params), expected, std::move(solver)};
}

Solved solve(Context& ctx, const Settings& settings, const CommandLine& options, int level, const Uses& uses,
             Prepared prepared) {
  const bool talk = !settings.quiet && !settings.table;
  auto& [mesh, params, expected, solver] = prepared;
  const auto cells = params.coefficients;
  const bool singular = is_singular(ctx, mesh, settings.problems[0], cells.get());
  if (const auto corner = largest_corner_gap(mesh, settings.problems[0]); talk && corner.gap > 0)
    warn(program_name, message("two sides differ by ", corner.gap, " at their corner (", corner.x, ", ", corner.y,
                               "); it has the value of the left or right one"));
  progress(settings, "setting up ...");
  solver->warm_up(ctx);
  const GridShape strip = strip_of(ctx, mesh.logical(), params);
  std::vector<Vector<double>> bs, xs;
  std::vector<double> means(settings.problems.size(), 0.0), loads(means);
  progress(settings, "assembling the right-hand side ...");
  for (std::size_t k = 0; k < settings.problems.size(); ++k) {
    const auto& problem = settings.problems[k];
    bs.emplace_back(ctx, strip);
    xs.emplace_back(ctx, strip);
    assemble_load(ctx, mesh, problem, bs.back().view(), cells.get());
    if (uses.summary) loads[k] = load_integral(ctx, mesh, problem, bs.back().cview(), cells.get());
    if (has_boundary_values(problem)) lift_boundary(ctx, mesh, problem, xs.back().view());
    if (!singular) continue;
    const auto found = make_compatible(ctx, mesh, bs.back().view());
    means[k] = found.mean;
    loads[k] -= found.sum;
    expects(found.holds() || settings.project,
            "no side and no reaction holds u, so that f and the fluxes must balance; their sum is ", found.sum, ", ",
            100 * std::abs(found.sum) / found.sum_of_magnitudes,
            " % of the sum of their magnitudes; --project subtracts a constant from f");
  }
  if (settings.reference_norm_follows_values && starts_at_solution(ctx, solver->fine_operator(), bs, xs)) {
    params.stop.reference_norm = ReferenceNorm::rhs;
    solver->set_stop(params.stop);
  }
  progress(settings, "");
  Outcome outcome{level,
                  solver->meshes(),
                  solver->coarse_solver(),
                  solver->params(),
                  solver->choice(),
                  solver->deflation(),
                  solver->level_reports(),
                  expected,
                  mesh.largest_aspect_ratio(),
                  smallest_width(mesh)};
  outcome.ranks = rank_numbers(ctx, settings, outcome);
  if (!outcome.ranks.empty()) {
    const auto all = solver->overlaps();
    outcome.overlaps.assign(all.rbegin(), all.rbegin() + outcome.ranks.front().levels_cut);
  }
  if (talk) print_heading(settings, options, ctx, outcome);
  auto reports = solve_all(ctx, settings, *solver, bs, xs);
  if (singular)
    for (auto& x : xs) subtract_integral_mean(ctx, mesh, x.view());
  solver.reset();  // makes room for what follows
  bs.clear();
  const NodeRows rows = node_rows(mesh.logical(), strip);
  std::vector<std::vector<double>> kept;
  for (std::size_t k = 0; k < reports.size(); ++k) {
    const auto& problem = settings.problems[k];
    const auto u = xs[k].cview();
    System system{reports.size() > 1 ? options.texts("rhs")[k] : "", std::move(reports[k]), {}, {}};
    if (uses.summary && exit_code(system.report.status) != 3) {
      const PoissonProblem solved = solved_problem(problem, means[k]);
      system.summary = {solution_range(ctx, mesh, problem, u), boundary_fluxes(ctx, mesh, solved, u, cells.get()),
                        loads[k]};
      system.summary->change_of_flux = change_of_flux(mesh, system.summary->range, cells.get());
    }
    if (uses.errors) system.errors = relative_errors(ctx, mesh, problem, u, cells.get());
    if (uses.nodal()) kept.push_back(nodal_solution(ctx, mesh, problem, u));
    if (uses.kept) kept.back() = gathered(ctx, mesh.logical(), rows, std::move(kept.back()));
    outcome.systems.push_back(std::move(system));
  }
  const auto worst = std::max_element(outcome.systems.begin(), outcome.systems.end(), [](const auto& l, const auto& r) {
    return exit_code(l.report.status) < exit_code(r.report.status);
  });
  outcome.worst = static_cast<std::size_t>(worst - outcome.systems.begin());
  outcome.report = worst->report;
  outcome.ranks = rank_numbers(ctx, settings, outcome);
  if (talk && xs.size() == 1) print_outcome(settings, outcome);
  if (talk && xs.size() > 1) print_systems(outcome);
  if (talk) warn_of_balance(outcome);
  if (talk) warn_of_layers(outcome);
  return {std::move(outcome), std::move(mesh), rows, std::move(kept), uses.kept || ctx.pieces() == 1};
}

/// This rank's.
std::vector<std::vector<double>> rows_of(const Solved& solved) {
  const auto nodes = static_cast<std::ptrdiff_t>(solved.mesh.logical().x().size()) + 1;
  std::vector<std::vector<double>> parts;
  for (const auto& nodal : solved.nodal)
    parts.emplace_back(nodal.begin() + solved.rows.first * nodes, nodal.begin() + (solved.rows.last + 1) * nodes);
  return parts;
}

/// Files of the last level's solution, where there is one to show.
void write_solution(Context& ctx, const Settings& settings, const Solved& solved, OutputFiles& outputs) {
  const Outcome& outcome = solved.outcome;
  if (settings.exit_code(outcome.report) == 3) {
    for (const char* file : {"probe", "png", "vtk"}) {
      if (outputs.has(file) && !settings.quiet && !settings.table)
        std::printf("not written %s: %s no solution to show\n", outputs.path(file).c_str(),
                    settings.problems.size() == 1 ? "there is"
                                                  : message("right-hand side ", outcome.worst + 1, " has").c_str());
      outputs.remove(file);
    }
    return;
  }
  if (settings.probe) outputs.write_text("probe", csv_profile(*settings.probe, solved.mesh, solved.nodal));
  if (outputs.has("png")) {
    progress(settings, "drawing ...");
    const auto& logical = solved.mesh.logical();
    const std::string title = message("solution", logical.name() == "custom" ? "" : " on " + logical.name(), ", ",
                                      logical.x().size(), " x ", logical.y().size(), " cells");
    outputs.write("png", [&](const std::string& path) { write_png(path, solved.mesh, solved.nodal.front(), title); });
    progress(settings, "");
  }
  if (!outputs.has("vtk")) return;
  progress(settings, "writing the file for ParaView ...");
  try {
    outputs.write("vtk", [&](const std::string& path) {
      if (is_array(outputs))
        write_array(solved.mesh, solved.nodal, path);
      else
        write_vtk(ctx, settings, solved.mesh, solved.rows, solved.whole ? rows_of(solved) : solved.nodal, path);
    });
  } catch (const FileError& error) {
    progress(settings, "");
    if (settings.vtk_asked_for) throw;
    return give_up_vtk(settings, outputs, error.what());
  }
  progress(settings, "");
}

/// With the level before.
void compare(Outcome& outcome, std::span<const double> nodal, const Solved& coarser) {
  const auto finite = [](const Outcome& o) { return exit_code(o.report.status) != 3; };
  if (!finite(outcome) || !finite(coarser.outcome)) return;
  outcome.difference = level_difference(coarser.mesh, coarser.nodal[0], nodal);
  const auto& before = coarser.outcome.difference;
  if (before && before->l2 > 0 && outcome.difference->l2 > 0)
    outcome.order = std::log2(before->l2 / outcome.difference->l2);
}

/// Why one rank is faster than several, by the largest mesh; nothing where that is not so. The same on all ranks. What it has to set
/// up to find out is left in `prepared` where it is of use.
std::string why_alone(Context& ctx, const Settings& settings, const Uses& uses, std::optional<Prepared>& prepared) {
  const Machine& machine = settings.machine;
  if (!machine.has_ranks()) return "";
  const std::int64_t unknowns = settings.mesh_at(ctx, settings.last_level).logical().unknowns().nodes();
  if (auto why = machine.too_few(unknowns, PartitionLevels::least_for_several_gpus); !why.empty()) return why;
  if (!machine.may_take_one_gpu() || settings.solver.multigrid.distributed_smoothing != DistributedSmoothing::automatic)
    return "";
  prepared = prepare(ctx, settings, settings.last_level, uses);
  std::string why = why_one_gpu(ctx, *prepared->solver, prepared->mesh);
  if (!why.empty() || settings.first_level < settings.last_level) prepared.reset();
  return why;
}

int run(Settings settings, const CommandLine& options, OutputFiles outputs) {
  settings.machine.warn_of_binding(program_name);
  Context ctx = settings.machine.context();
  if (settings.machine.ranks->rank() == 0) check_outputs(settings, outputs);
  share_outputs(settings, outputs);
  // Nothing shall be solved in vain: of a table the largest mesh comes first, and what is to be read off a deformed one.
  const bool shown = !settings.quiet || outputs.has("report"), array = is_array(outputs);
  const Uses of_last{.summary = shown,
                     .errors = shown,
                     .vtk = outputs.has("vtk") && !array,
                     .kept = array || outputs.has("probe") || outputs.has("png")};
  if (settings.machine.ranks->rank() > 0) outputs.remove_all_but(array ? "" : "vtk");
  std::optional<Prepared> prepared;
  if (const auto why = why_alone(ctx, settings, of_last, prepared); !why.empty())
    if (const auto code = settings.machine.go_on_alone(ctx, why)) return *code;
  const bool deformed_probe = settings.probe && settings.deformation.is_given();
  if (settings.first_level < settings.last_level || deformed_probe) {
    const ProblemMesh finest = settings.mesh_at(ctx, settings.last_level);
    (void)expected_memory(ctx, settings, finest, of_last, params_on(ctx, settings, finest));
    if (deformed_probe) (void)located(*settings.probe, finest);
  }

  std::vector<Outcome> outcomes;
  std::optional<Solved> last;
  const bool differences = settings.table && !settings.problems[0].has_exact();
  int code = 0;
  for (int level = settings.first_level; level <= settings.last_level; ++level) {
    Uses uses = level == settings.last_level ? of_last : Uses{.errors = shown};
    uses.kept = uses.kept || differences;
    const std::optional<Solved> coarser = differences ? std::exchange(last, std::nullopt) : std::nullopt;
    last.reset();
    if (!prepared) prepared = prepare(ctx, settings, level, uses);
    last.emplace(solve(ctx, settings, options, level, uses, *std::exchange(prepared, std::nullopt)));
    if (coarser) compare(last->outcome, last->nodal[0], *coarser);
    outcomes.push_back(last->outcome);
    const auto& report = outcomes.back().report;
    code = std::max(code, settings.exit_code(report));
    if (settings.quiet && settings.exit_code(report) != 0) print_failure(program_name, report);
    if (settings.table && !settings.quiet)
      print_table_row(outcomes.back(), outcomes.size() > 1 ? &outcomes[outcomes.size() - 2] : nullptr);
  }
  const auto write_report = [&] {
    outputs.write_text("report", json_report(settings, options, ctx, outcomes, outputs));
  };
  // First what is small: a full disk shall not lose it.
  if (outputs.path("report") != "-") write_report();
  outputs.write_text("history", csv_history(reports_of(outcomes.back())));
  write_solution(ctx, settings, *last, outputs);
  // Once more, with the memory that writing took.
  if (outputs.path("report") == "-" || outputs.has("vtk")) write_report();
  if (!settings.quiet) outputs.print_written();
  return settings.machine.ended(code);
}

}  // namespace

int main(int argc, char** argv) {
  Ranks ranks;
  Program program{
      program_name,
      before_options,
      message(about_expressions, about_gradings, about_coefficient_files, examples, about_outputs, about_exit_codes),
      make_command_line(),
      {{"list-meshes", list_meshes}, {"list-smoothers", list_smoothers}},
      [&ranks](const CommandLine& options) -> std::function<int()> {
        Settings settings = parse_settings(options);
        settings.machine.ranks = &ranks;
        check_reproducible(settings);
        OutputFiles outputs = parse_outputs(options, settings);
        return [settings = std::move(settings), outputs = std::move(outputs), &options] {
          return run(settings, options, outputs);
        };
      }};
  return run_program(program, argc, argv, &ranks);
}
