#pragma once

// The files of a run that show p: for ParaView, for NumPy, and a picture.

#include <string>
#include <vector>

#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

#include "settings.hpp"
#include "support/output_files.hpp"

namespace stratum::apps::bubbly {

/// The names of the files, checked.
[[nodiscard]] OutputFiles parse_outputs(const CommandLine& options, const Settings& s);

/// Cells whose corners are nodes.
[[nodiscard]] TensorMesh<2> mesh_of_cells(const Settings& s);

/// Fields on the cells: density, p and what else there is.
struct Fields {
  std::vector<double> density, p, f, domains;

  [[nodiscard]] std::vector<VtkField> of_cells() const {
    std::vector<VtkField> fields{{"pressure", p}, {"density", density}, {"rhs", f}};
    if (!domains.empty()) fields.push_back({"deflation_vector", domains});
    return fields;
  }
};

[[nodiscard]] Fields fields_of(const Settings& s, const PressureSystem& system, const PressureSolver& solver,
                               const std::vector<double>& p, const std::vector<double>& b);

/// p as colours between the centres of cells.
void write_picture(const Settings& s, const std::vector<double>& p, const std::string& path, const std::string& title);

}  // namespace stratum::apps::bubbly
