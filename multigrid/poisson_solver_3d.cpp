#include <stratum/multigrid/poisson_solver_3d.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/assembly/box_discretization.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/operators/box_operator.hpp>
#include <stratum/core/reentrancy_guard.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/solvers/direct/box_diagonalization.hpp>
#include <stratum/solvers/direct/jacobi_modes.hpp>

namespace stratum {

namespace {

using Clock = std::chrono::steady_clock;
using Values = std::vector<double>;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Of a direction whose modes are kept: two matrices of 512 MiB.
constexpr int most_modes = 8192;

/// Directions in the order of storage: the lines are those of the last one.
using Order = std::array<std::size_t, 3>;

Order order_of(int lines) {
  Order order{0, 1, 2};
  std::swap(order[static_cast<std::size_t>(lines)], order[2]);
  return order;
}

/// The plane of a natural last end goes with the one before it: a rank of its own would have it without cells.
bool shares_last_plane(const Axis& axis) {
  return axis.last_boundary() == BoundaryType::neumann && axis.unknowns() > 1;
}

DirectSolverPlan plan_of(const TensorMesh<3>& mesh, int ranks) {
  DirectSolverPlan plan;
  double all = 1, best = std::numeric_limits<double>::infinity();
  for (std::size_t d = 0; d < 3; ++d) {
    plan.unknowns[d] = mesh.axis(static_cast<int>(d)).unknowns();
    all *= plan.unknowns[d];
  }
  const auto others = [&](std::size_t d) { return plan.unknowns[(d + 1) % 3] + plan.unknowns[(d + 2) % 3]; };
  // Lines in operations of a product; those of periodic directions are solved twice.
  constexpr double line = 30, first_last = 1.02;
  for (std::size_t d = 3; d-- > 0;) {
    const double cost = 4.0 * others(d) + line * (mesh.axis(static_cast<int>(d)).is_periodic() ? 2 : 1);
    const Axis& axis = mesh.axis(static_cast<int>(d));
    if (ranks > 1 && plan.unknowns[d] - (shares_last_plane(axis) ? 1 : 0) < ranks) continue;
    if (cost * first_last >= best) continue;
    best = cost;
    plan.lines = static_cast<int>(d);
    plan.operations = 4.0 * all * others(d);
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
  plan.reason = alike ? message("all directions have ", plan.unknowns[lines], count, "and lines cost the least along ",
                                axis_names[lines])
                      : message(axis_names[lines], " has ", plan.unknowns[lines], count,
                                "which lines are cheaper for than ", "dense matrices");
  for (const std::size_t d : {a, b})
    expects(plan.unknowns[d] <= most_modes, "direction ", axis_names[d], " has ", plan.unknowns[d],
            " unknowns, and the direct solver keeps dense matrices of at most ", most_modes,
            " a direction for two of the three; make it shorter, or two directions shorter than the third");
  return plan;
}

/// Numbers of a box in the Context's memory; `first` is that of unknown (0, 0, 0).
struct BoxMemory {
  std::shared_ptr<void> memory;
  FieldView<double, 3> view;
  std::int64_t first = 0, size = 0;

  BoxMemory() = default;
  /// `ghosts`: one node more at both ends of all axes. Rows and planes have room for what products write.
  BoxMemory(Context& ctx, const std::array<int, 3>& n, bool ghosts) {
    constexpr int line = 8;  // numbers of a cache line
    const int lead = ghosts ? line : 0, more = ghosts ? 1 : 0;
    std::int64_t row = padded_size(lead + std::max(n[0] + more, padded_size(n[0])));
    std::int64_t rows = more + std::max(n[1] + more, padded_size(n[1]));
    // On a CPU rows and planes that are a power of two apart compete for the same places of a cache.
    if (!ctx.on_gpu() && row % 64 == 0) row += line;
    if (!ctx.on_gpu() && row * rows % 512 == 0) ++rows;
    const std::int64_t plane = row * rows;
    first = more * (plane + row) + lead;
    size = plane * (n[2] + 2 * more) + line;
    memory = allocate(ctx, static_cast<std::size_t>(size) * sizeof(double));
    view = {static_cast<double*>(memory.get()) + first, {n[0], n[1], n[2]}, {row, plane}};
  }
  [[nodiscard]] double* begin() const { return static_cast<double*>(memory.get()); }
};

int rank_of(const Context& ctx) { return ctx.subdomains() > 1 ? ctx.communicator()->rank() : 0; }

/// The planes of unknowns of a rank, and what lies beside them, in the order of storage.
GridLayout<3> slab_of(const Context& ctx, const TensorMesh<3>& mesh, const Order& order, int rank) {
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

/// Modes of both directions, which two of several ranks make and all take, so that all have the same bits.
std::array<LineModes, 2> modes_of(const Context& ctx, const AxisFactors& x, const AxisFactors& y, int threads) {
  const int ranks = ctx.subdomains(), own = rank_of(ctx);
  const auto made = [&](const AxisFactors& axis, int by) {
    LineModes modes = own == by ? axis_modes(axis, threads) : LineModes{};
    if (ranks == 1) return modes;
    return LineModes{ctx.communicator()->join_on_host(modes.vectors), ctx.communicator()->join_on_host(modes.values)};
  };
  LineModes of_x = made(x, 0);
  if (y == x) return {of_x, of_x};
  return {std::move(of_x), made(y, ranks > 1 ? 1 : 0)};
}

/// Of equal values the first in the order of nodes, as on one rank.
bool is_before(const NodalValue3D& a, const NodalValue3D& b) {
  return std::array{a.z, a.y, a.x} < std::array{b.z, b.y, b.x};
}
SolutionRange3D joined(const std::vector<SolutionRange3D>& parts) {
  SolutionRange3D all = parts.front();
  const auto step = [](const SolutionRange3D& part) { return std::abs(part.step_to.value - part.step_from.value); };
  for (const SolutionRange3D& part : parts) {
    const auto take = [](NodalValue3D& value, const NodalValue3D& other, bool beyond) {
      if (beyond || (other.value == value.value && is_before(other, value))) value = other;
    };
    take(all.smallest, part.smallest, part.smallest.value < all.smallest.value);
    take(all.largest, part.largest, part.largest.value > all.largest.value);
    all.smallest_on_boundary = std::min(all.smallest_on_boundary, part.smallest_on_boundary);
    all.largest_on_boundary = std::max(all.largest_on_boundary, part.largest_on_boundary);
    const auto place = [](const SolutionRange3D::Edge& edge) {
      return std::array{edge.node[2], edge.node[1], edge.node[0], edge.axis};
    };
    if (part.edge.axis < 0) continue;
    const bool later = step(part) < step(all) || (step(part) == step(all) && place(part.edge) >= place(all.edge));
    if (all.edge.axis >= 0 && later) continue;
    all.step_from = part.step_from;
    all.step_to = part.step_to;
    all.edge = part.edge;
    all.change_of_flux = part.change_of_flux;
  }
  return all;
}

}  // namespace

struct PoissonSolver3D::Implementation {
  Context ctx;
  TensorMesh<3> mesh;
  PoissonProblem3D problem;
  PoissonSolver3DParams params;
  DirectSolverPlan plan;
  Order order;
  GridLayout<3> slab;
  ReentrancyGuard guard;
  std::optional<BoxDiscretization> discretization;  // of this rank's cells; none in a memory dry run
  BoxOperator a;
  BoxDiagonalization direct;
  BoxMemory b, x, v;
  std::optional<BoxFactors> hats;                          // integrals of phi_i of a singular problem
  std::optional<BoxDiscretization::FaceLoads> face_loads;  // none of a right-hand side in the Context's memory
  std::optional<Compatibility> compatibility;
  bool homogeneous = true;         // Dirichlet values are zero
  std::optional<double> rhs_norm;  // of b - A x where x is zero but for them; found by the first solve
  double setup_seconds = 0;

  Implementation(Context& context, const TensorMesh<3>& given, const PoissonProblem3D& p,
                 const PoissonSolver3DParams& s)
      : ctx(context), mesh(with_boundaries(given, p.boundaries)), problem(p), params(s),
        plan(plan_of(mesh, context.subdomains())), order(order_of(plan.lines)),
        slab(slab_of(context, mesh, order, rank_of(context))) {
    const auto begin = Clock::now();
    params.stop.validate();
    if (!ctx.is_dry_run()) expect_room();
    std::array<AxisFactors, 3> factors;
    const int threads = std::max(1, ctx.threads());
    if (ctx.is_dry_run()) {
      for (std::size_t d = 0; d < 3; ++d) {
        const int n = plan.unknowns[order[d]];
        factors[d].k.resize(static_cast<std::size_t>(n) + 1);
        factors[d].m = factors[d].k;
        factors[d].periodic = mesh.axis(static_cast<int>(order[d])).is_periodic();
      }
    } else {
      constexpr std::int64_t small_box = std::int64_t{1} << 18;
      constexpr int most_points = 4, points_of_large = 2;
      const int points = mesh.cells() <= small_box ? most_points : points_of_large;
      discretization.emplace(ctx, mesh, problem, params.quadrature_points == 0 ? points : params.quadrature_points);
      for (std::size_t d = 0; d < 3; ++d) factors[d] = discretization->factors()[order[d]];
    }
    const std::array<int, 3> n{slab.extents.nx, slab.extents.ny, slab.extents.nz};
    std::array<AxisFactors, 3> own_factors = factors;
    const auto begin_of_own = static_cast<std::ptrdiff_t>(first_plane());
    for (auto* const numbers : {&own_factors[2].k, &own_factors[2].m})
      *numbers = {numbers->begin() + begin_of_own, numbers->begin() + begin_of_own + n[2] + 1};
    a = BoxOperator(ctx, own_factors, problem.reaction);
    std::array<LineModes, 2> modes;
    if (!ctx.is_dry_run()) modes = modes_of(ctx, factors[0], factors[1], threads);
    direct = BoxDiagonalization(ctx, factors, problem.reaction, modes[0], modes[1], cuts());
    modes = {};
    // The plane that the next rank begins with, of which loads give each a part.
    b = BoxMemory(ctx, {n[0], n[1], n[2] + (has_above() ? 1 : 0)}, false);
    b.view.extents.nz = n[2];
    x = BoxMemory(ctx, n, true);
    v = BoxMemory(ctx, n, false);
    reserve_reductions(ctx, Extents<3>{n[0] + 2, n[1] + 2, n[2] + 2});
    if (ctx.is_dry_run()) {
      count_loads();
      return;
    }
    if (discretization->is_singular()) {
      std::array<Values, 3> of_box;
      for (std::size_t d = 0; d < 3; ++d) of_box[d] = discretization->hat_integrals(static_cast<int>(d));
      Values& across = of_box[order[2]];
      across = {across.begin() + begin_of_own, across.begin() + begin_of_own + n[2]};
      hats.emplace(ctx, of_box);
    }
    if (ranks() > 1) {
      const NodePlanes own = nodes();
      discretization.emplace(BoxDiscretization(ctx, *discretization, own.axis, own.first, own.last));
    }
    homogeneous = !discretization->set_dirichlet_values(ctx, stored_nodes());
    if (ranks() > 1) {
      const auto of_ranks = ctx.communicator()->gather_on_host(homogeneous ? 1 : 0);
      homogeneous = *std::min_element(of_ranks.begin(), of_ranks.end()) == 1;
    }
    complete(discretization->load(ctx, loads()));
    setup_seconds = seconds_since(begin);
  }

  [[nodiscard]] int ranks() const { return ctx.subdomains(); }
  [[nodiscard]] bool has_below() const { return slab.lower[2].kind == Face::Kind::subdomain; }
  [[nodiscard]] bool has_above() const { return slab.upper[2].kind == Face::Kind::subdomain; }
  [[nodiscard]] const Axis& cut_axis() const { return mesh.axis(plan.lines); }
  /// Of the unknowns.
  [[nodiscard]] int first_plane() const { return slab.first[2] - cut_axis().first_unknown(); }
  /// The first plane of every rank and the number of planes; none of one rank.
  [[nodiscard]] std::vector<int> cuts() const {
    if (ranks() == 1) return {};
    std::vector<int> cuts;
    cuts.reserve(static_cast<std::size_t>(ranks()) + 1);
    for (int r = 0; r < ranks(); ++r)
      cuts.push_back(slab_of(ctx, mesh, order, r).first[2] - cut_axis().first_unknown());
    cuts.push_back(cut_axis().unknowns());
    return cuts;
  }
  [[nodiscard]] NodePlanes nodes() const { return nodes_of(ctx, mesh, plan.lines, slab); }

  /// Of a dry run, what loads and summaries take for a while.
  void count_loads() {
    const Extents<3>& n = slab.extents;
    const auto x_nodes = static_cast<std::size_t>(n.nx) + 2, y_nodes = static_cast<std::size_t>(n.ny) + 2,
               z_nodes = static_cast<std::size_t>(n.nz) + 2;
    const std::size_t faces = x_nodes * y_nodes + x_nodes * z_nodes + y_nodes * z_nodes;
    // Factors of products; points, weights and hats of the 4-point rule; sums of blocks.
    constexpr std::size_t factors = 8, points = 5 * 4, sums = std::size_t{1} << 16;
    std::size_t numbers = factors * (x_nodes + y_nodes + z_nodes);
    if (ctx.on_gpu()) numbers += points * (x_nodes + y_nodes + z_nodes) + 3 * faces + sums;
    // Of other functions the load of all nodes is formed on the host.
    if (!ctx.on_gpu() && !problem.is_product()) numbers += static_cast<std::size_t>(b.size);
    const auto memory = allocate(ctx, numbers * sizeof(double));
  }

  void expect_room() const {
    const auto& n = plan.unknowns;
    expect_memory(ctx, message("mesh ", mesh.name(), " with ", n[0], " x ", n[1], " x ", n[2], " unknowns"),
                  required_memory(ctx, mesh, problem, params));
  }

  [[nodiscard]] StoredBox<double> rhs() const { return {b.view, order}; }
  /// With the plane that the next rank begins with.
  [[nodiscard]] StoredBox<double> loads() const {
    StoredBox<double> loads = rhs();
    loads.view.extents.nz += has_above() ? 1 : 0;
    return loads;
  }
  /// u at all nodes of this rank, those of Dirichlet faces and what lies beside its unknowns among them.
  [[nodiscard]] StoredBox<double> stored_nodes() const {
    StoredBox<double> nodes{x.view, order};
    for (std::size_t d = 0; d < 3; ++d) {
      const Axis& axis = discretization->mesh().axis(static_cast<int>(d));
      nodes = nodes.part(d, -axis.first_unknown(), axis.size() + 1);
    }
    return nodes;
  }

  /// Makes this load, whose integrals of f phi_i b has, the right-hand side.
  void complete(BoxDiscretization::FaceLoads of_faces) {
    discretization->add_face_data(ctx, loads());
    add_from_below();
    compatibility.reset();
    if (discretization->is_singular())
      compatibility = discretization->balance(ctx, *hats, params.project, "the integral of f plus the boundary fluxes",
                                              rhs(), &of_faces);
    face_loads = std::move(of_faces);
    rhs_norm.reset();
  }

  /// So many numbers each way, with the ranks beside this one.
  void exchange(Communicator::Rows planes, std::int64_t numbers) {
    planes.bytes = sizeof(double) * static_cast<std::size_t>(numbers);
    planes.below = slab.lower[2].rank;
    planes.above = slab.upper[2].rank;
    ctx.communicator()->exchange(ctx, planes);
  }

  /// The first plane of b grows by what the rank below has for it.
  void add_from_below() {
    if (!has_below() && !has_above()) return;
    const Extents<3> plane{b.view.extents.nx, b.view.extents.ny, 1};
    Communicator::Rows planes;
    if (has_above()) planes.to_above = &b.view(0, 0, b.view.extents.nz);
    if (has_below()) planes.from_below = &v.view(0, 0, 0);
    exchange(planes, (plane.ny - 1) * b.view.strides.row + plane.nx);
    if (has_below())
      axpy(ctx, 1, FieldView<const double, 3>{v.view.data, plane, v.view.strides},
           FieldView<double, 3>{b.view.data, plane, b.view.strides});
  }

  /// Distances of the user's numbers along the directions of storage.
  [[nodiscard]] std::array<std::int64_t, 3> apart(const Strides<3>& strides) const {
    const std::array<std::int64_t, 3> users{1, strides.row, strides.plane};
    return {users[order[0]], users[order[1]], users[order[2]]};
  }
  [[nodiscard]] std::array<const double*, 3> hat_weights() const { return rhs().stored(hats->begin()); }

  /// The same of a right-hand side in the Context's memory.
  void take_rhs(const FieldView<const double, 3>& given) {
    box_gather(ctx, given.data, apart(given.strides), b.view);
    face_loads.reset();
    rhs_norm.reset();
    if (discretization->is_singular())
      compatibility =
          discretization->balance(ctx, *hats, params.project, "the sum of the right-hand side", rhs(), nullptr);
  }

  [[nodiscard]] StoredBox<const double> fetched(std::span<const double> nodal) const {
    expects(nodal.size() == discretization->nodes(), "the solution has ", nodal.size(), " nodal values, the mesh has ",
            discretization->nodes(), ranks() > 1 ? " nodes on this rank" : " nodes");
    return discretization->nodes_on_host(nodal);
  }

  // By a Context where u is, without the other ranks.
  [[nodiscard]] BoundaryFluxes3D fluxes(Context own, StoredBox<const double> u) const {
    expects(face_loads.has_value(), "fluxes need the load at the faces, which a right-hand side of the unknowns "
                                    "alone does not have; give it by set_load");
    const BoundaryFluxes3D of_own = discretization->fluxes(own, u, *face_loads);
    if (ranks() == 1) return of_own;
    BoundaryFluxes3D all;
    for (const BoundaryFluxes3D& part : ctx.communicator()->gather_on_host(of_own)) {
      for (std::size_t face = 0; face < all.faces.size(); ++face) all.faces[face] += part.faces[face];
      all.reaction += part.reaction;
      all.load += part.load;
      all.rounding += part.rounding;
    }
    return all;
  }
  [[nodiscard]] SolutionRange3D range(Context own, StoredBox<const double> u) const {
    const SolutionRange3D of_own = discretization->range(own, u);
    if (ranks() == 1) return of_own;
    SolutionRange3D all = joined(ctx.communicator()->gather_on_host(of_own));
    if (all.edge.axis < 0) return all;
    // The edges beside may be another rank's.
    BoxDiscretization::FluxesOfEdge found{std::nan(""), std::nan(""), std::nan("")};
    for (const auto& part : ctx.communicator()->gather_on_host(discretization->fluxes_of_edge(own, u, all.edge)))
      for (double BoxDiscretization::FluxesOfEdge::*const flux :
           {&BoxDiscretization::FluxesOfEdge::before, &BoxDiscretization::FluxesOfEdge::own,
            &BoxDiscretization::FluxesOfEdge::behind})
        if (!std::isnan(part.*flux)) found.*flux = part.*flux;
    all.change_of_flux = change_of_flux(found);
    return all;
  }

  [[nodiscard]] std::array<bool, 3> periodic() const {
    const auto is_periodic = [&](std::size_t d) { return mesh.axis(static_cast<int>(order[d])).is_periodic(); };
    return {is_periodic(0), is_periodic(1), is_periodic(2) && ranks() == 1};
  }

  /// What is no boundary's.
  void fill_ghosts() {
    fill_periodic_ghosts(ctx, periodic(), x.view);
    if (!has_below() && !has_above()) return;
    // From column -2 on: GPUs store 16 bytes at once where addresses are multiples of them.
    constexpr int first = -2;
    const auto& [nx, ny, nz] = x.view.extents;
    const auto plane = [this](bool there, int k) { return there ? &x.view(first, -1, k) : nullptr; };
    exchange({plane(has_below(), 0), plane(has_above(), nz - 1), plane(has_below(), -1), plane(has_above(), nz)},
             (ny + 1) * x.view.strides.row + nx + 1 - first);
  }

  /// || b - A x ||; v is scratch.
  double residual_norm() {
    fill_ghosts();
    return a.residual_norm(ctx, b.view, x.view, v.view);
  }

  /// |(x, b - A x)| <= |(x, b)|: the rounding of an x that blew up is no excuse for a residual above that of zero
  /// (solvers/rounding.hpp). Such an x, of a nearly singular operator, has no Dirichlet values beside it. v is scratch.
  bool has_its_size() {
    if (!homogeneous) return false;
    a.residual(ctx, b.view, x.view, v.view);
    const FieldView<const double, 3> solution = x.view, residual = v.view, rhs = b.view;
    return std::abs(dot(ctx, solution, residual)) <= std::abs(dot(ctx, solution, rhs));
  }

  SolveReport timed_solve(const Monitor& monitor) {
    const auto begin = Clock::now();
    SolveReport report = solve(monitor);
    report.solve_seconds = seconds_since(begin);
    report.setup_seconds = setup_seconds;
    report.choice = plan.method + ": " + plan.reason;
    return report;
  }

  SolveReport solve(const Monitor& monitor) {
    SolveReport report;
    if (!homogeneous) set(ctx, 0, x.view);
    if (!rhs_norm) rhs_norm = homogeneous ? norm2(ctx, b.view) : residual_norm();
    double r = *rhs_norm;
    const double first = r, target = std::max(params.stop.rtol * first, params.stop.atol);
    const auto record = [&](int iteration) {
      report.history.push_back(r);
      report.residual = r;
      report.iterations = iteration;
      if (monitor) monitor(iteration, r);
    };
    report.reference_norm = params.stop.reference_norm;
    report.reference_norm_value = report.initial_residual = first;
    record(0);
    if (!std::isfinite(first)) {
      report.status = Status::non_finite;
      report.reason = "the right-hand side or a boundary value is not finite";
      return report;
    }
    constexpr double stopped = 0.5, slack = 16, grown = 1e5, near = 32;
    report.status = r <= target ? Status::converged : Status::max_iterations;
    if (r <= target && homogeneous) set(ctx, 0, x.view);
    for (int k = 1; r > target && k <= params.stop.max_iterations; ++k) {
      const double before = r;
      if (k == 1 && homogeneous) {
        direct.apply(ctx, b.view, v.view, x.view, false);
      } else {
        a.residual(ctx, b.view, x.view, v.view);
        direct.apply(ctx, v.view, v.view, x.view, true);
      }
      r = residual_norm();
      record(k);
      if (r <= target) {
        report.status = Status::converged;
      } else if (!std::isfinite(r) || r > grown * first) {
        report.status = Status::diverged;
        report.reason = message("the residual rose from ", before, " to ", r);
        break;
      } else if (r > stopped * before || (params.stop.rounding_will_do && r <= near * target)) {
        const double level = 2 * std::numeric_limits<double>::epsilon() * a.magnitude(ctx, b.view, x.view, v.view);
        const bool falls = r <= stopped * before;
        const bool at_rounding = r <= (falls ? 1 : slack) * level && (r <= first || has_its_size());
        if (falls && !at_rounding) continue;
        report.status = at_rounding ? Status::round_off_limit : Status::stagnated;
        report.reason =
            message("the residual ", falls ? "is " : "no longer falls: ", r, " after ", before, "; ",
                    at_rounding ? "rounding of double leaves about " : "rounding of double alone would leave ", level);
        break;
      }
    }
    if (report.status == Status::converged)
      report.reason = first == 0 ? "the right-hand side and the boundary values are zero"
                                 : message("the residual ", r, " is at most ", target);
    if (report.status == Status::max_iterations)
      report.reason = max_iterations_reason(r, params.stop.max_iterations, target);
    if (discretization->is_singular()) {
      const double integral = box_sum(ctx, hat_weights(), x.view);
      box_add(ctx, -integral / discretization->volume(), x.view);
    }
    // Else they are those of the last residual.
    if (discretization->is_singular() || report.iterations == 0) fill_ghosts();
    ctx.synchronise();
    return report;
  }
};

PoissonSolver3D::PoissonSolver3D(Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                 const PoissonSolver3DParams& params)
    : implementation_(std::make_unique<Implementation>(ctx, mesh, problem, params)) {}
PoissonSolver3D::~PoissonSolver3D() = default;
PoissonSolver3D::PoissonSolver3D(PoissonSolver3D&&) noexcept = default;
PoissonSolver3D& PoissonSolver3D::operator=(PoissonSolver3D&&) noexcept = default;

SolveReport PoissonSolver3D::solve(const Monitor& monitor) {
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  return self.timed_solve(monitor);
}

SolveReport PoissonSolver3D::solve(FieldView<const double, 3> b, FieldView<double, 3> x, const Monitor& monitor) {
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  const Extents<3> own = unknowns().extents;
  expects_fit(self.ctx, "b", b, own);
  expects_fit(self.ctx, "x", x, own);
  self.take_rhs(b);
  SolveReport report = self.timed_solve(monitor);
  box_scatter(self.ctx, self.x.view, x.data, self.apart(x.strides));
  return report;
}

void PoissonSolver3D::set_rhs(const ScalarFunction3D& f) {
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  self.complete(self.discretization->load(self.ctx, f, self.loads()));
}

void PoissonSolver3D::set_nodal_rhs(std::span<const double> f) {
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  const BoxDiscretization& d = *self.discretization;
  expects(f.size() == d.nodes(), "the right-hand side has ", f.size(), " nodal values, the mesh has ", d.nodes(),
          " nodes");
  self.complete(d.load_of_nodal(self.ctx, f, self.loads()));
}

void PoissonSolver3D::set_load(std::span<const double> b) {
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  const BoxDiscretization& d = *self.discretization;
  expects(b.size() == d.nodes(), "the load has ", b.size(), " numbers, the mesh has ", d.nodes(), " nodes");
  self.complete(d.take_load(self.ctx, b, self.loads()));
}

std::vector<double> PoissonSolver3D::nodal_solution() const {
  Context ctx = implementation_->ctx;
  return to_host(ctx, implementation_->stored_nodes());
}

// Values that were fetched are on the host.

std::optional<RelativeErrors> PoissonSolver3D::relative_errors(std::span<const double> nodal) const {
  const Implementation& self = *implementation_;
  Context host(Backend::cpu, self.ctx.threads());
  return self.discretization->relative_errors(self.ctx, host, self.fetched(nodal));
}
std::optional<RelativeErrors> PoissonSolver3D::relative_errors() const {
  const Implementation& self = *implementation_;
  Context own = self.ctx.alone();
  return self.discretization->relative_errors(self.ctx, own, self.stored_nodes());
}

BoundaryFluxes3D PoissonSolver3D::fluxes(std::span<const double> nodal) const {
  const Implementation& self = *implementation_;
  return self.fluxes(Context(Backend::cpu, self.ctx.threads()), self.fetched(nodal));
}
BoundaryFluxes3D PoissonSolver3D::fluxes() const {
  return implementation_->fluxes(implementation_->ctx.alone(), implementation_->stored_nodes());
}

SolutionRange3D PoissonSolver3D::range(std::span<const double> nodal) const {
  const Implementation& self = *implementation_;
  return self.range(Context(Backend::cpu, self.ctx.threads()), self.fetched(nodal));
}
SolutionRange3D PoissonSolver3D::range() const {
  return implementation_->range(implementation_->ctx.alone(), implementation_->stored_nodes());
}

const std::optional<Compatibility>& PoissonSolver3D::compatibility() const { return implementation_->compatibility; }
const DirectSolverPlan& PoissonSolver3D::plan() const { return implementation_->plan; }
NodePlanes PoissonSolver3D::nodes() const { return implementation_->nodes(); }
GridLayout<3> PoissonSolver3D::unknowns() const {
  const Implementation& self = *implementation_;
  GridLayout<3> layout = self.mesh.unknowns();
  const auto lines = static_cast<std::size_t>(self.plan.lines);
  auto& [nx, ny, nz] = layout.extents;
  *std::array{&nx, &ny, &nz}[lines] = self.slab.extents.nz;
  layout.first[lines] = self.slab.first[2];
  layout.lower[lines] = self.slab.lower[2];
  layout.upper[lines] = self.slab.upper[2];
  return layout;
}
const TensorMesh<3>& PoissonSolver3D::mesh() const { return implementation_->mesh; }
const PoissonProblem3D& PoissonSolver3D::problem() const { return implementation_->problem; }

void PoissonSolver3D::set_stop(const StoppingParams& stop) {
  stop.validate();
  implementation_->params.stop = stop;
}

NodePlanes node_planes(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem) {
  const TensorMesh<3> box = with_boundaries(mesh, problem.boundaries);
  const int lines = plan_of(box, ctx.subdomains()).lines;
  return nodes_of(ctx, box, lines, slab_of(ctx, box, order_of(lines), rank_of(ctx)));
}

std::int64_t required_memory(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                             const PoissonSolver3DParams& params) {
  Context dry_run = ctx.memory_dry_run();
  const PoissonSolver3D solver(dry_run, mesh, problem, params);
  return dry_run.memory()->peak_bytes;
}

}  // namespace stratum
