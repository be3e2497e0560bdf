#pragma once

// Cell-centred finite volumes for the problem of assembly/poisson_problem.hpp, -div(K grad u) + c u = f on a rectangle, K = kxx
// or diagonal: one unknown u_P in each cell, of volume V,
//
//     sum over the faces of cell P of  F  +  c_P V u_P  =  f_P V ,      F outward,
//
//     between cells P and N      F = T (u_P - u_N)    1/T = 1/t_P + 1/t_N,   t_P = 2 k_P area / width of P
//     dirichlet  u = g           F = t_P (u_P - g)                           the value lies half a cell away
//     neumann    n.K grad u = g  F = -area g
//     robin                      F = T (u_P - g / alpha) = T u_P - T g / alpha,   1/T = 1/t_P + 1/(area alpha)
//     periodic                   as between cells
//
// T has the distance-weighted harmonic mean of K on its face. A Robin boundary's value of u is eliminated exactly. So this is
// the five-point matrix of MAC grids and pressure solvers; it is symmetric, and its rows sum to what boundaries and c add. f, g
// and alpha are their means by the 4-point Gauss rule (in both directions of a cell, along a face), K and c are those of
// assembly/coefficients.hpp. Cells are numbered along x first, from the bottom.
//
// Bodies (assembly/bodies.hpp) have the cells whose centre lies inside. Their faces towards cells with an equation, P,
//
//     value     u = g     F = t_P (u_P - g)                          g its mean over the face, half a cell away
//     no_flux             F = 0
//     contact   R         F = T (u_P - u_N)    1/T = 1/t_P + 1/t_N + beta R / area
//
// beta is the length of the staircase of faces over that of the surface, as assembly/bodies.hpp has it of cells: one along the
// mesh. Cells of held bodies and of solids are no unknowns; they keep their places, where b and u are zero and the matrix has a
// row of its diagonal alone. Rooms (assembly/rooms.hpp) are cells that faces connect.
//
// The unknowns are those of `centres()`, a mesh whose nodes are the centres, with half a cell beside Dirichlet boundaries.
// PoissonSolver has a constructor for them. Errors are of second order on smooth meshes and, by supraconvergence, on others.
//
//     l2       || e || / || u ||,  || v ||^2 = sum of V v_P^2          at the centres
//     largest  max | e | / max | u |
//     energy   the root of  sum over faces of T (e_P - e_N)^2 + sum of c V e_P^2  /  the same of u
//
// absolute where u = 0, less means where the problem is singular. Fluxes through boundaries are the F of their faces, so that
// they balance f - c u where the equations are solved.
//
// Throws UsageError for a kxy, for bodies as assembly/bodies.hpp does, for boundaries as with_boundaries does, for values that are not finite, and where
// cells are so thin far from Dirichlet boundaries that the rounding of the matrix would be seen in u (lost_by_rounding). Work
// on the host; matrix, load and solution are copied to a GPU and from it. On subdomains (mesh/partition.hpp) matrix and load
// are those of the rows of the layout. Source: R. Eymard, T. Gallouet, R. Herbin, Finite Volume Methods, 2000, Chapter 3.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <stratum/assembly/body_fluxes.hpp>
#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/rooms.hpp>
#include <stratum/core/operators/grid_operator.hpp>

namespace stratum {

class FiniteVolumes {
 public:
  /// Of problems with these coefficients, boundaries and bodies; f, u and values may be others in the calls below, which throw
  /// UsageError for bodies of another number or kind.
  FiniteVolumes(Context& ctx, const TensorMesh<2>& mesh, const PoissonProblem& problem);

  /// Of the cells.
  [[nodiscard]] const TensorMesh<2>& mesh() const { return mesh_; }
  /// Its unknowns are the cells.
  [[nodiscard]] const TensorMesh<2>& centres() const { return centres_; }
  /// Its nodes are the centres and, on boundaries, the faces beside them: (nx + 2) x (ny + 2) nodes.
  [[nodiscard]] const TensorMesh<2>& points() const { return points_; }
  /// The matrix takes constants to zero, those of a room at least.
  [[nodiscard]] bool is_singular() const { return singular_; }
  /// What the diagonal, the sum of conductances across and along, loses of those along in films (assembly/films.hpp).
  [[nodiscard]] double round_off_of_films() const;
  /// Null where there are none.
  [[nodiscard]] const std::shared_ptr<const BodyMap>& bodies() const { return map_; }
  /// Null where no cell is solid.
  [[nodiscard]] const Rooms* rooms() const { return rooms_ ? &*rooms_ : nullptr; }
  /// With solids without flux that conduct next to nothing: a matrix for cycles.
  [[nodiscard]] FiniteVolumes with_solids_that_conduct() const;

  /// What a number of this round-off unit (2^-53 of double) may change of the hold that Dirichlet boundaries have on cells far
  /// from them, by rounding the diagonal of thin ones: diagonals are stored, and beside a width of h they are 1 / h.
  [[nodiscard]] double lost_by_rounding(double unit) const;
  /// As far as all cells are coupled alike but for their widths: K is one, and no boundary is a Robin one.
  [[nodiscard]] bool is_plain() const { return plain_; }

  /// Five bands. In a memory dry run without numbers.
  [[nodiscard]] GridOperator<double> matrix(Context& ctx) const { return matrix(ctx, centres_.unknowns()); }
  [[nodiscard]] GridOperator<double> matrix(Context& ctx, const GridLayout<2>& subdomain) const;
  /// What its rows sum to, of the cells of the subdomain: never a difference.
  [[nodiscard]] std::vector<double> row_sums(const GridLayout<2>& subdomain) const;

  /// b, and the integral of f over all cells.
  double assemble_load(Context& ctx, const PoissonProblem& problem, const GridFunction<double>& b) const;
  /// The same of an f that is given by its means in the cells of b.
  double assemble_load(Context& ctx, const PoissonProblem& problem, std::vector<double> means_of_f,
                       const GridFunction<double>& b) const;
  /// Subtracts from f the constant that makes b compatible, one in each room without a solution; the sums of all. Throws
  /// UsageError where there was none, unless `project` allows it.
  Compatibility make_compatible(Context& ctx, const GridFunction<double>& b, bool project) const;
  /// Subtracts the mean of u over the domain, or over each singular room.
  void subtract_mean(Context& ctx, const GridFunction<double>& u) const;
  /// The values of Dirichlet boundaries, carried on inside: a start for iterations.
  void lift_boundary(Context& ctx, const PoissonProblem& problem, const GridFunction<double>& u) const;

  /// u in all cells, on the host of every subdomain; what follows takes it. Held cells have their value, solids without flux a
  /// quiet NaN.
  [[nodiscard]] std::vector<double> cell_values(Context& ctx, const PoissonProblem& problem,
                                                const GridFunction<const double>& u) const;
  /// u at the nodes of points(): u_P at centres, the value of u on the face at boundaries, at corners the mean of two faces.
  [[nodiscard]] std::vector<double> point_values(const PoissonProblem& problem, std::span<const double> cells) const;
  [[nodiscard]] BoundaryFluxes fluxes(const PoissonProblem& problem, std::span<const double> cells) const;
  /// Of every body, in their order, through its faces; the mean of a solid without flux is that over its faces.
  [[nodiscard]] std::vector<BodyFlux> body_fluxes(const PoissonProblem& problem, std::span<const double> cells) const;
  /// Largest difference of a Dirichlet boundary's value and that of a held cell behind it.
  [[nodiscard]] CornerGap largest_body_gap(const PoissonProblem& problem) const;
  /// Empty where u is unknown.
  [[nodiscard]] std::optional<RelativeErrors> errors(Context& ctx, const PoissonProblem& problem,
                                                     std::span<const double> cells) const;

  /// Means of f in the cells of these rows, by so many points a direction, zero in those without an equation; and a function
  /// at their centres.
  [[nodiscard]] std::vector<double> means(Context& ctx, const ScalarFunction& f, int first_row, int rows,
                                          int points = 4) const;
  [[nodiscard]] std::vector<double> at_centres(Context& ctx, const ScalarFunction& f, int first_row, int rows) const;

  [[nodiscard]] std::int64_t cells() const { return std::int64_t{nx_} * ny_; }
  [[nodiscard]] double volume(int i, int j) const { return width_x(i) * width_y(j); }

 private:
  /// F = conductance u_P - source.
  struct BoundaryFace {
    double half = 0;  // t_P
    double conductance = 0, source = 0;
    double area = 0;
  };
  /// Between the live cell (i, j) and a held body, F = conductance (u_P - g).
  struct HeldFace {
    int i, j, side;  // of the cell: left, right, bottom, top
    std::size_t body;
    double conductance;
  };
  /// Left, right, bottom, top; none of a periodic one.
  using BoundaryFaces = std::array<std::vector<BoundaryFace>, 4>;
  /// Faces of `problem`; with sources or without.
  [[nodiscard]] BoundaryFaces boundary_faces(const PoissonProblem& problem, bool with_sources) const;

  [[nodiscard]] std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(nx_) + static_cast<std::size_t>(i);
  }
  [[nodiscard]] double width_x(int i) const { return mesh_.x().widths()[static_cast<std::size_t>(i)]; }
  [[nodiscard]] double width_y(int j) const { return mesh_.y().widths()[static_cast<std::size_t>(j)]; }
  /// From the centre to a face across x, and across y.
  [[nodiscard]] double half_x(int i, int j) const { return 2 * (k_ ? k_->kxx(i, j) : 1) * width_y(j) / width_x(i); }
  [[nodiscard]] double half_y(int i, int j) const { return 2 * (k_ ? k_->kyy(i, j) : 1) * width_x(i) / width_y(j); }
  /// T of the face to the next cell; zero where there is none.
  [[nodiscard]] double east(int i, int j) const;
  [[nodiscard]] double north(int i, int j) const;
  [[nodiscard]] double reaction(int i, int j) const { return reaction_ + (k_ ? k_->reaction(i, j) : 0); }
  [[nodiscard]] bool is_live(int i, int j) const { return !map_ || map_->cell_at(i, j) == BodyMap::live; }
  /// Bodies, their faces and the rooms that they leave.
  void set_bodies(const PoissonProblem& problem);
  void set_contact(const Body& body, std::size_t number);
  void find_rooms();
  /// The cell behind a face.
  [[nodiscard]] std::optional<std::array<int, 2>> beside(int i, int j, int side) const;
  [[nodiscard]] double towards(int i, int j, int side) const;
  /// g of held faces, of `problem`.
  [[nodiscard]] std::vector<double> held_values(const PoissonProblem& problem) const;
  [[nodiscard]] double value_on_face(const PoissonProblem& problem, std::size_t body, int i, int j, int side) const;
  [[nodiscard]] UnknownsInRooms cells_in_rooms(int first, int rows) const;
  void expects_cells(std::span<const double> cells) const;
  void expects_bodies(const PoissonProblem& problem) const;

  TensorMesh<2> mesh_, centres_, points_;
  int nx_, ny_;
  bool periodic_x_, periodic_y_;
  double reaction_;
  std::optional<CellCoefficients> k_;
  std::shared_ptr<const BodyMap> map_;
  bool plain_;
  std::vector<double> contact_x_, contact_y_;  // beta R of the faces to the east and to the north; empty: none
  std::vector<HeldFace> held_faces_;
  std::optional<Rooms> rooms_;
  BoundaryFaces faces_;  // without sources
  bool singular_;
  std::array<bool, 4> holds_{};  // Dirichlet boundaries
};

/// How u in the cells of a mesh differs from means over these of a mesh with every cell cut into four, as LevelDifference says.
[[nodiscard]] LevelDifference level_difference_of_cells(const TensorMesh<2>& coarse_mesh,
                                                        std::span<const double> coarse, std::span<const double> fine);

}  // namespace stratum
