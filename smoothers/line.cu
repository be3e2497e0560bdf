// Line sweeps on a GPU. solvers/lines/kernels.hpp has the kernels.

#include <stratum/smoothers/line.hpp>
#include <stratum/solvers/lines/kernels.hpp>

namespace stratum {

namespace {

template <class View, class T>
struct Sweep {
  View a;
  GridView<const T> b, x;
  GridView<T> y;
  LineOrder line_order;
  int first;  // line of the first colour
  bool zero;
  T omega;

  template <Direction direction>
  void run(Context& ctx) const {
    if (line_order == LineOrder::simultaneous) return solve<direction>(ctx, 0, 1, !zero);
    if constexpr (direction == Direction::y && cuda::walks_y_lines<View>)
      if (omega == T(1) && (first == 0 ? in_one_pass<false>(ctx) : in_one_pass<true>(ctx))) return;
    solve<direction>(ctx, first, 2, !zero);
    solve<direction>(ctx, 1 - first, 2, true);
  }

 private:
  /// One colour or, with stride 1, all lines.
  template <Direction direction>
  void solve(Context& ctx, int begin, int stride, bool coupled) const {
    const int lines = direction == Direction::x ? y.ny : y.nx;
    const int count = lines > begin ? (lines - begin + stride - 1) / stride : 0;
    const cuda::Lines<T> some{begin, stride, count, omega, zero ? T(0) : T(1) - omega};
    coupled ? solve<direction, true>(ctx, some) : solve<direction, false>(ctx, some);
  }
  template <Direction direction, bool coupled>
  void solve(Context& ctx, const cuda::Lines<T>& lines) const {
    if constexpr (direction == Direction::x) {
      if constexpr (is_tensor<View>)
        if (lines.stride == 2 && omega == T(1) && cuda::launch_x_walk<coupled, View, T>(ctx, a, b, lines, y)) return;
      cuda::launch_x_lines<coupled, View, T>(ctx, a, b, x, lines, y);
    } else {
      cuda::launch_y_lines<View, T>(ctx, line::LineRhs<direction, coupled, View, T>{a, b, x}, lines, y);
    }
  }
  /// Both colours of a y sweep; false where the lines are too short or too long.
  template <bool mirrored>
  [[nodiscard]] bool in_one_pass(Context& ctx) const {
    cuda::Lines<T> left{};
    if (!(zero ? cuda::launch_y_walk<false, mirrored, View, T>(ctx, a, b, y, left)
               : cuda::launch_y_walk<true, mirrored, View, T>(ctx, a, b, y, left)))
      return false;
    cuda::launch_few_y_lines<View, T>(ctx, line::LineRhs<Direction::y, true, View, T>{a, b, x}, left, y);
    return true;
  }
};

}  // namespace

template <class T>
void LineSweep<T>::sweep_on_gpu(Context& ctx, Direction direction, const GridOperator<T>& a, GridView<const T> b,
                                GridView<const T> x, GridView<T> y, Guess guess, SweepOrder order) {
  exchange(ctx, x);
  const int origin = direction == Direction::x ? x.origin_y : x.origin_x;
  const int odd = 1 - (origin & 1), first = order == SweepOrder::forward ? odd : 1 - odd;
  const bool zero = guess == Guess::zero;
  a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    const Sweep<View, T> sweep{view, b, x, y, line_order_, first, zero, omega_};
    direction == Direction::x ? sweep.template run<Direction::x>(ctx) : sweep.template run<Direction::y>(ctx);
  });
}

template void LineSweep<float>::sweep_on_gpu(Context&, Direction, const GridOperator<float>&, GridView<const float>,
                                             GridView<const float>, GridView<float>, Guess, SweepOrder);
template void LineSweep<double>::sweep_on_gpu(Context&, Direction, const GridOperator<double>&, GridView<const double>,
                                              GridView<const double>, GridView<double>, Guess, SweepOrder);

}  // namespace stratum
