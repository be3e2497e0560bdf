// NetCDF files of the classic format, written here byte by byte.

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include <stratum/assembly/cell_files.hpp>
#include <stratum/assembly/netcdf_file.hpp>
#include <stratum/core/errors.hpp>

namespace {

using namespace stratum;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Big-endian numbers, and names padded to four bytes.
struct Bytes {
  std::string text;
  void number(std::uint32_t n) {
    for (const int shift : {24, 16, 8, 0}) text.push_back(static_cast<char>(n >> shift & 255));
  }
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    number(static_cast<std::uint32_t>(bits >> 32));
    number(static_cast<std::uint32_t>(bits));
  }
  void name(const std::string& n) {
    number(static_cast<std::uint32_t>(n.size()));
    text += n;
    while (text.size() % 4 != 0) text.push_back('\0');
  }
};

struct Variable {
  std::string name;
  std::vector<std::uint32_t> dimensions;
  std::vector<double> numbers;
  std::vector<std::pair<std::string, double>> attributes{};
};

class NetcdfFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!netcdf_available()) GTEST_SKIP() << "this build has no NetCDF";
  }
  /// `dimensions`: names and lengths.
  std::string write(const std::vector<std::pair<std::string, std::uint32_t>>& dimensions,
                    const std::vector<Variable>& variables) {
    const auto header = [&](std::uint32_t data) {
      Bytes b;
      b.text = std::string("CDF\x01", 4);
      b.number(0);
      b.number(10);
      b.number(static_cast<std::uint32_t>(dimensions.size()));
      for (const auto& [name, length] : dimensions) {
        b.name(name);
        b.number(length);
      }
      b.number(0);
      b.number(0);
      b.number(11);
      b.number(static_cast<std::uint32_t>(variables.size()));
      for (const Variable& v : variables) {
        b.name(v.name);
        b.number(static_cast<std::uint32_t>(v.dimensions.size()));
        for (const std::uint32_t d : v.dimensions) b.number(d);
        b.number(v.attributes.empty() ? 0 : 12);
        b.number(static_cast<std::uint32_t>(v.attributes.size()));
        for (const auto& [name, value] : v.attributes) {
          b.name(name);
          b.number(6);  // double
          b.number(1);
          b.real(value);
        }
        b.number(6);
        b.number(static_cast<std::uint32_t>(8 * v.numbers.size()));
        b.number(data);
        data += static_cast<std::uint32_t>(8 * v.numbers.size());
      }
      return b;
    };
    Bytes file = header(static_cast<std::uint32_t>(header(0).text.size()));
    for (const Variable& v : variables)
      for (const double value : v.numbers) file.real(value);
    const std::string path = (std::filesystem::path(testing::TempDir()) / "stratum_test.nc").string();
    std::ofstream(path, std::ios::binary) << file.text;
    return path;
  }
};

TEST_F(NetcdfFiles, AreTurnedUnpackedAndTakenByRecord) {
  const std::string path =
      write({{"time", 2}, {"lat", 2}, {"lon", 3}},
            {{"lat", {1}, {60, 30}},
             {"lon", {2}, {1, 2, 3}},
             {"k", {0, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {{"scale_factor", 2}, {"add_offset", 1}}},
             {"f", {1, 2}, {1, 2, 3, 4, 5, 6}}});
  const FileValues k = read_values(path, "k[1]");
  EXPECT_EQ(k.columns, 3);
  EXPECT_EQ(k.rows, 2);
  EXPECT_THAT(k.components[0], ElementsAre(21, 23, 25, 15, 17, 19));
  EXPECT_THAT(read_cell_values(path, "f")[0].values, ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(read_values(path, "lon").components[0], ElementsAre(1, 2, 3));
  const BoxFileValues box = read_box_values(path, "k");
  EXPECT_THAT(box.count, ElementsAre(3, 2, 2));
  EXPECT_EQ(box.numbers.front(), 9);
  const CellFile parsed = parse_cell_file("a.nc:k[1]");
  EXPECT_EQ(parsed.path, "a.nc");
  EXPECT_EQ(parsed.array, "k[1]");
  const auto refused = [&](const std::string& array, const char* words) {
    EXPECT_THAT([&] { (void)read_values(path, array); }, ThrowsMessage<UsageError>(HasSubstr(words)));
  };
  refused("", "has several arrays, lat, lon, k, f; say which");
  refused("g", "has no array 'g'; it has lat, lon, k, f");
  refused("k", "has shape (2, 2, 3); say which record");
  refused("k[2]", "there is no record 2 of direction 0");
  refused("f[0]", "1 numbers in brackets; it needs one for each of the first 0 directions");
  refused("k[x]", "is not NAME[K]");
}

TEST_F(NetcdfFiles, MissingNumbersAreRefusedWithTheirPlace) {
  const std::string path = write({{"y", 2}, {"x", 2}}, {{"u", {0, 1}, {1, 2, -99, 4}, {{"_FillValue", -99}}}});
  EXPECT_THAT([&] { (void)read_values(path); },
              ThrowsMessage<UsageError>(HasSubstr("(0, 1) is nan; all must be finite")));
  std::ofstream(path) << "no such file";
  EXPECT_THAT([&] { (void)read_values(path); }, ThrowsMessage<FileError>(HasSubstr("cannot read")));
}

// libnetcdf reads zeros behind the end of a file.
TEST_F(NetcdfFiles, ThatAreCutOffAreRefused) {
  const std::string path = write({{"y", 2}, {"x", 2}}, {{"f", {0, 1}, {1, 2, 3, 4}}, {"u", {0, 1}, {5, 6, 7, 8}}});
  EXPECT_THAT(read_values(path, "u").components[0], ElementsAre(5, 6, 7, 8));
  const auto size = std::filesystem::file_size(path);
  for (const std::uintmax_t lost : {1, 8, 40}) {
    std::filesystem::resize_file(path, size - lost);
    EXPECT_THAT([&] { (void)read_values(path, "f"); },
                ThrowsMessage<FileError>(HasSubstr(message("it ends after ", size - lost, " of ", size, " bytes"))));
  }
}

TEST_F(NetcdfFiles, NumbersThatWereNeverWrittenAreMissing) {
  const double never = 9.9692099683868690e+36;  // the fill value of double
  const std::string path = write({{"x", 2}}, {{"u", {0}, {1, never}}});
  EXPECT_THAT([&] { (void)read_values(path, "u"); }, ThrowsMessage<UsageError>(HasSubstr("is nan")));
}

TEST(Netcdf, OfABuildWithoutIsRefused) {
  if (netcdf_available()) GTEST_SKIP() << "this build has NetCDF";
  EXPECT_THAT([] { (void)read_values("a.nc"); }, ThrowsMessage<UsageError>(HasSubstr("libnetcdf-dev")));
}

}  // namespace
