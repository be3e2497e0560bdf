// own_rows [N]: a matrix whose rows lie on the ranks of an MPI communicator, one after another, N x N unknowns in all:
//     mpirun -n 2 own_rows
// -div(k grad u) with k jumping by 1000 and u = 0 on the boundaries.

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <stratum/mpi.hpp>
#include <stratum/stratum.hpp>

using namespace stratum;

static double k_between(int n, double i, double j) {
  return i > n / 3. && i < 2 * n / 3. && j > n / 3. && j < 2 * n / 3. ? 1000 : 1;
}

static int solve(MPI_Comm comm, int n) {
  Context ctx(Backend::cpu, 1);
  ctx.set_communicator(mpi_communicator(comm));
  const int rank = ctx.communicator()->rank(), first = n * n / ctx.subdomains() * rank,
            end = rank + 1 == ctx.subdomains() ? n * n : n * n / ctx.subdomains() * (rank + 1);
  std::vector<int> start{0}, column;  // columns are numbers of the whole matrix
  std::vector<double> value;
  for (int row = first; row < end; ++row) {
    const int i = row % n, j = row / n;
    double diagonal = 0;
    for (const auto& [dx, dy] : {std::pair{0, -1}, {-1, 0}, {1, 0}, {0, 1}}) {
      const double k = k_between(n, i + dx / 2., j + dy / 2.);
      diagonal += k;
      if (i + dx < 0 || i + dx == n || j + dy < 0 || j + dy == n) continue;
      column.push_back(row + dx + n * dy);
      value.push_back(-k);
    }
    column.push_back(row);
    value.push_back(diagonal);
    start.push_back(static_cast<int>(value.size()));
  }
  const std::vector<double> b(start.size() - 1, 1.0);
  std::vector<double> x(b.size());
  MatrixSolver solver = MatrixSolver::from_csr(ctx, start, column, value, n, n);
  const SolveReport report = solver(ctx, b, x);
  if (rank == 0)
    std::printf("%d iterations on %d ranks, residual %.1e\n", report.iterations, ctx.subdomains(),
                report.residual / report.reference_norm_value);
  return exit_code(report.status);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 1;
  try {
    code = solve(MPI_COMM_WORLD, argc > 1 ? std::atoi(argv[1]) : 255);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "own_rows: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, code);  // the others wait for this rank
  }
  MPI_Finalize();
  return code;
}
