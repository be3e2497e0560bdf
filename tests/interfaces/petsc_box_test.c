/* -pc_type stratum in three dimensions and in one: a DMDA as in PETSc's ksp/tutorials/ex45.c, boxes without one, what is refused. */
#include <petscdmda.h>

#include "petsc_checks.h"

/* What the matrix is: cells hx : hy : hz, boundary rows kept as ex45 does, or no flux; convection along x that turns with y. */
struct Problem {
  double h[3], wind;
  int natural;
};

static PetscErrorCode compute_matrix(KSP ksp, Mat j, Mat a, void* context) {
  const struct Problem* p = (const struct Problem*)context;
  DM da = NULL;
  PetscInt m[3], s[3], w[3];
  (void)j;
  OK(KSPGetDM(ksp, &da));
  OK(DMDAGetInfo(da, NULL, &m[0], &m[1], &m[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  OK(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  for (PetscInt z = s[2]; z < s[2] + w[2]; ++z)
    for (PetscInt y = s[1]; y < s[1] + w[1]; ++y)
      for (PetscInt x = s[0]; x < s[0] + w[0]; ++x) {
        const PetscInt at[3] = {x, y, z};
        const MatStencil row = {.k = z, .j = y, .i = x};
        MatStencil columns[7];
        PetscScalar v[7], diagonal = 0;
        PetscInt n = 0;
        int on_boundary = 0;
        for (int d = 0; d < 3; ++d) on_boundary |= m[d] > 1 && (at[d] == 0 || at[d] == m[d] - 1);
        for (int d = 0; d < 3; ++d)
          for (int side = -1; side <= 1; side += 2) {
            if (m[d] == 1) continue;
            const double wind = d == 0 ? p->wind * (2.0 * y / m[1] - 1) : 0;
            const double c = 1 / (p->h[d] * p->h[d]) + (side * wind < 0 ? fabs(wind) : 0);
            const int outside = at[d] + side < 0 || at[d] + side >= m[d];
            if (outside && p->natural) continue;
            diagonal += c;
            if (outside || (on_boundary && !p->natural)) continue;
            columns[n] = row;
            *(d == 0 ? &columns[n].i : d == 1 ? &columns[n].j : &columns[n].k) += side;
            v[n++] = -c;
          }
        columns[n] = row;
        v[n++] = diagonal;
        OK(MatSetValuesStencil(a, 1, &row, n, columns, v, INSERT_VALUES));
      }
  OK(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  if (p->natural) {
    MatNullSpace constants = NULL;
    OK(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &constants));
    OK(MatSetNullSpace(a, constants));
    OK(MatNullSpaceDestroy(&constants));
  }
  return 0;
}

static PetscErrorCode compute_rhs(KSP ksp, Vec b, void* context) {
  PetscInt n = 0;
  (void)ksp;
  OK(VecGetSize(b, &n));
  for (PetscInt k = 0; k < n; ++k) OK(VecSetValue(b, k, k * 13 % 17 - 7.5, INSERT_VALUES));
  OK(VecAssemblyBegin(b));
  OK(VecAssemblyEnd(b));
  if (((const struct Problem*)context)->natural) {
    PetscScalar sum = 0;
    OK(VecSum(b, &sum));
    OK(VecShift(b, -sum / n));
  }
  return 0;
}

/* To 1e-9 of b by the true residual. */
static void solves(int dimensions, const PetscInt m[3], struct Problem p, const char* type, const char* options,
                   int most) {
  DM da = NULL;
  KSP ksp = new_solver(PETSC_COMM_SELF, type, options);
  Mat a = NULL;
  Vec b = NULL, x = NULL, r = NULL;
  PetscReal norm = 0, residual = 0;
  PetscInt iterations = 0;
  if (dimensions == 3)
    OK(DMDACreate3d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, m[0],
                    m[1], m[2], 1, 1, 1, 1, 1, NULL, NULL, NULL, &da));
  else
    OK(DMDACreate1d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, m[0], 1, 1, NULL, &da));
  OK(DMSetUp(da));
  OK(KSPSetDM(ksp, da));
  OK(KSPSetComputeRHS(ksp, compute_rhs, &p));
  OK(KSPSetComputeOperators(ksp, compute_matrix, &p));
  OK(KSPSetFromOptions(ksp));
  OK(KSPSolve(ksp, NULL, NULL));
  OK(KSPGetSolution(ksp, &x));
  OK(KSPGetRhs(ksp, &b));
  OK(KSPGetOperators(ksp, &a, NULL));
  OK(KSPGetIterationNumber(ksp, &iterations));
  OK(VecDuplicate(b, &r));
  OK(MatMult(a, x, r));
  OK(VecAXPY(r, -1, b));
  OK(VecNorm(r, NORM_2, &residual));
  OK(VecNorm(b, NORM_2, &norm));
  if (residual > 1.01e-9 * norm || iterations > most)
    fprintf(stderr, "%s %s: %d iterations, at most %d were expected, residual %g of %g\n", type, options,
            (int)iterations, most, residual, norm);
  CHECK(residual <= 1.01e-9 * norm && iterations <= most);
  OK(VecDestroy(&r));
  OK(KSPDestroy(&ksp));
  OK(DMDestroy(&da));
}

/* Seven points without a DMDA. */
static Mat matrix(int nx, int ny, int nz) {
  Mat a = NULL;
  const int n[3] = {nx, ny, nz}, step[3] = {1, nx, nx * ny};
  OK(MatCreateSeqAIJ(PETSC_COMM_SELF, nx * ny * nz, nx * ny * nz, 7, NULL, &a));
  for (int row = 0; row < nx * ny * nz; ++row) {
    const int p[3] = {row % nx, row / nx % ny, row / nx / ny};
    OK(MatSetValue(a, row, row, 6, INSERT_VALUES));
    for (int d = 0; d < 3; ++d)
      for (int side = -1; side <= 1; side += 2)
        if (p[d] + side >= 0 && p[d] + side < n[d]) OK(MatSetValue(a, row, row + side * step[d], -1, INSERT_VALUES));
  }
  OK(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  return a;
}

static void with_options(Mat a, const char* options, PetscErrorCode code, const char* what) {
  KSP ksp = new_solver(PETSC_COMM_SELF, KSPCG, options);
  OK(KSPSetOperators(ksp, a, a));
  set_up_ends_with(ksp, code, what);
  OK(KSPDestroy(&ksp));
}

int main(int argc, char** argv) {
  OK(PetscInitialize(&argc, &argv, NULL, NULL));
  OK(PCRegisterStratum());
  const PetscInt cube[3] = {17, 16, 15}, flat[3] = {20, 21, 9}, line[3] = {200, 1, 1};
  const struct Problem cubes = {{1, 1, 1}, 0, 0}, thin = {{1, 1, 1e-3}, 0, 0}, closed = {{1, 1, 0.5}, 0, 1},
                       windy = {{1, 1, 1}, 1, 0};
  solves(3, cube, cubes, KSPCG, "", 15);
  solves(3, cube, cubes, KSPCG, "-pc_stratum_precision single", 15);
  solves(3, cube, cubes, KSPGMRES, "-ksp_view ::ascii_info", 15);
  solves(3, flat, thin, KSPCG, "", 8);
  solves(3, flat, closed, KSPCG, "", 14);
  solves(3, cube, windy, KSPGMRES, "", 25);
  solves(1, line, cubes, KSPCG, "", 8);
  Mat a = matrix(12, 10, 8);
  with_options(a, "-pc_stratum_grid 12,10,8", 0, "");
  with_options(a, "-pc_stratum_grid 8,10,12", 0, ""); /* numbered along z first */
  with_options(a, "-pc_stratum_grid 12,10,9", PETSC_ERR_ARG_INCOMP,
               "12 x 10 x 9 unknowns does not fit a matrix of 960");
  with_options(a, "-pc_stratum_grid 6,20,8", PETSC_ERR_ARG_INCOMP, "no neighbours");
  with_options(a, "-pc_stratum_grid 12,0,8", PETSC_ERR_ARG_OUTOFRANGE, "not 12 x 0 x 8");
  with_options(a, "-pc_stratum_grid 12,10,8 -pc_stratum_smoother adi", PETSC_ERR_ARG_INCOMP, "smoother is 'auto'");
  with_options(a, "-pc_stratum_grid 12,10,8 -pc_stratum_cycle k", PETSC_ERR_ARG_INCOMP, "the cycle is 'v'");
  OK(MatDestroy(&a));
  OK(PetscFinalize());
  return 0;
}
