#pragma once

// The incomplete Poisson preconditioner: an approximate inverse of a symmetric matrix A = L + D + L^T with the pattern of A,
// whose application is one product with a sparse matrix, and as parallel. With c = diag A,
//
//     M^-1 = K K^T on the pattern of A, the rest dropped,
//
//     scaled     K = D^-1/2 (I - L^),  L^ = D^-1/2 L D^-1/2        printed     K = I - L D^-1 .
//
// On five points the product L L^T meets the pattern of A on the diagonal only, and scaled is
//
//     m_ii = (1 + sum over j < i of a_ij^2 / (c_i c_j)) / c_i ,     m_ij = -a_ij / (c_i c_j) .
//
// Sources: M. Ament, G. Knittel, D. Weiskopf, W. Strasser, A Parallel Preconditioned Conjugate Gradient Solver for the Poisson
// Problem on a Multi-GPU Platform, 2010; R. Gupta, Implementation of the Deflated Preconditioned Conjugate Gradient Method for
// Bubbly Flow on the Graphical Processing Unit, 2010, equations (56) to (76), for a diagonal of fours. Where the diagonal is
// constant the forms differ by that factor, which conjugate gradients do not notice. Where it varies the printed one is not
// scaled as an inverse: take it to reproduce, not to solve.
//
// Positive definite: scaled, wherever A is and its graph has no odd cycle, as on five points (L^ + L^^T changes its sign with
// that of every second unknown, so that I - L^ - L^^T is as definite as I + L^ + L^^T, and L^ L^^T adds to the diagonal); on
// five points with Neumann boundaries, too. Both, wherever nothing is dropped. Else that is not known, and for bilinear
// elements on stretched meshes it is not: conjugate gradients say so. Constant, symmetric bit for bit.
//
// Formed in double on the host, kept in T: on vectors of a grid as a nine-point operator (five words per unknown), for which
// nodes may couple with their neighbours only; on flat ones by bands where they take no more memory than rows, else by rows.
// `apply` moves that, r and z, and does not wait for the stream. z must not be r. Throws UsageError when a is not symmetric, or
// on a grid for an entry between nodes that are no neighbours; BreakdownError for a diagonal entry that is not above 0.

#include <memory>

#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/core/shared.hpp>

namespace stratum {

enum class IncompletePoissonForm : std::uint8_t { scaled, printed };

template <class T>
class IncompletePoisson final : public Preconditioner<T>, public Handle {
 public:
  /// Vectors of `shape`, whose nodes are the rows of a, along x first.
  IncompletePoisson(Context& ctx, const GridLayout<2>& shape, const SparseRows& a,
                    IncompletePoissonForm form = IncompletePoissonForm::scaled);
  IncompletePoisson(Context& ctx, const SparseRows& a, IncompletePoissonForm form = IncompletePoissonForm::scaled)
      : IncompletePoisson(ctx, GridLayout<2>::flat(a.rows), a, form) {}

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override { inverse_->apply(ctx, r, z); }
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
  /// M^-1
  [[nodiscard]] const LinearOperator<T>& inverse() const { return *inverse_; }

 private:
  std::shared_ptr<const LinearOperator<T>> inverse_;
};

/// M^-1 on the host; throws as above.
[[nodiscard]] SparseRows incomplete_poisson(const SparseRows& a, IncompletePoissonForm form);

}  // namespace stratum
