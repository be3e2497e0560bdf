#pragma once

// Cases that take long, and that have a twin which does not: they run in `./bootstrap.sh test --heavy`, which sets
// STRATUM_HEAVY, and are skipped otherwise.

#include <gtest/gtest.h>

#include <cstdlib>

#define HEAVY_TEST() \
  if (std::getenv("STRATUM_HEAVY") == nullptr) GTEST_SKIP() << "heavy: ./bootstrap.sh test --heavy"
