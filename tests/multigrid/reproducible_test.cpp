// Solves whose bits do not depend on the number of subdomains and threads (MultigridParams::reproducible).

#include <algorithm>
#include <cmath>
#include <cstring>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gmock/gmock.h>

#include "support/boundaries.hpp"
#include "support/poisson_solves.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;
using enum BoundaryType;

struct Solved {
  Values x, history;
};

/// On so many subdomains of so many threads; halos hold NaN before. The history is rank 0's.
Solved solve(int count, int threads, const Geometry& mesh, const PoissonProblem& problem,
             const PoissonSolverParams& params) {
  Solved solved;
  const auto found = test::on_subdomains(Backend::cpu, count, [&](Context& of_subdomain) {
    Context ctx(Backend::cpu, threads);
    if (count > 1) ctx.set_communicator({of_subdomain.communicator(), [](Communicator*) {}});
    const auto [x, report] = test::solved(ctx, mesh, problem, params);
    if (ctx.communicator() == nullptr || ctx.communicator()->rank() == 0) solved.history = report.history;
    return test::to_host(ctx, x);
  });
  EXPECT_THAT(found.errors, testing::Each(""));
  solved.x = found.values;
  return solved;
}

bool same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// One subdomain of one thread against several of both, and against a solve that may differ by rounding.
void expect_the_same_bits(const Geometry& mesh, const PoissonProblem& problem, PoissonSolverParams params) {
  params.multigrid.reproducible = true;
  const Solved one = solve(1, 1, mesh, problem, params);
  for (const auto& [count, threads] : {std::pair{1, 3}, {2, 1}, {3, 2}, {4, 1}}) {
    const Solved several = solve(count, threads, mesh, problem, params);
    EXPECT_TRUE(same_bits(several.x, one.x)) << count << " subdomains, " << threads << " threads";
    EXPECT_TRUE(same_bits(several.history, one.history)) << count << " subdomains, " << threads << " threads";
  }
  params.multigrid.reproducible = false;
  const Solved other = solve(1, 1, mesh, problem, params);
  ASSERT_EQ(other.x.size(), one.x.size());
  double largest = 0, difference = 0;
  for (std::size_t k = 0; k < one.x.size(); ++k) {
    largest = std::max(largest, std::abs(one.x[k]));
    if (!(std::abs(other.x[k] - one.x[k]) <= difference)) difference = std::abs(other.x[k] - one.x[k]);
  }
  EXPECT_LE(difference, 1e-7 * largest);
}

PoissonSolverParams params_of(const char* smoother) {
  PoissonSolverParams params;
  params.multigrid.smoother = smoother;
  params.stop.rtol = 1e-9;
  return params;
}

TensorMesh<2> random_mesh(int nx, int ny, BoundaryType left, BoundaryType right, BoundaryType bottom,
                          BoundaryType top) {
  test::Random random(521);
  return {Axis(random.widths(nx, 1)).with_boundaries(left, right),
          Axis(random.widths(ny, 1)).with_boundaries(bottom, top)};
}

TEST(Reproducible, NamedMeshes) {
  for (const auto& [name, smoother] : {std::pair{"U1", "colour_gs"},
                                       {"U1", "jacobi"},
                                       {"A3", "adi"},
                                       {"A3", "auto"},
                                       {"A5", "adi"},
                                       {"U1", "line_y"}}) {
    SCOPED_TRACE(testing::Message() << name << ", " << smoother);
    expect_the_same_bits(make_mesh(mesh_family(name), 8), {}, params_of(smoother));
  }
}

TEST(Reproducible, FullMultigridAndRefinement) {
  for (const auto precision : {Precision::mixed, Precision::full})
    for (const auto& [name, smoother] : {std::pair{"U1", "colour_gs"}, {"A3", "adi"}}) {
      SCOPED_TRACE(testing::Message() << name << (precision == Precision::full ? ", double" : ", mixed"));
      auto params = params_of(smoother);
      params.precision = precision;
      params.full_multigrid = params.continue_after_full_multigrid = true;
      expect_the_same_bits(make_mesh(mesh_family(name), 8), {}, params);
    }
}

TEST(Reproducible, EveryMethodAndCycle) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("A3"), 7);
  for (const auto method : values_of<Method>) {
    SCOPED_TRACE(to_string(method));
    auto params = params_of("adi");
    params.method = method;
    params.multigrid.distributed_levels = 2;
    expect_the_same_bits(mesh, {}, params);
  }
  for (const auto cycle : {Cycle::w, Cycle::f, Cycle::w2, Cycle::k}) {
    SCOPED_TRACE(to_string(cycle));
    auto params = params_of("adi");
    params.multigrid.cycle = cycle;
    params.multigrid.distributed_levels = 3;
    if (cycle == Cycle::k) params.method = Method::fcg;
    expect_the_same_bits(mesh, {}, params);
  }
}

TEST(Reproducible, OddSizesAndEverySide) {
  struct Case {
    int nx, ny;
    BoundaryType left, right, bottom, top;
  };
  for (const Case& c :
       {Case{75, 101, dirichlet, dirichlet, dirichlet, dirichlet}, Case{64, 97, neumann, dirichlet, neumann, neumann},
        Case{51, 83, dirichlet, neumann, periodic, periodic}, Case{66, 90, periodic, periodic, dirichlet, neumann},
        Case{45, 64, periodic, periodic, periodic, periodic}})
    for (const char* smoother : {"adi", "colour_gs"})
      for (const auto format : {StorageFormat::tensor, StorageFormat::symmetric, StorageFormat::nine_band}) {
        SCOPED_TRACE(testing::Message() << c.nx << " x " << c.ny << ", " << smoother << ", " << to_string(format));
        const TensorMesh<2> mesh = random_mesh(c.nx, c.ny, c.left, c.right, c.bottom, c.top);
        PoissonProblem problem;
        const double wide = mesh.x().length(), high = mesh.y().length(), pi = std::acos(-1.0);
        problem.rhs = [=](const Point& p) { return std::sin(2 * pi * p.x / wide) + std::cos(2 * pi * p.y / high); };
        const auto side = [](BoundaryType end) {
          BoundaryCondition condition;
          condition.kind = end == dirichlet ? BoundaryConditionType::dirichlet
                           : end == neumann ? BoundaryConditionType::neumann
                                            : BoundaryConditionType::periodic;
          return condition;
        };
        problem.boundaries = {side(c.left), side(c.right), side(c.bottom), side(c.top)};
        auto params = params_of(smoother);
        params.format = format;
        params.multigrid.symmetric = true;
        params.method = Method::cg;
        params.terms = operator_terms(mesh, problem);
        params.multigrid.singular = is_singular(mesh, params.terms);
        expect_the_same_bits(mesh, problem, params);
      }
}

TEST(Reproducible, DeformedMeshes) {
  Context host(Backend::cpu, 1);
  for (const auto& [bottom, top] : {std::pair{dirichlet, dirichlet}, {neumann, neumann}, {periodic, periodic}})
    for (const char* smoother : {"adi", "colour_gs", "auto"}) {
      SCOPED_TRACE(testing::Message() << smoother << ", " << to_string(bottom));
      const MappedMesh mesh = test::wavy(host, random_mesh(51, 83, neumann, neumann, bottom, top));
      PoissonProblem problem;
      problem.rhs = [](const Point& p) { return std::sin(p.x) + p.y; };
      const auto kind = bottom == dirichlet ? BoundaryConditionType::dirichlet
                        : bottom == neumann ? BoundaryConditionType::neumann
                                            : BoundaryConditionType::periodic;
      problem.boundaries.left.kind = problem.boundaries.right.kind = BoundaryConditionType::neumann;
      problem.boundaries.bottom.kind = problem.boundaries.top.kind = kind;
      auto params = params_of(smoother);
      params.interpolation = InterpolationKind::bilinear;
      expect_the_same_bits(mesh, problem, params);
    }
}

TEST(Reproducible, WhatItIsNotFor) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 3);
  auto params = params_of("jacobi");
  params.multigrid.reproducible = true;
  // 7 rows are 3 subdomains.
  const auto four = test::on_subdomains(Backend::cpu, 4, [&](Context& ctx) {
    PoissonSolver(ctx, mesh, params);
    return Values{};
  });
  EXPECT_THAT(four.errors,
              testing::Each(testing::HasSubstr("3 fixed chunks, which cannot be shared by 4 subdomains")));
  Context ctx(Backend::cpu, 1);
  PoissonProblem problem;
  problem.diffusion.xx = ScalarFunction([](const Point& p) { return 1 + p.x; });
  params.coefficients = std::make_shared<const CellCoefficients>(*cell_coefficients(ctx, mesh, problem));
  EXPECT_THAT([&] { PoissonSolver(ctx, mesh, params); },
              testing::ThrowsMessage<UsageError>(testing::HasSubstr("interpolation that follows the coefficients")));
  params.interpolation = InterpolationKind::bilinear;
  EXPECT_NO_THROW(PoissonSolver(ctx, mesh, params));
  params.deflate = {DeflateBy::blocks, 2};
  EXPECT_THAT([&] { PoissonSolver(ctx, mesh, params); },
              testing::ThrowsMessage<UsageError>(testing::HasSubstr("deflation differs by rounding")));
}

}  // namespace
