#pragma once

// The storage formats of grid operators, listed once. core/operators/stencil.hpp says what a storage format consists of.
//
//   format               numbers stored per node      words moved by a residual or a sweep (x, b, result)
//   TensorOperator       none (1-D factors)           3
//   ElementOperator      1 to 4 (K and c of a cell)   4 to 7
//   SymmetricNineBand    5                            8
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
using AnyStorageFormat = std::variant<TensorOperator<T>, ElementOperator<T>, SymmetricNineBand<T>, NineBandMatrix<T>>;
enum class StorageFormat : std::uint8_t { tensor, cell, symmetric, nine_band };

/// What is known of a storage format by its name alone.
struct StorageFormatTraits {
  std::string_view name;
  int coefficient_words;  // read per node
  bool has_bands, is_symmetric, is_separable, streams;
};

namespace detail {
template <class... Forms>
constexpr auto traits_of_all(std::type_identity<std::variant<Forms...>> /*list*/) {
  return std::array{StorageFormatTraits{Forms::name, Forms::coefficient_words, Forms::View::has_bands,
                                        Forms::View::is_symmetric, Forms::View::is_separable, Forms::View::streams}...};
}
}  // namespace detail

inline constexpr auto storage_format_traits = detail::traits_of_all(std::type_identity<AnyStorageFormat<double>>{});

[[nodiscard]] constexpr const StorageFormatTraits& traits(StorageFormat format) {
  return storage_format_traits[static_cast<std::size_t>(format)];
}

inline constexpr auto storage_formats = [] {
  std::array<StorageFormat, storage_format_traits.size()> all{};
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<StorageFormat>(k);
  return all;
}();

[[nodiscard]] constexpr std::string_view to_string(StorageFormat format) { return traits(format).name; }
/// Throws UsageError for an unknown name, listing the known ones.
[[nodiscard]] StorageFormat storage_format(std::string_view name);

/// Calls f with a std::type_identity of the storage format's storage.
template <class T, class F, std::size_t k = 0>
decltype(auto) visit_storage_format(StorageFormat format, F&& f) {
  if constexpr (k + 1 < std::variant_size_v<AnyStorageFormat<T>>)
    if (static_cast<std::size_t>(format) != k) return visit_storage_format<T, F, k + 1>(format, std::forward<F>(f));
  return std::forward<F>(f)(std::type_identity<std::variant_alternative_t<k, AnyStorageFormat<T>>>{});
}

}  // namespace stratum
