/* Stratum from C: -u_xx - u_yy = 1 on 127 x 127 unknowns, then the same with a thousand times the coupling in y. */
#include <stdio.h>
#include <stdlib.h>

#include <stratum/stratum.h>

enum { n = 127 };

/* Bands one behind the other: k = 3 (dy + 1) + dx + 1. */
static void five_point(double cx, double cy, double* bands) {
  for (int k = 0; k < 9; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const int dx = k % 3 - 1, dy = k / 3 - 1;
        const int inside = i + dx >= 0 && i + dx < n && j + dy >= 0 && j + dy < n;
        double value = 0;
        if (k == 4) value = 2 * (cx + cy);
        if (k == 3 || k == 5) value = -cx;
        if (k == 1 || k == 7) value = -cy;
        bands[(k * n + j) * n + i] = inside ? value : 0;
      }
}

int main(void) {
  double* bands = calloc(9 * n * n, sizeof *bands);
  double* b = malloc(n * n * sizeof *b);
  double* x = calloc(n * n, sizeof *x);
  stratum_solver* solver = stratum_create(n, n, NULL, NULL, NULL);
  stratum_status status = STRATUM_CONVERGED;
  for (int i = 0; i < n * n; ++i) b[i] = 1;

  for (int round = 0; round < 2 && status == STRATUM_CONVERGED; ++round) {
    stratum_result result;
    five_point(1, round == 0 ? 1 : 1000, bands);
    status = stratum_set_coefficients(solver, bands); /* the second time it reuses everything */
    if (status == STRATUM_CONVERGED) status = stratum_solve(solver, b, x, &result);
    if (status == STRATUM_CONVERGED)
      printf("%d iterations, residual %.1e to %.1e\n", result.iterations, result.initial_residual, result.residual);
  }
  if (status != STRATUM_CONVERGED) fprintf(stderr, "%s\n", stratum_last_error(solver));
  stratum_destroy(solver);
  free(x);
  free(b);
  free(bands);
  return (int)status;
}
