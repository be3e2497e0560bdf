#pragma once

// Rows of matrices that couple a node of a box with its 26 neighbours, for kernels. Three formats have the same members, of
// which two are symmetric:
//
//     BoxCellRows   K per cell, a number or three, beside the factors k, m of the axes (core/operators/box_operator.hpp). A cell has
//                       p = kxx k_x m_y m_z ,  q = kyy m_x k_y m_z ,  s = kzz m_x m_y k_z ,  m = c m_x m_y m_z ,
//                   its element matrix is the sum of p (+-1)(2|1)(2|1), q and s by exchange, and m (2|1)^3, (2|1): the same node
//                   | its neighbour in that direction. Cell (i, j, k) lies before node (i, j, k): there are n + 1 in a direction.
//     BoxBandRows   13 bands of entries to later nodes, in the order of memory, and what is left of the row,
//                       (A u)_i = sum over neighbours j of a_ij (u_j - u_i) + e_i u_i ,
//                   e >= 0 the sum of the row: natural boundaries have e = 0 without a difference.
//     BoxFullRows   the same of a matrix that is not symmetric, with bands to all neighbours; e of any sign.
//
//     product        A u at a node from differences of u alone (constants and c = 0 give exactly 0), and the diagonal entry
//     magnitude      |A| |u|
//     row            entries to the 26 neighbours that are unknowns, number 13 + x + 3 y + 9 z, and e
//     edge           coupling -a to the next node of a line, which may be a Dirichlet node in front of the first one; to the one
//                    before: `edge_before`, where that is another number
//     line_excess    diagonal less the couplings to the line's neighbours that are unknowns; of cells without a difference
//
// u has one number more at both ends of every axis. Rows of a slab are those of its own planes; of planes beside it they are
// right as far as the rows beside those are stored, too. Memory traffic per unknown: 4 words (scalar K) or 6, 16, and 29.

#include <array>
#include <cmath>

#include <stratum/core/config.hpp>
#include <stratum/core/field/field_3d.hpp>

namespace stratum {

/// Of a neighbour, -13 .. 13: x + 3 y + 9 z.
struct BoxOffset {
  int x, y, z;
  STRATUM_HOST_DEVICE constexpr explicit BoxOffset(int n) : x(0), y(0), z(n >= 5 ? 1 : n <= -5 ? -1 : 0) {
    const int rest = n - 9 * z;
    y = rest >= 2 ? 1 : rest <= -2 ? -1 : 0;
    x = rest - 3 * y;
  }
};
inline constexpr int box_neighbours = 13, box_row = 27;

/// k and m of an axis, from interval 0 on.
template <class T>
struct BoxAxisView {
  const T* k = nullptr;
  const T* m = nullptr;
};

/// Where the planes of a subdomain stand, of a box that ranks share: slabs across z.
struct BoxSlab {
  /// Planes beside a slab that matrices and weights hold, of levels that are distributed: coarse rows need what couples two of
  /// them, and weights by rows a third one.
  static constexpr int overlap = 3;

  int first = 0, planes = 0;   // its first plane, and how many there are of all ranks; 0: the box is no slab
  int before = 0, behind = 0;  // planes of the ranks beside that are held; fewer than `overlap` where there are no more
  int rank_before = -1, rank_behind = -1;
  bool around = false;  // z is periodic, through all ranks

  friend bool operator==(const BoxSlab&, const BoxSlab&) = default;
};

/// Unknowns of a box, and which directions go round. Of a slab its own planes, 0 .. nz - 1; then z is not periodic.
struct BoxShape {
  Extents<3> n;
  std::array<bool, 3> periodic{};
  BoxSlab slab{};

  [[nodiscard]] bool is_slab() const { return slab.planes > 0; }
  /// Planes that matrices hold.
  [[nodiscard]] int stored_planes() const { return slab.before + n.nz + slab.behind; }
  /// Planes of all ranks.
  [[nodiscard]] int all_planes() const { return is_slab() ? slab.planes : n.nz; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int size(int axis) const {
    return axis == 0 ? n.nx : axis == 1 ? n.ny : n.nz;
  }
  /// Whether node i of a direction is an unknown, or stands for one across the box, or of a slab for one of another rank.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool has(int axis, int i) const {
    const int before = axis == 2 ? slab.before : 0, behind = axis == 2 ? slab.behind : 0;
    return periodic[static_cast<std::size_t>(axis)] || (i >= -before && i < size(axis) + behind);
  }
  [[nodiscard]] GridLayout<3> layout(int ghost_width) const {
    GridLayout<3> layout = GridLayout<3>::box(n, periodic, ghost_width);
    if (!is_slab()) return layout;
    layout.global.nz = slab.planes;
    layout.first[2] = slab.first;
    if (slab.before > 0) layout.lower[2] = {Face::Kind::subdomain, slab.rank_before};
    if (slab.behind > 0) layout.upper[2] = {Face::Kind::subdomain, slab.rank_behind};
    return layout;
  }
  friend bool operator==(const BoxShape&, const BoxShape&) = default;
};

/// f(a, b, c) for a, b, c = 0, 1.
template <class F>
STRATUM_HOST_DEVICE STRATUM_INLINE void for_eight(const F& f) {
  f(0, 0, 0), f(1, 0, 0), f(0, 1, 0), f(1, 1, 0), f(0, 0, 1), f(1, 0, 1), f(0, 1, 1), f(1, 1, 1);
}

template <class T>
struct RowProduct {
  T value, diagonal;
};

template <class T>
struct BoxCellRows {
  using Number = T;
  BoxShape shape;
  std::array<FieldView<const T, 3>, 3> k;  // kxx, kyy, kzz of cells; all the same of a scalar K
  std::array<BoxAxisView<T>, 3> axes;
  T reaction = 0;

  struct Cell {
    T p[3], m;
  };
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Cell cell(int i, int j, int l) const {
    const T kx = axes[0].k[i], ky = axes[1].k[j], kz = axes[2].k[l];
    const T mx = axes[0].m[i], my = axes[1].m[j], mz = axes[2].m[l];
    return {{k[0](i, j, l) * kx * (my * mz), k[1](i, j, l) * ky * (mx * mz), k[2](i, j, l) * kz * (mx * my)},
            reaction * mx * (my * mz)};
  }
  /// For interpolation weights (multigrid/transfer/box_transfer.hpp).
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T conductance(int axis, int i, int j, int l) const {
    return cell(i, j, l).p[axis];
  }

  template <bool magnitudes = false, class View>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE RowProduct<T> product(const View& u, int i, int j, int l) const {
    const auto value = [](T v) __attribute__((always_inline)) { return magnitudes ? std::abs(v) : v; };
    const auto less = [](T a, T b) __attribute__((always_inline)) { return magnitudes ? a + b : a - b; };
    const T o = value(u(i, j, l));
    T sum = 0, diagonal = 0;
    const bool has_mass = reaction != 0;
    for_eight([&](int a, int b, int c) __attribute__((always_inline)) {
      const Cell e = cell(i + a, j + b, l + c);
      const int x = i + 2 * a - 1, y = j + 2 * b - 1, z = l + 2 * c - 1;
      const T ux = value(u(x, j, l)), uy = value(u(i, y, l)), uz = value(u(i, j, z)), uxy = value(u(x, y, l)),
              uxz = value(u(x, j, z)), uyz = value(u(i, y, z)), uxyz = value(u(x, y, z));
      sum += e.p[0] * (4 * less(o, ux) + 2 * (less(uy, uxy) + less(uz, uxz)) + less(uyz, uxyz));
      sum += e.p[1] * (4 * less(o, uy) + 2 * (less(ux, uxy) + less(uz, uyz)) + less(uxz, uxyz));
      sum += e.p[2] * (4 * less(o, uz) + 2 * (less(ux, uxz) + less(uy, uyz)) + less(uxy, uxyz));
      if (has_mass) sum += e.m * (8 * o + 4 * (ux + uy + uz) + 2 * (uxy + uxz + uyz) + uxyz);
      diagonal += 4 * (e.p[0] + e.p[1] + e.p[2]) + 8 * e.m;
    });
    return {sum, diagonal};
  }

  STRATUM_HOST_DEVICE STRATUM_INLINE double row(int i, int j, int l, double (&entries)[box_row]) const {
    for (double& a : entries) a = 0;
    double excess = 0;
    for_eight([&](int a, int b, int c) __attribute__((always_inline)) {
      const Cell e = cell(i + a, j + b, l + c);
      const double p = e.p[0], q = e.p[1], s = e.p[2], m = e.m;
      double* const here = entries + box_neighbours;
      const int x = 2 * a - 1, y = 3 * (2 * b - 1), z = 9 * (2 * c - 1);
      here[x] += 2 * (q + s - 2 * p) + 4 * m;
      here[y] += 2 * (p + s - 2 * q) + 4 * m;
      here[z] += 2 * (p + q - 2 * s) + 4 * m;
      here[x + y] += s - 2 * (p + q) + 2 * m;
      here[x + z] += q - 2 * (p + s) + 2 * m;
      here[y + z] += p - 2 * (q + s) + 2 * m;
      here[x + y + z] += m - (p + q + s);
      excess += 27 * m;
    });
    const bool inside = shape.has(0, i - 1) && shape.has(0, i + 1) && shape.has(1, j - 1) && shape.has(1, j + 1) &&
                        shape.has(2, l - 1) && shape.has(2, l + 1);
    if (inside) return excess;
    for (int n = 0; n < box_row; ++n)
      if (!shape.has(0, i + n % 3 - 1) || !shape.has(1, j + n / 3 % 3 - 1) || !shape.has(2, l + n / 9 - 1))
        entries[n] = 0;
    // Of a direction whose neighbour is none: K keeps 1, M keeps 2 of 3.
    excess = 0;
    for_eight([&](int a, int b, int c) {
      const Cell e = cell(i + a, j + b, l + c);
      const bool hx = shape.has(0, i + 2 * a - 1), hy = shape.has(1, j + 2 * b - 1), hz = shape.has(2, l + 2 * c - 1);
      const double kx = hx ? 0 : 1, ky = hy ? 0 : 1, kz = hz ? 0 : 1, mx = hx ? 3 : 2, my = hy ? 3 : 2, mz = hz ? 3 : 2;
      excess += e.p[0] * kx * my * mz + e.p[1] * mx * ky * mz + e.p[2] * mx * my * kz + e.m * mx * my * mz;
    });
    return excess;
  }

  /// What a cell gives to a coupling along `axis`.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static double of_edge(const Cell& e, int axis) {
    const double along = e.p[axis], others = static_cast<double>(e.p[(axis + 1) % 3]) + e.p[(axis + 2) % 3];
    return 4 * along - 2 * others - 4 * static_cast<double>(e.m);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double edge(int axis, int i, int j, int l) const {
    double sum = 0;
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 2; ++c)
        sum += of_edge(axis == 0   ? cell(i + 1, j + b, l + c)
                       : axis == 1 ? cell(i + b, j + 1, l + c)
                                   : cell(i + b, j + c, l + 1),
                       axis);
    return sum;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double line_excess(int axis, int i, int j, int l) const {
    double sum = 0;
    for (int corner = 0; corner < 8; ++corner) {
      const int a = corner & 1, b = corner >> 1 & 1, c = corner >> 2;
      const Cell e = cell(i + a, j + b, l + c);
      const int side = axis == 0 ? a : axis == 1 ? b : c, at = axis == 0 ? i : axis == 1 ? j : l;
      const double others = static_cast<double>(e.p[(axis + 1) % 3]) + e.p[(axis + 2) % 3];
      sum += 6 * others + 12 * static_cast<double>(e.m);
      if (!shape.has(axis, at + 2 * side - 1)) sum += of_edge(e, axis);
    }
    return sum;
  }
};

/// A row times u by differences, of rows that have an entry to each of 26 neighbours.
template <bool magnitudes, class Rows, class View>
[[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE RowProduct<typename Rows::Number>
product_of_bands(const Rows& rows, const View& u, int i, int j, int l) {
  using T = typename Rows::Number;
  const T o = u(i, j, l), e = rows.at(0, i, j, l);
  T sum = magnitudes ? std::abs(e * o) : e * o, diagonal = e;
  const auto add = [&](int n) __attribute__((always_inline)) {
    const BoxOffset d(n);
    const T behind = rows.entry(n, i, j, l), before = rows.entry(-n, i, j, l);
    const T to = u(i + d.x, j + d.y, l + d.z), from = u(i - d.x, j - d.y, l - d.z);
    if (magnitudes)
      sum += std::abs(behind) * (std::abs(to) + std::abs(o)) + std::abs(before) * (std::abs(from) + std::abs(o));
    else
      sum += behind * (to - o) + before * (from - o);
    diagonal -= behind + before;
  };
  add(1), add(2), add(3), add(4), add(5), add(6), add(7), add(8), add(9), add(10), add(11), add(12), add(13);
  return {sum, diagonal};
}

template <class T>
struct BoxBandRows {
  using Number = T;
  static constexpr int first_band = 0, bands = box_neighbours + 1;
  BoxShape shape;
  FieldView<T, 3> first;   // band 1
  std::int64_t apart = 0;  // numbers between bands, of which number 0, behind the last one, is e

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static constexpr int position(int n) {
    return n == 0 ? box_neighbours : n - 1;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE T& at(int n, int i, int j, int l) const {
    return first.data[position(n) * apart + l * first.strides.plane + j * first.strides.row + i];
  }
  /// To neighbour n of -13 .. 13 but 0.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T entry(int n, int i, int j, int l) const {
    const BoxOffset o(n);
    return n > 0 ? at(n, i, j, l) : at(-n, i + o.x, j + o.y, l + o.z);
  }

  template <bool magnitudes = false, class View>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE RowProduct<T> product(const View& u, int i, int j, int l) const {
    return product_of_bands<magnitudes>(*this, u, i, j, l);
  }

  STRATUM_HOST_DEVICE STRATUM_INLINE double row(int i, int j, int l, double (&entries)[box_row]) const {
    entries[box_neighbours] = 0;
    for (int n = 1; n <= box_neighbours; ++n) {
      entries[box_neighbours + n] = entry(n, i, j, l);
      entries[box_neighbours - n] = entry(-n, i, j, l);
    }
    return at(0, i, j, l);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double edge(int axis, int i, int j, int l) const {
    return -static_cast<double>(at(axis == 0 ? 1 : axis == 1 ? 3 : 9, i, j, l));
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double line_excess(int axis, int i, int j, int l) const {
    const int along = axis == 0 ? 1 : axis == 1 ? 3 : 9;
    double sum = at(0, i, j, l);
    for (int n = 1; n <= box_neighbours; ++n)
      if (n != along) sum -= static_cast<double>(entry(n, i, j, l)) + static_cast<double>(entry(-n, i, j, l));
    return sum;
  }
};

template <class T>
struct BoxFullRows {
  using Number = T;
  static constexpr int first_band = -box_neighbours, bands = box_row;
  BoxShape shape;
  FieldView<T, 3> first;   // band -13
  std::int64_t apart = 0;  // numbers between bands, of which number 0, behind the last one, is e

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static constexpr int position(int n) {
    return n == 0 ? box_row - 1 : n < 0 ? n + box_neighbours : n + box_neighbours - 1;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE T& at(int n, int i, int j, int l) const {
    return first.data[position(n) * apart + l * first.strides.plane + j * first.strides.row + i];
  }
  /// To neighbour n of -13 .. 13 but 0.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T entry(int n, int i, int j, int l) const { return at(n, i, j, l); }

  template <bool magnitudes = false, class View>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE RowProduct<T> product(const View& u, int i, int j, int l) const {
    return product_of_bands<magnitudes>(*this, u, i, j, l);
  }

  STRATUM_HOST_DEVICE STRATUM_INLINE double row(int i, int j, int l, double (&entries)[box_row]) const {
    for (int n = -box_neighbours; n <= box_neighbours; ++n) entries[box_neighbours + n] = n == 0 ? 0 : at(n, i, j, l);
    return at(0, i, j, l);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static constexpr int along(int axis) {
    return axis == 0 ? 1 : axis == 1 ? 3 : 9;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double edge(int axis, int i, int j, int l) const {
    return -static_cast<double>(at(along(axis), i, j, l));
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double edge_before(int axis, int i, int j, int l) const {
    return -static_cast<double>(at(-along(axis), i, j, l));
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double line_excess(int axis, int i, int j, int l) const {
    double sum = at(0, i, j, l);
    for (int n = 1; n <= box_neighbours; ++n)
      if (n != along(axis)) sum -= static_cast<double>(at(n, i, j, l)) + static_cast<double>(at(-n, i, j, l));
    return sum;
  }
};

}  // namespace stratum
