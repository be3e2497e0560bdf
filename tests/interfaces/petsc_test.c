/* -pc_type stratum from C: what it solves, and what it says when misused. Prints and fails at the first surprise. */
#include <petscdmshell.h>
#include <stdlib.h>

#include "petsc_support.h"

static Mat matrix(int nx, int ny, enum Kind kind, int periodic_x, int periodic_y, int y_first, double c) {
  const struct Problem p = {kind, nx, ny, periodic_x, periodic_y, c, 1, KSPCG};
  return five_points(PETSC_COMM_SELF, &p, y_first, NULL);
}

static void right_hand_side(Mat a, Vec* b, Vec* x) {
  PetscInt n = 0;
  OK(MatCreateVecs(a, x, b));
  OK(VecGetSize(*b, &n));
  for (PetscInt k = 0; k < n; ++k) OK(VecSetValue(*b, k, k * 13 % 17 - 7.5, INSERT_VALUES));
  OK(VecAssemblyBegin(*b));
  OK(VecAssemblyEnd(*b));
}

static KSP solver(const char* type, const char* options) { return new_solver(PETSC_COMM_SELF, type, options); }

static int solves(KSP ksp, Mat a, int singular) {
  Vec b = NULL, x = NULL;
  right_hand_side(a, &b, &x);
  if (singular) take_out_constants(a, b);
  OK(KSPSetFromOptions(ksp));
  const int iterations = iterations_of(ksp, a, b, x);
  OK(VecDestroy(&x));
  OK(VecDestroy(&b));
  return iterations;
}

static void solves_once(const char* type, const char* options, Mat a, int singular, int most) {
  KSP ksp = solver(type, options);
  const int iterations = solves(ksp, a, singular);
  if (iterations > most)
    fprintf(stderr, "%s %s: %d iterations, at most %d were expected\n", type, options, iterations, most);
  CHECK(iterations <= most);
  OK(KSPDestroy(&ksp));
  OK(MatDestroy(&a));
}

/* A step of upwind differences: one triangle, and all there is. */
static void it_solves_transport(void) {
  const PetscInt nx = 30, ny = 20;
  Mat a = NULL;
  OK(MatCreateSeqAIJ(PETSC_COMM_SELF, nx * ny, nx * ny, 3, NULL, &a));
  for (PetscInt k = 0; k < nx * ny; ++k) {
    OK(MatSetValue(a, k, k, 6, INSERT_VALUES));
    if (k % nx > 0) OK(MatSetValue(a, k, k - 1, -1, INSERT_VALUES));
    if (k >= nx) OK(MatSetValue(a, k, k - nx, -1, INSERT_VALUES));
  }
  OK(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  solves_once(KSPGMRES, "-pc_stratum_grid 30,20", a, 0, 10);
}

static void it_solves(void) {
  /* BoundaryConditions, numberings, sizes. */
  solves_once(KSPCG, "-pc_stratum_grid 63,40", matrix(63, 40, eliminated, 0, 0, 0, 1), 0, 8);
  solves_once(KSPCG, "-pc_stratum_grid 63,40", matrix(63, 40, eliminated, 0, 0, 1, 1), 0, 8);
  solves_once(KSPCG, "-pc_stratum_grid 33,33 -pc_stratum_precision single", matrix(33, 33, natural, 0, 0, 0, 1), 1, 8);
  solves_once(KSPCG, "-pc_stratum_grid 100,17", matrix(100, 17, natural, 1, 1, 0, 1), 1, 8);
  solves_once(KSPCG, "-pc_stratum_grid 50,31", matrix(50, 31, eliminated, 1, 0, 0, 1), 0, 8);
  solves_once(KSPGMRES, "-pc_stratum_grid 65,65", matrix(65, 65, kept, 0, 0, 0, 1), 0, 8);
  /* What is stretched is left to smoother auto; a matrix of another storage is read as well. */
  solves_once(KSPCG, "-pc_stratum_grid 64,64", matrix(64, 64, eliminated, 0, 0, 0, 1e4), 0, 8);
  Mat a = matrix(30, 20, eliminated, 0, 0, 0, 1);
  OK(MatConvert(a, MATSEQBAIJ, MAT_INPLACE_MATRIX, &a));
  solves_once(KSPCG, "-pc_stratum_grid 30,20", a, 0, 8);
  /* Nonsymmetric: by scales of its rows no more work than symmetric; a flow. */
  solves_once(KSPGMRES, "-pc_stratum_grid 60,60", matrix(60, 60, scaled, 0, 0, 0, 1), 0, 9);
  solves_once(KSPGMRES, "-pc_stratum_grid 60,60", matrix(60, 60, upwind, 0, 0, 0, 1), 0, 12);
  /* Every option. */
  solves_once(KSPFGMRES,
              "-pc_stratum_grid 60,60 -pc_stratum_smoother adi -pc_stratum_sweeps 2 -pc_stratum_cycle k "
              "-pc_stratum_precision single -pc_stratum_interpolation bilinear -pc_stratum_backend cpu "
              "-pc_stratum_threads 1",
              matrix(60, 60, eliminated, 0, 0, 0, 3), 0, 8);
}

/* Set-up again: the same pattern, one that lost its symmetry, another pattern. */
static void it_updates(void) {
  KSP ksp = solver(KSPGMRES, "-pc_stratum_grid 63,31");
  Mat a = matrix(63, 31, eliminated, 0, 0, 0, 1), b = matrix(63, 31, eliminated, 0, 0, 0, 100),
      c = matrix(63, 31, upwind, 0, 0, 0, 1), d = matrix(63, 31, scaled, 0, 0, 0, 1);
  CHECK(solves(ksp, a, 0) <= 8);
  OK(MatCopy(b, a, SAME_NONZERO_PATTERN));
  CHECK(solves(ksp, a, 0) <= 8);
  OK(MatCopy(c, a, SAME_NONZERO_PATTERN));
  CHECK(solves(ksp, a, 0) <= 12);
  OK(MatCopy(d, a, SAME_NONZERO_PATTERN));
  CHECK(solves(ksp, a, 0) <= 9);
  OK(MatScale(a, 2));
  CHECK(solves(ksp, a, 0) <= 9);
  OK(MatDestroy(&d));
  OK(MatDestroy(&c));
  OK(MatDestroy(&b));
  OK(MatDestroy(&a));
  a = matrix(31, 63, eliminated, 0, 0, 0, 1);
  OK(KSPReset(ksp));
  OK(PetscOptionsClear(NULL));
  OK(PetscOptionsInsertString(NULL, "-pc_stratum_grid 31,63"));
  CHECK(solves(ksp, a, 0) <= 8);
  OK(PetscOptionsInsertString(NULL,
                              "-pc_stratum_smoother jacobi -pc_stratum_sweeps 1")); /* other options, the same matrix */
  OK(KSPSetOperators(ksp, a, a));
  OK(MatScale(a, 2));
  CHECK(solves(ksp, a, 0) > 8);
  OK(MatDestroy(&a));
  OK(KSPDestroy(&ksp));
}

/* The set-up of a PC fails with this error and words. */
static void refuses_by(DM da, Mat a, const char* options, PetscErrorCode code, const char* what) {
  KSP ksp = solver(KSPCG, options);
  PC pc = NULL;
  OK(KSPGetPC(ksp, &pc));
  if (da != NULL) OK(PCSetDM(pc, da));
  OK(KSPSetOperators(ksp, a, a));
  set_up_ends_with(ksp, code, what);
  OK(KSPDestroy(&ksp));
}

static void refuses(Mat a, const char* options, PetscErrorCode code, const char* what) {
  refuses_by(NULL, a, options, code, what);
  OK(MatDestroy(&a));
}

static void it_refuses(void) {
  Mat a = matrix(30, 20, eliminated, 0, 0, 0, 1);
  DM da = NULL;
  MatNullSpace space = NULL;
  Vec one = NULL;
  refuses_by(NULL, a, "", PETSC_ERR_ARG_WRONGSTATE, "give -pc_stratum_grid nx,ny or nx,ny,nz, call PCStratumSetGrid");
  refuses_by(NULL, a, "-pc_stratum_grid 30", PETSC_ERR_ARG_WRONG, "takes two numbers or three");
  refuses_by(NULL, a, "-pc_stratum_grid 30,0", PETSC_ERR_ARG_OUTOFRANGE, "not 30 x 0");
  refuses_by(NULL, a, "-pc_stratum_grid 30,21", PETSC_ERR_ARG_INCOMP, "30 x 21 unknowns does not fit a matrix of 600");
  refuses_by(NULL, a, "-pc_stratum_grid 25,24", PETSC_ERR_ARG_INCOMP, "no neighbour");
  refuses_by(NULL, a, "-pc_stratum_grid 30,20 -pc_stratum_smoother ilu", PETSC_ERR_ARG_INCOMP,
             "unknown smoother 'ilu'");
  refuses_by(NULL, a, "-pc_stratum_grid 30,20 -pc_stratum_sweeps -1", PETSC_ERR_ARG_INCOMP, "-1");
  refuses_by(NULL, a, "-pc_stratum_grid 30,20 -pc_stratum_threads -1", PETSC_ERR_ARG_INCOMP, "threads must be");
  refuses_by(NULL, a, "-pc_stratum_grid 30,20 -pc_stratum_precision half", PETSC_ERR_USER, "Unknown option half");
  refuses_by(NULL, a, "-pc_stratum_grid 30,20 -pc_stratum_cycle x", PETSC_ERR_USER, "Unknown option x");

  OK(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &space));
  OK(MatSetNullSpace(a, space));
  OK(MatNullSpaceDestroy(&space));
  refuses_by(NULL, a, "-pc_stratum_grid 30,20", PETSC_ERR_ARG_INCOMP, "a null space of constants is attached");
  OK(MatCreateVecs(a, &one, NULL));
  OK(VecSetValue(one, 0, 1, INSERT_VALUES));
  OK(VecAssemblyBegin(one));
  OK(VecAssemblyEnd(one));
  OK(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_FALSE, 1, &one, &space));
  OK(MatSetNullSpace(a, space));
  OK(MatNullSpaceDestroy(&space));
  OK(VecDestroy(&one));
  refuses_by(NULL, a, "-pc_stratum_grid 30,20", PETSC_ERR_SUP, "has 1 vectors");
  OK(MatSetNullSpace(a, NULL));

  OK(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 15, 20, 1, 1, 2, 1, NULL,
                  NULL, &da));
  OK(DMSetUp(da));
  refuses_by(da, a, "", PETSC_ERR_SUP, "one degree of freedom, not 2");
  OK(DMDestroy(&da));
  OK(DMShellCreate(PETSC_COMM_SELF, &da));
  refuses_by(da, a, "", PETSC_ERR_SUP, "the DM is of type shell");
  OK(DMDestroy(&da));

  OK(MatSetValue(a, 31, 31, 0, INSERT_VALUES));
  OK(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  refuses(a, "-pc_stratum_grid 30,20", PETSC_ERR_ARG_INCOMP, "row 31");
  OK(MatCreateShell(PETSC_COMM_SELF, 600, 600, 600, 600, NULL, &a));
  refuses(a, "-pc_stratum_grid 30,20", PETSC_ERR_SUP, "shell");
}

static void set_first_diagonal(Mat a, PetscScalar value) {
  OK(MatSetValue(a, 0, 0, value, INSERT_VALUES));
  OK(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
}

/* After a set-up that failed there is no cycle, and one that succeeds mends it. */
static void it_recovers(void) {
  KSP ksp = solver(KSPCG, "-pc_stratum_grid 30,20");
  PC pc = NULL;
  Mat a = matrix(30, 20, eliminated, 0, 0, 0, 1);
  Vec b = NULL, x = NULL;
  PetscScalar diagonal = 0;
  CHECK(solves(ksp, a, 0) <= 8);
  OK(KSPGetPC(ksp, &pc));
  right_hand_side(a, &b, &x);
  OK(MatGetValue(a, 0, 0, &diagonal));
  set_first_diagonal(a, 0);
  OK(PetscPushErrorHandler(keep_message, NULL));
  CHECK(PCSetUp(pc) == PETSC_ERR_ARG_INCOMP && says("row 0"));
  CHECK(PCApply(pc, b, x) != 0);
  OK(PetscPopErrorHandler());
  set_first_diagonal(a, diagonal);
  CHECK(solves(ksp, a, 0) <= 8);
  /* A negative definite matrix is solved as its negative, and then the former one again. */
  OK(MatScale(a, -1));
  CHECK(solves(ksp, a, 0) <= 8);
  OK(MatScale(a, -1));
  CHECK(solves(ksp, a, 0) <= 8);
  OK(VecDestroy(&x));
  OK(VecDestroy(&b));
  OK(MatDestroy(&a));
  OK(KSPDestroy(&ksp));
}

/* (M^-1 r, s) = (r, M^-T s); of no other matrices. */
static void it_transposes(void) {
  Mat a = matrix(30, 20, eliminated, 0, 0, 0, 1);
  PC pc = NULL;
  Vec r = NULL, z = NULL, t = NULL;
  PetscReal difference = 0;
  OK(PCCreate(PETSC_COMM_SELF, &pc));
  OK(PCSetType(pc, PCSTRATUM));
  OK(PCStratumSetGrid(pc, 30, 20));
  OK(PCSetOperators(pc, a, a));
  right_hand_side(a, &r, &z);
  OK(VecDuplicate(r, &t));
  OK(PCApply(pc, r, z));
  OK(PCApplyTranspose(pc, r, t));
  OK(VecAXPY(t, -1, z));
  OK(VecNorm(t, NORM_INFINITY, &difference));
  CHECK(difference == 0);
  OK(MatDestroy(&a));
  a = matrix(30, 20, upwind, 0, 0, 0, 1);
  OK(PCReset(pc));
  OK(PCSetOperators(pc, a, a));
  OK(PetscPushErrorHandler(keep_message, NULL));
  CHECK(PCApplyTranspose(pc, r, t) == PETSC_ERR_SUP && says("transposed"));
  OK(PetscPopErrorHandler());
  OK(PCStratumSetGrid(pc, 30, 20));
  OK(PCSetType(pc, PCNONE));
  OK(PCStratumSetGrid(pc, 1, 1)); /* of another type: ignored */
  OK(PCDestroy(&pc));
  OK(VecDestroy(&t));
  OK(VecDestroy(&z));
  OK(VecDestroy(&r));
  OK(MatDestroy(&a));
}

/* The grid of a DMDA, of the PC or of the matrix alone. */
static void it_takes_grids_of_dmdas(void) {
  for (int of_matrix = 0; of_matrix < 2; ++of_matrix) {
    DM da = NULL;
    PC pc = NULL;
    Mat a = matrix(24, 17, natural, 1, 0, 0, 1);
    KSP ksp = solver(KSPCG, "");
    OK(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 24, 17, 1, 1, 1, 1,
                    NULL, NULL, &da));
    OK(DMSetUp(da));
    OK(KSPGetPC(ksp, &pc));
    if (of_matrix)
      OK(MatSetDM(a, da));
    else
      OK(PCSetDM(pc, da));
    CHECK(solves(ksp, a, 1) <= 8);
    OK(KSPDestroy(&ksp));
    OK(MatDestroy(&a));
    OK(DMDestroy(&da));
  }
}

int main(int argc, char** argv) {
  OK(PetscInitialize(&argc, &argv, NULL, NULL));
  OK(PCRegisterStratum());
  OK(PCRegisterStratum());
  it_solves();
  it_solves_transport();
  it_updates();
  it_refuses();
  it_recovers();
  it_transposes();
  it_takes_grids_of_dmdas();
  OK(PetscFinalize());
  return 0;
}
