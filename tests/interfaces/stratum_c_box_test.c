/* Matrices on boxes by the C interface: what it computes, and what it says when misused. Fails at the first surprise. */
#include <math.h>
#include <string.h>

#include "stratum_c_checks.h"

enum { nx = 14, ny = 12, nz = 11, size = nx * ny * nz };

static int start[size + 1], column[7 * size];
static int64_t wide_start[size + 1], wide_column[7 * size];
static double value[7 * size], b[size], x[size], y[size];

/* -u_xx - u_yy - c u_zz + v u_x, upwind where x is low and downwind where it is high, by seven points; u = 0 around, or no flux. */
static void set_rows(double c, double v, int held) {
  int e = 0;
  for (int row = 0; row < size; ++row) {
    const int p[3] = {row % nx, row / nx % ny, row / nx / ny}, n[3] = {nx, ny, nz}, step[3] = {1, nx, nx * ny};
    int diagonal = 0;
    start[row] = e;
    value[diagonal = e] = 0;
    column[e++] = row;
    for (int d = 0; d < 3; ++d)
      for (int side = -1; side <= 1; side += 2) {
        const int inside = p[d] + side >= 0 && p[d] + side < n[d];
        const double wind = d == 0 ? v * (2.0 * p[1] / ny - 1) : 0;
        const double a = (d == 2 ? c : 1) + (side * wind < 0 ? fabs(wind) : 0);
        if (!inside && !held) continue;
        value[diagonal] += a;
        if (!inside) continue;
        value[e] = -a;
        column[e++] = row + side * step[d];
      }
  }
  start[size] = e;
  for (int k = 0; k <= size; ++k) wide_start[k] = start[k];
  for (int k = 0; k < e; ++k) wide_column[k] = column[k];
}

static double residual_norm(const double* u) {
  double sum = 0;
  for (int row = 0; row < size; ++row) {
    double r = b[row];
    for (int e = start[row]; e < start[row + 1]; ++e) r -= value[e] * u[column[e]];
    sum += r * r;
  }
  return sqrt(sum);
}

static stratum_solver* made(const stratum_options* options) {
  return stratum_create_box_csr(size, start, column, value, nx, ny, nz, NULL, NULL, NULL, options);
}

static void solves(stratum_options options, double v, int most) {
  set_rows(1, v, 1);
  stratum_solver* solver = made(&options);
  stratum_result result;
  memset(y, 0, sizeof y);
  const double norm_of_b = residual_norm(y);
  CHECK(solver != NULL && says(solver, "") && latest[0] == 0);
  for (int round = 0; round < 2; ++round) {
    memset(x, 0, sizeof x);
    CHECK(stratum_solve(solver, b, x, &result) == STRATUM_CONVERGED);
    CHECK(result.iterations >= 1 && result.iterations <= most);
    CHECK(fabs(result.residual - residual_norm(x)) <= 1e-10 * result.initial_residual);
    CHECK(result.residual <= 1e-8 * result.initial_residual * (1 + 1e-9));
    CHECK(stratum_solve(solver, b, x, &result) == STRATUM_CONVERGED && result.iterations == 0);
    CHECK(stratum_apply(solver, b, y) == STRATUM_CONVERGED);
    if (v == 0) CHECK(residual_norm(y) < 0.5 * norm_of_b);
    set_rows(100, v, 1);
    CHECK(stratum_set_values(solver, value) == STRATUM_CONVERGED);
  }
  stratum_destroy(solver);
  solver = stratum_create_box_csr64(size, wide_start, wide_column, value, nx, ny, nz, NULL, NULL, NULL, &options);
  memcpy(y, x, sizeof y);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_CONVERGED && residual_norm(x) <= 1.001e-8 * norm_of_b);
  CHECK(memcmp(x, y, sizeof x) == 0);
  stratum_destroy(solver);
}

static void misuse_is_reported(void) {
  set_rows(1, 0, 1);
  stratum_solver* solver = stratum_create_box_csr(size, start, column, value, nx, ny, nz + 1, NULL, NULL, NULL, NULL);
  CHECK(says(solver, "does not fit a grid of 14 x 12 x 12 nodes") &&
        stratum_solve(solver, b, x, NULL) == STRATUM_USAGE);
  stratum_destroy(solver);
  solver = stratum_create_box_csr(size, start, column, value, nx, 3 * ny, nz / 3, NULL, NULL, NULL, NULL);
  CHECK(says(solver, "does not fit"));
  stratum_destroy(solver);
  solver = stratum_create_box_csr(size, start, column, value, 2 * nx, ny / 2, nz, NULL, NULL, NULL, NULL);
  CHECK(says(solver, "which are no neighbours"));
  stratum_destroy(solver);
  stratum_options options = stratum_default_options();
  int numbering[size];
  for (int k = 0; k < size; ++k) numbering[k] = k;
  options.numbering = numbering;
  solver = stratum_create_box_csr(size, start, column, value, 1000, 1000, 1000, NULL, NULL, NULL, &options);
  CHECK(says(solver, "does not fit a grid of 1000 x 1000 x 1000 nodes"));
  stratum_destroy(solver);
  solver = made(&options);
  CHECK(says(solver, "") && latest[0] == 0);
  stratum_destroy(solver);
  options = stratum_default_options();
  options.smoother = "adi";
  solver = made(&options);
  CHECK(says(solver, "smoother is 'auto'"));
  stratum_destroy(solver);
  options = stratum_default_options();
  options.solver = "cg";
  set_rows(1, 1.5, 1);
  solver = made(&options);
  CHECK(says(solver, "use gmres or bicgstab"));
  CHECK(stratum_set_coefficients(solver, value) == STRATUM_USAGE);
  stratum_destroy(solver);
}

static void singular_matrices_and_widths(void) {
  stratum_options options = stratum_default_options();
  stratum_result result;
  double widths[nx + 1], mean = 0;
  for (int i = 0; i <= nx; ++i) widths[i] = 1;
  widths[0] = 1e-9; /* beyond a Neumann boundary */
  options.project = 1;
  set_rows(1, 0, 0);
  stratum_solver* solver = stratum_create_box_csr(size, start, column, value, nx, ny, nz, widths, NULL, NULL, &options);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, &result) == STRATUM_CONVERGED && result.iterations <= 14);
  for (int k = 0; k < size; ++k) mean += x[k] / size;
  CHECK(fabs(mean) < 1e-10);
  stratum_destroy(solver);
  options.project = 0;
  solver = made(&options);
  b[0] += 1;
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_USAGE && says(solver, "there is no solution"));
  b[0] -= 1;
  stratum_destroy(solver);
}

int main(void) {
  stratum_options options = stratum_default_options();
  for (int i = 0; i < size; ++i) b[i] = i % 7 - 2.5;
  options.threads = 2;
  solves(options, 0, 12);
  solves(options, 1.5, 25);
  options.single_precision = 1;
  solves(options, 0, 12);
  options.solver = "bicgstab";
  solves(options, 1.5, 20);
  misuse_is_reported();
  singular_matrices_and_widths();
  options = stratum_default_options();
  options.backend = STRATUM_CUDA;
  set_rows(1, 0, 1);
  stratum_solver* solver = made(&options);
  if (stratum_solve(solver, b, x, NULL) == STRATUM_CONVERGED) {
    solves(options, 0, 12);
    solves(options, 1.5, 25);
  } else {
    CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_RESOURCE && says(solver, "CUDA"));
  }
  stratum_destroy(solver);
  return 0;
}
