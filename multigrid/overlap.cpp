#include <stratum/multigrid/overlap.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/reduce.hpp>

namespace stratum {

namespace {

/// Rows of column i, from a cut on, that an error takes to die that comes from their other end; one more than `rows` where
/// these are too few.
template <class View>
struct Depth {
  View a;
  int ny, rows;
  bool at_top;  // the cut
  double bound;

  STRATUM_HOST_DEVICE STRATUM_INLINE static double size(double value) { return value < 0 ? -value : value; }
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int /*row*/) const {
    double left = 1, g = 0;
    for (int k = 0; k < rows; ++k) {
      const int j = at_top ? ny - 1 - k : k;
      const double south = a.template coefficient<0, -1>(i, j), north = a.template coefficient<0, 1>(i, j),
                   own = a.template coefficient<0, 0>(i, j);
      const double outward = at_top ? south : north, inward = at_top ? north : south;
      // What lies beyond the cut is not here: at worst it is as large as this row.
      const double pivot = k == 0 ? own - size(inward) : own + inward * g;
      g = pivot > 0 ? -outward / pivot : 1.0;
      left *= size(g);
      if (left < bound) return k + 1;
    }
    return rows + 1;
  }
};

/// Rows beside a cut at the top or the bottom of a subdomain that reach the bound; more than `most` where they do not.
template <class T>
int depth(Context& ctx, const GridOperator<T>& a, bool at_top, int most, double bound) {
  Context alone = ctx.alone();
  const GridLayout<2> shape = a.shape();
  return a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    return static_cast<int>(largest_of(alone, shape.nx, 1, Depth<View>{view, shape.ny, most, at_top, bound}));
  });
}

/// A factor of one direction as rows of one number.
template <class T>
FieldView<T> as_rows(FieldView<T> factor) {
  factor.ny = factor.nx;
  factor.nx = 1;
  factor.pitch = 1;
  return factor;
}

}  // namespace

template <class T>
std::optional<std::vector<OverlapRows>> overlap_rows(Context& ctx, Communicator& communicator, const GridOperator<T>& a,
                                                     const typename Smoother<T>::Reach& reach,
                                                     const OverlapWish& wish) {
  const GridLayout<2> subdomain = a.shape();
  const int most = static_cast<int>(wish.share * subdomain.ny);
  // What the subdomain beyond a cut is to have of this one's rows.
  const auto wanted = [&](bool there, bool at_top) {
    const int least = reach.rows + 2;
    if (!there) return 0;
    if (!reach.along_y_lines || least > most) return least;
    return least + static_cast<int>(std::ceil(1.3 * depth(ctx, a, at_top, most, wish.bound)));
  };
  struct Wish {
    int to_below, to_above, most;
  };
  const auto all =
      communicator.gather_on_host(Wish{wanted(subdomain.below, false), wanted(subdomain.above, true), most});
  std::vector<OverlapRows> rows(all.size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Wish &below = all[(r + all.size() - 1) % all.size()], &above = all[(r + 1) % all.size()];
    rows[r] = {below.to_above, above.to_below};
    if (rows[r].below > std::min(all[r].most, below.most) || rows[r].above > std::min(all[r].most, above.most))
      return std::nullopt;
  }
  return rows;
}

template <class T>
Overlap<T>::Overlap(Context& ctx, const GridOperator<T>& own, const std::vector<OverlapRows>& rows)
    : rows_(rows), subdomain_(own.shape()), shape_(subdomain_) {
  const auto size = rows.size(), rank = static_cast<std::size_t>(ctx.communicator()->rank());
  taken_ = rows.at(rank);
  given_ = {rows[(rank + size - 1) % size].above, rows[(rank + 1) % size].below};
  shape_.ny += taken_.below + taken_.above;
  shape_.origin_y -= taken_.below;
  shape_.below = shape_.above = shape_.periodic_y = false;
  a_ = std::visit(
      [&](const auto& format) -> GridOperator<T> {
        using Format = std::decay_t<decltype(format)>;
        if constexpr (std::is_same_v<Format, TensorOperator<T>>)
          return Format(ctx, shape_, format.has_reaction());
        else if constexpr (std::is_same_v<Format, ElementOperator<T>>)
          return Format(ctx, shape_, format.tensor, format.has_reaction());
        else
          return Format(ctx, shape_);
      },
      own.storage());
  set_up(ctx, own);
}

template <class T>
void Overlap<T>::set_up(Context& ctx, const GridOperator<T>& own) {
  if (ctx.is_dry_run()) return;
  std::visit([&](const auto& format) { extend(ctx, format, std::get<std::decay_t<decltype(format)>>(a_.storage())); },
             own.storage());
  ctx.synchronise();  // kernels may read coefficients before those that came before have ended
}

template <class T>
FieldView<T> Overlap<T>::own(FieldView<T> all) const {
  FieldView<T> rows = all;
  rows.data += taken_.below * all.pitch;
  rows.ny = subdomain_.ny;
  return rows;
}

template <class T>
void Overlap<T>::fetch(Context& ctx, FieldView<T> all) const {
  // Rows with the columns beside them.
  exchange_rows(ctx, &all(-1, taken_.below), all.pitch, 0);
}

template <class T>
void Overlap<T>::exchange_rows(Context& ctx, T* first, std::int64_t pitch, int more) const {
  const auto row = [&](int j) { return first + j * pitch; };
  const auto bytes = [&](int count) {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(pitch) * sizeof(T);
  };
  Communicator::Rows rows;
  if (subdomain_.below) {
    rows.to_below = row(more);
    rows.from_below = row(-taken_.below);
    rows.bytes.to_below = bytes(given_.below);
    rows.bytes.from_below = bytes(taken_.below);
  }
  if (subdomain_.above) {
    rows.to_above = row(subdomain_.ny - given_.above);
    rows.from_above = row(subdomain_.ny + more);
    rows.bytes.to_above = bytes(given_.above);
    rows.bytes.from_above = bytes(taken_.above);
  }
  ctx.communicator()->exchange(ctx, rows);
}

template <class T>
void Overlap<T>::put(Context& ctx, FieldView<const T> from, FieldView<T> to, int more, int column) const {
  if (from.data == nullptr) return;
  to.data += taken_.below * to.pitch;
  to.ny = from.ny;
  copy(ctx, from, to);
  exchange_rows(ctx, &to(column, 0), to.pitch, more);
}

template <class T>
void Overlap<T>::extend(Context& ctx, const TensorOperator<T>& own, TensorOperator<T>& all) const {
  const auto from = own.parts();
  const auto to = all.parts();
  // kx, mx, column_kx and column_e with what lies beyond their ends
  for (const std::size_t k : {0U, 1U, 5U, 7U})
    if (from[k].data != nullptr) copy(ctx, from[k], to[k]);
  const auto along_y = [&](const Field<T>& given, Field<T>& taken, int more) {
    if (!given.empty()) put(ctx, as_rows(given.cview()), as_rows(taken.view()), more, 0);
  };
  along_y(own.ky, all.ky, 1);
  along_y(own.my, all.my, 1);
  along_y(own.column_ky, all.column_ky, 1);
  along_y(own.e, all.e, 0);
}

template <class T>
void Overlap<T>::extend(Context& ctx, const ElementOperator<T>& own, ElementOperator<T>& all) const {
  const auto cells = [&](const Field<T>& given, Field<T>& taken) {
    if (!given.empty()) put(ctx, given.cview(), taken.view(), 1, -1);
  };
  for (std::size_t k = 0; k < own.k.size(); ++k) cells(own.k[k], all.k[k]);
  cells(own.m, all.m);
  if (own.rx2.empty()) return;
  copy(ctx, own.rx2.cview(), all.rx2.view());
  put(ctx, as_rows(own.ry2.cview()), as_rows(all.ry2.view()), 1, 0);
}

template <class T>
template <class Bands>
void Overlap<T>::extend(Context& ctx, const Bands& own, Bands& all) const {
  Context alone = ctx.alone();
  const auto from = own.parts();
  const auto to = all.parts();
  for (std::size_t k = 0; k < from.size(); ++k) {
    put(ctx, from[k], to[k], 0, -1);
    // Nothing reaches beyond the rows that are here.
    const int dy = Bands::dy(static_cast<int>(k));
    FieldView<T> end = to[k];
    end.ny = 1;
    if (dy > 0) end.data += (shape_.ny - 1) * end.pitch;
    if ((dy < 0 && subdomain_.below) || (dy > 0 && subdomain_.above)) set(ctx, T(0), end);
    exchange(alone, shape_, to[k]);
  }
}

template class Overlap<float>;
template class Overlap<double>;
#define STRATUM_INSTANTIATE(T)                                                                                   \
  template std::optional<std::vector<OverlapRows>> overlap_rows(Context&, Communicator&, const GridOperator<T>&, \
                                                                const Smoother<T>::Reach&, const OverlapWish&);
STRATUM_INSTANTIATE(float)
STRATUM_INSTANTIATE(double)
#undef STRATUM_INSTANTIATE

}  // namespace stratum
