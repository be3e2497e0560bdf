#pragma once

// Graded directions: n intervals of [0, length] that shrink towards one end or both, and directions read from files.
// With k counted from the thin end and reach = n (one end) or n / 2 (both), interval k has a width proportional to
//
//     uniform      1
//     geometric    r^k                                             each interval r times its thinner neighbour
//     tanh         1 / (cosh(d (1 - k/reach)) cosh(d (1 - (k+1)/reach)))
//     cosine       sin(pi (2k + 1) / (4 reach))                    both ends: the Chebyshev extrema
//     shishkin     t / m  for k < m,  (length - t) / (n - m)  beyond: uniform on either side of the transition point t,
//                  half of the intervals, rounded up, within t of the thin end (a quarter within t of each of both ends)
//
// The tanh and cosine lines are those of x = tanh(d s) / tanh(d) and x = sin(pi s / 2), differences taken by the addition
// formulas. Widths are computed as widths and scaled to sum to the length: each is accurate to a few units of its own last
// digit, however thin.
//
// Files hold coordinates (increasing; the line starts at the first) or widths, separated by blanks, commas or line ends; #
// begins a comment. Extreme grading needs widths: beside x = 1 coordinates are 1e-16 apart, so that the difference of two knows
// a width of 1e-12 to four digits and one of 1e-17 not at all.
//
// Sources: Roos, Stynes, Tobiska, Robust Numerical Methods for Singularly Perturbed Differential Equations, 2008 (Shishkin);
// Thompson, Warsi, Mastin, Numerical Grid Generation, 1985 (tanh).

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// Intervals that one direction may have.
inline constexpr int max_cells = 1 << 22;

/// The end of a direction, or both, at which its intervals are thin.
enum class GradedSide : std::uint8_t { first, last, both };

[[nodiscard]] std::string_view to_string(GradedSide side);

// All throw UsageError for parameters outside their range, and for widths that vanish in double.
[[nodiscard]] Axis uniform(double length, int cells);
/// ratio >= 1.
[[nodiscard]] Axis geometric(double length, int cells, double ratio, GradedSide side);
/// The geometric line with this smallest width, which is at most length / cells.
[[nodiscard]] Axis geometric_with_smallest(double length, int cells, double smallest, GradedSide side);
/// stretch d in (0, 300]; the largest width is about cosh(d)^2 times the smallest.
[[nodiscard]] Axis hyperbolic_tangent(double length, int cells, double stretch, GradedSide side);
[[nodiscard]] Axis cosine(double length, int cells, GradedSide side = GradedSide::both);
/// transition t in (0, length / 2], or (0, length / 4] at each of both ends; at least two cells, or three.
[[nodiscard]] Axis shishkin(double length, int cells, double transition, GradedSide side);

/// Every interval halved `times` times.
[[nodiscard]] Axis halved(const Axis& line, int times);

/// Throw UsageError with name, line and the offending text; FileError when the stream fails.
[[nodiscard]] Axis read_coordinates(std::istream& in, const std::string& name);
[[nodiscard]] Axis read_widths(std::istream& in, const std::string& name);

/// A direction in words:
///
///     uniform   geometric:RATIO,SIDE   geometric:h=SMALLEST,SIDE   tanh:STRETCH,SIDE   cosine[,SIDE]   shishkin:TRANSITION,SIDE
///     file:PATH (coordinates)   widths:PATH          SIDE: first, last or both
struct Grading {
  enum class Kind : std::uint8_t { uniform, geometric, smallest, tanh, cosine, shishkin, coordinates, widths };
  Kind kind = Kind::uniform;
  double value = 0;  // ratio, smallest width, stretch or transition
  GradedSide side = GradedSide::both;
  std::string path;

  [[nodiscard]] bool from_file() const { return kind == Kind::coordinates || kind == Kind::widths; }
};

/// Throws UsageError naming the text and what is allowed.
[[nodiscard]] Grading parse_grading(std::string_view text);

/// A file gives its own length and number of cells. Throws FileError when it cannot be read.
[[nodiscard]] Axis read_line(const Grading& grading);
[[nodiscard]] Axis make_line(const Grading& grading, double length, int cells);

}  // namespace stratum
