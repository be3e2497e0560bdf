#include "preconditioners.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include <stratum/core/field/blas.hpp>
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

template <class T>
void BoxCycle<T>::apply(Context& ctx, FieldView<const T> r, FieldView<T> z) {
  copy_to_host(ctx, r, on_host_.data());
  std::copy(on_host_.begin(), on_host_.end(), r_.begin());
  solver_->apply(ctx, r_, z_);
  std::transform(z_.begin(), z_.end(), on_host_.begin(), [](double v) { return static_cast<T>(v); });
  copy_from_host<T>(ctx, on_host_.data(), z);
  ctx.synchronise();  // until the numbers are there
}
template class BoxCycle<float>;
template class BoxCycle<double>;

void list_methods() {
  for (const auto& [name, entry] : solver_entries()) std::printf("%-11s %s\n", name.c_str(), entry.description.c_str());
}

void list_preconditioners() {
  const auto registry = preconditioners();
  for (const auto& [name, entry] : registry.entries())
    std::printf("%-18s %s\n", name.c_str(), entry.description.c_str());
}

}  // namespace stratum::apps::krylov
