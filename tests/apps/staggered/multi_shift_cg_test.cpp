#include <stratum/staggered/multi_shift_cg.hpp>

#include <cmath>

#include <stratum/solvers/krylov/cg.hpp>

#include "support/stretched_laplace.hpp"

namespace {

using namespace stratum;
using test::Counting;

class MultiShiftTest : public test::StretchedLaplace {};
INSTANTIATE_ON_EVERY_BACKEND(MultiShiftTest);

TEST_P(MultiShiftTest, EveryShiftIsSolvedAndTheSmallestLast) {
  const auto a = laplace<double>();
  const auto b = rhs(a.shape());
  const std::vector<double> shifts{0.3, 0.0, 3.0};
  std::vector<Field<double>> x;
  std::vector<FieldView<double>> views;
  for (std::size_t k = 0; k < shifts.size(); ++k) x.emplace_back(ctx(), a.shape());
  for (auto& v : x) {
    set(ctx(), std::nan(""), v.view());
    views.push_back(v.view());
  }
  const Counting<double> counting(a);
  MultiShiftCg<double> solver(ctx(), a.shape(), 3);
  const auto reports = solver.solve(ctx(), counting, shifts, b.cview(), views, to(1e-9));
  ASSERT_EQ(reports.size(), 3);
  for (std::size_t k = 0; k < 3; ++k) {
    const ShiftedOperator<double> shifted(a, shifts[k]);
    EXPECT_EQ(reports[k].status, Status::converged) << reports[k].reason;
    EXPECT_DOUBLE_EQ(reports[k].residual, true_residual(shifted, b, x[k]));
    EXPECT_LE(reports[k].residual, 1e-9 * norm2(ctx(), b.cview()));
    Field<double> alone(ctx(), a.shape());
    const auto report =
        ConjugateGradients<double>(ctx(), a.shape()).solve(ctx(), shifted, nullptr, b.cview(), alone.view(), to(1e-9));
    EXPECT_NEAR(reports[k].iterations, report.iterations, 2) << "the same Krylov space";
    axpy<double, double>(ctx(), -1, x[k].cview(), alone.view());
    EXPECT_LT(norm2(ctx(), alone.cview()), 1e-6 * norm2(ctx(), x[k].cview()));
  }
  EXPECT_LT(reports[2].iterations, reports[0].iterations);
  EXPECT_LT(reports[0].iterations, reports[1].iterations);
  EXPECT_LE(counting.products, reports[1].iterations + 8) << "one product an iteration for all";
  EXPECT_EQ(reports[1].history.size(), static_cast<std::size_t>(reports[1].iterations) + 1);
}

TEST_P(MultiShiftTest, StepsInFloatEndAtTheTrueResidualOfEveryShift) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  const auto b = rhs(a.shape());
  const std::vector<double> shifts{0.3, 0.0, 3.0};
  std::vector<Field<double>> x;
  std::vector<FieldView<double>> views;
  for (std::size_t k = 0; k < shifts.size(); ++k) x.emplace_back(ctx(), a.shape());
  for (auto& v : x) {
    set(ctx(), std::nan(""), v.view());
    views.push_back(v.view());
  }
  const Counting<double> outer(a);
  const Counting<float> inner(f);
  MixedMultiShiftCg solver(ctx(), a.shape(), 3);
  const auto reports = solver.solve(ctx(), outer, inner, shifts, b.cview(), views, to(1e-10));
  ASSERT_EQ(reports.size(), 3);
  int alone = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const ShiftedOperator<double> shifted(a, shifts[k]);
    EXPECT_EQ(reports[k].status, Status::converged) << reports[k].reason;
    EXPECT_DOUBLE_EQ(reports[k].residual, true_residual(shifted, b, x[k]));
    EXPECT_LE(reports[k].residual, 1e-10 * norm2(ctx(), b.cview()));
    Field<double> single(ctx(), a.shape());
    alone += ReliableCg(ctx(), a.shape())
                 .solve(ctx(), shifted, ShiftedOperator<float>(f, shifts[k]), b.cview(), single.view(), to(1e-10))
                 .iterations;
    axpy<double, double>(ctx(), -1, x[k].cview(), single.view());
    EXPECT_LT(norm2(ctx(), single.cview()), 1e-7 * norm2(ctx(), x[k].cview()));
  }
  EXPECT_LT(inner.products, alone) << "one product an iteration for all, then what float has left to do";
  EXPECT_LT(outer.products, 60);
  EXPECT_EQ(reports[1].history.size(), static_cast<std::size_t>(reports[1].iterations) + 1);
}

TEST_P(MultiShiftTest, RefusesWhatItIsNotMadeFor) {
  const auto a = laplace<double>();
  const auto b = rhs(a.shape());
  Field<double> x(ctx(), a.shape());
  MultiShiftCg<double> solver(ctx(), a.shape(), 1);
  EXPECT_THROW(solver.solve(ctx(), a, {-1.0}, b.cview(), {x.view()}), UsageError);
  EXPECT_THROW(solver.solve(ctx(), a, {0.0, 1.0}, b.cview(), {x.view()}), UsageError);
  EXPECT_THROW(MultiShiftCg<double>(ctx(), a.shape(), 0), UsageError);
  EXPECT_THROW(MixedMultiShiftCg(ctx(), a.shape(), 0), UsageError);
  EXPECT_THROW(MixedMultiShiftCg(ctx(), a.shape(), 1, {.replace_residual = false}), UsageError);
}

}  // namespace
