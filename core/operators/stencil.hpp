#pragma once

// Nine-point operators on the unknowns of a logically tensor-product grid,
//
//     (A x)_ij = sum over dx, dy in {-1, 0, 1} of a_(dx,dy)(i, j) x_(i+dx, j+dy) ,
//
// and what their storage formats consist of. A coefficient that reaches across the boundary is zero, or meets the zero halo of
// x.
//
// A storage format is a file in this folder and an entry of the list in core/operators/storage_formats.hpp. It has a storage, a
// template on the number type, with
//
//     name, coefficient_words              its name, and the words that it stores per node
//     View                                 the view of it
//     shape()
//     visit(f)                             calls f with the view of what is stored
//     parts()                              an array of all that is stored, as views that `exchange` does not fill; empty if
//                                          something is left out
//     part_name(k)                         the name of parts()[k], for messages
//     check()                              throws UsageError for parts that do not fit together
//     In<To>, make_like<To>(ctx)           the format in another precision; a storage of the same shape and kind, without
//                                          values
//
// and a view, which kernels see, with
//
//     Number, coefficient<dx, dy>(i, j)    and the sums of StencilSums, or its own where these are better
//
// and with the constants
//
//     has_bands                            entries lie in memory: any entry can be stored
//     is_symmetric                         a_(dx,dy)(i, j) = a_(-dx,-dy)(i + dx, j + dy), by construction
//     is_separable                         made of 1-D factors; kernels that fuse several stages take it
//     streams                              it has a LaneOperator (core/field/lanes.hpp), which streaming kernels take
//     streams_alone                        a streaming kernel of one stencil is faster, too, than one thread per node
//
// Nothing else asks which storage format an operator has.

#include <cstdint>

#include <stratum/core/field/field.hpp>

namespace stratum {

/// Position of the band (dx, dy) in an array of nine: row by row, south-west first.
[[nodiscard]] STRATUM_HOST_DEVICE constexpr int band_index(int dx, int dy) { return 3 * (dy + 1) + dx + 1; }

/// (i, j) is a node of the grid, or of what its halo stands for: a coefficient towards it is not zero by its place.
STRATUM_HOST_DEVICE STRATUM_INLINE bool couples(const GridLayout<2>& grid, int i, int j) {
  return (grid.periodic_x || (i >= 0 && i < grid.nx)) && (grid.periodic_y || grid.below || j >= 0) &&
         (grid.periodic_y || grid.above || j < grid.ny);
}

/// x around node (i, j): three row addresses, formed once.
template <class T>
struct Neighbourhood {
  const T *south, *centre, *north;
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE Neighbourhood(const X& x, int i, int j)
      : south(&x(i, j) - x.pitch), centre(south + x.pitch), north(centre + x.pitch) {}
  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T at() const {
    return dy < 0 ? south[dx] : dy > 0 ? north[dx] : centre[dx];
  }
};

/// The sums over a stencil, from the coefficients alone.
template <class View, class T>
struct StencilSums {
  using Number = T;

  /// (A x)_ij
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    return term<0, 0>(n, i, j) + term<-1, 0>(n, i, j) + term<1, 0>(n, i, j) + row_sum<-1>(n, i, j) +
           row_sum<1>(n, i, j);
  }
  /// The part of (A x)_ij that lies off row j: what an x-line solve takes to its right-hand side.
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_row_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    return row_sum<-1>(n, i, j) + row_sum<1>(n, i, j);
  }
  /// The part of (A x)_ij that lies off column i: what a y-line solve takes to its right-hand side.
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_column_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    return column_sum<-1>(n, i, j) + column_sum<1>(n, i, j);
  }

 private:
  template <int dx, int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE T term(const Neighbourhood<T>& n, int i, int j) const {
    return static_cast<const View&>(*this).template coefficient<dx, dy>(i, j) * n.template at<dx, dy>();
  }
  template <int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE T row_sum(const Neighbourhood<T>& n, int i, int j) const {
    return term<-1, dy>(n, i, j) + term<0, dy>(n, i, j) + term<1, dy>(n, i, j);
  }
  template <int dx>
  STRATUM_HOST_DEVICE STRATUM_INLINE T column_sum(const Neighbourhood<T>& n, int i, int j) const {
    return term<dx, -1>(n, i, j) + term<dx, 0>(n, i, j) + term<dx, 1>(n, i, j);
  }
};

}  // namespace stratum
