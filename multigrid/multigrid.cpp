#include <stratum/multigrid/multigrid.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/blas.hpp>

namespace stratum {

std::vector<TensorMesh> mesh_hierarchy(const TensorMesh& fine) {
  std::vector<TensorMesh> meshes{fine};
  while (meshes.back().can_coarsen()) meshes.push_back(meshes.back().coarser());
  std::reverse(meshes.begin(), meshes.end());
  return meshes;
}

namespace {

// Half a second to factor, for what CG takes hundreds of iterations in every cycle; beyond, the factor outgrows the grid.
constexpr std::int64_t most_factor_bytes = std::int64_t{1} << 28;
constexpr double most_factor_multiplications = 4e9;

}  // namespace

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
  if (asked != CoarseSolver::automatic) return asked;
  const double width = std::min(shape.nx, shape.ny) + 1;
  const bool cheap = BandCholesky<double>::required_bytes(shape) <= most_factor_bytes &&
                     static_cast<double>(shape.nodes()) * width * width <= most_factor_multiplications;
  return shape.nodes() > 1 && cheap ? CoarseSolver::direct : CoarseSolver::cg_adi;
}

template <class T>
struct Multigrid<T>::Level {
  GridOperator<T> a;
  std::unique_ptr<Smoother<T>> smoother;
  Transfer<T> transfer;  // to the next coarser level
  Vector<T> b, x;        // right-hand side and correction, on all levels but the finest
  Recording recording;   // of a cycle from zero that starts here
  double seconds = 0;
};

namespace {

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
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  const GridOperator<T>& a_;
  std::unique_ptr<Smoother<T>> smoother_;
};

/// One unknown: an undamped Jacobi step is the solution.
template <class T>
class CoarseUnknown final : public Preconditioner<T> {
 public:
  CoarseUnknown(Context& ctx, const GridOperator<T>& a, const SmootherRegistry& registry)
      : a_(a), jacobi_(registry.make<T>(ctx, "jacobi", a.shape(), {LineOrder::zebra, 1.0})) {}
  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override {
    jacobi_->smooth(ctx, a_, r, z, 1, Guess::zero, SweepOrder::forward);
  }
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  const GridOperator<T>& a_;
  std::unique_ptr<Smoother<T>> jacobi_;
};

/// A x = b on the coarsest level.
template <class T>
class CoarseCg final : public Preconditioner<T> {
 public:
  CoarseCg(Context& ctx, const GridOperator<T>& a, CoarseSolver kind, const SmootherRegistry& registry)
      : a_(a),
        preconditioner_(a, registry.make<T>(ctx, kind == CoarseSolver::cg_adi ? "adi" : "jacobi", a.shape(), {})),
        cg_(ctx, a.shape()) {
    // To rounding, so that the cycle stays a constant linear map.
    stop_.rtol = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    // CG rests on plateaus, and starting anew from the outer iteration would lose the directions it has built.
    stop_.max_iterations = std::max(200, 2 * (a.shape().nx + a.shape().ny));
    stop_.patience = stop_.max_iterations;
  }
  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override {
    set(ctx, T(0), z);
    (void)cg_.solve(ctx, a_, &preconditioner_, r, z, stop_);
  }
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  const GridOperator<T>& a_;
  SymmetricSmoothing<T> preconditioner_;
  ConjugateGradients<T> cg_;
  StoppingParams stop_;
};

/// In double whatever T is: rounded to float, the matrix of a stretched mesh need not be positive definite.
template <class T>
class CoarseDirect final : public Preconditioner<T> {
 public:
  CoarseDirect(Context& ctx, const TensorMesh& mesh) : r_(ctx, mesh.unknowns()), z_(ctx, mesh.unknowns()) {
    try {
      factorisation_ = {ctx, assemble_laplace<double>(ctx, mesh, OperatorForm::tensor)};
    } catch (const UsageError& error) {
      throw UsageError(message("the coarsest level, ", mesh.x().size(), " x ", mesh.y().size(),
                               " cells with widths from ", mesh.smallest_width(), " on: ", error.what()));
    }
  }
  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override {
    copy<T, double>(ctx, r, r_.view());
    factorisation_.solve(ctx, r_.cview(), z_.view());
    copy<double, T>(ctx, z_.cview(), z);
  }
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  BandCholesky<double> factorisation_;
  Vector<double> r_, z_;
};

/// Adds the time until it goes out of scope, the Context's work included.
class Stopwatch {
 public:
  Stopwatch(const Context& ctx, double* seconds) : ctx_(ctx), seconds_(seconds) {
    if (seconds_ == nullptr) return;
    ctx_.synchronise();
    begin_ = std::chrono::steady_clock::now();
  }
  ~Stopwatch() {
    if (seconds_ == nullptr) return;
    ctx_.synchronise();
    *seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const Context& ctx_;
  double* seconds_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace

template <class T>
Multigrid<T>::Multigrid(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form,
                        const MultigridParams& params, const SmootherRegistry& registry)
    : params_(params) {
  expects(!meshes.empty(), "a hierarchy needs at least one mesh");
  coarse_solver_ = coarse_solver_for(meshes[0].unknowns(), params.coarse);
  expects(params.steps >= 0, "steps must be 0 or more, not ", params.steps);
  for (std::size_t l = 0; l < meshes.size(); ++l) {
    auto level = std::make_shared<Level>();
    const GridShape shape = meshes[l].unknowns();
    level->a = assemble_laplace<T>(ctx, meshes[l], form);
    level->smoother = registry.make<T>(ctx, params.smoother, shape, params.smoother_params);
    const int unit = level->smoother->elementary_steps();
    expects(params.steps % unit == 0, "smoother '", params.smoother, "' counts an application as ", unit,
            " steps; steps must be a multiple of ", unit, ", not ", params.steps);
    if (l > 0) level->transfer = Transfer<T>(ctx, meshes[l], meshes[l - 1]);
    if (l + 1 < meshes.size()) {
      level->b = Vector<T>(ctx, shape);
      level->x = Vector<T>(ctx, shape);
    }
    levels_.push_back(std::move(level));
  }
  const GridOperator<T>& coarsest = levels_[0]->a;
  if (coarsest.shape().nodes() == 0) return;
  recordable_ = coarsest.shape().nodes() == 1 && !params.measure_levels;
  if (coarsest.shape().nodes() == 1)
    coarse_ = std::make_shared<CoarseUnknown<T>>(ctx, coarsest, registry);
  else if (coarse_solver_ == CoarseSolver::direct)
    coarse_ = std::make_shared<CoarseDirect<T>>(ctx, meshes[0]);
  else
    coarse_ = std::make_shared<CoarseCg<T>>(ctx, coarsest, coarse_solver_, registry);

  const bool zebra_adi = params.smoother == "adi" && params.smoother_params.line_order == LineOrder::zebra &&
                         params.smoother_params.damping.value_or(1.0) == 1.0;
  if (!recordable_ || !zebra_adi || params.cycle != Cycle::v) return;
  std::vector<typename SmallLevels<T>::Level> small;
  for (const auto& level : levels_) small.push_back({&level->a, &level->transfer});
  const int suited = SmallLevels<T>::suited(ctx, small);
  for (int count = 1; count <= suited; ++count)
    small_.emplace_back(std::vector(small.begin(), small.begin() + count), params.steps, params.symmetric);
}

template <class T>
void Multigrid<T>::apply(Context& ctx, GridView<const T> r, GridView<T> z) {
  cycle(ctx, levels() - 1, r, z, Guess::zero);
}

template <class T>
void Multigrid<T>::cycle(Context& ctx, int level, GridView<const T> b, GridView<T> x, Guess guess) {
  expects(level >= 0 && level < levels(), "level must be between 0 and ", levels() - 1, ", not ", level);
  const auto work = [&] { cycle(ctx, level, b, x, guess, params_.cycle); };
  if (recordable_ && guess == Guess::zero)
    levels_[static_cast<std::size_t>(level)]->recording.run(ctx, b.data, x.data, work);
  else
    work();
}

template <class T>
void Multigrid<T>::cycle(Context& ctx, int index, GridView<const T> b, GridView<T> x, Guess guess, Cycle shape) {
  if (static_cast<std::size_t>(index) < small_.size() && guess == Guess::zero)
    return small_[static_cast<std::size_t>(index)].apply(ctx, b, x);
  Level& level = *levels_[static_cast<std::size_t>(index)];
  double* seconds = params_.measure_levels ? &level.seconds : nullptr;
  if (index == 0) {
    const Stopwatch watch(ctx, seconds);
    if (coarse_) coarse_->apply(ctx, b, x);
    return;
  }
  Level& coarser = *levels_[static_cast<std::size_t>(index) - 1];
  {
    const Stopwatch watch(ctx, seconds);
    level.smoother->smooth(ctx, level.a, b, x, params_.steps, guess, SweepOrder::forward);
    level.transfer.restrict_residual(ctx, level.a, b, x, coarser.b.view());
  }
  cycle(ctx, index - 1, coarser.b.cview(), coarser.x.view(), Guess::zero, shape);
  if (shape != Cycle::v && index > 1)
    cycle(ctx, index - 1, coarser.b.cview(), coarser.x.view(), Guess::given, shape == Cycle::w ? Cycle::w : Cycle::v);
  const Stopwatch watch(ctx, seconds);
  level.transfer.prolongate_add(ctx, coarser.x.cview(), x);
  level.smoother->smooth(ctx, level.a, b, x, params_.steps, Guess::given,
                         params_.symmetric ? SweepOrder::backward : SweepOrder::forward);
}

template <class T>
const GridOperator<T>& Multigrid<T>::level_operator(int level) const {
  return levels_.at(static_cast<std::size_t>(level))->a;
}

template <class T>
const Transfer<T>& Multigrid<T>::transfer(int level) const {
  expects(level >= 1 && level < levels(), "transfers belong to levels 1 to ", levels() - 1, ", not ", level);
  return levels_[static_cast<std::size_t>(level)]->transfer;
}

template <class T>
std::vector<LevelReport> Multigrid<T>::level_reports() const {
  std::vector<LevelReport> reports;
  for (const auto& level : levels_) reports.push_back({level->a.shape().nx, level->a.shape().ny, level->seconds});
  return reports;
}

template class Multigrid<float>;
template class Multigrid<double>;

}  // namespace stratum
