#include <stratum/multigrid/level.hpp>

#include <stratum/core/field/blas.hpp>

namespace stratum {

template <class T>
void Level<T>::make(Context& ctx, const Hierarchy<T>& hierarchy, int index, const SmootherRegistry& registry,
                    const std::optional<std::vector<OverlapRows>>& rows, bool keeps_b_and_x) {
  hierarchy_ = &hierarchy;
  index_ = index;
  distributed_ = hierarchy.partition().is_distributed(index);
  above_replicated_ = distributed_ && index > 0 && !hierarchy.partition().is_distributed(index - 1);
  const GridOperator<T>& a = level_operator();
  const auto& [name, params, sweeps, reason] = choice;
  overlap.reset();
  b = Field<T>();
  x = Field<T>();
  if (rows) overlap.emplace(ctx, a, *rows);
  const GridLayout<2> shape = overlap ? overlap->shape() : a.shape();
  Context on = overlap ? ctx.alone() : ctx;
  smoother = registry.make<T>(on, name, shape, params);
  smoother->set_up(on, overlap ? overlap->level_operator() : a);
  const int unit = smoother->sweeps_per_application();
  expects(sweeps % unit == 0, "smoother '", name, "' counts an application as ", unit,
          " sweeps; sweeps must be a multiple of ", unit, ", not ", sweeps);
  if (!overlap && !keeps_b_and_x) return;
  b = Field<T>(ctx, shape);
  x = Field<T>(ctx, shape);
}

template <class T>
void Level<T>::connect(Level* coarser, SweepOrder after, bool measures) {
  coarser_ = coarser;
  after_ = after;
  measures_ = measures;
  const bool smooths = choice.sweeps > 0;
  of_x_ = overlap ? Ghosts::stale : ghosts_after(SweepOrder::forward);
  of_correction_ = above_replicated_    ? Ghosts::current
                   : coarser != nullptr ? coarser->ghosts_after(after)
                                        : Ghosts::stale;
  rows_read_ = smooths && !overlap && !distributed_ ? smoother->rows_read(after) : SomeRows::all;
}

template <class T>
void Level<T>::set_up(Context& ctx) {
  Context alone = ctx.alone();
  if (overlap)
    smoother->set_up(alone, overlap->level_operator());
  else
    smoother->set_up(distributed_ ? ctx : alone, level_operator());
}

template <class T>
Ghosts Level<T>::ghosts_after(SweepOrder order) const {
  const bool filled = distributed_ && choice.sweeps > 0 && (overlap || smoother->fills_halo(order));
  return filled ? Ghosts::current : Ghosts::stale;
}

template <class T>
typename Level<T>::Smoothed Level<T>::smoothed(FieldView<const T> given_b, FieldView<T> given_x) {
  if (overlap) return {overlap->level_operator(), b.cview(), x.view()};
  return {level_operator(), given_b, given_x};
}

template <class T>
void Level<T>::bring(Context& ctx, FieldView<const T> from, Field<T>& to) {
  if (from.data != own(to).data) copy(ctx, from, own(to));
  overlap->fetch(ctx, to.view());
}

template <class T>
void Level<T>::descend(Context& ctx, FieldView<const T> given_b, FieldView<T> given_x, Guess guess) {
  const Stopwatch watch(ctx, stopwatch());
  if (overlap) bring(ctx, given_b, b);
  if (overlap && guess == Guess::given) bring(ctx, given_x, x);
  const Smoothed s = smoothed(given_b, given_x);
  Context on = overlap ? ctx.alone() : ctx;
  smoother->smooth(on, s.a, s.b, s.x, choice.sweeps, guess, SweepOrder::forward);
  const FieldView<T> defect = above_replicated_ ? coarser_->gathered.view() : coarser_->own_b();
  hierarchy_->transfer(index_).restrict_residual(on, s.a, s.b, s.x, defect, of_x_);
}

template <class T>
void Level<T>::below(Context& ctx, const std::function<void(Context&)>& correct, bool records) {
  if (!above_replicated_) return correct(ctx);
  hierarchy_->partition().gather(ctx, coarser_->gathered.cview(), coarser_->b.view());
  Context alone = ctx.alone();
  const auto work = [&] {
    correct(alone);
    exchange(alone, coarser_->level_operator().shape(), coarser_->x.cview());
  };
  if (records)
    coarser_->recording.run(alone, coarser_->b.cview().data, coarser_->x.cview().data, work);
  else
    work();
}

template <class T>
void Level<T>::ascend(Context& ctx, FieldView<const T> given_b, FieldView<T> given_x, bool of_correction) {
  const Stopwatch watch(ctx, stopwatch());
  const Smoothed s = smoothed(given_b, given_x);
  FieldView<const T> correction = coarser_->own_x();
  if (above_replicated_) correction = hierarchy_->partition().own_rows(correction);
  hierarchy_->transfer(index_).prolongate_add(ctx, correction, overlap ? overlap->own(s.x) : s.x, rows_read_,
                                              of_correction || above_replicated_ ? of_correction_ : Ghosts::stale,
                                              of_x_);
  if (overlap) overlap->fetch(ctx, s.x);
  Context on = overlap ? ctx.alone() : ctx;
  smoother->smooth(on, s.a, s.b, s.x, choice.sweeps, Guess::given, after_, of_x_);
  if (!overlap) return;
  exchange(on, s.a.shape(), s.x);  // columns beside the rows, which a finer level reads
  if (overlap->own(s.x).data != given_x.data) copy(ctx, overlap->own(s.x), given_x);
}

template class Level<float>;
template class Level<double>;

}  // namespace stratum
