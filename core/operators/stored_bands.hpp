#pragma once

// The common part of storage formats with stored coefficients: the last 5 or all 9 bands of a nine-point operator, each an
// array of the grid's shape with ghosts. `check` throws UsageError for bands that differ in shape or pitch; GridOperator calls
// it.

#include <array>
#include <string>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/stencil.hpp>

namespace stratum {

/// The last `count` of nine: band[band_index(dx, dy) - first](i, j) = a_(dx,dy)(i, j).
template <class T, int count>
struct StoredBands {
  static constexpr int coefficient_words = count;
  static constexpr int first = 9 - count;
  /// dx and dy of band k.
  static constexpr int dx(int k) { return (first + k) % 3 - 1; }
  static constexpr int dy(int k) { return (first + k) / 3 - 1; }

  std::array<Field<T>, count> band;

  StoredBands() = default;
  StoredBands(Context& ctx, const GridLayout<2>& shape) {
    for (auto& b : band) b = Field<T>(ctx, shape);
  }
  /// From `count` arrays on the host, one behind the other, node (i, j) of each at j nx + i. Waits for the stream.
  StoredBands(Context& ctx, const GridLayout<2>& shape, const T* numbers) : StoredBands(ctx, shape) {
    for (auto& b : band) {
      copy_from_host(ctx, numbers, b.view());
      exchange(ctx, b);
      numbers += shape.nodes();
    }
  }
  [[nodiscard]] GridLayout<2> shape() const { return band[0].shape(); }

  [[nodiscard]] auto parts() { return views_of<FieldView<T>>(band); }
  [[nodiscard]] auto parts() const { return views_of<FieldView<const T>>(band); }
  [[nodiscard]] static std::string part_name(int k) { return message("band (", dx(k), ", ", dy(k), ")"); }

  /// Views of bands have one pitch for all.
  void check() const {
    const auto expected = band[0].view();
    for (const auto& b : band) {
      const auto view = b.view();
      expects(view.nx == expected.nx && view.ny == expected.ny && view.pitch == expected.pitch,
              "the bands of a matrix differ: ", expected.nx, " x ", expected.ny, " nodes at pitch ", expected.pitch,
              ", and ", view.nx, " x ", view.ny, " at pitch ", view.pitch);
    }
  }

 protected:
  template <class View>
  [[nodiscard]] View view_of_bands() const {
    View v;
    for (std::size_t k = 0; k < band.size(); ++k) v.band[k] = band[k].view().data;
    v.pitch = band[0].view().pitch;
    return v;
  }

 private:
  template <class View, class Bands>
  static std::array<View, count> views_of(Bands& bands) {
    std::array<View, count> views;
    for (std::size_t k = 0; k < views.size(); ++k) views[k] = bands[k].view();
    return views;
  }
};

}  // namespace stratum
