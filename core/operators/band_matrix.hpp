#pragma once

// Band matrices with any offsets o_1 < o_2 < ... :
//
//     (A x)_i = sum over k of a_k(i) x_(i + o_k) ,   0 <= i + o_k < n ,
//
// summed in the order of the offsets. Vectors are flat, n x 1. Numbers of a band that lie outside the matrix are not read.
// Bands are stored one after another: band k is row k of a grid function of n x (number of bands).
//
// Memory traffic in words per row with m bands: m + 3 for a residual (bands, x, b, result), m + 2 for `apply`; there are no
// indices. CPU: rows in parallel, SIMD along the rows. CUDA: one thread per row. Nothing waits for the stream. r may be b.
// Throws UsageError for offsets that do not increase or lie outside the matrix.

#include <vector>

#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/linear_operator.hpp>

namespace stratum {

/// The diagonals that a square matrix has entries on, as offsets from the main one, increasing.
[[nodiscard]] std::vector<int> diagonals_of(const SparseRows& a);
/// Whether a few bands hold it in no more memory than rows do, in double: 8 bytes a row for every band, 12 for every entry.
[[nodiscard]] bool bands_pay(const SparseRows& a);

/// What kernels see: `offsets` in the memory of the Context.
template <class T>
struct BandView {
  FieldView<const T> band;  // (i, k)
  const int* offsets = nullptr;
  int n = 0;
  int count = 0;
};

template <class T>
class BandMatrix final : public LinearOperator<T>, public Handle {
 public:
  BandMatrix() = default;
  /// All zero; `bands()` is there to be filled.
  BandMatrix(Context& ctx, int n, std::vector<int> offsets);
  /// Constant along every band: a Toeplitz matrix.
  BandMatrix(Context& ctx, int n, std::vector<int> offsets, const std::vector<T>& constants);
  /// The diagonals that `a` has entries on. Throws UsageError when they are more than 256.
  BandMatrix(Context& ctx, const SparseRows& a);

  [[nodiscard]] GridLayout<2> shape() const override { return GridLayout<2>::flat(n_); }
  [[nodiscard]] const std::vector<int>& offsets() const { return offsets_; }
  /// a_k(i) at (i, k)
  [[nodiscard]] FieldView<T> bands() { return bands_.view(); }
  void apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const override;
  void residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const override;
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const T> b, FieldView<const T> x) const override;
  [[nodiscard]] BandView<T> view() const {
    return {bands_.cview(), device_offsets_.view().data, n_, static_cast<int>(offsets_.size())};
  }

 private:
  int n_ = 0;
  std::vector<int> offsets_;
  SharedField<int> device_offsets_;
  SharedField<T> bands_;
};

/// The rows of a band matrix, zeros left out; waits for the stream.
template <class T>
[[nodiscard]] SparseRows sparse_rows(Context& ctx, const BandMatrix<T>& a);

/// 2 on the diagonal, 1 above it, gamma on the second subdiagonal (Ikuno, Deki, Fujita 2010, equation (4)).
[[nodiscard]] SparseRows toeplitz_rows(int n, double gamma);

}  // namespace stratum
