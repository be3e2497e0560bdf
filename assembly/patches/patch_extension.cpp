#include <algorithm>
#include <cmath>

#include <stratum/assembly/patches/patch_cells.hpp>

namespace stratum {

using namespace patch_detail;

namespace {

/// A value for every vertex, from those that have one, layer by layer.
std::vector<double> at_all_vertices(const PatchMesh& mesh, std::vector<double> values) {
  std::vector<int> layer, next;
  for (int v = 0; v < mesh.vertices(); ++v)
    if (!std::isnan(values[at(v)])) layer.push_back(v);
  const auto for_neighbours = [&](int v, const auto& body) {
    for (const int e : mesh.edges_of_vertex(v))
      body(mesh.edge(e).first == v ? mesh.edge(e).second : mesh.edge(e).first);
  };
  for (; !layer.empty(); layer = std::move(next), next.clear()) {
    for (const int v : layer)
      for_neighbours(v, [&](int w) {
        if (std::isnan(values[at(w)])) next.push_back(w);
      });
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    std::vector<double> means;
    for (const int v : next) {
      double sum = 0;
      int count = 0;
      for_neighbours(v, [&](int w) {
        if (std::isnan(values[at(w)])) return;
        sum += values[at(w)];
        ++count;
      });
      means.push_back(sum / count);
    }
    for (std::size_t k = 0; k < next.size(); ++k) values[at(next[k])] = means[k];
  }
  // Patches without any Dirichlet boundary.
  std::replace_if(
      values.begin(), values.end(), [](double value) { return std::isnan(value); }, 0.0);
  return values;
}

}  // namespace

std::vector<double> extended(const PatchMesh& mesh, const PatchSystem& system) {
  const std::vector<double> vertices = at_all_vertices(mesh, system.vertex_values);
  std::vector<double> x(at(system.layout.size()), 0.0);
  for (int number = 0; number < mesh.patches(); ++number) {
    if (!system.layout.has(number)) continue;
    const auto& p = system.layout.patch(number);
    const auto& corners = mesh.corners(number);
    const double c00 = vertices[at(corners[0])], c10 = vertices[at(corners[1])], c11 = vertices[at(corners[2])],
                 c01 = vertices[at(corners[3])];
    // In the direction of the patch; patches of an edge get the same bits.
    std::array<std::vector<double>, 4> edges;
    for (int local = 0; local < 4; ++local) {
      const OrientedEdge own = mesh.local_edges(number)[at(local)];
      const PatchEdge& edge = mesh.edge(own.number);
      const Axis& chord = mesh.chord(edge.chord);
      const int n = chord.size(), stride = p.stride(local % 2);
      const int first = local == 1 ? p.node(p.nx, 0) : local == 2 ? p.node(0, p.ny) : p.first;
      auto& values = edges[at(local)];
      for (int k = 0; k <= n; ++k) {
        if (system.fixed_edges[at(own.number)]) {
          values.push_back(system.boundary_values[at(first + k * stride)]);
          continue;
        }
        const int of_chord = edge.against_chord != own.reversed ? n - k : k;
        double from_first = chord.from_begin()[at(of_chord)], from_second = chord.from_end()[at(of_chord)];
        if (edge.against_chord) std::swap(from_first, from_second);
        values.push_back(from_second * vertices[at(edge.first)] + from_first * vertices[at(edge.second)]);
      }
      values.front() = vertices[at(corners[local == 1 ? 1 : local == 2 ? 3 : 0])];
      values.back() = vertices[at(corners[local == 0 ? 1 : local == 3 ? 3 : 2])];
    }
    const auto& [bottom, right, top, left] = edges;
    const Axis in_x = mesh.axis(number, Direction::x), in_y = mesh.axis(number, Direction::y);
    for (int j = 0; j <= p.ny; ++j) {
      const double v = in_y.from_begin()[at(j)], to_v = in_y.from_end()[at(j)];
      for (int i = 0; i <= p.nx; ++i) {
        const double u = in_x.from_begin()[at(i)], to_u = in_x.from_end()[at(i)];
        x[at(p.node(i, j))] = j == 0      ? bottom[at(i)]
                              : j == p.ny ? top[at(i)]
                              : i == 0    ? left[at(j)]
                              : i == p.nx
                                  ? right[at(j)]
                                  : (to_v * bottom[at(i)] + v * top[at(i)]) + (to_u * left[at(j)] + u * right[at(j)]) -
                                        (to_u * (to_v * c00 + v * c01) + u * (to_v * c10 + v * c11));
      }
    }
  }
  return x;
}

}  // namespace stratum
