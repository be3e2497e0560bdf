/* What a C program of someone else's looks like: the diagonal matrix 2 is inverted. */
#include <stdio.h>
#include <string.h>

#include <stratum/stratum.h>
#include <stratum/version.h>

int main(void) {
  double bands[9 * 15] = {0}, b[15], x[15] = {0};
  char version[40];
  stratum_solver* solver = stratum_create(5, 3, NULL, NULL, NULL);
  stratum_status status;
  for (int k = 0; k < 15; ++k) {
    bands[4 * 15 + k] = 2;
    b[k] = k;
  }
  status = stratum_set_coefficients(solver, bands);
  if (status == STRATUM_CONVERGED) status = stratum_solve(solver, b, x, NULL);
  printf("%g %s\n", x[14], stratum_last_error(solver));
  stratum_destroy(solver);
  snprintf(version, sizeof version, "%d.%d.%d", STRATUM_VERSION_MAJOR, STRATUM_VERSION_MINOR, STRATUM_VERSION_PATCH);
  if (strcmp(version, STRATUM_VERSION) != 0) return 2;
  return status == STRATUM_CONVERGED && x[14] > 6.999 && x[14] < 7.001 ? 0 : 1;
}
