#include "hypre_box.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <type_traits>
#include <vector>

#ifdef STRATUM_HAVE_HYPRE
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_struct_ls.h>
#include <HYPRE_utilities.h>
#include <mpi.h>
#endif

namespace stratum::apps {

#ifdef STRATUM_HAVE_HYPRE

namespace {

constexpr int bands = BoxSystem::bands;

/// A handle of hypre's, destroyed by the function that belongs to it.
template <class H>
using Owned = std::unique_ptr<std::remove_pointer_t<H>, HYPRE_Int (*)(H)>;

struct Outcome {
  int iterations = 0;
  double setup_seconds = 0, solve_seconds = 0;
};

/// Of `run`, which sets up and solves from zero; on a GPU of its second time.
template <class Run>
Outcome measured(const Hypre& running, const Run& run) {
  Outcome outcome = run();
  Hypre::check("solve");
  if (!running.on_gpu()) return outcome;
  outcome = run();
  Hypre::check("second solve");
  return outcome;
}

Outcome run_struct(const Hypre& running, const std::string& name, HYPRE_StructMatrix matrix, HYPRE_StructVector b,
                   HYPRE_StructVector u, double rtol, int limit) {
  const bool pfmg = name == "PFMG-CG", alone = name == "SMG";
  HYPRE_StructSolver cycle = nullptr;
  if (pfmg) {
    HYPRE_StructPFMGCreate(MPI_COMM_WORLD, &cycle);
    HYPRE_StructPFMGSetRelaxType(cycle, 1);
    // Where cells are flat, the Q1 matrix over its diagonal reaches 9/2, and more than 4/9 of Jacobi's step diverges.
    HYPRE_StructPFMGSetJacobiWeight(cycle, 0.44);
    HYPRE_StructPFMGSetNumPreRelax(cycle, 2);
    HYPRE_StructPFMGSetNumPostRelax(cycle, 2);
    HYPRE_StructPFMGSetSkipRelax(cycle, 0);
    HYPRE_StructPFMGSetTol(cycle, 0);
    HYPRE_StructPFMGSetMaxIter(cycle, 1);
    HYPRE_StructPFMGSetZeroGuess(cycle);
  } else {
    HYPRE_StructSMGCreate(MPI_COMM_WORLD, &cycle);
    HYPRE_StructSMGSetNumPreRelax(cycle, 1);
    HYPRE_StructSMGSetNumPostRelax(cycle, 1);
    HYPRE_StructSMGSetTol(cycle, alone ? rtol : 0);
    HYPRE_StructSMGSetMaxIter(cycle, alone ? limit : 1);
    if (!alone) HYPRE_StructSMGSetZeroGuess(cycle);
  }
  const Owned<HYPRE_StructSolver> cycle_owner(cycle, pfmg ? HYPRE_StructPFMGDestroy : HYPRE_StructSMGDestroy);
  HYPRE_StructSolver cg = nullptr;
  HYPRE_StructPCGCreate(MPI_COMM_WORLD, &cg);
  const Owned<HYPRE_StructSolver> cg_owner(cg, HYPRE_StructPCGDestroy);
  HYPRE_StructPCGSetTol(cg, rtol);
  HYPRE_StructPCGSetTwoNorm(cg, 1);
  HYPRE_StructPCGSetMaxIter(cg, limit);
  HYPRE_StructPCGSetPrecond(cg, pfmg ? HYPRE_StructPFMGSolve : HYPRE_StructSMGSolve,
                            pfmg ? HYPRE_StructPFMGSetup : HYPRE_StructSMGSetup, cycle);
  HYPRE_Int iterations = 0;
  const double begin = running.seconds();
  if (alone)
    HYPRE_StructSMGSetup(cycle, matrix, b, u);
  else
    HYPRE_StructPCGSetup(cg, matrix, b, u);
  const double middle = running.seconds();
  if (alone) {
    HYPRE_StructSMGSolve(cycle, matrix, b, u);
    HYPRE_StructSMGGetNumIterations(cycle, &iterations);
  } else {
    HYPRE_StructPCGSolve(cg, matrix, b, u);
    HYPRE_StructPCGGetNumIterations(cg, &iterations);
  }
  return {static_cast<int>(iterations), middle - begin, running.seconds() - middle};
}

Outcome solve_struct(const Hypre& running, const std::string& name, BoxSystem& system, double rtol, int limit,
                     std::vector<double>& x) {
  std::array<HYPRE_Int, 3> first{}, last{system.n[0] - 1, system.n[1] - 1, system.n[2] - 1};
  HYPRE_StructGrid grid = nullptr;
  HYPRE_StructGridCreate(MPI_COMM_WORLD, 3, &grid);
  const Owned<HYPRE_StructGrid> grid_owner(grid, HYPRE_StructGridDestroy);
  HYPRE_StructGridSetExtents(grid, first.data(), last.data());
  HYPRE_StructGridAssemble(grid);
  HYPRE_StructStencil stencil = nullptr;
  HYPRE_StructStencilCreate(3, bands, &stencil);
  const Owned<HYPRE_StructStencil> stencil_owner(stencil, HYPRE_StructStencilDestroy);
  std::array<HYPRE_Int, bands> numbers{};
  BoxSystem::each_band([&](int band, int dx, int dy, int dz) {
    std::array<HYPRE_Int, 3> offset{dx, dy, dz};
    HYPRE_StructStencilSetElement(stencil, band, offset.data());
    numbers[static_cast<std::size_t>(band)] = band;
  });
  HYPRE_StructMatrix matrix = nullptr;
  HYPRE_StructMatrixCreate(MPI_COMM_WORLD, grid, stencil, &matrix);
  const Owned<HYPRE_StructMatrix> matrix_owner(matrix, HYPRE_StructMatrixDestroy);
  HYPRE_StructMatrixInitialize(matrix);
  HYPRE_StructMatrixSetBoxValues(matrix, first.data(), last.data(), bands, numbers.data(),
                                 running.lend(system.rows).get());
  HYPRE_StructMatrixAssemble(matrix);
  const auto vector = [&](std::vector<double>& values) {
    HYPRE_StructVector made = nullptr;
    HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, &made);
    HYPRE_StructVectorInitialize(made);
    HYPRE_StructVectorSetBoxValues(made, first.data(), last.data(), running.lend(values).get());
    HYPRE_StructVectorAssemble(made);
    return Owned<HYPRE_StructVector>(made, HYPRE_StructVectorDestroy);
  };
  const auto b = vector(system.b), u = vector(x);
  Hypre::check("box");
  const Outcome outcome = measured(running, [&] {
    HYPRE_StructVectorSetConstantValues(u.get(), 0);
    return run_struct(running, name, matrix, b.get(), u.get(), rtol, limit);
  });
  const auto solution = running.lend(x);
  HYPRE_StructVectorGetBoxValues(u.get(), first.data(), last.data(), solution.get());
  running.take_back(solution, x);
  return outcome;
}

Outcome run_boomer(const Hypre& running, const std::string& name, HYPRE_ParCSRMatrix matrix, HYPRE_ParVector b,
                   HYPRE_ParVector u, double rtol, int limit) {
  HYPRE_Solver cg = nullptr, amg = nullptr;
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &cg);
  const Owned<HYPRE_Solver> cg_owner(cg, HYPRE_ParCSRPCGDestroy);
  HYPRE_BoomerAMGCreate(&amg);
  const Owned<HYPRE_Solver> amg_owner(amg, HYPRE_BoomerAMGDestroy);
  HYPRE_BoomerAMGSetStrongThreshold(amg, 0.5);
  if (running.on_gpu()) {
    constexpr HYPRE_Int pmis = 8, extended_e = 18, chebyshev = 16, l1_jacobi = 18;
    HYPRE_BoomerAMGSetStrongThreshold(amg, 0.7);
    HYPRE_BoomerAMGSetCoarsenType(amg, pmis);
    HYPRE_BoomerAMGSetInterpType(amg, extended_e);
    HYPRE_BoomerAMGSetRelaxType(amg, name == "BoomerAMG-CG" ? l1_jacobi : chebyshev);
    HYPRE_BoomerAMGSetRelaxOrder(amg, 0);
    HYPRE_BoomerAMGSetKeepTranspose(amg, 1);
    HYPRE_BoomerAMGSetRAP2(amg, 0);
  }
  HYPRE_BoomerAMGSetTol(amg, 0);
  HYPRE_BoomerAMGSetMaxIter(amg, 1);
  HYPRE_PCGSetTol(cg, rtol);
  HYPRE_PCGSetTwoNorm(cg, 1);
  HYPRE_PCGSetMaxIter(cg, limit);
  HYPRE_PCGSetPrecond(cg, reinterpret_cast<HYPRE_PtrToSolverFcn>(HYPRE_BoomerAMGSolve),
                      reinterpret_cast<HYPRE_PtrToSolverFcn>(HYPRE_BoomerAMGSetup), amg);
  const double begin = running.seconds();
  HYPRE_ParCSRPCGSetup(cg, matrix, b, u);
  const double middle = running.seconds();
  HYPRE_ParCSRPCGSolve(cg, matrix, b, u);
  const double end = running.seconds();
  HYPRE_Int iterations = 0;
  HYPRE_PCGGetNumIterations(cg, &iterations);
  return {static_cast<int>(iterations), middle - begin, end - middle};
}

Outcome solve_boomer(const Hypre& running, const std::string& name, BoxSystem& system, double rtol, int limit,
                     std::vector<double>& x) {
  const auto count = static_cast<HYPRE_Int>(system.count());
  HYPRE_IJMatrix ij = nullptr;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, 0, count - 1, 0, count - 1, &ij);
  const Owned<HYPRE_IJMatrix> matrix_owner(ij, HYPRE_IJMatrixDestroy);
  HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR);
  std::vector<HYPRE_Int> sizes(system.count(), bands);
  HYPRE_IJMatrixSetRowSizes(ij, sizes.data());
  HYPRE_IJMatrixInitialize_v2(ij, HYPRE_MEMORY_HOST);
  for (HYPRE_Int row = 0; row < count; ++row) {
    std::array<HYPRE_Int, bands> columns{};
    std::array<double, bands> entries{};
    HYPRE_Int used = 0;
    BoxSystem::each_band([&](int band, int dx, int dy, int dz) {
      const double entry = system.rows[static_cast<std::size_t>(row) * bands + static_cast<std::size_t>(band)];
      if (entry == 0) return;
      columns[static_cast<std::size_t>(used)] = row + system.step(dx, dy, dz);
      entries[static_cast<std::size_t>(used++)] = entry;
    });
    HYPRE_IJMatrixSetValues(ij, 1, &used, &row, columns.data(), entries.data());
  }
  HYPRE_IJMatrixAssemble(ij);
#ifdef HYPRE_USING_CUDA
  if (running.on_gpu()) HYPRE_IJMatrixMigrate(ij, HYPRE_MEMORY_DEVICE);
#endif
  HYPRE_ParCSRMatrix matrix = nullptr;
  HYPRE_IJMatrixGetObject(ij, reinterpret_cast<void**>(&matrix));
  const auto vector = [&](std::vector<double>& values) {
    HYPRE_IJVector made = nullptr;
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, 0, count - 1, &made);
    HYPRE_IJVectorSetObjectType(made, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(made);
    HYPRE_IJVectorSetValues(made, count, nullptr, running.lend(values).get());
    HYPRE_IJVectorAssemble(made);
    return Owned<HYPRE_IJVector>(made, HYPRE_IJVectorDestroy);
  };
  const auto of_b = vector(system.b), of_x = vector(x);
  HYPRE_ParVector b = nullptr, u = nullptr;
  HYPRE_IJVectorGetObject(of_b.get(), reinterpret_cast<void**>(&b));
  HYPRE_IJVectorGetObject(of_x.get(), reinterpret_cast<void**>(&u));
  Hypre::check("box");
  const Outcome outcome = measured(running, [&] {
    HYPRE_ParVectorSetConstantValues(u, 0);
    return run_boomer(running, name, matrix, b, u, rtol, limit);
  });
  const auto solution = running.lend(x);
  HYPRE_IJVectorGetValues(of_x.get(), count, nullptr, solution.get());
  running.take_back(solution, x);
  return outcome;
}

}  // namespace

SolveReport solve_box_by_hypre(const Hypre& running, const std::string& name, BoxSystem& system, double rtol,
                               int max_iterations) {
  const auto& known = Hypre::solvers(running.on_gpu());
  expects(std::find(known.begin(), known.end(), name) != known.end(), "hypre has no solver '", name, "' here");
  if (static_cast<std::int64_t>(system.rows.size()) > Hypre::most_entries())
    throw ResourceError(message("hypre's integers do not count ", system.rows.size(), " entries of a matrix"));
  struct Trimmed {
    const Hypre& running;
    ~Trimmed() { running.trim_memory(); }
  } const trimmed{running};
  std::vector<double> x(system.count(), 0.0);
  const bool boomer = name.starts_with("BoomerAMG");
  const Outcome outcome = boomer ? solve_boomer(running, name, system, rtol, max_iterations, x)
                                 : solve_struct(running, name, system, rtol, max_iterations, x);
  Hypre::check("solution");
  SolveReport report;
  report.iterations = outcome.iterations;
  report.setup_seconds = outcome.setup_seconds;
  report.solve_seconds = outcome.solve_seconds;
  report.residual = system.residual(x);
  report.initial_residual = report.reference_norm_value = system.residual(std::vector<double>(system.count(), 0.0));
  const bool grew = !(report.residual <= report.initial_residual);
  report.status = report.residual <= 1.01 * rtol * report.reference_norm_value ? Status::converged
                  : grew                                                       ? Status::diverged
                  : report.iterations >= max_iterations                        ? Status::max_iterations
                                                                               : Status::stagnated;
  return report;
}

#else

SolveReport solve_box_by_hypre(const Hypre& /*running*/, const std::string& /*name*/, BoxSystem& /*system*/,
                               double /*rtol*/, int /*max_iterations*/) {
  throw ResourceError("this program was built without hypre (Debian: libhypre-dev)");
}

#endif

}  // namespace stratum::apps
