#pragma once

// StructuredSolver: operator, hierarchy and Plan (multigrid/select.hpp), and how they are iterated with. PoissonSolver
// assembles the operator and hands over, MatrixSolver detects and scales it and hands over, HeatSolver adds a shift.
//
// It is built once, as its Plan says. Whether there is room for it is asked before, by building it in a memory dry run: with K
// by cells before the finest operator is assembled, by the Plan that takes the most memory, else by the Plan itself.
//
// On a Context with other subdomains of the grid (Context::set_communicator) all subdomains make the same calls with the whole
// mesh, and the solver cuts it into subdomains (mesh/partition.hpp): b and x are those of the subdomain, as
// fine_operator().shape() says, reports are of the whole.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stratum/core/clock.hpp>
#include <stratum/multigrid/select.hpp>
#include <stratum/multigrid/singular_parts.hpp>

namespace stratum {

/// What is solved, and what the cycle is of.
struct StructuredProblem {
  TensorMesh<2> mesh;
  /// That the cycle is of, whose unknowns are the mesh's; none: assembled, with K and c of the parameters.
  std::optional<GridOperator<double>> matrix{};
  const Conductances* conductances =
      nullptr;               // that the matrix was given with, of the mesh's cells; need not outlive the constructor
  bool is_deformed = false;  // the mesh that the matrix is of
  bool is_cartesian = true;  // its coordinates are
  std::optional<MatrixFacts> facts{};  // of a user's matrix
  /// Rows of the matrix without couplings are of nodes whose values are known (MatrixTraits).
  bool identity_rows = false;
  /// What is iterated on, where it is another: the cycle is that of D A, or of a connected A between projections.
  std::optional<GridOperator<double>> iterated_on{};
  std::vector<double> scales{};  // D
  std::optional<PartMeans> means{};
  /// The same operator as the one that would be iterated on, for iterations in double (multigrid/by_differences.hpp).
  std::shared_ptr<const LinearOperator<double>> by_differences{};
  bool settles_constant = false;           // no boundary has values (solvers/held_constant.hpp)
  Clock::time_point begun = Clock::now();  // its set-up
};

class StructuredSolver {
 public:
  /// Throws UsageError for bad parameters, ResourceError when the hierarchy would not fit in memory: it says what is
  /// needed and what there is before it allocates.
  StructuredSolver(Context& ctx, StructuredProblem problem, const PoissonSolverParams& params,
                   const SmootherRegistry& registry = builtin_smoothers());
  ~StructuredSolver();
  StructuredSolver(StructuredSolver&&) noexcept;
  StructuredSolver& operator=(StructuredSolver&&) noexcept;
  StructuredSolver(const StructuredSolver&) = delete;
  StructuredSolver& operator=(const StructuredSolver&) = delete;

  /// On a GPU: two solves of two iterations on numbers of its own, which take two vectors meanwhile, so that device code is
  /// loaded and cycles are recorded before the first solve; part of the set-up's time.
  void warm_up(Context& ctx);

  /// Solves A x = b from the given x (full multigrid ignores it unless full_multigrid_from_x).
  SolveReport solve(Context& ctx, FieldView<const double> b, FieldView<double> x, const Monitor& monitor = {});

  /// Solves A x_k = b_k for every k; each system stops on its own, with the bits of a solve of its own. On a CPU systems of
  /// up to `most_unknowns_side_by_side` unknowns are solved one a thread, each thread with a hierarchy of its own, made at the
  /// first such call (ResourceError where they would not fit in memory); larger ones, and those on a GPU, one after the other,
  /// and what they share is the set-up.
  std::vector<SolveReport> solve(Context& ctx, std::span<const FieldView<const double>> b,
                                 std::span<const FieldView<double>> x);
  static constexpr std::int64_t most_unknowns_side_by_side = 300'000;
  /// How many of so many systems are solved at the same time.
  [[nodiscard]] static std::size_t side_by_side(const Context& ctx, const GridLayout<2>& shape, std::size_t systems);

  /// Another c in `params.terms`, for one that was made with c > 0, K = 1 and a tensor operator (Hierarchy::set_reaction).
  /// Allocates nothing on the device.
  void set_reaction(Context& ctx, double c);
  /// Other coefficients for a solver of a matrix (Hierarchy::update), and other conductances where it was made with some.
  /// Allocates nothing on the device. What was made for batches is made anew at the next one.
  void update(Context& ctx, const GridOperator<double>& a, const Conductances* k = nullptr);
  /// The same of a solver that iterates on another matrix than that of its cycle, whose singular parts are none or stay.
  void update(Context& ctx, const GridOperator<double>& a, const Conductances* k,
              const GridOperator<double>& iterated_on);

  /// How the solves that follow stop. Throws UsageError for bad parameters.
  void set_stop(const StoppingParams& stop);

  /// One cycle from zero in double, or several of them as params.inner says, whatever its precision: for iterations
  /// of one's own. Made with the first call where the method does without.
  [[nodiscard]] Preconditioner<double>& preconditioner(Context& ctx);

  [[nodiscard]] const Plan& plan() const;
  /// Of the plan: with what was left open filled in.
  [[nodiscard]] const PoissonSolverParams& params() const { return plan().params; }
  /// The method or cycle that smoother "auto" chose, and another precision, and why; empty where all was asked for.
  [[nodiscard]] std::string choice() const { return plan().reason(); }
  /// The vectors that conjugate gradients are deflated by, or why there are none; empty where none were asked for.
  [[nodiscard]] const std::string& deflation() const;
  /// Of the cycle, coarsest first: shapes, smoothers and, where measured, seconds.
  [[nodiscard]] std::vector<LevelReport> level_reports() const;
  /// Multigrid::overlap of the cycle's levels, coarsest first.
  [[nodiscard]] std::vector<std::vector<OverlapRows>> overlaps() const;
  [[nodiscard]] int levels() const { return static_cast<int>(meshes().size()); }
  /// Of the hierarchy, coarsest first.
  [[nodiscard]] const std::vector<TensorMesh<2>>& meshes() const;
  /// How the coarsest level is solved; never `automatic`.
  [[nodiscard]] const std::string& coarse_solver() const;
  [[nodiscard]] const GridOperator<double>& fine_operator() const;
  /// Residuals are formed by differences, and films (assembly/films.hpp) lose nothing.
  [[nodiscard]] bool keeps_differences() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stratum
