#pragma once

// Compiler-dependent spellings. Everything here has a plain C++ meaning, so that one source compiles as C++ and
// as CUDA.

#include <cstdint>

#if defined(__CUDACC__)
#define STRATUM_HOST_DEVICE __host__ __device__
#else
#define STRATUM_HOST_DEVICE
#endif

// Inner loops over a row are compiled once per instruction set and chosen at load time, so that one binary runs on
// any x86-64 and still uses AVX2 or AVX-512 where present. Clang 14 cannot clone templates, and the resolvers run
// before the sanitizers are ready: both build the plain version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(STRATUM_NO_CLONES) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STRATUM_HAS_CLONES
#define STRATUM_SIMD_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define STRATUM_SIMD_CLONES
#endif

// Functors called from a cloned loop must be inlined into it, or they would run at the baseline instruction set.
#define STRATUM_INLINE inline __attribute__((always_inline))

namespace stratum {

enum class Backend : std::uint8_t { cpu, cuda };

}  // namespace stratum
