#pragma once

// InnerSolve<T>: any Solver as a preconditioner. z is an approximate solution of A z = r, computed from z = 0 with its own
// tolerance and iteration limit. It differs from call to call; hence the outer method must allow that: fcg, gcr, gmres,
// bicgstab. Together they are the variable-preconditioned methods VPCG, VPGCR and VPGMRES:
//
//     InnerSolve<double> inner(a, cr, nullptr, {...});
//     make_solver<double>(ctx, "gcr", shape)->solve(ctx, a, inner, b, x, stop)
//
// Behind PrecisionCast<double, float> the inner iteration runs in float on a float copy of A: the outer iteration only needs
// ||r - A z|| < ||r||. Whatever the inner solve has when it stops is returned; a z that is not finite is replaced by r. It
// allocates nothing, and waits for the stream as the inner solver does. Source: Abe, Zhang 2005; Ikuno, Kawaguchi, Fujita,
// Itoh, Nakata, Watanabe 2012.

#include <stratum/solvers/solver.hpp>

namespace stratum {

template <class T>
class InnerSolve final : public Preconditioner<T>, public Handle {
 public:
  /// `stop` holds the inner tolerance (relative to ||r||) and the inner limit; m: nullptr for none. The monitor sees every
  /// inner solve.
  InnerSolve(Shared<const LinearOperator<T>> a, Shared<Solver<T>> solver, Shared<Preconditioner<T>> m,
             const StoppingParams& stop, Monitor monitor = {});

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return false; }
  [[nodiscard]] bool is_symmetric() const override { return false; }
  /// Of the inner solver, at the latest apply.
  [[nodiscard]] int iterations() const override { return work_->iterations; }

 private:
  Shared<const LinearOperator<T>> a_;
  Shared<Solver<T>> solver_;
  Shared<Preconditioner<T>> m_;
  StoppingParams stop_;
  Monitor monitor_;
  std::shared_ptr<InnerWork> work_ = std::make_shared<InnerWork>();
};

}  // namespace stratum
