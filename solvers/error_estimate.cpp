#include <stratum/solvers/error_estimate.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stratum {

double size_of(const Extremes& of_x) {
  constexpr double least = 1e-3;
  return std::max(of_x.most - of_x.least, least * std::max(std::abs(of_x.least), std::abs(of_x.most)));
}

double relative_error(double error, const Extremes& of_x) {
  constexpr double of_constants = 0.02;
  const double range = of_x.most - of_x.least, largest = std::max(std::abs(of_x.least), std::abs(of_x.most));
  if (error == 0) return 0;
  error = std::max(error, std::numeric_limits<double>::epsilon() / 2 * largest);
  return error / (range <= 2 * error ? std::max(range, of_constants * largest) : size_of(of_x));
}

void ErrorEstimate::add(int k, double largest) {
  constexpr double falls = 0.8;
  latest_.push_back({k, largest});
  // The rate of one iteration alone is chance where they gain little.
  while (latest_.front().k < k - window) latest_.pop_front();
  if (!fallen_ || !(largest > falls * fallen_->largest)) fallen_ = latest_.back();
}

std::optional<double> ErrorEstimate::of(int k, bool even) const {
  if (latest_.empty()) return {};
  const auto [j, s] = latest_.back();
  const auto [i, first] = latest_.front();
  constexpr double hardly_falls = 0.99;
  if (!even || i == j) return s;
  const double rho = std::pow(s / first, 1.0 / (j - i));
  if (!(rho < hardly_falls)) return s;
  const bool grew = s >= latest_[latest_.size() - 2].largest;
  return s * (grew ? 1 : std::pow(rho, k - j)) / (1 - rho);
}

double ErrorEstimate::doubt(int k) const {
  constexpr double some = 10;
  return !latest_.empty() && latest_.front().k == 0 && latest_.back().k < k ? some : 1;
}

bool ErrorEstimate::stopped(int k) const { return fallen_ && k - fallen_->k >= window; }

}  // namespace stratum
