#pragma once

// TensorMesh: the rectangle [0, a] x [0, b] cut into cells by two lists of interval widths,
//
//     x_i = h_0 + ... + h_(i-1)   (i = 0 .. n),      h_i = x_(i+1) - x_i   only in exact arithmetic.
//
// Widths are kept, never differences of coordinates: beside x = 1 a width of 9e-19 cannot be told from zero by
// subtraction. A node's distance to the nearer end is the sum of the widths between, free of accumulated rounding, and its
// distance to the other end is the length less that: a - x is as accurate near x = a as x is near 0, the ends lie exactly at 0
// and a, and no node lies beyond them. Always double.
//
// The published meshes come from bisection with an anisotropy factor nu at one end of each direction: in every step the
// thin end's interval of width w is split into a boundary piece w nu / 2 and an inner piece w (1 - nu / 2), all others in
// half, so that h_min = (nu / 2)^L. Source: Goeddeke, Strzodka, Cyclic Reduction Tridiagonal Solvers on GPUs Applied
// to Mixed Precision Multigrid, 2011, Sections 2.1 and 4.1.
//
// Errors: UsageError for widths that are not positive and finite, or that vanish in double; for a length that overflows.

#include <string>
#include <string_view>
#include <vector>

#include <stratum/core/vector.hpp>

namespace stratum {

/// The intervals of one direction, first end to last.
class Intervals {
 public:
  /// As long as the widths together.
  explicit Intervals(std::vector<double> widths);
  /// Of this length, which the widths sum to but for rounding: a line of 10 tenths ends at 1, not beside it.
  Intervals(std::vector<double> widths, double length);
  /// Nodes at these coordinates, increasing from 0.
  [[nodiscard]] static Intervals at(std::vector<double> coordinates);

  [[nodiscard]] int size() const { return static_cast<int>(widths_.size()); }
  [[nodiscard]] double length() const { return from_begin_.back(); }
  [[nodiscard]] const std::vector<double>& widths() const { return widths_; }
  /// Distance of node i = 0 .. size() to the first end (the coordinate), and to the last end.
  [[nodiscard]] const std::vector<double>& from_begin() const { return from_begin_; }
  [[nodiscard]] const std::vector<double>& from_end() const { return from_end_; }

  [[nodiscard]] bool can_coarsen() const { return size() >= 2 && size() % 2 == 0; }
  /// Merges intervals in pairs; the nodes that stay keep their places.
  [[nodiscard]] Intervals coarser() const;

 private:
  Intervals(std::vector<double> widths, std::vector<double> from_begin, std::vector<double> from_end);
  std::vector<double> widths_;
  std::vector<double> from_begin_;
  std::vector<double> from_end_;
};

/// The end of a direction at which refinement makes thin intervals.
enum class ThinSide : std::uint8_t { none, first, last };

[[nodiscard]] std::string_view to_string(ThinSide side);
/// Throws UsageError for an unknown name, listing the known ones.
[[nodiscard]] ThinSide thin_side(std::string_view name);

/// 2^level intervals of [0, length] by bisection with anisotropy factor nu in (0, 2).
[[nodiscard]] Intervals bisected(double length, int level, ThinSide side = ThinSide::none, double nu = 1);

class TensorMesh {
 public:
  TensorMesh(Intervals x, Intervals y, std::string name = "custom");

  [[nodiscard]] const Intervals& x() const { return x_; }
  [[nodiscard]] const Intervals& y() const { return y_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The interior nodes; with Dirichlet sides these are the unknowns.
  [[nodiscard]] GridShape unknowns() const { return {x_.size() - 1, y_.size() - 1, 1, 1}; }
  [[nodiscard]] std::int64_t cells() const { return std::int64_t{x_.size()} * y_.size(); }

  [[nodiscard]] double smallest_width() const;
  /// Largest ratio of the sides of a cell, whichever is longer.
  [[nodiscard]] double largest_aspect_ratio() const;

  /// At least one direction can be merged in pairs and leaves an unknown, where there is one.
  [[nodiscard]] bool can_coarsen() const;
  /// The next coarser mesh of the hierarchy: each direction that can coarsen does.
  [[nodiscard]] TensorMesh coarser() const;

 private:
  Intervals x_;
  Intervals y_;
  std::string name_;
};

}  // namespace stratum
