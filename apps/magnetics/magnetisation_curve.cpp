#include <stratum/magnetics/magnetisation_curve.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/magnetics/magnetic_field.hpp>

namespace stratum {

MagnetisationCurve::MagnetisationCurve(std::vector<double> b, std::vector<double> h, double saturation)
    : b_(std::move(b)), h_(std::move(h)) {
  expects(b_.size() == h_.size() && b_.size() >= 2, "a magnetisation curve has two points or more, not ", b_.size(),
          " B and ", h_.size(), " H");
  b_.insert(b_.begin(), 0);
  h_.insert(h_.begin(), 0);
  for (std::size_t k = 1; k < b_.size(); ++k)
    expects(std::isfinite(b_[k]) && std::isfinite(h_[k]) && b_[k] > b_[k - 1] && h_[k] > h_[k - 1],
            "a magnetisation curve increases; point ", k, " is ", b_[k], " T at ", h_[k], " A/m");
  end_ = b_.back();
  // At the H of the last point the line has this much more B.
  const double ahead = vacuum_permeability * h_.back() + saturation - end_;
  expects(ahead >= 0, "beyond the last point of the curve, ", end_, " T at ", h_.back(),
          " A/m, the line with M = ", saturation, " T would have to fall");
  if (ahead > 0) {
    b_.push_back(end_ + 4 * ahead);
    h_.push_back((b_.back() - saturation) / vacuum_permeability);
  }
  slope_.resize(b_.size());
  const auto secant = [this](std::size_t k) { return (h_[k + 1] - h_[k]) / (b_[k + 1] - b_[k]); };
  slope_.front() = secant(0);
  for (std::size_t k = 1; k + 1 < b_.size(); ++k) {
    const double before = b_[k] - b_[k - 1], after = b_[k + 1] - b_[k];
    slope_[k] = 3 * (before + after) / ((2 * after + before) / secant(k - 1) + (after + 2 * before) / secant(k));
  }
  slope_.back() = 1 / vacuum_permeability;
  energy_.assign(b_.size(), 0);
  for (std::size_t k = 0; k + 1 < b_.size(); ++k) {
    const double width = b_[k + 1] - b_[k];
    energy_[k + 1] = energy_[k] + width * (h_[k] + h_[k + 1]) / 2 + width * width * (slope_[k] - slope_[k + 1]) / 12;
  }
}

std::size_t MagnetisationCurve::interval(double b) const {
  return static_cast<std::size_t>(std::upper_bound(b_.begin() + 1, b_.end() - 1, b) - b_.begin()) - 1;
}

double MagnetisationCurve::field(double b) const {
  if (b >= b_.back()) return h_.back() + (b - b_.back()) / vacuum_permeability;
  const std::size_t k = interval(b);
  const double width = b_[k + 1] - b_[k], t = (b - b_[k]) / width, u = 1 - t;
  return u * u * ((1 + 2 * t) * h_[k] + t * width * slope_[k]) +
         t * t * ((1 + 2 * u) * h_[k + 1] - u * width * slope_[k + 1]);
}

double MagnetisationCurve::slope(double b) const {
  if (b >= b_.back()) return slope_.back();
  const std::size_t k = interval(b);
  const double width = b_[k + 1] - b_[k], t = (b - b_[k]) / width, u = 1 - t;
  return 6 * t * u * (h_[k + 1] - h_[k]) / width + u * (u - 2 * t) * slope_[k] + t * (t - 2 * u) * slope_[k + 1];
}

double MagnetisationCurve::energy(double b) const {
  const bool beyond = b >= b_.back();
  const std::size_t k = beyond ? b_.size() - 1 : interval(b);
  // Two Gauss points are exact for cubics.
  const double half = (b - b_[k]) / 2, middle = b_[k] + half, away = half / std::sqrt(3.0);
  return energy_[k] + half * (field(middle - away) + field(middle + away));
}

double MagnetisationCurve::reluctivity(double s) const {
  const double b = vacuum_permeability * std::sqrt(s);
  return vacuum_permeability * (b > 0 ? field(b) / b : slope_.front());
}

double MagnetisationCurve::reluctivity_slope(double s) const {
  constexpr double least = 1e-9;  // tesla; below, nu is constant to rounding
  const double b = vacuum_permeability * std::sqrt(s);
  if (b < least) return 0;
  const double mu0 = vacuum_permeability;
  return mu0 * mu0 * mu0 * (b * slope(b) - field(b)) / (2 * b * b * b);
}

}  // namespace stratum
