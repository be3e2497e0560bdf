#pragma once

// An example of a storage format, added by tests/additions: nine arrays, and nothing but its entries. What else the library has
// of it goes by these, node by node.

#include <string_view>
#include <utility>

#include <stratum/core/operators/stored_bands.hpp>

namespace stratum {

template <class T>
struct PlainBandsView : StencilSums<PlainBandsView<T>, T> {
  static constexpr bool has_bands = true, is_symmetric = false, is_separable = false, streams = false,
                        streams_alone = false;
  const T* band[9] = {};
  std::int64_t pitch = 0;

  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T coefficient(int i, int j) const {
    return band[band_index(dx, dy)][j * pitch + i];
  }
};

template <class T>
struct PlainBands : StoredBands<T, 9> {
  static constexpr std::string_view name = "plain";
  using View = PlainBandsView<T>;
  template <class To>
  using In = PlainBands<To>;

  using StoredBands<T, 9>::StoredBands;
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::forward<F>(f)(this->template view_of_bands<View>());
  }
  template <class To>
  [[nodiscard]] In<To> make_like(Context& ctx) const {
    return {ctx, this->shape()};
  }
};

}  // namespace stratum
