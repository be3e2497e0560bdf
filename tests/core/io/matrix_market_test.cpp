#include <stratum/core/io/matrix_market.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;

class MatrixMarketTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("stratum_mtx_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name = "a.mtx") const { return (folder_ / name).string(); }
  [[nodiscard]] std::string file(const std::string& text) const {
    std::ofstream(path(), std::ios::binary) << text;
    return path();
  }
  [[nodiscard]] std::size_t count_files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path folder_;
};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(MatrixMarketTest, MatricesComeBackBitForBit) {
  test::Random random(21);
  for (const int n : {1, 3, 50}) {
    for (const auto& a : {test::random_rows(random, n, 4), test::random_m_matrix(random, n, 3)}) {
      write_matrix_market(path(), a);
      const auto b = read_matrix_market(path());
      EXPECT_EQ(b.rows, n);
      EXPECT_EQ(b.columns, n);
      EXPECT_EQ(b.start, a.start);
      EXPECT_EQ(b.column, a.column);
      EXPECT_EQ(b.value, a.value);
    }
  }
  EXPECT_EQ(count_files(), 1U);
}

TEST_F(MatrixMarketTest, VectorsComeBackBitForBit) {
  const Values x{0, 1.0 / 3, -1e-308, 5e-324, 1.7976931348623157e308, 0.1};
  write_matrix_market(path(), x);
  EXPECT_EQ(read_matrix_market_vector(path(), 6), x);
}

TEST_F(MatrixMarketTest, SymmetricMatricesAreWrittenAsTheLowerTriangle) {
  write_matrix_market(path(), sparse_rows(2, 2, {{0, 0, 2}, {0, 1, -1}, {1, 0, -1}, {1, 1, 2}}));
  EXPECT_EQ(text_of(path()), "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n");
  write_matrix_market(path(), sparse_rows(2, 3, {{0, 2, 0.5}}));
  EXPECT_EQ(text_of(path()), "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 3 0.5\n");
}

TEST_F(MatrixMarketTest, ReadsWhatOthersWrite) {
  // Comments, empty lines, DOS line ends, capitals, blanks, signs, no end of line, duplicates.
  const auto a = read_matrix_market(file(
      "%%MatrixMarket MATRIX Coordinate Real General\r\n% by hand\r\n\r\n  2 3 4\r\n%\r\n 1\t1 +1.5 \r\n2 3 -2e-1\r\n"
      "2 3 1\r\n1 2 1e-400"));
  EXPECT_EQ(a.rows, 2);
  EXPECT_EQ(a.columns, 3);
  EXPECT_EQ(a.at(0, 0), 1.5);
  EXPECT_EQ(a.at(1, 2), 0.8);
  EXPECT_EQ(a.at(0, 1), 0);
  const auto pattern =
      read_matrix_market(file("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n"));
  EXPECT_EQ(pattern.at(0, 0), 1);
  EXPECT_EQ(pattern.at(2, 1), 1);
  EXPECT_EQ(pattern.at(1, 2), 1);
  EXPECT_EQ(pattern.entries(), 3);
  EXPECT_EQ(read_matrix_market(file("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -7\n")).at(0, 0), -7);
  EXPECT_EQ(read_matrix_market(file("%%MatrixMarket matrix coordinate real general\n2 2 0\n")).entries(), 0);
  EXPECT_EQ(read_matrix_market_vector(file("%%MatrixMarket matrix array integer general\n3 1\n1\n\n2\n3\n"), 3),
            (Values{1, 2, 3}));
  EXPECT_EQ(
      read_matrix_market_vector(file("%%MatrixMarket matrix coordinate real general\n1000 1 1\n3 1 4\n"), 1000)[2], 4);
}

struct Malformed {
  const char* text;
  const char* line;    // where
  const char* reason;  // and what the message must say
};

TEST_F(MatrixMarketTest, MalformedMatricesAreRefusedWithLineAndText) {
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  const std::vector<Malformed> files{
      {"", "line 0", "empty"},
      {"hello\n", "line 1", "hello"},
      {"\x7f"
       "ELF\x01\x02\x03",
       "line 1", "MatrixMarket"},
      {"%%MatrixMarket\n", "line 1", "FORMAT"},
      {"%%MatrixMarket matrix\n1 1 1\n", "line 1", "FORMAT"},
      {"%%MatrixMarket vector coordinate real general\n", "line 1", "vector"},
      {"%%MatrixMarket matrix dense real general\n", "line 1", "dense"},
      {"%%MatrixMarket matrix coordinate complex general\n", "line 1", "real and imaginary part as a real matrix"},
      {"%%MatrixMarket matrix coordinate real skew-symmetric\n", "line 1", "write both triangles of it as general"},
      {"%%MatrixMarket matrix coordinate real general extra\n", "line 1", "extra"},
      {"%%MatrixMarket matrix array pattern general\n1 1\n", "line 1", "pattern"},
      {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "after line 5", "3 values of 4"},
      {"%%MatrixMarket matrix coordinate real general\n", "line 1", "ROWS COLUMNS ENTRIES"},
      {"%%MatrixMarket matrix coordinate real general\n% nothing else\n", "line 2", "ROWS COLUMNS ENTRIES"},
      {"%%MatrixMarket matrix coordinate real general\n2 2\n", "line 2", "2 2"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1 1\n", "line 2", "2 2 1 1"},
      {"%%MatrixMarket matrix coordinate real general\n0 2 0\n", "line 2", "rows '0'"},
      {"%%MatrixMarket matrix coordinate real general\n2 -2 0\n", "line 2", "columns '-2'"},
      {"%%MatrixMarket matrix coordinate real general\n2 2.5 0\n", "line 2", "2.5"},
      {"%%MatrixMarket matrix coordinate real general\n99999999999999999999 1 1\n1 1 1\n", "line 2", "99999999999"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 2000000000\n1 1 1\n", "line 2", "2000000000 entries"},
      {"%%MatrixMarket matrix coordinate real general\n2000000000 2000000000 1\n1 1 1\n", "line 2", "2000000000"},
      {"%%MatrixMarket matrix coordinate real general\n1 2000000000 1\n1 1 1\n", "line 2", "2000000000"},
      {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n", "line 2", "square"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", "after line 3", "1 entries of 2"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 2 1\n", "line 4", "more than"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", "line 3", "row '3'"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 0 1\n", "line 3", "column '0'"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n", "line 3", "ROW COLUMN VALUE"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1 1\n", "line 3", "1 1 1 1"},
      {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n", "line 3", "ROW COLUMN"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 one\n", "line 3", "one"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1x\n", "line 3", "1x"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 +-1\n", "line 3", "+-1"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 nan\n", "line 3", "finite"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 inf\n", "line 3", "finite"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1e999\n", "line 3", "finite"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1e308\n1 2 1e308\n", "(1, 2)", "add up to inf"},
      {"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n", "line 3", "lower triangle"},
  };
  for (const auto& [text, line, reason] : files) {
    SCOPED_TRACE(text);
    const auto name = file(text);
    const auto error = test::error_text<FileError>([&] { (void)read_matrix_market(name); });
    EXPECT_THAT(error, HasSubstr(name));
    EXPECT_THAT(error, HasSubstr(line));
    EXPECT_THAT(error, HasSubstr(reason));
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST_F(MatrixMarketTest, MalformedVectorsAreRefusedWithLineAndText) {
  const std::vector<Malformed> files{
      {"%%MatrixMarket matrix array real general\n2 1\n1\n2\n", "line 2", "3 rows"},
      {"%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4\n5\n6\n", "line 2", "3 x 2"},
      {"%%MatrixMarket matrix array real symmetric\n3 1\n", "line 1", "symmetric"},
      {"%%MatrixMarket matrix array real general\n3 1\n1\n2\n", "after line 4", "2 values of 3"},
      {"%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n4\n", "line 6", "more than"},
      {"%%MatrixMarket matrix array real general\n3 1\n1 2\n2\n3\n", "line 3", "one value"},
      {"%%MatrixMarket matrix array real general\n3 1\n1\nx\n3\n", "line 4", "'x'"},
      {"%%MatrixMarket matrix array real general\n2000000000 1\n1\n", "line 2", "2000000000"},
  };
  for (const auto& [text, line, reason] : files) {
    SCOPED_TRACE(text);
    const auto name = file(text);
    const auto error = test::error_text<FileError>([&] { (void)read_matrix_market_vector(name, 3); });
    EXPECT_THAT(error, HasSubstr(line));
    EXPECT_THAT(error, HasSubstr(reason));
  }
}

TEST_F(MatrixMarketTest, ALongLineIsCutInTheMessage) {
  const auto name = file(std::string(100000, 'x'));
  EXPECT_LT(test::error_text<FileError>([&] { (void)read_matrix_market(name); }).size(), 400U);
}

TEST_F(MatrixMarketTest, FilesThatCannotBeReadOrWritten) {
  EXPECT_THAT(test::error_text<FileError>([&] { (void)read_matrix_market(path("missing.mtx")); }),
              HasSubstr("missing.mtx"));
  EXPECT_THROW((void)read_matrix_market(path("")), FileError);
  EXPECT_THROW(write_matrix_market(path("missing/a.mtx"), Values{1}), FileError);
  EXPECT_EQ(count_files(), 0U);
  const auto name = file("old");
  EXPECT_THROW(write_matrix_market(path("a.mtx/b.mtx"), Values{1}), FileError);
  EXPECT_EQ(text_of(name), "old");
}

}  // namespace
