#pragma once

// PoissonSolver3D on several ranks, threads of this process: what is asked of a solution, and that it is that of one rank.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "backends.hpp"
#include "random.hpp"
#include "subdomains.hpp"

namespace test::box_ranks {

using namespace stratum;
using Kind = BoundaryConditionType;

constexpr Kind D = Kind::dirichlet, N = Kind::neumann, R = Kind::robin, P = Kind::periodic;

inline double wave(const Point3D& p) {
  return std::sin(3 * p.x + 1) * std::cos(2 * p.y) * std::exp(p.z) + p.x * p.y + 0.3;
}

inline PoissonProblem3D problem_of(const std::array<Kind, 6>& kinds, double reaction = 0) {
  PoissonProblem3D problem{.rhs = wave, .reaction = reaction};
  for (std::size_t f = 0; f < kinds.size(); ++f) {
    BoundaryCondition3D& face = problem.boundaries.faces[f];
    face.kind = kinds[f];
    const double shift = 0.1 * static_cast<double>(f);
    if (face.kind != P) face.value = [shift](const Point3D& p) { return wave(p) + shift; };
    if (face.kind == R) face.alpha = [shift](const Point3D&) { return 1.5 + shift; };
  }
  // Not the solution: its errors are numbers like others.
  problem.exact = [](const Point3D& p) { return p.x + 2 * p.y * p.z; };
  return problem;
}

/// What is asked of a solution.
struct Answer {
  Values nodal;  // of all nodes
  SolveReport report;
  BoundaryFluxes3D fluxes;
  SolutionRange3D range;
  RelativeErrors errors;
  std::optional<Compatibility> compatibility;
};

inline std::size_t count_of(const TensorMesh<3>& mesh, int d) {
  return static_cast<std::size_t>(mesh.axis(d).size()) + 1;
}

/// Where a rank's nodes stand among all.
inline std::vector<std::size_t> own_nodes(const TensorMesh<3>& mesh, const NodePlanes& planes) {
  std::array<std::size_t, 3> first{}, n{count_of(mesh, 0), count_of(mesh, 1), count_of(mesh, 2)}, count = n;
  first[static_cast<std::size_t>(planes.axis)] = static_cast<std::size_t>(planes.first);
  count[static_cast<std::size_t>(planes.axis)] = static_cast<std::size_t>(planes.count());
  std::vector<std::size_t> own;
  for (std::size_t k = 0; k < count[2]; ++k)
    for (std::size_t j = 0; j < count[1]; ++j)
      for (std::size_t i = 0; i < count[0]; ++i)
        own.push_back(((first[2] + k) * n[1] + first[1] + j) * n[0] + first[0] + i);
  return own;
}

inline Answer answer_of(PoissonSolver3D& solver, const TensorMesh<3>& mesh, Values& all) {
  Answer answer;
  answer.report = solver.solve();
  const Values own = solver.nodal_solution();
  const auto there = own_nodes(mesh, solver.nodes());
  EXPECT_EQ(own.size(), there.size());
  for (std::size_t n = 0; n < own.size(); ++n) all[there[n]] = own[n];
  answer.fluxes = solver.fluxes();
  answer.range = solver.range();
  answer.errors = solver.relative_errors().value();
  answer.compatibility = solver.compatibility();
  return answer;
}

/// prepare(solver) may give it another right-hand side.
template <class Prepare>
Answer answer_on(Backend backend, int ranks, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                 const PoissonSolver3DParams& params, const Prepare& prepare) {
  Values all(count_of(mesh, 0) * count_of(mesh, 1) * count_of(mesh, 2), std::nan(""));
  std::vector<Answer> answers(static_cast<std::size_t>(ranks));
  const auto result = test::on_subdomains(backend, ranks, [&](Context& ctx) {
    PoissonSolver3D solver(ctx, mesh, problem, params);
    prepare(solver);
    // Planes of nodes that ranks share have the same bits on both.
    const auto own = static_cast<std::size_t>(ranks > 1 ? ctx.communicator()->rank() : 0);
    Values mine(all.size(), std::nan(""));
    answers[own] = answer_of(solver, mesh, mine);
    for (int r = 0; r < ranks; ++r) {
      if (ranks > 1) ctx.communicator()->barrier();
      if (static_cast<int>(own) != r) continue;
      for (std::size_t n = 0; n < all.size(); ++n) {
        if (std::isnan(mine[n])) continue;
        EXPECT_TRUE(std::isnan(all[n]) || all[n] == mine[n]) << "node " << n << " of rank " << r;
        all[n] = mine[n];
      }
    }
    return Values{};
  });
  EXPECT_FALSE(result.failed()) << testing::PrintToString(result.errors);
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.report.history, answers[0].report.history);
    EXPECT_EQ(answer.fluxes.faces, answers[0].fluxes.faces);
    EXPECT_EQ(answer.range.smallest.value, answers[0].range.smallest.value);
  }
  answers[0].nodal = std::move(all);
  return answers[0];
}
inline Answer answer_on(Backend backend, int ranks, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                        const PoissonSolver3DParams& params = {}) {
  return answer_on(backend, ranks, mesh, problem, params, [](PoissonSolver3D&) {});
}

inline void expect_alike(const Answer& answer, const Answer& one, double rounding = 1e-11) {
  EXPECT_EQ(answer.report.status, one.report.status) << answer.report.reason;
  EXPECT_EQ(answer.report.iterations, one.report.iterations);
  EXPECT_LT(test::relative_difference(answer.nodal, one.nodal), rounding);
  double size = 1;
  for (const double flux : one.fluxes.faces) size = std::max(size, std::abs(flux));
  for (std::size_t f = 0; f < 6; ++f) EXPECT_NEAR(answer.fluxes.faces[f], one.fluxes.faces[f], 1e-8 * size) << f;
  EXPECT_NEAR(answer.fluxes.load, one.fluxes.load, 1e-10 * (1 + std::abs(one.fluxes.load)));
  EXPECT_NEAR(answer.fluxes.reaction, one.fluxes.reaction, 1e-9 * size);
  const double range = one.range.range();
  for (const auto& [a, b] : {std::pair{answer.range.smallest, one.range.smallest},
                             {answer.range.largest, one.range.largest},
                             {answer.range.step_from, one.range.step_from}}) {
    EXPECT_NEAR(a.value, b.value, 1e-9 * range);
    EXPECT_EQ(a.x, b.x);
    EXPECT_EQ(a.y, b.y);
    EXPECT_EQ(a.z, b.z);
  }
  EXPECT_EQ(answer.range.edge.node, one.range.edge.node);
  EXPECT_EQ(answer.range.edge.axis, one.range.edge.axis);
  EXPECT_NEAR(answer.range.change_of_flux, one.range.change_of_flux, 1e-7 * (1 + one.range.change_of_flux));
  EXPECT_NEAR(answer.range.smallest_on_boundary, one.range.smallest_on_boundary, 1e-9 * range);
  EXPECT_NEAR(answer.range.largest_on_boundary, one.range.largest_on_boundary, 1e-9 * range);
  EXPECT_NEAR(answer.errors.l2, one.errors.l2, 1e-9 * one.errors.l2);
  EXPECT_NEAR(answer.errors.largest, one.errors.largest, 1e-9 * one.errors.largest);
  EXPECT_NEAR(answer.errors.energy, one.errors.energy, 1e-9 * one.errors.energy);
  ASSERT_EQ(answer.compatibility.has_value(), one.compatibility.has_value());
  if (one.compatibility) {
    EXPECT_NEAR(answer.compatibility->mean, one.compatibility->mean, 1e-9);
  }
}

inline TensorMesh<3> random_mesh(Random& random, int nx, int ny, int nz) {
  return {Axis(random.widths(nx, 1)), Axis(random.widths(ny, 1)), Axis(random.widths(nz, 1))};
}

}  // namespace test::box_ranks
