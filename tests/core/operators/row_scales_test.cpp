#include <cmath>

#include <gtest/gtest.h>
#include <stratum/core/operators/row_scales.hpp>

namespace stratum {
namespace {

/// A line of n nodes: couplings c between neighbours, rows times d_i.
SparseRows line(const std::vector<double>& d, double upwind = 1) {
  std::vector<SparseEntry> entries;
  const int n = static_cast<int>(d.size());
  for (int i = 0; i < n; ++i) {
    const double row = d[static_cast<std::size_t>(i)];
    if (i > 0) entries.push_back({i, i - 1, -row * (i + 1.0) * upwind});
    entries.push_back({i, i, row * (2 * i + 5)});
    if (i + 1 < n) entries.push_back({i, i + 1, -row * (i + 2.0)});
  }
  return sparse_rows(n, n, std::move(entries));
}

TEST(RowScales, AreFound) {
  SparseRows a = line({1, 3, 0.125, 7e3, 1e-2}), given = a;
  const auto d = scale_to_symmetry(a);
  ASSERT_EQ(d.size(), 5U);
  EXPECT_TRUE(a.is_symmetric(0));
  const double expected[] = {1, 1.0 / 3, 8, 1 / 7e3, 1e2};
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(d[static_cast<std::size_t>(i)], expected[i], 1e-12 * expected[i]);
    for (int j = 0; j < 5; ++j) EXPECT_NEAR(a.at(i, j), expected[i] * given.at(i, j), 1e-12 * std::abs(a.at(i, i)));
  }
}

TEST(RowScales, AreOneOfASymmetricMatrix) {
  SparseRows a = line({1, 1, 1, 1}), given = a;
  EXPECT_EQ(scale_to_symmetry(a), std::vector<double>(4, 1.0));
  EXPECT_EQ(a.value, given.value);
}

TEST(RowScales, PartsBeginWithOneAndRowsAloneStay) {
  // Unknowns 1 and 4 are known; others couple to them, and zeros are stored in their rows.
  SparseRows a = sparse_rows(5, 5,
                             {{0, 0, 4},
                              {0, 1, -1},
                              {1, 0, 0},
                              {1, 1, 9},
                              {1, 2, 0},
                              {2, 1, -2},
                              {2, 2, 6},
                              {2, 3, -4},
                              {3, 2, -2},
                              {3, 3, 3},
                              {3, 4, -5},
                              {4, 4, 8}});
  EXPECT_EQ(scale_to_symmetry(a), (std::vector<double>{1, 1, 1, 2, 1}));
  EXPECT_EQ(a.at(1, 0), 0);
  EXPECT_EQ(a.at(1, 1), 9);
  EXPECT_EQ(a.at(2, 3), a.at(3, 2));
  EXPECT_EQ(a.at(3, 4), -10);
  EXPECT_EQ(a.at(4, 4), 8);
}

TEST(RowScales, ThereAreNone) {
  // A ring that is stronger one way round than the other, couplings of one direction only, of other signs, and a flow.
  SparseRows ring = sparse_rows(
      3, 3, {{0, 0, 3}, {0, 1, -2}, {0, 2, -1}, {1, 0, -1}, {1, 1, 3}, {1, 2, -2}, {2, 0, -2}, {2, 1, -1}, {2, 2, 3}});
  SparseRows upwind = sparse_rows(3, 3, {{0, 0, 2}, {0, 1, -1}, {1, 1, 2}, {1, 2, -1}, {2, 2, 2}, {2, 0, -1}});
  SparseRows signs = sparse_rows(2, 2, {{0, 0, 2}, {0, 1, -1}, {1, 0, 1}, {1, 1, 2}});
  SparseRows flow = line(std::vector<double>(40, 1.0), 4);
  for (SparseRows* a : {&ring, &upwind, &signs, &flow}) {
    const SparseRows given = *a;
    EXPECT_TRUE(scale_to_symmetry(*a).empty());
    EXPECT_EQ(a->value, given.value);
  }
  SparseRows weak = line(std::vector<double>(10, 1.0), 4);
  EXPECT_FALSE(scale_to_symmetry(weak).empty());
}

// A flow spans as much, and its diagonal nothing like it.
TEST(RowScales, OfRowsInUnitsOfTheirOwnMaySpanMore) {
  const std::vector<double> units{1e8, 1e-8, 1, 3e-7, 5e7};
  SparseRows a = line(units);
  const auto d = scale_to_symmetry(a);
  ASSERT_EQ(d.size(), units.size());
  EXPECT_TRUE(a.is_symmetric(0));
  for (std::size_t k = 0; k < d.size(); ++k) EXPECT_NEAR(d[k] * units[k], units[0], 1e-10 * units[0]);
  SparseRows flow = line(std::vector<double>(5, 1.0), 1e4), given = flow;
  EXPECT_TRUE(scale_to_symmetry(flow).empty());
  EXPECT_EQ(flow.value, given.value);
}

}  // namespace
}  // namespace stratum
