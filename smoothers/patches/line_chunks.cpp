#include <stratum/smoothers/patches/line_chunks.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace stratum {

namespace {

std::size_t at(int k) { return static_cast<std::size_t>(k); }

/// Row of a node within its line.
struct Row {
  double lower = 0, upper = 0, excess = 0;
  bool fixed = false;
};

/// Segments begin .. end - 1 that one rank has alone, or one segment that two have.
struct Chunk {
  int begin = 0, end = 0, cells = 0;
  std::vector<int> ranks;
  [[nodiscard]] bool is_solid() const { return ranks.size() == 1; }
  [[nodiscard]] int nodes_left() const { return is_solid() ? 1 : cells; }  // less the last one
};

class Cutter {
 public:
  Cutter(Communicator& ranks, const PatchLayout& layout, const PatchRowsOnHost& rows, const std::vector<int>& fixed,
         PatchLinePlan& plan)
      : ranks_(ranks), layout_(layout), bands_{rows.excess.data(), rows.east.data(), rows.north.data(),
                                               rows.north_east.data(), rows.north_west.data()},
        fixed_(fixed), from_(plan) {}

  DistributedLinesOnHost run(PatchLinePlan& plan) {
    own_.colours = from_.colours;
    own_.crossed_edges = from_.crossed_edges;
    own_.vertex_begin = own_.vertex_phases = {0};
    // Number 0 of a vector lies one number behind a multiple of those that threads load together.
    constexpr int beside = 2 * together - 1;
    left_.size = beside;
    for (std::size_t phase = 0; phase + 1 < from_.phases.size(); ++phase) {
      begin_phase();
      left_.lines.phases.push_back(static_cast<int>(left_.lines.groups.size()));
      own_.phases.push_back(static_cast<int>(own_.groups.size()));
      for (int g = from_.phases[phase]; g < from_.phases[phase + 1]; ++g) add(from_.groups[at(g)]);
      const auto first = own_.groups.begin() + own_.phases.back();
      std::stable_sort(first, own_.groups.end(),
                       [](const PatchLineGroup& a, const PatchLineGroup& b) { return a.cells > b.cells; });
      end_phase();
    }
    own_.phases.push_back(static_cast<int>(own_.groups.size()));
    left_.lines.phases.push_back(static_cast<int>(left_.lines.groups.size()));
    left_.lines.vertex_begin = left_.lines.vertex_phases = {0};
    for (std::size_t phase = 0; phase + 1 < from_.vertex_phases.size(); ++phase) {
      begin_phase();
      for (int v = from_.vertex_phases[phase]; v < from_.vertex_phases[phase + 1]; ++v) add_vertex(v);
      own_.vertex_phases.push_back(static_cast<int>(own_.vertex_begin.size()) - 1);
      left_.lines.vertex_phases.push_back(static_cast<int>(left_.lines.vertex_begin.size()) - 1);
      end_phase();
    }
    left_.number_phases.push_back(left_.size);
    left_.size += beside;
    add_matrix();
    plan = std::move(own_);
    return std::move(left_);
  }

 private:
  [[nodiscard]] int rank() const { return ranks_.rank(); }

  void begin_phase() {
    sent_.assign(at(ranks_.size()), 0);
    left_.number_phases.push_back(left_.size);
  }
  void end_phase() {
    left_.counts.push_back(sent_);
    left_.chunk_phases.push_back(static_cast<int>(left_.chunks.size()));
    left_.node_phases.push_back(static_cast<int>(left_.nodes.size()));
    left_.target_phases.push_back(static_cast<int>(left_.targets.size()));
    left_.summed_phases.push_back(static_cast<int>(left_.summed.size()));
    left_.short_phases.push_back(static_cast<int>(left_.short_lines.size()));
  }

  [[nodiscard]] std::vector<int> ranks_of(int segment) const {
    std::vector<int> of;
    for (int l = 0; l < from_.segments[at(segment)].lanes; ++l) {
      const int rank = layout_.rank_of(from_.patches[at(segment)][at(l)]);
      if (of.empty() || of.front() != rank) of.push_back(rank);
    }
    std::sort(of.begin(), of.end());
    return of;
  }

  [[nodiscard]] std::vector<Chunk> chunks_of(const PatchLineGroup& group) const {
    std::vector<Chunk> chunks;
    for (int s = group.segments_begin; s < group.segments_end; ++s) {
      auto of = ranks_of(s);
      if (chunks.empty() || of.size() > 1 || chunks.back().ranks != of) chunks.push_back({s, s, 0, std::move(of)});
      chunks.back().end = s + 1;
      chunks.back().cells += from_.segments[at(s)].cells;
    }
    return chunks;
  }

  /// Segments of the rank's own, beginning anew: once for all lines of a chain.
  PatchLineGroup own_group(const PatchLineGroup& from, int begin, int end) {
    PatchLineGroup group = from;
    const auto [known, is_new] = groups_.try_emplace({begin, end}, group);
    if (!is_new) {
      group.segments_begin = known->second.segments_begin;
      group.segments_end = known->second.segments_end;
      group.cells = known->second.cells;
      return group;
    }
    group.segments_begin = static_cast<int>(own_.segments.size());
    group.cells = 0;
    for (int s = begin; s < end; ++s) {
      PatchSegment segment = from_.segments[at(s)];
      segment.start = group.cells;
      group.cells += segment.cells;
      own_.segments.push_back(segment);
      own_.patches.push_back(from_.patches[at(s)]);
    }
    group.segments_end = static_cast<int>(own_.segments.size());
    known->second = group;
    return group;
  }

  void add(const PatchLineGroup& group) {
    const auto chunks = chunks_of(group);
    if (chunks.size() == 1 && chunks.front().is_solid()) {
      if (chunks.front().ranks.front() == rank())
        own_.groups.push_back(own_group(group, group.segments_begin, group.segments_end));
      return;
    }
    const bool here = std::any_of(chunks.begin(), chunks.end(), [&](const Chunk& chunk) { return has(chunk); });
    int cells = 0;
    for (const Chunk& chunk : chunks) cells += chunk.nodes_left();
    const int first = here ? add_line(group, cells) : 0, across = across_of(cells);
    int start = 0;
    for (const Chunk& chunk : chunks) {
      if (chunk.is_solid())
        add_solid(group, chunk, here, first + start, across, is_short(cells));
      else
        add_open(chunk, here, first + start, is_short(cells));
      start += chunk.nodes_left();
    }
    if (here && is_short(cells)) add_short_lines(group, cells, first);
  }
  /// Whichever rank asks: all shall compute the same bits.
  [[nodiscard]] static bool is_short(int cells) { return cells < DistributedLinesOnHost::most_nodes; }
  void add_short_lines(const PatchLineGroup& group, int cells, int first) {
    DistributedLinesOnHost::ShortLine line{
        0, cells + (group.cyclic ? 0 : 1), group.cyclic, group.first_fixed, group.last_fixed, 0, 0};
    for (int m = 0; m < group.lines; ++m) {
      line.first = first + m * across_of(cells);
      line.targets_begin = static_cast<int>(left_.short_targets.size());
      for (const auto& [node, number] : targets_)
        if (number >= line.first && number <= line.first + cells)
          left_.short_targets.push_back({node, number - line.first == line.nodes ? 0 : number - line.first});
      line.targets_end = static_cast<int>(left_.short_targets.size());
      left_.short_lines.push_back(line);
    }
    targets_.clear();
  }
  void put_target(bool to_short_line, int node, int number) {
    (to_short_line ? targets_ : left_.targets).push_back({node, number});
  }
  [[nodiscard]] bool has(const Chunk& chunk) const {
    return std::find(chunk.ranks.begin(), chunk.ranks.end(), rank()) != chunk.ranks.end();
  }

  /// Between lines that are left: their nodes, and one number or more. Threads load four numbers together
  /// (smoothers/patches/line_thread.hpp).
  static constexpr int together = 4;
  [[nodiscard]] static int across_of(int cells) { return (cells + 2 + together - 1) / together * together; }
  /// Returns the first number of its first line.
  int add_line(const PatchLineGroup& group, int cells) {
    const int first = left_.size;
    left_.size += group.lines * across_of(cells);
    sums_.resize(at(left_.size));
    if (is_short(cells)) return first;
    for (int number = first; number < left_.size; ++number) left_.summed.push_back(number);
    PatchSegment segment;
    segment.cells = cells;
    segment.lane[0] = {first, 1, across_of(cells), together};
    PatchLineGroup left = group;
    left.segments_begin = static_cast<int>(left_.lines.segments.size());
    left.segments_end = left.segments_begin + 1;
    left.cells = cells;
    left.first_line = 0;
    left.step = 1;
    left_.lines.segments.push_back(segment);
    left_.lines.groups.push_back(left);
    return first;
  }

  void add_solid(const PatchLineGroup& group, const Chunk& chunk, bool here, int number, int across,
                 bool is_in_short_line) {
    int& sent = sent_[at(chunk.ranks.front())];
    if (here)
      for (int m = 0; m < group.lines; ++m) {
        sums_[at(number + m * across)].push_back({chunk.ranks.front(), sent + m});
        sums_[at(number + m * across + 1)].push_back({chunk.ranks.front(), sent + group.lines + m});
      }
    if (chunk.ranks.front() == rank()) {
      DistributedLinesOnHost::Chunk own;
      own.group = own_group(group, chunk.begin, chunk.end);
      own.group.cyclic = false;
      own.group.first_fixed = own.group.last_fixed = true;
      own.sent = sent;
      if (own.group.cells > 1) own_.groups.push_back(own.group);
      eliminate(own);
      for (int m = 0; m < group.lines; ++m) {
        const int line = group.first_line + m * group.step;
        add_targets(own_.segments[at(own.group.segments_begin)], 0, line, number + m * across, is_in_short_line);
        const auto& last = own_.segments[at(own.group.segments_end - 1)];
        add_targets(last, last.cells, line, number + m * across + 1, is_in_short_line);
      }
      left_.chunks.push_back(own);
    }
    sent += 2 * group.lines;
  }
  void add_targets(const PatchSegment& segment, int k, int line, int number, bool is_in_short_line) {
    for (int l = 0; l < segment.lanes; ++l) {
      const PatchLane& lane = segment.lane[l];
      put_target(is_in_short_line, lane.first + k * lane.along + line * lane.across, number);
    }
  }

  void add_open(const Chunk& chunk, bool here, int number, bool is_in_short_line) {
    const PatchSegment& segment = from_.segments[at(chunk.begin)];
    for (int l = 0; l < segment.lanes; ++l) {
      const int owner = layout_.rank_of(from_.patches[at(chunk.begin)][at(l)]);
      int& sent = sent_[at(owner)];
      if (here)
        for (int k = 0; k <= segment.cells; ++k) sums_[at(number + k)].push_back({owner, sent + k});
      if (owner == rank())
        for (int k = 0; k <= segment.cells; ++k) {
          const PatchLane& lane = segment.lane[l];
          const int node = lane.first + k * lane.along;
          left_.nodes.push_back({node, lane.pitch, sent + k});
          put_target(is_in_short_line, node, number + k);
          Row row;
          add_row(lane, k, 0, row);
          send_matrix(row, k < segment.cells ? row.upper : 0);
        }
      sent += segment.cells + 1;
    }
  }

  void add_vertex(int v) {
    const int begin = from_.vertex_begin[at(v)], end = from_.vertex_begin[at(v) + 1];
    const auto rank_of = [&](int c) { return layout_.rank_of(from_.vertex_patches[at(c)]); };
    bool split = false, here = false;
    for (int c = begin; c < end; ++c) {
      split = split || rank_of(c) != rank_of(begin);
      here = here || rank_of(c) == rank();
    }
    if (!split) {
      if (!here) return;
      for (int c = begin; c < end; ++c) {
        own_.vertex_copies.push_back(from_.vertex_copies[at(2 * c)]);
        own_.vertex_copies.push_back(from_.vertex_copies[at(2 * c) + 1]);
        own_.vertex_patches.push_back(from_.vertex_patches[at(c)]);
      }
      own_.vertex_begin.push_back(static_cast<int>(own_.vertex_copies.size()) / 2);
      return;
    }
    const int number = here ? add_line({}, 0) : 0;
    for (int c = begin; c < end; ++c) {
      int& sent = sent_[at(rank_of(c))];
      if (here) sums_[at(number)].push_back({rank_of(c), sent});
      if (rank_of(c) == rank()) {
        const int node = from_.vertex_copies[at(2 * c)], pitch = from_.vertex_copies[at(2 * c) + 1];
        left_.nodes.push_back({node, pitch, sent});
        put_target(true, node, number);
        Row row;
        const auto r = bands_.row(node, pitch);
        row.excess = r.excess;
        for (const auto& line : r.to)
          for (const double entry : line) row.excess -= entry;
        send_matrix(row, 0);
      }
      ++sent;
    }
    if (here) add_short_lines({}, 0, number);
  }

  void add_row(const PatchLane& lane, int k, int line, Row& row) const {
    const int node = lane.first + k * lane.along + line * lane.across;
    const bool along_x = lane.along == 1 || lane.along == -1;
    const auto r = bands_.row(node, lane.pitch);
    const double before = -(along_x ? r.to[1][0] : r.to[0][1]), after = -(along_x ? r.to[1][2] : r.to[2][1]);
    const double corners = (r.to[0][0] + r.to[0][2]) + (r.to[2][0] + r.to[2][2]);
    const double sides = along_x ? r.to[0][1] + r.to[2][1] : r.to[1][0] + r.to[1][2];
    row.excess += r.excess - (corners + sides);
    row.upper += lane.along > 0 ? after : before;
    row.lower += lane.along > 0 ? before : after;
    row.fixed = row.fixed || std::binary_search(fixed_.begin(), fixed_.end(), node);
  }

  void eliminate(DistributedLinesOnHost::Chunk& chunk) {
    const PatchLineGroup& group = chunk.group;
    const int n = group.cells;
    const auto& front = own_.segments[at(group.segments_begin)].lane[0];
    const bool along_x = front.along == 1 || front.along == -1;
    chunk.weights = static_cast<int>(left_.to_first.size());
    chunk.of_line = along_x ? n + 1 : 1;
    chunk.of_node = along_x ? 1 : group.lines;
    left_.to_first.resize(left_.to_first.size() + at(group.lines) * at(n + 1));
    left_.to_last.resize(left_.to_first.size());
    std::vector<Row> ends;
    std::vector<double> couplings;
    std::vector<Row> rows(at(n + 1));
    std::vector<double> upper(at(n + 1)), first(at(n + 1));  // u / p and w / p
    for (int m = 0; m < group.lines; ++m) {
      std::fill(rows.begin(), rows.end(), Row{});
      for (int s = group.segments_begin; s < group.segments_end; ++s) {
        const PatchSegment& segment = own_.segments[at(s)];
        for (int l = 0; l < segment.lanes; ++l)
          for (int k = 0; k <= segment.cells; ++k)
            add_row(segment.lane[l], k, group.first_line + m * group.step, rows[at(segment.start + k)]);
      }
      const auto weight = [&](std::vector<double>& v, int k) -> double& {
        return v[at(chunk.weights + m * chunk.of_line + k * chunk.of_node)];
      };
      double excess = 0, to_first = 0;  // e' / p and w / p of the node before
      for (int k = 1; k < n; ++k) {
        Row& row = rows[at(k)];
        if (row.fixed) row = {0, 0, 1, true};
        const double e = k == 1 ? row.excess : row.excess + row.lower * excess,
                     w = k == 1 ? row.lower : row.lower * to_first, p = e + row.upper + w;
        excess = e / p;
        to_first = w / p;
        upper[at(k)] = row.upper / p;
        first[at(k)] = to_first;
      }
      weight(left_.to_first, 0) = weight(left_.to_last, n) = 1;
      weight(left_.to_first, n) = weight(left_.to_last, 0) = 0;
      for (int k = n - 1; k >= 1; --k) {
        weight(left_.to_first, k) = upper[at(k)] * weight(left_.to_first, k + 1) + first[at(k)];
        weight(left_.to_last, k) = upper[at(k)] * weight(left_.to_last, k + 1);
      }
      Row a = rows.front(), b = rows.back();
      const double coupling = n == 1 ? a.upper : a.upper * weight(left_.to_last, 1);
      for (int k = 1; k < n; ++k) {
        if (rows[at(k)].fixed) continue;
        a.excess += weight(left_.to_first, k) * rows[at(k)].excess;
        b.excess += weight(left_.to_last, k) * rows[at(k)].excess;
      }
      ends.push_back(a);
      couplings.push_back(coupling);
      ends.push_back(b);
    }
    for (int m = 0; m < group.lines; ++m) send_matrix(ends[at(2 * m)], couplings[at(m)]);
    for (int m = 0; m < group.lines; ++m) send_matrix(ends[at(2 * m) + 1], 0);
  }

  /// In the order of what is sent in phases.
  void send_matrix(const Row& row, double to_next) {
    matrix_.push_back(row.fixed ? HUGE_VAL : row.excess);
    matrix_.push_back(to_next);
  }

  void add_matrix() {
    const auto all = ranks_.join_on_host(matrix_);
    std::vector<std::vector<std::size_t>> begin(left_.counts.size());  // by phase and rank
    std::size_t next = 0;
    for (int r = 0; r < ranks_.size(); ++r)
      for (std::size_t phase = 0; phase < left_.counts.size(); ++phase) {
        begin[phase].push_back(next);
        next += at(left_.counts[phase][at(r)]);
      }
    sums_.resize(at(left_.size));
    left_.rows = PatchRowsOnHost(left_.size);
    left_.begin = {0};
    for (std::size_t phase = 0; phase + 1 < left_.number_phases.size(); ++phase) {
      while (static_cast<int>(left_.begin.size()) <= left_.number_phases[phase]) left_.begin.push_back(0);
      for (int k = left_.number_phases[phase]; k < left_.number_phases[phase + 1]; ++k) {
        bool is_fixed = false;
        for (const auto& source : sums_[at(k)]) {
          const std::size_t number = 2 * (begin[phase][at(source.rank)] + at(source.sent));
          is_fixed = is_fixed || std::isinf(all[number]);
          left_.rows.excess[at(k)] += all[number];
          left_.rows.east[at(k)] -= all[number + 1];
          left_.sources.push_back(source);
        }
        if (is_fixed) {
          left_.rows.excess[at(k)] = 0;
          left_.fixed.push_back(k);
        }
        left_.begin.push_back(static_cast<int>(left_.sources.size()));
      }
    }
    left_.begin.resize(at(left_.size) + 1, static_cast<int>(left_.sources.size()));
  }

  Communicator& ranks_;
  const PatchLayout& layout_;
  const PatchBands<double> bands_;
  const std::vector<int>& fixed_;
  const PatchLinePlan& from_;
  PatchLinePlan own_;
  DistributedLinesOnHost left_;
  std::map<std::pair<int, int>, PatchLineGroup> groups_;  // own, by segments of the whole collection
  std::vector<int> sent_;                                 // by every rank in this phase
  std::vector<std::vector<DistributedLinesOnHost::Source>> sums_;
  std::vector<DistributedLinesOnHost::Target> targets_;  // of short lines that are being added
  std::vector<double> matrix_;
};

}  // namespace

DistributedLinesOnHost distributed_lines(Communicator& ranks, const PatchLayout& layout, const PatchRowsOnHost& rows,
                                         const std::vector<int>& fixed, PatchLinePlan& plan) {
  return Cutter(ranks, layout, rows, fixed, plan).run(plan);
}

}  // namespace stratum
