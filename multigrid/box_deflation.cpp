#include <stratum/multigrid/box_deflation.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/operators/box_sparse_rows.hpp>
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

/// The largest sum of what couples a node by the smallest, of all ranks. The diagonal of row k stands in column `before` + k.
double jump_of(const Context& ctx, const SparseRows& a, int before) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(a.rows); ++k) {
    double coupled = 0;
    for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e)
      if (a.column[e] != static_cast<int>(k) + before) coupled += std::abs(a.value[e]);
    if (coupled == 0) continue;
    least = std::min(least, coupled);
    most = std::max(most, coupled);
  }
  if (ctx.subdomains() > 1)
    for (const auto& [least_of_rank, most_of_rank] : ctx.communicator()->gather_on_host(std::array{least, most})) {
      least = std::min(least, least_of_rank);
      most = std::max(most, most_of_rank);
    }
  return most > 0 ? most / least : 1;
}

}  // namespace

bool are_even(const std::array<GatedAxis, 3>& axes) { return std::all_of(axes.begin(), axes.end(), is_even); }

BoxDeflation make_box_deflation(Context& ctx, const SparseRows& a, const BoxShape& shape,
                                std::span<const double> sums) {
  const int plane = shape.n.nx * shape.n.ny;
  const double jump = jump_of(ctx, a, shape.is_slab() ? plane : 0);
  if (jump < BoxDeflation::jump_for_vectors) return {};
  // A plane of a slab is a row of these.
  GridLayout<2> planes, all;
  planes.nx = all.nx = plane;
  planes.ny = shape.n.nz;
  all.ny = shape.all_planes();
  planes.origin_y = shape.slab.first;
  all.origin_y = 0;
  planes.below = shape.slab.before > 0;
  planes.above = shape.slab.behind > 0;
  const Inclusions found = shape.is_slab() ? inclusions(*ctx.communicator(), a, planes, all) : inclusions(a);
  BoxDeflation made;
  made.count = found.floating();
  if (made.count == 0 || made.count > BoxDeflation::most_vectors) return {};
  std::vector<int> number(found.grounded.size(), -1), domain(static_cast<std::size_t>(a.rows), -1);
  const std::size_t first = static_cast<std::size_t>(shape.slab.first) * static_cast<std::size_t>(plane);
  int next = 0;
  for (std::size_t part = 0; part < number.size(); ++part)
    if (found.grounded[part] == 0) number[part] = next++;
  for (std::size_t k = 0; k < domain.size(); ++k)
    if (const int part = found.of_unknown[first + k]; part >= 0) domain[k] = number[static_cast<std::size_t>(part)];
  const Deflation deflation(ctx, a, rows_of(shape), vectors_of_domains(domain, made.count), sums, planes);
  made.solver = std::make_unique<DeflatedCg>(
      ctx, deflation, DeflatedCgParams{.two_parts = jump >= BoxDeflation::jump_for_two_parts && deflation.has_cores()});
  return made;
}

std::size_t bytes_of_box_deflation(const BoxShape& shape) {
  constexpr std::size_t of_entry = sizeof(double) + sizeof(int), beside = 5 * sizeof(double);
  return static_cast<std::size_t>(shape.n.nodes()) * (box_row * of_entry + beside);
}

int isolated_bodies(const TensorMesh<3>& mesh, const std::vector<double>& k) {
  const auto [least, most] = std::minmax_element(k.begin(), k.end());
  const double above = std::sqrt(*least) * std::sqrt(*most);
  std::array<int, 3> n{};
  for (int d = 0; d < 3; ++d) n[static_cast<std::size_t>(d)] = mesh.axis(d).size();
  std::vector<char> left(k.size());
  std::transform(k.begin(), k.end(), left.begin(), [above](double value) { return value > above ? 1 : 0; });
  int bodies = 0;
  std::vector<std::size_t> open;
  for (std::size_t start = 0; start < left.size(); ++start) {
    if (left[start] == 0) continue;
    left[start] = 0;
    open.assign(1, start);
    bool isolated = true;
    while (!open.empty()) {
      const auto cell = static_cast<int>(open.back());
      open.pop_back();
      const std::array<int, 3> at{cell % n[0], cell / n[0] % n[1], cell / n[0] / n[1]};
      for (int o = -box_neighbours; o <= box_neighbours; ++o) {
        const BoxOffset offset(o);
        std::array<int, 3> to{at[0] + offset.x, at[1] + offset.y, at[2] + offset.z};
        bool inside = true;
        for (std::size_t d = 0; d < 3; ++d) {
          const Axis& axis = mesh.axis(static_cast<int>(d));
          if (axis.is_periodic()) to[d] = (to[d] + n[d]) % n[d];
          if (to[d] >= 0 && to[d] < n[d]) continue;
          inside = false;
          if ((to[d] < 0 ? axis.first_boundary() : axis.last_boundary()) == BoundaryType::dirichlet) isolated = false;
        }
        if (!inside) continue;
        const auto next =
            (static_cast<std::size_t>(to[2]) * static_cast<std::size_t>(n[1]) + static_cast<std::size_t>(to[1])) *
                static_cast<std::size_t>(n[0]) +
            static_cast<std::size_t>(to[0]);
        if (left[next] == 0) continue;
        left[next] = 0;
        open.push_back(next);
      }
    }
    if (isolated) ++bodies;
  }
  return bodies;
}

BoxDeflation make_box_deflation(Context& ctx, const BoxCoefficients& coefficients, bool scalar) {
  Context host(Backend::cpu, ctx.threads());
  const BoxMatrix<double> cells = BoxCells<double>(host, coefficients, scalar);
  const BoxShape shape = cells.shape();
  std::vector<double> sums;
  sums.reserve(static_cast<std::size_t>(shape.n.nodes()));
  SparseRows a;
  cells.with_rows([&](const auto& rows) {
    a = sparse_rows_of_box(
        shape.n,
        [&](int i, int j, int k, double(&row)[box_row]) {
          double diagonal = rows.row(i, j, k, row);
          sums.push_back(diagonal);
          for (int e = 0; e < box_row; ++e)
            if (e != box_neighbours) diagonal -= row[e];
          row[box_neighbours] = diagonal;
        },
        shape.is_slab());
  });
  return make_box_deflation(ctx, a, shape, sums);
}

}  // namespace stratum
