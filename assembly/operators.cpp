#include <stratum/assembly/operators.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <stratum/assembly/boundary_terms.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

CellTensor cell_tensor(const TensorMesh<2>& mesh, const CellCoefficients& cells) {
  const Axis &x = mesh.x(), &y = mesh.y();
  // What scalar K is stored as must neither vanish nor overflow in float: thin cells keep p and q.
  const auto [least, most] = std::minmax_element(cells.xx.begin(), cells.xx.end());
  const double hx_least = *std::min_element(x.widths().begin(), x.widths().end()),
               hy_least = *std::min_element(y.widths().begin(), y.widths().end()),
               smallest = hx_least * hy_least * *least / 6;
  const bool fits = std::min(hx_least, hy_least) > 1e-18 && smallest > 1e-30 && *most < 1e30;
  return !cells.xy.empty()                           ? CellTensor::full
         : cells.is_scalar() && (fits || *most == 0) ? CellTensor::scalar
                                                     : CellTensor::diagonal;
}

namespace {

/// What intervals contribute, from the one before node `first` (global) on; nodes before and behind it belong to other
/// subdomains.
struct Factors {
  std::vector<double> k, m;
};

/// Weights of a coefficient, a number an interval: ones where there are none.
using Weights = std::vector<double>;

/// k = 1 / h and m = h / 6 of the intervals beside `count` nodes, weighted, and one more at both ends. Beyond a Neumann or
/// Robin boundary lies one without length: k = alpha, m = 0.
Factors one_dimensional_factors(const Axis& line, int first, int count, double alpha_first, double alpha_last,
                                const Weights& of_k = {}, const Weights& of_m = {}) {
  Factors factors;
  const auto weight = [](const Weights& weights, int interval) {
    return weights.empty() ? 1.0 : weights[static_cast<std::size_t>(interval)];
  };
  for (int e = -1; e <= count + 1; ++e) {
    int before = first - 1 + e;
    if (line.is_periodic()) before = (before + line.size()) % line.size();
    if (before < -1 || before > line.size()) {
      factors.k.push_back(0);
      factors.m.push_back(0);
    } else if (before < 0 || before == line.size()) {
      factors.k.push_back(before < 0 ? alpha_first : alpha_last);
      factors.m.push_back(0);
    } else {
      const double h = line.widths()[static_cast<std::size_t>(before)];
      factors.k.push_back(weight(of_k, before) / h);
      factors.m.push_back(weight(of_m, before) * h / 6);
    }
  }
  return factors;
}

/// All of them, those beyond the ends too: a Galerkin product reads one row of the subdomain below.
template <class T>
void put(Context& ctx, const std::vector<double>& numbers, Field<T>& to) {
  const std::vector<T> narrowed(numbers.begin(), numbers.end());
  copy_from_host(ctx, narrowed.data(), with_boundaries(to.view()));
}

/// An interval's c m [2 1; 1 2] is -c m [1 -1; -1 1], which goes to k, and 3 c m at both nodes, which goes to e.
template <class T>
void fold_reaction(Context& ctx, double c, Factors factors, Field<T>& to_k, Field<T>& to_e) {
  std::vector<double> e(factors.m.size() - 1);
  for (std::size_t i = 0; i < factors.k.size(); ++i) factors.k[i] -= c * factors.m[i];
  for (std::size_t i = 0; i < e.size(); ++i) e[i] = 3 * c * (factors.m[i] + factors.m[i + 1]);
  put(ctx, factors.k, to_k);
  put(ctx, e, to_e);
}

/// Kx (x) My has the weights of kxx, Mx (x) Ky those of kyy, and the reaction term those of both masses.
TensorOperator<double> tensor_operator(Context& ctx, const TensorMesh<2>& mesh, const OperatorTerms& terms,
                                       const GridLayout<2>& shape, const SeparableCoefficients& weights = {}) {
  // Neumann or Robin boundaries want the terms of a reaction, too, where these are zero: line solves take more care with that
  // kind of operator.
  const auto neumann = [](const Axis& line) {
    return line.first_boundary() == BoundaryType::neumann || line.last_boundary() == BoundaryType::neumann;
  };
  const bool reaction = terms.reaction > 0 || neumann(mesh.x()) || neumann(mesh.y());
  TensorOperator<double> a(ctx, shape, reaction);
  const auto x = one_dimensional_factors(mesh.x(), shape.origin_x, shape.nx, terms.left.constant, terms.right.constant,
                                         weights.x.xx, weights.x.yy);
  const auto y = one_dimensional_factors(mesh.y(), shape.origin_y, shape.ny, terms.bottom.constant, terms.top.constant,
                                         weights.y.yy, weights.y.xx);
  put(ctx, x.k, a.kx);
  put(ctx, x.m, a.mx);
  put(ctx, y.k, a.ky);
  put(ctx, y.m, a.my);
  if (!reaction) return a;
  put(ctx, y.k, a.column_ky);
  fold_reaction(ctx, terms.reaction, x, a.column_kx, a.column_e);
  fold_reaction(ctx, terms.reaction, y, a.ky, a.e);
  return a;
}

/// Writes one band of a tensor operator; a coefficient that reaches across a side of the grid is zero.
template <int dx, int dy, class View, class T>
struct FillBand {
  View a;
  GridLayout<2> grid;
  FieldView<T> band;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    band(i, j) = couples(grid, i + dx, j + dy) ? static_cast<T>(a.template coefficient<dx, dy>(i, j)) : T(0);
  }
};

template <class Bands, class Format, int... k>
void fill_bands(Context& ctx, const Format& a, Bands& bands, std::integer_sequence<int, k...> /*all*/) {
  const auto fill = [&](const auto& view, auto dx, auto dy, auto& band) {
    using View = std::decay_t<decltype(view)>;
    using Fill = FillBand<decltype(dx)::value, decltype(dy)::value, View, std::decay_t<decltype(*band.view().data)>>;
    for_each_node(ctx, all_nodes(band.view()), Fill{view, band.shape(), band.view()});
    exchange(ctx, band);
  };
  a.visit([&](const auto& view) {
    (fill(view, std::integral_constant<int, Bands::dx(k)>{}, std::integral_constant<int, Bands::dy(k)>{},
          bands.band[static_cast<std::size_t>(k)]),
     ...);
  });
}

/// Of a storage format that stores none.
template <class Bands, class Format>
Bands bands_of(Context& ctx, const Format& a) {
  Bands bands(ctx, a.shape());
  fill_bands(ctx, a, bands, std::make_integer_sequence<int, Bands::coefficient_words>{});
  return bands;
}

/// 1 / h, h / 6 and their products, the entries, must all be numbers of T.
template <class T>
void check_range(const TensorMesh<2>& mesh) {
  const double smallest = mesh.smallest_width();
  const double largest = std::max(*std::max_element(mesh.x().widths().begin(), mesh.x().widths().end()),
                                  *std::max_element(mesh.y().widths().begin(), mesh.y().widths().end()));
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min()),
                   high = static_cast<double>(std::numeric_limits<T>::max());
  const bool fits = 16 * largest < high && 8 / smallest < high && 8 / smallest * std::max(largest, 1.0) < high &&
                    smallest / 6 > low && 1 / largest > low;
  expects(fits, "interval widths from ", smallest, " to ", largest, " on mesh ", mesh.name(), " leave the range of ",
          sizeof(T) == 4 ? "float; use double precision" : "double; use a coarser level");
}

template <class T>
GridOperator<T> in_precision(Context& ctx, GridOperator<double> a) {
  if constexpr (std::is_same_v<T, double>)
    return a;
  else
    return convert<T>(ctx, a);
}

/// first = factor second, to rounding: the factor.
std::optional<double> ratio(const Weights& first, const Weights& second) {
  const double factor = first.front() / second.front();
  for (std::size_t k = 0; k < first.size(); ++k)
    if (!(std::abs(first[k] - factor * second[k]) <= 1e-13 * std::abs(first[k]))) return std::nullopt;
  return factor;
}

std::optional<double> constant_of(const Weights& weights) { return ratio(weights, Weights(weights.size(), 1.0)); }

/// The terms that a tensor operator with these weights is to be given; nothing where it cannot hold them: a reaction term folds
/// into both others, an alpha counts for the whole side alike.
std::optional<OperatorTerms> tensor_terms(const SeparableCoefficients& k, OperatorTerms terms) {
  if (terms.varies()) return std::nullopt;
  if (!k.x.c.empty()) {
    const auto in_x = ratio(k.x.c, k.x.yy), in_y = ratio(k.y.c, k.y.xx);
    if (!in_x || !in_y) return std::nullopt;
    terms.reaction = *in_x * *in_y;
  }
  const auto divide = [](RobinCoefficient& alpha, const Weights& along) {
    if (alpha.is_zero()) return true;
    const auto weight = constant_of(along);
    if (weight) alpha.constant /= *weight;
    return weight.has_value();
  };
  if (!divide(terms.left, k.y.xx) || !divide(terms.right, k.y.xx) || !divide(terms.bottom, k.x.yy) ||
      !divide(terms.top, k.x.yy))
    return std::nullopt;
  return terms;
}

/// The interval before an unknown, of a line of n; -1 or n beyond a side.
struct IntervalBefore {
  int first, n;
  bool periodic;
  /// Unknown 0 has this global number.
  IntervalBefore(const Axis& line, int origin) : first(origin - 1), n(line.size()), periodic(line.is_periodic()) {}
  STRATUM_HOST_DEVICE STRATUM_INLINE int operator()(int unknown) const {
    const int before = unknown + first;
    return periodic ? (before + n) % n : before;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool inside(int number) const { return number >= 0 && number < n; }
};

/// Cell (i, j) of an operator.
struct FillCells {
  CellFieldsView cells;
  IntervalBefore x, y;
  bool scalar;
  double left, right, bottom, top;  // alpha
  FieldView<double> k[3], m;        // null where there is none
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int column = x(i), row = y(j);
    const bool in_x = x.inside(column), in_y = y.inside(row), inside = in_x && in_y;
    const double hx = in_x ? cells.hx[column] : 0, hy = in_y ? cells.hy[row] : 0;
    const double xx = inside ? cells.kxx(column, row) : 0;
    if (scalar) {
      k[0](i, j) = xx * hx * hy / 6;
    } else {
      k[0](i, j) = inside ? xx * hy / (6 * hx) : 0;
      k[1](i, j) = inside ? cells.kyy(column, row) * hx / (6 * hy) : 0;
      if (k[2].data != nullptr) k[2](i, j) = inside ? cells.kxy(column, row) / 2 : 0;
    }
    if (m.data == nullptr) return;
    double mass = 0;
    if (inside)
      mass = cells.reaction(column, row) * hx * hy / 36;
    else if (in_y)
      mass = (column < 0 ? left : right) * hy / 12;
    else if (in_x)
      mass = (row < 0 ? bottom : top) * hx / 12;
    m(i, j) = mass;
  }
};

/// Into the memory of a.
void fill_cells(Context& ctx, const TensorMesh<2>& mesh, const CellFields& cells, const OperatorTerms& terms,
                ElementOperator<double>& a) {
  if (ctx.is_dry_run()) return;
  const IntervalBefore x(mesh.x(), a.grid.origin_x), y(mesh.y(), a.grid.origin_y);
  const auto to = a.k[0].view();
  const auto part = [](Field<double>& numbers) { return numbers.empty() ? FieldView<double>() : numbers.view(); };
  for_each_node(ctx, {0, to.nx, 1, a.first_row(), to.ny, 1},
                FillCells{cells.view(),
                          x,
                          y,
                          a.tensor == CellTensor::scalar,
                          terms.left.constant,
                          terms.right.constant,
                          terms.bottom.constant,
                          terms.top.constant,
                          {to, part(a.k[1]), part(a.k[2])},
                          part(a.m)});
  if (a.tensor != CellTensor::scalar) return ctx.synchronise();  // the fields may be gone before the stream is here
  const auto squares = [&ctx](const Axis& line, const IntervalBefore& interval, int first,
                              FieldView<double> reciprocals) {
    std::vector<double> numbers(static_cast<std::size_t>(reciprocals.nx), 0.0);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (const int number = interval(static_cast<int>(i) + first); interval.inside(number)) {
        const double h = line.widths()[static_cast<std::size_t>(number)];
        numbers[i] = 1 / (h * h);
      }
    copy_from_host(ctx, numbers.data(), reciprocals);
  };
  const auto parts = a.parts();
  squares(mesh.x(), x, 0, parts[4]);
  squares(mesh.y(), y, a.first_row(), parts[5]);
}

ElementOperator<double> cell_operator(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& cells,
                                      const CellFields& fields, const OperatorTerms& terms,
                                      const GridLayout<2>& shape) {
  const bool reaction = !cells.c.empty() || terms.reaction > 0 || !terms.left.is_zero() || !terms.right.is_zero() ||
                        !terms.bottom.is_zero() || !terms.top.is_zero();
  ElementOperator<double> a(ctx, shape, cell_tensor(mesh, cells), reaction);
  fill_cells(ctx, mesh, fields, terms, a);
  return a;
}

/// K = 1
CellCoefficients unit_coefficients(const TensorMesh<2>& mesh) {
  return {
      mesh.x().size(), mesh.y().size(), std::vector<double>(static_cast<std::size_t>(mesh.cells()), 1.0), {}, {}, {}};
}

}  // namespace

GridOperator<double> assemble_diffusion(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& k,
                                        const OperatorTerms& terms) {
  return assemble_diffusion(ctx, mesh, k, CellFields(ctx, mesh, k, terms.reaction), terms, mesh.unknowns());
}

GridOperator<double> assemble_diffusion(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& k,
                                        const CellFields& fields, const OperatorTerms& terms,
                                        const GridLayout<2>& subdomain) {
  check_range<double>(mesh);
  detail::check_terms(mesh, terms);
  expects(k.nx == mesh.x().size() && k.ny == mesh.y().size(), "the coefficients are of ", k.nx, " x ", k.ny,
          " cells, the mesh has ", mesh.x().size(), " x ", mesh.y().size());
  // One c: what a tensor operator makes of it depends on the weights of K as well.
  CellCoefficients all;
  OperatorTerms others = terms;
  if (terms.reaction > 0) {
    all = k;
    all.c.resize(all.xx.size(), 0.0);
    for (double& c : all.c) c += terms.reaction;
    others.reaction = 0;
  }
  if (const auto factors = separated(terms.reaction > 0 ? all : k))
    if (const auto held = tensor_terms(*factors, others)) return tensor_operator(ctx, mesh, *held, subdomain, *factors);
  ElementOperator<double> cells = cell_operator(ctx, mesh, k, fields, terms, subdomain);
  if (!terms.varies()) return GridOperator<double>(std::move(cells));
  return detail::with_boundaries(ctx, mesh, terms, bands_of<SymmetricNineBand<double>>(ctx, cells));
}

GridOperator<double> stored(Context& ctx, const GridOperator<double>& a, StorageFormat format) {
  expects(traits(format).has_bands, "a ", to_string(format), " operator stores no entries");
  return visit_storage_format<double>(format, [&](auto type) -> GridOperator<double> {
    using Bands = typename decltype(type)::type;
    if constexpr (Bands::View::has_bands)
      return std::visit([&](const auto& from) { return GridOperator<double>(bands_of<Bands>(ctx, from)); },
                        a.storage());
    else
      return {};
  });
}

template <class T>
void set_reaction(Context& ctx, const TensorMesh<2>& mesh, const OperatorTerms& terms, GridOperator<T>& a) {
  detail::check_terms(mesh, terms);
  auto* const tensor = std::get_if<TensorOperator<T>>(&a.storage());
  const GridLayout<2> shape = a.shape(), whole = mesh.unknowns();
  const bool part = shape.nx == whole.nx && shape.origin_x == whole.origin_x && shape.origin_y >= whole.origin_y &&
                    shape.origin_y + shape.ny <= whole.origin_y + whole.ny;
  expects(tensor != nullptr && tensor->has_reaction() && part,
          "another reaction term needs a tensor operator of the mesh that has one; given was a ", to_string(a.format()),
          " one on ", shape.nx, " x ", shape.ny, " unknowns");
  const auto x = one_dimensional_factors(mesh.x(), shape.origin_x, shape.nx, terms.left.constant, terms.right.constant);
  const auto y = one_dimensional_factors(mesh.y(), shape.origin_y, shape.ny, terms.bottom.constant, terms.top.constant);
  // Both e hold 3 c (h + h') / 6 of two intervals.
  const double longest = std::max(*std::max_element(x.m.begin(), x.m.end()), *std::max_element(y.m.begin(), y.m.end()));
  expects(6 * terms.reaction * longest < static_cast<double>(std::numeric_limits<T>::max()),
          "a reaction coefficient of ", terms.reaction, " leaves the range of ",
          sizeof(T) == 4 ? "float; use double precision" : "double");
  fold_reaction(ctx, terms.reaction, x, tensor->column_kx, tensor->column_e);
  fold_reaction(ctx, terms.reaction, y, tensor->ky, tensor->e);
}

GridOperator<double> assemble_mass(Context& ctx, const TensorMesh<2>& mesh, double capacity,
                                   const GridLayout<2>& subdomain) {
  OperatorTerms terms;
  terms.reaction = capacity;
  TensorOperator<double> a = tensor_operator(ctx, mesh, terms, subdomain);
  if (ctx.is_dry_run()) return GridOperator<double>(std::move(a));
  auto x = one_dimensional_factors(mesh.x(), a.grid.origin_x, a.grid.nx, 0, 0),
       y = one_dimensional_factors(mesh.y(), a.grid.origin_y, a.grid.ny, 0, 0);
  for (auto* factors : {&x, &y}) std::fill(factors->k.begin(), factors->k.end(), 0.0);
  put(ctx, x.k, a.kx);
  put(ctx, y.k, a.column_ky);
  fold_reaction(ctx, capacity, x, a.column_kx, a.column_e);
  fold_reaction(ctx, capacity, y, a.ky, a.e);
  return GridOperator<double>(std::move(a));
}

GridOperator<double> assemble_cells(Context& ctx, const TensorMesh<2>& mesh, const CellFields& fields,
                                    const OperatorTerms& terms, CellTensor tensor, StorageFormat format,
                                    const GridLayout<2>& subdomain) {
  check_range<double>(mesh);
  expects(!terms.varies() || traits(format).has_bands, "cells cannot hold an alpha that varies; store bands");
  ElementOperator<double> cells(ctx, subdomain, tensor, true);
  fill_cells(ctx, mesh, fields, terms, cells);
  if (format == StorageFormat::cell) return GridOperator<double>(std::move(cells));
  return detail::with_boundaries(ctx, mesh, terms, bands_of<SymmetricNineBand<double>>(ctx, cells));
}

void assign_cells(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& k, const CellFields& fields,
                  const OperatorTerms& terms, GridOperator<double>& a) {
  detail::check_terms(mesh, terms);
  if (auto* const cells = std::get_if<ElementOperator<double>>(&a.storage())) {
    expects(!terms.varies() && cells->tensor >= cell_tensor(mesh, k),
            "the operator cannot hold these coefficients: it was made for others");
    return fill_cells(ctx, mesh, fields, terms, *cells);
  }
  assign(ctx, assemble_cells(ctx, mesh, fields, terms, cell_tensor(mesh, k), StorageFormat::symmetric, a.shape()), a);
}

bool is_singular(const TensorMesh<2>& mesh, const OperatorTerms& terms) {
  const auto ends_are_free = [](const Axis& line) {
    return line.first_boundary() != BoundaryType::dirichlet && line.last_boundary() != BoundaryType::dirichlet;
  };
  return ends_are_free(mesh.x()) && ends_are_free(mesh.y()) && terms.reaction == 0 && terms.left.is_zero() &&
         terms.right.is_zero() && terms.bottom.is_zero() && terms.top.is_zero();
}

template <class T>
GridOperator<T> assemble_operator(Context& ctx, const TensorMesh<2>& mesh, StorageFormat format,
                                  const OperatorTerms& terms, const std::optional<GridLayout<2>>& subdomain) {
  check_range<T>(mesh);
  detail::check_terms(mesh, terms);
  expects(!terms.varies() || traits(format).has_bands, "a ", to_string(format),
          " operator cannot hold an alpha that varies along its boundary; store bands");
  const GridLayout<2> unknowns = subdomain.value_or(mesh.unknowns());
  TensorOperator<double> a = tensor_operator(ctx, mesh, terms, unknowns);
  return visit_storage_format<double>(format, [&](auto type) -> GridOperator<T> {
    using Format = typename decltype(type)::type;
    if constexpr (Format::View::is_separable) {
      return in_precision<T>(ctx, GridOperator<double>(std::move(a)));
    } else if constexpr (std::is_same_v<Format, ElementOperator<double>>) {
      const CellCoefficients ones = unit_coefficients(mesh);
      return in_precision<T>(ctx, GridOperator<double>(cell_operator(
                                      ctx, mesh, ones, CellFields(ctx, mesh, ones, terms.reaction), terms, unknowns)));
    } else {
      static_assert(Format::View::has_bands, "nothing assembles this storage format");
      if (!terms.varies()) return bands_of<typename Format::template In<T>>(ctx, a);
      return in_precision<T>(ctx,
                             GridOperator<double>(detail::with_boundaries(ctx, mesh, terms, bands_of<Format>(ctx, a))));
    }
  });
}

template GridOperator<float> assemble_operator(Context&, const TensorMesh<2>&, StorageFormat, const OperatorTerms&,
                                               const std::optional<GridLayout<2>>&);
template GridOperator<double> assemble_operator(Context&, const TensorMesh<2>&, StorageFormat, const OperatorTerms&,
                                                const std::optional<GridLayout<2>>&);
template void set_reaction(Context&, const TensorMesh<2>&, const OperatorTerms&, GridOperator<float>&);
template void set_reaction(Context&, const TensorMesh<2>&, const OperatorTerms&, GridOperator<double>&);

}  // namespace stratum
