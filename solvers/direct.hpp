#pragma once

// Cholesky factorisation of a grid operator as a band matrix, A = L L^T with half bandwidth nx + 1, after the symmetric
// scaling D^-1/2 A D^-1/2. For coarsest levels and tests: O(n nx^2) time, O(n nx) memory, in double, on the host.
// Throws UsageError when A is not symmetric positive definite to rounding, or has more than `max_unknowns` unknowns.

#include <vector>

#include <stratum/core/grid_operator.hpp>

namespace stratum {

template <class T>
class BandCholesky {
 public:
  static constexpr std::int64_t max_unknowns = 1 << 18;

  BandCholesky() = default;
  BandCholesky(Context& ctx, const GridOperator<T>& a);

  /// x = A^-1 b
  void solve(Context& ctx, GridView<const T> b, GridView<T> x) const;

 private:
  int n_ = 0;
  int width_ = 0;
  std::vector<double> factor_;  // row i: columns i - width_ .. i
  std::vector<double> scale_;
  mutable std::vector<double> work_;
  mutable std::vector<T> host_;
};

}  // namespace stratum
