/* -Laplace u = f on the unit square, no flux through its boundaries, by PETSc with Stratum or with what -pc_type says.
 *
 * Cells of a DMDA, u in their centres: the matrix is singular, and PETSc is told so by a null space of constants. The solution is
 * cos(pi x) cos(2 pi y). (The problem of PETSc's tutorial ksp/ex50.)
 *
 *     petsc_neumann -da_grid_x 1000 -da_grid_y 300
 *     petsc_neumann -pc_type gamg */
#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

#include <stratum/petsc.h>

static PetscErrorCode assemble(DM da, Mat a, Vec b, Vec exact) {
  DMDALocalInfo info;
  PetscScalar **b_at = NULL, **u_at = NULL;
  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  const PetscReal hx = 1. / info.mx, hy = 1. / info.my;
  PetscCall(DMDAVecGetArray(da, b, &b_at));
  PetscCall(DMDAVecGetArray(da, exact, &u_at));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      const MatStencil row = {.i = i, .j = j};
      MatStencil columns[5];
      PetscScalar values[5], diagonal = 0;
      PetscInt entries = 0;
      for (int side = 0; side < 4; ++side) {
        const PetscInt di = side == 0 ? -1 : side == 1, dj = side == 2 ? -1 : side == 3;
        if (i + di < 0 || i + di == info.mx || j + dj < 0 || j + dj == info.my) continue;
        columns[entries] = (MatStencil){.i = i + di, .j = j + dj};
        values[entries] = di != 0 ? -hy / hx : -hx / hy;
        diagonal -= values[entries++];
      }
      columns[entries] = row;
      values[entries++] = diagonal;
      PetscCall(MatSetValuesStencil(a, 1, &row, entries, columns, values, INSERT_VALUES));
      u_at[j][i] = PetscCosReal(PETSC_PI * (i + 0.5) * hx) * PetscCosReal(2 * PETSC_PI * (j + 0.5) * hy);
      b_at[j][i] = 5 * PETSC_PI * PETSC_PI * u_at[j][i] * hx * hy;
    }
  PetscCall(DMDAVecRestoreArray(da, exact, &u_at));
  PetscCall(DMDAVecRestoreArray(da, b, &b_at));
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  DM da = NULL;
  Mat a = NULL;
  Vec b = NULL, x = NULL, exact = NULL, r = NULL;
  MatNullSpace constants = NULL;
  KSP ksp = NULL;
  PC pc = NULL;
  PetscLogDouble begin = 0, made = 0, end = 0;
  PetscInt iterations = 0;
  PetscReal rhs = 0, residual = 0, error = 0;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCRegisterStratum());
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 257, 257,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &a));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecDuplicate(b, &exact));
  PetscCall(assemble(da, a, b, exact));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
  PetscCall(MatSetNullSpace(a, constants));
  PetscCall(MatNullSpaceRemove(constants, b));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da)); /* the grid, and what -pc_type mg coarsens */
  PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, a, a));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSTRATUM));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscTime(&begin));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&made));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscTime(&end));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(MatMult(a, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &rhs));
  PetscCall(MatNullSpaceRemove(constants, x)); /* neither has a mean then */
  PetscCall(VecAXPY(x, -1, exact));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(PetscPrintf(
      PETSC_COMM_WORLD, "%s after %d iterations, true residual %.1e, error %.1e, set-up %.3f s, solve %.3f s\n",
      KSPConvergedReasons[reason], (int)iterations, (double)(residual / rhs), (double)error, made - begin, end - made));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatNullSpaceDestroy(&constants));
  PetscCall(VecDestroy(&exact));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&a));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return reason >= 0 ? 0 : 2;
}
