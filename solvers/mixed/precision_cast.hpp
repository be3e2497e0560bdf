#pragma once

// PrecisionCast<High, Low>: uses a preconditioner M that works in precision Low on vectors in precision High,
//
//     z = s M^-1 (r / s) ,   s a power of two near the largest |r_i| .
//
// The scale s keeps the narrowed residual inside the range of Low. It is a power of two, so that scaling adds no rounding.
// Mixed-precision refinement, Krylov methods around a float cycle, and coarse levels in another precision use this class.
//
// r and z have the shape that the constructor is given. Errors: UsageError for vectors of another shape, and if a second thread
// uses the object. `apply` allocates nothing and does not wait for the stream, since s stays in the Context's memory; apply_dot
// returns (r, z) and waits. Memory traffic beside M: two words of High and two of Low per unknown for a maximum of r and a
// narrowed copy, and as much to widen z. Copies of the object share its vectors and its M.

#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/shared.hpp>

namespace stratum {

template <class High, class Low>
class PrecisionCast final : public Preconditioner<High>, public Handle {
 public:
  PrecisionCast(Context& ctx, const GridLayout<2>& shape, Shared<Preconditioner<Low>> m);

  void apply(Context& ctx, FieldView<const High> r, FieldView<High> z) override;
  [[nodiscard]] double apply_dot(Context& ctx, FieldView<const High> r, FieldView<High> z) override;
  [[nodiscard]] bool is_constant() const override { return m_->is_constant(); }
  [[nodiscard]] bool is_symmetric() const override { return m_->is_symmetric(); }
  [[nodiscard]] bool estimates_error() const override { return m_->estimates_error(); }
  [[nodiscard]] int iterations() const override { return m_->iterations(); }

 private:
  /// s^-1 z in z_
  void apply_scaled(Context& ctx, FieldView<const High> r, FieldView<High> z);

  Shared<Preconditioner<Low>> m_;
  SharedField<Low> r_, z_;
  SharedField<double> scale_;  // 1 / s and s
  std::shared_ptr<ReentrancyGuard> guard_ = std::make_shared<ReentrancyGuard>();
};

}  // namespace stratum
