#include <stratum/mesh/tensor_mesh.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace stratum {

Intervals::Intervals(std::vector<double> widths) : widths_(std::move(widths)) {
  expects(!widths_.empty(), "a direction needs at least one interval");
  expects(widths_.size() < std::size_t{1} << 30, "a direction cannot have ", widths_.size(), " intervals");
  const std::size_t n = widths_.size();
  for (std::size_t i = 0; i < n; ++i)
    expects(std::isfinite(widths_[i]) && widths_[i] >= std::numeric_limits<double>::min(), "interval ", i, " of ", n,
            " has width ", widths_[i], "; widths must be positive, finite and at least ",
            std::numeric_limits<double>::min());
  from_begin_.assign(n + 1, 0);
  from_end_.assign(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) from_begin_[i + 1] = from_begin_[i] + widths_[i];
  for (std::size_t i = n; i-- > 0;) from_end_[i] = from_end_[i + 1] + widths_[i];
  expects(std::isfinite(length()), "the widths of ", n, " intervals sum to more than double holds");
}

Intervals Intervals::coarser() const {
  expects(can_coarsen(), "intervals are merged in pairs, which ", size(), " intervals do not allow");
  std::vector<double> merged(widths_.size() / 2);
  for (std::size_t i = 0; i < merged.size(); ++i) merged[i] = widths_[2 * i] + widths_[2 * i + 1];
  return Intervals(std::move(merged));
}

std::string_view to_string(ThinSide side) {
  return side == ThinSide::first ? "first" : side == ThinSide::last ? "last" : "none";
}

ThinSide thin_side(std::string_view name) {
  for (const auto side : {ThinSide::none, ThinSide::first, ThinSide::last})
    if (name == to_string(side)) return side;
  throw UsageError(message("unknown thin side '", name, "'; known: none, first, last"));
}

Intervals bisected(double length, int level, ThinSide side, double nu) {
  expects(level >= 0 && level <= 20, "level must be between 0 and 20, not ", level);
  expects(nu > 0 && nu < 2, "the anisotropy factor nu must lie in (0, 2), not ", nu);
  expects(std::isfinite(length) && length > 0, "a side of the domain must be positive and finite, not ", length);
  const bool thin_first = side == ThinSide::first;
  const bool thin_last = side == ThinSide::last;
  std::vector<double> widths{length};
  for (int l = 0; l < level; ++l) {
    std::vector<double> finer;
    finer.reserve(2 * widths.size());
    for (const double w : widths) {
      finer.push_back(w / 2);
      finer.push_back(w / 2);
    }
    if (thin_first) {
      finer[0] = widths.front() * nu / 2;
      finer[1] = widths.front() * (1 - nu / 2);
    } else if (thin_last) {
      finer[finer.size() - 1] = widths.back() * nu / 2;
      finer[finer.size() - 2] = widths.back() * (1 - nu / 2);
    }
    widths = std::move(finer);
  }
  return Intervals(std::move(widths));
}

TensorMesh::TensorMesh(Intervals x, Intervals y, std::string name)
    : x_(std::move(x)), y_(std::move(y)), name_(std::move(name)) {}

double TensorMesh::smallest_width() const {
  return std::min(*std::min_element(x_.widths().begin(), x_.widths().end()),
                  *std::min_element(y_.widths().begin(), y_.widths().end()));
}

double TensorMesh::largest_aspect_ratio() const {
  const auto [x_min, x_max] = std::minmax_element(x_.widths().begin(), x_.widths().end());
  const auto [y_min, y_max] = std::minmax_element(y_.widths().begin(), y_.widths().end());
  return std::max(*x_max / *y_min, *y_max / *x_min);
}

bool TensorMesh::can_coarsen() const {
  if (unknowns().nodes() == 0) return false;
  // A direction of two intervals has one node; merged, it would have none.
  const bool x = x_.can_coarsen() && x_.size() > 2;
  const bool y = y_.can_coarsen() && y_.size() > 2;
  return x || y;
}

TensorMesh TensorMesh::coarser() const {
  expects(can_coarsen(), "the mesh of ", x_.size(), " x ", y_.size(), " cells has no coarser one");
  const bool x = x_.can_coarsen() && x_.size() > 2;
  const bool y = y_.can_coarsen() && y_.size() > 2;
  return {x ? x_.coarser() : x_, y ? y_.coarser() : y_, name_};
}

}  // namespace stratum
