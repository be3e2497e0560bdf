#pragma once

// Deflated conjugate gradients (A-DEF2) for a symmetric positive semidefinite A. The first step is x <- x + Q (b - A x). Then
// follow conjugate gradients with the preconditioner
//
//     z = P^T M^-1 r + Q r = y + Z E^-1 (Z^T r - (A Z)^T y) ,   y = M^-1 r        (solvers/deflation/deflation.hpp)
//
// where M is symmetric positive definite and constant. Each iteration solves the coarse system once.
//
// x in two parts (`two_parts`, for contrasts of 1e4 and more): x = x^ + Z y and p = p^ + Z c. The means of x over the cores of
// the vectors are in y, those of p in c. A p = A p^ + (A Z) c then loses no digits where p is large and nearly constant. The
// residual that is tested is that of both parts. In the end the parts are added, which rounds x to what one array can hold. The
// iteration ends there as `round-off limit`; with `beyond_one_array` it goes on to what both parts can hold. If the residual of
// the sum is then above the tolerance, the status is `round-off limit` as well, and the reason gives both residuals.
//
// If A is singular (A 1 = 0), the right-hand side must have no mean; the mean that rounding gives r is removed every ten
// iterations. The solution is the one with sum a_ii x_i = 0: x is then small where coefficients are large, and so is the
// rounding of the residual.
//
// Ritz vectors: with `keep`, the first `keep` vectors z = M^-1 r are stored. `ritz` returns the eigenvectors of the Lanczos
// matrix with the lowest eigenvalues as combinations of them, for a later solve with the same matrix. They are as accurate as
// the solve that they come from: keep nearly all of its iterations.
//
// b and x have the shape of the deflation. Errors: UsageError for other shapes and for an M that is not constant and symmetric;
// a breakdown is a status. Each iteration has four to six reductions that wait for the stream; `solve` allocates nothing. Memory
// beside b and x: 4 vectors, and one for each that is kept. Memory traffic beside that of A, M and Z: about 20 words per unknown
// and iteration.
// Sources: Tang, Nabben, Vuik, Erlangga 2009 (A-DEF2); Y. Saad, M. Yeung, J. Erhel, F. Guyomarc'h, A deflated version of the
// conjugate gradient algorithm, 2000.

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
