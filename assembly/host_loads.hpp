#pragma once

// Load vectors on the host, b_i = integral of f phi_i, by Gauss rules: common code of the sources of this folder. Row j of
// unknowns gathers from the rows of cells beside it. Hence rows are independent, and sums have a fixed order.

#include <cstddef>
#include <vector>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/poisson_problem.hpp>

namespace stratum::detail {

/// The unknowns of a rectangle of the host's: row j, x fastest. Of a subdomain rows from `first` on, numbered as all of them
/// are.
struct HostGrid {
  int nx, ny, first;
  std::vector<double> values;
  HostGrid(int nx_, int ny_, int first_ = 0)
      : nx(nx_), ny(ny_), first(first_), values(static_cast<std::size_t>(nx_) * static_cast<std::size_t>(ny_), 0.0) {}
  [[nodiscard]] int end() const { return first + ny; }
  [[nodiscard]] bool has(int j) const { return j >= first && j < end(); }
  double& operator()(int i, int j) {
    return values[static_cast<std::size_t>(j - first) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i)];
  }
};

/// b_i += the integral of f phi_i by `rule`.
template <class Rule>
void add_load(Context& ctx, const Geometry& mesh, const Rule& rule, const ScalarFunction& f, HostGrid& b) {
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  for_each_row(
      ctx, b.ny,
      [&](int own_row, const ScalarFunction& own) {
        const int j = b.first + own_row;
        for (int upper = 0; upper < 2; ++upper) {
          int cell_y = j + y.first_unknown() - 1 + upper;
          if (cell_y < 0 && y.is_periodic()) cell_y = y.size() - 1;
          if (cell_y < 0 || cell_y == y.size()) continue;
          for (int cell_x = 0; cell_x < x.size(); ++cell_x) {
            const CellPoints cell = mesh.cell(cell_x, cell_y);
            double left = 0, right = 0;
            for (const auto& [s, weight_y] : rule) {
              const double phi_y = weight_y * (upper == 1 ? 1 - s : s);
              for (const auto& [t, weight_x] : rule) {
                const double value =
                    phi_y * weight_x * cell.measure(t, s) * evaluate(own, cell.at(t, s), "right-hand side");
                left += value * (1 - t);
                right += value * t;
              }
            }
            if (const int i = unknown_at(x, cell_x); i >= 0) b(i, j) += left;
            if (const int i = unknown_at(x, cell_x + 1); i >= 0) b(i, j) += right;
          }
        }
      },
      f);
}

}  // namespace stratum::detail
