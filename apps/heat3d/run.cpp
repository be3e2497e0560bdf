#include "run.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/box_bodies.hpp>
#include <stratum/assembly/box_values.hpp>
#include <stratum/version.h>

#include "heat/steps.hpp"
#include "poisson3d/bodies.hpp"
#include "poisson3d/problem.hpp"
#include "poisson3d/ranks.hpp"
#include "poisson3d/solve.hpp"
#include "support/body_warnings.hpp"
#include "support/problem_options.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::heat3d {

namespace {

/// A run in a box, for run_steps.
class BoxCase {
 public:
  using Settings = heat3d::Settings;
  using Solver = HeatSolver3D;
  static constexpr const char* program_name = heat3d::program_name;

  BoxCase(Context& /*ctx*/, const Settings& settings, const CommandLine& options)
      : settings_(settings), options_(options), mesh_(settings.mesh_at_level()) {}

  [[nodiscard]] std::string why_alone(const Context& /*ctx*/) const {
    return settings_.machine.too_few(poisson3d::unknowns_of(mesh_), PartitionLevels::least_for_several_gpus);
  }
  [[nodiscard]] RestartOf restart_of(double start, const GivenData& given) const {
    const HeatParams3D& params = settings_.params;
    return {program_name,
            check_sum_of_axes(mesh_, check_sum(std::string_view())),
            {mesh_.x().size(), mesh_.y().size(), mesh_.z().size()},
            params.method,
            params.tol.has_value(),
            start,
            given};
  }
  [[nodiscard]] std::int64_t expected_memory(const Context& ctx, const OutputFiles& outputs) const {
    const std::int64_t whole = static_cast<std::int64_t>(node_count(mesh_)) * std::int64_t{sizeof(double)};
    const int ranks = ctx.subdomains();
    const bool speaks = ranks == 1 || ctx.communicator()->rank() == 0;
    const std::int64_t solver = required_memory(ctx, mesh_, settings_.problem, settings_.params);
    // K stands on the host, too, and once more while the solver takes it; every rank has it all. A state has three vectors, of
    // which the first rank makes one text; pictures are made of each rank's own values.
    const Diffusion3D& k = settings_.problem.space.diffusion;
    const std::int64_t of_k = k.is_given() ? (k.yy || k.zz ? 9 : 3) * whole : 0;
    const std::int64_t of_bodies = settings_.problem.space.bodies.empty() ? 0 : 12 * whole;
    const bool gathers = outputs.has("save") || outputs.has("png") || settings_.probe;
    const std::int64_t own = (outputs.has("save") || outputs.has("vtk") ? 6 : 2) * whole / ranks,
                       files = ranks > 1 && speaks && gathers ? own + (outputs.has("save") ? 6 : 2) * whole : own;
    const std::int64_t needed = files + of_k + of_bodies + (ctx.on_gpu() ? 0 : solver);
    expect_room_on_ranks(ctx, settings_.machine,
                         message("mesh ", mesh_.name(), " with ", mesh_.x().unknowns(), " x ", mesh_.y().unknowns(),
                                 " x ", mesh_.z().unknowns(), " unknowns"),
                         needed, solver);
    return peak_memory() + needed;
  }
  [[nodiscard]] HeatSolver3D solver(Context& ctx) const { return {ctx, mesh_, settings_.problem, settings_.params}; }
  [[nodiscard]] std::vector<RankNumbers> ranks(const Context& ctx, const HeatSolver3D& solver,
                                               const heat::Run& run) const {
    return poisson3d::numbers_of_ranks(ctx, settings_.machine, solver.plan(), solver.unknowns(),
                                       {.setup_seconds = run.setup_seconds,
                                        .solve_seconds = run.solve_seconds,
                                        .expected_memory = run.expected_memory});
  }

  void warn_at_start(const Context& ctx, const HeatSolver3D& solver) const {
    const PoissonProblem3D now = at_time(settings_.problem, solver.time());
    const std::string when = message("at t = ", solver.time(), " ");
    if (const auto text = poisson3d::warning_of_edges(mesh_, now); !text.empty()) warn(program_name, when + text);
    warn_of_bodies(program_name, ctx, mesh_, now, when);
    Context own = ctx;
    warn(program_name, warning_of_data(own, mesh_, settings_.problem, solver.time(), settings_.end,
                                       {.points = settings_.params.solver.quadrature_points}));
  }
  void heading(const Context& ctx, const HeatSolver3D& solver, const std::vector<RankNumbers>& ranks) const {
    std::printf(
        "mesh      %s: %d x %d x %d cells, %d x %d x %d unknowns, smallest width %.3g, aspect ratio up to %.3g\n",
        settings_.mesh.text().c_str(), mesh_.x().size(), mesh_.y().size(), mesh_.z().size(), mesh_.x().unknowns(),
        mesh_.y().unknowns(), mesh_.z().unknowns(), mesh_.smallest_width(), mesh_.largest_aspect_ratio());
    std::string problem;
    for (const char* name : problem_names)
      if (options_.has(name)) problem += message(problem.empty() ? "" : ", ", name, " ", options_.text(name));
    for (const std::string& body : options_.texts("body"))
      problem += message(problem.empty() ? "" : ", ", "body ", body);
    std::printf("problem   %s\n", problem.empty() ? "sin(pi x/a) sin(pi y/b) sin(pi z/d) decays" : problem.c_str());
    print_times(settings_, solver.time());
    std::printf("solver    %s; %s\n          %s\n", solver.plan().method.c_str(), ctx.description().c_str(),
                solver.plan().reason.c_str());
    poisson3d::print_ranks(ctx, solver.plan(), ranks);
    print_alone(settings_.machine);
    std::printf("\n");
  }
  [[nodiscard]] std::vector<double> values(Context& ctx, const HeatSolver3D& solver) const {
    const NodePlanes planes = solver.nodes();
    return planes_on_first_rank(ctx, nodes_of_axes(mesh_), planes.axis, planes.first, solver.nodal_solution(ctx));
  }
  void add_profile(std::string& csv, double t, const std::vector<double>& u) const {
    poisson3d::add_profile(csv, t, *settings_.probe, mesh_, u);
  }
  void write_picture(Context& ctx, const HeatSolver3D& solver, int number, VtkSeries& series) const {
    const NodePlanes planes = solver.nodes();
    const TensorMesh<3> part = part_of(mesh_, planes);
    const std::vector<double> u = solver.nodal_solution(ctx);
    std::vector<double> exact, error;
    std::vector<VtkField> nodal{{"u", u}};
    if (settings_.problem.space.exact) {
      exact = at_nodes(ctx, part, at_time(settings_.problem, solver.time()).exact);
      error.resize(u.size());
      std::transform(u.begin(), u.end(), exact.begin(), error.begin(), std::minus<>());
      nodal.push_back({"exact", exact});
      nodal.push_back({"error", error});
    }
    const auto k = poisson3d::diffusion_on_cells(ctx, part, settings_.problem.space.diffusion);
    std::vector<VtkField> on_cells;
    for (const auto& [name, values] : k) on_cells.push_back({name, values});
    const auto numbers = poisson3d::numbers_of_bodies(bodies_on(ctx, mesh_, settings_.problem.space), planes);
    if (!numbers.empty()) on_cells.push_back({"body", numbers});
    series.write(number, solver.time(), mesh_, planes, nodal, on_cells, ctx.threads());
  }
  void write_png(const std::string& path, const std::vector<double>& u, const std::string& title) const {
    poisson3d::draw_box(path, mesh_, u, settings_.slice, title);
  }

  /// Of bodies alone.
  [[nodiscard]] std::optional<heat::FluxesAtEnd> fluxes_at_end(Context& ctx, const HeatSolver3D& solver) const {
    heat::FluxesAtEnd found;
    found.size_name = "volume";
    for (const BoxBodyFlux& own : solver.body_fluxes(ctx)) {
      const Body3D& body = settings_.problem.space.bodies[found.bodies.size()];
      found.bodies.push_back({body.name, body.kind, own.cells, own.volume, own.flux, own.mean});
    }
    return found.bodies.empty() ? std::nullopt : std::optional(found);
  }
  [[nodiscard]] std::string json_report(const Context& ctx, const HeatSolver3D& solver, const heat::Run& run) const {
    const BoxSolverPlan& plan = solver.plan();
    JsonObject json;
    json.add("program", program_name).add("version", STRATUM_VERSION);
    add_status(json, run);
    json.add("mesh", settings_.mesh.family.name).add("level", settings_.level);
    json.add("cells", {mesh_.x().size(), mesh_.y().size(), mesh_.z().size()});
    json.add("unknowns",
             std::int64_t{mesh_.x().unknowns()} * std::int64_t{mesh_.y().unknowns()} * mesh_.z().unknowns());
    json.add("largest_aspect_ratio", mesh_.largest_aspect_ratio()).add("smallest_width", mesh_.smallest_width());
    for (const char* face : box_face_names) json.add(face, options_.has(face) ? options_.text(face) : "dirichlet");
    for (const char* name : problem_names)
      if (options_.has(name) &&
          std::find(box_face_names.begin(), box_face_names.end(), std::string_view(name)) == box_face_names.end())
        json.add(name, options_.text(name));
    if (options_.has("exact")) json.add("exact", options_.text("exact"));
    add_steps(json, settings_, run);
    json.add("solver", std::string(to_string(plan.kind))).add("solves_by", plan.method).add("choice", plan.reason);
    json.add("precision", plan.float_cycles ? "mixed" : "double");
    add_machine(json, ctx);
    add_ends(json, run);
    poisson3d::add_ranks(json, ctx, plan, run.ranks);
    add_alone(json, settings_.machine);
    return json.text();
  }

 private:
  const Settings& settings_;
  const CommandLine& options_;
  TensorMesh<3> mesh_;
};

}  // namespace

int run(Settings settings, const CommandLine& options, OutputFiles outputs) {
  return heat::run_steps<BoxCase>(std::move(settings), options, std::move(outputs));
}

}  // namespace stratum::apps::heat3d
