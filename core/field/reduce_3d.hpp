#pragma once

// Reductions over the nodes of a box, as core/field/reduce.hpp has them in two dimensions. The rows of all planes play the part
// of the rows there: on a CPU, sums have the same bits for any partition into slabs of planes. A term has one of
//
//     double operator()(int i, int j, int k) const;
//     auto plane(int k) const;                            returns the term of two dimensions for plane k

#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/core/field/reduce.hpp>

namespace stratum {

namespace detail {

/// A term of a box by row: row r is row r % ny of plane r / ny.
template <class Term>
struct TermOfRows {
  static constexpr bool takes_maximum = [] {
    if constexpr (requires { Term::takes_maximum; })
      return Term::takes_maximum;
    else
      return false;
  }();
  static constexpr bool of_any_sign = OfAnySign<Term>, hot = Hot<Term>;
  Term term;
  int ny;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int row) const {
    const int k = row / ny;
    return plane_of(term, k)(i, row - k * ny);
  }
};

inline int rows_of(const Extents<3>& extents) { return static_cast<int>(extents.rows()); }

}  // namespace detail

/// The sum of term(i, j, k), or the largest.
template <class Term>
double reduce(Context& ctx, const Extents<3>& extents, const Term& term) {
  return reduce(ctx, extents.nx, detail::rows_of(extents), detail::TermOfRows<Term>{term, extents.ny});
}
/// Square root of the sum of value(i, j, k)^2, in the whole range of double.
template <class Value>
double norm_of(Context& ctx, const Extents<3>& extents, const Value& value) {
  return norm_of(ctx, extents.nx, detail::rows_of(extents), detail::TermOfRows<Value>{value, extents.ny});
}
/// max |value(i, j, k)|; NaN where there is one.
template <class Value>
double largest_of(Context& ctx, const Extents<3>& extents, const Value& value) {
  return largest_of(ctx, extents.nx, detail::rows_of(extents), detail::TermOfRows<Value>{value, extents.ny});
}

}  // namespace stratum
