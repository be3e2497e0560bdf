#pragma once

// The storage format of symmetric nine-point operators, a_(-dx,-dy)(i, j) = a_(dx,dy)(i - dx, j - dy): of the nine bands of
// core/operators/nine_band.hpp the centre and the four towards later nodes are stored, 5 words per unknown. A residual or a
// sweep moves 8 words. GridOperator throws UsageError for arrays that differ in shape or pitch. Where rows are distributed or
// periodic, the ghosts of the bands hold what neighbours store.

#include <string_view>
#include <utility>

#include <stratum/core/field/lanes.hpp>
#include <stratum/core/operators/stored_bands.hpp>

namespace stratum {

template <class T>
struct SymmetricNineBandView : StencilSums<SymmetricNineBandView<T>, T> {
  static constexpr bool has_bands = true, is_symmetric = true, is_separable = false, streams = true,
                        streams_alone = false;
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

#if defined(__CUDACC__)
namespace cuda {

/// What the row below and the lanes beside store is there too, as far as the current row needs it.
template <class T, int depth>
struct LaneOperator<SymmetricNineBandView<T>, depth> {
  static constexpr bool in_order = false;
  static constexpr int n = chunk_width<T>, pitch = n + 2;
  const SymmetricNineBandView<T>* a;
  T numbers[5][2 * pitch];  // of the row below and of the current one, with a number more at both ends

  __device__ LaneOperator(const SymmetricNineBandView<T>& view, const Lane<T>&, int /*first*/) : a(&view) {}
  __device__ STRATUM_INLINE void row(const Lane<T>& lane, int j) {
#pragma unroll
    for (int k = 0; k < 5; ++k) {
      const FieldView<const T> band{a->band[k], lane.nx, lane.ny, a->pitch};
      put(k, 1, lane.load(band, j));
      if (k >= 2) put(k, 0, lane.template load<n, 1>(band, j - 1));
    }
    numbers[1][pitch] = __shfl_up_sync(whole_warp, numbers[1][pitch + n], 1);
    numbers[2][n + 1] = __shfl_down_sync(whole_warp, numbers[2][1], 1);
    numbers[4][0] = __shfl_up_sync(whole_warp, numbers[4][n], 1);
  }
  [[nodiscard]] __device__ STRATUM_INLINE SymmetricNineBandView<T> view() const {
    SymmetricNineBandView<T> local;
#pragma unroll
    for (int k = 0; k < 5; ++k) local.band[k] = numbers[k] + pitch + 1;
    local.pitch = pitch;
    return local;
  }

 private:
  __device__ STRATUM_INLINE void put(int k, int r, const Chunk<T>& chunk) {
#pragma unroll
    for (int e = 0; e < n; ++e) numbers[k][r * pitch + e + 1] = chunk.v[e];
  }
};

}  // namespace cuda
#endif

}  // namespace stratum
