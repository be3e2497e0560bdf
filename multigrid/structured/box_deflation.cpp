#include <stratum/multigrid/structured/box_deflation.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <stratum/multigrid/box_multigrid.hpp>
#include <stratum/multigrid/inclusions.hpp>
#include <stratum/solvers/deflation/deflated_cg.hpp>

namespace stratum {

namespace {

bool is_even(const GatedAxis& axis) {
  constexpr double most = 1.5;
  const auto& h = axis.widths;
  for (std::size_t i = 1; i < h.size(); ++i)
    if (std::max(h[i], h[i - 1]) > most * std::min(h[i], h[i - 1])) return false;
  return true;
}

/// The largest sum of what couples a node by the smallest.
double jump_of(const SparseRows& a) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(a.rows); ++k) {
    double coupled = 0;
    for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e)
      if (a.column[e] != static_cast<int>(k)) coupled += std::abs(a.value[e]);
    if (coupled == 0) continue;
    least = std::min(least, coupled);
    most = std::max(most, coupled);
  }
  return most > 0 ? most / least : 1;
}

/// The same of couplings to later nodes alone, without rows.
bool may_jump(const BoxRows& rows) {
  constexpr double of_places = 30;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::size_t k = 0; k < rows.bands[0].size(); ++k) {
    double coupled = 0;
    for (std::size_t n = 1; n < rows.bands.size(); ++n) coupled += std::abs(rows.bands[n][k]);
    if (coupled == 0) continue;
    least = std::min(least, coupled);
    most = std::max(most, coupled);
  }
  return most * of_places > BoxDeflation::jump_for_vectors * least;
}

SparseRows rows_of_bands(const BoxRows& rows) {
  const auto& [nx, ny, nz] = rows.shape.n;
  SparseRows a;
  a.rows = a.columns = static_cast<int>(rows.shape.n.nodes());
  std::vector<std::pair<int, double>> row;
  const std::array<int, 3> n{nx, ny, nz};
  for (int k = 0; k < a.rows; ++k) {
    const std::array<int, 3> here{k % nx, k / nx % ny, k / nx / ny};
    row.clear();
    double diagonal = rows.bands[0][static_cast<std::size_t>(k)];
    for (int o = -box_neighbours; o <= box_neighbours; ++o) {
      if (o == 0) continue;
      const BoxOffset offset(o);
      std::array<int, 3> there{here[0] + offset.x, here[1] + offset.y, here[2] + offset.z};
      bool is_there = true;
      for (std::size_t d = 0; d < 3; ++d) {
        is_there = is_there && rows.shape.has(static_cast<int>(d), there[d]);
        there[d] = (there[d] + n[d]) % n[d];
      }
      if (!is_there) continue;
      const int other = (there[2] * ny + there[1]) * nx + there[0];
      const double v = rows.bands[static_cast<std::size_t>(std::abs(o))][static_cast<std::size_t>(o > 0 ? k : other)];
      if (v == 0) continue;
      row.emplace_back(other, v);
      diagonal -= v;
    }
    row.emplace_back(k, diagonal);
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) {
      a.column.push_back(column);
      a.value.push_back(value);
    }
    a.start.push_back(static_cast<int>(a.column.size()));
  }
  return a;
}

}  // namespace

BoxDeflation make_box_deflation(Context& ctx, const BoxRows& rows) {
  if (rows.singular || !std::all_of(rows.gate.begin(), rows.gate.end(), is_even) || !may_jump(rows)) return {};
  const SparseRows a = rows_of_bands(rows);
  const double jump = jump_of(a);
  if (jump < BoxDeflation::jump_for_vectors) return {};
  const Inclusions found = inclusions(a);
  BoxDeflation made;
  made.count = found.floating();
  if (made.count == 0 || made.count > BoxDeflation::most_vectors) return {};
  std::vector<int> number(found.grounded.size(), -1), domain(found.of_unknown.size(), -1);
  int next = 0;
  for (std::size_t part = 0; part < number.size(); ++part)
    if (found.grounded[part] == 0) number[part] = next++;
  for (std::size_t k = 0; k < domain.size(); ++k)
    if (found.of_unknown[k] >= 0) domain[k] = number[static_cast<std::size_t>(found.of_unknown[k])];
  const Deflation deflation(ctx, a, rows_of(rows.shape), vectors_of_domains(domain), rows.bands[0]);
  made.solver = std::make_unique<DeflatedCg>(
      ctx, deflation, DeflatedCgParams{.two_parts = jump >= BoxDeflation::jump_for_two_parts && deflation.has_cores()});
  return made;
}

}  // namespace stratum
