// Line sweeps on a GPU, by solvers/lines/cuda/sweep.hpp.

#include <stratum/smoothers/line_sweep.hpp>
#include <stratum/solvers/lines/cuda/sweep.hpp>
#include <stratum/solvers/lines/equations.hpp>

namespace stratum {

template <class T>
void LineSweep<T>::sweep_on_gpu(Context& ctx, Direction direction, const GridOperator<T>& a, FieldView<const T> b,
                                FieldView<const T> x, FieldView<T> y, Guess guess, SweepOrder order) {
  const bool tiled = direction == Direction::y && has_tiles_for(a);
  if (tiled && &a.storage() != &tiled_.storage()) set_up(ctx, a);
  line::visit(a, zeros(), [&]<class View>(const View& view) {
    cuda::GpuSweep<View, T> sweep{view, b, x, y, line_order_, schedule(direction, order), guess == Guess::zero, omega_};
    sweep.grid = grid_;
    sweep.memory = interface_.view().data;
    sweep.passed = passed_.view();
    if (tiled) sweep.records = tiles_.cview();
    if (direction == Direction::x)
      cuda::sweep_lines<Direction::x>(ctx, sweep);
    else
      cuda::sweep_lines<Direction::y>(ctx, sweep);
  });
}

template void LineSweep<float>::sweep_on_gpu(Context&, Direction, const GridOperator<float>&, FieldView<const float>,
                                             FieldView<const float>, FieldView<float>, Guess, SweepOrder);
template void LineSweep<double>::sweep_on_gpu(Context&, Direction, const GridOperator<double>&, FieldView<const double>,
                                              FieldView<const double>, FieldView<double>, Guess, SweepOrder);

}  // namespace stratum
