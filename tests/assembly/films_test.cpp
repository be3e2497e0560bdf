// What bands of a matrix lose in films, by hand.

#include <stratum/assembly/bodies.hpp>
#include <stratum/assembly/films.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/graded.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace stratum;

constexpr double epsilon = std::numeric_limits<double>::epsilon();

TensorMesh<2> film_of(double height, BoundaryType top = BoundaryType::neumann) {
  return {uniform(1, 8), uniform(height, 4).with_boundaries(BoundaryType::neumann, top), "film"};
}

CellCoefficients ones() {
  CellCoefficients k;
  k.nx = 8;
  k.ny = 4;
  k.xx.assign(32, 1.0);
  return k;
}

TEST(Films, LoseTheSquareOfTheAspect) {
  EXPECT_NEAR(round_off_of_films(film_of(1e-6), nullptr, 0) / (epsilon * 0.25e12), 1, 1e-9);
  // Cells as wide as high, across the other direction as well.
  EXPECT_NEAR(round_off_of_films(film_of(0.5), nullptr, 0) / epsilon, 1, 1e-9);
}

TEST(Films, LoseNothingWhereABoundaryHoldsU) {
  EXPECT_LE(round_off_of_films(film_of(1e-6, BoundaryType::dirichlet), nullptr, 0), epsilon);
  EXPECT_GT(round_off_of_films(film_of(1e-6, BoundaryType::dirichlet), nullptr, 0, {true, true, false, false}), 1e-6);
}

TEST(Films, LoseLessBesideAReaction) {
  const double alone = round_off_of_films(film_of(1e-6), nullptr, 0);
  // c hx^2 beside 1.
  EXPECT_NEAR(round_off_of_films(film_of(1e-6), nullptr, 64 * 99) / alone, 0.01, 1e-9);
}

TEST(Films, FollowK) {
  CellCoefficients k = ones();
  k.yy.assign(32, 100.0);
  EXPECT_NEAR(round_off_of_films(film_of(1e-6), &k, 0) / (epsilon * 25e12), 1, 1e-9);
}

/// A gap of one cell beside a solid, in a column whose other cells are high.
TEST(Films, EndAtSolids) {
  const TensorMesh<2> mesh{
      uniform(1, 8),
      Axis(std::vector<double>{1e-6, 0.5, 0.5, 0.5}).with_boundaries(BoundaryType::neumann, BoundaryType::neumann),
      "gap"};
  CellCoefficients k = ones();
  EXPECT_LE(round_off_of_films(mesh, &k, 0), 1e-10);
  auto map = std::make_shared<BodyMap>();
  map->nx = 8;
  map->ny = 4;
  map->cell.assign(32, BodyMap::live);
  map->cell[8] = BodyMap::empty;
  k.bodies = map;
  EXPECT_NEAR(round_off_of_films(mesh, &k, 0) / (epsilon / 64 * 1e12), 1, 1e-6);
  map->cell[8] = BodyMap::held;
  EXPECT_LE(round_off_of_films(mesh, &k, 0), 1e-10) << "a held body holds the gap";
}

TEST(Films, AreWhereTheirMeshLies) {
  // Turned by 30 degrees.
  const TensorMesh<2> logical = film_of(1e-6);
  std::vector<double> x, y;
  for (int j = 0; j <= 4; ++j)
    for (int i = 0; i <= 8; ++i) {
      const double u = i / 8.0, v = 1e-6 * j / 4;
      x.push_back(0.8 * u - 0.6 * v);
      y.push_back(0.6 * u + 0.8 * v);
    }
  const MappedMesh turned(
      TensorMesh<2>(logical.x(), uniform(1, 4).with_boundaries(BoundaryType::neumann, BoundaryType::neumann), ""), x,
      y);
  EXPECT_NEAR(round_off_of_films(turned, nullptr, 0) / (epsilon * 0.25e12), 1, 1e-3);
}

}  // namespace
