#include <stratum/assembly/corner_leaks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <stratum/assembly/cellwise_solution.hpp>
#include <stratum/assembly/corner_cells.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

using detail::CellwiseSolution;

/// A node, and of the two cells there that conduct well the lower one, in which it has this corner.
struct Contact {
  int i, j;
  int cell_x, cell_y;
  std::size_t corner;
};

bool may_have_contacts(const CellCoefficients& cells) {
  const auto [xx_low, xx_high] = std::minmax_element(cells.xx.begin(), cells.xx.end());
  const std::vector<double>& yy = cells.yy.empty() ? cells.xx : cells.yy;
  const auto [yy_low, yy_high] = std::minmax_element(yy.begin(), yy.end());
  return std::max(*xx_high, *yy_high) >= CornerLeaks::contrast * std::min(*xx_low, *yy_low);
}

std::vector<Contact> contacts_of(Context& ctx, const Geometry& mesh, const CellCoefficients& cells) {
  if (!may_have_contacts(cells)) return {};
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  const BodyMap* const bodies = cells.bodies.get();
  std::vector<std::vector<Contact>> rows(static_cast<std::size_t>(y.size()) + 1);
  const auto live = [&](int p, int q) { return bodies == nullptr || bodies->cell_at(p, q) == BodyMap::live; };
  for_each_row(ctx, y.size() + 1, [&](int j) {
    const int below = detail::cell_beside(y, j, true), above = detail::cell_beside(y, j, false);
    if (below < 0 || above < 0 || !detail::counts(y, j)) return;
    for (int i = 0; i <= x.size(); ++i) {
      const int before = detail::cell_beside(x, i, true), behind = detail::cell_beside(x, i, false);
      if (before < 0 || behind < 0 || !detail::counts(x, i)) continue;
      if (bodies != nullptr && !bodies->node.empty() && bodies->node_at(i, j) != BodyMap::unknown) continue;
      const auto least = [&](int p, int q) { return live(p, q) ? std::min(cells.kxx(p, q), cells.kyy(p, q)) : 0; };
      const auto most = [&](int p, int q) { return live(p, q) ? std::max(cells.kxx(p, q), cells.kyy(p, q)) : 0; };
      const auto leaks = [&](int lower, int upper) {
        return (live(upper, below) || live(lower, above)) &&
               std::min(least(lower, below), least(upper, above)) >=
                   CornerLeaks::contrast * std::max(most(upper, below), most(lower, above));
      };
      if (leaks(before, behind))
        rows[static_cast<std::size_t>(j)].push_back({i, j, before, below, 3});
      else if (leaks(behind, before))
        rows[static_cast<std::size_t>(j)].push_back({i, j, behind, below, 2});
    }
  });
  std::vector<Contact> found;
  for (const auto& row : rows) found.insert(found.end(), row.begin(), row.end());
  return found;
}

/// Sums over nodes of |sum of r_i| / 2, of the rows of cells between these nodes; of the nodes of the last row but of the whole
/// mesh others have the sum.
double flow_of(Context& ctx, const Geometry& mesh, const CellwiseSolution& u, NodeRows rows, bool is_part) {
  const bool periodic = mesh.logical().y().is_periodic(), around = mesh.logical().x().is_periodic();
  const auto nodes = static_cast<std::size_t>(u.nx()) + 1, count = static_cast<std::size_t>(rows.last - rows.first);
  // Of the lower and the upper nodes of each row of cells.
  std::vector<double> lower(nodes * count, 0.0), upper(lower);
  for_each_row(ctx, rows.last - rows.first, [&](int row) {
    double *const low = &lower[nodes * static_cast<std::size_t>(row)],
                  *const up = &upper[nodes * static_cast<std::size_t>(row)];
    for (int i = 0; i < u.nx(); ++i) {
      if (!u.is_live(i, rows.first + row)) continue;
      const auto r = u.diffusion(i, rows.first + row).sums;
      low[i] += r[0];
      low[i + 1] += r[1];
      up[i] += r[2];
      up[i + 1] += r[3];
    }
    for (double* const sums : {low, up})
      if (around) sums[0] += std::exchange(sums[u.nx()], 0.0);
  });
  // The last upper nodes of all subdomains, behind the number of their row.
  std::vector<double> last{static_cast<double>(rows.last)};
  last.insert(last.end(), upper.end() - static_cast<std::ptrdiff_t>(nodes), upper.end());
  if (is_part) last = ctx.communicator()->join_on_host(last);
  const auto below = [&](std::size_t row) -> const double* {
    if (row > 0) return &upper[nodes * (row - 1)];
    const int wanted = rows.first > 0 ? rows.first : u.ny();
    if (rows.first == 0 && !periodic) return nullptr;
    for (std::size_t k = 0; k < last.size(); k += nodes + 1)
      if (last[k] == wanted) return &last[k + 1];
    return nullptr;
  };
  double sum = 0;
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t i = 0; i < nodes; ++i) {
      const double* const other = below(row);
      sum += std::abs(lower[nodes * row + i] + (other != nullptr ? other[i] : 0)) / 2;
    }
  if (rows.last == u.ny() && !periodic)
    for (std::size_t i = 0; i < nodes; ++i) sum += std::abs(upper[nodes * (count - 1) + i]) / 2;
  return sum;
}

}  // namespace

std::string CornerLeaks::warning() const {
  if (nodes == 0 || !(leak > negligible * flow)) return "";
  return message("cells that conduct well touch each other in corners alone at ", nodes,
                 nodes == 1 ? " node, (" : " nodes, the first of them (", x, ", ", y,
                 "), between cells of which K is 1/", contrast, " of theirs or less: elements let u leak through ",
                 nodes == 1 ? "it. The flow there is " : "them. The flows there add up to ", leak,
                 ", and all sources give off ", flow,
                 ". Refine the mesh until what separates the cells is some cells thick, and compare with finite "
                 "volumes (discretisation fv), which do not leak");
}

CornerLeaks corner_leaks(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                         const GridFunction<const double>& of_u, const CellCoefficients* cells) {
  CornerLeaks found;
  if (cells == nullptr) return found;
  const std::vector<Contact> contacts = contacts_of(ctx, mesh, *cells);
  if (contacts.empty()) return found;
  const NodeRows rows = node_rows(mesh.logical(), layout_of(mesh.logical(), of_u));
  const auto nodal = nodal_solution(ctx, mesh, problem, of_u);
  const CellwiseSolution u(mesh, problem, detail::nodal_values_of(nodal, mesh, rows.first), cells);
  const Point first = mesh.node(contacts.front().i, contacts.front().j);
  found = {static_cast<std::int64_t>(contacts.size()), first.x, first.y};
  double known = 0;  // |entries| |u|, of which rounding is a part
  for (const Contact& at : contacts) {
    if (at.cell_y < rows.first || at.cell_y >= rows.last) continue;
    const CellwiseSolution::Diffusion r = u.diffusion(at.cell_x, at.cell_y);
    found.leak += std::abs(r.sums[at.corner]);
    known += r.along_x[at.corner] + r.along_y[at.corner];
  }
  found.flow = flow_of(ctx, mesh, u, rows, of_u.is_part());
  if (of_u.is_part()) {
    const auto all = ctx.communicator()->join_on_host(std::vector<double>{found.leak, found.flow, known});
    found.leak = found.flow = known = 0;
    for (std::size_t k = 0; k < all.size(); k += 3) {
      found.leak += all[k];
      found.flow += all[k + 1];
      known += all[k + 2];
    }
  }
  constexpr double rounding = 1e-12;
  if (!(found.leak > rounding * known)) found.leak = found.flow = 0;
  return found;
}

}  // namespace stratum
