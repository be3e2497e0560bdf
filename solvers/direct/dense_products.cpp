#include <stratum/solvers/direct/dense_products.hpp>

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include <stratum/core/device/simd.hpp>
#include <stratum/core/errors.hpp>

#if defined(__CUDACC__)
#include <dlfcn.h>

#include <stratum/core/device/launch.hpp>
#endif

namespace stratum {

namespace {

/// Columns of a panel: three registers.
constexpr int panel_packs = 3;
constexpr int widest_panel = panel_packs * 16;  // of floats

/// c = a b, panel after panel of columns of b, which are copied into `panel` side by side.
template <class T>
struct Multiply {
  int m, n, k;
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  T* c;
  std::int64_t ldc;
  bool add;
  T* panel;

  template <int bytes>
  STRATUM_INLINE void run() const {
    constexpr int lanes = bytes / static_cast<int>(sizeof(T)), width = panel_packs * lanes;
    constexpr int rows = bytes == 64 ? 8 : 4;
    for (int first = 0; first < n; first += width) {
      const int columns = std::min(width, n - first);
      for (int p = 0; p < k; ++p) {
        const T* const from = b + p * ldb + first;
        T* const to = panel + p * width;
        for (int l = 0; l < columns; ++l) to[l] = from[l];
        for (int l = columns; l < width; ++l) to[l] = 0;
      }
      for (int row = 0; row < m; row += rows) block<bytes, rows>(row, first, columns);
    }
  }

 private:
  template <int bytes, int rows>
  STRATUM_INLINE void block(int row, int first, int columns) const {
    using Pack = simd::Pack<T, bytes>;
    constexpr int lanes = bytes / static_cast<int>(sizeof(T)), width = panel_packs * lanes;
    const T* from[rows];
    const int count = std::min(rows, m - row);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) from[r] = a + (row + std::min(r, count - 1)) * lda;
    Pack sum[rows][panel_packs] = {};
    const T* right = panel;
    for (int p = 0; p < k; ++p, right += width) {
      const Pack b0 = simd::pack<bytes>(right), b1 = simd::pack<bytes>(right + lanes),
                 b2 = simd::pack<bytes>(right + 2 * lanes);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const T x = from[r][p];
        sum[r][0] += x * b0;
        sum[r][1] += x * b1;
        sum[r][2] += x * b2;
      }
    }
    for (int r = 0; r < count; ++r) {
      T* const to = c + (row + r) * ldc + first;
      if (columns == width) {
#pragma GCC unroll 3
        for (int q = 0; q < panel_packs; ++q) {
          auto& place = simd::pack<bytes>(to + q * lanes);
          place = add ? place + sum[r][q] : sum[r][q];
        }
        continue;
      }
      T numbers[width];
      for (int q = 0; q < panel_packs; ++q) simd::pack<bytes>(numbers + q * lanes) = sum[r][q];
      for (int l = 0; l < columns; ++l) to[l] = add ? to[l] + numbers[l] : numbers[l];
    }
  }
};

#if defined(__CUDACC__)

/// c = a b of a batch, of rows: without cuBLAS.
struct OwnProduct {
  int m, n, k;
  const double* a;
  std::int64_t lda, next_a;
  const double* b;
  std::int64_t ldb, next_b;
  double* c;
  std::int64_t ldc, next_c;
  bool add;
};

constexpr int own_tile = 16;

__global__ void own_product_kernel(const OwnProduct p, int batch) {
  __shared__ double left[own_tile][own_tile], right[own_tile][own_tile + 1];
  cuda::after_previous();
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * own_tile + tx;
  for (int of_batch = static_cast<int>(blockIdx.z); of_batch < batch; of_batch += static_cast<int>(gridDim.z))
    for (int first = static_cast<int>(blockIdx.y) * own_tile; first < p.m;
         first += static_cast<int>(gridDim.y) * own_tile) {
      const int row = first + ty;
      const double *const a = p.a + of_batch * p.next_a, *const b = p.b + of_batch * p.next_b;
      double sum = 0;
      for (int q = 0; q < p.k; q += own_tile) {
        left[ty][tx] = row < p.m && q + tx < p.k ? a[row * p.lda + q + tx] : 0;
        right[ty][tx] = q + ty < p.k && column < p.n ? b[(q + ty) * p.ldb + column] : 0;
        __syncthreads();
        for (int t = 0; t < own_tile; ++t) sum += left[ty][t] * right[t][tx];
        __syncthreads();
      }
      if (row < p.m && column < p.n) {
        double& to = p.c[of_batch * p.next_c + row * p.ldc + column];
        to = p.add ? to + sum : sum;
      }
    }
}

#endif

}  // namespace

std::size_t product_scratch(int k) { return static_cast<std::size_t>(k) * widest_panel; }

template <class T>
void multiply(int m, int n, int k, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc,
              bool add, T* scratch) {
  simd::run_widest(Multiply<T>{m, n, k, a, lda, b, ldb, c, ldc, add, scratch});
}
template void multiply(int, int, int, const float*, std::int64_t, const float*, std::int64_t, float*, std::int64_t,
                       bool, float*);
template void multiply(int, int, int, const double*, std::int64_t, const double*, std::int64_t, double*, std::int64_t,
                       bool, double*);

#if defined(__CUDACC__)

/// cuBLAS, as versions 11 to 13 have it; its handle belongs to one stream.
struct DenseProducts::Library {
  using Handle = void*;
  enum : int { success = 0, not_transposed = 0 };
  void* file = nullptr;
  Handle handle = nullptr;
  std::string missing;
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, cudaStream_t) = nullptr;
  int (*gemm)(Handle, int, int, int, int, int, const double*, const double*, int, long long, const double*, int,
              long long, const double*, double*, int, long long, int) = nullptr;

  Library() {
    const char* const named = std::getenv("STRATUM_CUBLAS");
    std::vector<std::string> names{"libcublas.so.12", "libcublas.so.13", "libcublas.so.11", "libcublas.so"};
    if (named != nullptr) names = {named};
    for (const std::string& name : names)
      if (file = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); file != nullptr) break;
    if (file == nullptr) {
      missing = message("cuBLAS cannot be opened: ", dlerror());
      return;
    }
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(file, symbol));
      if (function == nullptr) missing = message("cuBLAS has no ", symbol);
    };
    find(create, "cublasCreate_v2");
    find(destroy, "cublasDestroy_v2");
    find(set_stream, "cublasSetStream_v2");
    find(gemm, "cublasDgemmStridedBatched");
    if (missing.empty() && create(&handle) != success) missing = "cuBLAS does not start on this device";
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle != nullptr) (void)destroy(handle);
  }

  /// Row-major: c^T = b^T a^T by columns.
  void run(const Context& ctx, const OwnProduct& p, int batch) const {
    if (!missing.empty()) {
      const auto blocks = [](int n) { return static_cast<unsigned>(cuda::divide_up(n, own_tile)); };
      const dim3 grid(blocks(p.n), std::min(blocks(p.m), 65535U), static_cast<unsigned>(std::min(batch, 65535)));
      return cuda::Launch{grid, dim3(own_tile, own_tile)}(ctx, own_product_kernel, p, batch);
    }
    const double one = 1, before = p.add ? 1 : 0;
    int code = set_stream(handle, static_cast<cudaStream_t>(ctx.stream()));
    if (code == success)
      code = gemm(handle, not_transposed, not_transposed, p.n, p.m, p.k, &one, p.b, static_cast<int>(p.ldb), p.next_b,
                  p.a, static_cast<int>(p.lda), p.next_a, &before, p.c, static_cast<int>(p.ldc), p.next_c, batch);
    if (code != success) throw ResourceError(message("cublasDgemmStridedBatched failed with status ", code));
  }
};

DenseProducts::DenseProducts(Context& ctx) : description_("loops of the library's own") {
  if (!ctx.on_gpu() || ctx.is_dry_run()) return;
  library_ = std::make_shared<Library>();
  description_ =
      library_->missing.empty() ? "cuBLAS" : message("a kernel of the library's own (", library_->missing, ")");
}

void DenseProducts::along_rows(Context& ctx, FieldView<const double, 3> in, DenseMatrix b, FieldView<double, 3> out,
                               bool add) const {
  if (ctx.is_dry_run()) return;
  const auto [nx, ny, nz] = in.extents;
  OwnProduct p{ny,     b.size, b.size, in.data,  in.strides.row,  in.strides.plane,
               b.data, b.size, 0,      out.data, out.strides.row, out.strides.plane,
               add};
  // Planes that follow each other are one matrix of rows.
  if (in.strides.plane == ny * in.strides.row && out.strides.plane == ny * out.strides.row) {
    p.m = ny * nz;
    return library_->run(ctx, p, 1);
  }
  library_->run(ctx, p, nz);
}

void DenseProducts::across_rows(Context& ctx, DenseMatrix a, FieldView<const double, 3> in,
                                FieldView<double, 3> out) const {
  if (ctx.is_dry_run()) return;
  const auto [nx, ny, nz] = in.extents;
  library_->run(ctx,
                {a.size, nx, a.size, a.data, a.size, 0, in.data, in.strides.row, in.strides.plane, out.data,
                 out.strides.row, out.strides.plane, false},
                nz);
}

#else

struct DenseProducts::Library {};

DenseProducts::DenseProducts(Context& /*ctx*/) : description_("loops of the library's own") {}

void DenseProducts::along_rows(Context& /*ctx*/, FieldView<const double, 3> /*in*/, DenseMatrix /*b*/,
                               FieldView<double, 3> /*out*/, bool /*add*/) const {
  expects(false, "this was compiled for the CPU alone, and its context is on a GPU");
}
void DenseProducts::across_rows(Context& /*ctx*/, DenseMatrix /*a*/, FieldView<const double, 3> /*in*/,
                                FieldView<double, 3> /*out*/) const {
  expects(false, "this was compiled for the CPU alone, and its context is on a GPU");
}

#endif

DenseProducts::~DenseProducts() = default;
DenseProducts::DenseProducts(DenseProducts&&) noexcept = default;
DenseProducts& DenseProducts::operator=(DenseProducts&&) noexcept = default;

}  // namespace stratum
