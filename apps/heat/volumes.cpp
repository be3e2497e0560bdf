#include "volumes.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/picture.hpp>
#include <stratum/assembly/unresolved_data.hpp>
#include <stratum/multigrid/film_warning.hpp>
#include <stratum/multigrid/heat_solver_volumes.hpp>

#include "output.hpp"
#include "report.hpp"
#include "steps.hpp"
#include "support/probe.hpp"
#include "support/program.hpp"
#include "support/rank_output.hpp"

namespace stratum::apps::heat {

namespace {

/// A run by finite volumes, for run_steps. Values are those at the points of the volumes: centres and faces of boundaries.
class VolumeCase {
 public:
  using Settings = heat::Settings;
  using Solver = VolumeHeatSolver;
  static constexpr const char* program_name = heat::program_name;

  VolumeCase(Context& ctx, const Settings& settings, const CommandLine& options)
      : settings_(settings), options_(options), mesh_(settings.mesh.at(settings.level)),
        volumes_(ctx, mesh_.logical(), at_time(settings.problem, settings.params.start)), points_(volumes_.points()) {
    if (settings.probe) probed_ = located(*settings.probe, points_);
  }

  [[nodiscard]] std::string why_alone(Context& /*ctx*/) const {
    return settings_.machine.too_few(volumes_.cells(), PartitionLevels::least_for_several_gpus);
  }
  [[nodiscard]] RestartOf restart_of(double start, const GivenData& given) const {
    const HeatParams& params = settings_.params;
    const TensorMesh<2>& cells = mesh_.logical();
    return {program_name,
            check_sum("finite volumes", check_sum_of_axes(volumes_.centres(), check_sum(mesh_))),
            {cells.x().size(), cells.y().size()},
            params.method,
            params.tol.has_value(),
            start,
            given};
  }
  [[nodiscard]] std::int64_t expected_memory(const Context& ctx, const OutputFiles& outputs) const {
    const std::int64_t whole = volumes_.cells() * std::int64_t{sizeof(double)};
    const std::int64_t solver = required_memory_of_volumes(ctx, mesh_.logical(), settings_.problem, settings_.params);
    // Of all cells on every rank: K, c and the capacity, once more where they change, and what is written.
    const bool speaks = settings_.machine.ranks->rank() == 0;
    const std::int64_t states = outputs.has("save") && speaks ? 6 * whole : 0;
    const std::int64_t needed = 8 * whole + std::max(states, 4 * whole) + (ctx.on_gpu() ? 0 : solver);
    expect_room_on_ranks(ctx, settings_.machine, named(mesh_.logical()), needed, solver);
    return peak_memory() + needed;
  }
  [[nodiscard]] VolumeHeatSolver solver(Context& ctx) const {
    return {ctx, mesh_.logical(), settings_.problem, settings_.params};
  }
  [[nodiscard]] std::vector<RankNumbers> ranks(const Context& ctx, const VolumeHeatSolver& solver,
                                               const Run& run) const {
    const StructuredSolver& of_stages = solver.solver();
    return rank_numbers(ctx, settings_.machine,
                        PartitionLevels(ctx, of_stages.meshes(), of_stages.params().multigrid.partition()),
                        run.setup_seconds, run.solve_seconds, run.expected_memory);
  }
  void warn_at_start(const Context& ctx, const VolumeHeatSolver& solver) const {
    warn_of_body(solver.time(), volumes_.largest_body_gap(at_time(settings_.problem, solver.time())),
                 "where they touch: what flows between them is not counted");
    warn(program_name, warning_of_films(solver.solver(), volumes_.round_off_of_films()));
    Context own = ctx;
    warn(program_name, warning_of_data(own, mesh_, settings_.problem, solver.time(), settings_.end,
                                       {.points = 0, .boundary_means = true}));
  }
  void heading(const Context& ctx, const VolumeHeatSolver& solver, const std::vector<RankNumbers>& ranks) const {
    print_heading(settings_, options_, ctx, on(solver), ranks);
  }
  [[nodiscard]] static std::vector<double> values(Context& ctx, const VolumeHeatSolver& solver) {
    return solver.point_values(ctx);
  }
  void add_profile(std::string& csv, double t, const std::vector<double>& u) const {
    apps::add_profile(csv, t, *settings_.probe, points_, probed_, u);
  }
  void write_picture(Context& ctx, const VolumeHeatSolver& solver, int number, VtkSeries& series) const {
    const int first = solver.unknowns().origin_y - volumes_.centres().unknowns().origin_y, rows = solver.unknowns().ny;
    const auto line = static_cast<std::ptrdiff_t>(mesh_.logical().x().size());
    const auto all = solver.cell_values(ctx);
    std::vector<double> u(all.begin() + first * line, all.begin() + (first + rows) * line), exact, error;
    std::vector<VtkField> fields{{"u", u}};
    const PoissonProblem now = at_time(settings_.problem, solver.time());
    if (now.exact) {
      exact = volumes_.at_centres(ctx, now.exact, first, rows);
      error.resize(u.size());
      std::transform(u.begin(), u.end(), exact.begin(), error.begin(), std::minus<>());
      fields.push_back({"exact", exact});
      fields.push_back({"error", error});
    }
    const NodeRows nodes{first, first + rows};
    const auto kappa = kappa_on_cells(ctx, settings_, mesh_, solver.time(), nodes);
    fields.push_back({"kappa", kappa});
    series.write(number, solver.time(), mesh_, {}, fields, nodes);
  }
  void write_png(const std::string& path, const std::vector<double>& u, const std::string& title) const {
    stratum::write_png(path, points_, u, title);
  }
  /// What flows at the end.
  [[nodiscard]] std::optional<FluxesAtEnd> fluxes_at_end(Context& ctx, const VolumeHeatSolver& solver) const {
    const auto balance = solver.balance(ctx);
    if (!balance) return std::nullopt;
    const BoundaryFluxes& f = balance->fluxes;
    FluxesAtEnd found{{{"left", f.left}, {"right", f.right}, {"bottom", f.bottom}, {"top", f.top}},
                      balance->gain,
                      balance->source,
                      balance->from_held,
                      f.reaction,
                      balance->left(),
                      "area",
                      {}};
    for (std::size_t n = 0; n < balance->bodies.size(); ++n) {
      const Body& body = settings_.problem.space.bodies[n];
      const BodyFlux& own = balance->bodies[n];
      found.bodies.push_back({body.name, body.kind, own.cells, own.area, own.flux, own.mean});
    }
    return found;
  }
  [[nodiscard]] std::string json_report(const Context& ctx, const VolumeHeatSolver& solver, const Run& run) const {
    return heat::json_report(settings_, options_, ctx, on(solver), run);
  }

 private:
  [[nodiscard]] RunOn on(const VolumeHeatSolver& solver) const {
    return {mesh_, volumes_.centres().unknowns(), solver.solver(), solver.time()};
  }

  const Settings& settings_;
  const CommandLine& options_;
  ProblemMesh mesh_;
  FiniteVolumes volumes_;  // at the start
  ProblemMesh points_;
  std::vector<MeshPoint> probed_;
};

}  // namespace

int run_volumes(Settings settings, const CommandLine& options, OutputFiles outputs) {
  return run_steps<VolumeCase>(std::move(settings), options, std::move(outputs));
}

}  // namespace stratum::apps::heat
