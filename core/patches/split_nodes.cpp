#include <stratum/core/patches/split_nodes.hpp>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace {

struct Pick {
  const int* from;
  const double* r;
  double* to;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int /*j*/) const { to[k] = r[from[k]]; }
};

struct SumOfAll {
  const int *places, *own, *begin;
  const double* all;
  double* to;
  bool into_first_alone;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int node, int /*j*/) const {
    const int first = begin[node], end = begin[node + 1];
    double sum = all[places[first]];
    for (int k = first + 1; k < end; ++k) sum += all[places[k]];
    for (int k = first; k < end; ++k)
      if (own[k] >= 0) to[own[k]] = k == first || !into_first_alone ? sum : 0.0;
  }
};

Field<int> on_device(Context& ctx, const std::vector<int>& numbers) {
  return vector_from_host(ctx, numbers.empty() ? std::vector<int>{0} : numbers);
}

}  // namespace

SplitNodes::SplitNodes(Context& ctx, const PatchLayout& layout) {
  begin_ = on_device(ctx, {});
  if (!layout.is_part()) return;
  const auto& t = layout.topology();
  struct Copy {
    int rank, k, own;  // number k of those that the rank sends
  };
  std::vector<int> counts(static_cast<std::size_t>(ctx.subdomains()), 0), sent, begin{0};
  std::vector<Copy> copies;
  const auto add = [&](const std::vector<std::pair<int, int>>& of_node) {  // patch and number, in the order of patches
    bool split = false, here = false;
    for (const auto& [patch, number] : of_node) {
      split = split || layout.rank_of(patch) != layout.rank_of(of_node.front().first);
      here = here || layout.has(patch);
    }
    if (!split) return;
    for (const auto& [patch, number] : of_node) {
      const int rank = layout.rank_of(patch), k = counts[static_cast<std::size_t>(rank)]++;
      if (layout.has(patch)) sent.push_back(number);
      if (here) copies.push_back({rank, k, layout.has(patch) ? number : -1});
    }
    if (here) begin.push_back(static_cast<int>(copies.size()));
  };
  for (std::size_t e = 0; e < t.edges.size(); ++e) {
    const auto& sides = t.edges[e].sides;
    if (sides.size() < 2) continue;
    const auto a = layout.run_of(sides[0]), b = layout.run_of(sides[1]);
    for (int k = 1; k < layout.cells_of_edge(static_cast<int>(e)); ++k)
      add({{sides[0].patch, a.first + k * a.stride}, {sides[1].patch, b.first + k * b.stride}});
  }
  for (const auto& vertex : t.vertices) {
    std::vector<std::pair<int, int>> of_node;
    for (const auto& corner : vertex.corners) of_node.emplace_back(corner.patch, layout.corner(corner));
    if (!of_node.empty()) add(of_node);
  }
  numbers_ = NumbersOfRanks<double>(ctx, counts);
  std::vector<int> places, own;
  for (const Copy& copy : copies) {
    places.push_back(numbers_.place(copy.rank, copy.k));
    own.push_back(copy.own);
  }
  sent_count_ = static_cast<int>(sent.size());
  nodes_ = static_cast<int>(begin.size()) - 1;
  sent_ = on_device(ctx, sent);
  copies_ = on_device(ctx, places);
  own_ = on_device(ctx, own);
  begin_ = on_device(ctx, begin);
}

void SplitNodes::gather_copies(Context& ctx, Partial<double>& r) {
  sum(ctx, r.numbers.cview().data, r.numbers.view().data, true);
}
void SplitNodes::sum_copies(Context& ctx, const Partial<double>& r, Consistent<double>& x) {
  sum(ctx, r.numbers.cview().data, x.numbers.view().data, false);
}

void SplitNodes::sum(Context& ctx, const double* r, double* to, bool into_first_alone) {
  if (numbers_.empty()) return;
  if (sent_count_ > 0) for_each_node(ctx, {0, sent_count_, 1, 0, 1, 1}, Pick{sent_.view().data, r, numbers_.mine()});
  numbers_.gather(ctx);
  if (nodes_ > 0)
    for_each_node(
        ctx, {0, nodes_, 1, 0, 1, 1},
        SumOfAll{copies_.view().data, own_.view().data, begin_.view().data, numbers_.all(), to, into_first_alone});
}

}  // namespace stratum
