#include <stratum/mesh/vtk.hpp>

#include <algorithm>
#include <cstring>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/output_file.hpp>

#if defined(STRATUM_HAVE_VTK)
#include <vtkCallbackCommand.h>
#include <vtkCellData.h>
#include <vtkDoubleArray.h>
#include <vtkExecutive.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkRectilinearGrid.h>
#include <vtkXMLRectilinearGridWriter.h>
#endif

namespace stratum {

std::vector<double> cell_aspect_ratios(const TensorMesh& mesh) {
  std::vector<double> ratios;
  ratios.reserve(static_cast<std::size_t>(mesh.cells()));
  for (const double hy : mesh.y().widths())
    for (const double hx : mesh.x().widths()) ratios.push_back(std::max(hx / hy, hy / hx));
  return ratios;
}

#if defined(STRATUM_HAVE_VTK)

namespace {

// VTK reads the caller's numbers where they are; it never writes to an array that it only stores in a file.
vtkNew<vtkDoubleArray> wrap(const std::string& name, std::span<const double> values) {
  vtkNew<vtkDoubleArray> array;
  array->SetName(name.c_str());
  array->SetArray(const_cast<double*>(values.data()), static_cast<vtkIdType>(values.size()), 1);
  return array;
}

void add_fields(vtkDataSetAttributes* data, const std::vector<VtkField>& fields, std::int64_t size, const char* where) {
  for (const auto& field : fields) {
    expects(static_cast<std::int64_t>(field.values.size()) == size, "VTK field '", field.name, "' has ",
            field.values.size(), " values for ", size, " ", where);
    data->AddArray(wrap(field.name, field.values));
  }
  if (!fields.empty()) data->SetActiveScalars(fields.front().name.c_str());
}

}  // namespace

bool vtk_available() { return true; }

void write_vtr(const std::string& path, const TensorMesh& mesh, const std::vector<VtkField>& node_fields,
               const std::vector<VtkField>& cell_fields) {
  const auto x = mesh.x().coordinates(), y = mesh.y().coordinates();
  const double zero = 0;
  vtkNew<vtkRectilinearGrid> grid;
  grid->SetDimensions(static_cast<int>(x.size()), static_cast<int>(y.size()), 1);
  grid->SetXCoordinates(wrap("x", x));
  grid->SetYCoordinates(wrap("y", y));
  grid->SetZCoordinates(wrap("z", {&zero, 1}));
  add_fields(grid->GetPointData(), node_fields, std::int64_t{grid->GetNumberOfPoints()}, "nodes");
  add_fields(grid->GetCellData(), cell_fields, std::int64_t{grid->GetNumberOfCells()}, "cells");

  write_whole(path, [&grid](const std::string& temporary) -> std::string {
    vtkNew<vtkXMLRectilinearGridWriter> writer;
    // With an observer of its own VTK prints no error; the error code says what went wrong.
    vtkNew<vtkCallbackCommand> silent;
    silent->SetCallback([](vtkObject*, unsigned long, void*, void*) {});
    writer->AddObserver(vtkCommand::ErrorEvent, silent);
    writer->GetExecutive()->AddObserver(vtkCommand::ErrorEvent, silent);
    writer->SetFileName(temporary.c_str());
    writer->SetInputData(grid);
    writer->SetDataModeToAppended();
    writer->EncodeAppendedDataOff();
    writer->SetCompressorTypeToZLib();
    writer->SetHeaderTypeToUInt64();
    const bool written = writer->Write() == 1;
    const auto code = static_cast<int>(writer->GetErrorCode());
    if (written && code == 0) return "";
    // Below VTK's own codes stand the system's.
    constexpr int first_vtk_code = 20000;
    return code > 0 && code < first_vtk_code ? std::strerror(code) : "VTK's writer failed; is the disk full?";
  });
}

#else

bool vtk_available() { return false; }

void write_vtr(const std::string& path, const TensorMesh& /*mesh*/, const std::vector<VtkField>& /*node_fields*/,
               const std::vector<VtkField>& /*cell_fields*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK (Debian: libvtk9-dev)"));
}

#endif

}  // namespace stratum
