#include <stratum/solvers/direct/fourier_modes.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <stratum/mesh/graded.hpp>
#include <stratum/solvers/direct/jacobi_modes.hpp>
#include <stratum/solvers/direct/mode_products.hpp>

#include "support/random.hpp"

namespace {

using namespace stratum;
using Values = std::vector<double>;
using Product = FourierTransform::Product;

struct Ends {
  bool first_neumann, last_neumann, periodic;
};
constexpr Ends all_ends[] = {
    {false, false, false}, {true, true, false}, {true, false, false}, {false, true, false}, {false, false, true}};

/// An axis of so many unknowns between intervals of `width`.
AxisFactors factors_of(int n, const Ends& ends, double width) {
  AxisFactors axis;
  axis.periodic = ends.periodic;
  axis.k.assign(static_cast<std::size_t>(n) + 1, 3 / width);
  axis.m.assign(static_cast<std::size_t>(n) + 1, width / 6);
  if (ends.first_neumann) axis.k.front() = axis.m.front() = 0;
  if (ends.last_neumann) axis.k.back() = axis.m.back() = 0;
  return axis;
}

bool has_unknowns(int n, const Ends& ends) {
  return n >= (ends.periodic ? 3 : ends.first_neumann && ends.last_neumann ? 2 : 1);
}

TEST(FourierModes, SolveTheEigenvalueProblem) {
  for (const Ends& ends : all_ends)
    for (const int n : {1, 2, 3, 4, 7, 12, 25}) {
      if (!has_unknowns(n, ends)) continue;
      SCOPED_TRACE(testing::Message() << n << " unknowns, " << ends.first_neumann << ends.last_neumann
                                      << ends.periodic);
      const AxisFactors axis = factors_of(n, ends, 0.25);
      const auto uniform = uniform_axis(axis);
      ASSERT_TRUE(uniform.has_value());
      const LineModes modes = fourier_modes(*uniform), by_rotations = jacobi_modes(axis, 1);
      EXPECT_EQ(modes.values, fourier_values(*uniform));
      const auto all = static_cast<std::size_t>(n);
      for (std::size_t a = 0; a < all; ++a) {
        EXPECT_NEAR(modes.values[a], by_rotations.values[a], 1e-12 * modes.values.back()) << a;
        for (std::size_t b = 0; b < all; ++b) {
          double mass = 0;
          for (std::size_t i = 0; i <= all; ++i) {
            const auto at = [&](std::size_t c, std::size_t node) {
              if (ends.periodic) return i == all ? 0.0 : modes.vectors[c * all + (node + all) % all];
              return node < all ? modes.vectors[c * all + node] : 0.0;  // node -1 is beyond all
            };
            const double la = at(a, i - 1), ra = at(a, i), lb = at(b, i - 1), rb = at(b, i);
            mass += axis.m[i] * (2 * (la * lb + ra * rb) + la * rb + ra * lb);
          }
          EXPECT_NEAR(mass, a == b ? 1 : 0, 1e-13) << a << ", " << b;
        }
      }
    }
}

/// The products of lines by rows or columns, and those by matrices of the same modes.
void expect_products(const UniformAxis& axis, int count, bool rows, Product product, bool add, double decades) {
  test::Random random(5);
  const FourierTransform transform(axis);
  const LineModes modes = fourier_modes(axis);
  const int n = axis.unknowns, in_pitch = (rows ? n : count) + 3, out_pitch = (rows ? n : count) + 1;
  Values in = random.values((rows ? count : n) * in_pitch), out = random.values((rows ? count : n) * out_pitch);
  const auto place = [rows](int line, int i, int pitch) {
    return static_cast<std::size_t>(rows ? line * pitch + i : i * pitch + line);
  };
  // Lines of very different sizes, side by side.
  for (int line = 0; line < count; ++line)
    for (int i = 0; i < n; ++i) {
      in[place(line, i, in_pitch)] *= std::pow(10, -decades * (line % 11));
      if (decades > 0) out[place(line, i, out_pitch)] = 0;
    }
  const Values before = out;
  Values scratch(transform.scratch());
  const auto run = [&](const auto&... arguments) {
    rows ? transform.along_rows(arguments...) : transform.across_rows(arguments...);
  };
  run(product, count, in.data(), in_pitch, out.data(), out_pitch, add, scratch.data());
  for (int line = 0; line < count; ++line) {
    double largest = 0, size = 0;
    for (int a = 0; a < n; ++a) {
      double sum = add ? before[place(line, a, out_pitch)] : 0;
      for (int i = 0; i < n; ++i) {
        const int mode = product == Product::to_modes ? a : i, node = product == Product::to_modes ? i : a;
        sum += modes.vectors[static_cast<std::size_t>(mode * n + node)] * in[place(line, i, in_pitch)];
      }
      largest = std::max(largest, std::abs(sum - out[place(line, a, out_pitch)]));
      size = std::max({size, std::abs(sum), std::abs(before[place(line, a, out_pitch)])});
    }
    EXPECT_LE(largest, 1e-13 * size) << "line " << line << " of " << count << (rows ? " rows" : " columns");
  }
  // Nothing is written beside.
  for (int line = 0; line < (rows ? count : n); ++line) {
    const auto beside = static_cast<std::size_t>((line + 1) * out_pitch - 1);
    EXPECT_EQ(out[beside], before[beside]);
  }
}

TEST(FourierTransform, IsTheProductWithTheModes) {
  for (const Ends& ends : all_ends)
    for (int n = 1; n <= 40; ++n) {
      if (!has_unknowns(n, ends)) continue;
      const UniformAxis axis{2.0 * n, 1.0 / n, n, ends.first_neumann, ends.last_neumann, ends.periodic};
      if (!std::isfinite(FourierTransform::operations(axis))) continue;
      SCOPED_TRACE(testing::Message() << n << " unknowns, " << ends.first_neumann << ends.last_neumann
                                      << ends.periodic);
      for (const bool rows : {false, true})
        for (const Product product : {Product::to_modes, Product::from_modes})
          expect_products(axis, n % 3 == 0 ? 16 : 19, rows, product, n % 2 == 0, 0);
    }
}

TEST(FourierTransform, RoundsLinesForThemselves) {
  for (const Ends& ends : all_ends)
    for (const bool rows : {false, true})
      for (const Product product : {Product::to_modes, Product::from_modes})
        expect_products({1, 1, 32, ends.first_neumann, ends.last_neumann, ends.periodic}, 33, rows, product, false, 12);
}

TEST(FourierTransform, LeavesZerosAndKeepsWhatIsNotFinite) {
  const UniformAxis axis{1, 1, 16, false, true, false};
  const FourierTransform transform(axis);
  Values in(16 * 16, 0.0), out(16 * 16, 1.0), scratch(transform.scratch());
  in[3 * 16 + 5] = std::numeric_limits<double>::quiet_NaN();
  transform.along_rows(Product::to_modes, 16, in.data(), 16, out.data(), 16, false, scratch.data());
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(out[i], 0);
    EXPECT_TRUE(std::isnan(out[3 * 16 + i]));
  }
}

TEST(UniformAxis, IsFoundAmongOthers) {
  const auto of = [](const Values& widths) {
    AxisFactors axis;
    for (const double h : widths) {
      axis.k.push_back(1 / h);
      axis.m.push_back(h / 6);
    }
    return axis;
  };
  EXPECT_TRUE(uniform_axis(of(uniform(0.7, 100).widths())));
  // As differences of coordinates have them.
  Values widths;
  for (int i = 0; i < 200; ++i) widths.push_back((i + 1) / 200.0 - i / 200.0);
  EXPECT_TRUE(uniform_axis(of(widths)));
  widths[100] *= 1 + 1e-11;
  EXPECT_FALSE(uniform_axis(of(widths)));
  AxisFactors robin = of(Values(8, 0.125));
  robin.k.front() = 5;
  robin.m.front() = 0;
  EXPECT_FALSE(uniform_axis(robin)) << "k of the first interval is alpha";
  robin.k.front() = 0;
  const auto natural = uniform_axis(robin);
  ASSERT_TRUE(natural);
  EXPECT_TRUE(natural->first_neumann);
  EXPECT_FALSE(natural->last_neumann);
}

TEST(ModeProducts, TakeTransformsWhereTheyAreFaster) {
  const auto transformed = [](int n, const Ends& ends, bool on_gpu = false) {
    return ModeProducts::by_fourier(on_gpu, factors_of(n, ends, 1)).has_value();
  };
  EXPECT_TRUE(transformed(127, all_ends[0]));
  EXPECT_FALSE(transformed(127, all_ends[0], true));
  EXPECT_FALSE(transformed(15, all_ends[0]));
  EXPECT_FALSE(transformed(130, all_ends[0])) << "131 is a prime";
  EXPECT_TRUE(transformed(129, all_ends[1]));
  EXPECT_TRUE(transformed(512, all_ends[3]));
  EXPECT_TRUE(transformed(360, all_ends[4]));
}

}  // namespace
