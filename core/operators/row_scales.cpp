#include <stratum/core/operators/row_scales.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace stratum {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Nothing but the diagonal.
std::vector<char> rows_alone(const SparseRows& a) {
  std::vector<char> alone(at(a.rows), 1);
  for (int i = 0; i < a.rows; ++i)
    for (auto k = at(a.start[at(i)]); k < at(a.start[at(i) + 1]); ++k)
      if (a.column[k] != i && a.value[k] != 0) alone[at(i)] = 0;
  return alone;
}

/// Where the entry (j, i) of every (i, j) stands; -1 where there is none.
std::vector<int> mirrors(const SparseRows& a) {
  std::vector<int> mirror(a.column.size(), -1), next(a.start.begin(), a.start.end() - 1);
  // Rows come in order, and so do the columns of row j.
  for (int i = 0; i < a.rows; ++i)
    for (auto k = at(a.start[at(i)]); k < at(a.start[at(i) + 1]); ++k) {
      const auto j = at(a.column[k]);
      while (next[j] < a.start[j + 1] && a.column[at(next[j])] < i) ++next[j];
      if (next[j] < a.start[j + 1] && a.column[at(next[j])] == i) mirror[k] = next[j];
    }
  return mirror;
}

std::optional<PartScales> part_scales(const SparseRows& a, const std::vector<char>& alone,
                                      const std::vector<int>& mirror) {
  PartScales found{std::vector<double>(at(a.rows)), std::vector<int>(at(a.rows), -1), 0};
  auto& [d, part, parts] = found;
  std::vector<int> reached;
  for (int first = 0; first < a.rows; ++first) {
    if (part[at(first)] >= 0) continue;
    d[at(first)] = 1;
    part[at(first)] = parts++;
    if (alone[at(first)] != 0) continue;
    reached.assign(1, first);
    for (std::size_t next = 0; next < reached.size(); ++next) {
      const auto i = at(reached[next]);
      for (auto k = at(a.start[i]); k < at(a.start[i + 1]); ++k) {
        const auto j = at(a.column[k]);
        if (j == i || a.value[k] == 0 || alone[j] != 0) continue;
        const double here = d[i] * a.value[k], there = mirror[k] < 0 ? 0 : a.value[at(mirror[k])];
        if (!(here * there > 0)) return {};
        if (part[j] < 0) {
          d[j] = here / there;
          part[j] = part[i];
          if (!(d[j] > 0 && std::isfinite(d[j]))) return {};
          reached.push_back(a.column[k]);
        } else if (!(std::abs(here - d[j] * there) <= scales_agree * std::abs(here))) {
          return {};
        }
      }
    }
  }
  return found;
}

}  // namespace

// Of a subdomain a row may be coupled to others' alone: none is passed over.
std::optional<PartScales> part_scales(const SparseRows& a) {
  return part_scales(a, std::vector<char>(at(a.rows), 0), mirrors(a));
}

ScaleSpans::ScaleSpans(const SparseRows& a, const std::vector<double>& scales) {
  const auto alone = rows_alone(a);
  for (int i = 0; i < a.rows; ++i) {
    if (alone[at(i)] != 0) continue;
    const double own = scales[at(i)];
    d.take(own);
    for (auto k = at(a.start[at(i)]); k < at(a.start[at(i) + 1]); ++k)
      if (a.column[k] == i) {
        diagonal.take(std::abs(a.value[k]));
        scaled.take(std::abs(own * a.value[k]));
      }
  }
}

std::vector<double> scale_to_symmetry(SparseRows& a) {
  const auto alone = rows_alone(a);
  const auto mirror = mirrors(a);
  auto found = part_scales(a, alone, mirror);
  if (!found || !ScaleSpans(a, found->d).are_of_rows()) return {};
  const std::vector<double>& d = found->d;
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (alone[i] != 0) continue;
    for (auto k = at(a.start[i]); k < at(a.start[i + 1]); ++k) {
      const auto j = at(a.column[k]);
      if (j < i && alone[j] == 0 && mirror[k] >= 0)
        a.value[k] = a.value[at(mirror[k])];
      else
        a.value[k] *= d[i];
    }
  }
  return std::move(found->d);
}

}  // namespace stratum
