#include <stratum/multigrid/coarse/coarse_solver.hpp>

#include <stratum/solvers/direct/dense_inverse.hpp>

namespace stratum {

std::string coarse_solver_for(const CoarseSolverRegistry& registry, const GridLayout<2>& shape,
                              std::string_view asked) {
  if (asked != "automatic") (void)registry.find(asked);
  const auto unknowns = shape.nodes();
  if (unknowns == 1) return "direct";
  if (asked != "automatic") return std::string(asked);
  return unknowns <= DenseInverse<double>::few_unknowns ? "direct" : "cg_adi";
}

template <class T>
std::unique_ptr<CoarseSolver<T>> make_coarse_solver(Context& ctx, const Hierarchy<T>& hierarchy, std::string& name,
                                                    const SmootherRegistry& smoothers,
                                                    const CoarseSolverRegistry& registry) {
  const GridLayout<2> shape = hierarchy.level_operator(0).shape();
  const bool is_open = name == "automatic";
  name = coarse_solver_for(registry, shape, name);
  const auto& entry = registry.find(name);
  if (shape.nodes() == 0) return nullptr;
  expects(entry.any_operator || !hierarchy.is_singular(), "the coarsest level of a singular operator is solved ",
          "directly, of up to ", DenseInverse<T>::few_unknowns, " unknowns; it has ", shape.nodes());
  auto coarse_solver =
      registry.make<T>(ctx, name, shape, {hierarchy.is_singular(), smoothers, hierarchy.level_operator(0).format()});
  try {
    coarse_solver->set_up(ctx, hierarchy);
  } catch (const BreakdownError& error) {
    if (is_open && !hierarchy.is_singular() && !hierarchy.level_operator(0).traits().has_bands)
      return make_coarse_solver(ctx, hierarchy, name = "cg_adi", smoothers, registry);
    const TensorMesh<2>& mesh = hierarchy.meshes().front();
    throw BreakdownError(message("coarsest level (", mesh.x().size(), " x ", mesh.y().size(), " cells, thinnest ",
                                 mesh.smallest_width(), " wide): ", error.what()));
  }
  return coarse_solver;
}

template std::unique_ptr<CoarseSolver<float>> make_coarse_solver(Context&, const Hierarchy<float>&, std::string&,
                                                                 const SmootherRegistry&, const CoarseSolverRegistry&);
template std::unique_ptr<CoarseSolver<double>> make_coarse_solver(Context&, const Hierarchy<double>&, std::string&,
                                                                  const SmootherRegistry&, const CoarseSolverRegistry&);

}  // namespace stratum
