#include <stratum/multigrid/inclusions.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/for_each_node.hpp>

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
int fine_unknown(const Line& fine, const Line& coarse, int i) {
  const int node = i + coarse.first_unknown();
  const int there = coarse.size() == fine.size() ? node : node >= coarse.size() ? fine.size() : 2 * node;
  return there - fine.first_unknown();
}

/// u is one where the inclusion's nodes lie, and, of the finest grid, zero on those of others.
struct MarkInclusion {
  GridView<const int> inclusion;
  int number;
  bool finest;
  GridView<double> u;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int there = inclusion(i, j);
    if (there == number)
      u(i, j) = 1;
    else if (finest && there >= 0)
      u(i, j) = 0;
  }
};

}  // namespace

int Inclusions::floating() const { return static_cast<int>(std::count(grounded.begin(), grounded.end(), 0)); }

Inclusions inclusions(const TensorMesh& mesh, const CellCoefficients& k) {
  const Line &x = mesh.x(), &y = mesh.y();
  expects(k.nx == x.size() && k.ny == y.size(), "coefficients of ", k.nx, " x ", k.ny, " cells for a mesh of ",
          x.size(), " x ", y.size());
  const GridShape cells{k.nx, k.ny, 0, 0, x.is_periodic(), y.is_periodic()}, unknowns = mesh.unknowns();
  const auto part = connected_parts(cells, above_mean(k.xx), true);
  Inclusions found;
  found.grounded.assign(parts_in(part), 0);
  found.of_unknown.assign(static_cast<std::size_t>(unknowns.nodes()), -1);
  // Node i of a line as an unknown; -1 where it is none.
  const auto unknown = [](const Line& line, int i) {
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

Inclusions inclusions(const SparseRows& a) {
  constexpr double strong = 1e-2;
  const auto n = static_cast<std::size_t>(a.rows);
  const auto entries = [&a](std::size_t k) {
    return std::pair(static_cast<std::size_t>(a.start[k]), static_cast<std::size_t>(a.start[k + 1]));
  };
  std::vector<double> coupled(n, 0.0), sum(n, 0.0);
  for (std::size_t k = 0; k < n; ++k)
    for (auto [e, end] = entries(k); e < end; ++e) {
      sum[k] += a.value[e];
      if (a.column[e] != static_cast<int>(k)) coupled[k] += std::abs(a.value[e]);
    }
  // What is coupled to nothing has no K.
  const double most = n == 0 ? 0 : *std::max_element(coupled.begin(), coupled.end());
  std::vector<double> kappa = coupled;
  std::replace(kappa.begin(), kappa.end(), 0.0, most);
  Inclusions found;
  found.of_unknown.assign(n, -1);
  if (most == 0) return found;
  const std::vector<char> above = above_mean(kappa);
  std::vector<std::size_t> reached;
  for (std::size_t first = 0; first < n; ++first) {
    if (!above[first] || coupled[first] == 0 || found.of_unknown[first] >= 0) continue;
    const auto number = static_cast<int>(found.grounded.size());
    found.grounded.push_back(0);
    found.of_unknown[first] = number;
    reached.assign(1, first);
    while (!reached.empty()) {
      const std::size_t k = reached.back();
      reached.pop_back();
      if (sum[k] > strong * coupled[k]) found.grounded.back() = 1;
      for (auto [e, end] = entries(k); e < end; ++e) {
        const auto m = static_cast<std::size_t>(a.column[e]);
        if (!above[m] || found.of_unknown[m] >= 0 || std::abs(a.value[e]) < strong * std::min(coupled[k], coupled[m]))
          continue;
        found.of_unknown[m] = number;
        reached.push_back(m);
      }
    }
  }
  return found;
}

Inclusions inclusions(const GridShape& unknowns, const std::vector<double>& kappa) {
  Inclusions found;
  found.of_unknown = connected_parts(unknowns, above_mean(kappa), false);
  found.grounded.assign(parts_in(found.of_unknown), 0);
  return found;
}

DeflationVectors inclusion_vectors(Context& ctx, const Hierarchy<double>& hierarchy, const Inclusions& inclusions) {
  const auto& meshes = hierarchy.meshes();
  const GridShape finest = hierarchy.finest().shape();
  expects(inclusions.of_unknown.size() == static_cast<std::size_t>(finest.nodes()), "inclusions of ",
          inclusions.of_unknown.size(), " unknowns for a hierarchy of ", finest.nx, " x ", finest.ny);
  constexpr int cells_across = 8;
  const int last = hierarchy.levels() - 1;
  int first = 0;
  while (first < last && std::max(meshes[static_cast<std::size_t>(first)].x().size(),
                                  meshes[static_cast<std::size_t>(first)].y().size()) < cells_across)
    ++first;
  // Numbers of inclusions and a function on every level from `first` on.
  std::vector<Vector<int>> numbers(static_cast<std::size_t>(last - first + 1));
  std::vector<Vector<double>> u;
  std::vector<int> here = inclusions.of_unknown;
  for (int l = last; l >= first; --l) {
    const GridShape shape = hierarchy.level_operator(l).shape();
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
    auto& level = numbers[static_cast<std::size_t>(l - first)];
    level = Vector<int>(ctx, shape);
    copy_from_host(ctx, here.data(), level.view());
  }
  for (int l = first; l <= last; ++l) u.emplace_back(ctx, hierarchy.level_operator(l).shape());

  DeflationVectors vectors;
  vectors.z.columns = static_cast<int>(finest.nodes());
  vectors.core.assign(inclusions.of_unknown.size(), -1);
  std::vector<int> vector_of(inclusions.grounded.size(), -1);
  std::vector<double> host(inclusions.of_unknown.size());
  for (std::size_t d = 0; d < inclusions.grounded.size(); ++d) {
    if (inclusions.grounded[d]) continue;
    set(ctx, 0.0, u.front().view());
    for (int l = first; l <= last; ++l) {
      const auto k = static_cast<std::size_t>(l - first);
      if (l > first) hierarchy.transfer(l).prolongate(ctx, u[k - 1].cview(), u[k].view());
      for_each_node(ctx, all_nodes(u[k].view()),
                    MarkInclusion{numbers[k].cview(), static_cast<int>(d), l == last, u[k].view()});
    }
    copy_to_host(ctx, u.back().cview(), host.data());
    vector_of[d] = vectors.z.rows++;
    for (std::size_t k = 0; k < host.size(); ++k) {
      if (host[k] == 0) continue;
      vectors.z.column.push_back(static_cast<int>(k));
      vectors.z.value.push_back(host[k]);
    }
    vectors.z.start.push_back(static_cast<int>(vectors.z.column.size()));
  }
  for (std::size_t k = 0; k < host.size(); ++k)
    if (inclusions.of_unknown[k] >= 0) vectors.core[k] = vector_of[static_cast<std::size_t>(inclusions.of_unknown[k])];
  return vectors;
}

}  // namespace stratum
