#include "settings.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "support/body_options.hpp"
#include "support/patch_options.hpp"
#include "support/problem_options.hpp"
#include "support/solver_options.hpp"
#include "volumes.hpp"

namespace stratum::apps::poisson {

namespace {

std::vector<PoissonProblem> parse_problems(const CommandLine& options, const ProblemReader& read) {
  const auto rhs = options.texts("rhs"), exact = options.texts("exact");
  const BoundaryConditions boundaries = parse_boundaries(options, read);
  PoissonProblem plain;
  plain.boundaries = boundaries;
  parse_coefficients(options, read, plain);
  plain.bodies = parse_bodies(options, read);
  expects(plain.bodies.empty() || options.has("rhs"),
          "--body: give --rhs as well; the default right-hand side has a solution "
          "without bodies");
  expects(exact.empty() || options.has("rhs") || options.has("boundary") || !plain.has_exact(),
          "--exact: give --rhs as well; the default right-hand side has the solution xl xr yl yr");
  const std::size_t count = std::max<std::size_t>(1, rhs.size());
  expects(exact.empty() || exact.size() == count, "--exact: ", exact.size(), " given for ", count,
          " right-hand sides; give one for each --rhs, in the same order, or none");
  const auto function = [&](const std::string& name, const std::string& text) {
    return parsed("--" + name, [&] { return read.function(text); });
  };
  expect_one_boundary(options);
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
  auto cycles = texts_of(values_of<Cycle>);
  cycles.emplace_back("fmg");
  if (options.has("cycle")) {
    const std::size_t k = index_of_name("--cycle", options.text("cycle"), cycles);
    multigrid.cycle = params.full_multigrid ? Cycle::v : values_of<Cycle>[k];  // the cycles that follow
  }
  multigrid.distributed_smoothing =
      choice<DistributedSmoothing>("--distributed-smoothing", options.text("distributed-smoothing"));
  if (options.has("interpolation"))
    params.interpolation = choice<InterpolationKind>("--interpolation", options.text("interpolation"));
  params.precision = choice<Precision>("--precision", options.text("precision"));
  // A Krylov method is not asked for to be left out.
  const bool krylov = options.has("solver") && options.text("solver") != "multigrid";
  params.continue_after_full_multigrid =
      options.has("rtol") || options.has("atol") || krylov || params.precision == Precision::residual_replacement;
  params.inner = parse_inner(options);
  expects(!options.has("inner") || params.precision == Precision::mixed,
          "--inner: only mixed precision has inner cycles, not ", options.text("precision"));
  if (options.has("solver")) params.method = choice<Method>("--solver", options.text("solver"));
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
    params.stop.reference_norm = choice<ReferenceNorm>("--reference-norm", options.text("reference-norm"));
  params.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000);
  return params;
}

}  // namespace

Settings parse_settings(const CommandLine& options) {
  Settings settings;
  settings.mesh = parse_mesh<2>(options);
  settings.deformation = parse_deformation(options, settings.mesh);
  settings.first_level = settings.last_level = parse_level(options, settings.mesh);
  if (options.has("convergence-table")) {
    std::tie(settings.first_level, settings.last_level) = parse_table_levels<2>(options);
    settings.table = true;
  }
  settings.volumes =
      choice<bool>("--discretisation", options.text("discretisation"), {{"elements", false}, {"fv", true}});
  settings.solver = parse_solver(options);
  settings.tolerance_asked_for =
      options.has("rtol") || options.has("atol") || settings.solver.precision == Precision::single;
  settings.solver.stop.rounding_will_do = !settings.tolerance_asked_for;
  settings.problems = parse_problems(options, {settings.mesh, settings.first_level, settings.deformation.variables()});
  for (auto& problem : settings.problems)
    free_sides_without_area(options, settings.mesh, settings.deformation, problem.boundaries);
  if (settings.deformation.is_given()) {
    const char* const option = settings.deformation.option();
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
          "--operator: it cannot be combined with --kappa or with an expression for --reaction, for which the program "
          "chooses the storage format itself; leave it out");
  expects(!options.has("interpolation") || settings.interpolates_by_choice(),
          "--interpolation: it is for coefficients that vary, by --kappa or an expression for --reaction, and for "
          "deformed meshes");
  check_volumes(options, settings);
  settings.project = options.is_set("project");
  settings.reference_norm_follows_values = !options.has("reference-norm") && has_boundary_values(settings.problems[0]);
  if (settings.reference_norm_follows_values) settings.solver.stop.reference_norm = ReferenceNorm::initial;
  settings.solver.full_multigrid_from_x = has_boundary_values(settings.problems[0]);
  expects(!settings.table || settings.problems.size() == 1, "--convergence-table: one right-hand side, not ",
          settings.problems.size());
  constexpr int always_enough = 2;  // level: 4 x 4 cells
  if (!settings.volumes && (settings.mesh.base || settings.first_level < always_enough))
    (void)settings.logical_at(settings.first_level);  // too few cells for the boundaries are found here
  if (!settings.volumes && settings.mesh.base) (void)settings.logical_at(settings.last_level);  // and too many
  settings.probe = parse_probe(options, settings.mesh, settings.deformation);
  settings.compression = parse_compression(options);
  settings.machine = parse_machine(options);
  settings.quiet = options.is_set("quiet");
  return settings;
}

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

}  // namespace stratum::apps::poisson
