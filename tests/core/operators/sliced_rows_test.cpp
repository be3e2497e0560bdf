#include <stratum/core/operators/sliced_rows.hpp>

#include <cmath>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;

/// What a warp does with the first slices of a group to its last, on the host.
Values sums(const SlicedView<double>& a, int slices, const Values& x, std::size_t rows) {
  Values y(rows, std::nan(""));
  const int of_slice = 32 / a.lanes;
  for (int slice = 0; slice < slices; ++slice)
    for (int l = 0; l < of_slice; ++l) {
      const int i = a.row[slice * of_slice + l];
      if (i < 0) continue;
      double sum = 0;
      for (int step = a.start[slice]; step < a.start[slice + 1]; ++step)
        for (int lane = l; lane < 32; lane += of_slice)
          sum += a.value[32 * step + lane] * x[static_cast<std::size_t>(a.column[32 * step + lane])];
      EXPECT_TRUE(std::isnan(y[static_cast<std::size_t>(i)])) << "row " << i << " lies in two places";
      y[static_cast<std::size_t>(i)] = sum;
    }
  return y;
}

TEST(SlicedRowsTest, HoldTheMatrixWhateverTheOrderOfItsRows) {
  Context ctx(Backend::cpu, test::cpu_threads);
  test::Random random(19);
  for (const int n : {1, 31, 32, 33, 200})
    for (const int lanes : {1, 4}) {
      const auto rows = test::random_rows(random, n, 7);
      const auto x = random.values(static_cast<std::size_t>(n));
      const auto expected = multiply(test::dense(rows), x);
      std::vector<std::vector<int>> colours(3);
      for (int i = n - 1; i >= 0; --i) colours[static_cast<std::size_t>(i % 3)].push_back(i);
      for (const bool grouped : {false, true}) {
        const auto slices =
            grouped ? SlicedRows<double>(ctx, rows, lanes, colours) : SlicedRows<double>(ctx, rows, lanes);
        EXPECT_EQ(slices.groups(), grouped ? 3 : 1);
        int count = 0;
        const int of_slice = 32 / lanes;
        for (const auto& colour : colours) count += (static_cast<int>(colour.size()) + of_slice - 1) / of_slice;
        if (!grouped) count = (n + of_slice - 1) / of_slice;
        const auto y = sums(slices.view(), count, x, static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-13) << n << ", row " << i;
        if (!grouped) {
          EXPECT_EQ(slices.view().start[count], SlicedRows<double>::steps(rows, lanes));
        }
      }
    }
}

}  // namespace
