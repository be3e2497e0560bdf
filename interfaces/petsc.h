#ifndef STRATUM_PETSC_H
#define STRATUM_PETSC_H

/* Stratum as a preconditioner of PETSc: PCType "stratum", one multigrid cycle for a matrix on a grid of nx x ny unknowns,
 *
 *     z = M^-1 r ,     (A x)_ij = sum over dx, dy in {-1, 0, 1} of a_(dx,dy)(i, j) x_(i+dx, j+dy) .
 *
 * A program of its own calls PCRegisterStratum after PetscInitialize and links libstratum_petsc. Any other takes it as it is:
 *
 *     ./program -dll_append /usr/local/lib/libstratum_petsc.so -pc_type stratum
 *
 * The grid is that of the DMDA of the PC or of the matrix (KSPSetDM, PCSetDM, MatSetDM; two dimensions, one degree of freedom),
 * or what PCStratumSetGrid or -pc_stratum_grid say, of any matrix whose rows are numbered along x or along y. Rows that hold
 * nothing but their diagonal, as those of Dirichlet nodes that were kept, are solved first; where scales of rows make the
 * matrix symmetric they are taken (core/operators/row_scales.hpp). A null space of constants (MatSetNullSpace) is found and may
 * be set; others are refused.
 *
 *     -pc_stratum_grid nx,ny
 *     -pc_stratum_precision single|double         of the cycle; double
 *     -pc_stratum_smoother NAME                   auto, adi, line_x, line_y, colour_gs, jacobi ...; auto
 *     -pc_stratum_sweeps N                        sweeps before and after the coarse correction; 0: as suits the smoother
 *     -pc_stratum_cycle auto|v|w|f|w2|k           k is no constant map: for KSPFCG, KSPFGMRES, KSPGCR
 *     -pc_stratum_interpolation auto|matrix|bilinear
 *     -pc_stratum_backend cpu|cuda
 *     -pc_stratum_threads N                       on the CPU; 0: what OpenMP offers
 *
 * Precision single is for methods that keep to b - A x: KSPCG, KSPFCG, KSPFGMRES, KSPGCR, KSPRICHARDSON. KSPGMRES, PETSc's
 * default, and others that sum up what M^-1 gave them may then claim 1e-8 where b - A x is at 1e-3.
 *
 * On several processes unknowns are brought to subdomains of whole lines and back in every application, but where they lie so
 * already; iterations are those of one process. Of a DMDA the matrix is in PETSc's order, with the DMDA's unknowns on every
 * process; of a given grid rows are in order from process to process. Threads are one unless said, or OMP_NUM_THREADS does. A
 * grid needs two lines a process or more.
 *
 * Where values change and the pattern does not, set-up is an update. PCApplyTranspose works where A is symmetric. Real numbers
 * in double. Errors, on all processes: PETSC_ERR_SUP for what there is not (kinds of DM, null spaces),
 * PETSC_ERR_ARG_WRONGSTATE without a grid, PETSC_ERR_ARG_INCOMP for a matrix or an option that does not fit, naming the first
 * row, PETSC_ERR_MEM and PETSC_ERR_GPU for the device. */

#include <petscpc.h>

#define PCSTRATUM "stratum"

/* Makes the type known; may be called again. */
PETSC_EXTERN PetscErrorCode PCRegisterStratum(void);
/* The grid of the unknowns of `pc`, row j * nx + i or i * ny + j; ignored by PCs of other types. */
PETSC_EXTERN PetscErrorCode PCStratumSetGrid(PC pc, PetscInt nx, PetscInt ny);
/* What PETSc calls when it opens libstratum_petsc. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_stratum_petsc(void);

#endif
