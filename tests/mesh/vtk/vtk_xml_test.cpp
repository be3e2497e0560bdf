// VtkXmlFile against VTK's own writers in every mode, and against files that are not what they say.

#include <stratum/mesh/vtk/vtk_xml.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

#if defined(STRATUM_HAVE_VTK)
#include <vtkCellData.h>
#include <vtkDoubleArray.h>
#include <vtkFloatArray.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkRectilinearGrid.h>
#include <vtkSmartPointer.h>
#include <vtkStructuredGrid.h>
#include <vtkUnsignedCharArray.h>
#include <vtkXMLImageDataWriter.h>
#include <vtkXMLRectilinearGridReader.h>
#include <vtkXMLStructuredGridWriter.h>
#endif

namespace {

using namespace stratum;
using stratum::detail::VtkXmlFile;
using testing::ElementsAre;
using testing::HasSubstr;

class VtkXml : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string write(const std::string& text, const std::string& name = "a.vti") const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  struct Piece {
    std::string extent, array;
  };
  /// A file of 3 x 2 cells unless said otherwise; each piece with an array k or what is given for it.
  [[nodiscard]] std::string image(const std::vector<Piece>& pieces, const std::string& whole = "0 3 0 2 0 0",
                                  const std::string& attributes = "") const {
    std::string text = "<?xml version=\"1.0\"?>\n<!-- of a stranger -->\n<VTKFile type=\"ImageData\" version=\"0.1\" " +
                       attributes + ">\n<ImageData WholeExtent=\"" + whole + "\">";
    for (const auto& [extent, array] : pieces)
      text += "<Piece Extent=\"" + extent + "\"><CellData>" + array + "</CellData></Piece>\n";
    return write(text + "</ImageData></VTKFile>\n");
  }
  static std::string array(const std::string& numbers, const std::string& type = "Float64",
                           const std::string& more = "format=\"ascii\"") {
    return "<DataArray type=\"" + type + "\" Name=\"k\" " + more + ">" + numbers + "</DataArray>";
  }
  static std::vector<double> numbers_of(const std::string& file) {
    return VtkXmlFile(file, "ImageData").array(VtkXmlFile::On::cells, 0).values;
  }
  static void refused(const std::string& file, const std::string& why) {
    try {
      const auto values = numbers_of(file);
      ADD_FAILURE() << "read " << values.size() << " numbers where there is: " << why;
    } catch (const FileError& error) {
      EXPECT_THAT(error.what(), HasSubstr("cannot read '" + file + "'"));
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("stratum_vtk_xml_test_" + std::to_string(::getpid()));
};

TEST_F(VtkXml, PiecesInAnyOrderMakeOneGrid) {
  EXPECT_THAT(numbers_of(image({{"0 3 0 2 0 0", array("1 2 3 4 5 6")}})), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(
      numbers_of(image({{"2 3 0 2 0 0", array("3 6")}, {"0 2 1 2 0 0", array("4 5")}, {"0 2 0 1 0 0", array("1 2")}})),
      ElementsAre(1, 2, 3, 4, 5, 6));
  // Ghost cells that agree, a piece of a rank that has nothing, an origin that is not zero.
  EXPECT_THAT(
      numbers_of(
          image({{"7 9 5 7 0 0", array("1 2 4 5")}, {"0 -1 0 -1 0 -1", array("")}, {"8 10 5 7 0 0", array("2 3 5 6")}},
                "7 10 5 7 0 0")),
      ElementsAre(1, 2, 3, 4, 5, 6));
  // Not a number is one to the format, here in two pieces.
  const auto with_nan = numbers_of(image({{"0 3 0 2 0 0", array("nan 2 3 4 5 6")}, {"0 1 0 1 0 0", array("nan")}}));
  EXPECT_NE(with_nan[0], with_nan[0]);
  EXPECT_EQ(with_nan[1], 2);
}

TEST_F(VtkXml, PiecesThatDoNotMakeTheGridAreRefused) {
  refused(image({{"0 3 0 1 0 0", array("1 2 3")}}), "3 of 6 cells have no number in array 'k'");
  refused(image({{"0 2 0 2 0 0", array("1 2 4 5")}, {"0 2 0 1 0 0", array("1 2")}}), "2 of 6 cells have no number");
  refused(image({}), "it has no pieces");
  refused(image({{"0 -1 0 -1 0 -1", array("")}}), "it has no pieces");
  refused(image({{"0 4 0 2 0 0", array("1 2 3 0 4 5 6 0")}}), "does not lie within the WholeExtent");
  refused(image({{"-1 3 0 2 0 0", array("0 1 2 3 0 4 5 6")}}), "does not lie within the WholeExtent");
  refused(image({{"0 3 0 2 0 0", array("1 2 3 4 5 6")}, {"0 1 0 1 0 0", array("7")}}),
          "two pieces overlap and differ: array 'k' is 1 and 7 at (0, 0)");
  refused(image({{"0 2 0 2 0 0", array("1 2 4 5")}, {"2 3 0 2 0 0", array("3 6", "String")}}),
          "piece 2 lacks array 'k'");
  refused(image({{"0 2 0 2 0 0", array("1 2 4 5")},
                 {"2 3 0 2 0 0", array("3 6 3 6", "Float64", "NumberOfComponents=\"2\" format=\"ascii\"")}}),
          "2 components in piece 2");
  for (const char* extent : {"", "0 3 0 2 0", "0 3 0 2 0 0 0", "0 x 0 2 0 0", "0 99999999999 0 2 0 0", "0 3.5 0 2 0 0"})
    refused(image({{"0 3 0 2 0 0", array("1 2 3 4 5 6")}}, extent), "not six whole numbers");
  refused(image({{"0 3 0 2 0 0", array("1 2 3 4 5 6")}}, "0 -1 0 2 0 0"), "has no cells");
  refused(image({{"0 3 0 2 0 0", array("1 2 3 4 5 6")}}, "0 2000000000 0 2000000000 0 0"), "do not cover");
}

TEST_F(VtkXml, ArraysOfAnotherLengthAreRefused) {
  const auto one_piece = [&](const std::string& of) { return image({{"0 3 0 2 0 0", of}}); };
  refused(one_piece(array("1 2 3")), "array 'k' has 3 numbers, 6 are needed");
  refused(one_piece(array("1 2 3 4 5 6 7")), "array 'k' has 7 numbers, 6 are needed");
  refused(one_piece(array("")), "has 0 numbers");
  refused(one_piece(array("1 2 3 4 five 6")), "'five' where a number should be");
  refused(one_piece(array("1 2 3 4 5 6", "Float64", "NumberOfComponents=\"3\" format=\"ascii\"")),
          "has 6 numbers, 18 are needed");
  for (const char* components : {"0", "-1", "x", "4000000000"})
    refused(
        one_piece(array("1 2 3 4 5 6", "Float64", message("NumberOfComponents=\"", components, "\" format=\"ascii\""))),
        "components");
  // Four bytes, then as many as these say: 6 of one byte.
  const std::string binary = "format=\"binary\"";
  EXPECT_THAT(numbers_of(one_piece(array("\n  BgAAAAECAwQFBg==\n", "UInt8", binary))), ElementsAre(1, 2, 3, 4, 5, 6));
  refused(one_piece(array("BQAAAAECAwQF", "UInt8", binary)), "has 5 numbers, 6 are needed");
  refused(one_piece(array("BwAAAAECAwQFBgc=", "UInt8", binary)), "has 7 numbers, 6 are needed");
  refused(one_piece(array("BgAAAAECAwQF", "UInt8", binary)), "it ends within array 'k'");
  refused(one_piece(array("BgAAAAEC", "UInt8", binary)), "it ends within array 'k'");
  refused(one_piece(array("BgAAAAEC????BQY=", "UInt8", binary)), "it ends within array 'k'");
  refused(one_piece(array("BgA", "UInt8", binary)), "it ends within array 'k'");
  refused(one_piece(array("", "UInt8", binary)), "it ends within array 'k'");
  refused(one_piece(array("", "UInt8", "format=\"appended\" offset=\"8\"")), "begins at the offset '8'");
  refused(one_piece(array("", "UInt8", "format=\"appended\" offset=\"-8\"")), "begins at the offset '-8'");
}

TEST_F(VtkXml, WhatIsNoSuchFileIsRefused) {
  refused(path("none.vti"), "No such file");
  refused(folder_.string(), "directory");
  const std::string good =
      "<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 1 0 1 0 0\"><Piece Extent=\"0 1 0 1 0 0\">"
      "<CellData>" +
      array("5") + "</CellData></Piece></ImageData></VTKFile>";
  EXPECT_THAT(numbers_of(write(good)), ElementsAre(5));
  // Wherever it ends.
  for (std::size_t length = 0; length < good.size(); ++length) refused(write(good.substr(0, length)), "whole");
  refused(write("hello <VTKFile"), "whole");
  refused(write("<a><b></a></b>"), "whole");
  refused(write("<html></html>"), "whole");
  refused(write("<VTKFile type=\"RectilinearGrid\"></VTKFile>"), "type 'RectilinearGrid', not of ImageData");
  refused(write("<VTKFile type=\"ImageData\"></VTKFile>"), "whole");
  std::string deep;
  for (int k = 0; k < 100000; ++k) deep += "<a>";
  refused(write(deep), "whole");
}

#if defined(STRATUM_HAVE_VTK)

/// 37 x 11 cells with an array of every kind.
vtkSmartPointer<vtkImageData> picture() {
  auto grid = vtkSmartPointer<vtkImageData>::New();
  grid->SetExtent(2, 39, 0, 11, 0, 0);
  const vtkIdType cells = 37 * 11;
  const auto fill = [&](auto array, const char* name, int components) {
    array->SetName(name);
    array->SetNumberOfComponents(components);
    array->SetNumberOfTuples(cells);
    for (vtkIdType k = 0; k < cells; ++k)
      for (int c = 0; c < components; ++c) array->SetComponent(k, c, static_cast<double>((k * 7 + c) % 251) + 0.25);
    grid->GetCellData()->AddArray(array);
  };
  fill(vtkSmartPointer<vtkDoubleArray>::New(), "double", 1);
  fill(vtkSmartPointer<vtkFloatArray>::New(), "float", 3);
  fill(vtkSmartPointer<vtkUnsignedCharArray>::New(), "byte & <more>", 1);
  return grid;
}

/// Arrays of a box of several blocks, whatever the number of threads.
TEST_F(VtkXml, VtkReadsWhatIsWrittenByThreads) {
  const TensorMesh<3> mesh(geometric(1, 50, 1.1, GradedSide::last), uniform(2, 40), uniform(3, 30).starting_at(7));
  std::vector<double> nodes(51 * 41 * 31), vectors(3 * 50 * 40 * 30), cells(50 * 40 * 30);
  for (std::size_t k = 0; k < nodes.size(); ++k) nodes[k] = std::sin(static_cast<double>(k));
  for (std::size_t k = 0; k < vectors.size(); ++k) vectors[k] = static_cast<double>(k % 17);
  for (std::size_t k = 0; k < cells.size(); ++k) cells[k] = static_cast<double>(k);
  const std::string file = path("box.vtr");
  const auto check = [](vtkDataArray* read, const std::vector<double>& given, int components) {
    ASSERT_NE(read, nullptr);
    ASSERT_EQ(read->GetNumberOfComponents(), components);
    ASSERT_EQ(static_cast<std::size_t>(read->GetNumberOfValues()), given.size());
    for (std::size_t k = 0; k < given.size(); ++k)
      ASSERT_EQ(read->GetVariantValue(static_cast<vtkIdType>(k)).ToDouble(), given[k]);
  };
  for (const auto compression : {VtkCompression::none, VtkCompression::fast, VtkCompression::best})
    for (const int threads : {1, 3}) {
      write_vtr(file, mesh, {{"u \"&<", nodes}}, {{"v", vectors}, {"w", cells}}, compression, threads);
      vtkNew<vtkXMLRectilinearGridReader> reader;
      reader->SetFileName(file.c_str());
      reader->Update();
      vtkRectilinearGrid* const grid = reader->GetOutput();
      ASSERT_EQ(grid->GetNumberOfCells(), 60000);
      check(grid->GetPointData()->GetScalars(), nodes, 1);
      check(grid->GetPointData()->GetArray("u \"&<"), nodes, 1);
      check(grid->GetCellData()->GetArray("v"), vectors, 3);
      check(grid->GetCellData()->GetArray("w"), cells, 1);
      check(grid->GetXCoordinates(), mesh.x().coordinates(), 1);
      check(grid->GetZCoordinates(), mesh.z().coordinates(), 1);
      const VtkXmlFile read(file, "RectilinearGrid");
      EXPECT_EQ(read.array(VtkXmlFile::On::cells, 0).values, vectors);
    }
}

TEST_F(VtkXml, ReadsWhatVtkWritesInEveryMode) {
  const auto grid = picture();
  const auto check = [&](const std::string& file) {
    const VtkXmlFile read(file, "ImageData");
    ASSERT_THAT(read.arrays(VtkXmlFile::On::cells), ElementsAre("double", "float", "byte & <more>"));
    for (std::size_t a = 0; a < 3; ++a) {
      const auto found = read.array(VtkXmlFile::On::cells, a);
      auto* const given = grid->GetCellData()->GetArray(static_cast<int>(a));
      ASSERT_EQ(found.components, given->GetNumberOfComponents());
      const auto n = static_cast<std::size_t>(found.components);
      ASSERT_EQ(found.values.size(), 37U * 11 * n);
      for (std::size_t k = 0; k < found.values.size(); ++k)
        ASSERT_EQ(found.values[k], given->GetComponent(static_cast<vtkIdType>(k / n), static_cast<int>(k % n)));
    }
  };
  using Set = std::function<void(vtkXMLImageDataWriter*)>;
  const std::vector<Set> modes{[](auto* w) { w->SetDataModeToAscii(); }, [](auto* w) { w->SetDataModeToBinary(); },
                               [](auto* w) {
                                 w->SetDataModeToAppended();
                                 w->EncodeAppendedDataOn();
                               },
                               [](auto* w) {
                                 w->SetDataModeToAppended();
                                 w->EncodeAppendedDataOff();
                               }};
  const std::vector<Set> compressors{
      [](auto* w) { w->SetCompressorTypeToNone(); }, [](auto* w) { w->SetCompressorTypeToZLib(); },
      [](auto* w) { w->SetCompressorTypeToLZ4(); }, [](auto* w) { w->SetCompressorTypeToLZMA(); }};
  for (const auto& mode : modes)
    for (const auto& compressor : compressors)
      for (const bool large : {false, true})
        for (const bool big_endian : {false, true})
          for (const int pieces : {1, 3}) {
            vtkNew<vtkXMLImageDataWriter> writer;
            const std::string file = path("v.vti");
            writer->SetFileName(file.c_str());
            writer->SetInputData(grid);
            mode(writer);
            compressor(writer);
            writer->SetBlockSize(256);  // several blocks
            large ? writer->SetHeaderTypeToUInt64() : writer->SetHeaderTypeToUInt32();
            big_endian ? writer->SetByteOrderToBigEndian() : writer->SetByteOrderToLittleEndian();
            writer->SetNumberOfPieces(pieces);
            ASSERT_EQ(writer->Write(), 1);
            check(file);
            if (big_endian || pieces > 1) continue;
            // Cut short anywhere it is refused or, behind what is asked for, read; never more than it holds.
            std::ifstream in(file, std::ios::binary);
            const std::string whole((std::istreambuf_iterator<char>(in)), {});
            for (std::size_t part = 1; part < 20; ++part) {
              const auto cut = write(whole.substr(0, whole.size() * part / 20), "cut.vti");
              EXPECT_THROW((void)numbers_of(cut), FileError) << part << " twentieths";
            }
          }
}

TEST_F(VtkXml, ReadsPointsOfStructuredGrids) {
  vtkNew<vtkPoints> points;
  points->SetDataTypeToDouble();
  for (int j = 0; j < 5; ++j)
    for (int i = 0; i < 4; ++i) points->InsertNextPoint(i + 0.125 * j, j / 3.0, 0);
  vtkNew<vtkStructuredGrid> grid;
  grid->SetExtent(0, 3, 0, 4, 0, 0);
  grid->SetPoints(points);
  for (const int pieces : {1, 2}) {
    vtkNew<vtkXMLStructuredGridWriter> writer;
    const std::string file = path("v.vts");
    writer->SetFileName(file.c_str());
    writer->SetInputData(grid);
    writer->SetNumberOfPieces(pieces);
    ASSERT_EQ(writer->Write(), 1);
    const auto read = VtkXmlFile(file, "StructuredGrid").points().values;
    ASSERT_EQ(read.size(), 60U);
    for (std::size_t k = 0; k < 60; ++k) ASSERT_EQ(read[k], points->GetPoint(static_cast<vtkIdType>(k / 3))[k % 3]);
  }
  const auto two_points = write("<VTKFile type=\"StructuredGrid\"><StructuredGrid WholeExtent=\"0 1 0 1 0 0\"><Piece "
                                "Extent=\"0 1 0 1 0 0\"><Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" "
                                "format=\"ascii\">0 0 0 1 0 0</DataArray></Points></Piece></StructuredGrid></VTKFile>",
                                "two.vts");
  try {
    (void)VtkXmlFile(two_points, "StructuredGrid").points();
    ADD_FAILURE() << "two of four points are not enough";
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the array of points has 6 numbers, 12 are needed"));
  }
}

#endif

}  // namespace
