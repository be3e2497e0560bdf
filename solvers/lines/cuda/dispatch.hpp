#pragma once

// Line sweeps on a GPU: which kernel runs when, and why. For CUDA sources only.
//
//   order, damping     lines                               operator              kernel
//   zebra, undamped    along x, of 1536 nodes or more, as  tensor, scalar cells  persistent_x_lines (zebra_x.hpp), by colours
//                      long as a cluster holds them
//                      along y, of 768 nodes or more, or   tensor in float       persistent_columns (persistent_columns.hpp),
//                      257 and very many, not periodic,                          where a cluster has two tiles or more
//                      as long as a cluster holds them     tensor, scalar cells  persistent_y_lines (zebra_y.hpp)
//                      along y, of 513 to 8192 nodes, not  five, nine bands      persistent_bands   (persistent_bands.hpp)
//                      periodic, by a copy
//                      along y, those between the tiles    those of persistent_y_lines,  solve_y_lines (strided.hpp), one a
//                      of two clusters                     persistent_bands              cluster
//   any                any other along x                   any                   solve_x_lines      (contiguous.hpp)
//                      any other along y                   any                   solve_y_lines      (strided.hpp)
//
// Each persistent kernel gains a tenth of the time of a solve or more (docs/internals/gpu-kernels.md). A sweep on an H200, on
// 8191 x 8191 unknowns in float unless stated otherwise, in milliseconds:
//
//   persistent_x_lines   scalar cells 0.35, by solve_x_lines 0.54; tensor in double 0.58, by solve_x_lines in three steps 1.15
//   persistent_columns   0.313; with the meetings of persistent_y_lines 0.453
//   persistent_y_lines   scalar cells 0.71, by solve_y_lines 1.51; tensor on 16383 x 511 0.070, by solve_y_lines 0.134
//   persistent_bands     five bands 0.85, nine 1.32; on an H100 1.04 and 1.59, and from the rows of the matrix 1.46 and 1.90
//
// A cluster of persistent_columns waits for another one that solves the line between them; where every cluster has one tile, so
// does one of persistent_y_lines and persistent_bands. Such launches have no more clusters than the device runs at once, and
// wait for clusters of lower block numbers alone, which devices dispatch first. Tickets, taken by clusters when they start,
// would spare this order of dispatch; with them, and with one kernel for bands and other operators, a sweep along y took 2 to
// 21 % longer on 1023 x 1023 unknowns, and a V-cycle up to 9 %. No other kernel waits for a block outside its own cluster.
//
// Segments, that is unknowns a thread has, and what a cluster of up to 16 blocks holds:
//
//   solve_x_lines        4 below 512 nodes; 16 from 2048 on in float where lines have no persistent kernel; else 8. 65536
//                        nodes, longer lines in three steps of 8
//   solve_y_lines        4 up to 256 nodes, 8 up to 2048, else 17. 17408 nodes, 2176 without clusters, longer lines in three
//                        steps of 16
//   persistent_x_lines   16; 32 from 3072 on of the tensor operator in float
//   persistent_y_lines   16; 8 where the device has a place for all blocks at once; 17 in double where they save a block beside
//                        Neumann or Robin boundaries; 33 above 8191 nodes, on tiles of 64 bytes: 16895 nodes. Those move 3
//                        words for each unknown where three steps move 10: A3 on 16383 x 16383 unknowns has such lines. In
//                        double registers spill, and V(4,4) with ADI takes 397 ms on an H200 there, by three steps 609
//   persistent_columns   16, or 17 where they save a block beside Neumann or Robin boundaries
//   persistent_bands     16
//
// Without clusters of blocks (compute capability 8.x) no lines along y are taken by a persistent kernel.

#include <algorithm>

#include <stratum/solvers/lines/cuda/contiguous.hpp>
#include <stratum/solvers/lines/cuda/persistent_bands.hpp>
#include <stratum/solvers/lines/cuda/persistent_columns.hpp>
#include <stratum/solvers/lines/cuda/strided.hpp>
#include <stratum/solvers/lines/cuda/sweep.hpp>
#include <stratum/solvers/lines/cuda/zebra_x.hpp>
#include <stratum/solvers/lines/cuda/zebra_y.hpp>

namespace stratum::cuda {

/// `is_cyclic`: of a grid that is periodic along them. `memory`: for the chunks of lines that no cluster holds.
template <bool coupled, bool is_cyclic, class View, class T>
void launch_x_lines(const Context& ctx, const View& a, FieldView<const T> b, FieldView<const T> x,
                    const Lines<T>& lines, FieldView<T> y, T* memory) {
  constexpr bool sums = is_cyclic || by_row_sums<View>;
  const auto launch = [&]<int S>() {
    const int segments = divide_up(is_cyclic ? y.nx : y.nx + 1, S);
    Launch launch;
    int blocks = divide_up(segments, x_line_threads);
    for (;; ++blocks) {
      const int threads = divide_up(divide_up(segments, blocks), warp) * warp;
      launch = {lines.count * blocks, threads, x_line_bytes<S, sums, T>(threads), blocks};
      if (launch.fits()) break;
    }
    const auto run = [&]<Step step>(const Interface<T, sums>& parts) {
      const auto kernel = solve_x_lines<S, coupled, is_cyclic, step, View, T>;
      const int ahead = loads_ahead<View> && step == Step::solve ? launch.resident(ctx, kernel) : lines.count;
      launch(ctx, kernel, a, b, x, lines, y, parts, ahead);
    };
    if (blocks <= blocks_at_most()) {
      run.template operator()<Step::solve>({});
      return true;
    }
    if constexpr (S == 8) {
      blocks = divide_up(segments, static_cast<int>(launch.block.x));
      launch.grid = lines.count * blocks;
      launch.cluster = 1;
      const Interface<T, sums> parts{reinterpret_cast<ReducedChunk<T, sums>*>(memory), blocks};
      run.template operator()<Step::eliminate>(parts);
      launch_interface<is_cyclic>(ctx, parts, lines.count);
      run.template operator()<Step::substitute>(parts);
    }
    return false;
  };
  if (y.nx < 512 && launch.template operator()<4>()) return;
  // Without neighbours a multiprocessor has registers for two blocks of short segments.
  if constexpr (sizeof(T) == 4 && coupled && !has_persistent_x_lines<View>)
    if (y.nx >= 2048 && launch.template operator()<16>()) return;
  launch.template operator()<8>();
}

template <int S, int threads, bool is_cyclic, class View, class T, class Rhs>
void launch_y_lines(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, FieldView<T> y, int across,
                    bool early = true) {
  constexpr bool sums = is_cyclic || by_row_sums<View>;
  const int cluster = divide_up(y.ny, threads / across * S);
  Launch{divide_up(lines.count, across) * cluster, threads, y_line_bytes<T, sums>(threads, across), cluster,
         early}(ctx, solve_y_lines<S, threads, is_cyclic, Step::solve, Rhs, View, T>, rhs, lines, y, across,
                Interface<T, sums>{});
}

/// In three steps.
template <bool is_cyclic, class View, class T, class Rhs>
void launch_y_lines_in_steps(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, FieldView<T> y, T* memory) {
  constexpr bool sums = is_cyclic || by_row_sums<View>;
  constexpr int S = 16, across = static_cast<int>(64 / sizeof(T)), threads = across * warp;
  const int groups = divide_up(lines.count, across);
  const Interface<T, sums> parts{reinterpret_cast<ReducedChunk<T, sums>*>(memory), divide_up(y.ny, warp * S)};
  const auto run = [&]<Step step>() {
    Launch{groups * parts.count, threads, y_line_bytes<T, sums>(threads, across)}(
        ctx, solve_y_lines<S, threads, is_cyclic, step, Rhs, View, T>, rhs, lines, y, across, parts);
  };
  run.template operator()<Step::eliminate>();
  launch_interface<is_cyclic>(ctx, parts, groups * across);
  run.template operator()<Step::substitute>();
}

template <bool is_cyclic, class View, class T, class Rhs>
void launch_y_lines(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, FieldView<T> y, T* memory) {
  if (y.ny <= 128) return launch_y_lines<4, 256, is_cyclic, View>(ctx, rhs, lines, y, 8);
  if (y.ny <= 256) return launch_y_lines<4, 256, is_cyclic, View>(ctx, rhs, lines, y, 4);
  if (y.ny <= 2048 && blocks_at_most() > 1) return launch_y_lines<8, 256, is_cyclic, View>(ctx, rhs, lines, y, 8);
  // Every second column of 128 bytes, a warp a line; of 64 or 32 bytes where longer lines take two or four.
  constexpr int wide = static_cast<int>(64 / sizeof(T));
  for (int warps = 1; warps <= 4 && warps * blocks_at_most() <= most_records; warps *= 2)
    if (y.ny <= longer_segment * warps * warp * blocks_at_most())
      return launch_y_lines<longer_segment, wide * warp, is_cyclic, View>(ctx, rhs, lines, y, wide / warps);
  launch_y_lines_in_steps<is_cyclic, View>(ctx, rhs, lines, y, memory);
}

/// A few lines far apart, of up to 17408 nodes and no cyclic lines. Every number is in a cache line of its own: a line is
/// shared among as many multiprocessors as blocks reach it.
template <class View, class T, class Rhs>
void launch_few_y_lines(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, FieldView<T> y) {
  if (y.ny <= 8192) return launch_y_lines<8, 64, false, View>(ctx, rhs, lines, y, 1, false);
  launch_y_lines<17, 64, false, View>(ctx, rhs, lines, y, 1, false);
}

/// Lines of one colour of an operator that `has_persistent_x_lines`, in place; false where they are too short, or too long for
/// a cluster.
template <bool coupled, class View, class T>
bool launch_persistent_x(const Context& ctx, const View& a, FieldView<const T> b, const Lines<T>& lines,
                         FieldView<T> y) {
  constexpr bool sums = by_row_sums<View>;
  constexpr int threads = persistent_x_threads<View>;
  const auto launch_cut = [&]<int S, XPart part, bool tailed>(const XTiling& cut) {
    const auto kernel = persistent_x_lines<S, coupled, part, tailed, View, T>;
    Launch launch{lines.count * cut.blocks, cut.warps() * warp, cut.bytes<S, sums, T>(), cut.blocks};
    if (!launch.fits()) return false;
    const int rows = divide_up(lines.count, launch.resident(ctx, kernel));
    launch.early = cut.blocks == 1 || rows == 1;  // where all clusters go on, early ones come to lie badly
    launch.grid = divide_up(lines.count, rows) * cut.blocks;
    launch(ctx, kernel, a, b, lines, rows, cut, y);
    return true;
  };
  const auto launch = [&]<int S, XPart part>(const XTiling& cut) {
    if constexpr (sums)
      if (cut.tail > 0) return launch_cut.template operator()<S, part, true>(cut);
    return launch_cut.template operator()<S, part, false>(cut);
  };
  const auto take = [&]<int S>() {
    const int positions = y.nx + 1, tail = sums && positions % S <= 2 ? positions % S : 0;
    const int segments = divide_up(positions - tail, S);
    const bool fills = tail > 0 && segments % warp == 0;
    const int whole = fills ? segments : divide_up(divide_up(positions, S), warp) * warp;
    if (whole <= threads && launch.template operator()<S, XPart::whole>({1, whole, fills ? tail : 0})) return true;
    if constexpr (is_tensor<View> && sizeof(T) == 4 && S == 16) return false;  // of short lines
    const int most = std::min(blocks_at_most(), persistent_records<T, sums>);
    for (int blocks = 1; blocks <= most; ++blocks) {
      const bool ends_together = segments % blocks == 0;  // else the last block's segments go on behind the line
      const XTiling cut{blocks, divide_up(ends_together ? segments : divide_up(positions, S), blocks),
                        ends_together ? tail : 0};
      if (cut.segments <= threads && launch.template operator()<S, XPart::several>(cut)) return true;
    }
    return false;
  };
  if (y.nx < 1536 || lines.count == 0) return false;
  if constexpr (is_tensor<View> && sizeof(T) == 4)
    if (y.nx >= 3072) return take.template operator()<32>();
  return take.template operator()<16>();
}

/// Both colours of y lines of an operator that `has_persistent_y_lines`, in place, odd columns first unless mirrored; false
/// where they are too short, or too long for a cluster. Lines that are left are given back, all of the second colour. `passed`:
/// zeros, in which clusters pass columns to each other where there are enough.
template <bool coupled, bool mirrored, class View, class T>
bool launch_persistent_y(const Context& ctx, const View& a, FieldView<const T> b, FieldView<T> y, Lines<T>& left,
                         FieldView<T> passed) {
  const auto launch = [&]<class W>(W tiling, bool must_pass = false) {
    const int cluster = divide_up(y.ny + 1, W::rows);
    const auto kernel = persistent_y_lines<coupled, mirrored, View, W>;
    tiling.tiles = divide_up(y.nx + 1, W::width);
    Launch launch{tiling.tiles * cluster, W::threads, persistent_y_bytes<View, W>, cluster};
    const bool has_room = passed.nx >= static_cast<int>(launch.grid.x) * W::kept_numbers;
    if (cluster > blocks_at_most() || (must_pass && !has_room) || !launch.fits()) return false;
    const int resident = launch.resident(ctx, kernel);
    const bool passes = has_room && tiling.tiles <= resident;
    if (must_pass && !passes) return false;
    left = share_tiles<mirrored, T>(launch, tiling, resident);
    if (passes) left.count = 0;
    launch(ctx, kernel, line::along<Direction::y>(a), b, tiling, y, passes ? passed.data : nullptr);
    return true;
  };
  using Usual = YTiling<T>;
  if (!has_clusters() || !is_worth_persistence<Usual>(y.nx, y.ny)) return false;
  // More blocks of fewer rows, where the device has a place for each.
  if constexpr (is_tensor<View>)
    if (launch(YTiling<T, 8>{}, true)) return true;
  if constexpr (is_tensor<View> && by_row_sums<View> && sizeof(T) == 8)  // floats have persistent_columns
    if (longer_segments_save_a_block(y.ny) && launch(YTiling<T, longer_segment>{})) return true;
  if constexpr (is_tensor<View>)
    if (divide_up(y.ny + 1, Usual::rows) > most_blocks && launch(YTiling<T, 33, 64>{})) return true;
  return launch(Usual{});
}

template <Direction direction, class View, class T>
class Sweep : GpuSweep<View, T> {
  using Base = GpuSweep<View, T>;
  using Base::a, Base::b, Base::x, Base::y, Base::omega, Base::zebra, Base::zero, Base::memory, Base::passed;

 public:
  explicit Sweep(const Base& sweep) : Base(sweep) {}

  void run(Context& ctx) const {
    if (this->line_order == LineOrder::simultaneous)
      return solve(ctx, {direction, 0, 1, direction == Direction::x ? y.ny : y.nx});
    const auto exchange_lines = [&] { exchange(ctx, this->grid, y); };
    const auto two_colours = [&] {
      if constexpr (direction == Direction::y && is_persistent)
        if (omega == T(1) && !this->grid.periodic_y &&
            (zebra.first == 0 ? in_one_pass<false>(ctx) : in_one_pass<true>(ctx)))
          return;
      solve(ctx, zebra.first_colour());
      exchange_lines();
      solve(ctx, zebra.second_colour());
    };
    zebra.run(
        two_colours, [&] { solve(ctx, zebra.third_colour()); }, exchange_lines);
  }

 private:
  static constexpr bool is_persistent = has_persistent_y_lines<View> || has_persistent_bands<View>;

  void solve(Context& ctx, const line::LineBatch& lines) const {
    const Lines<T> some{lines, omega, zero ? T(0) : T(1) - omega};
    const bool coupled = !zero || lines.colour != line::LineColour::first;
    if constexpr (!is_tensor<View> || by_row_sums<View>)
      if (direction == Direction::x ? this->grid.periodic_x : this->grid.periodic_y)
        return solve<true, true>(ctx, some);
    coupled ? solve<true, false>(ctx, some) : solve<false, false>(ctx, some);
  }
  template <bool coupled, bool is_cyclic>
  void solve(Context& ctx, const Lines<T>& lines) const {
    if constexpr (direction == Direction::x) {
      if constexpr (has_persistent_x_lines<View> && !is_cyclic)
        if (lines.stride == 2 && omega == T(1) && launch_persistent_x<coupled, View, T>(ctx, a, b, lines, y)) return;
      launch_x_lines<coupled, is_cyclic, View, T>(ctx, a, b, x, lines, y, memory);
    } else {
      launch_y_lines<is_cyclic, View, T>(ctx, line::LineRhs<direction, coupled, View, T>{a, b, x}, lines, y, memory);
    }
  }
  template <bool coupled, bool mirrored>
  [[nodiscard]] bool run_persistent(Context& ctx, FieldView<const T> right, FieldView<T> to, Lines<T>& left) const {
    if constexpr (has_persistent_bands<View>) {
      if (this->records.data == nullptr) return false;
      left = launch_persistent_bands<coupled, mirrored, line::couplings_once<T>(View::is_symmetric), T>(
          ctx, this->records, right, to, passed);
      return true;
    } else {
      if constexpr (has_persistent_columns<View>)
        if (launch_persistent_columns<coupled, mirrored, View>(ctx, a, right, to, passed)) return true;
      return launch_persistent_y<coupled, mirrored, View, T>(ctx, a, right, to, left, passed);
    }
  }
  /// Both colours of a y sweep; false where the lines are too short or too long.
  template <bool mirrored>
  [[nodiscard]] bool in_one_pass(Context& ctx) const {
    Lines<T> left{{direction}};
    FieldView<const T> right = b;
    FieldView<T> to = y;
    right.nx = to.nx = zebra.pairs;
    if (!(zero ? run_persistent<false, mirrored>(ctx, right, to, left)
               : run_persistent<true, mirrored>(ctx, right, to, left)))
      return false;
    launch_few_y_lines<View, T>(ctx, line::LineRhs<Direction::y, true, View, T>{a, b, x}, left, y);
    if (!this->grid.periodic_x) return true;
    // At the periodic interface a line of the second colour was solved beside one that is none to the persistent kernel.
    exchange(ctx, this->grid, y);
    solve(ctx, zebra.at_periodic_interface());
    return true;
  }
};

template <Direction direction, class View, class T>
void sweep_lines(Context& ctx, const GpuSweep<View, T>& sweep) {
  Sweep<direction, View, T>(sweep).run(ctx);
}

}  // namespace stratum::cuda
