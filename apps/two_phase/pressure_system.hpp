#pragma once

// Systems of two fluids in a box: densities and links of cells (apps/two_phase/five_point.hpp), where bubbles are, and random
// right-hand sides. The same seed gives the same numbers.

#include <cstddef>
#include <vector>

#include <stratum/two_phase/five_point.hpp>

namespace stratum::apps {

struct PressureSystem {
  FivePointLinks links;
  std::vector<double> density;  // of the cells

  /// Walls all around, and no sink.
  [[nodiscard]] bool is_singular() const { return links.walls && links.sink.empty(); }
  [[nodiscard]] GridLayout<2> shape() const { return mesh_of_centres(links).unknowns(); }
  /// The largest density over the smallest.
  [[nodiscard]] double contrast() const;
};

/// 4 and -1, zeros beyond the boundaries.
[[nodiscard]] PressureSystem poisson_system(int nx, int ny);

[[nodiscard]] PressureSystem layered_system(int n, double contrast);

[[nodiscard]] PressureSystem flow_system(int nx, int ny, std::vector<double> density, double width = 1,
                                         double height = 1, int threads = 1);

/// `across` x `across` of them, their radius 0.3 of the distance that their centres have.
[[nodiscard]] std::vector<Disc> regular_bubbles(int across, double width = 1, double height = 1);

/// Anywhere, radii of 0.1 to 0.3 of the mean distance; they may overlap, and lie half outside.
[[nodiscard]] std::vector<Disc> random_bubbles(int count, unsigned seed, double width = 1, double height = 1);

/// Normal numbers, their mean taken away where `balanced`.
[[nodiscard]] std::vector<double> white_noise(std::size_t count, unsigned seed, bool balanced);

/// Numbers in 0 .. 1.
[[nodiscard]] std::vector<double> uniform_noise(std::size_t count, unsigned seed);

}  // namespace stratum::apps
