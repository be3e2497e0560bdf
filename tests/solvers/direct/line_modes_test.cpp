#include <stratum/solvers/direct/line_modes.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <stratum/mesh/named_meshes.hpp>

#include "support/heavy.hpp"
#include "support/random.hpp"

namespace {

using namespace stratum;
using Values = std::vector<double>;

enum class Ends : std::uint8_t { dirichlet, neumann, robin };

/// Of - u''.
LineFactors laplace(const Values& widths, Ends first, Ends last) {
  LineFactors line;
  const auto end = [&](Ends kind) {
    if (kind == Ends::dirichlet) return;
    line.k.push_back(kind == Ends::robin ? 7 : 0);
    line.m.push_back(0);
  };
  end(first);
  for (const double h : widths) {
    line.k.push_back(1 / h);
    line.m.push_back(h / 6);
  }
  end(last);
  return line;
}

/// V^T M V = 1, and V^T K V = Lambda to all digits beside the geometric mean of two values: formed by differences.
void expect_modes(const LineFactors& line, const LineModes& modes) {
  const auto& [k, m] = line;
  const std::size_t n = k.size() - 1;
  ASSERT_EQ(modes.values.size(), n);
  EXPECT_TRUE(std::is_sorted(modes.values.begin(), modes.values.end()));
  const double smallest = modes.values[0] > 0 ? 0 : 1e-14 * modes.values[std::min<std::size_t>(1, n - 1)];
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      const auto at = [&](std::size_t c, std::size_t i) { return i < n ? modes.vectors[c * n + i] : 0.0; };
      double mass = 0, stiffness = 0;
      for (std::size_t i = 0; i <= n; ++i) {
        const double left_a = at(a, i - 1), right_a = at(a, i), left_b = at(b, i - 1), right_b = at(b, i);
        mass += m[i] * (2 * (left_a * left_b + right_a * right_b) + left_a * right_b + right_a * left_b);
        stiffness += k[i] * (right_a - left_a) * (right_b - left_b);
      }
      const double scale = std::sqrt(modes.values[a] * modes.values[b]) + smallest;
      ASSERT_NEAR(mass, a == b ? 1 : 0, 1e-8) << a << ", " << b;
      ASSERT_NEAR(stiffness, a == b ? modes.values[a] : 0, (a == b ? 1e-11 : 1e-7) * scale) << a << ", " << b;
    }
  }
}

Values twice(const Values& widths) {
  Values both = widths;
  both.insert(both.end(), widths.rbegin(), widths.rend());
  return both;
}

TEST(LineModes, OfNamedMeshes) {
  for (const std::string name : {"U1", "A2", "A3", "A5"})
    for (const int level : {1, 3, 6, name == "A5" || test::heavy() ? 8 : 7}) {
      SCOPED_TRACE(testing::Message() << name << ", level " << level);
      const Values widths = make_mesh(mesh_family(name), level).x().widths();
      for (const Ends first : {Ends::dirichlet, Ends::neumann, Ends::robin})
        for (const Ends last : {Ends::dirichlet, Ends::neumann}) {
          const auto line = laplace(widths, first, last);
          expect_modes(line, line_modes(line, 2));
        }
    }
}

// Two and four equal layers, at walls or inside: pairs of eigenvalues that agree to the last digit.
TEST(LineModes, OfEqualLayers) {
  for (const char* name : {"A2", "A3", "A5"}) {
    SCOPED_TRACE(name);
    const Values widths = make_mesh(mesh_family(name), 6).x().widths(), turned(widths.rbegin(), widths.rend());
    for (const Values& layers : {twice(widths), twice(turned), twice(twice(turned))})
      for (const Ends end : {Ends::dirichlet, Ends::neumann}) {
        const auto line = laplace(layers, end, end);
        expect_modes(line, line_modes(line, 2));
      }
  }
}

TEST(LineModes, OfManyThinFilms) {
  for (const int films : {2, 16, 64}) {
    SCOPED_TRACE(films);
    Values widths;
    for (int f = 0; f < films; ++f) {
      widths.insert(widths.end(), {5e-8, 5e-8});
      widths.insert(widths.end(), {0.5 / films, 0.5 / films});
    }
    const auto line = laplace(widths, Ends::neumann, Ends::neumann);
    expect_modes(line, line_modes(line, 2));
  }
}

TEST(LineModes, OfRandomWidths) {
  test::Random random(213);
  for (const std::size_t n : {1, 2, 5, 33, 150}) {
    SCOPED_TRACE(n);
    Values widths = random.values(n + 1, -6, 0);
    for (double& h : widths) h = std::pow(10.0, h);
    const auto line = laplace(widths, Ends::dirichlet, Ends::neumann);
    expect_modes(line, line_modes(line, 2));
  }
}

// The pencil of equal intervals is known: sines, 6 / h^2 (1 - cos) / (2 + cos).
TEST(LineModes, OfEqualIntervals) {
  constexpr int n = 200;
  const double h = 1.0 / (n + 1);
  const auto modes = line_modes(laplace(Values(n + 1, h), Ends::dirichlet, Ends::dirichlet), 1);
  ASSERT_EQ(modes.values.size(), n);
  for (int a = 0; a < n; ++a) {
    const double angle = (a + 1) * std::numbers::pi * h, half = std::sin(angle / 2);
    const double expected = 12 / (h * h) * half * half / (3 - 2 * half * half);
    EXPECT_NEAR(modes.values[static_cast<std::size_t>(a)], expected, 1e-12 * expected) << a;
  }
}

TEST(LineModes, OnAnyNumberOfThreadsTheSame) {
  const auto line = laplace(make_mesh(mesh_family("A3"), 7).x().widths(), Ends::neumann, Ends::neumann);
  const auto one = line_modes(line, 1), four = line_modes(line, 4);
  EXPECT_EQ(one.values, four.values);
  EXPECT_EQ(one.vectors, four.vectors);
}

TEST(LineModes, NoneOfWhatIsNotPositive) {
  auto line = laplace(Values(9, 1.0), Ends::dirichlet, Ends::dirichlet);
  line.k[3] = -5;
  EXPECT_TRUE(line_modes(line, 1).values.empty());
  line.k[3] = 0;  // two lines
  EXPECT_FALSE(line_modes(line, 1).values.empty());
  line.k.front() = 0;  // of which one has constants in its kernel
  EXPECT_TRUE(line_modes(line, 1).values.empty());
  line.k[2] = std::nan("");
  EXPECT_TRUE(line_modes(line, 1).values.empty());
}

}  // namespace
