#include <stratum/mesh/axis.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace stratum {

namespace {

constexpr int max_intervals = 1 << 30;  // nodes are numbered by int
constexpr int smallest_periodic = 3;    // intervals; with fewer a node would be its own neighbour twice

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

Axis::Axis(std::vector<double> widths) : widths_(std::move(widths)) {
  check_widths(widths_);
  from_begin_ = sums_of(widths_, false);
  from_end_ = sums_of(widths_, true);
  const double whole = from_begin_.back();
  expects(std::isfinite(whole), "the widths of ", size(), " intervals sum to more than double holds");
  length_ = whole;
  for (std::size_t i = 0; i < from_begin_.size(); ++i) {
    const bool in_first_half = from_begin_[i] <= from_end_[i];
    double& far = in_first_half ? from_end_[i] : from_begin_[i];
    far = whole - (in_first_half ? from_begin_[i] : from_end_[i]);
  }
}

Axis::Axis(std::vector<double> widths, double length) : Axis(std::move(widths)) {
  constexpr double rounding = 1e-12;
  expects(std::abs(this->length() - length) <= rounding * length, size(), " widths sum to ", this->length(),
          ", not to the length ", length);
  length_ = length;
  for (std::size_t i = 0; i < from_begin_.size(); ++i) {
    const bool in_first_half = from_begin_[i] <= from_end_[i];
    double& near = in_first_half ? from_begin_[i] : from_end_[i];
    near = std::min(near, length);
    (in_first_half ? from_end_[i] : from_begin_[i]) = length - near;
  }
}

Axis Axis::at(std::vector<double> coordinates) {
  expects(!coordinates.empty(), "an axis needs coordinates");
  const double first = coordinates.front(), last = coordinates.back();
  std::vector<double> widths, from_begin, from_end;
  for (std::size_t i = 1; i < coordinates.size(); ++i) widths.push_back(coordinates[i] - coordinates[i - 1]);
  for (const double x : coordinates) {
    from_begin.push_back(x - first);
    from_end.push_back(last - x);
  }
  Axis line(std::move(widths));
  line.from_end_ = std::move(from_end);
  line.from_begin_ = std::move(from_begin);
  line.length_ = last - first;
  return line.starting_at(first);
}

Axis Axis::starting_at(double origin) const {
  expects(std::isfinite(origin) && std::isfinite(origin + length()), "an axis of length ", length(),
          " cannot start at ", origin);
  Axis line = *this;
  line.origin_ = origin;
  return line;
}

std::vector<double> Axis::coordinates() const {
  std::vector<double> x = from_begin_;
  for (double& value : x) value += origin_;
  return x;
}

Axis Axis::part(int first, int end) const {
  expects(0 <= first && first < end && end <= size(), "intervals ", first, " to ", end - 1, " are no part of ", size());
  if (end - first == size()) return *this;
  Axis own = *this;
  own.widths_.assign(widths_.begin() + first, widths_.begin() + end);
  own.from_begin_.assign(from_begin_.begin() + first, from_begin_.begin() + end + 1);
  own.from_end_.assign(from_end_.begin() + first, from_end_.begin() + end + 1);
  if (first > 0 || is_periodic()) own.first_ = BoundaryType::neumann;
  if (end < size() || is_periodic()) own.last_ = BoundaryType::neumann;
  return own;
}

Axis Axis::with_boundaries(BoundaryType first, BoundaryType last) const {
  expects((first == BoundaryType::periodic) == (last == BoundaryType::periodic),
          "a line has two periodic ends or none, not ", to_string(first), " and ", to_string(last));
  expects(first != BoundaryType::periodic || size() >= smallest_periodic, "a periodic line needs at least ",
          smallest_periodic, " intervals, not ", size());
  Axis line = *this;
  line.first_ = first;
  line.last_ = last;
  return line;
}

bool Axis::can_coarsen() const {
  if (is_periodic()) return size() >= 2 * smallest_periodic;
  const int neumann = (first_ == BoundaryType::neumann ? 1 : 0) + (last_ == BoundaryType::neumann ? 1 : 0);
  return size() >= 2 && (size() + 1) / 2 - 1 + neumann >= 1;
}

Axis Axis::coarser() const {
  expects(can_coarsen(), size(), " intervals between ", to_string(first_), " and ", to_string(last_),
          " ends do not coarsen");
  Axis line = *this;
  line.widths_.clear();
  line.from_begin_.clear();
  line.from_end_.clear();
  const std::size_t n = widths_.size();
  for (std::size_t i = 0; i < n; i += 2) line.widths_.push_back(i + 1 < n ? widths_[i] + widths_[i + 1] : widths_[i]);
  for (std::size_t k = 0; k <= line.widths_.size(); ++k) {
    const std::size_t i = std::min(2 * k, n);
    line.from_begin_.push_back(from_begin_[i]);
    line.from_end_.push_back(from_end_[i]);
  }
  return line;
}

std::string_view to_string(BoundaryType end) {
  return end == BoundaryType::neumann ? "neumann" : end == BoundaryType::periodic ? "periodic" : "dirichlet";
}

std::string_view to_string(ThinSide side) {
  return side == ThinSide::first ? "first" : side == ThinSide::last ? "last" : "none";
}

ThinSide thin_side(std::string_view name) {
  for (const auto side : {ThinSide::none, ThinSide::first, ThinSide::last})
    if (name == to_string(side)) return side;
  throw UsageError(message("unknown thin side '", name, "'; known: none, first, last"));
}

Axis bisected(double length, int level, ThinSide side, double nu) {
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

}  // namespace stratum
