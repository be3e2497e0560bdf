#include <stratum/solvers/deflation/coarse_factor.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;

/// The matrix of a network of n nodes, every one linked to the next few, links over twelve decades.
struct Network {
  std::vector<SparseEntry> entries;
  Values sums;
  Network(test::Random& random, int n, int reach, bool grounded) : sums(std::size_t(n), 0.0) {
    Values diagonal(std::size_t(n), 0.0);
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < std::min(n, i + reach + 1); ++j) {
        const double link = std::pow(10.0, random.uniform(-12, 0));
        entries.push_back({i, j, -link});
        entries.push_back({j, i, -link});
        diagonal[std::size_t(i)] += link;
        diagonal[std::size_t(j)] += link;
      }
    if (grounded) sums[std::size_t(n) / 2] = 1e-6;
    for (int i = 0; i < n; ++i) entries.push_back({i, i, diagonal[std::size_t(i)] + sums[std::size_t(i)]});
  }
  [[nodiscard]] SparseRows rows() const { return sparse_rows(int(sums.size()), int(sums.size()), entries); }
};

TEST(CoarseFactorTest, OfANetworkIsAccurateInEveryEntry) {
  test::Random random(41);
  for (const int reach : {1, 3, 12}) {
    const Network network(random, 12, reach, true);
    const CoarseFactor factor(network.rows(), network.sums);
    EXPECT_TRUE(factor.is_accurate());
    EXPECT_EQ(factor.dropped(), 0);
    // Column k of the inverse has the network's own balance: links times differences, and 1 at node k. By differences no digit
    // of it is lost.
    const auto inverse = factor.inverse(2);
    for (std::size_t k = 0; k < 12; ++k) {
      // All current leaves at the grounded node, whose potential is known.
      EXPECT_NEAR(inverse[k * 12 + 6], 1e6, 1e-8) << reach;
      for (std::size_t i = 0; i < 12; ++i) {
        EXPECT_GE(inverse[k * 12 + i], 1e6 * (1 - 1e-14));
        EXPECT_NEAR(inverse[k * 12 + i], inverse[i * 12 + k], 1e-13 * inverse[i * 12 + k]);
      }
      Values unit(12, 0.0);
      unit[k] = 1;
      factor.solve(unit.data());
      for (std::size_t i = 0; i < 12; ++i) EXPECT_DOUBLE_EQ(unit[i], inverse[k * 12 + i]);
    }
  }
}

TEST(CoarseFactorTest, TheLastUnknownOfASingularNetworkStaysZero) {
  test::Random random(42);
  const Network network(random, 9, 2, false);
  const CoarseFactor factor(network.rows(), network.sums);
  EXPECT_EQ(factor.dropped(), 1);
  Values y = random.values(9);
  double mean = 0;
  for (const double value : y) mean += value / 9;
  for (double& value : y) value -= mean;
  const Values given = y;
  factor.solve(y.data());
  EXPECT_EQ(y.back(), 0);
  Values image(9, 0.0), size(9, 0.0);
  for (const auto& entry : network.entries) {
    if (entry.row == entry.column) continue;
    const double flow = entry.value * (y[std::size_t(entry.column)] - y[std::size_t(entry.row)]);
    image[std::size_t(entry.row)] += flow;
    size[std::size_t(entry.row)] +=
        std::abs(entry.value) * (std::abs(y[std::size_t(entry.column)]) + std::abs(y[std::size_t(entry.row)]));
  }
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(image[i], given[i], 1e-12 + 1e-15 * size[i]);
}

TEST(CoarseFactorTest, AnyOtherMatrixLeavesOutWhatDepends) {
  test::Random random(43);
  // B B^T of full rank, then with a row twice.
  const std::size_t n = 7;
  Values b = random.values(n * n);
  const auto product = [&] {
    std::vector<SparseEntry> entries;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += b[i * n + k] * b[j * n + k];
        entries.push_back({int(i), int(j), sum});
      }
    return sparse_rows(int(n), int(n), entries);
  };
  const auto e = product();
  const CoarseFactor factor(e, Values(n, -1.0));
  EXPECT_FALSE(factor.is_accurate());
  const Values x = random.values(n);
  Values y = reference::multiply(test::dense(e), x);
  factor.solve(y.data());
  for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], x[i], 1e-9);
  std::copy_n(b.begin() + 2 * n, n, b.begin() + 4 * n);
  const auto dependent = product();
  const CoarseFactor less(dependent, Values(n, -1.0));
  EXPECT_EQ(less.dropped(), 1);
  const Values right = reference::multiply(test::dense(dependent), x);
  y = right;
  less.solve(y.data());
  EXPECT_EQ(y[4], 0);
  const Values again = reference::multiply(test::dense(dependent), y);
  for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(again[i], right[i], 1e-9);
}

}  // namespace
