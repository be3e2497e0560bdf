#include <stratum/mesh/partition.hpp>

#include <gtest/gtest.h>

#include <stratum/mesh/named_meshes.hpp>

namespace {

using namespace stratum;

TensorMesh<2> with_rows(int rows) {
  const auto ones = [](int nodes) { return Axis(std::vector<double>(static_cast<std::size_t>(nodes) + 1, 1.0)); };
  return {ones(3), ones(rows), "subdomains"};
}

TEST(Subdomains, HaveAnEvenShareUpToHalfAUnitAtEitherEnd) {
  for (const int rows : {31, 37, 63, 100, 255, 1000, 8191, 16383})
    for (const int count : {2, 3, 4, 7})
      for (int levels = 0; count << levels <= rows && levels < 5; ++levels) {
        const TensorMesh<2> mesh = with_rows(rows);
        const int unit = 1 << levels;
        int next = 1;
        for (int rank = 0; rank < count; ++rank) {
          const GridLayout<2> subdomain = Subdomain(mesh, count, rank, levels).unknowns();
          EXPECT_EQ(subdomain.origin_y, next);
          EXPECT_TRUE(rank == 0 || subdomain.origin_y % unit == 0);
          EXPECT_LE(std::abs(subdomain.ny - static_cast<double>(rows) / count), unit)
              << rows << " rows, " << count << " subdomains, " << levels << " levels, subdomain " << rank;
          next += subdomain.ny;
        }
        EXPECT_EQ(next, rows + 1);
      }
}

TEST(Subdomains, TwoOfTheRowsOfANamedMeshDifferByOne) {
  for (const int levels : {1, 4, 7}) {
    const TensorMesh<2> mesh = with_rows(8191);
    EXPECT_EQ(Subdomain(mesh, 2, 0, levels).unknowns().ny, 4095);
    EXPECT_EQ(Subdomain(mesh, 2, 1, levels).unknowns().ny, 4096);
  }
}

TEST(Subdomains, HaveARowOnEveryLevelThatIsCut) {
  for (int rows = 8; rows < 70; ++rows)
    for (const int count : {2, 3, 4})
      for (int levels = 1; count << levels <= rows; ++levels)
        for (int rank = 0; rank < count; ++rank) {
          TensorMesh<2> mesh = with_rows(rows);
          Subdomain subdomain(mesh, count, rank, levels);
          for (int l = 1; l < levels; ++l) {
            mesh = mesh.coarser();
            subdomain = subdomain.coarser(mesh);
            EXPECT_GE(subdomain.unknowns().ny, 1)
                << rows << " rows, subdomain " << rank << " of " << count << ", level " << l;
          }
        }
}

}  // namespace
