#include <stratum/multigrid/structured/box_krylov.hpp>

#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

namespace stratum {

namespace {

template <class T>
std::shared_ptr<BoxMultigrid<T>> cycle_of(Context& ctx, const BoxMatrix<double>& a,
                                          const std::array<GatedAxis, 3>& gate, const BoxMultigridParams& params,
                                          std::vector<GatedLevel>& levels) {
  auto cycle = std::make_shared<BoxMultigrid<T>>(ctx, a, gate, params);
  levels = cycle->gate();
  return cycle;
}

}  // namespace

BoxKrylov::BoxKrylov(Context& ctx, const BoxMatrix<double>& a, const BoxMatrix<double>& of_cycle,
                     const std::array<GatedAxis, 3>& gate, const BoxMultigridParams& multigrid, BoxKrylovParams params)
    : b(ctx, rows_of(a.shape())), x(ctx, rows_of(a.shape())), a_(std::make_unique<BoxLinearOperator<double>>(ctx, a)) {
  expects(
      !a.is_full() || !solver_entry(params.method).symmetric, params.method,
      " is for symmetric matrices, and this one is not symmetric, nor by scales of its rows; use gmres or bicgstab");
  if (params.float_cycles)
    m_ = PrecisionCast<double, float>(ctx, b.shape(), cycle_of<float>(ctx, of_cycle, gate, multigrid, levels_));
  else
    m_ = cycle_of<double>(ctx, of_cycle, gate, multigrid, levels_);
  solver_ = params.solver ? std::move(params.solver)
                          : make_solver<double>(ctx, params.method, b.shape(), {.restart = params.restart});
}

SolveReport BoxKrylov::solve(Context& ctx, const StoppingParams& stop, const Monitor& monitor) {
  set(ctx, 0, x.view());
  return solver_->solve(ctx, *a_, *m_, b.cview(), x.view(), stop, monitor);
}

void BoxKrylov::precondition(Context& ctx) { m_->apply(ctx, b.cview(), x.view()); }

}  // namespace stratum
