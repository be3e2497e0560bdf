#include "edge_system.hpp"

#include <memory>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/inner_solve.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

#include "support/command_line.hpp"
#include "support/timing.hpp"

namespace stratum::apps {

namespace {

template <class T>
struct MakeEdgeMultigrid {
  const EdgeHierarchy* of;

  std::unique_ptr<Preconditioner<T>> operator()(Context& ctx, const GridLayout<2>& /*shape*/,
                                                const PreconditionerParams& params) const {
    return std::make_unique<EdgeMultigrid<T>>(ctx, of->elements, params.matrix, of->nu, of->params);
  }
};

/// What stands behind the outer iteration, in its own precision; null: nothing. The monitor sees inner solves.
template <class T>
std::shared_ptr<Preconditioner<T>> make_edge_preconditioner(Context& ctx, const SparseRows& a,
                                                            const EdgeHierarchy& hierarchy, const EdgeMethod& method,
                                                            const Monitor& monitor) {
  const auto shape = GridLayout<2>::flat(a.rows);
  std::shared_ptr<Preconditioner<T>> m;
  if (!method.preconditioner.empty())
    m = parsed("--preconditioner " + method.preconditioner, [&] {
      return edge_preconditioners(&hierarchy)
          .make<T>(ctx, method.preconditioner, shape, {a, method.incomplete_cholesky});
    });
  if (method.inner.empty()) return m;
  std::shared_ptr<Solver<T>> solver = make_solver<T>(ctx, method.inner, shape, {method.restart});
  return std::make_shared<InnerSolve<T>>(std::make_shared<CsrMatrix<T>>(ctx, a), solver, m, method.inner_stop, monitor);
}

}  // namespace

PreconditionerRegistry edge_preconditioners(const EdgeHierarchy* of) {
  auto registry = builtin_preconditioners();
  registry.add({{.symmetric = true},
                "multigrid",
                "a V-cycle in the space of the edges; on tetrahedra by way of hexahedra",
                MakeEdgeMultigrid<float>{of},
                MakeEdgeMultigrid<double>{of}});
  return registry;
}

SolveReport solve_edge_system(Context& ctx, const SparseRows& a, const EdgeHierarchy& hierarchy,
                              const std::vector<double>& b, std::vector<double>& x, const EdgeMethod& method,
                              StoppingParams stop, const std::function<Monitor(double)>& table,
                              const Monitor& inner_monitor) {
  const double begin = wall_seconds();
  const auto shape = GridLayout<2>::flat(a.rows);
  const CsrMatrix<double> matrix(ctx, a);
  std::shared_ptr<Preconditioner<double>> m;
  if (method.mixed)
    m = std::make_shared<PrecisionCast<double, float>>(
        ctx, shape, make_edge_preconditioner<float>(ctx, a, hierarchy, method, inner_monitor));
  else
    m = make_edge_preconditioner<double>(ctx, a, hierarchy, method, inner_monitor);
  const auto solver = make_solver<double>(ctx, method.method, shape, {method.restart});
  const auto rhs = vector_from_host(ctx, b);
  auto unknowns = vector_from_host(ctx, x);
  ctx.synchronise();
  const double ready = wall_seconds();
  if (method.method == "richardson") stop.patience = 1000;  // alone it is slow
  SolveReport report =
      solver->solve(ctx, matrix, m.get(), rhs.cview(), unknowns.view(), stop, table(norm2(ctx, rhs.cview())));
  copy_to_host(ctx, unknowns.cview(), x.data());
  report.setup_seconds = ready - begin;
  report.solve_seconds = wall_seconds() - ready;
  return report;
}

KeptPlanes planes_of_steel(const BoxGrid& grid, const std::vector<team20::Material>& materials) {
  std::vector<int> marks;
  for (const auto material : materials) marks.push_back(team20::is_steel(material) ? 1 : 0);
  return planes_between_marks(grid, marks);
}

}  // namespace stratum::apps
