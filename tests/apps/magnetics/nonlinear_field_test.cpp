#include <stratum/magnetics/nonlinear_field.hpp>

#include <cmath>
#include <optional>
#include <tuple>

#include <gmock/gmock.h>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/magnetics/magnetic_field.hpp>
#include <stratum/magnetics/team20_problem.hpp>
#include <stratum/solvers/solver.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Values = std::vector<double>;
constexpr double mu0 = vacuum_permeability;

TEST(MagnetisationCurve, PassesThroughItsPointsAndIncreasesBetweenThem) {
  const auto curve = team20::steel_curve();
  EXPECT_EQ(curve.end(), 2.3);
  EXPECT_EQ(curve.field(0), 0);
  EXPECT_NEAR(curve.field(0.01), 27, 1e-9);
  EXPECT_NEAR(curve.field(1.4), 1420, 1e-9);
  EXPECT_NEAR(curve.field(2.3), 135000, 1e-6);
  for (double b = 0.001; b < 3; b += 0.001) EXPECT_GT(curve.field(b), curve.field(b - 0.001)) << b;
}

TEST(MagnetisationCurve, EndsInTheLineOfSaturation) {
  const auto curve = team20::steel_curve();
  for (const double b : {2.5, 3.0, 10.0}) {
    EXPECT_NEAR(mu0 * curve.field(b) + 2.16, b, 1e-12 * b);
    EXPECT_NEAR(curve.slope(b), 1 / mu0, 1e-6);
  }
  for (const double b : {2.3, 2.35, 2.4}) EXPECT_LT(std::abs(mu0 * curve.field(b) + 2.16 - b), 0.03) << b;
}

TEST(MagnetisationCurve, SlopesAndEnergyAreThoseOfTheField) {
  const auto curve = team20::steel_curve();
  const double step = 1e-6;
  for (const double b : {0.005, 0.02, 0.33, 0.95, 1.52, 1.96, 2.28, 2.35, 2.6}) {
    EXPECT_NEAR(curve.slope(b), (curve.field(b + step) - curve.field(b - step)) / (2 * step), 1e-6 * curve.slope(b))
        << b;
    EXPECT_NEAR((curve.energy(b + step) - curve.energy(b - step)) / (2 * step), curve.field(b), 1e-5 * curve.field(b))
        << b;
    const double s = b * b / (mu0 * mu0), ds = 1e-6 * s;
    EXPECT_NEAR(curve.reluctivity(s), mu0 * curve.field(b) / b, 1e-12);
    EXPECT_NEAR(curve.reluctivity_slope(s) * s, (curve.reluctivity(s + ds) - curve.reluctivity(s - ds)) / 2e-6,
                1e-5 * curve.reluctivity(s))
        << b;
  }
  EXPECT_EQ(curve.energy(0), 0);
  EXPECT_NEAR(curve.reluctivity(0), mu0 * 2700, 1e-9);
  EXPECT_EQ(curve.reluctivity_slope(0), 0);
}

TEST(MagnetisationCurve, RefusesTablesThatDoNotIncrease) {
  EXPECT_THAT([] { MagnetisationCurve({1, 1}, {1, 2}, 2); }, ThrowsMessage<UsageError>(HasSubstr("point 2")));
  EXPECT_THAT([] { MagnetisationCurve({1, 2}, {3, 2}, 2); }, ThrowsMessage<UsageError>(HasSubstr("increases")));
  EXPECT_THAT([] { MagnetisationCurve({1, 2}, {3, 4}, 1); }, ThrowsMessage<UsageError>(HasSubstr("M = 1 T")));
  EXPECT_THROW(MagnetisationCurve({1}, {3}, 2), UsageError);
}

/// A bar of steel in a box, and a field that saturates it in part.
class NonlinearField : public testing::TestWithParam<std::tuple<EdgeElement, NonlinearMethod>> {
 protected:
  void SetUp() override {
    Values p;
    for (int i = 0; i <= 6; ++i) p.push_back(0.01 * i);
    elements_.emplace(BoxGrid({p, p, p}), std::get<0>(GetParam()));
    for (int e = 0; e < elements_->elements(); ++e) {
      const Index3 at = elements_->grid().place(elements_->box_of(e));
      steel_.push_back(at[0] >= 2 && at[0] < 4 && at[1] >= 2 && at[1] < 4 && at[2] < 5);
    }
    b_ = elements_->load(ctx_, [](const Point3& q) -> Point3 {
      return {0, 0, std::hypot(q[0] - 0.03, q[1] - 0.03) < 0.022 ? 7e5 : 0.0};
    });
  }
  LinearSolve linear_solve() {
    return [this](const SparseRows& matrix, const Values& /*nu*/, const Values& rhs, Values& x, double rtol) {
      const auto shape = GridLayout<2>::flat(matrix.rows);
      auto unknowns = vector_from_host(ctx_, x);
      const auto report =
          make_solver<double>(ctx_, "cg", shape)
              ->solve(ctx_, CsrMatrix<double>(ctx_, matrix), nullptr, vector_from_host(ctx_, rhs).cview(),
                      unknowns.view(), {.rtol = rtol, .max_iterations = 5000});
      copy_to_host(ctx_, unknowns.cview(), x.data());
      return report;
    };
  }
  NonlinearReport solve(Values& a, NonlinearParams params = {}) {
    params.method = std::get<1>(GetParam());
    return solve_nonlinear_field(ctx_, *elements_, steel_, team20::steel_curve(), b_, a, linear_solve(), params);
  }
  [[nodiscard]] double energy(const Values& a) {
    double work = 0;
    for (std::size_t i = 0; i < a.size(); ++i) work += a[i] * b_[i];
    return field_energy(*elements_, steel_, team20::steel_curve(), elements_->mean_square_curl(ctx_, a)) - mu0 * work;
  }

  Context ctx_{Backend::cpu, 2};
  std::optional<EdgeElements> elements_;
  std::vector<bool> steel_;
  Values b_;
};
INSTANTIATE_TEST_SUITE_P(All, NonlinearField,
                         testing::Combine(testing::Values(EdgeElement::hexahedron, EdgeElement::tetrahedron),
                                          testing::Values(NonlinearMethod::newton, NonlinearMethod::anderson)),
                         [](const auto& test) {
                           return std::string(to_string(std::get<0>(test.param))) + "_" +
                                  std::string(to_string(std::get<1>(test.param)));
                         });

TEST_P(NonlinearField, IsWhereTheEnergyIsLeast) {
  Values a(b_.size());
  const auto report = solve(a);
  ASSERT_EQ(report.outer.status, Status::converged) << report.outer.reason;
  EXPECT_LE(report.outer.iterations, std::get<1>(GetParam()) == NonlinearMethod::newton ? 15 : 70);
  const auto s = elements_->mean_square_curl(ctx_, a);
  double largest = 0;
  for (std::size_t e = 0; e < s.size(); ++e)
    if (steel_[e]) largest = std::max(largest, mu0 * std::sqrt(s[e]));
  EXPECT_GT(largest, 1.6) << "not saturated: no test";
  const auto force = elements_->apply(ctx_, reluctivities(steel_, team20::steel_curve(), s), a);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < b_.size(); ++i) {
    difference += (force[i] - b_[i]) * (force[i] - b_[i]);
    norm += b_[i] * b_[i];
  }
  EXPECT_LE(std::sqrt(difference), 1e-8 * std::sqrt(norm));
  const double least = energy(a);
  EXPECT_LT(least, 0);
  test::Random random(1);
  for (int k = 0; k < 20; ++k) {
    Values other = a;
    for (double& x : other) x *= 1 + random.uniform(-0.01, 0.01);
    EXPECT_GT(energy(other), least);
  }
}

TEST_P(NonlinearField, SaysThatItDidNotConverge) {
  Values a(b_.size());
  NonlinearParams params;
  params.max_iterations = 2;
  const auto report = solve(a, params);
  EXPECT_EQ(report.outer.status, Status::max_iterations);
  EXPECT_EQ(report.outer.iterations, 2);
  EXPECT_EQ(report.outer.history.size(), 3U);
}

TEST_P(NonlinearField, EndsWithAFailedLinearSolve) {
  Values a(b_.size());
  const LinearSolve fails = [](const SparseRows&, const Values&, const Values&, Values&, double) {
    SolveReport report;
    report.status = Status::breakdown;
    report.reason = "because";
    return report;
  };
  const auto report = solve_nonlinear_field(ctx_, *elements_, steel_, team20::steel_curve(), b_, a, fails,
                                            {.method = std::get<1>(GetParam())});
  EXPECT_EQ(report.outer.status, Status::breakdown);
  EXPECT_THAT(report.outer.reason, HasSubstr("because"));
  EXPECT_THROW((void)solve(a, {.damping = 0}), UsageError);
  Values wrong(3);
  EXPECT_THROW((void)solve(wrong), UsageError);
}

}  // namespace
