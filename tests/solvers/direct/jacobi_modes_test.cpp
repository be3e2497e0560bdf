#include <stratum/solvers/direct/jacobi_modes.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <stratum/mesh/graded.hpp>

#include "support/random.hpp"

namespace {

using namespace stratum;
using Values = std::vector<double>;

AxisFactors periodic(const Values& widths) {
  AxisFactors axis;
  axis.periodic = true;
  const auto put = [&](double h) {
    axis.k.push_back(1 / h);
    axis.m.push_back(h / 6);
  };
  put(widths.back());
  for (const double h : widths) put(h);
  return axis;
}
AxisFactors between(const Values& widths, bool neumann_first, double alpha) {
  AxisFactors axis;
  const auto put = [&](double k, double m) {
    axis.k.push_back(k);
    axis.m.push_back(m);
  };
  if (neumann_first) put(0, 0);
  for (const double h : widths) put(1 / h, h / 6);
  if (alpha > 0) put(alpha, 0);
  return axis;
}

/// V^T M V = 1, and V^T K V = Lambda beside the geometric mean of two values: formed by differences, which have fewer digits.
void expect_modes(const AxisFactors& axis, const LineModes& modes, double digits) {
  const auto n = static_cast<std::size_t>(axis.unknowns());
  ASSERT_EQ(modes.values.size(), n);
  EXPECT_TRUE(std::is_sorted(modes.values.begin(), modes.values.end()));
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      const auto at = [&](std::size_t c, std::size_t i) {
        if (axis.periodic) i = (i + n) % n;
        return i < n ? modes.vectors[c * n + i] : 0.0;
      };
      double mass = 0, stiffness = 0;
      for (std::size_t i = 0; i < n + (axis.periodic ? 0 : 1); ++i) {
        const double la = at(a, i - 1), ra = at(a, i), lb = at(b, i - 1), rb = at(b, i);
        mass += axis.m[i] * (2 * (la * lb + ra * rb) + la * rb + ra * lb);
        stiffness += axis.k[i] * (ra - la) * (rb - lb);
      }
      const double scale = std::sqrt(modes.values[a] * modes.values[b]) + (modes.values[b] == 0 ? 1e-3 : 0);
      ASSERT_NEAR(mass, a == b ? 1 : 0, digits) << a << ", " << b;
      ASSERT_NEAR(stiffness, a == b ? modes.values[a] : 0, (a == b ? 1 : 1e3) * digits * scale) << a << ", " << b;
    }
}

TEST(JacobiModes, OfPeriodicAxes) {
  test::Random random(1);
  for (const int n : {3, 4, 5, 16, 33})
    for (const double decades : {0.0, 1.0, 6.0}) {
      SCOPED_TRACE(testing::Message() << n << " intervals over " << decades << " decades");
      const AxisFactors axis = periodic(random.widths(n, decades));
      const LineModes modes = jacobi_modes(axis, 2);
      EXPECT_EQ(modes.values[0], 0);
      EXPECT_EQ(modes.vectors[0], modes.vectors[static_cast<std::size_t>(n) - 1]);
      expect_modes(axis, modes, 1e-11);
    }
}

TEST(JacobiModes, OfPeriodicLayers) {
  Values widths = geometric_with_smallest(1, 40, 1e-12, GradedSide::first).widths();
  widths.insert(widths.end(), widths.rbegin(), widths.rend());
  const AxisFactors axis = periodic(widths);
  expect_modes(axis, jacobi_modes(axis, 2), 1e-9);
}

TEST(JacobiModes, AreThoseOfLines) {
  for (const double smallest : {1.0 / 24, 1e-6, 1e-12}) {
    const Values widths = geometric_with_smallest(1, 24, smallest, GradedSide::first).widths();
    for (const bool neumann : {false, true})
      for (const double alpha : {0.0, 3.0, 1e9}) {
        const AxisFactors axis = between(widths, neumann, alpha);
        const LineModes by_rotations = jacobi_modes(axis, 1), modes = axis_modes(axis, 1);
        expect_modes(axis, by_rotations, 1e-11);
        for (std::size_t a = 0; a < modes.values.size(); ++a)
          EXPECT_NEAR(by_rotations.values[a], modes.values[a], 1e-12 * modes.values[a]) << a;
      }
  }
  expect_modes(between({1, 2}, false, 0), axis_modes(between({1, 2}, false, 0), 1), 1e-14);
}

}  // namespace
