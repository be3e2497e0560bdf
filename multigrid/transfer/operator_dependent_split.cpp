#include <algorithm>
#include <type_traits>
#include <utility>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/multigrid/galerkin.hpp>
#include <stratum/multigrid/transfer/operator_dependent_cells.hpp>

namespace stratum {

namespace {

/// Edges by sums of rows of A_x and A_y, where they serve, on all nodes; of a subdomain those of its own rows.
template <class ViewX, class ViewY>
struct SplitEdges : operator_dependent::Cells {
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

/// The links along x or y of a five-point matrix, as a matrix whose rows have no sum.
template <class View>
struct KeepLinks {
  View a;
  bool along_x;
  FieldView<double> centre, east, north;
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

TensorMesh<2> with_all_nodes(const TensorMesh<2>& mesh) {
  const auto free = [](const Axis& line) {
    return line.is_periodic() ? line : line.with_boundaries(BoundaryType::neumann, BoundaryType::neumann);
  };
  return {free(mesh.x()), free(mesh.y()), mesh.name()};
}

/// All nodes of the rows of unknowns, and of sides beside them.
GridLayout<2> with_boundaries(const TensorMesh<2>& all_nodes, const GridLayout<2>& unknowns) {
  GridLayout<2> nodes = all_nodes.unknowns();
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

SplitParts::SplitParts(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& k,
                       const GridLayout<2>& unknowns)
    : mesh_(with_all_nodes(mesh)) {
  const auto assemble = [&](const CellCoefficients& part) {
    return assemble_diffusion(ctx, mesh_, part, CellFields(ctx, mesh_, part, 0), {}, with_boundaries(mesh_, unknowns));
  };
  x_ = assemble(part_of(k, true));
  y_ = assemble(part_of(k, false));
}

SplitParts::SplitParts(Context& ctx, const TensorMesh<2>& mesh, const GridOperator<double>& a)
    : mesh_(mesh), x_(links_of(ctx, a, true)), y_(links_of(ctx, a, false)) {
  operator_dependent::expects_all_nodes(mesh, a);
}

void SplitParts::set_weights(Context& ctx, const GridOperator<double>& a, const Conductances& k,
                             Transfer<double>& p) const {
  const GridLayout<2> nodes = x_.shape();
  operator_dependent::set_weights_by(
      ctx, a, k, p, [&](const operator_dependent::Cells& cells, const NodeRange<2>& range) {
        x_.visit([&](const auto& ax) {
          y_.visit([&](const auto& ay) {
            using Edges = SplitEdges<std::decay_t<decltype(ax)>, std::decay_t<decltype(ay)>>;
            for_each_node(ctx, range, Edges{cells, ax, ay, nodes.nx, nodes.ny, nodes.origin_y});
          });
        });
        operator_dependent::take_edges_beside(ctx, cells, range, p);
      });
}

void SplitParts::coarsen(Context& ctx, const Transfer<double>& p, const TensorMesh<2>& coarse) {
  TensorMesh<2> below = with_all_nodes(coarse);
  const GridLayout<2> nodes = with_boundaries(below, p.coarse_shape());
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

void SplitParts::gather(Context& ctx, const PartitionLevels& partition) {
  for (auto* part : {&x_, &y_}) {
    auto whole = galerkin_operator(ctx, *part, mesh_.unknowns());
    stratum::gather(ctx, partition, *part, whole);
    *part = std::move(whole);
  }
}

}  // namespace stratum
