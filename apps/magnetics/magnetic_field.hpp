#pragma once

// What a magnetic field of edge elements says. Unknowns a are those of A' = A / mu0, in amperes, so that
//
//     B = mu0 curl A' ,   energy  W = integral of (integral of H dB) ,   linkage times current = integral of A . J = mu0 (a, b)
//
// with b = integral of T . curl w (apps/magnetics/edge_elements.hpp). Lengths in metres, B in tesla, forces in newton, all of
// what the grid covers and no more: of a symmetric device a part.
//
// Force on a body in air, by the eggshell method: F = - integral of S grad g, S = (B B^T - |B|^2 / 2) / mu0, g the piecewise
// linear function that is one in the nodes of the body and zero in all others. It lives on one layer of cells around the body,
// which must be air. Source: F. Henrotte, G. Deliege, K. Hameyer, The eggshell approach for the computation of electromagnetic
// forces in 2D and 3D, 2004.

#include <numbers>
#include <vector>

#include <stratum/magnetics/edge_elements.hpp>

namespace stratum {

inline constexpr double vacuum_permeability = 4e-7 * std::numbers::pi;

/// B at a point of an element, by its coordinates in the box.
[[nodiscard]] Point3 flux_density(const EdgeElements& elements, const std::vector<double>& a, int element,
                                  const Point3& xi);
/// B at a point of the grid: the mean of the boxes that meet there. Throws UsageError for a point outside.
[[nodiscard]] Point3 flux_density_at(const EdgeElements& elements, const std::vector<double>& a, const Point3& p);

/// The mean of B over those boxes of `boxes` that the plane z = constant cuts, on it; of the lower ones where it lies between
/// two. Throws UsageError where it cuts none.
[[nodiscard]] Point3 mean_flux_density(const EdgeElements& elements, const std::vector<double>& a,
                                       const std::vector<bool>& boxes, double z);

/// Of the body that these boxes are. Boxes beside it count as air.
[[nodiscard]] Point3 eggshell_force(const EdgeElements& elements, const std::vector<double>& a,
                                    const std::vector<bool>& body);

}  // namespace stratum
