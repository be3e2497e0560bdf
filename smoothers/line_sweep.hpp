#pragma once

// Line relaxation: on every grid line in one direction the tridiagonal part of A is solved for,
//
//     (D + A^X) x_line = b - A^(rest) x ,
//
// the rest being what couples the line to the lines beside it. Source: Goeddeke, Strzodka 2011, Section 3.3, eq. (1).
//
//   zebra         odd lines first, then even (solvers/lines/zebra_schedule.hpp); in place, undamped
//   simultaneous  all lines from the old x, x <- (1 - omega) x + omega x_line; omega = 0.8; out of place
//
// The undamped form solves for the line itself, so that a sweep moves 3 words per unknown and the coefficients.
//
// On a grid that is partitioned into subdomains of rows, x lines lie within subdomains, and rows are exchanged between their
// colours; y lines are cut, and solved in three steps (solvers/lines/partitioned_lines.hpp).

#include <stratum/smoothers/smoother.hpp>
#include <stratum/solvers/lines/cuda/tiled_bands.hpp>
#include <stratum/solvers/lines/partitioned_lines.hpp>
#include <stratum/solvers/lines/zebra_schedule.hpp>

namespace stratum {

template <class T>
class LineSweep {
 public:
  /// `along_y`: for lines along y, too, or along x alone.
  LineSweep(Context& ctx, const GridLayout<2>& shape, const SmootherParams& params, bool along_y);

  [[nodiscard]] LineOrder line_order() const { return line_order_; }
  struct Start {
    Guess guess;
    Ghosts ghosts;
  };
  /// What the first sweep is to be given: on periodic grids x itself, made zero with its ghosts where it is to be.
  [[nodiscard]] Start start(Context& ctx, FieldView<T> x, Start given) const;
  /// As of a Smoother.
  void set_up(Context& ctx, const GridOperator<T>& a);
  /// One sweep from `x`, whose ghosts are exchanged before where they are stale, to `y`. Zebra works in place: x and y are the
  /// same view. Simultaneous: they differ. `ghosts_after` says how the ghosts of y are left.
  void operator()(Context& ctx, Direction direction, const GridOperator<T>& a, FieldView<const T> b,
                  FieldView<const T> x, Ghosts ghosts_of_x, FieldView<T> y, Guess guess, SweepOrder order);

  /// By `sweeps` sweeps, a row by each set of lines that is solved for at once.
  [[nodiscard]] int rows_reached(int sweeps) const { return line_order_ == LineOrder::zebra ? 2 * sweeps : sweeps; }
  /// As of a Smoother: of whole lines along x the second colour's alone. A third colour, of periodic grids, reads others.
  [[nodiscard]] SomeRows rows_read(Direction direction, SweepOrder order) const {
    if (direction == Direction::y || line_order_ != LineOrder::zebra || omega_ != T(1) || !cut_.empty() ||
        grid_.periodic_y)
      return SomeRows::all;
    return order == SweepOrder::forward ? SomeRows::even : SomeRows::odd;
  }
  /// On subdomains: what a sweep in this direction leaves.
  [[nodiscard]] bool fills_halo(Direction direction) const {
    return !cut_.empty() && direction == Direction::y && line_order_ == LineOrder::zebra;
  }
  [[nodiscard]] Ghosts ghosts_after(Direction direction) const {
    return fills_halo(direction) ? Ghosts::current : Ghosts::stale;
  }

 private:
  /// smoothers/line_sweep_cpu.hpp: of operators by element coefficients, or of all others.
  template <Direction direction, bool element>
  void sweep_on_cpu(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<const T> x, FieldView<T> y,
                    Guess guess, SweepOrder order);
  /// smoothers/line_sweep.cu
  void sweep_on_gpu(Context& ctx, Direction direction, const GridOperator<T>& a, FieldView<const T> b,
                    FieldView<const T> x, FieldView<T> y, Guess guess, SweepOrder order);

  [[nodiscard]] line::ZebraSchedule schedule(Direction direction, SweepOrder order) const {
    if (cut_.empty() || direction == Direction::y) return {grid_, direction, order};
    return {grid_, direction, order, cut_.has_third_row(), cut_.is_last()};
  }
  /// Whether the matrix is read in tiles.
  [[nodiscard]] bool has_tiles_for(const GridOperator<T>& a) const {
    const int size = line::record_size<T>(a.format());
    return size > 0 && size <= tiles_.shape().nx;
  }
  /// As line::visit takes them.
  [[nodiscard]] const T* zeros() const;

  LineOrder line_order_;
  T omega_;
  int threads_;
  GridLayout<2> grid_;
  Field<T> zeros_;                 // where the grid is periodic or cut: the reaction that tensor operators lack
  line::PartitionedLines<T> cut_;  // where the grid is cut, or its columns are to be in chunks
  Field<T> interface_;             // GPU: parts of long lines
  Field<T> passed_;                // GPU: columns that clusters of blocks pass to each other; zeros between sweeps
  Field<T> tiles_;         // GPU: stored bands in the order of a persistent kernel over y lines, where there is one
  GridOperator<T> tiled_;  // whose they are
  Field<T> elimination_;   // CPU, per thread: multipliers and right-hand sides of a batch of lines
};

}  // namespace stratum
