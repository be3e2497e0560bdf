#pragma once

// Shuffles that compilers do not find by themselves: turning small tiles, taking rows apart into every second number and
// putting them together again. Four-byte and eight-byte numbers by SSE2, which every x86-64 has; plain loops elsewhere.
// Pointers need no alignment.

#include <cstdint>

#include <stratum/core/config.hpp>

#if defined(__SSE2__) && !defined(__CUDA_ARCH__)
#define STRATUM_SSE2
#include <emmintrin.h>
#endif

namespace stratum::simd {

/// to[c * to_pitch + k] = from[k * from_pitch + c] for c < columns, k < rows, both multiples of four.
template <int rows, int columns, class T>
STRATUM_INLINE void transpose(const T* from, std::int64_t from_pitch, T* to, std::int64_t to_pitch) {
#if defined(STRATUM_SSE2)
  if constexpr (sizeof(T) == 4) {
    for (int c = 0; c < columns; c += 4)
      for (int k = 0; k < rows; k += 4) {
        const T* f = from + k * from_pitch + c;
        T* t = to + c * to_pitch + k;
        __m128 r0 = _mm_loadu_ps(f), r1 = _mm_loadu_ps(f + from_pitch);
        __m128 r2 = _mm_loadu_ps(f + 2 * from_pitch), r3 = _mm_loadu_ps(f + 3 * from_pitch);
        _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
        _mm_storeu_ps(t, r0);
        _mm_storeu_ps(t + to_pitch, r1);
        _mm_storeu_ps(t + 2 * to_pitch, r2);
        _mm_storeu_ps(t + 3 * to_pitch, r3);
      }
    return;
  } else {
    for (int c = 0; c < columns; c += 2)
      for (int k = 0; k < rows; k += 2) {
        const T* f = from + k * from_pitch + c;
        T* t = to + c * to_pitch + k;
        const __m128d r0 = _mm_loadu_pd(f), r1 = _mm_loadu_pd(f + from_pitch);
        _mm_storeu_pd(t, _mm_unpacklo_pd(r0, r1));
        _mm_storeu_pd(t + to_pitch, _mm_unpackhi_pd(r0, r1));
      }
    return;
  }
#endif
  for (int c = 0; c < columns; ++c)
    for (int k = 0; k < rows; ++k) to[c * to_pitch + k] = from[k * from_pitch + c];
}

/// to[k] = from[2 k] for k < n, a multiple of four; may read from[2 n - 1].
template <int n, class T>
STRATUM_INLINE void take_every_second(const T* from, T* to) {
#if defined(STRATUM_SSE2)
  if constexpr (sizeof(T) == 4) {
    for (int k = 0; k < n; k += 4)
      _mm_storeu_ps(to + k, _mm_shuffle_ps(_mm_loadu_ps(from + 2 * k), _mm_loadu_ps(from + 2 * k + 4), 0x88));
    return;
  } else {
    for (int k = 0; k < n; k += 2)
      _mm_storeu_pd(to + k, _mm_unpacklo_pd(_mm_loadu_pd(from + 2 * k), _mm_loadu_pd(from + 2 * k + 2)));
    return;
  }
#endif
  for (int k = 0; k < n; ++k) to[k] = from[2 * k];
}

/// to[2 k] = factor * from[k] for k < n, a multiple of four, the odd places as they are; writes to[0] to to[2 n - 2].
template <int n, class T>
STRATUM_INLINE void put_every_second(T factor, const T* from, T* to) {
  int k = 0;
#if defined(STRATUM_SSE2)
  if constexpr (sizeof(T) == 4) {
    const __m128 f = _mm_set1_ps(factor);
    for (; k < n - 4; k += 4) {
      const __m128 even = _mm_mul_ps(f, _mm_loadu_ps(from + k));
      const __m128 odd = _mm_shuffle_ps(_mm_loadu_ps(to + 2 * k), _mm_loadu_ps(to + 2 * k + 4), 0xdd);
      _mm_storeu_ps(to + 2 * k, _mm_unpacklo_ps(even, odd));
      _mm_storeu_ps(to + 2 * k + 4, _mm_unpackhi_ps(even, odd));
    }
  } else {
    const __m128d f = _mm_set1_pd(factor);
    for (; k < n - 2; k += 2) {
      const __m128d even = _mm_mul_pd(f, _mm_loadu_pd(from + k));
      const __m128d first = _mm_loadu_pd(to + 2 * k), second = _mm_loadu_pd(to + 2 * k + 2);
      _mm_storeu_pd(to + 2 * k, _mm_unpacklo_pd(even, _mm_unpackhi_pd(first, first)));
      _mm_storeu_pd(to + 2 * k + 2, _mm_unpackhi_pd(even, second));
    }
  }
#endif
  for (; k < n; ++k) to[2 * k] = factor * from[k];
}

/// to[2 k] and to[2 k + 1] = first[k] and second[k], added to what is there if `add`, for k < n.
template <bool add, class T>
STRATUM_INLINE void interleave(const T* first, const T* second, int n, T* to) {
  int k = 0;
#if defined(STRATUM_SSE2)
  if constexpr (sizeof(T) == 4) {
    for (; k + 4 <= n; k += 4) {
      const __m128 a = _mm_loadu_ps(first + k), b = _mm_loadu_ps(second + k);
      __m128 low = _mm_unpacklo_ps(a, b), high = _mm_unpackhi_ps(a, b);
      if constexpr (add) {
        low = _mm_add_ps(low, _mm_loadu_ps(to + 2 * k));
        high = _mm_add_ps(high, _mm_loadu_ps(to + 2 * k + 4));
      }
      _mm_storeu_ps(to + 2 * k, low);
      _mm_storeu_ps(to + 2 * k + 4, high);
    }
  } else {
    for (; k + 2 <= n; k += 2) {
      const __m128d a = _mm_loadu_pd(first + k), b = _mm_loadu_pd(second + k);
      __m128d low = _mm_unpacklo_pd(a, b), high = _mm_unpackhi_pd(a, b);
      if constexpr (add) {
        low = _mm_add_pd(low, _mm_loadu_pd(to + 2 * k));
        high = _mm_add_pd(high, _mm_loadu_pd(to + 2 * k + 2));
      }
      _mm_storeu_pd(to + 2 * k, low);
      _mm_storeu_pd(to + 2 * k + 2, high);
    }
  }
#endif
  for (; k < n; ++k) {
    to[2 * k] = add ? to[2 * k] + first[k] : first[k];
    to[2 * k + 1] = add ? to[2 * k + 1] + second[k] : second[k];
  }
}

}  // namespace stratum::simd
