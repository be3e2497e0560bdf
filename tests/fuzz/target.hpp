#pragma once

// A fuzz target reads any bytes and must not crash, hang, leak or throw what is not for its user. Properties that hold for all
// input are checked by `require`. libFuzzer calls it with inputs of its own making; replay.cpp with those of the corpus.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

inline void require(bool condition, const char* what) {
  if (condition) return;
  (void)std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}
