// An example of a coarse solver, added by tests/additions: sweeps of Gauss-Seidel, as many forward as backward.

#include <stratum/multigrid/coarse/coarse_solver.hpp>

namespace stratum {

void register_many_sweeps(CoarseSolverRegistry& registry);

namespace {

template <class T>
class ManySweeps final : public CoarseSolver<T> {
 public:
  ManySweeps(Context& ctx, const GridLayout<2>& shape, const CoarseSolverParams& params)
      : smoother_(params.smoothers.make<T>(ctx, "colour_gs", shape)) {}
  void set_up(Context& ctx, const Hierarchy<T>& hierarchy) override {
    a_ = hierarchy.level_operator(0);
    smoother_->set_up(ctx, a_);
  }
  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override {
    constexpr int sweeps = 40;
    smoother_->smooth(ctx, a_, r, z, sweeps, Guess::zero, SweepOrder::forward);
    smoother_->smooth(ctx, a_, r, z, sweeps, Guess::given, SweepOrder::backward);
  }
  [[nodiscard]] bool waits() const override { return false; }

 private:
  GridOperator<T> a_;
  std::unique_ptr<Smoother<T>> smoother_;
};

}  // namespace

void register_many_sweeps(CoarseSolverRegistry& registry) {
  registry.add<ManySweeps>("many_sweeps", "sweeps of Gauss-Seidel");
}

}  // namespace stratum
