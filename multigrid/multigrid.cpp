#include <stratum/multigrid/multigrid.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/grid/blas.hpp>
#include <stratum/solvers/dense_inverse.hpp>

namespace stratum {

std::vector<TensorMesh> mesh_hierarchy(const TensorMesh& fine) {
  std::vector<TensorMesh> meshes{fine};
  while (meshes.back().can_coarsen()) meshes.push_back(meshes.back().coarser());
  std::reverse(meshes.begin(), meshes.end());
  return meshes;
}

std::vector<SmootherChoice> level_smoothers(const std::vector<TensorMesh>& meshes, const MultigridParams& params) {
  expects(!params.steps || *params.steps >= 0, "steps must be 0 or more, not ", *params.steps);
  if (params.smoother == "auto") return choose_smoothers(meshes, params.smoother_params, params.steps);
  return {meshes.size(), {params.smoother, params.smoother_params, params.steps.value_or(4), ""}};
}

std::optional<std::size_t> diagonalised_level(const Context& ctx, const std::vector<TensorMesh>& meshes,
                                              const MultigridParams& params) {
  if (!ctx.on_gpu() || params.coarse != CoarseSolver::automatic || meshes.front().unknowns().nodes() == 0)
    return std::nullopt;
  for (std::size_t l = meshes.size() - 1; l-- > 0;) {
    const GridShape shape = meshes[l].unknowns();
    if (std::max(shape.nx, shape.ny) <= params.diagonalise_below) return l;
  }
  return std::nullopt;
}

TensorMesh uniform_mesh(const GridShape& unknowns) {
  expects(unknowns.nx >= 1 && unknowns.ny >= 1, "a matrix needs unknowns, not ", unknowns.nx, " x ", unknowns.ny);
  const auto ones = [](int nodes) { return Intervals(std::vector<double>(static_cast<std::size_t>(nodes) + 1, 1.0)); };
  return {ones(unknowns.nx), ones(unknowns.ny), "widths not known"};
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
  GridOperator<T> a_;
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
  GridOperator<T> a_;
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
    stop_.max_iterations = std::max(200, 2 * (a.shape().nx + a.shape().ny));
  }
  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override {
    set(ctx, T(0), z);
    (void)cg_.solve(ctx, a_, &preconditioner_, r, z, stop_);
  }
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  GridOperator<T> a_;
  SymmetricSmoothing<T> preconditioner_;
  ConjugateGradients<T> cg_;
  StoppingParams stop_;
};

/// In double whatever T is: rounded to float, the matrix of a stretched mesh need not be positive definite.
template <class T>
class CoarseDirect final : public Preconditioner<T> {
 public:
  CoarseDirect(Context& ctx, const GridOperator<double>& a)
      : factorisation_(ctx, a), r_(ctx, a.shape()), z_(ctx, a.shape()) {}
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

/// Where an operator keeps its coefficients.
template <class T>
std::array<const void*, 9> addresses(const GridOperator<T>& a) {
  std::array<const void*, 9> found{};
  std::visit(
      [&found](const auto& storage) {
        if constexpr (requires { storage.band; })
          for (std::size_t k = 0; k < storage.band.size(); ++k) found[k] = storage.band[k].view().data;
        else
          found = {storage.kx.view().data, storage.mx.view().data, storage.ky.view().data,
                   storage.my.view().data, storage.e.view().data,  storage.column_e.view().data};
      },
      a.storage());
  return found;
}

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
class Multigrid<T>::State {
 public:
  State(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form, const OperatorTerms& terms,
        const MultigridParams& params, const SmootherRegistry& registry);
  State(Context& ctx, const GridOperator<double>& a, const TensorMesh& mesh, const MultigridParams& params,
        const SmootherRegistry& registry);
  void update(Context& ctx, const GridOperator<double>& a);
  void cycle(Context& ctx, int level, GridView<const T> b, GridView<T> x, Guess guess);

  struct Level {
    GridOperator<T> a;
    SmootherChoice choice;
    std::unique_ptr<Smoother<T>> smoother;
    Transfer<T> transfer;  // to the next coarser level
    Vector<T> b, x;        // right-hand side and correction, on all levels but the finest
    Vector<T> smoothed;    // where smoothing is fused with transfer: x between its two passes
    Recording recording;   // of a cycle from zero that starts here
    double seconds = 0;
  };
  [[nodiscard]] int levels() const { return static_cast<int>(levels_.size()); }
  [[nodiscard]] const Level& level(int l) const { return levels_[static_cast<std::size_t>(l)]; }

  MultigridParams params;
  InUse in_use;
  CoarseSolver coarse_solver = CoarseSolver::automatic;
  int lowest = 0;  // where the cycle ends

 private:
  void build(Context& ctx, const std::vector<TensorMesh>& meshes, const SmootherRegistry& registry);
  void solve_densely(Context& ctx, const GridOperator<double>& a);
  void share(const GridOperator<double>& a);
  /// In double, levels share operators that are there already. A single level has a copy: its solver was made for it.
  [[nodiscard]] bool shares() const { return std::is_same_v<T, double> && levels_.size() > 1; }
  [[nodiscard]] const GridOperator<double>& in_double(std::size_t level, const GridOperator<double>& finest) const {
    return level + 1 < levels_.size() ? galerkin_->coarse(level) : finest;
  }
  void cycle(Context& ctx, int index, GridView<const T> b, GridView<T> x, Guess guess, Cycle shape);

  std::unique_ptr<GalerkinHierarchy> galerkin_;  // empty when assembled
  std::array<const void*, 9> addresses_{};       // of the finest level's coefficients
  std::vector<Level> levels_;
  std::unique_ptr<FastDiagonalisation<T>> diagonalised_;  // solves the lowest level where that is not level 0
  bool recordable_ = false;                               // nothing in a cycle waits for the stream
  std::shared_ptr<Preconditioner<T>> coarse_;             // empty when the coarsest level has no unknown
  bool coarse_waits_ = true;                              // for the stream
  Vector<double> mean_;                                   // scratch, where the operator is singular
  std::function<void(Context&, const GridOperator<double>&)> factor_coarsest_;  // where a factorisation solves it
};

template <class T>
Multigrid<T>::State::State(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form,
                           const OperatorTerms& terms, const MultigridParams& given, const SmootherRegistry& registry)
    : params(given), levels_(meshes.size()) {
  expects(!meshes.empty(), "a hierarchy needs at least one mesh");
  params.singular = is_singular(meshes.back(), terms);
  for (std::size_t l = 0; l < meshes.size(); ++l) levels_[l].a = assemble_operator<T>(ctx, meshes[l], form, terms);
  const GridShape coarsest = meshes[0].unknowns();
  coarse_solver = coarse_solver_for(coarsest, params.coarse);
  if (coarsest.nodes() > 1 && coarse_solver == CoarseSolver::direct) try {
      const auto a = assemble_operator<double>(ctx, meshes[0], terms.varies() ? form : OperatorForm::tensor, terms);
      if (coarsest.nodes() <= DenseInverse<T>::max_unknowns)
        solve_densely(ctx, a);
      else
        coarse_ = std::make_shared<CoarseDirect<T>>(ctx, a);
    } catch (const BreakdownError& error) {
      throw BreakdownError(message("the coarsest level, ", meshes[0].x().size(), " x ", meshes[0].y().size(),
                                   " cells with widths from ", meshes[0].smallest_width(), " on: ", error.what()));
    }
  build(ctx, meshes, registry);
}

template <class T>
Multigrid<T>::State::State(Context& ctx, const GridOperator<double>& a, const TensorMesh& mesh,
                           const MultigridParams& given, const SmootherRegistry& registry)
    : params(given) {
  const GridShape shape = a.shape(), unknowns = mesh.unknowns();
  expects(shape.nx == unknowns.nx && shape.ny == unknowns.ny, "a mesh of ", mesh.x().size(), " x ", mesh.y().size(),
          " cells has ", unknowns.nx, " x ", unknowns.ny, " unknowns; the matrix is for ", shape.nx, " x ", shape.ny);
  check_coefficients(ctx, a, params.symmetric);
  const auto meshes = mesh_hierarchy(mesh);
  galerkin_ = std::make_unique<GalerkinHierarchy>(ctx, a, meshes);
  levels_ = std::vector<Level>(meshes.size());
  if (!shares())
    for (std::size_t l = 0; l < meshes.size(); ++l) levels_[l].a = convert<T>(ctx, in_double(l, a));
  share(a);

  const GridOperator<double>& coarsest = in_double(0, a);
  const GridShape coarsest_shape = coarsest.shape();
  coarse_solver = coarse_solver_for(coarsest_shape, params.coarse);
  // A hierarchy goes on down to a few unknowns.
  if (coarsest_shape.nodes() > 1 && coarse_solver == CoarseSolver::direct) solve_densely(ctx, coarsest);
  build(ctx, meshes, registry);
}

template <class T>
void Multigrid<T>::State::solve_densely(Context& ctx, const GridOperator<double>& a) {
  auto dense = std::make_shared<DenseInverse<T>>(ctx, a, params.singular);
  factor_coarsest_ = [dense](Context& c, const GridOperator<double>& other) { dense->factor(c, other); };
  coarse_ = std::move(dense);
  coarse_waits_ = false;
}

/// What all hierarchies have beside their operators: smoothers, transfers, scratch, and the coarsest level's solver
/// where it is not a factorisation.
template <class T>
void Multigrid<T>::State::build(Context& ctx, const std::vector<TensorMesh>& meshes, const SmootherRegistry& registry) {
  const auto choices = level_smoothers(meshes, params);
  for (std::size_t l = 0; l < meshes.size(); ++l) {
    Level& level = levels_[l];
    const GridShape shape = meshes[l].unknowns();
    auto& [smoother, smoother_params, steps, reason] = level.choice = choices[l];
    smoother_params.form = level.a.form();
    level.smoother = registry.make<T>(ctx, smoother, shape, smoother_params);
    const int unit = level.smoother->elementary_steps();
    expects(steps % unit == 0, "smoother '", smoother, "' counts an application as ", unit,
            " steps; steps must be a multiple of ", unit, ", not ", steps);
    if (l > 0) level.transfer = Transfer<T>(ctx, meshes[l], meshes[l - 1]);
    if (l + 1 < meshes.size()) {
      level.b = Vector<T>(ctx, shape);
      level.x = Vector<T>(ctx, shape);
    }
    if (level.smoother->jacobi_damping() && level.transfer.fuses(ctx, level.a, steps))
      level.smoothed = Vector<T>(ctx, shape);
  }
  const GridOperator<T>& coarsest = levels_[0].a;
  const auto unknowns = coarsest.shape().nodes();
  if (unknowns == 0) return;
  expects(!params.singular || !coarse_waits_ || unknowns == 1, "a singular operator's coarsest level must have up to ",
          DenseInverse<T>::max_unknowns, " unknowns and be solved directly; it has ", unknowns);
  if (params.singular) mean_ = mean_scratch(ctx, levels_.back().a.shape());
  recordable_ = (unknowns == 1 || !coarse_waits_) && !params.measure_levels;
  if (unknowns == 1)
    coarse_ = std::make_shared<CoarseUnknown<T>>(ctx, coarsest, registry);
  else if (!coarse_)
    coarse_ = std::make_shared<CoarseCg<T>>(ctx, coarsest, coarse_solver, registry);
  const auto diagonalised = diagonalised_level(ctx, meshes, params);
  if (!diagonalised) return;
  diagonalised_ = FastDiagonalisation<T>::make(ctx, levels_[*diagonalised].a, params.singular);
  if (!diagonalised_) return;
  lowest = static_cast<int>(*diagonalised);
  recordable_ = !params.measure_levels;
}

template <class T>
void Multigrid<T>::State::share(const GridOperator<double>& a) {
  if constexpr (std::is_same_v<T, double>)
    if (shares())
      for (std::size_t l = 0; l < levels_.size(); ++l) levels_[l].a = in_double(l, a);
  addresses_ = addresses(levels_.back().a);
}

template <class T>
void Multigrid<T>::State::update(Context& ctx, const GridOperator<double>& a) {
  expects(galerkin_ != nullptr, "this hierarchy was assembled from meshes; only one made from a matrix can be updated");
  const GridOperator<T>& finest = levels_.back().a;
  const GridShape shape = finest.shape(), given = a.shape();
  expects(given.nx == shape.nx && given.ny == shape.ny && a.form() == finest.form(), "the hierarchy is for a ",
          to_string(finest.form()), " matrix on ", shape.nx, " x ", shape.ny, " unknowns; given was a ",
          to_string(a.form()), " one on ", given.nx, " x ", given.ny);
  check_coefficients(ctx, a, params.symmetric);
  galerkin_->update(ctx, a);
  if (!shares())
    for (std::size_t l = 0; l < levels_.size(); ++l) assign(ctx, in_double(l, a), levels_[l].a);
  const auto before = addresses_;
  share(a);
  if (factor_coarsest_) factor_coarsest_(ctx, in_double(0, a));
  if (addresses_ == before) return;
  // Recorded cycles read the coefficients where they were.
  for (auto& level : levels_) level.recording.clear();
}

template <class T>
void Multigrid<T>::State::cycle(Context& ctx, int level, GridView<const T> b, GridView<T> x, Guess guess) {
  expects(level >= 0 && level < levels(), "level must be between 0 and ", levels() - 1, ", not ", level);
  Level& at = levels_[static_cast<std::size_t>(level)];
  expects_fit(ctx, "b", b, at.a.shape());
  expects_fit(ctx, "x", x, at.a.shape());
  const auto hold = in_use.hold("cycle");
  const auto work = [&] {
    cycle(ctx, level, b, x, guess, params.cycle.value_or(Cycle::v));
    if (params.singular) subtract_mean(ctx, x, mean_.view());
  };
  if (recordable_ && guess == Guess::zero && level >= lowest)
    at.recording.run(ctx, b.data, x.data, work);
  else
    work();
}

// Launch budget on a GPU. Whatever its size, a kernel in a graph costs a microsecond or two and a few more for its first rows, and
// levels up to about 500 x 500 cost nothing else. Kernels of V(2,2) from zero on one level, tensor operator:
//
//     jacobi                   2    smoothing and restriction; prolongation and smoothing
//     colour_gs                6    one a step, restriction with the defect, prolongation with the update
//     line smoothers           2    and what their sweeps take
//     the level of at most 64 x 64 unknowns, all below it included: 1
//
// Refinement adds three a cycle (update, defect with partial sums of its norm, their sum) and a wait for the norm; the cycle
// itself is one graph.
template <class T>
void Multigrid<T>::State::cycle(Context& ctx, int index, GridView<const T> b, GridView<T> x, Guess guess, Cycle shape) {
  Level& level = levels_[static_cast<std::size_t>(index)];
  double* seconds = params.measure_levels ? &level.seconds : nullptr;
  const auto solved = [this](int l) { return l == 0 || (diagonalised_ && l == lowest); };
  if (solved(index)) {
    const Stopwatch watch(ctx, seconds);
    if (diagonalised_ && index == lowest)
      diagonalised_->apply(ctx, b, x);
    else if (coarse_)
      coarse_->apply(ctx, b, x);
    return;
  }
  Level& coarser = levels_[static_cast<std::size_t>(index) - 1];
  const bool fused = guess == Guess::zero && !level.smoothed.empty();
  const T omega = fused ? static_cast<T>(*level.smoother->jacobi_damping()) : T(0);
  if (fused) {
    const Stopwatch watch(ctx, seconds);
    level.transfer.smooth_restrict(ctx, level.a, b, omega, level.choice.steps, level.smoothed.view(), coarser.b.view());
  } else {
    const Stopwatch watch(ctx, seconds);
    level.smoother->smooth(ctx, level.a, b, x, level.choice.steps, guess, SweepOrder::forward);
    level.transfer.restrict_residual(ctx, level.a, b, x, coarser.b.view());
  }
  cycle(ctx, index - 1, coarser.b.cview(), coarser.x.view(), Guess::zero, shape);
  if (shape != Cycle::v && !solved(index - 1))
    cycle(ctx, index - 1, coarser.b.cview(), coarser.x.view(), Guess::given, shape == Cycle::w ? Cycle::w : Cycle::v);
  const Stopwatch watch(ctx, seconds);
  if (fused)
    return level.transfer.prolongate_smooth(ctx, level.a, b, omega, level.choice.steps, coarser.x.cview(),
                                            level.smoothed.cview(), x);
  level.transfer.prolongate_add(ctx, coarser.x.cview(), x);
  level.smoother->smooth(ctx, level.a, b, x, level.choice.steps, Guess::given,
                         params.symmetric || params.mirrored ? SweepOrder::backward : SweepOrder::forward);
}

// --- the handle ----------------------------------------------------------------------------------------------------------

template <class T>
Multigrid<T>::Multigrid(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form,
                        const MultigridParams& params, const SmootherRegistry& registry)
    : Multigrid(ctx, meshes, form, OperatorTerms{}, params, registry) {}

template <class T>
Multigrid<T>::Multigrid(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form,
                        const OperatorTerms& terms, const MultigridParams& params, const SmootherRegistry& registry)
    : state_(std::make_shared<State>(ctx, meshes, form, terms, params, registry)) {}

template <class T>
Multigrid<T>::Multigrid(Context& ctx, const GridOperator<double>& a, const TensorMesh& mesh,
                        const MultigridParams& params, const SmootherRegistry& registry)
    : state_(std::make_shared<State>(ctx, a, mesh, params, registry)) {}

namespace {

const MultigridParams& without_auto(const MultigridParams& params) {
  expects(params.smoother != "auto",
          "smoother 'auto' chooses by the widths of a mesh, and of a matrix alone there are none; name a smoother, or "
          "give the mesh as well");
  return params;
}

}  // namespace

template <class T>
Multigrid<T>::Multigrid(Context& ctx, const GridOperator<double>& a, const MultigridParams& params,
                        const SmootherRegistry& registry)
    : Multigrid(ctx, a, uniform_mesh(a.shape()), without_auto(params), registry) {}

template <class T>
void Multigrid<T>::update(Context& ctx, const GridOperator<double>& a) {
  state_->update(ctx, a);
}

template <class T>
void Multigrid<T>::apply(Context& ctx, GridView<const T> r, GridView<T> z) {
  state_->cycle(ctx, levels() - 1, r, z, Guess::zero);
}

template <class T>
void Multigrid<T>::cycle(Context& ctx, int level, GridView<const T> b, GridView<T> x, Guess guess) {
  state_->cycle(ctx, level, b, x, guess);
}

template <class T>
bool Multigrid<T>::is_symmetric() const {
  return state_->params.symmetric;
}

template <class T>
int Multigrid<T>::levels() const {
  return state_->levels();
}

template <class T>
int Multigrid<T>::lowest_level() const {
  return state_->lowest;
}

template <class T>
CoarseSolver Multigrid<T>::coarse_solver() const {
  return state_->coarse_solver;
}

template <class T>
const GridOperator<T>& Multigrid<T>::level_operator(int level) const {
  expects(level >= 0 && level < levels(), "level must be between 0 and ", levels() - 1, ", not ", level);
  return state_->level(level).a;
}

template <class T>
const Transfer<T>& Multigrid<T>::transfer(int level) const {
  expects(level >= 1 && level < levels(), "transfers belong to levels 1 to ", levels() - 1, ", not ", level);
  return state_->level(level).transfer;
}

template <class T>
std::vector<LevelReport> Multigrid<T>::level_reports() const {
  std::vector<LevelReport> reports;
  for (int l = 0; l < levels(); ++l) {
    const auto& level = state_->level(l);
    const GridShape shape = level.a.shape();
    const bool smoothed = l > state_->lowest;
    reports.push_back({shape.nx, shape.ny, level.seconds, smoothed ? level.choice.smoother : "",
                       smoothed ? level.choice.steps : 0, smoothed ? level.choice.reason : ""});
  }
  return reports;
}

template class Multigrid<float>;
template class Multigrid<double>;

}  // namespace stratum
