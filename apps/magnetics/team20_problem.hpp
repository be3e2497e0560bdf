#pragma once

// Problem 20 of the TEAM Workshop, a static force problem: a coil lifts a pole of steel into a yoke. A quarter of the device,
// in metres; x = y = 0 is the axis of the pole and of the coil, z = 0 the bottom of the yoke. n x A = 0 on all faces, which on
// x = 0 and y = 0 is the symmetry. In millimetres
//
//     yoke   y < 12.5, x < 63.5, 0 < z < 150, without the window x < 38.5, 25 < z < 125 and the slot x < 13.5, z > 125
//     pole   x < 12.5, y < 5, 26.5 < z < 125: 1.5 above the yoke, 1 beside the edge of the slot
//     coil   26.7 < z < 123.3, 5 < rho < 23, where rho is the distance from the square max(x, y) < 14.5
//     box    [0, 150] x [0, 150] x [-50, 200]
//
// The coil is not meshed: its current density is J = curl T with T = (0, 0, (NI / 96.6 mm) clamp((23 mm - rho) / 18 mm, 0, 1))
// at its height. Source: N. Takahashi, T. Nakata, H. Morishige, Summary of results for problem 20 (3-D static force problem),
// COMPEL 14, 1995, with the measurements below.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <stratum/magnetics/edge_elements.hpp>
#include <stratum/magnetics/magnetisation_curve.hpp>

namespace stratum::team20 {

enum class Material : std::uint8_t { air, yoke, pole };

/// A box's.
[[nodiscard]] bool is_steel(Material material);
/// In the coil, whatever the grid.
[[nodiscard]] bool in_coil(const Point3& p);

struct GridParams {
  double spacing = 3.2e-3;  // in the device
  double growth = 1.3;      // of the cells around it
  int gap_cells = 1;        // at least, across the gaps of 1 mm and 1.5 mm
};

/// Throws UsageError for parameters that mesh/box_grid.hpp refuses, and for less than one cell in the gaps.
[[nodiscard]] BoxGrid make_grid(const GridParams& params);
/// Of every box. Throws UsageError where a face of steel is no plane of the grid, or a gap has no cell of its own.
[[nodiscard]] std::vector<Material> materials(const BoxGrid& grid);
/// Those boxes that are this.
[[nodiscard]] std::vector<bool> boxes_of(const std::vector<Material>& materials, Material material);

/// T of this many ampere-turns.
[[nodiscard]] VectorField current_potential(double ampere_turns);
/// J = curl T
[[nodiscard]] Point3 current_density(double ampere_turns, const Point3& p);

/// The steel's. M = 2.16 T beyond the table, which ends at 2.3 T.
[[nodiscard]] MagnetisationCurve steel_curve();

/// The whole device's, of the quarter's.
inline constexpr double quarters = 4;

inline constexpr Point3 p1{0, 0, 25.75e-3}, p2{12.5e-3, 5e-3, 25.75e-3};
/// Means of B_z are taken over the sections of pole and yoke here.
inline constexpr double section = 75e-3;

struct Measurement {
  double ampere_turns, force, p1, p2, pole, yoke;  // B_z in tesla
};
inline constexpr std::array<Measurement, 4> measured{{{1000, 8.1, 0.36, 0.24, 0.72, 0.13},
                                                      {3000, 54.4, 0.84, 0.63, 1.75, 0.36},
                                                      {4500, 75.0, 0.99, 0.72, 2.01, 0.43},
                                                      {5000, 80.1, 1.03, 0.74, 2.05, 0.46}}};

}  // namespace stratum::team20
