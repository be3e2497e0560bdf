// Deformed meshes: matrices against those of rectangles, and manufactured solutions.

#include <cmath>
#include <numbers>

#include <gmock/gmock.h>

#include <stratum/assembly/mapped_operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;

const ScalarFunction x_itself = [](const Point&p) { return p.x; }, y_itself = [](const Point&p) { return p.y; };

class MappedTest : public test::OnEveryBackend {
 protected:
  GridOperator<double> operator_on(const MappedMesh& mesh, const PoissonProblem& problem) {
    const auto k = cell_coefficients(ctx(), mesh, problem);
    const OperatorTerms terms = operator_terms(mesh, problem);
    return assemble_diffusion(ctx(), mesh, MappedCells(ctx(), mesh, k ? &*k : nullptr, terms.reaction), terms);
  }
  test::Random random_{2101};
};
INSTANTIATE_ON_EVERY_BACKEND(MappedTest);

TEST_P(MappedTest, OfTheIdentityMatricesLoadsAndErrorsAreThoseOfTheRectangle) {
  using enum BoundaryConditionType;
  const auto side = [](BoundaryConditionType kind) {
    BoundaryCondition condition;
    condition.kind = kind;
    if (kind == robin) condition.alpha = [](const Point& p) { return 1 + p.x + p.y * p.y; };
    if (kind != periodic) condition.value = [](const Point& p) { return std::cos(p.x) + p.y; };
    return condition;
  };
  const std::array<std::array<BoundaryConditionType, 4>, 6> mixtures{{{dirichlet, dirichlet, dirichlet, dirichlet},
                                                                      {neumann, dirichlet, robin, dirichlet},
                                                                      {robin, robin, dirichlet, robin},
                                                                      {neumann, neumann, neumann, neumann},
                                                                      {periodic, periodic, robin, dirichlet},
                                                                      {periodic, periodic, periodic, periodic}}};
  for (const auto& kinds : mixtures)
    for (const bool varies : {false, true}) {
      SCOPED_TRACE(testing::Message() << to_string(kinds[0]) << " " << to_string(kinds[1]) << " " << to_string(kinds[2])
                                      << " " << to_string(kinds[3]) << (varies ? ", K and c vary" : ""));
      PoissonProblem problem;
      problem.boundaries = {side(kinds[0]), side(kinds[1]), side(kinds[2]), side(kinds[3])};
      problem.rhs = [](const Point& p) { return std::exp(p.x) - p.y; };
      problem.exact = [](const Point& p) { return std::sin(p.x + 2 * p.y); };
      problem.reaction = varies ? 0.5 : 0;
      if (varies) {
        problem.diffusion = {ScalarFunction([](const Point& p) { return 2 + std::sin(p.x); }),
                             ScalarFunction([](const Point& p) { return std::sin(p.y - p.x) / 2; }),
                             ScalarFunction([](const Point& p) { return 3 - std::cos(p.y); })};
        problem.reaction_of_cells = ScalarFunction([](const Point& p) { return p.x * p.y; });
      }
      const auto rectangle =
          with_boundaries(TensorMesh<2>{Axis(random_.widths(9, 1)), Axis(random_.widths(6, 1))}, problem.boundaries);
      const auto same = mapped(ctx(), rectangle, x_itself, y_itself);
      const auto terms = operator_terms(rectangle, problem);
      const auto k = cell_coefficients(ctx(), rectangle, problem);
      const auto expected = k ? assemble_diffusion(ctx(), rectangle, *k, terms)
                              : assemble_operator<double>(ctx(), rectangle, StorageFormat::symmetric, terms);
      EXPECT_LT(
          test::largest_difference(test::entries(ctx(), operator_on(same, problem)), test::entries(ctx(), expected)),
          1e-12);

      const auto load = [&](const Geometry& mesh) {
        Field<double> b(ctx(), rectangle.unknowns());
        assemble_load(ctx(), mesh, problem, b);
        return test::to_host(ctx(), b);
      };
      EXPECT_LT(reference::relative_difference(load(same), load(rectangle)), 1e-12);
      const auto u = test::random_vector<double>(ctx(), random_, rectangle.unknowns());
      EXPECT_NEAR(*relative_l2_error(ctx(), same, problem, u), *relative_l2_error(ctx(), rectangle, problem, u), 1e-12);
      EXPECT_EQ(is_singular(ctx(), same, problem), is_singular(ctx(), rectangle, problem));
      const auto centred = [&](const Geometry& mesh) {
        auto v = test::to_device<double>(ctx(), rectangle.unknowns(), test::to_host(ctx(), u));
        subtract_integral_mean(ctx(), mesh, v);
        (void)make_compatible(ctx(), mesh, v);
        return test::to_host(ctx(), v);
      };
      EXPECT_LT(reference::relative_difference(centred(same), centred(rectangle)), 1e-12);
    }
}

TEST_P(MappedTest, ConstantsHaveNoEnergyAndTheMassIsTheArea) {
  PoissonProblem problem;
  for (BoundaryCondition* side :
       {&problem.boundaries.left, &problem.boundaries.right, &problem.boundaries.bottom, &problem.boundaries.top})
    side->kind = BoundaryConditionType::neumann;
  const TensorMesh<2> square = with_boundaries(TensorMesh<2>{uniform(1, 12), uniform(1, 7)}, problem.boundaries);
  const auto mesh = mapped(
      ctx(), square, [](const Point& p) { return p.x + 0.3 * p.y * p.y; },
      [](const Point& p) { return 2 * p.y + 0.1 * std::sin(4 * p.x); });
  double area = 0;
  for (int j = 0; j < 7; ++j)
    for (int i = 0; i < 12; ++i) area += mesh.cell(i, j).jacobian(0.5, 0.5);
  const auto total = [&](const PoissonProblem& of) {
    const auto a = operator_on(mesh, of);
    Field<double> ones(ctx(), a.shape()), y(ctx(), a.shape());
    set(ctx(), 1.0, ones.view());
    a.apply(ctx(), ones.cview(), y.view());
    return std::pair(dot(ctx(), ones.cview(), y.cview()), norm_max(ctx(), y.cview()));
  };
  EXPECT_LT(total(problem).second, 1e-13);
  problem.reaction = 3;
  EXPECT_NEAR(total(problem).first, 3 * area, 1e-12);
  problem.reaction = 0;
  for (BoundaryCondition* side : {&problem.boundaries.left, &problem.boundaries.bottom}) {
    side->kind = BoundaryConditionType::robin;
    side->alpha = [](const Point&) { return 5.0; };
  }
  double length = 0;
  for (int k = 0; k < 12; ++k) length += Geometry(mesh).measure_on_side({Direction::x, false}, k, 0.5);
  for (int k = 0; k < 7; ++k) length += Geometry(mesh).measure_on_side({Direction::y, false}, k, 0.5);
  EXPECT_GT(length, 3.04);  // longer than straight
  EXPECT_NEAR(total(problem).first, 5 * length, 1e-12);
}

TEST_P(MappedTest, BadInputIsRefused) {
  const TensorMesh<2> square{uniform(1, 4), uniform(1, 4)};
  const auto mesh = mapped(
      ctx(), square, [](const Point& p) { return p.x + p.y; }, y_itself);
  Field<double> b(ctx(), square.unknowns());
  EXPECT_THAT([&] { assemble_load(ctx(), mesh, {}, b); },
              ThrowsMessage<UsageError>(HasSubstr("a deformed mesh needs a right-hand side")));
  PoissonProblem problem;
  problem.rhs = [](const Point& p) { return p.to_right; };
  EXPECT_THAT([&] { assemble_load(ctx(), mesh, problem, b); },
              ThrowsMessage<UsageError>(HasSubstr("right-hand side is nan")));
  problem.diffusion.xx = ScalarFunction([](const Point& p) { return 1.5 - p.x; });
  EXPECT_THAT([&] { (void)cell_coefficients(ctx(), mesh, problem); },
              ThrowsMessage<UsageError>(HasSubstr("in cell (3, 2), around (1.5, 0.625)")));
  const CellCoefficients small = on_cells(ctx(), TensorMesh<2>{uniform(1, 2), uniform(1, 2)}, {}, {});
  EXPECT_THAT([&] { (void)MappedCells(ctx(), mesh, &small); },
              ThrowsMessage<UsageError>(HasSubstr("not of 4 x 4 cells")));
}

}  // namespace
