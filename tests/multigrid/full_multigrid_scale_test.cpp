// A pass of full multigrid whose defects are in float, for right-hand sides of any size: powers of two change no bit. On a GPU
// what has been recorded for one size serves others.

#include <cmath>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;

class FullMultigridScale : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(FullMultigridScale);

TEST_P(FullMultigridScale, PowersOfTwoChangeNoBit) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("A3"), 7);
  PoissonSolverParams params;
  params.multigrid.smoother = "adi";
  params.multigrid.sweeps = 2;
  params.multigrid.exact_below = 40;
  params.full_multigrid = true;
  PoissonSolver solver(ctx(), mesh, params);
  test::Random random(11);
  const auto b = test::random_vector<double>(ctx(), random, mesh.unknowns());
  Field<double> scaled(ctx(), mesh.unknowns()), x(ctx(), mesh.unknowns());
  std::vector<double> first;
  // The second pass of a size is captured, if another one is not replayed.
  for (const int power : {0, 0, 0, 20, -20, 100, 100, 100, 80, -300, 0}) {
    SCOPED_TRACE(power);
    copy_scaled(ctx(), std::ldexp(1.0, power), b.cview(), scaled.view());
    const auto report = solver.solve(ctx(), scaled.cview(), x.view());
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    auto found = test::to_host(ctx(), x);
    for (double& number : found) number = std::ldexp(number, -power);
    if (first.empty()) first = found;
    EXPECT_EQ(found, first);
  }
}

}  // namespace
