#include <stratum/assembly/patches/patch_fluxes.hpp>

#include <algorithm>
#include <numeric>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/patches/patch_cells.hpp>
#include <stratum/core/comm/communicator.hpp>

namespace stratum {

using namespace patch_detail;

namespace {

class Fluxes {
 public:
  Fluxes(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem)
      : ctx_(ctx), mesh_(mesh), problem_(problem), layout_(layout_of(ctx, mesh)) {
    found_.boundaries.assign(mesh.boundary_names().size(), 0.0);
    of_vertex_.resize(at(mesh.vertices()));
    for (int v = 0; v < mesh.vertices(); ++v)
      for (const int e : mesh.edges_of_vertex(v)) {
        if (!is_fixed(e)) continue;
        auto& own = of_vertex_[at(v)];
        const int boundary = mesh.edge(e).boundary;
        if (std::find(own.begin(), own.end(), boundary) == own.end()) own.push_back(boundary);
      }
  }

  PatchFluxes run(const std::function<std::vector<double>(int)>& nodal) {
    const bool reacts = problem_.reaction > 0 || static_cast<bool>(problem_.reaction_of_cells);
    for (int p = 0; p < mesh_.patches(); ++p) {
      if (!layout_.has(p)) continue;
      const PatchNodes nodes = mesh_.nodes_of(p);
      const std::vector<double> u = nodal(p);
      expects(u.size() == nodes.at.size(), "patch ", p, " has ", nodes.at.size(), " nodes, but ", u.size(), " values");
      add_residuals(p, nodes, u);
      for (int local = 0; local < 4; ++local) add_edge(p, local, nodes, u);
      if (reacts) add_reaction(p, nodes, u);
    }
    for (double& flux : found_.boundaries) flux = sum_of(flux);
    for (double* number : {&found_.magnitudes, &found_.reaction, &found_.from_data, &found_.rounding})
      *number = sum_of(*number);
    return found_;
  }

 private:
  [[nodiscard]] double sum_of(double own) const {
    if (ctx_.subdomains() == 1) return own;
    const auto all = ctx_.communicator()->gather_on_host(own);
    return std::accumulate(all.begin(), all.end(), 0.0);
  }
  [[nodiscard]] bool is_fixed(int e) const {
    return mesh_.edge(e).on_boundary() && condition_of(mesh_, problem_, e).kind == BoundaryConditionType::dirichlet;
  }
  void add(int boundary, double flux) {
    if (boundary < 0) return;
    found_.boundaries[at(boundary)] += flux;
    found_.magnitudes += std::abs(flux);
  }

  /// Boundaries of a node of a patch that is fixed; none of others.
  [[nodiscard]] std::vector<int> boundaries_of(int p, int nx, int ny, int i, int j) const {
    const auto& corners = mesh_.corners(p);
    const bool left = i == 0, right = i == nx, bottom = j == 0, top = j == ny;
    if ((left || right) && (bottom || top))
      return of_vertex_[at(corners[bottom ? (left ? 0U : 1U) : (left ? 3U : 2U)])];
    for (const auto& [here, local] : {std::pair(bottom, 0U), {right, 1U}, {top, 2U}, {left, 3U}})
      if (const int e = mesh_.local_edges(p)[local].number; here && is_fixed(e)) return {mesh_.edge(e).boundary};
    return {};
  }

  /// What the cells of a patch give to the residuals of fixed nodes.
  void add_residuals(int p, const PatchNodes& nodes, const std::vector<double>& u) {
    const auto rule = rule_of_load(layout_);
    const auto& given = problem_.load;
    const int nx = nodes.nx, ny = nodes.ny;
    for (int j = 0; j < ny; ++j) {
      const bool whole = j == 0 || j == ny - 1;
      for (int i = 0; i < nx; i = whole || i == nx - 1 ? i + 1 : nx - 1) {
        const int x[4] = {i, i + 1, i, i + 1}, y[4] = {j, j, j + 1, j + 1};
        std::vector<int> boundaries[4];
        bool some = false;
        for (std::size_t c = 0; c < 4; ++c) {
          boundaries[c] = boundaries_of(p, nx, ny, x[c], y[c]);
          some = some || !boundaries[c].empty();
        }
        if (!some) continue;
        const Cell cell(nodes, i, j);
        bool c_is_mean = false;
        const CellMaterial material =
            material_of(problem_, {p, nx, i, j}, cell, problem_.diffusion, problem_.reaction_of_cells, &c_is_mean);
        const auto element = MappedElement::of_edges(cell.x, cell.y, material);
        double value[4], of_load[4] = {};
        for (std::size_t c = 0; c < 4; ++c) value[c] = u[nodes.node(x[c], y[c])];
        for (const auto& [s, ws] : gauss2)
          for (const auto& [t, wt] : gauss2) {
            const double measure = material.c * wt * ws * cell.det(t, s);
            const auto phi = shape(t, s);
            // The sum of a row; the rest of c is in the differences.
            for (std::size_t c = 0; c < 4; ++c) of_load[c] -= measure * phi[c] * value[c];
          }
        const double mean =
            problem_.rhs && c_is_mean ? detail::mean_of(PointsOf{cell}, problem_.rhs, "right-hand side") : 0;
        if (problem_.rhs)
          for (const auto& [s, ws] : rule)
            for (const auto& [t, wt] : rule) {
              const double here = c_is_mean ? mean : evaluate(problem_.rhs, cell.point(t, s), "right-hand side"),
                           f = here * wt * ws * cell.det(t, s);
              const auto phi = shape(t, s);
              for (std::size_t c = 0; c < 4; ++c) of_load[c] += f * phi[c];
            }
        for (std::size_t c = 0; c < 4; ++c) {
          if (boundaries[c].empty()) continue;
          found_.magnitudes += std::abs(of_load[c]);
          double residual = -of_load[c];
          for (std::size_t d = 0; d < 4; ++d) {
            if (d == c) continue;
            const double entry = element.entry(x[c] - i, y[c] - j, x[d] - i, y[d] - j);
            residual += entry * (value[d] - value[c]);
            found_.rounding +=
                std::numeric_limits<double>::epsilon() * std::abs(entry) * (std::abs(value[d]) + std::abs(value[c]));
          }
          for (const int boundary : boundaries[c]) add(boundary, -residual / static_cast<double>(boundaries[c].size()));
        }
      }
    }
    if (given.empty()) return;
    for (int j = 0; j <= ny; ++j)
      for (int i = 0; i <= nx; i = j == 0 || j == ny || i == nx ? i + 1 : nx) {
        const auto boundaries = boundaries_of(p, nx, ny, i, j);
        for (const int boundary : boundaries)
          add(boundary, given[at(p)][nodes.node(i, j)] / static_cast<double>(boundaries.size()));
      }
  }

  /// Vertices at the first and the last node of a local edge.
  [[nodiscard]] std::array<int, 2> corners_of(int p, int local) const {
    const auto& corners = mesh_.corners(p);
    constexpr std::size_t ends[4][2] = {{0, 1}, {1, 2}, {3, 2}, {0, 3}};
    return {corners[ends[at(local)][0]], corners[ends[at(local)][1]]};
  }
  void give_back(int vertex, double flux) {
    const auto& boundaries = of_vertex_[at(vertex)];
    for (const int boundary : boundaries) add(boundary, -flux / static_cast<double>(boundaries.size()));
  }

  void add_edge(int p, int local, const PatchNodes& nodes, const std::vector<double>& u) {
    const int e = mesh_.local_edges(p)[at(local)].number;
    if (!mesh_.edge(e).on_boundary()) return;
    const auto& condition = condition_of(mesh_, problem_, e);
    const int boundary = mesh_.edge(e).boundary, n = local % 2 == 0 ? nodes.nx : nodes.ny;
    const EdgeOfPatch edge{nodes, local};
    if (condition.kind == BoundaryConditionType::dirichlet) {
      for (const bool last : {false, true}) {
        const auto& others = of_vertex_[at(corners_of(p, local)[last ? 1 : 0])];
        if (others.size() < 2) continue;
        // Its own part, and what is left of the vertex for each.
        const double flux = flux_of_end(p, local, last, nodes, u);
        add(boundary, -flux);
        for (const int other : others) add(other, flux / static_cast<double>(others.size()));
      }
      return;
    }
    for (int k = 0; k < n; ++k) {
      const Position from = nodes.at[edge.node(k)], step = edge.step(k);
      const double first = u[edge.node(k)], second = u[edge.node(k + 1)];
      for (const auto& [t, weight] : gauss4) {
        const Point point = point_at({from.x + t * step.x, from.y + t * step.y});
        const double h = weight * std::hypot(step.x, step.y);
        const double g = condition.value ? evaluate(condition.value, point, "boundary value") * h : 0;
        found_.from_data += g;
        double flux = -g;
        if (condition.kind == BoundaryConditionType::robin)
          flux += evaluate(condition.alpha, point, "alpha of a boundary") * h * (first + t * (second - first));
        // Residuals of fixed nodes at either end are without this.
        if (k == 0) give_back(corners_of(p, local)[0], flux * (1 - t));
        if (k == n - 1) give_back(corners_of(p, local)[1], flux * t);
        add(boundary, flux);
      }
    }
  }

  /// The integral of phi_i n.K grad u_h over the first or last interval of an edge, i: the node at its end.
  [[nodiscard]] double flux_of_end(int p, int local, bool last, const PatchNodes& nodes,
                                   const std::vector<double>& u) const {
    const bool in_x = local % 2 == 0;
    const int k = last ? (in_x ? nodes.nx : nodes.ny) - 1 : 0;
    const int i = in_x ? k : (local == 1 ? nodes.nx - 1 : 0), j = in_x ? (local == 2 ? nodes.ny - 1 : 0) : k;
    const Cell cell(nodes, i, j);
    const CellMaterial material =
        material_of(problem_, {p, nodes.nx, i, j}, cell, problem_.diffusion, problem_.reaction_of_cells);
    const double sw = u[nodes.node(i, j)], se = u[nodes.node(i + 1, j)], nw = u[nodes.node(i, j + 1)],
                 ne = u[nodes.node(i + 1, j + 1)];
    double sum = 0;
    for (const auto& [along, weight] : gauss4) {
      const double t = in_x ? along : (local == 1 ? 1 : 0), s = in_x ? (local == 2 ? 1 : 0) : along;
      const auto blend = [](double q, double a, double b) { return a + q * (b - a); };
      const double xt = blend(s, cell.x.bottom, cell.x.top), yt = blend(s, cell.y.bottom, cell.y.top),
                   xs = blend(t, cell.x.left, cell.x.right), ys = blend(t, cell.y.left, cell.y.right),
                   ut = blend(s, se - sw, ne - nw), us = blend(t, nw - sw, ne - se), det = xt * ys - xs * yt;
      // K times det J times the rows of J^-1, as in assembly/mapped_element.hpp. Outward at s = 0 and at t = 0.
      const double tx = material.xx * ys - material.xy * xs, ty = material.xy * ys - material.yy * xs,
                   sx = material.xy * xt - material.xx * yt, sy = material.yy * xt - material.xy * yt;
      double normal = in_x ? (yt * tx - xt * ty) * ut - (xt * sy - yt * sx) * us
                           : (xs * sy - ys * sx) * us - (ys * tx - xs * ty) * ut;
      if (local == 1 || local == 2) normal = -normal;
      sum += weight * (last ? along : 1 - along) * normal / det;
    }
    return sum;
  }

  void add_reaction(int p, const PatchNodes& nodes, const std::vector<double>& u) {
    for (int j = 0; j < nodes.ny; ++j)
      for (int i = 0; i < nodes.nx; ++i) {
        const Cell cell(nodes, i, j);
        const CellMaterial material =
            material_of(problem_, {p, nodes.nx, i, j}, cell, problem_.diffusion, problem_.reaction_of_cells);
        const double value[4] = {u[nodes.node(i, j)], u[nodes.node(i + 1, j)], u[nodes.node(i, j + 1)],
                                 u[nodes.node(i + 1, j + 1)]};
        for (const auto& [s, ws] : gauss2)
          for (const auto& [t, wt] : gauss2) {
            const auto phi = shape(t, s);
            for (std::size_t c = 0; c < 4; ++c) {
              const double of_node = material.c * wt * ws * cell.det(t, s) * phi[c] * value[c];
              found_.reaction += of_node;
              found_.magnitudes += std::abs(of_node);
            }
          }
      }
  }

  Context& ctx_;
  const PatchMesh& mesh_;
  const PatchProblem& problem_;
  PatchLayout layout_;
  PatchFluxes found_;
  std::vector<std::vector<int>> of_vertex_;  // Dirichlet boundaries of each vertex
};

}  // namespace

double PatchFluxes::sum() const { return std::accumulate(boundaries.begin(), boundaries.end(), reaction); }

PatchFluxes patch_fluxes(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem,
                         const std::function<std::vector<double>(int)>& nodal) {
  return Fluxes(ctx, mesh, problem).run(nodal);
}

}  // namespace stratum
