#pragma once

// SIMD code that compilers do not generate from loops: transposes of small tiles, interleaving of two rows, and recurrences
// whose state stays in registers of the machine's full width. Shuffles use SSE2, which every x86-64 has, or AVX2 if the machine
// has it; other machines run plain loops. Pointers need no alignment.

#include <cstdint>
#include <type_traits>
#include <utility>

#include <stratum/core/config.hpp>

#if defined(__SSE2__) && !defined(__CUDA_ARCH__)
#define STRATUM_SSE2
#include <immintrin.h>
#endif

namespace stratum::simd {

/// `bytes` of numbers, computed on as one. No wider than the registers of the code around it: compilers take a wider one
/// apart number by number.
template <class T, int bytes>
struct PackOf {
  // NOLINTBEGIN(modernize-use-using): attributes of this kind go with typedef
  typedef T type __attribute__((vector_size(bytes)));
  typedef T in_memory __attribute__((vector_size(bytes), aligned(sizeof(T)), __may_alias__));
  // NOLINTEND(modernize-use-using)
};
template <class T, int bytes>
using Pack = typename PackOf<T, bytes>::type;

/// A pack from memory, and one to assign to, of any alignment. Packs are passed by value: a reference to one in memory would
/// bind to a parameter that claims more alignment.
template <int bytes, class T>
STRATUM_INLINE Pack<T, bytes> pack(const T* from) {
  return *reinterpret_cast<const typename PackOf<T, bytes>::in_memory*>(from);
}
template <int bytes, class T>
STRATUM_INLINE typename PackOf<T, bytes>::in_memory& pack(T* to) {
  return *reinterpret_cast<typename PackOf<T, bytes>::in_memory*>(to);
}

/// The lanes `number` of two packs in a row.
template <class T, int bytes, int... number>
STRATUM_INLINE Pack<T, bytes> chosen(Pack<T, bytes> a, Pack<T, bytes> b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, number...);
#else  // nvcc passes no parameter pack on to the other builtin
  using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  return __builtin_shuffle(a, b, Pack<Index, bytes>{Index{number}...});
#endif
}
/// Lanes first, first + stride, ... of two packs in a row.
template <int first, int stride, class T, int bytes, int... lane>
STRATUM_INLINE Pack<T, bytes> lanes_of(Pack<T, bytes> a, Pack<T, bytes> b,
                                       std::integer_sequence<int, lane...> /*count*/) {
  return chosen<T, bytes, (first + stride * lane)...>(a, b);
}
template <class T, int bytes>
using LanesOf = std::make_integer_sequence<int, bytes / static_cast<int>(sizeof(T))>;

/// The same number in every lane.
template <class T, int bytes>
STRATUM_INLINE Pack<T, bytes> filled(T value) {
  const Pack<T, bytes> zeros{};
  return value - zeros;
}

/// The pack that starts one number before `here`, or one behind it; the pack before or behind it is given.
template <class T, int bytes>
STRATUM_INLINE Pack<T, bytes> one_back(Pack<T, bytes> before, Pack<T, bytes> here) {
  return lanes_of<bytes / static_cast<int>(sizeof(T)) - 1, 1, T, bytes>(before, here, LanesOf<T, bytes>());
}
template <class T, int bytes>
STRATUM_INLINE Pack<T, bytes> one_ahead(Pack<T, bytes> here, Pack<T, bytes> behind) {
  return lanes_of<1, 1, T, bytes>(here, behind, LanesOf<T, bytes>());
}

/// Every second number of two packs in a row, from the first (0) or the second (1) on. Of eight floats each within halves and
/// then the quarters in order: g++ shuffles both packs as a whole otherwise, which takes twice as long.
template <int first, class T, int bytes>
STRATUM_INLINE Pack<T, bytes> every_second(Pack<T, bytes> a, Pack<T, bytes> b) {
  if constexpr (sizeof(T) == 4 && bytes == 32) {
    const Pack<T, bytes> halves =
        chosen<T, bytes, first, first + 2, first + 8, first + 10, first + 4, first + 6, first + 12, first + 14>(a, b);
    return chosen<T, bytes, 0, 1, 4, 5, 2, 3, 6, 7>(halves, halves);
  } else {
    return lanes_of<first, 2, T, bytes>(a, b, LanesOf<T, bytes>());
  }
}
template <class T, int bytes>
STRATUM_INLINE Pack<T, bytes> evens(Pack<T, bytes> a, Pack<T, bytes> b) {
  return every_second<0, T, bytes>(a, b);
}
template <class T, int bytes>
STRATUM_INLINE Pack<T, bytes> odds(Pack<T, bytes> a, Pack<T, bytes> b) {
  return every_second<1, T, bytes>(a, b);
}

template <int first, class T, int bytes, int... lane>
STRATUM_INLINE Pack<T, bytes> woven_from(Pack<T, bytes> even, Pack<T, bytes> odd,
                                         std::integer_sequence<int, lane...> /*count*/) {
  return chosen<T, bytes, (first + lane / 2 + lane % 2 * static_cast<int>(sizeof...(lane)))...>(even, odd);
}
/// The other way round: the first or the second of the two packs.
template <class T, int bytes>
STRATUM_INLINE Pack<T, bytes> woven_low(Pack<T, bytes> even, Pack<T, bytes> odd) {
  return woven_from<0, T, bytes>(even, odd, LanesOf<T, bytes>());
}
template <class T, int bytes>
STRATUM_INLINE Pack<T, bytes> woven_high(Pack<T, bytes> even, Pack<T, bytes> odd) {
  return woven_from<bytes / static_cast<int>(sizeof(T)) / 2, T, bytes>(even, odd, LanesOf<T, bytes>());
}

template <class F>
void run_baseline(const F& f) {
  f.template run<16>();
}
#if defined(STRATUM_HAS_CLONES)
template <class F>
__attribute__((target("arch=x86-64-v3"))) void run_avx2(const F& f) {
  f.template run<32>();
}
template <class F>
__attribute__((target("arch=x86-64-v4"))) void run_avx512(const F& f) {
  f.template run<64>();
}
#endif

/// f.run<bytes>() for the widest registers that this machine has. What STRATUM_SIMD_CLONES does for loops, for code that is
/// written in packs; `run` has to be STRATUM_INLINE.
template <class F>
void run_widest(const F& f) {
#if defined(STRATUM_HAS_CLONES)
  if (__builtin_cpu_supports("x86-64-v4")) return run_avx512(f);
  if (__builtin_cpu_supports("x86-64-v3")) return run_avx2(f);
#endif
  run_baseline(f);
}

#if defined(STRATUM_SSE2)
__attribute__((target("avx2"))) inline __m256 load_halves(const float* lower, const float* upper) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(lower)), _mm_loadu_ps(upper), 1);
}

/// What `transpose` below does, by tiles of 8 rows; only for machines that have AVX2.
template <int rows, int columns>
__attribute__((target("avx2"))) void transpose_avx2(const float* from, std::int64_t from_pitch, float* to,
                                                    std::int64_t to_pitch) {
  for (int c = 0; c < columns; c += 4)
    for (int k = 0; k < rows; k += 8) {
      const float* f = from + k * from_pitch + c;
      float* t = to + c * to_pitch + k;
      const float* g = f + 4 * from_pitch;
      const __m256 r0 = load_halves(f, g), r1 = load_halves(f + from_pitch, g + from_pitch);
      const __m256 r2 = load_halves(f + 2 * from_pitch, g + 2 * from_pitch);
      const __m256 r3 = load_halves(f + 3 * from_pitch, g + 3 * from_pitch);
      const __m256 low01 = _mm256_unpacklo_ps(r0, r1), high01 = _mm256_unpackhi_ps(r0, r1);
      const __m256 low23 = _mm256_unpacklo_ps(r2, r3), high23 = _mm256_unpackhi_ps(r2, r3);
      _mm256_storeu_ps(t, _mm256_shuffle_ps(low01, low23, 0x44));
      _mm256_storeu_ps(t + to_pitch, _mm256_shuffle_ps(low01, low23, 0xee));
      _mm256_storeu_ps(t + 2 * to_pitch, _mm256_shuffle_ps(high01, high23, 0x44));
      _mm256_storeu_ps(t + 3 * to_pitch, _mm256_shuffle_ps(high01, high23, 0xee));
    }
}
#endif

/// to[c * to_pitch + k] = from[k * from_pitch + c] for c < columns, k < rows, both multiples of four.
template <int rows, int columns, class T>
STRATUM_INLINE void transpose(const T* from, std::int64_t from_pitch, T* to, std::int64_t to_pitch) {
#if defined(STRATUM_SSE2)
  if constexpr (sizeof(T) == 4) {
    if (rows % 8 == 0 && __builtin_cpu_supports("avx2"))
      return transpose_avx2<rows, columns>(from, from_pitch, to, to_pitch);
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

/// to[2 k] and to[2 k + 1] = first[k] and second[k], added to what is there if `add`, for k < n.
template <bool add, class T>
STRATUM_INLINE void interleave(const T* first, const T* second, int n, T* to) {
  constexpr int bytes = 16, width = bytes / static_cast<int>(sizeof(T));
  int k = 0;
  for (; k + width <= n; k += width) {
    const Pack<T, bytes> a = pack<bytes>(first + k), b = pack<bytes>(second + k);
    const Pack<T, bytes> low = woven_low<T, bytes>(a, b), high = woven_high<T, bytes>(a, b);
    auto &to_low = pack<bytes>(to + 2 * k), &to_high = pack<bytes>(to + 2 * k + width);
    to_low = add ? to_low + low : low;
    to_high = add ? to_high + high : high;
  }
  for (; k < n; ++k) {
    to[2 * k] = add ? to[2 * k] + first[k] : first[k];
    to[2 * k + 1] = add ? to[2 * k + 1] + second[k] : second[k];
  }
}

}  // namespace stratum::simd
