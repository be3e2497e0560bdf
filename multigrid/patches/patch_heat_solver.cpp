#include <stratum/multigrid/patches/patch_heat_solver.hpp>

#include <cmath>
#include <limits>
#include <utility>

#include <stratum/assembly/heat_problem.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/patches/patch_nodes.hpp>
#include <stratum/core/patches/patch_operator.hpp>
#include <stratum/core/patches/patch_rows.hpp>
#include <stratum/core/patches/split_nodes.hpp>
#include <stratum/multigrid/data_in_time.hpp>
#include <stratum/multigrid/heat_steps.hpp>
#include <stratum/multigrid/patches/patch_levels.hpp>
#include <stratum/solvers/rounding.hpp>

namespace stratum {

namespace {

/// The equation of a mesh of patches, for HeatSteps. Vectors that are values, u and k, are consistent; loads and residuals are
/// partial, and zero at Dirichlet nodes.
class PatchEquation {
 public:
  using Params = PatchHeatParams;
  using Vector = Field<double>;

  PatchEquation(Context& ctx, const PatchMesh& patches, const PatchHeatProblem& given, const PatchHeatParams& params_,
                double s)
      : mesh(patches), problem(given), params(params_), layout(layout_of(ctx, mesh)), rows_(ctx, layout),
        shared_(ctx, layout), split_(ctx, layout), s_(s), coefficients_at_(params_.start) {
    expects(std::isfinite(problem.capacity) && problem.capacity > 0, "the capacity must be finite and positive, not ",
            problem.capacity);
    params.solver.full_multigrid = false;
    params.solver.one_grid = false;  // vectors are those of patches
    std::vector<double> ones(static_cast<std::size_t>(layout.size()), 0.0);
    for (int p = 0; p < layout.patches(); ++p) for_nodes(p, [&](int k) { ones[static_cast<std::size_t>(k)] = 1; });
    ones_ = vector_from_host(ctx, ones);
    assemble_all(ctx);
    for (auto* v : {&kept_, &inside_, &scratch_}) *v = vector(ctx);
    build(ctx);
  }

  PatchMesh mesh;
  PatchHeatProblem problem;
  PatchHeatParams params;
  PatchLayout layout;
  std::optional<PatchPoissonSolver> solver;

  [[nodiscard]] Vector vector(Context& ctx) const { return Vector(ctx, layout.size()); }
  [[nodiscard]] std::int64_t nodes() const { return solver->unknowns(); }

  static void copy(Context& ctx, const Vector& x, Vector& y) { stratum::copy(ctx, x.cview(), y.view()); }
  static void axpy(Context& ctx, double a, const Vector& x, Vector& y) { stratum::axpy(ctx, a, x.cview(), y.view()); }
  static void axpys(Context& ctx, double a, const Vector& x, double b, const Vector& y, Vector& z) {
    axpy(ctx, a, x, z);
    axpy(ctx, b, y, z);
  }
  static void slope(Context& ctx, double s, const Vector& x, Vector& k) {
    xpay(ctx, x.cview(), -1, k.view());
    axpy(ctx, s - 1, k, k);
  }
  void copy_unknowns(Context& ctx, const Vector& x, Vector& y) {
    fixed_->copy(ctx, y, kept_);
    copy(ctx, x, y);
    fixed_->copy(ctx, kept_, y);
  }
  void set(Context& ctx, double a, Vector& x) {
    fixed_->copy(ctx, x, kept_);
    stratum::copy(ctx, ones_.cview(), x.view());
    axpy(ctx, a - 1, x, x);
    fixed_->copy(ctx, kept_, x);
  }
  /// Of a partial vector.
  [[nodiscard]] double norm2(Context& ctx, Vector& r) {
    Partial<double> partial{std::move(r)};
    gather_copies(ctx, shared_, partial);
    split_.gather_copies(ctx, partial);
    r = std::move(partial.numbers);
    return stratum::norm2(ctx, r.cview());
  }
  void mass(Context& ctx, const Vector& x, Vector& y) { apply_inside(ctx, *mass_, x, y); }
  [[nodiscard]] double size(Context& ctx, const Vector& x, Vector& scratch) {
    apply_inside(ctx, even_mass_ ? *even_mass_ : *mass_, x, scratch);
    return std::sqrt(std::max(0.0, dot(ctx, x.cview(), scratch.cview())));
  }
  [[nodiscard]] bool size_leaves_mass() const { return !even_mass_; }

  void set_boundary(Context& ctx, double t, Vector& x) {
    find_data(ctx, t);
    fixed_->copy(ctx, values_, x);
  }
  void copy_boundary(Context& ctx, const Vector& x, Vector& y) const { fixed_->copy(ctx, x, y); }
  void begin_boundary(Context& ctx, double t, double moment, Vector& u, Vector& k) {
    fixed_->set(ctx, 0, k);
    if (problem.steady) return;
    set_boundary(ctx, t + moment, scratch_);
    axpy(ctx, -1, u, scratch_);
    axpy(ctx, 1 / moment - 1, scratch_, scratch_);
    fixed_->copy(ctx, scratch_, k);
  }
  void initial(Context& ctx, double t, Vector& u) const {
    const ScalarFunction given = problem.initial ? problem.initial : problem.space.exact;
    std::vector<double> numbers(static_cast<std::size_t>(layout.size()), 0.0);
    if (const auto& values = problem.initial_values; !values.empty()) {
      expects(values.size() == static_cast<std::size_t>(layout.patches()), "initial values are given of ",
              values.size(), " patches, but the mesh has ", layout.patches());
      for (int p = 0; p < layout.patches(); ++p) {
        const auto& own = values[static_cast<std::size_t>(p)];
        expects(own.size() == nodes_of(p), "patch ", p, " has ", nodes_of(p), " nodes, but ", own.size(),
                " initial values");
        std::size_t node = 0;
        for_nodes(p, [&](int k) {
          expects(std::isfinite(own[node]), "the initial u is ", own[node], " at node ", node, " of patch ", p);
          numbers[static_cast<std::size_t>(k)] = own[node++];
        });
      }
    } else if (given) {
      const ScalarFunction f = at_time(given, t);
      for (int p = 0; p < layout.patches(); ++p) {
        if (!layout.has(p)) continue;
        const PatchNodes nodes = mesh.nodes_of(p);
        auto at_node = nodes.at.begin();
        for_nodes(p, [&](int k) {
          constexpr double none = std::numeric_limits<double>::quiet_NaN();
          Point point;
          point.x = at_node->x;
          point.y = at_node->y;
          point.to_left = point.to_right = point.to_bottom = point.to_top = none;
          point.t = t;
          const double value = f(point);
          expects(std::isfinite(value), "the initial u is ", value, " at (", point.x, ", ", point.y, ")");
          numbers[static_cast<std::size_t>(k)] = value;
          ++at_node;
        });
      }
    }
    copy_from_host(ctx, numbers.data(), u.view());
  }

  [[nodiscard]] double s() const { return s_; }
  bool update(Context& ctx, double t, double s) {
    // There is no solver where coefficients of the last time were refused.
    const bool other_coefficients = problem.coefficients_vary && (t != coefficients_at_ || !solver);
    if (s == s_ && solver && !other_coefficients) return false;
    s_ = s;
    if (other_coefficients) {
      coefficients_at_ = t;
      solver.reset();
      assemble_all(ctx);
    }
    build(ctx);
    return true;
  }

  void stage_rhs(Context& ctx, double t, Vector& p, const Vector& /*x*/, Vector& b) {
    find_data(ctx, t);
    apply(ctx, *mass_, p, b);
    axpy(ctx, s_ - 1, b, b);
    axpy(ctx, 1, load_.numbers, b);
    fixed_->set(ctx, 0, b);
  }
  void slope_rhs(Context& ctx, double t, Vector& u, Vector& k, Vector& b) {
    find_data(ctx, t);
    Consistent<double> x{std::move(u)};
    Partial<double> r{std::move(b)};
    stratum::residual(ctx, rows_, *a_, load_, x, r);
    u = std::move(x.numbers);
    b = std::move(r.numbers);
    if (problem.steady) return;
    stratum::set(ctx, 0.0, inside_.view());
    fixed_->copy(ctx, k, inside_);
    apply(ctx, *mass_, inside_, scratch_);
    axpy(ctx, -1, scratch_, b);
  }
  /// r = b - A x - s M x
  void residual(Context& ctx, const Vector& b, Vector& x, Vector& r) {
    apply(ctx, *mass_, x, r);
    apply(ctx, *a_, x, scratch_);
    axpy(ctx, s_ - 1, r, r);
    axpy(ctx, 1, scratch_, r);
    xpay(ctx, b.cview(), -1, r.view());
  }
  SolveReport solve(Context& /*ctx*/, const StoppingParams& stop, Vector& b, Vector& x, const Vector* /*r*/) {
    return solver->solve_system(b, x, stop);
  }
  SolveReport solve_error(Context& ctx, const StoppingParams& stop, Vector& b, Vector& x) {
    fixed_->set(ctx, 0, x);
    return solve(ctx, stop, b, x, nullptr);
  }
  /// Conjugate gradients with the diagonal.
  SolveReport solve_mass(Context& ctx, const StoppingParams& stop, const Vector& b, Vector& x) {
    Vector r = vector(ctx), z = vector(ctx), p = vector(ctx), q = vector(ctx);
    copy(ctx, b, r);
    set(ctx, 0, x);
    const double whole = norm2(ctx, r);
    SolveReport report;
    report.status = Status::converged;
    report.reference_norm_value = report.initial_residual = whole;
    report.residual = whole;
    double before = 1;
    for (int k = 0; whole > 0 && report.residual > stop.rtol * whole; ++k) {
      if (k == stop.max_iterations || !std::isfinite(report.residual)) {
        report.status = std::isfinite(report.residual) ? Status::max_iterations : Status::non_finite;
        report.reason = message(k, " iterations with the mass matrix left ", report.residual / whole);
        break;
      }
      Partial<double> of_r{std::move(r)};
      Consistent<double> of_z{std::move(z)};
      sum_copies(ctx, shared_, of_r, of_z);
      split_.sum_copies(ctx, of_r, of_z);
      r = std::move(of_r.numbers);
      z = std::move(of_z.numbers);
      multiply(ctx, inverse_diagonal_, z);
      const double rz = dot(ctx, r.cview(), z.cview());
      xpay(ctx, z.cview(), k == 0 ? 0 : rz / before, p.view());
      before = rz;
      apply(ctx, *mass_, p, q);
      const double alpha = rz / dot(ctx, p.cview(), q.cview());
      axpy(ctx, alpha, p, x);
      axpy(ctx, -alpha, q, r);
      const double now = norm2(ctx, r);
      // To rounding.
      constexpr double stalls = 0.999, small = 1e-12;
      if (now <= small * whole && now > stalls * report.residual) break;
      report.residual = now;
      report.iterations = k + 1;
    }
    return report;
  }
  [[nodiscard]] bool conserves() const { return conserves_; }
  void conserve(Context& ctx, const Vector& b, Vector& x, Vector& scratch) {
    if (!conserves_) return;
    // 1^T S = s 1^T M: a constant takes up the sum of the residual.
    residual(ctx, b, x, scratch);
    axpy(ctx, dot(ctx, ones_.cview(), scratch.cview()) / (s_ * capacity_), ones_, x);
  }
  static void count_memory(Context& /*ctx*/, bool /*slopes*/) {}

  [[nodiscard]] double heat(Context& ctx, const Vector& u) const { return dot(ctx, heat_.cview(), u.cview()); }
  /// `k`: du/dt at this time.
  [[nodiscard]] PatchHeatFluxes fluxes(Context& ctx, double t, const Vector& u, const Vector& k) {
    (void)update(ctx, t, s_);
    PatchProblem now = at(t);
    find_data(ctx, t);
    // What of f does not heat flows on.
    std::vector<double> slopes(static_cast<std::size_t>(layout.size()));
    copy_to_host(ctx, k.cview(), slopes.data());
    const PatchRowsOnHost& m = *mass_on_host_;
    const PatchBands<double> bands{m.excess.data(), m.east.data(), m.north.data(), m.north_east.data(),
                                   m.north_west.data()};
    if (now.load.empty())
      for (int p = 0; p < layout.patches(); ++p) now.load.emplace_back(nodes_of(p), 0.0);
    for (int p = 0; p < layout.patches(); ++p) {
      const auto& patch = layout.patch(p);
      auto& load = now.load[static_cast<std::size_t>(p)];
      std::size_t node = 0;
      for_nodes(p, [&](int n) {
        load[node++] -= PatchBands<double>::product(bands.row(n, patch.pitch), slopes.data(), n, patch.pitch);
      });
    }
    PatchFluxes fluxes = patch_fluxes(ctx, mesh, now, [&](int p) { return numbers_of(ctx, p, u); });
    fluxes.load = dot(ctx, load_.numbers.cview(), ones_.cview()) - fluxes.from_data;
    return {std::move(fluxes), heat(ctx, k)};
  }
  [[nodiscard]] std::vector<double> numbers_of(Context& ctx, int patch, const Vector& x) const {
    const auto& p = layout.patch(patch);
    const FieldView<const double> part{x.cview().data + p.first, p.nx + 1, p.ny + 1, p.pitch};
    std::vector<double> numbers(static_cast<std::size_t>(part.nodes()));
    copy_to_host(ctx, part, numbers.data());
    return numbers;
  }
  /// Of all patches, one after the other; of several ranks on the first alone, on the others zeros.
  [[nodiscard]] std::vector<double> numbers_of_all(Context& ctx, const Vector& x) const {
    std::vector<double> all;
    for (int p = 0; p < layout.patches(); ++p) {
      std::vector<double> own = layout.has(p) ? numbers_of(ctx, p, x) : std::vector<double>();
      if (ctx.subdomains() > 1) own = ctx.communicator()->join_on_first(own);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  [[nodiscard]] std::size_t count_of_all() const {
    std::size_t count = 0;
    for (int p = 0; p < layout.patches(); ++p) count += nodes_of(p);
    return count;
  }
  void put_numbers_of_all(Context& ctx, const std::vector<double>& all, Vector& x) const {
    std::vector<double> own(static_cast<std::size_t>(layout.size()), 0.0);
    std::size_t first = 0;
    for (int p = 0; p < layout.patches(); ++p) {
      std::size_t node = first;
      for_nodes(p, [&](int k) { own[static_cast<std::size_t>(k)] = all[node++]; });
      first += nodes_of(p);
    }
    copy_from_host(ctx, own.data(), x.view());
    ctx.synchronise();
  }
  void forget_data() { known_at_.reset(); }
  /// At nodes of some patches and edges. A load that is no function of points is not among them.
  [[nodiscard]] std::vector<TimeFunction> functions_of_time() const {
    std::vector<TimeFunction> found;
    const auto add = [&](const ScalarFunction& f, const SharedPoints<Point>& points) {
      if (f && !points->empty()) found.push_back(time_function<Point>(f, points));
    };
    const PatchProblem& space = problem.space;
    const bool moving = problem.coefficients_vary;
    if (!problem.steady || moving) {
      const SharedPoints<Point> inside = some_points();
      if (!problem.steady) add(space.rhs, inside);
      if (moving)
        for (const auto* f : {&space.diffusion, &space.reaction_of_cells, &problem.capacity_of_cells}) add(*f, inside);
    }
    for (int b = 0; b < static_cast<int>(mesh.boundary_names().size()) && (!problem.steady || moving); ++b) {
      const auto given = space.boundaries.find(mesh.boundary_names()[static_cast<std::size_t>(b)]);
      const BoundaryCondition condition = given == space.boundaries.end() ? BoundaryCondition{} : given->second;
      const bool of_exact = condition.kind == BoundaryConditionType::dirichlet && !condition.value;
      const SharedPoints<Point> points = some_points_of(b);
      if (!problem.steady) add(of_exact ? space.exact : condition.value, points);
      if (moving) add(condition.alpha, points);
    }
    return found;
  }
  [[nodiscard]] PatchProblem at(double t) const {
    PatchProblem now = problem.space;
    for (ScalarFunction* f : {&now.rhs, &now.exact, &now.diffusion, &now.reaction_of_cells})
      if (*f) *f = at_time(*f, t);
    for (auto& [name, condition] : now.boundaries)
      for (ScalarFunction* f : {&condition.value, &condition.alpha})
        if (*f) *f = at_time(*f, t);
    if (problem.load) now.load = problem.load(t);
    return now;
  }

 private:
  [[nodiscard]] static Point point_at(const Position& at) { return make_point(at, 0, 0); }
  /// Every k-th of `count`, so that there are about 256.
  [[nodiscard]] static int stride_of(int count) { return std::max(1, count / 256); }
  [[nodiscard]] SharedPoints<Point> some_points() const {
    constexpr int all = 256;
    std::vector<Point> points;
    const int patches = mesh.patches(), stride = stride_of(patches), of_patch = std::max(1, all * stride / patches);
    for (int n = 0; n < of_patch; ++n)
      for (int p = 0; p < patches; p += stride) points.emplace_back();
    for (int p = 0, k = 0; p < patches; p += stride, ++k) {
      const PatchNodes nodes = mesh.nodes_of(p);
      for (int n = 0; n < of_patch; ++n) {
        constexpr double ratio_x = 0.7548776662466927, ratio_y = 0.5698402909980532;
        const auto node = [n](double ratio, int count) {
          const double x = (n + 0.5) * ratio;
          return static_cast<int>((x - std::floor(x)) * count);
        };
        points[static_cast<std::size_t>(n * ((patches + stride - 1) / stride) + k)] =
            point_at(nodes.at[nodes.node(node(ratio_x, nodes.nx + 1), node(ratio_y, nodes.ny + 1))]);
      }
    }
    return std::make_shared<const std::vector<Point>>(std::move(points));
  }
  /// In the middle of edges and at an end.
  [[nodiscard]] SharedPoints<Point> some_points_of(int boundary) const {
    std::vector<Point> middles, ends;
    for (int p = 0; p < mesh.patches(); ++p)
      for (std::size_t e = 0; e < 4; ++e) {
        if (mesh.edge(mesh.local_edges(p)[e].number).boundary != boundary) continue;
        const PatchNodes nodes = mesh.nodes_of(p);
        const int i = e == 1 ? nodes.nx : e == 3 ? 0 : nodes.nx / 2, j = e == 2 ? nodes.ny : e == 0 ? 0 : nodes.ny / 2;
        middles.push_back(point_at(nodes.at[nodes.node(i, j)]));
        ends.push_back(point_at(nodes.at[nodes.node(e % 2 == 0 ? 0 : i, e % 2 == 0 ? j : 0)]));
      }
    middles.insert(middles.end(), ends.begin(), ends.end());
    return std::make_shared<const std::vector<Point>>(std::move(middles));
  }
  template <class Body>
  void for_nodes(int patch, const Body& body) const {
    const auto& p = layout.patch(patch);
    if (!layout.has(patch)) return;
    for (int j = 0; j <= p.ny; ++j)
      for (int i = 0; i <= p.nx; ++i) body(p.node(i, j));
  }
  /// y = A x, of the unknowns.
  void apply(Context& ctx, const PatchOperator<double>& a, const Vector& x, Vector& y) const {
    product(ctx, rows_, a, x, y);
  }
  void apply_inside(Context& ctx, const PatchOperator<double>& a, const Vector& x, Vector& y) {
    copy(ctx, x, inside_);
    fixed_->set(ctx, 0, inside_);
    apply(ctx, a, inside_, y);
  }
  /// A, M, F and what follows from them, with the coefficients of that time.
  void assemble_all(Context& ctx) {
    PatchSystem system = assemble(ctx, mesh, at(coefficients_at_));
    conserves_ = system.singular;
    const std::vector<int> fixed = nodes_of_edges(layout, system.fixed_edges);
    fixed_.emplace(ctx, fixed);
    a_.emplace(ctx, system.rows, fixed);
    const ScalarFunction& of_cells = problem.capacity_of_cells;
    mass_on_host_ = std::make_shared<const PatchRowsOnHost>(
        rows_of_mass(ctx, of_cells ? at_time(of_cells, coefficients_at_) : of_cells));
    const PatchRowsOnHost& mass = *mass_on_host_;
    mass_.emplace(ctx, mass, fixed);
    if (of_cells) even_mass_.emplace(ctx, rows_of_mass(ctx, {}), fixed);
    find_diagonal(ctx, mass, fixed);
    load_.numbers = vector_from_host(ctx, system.load);
    values_ = vector_from_host(ctx, system.boundary_values);
    known_at_ = coefficients_at_;
    heat_ = vector_from_host(ctx, mass.excess);
    capacity_ = dot(ctx, heat_.cview(), ones_.cview());
  }
  void build(Context& ctx) {
    PatchProblem alone = at(coefficients_at_);
    alone.rhs = {};
    alone.load.clear();
    alone.exact = {};
    for (auto& [name, condition] : alone.boundaries) condition.value = {};
    solver.reset();  // not both at once
    solver.emplace(ctx, mesh, alone, params.solver, PatchAddition{mass_on_host_, s_});
  }
  [[nodiscard]] PatchRowsOnHost rows_of_mass(Context& ctx, const ScalarFunction& capacity) const {
    PatchRowsOnHost mass = assemble_mass(ctx, mesh, layout, capacity);
    for (double& number : mass.excess) number *= problem.capacity;
    for (auto* band : {&mass.east, &mass.north, &mass.north_east, &mass.north_west})
      for (double& number : *band) number *= problem.lumped ? 0 : problem.capacity;
    return mass;
  }
  [[nodiscard]] std::size_t nodes_of(int patch) const {
    return (static_cast<std::size_t>(layout.patch(patch).nx) + 1) *
           (static_cast<std::size_t>(layout.patch(patch).ny) + 1);
  }
  void find_data(Context& ctx, double t) {
    if (known_at_ && (problem.steady || *known_at_ == t)) return;
    const PatchData data = assemble_data(ctx, mesh, layout, at(t));
    copy_from_host(ctx, data.load.data(), load_.numbers.view());
    copy_from_host(ctx, data.boundary_values.data(), values_.view());
    ctx.synchronise();
    known_at_ = t;
  }
  void find_diagonal(Context& ctx, const PatchRowsOnHost& m, const std::vector<int>& fixed) {
    std::vector<double> diagonal(static_cast<std::size_t>(layout.size()), 0.0);
    for (int p = 0; p < layout.patches(); ++p) {
      const int pitch = layout.patch(p).pitch;
      for_nodes(p, [&](int k) {
        const auto of = [&](const std::vector<double>& band, int n) { return band[static_cast<std::size_t>(n)]; };
        diagonal[static_cast<std::size_t>(k)] =
            of(m.excess, k) -
            (of(m.east, k) + of(m.east, k - 1) + of(m.north, k) + of(m.north, k - pitch) + of(m.north_east, k) +
             of(m.north_east, k - pitch - 1) + of(m.north_west, k) + of(m.north_west, k - pitch + 1));
      });
    }
    Partial<double> r{vector_from_host(ctx, diagonal)};
    Consistent<double> z = consistent<double>(ctx, layout);
    sum_copies(ctx, shared_, r, z);
    split_.sum_copies(ctx, r, z);
    copy_to_host(ctx, z.numbers.cview(), diagonal.data());
    for (double& number : diagonal) number = number > 0 ? 1 / number : 0;
    for (const int k : fixed) diagonal[static_cast<std::size_t>(k)] = 0;
    inverse_diagonal_ = vector_from_host(ctx, diagonal);
  }

  PatchRows rows_;
  SharedNodes shared_;
  SplitNodes split_;
  double s_, coefficients_at_;
  bool conserves_ = false;
  std::optional<PatchNumbers> fixed_;
  std::shared_ptr<const PatchRowsOnHost> mass_on_host_;  // Dirichlet rows are natural
  std::optional<PatchOperator<double>> a_, mass_,
      even_mass_;  // even_mass_: where the capacity is not the same everywhere
  Partial<double> load_;
  Vector values_, ones_, heat_, inverse_diagonal_, kept_, inside_, scratch_;  // heat_: integrals of capacity phi_i
  double capacity_ = 0;                                                       // its integral
  std::optional<double> known_at_;
};

}  // namespace

PatchHeatMemory required_memory(const Context& ctx, const PatchMesh& mesh, const PatchHeatProblem& problem) {
  // Of a node, all levels together: what PatchPoissonSolver takes at most, and vectors, M and A in double.
  const std::int64_t even_mass = problem.capacity_of_cells ? 40 : 0;
  const std::int64_t on_host = 740, on_device = 620, nodes = mesh.nodes() / ctx.subdomains();
  return {(on_host + even_mass) * nodes, ctx.on_gpu() ? (on_device + even_mass) * nodes : 0};
}

struct PatchHeatSolver::Implementation : HeatSteps<PatchEquation> {
  Implementation(Context& ctx, const PatchMesh& mesh, const PatchHeatProblem& problem, const PatchHeatParams& given)
      : HeatSteps(ctx, given,
                  [&](std::optional<PatchEquation>& to, double s) { to.emplace(ctx, mesh, problem, given, s); }) {}
};

PatchHeatSolver::PatchHeatSolver(Context& ctx, const PatchMesh& mesh, const PatchHeatProblem& problem,
                                 const PatchHeatParams& params)
    : implementation_(std::make_unique<Implementation>(ctx, mesh, problem, params)) {}
PatchHeatSolver::~PatchHeatSolver() = default;
PatchHeatSolver::PatchHeatSolver(PatchHeatSolver&&) noexcept = default;
PatchHeatSolver& PatchHeatSolver::operator=(PatchHeatSolver&&) noexcept = default;

const HeatReport& PatchHeatSolver::advance(Context& ctx, double to, const HeatMonitor& monitor) {
  return implementation_->advance(ctx, to, monitor);
}
double PatchHeatSolver::time() const { return implementation_->report.t; }
const HeatReport& PatchHeatSolver::report() const { return implementation_->report; }
const std::vector<PatchLevelPlan>& PatchHeatSolver::levels() const {
  return implementation_->equation->solver->levels();
}

std::vector<double> PatchHeatSolver::nodal_solution(Context& ctx, int patch) const {
  const PatchLayout& layout = implementation_->equation->layout;
  expects(patch >= 0 && patch < layout.patches(), "there is no patch ", patch, "; the mesh has ", layout.patches());
  expects(layout.has(patch), "patch ", patch, " belongs to rank ", layout.rank_of(patch),
          ", which alone has its solution");
  return implementation_->equation->numbers_of(ctx, patch, implementation_->u);
}
double PatchHeatSolver::heat(Context& ctx) const { return implementation_->equation->heat(ctx, implementation_->u); }
std::optional<PatchErrors> PatchHeatSolver::relative_errors(Context& ctx) const {
  const PatchEquation& equation = *implementation_->equation;
  if (!equation.problem.space.exact) return std::nullopt;
  std::vector<std::vector<double>> nodal;
  for (int p = 0; p < equation.layout.patches(); ++p)
    nodal.push_back(equation.layout.has(p) ? nodal_solution(ctx, p) : std::vector<double>{});
  return stratum::relative_errors(ctx, equation.mesh, equation.at(time()).exact, nodal);
}

std::optional<double> PatchHeatSolver::relative_l2_error(Context& ctx) const {
  const auto errors = relative_errors(ctx);
  return errors ? std::optional(errors->l2) : std::nullopt;
}
std::optional<PatchHeatFluxes> PatchHeatSolver::fluxes(Context& ctx) const {
  Implementation& self = *implementation_;
  if (self.known_slopes == 0) return std::nullopt;
  return self.equation->fluxes(ctx, time(), self.u, self.slope);
}
std::int64_t PatchHeatSolver::unknowns() const { return implementation_->equation->nodes(); }
int PatchHeatSolver::rank_of(int patch) const { return implementation_->equation->layout.rank_of(patch); }

HeatState PatchHeatSolver::state(Context& ctx) const {
  const Implementation& self = *implementation_;
  HeatState state{self};
  state.u = self.equation->numbers_of_all(ctx, self.u);
  state.slope = self.equation->numbers_of_all(ctx, self.slope);
  state.slope_before = self.equation->numbers_of_all(ctx, self.slope_before);
  return state;
}

bool PatchHeatSolver::restore(Context& ctx, const HeatState& state, bool same_data) {
  Implementation& self = *implementation_;
  const std::size_t count = self.equation->count_of_all();
  expects(state.u.size() == count && state.slope.size() == count && state.slope_before.size() == count, "a state of ",
          state.u.size(), " numbers is not one of ", count);
  self.equation->put_numbers_of_all(ctx, state.u, self.u);
  self.equation->put_numbers_of_all(ctx, state.slope, self.slope);
  self.equation->put_numbers_of_all(ctx, state.slope_before, self.slope_before);
  self.equation->forget_data();
  return self.go_on(ctx, state, same_data);
}

}  // namespace stratum
