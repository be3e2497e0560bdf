// Solves a sparse system of one's own: here -div(k grad u) = 1 by five-point differences, k jumping by 1000, in CSR.
#include <cstdio>
#include <vector>

#include <stratum/stratum.hpp>

int main() {
  using namespace stratum;
  const int n = 255;
  const auto k = [](int i, int j) { return i > 60 && i < 140 && j > 90 && j < 200 ? 1000.0 : 1.0; };
  std::vector<int> start{0}, column;
  std::vector<double> value;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {  // node (i, j) is row j n + i
      double diagonal = 0;
      for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
        const double conductivity = 2 / (1 / k(i, j) + 1 / k(i + dx, j + dy));
        diagonal += conductivity;
        if (i + dx < 0 || i + dx >= n || j + dy < 0 || j + dy >= n) continue;
        column.push_back((j + dy) * n + i + dx);
        value.push_back(-conductivity);
      }
      column.push_back(j * n + i);
      value.push_back(diagonal);
      start.push_back(static_cast<int>(column.size()));
    }

  Context ctx;  // Context ctx(Backend::cuda) on a GPU
  MatrixSolver solver = MatrixSolver::from_csr(ctx, start, column, value, n, n);
  std::vector<double> b(n * n, 1.0), x(n * n, 0.0);
  const SolveReport report = solver(ctx, b, x);
  std::printf("%s after %d iterations of %s: %s\n", std::string(to_string(report.status)).c_str(), report.iterations,
              std::string(to_string(*solver.solver().params().method)).c_str(), report.reason.c_str());
  return exit_code(report.status);
}
