#pragma once

// Square sparse matrices of any pattern, stored by rows:
//
//     (A x)_i = sum over k in start_i .. start_(i+1) - 1 of value_k x_(column_k) .
//
// CsrMatrix<T> is the operator in the memory of a Context. It is made from SparseRows, the matrix on the host. Vectors are
// flat, n x 1. Indices have 32 bits: at most 2^31 - 1 rows and as many entries.
//
// Memory traffic of a residual per row of m entries: m values, m indices of four bytes, one row start of four bytes, x, b and
// the result, and x again for every entry whose column has left the cache. `apply` does not read b. CPU: rows in parallel.
// CUDA: short rows of similar length, as meshes give, are stored in slices (core/operators/sliced_rows.hpp); otherwise 1 to 32
// threads take a row, depending on the mean length. Sums are formed in a fixed order. Nothing waits for the stream. Throws
// UsageError for an invalid pattern, with the row.

#include <cstdint>
#include <memory>
#include <vector>

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/operators/sparse_rows.hpp>

namespace stratum {

/// The rows of a grid operator in the memory of the host, unknowns numbered along x first. Coefficients that reach across a
/// side that is not periodic or to another subdomain of the grid, and zeros, are left out. Waits for the stream. `stencils`:
/// memory for 9 numbers a row, where nothing is to be allocated on the device.
[[nodiscard]] SparseRows sparse_rows(Context& ctx, const GridOperator<double>& a);
[[nodiscard]] SparseRows sparse_rows(Context& ctx, const GridOperator<double>& a, Field<double>& stencils);

/// The rows of a subdomain of a grid with what they have towards the subdomains beside it: columns are numbered from the first
/// node of the row below the subdomain's own, (ny + 2) nx of them.
[[nodiscard]] SparseRows subdomain_rows(Context& ctx, const GridOperator<double>& a);

/// And back: the nine-point operator whose unknowns are the rows of a, five bands where a is symmetric bit for bit and nine
/// where it is not. Throws UsageError for an entry that couples nodes which are not neighbours, naming its row and column.
[[nodiscard]] GridOperator<double> grid_operator(Context& ctx, const SparseRows& a, const GridLayout<2>& shape);

/// What kernels see.
template <class T>
struct CsrView {
  const int* start = nullptr;
  const int* column = nullptr;
  const T* value = nullptr;
};

template <class T>
class SlicedRows;

enum class RowLayout : std::uint8_t { by_pattern, rows, slices };

template <class T>
class CsrMatrix final : public LinearOperator<T>, public Handle {
 public:
  CsrMatrix() = default;
  /// Throws UsageError unless a is square and valid, and its entries lie in the range of T.
  CsrMatrix(Context& ctx, const SparseRows& a) : CsrMatrix(ctx, a, RowLayout::by_pattern, 0) {}
  /// The same with a layout of one's own, for measurements on a GPU; lanes: threads a row of slices, 1 or 4.
  CsrMatrix(Context& ctx, const SparseRows& a, RowLayout layout, int lanes);

  [[nodiscard]] GridLayout<2> shape() const override { return GridLayout<2>::flat(n_); }
  [[nodiscard]] std::int64_t entries() const { return entries_; }
  /// Null where the rows do not lie in slices.
  [[nodiscard]] const SlicedRows<T>* slices() const { return slices_.get(); }
  void apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const override;
  void residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const override;
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const T> b, FieldView<const T> x) const override;
  /// Null where the rows lie in slices, which on a CPU they never do.
  [[nodiscard]] CsrView<T> view() const { return {start_.view().data, column_.view().data, value_.view().data}; }

 private:
  int n_ = 0;
  std::int64_t entries_ = 0;
  SharedField<int> start_, column_;
  SharedField<T> value_;
  std::shared_ptr<const SlicedRows<T>> slices_;
};

}  // namespace stratum
