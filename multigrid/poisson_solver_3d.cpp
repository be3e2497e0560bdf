#include <stratum/multigrid/poisson_solver_3d.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/assembly/box_discretization.hpp>
#include <stratum/core/clock.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/core/operators/box_operator.hpp>
#include <stratum/core/reentrancy_guard.hpp>
#include <stratum/core/shared.hpp>
#include <stratum/multigrid/box_deflation.hpp>
#include <stratum/multigrid/box_iteration.hpp>
#include <stratum/multigrid/box_memory.hpp>
#include <stratum/multigrid/box_plan.hpp>
#include <stratum/multigrid/box_refinement.hpp>
#include <stratum/multigrid/box_slabs.hpp>
#include <stratum/multigrid/box_solids.hpp>
#include <stratum/multigrid/plane_multigrid.hpp>
#include <stratum/multigrid/scaled_diagonalization.hpp>
#include <stratum/solvers/direct/box_diagonalization.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

}  // namespace

struct PoissonSolver3D::Implementation {
  Context ctx;
  TensorMesh<3> mesh;
  PoissonProblem3D problem;
  PoissonSolver3DParams params;
  BoxSolverPlan plan;
  BoxOrder order;
  BoxSlabs slabs;
  ReentrancyGuard guard;
  std::optional<BoxDiscretization> discretization;  // of this rank's cells; none in a memory dry run
  BoxOperator a;
  BoxDiagonalization direct;
  std::optional<PlaneMultigrid> in_planes;                 // in its place
  std::optional<BoxIteration> iterative;                   // where the method is not direct
  std::optional<BoxSolids> solids;                         // around which it is so
  std::shared_ptr<ScaledDiagonalization> scaled;           // its preconditioner, of fd-cg
  std::array<GatedAxis, 3> gate;                           // of multigrid, by K of the whole box
  double reaction_of_levels = 0;                           // that its levels were made for
  BoxMemory b, x, v, beside;                               // beside: a plane of loads of the rank below
  std::optional<BoxFactors> hats;                          // integrals of phi_i of a singular problem
  std::optional<BoxDiscretization::FaceLoads> face_loads;  // none of a right-hand side in the Context's memory
  std::optional<Compatibility> compatibility;
  std::vector<Compatibility> compatibility_of_rooms;
  bool homogeneous = true;         // Dirichlet values are zero
  std::optional<double> rhs_norm;  // of b - A x where x is zero but for them; found by the first solve
  double setup_seconds = 0;

  using Material = std::shared_ptr<const BoxMaterial>;
  static Material material_of(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& p,
                              const PoissonSolver3DParams& s) {
    auto found = find_material(ctx, mesh, p);
    const bool by_cells = found.is_separable() && s.method != BoxMethod::direct &&
                          !select_box_method(ctx, mesh, p, found, s.method).is_direct();
    return std::make_shared<const BoxMaterial>(by_cells ? find_material(ctx, mesh, p, true) : std::move(found));
  }

  /// `material` and a mesh with the ends of the problem's faces.
  Implementation(Context& context, TensorMesh<3> box, const PoissonProblem3D& p, const PoissonSolver3DParams& s,
                 const Material& material)
      : ctx(context), mesh(std::move(box)), problem(p), params(s),
        plan(select_box_method(context, mesh, p, *material, s.method)),
        order(order_of(plan.is_direct() ? plan.lines : 2)), slabs(context, mesh, order) {
    params.stop.validate();
    if (has_solids(*material)) {
      expects(!problem.exact,
              "errors around bodies that hold u or let nothing in are not computed in a box: leave the exact "
              "solution out");
      problem = in_live_cells(mesh, *material->bodies, problem);
    }
    if (!ctx.is_dry_run()) expect_room(material);
    std::array<AxisFactors, 3> factors;
    for (std::size_t d = 0; d < 3; ++d) factors[d] = axis_factors(mesh, problem, *material, order[d]);
    if (!ctx.is_dry_run()) {
      constexpr std::int64_t small_box = std::int64_t{1} << 18;
      constexpr int most_points = 4, points_of_large = 2;
      const int points = mesh.cells() <= small_box ? most_points : points_of_large;
      discretization.emplace(ctx, mesh, problem, material,
                             params.quadrature_points == 0 ? points : params.quadrature_points);
    }
    const Extents<3>& own = slabs.layout().extents;
    const std::array<int, 3> n{own.nx, own.ny, own.nz};
    if (plan.is_direct())
      set_up_direct(factors, n);
    else
      set_up_iteration(factors, *material);
    // The plane that the next rank begins with, of which loads give each a part.
    b = BoxMemory(ctx, {n[0], n[1], n[2] + (slabs.has_above() ? 1 : 0)}, false);
    b.view.extents.nz = n[2];
    x = BoxMemory(ctx, n, true);
    if (ranks() > 1) beside = BoxMemory(ctx, {n[0], n[1], 1}, false);
    reserve_reductions(ctx, Extents<3>{n[0] + 2, n[1] + 2, n[2] + 2});
    if (ctx.is_dry_run()) {
      count_loads();
      return;
    }
    if (is_singular_box()) {
      std::array<Values, 3> of_box;
      for (std::size_t d = 0; d < 3; ++d) of_box[d] = discretization->hat_integrals(static_cast<int>(d));
      Values& across = of_box[order[2]];
      const auto first = across.begin() + slabs.first_plane();
      across = {first, first + n[2]};
      hats.emplace(ctx, of_box);
    }
    if (ranks() > 1) {
      const NodePlanes planes = slabs.nodes();
      discretization.emplace(BoxDiscretization(ctx, *discretization, planes.axis, planes.first, planes.last));
    }
    homogeneous = !discretization->set_dirichlet_values(ctx, stored_nodes());
    if (ranks() > 1) {
      const auto of_ranks = ctx.communicator()->gather_on_host(homogeneous ? 1 : 0);
      homogeneous = *std::min_element(of_ranks.begin(), of_ranks.end()) == 1;
    }
    complete(discretization->load(ctx, loads()));
  }

  [[nodiscard]] static bool has_solids(const BoxMaterial& material) {
    return material.bodies && material.bodies->has_solids();
  }
  /// No boundary has values, but a reaction or Robin conditions hold u.
  [[nodiscard]] bool is_held_by_terms() const {
    const auto has_values = [&](BoxFace face) {
      return problem.boundaries[face].kind == BoundaryConditionType::dirichlet;
    };
    return !solids && !is_singular(mesh, problem) &&
           std::none_of(all_box_faces.begin(), all_box_faces.end(), has_values);
  }
  /// Around bodies every room has its own constant (BoxSolids).
  [[nodiscard]] bool is_singular_box() const { return discretization->is_singular() && !solids; }
  void expects_no_solids() const {
    expects(!solids,
            "around bodies that hold u or let nothing in f is a function: nothing else says what it is beside them");
  }
  [[nodiscard]] int ranks() const { return ctx.subdomains(); }
  /// The direction that is last in the order of storage, and cut.
  [[nodiscard]] int lines() const { return static_cast<int>(order[2]); }

  /// Of a dry run, what loads and summaries take for a while.
  void count_loads() {
    const Extents<3>& n = slabs.layout().extents;
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

  void set_up_direct(const std::array<AxisFactors, 3>& factors, const std::array<int, 3>& n) {
    a = BoxOperator(ctx, slabs.own(factors), problem.reaction);
    v = BoxMemory(ctx, n, false);
    if (plan.kind == BoxMethod::planes) {
      const auto axis = [&](std::size_t d) { return mesh.axis(static_cast<int>(order[d])); };
      in_planes.emplace(ctx, TensorMesh<2>(axis(0), axis(1)), factors[2], problem.reaction);
      return;
    }
    std::array<LineModes, 2> modes;
    if (!ctx.is_dry_run()) modes = modes_of(ctx, factors[0], factors[1]);
    direct = BoxDiagonalization(ctx, factors, problem.reaction, modes[0], modes[1], slabs.cuts());
  }

  void set_up_iteration(const std::array<AxisFactors, 3>& factors, const BoxMaterial& material) {
    // K lies on the host, too, and once more while it is taken.
    const std::size_t cells = static_cast<std::size_t>(mesh.cells()) * (material.yy.empty() ? 2 : 6);
    const auto on_host = ctx.is_dry_run() && !ctx.on_gpu() ? allocate(ctx, cells * sizeof(double)) : nullptr;
    BoxCoefficients c{factors, {}, {}, {}, problem.reaction};
    c.slab = slabs.of_matrices();
    const int planes = slabs.layout().extents.nz;
    if (ranks() > 1) c.axes[2] = of_slab(factors[2], c.slab, planes);
    if (discretization) c = discretization->coefficients(ctx, c.slab, planes);
    if (has_solids(material)) {
      solids.emplace(ctx, mesh, problem, material, c, slabs.cuts(), params.float_cycles);
      plan.float_cycles = solids->has_float_cycle();
      if (params.float_cycles && !plan.float_cycles)
        plan.reason +=
            solids->is_singular() ? "; cycles in double, since nothing holds u in some room" : broken_in_float;
      iterative.emplace(ctx, solids->matrix(), solids->cycle(), in_double(*solids));
      return plan.set_distributed(solids->distributed_levels());
    }
    const BoxMatrix<double> matrix = BoxCells<double>(ctx, c, material.yy.empty());
    if (plan.kind == BoxMethod::fd_cg) {
      scaled = std::make_shared<ScaledDiagonalization>(ctx, c, factors, plan.lines, slabs.cuts());
      iterative.emplace(ctx, matrix, scaled);
    } else {
      gate = gate_of(mesh, material);
      make_levels(matrix, problem.reaction);
      plan.float_cycles = iterative->is_in_float();
      if (params.float_cycles && !plan.float_cycles) plan.reason += broken_in_float;
      deflate(c, material);
    }
    plan.set_distributed(iterative->distributed_levels());
  }
  /// Of a reaction other levels may be made later, for which the vectors would not be.
  void deflate(const BoxCoefficients& c, const BoxMaterial& material) {
    const BoxShape& shape = iterative->a.shape();
    if (material.xx.empty() || !material.yy.empty() || problem.reaction != 0 || is_singular(mesh, problem) ||
        mesh.cells() > std::numeric_limits<int>::max() || !are_even(gate))
      return;
    const IsolatedBodies bodies(mesh, material.xx);
    if (!deflation_pays({bodies.count, bodies.jump, params.float_cycles})) return;
    if (ranks() > 1 &&
        (bodies.count < BoxDeflation::least_on_ranks ||
         std::int64_t{shape.n.nx} * shape.n.ny * shape.all_planes() > BoxDeflation::most_unknowns_on_ranks))
      return;
    if (ctx.is_dry_run()) {
      const auto on_host = ctx.on_gpu() ? nullptr : allocate(ctx, bodies.bytes(shape));
      return;
    }
    BoxDeflation made = make_box_deflation(ctx, c, bodies);
    if (!made.solver) return;
    iterative->set_solver(std::move(made.solver));
    plan.reason +=
        message("; a deflation vector for each of ", made.count, made.count == 1 ? " body" : " bodies", " of high K");
  }
  void make_levels(const BoxMatrix<double>& matrix, double reaction) {
    iterative.emplace(ctx, matrix, gate,
                      BoxMultigridParams{.gate = {}, .singular = is_singular(mesh, problem), .cuts = slabs.cuts()},
                      params.float_cycles);
    reaction_of_levels = reaction;
  }

  void set_reaction(double c) {
    expects(std::isfinite(c) && c > 0 && problem.reaction > 0 && !solids,
            "without bodies that hold u or let nothing in a reaction c > 0 takes the place of another one, not ", c,
            " that of ", problem.reaction);
    problem.reaction = c;
    rhs_norm.reset();
    a.set_reaction(c);
    direct.set_reaction(ctx, c);
    if (in_planes) in_planes->set_reaction(c);
    if (scaled) scaled->set_reaction(ctx, c);
    if (plan.is_direct()) return;
    if (const double rounded = levels_reaction(c); !scaled && rounded != reaction_of_levels) {
      const BoxMatrix<double> matrix = iterative->a.with_reaction(rounded);
      iterative.reset();  // makes room
      make_levels(matrix, rounded);
    }
    iterative->set_reaction(ctx, c);
  }

  static std::int64_t memory_of(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                const PoissonSolver3DParams& params, const Material& material) {
    Context dry_run = ctx.memory_dry_run();
    const Implementation solver(dry_run, mesh, problem, params, material);
    if (solver.iterative && solver.is_held_by_terms())
      HeldConstant::count_memory(dry_run, rows_of(solver.iterative->a.shape()));
    return dry_run.memory()->peak_bytes;
  }
  void expect_room(const Material& material) const {
    const auto& n = plan.unknowns;
    expect_memory(ctx, message("mesh ", mesh.name(), " with ", n[0], " x ", n[1], " x ", n[2], " unknowns"),
                  memory_of(ctx, mesh, problem, params, material));
  }

  [[nodiscard]] StoredBox<double> rhs() const { return {b.view, order}; }
  /// With the plane that the next rank begins with.
  [[nodiscard]] StoredBox<double> loads() const {
    StoredBox<double> loads = rhs();
    loads.view.extents.nz += slabs.has_above() ? 1 : 0;
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
    slabs.add_from_below(ctx, b.view, beside.view);
    compatibility.reset();
    if (is_singular_box())
      compatibility = discretization->balance(ctx, *hats, params.project, "the integral of f plus the boundary fluxes",
                                              rhs(), &of_faces);
    face_loads = std::move(of_faces);
    rhs_norm.reset();
  }

  [[nodiscard]] std::array<const double*, 3> hat_weights() const { return rhs().stored(hats->begin()); }

  /// The same of a right-hand side in the Context's memory.
  void take_rhs(const StoredBox<const double>& given) {
    expects_no_solids();
    box_gather(ctx, given.view.data, rhs().stored(given.apart()), b.view);
    face_loads.reset();
    rhs_norm.reset();
    if (is_singular_box())
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
    BoundaryFluxes3D all = slabs.sum(ctx, discretization->fluxes(own, u, *face_loads));
    if (solids && compatibility) all.load -= compatibility->sum;
    return all;
  }
  [[nodiscard]] SolutionRange3D range(Context own, StoredBox<const double> u) const {
    SolutionRange3D all = slabs.joined(ctx, discretization->range(own, u), *discretization, own, u);
    if (solids) all.change_of_flux = 0;  // nodes without an equation have no steps
    return all;
  }

  void fill_ghosts() { slabs.fill_ghosts(ctx, x.view); }

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

  /// x = A^-1 rhs, or x + A^-1 rhs; v is scratch.
  void apply_inverse(const FieldView<const double, 3>& rhs, bool add) {
    if (in_planes)
      in_planes->apply(ctx, rhs, v.view, x.view, add);
    else
      direct.apply(ctx, rhs, v.view, x.view, add);
  }

  SolveReport timed_solve(const Monitor& monitor) {
    const auto begin = Clock::now();
    SolveReport report = iterative ? iterate(monitor) : solve(monitor);
    report.solve_seconds = seconds_since(begin);
    report.setup_seconds = setup_seconds;
    report.choice = plan.method + ": " + plan.reason;
    return report;
  }

  /// Conjugate gradients for what is left beside the Dirichlet values.
  SolveReport iterate(const Monitor& monitor) {
    const BoxShape& shape = iterative->a.shape();
    const auto rhs = box_of(shape, iterative->b.view());
    set(ctx, 0, x.view);
    if (solids) {
      solids->set_values(ctx, x.view);
      fill_ghosts();
      solids->cells().residual(ctx, b.view, x.view, rhs);
      compatibility_of_rooms = solids->make_rhs(ctx, params.project, rhs);
      compatibility = compatibility_of_rooms.empty() ? std::nullopt : std::optional(sum_of(compatibility_of_rooms));
    } else if (homogeneous) {
      copy(ctx, b.view, rhs);
    } else {
      fill_ghosts();
      iterative->a.residual(ctx, b.view, x.view, rhs);
    }
    SolveReport report = iterative->solve(ctx, params.stop, monitor);
    if (is_held_by_terms()) iterative->settle_constant(ctx, params.stop, report);
    copy(ctx, box_of(shape, iterative->x.view()), x.view);
    if (solids) solids->complete(ctx, x.view);
    end_solve(true);
    return report;
  }

  /// The solution of a singular problem has no mean. `fill`: ghosts are not those of the last residual.
  void end_solve(bool fill) {
    if (is_singular_box()) {
      const double integral = box_sum(ctx, hat_weights(), x.view);
      box_add(ctx, -integral / discretization->volume(), x.view);
    }
    if (fill || is_singular_box()) fill_ghosts();
    ctx.synchronise();
  }

  SolveReport solve(const Monitor& monitor) {
    if (!homogeneous) set(ctx, 0, x.view);
    if (!rhs_norm) rhs_norm = homogeneous ? norm2(ctx, b.view) : residual_norm();
    const SolveReport report = refine({.correct =
                                           [&](bool is_first) {
                                             if (is_first && homogeneous) return apply_inverse(b.view, false);
                                             a.residual(ctx, b.view, x.view, v.view);
                                             apply_inverse(v.view, true);
                                           },
                                       .residual_norm = [&] { return residual_norm(); },
                                       .magnitude = [&] { return a.magnitude(ctx, b.view, x.view, v.view); },
                                       .has_its_size = [&] { return has_its_size(); }},
                                      *rhs_norm, params.stop, monitor);
    if (report.status == Status::non_finite && report.iterations == 0) return report;
    if (report.status == Status::converged && report.iterations == 0 && homogeneous) set(ctx, 0, x.view);
    end_solve(report.iterations == 0);
    return report;
  }
};

PoissonSolver3D::PoissonSolver3D(Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                 const PoissonSolver3DParams& params)
    : implementation_([&] {
        const auto begin = Clock::now();
        const TensorMesh<3> box = with_boundaries(mesh, problem.boundaries);
        const auto material = Implementation::material_of(ctx, box, problem, params);
        auto made = std::make_unique<Implementation>(ctx, box, problem, params, material);
        made->setup_seconds = seconds_since(begin);
        return made;
      }()) {}
PoissonSolver3D::~PoissonSolver3D() = default;
PoissonSolver3D::PoissonSolver3D(PoissonSolver3D&&) noexcept = default;
PoissonSolver3D& PoissonSolver3D::operator=(PoissonSolver3D&&) noexcept = default;

SolveReport PoissonSolver3D::solve(const Monitor& monitor) {
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  return self.timed_solve(monitor);
}

SolveReport PoissonSolver3D::solve(FieldView<const double, 3> b, FieldView<double, 3> x, const Monitor& monitor) {
  return solve(StoredBox<const double>{b}, StoredBox<double>{x}, monitor);
}
SolveReport PoissonSolver3D::solve(StoredBox<const double> b, StoredBox<double> x, const Monitor& monitor) {
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  const Extents<3> own = unknowns().extents;
  const auto expects_box = [&](const char* name, const auto& box) {
    const auto n = box.stored(std::array{own.nx, own.ny, own.nz});
    expects_fit(self.ctx, name, box.view, Extents<3>{n[0], n[1], n[2]});
  };
  expects_box("b", b);
  expects_box("x", x);
  self.take_rhs(b);
  SolveReport report = self.timed_solve(monitor);
  box_scatter(self.ctx, self.x.view, x.view.data, self.rhs().stored(x.apart()));
  return report;
}

void PoissonSolver3D::set_reaction(double c) {
  const auto entered = implementation_->guard.enter("solver");
  implementation_->set_reaction(c);
}

void PoissonSolver3D::set_rhs(const ScalarFunction3D& f) {
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  const auto& bodies = self.discretization->material().bodies;
  self.complete(
      self.discretization->load(self.ctx, self.solids ? in_live_cells(self.mesh, *bodies, f) : f, self.loads()));
}

void PoissonSolver3D::set_nodal_rhs(std::span<const double> f) {
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  self.expects_no_solids();
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
  const Implementation& self = *implementation_;
  Context ctx = self.ctx;
  std::vector<double> nodal = to_host(ctx, self.stored_nodes());
  if (self.solids) self.solids->hide_inactive(nodal, self.slabs.nodes().first);
  return nodal;
}
std::vector<BoxBodyFlux> PoissonSolver3D::body_fluxes() const {
  const Implementation& self = *implementation_;
  const auto& bodies = self.discretization->material().bodies;
  if (!bodies) return {};
  Context ctx = self.ctx;
  auto found = self.slabs.means(ctx, self.mesh, *bodies, nodal_solution());
  if (!self.solids) return found;
  Field<double> scratch(ctx, rows_of(self.iterative->a.shape()));
  self.solids->add_fluxes(ctx, self.b.view, self.x.view, box_of(self.iterative->a.shape(), scratch.view()), found);
  return found;
}

// Values that were fetched are on the host.

std::optional<RelativeErrors> PoissonSolver3D::relative_errors(std::span<const double> nodal) const {
  const Implementation& self = *implementation_;
  if (self.solids) return std::nullopt;
  Context host(Backend::cpu, self.ctx.threads());
  return self.discretization->relative_errors(self.ctx, host, self.fetched(nodal));
}
std::optional<RelativeErrors> PoissonSolver3D::relative_errors() const {
  const Implementation& self = *implementation_;
  if (self.solids) return std::nullopt;
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
const std::vector<Compatibility>& PoissonSolver3D::compatibility_of_rooms() const {
  return implementation_->compatibility_of_rooms;
}
const BoxSolverPlan& PoissonSolver3D::plan() const { return implementation_->plan; }
NodePlanes PoissonSolver3D::nodes() const { return implementation_->slabs.nodes(); }
GridLayout<3> PoissonSolver3D::unknowns() const { return implementation_->slabs.unknowns(implementation_->mesh); }
const TensorMesh<3>& PoissonSolver3D::mesh() const { return implementation_->mesh; }
const PoissonProblem3D& PoissonSolver3D::problem() const { return implementation_->problem; }

void PoissonSolver3D::set_stop(const StoppingParams& stop) {
  stop.validate();
  implementation_->params.stop = stop;
}

NodePlanes node_planes(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                       BoxMethod method) {
  const TensorMesh<3> box = with_boundaries(mesh, problem.boundaries);
  // Of one rank any direction will do.
  const auto lines = [&] {
    const BoxSolverPlan plan = select_box_method(ctx, box, problem, find_material(ctx, box, problem), method);
    return plan.is_direct() ? plan.lines : 2;
  };
  return BoxSlabs(ctx, box, order_of(ctx.subdomains() == 1 ? 2 : lines())).nodes();
}

std::int64_t required_memory(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                             const PoissonSolver3DParams& params) {
  using Implementation = PoissonSolver3D::Implementation;
  const TensorMesh<3> box = with_boundaries(mesh, problem.boundaries);
  return Implementation::memory_of(ctx, box, problem, params, Implementation::material_of(ctx, box, problem, params));
}

}  // namespace stratum
