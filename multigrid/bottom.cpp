#include <stratum/multigrid/bottom.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include <stratum/core/grid/blas.hpp>
#include <stratum/solvers/dense_inverse.hpp>
#include <stratum/solvers/iterative/cg.hpp>

namespace stratum {

std::string_view to_string(CoarseSolver solver) {
  switch (solver) {
    case CoarseSolver::cg_jacobi: return "cg_jacobi";
    case CoarseSolver::cg_adi: return "cg_adi";
    case CoarseSolver::direct: return "direct";
    case CoarseSolver::automatic: break;
  }
  return "automatic";
}

CoarseSolver coarse_solver_for(const GridShape& shape, CoarseSolver asked) {
  const auto unknowns = shape.nodes();
  if (unknowns == 1) return CoarseSolver::direct;
  if (asked != CoarseSolver::automatic) return asked;
  return unknowns <= DenseInverse<double>::max_unknowns ? CoarseSolver::direct : CoarseSolver::cg_adi;
}

namespace {

template <class T>
class DirectBottom final : public Bottom<T> {
 public:
  DirectBottom(Context& ctx, const Hierarchy<T>& hierarchy)
      : inverse_(ctx, hierarchy.coarsest_in_double(), hierarchy.is_singular()) {}
  void update(Context& ctx, const Hierarchy<T>& hierarchy) override {
    inverse_.factor(ctx, hierarchy.coarsest_in_double());
  }
  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override { inverse_.apply(ctx, r, z); }
  [[nodiscard]] bool waits() const override { return false; }

 private:
  DenseInverse<T> inverse_;
};

/// One forward and one backward application: symmetric, as CG needs.
template <class T>
class SymmetricSmoothing final : public Preconditioner<T> {
 public:
  SymmetricSmoothing(const GridOperator<T>& a, std::unique_ptr<Smoother<T>> smoother)
      : a_(a), smoother_(std::move(smoother)) {}
  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override {
    const int steps = smoother_->elementary_steps();
    smoother_->smooth(ctx, a_, r, z, steps, Guess::zero, SweepOrder::forward);
    smoother_->smooth(ctx, a_, r, z, steps, Guess::given, SweepOrder::backward);
  }
  void set_operator(const GridOperator<T>& a) { a_ = a; }
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  GridOperator<T> a_;
  std::unique_ptr<Smoother<T>> smoother_;
};

template <class T>
class CgBottom final : public Bottom<T> {
 public:
  CgBottom(Context& ctx, const GridOperator<T>& a, std::string_view smoother, const SmootherRegistry& registry)
      : a_(a), preconditioner_(a, registry.make<T>(ctx, smoother, a.shape(), {})), cg_(ctx, a.shape()) {
    stop_.rtol = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    stop_.max_iterations = std::max(200, 2 * (a.shape().nx + a.shape().ny));
  }
  void update(Context& /*ctx*/, const Hierarchy<T>& hierarchy) override {
    a_ = hierarchy.level_operator(0);
    preconditioner_.set_operator(a_);
  }
  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override {
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

}  // namespace

template <class T>
std::unique_ptr<Bottom<T>> make_bottom(Context& ctx, const Hierarchy<T>& hierarchy, CoarseSolver asked,
                                       const SmootherRegistry& registry) {
  const GridOperator<T>& a = hierarchy.level_operator(0);
  if (a.shape().nodes() == 0) return nullptr;
  const CoarseSolver kind = coarse_solver_for(a.shape(), asked);
  expects(kind == CoarseSolver::direct || !hierarchy.is_singular(),
          "the coarsest level of a singular operator is solved ", "directly, of up to ", DenseInverse<T>::max_unknowns,
          " unknowns; it has ", a.shape().nodes());
  if (kind != CoarseSolver::direct)
    return std::make_unique<CgBottom<T>>(ctx, a, kind == CoarseSolver::cg_adi ? "adi" : "jacobi", registry);
  try {
    return std::make_unique<DirectBottom<T>>(ctx, hierarchy);
  } catch (const BreakdownError& error) {
    const TensorMesh& mesh = hierarchy.meshes().front();
    throw BreakdownError(message("the coarsest level, ", mesh.x().size(), " x ", mesh.y().size(),
                                 " cells with widths from ", mesh.smallest_width(), " on: ", error.what()));
  }
}

template std::unique_ptr<Bottom<float>> make_bottom(Context&, const Hierarchy<float>&, CoarseSolver,
                                                    const SmootherRegistry&);
template std::unique_ptr<Bottom<double>> make_bottom(Context&, const Hierarchy<double>&, CoarseSolver,
                                                     const SmootherRegistry&);

}  // namespace stratum
