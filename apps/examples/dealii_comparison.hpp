#pragma once

// What the examples with deal.II have in common: a rectangle whose cells become thin, the matrix of
//
//     -div(a grad u) + c u = f
//
// on it, and the preconditioners that they compare, each of SolverCG: Stratum's cycle, deal.II's SSOR, and Trilinos' algebraic
// multigrid where deal.II has it.

#include <deal.II/base/mpi.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/base/timer.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>
#include <deal.II/numerics/vector_tools.h>
#ifdef DEAL_II_WITH_TRILINOS
#include <deal.II/lac/trilinos_precondition.h>
#endif

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stratum/dealii.hpp>

namespace example {

using namespace dealii;

/// A rectangle of 8 x 8 coarse cells, those in x each `ratio` times as wide as the one before, refined globally. Boundaries: 0
/// left, 1 right, 2 bottom, 3 top.
struct System {
  Triangulation<2> triangulation{Triangulation<2>::limit_level_difference_at_vertices};
  const FE_Q<2> fe{1};
  DoFHandler<2> dof_handler{triangulation};
  AffineConstraints<double> constraints;
  SparsityPattern sparsity_pattern;
  SparseMatrix<double> matrix;
  Vector<double> rhs;

  System(const Point<2>& lower, const Point<2>& upper, unsigned int refinements, double ratio,
         const std::vector<types::boundary_id>& dirichlet) {
    std::vector<std::vector<double>> widths(2, std::vector<double>(8, (upper[1] - lower[1]) / 8));
    double sum = 0, width = 1;
    for (double& w : widths[0]) {
      sum += w = width;
      width *= ratio;
    }
    for (double& w : widths[0]) w *= (upper[0] - lower[0]) / sum;
    GridGenerator::subdivided_hyper_rectangle(triangulation, widths, lower, upper, true);
    triangulation.refine_global(refinements);
    dof_handler.distribute_dofs(fe);
    for (const auto side : dirichlet)
      VectorTools::interpolate_boundary_values(dof_handler, side, Functions::ZeroFunction<2>(), constraints);
    constraints.close();
    DynamicSparsityPattern dsp(dof_handler.n_dofs());
    DoFTools::make_sparsity_pattern(dof_handler, dsp, constraints, true);
    sparsity_pattern.copy_from(dsp);
    matrix.reinit(sparsity_pattern);
    rhs.reinit(dof_handler.n_dofs());
  }

  [[nodiscard]] double aspect_ratio() const {
    double largest = 1;
    for (const auto& cell : triangulation.active_cell_iterators()) {
      const double x = cell->extent_in_direction(0), y = cell->extent_in_direction(1);
      largest = std::max({largest, x / y, y / x});
    }
    return largest;
  }

  /// distribute(cell, its matrix, its right-hand side) for every cell; a and f by points.
  template <class Cells, class A, class F, class Distribute>
  void assemble(const Cells& cells, const A& a, double c, const F& f, const Distribute& distribute) const {
    FEValues<2> values(fe, QGauss<2>(2),
                       update_values | update_gradients | update_quadrature_points | update_JxW_values);
    FullMatrix<double> cell_matrix(4, 4);
    Vector<double> cell_rhs(4);
    for (const auto& cell : cells) {
      values.reinit(cell);
      cell_matrix = 0;
      cell_rhs = 0;
      for (const unsigned int q : values.quadrature_point_indices()) {
        const double weight = values.JxW(q), a_here = a(values.quadrature_point(q)),
                     f_here = f(values.quadrature_point(q));
        for (const unsigned int i : values.dof_indices()) {
          for (const unsigned int j : values.dof_indices())
            cell_matrix(i, j) += (a_here * (values.shape_grad(i, q) * values.shape_grad(j, q)) +
                                  c * values.shape_value(i, q) * values.shape_value(j, q)) *
                                 weight;
          cell_rhs(i) += values.shape_value(i, q) * f_here * weight;
        }
      }
      distribute(cell, cell_matrix, cell_rhs);
    }
  }
  /// Into `matrix` and `rhs`.
  template <class A, class F>
  void assemble(const A& a, double c, const F& f) {
    std::vector<types::global_dof_index> indices(4);
    matrix = 0;
    rhs = 0;
    assemble(dof_handler.active_cell_iterators(), a, c, f,
             [&](const auto& cell, const auto& cell_matrix, const auto& cell_rhs) {
               cell->get_dof_indices(indices);
               constraints.distribute_local_to_global(cell_matrix, cell_rhs, indices, matrix, rhs);
             });
  }
};

/// A preconditioner of SolverCG.
struct Method {
  std::string name;
  std::function<void()> prepare;  // for the matrix as it is now
  std::function<void(SolverCG<Vector<double>>&, Vector<double>&, const Vector<double>&)> solve;
};

inline Method ssor(const System& system) {
  auto preconditioner = std::make_shared<PreconditionSSOR<SparseMatrix<double>>>();
  return {
      "deal.II SSOR", [&system, preconditioner] { preconditioner->initialize(system.matrix, 1.2); },
      [&system, preconditioner](auto& cg, auto& x, const auto& b) { cg.solve(system.matrix, x, b, *preconditioner); }};
}

#ifdef DEAL_II_WITH_TRILINOS
inline Method trilinos(const System& system) {
  auto preconditioner = std::make_shared<TrilinosWrappers::PreconditionAMG>();
  return {
      "Trilinos ML", [&system, preconditioner] { preconditioner->initialize(system.matrix); },
      [&system, preconditioner](auto& cg, auto& x, const auto& b) { cg.solve(system.matrix, x, b, *preconditioner); }};
}
#endif

inline Method stratum_cycle(const System& system, bool single_precision) {
  auto preconditioner = std::make_shared<stratum::DealiiPreconditioner>();
  auto made = std::make_shared<bool>(false);
  const auto prepare = [&system, single_precision, preconditioner, made] {
    if (*made) return preconditioner->update(system.matrix);
    stratum::DealiiPreconditioner::AdditionalData data;
    data.single_precision = single_precision;
    preconditioner->initialize(system.matrix, system.dof_handler, data);
    *made = true;
  };
  return {
      single_precision ? "Stratum, single precision" : "Stratum", prepare,
      [&system, preconditioner](auto& cg, auto& x, const auto& b) { cg.solve(system.matrix, x, b, *preconditioner); }};
}

/// All of them, ours first.
inline std::vector<Method> every_method(const System& system) {
  std::vector<Method> methods{stratum_cycle(system, false), stratum_cycle(system, true)};
#ifdef DEAL_II_WITH_TRILINOS
  methods.push_back(trilinos(system));
#endif
  methods.push_back(ssor(system));
  return methods;
}

inline void print_heading() {
  std::printf("%-34s %10s %12s %12s\n", "preconditioner of SolverCG", "iterations", "set-up [s]", "solve [s]");
}
inline void print_row(const std::string& name, unsigned int iterations, double setup, double solve) {
  std::printf("%-34s %10u %12.3f %12.3f\n", name.c_str(), iterations, setup, solve);
}

/// Solves by each method, residual down by 1e-8, and prints a row of the table for each. True where all converged to the same.
inline bool compare(const System& system, const std::vector<Method>& methods) {
  print_heading();
  Vector<double> first;
  bool good = true;
  for (const auto& method : methods) {
    Timer setup;
    method.prepare();
    setup.stop();
    SolverControl control(10000, 1e-8 * system.rhs.l2_norm());
    SolverCG<Vector<double>> cg(control);
    Vector<double> x(system.rhs.size());
    Timer solving;
    try {
      method.solve(cg, x, system.rhs);
    } catch (const SolverControl::NoConvergence&) {
      std::printf("%s does not converge:\n", method.name.c_str());
      good = false;
    }
    solving.stop();
    system.constraints.distribute(x);
    print_row(method.name, control.last_step(), setup.wall_time(), solving.wall_time());
    if (first.size() == 0) first = x;
    x -= first;
    good = good && x.l2_norm() <= 1e-4 * first.l2_norm();
  }
  return good;
}

/// MPI, which Trilinos needs, one thread, and errors as messages. Exit codes: 0, 1 for misuse, 2 where `run` gives false.
inline int run_program(int argc, char** argv, const std::function<bool()>& run) {
  try {
    const Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
    return run() ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace example
