#pragma once

// The magnetisation curve H(B) of an isotropic material without hysteresis, from a table: between its points a cubic that is
// monotone where they are, with continuous slope, and beyond them the line B = mu0 H + M. Where the line does not pass through
// the last point it is joined at the B to which three quarters of its slope lead. Of fields A' = A / mu0
// (apps/magnetics/magnetic_field.hpp) with s = |curl A'|^2 = (B / mu0)^2 it gives what apps/magnetics/edge_elements.hpp takes,
//
//     nu(s) = mu0 H / B ,   nu'(s) = mu0^3 (B dH/dB - H) / (2 B^3) ,   energy density  w = integral of H dB .
//
// B in tesla, H in ampere a metre, w in joule a cubic metre. Source of the slopes: F. Fritsch, J. Butland, A method for
// constructing local monotone piecewise cubic interpolants, 1984.

#include <cstddef>
#include <vector>

namespace stratum {

class MagnetisationCurve {
 public:
  /// Points with B and H above zero, both increasing; (0, 0) comes before them. `saturation` is M. Throws UsageError for a
  /// table that does not increase or has fewer than two points, and where the line has a larger H at the last point than the
  /// table.
  MagnetisationCurve(std::vector<double> b, std::vector<double> h, double saturation);

  [[nodiscard]] double field(double b) const;
  /// dH/dB
  [[nodiscard]] double slope(double b) const;
  [[nodiscard]] double energy(double b) const;
  /// The last B of the table.
  [[nodiscard]] double end() const { return end_; }

  [[nodiscard]] double reluctivity(double s) const;
  [[nodiscard]] double reluctivity_slope(double s) const;

 private:
  /// The interval that b lies in.
  [[nodiscard]] std::size_t interval(double b) const;

  std::vector<double> b_, h_, slope_, energy_;  // at every point, the first zero and the last on the line
  double end_;
};

}  // namespace stratum
