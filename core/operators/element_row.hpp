#pragma once

// Rows of an element-coefficient operator on the CPU in packs (core/operators/element_formulas.hpp): rows of r = b - A x, and
// the equations of x lines, whose right-hand side is b minus the terms beside the line. Neighbours are taken from registers,
// and the contribution of an interval to the nodes at its two ends is computed once.

#include <stratum/core/operators/element.hpp>
#include <stratum/core/operators/packed_row.hpp>

namespace stratum {

/// `off_row`: only what lies off the row of the node goes to the right, as the equations of x lines have it.
template <int bytes, class T, bool scalar, bool off_row>
class CellRow : public PackedRow<bytes, T> {
 public:
  using Base = PackedRow<bytes, T>;
  using Base::width;
  using typename Base::Pack;

  /// Of row j from column `first` on, -1 or a whole number of packs later, where its own number has no meaning. Asks for what
  /// is read `ahead` rows later. `coupled`: x is not zero.
  STRATUM_INLINE CellRow(const ElementView<T, scalar>& a, const FieldView<const T>& b, const FieldView<const T>& x,
                         int j, int ahead, int first = -1, bool coupled = true)
      : Base(x.nx), a_(a), cells_(j * a.pitch), others_(j * a.others_pitch), last_column_(last_column(x)),
        last_cell_(x.nx), right_(&b(0, j)), south_(&x(0, j - 1)), centre_(&x(0, j)), north_(&x(0, j + 1)),
        to_later_(ahead * x.pitch), cells_to_later_((ahead + 1) * a.pitch), b_to_later_(ahead * b.pitch) {
    if constexpr (scalar) {
      ry2_south_ = a.ry2[j];
      ry2_north_ = a.ry2[j + 1];
    }
    column_.south = column_.centre = column_.north = Pack{};
    add_.left = add_.right = Pack{};
    coupled ? take<true>(first) : take<false>(first);
  }

  /// b less what is taken at nodes i - width .. i - 1, i = first + width, first + 2 width, ... .
  STRATUM_INLINE Pack next(int i) {
    const Pack taken = product(i);
    return pack(right_ + i - width) - taken;
  }
  /// What is taken.
  STRATUM_INLINE Pack product(int i) {
    const AtEnds<Pack> before = add_;
    advance<true>(i);
    return before.right + simd::one_ahead<T, bytes>(before.left, add_.left);
  }
  /// The same where x is zero, whatever it holds.
  STRATUM_INLINE Pack next_of_zero(int i) {
    advance<false>(i);
    return pack(right_ + i - width);
  }
  /// Entries of the nodes whose numbers came last.
  STRATUM_INLINE Pack centre() const {
    return before_.weight().right + simd::one_ahead<T, bytes>(before_.weight().left, pair_.weight().left);
  }
  STRATUM_INLINE Pack row_excess() const {
    return before_.row_excess().right + simd::one_ahead<T, bytes>(before_.row_excess().left, pair_.row_excess().left);
  }
  STRATUM_INLINE Pack west() const { return before_.coupling(); }
  STRATUM_INLINE Pack east() const { return simd::one_ahead<T, bytes>(before_.coupling(), pair_.coupling()); }

 private:
  STRATUM_INLINE static Pack pack(const T* from) { return simd::pack<bytes>(from); }
  template <bool with_x>
  STRATUM_INLINE void advance(int i) {
    before_ = pair_;
    take<with_x>(i);
  }
  /// Intervals i .. i + width - 1 with the columns at their ends; behind the last column x is zero, and behind the last cell
  /// there is nothing.
  template <bool with_x>
  STRATUM_INLINE void take(int i) {
    pair_.p_south = pair_.p_north = pair_.q_south = pair_.q_north = Pack{};
    pair_.s_south = pair_.s_north = pair_.m_south = pair_.m_north = Pack{};
    if (i <= last_cell_) {
      const T* const south = a_.p + cells_ + i;
      const Pack p_south = pack(south), p_north = pack(south + a_.pitch);
      __builtin_prefetch(south + cells_to_later_, 0, 2);
      if constexpr (scalar) {
        const Pack rx2 = pack(a_.rx2 + i);
        pair_.p_south = p_south * rx2, pair_.p_north = p_north * rx2;
        pair_.q_south = p_south * ry2_south_, pair_.q_north = p_north * ry2_north_;
      } else {
        const T* const q = a_.q + cells_ + i;
        pair_.p_south = p_south, pair_.p_north = p_north;
        pair_.q_south = pack(q), pair_.q_north = pack(q + a_.pitch);
      }
      if (!scalar && a_.has_s) take_others(a_.s + others_ + i, pair_.s_south, pair_.s_north);
      if (!scalar && a_.has_m) take_others(a_.m + others_ + i, pair_.m_south, pair_.m_north);
    }
    pair_.has_s = !scalar && a_.has_s;
    pair_.has_m = !scalar && a_.has_m;
    if constexpr (with_x) {
      const ColumnOfThree<Pack> none = {Pack{}, Pack{}, Pack{}};
      const ColumnOfThree<Pack> own = i <= last_column_ ? column(i) : none;
      __builtin_prefetch(north_ + to_later_ + i, 0, 2);
      const ColumnOfThree<Pack> west{simd::one_back<T, bytes>(column_.south, own.south),
                                     simd::one_back<T, bytes>(column_.centre, own.centre),
                                     simd::one_back<T, bytes>(column_.north, own.north)};
      add_ = pair_.product(west, own);
      column_ = own;
    }
    __builtin_prefetch(right_ + b_to_later_ + i, 0, 2);
  }
  STRATUM_INLINE ColumnOfThree<Pack> column(int i) const {
    return {pack(south_ + i), off_row ? Pack{} : pack(centre_ + i), pack(north_ + i)};
  }
  STRATUM_INLINE void take_others(const T* from, Pack& south, Pack& north) const {
    south = pack(from);
    north = pack(from + a_.others_pitch);
  }

  const ElementView<T, scalar> a_;
  std::int64_t cells_, others_;
  int last_column_, last_cell_;
  const T *right_, *south_, *centre_, *north_;
  std::int64_t to_later_, cells_to_later_, b_to_later_;
  T ry2_south_ = 0, ry2_north_ = 0;
  ColumnOfThree<Pack> column_;
  CellPair<Pack> pair_, before_;
  AtEnds<Pack> add_;
};

}  // namespace stratum
