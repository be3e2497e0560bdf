#include <stratum/magnetics/nonlinear_field.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/magnetics/magnetic_field.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

double dot(const Values& x, const Values& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

Values sum(const Values& x, double t, const Values& y) {
  Values z = x;
  for (std::size_t i = 0; i < z.size(); ++i) z[i] += t * y[i];
  return z;
}

/// One solve, and what its parts share.
class Iteration {
 public:
  Iteration(Context& ctx, const EdgeElements& elements, const std::vector<bool>& steel, const MagnetisationCurve& curve,
            const Values& b, const LinearSolve& linear_solve, const NonlinearParams& params,
            const std::function<void(int, double)>& monitor)
      : ctx_(ctx), elements_(elements), steel_(steel), curve_(curve), b_(b), linear_solve_(linear_solve),
        params_(params), monitor_(monitor) {
    report_.outer.reference_norm_value = std::sqrt(dot(b, b));
  }

  NonlinearReport run(Values& a) {
    for (int k = 0; !done(k, a); ++k) {
      const bool went_on = params_.method == NonlinearMethod::newton ? newton(a) : anderson(a);
      if (!went_on) break;
    }
    return std::move(report_);
  }

 private:
  /// The residual of a, recorded and tested.
  bool done(int k, const Values& a) {
    s_ = elements_.mean_square_curl(ctx_, a);
    nu_ = reluctivities(steel_, curve_, s_);
    residual_ = sum(b_, -1, elements_.apply(ctx_, nu_, a));
    SolveReport& outer = report_.outer;
    outer.residual = std::sqrt(dot(residual_, residual_));
    outer.history.push_back(outer.residual);
    outer.iterations = k;
    if (k == 0) outer.initial_residual = outer.residual;
    if (monitor_) monitor_(k, outer.residual);
    const double target = params_.rtol * outer.reference_norm_value;
    if (!std::isfinite(outer.residual)) return end(Status::non_finite, "the residual is not finite");
    if (outer.residual <= target)
      return end(Status::converged, message("residual ", outer.residual, " <= ", target, " = rtol ||b||"));
    if (k >= params_.max_iterations)
      return end(Status::max_iterations, max_iterations_reason(outer.residual, k, target));
    return false;
  }
  bool end(Status status, std::string reason) {
    report_.outer.status = status;
    report_.outer.reason = std::move(reason);
    return true;
  }
  /// False, and the end, where the linear solve failed.
  bool solve(const SparseRows& matrix, const Values& nu, const Values& rhs, Values& x, double rtol) {
    const SolveReport linear = linear_solve_(matrix, nu, rhs, x, rtol);
    report_.outer.inner_iterations += linear.iterations;
    if (linear.status == Status::converged || linear.status == Status::round_off_limit) return true;
    end(linear.status, message("a linear system was not solved: ", linear.reason));
    return false;
  }
  [[nodiscard]] double energy(const Values& a, const Values& s) const {
    return field_energy(elements_, steel_, curve_, s) / vacuum_permeability - dot(a, b_);
  }
  /// Below this much of ||b - F(a)|| a linear solve gains nothing any more.
  [[nodiscard]] double needed() const {
    return 0.1 * params_.rtol * report_.outer.reference_norm_value / report_.outer.residual;
  }

  bool newton(Values& a) {
    Values slope(s_.size()), like = nu_;
    for (std::size_t e = 0; e < s_.size(); ++e) {
      if (!steel_[e]) continue;
      slope[e] = curve_.reluctivity_slope(s_[e]);
      like[e] += 2.0 / 3 * s_[e] * slope[e];  // the mean over all directions of dH/dB
    }
    constexpr double loosest = 0.1;
    const double forcing =
        std::clamp(std::sqrt(report_.outer.residual / report_.outer.reference_norm_value), 1e-4, loosest);
    Values step(a.size());
    if (!solve(elements_.tangent(ctx_, nu_, slope, a), like, residual_, step,
               std::max(forcing, std::min(loosest, needed()))))
      return false;
    constexpr double enough = 1e-4;
    const double descent = dot(residual_, step), before = energy(a, s_);
    // Near the end E changes by less than its rounding: the full step then, which is Newton's.
    const double rounding = 1e-13 * std::abs(before);
    for (double t = 1; t > 1e-6; t /= 2) {
      Values next = sum(a, t, step);
      if (energy(next, elements_.mean_square_curl(ctx_, next)) <= before - enough * t * descent + rounding) {
        a = std::move(next);
        report_.steps.push_back(t);
        return true;
      }
    }
    end(Status::stagnated, "no step along Newton's direction lowers the energy");
    return false;
  }

  bool anderson(Values& a) {
    Values image = a;
    constexpr double tolerance = 1e-2;
    // Relative to ||b||, from a whose residual is there already.
    const double rtol =
        std::clamp(tolerance * report_.outer.residual / report_.outer.reference_norm_value, 0.1 * params_.rtol, 0.1);
    if (!solve(elements_.curl_curl(ctx_, nu_), nu_, b_, image, rtol)) return false;
    kept_.push_back({a, sum(image, -1, a)});
    if (kept_.size() > static_cast<std::size_t>(params_.depth)) kept_.pop_front();
    // Weights c with sum 1 and least |sum c f|: differences to the latest one, by Gram-Schmidt.
    const auto& latest = kept_.back();
    Values x = latest.x, f = latest.f;
    std::vector<std::pair<Values, Values>> basis;
    for (std::size_t k = kept_.size() - 1; k-- > 0;) {
      Values dx = sum(kept_[k].x, -1, latest.x), df = sum(kept_[k].f, -1, latest.f);
      const double size = std::sqrt(dot(df, df));
      for (const auto& [qx, q] : basis) {
        const double along = dot(df, q);
        df = sum(df, -along, q);
        dx = sum(dx, -along, qx);
      }
      const double norm = std::sqrt(dot(df, df));
      if (!(norm > 1e-8 * size)) continue;
      for (double& value : df) value /= norm;
      for (double& value : dx) value /= norm;
      const double along = dot(f, df);
      f = sum(f, -along, df);
      x = sum(x, -along, dx);
      basis.emplace_back(std::move(dx), std::move(df));
    }
    a = sum(x, params_.damping, f);
    return true;
  }

  struct Kept {
    Values x, f;
  };

  Context& ctx_;
  const EdgeElements& elements_;
  const std::vector<bool>& steel_;
  const MagnetisationCurve& curve_;
  const Values& b_;
  const LinearSolve& linear_solve_;
  const NonlinearParams& params_;
  const std::function<void(int, double)>& monitor_;
  NonlinearReport report_;
  Values s_, nu_, residual_;  // of the latest a
  std::deque<Kept> kept_;
};

}  // namespace

std::string_view to_string(NonlinearMethod method) { return method == NonlinearMethod::newton ? "newton" : "anderson"; }

std::vector<double> reluctivities(const std::vector<bool>& steel, const MagnetisationCurve& curve,
                                  const std::vector<double>& mean_squares) {
  std::vector<double> nu(mean_squares.size(), 1.0);
  for (std::size_t e = 0; e < nu.size(); ++e)
    if (steel[e]) nu[e] = curve.reluctivity(mean_squares[e]);
  return nu;
}

double field_energy(const EdgeElements& elements, const std::vector<bool>& steel, const MagnetisationCurve& curve,
                    const std::vector<double>& mean_squares) {
  double sum = 0;
  for (int e = 0; e < elements.elements(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    const double s = mean_squares[at];
    sum += elements.volume(e) *
           (steel[at] ? curve.energy(vacuum_permeability * std::sqrt(s)) : vacuum_permeability * s / 2);
  }
  return sum;
}

NonlinearReport solve_nonlinear_field(Context& ctx, const EdgeElements& elements, const std::vector<bool>& steel,
                                      const MagnetisationCurve& curve, const std::vector<double>& b,
                                      std::vector<double>& a, const LinearSolve& linear_solve,
                                      const NonlinearParams& params, const std::function<void(int, double)>& monitor) {
  const auto unknowns = static_cast<std::size_t>(elements.unknowns());
  expects(steel.size() == static_cast<std::size_t>(elements.elements()) && a.size() == unknowns && b.size() == unknowns,
          "a field of ", unknowns, " circulations on ", elements.elements(), " elements, and arrays of ", a.size(),
          " and ", b.size(), " on ", steel.size());
  expects(params.rtol > 0 && params.max_iterations >= 0 && params.depth >= 1 && params.damping > 0 &&
              params.damping <= 1,
          "nonlinear solves need rtol > 0, not ", params.rtol, ", a depth of 1 or more, not ", params.depth,
          ", and a damping in (0, 1], not ", params.damping);
  return Iteration(ctx, elements, steel, curve, b, linear_solve, params, monitor).run(a);
}

}  // namespace stratum
