#pragma once

// What the parts of the Python module share: arrays, reports and what happens between two iterations.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/names.hpp>
#include <stratum/solvers/stopping.hpp>

#include "gil.hpp"

namespace stratum::python {

namespace nb = nanobind;

/// Of NumPy or any other library with DLPack, in host memory; nanobind copies one that is not contiguous.
template <class T, int dimensions>
using HostArray = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
using NumpyArray = nb::ndarray<nb::numpy, double>;
/// In the memory of a Context.
using Numbers = std::shared_ptr<double>;
[[nodiscard]] inline Numbers numbers_on(Context& ctx, std::size_t n) {
  return std::static_pointer_cast<double>(allocate(ctx, n * sizeof(double)));
}
/// In memory of a GPU, of any library with DLPack.
template <int dimensions>
using DeviceArray = nb::ndarray<const double, nb::ndim<dimensions>, nb::c_contig, nb::device::cuda>;

/// A NumPy array that takes these numbers over; nothing is copied.
[[nodiscard]] NumpyArray numpy_array(std::vector<double> values, std::initializer_list<std::size_t> shape);

/// A DLPack capsule of numbers on a GPU, for from_dlpack of the caller's library; it keeps them.
[[nodiscard]] nb::object array_on_device(const Numbers& numbers, std::initializer_list<std::size_t> shape,
                                         int device_id);

template <class Array>
[[nodiscard]] std::vector<double> vector_of(const Array& array) {
  return std::vector<double>(array.data(), array.data() + array.size());
}

/// As written for a user: "(3, 4)".
template <class Array>
[[nodiscard]] std::string shape_of(const Array& array) {
  std::string text = "(";
  for (std::size_t k = 0; k < array.ndim(); ++k) text += (k > 0 ? ", " : "") + std::to_string(array.shape(k));
  return text + (array.ndim() == 1 ? ",)" : ")");
}

/// The option of this name. Throws TypeError for one of another type.
template <class T>
[[nodiscard]] T option(const nb::dict& options, const char* name) {
  T value{};
  if (nb::try_cast(options[name], value)) return value;
  constexpr const char* expected = std::is_same_v<T, bool> ? "True or False"
                                   : std::is_integral_v<T> ? "an integer"
                                                           : "a string";
  const nb::str given(nb::repr(options[name]));
  throw nb::type_error(message(name, " is ", expected, "; given is ", shown(given.c_str())).c_str());
}

/// On "cpu", or on "cuda" on a stream of its own or the caller's.
[[nodiscard]] Context make_context(std::string_view device, int threads, std::optional<std::uintptr_t> stream = {});

/// Seconds since it was made.
class Clock {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// `setup_seconds`: everything from what was given to a solver.
[[nodiscard]] nb::dict dictionary_of(const SolveReport& report, double setup_seconds);

/// Called without the GIL, takes it: lets Ctrl-C interrupt, then calls callback(iteration, residual) unless that is None.
/// `callback` must outlive it.
[[nodiscard]] Monitor monitor_of(const nb::object& callback);

/// `reference_norm` by its name; nothing: that of the right-hand side.
[[nodiscard]] StoppingParams stopping_of(double rtol, double atol, int maxiter,
                                         const std::optional<std::string>& reference_norm);

/// The entry of `all` with this name. Throws UsageError that lists what there is.
template <class Entries>
[[nodiscard]] auto by_name(const char* what, std::string_view name, const Entries& all) {
  for (const auto& entry : all)
    if (to_string(entry) == name) return entry;
  throw UsageError(message(what, " is one of ", list_of_names(all), "; not '", shown(name), "'"));
}

void add_mesh(nb::module_& m);
void add_poisson(nb::module_& m);
void add_poisson_3d(nb::module_& m);
void add_poisson_patches(nb::module_& m);
void add_heat(nb::module_& m);
void add_multigrid(nb::module_& m);
#if defined(STRATUM_XLA)
void add_xla(nb::module_& m);
#endif
void add_box_matrix(nb::module_& m);

}  // namespace stratum::python
