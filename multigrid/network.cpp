#include <stratum/multigrid/network.hpp>

#include <type_traits>
#include <vector>

#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/for_each_node.hpp>
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

/// The weights of coarse cell (I, J), its lower and its left edge.
template <class View>
struct NetworkCell {
  View a;
  CellLine x, y;
  CellNumbers gx, gy, reaction;
  int fine_nx, fine_ny;
  WeightsView<double> w;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static double share(double first, double second) {
    return first + second > 0 ? first / (first + second) : 0.0;
  }
  /// An interval that stays alone, seen from the end that is no fine node 2 I of its own.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static double alone(int interval) {
    return interval < 0 ? 1.0 : 0.0;
  }

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double west(int column, int row) const {
    if (x.is_alone(column)) return alone(column);
    const int i = x.node(column) + 1, j = y.node(row);
    return share(gx(i - 1, j - 1) + gx(i - 1, j), gx(i, j - 1) + gx(i, j));
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double south(int column, int row) const {
    if (y.is_alone(row)) return alone(row);
    const int i = x.node(column), j = y.node(row) + 1;
    return share(gy(i - 1, j - 1) + gy(i, j - 1), gy(i - 1, j) + gy(i, j));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void set_centre(std::int64_t at, double sw, double se, double nw,
                                                     double ne) const {
    w.sw[at] = sw;
    w.se[at] = se;
    w.nw[at] = nw;
    w.ne[at] = ne;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int column, int row) const {
    const std::int64_t at = w.at(column, row);
    if (w.west != nullptr) w.west[at] = west(column, row);
    if (w.south != nullptr) w.south[at] = south(column, row);
    if (w.sw == nullptr) return;
    if (x.is_alone(column) || y.is_alone(row)) {
      // On the edge at the far end of the interval.
      const bool last_x = x.is_alone(column) && column >= 0, last_y = y.is_alone(row) && row >= 0;
      const double wx = west(column, last_y ? row + 1 : row), wy = south(last_x ? column + 1 : column, row);
      return set_centre(at, wx * wy, (1 - wx) * wy, wx * (1 - wy), (1 - wx) * (1 - wy));
    }
    const int i = x.node(column) + 1, j = y.node(row) + 1;
    const int p = fine_node(w.periodic_x, i - w.origin_x, fine_nx),
              q = fine_node(w.periodic_y, j - w.origin_y, fine_ny);
    if (p < 0 || q < 0) return set_centre(at, 0, 0, 0, 0);
    const double lower = west(column, row), upper = west(column, row + 1);
    const double left = south(column, row), right = south(column + 1, row);
    const double centre = a.template coefficient<0, 0>(p, q);
    const double c_sw = a.template coefficient<-1, -1>(p, q), c_s = a.template coefficient<0, -1>(p, q),
                 c_se = a.template coefficient<1, -1>(p, q), c_w = a.template coefficient<-1, 0>(p, q),
                 c_e = a.template coefficient<1, 0>(p, q), c_nw = a.template coefficient<-1, 1>(p, q),
                 c_n = a.template coefficient<0, 1>(p, q), c_ne = a.template coefficient<1, 1>(p, q);
    const bool all_there = (w.periodic_x || (p > 0 && p + 1 < fine_nx)) && (w.periodic_y || (q > 0 && q + 1 < fine_ny));
    double s = -(((c_sw + c_s) + (c_se + c_w)) + ((c_e + c_nw) + (c_n + c_ne)));
    if (!all_there) {
      s = centre;
      if (reaction.g.data != nullptr)
        s -= ((reaction(i - 1, j - 1) + reaction(i, j - 1)) + (reaction(i - 1, j) + reaction(i, j))) / 4;
    }
    if (s >= centre / 2 && centre > 0)
      return set_centre(at, -(c_sw + c_s * lower + c_w * left) / s, -(c_se + c_s * (1 - lower) + c_e * right) / s,
                        -(c_nw + c_n * upper + c_w * (1 - left)) / s,
                        -(c_ne + c_n * (1 - upper) + c_e * (1 - right)) / s);
    const double to_w = gx(i - 1, j - 1) + gx(i - 1, j), to_e = gx(i, j - 1) + gx(i, j);
    const double to_s = gy(i - 1, j - 1) + gy(i, j - 1), to_n = gy(i - 1, j) + gy(i, j);
    const double sum = (to_w + to_e) + (to_s + to_n);
    set_centre(at, (to_s * lower + to_w * left) / sum, (to_s * (1 - lower) + to_e * right) / sum,
               (to_n * upper + to_w * (1 - left)) / sum, (to_n * (1 - upper) + to_e * (1 - right)) / sum);
  }
};

GridShape cells_of(const TensorMesh& mesh) { return {mesh.x().size(), mesh.y().size(), 0, 0}; }

}  // namespace

Conductances::Conductances(Context& ctx, const TensorMesh& mesh, bool with_reaction)
    : x(ctx, cells_of(mesh)), y(ctx, cells_of(mesh)) {
  if (with_reaction) reaction = Vector<double>(ctx, cells_of(mesh));
}

Conductances::Conductances(Context& ctx, const TensorMesh& mesh, const CellCoefficients& k, double constant_reaction)
    : Conductances(ctx, mesh, constant_reaction != 0 || !k.c.empty()) {
  const int nx = mesh.x().size(), ny = mesh.y().size();
  expects(k.nx == nx && k.ny == ny, "coefficients on ", k.nx, " x ", k.ny, " cells do not belong to a mesh of ", nx,
          " x ", ny);
  std::vector<double> numbers(static_cast<std::size_t>(mesh.cells()));
  const auto fill = [&](Vector<double>& to, const auto& number) {
    if (to.empty()) return;
    auto next = numbers.begin();
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i)
        *next++ = number(i, j, mesh.x().widths()[static_cast<std::size_t>(i)],
                         mesh.y().widths()[static_cast<std::size_t>(j)]);
    copy_from_host(ctx, numbers.data(), to.view());
  };
  fill(x, [&k](int i, int j, double hx, double hy) { return k.kxx(i, j) * (hy / hx); });
  fill(y, [&k](int i, int j, double hx, double hy) { return k.kyy(i, j) * (hx / hy); });
  fill(reaction,
       [&](int i, int j, double hx, double hy) { return (k.reaction(i, j) + constant_reaction) * (hx * hy); });
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

void set_network_weights(Context& ctx, const GridOperator<double>& a, const Conductances& k, Transfer<double>& p) {
  expects(p.is_weighted(), "network weights are for a transfer that has weights by cells");
  const GridShape& fine = p.fine_shape();
  const GridShape shape = k.x.shape();
  const auto w = p.weights();
  const CellLine x{shape.nx, w.intervals_x, fine.periodic_x}, y{shape.ny, w.intervals_y, fine.periodic_y};
  const auto numbers = [&fine](const Vector<double>& g) {
    return CellNumbers{g.cview(), fine.periodic_x, fine.periodic_y};
  };
  a.visit([&](const auto& view) {
    const NetworkCell<std::decay_t<decltype(view)>> cell{
        view, x, y, numbers(k.x), numbers(k.y), numbers(k.reaction), fine.nx, fine.ny, w};
    for_each_node(ctx, {-1, x.coarse + 1, 1, -1, y.coarse + 1, 1}, cell);
  });
}

}  // namespace stratum
