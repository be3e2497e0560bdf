// compare_grids A B TOLERANCE: two files of rectilinear grids, .vtr or .pvtr, as VTK reads them. Exit code 0 where extents and
// coordinates are the same, and arrays differ by TOLERANCE of their largest number at most; 1 else, saying where.

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
#include <vtkXMLPRectilinearGridReader.h>
#include <vtkXMLRectilinearGridReader.h>

namespace {

template <class Reader>
vtkSmartPointer<vtkRectilinearGrid> read_by(const std::string& path) {
  vtkNew<Reader> reader;
  reader->SetFileName(path.c_str());
  reader->Update();
  return reader->GetOutput();
}

vtkSmartPointer<vtkRectilinearGrid> read(const std::string& path) {
  return path.ends_with(".pvtr") ? read_by<vtkXMLPRectilinearGridReader>(path)
                                 : read_by<vtkXMLRectilinearGridReader>(path);
}

int failures = 0;

void same(const char* name, vtkDataArray* a, vtkDataArray* b, double tolerance) {
  if (a == nullptr || b == nullptr || a->GetNumberOfTuples() != b->GetNumberOfTuples()) {
    std::printf("%s: not there, or of another size\n", name);
    ++failures;
    return;
  }
  double largest = 0, difference = 0;
  for (vtkIdType k = 0; k < a->GetNumberOfTuples(); ++k) {
    largest = std::max(largest, std::abs(b->GetTuple1(k)));
    difference = std::max(difference, std::abs(a->GetTuple1(k) - b->GetTuple1(k)));
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto a = read(argv[1]), b = read(argv[2]);
  const double tolerance = std::atof(argv[3]);
  if (!std::equal(a->GetExtent(), a->GetExtent() + 6, b->GetExtent()) || b->GetNumberOfCells() == 0) {
    std::printf("not the same extents\n");
    return 1;
  }
  same("x", a->GetXCoordinates(), b->GetXCoordinates(), 0);
  same("y", a->GetYCoordinates(), b->GetYCoordinates(), 0);
  same_fields(a->GetPointData(), b->GetPointData(), tolerance);
  same_fields(a->GetCellData(), b->GetCellData(), tolerance);
  return failures == 0 ? 0 : 1;
}
