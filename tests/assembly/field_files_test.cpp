// Numbers of files as functions of a mesh's points.

#include <stratum/assembly/field_files.hpp>

#include <cmath>
#include <numbers>

#include <gmock/gmock.h>

#include <stratum/assembly/coefficients.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;
using On = FileValues::On;

/// f at the nodes of a mesh, as a file has them.
template <class F>
FileValues at_nodes_of(const TensorMesh<2>& mesh, const F& f, On on = On::nodes) {
  FileValues numbers;
  numbers.on = on;
  numbers.columns = mesh.x().size() + 1;
  numbers.rows = mesh.y().size() + 1;
  numbers.from = "f.npy";
  auto& values = numbers.components.emplace_back();
  const Geometry geometry(mesh);
  for (int j = 0; j < numbers.rows; ++j)
    for (int i = 0; i < numbers.columns; ++i) values.push_back(f(geometry.node(i, j)));
  return numbers;
}

FileValues rows_of(int columns, int rows, std::vector<double> values, On on = On::unsaid) {
  FileValues numbers;
  numbers.on = on;
  numbers.columns = columns;
  numbers.rows = rows;
  numbers.components = {std::move(values)};
  numbers.from = "f.csv";
  return numbers;
}

TEST(FieldFiles, NumbersOnNodesAreBilinearInCoordinatesOnEveryFinerMesh) {
  // A3's refinement halves no interval at its thin ends, where x and a - x differ in their digits.
  const auto family = mesh_family("A3");
  const TensorMesh<2> file_mesh = make_mesh(family, 3);
  const auto f = [](const Point& p) { return 3 - 2 * p.to_left + p.to_bottom + 5 * p.to_left * p.to_bottom; };
  const auto near_corner = [](const Point& p) { return p.to_right * p.to_bottom; };
  for (const int level : {3, 4, 7}) {
    const TensorMesh<2> mesh = make_mesh(family, level);
    const ScalarFunction read = function_of(at_nodes_of(file_mesh, f), file_mesh),
                         thin = function_of(at_nodes_of(file_mesh, near_corner), file_mesh);
    const Geometry geometry(mesh);
    for (const int j : {0, 1, mesh.y().size() / 2, mesh.y().size() - 1})
      for (const int i : {0, mesh.x().size() / 3, mesh.x().size() - 2, mesh.x().size() - 1})
        for (const double t : {0.0, 0.07, 0.5, 1.0}) {
          const Point p = geometry.cell(i, j).at(t, 1 - t);
          EXPECT_NEAR(read(p), f(p), 1e-13) << level << ' ' << i << ' ' << j << ' ' << t;
          EXPECT_NEAR(thin(p), near_corner(p), 1e-12 * near_corner(p)) << level << ' ' << i << ' ' << j << ' ' << t;
        }
  }
}

TEST(FieldFiles, NumbersOnCellsAreThoseOfTheCellAndMeansBetween) {
  const TensorMesh<2> mesh{Axis({1, 2, 4, 1}), Axis({1, 3})};
  const ScalarFunction f = function_of(rows_of(2, 2, {1, 2, 4, 8}, On::cells), mesh);
  const Geometry geometry(mesh);
  const auto at = [&](int i, int j, double t, double s) { return f(geometry.cell(i, j).at(t, s)); };
  EXPECT_EQ(at(0, 0, 0.5, 0.5), 1);
  EXPECT_EQ(at(1, 0, 0.99, 0.01), 1);
  EXPECT_EQ(at(2, 0, 0.01, 0.5), 2);
  EXPECT_EQ(at(3, 1, 1, 1), 8);
  EXPECT_EQ(at(1, 1, 0.5, 0), 2.5);
  EXPECT_EQ(f(geometry.node(2, 1)), 3.75);
  EXPECT_EQ(f(geometry.node(2, 0)), 1.5);
  EXPECT_EQ(f(geometry.node(1, 2)), 4);
}

TEST(FieldFiles, SizesSayWhatNumbersLieOn) {
  const auto on = [](int columns, int rows, const TensorMesh<2>& mesh, On said = On::unsaid) {
    return lies_on(rows_of(columns, rows, {}, said), mesh);
  };
  const TensorMesh<2> mesh{Axis(std::vector<double>(12, 1.0)), Axis(std::vector<double>(8, 1.0))};
  EXPECT_EQ(on(12, 8, mesh), On::cells);
  EXPECT_EQ(on(13, 9, mesh), On::nodes);
  EXPECT_EQ(on(3, 2, mesh), On::cells);
  EXPECT_EQ(on(7, 5, mesh), On::nodes);
  EXPECT_EQ(on(4, 3, mesh), On::nodes);
  for (const auto& [columns, rows] : {std::pair{12, 9}, {13, 8}, {24, 16}, {5, 3}, {4, 9}, {2, 2}, {8, 12}})
    EXPECT_EQ(on(columns, rows, mesh), On::unsaid) << columns << ' ' << rows;
  EXPECT_EQ(on(12, 8, mesh, On::nodes), On::unsaid);
  EXPECT_EQ(on(13, 9, mesh, On::cells), On::unsaid);
  const TensorMesh<2> square{Axis({1, 1}), Axis({1, 1})}, one{Axis({1}), Axis({1})};
  EXPECT_EQ(on(2, 2, square), On::cells);
  EXPECT_EQ(on(2, 2, square, On::nodes), On::nodes);
  EXPECT_EQ(on(2, 2, one), On::nodes);
  EXPECT_THAT(
      [&] { (void)function_of(rows_of(5, 3, std::vector<double>(15)), mesh); },
      ThrowsMessage<UsageError>(testing::AllOf(HasSubstr("'f.csv' has 5 x 3 numbers"), HasSubstr("12 x 8 cells"),
                                               HasSubstr("12, 6 or 3 cells in x and 8, 4, 2 or 1 in y"))));
  FileValues tensor = rows_of(12, 8, std::vector<double>(96));
  tensor.components.resize(3, tensor.components.front());
  EXPECT_THAT([&] { (void)function_of(tensor, mesh); },
              ThrowsMessage<UsageError>(HasSubstr("3 numbers at a place, one is needed")));
}

TEST(FieldFiles, BoundariesTakeLinesOrTheWholeMesh) {
  const TensorMesh<2> mesh{Axis({1, 3}), Axis({1, 1, 2})};
  const Geometry geometry(mesh);
  const BoundaryPlace right{Direction::y, true}, bottom{Direction::x, false};
  FileValues line = rows_of(4, 1, {1, 3, 2, 6});
  line.dimensions = 1;
  for (const auto& numbers : {line, rows_of(4, 1, {1, 3, 2, 6}), rows_of(1, 4, {1, 3, 2, 6})}) {
    const ScalarFunction f = function_of(numbers, mesh, right);
    EXPECT_EQ(f(geometry.node(2, 1)), 3);
    EXPECT_DOUBLE_EQ(f(geometry.on_boundary(right, 2, 0.25)), 3);
  }
  const ScalarFunction fluxes = function_of(rows_of(1, 3, {1, 3, 2}), mesh, right);
  EXPECT_EQ(fluxes(geometry.on_boundary(right, 1, 0.9)), 3);
  const ScalarFunction whole = function_of(rows_of(3, 4, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), mesh, right);
  EXPECT_EQ(whole(geometry.node(2, 3)), 11);
  EXPECT_EQ(function_of(rows_of(1, 3, {5, 7, 9}), mesh, bottom)(geometry.node(1, 0)), 7);
  EXPECT_THAT(
      [&] {
        (void)function_of(rows_of(1, 5, {1, 2, 3, 4, 5}), mesh, right);
      },
      ThrowsMessage<UsageError>(
          testing::AllOf(HasSubstr("5 numbers along a boundary that has 3 intervals"), HasSubstr("for 3 intervals"))));
  EXPECT_THAT([&] { (void)function_of(line, mesh); }, ThrowsMessage<UsageError>(HasSubstr("4 x 1 numbers")));
}

TEST(FieldFiles, DeformedMeshesHaveThemByTheirCells) {
  Context ctx(Backend::cpu);
  const TensorMesh<2> rectangle{Axis({1, 1, 1, 1}), Axis({1, 1})};
  const MappedMesh bend = mapped(
      ctx, rectangle, [](const Point& p) { return (1 + p.x) * std::cos(p.y); },
      [](const Point& p) { return (1 + p.x) * std::sin(p.y); });
  const Geometry geometry(bend);
  const auto numbers = at_nodes_of(rectangle, [](const Point& p) { return 10 * p.x + p.y; });
  const ScalarFunction f = function_of(numbers, rectangle);
  EXPECT_DOUBLE_EQ(f(geometry.node(3, 1)), 31);
  EXPECT_DOUBLE_EQ(f(geometry.cell(2, 1).at(0.25, 0.5)), 24);
  EXPECT_DOUBLE_EQ(f(geometry.on_boundary({Direction::y, true}, 1, 0.5)), 41.5);
  // A Robin boundary's alpha, which the operator asks for along the boundary.
  PoissonProblem problem;
  problem.boundaries.top = {BoundaryConditionType::robin, {}, f};
  for (const Geometry& mesh : {Geometry(rectangle), geometry}) {
    const auto terms = operator_terms(mesh, problem);
    ASSERT_TRUE(static_cast<bool>(terms.top.varying));
    EXPECT_DOUBLE_EQ(terms.top.varying(2.5), 27);
  }
}

TEST(FieldFiles, PointsOfNoMeshHaveNoNumber) {
  const TensorMesh<2> mesh{Axis({1, 1}), Axis({1, 1})};
  EXPECT_TRUE(std::isnan(function_of(rows_of(2, 2, {1, 2, 3, 4}), mesh)(Point{0.5, 0.5})));
}

/// K at the centre of a cell is what the function says there, as of an expression.
TEST(FieldFiles, CoefficientsMayLieOnNodes) {
  Context ctx(Backend::cpu);
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 4);
  const auto k = [](const Point& p) { return 1 + p.x + 2 * p.y; };
  const auto read = on_cells(ctx, mesh, {Coefficient(function_of(at_nodes_of(mesh, k, On::unsaid), mesh)), {}, {}}, {}),
             exact = on_cells(ctx, mesh, {Coefficient(ScalarFunction(k)), {}, {}}, {});
  for (std::size_t n = 0; n < exact.xx.size(); ++n) EXPECT_NEAR(read.xx[n], exact.xx[n], 1e-14);
}

}  // namespace
