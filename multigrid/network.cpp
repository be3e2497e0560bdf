#include <stratum/multigrid/network.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/for_each_node.hpp>
#include <stratum/multigrid/galerkin.hpp>
#include <stratum/multigrid/weighted_functors.hpp>

namespace stratum {

namespace {

/// The cells along one direction, and the coarse ones.
struct CellLine {
  int fine, coarse;
  bool periodic;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_coarsened() const { return coarse < fine; }
  /// Node of the fine grid, with its sides, where coarse node I lies; beyond a periodic end, too.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int node(int i) const {
    if (!is_coarsened()) return i;
    if (periodic && i < 0) return 2 * (i + coarse) - fine;
    if (i >= coarse) return fine + 2 * (i - coarse);
    return 2 * i;
  }
  /// Coarse interval I is one of the fine grid.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_alone(int i) const {
    return is_coarsened() && node(i + 1) == node(i) + 1;
  }
};

/// A number of every cell, zero outside the grid.
struct CellNumbers {
  GridView<const double> g;
  bool periodic_x, periodic_y;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const int column = fine_node(periodic_x, i, g.nx), row = fine_node(periodic_y, j, g.ny);
    return column >= 0 && row >= 0 ? g(column, row) : 0.0;
  }
};

struct CoarsenCells {
  CellLine x, y;
  GridView<const double> gx, gy, reaction;
  GridView<double> to_x, to_y, to_reaction;
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

/// What the weights of coarse cell (I, J), its lower and its left edge are made from.
struct Cells {
  CellLine x, y;
  CellNumbers gx, gy, reaction;
  int fine_nx, fine_ny;
  bool below, above;  // other pieces
  WeightsView<double> w;

  // Conductances from node (i, j), numbered with the sides.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double to_west(int i, int j) const {
    return gx(i - 1, j - 1) + gx(i - 1, j);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double to_east(int i, int j) const {
    return gx(i, j - 1) + gx(i, j);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double to_south(int i, int j) const {
    return gy(i - 1, j - 1) + gy(i, j - 1);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double to_north(int i, int j) const {
    return gy(i - 1, j) + gy(i, j);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static double share(double first, double second) {
    return first + second > 0 ? first / (first + second) : 0.0;
  }
  /// The unknown with this number, or a negative one.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int column_of(int i) const {
    return fine_node(w.periodic_x, i - w.origin_x, fine_nx);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int row_of(int j) const {
    return fine_node(w.periodic_y, j - w.origin_y, fine_ny);
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
    if (-first.value > least * first.size && -second.value > least * second.size)
      weight = share(-first.value, -second.value);
  }
};

/// The same by sums of rows of A_x and A_y, on all nodes; of a strip those of its own rows.
template <class ViewX, class ViewY>
struct SplitEdges : Cells {
  ViewX ax;
  ViewY ay;
  int nx, ny, first;  // nodes, the first row

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int column, int row) const {
    const std::int64_t at = w.at(column, row);
    if (w.west != nullptr && !x.is_alone(column)) {
      const int i = node_x(x.node(column) + 1), j = node_y(y.node(row));
      if (i >= 0 && j >= 0) set(sum<-1, 0>(ax, i, j), sum<1, 0>(ax, i, j), w.west[at]);
    }
    if (w.south != nullptr && !y.is_alone(row)) {
      const int i = node_x(x.node(column)), j = node_y(y.node(row) + 1);
      if (i >= 0 && j >= 0) set(sum<0, -1>(ay, i, j), sum<0, 1>(ay, i, j), w.south[at]);
    }
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int node_x(int i) const { return fine_node(w.periodic_x, i, nx); }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int node_y(int j) const {
    return fine_node(w.periodic_y, j - first, ny);
  }
  /// Less the three coefficients towards (dx, dy), without what lies outside.
  template <int dx, int dy, class View>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double sum(const View& part, int i, int j) const {
    constexpr int ex = dy != 0 ? 1 : 0, ey = dx != 0 ? 1 : 0;
    const bool before = ex != 0 ? w.periodic_x || i > 0 : w.periodic_y || below || j > 0;
    const bool behind = ex != 0 ? w.periodic_x || i + 1 < nx : w.periodic_y || above || j + 1 < ny;
    double s = part.template coefficient<dx, dy>(i, j);
    if (before) s += part.template coefficient<dx - ex, dy - ey>(i, j);
    if (behind) s += part.template coefficient<dx + ex, dy + ey>(i, j);
    return -s;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE static void set(double first, double second, double& weight) {
    if (first >= 0 && second >= 0 && first + second > 0) weight = share(first, second);
  }
};

/// Centres, from the edges.
template <class View>
struct Centres : Cells {
  View a;

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
    if (!inside) {
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
  GridView<double> x, y, reaction;
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
  GridView<double> x, y;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    x(i, j) = -0.5 * (a.template coefficient<1, 0>(i, j) + a.template coefficient<1, 0>(i, j + 1));
    y(i, j) = -0.5 * (a.template coefficient<0, 1>(i, j) + a.template coefficient<0, 1>(i + 1, j));
  }
};

/// The links along x or y of a five-point matrix, as a matrix whose rows have no sum.
template <class View>
struct KeepLinks {
  View a;
  bool along_x;
  GridView<double> centre, east, north;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int nx = centre.nx, ny = centre.ny;
    const double e = along_x && i + 1 < nx ? a.template coefficient<1, 0>(i, j) : 0.0;
    const double n = !along_x && j + 1 < ny ? a.template coefficient<0, 1>(i, j) : 0.0;
    const double w = along_x && i > 0 ? a.template coefficient<-1, 0>(i, j) : 0.0;
    const double s = !along_x && j > 0 ? a.template coefficient<0, -1>(i, j) : 0.0;
    east(i, j) = e;
    north(i, j) = n;
    centre(i, j) = -((e + n) + (w + s));
  }
};

GridOperator<double> links_of(Context& ctx, const GridOperator<double>& a, bool along_x) {
  SymmetricNineBand<double> part(ctx, a.shape());
  const auto band = [&part](int dx, int dy) {
    return part.band[static_cast<std::size_t>(band_index(dx, dy) - SymmetricNineBand<double>::first)].view();
  };
  a.visit([&](const auto& view) {
    for_each_node(ctx, all_nodes(band(0, 0)),
                  KeepLinks<std::decay_t<decltype(view)>>{view, along_x, band(0, 0), band(1, 0), band(0, 1)});
  });
  return GridOperator<double>(std::move(part));
}

GridShape cells_of(const TensorMesh& mesh) { return {mesh.x().size(), mesh.y().size(), 0, 0}; }

/// Of a tensor mesh; K = 1 where there is none.
struct ConductTensor {
  CellFieldsView cells;
  GridView<double> x, y, reaction;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const double hx = cells.hx[i], hy = cells.hy[j];
    const bool given = cells.xx.data != nullptr;
    x(i, j) = given ? cells.kxx(i, j) * (hy / hx) : hy / hx;
    y(i, j) = given ? cells.kyy(i, j) * (hx / hy) : hx / hy;
    if (reaction.data != nullptr) reaction(i, j) = cells.reaction(i, j) * (hx * hy);
  }
};

void expects_all_nodes(const TensorMesh& mesh, const GridOperator<double>& a) {
  const GridShape shape = a.shape();
  expects(shape.nx == mesh.x().size() + 1 && shape.ny == mesh.y().size() + 1, "a five-point matrix on ", shape.nx,
          " x ", shape.ny, " unknowns does not have those of all nodes of ", mesh.x().size(), " x ", mesh.y().size(),
          " cells");
}

}  // namespace

Conductances::Conductances(Context& ctx, const TensorMesh& mesh, bool with_reaction)
    : x(ctx, cells_of(mesh)), y(ctx, cells_of(mesh)) {
  if (with_reaction) reaction = Vector<double>(ctx, cells_of(mesh));
}

Conductances::Conductances(Context& ctx, const TensorMesh& mesh, const CellCoefficients& k, double constant_reaction)
    : Conductances(ctx, mesh, CellFields(ctx, mesh, k, constant_reaction)) {}

Conductances::Conductances(Context& ctx, const TensorMesh& mesh, const CellFields& fields)
    : Conductances(ctx, mesh, fields.has_reaction()) {
  assign(ctx, fields);
}

Conductances::Conductances(Context& ctx, const TensorMesh& mesh) : Conductances(ctx, mesh, false) {
  assign(ctx, CellFields(ctx, mesh));
}

void Conductances::assign(Context& ctx, const CellFields& fields) {
  if (ctx.plans()) return;
  const auto& given = fields.view().xx;
  expects(given.data == nullptr || (given.nx == x.shape().nx && given.ny == x.shape().ny), "coefficients on ", given.nx,
          " x ", given.ny, " cells do not belong to a mesh of ", x.shape().nx, " x ", x.shape().ny);
  for_each_node(ctx, all_nodes(x.view()), ConductTensor{fields.view(), x.view(), y.view(), reaction.view()});
  ctx.synchronise();  // the fields may be gone before the stream is here
}

Conductances::Conductances(Context& ctx, const TensorMesh& mesh, const GridOperator<double>& a)
    : Conductances(ctx, mesh, false) {
  expects_all_nodes(mesh, a);
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

namespace {

/// Edges by conductances, then by what `edges` makes of them, then centres.
template <class Edges>
void set_weights_by(Context& ctx, const GridOperator<double>& a, const Conductances& k, Transfer<double>& p,
                    const Edges& edges) {
  expects(p.is_weighted(), "network weights are for a transfer that has weights by cells");
  const GridShape& fine = p.fine_shape();
  const GridShape shape = k.x.shape();
  const auto w = p.weights();
  const CellLine x{shape.nx, w.intervals_x, fine.periodic_x}, y{shape.ny, w.intervals_y, fine.periodic_y};
  const auto numbers = [&fine](const Vector<double>& g) {
    return CellNumbers{g.cview(), fine.periodic_x, fine.periodic_y};
  };
  const Cells cells{x, y, numbers(k.x), numbers(k.y), numbers(k.reaction), fine.nx, fine.ny, fine.below, fine.above, w};
  // Of a strip edges beside its own as well, and centres that the next one has.
  const int first = w.coarse_origin_y, last = first + p.coarse_shape().ny;
  const NodeRange with_ends{-1, x.coarse + 1, 1, fine.below ? first - 1 : -1, fine.above ? last + 1 : y.coarse + 1, 1};
  for_each_node(ctx, with_ends, ConductanceEdges{cells});
  edges(cells, with_ends);
  if (w.sw == nullptr) return;
  a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    const Centres<View> centres{cells, view};
    for_each_node(ctx, {-1, x.coarse, 1, fine.below ? first : -1, fine.above ? last : y.coarse, 1}, centres);
    p.exchange_centres(ctx);
    // A periodic line's last interval, seen from its other end.
    if (fine.below && y.is_alone(first - 1)) for_each_node(ctx, {-1, x.coarse, 1, first - 1, first, 1}, centres);
  });
}

/// What edges of rows that other strips have are, from these, after a strip has set its own.
void take_edges_beside(Context& ctx, Cells cells, const NodeRange& range, Transfer<double>& p) {
  if (!cells.below && !cells.above) return;
  p.exchange_edges(ctx);
  // A periodic line's last interval, seen from its other end.
  if (!cells.below || !cells.y.is_alone(range.begin_y)) return;
  cells.w.west = nullptr;
  for_each_node(ctx, {range.begin_x, range.end_x, 1, range.begin_y, range.begin_y + 1, 1}, ConductanceEdges{cells});
}

TensorMesh with_all_nodes(const TensorMesh& mesh) {
  const auto free = [](const Line& line) {
    return line.is_periodic() ? line : line.with_ends(LineEnd::natural, LineEnd::natural);
  };
  return {free(mesh.x()), free(mesh.y()), mesh.name()};
}

/// All nodes of the rows of unknowns, and of sides beside them.
GridShape with_sides(const TensorMesh& all_nodes, const GridShape& unknowns) {
  GridShape nodes = all_nodes.unknowns();
  const int end = unknowns.above ? unknowns.origin_y + unknowns.ny : nodes.ny;
  if (unknowns.below) nodes.origin_y = unknowns.origin_y;
  nodes.ny = end - nodes.origin_y;
  nodes.below = unknowns.below;
  nodes.above = unknowns.above;
  return nodes;
}

/// K with derivatives in one direction alone, and mixed.
CellCoefficients part_of(const CellCoefficients& k, bool in_x) {
  CellCoefficients part{k.nx, k.ny, k.xx, k.xy, k.yy.empty() ? k.xx : k.yy, {}};
  std::fill(in_x ? part.yy.begin() : part.xx.begin(), in_x ? part.yy.end() : part.xx.end(), 0.0);
  return part;
}

}  // namespace

void set_network_weights(Context& ctx, const GridOperator<double>& a, const Conductances& k, EdgeWeights edges,
                         Transfer<double>& p) {
  set_weights_by(ctx, a, k, p, [&](const Cells& cells, const NodeRange& range) {
    if (edges != EdgeWeights::matrix) return;
    a.visit([&](const auto& view) {
      for_each_node(ctx, range, MatrixEdges<std::decay_t<decltype(view)>>{cells, view});
    });
    take_edges_beside(ctx, cells, range, p);
  });
}

SplitParts::SplitParts(Context& ctx, const TensorMesh& mesh, const CellCoefficients& k, const GridShape& unknowns)
    : mesh_(with_all_nodes(mesh)) {
  const auto assemble = [&](const CellCoefficients& part) {
    return assemble_diffusion(ctx, mesh_, part, CellFields(ctx, mesh_, part, 0), {}, with_sides(mesh_, unknowns));
  };
  x_ = assemble(part_of(k, true));
  y_ = assemble(part_of(k, false));
}

SplitParts::SplitParts(Context& ctx, const TensorMesh& mesh, const GridOperator<double>& a)
    : mesh_(mesh), x_(links_of(ctx, a, true)), y_(links_of(ctx, a, false)) {
  expects_all_nodes(mesh, a);
}

void SplitParts::set_weights(Context& ctx, const GridOperator<double>& a, const Conductances& k,
                             Transfer<double>& p) const {
  const GridShape nodes = x_.shape();
  set_weights_by(ctx, a, k, p, [&](const Cells& cells, const NodeRange& range) {
    x_.visit([&](const auto& ax) {
      y_.visit([&](const auto& ay) {
        using Edges = SplitEdges<std::decay_t<decltype(ax)>, std::decay_t<decltype(ay)>>;
        for_each_node(ctx, range, Edges{cells, ax, ay, nodes.nx, nodes.ny, nodes.origin_y});
      });
    });
    take_edges_beside(ctx, cells, range, p);
  });
}

void SplitParts::coarsen(Context& ctx, const Transfer<double>& p, const TensorMesh& coarse) {
  TensorMesh below = with_all_nodes(coarse);
  const GridShape nodes = with_sides(below, p.coarse_shape());
  auto on_all_nodes = Transfer<double>::weighted(ctx, mesh_, below, x_.shape(), nodes);
  on_all_nodes.assign_weights(ctx, p);
  const auto product = [&](const GridOperator<double>& part) {
    auto made = galerkin_operator(ctx, part, nodes);
    galerkin_product(ctx, part, on_all_nodes, made);
    return made;
  };
  x_ = product(x_);
  y_ = product(y_);
  mesh_ = std::move(below);
}

void SplitParts::gather(Context& ctx, const StripLevels& strips) {
  for (auto* part : {&x_, &y_}) {
    auto whole = galerkin_operator(ctx, *part, mesh_.unknowns());
    stratum::gather(ctx, strips, *part, whole);
    *part = std::move(whole);
  }
}

}  // namespace stratum
