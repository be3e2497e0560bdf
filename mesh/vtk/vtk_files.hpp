#pragma once

// Common part of the writers that use VTK. Needs VTK. (mesh/vtk/vtk_xml.hpp reads such files without it.)

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include <vtkCallbackCommand.h>
#include <vtkCellData.h>
#include <vtkDoubleArray.h>
#include <vtkExecutive.h>
#include <vtkNew.h>
#include <vtkPointData.h>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/output_file.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

namespace stratum::detail {

// VTK reads the caller's numbers where they are; it never writes to an array that it only stores in a file.
inline vtkNew<vtkDoubleArray> wrap(const std::string& name, std::span<const double> values, int components = 1) {
  vtkNew<vtkDoubleArray> array;
  array->SetName(name.c_str());
  array->SetNumberOfComponents(components);
  array->SetArray(const_cast<double*>(values.data()), static_cast<vtkIdType>(values.size()), 1);
  return array;
}

inline void add_fields(vtkDataSetAttributes* data, const std::vector<VtkField>& fields, std::int64_t size,
                       const char* where) {
  for (const auto& field : fields) {
    const auto values = static_cast<std::int64_t>(field.values.size());
    expects(values == size || values == 3 * size, "VTK field '", field.name, "' has ", values, " values for ", size,
            " ", where);
    data->AddArray(wrap(field.name, field.values, values == size ? 1 : 3));
  }
  if (!fields.empty() && static_cast<std::int64_t>(fields.front().values.size()) == size)
    data->SetActiveScalars(fields.front().name.c_str());
}

/// Appended, there whole or not at all.
template <class Writer, class Grid>
void write_grid(const std::string& path, Grid* grid, const std::vector<VtkField>& node_fields,
                const std::vector<VtkField>& cell_fields, VtkCompression compression) {
  add_fields(grid->GetPointData(), node_fields, std::int64_t{grid->GetNumberOfPoints()}, "nodes");
  add_fields(grid->GetCellData(), cell_fields, std::int64_t{grid->GetNumberOfCells()}, "cells");
  write_whole(path, [grid, compression](const std::string& temporary) -> std::string {
    vtkNew<Writer> writer;
    // With an observer of its own VTK prints no error; the error code says what went wrong.
    vtkNew<vtkCallbackCommand> silent;
    silent->SetCallback([](vtkObject*, unsigned long, void*, void*) {});
    writer->AddObserver(vtkCommand::ErrorEvent, silent);
    writer->GetExecutive()->AddObserver(vtkCommand::ErrorEvent, silent);
    writer->SetFileName(temporary.c_str());
    writer->SetInputData(grid);
    writer->SetDataModeToAppended();
    writer->EncodeAppendedDataOff();
    switch (compression) {
      case VtkCompression::none: writer->SetCompressorTypeToNone(); break;
      case VtkCompression::fast: writer->SetCompressorTypeToLZ4(); break;
      case VtkCompression::best: writer->SetCompressorTypeToZLib(); break;
    }
    writer->SetHeaderTypeToUInt64();
    const bool written = writer->Write() == 1;
    const auto code = static_cast<int>(writer->GetErrorCode());
    if (written && code == 0) return "";
    // Below VTK's own codes stand the system's.
    constexpr int first_vtk_code = 20000;
    return code > 0 && code < first_vtk_code ? std::strerror(code) : "VTK's writer failed; is the disk full?";
  });
}

}  // namespace stratum::detail
