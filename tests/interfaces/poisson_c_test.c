/* Poisson problems by the C interface: linear solutions, which elements have exactly, in two and in three dimensions, and what is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stratum/stratum.h>

static int failures = 0;

static void expect(int holds, const char* what, const char* detail) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "FAILED: %s: %s\n", what, detail);
}

enum { nx = 9, ny = 7, nz = 11 };

static const int cells[3] = {nx, ny, nz};
static double widths[3][nz];
static double places[3][nz + 1];

static void make_widths(void) {
  for (int d = 0; d < 3; ++d) {
    places[d][0] = 0;
    for (int i = 0; i < cells[d]; ++i) {
      widths[d][i] = pow(d == 1 ? 0.3 : 2.0, i);
      places[d][i + 1] = places[d][i] + widths[d][i];
    }
  }
}

static stratum_poisson_problem problem_in(int dimensions) {
  stratum_poisson_problem problem;
  memset(&problem, 0, sizeof problem);
  problem.dimensions = dimensions;
  for (int d = 0; d < dimensions; ++d) {
    problem.cells[d] = cells[d];
    problem.widths[d] = widths[d];
  }
  return problem;
}

static size_t nodes_of(int dimensions) { return (size_t)(nx + 1) * (ny + 1) * (dimensions == 3 ? nz + 1 : 1); }

static double place(size_t node, int d) {
  const size_t row = node / (nx + 1);
  const size_t at = d == 0 ? node % (nx + 1) : d == 1 ? row % (ny + 1) : row / (ny + 1);
  return places[d][at];
}

/* Solves with f = 0, and compares with c[0] + c[1] x + c[2] y + c[3] z. */
static void expect_linear(const char* what, const stratum_poisson_problem* problem, const double* c) {
  const size_t nodes = nodes_of(problem->dimensions);
  double* f = calloc(nodes, sizeof *f);
  double* u = calloc(nodes, sizeof *u);
  stratum_options options;
  memset(&options, 0, sizeof options);
  options.rtol = 1e-12;
  stratum_result result;
  stratum_poisson* poisson = stratum_poisson_create(problem, &options);
  const stratum_status status = stratum_poisson_solve(poisson, f, u, &result);
  expect(status == STRATUM_CONVERGED || result.at_rounding, what, stratum_poisson_last_error(poisson));
  double largest = 0, size = 0;
  for (size_t k = 0; k < nodes; ++k) {
    double exact = c[0];
    for (int d = 0; d < problem->dimensions; ++d) exact += c[1 + d] * place(k, d);
    largest = fmax(largest, fabs(u[k] - exact));
    size = fmax(size, fabs(exact));
  }
  char detail[64];
  snprintf(detail, sizeof detail, "error %.2e of %.2e", largest, size);
  expect(largest <= 1e-8 * size, what, detail);
  stratum_poisson_destroy(poisson);
  free(u);
  free(f);
}

static void expect_refused(const char* what, stratum_poisson_problem problem, const char* words) {
  double zeros[8] = {0};
  stratum_poisson* poisson = stratum_poisson_create(&problem, NULL);
  expect(strstr(stratum_poisson_last_error(poisson), words) != NULL, what, stratum_poisson_last_error(poisson));
  const stratum_status status = stratum_poisson_solve(poisson, zeros, zeros, NULL);
  expect(status == STRATUM_USAGE && strstr(stratum_poisson_last_error(poisson), words) != NULL, what, "is solved");
  stratum_poisson_destroy(poisson);
}

/* Plates at u = 0 and 1 in all dimensions, and a wall that nothing flows into beside one of them. */
static void bodies(void) {
  for (int dimensions = 2; dimensions <= 3; ++dimensions) {
    stratum_poisson_problem problem = problem_in(dimensions);
    enum { n = 8, most = 9 * 9 * 9 };
    static double f[most], u[most];
    static unsigned char first[n * n * n], last[n * n * n], wall[n * n * n];
    for (int d = 0; d < 3; ++d) {
      problem.cells[d] = n;
      problem.widths[d] = NULL;
      problem.lengths[d] = 1;
    }
    for (int face = 0; face < 6; ++face) problem.boundaries[face] = STRATUM_NEUMANN;
    for (int face = 0; face < 6; ++face) problem.values[face] = 0;
    problem.dirichlet = problem.kappa = NULL;
    problem.reaction = 0;
    for (int c = 0; c < n * n * n; ++c) {
      first[c] = c % n < 2;
      last[c] = c % n >= 6;
      wall[c] = c / n % n < 2 && c % n >= 2 && c % n < 6;
    }
    for (int k = 0; k < most; ++k) f[k] = 0;
    const stratum_body all[3] = {
        {first, STRATUM_BODY_VALUE, 0}, {last, STRATUM_BODY_VALUE, 1}, {wall, STRATUM_BODY_NO_FLUX, 0}};
    problem.body_count = 3;
    problem.bodies = all;
    stratum_poisson* poisson = stratum_poisson_create(&problem, NULL);
    double flux = 0;
    expect(stratum_poisson_body_flux(poisson, 0, &flux) == STRATUM_USAGE, "a flux before a solve", "is known");
    expect(stratum_poisson_solve(poisson, f, u, NULL) == STRATUM_CONVERGED, "bodies",
           stratum_poisson_last_error(poisson));
    const int plane = dimensions == 3 ? 4 * 81 : 0;
    expect(fabs(u[plane + 4 * 9 + 4] - 0.5) < 1e-6 && u[plane + 4 * 9 + 8] == 1, "between plates", "another u");
    expect(isnan(u[plane + 4]) && !isnan(u[plane + 2 * 9 + 4]), "a wall", "another u");
    expect(stratum_poisson_body_flux(poisson, 1, &flux) == STRATUM_CONVERGED && fabs(flux - 1.5) < 1e-6, "a flux",
           stratum_poisson_last_error(poisson));
    expect(stratum_poisson_body_flux(poisson, 3, &flux) == STRATUM_USAGE, "a fourth body", "has a flux");
    stratum_poisson_destroy(poisson);
    problem.body_count = 1;
    problem.bodies = all + 2; /* nothing holds u */
    for (int k = 0; k < most; ++k) f[k] = 1;
    poisson = stratum_poisson_create(&problem, NULL);
    expect(stratum_poisson_solve(poisson, f, u, NULL) == STRATUM_USAGE &&
               strstr(stratum_poisson_last_error(poisson), "nothing holds u in the room") != NULL,
           "a room that does not balance", stratum_poisson_last_error(poisson));
    stratum_poisson_destroy(poisson);
    expect(strcmp(stratum_poisson_warning(NULL), "") == 0, "no solver", "is warned of");
    static unsigned char pair[n * n * n];
    for (int c = 0; c < n * n * n; ++c) pair[c] = c / n % n < 4 ? c % n < 4 : c % n >= 4;
    const stratum_body corner = {pair, STRATUM_BODY_NO_FLUX, 0};
    problem.bodies = &corner;
    poisson = stratum_poisson_create(&problem, NULL);
    expect(strstr(stratum_poisson_warning(poisson), dimensions == 3
                                                        ? "alone at 9 nodes, the first of them (0.5, 0.5, 0)"
                                                        : "alone at 1 node, (0.5, 0.5)") != NULL,
           "solids that touch in a corner", stratum_poisson_warning(poisson));
    stratum_poisson_destroy(poisson);
    problem.bodies = &all[2];
    poisson = stratum_poisson_create(&problem, NULL);
    expect(strcmp(stratum_poisson_warning(poisson), "") == 0, "one solid", stratum_poisson_warning(poisson));
    stratum_poisson_destroy(poisson);
    if (dimensions == 2) {
      /* Cells of high K that touch in a corner, known once something flows. */
      static double kappa[n * n];
      for (int c = 0; c < n * n; ++c) kappa[c] = pair[c] ? 1e-6 : 1;
      stratum_poisson_problem leaks = problem;
      leaks.body_count = 0;
      leaks.kappa = kappa;
      leaks.boundaries[0] = leaks.boundaries[1] = STRATUM_DIRICHLET;
      leaks.values[1] = 1;
      for (int k = 0; k < most; ++k) f[k] = 0;
      poisson = stratum_poisson_create(&leaks, NULL);
      expect(strcmp(stratum_poisson_warning(poisson), "") == 0, "no u yet", stratum_poisson_warning(poisson));
      expect(stratum_poisson_solve(poisson, f, u, NULL) == STRATUM_CONVERGED &&
                 strstr(stratum_poisson_warning(poisson), "in corners alone at 1 node, (0.5, 0.5), between") != NULL,
             "a leak", stratum_poisson_warning(poisson));
      leaks.values[1] = 0;
      stratum_poisson_destroy(poisson);
      poisson = stratum_poisson_create(&leaks, NULL);
      expect(stratum_poisson_solve(poisson, f, u, NULL) == STRATUM_CONVERGED &&
                 strcmp(stratum_poisson_warning(poisson), "") == 0,
             "nothing flows", stratum_poisson_warning(poisson));
      stratum_poisson_destroy(poisson);
      stratum_poisson_problem film = problem;
      film.lengths[1] = 1e-8;
      film.boundaries[0] = film.boundaries[1] = STRATUM_DIRICHLET;
      poisson = stratum_poisson_create(&film, NULL);
      expect(strstr(stratum_poisson_warning(poisson), "cells between boundaries without values are so long and thin") !=
                 NULL,
             "a film", stratum_poisson_warning(poisson));
      stratum_poisson_destroy(poisson);
      film.bodies = &corner;
      poisson = stratum_poisson_create(&film, NULL);
      expect(strstr(stratum_poisson_warning(poisson), "corners alone at 1 node") != NULL &&
                 strstr(stratum_poisson_warning(poisson), "so long and thin") != NULL,
             "a film whose solids touch in a corner", stratum_poisson_warning(poisson));
      stratum_poisson_destroy(poisson);
    }
    stratum_body bad = all[0];
    problem.bodies = &bad;
    bad.kind = 7;
    expect_refused("a kind of body", problem, "problem.bodies[0].kind");
    bad = all[0];
    bad.inside = NULL;
    expect_refused("no cells of a body", problem, "inside is NULL");
    bad = all[0];
    static unsigned char none[n * n * n];
    bad.inside = none;
    expect_refused("an empty body", problem, "holds no cell");
    problem.bodies = NULL;
    expect_refused("no bodies", problem, "body_count");
  }
}

int main(void) {
  make_widths();
  for (int dimensions = 2; dimensions <= 3; ++dimensions) {
    /* Values at Dirichlet nodes; others of this array do not count. */
    const double linear[4] = {1, 0.5, -2, 3};
    stratum_poisson_problem problem = problem_in(dimensions);
    const size_t nodes = nodes_of(dimensions);
    double* values = calloc(nodes, sizeof *values);
    for (size_t k = 0; k < nodes; ++k) {
      int outer = 0;
      values[k] = linear[0];
      for (int d = 0; d < dimensions; ++d) {
        values[k] += linear[1 + d] * place(k, d);
        outer = outer || place(k, d) == 0 || place(k, d) == places[d][cells[d]];
      }
      if (!outer) values[k] = 1e30;
    }
    problem.dirichlet = values;
    expect_linear("Dirichlet values", &problem, linear);
    free(values);

    /* u = x: K u' + alpha u on the right, K = 3 on every cell. */
    const double is_x[4] = {0, 1, 0, 0};
    const size_t all_cells = (size_t)nx * ny * (dimensions == 3 ? nz : 1);
    double* kappa = malloc(all_cells * sizeof *kappa);
    for (size_t k = 0; k < all_cells; ++k) kappa[k] = 3;
    problem = problem_in(dimensions);
    problem.kappa = kappa;
    for (int face = 1; face < 2 * dimensions; ++face) problem.boundaries[face] = STRATUM_NEUMANN;
    problem.boundaries[1] = STRATUM_ROBIN;
    problem.alpha[1] = 2;
    problem.values[1] = 3 + 2 * places[0][nx];
    expect_linear("Robin and Neumann", &problem, is_x);
    problem.boundaries[2] = problem.boundaries[3] = STRATUM_PERIODIC;
    expect_linear("periodic", &problem, is_x);

    kappa[5] = -1;
    expect_refused("K below zero", problem, "-1");
    free(kappa);

    /* Known up to a constant. */
    problem = problem_in(dimensions);
    for (int face = 0; face < 2 * dimensions; ++face) problem.boundaries[face] = STRATUM_NEUMANN;
    double* f = malloc(nodes * sizeof *f);
    double* u = calloc(nodes, sizeof *u);
    for (size_t k = 0; k < nodes; ++k) f[k] = 1;
    stratum_poisson* poisson = stratum_poisson_create(&problem, NULL);
    expect(stratum_poisson_solve(poisson, f, u, NULL) == STRATUM_USAGE, "f that does not balance", "is solved");
    stratum_poisson_destroy(poisson);
    stratum_options options;
    memset(&options, 0, sizeof options);
    options.project = 1;
    poisson = stratum_poisson_create(&problem, &options);
    expect(stratum_poisson_solve(poisson, f, u, NULL) == STRATUM_CONVERGED, "project",
           stratum_poisson_last_error(poisson));
    double largest = 0;
    for (size_t k = 0; k < nodes; ++k) largest = fmax(largest, fabs(u[k]));
    expect(largest < 1e-10, "a constant f, less its mean", "u is not zero");
    expect(stratum_poisson_solve(poisson, NULL, u, NULL) == STRATUM_USAGE, "NULL", "is solved");
    stratum_poisson_destroy(poisson);
    free(u);
    free(f);
  }

  stratum_poisson_problem problem = problem_in(2);
  problem.dimensions = 4;
  expect_refused("four dimensions", problem, "problem.dimensions must be 2 or 3, not 4");
  problem = problem_in(3);
  problem.cells[2] = 0;
  expect_refused("no cells", problem, "problem.cells[2] must be at least 1, not 0");
  problem = problem_in(3);
  problem.boundaries[4] = 7;
  expect_refused("a kind that there is not", problem, "problem.boundaries[4], front");
  problem = problem_in(3);
  problem.boundaries[4] = STRATUM_PERIODIC;
  expect_refused("one periodic face", problem, "periodic");
  problem = problem_in(2);
  problem.struct_size = 8;
  expect_refused("a struct of another size", problem, "struct_size");
  stratum_poisson* none = stratum_poisson_create(NULL, NULL);
  expect(strstr(stratum_poisson_last_error(none), "NULL") != NULL, "no problem", stratum_poisson_last_error(none));
  stratum_poisson_destroy(none);
  expect(stratum_poisson_solve(NULL, NULL, NULL, NULL) == STRATUM_USAGE, "no solver", "is solved");
  bodies();
  if (failures == 0) printf("Poisson problems from C: passed\n");
  return failures == 0 ? 0 : 1;
}
