#pragma once

// Overlap: how a level that is partitioned into subdomains is smoothed by smoothers that know of no cut. A subdomain has rows
// of its neighbours beside its own, smooths them as well with zeros beyond, and only its own rows count:
//
//     0 0 0 0 0 0                                 zeros beyond
//     a a a a a a   `above` of them               rows of the subdomain above: wrong at the outer end, and less so row by row
//     x x x x x x   own rows
//     b b b b b b   `below` of them               of the subdomain below
//     0 0 0 0 0 0
//
// Every cut has two numbers of its own: of the rows that the subdomain above it takes from below, and the other way.
//
// Two exchanges a level and cycle: of b before smoothing, of x after prolongation. Rows enough leave nothing of the outer end's
// error in the own rows and those next to them, which the defect of the own coarse rows and the finer level read: two rows more
// than a smoother's reach, and along y lines the depth where
//
//     prod |g_k| < bound ,      g_k = -l_k / (d_k + u_k g_(k+1)) ,
//
// l, d, u being the line's entries towards the outer end, on the node and towards the cut, times 1.3, since x lines carry the
// error along as well. It is taken from the matrix of the subdomain that gives the rows, the largest of all columns. With a
// bound of 6e-8 (float) or 1e-16 (double) a cycle is that of the whole grid up to rounding. Where an iteration around it
// corrects what is left 1e-3 does, with half the rows and as many iterations; the cycle is the same linear map at every call by
// either.
//
// Words per unknown of the rows beside: those of smoothing. Memory: b, x and the operator once more.

#include <optional>
#include <type_traits>
#include <vector>

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/multigrid/overlap_rows.hpp>
#include <stratum/smoothers/smoother.hpp>

namespace stratum {

/// The bound where nothing is to be left but rounding.
template <class T>
inline constexpr double overlap_rounding = std::is_same_v<T, float> ? 6e-8 : 1e-16;

struct OverlapWish {
  static constexpr double corrected = 1e-3;  // the bound of a cycle that an iteration corrects
  double share;                              // of a subdomain's rows, at most so many are taken or given on either side
  double bound;
};

/// Rows beside every subdomain, by rank, for smoothing of this reach; the same on all subdomains. Nothing: somewhere these
/// would be more than the share. `a` is the subdomain's operator. All subdomains call it together; waits for the stream.
template <class T>
[[nodiscard]] std::optional<std::vector<OverlapRows>>
overlap_rows(Context& ctx, Communicator& communicator, const GridOperator<T>& a,
             const typename Smoother<T>::Reach& reach, const OverlapWish& wish);

/// A subdomain with the rows beside it, and the operator there.
template <class T>
class Overlap {
 public:
  /// Of the subdomain's operator, from which the neighbours take their rows. `rows` by rank, the same on all subdomains. All
  /// subdomains together.
  Overlap(Context& ctx, const GridOperator<T>& own, const std::vector<OverlapRows>& rows);

  /// Other numbers in the operator. Allocates nothing; waits for the stream.
  void set_up(Context& ctx, const GridOperator<T>& own);

  /// By rank.
  [[nodiscard]] const std::vector<OverlapRows>& rows() const { return rows_; }
  /// Without a cut.
  [[nodiscard]] const GridLayout<2>& shape() const { return shape_; }
  [[nodiscard]] const GridOperator<T>& level_operator() const { return a_; }
  /// The subdomain's own rows of a vector of shape().
  [[nodiscard]] FieldView<T> own(FieldView<T> all) const;
  /// Brings the neighbours' rows of such a vector. For the stream, one exchange.
  void fetch(Context& ctx, FieldView<T> all) const;

 private:
  /// Of rows in memory, `pitch` numbers each, the first own one at `first`, with `more` rows above them that the next subdomain
  /// has as well.
  void exchange_rows(Context& ctx, T* first, std::int64_t pitch, int more) const;
  /// Own rows of a coefficient to their place among all, and those of the neighbours.
  void put(Context& ctx, FieldView<const T> from, FieldView<T> to, int more, int column) const;
  void extend(Context& ctx, const TensorOperator<T>& own, TensorOperator<T>& all) const;
  void extend(Context& ctx, const ElementOperator<T>& own, ElementOperator<T>& all) const;
  template <class Bands>
  void extend(Context& ctx, const Bands& own, Bands& all) const;

  std::vector<OverlapRows> rows_;
  OverlapRows taken_, given_;  // given: to the subdomains below and above
  GridLayout<2> subdomain_, shape_;
  GridOperator<T> a_;
};

}  // namespace stratum
