#include <stratum/magnetics/team20_problem.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include <stratum/core/errors.hpp>

namespace stratum::team20 {

namespace {

// Millimetres from here on: what the drawings say.
constexpr double mm = 1e-3;
constexpr double coil_bottom = 26.7, coil_top = 123.3, coil_centre = 14.5, coil_inner = 5, coil_outer = 23;

const std::array<std::vector<double>, 3>& lines() {
  static const std::array<std::vector<double>, 3> all{
      {{0, 12.5, 13.5, 19.5, 37.5, 38.5, 63.5, 150}, {0, 5, 12.5, 19.5, 37.5, 150}, {-50, 0, 25, 26.5, 125, 150, 200}}};
  return all;
}

/// Faces of steel, and of the box.
const std::array<std::vector<double>, 3>& faces() {
  static const std::array<std::vector<double>, 3> all{
      {{0, 12.5, 13.5, 38.5, 63.5, 150}, {0, 5, 12.5, 150}, {-50, 0, 25, 26.5, 125, 150, 200}}};
  return all;
}

Material material_at(double x, double y, double z) {
  const bool window = x < 38.5 && z > 25 && z < 125, slot = x < 13.5 && z > 125;
  if (y < 12.5 && x < 63.5 && z > 0 && z < 150 && !window && !slot) return Material::yoke;
  return x < 12.5 && y < 5 && z > 26.5 && z < 125 ? Material::pole : Material::air;
}

/// The distance from the square that the coil is wound around, and its gradient.
std::pair<double, std::array<double, 2>> rho(double x, double y) {
  const double dx = x - coil_centre, dy = y - coil_centre;
  if (dx > 0 && dy > 0) {
    const double r = std::hypot(dx, dy);
    return {r, {dx / r, dy / r}};
  }
  return dx > dy ? std::pair{dx, std::array{1.0, 0.0}} : std::pair{dy, std::array{0.0, 1.0}};
}

}  // namespace

bool is_steel(Material material) { return material != Material::air; }

bool in_coil(const Point3& p) {
  const double z = p[2] / mm, r = rho(p[0] / mm, p[1] / mm).first;
  return z > coil_bottom && z < coil_top && r > coil_inner && r < coil_outer;
}

BoxGrid make_grid(const GridParams& params) {
  expects(params.gap_cells >= 1, "the gaps need one cell across at least, not ", params.gap_cells);
  std::array<std::vector<double>, 3> planes;
  for (std::size_t d = 0; d < 3; ++d) {
    auto p = planes_between(lines()[d], params.spacing / mm, params.growth, d == 2, true);
    // Gaps are the intervals below two millimetres.
    for (std::size_t i = 0; i + 1 < lines()[d].size(); ++i) {
      const double a = lines()[d][i], b = lines()[d][i + 1];
      const auto first = std::find(p.begin(), p.end(), a);
      const auto cells = std::find(p.begin(), p.end(), b) - first;
      if (b - a >= 2 || cells >= params.gap_cells) continue;
      p.erase(first + 1, first + cells);
      std::vector<double> inner;
      for (int k = 1; k < params.gap_cells; ++k) inner.push_back(a + (b - a) * k / params.gap_cells);
      p.insert(std::find(p.begin(), p.end(), b), inner.begin(), inner.end());
    }
    for (const double at : p) planes[d].push_back(at * mm);
  }
  return BoxGrid(std::move(planes));
}

std::vector<Material> materials(const BoxGrid& grid) {
  constexpr std::array<const char*, 3> names{"x", "y", "z"};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto& p = grid.planes(static_cast<int>(d));
    for (const double face : faces()[d])
      expects(std::any_of(p.begin(), p.end(), [&](double at) { return std::abs(at / mm - face) < 1e-9; }),
              "problem 20: the grid has no plane ", names[d], " = ", face, " mm, where ",
              face == faces()[d].front() || face == faces()[d].back() ? "the box ends" : "a face of steel lies",
              ": it does not resolve the gaps");
  }
  std::vector<Material> all;
  all.reserve(static_cast<std::size_t>(grid.boxes()));
  for (int box = 0; box < grid.boxes(); ++box) {
    const Point3 p = grid.point(grid.place(box), {0.5, 0.5, 0.5});
    all.push_back(material_at(p[0] / mm, p[1] / mm, p[2] / mm));
  }
  return all;
}

std::vector<bool> boxes_of(const std::vector<Material>& materials, Material material) {
  std::vector<bool> marks;
  marks.reserve(materials.size());
  for (const Material m : materials) marks.push_back(m == material);
  return marks;
}

VectorField current_potential(double ampere_turns) {
  const double inside = ampere_turns / ((coil_top - coil_bottom) * mm);
  return [inside](const Point3& p) -> Point3 {
    const double z = p[2] / mm;
    if (!(z > coil_bottom && z < coil_top)) return {};
    const double r = rho(p[0] / mm, p[1] / mm).first;
    return {0, 0, inside * std::clamp((coil_outer - r) / (coil_outer - coil_inner), 0.0, 1.0)};
  };
}

Point3 current_density(double ampere_turns, const Point3& p) {
  if (!in_coil(p)) return {};
  const double density = ampere_turns / ((coil_top - coil_bottom) * (coil_outer - coil_inner) * mm * mm);
  const auto slope = rho(p[0] / mm, p[1] / mm).second;
  return {-density * slope[1], density * slope[0], 0};
}

MagnetisationCurve steel_curve() {
  return {{.01,  .025, .05,  .1,  .15,  .2,  .3,   .4,  .5,   .6,  .7,   .8, .9,   1,   1.1,  1.2, 1.3,  1.35, 1.4,
           1.45, 1.5,  1.55, 1.6, 1.65, 1.7, 1.75, 1.8, 1.85, 1.9, 1.95, 2,  2.05, 2.1, 2.15, 2.2, 2.25, 2.3},
          {27,    58,    100,   153,   185,   205,   233,   255,   285,   320,    355,   405,  470,
           555,   673,   836,   1065,  1220,  1420,  1720,  2130,  2670,  3480,   4500,  5950, 7650,
           10100, 13000, 15900, 21100, 26300, 32900, 42700, 61700, 84300, 110000, 135000},
          2.16};
}

}  // namespace stratum::team20
