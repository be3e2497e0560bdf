#include "run.hpp"

#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/picture.hpp>
#include <stratum/multigrid/film_warning.hpp>

#include "output.hpp"
#include "report.hpp"
#include "steps.hpp"
#include "support/body_warnings.hpp"
#include "support/probe.hpp"
#include "support/rank_output.hpp"
#include "volumes.hpp"

namespace stratum::apps::heat {

namespace {

/// A run in two dimensions, for run_steps.
class PlaneCase {
 public:
  using Settings = heat::Settings;
  using Solver = HeatSolver;
  static constexpr const char* program_name = heat::program_name;

  PlaneCase(Context& ctx, const Settings& settings, const CommandLine& options)
      : settings_(settings), options_(options), mesh_(settings.mesh_at(ctx)) {
    if (settings.probe) probed_ = located(*settings.probe, mesh_);
  }

  [[nodiscard]] std::string why_alone(Context& ctx) const {
    const Machine& machine = settings_.machine;
    if (auto why = machine.too_few(mesh_.logical().unknowns().nodes(), PartitionLevels::least_for_several_gpus);
        !why.empty())
      return why;
    if (!machine.may_take_one_gpu()) return "";
    const HeatSolver solver(ctx, mesh_, settings_.problem, settings_.params);
    return why_one_gpu(ctx, solver.solver(), mesh_);
  }
  [[nodiscard]] RestartOf restart_of(double start, const GivenData& given) const {
    const HeatParams& params = settings_.params;
    const TensorMesh<2>& cells = mesh_.logical();
    return {program_name,  check_sum(mesh_),       {cells.x().size(), cells.y().size()},
            params.method, params.tol.has_value(), start,
            given};
  }
  [[nodiscard]] std::int64_t expected_memory(Context& ctx, const OutputFiles& outputs) const {
    return heat::expected_memory(ctx, settings_, mesh_, outputs);
  }
  [[nodiscard]] HeatSolver solver(Context& ctx) const { return {ctx, mesh_, settings_.problem, settings_.params}; }
  [[nodiscard]] std::vector<RankNumbers> ranks(const Context& ctx, const HeatSolver& solver, const Run& run) const {
    const StructuredSolver& of_stages = solver.solver();
    return rank_numbers(ctx, settings_.machine,
                        PartitionLevels(ctx, of_stages.meshes(), of_stages.params().multigrid.partition()),
                        run.setup_seconds, run.solve_seconds, run.expected_memory);
  }
  void warn_at_start(const Context& ctx, const HeatSolver& solver) const {
    Context own = ctx;
    warn_of_bodies(program_name, own, mesh_, at_time(settings_.problem, solver.time()),
                   message("at t = ", solver.time(), " "));
    warn(program_name, warning_of_films(solver.solver(), solver.round_off_of_films()));
    warn(program_name, warning_of_data(own, mesh_, settings_.problem, solver.time(), settings_.end));
  }
  void heading(const Context& ctx, const HeatSolver& solver, const std::vector<RankNumbers>& ranks) const {
    print_heading(settings_, options_, ctx, on(solver), ranks);
  }
  void warn_at_end(Context& ctx, const HeatSolver& solver) const {
    const PoissonProblem now = at_time(settings_.problem, solver.time());
    const auto cells = cell_coefficients(ctx, mesh_, now);
    warn_of_leaks(program_name, ctx, mesh_, now, {solver.solution(), solver.unknowns()}, cells ? &*cells : nullptr,
                  message("at t = ", solver.time(), " "));
  }
  [[nodiscard]] std::vector<double> values(Context& ctx, const HeatSolver& solver) const {
    return gathered(ctx, mesh_.logical(), rows_of(solver), solver.nodal_solution(ctx));
  }
  void add_profile(std::string& csv, double t, const std::vector<double>& u) const {
    apps::add_profile(csv, t, *settings_.probe, mesh_, probed_, u);
  }
  void write_picture(Context& ctx, const HeatSolver& solver, int number, VtkSeries& series) const {
    heat::write_picture(ctx, settings_, solver, number, series);
  }
  void write_png(const std::string& path, const std::vector<double>& u, const std::string& title) const {
    stratum::write_png(path, mesh_, u, title);
  }
  [[nodiscard]] std::string json_report(const Context& ctx, const HeatSolver& solver, const Run& run) const {
    return heat::json_report(settings_, options_, ctx, on(solver), run);
  }

 private:
  [[nodiscard]] static RunOn on(const HeatSolver& solver) {
    return {solver.geometry(), solver.mesh().unknowns(), solver.solver(), solver.time()};
  }

  const Settings& settings_;
  const CommandLine& options_;
  ProblemMesh mesh_;
  std::vector<MeshPoint> probed_;
};

}  // namespace

int run(Settings settings, const CommandLine& options, OutputFiles outputs) {
  if (settings.volumes) return run_volumes(std::move(settings), options, std::move(outputs));
  return run_steps<PlaneCase>(std::move(settings), options, std::move(outputs));
}

}  // namespace stratum::apps::heat
