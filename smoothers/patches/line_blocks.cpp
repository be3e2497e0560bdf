#include <stratum/smoothers/patches/line_blocks.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace stratum {

namespace {

std::size_t at(int k) { return static_cast<std::size_t>(k); }

constexpr int at_once = 4;  // numbers of a row that a thread loads together

bool is_row(const PatchLane& lane) { return lane.along == 1 || lane.along == -1; }

class Blocks {
 public:
  Blocks(const PatchLinePlan& plan, int longest, int shortest) : plan_(plan), longest_(longest), shortest_(shortest) {}

  PatchLineBlocks run() {
    for (std::size_t phase = 0; phase + 1 < plan_.phases.size(); ++phase)
      add_phase(plan_.phases[phase], plan_.phases[phase + 1]);
    return std::move(all_);
  }

 private:
  [[nodiscard]] int pieces_of(const PatchLineGroup& g, int piece) const {
    int sum = 0;
    for (int s = g.segments_begin; s < g.segments_end; ++s) sum += (plan_.segments[at(s)].cells - 1) / piece + 2;
    return sum - (lacks_last(g) ? 1 : 0);
  }
  /// Whether lines are rows of patches that threads read four nodes at once.
  [[nodiscard]] bool in_rows(const PatchLineGroup& g) const {
    for (int s = g.segments_begin; s < g.segments_end; ++s) {
      const auto& segment = plan_.segments[at(s)];
      if (segment.lanes != 1 || segment.cells % at_once != 0 || !is_row(segment.lane[0])) return false;
    }
    return true;
  }

  /// Whether a line in the order of threads has no piece for its last node.
  [[nodiscard]] bool lacks_last(const PatchLineGroup& g) const { return g.last_fixed && !in_rows(g); }

  void add_phase(int begin, int end) {
    PatchLineLaunch launch;
    launch.blocks_begin = static_cast<int>(all_.blocks.size());
    while (begin + launch.groups_left < end &&
           pieces_of(plan_.groups[at(begin + launch.groups_left)], longest_) > PatchLineBlocks::most_threads)
      ++launch.groups_left;
    begin += launch.groups_left;
    // The longest lines come first. Where there are many nodes, half a sector of each row at least shall be of one block.
    std::int64_t nodes = 0;
    for (int g = begin; g < end; ++g) nodes += std::int64_t{plan_.groups[at(g)].cells} * plan_.groups[at(g)].lines;
    constexpr std::int64_t many = 200'000;
    launch.piece = std::min(longest_, nodes > many ? 2 * shortest_ : shortest_);
    const int together = nodes > many ? 8 : 4;
    while (launch.piece < longest_ && begin < end &&
           pieces_of(plan_.groups[at(begin)], launch.piece) * together > PatchLineBlocks::most_threads)
      launch.piece *= 2;
    for (int g = begin; g < end;) {
      // Groups of one chain follow each other.
      const PatchLineGroup& group = plan_.groups[at(g)];
      int lines = group.lines, next = g + 1;
      for (; next < end; ++next) {
        const PatchLineGroup& other = plan_.groups[at(next)];
        if (other.segments_begin != group.segments_begin || other.first_line != group.first_line + lines * group.step)
          break;
        lines += other.lines;
      }
      add_lines(group, lines, launch, nodes > many);
      g = next;
    }
    launch.blocks_end = static_cast<int>(all_.blocks.size());
    launch.threads = (launch.threads + 31) / 32 * 32;
    all_.phases.push_back(launch);
  }

  void add_lines(const PatchLineGroup& group, int lines, PatchLineLaunch& launch, bool many) {
    PatchLineBlock block;
    const auto [pieces_begin, separators] = pieces(group, launch.piece);
    block.pieces_begin = pieces_begin;
    block.pieces = pieces_of(group, launch.piece);
    block.separators = separators;
    block.step = group.step;
    block.cyclic = group.cyclic;
    block.first_fixed = group.first_fixed;
    block.last_fixed = group.last_fixed;
    const int room = PatchLineBlocks::most_threads / block.pieces;
    const bool rows = in_rows(group);
    int each = std::clamp(rows ? (many ? room : 128 / block.pieces) : std::min(many ? 16 : 4, lines), 1, room);
    each = (lines - 1) / ((lines - 1) / each + 1) + 1;  // alike
    if (!rows) block.lanes = each;
    for (int k = 0; k < lines; k += each) {
      block.first_line = group.first_line + k * group.step;
      block.lines = std::min(each, lines - k);
      all_.blocks.push_back(block);
    }
    launch.threads = std::max(launch.threads, block.pieces * each);
  }

  /// The first piece, and the number of separators.
  std::pair<int, int> pieces(const PatchLineGroup& group, int piece) {
    const auto [found, is_new] = known_.try_emplace({group.segments_begin, piece});
    if (!is_new) return found->second;
    const int begin = static_cast<int>(all_.pieces.size());
    int intervals = 0;
    for (int s = group.segments_begin; s < group.segments_end; ++s)
      intervals += (plan_.segments[at(s)].cells - 1) / piece + 1;
    const int separators = intervals + (group.cyclic || group.last_fixed ? 0 : 1);
    const auto number = [&](int separator) { return separator < separators ? separator : group.cyclic ? 0 : -1; };
    const bool rows = in_rows(group);
    std::vector<int> owners(at(intervals) + 1, 0);
    int start = 0;
    for (int s = group.segments_begin; s < group.segments_end; ++s) {
      const auto& segment = plan_.segments[at(s)];
      const int count = (segment.cells - 1) / piece + 1;
      // Rows in the order of memory.
      const bool reversed = rows && segment.lane[0].along < 0;
      const bool ends = s + 1 == group.segments_end && lacks_last(group);
      for (int m = 0; m < count + (ends ? 0 : 1); ++m) {
        PatchLinePiece p;
        const int cell = std::min(m * piece, segment.cells);
        p.lanes = segment.lanes;
        p.across = segment.lane[0].across;
        for (int l = 0; l < segment.lanes; ++l) {
          const PatchLane& lane = segment.lane[l];
          p.along[l] = reversed ? 1 : lane.along;
          p.first[l] = lane.first + (reversed ? segment.cells - cell : cell) * lane.along;
          p.pitch[l] = lane.pitch;
        }
        p.reversed = reversed;
        const int separator = start + (reversed ? count - m : m);
        p.separator = number(separator);
        p.last = number(reversed ? separator - 1 : separator + 1);
        if (m < count) {
          p.inner = std::min(piece, segment.cells - cell) - 1;
          p.interval = reversed ? separator - 1 : separator;
        } else {
          p.last = p.separator;
        }
        p.second = p.separator >= 0 && owners[at(p.separator)]++ > 0;
        all_.pieces.push_back(p);
      }
      start += count;
    }
    for (int k = 0; k < separators; ++k) all_.pieces[at(begin + k)].shared = owners[at(k)] > 1;
    found->second = {begin, separators};
    return found->second;
  }

  const PatchLinePlan& plan_;
  int longest_, shortest_;
  PatchLineBlocks all_;
  std::map<std::pair<int, int>, std::pair<int, int>> known_;
};

}  // namespace

PatchLineBlocks blocks_of(const PatchLinePlan& plan, int longest, int shortest) {
  return Blocks(plan, longest, shortest).run();
}

}  // namespace stratum
