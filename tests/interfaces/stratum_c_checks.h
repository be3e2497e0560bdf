/* What tests of the C interface share: checks, and what a solver says last. */
#ifndef STRATUM_TESTS_STRATUM_C_CHECKS_H
#define STRATUM_TESTS_STRATUM_C_CHECKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stratum/stratum.h>

static const char* latest = "";

#define CHECK(condition)                                                                               \
  do {                                                                                                 \
    if (!(condition)) {                                                                                \
      fprintf(stderr, "%s:%d: %s is false; last error: %s\n", __FILE__, __LINE__, #condition, latest); \
      exit(1);                                                                                         \
    }                                                                                                  \
  } while (0)

static int says(const stratum_solver* solver, const char* what) {
  latest = stratum_last_error(solver);
  return strstr(latest, what) != NULL;
}

#endif
