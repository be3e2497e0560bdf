#pragma once

// A picture of nodal values, as PNG: the domain in colours with a legend, and where cells are thin the same once more,
// enlarged.
//
// Each panel has a colour scale of its own, from the smallest to the largest value in it, linear. Panels are to scale unless
// one side is more than three times as long as the other; the enlarged one shows the shortest quarter of the cells of each
// direction, with mesh lines where they are far enough apart, and is not to scale. (On a mesh of quadrilaterals it is a square
// around the thinnest cell.) There is none where no width is less than half of another.
//
// Drawn by VTK's vtkLookupTable, vtkImageMapToColors, vtkFreeTypeTools and vtkPNGWriter, none of which needs a display. The
// file is there whole or not at all.

#include <span>
#include <string>
#include <vector>

#include <stratum/assembly/geometry.hpp>
#include <stratum/mesh/patches/patch_mesh.hpp>

namespace stratum {

/// True when this build can draw.
[[nodiscard]] bool pictures_available();

/// `nodal`: values at all nodes, x fastest. Throws UsageError for another number of them, for values that are not finite, and
/// when this build cannot draw; FileError when the file cannot be written.
void write_png(const std::string& path, const Geometry& mesh, std::span<const double> nodal, const std::string& title);

/// On patches, whose edges are drawn: values at all nodes of each. Throws alike.
void write_png(const std::string& path, const PatchMesh& mesh, std::span<const std::vector<double>> nodal,
               const std::string& title);

}  // namespace stratum
