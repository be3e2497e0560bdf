#pragma once

// Multigrid: one cycle on a hierarchy (multigrid/hierarchy.hpp). Level 0 is the coarsest.
//
//     cycle(l, b, x):  smooth x;  d = P^T (b - A x);  e = 0;  gamma times cycle(l - 1, d, e);  x += P e;  smooth x
//
//     V    gamma = 1
//     W    gamma = 2
//     F    an F-cycle on the next level, then a V-cycle
//     W2   gamma = 2 on the two finest levels, 1 below: about 1.4 times the work of V
//     K    as W2, with two steps of flexible conjugate gradients for A e = d that are preconditioned by the cycle below
//          (multigrid/krylov_correction.hpp). For symmetric positive definite A. Better than W2 for rotated tensors, worse for
//          isolated inclusions of high K. It is not a constant map: use it with fcg, gcr or gmres
//
// As a Preconditioner it is one cycle with x = 0 at the start. With `symmetric` the post-smoothing reverses the pre-smoothing,
// as CG requires; a cycle that stands alone converges faster without. Every level owns its scratch. `apply` and `cycle`
// allocate nothing, and do not synchronise on a GPU unless CG solves the coarsest level (multigrid/coarse/coarse_solver.hpp).
//
// If the operator is singular (constants), the coarsest level is solved for mean zero, and the mean of a cycle's result is
// subtracted.
//
// Copies share one cycle. One thread at a time may use it; a second one gets a UsageError.
//
// Distributed grids (mesh/partition.hpp): a cycle gives the result of one rank, up to round-off. The residual of the coarsest
// distributed level is gathered; every subdomain solves the replicated levels and keeps the correction of its own rows and of
// the rows beside them.
//
// If meshes or a matrix are given, the hierarchy is built here, by assembly or by Galerkin products.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/names.hpp>
#include <stratum/multigrid/coarse/coarse_solver.hpp>
#include <stratum/multigrid/hierarchy.hpp>
#include <stratum/multigrid/overlap_rows.hpp>
#include <stratum/multigrid/smoother_choice.hpp>
#include <stratum/solvers/krylov/cg.hpp>  // what a cycle is most often the preconditioner of
#include <stratum/solvers/room.hpp>

namespace stratum {

enum class Cycle : std::uint8_t { v, w, f, w2, k };

template <>
inline constexpr auto names_of<Cycle> = std::to_array<Named<Cycle>>(
    {{Cycle::v, "v"}, {Cycle::w, "w"}, {Cycle::f, "f"}, {Cycle::w2, "w2"}, {Cycle::k, "k"}});

/// How distributed levels are smoothed: each by what costs less; exactly as if there were one subdomain; or with rows of the
/// subdomains beside (multigrid/overlap.hpp), where these are enough, else exactly.
enum class DistributedSmoothing : std::uint8_t { automatic, exact, overlap };

template <>
inline constexpr auto names_of<DistributedSmoothing> =
    std::to_array<Named<DistributedSmoothing>>({{DistributedSmoothing::automatic, "auto"},
                                                {DistributedSmoothing::exact, "exact"},
                                                {DistributedSmoothing::overlap, "overlap"}});

struct MultigridParams {
  std::string smoother = "adi";  // or "auto": level by level, see multigrid/smoother_choice.hpp
  SmootherParams smoother_params{};
  /// Sweeps before and after the coarse correction: default_sweeps, or what "auto" chooses.
  std::optional<int> sweeps{};
  std::optional<Cycle> cycle{};  // v
  bool symmetric = false;        // A is, and the cycle is to be: post-smoothing mirrors pre-smoothing
  bool mirrored = false;  // the latter without the former: the cycle's transpose is that of the transposed matrix
  std::string coarse = "automatic";  // of the coarsest level: multigrid/coarse/coarse_solver.hpp
  std::shared_ptr<const CoarseSolverRegistry>
      coarse_solvers{};         // where its solver comes from; null: builtin_coarse_solvers
  bool singular = false;        // of a matrix: MatrixTraits
  bool measure_levels = false;  // fill LevelReport::seconds; synchronises
  /// On a GPU cycles end at the finest coarse level that a few kernels solve in place of all below. Of tensor operators: with
  /// up to 520 unknowns in one direction and any number in the other, by the modes of the one
  /// (multigrid/fast_diagonalization.hpp). Of others: up to 33 x 33 by the inverse, 17 x 17 of products, of singular and of
  /// periodic ones. At most so many unknowns in the shorter direction; 0: cycles go on to level 0. With smoother "auto" and
  /// `sweeps` left open the finest level of a tensor operator is solved so, too, and there is no cycle.
  int exact_below = 520;
  /// Distributed levels where the Context has other subdomains of the grid: as mesh/partition.hpp says.
  std::optional<int> distributed_levels{};
  DistributedSmoothing distributed_smoothing = DistributedSmoothing::automatic;
  /// An iteration around the cycle corrects what it leaves, and takes any fixed map: by overlap a level then has rows enough
  /// beside a cut where 1e-3 of an error is left, not rounding alone (multigrid/overlap.hpp).
  bool is_corrected = false;
  /// On the CPU: the same bits whatever the number of subdomains and threads, one among them, which then works as several do.
  /// Up to PartitionLevels::most_fixed subdomains; not for interpolation that follows K.
  bool reproducible = false;

  [[nodiscard]] PartitionParams partition() const { return {distributed_levels, reproducible}; }
  /// Nobody asked for what a cycle is made of.
  [[nodiscard]] bool may_be_direct() const { return smoother == "auto" && !sweeps; }
};

template <class T>
class Multigrid final : public Preconditioner<T>, public Handle {
 public:
  /// Throws UsageError for an unknown smoother or coarse solver or an odd number of sweeps with ADI.
  Multigrid(Context& ctx, const Hierarchy<T>& hierarchy, const MultigridParams& params,
            const SmootherRegistry& registry = builtin_smoothers());

  /// On Hierarchy<T>::assembled.
  Multigrid(Context& ctx, const std::vector<TensorMesh<2>>& meshes, StorageFormat format, const MultigridParams& params,
            const SmootherRegistry& registry = builtin_smoothers());
  /// The same of an operator with more than the Laplacian (assembly/operators.hpp).
  Multigrid(Context& ctx, const std::vector<TensorMesh<2>>& meshes, StorageFormat format, const OperatorTerms& terms,
            const MultigridParams& params, const SmootherRegistry& registry = builtin_smoothers());

  /// From a matrix alone: the interpolation is that of `mesh`, whose interior nodes are the unknowns of `a`. Multigrid<double>
  /// shares `a` and reads its coefficients where they lie, of which line smoothers on a GPU keep a copy: `update` where they
  /// change. Multigrid<float> keeps a narrowed copy. `symmetric` promises that
  /// `a` is symmetric, as CG does; nine bands need not be. The interpolation does not see coefficients: where
  /// they jump by 1000 inside coarse cells, CG with the symmetric cycle takes 10 to 12 iterations to 1e-8 (127 x 127 unknowns)
  /// and the cycle alone is not there after 60. Throws UsageError for coefficients that
  /// check_coefficients refuses. Smoother "auto" goes by what the matrices of the levels couple (multigrid/couplings.hpp).
  Multigrid(Context& ctx, const GridOperator<double>& a, const TensorMesh<2>& mesh, const MultigridParams& params,
            const SmootherRegistry& registry = builtin_smoothers());
  /// The same where no widths are known: all equal, which makes the interpolation bilinear. Throws UsageError for smoother
  /// "auto" as well: it chooses by widths.
  Multigrid(Context& ctx, const GridOperator<double>& a, const MultigridParams& params,
            const SmootherRegistry& registry = builtin_smoothers());

  /// Hierarchy::update. Recorded cycles stay valid where the memory is the same, and are recorded anew where it is not.
  void update(Context& ctx, const GridOperator<double>& a, const Conductances* k = nullptr);
  /// Hierarchy::set_reaction. Recorded cycles stay valid.
  void set_reaction(Context& ctx, double c);

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override;
  [[nodiscard]] bool is_constant() const override;
  [[nodiscard]] bool is_symmetric() const override;
  [[nodiscard]] bool estimates_error() const override { return true; }
  [[nodiscard]] bool waits() const override { return !is_recordable(); }

  /// One cycle for A x = b on level `level`.
  void cycle(Context& ctx, int level, FieldView<const T> b, FieldView<T> x, Guess guess);

  [[nodiscard]] const Hierarchy<T>& hierarchy() const;
  [[nodiscard]] int levels() const { return hierarchy().levels(); }
  [[nodiscard]] const GridOperator<T>& level_operator(int level) const { return hierarchy().level_operator(level); }
  [[nodiscard]] const Transfer<T>& transfer(int level) const { return hierarchy().transfer(level); }
  [[nodiscard]] std::vector<LevelReport> level_reports() const;
  /// Rows beside every subdomain that a level is smoothed with, by rank; none where it is not cut, or smoothed exactly.
  [[nodiscard]] std::vector<OverlapRows> overlap(int level) const;
  /// Where b and x of a cycle on this level lie best: it copies them from and to nowhere. Of levels smoothed by overlap; stays
  /// until coefficients change.
  [[nodiscard]] std::optional<Room<T>> room(int level) const;
  /// The level where the cycle ends: level 0, or one above that is solved exactly.
  [[nodiscard]] int lowest_level() const;
  /// The finest of several levels is solved, and there is no cycle.
  [[nodiscard]] bool is_direct() const { return lowest_level() > 0 && lowest_level() + 1 == levels(); }
  /// Whether nothing in a cycle waits for the stream: core/device/recording.hpp.
  [[nodiscard]] bool is_recordable() const;
  /// Becomes another number when coefficients come to lie elsewhere, so that what was recorded is to be forgotten.
  [[nodiscard]] int generation() const;
  /// How the coarsest level is solved; never "automatic".
  [[nodiscard]] const std::string& coarse_solver() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace stratum
