/* mpirun -n N test_petsc_ranks [some]: -pc_type stratum on several processes, in as many iterations as on one, however unknowns are
 * shared out; and what is refused, on all. Prints and fails at the first surprise. */
#include "petsc_support.h"

/* How unknowns are shared out. */
enum Shared { along_x, along_y, rows_of_da, columns_of_da, blocks_of_da };

static DM da_of(const struct Problem* p, enum Shared shared) {
  DM da = NULL;
  const PetscInt across = shared == rows_of_da ? 1 : PETSC_DECIDE, up = shared == columns_of_da ? 1 : PETSC_DECIDE;
  OK(DMDACreate2d(PETSC_COMM_WORLD, p->around_x ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE,
                  p->around_y ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, p->nx, p->ny, across, up, 1,
                  1, NULL, NULL, &da));
  OK(DMSetUp(da));
  return da;
}

static KSP solver(MPI_Comm comm, const char* type, const struct Problem* p, DM da) {
  KSP ksp = new_solver(comm, type, "");
  PC pc = NULL;
  OK(KSPGetPC(ksp, &pc));
  if (da != NULL)
    OK(PCSetDM(pc, da));
  else if (p != NULL)
    OK(PCStratumSetGrid(pc, p->nx, p->ny));
  OK(KSPSetFromOptions(ksp));
  return ksp;
}

/* Iterations. b is the same function of the node, whatever the order. */
static int solves(KSP ksp, Mat a, const struct Problem* p, int y_first, DM da) {
  Vec b = NULL, x = NULL;
  PetscInt first = 0, end = 0;
  AO order = NULL;
  if (da != NULL) OK(DMDAGetAO(da, &order));
  OK(MatCreateVecs(a, &x, &b));
  OK(VecGetOwnershipRange(b, &first, &end));
  for (PetscInt k = 0; k < p->nx * p->ny; ++k) {
    PetscInt row = y_first ? k % p->nx * p->ny + k / p->nx : k;
    if (order != NULL) OK(AOApplicationToPetsc(order, 1, &row));
    if (row >= first && row < end) OK(VecSetValue(b, row, k * 13 % 17 - 7.5, INSERT_VALUES));
  }
  OK(VecAssemblyBegin(b));
  OK(VecAssemblyEnd(b));
  if (p->kind == natural || (p->around_x && p->around_y && p->kind == eliminated)) take_out_constants(a, b);
  const int iterations = iterations_of(ksp, a, b, x);
  OK(VecDestroy(&x));
  OK(VecDestroy(&b));
  return iterations;
}

/* All problems, or every `step`th. */
static void it_solves(size_t step) {
  const struct Problem problems[] = {
      {eliminated, 63, 40, 0, 0, 1, 1, KSPCG}, {eliminated, 40, 63, 0, 0, 1e4, 1, KSPCG},
      {eliminated, 50, 31, 1, 0, 1, 1, KSPCG}, {eliminated, 31, 50, 0, 1, 1, 100, KSPCG},
      {kept, 65, 65, 0, 0, 1, 1000, KSPGMRES}, {natural, 33, 33, 0, 0, 1, 1, KSPCG},
      {natural, 100, 29, 1, 1, 1, 1, KSPCG},   {natural, 64, 50, 0, 0, 1, 1000, KSPCG},
      {scaled, 60, 60, 0, 0, 1, 1, KSPGMRES},  {scaled, 40, 40, 0, 1, 1, 1, KSPGMRES},
      {upwind, 60, 60, 0, 0, 1, 1, KSPGMRES},
  };
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k += step) {
    const struct Problem* const p = &problems[k];
    int alone[2];
    for (int y_first = 0; y_first < 2; ++y_first) {
      Mat whole = five_points(PETSC_COMM_SELF, p, y_first, NULL);
      KSP ksp = solver(PETSC_COMM_SELF, p->type, p, NULL);
      alone[y_first] = solves(ksp, whole, p, y_first, NULL);
      OK(KSPDestroy(&ksp));
      OK(MatDestroy(&whole));
    }
    for (int shared = along_x; shared <= blocks_of_da; ++shared) {
      const int expected = alone[shared == along_y];
      DM da = shared >= rows_of_da ? da_of(p, shared) : NULL;
      Mat a = five_points(PETSC_COMM_WORLD, p, shared == along_y, da);
      KSP ksp = solver(PETSC_COMM_WORLD, p->type, p, da);
      const int iterations = solves(ksp, a, p, shared == along_y, da);
      if (iterations != expected)
        fprintf(stderr, "problem %d, shared %d: %d iterations, %d on one process\n", (int)k, shared, iterations,
                expected);
      CHECK(iterations == expected);
      /* Other values, the same pattern: an update. */
      OK(MatScale(a, 2));
      CHECK(solves(ksp, a, p, shared == along_y, da) == expected);
      OK(KSPDestroy(&ksp));
      OK(MatDestroy(&a));
      if (da != NULL) OK(DMDestroy(&da));
    }
  }
}

static void refuses(Mat a, const struct Problem* grid, DM da, PetscErrorCode code, const char* what) {
  KSP ksp = solver(PETSC_COMM_WORLD, KSPCG, grid, da);
  PC pc = NULL;
  PetscMPIInt rank = 0;
  OK(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  OK(KSPGetPC(ksp, &pc));
  OK(KSPSetOperators(ksp, a, a));
  message[0] = 0;
  OK(PetscPushErrorHandler(keep_message, NULL));
  const PetscErrorCode error = PCSetUp(pc);
  OK(PetscPopErrorHandler());
  if (error != code) fprintf(stderr, "rank %d: error %d, %d was expected\n", rank, error, code);
  CHECK(error == code);
  CHECK(says(what));
  OK(KSPDestroy(&ksp));
}

static void it_refuses(void) {
  const struct Problem p = {eliminated, 30, 20, 0, 0, 1, 1, KSPCG}, other = {eliminated, 20, 30, 0, 0, 1, 1, KSPCG},
                       small = {eliminated, 30, 2, 0, 0, 1, 1, KSPCG}, less = {eliminated, 29, 20, 0, 0, 1, 1, KSPCG};
  Mat a = five_points(PETSC_COMM_WORLD, &p, 0, NULL);
  PetscInt first = 0, end = 0;
  PetscMPIInt size = 1;
  DM da = da_of(&other, columns_of_da);
  OK(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  refuses(a, NULL, NULL, PETSC_ERR_ARG_WRONGSTATE, "the grid of the unknowns is not known");
  refuses(a, &less, NULL, PETSC_ERR_ARG_INCOMP, "does not fit a matrix of 600 rows");
  if (size == 2) refuses(a, NULL, da, PETSC_ERR_ARG_INCOMP, "is no neighbour of it");
  OK(DMDestroy(&da));
  /* A row of the last process. */
  OK(MatGetOwnershipRange(a, &first, &end));
  if (end == 600) OK(MatSetValue(a, 580, 580, -1, INSERT_VALUES));
  OK(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  refuses(a, &p, NULL, PETSC_ERR_ARG_INCOMP, "row 580 has the diagonal entry -1");
  OK(MatDestroy(&a));
  a = five_points(PETSC_COMM_WORLD, &small, 0, NULL);
  refuses(a, &small, NULL, PETSC_ERR_ARG_INCOMP, "subdomains");
  OK(MatDestroy(&a));
  /* Processes that have other numbers of rows than unknowns of the DMDA. */
  PetscMPIInt rank = 0;
  OK(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  da = da_of(&p, rows_of_da);
  OK(MatCreateAIJ(PETSC_COMM_WORLD, rank == 0 ? 600 : 0, rank == 0 ? 600 : 0, 600, 600, 1, NULL, 0, NULL, &a));
  OK(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  refuses(a, NULL, da, PETSC_ERR_ARG_INCOMP, "other rows of the matrix than unknowns of the DMDA");
  OK(MatDestroy(&a));
  OK(DMDestroy(&da));
}

int main(int argc, char** argv) {
  OK(PetscInitialize(&argc, &argv, NULL, NULL));
  OK(PCRegisterStratum());
  it_solves(argc > 1 && strcmp(argv[1], "some") == 0 ? 5 : 1);
  it_refuses();
  OK(PetscFinalize());
  return 0;
}
