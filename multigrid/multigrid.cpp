#include <stratum/multigrid/multigrid.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/fast_diagonalization.hpp>
#include <stratum/multigrid/level.hpp>
#include <stratum/solvers/direct/dense_inverse.hpp>

namespace stratum {

namespace {

/// What smooths on each of these levels: what was asked for, or chosen where that is "auto".
template <class T>
std::vector<SmootherChoice> level_smoothers(Context& ctx, const Hierarchy<T>& hierarchy,
                                            const MultigridParams& params) {
  const auto& meshes = hierarchy.meshes();
  expects(!params.sweeps || *params.sweeps >= 0, "sweeps must be 0 or more, not ", *params.sweeps);
  if (params.smoother == "auto" && !hierarchy.is_galerkin())
    return choose_smoothers(meshes, params.smoother_params, params.sweeps);
  if (params.smoother == "auto") {
    std::vector<Couplings> matrices(meshes.size());
    Context alone = ctx.alone();
    for (int l = 1; l < hierarchy.levels(); ++l)
      matrices[static_cast<std::size_t>(l)] =
          couplings(hierarchy.partition().is_distributed(l) ? ctx : alone, hierarchy.level_operator(l));
    // Without numbers: what takes the most memory.
    if (ctx.is_dry_run())
      for (auto& level : matrices) level.rotated = 1;
    return choose_smoothers(meshes, matrices, params.smoother_params, params.sweeps);
  }
  return {meshes.size(),
          {params.smoother, params.smoother_params, params.sweeps.value_or(default_sweeps(params.smoother)), ""}};
}

/// The level where a cycle ends, and what solves it: on a GPU the first from `finest` down that is small enough.
template <class T, class Solver>
struct SolvedLevel {
  int level = 0;
  std::unique_ptr<Solver> solver;

  /// `make`: a solver for a level, or nothing.
  template <class Make>
  SolvedLevel(const Context& ctx, const Hierarchy<T>& hierarchy, const MultigridParams& params, int finest,
              const Make& make) {
    if (!ctx.on_gpu() || params.coarse != "automatic") return;
    for (int l = std::min(finest, hierarchy.partition().replicated()); l >= 0; --l) {
      const GridLayout<2> shape = hierarchy.level_operator(l).shape();
      if (std::min(shape.nx, shape.ny) > params.exact_below) continue;
      if (solver = make(l); !solver) continue;
      level = l;
      return;
    }
  }
};

template <class T>
SolvedLevel<T, PartialDiagonalisation<T>> diagonalised_level(Context& ctx, const Hierarchy<T>& hierarchy,
                                                             const MultigridParams& params) {
  const int finest = hierarchy.levels() - (params.may_be_direct() ? 1 : 2);
  return {ctx, hierarchy, params, finest, [&](int l) -> std::unique_ptr<PartialDiagonalisation<T>> {
            return PartialDiagonalisation<T>::make(ctx, hierarchy.level_operator(l), hierarchy.is_singular());
          }};
}

template <class T>
SolvedLevel<T, DenseInverse<T>> inverted_level(Context& ctx, Hierarchy<T>& hierarchy, const MultigridParams& params) {
  // Products are formed anew for other coefficients, and so is the inverse.
  const bool few = hierarchy.is_galerkin() || hierarchy.is_singular() || hierarchy.finest().shape().has_halo();
  const std::int64_t most = few ? DenseInverse<T>::few_unknowns : DenseInverse<T>::max_unknowns;
  return {ctx, hierarchy, params, hierarchy.levels() - 2, [&](int l) -> std::unique_ptr<DenseInverse<T>> {
            if (l == 0 || hierarchy.level_operator(l).shape().nodes() > most) return nullptr;  // level 0 has its own
            hierarchy.keep_in_double(ctx, l);
            try {
              return std::make_unique<DenseInverse<T>>(ctx, hierarchy.level_in_double(l), hierarchy.is_singular());
            } catch (const BreakdownError&) {
              return nullptr;
            }
          }};
}

}  // namespace

template <class T>
class Multigrid<T>::State {
 public:
  State(Context& ctx, const Hierarchy<T>& levels, const MultigridParams& params, const SmootherRegistry& registry);
  void update(Context& ctx, const GridOperator<double>& a, const Conductances* k);
  void set_reaction(Context& ctx, double c);
  void cycle(Context& ctx, int level, FieldView<const T> b, FieldView<T> x, Guess guess);
  [[nodiscard]] bool is_recordable() const { return recordable_; }
  /// Asks the runtime for addresses that differ from the last ones.
  void expects_memory(const Context& ctx, FieldView<const T> r, FieldView<T> z) {
    if (r.data != reached_[0]) expects_reached(ctx, "b", r);
    if (z.data != reached_[1]) expects_reached(ctx, "x", z);
    reached_ = {r.data, z.data};
  }

  Hierarchy<T> hierarchy;
  MultigridParams params;
  SmootherRegistry registry;
  ReentrancyGuard guard;
  std::string coarse_solver;
  int lowest = 0;      // where the cycle ends
  int generation = 0;  // of the coefficients' places
  std::vector<Level<T>> levels;

 private:
  [[nodiscard]] Level<T>& at(int index) { return levels[static_cast<std::size_t>(index)]; }
  /// A level's smoother and vectors.
  void make_level(Context& ctx, int index, const std::optional<std::vector<OverlapRows>>& overlap);
  void connect_levels();
  /// Rows by rank, for a level that is to be smoothed by overlap.
  [[nodiscard]] std::optional<std::vector<OverlapRows>> overlap_of(Context& ctx, int index) const;
  /// After the hierarchy's.
  void update_overlaps(Context& ctx);
  void cycle(Context& ctx, int index, FieldView<const T> b, FieldView<T> x, Guess guess, Cycle shape);
  /// The coarse correction of level `index`.
  void correct(Context& ctx, int index, Cycle shape);
  /// This level's correction is improved on: W2 and K.
  [[nodiscard]] bool is_one_of_two_finest(int index) const { return index + 2 >= hierarchy.levels(); }
  /// Smoothers and the coarsest level, for the numbers that operators have now.
  void set_up(Context& ctx);
  /// The levels where cycles end.
  void solve_lowest_levels();

  double made_with_ = 0;                                     // c
  std::unique_ptr<PartialDiagonalisation<T>> diagonalised_;  // one of both solves the lowest level, else coarse_
  std::unique_ptr<DenseInverse<T>> inverse_;
  std::unique_ptr<CoarseSolver<T>> coarse_;  // empty when the coarsest level has no unknown
  bool recordable_ = false;                  // nothing in a cycle waits for the stream
  std::array<const T*, 2> reached_{};        // what `apply` was given last
  Field<double> mean_;                       // scratch, where the operator is singular
};

template <class T>
Multigrid<T>::State::State(Context& ctx, const Hierarchy<T>& given, const MultigridParams& asked,
                           const SmootherRegistry& smoothers)
    : hierarchy(given), params(asked), registry(smoothers), levels(given.meshes().size()),
      made_with_(given.reaction()) {
  const auto choices = level_smoothers(ctx, hierarchy, params);
  const PartitionLevels& partition = hierarchy.partition();
  expects(!params.reproducible || (!ctx.on_gpu() && partition.params().fixed_chunks),
          "the same bits on any number of subdomains need the CPU, and a hierarchy of fixed chunks of rows");
  expects(!params.reproducible || params.distributed_smoothing != DistributedSmoothing::overlap,
          "the same bits on any number of subdomains are for lines that are solved exactly, not by overlap");
  if (partition.distributed() > 0) at(partition.replicated()).gathered = Field<T>(ctx, partition.own());
  for (int l = 0; l < hierarchy.levels(); ++l) {
    SmootherChoice& choice = at(l).choice = choices[static_cast<std::size_t>(l)];
    choice.params.format = hierarchy.level_operator(l).format();
    choice.params.chunks = partition.fixed_chunks(l);
    expects(!params.reproducible || l == 0 || !hierarchy.transfer(l).is_weighted(),
            "interpolation that follows the coefficients does not give the same bits on any number of subdomains");
    make_level(ctx, l, overlap_of(ctx, l));
  }
  connect_levels();
  const CoarseSolverRegistry coarse_solvers =
      params.coarse_solvers != nullptr ? *params.coarse_solvers : builtin_coarse_solvers();
  Context alone = ctx.alone();
  coarse_ = make_coarse_solver(alone, hierarchy, coarse_solver = params.coarse, registry, coarse_solvers);
  if (!coarse_) {
    solve_lowest_levels();
    return;
  }
  if (hierarchy.is_singular()) {
    GridLayout<2> largest = partition.finest();
    largest.ny = std::max(largest.ny, partition.unknowns(partition.replicated()).ny);
    mean_ = mean_scratch(ctx, largest);
  }
  const auto end_at = [&](auto exact, auto& solver) {
    solver = std::move(exact.solver);
    lowest = exact.level;
  };
  end_at(diagonalised_level(alone, hierarchy, params), diagonalised_);
  if (!diagonalised_) end_at(inverted_level(alone, hierarchy, params), inverse_);
  recordable_ = (diagonalised_ || inverse_ || !coarse_->waits()) && !params.measure_levels;
  solve_lowest_levels();
}

template <class T>
void Multigrid<T>::State::solve_lowest_levels() {
  const auto end_by = [this](int level, Preconditioner<T>* solver) {
    at(level).solve = [solver](Context& ctx, FieldView<const T> b, FieldView<T> x) {
      if (solver != nullptr) solver->apply(ctx, b, x);
    };
  };
  end_by(0, coarse_.get());
  if (diagonalised_) end_by(lowest, diagonalised_.get());
  if (inverse_) end_by(lowest, inverse_.get());
}

template <class T>
void Multigrid<T>::State::make_level(Context& ctx, int index, const std::optional<std::vector<OverlapRows>>& overlap) {
  const bool finest = index + 1 == hierarchy.levels();
  at(index).make(ctx, hierarchy, index, registry, overlap, !finest);
  if (params.cycle == Cycle::k && index > 0 && !finest && is_one_of_two_finest(index + 1))
    at(index).krylov = KrylovCorrection<T>(ctx, hierarchy.level_operator(index).shape());
}

template <class T>
void Multigrid<T>::State::connect_levels() {
  const SweepOrder after = params.symmetric || params.mirrored ? SweepOrder::backward : SweepOrder::forward;
  for (int l = 0; l < hierarchy.levels(); ++l)
    at(l).connect(l > 0 ? &at(l - 1) : nullptr, after, params.measure_levels);
}

template <class T>
std::optional<std::vector<OverlapRows>> Multigrid<T>::State::overlap_of(Context& ctx, int index) const {
  const auto& [smoother, smoother_params, sweeps, reason] = levels[static_cast<std::size_t>(index)].choice;
  const TensorMesh<2>& mesh = hierarchy.meshes()[static_cast<std::size_t>(index)];
  const GridOperator<T>& a = hierarchy.level_operator(index);
  const bool automatic = params.distributed_smoothing == DistributedSmoothing::automatic;
  if (!hierarchy.partition().is_distributed(index) || params.distributed_smoothing == DistributedSmoothing::exact ||
      sweeps == 0)
    return std::nullopt;
  if (params.reproducible) return std::nullopt;
  // Across a periodic direction with an odd number of rows these would be of other colours than beside.
  if (mesh.unknowns().periodic_y && mesh.unknowns().ny % 2 != 0) return std::nullopt;
  Context dry_run = ctx.alone().memory_dry_run();
  GridLayout<2> uncut = a.shape();
  uncut.below = uncut.above = false;
  const auto reach = registry.make<T>(dry_run, smoother, uncut, smoother_params)->reach(sweeps);
  if (!reach) return std::nullopt;
  // Rows beside cost what own ones do. On a CPU exact lines cost about as much again as those of a subdomain alone (two
  // subdomains, 1023^2 and 2047^2, adi), half of which a quarter of the rows on either side is, at most. On GPUs they take 39
  // kernels for 8, and a level 2.7 times as long (A3, 8191^2, two H100); half of the rows on either side make it twice as long,
  // at most.
  const double share = !automatic ? 1 : ctx.on_gpu() ? 0.5 : 0.25;
  const OverlapWish wish{share, params.is_corrected ? OverlapWish::corrected : overlap_rounding<T>};
  if (!ctx.is_dry_run()) return overlap_rows(ctx, *ctx.communicator(), a, *reach, wish);
  // Without numbers: those of the Laplacian.
  Context host(Backend::cpu, 1);
  OperatorTerms terms;
  terms.reaction = hierarchy.reaction();
  return overlap_rows(host, *ctx.communicator(),
                      assemble_operator<T>(host, mesh, StorageFormat::tensor, terms, a.shape()), *reach, wish);
}

template <class T>
void Multigrid<T>::State::update_overlaps(Context& ctx) {
  for (int l = 0; l < hierarchy.levels(); ++l) {
    Level<T>& level = at(l);
    if (!level.overlap) continue;
    const auto wanted = overlap_of(ctx, l);
    const auto suffices = [](const OverlapRows& there, const OverlapRows& asked) {
      return there.below >= asked.below && there.above >= asked.above;
    };
    const auto& there = level.overlap->rows();
    // Of all subdomains, so that all do the same.
    if (wanted && std::equal(there.begin(), there.end(), wanted->begin(), suffices)) {
      level.overlap->set_up(ctx, hierarchy.level_operator(l));
      continue;
    }
    make_level(ctx, l, wanted);
    connect_levels();
    for (auto& other : levels) other.recording.clear();
  }
}

template <class T>
void Multigrid<T>::State::set_up(Context& ctx) {
  for (Level<T>& level : levels) level.set_up(ctx);
  Context alone = ctx.alone();
  if (coarse_) coarse_->set_up(alone, hierarchy);
  if (inverse_) inverse_->factor(alone, hierarchy.level_in_double(lowest));
}

template <class T>
void Multigrid<T>::State::update(Context& ctx, const GridOperator<double>& a, const Conductances* k) {
  const bool in_place = hierarchy.update(ctx, a, k);
  update_overlaps(ctx);
  set_up(ctx);
  if (in_place) return;
  // Recorded cycles read the coefficients where they were.
  for (auto& level : levels) level.recording.clear();
  ++generation;
}

template <class T>
void Multigrid<T>::State::set_reaction(Context& ctx, double c) {
  hierarchy.set_reaction(ctx, c);
  update_overlaps(ctx);
  set_up(ctx);
  Context alone = ctx.alone();
  if (diagonalised_) diagonalised_->set_mass(alone, c - made_with_);
}

template <class T>
void Multigrid<T>::State::cycle(Context& ctx, int level, FieldView<const T> b, FieldView<T> x, Guess guess) {
  const GridOperator<T>& a = hierarchy.level_operator(level);
  expects_fit(ctx, "b", b, a.shape());
  expects_fit(ctx, "x", x, a.shape());
  const auto entered = guard.enter("cycle");
  const bool distributed = hierarchy.partition().is_distributed(level);
  Context on = distributed ? ctx : ctx.alone();
  const auto work = [&] {
    cycle(on, level, b, x, guess, params.cycle.value_or(Cycle::v));
    if (hierarchy.is_singular())
      subtract_mean(on, x, mean_.view(), hierarchy.meshes()[static_cast<std::size_t>(level)].unknowns().nodes());
  };
  if (recordable_ && (!distributed || ctx.communicator()->keeps_order()) && guess == Guess::zero && level >= lowest)
    at(level).recording.run(on, b.data, x.data, work);
  else
    work();
}

// Launch budget on a GPU. Whatever its size, a kernel in a graph costs a microsecond or two and a few more for its first rows,
// and levels up to about 500 x 500 cost nothing else. Kernels of V(2,2) from zero on one level, tensor operator:
//
//     jacobi                   4    two sweeps a pass, restriction with the defect, prolongation with the update
//     colour_gs                6    one a step, restriction with the defect, prolongation with the update
//     line smoothers           2    and what their sweeps take
//     the lowest level, all below it included: 3; of other storage formats 1, of at most 33 x 33 unknowns
//
// Refinement adds two a cycle (update and defect with partial sums of its norm; their sum) and a wait for the norm, during
// which the next cycle runs already where it is expected to be wanted; the cycle itself is one graph.
template <class T>
void Multigrid<T>::State::cycle(Context& ctx, int index, FieldView<const T> b, FieldView<T> x, Guess guess,
                                Cycle shape) {
  Level<T>& level = at(index);
  if (level.solve) {
    const Stopwatch watch(ctx, level.stopwatch());
    return level.solve(ctx, b, x);
  }
  level.descend(ctx, b, x, guess);
  // F-cycles come below the lowest distributed level in two shapes.
  const bool records = recordable_ && params.cycle != Cycle::f;
  level.below(
      ctx, [&](Context& on) { correct(on, index, shape); }, records);
  level.ascend(ctx, b, x, shape != Cycle::k);
}

template <class T>
void Multigrid<T>::State::correct(Context& ctx, int index, Cycle shape) {
  Level<T>& coarser = at(index - 1);
  const FieldView<T> b = coarser.own_b(), x = coarser.own_x();
  const auto from_zero = [&] { cycle(ctx, index - 1, b, x, Guess::zero, shape); };
  from_zero();
  const bool twice = shape == Cycle::w || shape == Cycle::f || (shape != Cycle::v && is_one_of_two_finest(index));
  if (!twice || coarser.solve) return;
  if (shape == Cycle::k) {
    const GridOperator<T>& a = hierarchy.level_operator(index - 1);
    coarser.krylov.first(ctx, a, x, b);
    from_zero();
    coarser.krylov.second(ctx, a, b, x);
  } else {
    cycle(ctx, index - 1, b, x, Guess::given, shape == Cycle::f ? Cycle::v : shape);
  }
}

// --- the handle ----------------------------------------------------------------------------------------------------------

template <class T>
Multigrid<T>::Multigrid(Context& ctx, const Hierarchy<T>& hierarchy, const MultigridParams& params,
                        const SmootherRegistry& registry)
    : state_(std::make_shared<State>(ctx, hierarchy, params, registry)) {}

template <class T>
Multigrid<T>::Multigrid(Context& ctx, const std::vector<TensorMesh<2>>& meshes, StorageFormat format,
                        const MultigridParams& params, const SmootherRegistry& registry)
    : Multigrid(ctx, meshes, format, OperatorTerms{}, params, registry) {}

template <class T>
Multigrid<T>::Multigrid(Context& ctx, const std::vector<TensorMesh<2>>& meshes, StorageFormat format,
                        const OperatorTerms& terms, const MultigridParams& params, const SmootherRegistry& registry)
    : Multigrid(ctx, Hierarchy<T>::assembled(ctx, meshes, format, terms, params.partition()), params, registry) {}

template <class T>
Multigrid<T>::Multigrid(Context& ctx, const GridOperator<double>& a, const TensorMesh<2>& mesh,
                        const MultigridParams& params, const SmootherRegistry& registry)
    : Multigrid(ctx,
                Hierarchy<T>(ctx, Hierarchy<double>::galerkin(ctx, a, mesh, {params.symmetric, params.singular}, {},
                                                              params.partition())),
                params, registry) {}

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
void Multigrid<T>::update(Context& ctx, const GridOperator<double>& a, const Conductances* k) {
  state_->update(ctx, a, k);
}

template <class T>
void Multigrid<T>::set_reaction(Context& ctx, double c) {
  state_->set_reaction(ctx, c);
}

template <class T>
void Multigrid<T>::apply(Context& ctx, FieldView<const T> r, FieldView<T> z) {
  state_->expects_memory(ctx, r, z);
  state_->cycle(ctx, levels() - 1, r, z, Guess::zero);
}

template <class T>
void Multigrid<T>::cycle(Context& ctx, int level, FieldView<const T> b, FieldView<T> x, Guess guess) {
  state_->cycle(ctx, level, b, x, guess);
}

template <class T>
std::optional<Room<T>> Multigrid<T>::room(int level) const {
  expects(level >= 0 && level < levels(), "level must be between 0 and ", levels() - 1, ", not ", level);
  auto& at = state_->levels[static_cast<std::size_t>(level)];
  if (!at.overlap) return std::nullopt;
  return Room<T>{at.own_b(), at.own_x()};
}

template <class T>
bool Multigrid<T>::is_constant() const {
  return state_->params.cycle != Cycle::k;
}

template <class T>
bool Multigrid<T>::is_symmetric() const {
  return state_->params.symmetric;
}

template <class T>
const Hierarchy<T>& Multigrid<T>::hierarchy() const {
  return state_->hierarchy;
}

template <class T>
int Multigrid<T>::lowest_level() const {
  return state_->lowest;
}

template <class T>
bool Multigrid<T>::is_recordable() const {
  return state_->is_recordable();
}

template <class T>
int Multigrid<T>::generation() const {
  return state_->generation;
}

template <class T>
const std::string& Multigrid<T>::coarse_solver() const {
  return state_->coarse_solver;
}

template <class T>
std::vector<OverlapRows> Multigrid<T>::overlap(int level) const {
  expects(level >= 0 && level < levels(), "level must be between 0 and ", levels() - 1, ", not ", level);
  const auto& overlap = state_->levels[static_cast<std::size_t>(level)].overlap;
  return overlap ? overlap->rows() : std::vector<OverlapRows>{};
}

template <class T>
std::vector<LevelReport> Multigrid<T>::level_reports() const {
  std::vector<LevelReport> reports;
  for (int l = 0; l < levels(); ++l) {
    const auto& level = state_->levels[static_cast<std::size_t>(l)];
    const GridLayout<2> shape = hierarchy().meshes()[static_cast<std::size_t>(l)].unknowns();
    const bool smoothed = l > state_->lowest;
    LevelReport report{shape.nx, shape.ny, level.seconds, "", 0, ""};
    if (smoothed) {
      report.smoother = level.choice.smoother;
      report.sweeps = level.choice.sweeps;
      report.reason = level.choice.reason;
    } else if (is_direct() && l + 1 == levels()) {
      report.reason = message("solved by its modes: ", std::min(shape.nx, shape.ny), " unknowns in one direction");
    }
    reports.push_back(report);
  }
  return reports;
}

template class Multigrid<float>;
template class Multigrid<double>;

}  // namespace stratum
