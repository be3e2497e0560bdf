#include <stratum/two_phase/five_point.hpp>

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include <stratum/core/errors.hpp>
#include <stratum/core/operators/csr_matrix.hpp>

#include "support/backends.hpp"
#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::dense;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

SparseRows matrix(const FivePointLinks& links) {
  Context ctx(Backend::cpu, 1);
  return sparse_rows(ctx, five_point_operator(ctx, links));
}

std::vector<double> row_sums(const SparseRows& a) {
  std::vector<double> sums(static_cast<std::size_t>(a.rows), 0.0);
  for (int i = 0; i < a.rows; ++i)
    for (auto k = a.start[std::size_t(i)]; k < a.start[std::size_t(i) + 1]; ++k)
      sums[std::size_t(i)] += a.value[std::size_t(k)];
  return sums;
}

template <class F>
void expect_refused(const F& f, const std::vector<std::string>& words) {
  for (const auto& word : words) EXPECT_THAT(f, ThrowsMessage<UsageError>(HasSubstr(word)));
}

TEST(FivePoint, PoissonIsFourAndMinusOne) {
  const auto a = dense(matrix(poisson_links(4, 3)));
  for (std::size_t i = 0; i < 12; ++i)
    for (std::size_t j = 0; j < 12; ++j) {
      const bool beside = (i / 4 == j / 4 && (i == j + 1 || j == i + 1)) || i == j + 4 || j == i + 4;
      EXPECT_EQ(a(i, j), i == j ? 4 : beside ? -1 : 0) << i << ", " << j;
    }
}

// Row n / 2 - 1 is the interface: vertical links below it and from it upwards differ, its horizontal ones are the mean.
TEST(FivePoint, LayersHaveTheEntriesOfTheirLinks) {
  const int n = 8;
  const double eps = 1e-3;
  const auto links = layered_links(n, 1 / eps);
  const SparseRows a = matrix(links);
  const auto node = [](int i, int j) { return j * n + i; };
  const int interface = 3;
  for (int j = 0; j < n; ++j) {
    const double along = j < interface ? 1 : j == interface ? (1 + eps) / 2 : eps;
    EXPECT_DOUBLE_EQ(a.at(node(2, j), node(3, j)), -along) << j;
    EXPECT_DOUBLE_EQ(a.at(node(3, j), node(2, j)), -along) << j;
    if (j + 1 < n) {
      EXPECT_DOUBLE_EQ(a.at(node(5, j), node(5, j + 1)), j < interface ? -1 : -eps) << j;
    }
  }
  EXPECT_DOUBLE_EQ(a.at(node(4, interface), node(4, interface)), 2 * (1 + eps));
  EXPECT_DOUBLE_EQ(a.at(node(0, interface), node(0, interface)), 1.5 * (1 + eps));
  EXPECT_DOUBLE_EQ(a.at(node(n - 1, interface), node(n - 1, interface)), 1.5 * (1 + eps));
  EXPECT_DOUBLE_EQ(a.at(node(0, 0), node(0, 0)), 2);
  EXPECT_DOUBLE_EQ(a.at(node(n - 1, n - 1), node(n - 1, n - 1)), 2 * eps);
  EXPECT_TRUE(a.is_symmetric(0));
  EXPECT_THAT(row_sums(a), Each(testing::DoubleNear(0, 1e-15)));
}

TEST(FivePoint, FlowTakesHarmonicMeansAndTheCellsSides) {
  // 3 x 2 cells, 0.5 wide and 2 high.
  const std::vector<double> density{1, 3, 1, 7, 1, 1e-3};
  const auto links = flow_links(3, 2, density, 1.5, 4);
  const SparseRows a = matrix(links);
  EXPECT_DOUBLE_EQ(a.at(0, 1), -(2.0 / 4) * 4);
  EXPECT_DOUBLE_EQ(a.at(1, 2), -(2.0 / 4) * 4);
  EXPECT_DOUBLE_EQ(a.at(4, 5), -(2.0 / 1.001) * 4);
  EXPECT_DOUBLE_EQ(a.at(0, 3), -(2.0 / 8) / 4);
  EXPECT_DOUBLE_EQ(a.at(2, 5), -(2.0 / 1.001) / 4);
  EXPECT_EQ(a.at(2, 3), 0);  // the end of a row and the start of the next
  EXPECT_THAT(row_sums(a), Each(testing::DoubleNear(0, 1e-14)));
  EXPECT_TRUE(links.walls);
  EXPECT_TRUE(links.sink.empty());
}

TEST(FivePoint, APinDoublesOneDiagonal) {
  auto links = flow_links(4, 4, std::vector<double>(16, 0.3));
  const auto before = dense(matrix(links));
  pin(links, 3, 3);
  const auto after = dense(matrix(links));
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 16; ++j)
      EXPECT_EQ(after(i, j), i == 15 && j == 15 ? 2 * before(i, j) : before(i, j)) << i << ", " << j;
  expect_refused([&] { pin(links, 4, 0); }, {"(4, 0)", "4 x 4"});
  expect_refused([&] { pin(links, 0, -1); }, {"(0, -1)"});
}

TEST(FivePoint, DiscsCoverTheCellsWhoseCentresTheyHold) {
  const std::vector<Disc> discs{{0.25, 0.25, 0.3}, {2, 1, 0.3}};
  const auto density = densities_of_discs(4, 2, discs, 1e-3, 1, 2, 1);  // cells 0.5 x 0.5
  const std::vector<double> expected{1e-3, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(density, expected);
  const auto more = densities_of_discs(4, 2, {{1.75, 0.75, 0.51}}, 5, 1, 2, 1);
  EXPECT_EQ(more, (std::vector<double>{1, 1, 1, 5, 1, 1, 5, 5}));
  for (const double radius : {0.0, -1.0, std::nan("")})
    expect_refused([&] { (void)densities_of_discs(4, 4, {{0.5, 0.5, radius}}, 1, 1); }, {"radius", "positive"});
}

TEST(FivePoint, PhasesMixDensities) {
  EXPECT_EQ(densities_of_phase(2, 2, {0, 1, 0.5, 0.25}, 1, 1000), (std::vector<double>{1000, 1, 500.5, 750.25}));
  expect_refused([] { (void)densities_of_phase(2, 2, {0, 1, 0.5}, 1, 2); }, {"3 phases", "2 x 2"});
  expect_refused([] { (void)densities_of_phase(2, 2, {0, 1, 1.5, 0}, 1, 2); }, {"(0, 1)", "1.5", "0 .. 1"});
  expect_refused([] { (void)densities_of_phase(2, 2, {0, -0.1, 0, 0}, 1, 2); }, {"(1, 0)", "-0.1"});
  expect_refused([] { (void)densities_of_phase(2, 2, {0, 0, 0, std::nan("")}, 1, 2); }, {"(1, 1)", "nan"});
}

TEST(FivePoint, BadInputIsNamedWithItsCell) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, 0.0, infinite, std::nan("")})
    expect_refused([&] { (void)flow_links(3, 2, {1, 1, 1, 1, bad, 1}); }, {"density", "(1, 1)", "positive"});
  expect_refused([] { (void)flow_links(3, 2, {1, 1, 1, 1, 1}); }, {"5 densities", "3 x 2"});
  expect_refused([] { (void)flow_links(2, 2, {1, 1, 1, 1}, 0, 1); }, {"width", "0 x 1"});
  expect_refused([] { (void)poisson_links(1, 5); }, {"2 x 2", "1 x 5"});
  expect_refused([] { (void)layered_links(8, -10); }, {"contrast", "-10"});
  expect_refused([] { (void)layered_links(8, infinite); }, {"contrast"});

  const auto with = [](auto change) {
    auto links = layered_links(4, 10);
    change(links);
    return [links] { (void)matrix(links); };
  };
  expect_refused(with([](FivePointLinks& l) { l.east[l.at(1, 2)] = -1; }), {"east", "(1, 2)", "-1"});
  expect_refused(with([](FivePointLinks& l) { l.north[l.at(0, 1)] = infinite; }), {"north", "(0, 1)"});
  expect_refused(with([](FivePointLinks& l) { l.east[l.at(3, 1)] = 1; }), {"(3, 1)", "no neighbour to the east"});
  expect_refused(with([](FivePointLinks& l) { l.north[l.at(2, 3)] = 1; }), {"(2, 3)", "no neighbour to the north"});
  expect_refused(with([](FivePointLinks& l) { l.sink = {1, 2}; }), {"2 sinks", "4 x 4"});
  expect_refused(with([](FivePointLinks& l) {
                   l.sink.assign(16, 0.0);
                   l.sink[5] = -2;
                 }),
                 {"sink", "(1, 1)", "-2"});
  expect_refused(with([](FivePointLinks& l) { l.north.pop_back(); }), {"15 links to the north"});
}

// Nodes at the centres: cells + 1 intervals where zeros lie one cell beyond, cells - 1 between walls.
TEST(FivePoint, TheMeshOfCentresHasTheCellsAsUnknowns) {
  const auto poisson = mesh_of_centres(poisson_links(5, 3));
  EXPECT_EQ(poisson.x().size(), 6);
  EXPECT_EQ(poisson.unknowns().nx, 5);
  EXPECT_EQ(poisson.unknowns().ny, 3);
  const auto walls = mesh_of_centres(flow_links(5, 3, std::vector<double>(15, 1.0)));
  EXPECT_EQ(walls.x().size(), 4);
  EXPECT_EQ(walls.unknowns().nx, 5);
  EXPECT_EQ(walls.x().first_boundary(), BoundaryType::neumann);
}

class FivePointTest : public test::OnEveryBackend {};
TEST_P(FivePointTest, TheOperatorIsTheMatrix) {
  const auto links = layered_links(6, 1e4);
  const auto rows = dense(matrix(links));
  const auto a = five_point_operator(ctx(), links);
  std::vector<double> x(36), y(36);
  for (std::size_t k = 0; k < 36; ++k) x[k] = std::sin(1.0 + 7.0 * static_cast<double>(k));
  Field<double> in(ctx(), a.shape()), out(ctx(), a.shape());
  copy_from_host(ctx(), x.data(), in.view());
  a.apply(ctx(), in.cview(), out.view());
  copy_to_host(ctx(), out.cview(), y.data());
  for (std::size_t i = 0; i < 36; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < 36; ++k) sum += rows(i, k) * x[k];
    EXPECT_NEAR(y[i], sum, 1e-14) << i;
  }
}

INSTANTIATE_ON_EVERY_BACKEND(FivePointTest);

}  // namespace
