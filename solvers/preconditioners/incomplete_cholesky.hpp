#pragma once

// Incomplete Cholesky factorisation without fill, IC(0), of a symmetric matrix, as a preconditioner:
//
//     M = (I + L) D (I + L)^T ,   L strictly lower, with the pattern of A,   (M)_ij = a_ij on that pattern .
//
// Block IC leaves out the entries of A between blocks of consecutive rows first, so that the blocks are factorised and solved
// independently of each other (Meijerink, van der Vorst 1977; blocks as in Gupta, Implementation of the Deflated
// Preconditioned Conjugate Gradient Method for Bubbly Flow on the Graphical Processing Unit, 2010). Blocks are given by their
// size (the last may be smaller) or their number (sizes then differ by one at most). Unknowns are numbered along x first on
// vectors of any shape. Constant, symmetric.
//
// Factorised in double on the host, kept in T. `apply` moves, per row with m entries in L: 2 m values, 2 m indices of four
// bytes, and r, z, D; on a GPU two more values and four more indices. CPU: blocks in parallel, rows of a block one after the
// other. CUDA: one launch, a thread block for every block, whose numbers stay in shared memory where they fit (227 KB on
// Hopper: 29000 rows in double). Rows wait for each other in steps. A step is what depends on earlier steps, and on the row
// before where that is of the same step: the chain z_i = c_i - l_i z_(i-1) is a parallel prefix of affine maps (Blelloch,
// Prefix Sums and Their Applications, 1990), for |l_i| <= 1, so that no product of them leaves the range of T. So a step is a
// row of the grid on five and nine points, and all of a tridiagonal matrix. Where a few blocks have rows enough in parallel to
// fill a device (steps in parts of 1024 rows are more than the longest chain of rows), it is a launch for every level instead,
// replayed as a CUDA graph. Does not wait for the stream. z must not be r.
//
// Throws UsageError when a is not symmetric and for more blocks than rows, BreakdownError when a pivot is not positive: IC(0)
// exists for M-matrices, not for every positive definite matrix. A shift factorises A + shift diag(A) instead (Manteuffel 1980)
// and costs iterations.

#include <vector>

#include <stratum/core/device/recording.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/linear_operator.hpp>

namespace stratum {

struct IncompleteCholeskyParams {
  static constexpr int usual_block_size = 1024;  // of the entry block-ic of the registry, where none is given

  int block_size = 0;  // rows of a block; 0: one block, or
  double shift = 0;    // from 0 on
  int blocks = 0;      // so many of them
};

template <class T>
class IncompleteCholesky final : public Preconditioner<T>, public Handle {
 public:
  /// Vectors of `shape`, whose nodes are the rows of a.
  IncompleteCholesky(Context& ctx, const GridLayout<2>& shape, const SparseRows& a,
                     const IncompleteCholeskyParams& = {});
  IncompleteCholesky(Context& ctx, const SparseRows& a, const IncompleteCholeskyParams& params = {})
      : IncompleteCholesky(ctx, GridLayout<2>::flat(a.rows), a, params) {}

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
  [[nodiscard]] int blocks() const { return static_cast<int>(blocks_.size()) - 1; }
  /// The longest chain of rows that wait for each other.
  [[nodiscard]] int levels() const { return levels_; }

 private:
  /// Row by row on the CPU, on a GPU in the order of the steps.
  struct Triangle {
    SharedField<int> start, column;
    SharedField<T> value;
    SharedField<int> rows;  // on a GPU: which row this is,
    SharedField<T> link;    // what it takes of the row before, with its sign; 0: nothing, or in `value`;
    SharedField<int> steps, steps_of_block;  // where they begin
    std::vector<int> launches;               // likewise, where every step is one
  };
  [[nodiscard]] Triangle upload(Context& ctx, const SparseRows& triangle, bool backward) const;
  void solve_blocks(Context& ctx, FieldView<const T> r, FieldView<T> z) const;

  GridLayout<2> shape_;
  std::vector<int> blocks_;  // their first rows, and the end
  int levels_ = 0;
  bool one_launch_ = false;
  unsigned threads_ = 0;           // of a thread block
  Triangle lower_, upper_;         // L and its transpose
  SharedField<T> inverse_pivots_;  // 1 / D
  SharedField<int> device_blocks_;
  Recording recording_;
};

}  // namespace stratum
