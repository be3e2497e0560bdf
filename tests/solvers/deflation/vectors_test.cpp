#include <stratum/solvers/deflation/vectors.hpp>

#include <gmock/gmock.h>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(DeflationVectorsTest, OfDomainsAreOnesInTheirDomain) {
  const auto v = vectors_of_domains({2, 0, -1, 2, 0, 5});
  v.z.validate();
  EXPECT_EQ(v.count(), 3) << "numbers without a node are left out";
  EXPECT_FALSE(v.covers);
  EXPECT_THAT(v.z.column, ElementsAre(1, 4, 0, 3, 5));
  EXPECT_THAT(v.z.start, ElementsAre(0, 2, 4, 5));
  EXPECT_THAT(v.core, ElementsAre(1, 0, -1, 1, 0, 2));
  EXPECT_TRUE(vectors_of_domains({0, 1, 0}).covers);
  EXPECT_THAT(test::error_text<UsageError>([] { (void)vectors_of_domains({0, -2}); }), HasSubstr("not -2"));
}

TEST(DeflationVectorsTest, TheConstantHasTheCoreThatIsLeft) {
  auto v = vectors_of_domains({0, -1, 1});
  add_constant(v);
  v.z.validate();
  EXPECT_EQ(v.count(), 3);
  EXPECT_THAT(v.z.column, ElementsAre(0, 2, 0, 1, 2));
  EXPECT_THAT(v.core, ElementsAre(0, 2, 1));
  auto all = vectors_of_domains({0, 1});
  EXPECT_THROW(add_constant(all), UsageError);
}

TEST(DeflationVectorsTest, StripesAndBlocksShareNodesEqually) {
  EXPECT_THAT(stripes({3, 2}, 3), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(square_blocks({5, 3}, 2), ElementsAre(0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 2, 2, 2, 3, 3));
  EXPECT_THROW((void)stripes({3, 2}, 7), UsageError);
  EXPECT_THROW((void)square_blocks({5, 3}, 4), UsageError);
  EXPECT_THROW((void)square_blocks({5, 3}, 0), UsageError);
  EXPECT_THAT(split_domains({0, 0, 1, -1, 1}, {7, 3, 3, 3, 3}), ElementsAre(1, 0, 2, -1, 2));
}

TEST(DeflationVectorsTest, SubdomainsHaveTheirPartOfTheWhole) {
  const GridLayout<2> whole{5, 3}, lower{5, 1}, upper{5, 2, 1, 2};
  EXPECT_THAT(square_blocks(whole, 2, lower), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(square_blocks(whole, 2, upper), ElementsAre(0, 0, 0, 1, 1, 2, 2, 2, 3, 3));
  EXPECT_THAT(stripes(whole, 4, lower), ElementsAre(0, 0, 0, 0, 1));
  EXPECT_THAT(stripes(whole, 4, upper), ElementsAre(1, 1, 1, 2, 2, 2, 2, 3, 3, 3));
  const auto v = vectors_of_domains(square_blocks(whole, 2, lower), 4);
  v.z.validate();
  EXPECT_TRUE(v.covers);
  EXPECT_THAT(v.z.start, ElementsAre(0, 3, 5, 5, 5)) << "other subdomains have the rest";
  EXPECT_THAT(test::error_text<UsageError>([] { (void)vectors_of_domains({0, 4}, 4); }), HasSubstr("domain 4 is none"));
  EXPECT_THAT(test::error_text<UsageError>([&] {
                (void)square_blocks(whole, 2, {5, 3, 1, 2});
              }),
              HasSubstr("rows 1 to 3"));
}

TEST(DeflationVectorsTest, PartsAreConnectedBySidesOrCorners) {
  const std::vector<char> marked{1, 0, 0, 1,  //
                                 0, 1, 0, 1,  //
                                 0, 0, 0, 1};
  EXPECT_THAT(connected_parts({4, 3}, marked, false), ElementsAre(0, -1, -1, 1, -1, 2, -1, 1, -1, -1, -1, 1));
  EXPECT_THAT(connected_parts({4, 3}, marked, true), ElementsAre(0, -1, -1, 1, -1, 0, -1, 1, -1, -1, -1, 1));
  EXPECT_THAT(connected_parts({4, 3, 0, 0, true, false}, marked, false),
              ElementsAre(0, -1, -1, 0, -1, 1, -1, 0, -1, -1, -1, 0));
}

}  // namespace
