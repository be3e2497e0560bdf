#pragma once

// Jacobi sweeps for A z = r as a preconditioner, the inner iteration of VPGCR, with A = D + N and D its diagonal:
//
//     z_0 = D^-1 r,   z_k = D^-1 (r - N z_(k-1))   until   max |z_k - z_(k-1)| < eps max |z_k|   (increment)
//                                                     or   ||r - A z_k||_2 < eps ||r||_2         (residual)
//
// z_0 is not counted; the test follows every sweep. Differs from call to call: for gcr, gmres, fcg, bicgstab. What there is at
// the limit goes to the outer iteration; numbers that are not finite are replaced by r. In float behind PrecisionCast.
// Per sweep: one product with N, an update of five words per unknown and one or two reductions, for which it waits.
// Source: Ikuno, Deki, Fujita, Numerical Investigations of Variable Preconditioned GCR with Mixed Precision on GPU, 2010,
// whose equation (3) is the test of the residual and whose Table 2 counts with the test of the increment.

#include <cstdint>

#include <stratum/core/names.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/solvers/preconditioners/jacobi.hpp>

namespace stratum {

enum class SweepTest : std::uint8_t { increment, residual };

template <>
inline constexpr auto names_of<SweepTest> = std::to_array<Named<SweepTest>>({{SweepTest::increment, "increment"},
                                                                             {SweepTest::residual, "residual"}});

struct JacobiSweepsParams {
  double tolerance = 1e-1;
  int max_sweeps = 100000;
  SweepTest test = SweepTest::increment;

  /// Throws UsageError unless the tolerance is positive and finite and the limit 1 or more.
  void validate() const;
};

/// a without its diagonal: N.
[[nodiscard]] SparseRows without_diagonal(const SparseRows& a);

template <class T>
class JacobiSweeps final : public Preconditioner<T>, public Handle {
 public:
  JacobiSweeps(Context& ctx, Shared<const LinearOperator<T>> off_diagonal, JacobiPreconditioner<T> diagonal,
               const JacobiSweepsParams& params = {});

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return false; }
  [[nodiscard]] bool is_symmetric() const override { return false; }
  [[nodiscard]] int iterations() const override { return work_->iterations; }

 private:
  Shared<const LinearOperator<T>> off_diagonal_;
  JacobiPreconditioner<T> diagonal_;
  JacobiSweepsParams params_;
  SharedField<T> t_;
  SharedField<T> d_;
  std::shared_ptr<InnerWork> work_ = std::make_shared<InnerWork>();
};

}  // namespace stratum
