/* What all tests of -pc_type stratum share: checks, solvers, and what their set-up says. */
#ifndef STRATUM_TESTS_PETSC_CHECKS_H
#define STRATUM_TESTS_PETSC_CHECKS_H

#include <petscksp.h>
#include <stdio.h>
#include <string.h>

#include <stratum/petsc.h>

static char message[2000];

#define CHECK(condition)                                                                                \
  do {                                                                                                  \
    if (!(condition)) {                                                                                 \
      fprintf(stderr, "%s:%d: %s is false; last error: %s\n", __FILE__, __LINE__, #condition, message); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                     \
    }                                                                                                   \
  } while (0)
#define OK(call) CHECK((call) == 0)

/* Keeps what an error says first. */
static PetscErrorCode keep_message(MPI_Comm comm, int line, const char* function, const char* file, PetscErrorCode code,
                                   PetscErrorType type, const char* text, void* context) {
  (void)comm, (void)line, (void)function, (void)file, (void)context;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof message, "%s", text);
  return code;
}

static int says(const char* what) { return strstr(message, what) != NULL; }

/* To 1e-9 by the true residual, within 50 iterations. */
static KSP new_solver(MPI_Comm comm, const char* type, const char* options) {
  KSP ksp = NULL;
  PC pc = NULL;
  OK(PetscOptionsClear(NULL));
  OK(PetscOptionsInsertString(NULL, options));
  OK(KSPCreate(comm, &ksp));
  OK(KSPSetType(ksp, type));
  OK(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  if (strcmp(type, KSPGMRES) == 0) OK(KSPSetPCSide(ksp, PC_RIGHT));
  OK(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 50));
  OK(KSPGetPC(ksp, &pc));
  OK(PCSetType(pc, PCSTRATUM));
  return ksp;
}

/* The set-up of the PC, with the options, ends with this error and these words. */
static inline void set_up_ends_with(KSP ksp, PetscErrorCode code, const char* what) {
  PC pc = NULL;
  PetscErrorCode error = 0;
  OK(KSPGetPC(ksp, &pc));
  message[0] = 0;
  OK(PetscPushErrorHandler(keep_message, NULL));
  error = KSPSetFromOptions(ksp);
  if (error == 0) error = PCSetUp(pc);
  OK(PetscPopErrorHandler());
  if (error != code || !says(what))
    fprintf(stderr, "error %d, '%s'; expected %d, '%s'\n", (int)error, message, (int)code, what);
  CHECK(error == code && says(what));
}

#endif
