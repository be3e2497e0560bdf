#include <stratum/multigrid/poisson_solver.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/full_multigrid.hpp>
#include <stratum/multigrid/transfer/operator_dependent.hpp>
#include <stratum/solvers/mixed/double_single.hpp>
#include <stratum/solvers/mixed/mixed_cg.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
#include <stratum/solvers/rounding.hpp>
#include <stratum/solvers/row_scaled.hpp>

namespace stratum {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Where V(2,2), F(2,2) and CG cross in time to 1e-8. F-cycles visit the small levels often, which on a GPU costs launches.
constexpr double jump_for_f = 16, jump_for_cg = 200;
constexpr std::int64_t unknowns_for_f = 50'000;

/// Puts a value to what was left open, and says why where smoother "auto" had a choice.
std::string fill_in(const Context& ctx, const TensorMesh<2>& mesh, PoissonSolverParams& params) {
  if (params.terms.varies() && params.format == StorageFormat::tensor) params.format = StorageFormat::symmetric;
  auto& cycle = params.multigrid.cycle;
  if (params.precision == Precision::double_single)
    params.method = params.method.value_or(cycle == Cycle::k ? Method::fcg : Method::cg);
  const bool method_open = !params.method && params.inner.rtol == 0, cycle_open = !cycle;
  const bool choose = params.multigrid.smoother == "auto" && cycle_open && !params.full_multigrid &&
                      (method_open || params.method == Method::multigrid);
  const bool varies = params.coefficients != nullptr;
  cycle = cycle.value_or(Cycle::v);
  const Method krylov = cycle == Cycle::k ? Method::fcg : Method::cg;
  params.method = params.method.value_or(varies && method_open && !params.full_multigrid ? krylov : Method::multigrid);
  // A pass by itself ends with smoothing: what float leaves of a direct solution, nothing would take from it.
  const bool one_pass = params.full_multigrid && !params.continue_after_full_multigrid;
  if (params.multigrid.smoother != "auto" || one_pass)
    params.multigrid.sweeps = params.multigrid.sweeps.value_or(default_sweeps(params.multigrid.smoother, ctx.on_gpu()));
  if (varies && method_open && !params.full_multigrid)
    return message(cycle == Cycle::k ? "flexible " : "", "conjugate gradients: K varies");
  if (!choose) return {};
  const double jump_x = largest_jump(mesh.x()), jump_y = largest_jump(mesh.y()), jump = std::min(jump_x, jump_y);
  std::ostringstream seen;
  seen.precision(2);
  seen << "neighbouring widths differ by factors of up to " << jump_x << " in x and " << jump_y << " in y";
  if (jump < jump_for_f) return "V-cycles: " + seen.str();
  if ((jump < jump_for_cg || !method_open) && !ctx.on_gpu() && mesh.unknowns().nodes() >= unknowns_for_f) {
    cycle = Cycle::f;
    return "F-cycles: " + seen.str();
  }
  if (!method_open) return {};
  params.method = Method::cg;
  return "conjugate gradients: " + seen.str();
}

/// With the method of a precision that has one alone.
PoissonSolverParams with_method(PoissonSolverParams params) {
  if (params.precision == Precision::residual_replacement) params.method = params.method.value_or(Method::cg);
  return params;
}

/// The method's entry in the table of solvers.
const SolverEntry& entry_of(const PoissonSolverParams& params) {
  const Method method = params.method.value_or(Method::multigrid);
  return solver_entry(method == Method::multigrid ? "richardson" : to_string(method));
}

bool leaves_cycle_open(const PoissonSolverParams& params) {
  return params.multigrid.smoother == "auto" && !params.multigrid.cycle && !params.full_multigrid;
}

/// The cycle, and the method where it is open too, are left open until the matrix is there.
bool asks_matrix(const PoissonSolverParams& params, bool of_matrix) {
  return leaves_cycle_open(params) && (params.coefficients != nullptr || (of_matrix && params.multigrid.symmetric));
}

/// Cycle and method for a K that is rotated against the mesh. The recursion of a K-cycle may not have isolated islands of high
/// K.
void take_more_of_coarse_levels(PoissonSolverParams& params, bool jumps) {
  const bool method_open = !params.method && params.inner.rtol == 0;
  const bool k = !jumps && (method_open || !entry_of(params).constant_symmetric);
  params.multigrid.cycle = k ? Cycle::k : Cycle::w2;
  if (method_open) params.method = k ? Method::fcg : Method::cg;
}

/// Method and cycle by what the matrix, of this `k`, couples, and why; nothing where that leaves the decision to others.
std::string choose_by_matrix(const Couplings& found, PoissonSolverParams& params, const char* k = "K") {
  constexpr double most_even = 10;
  const bool jumps = found.jump > most_even, method_open = !params.method && params.inner.rtol == 0;
  std::ostringstream seen;
  seen.precision(2);
  if (found.is_rotated()) {
    take_more_of_coarse_levels(params, jumps);
    const bool k_cycle = params.multigrid.cycle == Cycle::k;
    if (method_open) seen << (k_cycle ? "flexible " : "") << "conjugate gradients around ";
    seen << (k_cycle ? "K" : "W2") << "-cycles: " << k << " is rotated against the mesh, det K down to "
         << found.least_aligned << " kxx kyy";
    if (jumps) seen << ", and jumps by up to " << found.jump;
    return seen.str();
  }
  if (!method_open || (!jumps && params.coefficients == nullptr)) return {};
  params.method = Method::cg;
  params.multigrid.cycle = Cycle::v;
  seen << "conjugate gradients: " << k << " ";
  if (jumps)
    seen << "jumps by up to " << found.jump;
  else
    seen << "varies";
  return seen.str();
}

/// How many systems of a batch are solved at the same time; one: with the solver's own hierarchy.
std::size_t side_by_side(const Context& ctx, const GridLayout<2>& shape, std::size_t systems) {
  if (ctx.on_gpu() || ctx.subdomains() > 1 || shape.nodes() > PoissonSolver::most_unknowns_side_by_side) return 1;
  return std::clamp<std::size_t>(systems, 1, static_cast<std::size_t>(ctx.threads()));
}

std::string blown_up_reason(double residual, double initial) {
  return message("the FMG cycle blew up: the residual is ", residual, ", that of x = 0 was ", initial);
}

void expect_room(const Context& ctx, const TensorMesh<2>& mesh, std::int64_t needed) {
  const GridLayout<2> n = mesh.unknowns();
  expect_memory(ctx, message("mesh ", mesh.name(), " with ", n.nx, " x ", n.ny, " unknowns"), needed);
}

}  // namespace

/// A cycle in T, seen as a preconditioner in double.
template <class T>
struct DoubleCycle {
  Multigrid<T> multigrid;
  std::shared_ptr<Preconditioner<T>> in_own_precision;  // the cycle, or an inner iteration with it
  std::shared_ptr<Preconditioner<double>> in_double;    // for Krylov methods

  DoubleCycle(Context& ctx, const Hierarchy<T>& hierarchy, const PoissonSolverParams& params,
              const SmootherRegistry& registry)
      : multigrid(ctx, hierarchy, cycle_params(params), registry),
        in_own_precision(std::make_shared<Multigrid<T>>(multigrid)) {
    if constexpr (std::is_same_v<T, double>) {
      in_double = in_own_precision;
    } else {
      if (params.inner.rtol > 0 || params.inner.cycles != 1)
        in_own_precision = std::make_shared<InnerIteration<T>>(ctx, fine_operator(), multigrid, params.inner);
      if (params.precision != Precision::double_single && params.precision != Precision::residual_replacement &&
          (params.method != Method::multigrid || params.precision == Precision::single))
        make_in_double(ctx);
    }
  }
  void make_in_double(Context& ctx) {
    if (!in_double)
      in_double = std::make_shared<PrecisionCast<double, T>>(ctx, fine_operator().shape(), in_own_precision);
  }
  [[nodiscard]] const GridOperator<T>& fine_operator() const { return multigrid.hierarchy().finest(); }
  /// Of in_own_precision: an inner iteration has vectors of its own.
  [[nodiscard]] std::optional<Room<T>> room() const {
    const bool is_cycle = std::dynamic_pointer_cast<Multigrid<T>>(in_own_precision) != nullptr;
    return is_cycle ? multigrid.room(multigrid.levels() - 1) : std::nullopt;
  }

 private:
  static MultigridParams cycle_params(const PoissonSolverParams& params) {
    MultigridParams cycle = params.multigrid;
    const bool iterates = !params.full_multigrid || params.continue_after_full_multigrid;
    if (iterates && !cycle.symmetric && !entry_of(params).constant_symmetric) cycle.is_corrected = true;
    cycle.symmetric = cycle.symmetric || entry_of(params).symmetric;
    return cycle;
  }
};

struct PoissonSolver::Implementation {
  /// A thread's own hierarchy, for batches.
  struct Worker {
    Context ctx{Backend::cpu, 1};
    PoissonSolver solver;
    explicit Worker(const Implementation& of)
        : solver(of.matrix ? PoissonSolver(ctx, *of.matrix, of.meshes.back(), of.params, of.registry)
                           : PoissonSolver(ctx, of.meshes.back(), of.params, of.registry)) {}
  };
  /// Everything in float.
  struct Single {
    Field<float> b, x;
    std::unique_ptr<Solver<float>> solver;
  };
  struct DoubleSingle {
    DoubleSingleRefinement refinement;
    std::unique_ptr<Solver<float>> solver;
  };
  std::vector<std::unique_ptr<Worker>> workers;
  ReentrancyGuard guard;
  PoissonSolverParams params;
  std::string choice, deflation;
  std::optional<Couplings> found;  // of the matrix, where they were asked for
  SmootherRegistry registry;
  std::vector<TensorMesh<2>> meshes;
  PartitionLevels partition;
  std::optional<GridOperator<double>> matrix;    // of the hierarchy; none: operators are assembled on the meshes
  std::optional<GridOperator<double>> unscaled;  // what is iterated on where `matrix` is D times it
  std::vector<double> scales;                    // D
  std::optional<PartMeans> means;     // what the cycle is put between, where `matrix` is another than is iterated on
  bool follows_conductances = false;  // of the matrix, which are not kept
  bool starts_from_zero = false;      // whatever x holds
  double setup_seconds = 0;
  std::optional<Hierarchy<double>> in_double;  // where more than the finest operator is needed
  GridOperator<double> a;
  std::unique_ptr<DoubleCycle<float>> float_cycle;
  std::unique_ptr<DoubleCycle<double>> double_cycle;
  std::unique_ptr<FullMultigrid<float>> full_float;
  std::unique_ptr<FullMultigrid<double>> full_double;
  std::unique_ptr<MixedRefinement> mixed_refinement;  // the method multigrid in mixed precision
  std::unique_ptr<MixedCg> mixed_cg;                  // of residual_replacement
  std::unique_ptr<Solver<double>> solver;             // none of these two, nor in single or double-single precision
  Single single;
  std::optional<DoubleSingle> double_single;
  Field<double> defect, correction;  // of full multigrid from a given x

  /// With `given` as the finest operator, or an assembled one.
  Implementation(Context& ctx, std::optional<GridOperator<double>> given, const TensorMesh<2>& mesh,
                 PoissonSolverParams p, SmootherRegistry r, const Conductances* weights = nullptr,
                 std::optional<GridOperator<double>> iterated_on = {}, std::vector<double> d = {},
                 std::optional<PartMeans> part_means = {})
      : params(with_method(std::move(p))), registry(std::move(r)), meshes(mesh_hierarchy(mesh)),
        partition(ctx, meshes, params.multigrid.partition()), matrix(std::move(given)),
        unscaled(std::move(iterated_on)), scales(std::move(d)), means(std::move(part_means)),
        follows_conductances(weights != nullptr) {
    const auto begin = Clock::now();
    if (params.multigrid.reproducible && params.deflate.by == DeflateBy::automatic) params.deflate = {};
    expects(!params.multigrid.reproducible || params.deflate.by == DeflateBy::none,
            "deflation differs by rounding on other subdomains of the grid; reproducible solves do without");
    const bool by_matrix = asks_matrix(params, matrix.has_value());
    if (by_matrix && !ctx.is_dry_run()) {
      if (matrix)
        a = *matrix;
      else
        a = assembled_in_room(ctx, mesh);
      found = couplings(ctx, means ? *unscaled : a);
      choice = choose_by_matrix(*found, params);
      if (choice.empty() && matrix && !params.method && params.inner.rtol == 0) {
        params.method = Method::cg;
        params.multigrid.cycle = Cycle::v;
        choice = "conjugate gradients: the matrix is symmetric";
      }
    } else if (by_matrix) {
      take_more_of_coarse_levels(params, false);  // without numbers: what takes the most memory
    }
    if (choice.empty())
      choice = fill_in(ctx, mesh, params);
    else
      (void)fill_in(ctx, mesh, params);
    if (matrix && weights == nullptr && !params.interpolation) {
      // Without numbers: what takes the most memory.
      const bool follows = !params.multigrid.reproducible && (found ? found->jump > most_bilinear_jump : by_matrix);
      params.interpolation = follows ? InterpolationKind::matrix : InterpolationKind::bilinear;
    }
    params.stop.validate();
    params.inner.validate();
    if (params.multigrid.smoother != "auto") (void)registry.find(params.multigrid.smoother);
    expects(params.precision != Precision::single || !params.full_multigrid,
            "full multigrid keeps its iterate in double; precision single does not apply to it");
    const bool may_deflate =
        params.method == Method::cg && (params.precision == Precision::mixed || params.precision == Precision::full);
    // By itself it is for what these solve.
    if (params.deflate.by == DeflateBy::automatic && matrix && !may_deflate) params.deflate = {};
    expects(
        params.deflate.by == DeflateBy::none ||
            (may_deflate && (params.coefficients || (matrix && params.multigrid.symmetric))),
        "deflation is for conjugate gradients where K varies or of symmetric matrices, in mixed or double precision");
    expects(params.precision != Precision::residual_replacement || params.method == Method::cg,
            "conjugate gradients in float are the method cg, not ", to_string(*params.method));
    const bool in_double_single = params.precision == Precision::double_single;
    expects(!in_double_single || !params.full_multigrid,
            "full multigrid keeps its iterate in double; double-single precision does not apply to it");
    expects(!in_double_single || entry_of(params).symmetric,
            "double-single solutions are corrected by conjugate gradients in float: the method is cg, fcg or cr, not ",
            to_string(*params.method));
    if (in_double_single && matrix) DoubleSingleRefinement::expects_storage_format(matrix->format());
    if (in_double_single && !matrix && !params.coefficients)
      DoubleSingleRefinement::expects_storage_format(params.format);
    expects(
        !unscaled || means ||
            ((params.precision == Precision::mixed || params.precision == Precision::full) && !params.full_multigrid &&
             !entry_of(params).symmetric),
        "scales of rows are for mixed or double precision and methods that take a nonsymmetric preconditioner, not ",
        to_string(*params.method));
    expects(
        !entry_of(params).constant_symmetric || params.inner.rtol == 0, entry_of(params).name,
        " needs a constant preconditioner: a number of inner cycles, not a tolerance; fcg, gcr and gmres take both");
    expects(!entry_of(params).constant_symmetric || params.multigrid.cycle != Cycle::k, entry_of(params).name,
            " needs a constant preconditioner, which a k-cycle is not; fcg, gcr and gmres take it");
    expects(!params.interpolation || matrix || params.coefficients, "interpolation ", to_string(*params.interpolation),
            " is for coefficients that vary, deformed meshes and matrices; without, it goes by the widths");
    if (!ctx.is_dry_run()) expect_room_for_all(ctx, mesh, weights);
    if (matrix || params.coefficients) in_double = products(ctx, mesh, weights);
    const bool tries_double = may_be_direct_in_double(ctx);
    if (tries_double) params.precision = Precision::full;
    if (!in_double && (params.precision == Precision::full || params.full_multigrid)) in_double = levels_in_double(ctx);
    a = in_double ? in_double->finest()
                  : assemble_operator<double>(ctx, mesh, params.format, params.terms, partition.finest());
    if (unscaled) a = *unscaled;
    params.format = a.format();
    if (params.precision == Precision::full) make_double_cycle(ctx);
    if (tries_double && !double_cycle->multigrid.is_direct()) {
      double_cycle.reset();
      solver.reset();
      params.precision = Precision::mixed;
    }
    if (!double_cycle) make_float_cycle(ctx);
    const bool is_direct = double_cycle ? double_cycle->multigrid.is_direct() : float_cycle->multigrid.is_direct();
    if (params.full_multigrid && is_direct) {
      // Not for one FMG cycle alone, which asks for steps. The first iteration is as good.
      params.full_multigrid = false;
      starts_from_zero = !params.full_multigrid_from_x;
    }
    if (params.full_multigrid) {
      if (double_cycle)
        full_double = std::make_unique<FullMultigrid<double>>(ctx, *in_double, double_cycle->multigrid);
      else
        full_float = std::make_unique<FullMultigrid<float>>(ctx, *in_double, float_cycle->multigrid);
      if (params.full_multigrid_from_x) {
        defect = Field<double>(ctx, a.shape());
        correction = Field<double>(ctx, a.shape());
      }
    }
    if (params.precision == Precision::single)
      make_single(ctx);
    else if (in_double_single)
      double_single.emplace(DoubleSingle{DoubleSingleRefinement(ctx, a.shape()),
                                         make_solver<float>(ctx, entry_of(params).name, a.shape(), params.krylov)});
    else if (params.precision == Precision::residual_replacement)
      mixed_cg = std::make_unique<MixedCg>(ctx, a.shape());
    else if (params.method == Method::multigrid && params.precision == Precision::mixed && !unscaled)
      mixed_refinement = std::make_unique<MixedRefinement>(ctx, a, float_cycle && float_cycle->room());
    else if (!solver)
      make_solver_in_double(ctx);
    reserve_reductions(ctx, a.shape());
    ctx.synchronise();
    setup_seconds = seconds_since(begin);
  }

  /// Whether mixed precision may leave cycles in float for a direct solution in double, which is right at once, where one in
  /// float is after two to four times.
  [[nodiscard]] bool may_be_direct_in_double(const Context& ctx) const {
    const bool is_open = params.precision == Precision::mixed && !params.inner.tests() && params.inner.cycles == 1;
    const StorageFormat format = in_double ? in_double->finest().format() : params.format;
    const GridLayout<2>& shape = partition.finest();
    return ctx.on_gpu() && is_open && params.multigrid.may_be_direct() && format == StorageFormat::tensor &&
           meshes.size() > 1 && !shape.has_halo() && std::min(shape.nx, shape.ny) <= params.multigrid.exact_below;
  }

  void expect_room_for_all(const Context& ctx, const TensorMesh<2>& mesh, const Conductances* weights = nullptr) const {
    Context dry_run = ctx.memory_dry_run();
    const Field<double> b(dry_run, partition.finest()), x(dry_run, partition.finest());
    const Implementation in_dry_run(dry_run, matrix, mesh, params, registry, weights, unscaled, scales, means);
    expect_room(ctx, mesh, dry_run.memory()->peak_bytes);
  }
  /// The finest operator of K and c by cells, before the rest is known but not before there is room for it.
  [[nodiscard]] GridOperator<double> assembled_in_room(Context& ctx, const TensorMesh<2>& mesh) const {
    expect_room_for_all(ctx, mesh);
    const CellFields fields(ctx, mesh, *params.coefficients, params.terms.reaction);
    return assemble_diffusion(ctx, mesh, *params.coefficients, fields, params.terms, partition.finest());
  }
  /// Of the matrix, with the conductances that it was given with, or of K and c by cells.
  [[nodiscard]] Hierarchy<double> products(Context& ctx, const TensorMesh<2>& mesh, const Conductances* weights) const {
    const auto kind = params.interpolation.value_or(InterpolationKind::conductance);
    const auto simple = kind == InterpolationKind::matrix ? Interpolation::of_matrix() : Interpolation();
    const bool follows_k = kind == InterpolationKind::conductance || kind == InterpolationKind::split;
    if (matrix) {
      const bool by_weights = kind == InterpolationKind::conductance && weights != nullptr;
      expects(!follows_k || by_weights, "interpolation ", to_string(kind),
              " needs K, and a matrix has none; bilinear and matrix do not");
      return Hierarchy<double>::galerkin(
          ctx, *matrix, mesh, {weights != nullptr || params.multigrid.symmetric, params.multigrid.singular},
          by_weights ? Interpolation::by_conductances(*weights) : simple, params.multigrid.partition());
    }
    const CellCoefficients& k = *params.coefficients;
    const MatrixTraits traits{true, is_singular(mesh, params.terms) && k.c.empty()};
    const CellFields fields(ctx, mesh, k, params.terms.reaction);
    const auto finest =
        a.shape().nodes() > 0 ? a : assemble_diffusion(ctx, mesh, k, fields, params.terms, partition.finest());
    if (!follows_k) return Hierarchy<double>::galerkin(ctx, finest, mesh, traits, simple, params.multigrid.partition());
    const Conductances conductances(ctx, mesh, fields);
    return Hierarchy<double>::galerkin(ctx, finest, mesh, traits,
                                       kind == InterpolationKind::split ? Interpolation::split(conductances, k)
                                                                        : Interpolation::by_conductances(conductances),
                                       params.multigrid.partition());
  }
  static std::unique_ptr<Implementation> on(Context& ctx, const Geometry& mesh, PoissonSolverParams params,
                                            const SmootherRegistry& registry) {
    if (mesh.mapped() == nullptr)
      return std::make_unique<Implementation>(ctx, std::nullopt, mesh.logical(), std::move(params), registry);
    expects(params.interpolation != InterpolationKind::split,
            "interpolation split is for rectangles; a deformed mesh takes conductance, bilinear or matrix");
    const auto begin = Clock::now();
    params = with_method(std::move(params));
    const bool choose = !params.method && params.inner.rtol == 0 && !params.full_multigrid;
    std::optional<MappedCells> cells(std::in_place, ctx, *mesh.mapped(), params.coefficients.get(),
                                     params.terms.reaction);
    params.multigrid.singular = is_singular(mesh.logical(), params.terms) && !cells->has_reaction();
    const PartitionLevels partition(ctx, mesh_hierarchy(mesh.logical()), params.multigrid.partition());
    const auto a = assemble_diffusion(ctx, *mesh.mapped(), *cells, params.terms, partition.finest());
    const Conductances k(ctx, *mesh.mapped(), *cells);
    cells.reset();  // makes room
    std::string choice;
    if (leaves_cycle_open(params) && ctx.is_dry_run())
      take_more_of_coarse_levels(params, false);
    else if (leaves_cycle_open(params))
      choice = choose_by_matrix(couplings(ctx, a), params, "K in logical coordinates");
    if (choose && !params.method) {
      params.method = Method::cg;
      choice = mesh.mapped()->is_cartesian() ? "conjugate gradients: the mesh is deformed"
                                             : "conjugate gradients: the coordinates are not Cartesian";
    }
    params.multigrid.cycle = params.multigrid.cycle.value_or(Cycle::v);  // widths are not asked
    auto made = std::make_unique<Implementation>(ctx, a, mesh.logical(), std::move(params), registry, &k);
    made->choice = std::move(choice);
    made->setup_seconds = seconds_since(begin);
    return made;
  }

  [[nodiscard]] Hierarchy<double> levels_in_double(Context& ctx) const {
    return in_double
               ? *in_double
               : Hierarchy<double>::assembled(ctx, meshes, params.format, params.terms, params.multigrid.partition());
  }
  void make_float_cycle(Context& ctx) {
    // Assembled operators are symmetric: of nine bands a cycle that double corrects needs five.
    const bool nine = params.format == StorageFormat::nine_band && params.precision != Precision::single;
    const bool of_products = in_double && in_double->is_galerkin();
    const auto levels = of_products
                            ? Hierarchy<float>(ctx, *in_double)
                            : Hierarchy<float>::assembled(ctx, meshes, nine ? StorageFormat::symmetric : params.format,
                                                          params.terms, params.multigrid.partition());
    float_cycle = std::make_unique<DoubleCycle<float>>(ctx, levels, params, registry);
    scale_rows(ctx, *float_cycle);
  }
  void make_double_cycle(Context& ctx) {
    double_cycle = std::make_unique<DoubleCycle<double>>(ctx, levels_in_double(ctx), params, registry);
    scale_rows(ctx, *double_cycle);
    if (!solver) make_solver_in_double(ctx);
  }
  template <class T>
  void scale_rows(Context& ctx, DoubleCycle<T>& cycle) const {
    if (!unscaled) return;
    cycle.make_in_double(ctx);
    if (means)
      cycle.in_double = std::make_shared<PartsProjected>(ctx, a.shape(), *means, cycle.in_double);
    else
      cycle.in_double = std::make_shared<RowScaled>(ctx, a.shape(), scales, cycle.in_double);
  }
  void set_reaction(Context& ctx, double c) {
    const auto entered = guard.enter("solver");
    expects(!matrix && !params.coefficients, "another reaction coefficient is for solvers made from a mesh with K = 1; "
                                             "one made from a matrix or K and c by cells takes a matrix");
    if (double_cycle) double_cycle->multigrid.set_reaction(ctx, c);
    if (float_cycle) float_cycle->multigrid.set_reaction(ctx, c);
    if (in_double && !double_cycle) in_double->set_reaction(ctx, c);
    params.terms.reaction = c;
    if (!in_double) stratum::set_reaction(ctx, meshes.back(), params.terms, a);
    workers.clear();
  }
  template <class... K>
  void update(Context& ctx, const GridOperator<double>& given, const K&... k) {
    const auto entered = guard.enter("solver");
    expects(in_double && (matrix || params.coefficients),
            "other coefficients are for solvers made from a matrix or K and c by cells");
    expects(!means, "a cycle for several singular parts belongs to these: make another solver for other coefficients");
    expects(!unscaled,
            "scales of rows belong to the coefficients that they were found for: make another solver for others");
    expects(params.deflate.by == DeflateBy::none,
            "deflation vectors belong to the coefficients that they were made for: make another solver for others");
    if (double_cycle) double_cycle->multigrid.update(ctx, given, k...);
    if (float_cycle) float_cycle->multigrid.update(ctx, given, k...);
    a = in_double->finest();
    if (matrix) matrix = a;
    workers.clear();
  }
  void make_single(Context& ctx) {
    single = {Field<float>(ctx, a.shape()), Field<float>(ctx, a.shape()), nullptr};
    if (params.method == Method::multigrid)
      single.solver = std::make_unique<Refinement<float>>(ctx, a.shape(), ResidualUpdate::updated);
    else
      single.solver = make_solver<float>(ctx, entry_of(params).name, a.shape(), params.krylov);
  }
  void make_solver_in_double(Context& ctx) {
    if (params.deflate.by != DeflateBy::none && !ctx.is_dry_run()) {
      auto& cycle = double_cycle ? *double_cycle->in_double : *float_cycle->in_double;
      if (!params.coefficients && !found) found = couplings(ctx, a);
      DeflatedSolver made = params.coefficients ? make_deflated_solver(ctx, *in_double, *params.coefficients,
                                                                       params.terms, cycle, params.deflate)
                                                : make_deflated_solver(ctx, *in_double, *found, cycle, params.deflate);
      deflation = std::move(made.description);
      solver = std::move(made.solver);
      if (solver) return;
      if (params.deflate.by == DeflateBy::automatic)
        params.deflate = {};  // no vectors that other coefficients would not suit
    }
    solver = make_solver<double>(ctx, entry_of(params).name, a.shape(), params.krylov);
  }

  /// With the double cycle where there is one, else with the float cycle.
  SolveReport iterate(Context& ctx, FieldView<const double> b, FieldView<double> x, const StoppingParams& stop,
                      const Monitor& monitor, std::optional<double> rhs_norm = {}) const {
    if (!double_cycle && mixed_refinement)
      return mixed_refinement->solve(ctx, a, *float_cycle->in_own_precision, b, x, stop, monitor, rhs_norm,
                                     float_cycle->room());
    if (!double_cycle && mixed_cg)
      return mixed_cg->solve(ctx, a, float_cycle->fine_operator(), *float_cycle->in_own_precision, b, x, stop, monitor);
    return solver->solve(ctx, a, double_cycle ? *double_cycle->in_double : *float_cycle->in_double, b, x, stop,
                         monitor);
  }

  /// Goes on from the x that `before` ended with, for what it was to reach and with what is left of its iterations.
  SolveReport go_on(Context& ctx, FieldView<const double> b, FieldView<double> x, const SolveReport& before,
                    StoppingParams stop, const Monitor& monitor) const {
    const double target = std::max(stop.rtol * before.reference_norm_value, stop.atol);
    if (!stop.error_tol && target > stop.atol) stop.error_tol = stop.error_limit();
    stop.rtol = std::numeric_limits<double>::min();
    stop.atol = target;
    stop.reference_norm = ReferenceNorm::rhs;
    stop.max_iterations = std::max(0, stop.max_iterations - before.iterations);
    // An FMG cycle leaves its residual to the iteration that follows.
    const bool known = before.history.size() == static_cast<std::size_t>(before.iterations) + 1;
    // It started from b itself, unless it was for the defect of a given x.
    std::optional<double> rhs_norm;
    if (!known && !params.full_multigrid_from_x) rhs_norm = before.initial_residual;
    SolveReport report = iterate(ctx, b, x, stop,
                                 monitor ? Monitor([&](int it, double r) {
                                   if (it > 0 || !known) monitor(before.iterations + it, r);
                                 })
                                         : Monitor(),
                                 rhs_norm);
    if (!known && report.status == Status::non_finite) {
      report.status = Status::diverged;
      report.reason = "the FMG cycle overflowed";
    }
    report.iterations += before.iterations;
    report.inner_iterations += before.inner_iterations;
    report.reference_norm = before.reference_norm;
    report.reference_norm_value = before.reference_norm_value;
    report.initial_residual = before.initial_residual;
    report.history.insert(report.history.begin(), before.history.begin(), before.history.end() - (known ? 1 : 0));
    if (report.status == Status::max_iterations)
      report.reason = max_iterations_reason(report.residual, report.iterations, target);
    const bool gave_up = report.status == Status::max_iterations || report.status == Status::stagnated;
    if (!known && gave_up && report.residual > report.initial_residual) {
      Field<double> r(ctx, a.shape());
      a.residual(ctx, b, x, r.view());
      if (!Rounding<double>(ctx, a, b, x, report.reference_norm_value).has_its_size(report.residual, r.cview())) {
        report.status = Status::diverged;
        report.reason = blown_up_reason(report.residual, report.initial_residual);
      }
    }
    return report;
  }

  /// Whether a residual is no more than float leaves of an x as large as this one. An iteration that ends so would not in
  /// double.
  [[nodiscard]] bool is_rounding_of_float(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                                          double residual) const {
    constexpr double digits = std::numeric_limits<float>::epsilon() / std::numeric_limits<double>::epsilon();
    const double level = Rounding<double>::stopped * digits * Rounding<double>(ctx, a, b, x, 0).level();
    return std::isfinite(level) && residual <= level;
  }

  /// `pass`: what came before, if something did.
  SolveReport solve_in_double(Context& ctx, FieldView<const double> b, FieldView<double> x, const Monitor& monitor,
                              const SolveReport* pass = nullptr) {
    StoppingParams stop = params.stop;
    // A Krylov method may not have what it takes for granted of a float cycle, a fixed linear map: it is not waited for long.
    if (!double_cycle && params.retry_in_double && !mixed_refinement && !stop.patience) stop.patience = 30;
    SolveReport report = pass != nullptr ? go_on(ctx, b, x, *pass, stop, monitor) : iterate(ctx, b, x, stop, monitor);
    if (double_cycle || !params.retry_in_double || report.iterations >= params.stop.max_iterations) return report;
    // A float cycle may stall above the rounding of double, overflow, or grow by what float leaves of x; an iteration that
    // grows by itself would do so in double too. Nor is it rounding of double that ends it where it has been better before, or
    // x may still be better.
    const bool diverged = report.status == Status::diverged;
    const bool was_better =
        report.residual<0.5 * report.history.back(), may_be_better = report.estimated_error.value_or(0)> std::max(
            params.stop.error_limit(), 1e-6);
    const bool failed =
        report.status == Status::stagnated || report.status == Status::breakdown ||
        (report.status == Status::round_off_limit && (was_better || may_be_better)) ||
        (diverged && (!std::isfinite(report.residual) || is_rounding_of_float(ctx, b, x, report.residual)));
    if (!failed) return report;
    if (diverged) set(ctx, 0.0, x);
    const std::string first =
        message("double-precision fallback, since ", mixed_cg ? "conjugate gradients in float" : "mixed precision",
                " ended as ", to_string(report.status), " after ", report.iterations, " iterations: ");
    make_double_cycle(ctx);
    SolveReport second = go_on(ctx, b, x, report, params.stop, monitor);
    double_cycle.reset();
    if (mixed_refinement || mixed_cg) solver.reset();
    second.reason = first + second.reason;
    return second;
  }

  /// Everything in float, the residual updated recursively as the solver sees it; then the truth.
  SolveReport solve_in_single(Context& ctx, FieldView<const double> b, FieldView<double> x, const Monitor& monitor) {
    // Scaled by a power of two: the loads of the thinnest cells would vanish in float.
    const double scale = power_of_two_below_reciprocal(norm_max(ctx, b));
    const auto bf = single.b.view(), xf = single.x.view();
    copy_scaled(ctx, scale, b, bf);
    copy_scaled<double, float>(ctx, scale, x, xf);
    StoppingParams stop = params.stop;
    stop.atol *= scale;
    const Monitor scaled = monitor ? Monitor([&](int it, double r) { monitor(it, r / scale); }) : Monitor();
    SolveReport report = single.solver->solve(ctx, float_cycle->fine_operator(), *float_cycle->in_own_precision,
                                              single.b.cview(), xf, stop, scaled);
    copy_scaled(ctx, 1 / scale, single.x.cview(), x);
    const double residual = a.scaled_residual_norm<float>(ctx, scale, b, x, bf) / scale;
    judge_single_precision(report, params.stop, scale, residual, "use mixed precision");
    return report;
  }

  /// A pass whose last cycle gained little, or that ended above the residual of zero.
  void look_closer(Context& ctx, FieldView<const double> b, FieldView<const double> x, double interpolated,
                   SolveReport& report) const {
    const double corrected = report.residual, rhs_norm = report.initial_residual;
    Field<double> r(ctx, a.shape());
    a.residual(ctx, b, x, r.view());
    Rounding<double> rounding(ctx, a, b, x, rhs_norm);
    if (corrected > 0.5 * interpolated && rounding.reached(corrected, r.cview(), Rounding<double>::stopped)) {
      report.status = Status::round_off_limit;
      report.reason = message("one full multigrid pass; its residual, ", corrected, ", is at rounding");
    } else if (!(corrected <= interpolated)) {
      report.status = Status::diverged;
      report.reason = message("the finest level's cycle raised the residual from ", interpolated, " to ", corrected);
      if (full_float && is_rounding_of_float(ctx, b, x, corrected))
        report.reason += ", which is what float leaves; use double precision";
    } else if (corrected > rhs_norm && !rounding.has_its_size(corrected, r.cview())) {
      report.status = Status::diverged;
      report.reason = blown_up_reason(corrected, rhs_norm);
    } else if (corrected > 0.5 * interpolated) {
      report.status = Status::stagnated;
      report.reason = message("the finest level's cycle only reduced the residual from ", interpolated, " to ",
                              corrected, "; this smoother does not suit the mesh");
    } else {
      report.status = Status::converged;
    }
  }

  /// Where cycles go on from it, the residual is left for them to find out.
  SolveReport full_multigrid_pass(Context& ctx, FieldView<const double> b, FieldView<double> x,
                                  const Monitor& monitor) {
    SolveReport report;
    const bool goes_on = params.continue_after_full_multigrid;
    const auto norms = goes_on ? FullMultigridNorms::initial : FullMultigridNorms::all;
    const auto pass = [&](FieldView<const double> rhs, FieldView<double> solution) {
      return full_double ? full_double->solve(ctx, rhs, solution, norms) : full_float->solve(ctx, rhs, solution, norms);
    };
    FullMultigridPass norms_found;
    if (params.full_multigrid_from_x) {
      a.residual(ctx, b, x, defect.view());
      norms_found = pass(defect.cview(), correction.view());
      axpy<double, double>(ctx, 1, correction.cview(), x);
    } else {
      norms_found = pass(b, x);
    }
    const auto [rhs_norm, interpolated, corrected] = norms_found;
    report.reference_norm = params.stop.reference_norm;
    report.initial_residual = rhs_norm;
    report.reference_norm_value =
        params.full_multigrid_from_x && report.reference_norm == ReferenceNorm::rhs ? norm2(ctx, b) : rhs_norm;
    report.residual = std::isfinite(rhs_norm) ? corrected : rhs_norm;
    report.iterations = report.inner_iterations = 1;
    report.history = {rhs_norm};
    if (monitor) monitor(0, rhs_norm);
    if (goes_on && std::isfinite(rhs_norm)) return report;
    report.history.push_back(report.residual);
    if (monitor) monitor(1, report.residual);
    if (!std::isfinite(rhs_norm)) {
      report.status = Status::non_finite;
      report.reason = "the right-hand side is not finite";
    } else if (!(corrected <= 0.5 * interpolated) || corrected > rhs_norm) {
      look_closer(ctx, b, x, interpolated, report);
    } else {
      report.status = Status::converged;
    }
    if (report.status == Status::converged)
      report.reason = message("one full multigrid pass; the finest level's cycle reduced the residual from ",
                              interpolated, " to ", corrected, "; no tolerance was asked for and none is claimed");
    return report;
  }
};

std::int64_t required_memory(const Context& ctx, const Geometry& mesh, const PoissonSolverParams& params,
                             const SmootherRegistry& registry, std::size_t systems) {
  Context dry_run = ctx.memory_dry_run();
  const GridLayout<2> unknowns =
      PartitionLevels(ctx, mesh_hierarchy(mesh.logical()), params.multigrid.partition()).finest();
  std::vector<Field<double>> b_and_x;
  for (std::size_t k = 0; k < 2 * systems; ++k) b_and_x.emplace_back(dry_run, unknowns);
  const PoissonSolver solver(dry_run, mesh, params, registry);
  std::int64_t bytes = dry_run.memory()->peak_bytes;
  if (const auto threads = side_by_side(ctx, unknowns, systems); threads > 1 && mesh.mapped() == nullptr) {
    Context one = Context(Backend::cpu, 1).memory_dry_run();
    const PoissonSolver worker(one, mesh, params, registry);
    bytes += static_cast<std::int64_t>(threads) * one.memory()->peak_bytes;
  }
  return bytes;
}

PoissonSolver::PoissonSolver(Context& ctx, const Geometry& mesh, const PoissonSolverParams& params,
                             const SmootherRegistry& registry)
    : implementation_(Implementation::on(ctx, mesh, params, registry)) {}
PoissonSolver::PoissonSolver(Context& ctx, const GridOperator<double>& a, const TensorMesh<2>& mesh,
                             const PoissonSolverParams& params, const SmootherRegistry& registry)
    : implementation_(std::make_unique<Implementation>(ctx, a, mesh, params, registry)) {}
PoissonSolver::PoissonSolver(Context& ctx, const GridOperator<double>& a, const Conductances& k,
                             const TensorMesh<2>& mesh, const PoissonSolverParams& params,
                             const SmootherRegistry& registry)
    : implementation_(std::make_unique<Implementation>(ctx, a, mesh, params, registry, &k)) {}
PoissonSolver::PoissonSolver(Context& ctx, const GridOperator<double>& a, const RowScales& scales,
                             const TensorMesh<2>& mesh, const PoissonSolverParams& params,
                             const SmootherRegistry& registry)
    : implementation_(
          std::make_unique<Implementation>(ctx, scales.scaled, mesh, params, registry, nullptr, a, scales.d)) {}
PoissonSolver::PoissonSolver(Context& ctx, const GridOperator<double>& a, const GridOperator<double>& for_cycle,
                             const PartMeans& means, const TensorMesh<2>& mesh, const PoissonSolverParams& params,
                             const SmootherRegistry& registry)
    : implementation_(std::make_unique<Implementation>(ctx, for_cycle, mesh, params, registry, nullptr, a,
                                                       std::vector<double>(), means)) {}
PoissonSolver::~PoissonSolver() = default;
PoissonSolver::PoissonSolver(PoissonSolver&&) noexcept = default;
PoissonSolver& PoissonSolver::operator=(PoissonSolver&&) noexcept = default;

void PoissonSolver::warm_up(Context& ctx) {
  Implementation& self = *implementation_;
  if (!ctx.on_gpu() || ctx.is_dry_run() || self.a.shape().nodes() == 0) return;
  const auto begin = Clock::now();
  Field<double> b(ctx, self.a.shape()), x(ctx, self.a.shape());
  set(ctx, 1.0, b.view());
  const PoissonSolverParams params = self.params;
  self.params.stop.rtol = self.params.stop.atol = std::numeric_limits<double>::min();
  self.params.stop.max_iterations = 2;
  self.params.retry_in_double = false;
  // The first solve loads code, the second one captures what the first has run.
  for (int k = 0; k < 2; ++k) (void)solve(ctx, b.cview(), x.view());
  self.params = params;
  self.setup_seconds += seconds_since(begin);
}

SolveReport PoissonSolver::solve(Context& ctx, FieldView<const double> b, FieldView<double> x, const Monitor& monitor) {
  Implementation& self = *implementation_;
  const GridLayout<2> shape = self.a.shape();
  expects_fit(ctx, "b", b, shape);
  expects_fit(ctx, "x", x, shape);
  const auto entered = self.guard.enter("solver");
  const auto begin = Clock::now();
  SolveReport report;
  if (self.starts_from_zero) set(ctx, 0.0, x);
  if (self.params.full_multigrid) {
    report = self.full_multigrid_pass(ctx, b, x, monitor);
    if (self.params.continue_after_full_multigrid && report.status != Status::non_finite) {
      const SolveReport pass = std::move(report);
      report = self.solve_in_double(ctx, b, x, monitor, &pass);
    }
  } else if (self.params.precision == Precision::single) {
    report = self.solve_in_single(ctx, b, x, monitor);
  } else if (self.double_single) {
    report = self.double_single->refinement.solve(ctx, self.a, self.float_cycle->fine_operator(),
                                                  *self.double_single->solver, *self.float_cycle->in_own_precision, b,
                                                  x, self.params.stop, monitor);
  } else {
    report = self.solve_in_double(ctx, b, x, monitor);
  }
  ctx.synchronise();
  report.solve_seconds = seconds_since(begin);
  report.setup_seconds = self.setup_seconds;
  report.choice = self.choice;
  report.levels = level_reports();
  return report;
}

std::vector<SolveReport> PoissonSolver::solve(Context& ctx, std::span<const FieldView<const double>> b,
                                              std::span<const FieldView<double>> x) {
  Implementation& self = *implementation_;
  expects(b.size() == x.size(), b.size(), " right-hand sides and ", x.size(), " solutions do not match");
  std::vector<SolveReport> reports(b.size());
  const std::size_t threads =
      self.follows_conductances || self.unscaled ? 1 : side_by_side(ctx, self.a.shape(), b.size());
  if (threads == 1) {
    for (std::size_t k = 0; k < b.size(); ++k) reports[k] = solve(ctx, b[k], x[k]);
    return reports;
  }
  if (self.workers.size() < threads) {
    const TensorMesh<2>& mesh = self.meshes.back();
    const auto more = static_cast<std::int64_t>(threads - self.workers.size());
    Context dry_run = Context(Backend::cpu, 1).memory_dry_run();
    const Implementation in_dry_run(dry_run, self.matrix, mesh, self.params, self.registry);
    expect_room(ctx, mesh, more * dry_run.memory()->peak_bytes);
    self.workers.resize(threads);
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::future<void>> done;
  for (std::size_t t = 0; t < threads; ++t)
    done.push_back(std::async(std::launch::async, [&, &worker = self.workers[t]] {
      if (!worker) worker = std::make_unique<Implementation::Worker>(self);
      for (std::size_t k = next++; k < b.size(); k = next++) reports[k] = worker->solver.solve(worker->ctx, b[k], x[k]);
    }));
  for (auto& worker : done) worker.wait();
  for (auto& worker : done) worker.get();
  for (auto& report : reports) {
    report.setup_seconds = self.setup_seconds;
    report.choice = self.choice;
  }
  return reports;
}

std::vector<LevelReport> PoissonSolver::level_reports() const {
  const Implementation& self = *implementation_;
  return self.float_cycle ? self.float_cycle->multigrid.level_reports() : self.double_cycle->multigrid.level_reports();
}

std::vector<std::vector<OverlapRows>> PoissonSolver::overlaps() const {
  const auto of = [](const auto& multigrid) {
    std::vector<std::vector<OverlapRows>> rows;
    for (int l = 0; l < multigrid.levels(); ++l) rows.push_back(multigrid.overlap(l));
    return rows;
  };
  const Implementation& self = *implementation_;
  return self.float_cycle ? of(self.float_cycle->multigrid) : of(self.double_cycle->multigrid);
}

void PoissonSolver::set_reaction(Context& ctx, double c) { implementation_->set_reaction(ctx, c); }
void PoissonSolver::update(Context& ctx, const GridOperator<double>& a) { implementation_->update(ctx, a); }
void PoissonSolver::update(Context& ctx, const GridOperator<double>& a, const Conductances& k) {
  implementation_->update(ctx, a, k);
}

void PoissonSolver::set_stop(const StoppingParams& stop) {
  stop.validate();
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  self.params.stop = stop;
  for (auto& worker : self.workers)
    if (worker) worker->solver.set_stop(stop);
}

Preconditioner<double>& PoissonSolver::preconditioner(Context& ctx) {
  Implementation& self = *implementation_;
  if (self.double_cycle) return *self.double_cycle->in_double;
  self.float_cycle->make_in_double(ctx);
  return *self.float_cycle->in_double;
}

const PoissonSolverParams& PoissonSolver::params() const { return implementation_->params; }
const std::string& PoissonSolver::choice() const { return implementation_->choice; }
const std::string& PoissonSolver::deflation() const { return implementation_->deflation; }
int PoissonSolver::levels() const { return static_cast<int>(implementation_->meshes.size()); }
const std::vector<TensorMesh<2>>& PoissonSolver::meshes() const { return implementation_->meshes; }
const std::string& PoissonSolver::coarse_solver() const {
  const Implementation& self = *implementation_;
  return self.float_cycle ? self.float_cycle->multigrid.coarse_solver() : self.double_cycle->multigrid.coarse_solver();
}
const GridOperator<double>& PoissonSolver::fine_operator() const { return implementation_->a; }

}  // namespace stratum
