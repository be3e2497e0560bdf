#pragma once

// Wide batches of y lines on the CPU, whole rows one after the other, for operators whose coefficients lie in memory: bands and
// coefficients of elements. For solvers/lines/cpu/thomas.hpp, and for chunks of lines (solvers/lines/partitioned_lines.hpp).

#include <algorithm>
#include <cstring>

#include <stratum/solvers/lines/cpu/elimination.hpp>

namespace stratum::line {

/// What lines are given beyond their ends, a number a line: the unknowns of other chunks (solvers/lines/partitioned_lines.hpp).
/// Null: zeros.
template <class T>
struct KnownNeighbours {
  const T *before, *behind;
};

/// A wide batch of y lines, row after row; lane k is column first + stride k.
template <class T, bool by_row_sums, bool is_cyclic>
struct WideBatch {
  int n, w;
  Eliminated<T> rows;
  alignas(64) T start[widest_batch], zeros[widest_batch] = {};
  // Of cyclic lines: what closes them, whose weights make place for the last unknowns.
  alignas(64) T weight[is_cyclic ? widest_batch : 1], first[is_cyclic ? widest_batch : 1],
      first_sum[is_cyclic ? widest_batch : 1];

  const T *before, *behind;  // the lines

  STRATUM_INLINE WideBatch(const LineScratch<T>& scratch, int positions, const KnownNeighbours<T>& ends)
      : n(positions), w(scratch.wide), rows{scratch.multipliers, scratch.multipliers + std::int64_t{w} * n,
                                            scratch.multipliers + 2 * std::int64_t{w} * n} {
    before = ends.before == nullptr ? zeros : ends.before;
    behind = ends.behind == nullptr ? zeros : ends.behind;
    std::fill_n(start, widest_batch, by_row_sums ? T(1) : T(0));
    if constexpr (is_cyclic) {
      std::fill_n(weight, widest_batch, T(1));
      std::fill_n(first, widest_batch, T(0));
      std::fill_n(first_sum, widest_batch, T(0));
    }
  }
  /// A row under elimination, and the one before.
  struct Row {
    const T *multipliers_before, *z_before, *sums_before;
    T *multipliers, *z, *sums;
  };
  STRATUM_INLINE Row row(int j) const {
    const std::int64_t here = std::int64_t{j} * w;
    T *const q = rows.multipliers + here, *const z = rows.z + here, *const s = rows.sums + here;
    return {j == 0 ? start : q - w, j == 0 ? before : z - w, j == 0 ? zeros : s - w, q, z, s};
  }
  /// What cyclic lines take of row j, and of the last row the last unknowns.
  STRATUM_INLINE void add_to_cyclic_lines(int j, int count) {
    if constexpr (is_cyclic) {
      const std::int64_t row = std::int64_t{j} * w;
      T *const q = rows.multipliers + row, *const z = rows.z + row, *const s = rows.sums + row;
      if (j < n - 1) {
#pragma omp simd
        for (int k = 0; k < count; ++k) {
          T f = first[k], f_sum = first_sum[k], product = weight[k];
          CyclicLine<T, T>::add(product, f, f_sum, q[k], z[k], s[k]);
          weight[k] = product, first[k] = f, first_sum[k] = f_sum;
        }
      } else {
#pragma omp simd
        for (int k = 0; k < count; ++k) {
          weight[k] = CyclicLine<T, T>::last(first[k], first_sum[k], q[k], z[k], s[k]);
          z[k] = s[k] = 0;
        }
      }
    }
  }
  /// Back-substitution. In packs, which compilers do not make of every second number: what lies between is written back as it
  /// was, up to the last line, behind which somebody else may write.
  template <class R, int stride, class Rhs>
  STRATUM_INLINE void substitute(const Rhs& rhs, int first_column, int count, T omega, T keep_old,
                                 const FieldView<T>& y) {
    keep_old == T(0) ? substitute<R, stride, false>(rhs.x, first_column, count, omega, keep_old, y)
                     : substitute<R, stride, true>(rhs.x, first_column, count, omega, keep_old, y);
  }
  template <class R, int stride, bool keeps>
  STRATUM_INLINE void substitute(const FieldView<const T>& x, int first_column, int count, T omega, T keep_old,
                                 const FieldView<T>& y) {
    using Pack = typename R::Pack;
    constexpr int width = R::width, bytes = width * static_cast<int>(sizeof(T));
    const int in_packs = count / width * width;
    T* const above = start;  // which elimination is done with
    std::copy_n(behind, count, above);
    for (int j = n - 1; j >= 0; --j) {
      const std::int64_t row = std::int64_t{j} * w;
      const T *const q = rows.multipliers + row, *const z = rows.z + row, *const s = rows.sums + row;
      const T* const old = &x(first_column, j);
      T* const to = &y(first_column, j);
      for (int k = 0; k < in_packs; k += width) {
        Pack right = R::pack(z + k);
        if constexpr (is_cyclic) right -= R::pack(s + k) * R::pack(weight + k);
        Pack value = substituted<by_row_sums, Pack>(R::pack(q + k), right, R::pack(above + k));
        R::pack(above + k) = value;
        if constexpr (is_cyclic) value += R::pack(weight + k);
        const auto relaxed = [&](Pack was) __attribute__((always_inline)) {
          return keeps ? keep_old * was + omega * value : omega * value;
        };
        if constexpr (stride == 1) {
          R::pack(to + k) = relaxed(keeps ? R::pack(old + k) : Pack{});
        } else {
          T* const low = to + 2 * k;
          const Pack between = simd::odds<T, bytes>(R::pack(low), R::pack(low + width));
          const Pack now =
              relaxed(keeps ? simd::evens<T, bytes>(R::pack(old + 2 * k), R::pack(old + 2 * k + width)) : Pack{});
          R::pack(low) = simd::woven_low<T, bytes>(now, between);
          const Pack high = simd::woven_high<T, bytes>(now, between);
          if (k + width < in_packs)
            R::pack(low + width) = high;
          else
            std::memcpy(low + width, &high, (width - 1) * sizeof(T));
        }
      }
      for (int k = in_packs; k < count; ++k) {
        T right = z[k];
        if constexpr (is_cyclic) right -= s[k] * weight[k];
        T value = above[k] = substituted<by_row_sums, T>(q[k], right, above[k]);
        if constexpr (is_cyclic) value += weight[k];
        to[stride * k] = keeps ? keep_old * old[stride * k] + omega * value : omega * value;
      }
    }
    if constexpr (is_cyclic)  // lines beside them may read their halo
      for (int k = 0; k < count; ++k) {
        const int i = first_column + stride * k;
        y(i, -1) = y(i, n - 1);
        y(i, n) = y(i, 0);
      }
  }
};

/// Where bands have coefficient (dx, dy) of node (i, j). The lower half of five lies with the neighbour.
template <int dx, int dy, class View>
STRATUM_INLINE auto place_of(const View& a, int i, int j) {
  constexpr int first = 9 - std::extent_v<decltype(View::band)>;
  if constexpr (band_index(dx, dy) >= first)
    return a.band[band_index(dx, dy) - first] + j * a.pitch + i;
  else
    return a.band[band_index(-dx, -dy) - first] + (j + dy) * a.pitch + i + dx;
}

/// The equations of y lines with bands at nodes (i, j), (i + stride, j), ..., a pack of them: what compilers make of every
/// second number takes twice as long. Of x no column is read but those beside a line.
template <class R, bool coupled, int stride, class View, class T>
struct BandColumns {
  using Pack = typename R::Pack;
  Pack lower, diagonal, upper, right;

  STRATUM_INLINE BandColumns(const LineRhs<Direction::y, coupled, View, T>& rhs, int i, int j)
      : lower(own(place_of<0, -1>(rhs.a, i, j))), diagonal(own(place_of<0, 0>(rhs.a, i, j))),
        upper(own(place_of<0, 1>(rhs.a, i, j))), right(own(&rhs.b(i, j))) {
    if constexpr (coupled) right -= column_sum<-1>(rhs, i, j) + column_sum<1>(rhs, i, j);
  }

 private:
  STRATUM_INLINE static Pack own(const T* from) { return stride == 1 ? R::pack(from) : R::evens(from, 0); }
  template <int dx>
  STRATUM_INLINE static Pack beside(const T* from) {
    return stride == 1 ? R::pack(from + dx) : dx > 0 ? R::odds(from, 0) : R::evens(from + dx, 0);
  }
  /// As StencilSums has it, which is for the device, too, and so for numbers alone.
  template <int dx>
  STRATUM_INLINE static Pack column_sum(const LineRhs<Direction::y, coupled, View, T>& rhs, int i, int j) {
    const T* const x = &rhs.x(i, j);
    return own(place_of<dx, -1>(rhs.a, i, j)) * beside<dx>(x - rhs.x.pitch) +
           own(place_of<dx, 0>(rhs.a, i, j)) * beside<dx>(x) +
           own(place_of<dx, 1>(rhs.a, i, j)) * beside<dx>(x + rhs.x.pitch);
  }
};

/// One wide batch of y lines with bands. Lines that fill no pack make one with lines of the pack before; a few go alone.
template <class R, int stride, bool is_cyclic, bool coupled, class View, class T>
STRATUM_INLINE void solve_wide_batch(const LineRhs<Direction::y, coupled, View, T> rhs, const int first,
                                     const int count, const int n, const T omega, const T keep, const FieldView<T> y,
                                     const LineScratch<T> scratch, const KnownNeighbours<T> ends = {}) {
  using Pack = typename R::Pack;
  constexpr int few = 4;
  WideBatch<T, is_cyclic, is_cyclic> lines(scratch, n, ends);
  const int in_packs = count / R::width * R::width;
  const bool shares = in_packs > 0 && count - in_packs > few;
  for (int j = 0; j < n; ++j) {
    const auto row = lines.row(j);
    const auto eliminate = [&](int k) __attribute__((always_inline)) {
      const BandColumns<R, coupled, stride, View, T> columns(rhs, first + stride * k, j);
      const Pack l = columns.lower, d = columns.diagonal, u = columns.upper;
      Pack c = R::pack(row.multipliers_before + k), z = R::pack(row.z_before + k), sum = Pack{};
      if constexpr (is_cyclic) sum = R::pack(row.sums_before + k);
      Elimination<Pack, T, is_cyclic, is_cyclic>::step(c, z, sum, l, is_cyclic ? l + d + u : d, u, columns.right);
      R::pack(row.multipliers + k) = c;
      R::pack(row.z + k) = z;
      if constexpr (is_cyclic) R::pack(row.sums + k) = sum;
    };
    for (int k = 0; k < in_packs; k += R::width) eliminate(k);
    if (shares) eliminate(count - R::width);
    for (int k = shares ? count : in_packs; k < count; ++k) {
      const int i = first + stride * k;
      const auto [l, d, u] = line_row<Direction::y, false>(rhs.a, i, j);
      T c = row.multipliers_before[k], z = row.z_before[k], sum = is_cyclic ? row.sums_before[k] : T(0);
      Elimination<T, T, is_cyclic, is_cyclic>::step(c, z, sum, l, is_cyclic ? l + d + u : d, u, rhs(i, j));
      row.multipliers[k] = c;
      row.z[k] = z;
      if constexpr (is_cyclic) row.sums[k] = sum;
    }
    lines.add_to_cyclic_lines(j, count);
  }
  lines.template substitute<R, stride>(rhs, first, count, omega, keep, y);
}

/// A row of numbers from column `start` on, as packs read it: in place, or what there is of columns first .. last in `row`,
/// zeros elsewhere.
template <class T>
struct RowPart {
  int start, first, last;
  bool whole;
  template <int count>
  STRATUM_INLINE const T* operator()(const T* column_0, T (&row)[count]) const {
    if (whole) return column_0 + start;
    for (int n = 0; n < count; ++n) row[n] = start + n >= first && start + n <= last ? column_0[start + n] : T(0);
    return row;
  }
};

/// The equations of y lines of an element-coefficient operator in row j, in packs: of every second column, or of all.
template <class R, bool coupled, int stride, class T, bool scalar>
struct CellColumns {
  using Pack = typename R::Pack;
  static constexpr int width = R::width, bytes = width * static_cast<int>(sizeof(T)), count = (stride + 1) * width + 2;
  const LineRhs<Direction::y, coupled, ElementView<T, scalar>, T>& rhs;
  int j;
  RowPart<T> nodes, cells;
  Pack right, sum, upper;

  /// `start`: the column before the first line of the pack.
  STRATUM_INLINE CellColumns(const LineRhs<Direction::y, coupled, ElementView<T, scalar>, T>& equations, int row,
                             int start)
      : rhs(equations),
        j(row), nodes{start, -1, rhs.b.nx, start + count <= rhs.b.nx + 1}, cells{start, 0, rhs.b.nx,
                                                                                 start >= 0 && nodes.whole} {
    format();
  }

 private:
  /// The columns before the lines, on them and behind them.
  struct Three {
    Pack before, on, behind;
  };
  STRATUM_INLINE Three three(const RowPart<T>& part, const T* column_0) const {
    alignas(64) T row[count];
    const T* const from = part(column_0, row);
    if constexpr (stride == 1) {
      return {R::pack(from), R::pack(from + 1), R::pack(from + 2)};
    } else {
      const Pack low = R::pack(from), high = R::pack(from + width), behind = R::pack(from + 2 * width);
      const Pack evens = simd::evens<T, bytes>(low, high);
      return {evens, simd::odds<T, bytes>(low, high), simd::one_ahead<T, bytes>(evens, behind)};
    }
  }
  STRATUM_INLINE void format() {
    const auto& a = rhs.a;
    const Three p_south = three(cells, a.p + j * a.pitch), p_north = three(cells, a.p + (j + 1) * a.pitch);
    CellPair<Pack> west, east;  // of the interval before the line, and of that behind it
    if constexpr (scalar) {
      const Three rx2 = three(cells, a.rx2);
      const T ry2_south = a.ry2[j], ry2_north = a.ry2[j + 1];
      west.p_south = p_south.on * rx2.on, east.p_south = p_south.behind * rx2.behind;
      west.p_north = p_north.on * rx2.on, east.p_north = p_north.behind * rx2.behind;
      west.q_south = p_south.on * ry2_south, east.q_south = p_south.behind * ry2_south;
      west.q_north = p_north.on * ry2_north, east.q_north = p_north.behind * ry2_north;
    } else {
      west.p_south = p_south.on, east.p_south = p_south.behind;
      west.p_north = p_north.on, east.p_north = p_north.behind;
      const Three q_south = three(cells, a.q + j * a.pitch), q_north = three(cells, a.q + (j + 1) * a.pitch);
      west.q_south = q_south.on, east.q_south = q_south.behind;
      west.q_north = q_north.on, east.q_north = q_north.behind;
    }
    west.s_south = west.s_north = west.m_south = west.m_north = Pack{};
    east.s_south = east.s_north = east.m_south = east.m_north = Pack{};
    west.has_s = east.has_s = !scalar && a.has_s;
    west.has_m = east.has_m = !scalar && a.has_m;
    if (west.has_s) {
      const T* const s = a.s + j * a.others_pitch;
      const Three south = three(cells, s), north = three(cells, s + a.others_pitch);
      west.s_south = south.on, east.s_south = south.behind, west.s_north = north.on, east.s_north = north.behind;
    }
    if (west.has_m) {
      const T* const m = a.m + j * a.others_pitch;
      const Three south = three(cells, m), north = three(cells, m + a.others_pitch);
      west.m_south = south.on, east.m_south = south.behind, west.m_north = north.on, east.m_north = north.behind;
    }
    sum = west.column_excess().right + east.column_excess().left;
    upper = west.coupling_north() + east.coupling_north();
    right = three(nodes, &rhs.b(0, j)).on;
    if constexpr (coupled) {
      const Three south = three(nodes, &rhs.x(0, j - 1)), centre = three(nodes, &rhs.x(0, j)),
                  north = three(nodes, &rhs.x(0, j + 1));
      ColumnOfThree<Pack> none, before, behind;
      none.south = none.centre = none.north = Pack{};
      before.south = south.before, before.centre = centre.before, before.north = north.before;
      behind.south = south.behind, behind.centre = centre.behind, behind.north = north.behind;
      right -= west.product(before, none).right + east.product(none, behind).left;
    }
  }
};

/// The same of an element-coefficient operator, by row sums.
template <class R, int stride, bool is_cyclic, bool coupled, class T, bool scalar>
STRATUM_INLINE void solve_wide_batch(const LineRhs<Direction::y, coupled, ElementView<T, scalar>, T>& rhs,
                                     const int first, const int count, const int n, const T omega, const T keep,
                                     const FieldView<T> y, const LineScratch<T>& scratch,
                                     const KnownNeighbours<T>& ends = {}) {
  using Pack = typename R::Pack;
  WideBatch<T, true, is_cyclic> lines(scratch, n, ends);
  alignas(64) T lower[widest_batch] = {};
  for (int k = 0; k < count; ++k) lower[k] = rhs.a.template coefficient<0, -1>(first + stride * k, 0);
  for (int j = 0; j < n; ++j) {
    const auto row = lines.row(j);
    for (int k = 0; k < count; k += R::width) {
      const CellColumns<R, coupled, stride, T, scalar> columns(rhs, j, first + stride * k - 1);
      Elimination<Pack, T, true, is_cyclic> line{R::pack(row.multipliers_before + k), R::pack(row.z_before + k),
                                                 Pack{}};
      if constexpr (is_cyclic) line.sum = R::pack(row.sums_before + k);
      line.step(R::pack(lower + k), columns.sum, columns.upper, columns.right);
      R::pack(row.multipliers + k) = line.multiplier;
      R::pack(row.z + k) = line.z;
      if constexpr (is_cyclic) R::pack(row.sums + k) = line.sum;
      R::pack(lower + k) = columns.upper;
    }
    lines.add_to_cyclic_lines(j, count);
  }
  lines.template substitute<R, stride>(rhs, first, count, omega, keep, y);
}

/// Lines that are solved side by side, and not every second one: those that nothing couples, of a matrix with nine bands, as
/// TridiagonalSolver has them.
template <bool coupled, class View>
constexpr bool side_by_side = false;
template <class T>
constexpr bool side_by_side<false, NineBandView<T>> = true;

/// Solves one batch of y lines of n positions with bands.
template <class R, bool is_cyclic, bool coupled, class View, class T>
STRATUM_INLINE void solve_batch(const LineRhs<Direction::y, coupled, View, T> rhs, const LineBatch batch, const int n,
                                const T omega, const T keep, const FieldView<T> y, const LineScratch<T> scratch) {
  if constexpr (side_by_side<coupled, View>)
    if (batch.stride == 1)
      return solve_wide_batch<R, 1, is_cyclic>(rhs, batch.first, batch.count, n, omega, keep, y, scratch);
  solve_wide_batch<R, 2, is_cyclic>(rhs, batch.first, batch.count, n, omega, keep, y, scratch);
}

}  // namespace stratum::line
