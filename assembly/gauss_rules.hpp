#pragma once

// Gauss rules on [0, 1]: exact for polynomials of degree 3, 5 and 7.

#include <array>
#include <span>

namespace stratum {

struct GaussPoint {
  double t;
  double weight;
};

inline constexpr std::array<GaussPoint, 2> gauss2{{{0.2113248654051871, 0.5}, {0.7886751345948129, 0.5}}};
inline constexpr std::array<GaussPoint, 3> gauss3{
    {{0.1127016653792583, 5.0 / 18}, {0.5, 8.0 / 18}, {0.8872983346207417, 5.0 / 18}}};
inline constexpr std::array<GaussPoint, 4> gauss4{{{0.0694318442029737, 0.1739274225687269},
                                                   {0.3300094782075719, 0.3260725774312731},
                                                   {0.6699905217924281, 0.3260725774312731},
                                                   {0.9305681557970263, 0.1739274225687269}}};

/// Of values on an interval, by four points.
template <class Value>
[[nodiscard]] double mean_along(const Value& value) {
  double mean = 0;
  for (const auto& [t, weight] : gauss4) mean += weight * value(t);
  return mean;
}

/// Of 1 to 4 points.
[[nodiscard]] inline std::span<const GaussPoint> gauss_rule(int points) {
  static constexpr std::array<GaussPoint, 1> gauss1{{{0.5, 1}}};
  switch (points) {
    case 1: return gauss1;
    case 2: return gauss2;
    case 3: return gauss3;
    default: return gauss4;
  }
}

}  // namespace stratum
