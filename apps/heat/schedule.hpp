#pragma once

// When a run stops to show or to save what it has.

#include <algorithm>
#include <cmath>
#include <limits>

namespace stratum::apps::heat {

/// The times at which a run stops: start + n every, and the end; the end alone where `every` is 0.
class Stops {
 public:
  Stops(double start, double end, double every) : start_(start), end_(end), every_(every) {}
  /// The first one after t.
  [[nodiscard]] double after(double t) const { return every_ > 0 ? std::min(at(number(t) + 1), end_) : end_; }
  /// How many have come until t; the end is one.
  [[nodiscard]] int number(double t) const {
    if (t >= end_) return every_ > 0 ? std::max(1, static_cast<int>(std::ceil(stops() * (1 - rounding)))) : 1;
    return every_ > 0 ? static_cast<int>(std::floor((t - start_) / every_ * (1 + rounding) + rounding)) : 0;
  }
  [[nodiscard]] bool has(double t) const {
    return t == end_ || (every_ > 0 && std::abs(t - at(number(t))) <= rounding * (end_ - start_));
  }
  [[nodiscard]] double at(int n) const { return n >= number(end_) ? end_ : start_ + n * every_; }

 private:
  /// Between both ends, whose own rounding is none.
  [[nodiscard]] double stops() const {
    const double of_times = 4 * std::numeric_limits<double>::epsilon() * std::max(std::abs(start_), std::abs(end_));
    return std::max(0.0, end_ - start_ - of_times) / every_;
  }
  static constexpr double rounding = 1e-12;  // 3 * 0.1 is 0.3
  double start_, end_, every_;
};

}  // namespace stratum::apps::heat
