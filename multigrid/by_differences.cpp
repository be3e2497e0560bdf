#include <stratum/multigrid/by_differences.hpp>

#include <utility>
#include <variant>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/solvers/row_scaled.hpp>

namespace stratum {

SumByDifferences::SumByDifferences(Context& ctx, GridOperator<double> a, std::shared_ptr<const Field<double>> keep)
    : a_(std::move(a)), keep_(std::move(keep)), product_(ctx, a_.shape()) {
  expects(!a_.traits().has_bands, "entries in bands are sums that have lost their differences");
}

void SumByDifferences::assign(const GridOperator<double>& a, double s, const GridOperator<double>& m) {
  expects(!a.traits().has_bands, "entries in bands are sums that have lost their differences");
  a_ = a;
  s_ = s;
  m_ = m;
}

void SumByDifferences::keep(Context& ctx, FieldView<double> y) const {
  if (keep_ && !ctx.is_dry_run()) times_rows(ctx, *keep_, y, y);
}

void SumByDifferences::apply(Context& ctx, FieldView<const double> x, FieldView<double> y) const {
  a_.apply(ctx, x, y);
  if (m_) {
    m_->apply(ctx, x, product_.view());
    axpy(ctx, s_, product_.cview(), y);
  }
  keep(ctx, y);
}

void SumByDifferences::residual(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                                FieldView<double> r) const {
  a_.residual(ctx, b, x, r);
  if (m_) {
    m_->apply(ctx, x, product_.view());
    axpy(ctx, -s_, product_.cview(), r);
  }
  keep(ctx, r);
}

double SumByDifferences::magnitude(Context& ctx, FieldView<const double> b, FieldView<const double> x) const {
  return a_.magnitude(ctx, b, x);
}

double SumByDifferences::backward_error(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                                        double least) const {
  return m_ ? 0 : a_.backward_error(ctx, b, x, least);  // 0: not known
}

namespace {

/// y = A x, or b - A x where there is b.
void five_bands(Context& ctx, const SymmetricNineBand<double>& bands, const Field<double>& sums, const double* b,
                std::int64_t b_pitch, FieldView<const double> x, FieldView<double> y) {
  expects(!ctx.on_gpu(), "five bands by differences are for CPUs");
  if (ctx.is_dry_run()) return;
  exchange(ctx, bands.shape(), x);
  const auto a = bands.view();
  const auto e = sums.cview();
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (y.nodes() > serial_limit)
  for (int j = 0; j < y.ny; ++j)
    for (int i = 0; i < y.nx; ++i) {
      const double own = x(i, j);
      const double product = e(i, j) * own + a.coefficient<-1, 0>(i, j) * (x(i - 1, j) - own) +
                             a.coefficient<1, 0>(i, j) * (x(i + 1, j) - own) +
                             a.coefficient<0, -1>(i, j) * (x(i, j - 1) - own) +
                             a.coefficient<0, 1>(i, j) * (x(i, j + 1) - own);
      y(i, j) = b != nullptr ? b[j * b_pitch + i] - product : product;
    }
}

}  // namespace

FiveBandsByDifferences::FiveBandsByDifferences(GridOperator<double> bands, std::shared_ptr<const Field<double>> sums)
    : bands_(std::move(bands)), sums_(std::move(sums)) {
  expects(bands_.format() == StorageFormat::symmetric, "differences of five bands are for symmetric ones");
}

void FiveBandsByDifferences::apply(Context& ctx, FieldView<const double> x, FieldView<double> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "A x", y, shape());
  five_bands(ctx, std::get<SymmetricNineBand<double>>(bands_.storage()), *sums_, nullptr, 0, x, y);
}

void FiveBandsByDifferences::residual(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                                      FieldView<double> r) const {
  expects_fit(ctx, "b", b, shape());
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "b - A x", r, shape());
  five_bands(ctx, std::get<SymmetricNineBand<double>>(bands_.storage()), *sums_, b.data, b.pitch, x, r);
}

double FiveBandsByDifferences::magnitude(Context& ctx, FieldView<const double> b, FieldView<const double> x) const {
  return bands_.magnitude(ctx, b, x);
}

double FiveBandsByDifferences::backward_error(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                                              double least) const {
  return bands_.backward_error(ctx, b, x, least);
}

namespace {

class SolverOn final : public Solver<double> {
 public:
  SolverOn(std::shared_ptr<const LinearOperator<double>> a, std::shared_ptr<Solver<double>> by)
      : Solver<double>(by->shape()), a_(std::move(a)), by_(std::move(by)) {}

 private:
  SolveReport run(Context& ctx, const LinearOperator<double>& /*a*/, Preconditioner<double>* m,
                  FieldView<const double> b, FieldView<double> x, const StoppingParams& stop,
                  const Monitor& monitor) override {
    return by_->solve(ctx, *a_, m, b, x, stop, monitor);
  }

  std::shared_ptr<const LinearOperator<double>> a_;
  std::shared_ptr<Solver<double>> by_;
};

}  // namespace

std::shared_ptr<Solver<double>> solver_on(std::shared_ptr<const LinearOperator<double>> a,
                                          std::shared_ptr<Solver<double>> by) {
  if (!a) return by;
  return std::make_shared<SolverOn>(std::move(a), std::move(by));
}

}  // namespace stratum
