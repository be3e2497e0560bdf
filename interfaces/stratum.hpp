#pragma once

// What most programs in C++ use, in one line: vectors, meshes, Poisson problems and their solver, multigrid for a matrix of
// your own, Krylov methods. Every header can be included by itself too. Not here:
//
//     stratum/multigrid/heat_solver.hpp, heat_solver_3d.hpp   problems in time
//     stratum/multigrid/deflated_solver.hpp   deflation
//     stratum/multigrid/patches/patch_poisson_solver.hpp   meshes of patches
//     stratum/core/io/matrix_market.hpp       sparse matrices from files
//     stratum/dealii.hpp, petsc.h, stratum.h  for deal.II, PETSc, C
//     stratum/mpi.hpp                         ranks of MPI: of the library stratum::mpi
//     stratum/mesh/vtk/vtk.hpp, mesh/vtk/vts.hpp, assembly/expressions/expression.hpp, assembly/cell_files.hpp,
//     assembly/field_files.hpp, assembly/picture.hpp, mesh/patches/patch_files.hpp, mesh/vtk/vtm.hpp
//                                             files, pictures and expressions: of the library stratum::io

#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/finite_volumes.hpp>
#include <stratum/assembly/operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/mapped_mesh.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/multigrid/patches/patch_poisson_solver.hpp>
#include <stratum/multigrid/poisson_solver.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>
#include <stratum/solvers/inner_solve.hpp>
#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/krylov/refinement.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
#include <stratum/solvers/solver.hpp>
#include <stratum/version.h>
