#include <stratum/multigrid/full_multigrid.hpp>

#include <utility>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/grid/blas.hpp>
#include <stratum/solvers/mixed_refinement.hpp>

namespace stratum {

template <class T>
FullMultigrid<T>::FullMultigrid(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form,
                                Multigrid<T> multigrid, const OperatorTerms& terms)
    : multigrid_(std::move(multigrid)) {
  expects(static_cast<int>(meshes.size()) == multigrid_.levels(), "the cycle has ", multigrid_.levels(),
          " levels, full multigrid was given ", meshes.size(), " meshes");
  const auto lowest = static_cast<std::size_t>(multigrid_.lowest_level());
  for (std::size_t l = 0; l < meshes.size(); ++l) {
    const GridShape shape = meshes[l].unknowns();
    Level& level = levels_.emplace_back();
    if (l < lowest) continue;
    level.a = assemble_operator<double>(ctx, meshes[l], form, terms);
    if (l > lowest) level.transfer = Transfer<double>(ctx, meshes[l], meshes[l - 1]);
    if (l + 1 < meshes.size()) {
      level.b = Vector<double>(ctx, shape);
      level.x = Vector<double>(ctx, shape);
    }
    level.r = Vector<T>(ctx, shape);
    level.z = Vector<T>(ctx, shape);
  }
}

template <class T>
FullMultigridPass FullMultigrid<T>::solve(Context& ctx, GridView<const double> b, GridView<double> x,
                                          FullMultigridNorms norms) {
  expects_fit(ctx, "b", b, levels_.back().a.shape());
  expects_fit(ctx, "x", x, levels_.back().a.shape());
  const std::size_t finest = levels_.size() - 1, lowest = static_cast<std::size_t>(multigrid_.lowest_level());
  const auto rhs = [&](std::size_t l) { return l == finest ? b : levels_[l].b.cview(); };
  const auto iterate = [&](std::size_t l) { return l == finest ? x : levels_[l].x.view(); };
  FullMultigridPass pass;
  pass.initial = norm2(ctx, b);
  // One scale does for all levels: their defects are smaller than b, by less than float can tell.
  const double scale = std::is_same_v<T, double> ? 1 : power_of_two_below_reciprocal(pass.initial);
  for (std::size_t l = finest; l > lowest; --l) levels_[l].transfer.restrict_to(ctx, rhs(l), levels_[l - 1].b.view());

  for (std::size_t l = lowest; l <= finest; ++l) {
    Level& level = levels_[l];
    const auto current = iterate(l);
    const bool fused = l > lowest && level.transfer.fuses_interpolation(ctx, level.a, rhs(l));
    const auto coarser = [&] { return GridView<const double>(iterate(l - 1)); };
    if (fused) {
      level.transfer.interpolated_residual(ctx, level.a, scale, rhs(l), coarser(), level.r.view());
    } else {
      if (l == lowest)
        set(ctx, 0.0, current);
      else
        level.transfer.prolongate(ctx, coarser(), current);
      level.a.scaled_residual(ctx, scale, rhs(l), current, level.r.view());
    }
    multigrid_.cycle(ctx, static_cast<int>(l), level.r.cview(), level.z.view(), Guess::zero);
    if (fused)
      level.transfer.prolongate_plus(ctx, coarser(), 1 / scale, level.z.cview(), current);
    else
      axpy<T, double>(ctx, 1 / scale, level.z.cview(), current);
  }
  if (norms == FullMultigridNorms::initial) return pass;
  Level& last = levels_[finest];
  pass.interpolated = norm2(ctx, last.r.cview()) / scale;
  pass.corrected = last.a.scaled_residual_norm(ctx, scale, b, x, last.z.view()) / scale;
  return pass;
}

template class FullMultigrid<float>;
template class FullMultigrid<double>;

}  // namespace stratum
