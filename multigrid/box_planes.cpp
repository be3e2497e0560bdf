#include <stratum/multigrid/box_planes.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <stratum/core/comm/communicator.hpp>

namespace stratum {

namespace {

/// copy(number of the first one among all, how many), of all runs of numbers on these planes, in their order.
template <class Copy>
void for_each_run(const std::array<int, 3>& n, int axis, int first, int count, const Copy& copy) {
  const auto nx = std::ptrdiff_t{n[0]}, ny = std::ptrdiff_t{n[1]};
  std::array<int, 3> begin{}, end = n;
  begin[static_cast<std::size_t>(axis)] = first;
  end[static_cast<std::size_t>(axis)] = first + count;
  for (int k = begin[2]; k < end[2]; ++k)
    for (int j = begin[1]; j < end[1]; ++j) copy((k * ny + j) * nx + begin[0], std::ptrdiff_t{end[0]} - begin[0]);
}

}  // namespace

TensorMesh<3> part_of(const TensorMesh<3>& mesh, const NodePlanes& planes) {
  std::array<Axis, 3> axes{mesh.x(), mesh.y(), mesh.z()};
  Axis& cut = axes[static_cast<std::size_t>(planes.axis)];
  cut = cut.part(planes.first, planes.last);
  return TensorMesh<3>(axes, mesh.name());
}

std::array<int, 3> nodes_of_axes(const TensorMesh<3>& mesh) {
  return {mesh.x().size() + 1, mesh.y().size() + 1, mesh.z().size() + 1};
}

std::vector<double> planes_on_first_rank(const Context& ctx, const std::array<int, 3>& n, int axis, int first,
                                         std::vector<double> own) {
  if (ctx.subdomains() == 1) return own;
  Communicator& communicator = *ctx.communicator();
  std::size_t plane = 1;
  for (std::size_t d = 0; d < 3; ++d)
    if (static_cast<int>(d) != axis) plane *= static_cast<std::size_t>(n[d]);
  struct Planes {
    int first, count;
  };
  const auto of_ranks =
      communicator.gather_on_host(Planes{first, static_cast<int>(plane > 0 ? own.size() / plane : 0)});
  const std::vector<double> parts = communicator.join_on_first(own);
  if (communicator.rank() > 0) return {};
  own.assign(plane * static_cast<std::size_t>(n[static_cast<std::size_t>(axis)]), 0);
  auto next = parts.begin();
  for (const Planes& of_rank : of_ranks)
    for_each_run(n, axis, of_rank.first, of_rank.count, [&](std::ptrdiff_t to, std::ptrdiff_t count) {
      std::copy_n(next, count, own.begin() + to);
      next += count;
    });
  return own;
}

std::vector<double> planes_of(const std::vector<double>& all, const std::array<int, 3>& n, int axis, int first,
                              int count) {
  std::vector<double> own;
  for_each_run(n, axis, first, count, [&](std::ptrdiff_t from, std::ptrdiff_t numbers) {
    own.insert(own.end(), all.begin() + from, all.begin() + from + numbers);
  });
  return own;
}

}  // namespace stratum
