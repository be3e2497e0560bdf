#pragma once

// Bodies (assembly/bodies.hpp) on a mesh of patches: the cells whose centre lies inside their shapes, or that a mask names.
//
//     coefficient       another K in its cells; the mesh stays as it is
//     contact           a resistance R on its surface; likewise. A cell of the body conducts in series with R on its edges on the
//                       surface. With the normal n of such an edge and the width h of the cell across it,
//
//                           K  becomes  K - r / (1 + r n.K n)  K n n^T K ,    r = R / h  l / e ,
//
//                       l and e the widths of the cell and of its edge along the surface, once for each such edge; in both
//                       directions where only a corner of the cell is on the surface. The surface has to lie along the
//                       edges of cells, to a quarter of a cell: the flux through a plane wall is exact there
//     value, no_flux    its cells are no part of the domain. What is left is cut into patches anew (mesh/patches/quad_mesh.hpp),
//                       and the surface of body k, from 1 on, is a boundary "body k": Dirichlet, u = g, or Neumann, g = 0
//
// So fluxes into bodies are those through their boundaries, and nothing else knows of bodies. Parts of the domain that meet in a
// corner alone do not meet. A body along the lines of the mesh makes a few patches more; one at an angle to them is a
// staircase, each step of which ends patches: a disc 40 cells wide makes 300, one 80 cells wide 1100. The nodes keep their
// places, and steps between them become differences of these.
//
// Where a body changes K, K of all cells becomes numbers, those of t = 0: a K that changes with the time goes with other bodies.
//
// Work: all cells once, and where some are left out a search by edges: some microseconds a cell, on the host, on every rank
// alike.
//
// Throws UsageError for bodies that hold no cell, leave no cell, overlap with another kind, have two K or two R in a cell, or
// meet with different values; for a contact body whose surface crosses cells or that has a mask; for masks of other sizes; for
// cells so thin that places do not have the digits of their steps; for more than 20000 patches, and four times those of
// the mesh; for a mesh with a boundary "body k"; for a problem with `load`, or K of cells.

#include <cstdint>
#include <string>
#include <vector>

#include <stratum/assembly/bodies.hpp>
#include <stratum/assembly/patches/patch_problem.hpp>

namespace stratum {

struct PatchesWithBodies {
  PatchMesh mesh;
  PatchProblem problem;
  std::vector<std::int64_t> cells{};  // of each body
  std::string summary{};              // of the new patches, where there are some
};

/// In place of a body's shape: a number for each cell, patch after patch, x fastest; inside where it is above 0. The cells are
/// those of the mesh, or of one that halving refines to it.
using PatchMask = std::vector<double>;

/// `t`: the time at which values of bodies that meet are compared. `masks`: of every body, empty where it has a shape; or none.
[[nodiscard]] PatchesWithBodies with_bodies(const PatchMesh& mesh, const PatchProblem& problem,
                                            const std::vector<Body>& bodies, double t = 0,
                                            const std::vector<PatchMask>& masks = {});

/// The boundary that a body becomes; `body` from 0 on.
[[nodiscard]] std::string boundary_of_body(std::size_t body);

}  // namespace stratum
