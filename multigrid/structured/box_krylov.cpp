#include <stratum/multigrid/structured/box_krylov.hpp>

#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

namespace stratum {

namespace {

/// A sparse matrix for vectors whose rows are apart.
class RowsOfBox final : public LinearOperator<double> {
 public:
  RowsOfBox(Context& ctx, const SparseRows& rows, const GridLayout<2>& shape)
      : a_(ctx, rows), shape_(shape), x_(ctx, GridLayout<2>::flat(rows.rows)), y_(ctx, GridLayout<2>::flat(rows.rows)) {
  }

  [[nodiscard]] GridLayout<2> shape() const override { return shape_; }
  void apply(Context& ctx, FieldView<const double> x, FieldView<double> y) const override {
    copy<double, double>(ctx, x, rows_in(x_));
    a_.apply(ctx, x_.cview(), y_.view());
    copy<double, double>(ctx, rows_in(y_), y);
  }
  void residual(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                FieldView<double> r) const override {
    copy<double, double>(ctx, x, rows_in(x_));
    copy<double, double>(ctx, b, rows_in(y_));
    a_.residual(ctx, y_.cview(), x_.cview(), y_.view());
    copy<double, double>(ctx, rows_in(y_), r);
  }
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const double> b, FieldView<const double> x) const override {
    copy<double, double>(ctx, x, rows_in(x_));
    copy<double, double>(ctx, b, rows_in(y_));
    return a_.magnitude(ctx, y_.cview(), x_.cview());
  }

 private:
  [[nodiscard]] FieldView<double> rows_in(Field<double>& flat) const {
    return {flat.view().data, shape_.nx, shape_.ny, shape_.nx};
  }

  CsrMatrix<double> a_;
  GridLayout<2> shape_;
  mutable Field<double> x_, y_;
};

template <class T>
std::shared_ptr<BoxMultigrid<T>> cycle_of(Context& ctx, const BoxMatrix<double>& s,
                                          const std::array<GatedAxis, 3>& gate, const BoxMultigridParams& params,
                                          std::vector<GatedLevel>& levels) {
  auto cycle = std::make_shared<BoxMultigrid<T>>(ctx, s, gate, params);
  levels = cycle->gate();
  return cycle;
}

}  // namespace

BoxKrylov::BoxKrylov(Context& ctx, const BoxMatrix<double>& s, const SparseRows& general,
                     const std::array<GatedAxis, 3>& gate, const BoxMultigridParams& multigrid, BoxKrylovParams params)
    : b(ctx, rows_of(s.shape())), x(ctx, rows_of(s.shape())) {
  expects(
      general.rows == 0 || !solver_entry(params.method).symmetric, params.method,
      " is for symmetric matrices, and this one is not symmetric, nor by scales of its rows; use gmres or bicgstab");
  if (params.float_cycles)
    m_ = PrecisionCast<double, float>(ctx, b.shape(), cycle_of<float>(ctx, s, gate, multigrid, levels_));
  else
    m_ = cycle_of<double>(ctx, s, gate, multigrid, levels_);
  if (general.rows > 0)
    a_ = std::make_unique<RowsOfBox>(ctx, general, b.shape());
  else
    a_ = std::make_unique<BoxLinearOperator<double>>(ctx, s);
  solver_ = params.solver ? std::move(params.solver)
                          : make_solver<double>(ctx, params.method, b.shape(), {.restart = params.restart});
}

SolveReport BoxKrylov::solve(Context& ctx, const StoppingParams& stop, const Monitor& monitor) {
  set(ctx, 0, x.view());
  return solver_->solve(ctx, *a_, *m_, b.cview(), x.view(), stop, monitor);
}

void BoxKrylov::precondition(Context& ctx) { m_->apply(ctx, b.cview(), x.view()); }

}  // namespace stratum
