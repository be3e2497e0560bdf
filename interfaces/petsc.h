#ifndef STRATUM_PETSC_H
#define STRATUM_PETSC_H

/* Stratum as a preconditioner of PETSc: PCType "stratum", one multigrid cycle for a matrix on a grid of nx x ny unknowns,
 * or on a box of nx x ny x nz,
 *
 *     z = M^-1 r ,     (A x)_ij = sum over dx, dy in {-1, 0, 1} of a_(dx,dy)(i, j) x_(i+dx, j+dy) .
 *
 * Your program calls PCRegisterStratum after PetscInitialize and links libstratum_petsc. A program that you cannot change
 * loads it:
 *
 *     ./program -dll_append /usr/local/lib/libstratum_petsc.so -pc_type stratum
 *
 * The grid is that of the DMDA of the PC or of the matrix (KSPSetDM, PCSetDM, MatSetDM; one to three dimensions, one degree
 * of freedom). Without a DMDA it is given by PCStratumSetGrid, PCStratumSetBox or -pc_stratum_grid, for any matrix whose rows
 * are numbered along x or along y, or along any direction of a box first. Rows that contain only their diagonal, such as kept
 * Dirichlet rows, are solved first. Rows that become symmetric by scaling are scaled (core/operators/row_scales.hpp). A null
 * space of constants (MatSetNullSpace) is detected and may be set; others are refused.
 *
 *     -pc_stratum_grid nx,ny or nx,ny,nz
 *     -pc_stratum_precision single|double         of the cycle; default double
 *     -pc_stratum_smoother NAME                   auto (default), adi, line_x, line_y, colour_gs, jacobi ...
 *     -pc_stratum_sweeps N                        sweeps before and after the coarse correction; 0: chosen by the smoother
 *     -pc_stratum_cycle auto|v|w|f|w2|k           k varies from step to step and needs KSPFCG, KSPFGMRES or KSPGCR
 *     -pc_stratum_interpolation auto|matrix|bilinear
 *     -pc_stratum_backend cpu|cuda
 *     -pc_stratum_threads N                       CPU threads; 0: all that OpenMP offers
 *
 * In three dimensions coarsening and smoothing follow the cells: other values of smoother, sweeps, cycle and interpolation than
 * auto, 1, v and matrix are refused. If A is not symmetric and no scales of its rows make it so, the cycle is not symmetric
 * either: take KSPFGMRES or KSPBCGS. One process. Coordinates of a DMDA are not looked at, in any dimension: couplings say how
 * far nodes are apart, as multigrid sees it, K included.
 *
 * Single precision is safe with methods that keep their residual equal to b - A x: KSPCG, KSPFCG, KSPFGMRES, KSPGCR and
 * KSPRICHARDSON. KSPGMRES, PETSc's default, and others may claim 1e-8 where b - A x is 1e-3.
 *
 * On several processes unknowns are moved to subdomains of whole lines and back in every application, unless they are
 * distributed so already. The number of iterations is that of one process. The matrix of a DMDA is in PETSc's order,
 * distributed as the DMDA; with a given grid rows are in order from process to process. The number of threads is 1, unless
 * the option or OMP_NUM_THREADS sets it. The grid must have at least two lines for each process.
 *
 * If values change and the pattern does not, set-up is an update. PCApplyTranspose works if A is symmetric. Numbers are
 * real, in double precision. Errors, on all processes: PETSC_ERR_SUP for what is not supported (kinds of DM, null spaces),
 * PETSC_ERR_ARG_WRONGSTATE without a grid, PETSC_ERR_ARG_INCOMP for a matrix or an option that does not fit, with the first
 * wrong row, PETSC_ERR_MEM and PETSC_ERR_GPU for the device. */

#include <petscpc.h>

#define PCSTRATUM "stratum"

/* Registers the type; may be called again. */
PETSC_EXTERN PetscErrorCode PCRegisterStratum(void);
/* Sets the grid of the unknowns of `pc`, row j * nx + i or i * ny + j; PCs of other types ignore it. */
PETSC_EXTERN PetscErrorCode PCStratumSetGrid(PC pc, PetscInt nx, PetscInt ny);
/* The same of a box, row (k * ny + j) * nx + i or with the directions in another order. */
PETSC_EXTERN PetscErrorCode PCStratumSetBox(PC pc, PetscInt nx, PetscInt ny, PetscInt nz);
/* PETSc calls it when it opens libstratum_petsc. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_stratum_petsc(void);

#endif
