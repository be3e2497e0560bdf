// Boundaries of every kind, reaction and coefficients along boundaries, against a dense assembly cell by cell.

#include <stratum/assembly/poisson_problem.hpp>

#include <array>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;
using testing::ThrowsMessage;

double alpha_of(const Point& p) { return 1 + p.x * p.x + 2 * p.y; }

BoundaryCondition side(BoundaryConditionType kind, bool varies = false) {
  BoundaryCondition condition;
  condition.kind = kind;
  if (kind == BoundaryConditionType::robin) {
    condition.alpha = varies ? ScalarFunction(alpha_of) : ScalarFunction([](const Point&) { return 2.5; });
  }
  return condition;
}

/// Rows and columns of all nodes, side after side and cell after cell; then the unknowns are picked.
class DenseAssembly {
 public:
  DenseAssembly(const TensorMesh<2>& mesh, const PoissonProblem& problem) : mesh_(mesh) {
    const Axis &x = mesh.x(), &y = mesh.y();
    for (int j = 0; j < y.size(); ++j)
      for (int i = 0; i < x.size(); ++i) add_cell(i, j, problem.reaction);
    const BoundaryConditions& s = problem.boundaries;
    for (int j = 0; j < y.size(); ++j) {
      add_edge(s.left, {0, j}, {0, j + 1}, y, j);
      add_edge(s.right, {x.size(), j}, {x.size(), j + 1}, y, j);
    }
    for (int i = 0; i < x.size(); ++i) {
      add_edge(s.bottom, {i, 0}, {i + 1, 0}, x, i);
      add_edge(s.top, {i, y.size()}, {i + 1, y.size()}, x, i);
    }
  }
  /// A x of the unknowns.
  [[nodiscard]] Values apply(const Values& values) const {
    Values y(values.size(), 0.0);
    for (const auto& [row, column, value] : entries_) y[row] += value * values[column];
    return y;
  }
  /// |A| |x|
  [[nodiscard]] Values sizes(const Values& values) const {
    Values y(values.size(), 0.0);
    for (const auto& [row, column, value] : entries_) y[row] += std::abs(value * values[column]);
    return y;
  }

 private:
  struct Entry {
    std::size_t row, column;
    double value;
  };
  static int unknown(const Axis& line, int node) {
    if (line.is_periodic()) return node % line.size();
    const int i = node - line.first_unknown();
    return i < line.unknowns() ? i : -1;
  }
  void add(std::array<int, 2> p, std::array<int, 2> q, double value) {
    const int i = unknown(mesh_.x(), p[0]), j = unknown(mesh_.y(), p[1]);
    const int k = unknown(mesh_.x(), q[0]), l = unknown(mesh_.y(), q[1]);
    if (i < 0 || j < 0 || k < 0 || l < 0) return;
    const auto nx = static_cast<std::size_t>(mesh_.unknowns().nx);
    entries_.push_back({static_cast<std::size_t>(j) * nx + static_cast<std::size_t>(i),
                        static_cast<std::size_t>(l) * nx + static_cast<std::size_t>(k), value});
  }
  void add_cell(int i, int j, double c) {
    const double hx = mesh_.x().widths()[static_cast<std::size_t>(i)],
                 hy = mesh_.y().widths()[static_cast<std::size_t>(j)];
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b) {
        const bool same_x = a % 2 == b % 2, same_y = a / 2 == b / 2;
        const double kx = (same_x ? 1 : -1) / hx, ky = (same_y ? 1 : -1) / hy;
        const double mx = hx / (same_x ? 3 : 6), my = hy / (same_y ? 3 : 6);
        add({i + a % 2, j + a / 2}, {i + b % 2, j + b / 2}, kx * my + mx * ky + c * mx * my);
      }
  }
  void add_edge(const BoundaryCondition& condition, std::array<int, 2> p, std::array<int, 2> q, const Axis& along,
                int i) {
    if (condition.kind != BoundaryConditionType::robin) return;
    // The 3-point Gauss rule: exact for the polynomials of the test.
    const double h = along.widths()[static_cast<std::size_t>(i)];
    const auto at = [&](double t) {
      const auto between = [&](const Axis& line, int from, int to) {
        const double a = line.from_begin()[static_cast<std::size_t>(from)],
                     b = line.from_begin()[static_cast<std::size_t>(to)];
        return (1 - t) * a + t * b;
      };
      const double x = between(mesh_.x(), p[0], q[0]), y = between(mesh_.y(), p[1], q[1]);
      return condition.alpha({x, y, mesh_.x().length() - x, mesh_.y().length() - y});
    };
    double first = 0, both = 0, second = 0;
    const double off = std::sqrt(0.15);
    for (const auto& [t, weight] : {std::pair{0.5 - off, 5.0 / 18}, {0.5, 8.0 / 18}, {0.5 + off, 5.0 / 18}}) {
      const double value = weight * h * at(t);
      first += value * (1 - t) * (1 - t);
      both += value * t * (1 - t);
      second += value * t * t;
    }
    add(p, p, first);
    add(p, q, both);
    add(q, p, both);
    add(q, q, second);
  }
  const TensorMesh<2>& mesh_;
  std::vector<Entry> entries_;
};

class BoundariesTest : public test::OnEveryBackend {
 protected:
  test::Random random_{301};
};
INSTANTIATE_ON_EVERY_BACKEND(BoundariesTest);

using enum BoundaryConditionType;
constexpr std::array<std::array<BoundaryConditionType, 4>, 9> mixtures{{{dirichlet, dirichlet, dirichlet, dirichlet},
                                                                        {neumann, dirichlet, dirichlet, dirichlet},
                                                                        {dirichlet, robin, neumann, dirichlet},
                                                                        {robin, robin, robin, robin},
                                                                        {neumann, neumann, neumann, neumann},
                                                                        {periodic, periodic, dirichlet, robin},
                                                                        {neumann, robin, periodic, periodic},
                                                                        {periodic, periodic, periodic, periodic},
                                                                        {dirichlet, neumann, periodic, periodic}}};

TEST_P(BoundariesTest, OperatorsAreThoseOfADenseAssemblyInEveryForm) {
  for (const auto& kinds : mixtures)
    for (const bool varies : {false, true})
      for (const double c : {0.0, 7.0})
        for (const auto& [nx, ny] : {std::pair{7, 5}, {4, 9}, {40, 33}})
          for (const auto format : test::every_storage_format) {
            PoissonProblem problem;
            problem.boundaries = {side(kinds[0], varies), side(kinds[1], varies), side(kinds[2], varies),
                                  side(kinds[3], varies)};
            problem.reaction = c;
            const auto mesh =
                with_boundaries({Axis(random_.widths(nx, 2)), Axis(random_.widths(ny, 2))}, problem.boundaries);
            const auto terms = operator_terms(mesh, problem);
            SCOPED_TRACE(testing::Message() << to_string(kinds[0]) << " " << to_string(kinds[1]) << " "
                                            << to_string(kinds[2]) << " " << to_string(kinds[3]) << ", c = " << c
                                            << ", " << nx << " x " << ny << ", " << to_string(format));
            if (!traits(format).has_bands && terms.varies()) {
              EXPECT_THROW((void)assemble_operator<double>(ctx(), mesh, format, terms), UsageError);
              continue;
            }
            const auto a = assemble_operator<double>(ctx(), mesh, format, terms);
            ASSERT_EQ(a.shape(), mesh.unknowns());
            const DenseAssembly dense(mesh, problem);
            const Values values = random_.values(static_cast<std::size_t>(a.shape().nodes()));
            const auto x = test::to_device<double>(ctx(), a.shape(), values);
            Field<double> y(ctx(), a.shape()), zero(ctx(), a.shape());
            const Values expected = dense.apply(values), size = dense.sizes(values);
            a.apply(ctx(), x.cview(), y.view());
            Values found = test::to_host(ctx(), y);
            for (std::size_t k = 0; k < found.size(); ++k) ASSERT_NEAR(found[k], expected[k], 1e-13 * size[k]) << k;
            a.residual(ctx(), zero.cview(), x.cview(), y.view());
            found = test::to_host(ctx(), y);
            for (std::size_t k = 0; k < found.size(); ++k) ASSERT_NEAR(found[k], -expected[k], 1e-13 * size[k]) << k;
          }
}

// u is bilinear on every cell: the discrete problem has it for a solution, whatever the boundaries.
TEST_P(BoundariesTest, LoadsHaveABilinearSolution) {
  const auto u = [](const Point& p) { return 3 + 2 * p.x - p.y + 0.5 * p.x * p.y; };
  const auto ux = [](const Point& p) { return 2 + 0.5 * p.y; };
  const auto uy = [](const Point& p) { return -1 + 0.5 * p.x; };
  for (const auto& kinds : mixtures) {
    if (kinds[0] == periodic || kinds[2] == periodic) continue;
    for (const bool varies : {false, true})
      for (const double c : {0.0, 3.0}) {
        PoissonProblem problem;
        problem.boundaries = {side(kinds[0], varies), side(kinds[1], varies), side(kinds[2], varies),
                              side(kinds[3], varies)};
        problem.reaction = c;
        problem.rhs = [=](const Point& p) { return c * u(p); };
        const auto set = [&](BoundaryCondition& s, const ScalarFunction& flux) {
          if (s.kind == dirichlet)
            s.value = u;
          else
            s.value = [=](const Point& p) { return flux(p) + (s.kind == robin ? s.alpha(p) * u(p) : 0); };
        };
        set(problem.boundaries.left, [=](const Point& p) { return -ux(p); });
        set(problem.boundaries.right, ux);
        set(problem.boundaries.bottom, [=](const Point& p) { return -uy(p); });
        set(problem.boundaries.top, uy);
        const auto mesh = with_boundaries({Axis(random_.widths(9, 2)), Axis(random_.widths(6, 2))}, problem.boundaries);
        SCOPED_TRACE(testing::Message() << to_string(kinds[0]) << " " << to_string(kinds[1]) << " "
                                        << to_string(kinds[2]) << " " << to_string(kinds[3]) << ", c = " << c);
        const auto a = assemble_operator<double>(ctx(), mesh, StorageFormat::symmetric, operator_terms(mesh, problem));
        Field<double> b(ctx(), mesh.unknowns()), r(ctx(), mesh.unknowns());
        assemble_load(ctx(), mesh, problem, b);
        Values exact;
        for (int j = 0; j < mesh.unknowns().ny; ++j)
          for (int i = 0; i < mesh.unknowns().nx; ++i) {
            const auto p = static_cast<std::size_t>(i + mesh.x().first_unknown());
            const auto q = static_cast<std::size_t>(j + mesh.y().first_unknown());
            exact.push_back(u({mesh.x().from_begin()[p], mesh.y().from_begin()[q], 0, 0}));
          }
        const auto x = test::to_device<double>(ctx(), mesh.unknowns(), exact);
        a.residual(ctx(), b.cview(), x.cview(), r.view());
        EXPECT_LT(norm2(ctx(), r.cview()), 1e-12 * a.magnitude(ctx(), b.cview(), x.cview()));
        if (kinds[0] == dirichlet || c > 0 || kinds[1] == dirichlet) {
          problem.exact = u;
          EXPECT_LT(*relative_l2_error(ctx(), mesh, problem, x), 1e-12);
        }
      }
  }
}

/// Where boundary values meet a seam, either direction's nodes there are one.
TEST_P(BoundariesTest, BoundaryValuesBesideAPeriodicSeam) {
  for (const bool in_x : {true, false}) {
    PoissonProblem problem;
    problem.rhs = [](const Point&) { return 0.0; };
    problem.boundary = [](const Point&) { return 1.0; };
    BoundaryConditions& s = problem.boundaries;
    (in_x ? s.left : s.bottom).kind = (in_x ? s.right : s.top).kind = periodic;
    const auto mesh = with_boundaries({Axis({0.3, 0.2, 0.4, 0.1}), Axis({0.1, 0.5, 0.4})}, s);
    const auto a = assemble_operator<double>(ctx(), mesh, StorageFormat::tensor, {});
    Field<double> b(ctx(), mesh.unknowns()), ones(ctx(), mesh.unknowns()), r(ctx(), mesh.unknowns());
    set(ctx(), 1.0, ones.view());
    assemble_load(ctx(), mesh, problem, b);
    a.residual(ctx(), b.cview(), ones.cview(), r.view());
    EXPECT_LT(norm2(ctx(), r.cview()), 1e-13) << in_x;
  }
}

TEST(BoundaryConditions, WhatContradictsItselfIsRefused) {
  const TensorMesh<2> mesh{Axis(std::vector<double>(5, 0.2)), Axis(std::vector<double>(4, 0.25))};
  PoissonProblem problem;
  problem.boundaries.left = side(periodic);
  EXPECT_THAT([&] { (void)with_boundaries(mesh, problem.boundaries); },
              ThrowsMessage<UsageError>(HasSubstr("left and right boundaries are periodic and dirichlet")));
  problem.boundaries.left = side(robin);
  problem.boundaries.left.alpha = [](const Point& p) { return p.y - 0.5; };
  EXPECT_THAT([&] { (void)operator_terms(mesh, problem); }, ThrowsMessage<UsageError>(HasSubstr("not negative")));
  problem.boundaries.left = {};
  problem.reaction = -1;
  EXPECT_THAT([&] { (void)operator_terms(mesh, problem); }, ThrowsMessage<UsageError>(HasSubstr("not -1")));
  Context ctx(Backend::cpu, 1);
  OperatorTerms terms;
  terms.left.constant = 1;
  EXPECT_THAT([&] { (void)assemble_operator<double>(ctx, mesh, StorageFormat::tensor, terms); },
              ThrowsMessage<UsageError>(HasSubstr("the left boundary is dirichlet")));
  problem.reaction = 0;
  problem.boundaries.left = side(neumann);
  Field<double> b(ctx, mesh.unknowns());
  EXPECT_THAT([&] { assemble_load(ctx, mesh, problem, b); }, ThrowsMessage<UsageError>(HasSubstr("with_boundaries")));
}

TEST(BoundaryConditions, OnlyWhatHoldsNothingIsSingular) {
  const auto all = [](BoundaryConditionType kind) {
    PoissonProblem problem;
    problem.boundaries = {side(kind), side(kind), side(kind), side(kind)};
    return problem;
  };
  const TensorMesh<2> mesh{Axis(std::vector<double>(5, 0.2)), Axis(std::vector<double>(4, 0.25))};
  const auto singular = [&](const PoissonProblem& problem) {
    const auto own = with_boundaries(mesh, problem.boundaries);
    return is_singular(own, operator_terms(own, problem));
  };
  EXPECT_TRUE(singular(all(neumann)));
  EXPECT_TRUE(singular(all(periodic)));
  EXPECT_FALSE(singular(all(robin)));
  EXPECT_FALSE(singular(all(dirichlet)));
  auto problem = all(neumann);
  problem.boundaries.top = side(dirichlet);
  EXPECT_FALSE(singular(problem));
  problem = all(neumann);
  problem.reaction = 1e-9;
  EXPECT_FALSE(singular(problem));
  problem = all(neumann);
  problem.boundaries.left.kind = robin;
  problem.boundaries.left.alpha = [](const Point&) { return 0.0; };
  EXPECT_TRUE(singular(problem)) << "alpha = 0 is a Neumann boundary";
}

TEST(BoundaryConditions, IncompatibleLoadsAreMeasuredAndMended) {
  Context ctx(Backend::cpu, 1);
  PoissonProblem problem;
  problem.boundaries = {side(neumann), side(neumann), side(neumann), side(neumann)};
  problem.rhs = [](const Point& p) { return 1 + p.x; };
  const auto mesh = with_boundaries({Axis(std::vector<double>(5, 0.2)), Axis({0.5, 1e-6, 0.5})}, problem.boundaries);
  Field<double> b(ctx, mesh.unknowns());
  assemble_load(ctx, mesh, problem, b);
  const auto found = make_compatible(ctx, mesh, b);
  EXPECT_NEAR(found.sum, 1.5 * mesh.y().length(), 1e-12);
  EXPECT_FALSE(found.holds());
  EXPECT_TRUE(make_compatible(ctx, mesh, b).holds());
  problem.rhs = [](const Point& p) { return 1 + p.x - 1.5; };
  Field<double> projected(ctx, mesh.unknowns());
  assemble_load(ctx, mesh, problem, projected);
  const Values one = test::to_host(ctx, b), other = test::to_host(ctx, projected);
  for (std::size_t k = 0; k < one.size(); ++k) EXPECT_NEAR(one[k], other[k], 1e-15) << "a constant of f's";
}

TEST(BoundaryConditions, NothingIsLeftOfAConstantLoad) {
  Context ctx(Backend::cpu, 2);
  PoissonProblem problem;
  problem.boundaries = {side(neumann), side(neumann), side(neumann), side(neumann)};
  const TensorMesh<2> even{bisected(1, 6), Axis(std::vector<double>(77, 1.0 / 77))};
  const TensorMesh<2> thin{bisected(2, 6, ThinSide::last, 0.02), bisected(1, 6, ThinSide::first, 0.1)};
  for (const auto& plain : {even, thin}) {
    const TensorMesh<2> mesh = with_boundaries(plain, problem.boundaries);
    const MappedMesh sheared = mapped(
        ctx, mesh, [](const Point& p) { return p.x + p.y / 3; }, [](const Point& p) { return p.y; });
    for (const Geometry& geometry : {Geometry(mesh), Geometry(sheared)}) {
      Field<double> b(ctx, mesh.unknowns());
      const auto largest_left = [&](const ScalarFunction& f) {
        problem.rhs = f;
        assemble_load(ctx, geometry, problem, b);
        (void)make_compatible(ctx, geometry, b);
        return norm_max(ctx, b.cview());
      };
      EXPECT_EQ(largest_left([](const Point&) { return -0.3; }), 0);
      EXPECT_EQ(largest_left([](const Point& p) { return std::pow(std::sin(p.x), 2) + std::pow(std::cos(p.x), 2); }),
                0);
      // Small beside the constant, but no rounding; and compatible beside what there is.
      EXPECT_GT(largest_left([](const Point& p) { return 1e9 + p.x; }), 0);
      const auto left = test::to_host(ctx, b);
      EXPECT_NEAR(static_cast<double>(std::accumulate(left.begin(), left.end(), 0.0L)), 0,
                  1e-12 * norm2(ctx, b.cview()));
    }
  }
}

TEST(BoundaryConditions, CornersHaveTheLeftAndRightSidesValues) {
  Context ctx(Backend::cpu, 1);
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 0.0; };
  problem.boundaries.left.value = [](const Point&) { return 2.0; };
  problem.boundaries.top.value = [](const Point&) { return 5.0; };
  problem.boundaries.right = side(neumann);
  const auto mesh = with_boundaries({Axis({1, 1}), Axis({1, 1})}, problem.boundaries);
  Field<double> u(ctx, mesh.unknowns());
  const auto values = nodal_solution(ctx, mesh, problem, u);
  EXPECT_THAT(values, testing::ElementsAre(2, 0, 0, 2, 0, 0, 2, 5, 5));
  const auto gap = largest_corner_gap(mesh, problem);
  EXPECT_EQ(gap.gap, 3);
  EXPECT_EQ(gap.x, 0);
  EXPECT_EQ(gap.y, 2);
}

// A rectangle elsewhere: functions see its coordinates, and nothing but their rounding changes.
TEST(Origin, MovesTheProblem) {
  Context ctx(Backend::cpu, 2);
  constexpr double x0 = -3, y0 = 2;
  const TensorMesh<2> here{bisected(2, 4, ThinSide::last, 0.3), bisected(1, 3, ThinSide::first, 0.5)};
  const TensorMesh<2> there{here.x().starting_at(x0), here.y().starting_at(y0)};
  const auto problem = [](double x, double y) {
    const auto moved = [=](auto f) { return ScalarFunction([=](const Point& p) { return f(p.x - x, p.y - y); }); };
    PoissonProblem of;
    of.rhs = moved([](double s, double t) { return std::exp(s) * (1 + t); });
    of.exact = moved([](double s, double t) { return std::sin(s + 2 * t); });
    of.diffusion.xx = moved([](double s, double t) { return 1 + s * t; });
    of.boundaries.right.kind = BoundaryConditionType::robin;
    of.boundaries.right.alpha = moved([](double s, double t) { return s + 3 * t; });
    of.boundaries.right.value = moved([](double s, double t) { return s - t; });
    of.boundaries.top.kind = BoundaryConditionType::neumann;
    of.boundaries.top.value = moved([](double s, double t) { return s * t; });
    return of;
  };
  const PoissonProblem at_zero = problem(0, 0), moved = problem(x0, y0);
  const auto solution = [&](const TensorMesh<2>& plain, const PoissonProblem& of) {
    const auto mesh = with_boundaries(plain, of.boundaries);
    Field<double> b(ctx, mesh.unknowns());
    assemble_load(ctx, mesh, of, b);
    const auto cells = cell_coefficients(ctx, mesh, of);
    const auto a = assemble_diffusion(ctx, mesh, *cells, operator_terms(mesh, of));
    Field<double> ab(ctx, mesh.unknowns()), given(ctx, mesh.unknowns());
    a.apply(ctx, b.cview(), ab.view());
    // With coefficients that are at hand the bits are those of evaluating them.
    assemble_load(ctx, mesh, of, given, &*cells);
    EXPECT_EQ(test::to_host(ctx, given), test::to_host(ctx, b));
    EXPECT_EQ(relative_l2_error(ctx, mesh, of, b), relative_l2_error(ctx, mesh, of, b, &*cells));
    return std::tuple{test::to_host(ctx, b), test::to_host(ctx, ab), *relative_l2_error(ctx, mesh, of, b)};
  };
  const auto [b, ab, error] = solution(here, at_zero);
  const auto [b_moved, ab_moved, error_moved] = solution(there, moved);
  EXPECT_LT(reference::relative_difference(b_moved, b), 1e-14);
  EXPECT_LT(reference::relative_difference(ab_moved, ab), 1e-14);
  EXPECT_NEAR(error_moved, error, 1e-13 * error);
}

TEST(Origin, DistancesToSidesStayAccurate) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<2> here{bisected(1, 9, ThinSide::last, 0.02), bisected(1, 9, ThinSide::first, 0.02)};
  const TensorMesh<2> there{here.x().starting_at(1e6), here.y().starting_at(-7)};
  PoissonProblem by_distances;
  by_distances.rhs = [](const Point& p) { return 1 / p.to_right + p.to_left * p.to_top / p.to_bottom; };
  for (const PoissonProblem& problem : {PoissonProblem{}, by_distances}) {
    Field<double> b(ctx, here.unknowns()), moved(ctx, here.unknowns());
    assemble_load(ctx, here, problem, b);
    assemble_load(ctx, there, problem, moved);
    EXPECT_EQ(test::to_host(ctx, b), test::to_host(ctx, moved));
    EXPECT_EQ(relative_l2_error(ctx, here, problem, b), relative_l2_error(ctx, there, problem, b));
  }
}

}  // namespace
