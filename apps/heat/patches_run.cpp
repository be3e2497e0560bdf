#include "patches_run.hpp"

#include <cmath>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/heat_problem.hpp>
#include <stratum/assembly/patches/patch_checks.hpp>
#include <stratum/assembly/picture.hpp>
#include <stratum/version.h>

#include "settings.hpp"
#include "steps.hpp"
#include "support/patch_report.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::heat {

namespace {

constexpr auto problem_names = {"initial", "rhs", "capacity", "kappa", "reaction"};

/// A run on patches, for run_steps.
class PatchCase {
 public:
  using Settings = PatchSettings;
  using Solver = PatchHeatSolver;
  static constexpr const char* program_name = heat::program_name;

  PatchCase(const Context& /*ctx*/, const PatchSettings& settings, const CommandLine& options)
      : settings_(settings), options_(options),
        on_(with_bodies(settings.file.mesh.halved(settings.level), settings.problem.space, settings.bodies.bodies,
                        settings.params.start, settings.bodies.masks)),
        mesh_(on_.mesh), problem_(settings.problem) {
    problem_.space = on_.problem;
    if (!settings.probe) return;
    locator_.emplace(mesh_);
    probed_ = located_by(*locator_, *settings.probe);
  }

  [[nodiscard]] std::string why_alone(const Context& /*ctx*/) const {
    return settings_.machine.too_few(mesh_.nodes(), PartitionLevels::least_for_several_gpus);
  }
  [[nodiscard]] RestartOf restart_of(double start, const GivenData& given) const {
    const PatchHeatParams& params = settings_.params;
    return {program_name,  check_sum(mesh_),       {static_cast<int>(mesh_.cells())},
            params.method, params.tol.has_value(), start,
            given};
  }
  [[nodiscard]] std::int64_t expected_memory(const Context& ctx, const OutputFiles& outputs) const {
    const PatchHeatMemory solver = required_memory(ctx, mesh_, problem_);
    // A state has three vectors, which the first rank makes one text of; a film and a picture have values of all.
    const bool speaks = settings_.machine.ranks->rank() == 0;
    const std::int64_t whole = mesh_.nodes() * std::int64_t{sizeof(double)};
    const std::int64_t files = !speaks               ? 0
                               : outputs.has("save") ? 6 * whole
                                                     : (outputs.has("vtk") || outputs.has("png") ? 4 * whole : 0);
    expect_room_on_ranks(ctx, settings_.machine,
                         message("a mesh of ", mesh_.nodes(), " nodes on ", mesh_.patches(), " patches"),
                         solver.host + files, solver.device);
    return peak_memory() + solver.host + files;
  }
  [[nodiscard]] PatchHeatSolver solver(Context& ctx) const { return {ctx, mesh_, problem_, settings_.params}; }
  [[nodiscard]] std::vector<RankNumbers> ranks(const Context& ctx, const PatchHeatSolver& solver, const Run& run) {
    RankNumbers numbers{
        .setup_seconds = run.setup_seconds, .solve_seconds = run.solve_seconds, .expected_memory = run.expected_memory};
    sizes_ = patch_sizes(ctx, mesh_, solver, numbers);
    return rank_numbers(ctx, settings_.machine, numbers);
  }

  void warn_at_start(const Context& ctx, const PatchHeatSolver& solver) const {
    const double t = solver.time();
    const PatchProblem now = at_time(problem_.space, t);
    Context own = ctx;
    const bool has_initial = problem_.initial || !problem_.initial_values.empty();
    for (const std::string& text : {warning_of_vertices(mesh_, now), warning_of_data(own, mesh_, now, has_initial)})
      if (!text.empty()) warn(program_name, message("at t = ", t, " ", text));
  }
  void heading(const Context& ctx, const PatchHeatSolver& solver, const std::vector<RankNumbers>& ranks) const {
    print_patch_mesh(settings_.path, settings_.file, on_, settings_.bodies.bodies, sizes_);
    std::printf("problem   %s\n", problem_on_patches(options_, mesh_, settings_.conditions, problem_names).c_str());
    print_times(settings_, solver.time());
    std::printf("levels    %s\n", levels_text(solver.levels()).c_str());
    std::printf("solver    conjugate gradients around a V-cycle; cycles in %s precision; %s\n",
                settings_.params.solver.float_cycles ? "single" : "double", ctx.description().c_str());
    print_ranks_of_patches(ctx, ranks);
    print_alone(settings_.machine);
    std::printf("\n");
  }
  /// On the first rank.
  [[nodiscard]] PatchValues values(Context& ctx, const PatchHeatSolver& solver) const {
    const int rank = ctx.subdomains() == 1 ? 0 : ctx.communicator()->rank();
    PatchValues nodal;
    for (int p = 0; p < mesh_.patches(); ++p)
      nodal.push_back(
          on_first_rank(ctx, solver.rank_of(p) == rank ? solver.nodal_solution(ctx, p) : std::vector<double>()));
    return nodal;
  }
  void add_profile(std::string& csv, double t, const PatchValues& nodal) const {
    std::ostringstream out;
    if (csv.empty()) out << "t,x,y,s,u\n";
    write_patch_points(out, *settings_.probe, *locator_, probed_, nodal, t);
    csv += out.str();
  }
  void write_picture(Context& ctx, const PatchHeatSolver& solver, int number, VtkSeries& series) const {
    const PatchValues nodal = values(ctx, solver);
    if (ctx.subdomains() > 1 && ctx.communicator()->rank() > 0) return;
    PatchProblem now = problem_.space;
    now.rhs = {};
    now.exact = at_time(now.exact, solver.time());
    series.write(number, solver.time(), mesh_,
                 [&](int p) { return patch_fields(mesh_, p, now, "u", nodal[static_cast<std::size_t>(p)]); });
  }
  void write_png(const std::string& path, const PatchValues& nodal, const std::string& title) const {
    stratum::write_png(path, mesh_, nodal, title);
  }

  void ended(Context& ctx, const PatchHeatSolver& solver, const Run& run) {
    if (exit_code(run.report.status) != 3) fluxes_ = solver.fluxes(ctx);
  }
  void print_ended() const {
    if (!fluxes_) return;
    print_patch_fluxes(mesh_, *fluxes_);
    std::printf("\nbalance     %.6g", fluxes_->sum());
    if (fluxes_->reaction != 0) std::printf(" with %.6g of the reaction", fluxes_->reaction);
    std::printf(" and %.6g of heat a unit of time, integral of f %.6g; they differ by %.1e\n", fluxes_->heat_rate,
                fluxes_->load, std::abs(fluxes_->sum() + fluxes_->heat_rate - fluxes_->load));
  }
  [[nodiscard]] std::string json_report(const Context& ctx, const PatchHeatSolver& solver, const Run& run) const {
    JsonObject json;
    json.add("program", program_name).add("version", STRATUM_VERSION);
    add_status(json, run);
    json.add("patch_file", settings_.path).add("level", settings_.level);
    add_patch_mesh(json, mesh_, solver.unknowns(), sizes_, settings_.conditions);
    add_patch_bodies(json, on_, settings_.bodies.bodies);
    for (const char* name : problem_names)
      if (options_.has(name)) json.add(name, options_.text(name));
    if (options_.has("exact")) json.add("exact", options_.text("exact"));
    json.add("mass", options_.text("mass"));
    add_steps(json, settings_, run);
    add_patch_fluxes(json, fluxes_ ? &*fluxes_ : nullptr);
    json.add("heat_rate", fluxes_ ? fluxes_->heat_rate : std::nan(""));
    add_patch_levels(json, solver.levels());
    json.add("solver", "cg").add("precision", options_.text("precision"));
    add_machine(json, ctx);
    add_ends(json, run);
    add_ranks_of_patches(json, ctx, run.ranks);
    add_alone(json, settings_.machine);
    return json.text();
  }

 private:
  const PatchSettings& settings_;
  const CommandLine& options_;
  PatchesWithBodies on_;
  PatchMesh mesh_;
  PatchHeatProblem problem_;
  PatchSizes sizes_{};
  std::optional<PatchLocator> locator_;
  std::vector<PatchPoint> probed_;
  std::optional<PatchHeatFluxes> fluxes_;  // at the end
};

}  // namespace

int run_patches(PatchSettings settings, const CommandLine& options, OutputFiles outputs) {
  return run_steps<PatchCase>(std::move(settings), options, std::move(outputs));
}

}  // namespace stratum::apps::heat
