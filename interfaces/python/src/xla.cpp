// Calls of Python from code that XLA compiled, by its foreign functions: arrays come where they lie, on a GPU after all that
// XLA's stream has to do before. Compiled where XLA's headers are (jaxlib has them); without, stratum.jax calls back by
// jax.pure_callback.

#include <algorithm>
#include <exception>

#include <xla/ffi/api/ffi.h>

#include <stratum/core/field/blas.hpp>

#include "matrices.hpp"

namespace stratum::python {

namespace {

namespace ffi = xla::ffi;

/// An array of NumPy, or (DLPack capsule, shape) of memory of a GPU; `owner` is anything that lives on.
nb::object array_of(const ffi::AnyBuffer& buffer, bool on_gpu, const nb::object& owner) {
  expects(buffer.element_type() == ffi::DataType::F64, "arrays of calls from XLA are in double");
  std::vector<std::size_t> shape;
  nb::list extents;
  for (const auto extent : buffer.dimensions()) {
    shape.push_back(static_cast<std::size_t>(extent));
    extents.append(extent);
  }
  if (!on_gpu)
    return nb::cast(nb::ndarray<nb::numpy, const double>(buffer.untyped_data(), shape.size(), shape.data(), owner));
  return nb::make_tuple(
      nb::cast(nb::ndarray<const double, nb::device::cuda>(buffer.untyped_data(), shape.size(), shape.data(), owner,
                                                           nullptr, nb::dtype<double>(), nb::device::cuda::value)),
      nb::tuple(extents));
}

/// stratum.jax._called(number, arrays) into `result`, with the GIL; on the CPU without a Context.
void call(std::int64_t number, Context* gpu, ffi::RemainingArgs& arguments, ffi::AnyBuffer result) {
  const nb::object called = nb::module_::import_("stratum.jax").attr("_called");
  nb::list arrays;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const ffi::AnyBuffer buffer = arguments.get<ffi::AnyBuffer>(k).value();
    arrays.append(array_of(buffer, gpu != nullptr, called));
  }
  const nb::object found = called(number, gpu != nullptr, arrays);
  const std::size_t n = result.element_count();
  auto* const to = static_cast<double*>(result.untyped_data());
  if (!nb::isinstance<nb::capsule>(found)) {
    const auto on_host = nb::cast<nb::ndarray<const double, nb::c_contig, nb::device::cpu>>(found);
    expects(on_host.size() == n, "a call from XLA gave ", on_host.size(), " numbers for ", n);
    if (gpu != nullptr)
      copy_from_host<double>(*gpu, on_host.data(), flat_view(to, n));
    else
      std::copy_n(on_host.data(), n, to);
    return;
  }
  const auto there = nb::cast<nb::ndarray<const double, nb::c_contig, nb::device::cuda>>(found);
  expects(gpu != nullptr && there.size() == n, "a call from XLA gave ", there.size(), " numbers on a GPU for ", n);
  copy(*gpu, flat_view(there.data(), n), flat_view(to, n));
  gpu->synchronise();
}

template <class Call>
ffi::Error guarded(const Call& made) {
  try {
    made();
    return ffi::Error::Success();
  } catch (const std::exception& e) {
    return ffi::Error(ffi::ErrorCode::kInternal, e.what());
  }
}

ffi::Error on_cpu(ffi::RemainingArgs arguments, ffi::Result<ffi::AnyBuffer> result, std::int64_t number) {
  return guarded([&] { with_gil([&] { call(number, nullptr, arguments, *result); }); });
}

ffi::Error on_gpu(void* stream, ffi::RemainingArgs arguments, ffi::Result<ffi::AnyBuffer> result, std::int64_t number) {
  return guarded([&] {
    Context gpu = Context::on_stream(stream);
    gpu.synchronise();
    with_gil([&] { call(number, &gpu, arguments, *result); });
  });
}

XLA_FFI_DEFINE_HANDLER(handler_on_cpu, on_cpu,
                       ffi::Ffi::Bind().RemainingArgs().Ret<ffi::AnyBuffer>().Attr<std::int64_t>("number"));
XLA_FFI_DEFINE_HANDLER(
    handler_on_gpu, on_gpu,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().RemainingArgs().Ret<ffi::AnyBuffer>().Attr<std::int64_t>(
        "number"));

template <class Function>
nb::capsule capsule_of(Function* handler) {
  return nb::capsule(reinterpret_cast<void*>(handler));
}

}  // namespace

void add_xla(nb::module_& m) {
  m.def(
      "xla_handlers",
      [] {
        nb::dict handlers;
        handlers["cpu"] = capsule_of(handler_on_cpu);
        handlers["CUDA"] = capsule_of(handler_on_gpu);
        return handlers;
      },
      "Handlers for jax.ffi.register_ffi_target, by platform.");
  m.def(
      "host_copy",
      [](const nb::ndarray<const double, nb::c_contig, nb::device::cuda>& array) {
        Context gpu = Context::on_stream(nullptr);
        std::vector<double> numbers(array.size());
        copy_to_host<double>(gpu, flat_view(array.data(), array.size()), numbers.data());
        return numpy_array(std::move(numbers), {array.size()});
      },
      "The numbers of an array on a GPU, flat.");
}

}  // namespace stratum::python
