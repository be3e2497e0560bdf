#include <stratum/core/operators/box_matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/core/field/ghost_exchange.hpp>
#if defined(__CUDACC__)
#include <stratum/core/operators/box_row_march.hpp>
#endif

namespace stratum {

namespace {

template <class Rows, class T = typename Rows::Number>
struct ResidualOfRows {
  static constexpr bool hot = true;
  Rows rows;
  FieldView<const T, 3> b, u;
  FieldView<T, 3> r;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j, int k) const {
    return b(i, j, k) - rows.product(u, i, j, k).value;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, int k, T value) const { r(i, j, k) = value; }
};

template <class Rows, class T = typename Rows::Number>
struct ScaledResidualOfRows {
  static constexpr bool hot = true;
  Rows rows;
  double scale;
  FieldView<const T, 3> b, u;
  FieldView<float, 3> r;
  STRATUM_HOST_DEVICE STRATUM_INLINE float value(int i, int j, int k) const {
    return static_cast<float>(scale * static_cast<double>(b(i, j, k) - rows.product(u, i, j, k).value));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, int k, float value) const { r(i, j, k) = value; }
};

template <class Rows, class T = typename Rows::Number>
struct ProductOfRows {
  static constexpr bool hot = true;
  Rows rows;
  FieldView<const T, 3> u;
  FieldView<T, 3> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j, int k) const { return rows.product(u, i, j, k).value; }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, int k, T value) const { y(i, j, k) = value; }
};

/// next = z + beta p
template <class T>
struct NextDirection {
  FieldView<const T, 3> z, p;
  double beta;
  FieldView<T, 3> next;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j, int k) const {
    return static_cast<T>(static_cast<double>(z(i, j, k)) + beta * static_cast<double>(p(i, j, k)));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, int k, T value) const { next(i, j, k) = value; }
};

template <class Rows>
struct RowsToBands {
  Rows rows;
  BoxBandRows<double> bands;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    double entries[box_row];
    bands.at(0, i, j, k) = rows.row(i, j, k, entries);
    for (int n = 1; n <= box_neighbours; ++n) bands.at(n, i, j, k) = entries[box_neighbours + n];
  }
};

template <class T>
std::vector<T> converted(const std::vector<double>& numbers) {
  std::vector<T> result;
  result.reserve(numbers.size());
  for (const double number : numbers) result.push_back(static_cast<T>(number));
  return result;
}

}  // namespace

BoxShape BoxCoefficients::shape() const {
  return {{axes[0].unknowns(), axes[1].unknowns(), axes[2].unknowns() - slab.before - slab.behind},
          {axes[0].periodic, axes[1].periodic, axes[2].periodic},
          slab};
}

std::vector<std::size_t> intervals_of(const BoxSlab& slab, int planes) {
  std::vector<std::size_t> found;
  for (int i = slab.first - slab.before; i <= slab.first + planes + slab.behind; ++i)
    found.push_back(static_cast<std::size_t>(slab.around ? (i % slab.planes + slab.planes) % slab.planes : i));
  return found;
}

AxisFactors of_slab(const AxisFactors& z, const BoxSlab& slab, int planes) {
  AxisFactors own;
  for (const std::size_t i : intervals_of(slab, planes)) {
    own.k.push_back(z.k[i]);
    own.m.push_back(z.m[i]);
  }
  return own;
}

template <class T>
void exchange_planes(Context& ctx, const BoxSlab& slab, const BoxPlanes<T>& planes) {
  if (ctx.is_dry_run() || (slab.before == 0 && slab.behind == 0)) return;
  Communicator::Rows rows;
  rows.bytes = sizeof(T) * static_cast<std::size_t>((planes.planes - 1) * planes.apart + planes.of_last);
  if (slab.before > 0) {
    rows.to_below = planes.to_before;
    rows.from_below = planes.from_before;
    rows.below = slab.rank_before;
  }
  if (slab.behind > 0) {
    rows.to_above = planes.to_behind;
    rows.from_above = planes.from_behind;
    rows.above = slab.rank_behind;
  }
  ctx.communicator()->exchange(ctx, rows);
}
template void exchange_planes(Context&, const BoxSlab&, const BoxPlanes<float>&);
template void exchange_planes(Context&, const BoxSlab&, const BoxPlanes<double>&);

namespace {

/// Of numbers on all stored planes, or layers, those from the slab's own first one on.
template <class T>
FieldView<T, 3> from_own(const BoxSlab& slab, FieldView<T, 3> stored) {
  stored.data += slab.before * stored.strides.plane;
  return stored;
}

}  // namespace

template <class T>
BoxCells<T>::BoxCells(Context& ctx, const BoxCoefficients& coefficients, bool scalar)
    : k_(std::make_shared<std::array<Field<T, 3>, 3>>()) {
  rows_.shape = coefficients.shape();
  rows_.reaction = static_cast<T>(coefficients.reaction);
  const BoxSlab& slab = rows_.shape.slab;
  const auto& [nx, ny, nz] = rows_.shape.n;
  const auto cells = GridLayout<3>::box({nx + 1, ny + 1, rows_.shape.stored_planes() + 1}, {}, 0);
  const std::array<const std::vector<double>*, 3> given{&coefficients.xx, &coefficients.yy, &coefficients.zz};
  for (std::size_t d = 0; d < 3; ++d) {
    if (d > 0 && scalar) {
      rows_.k[d] = rows_.k[0];
      continue;
    }
    (*k_)[d] = Field<T, 3>(ctx, cells);
    rows_.k[d] = from_own(slab, (*k_)[d].cview());
    if (ctx.is_dry_run()) continue;
    if constexpr (std::is_same_v<T, double>) {
      copy_from_host(ctx, given[d]->data(), (*k_)[d].view());
    } else {
      const std::vector<T> numbers = converted<T>(*given[d]);
      copy_from_host(ctx, numbers.data(), (*k_)[d].view());
      ctx.synchronise();
    }
  }
  std::vector<T> numbers;
  for (const AxisFactors& axis : coefficients.axes)
    for (const auto* of : {&axis.k, &axis.m}) {
      const auto part = converted<T>(*of);
      numbers.insert(numbers.end(), part.begin(), part.end());
    }
  take_numbers(vector_from_host(ctx, numbers));
  ctx.synchronise();
}

template <class T>
void BoxCells<T>::take_numbers(Field<T> numbers) {
  numbers_ = std::move(numbers);
  const T* next = numbers_.cview().data;
  for (int d = 0; d < 3; ++d) {
    const int count = (d == 2 ? rows_.shape.stored_planes() : rows_.shape.size(d)) + 1,
              before = d == 2 ? rows_.shape.slab.before : 0;
    rows_.axes[static_cast<std::size_t>(d)] = {next + before, next + count + before};
    next += 2 * count;
  }
}

template <class T>
template <class From>
BoxCells<T>::BoxCells(Context& ctx, const BoxCells<From>& cells) : k_(std::make_shared<std::array<Field<T, 3>, 3>>()) {
  rows_.shape = cells.rows_.shape;
  rows_.reaction = static_cast<T>(cells.rows_.reaction);
  for (std::size_t d = 0; d < 3; ++d) {
    rows_.k[d] = rows_.k[0];
    if (d > 0 && cells.is_scalar()) continue;
    (*k_)[d] = Field<T, 3>(ctx, (*cells.k_)[d].layout());
    copy(ctx, (*cells.k_)[d].cview(), (*k_)[d].view());
    rows_.k[d] = from_own(rows_.shape.slab, (*k_)[d].cview());
  }
  Field<T> numbers(ctx, cells.numbers_.shape());
  copy<From, T>(ctx, cells.numbers_.cview(), numbers.view());
  take_numbers(std::move(numbers));
}

template <class Rows>
BoxBandsOf<Rows>::BoxBandsOf(Context& ctx, const BoxShape& shape) {
  const int planes = shape.stored_planes();
  numbers_ =
      std::make_shared<Field<T, 3>>(ctx, GridLayout<3>::box({shape.n.nx, shape.n.ny, Rows::bands * (planes + 2) - 2}));
  rows_.shape = shape;
  rows_.first = from_own(shape.slab, numbers_->view());
  rows_.first.extents = shape.n;
  rows_.apart = (std::int64_t{planes} + 2) * rows_.first.strides.plane;
}

template <class Rows>
template <class From>
BoxBandsOf<Rows>::BoxBandsOf(Context& ctx, const BoxBandsOf<From>& bands) : BoxBandsOf(ctx, bands.rows().shape) {
  for (int n = Rows::first_band; n <= box_neighbours; ++n)
    copy(ctx, with_ghosts(bands.stored_band(n), 1), with_ghosts(stored_band(n), 1));
}

template <class Rows>
FieldView<typename Rows::Number, 3> BoxBandsOf<Rows>::band(int n) const {
  FieldView<T, 3> view = rows_.first;
  view.data += Rows::position(n) * rows_.apart;
  return view;
}

template <class Rows>
FieldView<typename Rows::Number, 3> BoxBandsOf<Rows>::stored_band(int n) const {
  FieldView<T, 3> view = band(n);
  view.data -= rows_.shape.slab.before * view.strides.plane;
  view.extents.nz = rows_.shape.stored_planes();
  return view;
}

template <class Rows>
void BoxBandsOf<Rows>::fill_ghosts(Context& ctx) {
  const BoxShape& shape = rows_.shape;
  constexpr int planes = BoxSlab::overlap;
  for (int n = Rows::first_band; n <= box_neighbours; ++n) {
    fill_periodic_ghosts(ctx, shape.periodic, band(n));
    if (!shape.is_slab()) continue;
    const FieldView<T, 3> own = band(n);
    const auto plane = [&](int k) { return &own(-1, -1, k); };
    const std::int64_t of_last = (own.extents.ny + 1) * own.strides.row + own.extents.nx + 2;
    exchange_planes<T>(
        ctx, shape.slab,
        {plane(0), plane(shape.n.nz - planes), plane(-planes), plane(shape.n.nz), own.strides.plane, of_last, planes});
  }
}

template <class T>
template <class From>
BoxMatrix<T>::BoxMatrix(Context& ctx, const BoxMatrix<From>& a) {
  if (const auto* cells = std::get_if<BoxCells<From>>(&a.any_))
    any_ = BoxCells<T>(ctx, *cells);
  else if (a.is_full())
    any_ = BoxFullBands<T>(ctx, a.full());
  else
    any_ = BoxBands<T>(ctx, std::get<BoxBands<From>>(a.any_));
}

BoxBands<double> bands_of(Context& ctx, const BoxMatrix<double>& a) {
  BoxBands<double> bands(ctx, a.shape());
  a.with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
    if constexpr (!std::is_same_v<Rows, BoxFullRows<double>>)
      for_each_node(ctx, all_nodes(a.shape().n), RowsToBands<Rows>{rows, bands.rows()});
  });
  if (!a.shape().is_slab()) bands.fill_ghosts(ctx);
  return bands;
}

template <class T>
void BoxMatrix<T>::fill_ghosts(Context& ctx, FieldView<T, 3> u) const {
  if (!shape().is_slab()) return fill_periodic_ghosts(ctx, shape().periodic, u);
  GhostExchange<3>(ctx, shape().layout(1)).fill(ctx, u);
}

template <class T>
bool BoxMatrix<T>::needs_ghosts(const Context& ctx) const {
  return !ctx.on_gpu() || !is_cells() || shape().is_slab();
}

template <class T>
void BoxMatrix<T>::residual(Context& ctx, FieldView<const T, 3> b, FieldView<const T, 3> u, FieldView<T, 3> r,
                            [[maybe_unused]] BoxGhosts ghosts) const {
  with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
#if defined(__CUDACC__)
    if constexpr (std::is_same_v<Rows, BoxCellRows<T>>)
      if (ctx.on_gpu())
        return ghosts == BoxGhosts::filled ? cuda::run_products<true>(ctx, rows, 1, b, u, r)
                                           : cuda::run_products<false>(ctx, rows, 1, b, u, r);
#endif
    for_each_node(ctx, all_nodes(r), ResidualOfRows<Rows>{rows, b, u, r});
  });
}

template <class T>
void BoxMatrix<T>::scaled_residual(Context& ctx, double scale, FieldView<const T, 3> b, FieldView<const T, 3> u,
                                   FieldView<float, 3> r, [[maybe_unused]] BoxGhosts ghosts) const {
  with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
#if defined(__CUDACC__)
    if constexpr (std::is_same_v<Rows, BoxCellRows<T>>)
      if (ctx.on_gpu())
        return ghosts == BoxGhosts::filled ? cuda::run_products<true>(ctx, rows, scale, b, u, r)
                                           : cuda::run_products<false>(ctx, rows, scale, b, u, r);
#endif
    for_each_node(ctx, all_nodes(r), ScaledResidualOfRows<Rows>{rows, scale, b, u, r});
  });
}

template <class T>
void BoxMatrix<T>::apply(Context& ctx, FieldView<const T, 3> u, FieldView<T, 3> y,
                         [[maybe_unused]] BoxGhosts ghosts) const {
  with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
#if defined(__CUDACC__)
    if constexpr (std::is_same_v<Rows, BoxCellRows<T>>)
      if (ctx.on_gpu())
        return ghosts == BoxGhosts::filled ? cuda::run_products<true, true, T>(ctx, rows, 1, {}, u, y)
                                           : cuda::run_products<false, true, T>(ctx, rows, 1, {}, u, y);
#endif
    for_each_node(ctx, all_nodes(y), ProductOfRows<Rows>{rows, u, y});
  });
}

template <class T>
bool BoxMatrix<T>::next_direction_on_gpu([[maybe_unused]] Context& ctx, [[maybe_unused]] FieldView<const T, 3> z,
                                         [[maybe_unused]] double beta, [[maybe_unused]] FieldView<const T, 3> p,
                                         [[maybe_unused]] FieldView<T, 3> next,
                                         [[maybe_unused]] FieldView<T, 3> y) const {
#if defined(__CUDACC__)
  if (const auto* cells = std::get_if<BoxCells<T>>(&any_); cells != nullptr && ctx.on_gpu() && !shape().is_slab()) {
    for_each_node(ctx, all_nodes(next), NextDirection<T>{z, p, beta, next});
    cuda::run_products<false, true, T>(ctx, cells->rows(), 1, {}, next, y, true);
    return true;
  }
#endif
  return false;
}

template class BoxCells<float>;
template class BoxCells<double>;
template class BoxBandsOf<BoxBandRows<float>>;
template class BoxBandsOf<BoxBandRows<double>>;
template class BoxBandsOf<BoxFullRows<float>>;
template class BoxBandsOf<BoxFullRows<double>>;
template BoxBandsOf<BoxBandRows<float>>::BoxBandsOf(Context&, const BoxBands<double>&);
template BoxBandsOf<BoxFullRows<float>>::BoxBandsOf(Context&, const BoxFullBands<double>&);
template BoxCells<float>::BoxCells(Context&, const BoxCells<double>&);
template BoxMatrix<float>::BoxMatrix(Context&, const BoxMatrix<double>&);
template class BoxMatrix<float>;
template class BoxMatrix<double>;

}  // namespace stratum
