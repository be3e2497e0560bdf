#pragma once

// Products with small dense matrices: on the host of any, in float and double, and of the planes of a box, in double:
//
//     along rows    out(., j, k) = in(., j, k) B     every row of every plane from the right
//     across rows   out(., ., k) = A in(., ., k)     every plane from the left
//
// Matrices are square, row after row, padded with zeros to a multiple of dense_padding; so are the boxes, whose padding holds
// zeros (or numbers that stay finite) and stays as it is. `add`: out = out + product. in and out do not overlap.
//
// On a GPU by cuBLAS, which is opened when the first object is made (STRATUM_CUBLAS names another library file), else by a
// kernel of our own, at a tenth of the speed. On a CPU by loops in registers, plane by plane. 2 n operations a number. Nothing
// waits for the stream.

#include <cstdint>
#include <memory>
#include <string>

#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field_3d.hpp>

namespace stratum {

/// Tensor cores take numbers by eight.
inline constexpr int dense_padding = 8;
[[nodiscard]] constexpr int padded_size(int n) { return (n + dense_padding - 1) / dense_padding * dense_padding; }

/// `size` rows of as many numbers.
struct DenseMatrix {
  const double* data = nullptr;
  int size = 0;
};

/// c = a b or c + a b, of m x k and k x n numbers in rows that are lda, ldb, ldc apart. On the host, by one thread; `scratch`
/// has room for product_scratch(k) numbers.
template <class T>
void multiply(int m, int n, int k, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc,
              bool add, T* scratch);
[[nodiscard]] std::size_t product_scratch(int k);

class DenseProducts {
 public:
  explicit DenseProducts(Context& ctx);
  ~DenseProducts();
  DenseProducts(DenseProducts&&) noexcept;
  DenseProducts& operator=(DenseProducts&&) noexcept;
  DenseProducts(const DenseProducts&) = delete;
  DenseProducts& operator=(const DenseProducts&) = delete;

  // For a Context on a GPU.
  void along_rows(Context& ctx, FieldView<const double, 3> in, DenseMatrix b, FieldView<double, 3> out, bool add) const;
  void across_rows(Context& ctx, DenseMatrix a, FieldView<const double, 3> in, FieldView<double, 3> out) const;

  /// What multiplies: "cuBLAS", or why that is not there.
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  struct Library;
  std::shared_ptr<Library> library_;
  std::string description_;
};

}  // namespace stratum
