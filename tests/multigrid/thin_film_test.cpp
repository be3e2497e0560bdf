// Films that are a million times as long as thick, insulated at their faces and held at their ends: what flows along them is
// 1e-14 of what the thin cells' matrix entries carry at an offset of u.

#include <cmath>

#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;

constexpr double thickness = 1e-6;

/// u = offset + x between x = 0 and 1; cells halve 16 times towards y = 0.
PoissonProblem film(double offset) {
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 0.0; };
  problem.exact = [=](const Point& p) { return offset + p.x; };
  problem.boundaries.bottom.kind = problem.boundaries.top.kind = BoundaryConditionType::neumann;
  return problem;
}
TensorMesh<2> film_mesh(const PoissonProblem& problem) {
  std::vector<double> widths{thickness / 65536};
  for (double h = widths.front(); h < thickness; h *= 2) widths.push_back(h);
  return with_boundaries(TensorMesh<2>(uniform(1.0, 6), Axis(widths)), problem.boundaries);
}

class ThinFilmTest : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(ThinFilmTest);

// Row by row the Dirichlet value g gives g h / hx, h the node's part of the thickness.
TEST_P(ThinFilmTest, LoadsOfBoundaryValuesHaveNoRoundOffOfThinCells) {
  auto problem = film(293);
  problem.exact = {};
  problem.boundary = [](const Point& p) { return p.x < 0.5 ? 293.0 : 0.0; };
  const auto mesh = film_mesh(problem);
  const auto& h = mesh.y().widths();
  for (const bool varied : {false, true}) {
    if (varied) problem.diffusion.xx = {[](const Point&) { return 1.0; }};
    Field<double> b(ctx(), mesh.unknowns());
    assemble_load(ctx(), mesh, problem, b);
    const auto rows = test::to_host(ctx(), b);
    const auto nx = static_cast<std::size_t>(mesh.unknowns().nx);
    for (std::size_t j = 0; j <= h.size(); ++j) {
      const double part = ((j > 0 ? h[j - 1] : 0) + (j < h.size() ? h[j] : 0)) / 2;
      EXPECT_NEAR(rows[j * nx] / (293 * part * 6), 1, 1e-13) << j;
    }
  }
}

TEST_P(ThinFilmTest, SolutionsAndFluxesAreRightAtAnyOffset) {
  for (const double offset : {0.0, 1.0, 293.0})
    for (const bool flux_given : {false, true})
      for (const auto precision : {Precision::mixed, Precision::full})
        for (const bool varied : {false, true}) {
          SCOPED_TRACE(testing::Message() << offset << (flux_given ? ", flux" : ", value") << " on the right, "
                                          << to_string(precision) << (varied ? ", K of cells" : ""));
          auto problem = film(offset);
          if (flux_given) {
            problem.boundaries.right.kind = BoundaryConditionType::neumann;
            problem.boundaries.right.value = [](const Point&) { return 1.0; };
          }
          const auto mesh = film_mesh(problem);
          if (varied) {
            const ScalarFunction of_layers = [](const Point& p) { return p.y < thickness / 2 ? 1.0 : 100.0; };
            problem.diffusion.xx = of_layers;
            if (flux_given) problem.boundaries.right.value = of_layers;
          }
          Field<double> b(ctx(), mesh.unknowns()), x(ctx(), mesh.unknowns());
          assemble_load(ctx(), mesh, problem, b);
          PoissonSolverParams params;
          params.precision = precision;
          params.terms = operator_terms(mesh, problem);
          params.stop = {.rtol = 1e-11, .reference_norm = ReferenceNorm::initial};
          if (varied)
            params.coefficients = std::make_shared<const CellCoefficients>(*cell_coefficients(ctx(), mesh, problem));
          const auto report = PoissonSolver(ctx(), mesh, params).solve(ctx(), b.cview(), x.view());
          EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
          double worst = 0;
          const auto u = nodal_solution(ctx(), mesh, problem, x);
          for (std::size_t n = 0; n < u.size(); ++n)
            worst = std::max(worst, std::abs(u[n] - offset - mesh.x().from_begin()[n % 7]));
          EXPECT_LT(worst, 1e-8);
          const auto fluxes = boundary_fluxes(ctx(), mesh, problem, u);
          const double flow = thickness * (varied ? 50.5 : 1);
          EXPECT_NEAR(fluxes.left / flow, 1, 1e-6);
          EXPECT_NEAR(fluxes.right / flow, -1, 1e-6);
          EXPECT_LT(fluxes.rounding, 1e-3 * flow);
        }
}

}  // namespace
