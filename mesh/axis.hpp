#pragma once

// Axis: an interval [x_0, x_0 + a], cut into n intervals by a list of widths,
//
//     x_i = x_0 + h_0 + ... + h_(i-1)   (i = 0 .. n),      h_i = x_(i+1) - x_i   only in exact arithmetic.
//
// The boundary types of both ends decide which nodes are unknowns:
//
//     dirichlet   the end's node is none                               nodes 1 .. n - 1 where both ends are
//     neumann     (Neumann, Robin) it is one                           nodes 0 .. n     where both ends are
//     periodic    both ends are the same node; both or none            nodes 0 .. n - 1
//
// Any number of intervals coarsens: even nodes stay, and the last one of an odd number stays alone, so that coarse node I is
// fine node 2 I but for the last. An axis goes on down to one unknown (two between Neumann or Robin boundaries), a periodic one
// to three.
//
// Widths are kept, never differences of coordinates: beside x = 1 a width of 9e-19 cannot be told from zero by
// subtraction. A node's distance to the nearer end is the sum of the widths between, free of accumulated rounding, and its
// distance to the other end is the length less that: a - x is as accurate near x = a as x is near 0, the ends lie exactly at 0
// and a, and no node lies beyond them. Where an axis starts (x_0) is added to coordinates alone. Always double.
//
// The published meshes come from bisection with an anisotropy factor nu at one end of each axis: in every step the
// thin end's interval of width w is split into a boundary interval w nu / 2 and an inner interval w (1 - nu / 2), all others in
// half, so that h_min = (nu / 2)^L. Source: Goeddeke, Strzodka, Cyclic Reduction Tridiagonal Solvers on GPUs Applied
// to Mixed Precision Multigrid, 2011, Sections 2.1 and 4.1.
//
// Errors: UsageError for widths that are not positive and finite, or that vanish in double; for a length or a coordinate that
// overflows; for ends that contradict each other.

#include <cstdint>
#include <string_view>
#include <vector>

#include <stratum/core/errors.hpp>

namespace stratum {

enum class BoundaryType : std::uint8_t { dirichlet, neumann, periodic };

[[nodiscard]] std::string_view to_string(BoundaryType end);

/// The intervals of one axis, first end to last, between Dirichlet ends unless `with_boundaries` says otherwise.
class Axis {
 public:
  /// As long as the widths together.
  explicit Axis(std::vector<double> widths);
  /// Of this length, which the widths sum to but for rounding: an axis of 10 tenths ends at 1, not beside it.
  Axis(std::vector<double> widths, double length);
  /// Nodes at these coordinates, increasing; the axis starts at the first of them.
  [[nodiscard]] static Axis at(std::vector<double> coordinates);

  /// The same intervals with the first node at x_0.
  [[nodiscard]] Axis starting_at(double origin) const;

  /// Intervals first .. end - 1, of a subdomain: nodes keep their coordinates, and their distances to the ends of the axis;
  /// `length` stays the axis's. A cut end is a Neumann one, and so are both where the axis is periodic. All intervals: the axis
  /// itself.
  [[nodiscard]] Axis part(int first, int end) const;

  /// The same intervals between ends of these kinds. Throws UsageError where one alone is periodic, or a periodic axis has
  /// fewer than three intervals.
  [[nodiscard]] Axis with_boundaries(BoundaryType first, BoundaryType last) const;

  [[nodiscard]] int size() const { return static_cast<int>(widths_.size()); }
  [[nodiscard]] double length() const { return length_; }
  [[nodiscard]] const std::vector<double>& widths() const { return widths_; }
  /// x_0; 0 unless said otherwise.
  [[nodiscard]] double origin() const { return origin_; }
  /// x_i.
  [[nodiscard]] std::vector<double> coordinates() const;
  /// Distance of node i = 0 .. size() to the first end, and to the last end.
  [[nodiscard]] const std::vector<double>& from_begin() const { return from_begin_; }
  [[nodiscard]] const std::vector<double>& from_end() const { return from_end_; }

  [[nodiscard]] BoundaryType first_boundary() const { return first_; }
  [[nodiscard]] BoundaryType last_boundary() const { return last_; }
  [[nodiscard]] bool is_periodic() const { return first_ == BoundaryType::periodic; }
  /// Nodes that are unknowns, and the number of the first of them.
  [[nodiscard]] int unknowns() const {
    return size() - 1 + (first_ != BoundaryType::dirichlet ? 1 : 0) + (last_ == BoundaryType::neumann ? 1 : 0);
  }
  [[nodiscard]] int first_unknown() const { return first_ == BoundaryType::dirichlet ? 1 : 0; }

  /// Fewer intervals leave an unknown, or three intervals where it is periodic.
  [[nodiscard]] bool can_coarsen() const;
  /// Merges intervals in pairs, the last of an odd number stays alone; the nodes that stay keep their places.
  [[nodiscard]] Axis coarser() const;

 private:
  std::vector<double> widths_;
  std::vector<double> from_begin_;
  std::vector<double> from_end_;
  double origin_ = 0, length_ = 0;
  BoundaryType first_ = BoundaryType::dirichlet, last_ = BoundaryType::dirichlet;
};

/// The end of a direction at which refinement makes thin intervals.
enum class ThinSide : std::uint8_t { none, first, last };

[[nodiscard]] std::string_view to_string(ThinSide side);
/// Throws UsageError for an unknown name, listing the known ones.
[[nodiscard]] ThinSide thin_side(std::string_view name);

/// 2^level intervals of [0, length] by bisection with anisotropy factor nu in (0, 2).
[[nodiscard]] Axis bisected(double length, int level, ThinSide side = ThinSide::none, double nu = 1);

}  // namespace stratum
