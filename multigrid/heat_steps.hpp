#pragma once

// Steps in time (multigrid/heat_progress.hpp) of an equation in two or in three dimensions: the stages, the estimate of their
// error, and the lengths of steps. What is of the dimension is the Equation's:
//
//     Params                        HeatParamsOf<...>
//     Vector                        numbers at unknowns and at Dirichlet nodes; swapped, not copied
//     vector(ctx)                   a Vector of zeros
//     nodes()                       unknowns of this subdomain
//     copy(ctx, x, y)  axpy(ctx, a, x, y)  slope(ctx, s, x, k)      y = x, y = y + a x, k = s (x - k), of all numbers
//     axpys(ctx, a, x, b, y, z)                                     z = z + a x + b y
//     copy_unknowns(ctx, x, y)  set(ctx, a, x)  norm2(ctx, x)       y = x, x = a, || x ||, of the unknowns
//     mass(ctx, x, y)  size(ctx, x, y)                              y = M x and || x || of the unknowns, without Dirichlet nodes
//     size_leaves_mass()                                            size leaves M x in y
//     set_boundary(ctx, t, x)  copy_boundary(ctx, x, y)             x = g(t), y = x, of Dirichlet nodes
//     begin_boundary(ctx, t, moment, u, k)                          k = (g(t + moment) - u) / moment, of Dirichlet nodes
//     initial(ctx, t, u)                                            the unknowns at the start
//     update(ctx, t, s)             S = A + s M with the coefficients at t; true where that is another one
//     stage_rhs(ctx, t, p, x, b)    b = F(t) + s M p and what p and x = g give at Dirichlet nodes
//     slope_rhs(ctx, t, u, k, b)    b = F(t) - A u - A_D g - M_D k_D
//     residual(ctx, b, x, r)        r = b - S x, b as stage_rhs gives it
//     solve(ctx, stop, b, x, r)     S x = b from x; r = b - S x, where it is not null
//     solve_error(ctx, stop, b, x)  S x = b from x with zeros at Dirichlet nodes
//     solve_mass(ctx, stop, b, x)   M x = b from zero, of the unknowns
//     conserves()                   A u = 0 for constants: heat is conserved but for F
//     conserve(ctx, b, x, scratch)  a constant that takes up the sum of b - S x, where that is so
//     count_memory(ctx, slopes)     what all that allocates for a while, of a memory dry run
//     functions_of_time()           of multigrid/data_in_time.hpp
//
// Errors: UsageError for parameters that do not go together, and with the time what functions give that cannot be.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/errors.hpp>
#include <stratum/core/reentrancy_guard.hpp>
#include <stratum/multigrid/data_in_time.hpp>
#include <stratum/multigrid/heat_progress.hpp>

namespace stratum {

/// Stages of a stiffly accurate method with one diagonal entry; the first one is explicit where c = 0 there.
struct HeatTableau {
  static constexpr std::size_t most_stages = 3;
  std::size_t stages;
  std::array<double, most_stages> c;
  std::array<std::array<double, most_stages>, most_stages> a;
  std::array<double, most_stages> error;  // b_j - b^_j

  explicit HeatTableau(TimeMethod method) : stages(1), c{1, 0, 0}, a{{{1, 0, 0}}}, error{} {
    if (method == TimeMethod::crank_nicolson) {
      stages = 2;
      c = {0, 1, 0};
      a = {{{0, 0, 0}, {0.5, 0.5, 0}}};
    }
    if (method != TimeMethod::tr_bdf2) return;
    const double root = std::sqrt(2.0), gamma = 2 - root, d = gamma / 2, w = root / 4;
    stages = 3;
    c = {0, gamma, 1};
    a = {{{0, 0, 0}, {d, d, 0}, {w, w, d}}};
    error = {w - (1 - w) / 3, w - (3 * w + 1) / 3, d - d / 3};
  }
  [[nodiscard]] bool starts_explicit() const { return c[0] == 0; }
  [[nodiscard]] double diagonal() const { return a[stages - 1][stages - 1]; }
};

template <class Equation>
class HeatSteps : public HeatProgress {
 public:
  using Params = typename Equation::Params;
  using Vector = typename Equation::Vector;

  /// At the start; make(equation, s) makes the equation with S = A + s M.
  template <class Make>
  HeatSteps(Context& ctx, const Params& given, const Make& make) : params(given), tableau_(given.method) {
    check();
    report.t = params.start;
    const double first = params.dt.value_or(1.0);
    at_this_time(params.start, [&] {
      make(equation, shift(first));
      for (auto* v : {&u, &x_, &b_, &work_, &other_, &slope, &slope_before}) *v = equation->vector(ctx);
      for (std::size_t i = 0; i < tableau_.stages; ++i) k_[i] = equation->vector(ctx);
      if (ctx.is_dry_run()) return equation->count_memory(ctx, tableau_.starts_explicit());
      equation->initial(ctx, params.start, u);
      measure(ctx);
      begin_at(ctx, params.start);
    });
    dt = params.dt ? *params.dt : first_dt(ctx);
  }

  Params params;
  std::optional<Equation> equation;
  Vector u, slope, slope_before;

  const HeatReport& advance(Context& ctx, double to, const HeatMonitor& monitor) {
    const auto entered = guard_.enter("solver");
    expects(std::isfinite(to) && to >= report.t, "steps lead forward in time, from t = ", report.t, " on, not to ", to);
    report.status = Status::converged;
    report.reason = solved_to(to);
    // What is left of the times of two lists that are the same but for rounding is no step.
    constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
    if (to - report.t <= rounding * std::max(std::abs(to), std::abs(report.t))) {
      report.t = to;
      return report;
    }
    if (params.tol)
      advance_adaptive(ctx, to, monitor);
    else
      advance_fixed(ctx, to, monitor);
    return report;
  }

  /// Goes on from here, with u and both slopes of their unknowns and the slope of Dirichlet nodes put in. False where du/dt is
  /// found anew.
  bool go_on(Context& ctx, const HeatProgress& from, bool same_data) {
    const double own = params.tol ? from.dt : dt;  // fixed steps are as long as they are asked for now
    static_cast<HeatProgress&>(*this) = from;
    dt = own;
    const double t = report.t;
    equation->set_boundary(ctx, t, u);
    bool fits = true;
    at_this_time(t, [&] {
      // Coefficients at t, and S as the last step left it.
      (void)equation->update(ctx, t, last_dt > 0 ? shift(last_dt) : equation->s());
      fits = same_data && slope_fits(ctx, t);
      if (!fits) begin_at(ctx, t);
    });
    return fits;
  }

 private:
  static constexpr double safety = 0.9, least_factor = 0.2, most_factor = 5, least_step = 1e-10, worth_shortening = 0.9,
                          worth_growing = 1.2;

  /// du/dt at a time, measured from the present one.
  struct Slope {
    const Vector* k;
    double at;
  };
  struct Attempt {
    bool solved = true;
    double error = 0;  // beside what is allowed
  };

  HeatTableau tableau_;
  ReentrancyGuard guard_;
  std::optional<std::vector<TimeFunction>> functions_;
  Vector x_, b_, work_, other_;
  std::array<Vector, HeatTableau::most_stages> k_;

  void check() const {
    expects(std::isfinite(params.start), "the time of the start must be finite, not ", params.start);
    expects(params.dt || params.tol, "steps need a length, or a tolerance to find it by");
    expects(!params.dt || (std::isfinite(*params.dt) && *params.dt > 0),
            "the length of a step must be positive and finite, not ", params.dt.value_or(0));
    expects(!params.tol || (*params.tol > 0 && *params.tol < 1), "the tolerance of a step must lie in (0, 1), not ",
            params.tol.value_or(0));
    expects(!params.tol || params.method == TimeMethod::tr_bdf2,
            "a tolerance goes with tr-bdf2, which estimates errors; ", to_string(params.method),
            " takes steps of one length");
    expects(!params.eta || (*params.eta > 0 && *params.eta < 1), "eta must lie in (0, 1), not ",
            params.eta.value_or(0));
  }

  [[nodiscard]] double shift(double step) const { return 1 / (tableau_.diagonal() * step); }
  [[nodiscard]] double eta() const { return params.eta.value_or(params.tol ? 1e-2 * *params.tol : 1e-8); }

  /// What functions give that cannot be is said with the time.
  template <class F>
  static void at_this_time(double t, const F& f) {
    try {
      f();
    } catch (const UsageError& error) {
      throw UsageError(message("at t = ", t, ": ", error.what()));
    }
  }

  // --- the start -----------------------------------------------------------------------------------------------------------

  /// Nothing is known but u: du/dt at t is found where the method wants it.
  void begin_at(Context& ctx, double t) {
    equation->set_boundary(ctx, t, u);
    // Of k_D nothing but the error estimate of the first step depends.
    equation->begin_boundary(ctx, t, 1e-6 * params.dt.value_or(1.0), u, slope);
    known_slopes = 0;
    if (tableau_.starts_explicit()) find_slope(ctx, t);
  }

  /// Whether M k = F - A u - A_D g - M_D k_D holds at t, as well as the stage that k is of was solved.
  [[nodiscard]] bool slope_fits(Context& ctx, double t) {
    if (known_slopes == 0 || !tableau_.starts_explicit() || equation->nodes() == 0) return true;
    equation->slope_rhs(ctx, t, u, slope, b_);
    equation->mass(ctx, slope, work_);
    const double size_of_slope = equation->norm2(ctx, work_);
    equation->axpy(ctx, -1.0, work_, b_);
    constexpr double generous = 100;
    const double solved_well = eta() * shift(last_dt) * size_of_load;
    return equation->norm2(ctx, b_) <= generous * std::max(solved_well, 1e-12 * size_of_slope);
  }

  /// M k = F - A u - A_D g - M_D k_D; M is as well conditioned as its diagonal, whatever the mesh. To rounding: beside a Robin
  /// side with a large alpha k may be 1e8 times as large as elsewhere, and what solving leaves counts as a load does.
  void find_slope(Context& ctx, double t) {
    equation->set(ctx, 0, slope);
    equation->slope_rhs(ctx, t, u, slope, b_);
    if (equation->nodes() == 0) return;
    StoppingParams stop;
    stop.rtol = 1e-14;
    stop.error_tol = 1e-14;
    stop.rounding_will_do = true;
    stop.max_iterations = 1000;
    const SolveReport found =
        solve_in_range(ctx, true, stop, slope, [&](bool /*scaled*/, const StoppingParams& its, Vector& x) {
          return equation->solve_mass(ctx, its, b_, x);
        });
    if (exit_code(found.status, false) != 0)
      throw BreakdownError(message("du/dt at t = ", t, " was not found: ", found.reason));
    known_slopes = 1;
  }

  /// || u || and || M u ||
  void measure(Context& ctx) {
    size_of_u = equation->size(ctx, u, work_);
    largest_u = std::max(largest_u, size_of_u);
    if (!equation->size_leaves_mass()) equation->mass(ctx, u, work_);
    size_of_load = equation->norm2(ctx, work_);
  }

  /// In which u changes by a hundredth; where it is zero the controller has to find out.
  [[nodiscard]] double first_dt(Context& ctx) {
    const double slope_size = equation->size(ctx, slope, work_);
    return size_of_u > 0 && slope_size > 0 ? 0.01 * size_of_u / slope_size : std::numeric_limits<double>::infinity();
  }

  // --- a step --------------------------------------------------------------------------------------------------------------

  /// to = u_n + the integral from 0 to tau of the line through two slopes, or of one.
  void extrapolate(Context& ctx, const std::vector<Slope>& slopes, double tau, Vector& to) {
    equation->copy(ctx, u, to);
    if (slopes.size() == 1) return equation->axpy(ctx, tau, *slopes[0].k, to);
    const auto& [k0, t0] = slopes[slopes.size() - 2];
    const auto& [k1, t1] = slopes.back();
    const double change = (tau * tau / 2 - tau * t1) / (t1 - t0);
    equation->axpys(ctx, tau + change, *k1, -change, *k0, to);
  }

  /// x = a x, of all numbers.
  void scale(Context& ctx, double a, Vector& x) {
    equation->copy(ctx, x, work_);
    equation->axpy(ctx, -1.0, x, work_);
    equation->axpy(ctx, a, x, work_);
    std::swap(x, work_);
  }
  /// A solve with b, which solvers refuse where its norm is too small to be squared, as tails of functions are: such a b and x
  /// are made larger for it.
  template <class Solve>
  SolveReport solve_in_range(Context& ctx, bool may_be_tiny, const StoppingParams& stop, Vector& x,
                             const Solve& solve_b) {
    constexpr double tiny = 1e-110;  // of which rounding may be what is solved for
    if (may_be_tiny) {
      const double size = equation->norm2(ctx, b_);
      may_be_tiny = size > 0 && size < tiny;
    }
    if (!may_be_tiny) return solve_b(false, stop, x);
    const double up = std::ldexp(1.0, 700);
    StoppingParams its = stop;
    its.atol *= up;
    scale(ctx, up, b_);
    scale(ctx, up, x);
    const SolveReport solved = solve_b(true, its, x);
    scale(ctx, 1 / up, b_);
    scale(ctx, 1 / up, x);
    return solved;
  }

  /// S x = b from the better of two starts; x has g. False where that did not end well; the report then says how.
  bool solve(Context& ctx, const std::vector<Slope>& slopes, double tau) {
    equation->copy_unknowns(ctx, u, x_);
    const Vector* known = nullptr;  // the residual of x
    if (!slopes.empty()) {
      const auto residual_of = [&](Vector& guess) {
        equation->residual(ctx, b_, guess, work_);
        return equation->norm2(ctx, work_);
      };
      extrapolate(ctx, slopes, tau, other_);
      equation->copy_boundary(ctx, x_, other_);
      const double of_x = residual_of(x_);
      if (residual_of(other_) < of_x) {
        std::swap(x_, other_);
        known = &work_;
      }
    }
    StoppingParams stop = params.solver.stop;
    stop.reference_norm = ReferenceNorm::initial;
    stop.rtol = eta();
    stop.atol = eta() * equation->s() * size_of_load;
    stop.error_tol = StoppingParams::errors_per_residual * eta();
    // b is about s M u, or larger.
    constexpr double far_above_tiny = 1e-80;
    const bool may_be_tiny = !(equation->s() * size_of_load > far_above_tiny);
    const SolveReport solved =
        solve_in_range(ctx, may_be_tiny, stop, x_, [&](bool scaled, const StoppingParams& its, Vector& x) {
          return equation->solve(ctx, its, b_, x, scaled ? nullptr : known);
        });
    ++report.solves;
    report.cycles += solved.iterations;
    report.most_cycles = std::max(report.most_cycles, solved.iterations);
    if (solved.estimated_error)
      report.estimated_error = std::max(report.estimated_error.value_or(0), *solved.estimated_error);
    if (exit_code(solved.status, false) != 0) {
      report.status = solved.status;
      report.reason = message("a step of ", 1 / (tableau_.diagonal() * equation->s()), " at t = ", report.t,
                              " was not solved: ", solved.reason);
      return false;
    }
    equation->conserve(ctx, b_, x_, work_);
    return true;
  }

  /// Of the first stage x of the first step, from p = u + a du/dt: the round-off of p is that of the step times du/dt, which may
  /// be far above u. A damps all of it but a constant, where heat is conserved.
  void expect_digits(Context& ctx, double step, double size_of_p) {
    constexpr double measured = 1000, most = 1e-5;  // on 32 x 32 cells u changed by 7e-6 to 4e-5 where this says 8e-6
    const double lost = measured * std::numeric_limits<double>::epsilon() * size_of_p,
                 size = std::max(size_of_u, equation->size(ctx, x_, work_));
    if (lost <= most * size) return;
    throw BreakdownError(
        message("steps of ", step, " from t = ", report.t,
                ": du/dt is so large there that round-off of it, times the step, would change the heat by about ",
                lost / size, " of u; take euler, or tr-bdf2 with steps that adapt"));
  }

  /// From u over `step`: stages k and, in x, what comes out.
  Attempt attempt(Context& ctx, double step) {
    const std::size_t first = tableau_.starts_explicit() ? 1 : 0;
    std::vector<Slope> slopes;
    if (known_slopes > 1) slopes.push_back({&slope_before, before});
    if (known_slopes > 0) slopes.push_back({&slope, 0});
    if (first == 1) equation->copy(ctx, slope, k_[0]);
    for (std::size_t i = first; i < tableau_.stages; ++i) {
      const auto& a = tableau_.a[i];
      const double t = i + 1 == tableau_.stages ? report.t + step : report.t + tableau_.c[i] * step;
      bool solved = false;
      at_this_time(t, [&] {
        report.updates += equation->update(ctx, t, shift(step)) ? 1 : 0;
        equation->set_boundary(ctx, t, x_);
        // p
        equation->copy(ctx, u, k_[i]);
        for (std::size_t j = 0; j < i; ++j)
          if (a[j] != 0) equation->axpy(ctx, step * a[j], k_[j], k_[i]);
        const bool may_lose = i == 1 && first == 1 && report.steps == 0 && equation->conserves();
        const double size_of_p = may_lose ? equation->size(ctx, k_[i], work_) : 0;
        equation->stage_rhs(ctx, t, k_[i], x_, b_);
        solved = solve(ctx, slopes, tableau_.c[i] * step);
        if (solved && may_lose) expect_digits(ctx, step, size_of_p);
        equation->slope(ctx, equation->s(), x_, k_[i]);
        slopes.push_back({&k_[i], tableau_.c[i] * step});
      });
      if (!solved) return {false, 0};
    }
    return {true, params.tol ? error_of(ctx, step) : 0};
  }

  /// || S^-1 s M est || beside the tolerance.
  double error_of(Context& ctx, double step) {
    equation->set(ctx, 0, other_);
    for (std::size_t j = 0; j < tableau_.stages; ++j) equation->axpy(ctx, step * tableau_.error[j], k_[j], other_);
    equation->mass(ctx, other_, b_);
    equation->axpy(ctx, equation->s() - 1, b_, b_);
    StoppingParams stop;
    // Two digits of an estimate: one cycle from zero leaves as little everywhere.
    stop.rtol = 0.05;
    stop.error_tol = std::numeric_limits<double>::infinity();
    const SolveReport solved =
        solve_in_range(ctx, true, stop, other_, [&](bool /*scaled*/, const StoppingParams& its, Vector& x) {
          return equation->solve_error(ctx, its, b_, x);
        });
    report.cycles += solved.iterations;
    constexpr double nothing = 1e-14;
    const double found = equation->size(ctx, other_, work_),
                 now = std::max({size_of_u, equation->size(ctx, x_, work_), nothing * largest_u});
    if (!std::isfinite(found)) return std::numeric_limits<double>::infinity();
    return found > 0 ? found / (*params.tol * now) : 0;
  }

  void accept(Context& ctx, double step, double t) {
    std::swap(u, x_);
    const std::size_t last = tableau_.stages - 1;
    if (last > 0) {
      std::swap(slope_before, k_[last - 1]);
      before = (tableau_.c[last - 1] - 1) * step;
    } else {
      std::swap(slope_before, slope);
      before = -step;
    }
    // The slope at the start of a step is kept by it, or there is none before.
    known_slopes = last > 0 ? 2 : std::min(known_slopes + 1, 2);
    std::swap(slope, k_[last]);
    equation->set_boundary(ctx, t, u);
    report.t = t;
    ++report.steps;
    last_dt = step;
    report.shortest_dt = report.steps == 1 ? step : std::min(report.shortest_dt, step);
    report.longest_dt = std::max(report.longest_dt, step);
    measure(ctx);
  }

  /// How much longer the next step is to be.
  [[nodiscard]] double growth(double error) const {
    if (error <= 0) return most_factor;
    constexpr double order = 3;
    const double factor = safety * std::pow(error, -0.7 / order) *
                          (error_before > 0 ? std::pow(error_before, 0.4 / order) : std::pow(error, -0.3 / order));
    return std::clamp(factor, least_factor, most_factor);
  }

  [[nodiscard]] static std::string solved_to(double to) { return message("all steps to t = ", to, " were solved"); }

  void advance_fixed(Context& ctx, double to, const HeatMonitor& monitor) {
    const double from = report.t;
    // Both times are rounded, beside which a step may be short.
    const double rounding = 4 * std::numeric_limits<double>::epsilon() * std::max(std::abs(to), std::abs(from));
    const double count = std::max(1.0, std::ceil((to - from - rounding) / dt * (1 - 1e-12)));
    expects(count <= static_cast<double>(params.max_steps), count, " steps of ", dt, " lead to t = ", to, "; at most ",
            params.max_steps, " are taken");
    const double step = (to - from) / count;
    for (double n = 1; n <= count; ++n) {
      if (!attempt(ctx, step).solved) return;
      accept(ctx, step, n == count ? to : from + n * step);
      if (monitor) monitor(report, step);
    }
  }

  void advance_adaptive(Context& ctx, double to, const HeatMonitor& monitor) {
    const double from = report.t;
    const double least = least_step * (to - from);
    if (!std::isfinite(dt)) dt = 1e-3 * (to - from);
    dt = std::max(dt, least);
    if (!functions_) functions_ = equation->functions_of_time();
    const DataInTime data(*functions_, params.start, from, to, *params.tol);
    std::vector<DataInTime::Stage> stages;
    for (std::size_t i = 0; i < tableau_.stages; ++i)
      stages.push_back({tableau_.c[i], tableau_.a[tableau_.stages - 1][i]});
    int failures = 0;
    while (report.t < to) {
      const double left = to - report.t;
      // Not to leave a sliver behind.
      const double wanted = dt >= 0.99 * left || left <= 2 * least ? left : dt > 0.5 * left ? 0.5 * left : dt;
      const double step = data.longest(report.t, wanted, stages);
      if (report.steps + report.rejected >= params.max_steps) {
        report.status = Status::max_iterations;
        report.reason = message(params.max_steps, " steps have led to t = ", report.t);
        return;
      }
      const Attempt tried = attempt(ctx, step);
      if (!tried.solved) {
        if (++failures > 3 || step <= least) return;
        report.status = Status::converged;
        report.reason = solved_to(to);
        dt = std::max(step / 4, least);
        ++report.rejected;
        continue;
      }
      failures = 0;
      const double factor = growth(tried.error);
      // The last one may be up to twice as long as others must be.
      const bool forced = tried.error > 1 && (step <= least || (step == left && left <= 2 * least));
      if (tried.error > 1 && !forced) {
        ++report.rejected;
        dt = std::max(step * std::min(factor, safety), least);
        error_before = 0;
        continue;
      }
      report.forced += forced ? 1 : 0;
      accept(ctx, step, step == left ? to : report.t + step);
      error_before = tried.error;
      const double next = forced ? step : step * factor;
      // A step cut short says nothing about longer ones.
      if (step < dt)
        dt = std::max(dt, next);
      else
        dt = factor > worth_shortening && factor < worth_growing ? step : next;
      if (monitor) monitor(report, step);
    }
  }
};

}  // namespace stratum
