#include <stratum/solvers/direct/dense_products.hpp>

#include <vector>

#include <gtest/gtest.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;

template <class T>
void expect_sums(double digits) {
  test::Random random(2);
  const auto numbers = [&](int count) {
    const std::vector<double> values = random.values(count);
    return std::vector<T>(values.begin(), values.end());
  };
  for (const auto& [m, n, k] :
       {std::array{1, 1, 1}, {3, 5, 2}, {8, 24, 8}, {9, 25, 7}, {4, 12, 40}, {17, 70, 33}, {31, 47, 64}})
    for (const bool add : {false, true}) {
      const int lda = k + 3, ldb = n + 1, ldc = n + 2;
      const std::vector<T> a = numbers(m * lda), b = numbers(k * ldb), before = numbers(m * ldc);
      std::vector<T> c = before, scratch(product_scratch(k));
      multiply(m, n, k, a.data(), lda, b.data(), ldb, c.data(), ldc, add, scratch.data());
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < ldc; ++j) {
          const auto at = static_cast<std::size_t>(i * ldc + j);
          double sum = add ? before[at] : 0;
          for (int p = 0; p < k && j < n; ++p)
            sum += double{a[static_cast<std::size_t>(i * lda + p)]} * b[static_cast<std::size_t>(p * ldb + j)];
          if (j < n)
            EXPECT_NEAR(c[at], sum, digits * k) << i << ", " << j << " of " << m << " x " << n << " x " << k;
          else
            EXPECT_EQ(c[at], before[at]) << "beyond the product";
        }
    }
}

TEST(DenseProducts, OfTheHostAreSums) {
  expect_sums<double>(1e-13);
  expect_sums<float>(1e-6);
}

TEST(DenseProducts, OfTheGpuAreThoseOfTheHost) {
  if (!test::available(Backend::cuda)) GTEST_SKIP() << test::not_available();
  Context ctx(Backend::cuda);
  test::Random random(3);
  for (const auto& n : {std::array{8, 8, 3}, {24, 16, 5}, {40, 72, 2}})
    for (const bool apart : {false, true}) {
      const int nx = n[0], ny = n[1], nz = n[2];
      const std::int64_t plane = std::int64_t{nx} * (ny + (apart ? 1 : 0));
      const auto count = static_cast<std::size_t>(plane * nz);
      const std::vector<double> in = random.values(count), x = random.values(nx * nx), y = random.values(ny * ny);
      const auto on_gpu = [&](const std::vector<double>& numbers) {
        auto memory = allocate(ctx, numbers.size() * sizeof(double));
        copy_bytes(ctx, numbers.data(), memory.get(), numbers.size() * sizeof(double));
        ctx.synchronise();
        return memory;
      };
      const auto there = on_gpu(in), of_x = on_gpu(x), of_y = on_gpu(y), out = on_gpu(in);
      const auto view = [&](const std::shared_ptr<void>& memory) {
        return FieldView<double, 3>{static_cast<double*>(memory.get()), {nx, ny, nz}, {nx, plane}};
      };
      const DenseProducts products(ctx);
      std::vector<double> result(count), expected(count), scratch(product_scratch(std::max(nx, ny)));
      const auto expect_result = [&] {
        copy_bytes(ctx, out.get(), result.data(), count * sizeof(double));
        ctx.synchronise();
        for (std::size_t p = 0; p < count; ++p)
          ASSERT_NEAR(result[p], expected[p], 1e-11) << p << ", " << products.description();
      };
      expected = in;
      for (int k = 0; k < nz; ++k)
        multiply(ny, nx, nx, &in[static_cast<std::size_t>(k * plane)], nx, x.data(), nx,
                 &expected[static_cast<std::size_t>(k * plane)], nx, true, scratch.data());
      products.along_rows(ctx, view(there), {static_cast<const double*>(of_x.get()), nx}, view(out), true);
      expect_result();
      for (int k = 0; k < nz; ++k)
        multiply(ny, nx, ny, y.data(), ny, &in[static_cast<std::size_t>(k * plane)], nx,
                 &expected[static_cast<std::size_t>(k * plane)], nx, false, scratch.data());
      products.across_rows(ctx, {static_cast<const double*>(of_y.get()), ny}, view(there), view(out));
      expect_result();
    }
}

}  // namespace
