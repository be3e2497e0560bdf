#pragma once

// Direct solution of a grid operator as a band matrix, in double, on the host: for coarsest levels and tests. Unknowns are
// numbered along the shorter direction, so that the half bandwidth is w = min(nx, ny) + 1.
//
//   BandCholesky   D^-1/2 A D^-1/2 = L L^T, for symmetric positive definite A
//                  n w^2 multiplications to factor, 2 n w to solve, n w numbers of memory
//   BandLU         P D A = L U with rows scaled to a largest entry of one and partial pivoting, for any regular A
//                  2 n w^2 multiplications to factor, 3 n w to solve, 3 n w numbers of memory
//
// `factor` takes another operator of the same shape without allocating. Both throw UsageError when the factors would take more
// than `max_bytes`; the first BreakdownError when A is not positive definite to rounding, the second when it is singular to
// rounding.
// Everything waits for the stream. Source of the second: G. Golub, C. Van Loan, Matrix Computations, 1996, Section 4.3.

#include <functional>
#include <vector>

#include <stratum/core/operators/grid_operator.hpp>

namespace stratum {

/// Reads the entries of grid operators of one shape, and numbers the unknowns.
template <class T>
class BandEntries {
 public:
  BandEntries() = default;
  BandEntries(Context& ctx, const GridShape& shape);

  /// take(row, column, value) for every entry of A whose column is on the grid.
  void read(Context& ctx, const GridOperator<T>& a, const std::function<void(std::size_t, std::size_t, double)>& take);

  [[nodiscard]] std::size_t size() const { return order_.size(); }
  [[nodiscard]] std::size_t half_bandwidth() const { return width_; }
  /// Vectors to and from the host, in the order of the unknowns.
  void gather(Context& ctx, GridView<const T> b, std::vector<double>& to) const;
  void scatter(Context& ctx, const std::vector<double>& from, GridView<T> x) const;

 private:
  std::size_t width_ = 0;
  std::vector<std::size_t> order_;  // of the node that is x-fastest number k
  mutable std::vector<T> host_;
  Vector<T> probe_, image_;
};

template <class T>
class BandCholesky {
 public:
  static constexpr std::int64_t max_bytes = std::int64_t{1} << 30;

  /// What the factorisation of an operator of this shape takes.
  [[nodiscard]] static std::int64_t required_bytes(const GridShape& shape);

  BandCholesky() = default;
  BandCholesky(Context& ctx, const GridOperator<T>& a);

  void factor(Context& ctx, const GridOperator<T>& a);
  /// x = A^-1 b
  void solve(Context& ctx, GridView<const T> b, GridView<T> x) const;

 private:
  BandEntries<T> entries_;
  std::vector<double> factor_;  // row i: columns i - w .. i
  std::vector<double> scale_;
  mutable std::vector<double> work_;
};

template <class T>
class BandLU {
 public:
  static constexpr std::int64_t max_bytes = std::int64_t{1} << 30;

  [[nodiscard]] static std::int64_t required_bytes(const GridShape& shape);

  BandLU() = default;
  BandLU(Context& ctx, const GridOperator<T>& a);

  void factor(Context& ctx, const GridOperator<T>& a);
  /// x = A^-1 b
  void solve(Context& ctx, GridView<const T> b, GridView<T> x) const;

 private:
  BandEntries<T> entries_;
  std::vector<double> factor_;  // row i: columns i - w .. i + 2 w, multipliers below the diagonal
  std::vector<double> scale_;
  std::vector<std::size_t> pivot_;  // the row that was exchanged with row k
  mutable std::vector<double> work_;
};

}  // namespace stratum
