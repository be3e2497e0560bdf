#include <stratum/smoothers/line.hpp>

#include <algorithm>
#include <utility>

#include <stratum/core/blas.hpp>
#include <stratum/smoothers/line_thomas.hpp>
#if defined(__CUDACC__)
#include <stratum/smoothers/line_kernels.hpp>
#endif

namespace stratum {

void register_line(SmootherRegistry& registry);

namespace {

constexpr double simultaneous_damping = 0.8;

/// Lines up to this length fit the shared memory of a GPU block, whatever the operator.
template <class T>
constexpr int longest_partitioned = static_cast<int>(32768 / sizeof(T));

}  // namespace

template <class T>
LineSweep<T>::LineSweep(Context& ctx, const GridShape& shape, const SmootherParams& params)
    : line_order_(params.line_order),
      omega_(static_cast<T>(damping_or(params, params.line_order == LineOrder::zebra ? 1.0 : simultaneous_damping))),
      threads_(ctx.threads()) {
  if (ctx.on_gpu()) {
    const GridShape transposed{shape.ny, shape.nx, shape.origin_y, shape.origin_x};
    b_transposed_ = Vector<T>(ctx, transposed);
    x_transposed_ = Vector<T>(ctx, transposed);
    if (line_order_ == LineOrder::simultaneous) y_transposed_ = Vector<T>(ctx, transposed);
    if (std::max(shape.nx, shape.ny) > longest_partitioned<T>) {
      multipliers_ = Vector<T>(ctx, transposed);
      solution_ = Vector<T>(ctx, transposed);
    }
    return;
  }
  const auto size = line::LineScratch<T>::size(std::max(shape.nx, shape.ny));
  elimination_ = Vector<T>(ctx, GridShape{static_cast<int>(size), threads_, 0, 0});
}

template <class T>
std::int64_t LineSweep<T>::required_bytes(const Context& ctx, const GridShape& shape, const SmootherParams& params) {
  if (ctx.on_gpu()) {
    const bool too_long = std::max(shape.nx, shape.ny) > longest_partitioned<T>;
    const int vectors = (params.line_order == LineOrder::simultaneous ? 3 : 2) + (too_long ? 2 : 0);
    return vectors * vector_bytes<T>(ctx.backend(), {shape.ny, shape.nx});
  }
  const auto size = line::LineScratch<T>::size(std::max(shape.nx, shape.ny));
  return vector_bytes<T>(ctx.backend(), {static_cast<int>(size), ctx.threads()});
}

template <class T>
void LineSweep<T>::operator()(Context& ctx, Direction direction, const GridOperator<T>& a, GridView<const T> b,
                              GridView<const T> x, GridView<T> y, Guess guess, SweepOrder order) {
  if (ctx.on_gpu()) return sweep_on_gpu(ctx, direction, a, b, x, y, guess, order);
  expects(ctx.threads() <= threads_, "this smoother was made for ", threads_, " threads, not ", ctx.threads());
  exchange(ctx, x);
  a.visit([&](const auto& view) {
    const auto sweep = [&]<Direction d>() {
      const line::Sweep<d, std::decay_t<decltype(view)>, T> lines{
          view, b, x, y, omega_, guess == Guess::zero, ctx.threads(), elimination_.view()};
      if (line_order_ == LineOrder::simultaneous) return lines.simultaneous();
      const int odd = 1 - ((d == Direction::x ? x.origin_y : x.origin_x) & 1);
      lines.zebra(order == SweepOrder::forward ? odd : 1 - odd);
    };
    direction == Direction::x ? sweep.template operator()<Direction::x>() : sweep.template operator()<Direction::y>();
  });
}

#if defined(__CUDACC__)

namespace {

/// Lines along x of `view`, in one kernel for simultaneous order and two for zebra.
template <class T, class View>
void sweep_x_lines(Context& ctx, const View& view, GridView<const T> b, GridView<const T> x, GridView<T> y,
                   LineOrder lines, T omega, Guess guess, SweepOrder order, GridView<T> multipliers,
                   GridView<T> solution) {
  exchange(ctx, x);
  const bool zero = guess == Guess::zero;
  const T keep = zero ? T(0) : T(1) - omega;
  const auto solve = [&]<bool coupled>(int first, int stride) {
    const int count = y.ny > first ? (y.ny - first + stride - 1) / stride : 0;
    const line::LineRhs<Direction::x, coupled, View, T> rhs{view, b, x};
    const cuda::Lines<T> some{first, stride, count, omega, keep};
    if (cuda::solve_x_lines<View, T>(ctx, rhs, y.nx, some, y)) return;
    cuda::solve_long_x_lines<View, T>(ctx, rhs, y.nx, some, y, multipliers, solution);
  };
  if (lines == LineOrder::simultaneous) {
    zero ? solve.template operator()<false>(0, 1) : solve.template operator()<true>(0, 1);
    return;
  }
  const int odd = 1 - (y.origin_y & 1);
  const int first = order == SweepOrder::forward ? odd : 1 - odd;
  zero ? solve.template operator()<false>(first, 2) : solve.template operator()<true>(first, 2);
  solve.template operator()<true>(1 - first, 2);
}

}  // namespace

template <class T>
void LineSweep<T>::sweep_on_gpu(Context& ctx, Direction direction, const GridOperator<T>& a, GridView<const T> b,
                                GridView<const T> x, GridView<T> y, Guess guess, SweepOrder order) {
  a.visit([&](const auto& view) {
    const auto multipliers = multipliers_.view(), solution = solution_.view();
    if (direction == Direction::x)
      return sweep_x_lines<T>(ctx, view, b, x, y, line_order_, omega_, guess, order, multipliers, solution);
    const auto bt = b_transposed_.view(), xt = x_transposed_.view();
    const auto yt = line_order_ == LineOrder::zebra ? xt : y_transposed_.view();
    const cuda::Transposition<T> x_over{x, xt};
    cuda::transpose<T>(ctx, {b, bt}, guess == Guess::given ? &x_over : nullptr);
    sweep_x_lines<T>(ctx, cuda::transposed(view), GridView<const T>(bt), GridView<const T>(xt), yt, line_order_, omega_,
                     guess, order, multipliers, solution);
    cuda::transpose<T>(ctx, {yt, y});
  });
}

#else

template <class T>
void LineSweep<T>::sweep_on_gpu(Context& /*ctx*/, Direction /*direction*/, const GridOperator<T>& /*a*/,
                                GridView<const T> /*b*/, GridView<const T> /*x*/, GridView<T> /*y*/, Guess /*guess*/,
                                SweepOrder /*order*/) {}

#endif

template class LineSweep<float>;
template class LineSweep<double>;

namespace {

/// Line relaxation in one direction.
template <class T, Direction direction>
class Line : public Smoother<T> {
 public:
  Line(Context& ctx, const GridShape& shape, const SmootherParams& params) : sweep_(ctx, shape, params) {
    if (params.line_order == LineOrder::simultaneous) scratch_ = Vector<T>(ctx, shape);
  }
  [[nodiscard]] static std::int64_t required_bytes(const Context& ctx, const GridShape& shape,
                                                   const SmootherParams& params) {
    return LineSweep<T>::required_bytes(ctx, shape, params) +
           (params.line_order == LineOrder::simultaneous ? vector_bytes<T>(ctx.backend(), shape) : 0);
  }

  void smooth(Context& ctx, const GridOperator<T>& a, GridView<const T> b, GridView<T> x, int steps, Guess guess,
              SweepOrder order) override {
    if (steps == 0 && guess == Guess::zero) set(ctx, T(0), x);
    const bool in_place = sweep_.line_order() == LineOrder::zebra;
    GridView<T> current = x, other = in_place ? x : scratch_.view();
    for (int s = 0; s < steps; ++s) {
      sweep_(ctx, direction, a, b, current, other, s == 0 ? guess : Guess::given, order);
      std::swap(current, other);
    }
    if (current.data != x.data) copy<T, T>(ctx, current, x);
  }

  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 3.0 + coefficient_words; }

 private:
  LineSweep<T> sweep_;
  Vector<T> scratch_;
};

template <class T>
using LineX = Line<T, Direction::x>;
template <class T>
using LineY = Line<T, Direction::y>;

}  // namespace

void register_line(SmootherRegistry& registry) {
  registry.add<LineX>("line_x", "line relaxation along x, for cells narrow in x");
  registry.add<LineY>("line_y", "line relaxation along y, for cells narrow in y");
}

}  // namespace stratum
