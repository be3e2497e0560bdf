#pragma once

// Cholesky factorisation of a grid operator as a band matrix, A = L L^T, after the symmetric scaling D^-1/2 A D^-1/2. Unknowns
// are numbered along the shorter direction, so that the half bandwidth is w = min(nx, ny) + 1. For coarsest levels and tests:
// n w^2 multiplications to factor, 2 n w to solve, n w numbers of memory; in double, on the host.
// Throws UsageError when A is not symmetric positive definite to rounding, or the factor would take more than `max_bytes`.

#include <vector>

#include <stratum/core/grid_operator.hpp>

namespace stratum {

template <class T>
class BandCholesky {
 public:
  static constexpr std::int64_t max_bytes = std::int64_t{1} << 30;

  /// What the factorisation of an operator of this shape takes.
  [[nodiscard]] static std::int64_t required_bytes(const GridShape& shape);

  BandCholesky() = default;
  BandCholesky(Context& ctx, const GridOperator<T>& a);

  /// x = A^-1 b
  void solve(Context& ctx, GridView<const T> b, GridView<T> x) const;

 private:
  std::size_t n_ = 0;
  std::size_t width_ = 0;
  std::vector<double> factor_;  // row i: columns i - width_ .. i
  std::vector<double> scale_;
  std::vector<std::size_t> order_;  // of the node that is x-fastest number k
  mutable std::vector<double> work_;
  mutable std::vector<T> host_;
};

}  // namespace stratum
