#include <stratum/core/device/runtime_compiler.hpp>

#include <vector>

#include <stratum/core/errors.hpp>

namespace stratum::cuda {

#if CUDART_VERSION >= 12080

namespace {

/// The part of NVRTC's interface that is used (NVRTC documentation); zero is success everywhere.
struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts,
                const char* const* names) = nullptr;
  int (*compile)(Program, int options, const char* const* texts) = nullptr;
  int (*size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;

  /// Beside the toolkit that this was built with, or where the system looks. It stays loaded.
  static std::optional<Nvrtc> find() {
    const std::string major = std::to_string(CUDART_VERSION / 1000);
    void* library = nullptr;
    for (const std::string& path : {"libnvrtc.so." + major, std::string("libnvrtc.so"),
                                    std::string(STRATUM_CUDA_LIBRARIES "/libnvrtc.so." + major)})
      if (library == nullptr) library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::nullopt;
    Nvrtc found;
    const auto take = [library](auto& function, const char* symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
      return function != nullptr;
    };
    if (take(found.create, "nvrtcCreateProgram") && take(found.compile, "nvrtcCompileProgram") &&
        take(found.size, "nvrtcGetCUBINSize") && take(found.cubin, "nvrtcGetCUBIN") &&
        take(found.destroy, "nvrtcDestroyProgram"))
      return found;
    return std::nullopt;
  }
};

}  // namespace

bool RuntimeKernel::available() { return Nvrtc::find().has_value(); }

std::optional<RuntimeKernel> RuntimeKernel::compile(const std::string& source, const char* name) {
  const auto nvrtc = Nvrtc::find();
  if (!nvrtc) return std::nullopt;
  int device = 0, major = 0, minor = 0;
  STRATUM_CUDA_CHECK(cudaGetDevice(&device));
  STRATUM_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  STRATUM_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  const std::string architecture = message("--gpu-architecture=sm_", major, minor);
  const char* const options[] = {architecture.c_str(), "--std=c++17"};
  Nvrtc::Program program = nullptr;
  if (nvrtc->create(&program, source.c_str(), "stratum.cu", 0, nullptr, nullptr) != 0) return std::nullopt;
  const std::shared_ptr<void> guard(program, [destroy = nvrtc->destroy](void* p) { (void)destroy(&p); });
  std::size_t size = 0;
  if (nvrtc->compile(program, 2, options) != 0 || nvrtc->size(program, &size) != 0) return std::nullopt;
  std::vector<char> image(size);
  if (nvrtc->cubin(program, image.data()) != 0) return std::nullopt;
  cudaLibrary_t library = nullptr;
  STRATUM_CUDA_CHECK(cudaLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  std::shared_ptr<void> keeper(library, [](void* p) { (void)cudaLibraryUnload(static_cast<cudaLibrary_t>(p)); });
  cudaKernel_t kernel = nullptr;
  STRATUM_CUDA_CHECK(cudaLibraryGetKernel(&kernel, library, name));
  return RuntimeKernel(std::move(keeper), static_cast<const void*>(kernel));
}

#else

bool RuntimeKernel::available() { return false; }

std::optional<RuntimeKernel> RuntimeKernel::compile(const std::string& /*source*/, const char* /*name*/) {
  return std::nullopt;
}

#endif

}  // namespace stratum::cuda
