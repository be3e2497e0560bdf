#include <stratum/multigrid/patches/patch_multigrid.hpp>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

template <class T>
PatchMultigrid<T>::PatchMultigrid(Context& ctx, const std::vector<PatchLevelOnHost>& levels, bool singular, int sweeps)
    : coarse_(ctx, levels.back(), singular, sizeof(T) == sizeof(float)), sweeps_(sweeps) {
  expects(sweeps >= 1, "a cycle on patches takes 1 sweep or more, not ", sweeps);
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const auto& from = levels[l];
    Level level{PatchRows(ctx, from.layout), PatchOperator<T>(ctx, from.rows, from.fixed), {}, {}, {}, {}, {}};
    if (l + 1 < levels.size()) {
      level.lines = std::make_unique<PatchLines<T>>(ctx, from.layout, from.lines);
      level.transfer = std::make_unique<PatchTransfer<T>>(ctx, from.layout, levels[l + 1].layout, from.weights);
      level.r = partial<T>(ctx, from.layout);
      if (from.distributed)
        level.distributed = std::make_unique<DistributedLines<T>>(ctx, from.layout, *from.distributed, from.lines);
      if (from.layout.is_part() && !levels[l + 1].layout.is_part())
        level.own_coarse = std::make_unique<PatchRows>(ctx, levels[l + 1].layout, ctx.communicator()->rank());
    }
    if (l > 0) {
      level.b = partial<T>(ctx, from.layout);
      level.x = consistent<T>(ctx, from.layout);
    }
    if (ctx.subdomains() > 1 && !from.layout.is_part() && counts_.empty()) {
      for (int r = 0; r < ctx.subdomains(); ++r) {
        const auto numbers = from.layout.numbers_of(r);
        counts_.push_back(static_cast<std::size_t>(numbers.end - numbers.begin) * sizeof(T));
        offsets_.push_back(static_cast<std::size_t>(numbers.begin) * sizeof(T));
      }
      if (l == 0) {
        const int rank = ctx.communicator()->rank();
        first_ = from.layout.part_of(rank).numbers_of(rank).begin;
        all_r_ = partial<T>(ctx, from.layout);
        all_z_ = consistent<T>(ctx, from.layout);
      }
    }
    levels_.push_back(std::move(level));
  }
}

template <class T>
void PatchMultigrid<T>::gather(Context& ctx, Partial<T>& b) {
  T* const numbers = b.numbers.view().data;
  const auto own = static_cast<std::size_t>(ctx.communicator()->rank());
  ctx.communicator()->gather(ctx, numbers + offsets_[own] / sizeof(T), numbers, counts_, offsets_);
}

template <class T>
void PatchMultigrid<T>::to_coarser(Context& ctx, std::size_t l, const Partial<T>& r) {
  Level &level = levels_[l], &next = levels_[l + 1];
  level.transfer->restrict_to(ctx, level.own_coarse ? *level.own_coarse : next.rows, r, next.b);
  if (level.own_coarse) gather(ctx, next.b);
}

template <class T>
void PatchMultigrid<T>::smooth(Context& ctx, Level& level, const Partial<T>& b, Consistent<T>& x, bool backward) {
  for (int k = 0; k < sweeps_; ++k)
    if (level.distributed)
      level.distributed->sweep(ctx, *level.lines, level.a, b, x, backward);
    else
      level.lines->sweep(ctx, level.a, b, x, backward);
}

template <class T>
void PatchMultigrid<T>::cycle(Context& ctx, std::size_t l, const Partial<T>& b, Consistent<T>& x, bool zero) {
  if (zero) set(ctx, T(0), x.numbers.view());
  if (l + 1 == levels_.size()) return coarse_.solve(ctx, b, x);
  Level &level = levels_[l], &next = levels_[l + 1];
  smooth(ctx, level, b, x, false);
  // Where launches count more than what they read.
  constexpr int few = 1'000'000;
  const bool at_once = ctx.on_gpu() && !level.own_coarse && x.numbers.view().nx < few;
  if (at_once) {
    level.transfer->restrict_residual(ctx, next.rows, level.a, b, x, next.b, next.x);
  } else {
    residual(ctx, level.rows, level.a, b, x, level.r);
    to_coarser(ctx, l, level.r);
  }
  cycle(ctx, l + 1, next.b, next.x, !at_once);
  level.transfer->prolongate(ctx, level.rows, next.x, x);
  smooth(ctx, level, b, x, true);
}

template <class T>
void PatchMultigrid<T>::full_pass(Context& ctx, const Partial<T>& r, Consistent<T>& z) {
  // What they leave is what the finest level's one cycle has to remove beside the error of its interpolation: with two it leaves
  // two thirds as much, for a quarter more work.
  constexpr int cycles_of_coarse_levels = 2;
  // Loads of coarser levels are kept in b, which the cycles below a level overwrite only on levels that come before it.
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l) to_coarser(ctx, l, l == 0 ? r : levels_[l].b);
  set(ctx, T(0), levels_.size() == 1 ? z.numbers.view() : levels_.back().x.numbers.view());
  coarse_.solve(ctx, levels_.size() == 1 ? r : levels_.back().b, levels_.size() == 1 ? z : levels_.back().x);
  for (std::size_t l = levels_.size() - 1; l-- > 0;) {
    Consistent<T>& x = l == 0 ? z : levels_[l].x;
    set(ctx, T(0), x.numbers.view());
    levels_[l].transfer->prolongate(ctx, levels_[l].rows, levels_[l + 1].x, x);
    for (int k = 0; k < (l == 0 ? 1 : cycles_of_coarse_levels); ++k) cycle(ctx, l, l == 0 ? r : levels_[l].b, x, false);
  }
}

template <class T>
void PatchMultigrid<T>::on_all_patches(Context& ctx, const Partial<T>& r, Consistent<T>& z, bool full) {
  const auto own = static_cast<std::size_t>(ctx.communicator()->rank());
  const std::size_t first = offsets_[own] / sizeof(T);
  copy_bytes(ctx, r.numbers.view().data + first_, all_r_.numbers.view().data + first, counts_[own]);
  gather(ctx, all_r_);
  if (full)
    full_pass(ctx, all_r_, all_z_);
  else
    cycle(ctx, 0, all_r_, all_z_, true);
  copy_bytes(ctx, all_z_.numbers.view().data + first, z.numbers.view().data + first_, counts_[own]);
}

template <class T>
void PatchMultigrid<T>::apply(Context& ctx, const Partial<T>& r, Consistent<T>& z) {
  cycle_.run(ctx, r.numbers.view().data, z.numbers.view().data, [&] {
    if (first_ > 0) return on_all_patches(ctx, r, z, false);
    cycle(ctx, 0, r, z, true);
  });
}

template <class T>
void PatchMultigrid<T>::full(Context& ctx, const Partial<T>& r, Consistent<T>& z) {
  pass_.run(ctx, r.numbers.view().data, z.numbers.view().data, [&] {
    if (first_ > 0) return on_all_patches(ctx, r, z, true);
    full_pass(ctx, r, z);
  });
}

template class PatchMultigrid<float>;
template class PatchMultigrid<double>;

}  // namespace stratum
