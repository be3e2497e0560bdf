#pragma once

// A picture of nodal values on three faces of a box, as PNG: the front (the first end of z), the right (the last end of x) and
// the top (the last end of y), seen along parallel rays from where z begins,
//
//               +-----------+
//              /    top    /|        y
//             /           / |        |  z (away)
//            +-----------+  | right  | /
//            |           |  +        |/
//            |   front   | /         +---- x
//            |           |/
//            +-----------+
//
// in colours from the smallest to the largest value on these faces. Edges are to scale unless one is more than three times as
// long as another. (Values on a plane are drawn by write_png of assembly/picture.hpp: plane_values of assembly/box_values.hpp.)

#include <span>
#include <string>

#include <stratum/assembly/picture.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// `nodal`: values at all nodes, x fastest. Throws as write_png of two dimensions does.
void write_png(const std::string& path, const TensorMesh<3>& mesh, std::span<const double> nodal,
               const std::string& title);

}  // namespace stratum
