#include <stratum/assembly/box_values.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>

#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/point_values.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

/// Nodes of a box with these numbers of cells, x fastest.
struct Nodes {
  std::size_t x, y, z;

  explicit Nodes(const TensorMesh<3>& mesh, int times = 1)
      : x(static_cast<std::size_t>(times * mesh.x().size()) + 1),
        y(static_cast<std::size_t>(times * mesh.y().size()) + 1),
        z(static_cast<std::size_t>(times * mesh.z().size()) + 1) {}
  [[nodiscard]] std::size_t operator()(std::size_t i, std::size_t j, std::size_t k) const {
    return (k * y + j) * x + i;
  }
  void expects_all(std::span<const double> nodal) const {
    expects(nodal.size() == x * y * z, "the solution has ", nodal.size(), " nodal values, the mesh ", x, " x ", y,
            " x ", z, " nodes");
  }
};

/// Half of the intervals beside every node.
std::vector<double> nodal_weights(const Axis& axis) {
  std::vector<double> weights(axis.widths().size() + 1, 0.0);
  for (std::size_t i = 0; i < axis.widths().size(); ++i) {
    weights[i] += axis.widths()[i] / 2;
    weights[i + 1] += axis.widths()[i] / 2;
  }
  return weights;
}

}  // namespace

std::size_t node_count(const TensorMesh<3>& mesh) {
  const Nodes nodes(mesh);
  return nodes.x * nodes.y * nodes.z;
}

std::optional<BoxMeshPoint> locate(const TensorMesh<3>& mesh, const BoxPosition& p) {
  BoxMeshPoint found;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto interval = interval_of(mesh.axis(static_cast<int>(d)), p[d]);
    if (!interval) return std::nullopt;
    std::tie(found.cell[d], found.fraction[d]) = *interval;
  }
  return found;
}

double value_at(const TensorMesh<3>& mesh, std::span<const double> nodal, const BoxMeshPoint& p) {
  const Nodes nodes(mesh);
  nodes.expects_all(nodal);
  const auto at = [&](std::size_t d, std::size_t last) { return static_cast<std::size_t>(p.cell[d]) + last; };
  const double tx = p.fraction[0], ty = p.fraction[1], tz = p.fraction[2];  // which clang++ lets lambdas have
  const auto along_x = [&](std::size_t j, std::size_t k) {
    const double* const u = &nodal[nodes(at(0, 0), at(1, j), at(2, k))];
    return (1 - tx) * u[0] + tx * u[1];
  };
  const auto on_plane = [&](std::size_t k) { return (1 - ty) * along_x(0, k) + ty * along_x(1, k); };
  return (1 - tz) * on_plane(0) + tz * on_plane(1);
}

PlaneValues plane_values(const TensorMesh<3>& mesh, std::span<const double> nodal, int d, double at) {
  const Nodes nodes(mesh);
  nodes.expects_all(nodal);
  expects(d >= 0 && d < 3, "a box has directions 0, 1 and 2, not ", d);
  const Axis& across = mesh.axis(d);
  const auto found = interval_of(across, at);
  expects(found.has_value(), "xyz"[d], " = ", at, " is outside the box, which reaches from ", across.origin(), " to ",
          across.origin() + across.length());
  const auto [interval, t] = *found;
  const auto cell = static_cast<std::size_t>(interval);
  PlaneValues plane{TensorMesh<2>(mesh.axis(d == 0 ? 1 : 0), mesh.axis(d == 2 ? 1 : 2), mesh.name()), {}};
  const std::size_t width = d == 0 ? nodes.y : nodes.x, height = d == 2 ? nodes.y : nodes.z;
  plane.nodal.reserve(width * height);
  const auto value = [&](std::size_t i, std::size_t j, std::size_t k) {
    return nodal[d == 0 ? nodes(k, i, j) : d == 1 ? nodes(i, k, j) : nodes(i, j, k)];
  };
  for (std::size_t j = 0; j < height; ++j)
    for (std::size_t i = 0; i < width; ++i)
      plane.nodal.push_back((1 - t) * value(i, j, cell) + t * value(i, j, cell + 1));
  return plane;
}

std::vector<double> at_nodes(const Context& ctx, const TensorMesh<3>& mesh, const ScalarFunction3D& function) {
  const Nodes nodes(mesh);
  std::vector<double> nodal(nodes.x * nodes.y * nodes.z);
  for_each_row(
      ctx, static_cast<int>(nodes.z),
      [&](int k, const ScalarFunction3D& f) {
        for (std::size_t j = 0; j < nodes.y; ++j)
          for (std::size_t i = 0; i < nodes.x; ++i)
            nodal[nodes(i, j, static_cast<std::size_t>(k))] =
                f(node_point(mesh, static_cast<int>(i), static_cast<int>(j), k));
      },
      function);
  return nodal;
}

std::vector<double> at_cells(const Context& ctx, const TensorMesh<3>& mesh, const ScalarFunction3D& function) {
  const auto nx = static_cast<std::size_t>(mesh.x().size()), ny = static_cast<std::size_t>(mesh.y().size());
  std::vector<double> values(nx * ny * static_cast<std::size_t>(mesh.z().size()));
  for_each_row(
      ctx, mesh.z().size(),
      [&](int k, const ScalarFunction3D& f) {
        const LinePoint z = LineInterval(mesh.z(), k).at(0.5);
        for (std::size_t j = 0; j < ny; ++j) {
          const LinePoint y = LineInterval(mesh.y(), static_cast<int>(j)).at(0.5);
          double* const row = &values[(static_cast<std::size_t>(k) * ny + j) * nx];
          for (std::size_t i = 0; i < nx; ++i)
            row[i] = evaluate(f, make_point(LineInterval(mesh.x(), static_cast<int>(i)).at(0.5), y, z), "function");
        }
      },
      function);
  return values;
}

ScalarFunction3D on_cells(const TensorMesh<3>& mesh, const std::array<std::size_t, 3>& count,
                          std::vector<double> numbers) {
  for (std::size_t d = 0; d < 3; ++d)
    expects(count[d] == 1 || count[d] == static_cast<std::size_t>(mesh.axis(static_cast<int>(d)).size()), count[d],
            " numbers along ", axis_names[d], " are not one for each of ", mesh.axis(static_cast<int>(d)).size(),
            " cells");
  expects(numbers.size() == count[0] * count[1] * count[2], "there are ", numbers.size(), " numbers for ", count[0],
          " x ", count[1], " x ", count[2], " cells");
  const auto own = std::make_shared<const std::pair<TensorMesh<3>, std::vector<double>>>(mesh, std::move(numbers));
  return [own, count](const Point3D& p) {
    const std::array<double, 3> begin{p.to_left, p.to_bottom, p.to_front}, end{p.to_right, p.to_top, p.to_back};
    std::size_t place = 0;
    for (std::size_t d = 3; d-- > 0;) {
      const Axis& axis = own->first.axis(static_cast<int>(d));
      place =
          place * count[d] + (count[d] > 1 ? static_cast<std::size_t>(interval_at(axis, begin[d], end[d]).first) : 0);
    }
    return own->second[place];
  };
}

ScalarFunction3D on_nodes(const TensorMesh<3>& mesh, std::vector<double> numbers) {
  Nodes(mesh).expects_all(numbers);
  const auto own = std::make_shared<const std::pair<TensorMesh<3>, std::vector<double>>>(mesh, std::move(numbers));
  return [own](const Point3D& p) {
    const std::array<double, 3> begin{p.to_left, p.to_bottom, p.to_front}, end{p.to_right, p.to_top, p.to_back};
    BoxMeshPoint point;
    for (std::size_t d = 0; d < 3; ++d)
      std::tie(point.cell[d], point.fraction[d]) = interval_at(own->first.axis(static_cast<int>(d)), begin[d], end[d]);
    return value_at(own->first, own->second, point);
  };
}

LevelDifference level_difference(const TensorMesh<3>& coarse_mesh, std::span<const double> coarse,
                                 std::span<const double> fine) {
  const Nodes few(coarse_mesh), many(coarse_mesh, 2);
  few.expects_all(coarse);
  many.expects_all(fine);
  const auto wx = nodal_weights(coarse_mesh.x()), wy = nodal_weights(coarse_mesh.y()),
             wz = nodal_weights(coarse_mesh.z());
  double difference = 0, norm = 0, largest = 0, largest_value = 0;
  for (std::size_t k = 0; k < few.z; ++k)
    for (std::size_t j = 0; j < few.y; ++j)
      for (std::size_t i = 0; i < few.x; ++i) {
        const double weight = wx[i] * wy[j] * wz[k], value = fine[many(2 * i, 2 * j, 2 * k)],
                     d = coarse[few(i, j, k)] - value;
        if (std::isnan(d)) continue;  // in a solid
        difference += weight * d * d;
        norm += weight * value * value;
        largest = std::max(largest, std::abs(d));
        largest_value = std::max(largest_value, std::abs(value));
      }
  return {std::sqrt(norm > 0 ? difference / norm : difference), largest_value > 0 ? largest / largest_value : largest};
}

}  // namespace stratum
