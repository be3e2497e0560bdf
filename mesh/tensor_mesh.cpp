#include <stratum/mesh/tensor_mesh.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace stratum {

namespace {

constexpr int max_intervals = 1 << 30;  // nodes are numbered by int

/// Sums as if in twice the precision (Neumaier 1974): a million widths add up to the last digit.
class Sum {
 public:
  void add(double value) {
    const double total = total_ + value;
    rest_ += std::abs(total_) >= std::abs(value) ? (total_ - total) + value : (value - total) + total_;
    total_ = total;
  }
  [[nodiscard]] double value() const { return total_ + rest_; }

 private:
  double total_ = 0;
  double rest_ = 0;
};

void check_widths(const std::vector<double>& widths) {
  constexpr auto smallest = std::numeric_limits<double>::min();
  const std::size_t n = widths.size();
  expects(n > 0, "a direction needs at least one interval");
  expects(n <= std::size_t{max_intervals}, "a direction can have up to ", max_intervals, " intervals, not ", n);
  for (std::size_t i = 0; i < n; ++i)
    expects(std::isfinite(widths[i]) && widths[i] >= smallest, "interval ", i, " of ", n, " has width ", widths[i],
            "; widths must be positive, finite and at least ", smallest);
}

/// What the widths sum to, from the first node on.
std::vector<double> sums_of(const std::vector<double>& widths, bool from_last) {
  std::vector<double> sums(widths.size() + 1, 0.0);
  Sum sum;
  for (std::size_t k = 1; k < sums.size(); ++k) {
    sum.add(from_last ? widths[widths.size() - k] : widths[k - 1]);
    sums[from_last ? widths.size() - k : k] = sum.value();
  }
  return sums;
}

}  // namespace

Intervals::Intervals(std::vector<double> widths) : widths_(std::move(widths)) {
  check_widths(widths_);
  from_begin_ = sums_of(widths_, false);
  from_end_ = sums_of(widths_, true);
  const double whole = from_begin_.back();
  expects(std::isfinite(whole), "the widths of ", size(), " intervals sum to more than double holds");
  for (std::size_t i = 0; i < from_begin_.size(); ++i) {
    const bool in_first_half = from_begin_[i] <= from_end_[i];
    double& far = in_first_half ? from_end_[i] : from_begin_[i];
    far = whole - (in_first_half ? from_begin_[i] : from_end_[i]);
  }
}

Intervals::Intervals(std::vector<double> widths, double length) : Intervals(std::move(widths)) {
  constexpr double rounding = 1e-12;
  expects(std::abs(this->length() - length) <= rounding * length, size(), " widths sum to ", this->length(),
          ", not to the length ", length);
  for (std::size_t i = 0; i < from_begin_.size(); ++i) {
    const bool in_first_half = from_begin_[i] <= from_end_[i];
    double& near = in_first_half ? from_begin_[i] : from_end_[i];
    near = std::min(near, length);
    (in_first_half ? from_end_[i] : from_begin_[i]) = length - near;
  }
}

Intervals::Intervals(std::vector<double> widths, std::vector<double> from_begin, std::vector<double> from_end)
    : widths_(std::move(widths)), from_begin_(std::move(from_begin)), from_end_(std::move(from_end)) {}

Intervals Intervals::at(std::vector<double> coordinates) {
  expects(!coordinates.empty() && coordinates.front() == 0, "the first of the coordinates must be 0");
  std::vector<double> widths, from_end;
  for (std::size_t i = 1; i < coordinates.size(); ++i) widths.push_back(coordinates[i] - coordinates[i - 1]);
  check_widths(widths);
  for (const double x : coordinates) from_end.push_back(coordinates.back() - x);
  return {std::move(widths), std::move(coordinates), std::move(from_end)};
}

Intervals Intervals::coarser() const {
  expects(can_coarsen(), "intervals are merged in pairs, which ", size(), " intervals do not allow");
  std::vector<double> merged, from_begin, from_end;
  for (std::size_t i = 0; i < widths_.size(); i += 2) merged.push_back(widths_[i] + widths_[i + 1]);
  for (std::size_t i = 0; i < from_begin_.size(); i += 2) {
    from_begin.push_back(from_begin_[i]);
    from_end.push_back(from_end_[i]);
  }
  return {std::move(merged), std::move(from_begin), std::move(from_end)};
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
  return {std::move(widths), length};
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
