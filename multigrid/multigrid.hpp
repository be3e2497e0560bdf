#pragma once

// Multigrid: one cycle on a hierarchy of tensor-product meshes, level 0 the coarsest.
//
//     cycle(l, b, x):  smooth x;  d = P^T (b - A x);  e = 0;  gamma times cycle(l - 1, d, e);  x += P e;  smooth x
//
// V: gamma = 1. W: gamma = 2. F: an F-cycle below, then a V-cycle. As a Preconditioner it is one cycle from zero. With
// `symmetric` the post-smoothing mirrors the pre-smoothing, as CG needs; a standalone solver converges faster without.
// Every level owns its scratch; `apply` and `cycle` allocate nothing and do not synchronise on a GPU unless the coarsest
// level has more than one unknown.

#include <memory>
#include <string>
#include <vector>

#include <stratum/core/grid_operator.hpp>
#include <stratum/core/recording.hpp>
#include <stratum/core/solve_report.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/small_levels.hpp>
#include <stratum/multigrid/transfer.hpp>
#include <stratum/smoothers/smoother.hpp>
#include <stratum/solvers/cg.hpp>
#include <stratum/solvers/direct.hpp>

namespace stratum {

enum class Cycle : std::uint8_t { v, w, f };

/// The coarsest level's solver: CG preconditioned by Jacobi or by one symmetric ADI application (the paper's), or a
/// Cholesky factorisation in double. `automatic` is the factorisation wherever it is affordable, else CG with ADI. One unknown
/// is divided by its diagonal entry whatever was asked for.
enum class CoarseSolver : std::uint8_t { automatic, cg_jacobi, cg_adi, direct };

[[nodiscard]] std::string_view to_string(CoarseSolver solver);

/// What `asked` comes to on a coarsest level of this shape; never `automatic`.
[[nodiscard]] CoarseSolver coarse_solver_for(const GridShape& shape, CoarseSolver asked);

struct MultigridParams {
  std::string smoother = "adi";
  SmootherParams smoother_params{};
  int steps = 4;  // elementary steps before and after the coarse correction
  Cycle cycle = Cycle::v;
  bool symmetric = false;
  CoarseSolver coarse = CoarseSolver::automatic;
  bool measure_levels = false;  // fill LevelReport::seconds; synchronises
};

template <class T>
class Multigrid final : public Preconditioner<T> {
 public:
  /// Assembles the operator of every level in double and converts it to T. Throws UsageError for an unknown smoother or
  /// an odd number of steps with ADI.
  Multigrid(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form, const MultigridParams& params,
            const SmootherRegistry& registry = builtin_smoothers());

  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return params_.symmetric; }

  /// One cycle for A x = b on level `level`.
  void cycle(Context& ctx, int level, GridView<const T> b, GridView<T> x, Guess guess);

  [[nodiscard]] int levels() const { return static_cast<int>(levels_.size()); }
  [[nodiscard]] const GridOperator<T>& level_operator(int level) const;
  [[nodiscard]] const Transfer<T>& transfer(int level) const;  // between level and level - 1
  [[nodiscard]] std::vector<LevelReport> level_reports() const;
  /// How the coarsest level is solved; never `automatic`.
  [[nodiscard]] CoarseSolver coarse_solver() const { return coarse_solver_; }

 private:
  struct Level;
  void cycle(Context& ctx, int index, GridView<const T> b, GridView<T> x, Guess guess, Cycle shape);

  MultigridParams params_;
  std::vector<std::shared_ptr<Level>> levels_;
  CoarseSolver coarse_solver_ = CoarseSolver::automatic;
  std::vector<SmallLevels<T>> small_;  // on a GPU: whole cycles of the levels that fit one block, by their finest
  bool recordable_ = false;            // nothing in a cycle waits for the stream
  std::shared_ptr<Preconditioner<T>> coarse_;  // empty when the coarsest level has no unknown
};

/// The meshes of a hierarchy, coarsest first, `fine` last.
[[nodiscard]] std::vector<TensorMesh> mesh_hierarchy(const TensorMesh& fine);

}  // namespace stratum
