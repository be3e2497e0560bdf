#include <stratum/core/field/blas_3d.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <stratum/core/field/field_functors.hpp>
#include <stratum/core/field/reduce_3d.hpp>

#if defined(__CUDACC__)
#include <stratum/core/device/cuda_check.hpp>
#endif

namespace stratum {

namespace {

template <class X>
void expects_on(const Context& ctx, const FieldView<X, 3>& x) {
  expects_fit(ctx, "a field", x, x.extents);
}

template <class X, class Y>
void expects_alike(const Context& ctx, const FieldView<X, 3>& x, const FieldView<Y, 3>& y) {
  const Extents<3>&a = x.extents, &b = y.extents;
  expects(a == b, "fields differ in shape: ", a.nx, " x ", a.ny, " x ", a.nz, " and ", b.nx, " x ", b.ny, " x ", b.nz);
  expects_on(ctx, x);
  expects_on(ctx, y);
}

}  // namespace

template <class T>
void set(Context& ctx, std::type_identity_t<T> value, FieldView<T, 3> x) {
  expects_on(ctx, x);
  for_each_node(ctx, all_nodes(x), Set<T, 3>{value, x});
}

template <class From, class To>
void copy(Context& ctx, FieldView<const From, 3> x, FieldView<To, 3> y) {
  expects_alike(ctx, x, y);
  for_each_node(ctx, all_nodes(y), Copy<From, To, 3>{x, y});
}

template <class From, class To>
void copy_scaled(Context& ctx, double alpha, FieldView<const From, 3> x, FieldView<To, 3> y) {
  expects_alike(ctx, x, y);
  for_each_node(ctx, all_nodes(y), CopyScaled<From, To, 3>{alpha, x, y});
}

template <class From, class To>
void axpy(Context& ctx, double alpha, FieldView<const From, 3> x, FieldView<To, 3> y) {
  expects_alike(ctx, x, y);
  for_each_node(ctx, all_nodes(y), Axpy<From, To, 3>{alpha, x, y});
}

template <class T>
void xpay(Context& ctx, FieldView<const T, 3> x, double beta, FieldView<T, 3> y) {
  expects_alike(ctx, x, y);
  for_each_node(ctx, all_nodes(y), Xpay<T, 3>{x, beta, y});
}

template <class X, class Y>
double dot(Context& ctx, FieldView<const X, 3> x, FieldView<const Y, 3> y) {
  expects_alike(ctx, x, y);
  return reduce(ctx, x.extents, Product<X, Y, 3>{x, y});
}

template <class T>
double norm2(Context& ctx, FieldView<T, 3> x) {
  expects_on(ctx, x);
  return norm_of(ctx, x.extents, Value<std::remove_const_t<T>, 3>{x});
}

template <class T>
double norm_max(Context& ctx, FieldView<T, 3> x) {
  expects_on(ctx, x);
  return largest_of(ctx, x.extents, Value<std::remove_const_t<T>, 3>{x});
}

template <class T>
Extremes extremes(Context& ctx, FieldView<T, 3> x) {
  expects_on(ctx, x);
  const double most = reduce(ctx, x.extents, Signed<std::remove_const_t<T>, 3>{x, 1});
  if (most == -HUGE_VAL) return {};
  return {-reduce(ctx, x.extents, Signed<std::remove_const_t<T>, 3>{x, -1}), most};
}

template <class T>
void subtract_mean(Context& ctx, FieldView<T, 3> x, FieldView<double> scratch, std::int64_t nodes) {
  expects_on(ctx, x);
  if (nodes == 0) return;
  const int rows = detail::rows_of(x.extents), numbers = reduction_numbers(ctx, x.extents.nx, rows);
  expects(scratch.nx > numbers, "the scratch of a mean must have ", numbers + 1, " numbers, not ", scratch.nx);
  double* const sum = scratch.data;
  reduce_to(ctx, x.extents.nx, rows, detail::TermOfRows<Value<T, 3>>{{x}, x.extents.ny}, sum, sum + numbers);
  for_each_node(ctx, all_nodes(x), SubtractMean<T, 3>{sum, static_cast<double>(nodes), x});
}

Field<double> mean_scratch(Context& ctx, const Extents<3>& extents) {
  return {ctx, reduction_numbers(ctx, extents.nx, detail::rows_of(extents)) + 1};
}

void reserve_reductions(Context& ctx, const Extents<3>& extents) {
  const auto hold = ctx.hold_scratch();
  (void)ctx.reduction_scratch(static_cast<std::size_t>(reduction_numbers(ctx, extents.nx, detail::rows_of(extents))));
}

template <class T>
bool ghosts_are_zero(Context& ctx, const Field<T, 3>& x) {
  const int width = x.layout().ghost_width;
  const FieldView<const T, 3> inner = x.cview(), all = with_ghosts(inner, width);
  const auto is_zero = [&](int i, int j, int k, const Extents<3>& extents) {
    return norm_max(ctx, FieldView<const T, 3>{&all(i, j, k), extents, all.strides}) == 0;
  };
  // Slabs of `width` at both ends of every axis.
  const auto& [nx, ny, nz] = all.extents;
  return width == 0 || (is_zero(0, 0, 0, {width, ny, nz}) && is_zero(nx - width, 0, 0, {width, ny, nz}) &&
                        is_zero(0, 0, 0, {nx, width, nz}) && is_zero(0, ny - width, 0, {nx, width, nz}) &&
                        is_zero(0, 0, 0, {nx, ny, width}) && is_zero(0, 0, nz - width, {nx, ny, width}));
}

namespace {

/// Row by row between a field and the host, by `copy_plane(view of plane k, plane k of the host)`.
template <class X, class Host, class CopyPlane>
void copy_planes(Context& ctx, const FieldView<X, 3>& x, Host* host, const CopyPlane& copy_plane) {
  expects_on(ctx, x);
  if (ctx.is_dry_run()) return;
  if (!ctx.on_gpu()) ctx.synchronise();
  for (int k = 0; k < x.extents.nz; ++k) copy_plane(x.plane(k), host + k * (std::int64_t{x.extents.nx} * x.extents.ny));
  if (ctx.on_gpu()) ctx.synchronise();
}

}  // namespace

template <class T>
void copy_to_host(Context& ctx, FieldView<const T, 3> x, T* host) {
  copy_planes(ctx, x, host, [&ctx](const FieldView<const T>& plane, T* to) {
#if defined(__CUDACC__)
    if (ctx.on_gpu()) {
      const std::size_t row = sizeof(T) * static_cast<std::size_t>(plane.nx);
      STRATUM_CUDA_CHECK(cudaMemcpy2DAsync(to, row, plane.data, sizeof(T) * static_cast<std::size_t>(plane.pitch), row,
                                           static_cast<std::size_t>(plane.ny), cudaMemcpyDeviceToHost,
                                           static_cast<cudaStream_t>(ctx.stream())));
      return;
    }
#endif
    for (int j = 0; j < plane.ny; ++j) std::copy_n(&plane(0, j), plane.nx, to + std::int64_t{j} * plane.nx);
  });
}

template <class T>
void copy_from_host(Context& ctx, const T* host, FieldView<T, 3> x) {
  copy_planes(ctx, x, host, [&ctx](const FieldView<T>& plane, const T* from) {
#if defined(__CUDACC__)
    if (ctx.on_gpu()) {
      const std::size_t row = sizeof(T) * static_cast<std::size_t>(plane.nx);
      STRATUM_CUDA_CHECK(cudaMemcpy2DAsync(plane.data, sizeof(T) * static_cast<std::size_t>(plane.pitch), from, row,
                                           row, static_cast<std::size_t>(plane.ny), cudaMemcpyHostToDevice,
                                           static_cast<cudaStream_t>(ctx.stream())));
      return;
    }
#endif
    for (int j = 0; j < plane.ny; ++j) std::copy_n(from + std::int64_t{j} * plane.nx, plane.nx, &plane(0, j));
  });
}

std::vector<double> all_planes(Context& ctx, FieldView<const double, 3> x) {
  std::vector<double> own(static_cast<std::size_t>(x.nodes()));
  if (!own.empty()) copy_to_host(ctx, x, own.data());
  return ctx.communicator() == nullptr ? own : ctx.communicator()->join_on_host(own);
}

#define STRATUM_INSTANTIATE(T)                                                             \
  template void set<T>(Context&, T, FieldView<T, 3>);                                      \
  template void xpay(Context&, FieldView<const T, 3>, double, FieldView<T, 3>);            \
  template double norm2(Context&, FieldView<T, 3>);                                        \
  template double norm2(Context&, FieldView<const T, 3>);                                  \
  template double norm_max(Context&, FieldView<T, 3>);                                     \
  template double norm_max(Context&, FieldView<const T, 3>);                               \
  template Extremes extremes(Context&, FieldView<T, 3>);                                   \
  template Extremes extremes(Context&, FieldView<const T, 3>);                             \
  template void subtract_mean(Context&, FieldView<T, 3>, FieldView<double>, std::int64_t); \
  template bool ghosts_are_zero(Context&, const Field<T, 3>&);                             \
  template void copy_to_host(Context&, FieldView<const T, 3>, T*);                         \
  template void copy_from_host(Context&, const T*, FieldView<T, 3>);
STRATUM_INSTANTIATE(float)
STRATUM_INSTANTIATE(double)
#undef STRATUM_INSTANTIATE

#define STRATUM_INSTANTIATE(From, To)                                                      \
  template void copy(Context&, FieldView<const From, 3>, FieldView<To, 3>);                \
  template void copy_scaled(Context&, double, FieldView<const From, 3>, FieldView<To, 3>); \
  template void axpy(Context&, double, FieldView<const From, 3>, FieldView<To, 3>);        \
  template double dot(Context&, FieldView<const From, 3>, FieldView<const To, 3>);
STRATUM_INSTANTIATE(float, float)
STRATUM_INSTANTIATE(float, double)
STRATUM_INSTANTIATE(double, float)
STRATUM_INSTANTIATE(double, double)
#undef STRATUM_INSTANTIATE

}  // namespace stratum
