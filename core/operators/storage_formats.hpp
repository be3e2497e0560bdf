#pragma once

// The forms of grid operators, listed once. core/operators/stencil.hpp says what a form is.
//
//   form                 numbers stored per node      words moved by a residual or a sweep (x, b, result)
//   TensorOperator       none (1-D factors)            3
//   CellOperator         1 to 4 (K and c of a cell)    4 to 7
//   SymmetricNineBand    5                             8
//   NineBandMatrix       9                            12

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <stratum/core/operators/element.hpp>
#include <stratum/core/operators/nine_band.hpp>
#include <stratum/core/operators/symmetric_nine_band.hpp>
#include <stratum/core/operators/tensor.hpp>

namespace stratum {

/// The list, and the names of its entries in the same order.
template <class T>
using AnyForm = std::variant<TensorOperator<T>, CellOperator<T>, SymmetricNineBand<T>, NineBandMatrix<T>>;
enum class OperatorForm : std::uint8_t { tensor, cell, symmetric, nine_band };

/// What is known of a form by its name alone.
struct FormTraits {
  std::string_view name;
  int coefficient_words;  // read per node
  bool has_bands, is_symmetric, is_separable, marches;
};

namespace detail {
template <class... Forms>
constexpr auto traits_of_all(std::type_identity<std::variant<Forms...>> /*list*/) {
  return std::array{FormTraits{Forms::name, Forms::coefficient_words, Forms::View::has_bands, Forms::View::is_symmetric,
                               Forms::View::is_separable, Forms::View::marches}...};
}
}  // namespace detail

inline constexpr auto form_traits = detail::traits_of_all(std::type_identity<AnyForm<double>>{});

[[nodiscard]] constexpr const FormTraits& traits(OperatorForm form) {
  return form_traits[static_cast<std::size_t>(form)];
}

inline constexpr auto operator_forms = [] {
  std::array<OperatorForm, form_traits.size()> all{};
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<OperatorForm>(k);
  return all;
}();

[[nodiscard]] constexpr std::string_view to_string(OperatorForm form) { return traits(form).name; }
/// Throws UsageError for an unknown name, listing the known ones.
[[nodiscard]] OperatorForm operator_form(std::string_view name);

/// Calls f with a std::type_identity of the form's storage.
template <class T, class F, std::size_t k = 0>
decltype(auto) visit_form(OperatorForm form, F&& f) {
  if constexpr (k + 1 < std::variant_size_v<AnyForm<T>>)
    if (static_cast<std::size_t>(form) != k) return visit_form<T, F, k + 1>(form, std::forward<F>(f));
  return std::forward<F>(f)(std::type_identity<std::variant_alternative_t<k, AnyForm<T>>>{});
}

}  // namespace stratum
