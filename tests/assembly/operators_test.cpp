#include <stratum/assembly/operators.hpp>

#include <cmath>

#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

class AssembleLaplace : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(AssembleLaplace);

TEST_P(AssembleLaplace, EveryEntryOnThePublishedMeshes) {
  for (const auto& family : named_meshes())
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << family.name << ", " << to_string(format));
      const auto mesh = make_mesh(family, 5);
      const auto a = assemble_laplace<double>(ctx(), mesh, format);
      const auto oracle = reference::laplace(mesh.x().widths(), mesh.y().widths());
      // Of two products of opposite sign, rounding is relative to the larger.
      EXPECT_LE(test::largest_difference(test::entries(ctx(), a), oracle), 1e-14);
    }
}

TEST_P(AssembleLaplace, RowsAwayFromTheSidesSumToZero) {
  test::Random random(41);
  const TensorMesh<2> mesh{Axis(random.widths(20, 3)), Axis(random.widths(14, 3))};
  for (const auto format : test::every_storage_format) {
    const auto a = assemble_laplace<double>(ctx(), mesh, format);
    const auto ones = test::to_device<double>(ctx(), a.shape(), Values(19 * 13, 1.0));
    Field<double> sums(ctx(), a.shape()), diagonals(ctx(), a.shape());
    a.apply(ctx(), ones.cview(), sums.view());
    diagonal(ctx(), a, diagonals.view());
    const Values s = test::to_host(ctx(), sums), d = test::to_host(ctx(), diagonals);
    for (std::size_t j = 1; j < 12; ++j)
      for (std::size_t i = 1; i < 18; ++i) EXPECT_NEAR(s[j * 19 + i], 0, 1e-14 * d[j * 19 + i]) << i << ", " << j;
    // Beside a side the row lacks what it couples to the boundary: with a positive diagonal it is not zero everywhere.
    EXPECT_GT(std::abs(s[0]), 1e-3 * d[0]);
  }
}

TEST_P(AssembleLaplace, A5AssemblesInDoubleWhereDifferencesOfCoordinatesVanish) {
  for (const int level : {10, 12}) {
    const auto mesh = make_mesh(mesh_family("A5"), level);
    const auto a = assemble_laplace<double>(ctx(), mesh, StorageFormat::tensor);
    Field<double> d(ctx(), a.shape());
    diagonal(ctx(), a, d.view());
    EXPECT_TRUE(std::isfinite(norm2(ctx(), d.cview())));
  }
}

TEST_P(AssembleLaplace, WidthsOutOfTheRangeOfFloatAreRefused) {
  // h_min = (0.0005)^12 = 2.4e-40
  MeshFamily family = mesh_family("A1");
  family.nu = 0.001;
  const auto mesh = make_mesh(family, 12);
  EXPECT_NO_THROW((void)assemble_laplace<double>(ctx(), mesh, StorageFormat::tensor));
  try {
    (void)assemble_laplace<float>(ctx(), mesh, StorageFormat::tensor);
    FAIL() << "1 / h overflowed in float";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("double"), std::string::npos) << error.what();
  }
}

}  // namespace
