#pragma once

// A sweep over all lines of a grid on a GPU, along x or along y, and its interface for sources of the host. Kernels and the
// choice among them are in solvers/lines/cuda/dispatch.hpp. The build writes a source for each direction, number and storage
// format (CMakeLists.txt), so that they are compiled beside each other.

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/solvers/lines/orders.hpp>
#include <stratum/solvers/lines/zebra_schedule.hpp>

namespace stratum::cuda {

/// y = (1 - omega) x + omega times the solution of every line of A y = b. Zebra order is in place: x and y are the same.
template <class View, class T>
struct GpuSweep {
  View a;
  FieldView<const T> b, x;
  FieldView<T> y;
  LineOrder line_order = LineOrder::zebra;
  line::ZebraSchedule zebra{};
  bool zero = false;  // x counts as zero
  T omega = 1;
  GridLayout<2> grid{};   // what borders on the lines: nothing where it is left out
  T* memory = nullptr;    // line::interface_numbers, for the chunks of long lines
  FieldView<T> passed{};  // zeros, in which clusters of blocks pass columns to each other; or nothing
  FieldView<const T>
      records{};  // of stored bands in the order of a persistent kernel (solvers/lines/cuda/tiled_bands.hpp); or nothing
};

/// In the stream. The halo of x must be up to date; that of y is brought up to date between colours: across a periodic
/// direction the first line lies beside the last.
template <Direction direction, class View, class T>
void sweep_lines(Context& ctx, const GpuSweep<View, T>& sweep);

}  // namespace stratum::cuda
