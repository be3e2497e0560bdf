#include <stratum/multigrid/transfer/box_maps.hpp>

#include <cstddef>

namespace stratum {

BoxAxisNumbers::BoxAxisNumbers(const GatedAxis& axis, const std::vector<bool>& drop) {
  int of_dropped = 0;
  const int n = axis.unknowns();
  for (int i = 0; i < n; ++i) {
    const bool is_dropped = drop[static_cast<std::size_t>(i)];
    if (!is_dropped) kept.push_back(i);
    coarse.push_back(static_cast<int>(kept.size()) - 1);
    dropped.push_back(is_dropped ? of_dropped++ : -1);
  }
  // Interval i lies before unknown i.
  begin.push_back(0);
  for (const int i : kept) {
    end.push_back(i);
    begin.push_back(i + 1);
  }
  end.push_back(n);
  if (axis.periodic) begin.front() = begin.back(), end.front() = n;
}

int BoxAxisNumbers::kept_before(int i) const {
  const int n = static_cast<int>(coarse.size()), turns = i < 0 ? -1 : i >= n ? 1 : 0, inside = i - turns * n;
  const int before = inside == 0 ? 0 : coarse[static_cast<std::size_t>(inside) - 1] + 1;
  return turns * static_cast<int>(kept.size()) + before;
}

int BoxAxisNumbers::kept_at(int c, bool around) const {
  const int n = static_cast<int>(coarse.size()), all = static_cast<int>(kept.size()),
            turns = c < 0      ? -1
                    : c >= all ? 1
                               : 0;
  if (!around && turns != 0) return turns < 0 ? -1 : n;
  return turns * n + kept[static_cast<std::size_t>(c - turns * all)];
}

BoxSlab BoxAxisNumbers::coarser(const BoxSlab& slab) const {
  BoxSlab coarse_slab = slab;
  coarse_slab.first = kept_before(slab.first);
  coarse_slab.planes = static_cast<int>(kept.size());
  return coarse_slab;
}

BoxAxisNumbers BoxAxisNumbers::of_slab(const BoxSlab& slab, int planes) const {
  const int first = kept_before(slab.first), own = kept_before(slab.first + planes) - first;
  BoxAxisNumbers result;
  int of_dropped = 0;
  for (int i = slab.first - slab.before; i < slab.first + planes + slab.behind; ++i) {
    const int before = kept_before(i), behind = kept_before(i + 1);
    result.coarse.push_back(behind - 1 - first);
    result.dropped.push_back(behind == before ? of_dropped++ : -1);
  }
  for (int c = first; c < first + own; ++c) result.kept.push_back(kept_at(c, slab.around) - slab.first);
  for (int c = first; c <= first + own; ++c) {
    result.begin.push_back(kept_at(c - 1, slab.around) + 1 - slab.first);
    result.end.push_back(kept_at(c, slab.around) - slab.first);
  }
  return result;
}

}  // namespace stratum
