#include <stratum/smoothers/line.hpp>

#include <algorithm>
#include <utility>

#include <stratum/core/grid/blas.hpp>
#include <stratum/solvers/lines/pieces.hpp>
#include <stratum/solvers/lines/thomas.hpp>

namespace stratum {

void register_line(SmootherRegistry& registry);

namespace {

constexpr double simultaneous_damping = 0.8;

/// The rows of a strip. Those of the second colour that have one of the first beside them in another strip follow an exchange,
/// all pieces together.
template <class Lines, class Cut>
void zebra_of_strip(Context& ctx, const Lines& lines, const Cut& cut, SweepOrder order) {
  const bool backward = order == SweepOrder::backward;
  const int odd = 1 - (lines.y.origin_y & 1), first = backward ? 1 - odd : odd;
  const bool third = cut.has_third_row(), has_third = third && cut.is_last();
  const int end = has_third ? lines.lines() - 1 : lines.lines();
  const auto solve_third = [&] {
    if (has_third) lines.one(end);
    exchange(ctx, lines.y);
  };
  if (third && backward) solve_third();
  const auto second = [&](int line) { return ((line ^ first) & 1) != 0; };
  const bool bottom = end > 0 && lines.y.below && second(0);
  const bool top = end > 0 && !has_third && lines.y.above && second(end - 1) && !(bottom && end == 1);
  const int lowest = bottom ? 1 : 0, highest = top ? end - 1 : end;
  if (lowest < highest) lines.zebra(first, lowest, highest);
  exchange(ctx, lines.y);
  if (bottom) lines.one(0);
  if (top) lines.one(end - 1);
  if (third && !backward) {
    exchange(ctx, lines.y);
    solve_third();
  }
}

/// Across a periodic direction the first line lies beside the last. One of the two is solved alone, after an exchange: the
/// third colour, or that of the second colour, which has a line of the first one beside it there.
template <class Lines>
void zebra(Context& ctx, Direction direction, const Lines& lines, SweepOrder order) {
  const bool along_x = direction == Direction::x, backward = order == SweepOrder::backward;
  const int count = lines.lines(), odd = 1 - ((along_x ? lines.y.origin_y : lines.y.origin_x) & 1);
  const int first = backward ? 1 - odd : odd;
  if (!(along_x ? lines.y.periodic_y : lines.y.periodic_x)) return lines.zebra(first, 0, count);
  const bool third = count % 2 != 0, begins = third && backward;
  const int alone = third || first == 0 ? count - 1 : 0;
  if (begins) {
    lines.one(alone);
    exchange(ctx, lines.y);
  }
  alone == 0 ? lines.zebra(first, 1, count) : lines.zebra(first, 0, count - 1);
  if (begins) return;
  exchange(ctx, lines.y);
  lines.one(alone);
}

}  // namespace

template <class T>
LineSweep<T>::LineSweep(Context& ctx, const GridShape& shape, const SmootherParams& params, bool along_y)
    : line_order_(params.line_order),
      omega_(static_cast<T>(damping_or(params, params.line_order == LineOrder::zebra ? 1.0 : simultaneous_damping))),
      threads_(ctx.threads()), wraps_(shape.periodic_y) {
  if (shape.below || shape.above || !params.pieces.empty()) cut_ = line::CutLines<T>(ctx, shape, params.pieces);
  if (shape.has_halo() || !cut_.empty()) zeros_ = Vector<T>(ctx, std::max(shape.nx, shape.ny));
  if (ctx.on_gpu()) {
    interface_ = Vector<T>(ctx, line::interface_numbers(shape.nx, shape.ny));
    if (!along_y) return;
    constexpr int tile_width = static_cast<int>(128 / sizeof(T));
    if (const int numbers = line::passed_numbers(shape.nx, shape.ny, tile_width); numbers > 0)
      passed_ = Vector<T>(ctx, numbers);
#if defined(STRATUM_HAVE_CUDA)
    if (line_order_ != LineOrder::zebra || omega_ != T(1) || !cut_.empty()) return;
    if (const GridShape records = line::records_shape<T>(ctx, shape, params.form); records.ny > 0)
      tiles_ = Vector<T>(ctx, records);
#endif
    return;
  }
  const auto size = line::LineScratch<T>::size(shape, threads_, params.form);
  elimination_ = Vector<T>(ctx, GridShape{static_cast<int>(size), threads_});
}

template <class T>
void LineSweep<T>::set_up(Context& ctx, const GridOperator<T>& a) {
  if (!cut_.empty()) cut_.set_up(ctx, a, zeros_.view().data);
#if defined(STRATUM_HAVE_CUDA)
  if (ctx.plans() || !has_tiles_for(a)) return;
  line::tile_bands(ctx, a, tiles_.view());
  tiled_ = a;
#endif
}

template <class T>
Guess LineSweep<T>::start(Context& ctx, GridView<T>& x, Guess guess) const {
  if (guess == Guess::given || !(x.has_halo() || !cut_.empty())) return guess;
  set_zero_with_halo(ctx, x);
  x.fresh = true;
  return Guess::given;
}

template <class T>
const T* LineSweep<T>::zeros(GridView<T> y) const {
  return y.periodic_x || y.periodic_y || cut_.is_ring() ? zeros_.view().data : nullptr;
}

template <class T>
void LineSweep<T>::operator()(Context& ctx, Direction direction, const GridOperator<T>& a, GridView<const T> b,
                              GridView<const T> x, GridView<T> y, Guess guess, SweepOrder order) {
  y.fresh = false;
  if (!cut_.empty() && direction == Direction::y) {
    exchange(ctx, x);
    return cut_.sweep(ctx, a, zeros_.view().data, b, x, y, omega_, line_order_, order, elimination_.view());
  }
#if defined(STRATUM_HAVE_CUDA)
  if (ctx.on_gpu()) return sweep_on_gpu(ctx, direction, a, b, x, y, guess, order);
#endif
  expects(ctx.threads() <= threads_, "this smoother was made for ", threads_, " threads, not ", ctx.threads());
  line::visit(a, zeros(y), [&]<class View>(const View& view) {
    const auto sweep = [&]<Direction d, bool ring>() {
      const line::Sweep<d, View, T, ring> lines{
          view, b, x, y, omega_, guess == Guess::zero, ctx.threads(), elimination_.view()};
      if (line_order_ == LineOrder::simultaneous)
        lines.simultaneous();
      else if (y.below || y.above)
        zebra_of_strip(ctx, lines, cut_, order);
      else
        zebra(ctx, d, lines, order);
    };
    const auto run = [&]<Direction d>() {
      if constexpr (line::has_bands<View> || line::by_sums<View>)
        if (d == Direction::x ? y.periodic_x : y.periodic_y) return sweep.template operator()<d, true>();
      sweep.template operator()<d, false>();
    };
    exchange(ctx, x);
    direction == Direction::x ? run.template operator()<Direction::x>() : run.template operator()<Direction::y>();
  });
}

template class LineSweep<float>;
template class LineSweep<double>;

namespace {

/// Line relaxation in one direction.
template <class T, Direction direction>
class Line : public Smoother<T> {
 public:
  Line(Context& ctx, const GridShape& shape, const SmootherParams& params)
      : Smoother<T>(shape), sweep_(ctx, shape, params, direction == Direction::y) {
    if (params.line_order == LineOrder::simultaneous) scratch_ = Vector<T>(ctx, shape);
  }

  void set_up(Context& ctx, const GridOperator<T>& a) override {
    this->expects_shape(a);
    sweep_.set_up(ctx, a);
  }
  void smooth(Context& ctx, const GridOperator<T>& a, GridView<const T> b, GridView<T> x, int steps, Guess guess,
              SweepOrder order) override {
    const auto hold = this->begin(ctx, a, b, x);
    if (steps == 0 && guess == Guess::zero) set(ctx, T(0), x);
    guess = sweep_.start(ctx, x, guess);
    const bool in_place = sweep_.line_order() == LineOrder::zebra;
    GridView<T> current = x, other = in_place ? x : scratch_.view();
    for (int s = 0; s < steps; ++s) {
      sweep_(ctx, direction, a, b, current, other, s == 0 ? guess : Guess::given, order);
      std::swap(current, other);
      current.fresh = sweep_.fills_halo(direction);
    }
    if (current.data != x.data) copy<T, T>(ctx, current, x);
  }

  [[nodiscard]] SomeRows rows_read(SweepOrder order) const override { return sweep_.rows_read(direction, order); }
  [[nodiscard]] bool fills_halo(SweepOrder /*order*/) const override { return sweep_.fills_halo(direction); }
  [[nodiscard]] std::optional<typename Smoother<T>::Reach> reach(int steps) const override {
    return {{sweep_.rows_reached(steps), direction == Direction::y}};
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
