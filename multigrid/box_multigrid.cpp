#include <stratum/multigrid/box_multigrid.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/multigrid/transfer/box_maps.hpp>

namespace stratum {

GridLayout<2> rows_of(const BoxShape& shape) {
  GridLayout<2> layout;
  layout.nx = shape.n.nx;
  layout.ny = static_cast<int>(shape.n.rows());
  return layout;
}

template <class T>
BoxLinearOperator<T>::BoxLinearOperator(Context& ctx, BoxMatrix<T> a)
    : a_(std::move(a)), ghosts_(a_.needs_ghosts(ctx) ? BoxGhosts::filled : BoxGhosts::none) {
  if (ghosts_ == BoxGhosts::filled || std::is_same_v<T, double>)
    u_ = std::make_shared<Field<T, 3>>(ctx, a_.shape().layout(1));
}

template <class T>
FieldView<const T, 3> BoxLinearOperator<T>::with_ghosts(Context& ctx, FieldView<const T> x) const {
  copy(ctx, box_of(a_.shape(), x), u_->view());
  a_.fill_ghosts(ctx, u_->view());
  return u_->cview();
}
template <class T>
FieldView<const T, 3> BoxLinearOperator<T>::as_taken(Context& ctx, FieldView<const T> x) const {
  return ghosts_ == BoxGhosts::filled ? with_ghosts(ctx, x) : box_of(a_.shape(), x);
}
template <class T>
void BoxLinearOperator<T>::apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const {
  a_.apply(ctx, as_taken(ctx, x), box_of(a_.shape(), y), ghosts_);
}
template <class T>
void BoxLinearOperator<T>::residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const {
  a_.residual(ctx, box_of(a_.shape(), b), as_taken(ctx, x), box_of(a_.shape(), r), ghosts_);
}
template <class T>
double BoxLinearOperator<T>::residual_in_float(Context& ctx, double scale, FieldView<const T> b, FieldView<const T> x,
                                               FieldView<float> r) const {
  a_.scaled_residual(ctx, scale, box_of(a_.shape(), b), as_taken(ctx, x), box_of(a_.shape(), r), ghosts_);
  return norm2<float>(ctx, r);
}
template <class T>
bool BoxLinearOperator<T>::next_direction_on_gpu(Context& ctx, FieldView<const T> z, double beta, FieldView<const T> p,
                                                 FieldView<T> next, FieldView<T> q) const {
  const BoxShape& shape = a_.shape();
  return a_.next_direction_on_gpu(ctx, box_of(shape, z), beta, box_of(shape, p), box_of(shape, next), box_of(shape, q));
}
template <class T>
double BoxLinearOperator<T>::magnitude(Context& ctx, FieldView<const T> b, FieldView<const T> x) const {
  return u_ == nullptr ? 0 : a_.magnitude(ctx, box_of(a_.shape(), b), with_ghosts(ctx, x));
}
template <class T>
double BoxLinearOperator<T>::backward_error(Context& ctx, FieldView<const T> b, FieldView<const T> x,
                                            double least) const {
  return u_ == nullptr ? 0 : a_.backward_error(ctx, box_of(a_.shape(), b), with_ghosts(ctx, x), least);
}

namespace {

template <class T>
BoxMatrix<T> in_precision(Context& ctx, const BoxMatrix<double>& a) {
  if constexpr (std::is_same_v<T, double>)
    return a;
  else
    return BoxMatrix<T>(ctx, a);
}

/// Slabs of a level are worth having.
bool is_distributed(const Context& ctx, const BoxShape& shape, const std::vector<int>& cuts, std::int64_t least) {
  constexpr int planes = 2 * BoxSlab::overlap;  // at least half of them are coarse ones
  constexpr std::int64_t on_cpu = 1 << 12, on_gpu = 1 << 20;
  if (least < 0) least = ctx.on_gpu() ? on_gpu : on_cpu;
  for (std::size_t r = 0; r + 1 < cuts.size(); ++r)
    if (cuts[r + 1] - cuts[r] < planes) return false;
  return std::int64_t{shape.n.nx} * shape.n.ny * shape.all_planes() >= least;
}

}  // namespace

template <class T>
BoxMultigrid<T>::BoxMultigrid(Context& ctx, const BoxMatrix<double>& a, const std::array<GatedAxis, 3>& axes,
                              const BoxMultigridParams& params)
    : gate_(gated_levels(axes, params.gate)), singular_(params.singular) {
  const Extents<3>& n = a.shape().n;
  for (int d = 0; d < 3; ++d)
    expects(axes[static_cast<std::size_t>(d)].unknowns() == (d == 2 ? a.shape().all_planes() : a.shape().size(d)),
            "direction ", axis_names[static_cast<std::size_t>(d)], " of the gate has ",
            axes[static_cast<std::size_t>(d)].unknowns(), " unknowns, the matrix ",
            d == 2 ? a.shape().all_planes() : a.shape().size(d));
  expects(gate_.back().unknowns() <= most_dense, "a box of ", n.nx, " x ", n.ny, " x ", n.nz, " unknowns coarsens to ",
          gate_.back().unknowns(), " unknowns, and the last level may have ", most_dense);
  if (params.all_lines)
    for (GatedLevel& level : gate_)
      for (std::size_t d = 0; d < 3; ++d) level.lines[d] = level.axes[d].unknowns() > 1;
  finest_ = in_precision<T>(ctx, a);
  BoxMatrix<double> matrix = a;
  BoxConductances g;
  std::vector<int> cuts = params.cuts;
  for (std::size_t l = 0; l < gate_.size(); ++l) {
    Level& level = levels_.emplace_back();
    const bool is_last = l + 1 == gate_.size();
    if (matrix.shape().is_slab() && (is_last || !is_distributed(ctx, matrix.shape(), cuts, params.least_distributed))) {
      level.gather = BoxGather(cuts, matrix.shape());
      if (!is_last) g = level.gather.conductances(ctx, conductances_of(ctx, matrix, g));
      matrix = level.gather.bands(ctx, matrix);
    } else if (matrix.shape().is_slab() && l > 0) {
      BoxBands<double> bands = bands_of(ctx, matrix);
      fill_beside_slab(ctx, bands, g);
      matrix = std::move(bands);
    }
    level.a = l == 0 && !level.gather.is_needed() ? finest_ : in_precision<T>(ctx, matrix);
    const BoxShape& shape = matrix.shape();
    level.x = Field<T, 3>(ctx, shape.layout(1));
    if (l > 0 || level.gather.is_needed()) level.b = Field<T, 3>(ctx, shape.layout(0));
    if (is_last) break;
    // Points change it for x on a GPU; of a slab ranks beside it need its planes.
    level.r = Field<T, 3>(ctx, shape.layout((ctx.on_gpu() && has_points(l)) || shape.is_slab() ? 1 : 0));
    for (int d = 0; d < 3; ++d)
      if (gate_[l].lines[static_cast<std::size_t>(d)])
        level.lines[static_cast<std::size_t>(d)] = BoxLines<T>(ctx, matrix, d);
    level.transfer = BoxTransfer<T>(ctx, gate_[l], matrix, g);
    if (matrix.is_full()) {
      level.restriction = BoxTransfer<T>(ctx, gate_[l], matrix, g, true);
      matrix = level.transfer.coarsen(ctx, matrix.full(), level.restriction);
      continue;
    }
    level.restriction = level.transfer;
    if (shape.is_slab()) {
      const BoxAxisNumbers planes(gate_[l].axes[2], gate_[l].dropped[2]);
      for (int& cut : cuts) cut = planes.kept_before(cut);
    }
    BoxConductances coarse = level.transfer.coarsen(ctx, matrix, g);
    matrix = level.transfer.coarsen(ctx, matrix);
    g = std::move(coarse);
  }
  inverse_ = BoxInverse(ctx, matrix, singular_);
  if (singular_) mean_ = mean_scratch(ctx, n);
}

template <class T>
double BoxMultigrid<T>::nodes() const {
  double nodes = 0;
  for (const GatedLevel& level : gate_) nodes += level.unknowns();
  return nodes / gate_.front().unknowns();
}

template <class T>
int BoxMultigrid<T>::distributed_levels() const {
  return static_cast<int>(
      std::count_if(levels_.begin(), levels_.end(), [](const Level& level) { return level.a.shape().is_slab(); }));
}

template <class T>
bool BoxMultigrid<T>::has_points(std::size_t l) const {
  const auto& lines = gate_[l].lines;
  return !lines[0] && !lines[1] && !lines[2];
}

template <class T>
void BoxMultigrid<T>::smooth(Context& ctx, std::size_t l, FieldView<const T, 3> b, bool from_zero) {
  Level& level = levels_[l];
  const bool reversed = !from_zero;
  if (has_points(l)) return box_points<T>(ctx, level.a, b, level.x, level.r, reversed, from_zero);
  if (from_zero) set_zero_with_ghosts(ctx, level.x);
  for (std::size_t step = 0; step < 3; ++step) {
    const std::size_t d = reversed ? 2 - step : step;
    if (gate_[l].lines[d]) level.lines[d].apply(ctx, level.a, b, level.x.view(), level.r.view(), reversed);
  }
}

template <class T>
void BoxMultigrid<T>::cycle(Context& ctx, std::size_t l, FieldView<const T, 3> b) {
  Level& level = levels_[l];
  if (l + 1 == levels_.size()) {
    inverse_.apply<T>(ctx, b, level.x.view());
  } else {
    Level& coarse = levels_[l + 1];
    smooth(ctx, l, b, true);
    level.a.fill_ghosts(ctx, level.x.view());
    level.a.residual(ctx, b, level.x.cview(), level.r.view());
    if (level.a.shape().is_slab()) level.a.fill_ghosts(ctx, level.r.view());
    const bool gathers = coarse.gather.is_needed();
    level.restriction.restrict_to(ctx, level.r.cview(), gathers ? coarse.gather.own(coarse.b.view()) : coarse.b.view());
    if (gathers) coarse.gather.complete(ctx, coarse.b.view());
    cycle(ctx, l + 1, coarse.b.cview());
    level.transfer.prolong(ctx, gathers ? coarse.gather.own(coarse.x.cview()) : coarse.x.cview(), level.x.view());
    smooth(ctx, l, b, false);
  }
  if (l > 0) level.a.fill_ghosts(ctx, level.x.view());
}

template <class T>
void BoxMultigrid<T>::apply(Context& ctx, FieldView<const T> r, FieldView<T> z) {
  const BoxShape& shape = matrix().shape();
  Level& finest = levels_.front();
  const auto run = [&] {
    const auto from = box_of(shape, r);
    const auto to = box_of(shape, z);
    if (finest.gather.is_needed()) {
      copy(ctx, from, finest.gather.own(finest.b.view()));
      finest.gather.complete(ctx, finest.b.view());
      cycle(ctx, 0, finest.b.cview());
      copy(ctx, finest.gather.own(finest.x.cview()), to);
    } else {
      cycle(ctx, 0, from);
      copy(ctx, finest.x.cview(), to);
    }
    if (singular_) subtract_mean(ctx, to, mean_.view(), std::int64_t{shape.n.nx} * shape.n.ny * shape.all_planes());
  };
  recording_.run(ctx, r.data, z.data, run);
}

template class BoxLinearOperator<float>;
template class BoxLinearOperator<double>;
template class BoxMultigrid<float>;
template class BoxMultigrid<double>;

}  // namespace stratum
