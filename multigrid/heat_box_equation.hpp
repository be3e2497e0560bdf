#pragma once

// The equation of a box, for HeatSteps (multigrid/heat_steps.hpp) and HeatSolver3D (multigrid/heat_solver_3d.hpp). The ghosts of
// a vector are its values at Dirichlet nodes, and in periodic directions what lies across, as operators want them.
//
// Of several ranks each has planes of unknowns (multigrid/box_slabs.hpp), across the direction that the solver of stages cuts,
// and ghosts are also those of the ranks beside it. The planes of nodes around its cells are `planes`. Loads are integrals over
// its own cells, and what the rank below has for its first plane is added. All ranks call together.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/assembly/box_discretization.hpp>
#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/field/blas_3d.hpp>
#include <stratum/multigrid/box_memory.hpp>
#include <stratum/multigrid/box_multigrid.hpp>
#include <stratum/multigrid/box_plan.hpp>
#include <stratum/multigrid/box_slabs.hpp>
#include <stratum/multigrid/data_in_time.hpp>
#include <stratum/multigrid/heat_box_operator.hpp>
#include <stratum/multigrid/heat_box_solids.hpp>
#include <stratum/multigrid/heat_solver_3d.hpp>
#include <stratum/solvers/preconditioners/mass_diagonal.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum {

/// Factors of M alone.
[[nodiscard]] inline std::array<AxisFactors, 3> mass_factors(std::array<AxisFactors, 3> factors) {
  for (AxisFactors& axis : factors) axis.k.assign(axis.k.size(), 0.0);
  return factors;
}

/// Of K and M of the directions, about: no eigenvalue is much larger.
[[nodiscard]] inline double largest_ratio(const std::array<AxisFactors, 3>& factors) {
  double sum = 0;
  for (const AxisFactors& axis : factors) {
    double least = std::numeric_limits<double>::infinity();
    for (const double m : axis.m)
      if (m > 0) least = std::min(least, m);
    sum += *std::max_element(axis.k.begin(), axis.k.end()) / least;
  }
  return sum;
}

/// With zero on its Dirichlet faces and in the place of f.
[[nodiscard]] inline PoissonProblem3D homogeneous(PoissonProblem3D problem, double reaction) {
  problem.reaction = reaction;
  problem.reaction_name = "the mass matrix of a time step";
  problem.exact = {};
  problem.boundary = {};
  for (BoundaryCondition3D& face : problem.boundaries.faces) face.value = {};
  problem.rhs = at_time(HeatProblem3D{}, 0).rhs;
  return problem;
}

/// With bodies on the mesh, and data that do not count in those which are held or let nothing in.
[[nodiscard]] inline HeatProblem3D with_bodies_on(const Context& ctx, const TensorMesh<3>& mesh,
                                                  const HeatProblem3D& given, double start) {
  HeatProblem3D problem = given;
  problem.steady_rhs = has_steady_rhs(given);
  problem.steady_faces = has_steady_faces(given);
  if (given.space.bodies.empty()) return problem;
  problem.space.on_mesh = bodies_on(ctx, mesh, at_time(given, start));
  if (!problem.space.on_mesh->has_solids()) return problem;
  problem.space = in_live_cells(mesh, *problem.space.on_mesh, problem.space);
  if (!given.space.rhs) problem.space.rhs = {};
  return problem;
}

class BoxEquation {
 public:
  using Values = std::vector<double>;
  using Params = HeatParams3D;
  using Vector = Field<double, 3>;

  BoxEquation(Context& ctx, const TensorMesh<3>& box, const HeatProblem3D& p, const HeatParams3D& params, double s)
      : mesh(with_boundaries(box, p.space.boundaries)), problem(with_bodies_on(ctx, mesh, p, params.start)),
        steady_rhs_(problem.steady_rhs), steady_faces_(problem.steady_faces), s_(s) {
    expects(std::isfinite(p.capacity) && p.capacity > 0, "the capacity must be finite and positive, not ", p.capacity);
    expects(std::isfinite(p.space.reaction) && p.space.reaction >= 0,
            "the reaction coefficient c must be finite and not negative, not ", p.space.reaction);
    PoissonProblem3D now = at_time(problem, params.start);
    const bool has_solids = now.on_mesh && now.on_mesh->has_solids();
    conserves_ = is_singular(mesh, now);
    // A step has a mass: what is separable without one may not be so here, and errors include means.
    if (!has_solids) now.reaction = reaction();
    const auto material = std::make_shared<const BoxMaterial>(find_material(ctx, mesh, now));
    share(ctx, now, *material, params.solver.method);
    std::array<AxisFactors, 3> factors;
    for (std::size_t d = 0; d < 3; ++d) factors[d] = axis_factors(mesh, now, *material, order_[d]);
    if (!ctx.is_dry_run()) {
      constexpr std::int64_t small_box = std::int64_t{1} << 18;
      constexpr int most_points = 4, usual_points = 2;
      const int points = params.solver.quadrature_points > 0        ? params.solver.quadrature_points
                         : steady_rhs_ && mesh.cells() <= small_box ? most_points
                                                                    : usual_points;
      discretization.emplace(ctx, mesh, now, material, points);
    }
    if (material->is_separable()) {
      a_ = BoxA(ctx, slabs_->own(factors), problem.space.reaction);
    } else {
      BoxCoefficients c = coefficients(factors);
      if (discretization) c = discretization->coefficients(ctx, c.slab, layout_.extents.nz);
      c.reaction = problem.space.reaction;
      a_ = BoxA(ctx, c, material->yy.empty());
      if (has_solids) {
        solids.emplace(ctx, mesh, problem, *material, c, slabs_->cuts(), params.solver, s);
        conserves_ = solids->solids().is_free();
      }
    }
    mass_factors_ = mass_factors(factors);
    largest_ratio_ = (largest_ratio(factors) + problem.space.reaction) / problem.capacity;
    mass_ = BoxOperator(ctx, slabs_->own(mass_factors_), problem.capacity);
    stage_mass_ = minus_mass_ = mass_;
    minus_mass_.set_reaction(-problem.capacity);
    if (discretization && ctx.subdomains() > 1)
      discretization.emplace(BoxDiscretization(ctx, *discretization, planes().axis, planes().first, planes().last));
    for (auto* v : {&load_, &inside_, &residual_, &correction_}) *v = vector(ctx);
    if (steady_rhs_ && !steady_faces_) source_ = vector(ctx);
    if (has_solids) return;
    // Levels that depend on s alone: a run goes on from a state with the same bits.
    solver.emplace(ctx, mesh, homogeneous(now, PoissonSolver3D::levels_reaction(reaction())), params.solver);
    solver->set_reaction(reaction());
    use_shift();
  }

  TensorMesh<3> mesh;
  HeatProblem3D problem;
  std::optional<BoxDiscretization> discretization;  // none in a memory dry run
  std::optional<PoissonSolver3D> solver;            // of stages
  std::optional<BoxHeatSolids> solids;              // in its place, where there are some

  [[nodiscard]] const BoxSolverPlan& plan() const { return solids ? solids->plan() : solver->plan(); }

  /// This rank's.
  [[nodiscard]] NodePlanes planes() const { return slabs_->nodes(); }
  [[nodiscard]] const BoxSlabs& slabs() const { return *slabs_; }

  [[nodiscard]] Vector vector(Context& ctx) const { return Vector(ctx, layout_); }
  /// Unknowns of this rank.
  [[nodiscard]] std::int64_t nodes() const { return layout_.nodes(); }

  static void copy(Context& ctx, const Vector& x, Vector& y) { stratum::copy(ctx, whole(x), whole(y)); }
  static void axpy(Context& ctx, double a, const Vector& x, Vector& y) { stratum::axpy(ctx, a, whole(x), whole(y)); }
  static void axpys(Context& ctx, double a, const Vector& x, double b, const Vector& y, Vector& z) {
    axpy(ctx, a, x, z);
    axpy(ctx, b, y, z);
  }
  static void slope(Context& ctx, double s, const Vector& x, Vector& k) {
    xpay(ctx, whole(x), -1, whole(k));
    axpy(ctx, s - 1, k, k);
  }
  void copy_unknowns(Context& ctx, const Vector& x, Vector& y) const {
    if (solids) return solids->take_unknowns(ctx, x.cview(), y.view());
    stratum::copy(ctx, x.cview(), y.view());
  }
  static void set(Context& ctx, double a, Vector& x) { stratum::set(ctx, a, x.view()); }
  [[nodiscard]] static double norm2(Context& ctx, const Vector& x) { return stratum::norm2(ctx, x.cview()); }

  void mass(Context& ctx, Vector& x, Vector& y) {
    if (solids) return solids->mass(ctx, x.cview(), y.view());
    // Values at Dirichlet nodes are left out.
    const bool has_none = dirichlet_.empty() || (faces_known_ && kept_.empty());
    if (!has_none) copy_unknowns(ctx, x, inside_);
    Vector& own = has_none ? x : inside_;
    fill(ctx, own);
    stratum::set(ctx, 0, y.view());
    minus_mass_.residual(ctx, y.cview(), own.cview(), y.view());
  }
  [[nodiscard]] double size(Context& ctx, Vector& x, Vector& y) {
    mass(ctx, x, y);
    return std::sqrt(std::max(0.0, dot(ctx, x.cview(), y.cview())));
  }
  [[nodiscard]] static bool size_leaves_mass() { return true; }

  void set_boundary(Context& ctx, double t, Vector& x) {
    set_faces(ctx, t, x);
    if (solids) solids->set_values(ctx, t, x.view());
  }
  void set_faces(Context& ctx, double t, Vector& x) {
    if (dirichlet_.empty() || (faces_known_ && kept_.empty())) return;
    if (faces_known_) {
      for (std::size_t n = 0; n < dirichlet_.size(); ++n)
        stratum::copy(ctx, kept_[n].cview(), nodes_of(x, dirichlet_[n]).view);
      return;
    }
    if (!steady_faces_) discretization->set_data(ctx, at_time(problem, t));
    clear_boundary(ctx, x);
    const bool any = discretization->set_dirichlet_values(ctx, nodes_of(x));
    if (!steady_faces_) return;
    faces_known_ = true;
    if (!any) return;
    for (const BoxFace face : dirichlet_) {
      const FieldView<double, 3> values = nodes_of(x, face).view;
      kept_.emplace_back(ctx, GridLayout<3>::box(values.extents, {}, 0));
      stratum::copy(ctx, values, kept_.back().view());
    }
  }
  void copy_boundary(Context& ctx, Vector& x, Vector& y) const {
    if (solids) solids->take_others(ctx, x.cview(), y.view());
    if (steady_faces_) return;  // y is a step from a vector that has them
    for (const BoxFace face : dirichlet_) stratum::copy(ctx, nodes_of(x, face).view, nodes_of(y, face).view);
  }
  void begin_boundary(Context& ctx, double t, double moment, Vector& u, Vector& k) {
    clear_boundary(ctx, k);
    if (steady_faces_ || solids) return;  // a lumped mass has no part of theirs
    Vector& change = correction_;
    set_boundary(ctx, t + moment, change);
    axpy(ctx, -1, u, change);
    axpy(ctx, 1 / moment - 1, change, change);
    copy_boundary(ctx, change, k);
    set_zero_with_ghosts(ctx, change);
  }
  void initial(Context& ctx, double t, Vector& u) const {
    Values own(static_cast<std::size_t>(nodes()));
    const auto [nx, ny, nz] = layout_.extents;
    const std::array<int, 3>& first = slabs_->layout().first;
    for_each_row(
        ctx, nz,
        [&, nx = nx, ny = ny](int k, const ScalarFunction3D& f) {
          auto value = own.begin() + std::ptrdiff_t{k} * nx * ny;
          for (int j = 0; j < ny; ++j)
            for (int i = 0; i < nx; ++i) {
              const auto at =
                  StoredBox<double>{{}, order_}.stored(std::array{first[0] + i, first[1] + j, first[2] + k});
              *value++ = is_unknown(at) ? evaluate(f, node_point(mesh, at[0], at[1], at[2]), "initial value") : 0;
            }
        },
        initial_function(problem, t));
    copy_from_host<double>(ctx, own.data(), u.view());
  }

  [[nodiscard]] double s() const { return s_; }
  bool update(Context& ctx, double /*t*/, double s) {
    if (s == s_) return false;
    s_ = s;
    if (solids) return solids->set_shift(ctx, s), true;
    solver->set_reaction(reaction());
    use_shift();
    return true;
  }

  void stage_rhs(Context& ctx, double t, Vector& p, const Vector& /*x*/, Vector& b) {
    find_load(ctx, t);
    if (solids) {
      solids->mass(ctx, p.cview(), b.view());
      xpay(ctx, load_.cview(), s_, b.view());
      return solids->keep(ctx, b.view());
    }
    fill(ctx, p);
    stage_mass_.residual(ctx, load_.cview(), p.cview(), b.view());
  }
  void slope_rhs(Context& ctx, double t, Vector& u, Vector& k, Vector& b) {
    find_load(ctx, t);
    fill(ctx, u);
    a_.residual(ctx, load_.cview(), u.cview(), b.view());
    if (solids) return solids->keep(ctx, b.view());
    if (steady_faces_ || !has_dirichlet_) return;
    set(ctx, 0, inside_);
    copy_boundary(ctx, k, inside_);
    fill(ctx, inside_);
    mass_.residual(ctx, b.cview(), inside_.cview(), b.view());
    clear_boundary(ctx, inside_);
  }
  void residual(Context& ctx, const Vector& b, Vector& x, Vector& r) const {
    fill(ctx, x);
    if (solids) {
      solids->mass(ctx, x.cview(), r.view());
      xpay(ctx, b.cview(), -s_, r.view());
      a_.residual(ctx, r.cview(), x.cview(), r.view());
      return solids->keep(ctx, r.view());
    }
    sum_.residual(ctx, b.cview(), x.cview(), r.view());
  }

  SolveReport solve(Context& ctx, const StoppingParams& stop, const Vector& b, Vector& x, const Vector* r) {
    if (r == nullptr) residual(ctx, b, x, residual_);
    const auto left = (r == nullptr ? residual_ : *r).cview();
    solids ? solids->set_stop(stop) : solver->set_stop(stop);
    SolveReport report = solids ? solids->solve(ctx, left, correction_.view()) : solve_shifted(left);
    stratum::axpy(ctx, 1, correction_.cview(), x.view());
    if (report.estimated_error) {
      const double size_of_x = norm_max(ctx, x.cview());
      *report.estimated_error *= size_of_x > 0 ? norm_max(ctx, correction_.cview()) / size_of_x : 0;
      // In films rounding may keep some of the correction from getting digits that x does not need.
      const double target = std::max(stop.rtol * report.reference_norm_value, stop.atol);
      if (report.status == Status::stagnated && report.residual <= target &&
          *report.estimated_error <= stop.error_limit())
        report.status = Status::converged;
    }
    return report;
  }
  SolveReport solve_error(Context& ctx, const StoppingParams& stop, const Vector& b, Vector& x) {
    clear_boundary(ctx, x);
    return solve(ctx, stop, b, x, nullptr);
  }
  SolveReport solve_mass(Context& ctx, const StoppingParams& stop, const Vector& b, Vector& x) {
    SolveReport direct;
    direct.status = Status::converged;
    if (solids) return solids->divide(ctx, b.cview(), x.view()), direct;
    if (solver->plan().is_direct() && solve_mass_directly(ctx, b, x)) return direct;
    set(ctx, 0, x);
    MassSystem system(ctx, coefficients_of_mass(ctx));
    const BoxShape shape = system.matrix.shape();
    stratum::copy(ctx, b.cview(), box_of(shape, system.b.view()));
    MassDiagonal jacobi(ctx, system.b.shape(), diagonal());
    SolveReport report = system.cg->solve(ctx, system.op, jacobi, system.b.cview(), system.x.view(), stop);
    stratum::copy(ctx, box_of(shape, system.x.view()), x.view());
    return report;
  }
  [[nodiscard]] bool conserves() const { return conserves_; }
  void conserve(Context& ctx, const Vector& b, Vector& x, Vector& scratch) const {
    if (!conserves_) return;
    // 1^T S = s 1^T M: a constant takes up the sum of the residual.
    residual(ctx, b, x, scratch);
    if (solids)
      return solids->add_constant(ctx, box_sums(ctx, scratch.cview()).sum / (s_ * solids->sum_of_mass(ctx)), x.view());
    const double volume = mesh.x().length() * mesh.y().length() * mesh.z().length();
    box_add(ctx, box_sums(ctx, scratch.cview()).sum / (s_ * problem.capacity * volume), x.view());
  }
  void count_memory(Context& ctx, bool slopes) const {
    if (!slopes || solids || solver->plan().is_direct()) return;
    const MassSystem system(ctx, coefficients_of_mass(ctx));
    const Field<double> of_diagonal(ctx, system.b.shape());
  }

  void forget_load() { load_known_ = false; }

  [[nodiscard]] std::vector<TimeFunction> functions_of_time() const {
    return stratum::functions_of_time(mesh, problem);
  }

  /// Out of bodies that are held, of u and du/dt: A u - F + M k at their nodes.
  void add_fluxes(Context& ctx, double t, Vector& u, const Vector& k, std::vector<BoxBodyFlux>& of_bodies) {
    find_load(ctx, t);
    fill(ctx, u);
    solids->warm_surfaces(ctx, load_.cview(), k.cview(), correction_.view());
    solids->solids().add_fluxes(ctx, correction_.cview(), u.cview(), residual_.view(), of_bodies);
  }

  /// Values at this rank's nodes.
  [[nodiscard]] StoredBox<double> nodes_of(Vector& x) const {
    StoredBox<double> all = stored(x);
    for (std::size_t d = 0; d < 3; ++d) {
      const Axis& axis = part_->axis(static_cast<int>(d));
      all = all.part(d, -axis.first_unknown(), axis.size() + 1);
    }
    return all;
  }
  [[nodiscard]] StoredBox<double> nodes_of(Vector& x, BoxFace face) const {
    const FacePlace place(face);
    return nodes_of(x).part(static_cast<std::size_t>(place.across), place.node(*part_), 1);
  }
  /// The same with those that lie across in periodic directions, and on other ranks.
  [[nodiscard]] StoredBox<double> filled_nodes_of(Context& ctx, Vector& x) const {
    fill(ctx, x);
    return nodes_of(x);
  }

  /// For states, on the first rank: unknowns of the whole box, and values of its Dirichlet faces one after the other.
  [[nodiscard]] Values all_unknowns(Context& ctx, Vector& x) const {
    const GridLayout<3> own = slabs_->unknowns(mesh);
    return planes_on_first_rank(ctx, counts(own.global), planes().axis, slabs_->first_plane(), to_host(ctx, stored(x)));
  }
  [[nodiscard]] Values all_boundary_values(Context& ctx, Vector& x) const {
    Values all;
    for (const BoxFace face : all_dirichlet_) {
      const OnFace of(*this, face);
      const Values values = planes_on_first_rank(ctx, of.n, planes().axis, of.first,
                                                 of.count > 0 ? to_host(ctx, nodes_of(x, face)) : Values{});
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  /// The same back, of which every rank has all.
  void set_unknowns(Context& ctx, const Values& all, Vector& x) const {
    const auto n = counts(slabs_->unknowns(mesh).global);
    put(ctx, planes_of(all, n, planes().axis, slabs_->first_plane(), layout_.extents.nz), stored(x));
  }
  void set_boundary_values(Context& ctx, const Values& all, Vector& x) const {
    auto next = all.begin();
    for (const BoxFace face : all_dirichlet_) {
      const OnFace of(*this, face);
      const auto end = next + std::ptrdiff_t{of.n[0]} * of.n[1] * of.n[2];
      if (of.count > 0)
        put(ctx, planes_of(Values(next, end), of.n, planes().axis, of.first, of.count), nodes_of(x, face));
      next = end;
    }
  }
  [[nodiscard]] std::int64_t all_boundary_nodes() const {
    std::int64_t count = 0;
    for (const BoxFace face : all_dirichlet_) {
      const OnFace of(*this, face);
      count += std::int64_t{of.n[0]} * of.n[1] * of.n[2];
    }
    return count;
  }

 private:
  /// Nodes of a face of the whole box, and which of their planes across the direction that is cut are this rank's.
  struct OnFace {
    std::array<int, 3> n;
    int first, count;

    OnFace(const BoxEquation& of, BoxFace face) : n(nodes_of_axes(of.mesh)) {
      const FacePlace place(face);
      const NodePlanes planes = of.planes();
      n[static_cast<std::size_t>(place.across)] = 1;
      const bool along = place.across != planes.axis;
      first = along ? planes.first : 0;
      count = along ? planes.count() : of.has(face) ? 1 : 0;
    }
  };
  /// M of the unknowns for conjugate gradients.
  struct MassSystem {
    BoxMatrix<double> matrix;
    BoxLinearOperator<double> op;
    Field<double> b, x;
    std::unique_ptr<Solver<double>> cg;

    MassSystem(Context& ctx, const BoxCoefficients& c)
        : matrix(BoxCells<double>(ctx, c, true)), op(ctx, matrix), b(ctx, rows_of(matrix.shape())),
          x(ctx, rows_of(matrix.shape())), cg(make_solver<double>(ctx, "cg", rows_of(matrix.shape()))) {}
  };

  /// Which planes are this rank's, and in which order vectors are stored: of several ranks that of the solver, which is cut.
  void share(const Context& ctx, const PoissonProblem3D& now, const BoxMaterial& material, BoxMethod method) {
    if (ctx.subdomains() > 1) {
      const BoxSolverPlan plan = select_box_method(ctx, mesh, now, material, method);
      order_ = order_of(plan.is_direct() ? plan.lines : 2);
    }
    slabs_.emplace(ctx, mesh, order_);
    part_.emplace(part_of(mesh, planes()));
    const auto periodic = [&](std::size_t d) { return mesh.axis(static_cast<int>(order_[d])).is_periodic(); };
    layout_ =
        GridLayout<3>::box(slabs_->layout().extents, {periodic(0), periodic(1), periodic(2) && ctx.subdomains() == 1});
    for (const BoxFace face : all_box_faces) {
      if (problem.space.boundaries[face].kind != BoundaryConditionType::dirichlet) continue;
      all_dirichlet_.push_back(face);
      if (has(face)) dirichlet_.push_back(face);
    }
    has_dirichlet_ = !all_dirichlet_.empty();
  }
  /// Whether this rank's planes reach a face.
  [[nodiscard]] bool has(BoxFace face) const {
    const FacePlace place(face);
    const auto& [axis, first, last] = planes();
    return place.across != axis || (place.node(mesh) >= first && place.node(mesh) <= last);
  }
  /// Of K by cells, which are then put in.
  [[nodiscard]] BoxCoefficients coefficients(const std::array<AxisFactors, 3>& factors) const {
    BoxCoefficients c{factors, {}, {}, {}, problem.space.reaction};
    c.slab = slabs_->of_matrices();
    if (c.slab.planes > 0) c.axes[2] = of_slab(factors[2], c.slab, layout_.extents.nz);
    return c;
  }
  [[nodiscard]] BoxCoefficients coefficients_of_mass(const Context& ctx) const {
    BoxCoefficients c = coefficients(mass_factors_);
    c.reaction = problem.capacity;
    if (!ctx.is_dry_run()) c.xx.assign(c.axes[0].k.size() * c.axes[1].k.size() * c.axes[2].k.size(), 1.0);
    return c;
  }
  [[nodiscard]] StoredBox<double> stored(Vector& x) const { return {x.view(), order_}; }
  /// Numbers of the host's, x fastest.
  static void put(Context& ctx, const Values& from, StoredBox<double> to) {
    const auto n = to.counts();
    from_host(ctx, from, {1, n[0], std::int64_t{n[0]} * n[1]}, false, to);
  }
  [[nodiscard]] static std::array<int, 3> counts(const Extents<3>& n) { return {n.nx, n.ny, n.nz}; }

  /// The correction is S^-1 b.
  SolveReport solve_shifted(const FieldView<const double, 3>& b) {
    return solver->solve(StoredBox<const double>{b, order_}, stored(correction_));
  }
  /// By S with so large an s that A is nothing beside s M. Twice refined: what is large somewhere shall not be an error
  /// elsewhere.
  bool solve_mass_directly(Context& ctx, const Vector& b, Vector& x) {
    constexpr int solves = 3;
    constexpr double nothing = 1e-20, rounding = 1e-12;
    const double s = largest_ratio_ / nothing;
    solver->set_reaction(s * problem.capacity);
    solver->set_stop({.rtol = 1e-10, .rounding_will_do = true});
    for (int k = 0; k <= solves; ++k) {
      mass(ctx, x, residual_);
      xpay(ctx, b.cview(), -1, residual_.view());
      if (k == solves) break;
      (void)solve_shifted(residual_.cview());
      stratum::axpy(ctx, s, correction_.cview(), x.view());
    }
    solver->set_reaction(reaction());
    return norm2(ctx, residual_) <= rounding * norm2(ctx, b);
  }

  static FieldView<const double, 3> whole(const Vector& x) { return with_ghosts(x.cview(), 1); }
  static FieldView<double, 3> whole(Vector& x) { return with_ghosts(x.view(), 1); }
  void fill(Context& ctx, Vector& x) const { slabs_->fill_ghosts(ctx, x.view()); }
  [[nodiscard]] bool is_unknown(const std::array<int, 3>& at) const {
    const BoxBodies* const bodies = problem.space.on_mesh.get();
    return bodies == nullptr ||
           bodies->node[bodies->node_number(static_cast<std::size_t>(at[0]), static_cast<std::size_t>(at[1]),
                                            static_cast<std::size_t>(at[2]))] == BoxBodies::unknown;
  }
  void clear_boundary(Context& ctx, Vector& x) const {
    if (solids) solids->keep(ctx, x.view());
    for (const BoxFace face : dirichlet_) stratum::set(ctx, 0, nodes_of(x, face).view);
  }

  /// c + s capacity
  [[nodiscard]] double reaction() const { return problem.space.reaction + s_ * problem.capacity; }
  void use_shift() {
    sum_ = a_.with_reaction(reaction());
    stage_mass_.set_reaction(-s_ * problem.capacity);
  }

  /// load = F(t), with the data of Neumann and Robin faces.
  void find_load(Context& ctx, double t) {
    if (load_known_ && ((steady_rhs_ && steady_faces_) || load_at_ == t)) return;
    if (!source_.empty()) {
      if (!load_known_) find_source(ctx, t, source_);
      stratum::copy(ctx, loads(source_).view, loads(load_).view);
    } else {
      find_source(ctx, t, load_);
    }
    if (!steady_faces_) discretization->set_data(ctx, at_time(problem, t));
    discretization->add_face_data(ctx, loads(load_));
    FieldView<double, 3> before = load_.view();
    before.data = &before(0, 0, -1);
    slabs_->add_from_below(ctx, load_.view(), before);
    load_at_ = t;
    load_known_ = true;
  }
  /// The integrals of f phi_i over this rank's cells.
  void find_source(Context& ctx, double t, Vector& to) const {
    if (problem.space.rhs)
      (void)discretization->load(ctx, at_time(problem, t).rhs, loads(to));
    else
      stratum::set(ctx, 0, loads(to).view);
  }
  /// With the plane that the next rank begins with, of which loads give each a part.
  [[nodiscard]] StoredBox<double> loads(Vector& x) const {
    StoredBox<double> own = stored(x);
    own.view.extents.nz += slabs_->has_above() ? 1 : 0;
    return own;
  }
  [[nodiscard]] Values diagonal() const {
    const std::array<AxisFactors, 3> factors = slabs_->own(mass_factors_);
    std::array<Values, 3> of;
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t i = 0; i + 1 < factors[d].m.size(); ++i)
        of[d].push_back(2 * (factors[d].m[i] + factors[d].m[i + 1]));
    Values all;
    all.reserve(static_cast<std::size_t>(nodes()));
    for (const double z : of[2])
      for (const double y : of[1])
        for (const double x : of[0]) all.push_back(problem.capacity * z * y * x);
    return all;
  }

  BoxOrder order_{0, 1, 2};  // of directions in vectors
  std::optional<BoxSlabs> slabs_;
  std::optional<TensorMesh<3>> part_;  // around this rank's cells
  GridLayout<3> layout_;
  bool steady_rhs_, steady_faces_, conserves_ = false;
  double s_;
  std::array<AxisFactors, 3> mass_factors_;         // of all ranks, as directions are stored
  double largest_ratio_ = 0;                        // about, of A and M
  BoxA a_, sum_;                                    // A and S
  BoxOperator mass_, minus_mass_, stage_mass_;      // M, -M and -s M
  std::vector<BoxFace> dirichlet_, all_dirichlet_;  // of this rank's planes; of the box
  bool has_dirichlet_ = false;
  std::vector<Field<double, 3>> kept_;  // what they always have; none where that is zero
  bool faces_known_ = false;
  Vector load_, source_, inside_;  // of the last the ghosts of Dirichlet nodes are zero
  Vector residual_, correction_;
  double load_at_ = 0;
  bool load_known_ = false;
};

}  // namespace stratum
