#include <stratum/core/grid_operator.hpp>

#include <cmath>
#include <limits>

#include <stratum/core/blas.hpp>
#include <stratum/core/for_each_node.hpp>
#include <stratum/core/residual_row.hpp>

namespace stratum {

std::string_view to_string(OperatorForm form) {
  switch (form) {
    case OperatorForm::tensor: return "tensor";
    case OperatorForm::symmetric: return "symmetric";
    case OperatorForm::nine_band: return "nine-band";
  }
  return "unknown";
}

OperatorForm operator_form(std::string_view name) {
  for (const auto form : {OperatorForm::tensor, OperatorForm::symmetric, OperatorForm::nine_band})
    if (name == to_string(form)) return form;
  throw UsageError(message("unknown operator '", name, "'; known: tensor, symmetric, nine-band"));
}

namespace {

template <class View, class T>
struct Apply {
  View a;
  GridView<const T> x;
  GridView<T> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const { return a.sum(x, i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
};

template <class View, class T>
struct Residual {
  View a;
  GridView<const T> b, x;
  GridView<T> r;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const { return b(i, j) - a.sum(x, i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { r(i, j) = value; }
};

template <class View, class T>
STRATUM_SIMD_CLONES void write_residual_row(const View a, const GridView<const T> b, const GridView<const T> x,
                                            const GridView<T> r, int j) {
  residual_row<T>(
      a, b, x, j, 0, b.nx, [&r, j ](int i, T value) __attribute__((always_inline)) { r(i, j) = value; });
}

template <class View, class T>
struct DiagonalTimes {
  View a;
  GridView<const T> x;
  GridView<T> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    y(i, j) = a.template coefficient<0, 0>(i, j) * x(i, j);
  }
};

template <class View, class T>
struct Diagonal {
  View a;
  GridView<T> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    d(i, j) = a.template coefficient<0, 0>(i, j);
  }
};

template <class To, class From>
Vector<To> convert_checked(Context& ctx, const Vector<From>& from) {
  Vector<To> to(ctx, from.shape());
  const double largest = norm_max(ctx, from.cview());
  expects(largest <= static_cast<double>(std::numeric_limits<To>::max()), "a coefficient of size ", largest,
          " does not fit the precision of the operator, which ends at ",
          static_cast<double>(std::numeric_limits<To>::max()), "; use double");
  copy(ctx, from.cview(), to.view());
  return to;
}

template <class To, class From>
TensorOperator<To> convert_storage(Context& ctx, const TensorOperator<From>& a) {
  TensorOperator<To> c;
  c.grid = a.grid;
  c.kx = convert_checked<To>(ctx, a.kx);
  c.mx = convert_checked<To>(ctx, a.mx);
  c.ky = convert_checked<To>(ctx, a.ky);
  c.my = convert_checked<To>(ctx, a.my);
  return c;
}

template <class To, class From>
SymmetricNineBand<To> convert_storage(Context& ctx, const SymmetricNineBand<From>& a) {
  SymmetricNineBand<To> c;
  for (std::size_t k = 0; k < a.band.size(); ++k) c.band[k] = convert_checked<To>(ctx, a.band[k]);
  return c;
}

template <class To, class From>
NineBandMatrix<To> convert_storage(Context& ctx, const NineBandMatrix<From>& a) {
  NineBandMatrix<To> c;
  for (std::size_t k = 0; k < a.band.size(); ++k) c.band[k] = convert_checked<To>(ctx, a.band[k]);
  return c;
}

}  // namespace

template <class T>
void GridOperator<T>::apply(Context& ctx, GridView<const T> x, GridView<T> y) const {
  exchange(ctx, x);
  visit([&](const auto& a) { for_each_node(ctx, all_nodes(y), Apply<std::decay_t<decltype(a)>, T>{a, x, y}); });
}

template <class T>
void GridOperator<T>::residual(Context& ctx, GridView<const T> b, GridView<const T> x, GridView<T> r) const {
  exchange(ctx, x);
  visit([&](const auto& a) {
    using View = std::decay_t<decltype(a)>;
    if (ctx.on_gpu()) return for_each_node(ctx, all_nodes(r), Residual<View, T>{a, b, x, r});
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (r.nodes() > serial_limit)
    for (int j = 0; j < r.ny; ++j) write_residual_row<View, T>(a, b, x, r, j);
  });
}

template <class T>
double GridOperator<T>::rounding_level(Context& ctx, GridView<const T> x) const {
  Vector<T> dx(ctx, x.shape());
  visit([&](const auto& a) {
    for_each_node(ctx, all_nodes(x), DiagonalTimes<std::decay_t<decltype(a)>, T>{a, x, dx.view()});
  });
  return static_cast<double>(std::numeric_limits<T>::epsilon()) * norm2(ctx, dx.cview());
}

template <class To, class From>
GridOperator<To> convert(Context& ctx, const GridOperator<From>& a) {
  return std::visit([&](const auto& s) { return GridOperator<To>(convert_storage<To>(ctx, s)); }, a.storage());
}

template <class T>
void diagonal(Context& ctx, const GridOperator<T>& a, GridView<T> d) {
  a.visit([&](const auto& v) { for_each_node(ctx, all_nodes(d), Diagonal<std::decay_t<decltype(v)>, T>{v, d}); });
}

template class GridOperator<float>;
template class GridOperator<double>;
template GridOperator<float> convert(Context&, const GridOperator<double>&);
template GridOperator<double> convert(Context&, const GridOperator<double>&);
template GridOperator<double> convert(Context&, const GridOperator<float>&);
template void diagonal(Context&, const GridOperator<float>&, GridView<float>);
template void diagonal(Context&, const GridOperator<double>&, GridView<double>);

}  // namespace stratum
