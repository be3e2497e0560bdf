// -Laplace u = 1 on the unit square, zero on its sides, on a mesh whose cells become thin towards x = 1: conjugate gradients with
// deal.II's SSOR, with deal.II's geometric multigrid (as in its step-16), and with Stratum's cycle; iterations and seconds side
// by side. Times of the set-up include each preconditioner's own matrices.
//
//     dealii_anisotropic [refinements = 4] [ratio = 0.25]
//
// The coarse mesh has 8 x 8 cells, those in x each `ratio` times as wide as the one before; every refinement halves them all.

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
#include <deal.II/multigrid/mg_coarse.h>
#include <deal.II/multigrid/mg_constrained_dofs.h>
#include <deal.II/multigrid/mg_matrix.h>
#include <deal.II/multigrid/mg_smoother.h>
#include <deal.II/multigrid/mg_tools.h>
#include <deal.II/multigrid/mg_transfer.h>
#include <deal.II/multigrid/multigrid.h>
#include <deal.II/numerics/vector_tools.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stratum/dealii.hpp>

using namespace dealii;

class AnisotropicPoisson {
 public:
  AnisotropicPoisson(unsigned int refinements, double ratio);
  bool run();

 private:
  /// Solves the system with one preconditioner, which it owns.
  using Solve = std::function<void(SolverCG<Vector<double>>&)>;

  void make_grid();
  void setup_system();
  void assemble_system();
  template <class Cells, class Distribute>
  void assemble(const Cells& cells, const Distribute& distribute);
  bool solve(const std::string& name, const std::function<Solve()>& prepare);
  Solve prepare_ssor();
  Solve prepare_geometric_multigrid();
  Solve prepare_stratum(bool single_precision);

  const unsigned int refinements;
  const double ratio;
  Triangulation<2> triangulation;
  const FE_Q<2> fe{1};
  DoFHandler<2> dof_handler;
  AffineConstraints<double> constraints;
  SparsityPattern sparsity_pattern;
  SparseMatrix<double> system_matrix;
  Vector<double> solution, first_solution, system_rhs;
};

AnisotropicPoisson::AnisotropicPoisson(unsigned int refinements_, double ratio_)
    : refinements(refinements_), ratio(ratio_), triangulation(Triangulation<2>::limit_level_difference_at_vertices),
      dof_handler(triangulation) {}

void AnisotropicPoisson::make_grid() {
  std::vector<std::vector<double>> widths(2, std::vector<double>(8, 0.125));
  double sum = 0, width = 1;
  for (double& w : widths[0]) {
    sum += w = width;
    width *= ratio;
  }
  for (double& w : widths[0]) w /= sum;
  GridGenerator::subdivided_hyper_rectangle(triangulation, widths, Point<2>(0, 0), Point<2>(1, 1));
  triangulation.refine_global(refinements);
}

void AnisotropicPoisson::setup_system() {
  dof_handler.distribute_dofs(fe);
  constraints.clear();
  VectorTools::interpolate_boundary_values(dof_handler, 0, Functions::ZeroFunction<2>(), constraints);
  constraints.close();
  DynamicSparsityPattern dsp(dof_handler.n_dofs());
  DoFTools::make_sparsity_pattern(dof_handler, dsp, constraints, false);
  sparsity_pattern.copy_from(dsp);
  system_matrix.reinit(sparsity_pattern);
  solution.reinit(dof_handler.n_dofs());
  system_rhs.reinit(dof_handler.n_dofs());
}

/// distribute(cell, matrix, right-hand side) for every cell.
template <class Cells, class Distribute>
void AnisotropicPoisson::assemble(const Cells& cells, const Distribute& distribute) {
  const QGauss<2> quadrature(2);
  FEValues<2> values(fe, quadrature, update_values | update_gradients | update_JxW_values);
  FullMatrix<double> cell_matrix(4, 4);
  Vector<double> cell_rhs(4);
  for (const auto& cell : cells) {
    values.reinit(cell);
    cell_matrix = 0;
    cell_rhs = 0;
    for (const unsigned int q : values.quadrature_point_indices())
      for (const unsigned int i : values.dof_indices()) {
        for (const unsigned int j : values.dof_indices())
          cell_matrix(i, j) += values.shape_grad(i, q) * values.shape_grad(j, q) * values.JxW(q);
        cell_rhs(i) += values.shape_value(i, q) * values.JxW(q);
      }
    distribute(cell, cell_matrix, cell_rhs);
  }
}

void AnisotropicPoisson::assemble_system() {
  std::vector<types::global_dof_index> indices(4);
  assemble(dof_handler.active_cell_iterators(), [&](const auto& cell, const auto& cell_matrix, const auto& cell_rhs) {
    cell->get_dof_indices(indices);
    constraints.distribute_local_to_global(cell_matrix, cell_rhs, indices, system_matrix, system_rhs);
  });
}

AnisotropicPoisson::Solve AnisotropicPoisson::prepare_ssor() {
  auto preconditioner = std::make_shared<PreconditionSSOR<SparseMatrix<double>>>();
  preconditioner->initialize(system_matrix, 1.2);
  return [this, preconditioner](auto& cg) { cg.solve(system_matrix, solution, system_rhs, *preconditioner); };
}

AnisotropicPoisson::Solve AnisotropicPoisson::prepare_stratum(bool single_precision) {
  auto preconditioner = std::make_shared<stratum::DealiiPreconditioner>();
  stratum::DealiiPreconditioner::AdditionalData data;
  data.single_precision = single_precision;
  preconditioner->initialize(system_matrix, dof_handler, data);
  return [this, preconditioner](auto& cg) { cg.solve(system_matrix, solution, system_rhs, *preconditioner); };
}

AnisotropicPoisson::Solve AnisotropicPoisson::prepare_geometric_multigrid() {
  using Smoother = PreconditionSOR<SparseMatrix<double>>;
  struct Hierarchy {
    MGConstrainedDoFs constrained;
    MGLevelObject<SparsityPattern> patterns;
    MGLevelObject<SparseMatrix<double>> matrices;
    FullMatrix<double> coarse_matrix;
    MGCoarseGridHouseholder<double, Vector<double>> coarse;
    mg::SmootherRelaxation<Smoother, Vector<double>> smoother;
    MGTransferPrebuilt<Vector<double>> transfer;
    mg::Matrix<Vector<double>> matrix;
    std::unique_ptr<Multigrid<Vector<double>>> multigrid;
    std::unique_ptr<PreconditionMG<2, Vector<double>, MGTransferPrebuilt<Vector<double>>>> preconditioner;
  };
  auto h = std::make_shared<Hierarchy>();
  dof_handler.distribute_mg_dofs();
  h->constrained.initialize(dof_handler);
  h->constrained.make_zero_boundary_constraints(dof_handler, {0});
  const unsigned int levels = triangulation.n_levels();
  h->patterns.resize(0, levels - 1);
  h->matrices.resize(0, levels - 1);
  std::vector<AffineConstraints<double>> level_constraints(levels);
  for (unsigned int level = 0; level < levels; ++level) {
    DynamicSparsityPattern dsp(dof_handler.n_dofs(level));
    MGTools::make_sparsity_pattern(dof_handler, dsp, level);
    h->patterns[level].copy_from(dsp);
    h->matrices[level].reinit(h->patterns[level]);
    level_constraints[level].add_lines(h->constrained.get_boundary_indices(level));
    level_constraints[level].close();
  }
  std::vector<types::global_dof_index> indices(4);
  assemble(dof_handler.mg_cell_iterators(), [&](const auto& cell, const auto& cell_matrix, const auto&) {
    cell->get_mg_dof_indices(indices);
    level_constraints[static_cast<std::size_t>(cell->level())].distribute_local_to_global(
        cell_matrix, indices, h->matrices[static_cast<unsigned int>(cell->level())]);
  });
  h->transfer.initialize_constraints(h->constrained);
  h->transfer.build(dof_handler);
  h->coarse_matrix.copy_from(h->matrices[0]);
  h->coarse.initialize(h->coarse_matrix);
  h->smoother.initialize(h->matrices);
  h->smoother.set_steps(2);
  h->smoother.set_symmetric(true);
  h->matrix.initialize(h->matrices);
  h->multigrid =
      std::make_unique<Multigrid<Vector<double>>>(h->matrix, h->coarse, h->transfer, h->smoother, h->smoother);
  h->preconditioner = std::make_unique<PreconditionMG<2, Vector<double>, MGTransferPrebuilt<Vector<double>>>>(
      dof_handler, *h->multigrid, h->transfer);
  return [this, h](auto& cg) { cg.solve(system_matrix, solution, system_rhs, *h->preconditioner); };
}

/// Prints a row of the table. True when CG converged to what the rows before it found.
bool AnisotropicPoisson::solve(const std::string& name, const std::function<Solve()>& prepare) {
  Timer setup;
  const auto run = prepare();
  setup.stop();
  SolverControl control(10000, 1e-8 * system_rhs.l2_norm());
  SolverCG<Vector<double>> cg(control);
  solution = 0;
  Timer solving;
  bool converged = true;
  try {
    run(cg);
  } catch (const SolverControl::NoConvergence&) {
    converged = false;
  }
  solving.stop();
  constraints.distribute(solution);
  std::printf("%-34s %10u %12.3f %12.3f%s\n", name.c_str(), control.last_step(), setup.wall_time(), solving.wall_time(),
              converged ? "" : "   not converged");
  if (first_solution.size() == 0) first_solution = solution;
  Vector<double> difference = solution;
  difference -= first_solution;
  return converged && difference.l2_norm() <= 1e-4 * first_solution.l2_norm();
}

bool AnisotropicPoisson::run() {
  make_grid();
  setup_system();
  assemble_system();
  double aspect = 1;
  for (const auto& cell : triangulation.active_cell_iterators())
    aspect = std::max({aspect, cell->extent_in_direction(0) / cell->extent_in_direction(1),
                       cell->extent_in_direction(1) / cell->extent_in_direction(0)});
  std::printf("%u cells, %u unknowns, aspect ratio up to %.1e; CG, residual down by 1e-8\n\n",
              triangulation.n_active_cells(), dof_handler.n_dofs(), aspect);
  std::printf("%-34s %10s %12s %12s\n", "preconditioner", "iterations", "set-up [s]", "solve [s]");
  bool good = solve("stratum", [&] { return prepare_stratum(false); });
  good = solve("stratum, single precision", [&] { return prepare_stratum(true); }) && good;
  good = solve("deal.II geometric multigrid (SSOR)", [&] { return prepare_geometric_multigrid(); }) && good;
  good = solve("deal.II SSOR", [&] { return prepare_ssor(); }) && good;
  return good;
}

int main(int argc, char** argv) {
  try {
    const int refinements = argc > 1 ? std::atoi(argv[1]) : 4;
    const double ratio = argc > 2 ? std::atof(argv[2]) : 0.25;
    if (argc > 3 || refinements < 1 || refinements > 9 || !(ratio > 0 && ratio <= 1)) {
      std::fprintf(stderr, "usage: dealii_anisotropic [refinements, 1 to 9] [ratio in (0, 1]]\n");
      return 1;
    }
    return AnisotropicPoisson(static_cast<unsigned int>(refinements), ratio).run() ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
