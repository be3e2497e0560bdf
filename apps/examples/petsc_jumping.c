/* -div(k grad u) = f on the unit square, k jumping in its middle, by PETSc with Stratum or with what -pc_type says.
 *
 * Nodes of a DMDA, those on the boundaries among them; what flows between two nodes goes by the harmonic mean of k. f is a Gaussian, and
 * so are the values on the boundaries: their rows stay in the matrix with nothing but a diagonal. The second solve has another k on the
 * same pattern: the set-up is an update then. (The problem of PETSc's tutorial ksp/ex29, in conservative format.)
 *
 *     petsc_jumping -da_grid_x 1025 -da_grid_y 1025 -jump 1e6
 *     petsc_jumping -pc_type hypre */
#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

#include <stratum/petsc.h>

static PetscReal k_at(PetscReal x, PetscReal y, PetscReal jump) {
  return x > 1. / 3 && x < 2. / 3 && y > 1. / 3 && y < 2. / 3 ? jump : 1;
}

static PetscReal gaussian(PetscReal x, PetscReal y) { return PetscExpReal(-10 * (x * x + y * y)); }

/* A and b, and the values on the boundaries in x. */
static PetscErrorCode assemble(DM da, PetscReal jump, Mat a, Vec b, Vec x) {
  DMDALocalInfo info;
  PetscScalar **b_at = NULL, **x_at = NULL;
  MatStencil* boundaries = NULL;
  PetscInt count = 0;
  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  const PetscReal hx = 1. / (info.mx - 1), hy = 1. / (info.my - 1);
  PetscCall(PetscMalloc1(2 * (info.mx + info.my), &boundaries));
  PetscCall(DMDAVecGetArray(da, b, &b_at));
  PetscCall(DMDAVecGetArray(da, x, &x_at));
  PetscCall(MatZeroEntries(a));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      const MatStencil row = {.i = i, .j = j};
      const PetscReal here = k_at(i * hx, j * hy, jump);
      MatStencil columns[5];
      PetscScalar values[5], diagonal = 0;
      PetscInt entries = 0;
      for (int side = 0; side < 4; ++side) {
        const PetscInt di = side == 0 ? -1 : side == 1, dj = side == 2 ? -1 : side == 3;
        const PetscReal there = k_at((i + di) * hx, (j + dj) * hy, jump);
        if (i + di < 0 || i + di == info.mx || j + dj < 0 || j + dj == info.my) continue;
        columns[entries] = (MatStencil){.i = i + di, .j = j + dj};
        values[entries] = -2 * here * there / (here + there) * (di != 0 ? hy / hx : hx / hy);
        diagonal -= values[entries++];
      }
      columns[entries] = row;
      values[entries++] = diagonal;
      PetscCall(MatSetValuesStencil(a, 1, &row, entries, columns, values, INSERT_VALUES));
      b_at[j][i] = gaussian(i * hx, j * hy) * hx * hy;
      if (i == 0 || j == 0 || i == info.mx - 1 || j == info.my - 1) {
        x_at[j][i] = gaussian(i * hx, j * hy);
        boundaries[count++] = row;
      }
    }
  PetscCall(DMDAVecRestoreArray(da, x, &x_at));
  PetscCall(DMDAVecRestoreArray(da, b, &b_at));
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscCall(
      MatZeroRowsColumnsStencil(a, count, boundaries, 1, x, b)); /* symmetric, with the rows of the boundaries kept */
  PetscCall(PetscFree(boundaries));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  DM da = NULL;
  Mat a = NULL;
  Vec b = NULL, x = NULL, r = NULL;
  KSP ksp = NULL;
  PC pc = NULL;
  PetscReal jump = 1000;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCRegisterStratum());
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &jump, NULL));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 257, 257,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &a));
  PetscCall(MatSetOption(a, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da)); /* the grid, and what -pc_type mg coarsens */
  PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSTRATUM));
  PetscCall(KSPSetFromOptions(ksp));
  for (int round = 0; round < 2 && reason >= 0; ++round, jump = 1 / jump) {
    PetscLogDouble begin = 0, made = 0, end = 0;
    PetscInt iterations = 0;
    PetscReal rhs = 0, residual = 0;
    PetscCall(assemble(da, jump, a, b, x));
    PetscCall(VecSet(x, 0));
    PetscCall(KSPSetOperators(ksp, a, a));
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
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "jump %g: %s after %d iterations, true residual %.1e, set-up %.3f s, solve %.3f s\n",
                          (double)jump, KSPConvergedReasons[reason], (int)iterations, (double)(residual / rhs),
                          made - begin, end - made));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&a));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return reason >= 0 ? 0 : 2;
}
