#pragma once

// Text files of patches. Sections, one thing a line; # begins a comment. Vertices have names, which may be numbers.
//
//     cells 32                                  of edges that nothing is said of (16)
//     vertices
//       a  -1  -1                               name, x and y
//       d   0   0
//     patches
//       a b d c   K=10                          four vertices around the patch, either way around; K of the patch (1)
//     edges
//       c d       cells=64 grade=geometric:h=1e-6,last    in the direction in which it is written; of all edges that face it
//       e f g     arc=0.2,0.2                   several edges in a row: centre; the radius changes linearly from end to end
//       f g       curve=cos(pi*t),sin(pi*t)     t = 0 at f and 1 at g
//     boundaries
//       a b c     wall                          edges in a row and their name
//       *         outer                         all others
//
// Gradings are those of mesh/graded.hpp, for edges of length 1. A number may be an expression, and none contains blanks.
//
// Throws FileError where the file cannot be read, and UsageError with file and line for what does not fit.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <stratum/mesh/patches/patch_mesh.hpp>

namespace stratum {

/// What expressions in a file of patches mean; without them numbers are plain, and there are no curves.
struct PatchExpressions {
  /// Nothing where the text is no expression of numbers.
  std::function<std::optional<double>(const std::string& text)> value{};
  /// x(t) and y(t). Throws UsageError where the texts are none.
  std::function<std::function<Position(double)>(const std::string& x, const std::string& y)> curve{};
};

/// The patches of a file, and K of each.
struct PatchText {
  PatchMeshParts parts{};
  std::vector<double> diffusion{};
};

/// Patches that one file can have.
inline constexpr int max_patches = 20'000;

[[nodiscard]] PatchText read_patch_text(const std::string& path, const PatchExpressions& expressions = {});

}  // namespace stratum
