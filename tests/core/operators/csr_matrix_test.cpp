#include <stratum/core/operators/csr_matrix.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include <stratum/mesh/named_meshes.hpp>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;

template <class T>
class CsrMatrixTest : public test::OnEverySetting<T> {};

/// Layouts differ on a GPU only.
struct Layout {
  RowLayout rows;
  int lanes;
};
constexpr Layout layouts[] = {
    {RowLayout::by_pattern, 0}, {RowLayout::rows, 0}, {RowLayout::slices, 1}, {RowLayout::slices, 4}};

TEST_ON_EVERY_SETTING(CsrMatrixTest, AgreesWithADenseProduct) {
  test::Random random(7);
  for (const int n : {1, 2, 5, 64, 301})
    // Kernels for rows of different lengths.
    for (const double per_row : {0.5, 3.0, 6.0, 12.0, 24.0, 60.0}) {
      SCOPED_TRACE(testing::Message() << n << " rows, " << per_row << " entries a row");
      const auto rows = test::random_rows(random, n, per_row);
      const auto dense = test::dense(rows);
      const auto count = static_cast<std::size_t>(n);
      const auto x = random.values(count), b = random.values(count);
      const auto dx = test::to_device<T>(this->ctx(), test::flat(n), x);
      const auto expected = multiply(dense, x);
      for (const auto& layout : layouts) {
        const CsrMatrix<T> a(this->ctx(), rows, layout.rows, layout.lanes);
        EXPECT_EQ(a.entries(), rows.entries());
        EXPECT_EQ(a.view().start == nullptr, a.slices() != nullptr);
        auto db = test::to_device<T>(this->ctx(), test::flat(n), b);
        Field<T> y(this->ctx(), n);
        a.apply(this->ctx(), dx.cview(), y.view());
        const auto product = test::to_host(this->ctx(), y);
        for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(product[i], expected[i], test::tolerance<T>);
        a.residual(this->ctx(), db.cview(), dx.cview(), db.view());  // in place
        const auto residual = test::to_host(this->ctx(), db);
        for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(residual[i], b[i] - expected[i], test::tolerance<T>);
        EXPECT_TRUE(test::halo_is_zero(this->ctx(), y));
      }
    }
}

TEST_ON_EVERY_SETTING(CsrMatrixTest, ManyRowsAreSharedAmongThreads) {
  constexpr int n = 50001;
  std::vector<SparseEntry> entries;
  for (int i = 0; i < n; ++i) {
    entries.push_back({i, i, 2});
    entries.push_back({i, (i + 17) % n, 1.0 / (1 + i % 3)});
  }
  const CsrMatrix<T> a(this->ctx(), sparse_rows(n, n, entries));
  test::Random random(3);
  const auto x = random.values(n);
  const auto dx = test::to_device<T>(this->ctx(), test::flat(n), x);
  Field<T> y(this->ctx(), n);
  a.apply(this->ctx(), dx.cview(), y.view());
  const auto product = test::to_host(this->ctx(), y);
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_NEAR(product[i], 2 * x[i] + x[(i + 17) % n] / static_cast<double>(1 + i % 3), test::tolerance<T>);
}

TEST_ON_EVERY_SETTING(CsrMatrixTest, MagnitudeIsTheSizeOfItsTerms) {
  // 1e3 - 1e3 = 0: the terms count, not their sum.
  const auto rows = sparse_rows(2, 2, {{0, 0, 1e3}, {0, 1, -1e3}, {1, 1, 1}});
  const auto x = test::to_device<T>(this->ctx(), test::flat(2), {1, 1});
  const auto b = test::to_device<T>(this->ctx(), test::flat(2), {-10, 20});
  for (const auto& layout : layouts) {
    const CsrMatrix<T> a(this->ctx(), rows, layout.rows, layout.lanes);
    EXPECT_NEAR(a.magnitude(this->ctx(), b.cview(), x.cview()), std::hypot(2e3 + 10, 1.0 + 20), 1e-3);
  }
}

TEST_ON_EVERY_SETTING(CsrMatrixTest, VectorsOfAnotherShapeAreRefused) {
  const CsrMatrix<T> a(this->ctx(), sparse_rows(4, 4, {{0, 0, 1}}));
  Field<T> x(this->ctx(), 4), longer(this->ctx(), 5), grid(this->ctx(), GridLayout<2>{2, 2});
  EXPECT_THROW(a.apply(this->ctx(), longer.cview(), x.view()), UsageError);
  EXPECT_THROW(a.apply(this->ctx(), x.cview(), grid.view()), UsageError);
  EXPECT_THROW(a.residual(this->ctx(), longer.cview(), x.cview(), x.view()), UsageError);
}

TEST(SparseRowsTest, EntriesInAnyOrderAreSortedAndAdded) {
  const auto a = sparse_rows(3, 4, {{2, 1, 5}, {0, 3, 1}, {0, 0, 2}, {2, 1, 0.5}, {0, 3, 1}});
  a.validate();
  EXPECT_EQ(a.start, (std::vector<int>{0, 2, 2, 3}));
  EXPECT_EQ(a.column, (std::vector<int>{0, 3, 1}));
  EXPECT_EQ(a.value, (Values{2, 2, 5.5}));
  EXPECT_EQ(a.at(0, 3), 2);
  EXPECT_EQ(a.at(1, 1), 0);
  EXPECT_THROW((void)sparse_rows(3, 3, {{0, 3, 1}}), UsageError);
  EXPECT_THROW((void)sparse_rows(3, 3, {{-1, 0, 1}}), UsageError);
}

TEST(SparseRowsTest, SymmetryIsOfValuesAndPattern) {
  EXPECT_TRUE(sparse_rows(2, 2, {{0, 1, 3}, {1, 0, 3}, {0, 0, 1}}).is_symmetric());
  EXPECT_FALSE(sparse_rows(2, 2, {{0, 1, 3}, {1, 0, 3.1}}).is_symmetric());
  EXPECT_FALSE(sparse_rows(2, 2, {{0, 1, 3}}).is_symmetric());
  EXPECT_FALSE(sparse_rows(2, 3, {}).is_symmetric());
  // A row that imposes a boundary value by a penalty makes no other symmetric.
  EXPECT_FALSE(sparse_rows(3, 3, {{0, 0, 1e30}, {1, 1, 2}, {2, 2, 2}, {1, 2, -1.9}, {2, 1, -0.1}}).is_symmetric());
  EXPECT_TRUE(sparse_rows(3, 3, {{0, 0, 1e30}, {1, 1, 2}, {2, 2, 2}, {1, 2, -1}, {2, 1, -1}}).is_symmetric());
}

TEST(SparseRowsTest, WhatIsNoPatternIsRefusedByName) {
  const auto valid = sparse_rows(3, 3, {{0, 0, 1}, {1, 0, 1}, {1, 2, 1}, {2, 2, 1}});
  const auto refused = [&](const auto& spoil) {
    auto a = valid;
    spoil(a);
    Context ctx;
    return test::error_text<UsageError>([&] { (void)CsrMatrix<double>(ctx, a); });
  };
  EXPECT_THAT(refused([](SparseRows& a) { a.column[2] = 3; }), HasSubstr("row 1"));
  EXPECT_THAT(refused([](SparseRows& a) { a.column[1] = -1; }), HasSubstr("row 1"));
  EXPECT_THAT(refused([](SparseRows& a) { std::swap(a.column[1], a.column[2]); }), HasSubstr("increase"));
  EXPECT_THAT(refused([](SparseRows& a) { a.start[1] = 4; }), HasSubstr("number 2"));
  EXPECT_THAT(refused([](SparseRows& a) { a.start.pop_back(); }), HasSubstr("row starts"));
  EXPECT_THAT(refused([](SparseRows& a) { a.start.back() = 9; }), HasSubstr("9"));
  EXPECT_THAT(refused([](SparseRows& a) { a.value.pop_back(); }), HasSubstr("values"));
  EXPECT_THAT(refused([](SparseRows& a) { a.columns = 4; }), HasSubstr("square"));
  Context ctx;
  EXPECT_THAT(test::error_text<UsageError>([&] {
                (void)CsrMatrix<float>(ctx, sparse_rows(1, 1, {{0, 0, 1e60}}));
              }),
              HasSubstr("double"));
}

TEST(SparseRowsTest, OfAGridOperatorAreTheSameOperator) {
  Context ctx(Backend::cpu, test::cpu_threads);
  test::Random random(5);
  for (const auto& [nx, ny] : {std::pair{1, 1}, {1, 6}, {5, 1}, {7, 4}})
    for (const auto format : test::every_storage_format) {
      const auto [oracle, a] = test::random_operator<double>(ctx, random, nx, ny, format);
      const auto rows = sparse_rows(ctx, a);
      const CsrMatrix<double> csr(ctx, rows);
      const int n = nx * ny;
      const auto x = random.values(static_cast<std::size_t>(n));
      Field<double> y(ctx, n);
      csr.apply(ctx, test::to_device<double>(ctx, test::flat(n), x).cview(), y.view());
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, y), reference::apply(oracle, x)), 1e-13);
    }
}

TEST(SparseRowsTest, BecomeTheGridOperatorTheyCameFrom) {
  Context ctx(Backend::cpu, test::cpu_threads);
  test::Random random(6);
  for (const auto& [nx, ny] : {std::pair{1, 1}, {1, 6}, {5, 1}, {2, 9}, {7, 4}})
    for (const auto format : {StorageFormat::symmetric, StorageFormat::nine_band}) {
      const auto [oracle, a] = test::random_operator<double>(ctx, random, nx, ny, format);
      const auto rows = sparse_rows(ctx, a);
      const auto back = grid_operator(ctx, rows, a.shape());
      if (nx * ny > 1) {
        EXPECT_EQ(back.format(), format);
      }
      const auto again = sparse_rows(ctx, back);
      EXPECT_EQ(again.start, rows.start);
      EXPECT_EQ(again.column, rows.column);
      EXPECT_EQ(again.value, rows.value);
    }
}

TEST(SparseRowsTest, EntriesBetweenNodesThatAreNoNeighboursAreRefused) {
  Context ctx;
  // The last node of a row and the first of the next.
  const auto rows = sparse_rows(6, 6, {{2, 3, 1}});
  EXPECT_THAT(test::error_text<UsageError>([&] { (void)grid_operator(ctx, rows, test::unknowns(3, 2)); }),
              HasSubstr("(2, 3)"));
  EXPECT_NO_THROW((void)grid_operator(ctx, rows, test::unknowns(6, 1)));
  EXPECT_THROW((void)grid_operator(ctx, rows, test::unknowns(3, 3)), UsageError);
}

}  // namespace
