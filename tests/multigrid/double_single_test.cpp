// Everything in float with x in two of them: what it must reach, and what it says where it cannot.

#include <stratum/solvers/mixed/double_single.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/sample_coefficients.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;

constexpr int level = 7;

TensorMesh<2> mesh_named(const std::string& name) {
  if (name != "S1") return make_mesh(mesh_family(name), level);
  // Layers along two sides that take half of the cells.
  const Axis layer = shishkin(1, 1 << level, 1e-3, GradedSide::first);
  return {layer, layer};
}

class DoubleSingle : public test::OnEveryBackend {
 protected:
  struct Problem {
    Problem(Context& ctx, TensorMesh<2> m, std::optional<CellCoefficients> k, const PoissonProblem& problem = {})
        : mesh(std::move(m)), b(ctx, mesh.unknowns()), x(ctx, mesh.unknowns()) {
      if (k) params.coefficients = std::make_shared<CellCoefficients>(std::move(*k));
      params.precision = Precision::double_single;
      assemble_load(ctx, mesh, problem, b);
    }
    TensorMesh<2> mesh;
    PoissonSolverParams params;
    Field<double> b, x;
  };
  SolveReport solve(Problem& p) { return PoissonSolver(ctx(), p.mesh, p.params).solve(ctx(), p.b.cview(), p.x.view()); }
  /// sqrt(e' A e / x' A x), e the distance to a solution in double.
  double energy_error(const Problem& p) {
    auto params = p.params;
    params.precision = Precision::full;
    params.method = Method::fcg;
    params.stop.rtol = 1e-10;
    PoissonSolver solver(ctx(), p.mesh, params);
    Field<double> x(ctx(), p.mesh.unknowns()), ax(ctx(), p.mesh.unknowns());
    const auto report = solver.solve(ctx(), p.b.cview(), x.view());
    EXPECT_THAT(report.status, testing::AnyOf(Status::converged, Status::round_off_limit)) << report.reason;
    const double whole = dot<double>(ctx(), x.cview(), p.b.cview());
    axpy<double, double>(ctx(), -1, p.x.cview(), x.view());
    solver.fine_operator().apply(ctx(), x.cview(), ax.view());
    return std::sqrt(dot<double>(ctx(), x.cview(), ax.cview()) / whole);
  }
  double true_residual(const Problem& p) {
    auto params = p.params;
    params.precision = Precision::full;
    const PoissonSolver solver(ctx(), p.mesh, params);
    Field<double> r(ctx(), p.mesh.unknowns());
    solver.fine_operator().residual(ctx(), p.b.cview(), p.x.cview(), r.view());
    return norm2(ctx(), r.cview());
  }
};
INSTANTIATE_ON_EVERY_BACKEND(DoubleSingle);

TEST_P(DoubleSingle, IsAsNearToTheSolutionAsKInFloatLetsItBe) {
  using Pattern = std::function<std::optional<CellCoefficients>(const TensorMesh<2>&)>;
  const std::pair<const char*, Pattern> patterns[] = {
      {"K = 1", [](const auto&) { return std::nullopt; }},
      {"board", [](const auto& mesh) { return checkerboard(mesh, 7, 1e4); }},
      {"discs", [](const auto& mesh) { return discs(mesh, 1e4); }},
      {"log-normal", [](const auto& mesh) { return log_normal(mesh, 2); }}};
  for (const char* const name : {"U1", "A3", "S1"})
    for (const auto& [pattern, k] : patterns) {
      SCOPED_TRACE(testing::Message() << name << ", " << pattern);
      const TensorMesh<2> mesh = mesh_named(name);
      Problem p(ctx(), mesh, k(mesh));
      const auto report = solve(p);
      EXPECT_EQ(report.status, Status::round_off_limit) << report.reason;
      const double error = energy_error(p);
      EXPECT_LE(error, 5e-7);
      EXPECT_NEAR(report.residual / true_residual(p), 1, 1e-6);
      EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
    }
}

TEST_P(DoubleSingle, TakesReactionRotatedKNaturalAndPeriodicSides) {
  const TensorMesh<2> a3 = mesh_named("A3");
  using enum BoundaryType;
  {
    SCOPED_TRACE("reaction");
    Problem p(ctx(), a3, std::nullopt);
    p.params.terms.reaction = 30;
    EXPECT_EQ(solve(p).status, Status::round_off_limit);
    EXPECT_LE(energy_error(p), 5e-7);
  }
  {
    SCOPED_TRACE("rotated");
    Problem p(ctx(), a3, rotated(a3, 100, 30));
    p.params.method = Method::fcg;
    p.params.multigrid.cycle = Cycle::k;
    EXPECT_EQ(solve(p).status, Status::round_off_limit);
    EXPECT_LE(energy_error(p), 5e-7);
  }
  for (const auto& [left, right] : {std::pair{neumann, neumann}, {periodic, periodic}, {neumann, dirichlet}})
    for (const bool jumps : {false, true}) {
      SCOPED_TRACE(testing::Message() << to_string(left) << ", " << to_string(right) << (jumps ? ", K jumps" : ""));
      const TensorMesh<2> mesh{a3.x().with_boundaries(left, right), a3.y().with_boundaries(neumann, neumann)};
      const PoissonProblem waves{
          .rhs = [](const Point& at) { return std::sin(6 * at.x) * std::cos(9 * at.y); },
          .boundaries = {.left = {left == periodic ? BoundaryConditionType::periodic : BoundaryConditionType::neumann},
                         .right = {right == periodic  ? BoundaryConditionType::periodic
                                   : right == neumann ? BoundaryConditionType::neumann
                                                      : BoundaryConditionType::dirichlet},
                         .bottom = {BoundaryConditionType::neumann},
                         .top = {BoundaryConditionType::neumann}}};
      Problem p(ctx(), mesh, jumps ? std::optional(checkerboard(mesh, 7, 1e4)) : std::nullopt, waves);
      if (right != dirichlet) make_compatible(ctx(), mesh, p.b);
      const auto report = solve(p);
      EXPECT_EQ(report.status, Status::round_off_limit) << report.reason;
      EXPECT_LE(report.iterations, 40);
      EXPECT_LE(energy_error(p), 5e-7);
    }
}

// Of subdomains both words have halos, which hold no number before the solve.
TEST_P(DoubleSingle, SeesNoCut) {
  const TensorMesh<2> a3 = make_mesh(mesh_family("A3"), 6);
  using enum BoundaryType;
  const TensorMesh<2> around{a3.x().with_boundaries(neumann, dirichlet),
                             Axis(a3.x().widths()).with_boundaries(periodic, periodic)};
  const PoissonProblem waves{.rhs = [](const Point& at) { return 1 + std::sin(6 * at.x) * std::cos(9 * at.y); },
                             .boundaries = {.left = {BoundaryConditionType::neumann},
                                            .right = {},
                                            .bottom = {BoundaryConditionType::periodic},
                                            .top = {BoundaryConditionType::periodic}}};
  for (const bool periodic_y : {false, true})
    for (const bool jumps : {false, true})
      for (const double rtol : {1e-8, 1e-3}) {
        const TensorMesh<2>& mesh = periodic_y ? around : a3;
        const PoissonProblem problem = periodic_y ? waves : PoissonProblem{};
        Problem p(ctx(), mesh, jumps ? std::optional(checkerboard(mesh, 7, 1e4)) : std::nullopt, problem);
        p.params.multigrid.distributed_levels = 2;
        p.params.multigrid.exact_below = 0;  // on one subdomain a GPU would solve a distributed level on several
        p.params.stop.rtol = rtol;
        // Of any size beside the solution: both words matter from the first residual on.
        test::Values start(static_cast<std::size_t>(mesh.unknowns().nodes()));
        for (std::size_t k = 0; k < start.size(); ++k) start[k] = std::sin(static_cast<double>(k));
        copy_from_host(ctx(), start.data(), p.x.view());
        const auto one = solve(p);
        for (const int count : {2, 3}) {
          SCOPED_TRACE(testing::Message() << count << " subdomains" << (jumps ? ", K jumps" : "")
                                          << (periodic_y ? ", periodic" : "") << ", " << rtol);
          std::vector<SolveReport> reports(static_cast<std::size_t>(count));
          const auto found = test::on_subdomains(GetParam(), count, [&](Context& on) {
            PoissonSolver solver(on, mesh, p.params);
            const GridLayout<2> rows = solver.fine_operator().shape();
            Field<double> b(on, rows);
            assemble_load(on, mesh, problem, b);
            test::poison(on, b);
            auto x = test::poisoned_rows<double>(on, rows, mesh.unknowns(), start);
            reports[static_cast<std::size_t>(on.communicator()->rank())] = solver.solve(on, b.cview(), x.view());
            return test::to_host(on, x);
          });
          ASSERT_THAT(found.errors, testing::Each(""));
          copy_from_host(ctx(), found.values.data(), p.x.view());
          for (const auto& report : reports) {
            EXPECT_EQ(report.status, rtol < 1e-5 ? Status::round_off_limit : Status::converged) << report.reason;
            EXPECT_EQ(report.status, one.status);
            // Cut rows are summed in another order, and with jumps the first residual is 1e5 times the second, which shows
            // its rounding: 21 cycles on three subdomains of an H100 and 23 on one.
            const int apart = !jumps ? 0 : GetParam() == Backend::cuda ? 2 : 1;
            EXPECT_NEAR(report.iterations, one.iterations, apart);
            if (report.iterations == one.iterations) {
              EXPECT_LT(report.residual, 1.5 * one.residual);
            }
            EXPECT_NEAR(report.residual / true_residual(p), 1, 1e-6);
            EXPECT_EQ(report.history, reports[0].history);
          }
          if (rtol < 1e-5) {
            EXPECT_LE(energy_error(p), 5e-7);
          }
        }
      }
}

TEST_P(DoubleSingle, ClaimsWhatTheTrueResidualReaches) {
  for (const double rtol : {1e-2, 1e-4, 1e-5}) {
    Problem p(ctx(), mesh_named("A3"), std::nullopt);
    p.params.stop.rtol = rtol;
    const auto report = solve(p);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(true_residual(p), rtol * norm2(ctx(), p.b.cview()));
  }
  Problem p(ctx(), mesh_named("A3"), std::nullopt);
  p.params.stop.max_iterations = 3;
  auto report = solve(p);
  EXPECT_EQ(report.status, Status::max_iterations) << report.reason;
  EXPECT_EQ(report.iterations, 3);
  EXPECT_NEAR(report.residual / true_residual(p), 1, 1e-6);
  // From there it goes on, and what is added to an x that is near has fewer digits to lose.
  p.params.stop.max_iterations = 100;
  report = solve(p);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(energy_error(p), 5e-7);
  EXPECT_LE(solve(p).iterations, 4);
  EXPECT_LE(energy_error(p), 5e-7);
}

TEST_P(DoubleSingle, TakesNumbersOfAnySize) {
  for (const double size : {1e-120, 1e-60, 1e60, 1e120}) {
    SCOPED_TRACE(size);
    Problem p(ctx(), mesh_named("U1"), std::nullopt);
    copy_scaled<double, double>(ctx(), size, p.b.cview(), p.b.view());
    EXPECT_EQ(solve(p).status, Status::round_off_limit);
    EXPECT_LE(energy_error(p), 5e-7);
  }
  Problem p(ctx(), mesh_named("U1"), std::nullopt);
  set(ctx(), 0.0, p.b.view());
  EXPECT_EQ(solve(p).status, Status::converged);
  EXPECT_EQ(norm2(ctx(), p.x.cview()), 0);
  set(ctx(), 1e20, p.x.view());
  const auto report = solve(p);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(norm2(ctx(), p.x.cview()), 1e15);
  set(ctx(), std::numeric_limits<double>::quiet_NaN(), p.b.view());
  EXPECT_EQ(solve(p).status, Status::non_finite);
}

TEST_P(DoubleSingle, NeverCallsAnotherFailureRounding) {
  // Point Jacobi is no positive definite preconditioner here.
  Problem p(ctx(), make_mesh(mesh_family("A2"), level), std::nullopt);
  p.params.multigrid.smoother = "jacobi";
  EXPECT_EQ(solve(p).status, Status::breakdown);

  // Of another operator in float.
  const TensorMesh<2> mesh = mesh_named("U1");
  Problem q(ctx(), mesh, std::nullopt);
  const auto a = assemble_laplace<double>(ctx(), mesh, StorageFormat::tensor);
  OperatorTerms more;
  more.reaction = 1;
  const auto other = assemble_operator<float>(ctx(), mesh, StorageFormat::tensor, more);
  MultigridParams symmetric;
  symmetric.symmetric = true;
  Multigrid<float> cycle(ctx(), mesh_hierarchy(mesh), StorageFormat::tensor, symmetric);
  const auto cg = make_solver<float>(ctx(), "cg", mesh.unknowns());
  const auto report =
      DoubleSingleRefinement(ctx(), mesh.unknowns()).solve(ctx(), a, other, *cg, cycle, q.b.cview(), q.x.view(), {});
  EXPECT_EQ(report.status, Status::stagnated) << report.reason;
  EXPECT_NEAR(report.residual / true_residual(q), 1, 1e-6);
}

TEST_P(DoubleSingle, RefusesWhatItIsNotFor) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 3);
  const Problem p(ctx(), mesh, std::nullopt);
  const auto says = [&](const auto& change, const char* words) {
    PoissonSolverParams params = p.params;
    change(params);
    try {
      const PoissonSolver solver(ctx(), mesh, params);
      ADD_FAILURE() << "not refused: " << words;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(words));
    }
  };
  says([](auto& q) { q.full_multigrid = true; }, "full multigrid");
  says([](auto& q) { q.format = StorageFormat::nine_band; }, "nine-band stores bands");
  says([](auto& q) { q.format = StorageFormat::symmetric; }, "symmetric stores bands");
  says([](auto& q) { q.method = Method::multigrid; }, "not multigrid");
  says([](auto& q) { q.method = Method::gcr; }, "not gcr");
  says([](auto& q) { q.inner.rtol = 1e-2; }, "constant preconditioner");
  says(
      [](auto& q) {
        q.method = Method::cg;
        q.multigrid.cycle = Cycle::k;
      },
      "constant preconditioner");
  const auto bands = assemble_laplace<double>(ctx(), mesh, StorageFormat::nine_band);
  PoissonSolverParams params = p.params;
  EXPECT_THROW(PoissonSolver(ctx(), bands, mesh, params), UsageError);
}

}  // namespace
