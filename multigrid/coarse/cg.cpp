// Conjugate gradients (solvers/krylov/cg.hpp) from zero to rounding, preconditioned by a smoother that is applied once
// forward and once backward. For symmetric positive definite operators of any size; waits for the stream in every iteration.

#include <algorithm>
#include <limits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/coarse/coarse_solver.hpp>
#include <stratum/solvers/krylov/cg.hpp>

namespace stratum {

void register_cg(CoarseSolverRegistry& registry);

namespace {

SmootherParams for_format(StorageFormat format) {
  SmootherParams params;
  params.format = format;
  return params;
}

/// One forward and one backward application: symmetric, as CG needs.
template <class T>
class SymmetricSmoothing final : public Preconditioner<T> {
 public:
  explicit SymmetricSmoothing(std::unique_ptr<Smoother<T>> smoother) : smoother_(std::move(smoother)) {}
  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override {
    const int sweeps = smoother_->sweeps_per_application();
    smoother_->smooth(ctx, a_, r, z, sweeps, Guess::zero, SweepOrder::forward);
    smoother_->smooth(ctx, a_, r, z, sweeps, Guess::given, SweepOrder::backward);
  }
  void set_up(Context& ctx, const GridOperator<T>& a) {
    a_ = a;
    smoother_->set_up(ctx, a);
  }
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  GridOperator<T> a_;
  std::unique_ptr<Smoother<T>> smoother_;
};

template <class T>
class CgCoarseSolver final : public CoarseSolver<T> {
 public:
  CgCoarseSolver(Context& ctx, std::string_view smoother, const GridLayout<2>& shape, const CoarseSolverParams& params)
      : preconditioner_(params.smoothers.make<T>(ctx, smoother, shape, for_format(params.format))), cg_(ctx, shape) {
    stop_.rtol = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    stop_.max_iterations = std::max(200, 2 * (shape.nx + shape.ny));
  }
  void set_up(Context& ctx, const Hierarchy<T>& hierarchy) override {
    a_ = hierarchy.level_operator(0);
    preconditioner_.set_up(ctx, a_);
  }
  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override {
    set(ctx, T(0), z);
    (void)cg_.solve(ctx, a_, &preconditioner_, r, z, stop_);
  }
  [[nodiscard]] bool waits() const override { return true; }

 private:
  GridOperator<T> a_;
  SymmetricSmoothing<T> preconditioner_;
  ConjugateGradients<T> cg_;
  StoppingParams stop_;
};

template <class T>
auto made_with(const char* smoother) {
  return [smoother](Context& ctx, const GridLayout<2>& shape, const CoarseSolverParams& params) {
    return std::make_unique<CgCoarseSolver<T>>(ctx, smoother, shape, params);
  };
}

}  // namespace

void register_cg(CoarseSolverRegistry& registry) {
  registry.add(
      {{}, "cg_adi", "conjugate gradients preconditioned by ADI", made_with<float>("adi"), made_with<double>("adi")});
  registry.add({{},
                "cg_jacobi",
                "conjugate gradients preconditioned by Jacobi",
                made_with<float>("jacobi"),
                made_with<double>("jacobi")});
}

}  // namespace stratum
