// mpirun -n N test_dealii_ranks: stratum/dealii_mpi.hpp. Every problem is solved on all processes, and by each on its own: as
// many iterations, the same solution.

#include <deal.II/base/mpi.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/distributed/shared_tria.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/lac/petsc_sparse_matrix.h>
#include <deal.II/lac/petsc_vector.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/sparsity_tools.h>
#include <deal.II/lac/trilinos_sparse_matrix.h>
#include <deal.II/lac/trilinos_vector.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <stratum/dealii_mpi.hpp>

namespace {

using Preconditioner = stratum::DealiiParallelPreconditioner;
using Distributed = dealii::LinearAlgebra::distributed::Vector<double>;
using OfTrilinos = dealii::TrilinosWrappers::MPI::Vector;
using OfPetsc = dealii::PETScWrappers::MPI::Vector;
using Point = dealii::Point<2>;

void check(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

struct Terms {
  bool natural = false;  // boundaries, with u beside the Laplacian
  double jump = 1;
  unsigned int components = 1;
};

/// For assembly.
template <class Vector>
void set_size(Vector& v, const dealii::IndexSet& owned, const dealii::IndexSet& /*relevant*/, MPI_Comm comm) {
  v.reinit(owned, comm);
}
void set_size(Distributed& v, const dealii::IndexSet& owned, const dealii::IndexSet& relevant, MPI_Comm comm) {
  v.reinit(owned, relevant, comm);
}

struct Result {
  unsigned int iterations = 0, after_update = 0;
  double norm = 0;
};

/// -div(k grad u) = 1 on rectangles of several widths, k jumping in the middle.
template <class Triangulation, class Matrix, class Vector>
Result solve(MPI_Comm comm, const Terms& terms) {
  Triangulation grid(comm);
  dealii::GridGenerator::subdivided_hyper_rectangle(
      grid, std::vector<std::vector<double>>{{0.1, 0.2, 0.7}, {0.5, 0.5, 0.25, 0.25}}, Point(0, 0), Point(1, 1.5));
  grid.refine_global(3);
  const dealii::FESystem<2> element(dealii::FE_Q<2>(1), terms.components);
  dealii::DoFHandler<2> dofs(grid);
  dofs.distribute_dofs(element);
  const dealii::IndexSet owned = dofs.locally_owned_dofs();
  dealii::IndexSet relevant;
  dealii::DoFTools::extract_locally_relevant_dofs(dofs, relevant);
  dealii::AffineConstraints<double> constraints(relevant);
  if (!terms.natural) dealii::DoFTools::make_zero_boundary_constraints(dofs, constraints);
  constraints.close();
  dealii::DynamicSparsityPattern pattern(relevant);
  dealii::DoFTools::make_sparsity_pattern(dofs, pattern, constraints, true);
  dealii::SparsityTools::distribute_sparsity_pattern(pattern, owned, comm, relevant);
  Matrix a;
  a.reinit(owned, owned, pattern, comm);
  Vector b, x;
  set_size(b, owned, relevant, comm);
  set_size(x, owned, relevant, comm);

  dealii::FEValues<2> values(element, dealii::QGauss<2>(2),
                             dealii::update_values | dealii::update_gradients | dealii::update_JxW_values);
  const unsigned int n = element.n_dofs_per_cell();
  dealii::FullMatrix<double> local(n, n);
  dealii::Vector<double> rhs(n);
  std::vector<dealii::types::global_dof_index> indices(n);
  for (const auto& cell : dofs.active_cell_iterators()) {
    if (!cell->is_locally_owned()) continue;
    values.reinit(cell);
    cell->get_dof_indices(indices);
    local = 0;
    rhs = 0;
    const Point at = cell->center();
    const double k = at[0] > 0.2 && at[0] < 0.8 && at[1] > 0.4 && at[1] < 0.9 ? terms.jump : 1;
    for (const unsigned int q : values.quadrature_point_indices())
      for (unsigned int i = 0; i < n; ++i) {
        const auto component = element.system_to_component_index(i).first;
        rhs(i) += values.shape_value(i, q) * values.JxW(q);
        for (unsigned int j = 0; j < n; ++j)
          if (element.system_to_component_index(j).first == component)
            local(i, j) += ((1 + component) * k * (values.shape_grad(i, q) * values.shape_grad(j, q)) +
                            (terms.natural ? values.shape_value(i, q) * values.shape_value(j, q) : 0)) *
                           values.JxW(q);
      }
    constraints.distribute_local_to_global(local, rhs, indices, a, b);
  }
  a.compress(dealii::VectorOperation::add);
  b.compress(dealii::VectorOperation::add);

  Preconditioner preconditioner(comm);
  preconditioner.initialize(a, dofs);
  const auto iterations = [&] {
    x = 0;
    dealii::SolverControl control(100, 1e-10 * b.l2_norm());
    dealii::SolverCG<Vector>(control).solve(a, x, b, preconditioner);
    return control.last_step();
  };
  Result result;
  result.iterations = iterations();
  result.norm = x.l2_norm();
  a *= 4;
  preconditioner.update(a);
  result.after_update = iterations();
  return result;
}

template <class Triangulation, class Matrix, class Vector>
void compare(const char* name, const Terms& terms, unsigned int most) {
  const Result all = solve<Triangulation, Matrix, Vector>(MPI_COMM_WORLD, terms),
               alone = solve<Triangulation, Matrix, Vector>(MPI_COMM_SELF, terms);
  const std::string what =
      stratum::message(name, ": ", all.iterations, " and ", all.after_update, " iterations, ", alone.iterations,
                       " and ", alone.after_update, " on one process; norms ", all.norm, " and ", alone.norm);
  check(all.iterations == alone.iterations && all.after_update == alone.after_update && all.iterations <= most, what);
  check(std::abs(all.norm - alone.norm) <= 1e-8 * alone.norm, what);
}

/// What cannot be had, on all processes.
void refuses() {
  dealii::parallel::distributed::Triangulation<2> grid(MPI_COMM_WORLD);
  dealii::GridGenerator::hyper_cube(grid);
  grid.refine_global(3);
  for (const auto& cell : grid.active_cell_iterators())
    if (cell->is_locally_owned() && cell->center()[0] < 0.3 && cell->center()[1] < 0.3) cell->set_refine_flag();
  grid.execute_coarsening_and_refinement();
  const dealii::FE_Q<2> element(1);
  dealii::DoFHandler<2> dofs(grid);
  dofs.distribute_dofs(element);
  const dealii::IndexSet owned = dofs.locally_owned_dofs();
  dealii::TrilinosWrappers::SparseMatrix a;
  a.reinit(owned, owned, dealii::DynamicSparsityPattern(dofs.n_dofs()), MPI_COMM_WORLD);
  std::string reason;
  try {
    Preconditioner(MPI_COMM_WORLD).initialize(a, dofs);
  } catch (const stratum::UsageError& error) {
    reason = error.what();
  }
  check(reason.find("this is no tensor-product mesh") != std::string::npos, "hanging nodes: " + reason);
}

}  // namespace

int main(int argc, char** argv) {
  dealii::Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
  using Forest = dealii::parallel::distributed::Triangulation<2>;
  using Shared = dealii::parallel::shared::Triangulation<2>;
  using TrilinosMatrix = dealii::TrilinosWrappers::SparseMatrix;
  using PetscMatrix = dealii::PETScWrappers::MPI::SparseMatrix;
  try {
    compare<Forest, TrilinosMatrix, Distributed>("Dirichlet", {}, 10);
    compare<Forest, TrilinosMatrix, OfTrilinos>("natural", {.natural = true}, 10);
    compare<Forest, PetscMatrix, OfPetsc>("jumping", {.jump = 1000}, 16);
    compare<Shared, TrilinosMatrix, Distributed>("two components", {.components = 2}, 10);
    refuses();
  } catch (const std::exception& error) {
    check(false, error.what());
  }
  return 0;
}
