#include <stratum/assembly/patches/patch_bodies.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <stratum/assembly/body_checks.hpp>
#include <stratum/assembly/patches/patch_cells.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/mesh/patches/quad_mesh.hpp>

namespace stratum {

using namespace patch_detail;

namespace {

/// Numbers of the nodes of all patches, each node once: vertices, inner nodes of edges, inner nodes of patches.
class NodeNumbers {
 public:
  explicit NodeNumbers(const PatchMesh& mesh) : mesh_(mesh), count_(mesh.vertices()) {
    for (int e = 0; e < mesh.edges(); ++e) {
      edges_.push_back(count_);
      count_ += mesh.cells_of_edge(e) - 1;
    }
    for (int p = 0; p < mesh.patches(); ++p) {
      patches_.push_back(count_);
      count_ += (mesh.cells_x(p) - 1) * (mesh.cells_y(p) - 1);
    }
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int operator()(int p, int i, int j) const {
    const int nx = mesh_.cells_x(p), ny = mesh_.cells_y(p);
    const bool left = i == 0, right = i == nx, bottom = j == 0, top = j == ny;
    const auto& corners = mesh_.corners(p);
    if ((left || right) && (bottom || top)) return corners[bottom ? (left ? 0U : 1U) : (left ? 3U : 2U)];
    const auto on_edge = [&](std::size_t local, int k, int n) {
      const auto& [e, reversed] = mesh_.local_edges(p)[local];
      return edges_[at(e)] + (reversed ? n - k : k) - 1;
    };
    if (bottom || top) return on_edge(bottom ? 0 : 2, i, nx);
    if (left || right) return on_edge(left ? 3 : 1, j, ny);
    return patches_[at(p)] + (j - 1) * (nx - 1) + i - 1;
  }

 private:
  const PatchMesh& mesh_;
  int count_;
  std::vector<int> edges_, patches_;
};

class Cutter {
 public:
  Cutter(const PatchMesh& mesh, const PatchProblem& problem, const std::vector<Body>& bodies, double t)
      : mesh_(mesh), bodies_(bodies), t_(t), found_{mesh, problem} {
    expects(problem.load.empty() && problem.diffusion_of_cells.empty(),
            "bodies on patches go with functions f and K, not with integrals of f or K of cells");
    for (const Body& body : bodies) names_.push_back(body.name);
    for (std::size_t k = 0; k < bodies.size(); ++k) {
      detail::check_body(bodies[k], label(k));
      expects(bodies[k].kind != BodyKind::contact, label(k),
              ": contact resistances are for rectangles, not for patches");
      expects(!bodies[k].kxy && !bodies[k].kyy, label(k), ": on patches K is one number, not a tensor");
    }
  }

  PatchesWithBodies run() {
    find_cells();
    if (any_solid_) cut();
    set_diffusion();
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string label(std::size_t body) const { return detail::body_label(names_, body); }
  [[nodiscard]] bool is_solid(int body) const { return body >= 0 && bodies_[at(body)].kind != BodyKind::coefficient; }
  [[nodiscard]] static std::string place(const Point& p) { return message("the cell at (", p.x, ", ", p.y, ")"); }

  /// The body of a cell with this centre; -1: none. Counts it where it is wanted.
  [[nodiscard]] int body_at(const Point& centre) {
    int owner = -1;
    for (std::size_t k = 0; k < bodies_.size(); ++k) {
      if (!(evaluate(bodies_[k].inside, centre, "shape of a body") > 0)) continue;
      ++found_.cells[k];
      if (owner < 0) {
        owner = static_cast<int>(k);
        continue;
      }
      const BodyKind first = bodies_[at(owner)].kind, second = bodies_[k].kind;
      const auto overlap = [&](const char* what) {
        return message(label(at(owner)), " and ", label(k), " overlap in ", place(centre), ": ", what,
                       "; make the shapes disjoint");
      };
      if (first != second) throw UsageError(overlap("a cell belongs to a body of one kind"));
      if (first == BodyKind::coefficient) throw UsageError(overlap("a cell has one K"));
    }
    return owner;
  }

  void find_cells() {
    found_.cells.assign(bodies_.size(), 0);
    bool any_left = false;
    for (int p = 0; p < mesh_.patches(); ++p) {
      const PatchNodes nodes = mesh_.nodes_of(p);
      auto& own = owner_.emplace_back();
      for (int j = 0; j < nodes.ny; ++j)
        for (int i = 0; i < nodes.nx; ++i) {
          own.push_back(body_at(Cell(nodes, i, j).point(0.5, 0.5)));
          (is_solid(own.back()) ? any_solid_ : any_left) = true;
        }
    }
    for (std::size_t k = 0; k < bodies_.size(); ++k)
      expects(found_.cells[k] > 0, label(k),
              " holds no cell of the mesh of patches: no cell has its centre inside. "
              "It lies outside of the domain, or is thinner than a cell");
    expects(any_left, "the bodies cover all cells of the mesh: no unknown is left");
  }

  void cut() {
    const NodeNumbers number(mesh_);
    QuadMesh quads;
    quads.nodes.resize(at(number.count()));
    std::map<double, int> regions;
    // Boundaries of edges: those of the mesh, and behind them those of bodies.
    std::map<std::pair<int, int>, int> boundaries;
    const auto& names = mesh_.boundary_names();
    std::vector<Holder> holders(quads.nodes.size());
    for (int p = 0; p < mesh_.patches(); ++p) {
      const PatchNodes nodes = mesh_.nodes_of(p);
      check_digits(p, nodes);
      for (int j = 0; j <= nodes.ny; ++j)
        for (int i = 0; i <= nodes.nx; ++i) quads.nodes[at(number(p, i, j))] = nodes.at[nodes.node(i, j)];
      const auto& k = found_.problem.diffusion_of_patches;
      const int region =
          regions.try_emplace(k.empty() ? 1.0 : k[at(p)], static_cast<int>(regions.size())).first->second;
      for (int j = 0; j < nodes.ny; ++j)
        for (int i = 0; i < nodes.nx; ++i) {
          const std::array<int, 4> quad = {number(p, i, j), number(p, i + 1, j), number(p, i + 1, j + 1),
                                           number(p, i, j + 1)};
          const int body = owner_[at(p)][at(j) * at(nodes.nx) + at(i)];
          if (!is_solid(body)) {
            quads.quads.push_back(quad);
            quads.regions.push_back(region);
            continue;
          }
          for (std::size_t c = 0; c < 4; ++c) {
            boundaries[std::minmax(quad[c], quad[(c + 1) % 4])] = static_cast<int>(names.size()) + body;
            hold(body, quads.nodes[at(quad[c])], holders[at(quad[c])]);
          }
        }
    }
    for (int e = 0; e < mesh_.edges(); ++e) {
      const PatchEdge& edge = mesh_.edge(e);
      if (!edge.on_boundary()) continue;
      const int p = edge.sides[0].patch, local = edge.sides[0].local;
      const int n = mesh_.cells_of_edge(e), nx = mesh_.cells_x(p), ny = mesh_.cells_y(p);
      const auto node = [&](int k) {
        return local % 2 == 0 ? number(p, k, local == 0 ? 0 : ny) : number(p, local == 3 ? 0 : nx, k);
      };
      for (int k = 0; k < n; ++k) boundaries[std::minmax(node(k), node(k + 1))] = edge.boundary;
    }
    const std::vector<int> original = split_pinched(quads, holders);
    // Names of the mesh keep their order; those of bodies follow.
    std::vector<std::vector<QuadMesh::Line>> lines(names.size() + bodies_.size());
    for (const auto& quad : quads.quads)
      for (std::size_t c = 0; c < 4; ++c) {
        const int a = quad[c], b = quad[(c + 1) % 4];
        const auto found = boundaries.find(std::minmax(original[at(a)], original[at(b)]));
        if (found == boundaries.end()) continue;
        const std::size_t which = at(found->second);
        lines[which].push_back({a, b, which < names.size() ? names[which] : boundary_of_body(which - names.size())});
      }
    for (std::size_t k = 0; k < bodies_.size(); ++k) {
      const std::string name = boundary_of_body(k);
      expects(!is_solid(static_cast<int>(k)) || std::find(names.begin(), names.end(), name) == names.end(),
              "the mesh has a boundary '", name, "', which is the name of that of ", label(k));
    }
    for (const auto& some : lines) quads.lines.insert(quads.lines.end(), some.begin(), some.end());
    const BaseComplex complex = base_complex(std::move(quads), "the mesh without its bodies");
    // Set-up takes a second for so many, and a minute for four times as many.
    constexpr std::size_t most_patches = 1500;
    expects(complex.parts.patches.size() <= std::max(most_patches, 4 * at(mesh_.patches())),
            "the surfaces of bodies are staircases that cut the mesh into ", complex.parts.patches.size(),
            " patches, more than ", most_patches,
            ": put edges of patches on these surfaces, in the file, or take a coarser mesh");
    found_.mesh = PatchMesh(complex.parts);
    found_.summary = complex.summary;
    set_boundaries();
    std::vector<double> of_region(regions.size());
    for (const auto& [k, region] : regions) of_region[at(region)] = k;
    found_.problem.diffusion_of_patches.clear();
    for (const int region : complex.regions) found_.problem.diffusion_of_patches.push_back(of_region[at(region)]);
  }

  /// Steps between nodes become differences of places.
  void check_digits(int p, const PatchNodes& nodes) const {
    const auto check = [&](const Position& from, const Position& to, const Position& step) {
      constexpr double tolerance = 1e-6;
      const double length = std::hypot(step.x, step.y),
                   error = std::hypot(to.x - from.x - step.x, to.y - from.y - step.y);
      expects(
          error <= tolerance * length, "a cell of patch ", p, " is ", length, " wide at (", from.x, ", ", from.y,
          "), where coordinates do not have the digits of such a width; bodies that are held or solid go with wider "
          "cells. Leave them out of the mesh");
    };
    for (int j = 0; j <= nodes.ny; ++j)
      for (int i = 0; i <= nodes.nx; ++i) {
        const Position& from = nodes.at[nodes.node(i, j)];
        if (i < nodes.nx) check(from, nodes.at[nodes.node(i + 1, j)], nodes.step_x[at(j) * at(nodes.nx) + at(i)]);
        if (j < nodes.ny) check(from, nodes.at[nodes.node(i, j + 1)], nodes.step_y[nodes.node(i, j)]);
      }
  }

  struct Holder {
    int body = -1;  // the last one whose cells have the node
    bool has_value = false;
    double value = 0;
  };
  /// Values of bodies that meet have to agree.
  void hold(int body, const Position& place, Holder& holder) const {
    const int before = std::exchange(holder.body, body);
    const Body& own = bodies_[at(body)];
    if (own.kind != BodyKind::value || before == body) return;
    Point point = point_at(place);
    point.t = t_;
    const double value = evaluate(own.value, point, "value of a body");
    expects(!holder.has_value || detail::agree(holder.value, value), label(at(std::max(before, 0))), " and ",
            label(at(body)), " meet with different values at (", point.x, ", ", point.y, "), ", holder.value, " and ",
            value, ": leave a cell between them, or give one value");
    holder.has_value = true;
    holder.value = value;
  }

  /// A node where several fans of quadrilaterals meet that have no edge there in common becomes several. Returns of every node
  /// the one it was.
  static std::vector<int> split_pinched(QuadMesh& mesh, const std::vector<Holder>& holders) {
    std::vector<int> original(mesh.nodes.size());
    std::iota(original.begin(), original.end(), 0);
    std::map<int, std::vector<std::size_t>> around;  // of nodes of bodies
    for (std::size_t q = 0; q < mesh.quads.size(); ++q)
      for (const int node : mesh.quads[q])
        if (holders[at(node)].body >= 0) around[node].push_back(q);
    for (auto& [node, left] : around) {
      for (bool first = true; !left.empty(); first = false) {
        std::vector<std::size_t> fan{left.back()};
        left.pop_back();
        for (std::size_t k = 0; k < fan.size(); ++k)
          for (std::size_t n = left.size(); n-- > 0;)
            if (share_edge(mesh.quads[fan[k]], mesh.quads[left[n]], node)) {
              fan.push_back(left[n]);
              left.erase(left.begin() + static_cast<std::ptrdiff_t>(n));
            }
        if (first) continue;
        const auto copy = static_cast<int>(mesh.nodes.size());
        mesh.nodes.push_back(mesh.nodes[at(node)]);
        original.push_back(node);
        for (const std::size_t q : fan) std::replace(mesh.quads[q].begin(), mesh.quads[q].end(), node, copy);
      }
    }
    return original;
  }
  /// At this node, which both have.
  [[nodiscard]] static bool share_edge(const std::array<int, 4>& a, const std::array<int, 4>& b, int node) {
    return std::any_of(a.begin(), a.end(),
                       [&](int n) { return n != node && std::find(b.begin(), b.end(), n) != b.end(); });
  }

  /// Those that are left, with those of bodies.
  void set_boundaries() {
    const auto& names = found_.mesh.boundary_names();
    std::map<std::string, BoundaryCondition> conditions;
    for (const auto& [name, condition] : found_.problem.boundaries)
      if (std::find(names.begin(), names.end(), name) != names.end()) conditions[name] = condition;
    for (std::size_t k = 0; k < bodies_.size(); ++k) {
      const std::string name = boundary_of_body(k);
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;
      const bool held = bodies_[k].kind == BodyKind::value;
      conditions[name] = {
          held ? BoundaryConditionType::dirichlet : BoundaryConditionType::neumann, bodies_[k].value, {}};
    }
    found_.problem.boundaries = std::move(conditions);
  }

  /// K of cells, where a body has its own.
  void set_diffusion() {
    if (std::none_of(bodies_.begin(), bodies_.end(), [](const Body& b) { return b.kind == BodyKind::coefficient; }))
      return;
    PatchProblem& problem = found_.problem;
    std::vector<std::vector<double>> of_cells;
    for (int p = 0; p < found_.mesh.patches(); ++p) {
      const PatchNodes nodes = found_.mesh.nodes_of(p);
      const double of_patch = problem.diffusion_of_patches.empty() ? 1 : problem.diffusion_of_patches[at(p)];
      auto& own = of_cells.emplace_back();
      for (int j = 0; j < nodes.ny; ++j)
        for (int i = 0; i < nodes.nx; ++i) {
          const Point centre = Cell(nodes, i, j).point(0.5, 0.5);
          const auto body = std::find_if(bodies_.begin(), bodies_.end(), [&](const Body& b) {
            return b.kind == BodyKind::coefficient && b.inside(centre) > 0;
          });
          own.push_back(body != bodies_.end() ? body->value(centre)
                                              : of_patch * (problem.diffusion ? problem.diffusion(centre) : 1));
        }
    }
    problem.diffusion_of_cells = std::move(of_cells);
    problem.diffusion = {};
    problem.diffusion_of_patches.clear();
  }

  const PatchMesh& mesh_;
  const std::vector<Body>& bodies_;
  double t_;
  PatchesWithBodies found_;
  std::vector<std::string> names_;
  std::vector<std::vector<int>> owner_;  // of the cells of each patch; -1: none
  bool any_solid_ = false;
};

}  // namespace

std::string boundary_of_body(std::size_t body) { return message("body ", body + 1); }

PatchesWithBodies with_bodies(const PatchMesh& mesh, const PatchProblem& problem, const std::vector<Body>& bodies,
                              double t) {
  if (bodies.empty()) return {mesh, problem};
  return Cutter(mesh, problem, bodies, t).run();
}

}  // namespace stratum
