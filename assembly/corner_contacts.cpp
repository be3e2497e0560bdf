#include <stratum/assembly/corner_contacts.hpp>

#include <array>
#include <cstddef>

#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/corner_cells.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

using detail::cell_beside;
using detail::counts;

/// Whether the cells around a node form several groups without a common face. Bit k of `live`: the cell before the node in the
/// directions that are bits of k, and behind it in others, has an equation.
bool has_several_groups(unsigned live, std::size_t directions) {
  if (live == 0) return false;
  unsigned group = live & (~live + 1), before = 0;
  while (group != before) {
    before = group;
    for (unsigned k = 0; k < 1U << directions; ++k)
      for (std::size_t d = 0; d < directions; ++d)
        if ((group >> k & 1) != 0) group |= live & (1U << (k ^ (1U << d)));
  }
  return group != live;
}

}  // namespace

std::string CornerContacts::warning() const {
  if (nodes == 0) return "";
  return message(
      "solids without flux touch each other in ", in_box ? "edges or corners" : "corners", " alone at ", nodes,
      nodes == 1 ? " node, " : " nodes, the first of them ", first,
      ": there u leaks between cells that the solids separate, and a wall that such nodes close does not hold. Make "
      "the solids thicker or leave a cell between them",
      in_box ? "" : "; finite volumes (discretisation fv) and meshes of patches do not leak");
}

CornerContacts corner_contacts(const Geometry& mesh, const BodyMap& bodies) {
  CornerContacts found;
  if (!bodies.has_empty_cells || bodies.node.empty()) return found;
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  for (int j = 0; j <= bodies.ny; ++j)
    for (int i = 0; i <= bodies.nx; ++i) {
      if (!counts(x, i) || !counts(y, j) || bodies.node_at(i, j) != BodyMap::unknown) continue;
      unsigned live = 0;
      for (unsigned k = 0; k < 4; ++k) {
        const int p = cell_beside(x, i, (k & 1) != 0), q = cell_beside(y, j, (k & 2) != 0);
        if (p >= 0 && q >= 0 && bodies.cell_at(p, q) == BodyMap::live) live |= 1U << k;
      }
      if (!has_several_groups(live, 2)) continue;
      const Point at = mesh.node(i, j);
      if (found.nodes++ == 0) found.first = message("(", at.x, ", ", at.y, ")");
    }
  return found;
}

CornerContacts corner_contacts(const TensorMesh<3>& mesh, const BoxBodies& bodies) {
  CornerContacts found{0, {}, true};
  if (!bodies.has_empty_cells) return found;
  const std::array<int, 3> n{mesh.x().size(), mesh.y().size(), mesh.z().size()};
  const auto is_unknown = [&](int i, int j, int k) {
    return counts(mesh.x(), i) && counts(mesh.y(), j) && counts(mesh.z(), k) &&
           bodies.node[bodies.node_number(static_cast<std::size_t>(i), static_cast<std::size_t>(j),
                                          static_cast<std::size_t>(k))] == BoxBodies::unknown;
  };
  const auto is_live = [&](const std::array<int, 3>& at) {
    if (at[0] < 0 || at[1] < 0 || at[2] < 0) return false;
    const auto cell = (static_cast<std::size_t>(at[2]) * bodies.cells_of_axes[1] + static_cast<std::size_t>(at[1])) *
                          bodies.cells_of_axes[0] +
                      static_cast<std::size_t>(at[0]);
    return bodies.cell[cell] == BoxBodies::live;
  };
  for (int k = 0; k <= n[2]; ++k)
    for (int j = 0; j <= n[1]; ++j)
      for (int i = 0; i <= n[0]; ++i) {
        if (!is_unknown(i, j, k)) continue;
        unsigned live = 0;
        for (unsigned c = 0; c < 8; ++c)
          if (is_live({cell_beside(mesh.x(), i, (c & 1) != 0), cell_beside(mesh.y(), j, (c & 2) != 0),
                       cell_beside(mesh.z(), k, (c & 4) != 0)}))
            live |= 1U << c;
        if (!has_several_groups(live, 3)) continue;
        const Point3D at = node_point(mesh, i, j, k);
        if (found.nodes++ == 0) found.first = message("(", at.x, ", ", at.y, ", ", at.z, ")");
      }
  return found;
}

}  // namespace stratum
