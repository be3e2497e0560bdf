#pragma once

// Bodies (assembly/bodies.hpp) on a mesh of patches: the cells whose centre lies inside their shapes.
//
//     coefficient       another K in its cells; the mesh stays as it is
//     value, no_flux    its cells are no part of the domain. What is left is cut into patches anew (mesh/patches/quad_mesh.hpp),
//                       and the surface of body k, from 1 on, is a boundary "body k": Dirichlet, u = g, or Neumann, g = 0
//
// So fluxes into bodies are those through their boundaries, and nothing else knows of bodies. Parts of the domain that meet in a
// corner alone do not meet. A body along the lines of the mesh makes a few patches more; one at an angle to them is a
// staircase, each step of which ends patches: a disc 40 cells wide makes 300, one 80 cells wide 1100. The nodes keep their
// places, and steps between them become differences of these.
//
// Work: all cells once, and where some are left out a search by edges: some microseconds a cell, on the host, on every rank
// alike.
//
// Throws UsageError for contact resistances and tensors K; for bodies that hold no cell, leave no cell, overlap with another
// kind, have two K in a cell, or meet with different values; for cells so thin that places do not have the digits of their
// steps; for more than 1500 patches, and four times those of the mesh; for a mesh with a boundary "body k"; for a problem with
// `load` or `diffusion_of_cells`.

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

/// `t`: the time at which values of bodies that meet are compared.
[[nodiscard]] PatchesWithBodies with_bodies(const PatchMesh& mesh, const PatchProblem& problem,
                                            const std::vector<Body>& bodies, double t = 0);

/// The boundary that a body becomes; `body` from 0 on.
[[nodiscard]] std::string boundary_of_body(std::size_t body);

}  // namespace stratum
