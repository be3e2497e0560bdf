#include "preconditioners.hpp"

#include <cstdio>
#include <memory>
#include <utility>

#include <stratum/solvers/solver.hpp>

namespace stratum::apps::krylov {

namespace {

/// Of the matrix, or of the mesh where it comes from one.
template <class T>
struct MakeMultigrid {
  MultigridParams params;
  std::optional<TensorMesh<2>> mesh;

  std::unique_ptr<Preconditioner<T>> operator()(Context& ctx, const GridLayout<2>& shape,
                                                const PreconditionerParams& of) const {
    if (mesh) return std::make_unique<Multigrid<T>>(ctx, mesh_hierarchy(*mesh), StorageFormat::tensor, params);
    return std::make_unique<Multigrid<T>>(ctx, grid_operator(ctx, of.matrix, shape), params);
  }
};

}  // namespace

PreconditionerRegistry preconditioners(const MultigridParams& multigrid, const std::optional<TensorMesh<2>>& mesh) {
  auto registry = builtin_preconditioners();
  registry.add({{.on_grid = true},
                "multigrid",
                "a multigrid cycle; the unknowns lie on a grid",
                MakeMultigrid<float>{multigrid, mesh},
                MakeMultigrid<double>{multigrid, mesh}});
  return registry;
}

void list_methods() {
  for (const auto& [name, entry] : solver_entries()) std::printf("%-11s %s\n", name.c_str(), entry.description.c_str());
}

void list_preconditioners() {
  const auto registry = preconditioners();
  for (const auto& [name, entry] : registry.entries())
    std::printf("%-18s %s\n", name.c_str(), entry.description.c_str());
}

}  // namespace stratum::apps::krylov
