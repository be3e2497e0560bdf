// deal.II assembles the same systems on patches: from the same quadrilaterals, and from patches that it refines by itself, with
// its own mapping, elements, Gauss points and boundary faces. Entries of matrix and load agree to rounding, and so do
// solutions, deal.II's by its sparse direct solver.

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/sparse_direct.h>
#include <deal.II/lac/sparse_matrix.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

#include "patches/meshes.hpp"
#include "support/backends.hpp"

namespace {

using namespace stratum;

std::size_t at(int k) { return static_cast<std::size_t>(k); }

/// A node by where it lies.
using Node = std::pair<long long, long long>;
Node node_at(double x, double y) {
  constexpr double cells_per_unit = 1e9, beside = 0.123;  // no coordinate of these meshes is rounded both ways
  return {std::llround(cells_per_unit * x + beside), std::llround(cells_per_unit * y + beside)};
}

/// A x = b with all rows natural, and the values of Dirichlet nodes.
struct System {
  std::map<std::pair<Node, Node>, double> matrix;
  std::map<Node, double> load, fixed;
};

System of_stratum(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem) {
  const PatchSystem from = assemble(ctx, mesh, problem);
  const PatchRowsOnHost& rows = from.rows;
  const PatchBands<double> bands{rows.excess.data(), rows.east.data(), rows.north.data(), rows.north_east.data(),
                                 rows.north_west.data()};
  System system;
  for (int p = 0; p < mesh.patches(); ++p) {
    const PatchNodes nodes = mesh.nodes_of(p);
    const auto& patch = from.layout.patch(p);
    const auto name = [&](int i, int j) {
      const Position& there = nodes.at[nodes.node(i, j)];
      return node_at(there.x, there.y);
    };
    for (int j = 0; j <= patch.ny; ++j)
      for (int i = 0; i <= patch.nx; ++i) {
        const int k = patch.node(i, j);
        const auto row = bands.row(k, patch.pitch);
        const Node own = name(i, j);
        double diagonal = row.excess;
        for (int dj = -1; dj <= 1; ++dj)
          for (int di = -1; di <= 1; ++di) {
            if ((di == 0 && dj == 0) || i + di < 0 || i + di > patch.nx || j + dj < 0 || j + dj > patch.ny) continue;
            system.matrix[{own, name(i + di, j + dj)}] += row.to[dj + 1][di + 1];
            diagonal -= row.to[dj + 1][di + 1];
          }
        system.matrix[{own, own}] += diagonal;
        system.load[own] += from.load[at(k)];
      }
    for (int l = 0; l < 4; ++l) {
      const int e = mesh.local_edges(p)[at(l)].number;
      if (!from.fixed_edges[at(e)]) continue;
      const int n = mesh.cells_of_edge(e);
      for (int k = 0; k <= n; ++k) {
        const int i = l == 0 || l == 2 ? k : l == 1 ? patch.nx : 0, j = l == 1 || l == 3 ? k : l == 2 ? patch.ny : 0;
        system.fixed[name(i, j)] = from.boundary_values[at(patch.node(i, j))];
      }
    }
  }
  return system;
}

class DealII {
 public:
  /// Cells between given nodes, one for each of the patches', or the patches themselves, which deal.II refines.
  DealII(const PatchMesh& mesh, const PatchProblem& problem, int refinements) : mesh_(mesh), problem_(problem) {
    std::vector<dealii::Point<2>> vertices;
    std::map<Node, unsigned int> numbers;
    const auto number = [&](const Position& p) {
      const auto [found, is_new] = numbers.emplace(node_at(p.x, p.y), static_cast<unsigned int>(vertices.size()));
      if (is_new) vertices.emplace_back(p.x, p.y);
      return found->second;
    };
    std::vector<dealii::CellData<2>> cells;
    dealii::SubCellData boundaries;
    const auto add_line = [&](const Position& p, const Position& q, int boundary) {
      auto& line = boundaries.boundary_lines.emplace_back();
      line.vertices = {number(p), number(q)};
      line.boundary_id = static_cast<dealii::types::boundary_id>(boundary);
    };
    for (int p = 0; p < mesh.patches(); ++p) {
      const PatchNodes nodes = mesh.nodes_of(p);
      const int nx = refinements > 0 ? 1 : nodes.nx, ny = refinements > 0 ? 1 : nodes.ny;
      const int along = nodes.nx / nx, up = nodes.ny / ny;
      const auto node = [&](int i, int j) -> const Position& { return nodes.at[nodes.node(along * i, up * j)]; };
      for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i) {
          auto& cell = cells.emplace_back();
          cell.vertices = {number(node(i, j)), number(node(i + 1, j)), number(node(i, j + 1)),
                           number(node(i + 1, j + 1))};
          cell.material_id = static_cast<dealii::types::material_id>(p);
        }
      for (int l = 0; l < 4; ++l) {
        const PatchEdge& edge = mesh.edge(mesh.local_edges(p)[at(l)].number);
        if (!edge.on_boundary()) continue;
        const bool in_x = l == 0 || l == 2;
        for (int k = 0; k < (in_x ? nx : ny); ++k) {
          const auto end = [&](int m) { return in_x ? node(m, l == 0 ? 0 : ny) : node(l == 3 ? 0 : nx, m); };
          add_line(end(k), end(k + 1), edge.boundary);
        }
      }
    }
    dealii::GridTools::consistently_order_cells(cells);
    triangulation_.create_triangulation(vertices, cells, boundaries);
    triangulation_.refine_global(static_cast<unsigned int>(refinements));
    dofs_.reinit(triangulation_);
    dofs_.distribute_dofs(element_);
    assemble();
  }

  [[nodiscard]] const System& system() const { return system_; }

  /// u at all nodes.
  [[nodiscard]] std::map<Node, double> solution() const {
    dealii::DynamicSparsityPattern pattern(dofs_.n_dofs());
    dealii::DoFTools::make_sparsity_pattern(dofs_, pattern);
    dealii::SparsityPattern sparsity;
    sparsity.copy_from(pattern);
    dealii::SparseMatrix<double> a(sparsity);
    dealii::Vector<double> b(dofs_.n_dofs());
    const auto& fixed = system_.fixed;
    for (const auto& [node, load] : system_.load) b(dof_.at(node)) = fixed.contains(node) ? fixed.at(node) : load;
    for (const auto& [entry, value] : system_.matrix) {
      const auto& [row, column] = entry;
      if (fixed.contains(row)) {
        if (row == column) a.set(dof_.at(row), dof_.at(row), 1);
      } else if (fixed.contains(column)) {
        b(dof_.at(row)) -= value * fixed.at(column);
      } else {
        a.set(dof_.at(row), dof_.at(column), value);
      }
    }
    dealii::SparseDirectUMFPACK direct;
    direct.initialize(a);
    direct.solve(b);
    std::map<Node, double> u;
    for (const auto& [node, dof] : dof_) u[node] = b(dof);
    return u;
  }

 private:
  void assemble() {
    using namespace dealii;
    FEValues<2> values(element_, QGauss<2>(2), update_values | update_gradients | update_JxW_values);
    FEValues<2> load_values(element_, QGauss<2>(4), update_values | update_quadrature_points | update_JxW_values);
    FEFaceValues<2> face_values(element_, QGauss<1>(4), update_values | update_quadrature_points | update_JxW_values);
    const auto at_point = [](const dealii::Point<2>& p) { return stratum::Point{.x = p[0], .y = p[1]}; };
    for (const auto& cell : dofs_.active_cell_iterators()) {
      values.reinit(cell);
      load_values.reinit(cell);
      const double k =
          problem_.diffusion_of_patches[cell->material_id()] * problem_.diffusion(at_point(cell->center()));
      FullMatrix<double> local(4, 4);
      Vector<double> load(4);
      for (const unsigned int p : values.dof_indices()) {
        for (const unsigned int q : values.dof_indices())
          for (const unsigned int point : values.quadrature_point_indices())
            local(p, q) += (k * (values.shape_grad(p, point) * values.shape_grad(q, point)) +
                            problem_.reaction * values.shape_value(p, point) * values.shape_value(q, point)) *
                           values.JxW(point);
        for (const unsigned int point : load_values.quadrature_point_indices())
          load(p) += problem_.rhs(at_point(load_values.quadrature_point(point))) * load_values.shape_value(p, point) *
                     load_values.JxW(point);
      }
      std::vector<Node> nodes;
      for (const unsigned int p : values.dof_indices()) {
        nodes.push_back(node_at(cell->vertex(p)[0], cell->vertex(p)[1]));
        dof_[nodes.back()] = cell->vertex_dof_index(p, 0);
      }
      for (const unsigned int f : cell->face_indices())
        if (cell->face(f)->at_boundary()) {
          face_values.reinit(cell, f);
          const auto& condition = problem_.boundaries.at(mesh_.boundary_names()[cell->face(f)->boundary_id()]);
          if (condition.kind == BoundaryConditionType::dirichlet) {
            for (const unsigned int v : {0U, 1U}) {
              const dealii::Point<2>& there = cell->face(f)->vertex(v);
              system_.fixed[node_at(there[0], there[1])] = condition.value(at_point(there));
            }
            continue;
          }
          for (const unsigned int point : face_values.quadrature_point_indices()) {
            const stratum::Point there = at_point(face_values.quadrature_point(point));
            const double w = face_values.JxW(point), alpha = condition.alpha ? condition.alpha(there) : 0;
            for (const unsigned int p : face_values.dof_indices()) {
              load(p) += w * condition.value(there) * face_values.shape_value(p, point);
              for (const unsigned int q : face_values.dof_indices())
                local(p, q) += w * alpha * face_values.shape_value(p, point) * face_values.shape_value(q, point);
            }
          }
        }
      for (const unsigned int p : values.dof_indices()) {
        system_.load[nodes[p]] += load(p);
        for (const unsigned int q : values.dof_indices()) system_.matrix[{nodes[p], nodes[q]}] += local(p, q);
      }
    }
  }

  const PatchMesh& mesh_;
  const PatchProblem& problem_;
  dealii::Triangulation<2> triangulation_;
  const dealii::FE_Q<2> element_{1};
  dealii::DoFHandler<2> dofs_;
  System system_;
  std::map<Node, dealii::types::global_dof_index> dof_;
};

/// The largest difference beside the largest number of each row; all numbers are there twice.
double difference(const System& ours, const System& theirs) {
  EXPECT_EQ(ours.matrix.size(), theirs.matrix.size());
  EXPECT_EQ(ours.load.size(), theirs.load.size());
  EXPECT_EQ(ours.fixed.size(), theirs.fixed.size());
  double most = 0, largest_load = 0;
  for (const auto& [entry, value] : theirs.matrix) {
    const auto found = ours.matrix.find(entry);
    if (found == ours.matrix.end()) return HUGE_VAL;
    most = std::max(most, std::abs(found->second - value) / theirs.matrix.at({entry.first, entry.first}));
  }
  for (const auto& [node, value] : theirs.load) largest_load = std::max(largest_load, std::abs(value));
  for (const auto& [node, value] : theirs.load) {
    const auto found = ours.load.find(node);
    if (found == ours.load.end()) return HUGE_VAL;
    most = std::max(most, std::abs(found->second - value) / largest_load);
  }
  for (const auto& [node, value] : theirs.fixed) {
    const auto found = ours.fixed.find(node);
    if (found == ours.fixed.end()) return HUGE_VAL;
    most = std::max(most, std::abs(found->second - value));
  }
  return most;
}

TEST(DealIIOnPatches, AssemblesAndSolvesTheSame) {
  struct Case {
    std::string name;
    PatchMeshParts parts;
    int refinements;   // of the patches by deal.II; 0: it takes the cells
    double tolerance;  // widths of thin cells are differences of coordinates there
  };
  const std::vector<Case> cases{{"L", test::with_cells(l_shape(), 8), 3, 1e-13},
                                {"hole", test::with_cells(square_with_hole(), 4), 2, 1e-13},
                                {"star 3", test::with_cells(star(3), 8), 3, 1e-13},
                                {"star 5", test::with_cells(star(5), 8), 3, 1e-13},
                                {"triangles", test::with_cells(triangle_patches(2, 7), 4), 2, 1e-13},
                                {"cylinder", test::with_cells(cylinder_in_channel(), 6), 0, 1e-12},
                                {"pipe section", test::with_cells(pipe_section(), 7), 0, 1e-12},
                                {"C-grid", test::with_cells(c_grid(), 6), 0, 1e-12},
                                {"ring", test::with_cells(patch_ring(3), 5), 0, 1e-12},
                                {"L, corner 1e-6", test::thin_at_origin(l_shape(), 16), 0, 1e-12},
                                {"star 5, centre 1e-6", test::thin_at_origin(star(5), 12), 0, 1e-9},
                                {"pipe section, wall 1e-3", test::thin_at_wall(pipe_section(), 8, 1e-3), 0, 1e-11}};
  Context ctx = test::context_on(Backend::cpu);
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const PatchMesh mesh(turned_at_random(c.parts, 7));
    PatchProblem problem;
    problem.rhs = [](const Point& p) { return 1 + std::sin(7 * p.x + 3 * p.y); };
    for (int p = 0; p < mesh.patches(); ++p) problem.diffusion_of_patches.push_back(1 + p % 3);
    problem.diffusion = [](const Point& p) { return 2 + std::cos(5 * p.x - p.y); };
    problem.reaction = 3;
    // Each kind of condition, as far as there are boundaries.
    const auto g = [](const Point& p) { return p.x * p.x - std::sin(p.y); };
    for (std::size_t k = 0; k < mesh.boundary_names().size(); ++k) {
      BoundaryCondition& condition = problem.boundaries[mesh.boundary_names()[k]];
      condition.kind = k % 3 == 0   ? BoundaryConditionType::dirichlet
                       : k % 3 == 1 ? BoundaryConditionType::robin
                                    : BoundaryConditionType::neumann;
      condition.value = g;
      if (k % 3 == 1) condition.alpha = [](const Point& p) { return 2 + std::cos(4 * p.x + p.y); };
    }
    const DealII theirs(mesh, problem, c.refinements);
    EXPECT_LE(difference(of_stratum(ctx, mesh, problem), theirs.system()), c.tolerance);

    const auto u = theirs.solution();
    PatchSolverParams params;
    params.stop.rtol = 1e-13;
    PatchPoissonSolver solver(ctx, mesh, problem, params);
    const SolveReport report = solver.solve();
    EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
    double largest = 0, apart = 0;
    std::set<Node> seen;
    for (int p = 0; p < mesh.patches(); ++p) {
      const PatchNodes nodes = mesh.nodes_of(p);
      const auto own = solver.nodal_solution(p);
      for (std::size_t k = 0; k < own.size(); ++k) {
        const Node node = node_at(nodes.at[k].x, nodes.at[k].y);
        ASSERT_TRUE(u.contains(node));
        seen.insert(node);
        largest = std::max(largest, std::abs(u.at(node)));
        apart = std::max(apart, std::abs(u.at(node) - own[k]));
      }
    }
    EXPECT_EQ(seen.size(), u.size());
    EXPECT_LE(apart, 100 * c.tolerance * largest);
  }
}

}  // namespace
