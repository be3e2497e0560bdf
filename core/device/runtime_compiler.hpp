#pragma once

// For CUDA sources only: kernels made from text while the program runs, by NVRTC, which is looked for then and not linked.
// Errors of the compiler are not the user's: a kernel that cannot be made is not there, and the caller has another way.

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
