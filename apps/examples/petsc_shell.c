/* Stratum as a PCSHELL of PETSc: -u_xx - c u_yy = 1 on the unit square, zero on its sides, by a DMDA and KSPCG.
 *
 * The shell's set-up reads the assembled matrix row by row into nine bands; on one process the DMDA numbers unknowns x fastest, as
 * Stratum does. KSP calls the set-up again whenever the matrix has changed: then the hierarchy is updated.
 *
 *     petsc_shell -da_grid_x 255 -da_grid_y 127 -anisotropy 1000 -ksp_monitor
 *     petsc_shell -pc_type icc                                                      any preconditioner of PETSc beside it */
#include <petscdmda.h>
#include <petscksp.h>

#include <stratum/stratum.h>

typedef struct {
  PetscInt nx, ny;
  stratum_solver* solver;
  PetscScalar* bands;
} Shell;

static PetscErrorCode check(Shell* shell, stratum_status status) {
  PetscFunctionBeginUser;
  PetscCheck(status == STRATUM_CONVERGED, PETSC_COMM_SELF, PETSC_ERR_LIB, "Stratum: %s",
             stratum_last_error(shell->solver));
  PetscFunctionReturn(0);
}

static PetscErrorCode shell_setup(PC pc) {
  Shell* shell = NULL;
  Mat a = NULL;
  PetscFunctionBeginUser;
  PetscCall(PCShellGetContext(pc, &shell));
  PetscCall(PCGetOperators(pc, NULL, &a));
  const PetscInt nx = shell->nx, size = shell->nx * shell->ny;
  PetscCall(PetscArrayzero(shell->bands, 9 * size));
  for (PetscInt row = 0; row < size; ++row) {
    PetscInt count = 0;
    const PetscInt* columns = NULL;
    const PetscScalar* values = NULL;
    PetscCall(MatGetRow(a, row, &count, &columns, &values));
    for (PetscInt k = 0; k < count; ++k) {
      const PetscInt dx = columns[k] % nx - row % nx, dy = columns[k] / nx - row / nx;
      if (dx * dx <= 1 && dy * dy <= 1)
        shell->bands[(3 * (dy + 1) + dx + 1) * size + row] = values[k];
      else
        PetscCheck(values[k] == 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
                   "row %" PetscInt_FMT " couples to %" PetscInt_FMT ": more than a nine-point stencil", row,
                   columns[k]);
    }
    PetscCall(MatRestoreRow(a, row, &count, &columns, &values));
  }
  PetscCall(check(shell, stratum_set_coefficients(shell->solver, shell->bands)));
  PetscFunctionReturn(0);
}

static PetscErrorCode shell_apply(PC pc, Vec r, Vec z) {
  Shell* shell = NULL;
  const PetscScalar* r_values = NULL;
  PetscScalar* z_values = NULL;
  PetscFunctionBeginUser;
  PetscCall(PCShellGetContext(pc, &shell));
  PetscCall(VecGetArrayRead(r, &r_values));
  PetscCall(VecGetArrayWrite(z, &z_values));
  PetscCall(check(shell, stratum_apply(shell->solver, r_values, z_values)));
  PetscCall(VecRestoreArrayWrite(z, &z_values));
  PetscCall(VecRestoreArrayRead(r, &r_values));
  PetscFunctionReturn(0);
}

static PetscErrorCode shell_destroy(PC pc) {
  Shell* shell = NULL;
  PetscFunctionBeginUser;
  PetscCall(PCShellGetContext(pc, &shell));
  stratum_destroy(shell->solver);
  PetscCall(PetscFree(shell->bands));
  PetscCall(PetscFree(shell));
  PetscFunctionReturn(0);
}

/* Makes `pc` a Stratum cycle for the matrices of `da`. */
static PetscErrorCode use_stratum(PC pc, DM da) {
  Shell* shell = NULL;
  PetscMPIInt processes = 1;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)da), &processes));
  PetscCheck(processes == 1, PetscObjectComm((PetscObject)da), PETSC_ERR_SUP,
             "Stratum runs on one process, this is a communicator of %d", processes);
  PetscCall(PetscNew(&shell));
  PetscCall(DMDAGetInfo(da, NULL, &shell->nx, &shell->ny, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(PetscMalloc1(9 * shell->nx * shell->ny, &shell->bands));
  shell->solver = stratum_create((int)shell->nx, (int)shell->ny, NULL, NULL, NULL);
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetName(pc, "stratum"));
  PetscCall(PCShellSetContext(pc, shell));
  PetscCall(PCShellSetSetUp(pc, shell_setup));
  PetscCall(PCShellSetApply(pc, shell_apply));
  PetscCall(PCShellSetDestroy(pc, shell_destroy));
  PetscFunctionReturn(0);
}

static PetscErrorCode assemble(DM da, PetscReal anisotropy, Mat a) {
  DMDALocalInfo info;
  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  const PetscReal cx = (PetscReal)(info.mx + 1) * (info.mx + 1), cy = anisotropy * (info.my + 1) * (info.my + 1);
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      const MatStencil row = {.i = i, .j = j};
      const MatStencil columns[5] = {
          row, {.i = i - 1, .j = j}, {.i = i + 1, .j = j}, {.i = i, .j = j - 1}, {.i = i, .j = j + 1}};
      const PetscScalar values[5] = {2 * (cx + cy), -cx, -cx, -cy, -cy};
      for (int k = 0; k < 5; ++k) /* those across a side meet zero */
        if (columns[k].i >= 0 && columns[k].i < info.mx && columns[k].j >= 0 && columns[k].j < info.my)
          PetscCall(MatSetValuesStencil(a, 1, &row, 1, &columns[k], &values[k], INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  DM da = NULL;
  Mat a = NULL;
  Vec b = NULL, x = NULL;
  KSP ksp = NULL;
  PC pc = NULL;
  PetscReal anisotropy = 1000;
  PetscBool other = PETSC_FALSE;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-anisotropy", &anisotropy, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_type", &other));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 255, 127, PETSC_DECIDE,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &a));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSet(b, 1));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, a, a));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  if (!other) PetscCall(use_stratum(pc, da));
  PetscCall(KSPSetFromOptions(ksp));
  for (int round = 0; round < 2 && reason >= 0; ++round, anisotropy /= 100) { /* the second time updates */
    PetscInt iterations = 0;
    PetscReal residual = 0;
    PetscCall(assemble(da, anisotropy, a));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetResidualNorm(ksp, &residual));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "anisotropy %g: %s after %d iterations, preconditioned residual %.1e\n",
                          (double)anisotropy, KSPConvergedReasons[reason], (int)iterations, (double)residual));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&a));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return reason >= 0 ? 0 : 2;
}
