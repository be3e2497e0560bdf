#pragma once

// The form of a symmetric nine-point operator: five arrays, 5 words a node, 8 moved by a residual or a sweep.

#include <string_view>
#include <utility>

#include <stratum/core/operators/stored_bands.hpp>

namespace stratum {

template <class T>
struct SymmetricNineBandView : StencilSums<SymmetricNineBandView<T>, T> {
  static constexpr bool has_bands = true, is_symmetric = true, is_separable = false, marches = false;
  const T* band[5] = {};
  std::int64_t pitch = 0;

  /// The lower half is read from the neighbour that stores it: a_(-dx,-dy)(i, j) = a_(dx,dy)(i - dx, j - dy).
  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T coefficient(int i, int j) const {
    if constexpr (dy > 0 || (dy == 0 && dx >= 0))
      return band[band_index(dx, dy) - 4][j * pitch + i];
    else
      return band[band_index(-dx, -dy) - 4][(j + dy) * pitch + i + dx];
  }
};

/// Five padded arrays: centre, east, north-west, north, north-east; the rest by symmetry.
template <class T>
struct SymmetricNineBand : StoredBands<T, 5> {
  static constexpr std::string_view name = "symmetric";
  using View = SymmetricNineBandView<T>;
  template <class To>
  using In = SymmetricNineBand<To>;

  using StoredBands<T, 5>::StoredBands;
  [[nodiscard]] View view() const { return this->template view_of_bands<View>(); }
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::forward<F>(f)(view());
  }
  template <class To>
  [[nodiscard]] In<To> make_like(Context& ctx) const {
    return {ctx, this->shape()};
  }
};

}  // namespace stratum
