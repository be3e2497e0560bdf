#pragma once

// Preconditioners by name that are made from a matrix A on the host and from nothing else. Interface: Preconditioner<T> of
// core/operators/linear_operator.hpp.
//
//   name                 M                                                            A                 words a row, m entries
//   jacobi               its diagonal                                                 nonzero diagonal  3
//   ic                   incomplete Cholesky without fill                             symmetric         4 + 1.5 m in double
//   block-ic             the same, in independent blocks of rows                      symmetric         the same
//   incomplete-poisson   an approximate inverse with the pattern of A, parallel       symmetric         2 + m
//
// All are constant and symmetric. solvers/preconditioners/NAME.hpp has the formula, the errors and the source of each. Unknowns
// are numbered along x first, on vectors of any shape.
//
// To add one, add one file solvers/preconditioners/NAME.cpp that defines `void register_NAME(PreconditionerRegistry&)`; the
// build collects the calls. Users may register their own at run time. A factory may hold more data than the matrix; krylov does
// so with multigrid.

#include <string_view>

#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/core/registry.hpp>
#include <stratum/solvers/preconditioners/incomplete_cholesky.hpp>
#include <stratum/solvers/preconditioners/incomplete_poisson.hpp>

namespace stratum {

struct PreconditionerParams {
  const SparseRows& matrix;                        // for as long as it is being made
  IncompleteCholeskyParams incomplete_cholesky{};  // ic takes the shift alone
  IncompletePoissonForm incomplete_poisson = IncompletePoissonForm::scaled;
};

template <>
struct Registered<Preconditioner> {
  static constexpr std::string_view what = "preconditioner";
  using Params = PreconditionerParams;
  struct Traits {
    bool symmetric = false;  // A must be symmetric
    bool on_grid = false;    // needs vectors on the grid of the unknowns; the others take flat ones too
  };
};

using PreconditionerEntry = RegistryEntry<Preconditioner>;
using PreconditionerRegistry = Registry<Preconditioner>;

/// The preconditioners of this library; a fresh registry that the caller may add to.
[[nodiscard]] PreconditionerRegistry builtin_preconditioners();

}  // namespace stratum
