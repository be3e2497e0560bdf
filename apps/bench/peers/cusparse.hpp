#pragma once

// cuSPARSE's batched tridiagonal solvers as peers of the benchmark, on a copy of the lines of a grid in the layout that each
// wants: without padding, systems one after the other (lines along x) or interleaved (lines along y).
//
//   along x   gtsv2StridedBatch      cyclic reduction with parallel cyclic reduction, no pivoting; overwrites b
//   along y   gtsvInterleavedBatch   algorithm 0, Thomas without pivoting, a thread a line; overwrites b and the coefficients
//
// and its product with a matrix in CSR (SpMV), preprocessed where it knows how to be.
//
// Loading is not part of a solve. Runs on the stream of the Context that it was made with. Source: cuSPARSE Library, NVIDIA.

#include <memory>
#include <string>

#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/solvers/lines/tridiagonal.hpp>

namespace stratum::apps {

[[nodiscard]] bool cusparse_available();
[[nodiscard]] std::string cusparse_version();

template <class T>
class CusparseLines {
 public:
  /// Throws ResourceError when this program was built without cuSPARSE.
  CusparseLines(Context& ctx, const GridLayout<2>& shape, Direction direction);

  [[nodiscard]] const char* name() const {
    return direction_ == Direction::x ? "gtsv2StridedBatch" : "gtsvInterleavedBatch";
  }
  /// `lower` at the first node of a line and `upper` at the last must be zero.
  void load(Context& ctx, const TridiagonalView<T>& a, FieldView<const T> b);
  [[nodiscard]] bool overwrites_coefficients() const { return direction_ == Direction::y; }
  /// Overwrites what was loaded. Throws ResourceError when cuSPARSE reports an error.
  void solve();
  void store(Context& ctx, FieldView<T> x) const;

 private:
  GridLayout<2> shape_;
  Direction direction_;
  std::shared_ptr<void> handle_, memory_, buffer_;
  T *lower_ = nullptr, *centre_ = nullptr, *upper_ = nullptr, *x_ = nullptr;
};

/// A matrix in CSR and cuSPARSE's product with it, by the algorithm that it takes by itself.
template <class T>
class CusparseMatrix {
 public:
  /// Throws ResourceError when this program was built without cuSPARSE.
  CusparseMatrix(Context& ctx, const SparseRows& a);
  /// y = A x
  void apply(FieldView<const T> x, FieldView<T> y) const;

 private:
  int n_;
  Field<int> start_, column_;
  Field<T> value_;
  std::shared_ptr<void> handle_, matrix_, buffer_;
};

}  // namespace stratum::apps
