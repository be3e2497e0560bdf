#pragma once

// The factors E = L D L^T of the coarse matrix of deflation, E = Z^T A Z, symmetric positive semidefinite, m x m, in double.
// L fills the band of E.
//
// If no entry beside the diagonal is positive and no row sum v is negative (as for domains on a grid with links), elimination
// carries the row sums along and never subtracts from the diagonal:
//
//     d_k = v_k - sum over j > k of a_jk ,   v_i <- v_i - (a_ik / d_k) v_k ,   a_ij <- a_ij - a_ik a_jk / d_k ,   L_ik = a_ik / d_k
//
// Every entry of L, D and E^-1 then has full relative accuracy, whatever the contrast of the coefficients. If a pivot vanishes,
// such as the last one of a singular E, its unknown becomes zero. For any other E, pivots below 1e-12 of their diagonal are
// left out in the same way, so that vectors may be linearly dependent.
//
// On the host, without a Context. Cost for half a bandwidth of w: m w^2 operations to factorise, 2 m w to solve, m (w + 1)
// words. Errors: ResourceError if the factors do not fit into memory.
// Source: W. Grassmann, M. Taksar, D. Heyman, Regenerative analysis and steady state distributions for Markov chains, Oper.
// Res. 33, 1985.

#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>

namespace stratum {

class CoarseFactor {
 public:
  CoarseFactor() = default;
  /// Of a symmetric E; `sums` are its row sums, formed without cancellation.
  CoarseFactor(const SparseRows& e, std::vector<double> sums);

  [[nodiscard]] int count() const { return static_cast<int>(pivots_.size()); }
  /// y <- E^-1 y
  void solve(double* y) const;
  /// E^-1, row after row, on so many threads.
  [[nodiscard]] std::vector<double> inverse(int threads) const;
  /// The diagonal was never subtracted from.
  [[nodiscard]] bool is_accurate() const { return accurate_; }
  /// Unknowns left out.
  [[nodiscard]] int dropped() const;
  [[nodiscard]] std::int64_t words() const { return static_cast<std::int64_t>(lower_.size() + pivots_.size()); }

 private:
  [[nodiscard]] double* row(int i) { return lower_.data() + std::size_t(i) * (std::size_t(width_) + 1) + width_ - i; }
  [[nodiscard]] const double* row(int i) const {
    return lower_.data() + std::size_t(i) * (std::size_t(width_) + 1) + width_ - i;
  }
  void factorise_by_sums(std::vector<double> sums);
  void factorise();
  /// Of `columns` right-hand sides at once: number c of unknown i lies at y[columns i + c].
  template <int columns>
  void solve_all(double* y) const;

  int width_ = 0;              // of the band below the diagonal
  std::vector<double> lower_;  // row(i)[k] = L_ik, i - width <= k < i
  std::vector<double> pivots_;
  bool accurate_ = false;
};

}  // namespace stratum
