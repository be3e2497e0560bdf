#include <stratum/staggered/nersc.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using namespace stratum;
using namespace stratum::staggered;

class NerscTest : public testing::Test {
 protected:
  NerscTest() : folder_(std::filesystem::temp_directory_path() / message("nersc_test.", getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~NerscTest() override { std::filesystem::remove_all(folder_); }
  NerscTest(const NerscTest&) = delete;
  NerscTest& operator=(const NerscTest&) = delete;
  NerscTest(NerscTest&&) = delete;
  NerscTest& operator=(NerscTest&&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path(name), std::ios::binary).rdbuf();
    return out.str();
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  /// Reading throws FileError with this in its message.
  void refuses(const std::string& bytes, const std::string& word) const {
    write("bad", bytes);
    try {
      (void)read_nersc(path("bad"));
      ADD_FAILURE() << "read, although " << word;
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(path("bad")), std::string::npos);
    }
  }
  static std::string replaced(std::string in, const std::string& from, const std::string& to) {
    const auto at = in.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return in.replace(at, from.size(), to);
  }

  const Lattice lattice_{4, 2, 2, 6};
  const GaugeField field_ = GaugeField::near_unit(lattice_, 0.3, 71);

 private:
  std::filesystem::path folder_;
};

TEST_F(NerscTest, WhatIsWrittenComesBackBitForBit) {
  write_nersc(path("field"), field_);
  EXPECT_EQ(nersc_lattice(path("field")), lattice_);
  const auto read = read_nersc(path("field"));
  for (std::size_t k = 0; k < field_.links.size(); ++k) EXPECT_EQ(read.links[k].a, field_.links[k].a);
}

/// Two rows in 32 bits, the smallest number first: what an archive's file may be, too.
TEST_F(NerscTest, ReadsTwoRowsOfFloatsAndMakesThemSu3) {
  std::string data;
  std::uint32_t sum = 0;
  for (const auto& u : field_.links)
    for (std::size_t k = 0; k < 12; ++k) {
      const auto w =
          std::bit_cast<std::uint32_t>(static_cast<float>(k % 2 == 0 ? u.a[k / 2].real() : u.a[k / 2].imag()));
      sum += w;
      for (int n = 0; n < 4; ++n) data.push_back(static_cast<char>(w >> (8 * n)));
    }
  std::ostringstream header;
  header
      << "BEGIN_HEADER\nDATATYPE = 4D_SU3_GAUGE\nDIMENSION_1 = 4\nDIMENSION_2 = 2\nDIMENSION_3 = 2\nDIMENSION_4 = 6\n"
      << "CHECKSUM = " << std::hex << sum << "\nLINK_TRACE = " << link_trace(field_)
      << "\nPLAQUETTE = " << plaquette(field_) << "\nFLOATING_POINT = IEEE32LITTLE\nEND_HEADER\n";
  write("field", header.str() + data);
  const auto read = read_nersc(path("field"));
  EXPECT_NO_THROW(read.expect_su3(1e-14));
  for (std::size_t k = 0; k < field_.links.size(); ++k)
    for (std::size_t n = 0; n < 9; ++n) EXPECT_LT(std::abs(read.links[k].a[n] - field_.links[k].a[n]), 1e-6);
}

TEST_F(NerscTest, RefusesWhatIsDamaged) {
  write_nersc(path("field"), field_);
  const std::string good = text("field");
  refuses("", "ends within the header");
  refuses("something else\n", "BEGIN_HEADER");
  refuses(good.substr(0, 100), "ends within the header");
  refuses(good.substr(0, good.size() - 1), "bytes of links");
  refuses(good + "x", "bytes of links");
  std::string flipped = good;
  flipped[good.size() - 20] = static_cast<char>(flipped[good.size() - 20] ^ 1);
  refuses(flipped, "checksum");
  refuses(replaced(good, "PLAQUETTE = 0", "PLAQUETTE = 1"), "plaquette");
  refuses(replaced(good, "LINK_TRACE = 0", "LINK_TRACE = 1"), "link trace");
  refuses(replaced(good, "CHECKSUM = ", "CHECKSUM = z"), "CHECKSUM");
  refuses(replaced(good, "DIMENSION_1 = 4", "DIMENSION_1 = 3"), "nx must be even");
  refuses(replaced(good, "DIMENSION_2 = 2", "DIMENSION_2 = 4"), "bytes of links");
  refuses(replaced(good, "DIMENSION_3", "DIMENSION_9"), "no DIMENSION_3");
  refuses(replaced(good, "4D_SU3_GAUGE_3x3", "4D_SU2_GAUGE"), "DATATYPE");
  refuses(replaced(good, "IEEE64BIG", "VAX"), "FLOATING_POINT");
  EXPECT_THROW((void)read_nersc(path("absent")), FileError);
  EXPECT_THROW((void)read_nersc(std::filesystem::temp_directory_path()), FileError);
}

TEST_F(NerscTest, RefusesLinksThatAreNoSu3) {
  auto broken = field_;
  for (auto& entry : broken(9, 1).a) entry *= 1.01;
  write_nersc(path("field"), broken);
  refuses(text("field"), "away from SU(3)");
}

TEST_F(NerscTest, AFileThatCannotBeWrittenIsNotThere) {
  EXPECT_THROW(write_nersc(path("no/folder"), field_), FileError);
  EXPECT_THROW(write_nersc(std::filesystem::temp_directory_path(), field_), FileError);
}

}  // namespace
