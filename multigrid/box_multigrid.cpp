#include <stratum/multigrid/box_multigrid.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <stratum/core/errors.hpp>

namespace stratum {

GridLayout<2> rows_of(const BoxShape& shape) {
  GridLayout<2> layout;
  layout.nx = shape.n.nx;
  layout.ny = static_cast<int>(shape.n.rows());
  return layout;
}

BoxLinearOperator::BoxLinearOperator(Context& ctx, BoxMatrix<double> a)
    : a_(std::move(a)), u_(std::make_shared<Field<double, 3>>(ctx, a_.shape().layout(1))) {}

FieldView<const double, 3> BoxLinearOperator::with_values(Context& ctx, FieldView<const double> x) const {
  copy(ctx, box_of(a_.shape(), x), u_->view());
  a_.fill_ghosts(ctx, u_->view());
  return u_->cview();
}
void BoxLinearOperator::apply(Context& ctx, FieldView<const double> x, FieldView<double> y) const {
  a_.apply(ctx, with_values(ctx, x), box_of(a_.shape(), y));
}
void BoxLinearOperator::residual(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                                 FieldView<double> r) const {
  a_.residual(ctx, box_of(a_.shape(), b), with_values(ctx, x), box_of(a_.shape(), r));
}
double BoxLinearOperator::magnitude(Context& ctx, FieldView<const double> b, FieldView<const double> x) const {
  return a_.magnitude(ctx, box_of(a_.shape(), b), with_values(ctx, x));
}
double BoxLinearOperator::backward_error(Context& ctx, FieldView<const double> b, FieldView<const double> x,
                                         double least) const {
  return a_.backward_error(ctx, box_of(a_.shape(), b), with_values(ctx, x), least);
}

template <class T>
BoxMultigrid<T>::BoxMultigrid(Context& ctx, const BoxMatrix<double>& a, const std::array<GatedAxis, 3>& axes,
                              const BoxMultigridParams& params)
    : finest_(a), gate_(gated_levels(axes, params.gate)), singular_(params.singular) {
  const Extents<3>& n = a.shape().n;
  for (int d = 0; d < 3; ++d)
    expects(axes[static_cast<std::size_t>(d)].unknowns() == a.shape().size(d), "direction ",
            axis_names[static_cast<std::size_t>(d)], " of the gate has ", axes[static_cast<std::size_t>(d)].unknowns(),
            " unknowns, the matrix ", a.shape().size(d));
  expects(gate_.back().unknowns() <= most_dense, "a box of ", n.nx, " x ", n.ny, " x ", n.nz, " unknowns coarsens to ",
          gate_.back().unknowns(), " unknowns, and the last level may have ", most_dense);
  BoxMatrix<double> matrix = a;
  BoxConductances g;
  for (std::size_t l = 0; l < gate_.size(); ++l) {
    Level& level = levels_.emplace_back();
    if constexpr (std::is_same_v<T, double>)
      level.a = matrix;
    else
      level.a = BoxMatrix<T>(ctx, matrix);
    const BoxShape& shape = matrix.shape();
    level.x = Field<T, 3>(ctx, shape.layout(1));
    if (l > 0 || !std::is_same_v<T, double>) level.b = Field<T, 3>(ctx, shape.layout(0));
    if (l + 1 == gate_.size()) break;
    level.r = Field<T, 3>(ctx, shape.layout(0));
    for (int d = 0; d < 3; ++d)
      if (gate_[l].lines[static_cast<std::size_t>(d)])
        level.lines[static_cast<std::size_t>(d)] = BoxLines<T>(ctx, matrix, d);
    level.transfer = BoxTransfer<T>(ctx, gate_[l], matrix, g);
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
void BoxMultigrid<T>::smooth(Context& ctx, std::size_t l, FieldView<const T, 3> b, bool reversed) {
  Level& level = levels_[l];
  const auto& lines = gate_[l].lines;
  if (!lines[0] && !lines[1] && !lines[2]) return box_points<T>(ctx, level.a, b, level.x.view(), reversed);
  for (std::size_t step = 0; step < 3; ++step) {
    const std::size_t d = reversed ? 2 - step : step;
    if (lines[d]) level.lines[d].apply(ctx, level.a, b, level.x.view(), level.r.view(), reversed);
  }
}

template <class T>
void BoxMultigrid<T>::cycle(Context& ctx, std::size_t l, FieldView<const T, 3> b) {
  Level& level = levels_[l];
  const auto x = level.x.view();
  if (l + 1 == levels_.size()) {
    inverse_.apply<T>(ctx, b, x);
  } else {
    Level& coarse = levels_[l + 1];
    set_zero_with_ghosts(ctx, level.x);
    smooth(ctx, l, b, false);
    level.a.fill_ghosts(ctx, x);
    level.a.residual(ctx, b, x, level.r.view());
    level.transfer.restrict_to(ctx, level.r.cview(), coarse.b.view());
    cycle(ctx, l + 1, coarse.b.cview());
    level.transfer.prolong(ctx, coarse.x.cview(), x);
    smooth(ctx, l, b, true);
  }
  level.a.fill_ghosts(ctx, x);
}

template <class T>
void BoxMultigrid<T>::apply(Context& ctx, FieldView<const double> r, FieldView<double> z) {
  const BoxShape& shape = finest_.shape();
  const auto x = levels_.front().x.view();
  const auto to = box_of(shape, z);
  if constexpr (std::is_same_v<T, double>) {
    cycle(ctx, 0, box_of(shape, r));
    copy(ctx, x, to);
  } else {
    const auto b = levels_.front().b.view();
    const double norm = norm_max(ctx, r), scale = norm > 0 && std::isfinite(norm) ? norm : 1;
    copy_scaled(ctx, 1 / scale, box_of(shape, r), b);
    cycle(ctx, 0, levels_.front().b.cview());
    copy_scaled(ctx, scale, x, to);
  }
  if (singular_) subtract_mean(ctx, to, mean_.view(), shape.n.nodes());
}

template class BoxMultigrid<float>;
template class BoxMultigrid<double>;

}  // namespace stratum
