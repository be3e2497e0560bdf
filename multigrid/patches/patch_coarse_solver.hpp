#pragma once

// The coarsest level of patches, solved directly in double: on the CPU by Cholesky factors within the bands of the matrix, its
// unknowns in reverse Cuthill-McKee order, n w words; on a GPU by the inverse, n^2 words. Its entries are kept in single
// precision where that is asked for and the condition of the scaled matrix allows it: D^-1/2 A D^-1/2 in the maximum norm, below
// 1e5, so that they are a preconditioner as good as those in double. Products are summed in double.
//
//     x = A^-1 (sum of the copies of b) ;   of a singular A with A 1 = 0:   x = P G P b ,  P = 1 - 1 1^T / n ,
//
// G the inverse without the last unknown (solvers/direct/dense_inverse.hpp). Does not wait for the stream. Throws
// BreakdownError where A is not positive definite. Source: A. George, J. Liu, Computer Solution of Large Sparse Positive
// Definite Systems, 1981, Chapter 4.

#include <memory>
#include <vector>

#include <stratum/multigrid/patches/patch_levels.hpp>

namespace stratum {

class PatchCoarseSolver {
 public:
  PatchCoarseSolver(Context& ctx, const PatchLevelOnHost& level, bool singular, bool single = false);

  template <class T>
  void solve(Context& ctx, const Partial<T>& b, Consistent<T>& x);

  [[nodiscard]] int unknowns() const { return unknowns_; }

 private:
  void factor(const PatchUnknowns& a);
  void solve_factored(std::vector<double>& v) const;
  [[nodiscard]] double condition(const PatchUnknowns& a, const std::vector<double>& inverse) const;

  static constexpr double most_in_single = 1e5;

  int unknowns_ = 0, width_ = 0;
  bool singular_ = false;
  std::vector<int> order_;       // unknown of each row of the factor
  std::vector<double> factor_;   // row k: columns k - width .. k
  std::vector<double> numbers_;  // of the right-hand side
  std::vector<int> host_copies_, host_begin_;
  Field<int> copies_, begin_;  // GPU
  int pitch_ = 0;              // of the inverse
  bool in_single_ = false;
  std::shared_ptr<void> inverse_, rhs_;
};

}  // namespace stratum
