#include <stratum/solvers/rounding.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <stratum/solvers/solver.hpp>

#include "support/backends.hpp"
#include "support/cell_coefficients.hpp"
#include "support/preconditioners.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class T>
class RoundingTest : public test::OnEverySetting<T> {
 protected:
  test::Random random_{431};
};

TEST_ON_EVERY_SETTING(RoundingTest, TheMagnitudeOfEveryForm) {
  for (const auto format : test::every_storage_format) {
    const auto [oracle, a] = test::random_operator<T>(this->ctx(), this->random_, 17, 9, format);
    const Values x = this->random_.values(153), b = this->random_.values(153);
    double square = 0;
    for (int j = 0; j < 9; ++j)
      for (int i = 0; i < 17; ++i) {
        double sum = std::abs(b[oracle.index(i, j)]);
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx)
            if (oracle.inside(i + dx, j + dy))
              sum += std::abs(oracle.coefficient(dx, dy, i, j) * x[oracle.index(i + dx, j + dy)]);
        square += sum * sum;
      }
    const auto on_device = [&](const Values& v) { return test::to_device<T>(this->ctx(), a.shape(), v); };
    const double magnitude = a.magnitude(this->ctx(), on_device(b).cview(), on_device(x).cview());
    EXPECT_NEAR(magnitude / std::sqrt(square), 1, test::tolerance<T>) << to_string(format);
  }
}

TEST_ON_EVERY_SETTING(RoundingTest, IsReachedAtRoundingAndNotAboveIt) {
  auto& ctx = this->ctx();
  const auto [oracle, a] = test::random_operator<T>(ctx, this->random_, 15, 15, StorageFormat::symmetric);
  const auto b = test::random_vector<T>(ctx, this->random_, a.shape());
  auto x = test::to_device<T>(ctx, a.shape(), reference::solve(oracle, test::to_host(ctx, b)));
  Field<T> r(ctx, a.shape());
  a.residual(ctx, b.cview(), x.cview(), r.view());
  Rounding<T> rounding(ctx, a, b.cview(), x.cview(), norm2(ctx, b.cview()));
  EXPECT_TRUE(rounding.reached(norm2(ctx, r.cview()), r.cview()));
  EXPECT_FALSE(rounding.reached(1e-2 * norm2(ctx, b.cview()), r.cview()));
  EXPECT_FALSE(rounding.reached(std::nan(""), r.cview()));
}

TEST_ON_EVERY_SETTING(RoundingTest, IsNoExcuseForAnIterateThatBlewUp) {
  auto& ctx = this->ctx();
  const auto [oracle, a] = test::random_operator<T>(ctx, this->random_, 15, 15, StorageFormat::symmetric);
  const auto b = test::random_vector<T>(ctx, this->random_, a.shape());
  Values huge = this->random_.values(225);
  for (double& v : huge) v *= 1e10;
  const auto x = test::to_device<T>(ctx, a.shape(), huge);
  Field<T> r(ctx, a.shape());
  a.residual(ctx, b.cview(), x.cview(), r.view());
  Rounding<T> rounding(ctx, a, b.cview(), x.cview(), norm2(ctx, b.cview()));
  // However much is allowed.
  EXPECT_FALSE(rounding.reached(norm2(ctx, r.cview()), r.cview(), 1e300));
}

class PlateauTest : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(PlateauTest);

TEST_P(PlateauTest, KrylovMethodsRestOnPlateausAndGoOn) {
  // Discs of a thousandfold coefficient, diagonally preconditioned: no better residual for dozens of iterations.
  constexpr int n = 63;
  test::Random random(433);
  std::vector<std::array<double, 3>> discs;
  for (int k = 0; k < 20; ++k) discs.push_back({random.uniform(0, n), random.uniform(0, n), random.uniform(2, 4)});
  const auto oracle = test::variable_laplace(n, n, [&](int i, int j) {
    for (const auto& [x, y, radius] : discs)
      if (std::hypot(i - x, j - y) < radius) return 1e4;
    return 1.0;
  });
  const auto a = test::symmetric_operator<double>(ctx(), oracle);
  const auto b = test::to_device<double>(ctx(), a.shape(), Values(n * n, 1.0));
  test::Smoothing<double> jacobi(ctx(), a, "jacobi", 1.0);
  StoppingParams stop;
  stop.max_iterations = 3000;
  for (const char* method : {"cg", "fcg", "cr"}) {
    Field<double> x(ctx(), a.shape());
    const auto report =
        make_solver<double>(ctx(), method, a.shape())->solve(ctx(), a, &jacobi, b.cview(), x.view(), stop);
    EXPECT_EQ(report.status, Status::converged) << method << ": " << report.reason;
  }
  // Patience is heeded where it is asked for.
  stop.patience = 10;
  Field<double> x(ctx(), a.shape());
  const auto report = make_solver<double>(ctx(), "cg", a.shape())->solve(ctx(), a, &jacobi, b.cview(), x.view(), stop);
  EXPECT_EQ(report.status, Status::stagnated) << report.reason;
}

}  // namespace
