#include <stratum/magnetics/edge_elements.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

constexpr std::array<int, 7> every_family{1, 2, 4, 3, 5, 6, 7};
/// Rows that a thread takes together.
constexpr int part = 2048;

bool has(int bits, std::size_t d) { return (bits >> d & 1) != 0; }

/// K_d: the integral of the d-components over the unit box, or over a sixth of it where they are constant.
void integrate(ReferenceElement& e) {
  const std::size_t m = e.edges.size();
  for (std::size_t d = 0; d < 3; ++d) {
    e.matrix[d].resize(m * m);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < m; ++j)
        e.matrix[d][i * m + j] =
            e.volume * (e.c0[i][d] * e.c0[j][d] + (e.c0[i][d] * e.c1[j][d] + e.c1[i][d] * e.c0[j][d]) / 2 +
                        e.c1[i][d] * e.c1[j][d] / 3);
  }
}

ReferenceElement hexahedron() {
  ReferenceElement e;
  e.corners = {0, 1, 3, 2, 4, 5, 7, 6};
  for (std::size_t s = 0; s < 3; ++s)
    for (int corner = 0; corner < 8; ++corner) {
      if (has(corner, s)) continue;
      // w = phi(xi_e) phi(xi_f) / h_s along s, phi = xi at the high corner and 1 - xi at the low one. With d, e, f in a circle
      // (curl w)_d is the slope of w_f along e less that of w_e along f.
      e.edges.push_back({1 << s, corner});
      Point3 c0{}, c1{};
      for (std::size_t d = 0; d < 3; ++d) {
        if (d == s) continue;
        const std::size_t other = 3 - d - s;  // the direction along which w changes here
        const double sign = ((s + 1) % 3 == d ? 1 : -1) * (has(corner, other) ? 1 : -1);
        c0[d] = has(corner, d) ? 0 : sign;
        c1[d] = has(corner, d) ? sign : -sign;
      }
      e.c0.push_back(c0);
      e.c1.push_back(c1);
    }
  integrate(e);
  return e;
}

/// Where xi_p >= xi_q >= xi_r, with corners 0, p, p + q, p + q + r.
ReferenceElement tetrahedron(const std::array<int, 3>& order) {
  ReferenceElement e;
  e.folded = true;
  e.order = order;
  e.volume = 1.0 / 6;
  const int p = 1 << order[0], q = 1 << order[1];
  const std::array<int, 4> corner{0, p, p | q, 7};
  std::array<Point3, 4> slope{};  // of the barycentric coordinates 1 - xi_p, xi_p - xi_q, xi_q - xi_r, xi_r
  for (std::size_t k = 0; k < 3; ++k) {
    slope[k][static_cast<std::size_t>(order[k])] -= 1;
    slope[k + 1][static_cast<std::size_t>(order[k])] += 1;
  }
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = i + 1; j < 4; ++j) {
      e.edges.push_back({corner[j] - corner[i], corner[i]});
      Point3 c{};
      for (std::size_t d = 0; d < 3; ++d) {
        const std::size_t a = (d + 1) % 3, b = (d + 2) % 3;
        c[d] = 2 * (slope[i][a] * slope[j][b] - slope[i][b] * slope[j][a]);
      }
      e.c0.push_back(c);
      e.c1.push_back({});
    }
  // VTK's fourth corner lies on the side that the first three turn towards: an odd order of the directions swaps two.
  const bool even = (order[1] - order[0] + 3) % 3 == 1;
  e.corners.assign(corner.begin(), corner.end());
  if (!even) std::swap(e.corners[1], e.corners[2]);
  integrate(e);
  return e;
}

std::vector<ReferenceElement> reference_elements(EdgeElement element) {
  if (element == EdgeElement::hexahedron) return {hexahedron()};
  std::vector<ReferenceElement> all;
  std::array<int, 3> order{0, 1, 2};
  do all.push_back(tetrahedron(order));
  while (std::next_permutation(order.begin(), order.end()));
  return all;
}

}  // namespace

std::string_view to_string(EdgeElement element) {
  return element == EdgeElement::hexahedron ? "hexahedra" : "tetrahedra";
}

Point3 ReferenceElement::inside(Point3 xi) const {
  if (!folded) return xi;
  std::sort(xi.begin(), xi.end(), std::greater<>());
  Point3 to{};
  for (std::size_t k = 0; k < 3; ++k) to[static_cast<std::size_t>(order[k])] = xi[k];
  return to;
}

bool ReferenceElement::contains(const Point3& xi) const {
  const auto at = [&](std::size_t k) { return xi[static_cast<std::size_t>(order[k])]; };
  return !folded || (at(0) >= at(1) && at(1) >= at(2));
}

EdgeElements::EdgeElements(BoxGrid grid, EdgeElement element)
    : grid_(std::move(grid)), element_(element), reference_(reference_elements(element)) {
  const std::size_t count = element == EdgeElement::hexahedron ? 3 : 7;
  families_.assign(every_family.begin(), every_family.begin() + count);
  first_.push_back(0);
  for (const int along : families_) {
    int size = 1;
    for (std::size_t d = 0; d < 3; ++d) size *= grid_.cells(static_cast<int>(d)) - (has(along, d) ? 0 : 1);
    first_.push_back(first_.back() + size);
  }
  expects(first_.back() > 0, "edge elements on ", grid_.cells(0), " x ", grid_.cells(1), " x ", grid_.cells(2),
          " boxes have no edge off the boundary");
  for (const auto& e : reference_) {
    edge_at_.emplace_back().fill(-1);
    for (std::size_t i = 0; i < e.edges.size(); ++i)
      edge_at_.back()[static_cast<std::size_t>(8 * e.edges[i].along + e.edges[i].corner)] = static_cast<int>(i);
  }
}

std::int64_t EdgeElements::edges() const {
  std::int64_t sum = 0;
  for (const int along : families_) {
    std::int64_t size = 1;
    for (std::size_t d = 0; d < 3; ++d) size *= grid_.cells(static_cast<int>(d)) + (has(along, d) ? 0 : 1);
    sum += size;
  }
  return sum;
}

int EdgeElements::kernel_size() const { return (grid_.cells(0) - 1) * (grid_.cells(1) - 1) * (grid_.cells(2) - 1); }

int EdgeElements::unknown(int along, const Index3& node) const {
  int number = 0;
  for (std::size_t d = 3; d-- > 0;) {
    const bool goes = has(along, d);
    const int n = grid_.cells(static_cast<int>(d)) - (goes ? 0 : 1), i = node[d] - (goes ? 0 : 1);
    if (i < 0 || i >= n) return -1;
    number = number * n + i;
  }
  const auto family = std::find(families_.begin(), families_.end(), along) - families_.begin();
  return first_[static_cast<std::size_t>(family)] + number;
}

void EdgeElements::unknowns_of(int element, std::vector<int>& unknowns) const {
  const Index3 box = grid_.place(box_of(element));
  const auto& edges = reference(element).edges;
  unknowns.resize(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const int c = edges[i].corner;
    unknowns[i] = unknown(edges[i].along, {box[0] + (c & 1), box[1] + (c >> 1 & 1), box[2] + (c >> 2)});
  }
}

std::pair<int, Index3> EdgeElements::edge(int unknown) const {
  const auto family =
      static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), unknown) - first_.begin() - 1);
  int rest = unknown - first_[family];
  Index3 node{};
  for (std::size_t d = 0; d < 3; ++d) {
    const bool goes = has(families_[family], d);
    const int n = grid_.cells(static_cast<int>(d)) - (goes ? 0 : 1);
    node[d] = rest % n + (goes ? 0 : 1);
    rest /= n;
  }
  return {families_[family], node};
}

template <class F>
void EdgeElements::for_elements_at(int unknown, const F& f) const {
  const auto [along, node] = edge(unknown);
  for (int corner = 0; corner < 8; ++corner) {
    if ((corner & along) != 0) continue;
    // Off the boundary all of these boxes are there.
    const int box = grid_.number({node[0] - (corner & 1), node[1] - (corner >> 1 & 1), node[2] - (corner >> 2)});
    for (int t = 0; t < per_box(); ++t) {
      const int i = edge_at_[static_cast<std::size_t>(t)][static_cast<std::size_t>(8 * along + corner)];
      if (i >= 0) f(box * per_box() + t, static_cast<std::size_t>(i));
    }
  }
}

SparseRows EdgeElements::gradient(bool of_all_nodes) const {
  const auto node_unknown = [&](const Index3& node) {
    if (of_all_nodes) return grid_.node_number(node);
    int number = 0;
    for (std::size_t d = 3; d-- > 0;) {
      const int n = grid_.cells(static_cast<int>(d)) - 1;
      if (node[d] < 1 || node[d] > n) return -1;
      number = number * n + node[d] - 1;
    }
    return number;
  };
  SparseRows g;
  g.rows = unknowns();
  g.columns = of_all_nodes ? grid_.nodes() : kernel_size();
  for (int row = 0; row < g.rows; ++row) {
    const auto [along, node] = edge(row);
    const int begin = node_unknown(node);
    const int end = node_unknown({node[0] + (along & 1), node[1] + (along >> 1 & 1), node[2] + (along >> 2)});
    for (const auto& [column, value] : {std::pair{begin, -1.0}, std::pair{end, 1.0}}) {
      if (column < 0) continue;
      g.column.push_back(column);
      g.value.push_back(value);
    }
    g.start.push_back(static_cast<int>(g.value.size()));
  }
  return g;
}

Point3 EdgeElements::weights(int box) const {
  const Point3 h = grid_.widths(grid_.place(box));
  return {h[0] / (h[1] * h[2]), h[1] / (h[2] * h[0]), h[2] / (h[0] * h[1])};
}

void EdgeElements::expects_size(const std::vector<double>& values, int size, const char* what) const {
  expects(values.size() == static_cast<std::size_t>(size), "edge elements: ", size, " ", what, " needed, not ",
          values.size());
}

/// `entry(element, weights of its box, i, j)` is what an element adds.
template <class Entry>
SparseRows EdgeElements::assemble(Context& ctx, const Entry& entry) const {
  struct Part {
    std::vector<int> lengths, columns;
    std::vector<double> values;
  };
  const int rows = unknowns(), parts = (rows - 1) / part + 1;
  std::vector<Part> all(static_cast<std::size_t>(parts));
#pragma omp parallel num_threads(ctx.threads())
  {
    std::vector<std::pair<int, double>> row;
    std::vector<int> columns;
#pragma omp for schedule(dynamic)
    for (int p = 0; p < parts; ++p) {
      Part& mine = all[static_cast<std::size_t>(p)];
      for (int r = p * part; r < std::min(rows, (p + 1) * part); ++r) {
        row.clear();
        for_elements_at(r, [&](int element, std::size_t i) {
          unknowns_of(element, columns);
          const Point3 w = weights(box_of(element));
          for (std::size_t j = 0; j < columns.size(); ++j)
            if (columns[j] >= 0) row.emplace_back(columns[j], entry(element, w, i, j));
        });
        std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        const std::size_t begin = mine.columns.size();
        for (const auto& [column, value] : row)
          if (mine.columns.size() > begin && mine.columns.back() == column) {
            mine.values.back() += value;
          } else {
            mine.columns.push_back(column);
            mine.values.push_back(value);
          }
        mine.lengths.push_back(static_cast<int>(mine.columns.size() - begin));
      }
    }
  }
  std::size_t entries = 0;
  for (const auto& p : all) entries += p.values.size();
  expects(entries < static_cast<std::size_t>(std::numeric_limits<int>::max()), "edge elements: ", entries,
          " entries of the matrix are more than 2^31");
  SparseRows a;
  a.rows = a.columns = rows;
  a.column.reserve(entries);
  a.value.reserve(entries);
  a.start.reserve(static_cast<std::size_t>(rows) + 1);
  for (auto& p : all) {
    for (const int length : p.lengths) a.start.push_back(a.start.back() + length);
    a.column.insert(a.column.end(), p.columns.begin(), p.columns.end());
    a.value.insert(a.value.end(), p.values.begin(), p.values.end());
    p = {};
  }
  return a;
}

SparseRows EdgeElements::curl_curl(Context& ctx, const std::vector<double>& nu) const {
  expects_size(nu, elements(), "reluctivities");
  return assemble(ctx, [&](int element, const Point3& w, std::size_t i, std::size_t j) {
    const auto& k = reference(element).matrix;
    const std::size_t at = i * reference_.front().edges.size() + j;
    return nu[static_cast<std::size_t>(element)] * (w[0] * k[0][at] + w[1] * k[1][at] + w[2] * k[2][at]);
  });
}

SparseRows EdgeElements::tangent(Context& ctx, const std::vector<double>& nu, const std::vector<double>& nu_slope,
                                 const std::vector<double>& a) const {
  expects_size(nu, elements(), "reluctivities");
  expects_size(nu_slope, elements(), "slopes of the reluctivity");
  const auto image = images(ctx, a);
  return assemble(ctx, [&](int element, const Point3& w, std::size_t i, std::size_t j) {
    const auto e = static_cast<std::size_t>(element);
    const auto& k = reference(element).matrix;
    const std::size_t at = i * reference_.front().edges.size() + j, first = first_of(element);
    return nu[e] * (w[0] * k[0][at] + w[1] * k[1][at] + w[2] * k[2][at]) +
           2 * nu_slope[e] / volume(element) * image[first + i] * image[first + j];
  });
}

std::vector<double> EdgeElements::images(Context& ctx, const std::vector<double>& a) const {
  expects_size(a, unknowns(), "circulations");
  std::vector<double> image(first_of(elements()));
#pragma omp parallel num_threads(ctx.threads())
  {
    std::vector<int> unknowns;
    std::vector<double> local;
#pragma omp for schedule(static)
    for (int element = 0; element < elements(); ++element) {
      unknowns_of(element, unknowns);
      const Point3 w = weights(box_of(element));
      const std::size_t m = unknowns.size();
      local.assign(m, 0);
      for (std::size_t i = 0; i < m; ++i)
        if (unknowns[i] >= 0) local[i] = a[static_cast<std::size_t>(unknowns[i])];
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t d = 0; d < 3; ++d) {
          double sum = 0;
          for (std::size_t j = 0; j < m; ++j) sum += reference(element).matrix[d][i * m + j] * local[j];
          image[first_of(element) + i] += w[d] * sum;
        }
    }
  }
  return image;
}

std::vector<double> EdgeElements::mean_square_curl(Context& ctx, const std::vector<double>& a) const {
  const auto image = images(ctx, a);
  std::vector<double> s(static_cast<std::size_t>(elements()));
  std::vector<int> unknowns;
  for (int element = 0; element < elements(); ++element) {
    unknowns_of(element, unknowns);
    double sum = 0;
    for (std::size_t i = 0; i < unknowns.size(); ++i)
      if (unknowns[i] >= 0) sum += a[static_cast<std::size_t>(unknowns[i])] * image[first_of(element) + i];
    // Rounding may leave less than nothing of no field.
    s[static_cast<std::size_t>(element)] = std::max(0.0, sum / volume(element));
  }
  return s;
}

std::vector<double> EdgeElements::apply(Context& ctx, const std::vector<double>& nu,
                                        const std::vector<double>& a) const {
  expects_size(nu, elements(), "reluctivities");
  const auto image = images(ctx, a);
  std::vector<double> y(a.size());
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (int row = 0; row < unknowns(); ++row)
    for_elements_at(row, [&](int element, std::size_t i) {
      y[static_cast<std::size_t>(row)] += nu[static_cast<std::size_t>(element)] * image[first_of(element) + i];
    });
  return y;
}

std::vector<double> EdgeElements::load(Context& ctx, const VectorField& t, int points) const {
  expects(points >= 1 && points <= 100, "edge elements: 1 .. 100 points of quadrature, not ", points);
  // Of every element the means of T_d and T_d xi_d.
  struct Moments {
    Point3 mean{}, first{};
  };
  std::vector<double> xi;
  for (int k = 0; k < points; ++k)
    for (const double gauss : {-1 / std::sqrt(3.0), 1 / std::sqrt(3.0)}) xi.push_back((k + (1 + gauss) / 2) / points);
  const double share = 1 / std::pow(static_cast<double>(xi.size()), 3);
  std::vector<Moments> moments(static_cast<std::size_t>(elements()));
#pragma omp parallel for schedule(dynamic, 64) num_threads(ctx.threads())
  for (int element = 0; element < elements(); ++element) {
    const auto& e = reference(element);
    const Index3 box = grid_.place(box_of(element));
    Moments sum;
    for (const double z : xi)
      for (const double y : xi)
        for (const double x : xi) {
          const Point3 at = e.inside({x, y, z});
          const Point3 value = t(grid_.point(box, at));
          for (std::size_t d = 0; d < 3; ++d) {
            sum.mean[d] += share * value[d];
            sum.first[d] += share * value[d] * at[d];
          }
        }
    moments[static_cast<std::size_t>(element)] = sum;
  }
  std::vector<double> b(static_cast<std::size_t>(unknowns()));
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (int row = 0; row < unknowns(); ++row)
    for_elements_at(row, [&](int element, std::size_t i) {
      const auto& e = reference(element);
      const Moments& m = moments[static_cast<std::size_t>(element)];
      const Point3 h = grid_.widths(grid_.place(box_of(element)));
      for (std::size_t d = 0; d < 3; ++d)
        b[static_cast<std::size_t>(row)] += e.volume * h[d] * (e.c0[i][d] * m.mean[d] + e.c1[i][d] * m.first[d]);
    });
  return b;
}

Point3 EdgeElements::curl(const std::vector<double>& a, int element, const Point3& xi) const {
  expects_size(a, unknowns(), "circulations");
  const auto& e = reference(element);
  const Point3 h = grid_.widths(grid_.place(box_of(element)));
  std::vector<int> unknowns;
  unknowns_of(element, unknowns);
  Point3 curl{};
  for (std::size_t i = 0; i < unknowns.size(); ++i) {
    if (unknowns[i] < 0) continue;
    for (std::size_t d = 0; d < 3; ++d)
      curl[d] +=
          a[static_cast<std::size_t>(unknowns[i])] * (e.c0[i][d] + e.c1[i][d] * xi[d]) * h[d] / (h[0] * h[1] * h[2]);
  }
  return curl;
}

}  // namespace stratum
