#include <stratum/magnetics/edge_elements.hpp>

#include <cmath>
#include <map>

#include <gmock/gmock.h>

#include <stratum/core/errors.hpp>
#include <stratum/magnetics/magnetic_field.hpp>
#include <stratum/magnetics/team20_problem.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Values = std::vector<double>;

Values planes(test::Random& random, int cells) {
  Values p{random.uniform(-1, 1)};
  for (int i = 0; i < cells; ++i) p.push_back(p.back() + random.uniform(0.05, 1));
  return p;
}

EdgeElements random_elements(test::Random& random, EdgeElement element, int nx = 4, int ny = 3, int nz = 5) {
  return {BoxGrid({planes(random, nx), planes(random, ny), planes(random, nz)}), element};
}

using reference::dot;
using reference::norm;

Values product(const SparseRows& a, const Values& x) {
  Values y(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < y.size(); ++i)
    for (auto k = std::size_t(a.start[i]); k < std::size_t(a.start[i + 1]); ++k)
      y[i] += a.value[k] * x[std::size_t(a.column[k])];
  return y;
}

Point3 cross(const Point3& a, const Point3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double inner(const Point3& a, const Point3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Point3 difference(const Point3& a, const Point3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

class Edges : public testing::TestWithParam<EdgeElement> {
 protected:
  Context ctx_{Backend::cpu, 2};
  test::Random random_{2024};
};
INSTANTIATE_TEST_SUITE_P(All, Edges, testing::Values(EdgeElement::hexahedron, EdgeElement::tetrahedron),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST_P(Edges, MatrixIsSymmetricAndItsKernelAreGradients) {
  const auto elements = random_elements(random_, GetParam());
  const auto a = elements.curl_curl(ctx_, random_.values(elements.elements(), 0.001, 1));
  a.validate();
  EXPECT_TRUE(a.is_symmetric(1e-13));
  const auto g = elements.gradient();
  g.validate();
  EXPECT_EQ(g.rows, elements.unknowns());
  EXPECT_EQ(g.columns, elements.kernel_size());
  const auto phi = product(g, random_.values(g.columns));
  EXPECT_GT(norm(phi), 1);
  const auto image = product(a, phi);
  double size = 0;
  for (const double v : a.value) size = std::max(size, std::abs(v));
  EXPECT_LT(norm(image), 1e-13 * size * norm(phi));
}

TEST_P(Edges, LoadIsOrthogonalToGradientsWhateverTheSource) {
  const auto elements = random_elements(random_, GetParam());
  const VectorField rough = [](const Point3& p) -> Point3 {
    return {p[0] > 0.7 ? 1.0 : -2.0, std::sin(40 * p[0] * p[2]), p[1] * p[1] + (p[2] > 1 ? 3 : 0)};
  };
  const auto b = elements.load(ctx_, rough, 1);
  const auto g = product(elements.gradient(), random_.values(elements.kernel_size()));
  EXPECT_GT(norm(b), 1e-3);
  EXPECT_LT(std::abs(dot(b, g)), 1e-15 * norm(b) * norm(g));
}

// integral of T . curl w = integral of J . w, and w along an edge integrates to V / (4 h) in each of the four boxes.
TEST(EdgeElements, LoadOfALinearPotentialIsThatOfItsCurrent) {
  test::Random random(5);
  Context ctx(Backend::cpu, 1);
  const auto elements = random_elements(random, EdgeElement::hexahedron);
  const auto b = elements.load(
      ctx,
      [](const Point3& p) -> Point3 {
        return {0, 0, 3 * p[0]};
      },
      2);  // J = (0, -3, 0)
  const BoxGrid& grid = elements.grid();
  for (int k = 1; k < grid.cells(2); ++k)
    for (int j = 0; j < grid.cells(1); ++j)
      for (int i = 1; i < grid.cells(0); ++i) {
        const double area =
            (grid.plane(0, i + 1) - grid.plane(0, i - 1)) * (grid.plane(2, k + 1) - grid.plane(2, k - 1)) / 4;
        EXPECT_NEAR(b[std::size_t(elements.unknown(2, {i, j, k}))], -3 * area, 1e-13);
      }
}

// On tetrahedra: from the corners of every one, by 2 grad l_i x grad l_j and nothing else.
TEST(EdgeElements, WhitneyMatrixIsThatOfItsTetrahedra) {
  test::Random random(7);
  Context ctx(Backend::cpu, 2);
  const auto elements = random_elements(random, EdgeElement::tetrahedron, 3, 3, 4);
  const BoxGrid& grid = elements.grid();
  const auto nu = random.values(elements.elements(), 0.01, 1);
  std::map<std::pair<int, int>, double> expected;
  double volumes = 0;
  for (int element = 0; element < elements.elements(); ++element) {
    const auto& reference = elements.reference(element);
    const Index3 box = grid.place(elements.box_of(element));
    std::vector<Index3> node;
    std::vector<Point3> corner;
    for (const int c : reference.corners) {
      node.push_back({box[0] + (c & 1), box[1] + (c >> 1 & 1), box[2] + (c >> 2)});
      corner.push_back({grid.plane(0, node.back()[0]), grid.plane(1, node.back()[1]), grid.plane(2, node.back()[2])});
    }
    const double volume = inner(cross(difference(corner[1], corner[0]), difference(corner[2], corner[0])),
                                difference(corner[3], corner[0])) /
                          6;
    ASSERT_GT(volume, 0) << "VTK's order";
    ASSERT_NEAR(volume, elements.volume(element), 1e-14);
    volumes += volume;
    std::vector<Point3> slope;
    for (std::size_t i = 0; i < 4; ++i) {
      const Point3 &p = corner[(i + 1) % 4], &q = corner[(i + 2) % 4], &r = corner[(i + 3) % 4];
      Point3 n = cross(difference(q, p), difference(r, p));
      const double height = inner(n, difference(corner[i], p));
      for (double& component : n) component /= height;
      slope.push_back(n);
    }
    std::vector<int> unknowns;
    std::vector<Point3> curls;
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        int along = 0;
        bool up = i != j;
        for (std::size_t d = 0; d < 3; ++d) {
          up = up && node[j][d] >= node[i][d];
          if (node[j][d] > node[i][d]) along |= 1 << d;
        }
        if (!up) continue;
        unknowns.push_back(elements.unknown(along, node[i]));
        curls.push_back(cross(slope[i], slope[j]));
      }
    ASSERT_EQ(unknowns.size(), 6U);
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 6; ++j)
        if (unknowns[i] >= 0 && unknowns[j] >= 0)
          expected[{unknowns[i], unknowns[j]}] += 4 * nu[std::size_t(element)] * volume * inner(curls[i], curls[j]);
  }
  double whole = 0;
  for (int box = 0; box < grid.boxes(); ++box) whole += grid.volume(box);
  EXPECT_NEAR(volumes, whole, 1e-12 * whole);
  const auto a = elements.curl_curl(ctx, nu);
  EXPECT_EQ(a.entries(), static_cast<std::int64_t>(expected.size()));
  for (const auto& [place, value] : expected) EXPECT_NEAR(a.at(place.first, place.second), value, 1e-11);
}

/// nu = 1 + s^2, and its energy.
TEST_P(Edges, TangentIsTheDerivativeOfTheForceTheDerivativeOfTheEnergy) {
  const auto elements = random_elements(random_, GetParam(), 3, 3, 3);
  const auto a = random_.values(elements.unknowns()), d = random_.values(elements.unknowns());
  const auto nu = [](const Values& s) {
    Values v;
    for (const double x : s) v.push_back(1 + x * x);
    return v;
  };
  const auto energy = [&](const Values& at) {  // integral of nu B dB = s / 2 + s^3 / 6
    const auto s = elements.mean_square_curl(ctx_, at);
    double sum = 0;
    for (int e = 0; e < elements.elements(); ++e)
      sum += elements.volume(e) * (s[std::size_t(e)] / 2 + std::pow(s[std::size_t(e)], 3) / 6);
    return sum;
  };
  const auto moved = [&](double step) {
    Values at = a;
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += step * d[i];
    return at;
  };
  const double step = 1e-5;
  const auto s = elements.mean_square_curl(ctx_, a);
  const auto force = elements.apply(ctx_, nu(s), a);
  const double slope = (energy(moved(step)) - energy(moved(-step))) / (2 * step);
  EXPECT_NEAR(dot(force, d), slope, 1e-6 * std::abs(slope));
  const auto by_matrix = product(elements.curl_curl(ctx_, nu(s)), a);
  for (std::size_t i = 0; i < force.size(); ++i) EXPECT_NEAR(force[i], by_matrix[i], 1e-12 * norm(force));

  Values nu_slope;
  for (const double x : s) nu_slope.push_back(2 * x);
  const auto along = product(elements.tangent(ctx_, nu(s), nu_slope, a), d);
  const auto at = [&](double t) {
    return elements.apply(ctx_, nu(elements.mean_square_curl(ctx_, moved(t))), moved(t));
  };
  const auto high = at(step), low = at(-step);
  for (std::size_t i = 0; i < along.size(); ++i)
    EXPECT_NEAR(along[i], (high[i] - low[i]) / (2 * step), 1e-6 * norm(along));
}

// Virtual work: where planes of the grid move with the body and the circulations stay, the force is what the energy loses.
TEST_P(Edges, EggshellForceIsTheLossOfEnergyOfABodyThatMoves) {
  const Values x = planes(random_, 3), y = planes(random_, 3), z = planes(random_, 5);
  const auto grid = [&](int d, double step) {
    std::array<Values, 3> p{x, y, z};
    for (int k = 2; k <= 3; ++k) p[std::size_t(d)][std::size_t(k)] += step;
    return EdgeElements(BoxGrid(p), GetParam());
  };
  const auto elements = grid(2, 0);
  const auto a = random_.values(elements.unknowns());
  const auto energy = [&](int d, double step) {
    const auto at = grid(d, step);
    const Values one(std::size_t(at.elements()), 1.0);
    return vacuum_permeability / 2 * dot(a, at.apply(ctx_, one, a));
  };
  std::vector<bool> body;
  for (int box = 0; box < elements.grid().boxes(); ++box) body.push_back(elements.grid().place(box)[2] == 2);
  const double step = 1e-5, loss = (energy(2, -step) - energy(2, step)) / (2 * step);
  EXPECT_NEAR(eggshell_force(elements, a, body)[2], loss, 1e-6 * std::abs(loss));
}

TEST_P(Edges, FluxDensityIsThatOfTheCirculations) {
  const auto elements = random_elements(random_, GetParam());
  const auto a = random_.values(elements.unknowns());
  // What flows out of an element is nothing, and what flows through the whole section of a box is its circulation.
  const BoxGrid& grid = elements.grid();
  const Index3 box{1, 1, 2};
  std::vector<bool> marks(std::size_t(grid.boxes()));
  marks[std::size_t(grid.number(box))] = true;
  const auto circulation = [&](int k) {
    const auto value = [&](int along, Index3 node) {
      const int unknown = elements.unknown(along, node);
      return unknown < 0 ? 0 : a[std::size_t(unknown)];
    };
    return value(1, {1, 1, k}) + value(2, {2, 1, k}) - value(1, {1, 2, k}) - value(2, {1, 1, k});
  };
  for (const int k : {2, 3}) {
    const double z = grid.plane(2, k) + (k == 2 ? 1e-7 : 0);  // of two boxes the lower one is taken
    const double flux =
        mean_flux_density(elements, a, marks, z)[2] * grid.width(0, 1) * grid.width(1, 1) / vacuum_permeability;
    EXPECT_NEAR(flux, circulation(k), 1e-5);
  }
  EXPECT_THROW((void)flux_density_at(elements, a, {1e3, 0, 0}), UsageError);
}

TEST(Team20, GridsHaveTheUnknownsOfThePublishedOnes) {
  const auto elements = [](double spacing, double growth, EdgeElement element) {
    return EdgeElements(team20::make_grid({spacing * 1e-3, growth}), element);
  };
  EXPECT_EQ(elements(7.7, 1.45, EdgeElement::hexahedron).unknowns(), 10151);
  EXPECT_EQ(elements(3.2, 1.3, EdgeElement::hexahedron).unknowns(), 106131);
  EXPECT_EQ(elements(1.65, 1.2, EdgeElement::hexahedron).unknowns(), 629312);
  EXPECT_EQ(elements(12, 2.7, EdgeElement::tetrahedron).unknowns(), 7287);
  EXPECT_EQ(elements(5, 1.4, EdgeElement::tetrahedron).unknowns(), 79267);
  const auto fine = elements(2.2, 1.25, EdgeElement::tetrahedron);
  EXPECT_EQ(fine.unknowns(), 615067);
  EXPECT_EQ(fine.grid().nodes(), 97580);
  EXPECT_EQ(fine.elements(), 544320);
  EXPECT_EQ(fine.edges(), 655315);
}

TEST(Team20, VolumesAreThoseOfTheDevice) {
  for (const double spacing : {3.2e-3, 11e-3}) {
    const BoxGrid grid = team20::make_grid({spacing, 1.3, spacing > 5e-3 ? 3 : 1});
    const auto materials = team20::materials(grid);
    double yoke = 0, pole = 0;
    for (int box = 0; box < grid.boxes(); ++box) {
      if (materials[std::size_t(box)] == team20::Material::yoke) yoke += grid.volume(box);
      if (materials[std::size_t(box)] == team20::Material::pole) pole += grid.volume(box);
    }
    EXPECT_NEAR(yoke, 6.671875e-5, 1e-16);
    EXPECT_NEAR(pole, 6.15625e-6, 1e-17);
  }
}

TEST(Team20, GapsHaveTheCellsThatWereAskedFor) {
  const BoxGrid grid = team20::make_grid({5e-3, 1.3, 4});
  const auto least = [&](int d) {
    double width = 1;
    for (int i = 0; i < grid.cells(d); ++i) width = std::min(width, grid.width(d, i));
    return width;
  };
  EXPECT_NEAR(least(0), 0.25e-3, 1e-12);
  EXPECT_NEAR(least(2), 0.375e-3, 1e-12);
}

TEST(Team20, RefusesGridsWithoutTheFacesOfSteel) {
  BoxGrid grid = team20::make_grid({});
  std::array<Values, 3> p{grid.planes(0), grid.planes(1), grid.planes(2)};
  std::erase_if(p[2], [](double z) { return std::abs(z - 26.5e-3) < 1e-9; });
  EXPECT_THAT([&] { (void)team20::materials(BoxGrid(p)); },
              ThrowsMessage<UsageError>(testing::AllOf(HasSubstr("z = 26.5 mm"), HasSubstr("gaps"))));
  EXPECT_THAT([] { (void)team20::make_grid({-1}); }, ThrowsMessage<UsageError>(HasSubstr("-1")));
  EXPECT_THAT([] { (void)team20::make_grid({3e-3, 0.5}); }, ThrowsMessage<UsageError>(HasSubstr("0.5")));
}

// The current through the coil's section is NI, and J is the curl of T.
TEST(Team20, CurrentIsTheCurlOfItsPotential) {
  const auto t = team20::current_potential(1000);
  test::Random random(3);
  const double step = 1e-7;
  int inside = 0;
  for (int k = 0; k < 2000; ++k) {
    const Point3 p{random.uniform(0, 0.05), random.uniform(0, 0.05), random.uniform(0.03, 0.12)};
    if (!team20::in_coil(p) || !team20::in_coil({p[0] + 2 * step, p[1] + 2 * step, p[2]})) continue;
    ++inside;
    const auto j = team20::current_density(1000, p);
    EXPECT_NEAR(j[0], (t({p[0], p[1] + step, p[2]})[2] - t({p[0], p[1] - step, p[2]})[2]) / (2 * step), 1e-2);
    EXPECT_NEAR(j[1], -(t({p[0] + step, p[1], p[2]})[2] - t({p[0] - step, p[1], p[2]})[2]) / (2 * step), 1e-2);
  }
  EXPECT_GT(inside, 300);
  EXPECT_NEAR(t({0, 0, 0.07})[2] * 96.6e-3, 1000, 1e-9);
  EXPECT_EQ(t({0.1, 0, 0.07})[2], 0);
}

TEST_P(Edges, RefusesArraysOfTheWrongLength) {
  const auto elements = random_elements(random_, GetParam());
  EXPECT_THAT([&] { (void)elements.curl_curl(ctx_, {1.0}); }, ThrowsMessage<UsageError>(HasSubstr("not 1")));
  EXPECT_THROW((void)elements.mean_square_curl(ctx_, {1.0}), UsageError);
  EXPECT_THROW((void)elements.load(
                   ctx_, [](const Point3&) { return Point3{}; }, 0),
               UsageError);
  EXPECT_THAT(
      [] {
        BoxGrid({Values{0, 1, 1}, Values{0, 1}, Values{0, 1}});
      },
      ThrowsMessage<UsageError>(HasSubstr("plane 2")));
  EXPECT_THAT(
      [] {
        EdgeElements(BoxGrid({Values{0, 1}, Values{0, 1}, Values{0, 1}}), EdgeElement::hexahedron);
      },
      ThrowsMessage<UsageError>(HasSubstr("no edge")));
}

}  // namespace
