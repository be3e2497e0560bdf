#pragma once

// Cases that take long, and that have a twin which does not: they run in `./bootstrap.sh test --heavy`, which sets
// STRATUM_HEAVY, and are skipped otherwise.

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <vector>

#include <stratum/core/device/context.hpp>

namespace test {

[[nodiscard]] inline bool heavy() { return std::getenv("STRATUM_HEAVY") != nullptr; }

/// Sizes at which a GPU goes over to another kernel, where a CPU has one loop for all: a CPU takes the first and the last of
/// them, and all in heavy runs.
template <class Size>
[[nodiscard]] std::vector<Size> sizes_for(const stratum::Context& ctx, std::initializer_list<Size> sizes) {
  if (ctx.on_gpu() || heavy() || sizes.size() < 2) return sizes;
  return {*sizes.begin(), *(sizes.end() - 1)};
}

}  // namespace test

#define HEAVY_TEST() \
  if (!test::heavy()) GTEST_SKIP() << "heavy: ./bootstrap.sh test --heavy"
