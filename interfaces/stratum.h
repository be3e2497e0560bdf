#ifndef STRATUM_H
#define STRATUM_H

/* Stratum for C: multigrid for nine-point operators on a grid of nx x ny unknowns,
 *
 *     (A x)_ij = sum over dx, dy in {-1, 0, 1} of a_(dx,dy)(i, j) x_(i+dx, j+dy) .
 *
 * Vectors are plain arrays of nx * ny doubles, x fastest: node (i, j) at j * nx + i. The coefficients are nine such arrays, one
 * behind the other: band k = 3 (dy + 1) + dx + 1, south-west first. Coefficients that reach across a side must be zero. All arrays
 * are in host memory; on a GPU they are copied, and every call waits until it is done.
 *
 * Interpolation follows the interval widths given to stratum_create: nx + 1 of them in x and ny + 1 in y, since Dirichlet sides
 * bound the unknowns; equal ones where they are not known. Any numbers of intervals do.
 *
 * Functions return a stratum_status. Everything but STRATUM_CONVERGED leaves a sentence in stratum_last_error. A solver serves one
 * thread at a time, and a second one is told so; different solvers are independent: there is no global state. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stratum_solver stratum_solver;

/* The same numbers as the exit codes of the programs. */
typedef enum stratum_status {
  STRATUM_CONVERGED = 0, /* or: done, where nothing iterates */
  STRATUM_USAGE = 1,     /* misuse or bad input */
  STRATUM_NOT_CONVERGED =
      2, /* at the limit of iterations, stagnated, or at the rounding of A x above an rtol that was asked for */
  STRATUM_FAILED = 3,  /* diverged, broke down, or not finite */
  STRATUM_RESOURCE = 4 /* a device failed, or memory does not suffice */
} stratum_status;

typedef enum stratum_backend { STRATUM_CPU = 0, STRATUM_CUDA = 1 } stratum_backend;

/* 0 and NULL always mean the default, so that options of all zeros are good for any matrix. */
typedef struct stratum_options {
  int backend; /* STRATUM_CPU or STRATUM_CUDA */
  int threads; /* on the CPU; 0: what OpenMP offers */
  const char*
      smoother;  /* "adi" (the default), "line_x", "line_y", "colour_gs", "jacobi", or "auto", which needs widths */
  int steps;     /* elementary smoothing steps before and after the coarse correction; 0: 4, of "auto" 2 */
  int symmetric; /* not 0: A is symmetric positive definite and stratum_solve is CG; 0: A is any matrix, iterated */
  int single_precision; /* not 0: the cycle is in float, stratum_solve stays in double; see stratum_apply */
  double rtol;        /* of stratum_solve: residual relative to the right-hand side; 0: 1e-8, or the rounding of A x */
  int max_iterations; /* of stratum_solve; 0: 100 */
} stratum_options;

typedef struct stratum_result {
  int iterations;
  double initial_residual; /* ||b - A x||_2, of the true residual */
  double residual;
  double seconds;
  int at_rounding; /* not 0: the residual is as small as the rounding of A x allows, and no smaller one can be had */
} stratum_result;

/* What stratum_create takes for options of NULL: CPU, "adi", 4 steps, symmetric, double, rtol 1e-8, 100 iterations. */
stratum_options stratum_default_options(void);

/* Widths may be NULL, and options too (the defaults). Never fails but for want of memory, when it returns NULL: bad arguments are
 * reported by the first call that uses the solver. */
stratum_solver* stratum_create(int nx, int ny, const double* widths_x, const double* widths_y,
                               const stratum_options* options);

/* 9 * nx * ny numbers, which are copied. May be called again with other numbers: the hierarchy is kept, nothing is
 * allocated. */
stratum_status stratum_set_coefficients(stratum_solver* solver, const double* bands);

/* z = one multigrid cycle for A z = r from zero: a preconditioner. r and z may be the same array.
 * In double unless asked for otherwise. A cycle in float is safe where the method around it keeps to b - A x: stratum_solve does, and
 * flexible GMRES. Plain GMRES takes M for the same linear operator in every step, and PETSc's measures M^-1 r besides: with M in
 * float it may claim 1e-8 where b - A x is at 3e-7. */
stratum_status stratum_apply(stratum_solver* solver, const double* r, double* z);

/* Solves A x = b from the given x. `result` may be NULL. */
stratum_status stratum_solve(stratum_solver* solver, const double* b, double* x, stratum_result* result);

/* Why the latest call on this solver did not return STRATUM_CONVERGED; "" when it did. Valid until the next call on the
 * solver. Of NULL: that there is no solver. */
const char* stratum_last_error(const stratum_solver* solver);

/* NULL is allowed. */
void stratum_destroy(stratum_solver* solver);

#ifdef __cplusplus
}
#endif

#endif
