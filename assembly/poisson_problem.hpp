#pragma once

// The problem -div(K grad u) + c u = f in the rectangle of the mesh, K = 1 unless given: load vector and error norm. On each
// boundary, n outward,
//
//     dirichlet  u = g      neumann  n.K grad u = g    robin  n.K grad u + alpha u = g    periodic  u as on the other side
//
//     b_i = integral of f phi_i  +  integral of g phi_i over Neumann and Robin boundaries
//           - sum over Dirichlet nodes k of A_ik g(x_k)
//     relative L2 error = || u_h - u || / || u ||
//
// Where a Dirichlet boundary meets a Neumann or Robin one, the corner is Dirichlet; of two Dirichlet boundaries left or right
// win. Without user functions it is the published accuracy study in [0, a] x [0, b]: u = x (a - x) y (b - y), f = 2 (y (b - y)
// + x (a - x)), g = 0 (with another origin in the distances to the boundaries), integrated exactly (separable terms, 4-point
// Gauss rule per interval). User functions are integrated by the 4 x 4 Gauss rule in every cell and by the 4-point rule on
// every boundary. In cells where c is a mean (assembly/coefficients.hpp), f is its mean, too. Errors use the 3 x 3 Gauss rule.
// Points know their distances to all four boundaries, so that a - x keeps its accuracy in cells far thinner than the round-off
// of x.
//
// `with_boundaries` gives a mesh the boundary types of the problem. If the operator is singular (no Dirichlet boundary, no
// alpha, no c), the load must be compatible, the integral of the solution is zero, and errors are those of functions minus
// their means. Source: Goeddeke, Strzodka 2011, Section 2.3.

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <stratum/assembly/bodies.hpp>
#include <stratum/assembly/grid_function.hpp>
#include <stratum/assembly/operators.hpp>
#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field.hpp>
#include <stratum/core/names.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

enum class BoundaryConditionType : std::uint8_t { dirichlet, neumann, robin, periodic };

template <>
inline constexpr auto names_of<BoundaryConditionType> =
    std::to_array<Named<BoundaryConditionType>>({{BoundaryConditionType::dirichlet, "dirichlet"},
                                                 {BoundaryConditionType::neumann, "neumann"},
                                                 {BoundaryConditionType::robin, "robin"},
                                                 {BoundaryConditionType::periodic, "periodic"}});

// What a kind means. All else asks these three, so that another kind n.K grad u + alpha u = g, whatever alpha and g are made
// of, is an enumerator, a name and what it is here; the three-dimensional problem has it, too.

/// The boundary type that the mesh has there.
[[nodiscard]] constexpr BoundaryType boundary_type(BoundaryConditionType kind) {
  return kind == BoundaryConditionType::dirichlet  ? BoundaryType::dirichlet
         : kind == BoundaryConditionType::periodic ? BoundaryType::periodic
                                                   : BoundaryType::neumann;
}
[[nodiscard]] constexpr bool has_alpha(BoundaryConditionType kind) { return kind == BoundaryConditionType::robin; }
/// g of n.K grad u + alpha u = g, empty where it is zero. The condition is one in two dimensions or in three.
template <class Condition>
[[nodiscard]] auto flux_function(const Condition& condition) {
  return boundary_type(condition.kind) == BoundaryType::neumann ? condition.value : decltype(condition.value){};
}

struct BoundaryCondition {
  BoundaryConditionType kind = BoundaryConditionType::dirichlet;
  ScalarFunction value{};  // g; empty: of a Dirichlet boundary the problem's boundary function, of others zero
  ScalarFunction alpha{};  // where has_alpha(kind), not negative
};

struct BoundaryConditions {
  BoundaryCondition left, right, bottom, top;
};

struct PoissonProblem {
  ScalarFunction rhs{};       // f; empty: the polynomial problem
  ScalarFunction exact{};     // u; empty: the polynomial problem's where all else is empty, else unknown
  ScalarFunction boundary{};  // g of Dirichlet boundaries without their own; empty: exact where given, else zero
  BoundaryConditions boundaries{};
  double reaction = 0;                       // c, not negative
  Diffusion diffusion{};                     // K; one where it is not given
  Coefficient reaction_of_cells{};           // added to c
  std::vector<Body> bodies{};                // inside the domain
  std::shared_ptr<const BodyMap> on_mesh{};  // these on the mesh, where the caller has it from bodies_on

  [[nodiscard]] bool is_polynomial() const { return !rhs; }
  /// K or c are given by cells, which bodies do.
  [[nodiscard]] bool has_coefficients() const {
    return diffusion.is_given() || reaction_of_cells.is_given() || !bodies.empty();
  }
  [[nodiscard]] bool has_exact() const;
};

/// The mesh with ends as the boundaries want them. Throws UsageError where one of two opposite sides alone is periodic, where
/// no unknowns are left, and as Axis::with_boundaries does.
[[nodiscard]] TensorMesh<2> with_boundaries(const TensorMesh<2>& mesh, const BoundaryConditions& boundaries);
[[nodiscard]] MappedMesh with_boundaries(const MappedMesh& mesh, const BoundaryConditions& boundaries);
[[nodiscard]] ProblemMesh with_boundaries(const Geometry& mesh, const BoundaryConditions& boundaries);

/// What the operator has beside the Laplacian. An alpha that is the same at all points of its boundary that integrals see is a
/// number. Throws UsageError for alpha that is negative or not finite.
[[nodiscard]] OperatorTerms operator_terms(const Geometry& mesh, const PoissonProblem& problem);

/// K and c on the cells of the mesh, c beside `reaction`; nothing where K = 1 and c is a number.
[[nodiscard]] std::optional<CellCoefficients> cell_coefficients(Context& ctx, const Geometry& mesh,
                                                                const PoissonProblem& problem);
// `cells` below are what cell_coefficients gives for the same mesh and problem, where the caller has them; else they are
// evaluated anew.

/// A u = 0 for constants: no Dirichlet boundary, no alpha and no c.
[[nodiscard]] bool is_singular(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                               const CellCoefficients* cells = nullptr);

/// How far a load vector is from having a solution where the operator is singular.
struct Compatibility {
  double sum = 0, sum_of_magnitudes = 0;
  double mean = 0;  // what is subtracted from f
  static constexpr double negligible = 1e-8;
  [[nodiscard]] bool holds() const { return std::abs(sum) <= negligible * sum_of_magnitudes; }
};

/// Throws UsageError if the data of a singular problem are incompatible and `project` does not ask to subtract the mean of f.
/// `what` names the sum that has to vanish.
void expect_compatible(const Compatibility& found, bool project, const char* what);

// Loads and solutions below may be a subdomain's (assembly/grid_function.hpp); all subdomains make these calls then, and each
// has the whole's answer.

/// Subtracts from f the constant that makes b compatible, and says how large the sum was before. Where nothing but rounding is
/// left of b it is zero, since a solver would take rounding for a right-hand side.
Compatibility make_compatible(Context& ctx, const Geometry& mesh, const GridFunction<double>& b);
/// Subtracts its mean over the domain from u_h.
void subtract_integral_mean(Context& ctx, const Geometry& mesh, const GridFunction<double>& u);

/// u at the unknowns of a smooth function with the Dirichlet boundaries' values, linear between opposite sides (Coons): what a
/// cycle of full multigrid (FMG) starts from, since the coarser levels know nothing of those values. Zero where no boundary has
/// any. Of a subdomain (mesh/partition.hpp), its rows.
void lift_boundary(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const GridFunction<double>& u);
/// Some Dirichlet boundary has values that are not known to be zero.
[[nodiscard]] bool has_boundary_values(const PoissonProblem& problem);

/// Largest difference of the values that two Dirichlet boundaries give their corner, and where.
struct CornerGap {
  double gap = 0, x = 0, y = 0;
};
[[nodiscard]] CornerGap largest_corner_gap(const Geometry& mesh, const PoissonProblem& problem);

/// The load vector on the nodes that are unknowns; of a subdomain (mesh/partition.hpp), its rows. Throws UsageError when a
/// function gives a value that is not finite.
void assemble_load(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const GridFunction<double>& b,
                   const CellCoefficients* cells = nullptr);
/// In these cells, the mean of f by the 4 x 4 Gauss rule takes the place of f in b, where f was integrated by the rule of so
/// many points in each direction, 2 or 4.
void add_averaged_load(Context& ctx, const Geometry& mesh, const ScalarFunction& f, int points,
                       const std::vector<std::size_t>& averaged, const GridFunction<double>& b);

/// What boundaries alone add to the load vector, in parts: for loads that change from step to step where the rest does not. b
/// is zero but at the unknowns of the first and last columns and rows. Of a subdomain (mesh/partition.hpp) rows from `first`
/// on, numbered as all of them are.
struct BoundaryLoads {
  GridLayout<2> shape;
  int first;
  std::vector<double> left, right;  // columns, which have the corners
  std::vector<double> bottom, top;

  explicit BoundaryLoads(const GridLayout<2>& unknowns, int first_row = 0);
  [[nodiscard]] bool has(int row) const { return row >= first && row < first + shape.ny; }
  [[nodiscard]] double& operator()(int i, int j);
};
/// b = b + boundaries, through a column and a row of the Context's memory.
void add(Context& ctx, const BoundaryLoads& boundaries, std::array<Field<double>, 2>& through, FieldView<double> b);
/// b_i = b_i + integral of g phi_i over the Neumann or Robin boundaries, of the rows that b has
void add_fluxes(const Geometry& mesh, const PoissonProblem& problem, BoundaryLoads& b);

/// g at the Dirichlet nodes, in one order for all problems with these kinds of boundaries.
[[nodiscard]] std::vector<double> dirichlet_values(const Geometry& mesh, const PoissonProblem& problem);
/// Of row (i, j) of A g: value (g_node - g_other), or value g_node where there is no other Dirichlet node, both in that order.
struct DirichletEntry {
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::size_t node, other;
  int i, j;
  double value;
  [[nodiscard]] double times(const std::vector<double>& g) const {
    return value * (other == none ? g[node] : g[node] - g[other]);
  }
};
/// With K and c of `cells`, K = 1 where there are none, c beside `reaction`, and the problem's alpha.
[[nodiscard]] std::vector<DirichletEntry> dirichlet_entries(const Geometry& mesh, const PoissonProblem& problem,
                                                            const CellCoefficients* cells, double reaction);
/// Of the integrals of `capacity` phi_i phi_k on a rectangle.
[[nodiscard]] std::vector<DirichletEntry> dirichlet_mass_entries(const TensorMesh<2>& mesh,
                                                                 const PoissonProblem& problem, double capacity);

/// || u_h - u || / || u || in L2, u_h given on the unknowns; the absolute norm when u = 0; empty where u is unknown.
[[nodiscard]] std::optional<double> relative_l2_error(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                                      const GridFunction<const double>& u,
                                                      const CellCoefficients* cells = nullptr);

/// On the nodes of the four boundaries: what Dirichlet ones have, corners included; zero where a boundary is Neumann or Robin
/// or periodic.
struct BoundaryValues {
  std::vector<double> left, right, bottom, top;
};
[[nodiscard]] BoundaryValues boundary_values_of_nodes(const Geometry& mesh, const PoissonProblem& problem);

/// u_h on all nodes, boundary included: (cells_x + 1) * (cells_y + 1) numbers, x fastest. Of a subdomain those of node_rows
/// (mesh/partition.hpp), which all subdomains ask for together.
[[nodiscard]] std::vector<double> nodal_solution(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                                 const GridFunction<const double>& u);

/// f, u and g as functions that are never empty (u only where it is known), polynomial problem included.
[[nodiscard]] ScalarFunction rhs_function(const PoissonProblem& problem);
[[nodiscard]] ScalarFunction exact_function(const PoissonProblem& problem);
[[nodiscard]] ScalarFunction boundary_function(const PoissonProblem& problem);

/// Nodes at (x, y), functions of points of the rectangle.
[[nodiscard]] MappedMesh mapped(Context& ctx, const TensorMesh<2>& mesh, const ScalarFunction& x,
                                const ScalarFunction& y);
/// A function at all nodes, or at those of some rows, x fastest.
[[nodiscard]] std::vector<double> at_nodes(Context& ctx, const Geometry& mesh, const ScalarFunction& function);
[[nodiscard]] std::vector<double> at_nodes(Context& ctx, const Geometry& mesh, const ScalarFunction& function,
                                           NodeRows rows);

}  // namespace stratum
