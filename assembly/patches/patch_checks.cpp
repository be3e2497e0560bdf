#include <stratum/assembly/patches/patch_checks.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <stratum/assembly/data_samples.hpp>
#include <stratum/assembly/heat_problem.hpp>
#include <stratum/assembly/patches/patch_cells.hpp>
#include <stratum/assembly/solution_range.hpp>

namespace stratum {

using namespace patch_detail;

namespace {

/// Numbers of cells, or of intervals, of parts one after the other.
class Numbers {
 public:
  void add(std::int64_t count) { ends_.push_back(count + all()); }
  [[nodiscard]] std::int64_t all() const { return ends_.empty() ? 0 : ends_.back(); }
  /// The part that has number k, and the number in it.
  [[nodiscard]] std::pair<std::size_t, int> place(std::int64_t k) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), k);
    return {static_cast<std::size_t>(end - ends_.begin()),
            static_cast<int>(end == ends_.begin() ? k : k - *std::prev(end))};
  }

 private:
  std::vector<std::int64_t> ends_{};
};

struct CellsOfPatches {
  static constexpr std::size_t D = 2;
  using P = Point;
  const std::vector<PatchNodes>& nodes;
  Numbers numbers{};

  struct CellOfPatch {
    Cell cell;
    [[nodiscard]] Point at(const std::array<double, 2>& f) const { return cell.point(f[0], f[1]); }
    [[nodiscard]] double measure(const std::array<double, 2>& f) const { return cell.det(f[0], f[1]); }
  };
  [[nodiscard]] std::int64_t count() const { return numbers.all(); }
  [[nodiscard]] CellOfPatch cell(std::int64_t k) const {
    const auto [patch, n] = numbers.place(k);
    const int nx = nodes[patch].nx;
    return {Cell(nodes[patch], n % nx, n / nx)};
  }
};

/// The intervals of one boundary.
struct IntervalsOfBoundary {
  static constexpr std::size_t D = 1;
  using P = Point;
  std::vector<EdgeOfPatch> edges{};
  Numbers numbers{};

  struct Interval {
    Position from, step;
    [[nodiscard]] Point at(const std::array<double, 1>& f) const {
      return point_at({from.x + f[0] * step.x, from.y + f[0] * step.y});
    }
    [[nodiscard]] double measure(const std::array<double, 1>& /*f*/) const { return std::hypot(step.x, step.y); }
  };
  [[nodiscard]] std::int64_t count() const { return numbers.all(); }
  [[nodiscard]] Interval cell(std::int64_t k) const {
    const auto [edge, n] = numbers.place(k);
    const EdgeOfPatch& of = edges[edge];
    return {of.nodes.at[of.node(n)], of.step(n)};
  }
};

}  // namespace

PatchProblem at_time(const PatchProblem& problem, double t) {
  PatchProblem now = problem;
  const auto bind = [t](ScalarFunction& f) {
    if (f && detail::text_of_steady(f).empty()) f = at_time(f, t);
  };
  bind(now.rhs);
  bind(now.exact);
  for (auto& [name, condition] : now.boundaries) {
    bind(condition.value);
    bind(condition.alpha);
  }
  return now;
}

std::string warning_of_data(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem, bool has_more) {
  constexpr std::int64_t most_cells = std::int64_t{1} << 21;
  if (mesh.cells() > most_cells) return {};
  std::vector<PatchNodes> nodes;
  for (int p = 0; p < mesh.patches(); ++p) nodes.push_back(mesh.nodes_of(p));
  CellsOfPatches cells{nodes};
  std::vector<IntervalsOfBoundary> boundaries(mesh.boundary_names().size());
  std::vector<const BoundaryCondition*> conditions(boundaries.size(), nullptr);
  for (int p = 0; p < mesh.patches(); ++p) {
    const PatchNodes& own = nodes[at(p)];
    cells.numbers.add(std::int64_t{own.nx} * own.ny);
    for (int local = 0; local < 4; ++local) {
      const int e = mesh.local_edges(p)[at(local)].number, b = mesh.edge(e).boundary;
      if (!mesh.edge(e).on_boundary() || b < 0) continue;
      conditions[at(b)] = &condition_of(mesh, problem, e);
      boundaries[at(b)].edges.push_back({own, local});
      boundaries[at(b)].numbers.add(local % 2 == 0 ? own.nx : own.ny);
    }
  }
  detail::DataCheck<Point> check(ctx);
  if (has_more || !problem.load.empty()) check.is_not_zero();
  check.add_integrals("the right-hand side", problem.rhs, cells, rule_of_load(layout_of(mesh)), true);
  for (std::size_t b = 0; b < boundaries.size(); ++b) {
    if (conditions[b] == nullptr) continue;
    const BoundaryCondition& condition = *conditions[b];
    const std::string name = message("boundary '", mesh.boundary_names()[b], "'");
    if (has_alpha(condition.kind)) check.add_integrals("alpha of " + name, condition.alpha, boundaries[b], gauss4);
    if (const auto g = flux_function(condition))
      check.add_integrals("g of " + name, g, boundaries[b], gauss4);
    else if (condition.kind == BoundaryConditionType::dirichlet)
      check.add_nodal("u of " + name, condition.value ? condition.value : problem.exact, boundaries[b]);
  }
  return check.warning(false);
}

std::string warning_of_vertices(const PatchMesh& mesh, const PatchProblem& problem) {
  double most = 0;
  std::string text;
  for (int v = 0; v < mesh.vertices(); ++v) {
    const Position there = mesh.vertex(v);
    std::vector<std::pair<int, double>> values;  // boundaries in their order, and u
    for (const int e : mesh.edges_of_vertex(v)) {
      if (!mesh.edge(e).on_boundary()) continue;
      const BoundaryCondition& condition = condition_of(mesh, problem, e);
      if (condition.kind != BoundaryConditionType::dirichlet) continue;
      const ScalarFunction& g = condition.value ? condition.value : problem.exact;
      values.emplace_back(mesh.edge(e).boundary, g ? g(point_at(there)) : 0.0);
    }
    std::sort(values.begin(), values.end());
    for (const auto& [boundary, value] : values) {
      const double gap = std::abs(value - values.front().second);
      if (!(gap > most)) continue;
      most = gap;
      const std::string kept = message("'", mesh.boundary_names()[at(values.front().first)], "'");
      text = message("the boundaries ", kept, " and '", mesh.boundary_names()[at(boundary)], "' differ by ", gap,
                     " at their corner (", there.x, ", ", there.y, "); it has the value of ", kept);
    }
  }
  return text;
}

PatchStep largest_step(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem, int patch,
                       std::span<const double> nodal, double least) {
  const int nx = mesh.cells_x(patch), ny = mesh.cells_y(patch);
  const auto axis = [](std::vector<double> widths) {
    const double length = std::accumulate(widths.begin(), widths.end(), 0.0);
    return Axis(std::move(widths), length);
  };
  // Of unit cells places are numbers.
  std::vector<double> in_x(at(nx), 1.0), in_y(at(ny), 1.0);
  const SolutionRange range = solution_range(ctx, TensorMesh<2>(axis(in_x), axis(in_y)), nodal);
  const double step = std::abs(range.step_to.value - range.step_from.value);
  const auto& line = range.line;
  if (!(step > least) || (line.along_x ? nx : ny) < 2) return {};
  const PatchNodes nodes = mesh.nodes_of(patch);
  const auto step_of = [&](int k) {
    return line.along_x ? nodes.step_x[at(line.j) * at(nx) + at(k)] : nodes.step_y[nodes.node(line.i, k)];
  };
  std::vector<double>& widths = line.along_x ? in_x : in_y;
  for (std::size_t k = 0; k < widths.size(); ++k) {
    const Position s = step_of(static_cast<int>(k));
    widths[k] = std::hypot(s.x, s.y);
  }
  // K along the step.
  const Position along = step_of((line.along_x ? line.i : line.j) - 1);
  const double sx = along.x / std::hypot(along.x, along.y), sy = along.y / std::hypot(along.x, along.y);
  CellCoefficients k{nx, ny, {}, {}, {}, {}};
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const CellMaterial own = material_of(problem, {patch, nx, i, j}, Cell(nodes, i, j), problem.diffusion, {});
      k.xx.push_back(own.xx * sx * sx + 2 * own.xy * sx * sy + own.yy * sy * sy);
    }
  const auto place = [&](const NodalValue& node) {
    return nodes.at[nodes.node(static_cast<int>(std::lround(node.x)), static_cast<int>(std::lround(node.y)))];
  };
  return {step, place(range.step_from), place(range.step_to),
          change_of_flux(TensorMesh<2>(axis(in_x), axis(in_y)), range, &k)};
}

}  // namespace stratum
