#include <stratum/solvers/solver.hpp>

#include <stratum/solvers/bicgstab.hpp>
#include <stratum/solvers/cg.hpp>
#include <stratum/solvers/cr.hpp>
#include <stratum/solvers/gcr.hpp>
#include <stratum/solvers/gmres.hpp>
#include <stratum/solvers/refinement.hpp>

namespace stratum {

template <class T>
SolveReport Solver<T>::solve(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, GridView<const T> b,
                             GridView<T> x, const StoppingParams& stop, const Monitor& monitor) {
  const GridShape of_a = a.shape();
  expects(of_a.nx == shape_.nx && of_a.ny == shape_.ny, "this solver was made for ", shape_.nx, " x ", shape_.ny,
          ", not for A of ", of_a.nx, " x ", of_a.ny);
  expects_fit(ctx, "b", b, shape_);
  expects_fit(ctx, "x", x, shape_);
  stop.validate();
  const auto hold = in_use_->hold("solver");
  return run(ctx, a, m, b, x, stop, monitor);
}

const std::vector<SolverEntry>& solver_entries() {
  static const std::vector<SolverEntry> entries{
      {"richardson", "x <- x + M^-1 (b - A x); with a cycle as M the multigrid solver", false, false, 2, 0},
      {"cg", "conjugate gradients: A and M symmetric positive definite, M constant", true, true, 4, 0},
      {"fcg", "conjugate gradients with the flexible beta: M may vary", true, false, 4, 0},
      {"cr", "conjugate residuals: A symmetric, M symmetric positive definite and constant", true, true, 6, 0},
      {"gcr", "generalised conjugate residuals, restarted: any A, M may vary", false, false, 1, 2},
      {"gmres", "flexible GMRES, restarted: any A, M may vary", false, false, 1, 2},
      {"bicgstab", "stabilised bi-conjugate gradients: any A, M may vary", false, false, 7, 0}};
  return entries;
}

const SolverEntry& solver_entry(std::string_view name) {
  std::string known;
  for (const auto& entry : solver_entries()) {
    if (entry.name == name) return entry;
    known += message(known.empty() ? "" : ", ", entry.name);
  }
  throw UsageError(message("unknown solver '", name, "'; there are ", known));
}

template <class T>
std::unique_ptr<Solver<T>> make_solver(Context& ctx, std::string_view name, const GridShape& shape,
                                       const SolverParams& params) {
  (void)solver_entry(name);
  expects(params.restart >= 1, "restart must be 1 or more, not ", params.restart);
  if (name == "cg") return std::make_unique<ConjugateGradients<T>>(ctx, shape);
  if (name == "fcg") return std::make_unique<ConjugateGradients<T>>(ctx, shape, Beta::flexible);
  if (name == "cr") return std::make_unique<ConjugateResiduals<T>>(ctx, shape);
  if (name == "gcr") return std::make_unique<Gcr<T>>(ctx, shape, params.restart);
  if (name == "gmres") return std::make_unique<Gmres<T>>(ctx, shape, params.restart);
  if (name == "bicgstab") return std::make_unique<BiCgStab<T>>(ctx, shape);
  return std::make_unique<Refinement<T>>(ctx, shape);
}

#define STRATUM_INSTANTIATE(T) \
  template class Solver<T>;    \
  template std::unique_ptr<Solver<T>> make_solver(Context&, std::string_view, const GridShape&, const SolverParams&);
STRATUM_INSTANTIATE(float)
STRATUM_INSTANTIATE(double)
#undef STRATUM_INSTANTIATE

}  // namespace stratum
