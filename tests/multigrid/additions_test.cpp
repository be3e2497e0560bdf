// A smoother, an iterative method and a coarse solver that the library does not have, of one file each (tests/additions), run
// by the solvers that users call. tests/additions/additions_test.py puts them into the library as well.

#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gtest/gtest.h>

#include "additions/l1_jacobi.cpp"
#include "additions/many_sweeps.cpp"
#include "additions/minimal_residual.cpp"
#include "support/backends.hpp"
#include "support/poisson_solves.hpp"

namespace {

using namespace stratum;

class Addition : public testing::Test {
 protected:
  SolveReport solve(const PoissonSolverParams& params, const SmootherRegistry& smoothers = builtin_smoothers()) {
    PoissonSolver solver(ctx_, mesh_, params, smoothers);
    const GridLayout<2> shape = solver.fine_operator().shape();
    Field<double> b(ctx_, shape);
    x_ = Field<double>(ctx_, shape);
    assemble_load(ctx_, mesh_, problem_, b);
    coarse_ = solver.coarse_solver();
    return solver.solve(ctx_, b.cview(), x_.view());
  }
  [[nodiscard]] double error() { return relative_l2_error(ctx_, mesh_, problem_, x_).value(); }

  Context ctx_{Backend::cpu, 1};
  PoissonProblem problem_;
  TensorMesh<2> mesh_{uniform(1, 32), uniform(1, 32)};
  Field<double> x_;
  std::string coarse_;
};

TEST_F(Addition, OfASmootherIsOneFile) {
  SmootherRegistry smoothers = builtin_smoothers();
  register_l1_jacobi(smoothers);
  PoissonSolverParams params;
  params.multigrid.smoother = "l1_jacobi";
  const SolveReport report = solve(params, smoothers);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(report.iterations, 12);
  EXPECT_EQ(report.levels.back().smoother, "l1_jacobi");
  const double found = error();
  (void)solve({});
  EXPECT_NEAR(found, error(), 1e-6 * found);
}

TEST_F(Addition, OfACoarseSolverIsOneFile) {
  auto coarse_solvers = std::make_shared<CoarseSolverRegistry>(builtin_coarse_solvers());
  register_many_sweeps(*coarse_solvers);
  PoissonSolverParams params;
  // With one unknown there would be nothing to solve.
  problem_.boundaries.left.kind = problem_.boundaries.right.kind = BoundaryConditionType::neumann;
  mesh_ = with_boundaries(mesh_, problem_.boundaries);
  params.multigrid.coarse = "many_sweeps";
  params.multigrid.coarse_solvers = coarse_solvers;
  const SolveReport report = solve(params);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_EQ(coarse_, "many_sweeps");
  params.multigrid.coarse = "direct";
  EXPECT_EQ(report.iterations, solve(params).iterations);
}

TEST_F(Addition, OfAnIterativeMethodIsOneFile) {
  SolverRegistry solvers = builtin_solvers();
  register_minimal_residual(solvers);
  PoissonSolver cycle(ctx_, mesh_);
  const GridOperator<double>& a = cycle.fine_operator();
  Field<double> b(ctx_, a.shape());
  x_ = Field<double>(ctx_, a.shape());
  assemble_load(ctx_, mesh_, problem_, b);
  const SolveReport report = solvers.make<double>(ctx_, "minimal_residual", a.shape())
                                 ->solve(ctx_, a, cycle.preconditioner(ctx_), b.cview(), x_.view());
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(report.iterations, 8);
}

// --solver of poisson2d, C and Python have the methods of the table of names: a method that is added is there, too.
TEST_F(Addition, OfAnIterativeMethodHasALineInTheTableOfNames) {
  for (const Method method : values_of<Method>)
    if (method != Method::multigrid) {
      EXPECT_TRUE(solver_entries().contains(std::string(to_string(method))));
    }
  EXPECT_EQ(solver_entries().size(), values_of<Method>.size()) << "richardson is the method of multigrid";
}

}  // namespace
