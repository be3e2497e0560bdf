#include <stratum/multigrid/full_multigrid.hpp>

#include <type_traits>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/blas.hpp>
#include <stratum/solvers/precision_cast.hpp>

namespace stratum {

namespace {

/// One cycle that starts on a level of the hierarchy.
template <class T>
class LevelCycle final : public Preconditioner<T> {
 public:
  LevelCycle(Multigrid<T>& multigrid, int level) : multigrid_(multigrid), level_(level) {}
  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override {
    multigrid_.cycle(ctx, level_, r, z, Guess::zero);
  }
  [[nodiscard]] bool is_constant() const override { return multigrid_.is_constant(); }
  [[nodiscard]] bool is_symmetric() const override { return multigrid_.is_symmetric(); }

 private:
  Multigrid<T>& multigrid_;
  int level_;
};

}  // namespace

template <class T>
FullMultigrid<T>::FullMultigrid(Context& ctx, const std::vector<TensorMesh>& meshes, OperatorForm form,
                                Multigrid<T>& multigrid) {
  expects(static_cast<int>(meshes.size()) == multigrid.levels(), "the cycle has ", multigrid.levels(),
          " levels, full multigrid was given ", meshes.size(), " meshes");
  for (std::size_t l = 0; l < meshes.size(); ++l) {
    const GridShape shape = meshes[l].unknowns();
    Level level;
    level.a = assemble_laplace<double>(ctx, meshes[l], form);
    if (l > 0) level.transfer = Transfer<double>(ctx, meshes[l], meshes[l - 1]);
    if (l + 1 < meshes.size()) {
      level.b = Vector<double>(ctx, shape);
      level.x = Vector<double>(ctx, shape);
    }
    level.r = Vector<double>(ctx, shape);
    level.z = Vector<double>(ctx, shape);
    level.cycle = std::make_unique<LevelCycle<T>>(multigrid, static_cast<int>(l));
    if constexpr (std::is_same_v<T, double>)
      level.correction = std::move(level.cycle);
    else
      level.correction = std::make_unique<PrecisionCast<double, T>>(ctx, shape, *level.cycle);
    levels_.push_back(std::move(level));
  }
}

template <class T>
FullMultigridPass FullMultigrid<T>::solve(Context& ctx, GridView<const double> b, GridView<double> x) {
  const std::size_t finest = levels_.size() - 1;
  const auto rhs = [&](std::size_t l) { return l == finest ? b : levels_[l].b.cview(); };
  const auto iterate = [&](std::size_t l) { return l == finest ? x : levels_[l].x.view(); };
  for (std::size_t l = finest; l > 0; --l) levels_[l].transfer.restrict_to(ctx, rhs(l), levels_[l - 1].b.view());

  FullMultigridPass pass;
  for (std::size_t l = 0; l <= finest; ++l) {
    Level& level = levels_[l];
    const auto current = iterate(l);
    if (l == 0)
      set(ctx, 0.0, current);
    else
      level.transfer.prolongate(ctx, iterate(l - 1), current);
    level.a.residual(ctx, rhs(l), current, level.r.view());
    if (l == finest) pass.interpolated = norm2(ctx, level.r.cview());
    level.correction->apply(ctx, level.r.cview(), level.z.view());
    axpy<double, double>(ctx, 1.0, level.z.cview(), current);
  }
  levels_[finest].a.residual(ctx, b, x, levels_[finest].r.view());
  pass.corrected = norm2(ctx, levels_[finest].r.cview());
  return pass;
}

template class FullMultigrid<float>;
template class FullMultigrid<double>;

}  // namespace stratum
