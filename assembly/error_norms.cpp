#include <stratum/assembly/error_norms.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

using Matrix3 = std::array<std::array<double, 3>, 3>;

/// Row k: the slope at point k of the three quadratic functions that are one at a point and zero at the others.
Matrix3 slopes() {
  Matrix3 d{};
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t l = 0; l < 3; ++l) {
      const std::size_t m = (l + 1) % 3, n = (l + 2) % 3;
      d[k][l] = ((gauss3[k].t - gauss3[m].t) + (gauss3[k].t - gauss3[n].t)) /
                ((gauss3[l].t - gauss3[m].t) * (gauss3[l].t - gauss3[n].t));
    }
  return d;
}

/// Of a function given at the points of cells: its extremes, integral and energy.
struct Sums {
  double smallest = HUGE_VAL, largest = -HUGE_VAL;
  double integral = 0, energy = 0;

  void add(const Sums& other) {
    smallest = std::min(smallest, other.smallest);
    largest = std::max(largest, other.largest);
    integral += other.integral;
    energy += other.energy;
  }
  [[nodiscard]] double farthest_from(double mean) const { return std::max(largest - mean, mean - smallest); }
};

/// d(t, s)/d(x, y) of a cell at a point, and the point's weight.
struct Slopes {
  double tx, ty, sx, sy, weight;
};
using CellSlopes = std::array<Slopes, 9>;

CellSlopes slopes_of(const Geometry& mesh, int i, int j) {
  CellSlopes all{};
  if (mesh.mapped() == nullptr) {
    const double hx = mesh.logical().x().widths()[static_cast<std::size_t>(i)],
                 hy = mesh.logical().y().widths()[static_cast<std::size_t>(j)];
    all.fill({1 / hx, 0, 0, 1 / hy, hx * hy});
  } else {
    const Quadrilateral cell = mesh.mapped()->cell(i, j);
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Jacobian at = cell.derivatives(gauss3[k % 3].t, gauss3[k / 3].t);
      const double det = at.determinant();
      all[k] = {at.ys / det, -at.xs / det, -at.yt / det, at.xt / det, det};
    }
  }
  for (std::size_t k = 0; k < all.size(); ++k) all[k].weight *= gauss3[k % 3].weight * gauss3[k / 3].weight;
  return all;
}

/// Adds those of one cell, `values` by height first, K = [kxx kxy; kxy kyy].
void add_cell(const Matrix3& values, const Matrix3& slope, const CellSlopes& cell, double kxx, double kxy, double kyy,
              double c, Sums& sums) {
  for (std::size_t q = 0; q < 3; ++q)
    for (std::size_t p = 0; p < 3; ++p) {
      const double value = values[q][p];
      const double by_t = slope[p][0] * values[q][0] + slope[p][1] * values[q][1] + slope[p][2] * values[q][2],
                   by_s = slope[q][0] * values[0][p] + slope[q][1] * values[1][p] + slope[q][2] * values[2][p];
      const auto& [tx, ty, sx, sy, weight] = cell[3 * q + p];
      const double by_x = tx * by_t + sx * by_s, by_y = ty * by_t + sy * by_s;
      sums.smallest = std::min(sums.smallest, value);
      sums.largest = std::max(sums.largest, value);
      sums.integral += weight * value;
      sums.energy += weight * (kxx * by_x * by_x + 2 * kxy * by_x * by_y + kyy * by_y * by_y + c * value * value);
    }
}

}  // namespace

std::optional<RelativeErrors> relative_errors(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                              std::span<const double> nodal, const CellCoefficients* cells) {
  if (!problem.has_exact()) return std::nullopt;
  expects_nodal(mesh, nodal);
  const auto own = cells == nullptr ? cell_coefficients(ctx, mesh, problem) : std::nullopt;
  const CellCoefficients* const k = own ? &*own : cells;
  const int cells_x = mesh.logical().x().size(), cells_y = mesh.logical().y().size();
  const auto nodes_x = static_cast<std::size_t>(cells_x) + 1;
  const Matrix3 slope = slopes();
  struct Row {
    Sums error, exact;
    double area = 0;
  };
  std::vector<Row> rows(static_cast<std::size_t>(cells_y));
  for_each_row(
      ctx, cells_y,
      [&](int j, const ScalarFunction& exact) {
        Row row;
        for (int i = 0; i < cells_x; ++i) {
          const double* south = &nodal[static_cast<std::size_t>(j) * nodes_x + static_cast<std::size_t>(i)];
          const double* north = south + nodes_x;
          const CellPoints cell = mesh.cell(i, j);
          Matrix3 e{}, u{};  // by height first
          for (std::size_t q = 0; q < 3; ++q)
            for (std::size_t p = 0; p < 3; ++p) {
              const double t = gauss3[p].t, s = gauss3[q].t;
              u[q][p] = evaluate(exact, cell.at(t, s), "exact solution");
              e[q][p] =
                  (1 - s) * ((1 - t) * south[0] + t * south[1]) + s * ((1 - t) * north[0] + t * north[1]) - u[q][p];
            }
          const double kxx = k ? k->kxx(i, j) : 1, kxy = k ? k->kxy(i, j) : 0, kyy = k ? k->kyy(i, j) : 1,
                       c = problem.reaction + (k ? k->reaction(i, j) : 0);
          const CellSlopes points = slopes_of(mesh, i, j);
          add_cell(e, slope, points, kxx, kxy, kyy, c, row.error);
          add_cell(u, slope, points, kxx, kxy, kyy, c, row.exact);
          for (const auto& point : points) row.area += point.weight;
        }
        rows[static_cast<std::size_t>(j)] = row;
      },
      exact_function(problem));
  Row all;
  for (const Row& row : rows) {
    all.error.add(row.error);
    all.exact.add(row.exact);
    all.area += row.area;
  }
  const bool singular = is_singular(ctx, mesh, problem, k);
  const double mean_error = singular ? all.error.integral / all.area : 0,
               mean_exact = singular ? all.exact.integral / all.area : 0;
  const auto relative = [](double error, double norm) { return norm > 0 ? error / norm : error; };
  return RelativeErrors{
      relative(all.error.farthest_from(mean_error), all.exact.farthest_from(mean_exact)),
      relative(std::sqrt(std::max(0.0, all.error.energy)), std::sqrt(std::max(0.0, all.exact.energy)))};
}

LevelDifference level_difference(const Geometry& coarse_mesh, std::span<const double> coarse,
                                 std::span<const double> fine) {
  expects_nodal(coarse_mesh, coarse);
  expects_nodal(coarse_mesh, fine, 2);
  const int cells_x = coarse_mesh.logical().x().size(), cells_y = coarse_mesh.logical().y().size();
  const auto coarse_at = [&](int i, int j) {
    return coarse[static_cast<std::size_t>(j) * (static_cast<std::size_t>(cells_x) + 1) + static_cast<std::size_t>(i)];
  };
  const auto fine_at = [&](int i, int j) {
    return fine[static_cast<std::size_t>(2 * j) * (static_cast<std::size_t>(2 * cells_x) + 1) +
                static_cast<std::size_t>(2 * i)];
  };
  double difference = 0, norm = 0, largest = 0, largest_value = 0;
  for (int j = 0; j < cells_y; ++j)
    for (int i = 0; i < cells_x; ++i) {
      const double area = coarse_mesh.cell(i, j).measure(0.5, 0.5);  // linear in t and in s
      for (const auto& [p, q] : {std::pair{i, j}, {i + 1, j}, {i, j + 1}, {i + 1, j + 1}}) {
        const double value = fine_at(p, q), d = coarse_at(p, q) - value;
        difference += area / 4 * d * d;
        norm += area / 4 * value * value;
        largest = std::max(largest, std::abs(d));
        largest_value = std::max(largest_value, std::abs(value));
      }
    }
  return {std::sqrt(norm > 0 ? difference / norm : difference), largest_value > 0 ? largest / largest_value : largest};
}

}  // namespace stratum
