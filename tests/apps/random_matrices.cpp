// Matrices by the C interface (random_systems.cpp): five points with regions, rooms, identity rows, penalties and scaled rows.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <stratum/stratum.h>

#include "random_systems.hpp"

namespace random_test {

Verdict solve_matrix(Chance& chance, bool mild) {
  const int nx = chance.integer(2, 15), ny = chance.integer(2, 15), n = nx * ny;
  const double decades = mild ? 1 : 4;
  const auto at = [nx](int i, int j) { return static_cast<std::size_t>(j * nx + i); };
  std::string story = "C, " + std::to_string(nx) + " x " + std::to_string(ny);
  // Conductances by regions; a wall without any makes two rooms.
  const int regions = chance.integer(1, 3);
  std::vector<double> of_region;
  for (int r = 0; r < regions; ++r) of_region.push_back(scale(chance, decades));
  std::vector<int> region(static_cast<std::size_t>(n));
  const bool blocks = chance.once_in(2);
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) region[at(i, j)] = blocks ? (i / 3 + j / 3) % regions : chance.integer(0, regions - 1);
  const int wall = !mild && chance.once_in(4) ? chance.integer(1, nx - 1) : 0;
  if (wall > 0) story += ", a wall at " + std::to_string(wall);
  std::vector<std::map<int, double>> rows(static_cast<std::size_t>(n));
  const auto link = [&](std::size_t k, std::size_t l, double weight) {
    rows[k][static_cast<int>(l)] -= weight;
    rows[l][static_cast<int>(k)] -= weight;
    rows[k][static_cast<int>(k)] += weight;
    rows[l][static_cast<int>(l)] += weight;
  };
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const double own = of_region[static_cast<std::size_t>(region[at(i, j)])];
      rows[at(i, j)][static_cast<int>(at(i, j))] += 0;
      if (i + 1 < nx && i + 1 != wall)
        link(at(i, j), at(i + 1, j), 2 / (1 / own + 1 / of_region[static_cast<std::size_t>(region[at(i + 1, j)])]));
      if (j + 1 < ny)
        link(at(i, j), at(i, j + 1), 2 / (1 / own + 1 / of_region[static_cast<std::size_t>(region[at(i, j + 1)])]));
    }
  std::vector<double> b(static_cast<std::size_t>(n));
  for (double& value : b) value = Chance::rounded(chance.real(-1, 1));
  // What holds u: boundaries, sinks, penalties.
  const auto hold = [&](std::size_t k, double weight) { rows[k][static_cast<int>(k)] += weight; };
  const bool boundaries = chance.once_in(2);
  if (boundaries)
    for (int j = 0; j < ny; ++j) {
      hold(at(0, j), of_region[static_cast<std::size_t>(region[at(0, j)])]);
      hold(at(nx - 1, j), of_region[static_cast<std::size_t>(region[at(nx - 1, j)])]);
    }
  if (chance.once_in(3)) {
    const double sink = scale(chance, mild ? 1 : 8);
    story += ", a sink of " + text_of(sink);
    for (int k = 0; k < n; ++k)
      if (!mild || region[static_cast<std::size_t>(k)] == 0) hold(static_cast<std::size_t>(k), sink);
  }
  const int penalties = !mild && chance.once_in(2) ? chance.integer(1, 4) : 0;
  for (int k = 0; k < penalties; ++k) {
    const auto row = static_cast<std::size_t>(chance.integer(0, n - 1));
    const double weight = chance.magnitude(1e2, 1e12);
    story += ", a penalty of " + text_of(weight) + " in row " + std::to_string(row);
    hold(row, weight);
    b[row] = weight * Chance::rounded(chance.real(-1, 1));
  }
  if (!mild && chance.once_in(3)) {  // solids
    const int i0 = chance.integer(0, nx - 1), j0 = chance.integer(0, ny - 1), width = chance.integer(1, 4);
    const bool columns = chance.once_in(2);
    story += ", identity rows from (" + std::to_string(i0) + ", " + std::to_string(j0) + ")";
    for (int j = j0; j < std::min(ny, j0 + width); ++j)
      for (int i = i0; i < std::min(nx, i0 + width); ++i) {
        const auto row = static_cast<std::size_t>(at(i, j));
        if (columns)
          for (const auto& [l, value] : rows[row])
            if (l != static_cast<int>(row)) rows[static_cast<std::size_t>(l)].erase(static_cast<int>(row));
        rows[row] = {{static_cast<int>(row), 1.0}};
      }
  }
  // Connected parts, by entries; each that nothing holds is held by one node.
  std::vector<int> part(static_cast<std::size_t>(n), -1);
  std::vector<std::vector<std::size_t>> parts;
  std::vector<std::vector<std::size_t>> beside(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (const auto& [l, value] : rows[k])
      if (value != 0 && l != static_cast<int>(k) && rows[static_cast<std::size_t>(l)].size() > 1) {
        beside[k].push_back(static_cast<std::size_t>(l));
        beside[static_cast<std::size_t>(l)].push_back(k);
      }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (part[k] >= 0) continue;
    std::vector<std::size_t> members{k};
    part[k] = static_cast<int>(parts.size());
    for (std::size_t m = 0; m < members.size(); ++m)
      for (const std::size_t l : beside[members[m]])
        if (part[l] < 0) {
          part[l] = part[k];
          members.push_back(l);
        }
    double excess = 0, largest = 0;
    for (const std::size_t m : members) {
      double sum = 0, entries = 0;
      for (const auto& [l, value] : rows[m]) {
        sum += value;
        entries += std::abs(value);
      }
      excess = std::max(excess, entries > 0 ? sum / entries : 0);
      largest = std::max(largest, rows[m][static_cast<int>(m)]);
    }
    if (!(excess > 1e-6)) hold(members.front(), largest > 0 ? largest : 1);
    parts.push_back(std::move(members));
  }
  if (!mild && chance.once_in(4)) {  // rows in other units
    story += ", scaled rows";
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const double d = scale(chance, 8);
      for (auto& [l, value] : rows[k]) value *= d;
      b[k] *= d;
    }
  }
  std::vector<int> start{0}, column;
  std::vector<double> value, x(static_cast<std::size_t>(n), 0.0);
  Matrix a(static_cast<std::size_t>(n));
  Wides wide_b;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    for (const auto& [l, entry] : rows[k]) {
      column.push_back(l);
      value.push_back(entry);
      a(k, static_cast<std::size_t>(l)) = entry;
    }
    start.push_back(static_cast<int>(column.size()));
    wide_b.emplace_back(b[k]);
  }
  stratum_options options = stratum_default_options();
  options.single_precision = chance.once_in(2) ? 1 : 0;
  stratum_solver* const solver =
      stratum_create_csr(n, start.data(), column.data(), value.data(), nx, ny, nullptr, nullptr, &options);
  stratum_result result{};
  const stratum_status status = stratum_solve(solver, b.data(), x.data(), &result);
  Verdict verdict{story, "status " + std::to_string(status), {}};
  Complaints complaints;
  complaints.check(status == STRATUM_CONVERGED || !mild, std::string("not solved: ") + stratum_last_error(solver));
  stratum_destroy(solver);
  if (status == STRATUM_CONVERGED) {
    const Wides expected = a.solve(wide_b);
    compare(
        complaints, "part", parts, expected, [&x](std::size_t k) { return static_cast<Real>(x[k]); }, right_to);
  }
  verdict.complaints = complaints.list();
  return verdict;
}

}  // namespace random_test
