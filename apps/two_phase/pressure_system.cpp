#include "pressure_system.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace stratum::apps {

double PressureSystem::contrast() const {
  const auto [least, most] = std::minmax_element(density.begin(), density.end());
  return *most / *least;
}

PressureSystem poisson_system(int nx, int ny) {
  PressureSystem system{poisson_links(nx, ny), {}};
  system.density.assign(system.links.east.size(), 1.0);
  return system;
}

PressureSystem layered_system(int n, double contrast) {
  PressureSystem system{layered_links(n, contrast), {}};
  system.density.assign(system.links.east.size(), contrast);
  std::fill_n(system.density.begin(), system.links.at(0, n / 2), 1.0);
  return system;
}

PressureSystem flow_system(int nx, int ny, std::vector<double> density, double width, double height, int threads) {
  return {flow_links(nx, ny, density, width, height, threads), std::move(density)};
}

std::vector<Disc> regular_bubbles(int across, double width, double height) {
  std::vector<Disc> bubbles;
  for (int j = 0; j < across; ++j)
    for (int i = 0; i < across; ++i)
      bubbles.push_back(
          {(i + 0.5) * width / across, (j + 0.5) * height / across, 0.3 * std::min(width, height) / across});
  return bubbles;
}

std::vector<Disc> random_bubbles(int count, unsigned seed, double width, double height) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  const double distance = std::sqrt(width * height / count);
  std::vector<Disc> bubbles;
  for (int k = 0; k < count; ++k) {
    const double x = uniform(random) * width, y = uniform(random) * height;
    bubbles.push_back({x, y, (0.1 + 0.2 * uniform(random)) * distance});
  }
  return bubbles;
}

std::vector<double> white_noise(std::size_t count, unsigned seed, bool balanced) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> values(count);
  double mean = 0;
  for (double& value : values) mean += value = normal(random);
  mean /= static_cast<double>(count);
  if (balanced)
    for (double& value : values) value -= mean;
  return values;
}

std::vector<double> uniform_noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> values(count);
  for (double& value : values) value = uniform(random);
  return values;
}

}  // namespace stratum::apps
