#include <gtest/gtest.h>

#include <stratum/mesh/axis.hpp>

namespace {

using namespace stratum;

TEST(AxisPart, KeepsPlacesAndDistancesToTheEndsOfTheAxis) {
  const Axis line =
      Axis({1, 2, 1e-12, 4, 1e-14}).starting_at(-3).with_boundaries(BoundaryType::dirichlet, BoundaryType::neumann);
  for (const auto& [first, end] : {std::pair{0, 2}, {1, 4}, {2, 5}}) {
    const Axis part = line.part(first, end);
    ASSERT_EQ(part.size(), end - first);
    EXPECT_EQ(part.length(), line.length());
    for (int i = 0; i <= part.size(); ++i) {
      const auto own = static_cast<std::size_t>(i), there = static_cast<std::size_t>(i + first);
      EXPECT_EQ(part.from_begin()[own], line.from_begin()[there]);
      EXPECT_EQ(part.from_end()[own], line.from_end()[there]);
      EXPECT_EQ(part.coordinates()[own], line.coordinates()[there]);
      if (i == part.size()) continue;
      EXPECT_EQ(part.widths()[own], line.widths()[there]);
    }
    EXPECT_EQ(part.first_boundary(), first == 0 ? BoundaryType::dirichlet : BoundaryType::neumann);
    EXPECT_EQ(part.last_boundary(), BoundaryType::neumann);
  }
}

TEST(AxisPart, OfAPeriodicAxisHasNaturalEnds) {
  const Axis line = Axis({1, 2, 3, 4}).with_boundaries(BoundaryType::periodic, BoundaryType::periodic);
  EXPECT_TRUE(line.part(0, 4).is_periodic());
  const Axis part = line.part(0, 2);
  EXPECT_EQ(part.first_boundary(), BoundaryType::neumann);
  EXPECT_EQ(part.unknowns(), 3);
  EXPECT_THROW((void)line.part(2, 2), UsageError);
  EXPECT_THROW((void)line.part(2, 5), UsageError);
}

}  // namespace
