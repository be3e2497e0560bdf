#include <stratum/mesh/box_grid.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <stratum/core/errors.hpp>

namespace stratum {

BoxGrid::BoxGrid(std::array<std::vector<double>, 3> planes) : planes_(std::move(planes)) {
  constexpr std::int64_t most = std::int64_t{1} << 27;  // seven edges a node are numbered by int
  std::int64_t count = 1;
  for (const auto& p : planes_) {
    expects(p.size() >= 2, "a grid of boxes needs two planes in every direction, not ", p.size());
    for (std::size_t i = 0; i < p.size(); ++i)
      expects(std::isfinite(p[i]) && (i == 0 || p[i] > p[i - 1]), "planes of a grid of boxes must be finite and ",
              "increase; plane ", i, " is at ", p[i]);
    count = std::min(most, count) * static_cast<std::int64_t>(std::min<std::size_t>(p.size(), most));
  }
  expects(count < most, "a grid of boxes may have fewer than 2^27 nodes, not ", count);
}

Point3 BoxGrid::point(const Index3& box, const Point3& xi) const {
  Point3 p{};
  for (std::size_t d = 0; d < 3; ++d)
    p[d] = plane(static_cast<int>(d), box[d]) + width(static_cast<int>(d), box[d]) * xi[d];
  return p;
}

double BoxGrid::volume(int box) const {
  const Point3 h = widths(place(box));
  return h[0] * h[1] * h[2];
}

std::vector<double> planes_between(const std::vector<double>& lines, double spacing, double growth, bool first_outside,
                                   bool last_outside) {
  expects(std::isfinite(spacing) && spacing > 0, "the spacing of planes must be finite and positive, not ", spacing);
  expects(std::isfinite(growth) && growth >= 1, "the growth of cells must be finite and 1 or more, not ", growth);
  expects(lines.size() >= 2, "planes lie between two lines or more, not ", lines.size());
  constexpr double most = 1e6;
  std::vector<double> planes;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const double length = lines[i + 1] - lines[i];
    expects(length / spacing < most, "a spacing of ", spacing, " makes more than a million cells of ", length);
    const bool first = i == 0 && first_outside, last = i + 2 == lines.size() && last_outside;
    std::vector<double> widths;
    if (first || last) {
      double sum = 0;
      for (double w = growth * spacing; sum < length; w *= growth) sum += widths.emplace_back(w);
      for (double& w : widths) w *= length / sum;
      if (first) std::reverse(widths.begin(), widths.end());
    } else {
      const int n = std::max(1, static_cast<int>(std::lround(length / spacing)));
      widths.assign(static_cast<std::size_t>(n), length / n);
    }
    double at = lines[i];
    for (const double w : widths) {
      planes.push_back(at);
      at += w;
    }
  }
  planes.push_back(lines.back());
  return planes;
}

}  // namespace stratum
