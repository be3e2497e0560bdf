#include <cmath>
#include <utility>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/multigrid.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

constexpr std::pair<int, int> every_size[] = {{2, 2}, {3, 5}, {4, 4}, {16, 4}, {4, 16}, {12, 20}, {7, 32}, {32, 32}};

template <class T>
class CycleTest : public test::OnEverySetting<T> {
 protected:
  using Number = T;
  TensorMesh<2> random_mesh(int cells_x, int cells_y) {
    return {Axis(random_.widths(cells_x)), Axis(random_.widths(cells_y))};
  }
  Field<Number> random_vector(const GridLayout<2>& shape) {
    return test::random_vector<Number>(this->ctx(), random_, shape);
  }
  /// One cycle of the library and of the oracle, from a given and from a zero guess.
  void compare(const TensorMesh<2>& mesh, MultigridParams params, const reference::CycleChoice& choice,
               StorageFormat format) {
    auto& ctx = this->ctx();
    params.exact_below = 0;  // the oracle goes down to level 0
    Multigrid<Number> multigrid(ctx, mesh_hierarchy(mesh), format, params);
    const auto b = random_vector(mesh.unknowns());
    auto x = random_vector(mesh.unknowns());
    Values expected = test::to_host(ctx, x);
    const auto &hx = mesh.x().widths(), &hy = mesh.y().widths();
    reference::cycle(choice, hx, hy, test::to_host(ctx, b), expected);
    multigrid.cycle(ctx, multigrid.levels() - 1, b.cview(), x.view(), Guess::given);
    EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), expected), 20 * test::tolerance<Number>)
        << "given guess";

    expected.assign(expected.size(), 0.0);
    reference::cycle(choice, hx, hy, test::to_host(ctx, b), expected);
    set(ctx, std::numeric_limits<Number>::quiet_NaN(), x.view());
    multigrid.apply(ctx, b.cview(), x.view());
    EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), expected), 20 * test::tolerance<Number>)
        << "zero guess";
    EXPECT_TRUE(test::halo_is_zero(ctx, x));
  }
  test::Random random_{101};
};

TEST_ON_EVERY_SETTING(CycleTest, AgreesWithTheOracle) {
  for (const auto& [cells_x, cells_y] : every_size)
    for (const bool symmetric : {false, true})
      for (const auto format : test::every_storage_format) {
        SCOPED_TRACE(testing::Message() << cells_x << " x " << cells_y << " cells, " << to_string(format)
                                        << (symmetric ? ", symmetric" : ""));
        MultigridParams params;
        params.symmetric = symmetric;
        reference::CycleChoice choice;
        choice.symmetric = symmetric;
        this->compare(this->random_mesh(cells_x, cells_y), params, choice, format);
      }
}

// On a GPU a level of a few unknowns is solved by one kernel, whatever the storage format; other numbers make another inverse.
TEST_ON_EVERY_SETTING(CycleTest, EndsAtALevelThatIsSolved) {
  auto& ctx = this->ctx();
  if (!ctx.on_gpu()) GTEST_SKIP() << "cycles on CPUs go down to level 0";
  PoissonProblem problem;
  problem.boundaries.left = {BoundaryConditionType::robin, {}, ScalarFunction([](const Point& p) { return 1 + p.y; })};
  const TensorMesh<2> mesh = make_mesh(mesh_family("A3"), 7), robin = with_boundaries(mesh, problem.boundaries);
  const auto expect_solved = [&](Multigrid<T>& multigrid, int nodes) {
    const int level = multigrid.lowest_level();
    const GridOperator<double>& a = multigrid.hierarchy().level_in_double(level);
    const GridLayout<2> shape = multigrid.level_operator(level).shape();
    EXPECT_EQ(shape.ny, nodes);
    const auto b = this->random_vector(shape);
    Field<T> x(ctx, shape);
    multigrid.cycle(ctx, level, b.cview(), x.view(), Guess::zero);
    Field<double> wide(ctx, shape), right(ctx, shape), r(ctx, shape);
    copy<T, double>(ctx, x.cview(), wide.view());
    copy<T, double>(ctx, b.cview(), right.view());
    a.residual(ctx, right.cview(), wide.cview(), r.view());
    EXPECT_LT(norm2(ctx, r.cview()), 1e3 * test::tolerance<T> * norm2(ctx, right.cview()));
  };
  for (const auto format : {StorageFormat::nine_band, StorageFormat::symmetric}) {
    Multigrid<T> multigrid(ctx, mesh_hierarchy(robin), format, operator_terms(robin, problem), {});
    EXPECT_EQ(multigrid.level_operator(1).format(), format) << "alpha varies";
    expect_solved(multigrid, 31);
  }
  const auto a = assemble_laplace<double>(ctx, mesh, StorageFormat::nine_band);
  Multigrid<T> multigrid(ctx, a, mesh, {});
  OperatorTerms terms;
  terms.reaction = 50;
  const auto other = assemble_operator<double>(ctx, mesh, StorageFormat::nine_band, terms);
  expect_solved(multigrid, 15);
  multigrid.update(ctx, other);
  expect_solved(multigrid, 15);
}

TEST_ON_EVERY_SETTING(CycleTest, AgreesWithTheOracleForEverySmoother) {
  for (const auto& [name, omega] :
       {std::pair{"jacobi", 0.7}, {"colour_gs", 1.0}, {"line_x", 1.0}, {"line_y", 1.0}, {"adi", 1.0}})
    for (const int sweeps : {0, 2}) {
      SCOPED_TRACE(testing::Message() << name << ", " << sweeps << " sweeps");
      MultigridParams params;
      params.smoother = name;
      params.sweeps = sweeps;
      reference::CycleChoice choice;
      choice.smoother = {name, reference::Lines::zebra, omega};
      choice.sweeps = sweeps;
      this->compare(this->random_mesh(16, 24), params, choice, StorageFormat::tensor);
    }
}

TEST_ON_EVERY_SETTING(CycleTest, WAndFAgreeWithTheOracle) {
  for (const auto& [cycle, shape] : {std::pair{Cycle::w, reference::Shape::w}, {Cycle::f, reference::Shape::f}})
    for (const auto& [cells_x, cells_y] : every_size) {
      SCOPED_TRACE(testing::Message() << (cycle == Cycle::w ? "W, " : "F, ") << cells_x << " x " << cells_y
                                      << " cells");
      MultigridParams params;
      params.cycle = cycle;
      params.sweeps = 2;
      reference::CycleChoice choice;
      choice.shape = shape;
      choice.sweeps = 2;
      this->compare(this->random_mesh(cells_x, cells_y), params, choice, StorageFormat::tensor);
    }
}

TEST_ON_EVERY_SETTING(CycleTest, CoarseSolversAgree) {
  const auto registry = builtin_coarse_solvers();
  for (const auto& [name, entry] : registry.entries()) {
    MultigridParams params;
    params.coarse = name;
    // 10 x 14 and 9 x 15 cells end in coarsest meshes of more than one unknown.
    this->compare(this->random_mesh(10, 14), params, {}, StorageFormat::tensor);
    this->compare(this->random_mesh(9, 15), params, {}, StorageFormat::nine_band);
    Multigrid<T> multigrid(this->ctx(), mesh_hierarchy(this->random_mesh(9, 15)), StorageFormat::tensor, params);
    EXPECT_TRUE(multigrid.is_constant());
  }
}

TEST_ON_EVERY_SETTING(CycleTest, TheSymmetricCycleIsSymmetric) {
  auto& ctx = this->ctx();
  const auto registry = builtin_smoothers();
  for (const auto& [name, entry] : registry.entries())
    for (const auto cycle : {Cycle::v, Cycle::w, Cycle::w2}) {
      SCOPED_TRACE(name);
      const auto mesh = this->random_mesh(24, 16);
      MultigridParams params;
      params.smoother = name;
      params.cycle = cycle;
      params.symmetric = true;
      Multigrid<T> multigrid(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, params);
      EXPECT_TRUE(multigrid.is_symmetric());
      const auto r = this->random_vector(mesh.unknowns()), s = this->random_vector(mesh.unknowns());
      Field<T> mr(ctx, mesh.unknowns()), ms(ctx, mesh.unknowns());
      multigrid.apply(ctx, r.cview(), mr.view());
      multigrid.apply(ctx, s.cview(), ms.view());
      EXPECT_NEAR(dot(ctx, mr.cview(), s.cview()), dot(ctx, r.cview(), ms.cview()),
                  10 * test::tolerance<T> * norm2(ctx, mr.cview()) * norm2(ctx, s.cview()));
    }
  EXPECT_FALSE(Multigrid<T>(ctx, mesh_hierarchy(this->random_mesh(8, 8)), StorageFormat::tensor, {}).is_symmetric());
}

TEST_ON_EVERY_SETTING(CycleTest, NothingIsAllocatedByACycle) {
  auto& ctx = this->ctx();
  const auto registry = builtin_smoothers();
  for (const auto& [name, entry] : registry.entries()) {
    const auto mesh = this->random_mesh(96, 80);
    MultigridParams params;
    params.smoother = name;
    params.cycle = name == "adi" ? Cycle::k : Cycle::v;
    Multigrid<T> multigrid(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, params);
    EXPECT_EQ(multigrid.is_constant(), name != "adi");
    const auto b = this->random_vector(mesh.unknowns());
    Field<T> x(ctx, mesh.unknowns());
    const auto before = ctx.memory()->allocations.load();
    multigrid.apply(ctx, b.cview(), x.view());
    EXPECT_EQ(ctx.memory()->allocations, before) << name;
  }
}

TEST_ON_EVERY_SETTING(CycleTest, LevelsAreCoarsestFirstAndHoldTheirOperators) {
  auto& ctx = this->ctx();
  const auto mesh = make_mesh(mesh_family("A2"), 4);
  MultigridParams params;
  params.measure_levels = true;
  Multigrid<T> multigrid(ctx, mesh_hierarchy(mesh), StorageFormat::symmetric, params);
  ASSERT_EQ(multigrid.levels(), 4);
  for (int l = 0; l < 4; ++l) {
    EXPECT_EQ(multigrid.level_operator(l).shape().nx, (2 << l) - 1);
    EXPECT_EQ(multigrid.level_operator(l).format(), l == 3 ? StorageFormat::symmetric : StorageFormat::tensor);
  }
  EXPECT_THROW((void)multigrid.transfer(0), UsageError);
  EXPECT_NO_THROW((void)multigrid.transfer(3));
  Field<T> b(ctx, mesh.unknowns()), x(ctx, mesh.unknowns());
  multigrid.apply(ctx, b.cview(), x.view());
  const auto reports = multigrid.level_reports();
  ASSERT_EQ(reports.size(), 4U);
  EXPECT_EQ(reports[3].nx, 15);
  EXPECT_GT(reports[3].seconds, 0);
  EXPECT_THROW(multigrid.cycle(ctx, 4, b.cview(), x.view(), Guess::zero), UsageError);
  EXPECT_THROW(multigrid.cycle(ctx, -1, b.cview(), x.view(), Guess::zero), UsageError);
}

TEST(MultigridErrors, BadParametersAreRefused) {
  Context ctx(Backend::cpu, 1);
  const auto meshes = mesh_hierarchy(make_mesh(mesh_family("U1"), 3));
  const auto make = [&](const MultigridParams& params) {
    Multigrid<double>(ctx, meshes, StorageFormat::tensor, params);
  };
  MultigridParams params;
  params.sweeps = 3;
  EXPECT_THROW(make(params), UsageError) << "an odd number of sweeps with adi";
  params.smoother = "jacobi";
  EXPECT_NO_THROW(make(params));
  params.sweeps = -1;
  EXPECT_THROW(make(params), UsageError);
  params.sweeps = 2;
  params.smoother = "ilu";
  EXPECT_THROW(make(params), UsageError);
  EXPECT_THROW(Multigrid<double>(ctx, {}, StorageFormat::tensor, {}), UsageError);
}

TEST(MeshHierarchy, GoesDownToOneUnknown) {
  EXPECT_EQ(mesh_hierarchy(make_mesh(mesh_family("A3"), 8)).size(), 8U);
  EXPECT_EQ(mesh_hierarchy(make_mesh(mesh_family("A3"), 8)).front().unknowns().nodes(), 1);
  test::Random random(102);
  const auto meshes = mesh_hierarchy({Axis(random.widths(12)), Axis(random.widths(40))});
  ASSERT_EQ(meshes.size(), 6U);  // 2 x 2, 2 x 3, 2 x 5, 3 x 10, 6 x 20, 12 x 40
  EXPECT_EQ(meshes[0].unknowns().nodes(), 1);
  EXPECT_EQ(meshes[1].x().size(), 2);
  EXPECT_EQ(meshes[1].y().size(), 3);
  EXPECT_EQ(meshes[3].x().size(), 3);
  EXPECT_EQ(meshes[3].y().size(), 10);
}

}  // namespace
