#pragma once

// Lines along z of a box that ranks share in slabs (BoxSlab): a rank has a chunk of each. They are solved exactly, in three
// steps (solvers/lines/algebra/reduced_system.hpp): every rank eliminates the inner unknowns of its chunks, two numbers a line
// and rank are gathered and solved for the ends of all chunks, and every rank substitutes. Every rank solves the same reduced
// systems, so that all have the same bits.
//
// Memory: a number an unknown, and 7 numbers a line and rank, factored. A solve of n lines gathers 2 n numbers of every rank, and
// reads or writes 10 numbers an unknown. All ranks make one and call it together. It does not wait for the stream unless the
// communicator does.

#include <memory>

#include <stratum/core/device/context.hpp>
#include <stratum/core/operators/box_matrix.hpp>

namespace stratum {

struct AxisRange;  // core/field/for_each_node_3d.hpp
/// What kernels see of a direction's lines.
template <class T>
struct BoxLineNumbers;

template <class T>
class BoxChunks {
 public:
  /// Of A's lines along z, from A in double. Writes the numbers of a chunk to `numbers`.
  BoxChunks(Context& ctx, const BoxMatrix<double>& a, const BoxLineNumbers<T>& numbers);

  /// Of the lines of columns p, q: x = x + A_line^-1 r; r is scratch.
  void apply(Context& ctx, const BoxLineNumbers<T>& numbers, FieldView<T, 3> r, FieldView<T, 3> x, const AxisRange& p,
             const AxisRange& q) const;

 private:
  int me_, count_, nx_, lines_;
  bool cyclic_;
  SharedField<T> factors_, sides_;
  std::shared_ptr<Field<T, 3>> before_;  // what the unknown before the chunk gives to each row, eliminated
};

}  // namespace stratum
