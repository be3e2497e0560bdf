// Meshes of three dimensions, and slabs of their planes.

#include <stratum/mesh/partition.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

using namespace stratum;

Axis axis(int cells, BoundaryType first = BoundaryType::dirichlet, BoundaryType last = BoundaryType::dirichlet) {
  return Axis(std::vector<double>(static_cast<std::size_t>(cells), 1.0 / cells)).with_boundaries(first, last);
}

TEST(TensorMeshInSpace, HasTheProductsOfItsAxes) {
  const TensorMesh<3> mesh(axis(8), axis(5, BoundaryType::neumann, BoundaryType::dirichlet),
                           axis(6, BoundaryType::periodic, BoundaryType::periodic));
  const GridLayout<3> unknowns = mesh.unknowns();
  EXPECT_EQ(unknowns.extents, (Extents<3>{7, 5, 6}));
  EXPECT_EQ(unknowns.global, unknowns.extents);
  EXPECT_EQ(unknowns.first, (std::array<int, 3>{1, 0, 0}));
  EXPECT_EQ(unknowns.lower[2].kind, Face::Kind::itself);
  EXPECT_EQ(unknowns.upper[2].kind, Face::Kind::itself);
  EXPECT_FALSE(unknowns.has_neighbours(0));
  EXPECT_FALSE(unknowns.has_neighbours(1));
  EXPECT_EQ(mesh.cells(), 240);
  EXPECT_DOUBLE_EQ(mesh.smallest_width(), 1.0 / 8);
  EXPECT_DOUBLE_EQ(mesh.largest_aspect_ratio(), 8.0 / 5);
  ASSERT_TRUE(mesh.can_coarsen());
  EXPECT_EQ(mesh.coarser().unknowns().extents, (Extents<3>{3, 3, 3}));
}

TEST(Slabs, HaveEveryPlaneOnceAndCoarsenToSlabs) {
  for (const bool periodic : {false, true})
    for (const int cells : {16, 24, 37, 64})
      for (const int count : {1, 2, 3, 5})
        for (const int levels : {0, 1, 2}) {
          const auto end = periodic ? BoundaryType::periodic : BoundaryType::dirichlet;
          TensorMesh<3> mesh(axis(8), axis(8), axis(cells, end, end));
          if (mesh.z().unknowns() >> levels < count || (periodic && cells % 4 != 0)) continue;
          SCOPED_TRACE(testing::Message() << cells << " cells, " << count << " slabs, " << levels << " levels");
          std::vector<GridLayout<3>> slabs;
          for (int rank = 0; rank < count; ++rank) slabs.push_back(slab(mesh, count, rank, levels));
          for (int level = 0;; ++level) {
            const GridLayout<3> all = mesh.unknowns();
            int next = all.first[2];
            for (int rank = 0; rank < count; ++rank) {
              const GridLayout<3>& own = slabs[static_cast<std::size_t>(rank)];
              EXPECT_EQ(own.first[2], next);
              // The level to which the last slabs restrict is none that is cut: one may have no plane of it.
              const bool may_be_empty = level > 0 && level == levels;
              EXPECT_GE(own.extents.nz, may_be_empty ? 0 : 1);
              EXPECT_EQ(own.global, all.extents);
              next += own.extents.nz;
              const auto expected = [&](bool is_end, int neighbour) {
                if (count == 1) return all.lower[2];
                return is_end && !periodic ? Face{} : Face{Face::Kind::subdomain, neighbour};
              };
              EXPECT_EQ(own.lower[2], expected(rank == 0, (rank + count - 1) % count));
              EXPECT_EQ(own.upper[2], expected(rank + 1 == count, (rank + 1) % count));
            }
            EXPECT_EQ(next, all.first[2] + all.extents.nz);
            if (level == levels) break;
            mesh = mesh.coarser();
            for (auto& own : slabs) own = coarser_slab(mesh, own);
          }
        }
}

TEST(Slabs, RefuseTooFewPlanes) {
  const TensorMesh<3> mesh(axis(4), axis(4), axis(4));
  EXPECT_THROW((void)slab(mesh, 4, 0), UsageError);
  EXPECT_THROW((void)slab(mesh, 2, 0, 1), UsageError);
  EXPECT_THROW((void)slab(mesh, 2, 2), UsageError);
}

}  // namespace
