// Multigrid on memory and a CUDA stream of one's own: matrix, right-hand side and solution stay where they are, everything is
// submitted to the stream in order, and nothing waits. Without a GPU the same runs on memory of one's own on the CPU.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/multigrid.hpp>
#if defined(EXAMPLE_CUDA)
#include <cuda_runtime.h>
#endif

namespace {

// --- the user's own code: memory, a stream, and numbers in the memory ----------------------------------------------------

struct Device {
#if defined(EXAMPLE_CUDA)
  bool gpu = stratum::cuda_available();
#else
  bool gpu = false;
#endif
  void* stream = nullptr;

  std::shared_ptr<double> allocate(std::size_t numbers) const {
    void* p = nullptr;
    const std::size_t bytes = (numbers * sizeof(double) + 63) / 64 * 64;
#if defined(EXAMPLE_CUDA)
    if (gpu) {
      if (cudaMalloc(&p, bytes) != cudaSuccess) throw std::runtime_error("out of device memory");
      return {static_cast<double*>(p), [](double* q) { cudaFree(q); }};
    }
#endif
    p = std::aligned_alloc(64, bytes);
    return {static_cast<double*>(p), [](double* q) { std::free(q); }};
  }
  void copy(double* to, const double* from, std::size_t numbers) const {
#if defined(EXAMPLE_CUDA)
    if (gpu) {
      cudaMemcpyAsync(to, from, numbers * sizeof(double), cudaMemcpyDefault, static_cast<cudaStream_t>(stream));
      cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
      return;
    }
#endif
    std::memcpy(to, from, numbers * sizeof(double));
  }
};

}  // namespace

int main() {
  using namespace stratum;
  Device device;
#if defined(EXAMPLE_CUDA)
  cudaStream_t stream = nullptr;
  if (device.gpu) cudaStreamCreate(&stream);
  device.stream = stream;
#endif
  const GridLayout<2> grid{511, 511};
  const FieldStorage layout(device.gpu ? Backend::cuda : Backend::cpu, grid);
  const auto size = static_cast<std::size_t>(layout.size);
  const auto memory = device.allocate(12 * size);  // nine bands, b, x and r
  std::vector<double> host(size);
  const auto fill = [&](int array, const auto& value) {  // zeros in the halo are part of the layout
    for (int j = 0; j < grid.ny; ++j)
      for (int i = 0; i < grid.nx; ++i)
        host[static_cast<std::size_t>(layout.first + j * layout.pitch + i)] = value(i, j);
    device.copy(memory.get() + static_cast<std::size_t>(array) * size, host.data(), size);
  };
  // -u_xx - 1000 u_yy by five-point differences.
  const double coupling[9] = {0, -1000, 0, -1, 2002, -1, 0, -1000, 0};
  for (int k = 0; k < 9; ++k)
    fill(k, [&](int i, int j) {
      const int p = i + k % 3 - 1, q = j + k / 3 - 1;
      return p >= 0 && p < grid.nx && q >= 0 && q < grid.ny ? coupling[k] : 0.0;
    });
  fill(9, [](int i, int j) { return i * j % 7 - 3.0; });
  fill(10, [](int, int) { return 0.0; });
  fill(11, [](int, int) { return 0.0; });

  // --- Stratum on it -----------------------------------------------------------------------------------------------------
  Context ctx = device.gpu ? Context::on_stream(device.stream) : Context(Backend::cpu);
  const auto borrow = [&](std::size_t array) {
    return Field<double>::borrow(ctx, memory.get() + array * size + layout.first, grid, layout.pitch);
  };
  NineBandMatrix<double> matrix;
  for (std::size_t k = 0; k < 9; ++k) matrix.band[k] = borrow(k);
  const GridOperator<double> a(std::move(matrix));
  Field<double> b = borrow(9), x = borrow(10), r = borrow(11), z(ctx, grid);
  Multigrid<double> cycle(ctx, a, {});

  const double before = norm2(ctx, b.cview());
  const auto allocations = ctx.memory()->allocations.load();
  for (int k = 0; k < 8; ++k) {  // submitted and not waited for
    a.residual(ctx, b.cview(), x.cview(), r.view());
    cycle.apply(ctx, r.cview(), z.view());
    axpy<double, double>(ctx, 1.0, z.cview(), x.view());
  }
  a.residual(ctx, b.cview(), x.cview(), r.view());
  const bool nothing_allocated = ctx.memory()->allocations == allocations;
  const double reduction = norm2(ctx, r.cview()) / before;  // waits, to look
  std::printf("%s: 8 cycles on borrowed memory reduce the residual by %.1e; %s\n", ctx.description().c_str(), reduction,
              nothing_allocated ? "nothing was allocated" : "memory was allocated");
#if defined(EXAMPLE_CUDA)
  if (stream != nullptr) cudaStreamSynchronize(stream);
#endif
  return reduction < 1e-6 && nothing_allocated ? 0 : 1;
}
