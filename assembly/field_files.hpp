#pragma once

// Numbers of a file (assembly/cell_files.hpp) as a function of the points of a mesh, for right-hand sides, initial values,
// values of boundaries and coefficients. They lie on the cells or the nodes of the mesh, or of one that it refines by halving:
//
//     on cells   the number of the cell that has the point; on a side between cells the mean of both
//     on nodes   bilinear between the nodes of the file, in x and y on a rectangle; in the numbers of cells where the mesh is deformed
//
// A file that does not say which has as many columns and rows as there are cells, or one more; 2 x 2 numbers are of cells where
// both could be. Nodes are those of a mesh that is halved as often in x as in y. Numbers along a boundary lie on its intervals
// or nodes, in one row or one column.
//
// The function takes points of every mesh that refines `mesh`. Throws UsageError where the sizes do not fit.

#include <stratum/assembly/cell_files.hpp>
#include <stratum/assembly/geometry.hpp>

namespace stratum {

/// What the numbers lie on, as seen from this mesh; unsaid where they fit neither its cells nor its nodes.
[[nodiscard]] FileValues::On lies_on(const FileValues& numbers, const TensorMesh<2>& mesh);

[[nodiscard]] ScalarFunction function_of(FileValues numbers, const TensorMesh<2>& mesh);
/// The same of numbers along a boundary, or of the whole mesh.
[[nodiscard]] ScalarFunction function_of(FileValues numbers, const TensorMesh<2>& mesh, const BoundaryPlace& boundary);

}  // namespace stratum
