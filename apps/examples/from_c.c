/* Stratum from C: -u_xx - u_yy = 1 on 127 x 127 unknowns by sparse rows, then the same with a thousand times the coupling in y. */
#include <stdio.h>
#include <stdlib.h>

#include <stratum/stratum.h>

enum { n = 127 };

/* Row j n + i of node (i, j); entries of a row may come in any order. */
static void five_points(double cy, int* start, int* column, double* value) {
  int entries = 0;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const int row = j * n + i;
      start[row] = entries;
      column[entries] = row, value[entries++] = 2 + 2 * cy;
      if (i > 0) column[entries] = row - 1, value[entries++] = -1;
      if (i < n - 1) column[entries] = row + 1, value[entries++] = -1;
      if (j > 0) column[entries] = row - n, value[entries++] = -cy;
      if (j < n - 1) column[entries] = row + n, value[entries++] = -cy;
    }
  start[n * n] = entries;
}

int main(void) {
  int* start = malloc((n * n + 1) * sizeof *start);
  int* column = malloc(5 * n * n * sizeof *column);
  double* value = malloc(5 * n * n * sizeof *value);
  double* b = malloc(n * n * sizeof *b);
  double* x = calloc(n * n, sizeof *x);
  stratum_result result;
  for (int k = 0; k < n * n; ++k) b[k] = 1;

  five_points(1, start, column, value);
  stratum_options options = stratum_default_options();
  options.rtol = 1e-10;
  stratum_solver* solver = stratum_create_csr(n * n, start, column, value, n, n, NULL, NULL, &options);
  stratum_status status = stratum_solve(solver, b, x, &result);
  if (status == STRATUM_CONVERGED) {
    printf("%d iterations, residual %.1e to %.1e\n", result.iterations, result.initial_residual, result.residual);
    five_points(1000, start, column, value);
    status = stratum_set_values(solver, value); /* the same entries: what was set up is used again */
    if (status == STRATUM_CONVERGED) status = stratum_solve(solver, b, x, &result);
    if (status == STRATUM_CONVERGED)
      printf("%d iterations, residual %.1e to %.1e\n", result.iterations, result.initial_residual, result.residual);
  }
  if (status != STRATUM_CONVERGED) fprintf(stderr, "%s\n", stratum_last_error(solver));
  stratum_destroy(solver);
  free(x);
  free(b);
  free(value);
  free(column);
  free(start);
  return (int)status;
}
