// Geometric multigrid on a mesh whose cells become thin towards x = 1, on the unit square:
//
//     -Laplace u = 1, u = 0 on the boundaries                          (dirichlet)
//     -Laplace u + u = f, no flux across the boundaries                (neumann: the problem that deal.II's step-16 began with)
//
// Conjugate gradients with deal.II's geometric multigrid and its SSOR smoother, with Stratum's cycle, with Trilinos' algebraic
// multigrid and with SSOR; iterations and seconds side by side. Times of the set-up include each preconditioner's own matrices.
//
//     dealii_anisotropic [refinements = 4] [ratio = 0.25] [dirichlet | neumann]
//
// The coarse mesh has 8 x 8 cells, those in x each `ratio` times as wide as the one before; every refinement halves them all.

#include <deal.II/multigrid/mg_coarse.h>
#include <deal.II/multigrid/mg_constrained_dofs.h>
#include <deal.II/multigrid/mg_matrix.h>
#include <deal.II/multigrid/mg_smoother.h>
#include <deal.II/multigrid/mg_tools.h>
#include <deal.II/multigrid/mg_transfer.h>
#include <deal.II/multigrid/multigrid.h>

#include <cstdlib>
#include <set>
#include <string_view>

#include "dealii_comparison.hpp"

namespace {

using namespace dealii;
using Values = Vector<double>;

/// deal.II's geometric multigrid: matrices assembled on every level, two SSOR steps before and after.
struct GeometricMultigrid {
  using Smoother = PreconditionSOR<SparseMatrix<double>>;
  MGConstrainedDoFs constrained;
  MGLevelObject<SparsityPattern> patterns;
  MGLevelObject<SparseMatrix<double>> matrices;
  FullMatrix<double> coarse_matrix;
  MGCoarseGridHouseholder<double, Values> coarse;
  mg::SmootherRelaxation<Smoother, Values> smoother;
  MGTransferPrebuilt<Values> transfer;
  mg::Matrix<Values> matrix;
  std::unique_ptr<Multigrid<Values>> multigrid;
  std::unique_ptr<PreconditionMG<2, Values, MGTransferPrebuilt<Values>>> preconditioner;

  /// Of -Laplace u + c u.
  GeometricMultigrid(example::System& system, double c, const std::set<types::boundary_id>& dirichlet) {
    auto& dofs = system.dof_handler;
    dofs.distribute_mg_dofs();
    constrained.initialize(dofs);
    if (!dirichlet.empty()) constrained.make_zero_boundary_constraints(dofs, dirichlet);
    const unsigned int levels = system.triangulation.n_levels();
    patterns.resize(0, levels - 1);
    matrices.resize(0, levels - 1);
    std::vector<AffineConstraints<double>> level_constraints(levels);
    for (unsigned int level = 0; level < levels; ++level) {
      DynamicSparsityPattern dsp(dofs.n_dofs(level));
      MGTools::make_sparsity_pattern(dofs, dsp, level);
      patterns[level].copy_from(dsp);
      matrices[level].reinit(patterns[level]);
      if (!dirichlet.empty()) level_constraints[level].add_lines(constrained.get_boundary_indices(level));
      level_constraints[level].close();
    }
    std::vector<types::global_dof_index> indices(4);
    const auto one = [](const Point<2>&) { return 1.0; };
    system.assemble(dofs.mg_cell_iterators(), one, c, one, [&](const auto& cell, const auto& cell_matrix, const auto&) {
      cell->get_mg_dof_indices(indices);
      const auto level = static_cast<unsigned int>(cell->level());
      level_constraints[level].distribute_local_to_global(cell_matrix, indices, matrices[level]);
    });
    transfer.initialize_constraints(constrained);
    transfer.build(dofs);
    coarse_matrix.copy_from(matrices[0]);
    coarse.initialize(coarse_matrix);
    smoother.initialize(matrices);
    smoother.set_steps(2);
    smoother.set_symmetric(true);
    matrix.initialize(matrices);
    multigrid = std::make_unique<Multigrid<Values>>(matrix, coarse, transfer, smoother, smoother);
    preconditioner =
        std::make_unique<PreconditionMG<2, Values, MGTransferPrebuilt<Values>>>(dofs, *multigrid, transfer);
  }
};

example::Method geometric_multigrid(example::System& system, double c, const std::set<types::boundary_id>& dirichlet) {
  auto made = std::make_shared<std::unique_ptr<GeometricMultigrid>>();
  return {
      "deal.II geometric multigrid (SSOR)",
      [&system, c, dirichlet, made] { *made = std::make_unique<GeometricMultigrid>(system, c, dirichlet); },
      [&system, made](auto& cg, auto& x, const auto& b) { cg.solve(system.matrix, x, b, *(*made)->preconditioner); }};
}

}  // namespace

int main(int argc, char** argv) {
  const int refinements = argc > 1 ? std::atoi(argv[1]) : 4;
  const double ratio = argc > 2 ? std::atof(argv[2]) : 0.25;
  const std::string_view boundaries = argc > 3 ? argv[3] : "dirichlet";
  const bool neumann = boundaries == "neumann";
  if (argc > 4 || refinements < 1 || refinements > 9 || !(ratio > 0 && ratio <= 1) ||
      !(neumann || boundaries == "dirichlet")) {
    std::fprintf(stderr, "usage: dealii_anisotropic [refinements, 1 to 9] [ratio in (0, 1]] [dirichlet | neumann]\n");
    return 1;
  }
  return example::run_program(argc, argv, [&] {
    const auto dirichlet = neumann ? std::vector<types::boundary_id>{} : std::vector<types::boundary_id>{0, 1, 2, 3};
    example::System system(Point<2>(0, 0), Point<2>(1, 1), static_cast<unsigned int>(refinements), ratio, dirichlet);
    const double c = neumann ? 1 : 0;
    system.assemble([](const Point<2>&) { return 1.0; }, c,
                    [neumann](const Point<2>& p) { return neumann ? 1 + std::sin(9 * p[0] * p[1]) : 1.0; });
    std::printf("%u cells, %u unknowns, aspect ratio up to %.1e; CG, residual down by 1e-8\n\n",
                system.triangulation.n_active_cells(), system.dof_handler.n_dofs(), system.aspect_ratio());
    auto methods = example::every_method(system);
    methods.insert(methods.begin() + 2, geometric_multigrid(system, c, {dirichlet.begin(), dirichlet.end()}));
    return example::compare(system, methods);
  });
}
