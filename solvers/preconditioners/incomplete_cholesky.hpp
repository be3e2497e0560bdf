#pragma once

// Incomplete Cholesky factorisation without fill, IC(0), of a symmetric matrix, as a preconditioner:
//
//     M = (I + L) D (I + L)^T ,   L strictly lower, with the pattern of A,   (M)_ij = a_ij on that pattern .
//
// Block IC leaves out the entries of A between blocks of `block_size` consecutive rows first, so that the blocks are
// factorised and solved independently of each other (Meijerink, van der Vorst 1977; blocks as in Gupta, Implementation of
// the Deflated Preconditioned Conjugate Gradient Method for Bubbly Flow on the Graphical Processing Unit, 2010). Unknowns
// are numbered along x first on vectors of any shape. Constant, symmetric.
//
// Factorised in double on the host, kept in T. `apply` moves, per row with m entries in L: 2 m values, 2 m indices of four
// bytes, and r, z twice, D. CPU: blocks in parallel, rows of a block one after the other. CUDA: rows whose predecessors are
// done (a level) in parallel, a launch a level, replayed as a CUDA graph: a few launches for small blocks, and as many as
// the longest chain of dependent rows for a single one (nx + ny - 1 on a five-point grid; n for a tridiagonal matrix, which
// wants blocks). Does not wait for the stream. z must not be r.
//
// Throws UsageError when a is not symmetric, BreakdownError when a pivot is not positive: IC(0) exists for M-matrices, not for every
// positive definite matrix. A shift factorises A + shift diag(A) instead (Manteuffel 1980) and costs iterations.

#include <vector>

#include <stratum/core/device/recording.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/linear_operator.hpp>

namespace stratum {

struct IncompleteCholeskyParams {
  static constexpr int usual_block_size = 1024;  // of the entry block-ic of the registry, where none is given

  int block_size = 0;  // rows of a block; 0: one block
  double shift = 0;    // from 0 on
};

template <class T>
class IncompleteCholesky final : public Preconditioner<T>, public Handle {
 public:
  /// Vectors of `shape`, whose nodes are the rows of a.
  IncompleteCholesky(Context& ctx, const GridShape& shape, const SparseRows& a, const IncompleteCholeskyParams& = {});
  IncompleteCholesky(Context& ctx, const SparseRows& a, const IncompleteCholeskyParams& params = {})
      : IncompleteCholesky(ctx, GridShape::flat(a.rows), a, params) {}

  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
  [[nodiscard]] int blocks() const { return blocks_; }
  /// The longest chain of rows that wait for each other.
  [[nodiscard]] int levels() const { return static_cast<int>(forward_levels_.size()) - 1; }

 private:
  struct Triangle {
    SharedVector<int> start, column;
    SharedVector<T> value;
  };
  [[nodiscard]] Triangle upload(Context& ctx, const SparseRows& rows) const;

  GridShape shape_;
  int block_size_ = 0;
  int blocks_ = 0;
  Triangle lower_, upper_;          // L and its transpose
  SharedVector<T> inverse_pivots_;  // 1 / D
  // On a GPU: rows by level, and where levels begin.
  SharedVector<int> forward_rows_, backward_rows_;
  std::vector<int> forward_levels_, backward_levels_;
  Recording recording_;
};

}  // namespace stratum
