// The oracles against each other and against results known on paper: they must not agree with the library by sharing a
// mistake.

#include "reference.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "krylov.hpp"
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

TEST(Reference, KrylovMethodsEndWithTheSolution) {
  test::Random random(3);
  const auto stencil = random.stencil(3, 3, true);
  const reference::Dense a(stencil);
  reference::Dense m(9);
  for (std::size_t i = 0; i < 9; ++i) m(i, i) = 1 / a(i, i);
  const Values b = random.values(9), x = reference::solve(stencil, b);
  EXPECT_LT(reference::relative_difference(reference::solve(a, b), x), 1e-12) << "with and without pivots";
  EXPECT_LT(reference::relative_difference(reference::multiply(a, x), b), 1e-12);
  for (const auto& iterates :
       {reference::conjugate_gradients(a, m, b, 9), reference::smallest_residuals(a, m, b, 9, false),
        reference::smallest_residuals(a, m, b, 9, true), reference::bicgstab(a, m, b, 9),
        reference::richardson(a, m, b, 400)})
    EXPECT_LT(reference::relative_difference(iterates.back(), x), 1e-6);
}

TEST(Reference, ResidualsOfCgFollowFromTheSmallestOnes) {
  // The residual norms of MINRES and CG: 1 / rho_cg^2 = 1 / rho_mr^2 (k) - 1 / rho_mr^2 (k - 1) (Brown 1991).
  test::Random random(4);
  const reference::Dense a(random.stencil(4, 3, true));
  reference::Dense identity(a.n);
  for (std::size_t i = 0; i < a.n; ++i) identity(i, i) = 1;
  const Values b = random.values(a.n);
  const auto residual = [&](const Values& x) {
    Values r = reference::multiply(a, x);
    for (std::size_t k = 0; k < r.size(); ++k) r[k] = b[k] - r[k];
    return reference::norm(r);
  };
  const auto cg = reference::conjugate_gradients(a, identity, b, 5),
             mr = reference::smallest_residuals(a, identity, b, 5, false);
  double before = reference::norm(b);
  for (std::size_t k = 0; k < 5; ++k) {
    const double now = residual(mr[k]);
    EXPECT_NEAR(residual(cg[k]) * std::sqrt(1 / (now * now) - 1 / (before * before)), 1, 1e-8) << k;
    before = now;
  }
}

}  // namespace
