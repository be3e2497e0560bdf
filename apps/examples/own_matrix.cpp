// Solves a nine-band system of one's own: here -div(k grad u) = 1 by five-point differences, k jumping by 1000.
#include <cstdio>
#include <vector>

#include <stratum/core/grid/blas.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/precision_cast.hpp>

int main() {
  using namespace stratum;
  const int n = 255;
  const GridShape grid{n, n};
  const auto k = [](int i, int j) { return i > 60 && i < 140 && j > 90 && j < 200 ? 1000.0 : 1.0; };
  std::vector<std::vector<double>> bands(9, std::vector<double>(n * n));  // (i, j) at j * n + i
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
        const double conductivity = 2 / (1 / k(i, j) + 1 / k(i + dx, j + dy));
        bands[band_index(0, 0)][j * n + i] += conductivity;
        const bool inside = i + dx >= 0 && i + dx < n && j + dy >= 0 && j + dy < n;
        if (inside) bands[band_index(dx, dy)][j * n + i] = -conductivity;
      }

  Context ctx;  // Context ctx(Backend::cuda) on a GPU
  NineBandMatrix<double> matrix(ctx, grid);
  for (int band = 0; band < 9; ++band) copy_from_host(ctx, bands[band].data(), matrix.band[band].view());
  const GridOperator<double> a(std::move(matrix));
  MultigridParams params;
  params.symmetric = true;                 // A is, and CG wants it
  Multigrid<float> cycle(ctx, a, params);  // coarse operators are Galerkin products
  PrecisionCast<double, float> m(ctx, grid, cycle);
  Vector<double> b(ctx, grid), x(ctx, grid);
  set(ctx, 1.0, b.view());
  const auto report = ConjugateGradients<double>(ctx, grid).solve(ctx, a, &m, b.cview(), x.view(), {});
  std::printf("%s after %d iterations: %s\n", std::string(to_string(report.status)).c_str(), report.iterations,
              report.reason.c_str());
  return exit_code(report.status);
}
