#pragma once

// RowScaled: makes a preconditioner for A from a preconditioner M of D A,
//
//     z = M^-1 D r ,     D = diag(d), d > 0, node (i, j) at j nx + i .
//
// It is not symmetric, whatever M is. It is a handle: copies are the same object.
// Throws UsageError for vectors of another shape. Three words per unknown beside M; does not wait for the stream.

#include <span>

#include <stratum/core/field/field.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/shared.hpp>

namespace stratum {

/// z = D r, d flat
void times_rows(Context& ctx, const Field<double>& d, FieldView<const double> r, FieldView<double> z);

class RowScaled final : public Preconditioner<double>, public Handle {
 public:
  /// `d` on the host, one a node of the shape.
  RowScaled(Context& ctx, const GridLayout<2>& shape, std::span<const double> d, Shared<Preconditioner<double>> m);

  void apply(Context& ctx, FieldView<const double> r, FieldView<double> z) override;
  [[nodiscard]] bool is_constant() const override { return m_->is_constant(); }
  [[nodiscard]] bool is_symmetric() const override { return false; }
  [[nodiscard]] bool estimates_error() const override { return m_->estimates_error(); }
  [[nodiscard]] int iterations() const override { return m_->iterations(); }

 private:
  Shared<Preconditioner<double>> m_;
  SharedField<double> scaled_;
  std::shared_ptr<Field<double>> d_;
  std::shared_ptr<ReentrancyGuard> guard_ = std::make_shared<ReentrancyGuard>();
};

}  // namespace stratum
