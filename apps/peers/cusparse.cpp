#include "cusparse.hpp"

#include <stratum/core/blas.hpp>

#ifdef STRATUM_HAVE_CUSPARSE
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

cusparseHandle_t handle_of(const std::shared_ptr<void>& handle) { return static_cast<cusparseHandle_t>(handle.get()); }

}  // namespace

bool cusparse_available() { return true; }
std::string cusparse_version() { return message(CUSPARSE_VER_MAJOR, ".", CUSPARSE_VER_MINOR, ".", CUSPARSE_VER_PATCH); }

template <class T>
CusparseLines<T>::CusparseLines(Context& ctx, const GridShape& shape, Direction direction)
    : shape_(shape), direction_(direction) {
  cusparseHandle_t handle = nullptr;
  check(cusparseCreate(&handle), "create");
  handle_ = std::shared_ptr<void>(handle, [](void* h) { cusparseDestroy(static_cast<cusparseHandle_t>(h)); });
  check(cusparseSetStream(handle, static_cast<cudaStream_t>(ctx.stream())), "stream");

  const auto nodes = static_cast<std::size_t>(shape.nodes());
  memory_ = allocate(ctx, 4 * nodes * sizeof(T));
  T* memory = static_cast<T*>(memory_.get());
  for (auto* view : {&lower_, &centre_, &upper_, &x_}) {
    *view = {memory, shape.nx, shape.ny, shape.nx, shape.origin_x, shape.origin_y};
    memory += nodes;
  }
  std::size_t bytes = 0;
  if (direction == Direction::x)
    check(Functions<T>::strided_bytes(handle, shape.nx, lower_.data, centre_.data, upper_.data, x_.data, shape.ny,
                                      shape.nx, &bytes),
          "gtsv2StridedBatch, buffer");
  else
    check(Functions<T>::interleaved_bytes(handle, thomas, shape.ny, lower_.data, centre_.data, upper_.data, x_.data,
                                          shape.nx, &bytes),
          "gtsvInterleavedBatch, buffer");
  buffer_ = allocate(ctx, bytes);
}

template <class T>
void CusparseLines<T>::load(Context& ctx, const TridiagonalView<T>& a, GridView<const T> b) {
  copy<T, T>(ctx, a.lower, lower_);
  copy<T, T>(ctx, a.centre, centre_);
  copy<T, T>(ctx, a.upper, upper_);
  copy<T, T>(ctx, b, x_);
}

template <class T>
void CusparseLines<T>::solve() {
  if (direction_ == Direction::x)
    check(Functions<T>::strided(handle_of(handle_), shape_.nx, lower_.data, centre_.data, upper_.data, x_.data,
                                shape_.ny, shape_.nx, buffer_.get()),
          "gtsv2StridedBatch");
  else
    check(Functions<T>::interleaved(handle_of(handle_), thomas, shape_.ny, lower_.data, centre_.data, upper_.data,
                                    x_.data, shape_.nx, buffer_.get()),
          "gtsvInterleavedBatch");
}

#else

bool cusparse_available() { return false; }
std::string cusparse_version() { return ""; }
template <class T>
CusparseLines<T>::CusparseLines(Context& /*ctx*/, const GridShape& /*shape*/, Direction direction)
    : direction_(direction) {
  throw ResourceError("this program was built without cuSPARSE");
}
template <class T>
void CusparseLines<T>::load(Context& /*ctx*/, const TridiagonalView<T>& /*a*/, GridView<const T> /*b*/) {}
template <class T>
void CusparseLines<T>::solve() {}

#endif

template class CusparseLines<float>;
template class CusparseLines<double>;

}  // namespace stratum::apps
