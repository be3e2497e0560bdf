#pragma once

// The members of Transfer and their kernels, for transfer_float.cpp and transfer_double.cpp, which are compiled beside each
// other; but for those of transfer_{residual,cell_residual,interpolated}.hpp, for which the build writes sources.

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include <stratum/core/device/simd.hpp>
#include <stratum/multigrid/transfer/transfer_shared.hpp>

namespace stratum {

template <class T>
TransferView<T> Transfer<T>::Direction::view() const {
  if (left.empty()) return {nullptr, nullptr, origin, coarse_origin, periodic};
  return {left.view().data + 1, right.view().data + 1, origin, coarse_origin, periodic};
}

template <class T>
Transfer<T>::Transfer(Context& ctx, const TensorMesh<2>& fine, const TensorMesh<2>& coarse,
                      const Subdomain& fine_subdomain, const Subdomain& coarse_subdomain)
    : fine_(fine_subdomain.value_or(fine.unknowns())), coarse_(coarse_subdomain.value_or(coarse.unknowns())),
      intervals_x_(coarse.x().size()), intervals_y_(coarse.y().size()),
      begins_after_sides_(fine.x().first_unknown() == 1 && fine.y().first_unknown() == 1),
      is_periodic_(fine.x().is_periodic() || fine.y().is_periodic()) {
  const auto build = [&](const Axis& f, const Axis& c, int origin, int coarse_origin, bool cut, Direction& direction) {
    direction.origin = origin;
    direction.coarse_origin = coarse_origin;
    direction.periodic = f.is_periodic() && !cut;
    if (f.size() == c.size()) return;
    expects((f.size() + 1) / 2 == c.size() && f.first_boundary() == c.first_boundary() &&
                f.last_boundary() == c.last_boundary(),
            "a transfer needs as many intervals, or half as many rounded up, between the same ends, not ", c.size(),
            " below ", f.size());
    const bool alone = f.size() % 2 != 0;  // the last interval
    const std::size_t n = c.widths().size();
    std::vector<T> left(n + 2, T(0)), right(n + 2, T(0));  // from interval -1 on
    for (std::size_t k = 0; k < n; ++k) {
      if (alone && k + 1 == n) {
        right[k + 1] = 1;
        continue;
      }
      const double wl = f.widths()[2 * k], wr = f.widths()[2 * k + 1];
      left[k + 1] = static_cast<T>(wr / (wl + wr));
      right[k + 1] = static_cast<T>(wl / (wl + wr));
    }
    if (f.is_periodic()) {
      // Seen from its right end, an interval that stays alone ends in the coarse node at its left.
      left[0] = alone ? T(1) : left[n];
      right[0] = alone ? T(0) : right[n];
    }
    direction.left = Field<T>(ctx, c.size() + 2);
    direction.right = Field<T>(ctx, c.size() + 2);
    copy_from_host(ctx, left.data(), direction.left.view());
    copy_from_host(ctx, right.data(), direction.right.view());
  };
  build(fine.x(), coarse.x(), fine_.origin_x, coarse_.origin_x, false, x_);
  build(fine.y(), coarse.y(), fine_.origin_y, coarse_.origin_y, fine_.below || fine_.above, y_);
  // For the CPU two rows a thread, with a column before each and two behind, and one from the subdomain below.
  if (!ctx.on_gpu()) rows_ = Field<T>(ctx, GridLayout<2>{fine_.nx + 3, 2 * ctx.threads() + (fine_.below ? 1 : 0)});
}

template <class T>
Transfer<T> Transfer<T>::weighted(Context& ctx, const TensorMesh<2>& fine, const TensorMesh<2>& coarse,
                                  const Subdomain& fine_subdomain, const Subdomain& coarse_subdomain) {
  Transfer p(ctx, fine, coarse, fine_subdomain, coarse_subdomain);
  const bool x = !p.x_.left.empty(), y = !p.y_.left.empty(), both = x && y;
  GridLayout<2> cells{p.intervals_x_ + 3, 0};
  cells.below = p.fine_.below;
  cells.above = p.fine_.above;
  cells.ny = (cells.above ? p.coarse_.origin_y + p.coarse_.ny : p.intervals_y_ + 2) - p.first_weights();
  for (const bool there : {x, y, both, both, both, both})
    p.weights_.push_back(there ? Field<T>(ctx, cells) : Field<T>());
  if (!ctx.on_gpu() && both) p.rows_ = Field<T>(ctx, GridLayout<2>{p.fine_.nx + 3, 3 * ctx.threads()});
  return p;
}

template <class T>
void Transfer<T>::assign_weights(Context& ctx, const Transfer<double>& other) {
  // With the rows beside a subdomain's own.
  const auto all_rows = [](auto view) {
    view.data -= view.pitch;
    view.ny += 2;
    return view;
  };
  for (std::size_t k = 0; k < weights_.size(); ++k)
    if (!weights_[k].empty()) copy<double, T>(ctx, all_rows(other.weights_[k].cview()), all_rows(weights_[k].view()));
}

template <class T>
void Transfer<T>::exchange_weights(Context& ctx, std::size_t first, std::size_t end) {
  for (std::size_t k = first; k < end; ++k)
    if (!weights_[k].empty()) exchange(ctx, weights_[k]);
}

template <class T>
void Transfer<T>::check(const Context& ctx, FieldView<const T> fine, FieldView<const T> coarse) const {
  expects_fit(ctx, "the fine vector", fine, fine_);
  expects_fit(ctx, "the coarse vector", coarse, coarse_);
}

namespace {

template <bool add, class T>
void prolongate_impl(Context& ctx, const TransferView<T>& x, const TransferView<T>& y, [[maybe_unused]] bool can_stream,
                     FieldView<const T> coarse, FieldView<T> fine, SomeRows rows) {
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_stream && cuda::has_chunks(coarse, fine)) {
    const auto run = [&]<SomeRows wanted>(const auto& added) {
      stream::prolongate<wanted>(ctx, x, y, coarse, added, fine);
    };
    if constexpr (!add)
      return run.template operator()<SomeRows::all>(stream::Nothing<T>{});
    else if (rows == SomeRows::even)
      return run.template operator()<SomeRows::even>(stream::InPlace<T>{});
    else if (rows == SomeRows::odd)
      return run.template operator()<SomeRows::odd>(stream::InPlace<T>{});
    else
      return run.template operator()<SomeRows::all>(stream::InPlace<T>{});
  }
#endif
  if (x.left == nullptr) return for_each_node(ctx, all_nodes(fine), ProlongateIdentity<add, T>{y, coarse, fine});
  const ProlongateCoarsened<add, T> node{x, y, coarse, fine};
  if (ctx.on_gpu()) return for_each_node_on_gpu(ctx, {node.begin(), node.end(), 1, 0, fine.ny, 1}, node);
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (fine.nodes() > serial_limit)
  for (int j = 0; j < fine.ny; ++j) {
    const bool is_odd = ((j + y.origin) & 1) != 0;
    if (rows == SomeRows::all || is_odd == (rows == SomeRows::odd)) prolongate_row(node, j);
  }
}

}  // namespace

template <bool add, class T>
void prolongate_weighted(Context& ctx, const WeightsView<const T>& w, [[maybe_unused]] bool can_stream,
                         FieldView<const T> coarse, FieldView<T> fine) {
  const ProlongateCell<add, T> cell{w, coarse, fine};
  NodeRange<2> range = cell.range();
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_stream && cuda::has_chunks(coarse, fine)) {
    range.begin_x = 0;
    range.end_x = fine.nx / cuda::chunk_width<T> + 1;
    return for_each_node(ctx, range, stream::ProlongateCellChunk<add, T>{w, coarse, fine});
  }
#endif
  if (ctx.on_gpu() || w.sw == nullptr) return for_each_node(ctx, range, cell);
  if (ctx.is_dry_run()) return;
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (fine.nodes() > serial_limit)
  for (int row = range.begin_y; row < range.end_y; ++row) prolongate_cells(cell, row);
}

template <class T>
void Transfer<T>::prolongate_add(Context& ctx, FieldView<const T> coarse, FieldView<T> fine, SomeRows some,
                                 Ghosts of_coarse, Ghosts of_fine) const {
  check(ctx, fine, coarse);
  exchange(ctx, coarse_, coarse, of_coarse);
  // The rows beside a subdomain take part, but those by weights of cells, and around the ends, where coarse rows may lie
  // otherwise.
  const bool beside = of_fine == Ghosts::current && !is_weighted() && !fine_.periodic_y;
  FieldView<T> rows = fine;
  TransferView<T> y = y_.view();
  if (beside && fine_.below) {
    rows.data -= rows.pitch;
    ++rows.ny;
    --y.origin;
  }
  if (beside && fine_.above) ++rows.ny;
  if (is_weighted())
    prolongate_weighted<true>(ctx, weights(), can_stream_by_cells(), coarse, fine);
  else
    prolongate_impl<true>(ctx, x_.view(), y, can_stream(), coarse, rows, some);
  if (of_fine == Ghosts::stale) return;
  // Where x is periodic the columns beside these rows are left.
  GridLayout<2> around = fine_;
  if (beside) around.below = around.above = false;
  exchange(ctx, around, rows);
}

template <class T>
void Transfer<T>::prolongate(Context& ctx, FieldView<const T> coarse, FieldView<T> fine, Ghosts of_coarse) const {
  check(ctx, fine, coarse);
  exchange(ctx, coarse_, coarse, of_coarse);
  if (is_weighted()) return prolongate_weighted<false>(ctx, weights(), can_stream_by_cells(), coarse, fine);
  prolongate_impl<false>(ctx, x_.view(), y_.view(), can_stream(), coarse, fine, SomeRows::all);
}

/// d, which begins with the row below it.
template <class T>
struct DefectFromBelow {
  const T* below;
  FieldView<const T> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(int i, int j) const { return j == 0 ? below[i] : d(i, j - 1); }
};

template <class T>
bool Transfer<T>::stream_down([[maybe_unused]] Context& ctx, [[maybe_unused]] FieldView<const T> fine,
                              [[maybe_unused]] FieldView<T> coarse, [[maybe_unused]] double* square,
                              [[maybe_unused]] const std::function<void()>& meanwhile) const {
#if defined(__CUDACC__)
  if (!ctx.on_gpu() || !can_stream() || !cuda::has_chunks(fine, coarse)) return false;
  FieldView<T> wanted = coarse;
  wanted.ny = restricted_rows(true, coarse_);
  const cuda::StreamGrid<T> most(fine.nx, wanted.ny, 1);
  const auto room = static_cast<std::size_t>(most.count());
  double* const partial = square != nullptr ? ctx.reduction_scratch(room) : nullptr;
  const stream::Measured<T> rows{{fine}, partial, most.panels};
  const int count = stream::run_restriction(ctx, x_.view(), y_.view(), rows, wanted, fine.nx, fine.ny);
  detail::add_from_below(ctx, coarse_, coarse);
  if (square != nullptr) *square = sum_of_scratch(ctx, count, meanwhile);
  return true;
#else
  return false;
#endif
}

template <class T>
double Transfer<T>::restrict_and_measure(Context& ctx, FieldView<const T> fine, FieldView<T> coarse,
                                         const std::function<void()>& meanwhile) const {
  check(ctx, fine, coarse);
  double square = 0;
  if (stream_down(ctx, fine, coarse, &square, meanwhile))
    return std::isnormal(square) ? std::sqrt(square) : norm2(ctx, fine);
  const double norm = norm2(ctx, fine);
  restrict_to(ctx, fine, coarse);
  return norm;
}

template <class T>
void Transfer<T>::restrict_to(Context& ctx, FieldView<const T> fine, FieldView<T> coarse) const {
  check(ctx, fine, coarse);
  if (stream_down(ctx, fine, coarse, nullptr)) return;
  const GivenDefect<T> defect{fine};
  const bool coarsened_y = !y_.left.empty();
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_stream_by_cells() && cuda::has_chunks(fine, coarse)) {
    FieldView<T> rows = coarse;
    rows.ny = restricted_rows(true, coarse_);
    stream::restrict_by_cells(ctx, weights(), stream::Measured<T>{{fine}, nullptr, 0}, rows, fine.nx, fine.ny);
    return detail::add_from_below(ctx, coarse_, coarse);
  }
#endif
  if (is_weighted() || ctx.on_gpu()) {
    if (is_weighted())
      restrict_weighted(ctx, weights(), defect, fine_, coarse_, coarse);
    else
      restrict_nodes(ctx, x_.view(), y_.view(), defect, fine_.nx, fine_.ny, coarse,
                     restricted_rows(coarsened_y, coarse_));
    if (coarsened_y) detail::add_from_below(ctx, coarse_, coarse);
    return;
  }
  TransferView<T> y = y_.view();
  if (coarsened_y) pass_upward(ctx, coarse_, &fine(0, fine.ny - 1), row_from_below(), fine.nx);
  if (!coarsened_y || !coarse_.below)
    return restrict_nodes(ctx, x_.view(), y, defect, fine_.nx, fine_.ny, coarse, coarse.ny);
  --y.origin;
  restrict_nodes(ctx, x_.view(), y, DefectFromBelow<T>{row_from_below(), fine}, fine_.nx, fine_.ny + 1, coarse,
                 coarse.ny);
}

template <class T>
void Transfer<T>::restrict_residual(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<const T> x,
                                    FieldView<T> coarse, Ghosts of_x) const {
  const bool beside = x.ny > fine_.ny;  // rows of neighbours
  expects(!beside || fine_.has_halo(), "the fine vector must have ", fine_.ny, " rows, not ", x.ny);
  if (beside)
    expects_fit(ctx, "the coarse vector", coarse, coarse_);
  else
    check(ctx, x, coarse);
  expects_fit(ctx, "b", b, a.shape());
  expects_fit(ctx, "x", x, a.shape());
  exchange(ctx, a.shape(), x, of_x);
  // The coarse rows of all fine ones, the neighbours' among them, begin with others.
  const int origin = beside ? a.shape().origin_y : fine_.origin_y;
  const int first = beside ? coarse_.origin_y - (origin + 1) / 2 : 0;
  if (is_weighted())
    restrict_residual_by_cells(ctx, a, b, x, coarse, origin, first);
  else if (a.traits().has_bands)
    restrict_residual_by_lines<true>(ctx, a, b, x, coarse, origin, first);
  else
    restrict_residual_by_lines<false>(ctx, a, b, x, coarse, origin, first);
}

template <class T>
bool Transfer<T>::fuses_interpolation([[maybe_unused]] const Context& ctx, [[maybe_unused]] const GridOperator<T>& a,
                                      [[maybe_unused]] FieldView<const T> b) const {
#if defined(__CUDACC__)
  return ctx.on_gpu() && can_stream() && a.traits().is_separable && cuda::has_chunks(b);
#else
  return false;
#endif
}

template <class T>
template <class Z>
void Transfer<T>::prolongate_plus(Context& ctx, FieldView<const T> coarse, T alpha, FieldView<const Z> z,
                                  FieldView<T> x, Ghosts of_coarse) const {
  check(ctx, x, coarse);
  expects_fit(ctx, "z", z, fine_);
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_stream() && cuda::has_chunks(coarse, z, x)) {
    exchange(ctx, coarse_, coarse, of_coarse);
    return stream::prolongate(ctx, x_.view(), y_.view(), coarse, stream::Scaled<T, Z>{alpha, z}, x);
  }
#endif
  prolongate(ctx, coarse, x, of_coarse);
  axpy<Z, T>(ctx, static_cast<double>(alpha), z, x);
}

}  // namespace stratum
