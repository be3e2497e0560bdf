// What other programs write as Matrix Market files: arrays, hermitian ones, Fortran's exponents, AMGX's sections.

#include <stratum/core/io/matrix_market.hpp>

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <gmock/gmock.h>

#include <stratum/core/errors.hpp>

namespace {

using namespace stratum;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class MatrixMarketForms : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  MatrixMarketSystem read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return read_matrix_market_system(path_);
  }
  void refused(const std::string& text, const std::string& words) {
    EXPECT_THAT([&] { (void)read(text); }, ThrowsMessage<FileError>(HasSubstr(words))) << text;
  }

  const std::string path_ =
      std::filesystem::temp_directory_path() / ("stratum_forms_test_" + std::to_string(::getpid()) + ".mtx");
};

TEST_F(MatrixMarketForms, ArraysHaveTheirColumnsOneAfterTheOther) {
  const auto a = read("%%MatrixMarket matrix array real general\n2 3\n1\n0\n2\n3\n0\n-4\n").a;
  EXPECT_EQ(a.rows, 2);
  EXPECT_EQ(a.columns, 3);
  EXPECT_EQ(a.at(0, 0), 1);
  EXPECT_EQ(a.at(0, 1), 2);
  EXPECT_EQ(a.at(1, 1), 3);
  EXPECT_EQ(a.at(1, 2), -4);
  EXPECT_EQ(a.entries(), 4);  // zeros beside the diagonal are none
  const auto s = read("%%MatrixMarket matrix array real symmetric\n3 3\n4\n1\n2\n5\n3\n6\n").a;
  EXPECT_EQ(s.at(2, 0), 2);
  EXPECT_EQ(s.at(0, 2), 2);
  EXPECT_EQ(s.at(1, 2), 3);
  EXPECT_EQ(s.at(2, 2), 6);
}

TEST_F(MatrixMarketForms, HermitianIsSymmetricForRealNumbers) {
  const auto a = read("%%MatrixMarket matrix coordinate real hermitian\n2 2 2\n1 1 2\n2 1 -1\n").a;
  EXPECT_EQ(a.at(0, 1), -1);
  EXPECT_EQ(a.at(1, 0), -1);
  refused("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1\n",
          "write both triangles of it as general");
}

TEST_F(MatrixMarketForms, FortransExponents) {
  const auto a =
      read("%%MatrixMarket matrix coordinate real general\n1 4 4\n1 1 1.5D+3\n1 2 -2d-1\n1 3 +4.D0\n1 4 1D2\n").a;
  EXPECT_EQ(a.at(0, 0), 1500);
  EXPECT_EQ(a.at(0, 1), -0.2);
  EXPECT_EQ(a.at(0, 2), 4);
  EXPECT_EQ(a.at(0, 3), 100);
  for (const char* word : {"D", "D1", "1DD1", "1D", "1D1D1", "1D1e1", "1D+-1"})
    refused(std::string("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 ") + word + "\n",
            "is not a finite number");
}

TEST_F(MatrixMarketForms, SectionsOfAmgx) {
  const std::string head = "%%MatrixMarket matrix coordinate real general\n", entries = "2 2 2\n1 1 2\n2 2 4\n";
  const auto plain = read(head + entries);
  EXPECT_TRUE(plain.rhs.empty() && plain.solution.empty());
  for (const char* numbers : {"1\n2D0\n", "2\n1\n2\n", "% RHS\n\n1\n2\n"}) {
    const auto system = read(head + "%%AMGX rhs\n" + entries + numbers);
    EXPECT_THAT(system.rhs, ElementsAre(1, 2)) << numbers;
    EXPECT_TRUE(system.solution.empty());
    EXPECT_EQ(system.a.at(1, 1), 4);
  }
  for (const char* numbers : {"1\n2\n3\n4\n", "2\n1\n2\n2\n3\n4\n"}) {
    const auto both = read(head + "%%AMGX 1 1 sorted rhs solution\n" + entries + numbers);
    EXPECT_THAT(both.rhs, ElementsAre(1, 2)) << numbers;
    EXPECT_THAT(both.solution, ElementsAre(3, 4)) << numbers;
  }
  EXPECT_THAT(read(head + "%%AMGX solution\n" + entries + "7\n8\n").solution, ElementsAre(7, 8));
  // Its examples call what has both triangles "general symmetric".
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate real general symmetric\n" + entries).a.entries(), 2);

  refused(head + "%%AMGX rhs\n" + entries + "1\n", "1 numbers follow the entries; 2 of the right-hand side");
  refused(head + "%%AMGX rhs\n" + entries + "3\n1\n2\n", "of 3 numbers; the matrix has 2 rows");
  refused(head + "%%AMGX rhs\n" + entries + "2\n1\n2\n4\n", "more than");
  refused(head + "%%AMGX rhs\n" + entries + "1 2\n", "holds one value");
  refused(head + entries + "1\n2\n", "more than the 2 entries");
  for (const char* other : {"2 2 rhs", "diagonal rhs", "rhs base0"})
    refused(head + "%%AMGX " + other + "\n" + entries + "1\n2\n", "known are 1 1");
}

}  // namespace
