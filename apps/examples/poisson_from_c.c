/* Poisson problems from C: the same layer in a square and in a cube, on cells that are thin at z = 0 (y = 0 in the square). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <stratum/stratum.h>

enum { n = 48 };

/* -u_ss = 2 across the layer, u = 0 at s = 0 and 1: u = s (1 - s), which elements have exactly at nodes. */
static int solve(int dimensions) {
  const int across = dimensions - 1;
  double widths[n], places[n + 1];
  stratum_poisson_problem problem = {sizeof problem, dimensions, {n, n, n}, {NULL}, {0}, {0}, {0}, {0}, NULL, NULL, 0};
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += widths[i] = pow(1.3, i); /* 3e5 times as wide at the other end */
  places[0] = 0;
  for (int i = 0; i < n; ++i) places[i + 1] = places[i] + (widths[i] /= sum);
  problem.widths[across] = widths;
  for (int face = 0; face < 2 * across; ++face) problem.boundaries[face] = STRATUM_NEUMANN;

  const size_t row = dimensions == 2 ? n + 1 : (size_t)(n + 1) * (n + 1), nodes = row * (n + 1);
  double* f = malloc(nodes * sizeof *f);
  double* u = malloc(nodes * sizeof *u);
  for (size_t k = 0; k < nodes; ++k) f[k] = 2;
  stratum_options options = stratum_default_options();
  options.max_iterations = 0;
  stratum_result result;
  stratum_poisson* poisson = stratum_poisson_create(&problem, &options);
  const stratum_status status = stratum_poisson_solve(poisson, f, u, &result);
  if (status == STRATUM_CONVERGED) {
    double largest = 0;
    for (size_t k = 0; k < nodes; ++k) {
      const double s = places[k / row];
      largest = fmax(largest, fabs(u[k] - s * (1 - s)));
    }
    printf("%d dimensions, %d iterations, largest error %s\n", dimensions, result.iterations,
           largest < 1e-7 ? "below 1e-7" : "TOO LARGE");
  } else {
    fprintf(stderr, "%s\n", stratum_poisson_last_error(poisson));
  }
  stratum_poisson_destroy(poisson);
  free(u);
  free(f);
  return (int)status;
}

int main(void) {
  const int status = solve(2);
  return status != 0 ? status : solve(3);
}
