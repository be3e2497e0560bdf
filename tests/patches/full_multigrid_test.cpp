// What one FMG cycle leaves of the discretisation error, in the energy norm, where Dirichlet boundaries have values.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

#include "patches/meshes.hpp"
#include "support/backends.hpp"

using namespace stratum;
using test::thin_at_origin;
using test::thin_at_wall;
using test::with_cells;

namespace {

struct Gradient {
  double x, y;
};
double exact(const Point& p) { return std::sin(p.x + 2 * p.y) * std::exp(p.x / 2); }
Gradient exact_gradient(const Position& p) {
  const double s = std::sin(p.x + 2 * p.y), c = std::cos(p.x + 2 * p.y), e = std::exp(p.x / 2);
  return {(c + s / 2) * e, 2 * c * e};
}
double minus_laplace(const Point& p) {
  return (4.75 * std::sin(p.x + 2 * p.y) - std::cos(p.x + 2 * p.y)) * std::exp(p.x / 2);
}

using Nodal = std::vector<std::vector<double>>;

/// ( integral of (grad u_h - g)^2 )^(1/2), for g = 0 or the gradient of u.
double energy(const PatchMesh& mesh, const Nodal& nodal, bool minus_exact) {
  double sum = 0;
  for (int p = 0; p < mesh.patches(); ++p) {
    const PatchNodes nodes = mesh.nodes_of(p);
    const auto& u = nodal[static_cast<std::size_t>(p)];
    for (int j = 0; j < nodes.ny; ++j)
      for (int i = 0; i < nodes.nx; ++i) {
        const std::size_t sw = nodes.node(i, j), se = nodes.node(i + 1, j), nw = nodes.node(i, j + 1),
                          ne = nodes.node(i + 1, j + 1);
        // Steps, since thin cells have no digits in positions.
        const Position bottom = nodes.step_x[static_cast<std::size_t>(j * nodes.nx + i)],
                       top = nodes.step_x[static_cast<std::size_t>((j + 1) * nodes.nx + i)], left = nodes.step_y[sw],
                       right = nodes.step_y[se];
        for (const auto& [s, ws] : gauss3)
          for (const auto& [t, wt] : gauss3) {
            const double xt = (1 - s) * bottom.x + s * top.x, yt = (1 - s) * bottom.y + s * top.y,
                         xs = (1 - t) * left.x + t * right.x, ys = (1 - t) * left.y + t * right.y;
            const double ut = (1 - s) * (u[se] - u[sw]) + s * (u[ne] - u[nw]),
                         us = (1 - t) * (u[nw] - u[sw]) + t * (u[ne] - u[se]), det = xt * ys - xs * yt;
            Gradient g{(ut * ys - us * yt) / det, (us * xt - ut * xs) / det};
            if (minus_exact) {
              const Quadrilateral cell{nodes.at[sw], nodes.at[se], nodes.at[nw], nodes.at[ne]};
              const Gradient there = exact_gradient(cell.at(t, s));
              g = {g.x - there.x, g.y - there.y};
            }
            sum += ws * wt * det * (g.x * g.x + g.y * g.y);
          }
      }
  }
  return std::sqrt(sum);
}

TEST(PatchFullMultigrid, LeavesAFractionOfTheDiscretisationError) {
  struct Case {
    std::string name;
    PatchMeshParts parts;
    double most;
  };
  const std::vector<Case> cases{{"L", with_cells(l_shape(), 32), 0.02},
                                {"L, corner 1e-6", thin_at_origin(l_shape(), 32), 0.02},
                                {"hole, wall 1e-6", thin_at_wall(square_with_hole(), 16), 0.02},
                                {"cylinder, radial 1e-6", thin_at_wall(cylinder_in_channel(), 16), 0.06},
                                {"pipe section, wall 1e-6", thin_at_wall(pipe_section(), 16), 0.03},
                                {"star 5, centre 1e-6", thin_at_origin(star(5), 16), 0.03},
                                {"24 patches in triangles", with_cells(triangle_patches(2), 32), 0.035},
                                {"ring of 8, wall 1e-6", thin_at_wall(patch_ring(8), 16), 0.02}};
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (const auto& c : cases) {
      SCOPED_TRACE(c.name + " on " + test::backend_name(backend));
      const PatchMesh mesh(c.parts);
      PatchProblem problem;
      problem.rhs = minus_laplace;
      problem.exact = exact;
      PatchSolverParams params;
      params.stop.rtol = 1e-8;
      params.coarsest_unknowns = 64 * mesh.patches() + 100;
      PatchPoissonSolver solver(ctx, mesh, problem, params);
      const auto solution = [&] {
        Nodal u;
        for (int p = 0; p < mesh.patches(); ++p) u.push_back(solver.nodal_solution(p));
        return u;
      };
      const Status status = solver.solve().status;
      ASSERT_TRUE(status == Status::converged || status == Status::round_off_limit);
      const Nodal u = solution();
      ASSERT_EQ(solver.full_multigrid_pass().status, Status::converged);
      Nodal left = solution();
      for (std::size_t p = 0; p < u.size(); ++p)
        for (std::size_t k = 0; k < u[p].size(); ++k) left[p][k] -= u[p][k];
      EXPECT_LE(energy(mesh, left, false), c.most * energy(mesh, u, true));
    }
  }
}

}  // namespace
