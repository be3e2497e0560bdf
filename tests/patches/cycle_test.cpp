// A cycle on patches is compared with the same cycle written plainly: every node once, found by its position, matrices of the
// whole domain, lines solved one after another as dense systems. What the plan of lines says is taken over, and checked: lines
// of a phase share and couple no nodes.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>

#include <stratum/assembly/patches/patch_problem.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/patches/patch_multigrid.hpp>

#include "patches/meshes.hpp"
#include "patches/random_numbers.hpp"
#include "reference/elimination.hpp"
#include "support/backends.hpp"

using namespace stratum;

namespace {

using Matrix = std::vector<std::map<int, double>>;
using Vector = std::vector<double>;

std::size_t at(int k) { return static_cast<std::size_t>(k); }

/// Of A restricted to some nodes.
Vector solve_on(const Matrix& a, const std::vector<int>& nodes, const Vector& r) {
  std::map<int, std::size_t> place;
  for (std::size_t k = 0; k < nodes.size(); ++k) place[nodes[k]] = k;
  std::vector<Vector> dense(nodes.size(), Vector(nodes.size(), 0.0));
  Vector b;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    for (const auto& [j, value] : a[at(nodes[k])])
      if (const auto found = place.find(j); found != place.end()) dense[k][found->second] = value;
    b.push_back(r[at(nodes[k])]);
  }
  return reference::eliminated(std::move(dense), std::move(b));
}

/// One level of the whole domain.
struct Plain {
  std::map<int, int> node_of;  // of numbers in patch vectors
  int nodes = 0;
  Matrix a;  // natural
  std::vector<bool> fixed;
  std::vector<std::map<int, double>> p;  // row of each fine node: coarse nodes and weights
};

/// Conductances between neighbours, by the cells of all patches.
using Links = std::map<std::pair<int, int>, double>;

class Reference {
 public:
  Reference(const PatchMesh& mesh, const std::vector<PatchLevelOnHost>& levels) : levels_(levels) {
    all_.resize(levels.size());
    number_nodes(mesh);
    assemble(mesh);
    for (std::size_t l = 0; l + 1 < levels.size(); ++l) coarsen(l);
  }

  const Plain& level(std::size_t l) const { return all_[l]; }
  Vector cycle(const Vector& b, std::size_t l = 0) const {
    const Plain& level = all_[l];
    Vector x(at(level.nodes), 0.0);
    if (l + 1 == all_.size()) {
      std::vector<int> free;
      for (int k = 0; k < level.nodes; ++k)
        if (!level.fixed[at(k)]) free.push_back(k);
      const Vector u = solve_on(level.a, free, b);
      for (std::size_t k = 0; k < free.size(); ++k) x[at(free[k])] = u[k];
      return x;
    }
    sweep(l, b, x, false);
    const Vector r = residual(level, b, x);
    Vector coarse(at(all_[l + 1].nodes), 0.0);
    for (int k = 0; k < level.nodes; ++k)
      if (!level.fixed[at(k)])
        for (const auto& [c, w] : level.p[at(k)]) coarse[at(c)] += w * r[at(k)];
    const Vector e = cycle(coarse, l + 1);
    for (int k = 0; k < level.nodes; ++k)
      if (!level.fixed[at(k)])
        for (const auto& [c, w] : level.p[at(k)]) x[at(k)] += w * e[at(c)];
    sweep(l, b, x, true);
    return x;
  }

 private:
  static Vector residual(const Plain& level, const Vector& b, const Vector& x) {
    Vector r(b);
    for (int k = 0; k < level.nodes; ++k)
      for (const auto& [j, value] : level.a[at(k)]) r[at(k)] -= value * x[at(j)];
    return r;
  }

  /// Nodes of the finest level by their positions; those of coarser ones are every second of them in each patch, counted in the
  /// direction of chords.
  void number_nodes(const PatchMesh& mesh) {
    std::map<std::pair<long long, long long>, int> by_position;
    std::vector<std::vector<int>> of_patch;
    for (int p = 0; p < mesh.patches(); ++p) {
      const auto nodes = mesh.nodes_of(p);
      std::vector<int> own;
      for (const auto& x : nodes.at) {
        const std::pair key(std::llround(x.x * 1e11), std::llround(x.y * 1e11));
        int found = -1;  // a neighbour of the key, too: copies may differ in the last bits
        for (int i = -1; i <= 1 && found < 0; ++i)
          for (int j = -1; j <= 1 && found < 0; ++j)
            if (const auto k = by_position.find({key.first + i, key.second + j}); k != by_position.end())
              found = k->second;
        if (found < 0) {
          found = static_cast<int>(by_position.size());
          by_position[key] = found;
        }
        own.push_back(found);
      }
      of_patch.push_back(own);
    }
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const auto& layout = levels_[l].layout;
      std::map<int, int> renumbered;
      for (int p = 0; p < mesh.patches(); ++p) {
        const auto& patch = layout.patch(p);
        const auto& fine = levels_[0].layout.patch(p);
        for (int j = 0; j <= patch.ny; ++j)
          for (int i = 0; i <= patch.nx; ++i) {
            const int on_finest = of_patch[at(p)][at(finest(l, p, 1, j) * (fine.nx + 1) + finest(l, p, 0, i))];
            all_[l].node_of[patch.node(i, j)] =
                renumbered.try_emplace(on_finest, static_cast<int>(renumbered.size())).first->second;
          }
      }
      all_[l].nodes = static_cast<int>(renumbered.size());
      EXPECT_EQ(all_[l].nodes, layout.nodes());
      all_[l].fixed.assign(at(all_[l].nodes), false);
      for (const int k : levels_[l].fixed) all_[l].fixed[at(all_[l].node_of.at(k))] = true;
    }
  }
  /// Index on the finest level of node `k` of level `l` in a direction of a patch.
  int finest(std::size_t l, int p, int direction, int k) const {
    for (; l > 0; --l) {
      const auto& t = levels_[l].layout.topology();
      const auto& own = t.patches[at(p)].edges[at(direction)];
      const bool against = t.edges[at(own.number)].against_chord != own.reversed;
      const int n = levels_[l - 1].layout.patch(p).cells(direction), coarse = (n + 1) / 2;
      const int forward = against ? coarse - k : k, there = std::min(2 * forward, n);
      k = against ? n - there : there;
    }
    return k;
  }

  void assemble(const PatchMesh& mesh) {
    Plain& level = all_[0];
    level.a.assign(at(level.nodes), {});
    for (int p = 0; p < mesh.patches(); ++p) {
      const auto nodes = mesh.nodes_of(p);
      const auto& patch = levels_[0].layout.patch(p);
      for (int j = 0; j < nodes.ny; ++j)
        for (int i = 0; i < nodes.nx; ++i) {
          const int corner[4] = {level.node_of.at(patch.node(i, j)), level.node_of.at(patch.node(i + 1, j)),
                                 level.node_of.at(patch.node(i, j + 1)), level.node_of.at(patch.node(i + 1, j + 1))};
          const Position bottom = nodes.step_x[at(j * nodes.nx + i)], top = nodes.step_x[at((j + 1) * nodes.nx + i)],
                         left = nodes.step_y[at(j * (nodes.nx + 1) + i)],
                         right = nodes.step_y[at(j * (nodes.nx + 1) + i + 1)];
          double gx = 0, gy = 0;
          const double near = 0.5 - 0.5 / std::sqrt(3.0);
          for (const double t : {near, 1 - near})
            for (const double s : {near, 1 - near}) {
              const double xt = (1 - s) * bottom.x + s * top.x, yt = (1 - s) * bottom.y + s * top.y,
                           xs = (1 - t) * left.x + t * right.x, ys = (1 - t) * left.y + t * right.y,
                           det = xt * ys - xs * yt;
              const double dt[4] = {-(1 - s), 1 - s, -s, s}, ds[4] = {-(1 - t), -t, 1 - t, t};
              const double g11 = (xs * xs + ys * ys) / det, g22 = (xt * xt + yt * yt) / det,
                           g12 = -(xt * xs + yt * ys) / det;
              gx += g11 / 4;
              gy += g22 / 4;
              for (int a = 0; a < 4; ++a)
                for (int b = 0; b < 4; ++b)
                  level.a[at(corner[a])][corner[b]] +=
                      (g11 * dt[a] * dt[b] + g22 * ds[a] * ds[b] + g12 * (dt[a] * ds[b] + ds[a] * dt[b])) / 4;
            }
          cells_[{0, patch.node(i, j)}] = {gx, gy};
        }
    }
  }

  /// Interpolation, coarse conductances and the Galerkin product.
  void coarsen(std::size_t l) {
    Plain &fine = all_[l], &coarse = all_[l + 1];
    Links links;
    const auto link = [&](int a, int b, double g) {
      links[{a, b}] += g;
      links[{b, a}] += g;
    };
    const auto& layout = levels_[l].layout;
    for (int p = 0; p < layout.patches(); ++p) {
      const auto& patch = layout.patch(p);
      const auto node = [&](int i, int j) { return fine.node_of.at(patch.node(i, j)); };
      for (int j = 0; j < patch.ny; ++j)
        for (int i = 0; i < patch.nx; ++i) {
          const auto [gx, gy] = cells_.at({l, patch.node(i, j)});
          link(node(i, j), node(i + 1, j), gx);
          link(node(i, j + 1), node(i + 1, j + 1), gx);
          link(node(i, j), node(i, j + 1), gy);
          link(node(i + 1, j), node(i + 1, j + 1), gy);
        }
    }
    fine.p.assign(at(fine.nodes), {});
    for (int p = 0; p < layout.patches(); ++p) {
      const auto &patch = layout.patch(p), &below = levels_[l + 1].layout.patch(p);
      const auto node = [&](int i, int j) { return fine.node_of.at(patch.node(i, j)); };
      const auto to_fine = [&](int direction, int k) {
        const auto& t = layout.topology();
        const auto& own = t.patches[at(p)].edges[at(direction)];
        const bool against = t.edges[at(own.number)].against_chord != own.reversed;
        const int n = patch.cells(direction), c = (n + 1) / 2;
        return against ? n - std::min(2 * (c - k), n) : std::min(2 * k, n);
      };
      std::vector<int> coarse_i(at(patch.nx) + 1, -1), coarse_j(at(patch.ny) + 1, -1);
      for (int k = 0; k <= below.nx; ++k) coarse_i[at(to_fine(0, k))] = k;
      for (int k = 0; k <= below.ny; ++k) coarse_j[at(to_fine(1, k))] = k;
      const auto between = [&](int n, int a, int b) {  // weights of the rows of a and b
        const double ga = links.at({n, a}), gb = links.at({n, b});
        std::map<int, double> row;
        for (const auto& [c, w] : fine.p[at(a)]) row[c] += w * ga / (ga + gb);
        for (const auto& [c, w] : fine.p[at(b)]) row[c] += w * gb / (ga + gb);
        return row;
      };
      for (int round = 0; round < 3; ++round)
        for (int j = 0; j <= patch.ny; ++j)
          for (int i = 0; i <= patch.nx; ++i) {
            const bool in_x = coarse_i[at(i)] < 0, in_y = coarse_j[at(j)] < 0;
            auto& row = fine.p[at(node(i, j))];
            if (round == 0 && !in_x && !in_y)
              row = {{coarse.node_of.at(below.node(coarse_i[at(i)], coarse_j[at(j)])), 1.0}};
            if (round == 1 && in_x && !in_y) row = between(node(i, j), node(i - 1, j), node(i + 1, j));
            if (round == 1 && !in_x && in_y) row = between(node(i, j), node(i, j - 1), node(i, j + 1));
            if (round == 2 && in_x && in_y) {
              const int n = node(i, j), around[4] = {node(i - 1, j), node(i + 1, j), node(i, j - 1), node(i, j + 1)};
              double sum = 0;
              for (const int m : around) sum += links.at({n, m});
              row.clear();
              for (const int m : around)
                for (const auto& [c, w] : fine.p[at(m)]) row[c] += w * links.at({n, m}) / sum;
            }
          }
      for (int J = 0; J < below.ny; ++J)
        for (int I = 0; I < below.nx; ++I) {
          double x = 0, y = 0;
          for (int j = to_fine(1, J); j < to_fine(1, J + 1); ++j) {
            double r = 0;
            for (int i = to_fine(0, I); i < to_fine(0, I + 1); ++i) r += 1 / cells_.at({l, patch.node(i, j)}).first;
            x += 1 / r;
          }
          for (int i = to_fine(0, I); i < to_fine(0, I + 1); ++i) {
            double r = 0;
            for (int j = to_fine(1, J); j < to_fine(1, J + 1); ++j) r += 1 / cells_.at({l, patch.node(i, j)}).second;
            y += 1 / r;
          }
          cells_[{l + 1, below.node(I, J)}] = {x, y};
        }
    }
    coarse.a.assign(at(coarse.nodes), {});
    for (int k = 0; k < fine.nodes; ++k)
      for (const auto& [j, value] : fine.a[at(k)])
        for (const auto& [c, w] : fine.p[at(k)])
          for (const auto& [d, v] : fine.p[at(j)]) coarse.a[at(c)][d] += w * value * v;
  }

  void sweep(std::size_t l, const Vector& b, Vector& x, bool backward) const {
    const Plain& level = all_[l];
    std::vector<std::vector<std::vector<int>>> phases;  // lines, as unknowns
    const PatchLinePlan& plan = levels_[l].lines;
    for (std::size_t phase = 0; phase + 1 < plan.phases.size(); ++phase) {
      std::vector<std::vector<int>> lines;
      for (int g = plan.phases[phase]; g < plan.phases[phase + 1]; ++g) {
        const auto& group = plan.groups[at(g)];
        for (int m = 0; m < group.lines; ++m) {
          std::vector<int> line;
          for (int s = group.segments_begin; s < group.segments_end; ++s) {
            const auto& segment = plan.segments[at(s)];
            for (int k = line.empty() ? 0 : 1; k <= segment.cells; ++k) {
              int node = -1;
              for (int lane = 0; lane < segment.lanes; ++lane) {
                const auto& place = segment.lane[lane];
                const int own = level.node_of.at(place.first + k * place.along +
                                                 (group.first_line + m * group.step) * place.across);
                EXPECT_TRUE(node < 0 || node == own) << "both sides of an edge have the same nodes";
                node = own;
              }
              line.push_back(node);
            }
          }
          if (group.cyclic) {
            EXPECT_EQ(line.front(), line.back());
            line.pop_back();
          }
          std::vector<int> unknowns;
          for (std::size_t k = 0; k < line.size(); ++k) {
            if (level.fixed[at(line[k])] || (k == 0 && group.first_fixed) || (k + 1 == line.size() && group.last_fixed))
              continue;
            unknowns.push_back(line[k]);
          }
          if (!unknowns.empty()) lines.push_back(unknowns);
        }
      }
      phases.push_back(lines);
    }
    for (std::size_t phase = 0; phase + 1 < plan.vertex_phases.size(); ++phase) {
      std::vector<std::vector<int>> lines;
      for (int v = plan.vertex_phases[phase]; v < plan.vertex_phases[phase + 1]; ++v)
        lines.push_back({level.node_of.at(plan.vertex_copies[at(2 * plan.vertex_begin[at(v)])])});
      phases.push_back(lines);
    }
    std::set<int> reached;
    for (std::size_t k = 0; k < phases.size(); ++k) {
      const auto& lines = phases[backward ? phases.size() - 1 - k : k];
      std::map<int, std::size_t> owner;
      for (std::size_t m = 0; m < lines.size(); ++m)
        for (const int node : lines[m]) {
          EXPECT_TRUE(owner.emplace(node, m).second) << "two lines of a phase share a node";
          reached.insert(node);
        }
      for (const auto& [node, line] : owner)
        for (const auto& [j, value] : level.a[at(node)])
          if (const auto other = owner.find(j); other != owner.end() && value != 0) {
            EXPECT_EQ(other->second, line) << "two lines of a phase couple, level " << l << ", phase " << k;
          }
      for (const auto& line : lines) {
        const Vector d = solve_on(level.a, line, residual(level, b, x));
        for (std::size_t n = 0; n < line.size(); ++n) x[at(line[n])] += d[n];
      }
    }
    for (int k = 0; k < level.nodes; ++k)
      EXPECT_TRUE(level.fixed[at(k)] || reached.count(k) > 0) << "node " << k << " is on no line";
  }

  const std::vector<PatchLevelOnHost>& levels_;
  std::vector<Plain> all_;
  std::map<std::pair<std::size_t, int>, std::pair<double, double>> cells_;  // conductances by level and number
};

/// A cycle on a random load, and the same written plainly.
struct Cycles {
  Context ctx;
  std::vector<PatchLevelOnHost> levels;
  Vector b, expected;
  std::map<int, int> node_of;

  /// `crossed`: whether lines cross an edge, in place of what conductances say.
  Cycles(Backend backend, const PatchMesh& mesh, int coarsest, const PatchProblem& problem = {},
         const std::function<bool()>& crossed = {})
      : ctx(test::context_on(backend)) {
    PatchSystem system = assemble(ctx, mesh, problem);
    levels = patch_levels(system.layout, std::move(system.rows), std::move(system.conductances), system.fixed_edges,
                          coarsest);
    for (std::size_t l = 0; l + 1 < levels.size() && crossed; ++l) {
      std::vector<bool> edges(at(mesh.edges()));
      for (std::size_t e = 0; e < edges.size(); ++e) edges[e] = crossed();
      levels[l].lines = plan_lines(levels[l].layout, edges, system.fixed_edges);
    }
    const Reference reference(mesh, levels);
    const Plain& finest = reference.level(0);
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    b.assign(at(finest.nodes), 0.0);
    for (double& number : b) number = normal(random);
    for (int k = 0; k < finest.nodes; ++k)
      if (finest.fixed[at(k)]) b[at(k)] = 0;
    expected = reference.cycle(b);
    node_of = finest.node_of;
  }

  /// The largest difference, beside the largest number.
  template <class T>
  double difference() {
    // The value of a node stands in its first copy.
    std::vector<T> patches(at(levels[0].layout.size()), T(0));
    std::set<int> seen;
    for (const auto& [number, node] : node_of)
      if (seen.insert(node).second) patches[at(number)] = static_cast<T>(b[at(node)]);
    PatchMultigrid<T> multigrid(ctx, levels, false);
    Partial<T> r{vector_from_host(ctx, patches)};
    Consistent<T> z = consistent<T>(ctx, levels[0].layout);
    std::vector<T> found(patches.size());
    for (int times = 0; times < 3; ++times) {  // a GPU records the second one and repeats it
      multigrid.apply(ctx, r, z);
      copy_to_host(ctx, z.numbers.cview(), found.data());
    }
    double largest = 0, size = 0, sum = 0, all = 0;
    std::map<int, T> copies;
    for (const auto& [number, node] : node_of) {
      const T value = found[at(number)];
      EXPECT_EQ(copies.emplace(node, value).first->second, value) << "copies of a node differ";
      largest = std::max(largest, std::abs(static_cast<double>(value) - expected[at(node)]));
      size = std::max(size, std::abs(expected[at(node)]));
      sum += std::abs(static_cast<double>(value));
    }
    for (const T value : found) all += std::abs(static_cast<double>(value));
    EXPECT_NEAR(all, sum, 1e-9 * sum) << "between patches there are zeros";
    return largest / size;
  }
};

struct Case {
  std::string name;
  PatchMeshParts parts;
  double tolerance = 1e-13;
  int coarsest = 40;
};

/// Three patches beside each other, with lines of 301 nodes across them.
PatchMeshParts long_lines() {
  PatchMeshParts parts = patch_grid(3, 1);
  parts.cells = 100;
  for (const auto& patch : {parts.patches.front(), parts.patches.back()})
    for (std::size_t k = 0; k < 4; ++k) {
      const int a = patch[k], b = patch[(k + 1) % 4];
      const auto x = [&](int v) { return parts.vertices[at(v)].x; };
      if (x(a) == x(b) && (x(a) == 0 || x(a) == 1)) {
        PatchEdgeParts edge;
        edge.first = a;
        edge.second = b;
        edge.cells = 4;
        parts.edges.push_back(edge);
      }
    }
  return turned_at_random(parts, 1);
}

std::vector<Case> cases() {
  using namespace test;
  return {{"one patch", with_cells(patch_grid(1, 1), 16), 1e-13, 10},
          {"long lines", long_lines(), 1e-12, 500},
          {"2 x 2, turned", turned_at_random(with_cells(patch_grid(2, 2), 8), 3)},
          {"2 x 2, odd cells", turned_at_random(with_cells(patch_grid(2, 2), 11), 2), 1e-13, 30},
          {"L corner", thin_at_origin(l_shape(), 8), 1e-10},
          {"star 3", with_cells(star(3), 8), 1e-13, 20},
          {"star 3, centre, down to single cells", thin_at_origin(star(3), 8), 1e-10, 3},
          {"star 5, centre", thin_at_origin(star(5), 8), 1e-9},
          {"star 6, odd cells", with_cells(star(6), 7), 1e-13, 30},
          {"pipe section, wall", thin_at_wall(pipe_section(), 8), 1e-10},
          {"ring of 3, wall", thin_at_wall(patch_ring(3), 8), 1e-10},
          {"C-grid, wall", turned_at_random(thin_at_wall(c_grid(), 8, 1e-3), 4), 1e-11},
          {"cylinder, turned", turned_at_random(thin_at_wall(cylinder_in_channel(), 8, 1e-3), 5), 1e-11, 100},
          {"triangles", turned_at_random(with_cells(triangle_patches(2), 4), 6), 1e-13, 60},
          {"triangles, down to single cells", with_cells(triangle_patches(1), 5), 1e-13, 4}};
}

TEST(PatchCycle, IsThatOfTheWholeDomain) {
  for (const Backend backend : test::available_backends())
    for (const auto& c : cases()) {
      SCOPED_TRACE(c.name + " on " + test::backend_name(backend));
      const PatchMesh mesh(c.parts);
      Cycles cycles(backend, mesh, c.coarsest);
      EXPECT_GT(cycles.levels.size(), 1U);
      EXPECT_LE(cycles.difference<double>(), c.tolerance);
      const bool thin = c.tolerance > 1e-13;
      EXPECT_TRUE(cycles.levels.front().lines.crossed_edges > 0 || !thin)
          << "lines run on across edges with thin cells";
      // A random load on cells of 1e-6 is no test of single precision.
      EXPECT_LE(cycles.difference<float>(), thin ? 0.1 : 2e-5);
    }
}

/// Patches of all kinds with random numbers of cells and boundaries, and lines that cross any edges.
TEST(PatchCycle, IsThatOfTheWholeDomainOnRandomMeshes) {
  int made = 0;
  for (unsigned seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto number = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    PatchMeshParts parts;
    switch (number(5)) {
      case 0: parts = triangle_patches(1 + number(2), seed); break;
      case 1: parts = pipe_section(); break;
      case 2: parts = star(3 + number(4)); break;
      case 3: parts = patch_ring(3 + number(3)); break;
      default: parts = c_grid();
    }
    parts.cells = 1 + number(6);
    // Chords with other numbers of cells, unless they have one or are curves already.
    for (int times = 0; times < 3; ++times) {
      PatchMeshParts other = parts;
      const auto& patch = other.patches[at(number(static_cast<int>(other.patches.size())))];
      const int k = number(4);
      PatchEdgeParts edge;
      edge.first = patch[at(k)];
      edge.second = patch[at((k + 1) % 4)];
      edge.cells = 1 + number(7);
      other.edges.push_back(edge);
      try {
        (void)PatchMesh(other);
        parts = other;
      } catch (const UsageError&) {
      }
    }
    try {
      (void)PatchMesh(parts);
    } catch (const UsageError&) {
      continue;  // few cells along a curve are folded
    }
    const PatchMesh mesh(turned_at_random(parts, seed));
    PatchProblem problem;
    for (const auto& name : mesh.boundary_names())
      if (number(2) == 0) problem.boundaries[name] = {BoundaryConditionType::neumann};
    if (problem.boundaries.size() == mesh.boundary_names().size()) continue;
    Cycles cycles(Backend::cpu, mesh, 2 + number(30), problem, [&] { return number(3) != 0; });
    if (cycles.levels.size() < 2) continue;
    EXPECT_LE(cycles.difference<double>(), 1e-12);
    ++made;
  }
  EXPECT_GT(made, 25);
}

/// (x, M y) = (M x, y), by products without weights.
TEST(PatchCycle, IsSymmetric) {
  Context ctx = test::context_on(Backend::cpu);
  for (const auto& parts : {test::thin_at_origin(star(5), 16), test::with_cells(triangle_patches(2), 9)}) {
    PatchSystem system = assemble(ctx, PatchMesh(parts), {});
    const auto levels =
        patch_levels(system.layout, std::move(system.rows), std::move(system.conductances), system.fixed_edges, 100);
    PatchMultigrid<double> multigrid(ctx, levels, false);
    const auto& layout = levels[0].layout;
    std::mt19937 random(3);
    const auto load = [&] {
      std::vector<double> numbers = test::random_at_nodes(layout, random);
      for (const int k : levels[0].fixed) numbers[at(k)] = 0;
      return Partial<double>{vector_from_host(ctx, numbers)};
    };
    const auto x = load(), y = load();
    auto mx = consistent<double>(ctx, layout), my = consistent<double>(ctx, layout);
    multigrid.apply(ctx, x, mx);
    multigrid.apply(ctx, y, my);
    const double a = dot(ctx, y.numbers.cview(), mx.numbers.cview()),
                 b = dot(ctx, x.numbers.cview(), my.numbers.cview());
    EXPECT_NEAR(a, b, 1e-10 * std::abs(a));
    EXPECT_GT(dot(ctx, x.numbers.cview(), mx.numbers.cview()), 0);
  }
}

/// Products of partial and consistent vectors are those of the assembled ones.
TEST(PatchVectors, ProductsNeedNoWeights) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    const PatchMesh mesh(turned_at_random(test::with_cells(star(5), 6), 9));
    const PatchLayout layout = layout_of(mesh);
    const SharedNodes shared(ctx, layout);
    std::mt19937 random(5);
    const std::vector<double> numbers = test::random_at_nodes(layout, random);
    Partial<double> r{vector_from_host(ctx, numbers)};
    auto z = consistent<double>(ctx, layout);
    sum_copies(ctx, shared, r, z);
    const double product = dot(ctx, r.numbers.cview(), z.numbers.cview());
    gather_copies(ctx, shared, r);
    const double norm = norm2(ctx, r.numbers.cview());
    EXPECT_NEAR(product, norm * norm, 1e-14 * product);
    EXPECT_NEAR(dot(ctx, r.numbers.cview(), z.numbers.cview()), product, 1e-14 * product);
    // Gathered numbers sum to the same.
    auto again = consistent<double>(ctx, layout);
    sum_copies(ctx, shared, r, again);
    std::vector<double> a(numbers.size()), b(numbers.size());
    copy_to_host(ctx, z.numbers.cview(), a.data());
    copy_to_host(ctx, again.numbers.cview(), b.data());
    EXPECT_EQ(a, b);
  }
}

}  // namespace
