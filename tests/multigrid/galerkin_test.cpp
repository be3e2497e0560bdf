#include <stratum/multigrid/galerkin.hpp>

#include <cmath>
#include <limits>
#include <utility>

#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/multigrid.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

/// Cells in x and y; the last of an odd number stays alone, two are not coarsened.
constexpr std::pair<int, int> every_size[] = {{4, 4},  {4, 2},  {2, 4}, {8, 3}, {5, 8},  {12, 20},
                                              {18, 6}, {6, 50}, {3, 3}, {2, 7}, {17, 11}};

/// P^T A P column by column, from unit vectors.
reference::Stencil product(const reference::Stencil& a, const TensorMesh<2>& fine) {
  const auto &hx = fine.x().widths(), &hy = fine.y().widths();
  const GridLayout<2> shape = fine.coarser().unknowns();
  reference::Stencil c(shape.nx, shape.ny);
  for (int j = 0; j < shape.ny; ++j)
    for (int i = 0; i < shape.nx; ++i) {
      Values unit(c.size(), 0.0);
      unit[c.index(i, j)] = 1;
      const Values column = reference::restrict_to(hx, hy, reference::apply(a, reference::prolongate(hx, hy, unit)));
      for (int q = 0; q < shape.ny; ++q)
        for (int p = 0; p < shape.nx; ++p) {
          const double value = column[c.index(p, q)];
          if (std::abs(i - p) <= 1 && std::abs(j - q) <= 1)
            c.at(i - p, j - q, p, q) = value;
          else
            EXPECT_EQ(value, 0) << "nine bands do not suffice";
        }
    }
  return c;
}

/// Largest difference of a stored band, relative to the largest diagonal entry.
double difference(Context& ctx, const GridOperator<double>& found, const reference::Stencil& expected) {
  double largest = 0, scale = 0;
  for (const double d : expected.band[4]) scale = std::max(scale, std::abs(d));
  const auto compare = [&](const Field<double>& band, std::size_t k) {
    const Values values = test::to_host(ctx, band);
    for (std::size_t n = 0; n < values.size(); ++n)
      largest = std::max(largest, std::abs(values[n] - expected.band[k][n]) / scale);
    EXPECT_TRUE(test::halo_is_zero(ctx, band));
  };
  if (found.format() == StorageFormat::nine_band)
    for (std::size_t k = 0; k < 9; ++k) compare(std::get<NineBandMatrix<double>>(found.storage()).band[k], k);
  else
    for (std::size_t k = 0; k < 5; ++k) compare(std::get<SymmetricNineBand<double>>(found.storage()).band[k], k + 4);
  return largest;
}

/// The operator below the finest.
GridOperator<double> coarse_product(Context& ctx, const GridOperator<double>& a, const TensorMesh<2>& fine) {
  const auto hierarchy = Hierarchy<double>::galerkin(ctx, a, fine);
  return hierarchy.level_operator(hierarchy.levels() - 2);
}

class Galerkin : public test::OnEveryBackend {
 protected:
  test::Random random_{201};
};
INSTANTIATE_ON_EVERY_BACKEND(Galerkin);

TEST_P(Galerkin, AgreesWithTheOracleInEveryForm) {
  for (const auto& [cells_x, cells_y] : every_size)
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << cells_x << " x " << cells_y << " cells, " << to_string(format));
      const TensorMesh<2> fine{Axis(random_.widths(cells_x)), Axis(random_.widths(cells_y))};
      const auto [oracle, a] =
          test::random_operator<double>(ctx(), random_, fine.unknowns().nx, fine.unknowns().ny, format);
      EXPECT_LT(difference(ctx(), coarse_product(ctx(), a, fine), product(oracle, fine)), 1e-13);
    }
}

// Bilinear elements on nested meshes, interpolated by their widths: the products are the assembled operators of all levels.
TEST_P(Galerkin, ProductsOfTheLaplacianAreTheAssembledOperators) {
  for (const auto format : test::every_storage_format)
    for (int draw = 0; draw < 4; ++draw) {
      const TensorMesh<2> fine{Axis(random_.widths(16 << draw)), Axis(random_.widths(48))};
      const auto meshes = mesh_hierarchy(fine);
      const auto a = assemble_laplace<double>(ctx(), fine, format);
      const auto hierarchy = Hierarchy<double>::galerkin(ctx(), a, fine);
      for (std::size_t l = 0; l + 1 < meshes.size(); ++l)
        EXPECT_LT(difference(ctx(), hierarchy.level_operator(static_cast<int>(l)),
                             reference::laplace(meshes[l].x().widths(), meshes[l].y().widths())),
                  1e-12)
            << to_string(format) << ", level " << l;
    }
}

TEST_P(Galerkin, ASymmetricMatrixHasSymmetricProducts) {
  const TensorMesh<2> fine{Axis(random_.widths(24)), Axis(random_.widths(40))};
  const reference::Stencil oracle = random_.stencil(23, 39, true);
  const auto nine = coarse_product(ctx(), test::nine_band_operator<double>(ctx(), oracle), fine);
  const auto five = coarse_product(ctx(), test::symmetric_operator<double>(ctx(), oracle), fine);
  const auto expected = product(oracle, fine);
  EXPECT_LT(difference(ctx(), nine, expected), 1e-14);
  EXPECT_LT(difference(ctx(), five, expected), 1e-14);
  // Said to be symmetric, nine bands have products of five, and in float five themselves.
  const auto a = test::nine_band_operator<double>(ctx(), oracle);
  const auto said = Hierarchy<double>::galerkin(ctx(), a, fine, {.symmetric = true});
  const int finest = said.levels() - 1;
  EXPECT_EQ(nine.format(), StorageFormat::nine_band);
  EXPECT_EQ(said.finest().format(), StorageFormat::nine_band);
  EXPECT_EQ(said.level_operator(finest - 1).format(), StorageFormat::symmetric);
  EXPECT_LT(difference(ctx(), said.level_operator(finest - 1), expected), 1e-14);
  Hierarchy<float> narrowed(ctx(), said);
  EXPECT_EQ(narrowed.finest().format(), StorageFormat::symmetric);
  (void)narrowed.update(ctx(), test::nine_band_operator<double>(ctx(), random_.stencil(23, 39, true)));
}

TEST_P(Galerkin, WhatIsNotFiniteIsRefusedByTheNamesOfFormAndPart) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto format : test::every_storage_format) {
    auto a = test::random_operator<double>(ctx(), random_, 7, 5, format).a;
    EXPECT_NO_THROW(check_coefficients(ctx(), a));
    std::visit(
        [&](auto& storage) {
          const auto parts = storage.parts();
          for (std::size_t k = 0; k < parts.size(); ++k) {
            auto node = parts[k];
            if (node.data == nullptr) continue;  // left out
            node.data = &node(2, 0);
            node.nx = node.ny = 1;
            double before = 0;
            copy_to_host(ctx(), FieldView<const double>(node), &before);
            copy_from_host(ctx(), &nan, node);
            EXPECT_THAT(
                [&] { check_coefficients(ctx(), a); },
                testing::ThrowsMessage<UsageError>(testing::AllOf(
                    testing::HasSubstr(std::string(to_string(format))),
                    testing::HasSubstr(storage.part_name(static_cast<int>(k)) + " has a coefficient of size nan"))));
            copy_from_host(ctx(), &before, node);
          }
        },
        a.storage());
  }
}

TEST_P(Galerkin, BadCoefficientsAreRefused) {
  const auto refusal = [&](int dx, int dy, int i, int j, double value, bool symmetric) {
    reference::Stencil a = random_.stencil(7, 5, symmetric);
    a.at(dx, dy, i, j) = value;
    const auto op = symmetric ? test::symmetric_operator<double>(ctx(), a) : test::nine_band_operator<double>(ctx(), a);
    try {
      check_coefficients(ctx(), op);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal(0, 0, 3, 2, 100, false), "accepted");
  EXPECT_EQ(refusal(0, 0, 3, 2, 100, true), "accepted");
  EXPECT_THAT(refusal(1, -1, 3, 2, nan, false), testing::HasSubstr("band (1, -1) has a coefficient of size nan"));
  EXPECT_THAT(refusal(0, 0, 3, 2, inf, true), testing::HasSubstr("band (0, 0) has a coefficient of size inf"));
  EXPECT_THAT(refusal(-1, 0, 0, 2, 3, false),
              testing::HasSubstr("band (-1, 0) reaches across a boundary of the grid with 3"));
  EXPECT_THAT(refusal(1, -1, 6, 3, -3, false), testing::HasSubstr("band (1, -1) reaches across"));
  EXPECT_THAT(refusal(0, 1, 3, 4, 3, true), testing::HasSubstr("band (0, 1) reaches across"));
  EXPECT_THAT(refusal(0, -1, 3, 0, 3, false), testing::HasSubstr("band (0, -1) reaches across"));
}

}  // namespace
