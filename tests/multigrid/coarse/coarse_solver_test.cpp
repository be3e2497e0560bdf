// What every coarse solver promises, over everything in the registry, in every precision and on every backend. A new one is in
// here by being registered.

#include <memory>

#include <stratum/multigrid/multigrid.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;

struct Case {
  std::string solver;
  Backend backend;
  bool in_float;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.solver; }

std::vector<Case> every_case() {
  std::vector<Case> cases;
  const auto registry = builtin_coarse_solvers();
  for (const auto& [name, entry] : registry.entries())
    for (const auto backend : {Backend::cpu, Backend::cuda})
      for (const bool in_float : {false, true}) cases.push_back({name, backend, in_float});
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return message(info.param.solver, "_", test::backend_name(info.param.backend),
                 info.param.in_float ? "_float" : "_double");
}

class CoarseSolverContract : public test::WithContext<testing::TestWithParam<Case>> {
 protected:
  void SetUp() override { begin(GetParam().backend); }

  /// Calls check(hierarchy of one level) in the number of the case for every storage format and several shapes.
  template <class Check>
  void for_every_level(const Check& check) {
    for (const auto& [nx, ny] : {std::pair{8, 8}, {2, 3}, {1, 9}})
      for (const auto format : storage_formats) {
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
        // Nearly square cells: beyond them two sweeps of Jacobi are not positive definite.
        const TensorMesh<2> mesh(Axis(random_.widths(nx + 1, 0.3)), Axis(random_.widths(ny + 1, 0.3)));
        OperatorTerms terms;
        terms.reaction = 2;
        if (GetParam().in_float)
          check(Hierarchy<float>::assembled(ctx(), {mesh}, format, terms));
        else
          check(Hierarchy<double>::assembled(ctx(), {mesh}, format, terms));
      }
  }
  template <class T>
  [[nodiscard]] std::unique_ptr<CoarseSolver<T>> make(const Hierarchy<T>& hierarchy) {
    std::string name = GetParam().solver;
    return make_coarse_solver(ctx(), hierarchy, name, builtin_smoothers(), builtin_coarse_solvers());
  }
  /// b - A x is rounding.
  template <class T>
  void expect_solved(CoarseSolver<T>& bottom, const Hierarchy<T>& hierarchy) {
    const GridOperator<T>& a = hierarchy.finest();
    const auto b = test::random_vector<T>(ctx(), random_, a.shape());
    Field<T> x(ctx(), a.shape()), r(ctx(), a.shape());
    set(ctx(), std::numeric_limits<T>::quiet_NaN(), x.view());  // whatever it holds
    bottom.apply(ctx(), b.cview(), x.view());
    a.residual(ctx(), b.cview(), x.cview(), r.view());
    EXPECT_LE(norm2(ctx(), r.cview()), test::tolerance<T> * a.magnitude(ctx(), b.cview(), x.cview()));
  }
  test::Random random_{523};
};
INSTANTIATE_TEST_SUITE_P(EveryCoarseSolver, CoarseSolverContract, testing::ValuesIn(every_case()), case_name);

TEST_P(CoarseSolverContract, SolvesToRounding) {
  for_every_level([&](const auto& hierarchy) { expect_solved(*make(hierarchy), hierarchy); });
}

TEST_P(CoarseSolverContract, TakesOtherCoefficientsInTheMemoryThatItHas) {
  for_every_level([&]<class T>(Hierarchy<T> hierarchy) {
    if (hierarchy.finest().format() != StorageFormat::tensor) return;
    const auto bottom = make(hierarchy);
    const auto before = ctx().memory()->allocations.load();
    hierarchy.set_reaction(ctx(), 500);
    bottom->set_up(ctx(), hierarchy);
    EXPECT_EQ(ctx().memory()->allocations, before);
    expect_solved(*bottom, hierarchy);
  });
}

TEST_P(CoarseSolverContract, IsLinearAndSymmetric) {
  for_every_level([&]<class T>(const Hierarchy<T>& hierarchy) {
    const auto bottom = make(hierarchy);
    EXPECT_TRUE(bottom->is_constant());
    EXPECT_TRUE(bottom->is_symmetric());
    const GridLayout<2> shape = hierarchy.finest().shape();
    const auto r = test::random_vector<T>(ctx(), random_, shape), s = test::random_vector<T>(ctx(), random_, shape);
    Field<T> t(ctx(), shape), mr(ctx(), shape), ms(ctx(), shape), mt(ctx(), shape);
    copy<T, T>(ctx(), s.cview(), t.view());
    axpy<T, T>(ctx(), 3, r.cview(), t.view());
    bottom->apply(ctx(), r.cview(), mr.view());  // the Context's scratch of reductions grows in the first
    const auto before = ctx().memory()->allocations.load();
    bottom->apply(ctx(), s.cview(), ms.view());
    bottom->apply(ctx(), t.cview(), mt.view());
    EXPECT_EQ(ctx().memory()->allocations, before);
    const double size = norm2(ctx(), mr.cview()) * norm2(ctx(), s.cview());
    EXPECT_NEAR(dot(ctx(), mr.cview(), s.cview()), dot(ctx(), r.cview(), ms.cview()), 100 * test::tolerance<T> * size);
    const double all = norm2(ctx(), mt.cview());
    axpy<T, T>(ctx(), -3, mr.cview(), mt.view());
    axpy<T, T>(ctx(), -1, ms.cview(), mt.view());
    EXPECT_LE(norm2(ctx(), mt.cview()), 100 * test::tolerance<T> * all);
  });
}

// Others would divide by rounding.
TEST_P(CoarseSolverContract, SolvesSingularOperatorsWhereItSaysSo) {
  const auto free = [&](int n) {
    return Axis(random_.widths(n, 1)).with_boundaries(BoundaryType::neumann, BoundaryType::neumann);
  };
  const auto check = [&]<class T>(const Hierarchy<T>& hierarchy) {
    ASSERT_TRUE(hierarchy.is_singular());
    if (!builtin_coarse_solvers().find(GetParam().solver).any_operator) {
      EXPECT_THAT([&] { (void)make(hierarchy); }, ThrowsMessage<UsageError>(HasSubstr("singular")));
      return;
    }
    const GridLayout<2> shape = hierarchy.finest().shape();
    auto b = test::random_vector<T>(ctx(), random_, shape);
    const auto one = test::to_device<T>(ctx(), shape, test::Values(static_cast<std::size_t>(shape.nodes()), 1.0));
    const auto mean = [&](const Field<T>& v) {
      return dot(ctx(), v.cview(), one.cview()) / static_cast<double>(shape.nodes());
    };
    axpy<T, T>(ctx(), -mean(b), one.cview(), b.view());
    Field<T> x(ctx(), shape), r(ctx(), shape);
    make(hierarchy)->apply(ctx(), b.cview(), x.view());
    EXPECT_LE(std::abs(mean(x)), test::tolerance<T> * norm2(ctx(), x.cview()));
    hierarchy.finest().residual(ctx(), b.cview(), x.cview(), r.view());
    EXPECT_LE(norm2(ctx(), r.cview()), test::tolerance<T> * hierarchy.finest().magnitude(ctx(), b.cview(), x.cview()));
  };
  const TensorMesh<2> mesh(free(6), free(5));
  if (GetParam().in_float)
    check(Hierarchy<float>::assembled(ctx(), {mesh}, StorageFormat::symmetric));
  else
    check(Hierarchy<double>::assembled(ctx(), {mesh}, StorageFormat::symmetric));
}

/// z = 0: what a user might try first.
template <class T>
class Nothing final : public CoarseSolver<T> {
 public:
  Nothing(Context& /*ctx*/, const GridLayout<2>& /*shape*/, const CoarseSolverParams& /*params*/) {}
  void set_up(Context& /*ctx*/, const Hierarchy<T>& /*hierarchy*/) override {}
  void apply(Context& ctx, FieldView<const T> /*r*/, FieldView<T> z) override { set(ctx, T(0), z); }
  [[nodiscard]] bool waits() const override { return false; }
};

TEST(CoarseSolverRegistryTest, TakesACoarseSolverOfTheUsers) {
  Context ctx(Backend::cpu, 1);
  test::Random random(524);
  const TensorMesh<2> mesh(Axis(random.widths(16)), Axis(random.widths(16)));
  auto coarse_solvers = std::make_shared<CoarseSolverRegistry>(builtin_coarse_solvers());
  coarse_solvers->add<Nothing>("nothing", "z = 0");
  MultigridParams params;
  params.coarse_solvers = coarse_solvers;
  params.coarse = "nothing";
  const auto meshes = mesh_hierarchy(mesh);
  const std::vector<TensorMesh<2>> two(meshes.end() - 2, meshes.end());
  params.sweeps = 0;  // what is left of a cycle is the coarsest level's correction
  Multigrid<double> multigrid(ctx, two, StorageFormat::tensor, params);
  EXPECT_EQ(multigrid.coarse_solver(), "nothing");
  const auto r = test::random_vector<double>(ctx, random, mesh.unknowns());
  Field<double> z(ctx, mesh.unknowns());
  multigrid.apply(ctx, r.cview(), z.view());
  EXPECT_EQ(norm_max(ctx, z.cview()), 0);
  // A registry is a value: another is not changed.
  EXPECT_FALSE(builtin_coarse_solvers().entries().contains("nothing"));
}

TEST(CoarseSolverRegistryTest, UnknownNamesListTheKnownOnes) {
  Context ctx(Backend::cpu, 1);
  MultigridParams params;
  params.coarse = "lu";
  EXPECT_THAT(
      [&] {
        Multigrid<double>(ctx, mesh_hierarchy(uniform_mesh({7, 7})), StorageFormat::tensor, params);
      },
      ThrowsMessage<UsageError>(
          AllOf(HasSubstr("'lu'"), HasSubstr("direct"), HasSubstr("cg_adi"), HasSubstr("cg_jacobi"))));
  const auto registry = builtin_coarse_solvers();
  for (const auto& [name, entry] : registry.entries()) EXPECT_FALSE(entry.description.empty()) << name;
}

}  // namespace
