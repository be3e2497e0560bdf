#include <stratum/multigrid/box_deflation.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <stratum/assembly/geometry.hpp>
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

IsolatedBodies::IsolatedBodies(const TensorMesh<3>& mesh, const std::vector<double>& k) {
  const auto [least, most] = std::minmax_element(k.begin(), k.end());
  const double above = std::sqrt(*least) * std::sqrt(*most);
  jump = *most / *least;
  if (jump < BoxDeflation::jump_for_vectors) return;
  using Place = std::array<int, 3>;
  Place cells{}, nodes{};
  for (int d = 0; d < 3; ++d) {
    cells[static_cast<std::size_t>(d)] = mesh.axis(d).size();
    nodes[static_cast<std::size_t>(d)] = mesh.axis(d).unknowns();
  }
  const auto number_of = [](const Place& at, const Place& n) {
    return (static_cast<std::size_t>(at[2]) * static_cast<std::size_t>(n[1]) + static_cast<std::size_t>(at[1])) *
               static_cast<std::size_t>(n[0]) +
           static_cast<std::size_t>(at[0]);
  };
  const auto place_of = [](std::size_t number, const Place& n) {
    const auto nx = static_cast<std::size_t>(n[0]), ny = static_cast<std::size_t>(n[1]);
    return Place{static_cast<int>(number % nx), static_cast<int>(number / nx % ny), static_cast<int>(number / nx / ny)};
  };
  // use(number, beyond) for the 27 of n beside `at` and itself; beyond[d]: -1 or 1 where it lies outside, without a number.
  const auto visit = [&mesh, &number_of](const Place& at, const Place& n, const auto& use) {
    for (int o = -box_neighbours; o <= box_neighbours; ++o) {
      const BoxOffset offset(o);
      Place to{at[0] + offset.x, at[1] + offset.y, at[2] + offset.z}, beyond{};
      for (std::size_t d = 0; d < 3; ++d) {
        if (mesh.axis(static_cast<int>(d)).is_periodic()) to[d] = (to[d] + n[d]) % n[d];
        beyond[d] = to[d] < 0 ? -1 : to[d] >= n[d] ? 1 : 0;
      }
      use(beyond == Place{} ? number_of(to, n) : 0, beyond);
    }
  };
  std::vector<char> left(k.size());
  std::transform(k.begin(), k.end(), left.begin(), [above](double value) { return value > above ? 1 : 0; });
  std::vector<std::size_t> body, unknowns;
  for (std::size_t start = 0; start < left.size(); ++start) {
    if (left[start] == 0) continue;
    left[start] = 0;
    body.assign(1, start);
    bool isolated = true;
    for (std::size_t next = 0; next < body.size(); ++next)
      visit(place_of(body[next], cells), cells, [&](std::size_t cell, const Place& beyond) {
        for (std::size_t d = 0; d < 3; ++d) {
          const Axis& axis = mesh.axis(static_cast<int>(d));
          if (beyond[d] != 0 &&
              (beyond[d] < 0 ? axis.first_boundary() : axis.last_boundary()) == BoundaryType::dirichlet)
            isolated = false;
        }
        if (beyond != Place{} || left[cell] == 0) return;
        left[cell] = 0;
        body.push_back(cell);
      });
    if (!isolated) continue;
    if (count == 0) of_unknown.assign(static_cast<std::size_t>(mesh.unknowns().extents.nodes()), -1);
    for (const std::size_t cell : body) {
      const Place at = place_of(cell, cells);
      for (int corner = 0; corner < 8; ++corner) {
        Place node{at[0] + corner % 2, at[1] + corner / 2 % 2, at[2] + corner / 4};
        for (std::size_t d = 0; d < 3; ++d) node[d] = unknown_at(mesh.axis(static_cast<int>(d)), node[d]);
        const std::size_t number = number_of(node, nodes);
        if (of_unknown[number] < 0) unknowns.push_back(number);
        of_unknown[number] = count;
      }
    }
    ++count;
  }
  if (count == 0) return;
  on_surface.assign(of_unknown.size(), 0);
  for (const std::size_t own : unknowns)
    visit(place_of(own, nodes), nodes, [&](std::size_t other, const Place& beyond) {
      if (beyond != Place{}) {
        on_surface[own] = 1;
      } else if (of_unknown[other] != of_unknown[own]) {
        on_surface[own] = on_surface[other] = 1;
      }
    });
  surface_unknowns = static_cast<std::size_t>(std::count(on_surface.begin(), on_surface.end(), 1));
}

std::size_t IsolatedBodies::bytes(const BoxShape& shape) const {
  constexpr std::size_t of_row = box_row * (sizeof(double) + sizeof(int)), of_rank = 5 * sizeof(double), beside = 64;
  const auto unknowns = static_cast<std::size_t>(shape.n.nodes());
  return shape.is_slab() ? unknowns * (of_row + of_rank) : unknowns * beside + surface_unknowns * 2 * of_row;
}

BoxDeflation make_box_deflation(Context& ctx, const BoxCoefficients& coefficients, const IsolatedBodies& bodies) {
  Context host(Backend::cpu, ctx.threads());
  const BoxMatrix<double> cells = BoxCells<double>(host, coefficients, true);
  const BoxShape shape = cells.shape();
  const bool slab = shape.is_slab();
  std::vector<double> sums(static_cast<std::size_t>(shape.n.nodes()), 0.0);
  SparseRows a;
  cells.with_rows([&](const auto& rows) {
    const auto fill = [&](int i, int j, int k, double(&row)[box_row]) {
      const auto own = static_cast<std::size_t>((std::int64_t{k} * shape.n.ny + j) * shape.n.nx + i);
      double diagonal = sums[own] = rows.row(i, j, k, row);
      for (int e = 0; e < box_row; ++e)
        if (e != box_neighbours) diagonal -= row[e];
      row[box_neighbours] = diagonal;
    };
    a = sparse_rows_of_box(shape.n, fill, slab, slab ? std::vector<char>() : bodies.on_surface);
  });
  if (slab) return make_box_deflation(ctx, a, shape, sums);
  const Deflation deflation(ctx, a, rows_of(shape), vectors_of_domains(bodies.of_unknown), sums);
  const bool two_parts = bodies.jump >= BoxDeflation::jump_for_two_parts && deflation.has_cores();
  return {std::make_unique<DeflatedCg>(ctx, deflation, DeflatedCgParams{.two_parts = two_parts}), bodies.count};
}

}  // namespace stratum
