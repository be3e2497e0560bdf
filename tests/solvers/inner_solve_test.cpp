#include <stratum/solvers/inner_solve.hpp>

#include <cmath>

#include <stratum/mesh/named_meshes.hpp>
#include <stratum/solvers/krylov/refinement.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

#include "support/backends.hpp"
#include "support/preconditioners.hpp"

namespace {

using namespace stratum;
using test::Values;

/// -Laplace on A1, level 5, without a preconditioner but the inner solve.
class InnerSolveTest : public test::OnEveryBackend {
 protected:
  void SetUp() override {
    OnEveryBackend::SetUp();
    if (IsSkipped()) return;
    const auto mesh = make_mesh(mesh_family("A1"), 5);
    a_ = assemble_laplace<double>(ctx(), mesh, StorageFormat::tensor);
    af_ = assemble_laplace<float>(ctx(), mesh, StorageFormat::tensor);
    test::Random random(701);
    b_ = test::random_vector<double>(ctx(), random, a_.shape());
  }
  static StoppingParams inner_stop(double rtol, int limit) {
    StoppingParams stop;
    stop.rtol = rtol;
    stop.max_iterations = limit;
    stop.patience = 50;
    return stop;
  }
  SolveReport solve(std::string_view outer, Preconditioner<double>& m, Field<double>& x) {
    StoppingParams stop;
    stop.rtol = 1e-11;
    return make_solver<double>(ctx(), outer, a_.shape())->solve(ctx(), a_, m, b_.cview(), x.view(), stop);
  }

  GridOperator<double> a_;
  GridOperator<float> af_;
  Field<double> b_;
};
INSTANTIATE_ON_EVERY_BACKEND(InnerSolveTest);

/// VPCG, VPGCR and VPGMRES, every inner method, inside in double and in float: the outer iterations are few, and
/// precision inside does not change them much.
TEST_P(InnerSolveTest, EveryMethodInsideEveryOtherOne) {
  for (const char* outer : {"fcg", "gcr", "gmres", "bicgstab", "richardson"})
    for (const char* inner : {"cg", "cr", "gmres", "bicgstab"}) {
      SCOPED_TRACE(testing::Message() << outer << " around " << inner);
      const auto stop = inner_stop(1e-2, 200);
      const std::shared_ptr<Solver<double>> solver = make_solver<double>(ctx(), inner, a_.shape());
      InnerSolve<double> m(a_, solver, nullptr, stop);
      Field<double> x(ctx(), a_.shape());
      const auto in_double = solve(outer, m, x);
      EXPECT_EQ(in_double.status, Status::converged) << in_double.reason;
      EXPECT_LE(in_double.iterations, 8);
      EXPECT_GT(in_double.inner_iterations, 5 * in_double.iterations);

      const std::shared_ptr<Solver<float>> solver_f = make_solver<float>(ctx(), inner, a_.shape());
      InnerSolve<float> m_f(af_, solver_f, nullptr, stop);
      PrecisionCast<double, float> cast(ctx(), a_.shape(), m_f);
      Field<double> y(ctx(), a_.shape());
      const auto mixed = solve(outer, cast, y);
      EXPECT_EQ(mixed.status, Status::converged) << mixed.reason;
      EXPECT_LE(std::abs(mixed.iterations - in_double.iterations), 2);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx(), y), test::to_host(ctx(), x)), 1e-8);
    }
}

TEST_P(InnerSolveTest, ToleranceAndLimitAreItsOwn) {
  const std::shared_ptr<Solver<double>> cg = make_solver<double>(ctx(), "cg", a_.shape());
  Field<double> z(ctx(), a_.shape()), r(ctx(), a_.shape());
  for (const double rtol : {1e-1, 1e-4}) {
    InnerSolve<double> m(a_, cg, nullptr, inner_stop(rtol, 1000));
    set(ctx(), std::nan(""), z.view());
    m.apply(ctx(), b_.cview(), z.view());
    a_.residual(ctx(), b_.cview(), z.cview(), r.view());
    EXPECT_LE(norm2(ctx(), r.cview()), rtol * norm2(ctx(), b_.cview()));
    EXPECT_GT(m.iterations(), 3);
  }
  InnerSolve<double> limited(a_, cg, nullptr, inner_stop(1e-4, 3));
  limited.apply(ctx(), b_.cview(), z.view());
  EXPECT_EQ(limited.iterations(), 3);
  EXPECT_THROW((InnerSolve<double>(a_, cg, nullptr, inner_stop(-1, 3))), UsageError);
}

TEST_P(InnerSolveTest, PlainMethodsRefuseIt) {
  const std::shared_ptr<Solver<double>> inner = make_solver<double>(ctx(), "cr", a_.shape());
  InnerSolve<double> m(a_, inner, nullptr, inner_stop(1e-2, 100));
  Field<double> x(ctx(), a_.shape());
  for (const char* outer : {"cg", "cr"}) EXPECT_THROW((void)solve(outer, m, x), UsageError);
}

TEST_P(InnerSolveTest, FailureInsideHandsBack) {
  // Overflows inside: the outer method goes on with r itself.
  const auto huge = std::make_shared<test::ScaledIdentity<double>>(1e308);
  const std::shared_ptr<Solver<double>> richardson = make_solver<double>(ctx(), "richardson", a_.shape());
  InnerSolve<double> m(a_, richardson, huge, inner_stop(1e-2, 100));
  Field<double> z(ctx(), a_.shape());
  m.apply(ctx(), b_.cview(), z.view());
  EXPECT_TRUE(std::isfinite(norm2(ctx(), z.cview())));
  EXPECT_EQ(test::to_host(ctx(), z), test::to_host(ctx(), b_));
}

TEST_P(InnerSolveTest, NothingIsAllocatedByApply) {
  for (const auto& [name, entry] : solver_entries()) {
    const std::shared_ptr<Solver<double>> solver = make_solver<double>(ctx(), entry.name, a_.shape(), {5});
    const auto jacobi = std::make_shared<test::Smoothing<double>>(ctx(), a_, "jacobi", 0.7);
    InnerSolve<double> m(a_, solver, jacobi, inner_stop(0.5, 20));
    Field<double> z(ctx(), a_.shape());
    m.apply(ctx(), b_.cview(), z.view());
    const auto allocations = ctx().memory()->allocations.load();
    m.apply(ctx(), b_.cview(), z.view());
    EXPECT_EQ(ctx().memory()->allocations.load(), allocations) << entry.name;
  }
}

TEST_P(InnerSolveTest, SweepsUntilTheyChangeLittle) {
  // The error falls by 1 - 0.9 a sweep, and so does the change.
  const auto m = std::make_shared<test::ScaledInverse<double>>(ctx(), a_, 0.9);
  Field<double> z(ctx(), a_.shape());
  InnerStop stop;
  stop.increment = 5e-4;
  InnerIteration<double> inner(ctx(), a_, m, stop);
  EXPECT_FALSE(inner.is_constant());
  inner.apply(ctx(), b_.cview(), z.view());
  EXPECT_EQ(inner.iterations(), 5);  // the first is no change; 0.09, 0.009, 0.0009, 0.00009
  stop.max_cycles = 3;
  InnerIteration<double> limited(ctx(), a_, m, stop);
  limited.apply(ctx(), b_.cview(), z.view());
  EXPECT_EQ(limited.iterations(), 3);
  stop.rtol = 1e-2;
  EXPECT_THROW((InnerIteration<double>(ctx(), a_, m, stop)), UsageError);
  stop.rtol = 0;
  stop.increment = 1.5;
  EXPECT_THROW((InnerIteration<double>(ctx(), a_, m, stop)), UsageError);
}

TEST_P(InnerSolveTest, MonitorSeesEveryInnerSolve) {
  const std::shared_ptr<Solver<double>> solver = make_solver<double>(ctx(), "cr", a_.shape());
  int solves = 0, steps = 0;
  InnerSolve<double> m(a_, solver, nullptr, inner_stop(1e-2, 200),
                       [&](int iteration, double /*residual*/) { ++(iteration == 0 ? solves : steps); });
  Field<double> x(ctx(), a_.shape());
  const auto report = solve("gcr", m, x);
  EXPECT_EQ(solves, report.iterations);
  EXPECT_EQ(steps, report.inner_iterations);
}

}  // namespace
