// The oracles against each other and against results known on paper: they must not agree with the library by sharing a
// mistake.

#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include "support/random.hpp"

namespace {

using reference::Values;

TEST(Reference, LaplaceOnSquaresIsTheNinePointStencil) {
  const auto a = reference::laplace({1, 1, 1, 1}, {1, 1, 1, 1});
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      EXPECT_NEAR(a.coefficient(dx, dy, 1, 1), dx == 0 && dy == 0 ? 8.0 / 3 : -1.0 / 3, 1e-15);
}

TEST(Reference, SolveInvertsApply) {
  test::Random random(1);
  for (const auto& [nx, ny] : test::small_shapes) {
    const auto a = reference::laplace(random.widths(nx + 1), random.widths(ny + 1));
    const Values x = random.values(a.size());
    EXPECT_LT(reference::relative_difference(reference::solve(a, reference::apply(a, x)), x), 1e-10) << nx << "x" << ny;
  }
}

TEST(Reference, ALineAloneIsSolvedByItsLineSmoother) {
  test::Random random(2);
  const auto row = reference::laplace(random.widths(12), random.widths(2));
  const Values b = random.values(row.size());
  Values x = random.values(row.size());
  reference::line_x(row, b, x, reference::Lines::zebra, 1, false);
  EXPECT_LT(reference::relative_difference(x, reference::solve(row, b)), 1e-12);
  const auto column = reference::laplace(random.widths(2), random.widths(12));
  Values y = random.values(column.size());
  reference::line_y(column, b, y, reference::Lines::zebra, 1, true);
  EXPECT_LT(reference::relative_difference(y, reference::solve(column, b)), 1e-12);
}

TEST(Reference, ProlongationReproducesBilinearFunctions) {
  test::Random random(3);
  const Values hx = random.widths(12), hy = random.widths(8);
  // u = x y vanishes on two sides only, so nodes beside the other two are left out.
  const auto product = [](const Values& ax, const Values& ay) {
    Values u;
    double y = 0;
    for (std::size_t j = 0; j + 1 < ay.size(); ++j) {
      y += ay[j];
      double x = 0;
      for (std::size_t i = 0; i + 1 < ax.size(); ++i) u.push_back((x += ax[i]) * y);
    }
    return u;
  };
  const Values fine = product(hx, hy);
  const Values interpolated = reference::prolongate(hx, hy, product(reference::coarser(hx), reference::coarser(hy)));
  for (std::size_t j = 0; j < 6; ++j)
    for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(interpolated[j * 11 + i], fine[j * 11 + i], 1e-14);
}

TEST(Reference, CycleConvergesOnAStretchedMesh) {
  test::Random random(4);
  const Values hx = random.widths(16), hy = random.widths(16);
  const auto a = reference::laplace(hx, hy);
  const Values b = random.values(a.size());
  Values x(a.size(), 0.0);
  for (int k = 0; k < 8; ++k) reference::cycle({}, hx, hy, b, x);
  EXPECT_LT(reference::norm(reference::residual(a, b, x)), 1e-6 * reference::norm(b));
}

}  // namespace
