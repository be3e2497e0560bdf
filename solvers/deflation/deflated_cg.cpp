#include <stratum/solvers/deflation/deflated_cg.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <stratum/solvers/direct/jacobi_rotations.hpp>
#include <stratum/solvers/krylov/krylov.hpp>

namespace stratum {

namespace {

/// A (x^ + Z y) for what sees x^ alone.
class InTwoParts final : public LinearOperator<double> {
 public:
  /// Its terms are as large as those of x^, or of the sum of both parts in `sum`.
  InTwoParts(const LinearOperator<double>& a, const Deflation& deflation, FieldView<const double> y,
             FieldView<double> sum)
      : a_(a), deflation_(deflation), y_(y), sum_(sum) {}
  [[nodiscard]] GridLayout<2> shape() const override { return a_.shape(); }
  void apply(Context& ctx, FieldView<const double> x, FieldView<double> to) const override {
    a_.apply(ctx, x, to);
    deflation_.add_image(ctx, 1, y_, to);
  }
  void residual(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                FieldView<double> r) const override {
    a_.residual(ctx, b, x, r);
    deflation_.add_image(ctx, -1, y_, r);
  }
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const double> b, FieldView<const double> x) const override {
    return a_.magnitude(ctx, b, whole(ctx, x));
  }
  [[nodiscard]] double backward_error(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                                      double least) const override {
    return a_.backward_error(ctx, b, whole(ctx, x), least);
  }

 private:
  [[nodiscard]] FieldView<const double> whole(Context& ctx, FieldView<const double> x) const {
    if (sum_.data == nullptr) return x;
    copy<double, double>(ctx, x, sum_);
    deflation_.add(ctx, y_, sum_);
    return sum_;
  }

  const LinearOperator<double>& a_;
  const Deflation& deflation_;
  FieldView<const double> y_;
  FieldView<double> sum_;
};

}  // namespace

DeflatedCg::DeflatedCg(Context& ctx, const GridLayout<2>& shape, const DeflatedCgParams& params)
    : Solver<double>(shape), params_(params), r_(ctx, shape), z_(ctx, shape), p_(ctx, shape), ap_(ctx, shape) {
  expects(params.keep >= 0, "vectors to keep must be 0 or more, not ", params.keep);
  expects(!params.two_parts, "x in two parts takes deflation vectors with cores");
  for (int k = 0; k < params.keep; ++k) kept_.emplace_back(ctx, shape);
  if (params.diagonal.empty()) return;
  expects(params.diagonal.size() == static_cast<std::size_t>(shape.nodes()), "a diagonal of ", params.diagonal.size(),
          " numbers for ", shape.nx, " x ", shape.ny, " unknowns");
  double sum = std::accumulate(params.diagonal.begin(), params.diagonal.end(), 0.0);
  if (ctx.subdomains() > 1) {
    const auto all = ctx.communicator()->gather_on_host(sum);
    sum = std::accumulate(all.begin(), all.end(), 0.0);
  }
  std::vector<double> weights(params.diagonal.size());
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = params.diagonal[k] / sum;
  weights_ = SharedField<double>(ctx, shape);
  copy_from_host(ctx, weights.data(), weights_.view());
  mean_ = SharedField<double>(mean_scratch(ctx, shape));
}

DeflatedCg::DeflatedCg(Context& ctx, const Deflation& deflation, const DeflatedCgParams& params)
    : DeflatedCg(ctx, deflation.shape(), {.keep = params.keep, .diagonal = params.diagonal}) {
  expects(!params.two_parts || deflation.has_cores(), "x in two parts takes deflation vectors with cores");
  params_.two_parts = params.two_parts;
  params_.beyond_one_array = params.beyond_one_array;
  deflation_ = std::make_shared<const Deflation>(deflation);
  for (auto* coarse : {&d_, &c_, &cp_, &y_, &dp_}) *coarse = SharedField<double>(ctx, deflation.count());
  if (weights_.empty() || !deflation.covers()) return;
  coarse_weights_ = SharedField<double>(ctx, deflation.count());
  Context alone = ctx.alone();
  coarse_mean_ = SharedField<double>(mean_scratch(alone, coarse_weights_.shape()));
  deflation.restrict_to(ctx, weights_.cview(), coarse_weights_.view());
}

SolveReport DeflatedCg::run(Context& ctx, const LinearOperator<double>& a, Preconditioner<double>* m,
                            FieldView<const double> b, FieldView<double> x, const StoppingParams& stop,
                            const Monitor& monitor) {
  expects_constant_symmetric("deflated conjugate gradients", m);
  const auto r = r_.view(), z = z_.view(), p = p_.view(), ap = ap_.view();
  const auto d = d_.view(), c = c_.view(), cp = cp_.view(), y = y_.view(), dp = dp_.view();
  const Deflation* const q = deflation_.get();
  const bool two_parts = params_.two_parts;
  if (q != nullptr) set(ctx, 0.0, y);
  if (two_parts) q->move_means(ctx, x, y);
  const auto with_coarse_part =
      two_parts ? std::make_unique<InTwoParts>(a, *q, y_.cview(), params_.beyond_one_array ? FieldView<double>() : z)
                : nullptr;
  const LinearOperator<double>& whole = two_parts ? *with_coarse_part : a;
  Context alone = ctx.alone();  // every subdomain has coarse vectors whole
  // Which constant a solution of a singular system has: of both parts, where the vectors add up to one.
  const auto centre = [&](FieldView<double> fine, FieldView<double> coarse) {
    if (weights_.empty()) return;
    subtract_mean<double>(ctx, weights_.cview(), fine, mean_.view());
    if (two_parts && q->covers()) subtract_mean<double>(alone, coarse_weights_.cview(), coarse, coarse_mean_.view());
  };
  // z <- P^T z + Q r: many small kernels.
  const auto correct = [&] {
    if (q != nullptr) {
      q->restrict_to(ctx, r, d);
      if (two_parts) copy<double, double>(ctx, d, dp);
      const auto right = two_parts ? dp : d;
      q->subtract_products(ctx, z, right);
      q->solve(ctx, right, c);
      if (two_parts)
        q->move_means(ctx, z, c);
      else
        q->add(ctx, c, z);
    }
    centre(z, c);
  };
  *lanczos_ = {};
  KrylovIteration<double>::Corrections corrections;
  corrections.complete = [&] { recording_->run(ctx, r.data, z.data, correct); };
  if (two_parts) {
    const auto with = [&](FieldView<double> coarse) {
      return [&, coarse](FieldView<const double> fine) -> FieldView<const double> {
        copy<double, double>(ctx, fine, ap);
        q->add(ctx, coarse, ap);
        return ap;
      };
    };
    corrections.whole_correction = with(c);
    corrections.whole_solution = with(y);
  }
  KrylovIteration<double> iteration(ctx, whole, m, b, x, r, z, stop, monitor, IterationKind::krylov,
                                    std::move(corrections));
  double rz = 0;
  int step = 0;
  for (bool restart = true; !iteration.done(); ++step) {
    constexpr int now_and_then = 10;
    if (!weights_.empty() && (restart || step % now_and_then == 0)) subtract_mean<double>(ctx, r, mean_.view());
    if (q != nullptr && restart) {
      q->restrict_to(ctx, r, d);
      q->solve(ctx, d, c);
      q->add_image(ctx, -1, c, r);
      if (two_parts)
        axpy<double, double>(ctx, 1, c, y);
      else
        q->add(ctx, c, x);
      centre(x, y);
      // A right-hand side of the vectors alone: nothing is left to precondition.
      if (const double left = norm2<double>(ctx, r); left <= iteration.target()) {
        restart = iteration.advance(left);
        rz = 0;  // there is no direction
        continue;
      }
    }
    if (m == nullptr)
      copy<double, double>(ctx, r, z);
    else
      (void)iteration.precondition(r, z);
    recording_->run(ctx, r.data, z.data, correct);
    iteration.measure(z);
    double product = dot<double>(ctx, r, z);
    if (two_parts) product += dot<double>(alone, c, d);
    if (!(product > 0)) {
      restart = iteration.recover(message("the preconditioner is not positive definite: (r, M^-1 r) = ", product));
      continue;
    }
    const double beta = restart || rz == 0 ? 0 : product / rz;
    rz = product;
    const bool keep = lanczos_->alpha.size() < kept_.size();
    if (keep) {
      lanczos_->beta.push_back(beta);
      const auto kept = kept_[lanczos_->alpha.size()].view();
      copy<double, double>(ctx, z, kept);
      if (two_parts) q->add(ctx, c, kept);
      copy_scaled<double, double>(ctx, 1 / std::sqrt(rz), kept, kept);
    }
    xpay<double>(ctx, z, beta, p);
    a.apply(ctx, p, ap);
    double curvature = 0;
    if (two_parts) {
      xpay<double>(ctx, c, beta, cp);
      q->add_image(ctx, 1, cp, ap);
      q->restrict_to(ctx, ap, dp);
      curvature = dot<double>(alone, cp, dp);
    }
    curvature += dot<double>(ctx, p, ap);
    if (!(curvature > 0)) {
      restart = iteration.recover(message("the operator is not positive definite: (p, A p) = ", curvature));
      continue;
    }
    const double alpha = rz / curvature;
    if (keep) lanczos_->alpha.push_back(alpha);
    axpy<double, double>(ctx, alpha, p, x);
    if (two_parts) axpy<double, double>(ctx, alpha, cp, y);
    axpy<double, double>(ctx, -alpha, ap, r);
    restart = iteration.advance(norm2<double>(ctx, r));
    // The sum of both parts no longer follows them.
    constexpr double apart = 1.25;
    if (two_parts && !params_.beyond_one_array && iteration.may_be_rounding()) {
      copy<double, double>(ctx, x, z);
      q->add(ctx, y, z);
      a.residual(ctx, b, z, ap);
      if (norm2<double>(ctx, ap) > apart * iteration.residual()) iteration.end_at_rounding();
    }
  }
  SolveReport report = iteration.finish();
  lanczos_->residual = report.residual;
  const bool reached = report.status == Status::converged;
  if (two_parts) {
    q->add(ctx, y, x);
    a.residual(ctx, b, x, r);
    report.residual = norm2<double>(ctx, r);
  }
  // What gave up may have come as far as it can: vectors that cut what x is even on hold it in numbers that round, too, and the
  // level of x^ knows nothing of them. And the sum of two parts, where it leaves more than they do, has to leave rounding.
  const bool gave_up = report.status == Status::breakdown || report.status == Status::stagnated;
  const bool sum_leaves_more = two_parts && reached && report.residual > iteration.target();
  const bool at_rounding =
      (gave_up || sum_leaves_more) && Rounding<double>(ctx, a, b, x, report.reference_norm_value)
                                          .reached<double>(report.residual, r, Rounding<double>::stopped);
  if (sum_leaves_more && !at_rounding) {
    report.status = Status::breakdown;
    report.reason = message("the residual of x in two parts is ", lanczos_->residual, " and that of their sum ",
                            report.residual, ", which is more than rounding: the vectors are not those of this matrix");
    return report;
  }
  if (at_rounding) {
    report.status = Status::round_off_limit;
    report.reason = rounding_reason(report.residual, iteration.target());
  }
  if (two_parts && report.status == Status::round_off_limit)
    report.reason =
        message("the residual of x in two parts is ", lanczos_->residual, reached ? ", as asked for" : "",
                "; that of their sum, ", report.residual, ", is as small as rounding to one array lets it be");
  return report;
}

DeflationVectors DeflatedCg::ritz(Context& ctx, int count) const {
  const auto& [alpha, beta, residual_of_parts] = *lanczos_;
  // Up to where the recursion began anew.
  std::size_t n = alpha.size();
  for (std::size_t k = 1; k < n; ++k)
    if (beta[k] == 0) n = k;
  expects(n > 0, "there are no Ritz vectors: no iteration was kept");
  std::vector<double> t(n * n, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    t[k * n + k] = 1 / alpha[k] + (k > 0 ? beta[k] / alpha[k - 1] : 0);
    if (k + 1 < n) t[k * n + k + 1] = t[(k + 1) * n + k] = -std::sqrt(beta[k + 1]) / alpha[k];
  }
  const std::vector<double> v = diagonalise(n, t);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t l, std::size_t r) { return t[l * n + l] < t[r * n + r]; });
  order.resize(std::min(n, static_cast<std::size_t>(std::max(count, 0))));
  DeflationVectors vectors;
  vectors.z.rows = static_cast<int>(order.size());
  vectors.z.columns = static_cast<int>(shape().nodes());
  Field<double> u(ctx, shape());
  std::vector<double> host(static_cast<std::size_t>(shape().nodes()));
  for (const std::size_t s : order) {
    set(ctx, 0.0, u.view());
    for (std::size_t k = 0; k < n; ++k) axpy<double, double>(ctx, v[k * n + s], kept_[k].cview(), u.view());
    copy_to_host(ctx, u.cview(), host.data());
    for (std::size_t k = 0; k < host.size(); ++k) {
      if (host[k] == 0) continue;
      vectors.z.column.push_back(static_cast<int>(k));
      vectors.z.value.push_back(host[k]);
    }
    vectors.z.start.push_back(static_cast<int>(vectors.z.column.size()));
  }
  return vectors;
}

}  // namespace stratum
