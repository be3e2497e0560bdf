// compare_grids A B TOLERANCE: two files of rectilinear grids, .vtr or .pvtr, or of structured ones, .vts or .pvts, as VTK
// reads them. Exit code 0 where extents and coordinates are the same, and arrays differ by TOLERANCE of their largest number at
// most; 1 else, saying where.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <vtkCellData.h>
#include <vtkDataArray.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkRectilinearGrid.h>
#include <vtkSmartPointer.h>
#include <vtkStructuredGrid.h>
#include <vtkXMLPRectilinearGridReader.h>
#include <vtkXMLPStructuredGridReader.h>
#include <vtkXMLRectilinearGridReader.h>
#include <vtkXMLStructuredGridReader.h>

namespace {

template <class Reader>
auto read_by(const std::string& path) {
  vtkNew<Reader> reader;
  reader->SetFileName(path.c_str());
  reader->Update();
  return vtkSmartPointer(reader->GetOutput());
}

int failures = 0;

void same(const char* name, vtkDataArray* a, vtkDataArray* b, double tolerance) {
  if (a == nullptr || b == nullptr || a->GetNumberOfTuples() != b->GetNumberOfTuples()) {
    std::printf("%s: not there, or of another size\n", name);
    ++failures;
    return;
  }
  double largest = 0, difference = 0;
  for (vtkIdType k = 0; k < a->GetNumberOfTuples(); ++k)
    for (int c = 0; c < b->GetNumberOfComponents(); ++c) {
      largest = std::max(largest, std::abs(b->GetComponent(k, c)));
      difference = std::max(difference, std::abs(a->GetComponent(k, c) - b->GetComponent(k, c)));
    }
  if (difference <= tolerance * largest) return;
  std::printf("%s: differs by %g of %g\n", name, difference, largest);
  ++failures;
}

void same_fields(vtkDataSetAttributes* a, vtkDataSetAttributes* b, double tolerance) {
  if (a->GetNumberOfArrays() != b->GetNumberOfArrays() || b->GetNumberOfArrays() == 0) {
    std::printf("%d and %d arrays\n", a->GetNumberOfArrays(), b->GetNumberOfArrays());
    ++failures;
  }
  for (int k = 0; k < b->GetNumberOfArrays(); ++k)
    same(b->GetArrayName(k), a->GetArray(b->GetArrayName(k)), b->GetArray(k), tolerance);
}

void same_places(vtkRectilinearGrid* a, vtkRectilinearGrid* b) {
  same("x", a->GetXCoordinates(), b->GetXCoordinates(), 0);
  same("y", a->GetYCoordinates(), b->GetYCoordinates(), 0);
}
void same_places(vtkStructuredGrid* a, vtkStructuredGrid* b) {
  same("points", a->GetPoints()->GetData(), b->GetPoints()->GetData(), 0);
}

template <class Grid>
int compare(const vtkSmartPointer<Grid>& a, const vtkSmartPointer<Grid>& b, double tolerance) {
  if (!std::equal(a->GetExtent(), a->GetExtent() + 6, b->GetExtent()) || b->GetNumberOfCells() == 0) {
    std::printf("not the same extents\n");
    return 1;
  }
  same_places(a.Get(), b.Get());
  same_fields(a->GetPointData(), b->GetPointData(), tolerance);
  same_fields(a->GetCellData(), b->GetCellData(), tolerance);
  return failures == 0 ? 0 : 1;
}

template <class Reader, class ReaderOfPieces>
int compare_by(const std::string& a, const std::string& b, double tolerance) {
  const auto read = [](const std::string& path) {
    return path[path.rfind('.') + 1] == 'p' ? read_by<ReaderOfPieces>(path) : read_by<Reader>(path);
  };
  return compare(read(a), read(b), tolerance);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string a = argv[1], b = argv[2];
  const auto by = a.ends_with('s') ? compare_by<vtkXMLStructuredGridReader, vtkXMLPStructuredGridReader>
                                   : compare_by<vtkXMLRectilinearGridReader, vtkXMLPRectilinearGridReader>;
  return by(a, b, std::atof(argv[3]));
}
