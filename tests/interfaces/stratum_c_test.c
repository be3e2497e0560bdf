/* The C interface from C: what it computes, and what it says when misused. Prints and fails at the first surprise. */
#include <math.h>
#include <pthread.h>
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

enum { nx = 31, ny = 47, size = nx * ny };

static double bands[9 * size], b[size], x[size], y[size];

/* -c u_xx - u_yy + v u_x by five points, upwind. */
static void set_bands(double c, double v) {
  for (int k = 0; k < 9; ++k)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        const int dx = k % 3 - 1, dy = k / 3 - 1;
        const int inside = i + dx >= 0 && i + dx < nx && j + dy >= 0 && j + dy < ny;
        double value = 0;
        if (k == 4) value = 2 * c + 2 + v;
        if (k == 3) value = -c - v;
        if (k == 5) value = -c;
        if (k == 1 || k == 7) value = -1;
        bands[k * size + j * nx + i] = inside ? value : 0;
      }
}

static double residual_norm(void) {
  double sum = 0;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      double r = b[j * nx + i];
      for (int k = 0; k < 9; ++k) {
        const int p = i + k % 3 - 1, q = j + k / 3 - 1;
        if (p >= 0 && p < nx && q >= 0 && q < ny) r -= bands[k * size + j * nx + i] * x[q * nx + p];
      }
      sum += r * r;
    }
  return sqrt(sum);
}

static int says(const stratum_solver* solver, const char* what) {
  latest = stratum_last_error(solver);
  return strstr(latest, what) != NULL;
}

static void solves(stratum_options options, double v) {
  stratum_solver* solver = stratum_create(nx, ny, NULL, NULL, &options);
  stratum_result result;
  CHECK(solver != NULL);
  for (int round = 0; round < 3; ++round) { /* the second and third time by an update */
    set_bands(round == 1 ? 100 : 1, v);
    CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
    memset(x, 0, sizeof x);
    CHECK(stratum_solve(solver, b, x, &result) == STRATUM_CONVERGED);
    CHECK(says(solver, "") && latest[0] == 0);
    CHECK(result.iterations >= 2 && result.iterations <= 12);
    CHECK(fabs(result.residual - residual_norm()) <= 1e-10 * result.initial_residual);
    CHECK(result.residual <= 1e-8 * result.initial_residual);
    CHECK(result.seconds > 0);
    CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_CONVERGED);
  }
  /* One cycle is what the first iteration adds, and may be formed in place. */
  CHECK(stratum_apply(solver, b, x) == STRATUM_CONVERGED);
  CHECK(residual_norm() < 0.3 * result.initial_residual);
  memcpy(y, b, sizeof y);
  CHECK(stratum_apply(solver, y, y) == STRATUM_CONVERGED);
  CHECK(memcmp(x, y, sizeof y) == 0);
  stratum_destroy(solver);
}

static void bad_arguments_are_reported(void) {
  stratum_options options = stratum_default_options();
  stratum_solver* solver = stratum_create(nx, ny, NULL, NULL, &options);
  set_bands(1, 0);
  CHECK(stratum_apply(solver, b, x) == STRATUM_USAGE && says(solver, "stratum_set_coefficients first"));
  CHECK(stratum_set_coefficients(solver, NULL) == STRATUM_USAGE && says(solver, "NULL"));
  bands[4 * size + 7] = NAN;
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "nan"));
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_USAGE);
  set_bands(1, 0);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED && says(solver, ""));
  bands[5 * size + nx - 1] = 1;
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "reaches across a side"));
  CHECK(stratum_apply(solver, b, x) == STRATUM_USAGE);
  set_bands(1, 0);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  CHECK(stratum_apply(solver, NULL, x) == STRATUM_USAGE && says(solver, "NULL"));
  CHECK(stratum_solve(solver, b, NULL, NULL) == STRATUM_USAGE);
  b[3] = INFINITY;
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_FAILED && latest != NULL && says(solver, ""));
  CHECK(says(solver, "finite"));
  b[3] = 1;
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_CONVERGED);
  stratum_destroy(solver);

  options.max_iterations = 1;
  solver = stratum_create(nx, ny, NULL, NULL, &options);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_NOT_CONVERGED && says(solver, "after 1 iteration"));
  stratum_destroy(solver);

  const struct {
    stratum_options options;
    int nx, ny;
    stratum_status status;
    const char* message;
  } cases[] = {
      {{STRATUM_CPU, 1, "ilu", 4, 1, 0, 1e-8, 9}, nx, ny, STRATUM_USAGE, "unknown smoother 'ilu'; known: adi"},
      {{STRATUM_CPU, 1, "auto", 4, 1, 0, 1e-8, 9}, nx, ny, STRATUM_USAGE, "give stratum_create those in x and in y"},
      {{STRATUM_CPU, 1, "adi", 3, 1, 0, 1e-8, 9}, nx, ny, STRATUM_USAGE, "multiple of 2, not 3"},
      {{STRATUM_CPU, -1, "adi", 4, 1, 0, 1e-8, 9}, nx, ny, STRATUM_USAGE, "threads must be"},
      {{7, 1, "adi", 4, 1, 0, 1e-8, 9}, nx, ny, STRATUM_USAGE, "backend must be"},
      {{STRATUM_CPU, 1, "adi", 4, 1, 0, -1, 9}, nx, ny, STRATUM_USAGE, "rtol"},
      {{STRATUM_CPU, 1, "adi", 4, 1, 0, 1e-8, 9}, 0, ny, STRATUM_USAGE, "0 x 47"},
      {{STRATUM_CPU, 1, "adi", 4, 1, 0, 1e-8, 9}, nx, -3, STRATUM_USAGE, "31 x -3"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    solver = stratum_create(cases[k].nx, cases[k].ny, NULL, NULL, &cases[k].options);
    CHECK(solver != NULL);
    CHECK(stratum_set_coefficients(solver, bands) == cases[k].status);
    CHECK(says(solver, cases[k].message));
    stratum_destroy(solver);
  }

  CHECK(stratum_set_coefficients(NULL, bands) == STRATUM_USAGE && says(NULL, "there is no solver"));
  CHECK(stratum_apply(NULL, b, x) == STRATUM_USAGE && stratum_solve(NULL, b, x, NULL) == STRATUM_USAGE);
  stratum_destroy(NULL);
}

/* With widths the interpolation follows them; the matrix is that of bilinear elements in x times lumped ones in y. */
static void widths_are_taken(void) {
  double hx[nx + 1], hy[ny + 1];
  stratum_result with, without;
  for (int i = 0; i <= nx; ++i) hx[i] = pow(0.6, i);
  for (int j = 0; j <= ny; ++j) hy[j] = 1;
  for (int k = 0; k < 9; ++k)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        const double west = 1 / hx[i], east = 1 / hx[i + 1], cell = (hx[i] + hx[i + 1]) / 2;
        double value = 0;
        if (k == 4) value = west + east + 2 * cell;
        if (k == 3 && i > 0) value = -west;
        if (k == 5 && i + 1 < nx) value = -east;
        if ((k == 1 && j > 0) || (k == 7 && j + 1 < ny)) value = -cell;
        bands[k * size + j * nx + i] = value;
      }
  for (int round = 0; round < 2; ++round) {
    stratum_solver* solver = stratum_create(nx, ny, round == 0 ? hx : NULL, round == 0 ? hy : NULL, NULL);
    CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
    memset(x, 0, sizeof x);
    CHECK(stratum_solve(solver, b, x, round == 0 ? &with : &without) == STRATUM_CONVERGED);
    stratum_destroy(solver);
  }
  CHECK(with.iterations <= 8 && with.iterations <= without.iterations);
  stratum_options options = stratum_default_options();
  options.smoother = "auto";
  stratum_solver* solver = stratum_create(nx, ny, hx, hy, &options);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_CONVERGED);
  stratum_destroy(solver);
  hx[3] = -1;
  solver = stratum_create(nx, ny, hx, hy, NULL);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "width -1"));
  stratum_destroy(solver);
}

/* Options of all zeros: the defaults, for any matrix. */
static void zeros_are_defaults(void) {
  const stratum_options zeros = {0};
  solves(zeros, 0);
  solves(zeros, 1.5);
  stratum_options symmetric = {.symmetric = 1};
  solves(symmetric, 0);
  symmetric.steps = -2;
  stratum_solver* solver = stratum_create(nx, ny, NULL, NULL, &symmetric);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "-2"));
  stratum_destroy(solver);
}

static void claims_are_checked(void) {
  stratum_solver* solver = stratum_create(nx, ny, NULL, NULL, NULL); /* symmetric */
  set_bands(1, 1.5);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "node (0, 0)") &&
        says(solver, "symmetric"));
  set_bands(1, 0);
  bands[4 * size + 2 * nx + 3] = 0;
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "(3, 2)") && says(solver, "diagonal"));
  stratum_destroy(solver);
}

/* Nobody asked for 1e-8 where that is out of reach; who asks for less than rounding allows is told. */
static void rounding_is_the_end(void) {
  stratum_options options = stratum_default_options();
  stratum_result result;
  options.rtol = 1e-17;
  set_bands(1, 0);
  stratum_solver* solver = stratum_create(nx, ny, NULL, NULL, &options);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, &result) == STRATUM_NOT_CONVERGED && says(solver, "rounding"));
  CHECK(result.at_rounding && result.residual < 1e-12 * result.initial_residual);
  stratum_destroy(solver);

  /* Nearly singular: Neumann sides and 1e-13 on the diagonal, so that x is 1e13 times b. */
  for (int k = 0; k < 9; ++k)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i)
        if (k == 4) bands[k * size + j * nx + i] -= (i == 0) + (i == nx - 1) + (j == 0) + (j == ny - 1) - 1e-13;
  options.rtol = 0;
  solver = stratum_create(nx, ny, NULL, NULL, &options);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, &result) == STRATUM_CONVERGED && result.at_rounding);
  CHECK(result.residual > 1e-8 * result.initial_residual);
  stratum_destroy(solver);
}

static void* solve_again_and_again(void* argument) {
  stratum_solver* solver = argument;
  static const int right = 0, wrong = 1;
  double* mine = malloc(size * sizeof *mine);
  for (int round = 0; round < 200; ++round) {
    memset(mine, 0, size * sizeof *mine);
    const stratum_status status = stratum_solve(solver, b, mine, NULL);
    if (status == STRATUM_USAGE) continue;
    if (status != STRATUM_CONVERGED || memcmp(mine, x, size * sizeof *mine) != 0) {
      free(mine);
      return (void*)&wrong;
    }
  }
  free(mine);
  return (void*)&right;
}

/* Two threads with one solver: the right answer or an error. */
static void one_thread_at_a_time(void) {
  stratum_options options = stratum_default_options();
  options.threads = 1;
  pthread_t threads[2];
  set_bands(1, 0);
  stratum_solver* solver = stratum_create(nx, ny, NULL, NULL, &options);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_CONVERGED);
  for (int k = 0; k < 2; ++k) CHECK(pthread_create(&threads[k], NULL, solve_again_and_again, solver) == 0);
  for (int k = 0; k < 2; ++k) {
    void* outcome = NULL;
    CHECK(pthread_join(threads[k], &outcome) == 0);
    CHECK(*(const int*)outcome == 0);
  }
  CHECK(stratum_apply(solver, b, y) == STRATUM_CONVERGED && says(solver, "") && latest[0] == 0);
  stratum_destroy(solver);
}

int main(void) {
  stratum_options options = stratum_default_options();
  for (int i = 0; i < size; ++i) b[i] = i % 7 - 2.5;
  options.threads = 2;
  solves(options, 0);
  options.single_precision = 1;
  solves(options, 0);
  options.symmetric = 0;
  solves(options, 1.5);
  options.single_precision = 0;
  solves(options, 1.5);
  options.backend = STRATUM_CUDA;
  stratum_solver* solver = stratum_create(nx, ny, NULL, NULL, &options);
  set_bands(1, 0);
  if (stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED)
    solves(options, 1.5);
  else
    CHECK(stratum_set_coefficients(solver, bands) == STRATUM_RESOURCE && says(solver, "CUDA"));
  stratum_destroy(solver);
  bad_arguments_are_reported();
  widths_are_taken();
  zeros_are_defaults();
  claims_are_checked();
  rounding_is_the_end();
  one_thread_at_a_time();
  return 0;
}
