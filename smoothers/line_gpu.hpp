#pragma once

// Line sweeps on a GPU, for CUDA sources only; the kernels are in solvers/lines: kernels.hpp, column_walk.hpp, band_walk.hpp.
// The build writes a source for each direction and number, so that they are compiled beside each other.

#include <stratum/smoothers/line.hpp>
#include <stratum/solvers/lines/band_walk.hpp>
#include <stratum/solvers/lines/column_walk.hpp>
#include <stratum/solvers/lines/kernels.hpp>

namespace stratum {

namespace cuda {

/// Halos are brought up to date before every colour: across a periodic direction the first line lies beside the last.
template <Direction direction, class View, class T>
struct Sweep {
  View a;
  GridView<const T> b, x;
  GridView<T> y;
  LineOrder line_order;
  SweepOrder order;
  bool zero;
  T omega;
  const line::CutLines<T>& cut;
  T* memory;                // for the pieces of long lines
  GridView<T> passed;       // zeros, in which clusters of blocks pass columns to each other; or nothing
  GridView<const T> tiles;  // the records of stored bands, or nothing

  void run(Context& ctx) const {
    constexpr bool along_x = direction == Direction::x;
    const int lines = along_x ? y.ny : y.nx, odd = 1 - ((along_x ? y.origin_y : y.origin_x) & 1);
    exchange(ctx, x);
    if (line_order == LineOrder::simultaneous) return solve(ctx, 0, lines, 1, !zero);
    const bool backward = order == SweepOrder::backward;
    const bool wraps = (along_x ? y.periodic_y : y.periodic_x) && lines % 2 != 0;
    const bool third = cut.empty() ? wraps : cut.has_third_row();    // of the grid
    const bool here = cut.empty() ? wraps : third && cut.is_last();  // and of this piece of it
    const int pairs = here ? lines - 1 : lines;                      // lines of two colours
    const auto third_colour = [&] {
      if (here) solve(ctx, pairs, lines, 1, true);
    };
    if (third && backward) {
      third_colour();
      exchange(ctx, y);
    }
    two_colours(ctx, backward ? 1 - odd : odd, pairs);
    if (third && !backward) {
      exchange(ctx, y);
      third_colour();
    }
  }

 private:
  static constexpr bool walks = cuda::walks_y_lines<View> || cuda::walks_bands<View>;

  /// Lines first, first + 2, ... < end, then those between.
  void two_colours(Context& ctx, int first, int end) const {
    if constexpr (direction == Direction::y && walks)
      if (omega == T(1) && !y.periodic_y && (first == 0 ? in_one_pass<false>(ctx, end) : in_one_pass<true>(ctx, end)))
        return;
    solve(ctx, first, end, 2, !zero);
    exchange(ctx, y);
    solve(ctx, 1 - first, end, 2, true);
  }
  /// Lines begin, begin + stride, ... < end.
  void solve(Context& ctx, int begin, int end, int stride, bool coupled) const {
    const int count = end > begin ? (end - begin + stride - 1) / stride : 0;
    const cuda::Lines<T> some{begin, stride, count, omega, zero ? T(0) : T(1) - omega};
    if constexpr (!is_tensor<View> || cuda::by_sums<View>)
      if (direction == Direction::x ? y.periodic_x : y.periodic_y) return solve<true, true>(ctx, some);
    coupled ? solve<true, false>(ctx, some) : solve<false, false>(ctx, some);
  }
  template <bool coupled, bool ring>
  void solve(Context& ctx, const cuda::Lines<T>& lines) const {
    if constexpr (direction == Direction::x) {
      if constexpr (cuda::walks_x_lines<View> && !ring)
        if (lines.stride == 2 && omega == T(1) && cuda::launch_x_walk<coupled, View, T>(ctx, a, b, lines, y)) return;
      cuda::launch_x_lines<coupled, ring, View, T>(ctx, a, b, x, lines, y, memory);
    } else {
      cuda::launch_y_lines<ring, View, T>(ctx, line::LineRhs<direction, coupled, View, T>{a, b, x}, lines, y, memory);
    }
  }
  template <bool coupled, bool mirrored>
  [[nodiscard]] bool walk(Context& ctx, GridView<const T> right, GridView<T> to, cuda::Lines<T>& left) const {
    if constexpr (cuda::walks_bands<View>) {
      if (tiles.data == nullptr) return false;
      left = cuda::launch_band_walk<coupled, mirrored, line::couplings_once<T>(View::is_symmetric), T>(
          ctx, tiles, right, to, passed);
      return true;
    } else {
      if constexpr (cuda::walks_columns<View>)
        if (cuda::launch_column_walk<coupled, mirrored, View>(ctx, a, right, to, passed)) return true;
      return cuda::launch_y_walk<coupled, mirrored, View, T>(ctx, a, right, to, left, passed);
    }
  }
  /// Both colours of the first `end` lines of a y sweep; false where the lines are too short or too long.
  template <bool mirrored>
  [[nodiscard]] bool in_one_pass(Context& ctx, int end) const {
    cuda::Lines<T> left{};
    GridView<const T> right = b;
    GridView<T> to = y;
    right.nx = to.nx = end;
    if (!(zero ? walk<false, mirrored>(ctx, right, to, left) : walk<true, mirrored>(ctx, right, to, left)))
      return false;
    cuda::launch_few_y_lines<View, T>(ctx, line::LineRhs<Direction::y, true, View, T>{a, b, x}, left, y);
    if (!y.periodic_x) return true;
    // At the seam a line of the second colour was solved beside one that is none to the walk.
    exchange(ctx, y);
    const int seam = mirrored ? 0 : end - 1;
    solve(ctx, seam, seam + 1, 1, true);
    return true;
  }
};

}  // namespace cuda

template <class T>
template <Direction direction>
void LineSweep<T>::sweep_on_gpu(Context& ctx, const GridOperator<T>& a, GridView<const T> b, GridView<const T> x,
                                GridView<T> y, Guess guess, SweepOrder order) {
  const bool tiled = direction == Direction::y && has_tiles_for(a);
  if (tiled && &a.storage() != &tiled_.storage()) set_up(ctx, a);
  line::visit(a, zeros(y), [&]<class View>(const View& view) {
    const cuda::Sweep<direction, View, T> lines{view,
                                                b,
                                                x,
                                                y,
                                                line_order_,
                                                order,
                                                guess == Guess::zero,
                                                omega_,
                                                cut_,
                                                interface_.view().data,
                                                passed_.view(),
                                                tiled ? tiles_.cview() : GridView<const T>{}};
    lines.run(ctx);
  });
}

}  // namespace stratum
