#pragma once

// For CUDA sources only: turns a failed runtime call into a ResourceError with file and line.

#include <cuda_runtime.h>

#include <stratum/core/errors.hpp>

#define STRATUM_CUDA_CHECK(call)                                                                                     \
  do {                                                                                                               \
    const cudaError_t stratum_error = (call);                                                                        \
    if (stratum_error != cudaSuccess)                                                                                \
      throw ::stratum::ResourceError(                                                                                \
          ::stratum::message(__FILE__, ":", __LINE__, ": CUDA: ", cudaGetErrorString(stratum_error), " in " #call)); \
  } while (false)
