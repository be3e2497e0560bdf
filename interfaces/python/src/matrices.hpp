#pragma once

// What matrices of Python have in common: arrays of a matrix by rows, and vectors on a GPU.

#include <cstdint>
#include <span>

#include <stratum/core/field/field.hpp>

#include "arrays.hpp"

namespace stratum::python {

using AnyHostArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using ResultArray = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const AnyHostArray& array) {
  return {static_cast<const T*>(array.data()), array.size()};
}

/// Calls use(start, column) with spans of 32-bit integers or of 64-bit ones.
template <class Use>
auto with_indices(const AnyHostArray& start, const AnyHostArray& column, const Use& use) {
  const bool narrow = start.dtype() == nb::dtype<std::int32_t>() && column.dtype() == nb::dtype<std::int32_t>();
  const bool wide = start.dtype() == nb::dtype<std::int64_t>() && column.dtype() == nb::dtype<std::int64_t>();
  expects(narrow || wide, "indptr and indices are both int32 or both int64");
  return narrow ? use(span_of<std::int32_t>(start), span_of<std::int32_t>(column))
                : use(span_of<std::int64_t>(start), span_of<std::int64_t>(column));
}

template <class T>
[[nodiscard]] FieldView<T> flat_view(T* data, std::size_t n) {
  return {data, static_cast<int>(n), 1, static_cast<std::int64_t>(n)};
}

/// The methods that both kinds of systems have.
template <class System>
void add_methods(nb::class_<System>& type) {
  type.def("update", &System::update, nb::arg("start").none(), nb::arg("column").none(), nb::arg("value"))
      .def("solve", &System::solve, nb::arg("b"), nb::arg("x").noconvert(), nb::arg("rtol"), nb::arg("atol"),
           nb::arg("maxiter"), nb::arg("callback").none())
      .def("apply", &System::apply, nb::arg("r"), nb::arg("z").noconvert())
      .def("solve_on_device", &System::solve_on_device, nb::arg("b"), nb::arg("x0").none(), nb::arg("rtol"),
           nb::arg("atol"), nb::arg("maxiter"), nb::arg("callback").none())
      .def("apply_on_device", &System::apply_on_device, nb::arg("r"))
      .def_prop_ro("stream", &System::stream)
      .def("after_fork", &System::after_fork)
      .def("found", &System::found);
}

}  // namespace stratum::python
