#pragma once

// Part of a row of r = b - A x on the CPU, as whole-grid residuals and fused restriction share it. To be called from loops that
// are compiled per instruction set (STRATUM_SIMD_CLONES).

#include <algorithm>

#include <stratum/core/grid_operator.hpp>

namespace stratum {

/// take(i, r_ij) for i = begin .. end - 1.
template <class T, class View, class Take>
STRATUM_INLINE void residual_row(const View& a, const GridView<const T>& b, const GridView<const T>& x, int j,
                                 int begin, int end, const Take& take) {
#pragma omp simd
  for (int i = begin; i < end; ++i) take(i, b(i, j) - a.sum(x, i, j));
}

/// A tensor operator's columns are summed once for the three nodes that meet them: half the arithmetic.
template <class T, class Take>
STRATUM_INLINE void residual_row(const TensorView<T>& a, const GridView<const T>& b, const GridView<const T>& x, int j,
                                 int begin, int end, const Take& take) {
  constexpr int block = 256;
  T stiffness[block + 2], mass[block + 2];
  for (; begin < end; begin += block) {
    const int length = std::min(block, end - begin);
#pragma omp simd
    for (int n = 0; n < length + 2; ++n) {
      stiffness[n] = a.column_stiffness(x, begin + n - 1, j);
      mass[n] = a.column_mass(x, begin + n - 1, j);
    }
    const T *kx = a.kx + begin, *mx = a.mx + begin;
#pragma omp simd
    for (int n = 0; n < length; ++n) {
      const T sum = kx[n] * (mass[n + 1] - mass[n]) + kx[n + 1] * (mass[n + 1] - mass[n + 2]) +
                    mx[n] * (stiffness[n] + 2 * stiffness[n + 1]) +
                    mx[n + 1] * (2 * stiffness[n + 1] + stiffness[n + 2]);
      take(begin + n, b(begin + n, j) - sum);
    }
  }
}

}  // namespace stratum
