#include <cmath>
#include <type_traits>

#include <stratum/core/field/for_each_node.hpp>
#include <stratum/multigrid/transfer/operator_dependent_cells.hpp>

namespace stratum {

namespace {

using operator_dependent::CellLine;
using operator_dependent::CellNumbers;
using operator_dependent::Cells;

struct CoarsenCells {
  CellLine x, y;
  FieldView<const double> gx, gy, reaction;
  FieldView<double> to_x, to_y, to_reaction;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int left = x.node(i), right = x.node(i + 1), lower = y.node(j), upper = y.node(j + 1);
    double along_x = 0, along_y = 0, sum = 0;
    for (int q = lower; q < upper; ++q) {
      double resistance = 0;
      for (int p = left; p < right; ++p) resistance += 1 / gx(p, q);
      along_x += 1 / resistance;
    }
    for (int p = left; p < right; ++p) {
      double resistance = 0;
      for (int q = lower; q < upper; ++q) resistance += 1 / gy(p, q);
      along_y += 1 / resistance;
    }
    to_x(i, j) = along_x;
    to_y(i, j) = along_y;
    if (to_reaction.data == nullptr) return;
    for (int q = lower; q < upper; ++q)
      for (int p = left; p < right; ++p) sum += reaction(p, q);
    to_reaction(i, j) = sum;
  }
};

/// Edges by conductances. One that stays alone belongs to its far end, where numbers begin before 0 to its near one.
struct ConductanceEdges : Cells {
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int column, int row) const {
    const std::int64_t at = w.at(column, row);
    const int i = x.node(column), j = y.node(row);
    if (w.west != nullptr)
      w.west[at] = x.is_alone(column) ? (column < 0 ? 1.0 : 0.0) : share(to_west(i + 1, j), to_east(i + 1, j));
    if (w.south != nullptr)
      w.south[at] = y.is_alone(row) ? (row < 0 ? 1.0 : 0.0) : share(to_south(i, j + 1), to_north(i, j + 1));
  }
};

/// The same by sums of matrix rows, where they serve.
template <class View>
struct MatrixEdges : Cells {
  View a;
  bool identity_rows;  // a side without entries has nodes whose values are known, or none

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int column, int row) const {
    const std::int64_t at = w.at(column, row);
    if (w.west != nullptr && !x.is_alone(column)) set<true>(x.node(column) + 1, y.node(row), w.west[at]);
    if (w.south != nullptr && !y.is_alone(row)) set<false>(x.node(column), y.node(row) + 1, w.south[at]);
  }
  /// The sum of three coefficients, and of their sizes.
  struct Sum {
    double value, size;
  };
  /// Towards the line `along` steps on, without what lies outside.
  template <bool along_x, int along>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Sum sum(int p, int q, bool before, bool after) const {
    constexpr int dx = along_x ? along : 0, dy = along_x ? 0 : along, ex = along_x ? 0 : 1, ey = along_x ? 1 : 0;
    const double first = before ? a.template coefficient<dx - ex, dy - ey>(p, q) : 0.0;
    const double second = a.template coefficient<dx, dy>(p, q);
    const double third = after ? a.template coefficient<dx + ex, dy + ey>(p, q) : 0.0;
    return {first + second + third, fabs(first) + fabs(second) + fabs(third)};
  }
  template <bool along_x>
  STRATUM_HOST_DEVICE STRATUM_INLINE void set(int i, int j, double& weight) const {
    const int p = column_of(i), q = row_of(j);
    if (p < 0 || q < 0) return;
    const int nodes_across = along_x ? fine_ny : fine_nx;
    // Rows go on before the first node and behind the last one.
    const bool on_west = w.periodic_x || p > 0, on_east = w.periodic_x || p + 1 < fine_nx;
    const bool on_south = w.periodic_y || below || q > 0, on_north = w.periodic_y || above || q + 1 < fine_ny;
    const bool before = along_x ? on_south : on_west, after = along_x ? on_north : on_east;
    // An end that is no unknown is Dirichlet's.
    const int origin = along_x ? w.origin_y : w.origin_x, cells = along_x ? y.fine : x.fine;
    if ((!before && origin == 1) || (!after && nodes_across + origin == cells)) return;
    const Sum own = sum<along_x, 0>(p, q, before, after);
    Sum first = sum<along_x, -1>(p, q, before, after), second = sum<along_x, 1>(p, q, before, after);
    if (!(along_x ? on_west : on_south)) first = {-own.value - second.value, own.size};
    if (!(along_x ? on_east : on_north)) second = {-own.value - first.value, own.size};
    constexpr double least = 1e-6;
    if (identity_rows && (first.size == 0) != (second.size == 0)) {
      const Sum& there = first.size == 0 ? second : first;
      double rest = own.value + there.value;  // of the diagonal entry, for the side without
      if (rest < least * own.size) rest = 0;
      if (-there.value > least * there.size)
        weight = first.size == 0 ? share(rest, -there.value) : share(-there.value, rest);
      return;
    }
    if (-first.value > least * first.size && -second.value > least * second.size)
      weight = share(-first.value, -second.value);
  }
};

/// Centres, from the edges.
template <class View>
struct Centres : Cells {
  View a;
  bool identity_rows;

  STRATUM_HOST_DEVICE STRATUM_INLINE void set(std::int64_t at, double sw, double se, double nw, double ne) const {
    w.sw[at] = sw;
    w.se[at] = se;
    w.nw[at] = nw;
    w.ne[at] = ne;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int column, int row) const {
    const std::int64_t at = w.at(column, row);
    const double lower = w.west[at], upper = w.west[at + w.pitch], left = w.south[at], right = w.south[at + 1];
    if (x.is_alone(column) || y.is_alone(row)) {
      // On the edge at the far end of the interval.
      const double wx = y.is_alone(row) && row >= 0 ? upper : lower;
      const double wy = x.is_alone(column) && column >= 0 ? right : left;
      return set(at, wx * wy, (1 - wx) * wy, wx * (1 - wy), (1 - wx) * (1 - wy));
    }
    const int i = x.node(column) + 1, j = y.node(row) + 1, p = column_of(i), q = row_of(j);
    if (p < 0 || q < 0) return;
    const double centre = a.template coefficient<0, 0>(p, q);
    const double c_sw = a.template coefficient<-1, -1>(p, q), c_s = a.template coefficient<0, -1>(p, q),
                 c_se = a.template coefficient<1, -1>(p, q), c_w = a.template coefficient<-1, 0>(p, q),
                 c_e = a.template coefficient<1, 0>(p, q), c_nw = a.template coefficient<-1, 1>(p, q),
                 c_n = a.template coefficient<0, 1>(p, q), c_ne = a.template coefficient<1, 1>(p, q);
    const bool inside = (w.periodic_x || (p > 0 && p + 1 < fine_nx)) &&
                        (w.periodic_y || ((below || q > 0) && (above || q + 1 < fine_ny)));
    double s = -(((c_sw + c_s) + (c_se + c_w)) + ((c_e + c_nw) + (c_n + c_ne)));
    if (!inside || identity_rows) {
      s = centre;
      if (reaction.g.data != nullptr)
        s -= ((reaction(i - 1, j - 1) + reaction(i, j - 1)) + (reaction(i - 1, j) + reaction(i, j))) / 4;
    }
    if (centre > 0 && s >= centre / 2)
      return set(at, -(c_sw + c_s * lower + c_w * left) / s, -(c_se + c_s * (1 - lower) + c_e * right) / s,
                 -(c_nw + c_n * upper + c_w * (1 - left)) / s, -(c_ne + c_n * (1 - upper) + c_e * (1 - right)) / s);
    const double west = to_west(i, j), east = to_east(i, j), south = to_south(i, j), north = to_north(i, j);
    const double sum = (west + east) + (south + north);
    set(at, (south * lower + west * left) / sum, (south * (1 - lower) + east * right) / sum,
        (north * upper + west * (1 - left)) / sum, (north * (1 - upper) + east * (1 - right)) / sum);
  }
};

struct Conduct {
  MappedCellsView cells;
  FieldView<double> x, y, reaction;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const MappedElement cell = cells.element(i, j);
    x(i, j) = cell.along_x();
    y(i, j) = cell.along_y();
    if (reaction.data != nullptr) reaction(i, j) = cell.reaction();
  }
};

/// Of a five-point matrix.
template <class View>
struct ConductLinks {
  View a;
  FieldView<double> x, y;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    x(i, j) = -0.5 * (a.template coefficient<1, 0>(i, j) + a.template coefficient<1, 0>(i, j + 1));
    y(i, j) = -0.5 * (a.template coefficient<0, 1>(i, j) + a.template coefficient<0, 1>(i + 1, j));
  }
};

GridLayout<2> cells_of(const TensorMesh<2>& mesh) { return {mesh.x().size(), mesh.y().size(), 0, 0}; }

/// Of a tensor mesh; K = 1 where there is none.
struct ConductTensor {
  CellFieldsView cells;
  FieldView<double> x, y, reaction;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const double hx = cells.hx[i], hy = cells.hy[j];
    const bool given = cells.xx.data != nullptr;
    x(i, j) = given ? cells.kxx(i, j) * (hy / hx) : hy / hx;
    y(i, j) = given ? cells.kyy(i, j) * (hx / hy) : hx / hy;
    if (reaction.data != nullptr) reaction(i, j) = cells.reaction(i, j) * (hx * hy);
  }
};

}  // namespace

Conductances::Conductances(Context& ctx, const TensorMesh<2>& mesh, bool with_reaction)
    : x(ctx, cells_of(mesh)), y(ctx, cells_of(mesh)) {
  if (with_reaction) reaction = Field<double>(ctx, cells_of(mesh));
}

Conductances::Conductances(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& k, double constant_reaction)
    : Conductances(ctx, mesh, CellFields(ctx, mesh, k, constant_reaction)) {}

Conductances::Conductances(Context& ctx, const TensorMesh<2>& mesh, const CellFields& fields)
    : Conductances(ctx, mesh, fields.has_reaction()) {
  assign(ctx, fields);
}

Conductances::Conductances(Context& ctx, const TensorMesh<2>& mesh) : Conductances(ctx, mesh, false) {
  assign(ctx, CellFields(ctx, mesh));
}

void Conductances::assign(Context& ctx, const CellFields& fields) {
  if (ctx.is_dry_run()) return;
  const auto& given = fields.view().xx;
  expects(given.data == nullptr || (given.nx == x.shape().nx && given.ny == x.shape().ny), "coefficients on ", given.nx,
          " x ", given.ny, " cells do not belong to a mesh of ", x.shape().nx, " x ", x.shape().ny);
  for_each_node(ctx, all_nodes(x.view()), ConductTensor{fields.view(), x.view(), y.view(), reaction.view()});
  ctx.synchronise();  // the fields may be gone before the stream is here
}

Conductances::Conductances(Context& ctx, const TensorMesh<2>& mesh, const GridOperator<double>& a)
    : Conductances(ctx, mesh, false) {
  operator_dependent::expects_all_nodes(mesh, a);
  a.visit([&](const auto& view) {
    for_each_node(ctx, all_nodes(x.view()), ConductLinks<std::decay_t<decltype(view)>>{view, x.view(), y.view()});
  });
}

Conductances::Conductances(Context& ctx, const MappedMesh& mesh, const MappedCells& cells)
    : Conductances(ctx, mesh.logical(), cells.has_reaction()) {
  for_each_node(ctx, all_nodes(x.view()), Conduct{cells.view(), x.view(), y.view(), reaction.view()});
}

void coarsen(Context& ctx, const Conductances& fine, Conductances& coarse) {
  const auto f = fine.x.cview();
  const auto c = coarse.x.view();
  for_each_node(ctx, all_nodes(c),
                CoarsenCells{{f.nx, c.nx, false},
                             {f.ny, c.ny, false},
                             f,
                             fine.y.cview(),
                             fine.reaction.cview(),
                             c,
                             coarse.y.view(),
                             coarse.reaction.view()});
}

namespace operator_dependent {

void set_weights_by(Context& ctx, const GridOperator<double>& a, const Conductances& k, Transfer<double>& p,
                    const SetEdges& edges, bool identity_rows) {
  expects(p.is_weighted(), "weights of conductances are for a transfer that has weights by cells");
  const GridLayout<2>& fine = p.fine_shape();
  const GridLayout<2> shape = k.x.shape();
  const auto w = p.weights();
  const CellLine x{shape.nx, w.intervals_x, fine.periodic_x}, y{shape.ny, w.intervals_y, fine.periodic_y};
  const auto numbers = [&fine](const Field<double>& g) {
    return CellNumbers{g.cview(), fine.periodic_x, fine.periodic_y};
  };
  const Cells cells{x, y, numbers(k.x), numbers(k.y), numbers(k.reaction), fine.nx, fine.ny, fine.below, fine.above, w};
  // Of a subdomain edges beside its own as well, and centres that the next one has.
  const int first = w.coarse_origin_y, last = first + p.coarse_shape().ny;
  const NodeRange<2> with_boundaries{
      -1, x.coarse + 1, 1, fine.below ? first - 1 : -1, fine.above ? last + 1 : y.coarse + 1, 1};
  for_each_node(ctx, with_boundaries, ConductanceEdges{cells});
  edges(cells, with_boundaries);
  if (w.sw == nullptr) return;
  a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    const Centres<View> centres{cells, view, identity_rows};
    for_each_node(ctx, {-1, x.coarse, 1, fine.below ? first : -1, fine.above ? last : y.coarse, 1}, centres);
    p.exchange_centres(ctx);
    // A periodic line's last interval, seen from its other end.
    if (fine.below && y.is_alone(first - 1)) for_each_node(ctx, {-1, x.coarse, 1, first - 1, first, 1}, centres);
  });
}

void take_edges_beside(Context& ctx, Cells cells, const NodeRange<2>& range, Transfer<double>& p) {
  if (!cells.below && !cells.above) return;
  p.exchange_edges(ctx);
  // A periodic line's last interval, seen from its other end.
  if (!cells.below || !cells.y.is_alone(range.begin_y)) return;
  cells.w.west = nullptr;
  for_each_node(ctx, {range.begin_x, range.end_x, 1, range.begin_y, range.begin_y + 1, 1}, ConductanceEdges{cells});
}

void expects_all_nodes(const TensorMesh<2>& mesh, const GridOperator<double>& a) {
  const GridLayout<2> shape = a.shape();
  expects(shape.nx == mesh.x().size() + 1 && shape.ny == mesh.y().size() + 1, "a five-point matrix on ", shape.nx,
          " x ", shape.ny, " unknowns does not have those of all nodes of ", mesh.x().size(), " x ", mesh.y().size(),
          " cells");
}

}  // namespace operator_dependent

void set_conductance_weights(Context& ctx, const GridOperator<double>& a, const Conductances& k, EdgeWeights edges,
                             Transfer<double>& p, bool identity_rows) {
  const auto set_edges = [&](const Cells& cells, const NodeRange<2>& range) {
    if (edges != EdgeWeights::matrix) return;
    a.visit([&](const auto& view) {
      for_each_node(ctx, range, MatrixEdges<std::decay_t<decltype(view)>>{cells, view, identity_rows});
    });
    operator_dependent::take_edges_beside(ctx, cells, range, p);
  };
  operator_dependent::set_weights_by(ctx, a, k, p, set_edges, identity_rows);
}

}  // namespace stratum
