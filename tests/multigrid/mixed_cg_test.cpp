// Conjugate gradients in float that double sets right now and then: the iterations and the residual of double.

#include <stratum/solvers/mixed/mixed_cg.hpp>

#include <cmath>
#include <functional>
#include <utility>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/sample_coefficients.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;

class MixedCgTest : public test::OnEveryBackend {
 protected:
  struct Problem {
    Problem(Context& ctx, const std::string& name, int level, const PoissonProblem& problem = {})
        : mesh(with_boundaries(make_mesh(mesh_family(name), level), problem.boundaries)), b(ctx, mesh.unknowns()),
          x(ctx, mesh.unknowns()) {
      params.precision = Precision::residual_replacement;
      params.terms = operator_terms(mesh, problem);
      assemble_load(ctx, mesh, problem, b);
    }
    TensorMesh<2> mesh;
    PoissonSolverParams params;
    Field<double> b, x;
  };
  SolveReport solve(Problem& p) {
    set(ctx(), 0.0, p.x.view());
    return PoissonSolver(ctx(), p.mesh, p.params).solve(ctx(), p.b.cview(), p.x.view());
  }
  double true_residual(const Problem& p) {
    const PoissonSolver solver(ctx(), p.mesh, p.params);
    Field<double> r(ctx(), p.mesh.unknowns());
    solver.fine_operator().residual(ctx(), p.b.cview(), p.x.cview(), r.view());
    return norm2(ctx(), r.cview());
  }
};
INSTANTIATE_ON_EVERY_BACKEND(MixedCgTest);

TEST_P(MixedCgTest, TakesTheIterationsOfDoubleToTheTrueResidual) {
  using Pattern = std::function<CellCoefficients(const TensorMesh<2>&)>;
  const std::pair<const char*, Pattern> patterns[] = {
      {"K = 1", unit_cells},
      {"board", [](const auto& mesh) { return checkerboard(mesh, 13, 1e4); }},
      {"discs", [](const auto& mesh) { return discs(mesh, 1e-4); }},
      {"log-normal", [](const auto& mesh) { return log_normal(mesh, 2); }}};
  for (const char* const mesh : {"U1", "A3"})
    for (const auto& [name, pattern] : patterns) {
      SCOPED_TRACE(message(name, " on ", mesh));
      Problem p(ctx(), mesh, 7);
      p.params.coefficients = std::make_shared<CellCoefficients>(pattern(p.mesh));
      p.params.retry_in_double = false;
      const auto report = solve(p);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      EXPECT_NEAR(report.residual, true_residual(p), 1e-3 * report.residual);
      EXPECT_LE(report.residual, 1e-8 * norm2(ctx(), p.b.cview()));
      EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
      p.params.precision = Precision::mixed;
      p.params.method = Method::cg;
      EXPECT_LE(report.iterations, solve(p).iterations + 2);
    }
}

TEST_P(MixedCgTest, GoesOnFromWhatIsThere) {
  Problem p(ctx(), "U1", 7);
  p.params.coefficients = std::make_shared<CellCoefficients>(checkerboard(p.mesh, 13, 1e4));
  p.params.multigrid.exact_below = 0;  // cycles of a GPU take fewer iterations, with little for a pass to save
  const auto from_zero = solve(p);
  PoissonSolver again(ctx(), p.mesh, p.params);
  EXPECT_EQ(again.solve(ctx(), p.b.cview(), p.x.view()).iterations, 0);
  set(ctx(), 0.0, p.x.view());
  EXPECT_EQ(again.solve(ctx(), p.b.cview(), p.x.view()).history, from_zero.history);
  EXPECT_EQ(again.solve(ctx(), p.b.cview(), p.x.view()).iterations, 0) << "nothing is left of the solve before";
  p.params.full_multigrid = p.params.continue_after_full_multigrid = true;
  const auto after_pass = solve(p);
  EXPECT_EQ(after_pass.status, Status::converged) << after_pass.reason;
  EXPECT_LT(after_pass.iterations, from_zero.iterations) << "a pass counts as one";
}

TEST_P(MixedCgTest, IsTakenUpInDoubleWhereFloatDoesNotDo) {
  // Nearly singular: on constants, sums of rows of the operator in float are its rounding. With alpha = 1e-3 float still
  // suffices or does not, as the compiler rounds; with 1e-6 float ends where rounding keeps double too.
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 1.0; };
  for (auto* const side :
       {&problem.boundaries.left, &problem.boundaries.right, &problem.boundaries.bottom, &problem.boundaries.top}) {
    side->kind = BoundaryConditionType::robin;
    side->alpha = [](const Point&) { return 3e-5; };
  }
  Problem p(ctx(), "U1", 6, problem);
  p.params.multigrid.sweeps = 2;
  p.params.retry_in_double = false;
  const auto alone = solve(p);
  EXPECT_THAT(alone.status, testing::AnyOf(Status::stagnated, Status::max_iterations)) << alone.reason;
  EXPECT_NEAR(alone.residual, true_residual(p), 0.1 * alone.residual) << "not that of the recursion";
  p.params.retry_in_double = true;
  const auto report = solve(p);
  EXPECT_THAT(report.status, testing::AnyOf(Status::converged, Status::round_off_limit)) << report.reason;
  EXPECT_THAT(report.reason, testing::HasSubstr("double-precision fallback"));
}

TEST_P(MixedCgTest, EndsAtTheLimitWithTheTrueResidual) {
  Problem p(ctx(), "U1", 6);
  p.params.coefficients = std::make_shared<CellCoefficients>(checkerboard(p.mesh, 7, 1e4));
  p.params.stop.max_iterations = 3;
  const auto report = solve(p);
  EXPECT_EQ(report.status, Status::max_iterations);
  EXPECT_EQ(report.iterations, 3);
  EXPECT_NEAR(report.residual, true_residual(p), 1e-3 * report.residual);
}

TEST_P(MixedCgTest, RefusesWhatItCannotDo) {
  Problem p(ctx(), "U1", 4);
  p.params.method = Method::multigrid;
  EXPECT_THROW(PoissonSolver(ctx(), p.mesh, p.params), UsageError);
  p.params.method = Method::gmres;
  EXPECT_THROW(PoissonSolver(ctx(), p.mesh, p.params), UsageError);
  p.params.method = Method::cg;
  p.params.multigrid.cycle = Cycle::k;
  EXPECT_THROW(PoissonSolver(ctx(), p.mesh, p.params), UsageError);
  for (const double delta : {0.0, 1.0, std::nan("")})
    EXPECT_THROW(MixedCg(ctx(), p.mesh.unknowns(), delta), UsageError);
}

}  // namespace
