#pragma once

// The equations of lines of a tensor operator and of a scalar element-coefficient operator, formed from interval to interval,
// for the kernels that go over lines of both colours (solvers/lines/cuda/zebra_x.hpp, zebra_y.hpp,
// solvers/lines/cuda/persistent_columns.hpp). For CUDA sources only.
//
// In persistent kernels position p = i + 1 of a line holds node i: column -1 is where rows are aligned.

#include <stratum/solvers/lines/cuda/joined_chunks.hpp>
#include <stratum/solvers/lines/equations.hpp>

namespace stratum::cuda {

template <class T>
struct alignas(2 * sizeof(T)) Interval {
  T k, m;
};

/// Forms the equations of a line of a tensor operator from interval to interval and pushes them to a segment
/// (core/operators/tensor_formulas.hpp). Beside the line lie two others behind intervals (k, m) each; the line's own stiffness
/// is the sum of theirs and what a reaction term adds. At position 0, the boundary, 1 x = 0 is solved. Behind the last interval
/// of a line stands one that is `wall` times as stiff: the unknown there, and all behind it, are zero to rounding. `sums`: by
/// row sums, and for differences to the nearer line where lines are coupled.
template <int S, bool coupled, bool sums, class T>
class TensorEquations {
 public:
  /// Lines that are there: a line that is no unknown itself, or one beside it, which reads zeros then.
  struct Used {
    bool itself = true, a = true, b = true;
  };
  __device__ STRATUM_INLINE TensorEquations(T ka, T ma, T kb, T mb, T e, bool begins_line, Used used = {})
      : mass_(2 * (ma + mb)), stiffness_(ka + kb), begins_line_(begins_line) {
    stiffness_ += e;
    if constexpr (sums) {
      beside_ = {ka, ma, kb, mb, e, used.a, used.b};
    } else {
      beside_ = {used.a ? ka : T(0), used.a ? ma : T(0), used.b ? kb : T(0), used.b ? mb : T(0)};
    }
    if (!used.itself) {  // a mass matrix: behind the wall a stiffness alone would be singular to rounding
      stiffness_ = 1;
      mass_ = 0;
    }
  }
  /// Neighbours at the position before the segment.
  __device__ STRATUM_INLINE void start(T xa, T xb) {
    u_ = beside_.mass(xa, xb);
    v_ = beside_.stiffness(xa, xb);
  }
  /// The interval before position number c of the segment, c = 0 .. S; the neighbours and b there.
  template <class Segment>
  __device__ STRATUM_INLINE void step(Segment& segment, int c, Interval<T> interval, T xa, T xb, T b) {
    const T k = interval.k, m = interval.m;
    AtEnds<T> right{right_, b};
    if constexpr (coupled) {
      const T u = beside_.mass(xa, xb), v = beside_.stiffness(xa, xb);
      subtract_interval_product(right, k, m, u_, u, v_, v);
      u_ = u;
      v_ = v;
    }
    const T own = sums ? interval_excess(m, stiffness_) : interval_weight(k, m, mass_, stiffness_);
    T coupling = interval_coupling(k, m, mass_, stiffness_), diagonal = diagonal_ + own, f = right.left;
    diagonal_ = own;
    if (c == 1 && begins_line_) {
      if constexpr (sums) diagonal_ -= coupling;
      coupling = f = 0;
      diagonal = 1;
    }
    if (c > 0) segment.push(c - 1, coupling_, diagonal, coupling, f);
    coupling_ = coupling;
    right_ = right.right;
  }
  /// The entry between positions c - 1 and c of the segment, c >= 1, as it was pushed.
  [[nodiscard]] __device__ STRATUM_INLINE T coupling(int c, Interval<T> interval) const {
    return c == 1 && begins_line_ ? T(0) : interval_coupling(interval.k, interval.m, mass_, stiffness_);
  }
  [[nodiscard]] __device__ STRATUM_INLINE const LinesBeside<T, sums>& beside() const { return beside_; }

 private:
  LinesBeside<T, sums> beside_;
  T mass_, stiffness_;
  bool begins_line_;
  T u_ = 0, v_ = 0, diagonal_ = 0, coupling_ = 0, right_ = 0;
};

template <class T>
constexpr T wall = sizeof(T) == 4 ? T(1e15) : T(1e30);

/// Factor of interval p, before position p of a line of n unknowns, behind the line too.
template <class T>
__device__ STRATUM_INLINE T interval(const T* factors, int p, int n) {
  if (p <= n + 1) return factors[p - 1];
  const T last = factors[n] > 0 ? factors[n] : T(1);
  return p == n + 2 ? wall<T> * last : last;
}

/// Scalar K of the cells on both sides of a line, towards lines a and b, and 1 / h^2 of their interval.
template <class T>
struct CellsBeside {
  T a, b, r_along;
};

/// Forms the equations of a line of a scalar element-coefficient operator from interval to interval, as TensorEquations does.
/// An interval has two cells, towards line a and line b. Nodes before interval number `first` and behind number `last` are no
/// unknowns: there 1 x = 0 is solved.
template <int S, bool coupled, class T>
class ElementEquations {
 public:
  /// `ra` and `rb`: 1 / h^2 across the line.
  __device__ STRATUM_INLINE ElementEquations(T ra, T rb, int first, int last)
      : ra_(ra), rb_(rb), first_(first), last_(last) {}
  __device__ STRATUM_INLINE void start(T xa, T xb) { before_ = {xa, T(0), xb}; }
  /// The cells of the interval before position number c of the segment, c = 0 .. S; the neighbours and b there.
  __device__ STRATUM_INLINE void step(Segment<T, S, true, true>& segment, int c, const CellsBeside<T>& k, T xa, T xb,
                                      T b) {
    const CellPair<T> pair{k.a * k.r_along, k.b * k.r_along, k.a * ra_, k.b * rb_};
    AtEnds<T> add{};
    if constexpr (coupled) {
      const ColumnOfThree<T> here{xa, T(0), xb};
      add = pair.product(before_, here);
      before_ = here;
    }
    // What couples an unknown to what is none stays in its sum.
    const bool joins = first_ < c && c < last_, unknown = first_ < c && c <= last_;
    const T coupling = pair.coupling(), excess = pair.row_excess().left, own = joins ? excess : excess - coupling;
    if (c > 0) {
      const T diagonal = unknown ? sum_ + own : T(1), right = unknown ? right_ - add.left : T(0);
      segment.push(c - 1, coupling_, diagonal, joins ? coupling : T(0), right);
    }
    sum_ = own;
    coupling_ = joins ? coupling : T(0);
    right_ = b - add.right;
  }

 private:
  T ra_, rb_;
  int first_, last_;
  ColumnOfThree<T> before_{};
  T sum_ = 0, coupling_ = 0, right_ = 0;
};

}  // namespace stratum::cuda
