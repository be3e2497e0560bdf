#pragma once

// What implicit steps of  M u' + A u = F  solve with (assembly/heat_problem.hpp):
//
//     S = A + s M,     s = 1 / (gamma dt)
//
// by PoissonSolver, which is made once and updated where s or the coefficients change; that allocates nothing on the device
// (but where a Robin boundary meets coefficients that change with the time). Where K, c and the capacity are constant, kxy = 0,
// all are tensor operators of -Laplace on the mesh whose y is sqrt(kxx / kyy) times as long, and the equation is divided by
// sqrt(kxx kyy): `scale`. Else they are of cell form (with a lumped mass in five bands), coarse levels are Galerkin products,
// and the method is cg unless another is asked for. On a mesh of quadrilaterals they have five bands, and coefficients that
// change with the time are assembled anew, which allocates.
//
// Around bodies that hold u or let nothing in (assembly/bodies.hpp) A and M have five bands, too. At nodes that are no unknowns
// their rows are a diagonal alone; the cycle is that of multigrid/poisson_solver_bodies.hpp. Where coefficients change all of
// that is assembled anew, which allocates.
//
// In films (assembly/films.hpp) of rectangles A is of cell form beside its bands, and steps are iterated on by differences.
//
// On a Context with other subdomains of the grid all are those of the subdomain, and coefficients and entries of boundaries
// those of the whole mesh.

#include <optional>
#include <vector>

#include <stratum/assembly/heat_problem.hpp>
#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/multigrid/by_differences.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

namespace stratum {

class HeatOperators {
 public:
  /// With the coefficients at time t. Throws as PoissonSolver does, UsageError for a capacity that is not positive, single
  /// precision and full multigrid.
  HeatOperators(Context& ctx, const Geometry& mesh, const HeatProblem& problem, double t, double s,
                const PoissonSolverParams& params, const SmootherRegistry& registry);

  /// Coefficients at time t, where they vary, and s > 0. True where S has changed.
  bool set(Context& ctx, double t, double s);
  /// What that allocates for a while, for a Context of a memory dry run.
  void count_memory_of_changes(Context& ctx);

  /// All of the equation, F and the boundaries' values among it, is multiplied by this number.
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] double s() const { return s_; }
  [[nodiscard]] const GridOperator<double>& a() const { return a_; }
  [[nodiscard]] const GridOperator<double>& mass() const { return mass_; }
  /// M of a capacity that is the same everywhere: what is large in its norm is so by its size and area alone.
  [[nodiscard]] const GridOperator<double>& even_mass() const { return even_mass_ ? *even_mass_ : mass_; }
  /// S
  [[nodiscard]] const LinearOperator<double>& sum() const {
    if (by_differences_) return *by_differences_;
    return solver_->fine_operator();
  }
  [[nodiscard]] StructuredSolver& solver() { return *solver_; }
  [[nodiscard]] const StructuredSolver& solver() const { return *solver_; }
  /// A_D and M_D
  [[nodiscard]] const std::vector<DirichletEntry>& dirichlet_entries_of_a() const { return entries_of_a_; }
  [[nodiscard]] const std::vector<DirichletEntry>& dirichlet_entries_of_mass() const { return entries_of_mass_; }
  /// A u = 0 for constants: heat is conserved but for F.
  [[nodiscard]] bool conserves_heat() const { return conserves_; }
  /// Flat: zero at nodes that are no unknowns, one at others. Null where there are none.
  [[nodiscard]] const Field<double>* keep() const { return solids_ ? solids_->keep_rows.get() : nullptr; }
  /// y = y - A g - M k of values g and slopes k at held nodes, zero at others, which have their ghosts.
  void subtract_held(Context& ctx, const Field<double>& g, const Field<double>& k, FieldView<double> y) const;
  /// What bands of A lose in films; zero where A is not in bands.
  [[nodiscard]] double round_off_of_films() const { return lost_; }
  /// Cells where c or the capacity is a mean, at the time of the coefficients.
  [[nodiscard]] const std::vector<std::size_t>& averaged() const { return averaged_; }

 private:
  /// K, c and alpha at one time.
  struct Coefficients {
    CellCoefficients k;
    std::vector<double> capacity;
    OperatorTerms terms;  // without c, which is in k
  };
  /// On the cells of this mesh.
  [[nodiscard]] Coefficients at(Context& ctx, const Geometry& cells, double t) const;
  void make_tensor(Context& ctx, const Coefficients& now, PoissonSolverParams params, const SmootherRegistry& registry);
  void make_cells(Context& ctx, const Coefficients& now, PoissonSolverParams params, const SmootherRegistry& registry);
  void assemble_quadrilaterals(Context& ctx, const Coefficients& now);
  void make_around_bodies(Context& ctx, const Coefficients& now, PoissonSolverParams params,
                          const SmootherRegistry& registry);
  void assemble_around_bodies(Context& ctx, const Coefficients& now);
  [[nodiscard]] GridOperator<double> bands(Context& ctx, const CellCoefficients& k, const OperatorTerms& terms) const;
  [[nodiscard]] GridOperator<double> cells(Context& ctx, const CellCoefficients& k, const OperatorTerms& terms) const;
  /// Along a boundary, at some time: cells then cannot hold A.
  [[nodiscard]] bool alpha_may_vary() const;
  /// Whether bands of A would lose digits that cells keep.
  [[nodiscard]] bool has_films(const Coefficients& now) const;
  void find_boundary_types(double t, const Coefficients& now);
  /// M_D of cells.
  [[nodiscard]] std::vector<DirichletEntry> mass_entries(double t, const Coefficients& now) const;
  /// A diagonal in the place of M, where that is asked for.
  void lump(Context& ctx, double t, const Coefficients& now, GridOperator<double>& mass) const;
  void add_up(Context& ctx);

  ProblemMesh mesh_;
  TensorMesh<2> stretched_;  // of tensor operators
  GridLayout<2> subdomain_;  // the subdomain's unknowns
  HeatProblem problem_;
  double t_, s_;
  bool varies_, conserves_ = false, has_films_ = false;
  double scale_ = 1, lost_ = 0;
  double reaction_ = 0, capacity_ = 0;  // of tensor operators, scaled
  GridOperator<double> a_, mass_;
  GridOperator<double> bands_of_a_;  // a_, but in films
  std::shared_ptr<SumByDifferences> by_differences_;
  std::optional<GridOperator<double>> even_mass_;      // where the capacity varies
  GridOperator<double> sum_;                           // of cell form, as what follows
  std::optional<CellFields> fields_, fields_of_mass_;  // of the coefficients that were put in last, on a rectangle
  std::optional<Conductances> conductances_;
  Field<double> reaction_of_a_, reaction_of_mass_;
  /// Nodes that are no unknowns.
  struct Solids {
    Field<double> keep, not_given;             // zero at these; at held ones
    std::shared_ptr<Field<double>> keep_rows;  // keep, flat
    bool conducts = false;                     // there are solids without flux
    GridOperator<double> all_a, all_mass;      // with the couplings of held nodes, where there are any
    GridOperator<double> cycle_a, cycle_m;     // of the cycle, where solids conduct next to nothing
    GridOperator<double> cycle_sum;
    mutable Field<double> product;
  };
  std::optional<Solids> solids_;
  std::optional<StructuredSolver> solver_;
  std::vector<DirichletEntry> entries_of_a_, entries_of_mass_;
  std::vector<std::size_t> averaged_;
};

}  // namespace stratum
