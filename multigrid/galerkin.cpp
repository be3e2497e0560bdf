#include <stratum/multigrid/galerkin.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/reduce.hpp>
#include <stratum/multigrid/transfer/by_cells.hpp>

namespace stratum {

namespace {

/// One direction of the product at coarse node I. Three fine nodes belong to it, 2 I (global) and its neighbours, each with
/// a row of three coefficients:
///
///     fine          2I-2    2I-1    2I      2I+1    2I+2
///     coarse        I-1             I               I+1
///     weight of I    0      inner[0]  1     inner[1]  0
///     of the other   1      outer[0]        outer[1]  1
///
/// Without coarsening the outer neighbours take all: inner = 0, outer = 1.
struct Collapse {
  TransferView<double> transfer;
  int centre, reach = 0;
  double inner[2] = {0, 0}, outer[2] = {1, 1};

  STRATUM_HOST_DEVICE STRATUM_INLINE Collapse(const TransferView<double>& t, int i) : transfer(t), centre(i) {
    if (t.left == nullptr) return;
    const int node = i + t.coarse_origin;
    centre = 2 * node - t.origin;
    reach = 1;
    inner[0] = t.right[node - 1];
    outer[0] = t.left[node - 1];
    inner[1] = t.left[node];
    outer[1] = t.right[node];
  }
  /// Of the fine nodes that belong to it; none: there is none. The halo of a subdomain is one.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int fine(int p, int nodes, bool below) const {
    if (reach == 0) return centre;
    if (below && centre + p == -1) return -1;
    const int node = fine_node(transfer.periodic, centre + p, nodes);
    return node >= 0 ? node : none;
  }
  static constexpr int none = -2;

  /// c[p + 1][d + 1]: coefficient at fine node p towards fine node p + d; to[D + 1]: towards coarse node I + D.
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(const double (&c)[3][3], double (&to)[3]) const {
    to[0] = inner[0] * (c[0][0] + outer[0] * c[0][1]) + outer[0] * c[1][0];
    to[1] = inner[0] * (inner[0] * c[0][1] + c[0][2] + c[1][0]) + c[1][1] +
            inner[1] * (inner[1] * c[2][1] + c[2][0] + c[1][2]);
    to[2] = outer[1] * c[1][2] + inner[1] * (outer[1] * c[2][1] + c[2][2]);
  }
};

/// Coefficients of row dy at a node.
template <int dy, class View>
STRATUM_HOST_DEVICE STRATUM_INLINE void read_row(const View& a, int i, int j, double (&row)[3]) {
  row[0] = a.template coefficient<-1, dy>(i, j);
  row[1] = a.template coefficient<0, dy>(i, j);
  row[2] = a.template coefficient<1, dy>(i, j);
}

/// Bands from `first` on (0: all nine, 4: the upper five) at one coarse node.
template <int first, class View>
struct GalerkinNode {
  View a;
  TransferView<double> x, y;
  int fine_nx, fine_ny;
  bool below;  // another subdomain
  GridLayout<2> coarse;
  FieldView<double> band[9 - first];

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const Collapse along_x(x, i), along_y(y, j);
    double rows[3][3][3] = {};  // by coarse direction in x, fine row, fine direction in y
    for (int q = -along_y.reach; q <= along_y.reach; ++q) {
      const int row = along_y.fine(q, fine_ny, below);
      if (row == Collapse::none) continue;
      double c[3][3][3] = {};  // by fine direction in y, fine column, fine direction in x
      for (int p = -along_x.reach; p <= along_x.reach; ++p) {
        const int column = along_x.fine(p, fine_nx, false);
        if (column == Collapse::none) continue;
        // Five coarse bands need no coefficient towards the row before the halo, which is not here.
        if (first == 0 || row >= 0) read_row<-1>(a, column, row, c[0][p + 1]);
        read_row<0>(a, column, row, c[1][p + 1]);
        read_row<1>(a, column, row, c[2][p + 1]);
      }
      for (int d = 0; d < 3; ++d) {
        double to[3];
        along_x(c[d], to);
        for (int k = 0; k < 3; ++k) rows[k][q + 1][d] = to[k];
      }
    }
    for (int dx = -1; dx <= 1; ++dx) {
      double to[3];
      along_y(rows[dx + 1], to);
      for (int dy = -1; dy <= 1; ++dy) {
        const int k = band_index(dx, dy) - first;
        if (k < 0) continue;
        band[k](i, j) = couples(coarse, i + dx, j + dy) ? to[dy + 1] : 0.0;
      }
    }
  }
};

/// The same with weights by coarse cells: the rows of P^T A at the fine nodes up to two lines away, then the columns of P.
template <int first, class View>
struct WeightedGalerkinNode {
  View a;
  WeightsView<const double> w;
  int fine_nx, fine_ny;
  bool below, above;  // other subdomains
  GridLayout<2> coarse;
  FieldView<double> band[9 - first];

  /// As fine_node; rows of other subdomains are numbered on.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int fine_row(int j) const {
    return (below && j < 0) || (above && j >= fine_ny) ? j : fine_node(w.periodic_y, j, fine_ny);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool has_row(int j) const {
    return (below && j < 0) || fine_row(j) >= 0;
  }
  /// Adds t times the row of P at the fine node p columns and q rows from coarse node (I, J).
  STRATUM_HOST_DEVICE STRATUM_INLINE void spread(double t, int column, int row, int p, int q,
                                                 double (&to)[5][5]) const {
    const bool odd_x = w.west != nullptr && p % 2 != 0, odd_y = w.south != nullptr && q % 2 != 0;
    const int dx = w.west == nullptr ? p : odd_x ? (p < 0 ? -1 : 0) : p / 2;
    const int dy = w.south == nullptr ? q : odd_y ? (q < 0 ? -1 : 0) : q / 2;
    const std::int64_t at = w.at(column + dx, row + dy);
    double* const lower = &to[dy + 2][dx + 2];
    double* const upper = &to[dy + 3][dx + 2];
    if (odd_x && odd_y) {
      lower[0] += t * w.sw[at];
      lower[1] += t * w.se[at];
      upper[0] += t * w.nw[at];
      upper[1] += t * w.ne[at];
    } else if (odd_x) {
      lower[0] += t * w.west[at];
      lower[1] += t * (1 - w.west[at]);
    } else if (odd_y) {
      lower[0] += t * w.south[at];
      upper[0] += t * (1 - w.south[at]);
    } else {
      lower[0] += t;
    }
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int column = i + w.origin_x, row = j + w.coarse_origin_y;
    const int reach_x = w.west != nullptr ? 1 : 0, reach_y = w.south != nullptr ? 1 : 0;
    const int centre_x = reach_x == 0 ? i : 2 * column - w.origin_x;
    const int centre_y = reach_y == 0 ? j : 2 * row - w.origin_y;
    double t[5][5] = {};
    for (int q = -reach_y; q <= reach_y; ++q) {
      if (!has_row(centre_y + q)) continue;
      const int y = fine_row(centre_y + q);
      for (int p = -reach_x; p <= reach_x; ++p) {
        const int x = fine_node(w.periodic_x, centre_x + p, fine_nx);
        if (x < 0) continue;
        const double weight = by_cells::weight(w, column, row, p, q);
        double c[3][3] = {};
        // As above.
        if (first == 0 || y >= 0) read_row<-1>(a, x, y, c[0]);
        read_row<0>(a, x, y, c[1]);
        read_row<1>(a, x, y, c[2]);
        for (int dy = 0; dy < 3; ++dy)
          for (int dx = 0; dx < 3; ++dx) t[q + 1 + dy][p + 1 + dx] += weight * c[dy][dx];
      }
    }
    double to[5][5] = {};  // by coarse nodes around (I, J); the rim stays zero
    for (int q = -1 - reach_y; q <= 1 + reach_y; ++q) {
      if (!has_row(centre_y + q)) continue;
      for (int p = -1 - reach_x; p <= 1 + reach_x; ++p)
        if (fine_node(w.periodic_x, centre_x + p, fine_nx) >= 0) spread(t[q + 2][p + 2], column, row, p, q, to);
    }
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int k = band_index(dx, dy) - first;
        if (k < 0) continue;
        band[k](i, j) = couples(coarse, i + dx, j + dy) ? to[dy + 2][dx + 2] : 0.0;
      }
  }
};

template <class View, class Bands>
void product(Context& ctx, const View& a, const Transfer<double>& p, Bands& coarse) {
  constexpr int first = Bands::first;
  const GridLayout<2>& shape = p.fine_shape();
  const auto run = [&](auto node) {
    for (std::size_t k = 0; k < coarse.band.size(); ++k) node.band[k] = coarse.band[k].view();
    for_each_node(ctx, all_nodes(node.band[0]), node);
  };
  if (p.is_weighted())
    run(WeightedGalerkinNode<first, View>{
        a, p.weights(), shape.nx, shape.ny, shape.below, shape.above, coarse.shape(), {}});
  else
    run(GalerkinNode<first, View>{a, p.x_view(), p.y_view(), shape.nx, shape.ny, shape.below, coarse.shape(), {}});
  for (const auto& band : coarse.band) exchange(ctx, band);
}

template <class Format>
void check_finite(Context& ctx, const Format& a) {
  const auto parts = a.parts();
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (parts[k].data == nullptr) continue;
    const double size = norm_max(ctx, parts[k]);
    expects(std::isfinite(size), "the ", Format::name, " operator's ", Format::part_name(static_cast<int>(k)),
            " has a coefficient of size ", size, "; all must be finite");
  }
}

template <class Bands>
void check_boundaries(Context& ctx, const Bands& a) {
  for (int k = 0; k < Bands::coefficient_words; ++k) {
    const GridLayout<2>& grid = a.band[static_cast<std::size_t>(k)].shape();
    const auto view = a.band[static_cast<std::size_t>(k)].cview();
    const auto largest = [&](int i, int j, int nx, int ny) {
      FieldView<const double> part = view;
      part.data = &view(i, j);
      part.nx = nx;
      part.ny = ny;
      return norm_max(ctx, part);
    };
    const int dx = Bands::dx(k), dy = Bands::dy(k);
    const double across_x = dx == 0 || grid.periodic_x ? 0 : largest(dx < 0 ? 0 : view.nx - 1, 0, 1, view.ny);
    // No row where other subdomains border.
    const bool inside = dy < 0 ? grid.below : grid.above;
    const double across_y =
        dy == 0 || grid.periodic_y ? 0 : largest(0, dy < 0 ? 0 : view.ny - 1, inside ? 0 : view.nx, 1);
    expects(across_x == 0 && across_y == 0, Bands::part_name(k), " reaches across a boundary of the grid with ",
            std::max(across_x, across_y),
            "; such coefficients must be zero, their terms belong to the right-hand side");
  }
}

}  // namespace

void galerkin_product(Context& ctx, const GridOperator<double>& fine, const Transfer<double>& p,
                      GridOperator<double>& coarse) {
  fine.visit([&]<class View>(const View& view) {
    if constexpr (!View::is_symmetric)
      if (!coarse.traits().is_symmetric)
        return product(ctx, view, p, std::get<NineBandMatrix<double>>(coarse.storage()));
    product(ctx, view, p, std::get<SymmetricNineBand<double>>(coarse.storage()));
  });
}

namespace {

/// Where `row` says true, a large number less that of the node: the largest belongs to the first node, of all subdomains.
template <class Row>
struct FromTheEnd {
  Row row;
  int nx, origin;
  static constexpr double end = 0x1p53;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return row(i, j) ? end - (static_cast<double>(j + origin) * nx + i) : 0.0;
  }
};

struct Node {
  int i, j;
};

template <class Row>
std::optional<Node> first_row(Context& ctx, const GridLayout<2>& shape, const Row& row) {
  const double found = largest_of(ctx, shape.nx, shape.ny, FromTheEnd<Row>{row, shape.nx, shape.origin_y});
  if (found == 0) return std::nullopt;
  const auto number = static_cast<std::int64_t>(FromTheEnd<Row>::end - found);
  return Node{static_cast<int>(number % shape.nx), static_cast<int>(number / shape.nx) - shape.origin_y};
}

template <class View>
struct ZeroDiagonal {
  View a;
  STRATUM_HOST_DEVICE STRATUM_INLINE bool operator()(int i, int j) const {
    return a.template coefficient<0, 0>(i, j) == 0;
  }
};

/// Some coefficient towards a later node differs from the one back.
template <class View>
struct Unsymmetric {
  View a;
  int nx, ny;
  template <int dx, int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE bool differs(int i, int j) const {
    const int p = i + dx, q = j + dy;
    if (p < 0 || p >= nx || q >= ny) return false;
    const double there = a.template coefficient<dx, dy>(i, j), back = a.template coefficient<-dx, -dy>(p, q);
    const double here = a.template coefficient<0, 0>(i, j), neighbour = a.template coefficient<0, 0>(p, q);
    const double gap = there - back;
    const double size = sqrt(here < 0 ? -here : here) * sqrt(neighbour < 0 ? -neighbour : neighbour);
    return !((gap < 0 ? -gap : gap) <= 1e-12 * size);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE bool operator()(int i, int j) const {
    return differs<1, 0>(i, j) || differs<-1, 1>(i, j) || differs<0, 1>(i, j) || differs<1, 1>(i, j);
  }
};

double number_at(Context& ctx, FieldView<const double> x, int i, int j) {
  double value = 0;
  x.data = &x(i, j);
  x.nx = x.ny = 1;
  copy_to_host(ctx, x, &value);
  return value;
}

template <class Bands>
[[noreturn]] void refuse_unsymmetric(Context& ctx, const Bands& a, const Node& n) {
  const GridLayout<2> shape = a.shape();
  for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 1}, {0, 1}, {1, 1}}) {
    if (n.j < 0) break;  // another subdomain's
    const int p = n.i + dx, q = n.j + dy;
    if (p < 0 || p >= shape.nx || q >= shape.ny) continue;
    const auto band = [&](int x, int y) { return a.band[static_cast<std::size_t>(band_index(x, y))].cview(); };
    const double there = number_at(ctx, band(dx, dy), n.i, n.j), back = number_at(ctx, band(-dx, -dy), p, q);
    if (there != back)
      throw UsageError(message("the matrix is said to be symmetric and is not: node (", n.i, ", ", n.j, ") has ", there,
                               " towards (", p, ", ", q, "), which has ", back, " back"));
  }
  throw UsageError(message("the matrix is said to be symmetric and is not, at node (", n.i, ", ", n.j, ")"));
}

template <class Bands>
void check_symmetric(Context& ctx, const Bands& a) {
  const GridLayout<2> shape = a.shape();
  const auto unsymmetric = a.visit([&]<class View>(const View& view) {
    return first_row(ctx, shape, Unsymmetric<View>{view, shape.nx, shape.ny});
  });
  if (unsymmetric) refuse_unsymmetric(ctx, a, *unsymmetric);
}

}  // namespace

void check_coefficients(Context& ctx, const GridOperator<double>& a, bool symmetric) {
  std::visit(
      [&](const auto& format) {
        check_finite(ctx, format);
        if constexpr (requires { format.band; }) check_boundaries(ctx, format);
      },
      a.storage());
  const auto zero = a.visit(
      [&](const auto& view) { return first_row(ctx, a.shape(), ZeroDiagonal<std::decay_t<decltype(view)>>{view}); });
  if (zero)
    throw UsageError(
        message("the diagonal entry at node (", zero->i, ", ", zero->j, ") is zero; no row may lack its own"));
  if (!symmetric) return;
  std::visit(
      [&](const auto& format) {
        if constexpr (!std::decay_t<decltype(format)>::View::is_symmetric) check_symmetric(ctx, format);
      },
      a.storage());
}

GridOperator<double> galerkin_operator(Context& ctx, const GridOperator<double>& fine, const GridLayout<2>& coarse,
                                       bool symmetric) {
  if (symmetric || fine.traits().is_symmetric) return SymmetricNineBand<double>(ctx, coarse);
  return NineBandMatrix<double>(ctx, coarse);
}

void gather(Context& ctx, const PartitionLevels& partition, const GridOperator<double>& own,
            GridOperator<double>& whole) {
  std::visit(
      [&](const auto& from) {
        const auto given = from.parts();
        auto taken = std::get<std::decay_t<decltype(from)>>(whole.storage()).parts();
        for (std::size_t k = 0; k < given.size(); ++k) {
          partition.gather(ctx, given[k], taken[k], whole.shape().origin_y);
          if (std::decay_t<decltype(from)>::View::has_bands) exchange(ctx, whole.shape(), taken[k]);
        }
      },
      own.storage());
}

}  // namespace stratum
