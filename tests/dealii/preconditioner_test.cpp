// stratum/dealii.hpp: numbering, boundaries, components, what the preconditioner computes, and what it refuses.

// Before deal.II, whose macro Assert it could not bear.
#include <gmock/gmock.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_renumbering.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/block_sparse_matrix.h>
#include <deal.II/lac/block_vector.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>
#include <deal.II/numerics/matrix_tools.h>
#include <deal.II/numerics/vector_tools.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <stratum/dealii.hpp>

#include "support/backends.hpp"

namespace {

using stratum::DealiiPreconditioner;
using Grid = dealii::Triangulation<2>;
using Index = dealii::types::global_dof_index;
using Point = dealii::Point<2>;
using Host = dealii::Vector<double>;
using Distributed = dealii::LinearAlgebra::distributed::Vector<double>;

enum class Order { as_distributed, random, cuthill_mckee, by_component };

/// What is assembled: -div(a grad u) + velocity grad u + c u for every component, each coupled to the others by their sum.
struct Terms {
  std::function<double(const Point&)> a = [](const Point&) { return 1.0; };
  double c = 0, coupling = 0;
  dealii::Tensor<1, 2> velocity{};
  std::vector<double> factor{};  // of every component; empty: 1
};

/// On FE_Q(1), or a system of several, on any mesh. Boundaries: 0 left, 1 right, 2 bottom, 3 top.
struct Problem {
  std::unique_ptr<dealii::FiniteElement<2>> element;
  const dealii::FiniteElement<2>& fe;
  dealii::DoFHandler<2> dofs;
  dealii::AffineConstraints<double> constraints;
  dealii::SparsityPattern pattern;
  dealii::SparseMatrix<double> matrix;
  Host rhs;

  explicit Problem(Grid& grid, Order order = Order::random, unsigned int components = 1, unsigned int degree = 1)
      : element(make_element(components, degree)), fe(*element), dofs(grid) {
    dofs.distribute_dofs(fe);
    if (order == Order::random) dealii::DoFRenumbering::random(dofs);
    if (order == Order::cuthill_mckee) dealii::DoFRenumbering::Cuthill_McKee(dofs);
    if (order == Order::by_component) dealii::DoFRenumbering::component_wise(dofs);
    dealii::DoFTools::make_hanging_node_constraints(dofs, constraints);
  }
  static std::unique_ptr<dealii::FiniteElement<2>> make_element(unsigned int components, unsigned int degree) {
    if (components == 1) return std::make_unique<dealii::FE_Q<2>>(degree);
    return std::make_unique<dealii::FESystem<2>>(dealii::FE_Q<2>(degree), components);
  }
  Problem& dirichlet(const std::set<dealii::types::boundary_id>& boundaries, const dealii::ComponentMask& mask = {}) {
    const dealii::Functions::ZeroFunction<2> zero(fe.n_components());
    for (const auto side : boundaries)
      dealii::VectorTools::interpolate_boundary_values(dofs, side, zero, constraints, mask);
    return *this;
  }
  Problem& dirichlet() { return dirichlet({0, 1, 2, 3}); }
  /// The boundaries at both ends of the direction are one: those of the first are constrained, or of the last, or whichever
  /// deal.II takes.
  Problem& periodic(unsigned int direction, std::optional<bool> first = {}) {
    if (!first) {
      std::vector<dealii::GridTools::PeriodicFacePair<dealii::DoFHandler<2>::cell_iterator>> pairs;
      dealii::GridTools::collect_periodic_faces(dofs, 2 * direction, 2 * direction + 1, static_cast<int>(direction),
                                                pairs);
      dealii::DoFTools::make_periodicity_constraints<2, 2>(pairs, constraints);
      return *this;
    }
    const auto all = points();
    const auto less = [=](Index k, Index m) { return all[k][direction] < all[m][direction]; };
    std::vector<Index> order(all.size());
    std::iota(order.begin(), order.end(), Index{0});
    const auto [least, most] = std::minmax_element(order.begin(), order.end(), less);
    const double from = all[*(*first ? least : most)][direction], to = all[*(*first ? most : least)][direction];
    for (const Index k : order)
      for (const Index m : order)
        if (std::abs(all[k][direction] - from) < 1e-12 && std::abs(all[m][direction] - to) < 1e-12 &&
            std::abs(all[k][1 - direction] - all[m][1 - direction]) < 1e-12 && !constraints.is_constrained(k)) {
          constraints.add_line(k);
          constraints.add_entry(k, m, 1);
        }
    return *this;
  }
  Problem& assemble(const Terms& terms = {}) {
    constraints.close();
    dealii::DynamicSparsityPattern dsp(dofs.n_dofs());
    dealii::DoFTools::make_sparsity_pattern(dofs, dsp, constraints, true);
    pattern.copy_from(dsp);
    matrix.reinit(pattern);
    rhs.reinit(dofs.n_dofs());
    add(terms);
    return *this;
  }
  void add(const Terms& terms) {
    const unsigned int n = fe.n_dofs_per_cell();
    dealii::FEValues<2> values(fe, dealii::QGauss<2>(2),
                               dealii::update_values | dealii::update_gradients | dealii::update_quadrature_points |
                                   dealii::update_JxW_values);
    dealii::FullMatrix<double> local(n, n);
    Host local_rhs(n);
    std::vector<Index> indices(n);
    for (const auto& cell : dofs.active_cell_iterators()) {
      values.reinit(cell);
      local = 0;
      local_rhs = 0;
      for (const unsigned int q : values.quadrature_point_indices()) {
        const double weight = values.JxW(q), a = terms.a(values.quadrature_point(q));
        for (unsigned int i = 0; i < n; ++i) {
          const auto component = fe.system_to_component_index(i).first;
          const double factor = terms.factor.empty() ? 1 : terms.factor[component];
          for (unsigned int j = 0; j < n; ++j) {
            const double mass = values.shape_value(i, q) * values.shape_value(j, q);
            local(i, j) += terms.coupling * mass * weight;
            if (component != fe.system_to_component_index(j).first) continue;
            local(i, j) += factor *
                           (a * (values.shape_grad(i, q) * values.shape_grad(j, q)) + terms.c * mass +
                            values.shape_value(i, q) * (terms.velocity * values.shape_grad(j, q))) *
                           weight;
          }
          const Point& p = values.quadrature_point(q);
          local_rhs(i) += values.shape_value(i, q) * std::sin(3 * p[0] + 5 * p[1]) * weight;
        }
      }
      cell->get_dof_indices(indices);
      constraints.distribute_local_to_global(local, local_rhs, indices, matrix, rhs);
    }
  }
  [[nodiscard]] std::vector<Point> points() const {
    std::vector<Point> found(dofs.n_dofs());
    dealii::DoFTools::map_dofs_to_support_points(dealii::MappingQ1<2>(), dofs, found);
    return found;
  }
};

const std::vector<std::vector<double>> widths{{0.5, 0.3, 0.1, 0.06, 0.03, 0.01}, {0.2, 0.2, 0.3, 0.3}};

Grid& graded(Grid& grid, unsigned int refinements = 2) {
  dealii::GridGenerator::subdivided_hyper_rectangle(grid, widths, Point(-3, 7), Point(-2, 8), true);
  grid.refine_global(refinements);
  return grid;
}

Host random_vector(std::size_t n, std::uint32_t seed) {
  const auto values = test::Random(seed).values(n);
  Host v(static_cast<unsigned int>(n));
  std::copy(values.begin(), values.end(), v.begin());
  return v;
}

/// To a residual of 1e-9, which is checked.
unsigned int cg_iterations(const Problem& problem, const DealiiPreconditioner& m) {
  dealii::SolverControl control(60, 1e-9 * problem.rhs.l2_norm());
  Host x(problem.rhs.size()), r(x.size());
  dealii::SolverCG<Host>(control).solve(problem.matrix, x, problem.rhs, m);
  problem.matrix.residual(r, x, problem.rhs);
  EXPECT_LT(r.l2_norm(), 1e-8 * problem.rhs.l2_norm());
  return control.last_step();
}

unsigned int cg_iterations(const Problem& problem, const DealiiPreconditioner::AdditionalData& data = {}) {
  DealiiPreconditioner m;
  m.initialize(problem.matrix, problem.dofs, data);
  return cg_iterations(problem, m);
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const stratum::UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DealiiPreconditioner, SolvesHoweverUnknownsAreNumbered) {
  Grid grid;
  graded(grid);
  for (const auto order : {Order::as_distributed, Order::random, Order::cuthill_mckee})
    for (const bool single_precision : {false, true}) {
      DealiiPreconditioner::AdditionalData data;
      data.single_precision = single_precision;
      EXPECT_LE(cg_iterations(Problem(grid, order).dirichlet().assemble(), data), 6U);
    }
}

// Boundaries as constraints leave them: the cycle is that of the matrix that the library assembles with these boundaries.
TEST(DealiiPreconditioner, IsTheCycleOfTheAssembledHierarchy) {
  using stratum::BoundaryType;
  Grid grid;
  graded(grid);
  const auto refined = [](const std::vector<double>& coarse, std::pair<BoundaryType, BoundaryType> ends) {
    std::vector<double> fine;
    for (const double w : coarse) fine.insert(fine.end(), 4, w / 4);
    return stratum::Axis(fine).with_boundaries(ends.first, ends.second);
  };
  const std::pair<BoundaryType, BoundaryType> every[] = {{BoundaryType::dirichlet, BoundaryType::dirichlet},
                                                         {BoundaryType::neumann, BoundaryType::dirichlet},
                                                         {BoundaryType::dirichlet, BoundaryType::neumann},
                                                         {BoundaryType::neumann, BoundaryType::neumann},
                                                         {BoundaryType::periodic, BoundaryType::periodic}};
  for (const auto& along_x : every)
    for (const auto& along_y : every) {
      SCOPED_TRACE(testing::Message() << to_string(along_x.first) << " " << to_string(along_x.second) << ", "
                                      << to_string(along_y.first) << " " << to_string(along_y.second));
      Problem problem(grid);
      std::set<dealii::types::boundary_id> dirichlet;
      const auto enter = [&](const std::pair<BoundaryType, BoundaryType>& ends, unsigned int direction) {
        if (ends.first == BoundaryType::dirichlet) dirichlet.insert(2 * direction);
        if (ends.second == BoundaryType::dirichlet) dirichlet.insert(2 * direction + 1);
        if (ends.first == BoundaryType::periodic) problem.periodic(direction);
      };
      enter(along_x, 0);
      enter(along_y, 1);
      problem.dirichlet(dirichlet).assemble();
      DealiiPreconditioner m;
      DealiiPreconditioner::AdditionalData data;
      data.smoother = "adi";
      m.initialize(problem.matrix, problem.dofs, data);

      const stratum::TensorMesh<2> mesh(refined(widths[0], along_x), refined(widths[1], along_y));
      stratum::Context ctx;
      stratum::MultigridParams params;
      params.symmetric = true;
      stratum::Multigrid<double> cycle(ctx, mesh_hierarchy(mesh), stratum::StorageFormat::nine_band, params);
      const auto shape = mesh.unknowns();
      const auto points = problem.points();
      // The unknown at every node of the mesh: where two are one, that which is not constrained.
      const auto node = [](const stratum::Axis& line, double s) {
        int i = 0;
        while (std::abs(line.from_begin()[static_cast<std::size_t>(i)] - s) > 1e-12) ++i;
        return (line.is_periodic() ? i % line.size() : i) - line.first_unknown();
      };
      std::map<int, Index> unknown;
      for (Index dof = 0; dof < points.size(); ++dof) {
        const int i = node(mesh.x(), points[dof][0] + 3), j = node(mesh.y(), points[dof][1] - 7);
        if (!problem.constraints.is_constrained(dof)) {
          ASSERT_TRUE(i >= 0 && i < shape.nx && j >= 0 && j < shape.ny);
          EXPECT_TRUE(unknown.emplace(j * shape.nx + i, dof).second);
        }
      }
      ASSERT_EQ(static_cast<std::int64_t>(unknown.size()), shape.nodes());
      // As right-hand sides of a singular matrix are: the preconditioner subtracts the mean, wherever it finds it.
      const Host r = random_vector(points.size(), 5);
      Host z(r.size());
      m.vmult(z, r);
      test::Values from, found;
      for (const auto& [k, dof] : unknown) {
        from.push_back(r[dof]);
        found.push_back(z[dof]);
      }
      const auto b = test::to_device<double>(ctx, shape, from);
      stratum::Field<double> x(ctx, shape);
      cycle.apply(ctx, b.cview(), x.view());
      EXPECT_LT(reference::relative_difference(found, test::to_host(ctx, x)), 1e-10);
      for (Index dof = 0; dof < points.size(); ++dof)
        if (problem.constraints.is_constrained(dof)) {
          EXPECT_DOUBLE_EQ(z[dof], r[dof] / problem.matrix(dof, dof));
        }
    }
}

TEST(DealiiPreconditioner, SidesMayChangeKindHalfWay) {
  Grid grid;
  graded(grid, 3);
  for (const auto& cell : grid.active_cell_iterators())
    for (const auto& face : cell->face_iterators())
      if (face->at_boundary() && face->center()[0] > -2.5) face->set_boundary_id(4);
  EXPECT_LE(cg_iterations(Problem(grid).dirichlet({0, 2, 3}).assemble()), 8U);
  // Half a side is Neumann or Robin, the other two are one.
  Grid other;
  graded(other, 3);
  for (const auto& cell : other.active_cell_iterators())
    for (const auto& face : cell->face_iterators())
      if (face->at_boundary() && face->boundary_id() == 0 && face->center()[1] > 7.5) face->set_boundary_id(4);
  EXPECT_LE(cg_iterations(Problem(other).dirichlet({0}).periodic(1).assemble()), 8U);
}

// Whichever side keeps its unknowns, and where the corners of two periodic directions end up.
TEST(DealiiPreconditioner, PeriodicSidesOfEitherOrder) {
  Grid grid;
  graded(grid);
  Terms terms;
  terms.c = 1;
  for (const bool x_first : {false, true}) {
    EXPECT_LE(cg_iterations(Problem(grid).periodic(0, x_first).assemble(terms)), 7U);
    EXPECT_LE(cg_iterations(Problem(grid).periodic(1, x_first).dirichlet({1}).assemble()), 7U);
    for (const bool y_first : {false, true}) {
      EXPECT_LE(cg_iterations(Problem(grid).periodic(0, x_first).periodic(1, y_first).assemble(terms)), 7U);
      EXPECT_LE(cg_iterations(Problem(grid).periodic(1, y_first).periodic(0, x_first).assemble(terms)), 7U);
    }
  }
}

// Three cells in a periodic direction, and one between Neumann or Robin boundaries.
TEST(DealiiPreconditioner, SmallMeshes) {
  Terms terms;
  terms.c = 1;
  Grid narrow, single;
  dealii::GridGenerator::subdivided_hyper_rectangle(narrow, {3, 4}, Point(0, 0), Point(1, 1), true);
  EXPECT_LE(cg_iterations(Problem(narrow).periodic(0).assemble(terms)), 7U);
  dealii::GridGenerator::hyper_cube(single);
  EXPECT_LE(cg_iterations(Problem(single).assemble(terms)), 4U);
}

TEST(DealiiPreconditioner, SingularProblems) {
  Grid grid;
  graded(grid);
  for (const bool periodic : {false, true}) {
    Problem problem(grid);
    if (periodic) problem.periodic(0);
    problem.assemble();
    // Right-hand sides sum to zero over the unknowns.
    double sum = 0;
    for (const double b : problem.rhs) sum += b;
    const double mean = sum / (problem.dofs.n_dofs() - problem.constraints.n_constraints());
    for (Index k = 0; k < problem.dofs.n_dofs(); ++k)
      if (!problem.constraints.is_constrained(k)) problem.rhs[k] -= mean;
    EXPECT_LE(cg_iterations(problem), 7U) << periodic;
  }
}

TEST(DealiiPreconditioner, CoefficientsMayJump) {
  Grid grid;
  graded(grid, 3);
  Terms terms;
  terms.a = [](const Point& p) { return (p - Point(-2.4, 7.5)).norm() < 0.3 ? 1000.0 : 1.0; };
  EXPECT_LE(cg_iterations(Problem(grid).dirichlet().assemble(terms)), 9U);
  EXPECT_LE(cg_iterations(Problem(grid).dirichlet({2}).periodic(0).assemble(terms)), 9U);
}

TEST(DealiiPreconditioner, TakesDistributedVectors) {
  Grid grid;
  graded(grid);
  const auto problem = std::make_unique<Problem>(grid);
  problem->dirichlet().assemble();
  DealiiPreconditioner m;
  m.initialize(problem->matrix, problem->dofs);
  const Host r = random_vector(problem->dofs.n_dofs(), 6);
  Host z(r.size());
  Distributed dr(r.size()), dz(r.size());
  std::copy(r.begin(), r.end(), dr.begin());
  m.vmult(z, r);
  m.vmult(dz, dr);
  EXPECT_TRUE(std::equal(z.begin(), z.end(), dz.begin()));
  dz = 0;
  m.Tvmult(dz, dr);
  EXPECT_TRUE(std::equal(z.begin(), z.end(), dz.begin())) << "the matrix is symmetric";
}

// Each component is preconditioned as if it were alone, in whatever order unknowns come, in blocks or not.
TEST(DealiiPreconditioner, SystemsByComponents) {
  Grid grid;
  graded(grid);
  Problem alone(grid, Order::as_distributed);
  alone.dirichlet({0, 2}).assemble();
  DealiiPreconditioner single;
  single.initialize(alone.matrix, alone.dofs);
  const auto alone_points = alone.points();
  const auto key = [](const Point& p) { return std::pair(std::lround(p[0] * 1e9), std::lround(p[1] * 1e9)); };
  std::map<std::pair<long, long>, Index> at;
  for (Index k = 0; k < alone_points.size(); ++k) at[key(alone_points[k])] = k;

  Terms terms;
  terms.coupling = 0.5;
  for (const auto order : {Order::as_distributed, Order::random, Order::by_component})
    for (const bool alike : {true, false}) {
      Problem system(grid, order, 3);
      terms.factor = {1, 1, alike ? 1.0 : 5.0};
      system.dirichlet({0, 2}).assemble(terms);
      DealiiPreconditioner m;
      m.initialize(system.matrix, system.dofs);
      EXPECT_EQ(m.hierarchies(), alike ? 1 : 2);
      EXPECT_LE(cg_iterations(system, m), 9U);

      // Without what couples them.
      Terms decoupled = terms;
      decoupled.coupling = 0;
      system.matrix = 0;
      system.add(decoupled);
      m.update(system.matrix);
      const auto points = system.points();
      const Host r = random_vector(points.size(), 12);
      Host z(r.size()), r1(alone.dofs.n_dofs()), z1(r1.size());
      m.vmult(z, r);
      for (unsigned int c = 0; c < 3; ++c) {
        dealii::ComponentMask mask(3, false);
        mask.set(c, true);
        const auto own = dealii::DoFTools::extract_dofs(system.dofs, mask);
        for (const Index k : own) r1[at.at(key(points[k]))] = r[k];
        single.vmult(z1, r1);
        for (const Index k : own) {
          const Index there = at.at(key(points[k]));
          const double factor =
              system.constraints.is_constrained(k) ? system.matrix(k, k) / alone.matrix(there, there) : terms.factor[c];
          EXPECT_NEAR(z[k] * factor, z1[there], 1e-10 * z1.linfty_norm());
        }
      }

      if (order != Order::by_component) continue;
      const auto sizes = dealii::DoFTools::count_dofs_per_fe_component(system.dofs);
      dealii::BlockDynamicSparsityPattern dsp(sizes, sizes);
      dealii::DoFTools::make_sparsity_pattern(system.dofs, dsp, system.constraints, true);
      dealii::BlockSparsityPattern pattern;
      pattern.copy_from(dsp);
      dealii::BlockSparseMatrix<double> blocks(pattern);
      for (Index row = 0; row < r.size(); ++row)
        for (auto entry = system.matrix.begin(row); entry != system.matrix.end(row); ++entry)
          blocks.set(row, entry->column(), entry->value());
      DealiiPreconditioner of_blocks;
      of_blocks.initialize(blocks, system.dofs);
      EXPECT_EQ(of_blocks.hierarchies(), m.hierarchies());
      dealii::BlockVector<double> block_r(sizes), block_z(sizes);
      std::copy(r.begin(), r.end(), block_r.begin());
      of_blocks.vmult(block_z, block_r);
      EXPECT_TRUE(std::equal(z.begin(), z.end(), block_z.begin()));
    }
}

// Each component has its own sides; what becomes equal or different is found at updates, too.
TEST(DealiiPreconditioner, ComponentsOfOtherSides) {
  Grid grid;
  graded(grid);
  Problem system(grid, Order::random, 2);
  const dealii::ComponentMask first(std::vector<bool>{true, false}), second(std::vector<bool>{false, true});
  Terms terms;
  terms.coupling = 1;
  system.dirichlet({0, 1}, first).dirichlet({2}, second).assemble(terms);
  DealiiPreconditioner m;
  m.initialize(system.matrix, system.dofs);
  EXPECT_EQ(m.hierarchies(), 2);
  EXPECT_LE(cg_iterations(system, m), 9U);

  Problem alike(grid, Order::random, 2);
  alike.dirichlet().assemble();
  m.initialize(alike.matrix, alike.dofs);
  EXPECT_EQ(m.hierarchies(), 1);
  for (const double factor : {7.0, 1.0, 3.0}) {
    terms.factor = {2, factor * 2};
    terms.coupling = 0;
    alike.matrix = 0;
    alike.rhs = 0;
    alike.add(terms);
    m.update(alike.matrix);
    EXPECT_EQ(m.hierarchies(), factor == 1 ? 1 : 2);
    EXPECT_LE(cg_iterations(alike, m), 7U);
  }
}

TEST(DealiiPreconditioner, TvmultIsTheTransposeOfVmult) {
  Grid grid;
  graded(grid);
  for (const bool periodic : {false, true}) {
    Problem problem(grid);
    if (periodic) problem.periodic(0).dirichlet({2});
    if (!periodic) problem.dirichlet({0, 1, 2});
    Terms terms;
    terms.velocity[0] = 7;
    terms.velocity[1] = -4;
    terms.c = 1;
    problem.assemble(terms);
    DealiiPreconditioner m;
    m.initialize(problem.matrix, problem.dofs);
    const Host r = random_vector(problem.dofs.n_dofs(), 7), s = random_vector(problem.dofs.n_dofs(), 8);
    Host mr(r.size()), mts(r.size()), ms(r.size());
    const auto compare = [&] {
      m.vmult(mr, r);
      m.Tvmult(mts, s);
      EXPECT_NEAR(mr * s, r * mts, 1e-11 * mr.l2_norm() * s.l2_norm());
      m.vmult(ms, s);
      ms -= mts;
      EXPECT_GT(ms.l2_norm(), 1e-3 * mts.l2_norm()) << "the matrix is as good as symmetric";
    };
    compare();
    problem.matrix = 0;
    terms.velocity *= 2;
    terms.factor = {3};
    problem.add(terms);
    m.update(problem.matrix);
    compare();
    // It still approximates the inverse.
    Host residual(r.size());
    problem.matrix.residual(residual, mr, r);
    EXPECT_LT(residual.l2_norm(), 0.2 * r.l2_norm());
  }
}

TEST(DealiiPreconditioner, UpdateTakesOtherEntries) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  problem.dirichlet({1, 2}).assemble();
  DealiiPreconditioner updated, fresh;
  updated.initialize(problem.matrix, problem.dofs);
  problem.matrix *= 3;
  updated.update(problem.matrix);
  fresh.initialize(problem.matrix, problem.dofs);
  const Host r = random_vector(problem.dofs.n_dofs(), 9);
  Host z(r.size()), expected(r.size());
  updated.vmult(z, r);
  fresh.vmult(expected, r);
  EXPECT_TRUE(std::equal(z.begin(), z.end(), expected.begin()));
  Terms terms;
  terms.velocity[0] = 7;
  problem.add(terms);
  EXPECT_THAT(refusal([&] { updated.update(problem.matrix); }), testing::HasSubstr("symmetric"));
  // In the same order.
  const auto by_update = [&](Problem&& other) { return refusal([&] { fresh.update(other.assemble().matrix); }); };
  EXPECT_EQ(by_update(std::move(Problem(grid).dirichlet({1, 2}))), "accepted");
  EXPECT_THAT(by_update(std::move(Problem(grid).dirichlet({1}))), testing::HasSubstr("diagonal"));
  EXPECT_THAT(by_update(std::move(Problem(grid).dirichlet({2}).periodic(0))), testing::HasSubstr("periodic"));
}

TEST(DealiiPreconditioner, ConstrainedUnknownsAreInverted) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  // An obstacle: a few unknowns inside are given.
  const auto points = problem.points();
  std::vector<Index> given;
  for (Index k = 0; k < points.size(); ++k)
    if ((points[k] - Point(-2.5, 7.4)).norm() < 0.1) given.push_back(k);
  ASSERT_GT(given.size(), 1U);
  for (const Index k : given) problem.constraints.add_line(k);
  problem.dirichlet().assemble();
  DealiiPreconditioner m;
  m.initialize(problem.matrix, problem.dofs);
  EXPECT_LE(cg_iterations(problem, m), 7U);
  const Host r = random_vector(problem.dofs.n_dofs(), 10);
  Host z(r.size());
  m.vmult(z, r);
  for (const Index k : given) EXPECT_NEAR(z[k], r[k] / problem.matrix(k, k), 1e-12 * std::abs(z[k]));
}

// MatrixTools can leave the columns of constrained unknowns as they are.
TEST(DealiiPreconditioner, ColumnsOfConstrainedUnknownsDoNotMatter) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  problem.assemble();
  std::map<Index, double> values;
  for (const auto side : {0U, 1U, 2U})
    dealii::VectorTools::interpolate_boundary_values(problem.dofs, side, dealii::Functions::ConstantFunction<2>(2.0),
                                                     values);
  dealii::SparseMatrix<double> cleared(problem.pattern);
  cleared.copy_from(problem.matrix);
  Host x(problem.rhs.size()), b = problem.rhs;
  dealii::MatrixTools::apply_boundary_values(values, problem.matrix, x, problem.rhs, false);
  dealii::MatrixTools::apply_boundary_values(values, cleared, x, b, true);
  DealiiPreconditioner m, of_cleared;
  m.initialize(problem.matrix, problem.dofs);
  of_cleared.initialize(cleared, problem.dofs);
  const Host r = random_vector(problem.dofs.n_dofs(), 11);
  Host z(r.size()), expected(r.size());
  m.vmult(z, r);
  of_cleared.vmult(expected, r);
  expected -= z;
  EXPECT_LT(expected.l2_norm(), 1e-12 * z.l2_norm());
  for (const auto& [dof, value] : values) EXPECT_DOUBLE_EQ(z[dof] * problem.matrix(dof, dof), r[dof]);
}

TEST(DealiiPreconditionerErrors, OtherMeshesAndElementsAreRefused) {
  const auto on = [](const std::function<void(Grid&)>& make, unsigned int degree = 1) {
    return refusal([&] {
      Grid grid;
      make(grid);
      Problem problem(grid, Order::random, 1, degree);
      problem.dirichlet().assemble();
      DealiiPreconditioner().initialize(problem.matrix, problem.dofs);
    });
  };
  EXPECT_EQ(on([](Grid& g) { graded(g); }), "accepted");
  EXPECT_THAT(on([](Grid& g) { graded(g); }, 2), testing::HasSubstr("the element is FE_Q<2>(2)"));
  EXPECT_THAT(on([](Grid& g) { dealii::GridGenerator::hyper_ball(g), g.refine_global(2); }),
              testing::HasSubstr("this is no tensor-product mesh"));
  EXPECT_THAT(on([](Grid& g) { dealii::GridGenerator::hyper_L(g), g.refine_global(2); }),
              testing::HasSubstr("this is no tensor-product mesh"));
  EXPECT_THAT(on([](Grid& g) { graded(g), dealii::GridTools::distort_random(0.1, g, true); }),
              testing::HasSubstr("this is no tensor-product mesh"));
  EXPECT_THAT(on([](Grid& g) {
                graded(g, 1);
                g.begin_active()->set_refine_flag();
                g.execute_coarsening_and_refinement();
              }),
              testing::HasSubstr("not one on every crossing"));
  EXPECT_THAT(on([](Grid& g) { dealii::GridGenerator::hyper_cube(g); }), testing::HasSubstr("no unknown inside"));
  // Lines that rounding would merge.
  EXPECT_THAT(on([](Grid& g) {
                dealii::GridGenerator::subdivided_hyper_rectangle(
                    g, std::vector<std::vector<double>>{{0.5, 0.5 - 1e-15, 1e-15}, {0.5, 0.5}}, Point(0, 0),
                    Point(1, 1));
              }),
              testing::HasSubstr("closer than rounding"));
}

TEST(DealiiPreconditionerErrors, CouplingsThatAreNoneOfTheGridAreRefused) {
  Grid grid;
  graded(grid);
  Problem far(grid, Order::as_distributed);
  far.constraints.close();
  dealii::DynamicSparsityPattern dsp(far.dofs.n_dofs());
  dealii::DoFTools::make_sparsity_pattern(far.dofs, dsp);
  const auto points = far.points();
  const auto dof_at = [&](const Point& p) {
    Index k = 0;
    while (points[k].distance(p) > 1e-12) ++k;
    return k;
  };
  const Index corner = dof_at(Point(-3, 7)), middle = dof_at(Point(-2.5, 7.4)), opposite = dof_at(Point(-2, 7));
  dsp.add(corner, middle);
  dsp.add(corner, opposite);
  far.pattern.copy_from(dsp);
  far.matrix.reinit(far.pattern);
  far.rhs.reinit(far.dofs.n_dofs());
  far.add({});
  const auto refused = [&] { return refusal([&] { DealiiPreconditioner().initialize(far.matrix, far.dofs); }); };
  EXPECT_EQ(refused(), "accepted");
  far.matrix.set(corner, middle, 1);
  EXPECT_THAT(refused(), testing::AllOf(testing::HasSubstr("couples to"), testing::HasSubstr("which is no neighbour")));
  far.matrix.set(corner, middle, 0);
  far.matrix.set(corner, opposite, 1);
  EXPECT_THAT(refused(), testing::HasSubstr("are one place of a periodic grid"));
  far.matrix.set(corner, opposite, 0);
  far.matrix.set(middle, middle, 0);
  EXPECT_THAT(refused(), testing::HasSubstr("has the diagonal entry 0"));
}

TEST(DealiiPreconditionerErrors, MisuseIsRefused) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  problem.dirichlet().assemble();
  DealiiPreconditioner m;
  Host r(problem.rhs.size()), z(problem.rhs.size()), short_one(3);
  EXPECT_THAT(refusal([&] { m.vmult(z, r); }), testing::HasSubstr("call initialize first"));
  m.initialize(problem.matrix, problem.dofs);
  EXPECT_THAT(refusal([&] { m.vmult(short_one, r); }), testing::HasSubstr("the vectors hold 425 and 3"));
  dealii::SparsityPattern pattern(3, 3, 1);
  pattern.compress();
  const dealii::SparseMatrix<double> small(pattern);
  EXPECT_THAT(refusal([&] { DealiiPreconditioner().initialize(small, problem.dofs); }), testing::HasSubstr("is 3 x 3"));
  const dealii::DoFHandler<2> empty(grid);
  EXPECT_THAT(refusal([&] { m.initialize(problem.matrix, empty); }), testing::HasSubstr("distribute_dofs"));
  DealiiPreconditioner::AdditionalData data;
  data.smoother = "none";
  EXPECT_THAT(refusal([&] { m.initialize(problem.matrix, problem.dofs, data); }), testing::HasSubstr("none"));
  m.clear();
  EXPECT_THAT(refusal([&] { m.Tvmult(z, r); }), testing::HasSubstr("call initialize first"));
}

}  // namespace
