// Named meshes of boxes: lengths, thin ends and names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <stratum/mesh/named_meshes.hpp>

namespace stratum {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(BoxFamilies, AreThinWhereThePublishedMeshesAre) {
  const auto rectangle = make_mesh(mesh_family("A3"), 6);
  const auto box = make_mesh(box_family("A3", "xyz"), 6);
  EXPECT_EQ(box.name(), "A3");
  EXPECT_EQ(box.x().widths(), rectangle.x().widths());
  EXPECT_EQ(box.y().widths(), rectangle.y().widths());
  EXPECT_EQ(box.z().widths(), rectangle.y().widths()) << "thin at the first end, as y";
  EXPECT_EQ(box.cells(), 64 * 64 * 64);
}

TEST(BoxFamilies, AreUniformInTheOtherDirections) {
  const auto uniform = make_mesh(mesh_family("U1"), 5).x().widths(), thin = make_mesh(mesh_family("A2"), 5).y().widths();
  const auto z = make_mesh(box_family("A2"), 5);
  EXPECT_EQ(z.x().widths(), uniform);
  EXPECT_EQ(z.y().widths(), uniform);
  EXPECT_EQ(z.z().widths(), thin);
  const auto zy = make_mesh(box_family("A2", "zy"), 5);
  EXPECT_EQ(zy.x().widths(), uniform);
  EXPECT_EQ(zy.y().widths(), thin);
  EXPECT_EQ(zy.z().widths(), thin);
}

TEST(BoxFamilies, AreShortWhereUniformCellsAreFlat) {
  EXPECT_THAT(box_family("U1", "xyz").lengths, ::testing::ElementsAre(1, 1, 1));
  EXPECT_THAT(box_family("U2").lengths, ::testing::ElementsAre(1, 1, 0.25));
  EXPECT_THAT(box_family("U3", "xz").lengths, ::testing::ElementsAre(0.0625, 1, 0.0625));
  EXPECT_EQ(make_mesh(box_family("U3", "xz"), 3).largest_aspect_ratio(), 16);
}

TEST(BoxFamilies, RefuseDirectionsThatAreNone) {
  EXPECT_THAT([] { (void)box_family("A3", "xw"); }, ThrowsMessage<UsageError>(HasSubstr("'xw'")));
  EXPECT_THAT([] { (void)box_family("A3", ""); }, ThrowsMessage<UsageError>(HasSubstr("one, two or three")));
  EXPECT_THAT([] { (void)box_family("A3", "zz"); }, ThrowsMessage<UsageError>(HasSubstr("z twice")));
  EXPECT_THAT([] { (void)box_family("B3", "z"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("B3"), HasSubstr("known: U1"))));
}

}  // namespace
}  // namespace stratum
