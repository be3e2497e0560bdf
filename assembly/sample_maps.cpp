#include <stratum/assembly/sample_maps.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <stratum/core/errors.hpp>

namespace stratum {

using std::numbers::pi;

SampleMap shear_map(double degrees) {
  return {message("shear, ", degrees),
          [slope = std::tan(degrees * pi / 180)](const Point& p) { return p.x + slope * p.y; },
          [](const Point& p) { return p.y; }};
}

SampleMap annulus_map(double outer) {
  const auto radius = [outer](const Point& p) { return 1 + (outer - 1) * p.y; };
  return {message("annulus, ", outer), [=](const Point& p) { return radius(p) * std::sin(pi / 2 * p.x); },
          [=](const Point& p) { return radius(p) * std::cos(pi / 2 * p.x); }};
}

SampleMap sine_map(double size) {
  const auto wave = [size](const Point& p) { return size * std::sin(2 * pi * p.x) * std::sin(2 * pi * p.y); };
  return {message("sine, ", size), [=](const Point& p) { return p.x + wave(p); },
          [=](const Point& p) { return p.y + wave(p); }};
}

SampleMap kershaw_map(double e) {
  const auto y = [e](const Point& p) {
    const auto right = [e](double v) { return v <= 0.5 ? (2 - e) * v : 1 + e * (v - 1); };
    const auto left = [=](double v) { return 1 - right(1 - v); };
    const auto step = [](double a, double b, double v) {
      return v <= 0 ? a : v >= 1 ? b : a + (b - a) * v * v * v * (v * (6 * v - 15) + 10);
    };
    const int strip = std::min(5, static_cast<int>(p.x * 6));
    const double in = p.x * 6 - strip, v = p.y;
    switch (strip) {
      case 0: return left(v);
      case 1:
      case 4: return step(left(v), right(v), in);
      case 2: return step(right(v), left(v), in / 2);
      case 3: return step(right(v), left(v), (1 + in) / 2);
      default: return right(v);
    }
  };
  return {message("Kershaw, ", e), [](const Point& p) { return p.x; }, y};
}

}  // namespace stratum
