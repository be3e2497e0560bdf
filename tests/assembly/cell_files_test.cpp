#include <stratum/assembly/cell_files.hpp>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

namespace {

using namespace stratum;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
namespace fs = std::filesystem;

class CellFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(folder_); }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string write(const std::string& name, const std::string& bytes) {
    const auto path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  CellValues one(const std::string& path, const std::string& array = {}) {
    auto all = read_cell_values(path, array);
    EXPECT_EQ(all.size(), 1U);
    return all.at(0);
  }
  template <class Error = UsageError>
  void refused(const std::string& path, const std::string& words, const std::string& array = {}) {
    EXPECT_THAT([&] { (void)read_cell_values(path, array); }, ThrowsMessage<Error>(HasSubstr(words)));
  }

  /// What numpy.save writes.
  static std::string npy(const std::string& descr, bool fortran, const std::string& shape, const std::string& numbers,
                         char version = 1) {
    std::string header =
        "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
    const std::size_t before = version == 1 ? 10 : 12;
    header.append((128 - (before + header.size() + 1) % 64) % 64, ' ');
    header += '\n';
    std::string bytes("\x93NUMPY", 6);
    bytes += version;
    bytes += '\0';
    bytes += static_cast<char>(header.size() % 256);
    bytes += static_cast<char>(header.size() / 256);
    if (version > 1) bytes.append(2, '\0');
    return bytes + header + numbers;
  }
  /// Numbers as they lie in memory, or with their bytes reversed.
  template <class Number>
  static std::string bytes_of(const std::vector<Number>& numbers, bool reversed = false) {
    std::string bytes;
    for (const Number& number : numbers) {
      char own[sizeof(Number)];
      std::memcpy(own, &number, sizeof(Number));
      if (reversed) std::reverse(own, own + sizeof(Number));
      bytes.append(own, sizeof(Number));
    }
    return bytes;
  }
  /// A uniform grid of 3 x 2 cells with arrays k (one component) and t (three).
  static std::string vti(const std::string& extent = "0 3 0 2 0 0") {
    return "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
           "<ImageData WholeExtent=\"" +
           extent + "\" Origin=\"5 5 0\" Spacing=\"1 1 1\"><Piece Extent=\"" + extent +
           "\"><CellData>\n"
           "<DataArray type=\"Float64\" Name=\"k\" format=\"ascii\">1 2 3 4 5 6</DataArray>\n"
           "<DataArray type=\"Float32\" Name=\"t\" NumberOfComponents=\"3\" format=\"ascii\">"
           "1 0.5 2 1 0 2 1 0 2 1 0 2 1 0 2 7 -1 8</DataArray>\n"
           "<DataArray type=\"Float64\" Name=\"pair\" NumberOfComponents=\"2\" format=\"ascii\">"
           "1 2 3 4 5 6 7 8 9 10 11 12</DataArray>\n"
           "</CellData></Piece></ImageData></VTKFile>\n";
  }

  const fs::path folder_ = fs::temp_directory_path() / ("stratum_cell_files_test_" + std::to_string(::getpid()));
};

TEST_F(CellFiles, RowsOfNumbersFromTheBottomUp) {
  const auto cells = one(write("k.csv", "# permeability\n1, 2,3e2\r\n\n +4\t5 6 # top\n"));
  EXPECT_EQ(cells.nx, 3);
  EXPECT_EQ(cells.ny, 2);
  EXPECT_THAT(cells.values, ElementsAre(1, 2, 300, 4, 5, 6));
  EXPECT_THAT(one(write("one.csv", "7")).values, ElementsAre(7));
  EXPECT_THAT(one(write("line.csv", "7,8.5")).values, ElementsAre(7, 8.5));
  // 1.25, cut off.
  refused<FileError>(write("cut.csv", "1.25,1.25\n1.25,1.2"),
                     "its last line, 2, does not end, so that its last number may be cut off");
}

TEST_F(CellFiles, BadRowsAreRefusedByLine) {
  refused(write("a.csv", "1,2\n3\n"), "line 2 has 1 numbers, the first row has 2");
  refused(write("b.csv", "1,two\n"), "line 1: 'two' is not a finite number");
  refused(write("c.csv", "# a\n1,nan\n"), "line 2: 'nan' is not a finite number");
  refused(write("d.csv", "1,,2\n"), "line 1: no number before the comma at character 3");
  refused(write("e.csv", "1,2,\n"), "no number behind the last comma");
  refused(write("f.csv", "1;2\n"), "'1;2'");
  refused(write("g.csv", "# nothing\n\n"), "holds no numbers");
  refused<FileError>(write("h.csv", "\xef\xbb\xbf"
                                    "1,2\n"),
                     "byte-order mark");
  refused<FileError>((folder_ / "missing.csv").string(), "missing.csv");
  refused(write("k.txt", "1\n"), "known are .vtr, .vti, .npy, .nc, .png and .csv");
  refused(write("i.csv", "1\n"), "no arrays with names, as 'k'", "k");
  fs::create_directory(folder_ / "d.npy");
  refused<FileError>((folder_ / "d.npy").string(), "directory");
}

TEST_F(CellFiles, NumpyArraysOfEveryType) {
  const std::vector<double> numbers{1, 2, 3, 4, 5, 6};
  const auto expect = [&](const std::string& bytes) {
    const auto cells = one(write("k.npy", bytes));
    EXPECT_EQ(cells.nx, 3);
    EXPECT_EQ(cells.ny, 2);
    EXPECT_EQ(cells.values, numbers);
  };
  const auto every_order = [&](const std::string& name, const auto& own, const auto& columns) {
    for (const bool big : {false, true}) {
      const std::string descr = (big ? ">" : "<") + name;
      for (const char version : {'\1', '\2', '\3'}) expect(npy(descr, false, "(2, 3)", bytes_of(own, big), version));
      expect(npy(descr, true, "(2, 3)", bytes_of(columns, big)));
    }
  };
  const auto of = [&](auto zero) {
    using Number = decltype(zero);
    return std::pair{std::vector<Number>{1, 2, 3, 4, 5, 6}, std::vector<Number>{1, 4, 2, 5, 3, 6}};
  };
  const auto run = [&](const std::string& name, const auto& both) { every_order(name, both.first, both.second); };
  run("f8", of(0.0));
  run("f4", of(0.0F));
  run("i2", of(std::int16_t{}));
  run("i4", of(std::int32_t{}));
  run("i8", of(std::int64_t{}));
  run("u2", of(std::uint16_t{}));
  run("u4", of(std::uint32_t{}));
  run("u8", of(std::uint64_t{}));
  expect(npy("|u1", false, "(2, 3)", bytes_of(of(std::uint8_t{}).first)));
  expect(npy("|i1", false, "(2,3)", bytes_of(of(std::int8_t{}).first)));
  EXPECT_THAT(one(write("mask.npy", npy("|b1", false, "(2, 2)", std::string("\0\1\1\0", 4)))).values,
              ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(one(write("negative.npy", npy("<i2", false, "(1, 2)", std::string("\xff\xff\x00\x80", 4)))).values,
              ElementsAre(-1, -32768));
  // numpy.save(..., numpy.array([[1.5, -2], [0.25, 1e300]])), byte by byte.
  const std::string golden = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }" +
                             std::string(118 - 60, ' ') + "\n" +
                             std::string("\0\0\0\0\0\0\xf8?\0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\xd0?\x9cu\0\x88<\xe4"
                                         "7~",
                                         32);
  EXPECT_THAT(one(write("golden.npy", golden)).values, ElementsAre(1.5, -2, 0.25, 1e300));
}

TEST_F(CellFiles, BadNumpyFilesAreRefused) {
  const std::string numbers = bytes_of(std::vector<double>{1, 2, 3, 4, 5, 6}),
                    whole = npy("<f8", false, "(2, 3)", numbers);
  // Wherever it ends.
  for (std::size_t length = 0; length < whole.size(); ++length)
    refused<FileError>(write("short.npy", whole.substr(0, length)), "it ends");
  refused(write("long.npy", whole + "x"), "goes on behind its 2 x 3 numbers");
  refused(write("k.npy", "1,2,3,4,5,6,7\n"), "is no .npy file");
  refused(write("k.npy", npy("<f8", false, "(2, 3)", numbers, 4)), "version 4.0");
  for (const char* type : {"<f2", "<c16", "<U4", "|O", "", "f8", "<f16", "?f8"})
    refused(write("k.npy", npy(type, false, "(2, 3)", numbers)), "known are f4, f8");
  for (const char* shape : {"(6,)", "()", "(1, 2, 3)"})
    refused(write("k.npy", npy("<f8", false, shape, numbers)), "rows and columns are needed");
  refused(write("k.npy", npy("<f8", false, "(0, 3)", "")), "a direction has 1 .. ");
  refused(write("k.npy", npy("<f8", false, "(2, 99999999999)", numbers)), "99999999999");
  refused<FileError>(write("k.npy", npy("<f8", false, "(4000000, 4000000)", numbers)), "it ends before");
  refused(write("k.npy", npy("<f8", false, "(a, 3)", numbers)), "has a shape of other things than numbers");
  refused(write("k.npy", npy("[('a', '<f8')]", false, "(2, 3)", numbers)), "its header");
  refused(write("k.npy", npy("<f8", false, "(1, 2)", bytes_of(std::vector<double>{1, std::nan("")}))),
          "the number of cell (1, 0) is nan");
}

TEST_F(CellFiles, VtkArraysByTheirNames) {
  if (!vtk_available()) GTEST_SKIP() << "this build has no VTK";
  const auto path = write("k.vti", vti());
  const auto k = one(path, "k");
  EXPECT_EQ(k.nx, 3);
  EXPECT_EQ(k.ny, 2);
  EXPECT_THAT(k.values, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(k.from, path);
  const auto tensor = read_cell_values(path, "t");
  ASSERT_EQ(tensor.size(), 3U);
  EXPECT_EQ(tensor[0].values.back(), 7);
  EXPECT_EQ(tensor[1].values.front(), 0.5);
  EXPECT_EQ(tensor[2].values.back(), 8);
  refused(path, "several arrays on its cells, k, t, pair");
  refused(path, "no array 'K' of numbers on its cells; it has k, t, pair", "K");
  refused(path, "array 'pair' has 2 components", "pair");
  refused(write("solid.vti", vti("0 3 0 1 0 2")), "one layer of cells", "k");
  refused<FileError>((folder_ / "missing.vti").string(), "No such file");

  const TensorMesh<2> mesh{Axis({1, 2, 1}), Axis({1, 1})};
  const std::vector<double> cells{1, 2, 3, 4, 5, 6}, nodes(12, 1.0);
  const auto vtr = (folder_ / "k.vtr").string();
  write_vtr(vtr, mesh, {}, {{"K", cells}});
  EXPECT_EQ(one(vtr).values, cells);
  EXPECT_EQ(one(vtr, "K").values, cells);
  write_vtr(vtr, mesh, {{"K", nodes}});
  refused(vtr, "has no cell data");
}

TEST_F(CellFiles, BrokenVtkFilesAreRefusedWithoutOutput) {
  if (!vtk_available()) GTEST_SKIP() << "this build has no VTK";
  const TensorMesh<2> mesh{Axis(std::vector<double>(40, 1.0)), Axis(std::vector<double>(30, 1.0))};
  std::vector<double> cells(1200);
  for (std::size_t k = 0; k < cells.size(); ++k) cells[k] = std::sin(static_cast<double>(k * k));
  const auto vtr = (folder_ / "k.vtr").string();
  write_vtr(vtr, mesh, {}, {{"K", cells}});
  std::stringstream whole;
  whole << std::ifstream(vtr, std::ios::binary).rdbuf();
  testing::internal::CaptureStderr();
  const std::size_t size = whole.str().size();
  for (const std::size_t length : {std::size_t{0}, std::size_t{40}, size / 4, size / 2, 3 * size / 4})
    refused<FileError>(write("short.vtr", whole.str().substr(0, length)), "short.vtr");
  refused<FileError>(write("wrong.vtr", vti()), "wrong.vtr", "k");
  refused<FileError>(write("text.vti", "hello\n"), "text.vti");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(CellFileNames, ArraysStandBehindAColon) {
  const auto expect = [](const char* text, const char* path, const char* array) {
    const auto file = parse_cell_file(text);
    EXPECT_EQ(file.path, path);
    EXPECT_EQ(file.array, array);
  };
  expect("k.vtr", "k.vtr", "");
  expect("a:b/k.vti:K x", "a:b/k.vti", "K x");
  expect("a:b.npy", "a:b.npy", "");
  EXPECT_THROW((void)parse_cell_file(""), UsageError);
  EXPECT_THROW((void)parse_cell_file("k.vtr:"), UsageError);
}

}  // namespace
