#include <stratum/multigrid/fast_diagonalization.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/multigrid.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class T>
class PartialDiagonalisationTest : public test::OnEverySetting<T> {};

/// The residual of A x = b for b = A x of a random x, beside b.
template <class T>
double remaining(Context& ctx, const GridOperator<T>& a, PartialDiagonalisation<T>& solver, test::Random& random) {
  const auto exact = test::random_vector<T>(ctx, random, a.shape());
  Field<T> b(ctx, a.shape()), x(ctx, a.shape()), r(ctx, a.shape());
  a.apply(ctx, exact.cview(), b.view());
  solver.apply(ctx, b.cview(), x.view());
  EXPECT_TRUE(test::halo_is_zero(ctx, x));
  a.residual(ctx, b.cview(), x.cview(), r.view());
  return norm2(ctx, r.cview()) / norm2(ctx, b.cview());
}

TEST_ON_EVERY_SETTING(PartialDiagonalisationTest, AgreesWithElimination) {
  auto& ctx = this->ctx();
  test::Random random(131);
  for (const auto& [nx, ny] :
       {std::pair{1, 1}, {1, 7}, {9, 2}, {15, 15}, {31, 33}, {33, 5}, {3, 64}, {65, 40}, {2, 300}, {129, 1}}) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny);
    const auto [oracle, a] = test::random_operator<T>(ctx, random, nx, ny, StorageFormat::tensor);
    const auto b = test::random_vector<T>(ctx, random, a.shape());
    Field<T> x(ctx, a.shape());
    const auto taken = ctx.memory()->bytes.load();
    const auto solver = PartialDiagonalisation<T>::make(ctx, a);
    ASSERT_TRUE(solver);
    Context dry_run = ctx.memory_dry_run();
    const auto in_dry_run = PartialDiagonalisation<T>::make(dry_run, a);
    EXPECT_EQ(ctx.memory()->bytes - taken, dry_run.memory()->bytes);
    const auto before = ctx.memory()->allocations.load();
    for (int repeated = 0; repeated < 3; ++repeated) solver->apply(ctx, b.cview(), x.view());
    EXPECT_EQ(ctx.memory()->allocations, before);
    // The factors themselves are rounded to T.
    EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), reference::solve(oracle, test::to_host(ctx, b))),
              (std::is_same_v<T, float>) ? 1e-2 : 1e-10);
    EXPECT_TRUE(test::halo_is_zero(ctx, x));
  }
}

// The shorter direction has the modes, the other may be longer than a GPU's lines in one subdomain.
TEST_ON_EVERY_SETTING(PartialDiagonalisationTest, LongLines) {
  auto& ctx = this->ctx();
  test::Random random(132);
  for (const auto& [nx, ny] :
       {std::pair{255, 255}, {288, 270}, {1000, 250}, {37, 1500}, {20000, 60}, {130, 9000}, {4097, 257}}) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny);
    const Axis x(random.widths(nx + 1, 0.5)), y(random.widths(ny + 1, 0.5));
    const auto a = assemble_laplace<T>(ctx, {x, y}, StorageFormat::tensor);
    const auto solver = PartialDiagonalisation<T>::make(ctx, a);
    ASSERT_TRUE(solver);
    EXPECT_LT(remaining(ctx, a, *solver, random), (std::is_same_v<T, float>) ? 1e-5 : 1e-11);
  }
}

TEST_ON_EVERY_SETTING(PartialDiagonalisationTest, BoundaryLayersDoNotSpoilIt) {
  auto& ctx = this->ctx();
  test::Random random(133);
  for (const auto& [name, level] : {std::pair{"U1", 7}, {"A3", 7}, {"A5", 7}, {"U3", 8}, {"A3", 8}, {"A5", 8}}) {
    SCOPED_TRACE(testing::Message() << name << ", level " << level);
    const auto a = assemble_laplace<T>(ctx, make_mesh(mesh_family(name), level), StorageFormat::tensor);
    const auto solver = PartialDiagonalisation<T>::make(ctx, a);
    ASSERT_TRUE(solver);
    EXPECT_LT(remaining(ctx, a, *solver, random), (std::is_same_v<T, float> ? 1e-5 : 1e-12));
  }
}

TEST_ON_EVERY_SETTING(PartialDiagonalisationTest, BoundariesOfAllTypes) {
  auto& ctx = this->ctx();
  test::Random random(134);
  const BoundaryType dirichlet = BoundaryType::dirichlet, neumann = BoundaryType::neumann;
  for (const auto& [cells_x, cells_y] : {std::pair{64, 128}, {128, 64}})
    for (const BoundaryType left : {dirichlet, neumann})
      for (const BoundaryType right : {dirichlet, neumann})
        for (const BoundaryType bottom : {dirichlet, neumann})
          for (const BoundaryType top : {dirichlet, neumann}) {
            if (left == neumann && right == neumann && bottom == neumann && top == neumann) continue;
            SCOPED_TRACE(testing::Message() << cells_x << " x " << cells_y << ", " << to_string(left) << ' '
                                            << to_string(right) << ' ' << to_string(bottom) << ' ' << to_string(top));
            const auto a = assemble_operator<T>(ctx,
                                                {Axis(random.widths(cells_x, 1)).with_boundaries(left, right),
                                                 Axis(random.widths(cells_y, 1)).with_boundaries(bottom, top)},
                                                StorageFormat::tensor, {});
            const auto solver = PartialDiagonalisation<T>::make(ctx, a);
            ASSERT_TRUE(solver);
            EXPECT_LT(remaining(ctx, a, *solver, random), (std::is_same_v<T, float> ? 1e-4 : 1e-11));
          }
}

// Inside a layer beside a Neumann or Robin boundary neighbours are equal to more digits than float has: what it makes of them
// must not flow.
TEST_ON_EVERY_SETTING(PartialDiagonalisationTest, ThinLayersBesideNaturalSides) {
  auto& ctx = this->ctx();
  const auto layer = [](const char* family) {
    return make_mesh(mesh_family(family), 8).x().with_boundaries(BoundaryType::neumann, BoundaryType::neumann);
  };
  const Axis wide = make_mesh(mesh_family("U1"), 8).x();
  for (const TensorMesh<2>& mesh : {TensorMesh<2>(layer("A3"), wide), TensorMesh<2>(wide, layer("A3")),
                                    TensorMesh<2>(layer("A5"), wide), TensorMesh<2>(wide, layer("A5"))}) {
    // There not even double has the digits.
    if (std::is_same_v<T, double> && mesh.smallest_width() < 1e-12) continue;
    const auto a = assemble_operator<T>(ctx, mesh, StorageFormat::tensor, {});
    const auto solver = PartialDiagonalisation<T>::make(ctx, a);
    ASSERT_TRUE(solver);
    // The load of a constant.
    Values load;
    const auto mass = [](const Axis& line, int i) {
      const auto& h = line.widths();
      const auto n = static_cast<int>(h.size()), at = i + line.first_unknown();
      return ((at > 0 ? h[static_cast<std::size_t>(at) - 1] : 0) + (at < n ? h[static_cast<std::size_t>(at)] : 0)) / 2;
    };
    for (int j = 0; j < a.shape().ny; ++j)
      for (int i = 0; i < a.shape().nx; ++i) load.push_back(mass(mesh.x(), i) * mass(mesh.y(), j));
    Field<T> b(ctx, a.shape()), x(ctx, a.shape());
    const std::vector<T> rounded(load.begin(), load.end());
    copy_from_host(ctx, rounded.data(), b.view());
    solver->apply(ctx, b.cview(), x.view());
    a.residual(ctx, b.cview(), x.cview(), b.view());
    double flow = 0;  // the largest of what is left
    for (const double r : test::to_host(ctx, b)) flow = std::max(flow, std::abs(r));
    EXPECT_LT(flow, (std::is_same_v<T, float> ? 1e-3 : 1e-9) * std::accumulate(load.begin(), load.end(), 0.0));
  }
}

TEST_ON_EVERY_SETTING(PartialDiagonalisationTest, NaturalSidesAllAround) {
  auto& ctx = this->ctx();
  test::Random random(135);
  for (const auto& [cells_x, cells_y] : {std::pair{128, 128}, {256, 32}, {16, 200}}) {
    SCOPED_TRACE(testing::Message() << cells_x << " x " << cells_y);
    const auto a = assemble_operator<T>(
        ctx,
        {Axis(random.widths(cells_x, 1)).with_boundaries(BoundaryType::neumann, BoundaryType::neumann),
         Axis(random.widths(cells_y, 1)).with_boundaries(BoundaryType::neumann, BoundaryType::neumann)},
        StorageFormat::tensor, {});
    const auto solver = PartialDiagonalisation<T>::make(ctx, a, true);
    ASSERT_TRUE(solver);
    // Constants aside, to the thousandth that the eigenvalue zero was given.
    EXPECT_LT(remaining(ctx, a, *solver, random), 2e-3);
  }
}

TEST_ON_EVERY_SETTING(PartialDiagonalisationTest, AMassTermMovesItsEigenvalues) {
  auto& ctx = this->ctx();
  test::Random random(136);
  for (const auto& [level_x, level_y] : {std::pair{5, 7}, {7, 5}}) {
    const TensorMesh<2> mesh{bisected(1, level_x, ThinSide::first, 0.5), bisected(1, level_y, ThinSide::last, 0.5)};
    const auto made = assemble_laplace<T>(ctx, mesh, StorageFormat::tensor);
    const auto solver = PartialDiagonalisation<T>::make(ctx, made);
    for (const double c : {1e8, 3e4, 1e3, 7.0, 0.0}) {
      OperatorTerms terms;
      terms.reaction = c;
      const auto a = assemble_operator<T>(ctx, mesh, StorageFormat::tensor, terms);
      const auto before = ctx.memory()->allocations.load();
      solver->set_mass(ctx, c);
      EXPECT_EQ(ctx.memory()->allocations, before);
      EXPECT_LT(remaining(ctx, a, *solver, random), (std::is_same_v<T, float> ? 1e-5 : 1e-12)) << c;
      const auto itself = PartialDiagonalisation<T>::make(ctx, a);
      ASSERT_TRUE(itself) << c;
      EXPECT_LT(remaining(ctx, a, *itself, random), (std::is_same_v<T, float> ? 1e-5 : 1e-12)) << c;
    }
  }
}

TEST(PartialDiagonalisationLimits, WhatItCannotSolveIsRefused) {
  Context ctx(Backend::cpu, 1);
  test::Random random(137);
  const auto [large_oracle, large] = test::random_operator<double>(ctx, random, 530, 521, StorageFormat::tensor);
  const auto [stored_oracle, stored] = test::random_operator<double>(ctx, random, 3, 3, StorageFormat::symmetric);
  const auto [periodic_oracle, periodic] =
      test::random_operator<double>(ctx, random, 8, 8, StorageFormat::tensor, true);
  EXPECT_FALSE(PartialDiagonalisation<double>::make(ctx, large));
  EXPECT_FALSE(PartialDiagonalisation<double>::make(ctx, stored));
  EXPECT_FALSE(PartialDiagonalisation<double>::make(ctx, periodic));
  // Layers in both directions, of which only one can have the modes.
  const Axis layer =
      make_mesh(mesh_family("A5"), 8).x().with_boundaries(BoundaryType::dirichlet, BoundaryType::neumann);
  EXPECT_FALSE(PartialDiagonalisation<float>::make(
      ctx, assemble_operator<float>(ctx, TensorMesh<2>(layer, layer), StorageFormat::tensor, {})));
}

TEST(PartialDiagonalisationLimits, ByDefaultCyclesEndWhereItCan) {
  EXPECT_EQ(MultigridParams{}.exact_below, PartialDiagonalisation<float>::max_modes);
}

// Cycles of a GPU end at the first level below the finest with few unknowns in one direction, or at the finest.
TEST(PartialDiagonalisationLimits, WhereCyclesEnd) {
  if (!cuda_available()) GTEST_SKIP() << test::not_available();
  Context ctx(Backend::cuda);
  const auto lowest = [&](int cells_x, int cells_y, int exact_below, const MultigridParams& given = {}) {
    MultigridParams params = given;
    params.exact_below = exact_below;
    const auto meshes = mesh_hierarchy(
        {Axis(Values(static_cast<std::size_t>(cells_x), 1.0)), Axis(Values(static_cast<std::size_t>(cells_y), 1.0))});
    const Multigrid<float> multigrid(ctx, meshes, StorageFormat::tensor, params);
    const GridLayout<2> shape = multigrid.level_operator(multigrid.lowest_level()).shape();
    return std::pair{shape.nx, shape.ny};
  };
  const int most = PartialDiagonalisation<float>::max_modes;
  EXPECT_EQ(lowest(2048, 2048, most), (std::pair{511, 511}));
  EXPECT_EQ(lowest(1000, 1000, most), (std::pair{499, 499}));
  EXPECT_EQ(lowest(4096, 512, most), (std::pair{2047, 255}));
  EXPECT_EQ(lowest(256, 4096, most), (std::pair{127, 2047}));
  EXPECT_EQ(lowest(1024, 1024, 128), (std::pair{127, 127}));
  MultigridParams automatic;
  automatic.smoother = "auto";
  EXPECT_EQ(lowest(4096, 512, most, automatic), (std::pair{4095, 511}));
  EXPECT_EQ(lowest(128, 128, most, automatic), (std::pair{127, 127}));
  EXPECT_EQ(lowest(2048, 2048, most, automatic), (std::pair{511, 511}));
  automatic.sweeps = 2;
  EXPECT_EQ(lowest(4096, 512, most, automatic), (std::pair{2047, 255})) << "sweeps were asked for";
}

}  // namespace
