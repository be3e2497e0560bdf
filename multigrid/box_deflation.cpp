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

using Place = std::array<int, 3>;

std::size_t number_of(const Place& at, const Place& n) {
  return (static_cast<std::size_t>(at[2]) * static_cast<std::size_t>(n[1]) + static_cast<std::size_t>(at[1])) *
             static_cast<std::size_t>(n[0]) +
         static_cast<std::size_t>(at[0]);
}

/// Whether i, of n, is there; where the axis goes round it is.
bool goes_to(int& i, int n, const Axis& axis) {
  if (axis.is_periodic()) i = (i + n) % n;
  return i >= 0 && i < n;
}

/// Cells of high K by runs along x, of which those belong together that share a node: a pass over the cells, and the rest is for
/// runs, of which there are few.
class RunsOfCells {
 public:
  RunsOfCells(const TensorMesh<3>& mesh, const std::vector<double>& k, double above) {
    for (std::size_t d = 0; d < 3; ++d) cells_[d] = mesh.axis(static_cast<int>(d)).size();
    const int rows = cells_[1] * cells_[2], n = cells_[0];
    for (int row = 0; row < rows; ++row) {
      of_row_.push_back(runs_.size());
      const double* const of_cells = &k[static_cast<std::size_t>(row) * static_cast<std::size_t>(n)];
      for (int i = 0; i < n; ++i) {
        if (of_cells[i] <= above) continue;
        const int begin = i;
        while (i < n && of_cells[i] > above) ++i;
        runs_.push_back({begin, i, runs_.size()});
      }
    }
    of_row_.push_back(runs_.size());
    held_.assign(runs_.size(), 0);
    for (int row = 0; row < rows; ++row) join_row(mesh, row % cells_[1], row / cells_[1]);
  }

  /// Of every run the body, numbered by their first cells; -1: of one that shares a node with a Dirichlet face.
  [[nodiscard]] std::vector<int> isolated(int& count) {
    for (std::size_t run = 0; run < runs_.size(); ++run)
      if (held_[run] != 0) held_[first_of(run)] = 1;
    std::vector<int> body(runs_.size(), -1);
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const std::size_t first = first_of(run);
      if (held_[first] == 0) body[run] = first == run ? count++ : body[first];
    }
    return body;
  }

  /// use(run, begin, end, j, k): cells begin .. end - 1.
  template <class F>
  void for_each(const F& use) const {
    for (int row = 0; row + 1 < static_cast<int>(of_row_.size()); ++row)
      for (std::size_t run = of_row_[at(row)]; run < of_row_[at(row + 1)]; ++run)
        use(run, runs_[run].begin, runs_[run].end, row % cells_[1], row / cells_[1]);
  }

 private:
  struct Run {
    int begin, end;
    std::size_t before;  // an earlier run of the same body, or itself
  };
  [[nodiscard]] static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::size_t first_of(std::size_t run) {
    while (runs_[run].before != run) run = runs_[run].before = runs_[runs_[run].before].before;
    return run;
  }
  void join(std::size_t a, std::size_t b) {
    const auto [first, second] = std::minmax({first_of(a), first_of(b)});
    runs_[second].before = first;
  }

  /// With those of half of the rows beside it; the others join these.
  void join_row(const TensorMesh<3>& mesh, int j, int l) {
    const Axis &x = mesh.x(), &y = mesh.y(), &z = mesh.z();
    const int row = l * cells_[1] + j, n = cells_[0];
    const auto is_held = [](const Axis& axis, int i, int size) {
      return (i == 0 && axis.first_boundary() == BoundaryType::dirichlet) ||
             (i == size - 1 && axis.last_boundary() == BoundaryType::dirichlet);
    };
    const bool row_is_held = is_held(y, j, cells_[1]) || is_held(z, l, cells_[2]);
    for (std::size_t run = of_row_[at(row)]; run < of_row_[at(row + 1)]; ++run)
      if (row_is_held || is_held(x, runs_[run].begin, n) || is_held(x, runs_[run].end - 1, n)) held_[run] = 1;
    constexpr std::array<std::pair<int, int>, 5> rows{{{0, 0}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}}};
    for (const auto& [in_y, in_z] : rows) {
      int to_j = j + in_y, to_l = l + in_z;
      if (!goes_to(to_j, cells_[1], y) || !goes_to(to_l, cells_[2], z)) continue;
      join_rows(row, to_l * cells_[1] + to_j, x.is_periodic());
    }
  }
  void join_rows(int row, int other, bool periodic) {
    std::size_t a = of_row_[at(row)], b = of_row_[at(other)];
    const std::size_t end_a = of_row_[at(row + 1)], end_b = of_row_[at(other + 1)];
    if (a == end_a || b == end_b) return;
    if (periodic) {
      const auto meet = [&](std::size_t last, std::size_t first) {
        if (runs_[last].end == cells_[0] && runs_[first].begin == 0) join(last, first);
      };
      meet(end_a - 1, b);
      meet(end_b - 1, a);
    }
    while (a < end_a && b < end_b) {
      if (runs_[a].begin <= runs_[b].end && runs_[b].begin <= runs_[a].end) join(a, b);
      ++(runs_[a].end < runs_[b].end ? a : b);
    }
  }

  Place cells_{};
  std::vector<Run> runs_;
  std::vector<std::size_t> of_row_;  // the first run of every row, and one more
  std::vector<char> held_;           // of the runs
};

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
  jump = *most / *least;
  if (jump < BoxDeflation::jump_for_vectors) return;
  RunsOfCells runs(mesh, k, std::sqrt(*least) * std::sqrt(*most));
  const std::vector<int> body = runs.isolated(count);
  if (count == 0 || count > BoxDeflation::most_vectors) return;
  Place nodes{};
  for (std::size_t d = 0; d < 3; ++d) nodes[d] = mesh.axis(static_cast<int>(d)).unknowns();
  of_unknown.assign(static_cast<std::size_t>(mesh.unknowns().extents.nodes()), -1);
  std::vector<std::size_t> unknowns;
  runs.for_each([&](std::size_t run, int begin, int end, int j, int l) {
    if (body[run] < 0) return;
    for (int corner = 0; corner < 4; ++corner)
      for (int i = begin; i <= end; ++i) {
        Place node{i, j + corner % 2, l + corner / 2};
        for (std::size_t d = 0; d < 3; ++d) node[d] = unknown_at(mesh.axis(static_cast<int>(d)), node[d]);
        int& of_node = of_unknown[number_of(node, nodes)];
        if (of_node < 0) unknowns.push_back(number_of(node, nodes));
        of_node = body[run];
      }
  });
  on_surface.assign(of_unknown.size(), 0);
  for (const std::size_t own : unknowns) {
    const auto nx = static_cast<std::size_t>(nodes[0]), ny = static_cast<std::size_t>(nodes[1]);
    const Place at{static_cast<int>(own % nx), static_cast<int>(own / nx % ny), static_cast<int>(own / nx / ny)};
    for (int o = -box_neighbours; o <= box_neighbours; ++o) {
      const BoxOffset offset(o);
      Place to{at[0] + offset.x, at[1] + offset.y, at[2] + offset.z};
      bool is_there = true;
      for (std::size_t d = 0; d < 3; ++d)
        is_there = goes_to(to[d], nodes[d], mesh.axis(static_cast<int>(d))) && is_there;
      if (!is_there)
        on_surface[own] = 1;
      else if (const std::size_t other = number_of(to, nodes); of_unknown[other] != of_unknown[own])
        on_surface[own] = on_surface[other] = 1;
    }
  }
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
