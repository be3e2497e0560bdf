// own_ranks [LEVEL]: a Poisson problem on the ranks of an MPI communicator, each with a subdomain of the unknowns:
//     mpirun -n 2 own_ranks

#include <cstdio>
#include <cstdlib>

#include <stratum/mpi.hpp>
#include <stratum/stratum.hpp>

using namespace stratum;

static int solve(MPI_Comm comm, int level) {
  Context ctx(Backend::cpu, 1);
  ctx.set_communicator(mpi_communicator(comm));
  const TensorMesh mesh = make_mesh(mesh_family("A3"), level);  // the same on all ranks
  PoissonSolver solver(ctx, mesh);
  const GridLayout<2> rows = solver.fine_operator().shape();  // this rank's
  Field<double> b(ctx, rows), u(ctx, rows);
  assemble_load(ctx, mesh, PoissonProblem{}, b);
  const SolveReport report = solver.solve(ctx, b.cview(), u.view());
  const auto error = relative_l2_error(ctx, mesh, PoissonProblem{}, u);
  if (ctx.communicator()->rank() == 0)
    std::printf("%d cycles on %d ranks, error %.2e\n", report.iterations, ctx.subdomains(), *error);
  return exit_code(report.status);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 1;
  try {
    code = solve(MPI_COMM_WORLD, argc > 1 ? std::atoi(argv[1]) : 7);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "own_ranks: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, code);  // the others wait for this rank
  }
  MPI_Finalize();
  return code;
}
