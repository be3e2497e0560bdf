#pragma once

// PoissonSolver3D: a box mesh and a problem (assembly/poisson_problem_3d.hpp) in, the Q1 solution out, by one of
//
//     direct       of separable problems: fast diagonalization and no iteration but for refinement, below
//     planes       of K = 1 and boxes with two long directions and a short one, on a CPU: the modes of the short one, and
//                  multigrid in two dimensions in the plane of every mode (multigrid/plane_multigrid.hpp)
//     multigrid    of any K by cells: conjugate gradients around a V-cycle with gated coarsening (multigrid/box_multigrid.hpp)
//     fd-cg        of a smooth scalar K: conjugate gradients around fast diagonalization of K = 1, scaled by K^-1/2
//                  (multigrid/scaled_diagonalization.hpp)
//     automatic    direct where it can be, planes where that costs less; fd-cg where a scalar K differs by at most
//                  `smooth_jump` between neighbouring cells, by less between thin ones, and by at most `smooth_contrast` in
//                  all, and u is not known up to a constant only; else multigrid
//
// Fast diagonalization:
//
//     A = Kx My Mz + Mx Ky Mz + Mx My Kz + c Mx My Mz    (Kronecker products, x fastest; K, M of one direction, h_i its widths)
//
//     V_e^T M_e V_e = 1,   V_e^T K_e V_e = Lambda_e     for two directions e
//     v = (Vx Vy)^T b;    (Kz + (lambda_i + lambda_j + c) Mz) u_ij = v_ij  for all i, j;    x = Vx Vy u
//
// Four products with dense matrices, 4 N (n_x + n_y) operations of N unknowns, or on a CPU Fourier transforms of uniform
// directions, and one tridiagonal system for every pair of modes. The lines are those of the direction that costs the most
// else. Exact for any widths; what rounding leaves is taken away by refinement on the true residual b - A x, formed by
// differences in double, until the tolerance is met or the residual no longer falls. Statuses are converged, round-off limit
// (the residual is at rounding, above the tolerance), non-finite, diverged and stagnated; `converged` is claimed on the true
// residual alone.
//
// Everything is double, but for cycles and the iteration around them where `float_cycles` says so. Memory of the direct method:
// about 3 vectors of N; traffic: about 10 words an unknown and solve beside the products. Memory of multigrid: about 20
// vectors, and up to 90 where cells are thin in all three directions (`required_memory`, the plan's `nodes`). Solves run on the
// Context's backend and wait for the stream at the residual norms. Errors: UsageError for bad problems and arrays,
// ResourceError where it would not fit in memory: it says what is needed and what there is before it allocates. Sources: R. E.
// Lynch, J. R. Rice, D. H. Thomas, Direct solution of partial difference equations by tensor product methods, Numer. Math. 6,
// 1964; Buzbee, Golub, Nielson, On Direct Methods for Solving Poisson's Equations, 1970.
//
// Bodies (assembly/box_bodies.hpp) that hold u or let nothing in take multigrid (multigrid/box_solids.hpp). Nodes
// without an equation are quiet NaNs of nodal_solution. There are no errors around them: UsageError for an exact solution, and
// for right-hand sides by nodal values. Loads are integrals over live cells.
//
// Arrays of nodal values hold all nodes of the box, its faces included, (nx + 1) (ny + 1) (nz + 1) of nx x ny x nz cells, x
// fastest: node (i, j, k) is number (k (ny + 1) + j) (nx + 1) + i. In a periodic direction the last nodes are the first ones.
//
// Several ranks (core/comm/communicator.hpp), by all methods but planes: the direction of the direct method's lines is cut, of
// multigrid and fd-cg z, and each rank has a slab of planes of unknowns, as many as the others or one more. `nodes` are those around its cells: neighbours have a plane
// of nodes in common. Arrays and memory are the rank's, loads the integrals over its own cells; reports, errors, fluxes and
// ranges are those of all. The direct method's products are local; a solve gathers two numbers a line and rank, and exchanges a
// plane with either neighbour for every residual. What multigrid exchanges says multigrid/box_multigrid.hpp. Answers, and
// iterations of multigrid, are those of one rank to rounding. All ranks call together. UsageError where there are fewer planes
// than ranks.

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stratum/assembly/box_bodies.hpp>
#include <stratum/assembly/box_fields.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field_3d.hpp>
#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/names.hpp>
#include <stratum/multigrid/box_planes.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

enum class BoxMethod : std::uint8_t { automatic, direct, planes, fd_cg, multigrid };

template <>
inline constexpr auto names_of<BoxMethod> = std::to_array<Named<BoxMethod>>({{BoxMethod::automatic, "auto"},
                                                                             {BoxMethod::direct, "direct"},
                                                                             {BoxMethod::planes, "planes"},
                                                                             {BoxMethod::fd_cg, "fd-cg"},
                                                                             {BoxMethod::multigrid, "multigrid"}});

struct PoissonSolver3DParams {
  /// A tolerance that nobody asked for: a residual that is at rounding will do, without another solve for the digit below it.
  StoppingParams stop{.rtol = 1e-10, .max_iterations = 100, .rounding_will_do = true};
  /// Of a singular problem whose data do not balance: a constant is subtracted from f. Else it is refused.
  bool project = false;
  /// Gauss points a direction and cell, 1 to 4, by which f and g are integrated. 0: 4 in boxes of up to 2^18 cells, 2 in larger
  /// ones, where functions take longer than the solve. Of a wave of number k, 2 points lose (k h)^2 / 360 of what the elements
  /// lose.
  int quadrature_points = 0;
  /// Other ones than `automatic` are refused where they cannot be.
  BoxMethod method = BoxMethod::automatic;
  /// Cycles of multigrid in float, and conjugate gradients around them with residuals in double (solvers/mixed/mixed_cg.hpp),
  /// half the memory and traffic; what that cannot solve goes on in double. As good as double ones where thin cells lie at
  /// Dirichlet faces; at natural faces cells thinner than 1e-3 of the widest ones cost iterations.
  bool float_cycles = false;

  static constexpr double smooth_jump = 1.5, smooth_contrast = 1000;
};

/// A level of multigrid.
struct BoxLevelPlan {
  std::array<int, 3> unknowns{};
  std::string smoother;      // "points", "lines along y and z", "inverse"
  bool distributed = false;  // ranks share it; else every rank has it whole
};

/// How the problem is solved, and why.
struct BoxSolverPlan {
  BoxMethod kind = BoxMethod::direct;  // never automatic
  /// The direction of fast diagonalization's lines: 0 x, 1 y, 2 z; of planes that of the modes; on several ranks it is cut.
  int lines = 2;
  std::array<int, 3> unknowns{};  // of each direction
  std::array<bool, 3> fourier{};  // fast diagonalization takes Fourier transforms of a direction for its dense matrices
  double operations = 0;          // of products with modes, in one application of fast diagonalization
  bool float_cycles = false;      // cycles are in float
  double nodes = 1;               // of all levels of multigrid, by those of the finest one
  std::vector<BoxLevelPlan> levels;  // of multigrid, the finest one first
  std::string method;                // "fast diagonalization in x and y, lines along z"
  std::string reason;                // one sentence

  /// Solved by refinement, without conjugate gradients.
  [[nodiscard]] bool is_direct() const { return kind == BoxMethod::direct || kind == BoxMethod::planes; }
  /// Levels that ranks share, from the finest one on.
  void set_distributed(int count) {
    for (int l = 0; l < count; ++l) levels[static_cast<std::size_t>(l)].distributed = true;
  }
  [[nodiscard]] int distributed_levels() const {
    int count = 0;
    for (const BoxLevelPlan& level : levels) count += level.distributed ? 1 : 0;
    return count;
  }
};

class PoissonSolver3D {
 public:
  /// `mesh` need not have the ends of the problem's faces: it is given them. Makes modes, loads and vectors.
  PoissonSolver3D(Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                  const PoissonSolver3DParams& params = {});
  ~PoissonSolver3D();
  PoissonSolver3D(PoissonSolver3D&&) noexcept;
  PoissonSolver3D& operator=(PoissonSolver3D&&) noexcept;
  PoissonSolver3D(const PoissonSolver3D&) = delete;
  PoissonSolver3D& operator=(const PoissonSolver3D&) = delete;

  /// Solves from zero. report.choice says how and why.
  SolveReport solve(const Monitor& monitor = {});

  /// The same of a right-hand side and for a solution in memory of the Context's, in its stream, without the host: b of all
  /// unknowns, x fastest, integrals of f phi_i and of the data of Neumann and Robin faces; values of Dirichlet faces are the
  /// problem's. x gets u_h at the unknowns. 4 words a number more. `fluxes` do not know this load, and throw UsageError.
  SolveReport solve(FieldView<const double, 3> b, FieldView<double, 3> x, const Monitor& monitor = {});
  /// The same of numbers that lie in another order.
  SolveReport solve(StoredBox<const double> b, StoredBox<double> x, const Monitor& monitor = {});

  /// Another c > 0 in the place of one, without bodies that hold u or let nothing in: for steps in time, which solve with
  /// c + 1 / dt. Modes stay as they are. Levels of multigrid are those of levels_reaction(c); they are made anew where that number changes.
  void set_reaction(double c);
  /// The power of two that is nearest.
  [[nodiscard]] static double levels_reaction(double c) { return std::exp2(std::round(std::log2(c))); }

  // Other right-hand sides for the same operator and the same boundary values; each takes the place of the problem's f.
  /// f, integrated by Gauss points.
  void set_rhs(const ScalarFunction3D& f);
  /// f by its values at all nodes, interpolated in every cell: b = M f.
  void set_nodal_rhs(std::span<const double> f);
  /// The integrals of f phi_i of all nodes, those of Dirichlet nodes included (fluxes need them); of Neumann and Robin data
  /// nothing.
  void set_load(std::span<const double> b);

  /// u_h at all nodes, faces included, or those of this rank.
  [[nodiscard]] std::vector<double> nodal_solution() const;
  // Of u_h, where it is, or by its values at all nodes as nodal_solution gives them, on the host. On a GPU the first way copies
  // the faces alone, unless the exact solution is a function that the GPU cannot evaluate
  // (assembly/expressions/gpu_box_integrals.hpp).
  /// Empty where u is unknown.
  [[nodiscard]] std::optional<RelativeErrors> relative_errors(std::span<const double> nodal) const;
  [[nodiscard]] std::optional<RelativeErrors> relative_errors() const;
  /// Throws UsageError after a solve for a right-hand side in the Context's memory, which says nothing of the faces.
  [[nodiscard]] BoundaryFluxes3D fluxes(std::span<const double> nodal) const;
  [[nodiscard]] BoundaryFluxes3D fluxes() const;
  [[nodiscard]] SolutionRange3D range(std::span<const double> nodal) const;
  [[nodiscard]] SolutionRange3D range() const;
  /// Of every body, after a solve.
  [[nodiscard]] std::vector<BoxBodyFlux> body_fluxes() const;

  /// Of a singular problem: what the last right-hand side lacked to balance, and what was subtracted from f; else nothing. Of
  /// rooms that bodies leave, after a solve, the sums of all; where there are several, no mean.
  [[nodiscard]] const std::optional<Compatibility>& compatibility() const;
  /// The same of each room that nothing holds, in the order of their first cells.
  [[nodiscard]] const std::vector<Compatibility>& compatibility_of_rooms() const;
  [[nodiscard]] const BoxSolverPlan& plan() const;
  /// This rank's.
  [[nodiscard]] NodePlanes nodes() const;
  [[nodiscard]] GridLayout<3> unknowns() const;
  /// With the ends of the problem's faces.
  [[nodiscard]] const TensorMesh<3>& mesh() const;
  [[nodiscard]] const PoissonProblem3D& problem() const;
  void set_stop(const StoppingParams& stop);

 private:
  friend std::int64_t required_memory(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                      const PoissonSolver3DParams& params);
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Planes of nodes of this rank, as PoissonSolver3D::nodes will have them.
[[nodiscard]] NodePlanes node_planes(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                     BoxMethod method = BoxMethod::automatic);

/// Bytes that a PoissonSolver3D takes on the Context's backend, on this rank of several, by a memory dry run. Takes
/// K of all cells, where it is given.
[[nodiscard]] std::int64_t required_memory(const Context& ctx, const TensorMesh<3>& mesh,
                                           const PoissonProblem3D& problem, const PoissonSolver3DParams& params = {});

}  // namespace stratum
