#pragma once

// E = L D L^T, the coarse matrix of deflation, factorised in the band that it fills, in double.
//
// Where no entry beside the diagonal is positive and no row sum v is negative (domains on a grid with links), the diagonal is
// never subtracted from:
//
//     d_k = v_k - sum over j > k of a_jk ,   v_i <- v_i - (a_ik / d_k) v_k ,   a_ij <- a_ij - a_ik a_jk / d_k ,   L_ik = a_ik / d_k
//
// so that every entry of L, D and E^-1 has full relative accuracy, whatever the contrast (W. Grassmann, M. Taksar, D. Heyman,
// Regenerative analysis and steady state distributions for Markov chains, Oper. Res. 33, 1985). A pivot that vanishes, the
// last one of a singular E, leaves its unknown zero. Any other E: pivots below 1e-12 of their diagonal are left out likewise,
// so that vectors may depend on each other.
//
// Throws ResourceError where the factors would not fit into memory.
//
// m unknowns, half a bandwidth of w: m w^2 operations to factorise, 2 m w to solve, m (w + 1) words.

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
