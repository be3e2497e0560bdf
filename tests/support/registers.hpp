#pragma once

// Code that simd::run_widest runs is compiled for registers of several widths, of which a machine uses the widest.

#include <stratum/core/device/simd.hpp>

namespace test {

/// with(run) for every width that this machine has, narrowest first; run(f) calls f.run<bytes>().
template <class With>
void with_all_registers(const With& with) {
  with([](const auto& f) { stratum::simd::run_baseline(f); });
#if defined(STRATUM_HAS_CLONES)
  if (__builtin_cpu_supports("x86-64-v3")) with([](const auto& f) { stratum::simd::run_avx2(f); });
  if (__builtin_cpu_supports("x86-64-v4")) with([](const auto& f) { stratum::simd::run_avx512(f); });
#endif
}

}  // namespace test
