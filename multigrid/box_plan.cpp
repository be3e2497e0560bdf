#include <stratum/multigrid/box_plan.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <stratum/assembly/box_discretization.hpp>
#include <stratum/assembly/box_points.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/multigrid/box_deflation.hpp>
#include <stratum/multigrid/plane_multigrid.hpp>
#include <stratum/solvers/direct/mode_products.hpp>

namespace stratum {

namespace {

/// Of a direction whose modes are kept: two matrices of 512 MiB.
constexpr int most_modes = 8192;

/// The plane of a natural last end goes with the one before it: a rank of its own would have it without cells.
bool shares_last_plane(const Axis& axis) {
  return axis.last_boundary() == BoundaryType::neumann && axis.unknowns() > 1;
}

/// Of fast diagonalization's products there and back, in operations of dense ones.
double plan_cost(const TensorMesh<3>& mesh, const PoissonProblem3D& problem, const BoxMaterial& material,
                 const BoxSolverPlan& plan) {
  double cost = 0;
  for (std::size_t d = 0; d < 3; ++d)
    if (static_cast<int>(d) != plan.lines)
      cost += 2 * ModeProducts::cost(false, axis_factors(mesh, problem, material, d));
  return cost;
}

/// Too many modes for a direct solver; empty: not.
std::string too_many_modes(const BoxSolverPlan& plan) {
  for (std::size_t d = 0; d < 3; ++d)
    if (static_cast<int>(d) != plan.lines && !plan.fourier[d] && plan.unknowns[d] > most_modes)
      return message("direction ", axis_names[d], " has ", plan.unknowns[d],
                     " unknowns, and the direct solver keeps dense matrices of at most ", most_modes,
                     " a direction for two of the three");
  return {};
}

}  // namespace

BoxSolverPlan direct_plan(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                          const BoxMaterial& material) {
  BoxSolverPlan plan;
  const int ranks = ctx.subdomains();
  std::array<double, 3> operations{}, costs{};  // of products there and back
  std::array<bool, 3> fourier{};
  double all = 1, best = std::numeric_limits<double>::infinity();
  for (std::size_t d = 0; d < 3; ++d) {
    plan.unknowns[d] = mesh.axis(static_cast<int>(d)).unknowns();
    all *= plan.unknowns[d];
    const AxisFactors factors = axis_factors(mesh, problem, material, d);
    operations[d] = 2 * ModeProducts::operations(ctx.on_gpu(), factors);
    costs[d] = 2 * ModeProducts::cost(ctx.on_gpu(), factors);
    fourier[d] = ModeProducts::by_fourier(ctx.on_gpu(), factors).has_value();
  }
  const auto others = [](const std::array<double, 3>& of, std::size_t d) { return of[(d + 1) % 3] + of[(d + 2) % 3]; };
  // Lines in operations of a product; those of periodic directions are solved twice.
  constexpr double line = 30, first_last = 1.02;
  const bool cut_across_z = ranks > 1 && !material.is_separable();
  for (std::size_t d = 3; d-- > 0;) {
    const double cost = others(costs, d) + line * (mesh.axis(static_cast<int>(d)).is_periodic() ? 2 : 1);
    const Axis& axis = mesh.axis(static_cast<int>(d));
    if (cut_across_z ? d != 2 : ranks > 1 && plan.unknowns[d] - (shares_last_plane(axis) ? 1 : 0) < ranks) continue;
    if (cost * first_last >= best) continue;
    best = cost;
    plan.lines = static_cast<int>(d);
    plan.operations = all * others(operations, d);
  }
  expects(std::isfinite(best), ranks,
          " ranks need as many planes of unknowns in some direction, one more where its last face is ",
          "natural; this box has ", plan.unknowns[0], " x ", plan.unknowns[1], " x ", plan.unknowns[2],
          " unknowns. Take fewer ranks");
  const auto lines = static_cast<std::size_t>(plan.lines);
  const std::size_t a = lines == 0 ? 1 : 0, b = lines == 2 ? 1 : 2;
  plan.method =
      message("fast diagonalization in ", axis_names[a], " and ", axis_names[b], ", lines along ", axis_names[lines]);
  const bool alike = plan.unknowns[a] == plan.unknowns[lines] && plan.unknowns[b] == plan.unknowns[lines];
  const char* const count = plan.unknowns[lines] == 1 ? " unknown, " : " unknowns, ";
  plan.reason =
      alike ? message("all directions have ", plan.unknowns[lines], count, "and lines cost the least along ",
                      axis_names[lines])
            : message(axis_names[lines], " has ", plan.unknowns[lines], count, "which lines are cheaper for than ",
                      fourier[lines] ? "Fourier transforms" : "dense matrices");
  const bool together = fourier[a] && fourier[b] && operations[a] == operations[b];
  for (const std::size_t d : {a, b}) {
    plan.fourier[d] = fourier[d];
    if (!fourier[d] || (together && d == b)) continue;
    const std::string axes =
        together ? message(axis_names[a], " and ", axis_names[b], " are") : message(axis_names[d], " is");
    plan.reason += message("; ", axes, " uniform, and a Fourier transform takes ", std::lround(operations[d] / 2),
                           " operations a number, a dense matrix ", 2 * plan.unknowns[d]);
  }
  return plan;
}

std::optional<BoxSolverPlan> planes_plan(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                         const BoxMaterial& material) {
  if (ctx.on_gpu() || ctx.subdomains() > 1 || problem.diffusion.is_given()) return std::nullopt;
  std::optional<BoxSolverPlan> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t d = 0; d < 3; ++d) {
    const Axis& axis = mesh.axis(static_cast<int>(d));
    bool others_have_alpha = false;
    for (const BoxFace face : all_box_faces)
      if (static_cast<std::size_t>(face) / 2 != d && face_alpha(mesh, problem, face) != 0) others_have_alpha = true;
    const AxisFactors factors = axis_factors(mesh, problem, material, d);
    const bool fourier = ModeProducts::by_fourier(false, factors).has_value();
    const double cost = 2 * ModeProducts::cost(false, factors);
    if (others_have_alpha || !(cost < least) || (!fourier && axis.unknowns() > most_modes)) continue;
    least = cost;
    best.emplace();
    best->kind = BoxMethod::planes;
    best->lines = static_cast<int>(d);
    best->fourier[d] = fourier;
    const std::size_t a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
    best->method =
        message("modes of ", axis_names[d], ", multigrid in planes of ", axis_names[a], " and ", axis_names[b]);
    best->operations = 2 * ModeProducts::operations(false, factors);
    for (std::size_t e = 0; e < 3; ++e) {
      best->unknowns[e] = mesh.axis(static_cast<int>(e)).unknowns();
      best->operations *= best->unknowns[e];
    }
  }
  return best;
}

bool deflation_pays(const DeflationFacts& facts) {
  constexpr double in_double = 8, in_single = 16;
  if (facts.bodies == 0 || facts.bodies > BoxDeflation::most_vectors || facts.jump < BoxDeflation::jump_for_vectors)
    return false;
  const double decades = std::log10(facts.jump) - 2;
  return facts.float_cycles ? facts.bodies * decades * decades >= in_single : facts.bodies * decades >= in_double;
}

std::array<GatedAxis, 3> gate_of(const TensorMesh<3>& mesh, const BoxMaterial& material) {
  std::array<GatedAxis, 3> axes;
  std::array<std::size_t, 3> cells{};
  for (std::size_t d = 0; d < 3; ++d) {
    const Axis& axis = mesh.axis(static_cast<int>(d));
    axes[d] = {axis.widths(), axis.first_boundary() == BoundaryType::neumann,
               axis.last_boundary() == BoundaryType::neumann, axis.is_periodic()};
    cells[d] = static_cast<std::size_t>(axis.size());
  }
  if (material.yy.empty()) return axes;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::size_t e = (d + 1) % 3, f = (d + 2) % 3;
    for (std::size_t i = 0; i < cells[d]; ++i) {
      std::vector<double> relative;
      relative.reserve(cells[e] * cells[f]);
      std::array<std::size_t, 3> at{};
      at[d] = i;
      for (at[e] = 0; at[e] < cells[e]; ++at[e])
        for (at[f] = 0; at[f] < cells[f]; ++at[f]) {
          const auto k = material.at((at[2] * cells[1] + at[1]) * cells[0] + at[0]);
          if (k[0] == 0) continue;  // of a body
          relative.push_back(k[d] / std::cbrt(k[0] * k[1] * k[2]));
        }
      if (relative.empty()) continue;
      const auto middle = relative.begin() + static_cast<std::ptrdiff_t>(relative.size() / 2);
      std::nth_element(relative.begin(), middle, relative.end());
      axes[d].widths[i] /= std::sqrt(*middle);
    }
  }
  return axes;
}

BoxSolverPlan select_box_method(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                const BoxMaterial& material, BoxMethod asked) {
  constexpr double jump = PoissonSolver3DParams::smooth_jump, contrast = PoissonSolver3DParams::smooth_contrast;
  const bool solids = material.bodies && material.bodies->has_solids();
  expects(!solids || asked == BoxMethod::automatic || asked == BoxMethod::multigrid,
          "bodies that hold u or let nothing in take the methods multigrid and auto, not ", to_string(asked));
  if (solids) asked = BoxMethod::multigrid;
  BoxSolverPlan plan = direct_plan(ctx, mesh, problem, material);
  const std::string modes = too_many_modes(plan), direct_reason = plan.reason;
  const bool on_ranks = ctx.subdomains() > 1;
  const bool by_cells = !material.is_separable(), scalar = material.yy.empty(), singular = is_singular(mesh, problem);
  expects(asked != BoxMethod::direct || !by_cells, material.why_not_separable,
          ". The direct method in three dimensions needs a separable problem; multigrid and auto do not");
  expects(asked != BoxMethod::direct || modes.empty(), modes,
          "; make it shorter, or two directions shorter than the third, or use multigrid");
  expects(asked != BoxMethod::fd_cg || (modes.empty() && scalar && !singular),
          "fd-cg is for a scalar K, solutions that are not known up to a constant only, and at most ", most_modes,
          " unknowns in two of the three directions; multigrid is for all");
  auto planes = by_cells || singular ? std::nullopt : planes_plan(ctx, mesh, problem, material);
  expects(
      asked != BoxMethod::planes || planes.has_value(),
      "planes are for K = 1, no alpha on faces of two directions, solutions that are not known up to a constant only, ",
      "and one rank on a CPU; auto chooses among the other methods");
  if (planes && asked == BoxMethod::automatic) {
    const auto of_planes = static_cast<std::size_t>(planes->lines);
    const double cost =
        2 * ModeProducts::cost(false, axis_factors(mesh, problem, material, of_planes)) + PlaneMultigrid::operations;
    const double direct_cost = plan_cost(mesh, problem, material, plan);
    if (modes.empty() && cost >= direct_cost) planes.reset();
    if (planes)
      planes->reason =
          message(axis_names[of_planes], " has ", planes->unknowns[of_planes],
                  " unknowns, and multigrid in planes takes as long as about ", std::lround(PlaneMultigrid::operations),
                  " operations a number, dense matrices ", std::lround(direct_cost));
  }
  if (planes && (asked == BoxMethod::automatic || asked == BoxMethod::planes)) {
    if (asked == BoxMethod::planes) planes->reason = "it was asked for";
    return *planes;
  }
  // Of K^1/2 between two nodes of a thin cell (multigrid/scaled_diagonalization.hpp).
  constexpr double steepest = 250;
  const bool is_steep = material.steepness > steepest;
  const bool is_smooth =
      modes.empty() && scalar && !singular && !is_steep && material.jump <= jump && material.contrast <= contrast;
  const std::string differs =
      message(is_smooth ? "K is smooth: it" : "K", " differs by a factor of ", is_smooth ? "at most " : "",
              material.jump, " between neighbouring cells and ", material.contrast, " in all",
              is_steep && material.jump <= jump ? ", too much for thin cells" : "");
  plan.kind = asked;
  if (asked != BoxMethod::automatic) {
    plan.reason = solids ? material.why_not_separable : "it was asked for";
  } else if (!by_cells && modes.empty()) {
    plan.kind = BoxMethod::direct;
  } else if (!by_cells) {
    plan.kind = BoxMethod::multigrid;
    plan.reason = modes;
  } else if (is_smooth) {
    plan.kind = BoxMethod::fd_cg;
    plan.reason = message(material.why_not_separable, "; ", differs);
  } else {
    plan.kind = BoxMethod::multigrid;
    const std::string why = !scalar          ? "K has a number for every direction"
                            : singular       ? "u is known up to a constant only"
                            : !modes.empty() ? modes
                                             : differs;
    plan.reason = message(material.why_not_separable, "; ", why);
  }
  if (on_ranks && plan.kind != BoxMethod::direct) {
    const int z = plan.unknowns[2], most = z - (shares_last_plane(mesh.z()) ? 1 : 0);
    expects(most >= ctx.subdomains(), to_string(plan.kind), " gives every rank planes across z, of which ",
            ctx.subdomains(), " ranks need as many, one more where the last face is natural; this box has ", z,
            ". Take fewer ranks, or turn the box");
    const int needed = BoxSlab::overlap * ctx.subdomains();
    expects(!solids || most >= needed, "around bodies that hold u or let nothing in, every rank needs ",
            BoxSlab::overlap, " planes across z", z > most ? ", the last one another one at a natural face" : "", ": ",
            ctx.subdomains(), " ranks need ", needed + z - most, ", and this box has ", z, ". Take fewer ranks");
    plan.lines = 2;
  }
  if (plan.kind == BoxMethod::direct && asked == BoxMethod::direct) plan.reason += "; " + direct_reason;
  if (plan.kind == BoxMethod::fd_cg) plan.method = "conjugate gradients around " + plan.method + ", scaled by K^-1/2";
  if (plan.kind != BoxMethod::multigrid) return plan;
  plan.operations = 0;
  double nodes = 0;
  for (const GatedLevel& level : gated_levels(gate_of(mesh, material))) {
    nodes += level.unknowns();
    plan.levels.push_back(
        {{level.axes[0].unknowns(), level.axes[1].unknowns(), level.axes[2].unknowns()}, level.smoother()});
  }
  const auto& n = plan.unknowns;
  plan.nodes = nodes / (static_cast<double>(n[0]) * n[1] * n[2]);
  plan.method =
      message("conjugate gradients around V-cycles, gated coarsening of ", plan.levels.size(),
              plan.levels.size() == 1 ? " level, " : " levels, ", plan.levels.front().smoother, " on the finest");
  return plan;
}

int rank_of(const Context& ctx) { return ctx.subdomains() > 1 ? ctx.communicator()->rank() : 0; }

/// The planes of unknowns of a rank, and what lies beside them, in the order of storage.
GridLayout<3> slab_of(const Context& ctx, const TensorMesh<3>& mesh, const BoxOrder& order, int rank) {
  const auto axis = [&](std::size_t d) { return mesh.axis(static_cast<int>(order[d])); };
  if (!shares_last_plane(axis(2))) return slab({axis(0), axis(1), axis(2), mesh.name()}, ctx.subdomains(), rank);
  const Axis without = axis(2).with_boundaries(axis(2).first_boundary(), BoundaryType::dirichlet);
  GridLayout<3> layout = slab({axis(0), axis(1), without, mesh.name()}, ctx.subdomains(), rank);
  ++layout.global.nz;
  if (rank + 1 == ctx.subdomains()) ++layout.extents.nz;
  return layout;
}

NodePlanes nodes_of(const Context& ctx, const TensorMesh<3>& mesh, int lines, const GridLayout<3>& slab) {
  const int rank = rank_of(ctx), first = rank == 0 ? 0 : slab.first[2];
  return {lines, first, rank + 1 == ctx.subdomains() ? mesh.axis(lines).size() : slab.first[2] + slab.extents.nz};
}

}  // namespace stratum
