#pragma once

// Vectors of other libraries, such as Eigen's: numbers one after the other on the host, from data() on, size() of them. Throws
// UsageError for those that have a stride, as a row of a matrix stored by columns has.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <stratum/core/errors.hpp>

namespace stratum::detail {

template <class V>
concept TakenBySpan = std::convertible_to<V&, std::span<const double>>;

/// What std::span does not take by itself.
template <class V>
concept DenseVector = !TakenBySpan<V> && requires(V & v) {
  { v.data() } -> std::convertible_to<const double*>;
  { v.size() } -> std::convertible_to<std::int64_t>;
};

template <class V>
concept NumberVector = TakenBySpan<V> || DenseVector<V>;

/// Two vectors of which std::span does not take one.
template <class B, class X>
concept DenseVectors = NumberVector<const B> && NumberVector<std::remove_reference_t<X>> &&
    (DenseVector<const B> || DenseVector<std::remove_reference_t<X>>);

template <class V>
[[nodiscard]] auto numbers_of_vector(V& v) {
  using Number = std::conditional_t<std::convertible_to<decltype(v.data()), double*>, double, const double>;
  if constexpr (requires { v.innerStride(); })
    expects(v.size() <= 1 || v.innerStride() == 1, "the numbers of a vector lie ", v.innerStride(),
            " apart; copy it to one whose numbers lie one after the other");
  return std::span<Number>(v.data(), static_cast<std::size_t>(v.size()));
}

}  // namespace stratum::detail
