#pragma once

// The storage format of -div(K grad u) + c u on a tensor-product mesh with K and c per cell: it stores them alone, and makes
// element matrices on the fly from them and the widths. Words per unknown: scalar K 1, diagonal K 2, full K 3; with c scalar K
// 3, else 1 more; a residual or a sweep moves 3 more.
//
// Cell (I, J) has widths hx and hy. Between its corners p = kxx hy / (6 hx), q = kyy hx / (6 hy), s = kxy / 2 and m = c hx hy /
// 36:
//
//     x flux through its lower, its upper part       p (2 d_lower + d_upper),  p (d_lower + 2 d_upper)     d: differences along x
//     y flux through its left, its right part        q (2 e_left + e_right),   q (e_left + 2 e_right)      e: differences along y
//     (A u)_ij = F_west - F_east + G_south - G_north + what s adds to diagonal differences + m (2 (2 u_0 + u_1) + (2 u_2 + u_3))
//
// No term has the size of p u: constants give exactly zero, and in float what is lost is a relative change of K. Scalar K is
// stored as k = K hx hy / 6 with 1 / hx^2 and 1 / hy^2 beside it: p = k / hx^2, q = k / hy^2.
//
// A cell beyond a Neumann or Robin boundary has K = 0; an alpha is its m, alpha h / 12 along an edge of length h. Where the
// grid is periodic it is the cell at the other end.
//
// The row formula stands in core/operators/element_formulas.hpp.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <stratum/core/field/lanes.hpp>
#include <stratum/core/operators/element_formulas.hpp>
#include <stratum/core/operators/stencil.hpp>

namespace stratum {

/// What K is, by the numbers stored for it.
enum class CellTensor : std::uint8_t { scalar = 1, diagonal = 2, full = 3 };

/// Cell (i, j) of the view lies south-west of node (i, j). `scalar`: K alone, and p and q are k, to be multiplied; no branch
/// stands in its formulas. What is not stored points to p: null, masked loads that compilers turn branches into would each be a
/// fault that is suppressed, 25 ns of a CPU.
template <class T, bool scalar>
struct ElementView : StencilSums<ElementView<T, scalar>, T> {
  static constexpr bool has_bands = false, is_symmetric = true, is_separable = false, streams = true,
                        streams_alone = true;
  const T *p = nullptr, *q = nullptr;
  const T *s = nullptr, *m = nullptr;
  const T *rx2 = nullptr,
          *ry2 = nullptr;  // of scalar K: 1 / hx^2 of the interval before node i, 1 / hy^2 of that before j
  std::int64_t pitch = 0, others_pitch = 0;  // of p and q; of s and m
  bool has_s = false, has_m = false;

  /// The cells of the interval before node i, south and north of row j.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE CellPair<T> pair(int i, int j) const {
    CellPair<T> c{};
    const std::int64_t south = j * pitch + i, north = south + pitch;
    if constexpr (scalar) {
      const T k_south = p[south], k_north = p[north];
      c.p_south = k_south * rx2[i], c.p_north = k_north * rx2[i];
      c.q_south = k_south * ry2[j], c.q_north = k_north * ry2[j + 1];
    } else {
      c.p_south = p[south], c.p_north = p[north];
      c.q_south = q[south], c.q_north = q[north];
      const std::int64_t others_south = j * others_pitch + i, others_north = others_south + others_pitch;
      c.has_s = has_s;
      c.has_m = has_m;
      if (has_s) c.s_south = s[others_south], c.s_north = s[others_north];
      if (has_m) c.m_south = m[others_south], c.m_north = m[others_north];
    }
    return c;
  }

  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T coefficient(int i, int j) const {
    if constexpr (dx == 0) {
      const CellPair<T> west = pair(i, j), east = pair(i + 1, j);
      if constexpr (dy == 0)
        return west.weight().right + east.weight().left;
      else if constexpr (dy < 0)
        return west.coupling_south() + east.coupling_south();
      else
        return west.coupling_north() + east.coupling_north();
    } else {
      const CellPair<T> c = pair(dx < 0 ? i : i + 1, j);
      if constexpr (dy == 0) {
        return c.coupling();
      } else {
        T a = dy < 0 ? -(c.p_south + c.q_south) : -(c.p_north + c.q_north);
        if (c.has_s) a += (dx == dy ? -1 : 1) * (dy < 0 ? c.s_south : c.s_north);
        if (c.has_m) a += dy < 0 ? c.m_south : c.m_north;
        return a;
      }
    }
  }
  /// The sum of a row's entries on an x line, on a y line.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T row_excess(int i, int j) const {
    return pair(i, j).row_excess().right + pair(i + 1, j).row_excess().left;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T column_excess(int i, int j) const {
    return pair(i, j).column_excess().right + pair(i + 1, j).column_excess().left;
  }

  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    return product(i, j, column<-1>(n), column<0>(n), column<1>(n));
  }
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_row_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    return product(i, j, off_row<-1>(n), off_row<0>(n), off_row<1>(n));
  }
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_column_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    return product(i, j, column<-1>(n), {0, 0, 0}, column<1>(n));
  }

 private:
  STRATUM_HOST_DEVICE STRATUM_INLINE T product(int i, int j, const ColumnOfThree<T>& west, const ColumnOfThree<T>& own,
                                               const ColumnOfThree<T>& east) const {
    return pair(i, j).product(west, own).right + pair(i + 1, j).product(own, east).left;
  }
  template <int dx>
  static STRATUM_HOST_DEVICE STRATUM_INLINE ColumnOfThree<T> column(const Neighbourhood<T>& n) {
    return {n.south[dx], n.centre[dx], n.north[dx]};
  }
  template <int dx>
  static STRATUM_HOST_DEVICE STRATUM_INLINE ColumnOfThree<T> off_row(const Neighbourhood<T>& n) {
    return {n.south[dx], 0, n.north[dx]};
  }
};

/// The cells that touch the unknowns of `grid`, those beyond Neumann or Robin boundaries among them: nx + 1 by ny + 1 numbers
/// each, cell (i, j) south-west of unknown (i, j). Of a subdomain that others lie below, those of row -1 as well: a Galerkin
/// product reads one row of the subdomain below.
template <class T>
struct ElementOperator {
  static constexpr std::string_view name = "cell";
  static constexpr int coefficient_words = 1;  // of scalar K
  using View = ElementView<T, true>;           // one of two, whose traits are the same
  template <class To>
  using In = ElementOperator<To>;

  GridLayout<2> grid;
  CellTensor tensor = CellTensor::scalar;
  std::array<Field<T>, 3> k;
  Field<T> m, rx2, ry2;

  ElementOperator() = default;
  /// Beside a reaction term scalar K is stored as diagonal.
  ElementOperator(Context& ctx, const GridLayout<2>& shape, CellTensor kind = CellTensor::scalar, bool reaction = false)
      : grid(shape), tensor(reaction && kind == CellTensor::scalar ? CellTensor::diagonal : kind) {
    const GridLayout<2> cells{shape.nx + 1, shape.ny + 1, shape.origin_x, shape.origin_y};
    for (int n = 0; n < static_cast<int>(tensor); ++n) k[static_cast<std::size_t>(n)] = Field<T>(ctx, cells);
    if (reaction) m = Field<T>(ctx, cells);
    if (tensor != CellTensor::scalar) return;
    rx2 = Field<T>(ctx, cells.nx);
    ry2 = Field<T>(ctx, cells.ny);
  }
  [[nodiscard]] GridLayout<2> shape() const { return grid; }
  [[nodiscard]] bool has_reaction() const { return !m.empty(); }
  /// Of cells.
  [[nodiscard]] int first_row() const { return grid.below ? -1 : 0; }

  template <bool scalar>
  [[nodiscard]] ElementView<T, scalar> view() const {
    const auto stored = [this](const Field<T>& numbers) { return (numbers.empty() ? k[0] : numbers).view(); };
    ElementView<T, scalar> v;
    v.p = k[0].view().data;
    v.q = stored(k[1]).data;
    v.s = stored(k[2]).data;
    v.m = stored(m).data;
    v.rx2 = stored(rx2).data;
    v.ry2 = stored(ry2).data;
    v.pitch = v.others_pitch = k[0].view().pitch;
    v.has_s = tensor == CellTensor::full;
    v.has_m = has_reaction();
    return v;
  }
  template <class F>
  decltype(auto) visit(F&& f) const {
    return tensor == CellTensor::scalar ? std::forward<F>(f)(view<true>()) : std::forward<F>(f)(view<false>());
  }

  [[nodiscard]] auto parts() { return parts_of<FieldView<T>>(*this); }
  [[nodiscard]] auto parts() const { return parts_of<FieldView<const T>>(*this); }
  [[nodiscard]] static std::string part_name(int n) {
    constexpr std::array names{"k or p", "q", "s", "m", "1 / hx^2", "1 / hy^2"};
    return message("coefficient ", names[static_cast<std::size_t>(n)]);
  }
  void check() const {}
  template <class To>
  [[nodiscard]] In<To> make_like(Context& ctx) const {
    return {ctx, grid, tensor, has_reaction()};
  }

 private:
  template <class V, class Self>
  static std::array<V, 6> parts_of(Self& a) {
    // With as many rows and columns before the first.
    const auto part = [](auto& numbers, int rows, int columns) {
      if (numbers.empty()) return V();
      V v = numbers.view();
      v.data -= rows * v.pitch + columns;
      v.nx += columns;
      v.ny += rows;
      return v;
    };
    const int more = -a.first_row();
    return {part(a.k[0], more, 0), part(a.k[1], more, 0), part(a.k[2], more, 0),
            part(a.m, more, 0),    part(a.rx2, 0, 0),     part(a.ry2, 0, more)};
  }
};

#if defined(__CUDACC__)
namespace cuda {

/// Two rows of p and q in registers, and those of scalar K that come next: asked for ahead. With two numbers a cell and more
/// there are too few registers for that. s and m, which fewer operators have, are read where they are needed.
template <class T, bool scalar, int depth>
struct LaneOperator<ElementView<T, scalar>, depth> {
  static constexpr bool in_order = scalar;
  static constexpr int n = chunk_width<T>, width = n + 1;
  const ElementView<T, scalar>* a;
  T p[2 * width], q[scalar ? 1 : 2 * width], rx2[scalar ? width : 1], ry2[2];
  const T *s, *m;
  Chunk<T> ahead[scalar ? depth : 1];
  T ry2_ahead[scalar ? depth : 1];

  __device__ LaneOperator(const ElementView<T, scalar>& view, const Lane<T>& lane, int first)
      : a(&view), s(view.s), m(view.m) {
    if constexpr (scalar) {
#pragma unroll
      for (int c = 0; c < width; ++c)
        rx2[c] = touches_cells(lane) ? number_or_zero(a->rx2, lane.column + c, 0, lane.nx) : T(0);
      put(p, 1, load(lane, a->p, first));
      ry2[1] = number_or_zero(a->ry2, first, 0, lane.ny);
#pragma unroll
      for (int k = 0; k < depth; ++k) ask(lane, first, k);
    }
  }
  __device__ STRATUM_INLINE void row(const Lane<T>& lane, int j) {
    if constexpr (scalar) {
#pragma unroll
      for (int e = 0; e < width; ++e) p[e] = p[width + e];
      put(p, 1, ahead[0]);
      ry2[0] = ry2[1];
      ry2[1] = ry2_ahead[0];
#pragma unroll
      for (int k = 1; k < depth; ++k) {
        ahead[k - 1] = ahead[k];
        ry2_ahead[k - 1] = ry2_ahead[k];
      }
      ask(lane, j + 1, depth - 1);
    } else {
      take(lane, a->p, j, p);
      take(lane, a->q, j, q);
      const std::int64_t others = j * a->others_pitch + (touches_cells(lane) ? lane.column : -1);
      s = a->s + others;
      m = a->m + others;
    }
  }
  [[nodiscard]] __device__ STRATUM_INLINE ElementView<T, scalar> view() const {
    return {{}, p, q, s, m, rx2, ry2, width, a->others_pitch, a->has_s, a->has_m};
  }

 private:
  /// There is one column of cells more than of nodes.
  [[nodiscard]] static __device__ STRATUM_INLINE bool touches_cells(const Lane<T>& lane) {
    return lane.chunk >= 0 && lane.column <= lane.nx;
  }
  /// Row j of cells, zero where there is none.
  [[nodiscard]] __device__ STRATUM_INLINE Chunk<T> load(const Lane<T>& lane, const T* cells, int j) const {
    if (touches_cells(lane) && j >= 0 && j <= lane.ny) return load_chunk<n>(cells + j * a->pitch + lane.column);
    return {};
  }
  /// For the row of cells k + 1 rows beyond row j. Each number that is waited for alone, as 1 / hy^2 would be, holds up a row.
  __device__ STRATUM_INLINE void ask(const Lane<T>& lane, int j, int k) {
    ahead[k] = load(lane, a->p, j + 1 + k);
    ry2_ahead[k] = number_or_zero(a->ry2, j + 1 + k, 0, lane.ny);
  }
  static __device__ STRATUM_INLINE void put(T* rows, int r, const Chunk<T>& c) {
#pragma unroll
    for (int e = 0; e < n; ++e) rows[r * width + e] = c.v[e];
    rows[r * width + n] = __shfl_down_sync(whole_warp, c.v[0], 1);
  }
  /// Both rows of cells beside row j of nodes. Asks for those of a later one.
  __device__ STRATUM_INLINE void take(const Lane<T>& lane, const T* cells, int j, T* rows) const {
    constexpr int rows_later = 4;
    const bool there = touches_cells(lane);
#pragma unroll
    for (int r = 0; r < 2; ++r)
      put(rows, r, there ? load_chunk<n>(cells + (j + r) * a->pitch + lane.column) : Chunk<T>{});
    if (there && j + rows_later <= lane.ny)
      asm volatile("prefetch.global.L1 [%0];" ::"l"(cells + (j + rows_later) * a->pitch + lane.column));
  }
};

}  // namespace cuda
#endif

}  // namespace stratum
