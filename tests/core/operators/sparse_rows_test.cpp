#include <stratum/core/operators/sparse_rows.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace stratum {
namespace {

SparseRows some(int rows, int columns, int each) {
  std::vector<SparseEntry> entries;
  std::uint32_t random = 1;
  for (int k = 0; k < rows * each; ++k) {
    random = random * 1664525U + 1013904223U;
    entries.push_back({k % rows, static_cast<int>(random >> 8U) % columns, 1.0 + k});
  }
  return sparse_rows(rows, columns, std::move(entries));
}

TEST(SparseRowsTest, TransposesAreTheSameOnAnyNumberOfThreads) {
  for (const auto& a : {some(3, 500, 90), some(500, 3, 2), some(40, 40, 7), some(1, 1, 1), some(700, 2, 0)}) {
    const SparseRows t = transposed(a);
    t.validate();
    ASSERT_EQ(t.rows, a.columns);
    ASSERT_EQ(t.columns, a.rows);
    ASSERT_EQ(t.entries(), a.entries());
    for (int i = 0; i < a.rows; ++i)
      for (int k = a.start[static_cast<std::size_t>(i)]; k < a.start[static_cast<std::size_t>(i) + 1]; ++k)
        ASSERT_EQ(t.at(a.column[static_cast<std::size_t>(k)], i), a.value[static_cast<std::size_t>(k)]);
    for (const int threads : {2, 3, 8}) {
      const SparseRows other = transposed(a, threads);
      EXPECT_EQ(other.start, t.start);
      EXPECT_EQ(other.column, t.column);
      EXPECT_EQ(other.value, t.value);
    }
  }
}

}  // namespace
}  // namespace stratum
