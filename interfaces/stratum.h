#ifndef STRATUM_H
#define STRATUM_H

/* Stratum for C: multigrid for nine-point operators on a grid of nx x ny unknowns,
 *
 *     (A x)_ij = sum over dx, dy in {-1, 0, 1} of a_(dx,dy)(i, j) x_(i+dx, j+dy) .
 *
 * A is given
 *
 *     by rows    stratum_create_csr. Unknowns are numbered x fastest, node (i, j) at j * nx + i, or y fastest, at i * ny + j,
 *                which is detected, or as options.numbering says; vectors likewise.
 *     by bands   stratum_create, then stratum_set_coefficients: nine arrays of nx * ny numbers one behind the other, band
 *                k = 3 (dy + 1) + dx + 1, south-west first; or stratum_set_symmetric_coefficients: the last five of them,
 *                centre, east, north-west, north, north-east. x fastest.
 *
 * What couples across a side couples to the other end: the direction is periodic. Whether A is symmetric, and singular
 * (constants), is detected. Rows that hold nothing but their diagonal, as those of Dirichlet nodes that were kept, are solved
 * first. All arrays are in host memory and are copied; on a GPU every call waits until it is done.
 *
 * Interval widths, always nx + 1 and ny + 1 of them, help the interpolation where cells are stretched: number i lies before
 * node i. Those beyond a Neumann or Robin boundary and the last of a periodic direction do not matter. NULL: all alike. Any numbers of
 * intervals do.
 *
 * Functions return a stratum_status. Everything but STRATUM_CONVERGED leaves a sentence in stratum_last_error. After a matrix
 * that was refused there is none: every call says why until one is accepted. A solver serves one thread at a time, and a second
 * one is told so; different solvers are independent: there is no global state. */

#include <stddef.h>
#include <stdint.h>
#include <stratum/version.h>

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

/* What options.rtol is relative to. */
typedef enum stratum_reference_norm { STRATUM_RHS = 0, STRATUM_INITIAL_RESIDUAL = 1 } stratum_reference_norm;

/* 0 and NULL always mean the default, so that options of all zeros are good for any matrix. Later versions add members at the
 * end. */
typedef struct stratum_options {
  /* sizeof(stratum_options), as the caller knows it: members behind it are at their defaults. 0: that of version 0.2, the first
   * that had this member. */
  size_t struct_size;
  int backend; /* STRATUM_CPU or STRATUM_CUDA */
  int threads; /* on the CPU; 0: what OpenMP offers */
  /* "auto" (the default: by what the matrix couples), "adi", "line_x", "line_y", "colour_gs", "jacobi" ... */
  const char* smoother;
  int sweeps;           /* sweeps before and after the coarse correction; 0: 4, of "auto" 2 */
  int symmetric;        /* 0: detected; 1: claimed, and refused where A is not; -1: A is taken for nonsymmetric */
  int single_precision; /* not 0: the cycle is in float, stratum_solve stays in double; see stratum_apply */
  double rtol; /* of stratum_solve: relative residual; 0: 1e-8, or the rounding of A x, or none where atol is given */
  int max_iterations; /* of stratum_solve; 0: 100 */
  /* "cg", "fcg", "cr", "gcr", "gmres", "bicgstab", or "multigrid": cycles by themselves. NULL: cg where A is symmetric (fcg
   * around cycle "k"), gmres else. */
  const char* solver;
  int restart;        /* of gcr and gmres: directions that are kept; 0: 30 */
  double atol;        /* a residual that is small enough whatever rtol says */
  int reference_norm; /* STRATUM_RHS or STRATUM_INITIAL_RESIDUAL */
  int patience;      /* iterations without a better residual that count as stagnation; 0: 10 of "multigrid", else any */
  const char* cycle; /* "v", "w", "f", "w2", "k"; NULL: "v", or what "auto" chooses. "k" is for fcg, gcr, gmres */
  const char*
      interpolation; /* "matrix" (as coefficients want it), "bilinear" (by widths alone); NULL: as "auto" finds best */
  int singular;      /* 0: detected; 1: claimed; -1: A is taken for regular */
  int project;       /* not 0: right-hand sides of a singular A lose their mean, however large it is */
  const int* numbering; /* by rows: node j * nx + i of every unknown; copied. NULL: detected */
} stratum_options;

typedef struct stratum_result {
  int iterations;
  /* ||b - A x||_2, of the true residual, in the rows that the iteration is for. Rows with nothing beside their diagonal (identity
   * rows, penalties of 1e13 times the entries beside them) are left out: their unknowns are b_i / a_ii from the start on. */
  double initial_residual;
  double residual;
  double seconds;
  int at_rounding; /* not 0: the residual is as small as the rounding of A x allows, and no smaller one can be had */
  double estimated_error; /* of x after the last iteration, relative to its range; NaN: not known */
} stratum_result;

/* Of the library, "0.2.0"; STRATUM_VERSION is that of the headers. */
const char* stratum_version(void);

/* What a NULL for options means: everything at its default, written out where it is a number or a name. */
stratum_options stratum_default_options(void);

/* A solver for nine or five bands. Widths may be NULL, and options too (the defaults). Never fails but for want of memory, when
 * it returns NULL: bad arguments are reported by the first call that uses the solver. */
stratum_solver* stratum_create(int nx, int ny, const double* widths_x, const double* widths_y,
                               const stratum_options* options);

/* A solver for n = nx * ny rows: row k has the entries start[k] .. start[k + 1] - 1, columns counted from 0, in any order.
 * Ready to solve with; what is wrong stands in stratum_last_error at once, and every call says so. The second: 64-bit
 * indices. */
stratum_solver* stratum_create_csr(int n, const int* start, const int* column, const double* value, int nx, int ny,
                                   const double* widths_x, const double* widths_y, const stratum_options* options);
stratum_solver* stratum_create_csr64(int64_t n, const int64_t* start, const int64_t* column, const double* value,
                                     int nx, int ny, const double* widths_x, const double* widths_y,
                                     const stratum_options* options);

/* The nine bands, or the five of a symmetric matrix. May be called again with other numbers: the hierarchy is kept and nothing
 * is allocated, unless they are of another kind (no longer symmetric, other rows alone, coupled so that "auto" may choose
 * otherwise); then it is made anew. */
stratum_status stratum_set_coefficients(stratum_solver* solver, const double* bands);
stratum_status stratum_set_symmetric_coefficients(stratum_solver* solver, const double* bands);

/* The same for a solver by rows: other values for the same entries, in the same order. */
stratum_status stratum_set_values(stratum_solver* solver, const double* value);

/* z = one multigrid cycle for A z = r from zero: a preconditioner. r and z may be the same array.
 * In double unless asked for otherwise. A cycle in float is safe where the method around it keeps to b - A x: stratum_solve
 * does, and flexible GMRES. Plain GMRES takes M for the same linear operator in every step, and PETSc's measures M^-1 r
 * besides: with M in float it may claim 1e-8 where b - A x is at 1e-3. */
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
