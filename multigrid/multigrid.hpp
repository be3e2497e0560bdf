#pragma once

// Multigrid: one cycle on a hierarchy of tensor-product meshes, level 0 the coarsest.
//
//     cycle(l, b, x):  smooth x;  d = P^T (b - A x);  e = 0;  gamma times cycle(l - 1, d, e);  x += P e;  smooth x
//
// V: gamma = 1. W: gamma = 2. F: an F-cycle below, then a V-cycle. As a Preconditioner it is one cycle from zero. With
// `symmetric` the post-smoothing mirrors the pre-smoothing, as CG needs; a standalone solver converges faster without.
// Every level owns its scratch; `apply` and `cycle` allocate nothing and do not synchronise on a GPU unless a coarsest level of more
// than DenseInverse::max_unknowns unknowns is asked for, by a list of meshes that ends early.
//
// Where the operator is singular (constants), the coarsest level is solved without a mean, and the mean of a cycle's result is
// subtracted.
//
// Copies are the same cycle, which serves one thread at a time and says so when two try (UsageError).
//
// A hierarchy is made from meshes, whose operators are assembled, or from a matrix alone: then the coarse operators are its
// Galerkin products (multigrid/galerkin.hpp), and `update` gives it other coefficients.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/device/recording.hpp>
#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/galerkin.hpp>
#include <stratum/multigrid/smoother_choice.hpp>
#include <stratum/multigrid/transfer.hpp>
#include <stratum/smoothers/smoother.hpp>
#include <stratum/solvers/cg.hpp>
#include <stratum/solvers/direct.hpp>
#include <stratum/solvers/fast_diagonalisation.hpp>

namespace stratum {

enum class Cycle : std::uint8_t { v, w, f };

/// The coarsest level's solver: CG preconditioned by Jacobi or by one symmetric ADI application (the paper's), or a
/// factorisation in double: the inverse of up to DenseInverse::max_unknowns unknowns, Cholesky beyond them, where a list of meshes ends
/// early.
/// `automatic` is the factorisation wherever it is affordable, else CG with ADI. One unknown is divided by its diagonal entry
/// whatever was asked for.
enum class CoarseSolver : std::uint8_t { automatic, cg_jacobi, cg_adi, direct };

[[nodiscard]] std::string_view to_string(CoarseSolver solver);

/// What `asked` comes to on a coarsest level of this shape; never `automatic`.
[[nodiscard]] CoarseSolver coarse_solver_for(const GridShape& shape, CoarseSolver asked);

struct MultigridParams {
  std::string smoother = "adi";  // or "auto": level by level, see multigrid/smoother_choice.hpp
  SmootherParams smoother_params{};
  /// Elementary steps before and after the coarse correction; 4 (of a PoissonSolver on a GPU 2), or what "auto" chooses.
  std::optional<int> steps{};
  std::optional<Cycle> cycle{};  // v
  bool symmetric = false;        // A is, and the cycle is to be: post-smoothing mirrors pre-smoothing
  bool mirrored = false;  // the latter without the former: the cycle's transpose is that of the transposed matrix
  CoarseSolver coarse = CoarseSolver::automatic;
  bool singular = false;        // of a matrix: A is symmetric, A 1 = 0 and b has no mean
  bool measure_levels = false;  // fill LevelReport::seconds; synchronises
  /// On a GPU, cycles of tensor operators end at the finest coarse level of at most this many unknowns in each direction, solved
  /// by fast diagonalisation: one kernel in place of all below. 0: they go on to level 0.
  int diagonalise_below = FastDiagonalisation<float>::max_nodes;
};

template <class T>
class Multigrid final : public Preconditioner<T>, public Handle {
 public:
  /// Assembles the operator of every level in double and converts it to T. Throws UsageError for an unknown smoother or
  /// an odd number of steps with ADI.
  Multigrid(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form, const MultigridParams& params,
            const SmootherRegistry& registry = builtin_smoothers());
  /// The same of an operator with more than the Laplacian (assembly/operators.hpp). Where it is singular, the coarsest level is solved
  /// without a mean and the mean of each cycle's result is subtracted.
  Multigrid(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form, const OperatorTerms& terms,
            const MultigridParams& params, const SmootherRegistry& registry = builtin_smoothers());

  /// From a matrix alone: the interpolation is that of `mesh`, whose interior nodes are the unknowns of `a`. Multigrid<double>
  /// shares `a` and reads its coefficients where they lie; Multigrid<float> keeps a narrowed copy. `symmetric` promises that `a`
  /// is symmetric, as CG does; nine bands need not be. The interpolation does not see coefficients: where
  /// they jump by 1000 inside coarse cells, CG with the symmetric cycle takes 10 to 12 iterations to 1e-8 (127 x 127 unknowns)
  /// and the cycle alone is not there after 60. Throws UsageError for coefficients that
  /// check_coefficients refuses. Smoother "auto" goes by the widths of `mesh`, whatever the coefficients.
  Multigrid(Context& ctx, const GridOperator<double>& a, const TensorMesh& mesh, const MultigridParams& params,
            const SmootherRegistry& registry = builtin_smoothers());
  /// The same where no widths are known: all equal, which makes the interpolation bilinear. Throws UsageError for smoother
  /// "auto" as well: it chooses by widths.
  Multigrid(Context& ctx, const GridOperator<double>& a, const MultigridParams& params,
            const SmootherRegistry& registry = builtin_smoothers());

  /// Other coefficients for a hierarchy made from a matrix: of the same form and shape, in the same memory or in
  /// other, which is then the one shared. Allocates nothing; waits for the stream. Recorded cycles stay valid
  /// where the memory is the same, and are recorded anew where it is not. Errors as for the constructor; the hierarchy is
  /// then good for nothing but another update.
  void update(Context& ctx, const GridOperator<double>& a);

  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override;

  /// One cycle for A x = b on level `level`.
  void cycle(Context& ctx, int level, GridView<const T> b, GridView<T> x, Guess guess);

  [[nodiscard]] int levels() const;
  [[nodiscard]] const GridOperator<T>& level_operator(int level) const;
  [[nodiscard]] const Transfer<T>& transfer(int level) const;  // between level and level - 1
  [[nodiscard]] std::vector<LevelReport> level_reports() const;
  /// The level where the cycle ends: level 0 or one that is solved by fast diagonalisation.
  [[nodiscard]] int lowest_level() const;
  /// How the coarsest level is solved; never `automatic`.
  [[nodiscard]] CoarseSolver coarse_solver() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

/// The meshes of a hierarchy, coarsest first, `fine` last.
[[nodiscard]] std::vector<TensorMesh> mesh_hierarchy(const TensorMesh& fine);

/// What smooths on each of these levels: what was asked for, or chosen where that is "auto".
[[nodiscard]] std::vector<SmootherChoice> level_smoothers(const std::vector<TensorMesh>& meshes,
                                                          const MultigridParams& params);

/// The level that fast diagonalisation is to solve, if its operator is of tensor form: on a GPU the first below the finest of at
/// most `diagonalise_below` unknowns in each direction.
[[nodiscard]] std::optional<std::size_t> diagonalised_level(const Context& ctx, const std::vector<TensorMesh>& meshes,
                                                            const MultigridParams& params);

/// The mesh of a grid of unknowns whose widths are not known: all are one.
[[nodiscard]] TensorMesh uniform_mesh(const GridShape& unknowns);

}  // namespace stratum
