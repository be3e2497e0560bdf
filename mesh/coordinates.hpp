#pragma once

// Coordinates of a plane of a TensorMesh, x and y, and their scale factors h1 (of dx), h2 (of dy) and h3 (of the direction that
// the plane leaves out):
//
//     cylindrical   x = r, y = z        h1 = 1          h2 = 1    h3 = r         nothing depends on the angle
//     polar         x = r, y = angle    h1 = 1          h2 = r    h3 = 1
//     spherical     x = r, y = angle    h1 = 1          h2 = r    h3 = r sin y   y from the upper pole; nothing depends on the
//                                                                                angle around the axis
//     lat-lon       x, y = longitude,   h1 = cos y      h2 = 1    h3 = 1         on the sphere of radius 1, in radians
//                   latitude
//
// -div(K grad u) + c u = f has the weak form
//
//     integral of  K (h2 h3 / h1) u_x v_x + K (h1 h3 / h2) u_y v_y + (h1 h2 h3) c u v   =   integral of  (h1 h2 h3) f v + ...
//
// over dx dy. A boundary flux n.K grad u is integrated with the weight h2 h3 dy or h1 h3 dx. All weights are products of a
// function of x and a function of y. Integrals over space are per radian of the angle that is left out, or per unit length.
//
// AxisWeights are integrals of these functions times the hat functions of an interval. They are exact to round-off (Gauss rules
// on sixteenths of the interval), and to 1e-8 in an interval beside a pole that is more than twice as wide as the one at the
// pole. All nodes of a boundary at a centre or a pole are one point, and there 1 / h times the square of their hat function has
// no finite integral. It is replaced by the integral of the neighbouring nodes times the number of intervals of the axis, which
// keeps the values at those nodes equal up to O(h^2).

#include <array>
#include <cstdint>
#include <vector>

#include <stratum/core/names.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

enum class Coordinates : std::uint8_t { cartesian, cylindrical, polar, spherical, lat_lon };

template <>
inline constexpr auto
    names_of<Coordinates> = std::to_array<Named<Coordinates>>({{Coordinates::cartesian, "cartesian"},
                                                               {Coordinates::cylindrical, "cylindrical"},
                                                               {Coordinates::polar, "polar"},
                                                               {Coordinates::spherical, "spherical"},
                                                               {Coordinates::lat_lon, "lat-lon"}});

/// h1, h2 and h3 at (x, y).
struct Scales {
  double x = 1, y = 1, beside = 1;
  [[nodiscard]] double volume() const { return x * y * beside; }
  /// Of K u_x v_x and of K u_y v_y.
  [[nodiscard]] double of_x() const { return y * beside / x; }
  [[nodiscard]] double of_y() const { return x * beside / y; }
  /// Of lengths along a side.
  [[nodiscard]] double along(Direction side) const { return (side == Direction::x ? x : y) * beside; }
};
[[nodiscard]] Scales scales_at(Coordinates coordinates, double x, double y);

/// Of every interval of an axis: the integral of one weight over h^2, and of two weights times both hats, (0,0), (0,1) and
/// (1,1).
struct AxisWeights {
  enum : std::size_t { stiffness = 0, mass = 1, volume = 4, count = 7 };
  std::vector<double> numbers;  // `count` an interval
};
/// Of x: the weight of u_x v_x, that of u_y v_y and the volume's; of y alike with u_y v_y first.
[[nodiscard]] AxisWeights axis_weights(Coordinates coordinates, const Axis& axis, Direction direction);

/// What the ends of an axis are in these coordinates: a side with an area, an axis around which all turns, or a single point, a
/// centre or a pole.
enum class SideShape : std::uint8_t { area, axis, point };
[[nodiscard]] SideShape side_shape(Coordinates coordinates, const TensorMesh<2>& mesh, Direction along, bool last);

/// Throws UsageError where the mesh leaves the range of its coordinates: r below 0, angles beyond the poles or around more than
/// once.
void check_range(Coordinates coordinates, const TensorMesh<2>& mesh);

}  // namespace stratum
