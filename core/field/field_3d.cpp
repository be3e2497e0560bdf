#include <stratum/core/field/field_3d.hpp>

#include <limits>

namespace stratum {

GridLayout<3> GridLayout<3>::box(const Extents<3>& extents, const std::array<bool, 3>& periodic, int ghost_width) {
  GridLayout layout;
  layout.extents = layout.global = extents;
  layout.ghost_width = ghost_width;
  for (std::size_t a = 0; a < 3; ++a)
    if (periodic[a]) {
      layout.first[a] = 0;
      layout.lower[a].kind = layout.upper[a].kind = Face::Kind::itself;
    }
  return layout;
}

Strides<3> GridLayout<3>::strides(Backend backend) const {
  std::int64_t row = (std::int64_t{extents.nx} + 2 * ghost_width + 15) / 16 * 16;
  if (backend == Backend::cpu && row % 512 == 0) row += 80;
  return {row, row * (std::int64_t{extents.ny} + 2 * ghost_width)};
}

namespace detail {

void expects_layout(const GridLayout<3>& layout) {
  const auto& [nx, ny, nz] = layout.extents;
  expects(nx >= 0 && ny >= 0 && nz >= 0, "a grid cannot have ", nx, " x ", ny, " x ", nz, " nodes");
  expects(layout.ghost_width == 0 || layout.ghost_width == 1, "ghosts of a field are 0 or 1 wide, not ",
          layout.ghost_width);
  expects(layout.extents.rows() < std::numeric_limits<int>::max(), "a grid has fewer than 2^31 rows, not ",
          layout.extents.rows());
}

void expects_borrowable(const Context& ctx, const void* first_of_row, bool is_null, const GridLayout<3>& layout,
                        const Strides<3>& strides) {
  const auto& [nx, ny, nz] = layout.extents;
  const int ghosts = layout.ghost_width;
  expects(nx >= 1 && ny >= 1 && nz >= 1, "a borrowed grid cannot have ", nx, " x ", ny, " x ", nz, " nodes");
  expects(!is_null, "a borrowed grid needs an address, not null");
  const std::int64_t least = std::int64_t{nx} + 2 * ghosts;
  expects(strides.row >= least && strides.row % 16 == 0, "rows of ", nx,
          " nodes must lie a multiple of 16 numbers apart and at least ", least, ", not ", strides.row);
  const std::int64_t dense = strides.row * (std::int64_t{ny} + 2 * ghosts);
  expects(strides.plane >= dense && strides.plane % 16 == 0, "planes of ", ny,
          " rows must lie a multiple of 16 numbers apart and at least ", dense, ", not ", strides.plane);
  expects(ghosts > 0 || strides.plane == dense, "planes without ghosts must lie ", dense, " numbers apart, not ",
          strides.plane);
  expects(reinterpret_cast<std::uintptr_t>(first_of_row) % 64 == 0, "the first number of a row, ", ghosts,
          " before node (0, 0, 0), must lie on a multiple of 64 bytes, not at ", first_of_row);
  expects(reaches(ctx, first_of_row), "the address ", first_of_row,
          " is not memory of the device that the context computes on");
}

}  // namespace detail

}  // namespace stratum
