// A_ik between unknowns i and Dirichlet nodes k (poisson_problem.hpp).

#include <vector>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/mapped_element.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/problem_boundary.hpp>

namespace stratum {

namespace {

using detail::all_boundaries;
using detail::alpha_at;
using detail::BoundaryOf;
using detail::for_each_dirichlet_node;

/// Entry of 1-D K or M between node i and its neighbour i + d, from the intervals that there are.
double factor(const Axis& line, int i, int d, bool stiffness) {
  const auto width = [&](int k) -> double {
    if (line.is_periodic()) k = (k + line.size()) % line.size();
    return k >= 0 && k < line.size() ? line.widths()[static_cast<std::size_t>(k)] : 0.0;
  };
  const double l = width(i - 1), r = width(i);
  if (d != 0) return stiffness ? -1 / (d < 0 ? l : r) : (d < 0 ? l : r) / 6;
  return stiffness ? (l > 0 ? 1 / l : 0) + (r > 0 ? 1 / r : 0) : (l + r) / 3;
}

/// Entry of A between node (i, j) and its neighbour (i + dx, j + dy), without what alpha adds.
double entry_of(const Geometry& geometry, const CellCoefficients* k, double c, int i, int j, int dx, int dy) {
  const TensorMesh<2>& mesh = geometry.logical();
  const MappedMesh* const mapped = geometry.mapped();
  if (k != nullptr || mapped != nullptr) {
    // The cells that both nodes touch.
    const auto wrapped = [](const Axis& line, int n) {
      return line.is_periodic() ? (n + line.size()) % line.size() : n;
    };
    double entry = 0;
    for (int right = dx < 0 ? 0 : dx; right <= (dx < 0 ? 0 : 1); ++right)
      for (int upper = dy < 0 ? 0 : dy; upper <= (dy < 0 ? 0 : 1); ++upper) {
        const int p = wrapped(mesh.x(), i - 1 + right), q = wrapped(mesh.y(), j - 1 + upper);
        if (p < 0 || p >= mesh.x().size() || q < 0 || q >= mesh.y().size()) continue;
        if (mapped != nullptr) {
          const auto material =
              k ? CellMaterial{k->kxx(p, q), k->kxy(p, q), k->kyy(p, q), k->reaction(p, q) + c} : CellMaterial{.c = c};
          entry += element_of(*mapped, p, q, material).entry(1 - right, 1 - upper, 1 - right + dx, 1 - upper + dy);
          continue;
        }
        const double hx = mesh.x().widths()[static_cast<std::size_t>(p)],
                     hy = mesh.y().widths()[static_cast<std::size_t>(q)];
        entry += element_entry(hx, hy, k->kxx(p, q), k->kxy(p, q), k->kyy(p, q), k->reaction(p, q) + c, 1 - right,
                               1 - upper, 1 - right + dx, 1 - upper + dy);
      }
    return entry;
  }
  const double mx = factor(mesh.x(), i, dx, false), my = factor(mesh.y(), j, dy, false);
  return factor(mesh.x(), i, dx, true) * my + mx * factor(mesh.y(), j, dy, true) + c * mx * my;
}

/// f(n, i, j, A_ik) for the n-th Dirichlet node k in the order of for_each_dirichlet_node and every unknown (i, j) coupled to
/// it. entry(p, q, dx, dy): A between node (p, q) and its neighbour (p + dx, q + dy).
template <class Entry, class F>
void for_each_dirichlet_entry(const Geometry& mesh, const PoissonProblem& problem, const Entry& entry, const F& f) {
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  const auto wrapped = [](const Axis& line, int k) { return line.is_periodic() ? (k + line.size()) % line.size() : k; };
  std::size_t n = 0;
  for_each_dirichlet_node(mesh.logical(), problem.boundaries, [&](int i, int j, const BoundaryCondition& /*boundary*/) {
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int p = wrapped(x, i + dx), q = wrapped(y, j + dy);
        if (p < 0 || p > x.size() || q < 0 || q > y.size()) continue;
        const int column = unknown_at(x, p), row = unknown_at(y, q);
        if (column >= 0 && row >= 0) f(n, column, row, entry(p, q, -dx, -dy));
      }
    ++n;
  });
}

/// `cells`: K and c, c beside `reaction`; K = 1 where there are none.
template <class F>
void for_each_dirichlet_entry(const Geometry& mesh, const PoissonProblem& problem, const CellCoefficients* cells,
                              double reaction, const F& f) {
  for_each_dirichlet_entry(
      mesh, problem, [&](int p, int q, int dx, int dy) { return entry_of(mesh, cells, reaction, p, q, dx, dy); }, f);
}

/// The same for what alpha adds: along a Robin boundary it couples the first and the last unknown to the Dirichlet nodes at its
/// corners.
template <class F>
void for_each_dirichlet_alpha(const Geometry& mesh, const PoissonProblem& problem, const F& f) {
  for (const BoundaryOf& boundary : all_boundaries(problem.boundaries)) {
    if (!has_alpha(boundary.condition.kind)) continue;
    const auto [direction, last] = boundary.place;
    const Axis &along = mesh.along(boundary.place), &across = mesh.across(boundary.place);
    const int line = last ? across.unknowns() - 1 : 0;
    for (const bool end : {false, true}) {
      if ((end ? along.last_boundary() : along.first_boundary()) != BoundaryType::dirichlet || along.unknowns() == 0)
        continue;
      const int interval = end ? along.size() - 1 : 0;
      double coupling = 0;
      for (const auto& [t, weight] : gauss4)
        coupling += weight * mesh.measure_on_side(boundary.place, interval, t) * t * (1 - t) *
                    alpha_at(mesh, boundary, interval, t);
      const int corner = end ? along.size() : 0, other = last ? across.size() : 0;
      const bool row = direction == Direction::x;
      const int unknown = end ? along.unknowns() - 1 : 0;
      // The number of the node at (corner, other).
      std::size_t n = 0, found = 0;
      for_each_dirichlet_node(mesh.logical(), problem.boundaries,
                              [&](int i, int j, const BoundaryCondition& /*boundary*/) {
                                if (i == (row ? corner : other) && j == (row ? other : corner)) found = n;
                                ++n;
                              });
      f(found, row ? unknown : line, row ? line : unknown, coupling);
    }
  }
}

}  // namespace

std::vector<DirichletEntry> dirichlet_entries(const Geometry& mesh, const PoissonProblem& problem,
                                              const CellCoefficients* cells, double reaction) {
  std::vector<DirichletEntry> entries;
  const auto add = [&](std::size_t n, int i, int j, double value) { entries.push_back({n, i, j, value}); };
  for_each_dirichlet_entry(mesh, problem, cells, reaction, add);
  for_each_dirichlet_alpha(mesh, problem, add);
  return entries;
}

std::vector<DirichletEntry> dirichlet_mass_entries(const TensorMesh<2>& mesh, const PoissonProblem& problem,
                                                   double capacity) {
  std::vector<DirichletEntry> entries;
  for_each_dirichlet_entry(
      mesh, problem,
      [&](int p, int q, int dx, int dy) {
        return capacity * factor(mesh.x(), p, dx, false) * factor(mesh.y(), q, dy, false);
      },
      [&](std::size_t n, int i, int j, double value) {
        entries.push_back({n, i, j, value});
      });
  return entries;
}

}  // namespace stratum
