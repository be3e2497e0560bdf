// Published tables and the numbers of the design. Goeddeke, Strzodka, Cyclic Reduction Tridiagonal Solvers on GPUs Applied to
// Mixed Precision Multigrid, 2011, Tables 1 to 4. The column `exact` is the error of the discrete solution, from a scaled
// sparse direct solve with refinement.

#include <cmath>
#include <tuple>
#include <utility>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/backends.hpp"
#include "support/heavy.hpp"

namespace {

using namespace stratum;

const std::pair<const char*, double> exact_errors_at_level_8[] = {
    {"U1", 1.7344897e-5}, {"U2", 1.6946284e-5}, {"U3", 1.6603654e-5}, {"A1", 2.2559218e-5},
    {"A2", 3.3671241e-5}, {"A3", 4.9063091e-5}, {"A4", 6.3654675e-5}, {"A5", 6.6448041e-5}};

/// V-cycles with zebra ADI, 4 + 4 sweeps, to 1e-8, at level 8.
const std::pair<const char*, int> zebra_cycles[] = {{"U1", 6}, {"U2", 5}, {"U3", 6}, {"A1", 6},
                                                    {"A2", 6}, {"A3", 6}, {"A4", 7}, {"A5", 10}};

struct Solution {
  SolveReport report;
  double error = 0;
  Field<double> x;
};

class Published : public test::OnEveryBackend {
 protected:
  Solution solve(const char* mesh_name, int level, const PoissonSolverParams& params) {
    const auto mesh = make_mesh(mesh_family(mesh_name), level);
    Solution s;
    Field<double> b(ctx(), mesh.unknowns());
    s.x = Field<double>(ctx(), mesh.unknowns());
    assemble_load(ctx(), mesh, {}, b);
    PoissonSolver solver(ctx(), mesh, params);
    s.report = solver.solve(ctx(), b.cview(), s.x.view());
    s.error = relative_l2_error(ctx(), mesh, {}, s.x).value();
    return s;
  }
  static PoissonSolverParams with(Precision precision, double rtol = 1e-8) {
    PoissonSolverParams params;
    params.precision = precision;
    params.stop.rtol = rtol;
    params.multigrid.sweeps = 4;
    params.multigrid.exact_below = 0;  // published cycles go down to level 0
    return params;
  }
  static PoissonSolverParams with_smoother(const char* smoother, LineOrder order = LineOrder::zebra, int sweeps = 4) {
    auto params = with(Precision::full);
    params.multigrid.smoother = smoother;
    params.multigrid.smoother_params.line_order = order;
    params.multigrid.sweeps = sweeps;
    return params;
  }
  void expect_cycles(const char* mesh, int level, const PoissonSolverParams& params, int expected, int slack = 0) {
    const auto s = solve(mesh, level, params);
    EXPECT_EQ(s.report.status, Status::converged) << mesh << ": " << s.report.reason;
    EXPECT_NEAR(s.report.iterations, expected, slack) << mesh << " level " << level;
    EXPECT_LE(s.report.relative_residual(), params.stop.rtol) << mesh;
  }
};
INSTANTIATE_ON_EVERY_BACKEND(Published);

// --- accuracy -----------------------------------------------------------------------------------------------------------

TEST_P(Published, Table2ErrorsInDouble) {
  for (const auto& [mesh, error] : exact_errors_at_level_8) {
    const auto s = solve(mesh, 8, with(Precision::full, 1e-10));
    EXPECT_EQ(s.report.status, Status::converged) << mesh << ": " << s.report.reason;
    EXPECT_NEAR(s.error / error, 1, 1e-4) << mesh;
  }
}

TEST_P(Published, Table2ErrorsInMixedPrecision) {
  for (const auto& [mesh, error] : exact_errors_at_level_8) {
    const auto s = solve(mesh, 8, with(Precision::mixed, 1e-10));
    EXPECT_EQ(s.report.status, Status::converged) << mesh << ": " << s.report.reason;
    EXPECT_NEAR(s.error / error, 1, 1e-4) << mesh;
  }
}

TEST_P(Published, Table2ErrorsInEveryForm) {
  for (const auto format : test::every_storage_format)
    for (const std::size_t k : {1U, 5U, 7U}) {
      const auto& [mesh, error] = exact_errors_at_level_8[k];
      auto params = with(Precision::mixed, 1e-10);
      params.format = format;
      const auto s = solve(mesh, 8, params);
      EXPECT_EQ(s.report.status, Status::converged) << mesh << ": " << s.report.reason;
      EXPECT_NEAR(s.error / error, 1, 1e-4) << mesh << ", " << to_string(format);
    }
}

TEST_P(Published, Table1ErrorsOnU1) {
  const std::pair<int, double> table[] = {{2, 7.1663606e-2}, {3, 1.7802586e-2}, {4, 4.4429161e-3}, {5, 1.1102363e-3},
                                          {6, 2.7752805e-4}, {7, 6.9380191e-5}, {8, 1.7344895e-5}, {9, 4.3362264e-6}};
  for (const auto& [level, error] : table)
    EXPECT_NEAR(solve("U1", level, with(Precision::mixed, 1e-10)).error / error, 1, 1e-5) << "level " << level;
}

// The published single-precision column, whose matrices are stored as bands: 2.24e-4 at level 9, where the discretisation
// error is 4.34e-6. The residual that the solver sees falls to the tolerance, the true one does not.
TEST_P(Published, SinglePrecisionFailsAndSaysSo) {
  for (const auto format : test::every_storage_format) {
    SCOPED_TRACE(to_string(format));
    auto params = with(Precision::single);
    params.format = format;
    const auto s = solve("U1", 9, params);
    EXPECT_NE(s.report.status, Status::converged);
    EXPECT_GT(s.report.relative_residual(), 1e-5);
    EXPECT_LT(s.report.history.back() / s.report.history.front(), 1e-8);
    EXPECT_NE(s.report.reason.find("true"), std::string::npos) << s.report.reason;
    // The tensor operator takes differences of x before it multiplies, and so keeps the error where others lose it. How much
    // they lose is a matter of rounding: 2.3e-4 with fused multiply-add, 2.0e-5 without.
    if (traits(format).has_bands) {
      EXPECT_GT(s.error, 3 * 4.3362264e-6);
    }
  }
}

TEST_P(Published, RefinementDividesTheErrorByFour) {
  for (const char* mesh : {"U3", "A1", "A3", "A5"}) {
    double previous = 0;
    for (const int level : {7, 8, 9}) {
      const double error = solve(mesh, level, with(Precision::mixed, 1e-10)).error;
      if (previous > 0) {
        EXPECT_NEAR(previous / error, 4, 0.01) << mesh << " level " << level;
      }
      previous = error;
    }
  }
}

TEST_P(Published, A5AtLevels10And11DividesTheErrorByFour) {
  HEAVY_TEST();
  for (const auto precision : {Precision::mixed, Precision::full}) {
    double previous = 0;
    for (const int level : {9, 10, 11}) {
      const auto s = solve("A5", level, with(precision));
      EXPECT_EQ(s.report.status, Status::converged) << s.report.reason;
      if (previous > 0) {
        EXPECT_NEAR(previous / s.error, 4, 0.005) << "level " << level;
      }
      previous = s.error;
    }
  }
}

// --- numbers of cycles --------------------------------------------------------------------------------------------------

TEST_P(Published, ZebraCyclesInDouble) {
  for (const auto& [mesh, cycles] : zebra_cycles) expect_cycles(mesh, 8, with(Precision::full), cycles);
}

TEST_P(Published, ZebraCyclesInMixedPrecision) {
  for (const auto& [mesh, cycles] : zebra_cycles) expect_cycles(mesh, 8, with(Precision::mixed), cycles, 1);
}

TEST_P(Published, ZebraCyclesAtLevel9) {
  for (const auto& [mesh, cycles] : zebra_cycles) expect_cycles(mesh, 9, with(Precision::mixed), cycles, 1);
}

TEST_P(Published, ZebraCyclesAtLevel10) {
  HEAVY_TEST();
  for (const auto precision : {Precision::mixed, Precision::full})
    for (const auto& [mesh, cycles] : zebra_cycles) expect_cycles(mesh, 10, with(precision), cycles, 1);
}

TEST_P(Published, SimultaneousCycles) {
  const std::pair<const char*, int> table[] = {{"U1", 6}, {"U2", 6}, {"U3", 7},  {"A1", 6},
                                               {"A2", 6}, {"A3", 6}, {"A4", 10}, {"A5", 13}};
  for (const auto& [mesh, cycles] : table)
    expect_cycles(mesh, 8, with_smoother("adi", LineOrder::simultaneous), cycles);
}

TEST_P(Published, ZebraCyclesWithTwoSteps) {
  const std::pair<const char*, int> table[] = {{"U1", 8}, {"A1", 8}, {"A3", 7}, {"A4", 10}, {"A5", 13}};
  for (const auto& [mesh, cycles] : table) expect_cycles(mesh, 8, with_smoother("adi", LineOrder::zebra, 2), cycles);
}

TEST_P(Published, ColourGaussSeidelCycles) {
  const std::pair<const char*, int> table[] = {{"U1", 4}, {"U2", 12}, {"A1", 6}, {"A2", 45}};
  for (const auto& [mesh, cycles] : table) expect_cycles(mesh, 8, with_smoother("colour_gs"), cycles);
}

TEST_P(Published, JacobiCycles) {
  const std::pair<const char*, int> table[] = {{"U1", 6}, {"A1", 39}};
  for (const auto& [mesh, cycles] : table) expect_cycles(mesh, 8, with_smoother("jacobi"), cycles);
  auto params = with_smoother("jacobi");
  params.stop.max_iterations = 60;
  EXPECT_EQ(solve("U2", 8, params).report.status, Status::max_iterations);
}

TEST_P(Published, JacobiDivergesOnA2) {
  for (const auto precision : {Precision::full, Precision::mixed}) {
    auto params = with_smoother("jacobi");
    params.precision = precision;
    const auto s = solve("A2", 8, params);
    EXPECT_EQ(s.report.status, Status::diverged) << s.report.reason;
    EXPECT_EQ(exit_code(s.report.status), 3);
  }
}

// Undamped, simultaneous lines stall on U3: a mean of 0.77 a cycle over sixty, 0.84 in the end.
TEST_P(Published, UndampedSimultaneousLinesStallOnU3) {
  auto params = with_smoother("adi", LineOrder::simultaneous);
  params.multigrid.smoother_params.damping = 1;
  params.stop.max_iterations = 60;
  const auto s = solve("U3", 8, params);
  EXPECT_EQ(s.report.status, Status::max_iterations);
  EXPECT_NEAR(s.report.convergence_rate(), 0.77, 0.01);
  EXPECT_NEAR(s.report.history[60] / s.report.history[59], 0.84, 0.01);
}

// Mirroring the post-smoothing is for conjugate gradients, and costs cycles when the cycle is used alone.
TEST_P(Published, SymmetricCycles) {
  const std::pair<const char*, int> table[] = {{"U1", 7}, {"A3", 7}, {"A4", 9}, {"A5", 11}};
  for (const auto& [mesh, cycles] : table) {
    auto params = with(Precision::full);
    params.multigrid.symmetric = true;
    expect_cycles(mesh, 8, params, cycles);
  }
}

// Table 3 and 4, digit1 to digit3: outer updates with the inner solver stopped by digits.
TEST_P(Published, InnerDigitsSaveOuterUpdates) {
  for (const char* mesh : {"U1", "A2", "A4", "A5"})
    for (const int digits : {1, 2, 3}) {
      auto params = with(Precision::mixed);
      params.inner.rtol = std::pow(10.0, -digits);
      const auto s = solve(mesh, 8, params);
      EXPECT_EQ(s.report.status, Status::converged) << mesh << ": " << s.report.reason;
      // Each update gains `digits` digits or a little more; the last need not be whole.
      EXPECT_LE(s.report.iterations, 8 / digits + 1) << mesh << ", " << digits << " digits";
      EXPECT_GE(s.report.iterations, digits == 1 ? 3 : 2) << mesh;
      EXPECT_GE(s.report.inner_iterations, s.report.iterations) << mesh;
      EXPECT_LE(s.report.inner_iterations, 32 * s.report.iterations) << mesh;
      EXPECT_LE(s.report.inner_iterations, 24) << mesh << ": published 6 to 15";
    }
}

TEST_P(Published, InnerCyclesSaveOuterUpdates) {
  // outer updates with 2 and 3 inner cycles: Table 3
  for (const auto& [mesh, two, three] : {std::tuple{"U1", 3, 3}, {"A2", 3, 2}, {"A3", 3, 3}, {"A5", 6, 4}})
    for (const int cycles : {2, 3}) {
      auto params = with(Precision::mixed);
      params.inner.cycles = cycles;
      const auto s = solve(mesh, 8, params);
      EXPECT_EQ(s.report.status, Status::converged) << mesh << ": " << s.report.reason;
      EXPECT_NEAR(s.report.iterations, cycles == 2 ? two : three, 1) << mesh << ", " << cycles << " cycles";
      EXPECT_EQ(s.report.inner_iterations, cycles * s.report.iterations);
    }
}

// --- full multigrid -----------------------------------------------------------------------------------------------------

TEST_P(Published, FullMultigridReachesTheDiscretisationErrorInOnePass) {
  for (const auto precision : {Precision::mixed, Precision::full})
    for (const auto& [mesh, exact] : exact_errors_at_level_8) {
      if (mesh[0] == 'U' && mesh[1] != '1') continue;  // U2 and U3 need V(4,4): their errors cancel with one V(2,2)
      auto params = with(precision);
      params.multigrid.sweeps = 2;
      params.full_multigrid = true;
      const auto s = solve(mesh, 8, params);
      EXPECT_EQ(s.report.status, Status::converged) << mesh << ": " << s.report.reason;
      EXPECT_EQ(s.report.iterations, 1) << mesh;
      EXPECT_LT(s.error / exact, 1.1) << mesh;
      EXPECT_GT(s.error / exact, 0.9) << mesh << ": an error below the discretisation's flatters";
    }
}

// The ratio of errors can flatter, so measure the distance to the discrete solution too.
TEST_P(Published, FullMultigridIsCloseToTheDiscreteSolution) {
  for (const char* mesh : {"U1", "U3", "A2", "A5"}) {
    auto params = with(Precision::mixed);
    params.full_multigrid = true;  // V(4,4)
    auto pass = solve(mesh, 8, params);
    const auto discrete = solve(mesh, 8, with(Precision::full, 1e-10));
    const double error = discrete.error * norm2(ctx(), discrete.x.cview());
    axpy(ctx(), -1.0, discrete.x.cview(), pass.x.view());
    EXPECT_LT(norm2(ctx(), pass.x.cview()) / error, 0.75) << mesh;
  }
}

TEST_P(Published, FullMultigridGoesOnToATolerance) {
  for (const char* mesh : {"U1", "A4"}) {
    auto params = with(Precision::mixed);
    const int cycles = solve(mesh, 8, params).report.iterations;
    params.full_multigrid = params.continue_after_full_multigrid = true;
    const auto s = solve(mesh, 8, params);
    EXPECT_EQ(s.report.status, Status::converged) << s.report.reason;
    EXPECT_LE(s.report.relative_residual(), 1e-8);
    EXPECT_LE(s.report.iterations, cycles) << mesh << ": the pass must not be in vain";
    EXPECT_EQ(s.report.history.size(), static_cast<std::size_t>(s.report.iterations) + 1);
  }
}

// The pass leaves its residual to the cycles; nobody sees that.
TEST_P(Published, FullMultigridThatGoesOnReportsEveryIterationOnce) {
  for (const auto precision : {Precision::mixed, Precision::full}) {
    auto params = with(precision);
    params.full_multigrid = params.continue_after_full_multigrid = true;
    const auto mesh = make_mesh(mesh_family("A3"), 6);
    Field<double> b(ctx(), mesh.unknowns()), x(ctx(), mesh.unknowns());
    assemble_load(ctx(), mesh, {}, b);
    PoissonSolver solver(ctx(), mesh, params);
    std::vector<double> seen;
    const auto report = solver.solve(ctx(), b.cview(), x.view(), [&](int iteration, double residual) {
      EXPECT_EQ(static_cast<std::size_t>(iteration), seen.size());
      seen.push_back(residual);
    });
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_EQ(seen, report.history);
    EXPECT_EQ(seen.front(), norm2(ctx(), b.cview()));
    EXPECT_EQ(report.iterations, report.inner_iterations);
  }
}

// --- Krylov methods around the cycle ------------------------------------------------------------------------------------

/// The iterations that CG with the symmetric zebra-ADI V(4,4) cycle in float may take, and GCR and GMRES with the ordinary one.
const std::pair<const char*, int> krylov_iterations[] = {{"U1", 5}, {"A3", 6}, {"A4", 6}, {"A5", 7}};

TEST_P(Published, KrylovIterationsAtLevels8And9) {
  for (const int level : {8, 9})
    for (const auto& [mesh, most] : krylov_iterations)
      for (const auto method : {Method::cg, Method::fcg, Method::gcr, Method::gmres}) {
        auto params = with(Precision::mixed);
        params.method = method;
        const auto s = solve(mesh, level, params);
        EXPECT_EQ(s.report.status, Status::converged) << mesh << ": " << s.report.reason;
        EXPECT_LE(s.report.iterations, most) << mesh << " level " << level << ", " << to_string(method);
      }
}

TEST_P(Published, KrylovIterationsAtLevel10) {
  HEAVY_TEST();
  for (const auto& [mesh, most] : krylov_iterations)
    for (const auto method : {Method::cg, Method::gcr}) {
      auto params = with(Precision::mixed);
      params.method = method;
      const auto s = solve(mesh, 10, params);
      EXPECT_EQ(s.report.status, Status::converged) << mesh << ": " << s.report.reason;
      // On A4 CG misses 1e-8 by little in its sixth iteration, in double too.
      const bool one_more = method == Method::cg && std::string_view(mesh) == "A4";
      EXPECT_LE(s.report.iterations, most + (one_more ? 1 : 0)) << mesh << ", " << to_string(method);
    }
}

TEST_P(Published, EveryMethodGivesThePublishedErrors) {
  for (const auto method : values_of<Method>)
    for (const auto& [mesh, error] : exact_errors_at_level_8) {
      if (mesh != std::string_view("U1") && mesh != std::string_view("A3")) continue;
      for (const auto precision : {Precision::mixed, Precision::full}) {
        auto params = with(precision, 1e-10);
        params.method = method;
        const auto s = solve(mesh, 8, params);
        EXPECT_EQ(s.report.status, Status::converged) << mesh << ": " << s.report.reason;
        EXPECT_LE(s.report.iterations, 12) << mesh << ", " << to_string(method);
        EXPECT_NEAR(s.error / error, 1, 1e-4) << mesh << ", " << to_string(method);
      }
    }
}

/// Point smoothers where cells are stretched: a cycle that stalls alone is a good preconditioner.
TEST_P(Published, CgRescuesPointSmoothers) {
  const std::tuple<const char*, const char*, int, int> table[] = {
      {"U2", "jacobi", 97, 24}, {"U2", "colour_gs", 12, 9}, {"A1", "jacobi", 39, 16}, {"A1", "colour_gs", 6, 6}};
  for (const auto& [mesh, smoother, alone, most] : table) {
    auto params = with(Precision::mixed);
    params.multigrid.smoother = smoother;
    expect_cycles(mesh, 8, params, alone, 1);
    params.method = Method::cg;
    const auto s = solve(mesh, 8, params);
    EXPECT_EQ(s.report.status, Status::converged) << s.report.reason;
    EXPECT_LE(s.report.iterations, most) << mesh << ", " << smoother;
  }
}

}  // namespace
