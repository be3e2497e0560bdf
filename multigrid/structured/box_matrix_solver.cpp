#include <stratum/multigrid/structured/box_matrix_solver.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include <stratum/core/clock.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/names.hpp>
#include <stratum/core/operators/box_sparse_rows.hpp>
#include <stratum/core/reentrancy_guard.hpp>
#include <stratum/multigrid/box_deflation.hpp>
#include <stratum/multigrid/box_iteration.hpp>
#include <stratum/multigrid/structured/box_krylov.hpp>
#include <stratum/multigrid/structured/box_rows.hpp>
#include <stratum/multigrid/structured/rows_as_given.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

double norm(std::span<const double> v) {
  double most = 0, sum = 0;
  for (const double x : v) most = std::isnan(x) ? x : std::max(most, std::abs(x));
  if (!(most > 0) || !std::isfinite(most)) return most;
  for (const double x : v) sum += (x / most) * (x / most);
  return most * std::sqrt(sum);
}

/// Gives the numbers away unless they are to be kept.
template <class Bands>
BoxMatrix<double> bands_on(Context& ctx, BoxRows& rows, bool keep) {
  Bands bands(ctx, rows.shape);
  const auto put = [&](int n, Values& band) {
    if (band.empty()) return;
    copy_from_host<double>(ctx, band.data(), bands.band(n));
    ctx.synchronise();
    if (!keep) band = Values();
  };
  for (int n = 0; n <= box_neighbours; ++n) put(n, rows.bands[static_cast<std::size_t>(n)]);
  if constexpr (std::is_same_v<Bands, BoxFullBands<double>>)
    for (int n = 1; n <= box_neighbours; ++n) put(-n, rows.before[static_cast<std::size_t>(n - 1)]);
  bands.fill_ghosts(ctx);
  return bands;
}
BoxMatrix<double> matrix_of(Context& ctx, BoxRows& rows, bool keep = false) {
  if (rows.general) return bands_on<BoxFullBands<double>>(ctx, rows, keep);
  return bands_on<BoxBands<double>>(ctx, rows, keep);
}

/// Takes from both entries of a pair, with the mean s and the difference 2 k, what leaves -s >= |k|: of central differences
/// these are upwind ones. Sums of rows and columns stay.
void make_upwind(BoxRows& rows) {
  const Extents<3>& n = rows.shape.n;
  for (int o = 1; o <= box_neighbours; ++o) {
    if (rows.bands[static_cast<std::size_t>(o)].empty()) continue;
    std::size_t here = 0;
    for (int k = 0; k < n.nz; ++k)
      for (int j = 0; j < n.ny; ++j)
        for (int i = 0; i < n.nx; ++i, ++here) {
          const BoxOffset to(o);
          if (!rows.shape.has(0, i + to.x) || !rows.shape.has(1, j + to.y) || !rows.shape.has(2, k + to.z)) continue;
          double& a = rows.bands[static_cast<std::size_t>(o)][here];
          double& b = rows.before[static_cast<std::size_t>(o - 1)]
                                 [static_cast<std::size_t>(neighbour_in_box(n, i, j, k, box_neighbours + o))];
          const double less = std::max(0.0, std::abs(a - b) / 2 - std::max(0.0, -(a + b) / 2));
          a -= less;
          b -= less;
        }
  }
}

std::string level_text(const GatedLevel& level) {
  return message(level.axes[0].unknowns(), " x ", level.axes[1].unknowns(), " x ", level.axes[2].unknowns(), " ",
                 level.smoother());
}

/// Whether couplings to later nodes may differ as much as deflation asks for.
bool may_jump(const BoxRows& rows) {
  constexpr double of_places = 30;
  Values coupled(rows.bands[0].size(), 0.0);
  for (std::size_t n = 1; n < rows.bands.size(); ++n)
    for (std::size_t k = 0; k < rows.bands[n].size(); ++k) coupled[k] += std::abs(rows.bands[n][k]);
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const double c : coupled) {
    if (c == 0) continue;
    least = std::min(least, c);
    most = std::max(most, c);
  }
  return most * of_places > BoxDeflation::jump_for_vectors * least;
}

SparseRows rows_of_bands(const BoxRows& rows) {
  const Extents<3>& n = rows.shape.n;
  return sparse_rows_of_box(n, [&](int i, int j, int k, double(&row)[box_row]) {
    const int own = (k * n.ny + j) * n.nx + i;
    double diagonal = rows.bands[0][static_cast<std::size_t>(own)];
    for (int o = -box_neighbours; o <= box_neighbours; ++o) {
      if (o == 0) continue;
      const int number = box_neighbours + o;
      const int first = o > 0 ? own : neighbour_in_box(n, i, j, k, number);
      const Values& band = rows.bands[static_cast<std::size_t>(std::abs(o))];
      row[number] = band.empty() ? 0 : band[static_cast<std::size_t>(first)];
      diagonal -= row[number];
    }
    row[box_neighbours] = diagonal;
  });
}

/// The matrix with both triangles and a positive diagonal.
SparseRows as_read(Context& ctx, const SparseRows& a, Triangle triangle, bool& negative) {
  SparseRows read;
  read.rows = a.rows;
  read.columns = a.columns;
  read.first_row = a.first_row;
  detail::with_rows_to_read(ctx, RowArrays<std::int32_t>{a.start, a.column, a.value}, {}, triangle, false, negative,
                            [&](const auto& rows) {
                              read.start.assign(rows.start.begin(), rows.start.end());
                              read.column.assign(rows.column.begin(), rows.column.end());
                              read.value.assign(rows.value.begin(), rows.value.end());
                            });
  return read;
}

Method method_of(const BoxMatrixParams& params, const BoxRows& rows) {
  return params.method.value_or(rows.general ? Method::gmres : Method::cg);
}

std::string choice_of(const BoxRows& rows, Method method, const std::vector<GatedLevel>& levels, int deflated) {
  const std::string around = message(method == Method::multigrid ? "" : message(to_string(method), " around "),
                                     "V(1,1) cycles with gated coarsening, ", levels.size(), " levels");
  if (rows.general)
    return message(around, rows.convective ? ", lines along all directions" : "",
                   rows.oscillating ? ", of upwind couplings" : "",
                   ": the matrix is not symmetric, nor by scales of its rows");
  std::string choice =
      rows.scales.empty() ? around : message(around, ": rows are scaled as makes the matrix symmetric");
  if (deflated > 0)
    choice +=
        message("; ", deflated,
                deflated == 1 ? " isolated part of strong couplings is" : " isolated parts of strong couplings are",
                " deflated");
  return choice;
}

}  // namespace

void expects_options_of_boxes(std::string_view smoother, std::optional<int> sweeps, std::string_view cycle,
                              std::string_view interpolation) {
  expects(smoother.empty() || smoother == "auto",
          "in three dimensions smoother is 'auto': points or lines, as the cells of each level need; not '",
          shown(smoother), "'");
  expects(!sweeps || *sweeps == 1,
          "in three dimensions there is one sweep before and one after the coarse correction, not ",
          sweeps.value_or(1));
  expects(cycle.empty() || cycle == "v", "in three dimensions the cycle is 'v', not '", shown(cycle), "'");
  expects(interpolation.empty() || interpolation == "matrix",
          "in three dimensions interpolation follows the matrix: 'matrix', not '", shown(interpolation), "'");
}

template <class Index>
SparseRows rows_of_csr(std::span<const Index> start, std::span<const Index> column, std::span<const double> value) {
  expects(!start.empty() && start.front() == 0, "row starts begin with 0");
  expects_increasing(start);
  const auto count = static_cast<std::size_t>(start.back());
  expects(column.size() == count && value.size() == count, "there are ", column.size(), " columns and ", value.size(),
          " values, and the last row ends at ", count);
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  expects(start.size() <= most && count <= most, "a matrix has at most ", most, " rows and entries");
  SparseRows a;
  a.rows = a.columns = static_cast<int>(start.size()) - 1;
  a.start.assign(start.begin(), start.end());
  bool in_order = true;
  for (int k = 0; k < a.rows; ++k)
    for (auto e = static_cast<std::size_t>(start[static_cast<std::size_t>(k)]);
         e < static_cast<std::size_t>(start[static_cast<std::size_t>(k) + 1]); ++e) {
      expects(column[e] >= 0 && column[e] < a.rows, "row ", k, " of the matrix has an entry in column ", column[e],
              ", and columns are 0 .. ", a.rows - 1);
      in_order =
          in_order && (e == static_cast<std::size_t>(start[static_cast<std::size_t>(k)]) || column[e - 1] < column[e]);
    }
  if (in_order) {
    a.column.assign(column.begin(), column.end());
    a.value.assign(value.begin(), value.end());
    return a;
  }
  std::vector<SparseEntry> entries;
  entries.reserve(count);
  for (int k = 0; k < a.rows; ++k)
    for (auto e = static_cast<std::size_t>(start[static_cast<std::size_t>(k)]);
         e < static_cast<std::size_t>(start[static_cast<std::size_t>(k) + 1]); ++e)
      entries.push_back({k, static_cast<int>(column[e]), value[e]});
  return sparse_rows(a.rows, a.rows, std::move(entries));
}
template SparseRows rows_of_csr<std::int32_t>(std::span<const std::int32_t>, std::span<const std::int32_t>,
                                              std::span<const double>);
template SparseRows rows_of_csr<std::int64_t>(std::span<const std::int64_t>, std::span<const std::int64_t>,
                                              std::span<const double>);

class BoxMatrixSolver::State {
 public:
  State(Context& ctx, const SparseRows& matrix, const std::array<int, 3>& n, const BoxMatrixParams& p)
      : a(as_read(ctx, matrix, p.triangle, found.negative)), params(p),
        rows(read_box_rows(a, n, {p.symmetric, p.singular, p.widths, p.widths_beyond_ends, p.numbering})) {
    expects(ctx.subdomains() == 1, "matrices on boxes are solved on one rank; this Context has ", ctx.subdomains());
    params.stop.validate();
    found.method = method_of(params, rows);
    const BoxMultigridParams multigrid{.gate = {}, .singular = rows.singular, .all_lines = rows.convective};
    BoxDeflation deflation;
    if (!p.method && !rows.general && !rows.singular && are_even(rows.gate) && may_jump(rows))
      deflation = make_box_deflation(ctx, rows_of_bands(rows), rows.shape, rows.bands[0]);
    if (found.method == Method::cg && !rows.general && !deflation.solver) {
      conjugate.emplace(ctx, matrix_of(ctx, rows), rows.gate, multigrid, p.float_cycles);
    } else {
      const std::string_view name = found.method == Method::multigrid ? "richardson" : to_string(found.method);
      const BoxMatrix<double> of_rows = matrix_of(ctx, rows, rows.oscillating);
      if (rows.oscillating) make_upwind(rows);
      krylov.emplace(ctx, of_rows, rows.oscillating ? matrix_of(ctx, rows) : of_rows, rows.gate, multigrid,
                     BoxKrylovParams{.method = name,
                                     .restart = p.restart,
                                     .float_cycles = p.float_cycles,
                                     .solver = std::move(deflation.solver)});
    }
    found.order = rows.order;
    found.periodic = rows.shape.periodic;
    found.symmetric = rows.symmetric;
    found.singular = rows.singular;
    found.scaled = !rows.scales.empty();
    found.fixed = static_cast<int>(rows.fixed.size());
    for (std::size_t d = 0; d < 3; ++d) {
      found.widths[d] = rows.gate[d].widths;
      found.is_natural[d] = {rows.gate[d].first, rows.gate[d].last};
    }
    const std::vector<GatedLevel> levels = conjugate ? conjugate->levels() : krylov->levels();
    for (const GatedLevel& level : levels) found.levels.push_back(level_text(level));
    found.choice = choice_of(rows, found.method, levels, deflation.count);
  }

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(a.rows); }
  [[nodiscard]] std::size_t nodes() const { return static_cast<std::size_t>(rows.shape.n.nodes()); }
  [[nodiscard]] double sign() const { return found.negative ? -1 : 1; }
  [[nodiscard]] double scale(std::size_t k) const { return rows.power * (rows.scales.empty() ? 1 : rows.scales[k]); }
  [[nodiscard]] Values residual(std::span<const double> b, std::span<const double> x) const {
    Values r(b.begin(), b.end());
    for (std::size_t k = 0; k < size(); ++k)
      for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e)
        r[k] -= a.value[e] * x[static_cast<std::size_t>(a.column[e])];
    return r;
  }
  /// The same without fixed rows.
  [[nodiscard]] Values residual_of_others(std::span<const double> b, std::span<const double> x) const {
    Values r = residual(b, x);
    for (const int k : rows.fixed) r[static_cast<std::size_t>(k)] = 0;
    return r;
  }
  [[nodiscard]] Field<double>& right() { return conjugate ? conjugate->b : krylov->b; }
  void precondition(Context& ctx) { conjugate ? conjugate->precondition(ctx) : krylov->precondition(ctx); }
  /// D b at nodes, zero where they are fixed.
  void give(Context& ctx, std::span<const double> b) {
    Values of_nodes(nodes());
    const double mean = rows.singular ? sums_of(b).mean() : 0;
    for (std::size_t k = 0; k < size(); ++k)
      if (rows.has(k)) of_nodes[rows.at(k)] = scale(k) * (b[k] - mean);
    for (const int k : rows.fixed)
      if (rows.has(static_cast<std::size_t>(k))) of_nodes[rows.at(static_cast<std::size_t>(k))] = 0;
    copy_from_host<double>(ctx, of_nodes.data(), right().view());
    ctx.synchronise();
  }
  /// Of D b.
  struct Sums {
    double sum = 0, sizes = 0, weights = 0;
    /// c so that D (b - c 1) has the sum zero.
    [[nodiscard]] double mean() const { return sum / weights; }
  };
  [[nodiscard]] Sums sums_of(std::span<const double> b) const {
    Sums sums;
    for (std::size_t k = 0; k < size(); ++k) {
      sums.sum += scale(k) * b[k];
      sums.sizes += scale(k) * std::abs(b[k]);
      sums.weights += scale(k);
    }
    return sums;
  }
  /// Subtracts the mean of a right-hand side of a singular A, which is rounding unless `project` is set.
  void balance(Values& b) const {
    const Sums sums = sums_of(b);
    constexpr double rounding = 1e-8;
    expects(params.project || std::abs(sums.sum) <= rounding * sums.sizes || !std::isfinite(sums.sum),
            "the matrix is singular, and the right-hand side", rows.scales.empty() ? "" : ", by the scales of rows,",
            " sums to ", sums.sum / rows.power, ": there is no solution. Subtract its mean, or set project");
    const double mean = sums.mean();
    for (double& v : b) v -= mean;
  }
  Values fetch(Context& ctx) {
    Values of_nodes(nodes()), x(size());
    copy_to_host<double>(ctx, (conjugate ? conjugate->x : krylov->x).cview(), of_nodes.data());
    for (std::size_t k = 0; k < size(); ++k)
      if (rows.has(k)) x[k] = of_nodes[rows.at(k)];
    for (const int k : rows.fixed)
      x[static_cast<std::size_t>(k)] = 0;  // known already; coarse levels leave rounding there
    return x;
  }

  SolveReport solve(Context& ctx, std::span<const double> given, std::span<double> x, const Monitor& monitor) {
    expects(given.size() == size() && x.size() == size(), "the matrix has ", size(), " rows, b ", given.size(),
            " numbers and x ", x.size());
    const auto entered = guard.enter("solver");
    Values b(given.begin(), given.end()), known(size(), 0.0), start(x.begin(), x.end());
    for (double& v : b) v *= sign();
    if (rows.singular) balance(b);
    for (std::size_t n = 0; n < rows.fixed.size(); ++n) {
      const auto k = static_cast<std::size_t>(rows.fixed[n]);
      known[k] = start[k] = b[k] / rows.fixed_diagonal[n];
    }
    Values free = residual_of_others(b, known);
    // Both of what is given and of what is left beside the fixed rows, either of which may be the larger by far.
    double reference = std::min(norm(b), norm(free));
    const bool from_zero = start == known;
    if (!from_zero) free = residual_of_others(b, start);
    StoppingParams stop = params.stop;
    if (stop.reference_norm == ReferenceNorm::initial) reference = norm(free);
    if (std::isfinite(reference)) {
      const double target = std::max(stop.rtol * reference, stop.atol);
      if (!stop.error_tol && target > stop.atol) stop.error_tol = stop.error_limit();
      stop.atol = target;
      stop.rtol = std::numeric_limits<double>::min();
    }
    stop.reference_norm = ReferenceNorm::rhs;
    give(ctx, free);
    SolveReport report;
    if (rows.scales.empty() && from_zero) {
      report = run(ctx, stop, monitor);
      const Values solution = fetch(ctx);
      for (std::size_t k = 0; k < size(); ++k) x[k] = solution[k] + known[k];
    } else {
      std::copy(start.begin(), start.end(), x.begin());
      report = by_rounds(ctx, b, free, x, stop, monitor);
    }
    report.reference_norm = params.stop.reference_norm;
    report.reference_norm_value = reference;
    report.choice = found.choice;
    if (!rows.singular) return report;
    double mean = 0;
    for (const double v : x) mean += v / static_cast<double>(size());
    for (double& v : x) v -= mean;
    return report;
  }

  /// The iteration's report in the numbers of b.
  SolveReport run(Context& ctx, StoppingParams stop, const Monitor& monitor, int before = 0, bool is_first = true) {
    const double to_users = 1 / rows.power, atol = stop.atol;
    stop.atol /= to_users;
    const Monitor scaled = [&](int k, double r) {
      if (monitor && (is_first || k > 0)) monitor(before + k, r * to_users);
    };
    SolveReport report = conjugate ? conjugate->solve(ctx, stop, scaled) : krylov->solve(ctx, stop, scaled);
    for (double* const v : {&report.residual, &report.initial_residual, &report.reference_norm_value}) *v *= to_users;
    for (double& r : report.history) r *= to_users;
    explain(report, std::max(stop.rtol * report.reference_norm_value, atol));
    return report;
  }
  /// The reason in the numbers of b, which the iteration does not know.
  void explain(SolveReport& report, double target) const {
    const bool is_met = report.residual <= target;
    if (report.status == Status::converged && is_met)
      report.reason = message("the residual ", report.residual, " is at most ", target);
    else if (report.status == Status::max_iterations && !is_met)
      report.reason = max_iterations_reason(report.residual, report.iterations, target);
    else if (report.status == Status::round_off_limit && !is_met)
      report.reason = rounding_reason(report.residual, target);
    else if (report.status != Status::non_finite && rows.power != 1)
      report.reason += message(", in rows times ", rows.power);
  }

  /// D A times a correction = D r, with r = `free`, until b - A x meets the tolerance.
  SolveReport by_rounds(Context& ctx, std::span<const double> b, std::span<const double> free, std::span<double> x,
                        const StoppingParams& asked, const Monitor& monitor) {
    SolveReport report;
    report.initial_residual = report.residual = norm(free);
    report.history = {report.residual};
    if (monitor) monitor(0, report.residual);
    if (!std::isfinite(report.residual)) {
      report.status = Status::non_finite;
      report.reason =
          std::isfinite(norm(b)) ? "the initial residual is not finite" : "the right-hand side is not finite";
      return report;
    }
    const double target = asked.atol;
    report.status = report.residual <= target ? Status::converged : Status::max_iterations;
    constexpr int most_rounds = 8;
    constexpr double safety = 0.5, nearly = 0.999, least = 1e-10;
    for (int round = 0; round < most_rounds && report.residual > target; ++round) {
      StoppingParams stop = asked;
      if (rows.scales.empty()) {
        stop.atol = nearly * target;
      } else {
        stop.rtol = std::max(safety * target / report.residual, least);
        stop.atol = 0;
      }
      stop.max_iterations -= report.iterations;
      if (stop.max_iterations <= 0) break;
      const SolveReport of_round = run(ctx, stop, monitor, report.iterations, false);
      const Values correction = fetch(ctx);
      for (std::size_t k = 0; k < size(); ++k) x[k] += correction[k];
      const double before = report.residual;
      Values r = residual_of_others(b, x);
      if (rows.singular) {  // rounding, also that of the entries
        const double mean = sums_of(r).mean();
        for (double& v : r) v -= mean;
      }
      report.residual = norm(r);
      report.iterations += of_round.iterations;
      report.inner_iterations += of_round.inner_iterations;
      report.estimated_error = of_round.estimated_error;
      report.history.insert(report.history.end(), of_round.history.begin() + 1, of_round.history.end());
      if (!rows.scales.empty()) report.history.back() = report.residual;  // of b, not of D b
      if (report.residual <= target) {
        report.status = Status::converged;
      } else if (of_round.status != Status::converged || !(report.residual <= safety * before)) {
        report.status = of_round.status == Status::converged ? Status::stagnated : of_round.status;
        report.reason =
            message("the residual is ", report.residual, ", above the tolerance ", target,
                    rows.scales.empty() ? "; of its correction: " : "; of rows by their scales: ", of_round.reason);
        break;
      }
      give(ctx, r);
    }
    if (report.reason.empty() || report.status == Status::converged) explain(report, target);
    return report;
  }

  Findings found;
  SparseRows a;
  BoxMatrixParams params;
  BoxRows rows;
  std::optional<BoxIteration> conjugate;  // of a matrix that is symmetric, or by scales
  std::optional<BoxKrylov> krylov;        // else, and for other methods
  ReentrancyGuard guard;
  double setup_seconds = 0;
};

BoxMatrixSolver::BoxMatrixSolver(Context& ctx, const SparseRows& a, const std::array<int, 3>& n,
                                 const BoxMatrixParams& params)
    : state_([&] {
        const auto begin = Clock::now();
        auto state = std::make_unique<State>(ctx, a, n, params);
        ctx.synchronise();
        state->setup_seconds = seconds_since(begin);
        return state;
      }()) {}
BoxMatrixSolver::~BoxMatrixSolver() = default;
BoxMatrixSolver::BoxMatrixSolver(BoxMatrixSolver&&) noexcept = default;
BoxMatrixSolver& BoxMatrixSolver::operator=(BoxMatrixSolver&&) noexcept = default;

SolveReport BoxMatrixSolver::solve(Context& ctx, std::span<const double> b, std::span<double> x,
                                   const Monitor& monitor) {
  const auto begin = Clock::now();
  SolveReport report = state_->solve(ctx, b, x, monitor);
  report.setup_seconds = state_->setup_seconds;
  report.solve_seconds = seconds_since(begin);
  return report;
}

void BoxMatrixSolver::apply(Context& ctx, std::span<const double> r, std::span<double> z) {
  State& s = *state_;
  expects(r.size() == s.size() && z.size() == s.size(), "the matrix has ", s.size(), " rows, r ", r.size(),
          " numbers and z ", z.size());
  const auto entered = s.guard.enter("solver");
  Values given(r.begin(), r.end()), known(given.size(), 0.0);  // z may be r
  for (double& v : given) v *= s.sign();
  for (std::size_t n = 0; n < s.rows.fixed.size(); ++n) {
    const auto k = static_cast<std::size_t>(s.rows.fixed[n]);
    known[k] = given[k] / s.rows.fixed_diagonal[n];
  }
  if (!s.rows.fixed.empty()) given = s.residual_of_others(given, known);
  s.give(ctx, given);
  s.precondition(ctx);
  const Values cycle = s.fetch(ctx);
  for (std::size_t k = 0; k < z.size(); ++k) z[k] = cycle[k] + known[k];
}

void BoxMatrixSolver::set_stop(const StoppingParams& stop) {
  stop.validate();
  state_->params.stop = stop;
}

std::size_t BoxMatrixSolver::unknowns() const { return state_->size(); }

const BoxMatrixSolver::Findings& BoxMatrixSolver::findings() const { return state_->found; }

}  // namespace stratum
