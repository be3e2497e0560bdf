/* What the tests of -pc_type stratum on grids of a plane share: problems, their matrices and solves. */
#ifndef STRATUM_TESTS_PETSC_SUPPORT_H
#define STRATUM_TESTS_PETSC_SUPPORT_H

#include <petscdmda.h>

#include "petsc_checks.h"

enum Kind { eliminated, kept, natural, scaled, upwind };
struct Problem {
  enum Kind kind;
  int nx, ny, around_x, around_y;
  double c, jump;
  const char* type;
};

/* Five points on nx x ny nodes, y first where asked for, or in the DMDA's order: side nodes eliminated; kept as rows of a
 * diagonal; no flux; the latter divided by volumes that vary, plus 1; an upwind flow. c is the ratio of links along x and y;
 * they jump in the middle. Periodic where said. Every process sets the rows with these numbers of its own. */
static Mat five_points(MPI_Comm comm, const struct Problem* p, int y_first, DM da) {
  Mat a = NULL;
  AO order = NULL;
  PetscInt first = 0, end = 0;
  const int nx = p->nx, ny = p->ny;
  if (da != NULL) {
    OK(DMCreateMatrix(da, &a));
    OK(DMDAGetAO(da, &order));
    OK(MatSetOption(a, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  } else {
    OK(MatCreateAIJ(comm, PETSC_DECIDE, PETSC_DECIDE, nx * ny, nx * ny, 5, NULL, 5, NULL, &a));
  }
  OK(MatGetOwnershipRange(a, &first, &end));
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      PetscInt row = y_first ? i * ny + j : j * nx + i;
      if (order != NULL) OK(AOApplicationToPetsc(order, 1, &row));
      if (row < first || row >= end) continue;
      const double d = p->kind == scaled ? 1 + (i * 7 + j * 3) % 10 : 1;
      double diagonal = p->kind == scaled ? d : 0;
      for (int side = 0; side < 4; ++side) {
        const int di = side == 0 ? -1 : side == 1, dj = side == 2 ? -1 : side == 3;
        int s = i + di, q = j + dj;
        const int strong = 3 * (i < s ? s : i) > nx && 3 * (i < s ? i : s) < 2 * nx && 3 * (j < q ? q : j) > ny &&
                           3 * (j < q ? j : q) < 2 * ny;
        const double value =
            d * (strong ? p->jump : 1) * ((di != 0 ? p->c : 1) + (p->kind == upwind && di < 0 ? 0.7 : 0));
        if (p->around_x) s = (s + nx) % nx;
        if (p->around_y) q = (q + ny) % ny;
        const int outside = s < 0 || s == nx || q < 0 || q == ny;
        if (!outside || p->kind == eliminated || p->kind == kept || p->kind == upwind) diagonal += value;
        if (outside || (p->kind == kept && (i == 0 || j == 0 || i == nx - 1 || j == ny - 1))) continue;
        PetscInt column = y_first ? s * ny + q : q * nx + s;
        if (order != NULL) OK(AOApplicationToPetsc(order, 1, &column));
        OK(MatSetValue(a, row, column, -value, INSERT_VALUES));
      }
      OK(MatSetValue(a, row, row, diagonal, INSERT_VALUES));
    }
  OK(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  return a;
}

/* Constants are solutions, and b has none of them. */
static void take_out_constants(Mat a, Vec b) {
  MatNullSpace constants = NULL;
  PetscScalar sum = 0;
  PetscInt n = 0;
  OK(MatNullSpaceCreate(PetscObjectComm((PetscObject)a), PETSC_TRUE, 0, NULL, &constants));
  OK(MatSetNullSpace(a, constants));
  OK(MatNullSpaceDestroy(&constants));
  OK(VecGetSize(b, &n));
  OK(VecSum(b, &sum));
  OK(VecShift(b, -sum / n));
}

/* Iterations to a x = b; the true residual is looked at. */
static int iterations_of(KSP ksp, Mat a, Vec b, Vec x) {
  Vec r = NULL;
  PetscReal norm = 0, residual = 0;
  PetscInt iterations = 0;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  OK(VecDuplicate(b, &r));
  OK(KSPSetOperators(ksp, a, a));
  OK(KSPSolve(ksp, b, x));
  OK(KSPGetConvergedReason(ksp, &reason));
  OK(KSPGetIterationNumber(ksp, &iterations));
  OK(MatMult(a, x, r));
  OK(VecAYPX(r, -1, b));
  OK(VecNorm(r, NORM_2, &residual));
  OK(VecNorm(b, NORM_2, &norm));
  CHECK(reason > 0);
  CHECK(residual <= 2e-9 * norm);
  OK(VecDestroy(&r));
  return (int)iterations;
}

#endif
