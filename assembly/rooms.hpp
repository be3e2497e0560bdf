#pragma once

// Rooms: connected parts of the domain that bodies leave, those that have nothing to do with each other. Cells with an equation
// that share a node are in one room, unless the node has a value: that of a Dirichlet boundary or of a held body.
//
// A room is singular where nothing holds u: none of its nodes has a value, no boundary of it has an alpha and no cell a c. Its
// load then has to sum to zero, and u is known there up to a constant, which makes its mean zero. Decided from the problem,
// never from entries of the matrix. On the host, by a pass over all cells of the mesh.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

struct Rooms {
  struct Room {
    std::int64_t cells = 0;
    double x = 0, y = 0;  // the centre of its first cell
    bool singular = false;
  };
  std::vector<Room> rooms;
  std::vector<int> of_cell;  // -1: none, in a body without an equation
  std::vector<int>
      of_node;  // of all nodes, x fastest, of those that periodic boundaries join the first; -1: no equation

  [[nodiscard]] int singular() const;
};

/// Of a problem, by what operator_terms and cell_coefficients give for it.
[[nodiscard]] Rooms rooms_of(const Geometry& mesh, const OperatorTerms& terms, const CellCoefficients& cells);

/// The same where bodies leave some nodes without an equation; else nothing.
[[nodiscard]] std::optional<Rooms> rooms_around_bodies(const Geometry& mesh, const OperatorTerms& terms,
                                                       const CellCoefficients* cells);

/// Of every own unknown: its room where that is singular, else -1, and the integral of its basis function over it; of finite
/// volumes, the volume of its cell.
struct UnknownsInRooms {
  std::vector<int> room;
  std::vector<double> integral;
};
/// For every singular room, how far its load is from having a solution; f loses the mean there. All subdomains of a grid call
/// them together.
[[nodiscard]] std::vector<Compatibility>
make_compatible(Context& ctx, const Rooms& rooms, const UnknownsInRooms& unknowns, const GridFunction<double>& b);
/// Subtracts its mean over each singular room from u.
void subtract_integral_means(Context& ctx, const Rooms& rooms, const UnknownsInRooms& unknowns,
                             const GridFunction<double>& u);

/// The same of elements. For every singular room of the problem, how far its load is from having a solution; f loses the mean
/// there. All subdomains of a grid call them together.
[[nodiscard]] std::vector<Compatibility> make_compatible(Context& ctx, const Geometry& mesh, const Rooms& rooms,
                                                         const GridFunction<double>& b);
/// Of all rooms together; a mean of one room alone.
[[nodiscard]] Compatibility sum_of(std::span<const Compatibility> rooms);
/// Throws UsageError for the first room whose data have no solution, unless `project` allows to subtract the mean of f there.
void expect_compatible(const Rooms& rooms, const std::vector<Compatibility>& found, bool project);
/// Both; f of `problem` loses the means, too. What it loses in all.
double make_compatible(Context& ctx, const Geometry& mesh, const Rooms& rooms, const GridFunction<double>& b,
                       bool project, PoissonProblem& problem);
/// Subtracts its mean over each singular room from u_h.
void subtract_integral_means(Context& ctx, const Geometry& mesh, const Rooms& rooms, const GridFunction<double>& u);

}  // namespace stratum
