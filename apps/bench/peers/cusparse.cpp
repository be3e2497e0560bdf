#include "cusparse.hpp"

#include <algorithm>

#include <stratum/core/field/blas.hpp>

#ifdef STRATUM_HAVE_CUSPARSE
#include <cuda_runtime.h>
#include <cusparse.h>
#endif

namespace stratum::apps {

#ifdef STRATUM_HAVE_CUSPARSE

namespace {

void check(cusparseStatus_t status, const char* what) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw ResourceError(message("cuSPARSE, ", what, ": ", cusparseGetErrorString(status)));
}

constexpr int thomas = 0;

/// The functions of one precision.
template <class T>
struct Functions;
template <>
struct Functions<float> {
  static constexpr auto strided_bytes = cusparseSgtsv2StridedBatch_bufferSizeExt;
  static constexpr auto strided = cusparseSgtsv2StridedBatch;
  static constexpr auto interleaved_bytes = cusparseSgtsvInterleavedBatch_bufferSizeExt;
  static constexpr auto interleaved = cusparseSgtsvInterleavedBatch;
};
template <>
struct Functions<double> {
  static constexpr auto strided_bytes = cusparseDgtsv2StridedBatch_bufferSizeExt;
  static constexpr auto strided = cusparseDgtsv2StridedBatch;
  static constexpr auto interleaved_bytes = cusparseDgtsvInterleavedBatch_bufferSizeExt;
  static constexpr auto interleaved = cusparseDgtsvInterleavedBatch;
};

/// Rows that lie apart, and those without padding, are aligned in no common way.
template <class T>
void copy_rows(const Context& ctx, const T* from, std::int64_t from_pitch, T* to, std::int64_t to_pitch,
               const GridLayout<2>& shape) {
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(T); };
  const cudaError_t error = cudaMemcpy2DAsync(to, bytes(to_pitch), from, bytes(from_pitch), bytes(shape.nx),
                                              static_cast<std::size_t>(shape.ny), cudaMemcpyDeviceToDevice,
                                              static_cast<cudaStream_t>(ctx.stream()));
  if (error != cudaSuccess) throw ResourceError(message("CUDA, copying lines: ", cudaGetErrorString(error)));
}

cusparseHandle_t handle_of(const std::shared_ptr<void>& handle) { return static_cast<cusparseHandle_t>(handle.get()); }

}  // namespace

bool cusparse_available() { return true; }
std::string cusparse_version() { return message(CUSPARSE_VER_MAJOR, ".", CUSPARSE_VER_MINOR, ".", CUSPARSE_VER_PATCH); }

template <class T>
CusparseLines<T>::CusparseLines(Context& ctx, const GridLayout<2>& shape, Direction direction)
    : shape_(shape), direction_(direction) {
  cusparseHandle_t handle = nullptr;
  check(cusparseCreate(&handle), "create");
  handle_ = std::shared_ptr<void>(handle, [](void* h) { cusparseDestroy(static_cast<cusparseHandle_t>(h)); });
  check(cusparseSetStream(handle, static_cast<cudaStream_t>(ctx.stream())), "stream");

  const auto nodes = static_cast<std::size_t>(shape.nodes());
  memory_ = allocate(ctx, 4 * nodes * sizeof(T));
  T* memory = static_cast<T*>(memory_.get());
  for (T** vector : {&lower_, &centre_, &upper_, &x_}) {
    *vector = memory;
    memory += nodes;
  }
  std::size_t bytes = 0;
  if (direction == Direction::x)
    check(Functions<T>::strided_bytes(handle, shape.nx, lower_, centre_, upper_, x_, shape.ny, shape.nx, &bytes),
          "gtsv2StridedBatch, buffer");
  else
    check(Functions<T>::interleaved_bytes(handle, thomas, shape.ny, lower_, centre_, upper_, x_, shape.nx, &bytes),
          "gtsvInterleavedBatch, buffer");
  buffer_ = allocate(ctx, bytes);
}

template <class T>
void CusparseLines<T>::load(Context& ctx, const TridiagonalView<T>& a, FieldView<const T> b) {
  copy_rows(ctx, a.lower.data, a.lower.pitch, lower_, shape_.nx, shape_);
  copy_rows(ctx, a.centre.data, a.centre.pitch, centre_, shape_.nx, shape_);
  copy_rows(ctx, a.upper.data, a.upper.pitch, upper_, shape_.nx, shape_);
  copy_rows(ctx, b.data, b.pitch, x_, shape_.nx, shape_);
}

template <class T>
void CusparseLines<T>::store(Context& ctx, FieldView<T> x) const {
  copy_rows<T>(ctx, x_, shape_.nx, x.data, x.pitch, shape_);
}

template <class T>
void CusparseLines<T>::solve() {
  if (direction_ == Direction::x)
    check(Functions<T>::strided(handle_of(handle_), shape_.nx, lower_, centre_, upper_, x_, shape_.ny, shape_.nx,
                                buffer_.get()),
          "gtsv2StridedBatch");
  else
    check(Functions<T>::interleaved(handle_of(handle_), thomas, shape_.ny, lower_, centre_, upper_, x_, shape_.nx,
                                    buffer_.get()),
          "gtsvInterleavedBatch");
}

namespace {

template <class T>
constexpr cudaDataType number_type = CUDA_R_64F;
template <>
constexpr cudaDataType number_type<float> = CUDA_R_32F;

/// x or y of a product.
template <class T>
class DenseVector {
 public:
  DenseVector(int n, const T* numbers) {
    check(cusparseCreateDnVec(&vector_, n, const_cast<T*>(numbers), number_type<T>), "vector");
  }
  DenseVector(const DenseVector&) = delete;
  DenseVector& operator=(const DenseVector&) = delete;
  ~DenseVector() { cusparseDestroyDnVec(vector_); }
  [[nodiscard]] cusparseDnVecDescr_t get() const { return vector_; }

 private:
  cusparseDnVecDescr_t vector_ = nullptr;
};

}  // namespace

template <class T>
CusparseMatrix<T>::CusparseMatrix(Context& ctx, const SparseRows& a)
    : n_(a.rows), start_(vector_from_host(ctx, a.start)), column_(vector_from_host(ctx, a.column)),
      value_(vector_from_host(ctx, std::vector<T>(a.value.begin(), a.value.end()))) {
  cusparseHandle_t handle = nullptr;
  check(cusparseCreate(&handle), "create");
  handle_ = std::shared_ptr<void>(handle, [](void* h) { cusparseDestroy(static_cast<cusparseHandle_t>(h)); });
  check(cusparseSetStream(handle, static_cast<cudaStream_t>(ctx.stream())), "stream");
  cusparseSpMatDescr_t matrix = nullptr;
  check(cusparseCreateCsr(&matrix, n_, n_, a.entries(), start_.view().data, column_.view().data, value_.view().data,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, number_type<T>),
        "matrix");
  matrix_ = std::shared_ptr<void>(matrix, [](void* m) { cusparseDestroySpMat(static_cast<cusparseSpMatDescr_t>(m)); });
  const Field<T> x(ctx, n_), y(ctx, n_);
  const DenseVector<T> from(n_, x.view().data), to(n_, y.view().data);
  const T one = 1, zero = 0;
  std::size_t bytes = 0;
  check(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, from.get(), &zero, to.get(),
                                number_type<T>, CUSPARSE_SPMV_ALG_DEFAULT, &bytes),
        "SpMV, buffer");
  buffer_ = allocate(ctx, std::max<std::size_t>(bytes, 1));
  check(cusparseSpMV_preprocess(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, from.get(), &zero, to.get(),
                                number_type<T>, CUSPARSE_SPMV_ALG_DEFAULT, buffer_.get()),
        "SpMV, preprocess");
}

template <class T>
void CusparseMatrix<T>::apply(FieldView<const T> x, FieldView<T> y) const {
  const DenseVector<T> from(n_, x.data), to(n_, y.data);
  const T one = 1, zero = 0;
  check(cusparseSpMV(handle_of(handle_), CUSPARSE_OPERATION_NON_TRANSPOSE, &one,
                     static_cast<cusparseSpMatDescr_t>(matrix_.get()), from.get(), &zero, to.get(), number_type<T>,
                     CUSPARSE_SPMV_ALG_DEFAULT, buffer_.get()),
        "SpMV");
}

#else

bool cusparse_available() { return false; }
template <class T>
CusparseMatrix<T>::CusparseMatrix(Context& /*ctx*/, const SparseRows& /*a*/) : n_(0) {
  throw ResourceError("this program was built without cuSPARSE");
}
template <class T>
void CusparseMatrix<T>::apply(FieldView<const T> /*x*/, FieldView<T> /*y*/) const {}
std::string cusparse_version() { return ""; }
template <class T>
CusparseLines<T>::CusparseLines(Context& /*ctx*/, const GridLayout<2>& /*shape*/, Direction direction)
    : direction_(direction) {
  throw ResourceError("this program was built without cuSPARSE");
}
template <class T>
void CusparseLines<T>::load(Context& /*ctx*/, const TridiagonalView<T>& /*a*/, FieldView<const T> /*b*/) {}
template <class T>
void CusparseLines<T>::solve() {}
template <class T>
void CusparseLines<T>::store(Context& /*ctx*/, FieldView<T> /*x*/) const {}

#endif

template class CusparseLines<float>;
template class CusparseLines<double>;
template class CusparseMatrix<float>;
template class CusparseMatrix<double>;

}  // namespace stratum::apps
