#include <stratum/solvers/deflation/vectors.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

DeflationVectors vectors_of(const std::vector<int>& domain, int count, bool with_empty) {
  std::vector<int> size(static_cast<std::size_t>(count), 0);
  for (const int d : domain) {
    expects(d >= -1, "a domain is a number from 0 on, or -1 for none, not ", d);
    expects(d < count, "domain ", d, " is none of ", count);
    if (d >= 0) ++size[static_cast<std::size_t>(d)];
  }
  DeflationVectors v;
  std::vector<int> number(size.size(), -1), next;
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (size[d] == 0 && !with_empty) continue;
    number[d] = v.z.rows++;
    next.push_back(v.z.start.back());
    v.z.start.push_back(v.z.start.back() + size[d]);
  }
  v.z.columns = static_cast<int>(domain.size());
  v.z.column.resize(static_cast<std::size_t>(v.z.start.back()));
  v.z.value.assign(v.z.column.size(), 1.0);
  v.core.assign(domain.size(), -1);
  v.covers = v.z.column.size() == domain.size();
  for (std::size_t k = 0; k < domain.size(); ++k) {
    if (domain[k] < 0) continue;
    v.core[k] = number[static_cast<std::size_t>(domain[k])];
    v.z.column[static_cast<std::size_t>(next[static_cast<std::size_t>(v.core[k])]++)] = static_cast<int>(k);
  }
  return v;
}

}  // namespace

DeflationVectors vectors_of_domains(const std::vector<int>& domain) {
  const int last = domain.empty() ? -1 : *std::max_element(domain.begin(), domain.end());
  return vectors_of(domain, std::max(last, -1) + 1, false);
}

DeflationVectors vectors_of_domains(const std::vector<int>& domain, int count) {
  expects(count >= 0, "there are 0 domains or more, not ", count);
  return vectors_of(domain, count, true);
}

void add_constant(DeflationVectors& vectors, const std::vector<char>& held) {
  expects(!vectors.covers, "vectors that cover the grid add up to the constant");
  const auto nodes = static_cast<std::size_t>(vectors.z.columns);
  expects(held.empty() || held.size() == nodes, held.size(), " marks of held nodes for ", nodes, " nodes");
  for (std::size_t k = 0; k < nodes; ++k) {
    if (!held.empty() && held[k] != 0) continue;
    vectors.z.column.push_back(static_cast<int>(k));
    vectors.z.value.push_back(1.0);
    if (!vectors.core.empty() && vectors.core[k] < 0) vectors.core[k] = vectors.z.rows;
  }
  vectors.z.start.push_back(static_cast<int>(vectors.z.column.size()));
  ++vectors.z.rows;
}

namespace {

/// The subdomain's first row among those of the whole.
int first_row(const GridLayout<2>& whole, const GridLayout<2>& subdomain) {
  const int first = subdomain.origin_y - whole.origin_y;
  expects(subdomain.nx == whole.nx && first >= 0 && first + subdomain.ny <= whole.ny, "rows ", first, " to ",
          first + subdomain.ny - 1, " of ", subdomain.nx, " nodes are no subdomain of a grid of ", whole.nx, " x ",
          whole.ny);
  return first;
}

}  // namespace

std::vector<int> stripes(const GridLayout<2>& whole, int count, const GridLayout<2>& subdomain) {
  expects(count >= 1 && count <= whole.nodes(), "deflation by ", count, " stripes: the grid has only ", whole.nodes(),
          " unknowns, and as many stripes can be made");
  std::vector<int> domain;
  domain.reserve(static_cast<std::size_t>(subdomain.nodes()));
  const std::int64_t first = std::int64_t{first_row(whole, subdomain)} * whole.nx;
  for (std::int64_t k = first; k < first + subdomain.nodes(); ++k)
    domain.push_back(static_cast<int>(k * count / whole.nodes()));
  return domain;
}
std::vector<int> stripes(const GridLayout<2>& shape, int count) { return stripes(shape, count, shape); }

std::vector<int> square_blocks(const GridLayout<2>& whole, int across, const GridLayout<2>& subdomain) {
  const int most = std::min(whole.nx, whole.ny);
  expects(across >= 1 && across <= most, "deflation by ", across, " x ", across, " blocks: the grid has only ",
          whole.nx, " x ", whole.ny, " unknowns, for up to ", most, " x ", most, " blocks");
  std::vector<int> domain, block_of_column;
  domain.reserve(static_cast<std::size_t>(subdomain.nodes()));
  const auto block = [across](int i, int n) { return static_cast<int>(std::int64_t{i} * across / n); };
  for (int i = 0; i < whole.nx; ++i) block_of_column.push_back(block(i, whole.nx));
  const int begin = first_row(whole, subdomain);
  for (int j = begin; j < begin + subdomain.ny; ++j) {
    const int first = block(j, whole.ny) * across;
    for (const int column : block_of_column) domain.push_back(first + column);
  }
  return domain;
}
std::vector<int> square_blocks(const GridLayout<2>& shape, int across) { return square_blocks(shape, across, shape); }

std::vector<int> split_domains(const std::vector<int>& domain, const std::vector<int>& by) {
  expects(domain.size() == by.size(), "domains of ", domain.size(), " nodes cannot be split by numbers of ", by.size());
  std::map<std::pair<int, int>, int> number;
  // Most nodes are of the pair of the node before.
  const auto for_runs = [&](const auto& of_pair, const auto& of_node) {
    for (std::size_t k = 0, first = domain.size(); k < domain.size(); ++k) {
      if (domain[k] < 0) continue;
      if (first == domain.size() || domain[k] != domain[first] || by[k] != by[first]) of_pair(first = k);
      of_node(k);
    }
  };
  for_runs([&](std::size_t k) { number[{domain[k], by[k]}] = 0; }, [](std::size_t /*k*/) {});
  int next = 0;
  for (auto& [pair, n] : number) n = next++;
  std::vector<int> split(domain.size(), -1);
  for_runs([&](std::size_t k) { next = number.at({domain[k], by[k]}); }, [&](std::size_t k) { split[k] = next; });
  return split;
}

std::vector<int> connected_parts(const GridLayout<2>& shape, const std::vector<char>& marked, bool corners) {
  expects(marked.size() == static_cast<std::size_t>(shape.nodes()), marked.size(), " marks for ", shape.nx, " x ",
          shape.ny, " nodes");
  std::vector<int> part(marked.size(), -1), front;
  int count = 0;
  for (std::size_t first = 0; first < marked.size(); ++first) {
    if (!marked[first] || part[first] >= 0) continue;
    front.assign(1, static_cast<int>(first));
    part[first] = count;
    while (!front.empty()) {
      const int node = front.back(), i = node % shape.nx, j = node / shape.nx;
      front.pop_back();
      for (int dj = -1; dj <= 1; ++dj)
        for (int di = -1; di <= 1; ++di) {
          if (!corners && di != 0 && dj != 0) continue;
          int p = i + di, q = j + dj;
          if (shape.periodic_x) p = (p + shape.nx) % shape.nx;
          if (shape.periodic_y) q = (q + shape.ny) % shape.ny;
          if (p < 0 || p >= shape.nx || q < 0 || q >= shape.ny) continue;
          const auto to =
              static_cast<std::size_t>(q) * static_cast<std::size_t>(shape.nx) + static_cast<std::size_t>(p);
          if (!marked[to] || part[to] >= 0) continue;
          part[to] = count;
          front.push_back(static_cast<int>(to));
        }
    }
    ++count;
  }
  return part;
}

}  // namespace stratum
