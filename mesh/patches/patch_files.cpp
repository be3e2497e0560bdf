#include <stratum/mesh/patches/patch_files.hpp>

#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/patches/feat3.hpp>
#include <stratum/mesh/patches/gmsh.hpp>
#include <stratum/mesh/patches/quad_mesh.hpp>
#include <stratum/mesh/vtk/vtm.hpp>

namespace stratum {

namespace {

/// What is wrong with a mesh is wrong with its file.
template <class Parts>
PatchMesh mesh_of(const std::string& path, const Parts& parts) {
  try {
    return PatchMesh(parts);
  } catch (const UsageError& error) {
    const std::string name = message("'", path, "'"), what = error.what();
    throw UsageError(what.starts_with(name) ? what : message(name, ": ", what));
  }
}

}  // namespace

PatchFile read_patches(const std::string& path, const PatchExpressions& expressions, std::optional<int> cells) {
  if (path.ends_with(".msh") || path.ends_with(".vtm")) {
    expects(!cells, "'", path, "' has cells of its own, which can be halved, not chosen");
    BaseComplex complex = base_complex(path.ends_with(".msh") ? read_gmsh(path) : read_vtm(path), path);
    return {mesh_of(path, complex.parts), {}, std::move(complex.summary)};
  }
  for (const char* other : {".tri", ".prm"})
    expects(!path.ends_with(other), "'", path, "' is a mesh of FEAT2; FEAT3's tool tri2mesh makes an .xml of it");
  PatchText text;
  if (path.ends_with(".xml"))
    text.parts = read_feat3(path);
  else
    text = read_patch_text(path, expressions);
  if (cells) text.parts.cells = *cells;
  return {mesh_of(path, text.parts), std::move(text.diffusion), path.ends_with(".xml") ? "cells of FEAT3" : ""};
}

}  // namespace stratum
