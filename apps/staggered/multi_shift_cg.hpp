#pragma once

// Conjugate gradients for several shifts at once: (A + s_k) x_k = b, A + s_k symmetric positive definite. The Krylov spaces of
// all are the same and so, up to factors, are the residuals: r_k = zeta_k r with r of the smallest shift. One product with A an
// iteration serves them all,
//
//     zeta_k' = zeta_k z a / (z a (1 + alpha s) + alpha beta (z - zeta_k)),   s = s_k - min s,  z and a: zeta_k and alpha
//     before x_k <- x_k + alpha zeta_k' / zeta_k p_k,  p_k <- zeta_k' r + beta (zeta_k' / zeta_k)^2 p_k .
//
// Larger shifts converge earlier and are left alone from then on; the smallest is the last. Then every one is judged by its own
// true residual, and goes on by plain conjugate gradients from where it is if that is above the tolerance.
//
// Sources: Frommer, Maass, Fast CG-based methods for Tikhonov-Phillips regularization, 1999; Jegerlehner, Krylov space solvers
// for shifted linear systems, 1996.
//
// MixedMultiShiftCg takes the steps in float: reliable updates (solvers/mixed/reliable_cg.hpp) keep the smallest shift at its
// true residual, the others part from theirs at the rounding of float, and are finished by ReliableCg from there.
//
// 4 + k words an unknown for k shifts, beside the x_k; mixed 24 + 4 k bytes more. One wait for the stream an iteration; `solve`
// allocates nothing.

#include <memory>
#include <vector>

#include <stratum/core/reentrancy_guard.hpp>
#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/mixed/reliable_cg.hpp>

namespace stratum {

/// A + shift; refers to A.
template <class T>
class ShiftedOperator final : public LinearOperator<T> {
 public:
  ShiftedOperator(const LinearOperator<T>& a, double shift) : a_(a), shift_(shift) {}
  [[nodiscard]] GridLayout<2> shape() const override { return a_.shape(); }
  void apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const override;
  void residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const override;
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const T> b, FieldView<const T> x) const override;

 private:
  const LinearOperator<T>& a_;
  double shift_;
};

template <class T>
class MultiShiftCg {
 public:
  /// For so many shifts. Throws UsageError for fewer than one.
  MultiShiftCg(Context& ctx, const GridLayout<2>& shape, int shifts);

  /// Solves for all x_k, from zero whatever they hold; a report each, in their order. The iterations of one are those until it
  /// was left alone, and those that it took beyond. The monitor sees the smallest shift. Throws UsageError for shapes and
  /// numbers that differ, shifts that are negative or not finite, bad tolerances and a solver that is solving already.
  std::vector<SolveReport> solve(Context& ctx, const LinearOperator<T>& a, const std::vector<double>& shifts,
                                 FieldView<const T> b, const std::vector<FieldView<T>>& x,
                                 const StoppingParams& stop = {}, const Monitor& monitor = {});

 private:
  GridLayout<2> shape_;
  std::shared_ptr<ReentrancyGuard> guard_ = std::make_shared<ReentrancyGuard>();
  ConjugateGradients<T> finisher_;
  Field<T> r_, ap_;
  std::vector<Field<T>> p_;
};

class MixedMultiShiftCg {
 public:
  /// For so many shifts. Throws UsageError for fewer than one and for bad parameters; those that switch parts off are not
  /// taken.
  MixedMultiShiftCg(Context& ctx, const GridLayout<2>& shape, int shifts, const ReliableCgParams& params = {});

  /// As MultiShiftCg does; `inner` is A in float.
  std::vector<SolveReport> solve(Context& ctx, const LinearOperator<double>& a, const LinearOperator<float>& inner,
                                 const std::vector<double>& shifts, FieldView<const double> b,
                                 const std::vector<FieldView<double>>& x, const StoppingParams& stop = {},
                                 const Monitor& monitor = {});

 private:
  ReliableCgParams params_;
  GridLayout<2> shape_;
  std::shared_ptr<ReentrancyGuard> guard_ = std::make_shared<ReentrancyGuard>();
  ReliableCg finisher_;
  Field<double> residual_;
  Field<float> r_, ap_;
  std::vector<Field<float>> p_;
};

}  // namespace stratum
