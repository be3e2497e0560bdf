#include <stratum/magnetics/magnetic_field.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

void expects_boxes(const EdgeElements& elements, const std::vector<bool>& boxes) {
  expects(boxes.size() == static_cast<std::size_t>(elements.grid().boxes()), "a grid of ", elements.grid().boxes(),
          " boxes needs as many marks, not ", boxes.size());
}

/// B where xi lies in the box: the mean of the elements that meet there.
Point3 in_box(const EdgeElements& elements, const std::vector<double>& a, int box, const Point3& xi) {
  const int per_box = static_cast<int>(elements.reference().size());
  Point3 sum{};
  int count = 0;
  for (int t = 0; t < per_box; ++t) {
    if (!elements.reference()[static_cast<std::size_t>(t)].contains(xi)) continue;
    const Point3 b = flux_density(elements, a, box * per_box + t, xi);
    for (std::size_t d = 0; d < 3; ++d) sum[d] += b[d];
    ++count;
  }
  for (double& component : sum) component /= count;
  return sum;
}

/// grad g at xi, g linear along every direction of the box between its corners, or linear on the tetrahedron.
Point3 gradient(const ReferenceElement& e, const std::array<double, 8>& g, const Point3& xi, const Point3& h) {
  Point3 slope{};
  if (e.folded) {
    int corner = 0;
    for (const int d : e.order) {
      const int next = corner | 1 << d;
      slope[static_cast<std::size_t>(d)] =
          (g[static_cast<std::size_t>(next)] - g[static_cast<std::size_t>(corner)]) / h[static_cast<std::size_t>(d)];
      corner = next;
    }
    return slope;
  }
  for (std::size_t corner = 0; corner < 8; ++corner)
    for (std::size_t d = 0; d < 3; ++d) {
      double product = g[corner] * ((corner >> d & 1) != 0 ? 1 : -1) / h[d];
      for (std::size_t other = 0; other < 3; ++other)
        if (other != d) product *= (corner >> other & 1) != 0 ? xi[other] : 1 - xi[other];
      slope[d] += product;
    }
  return slope;
}

}  // namespace

Point3 flux_density(const EdgeElements& elements, const std::vector<double>& a, int element, const Point3& xi) {
  Point3 b = elements.curl(a, element, xi);
  for (double& component : b) component *= vacuum_permeability;
  return b;
}

Point3 flux_density_at(const EdgeElements& elements, const std::vector<double>& a, const Point3& p) {
  const BoxGrid& grid = elements.grid();
  std::array<std::vector<int>, 3> intervals;
  for (int d = 0; d < 3; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const double slack = 1e-9 * (grid.planes(d).back() - grid.planes(d).front());
    for (int i = 0; i < grid.cells(d); ++i)
      if (p[at] >= grid.plane(d, i) - slack && p[at] <= grid.plane(d, i + 1) + slack) intervals[at].push_back(i);
    expects(!intervals[at].empty(), "the point (", p[0], ", ", p[1], ", ", p[2], ") lies outside the grid");
  }
  Point3 sum{};
  for (const int k : intervals[2])
    for (const int j : intervals[1])
      for (const int i : intervals[0]) {
        const Index3 box{i, j, k};
        Point3 xi{};
        for (std::size_t d = 0; d < 3; ++d)
          xi[d] = std::clamp((p[d] - grid.plane(static_cast<int>(d), box[d])) / grid.width(static_cast<int>(d), box[d]),
                             0.0, 1.0);
        const Point3 b = in_box(elements, a, grid.number(box), xi);
        for (std::size_t d = 0; d < 3; ++d) sum[d] += b[d];
      }
  const auto count = static_cast<double>(intervals[0].size() * intervals[1].size() * intervals[2].size());
  return {sum[0] / count, sum[1] / count, sum[2] / count};
}

Point3 mean_flux_density(const EdgeElements& elements, const std::vector<double>& a, const std::vector<bool>& boxes,
                         double z) {
  expects_boxes(elements, boxes);
  const BoxGrid& grid = elements.grid();
  const double slack = 1e-9 * (grid.planes(2).back() - grid.planes(2).front());
  int k = 0;
  while (k + 1 < grid.cells(2) && grid.plane(2, k + 1) < z - slack) ++k;
  const double at = std::clamp((z - grid.plane(2, k)) / grid.width(2, k), 0.0, 1.0);
  Point3 sum{};
  double area = 0;
  constexpr std::array<double, 4> points{0.125, 0.375, 0.625, 0.875};
  for (int j = 0; j < grid.cells(1); ++j)
    for (int i = 0; i < grid.cells(0); ++i) {
      const int box = grid.number({i, j, k});
      if (!boxes[static_cast<std::size_t>(box)]) continue;
      const double share = grid.width(0, i) * grid.width(1, j) / 16;
      for (const double y : points)
        for (const double x : points) {
          const Point3 b = in_box(elements, a, box, {x, y, at});
          for (std::size_t d = 0; d < 3; ++d) sum[d] += share * b[d];
          area += share;
        }
    }
  expects(area > 0, "the plane z = ", z, " cuts none of the boxes");
  return {sum[0] / area, sum[1] / area, sum[2] / area};
}

Point3 eggshell_force(const EdgeElements& elements, const std::vector<double>& a, const std::vector<bool>& body) {
  expects_boxes(elements, body);
  const BoxGrid& grid = elements.grid();
  std::vector<bool> node(static_cast<std::size_t>(grid.nodes()));
  const auto corner_of = [&](int box, int corner) {
    const Index3 at = grid.place(box);
    return static_cast<std::size_t>(
        grid.node_number({at[0] + (corner & 1), at[1] + (corner >> 1 & 1), at[2] + (corner >> 2)}));
  };
  for (int box = 0; box < grid.boxes(); ++box)
    if (body[static_cast<std::size_t>(box)])
      for (int corner = 0; corner < 8; ++corner) node[corner_of(box, corner)] = true;
  const std::vector<double> gauss{(1 - 1 / std::sqrt(3.0)) / 2, (1 + 1 / std::sqrt(3.0)) / 2};
  const std::vector<double> middle{0.5};
  Point3 force{};
  for (int element = 0; element < elements.elements(); ++element) {
    const int box = elements.box_of(element);
    if (body[static_cast<std::size_t>(box)]) continue;
    std::array<double, 8> g{};
    for (int corner = 0; corner < 8; ++corner)
      g[static_cast<std::size_t>(corner)] = node[corner_of(box, corner)] ? 1 : 0;
    if (std::count(g.begin(), g.end(), 0.0) == 8) continue;
    const ReferenceElement& e = elements.reference(element);
    const Point3 h = grid.widths(grid.place(box));
    // Exact: S is quadratic, and on tetrahedra both factors are constant.
    const auto& points = e.folded ? middle : gauss;
    const double weight = elements.volume(element) / std::pow(static_cast<double>(points.size()), 3);
    for (const double z : points)
      for (const double y : points)
        for (const double x : points) {
          const Point3 b = flux_density(elements, a, element, {x, y, z}), slope = gradient(e, g, {x, y, z}, h);
          const double along = b[0] * slope[0] + b[1] * slope[1] + b[2] * slope[2];
          const double square = b[0] * b[0] + b[1] * b[1] + b[2] * b[2];
          for (std::size_t d = 0; d < 3; ++d)
            force[d] -= weight * (b[d] * along - square / 2 * slope[d]) / vacuum_permeability;
        }
  }
  return force;
}

}  // namespace stratum
