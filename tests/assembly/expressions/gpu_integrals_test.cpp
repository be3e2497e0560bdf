// Loads and error norms on a GPU are those of the host, and are formed there where they can be.

#include <stratum/assembly/expressions/gpu_integrals.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#include <stratum/assembly/solution_range.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/partition.hpp>

#include "support/random_expression.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;

class GpuIntegralsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_available()) GTEST_SKIP() << "no CUDA device in this machine or build";
  }
  static ScalarFunction parsed(const std::string& text) { return parse_expression(text, 1, 1); }

  static std::vector<double> load(Backend backend, const TensorMesh<2>& mesh, const PoissonProblem& problem) {
    Context ctx(backend);
    Field<double> b(ctx, mesh.unknowns());
    assemble_load(ctx, mesh, problem, b);
    std::vector<double> numbers(static_cast<std::size_t>(b.cview().nodes()));
    copy_to_host(ctx, b.cview(), numbers.data());
    return numbers;
  }
  static void expect_same_load(const TensorMesh<2>& mesh, const PoissonProblem& problem, const std::string& what) {
    const auto host = load(Backend::cpu, mesh, problem), gpu = load(Backend::cuda, mesh, problem);
    const int nx = mesh.unknowns().nx;
    for (std::size_t k = 0; k < host.size(); ++k)
      ASSERT_NEAR(gpu[k], host[k], 1e-12 * largest_around(host, static_cast<int>(k) % nx, static_cast<int>(k) / nx, nx))
          << what << ", unknown " << k;
  }
  /// At a node and those around it, of values that cancel there.
  static double largest_around(const std::vector<double>& b, int i, int j, int nx) {
    const int ny = static_cast<int>(b.size()) / nx;
    double largest = 0;
    for (int q = std::max(j - 1, 0); q < std::min(j + 2, ny); ++q)
      for (int p = std::max(i - 1, 0); p < std::min(i + 2, nx); ++p)
        largest = std::max(largest, std::abs(b[static_cast<std::size_t>(q * nx + p)]));
    return largest;
  }
  static Field<double> some_solution(Context& ctx, const TensorMesh<2>& mesh) {
    Field<double> u(ctx, mesh.unknowns());
    std::vector<double> numbers;
    for (int k = 0; k < static_cast<int>(u.cview().nodes()); ++k) numbers.push_back(0.1 + 0.05 * std::sin(0.37 * k));
    copy_from_host(ctx, numbers.data(), u.view());
    return u;
  }
  static void expect_same_summary(const TensorMesh<2>& mesh, const PoissonProblem& problem) {
    Context cpu(Backend::cpu), gpu(Backend::cuda);
    const auto on_cpu = some_solution(cpu, mesh), on_gpu = some_solution(gpu, mesh);
    const auto expected = solution_range(cpu, mesh, problem, on_cpu);
    const auto found = solution_range(gpu, mesh, problem, on_gpu);
    for (const auto& [a, b] : {std::pair{found.smallest, expected.smallest}, {found.largest, expected.largest}}) {
      EXPECT_EQ(a.value, b.value);
      EXPECT_EQ(a.x, b.x);
      EXPECT_EQ(a.y, b.y);
    }
    // Of equal steps either may be named.
    EXPECT_EQ(std::abs(found.step_to.value - found.step_from.value),
              std::abs(expected.step_to.value - expected.step_from.value));
    EXPECT_EQ(found.smallest_on_boundary, expected.smallest_on_boundary);
    EXPECT_EQ(found.largest_on_boundary, expected.largest_on_boundary);
    const auto f = boundary_fluxes(cpu, mesh, problem, on_cpu), g = boundary_fluxes(gpu, mesh, problem, on_gpu);
    const double scale =
        std::abs(f.left) + std::abs(f.right) + std::abs(f.bottom) + std::abs(f.top) + std::abs(f.reaction);
    for (const auto& [a, b] : {std::pair{g.left, f.left},
                               {g.right, f.right},
                               {g.bottom, f.bottom},
                               {g.top, f.top},
                               {g.reaction, f.reaction}})
      EXPECT_NEAR(a, b, 1e-12 * scale);
  }
  static RelativeErrors errors(Backend backend, const TensorMesh<2>& mesh, const PoissonProblem& problem) {
    Context ctx(backend);
    const auto u = some_solution(ctx, mesh);
    return relative_errors(ctx, mesh, problem, u).value();
  }
  static void expect_same_errors(const TensorMesh<2>& mesh, const PoissonProblem& problem, const std::string& what) {
    const auto gpu = errors(Backend::cuda, mesh, problem), host = errors(Backend::cpu, mesh, problem);
    EXPECT_NEAR(gpu.l2 / host.l2, 1, 1e-12) << what;
    EXPECT_NEAR(gpu.largest / host.largest, 1, 1e-12) << what;
    EXPECT_NEAR(gpu.energy / host.energy, 1, 1e-10) << what;
  }
};

TEST_F(GpuIntegralsTest, ThePolynomialProblem) {
  for (const char* const name : {"U1", "A3", "A5"})
    for (const int level : {1, 5, 9}) {
      const TensorMesh<2> mesh = make_mesh(mesh_family(name), level);
      expect_same_load(mesh, {}, name);
      expect_same_summary(mesh, {});
      expect_same_errors(mesh, {}, name + std::to_string(level));
    }
  Context ctx(Backend::cuda);
  const TensorMesh<2> mesh = make_mesh(mesh_family("A3"), 4);
  Field<double> b(ctx, mesh.unknowns());
  EXPECT_TRUE(load_on_gpu(ctx, mesh, rhs_function(PoissonProblem{}), b));
}

TEST_F(GpuIntegralsTest, ExpressionsWithSidesOfEveryKind) {
  if (!expressions_available()) GTEST_SKIP() << "this build has no muParser";
  PoissonProblem problem;
  problem.rhs = parsed("sin(5*x)*exp(-y) + (x < 0.3 && y > 0.5 ? 3 : xr*yr)");
  problem.exact = parsed("cos(x)*(1+y^2)");
  problem.reaction = 0.5;
  const BoundaryCondition periodic{BoundaryConditionType::periodic},
      dirichlet{BoundaryConditionType::dirichlet, parsed("1+x+y*y")},
      neumann{BoundaryConditionType::neumann, parsed("x-y")},
      robin{BoundaryConditionType::robin, parsed("y"), parsed("2+x")};
  const BoundaryConditions all[] = {
      {dirichlet, dirichlet, dirichlet, dirichlet}, {neumann, dirichlet, robin, dirichlet},
      {periodic, periodic, dirichlet, neumann},     {robin, neumann, periodic, periodic},
      {periodic, periodic, periodic, periodic},     {neumann, neumann, neumann, neumann}};
  for (const BoundaryConditions& boundaries : all) {
    problem.boundaries = boundaries;
    const TensorMesh<2> mesh = with_boundaries(make_mesh(mesh_family("A2"), 9), boundaries);
    expect_same_load(mesh, problem, "boundaries");
    expect_same_summary(mesh, problem);
    expect_same_errors(mesh, problem, "boundaries");
  }
}

TEST_F(GpuIntegralsTest, ErrorsWithCoefficients) {
  if (!expressions_available()) GTEST_SKIP() << "this build has no muParser";
  PoissonProblem problem;
  problem.rhs = parsed("1");
  problem.exact = parsed("cos(x)*(1+y^2)");
  const TensorMesh<2> mesh = make_mesh(mesh_family("A2"), 9);
  Context ctx(Backend::cuda);
  const auto u = some_solution(ctx, mesh);
  const auto k = parsed("1+x+3*y"), c = parsed("5*x*y");
  for (const auto& [diffusion, reaction] : {std::pair{Diffusion{k, {}, {}}, Coefficient{}},
                                            {Diffusion{k, parsed("x/2"), 2.0}, Coefficient{}},
                                            {Diffusion{}, Coefficient{c}}}) {
    problem.diffusion = diffusion;
    problem.reaction_of_cells = reaction;
    const auto cells = cell_coefficients(ctx, mesh, problem);
    EXPECT_TRUE(errors_on_gpu(ctx, mesh, problem.exact, u, boundary_values_of_nodes(mesh, problem), 0, &*cells));
    expect_same_errors(mesh, problem, "coefficients");
  }
}

TEST_F(GpuIntegralsTest, RandomExpressions) {
  if (!expressions_available()) GTEST_SKIP() << "this build has no muParser";
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 9);
  Context ctx(Backend::cuda);
  Field<double> b(ctx, mesh.unknowns());
  test::RandomExpression random(11);
  for (int k = 0; k < 300; ++k) {
    const std::string text = random(1 + k % 3);
    PoissonProblem problem;
    problem.rhs = parsed(text);
    if (load_on_gpu(ctx, mesh, problem.rhs, b))
      expect_same_load(mesh, problem, text);
    else  // what is not finite, which the host refuses with the point
      EXPECT_THROW((void)load(Backend::cpu, mesh, problem), UsageError) << text;
  }
}

// Loads have the bits of one subdomain. An expression takes level 9.
TEST_F(GpuIntegralsTest, SubdomainsComputeTheirRows) {
  struct Case {
    BoundaryConditions boundaries;
    bool expression;
  };
  const BoundaryCondition periodic{BoundaryConditionType::periodic},
      dirichlet{BoundaryConditionType::dirichlet, [](const Point&p) { return p.y; }},
      robin{BoundaryConditionType::robin, [](const Point&p) { return p.x - p.y; },
            [](const Point&p) { return 1 + p.y; }};
  const BoundaryConditions along_y{dirichlet, robin, periodic, periodic}, along_x{periodic, periodic, robin, dirichlet};
  for (const Case& c : {Case{{}, false},
                        {{dirichlet, robin, dirichlet, robin}, false},
                        {along_y, false},
                        {along_x, false},
                        {along_y, true},
                        {along_x, true}}) {
    if (c.expression && !expressions_available()) continue;
    PoissonProblem problem;
    problem.boundaries = c.boundaries;
    problem.rhs = c.expression ? parsed("sin(5*x)*exp(-y) + xr*yl") : ScalarFunction(PolynomialRhs{});
    problem.exact = c.expression ? parsed("cos(x)*(1+y^2)") : ScalarFunction(PolynomialSolution{});
    problem.reaction_of_cells = ScalarFunction([](const Point& p) { return 1 + p.x + 2 * p.y; });
    const TensorMesh<2> mesh = with_boundaries(make_mesh(mesh_family("A2"), c.expression ? 9 : 6), c.boundaries);
    const GridLayout<2> whole = mesh.unknowns();
    test::Values numbers;
    for (int k = 0; k < static_cast<int>(whole.nodes()); ++k) numbers.push_back(0.1 + 0.05 * std::sin(0.37 * k));
    const auto rows_of = [&](Context& ctx) {
      if (ctx.subdomains() == 1) return whole;
      return Subdomain(mesh, ctx.subdomains(), ctx.communicator()->rank(), 1).unknowns();
    };
    const auto load_of = [&](Context& ctx) {
      Field<double> b(ctx, rows_of(ctx));
      EXPECT_TRUE(load_on_gpu(ctx, mesh, problem.rhs, b));
      assemble_load(ctx, mesh, problem, b);
      return test::to_host(ctx, b);
    };
    const auto summary_of = [&](Context& ctx) {
      const auto u = test::poisoned_rows<double>(ctx, rows_of(ctx), whole, numbers);
      const auto cells = cell_coefficients(ctx, mesh, problem);
      EXPECT_TRUE(errors_on_gpu(ctx, mesh, problem.exact, u, boundary_values_of_nodes(mesh, problem), 0, &*cells));
      const auto found = relative_errors(ctx, mesh, problem, u).value();
      const auto range = solution_range(ctx, mesh, problem, u);
      return test::Values{
          range.smallest.value, range.smallest.x,    range.smallest.y,  range.largest.value,   range.largest.x,
          range.largest.y,      range.step_from.x,   range.step_from.y, range.step_from.value, range.step_to.x,
          range.step_to.y,      range.step_to.value, found.l2,          found.largest,         found.energy};
    };
    const auto load = test::on_subdomains(Backend::cuda, 1, load_of),
               summary = test::on_subdomains(Backend::cuda, 1, summary_of);
    ASSERT_THAT(load.errors, testing::Each(""));
    ASSERT_THAT(summary.errors, testing::Each(""));
    for (const int count : {2, 3}) {
      const auto loads = test::on_subdomains(Backend::cuda, count, load_of);
      ASSERT_THAT(loads.errors, testing::Each(""));
      EXPECT_EQ(loads.values, load.values);
      const auto summaries = test::on_subdomains(Backend::cuda, count, summary_of);
      ASSERT_THAT(summaries.errors, testing::Each(""));
      for (std::size_t k = 0; k < summaries.values.size(); ++k) {
        const auto of_one = k % summary.values.size();
        EXPECT_NEAR(summaries.values[k], summary.values[of_one], of_one < 12 ? 0 : 1e-12) << "number " << of_one;
      }
    }
  }
}

TEST_F(GpuIntegralsTest, WhatAGpuCannotComputeIsTheHosts) {
  Context ctx(Backend::cuda);
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 9);
  Field<double> b(ctx, mesh.unknowns());
  EXPECT_FALSE(load_on_gpu(
      ctx, mesh, [](const Point& p) { return p.x; }, b));
  if (!expressions_available()) return;
  PoissonProblem problem;
  problem.rhs = parsed("1/(x-x)");
  EXPECT_FALSE(load_on_gpu(ctx, mesh, problem.rhs, b));
  EXPECT_THAT([&] { assemble_load(ctx, mesh, problem, b); },
              ThrowsMessage<UsageError>(HasSubstr("right-hand side is inf at")));
}

}  // namespace
