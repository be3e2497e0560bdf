#include <stratum/solvers/direct/rounded_modes.hpp>

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <stratum/mesh/named_meshes.hpp>

namespace {

using namespace stratum;
using Values = std::vector<double>;

enum class Ends : std::uint8_t { dirichlet, first_neumann, last_neumann, neumann };

LineFactors laplace(const Values& widths, Ends ends) {
  LineFactors line;
  const auto neumann = [&] {
    line.k.push_back(0);
    line.m.push_back(0);
  };
  if (ends == Ends::first_neumann || ends == Ends::neumann) neumann();
  for (const double h : widths) {
    line.k.push_back(1 / h);
    line.m.push_back(h / 6);
  }
  if (ends == Ends::last_neumann || ends == Ends::neumann) neumann();
  return line;
}

/// Thin at the first end.
Values layer(const char* mesh, int level) {
  Values widths = make_mesh(mesh_family(mesh), level).x().widths();
  if (widths.front() > widths.back()) std::reverse(widths.begin(), widths.end());
  return widths;
}

// At a Dirichlet boundary x is as small as the layer is thin.
TEST(RoundedModes, LayersAtDirichletSidesMayBeRounded) {
  for (const char* mesh : {"U1", "A3", "A5"})
    for (const int level : {4, 8, 11})
      for (const Ends ends : {Ends::dirichlet, Ends::last_neumann}) {
        SCOPED_TRACE(testing::Message() << mesh << ", level " << level);
        EXPECT_LE(lost_to_rounding<float>(laplace(layer(mesh, level), ends)), most_lost);
        EXPECT_LE(lost_to_rounding<double>(laplace(layer(mesh, level), ends)), most_lost);
      }
}

TEST(RoundedModes, HoweverThinAtEitherOfThem) {
  Values widths{1e-200, 1e-150, 1e-100, 1e-60, 1e-30, 1e-10, 1e-5, 1e-2, 1};
  for (int turned = 0; turned < 2; ++turned) {
    EXPECT_LE(lost_to_rounding<float>(laplace(widths, Ends::dirichlet)), most_lost);
    std::reverse(widths.begin(), widths.end());
  }
  EXPECT_LE(lost_to_rounding<float>(laplace(widths, Ends::last_neumann)), most_lost);
  EXPECT_GT(lost_to_rounding<float>(laplace(widths, Ends::first_neumann)), most_lost);
}

// Beside a Neumann or Robin one it is as large as anywhere.
TEST(RoundedModes, LayersElsewhereMayNot) {
  for (const Ends ends : {Ends::first_neumann, Ends::neumann}) {
    EXPECT_LE(lost_to_rounding<float>(laplace(layer("U1", 11), ends)), most_lost);
    EXPECT_LE(lost_to_rounding<float>(laplace(layer("A3", 8), ends)), most_lost);
    EXPECT_GT(lost_to_rounding<float>(laplace(layer("A5", 8), ends)), most_lost);
    EXPECT_LE(lost_to_rounding<double>(laplace(layer("A5", 8), ends)), most_lost);
  }
  for (const auto& [width, allowed] : {std::pair{1e-8, true}, {1e-13, false}}) {
    Values widths(63, 1.0 / 63);
    widths.insert(widths.begin() + 20, width);
    EXPECT_EQ(lost_to_rounding<float>(laplace(widths, Ends::dirichlet)) <= most_lost, allowed) << width;
  }
}

// Widths from 1e-5 on, each 300 times the one before: vectors have lost all digits of float, not those of double.
TEST(RoundedModes, VectorsSurviveRoundingOrNot) {
  Values widths;
  for (double h = 1e-5; widths.size() < 16; h *= 300) widths.push_back(h);
  const auto steep = laplace(widths, Ends::dirichlet);
  EXPECT_FALSE(survive_rounding<float>(steep, line_modes(steep, 1)));
  for (const char* mesh : {"U1", "A3", "A5"})
    for (const Ends ends : {Ends::dirichlet, Ends::last_neumann, Ends::neumann}) {
      const auto line = laplace(layer(mesh, 7), ends);
      EXPECT_TRUE(survive_rounding<float>(line, line_modes(line, 1))) << mesh;
      EXPECT_TRUE(survive_rounding<double>(line, line_modes(line, 1))) << mesh;
    }
}

}  // namespace
