#pragma once

// Bodies inside the domain of -div(K grad u) + c u = f, and what they are on a mesh. A body has the cells whose centre lies
// inside its shape.
//
//     value         held at u = g, a conductor: no equation inside; the nodes of its cells have the value g
//     no_flux       a solid that nothing flows into: K = 0, c = 0 and f = 0 in its cells; nodes that only such cells touch have
//                   no equation and no value
//     coefficient   another K in its cells
//     contact       a resistance R on its surface, over which u jumps by R times the flux
//
// Held nodes and nodes without an equation are no unknowns of the problem. They keep their places in the grid, where b and x
// are zero and the matrix has a row of its diagonal alone (multigrid/identity_rows.hpp). Where a held body meets a Dirichlet
// boundary, the boundary's value holds. f, and data of Neumann and Robin boundaries, do not count in cells of held bodies and
// of solids.
//
// Contact: the outermost cells of the body conduct in series with the resistance. In direction d across the surface, h wide,
//
//     1 / K_dd  becomes  1 / K_dd + beta R / h ,
//
// both directions where the surface turns at a corner of the cell. beta = 1 on a surface along the mesh, for which the flux
// through a plane wall is exact, and on a body whose cells fill a rectangle. Another surface at an angle is a staircase: its
// cells conduct as if it were longer, or shorter, by some per cent. beta makes up for that: s steps a column, s the slope,
// conduct hx + s (2 hy - hx) / 3 where the surface is sqrt(hx^2 + (s hy)^2) long. The slope is that of the mean of the body
// around the cell.
//
// Finite volumes (assembly/finite_volumes.hpp) have the same bodies by their cells alone; a contact resistance lies on the faces.
//
// Throws UsageError for bodies that hold no cell (outside the domain, or thinner than a cell), that overlap where both say what
// K or u is, that touch with different values, that leave no unknown; for values that are not finite, K that is not positive
// definite, R that is negative or not finite.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/assembly/coefficients.hpp>
#include <stratum/assembly/geometry.hpp>
#include <stratum/assembly/grid_function.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/names.hpp>

namespace stratum {

struct PoissonProblem;

enum class BodyKind : std::uint8_t { value, no_flux, coefficient, contact };

template <>
inline constexpr auto names_of<BodyKind> = std::to_array<Named<BodyKind>>({{BodyKind::value, "value"},
                                                                           {BodyKind::no_flux, "no-flux"},
                                                                           {BodyKind::coefficient, "k"},
                                                                           {BodyKind::contact, "contact"}});

struct Body {
  ScalarFunction inside;  // above 0 inside
  BodyKind kind = BodyKind::value;
  ScalarFunction value{};       // g, or K = kxx
  ScalarFunction kxy{}, kyy{};  // of K; empty: zero, kxx
  double resistance = 0;        // R
  std::string name{};           // for messages and reports
};

// Shapes: how far inside a point is, below 0 outside. Throw UsageError for a rectangle or disc without extent, and a polygon of
// fewer than three corners.
[[nodiscard]] ScalarFunction rectangle_shape(double x0, double y0, double x1, double y1);
[[nodiscard]] ScalarFunction disc_shape(double x, double y, double radius);
/// Corners in either sense; inside is what a ray leaves an odd number of times.
[[nodiscard]] ScalarFunction polygon_shape(std::vector<Position> corners);

/// The bodies of a problem on the cells and nodes of one mesh.
struct BodyMap {
  enum Cell : std::uint8_t { live, empty, held };         // with an equation; of a solid without flux; of a held body
  enum Node : std::uint8_t { unknown, inactive, given };  // touched by a live cell; by none; of a held body

  int nx = 0, ny = 0;
  std::vector<BodyKind> kinds;
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> cells;  // of every body, in their order
  std::vector<std::uint8_t> cell;               // nx ny
  std::vector<std::uint8_t> node;  // (nx + 1) (ny + 1), x fastest; unknown also where a boundary has a value
  std::vector<double> value;       // of every node, zero where it is not given; empty where no body is held
  bool has_empty_cells = false, has_held_cells = false;

  [[nodiscard]] bool has_held() const { return has_held_cells; }
  /// Some nodes are no unknowns, or some cells have no equation.
  [[nodiscard]] bool has_solids() const { return has_empty_cells || has_held(); }
  [[nodiscard]] std::uint8_t cell_at(int i, int j) const {
    return cell[static_cast<std::size_t>(j) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i)];
  }
  [[nodiscard]] std::size_t node_number(int i, int j) const {
    return static_cast<std::size_t>(j) * (static_cast<std::size_t>(nx) + 1) + static_cast<std::size_t>(i);
  }
  [[nodiscard]] std::uint8_t node_at(int i, int j) const { return node[node_number(i, j)]; }
  [[nodiscard]] double value_at(int i, int j) const { return value.empty() ? 0 : value[node_number(i, j)]; }
};

/// The mesh has the boundaries of the problem. Null where there are no bodies; `problem.on_mesh` where that is of as many
/// cells.
[[nodiscard]] std::shared_ptr<const BodyMap> bodies_on(Context& ctx, const Geometry& mesh,
                                                       const PoissonProblem& problem);
/// In matrices for cycles solids without flux conduct so much of the least that other cells do.
inline constexpr double conductance_of_solids = 1e-8;
[[nodiscard]] CellCoefficients conducting_next_to_nothing(const CellCoefficients& given);
/// The values of held nodes anew, of bodies with these g; as bodies_on, throws where bodies meet with different ones.
void set_held_values(const Geometry& mesh, const std::vector<Body>& bodies, BodyMap& map);
/// The same on cells alone, without nodes and values: of finite volumes, for bodies that are not empty.
[[nodiscard]] std::shared_ptr<BodyMap> bodies_on_cells(Context& ctx, const Geometry& mesh,
                                                       const std::vector<Body>& bodies);
/// For messages: "body 2, disc(0.5,0.5,0.1):value:1".
[[nodiscard]] std::string body_label(const BodyMap& map, std::size_t body);

/// What the bodies make of K and c of the cells; c is beside `reaction`. Contact resistances of a map without nodes are left to
/// the faces.
void set_bodies(Context& ctx, const Geometry& mesh, const std::vector<Body>& bodies,
                const std::shared_ptr<const BodyMap>& map, double reaction, CellCoefficients& cells);

/// f, and data of Neumann and Robin boundaries, are zero in cells that are not live. Without such cells the problem as it is.
[[nodiscard]] PoissonProblem in_live_cells(const PoissonProblem& problem, const std::shared_ptr<const BodyMap>& map);

/// Zero at nodes that bodies hold or leave without an equation; of a subdomain its rows.
void clear_fixed_nodes(Context& ctx, const Geometry& mesh, const BodyMap& map, const GridFunction<double>& u);

}  // namespace stratum
