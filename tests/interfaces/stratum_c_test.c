/* The C interface from C: what it computes, and what it says when misused. Prints and fails at the first surprise. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stratum_c_checks.h"

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
  bands[4 * size + 9] = -1;
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "row 9 has the diagonal entry -1"));
  CHECK(stratum_apply(solver, b, x) == STRATUM_USAGE && says(solver, "row 9"));
  CHECK(stratum_set_values(solver, bands) == STRATUM_USAGE && says(solver, "not made from rows"));
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
      {{.smoother = "ilu"}, nx, ny, STRATUM_USAGE, "unknown smoother 'ilu'; known: adi"},
      {{.smoother = "adi", .sweeps = 3}, nx, ny, STRATUM_USAGE, "multiple of 2, not 3"},
      {{.solver = "sor"}, nx, ny, STRATUM_USAGE, "unknown solver 'sor'; known: multigrid, cg"},
      {{.cycle = "x"}, nx, ny, STRATUM_USAGE, "unknown cycle 'x'; known: v, w, f, w2, k"},
      {{.cycle = "k", .solver = "cg"}, nx, ny, STRATUM_USAGE, "constant preconditioner"},
      {{.interpolation = "x"}, nx, ny, STRATUM_USAGE, "unknown interpolation 'x'; known: conductance"},
      {{.interpolation = "conductance"}, nx, ny, STRATUM_USAGE, "a matrix has none"},
      {{.threads = -1}, nx, ny, STRATUM_USAGE, "threads must be"},
      {{.backend = 7}, nx, ny, STRATUM_USAGE, "backend must be"},
      {{.rtol = -1}, nx, ny, STRATUM_USAGE, "rtol"},
      {{.atol = -1}, nx, ny, STRATUM_USAGE, "atol"},
      {{.atol = NAN}, nx, ny, STRATUM_USAGE, "atol"},
      {{.max_iterations = -1}, nx, ny, STRATUM_USAGE, "-1"},
      {{.patience = -1}, nx, ny, STRATUM_USAGE, "-1"},
      {{.restart = -1, .solver = "gmres"}, nx, ny, STRATUM_USAGE, "-1"},
      {{.reference_norm = 2}, nx, ny, STRATUM_USAGE, "reference_norm must be 0"},
      {{.symmetric = 2}, nx, ny, STRATUM_USAGE, "symmetric must be 0"},
      {{.singular = -2}, nx, ny, STRATUM_USAGE, "singular must be 0"},
      {{.struct_size = 8}, nx, ny, STRATUM_USAGE, "struct_size must be sizeof(stratum_options) or 0, not 8"},
      {{.threads = 1}, 0, ny, STRATUM_USAGE, "0 x 47"},
      {{.threads = 1}, nx, -3, STRATUM_USAGE, "31 x -3"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    solver = stratum_create(cases[k].nx, cases[k].ny, NULL, NULL, &cases[k].options);
    CHECK(solver != NULL);
    CHECK(stratum_set_coefficients(solver, bands) == cases[k].status);
    CHECK(says(solver, cases[k].message));
    stratum_destroy(solver);
  }

  CHECK(stratum_set_coefficients(NULL, bands) == STRATUM_USAGE && says(NULL, "there is no solver"));
  CHECK(stratum_set_symmetric_coefficients(NULL, bands) == STRATUM_USAGE &&
        stratum_set_values(NULL, b) == STRATUM_USAGE);
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

/* Widths of Neumann or Robin boundaries: those beyond them do not matter, and those that lie there must be right. */
static void widths_of_natural_sides(void) {
  double hx[nx + 1], hy[ny + 1];
  stratum_result result;
  for (int i = 0; i <= nx; ++i) hx[i] = i == 0 ? -1 : 1; /* west */
  for (int j = 0; j <= ny; ++j) hy[j] = 1;
  set_bands(1, 0);
  for (int j = 0; j < ny; ++j) bands[4 * size + j * nx] -= 1;
  for (int round = 0; round < 2; ++round) {
    stratum_solver* solver = stratum_create(nx, ny, hx, hy, NULL);
    if (round == 0) {
      CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
      memset(x, 0, sizeof x);
      CHECK(stratum_solve(solver, b, x, &result) == STRATUM_CONVERGED && result.iterations <= 8);
      hx[nx] = -1; /* east is Dirichlet's */
    } else {
      CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "width -1"));
    }
    stratum_destroy(solver);
  }
}

/* Options of all zeros: the defaults, for any matrix. */
static void zeros_are_defaults(void) {
  const stratum_options zeros = {0};
  solves(zeros, 0);
  solves(zeros, 1.5);
  stratum_options symmetric = {.symmetric = 1};
  solves(symmetric, 0);
  symmetric.sweeps = -2;
  stratum_solver* solver = stratum_create(nx, ny, NULL, NULL, &symmetric);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "-2"));
  stratum_destroy(solver);
}

static void claims_are_checked(void) {
  stratum_options options = {.symmetric = 1};
  stratum_solver* solver = stratum_create(nx, ny, NULL, NULL, &options);
  set_bands(1, 1.5);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "said to be symmetric and is not"));
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_USAGE && says(solver, "said to be symmetric"));
  set_bands(1, 0);
  bands[4 * size + 2 * nx + 3] = 0;
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "row 65") && says(solver, "diagonal"));
  stratum_destroy(solver);
  options.symmetric = -1; /* what is true, but not made use of */
  solves(options, 0);
  /* Singular where it is claimed of a nonsymmetric matrix. */
  options.symmetric = 0;
  options.singular = 1;
  solver = stratum_create(nx, ny, NULL, NULL, &options);
  set_bands(1, 1.5);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "singular matrix must be symmetric"));
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

  /* Nearly singular: Neumann boundaries and 1e-13 on the diagonal, so that x is 1e13 times b. */
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

/* Every method and cycle, and how they stop. */
static void options_are_taken(void) {
  static const char* const methods[] = {"cg", "fcg", "cr", "gcr", "gmres", "bicgstab", "multigrid"};
  static const char* const cycles[] = {"v", "w", "f", "w2", "k"};
  stratum_options options = stratum_default_options();
  stratum_result result;
  stratum_solver* solver = NULL;
  CHECK(options.struct_size == sizeof options);
  CHECK(strlen(stratum_version()) >= 5 && stratum_version()[0] >= '0' && stratum_version()[0] <= '9');
  for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
    options.solver = methods[k];
    solves(options, 0);
  }
  options.solver = NULL;
  for (size_t k = 0; k < sizeof cycles / sizeof *cycles; ++k) {
    options.cycle = cycles[k];
    solves(options, 0);
  }
  options = stratum_default_options();
  options.interpolation = "bilinear";
  options.restart = 5;
  solves(options, 1.5);

  /* An absolute tolerance alone; one relative to the first residual; patience. */
  options = stratum_default_options();
  set_bands(1, 0);
  options.atol = 3;
  solver = stratum_create(nx, ny, NULL, NULL, &options);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, &result) == STRATUM_CONVERGED);
  CHECK(result.residual <= 3 && result.residual > 1e-6 * result.initial_residual);
  stratum_destroy(solver);
  options.atol = 0;
  options.rtol = 1e-3;
  options.reference_norm = STRATUM_INITIAL_RESIDUAL;
  solver = stratum_create(nx, ny, NULL, NULL, &options);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  for (int round = 0; round < 2; ++round) { /* the second from a good x, which gains no less */
    CHECK(stratum_solve(solver, b, x, &result) == STRATUM_CONVERGED);
    CHECK(result.iterations >= 1);
    CHECK(result.residual <= 1e-3 * result.initial_residual);
  }
  stratum_destroy(solver);
  options = stratum_default_options();
  options.smoother = "line_x"; /* wrong for strong couplings in y */
  options.solver = "multigrid";
  options.cycle = "v";
  options.patience = 1;
  options.max_iterations = 10000;
  options.rtol = 1e-300;
  solver = stratum_create(nx, ny, NULL, NULL, &options);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, &result) == STRATUM_NOT_CONVERGED && result.iterations < 1000);
  stratum_destroy(solver);

  /* Options of a later version: zeros behind those that are known are fine, others are not. */
  struct {
    stratum_options known;
    double later;
  } later = {stratum_default_options(), 0};
  later.known.struct_size = sizeof later;
  solver = stratum_create(nx, ny, NULL, NULL, &later.known);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  stratum_destroy(solver);
  later.later = 1;
  solver = stratum_create(nx, ny, NULL, NULL, &later.known);
  CHECK(solver != NULL && says(solver, "later version"));
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "later version"));
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_USAGE && says(solver, "later version"));
  stratum_destroy(solver);
}

/* Rows of the bands, unknown k at node order[k]; those of nodes on the boundaries alone where `kept`. */
static int start[size + 1], column[5 * size], order[size], places[size];
static double value[5 * size];

static void set_rows(int kept) {
  int entries = 0;
  for (int k = 0; k < size; ++k) places[order[k]] = k;
  for (int k = 0; k < size; ++k) {
    const int node = order[k], i = node % nx, j = node / nx;
    const int alone = kept && (i == 0 || j == 0 || i == nx - 1 || j == ny - 1);
    start[k] = entries;
    for (int band = 8; band >= 0; --band) {
      const int p = i + band % 3 - 1, q = j + band / 3 - 1;
      if (p < 0 || p >= nx || q < 0 || q >= ny || bands[band * size + node] == 0 || (alone && band != 4)) continue;
      column[entries] = places[q * nx + p];
      value[entries++] = bands[band * size + node];
    }
  }
  start[size] = entries;
}

static double row_residual_norm(void) {
  double sum = 0;
  for (int k = 0; k < size; ++k) {
    double r = b[k];
    for (int e = start[k]; e < start[k + 1]; ++e) r -= value[e] * x[column[e]];
    sum += r * r;
  }
  return sqrt(sum);
}

static void solves_rows(stratum_solver* solver, int most) {
  stratum_result result;
  CHECK(says(solver, "") && latest[0] == 0);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, &result) == STRATUM_CONVERGED && says(solver, ""));
  CHECK(result.iterations <= most);
  CHECK(fabs(row_residual_norm() - result.residual) <= 1e-9 * result.initial_residual);
  CHECK(result.residual <= 1e-8 * result.initial_residual);
}

static void rows_are_taken(void) {
  static int64_t start64[size + 1], column64[5 * size];
  stratum_options options = stratum_default_options();
  stratum_solver* solver = NULL;
  for (int numbering = 0; numbering < 3; ++numbering) {
    /* x first, y first, any. */
    for (int k = 0; k < size; ++k)
      order[k] = numbering == 0 ? k : numbering == 1 ? k % ny * nx + k / ny : (k * 10 + 3) % size;
    options.numbering = numbering == 2 ? order : NULL;
    set_bands(1, 0);
    set_rows(0);
    solver = stratum_create_csr(size, start, column, value, nx, ny, NULL, NULL, &options);
    solves_rows(solver, 8);
    CHECK(stratum_set_coefficients(solver, bands) == STRATUM_USAGE && says(solver, "stratum_set_values"));
    CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_CONVERGED);
    for (int round = 0; round < 3; ++round) { /* other values, others couplings, nonsymmetric ones */
      set_bands(round == 1 ? 1000 : 2, round == 2 ? 1.5 : 0);
      set_rows(0);
      CHECK(stratum_set_values(solver, value) == STRATUM_CONVERGED);
      solves_rows(solver, 12);
    }
    value[start[5]] = INFINITY;
    CHECK(stratum_set_values(solver, value) == STRATUM_USAGE && says(solver, numbering == 1 ? "row" : "row 5"));
    CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_USAGE && says(solver, numbering == 1 ? "row" : "row 5"));
    CHECK(stratum_set_values(solver, NULL) == STRATUM_USAGE && says(solver, "NULL"));
    set_rows(0);
    CHECK(stratum_set_values(solver, value) == STRATUM_CONVERGED);
    solves_rows(solver, 12);
    stratum_destroy(solver);
  }
  /* Of any order none is found. */
  solver = stratum_create_csr(size, start, column, value, nx, ny, NULL, NULL, NULL);
  CHECK(solver != NULL && says(solver, "give the node j nx + i of every unknown"));
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_USAGE && says(solver, "give the node j nx + i"));
  CHECK(stratum_apply(solver, b, x) == STRATUM_USAGE && says(solver, "give the node j nx + i"));
  stratum_destroy(solver);

  for (int k = 0; k < size; ++k) order[k] = k;
  set_bands(1, 0);
  set_rows(1); /* nodes on the boundaries are rows of a diagonal, and others couple to them */
  for (int k = 0; k <= size; ++k) start64[k] = start[k];
  for (int e = 0; e < start[size]; ++e) column64[e] = column[e];
  solver = stratum_create_csr64(size, start64, column64, value, nx, ny, NULL, NULL, NULL);
  solves_rows(solver, 8);
  stratum_destroy(solver);

  const struct {
    int n, nx, ny;
    const int *start, *column;
    const double* value;
    const char* message;
  } cases[] = {{size + 1, nx, ny, start, column, value, "1458 rows does not fit a grid of 31 x 47"},
               {size, nx, -ny, start, column, value, "31 x -47"},
               {0, 0, 0, start, column, value, "0 x 0"},
               {size, nx, ny, NULL, column, value, "NULL"},
               {size, nx, ny, start, NULL, value, "NULL"},
               {size, nx, ny, start, column, NULL, "NULL"},
               {size, size, 1, start, column, value, "no neighbour"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    solver = stratum_create_csr(cases[k].n, cases[k].start, cases[k].column, cases[k].value, cases[k].nx, cases[k].ny,
                                NULL, NULL, NULL);
    CHECK(solver != NULL && says(solver, cases[k].message));
    CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_USAGE && says(solver, cases[k].message));
    if (k < 3) CHECK(stratum_set_values(solver, value) == STRATUM_USAGE);
    stratum_destroy(solver);
  }
  start[size] = -1;
  solver = stratum_create_csr(size, start, column, value, nx, ny, NULL, NULL, NULL);
  CHECK(solver != NULL && says(solver, "row starts end at -1"));
  stratum_destroy(solver);
  /* Counted from 1 there is one entry less than the last start says: none is read. */
  start[0] = 1;
  start[size] = 1000000000;
  solver = stratum_create_csr(size, start, column, value, nx, ny, NULL, NULL, NULL);
  CHECK(solver != NULL && says(solver, "row starts must go from 0, not from 1"));
  stratum_destroy(solver);
}

/* Rows without the entries of one triangle are asked about. */
static void one_triangle_is_asked_about(void) {
  stratum_options options = stratum_default_options();
  stratum_solver* solver = NULL;
  int kept = 0;
  for (int k = 0; k < size; ++k) order[k] = k;
  set_bands(1, 0);
  set_rows(0);
  for (int row = 0, e = 0; row < size; ++row) {
    const int end = start[row + 1];
    for (; e < end; ++e)
      if (column[e] <= row) {
        column[kept] = column[e];
        value[kept++] = value[e];
      }
    start[row + 1] = kept;
  }
  solver = stratum_create_csr(size, start, column, value, nx, ny, NULL, NULL, &options);
  CHECK(solver != NULL && says(solver, "looks like half of a symmetric one"));
  stratum_destroy(solver);
  options.triangle = "symmetric";
  solver = stratum_create_csr(size, start, column, value, nx, ny, NULL, NULL, &options);
  set_rows(0); /* the whole matrix, by which the solution is judged */
  solves_rows(solver, 8);
  stratum_destroy(solver);
  options.triangle = "lower";
  solver = stratum_create_csr(size, start, column, value, nx, ny, NULL, NULL, &options);
  CHECK(solver != NULL && says(solver, "unknown triangle 'lower'; known: ask, symmetric, general"));
  stratum_destroy(solver);
}

static void five_bands_are_taken(void) {
  stratum_solver* solver = stratum_create(nx, ny, NULL, NULL, NULL);
  stratum_result result;
  for (int round = 0; round < 2; ++round) {
    set_bands(1 + round, 0);
    CHECK(stratum_set_symmetric_coefficients(solver, bands + 4 * size) == STRATUM_CONVERGED);
    memset(x, 0, sizeof x);
    CHECK(stratum_solve(solver, b, x, &result) == STRATUM_CONVERGED && result.iterations <= 8);
    CHECK(fabs(result.residual - residual_norm()) <= 1e-10 * result.initial_residual);
  }
  CHECK(stratum_set_symmetric_coefficients(solver, NULL) == STRATUM_USAGE && says(solver, "NULL"));
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_CONVERGED);
  stratum_destroy(solver);
}

/* No side holds a value: right-hand sides have no mean, or lose it where that is asked for. */
static void singular_matrices(void) {
  double mean = 0;
  stratum_options options = stratum_default_options();
  stratum_solver* solver = NULL;
  set_bands(1, 0);
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) bands[4 * size + j * nx + i] -= (i == 0) + (i == nx - 1) + (j == 0) + (j == ny - 1);
  for (int k = 0; k < size; ++k) mean += b[k] / size;
  solver = stratum_create(nx, ny, NULL, NULL, &options);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_USAGE && says(solver, "there is no solution"));
  for (int k = 0; k < size; ++k) y[k] = b[k] - mean;
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, y, x, NULL) == STRATUM_CONVERGED);
  stratum_destroy(solver);
  options.project = 1;
  solver = stratum_create(nx, ny, NULL, NULL, &options);
  CHECK(stratum_set_coefficients(solver, bands) == STRATUM_CONVERGED);
  memset(x, 0, sizeof x);
  CHECK(stratum_solve(solver, b, x, NULL) == STRATUM_CONVERGED);
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
  widths_of_natural_sides();
  options_are_taken();
  rows_are_taken();
  one_triangle_is_asked_about();
  five_bands_are_taken();
  singular_matrices();
  rounding_is_the_end();
  one_thread_at_a_time();
  return 0;
}
