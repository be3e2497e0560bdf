#pragma once

// The diagonal as preconditioner, z_i = r_i / a_ii, on vectors of any shape. Constant, symmetric. Three words per unknown; does
// not wait for the stream. Throws BreakdownError for a diagonal entry that is zero or has no reciprocal in T, naming its row.

#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/shared.hpp>

namespace stratum {

template <class T>
class JacobiPreconditioner final : public Preconditioner<T>, public Handle {
 public:
  /// `diagonal` has a number for every node of `shape`, along x first; `first_row` is what messages call the first.
  JacobiPreconditioner(Context& ctx, const GridLayout<2>& shape, const std::vector<double>& diagonal,
                       int first_row = 0);
  JacobiPreconditioner(Context& ctx, const SparseRows& a)
      : JacobiPreconditioner(ctx, GridLayout<2>::flat(a.rows), a.diagonal(), a.first_row) {}

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
  /// 1 / a_ii
  [[nodiscard]] FieldView<const T> inverse() const { return inverse_.cview(); }

 private:
  SharedField<T> inverse_;
};

}  // namespace stratum
