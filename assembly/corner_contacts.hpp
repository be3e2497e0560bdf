#pragma once

// Corner contacts: nodes of an equation around which solids without flux leave several groups of cells, such that cells of
// different groups meet in the node alone (in a box: or in an edge). Two solid cells that touch in a corner leave one, and so
// does a thin oblique wall along all of its length. The solids separate the groups, but elements with one value at the node
// couple them, and u leaks through: little where one node of many does, but a wall of cells along a diagonal is no wall at all,
// on any mesh. Finite volumes and meshes of patches do not couple the groups.
//
// Nodes with a value, of a Dirichlet boundary or a held body, couple nothing and are not counted. On the host, by a pass over
// the nodes where there are solids.

#include <cstdint>
#include <string>

#include <stratum/assembly/bodies.hpp>
#include <stratum/assembly/box_bodies.hpp>

namespace stratum {

struct CornerContacts {
  std::int64_t nodes = 0;
  std::string first{};  // "(0.5, 0.5)", the place of the first one
  bool in_box = false;

  /// What programs and languages print, with what to do; empty where there are none.
  [[nodiscard]] std::string warning() const;
};
[[nodiscard]] CornerContacts corner_contacts(const Geometry& mesh, const BodyMap& bodies);
[[nodiscard]] CornerContacts corner_contacts(const TensorMesh<3>& mesh, const BoxBodies& bodies);

}  // namespace stratum
