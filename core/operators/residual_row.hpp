#pragma once

// A row of r = b - A x on the CPU, in packs of the machine's register width, for code that simd::run_widest runs:
//
//     ResidualRow<bytes, View> row(a, b, x, j);
//     for (int i = row.begin; i < row.end; i += row.width) row.next(i);  // r at nodes i - width .. i - 1
//
// x may be updated in place: nodes before i - width may be overwritten after next(i) has returned.

#include <stratum/core/operators/element_row.hpp>
#include <stratum/core/operators/symmetric_nine_band.hpp>
#include <stratum/core/operators/tensor.hpp>

namespace stratum {

/// Of any storage format, node by node. A form that has a better one specialises it.
template <int bytes, class View>
class ResidualRow : public PackedRow<bytes, typename View::Number> {
 public:
  static constexpr bool in_packs = false;  // but node by node: a plain loop does as well
  using T = typename View::Number;
  using Base = PackedRow<bytes, T>;
  using Base::width;
  using typename Base::Pack;

  STRATUM_INLINE ResidualRow(const View& a, const FieldView<const T>& b, const FieldView<const T>& x, int j,
                             int /*ahead*/ = 1)
      : Base(x.nx), a_(a), b_(b), x_(x), j_(j) {}

  STRATUM_INLINE Pack next(int i) {
    first_ = i - width;
    return each([this](int n) __attribute__((always_inline)) { return b_(n, j_) - a_.sum(x_, n, j_); });
  }
  /// A x alone.
  STRATUM_INLINE Pack product(int i) {
    first_ = i - width;
    return each([this](int n) __attribute__((always_inline)) { return a_.sum(x_, n, j_); });
  }
  /// The same where the three rows of x are zero, whatever they hold.
  STRATUM_INLINE Pack next_of_zero(int i) {
    first_ = i - width;
    return each([this](int n) __attribute__((always_inline)) { return b_(n, j_); });
  }
  /// Coefficients of the nodes whose residual came last.
  STRATUM_INLINE Pack centre() const { return coefficient<0>(); }
  STRATUM_INLINE Pack west() const { return coefficient<-1>(); }
  STRATUM_INLINE Pack east() const { return coefficient<1>(); }

 private:
  template <int dx>
  STRATUM_INLINE Pack coefficient() const {
    return each([this](int n) __attribute__((always_inline)) { return a_.template coefficient<dx, 0>(n, j_); });
  }
  template <class F>
  STRATUM_INLINE Pack each(const F& f) const {
    alignas(bytes) T numbers[width] = {};
    if (this->inside(first_)) {
#pragma omp simd
      for (int k = 0; k < width; ++k) numbers[k] = f(first_ + k);
    } else {
      for (int k = this->lanes_begin(first_); k < this->lanes_end(first_); ++k) numbers[k] = f(first_ + k);
    }
    return simd::pack<bytes>(numbers);
  }

  View a_;
  FieldView<const T> b_, x_;
  int j_, first_ = 0;
};

/// A tensor operator: columns are summed along y once, and what interval i adds to the nodes beside it is formed once.
///
/// Neighbours come out of registers: loads across cache lines would cost more than the arithmetic. The rows that are needed
/// `ahead` rows later are asked for, as hardware prefetchers do not hide the memory's latency here.
template <int bytes, class Number, bool reaction>
class ResidualRow<bytes, TensorView<Number, reaction>> : public PackedRow<bytes, Number> {
 public:
  static constexpr bool in_packs = true;
  using T = Number;
  using Base = PackedRow<bytes, T>;
  using Base::width;
  using typename Base::Pack;

  STRATUM_INLINE ResidualRow(const TensorView<T, reaction>& a, const FieldView<const T>& b, const FieldView<const T>& x,
                             int j, int ahead = 1)
      : Base(x.nx), last_(last_column(x)), right_(&b(0, j)), south_(&x(0, j - 1)), centre_(&x(0, j)),
        north_(&x(0, j + 1)), kx_(a.kx), mx_(a.mx), right_ahead_(right_ + ahead * b.pitch),
        x_ahead_(north_ + ahead * x.pitch), ks_(a.ky[j]), kn_(a.ky[j + 1]), ms_(a.my[j]), mn_(a.my[j + 1]),
        own_(a.with_e(a.ky[j] + a.ky[j + 1], j)) {
    if constexpr (reaction) e_ = a.e[j];
    k_ = pack(kx_ - 1);
    m_ = pack(mx_ - 1);
    take(-1);
  }

  STRATUM_INLINE Pack next(int i) {
    __builtin_prefetch(right_ahead_ + i, 0, 2);
    __builtin_prefetch(x_ahead_ + i, 0, 2);
    const Pack right_side = next_of_zero(i);
    return right_side - taken(i);
  }
  STRATUM_INLINE Pack product(int i) {
    __builtin_prefetch(x_ahead_ + i, 0, 2);
    (void)next_of_zero(i);
    return taken(i);
  }
  STRATUM_INLINE Pack next_of_zero(int i) {
    k_before_ = k_;
    m_before_ = m_;
    k_ = pack(kx_ + i);
    m_ = pack(mx_ + i);
    return pack(right_ + i - width);
  }
  STRATUM_INLINE Pack centre() const {
    return weight(k_before_, m_before_) + simd::one_ahead<T, bytes>(weight(k_before_, m_before_), weight(k_, m_));
  }
  STRATUM_INLINE Pack west() const { return coupling(k_before_, m_before_); }
  STRATUM_INLINE Pack east() const { return simd::one_ahead<T, bytes>(west(), coupling(k_, m_)); }

 private:
  STRATUM_INLINE static Pack pack(const T* from) { return simd::pack<bytes>(from); }
  STRATUM_INLINE Pack coupling(Pack k, Pack m) const { return interval_coupling(k, m, mass_entry<0>(ms_, mn_), own_); }
  STRATUM_INLINE Pack weight(Pack k, Pack m) const { return interval_weight(k, m, mass_entry<0>(ms_, mn_), own_); }
  STRATUM_INLINE Pack taken(int i) {
    const Pack to_left = to_left_, to_right = to_right_;
    take(i);
    return to_right + simd::one_ahead<T, bytes>(to_left, to_left_);
  }
  /// Columns i .. i + width - 1; behind column `last_` x is zero, and behind the last row not in memory.
  STRATUM_INLINE void take(int i) {
    Pack mass{}, stiffness{};
    if (i <= last_) {
      const Pack south = pack(south_ + i), centre = pack(centre_ + i), north = pack(north_ + i);
      mass = mass_at(ms_, centre, south) + mass_at(mn_, centre, north);
      stiffness = stiffness_at(ks_, centre, south) + stiffness_at(kn_, centre, north);
      if constexpr (reaction) stiffness += e_ * centre;
    }
    const auto ends = interval_product(k_, m_, simd::one_back<T, bytes>(mass_, mass), mass,
                                       simd::one_back<T, bytes>(stiffness_, stiffness), stiffness);
    to_left_ = ends.left;
    to_right_ = ends.right;
    mass_ = mass;
    stiffness_ = stiffness;
  }

  int last_;
  const T *right_, *south_, *centre_, *north_, *kx_, *mx_, *right_ahead_, *x_ahead_;
  T ks_, kn_, ms_, mn_, own_, e_ = 0;
  Pack mass_{}, stiffness_{}, to_left_, to_right_, k_, m_, k_before_, m_before_;
};

/// Symmetric bands. Neighbours come out of registers, and the rows that are needed `ahead` rows later are asked for.
template <int bytes, class Number>
class ResidualRow<bytes, SymmetricNineBandView<Number>> : public PackedRow<bytes, Number> {
 public:
  static constexpr bool in_packs = false;  // where residuals alone are wanted a plain loop is quicker
  using T = Number;
  using View = SymmetricNineBandView<T>;
  using Base = PackedRow<bytes, T>;
  using Base::width;
  using typename Base::Pack;

  STRATUM_INLINE ResidualRow(const View& a, const FieldView<const T>& b, const FieldView<const T>& x, int j,
                             int ahead = 1)
      : Base(x.nx), last_(last_column(x)), right_(&b(0, j)), x_(&x(0, j)), x_pitch_(x.pitch), a_(a), row_(j * a.pitch),
        to_later_(ahead * a.pitch), x_to_later_((ahead + 1) * x.pitch), b_to_later_(ahead * b.pitch) {
    take<true>(-1);
  }

  STRATUM_INLINE Pack next(int i) {
    advance<true>(i);
    return simd::pack<bytes>(right_ + i - width) - sum(i - width);
  }
  STRATUM_INLINE Pack product(int i) {
    advance<true>(i);
    return sum(i - width);
  }
  /// The same where the three rows of x are zero, whatever they hold.
  STRATUM_INLINE Pack next_of_zero(int i) {
    advance<false>(i);
    return simd::pack<bytes>(right_ + i - width);
  }
  /// Entries of the nodes whose residual came last.
  STRATUM_INLINE Pack centre() const { return centre_; }
  STRATUM_INLINE Pack west() const { return to_east_.west(); }
  STRATUM_INLINE Pack east() const { return to_east_.here; }

 private:
  /// Numbers at the pack's nodes and at those beside them.
  struct Stream {
    Pack before, here, ahead;
    STRATUM_INLINE Stream() { before = here = ahead = Pack{}; }
    STRATUM_INLINE void shift(Pack next) { before = here, here = ahead, ahead = next; }
    [[nodiscard]] STRATUM_INLINE Pack west() const { return simd::one_back<T, bytes>(before, here); }
    [[nodiscard]] STRATUM_INLINE Pack east() const { return simd::one_ahead<T, bytes>(here, ahead); }
  };
  /// Of band k.
  STRATUM_INLINE Pack entries(int k, int i) const { return simd::pack<bytes>(a_.band[k] + row_ + i); }
  STRATUM_INLINE Pack entries_below(int k, int i) const { return simd::pack<bytes>(a_.band[k] + row_ - a_.pitch + i); }
  /// Columns i .. i + width - 1; behind the last one x is zero, and behind the last row not in memory.
  template <bool with_x>
  STRATUM_INLINE void take(int i) {
    const bool there = i <= last_;
    to_east_.shift(there ? entries(1, i) : Pack{});
    to_north_west_.shift(there ? entries_below(2, i) : Pack{});
    to_north_east_.shift(there ? entries_below(4, i) : Pack{});
    if constexpr (with_x) {
      south_.shift(there ? simd::pack<bytes>(x_ - x_pitch_ + i) : Pack{});
      centre_row_.shift(there ? simd::pack<bytes>(x_ + i) : Pack{});
      north_.shift(there ? simd::pack<bytes>(x_ + x_pitch_ + i) : Pack{});
    }
  }
  template <bool with_x>
  STRATUM_INLINE void advance(int i) {
    for (const T* const band : a_.band) __builtin_prefetch(band + row_ + to_later_ + i, 0, 2);
    __builtin_prefetch(right_ + b_to_later_ + i, 0, 2);
    if constexpr (with_x) __builtin_prefetch(x_ + x_to_later_ + i, 0, 2);
    take<with_x>(i);
    centre_ = entries(0, i - width);
  }
  STRATUM_INLINE Pack sum(int first) const {
    const Pack sw = to_north_east_.west(), s = entries_below(3, first), se = to_north_west_.east();
    const Pack nw = entries(2, first), n = entries(3, first), ne = entries(4, first);
    return centre_ * centre_row_.here + (west() * centre_row_.west() + east() * centre_row_.east()) +
           (sw * south_.west() + s * south_.here + se * south_.east()) +
           (nw * north_.west() + n * north_.here + ne * north_.east());
  }

  int last_;
  const T *right_, *x_;
  std::int64_t x_pitch_;
  const View a_;
  std::int64_t row_, to_later_, x_to_later_, b_to_later_;
  Stream south_, centre_row_, north_;               // x
  Stream to_east_, to_north_west_, to_north_east_;  // a; the last two of the row below
  Pack centre_;
};

/// A element-coefficient operator.
template <int bytes, class Number, bool scalar>
class ResidualRow<bytes, ElementView<Number, scalar>> : public CellRow<bytes, Number, scalar, false> {
 public:
  static constexpr bool in_packs = true;
  using Base = CellRow<bytes, Number, scalar, false>;
  STRATUM_INLINE ResidualRow(const ElementView<Number, scalar>& a, const FieldView<const Number>& b,
                             const FieldView<const Number>& x, int j, int ahead = 1)
      : Base(a, b, x, j, ahead) {}
};

/// take(i, r_ij) for all i.
template <int bytes, class View, class T, class Take>
STRATUM_INLINE void residual_row(const View& a, const FieldView<const T>& b, const FieldView<const T>& x, int j,
                                 const Take take) {
  if constexpr (!ResidualRow<bytes, View>::in_packs) {
#pragma omp simd
    for (int i = 0; i < x.nx; ++i) take(i, b(i, j) - a.sum(x, i, j));
  } else {
    ResidualRow<bytes, View> row(a, b, x, j);
    constexpr int width = row.width;
    for (int i = row.begin; i < row.end; i += width) {
      alignas(bytes) T residual[width];
      simd::pack<bytes>(residual) = row.next(i);
      const int first = i - width;
      if (row.inside(first)) {
#pragma omp simd
        for (int k = 0; k < width; ++k) take(first + k, residual[k]);
      } else {
        for (int k = row.lanes_begin(first); k < row.lanes_end(first); ++k) take(first + k, residual[k]);
      }
    }
  }
}

}  // namespace stratum
