#pragma once

// The singular systems of edge elements, solved by a method of the registry: alone, with a preconditioner, or around an inner
// solve (variable preconditioning, VPCG, VPGCR, VPGMRES), preconditioner and inner solve in double or in float.

#include <functional>
#include <string>
#include <vector>

#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/magnetics/edge_multigrid.hpp>
#include <stratum/magnetics/team20_problem.hpp>
#include <stratum/solvers/preconditioner.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum::apps {

/// A method of the registry around an inner solve. For VPCG it is the flexible one: where M varies, its beta keeps directions
/// conjugate that the published one does not.
struct VariableMethod {
  const char *name, *outer, *inner;
};
inline constexpr VariableMethod variable_methods[] = {
    {"vpcg", "fcg", "cg"}, {"vpgcr", "gcr", "cr"}, {"vpgmres", "gmres", "cr"}};

struct EdgeMethod {
  std::string method = "cg", inner;  // of the registry; inner empty: none
  int restart = 100;
  std::string preconditioner;  // empty: none; of the inner solve where there is one
  IncompleteCholeskyParams incomplete_cholesky{};
  StoppingParams inner_stop{};
  bool mixed = false;
};

/// What multigrid takes beside the matrix; referred to while it is made.
struct EdgeHierarchy {
  const EdgeElements& elements;
  const std::vector<double>& nu;
  EdgeMultigridParams params;
};

/// Null where nothing is to be made.
[[nodiscard]] PreconditionerRegistry edge_preconditioners(const EdgeHierarchy* of = nullptr);

/// A x = b from the given x. `table(||b||)` makes the monitor of the outer iteration.
[[nodiscard]] SolveReport solve_edge_system(Context& ctx, const SparseRows& a, const EdgeHierarchy& hierarchy,
                                            const std::vector<double>& b, std::vector<double>& x,
                                            const EdgeMethod& method, StoppingParams stop,
                                            const std::function<Monitor(double)>& table,
                                            const Monitor& inner_monitor = {});

/// Of problem 20: planes between steel and air.
[[nodiscard]] KeptPlanes planes_of_steel(const BoxGrid& grid, const std::vector<team20::Material>& materials);

}  // namespace stratum::apps
