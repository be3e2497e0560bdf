#pragma once

// The storage format of general nine-point operators,
//
//     (A x)_ij = sum over dx, dy = -1 .. 1 of a_(dx,dy)(i, j) x(i + dx, j + dy) ,
//
// as nine arrays of the shape of x, 9 words per unknown. A residual or a sweep moves 12 words. Entries that reach across a
// boundary meet zeros. GridOperator throws UsageError for arrays that differ in shape or pitch.

#include <string_view>
#include <utility>

#include <stratum/core/field/lanes.hpp>
#include <stratum/core/operators/stored_bands.hpp>

namespace stratum {

template <class T>
struct NineBandView : StencilSums<NineBandView<T>, T> {
  static constexpr bool has_bands = true, is_symmetric = false, is_separable = false, streams = true,
                        streams_alone = true;
  const T* band[9] = {};
  std::int64_t pitch = 0;

  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T coefficient(int i, int j) const {
    return band[band_index(dx, dy)][j * pitch + i];
  }
};

/// Nine padded arrays; band[band_index(dx, dy)](i, j) = a_(dx,dy)(i, j).
template <class T>
struct NineBandMatrix : StoredBands<T, 9> {
  static constexpr std::string_view name = "nine-band";
  using View = NineBandView<T>;
  template <class To>
  using In = NineBandMatrix<To>;

  using StoredBands<T, 9>::StoredBands;
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

template <class T, int depth>
struct LaneOperator<NineBandView<T>, depth> {
  static constexpr bool in_order = false;
  const NineBandView<T>* a;
  Chunk<T> band[9];

  __device__ LaneOperator(const NineBandView<T>& view, const Lane<T>&, int /*first*/) : a(&view) {}
  __device__ STRATUM_INLINE void row(const Lane<T>& lane, int j) {
#pragma unroll
    for (int k = 0; k < 9; ++k) band[k] = lane.load({a->band[k], lane.nx, lane.ny, a->pitch}, j);
  }
  [[nodiscard]] __device__ STRATUM_INLINE NineBandView<T> view() const {
    NineBandView<T> local;
#pragma unroll
    for (int k = 0; k < 9; ++k) local.band[k] = band[k].v;
    return local;
  }
};

}  // namespace cuda
#endif

}  // namespace stratum
