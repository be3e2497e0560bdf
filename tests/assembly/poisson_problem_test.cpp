#include <stratum/assembly/poisson_problem.hpp>

#include <cmath>

#include <stratum/assembly/operators.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"
#include "support/preconditioners.hpp"

namespace {

using namespace stratum;
using test::Values;

class PoissonProblemTest : public test::OnEveryBackend {
 protected:
  Field<double> load(const TensorMesh<2>& mesh, const PoissonProblem& problem) {
    Field<double> b(ctx(), mesh.unknowns());
    assemble_load(ctx(), mesh, problem, b);
    return b;
  }
  /// The discrete solution by elimination, with one step of refinement.
  Field<double> solve(const TensorMesh<2>& mesh, const PoissonProblem& problem) {
    const auto a = assemble_laplace<double>(ctx(), mesh, StorageFormat::tensor);
    const auto oracle = test::stencil_of(ctx(), a);
    const auto b = load(mesh, problem);
    Field<double> x(ctx(), mesh.unknowns()), r(ctx(), mesh.unknowns());
    test::solve_exactly<double>(ctx(), oracle, b.cview(), x.view());
    a.residual(ctx(), b.cview(), x.cview(), r.view());
    Field<double> c(ctx(), mesh.unknowns());
    test::solve_exactly<double>(ctx(), oracle, r.cview(), c.view());
    axpy(ctx(), 1.0, c.cview(), x.view());
    return x;
  }
};
INSTANTIATE_ON_EVERY_BACKEND(PoissonProblemTest);

// Goeddeke, Strzodka 2011, Table 1, double precision.
TEST_P(PoissonProblemTest, PublishedErrorsOnU1) {
  const std::pair<int, double> published[] = {
      {2, 7.1663606e-2}, {3, 1.7802586e-2}, {4, 4.4429161e-3}, {5, 1.1102363e-3}, {6, 2.7752805e-4}};
  for (const auto& [level, error] : published) {
    const auto mesh = make_mesh(mesh_family("U1"), level);
    const auto x = solve(mesh, {});
    EXPECT_NEAR(relative_l2_error(ctx(), mesh, {}, x).value() / error, 1, 1e-6) << "level " << level;
  }
}

// Integrals of the quartic f phi_i, by the antiderivatives of its monomials on both sides of the node.
TEST_P(PoissonProblemTest, LoadsAreExact) {
  test::Random random(51);
  const Values hx = random.widths(9, 1.5), hy = random.widths(7, 1.5);
  const TensorMesh<2> mesh{Axis(hx), Axis(hy)};
  // integral of g phi_i for g(s) = 1 and g(s) = s (length - s), with phi_i rising from p to q and falling to r
  const auto moment = [](long double p, long double q, long double r, long double length, bool parabola) {
    const auto side = [&](long double from, long double to) {  // weight (s - from) / (to - from) between from and to
      const auto integral = [&](int power) {                   // of s^power (s - from)
        const auto antiderivative = [&](long double s) {
          return std::pow(s, power + 2) / (power + 2) - from * std::pow(s, power + 1) / (power + 1);
        };
        return (antiderivative(to) - antiderivative(from)) / (to - from);
      };
      return parabola ? length * integral(1) - integral(2) : integral(0);
    };
    return side(p, q) - side(r, q);
  };
  const auto& x = mesh.x().from_begin();
  const auto& y = mesh.y().from_begin();
  const long double a = mesh.x().length(), b = mesh.y().length();
  const Values found = test::to_host(ctx(), load(mesh, {}));
  for (std::size_t j = 1; j + 1 < y.size(); ++j)
    for (std::size_t i = 1; i + 1 < x.size(); ++i) {
      const auto mx = [&](bool parabola) { return moment(x[i - 1], x[i], x[i + 1], a, parabola); };
      const auto my = [&](bool parabola) { return moment(y[j - 1], y[j], y[j + 1], b, parabola); };
      const auto expected = static_cast<double>(2 * (mx(false) * my(true) + mx(true) * my(false)));
      EXPECT_NEAR(found[(j - 1) * 8 + i - 1], expected, 1e-13 * expected) << i << ", " << j;
    }
}

TEST_P(PoissonProblemTest, AFunctionOfTheUsersGivesTheSameLoads) {
  for (const char* name : {"U3", "A1", "A3"}) {
    const auto mesh = make_mesh(mesh_family(name), 5);
    PoissonProblem problem;
    problem.rhs = [](const Point& p) { return 2 * (p.y * p.to_top + p.x * p.to_right); };
    EXPECT_LT(
        reference::relative_difference(test::to_host(ctx(), load(mesh, problem)), test::to_host(ctx(), load(mesh, {}))),
        1e-13)
        << name;
  }
}

TEST_P(PoissonProblemTest, PointsKnowTheirDistancesToAllSides) {
  const auto mesh = make_mesh(mesh_family("A5"), 8);
  PoissonProblem problem;
  problem.exact = [](const Point& p) {
    if (!(p.x > 0 && p.y > 0 && p.to_right > 0 && p.to_top > 0)) throw std::logic_error("a distance vanished");
    return 1.0;
  };
  Field<double> u(ctx(), mesh.unknowns());
  problem.boundary = [](const Point&) { return 0.0; };
  EXPECT_NEAR(relative_l2_error(ctx(), mesh, problem, u).value(), 1, 1e-12);
}

// Bilinear functions lie in the space: with f = 0 and u on the boundary they are the discrete solution.
TEST_P(PoissonProblemTest, DirichletDataOfABilinearFunctionAreReproduced) {
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 0.0; };
  problem.boundary = [](const Point& p) { return 1 + 2 * p.x + 3 * p.y + p.x * p.y; };
  problem.exact = problem.boundary;
  for (const char* name : {"U1", "U2", "A1", "A2"}) {
    SCOPED_TRACE(name);
    const auto mesh = make_mesh(mesh_family(name), 4);
    const auto x = solve(mesh, problem);
    const Values expected = at_nodes(ctx(), mesh, problem.boundary);
    EXPECT_LT(reference::relative_difference(nodal_solution(ctx(), mesh, problem, x), expected), 1e-11);
    EXPECT_LT(relative_l2_error(ctx(), mesh, problem, x).value(), 1e-11);
  }
}

TEST_P(PoissonProblemTest, SmoothDirichletProblemConvergesAtSecondOrder) {
  PoissonProblem problem;  // harmonic
  problem.rhs = [](const Point&) { return 0.0; };
  problem.exact = [](const Point& p) { return std::exp(p.x) * std::cos(p.y); };
  double previous = 0;
  for (const int level : {3, 4, 5}) {
    const auto mesh = make_mesh(mesh_family("A1"), level);
    const double error = relative_l2_error(ctx(), mesh, problem, solve(mesh, problem)).value();
    if (previous > 0) {
      EXPECT_NEAR(previous / error, 4, 0.2);
    }
    previous = error;
  }
}

TEST_P(PoissonProblemTest, ErrorIsUnknownWithoutAnExactSolution) {
  const auto mesh = make_mesh(mesh_family("U1"), 2);
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 1.0; };
  EXPECT_FALSE(problem.has_exact());
  Field<double> u(ctx(), mesh.unknowns());
  EXPECT_EQ(relative_l2_error(ctx(), mesh, problem, u), std::nullopt);
  EXPECT_THROW((void)exact_function(problem), UsageError);
  problem = {};
  problem.boundary = [](const Point&) { return 1.0; };
  EXPECT_FALSE(problem.has_exact());
}

TEST_P(PoissonProblemTest, AZeroExactSolutionGivesTheAbsoluteNorm) {
  const auto mesh = make_mesh(mesh_family("U1"), 3);
  PoissonProblem problem;
  problem.rhs = problem.exact = [](const Point&) { return 0.0; };
  Field<double> u(ctx(), mesh.unknowns());
  EXPECT_EQ(relative_l2_error(ctx(), mesh, problem, u).value(), 0);
  set(ctx(), 1.0, u.view());
  const double error = relative_l2_error(ctx(), mesh, problem, u).value();
  EXPECT_GT(error, 0.5);
  EXPECT_LT(error, 1);
}

TEST_P(PoissonProblemTest, ValuesThatAreNotFiniteAreRefused) {
  const auto mesh = make_mesh(mesh_family("U1"), 3);
  Field<double> b(ctx(), mesh.unknowns());
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    PoissonProblem problem;
    problem.rhs = [=](const Point& p) { return p.x > 0.5 && p.y > 0.5 ? bad : 1.0; };
    EXPECT_THROW(assemble_load(ctx(), mesh, problem, b), UsageError) << "right-hand side " << bad;
    problem.rhs = [](const Point&) { return 0.0; };
    problem.boundary = [=](const Point& p) { return p.x == 0 ? bad : 1.0; };
    EXPECT_THROW(assemble_load(ctx(), mesh, problem, b), UsageError) << "boundary " << bad;
    problem.boundary = [](const Point&) { return 0.0; };
    problem.exact = [=](const Point& p) { return p.x > 0.5 ? bad : 1.0; };
    EXPECT_THROW((void)relative_l2_error(ctx(), mesh, problem, b), UsageError) << "exact " << bad;
  }
}

TEST_P(PoissonProblemTest, ALoadOfTheWrongShapeIsRefused) {
  Field<double> b(ctx(), test::unknowns(7, 6));
  EXPECT_THROW(assemble_load(ctx(), make_mesh(mesh_family("U1"), 3), {}, b), UsageError);
}

TEST(PoissonProblemThreads, TheNumberOfThreadsDoesNotChangeABit) {
  PoissonProblem problem;
  problem.rhs = [](const Point& p) { return std::sin(7 * p.x) * std::exp(p.y); };
  problem.exact = problem.rhs;
  const auto mesh = make_mesh(mesh_family("A2"), 6);
  Values expected;
  double expected_error = 0;
  for (const int threads : {1, 2, 3, 7}) {
    Context ctx(Backend::cpu, threads);
    Field<double> b(ctx, mesh.unknowns());
    assemble_load(ctx, mesh, problem, b);
    const double error = relative_l2_error(ctx, mesh, problem, b).value();
    if (threads == 1) {
      expected = test::to_host(ctx, b);
      expected_error = error;
    }
    EXPECT_EQ(test::to_host(ctx, b), expected);
    EXPECT_EQ(error, expected_error);
  }
}

}  // namespace
