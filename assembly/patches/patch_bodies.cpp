#include <stratum/assembly/patches/patch_bodies.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
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

/// The corners of a cell in order around it; edge l runs from corner l to the next one.
constexpr std::array<std::array<int, 2>, 4> cell_corners = {{{0, 0}, {1, 0}, {1, 1}, {0, 1}}};

std::array<int, 4> quad_at(const NodeNumbers& number, int p, int i, int j) {
  std::array<int, 4> nodes{};
  for (std::size_t c = 0; c < 4; ++c) nodes[c] = number(p, i + cell_corners[c][0], j + cell_corners[c][1]);
  return nodes;
}
std::pair<int, int> edge_at(const std::array<int, 4>& quad, std::size_t local) {
  return std::minmax(quad[local], quad[(local + 1) % 4]);
}

template <class Visit>
void for_each_cell(const PatchMesh& mesh, const Visit& visit) {
  for (int p = 0; p < mesh.patches(); ++p)
    for (int j = 0; j < mesh.cells_y(p); ++j)
      for (int i = 0; i < mesh.cells_x(p); ++i) visit(p, i, j);
}

/// The surface of a contact body: edges between a cell that it has and one that it has not. Beyond a boundary of the domain there
/// is none.
class ContactSurface {
 public:
  /// `inside`: whether the body has a cell of a patch.
  template <class Inside>
  ContactSurface(const PatchMesh& mesh, const NodeNumbers& number, const Inside& inside) {
    std::set<std::pair<int, int>> own;
    for_each_cell(mesh, [&](int p, int i, int j) {
      if (inside(p, i, j))
        for (std::size_t l = 0; l < 4; ++l) own.insert(edge_at(quad_at(number, p, i, j), l));
    });
    for_each_cell(mesh, [&](int p, int i, int j) {
      if (inside(p, i, j)) return;
      for (std::size_t l = 0; l < 4; ++l)
        if (const auto edge = edge_at(quad_at(number, p, i, j), l); own.contains(edge)) {
          edges_.insert(edge);
          nodes_.insert({edge.first, edge.second});
        }
    });
  }
  [[nodiscard]] bool has(const std::array<int, 4>& quad, std::size_t local) const {
    return edges_.contains(edge_at(quad, local));
  }
  /// A cell of the body has no edge on the surface, but a corner.
  [[nodiscard]] bool has_only_corner(const std::array<int, 4>& quad) const {
    for (std::size_t l = 0; l < 4; ++l)
      if (has(quad, l)) return false;
    return std::any_of(quad.begin(), quad.end(), [&](int node) { return nodes_.contains(node); });
  }

 private:
  std::set<std::pair<int, int>> edges_;
  std::set<int> nodes_;
};

/// K in series with r = R / h across the direction n.
PatchTensor in_series(const PatchTensor& k, double r, const Position& n) {
  const double x = k.xx * n.x + k.xy * n.y, y = k.xy * n.x + k.yy * n.y, share = r / (1 + r * (n.x * x + n.y * y));
  return {k.xx - share * x * x, k.xy - share * x * y, k.yy - share * y * y};
}

class Cutter {
 public:
  Cutter(const PatchMesh& mesh, const PatchProblem& problem, std::vector<Body> bodies, double t,
         const std::vector<PatchMask>& masks)
      : mesh_(mesh), bodies_(std::move(bodies)), t_(t), found_{mesh, problem} {
    expects(problem.load.empty() && problem.diffusion_of_cells.empty() && problem.tensor_of_cells.empty(),
            "bodies on patches go with functions f and K, not with integrals of f or K of cells");
    expects(masks.empty() || masks.size() == bodies_.size(), masks.size(), " masks are given for ", bodies_.size(),
            " bodies");
    for (const Body& body : bodies_) names_.push_back(body.name);
    for (std::size_t k = 0; k < bodies_.size(); ++k) {
      masks_.push_back(masks.empty() || masks[k].empty() ? std::nullopt : std::optional(mask_on(k, masks[k])));
      if (masks_[k]) bodies_[k].inside = [](const Point& /*p*/) { return 0.0; };
      detail::check_body(bodies_[k], label(k));
      expects(bodies_[k].kind != BodyKind::contact || !masks_[k], label(k),
              ": on patches a contact resistance lies on the surface of a shape, which a mask does not tell. Give an "
              "expression, a rectangle, a disc or a polygon");
    }
  }

  PatchesWithBodies run() {
    find_cells();
    const auto given = [&](BodyKind kind) {
      return std::any_of(bodies_.begin(), bodies_.end(), [&](const Body& body) { return body.kind == kind; });
    };
    if (given(BodyKind::coefficient) || given(BodyKind::contact)) find_diffusion();
    if (any_solid_) cut();
    set_diffusion();
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string label(std::size_t body) const { return detail::body_label(names_, body); }
  [[nodiscard]] bool is_solid(int body) const { return body >= 0 && bodies_[at(body)].kind != BodyKind::coefficient; }
  [[nodiscard]] std::size_t cell_of(int p, int i, int j) const { return at(j) * at(mesh_.cells_x(p)) + at(i); }

  /// Where a mask is above 0, of each patch.
  [[nodiscard]] std::vector<std::vector<char>> mask_on(std::size_t body, const PatchMask& given) const {
    const auto fits = [&](int parts) {
      for (int p = 0; p < mesh_.patches(); ++p)
        if (mesh_.cells_x(p) % parts != 0 || mesh_.cells_y(p) % parts != 0) return false;
      return true;
    };
    const auto cells = static_cast<std::int64_t>(given.size());
    int parts = 1;
    while (cells * parts * parts < mesh_.cells() && fits(2 * parts)) parts *= 2;
    std::string needed = message(mesh_.cells());
    for (int k = 2; k <= 1024 && fits(k); k *= 2) needed += message(" or ", mesh_.cells() / (std::int64_t{k} * k));
    expects(
        cells * parts * parts == mesh_.cells(), label(body), ": its mask has ", cells,
        " numbers; one for each cell of the mesh of patches, or of one that halving refines to it, is needed, patch "
        "after patch: ",
        needed);
    std::vector<std::vector<char>> mask;
    std::size_t first = 0;
    for (int p = 0; p < mesh_.patches(); ++p) {
      const int nx = mesh_.cells_x(p), ny = mesh_.cells_y(p);
      auto& own = mask.emplace_back();
      for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i)
          own.push_back(given[first + at(j / parts) * at(nx / parts) + at(i / parts)] > 0 ? 1 : 0);
      first += at(nx / parts) * at(ny / parts);
    }
    return mask;
  }
  [[nodiscard]] bool is_inside(std::size_t body, const Point& p) const {
    return evaluate(bodies_[body].inside, p, "shape of a body") > 0;
  }
  [[nodiscard]] static std::string place(const Point& p) { return message("the cell at (", p.x, ", ", p.y, ")"); }

  /// The body that says what a cell is made of, and the one whose surface may run along it; -1: none.
  struct Owners {
    int material = -1, contact = -1;
  };
  /// Counts the cell where it is wanted.
  [[nodiscard]] Owners bodies_at(int p, std::size_t cell, const Point& centre) {
    Owners owners;
    for (std::size_t k = 0; k < bodies_.size(); ++k) {
      if (!(masks_[k] ? (*masks_[k])[at(p)][cell] != 0 : is_inside(k, centre))) continue;
      ++found_.cells[k];
      int& mine = bodies_[k].kind == BodyKind::contact ? owners.contact : owners.material;
      const int before = std::exchange(mine, mine < 0 ? static_cast<int>(k) : mine);
      if (before < 0) continue;
      const BodyKind first = bodies_[at(before)].kind, second = bodies_[k].kind;
      const char* const why = first == BodyKind::contact       ? "a cell has one contact resistance"
                              : first != second                ? "a cell belongs to a body of one kind"
                              : first == BodyKind::coefficient ? "a cell has one K"
                                                               : nullptr;
      if (why != nullptr) refuse_overlap(before, static_cast<int>(k), centre, why);
    }
    if (owners.contact >= 0 && is_solid(owners.material))
      refuse_overlap(owners.material, owners.contact, centre, "a contact resistance belongs to a body that conducts");
    return owners;
  }
  [[noreturn]] void refuse_overlap(int first, int second, const Point& centre, const char* why) const {
    throw UsageError(message(label(at(first)), " and ", label(at(second)), " overlap in ", place(centre), ": ", why,
                             "; make the shapes disjoint"));
  }

  void find_cells() {
    found_.cells.assign(bodies_.size(), 0);
    bool any_left = false;
    for (int p = 0; p < mesh_.patches(); ++p) {
      const PatchNodes nodes = mesh_.nodes_of(p);
      auto& own = owner_.emplace_back();
      for (int j = 0; j < nodes.ny; ++j)
        for (int i = 0; i < nodes.nx; ++i) {
          own.push_back(bodies_at(p, own.size(), Cell(nodes, i, j).point(0.5, 0.5)));
          (is_solid(own.back().material) ? any_solid_ : any_left) = true;
        }
    }
    for (std::size_t k = 0; k < bodies_.size(); ++k)
      expects(found_.cells[k] > 0, label(k),
              " holds no cell of the mesh of patches: no cell has its centre inside. "
              "It lies outside of the domain, or is thinner than a cell");
    expects(any_left, "the bodies cover all cells of the mesh: no unknown is left");
  }

  /// K of all cells that have one.
  void find_diffusion() {
    const PatchProblem& problem = found_.problem;
    for (int p = 0; p < mesh_.patches(); ++p) {
      const PatchNodes nodes = mesh_.nodes_of(p);
      const double of_patch = problem.diffusion_of_patches.empty() ? 1 : problem.diffusion_of_patches[at(p)];
      auto& own = diffusion_.emplace_back();
      for (int j = 0; j < nodes.ny; ++j)
        for (int i = 0; i < nodes.nx; ++i) {
          const int body = owner_[at(p)][own.size()].material;
          PatchTensor& k = own.emplace_back();
          if (is_solid(body)) continue;
          const Point centre = Cell(nodes, i, j).point(0.5, 0.5);
          if (body < 0) {
            k.xx = k.yy = of_patch * (problem.diffusion ? problem.diffusion(centre) : 1);
            continue;
          }
          const Body& its = bodies_[at(body)];
          k.xx = k.yy = its.value(centre);
          if (its.kxy) k.xy = its.kxy(centre);
          if (its.kyy) k.yy = its.kyy(centre);
          if (its.kxy || its.kyy) any_tensor_ = true;
        }
    }
    const NodeNumbers number(mesh_);
    for (std::size_t k = 0; k < bodies_.size(); ++k)
      if (bodies_[k].kind == BodyKind::contact && bodies_[k].resistance > 0) set_contact(k, number);
  }

  void set_contact(std::size_t body, const NodeNumbers& number) {
    any_tensor_ = true;
    const auto inside = [&](int p, int i, int j) {
      return owner_[at(p)][cell_of(p, i, j)].contact == static_cast<int>(body);
    };
    const ContactSurface surface(mesh_, number, inside);
    for (int p = 0; p < mesh_.patches(); ++p) {
      const PatchNodes nodes = mesh_.nodes_of(p);
      for (int j = 0; j < nodes.ny; ++j)
        for (int i = 0; i < nodes.nx; ++i) {
          const Cell cell(nodes, i, j);
          const auto quad = quad_at(number, p, i, j);
          for (std::size_t l = 0; l < 4; ++l)
            if (surface.has(quad, l)) expect_along(body, cell, l, inside(p, i, j));
          if (!inside(p, i, j)) continue;
          const Position along_x{(cell.x.bottom + cell.x.top) / 2, (cell.y.bottom + cell.y.top) / 2},
              along_y{(cell.x.left + cell.x.right) / 2, (cell.y.left + cell.y.right) / 2};
          const double area = cell.det(0.5, 0.5), wide = std::hypot(along_x.x, along_x.y),
                       high = std::hypot(along_y.x, along_y.y);
          const std::array<double, 4> lengths = {
              std::hypot(cell.x.bottom, cell.y.bottom), std::hypot(cell.x.right, cell.y.right),
              std::hypot(cell.x.top, cell.y.top), std::hypot(cell.x.left, cell.y.left)};
          double across_x = surface.has_only_corner(quad) ? 1 : 0, across_y = across_x;
          for (const std::size_t l : {0U, 2U})
            if (surface.has(quad, l)) across_y += wide / lengths[l];
          for (const std::size_t l : {1U, 3U})
            if (surface.has(quad, l)) across_x += high / lengths[l];
          const double r = bodies_[body].resistance;
          PatchTensor& k = diffusion_[at(p)][cell_of(p, i, j)];
          k = in_series(k, across_x * r * high / area, {along_y.y / high, -along_y.x / high});
          k = in_series(k, across_y * r * wide / area, {-along_x.y / wide, along_x.x / wide});
        }
    }
  }

  /// Throws UsageError where the surface of a contact body is not near this edge of a cell beside it.
  void expect_along(std::size_t body, const Cell& cell, std::size_t local, bool inside) const {
    constexpr double depth = 0.25;  // of the cell
    for (const double along : {0.1, 0.5, 0.9}) {
      const double across = local == 1 || local == 2 ? 1 - depth : depth;
      const Point p = local % 2 == 0 ? cell.point(along, across) : cell.point(across, along);
      expects(is_inside(body, p) == inside, label(body), ": its surface crosses the cell at (", p.x, ", ", p.y,
              "). On patches a contact resistance lies on edges of cells: put edges of patches on the surface");
    }
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
    std::vector<PatchTensor> left;  // of quads
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
          const std::array<int, 4> quad = quad_at(number, p, i, j);
          const int body = owner_[at(p)][cell_of(p, i, j)].material;
          if (!is_solid(body)) {
            quads.quads.push_back(quad);
            if (!diffusion_.empty()) left.push_back(diffusion_[at(p)][cell_of(p, i, j)]);
            quads.regions.push_back(region);
            continue;
          }
          for (std::size_t c = 0; c < 4; ++c) {
            boundaries[edge_at(quad, c)] = static_cast<int>(names.size()) + body;
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
    const std::vector<Quad> numbered = left.empty() ? std::vector<Quad>() : by_nodes(quads);
    const BaseComplex complex = base_complex(std::move(quads), "the mesh without its bodies");
    constexpr std::size_t most_patches = 20000;
    expects(complex.parts.patches.size() <= std::max(most_patches, 4 * at(mesh_.patches())),
            "the surfaces of bodies are staircases that cut the mesh into ", complex.parts.patches.size(),
            " patches, more than ", most_patches,
            ": put edges of patches on these surfaces, in the file, or take a coarser mesh");
    found_.mesh = PatchMesh(complex.parts);
    found_.summary = complex.summary;
    set_boundaries();
    if (!left.empty()) rearrange(complex.parts, numbered, left);
    std::vector<double> of_region(regions.size());
    for (const auto& [k, region] : regions) of_region[at(region)] = k;
    found_.problem.diffusion_of_patches.clear();
    for (const int region : complex.regions) found_.problem.diffusion_of_patches.push_back(of_region[at(region)]);
  }

  /// A quadrilateral by its nodes.
  using Quad = std::pair<std::array<int, 4>, std::size_t>;
  [[nodiscard]] static std::array<int, 4> sorted(std::array<int, 4> nodes) {
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }
  [[nodiscard]] static std::vector<Quad> by_nodes(const QuadMesh& mesh) {
    std::vector<Quad> numbered;
    for (std::size_t q = 0; q < mesh.quads.size(); ++q) numbered.emplace_back(sorted(mesh.quads[q]), q);
    std::sort(numbered.begin(), numbered.end());
    return numbered;
  }
  /// K of the cells of the new patches, from that of the quadrilaterals that they are.
  void rearrange(const GridPatchParts& parts, const std::vector<Quad>& numbered, const std::vector<PatchTensor>& k) {
    diffusion_.clear();
    for (int p = 0; p < found_.mesh.patches(); ++p) {
      const PatchGrid& grid = parts.patches[at(p)];
      const Position second = found_.mesh.nodes_of(p).at[1], its = parts.nodes[at(grid.nodes[1])];
      const bool turned = second.x != its.x || second.y != its.y;  // x and y have changed places
      auto& own = diffusion_.emplace_back();
      for (int j = 0; j < found_.mesh.cells_y(p); ++j)
        for (int i = 0; i < found_.mesh.cells_x(p); ++i) {
          std::array<int, 4> nodes{};
          for (std::size_t c = 0; c < 4; ++c) {
            const int a = i + cell_corners[c][0], b = j + cell_corners[c][1];
            nodes[c] = grid.nodes[at(turned ? a : b) * (at(grid.nx) + 1) + at(turned ? b : a)];
          }
          own.push_back(k[std::lower_bound(numbered.begin(), numbered.end(), Quad(sorted(nodes), 0))->second]);
        }
    }
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

  void set_diffusion() {
    if (diffusion_.empty()) return;
    PatchProblem& problem = found_.problem;
    for (const auto& patch : diffusion_) {
      if (any_tensor_) break;
      auto& own = problem.diffusion_of_cells.emplace_back();
      for (const PatchTensor& k : patch) own.push_back(k.xx);
    }
    if (any_tensor_) problem.tensor_of_cells = std::move(diffusion_);
    problem.diffusion = {};
    problem.diffusion_of_patches.clear();
  }

  const PatchMesh& mesh_;
  std::vector<Body> bodies_;
  double t_;
  PatchesWithBodies found_;
  std::vector<std::string> names_;
  std::vector<std::optional<std::vector<std::vector<char>>>> masks_;  // of bodies
  std::vector<std::vector<Owners>> owner_;                            // of the cells of each patch
  std::vector<std::vector<PatchTensor>> diffusion_;                   // the same; empty where no body changes K
  bool any_solid_ = false, any_tensor_ = false;
};

}  // namespace

std::string boundary_of_body(std::size_t body) { return message("body ", body + 1); }

PatchesWithBodies with_bodies(const PatchMesh& mesh, const PatchProblem& problem, const std::vector<Body>& bodies,
                              double t, const std::vector<PatchMask>& masks) {
  if (bodies.empty()) return {mesh, problem};
  return Cutter(mesh, problem, bodies, t, masks).run();
}

}  // namespace stratum
