#include <stratum/solvers/error_estimate.hpp>

#include <algorithm>
#include <cmath>

namespace stratum {

template <class T>
double size_of(Context& ctx, GridView<const T> x) {
  constexpr double least = 1e-3;
  return std::max(range(ctx, x), least * norm_max(ctx, x));
}

void ErrorEstimate::add(int k, double largest) {
  before_ = latest_;
  latest_ = {k, largest};
  constexpr double falls = 0.8;
  if (!fallen_ || !(largest > falls * fallen_->largest)) fallen_ = latest_;
}

std::optional<double> ErrorEstimate::of(int k, bool even) const {
  if (!latest_) return {};
  const auto [j, s] = *latest_;
  constexpr double hardly_falls = 0.99;
  if (!even || !before_ || !(s < before_->largest)) return s;
  const double rho = std::pow(s / before_->largest, 1.0 / (j - before_->k));
  return rho < hardly_falls ? s * std::pow(rho, k - j) / (1 - rho) : s;
}

bool ErrorEstimate::stopped(int k) const {
  constexpr int patience = 6;
  return fallen_ && k - fallen_->k >= patience;
}

template double size_of(Context&, GridView<const float>);
template double size_of(Context&, GridView<const double>);

}  // namespace stratum
