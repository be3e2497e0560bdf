#pragma once

// GridLines: the grid lines, or planes, of one direction, found among the coordinates of points, which are not empty and finite.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace stratum {

class GridLines {
 public:
  explicit GridLines(std::vector<double> coordinates) {
    std::sort(coordinates.begin(), coordinates.end());
    const double size = std::max(std::abs(coordinates.front()), std::abs(coordinates.back()));
    // Refinement rounds the same coordinate differently on different lines.
    const double rounding = 64 * std::numeric_limits<double>::epsilon() * size;
    for (const double s : coordinates)
      if (at_.empty() || s - at_.back() > rounding) at_.push_back(s);
  }

  [[nodiscard]] int size() const { return static_cast<int>(at_.size()); }
  /// The line nearest to a coordinate that is on one.
  [[nodiscard]] int index(double s) const {
    const auto above = std::lower_bound(at_.begin(), at_.end(), s);
    if (above == at_.begin()) return 0;
    if (above == at_.end()) return size() - 1;
    const bool lower = s - *(above - 1) < *above - s;
    return static_cast<int>(above - at_.begin()) - (lower ? 1 : 0);
  }
  [[nodiscard]] std::vector<double> widths() const {
    std::vector<double> widths;
    for (std::size_t k = 1; k < at_.size(); ++k) widths.push_back(at_[k] - at_[k - 1]);
    return widths;
  }

 private:
  std::vector<double> at_;
};

}  // namespace stratum
