#include <stratum/mesh/coordinates.hpp>

#include <cmath>
#include <numbers>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

constexpr double pi = std::numbers::pi;
/// Of angles and of r: rounding of what users write.
constexpr double as_good_as = 1e-12;

/// Factors of the weights in one direction.
using Function = double (*)(double);
double one(double /*q*/) { return 1; }
double itself(double q) { return q; }
double square(double q) { return q * q; }
double sine(double q) { return std::sin(q); }
double cosine(double q) { return std::cos(q); }

/// The weight is f, or 1 / f.
struct Weight {
  Function f = one;
  bool inverse = false;
};
struct Weights {
  Weight own, across, volume;  // of the direction's own derivatives, of the other's, of the volume
};

Weights weights_of(Coordinates coordinates, Direction direction) {
  const bool x = direction == Direction::x;
  switch (coordinates) {
    case Coordinates::cylindrical: return x ? Weights{{itself}, {itself}, {itself}} : Weights{};
    case Coordinates::polar: return x ? Weights{{itself}, {itself, true}, {itself}} : Weights{};
    case Coordinates::spherical: return x ? Weights{{square}, {one}, {square}} : Weights{{sine}, {sine}, {sine}};
    case Coordinates::lat_lon: return x ? Weights{} : Weights{{cosine}, {cosine, true}, {cosine}};
    case Coordinates::cartesian: break;
  }
  return {};
}

constexpr double gauss_t[4] = {0.069431844202973712, 0.33000947820757187, 0.66999052179242813, 0.93056815579702629};
constexpr double gauss_weight[4] = {0.17392742256872693, 0.32607257743127307, 0.32607257743127307, 0.17392742256872693};
constexpr int parts = 16;

/// use(t, weight) on fractions of an interval.
template <class Use>
void for_each_point(const Use& use) {
  for (int part = 0; part < parts; ++part)
    for (int p = 0; p < 4; ++p) use((part + gauss_t[p]) / parts, gauss_weight[p] / parts);
}

bool is_end(double q, double end) { return std::abs(q - end) <= as_good_as * std::max(1.0, std::abs(end)); }

}  // namespace

Scales scales_at(Coordinates coordinates, double x, double y) {
  switch (coordinates) {
    case Coordinates::cylindrical: return {1, 1, x};
    case Coordinates::polar: return {1, x, 1};
    case Coordinates::spherical: return {1, x, x * std::sin(y)};
    case Coordinates::lat_lon: return {std::cos(y), 1, 1};
    case Coordinates::cartesian: break;
  }
  return {};
}

AxisWeights axis_weights(Coordinates coordinates, const Axis& axis, Direction direction) {
  const Weights weights = weights_of(coordinates, direction);
  AxisWeights found;
  found.numbers.reserve(AxisWeights::count * static_cast<std::size_t>(axis.size()));
  for (int k = 0; k < axis.size(); ++k) {
    const auto n = static_cast<std::size_t>(k);
    const double h = axis.widths()[n], begin = axis.from_begin()[n];
    const auto q = [&](double t) { return axis.origin() + (begin + t * h); };
    const auto value = [&](const Weight& weight, double t) {
      return weight.inverse ? 1 / weight.f(q(t)) : weight.f(q(t));
    };
    const auto masses = [&](const Weight& weight) {
      std::array<double, 3> sums{};
      for_each_point([&](double t, double part) {
        const double w = part * h * value(weight, t);
        sums[0] += w * (1 - t) * (1 - t);
        sums[1] += w * t * (1 - t);
        sums[2] += w * t * t;
      });
      // Infinite is the integral of the hat at the centre or pole alone, whose nodes are one. So many times that of their
      // neighbours leaves them apart by h^2, and is little enough for cycles in float.
      const double joined = axis.size();
      if (weight.inverse && weight.f(q(0)) <= as_good_as) sums[0] = joined * sums[2];
      if (weight.inverse && weight.f(q(1)) <= as_good_as) sums[2] = joined * sums[0];
      return sums;
    };
    const auto own = masses(weights.own), across = masses(weights.across), volume = masses(weights.volume);
    found.numbers.push_back((own[0] + 2 * own[1] + own[2]) / h / h);
    found.numbers.insert(found.numbers.end(), across.begin(), across.end());
    found.numbers.insert(found.numbers.end(), volume.begin(), volume.end());
  }
  return found;
}

SideShape side_shape(Coordinates coordinates, const TensorMesh<2>& mesh, Direction along, bool last) {
  const Axis& across = along == Direction::x ? mesh.y() : mesh.x();
  const double q = across.origin() + (last ? across.length() : 0);
  if (along == Direction::y) {  // left and right
    const bool centre = !last && is_end(q, 0);
    if (!centre) return SideShape::area;
    if (coordinates == Coordinates::cylindrical) return SideShape::axis;
    return coordinates == Coordinates::polar || coordinates == Coordinates::spherical ? SideShape::point
                                                                                      : SideShape::area;
  }
  if (coordinates == Coordinates::spherical && is_end(q, last ? pi : 0)) return SideShape::axis;
  if (coordinates == Coordinates::lat_lon && is_end(q, last ? pi / 2 : -pi / 2)) return SideShape::point;
  return SideShape::area;
}

void check_range(Coordinates coordinates, const TensorMesh<2>& mesh) {
  const Axis &x = mesh.x(), &y = mesh.y();
  const auto in = [&](const Axis& axis, double low, double high, const char* what, const char* range) {
    const double first = axis.origin(), last = axis.origin() + axis.length();
    expects(first >= low - as_good_as && last <= high + as_good_as, to_string(coordinates), " coordinates: ", what,
            " lies in ", range, "; the mesh has it from ", first, " to ", last);
  };
  const auto around = [&](const Axis& axis, const char* what) {
    expects(axis.length() <= 2 * pi + as_good_as, to_string(coordinates), " coordinates: ", what,
            " goes around once, 2 pi, in radians; the mesh is ", axis.length(), " long in it");
  };
  switch (coordinates) {
    case Coordinates::cylindrical: return in(x, 0, HUGE_VAL, "x, the distance from the axis,", "[0, infinity)");
    case Coordinates::polar:
      in(x, 0, HUGE_VAL, "x, the distance from the centre,", "[0, infinity)");
      return around(y, "y, the angle,");
    case Coordinates::spherical:
      in(x, 0, HUGE_VAL, "x, the distance from the centre,", "[0, infinity)");
      return in(y, 0, pi, "y, the angle from the upper pole in radians,", "[0, pi]");
    case Coordinates::lat_lon:
      around(x, "x, the longitude,");
      return in(y, -pi / 2, pi / 2, "y, the latitude in radians,", "[-pi/2, pi/2]");
    case Coordinates::cartesian: break;
  }
}

}  // namespace stratum
