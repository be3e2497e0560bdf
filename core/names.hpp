#pragma once

// Names of the values of an enumeration, for users. Each name is spelled in one table beside its enumeration E:
//
//     template <>
//     inline constexpr auto names_of<E> = std::to_array<Named<E>>({{E::first, "first"}, ...});
//
// Programs, the C interface, PETSc and Python read the table, and to_string(E) does. Messages list the names in the table's
// order. Implementations of a registry have their names in the registry (core/registry.hpp).

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace stratum {

template <class E>
struct Named {
  E value;
  const char* name;
};

/// Specialised beside E, before its first use; null where E has no table.
template <class E>
inline constexpr std::nullptr_t names_of = nullptr;

template <class E>
concept HasNames = std::is_enum_v<E> && !std::is_same_v<std::remove_cv_t<decltype(names_of<E>)>, std::nullptr_t>;

/// "unknown" for what is no value of E.
template <HasNames E>
[[nodiscard]] constexpr std::string_view to_string(E value) {
  for (const Named<E>& entry : names_of<E>)
    if (entry.value == value) return entry.name;
  return "unknown";
}

/// The values of the table, in its order.
template <HasNames E>
inline constexpr auto values_of = [] {
  std::array<E, names_of<E>.size()> values{};
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = names_of<E>[k].value;
  return values;
}();

/// For messages: "v, w, f". `values` are any that to_string takes.
template <class Values>
[[nodiscard]] std::string list_of_names(const Values& values) {
  std::string names;
  for (const auto value : values) names += (names.empty() ? "" : ", ") + std::string(to_string(value));
  return names;
}

}  // namespace stratum
