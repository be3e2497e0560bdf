#include <stratum/multigrid/patches/patch_multigrid.hpp>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

template <class T>
PatchMultigrid<T>::PatchMultigrid(Context& ctx, const std::vector<PatchLevelOnHost>& levels, bool singular, int sweeps)
    : coarse_(ctx, levels.back(), singular), sweeps_(sweeps) {
  expects(sweeps >= 1, "a cycle on patches takes 1 sweep or more, not ", sweeps);
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const auto& from = levels[l];
    Level level{PatchRows(ctx, from.layout), PatchOperator<T>(ctx, from.rows, from.fixed), {}, {}, {}, {}, {}};
    if (l + 1 < levels.size()) {
      level.lines = std::make_unique<PatchLines<T>>(ctx, from.layout, from.lines);
      level.transfer = std::make_unique<PatchTransfer<T>>(ctx, from.layout, levels[l + 1].layout, from.weights);
      level.r = partial<T>(ctx, from.layout);
    }
    if (l > 0) {
      level.b = partial<T>(ctx, from.layout);
      level.x = consistent<T>(ctx, from.layout);
    }
    levels_.push_back(std::move(level));
  }
}

template <class T>
void PatchMultigrid<T>::cycle(Context& ctx, std::size_t l, const Partial<T>& b, Consistent<T>& x, bool zero) {
  if (zero) set(ctx, T(0), x.numbers.view());
  if (l + 1 == levels_.size()) return coarse_.solve(ctx, b, x);
  Level &level = levels_[l], &next = levels_[l + 1];
  for (int k = 0; k < sweeps_; ++k) level.lines->sweep(ctx, level.a, b, x);
  residual(ctx, level.rows, level.a, b, x, level.r);
  level.transfer->restrict_to(ctx, next.rows, level.r, next.b);
  cycle(ctx, l + 1, next.b, next.x, true);
  level.transfer->prolongate(ctx, level.rows, next.x, x);
  for (int k = 0; k < sweeps_; ++k) level.lines->sweep(ctx, level.a, b, x, true);
}

template <class T>
void PatchMultigrid<T>::full_pass(Context& ctx, const Partial<T>& r, Consistent<T>& z) {
  // Loads of coarser levels are kept in b, which the cycles below a level overwrite only on levels that come before it.
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l)
    levels_[l].transfer->restrict_to(ctx, levels_[l + 1].rows, l == 0 ? r : levels_[l].b, levels_[l + 1].b);
  set(ctx, T(0), levels_.size() == 1 ? z.numbers.view() : levels_.back().x.numbers.view());
  coarse_.solve(ctx, levels_.size() == 1 ? r : levels_.back().b, levels_.size() == 1 ? z : levels_.back().x);
  for (std::size_t l = levels_.size() - 1; l-- > 0;) {
    Consistent<T>& x = l == 0 ? z : levels_[l].x;
    set(ctx, T(0), x.numbers.view());
    levels_[l].transfer->prolongate(ctx, levels_[l].rows, levels_[l + 1].x, x);
    cycle(ctx, l, l == 0 ? r : levels_[l].b, x, false);
  }
}

template <class T>
void PatchMultigrid<T>::apply(Context& ctx, const Partial<T>& r, Consistent<T>& z) {
  cycle_.run(ctx, r.numbers.view().data, z.numbers.view().data, [&] { cycle(ctx, 0, r, z, true); });
}

template <class T>
void PatchMultigrid<T>::full(Context& ctx, const Partial<T>& r, Consistent<T>& z) {
  pass_.run(ctx, r.numbers.view().data, z.numbers.view().data, [&] { full_pass(ctx, r, z); });
}

template class PatchMultigrid<float>;
template class PatchMultigrid<double>;

}  // namespace stratum
