#pragma once

// Iterative refinement, the stationary iteration
//
//     x <- x + M^-1 (b - A x) ,
//
// with any Preconditioner as M^-1. With a multigrid cycle it is the multigrid solver; with a float cycle behind
// PrecisionCast<double, float> it is mixed-precision iterative refinement, whose defect and update are in double.
// Source: Goeddeke, Strzodka 2011, Section 2.5.
//
// Refinement<T>::solve starts from the given x. It keeps two vectors of scratch. Per iteration: one residual, one norm
// (which waits for the stream), one preconditioner, one update: 8 words per unknown beside the preconditioner's.

#include <stratum/solvers/solver.hpp>

namespace stratum {

enum class ResidualUpdate : std::uint8_t {
  recomputed,  // r = b - A x after every update
  updated      // r <- r - A c: what falls is the recursive residual, which in float says little about x
};

template <class T>
class Refinement final : public Solver<T>, public Handle {
 public:
  Refinement(Context& ctx, const GridLayout<2>& shape, ResidualUpdate update = ResidualUpdate::recomputed);

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b, FieldView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override;

  SharedField<T> r_;
  SharedField<T> c_;
  SharedField<T> ac_;
  ResidualUpdate update_;
};

/// A fixed number of cycles, or as many as reach a relative tolerance, or as many as it takes until they change little, of
/// x <- x + M^-1 (b - A x) from zero: the inner solver of mixed-precision refinement, and of the variable-preconditioned
/// methods that smooth or sweep inside. Stops at `max_cycles`, or when a cycle no longer gains anything in the residual, and
/// hands back what it has. For Krylov methods inside see solvers/inner_solve.hpp.
struct InnerStop {
  int cycles = 1;        // used when rtol and increment are 0
  double rtol = 0;       // reduce the residual to this part of the first, in (0, 1)
  int max_cycles = 32;   // in the two cases with a test
  double increment = 0;  // until max |z_new - z_old| < increment max |z_new|; not together with rtol

  /// Throws UsageError unless rtol and the increment lie in [0, 1) and the numbers of cycles are 1 or more.
  void validate() const;
  [[nodiscard]] bool tests() const { return rtol > 0 || increment > 0; }
};

template <class T>
class InnerIteration final : public Preconditioner<T>, public Handle {
 public:
  InnerIteration(Context& ctx, Shared<const LinearOperator<T>> a, Shared<Preconditioner<T>> m, const InnerStop& stop);

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return !stop_.tests() && m_->is_constant(); }
  [[nodiscard]] bool is_symmetric() const override { return !stop_.tests() && m_->is_symmetric(); }
  [[nodiscard]] bool estimates_error() const override { return m_->estimates_error(); }
  [[nodiscard]] int iterations() const override { return work_->iterations; }

 private:
  Shared<const LinearOperator<T>> a_;
  Shared<Preconditioner<T>> m_;
  InnerStop stop_;
  SharedField<T> d_, c_;
  std::shared_ptr<InnerWork> work_ = std::make_shared<InnerWork>();
};

}  // namespace stratum
