#pragma once

// GridFunction: values on the unknowns of a mesh, or on a subdomain's rows of them (mesh/partition.hpp). It is the memory and
// the layout that says which unknowns the values belong to. Functions that know the mesh take one. A Field converts to it:
//
//     assemble_load(ctx, mesh, problem, b);                          b a Field
//     assemble_load(ctx, mesh, problem, {view, mesh.unknowns()});    memory of the caller
//
// It does not own the memory, which has to outlive it.
// Functions that take one throw UsageError where its rows are not those of the mesh. Nothing here waits for the stream.

#include <concepts>
#include <type_traits>

#include <stratum/core/field/field.hpp>

namespace stratum {

template <class T>
struct GridFunction {
  using Number = std::remove_const_t<T>;

  FieldView<T> view;
  GridLayout<2> layout;

  // NOLINTBEGIN(google-explicit-constructor): a Field is a function on its grid
  GridFunction(Field<Number>& field) : view(field.view()), layout(field.shape()) {}
  GridFunction(const Field<Number>& field) requires std::is_const_v<T> : view(field.view()), layout(field.shape()) {}
  // NOLINTEND(google-explicit-constructor)
  GridFunction(const FieldView<T>& numbers, const GridLayout<2>& unknowns) : view(numbers), layout(unknowns) {}

  /// Other subdomains have some of the mesh's rows.
  [[nodiscard]] bool is_part() const { return layout.below || layout.above; }

  template <std::same_as<const T> Const>
  // NOLINTNEXTLINE(google-explicit-constructor): the usual pointer-to-const conversion
  operator GridFunction<Const>() const {
    return {view, layout};
  }
};

}  // namespace stratum
