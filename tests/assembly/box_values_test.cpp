// Values of a Q1 function in a box, on its planes, and the difference of two levels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <stratum/assembly/box_values.hpp>
#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/mesh/graded.hpp>

namespace {

using namespace stratum;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const TensorMesh<3> mesh(Axis({1, 1e-9, 2}).starting_at(-1), Axis({0.5, 0.25}), uniform(3, 3).starting_at(10));

/// Trilinear, and another number for every corner.
double function(double x, double y, double z) { return 1 + 2 * x - 3 * y + 0.5 * z + x * y * z - 4 * y * z; }

std::vector<double> at_nodes(const TensorMesh<3>& on) {
  std::vector<double> nodal;
  for (const double z : on.z().coordinates())
    for (const double y : on.y().coordinates())
      for (const double x : on.x().coordinates()) nodal.push_back(function(x, y, z));
  return nodal;
}

TEST(BoxValues, AreExactForTrilinearFunctions) {
  const auto nodal = at_nodes(mesh);
  ASSERT_EQ(nodal.size(), node_count(mesh));
  for (const BoxPosition& p :
       {BoxPosition{-1, 0, 10}, {2 + 1e-9, 0.75, 13}, {0, 0.5, 11}, {-0.3, 0.6, 12.9}, {0.7, 0.1, 10.2}}) {
    const auto found = locate(mesh, p);
    ASSERT_TRUE(found);
    EXPECT_NEAR(value_at(mesh, nodal, *found), function(p[0], p[1], p[2]), 1e-12);
  }
  EXPECT_THAT(locate(mesh, {0.5e-9, 0.6, 11.5})->cell, ElementsAre(1, 1, 1));
  for (const BoxPosition& p : {BoxPosition{-1.1, 0.5, 11}, {0, 0.8, 11}, {0, 0.5, 9.9}, {0, NAN, 11}})
    EXPECT_FALSE(locate(mesh, p));
}

TEST(BoxValues, OnPlanesAcrossEveryAxis) {
  const auto nodal = at_nodes(mesh);
  const BoxPosition at{0.5, 0.3, 12.25};
  for (int d = 0; d < 3; ++d) {
    const auto [plane, values] = plane_values(mesh, nodal, d, at[static_cast<std::size_t>(d)]);
    const auto first = plane.x().coordinates(), second = plane.y().coordinates();
    EXPECT_EQ(plane.x().widths(), mesh.axis(d == 0 ? 1 : 0).widths());
    EXPECT_EQ(plane.y().widths(), mesh.axis(d == 2 ? 1 : 2).widths());
    ASSERT_EQ(values.size(), first.size() * second.size());
    for (std::size_t j = 0; j < second.size(); ++j)
      for (std::size_t i = 0; i < first.size(); ++i) {
        const double expected = d == 0   ? function(at[0], first[i], second[j])
                                : d == 1 ? function(first[i], at[1], second[j])
                                         : function(first[i], second[j], at[2]);
        EXPECT_NEAR(values[j * first.size() + i], expected, 1e-12);
      }
  }
  EXPECT_THAT([&] { (void)plane_values(mesh, nodal, 2, 14); },
              ThrowsMessage<UsageError>(HasSubstr("z = 14 is outside the box, which reaches from 10 to 13")));
  EXPECT_THROW((void)plane_values(mesh, std::vector<double>(3), 2, 11), UsageError);
}

TEST(BoxValues, DifferencesOfLevelsAreWeighted) {
  const TensorMesh<3> fine(halved(mesh.x(), 1), halved(mesh.y(), 1), halved(mesh.z(), 1));
  auto coarse = at_nodes(mesh);
  const auto values = at_nodes(fine);
  EXPECT_LT(level_difference(mesh, coarse, values).l2, 1e-15);
  // One corner weighs an eighth of its cell: 1 x 0.5 x 1.
  coarse[0] += 3;
  double norm = 0, largest = 0;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 4; ++i) {
        const auto around = [](const Axis& axis, int n) {
          return ((n > 0 ? axis.widths()[static_cast<std::size_t>(n) - 1] : 0) +
                  (n < axis.size() ? axis.widths()[static_cast<std::size_t>(n)] : 0)) /
                 2;
        };
        const double u = values[static_cast<std::size_t>((2 * k * 5 + 2 * j) * 7 + 2 * i)];
        norm += around(mesh.x(), i) * around(mesh.y(), j) * around(mesh.z(), k) * u * u;
        largest = std::max(largest, std::abs(u));
      }
  const auto difference = level_difference(mesh, coarse, values);
  EXPECT_NEAR(difference.l2, std::sqrt(0.5 / 8 * 9 / norm), 1e-12);
  EXPECT_NEAR(difference.largest, 3 / largest, 1e-12);
}

TEST(BoxExpressions, KnowTheirNames) {
  if (!expressions_available()) GTEST_SKIP() << "this build has no muParser";
  const Point3D p{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto value = [&](const char* text) { return parse_expression(text, {10, 20, 30})(p); };
  EXPECT_EQ(value("x + 10*y + 100*z"), 321);
  EXPECT_EQ(value("xr + 10*yr + 100*zr"), 654);
  EXPECT_EQ(value("xl + 10*yl + 100*zl"), 987);
  EXPECT_EQ(value("a + b/10 + d/100"), 12.3);
  EXPECT_EQ(value("0 < z && z < d ? 1 : 2"), 1);
  EXPECT_THAT(
      [] {
        (void)parse_expression("x + w", {1, 1, 1});
      },
      ThrowsMessage<UsageError>(HasSubstr("known names: x, y, z, a, b, d, xl, xr, yl, yr, zl, zr, pi")));
  EXPECT_THROW((void)parse_expression("t", {1, 1, 1}), UsageError);
  EXPECT_THROW((void)parse_expression("z = 1", {1, 1, 1}), UsageError);
}

}  // namespace
