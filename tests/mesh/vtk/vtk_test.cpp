#include <stratum/mesh/vtk/vtk.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/vtk/vtk_xml.hpp>
#include <stratum/mesh/vtk/vts.hpp>
#include <stratum/mesh/vtk/vtu.hpp>

namespace {

using namespace stratum;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class VtkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!vtk_available()) GTEST_SKIP() << "this build has no VTK";
    fs::create_directory(folder_);
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  const fs::path folder_ = fs::temp_directory_path() / ("stratum_vtk_test_" + std::to_string(::getpid()));
  const TensorMesh<2> mesh_ = make_mesh(mesh_family("A2"), 3);
  const std::vector<double> nodes_ = std::vector<double>(81, 1.5);
  const std::vector<double> cells_ = cell_aspect_ratios(mesh_);
};

TEST(CellAspectRatios, AreOfEveryCell) {
  const TensorMesh<2> mesh{Axis({1, 4}), Axis({2, 0.5})};
  EXPECT_THAT(cell_aspect_ratios(mesh), ElementsAre(2, 2, 2, 8));
}

TEST(CellAspectRatios, OfABoxAreThoseOfTheLongestEdge) {
  const TensorMesh<3> mesh{Axis({1, 4}), Axis({2}), Axis({2, 0.5})};
  EXPECT_THAT(cell_aspect_ratios(mesh), ElementsAre(2, 2, 4, 8));
}

TEST_F(VtkTest, BoxesHaveThreeAxes) {
  const TensorMesh<3> mesh{Axis({1, 4}), Axis({2}), Axis({2, 0.5, 1}).starting_at(7)};
  const std::string path = (folder_ / "box.vtr").string();
  const std::vector<double> nodes(24, 1.5), cells = cell_aspect_ratios(mesh);
  write_vtr(path, mesh, {{"solution", nodes}}, {{"aspect_ratio", cells}}, VtkCompression::none);
  const detail::VtkXmlFile read(path, "RectilinearGrid");
  EXPECT_EQ(read.whole().points(2), 4);
  EXPECT_EQ(read.array(detail::VtkXmlFile::On::cells, 0).values, cells);
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  for (const Axis& axis : {mesh.x(), mesh.y(), mesh.z()}) {
    const auto coordinates = axis.coordinates();
    EXPECT_NE(text.str().find(
                  std::string(reinterpret_cast<const char*>(coordinates.data()), sizeof(double) * coordinates.size())),
              std::string::npos)
        << "the file lacks the coordinates from " << coordinates.front() << " on";
  }
  EXPECT_THROW(write_vtr(path, mesh, {{"solution", cells}}), UsageError);
  EXPECT_THROW(write_vtr((folder_ / "missing" / "box.vtr").string(), mesh, {{"solution", nodes}}), FileError);
  EXPECT_EQ(files(), 1U);
}

TEST_F(VtkTest, PiecesShareARowOfNodes) {
  const NodeRows lower{0, 3}, upper{3, 8};
  for (const auto& [name, rows] : {std::pair{"a_0.vtr", lower}, {"a_1.vtr", upper}}) {
    const auto ratios = cell_aspect_ratios(mesh_, rows);
    const std::vector<double> values(9 * static_cast<std::size_t>(rows.count()), 1.5);
    ASSERT_EQ(ratios.size(), 8 * static_cast<std::size_t>(rows.last - rows.first));
    EXPECT_EQ(ratios[0], cells_[8 * static_cast<std::size_t>(rows.first)]);
    write_vtr_piece((folder_ / name).string(), mesh_, rows, {{"u", values}}, {{"aspect_ratio", ratios}});
    std::ifstream file(folder_ / name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_THAT(text.str(), HasSubstr(message("Extent=\"0 8 ", rows.first, ' ', rows.last, " 0 0\"")));
  }
  write_pvtr((folder_ / "a.pvtr").string(), mesh_, {{"a_0.vtr", lower}, {"\"&<.vtr", upper}}, {{"u", nodes_}});
  std::ifstream file(folder_ / "a.pvtr");
  std::stringstream text;
  text << file.rdbuf();
  for (const char* part : {"WholeExtent=\"0 8 0 8 0 0\"", "<PPointData Scalars=\"u\">", "Name=\"u\"", "<PCellData>",
                           "<Piece Extent=\"0 8 0 3 0 0\" Source=\"a_0.vtr\"/>",
                           "<Piece Extent=\"0 8 3 8 0 0\" Source=\"&quot;&amp;&lt;.vtr\"/>", "</VTKFile>"})
    EXPECT_THAT(text.str(), HasSubstr(part));
  EXPECT_EQ(files(), 3U);
}

TEST_F(VtkTest, PiecesOfDeformedMeshesShareARowOfNodes) {
  std::vector<double> x, y;
  for (int j = 0; j <= 4; ++j)
    for (int i = 0; i <= 2; ++i) {
      x.push_back(i + j / 3.0);
      y.push_back(j * (1 + 0.1 * i));
    }
  const MappedMesh mesh(TensorMesh<2>(uniform(1, 2), uniform(1, 4)), x, y);
  const auto ratios = cell_aspect_ratios(mesh);
  for (const auto& [name, rows] : {std::pair{"a_0.vts", NodeRows{0, 3}}, {"a_1.vts", NodeRows{3, 4}}}) {
    const auto own = cell_aspect_ratios(mesh, rows);
    ASSERT_EQ(own.size(), 2 * static_cast<std::size_t>(rows.last - rows.first));
    EXPECT_EQ(own.back(), ratios[2 * static_cast<std::size_t>(rows.last) - 1]);
    const auto path = (folder_ / name).string();
    const std::vector<double> values(3 * static_cast<std::size_t>(rows.count()), 1.5);
    write_vts_piece(path, mesh, rows, {{"u", values}}, {{"aspect_ratio", own}});
    const MappedMesh read = read_vts(path);
    const auto first = 3 * static_cast<std::ptrdiff_t>(rows.first),
               last = 3 * static_cast<std::ptrdiff_t>(rows.last + 1);
    EXPECT_EQ(read.x(), std::vector(x.begin() + first, x.begin() + last));
    EXPECT_EQ(read.y(), std::vector(y.begin() + first, y.begin() + last));
  }
  write_pvts((folder_ / "a.pvts").string(), mesh.logical(), {{"a_0.vts", {0, 3}}, {"a_1.vts", {3, 4}}}, {{"u", nodes_}},
             {{"aspect_ratio", ratios}});
  std::ifstream file(folder_ / "a.pvts");
  std::stringstream text;
  text << file.rdbuf();
  for (const char* part : {"<VTKFile type=\"PStructuredGrid\"", "<PStructuredGrid WholeExtent=\"0 2 0 4 0 0\"",
                           "<PPointData Scalars=\"u\">", "<PCellData Scalars=\"aspect_ratio\">",
                           "Name=\"Points\" NumberOfComponents=\"3\"",
                           "<Piece Extent=\"0 2 3 4 0 0\" Source=\"a_1.vts\"/>", "</PStructuredGrid>"})
    EXPECT_THAT(text.str(), HasSubstr(part));
}

TEST_F(VtkTest, WritesAWholeAppendedCompressedFile) {
  const auto path = (folder_ / "a.vtr").string();
  write_vtr(path, mesh_, {{"solution", nodes_}, {"error", nodes_}}, {{"aspect_ratio", cells_}});
  EXPECT_EQ(files(), 1U) << "something half-written was left";
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  for (const char* part :
       {"RectilinearGrid", "Name=\"solution\"", "Name=\"error\"", "Name=\"aspect_ratio\"", "format=\"appended\"",
        "compressor=\"vtkLZ4DataCompressor\"", "Float64", "0 8 0 8 0 0", "</VTKFile>"})
    EXPECT_THAT(text.str(), HasSubstr(part));
}

TEST_F(VtkTest, FieldsOfTheWrongSizeAreRefusedAndNothingIsWritten) {
  const std::vector<double> short_field(80);
  const auto path = (folder_ / "b.vtr").string();
  EXPECT_THROW(write_vtr(path, mesh_, {{"solution", short_field}}), UsageError);
  EXPECT_THROW(write_vtr(path, mesh_, {{"solution", nodes_}}, {{"aspect_ratio", short_field}}), UsageError);
  EXPECT_EQ(files(), 0U);
}

TEST_F(VtkTest, APlaceThatCannotBeWrittenIsAFileError) {
  EXPECT_THROW(write_vtr((folder_ / "missing" / "c.vtr").string(), mesh_, {{"solution", nodes_}}), FileError);
  EXPECT_THROW(write_vtr(folder_.string(), mesh_, {{"solution", nodes_}}), FileError);
  EXPECT_EQ(files(), 0U);
}

TEST_F(VtkTest, AnOldFileIsReplaced) {
  const auto path = folder_ / "d.vtr";
  std::ofstream(path) << "old";
  write_vtr(path.string(), mesh_, {{"solution", nodes_}});
  EXPECT_GT(fs::file_size(path), 100U);
  EXPECT_EQ(files(), 1U);
}

TEST_F(VtkTest, DeformedMeshesComeBackBitForBit) {
  std::vector<double> x, y;
  for (int j = 0; j <= 2; ++j)
    for (int i = 0; i <= 3; ++i) {
      x.push_back(1e-9 + i + j / 3.0);
      y.push_back(j * (1 + 0.1 * i) / 7);
    }
  const MappedMesh mesh(TensorMesh<2>(uniform(1, 3), uniform(1, 2)), x, y);
  const auto path = (folder_ / "e.vts").string();
  const std::vector<double> nodes(12, 1.5), cells(6, 2.5);
  write_vts(path, mesh, {{"solution", nodes}}, {{"aspect_ratio", cells}});
  EXPECT_EQ(files(), 1U);
  const MappedMesh read = read_vts(path, "read");
  EXPECT_EQ(read.x(), x);
  EXPECT_EQ(read.y(), y);
  EXPECT_EQ(read.logical().x().size(), 3);
  EXPECT_EQ(read.logical().name(), "read");
  EXPECT_THROW(write_vts(path, mesh, {{"solution", cells}}), UsageError);
  EXPECT_THROW((void)read_vts((folder_ / "none.vts").string()), FileError);
  EXPECT_THROW((void)read_vts((folder_ / "e.vtr").string()), UsageError);
}

TEST_F(VtkTest, WritesUnstructuredGridsWithVectors) {
  const VtkCells cells{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}}, 4, {0, 1, 2, 3, 1, 2, 3, 4}};
  const std::vector<double> size{1, 2}, field{1, 0, 0, 0, 1, 0};
  const auto path = (folder_ / "a.vtu").string();
  write_vtu(path, cells, {{"size", size}, {"field", field}});
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  for (const char* part : {"UnstructuredGrid", "NumberOfPoints=\"5\"", "NumberOfCells=\"2\"", "Name=\"field\"",
                           "NumberOfComponents=\"3\"", "</VTKFile>"})
    EXPECT_THAT(text.str(), HasSubstr(part));
  EXPECT_THROW(write_vtu(path, cells, {{"four", std::vector<double>(4)}}), UsageError);
  EXPECT_THROW(write_vtu(path, {cells.points, 4, {0, 1, 2, 5}}, {}), UsageError);
  EXPECT_THROW(write_vtu(path, {cells.points, 5, {0, 1, 2, 3, 4}}, {}), UsageError);
  EXPECT_EQ(files(), 1U);
}

}  // namespace
