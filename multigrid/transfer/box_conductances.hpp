#pragma once

// For multigrid/transfer/box_transfer.cpp: conductances on the two sides of a node, of cells, stored ones, or by rows in bands.
// multigrid/transfer/box_transfer.hpp has the equations.

#include <array>
#include <cmath>
#include <type_traits>

#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/multigrid/transfer/box_transfer.hpp>

namespace stratum {

/// Conductances that are stored, from the layer before a slab's first plane on.
inline FieldView<double, 3> from_own(const BoxShape& shape, Field<double, 3>& g) {
  FieldView<double, 3> view = g.view();
  view.data += shape.slab.before * view.strides.plane;
  return view;
}
inline FieldView<const double, 3> from_own(const BoxShape& shape, const Field<double, 3>& g) {
  FieldView<const double, 3> view = g.cview();
  view.data += shape.slab.before * view.strides.plane;
  return view;
}

struct StoredConductances {
  std::array<FieldView<const double, 3>, 3> g;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double conductance(int axis, int i, int j, int k) const {
    return g[static_cast<std::size_t>(axis)](i, j, k);
  }
};

/// Those of a row in bands: couplings to a side. Beside Dirichlet nodes couplings across the side are missing, which of tensor
/// products A = k_x m_y m_z + m_x (k_y m_z + m_y k_z) are m_x(1) / sum m_x of what is left of the row: without them a strong k_y
/// makes the sum negative. The quotient is that of the couplings on the other side of y, or of z.
template <class Rows>
struct RowConductances {
  Rows rows;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool has(int axis, int behind, const int (&at)[3]) const {
    return rows.shape.has(axis, at[axis] + 2 * behind - 1);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE static int along(const BoxOffset& o, int axis) {
    return axis == 0 ? o.x : axis == 1 ? o.y : o.z;
  }
  /// To any node.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_coupled(const int (&at)[3]) const {
    for (int n = -box_neighbours; n <= box_neighbours; ++n)
      if (n != 0 && rows.entry(n, at[0], at[1], at[2]) != 0) return true;
    return false;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double left(const int (&at)[3]) const {
    const double e = rows.at(0, at[0], at[1], at[2]);
    return e > 0 ? e : 0;
  }
  /// m_x(1) / sum m_x of x = `axis`.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double share(int axis, int behind, const int (&at)[3]) const {
    double most = 0, of_most = 0;
    for (int across = 0; across < 3; ++across)
      for (int there = 0; there < 2; ++there) {
        if (across == axis || has(across, 1 - there, at) || !has(across, there, at)) continue;
        double all = 0, towards = 0;
        for (int n = -box_neighbours; n <= box_neighbours; ++n) {
          const BoxOffset o(n);
          if (along(o, across) != 2 * there - 1) continue;
          const double a = rows.entry(n, at[0], at[1], at[2]);
          all += a;
          towards += along(o, axis) == 2 * behind - 1 ? a : 0;
        }
        if (!(std::abs(all) > std::abs(most))) continue;
        most = all;
        of_most = towards;
      }
    constexpr double largest = 1.0 / 3;
    const double quotient = most != 0 ? of_most / most : 0;
    return quotient < 0 ? 0 : quotient > largest ? largest : quotient;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double inner(int axis, int behind, const int (&at)[3]) const {
    double sum = 0;
    for (int n = 1; n <= box_neighbours; ++n) {
      const BoxOffset o(n);
      const int d = along(o, axis);
      if (d != 0) sum -= rows.entry(d == 2 * behind - 1 ? n : -n, at[0], at[1], at[2]);
    }
    if (!(sum > 0) && left(at) > 0) sum += left(at) * share(axis, behind, at);
    return sum > 0 ? sum : 0;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double of_side(int axis, int behind, const int (&at)[3]) const {
    return has(axis, behind, at) ? inner(axis, behind, at) : left(at);  // what couples it to Dirichlet nodes
  }
};

/// Entries of a matrix that is not symmetric and of the transposed one, added up with these weights.
struct RowsAndColumns {
  BoxFullRows<double> rows;
  double of_row, of_column;
  BoxShape shape = rows.shape;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double entry(int n, int i, int j, int k) const {
    const BoxOffset o(n);
    return of_row * rows.at(n, i, j, k) + of_column * rows.at(-n, i + o.x, j + o.y, k + o.z);
  }
  /// Sums of rows and columns, for n = 0.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double at(int /*zero*/, int i, int j, int k) const {
    double sum = (of_row + of_column) * rows.at(0, i, j, k);
    for (int n = -box_neighbours; n <= box_neighbours; ++n) {
      const BoxOffset o(n);
      if (n != 0) sum += of_column * (rows.at(-n, i + o.x, j + o.y, k + o.z) - rows.at(n, i, j, k));
    }
    return sum;
  }
};

/// use(conductances), of cells, stored ones, or those of rows or columns.
template <class F>
void with_conductances(const BoxMatrix<double>& a, const BoxConductances& g, bool columns, const F& use) {
  a.with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
    if constexpr (requires { rows.conductance(0, 0, 0, 0); }) {
      use(rows);
    } else if constexpr (std::is_same_v<Rows, BoxFullRows<double>>) {
      use(RowConductances<RowsAndColumns>{{rows, columns ? 0 : 0.5, columns ? 1 : 0.5}});
    } else {
      if (g.of_cells)
        use(StoredConductances{
            {from_own(a.shape(), g.g[0]), from_own(a.shape(), g.g[1]), from_own(a.shape(), g.g[2])}});
      else
        use(RowConductances<Rows>{rows});
    }
  });
}

/// The sum of g over the four cells of node `at` on a side of direction `axis`: 0 before it, 1 behind it.
template <class Conductances>
STRATUM_HOST_DEVICE STRATUM_INLINE double side(const Conductances& g, int axis, int behind, const int (&at)[3]) {
  double sum = 0;
  for (int b = 0; b < 2; ++b)
    for (int c = 0; c < 2; ++c) {
      int cell[3];
      cell[axis] = at[axis] + behind;
      cell[(axis + 1) % 3] = at[(axis + 1) % 3] + b;
      cell[(axis + 2) % 3] = at[(axis + 2) % 3] + c;
      sum += g.conductance(axis, cell[0], cell[1], cell[2]);
    }
  return sum;
}
template <class Rows>
STRATUM_HOST_DEVICE STRATUM_INLINE double side(const RowConductances<Rows>& g, int axis, int behind,
                                               const int (&at)[3]) {
  return g.of_side(axis, behind, at);
}

/// Whether a node couples to others at all.
template <class Conductances>
STRATUM_HOST_DEVICE STRATUM_INLINE bool is_coupled(const Conductances& /*g*/, const int (&/*at*/)[3]) {
  return true;
}
template <class Rows>
STRATUM_HOST_DEVICE STRATUM_INLINE bool is_coupled(const RowConductances<Rows>& g, const int (&at)[3]) {
  return g.is_coupled(at);
}

}  // namespace stratum
