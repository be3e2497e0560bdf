#pragma once

// A x or b - A x from the sum of a row's terms, for operators on flat vectors (core/operators/csr_matrix.hpp,
// core/operators/band_matrix.hpp).

#include <stratum/core/operators/linear_operator.hpp>

namespace stratum {

enum class RowSums : std::uint8_t { product, residual };  // A x, b - A x

/// What row i comes to, from the sum of its terms.
template <RowSums what, class T>
STRATUM_HOST_DEVICE STRATUM_INLINE T row_result(const T* b, int i, T sum) {
  return what == RowSums::residual ? b[i] - sum : sum;
}

/// |x|
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE T magnitude_of(T x) {
  return x < 0 ? -x : x;
}

}  // namespace stratum
