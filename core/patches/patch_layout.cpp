#include <stratum/core/patches/patch_layout.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

/// Numbers of a cache line. A vector begins one number behind one (core/field/field.hpp), and a patch a line later: rows of four
/// numbers and more at addresses that a GPU reads 16 bytes from.
constexpr int line = 32;

/// Rows of large patches begin at multiples of cache lines.
int pitch_of(int nx) {
  const int least = nx + 2, unit = nx < 32 ? 4 : 32;
  const int pitch = (least + unit - 1) / unit * unit;
  return pitch % 512 == 0 ? pitch + 32 : pitch;
}

}  // namespace

PatchLayout::PatchLayout(std::shared_ptr<const PatchTopology> topology, std::vector<int> cells_of_chords,
                         PatchShare share)
    : topology_(std::move(topology)), chords_(std::move(cells_of_chords)), share_(std::move(share)) {
  const auto& t = *topology_;
  expects(static_cast<int>(chords_.size()) == t.chords, "there are ", t.chords, " chords, but cells of ",
          chords_.size());
  for (const int n : chords_) expects(n >= 1, "a chord of patches cannot have ", n, " cells");
  std::int64_t at = 32;
  nodes_ = static_cast<std::int64_t>(t.vertices.size());
  for (std::size_t e = 0; e < t.edges.size(); ++e) nodes_ += cells_of_edge(static_cast<int>(e)) - 1;
  for (const auto& p : t.patches) {
    Patch patch;
    patch.first = -1;
    patch.nx = cells_of_edge(p.edges[0].number);
    patch.ny = cells_of_edge(p.edges[1].number);
    patch.pitch = pitch_of(patch.nx);
    patches_.push_back(patch);
    nodes_ += (std::int64_t{patch.nx} - 1) * (patch.ny - 1);
  }
  std::vector<int> order(t.patches.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int p, int q) { return rank_of(p) < rank_of(q); });
  for (const int number : order) {
    if (is_part() && rank_of(number) != share_.rank) continue;
    Patch& patch = patches_[static_cast<std::size_t>(number)];
    const std::int64_t first = (at + patch.pitch + line - 1) / line * line + line - 1;
    at = first + std::int64_t{patch.pitch} * (patch.ny + 2) + 1;
    expects(at < std::numeric_limits<int>::max() - 64, "patches of ", at,
            " nodes and more are too many for one vector; use fewer cells");
    patch.first = static_cast<int>(first);
  }
  size_ = static_cast<int>((at + 31) / 32 * 32);
}

PatchLayout::Numbers PatchLayout::numbers_of(int rank) const {
  Numbers numbers{size_, 0};
  for (int p = 0; p < patches(); ++p) {
    if (rank_of(p) != rank || !has(p)) continue;
    numbers.begin = std::min(numbers.begin, patch(p).first);
    numbers.end = std::max(numbers.end, patch(p).node(patch(p).nx, patch(p).ny) + 1);
  }
  if (numbers.end == 0) numbers.begin = 0;
  return numbers;
}

std::int64_t PatchLayout::cells() const {
  std::int64_t sum = 0;
  for (const auto& p : patches_) sum += std::int64_t{p.nx} * p.ny;
  return sum;
}

int PatchLayout::corner(const PatchTopology::Corner& corner) const {
  const Patch& p = patch(corner.patch);
  const int c = corner.corner;
  return p.node(c == 1 || c == 2 ? p.nx : 0, c >= 2 ? p.ny : 0);
}

PatchLayout::Run PatchLayout::run_of(const PatchTopology::Side& side) const {
  const Patch& p = patch(side.patch);
  const int stride = side.local % 2 == 0 ? 1 : p.pitch, n = side.local % 2 == 0 ? p.nx : p.ny;
  int first = p.first;
  if (side.local == 1) first = p.node(p.nx, 0);
  if (side.local == 2) first = p.node(0, p.ny);
  if (topology_->patches[static_cast<std::size_t>(side.patch)].edges[static_cast<std::size_t>(side.local)].reversed)
    return {first + n * stride, -stride};
  return {first, stride};
}

bool PatchLayout::coarsens() const {
  // An interval that stays alone would lie at both ends of a twisted chord.
  bool some = false;
  for (std::size_t c = 0; c < chords_.size(); ++c) {
    if (chords_[c] % 2 != 0 && chords_[c] > 1 && topology_->twisted[c]) return false;
    some = some || chords_[c] > 1;
  }
  return some;
}

PatchLayout PatchLayout::coarser() const {
  std::vector<int> cells(chords_);
  for (int& n : cells) n = (n + 1) / 2;
  return {topology_, std::move(cells), share_};
}

}  // namespace stratum
