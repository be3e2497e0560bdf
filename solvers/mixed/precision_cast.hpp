#pragma once

// PrecisionCast<High, Low>: a preconditioner in Low precision used in High,
//
//     z = s M^-1 (r / s) ,   s a power of two near the largest |r_i| ,
//
// so that the narrowed defect neither overflows nor underflows and scaling adds no rounding. s stays in the memory of the
// Context: nothing waits for the stream. Mixed-precision refinement,
// mixed Krylov methods and a coarse level in another precision are all this one class. A handle: copies are the same object.

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
