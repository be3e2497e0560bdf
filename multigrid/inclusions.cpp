#include <stratum/multigrid/inclusions.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace {

/// What lies above the geometric mean of the smallest and the largest.
std::vector<char> above_mean(const std::vector<double>& k) {
  const auto [least, most] = std::minmax_element(k.begin(), k.end());
  constexpr double above_rounding = 1 + 1e-12;
  const double threshold = std::sqrt(*least) * std::sqrt(*most) * above_rounding;
  std::vector<char> above(k.size());
  std::transform(k.begin(), k.end(), above.begin(), [threshold](double value) { return value > threshold ? 1 : 0; });
  return above;
}

/// How many there are, where they are numbered from 0 on.
std::size_t parts_in(const std::vector<int>& numbers) {
  const int last = *std::max_element(numbers.begin(), numbers.end());
  return last < 0 ? 0 : static_cast<std::size_t>(last) + 1;
}

/// Unknown i of a coarse line, among those of the fine one.
int fine_unknown(const Axis& fine, const Axis& coarse, int i) {
  const int node = i + coarse.first_unknown();
  const int there = coarse.size() == fine.size() ? node : node >= coarse.size() ? fine.size() : 2 * node;
  return there - fine.first_unknown();
}

/// u is one where the inclusion's nodes lie, and, of the finest grid, zero on those of others.
struct MarkInclusion {
  FieldView<const int> inclusion;
  int number;
  bool finest;
  FieldView<double> u;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int there = inclusion(i, j);
    if (there == number)
      u(i, j) = 1;
    else if (finest && there >= 0)
      u(i, j) = 0;
  }
};

/// Columns and rows of unknowns; empty where the first is beyond the last.
struct Box {
  int first_x = std::numeric_limits<int>::max(), last_x = -1, first_y = std::numeric_limits<int>::max(), last_y = -1;

  void add(int i, int j) {
    first_x = std::min(first_x, i);
    last_x = std::max(last_x, i);
    first_y = std::min(first_y, j);
    last_y = std::max(last_y, j);
  }
  [[nodiscard]] bool is_empty() const { return last_x < first_x; }
};

/// The unknowns of a fine line that an interpolation may reach from first .. last of the coarse one.
std::pair<int, int> range_above(const Axis& fine, const Axis& coarse, int first, int last) {
  const int n = fine.unknowns();
  if (fine.is_periodic()) return {0, n - 1};
  return {first > 0 ? fine_unknown(fine, coarse, first - 1) : 0,
          last + 1 < coarse.unknowns() ? fine_unknown(fine, coarse, last + 1) : n - 1};
}

/// The part of u in the box.
FieldView<const double> part_of(FieldView<const double> u, const Box& box) {
  u.data = &u(box.first_x, box.first_y);
  u.nx = box.last_x - box.first_x + 1;
  u.ny = box.last_y - box.first_y + 1;
  return u;
}

}  // namespace

int Inclusions::floating() const { return static_cast<int>(std::count(grounded.begin(), grounded.end(), 0)); }

Inclusions inclusions(const TensorMesh<2>& mesh, const CellCoefficients& k) {
  const Axis &x = mesh.x(), &y = mesh.y();
  expects(k.nx == x.size() && k.ny == y.size(), "coefficients of ", k.nx, " x ", k.ny, " cells for a mesh of ",
          x.size(), " x ", y.size());
  const GridLayout<2> cells{k.nx, k.ny, 0, 0, x.is_periodic(), y.is_periodic()}, unknowns = mesh.unknowns();
  const auto part = connected_parts(cells, above_mean(k.xx), true);
  Inclusions found;
  found.grounded.assign(parts_in(part), 0);
  found.of_unknown.assign(static_cast<std::size_t>(unknowns.nodes()), -1);
  // Node i of a line as an unknown; -1 where it is none.
  const auto unknown = [](const Axis& line, int i) {
    if (line.is_periodic()) i %= line.size();
    const int u = i - line.first_unknown();
    return u < line.unknowns() ? u : -1;
  };
  for (int j = 0; j < k.ny; ++j)
    for (int i = 0; i < k.nx; ++i) {
      const int number =
          part[static_cast<std::size_t>(j) * static_cast<std::size_t>(k.nx) + static_cast<std::size_t>(i)];
      if (number < 0) continue;
      for (int corner = 0; corner < 4; ++corner) {
        const int p = unknown(x, i + corner % 2), q = unknown(y, j + corner / 2);
        if (p < 0 || q < 0)
          found.grounded[static_cast<std::size_t>(number)] = 1;
        else
          found.of_unknown[static_cast<std::size_t>(q) * static_cast<std::size_t>(unknowns.nx) +
                           static_cast<std::size_t>(p)] = number;
      }
    }
  return found;
}

namespace {

/// Of a subdomain's rows, as subdomain_rows has them, and those of the others; `comm` null: of a whole matrix.
Inclusions inclusions_of_rows(const SparseRows& a, Communicator* comm, const GridLayout<2>& subdomain,
                              const GridLayout<2>& whole) {
  constexpr double strong = 1e-2;
  const auto n = static_cast<std::size_t>(a.rows);
  const auto entries = [&a](std::size_t k) {
    return std::pair(static_cast<std::size_t>(a.start[k]), static_cast<std::size_t>(a.start[k + 1]));
  };
  const auto of_all = [comm](const std::vector<double>& own) {
    return comm == nullptr ? own : comm->join_on_host(own);
  };
  const int first_row = comm == nullptr ? 0 : subdomain.origin_y - whole.origin_y,
            beside = comm == nullptr ? 0 : subdomain.nx;
  const std::size_t begin = static_cast<std::size_t>(first_row) * static_cast<std::size_t>(beside);
  const auto node_of = [&](int column) {
    if (comm == nullptr) return static_cast<std::size_t>(column);
    const int j = (first_row + column / subdomain.nx - 1 + whole.ny) % whole.ny;
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(subdomain.nx) +
           static_cast<std::size_t>(column % subdomain.nx);
  };
  std::vector<double> own_coupled(n, 0.0), sum(n, 0.0);
  for (std::size_t k = 0; k < n; ++k)
    for (auto [e, end] = entries(k); e < end; ++e) {
      sum[k] += a.value[e];
      if (a.column[e] != static_cast<int>(k) + beside) own_coupled[k] += std::abs(a.value[e]);
    }
  // What is coupled to nothing has no K.
  const std::vector<double> coupled = of_all(own_coupled);
  const double most = coupled.empty() ? 0 : *std::max_element(coupled.begin(), coupled.end());
  std::vector<double> kappa = coupled;
  std::replace(kappa.begin(), kappa.end(), 0.0, most);
  Inclusions found;
  found.of_unknown.assign(coupled.size(), -1);
  if (most == 0) return found;
  const std::vector<char> above = above_mean(kappa);

  // Connected parts of own rows, and which of them is coupled to what nodes of others.
  std::vector<double> part(n, -1.0), grounded;
  std::vector<std::pair<std::size_t, std::size_t>> across;
  std::vector<std::size_t> reached;
  for (std::size_t first = 0; first < n; ++first) {
    if (!above[begin + first] || own_coupled[first] == 0 || part[first] >= 0) continue;
    const auto number = static_cast<double>(grounded.size());
    grounded.push_back(0);
    part[first] = number;
    reached.assign(1, first);
    while (!reached.empty()) {
      const std::size_t k = reached.back();
      reached.pop_back();
      if (sum[k] > strong * own_coupled[k]) grounded.back() = 1;
      for (auto [e, end] = entries(k); e < end; ++e) {
        const std::size_t there = node_of(a.column[e]);
        if (!above[there] || std::abs(a.value[e]) < strong * std::min(own_coupled[k], coupled[there])) continue;
        if (there < begin || there >= begin + n) {
          across.emplace_back(k, there);
        } else if (const std::size_t m = there - begin; part[m] < 0) {
          part[m] = number;
          reached.push_back(m);
        }
      }
    }
  }
  // Parts of all, and which are one.
  if (comm != nullptr) {
    const auto counts = comm->gather_on_host(grounded.size());
    const auto before =
        static_cast<double>(std::accumulate(counts.begin(), counts.begin() + comm->rank(), std::size_t{0}));
    for (double& number : part) number += number < 0 ? 0 : before;
  }
  const std::vector<double> own_part = part;
  part = of_all(part);
  grounded = of_all(grounded);
  std::vector<double> links;
  for (const auto& [k, there] : across)
    if (part[there] >= 0) links.insert(links.end(), {own_part[k], part[there]});
  links = of_all(links);
  std::vector<std::size_t> joined(grounded.size());
  std::iota(joined.begin(), joined.end(), std::size_t{0});
  const auto root = [&joined](std::size_t p) {
    while (joined[p] != p) p = joined[p] = joined[joined[p]];
    return p;
  };
  for (std::size_t k = 0; k < links.size(); k += 2)
    joined[root(static_cast<std::size_t>(links[k]))] = root(static_cast<std::size_t>(links[k + 1]));
  // Numbered by their first nodes.
  std::vector<int> number(grounded.size(), -1);
  for (std::size_t k = 0; k < part.size(); ++k) {
    if (part[k] < 0) continue;
    int& mine = number[root(static_cast<std::size_t>(part[k]))];
    if (mine < 0) {
      mine = static_cast<int>(found.grounded.size());
      found.grounded.push_back(0);
    }
    found.of_unknown[k] = mine;
  }
  for (std::size_t p = 0; p < grounded.size(); ++p)
    if (grounded[p] != 0) found.grounded[static_cast<std::size_t>(number[root(p)])] = 1;
  // Where a penalty holds a node, all vectors are zero: its row would be all of A z.
  constexpr double strongly = 10;
  std::vector<double> own_held(n);
  for (std::size_t k = 0; k < n; ++k) own_held[k] = sum[k] > strongly * own_coupled[k] && own_coupled[k] > 0 ? 1 : 0;
  const std::vector<double> held = of_all(own_held);
  const auto holds = [](double h) { return h > 0; };
  if (std::none_of(held.begin(), held.end(), holds)) return found;
  for (std::size_t k = 0; k < held.size(); ++k)
    if (holds(held[k]) && found.of_unknown[k] < 0) found.of_unknown[k] = static_cast<int>(found.grounded.size());
  found.grounded.push_back(1);
  return found;
}

}  // namespace

Inclusions inclusions(const SparseRows& a) { return inclusions_of_rows(a, nullptr, {}, {}); }
Inclusions inclusions(Communicator& comm, const SparseRows& a, const GridLayout<2>& subdomain,
                      const GridLayout<2>& whole) {
  return inclusions_of_rows(a, &comm, subdomain, whole);
}

Inclusions inclusions(const GridLayout<2>& unknowns, const std::vector<double>& kappa) {
  Inclusions found;
  found.of_unknown = connected_parts(unknowns, above_mean(kappa), false);
  found.grounded.assign(parts_in(found.of_unknown), 0);
  return found;
}

DeflationVectors inclusion_vectors(Context& ctx, const Hierarchy<double>& hierarchy, const Inclusions& inclusions) {
  const auto& meshes = hierarchy.meshes();
  const PartitionLevels& partition = hierarchy.partition();
  const GridLayout<2> finest = hierarchy.finest().shape(), whole = meshes.back().unknowns();
  expects(inclusions.of_unknown.size() == static_cast<std::size_t>(whole.nodes()), "inclusions of ",
          inclusions.of_unknown.size(), " unknowns for a hierarchy of ", whole.nx, " x ", whole.ny);
  constexpr int cells_across = 8;
  const int last = hierarchy.levels() - 1;
  int first = 0;
  while (first < last && std::max(meshes[static_cast<std::size_t>(first)].x().size(),
                                  meshes[static_cast<std::size_t>(first)].y().size()) < cells_across)
    ++first;
  // Numbers of inclusions, where each lies on the whole grid, and a function on every level from `first` on.
  const auto inclusion_count = inclusions.grounded.size();
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(last - first + 1), std::vector<Box>(inclusion_count));
  std::vector<Field<int>> numbers(static_cast<std::size_t>(last - first + 1));
  std::vector<Field<double>> u;
  std::vector<int> here = inclusions.of_unknown;
  for (int l = last; l >= first; --l) {
    const GridLayout<2> shape = meshes[static_cast<std::size_t>(l)].unknowns(),
                        own = hierarchy.level_operator(l).shape();
    if (l < last) {
      const auto &fine = meshes[static_cast<std::size_t>(l) + 1], &coarse = meshes[static_cast<std::size_t>(l)];
      const int fine_nx = fine.unknowns().nx;
      std::vector<int> injected;
      injected.reserve(static_cast<std::size_t>(shape.nodes()));
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i)
          injected.push_back(
              here[static_cast<std::size_t>(fine_unknown(fine.y(), coarse.y(), j)) * static_cast<std::size_t>(fine_nx) +
                   static_cast<std::size_t>(fine_unknown(fine.x(), coarse.x(), i))]);
      here = std::move(injected);
    }
    const auto at = static_cast<std::size_t>(l - first);
    numbers[at] = Field<int>(ctx, own);
    const int* number = here.data();
    copy_from_host(ctx, number + std::int64_t{own.origin_y - shape.origin_y} * shape.nx, numbers[at].view());
    for (int j = 0; j < shape.ny; ++j)
      for (int i = 0; i < shape.nx; ++i, ++number)
        if (*number >= 0) boxes[at][static_cast<std::size_t>(*number)].add(i, j);
  }
  for (int l = first; l <= last; ++l) u.emplace_back(ctx, hierarchy.level_operator(l).shape());
  // To a distributed level from a replicated one.
  Context alone = ctx.alone();
  const auto from_replicated = [&](int l) { return partition.is_distributed(l) && !partition.is_distributed(l - 1); };
  const auto coarser = [&](int l) {
    const Field<double>& below = u[static_cast<std::size_t>(l - 1 - first)];
    if (!from_replicated(l)) return below.cview();
    exchange(alone, below);
    return partition.own_rows(below.cview());
  };
  const int first_row = finest.origin_y - whole.origin_y;  // own

  DeflationVectors vectors;
  vectors.z.columns = static_cast<int>(finest.nodes());
  std::vector<int> vector_of(inclusion_count, -1);
  std::vector<double> host;
  std::vector<int> row_start;
  for (std::size_t d = 0; d < inclusion_count; ++d) {
    if (inclusions.grounded[d]) continue;
    set(ctx, 0.0, u.front().view());
    Box box;  // outside which u is zero
    for (int l = first; l <= last; ++l) {
      const auto k = static_cast<std::size_t>(l - first);
      if (l > first) {
        hierarchy.transfer(l).prolongate(partition.is_distributed(l) ? ctx : alone, coarser(l), u[k].view(),
                                         from_replicated(l) ? Ghosts::current : Ghosts::stale);
        if (!box.is_empty()) {
          const auto &fine = meshes[static_cast<std::size_t>(l)], &coarse = meshes[static_cast<std::size_t>(l) - 1];
          std::tie(box.first_x, box.last_x) = range_above(fine.x(), coarse.x(), box.first_x, box.last_x);
          std::tie(box.first_y, box.last_y) = range_above(fine.y(), coarse.y(), box.first_y, box.last_y);
        }
      }
      for_each_node(ctx, all_nodes(u[k].view()),
                    MarkInclusion{numbers[k].cview(), static_cast<int>(d), l == last, u[k].view()});
      if (const Box& marked = boxes[k][d]; !marked.is_empty()) {
        box.add(marked.first_x, marked.first_y);
        box.add(marked.last_x, marked.last_y);
      }
    }
    Box own = box;
    own.first_y = std::clamp(box.first_y - first_row, 0, finest.ny);
    own.last_y = std::clamp(box.last_y - first_row, own.first_y - 1, finest.ny - 1);
    const auto part = part_of(u.back().cview(), own);
    host.resize(static_cast<std::size_t>(part.nodes()));
    if (part.nodes() > 0) copy_to_host(ctx, part, host.data());
    row_start.assign(static_cast<std::size_t>(part.ny) + 1, 0);
    const auto row = [&](int j) { return host.data() + std::ptrdiff_t{j} * part.nx; };
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (part.nodes() > serial_limit)
    for (int j = 0; j < part.ny; ++j)
      row_start[static_cast<std::size_t>(j) + 1] =
          part.nx - static_cast<int>(std::count(row(j), row(j) + part.nx, 0.0));
    std::partial_sum(row_start.begin(), row_start.end(), row_start.begin());
    const auto begin = static_cast<std::size_t>(vectors.z.start.back());
    const std::size_t end = begin + static_cast<std::size_t>(row_start.back());
    vectors.z.column.resize(end);
    vectors.z.value.resize(end);
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (part.nodes() > serial_limit)
    for (int j = 0; j < part.ny; ++j) {
      std::size_t k = begin + static_cast<std::size_t>(row_start[static_cast<std::size_t>(j)]);
      for (int i = 0; i < part.nx; ++i) {
        if (row(j)[i] == 0) continue;
        vectors.z.column[k] = (own.first_y + j) * finest.nx + own.first_x + i;
        vectors.z.value[k++] = row(j)[i];
      }
    }
    vector_of[d] = vectors.z.rows++;
    vectors.z.start.push_back(static_cast<int>(end));
  }
  const auto own_inclusions = inclusions.of_unknown.begin() + std::int64_t{first_row} * whole.nx;
  std::transform(own_inclusions, own_inclusions + finest.nodes(), std::back_inserter(vectors.core),
                 [&](int d) { return d < 0 ? -1 : vector_of[static_cast<std::size_t>(d)]; });
  return vectors;
}

}  // namespace stratum
