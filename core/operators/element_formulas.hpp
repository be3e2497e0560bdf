#pragma once

// The row formula of an element-coefficient operator (core/operators/element.hpp), interval by interval of a row of nodes. An
// interval lies between two columns of nodes, west and east, and has two cells, one south and one north of the row. Every
// residual and every sweep on CPU and GPU, for packs or single numbers, calls these functions.
//
// They are constexpr for the reason given in core/operators/tensor_formulas.hpp.

#include <stratum/core/config.hpp>
#include <stratum/core/operators/tensor_formulas.hpp>

namespace stratum {

/// x in one column, in the row and in those beside it.
template <class Number>
struct ColumnOfThree {
  Number south, centre, north;
};

/// What the two cells of an interval have, south and north of the row: p, q, and where there are such, s and m.
template <class Number>
struct CellPair {
  Number p_south, p_north, q_south, q_north;
  Number s_south, s_north, m_south, m_north;
  bool has_s, has_m;

  /// What they add to A x in the row, at both ends. Where a column or the row is zero, what the others make of it.
  STRATUM_INLINE constexpr AtEnds<Number> product(const ColumnOfThree<Number>& west,
                                                  const ColumnOfThree<Number>& east) const {
    const Number d_south = east.south - west.south, d = east.centre - west.centre, d_north = east.north - west.north;
    const Number west_south = west.centre - west.south, west_north = west.north - west.centre;
    const Number east_south = east.centre - east.south, east_north = east.north - east.centre;
    const Number flux = p_south * (2 * d + d_south) + p_north * (2 * d + d_north);
    Number left = q_south * (2 * west_south + east_south) - q_north * (2 * west_north + east_north) - flux;
    Number right = q_south * (2 * east_south + west_south) - q_north * (2 * east_north + west_north) + flux;
    if (has_s) {
      left += s_south * (east.south - west.centre) + s_north * (west.centre - east.north);
      right += s_south * (east.centre - west.south) + s_north * (west.north - east.centre);
    }
    if (has_m) {
      const Number at_west = 2 * west.centre + east.centre, at_east = 2 * east.centre + west.centre;
      left += m_south * (2 * at_west + (2 * west.south + east.south)) +
              m_north * (2 * at_west + (2 * west.north + east.north));
      right += m_south * (2 * at_east + (2 * east.south + west.south)) +
               m_north * (2 * at_east + (2 * east.north + west.north));
    }
    return {left, right};
  }
  /// To the diagonal entries at both ends.
  STRATUM_INLINE constexpr AtEnds<Number> weight() const {
    return with_s<4>(2 * ((p_south + p_north) + (q_south + q_north)));
  }
  /// The entry between the two ends.
  STRATUM_INLINE constexpr Number coupling() const {
    const Number a = (q_south + q_north) - 2 * (p_south + p_north);
    return has_m ? a + 2 * (m_south + m_north) : a;
  }
  /// To the entry of either end towards the node north of it, or south.
  STRATUM_INLINE constexpr Number coupling_north() const {
    const Number a = p_north - 2 * q_north;
    return has_m ? a + 2 * m_north : a;
  }
  STRATUM_INLINE constexpr Number coupling_south() const {
    const Number a = p_south - 2 * q_south;
    return has_m ? a + 2 * m_south : a;
  }
  /// To the sums of both ends' entries in the row, in the column: never a difference of large ones.
  STRATUM_INLINE constexpr AtEnds<Number> row_excess() const { return with_s<6>(3 * (q_south + q_north)); }
  STRATUM_INLINE constexpr AtEnds<Number> column_excess() const { return with_s<6>(3 * (p_south + p_north)); }

 private:
  template <int masses>
  STRATUM_INLINE constexpr AtEnds<Number> with_s(Number sum) const {
    if (has_m) sum += masses * (m_south + m_north);
    if (!has_s) return {sum, sum};
    const Number s = s_south - s_north;
    return {sum - s, sum + s};
  }
};

}  // namespace stratum
