#include <stratum/mesh/patches/patch_partition.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <tuple>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

std::size_t at(int k) { return static_cast<std::size_t>(k); }

class Partition {
 public:
  explicit Partition(const PatchMesh& mesh) : mesh_(mesh), rank_(at(mesh.patches()), 0), neighbours_(rank_.size()) {
    for (int p = 0; p < mesh.patches(); ++p) {
      cells_.push_back(std::int64_t{mesh.cells_x(p)} * mesh.cells_y(p));
      Position middle{};
      for (const int corner : mesh.corners(p)) {
        middle.x += mesh.vertex(corner).x / 4;
        middle.y += mesh.vertex(corner).y / 4;
      }
      middles_.push_back(middle);
    }
    for (int e = 0; e < mesh.edges(); ++e) {
      const auto& sides = mesh.edge(e).sides;
      if (sides.size() < 2 || sides[0].patch == sides[1].patch) continue;
      constexpr int where_lines_cross = 10;
      const bool thin = is_thin_across(sides[0]) || is_thin_across(sides[1]);
      const int cost = mesh.cells_of_edge(e) * (thin ? where_lines_cross : 1);
      neighbours_[at(sides[0].patch)].push_back({sides[1].patch, cost});
      neighbours_[at(sides[1].patch)].push_back({sides[0].patch, cost});
    }
  }

  std::vector<int> run(int ranks) {
    std::vector<int> all;
    for (int p = 0; p < mesh_.patches(); ++p) all.push_back(p);
    divide(all, 0, ranks);
    return rank_;
  }

 private:
  struct Neighbour {
    int patch, cost;
  };
  /// Some cell of the patch at its edge is thinner than 1 : 2 across it, as if edges were straight lines.
  [[nodiscard]] bool is_thin_across(const PatchEdge::Side& side) const {
    const auto length = [&](int local) {
      const PatchEdge& edge = mesh_.edge(mesh_.local_edges(side.patch)[at(local % 4)].number);
      const Position &a = mesh_.vertex(edge.first), &b = mesh_.vertex(edge.second);
      return std::hypot(b.x - a.x, b.y - a.y);
    };
    const bool along_x = side.local % 2 == 0, at_first = side.local == 0 || side.local == 3;
    const Axis along = mesh_.axis(side.patch, along_x ? Direction::x : Direction::y),
               across = mesh_.axis(side.patch, along_x ? Direction::y : Direction::x);
    const double widest = *std::max_element(along.widths().begin(), along.widths().end());
    const double height = (length(side.local + 1) + length(side.local + 3)) / 2;
    return widest * length(side.local) > 2 * height * (at_first ? across.widths().front() : across.widths().back());
  }
  /// Patches on one side of a border or the other, and how bad that is: cells beyond a side's share, then the cost of nodes
  /// between.
  struct Halves {
    std::vector<bool> second;  // of all patches
    double excess = HUGE_VAL;
    std::int64_t cost = 0;
    [[nodiscard]] bool better_than(const Halves& other) const {
      // Cells count in steps of a twentieth of a share, so that few cells do not cost many nodes.
      constexpr double step = 0.05;
      return std::tuple(std::floor(excess / step), cost, excess) <
             std::tuple(std::floor(other.excess / step), other.cost, other.excess);
    }
  };

  [[nodiscard]] std::int64_t cells_of(const std::vector<int>& patches) const {
    std::int64_t sum = 0;
    for (const int p : patches) sum += cells_[at(p)];
    return sum;
  }
  void measure(const std::vector<int>& patches, double share_of_second, Halves& halves) const {
    std::int64_t first = 0, second = 0, cost = 0;
    for (const int p : patches) {
      (halves.second[at(p)] ? second : first) += cells_[at(p)];
      for (const auto& [q, own] : neighbours_[at(p)])
        if (inside_[at(q)] && halves.second[at(q)] != halves.second[at(p)]) cost += own;
    }
    const auto all = static_cast<double>(first + second);
    halves.excess = std::max(static_cast<double>(first) / (all * (1 - share_of_second)),
                             static_cast<double>(second) / (all * share_of_second)) -
                    1;
    halves.cost = cost;
  }

  void divide(const std::vector<int>& patches, int first_rank, int ranks) {
    if (ranks == 1) {
      for (const int p : patches) rank_[at(p)] = first_rank;
      return;
    }
    const int of_first = ranks / 2, of_second = ranks - of_first;
    const double share = static_cast<double>(of_second) / ranks;
    inside_.assign(rank_.size(), false);
    for (const int p : patches) inside_[at(p)] = true;

    Position centre{};
    for (const int p : patches) {
      centre.x += middles_[at(p)].x / static_cast<double>(patches.size());
      centre.y += middles_[at(p)].y / static_cast<double>(patches.size());
    }
    const auto from = [&](int p) { return Position{middles_[at(p)].x - centre.x, middles_[at(p)].y - centre.y}; };
    std::vector<std::function<double(int)>> keys{[&](int p) { return from(p).x; },
                                                 [&](int p) { return from(p).y; },
                                                 [&](int p) { return from(p).x + from(p).y; },
                                                 [&](int p) { return from(p).x - from(p).y; },
                                                 [&](int p) { return std::atan2(from(p).y, from(p).x); },
                                                 [&](int p) { return std::atan2(from(p).x, -from(p).y); },
                                                 [&](int p) { return std::hypot(from(p).x, from(p).y); }};
    const std::vector<int> far = steps_from(steps_from(patches, patches.front()).back().first, patches);
    keys.emplace_back([&](int p) { return static_cast<double>(far[at(p)]); });

    Halves best;
    for (const auto& key : keys) {
      std::vector<std::pair<double, int>> order;
      // Equal within rounding, as patches of a row are, they come by number.
      for (const int p : patches) order.emplace_back(std::round(key(p) * 1e9) / 1e9, p);
      std::sort(order.begin(), order.end());
      Halves halves{std::vector<bool>(rank_.size(), true)};
      // Every rank gets a patch.
      for (int k = 0; k < static_cast<int>(order.size()) - of_second; ++k) {
        halves.second[at(order[at(k)].second)] = false;
        if (k + 1 < of_first) continue;
        measure(patches, share, halves);
        if (halves.better_than(best)) best = halves;
      }
    }
    improve(patches, of_first, of_second, share, best);
    std::vector<int> first, second;
    for (const int p : patches) (best.second[at(p)] ? second : first).push_back(p);
    divide(first, first_rank, of_first);
    divide(second, first_rank + of_first, of_second);
  }

  /// Of patches in the order of a search from one: how many steps away each is, and those of the last kind last.
  [[nodiscard]] std::vector<std::pair<int, int>> steps_from(const std::vector<int>& patches, int root) const {
    std::vector<std::pair<int, int>> order{{root, 0}};
    std::vector<bool> seen(rank_.size(), false);
    seen[at(root)] = true;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto [p, steps] = order[k];
      for (const auto& [q, cost] : neighbours_[at(p)]) {
        if (seen[at(q)] || !inside_[at(q)]) continue;
        seen[at(q)] = true;
        order.emplace_back(q, steps + 1);
      }
    }
    // What hangs together with the root nowhere comes last.
    for (const int p : patches)
      if (!seen[at(p)]) order.emplace_back(p, order.back().second + 1);
    return order;
  }
  [[nodiscard]] std::vector<int> steps_from(int root, const std::vector<int>& patches) const {
    std::vector<int> steps(rank_.size(), 0);
    for (const auto& [p, count] : steps_from(patches, root)) steps[at(p)] = count;
    return steps;
  }

  /// Moves patches to the other side as long as that makes the halves better.
  void improve(const std::vector<int>& patches, int least_first, int least_second, double share, Halves& halves) const {
    constexpr int most = 1000;
    for (int times = 0; times < most && static_cast<int>(patches.size()) < most; ++times) {
      Halves best = halves;
      for (const int p : patches) {
        const bool at_border =
            std::any_of(neighbours_[at(p)].begin(), neighbours_[at(p)].end(), [&](const Neighbour& n) {
              return inside_[at(n.patch)] && halves.second[at(n.patch)] != halves.second[at(p)];
            });
        const auto on_side = std::count_if(patches.begin(), patches.end(),
                                           [&](int q) { return halves.second[at(q)] == halves.second[at(p)]; });
        if (!at_border || on_side <= (halves.second[at(p)] ? least_second : least_first)) continue;
        Halves moved = halves;
        moved.second[at(p)] = !moved.second[at(p)];
        measure(patches, share, moved);
        if (moved.better_than(best)) best = moved;
      }
      if (!best.better_than(halves)) return;
      halves = best;
    }
  }

  const PatchMesh& mesh_;
  std::vector<int> rank_;
  std::vector<std::vector<Neighbour>> neighbours_;
  std::vector<std::int64_t> cells_;
  std::vector<Position> middles_;
  std::vector<bool> inside_;  // of the patches that are divided
};

}  // namespace

std::vector<int> ranks_of_patches(const PatchMesh& mesh, int ranks) {
  expects(ranks >= 1 && ranks <= mesh.patches(), "a mesh of ", mesh.patches(),
          mesh.patches() == 1 ? " patch" : " patches", " cannot be shared out among ", ranks,
          " ranks, since each takes whole patches; use at most ", mesh.patches(), " ranks");
  return Partition(mesh).run(ranks);
}

}  // namespace stratum
