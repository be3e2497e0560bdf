#include <stratum/smoothers/patches/line_plan.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace stratum {

namespace {

std::size_t at(int k) { return static_cast<std::size_t>(k); }

/// A patch that lines cross in direction 0 (x) or 1 (y), forwards or not, with lines counted forwards or not.
struct Crossing {
  int patch = 0, direction = 0;
  bool forward = true, flipped = false;
};

/// How lines end at either end of a chain.
enum class ChainEnd { boundary, uncrossed, split };

struct Chain {
  std::vector<Crossing> crossings;
  bool cyclic = false;
  ChainEnd first = ChainEnd::boundary, last = ChainEnd::boundary;
};

struct EdgeStep {
  int edge = 0;
  bool forward = true;
};

struct EdgeLine {
  std::vector<EdgeStep> steps;
  bool cyclic = false;
  bool first_fixed = false,
       last_fixed = false;  // its end is a vertex that is relaxed alone or by a line that goes straight on
};

class Planner {
 public:
  Planner(const PatchLayout& layout, const std::vector<bool>& crossed, const std::vector<bool>& fixed)
      : layout_(layout), t_(layout.topology()), crossed_(crossed), fixed_edge_(fixed) {}

  PatchLinePlan run() {
    find_fixed_vertices();
    find_straight_edges();
    find_edge_conflicts();
    find_chains();
    find_edge_lines();
    colour();
    emit();
    return std::move(plan_);
  }

 private:
  using Side = PatchTopology::Side;

  [[nodiscard]] const PatchTopology::Edge& edge(int e) const { return t_.edges[at(e)]; }
  [[nodiscard]] const PatchTopology::LocalEdge& local(const Side& s) const {
    return t_.patches[at(s.patch)].edges[at(s.local)];
  }
  [[nodiscard]] int across_cells(const Side& s) const {  // between the edge and the one that faces it
    const auto& p = layout_.patch(s.patch);
    return s.local % 2 == 0 ? p.ny : p.nx;
  }
  [[nodiscard]] bool share_patch(int e, int f) const {
    for (const auto& a : edge(e).sides)
      for (const auto& b : edge(f).sides)
        if (a.patch == b.patch) return true;
    return false;
  }

  void find_fixed_vertices() {
    fixed_vertex_.assign(t_.vertices.size(), false);
    for (std::size_t e = 0; e < t_.edges.size(); ++e)
      if (fixed_edge_[e]) fixed_vertex_[at(t_.edges[e].first)] = fixed_vertex_[at(t_.edges[e].second)] = true;
  }

  /// straight_[v]: pairs of edges that go straight on through v. A vertex is regular where every copy of it lies beside them.
  void find_straight_edges() {
    straight_.assign(t_.vertices.size(), {});
    regular_.assign(t_.vertices.size(), false);
    for (std::size_t v = 0; v < t_.vertices.size(); ++v) {
      const auto& vertex = t_.vertices[v];
      const auto& es = vertex.edges;
      if (!vertex.on_boundary && es.size() == 4 && vertex.corners.size() == 4) {
        std::vector<std::pair<int, int>> pairs;
        for (std::size_t a = 0; a < 4; ++a) {
          int opposite = -1, count = 0;
          for (std::size_t b = 0; b < 4; ++b)
            if (a != b && es[a] != es[b] && !share_patch(es[a], es[b])) {
              opposite = es[b];
              ++count;
            }
          if (count == 1) pairs.emplace_back(es[a], opposite);
        }
        if (pairs.size() == 4) {
          straight_[v] = pairs;
          regular_[v] = true;
        }
      }
      if (vertex.on_boundary && vertex.corners.size() == 2 && es.size() == 3) {
        std::vector<int> outer;
        for (const int e : es)
          if (edge(e).on_boundary()) outer.push_back(e);
        if (outer.size() == 2 && outer[0] != outer[1]) {
          straight_[v] = {{outer[0], outer[1]}, {outer[1], outer[0]}};
          regular_[v] = true;
        }
      }
      if (vertex.on_boundary && vertex.corners.size() == 1 && es.size() == 2 && es[0] != es[1]) regular_[v] = true;
    }
  }
  [[nodiscard]] int straight_on(int e, int v) const {
    for (const auto& [a, b] : straight_[at(v)])
      if (a == e) return b;
    return -1;
  }

  /// Edges whose lines couple or share unknowns.
  void find_edge_conflicts() {
    conflicts_.assign(t_.edges.size(), {});
    const auto add = [&](int e, int f) {
      if (e == f || fixed_edge_[at(e)] || fixed_edge_[at(f)]) return;
      conflicts_[at(e)].insert(f);
      conflicts_[at(f)].insert(e);
    };
    for (std::size_t p = 0; p < t_.patches.size(); ++p) {
      const auto& es = t_.patches[p].edges;
      for (std::size_t l = 0; l < 4; ++l) {
        add(es[l].number, es[(l + 1) % 4].number);
        if (across_cells({static_cast<int>(p), static_cast<int>(l)}) == 1) add(es[l].number, es[(l + 2) % 4].number);
      }
    }
    for (std::size_t v = 0; v < t_.vertices.size(); ++v) {
      // An end of a line at an unknown of its own: only regular vertices are.
      if (fixed_vertex_[v] || !regular_[v]) continue;
      for (const int e : t_.vertices[v].edges)
        for (const int f : t_.vertices[v].edges)
          if (straight_on(e, static_cast<int>(v)) != f) add(e, f);
    }
  }

  struct Step {
    std::optional<Crossing> next;
    ChainEnd end = ChainEnd::boundary;
    int edge = 0;
  };
  [[nodiscard]] Step step(const Crossing& c) const {
    const int l = c.direction == 0 ? (c.forward ? 1 : 3) : (c.forward ? 2 : 0);
    const auto& own = t_.patches[at(c.patch)].edges[at(l)];
    const auto& e = edge(own.number);
    if (e.on_boundary()) return {{}, ChainEnd::boundary, own.number};
    if (!crossed_[at(own.number)]) return {{}, ChainEnd::uncrossed, own.number};
    const bool is_first = e.sides[0].patch == c.patch && e.sides[0].local == l;
    const Side& other = e.sides[is_first ? 1 : 0];
    Crossing next;
    next.patch = other.patch;
    next.direction = other.local % 2 == 0 ? 1 : 0;
    next.forward = other.local == 0 || other.local == 3;
    next.flipped = c.flipped != (own.reversed != local(other).reversed);
    return {next, ChainEnd::split, own.number};
  }
  static bool same_lines(const Crossing& a, const Crossing& b) {
    return a.patch == b.patch && a.direction == b.direction;
  }

  void find_chains() {
    chain_of_.assign(2 * t_.patches.size(), -1);
    const auto number = [&](const Crossing& c) -> int& { return chain_of_[2 * at(c.patch) + at(c.direction)]; };
    for (int p = 0; p < layout_.patches(); ++p)
      for (int d = 0; d < 2; ++d) {
        const Crossing begin{p, d, false, false};
        if (number(begin) >= 0) continue;
        // Back to the first patch, then forward from there.
        const auto walk = [&](Crossing from, std::vector<Crossing>& chain) {
          chain = {from};
          for (;;) {
            const Step s = step(chain.back());
            if (!s.next) return s;
            const bool again = number(*s.next) >= 0 || std::any_of(chain.begin(), chain.end(), [&](const Crossing& c) {
                                 return c.patch == s.next->patch;
                               });
            if (again) return s;
            chain.push_back(*s.next);
          }
        };
        Chain chain;
        std::vector<Crossing> back;
        const Step stop = walk(begin, back);
        if (stop.next && same_lines(*stop.next, begin) && stop.next->forward == begin.forward) {
          // Around a ring, unless lines come back as others: then they end at this edge.
          chain.cyclic = !stop.next->flipped;
          chain.crossings = back;
          if (!chain.cyclic) chain.first = chain.last = ChainEnd::uncrossed;
        } else {
          Crossing turned = back.back();
          turned.forward = !turned.forward;
          const Step last = walk(turned, chain.crossings);
          const auto kind = [](const Step& s) { return s.next ? ChainEnd::split : s.end; };
          chain.first = kind(stop);
          chain.last = kind(last);
          // A chain that would enter its own first patch along the same lines ends at that edge for both of its ends.
          for (const Step* s : {&stop, &last})
            if (s->next) splits_.emplace_back(static_cast<int>(chains_.size()), *s->next);
        }
        for (const Crossing& c : chain.crossings) number(c) = static_cast<int>(chains_.size());
        chains_.push_back(std::move(chain));
      }
    for (const auto& [own, next] : splits_)
      if (number(next) == own) {
        // Both ends at one edge, whose nodes the lines of the chain would share.
        chains_[at(own)].first = chains_[at(own)].last = ChainEnd::uncrossed;
      }
  }

  void find_edge_lines() {
    line_of_.assign(t_.edges.size(), -1);
    for (int e0 = 0; e0 < static_cast<int>(t_.edges.size()); ++e0) {
      if (line_of_[at(e0)] >= 0 || fixed_edge_[at(e0)]) continue;
      // True where the line goes on from `e` through `v` to an edge that has no conflict with what it has already.
      const auto goes_on = [&](int e, int v, const std::vector<EdgeStep>& chain) {
        const int f = straight_on(e, v);
        if (f < 0 || fixed_edge_[at(f)] || line_of_[at(f)] >= 0) return -1;
        for (const auto& s : chain)
          if (s.edge == f || conflicts_[at(f)].count(s.edge) > 0)
            return s.edge == f && s.edge == chain.front().edge ? f : -1;
        return f;
      };
      const auto other_end = [&](int e, int v) { return edge(e).first == v ? edge(e).second : edge(e).first; };
      EdgeLine line;
      const auto walk = [&](int e, int from) {
        line.steps = {{e, edge(e).first == from}};
        int v = other_end(e, from);
        for (;;) {
          const int f = goes_on(line.steps.back().edge, v, line.steps);
          if (f < 0) return v;
          if (f == line.steps.front().edge) {
            line.cyclic = true;
            return v;
          }
          line.steps.push_back({f, edge(f).first == v});
          v = other_end(f, v);
        }
      };
      const int back = walk(e0, edge(e0).second);
      if (!line.cyclic) walk(line.steps.back().edge, back);
      // A ring of two edges or fewer has vertices twice; it is a ring all the same.
      const int number = static_cast<int>(lines_.size());
      for (const auto& s : line.steps) line_of_[at(s.edge)] = number;
      if (!line.cyclic) {
        const auto is_own_end = [&](int e, int v) { return regular_[at(v)] && straight_on(e, v) < 0; };
        const auto& a = line.steps.front();
        const auto& b = line.steps.back();
        const int va = a.forward ? edge(a.edge).first : edge(a.edge).second,
                  vb = b.forward ? edge(b.edge).second : edge(b.edge).first;
        line.first_fixed = !is_own_end(a.edge, va);
        line.last_fixed = !is_own_end(b.edge, vb);
        // A line that was broken at a regular vertex leaves it to a line that goes through, or else to be relaxed alone.
        for (const auto& [e, v] : {std::pair(a.edge, va), std::pair(b.edge, vb)})
          if (straight_on(e, v) >= 0) broken_.push_back(v);
      }
      lines_.push_back(std::move(line));
    }
    for (const int v : broken_) regular_[at(v)] = false;
  }

  void colour() {
    const int chains = static_cast<int>(chains_.size()), units = chains + static_cast<int>(lines_.size());
    std::vector<std::set<int>> conflicts(at(units)), parallel(at(units));
    const auto add = [&](int a, int b) {
      if (a == b) return;
      conflicts[at(a)].insert(b);
      conflicts[at(b)].insert(a);
    };
    for (std::size_t p = 0; p < t_.patches.size(); ++p) add(chain_of_[2 * p], chain_of_[2 * p + 1]);
    for (const auto& [own, next] : splits_) add(own, chain_of_[2 * at(next.patch) + at(next.direction)]);
    for (std::size_t e = 0; e < t_.edges.size(); ++e) {
      if (fixed_edge_[e]) continue;
      const int unit = chains + line_of_[e];
      for (const auto& s : t_.edges[e].sides) {
        const bool along_x = s.local % 2 == 0;
        add(unit, chain_of_[2 * at(s.patch) + (along_x ? 1U : 0U)]);
        const int beside = chain_of_[2 * at(s.patch) + (along_x ? 0U : 1U)];
        parallel[at(unit)].insert(beside);
        parallel[at(beside)].insert(unit);
      }
      for (const int f : conflicts_[e]) add(unit, chains + line_of_[at(f)]);
    }
    // Next is what the most colours lie beside, of these what the most parallel neighbours with a colour do, and so on; at last the
    // first one.
    using Key = std::tuple<std::size_t, int, std::size_t, int>;
    std::vector<std::set<int>> taken(at(units));
    std::vector<int> coloured(at(units), 0);
    const auto key = [&](int u) {
      return Key(taken[at(u)].size(), coloured[at(u)], conflicts[at(u)].size(), units - u);
    };
    std::set<Key> open;
    for (int u = 0; u < units; ++u) open.insert(key(u));
    colours_.assign(at(units), -1);
    while (!open.empty()) {
      const auto last = std::prev(open.end());
      const int best = units - std::get<3>(*last);
      open.erase(last);
      int colour = -1;
      for (const int w : parallel[at(best)])
        if (colours_[at(w)] >= 0 && taken[at(best)].count(colours_[at(w)]) == 0) {
          colour = colours_[at(w)];
          break;
        }
      if (colour < 0)
        for (colour = 0; taken[at(best)].count(colour) > 0;) ++colour;
      colours_[at(best)] = colour;
      plan_.colours = std::max(plan_.colours, colour + 1);
      const auto change = [&](int w, const auto& how) {
        if (colours_[at(w)] >= 0) return;
        open.erase(key(w));
        how();
        open.insert(key(w));
      };
      for (const int w : conflicts[at(best)]) change(w, [&] { taken[at(w)].insert(colour); });
      for (const int w : parallel[at(best)]) change(w, [&] { ++coloured[at(w)]; });
    }
  }

  [[nodiscard]] PatchLane lane_of(const Crossing& c) const {
    const auto& p = layout_.patch(c.patch);
    const int along = p.stride(c.direction), across = p.stride(1 - c.direction);
    PatchLane lane{p.first, along, across, p.pitch};
    if (!c.forward) {
      lane.first += p.cells(c.direction) * along;
      lane.along = -along;
    }
    if (c.flipped) {
      lane.first += p.cells(1 - c.direction) * across;
      lane.across = -across;
    }
    return lane;
  }

  void emit() {
    struct Segments {
      int begin, end, cells;
    };
    std::vector<Segments> of_chains, of_lines;
    const auto put = [&](PatchSegment segment, const std::array<int, 2>& patches, Segments& all) {
      segment.start = all.cells;
      all.cells += segment.cells;
      plan_.segments.push_back(segment);
      plan_.patches.push_back(patches);
      all.end = static_cast<int>(plan_.segments.size());
    };
    const auto begin = [&] {
      const int first = static_cast<int>(plan_.segments.size());
      return Segments{first, first, 0};
    };
    for (const auto& chain : chains_) {
      Segments all = begin();
      for (const auto& c : chain.crossings) {
        PatchSegment s;
        s.cells = layout_.patch(c.patch).cells(c.direction);
        s.lane[0] = lane_of(c);
        put(s, {c.patch, c.patch}, all);
      }
      of_chains.push_back(all);
    }
    for (const auto& line : lines_) {
      Segments all = begin();
      for (const auto& step : line.steps) {
        PatchSegment s;
        s.cells = layout_.cells_of_edge(step.edge);
        s.lanes = 0;
        std::array<int, 2> patches{};
        for (const auto& side : edge(step.edge).sides) {
          auto run = layout_.run_of(side);
          if (!step.forward) run = {run.first + s.cells * run.stride, -run.stride};
          patches[at(s.lanes)] = side.patch;
          s.lane[s.lanes++] = {run.first, run.stride, 0, layout_.patch(side.patch).pitch};
        }
        put(s, patches, all);
      }
      of_lines.push_back(all);
    }
    const auto group = [&](const Segments& s) {
      PatchLineGroup g;
      g.segments_begin = s.begin;
      g.segments_end = s.end;
      g.cells = s.cells;
      return g;
    };
    for (int c = 0; c < plan_.colours; ++c)
      for (int phase = 0; phase < 3; ++phase) {
        const std::size_t first = plan_.groups.size();
        for (std::size_t s = 0; s < chains_.size(); ++s) {
          if (colours_[s] != c) continue;
          const auto& front = chains_[s].crossings.front();
          const int lines = layout_.patch(front.patch).cells(1 - front.direction);  // 1 .. lines - 1
          const bool extra = lines % 2 != 0;
          int begin_line = phase == 0 ? 1 : 2, end_line = lines - (extra ? 1 : 0);
          if (phase == 1) {
            begin_line = lines - 1;
            end_line = extra && lines > 1 ? lines : 0;
          }
          const int step = 2 * PatchLinePlan::lines_of_group;
          for (int m = begin_line; m < end_line; m += step) {
            PatchLineGroup g = group(of_chains[s]);
            g.first_line = m;
            g.lines = std::min(PatchLinePlan::lines_of_group, (end_line - m + 1) / 2);
            g.cyclic = chains_[s].cyclic;
            g.first_fixed = chains_[s].first == ChainEnd::uncrossed;
            g.last_fixed = chains_[s].last == ChainEnd::uncrossed;
            plan_.groups.push_back(g);
          }
        }
        if (phase == 2)
          for (std::size_t l = 0; l < lines_.size(); ++l) {
            if (colours_[chains_.size() + l] != c) continue;
            PatchLineGroup g = group(of_lines[l]);
            g.cyclic = lines_[l].cyclic;
            g.first_fixed = lines_[l].first_fixed;
            g.last_fixed = lines_[l].last_fixed;
            // One cell between two nodes that belong to others.
            if (g.cells == 1 && g.first_fixed && g.last_fixed) continue;
            plan_.groups.push_back(g);
          }
        if (plan_.groups.size() == first) continue;
        std::stable_sort(plan_.groups.begin() + static_cast<std::ptrdiff_t>(first), plan_.groups.end(),
                         [](const PatchLineGroup& a, const PatchLineGroup& b) { return a.cells > b.cells; });
        plan_.phases.push_back(static_cast<int>(first));
      }
    plan_.phases.push_back(static_cast<int>(plan_.groups.size()));
    for (std::size_t e = 0; e < t_.edges.size(); ++e)
      if (!t_.edges[e].on_boundary() && crossed_[e]) ++plan_.crossed_edges;
    emit_vertices();
  }

  /// Vertices that are relaxed alone, in phases in which no two couple: those of an edge of one cell or of a patch of one cell
  /// do.
  void emit_vertices() {
    std::vector<std::vector<int>> phases;
    std::vector<std::set<int>> near(t_.vertices.size());
    for (std::size_t p = 0; p < t_.patches.size(); ++p) {
      const auto& corners = t_.patches[p].corners;
      const auto& patch = layout_.patch(static_cast<int>(p));
      for (int a = 0; a < 4; ++a)
        for (int b = 0; b < a; ++b) {
          const bool beside_x = (a == 1 || a == 2) != (b == 1 || b == 2), beside_y = (a >= 2) != (b >= 2);
          if ((beside_x && patch.nx > 1) || (beside_y && patch.ny > 1)) continue;
          near[at(corners[at(a)])].insert(corners[at(b)]);
          near[at(corners[at(b)])].insert(corners[at(a)]);
        }
    }
    std::vector<int> phase_of(t_.vertices.size(), -1);
    for (std::size_t v = 0; v < t_.vertices.size(); ++v) {
      if (regular_[v] || fixed_vertex_[v]) continue;
      std::set<int> taken;
      for (const int w : near[v]) taken.insert(phase_of[at(w)]);
      int phase = 0;
      while (taken.count(phase) > 0) ++phase;
      phase_of[v] = phase;
      if (phase == static_cast<int>(phases.size())) phases.emplace_back();
      phases[at(phase)].push_back(static_cast<int>(v));
    }
    plan_.vertex_begin = {0};
    plan_.vertex_phases = {0};
    for (const auto& phase : phases) {
      for (const int v : phase) {
        for (const auto& corner : t_.vertices[at(v)].corners) {
          plan_.vertex_copies.push_back(layout_.corner(corner));
          plan_.vertex_copies.push_back(layout_.patch(corner.patch).pitch);
          plan_.vertex_patches.push_back(corner.patch);
        }
        plan_.vertex_begin.push_back(static_cast<int>(plan_.vertex_copies.size()) / 2);
      }
      plan_.vertex_phases.push_back(static_cast<int>(plan_.vertex_begin.size()) - 1);
    }
  }

  const PatchLayout& layout_;
  const PatchTopology& t_;
  const std::vector<bool>&crossed_, &fixed_edge_;
  std::vector<bool> fixed_vertex_, regular_;
  std::vector<std::vector<std::pair<int, int>>> straight_;
  std::vector<std::set<int>> conflicts_;  // of edges
  std::vector<int> chain_of_;             // of patch and direction
  std::vector<int> line_of_;              // of edges; negative: Dirichlet
  std::vector<std::pair<int, Crossing>> splits_;
  std::vector<int> broken_;
  std::vector<Chain> chains_;
  std::vector<EdgeLine> lines_;
  std::vector<int> colours_;  // of chains, then edge lines
  PatchLinePlan plan_;
};

}  // namespace

PatchLinePlan plan_lines(const PatchLayout& layout, const std::vector<bool>& crossed, const std::vector<bool>& fixed) {
  return Planner(layout, crossed, fixed).run();
}

}  // namespace stratum
