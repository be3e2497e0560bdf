#pragma once

// Deflated conjugate gradients, A-DEF2: x <- x + Q (b - A x) first, then conjugate gradients preconditioned by
//
//     z = P^T M^-1 r + Q r = y + Z E^-1 (Z^T r - (A Z)^T y) ,   y = M^-1 r        (solvers/deflation/deflation.hpp)
//
// for A symmetric positive semidefinite, M symmetric positive definite and constant. One coarse solve an iteration.
//
// x in two parts (`two_parts`, for contrasts from 1e4 on): x = x^ + Z y and p = p^ + Z c, the means over the vectors' cores in
// y and c, so that A p = A p^ + (A Z) c loses nothing where p is large and even. Those of the first x move to y, too. The
// residual that is tested is that of both parts. The sum that is returned rounds x to what one array can hold: the iteration
// ends there as `round-off limit`, or goes on to what both parts can hold (`beyond_one_array`); where the sum's residual is
// then above the tolerance the status is the same, and the reason says both.
//
// Where A is singular (A 1 = 0) right-hand sides have no mean; that of r, rounding, is removed every ten iterations. Of the
// solutions the one with sum a_ii x_i = 0 is taken: x is small where coefficients are large, and so is the residual's rounding.
//
// Ritz vectors: with `keep` the first so many z = M^-1 r are kept, and the eigenvectors of the Lanczos matrix with the lowest
// eigenvalues, in terms of them, deflate a later solve with the same matrix. They are worth what the run had come to: keep
// nearly all of it. A vector each.
//
// Four to six reductions an iteration, each waiting for the stream. Sources: Tang, Nabben, Vuik, Erlangga 2009 (A-DEF2);
// Y. Saad, M. Yeung, J. Erhel, F. Guyomarc'h, A deflated version of the conjugate gradient algorithm, 2000.

#include <vector>

#include <stratum/core/device/recording.hpp>
#include <stratum/solvers/deflation/deflation.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum {

struct DeflatedCgParams {
  bool two_parts = false;
  bool beyond_one_array = false;
  int keep = 0;                    // vectors for `ritz`
  std::vector<double> diagonal{};  // of A, where A 1 = 0; on subdomains of the grid of own rows
};

class DeflatedCg final : public Solver<double>, public Handle {
 public:
  /// Throws UsageError for two parts where the vectors have no cores.
  DeflatedCg(Context& ctx, const Deflation& deflation, const DeflatedCgParams& params = {});
  /// Without vectors: conjugate gradients that keep what Ritz vectors take.
  DeflatedCg(Context& ctx, const GridLayout<2>& shape, const DeflatedCgParams& params);

  /// The `count` lowest of the last solve, or as many as it has. Waits for the stream.
  [[nodiscard]] DeflationVectors ritz(Context& ctx, int count) const;

  /// || b - A x || of the last solve's x, in two parts where it was kept so.
  [[nodiscard]] double residual_of_parts() const { return lanczos_->residual; }

 private:
  struct Lanczos {
    std::vector<double> alpha, beta;
    double residual = 0;
  };
  SolveReport run(Context& ctx, const LinearOperator<double>& a, Preconditioner<double>* m, FieldView<const double> b,
                  FieldView<double> x, const StoppingParams& stop, const Monitor& monitor) override;

  std::shared_ptr<const Deflation> deflation_;  // null: none
  DeflatedCgParams params_;
  SharedField<double> r_, z_, p_, ap_;
  SharedField<double> weights_, mean_;  // where A is singular: its diagonal over the sum, and scratch
  SharedField<double> coarse_weights_, coarse_mean_;
  SharedField<double> d_, c_, cp_, y_, dp_;  // coarse: Z^T r, of z, of p, of x, Z^T A p
  std::vector<SharedField<double>> kept_;
  std::shared_ptr<Recording> recording_ = std::make_shared<Recording>();
  std::shared_ptr<Lanczos> lanczos_ = std::make_shared<Lanczos>();
};

}  // namespace stratum
