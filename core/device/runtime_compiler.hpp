#pragma once

// Kernels that are compiled from text at run time, by NVRTC. The library is searched for at run time and not linked. A kernel
// that cannot be compiled is no error of the user: `compile` returns nothing, and the caller uses another path. For CUDA
// sources only.

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <memory>
#include <optional>
#include <string>

#include <stratum/core/device/cuda_check.hpp>

namespace stratum::cuda {

class RuntimeKernel {
 public:
  /// For the current device; nothing without NVRTC, or where it refuses the source.
  [[nodiscard]] static std::optional<RuntimeKernel> compile(const std::string& source, const char* name);
  /// NVRTC is there.
  [[nodiscard]] static bool available();

  [[nodiscard]] const void* function() const { return function_; }

 private:
  RuntimeKernel(std::shared_ptr<void> library, const void* function)
      : library_(std::move(library)), function_(function) {}
  std::shared_ptr<void> library_;
  const void* function_;
};

}  // namespace stratum::cuda
