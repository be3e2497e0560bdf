#include <stratum/assembly/coefficients.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include <stratum/assembly/cell_means.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>

namespace stratum {

namespace {

void check_cells(const TensorMesh<2>& mesh, const CellValues& given, const std::string& name) {
  const int nx = mesh.x().size(), ny = mesh.y().size();
  expects(parts_of(nx, given.nx) > 0 && parts_of(ny, given.ny) > 0, name, " has values on ", given.nx, " x ", given.ny,
          " cells, and the mesh has ", nx, " x ", ny,
          ": cells of the mesh or of one that it refines by halving are needed, ", coarser_counts(nx), " in x and ",
          coarser_counts(ny), " in y");
  expects(given.values.size() == static_cast<std::size_t>(given.nx) * static_cast<std::size_t>(given.ny), name, " has ",
          given.values.size(), " values for ", given.nx, " x ", given.ny, " cells");
}

/// Of a cell, for messages.
std::string place(const Geometry& mesh, int i, int j) {
  const Point centre = mesh.cell(i, j).at(0.5, 0.5);
  return message("cell (", i, ", ", j, "), around (", centre.x, ", ", centre.y, ")");
}

/// `averaged`: where it is given, means may take the place of values at centres, and their cells are added to it.
std::vector<double> values_on_cells(const Context& ctx, const Geometry& mesh, const Coefficient& coefficient,
                                    std::string_view name, std::vector<std::size_t>* averaged = nullptr) {
  const int nx = mesh.logical().x().size(), ny = mesh.logical().y().size();
  const auto row = [nx](int j) { return static_cast<std::size_t>(j) * static_cast<std::size_t>(nx); };
  std::vector<double> values(row(ny));
  const auto check = [&](int i, int j, double value) {
    if (!std::isfinite(value))
      throw UsageError(message(name, " is ", value, " in ", place(mesh, i, j), "; it must be finite"));
  };
  if (coefficient.constant) {
    check(0, 0, *coefficient.constant);
    std::fill(values.begin(), values.end(), *coefficient.constant);
  } else if (coefficient.function) {
    std::vector<std::vector<std::size_t>> of_rows(averaged != nullptr ? static_cast<std::size_t>(ny) : 0);
    for_each_row(
        ctx, ny,
        [&](int j, const ScalarFunction& own) {
          for (int i = 0; i < nx; ++i) {
            const CellPoints cell = mesh.cell(i, j);
            const detail::Sample found =
                averaged != nullptr ? detail::sample(cell, own) : detail::Sample{own(cell.at(0.5, 0.5)), false};
            check(i, j, found.value);
            const std::size_t k = row(j) + static_cast<std::size_t>(i);
            values[k] = found.value;
            if (found.is_mean) of_rows[static_cast<std::size_t>(j)].push_back(k);
          }
        },
        coefficient.function);
    std::vector<std::size_t> all, before;
    for (const auto& cells : of_rows) all.insert(all.end(), cells.begin(), cells.end());
    if (!all.empty()) {
      before.swap(*averaged);
      std::set_union(before.begin(), before.end(), all.begin(), all.end(), std::back_inserter(*averaged));
    }
  } else {
    const CellValues& given = coefficient.cells;
    check_cells(mesh.logical(), given,
                given.from.empty() ? std::string(name) : message(name, " of '", given.from, "'"));
    const int in_x = parts_of(nx, given.nx), in_y = parts_of(ny, given.ny);
    for_each_row(ctx, ny, [&](int j) {
      const double* const from = &given.values[static_cast<std::size_t>(j / in_y) * static_cast<std::size_t>(given.nx)];
      for (int i = 0; i < nx; ++i) check(i, j, values[row(j) + static_cast<std::size_t>(i)] = from[i / in_x]);
    });
  }
  return values;
}

bool is_zero(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

/// values_ij = first_i second_j, to rounding; nothing where they are no such products.
std::optional<std::pair<std::vector<double>, std::vector<double>>> factors(const std::vector<double>& values, int nx,
                                                                           int ny) {
  const auto at = [&](int i, int j) {
    return values[static_cast<std::size_t>(j) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i)];
  };
  constexpr double rounding = 1e-13;
  std::vector<double> first, second;
  const double reference = at(0, 0);
  for (int i = 0; i < nx; ++i) first.push_back(at(i, 0));
  for (int j = 0; j < ny; ++j) second.push_back(reference != 0 ? at(0, j) / reference : at(0, j));
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const double product = first[static_cast<std::size_t>(i)] * second[static_cast<std::size_t>(j)];
      if (!(std::abs(at(i, j) - product) <= rounding * std::abs(at(i, j)))) return std::nullopt;
    }
  return std::pair(std::move(first), std::move(second));
}

}  // namespace

int parts_of(int cells, int given) {
  int parts = 1;
  while (given > 0 && given < cells / parts && parts < (1 << 30)) parts *= 2;
  return given > 0 && cells % parts == 0 && given == cells / parts ? parts : 0;
}

std::string coarser_counts(int cells) {
  std::string counts = message(cells);
  for (; cells % 2 == 0; cells /= 2) counts += message(cells % 4 == 0 ? ", " : " or ", cells / 2);
  return counts;
}

CellCoefficients on_cells(Context& ctx, const Geometry& mesh, const Diffusion& k, const Coefficient& c) {
  CellCoefficients cells;
  cells.nx = mesh.logical().x().size();
  cells.ny = mesh.logical().y().size();
  cells.xx = values_on_cells(ctx, mesh, k.xx.is_given() ? k.xx : Coefficient(1.0), "kxx");
  if (k.xy.is_given()) cells.xy = values_on_cells(ctx, mesh, k.xy, "kxy");
  if (k.yy.is_given()) cells.yy = values_on_cells(ctx, mesh, k.yy, "kyy");
  if (c.is_given()) cells.c = values_on_cells(ctx, mesh, c, "the reaction coefficient c", &cells.averaged);
  if (is_zero(cells.xy)) cells.xy.clear();
  if (is_zero(cells.c)) cells.c.clear();
  if (cells.yy == cells.xx) cells.yy.clear();
  for_each_row(ctx, cells.ny, [&](int j) {
    for (int i = 0; i < cells.nx; ++i) {
      const double xx = cells.kxx(i, j), xy = cells.kxy(i, j), yy = cells.kyy(i, j), reaction = cells.reaction(i, j);
      // |kxy| < sqrt(kxx) sqrt(kyy), whose factors do not overflow.
      if (!(xx > 0 && yy > 0 && (xy == 0 || std::abs(xy) < std::sqrt(xx) * std::sqrt(yy))))
        throw UsageError(message("K must be positive definite; in ", place(mesh, i, j), ", it is [", xx, " ", xy, "; ",
                                 xy, " ", yy, "]"));
      if (!(reaction >= 0))
        throw UsageError(
            message("the reaction coefficient c must not be negative; in ", place(mesh, i, j), ", it is ", reaction));
    }
  });
  return cells;
}

std::vector<std::size_t> averaged_cells(Context& ctx, const Geometry& mesh, const Coefficient& coefficient) {
  std::vector<std::size_t> averaged;
  if (coefficient.function) (void)values_on_cells(ctx, mesh, coefficient, "the coefficient", &averaged);
  return averaged;
}

std::vector<double> capacity_on_cells(Context& ctx, const Geometry& mesh, const Coefficient& capacity,
                                      std::vector<std::size_t>* averaged) {
  std::vector<std::size_t> own;
  auto values = values_on_cells(ctx, mesh, capacity, "the capacity", averaged != nullptr ? averaged : &own);
  for (std::size_t n = 0; n < values.size(); ++n) {
    const auto columns = static_cast<std::size_t>(mesh.logical().x().size());
    if (!(values[n] > 0))
      throw UsageError(message("the capacity must be positive; in ",
                               place(mesh, static_cast<int>(n % columns), static_cast<int>(n / columns)), ", it is ",
                               values[n]));
  }
  return values;
}

std::optional<SeparableCoefficients> separated(const CellCoefficients& k) {
  if (!k.xy.empty()) return std::nullopt;
  const auto xx = factors(k.xx, k.nx, k.ny), yy = k.yy.empty() ? xx : factors(k.yy, k.nx, k.ny);
  if (!xx || !yy) return std::nullopt;
  SeparableCoefficients parts{{xx->first, yy->first, {}}, {xx->second, yy->second, {}}};
  if (k.c.empty()) return parts;
  const auto c = factors(k.c, k.nx, k.ny);
  if (!c) return std::nullopt;
  parts.x.c = c->first;
  parts.y.c = c->second;
  return parts;
}

double element_entry(double hx, double hy, double kxx, double kxy, double kyy, double c, int ax, int ay, int bx,
                     int by) {
  const auto s = [](int a, int b) { return a == b ? 1.0 : -1.0; };
  const auto m = [](int a, int b) { return a == b ? 1.0 / 3 : 1.0 / 6; };
  const auto d = [](int a) { return a == 0 ? -0.5 : 0.5; };
  return kxx * (hy / hx) * s(ax, bx) * m(ay, by) + kyy * (hx / hy) * m(ax, bx) * s(ay, by) +
         kxy * (d(ax) * d(by) + d(bx) * d(ay)) + c * hx * hy * m(ax, bx) * m(ay, by);
}

}  // namespace stratum
