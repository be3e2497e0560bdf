#pragma once

// The form of -div(K grad u) + c u on a tensor-product mesh with K and c per cell: it stores them alone, and makes element matrices on the
// fly from them and the widths. Words a node: scalar K 1, diagonal K 2, full K 3, and 1 with c; a residual or a sweep moves 3 more.
//
// Cell (I, J) has widths hx and hy. Between its corners p = kxx hy / (6 hx), q = kyy hx / (6 hy), s = kxy / 2 and m = c hx hy / 36:
//
//     x flux through its lower, its upper part       p (2 d_lower + d_upper),  p (d_lower + 2 d_upper)     d: differences along x
//     y flux through its left, its right part        q (2 e_left + e_right),   q (e_left + 2 e_right)      e: differences along y
//     (A u)_ij = F_west - F_east + G_south - G_north + what s adds to diagonal differences + m (2 (2 u_0 + u_1) + (2 u_2 + u_3))
//
// No term has the size of p u: constants give exactly zero, and in float what is lost is a relative change of K. Scalar K is stored as
// k = K hx hy / 6 with 1 / hx^2 and 1 / hy^2 beside it: p = k / hx^2, q = k / hy^2.
//
// A cell beyond a natural side has K = 0; an alpha is its m, alpha h / 12 along an edge of length h. Where the grid is periodic it is
// the cell at the other end.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <stratum/core/operators/stencil.hpp>

namespace stratum {

/// What K is, by the numbers stored for it.
enum class CellTensor : std::uint8_t { scalar = 1, diagonal = 2, full = 3 };

/// Cell (i, j) of the view lies south-west of node (i, j). What is not stored is k[0] again: branches on it cost less than views of their
/// own would, each of which every sweep is compiled for. Null, masked loads that compilers turn such branches into would each be a
/// fault that is suppressed, 25 ns of a CPU.
template <class T>
struct CellView : StencilSums<CellView<T>, T> {
  static constexpr bool has_bands = false, is_symmetric = true, is_separable = false, marches = false;
  const T* k[3] = {};  // scalar: k; else p, q and, of full K, s
  const T* m = nullptr;
  const T* rx2 = nullptr;  // of scalar K: 1 / hx^2 of the interval before node i
  const T* ry2 = nullptr;
  std::int64_t pitch = 0;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_scalar() const { return rx2 != k[0]; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_full() const { return k[2] != k[0]; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool has_m() const { return m != k[0]; }

  /// The four cells around a node, by their places.
  struct Around {
    std::int64_t sw, se, nw, ne;
    STRATUM_HOST_DEVICE STRATUM_INLINE Around(std::int64_t at, std::int64_t pitch)
        : sw(at), se(at + 1), nw(at + pitch), ne(at + pitch + 1) {}
  };
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Around around(int i, int j) const { return {j * pitch + i, pitch}; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T p(std::int64_t cell, int i) const {
    return is_scalar() ? k[0][cell] * rx2[i] : k[0][cell];
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T q(std::int64_t cell, int j) const {
    return is_scalar() ? k[0][cell] * ry2[j] : k[1][cell];
  }

  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T coefficient(int i, int j) const {
    const Around c = around(i, j);
    if constexpr (dx == 0 && dy == 0) {
      T d = 2 * ((p(c.sw, i) + p(c.nw, i)) + (p(c.se, i + 1) + p(c.ne, i + 1)) + (q(c.sw, j) + q(c.se, j)) +
                 (q(c.nw, j + 1) + q(c.ne, j + 1)));
      if (is_full()) d += (k[2][c.sw] - k[2][c.se]) + (k[2][c.ne] - k[2][c.nw]);
      if (has_m()) d += 4 * ((m[c.sw] + m[c.se]) + (m[c.nw] + m[c.ne]));
      return d;
    } else if constexpr (dy == 0) {
      const std::int64_t south = dx < 0 ? c.sw : c.se, north = dx < 0 ? c.nw : c.ne;
      const int column = dx < 0 ? i : i + 1;
      T a = (q(south, j) + q(north, j + 1)) - 2 * (p(south, column) + p(north, column));
      if (has_m()) a += 2 * (m[south] + m[north]);
      return a;
    } else if constexpr (dx == 0) {
      const std::int64_t west = dy < 0 ? c.sw : c.nw, east = dy < 0 ? c.se : c.ne;
      const int row = dy < 0 ? j : j + 1;
      T a = (p(west, i) + p(east, i + 1)) - 2 * (q(west, row) + q(east, row));
      if (has_m()) a += 2 * (m[west] + m[east]);
      return a;
    } else {
      const std::int64_t cell = dy < 0 ? (dx < 0 ? c.sw : c.se) : (dx < 0 ? c.nw : c.ne);
      T a = -(p(cell, dx < 0 ? i : i + 1) + q(cell, dy < 0 ? j : j + 1));
      if (is_full()) a += dx == dy ? -k[2][cell] : k[2][cell];
      if (has_m()) a += m[cell];
      return a;
    }
  }
  /// The sum of a row's entries on an x line, on a y line: never a difference of large ones.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T row_excess(int i, int j) const {
    const Around c = around(i, j);
    T sum = 3 * ((q(c.sw, j) + q(c.se, j)) + (q(c.nw, j + 1) + q(c.ne, j + 1)));
    return sum + line_terms(c);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T column_excess(int i, int j) const {
    const Around c = around(i, j);
    T sum = 3 * ((p(c.sw, i) + p(c.nw, i)) + (p(c.se, i + 1) + p(c.ne, i + 1)));
    return sum + line_terms(c);
  }

  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    const Around c = around(i, j);
    const T *lo = n.south, *u = n.centre, *up = n.north;
    const T east = u[1] - u[0], west = u[0] - u[-1], north = up[0] - u[0], south = u[0] - lo[0];
    const T up_east = up[1] - up[0], up_west = up[0] - up[-1], low_east = lo[1] - lo[0], low_west = lo[0] - lo[-1];
    const T north_east = up[1] - u[1], north_west = up[-1] - u[-1], south_east = u[1] - lo[1],
            south_west = u[-1] - lo[-1];
    T sum;
    if (is_scalar()) {
      const T sw = k[0][c.sw], se = k[0][c.se], nw = k[0][c.nw], ne = k[0][c.ne];
      const T flux_east = ne * (2 * east + up_east) + se * (2 * east + low_east);
      const T flux_west = nw * (2 * west + up_west) + sw * (2 * west + low_west);
      const T flux_north = ne * (2 * north + north_east) + nw * (2 * north + north_west);
      const T flux_south = se * (2 * south + south_east) + sw * (2 * south + south_west);
      sum = (flux_west * rx2[i] - flux_east * rx2[i + 1]) + (flux_south * ry2[j] - flux_north * ry2[j + 1]);
    } else {
      const T *pp = k[0], *qq = k[1];
      const T flux_east = pp[c.ne] * (2 * east + up_east) + pp[c.se] * (2 * east + low_east);
      const T flux_west = pp[c.nw] * (2 * west + up_west) + pp[c.sw] * (2 * west + low_west);
      const T flux_north = qq[c.ne] * (2 * north + north_east) + qq[c.nw] * (2 * north + north_west);
      const T flux_south = qq[c.se] * (2 * south + south_east) + qq[c.sw] * (2 * south + south_west);
      sum = (flux_west - flux_east) + (flux_south - flux_north);
      if (is_full())
        sum += k[2][c.sw] * (u[0] - lo[-1]) + k[2][c.ne] * (u[0] - up[1]) + k[2][c.nw] * (up[-1] - u[0]) +
               k[2][c.se] * (lo[1] - u[0]);
    }
    if (has_m()) {
      const T left = 2 * u[0] + u[-1], right = 2 * u[0] + u[1];
      sum += m[c.ne] * (2 * right + (2 * up[0] + up[1])) + m[c.nw] * (2 * left + (2 * up[0] + up[-1])) +
             m[c.se] * (2 * right + (2 * lo[0] + lo[1])) + m[c.sw] * (2 * left + (2 * lo[0] + lo[-1]));
    }
    return sum;
  }
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_row_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    const Around c = around(i, j);
    const T *lo = n.south, *up = n.north;
    const T up_east = up[1] - up[0], up_west = up[0] - up[-1], low_east = lo[1] - lo[0], low_west = lo[0] - lo[-1];
    T sum = (p(c.nw, i) * up_west + p(c.sw, i) * low_west) - (p(c.ne, i + 1) * up_east + p(c.se, i + 1) * low_east) -
            (q(c.ne, j + 1) * (2 * up[0] + up[1]) + q(c.nw, j + 1) * (2 * up[0] + up[-1])) -
            (q(c.se, j) * (2 * lo[0] + lo[1]) + q(c.sw, j) * (2 * lo[0] + lo[-1]));
    return sum + corner_terms(c, n) + off_row_mass(c, n);
  }
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_column_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    const Around c = around(i, j);
    const T *lo = n.south, *u = n.centre, *up = n.north;
    const T north_east = up[1] - u[1], north_west = up[-1] - u[-1], south_east = u[1] - lo[1],
            south_west = u[-1] - lo[-1];
    T sum = (q(c.se, j) * south_east + q(c.sw, j) * south_west) -
            (q(c.ne, j + 1) * north_east + q(c.nw, j + 1) * north_west) -
            (p(c.ne, i + 1) * (2 * u[1] + up[1]) + p(c.se, i + 1) * (2 * u[1] + lo[1])) -
            (p(c.nw, i) * (2 * u[-1] + up[-1]) + p(c.sw, i) * (2 * u[-1] + lo[-1]));
    return sum + corner_terms(c, n) + off_column_mass(c, n);
  }

 private:
  STRATUM_HOST_DEVICE STRATUM_INLINE T line_terms([[maybe_unused]] const Around& c) const {
    T sum = 0;
    if (is_full()) sum += (k[2][c.sw] - k[2][c.se]) + (k[2][c.ne] - k[2][c.nw]);
    if (has_m()) sum += 6 * ((m[c.sw] + m[c.se]) + (m[c.nw] + m[c.ne]));
    return sum;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE T corner_terms([[maybe_unused]] const Around& c,
                                                    [[maybe_unused]] const Neighbourhood<T>& n) const {
    if (!is_full()) return 0;
    return k[2][c.nw] * n.north[-1] + k[2][c.se] * n.south[1] - k[2][c.ne] * n.north[1] - k[2][c.sw] * n.south[-1];
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_row_mass([[maybe_unused]] const Around& c,
                                                    [[maybe_unused]] const Neighbourhood<T>& n) const {
    if (!has_m()) return 0;
    return m[c.ne] * (2 * n.north[0] + n.north[1]) + m[c.nw] * (2 * n.north[0] + n.north[-1]) +
           m[c.se] * (2 * n.south[0] + n.south[1]) + m[c.sw] * (2 * n.south[0] + n.south[-1]);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_column_mass([[maybe_unused]] const Around& c,
                                                       [[maybe_unused]] const Neighbourhood<T>& n) const {
    if (!has_m()) return 0;
    return m[c.ne] * (2 * n.centre[1] + n.north[1]) + m[c.se] * (2 * n.centre[1] + n.south[1]) +
           m[c.nw] * (2 * n.centre[-1] + n.north[-1]) + m[c.sw] * (2 * n.centre[-1] + n.south[-1]);
  }
};

/// The cells that touch the unknowns of `grid`, those beyond natural sides among them: nx + 1 by ny + 1 numbers each, cell (i, j)
/// south-west of unknown (i, j).
template <class T>
struct CellOperator {
  static constexpr std::string_view name = "cell";
  static constexpr int coefficient_words = 1;  // of scalar K
  using View = CellView<T>;
  template <class To>
  using In = CellOperator<To>;

  GridShape grid;
  CellTensor tensor = CellTensor::scalar;
  std::array<Vector<T>, 3> k;
  Vector<T> m, rx2, ry2;

  CellOperator() = default;
  CellOperator(Context& ctx, const GridShape& shape, CellTensor kind = CellTensor::scalar, bool reaction = false)
      : grid(shape), tensor(kind) {
    const GridShape cells{shape.nx + 1, shape.ny + 1, shape.origin_x, shape.origin_y};
    for (int n = 0; n < static_cast<int>(kind); ++n) k[static_cast<std::size_t>(n)] = Vector<T>(ctx, cells);
    if (reaction) m = Vector<T>(ctx, cells);
    if (kind != CellTensor::scalar) return;
    rx2 = Vector<T>(ctx, cells.nx);
    ry2 = Vector<T>(ctx, cells.ny);
  }
  [[nodiscard]] GridShape shape() const { return grid; }
  [[nodiscard]] bool has_reaction() const { return !m.empty(); }

  [[nodiscard]] CellView<T> view() const {
    CellView<T> v;
    const auto stored = [this](const Vector<T>& numbers) { return (numbers.empty() ? k[0] : numbers).view().data; };
    for (std::size_t n = 0; n < k.size(); ++n) v.k[n] = stored(k[n]);
    v.m = stored(m);
    v.rx2 = stored(rx2);
    v.ry2 = stored(ry2);
    v.pitch = k[0].view().pitch;
    return v;
  }
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::forward<F>(f)(view());
  }

  [[nodiscard]] auto parts() { return parts_of<GridView<T>>(*this); }
  [[nodiscard]] auto parts() const { return parts_of<GridView<const T>>(*this); }
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
    const auto part = [](auto& numbers) { return numbers.empty() ? V() : V(numbers.view()); };
    return {part(a.k[0]), part(a.k[1]), part(a.k[2]), part(a.m), part(a.rx2), part(a.ry2)};
  }
};

}  // namespace stratum
