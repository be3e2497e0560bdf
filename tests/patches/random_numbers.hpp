#pragma once

// Random numbers at the nodes of patches, for tests.

#include <random>
#include <vector>

#include <stratum/core/patches/patch_layout.hpp>

namespace test {

/// Normally distributed at all nodes, and zero between the rows.
inline std::vector<double> random_at_nodes(const stratum::PatchLayout& layout, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> numbers(static_cast<std::size_t>(layout.size()), 0.0);
  for (int p = 0; p < layout.patches(); ++p)
    for (int j = 0; j <= layout.patch(p).ny; ++j)
      for (int i = 0; i <= layout.patch(p).nx; ++i)
        numbers[static_cast<std::size_t>(layout.patch(p).node(i, j))] = normal(random);
  return numbers;
}

}  // namespace test
