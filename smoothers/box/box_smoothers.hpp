#pragma once

// Gauss-Seidel by points and by lines for the matrices of core/operators/box_matrix.hpp, in colours: nodes, or lines, of one
// colour are not coupled and are relaxed at once.
//
//     points   8 colours, by the parities of i, j, k
//     lines    along x, y or z: 4 colours, by the parities of the two other indices; A_line d = (b - A x)_line ,  x <- x + d
//
// A periodic direction of an odd number of nodes has a third colour, its last node. Parities count from the first node of the
// box, on several ranks too (BoxSlab): the step is that of one rank, up to rounding. Lines along z are then solved through all
// ranks (smoothers/box/box_chunks.hpp).
// `reversed` goes through the colours the
// other way round: before and after a symmetric coarse correction the two make a symmetric cycle.
//
// Lines are eliminated by what their rows have left, never by a difference: with couplings g_i to the node behind and e_i of
// the row,
//
//     D_i = g_i + E_i ,   E_(i+1) = e_(i+1) + g_i E_i / D_i ,   E_0 = e_0 ;      y_(i+1) = r_(i+1) + f_i y_i ,   d_i = y_i / D_i + f_i d_(i+1) ,
//     f_i = g_i / D_i .
//
// Of a matrix that is not symmetric row i + 1 couples with l_(i+1) to the node before: that takes the place of g_i in E_(i+1) and
// in y_(i+1).
//
// A periodic line's last node is taken out: what it gives to the others is 1 less the solution for the row sums. Set-up is in
// double, and keeps 2 numbers a node and direction, one more where it is periodic, or not symmetric.
//
// x has ghosts, which are brought up to date before every colour. r is scratch. Nothing waits for the stream.

#include <array>
#include <memory>

#include <stratum/core/device/context.hpp>
#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/smoothers/box/box_chunks.hpp>

namespace stratum {

/// One step x <- x + S (b - A x) by points. `other` is a vector like x that holds nothing: on a GPU the two may change places;
/// on a CPU it can be empty. `from_zero`: whatever x holds, it is taken to be zero.
template <class T>
void box_points(Context& ctx, const BoxMatrix<T>& a, FieldView<const T, 3> b, Field<T, 3>& x, Field<T, 3>& other,
                bool reversed, bool from_zero = false);

/// What kernels see of a direction's lines.
template <class T>
struct BoxLineNumbers {
  FieldView<T, 3> inverse, factor;  // 1 / D_i; f_(i-1), that of the node before
  FieldView<T, 3> lower;            // l_i / D_(i-1), where A is symmetric the same as `factor`
  FieldView<T, 3> around;           // of a periodic line what its last node gives
};

template <class T>
class BoxLines {
 public:
  BoxLines() = default;
  /// Of lines along `axis`, from A in double.
  BoxLines(Context& ctx, const BoxMatrix<double>& a, int axis);

  /// One step.
  void apply(Context& ctx, const BoxMatrix<T>& a, FieldView<const T, 3> b, FieldView<T, 3> x, FieldView<T, 3> r,
             bool reversed) const;

 private:
  int axis_ = 0;
  std::shared_ptr<std::array<Field<T, 3>, 4>> numbers_;
  BoxLineNumbers<T> view_{};
  std::shared_ptr<const BoxChunks<T>> chunks_;  // of lines along z that ranks share
};

}  // namespace stratum
