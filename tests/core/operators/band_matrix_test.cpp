#include <stratum/core/operators/band_matrix.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;

template <class T>
class BandMatrixTest : public test::OnEverySetting<T> {};

struct Case {
  int n;
  std::vector<int> offsets;
};
const std::vector<Case> cases{{1, {0}},
                              {5, {}},
                              {2, {-1, 1}},
                              {7, {-6, -2, 0, 1, 6}},
                              {64, {-8, 0, 8}},
                              {65, {3}},
                              {700, {-65, -1, 0, 1}},
                              {1025, {-1024, 0, 513}},
                              {30000, {-150, -1, 0, 1, 150}}};

TEST_ON_EVERY_SETTING(BandMatrixTest, AgreesWithTheSumOverItsBands) {
  test::Random random(11);
  for (const auto& [n, offsets] : cases) {
    SCOPED_TRACE(testing::Message() << n << " rows, " << offsets.size() << " bands");
    const auto count = static_cast<std::size_t>(n);
    // Bands hold numbers beside the matrix as well, which must not be used.
    const auto bands = random.values(count * offsets.size());
    const auto x = random.values(count), b = random.values(count);
    Values expected(count);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < offsets.size(); ++k) {
        const std::int64_t j = static_cast<std::int64_t>(i) + offsets[k];
        if (j >= 0 && j < n) expected[i] += bands[k * count + i] * x[static_cast<std::size_t>(j)];
      }
    BandMatrix<T> a(this->ctx(), n, offsets);
    const std::vector<T> narrowed(bands.begin(), bands.end());
    copy_from_host(this->ctx(), narrowed.data(), a.bands());
    const auto dx = test::to_device<T>(this->ctx(), test::flat(n), x);
    auto db = test::to_device<T>(this->ctx(), test::flat(n), b);
    Field<T> y(this->ctx(), n);
    a.apply(this->ctx(), dx.cview(), y.view());
    const auto product = test::to_host(this->ctx(), y);
    for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(product[i], expected[i], test::tolerance<T>) << i;
    a.residual(this->ctx(), db.cview(), dx.cview(), db.view());  // in place
    const auto residual = test::to_host(this->ctx(), db);
    for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(residual[i], b[i] - expected[i], test::tolerance<T>) << i;
    EXPECT_TRUE(test::halo_is_zero(this->ctx(), y));
  }
}

TEST_ON_EVERY_SETTING(BandMatrixTest, GoesToRowsAndBack) {
  test::Random random(12);
  const auto rows = test::random_rows(random, 40, 3);
  const BandMatrix<double> a(this->ctx(), rows);
  const auto back = sparse_rows(this->ctx(), a);
  EXPECT_EQ(back.start, rows.start);
  EXPECT_EQ(back.column, rows.column);
  EXPECT_EQ(back.value, rows.value);
  // The same numbers as the rows give.
  const BandMatrix<T> band(this->ctx(), rows);
  const auto x = random.values(40);
  Field<T> y(this->ctx(), 40);
  band.apply(this->ctx(), test::to_device<T>(this->ctx(), test::flat(40), x).cview(), y.view());
  EXPECT_LT(reference::relative_difference(test::to_host(this->ctx(), y), multiply(test::dense(rows), x)),
            test::tolerance<T>);
}

TEST_ON_EVERY_SETTING(BandMatrixTest, ToeplitzRowsAreThePublishedMatrix) {
  const auto rows = toeplitz_rows(5, 0.25);
  const auto dense = test::dense(rows);
  const Values expected{2, 1, 0, 0, 0, 0, 2, 1, 0, 0, 0.25, 0, 2, 1, 0, 0, 0.25, 0, 2, 1, 0, 0, 0.25, 0, 2};
  EXPECT_EQ(dense.entries, expected);
  const BandMatrix<T> constants(this->ctx(), 5, {-2, 0, 1}, {T(0.25), T(2), T(1)});
  const auto back = sparse_rows(this->ctx(), constants);
  EXPECT_EQ(back.value, rows.value);
  EXPECT_EQ(back.column, rows.column);
}

TEST_ON_EVERY_SETTING(BandMatrixTest, MagnitudeIsTheSizeOfItsTerms) {
  const BandMatrix<T> a(this->ctx(), 2, {0, 1}, {T(1e3), T(-1e3)});
  const auto x = test::to_device<T>(this->ctx(), test::flat(2), {1, 1});
  const auto b = test::to_device<T>(this->ctx(), test::flat(2), {-10, 20});
  EXPECT_NEAR(a.magnitude(this->ctx(), b.cview(), x.cview()), std::hypot(2e3 + 10, 1e3 + 20), 1e-3);
}

TEST(BandMatrixErrors, BadOffsetsAndShapesAreRefused) {
  Context ctx;
  EXPECT_THAT(test::error_text<UsageError>([&] { (void)BandMatrix<double>(ctx, 4, {0, 4}); }), HasSubstr("offset 4"));
  EXPECT_THAT(test::error_text<UsageError>([&] { (void)BandMatrix<double>(ctx, 4, {1, 0}); }), HasSubstr("increase"));
  EXPECT_THAT(test::error_text<UsageError>([&] { (void)BandMatrix<double>(ctx, 4, {0, 0}); }), HasSubstr("increase"));
  EXPECT_THROW((void)BandMatrix<double>(ctx, 4, {0, 1}, {1.0}), UsageError);
  const BandMatrix<double> a(ctx, 4, {0});
  Field<double> x(ctx, 4), longer(ctx, 5);
  EXPECT_THROW(a.apply(ctx, longer.cview(), x.view()), UsageError);
  // An arrow has too many diagonals.
  std::vector<SparseEntry> arrow;
  for (int i = 0; i < 300; ++i) arrow.push_back({i, 0, 1});
  EXPECT_THAT(test::error_text<UsageError>([&] { (void)BandMatrix<double>(ctx, sparse_rows(300, 300, arrow)); }),
              HasSubstr("CsrMatrix"));
}

}  // namespace
