#include <stratum/multigrid/full_multigrid.hpp>

#include <cmath>
#include <cstdlib>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>

namespace stratum {

template <class T>
FullMultigrid<T>::FullMultigrid(Context& ctx, Hierarchy<double> hierarchy, Multigrid<T> multigrid)
    : hierarchy_(std::move(hierarchy)), multigrid_(std::move(multigrid)),
      levels_(static_cast<std::size_t>(hierarchy_.levels())) {
  expects(hierarchy_.levels() == multigrid_.levels(), "the cycle has ", multigrid_.levels(),
          " levels, full multigrid was given ", hierarchy_.levels());
  const PartitionLevels& partition = hierarchy_.partition();
  if (partition.distributed() > 0) own_b_ = Field<double>(ctx, partition.own());
  for (int l = multigrid_.lowest_level(); l < hierarchy_.levels(); ++l) {
    const GridLayout<2> shape = hierarchy_.level_operator(l).shape();
    Level& level = levels_[static_cast<std::size_t>(l)];
    if (l + 1 < hierarchy_.levels()) {
      level.b = Field<double>(ctx, shape);
      level.x = Field<double>(ctx, shape);
    }
    (void)room(ctx, l);
  }
}

template <class T>
Room<T> FullMultigrid<T>::room(Context& ctx, int level) {
  if (const auto there = multigrid_.room(level)) return *there;
  Level& at = levels_[static_cast<std::size_t>(level)];
  if (at.r.empty()) {
    // Else only where other coefficients have made a cut another one.
    const GridLayout<2> shape = hierarchy_.level_operator(level).shape();
    at.r = Field<T>(ctx, shape);
    at.z = Field<T>(ctx, shape);
  }
  return {at.r.view(), at.z.view()};
}

template <class T>
FullMultigridPass FullMultigrid<T>::solve(Context& ctx, FieldView<const double> b, FieldView<double> x,
                                          FullMultigridNorms norms) {
  const GridOperator<double>& fine = hierarchy_.finest();
  expects_fit(ctx, "b", b, fine.shape());
  expects_fit(ctx, "x", x, fine.shape());
  const int finest = hierarchy_.levels() - 1, lowest = multigrid_.lowest_level();
  const auto at = [&](int l) -> Level& { return levels_[static_cast<std::size_t>(l)]; };
  const auto rhs = [&](int l) { return l == finest ? b : at(l).b.cview(); };
  const auto iterate = [&](int l) { return l == finest ? x : at(l).x.view(); };
  FullMultigridPass pass;
  const PartitionLevels& partition = hierarchy_.partition();
  const auto from_replicated = [&](int l) { return partition.is_distributed(l) && !partition.is_distributed(l - 1); };
  Context alone = ctx.alone();
  const auto context_of = [&](int l) -> Context& { return partition.is_distributed(l) ? ctx : alone; };
  const bool records = multigrid_.is_recordable() && finest > lowest &&
                       (partition.distributed() == 0 || ctx.communicator()->keeps_order());
  if (const int generation = multigrid_.generation(); generation != recorded_generation_) {
    restriction_.clear();
    below_.clear();
    recorded_generation_ = generation;
  }
  const auto own_rows = [&](int l) { return from_replicated(l) ? own_b_.view() : at(l - 1).b.view(); };
  const auto gather_from = [&](int l) {
    if (from_replicated(l)) partition.gather(ctx, own_rows(l), at(l - 1).b.view());
  };
  const auto restrict_all = [&] {
    for (int l = finest - 1; l > lowest; --l) {
      hierarchy_.transfer(l).restrict_to(context_of(l), rhs(l), own_rows(l));
      gather_from(l);
    }
  };
  bool is_restricted = finest <= lowest;
  const std::function<void()> restrict_further = [&] {
    if (is_restricted) return;
    is_restricted = true;
    gather_from(finest);
    if (finest - 1 <= lowest) return;
    records ? restriction_.run(alone, nullptr, nullptr, restrict_all) : restrict_all();
  };
  if (finest > lowest) {
    pass.initial = hierarchy_.transfer(finest).restrict_and_measure(context_of(finest), rhs(finest), own_rows(finest),
                                                                    records ? restrict_further : nullptr);
  } else {
    pass.initial = norm2(ctx, b);
  }
  restrict_further();
  // One scale does for all levels: their defects are smaller than b, by less than float can tell. Kernels take it by value:
  // what has been recorded with another one serves as well, without rounding, where that leaves float most of its range.
  double scale = std::is_same_v<T, double> ? 1 : power_of_two_below_reciprocal(pass.initial);
  constexpr int most_apart = 32;  // of 126 powers of two on either side
  if (ctx.on_gpu() && records && recorded_scale_ != 0 &&
      std::abs(std::ilogb(scale) - std::ilogb(recorded_scale_)) <= most_apart)
    scale = recorded_scale_;

  const auto solve_level = [&](int l) {
    Context& on = context_of(l);
    const GridOperator<double>& a = hierarchy_.level_operator(l);
    const Transfer<double>* transfer = l > lowest ? &hierarchy_.transfer(l) : nullptr;
    const auto [r, z] = room(on, l);
    const auto current = iterate(l);
    const bool fused = transfer != nullptr && transfer->fuses_interpolation(on, a, rhs(l));
    const auto coarser = [&] {
      const FieldView<const double> below = iterate(l - 1);
      return from_replicated(l) ? partition.own_rows(below) : below;
    };
    if (from_replicated(l)) exchange(alone, hierarchy_.level_operator(l - 1).shape(), iterate(l - 1));
    const Ghosts ghosts = from_replicated(l) ? Ghosts::current : Ghosts::stale;
    if (fused) {
      transfer->interpolated_residual(on, a, scale, rhs(l), coarser(), r, ghosts);
    } else {
      if (transfer == nullptr)
        set(on, 0.0, current);
      else
        transfer->prolongate(on, coarser(), current, ghosts);
      a.scaled_residual(on, scale, rhs(l), current, r);
    }
    multigrid_.cycle(on, l, FieldView<const T>(r), z, Guess::zero);
    if (fused)
      transfer->prolongate_plus(on, coarser(), 1 / scale, FieldView<const T>(z), current, Ghosts::current);
    else
      axpy<T, double>(on, 1 / scale, FieldView<const T>(z), current);
  };
  const auto below_the_finest = [&] {
    for (int l = lowest; l < finest; ++l) solve_level(l);
  };
  if (records) {
    if (scale != recorded_scale_) below_.clear();
    recorded_scale_ = scale;
    below_.run(alone, nullptr, nullptr, below_the_finest);
  } else {
    below_the_finest();
  }
  solve_level(finest);
  if (norms == FullMultigridNorms::initial) return pass;
  const auto [r, z] = room(ctx, finest);
  pass.interpolated = norm2(ctx, FieldView<const T>(r)) / scale;
  pass.corrected = fine.scaled_residual_norm(ctx, scale, b, x, z) / scale;
  return pass;
}

template class FullMultigrid<float>;
template class FullMultigrid<double>;

}  // namespace stratum
