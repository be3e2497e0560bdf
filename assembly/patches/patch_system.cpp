#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <stratum/assembly/error_sums.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/patches/patch_cells.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/mesh/patches/patch_partition.hpp>

namespace stratum {

using namespace patch_detail;

namespace {

/// Rows j of cells in two groups, so that cells of one do not share nodes with those of another row.
template <class Body, class... Functions>
void for_each_cell_row(const Context& ctx, int rows, const Body& body, const Functions&... functions) {
  for (int parity = 0; parity < 2; ++parity)
    for_each_row(
        ctx, (rows + 1 - parity) / 2, [&](int k, const auto&... own) { body(2 * k + parity, own...); }, functions...);
}

enum class Part { all, data, mass };

double capacity_at(const ScalarFunction& capacity, const Point& centre) {
  if (!capacity) return 1;
  const double value = capacity(centre);
  expects(std::isfinite(value) && value > 0, "the capacity is ", value, " at (", centre.x, ", ", centre.y,
          "); it must be positive and finite");
  return value;
}

class Assembly {
 public:
  Assembly(Context& ctx, const PatchMesh& mesh, PatchLayout layout, const PatchProblem& problem, Part part)
      : ctx_(ctx), mesh_(mesh), problem_(problem), part_(part),
        layout_(std::move(layout)), system_{layout_, PatchRowsOnHost(layout_.size())} {}

  PatchSystem run() {
    check();
    for (auto* numbers :
         {&system_.conductances.x, &system_.conductances.y, &system_.load, &system_.boundary_values, &system_.measure})
      numbers->assign(at(layout_.size()), 0.0);
    has_reaction_ = problem_.reaction > 0 || static_cast<bool>(problem_.reaction_of_cells);
    for (int p = 0; p < layout_.patches(); ++p) {
      if (!layout_.has(p)) continue;
      const PatchNodes nodes = mesh_.nodes_of(p);
      assemble_cells(p, nodes);
      if (!problem_.load.empty()) add_load(p);
      assemble_boundaries(p, nodes);
    }
    spread_boundary_values();
    if (layout_.is_part())
      for (const int alpha : ctx_.communicator()->gather_on_host(has_alpha_ ? 1 : 0))
        has_alpha_ = has_alpha_ || alpha != 0;
    system_.singular = !has_dirichlet_ && !has_alpha_ && !has_reaction_;
    return std::move(system_);
  }

 private:
  void check() {
    stratum::check(mesh_, problem_);
    system_.fixed_edges.assign(at(mesh_.edges()), false);
    for (int e = 0; e < mesh_.edges(); ++e)
      if (mesh_.edge(e).on_boundary() && condition_of(e).kind == BoundaryConditionType::dirichlet)
        system_.fixed_edges[at(e)] = has_dirichlet_ = true;
  }
  [[nodiscard]] const BoundaryCondition& condition_of(int edge) const {
    return patch_detail::condition_of(mesh_, problem_, edge);
  }

  void assemble_cells(int number, const PatchNodes& nodes) {
    const auto& p = layout_.patch(number);
    auto& rows = system_.rows;
    const auto rule = rule_of_load(layout_);
    for_each_cell_row(
        ctx_, p.ny,
        [&](int j, const ScalarFunction& f, const ScalarFunction& diffusion, const ScalarFunction& reaction) {
          for (int i = 0; i < p.nx; ++i) {
            const Cell cell(nodes, i, j);
            bool c_is_mean = false;
            const CellMaterial material =
                part_ == Part::mass
                    ? CellMaterial{0, 0, 0, capacity_at(reaction, cell.point(0.5, 0.5))}
                    : material_of(problem_, {number, p.nx, i, j}, cell, diffusion, reaction, &c_is_mean);
            const int sw = p.node(i, j), corners[4] = {sw, sw + 1, sw + p.pitch, sw + p.pitch + 1};
            const auto add = [](std::vector<double>& v, int k, double number_) { v[at(k)] += number_; };
            if (part_ != Part::data) {
              const auto element = MappedElement::of_edges(cell.x, cell.y, material);
              add(rows.east, sw, element.entry(0, 0, 1, 0));
              add(rows.east, corners[2], element.entry(0, 1, 1, 1));
              add(rows.north, sw, element.entry(0, 0, 0, 1));
              add(rows.north, corners[1], element.entry(1, 0, 1, 1));
              add(rows.north_east, sw, element.entry(0, 0, 1, 1));
              add(rows.north_west, corners[1], element.entry(1, 0, 0, 1));
              system_.conductances.x[at(sw)] = element.along_x();
              system_.conductances.y[at(sw)] = element.along_y();
              for (const auto& [t, wt] : gauss2)
                for (const auto& [s, ws] : gauss2) {
                  const double measure = wt * ws * cell.det(t, s);
                  const auto phi = shape(t, s);
                  for (std::size_t c = 0; c < 4; ++c) {
                    add(system_.measure, corners[c], measure * phi[c]);
                    if (material.c != 0) add(rows.excess, corners[c], material.c * measure * phi[c]);
                  }
                }
            }
            if (!f) continue;
            const double mean = c_is_mean ? detail::mean_of(PointsOf{cell}, f, "right-hand side") : 0;
            for (const auto& [s, ws] : rule)
              for (const auto& [t, wt] : rule) {
                const double here = c_is_mean ? mean : evaluate(f, cell.point(t, s), "right-hand side"),
                             value = here * wt * ws * cell.det(t, s);
                const auto phi = shape(t, s);
                for (std::size_t c = 0; c < 4; ++c) add(system_.load, corners[c], value * phi[c]);
              }
          }
        },
        problem_.rhs, problem_.diffusion, problem_.reaction_of_cells);
  }

  void add_load(int number) {
    const auto& p = layout_.patch(number);
    const auto& given = problem_.load[at(number)];
    for (int j = 0; j <= p.ny; ++j)
      for (int i = 0; i <= p.nx; ++i) {
        const double value = given[at(j) * (at(p.nx) + 1) + at(i)];
        expects(std::isfinite(value), "the integral of f at node (", i, ", ", j, ") of patch ", number, " is ", value,
                "; it must be finite");
        system_.load[at(p.node(i, j))] += value;
      }
  }

  void assemble_boundaries(int number, const PatchNodes& nodes) {
    const auto& p = layout_.patch(number);
    for (int local = 0; local < 4; ++local) {
      const int e = mesh_.local_edges(number)[at(local)].number;
      if (!mesh_.edge(e).on_boundary()) continue;
      const auto& condition = condition_of(e);
      const EdgeOfPatch boundary{nodes, local};
      const int n = local % 2 == 0 ? p.nx : p.ny, stride = local % 2 == 0 ? 1 : p.pitch;
      const int first = local == 1 ? p.node(p.nx, 0) : local == 2 ? p.node(0, p.ny) : p.first;
      if (condition.kind == BoundaryConditionType::dirichlet) {
        const ScalarFunction& g = condition.value ? condition.value : problem_.exact;
        if (!g) continue;
        for (int k = 0; k <= n; ++k)
          system_.boundary_values[at(first + k * stride)] =
              evaluate(g, point_at(nodes.at[boundary.node(k)]), "boundary value");
        continue;
      }
      const bool robin = condition.kind == BoundaryConditionType::robin;
      for (int k = 0; k < n; ++k) {
        const Position from = nodes.at[boundary.node(k)], step = boundary.step(k);
        const int own = first + k * stride, next = own + stride;
        auto& band = local % 2 == 0 ? system_.rows.east : system_.rows.north;
        for (const auto& [t, weight] : gauss4) {
          const Point point = point_at({from.x + t * step.x, from.y + t * step.y});
          const double h = weight * std::hypot(step.x, step.y);
          if (condition.value) {
            const double g = evaluate(condition.value, point, "boundary value") * h;
            system_.load[at(own)] += g * (1 - t);
            system_.load[at(next)] += g * t;
          }
          if (!robin) continue;
          const double alpha = evaluate(condition.alpha, point, "alpha of a boundary");
          expects(alpha >= 0, "alpha of boundary '", mesh_.boundary_names()[at(mesh_.edge(e).boundary)], "' is ", alpha,
                  " at (", point.x, ", ", point.y, "); it must not be negative");
          has_alpha_ = has_alpha_ || alpha > 0;
          system_.rows.excess[at(own)] += alpha * h * (1 - t);
          system_.rows.excess[at(next)] += alpha * h * t;
          band[at(own)] += alpha * h * (1 - t) * t;
        }
      }
    }
  }

  /// All copies of a Dirichlet vertex get the value of the boundary with the lowest number.
  void spread_boundary_values() {
    system_.vertex_values.assign(at(mesh_.vertices()), std::numeric_limits<double>::quiet_NaN());
    for (int v = 0; v < mesh_.vertices(); ++v) {
      int best = -1;
      for (const int e : mesh_.edges_of_vertex(v)) {
        if (!system_.fixed_edges[at(e)]) continue;
        if (best < 0 || std::pair(mesh_.edge(e).boundary, e) < std::pair(mesh_.edge(best).boundary, best)) best = e;
      }
      if (best < 0) continue;
      const auto& g = condition_of(best).value ? condition_of(best).value : problem_.exact;
      const double value = g ? evaluate(g, point_at(mesh_.vertex(v)), "boundary value") : 0;
      system_.vertex_values[at(v)] = value;
      for (const auto& corner : layout_.topology().vertices[at(v)].corners)
        if (layout_.has(corner.patch)) system_.boundary_values[at(layout_.corner(corner))] = value;
    }
  }

  Context& ctx_;
  const PatchMesh& mesh_;
  const PatchProblem& problem_;
  Part part_;
  PatchLayout layout_;
  PatchSystem system_;
  bool has_dirichlet_ = false, has_alpha_ = false, has_reaction_ = false;
};

}  // namespace

void check(const PatchMesh& mesh, const PatchProblem& problem) {
  const auto& names = mesh.boundary_names();
  for (const auto& [name, condition] : problem.boundaries) {
    std::string known;
    for (const auto& n : names) known += (known.empty() ? "" : ", ") + n;
    expects(std::find(names.begin(), names.end(), name) != names.end(), "the mesh has no boundary '", shown(name),
            "'; it has ", known);
    expects(condition.kind != BoundaryConditionType::periodic, "boundary '", shown(name),
            "' of a mesh of patches cannot be periodic; join the patches instead");
    expects(condition.kind != BoundaryConditionType::robin || condition.alpha, "the Robin boundary '", shown(name),
            "' has no alpha");
  }
  expects(std::isfinite(problem.reaction) && problem.reaction >= 0,
          "the reaction must be finite and not negative, not ", problem.reaction);
  const auto patches = at(mesh.patches());
  expects(problem.diffusion_of_patches.empty() || problem.diffusion_of_patches.size() == patches, "K is given of ",
          problem.diffusion_of_patches.size(), " patches, but the mesh has ", patches);
  const auto check_cells = [&](const auto& given) {
    expects(given.empty() || given.size() == patches, "K of cells is given of ", given.size(),
            " patches, but the mesh has ", patches);
    for (std::size_t p = 0; p < given.size(); ++p) {
      const int nx = mesh.cells_x(static_cast<int>(p)), ny = mesh.cells_y(static_cast<int>(p));
      expects(given[p].size() == at(nx) * at(ny), "K of patch ", p, " has ", given[p].size(),
              " numbers, but the patch has ", nx, " x ", ny, " cells");
    }
  };
  check_cells(problem.diffusion_of_cells);
  check_cells(problem.tensor_of_cells);
  expects(problem.load.empty() || problem.load.size() == patches, "integrals of f are given of ", problem.load.size(),
          " patches, but the mesh has ", patches);
  for (std::size_t p = 0; p < problem.load.size(); ++p) {
    const int columns = mesh.cells_x(static_cast<int>(p)) + 1, rows = mesh.cells_y(static_cast<int>(p)) + 1;
    expects(problem.load[p].size() == at(columns) * at(rows), "integrals of f are given at ", problem.load[p].size(),
            " nodes of patch ", p, ", which has ", columns, " x ", rows);
  }
}

std::shared_ptr<const PatchTopology> topology_of(const PatchMesh& mesh) {
  auto t = std::make_shared<PatchTopology>();
  for (int p = 0; p < mesh.patches(); ++p) {
    PatchTopology::Patch patch{mesh.corners(p), {}};
    for (std::size_t l = 0; l < 4; ++l)
      patch.edges[l] = {mesh.local_edges(p)[l].number, mesh.local_edges(p)[l].reversed};
    t->patches.push_back(patch);
  }
  for (int e = 0; e < mesh.edges(); ++e) {
    const PatchEdge& from = mesh.edge(e);
    PatchTopology::Edge edge{from.first, from.second, from.chord, from.against_chord, {}};
    for (const auto& side : from.sides) edge.sides.push_back({side.patch, side.local});
    t->edges.push_back(edge);
  }
  for (int v = 0; v < mesh.vertices(); ++v) {
    PatchTopology::Vertex vertex{mesh.edges_of_vertex(v), {}, mesh.vertex_on_boundary(v)};
    for (const auto& corner : mesh.patches_of_vertex(v)) vertex.corners.push_back({corner.patch, corner.corner});
    t->vertices.push_back(vertex);
  }
  t->chords = mesh.chords();
  // A chord is twisted where its edges face each other in different directions.
  t->twisted.assign(at(t->chords), false);
  for (const auto& patch : t->patches)
    for (std::size_t l = 0; l < 2; ++l) {
      const auto direction = [&](const PatchTopology::LocalEdge& own) {
        return t->edges[at(own.number)].against_chord != own.reversed;
      };
      if (direction(patch.edges[l]) != direction(patch.edges[l + 2]))
        t->twisted[at(t->edges[at(patch.edges[l].number)].chord)] = true;
    }
  return t;
}

PatchLayout layout_of(const PatchMesh& mesh) {
  std::vector<int> cells;
  for (int c = 0; c < mesh.chords(); ++c) cells.push_back(mesh.chord(c).size());
  return {topology_of(mesh), std::move(cells)};
}

PatchLayout layout_of(const Context& ctx, const PatchMesh& mesh) {
  if (ctx.subdomains() == 1) return layout_of(mesh);
  std::vector<int> cells;
  for (int c = 0; c < mesh.chords(); ++c) cells.push_back(mesh.chord(c).size());
  auto ranks = std::make_shared<const std::vector<int>>(ranks_of_patches(mesh, ctx.subdomains()));
  return {topology_of(mesh), std::move(cells), {std::move(ranks), ctx.communicator()->rank()}};
}

void expect_determined(const PatchMesh& mesh, const PatchProblem& problem) {
  if (problem.reaction > 0 || problem.reaction_of_cells) return;
  std::vector<int> part(at(mesh.patches()), -1);
  std::vector<bool> held;
  for (int start = 0; start < mesh.patches(); ++start) {
    if (part[at(start)] >= 0) continue;
    std::vector<int> members{start};
    const auto number = static_cast<int>(held.size());
    part[at(start)] = number;
    held.push_back(false);
    for (std::size_t k = 0; k < members.size(); ++k) {
      for (const auto& [e, reversed] : mesh.local_edges(members[k]))
        held.back() = held.back() || (mesh.edge(e).on_boundary() &&
                                      condition_of(mesh, problem, e).kind != BoundaryConditionType::neumann);
      for (const int v : mesh.corners(members[k]))
        for (const auto& corner : mesh.patches_of_vertex(v))
          if (part[at(corner.patch)] < 0) {
            part[at(corner.patch)] = number;
            members.push_back(corner.patch);
          }
    }
  }
  if (held.size() == 1) return;
  const auto loose = std::find(held.begin(), held.end(), false);
  if (loose == held.end()) return;
  const auto patch = std::find(part.begin(), part.end(), static_cast<int>(loose - held.begin())) - part.begin();
  const Position& corner = mesh.vertex(mesh.corners(static_cast<int>(patch))[0]);
  throw UsageError(message("the mesh has ", held.size(), " parts that do not meet, and no boundary of the one at (",
                           corner.x, ", ", corner.y,
                           ") has a value or a Robin condition: u is determined up to a constant there. "
                           "Give one of these, or a reaction"));
}

PatchSystem assemble(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem) {
  return Assembly(ctx, mesh, layout_of(ctx, mesh), problem, Part::all).run();
}

PatchData assemble_data(Context& ctx, const PatchMesh& mesh, const PatchLayout& layout, const PatchProblem& problem) {
  PatchSystem system = Assembly(ctx, mesh, layout, problem, Part::data).run();
  return {std::move(system.load), std::move(system.boundary_values)};
}

PatchRowsOnHost assemble_mass(Context& ctx, const PatchMesh& mesh, const PatchLayout& layout,
                              const ScalarFunction& capacity) {
  PatchProblem alone;
  alone.reaction_of_cells = capacity;
  return Assembly(ctx, mesh, layout, alone, Part::mass).run().rows;
}

PatchErrors relative_errors(Context& ctx, const PatchMesh& mesh, const ScalarFunction& exact,
                            const std::vector<std::vector<double>>& nodal, bool modulo_constants) {
  ErrorSums all = no_error_sums();
  expects(nodal.size() == at(mesh.patches()), "values are given of ", nodal.size(), " patches, but the mesh has ",
          mesh.patches());
  for (int p = 0; p < mesh.patches(); ++p) {
    const auto& u = nodal[at(p)];
    if (u.empty() && ctx.subdomains() > 1) continue;
    const PatchNodes nodes = mesh.nodes_of(p);
    expects(u.size() == nodes.at.size(), "patch ", p, " has ", nodes.at.size(), " nodes, but ", u.size(), " values");
    std::vector<ErrorSums> rows(at(nodes.ny), no_error_sums());
    for_each_row(
        ctx, nodes.ny,
        [&](int j, const ScalarFunction& function) {
          for (int i = 0; i < nodes.nx; ++i) {
            const Cell cell(nodes, i, j);
            const double own[4] = {u[nodes.node(i, j)], u[nodes.node(i + 1, j)], u[nodes.node(i, j + 1)],
                                   u[nodes.node(i + 1, j + 1)]};
            for (const auto& [s, ws] : gauss3)
              for (const auto& [t, wt] : gauss3) {
                const auto phi = shape(t, s);
                double value = 0;
                for (std::size_t c = 0; c < 4; ++c) value += phi[c] * own[c];
                const double there = evaluate(function, cell.point(t, s), "exact solution");
                const double error = value - there, weight = wt * ws * cell.det(t, s);
                const auto field = [&](double v) { return FieldSums{weight * v * v, weight * v, 0, v, v}; };
                add(ErrorSums{field(error), field(there), weight}, rows[at(j)]);
              }
          }
        },
        exact);
    for (const ErrorSums& row : rows) add(row, all);
  }
  if (ctx.subdomains() > 1) {
    const auto of_ranks = ctx.communicator()->gather_on_host(all);
    all = no_error_sums();
    for (const ErrorSums& sums : of_ranks) add(sums, all);
  }
  const RelativeErrors found = relative(all, modulo_constants);
  return {found.l2, found.largest};
}

}  // namespace stratum
