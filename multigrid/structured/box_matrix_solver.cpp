#include <stratum/multigrid/structured/box_matrix_solver.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/box_iteration.hpp>
#include <stratum/multigrid/structured/box_rows.hpp>

namespace stratum {

namespace {

using Clock = std::chrono::steady_clock;
using Values = std::vector<double>;

double norm(std::span<const double> v) {
  double most = 0, sum = 0;
  for (const double x : v) most = std::isnan(x) ? x : std::max(most, std::abs(x));
  if (!(most > 0) || !std::isfinite(most)) return most;
  for (const double x : v) sum += (x / most) * (x / most);
  return most * std::sqrt(sum);
}

BoxBands<double> bands_on(Context& ctx, BoxRows& rows) {
  BoxBands<double> bands(ctx, rows.shape);
  for (int n = 0; n <= box_neighbours; ++n) {
    Values& band = rows.bands[static_cast<std::size_t>(n)];
    copy_from_host<double>(ctx, band.data(), bands.band(n));
    ctx.synchronise();
    band = Values();
  }
  bands.fill_ghosts(ctx);
  return bands;
}

std::string level_text(const GatedLevel& level) {
  return message(level.axes[0].unknowns(), " x ", level.axes[1].unknowns(), " x ", level.axes[2].unknowns(), " ",
                 level.smoother());
}

}  // namespace

class BoxMatrixSolver::State {
 public:
  State(Context& ctx, const SparseRows& matrix, const std::array<int, 3>& n, const BoxMatrixParams& p)
      : a(matrix), params(p), rows(read_box_rows(matrix, n, {p.symmetric, p.singular, p.widths, p.numbering})),
        iteration(ctx, bands_on(ctx, rows), rows.gate, BoxMultigridParams{.gate = {}, .singular = rows.singular},
                  p.float_cycles) {
    expects(ctx.subdomains() == 1, "matrices on boxes are solved on one rank; this Context has ", ctx.subdomains());
    params.stop.validate();
    found.order = rows.order;
    found.periodic = rows.shape.periodic;
    found.symmetric = rows.symmetric;
    found.singular = rows.singular;
    found.scaled = !rows.scales.empty();
    found.fixed = static_cast<int>(rows.fixed.size());
    for (std::size_t d = 0; d < 3; ++d) found.widths[d] = rows.gate[d].widths;
    for (const GatedLevel& level : iteration.levels()) found.levels.push_back(level_text(level));
  }

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(a.rows); }
  [[nodiscard]] double scale(std::size_t k) const { return rows.power * (rows.scales.empty() ? 1 : rows.scales[k]); }
  [[nodiscard]] Values residual(std::span<const double> b, std::span<const double> x) const {
    Values r(b.begin(), b.end());
    for (std::size_t k = 0; k < size(); ++k)
      for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e)
        r[k] -= a.value[e] * x[static_cast<std::size_t>(a.column[e])];
    return r;
  }
  /// D b at nodes, zero where they are fixed.
  void give(Context& ctx, std::span<const double> b) {
    Values of_nodes(size());
    const double mean = rows.singular ? mean_of(b) : 0;
    for (std::size_t k = 0; k < size(); ++k) of_nodes[rows.at(k)] = scale(k) * (b[k] - mean);
    for (const int k : rows.fixed) of_nodes[rows.at(static_cast<std::size_t>(k))] = 0;
    copy_from_host<double>(ctx, of_nodes.data(), iteration.b.view());
    ctx.synchronise();
  }
  /// c so that D (b - c 1) has the sum zero.
  [[nodiscard]] double mean_of(std::span<const double> b) const {
    double sum = 0, sizes = 0, weights = 0;
    for (std::size_t k = 0; k < size(); ++k) {
      sum += scale(k) * b[k];
      sizes += scale(k) * std::abs(b[k]);
      weights += scale(k);
    }
    constexpr double rounding = 1e-8;
    expects(params.project || projected || std::abs(sum) <= rounding * sizes,
            "the matrix is singular, and the right-hand side", rows.scales.empty() ? "" : ", by the scales of rows,",
            " sums to ", sum / rows.power, ": there is no solution. Subtract its mean, or set project");
    return sum / weights;
  }
  Values fetch(Context& ctx) {
    Values of_nodes(size()), x(size());
    copy_to_host<double>(ctx, iteration.x.cview(), of_nodes.data());
    for (std::size_t k = 0; k < size(); ++k) x[k] = of_nodes[rows.at(k)];
    return x;
  }

  SolveReport solve(Context& ctx, std::span<const double> b, std::span<double> x, const Monitor& monitor) {
    expects(b.size() == size() && x.size() == size(), "the matrix has ", size(), " rows, b ", b.size(),
            " numbers and x ", x.size());
    Values known(size(), 0.0), free(b.begin(), b.end());
    for (std::size_t n = 0; n < rows.fixed.size(); ++n) {
      const auto k = static_cast<std::size_t>(rows.fixed[n]);
      known[k] = b[k] / rows.fixed_diagonal[n];
      free[k] = 0;
    }
    for (const BoxRows::Lifted& entry : rows.lifted)
      free[static_cast<std::size_t>(entry.row)] -= entry.value * known[static_cast<std::size_t>(entry.fixed)];
    projected = false;
    give(ctx, free);
    // Both of what is given and of what is left beside the fixed rows, either of which may be the larger by far.
    StoppingParams stop = params.stop;
    const double target = std::max(stop.rtol * std::min(norm(b), norm(free)), stop.atol);
    if (!stop.error_tol && target > stop.atol) stop.error_tol = stop.error_limit();
    stop.atol = target;
    stop.rtol = std::numeric_limits<double>::min();
    SolveReport report;
    if (rows.scales.empty()) {
      report = run(ctx, stop, 1, monitor);
      const Values solution = fetch(ctx);
      for (std::size_t k = 0; k < size(); ++k) x[k] = solution[k] + known[k];
    } else {
      report = by_rounds(ctx, b, free, known, x, stop, monitor);
    }
    if (!rows.singular) return report;
    double mean = 0;
    for (const double v : x) mean += v / static_cast<double>(size());
    for (double& v : x) v -= mean;
    return report;
  }

  /// The iteration's report in the numbers of b: `unit` of them make one of the report's.
  SolveReport run(Context& ctx, StoppingParams stop, double unit, const Monitor& monitor, int before = 0) {
    const double to_users = unit / rows.power;
    stop.atol /= to_users;
    const Monitor scaled = [&](int k, double r) {
      if (monitor && (before == 0 || k > 0)) monitor(before + k, r * to_users);
    };
    SolveReport report = iteration.solve(ctx, stop, scaled);
    for (double* const v : {&report.residual, &report.initial_residual, &report.reference_norm_value}) *v *= to_users;
    for (double& r : report.history) r *= to_users;
    return report;
  }

  /// D A x = D b until b - A x meets the tolerance.
  SolveReport by_rounds(Context& ctx, std::span<const double> b, std::span<const double> free,
                        std::span<const double> known, std::span<double> x, const StoppingParams& asked,
                        const Monitor& monitor) {
    std::copy(known.begin(), known.end(), x.begin());
    SolveReport report;
    report.reference_norm = asked.reference_norm;
    report.reference_norm_value = report.initial_residual = report.residual = norm(free);
    report.history = {report.residual};
    const double target = asked.atol;
    report.status = report.residual <= target ? Status::converged : Status::max_iterations;
    constexpr int most_rounds = 8;
    constexpr double safety = 0.5, least = 1e-10;
    for (int round = 0; round < most_rounds && report.residual > target; ++round) {
      StoppingParams stop = asked;
      stop.rtol = std::max(safety * target / report.residual, least);
      stop.atol = 0;
      stop.max_iterations -= report.iterations;
      if (stop.max_iterations <= 0) break;
      const SolveReport of_round = run(ctx, stop, 1, monitor, report.iterations);
      const Values correction = fetch(ctx);
      for (std::size_t k = 0; k < size(); ++k) x[k] += correction[k];
      const double before = report.residual;
      Values r = residual(b, x);
      projected = true;  // what is left of a mean is rounding, or was projected
      if (rows.singular) {
        const double mean = mean_of(r);
        for (double& v : r) v -= mean;
      }
      report.residual = norm(r);
      report.iterations += of_round.iterations;
      report.inner_iterations += of_round.inner_iterations;
      report.estimated_error = of_round.estimated_error;
      report.history.insert(report.history.end(), of_round.history.begin() + 1, of_round.history.end());
      if (!report.history.empty()) report.history.back() = report.residual;
      if (report.residual <= target) {
        report.status = Status::converged;
      } else if (of_round.status != Status::converged || report.residual > safety * before) {
        report.status = of_round.status == Status::converged ? Status::stagnated : of_round.status;
        report.reason = message("the residual is ", report.residual, " where ", target,
                                " was asked for; of rows by their scales: ", of_round.reason);
        break;
      }
      give(ctx, r);
    }
    if (report.status == Status::converged)
      report.reason = message("the residual ", report.residual, " is at most ", target);
    if (report.status == Status::max_iterations && report.reason.empty())
      report.reason = max_iterations_reason(report.residual, report.iterations, target);
    return report;
  }

  SparseRows a;
  BoxMatrixParams params;
  BoxRows rows;
  BoxIteration iteration;
  Findings found;
  bool projected = false;
  double setup_seconds = 0;
};

BoxMatrixSolver::BoxMatrixSolver(Context& ctx, const SparseRows& a, const std::array<int, 3>& n,
                                 const BoxMatrixParams& params)
    : state_([&] {
        const auto begin = Clock::now();
        auto state = std::make_unique<State>(ctx, a, n, params);
        ctx.synchronise();
        state->setup_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
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
  report.solve_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return report;
}

void BoxMatrixSolver::apply(Context& ctx, std::span<const double> r, std::span<double> z) {
  State& s = *state_;
  expects(r.size() == s.size() && z.size() == s.size(), "the matrix has ", s.size(), " rows, r ", r.size(),
          " numbers and z ", z.size());
  s.projected = true;
  s.give(ctx, r);
  s.iteration.precondition(ctx);
  const Values cycle = s.fetch(ctx);
  std::copy(cycle.begin(), cycle.end(), z.begin());
  for (std::size_t n = 0; n < s.rows.fixed.size(); ++n) {
    const auto k = static_cast<std::size_t>(s.rows.fixed[n]);
    z[k] = r[k] / s.rows.fixed_diagonal[n];
  }
}

void BoxMatrixSolver::set_stop(const StoppingParams& stop) {
  stop.validate();
  state_->params.stop = stop;
}

const BoxMatrixSolver::Findings& BoxMatrixSolver::findings() const { return state_->found; }

}  // namespace stratum
