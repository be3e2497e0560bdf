#include <stratum/core/operators/grid_operator.hpp>

#include <limits>
#include <string>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

StorageFormat storage_format(std::string_view name) {
  std::string known;
  for (const auto format : storage_formats) {
    if (name == to_string(format)) return format;
    known.append(known.empty() ? "" : ", ").append(to_string(format));
  }
  throw UsageError(message("unknown operator '", name, "'; known: ", known));
}

namespace {

template <class View, class T>
struct Diagonal {
  View a;
  FieldView<T> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    d(i, j) = a.template coefficient<0, 0>(i, j);
  }
};

template <class To, class From>
void copy_checked(Context& ctx, FieldView<const From> from, FieldView<To> to) {
  expects((from.data == nullptr) == (to.data == nullptr), "an operator has a term that the other one lacks");
  if (from.data == nullptr) return;
  const double largest = norm_max(ctx, from);
  expects(largest <= static_cast<double>(std::numeric_limits<To>::max()), "a coefficient of size ", largest,
          " does not fit the precision of the operator, which ends at ",
          static_cast<double>(std::numeric_limits<To>::max()),
          "; compute in double precision (--precision double; in Python single_precision=False)");
  copy(ctx, from, to);
}

}  // namespace

template <class To, class From>
void assign(Context& ctx, const GridOperator<From>& from, GridOperator<To>& to) {
  const GridLayout<2> f = from.shape(), t = to.shape();
  const auto* nine = std::get_if<NineBandMatrix<From>>(&from.storage());
  auto* five = nine != nullptr ? std::get_if<SymmetricNineBand<To>>(&to.storage()) : nullptr;
  expects((from.format() == to.format() || five != nullptr) && f.nx == t.nx && f.ny == t.ny, "a ",
          to_string(to.format()), " operator on ", t.nx, " x ", t.ny, " nodes cannot take the coefficients of a ",
          to_string(from.format()), " one on ", f.nx, " x ", f.ny);
  if (five != nullptr) {
    constexpr std::size_t first = SymmetricNineBand<To>::first;
    for (std::size_t k = 0; k < five->band.size(); ++k) {
      copy_checked<To, From>(ctx, nine->band[first + k].cview(), five->band[k].view());
      exchange(ctx, five->band[k]);
    }
  } else {
    std::visit(
        [&](const auto& source) {
          using Format = typename std::decay_t<decltype(source)>::template In<To>;
          const auto given = source.parts();
          auto taken = std::get<Format>(to.storage()).parts();
          for (std::size_t k = 0; k < given.size(); ++k) {
            copy_checked<To, From>(ctx, given[k], taken[k]);
            if (Format::View::has_bands) exchange(ctx, t, taken[k]);
          }
        },
        from.storage());
  }
  ctx.synchronise();  // kernels may read coefficients before those that came before have ended
}

template <class To, class From>
GridOperator<To> convert(Context& ctx, const GridOperator<From>& a, bool symmetric) {
  const auto like = [&](const auto& source) {
    if constexpr (std::is_same_v<std::decay_t<decltype(source)>, NineBandMatrix<From>>)
      if (symmetric) return GridOperator<To>(SymmetricNineBand<To>(ctx, a.shape()));
    return GridOperator<To>(source.template make_like<To>(ctx));
  };
  GridOperator<To> c = std::visit(like, a.storage());
  assign(ctx, a, c);
  return c;
}

template <class T>
void diagonal(Context& ctx, const GridOperator<T>& a, FieldView<T> d) {
  expects_fit(ctx, "the diagonal", d, a.shape());
  a.visit([&](const auto& v) { for_each_node(ctx, all_nodes(d), Diagonal<std::decay_t<decltype(v)>, T>{v, d}); });
}

template GridOperator<float> convert(Context&, const GridOperator<double>&, bool);
template GridOperator<double> convert(Context&, const GridOperator<double>&, bool);
template GridOperator<double> convert(Context&, const GridOperator<float>&, bool);
template void assign(Context&, const GridOperator<double>&, GridOperator<float>&);
template void assign(Context&, const GridOperator<double>&, GridOperator<double>&);
template void assign(Context&, const GridOperator<float>&, GridOperator<double>&);
template void diagonal(Context&, const GridOperator<float>&, FieldView<float>);
template void diagonal(Context&, const GridOperator<double>&, FieldView<double>);

}  // namespace stratum
