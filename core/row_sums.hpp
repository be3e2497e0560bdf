#pragma once

// What the operators on flat vectors (core/csr_matrix.hpp, core/band_matrix.hpp) make of the sum over a row.

#include <stratum/core/linear_operator.hpp>

namespace stratum {

enum class RowSums : std::uint8_t { product, residual, magnitude };  // A x, b - A x, |A| |x|

template <RowSums what, class T>
STRATUM_HOST_DEVICE STRATUM_INLINE T row_term(T a, T x) {
  const T p = a * x;
  if constexpr (what == RowSums::magnitude)
    return p < 0 ? -p : p;
  else
    return p;
}

inline void expects_flat(const GridShape& a, const GridShape& x) {
  expects(x.nx == a.nx && x.ny == 1, "the matrix has ", a.nx, " columns, the vector ", x.nx, " x ", x.ny, " numbers");
}

}  // namespace stratum
