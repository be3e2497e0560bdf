#include <stratum/solvers/mixed/double_single.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/solvers/error_estimate.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>

#if defined(__FAST_MATH__)
#error "error-free sums need a compiler that keeps the order of additions"
#endif

namespace stratum {

namespace {

constexpr double inner_tolerance = 1e-4;
constexpr int most_rounds = 5;
constexpr double eps = std::numeric_limits<float>::epsilon();

STRATUM_HOST_DEVICE STRATUM_INLINE float plus(float x, float y) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(x, y);
#else
  return x + y;
#endif
}

/// (A x)_ij without a term of the size of A's entries times x. The row formula of tensor operators takes differences along x of
/// sums that are rounded before: as good as x in one float, and no better.
template <class View>
STRATUM_HOST_DEVICE STRATUM_INLINE float product(const View& a, FieldView<const float> x, int i, int j) {
  return a.sum(x, i, j);
}
template <bool reaction>
STRATUM_HOST_DEVICE STRATUM_INLINE float product(const TensorView<float, reaction>& a, FieldView<const float> x, int i,
                                                 int j) {
  const Neighbourhood<float> n(x, i, j);
  const float ks = a.ky[j], kn = a.ky[j + 1], ms = a.my[j], mn = a.my[j + 1];
  const auto flux = [&](float k, int there) {
    const float south = n.south[0] - n.south[there], own = n.centre[0] - n.centre[there],
                north = n.north[0] - n.north[there];
    return k * (mass_at(ms, own, south) + mass_at(mn, own, north));
  };
  const auto stiffness = [&](int at) {
    const float differences = stiffness_at(ks, n.centre[at], n.south[at]) + stiffness_at(kn, n.centre[at], n.north[at]);
    if constexpr (reaction)
      return differences + a.e[j] * n.centre[at];
    else
      return differences;
  };
  const float west = stiffness(-1), own = stiffness(0), east = stiffness(1);
  return flux(a.kx[i], -1) + flux(a.kx[i + 1], 1) + mass_at(a.mx[i], own, west) + mass_at(a.mx[i + 1], own, east);
}

/// r = (b - A hi) - A lo
template <class View>
struct Residual {
  static constexpr bool hot = true;
  View a;
  FieldView<const float> b, hi, lo;
  FieldView<float> r;
  STRATUM_HOST_DEVICE STRATUM_INLINE float value(int i, int j) const {
    return (b(i, j) - product(a, hi, i, j)) - product(a, lo, i, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, float value) const { r(i, j) = value; }
};

/// (hi, lo) = scale x
struct Split {
  double scale;
  FieldView<const double> x;
  FieldView<float> hi, lo;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const double scaled = scale * x(i, j);
    const auto high = static_cast<float>(scaled);
    hi(i, j) = high;
    lo(i, j) = static_cast<float>(scaled - static_cast<double>(high));
  }
};

/// x = x + scale (hi + lo)
struct Join {
  static constexpr bool hot = true;
  double scale;
  FieldView<const float> hi, lo;
  FieldView<double> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int j) const {
    return x(i, j) + scale * (static_cast<double>(hi(i, j)) + static_cast<double>(lo(i, j)));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, double value) const { x(i, j) = value; }
};

/// (hi, lo) <- (hi, lo) + scale e, scale a power of two: hi + scale e without error, then lo, and again without error.
struct AddTo {
  static constexpr bool hot = true;
  float scale;
  FieldView<const float> e;
  FieldView<float> hi, lo;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const float x = hi(i, j), y = scale * e(i, j);
    const float sum = plus(x, y), of_y = plus(sum, -x), of_x = plus(sum, -of_y);
    const float low = plus(lo(i, j), plus(plus(x, -of_x), plus(y, -of_y)));
    const float high = plus(sum, low);
    hi(i, j) = high;
    lo(i, j) = plus(low, -plus(high, -sum));
  }
};

}  // namespace

DoubleSingleRefinement::DoubleSingleRefinement(Context& ctx, const GridLayout<2>& shape, std::int64_t singular_nodes)
    : b_(ctx, shape), hi_(ctx, shape), lo_(ctx, shape), r_(ctx, shape), e_(ctx, shape),
      singular_nodes_(singular_nodes) {
  if (singular_nodes > 0) mean_ = mean_scratch(ctx, shape);
}

void DoubleSingleRefinement::expects_storage_format(StorageFormat format) {
  expects(!traits(format).has_bands, "double-single precision is for tensor and element-coefficient operators; ",
          to_string(format),
          " stores bands, which lose A 1 = 0 in float and with it the solution: take mixed precision");
}

double DoubleSingleRefinement::residual(Context& ctx, const GridOperator<float>& a) {
  exchange(ctx, hi_);
  exchange(ctx, lo_);
  a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    if constexpr (!View::has_bands)
      for_each_node(ctx, all_nodes(r_.view()), Residual<View>{view, b_.cview(), hi_.cview(), lo_.cview(), r_.view()});
  });
  return norm2(ctx, r_.cview());
}

SolveReport DoubleSingleRefinement::solve(Context& ctx, const GridOperator<double>& a,
                                          const GridOperator<float>& in_float, Solver<float>& solver,
                                          Preconditioner<float>& m, FieldView<const double> b, FieldView<double> x,
                                          const StoppingParams& stop, const Monitor& monitor) {
  expects_storage_format(a.format());
  const double rhs_norm = norm2(ctx, b);
  // With b = 0 the residual is A x.
  double unit = power_of_two_below_reciprocal(rhs_norm > 0 ? norm_max(ctx, b) : a.magnitude(ctx, b, x));
  double norm = a.scaled_residual_norm<float>(ctx, unit, b, x, b_.view());
  double given_size = 0;
  constexpr double rounded = 1 + 16 * eps;
  if (norm / unit <= rounded * rhs_norm) {
    given_size = size_of<double>(ctx, x);
    unit *= power_of_two_below_reciprocal(norm_max(ctx, b_.cview()));
    norm = a.scaled_residual_norm<float>(ctx, unit, b, x, b_.view());
    copy<float, float>(ctx, b_.cview(), r_.view());
    set(ctx, 0.0F, hi_.view());
    set(ctx, 0.0F, lo_.view());
  } else {
    // Farther from the solution than zero is: what has to be undone would round what is to be found.
    copy_scaled(ctx, unit, b, b_.view());
    for_each_node(ctx, all_nodes(x), Split{unit, x, hi_.view(), lo_.view()});
    set(ctx, 0.0, x);
    norm = residual(ctx, in_float);
  }
  StoppingTest test(stop, rhs_norm, norm / unit, monitor, IterationKind::krylov);
  SolveReport& report = test.report();
  (void)test.done(0, norm / unit);
  if (report.status == Status::non_finite) return report;

  bool small = false;  // corrections have become small
  SolveReport inner;
  double before = 0;  // the size of the last correction in the energy norm
  double error = std::numeric_limits<double>::infinity();
  constexpr double every_row = 64 * std::numeric_limits<double>::epsilon();
  if (norm == 0 || (norm / unit <= test.target() && a.backward_error(ctx, b, x, norm_max<double>(ctx, x)) <= every_row))
    error = 0;
  for (int round = 1; round <= most_rounds && !(norm / unit <= test.target() && error <= test.error_limit()); ++round) {
    const double scale = power_of_two_below_reciprocal(norm);
    copy_scaled<float, float>(ctx, scale, r_.cview(), r_.view());
    if (singular_nodes_ > 0) subtract_mean(ctx, r_.view(), mean_.view(), singular_nodes_);
    const StoppingParams inner_stop{.rtol = inner_tolerance,
                                    .atol = 0.5 * test.target() * unit * scale,
                                    .max_iterations = stop.max_iterations - report.iterations,
                                    .patience = stop.patience,
                                    .error_tol = 1.0};
    const int first = report.iterations;
    set(ctx, 0.0F, e_.view());
    inner = solver.solve(ctx, in_float, m, r_.cview(), e_.view(), inner_stop, [&](int iteration, double residual) {
      if (iteration > 0) (void)test.done(first + iteration, residual / scale / unit);
    });
    report.inner_iterations += inner.inner_iterations;
    if (!std::isfinite(inner.residual)) break;
    const double correction = std::sqrt(std::max(0.0, dot<float>(ctx, e_.cview(), r_.cview()))) / scale;
    for_each_node(ctx, all_nodes(x), AddTo{static_cast<float>(1 / scale), e_.cview(), hi_.view(), lo_.view()});
    norm = residual(ctx, in_float);
    if (inner.status != Status::converged && inner.status != Status::round_off_limit) break;
    const double next = correction * (round == 1 ? inner_tolerance : correction / before);
    before = correction;
    // The same in the largest norm, by what the solve in float has left of e.
    const double e = size_of<float>(ctx, e_.cview()) / scale;
    error = e * inner.estimated_error.value_or(inner_tolerance) /
            std::max(given_size * unit, size_of<float>(ctx, hi_.cview()));
    small = next <= eps * std::sqrt(std::abs(dot<float>(ctx, hi_.cview(), b_.cview()))) &&
            error <= test.error_at_rounding();
    if (small) break;
  }
  for_each_node(ctx, all_nodes(x), Join{1 / unit, hi_.cview(), lo_.cview(), x});
  const double residual = a.scaled_residual_norm<float>(ctx, unit, b, x, r_.view()) / unit, target = test.target();
  if (report.iterations > 0 && std::isfinite(residual) && m.estimates_error()) {
    // Rounding of residuals in float has parts that A hardly holds, as constants beside a tiny reaction: x is wrong by these
    // over what holds them, and only a residual in double shows it.
    m.apply(ctx, r_.cview(), e_.view());
    error = relative_error(norm_max<float>(ctx, e_.cview()) / unit, extremes<double>(ctx, x));
    small = small && error <= test.error_at_rounding();
  }
  if (std::isfinite(error)) report.estimated_error = error;
  report.residual = report.history.back() = residual;
  const auto explained = [&] { return residual <= 2 * eps * a.magnitude(ctx, b, x); };
  if (!std::isfinite(residual) || !std::isfinite(inner.residual))
    test.end(Status::diverged, message("the solve in float overflowed in iteration ", report.iterations));
  else if (residual <= target && error <= test.error_limit())
    test.end(Status::converged, message("residual ", residual, " <= ", target, ", the tolerance"));
  else if (report.iterations > 0 && inner.status != Status::converged && inner.status != Status::round_off_limit)
    test.end(inner.status, inner.status == Status::max_iterations
                               ? max_iterations_reason(residual, report.iterations, target)
                               : message("the solve in float: ", inner.reason));
  else if ((small || (norm / unit <= target && error <= test.error_limit())) && explained())
    test.end(Status::round_off_limit, message("x is stored in double-single, which leaves a residual of ", residual,
                                              ", above the tolerance ", target, "; mixed precision reaches it"));
  else if (residual <= target || (explained() && error > test.error_at_rounding()))
    test.end(Status::stagnated, message("residual ", residual,
                                        ", but rounding of residuals in float leaves x an estimated "
                                        "error of ",
                                        error, " of its range"));
  else
    test.end(Status::stagnated, message("corrections in float no longer help: the residual is ", residual,
                                        ", above the tolerance ", target));
  return report;
}

}  // namespace stratum
