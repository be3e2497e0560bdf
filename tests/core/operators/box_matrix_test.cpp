// Rows of K by cells and of 14 bands in a box (core/operators/box_matrix.hpp) against a matrix that is assembled by itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/box_problems.hpp"

namespace {

using namespace stratum;
using test::BoxProblem;
using test::DenseMatrix;
using test::Random;

/// Largest error of a row by what rounding may leave of it.
double error_of_product(const DenseMatrix& a, const std::vector<double>& u, const std::vector<double>& au) {
  double largest = 0;
  for (std::size_t i = 0; i < a.rows(); ++i) {
    long double sum = 0, size = 0;
    for (std::size_t j = 0; j < a.rows(); ++j) sum += a(i, j) * u[j], size += std::abs(a(i, j) * u[j]);
    largest = std::max(largest, static_cast<double>(std::abs(sum - au[i]) / size));
  }
  return largest;
}

template <class T>
void expect_products(Context& ctx, const DenseMatrix& dense, const BoxMatrix<T>& a, const std::vector<double>& u,
                     double tolerance) {
  const BoxShape& shape = a.shape();
  const auto x = test::box_field<T>(ctx, shape, u);
  Field<T, 3> y(ctx, shape.layout(0));
  a.apply(ctx, x.cview(), y.view());
  EXPECT_LT(error_of_product(dense, u, test::numbers_of<T>(ctx, y.cview())), tolerance);
  // b - A u, with b = 3 u.
  std::vector<double> three(u);
  for (double& v : three) v *= 3;
  const auto b = test::box_field<T>(ctx, shape, three, 0);
  a.residual(ctx, b.cview(), x.cview(), y.view());
  DenseMatrix difference = dense;
  for (std::size_t i = 0; i < dense.rows(); ++i)
    for (std::size_t j = 0; j < dense.rows(); ++j) difference(i, j) = (i == j ? 3 : 0) - dense(i, j);
  EXPECT_LT(error_of_product(difference, u, test::numbers_of<T>(ctx, y.cview())), 4 * tolerance);
  long double squares = 0;
  for (std::size_t i = 0; i < dense.rows(); ++i) {
    long double row = std::abs(three[i]);
    for (std::size_t j = 0; j < dense.rows(); ++j) row += std::abs(dense(i, j) * u[j]);
    squares += row * row;
  }
  // Differences count both their ends, so that it may be larger than |A| |u|.
  const double size = a.magnitude(ctx, b.cview(), x.cview()), exact = static_cast<double>(std::sqrt(squares));
  EXPECT_GT(size, 0.99 * exact);
  EXPECT_LT(size, 8 * exact);
  const double error = a.backward_error(ctx, b.cview(), x.cview(), 0);
  EXPECT_GT(error, 0);
  EXPECT_LE(error, 1.01);
}

TEST(BoxMatrix, AgreesWithAnAssemblyOfItsOwn) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(7);
    for (int number = 0; number < 40; ++number) {
      const BoxProblem p = test::random_box(random, number);
      SCOPED_TRACE(testing::Message() << number << ": " << p.ends[0] << ' ' << p.ends[1] << ' ' << p.ends[2]);
      const DenseMatrix dense = test::assembled(p);
      const auto u = random.values(dense.rows());
      const BoxCoefficients c = p.coefficients();
      const BoxMatrix<double> cells(BoxCells<double>(ctx, c, p.scalar()));
      const BoxMatrix<double> bands(bands_of(ctx, cells));
      expect_products<double>(ctx, dense, cells, u, 1e-14);
      expect_products<double>(ctx, dense, bands, u, 1e-14);
      expect_products<float>(ctx, dense, BoxMatrix<float>(ctx, cells), u, 4e-6);
      expect_products<float>(ctx, dense, BoxMatrix<float>(ctx, bands), u, 4e-6);
    }
  }
}

TEST(BoxMatrix, LeavesNothingOfConstantsBetweenNaturalBoundaries) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    BoxProblem p = BoxProblem::named("gba", {8, 8, 8}, "NN");
    p.ends[1] = "PP";
    p.k = test::CellK::lognormal(p, 3);
    const BoxMatrix<double> cells(BoxCells<double>(ctx, p.coefficients(), true));
    const std::vector<double> ones(static_cast<std::size_t>(cells.shape().n.nodes()), 1e8);
    const auto u = test::box_field<double>(ctx, cells.shape(), ones);
    Field<double, 3> y(ctx, cells.shape().layout(0));
    for (const BoxMatrix<double>& a : {cells, BoxMatrix<double>(bands_of(ctx, cells))}) {
      a.apply(ctx, u.cview(), y.view());
      EXPECT_EQ(norm_max(ctx, y.cview()), 0);
    }
  }
}

}  // namespace
