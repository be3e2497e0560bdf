#include <stratum/multigrid/structured/matrix_solver.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/assembly/rectangle_fields.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/field/reduce.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/multigrid/identity_rows.hpp>
#include <stratum/multigrid/structured/flat_vectors.hpp>
#include <stratum/multigrid/structured/rows_of_operator.hpp>
#include <stratum/multigrid/structured/scaled_rows.hpp>
#include <stratum/solvers/error_estimate.hpp>
#include <stratum/solvers/row_scaled.hpp>

namespace stratum {

namespace {

/// x += c
struct AddConstant {
  double c;
  FieldView<double> x;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int j) const { return x(i, j) + c; }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, double v) const { x(i, j) = v; }
};

/// One where a node is held by 1e5 times what couples it, and none beside it is: on coarse levels that is a
/// condition on several nodes, which float keeps no difference of.
template <class View>
struct HeldAlone {
  static constexpr bool takes_maximum = true;
  View a;
  template <int dx, int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE void add(int i, int j, double& others, double& beside) const {
    const double entry = a.template coefficient<dx, dy>(i, j);
    if (entry == 0) return;
    others += entry < 0 ? -entry : entry;
    const double diagonal = a.template coefficient<0, 0>(i + dx, j + dy);
    beside = diagonal > beside ? diagonal : beside;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    double others = 0, beside = 0;
    add<-1, -1>(i, j, others, beside);
    add<0, -1>(i, j, others, beside);
    add<1, -1>(i, j, others, beside);
    add<-1, 0>(i, j, others, beside);
    add<1, 0>(i, j, others, beside);
    add<-1, 1>(i, j, others, beside);
    add<0, 1>(i, j, others, beside);
    add<1, 1>(i, j, others, beside);
    constexpr double held = 1e5, by_more = 1e3;
    const double diagonal = a.template coefficient<0, 0>(i, j);
    return others > 0 && diagonal >= held * others && diagonal >= by_more * beside ? 1 : 0;
  }
};

bool holds_nodes_alone(Context& ctx, const GridOperator<double>& a) {
  return a.visit([&]<class View>(const View& view) {
    return reduce(ctx, a.shape().nx, a.shape().ny, HeldAlone<View>{view});
  }) > 0;
}

/// D A for the cycle, where rows want scales.
std::optional<RowScales> row_scales(Context& ctx, const GridRows& rows, const PoissonSolverParams& params) {
  const bool in_double = params.precision == Precision::mixed || params.precision == Precision::full;
  const bool takes_any =
      !params.method || params.method == Method::multigrid || !solver_entry(to_string(*params.method)).symmetric;
  if (rows.symmetric || !in_double || !takes_any || params.full_multigrid) return {};
  return scaled_rows(ctx, rows.a, rows.parts.connected > 1);
}

/// A flat vector that goes from subdomain to subdomain.
template <class T>
std::span<T> on_host(const Context& ctx, FieldView<T> v) {
  expects(!ctx.on_gpu(), "on several subdomains flat vectors must lie on the host, or be given as arrays");
  return {v.data, static_cast<std::size_t>(v.nx)};
}

}  // namespace

class MatrixSolver::State {
 public:
  State(Context& ctx, GridRows given, const MatrixSolverParams& p, const SmootherRegistry& smoothers)
      : rows(std::move(given)), params(p), registry(smoothers), scaled(find_scales(ctx)), means(part_means(ctx)),
        solver(make(ctx)), flat(ctx, rows), b_(ctx, rows.a.shape()), x_(ctx, rows.a.shape()) {
    make_scratch(ctx);
  }

  void update(Context& ctx, const std::function<void(GridRows&)>& read) {
    const auto entered = guard.enter("solver");
    is_whole = false;
    read(rows);
    flat.update(ctx);
    const bool was_scaled = scaled.has_value();
    scaled = find_scales(ctx);
    const bool had_parts = means.has_value();
    means = part_means(ctx);
    const bool sees_fixed = solver.plan().params.interpolation == InterpolationKind::matrix && rows.fixed_in_all > 0;
    if (!was_scaled && !scaled && !had_parts && !means && !sees_fixed && solver.plan().precision_reason.empty() &&
        suits(ctx)) {
      solver.update(ctx, rows.a);
      solver.set_stop(params.solver.stop);
      if (scales_.empty() != rows.parts.connected_part.empty()) make_scratch(ctx);
    } else {
      solver = make(ctx);
      make_scratch(ctx);
    }
    is_whole = true;
  }
  /// A matrix that was refused may have been written over the one before in part.
  void expects_whole() const {
    expects(is_whole, "the latest update was refused, so that there is no matrix: update with one that fits, or make "
                      "another solver");
  }

  SolveReport solve(Context& ctx, const double* b, double* x, const Monitor& monitor) {
    const auto entered = guard.enter("solver");
    expects_whole();
    b = of_positive(ctx, b);
    flat.to_grid(ctx, x, x_.view());
    flat.rhs_to_grid(ctx, b, x, b_.view());
    const double not_finite = flat.not_finite(ctx, x);
    if (std::isnan(not_finite)) for_each_node(ctx, all_nodes(b_.view()), AddConstant{not_finite, b_.view()});
    SolveReport report = solve_on_grid(ctx, b_.cview(), x_.view(), monitor);
    flat.from_grid(ctx, x_.cview(), x);
    return report;
  }
  SolveReport solve(Context& ctx, FieldView<const double> b, FieldView<double> x, const Monitor& monitor) {
    const auto entered = guard.enter("solver");
    expects_whole();
    if (mean_.empty() && !means && !symmetrised() && !rows.negative)
      return noted(ctx, solve_parts(ctx, b, x, params.solver.stop, monitor));
    copy_scaled<double, double>(ctx, rows.negative ? -1 : 1, b, b_.view());
    return solve_on_grid(ctx, b_.cview(), x, monitor);
  }

  void apply(Context& ctx, const double* r, double* z) {
    const auto entered = guard.enter("solver");
    expects_whole();
    r = of_positive(ctx, r);
    flat.rhs_to_grid(ctx, r, z, b_.view());
    apply_cycle(ctx, b_.cview(), x_.view());
    flat.from_grid(ctx, x_.cview(), z);
  }
  void apply(Context& ctx, FieldView<const double> r, FieldView<double> z) {
    expects_whole();
    apply_cycle(ctx, r, z);
    if (rows.negative) copy_scaled<double, double>(ctx, -1, z, z);
  }

  void set_stop(const StoppingParams& stop) {
    solver.set_stop(stop);
    params.solver.stop = stop;
  }

  GridRows rows;
  MatrixSolverParams params;
  SmootherRegistry registry;
  std::optional<RowScales> scaled;
  std::optional<PartMeans> means;  // of several singular parts, or one beside other nodes
  StructuredSolver solver;
  FlatVectors flat;
  ReentrancyGuard guard;
  bool is_whole = true;

 private:
  /// -b of a matrix that was read as its negative.
  const double* of_positive(Context& ctx, const double* b) {
    if (!rows.negative) return b;
    const FieldView<double> minus = minus_b_.view();
    copy_scaled<double, double>(ctx, -1, FieldView<const double>{b, minus.nx, 1, minus.nx}, minus);
    return minus.data;
  }
  void make_scratch(Context& ctx) {
    if (rows.negative && minus_b_.empty()) {
      const auto flat_size = rows.moved ? rows.moved->subdomain_size() : static_cast<std::size_t>(rows.unknowns());
      minus_b_ = Field<double>(ctx, static_cast<int>(flat_size));
    }
    mean_ = {};
    d_ = {};
    by_d_ = {};
    best_x_ = {};
    weighted_ = {};
    scales_ = {};
    scaled_b_ = {};
    if (!rows.parts.connected_part.empty()) {
      scales_ = Field<double>(ctx, GridLayout<2>::flat(static_cast<int>(rows.a.shape().nodes())));
      scaled_b_ = Field<double>(ctx, rows.a.shape());
    }
    if (symmetrised()) {
      std::vector<double> by_d(scaled->d.size());
      std::transform(scaled->d.begin(), scaled->d.end(), by_d.begin(), [](double d) { return 1 / d; });
      d_ = vector_from_host(ctx, scaled->d);
      by_d_ = vector_from_host(ctx, by_d);
      weighted_ = Field<double>(ctx, rows.a.shape());
      best_x_ = Field<double>(ctx, rows.a.shape());
    }
    if (!solver.params().multigrid.singular || means) return;
    mean_ = mean_scratch(ctx, rows.a.shape());
    if (!cycle_is_scaled()) return;
    d_ = vector_from_host(ctx, scaled->d);
    sum_of_d_ = sum_of(ctx, d_.cview());
    weighted_ = Field<double>(ctx, rows.a.shape());
  }
  [[nodiscard]] std::optional<PartMeans> part_means(Context& ctx) const {
    if (cycle_is_scaled() || !rows.parts.any() || rows.parts.is_whole || !params.singular.value_or(true)) return {};
    return PartMeans(ctx, rows.a.shape(), rows.parts);
  }
  /// The rows are scaled, and fall into parts or are in units of their own: what is solved is D A x = D b, with all that
  /// symmetric parts are solved by.
  [[nodiscard]] bool symmetrised() const { return is_symmetrised(scaled); }
  [[nodiscard]] bool is_symmetrised(const std::optional<RowScales>& scales) const {
    return scales && scales->symmetric && (rows.parts.connected > 1 || scales->are_units);
  }
  /// What is solved is A x = b, by a cycle of D A.
  [[nodiscard]] bool cycle_is_scaled() const { return scaled && !symmetrised(); }
  [[nodiscard]] const GridOperator<double>& solved() const { return symmetrised() ? scaled->scaled : rows.a; }
  [[nodiscard]] std::optional<RowScales> find_scales(Context& ctx) {
    std::optional<RowScales> scales = row_scales(ctx, rows, params.solver);
    if (is_symmetrised(scales)) {
      make_parts_alike(ctx, rows.parts, *scales);
      if (rows.parts.largest > 0) zero_row_sums(ctx, rows.parts, scales->scaled);
    } else if (!rows.symmetric) {
      rows.parts = rows.parts.connected_only();
    }
    return scales;
  }
  void apply_cycle(Context& ctx, FieldView<const double> r, FieldView<double> z) {
    if (symmetrised()) {
      times_rows(ctx, d_, r, weighted_.view());
      r = weighted_.cview();
    }
    solver.preconditioner(ctx).apply(ctx, r, z);
  }
  /// Of a matrix that is said to be singular.
  void expects_zero_sums(Context& ctx) const {
    const GridOperator<double>& a = scaled ? scaled->scaled : rows.a;
    Field<double> ones(ctx, a.shape()), sums(ctx, a.shape()), d(ctx, a.shape());
    set(ctx, 1.0, ones.view());
    a.apply(ctx, ones.cview(), sums.view());
    diagonal(ctx, a, d.view());
    constexpr double about_zero = 1e-6;
    const double most = norm_max(ctx, sums.cview()), largest = norm_max(ctx, d.cview());
    expects(most <= about_zero * largest, "the matrix is said to be singular, and a row of it sums to ", most,
            " where the largest diagonal entry is ", largest, "; all must sum to zero");
  }
  [[nodiscard]] StructuredSolver make(Context& ctx) {
    expects(!params.symmetric.value_or(false) || rows.symmetric,
            "the matrix is said to be symmetric and is not: ", rows.unsymmetric);
    MatrixFacts facts;
    facts.symmetric = scaled ? scaled->symmetric : params.symmetric.value_or(rows.symmetric);
    facts.singular =
        means ? rows.parts.rest_is_fixed : params.singular.value_or(scaled ? scaled->singular : rows.singular);
    expects(!facts.singular || (scaled ? scaled->symmetric : rows.symmetric),
            "a singular matrix must be symmetric, with rows that sum to zero; this one is not symmetric");
    if (params.singular.value_or(false) && !means) {
      expects_zero_sums(ctx);
      // What is left of them, as of numbers from a text file, would be of no use.
      if (!scaled && !rows.singular) zero_row_sums(ctx, {}, rows.a);
    }
    facts.cycle_is_scaled = cycle_is_scaled();
    facts.has_parts = rows.parts.connected > 1;
    facts.has_singular_parts = means.has_value();
    facts.lost_in_float = rows.parts.lost_in_float;
    facts.holds_nodes_alone =
        params.solver.precision == Precision::mixed && facts.symmetric && holds_nodes_alone(ctx, solved());
    StructuredProblem problem{.mesh = rows.mesh(params.widths_x, params.widths_y), .matrix = solved(), .facts = facts};
    if (has_identity_rows(facts)) {
      facts.has_identity_rows = true;
      problem.facts = facts;
      LinkedSolids linked = link_solids(ctx, rows.unknown, solved());
      problem.identity_rows = linked.any_value;
      if (linked.any_solid) {
        problem.matrix = std::move(linked.matrix);
        problem.iterated_on = solved();
        problem.means = PartMeans(ctx, rows.a.shape(), fixed_parts());
      }
    } else if (means) {
      problem.matrix = connected(ctx, rows.parts, solved());
      problem.iterated_on = solved();
      problem.means = means;
    } else if (cycle_is_scaled()) {
      problem.matrix = scaled->scaled;
      problem.iterated_on = rows.a;
      problem.scales = scaled->d;
    }
    return {ctx, std::move(problem), params.solver, registry};
  }

  /// Identity rows that slow a cycle: in most matrices there are none, or those of Dirichlet boundaries are cut off.
  [[nodiscard]] bool has_identity_rows(const MatrixFacts& facts) const {
    const Precision precision = params.solver.precision;
    const bool in_double = precision == Precision::mixed || precision == Precision::full;
    return !rows.unknown.empty() && rows.fixed_in_all > 0 && facts.symmetric && !scaled && !means && in_double &&
           (params.solver.deflate.by == DeflateBy::none || params.solver.deflate.by == DeflateBy::automatic) &&
           (!params.solver.interpolation || params.solver.interpolation == InterpolationKind::matrix);
  }
  [[nodiscard]] SingularParts fixed_parts() const {
    SingularParts parts;
    for (const int k : rows.unknown) parts.of_node.push_back(k < 0 ? SingularParts::fixed : SingularParts::regular);
    return parts;
  }

  /// What was chosen for the last coefficients would be chosen for these.
  [[nodiscard]] bool suits(Context& ctx) const {
    const auto& cycle = params.solver.multigrid;
    if (solver.deflation().starts_with("by ")) return false;  // vectors belong to coefficients
    if (cycle.smoother != "auto" || !rows.symmetric) return true;
    std::vector<Couplings> found(solver.meshes().size());
    found.back() = couplings(ctx, rows.a);
    const bool helped = solver.params().multigrid.cycle != Cycle::v;
    const std::string chosen = solver.level_reports().back().smoother;  // none where there is one level
    return chosen.empty() ||
           (choose_smoothers(solver.meshes(), found, cycle.smoother_params, cycle.sweeps).back().smoother == chosen &&
            (cycle.cycle || helped == found.back().is_rotated()) &&
            (params.solver.interpolation || solver.params().interpolation == InterpolationKind::matrix ||
             found.back().jump <= most_bilinear_jump));
  }

  /// Of all subdomains.
  [[nodiscard]] std::int64_t nodes() const { return std::int64_t{rows.left_nx} * rows.left_ny; }
  /// Unknown, or node, that the first node of a singular part is.
  [[nodiscard]] std::int64_t name_of(const SingularParts::Part& part) const {
    const std::int64_t i = part.first % rows.left_nx + rows.first_i, j = part.first / rows.left_nx + rows.first_j;
    return rows.numbering == Numbering::y_first ? i * rows.ny + j : j * rows.nx + i;
  }
  SolveReport noted(const Context& ctx, SolveReport report) const {
    const std::string scales_note =
        symmetrised() ? "rows are scaled as makes the matrix symmetric, and residuals before the last are of these"
                      : "";
    const std::string gpus_note = ctx.on_gpu() ? note_on_gpus(nodes(), ctx.subdomains()) : "";
    const std::string sign_note = rows.negative ? "the diagonal is negative: -A x = -b is solved" : "";
    for (const std::string& note : {sign_note, rows.parts.note(), scales_note, gpus_note})
      if (!note.empty()) report.choice += (report.choice.empty() ? "" : "; ") + note;
    return report;
  }
  /// b_ loses its means on singular parts.
  void make_parts_compatible(Context& ctx) {
    constexpr double rounding = 1e-8;
    const auto sums = means->sums(ctx, b_.cview());
    for (std::size_t p = 0; p < sums.size() && !params.project; ++p) {
      const auto& [sum, magnitudes] = sums[p];
      const auto& part = rows.parts.parts[p];
      expects(
          std::abs(sum) <= rounding * magnitudes || !std::isfinite(sum), "the ", part.nodes, " unknowns that ",
          rows.numbering == Numbering::given ? "node " : "unknown ", name_of(part),
          " is connected to are coupled to no others, their rows sum to zero, and the right-hand side there sums to ",
          sum, " (its absolute values to ", magnitudes, "): there is no solution; `project` subtracts the mean");
    }
    means->project(ctx, b_.view());
  }
  /// A x = b. In parts that are coupled to no others the error has to be small beside x there: where solutions differ in size b
  /// and x are scaled part by part, and it goes on.
  SolveReport solve_parts(Context& ctx, FieldView<const double> b, FieldView<double> x, const StoppingParams& given,
                          const Monitor& monitor) {
    SolveReport report = solver.solve(ctx, b, x, monitor);
    if (scales_.empty()) return report;
    constexpr int most = 4;  // what a part has at first may be error
    for (int round = 0; round < most; ++round) {
      const bool ended_well = report.status == Status::converged || report.status == Status::round_off_limit;
      if (!ended_well || !report.estimated_error || report.iterations >= given.max_iterations) return report;
      const auto scales =
          scales_of_parts(ctx, rows.parts, x, *report.estimated_error * size_of<double>(ctx, x), given.error_limit());
      if (scales.empty()) return report;
      copy_from_host(ctx, scales.data(), scales_.view());
      times_rows(ctx, scales_, b, scaled_b_.view());
      times_rows(ctx, scales_, x, x);
      StoppingParams stop = given;
      stop.reference_norm = ReferenceNorm::rhs;
      stop.max_iterations -= report.iterations;
      solver.set_stop(stop);
      const SolveReport next = solver.solve(ctx, scaled_b_.cview(), x,
                                            monitor ? Monitor([&](int k, double r) {
                                              if (k > 0) monitor(report.iterations + k, r);
                                            })
                                                    : Monitor());
      solver.set_stop(given);
      std::vector<double> back(scales.size());
      std::transform(scales.begin(), scales.end(), back.begin(), [](double scale) { return 1 / scale; });
      copy_from_host(ctx, back.data(), scales_.view());
      times_rows(ctx, scales_, x, x);
      solved().residual(ctx, b, x, scaled_b_.view());
      report.residual = norm2(ctx, scaled_b_.cview());
      report.status = next.status;
      report.reason = message("its parts, which are coupled to no others, made alike in size: ", next.reason);
      report.iterations += next.iterations;
      report.inner_iterations += next.inner_iterations;
      report.estimated_error = next.estimated_error;
      if (!next.history.empty())
        report.history.insert(report.history.end(), next.history.begin() + 1, next.history.end());
    }
    return report;
  }
  SolveReport solve_on_grid(Context& ctx, FieldView<const double> b, FieldView<double> x, const Monitor& monitor) {
    return noted(ctx, symmetrised() ? solve_symmetrised(ctx, x, monitor)
                                    : solve_on_grid(ctx, b, x, params.solver.stop, monitor));
  }
  /// D A x = D b, b in b_, to what is asked of b - A x.
  SolveReport solve_symmetrised(Context& ctx, FieldView<double> x, const Monitor& monitor) {
    const StoppingParams asked = params.solver.stop;
    times_rows(ctx, d_, b_.cview(), b_.view());
    const auto norm = [&](FieldView<const double> v) {
      times_rows(ctx, by_d_, v, weighted_.view());
      return norm2(ctx, weighted_.cview());
    };
    const auto residual = [&] {
      solved().residual(ctx, b_.cview(), x, weighted_.view());
      return norm(weighted_.cview());
    };
    const double of_b = norm(b_.cview()), initial = residual();
    const ReferenceNorm by = of_b > 0 ? asked.reference_norm : ReferenceNorm::initial;
    const double reference = by == ReferenceNorm::rhs ? of_b : initial;
    const double target = std::max(asked.rtol * reference, asked.atol);
    StoppingParams stop = asked;
    stop.atol = 0;
    if (target > 0 && std::isfinite(target)) stop.rtol = std::min(target / reference, 0.5);
    SolveReport report;
    constexpr int most = 4;
    for (int round = 0; round < most; ++round) {
      if (round > 0) copy<double, double>(ctx, x, best_x_.view());
      solver.set_stop(stop);
      SolveReport next = solve_on_grid(ctx, b_.cview(), x, stop, monitor);
      solver.set_stop(asked);
      next.residual = residual();
      if (round > 0) {
        next.iterations += report.iterations;
        next.inner_iterations += report.inner_iterations;
        next.history.insert(next.history.begin(), report.history.begin(), report.history.end() - 1);
        // That cannot be had: what there is has been solved.
        if (!(next.residual < report.residual)) {
          copy<double, double>(ctx, best_x_.cview(), x);
          next.residual = report.residual;
          next.status = Status::round_off_limit;
          next.estimated_error = report.estimated_error;
        }
      }
      report = std::move(next);
      if (report.status != Status::converged || !(report.residual > target)) break;
      report.status = Status::round_off_limit;
      constexpr double least = 1e-15;
      if (stop.rtol <= least || report.iterations >= asked.max_iterations) break;
      stop.rtol = std::max(least, 0.5 * stop.rtol * target / report.residual);
      stop.max_iterations = asked.max_iterations - report.iterations;
      stop.reference_norm = ReferenceNorm::rhs;
    }
    report.reference_norm = by;
    report.reference_norm_value = reference;
    report.initial_residual = initial;
    if (!report.history.empty()) report.history.front() = initial;
    if (report.history.size() > 1) report.history.back() = report.residual;
    if (report.status == Status::converged)
      report.reason = message("residual ", report.residual, " <= ", target, " of the rows as they were given");
    if (report.status == Status::round_off_limit && report.residual > target)
      report.reason =
          message("rounding in rows that are scaled alike keeps the residual of the rows as they were given at ",
                  report.residual, ", above the tolerance ", target);
    return report;
  }
  SolveReport solve_on_grid(Context& ctx, FieldView<const double> b, FieldView<double> x, const StoppingParams& stop,
                            const Monitor& monitor) {
    if (means) {
      make_parts_compatible(ctx);
      means->project(ctx, x);
      SolveReport report = solve_parts(ctx, b, x, stop, monitor);
      means->project(ctx, x);
      return report;
    }
    if (mean_.empty()) return solve_parts(ctx, b, x, stop, monitor);
    // D A's rows sum to zero, and so do its columns: what must have no mean is D b.
    if (cycle_is_scaled()) times_rows(ctx, d_, b, weighted_.view());
    const Compatibility found = compatibility(ctx, cycle_is_scaled() ? weighted_.cview() : b);
    expects(params.project || found.holds() || !std::isfinite(found.sum),
            "the matrix is singular, and the right-hand side sums to ", found.sum, " (its absolute values to ",
            found.sum_of_magnitudes, cycle_is_scaled() ? "), its rows scaled as makes the matrix symmetric" : ")",
            ": there is no solution; `project` subtracts the mean");
    if (cycle_is_scaled()) {
      for_each_node(ctx, all_nodes(b_.view()), AddConstant{-found.sum / sum_of_d_, b_.view()});
    } else {
      subtract_mean(ctx, b_.view(), mean_.view(), nodes());
    }
    SolveReport report = solve_parts(ctx, b, x, stop, monitor);
    subtract_mean(ctx, x, mean_.view(), nodes());
    return report;
  }

  Field<double> mean_, d_, by_d_, weighted_, best_x_, scales_, scaled_b_;
  double sum_of_d_ = 0;
  Field<double> b_, x_, minus_b_;
};

MatrixSolver::MatrixSolver(Context& ctx, GridRows rows, const MatrixSolverParams& params,
                           const SmootherRegistry& registry)
    : state_(std::make_shared<State>(ctx, std::move(rows), params, registry)) {}

MatrixSolver::MatrixSolver(Context& ctx, const SparseRows& a, int nx, int ny, const MatrixSolverParams& params)
    : MatrixSolver(ctx,
                   GridRows(ctx, RowArrays<int>{a.start, a.column, a.value}, nx, ny, params.numbering, params.cells(),
                            params.on_subdomains()),
                   params) {}

MatrixSolver::MatrixSolver(Context& ctx, const GridOperator<double>& a, const MatrixSolverParams& params)
    : MatrixSolver(ctx, rows_of_operator(ctx, a, params.numbering, params.cells(), params.on_subdomains()), params) {}

std::string MatrixSolver::note_on_gpus(std::int64_t unknowns, int gpus) {
  if (gpus == 1 || unknowns >= least_for_several_gpus) return "";
  return message(unknowns, " unknowns on ", gpus, " GPUs: one GPU would be faster");
}

SolveReport MatrixSolver::solve(Context& ctx, std::span<const double> b, std::span<double> x, const Monitor& monitor) {
  SolveReport report;
  state_->flat.on_context(ctx, b, x, true,
                          [&](const double* from, double* to) { report = state_->solve(ctx, from, to, monitor); });
  return report;
}

SolveReport MatrixSolver::solve(Context& ctx, FieldView<const double> b, FieldView<double> x, const Monitor& monitor) {
  expects_reached(ctx, "b", b);
  expects_reached(ctx, "x", x);
  if (!state_->flat.is_flat(ctx, b)) return state_->solve(ctx, b, x, monitor);
  expects_fit(ctx, "b", b, state_->rows.unknowns(), 1);
  expects_fit(ctx, "x", x, state_->rows.unknowns(), 1);
  if (state_->rows.moved) return solve(ctx, on_host(ctx, b), on_host(ctx, x), monitor);
  return state_->solve(ctx, b.data, x.data, monitor);
}

void MatrixSolver::apply(Context& ctx, std::span<const double> r, std::span<double> z) {
  state_->flat.on_context(ctx, r, z, false, [&](const double* from, double* to) { state_->apply(ctx, from, to); });
}

void MatrixSolver::apply(Context& ctx, FieldView<const double> r, FieldView<double> z) {
  expects_reached(ctx, "r", r);
  expects_reached(ctx, "z", z);
  if (!state_->flat.is_flat(ctx, r)) return state_->apply(ctx, r, z);
  expects_fit(ctx, "r", r, state_->rows.unknowns(), 1);
  expects_fit(ctx, "z", z, state_->rows.unknowns(), 1);
  if (state_->rows.moved) return apply(ctx, on_host(ctx, r), on_host(ctx, z));
  state_->apply(ctx, r.data, z.data);
}

bool MatrixSolver::is_constant() const {
  const auto& params = state_->solver.params();
  return params.multigrid.cycle != Cycle::k && params.inner.rtol == 0;
}
bool MatrixSolver::is_symmetric() const { return !state_->scaled && state_->solver.params().multigrid.symmetric; }
void MatrixSolver::set_stop(const StoppingParams& stop) { state_->set_stop(stop); }
const GridRows& MatrixSolver::rows() const { return state_->rows; }
const StructuredSolver& MatrixSolver::solver() const { return state_->solver; }
void MatrixSolver::update_rows(Context& ctx, const std::function<void(GridRows&)>& read) { state_->update(ctx, read); }

}  // namespace stratum
