#pragma once

// select: what `auto`, and all else that was left open, comes to. One pure function of what was asked for and of facts about
// the mesh, the operator, its boundaries and the machine:
//
//     Plan = select(PoissonSolverParams, SolverFacts)
//
// Solvers call it once, before they build anything, and build what the Plan says. A Plan has no parameter left open, and the
// reasons.
//
// Whose matrix it is:
//
//     nonsymmetric, or a cycle of scaled rows    flexible GMRES; the former with smoother adi in place of "auto", and a
//                                                direct coarse solver
//     symmetric                                  cycles in double where float would lose the matrix: a singular one whose
//                                                rows sum to more than 0.03 of what it conducts, finite volumes whose thin
//                                                cells lose as much, or nodes that are held by 1e5 times what couples them
//
// Method and cycle, where both are left open and the smoother is "auto":
//
//     the mesh alone                             widths of neighbouring cells differ by factors (largest_jump) in both
//                                                directions at once
//         below 16                               V-cycles
//         below 200, or the method is given      F-cycles, on a CPU with 50000 unknowns or more
//         else                                   conjugate gradients
//     K by cells, deformed meshes, matrices      by what the finest matrix couples (multigrid/couplings.hpp)
//         rotated against the axes               flexible CG around K-cycles; where it jumps by more than 10, CG around
//                                                W2-cycles
//         else                                   CG around V-cycles
//
// Interpolation of a matrix that nobody gave K for: bilinear, or by the matrix where K jumps by more than most_bilinear_jump or
// is rotated against the axes (at 45 degrees and 1 : 1000 11 iterations for 21).
// Direct: on a GPU, with "auto", the finest level of a tensor operator with up to `exact_below` unknowns in one direction is
// solved without a cycle; mixed precision is full there. Smoothers of levels: multigrid/smoother_choice.hpp; of products they
// follow every level's matrix, so that a Plan has them for assembled operators alone.
//
// Limits are where measured times to 1e-8 cross.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stratum/core/names.hpp>
#include <stratum/multigrid/couplings.hpp>
#include <stratum/multigrid/deflated_solver.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/krylov/refinement.hpp>

namespace stratum {

/// mixed: cycles in float, all else in double; residual_replacement: conjugate gradients in float as well, now and then set
/// right in double (solvers/mixed/mixed_cg.hpp); full: all in double; single: all in float; double_single:
/// solvers/mixed/double_single.hpp.
enum class Precision : std::uint8_t { mixed, full, single, double_single, residual_replacement };
enum class Method : std::uint8_t { multigrid, cg, fcg, cr, gcr, gmres, bicgstab };

template <>
inline constexpr auto
    names_of<Precision> = std::to_array<Named<Precision>>({{Precision::mixed, "mixed"},
                                                           {Precision::full, "double"},
                                                           {Precision::residual_replacement, "residual-replacement"},
                                                           {Precision::double_single, "double-single"},
                                                           {Precision::single, "single"}});
template <>
inline constexpr auto names_of<Method> = std::to_array<Named<Method>>({{Method::multigrid, "multigrid"},
                                                                       {Method::cg, "cg"},
                                                                       {Method::fcg, "fcg"},
                                                                       {Method::cr, "cr"},
                                                                       {Method::gcr, "gcr"},
                                                                       {Method::gmres, "gmres"},
                                                                       {Method::bicgstab, "bicgstab"}});

/// Between neighbouring nodes: above it an interpolation that follows the matrix is worth its making.
inline constexpr double most_bilinear_jump = 1.5;

struct PoissonSolverParams {
  MultigridParams multigrid;
  StorageFormat format = StorageFormat::tensor;  // symmetric where it is tensor and an alpha varies along its side
  OperatorTerms terms{};                         // beside the Laplacian; the mesh says what its ends are
  /// K, and c beside that of `terms`, of the mesh's cells; null: K = 1. The finest operator is then a cell or tensor operator,
  /// coarse ones are Galerkin products whose interpolation follows K, and the method is cg where none is asked for (fcg with a
  /// K-cycle).
  std::shared_ptr<const CellCoefficients> coefficients{};
  /// Of Galerkin products: conductance where coefficients are given and on deformed meshes, which have no split one; of a
  /// matrix bilinear, or where smoother "auto" finds K to jump by more than most_bilinear_jump the matrix.
  std::optional<InterpolationKind> interpolation{};
  Precision precision = Precision::mixed;
  InnerStop inner;
  std::optional<Method>
      method{};  // multigrid; of residual_replacement cg, of double_single too, and fcg with a K-cycle
  SolverParams krylov{.restart = 10};
  StoppingParams stop;
  bool full_multigrid = false;
  bool full_multigrid_from_x = false;  // for the correction of the given x: coarse levels know no boundary values
  bool continue_after_full_multigrid = false;  // to stop.rtol
  bool retry_in_double = true;
  /// Of method cg, K by cells of a rectangle, or a symmetric matrix (there `automatic` is none with another method); what it
  /// takes is not in required_memory.
  DeflateParams deflate{};
};

/// What is known of a user's matrix beside its entries.
struct MatrixFacts {
  bool symmetric = false, singular = false;  // of the matrix that the cycle is for
  bool cycle_is_scaled = false;              // which is D times the one that is solved
  bool has_parts = false;                    // it falls into parts that are coupled to no others
  bool has_singular_parts = false;           // several of which are singular, or one beside other nodes
  bool has_identity_rows = false;            // nodes that are no unknowns: the interpolation has to see them
  double lost_in_float = 0;                  // SingularParts, FiniteVolumes
  bool holds_nodes_alone = false;            // by 1e5 times what couples them
};

struct SolverFacts {
  /// Whence the finest operator comes: assembled with K = 1, of K and c by cells, of a deformed mesh, or given.
  enum class Source : std::uint8_t { mesh, cells, deformed_mesh, matrix };
  Source source = Source::mesh;
  std::vector<TensorMesh<2>> meshes{};  // coarsest first
  bool on_gpu = false;
  bool has_halo = false;                  // the finest level: it is periodic, or distributed
  std::optional<StorageFormat> format{};  // of the finest operator, where it is there; else that of the parameters
  bool has_conductances = false;
  bool is_cartesian = true;  // of a deformed mesh: its coordinates are
  /// Of the finest operator. Without, as in a memory dry run, the Plan is the one that takes the most memory.
  std::optional<Couplings> couplings{};
  bool has_modes = true;  // which double rounds little enough: of one direction of a tensor operator, to solve it by
  std::optional<MatrixFacts> matrix{};
  bool has_films = false;  // where bands lose digits (assembly/films.hpp), and those in float all of them

  [[nodiscard]] bool is_given() const { return source == Source::matrix || source == Source::deformed_mesh; }
};

struct Plan {
  PoissonSolverParams params{};           // nothing that decides is left open
  bool is_direct = false;                 // without a cycle, for which mixed precision became full
  std::vector<SmootherChoice> smoothers;  // coarsest first; empty: by the matrices of the levels
  std::string cycle_reason, precision_reason;

  /// All reasons, in one sentence.
  [[nodiscard]] std::string reason() const;
};

/// Whether the finest matrix has to say which cycle it is.
[[nodiscard]] bool asks_matrix(const PoissonSolverParams& asked, const SolverFacts& facts);

/// Throws UsageError for what does not go together.
[[nodiscard]] Plan select(const PoissonSolverParams& asked, const SolverFacts& facts);

/// The method's entry in the table of solvers.
[[nodiscard]] const SolverEntry& entry_of(const PoissonSolverParams& params);

}  // namespace stratum
