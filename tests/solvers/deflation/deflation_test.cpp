#include <stratum/solvers/deflation/deflation.hpp>

#include <gmock/gmock.h>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;

class DeflationTest : public test::OnEveryBackend {
 protected:
  test::Random random_{51};
  /// Z as dense columns.
  static std::vector<Values> columns(const DeflationVectors& v) {
    std::vector<Values> z(std::size_t(v.count()), Values(std::size_t(v.z.columns), 0.0));
    for (std::size_t d = 0; d < z.size(); ++d)
      for (int k = v.z.start[d]; k < v.z.start[d + 1]; ++k)
        z[d][std::size_t(v.z.column[std::size_t(k)])] = v.z.value[std::size_t(k)];
    return z;
  }
  static double product(const Values& x, const Values& y) {
    double sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * y[k];
    return sum;
  }
  DeflationVectors overlapping(int nodes, int count) {
    DeflationVectors v;
    v.z.rows = count;
    v.z.columns = nodes;
    for (int d = 0; d < count; ++d) {
      for (int k = 0; k < nodes; ++k)
        if (random_.uniform(0, 1) < 0.4 || k == d) {
          v.z.column.push_back(k);
          v.z.value.push_back(random_.uniform(-1, 1));
        }
      v.z.start.push_back(int(v.z.column.size()));
    }
    return v;
  }
};

TEST_P(DeflationTest, ProductsAreThoseOfDenseMatrices) {
  const GridLayout<2> shape = test::unknowns(31, 43);
  const int n = int(shape.nodes());
  const auto a = test::random_m_matrix(random_, n, 4);
  const auto dense = test::dense(a);
  for (const auto& vectors :
       {overlapping(n, 9), vectors_of_domains(square_blocks(shape, 7)), vectors_of_domains(stripes(shape, 2)),
        vectors_of_domains(connected_parts(shape, std::vector<char>(std::size_t(n), 1), true))}) {
    const Deflation deflation(ctx(), a, shape, vectors);
    const auto z = columns(vectors);
    const int m = vectors.count();
    SCOPED_TRACE(m);
    std::vector<Values> az;
    for (const auto& column : z) az.push_back(reference::multiply(dense, column));
    const Values x = random_.values(std::size_t(n)), c = random_.values(std::size_t(m));
    const auto on_device = test::to_device<double>(ctx(), shape, x),
               coarse = test::to_device<double>(ctx(), GridLayout<2>::flat(m), c);
    Field<double> d(ctx(), m), e(ctx(), m), y = test::to_device<double>(ctx(), shape, x);
    const auto before = ctx().memory()->allocations.load();
    deflation.restrict_to(ctx(), on_device.cview(), d.view());
    const Values ztx = test::to_host(ctx(), d);
    deflation.subtract_products(ctx(), on_device.cview(), d.view());
    const Values difference = test::to_host(ctx(), d);
    deflation.solve(ctx(), coarse.cview(), e.view());
    deflation.add(ctx(), coarse.cview(), y.view());
    const Values sum = test::to_host(ctx(), y);
    deflation.add_image(ctx(), -2, coarse.cview(), y.view());
    const Values image = test::to_host(ctx(), y);
    EXPECT_EQ(ctx().memory()->allocations, before);
    for (std::size_t k = 0; k < std::size_t(m); ++k) {
      EXPECT_NEAR(ztx[k], product(z[k], x), 1e-11);
      EXPECT_NEAR(difference[k], product(z[k], x) - product(az[k], x), 1e-10);
    }
    Values expected = x, expected_image = x;
    for (std::size_t i = 0; i < std::size_t(n); ++i)
      for (std::size_t k = 0; k < std::size_t(m); ++k) {
        expected[i] += z[k][i] * c[k];
        expected_image[i] += z[k][i] * c[k] - 2 * az[k][i] * c[k];
      }
    EXPECT_LT(reference::relative_difference(sum, expected), 1e-13);
    EXPECT_LT(reference::relative_difference(image, expected_image), 1e-12);
    // E times the solution.
    const Values solution = test::to_host(ctx(), e);
    for (std::size_t k = 0; k < std::size_t(m); ++k) {
      double again = 0;
      for (std::size_t l = 0; l < std::size_t(m); ++l) again += product(z[k], az[l]) * solution[l];
      EXPECT_NEAR(again, c[k], 1e-9);
    }
    // In place.
    deflation.solve(ctx(), coarse.cview(), d.view());
    Field<double> same = test::to_device<double>(ctx(), GridLayout<2>::flat(m), c);
    deflation.solve(ctx(), same.cview(), same.view());
    EXPECT_EQ(test::to_host(ctx(), same), test::to_host(ctx(), d));
  }
}

TEST_P(DeflationTest, MeansMoveWithoutChangingTheSum) {
  const GridLayout<2> shape = test::unknowns(23, 9);
  const auto a = test::random_m_matrix(random_, int(shape.nodes()), 3);
  auto domain = square_blocks(shape, 3);
  for (std::size_t k = 0; k < domain.size(); ++k)
    if (domain[k] == 4) domain[k] = -1;
  const auto vectors = vectors_of_domains(domain);
  const Deflation deflation(ctx(), a, shape, vectors);
  ASSERT_TRUE(deflation.has_cores());
  auto x = test::random_vector<double>(ctx(), random_, shape),
       whole = test::to_device<double>(ctx(), shape, test::to_host(ctx(), x));
  auto c = test::random_vector<double>(ctx(), random_, GridLayout<2>::flat(vectors.count()));
  deflation.add(ctx(), c.cview(), whole.view());
  deflation.move_means(ctx(), x.view(), c.view());
  const Values left = test::to_host(ctx(), x);
  for (const auto& column : columns(vectors)) EXPECT_NEAR(product(column, left), 0, 1e-12);
  deflation.add(ctx(), c.cview(), x.view());
  EXPECT_LT(reference::relative_difference(test::to_host(ctx(), x), test::to_host(ctx(), whole)), 1e-14);
}

// Rows that sum to zero but for rounding, a vector that is one everywhere: its image is zero, not rounding.
TEST_P(DeflationTest, TheImageOfAConstantHasNoRounding) {
  const GridLayout<2> shape = test::unknowns(12, 12);
  std::vector<SparseEntry> entries;
  Values diagonal(144, 0.0);
  for (int k = 0; k + 1 < 144; ++k) {
    const double link = random_.uniform(0.1, 1);
    entries.push_back({k, k + 1, -link});
    entries.push_back({k + 1, k, -link});
    diagonal[std::size_t(k)] += link;
    diagonal[std::size_t(k) + 1] += link;
  }
  for (int k = 0; k < 144; ++k) entries.push_back({k, k, diagonal[std::size_t(k)]});
  const Deflation deflation(ctx(), sparse_rows(144, 144, entries), shape, vectors_of_domains(square_blocks(shape, 4)));
  EXPECT_TRUE(deflation.covers());
  EXPECT_TRUE(deflation.factor().is_accurate());
  EXPECT_EQ(deflation.factor().dropped(), 1);
  Field<double> c(ctx(), deflation.count()), r(ctx(), shape);
  set(ctx(), 1e15, c.view());
  deflation.add_image(ctx(), 1, c.cview(), r.view());
  EXPECT_EQ(norm_max(ctx(), r.cview()), 0);
}

TEST_P(DeflationTest, RefusesWhatDoesNotFit) {
  const GridLayout<2> shape = test::unknowns(4, 3);
  const auto a = test::random_m_matrix(random_, 12, 2);
  EXPECT_THROW(Deflation(ctx(), a, test::unknowns(4, 4), vectors_of_domains(stripes(shape, 2))), UsageError);
  EXPECT_THROW(Deflation(ctx(), a, shape, vectors_of_domains(stripes({4, 4}, 2))), UsageError);
  DeflationVectors empty;
  empty.z = {1, 12, {0, 0}, {}, {}};
  EXPECT_THAT(test::error_text<UsageError>([&] { Deflation(ctx(), a, shape, empty); }), testing::HasSubstr("is zero"));
}

INSTANTIATE_ON_EVERY_BACKEND(DeflationTest);

}  // namespace
