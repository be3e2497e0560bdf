#pragma once

// How long a kernel takes on its own.

#include <algorithm>
#include <chrono>

#include <stratum/core/field/blas.hpp>

namespace stratum::apps {

/// Seconds since some moment.
using Stopwatch = double (*)();

inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The operands of kernels, set anew before every sample so that nothing overflows however often a kernel is repeated.
template <class T>
struct Operands {
  Field<T> b, x, r;

  Operands(Context& ctx, const GridLayout<2>& shape) : b(ctx, shape), x(ctx, shape), r(ctx, shape) {}
  void reset(Context& ctx) {
    set(ctx, T(1), b.view());
    set(ctx, T(0.5), x.view());
  }
};

/// Shortest of the samples; each repeats a short kernel until the clock's resolution and the wait at the end do not matter.
template <class T, class Kernel>
double seconds_per_call(Context& ctx, Stopwatch now, Operands<T>& operands, const Kernel& kernel, int samples = 7) {
  const auto timed = [&](int calls) {
    operands.reset(ctx);
    ctx.synchronise();
    const double begin = now();
    for (int k = 0; k < calls; ++k) kernel();
    ctx.synchronise();
    return (now() - begin) / calls;
  };
  (void)timed(1);
  const int calls = static_cast<int>(std::clamp(5e-3 / timed(1), 1.0, 200.0));
  double shortest = timed(calls);
  for (int sample = 1; sample < samples; ++sample) shortest = std::min(shortest, timed(calls));
  return shortest;
}

}  // namespace stratum::apps
