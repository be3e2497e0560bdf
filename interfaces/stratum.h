#ifndef STRATUM_H
#define STRATUM_H

/* Stratum for C: Poisson problems in rectangles and boxes (stratum_poisson, below), and multigrid for nine-point operators on
 * a grid of nx x ny unknowns, or 27-point operators on a box of nx x ny x nz,
 *
 *     (A x)_ij = sum over dx, dy in {-1, 0, 1} of a_(dx,dy)(i, j) x_(i+dx, j+dy) .
 *
 * There are two ways to give A:
 *
 *     by rows    stratum_create_csr. Unknowns are numbered along x first, node (i, j) at j * nx + i, or along y first, at
 *                i * ny + j, which is detected; any other order is given by options.numbering. Vectors have the same order.
 *     by bands   stratum_create, then stratum_set_coefficients: nine arrays of nx * ny numbers, one after the other, band
 *                k = 3 (dy + 1) + dx + 1, south-west first; or stratum_set_symmetric_coefficients: the last five of them,
 *                centre, east, north-west, north, north-east. Numbered along x first.
 *
 * A direction is periodic if its first and last unknowns couple. The solver detects whether A is symmetric, and whether it is
 * singular (constants). Rows that contain only their diagonal, such as kept Dirichlet rows, are solved first. All arrays are in
 * host memory and are copied; on a GPU every call waits until it is done.
 *
 * Interval widths help the interpolation on stretched cells. There are always nx + 1 and ny + 1 of them; number i lies before
 * node i. Widths beyond a Neumann or Robin boundary, and the last one of a periodic direction, are not used. NULL means equal
 * widths.
 *
 * Functions return a stratum_status. After any other than STRATUM_CONVERGED, stratum_last_error has a sentence. After a
 * rejected matrix the solver is invalid until a valid matrix is given, and every call returns the reason. One thread at a
 * time may use a solver; a second one gets an error. Different solvers are independent: there is no global state. */

#include <stddef.h>
#include <stdint.h>
#include <stratum/version.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stratum_solver stratum_solver;

/* The same numbers as the exit codes of the programs. */
typedef enum stratum_status {
  STRATUM_CONVERGED = 0, /* converged; or done, if the call does not iterate */
  STRATUM_USAGE = 1,     /* misuse or bad input */
  STRATUM_NOT_CONVERGED =
      2,               /* iteration limit, stagnated, or at the round-off limit above a tolerance that was given */
  STRATUM_FAILED = 3,  /* diverged, breakdown, or not finite */
  STRATUM_RESOURCE = 4 /* a GPU failed, or memory does not suffice */
} stratum_status;

typedef enum stratum_backend { STRATUM_CPU = 0, STRATUM_CUDA = 1 } stratum_backend;

/* The norm to which options.rtol refers. */
typedef enum stratum_reference_norm { STRATUM_RHS = 0, STRATUM_INITIAL_RESIDUAL = 1 } stratum_reference_norm;

/* 0 and NULL always mean the default; options of all zeros work for any matrix. Later versions add members at the end. */
typedef struct stratum_options {
  /* sizeof(stratum_options) in the caller's version; members after it have their defaults. 0: the size in version 0.2, the
   * first version with this member. */
  size_t struct_size;
  int backend; /* STRATUM_CPU or STRATUM_CUDA */
  int threads; /* CPU threads; 0: all that OpenMP offers */
  /* "auto" (the default, chosen by the couplings of the matrix), "adi", "line_x", "line_y", "colour_gs", "jacobi" ... */
  const char* smoother;
  int sweeps;           /* sweeps before and after the coarse correction; 0: 4, or 2 with "auto" */
  int symmetric;        /* 0: detected; 1: symmetric, refused if A is not; -1: treated as nonsymmetric */
  int single_precision; /* not 0: cycles in float, stratum_solve stays in double; see stratum_apply */
  double rtol; /* of stratum_solve: relative residual; 0: 1e-8 or the round-off limit, or none if atol is given */
  int max_iterations; /* of stratum_solve; 0: 100 */
  /* "cg", "fcg", "cr", "gcr", "gmres", "bicgstab", or "multigrid" for cycles alone. NULL: cg if A is symmetric (fcg with
   * cycle "k"), else gmres. */
  const char* solver;
  int restart;        /* gcr and gmres: number of directions kept; 0: 30 */
  double atol;        /* absolute tolerance: stop below it, whatever rtol is */
  int reference_norm; /* STRATUM_RHS or STRATUM_INITIAL_RESIDUAL */
  int patience; /* iterations without a smaller residual that count as stagnation; 0: 10 for "multigrid", else no limit */
  const char* cycle; /* "v", "w", "f", "w2", "k"; NULL: "v", or as "auto" chooses. "k" needs fcg, gcr or gmres */
  const char*
      interpolation; /* "matrix" (follows the entries), "bilinear" (follows the widths); NULL: chosen by the matrix */
  int singular;      /* 0: detected; 1: singular; -1: treated as regular */
  int project;       /* not 0: the mean of right-hand sides of a singular A is subtracted, however large it is */
  const int* numbering; /* for a matrix by rows: node j * nx + i of every unknown; copied. NULL: detected */
  /* A matrix with one triangle alone that looks like half of a symmetric one: "ask" refuses it, "symmetric" fills in the other
   * triangle, "general" takes it for the whole matrix. NULL: "ask". */
  const char* triangle;
} stratum_options;

typedef struct stratum_result {
  int iterations;
  /* ||b - A x||_2 of the true residual, in the rows that are iterated on. Rows that contain only their diagonal, and
   * penalties of 1e13 times the entries beside them, do not count: their unknowns are b_i / a_ii from the start. */
  double initial_residual;
  double residual;
  double seconds;
  int at_rounding;        /* not 0: the residual is at the round-off limit and cannot become smaller */
  double estimated_error; /* error of x that the iteration left, relative to the range of x; NaN: not known */
} stratum_result;

/* Version of the library, "0.2.0"; STRATUM_VERSION is the version of the headers. */
const char* stratum_version(void);

/* The options that NULL stands for: all defaults, written out where they are numbers or names. */
stratum_options stratum_default_options(void);

/* A solver for nine or five bands. Widths and options may be NULL (defaults). Returns NULL only if memory does not suffice;
 * wrong arguments are reported by the first call that uses the solver. */
stratum_solver* stratum_create(int nx, int ny, const double* widths_x, const double* widths_y,
                               const stratum_options* options);

/* A solver for n = nx * ny rows: row k has the entries start[k] .. start[k + 1] - 1, with columns counted from 0 in any
 * order. It is ready to solve. If something is wrong, stratum_last_error has the reason at once, and every call returns it.
 * The second function takes 64-bit indices. */
stratum_solver* stratum_create_csr(int n, const int* start, const int* column, const double* value, int nx, int ny,
                                   const double* widths_x, const double* widths_y, const stratum_options* options);
stratum_solver* stratum_create_csr64(int64_t n, const int64_t* start, const int64_t* column, const double* value,
                                     int nx, int ny, const double* widths_x, const double* widths_y,
                                     const stratum_options* options);

/* The same on a box of nx x ny x nz nodes, n = nx * ny * nz, whose rows couple a node with some of its 26 neighbours. Unknowns
 * are numbered along x first, then y, node (i, j, k) at (k * ny + j) * nx + i, or in another order of the directions, which is
 * detected, or by options.numbering. Smoother, sweeps and cycle follow the cells (gated coarsening); other values of options
 * than "auto", 0 or 1, "v" and "matrix" are refused, and `patience` is not used. A that is not symmetric is solved by gmres
 * unless options.solver says otherwise; stratum_apply is then a cycle that is not symmetric. */
stratum_solver* stratum_create_box_csr(int n, const int* start, const int* column, const double* value, int nx, int ny,
                                       int nz, const double* widths_x, const double* widths_y, const double* widths_z,
                                       const stratum_options* options);
stratum_solver* stratum_create_box_csr64(int64_t n, const int64_t* start, const int64_t* column, const double* value,
                                         int nx, int ny, int nz, const double* widths_x, const double* widths_y,
                                         const double* widths_z, const stratum_options* options);

/* Sets the nine bands, or the five of a symmetric matrix. May be called again with other numbers. The hierarchy is then
 * reused and nothing is allocated, unless the kind of matrix changes (no longer symmetric, other rows with only their
 * diagonal, couplings for which "auto" may choose otherwise); then the hierarchy is built again. */
stratum_status stratum_set_coefficients(stratum_solver* solver, const double* bands);
stratum_status stratum_set_symmetric_coefficients(stratum_solver* solver, const double* bands);

/* The same for a solver by rows: new values of the same entries, in the same order. */
stratum_status stratum_set_values(stratum_solver* solver, const double* value);

/* One multigrid cycle for A z = r with z = 0 at the start: a preconditioner. r and z may be the same array. It is in double
 * precision unless options.single_precision is set. A cycle in float is safe if the iteration around it keeps its residual
 * equal to b - A x, as stratum_solve and flexible GMRES do. Plain GMRES assumes that M is the same linear operator in every
 * step, and PETSc's also measures M^-1 r: with M in float it may claim 1e-8 where b - A x is 1e-3. */
stratum_status stratum_apply(stratum_solver* solver, const double* r, double* z);

/* Solves A x = b from the given x. `result` may be NULL. */
stratum_status stratum_solve(stratum_solver* solver, const double* b, double* x, stratum_result* result);

/* The reason why the latest call did not return STRATUM_CONVERGED; "" if it did. Valid until the next call on the solver. For
 * NULL it says that there is no solver. */
const char* stratum_last_error(const stratum_solver* solver);

/* NULL is allowed. */
void stratum_destroy(stratum_solver* solver);

/* Solves -div(K grad u) + c u = f in a rectangle by bilinear, in a box by trilinear finite elements, on cells of any widths.
 * The solver is multigrid; in a box with K = X(x) Y(y) Z(z) it is fast diagonalization. Arrays have one number for every node,
 * boundary nodes included, x fastest: node (i, j, k) is number (k (cells[1] + 1) + j) (cells[0] + 1) + i, in a rectangle node
 * (i, j) is number j (cells[0] + 1) + i. */
typedef struct stratum_poisson stratum_poisson;

/* u = value;  n.K grad u = value, n outward;  n.K grad u + alpha u = value;  u is the same at the opposite boundary. */
typedef enum stratum_boundary {
  STRATUM_DIRICHLET = 0,
  STRATUM_NEUMANN = 1,
  STRATUM_ROBIN = 2,
  STRATUM_PERIODIC = 3
} stratum_boundary;

/* A body inside the domain (docs/guides/bodies.md). */
typedef enum stratum_body_kind {
  STRATUM_BODY_VALUE = 0,   /* held at u = value */
  STRATUM_BODY_NO_FLUX = 1, /* nothing flows into it; u is NaN at nodes that no other cell touches */
  STRATUM_BODY_K = 2,       /* K = value in place of kappa */
  STRATUM_BODY_CONTACT = 3  /* a resistance of this value on its surface; in a box its cells fill a box */
} stratum_body_kind;

typedef struct stratum_body {
  const unsigned char* inside; /* on the cells, x fastest: not 0 where the body is */
  int kind;                    /* stratum_body_kind */
  double value;
} stratum_body;

/* If everything but dimensions and cells is zero, the problem is -Laplace u = f in the unit square or cube, u = 0 on its
 * boundary. */
typedef struct stratum_poisson_problem {
  size_t struct_size;      /* sizeof(stratum_poisson_problem), or 0 */
  int dimensions;          /* 2: a rectangle; 3: a box */
  int cells[3];            /* in x, y and z */
  const double* widths[3]; /* of the cells of x, y and z, copied; NULL: all alike */
  double lengths[3];       /* of x, y and z where widths are NULL; 0: 1 */
  int boundaries[6]; /* stratum_boundary of the first and the last x (left, right), y (bottom, top), z (front, back) */
  double values[6];  /* on these */
  double alpha[6];   /* of STRATUM_ROBIN, not negative */
  const double*
      dirichlet; /* at all nodes, of which those on Dirichlet boundaries count, in place of values; NULL: values */
  const double* kappa; /* K on the cells, x fastest, above 0; NULL: 1 */
  double reaction;     /* c, not negative; in a box 0 beside bodies that hold u or let nothing in */
  int body_count;
  const stratum_body* bodies; /* body_count of them, copied; NULL: none */
} stratum_poisson_problem;

/* Copies everything. The options backend, threads, rtol, atol, max_iterations and project are used, the others are ignored.
 * Returns NULL only if there is no memory. Other faults of the problem are reported by stratum_poisson_last_error at once, and
 * by every later call. */
stratum_poisson* stratum_poisson_create(const stratum_poisson_problem* problem, const stratum_options* options);

/* Computes u at all nodes from f at all nodes; f is linear between nodes in every direction. A problem is singular if it has no
 * Dirichlet boundary, no Robin boundary and c = 0: then the integral of u is zero, and f has to balance the boundary values,
 * unless options.project subtracts the mean of f. The same holds of each room that bodies close. `result` may be NULL. */
stratum_status stratum_poisson_solve(stratum_poisson* poisson, const double* f, double* u, stratum_result* result);

/* What flows out of a body through its surface in the latest solution; bodies are counted from 0. The flux of
 * STRATUM_BODY_NO_FLUX is zero up to the residual. In a box the fluxes of STRATUM_BODY_K and STRATUM_BODY_CONTACT are not
 * computed: `body_flux` is NaN. */
stratum_status stratum_poisson_body_flux(stratum_poisson* poisson, int body, double* body_flux);

/* What may be wrong with u although every call succeeds: bodies of STRATUM_BODY_NO_FLUX touch in corners alone, through which u
 * leaks; or cells of a rectangle are so long and thin between boundaries without values that round-off of the matrix changes u.
 * This is known from stratum_poisson_create on. After stratum_poisson_solve in a rectangle it may also be that much of what flows
 * in u leaks between cells that touch in corners alone, around which K is a hundredth of theirs. "" if there is nothing to warn
 * of. The text stays until the next call for this solver. */
const char* stratum_poisson_warning(const stratum_poisson* poisson);

/* As stratum_last_error and stratum_destroy. */
const char* stratum_poisson_last_error(const stratum_poisson* poisson);
void stratum_poisson_destroy(stratum_poisson* poisson);

#ifdef __cplusplus
}
#endif

#endif
