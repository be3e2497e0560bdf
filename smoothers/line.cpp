// Line relaxation in one direction.

#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/smoothers/line_sweep.hpp>

namespace stratum {

void register_line(SmootherRegistry& registry);

namespace {

/// Line relaxation in one direction.
template <class T, Direction direction>
class Line : public Smoother<T> {
 public:
  Line(Context& ctx, const GridLayout<2>& shape, const SmootherParams& params)
      : Smoother<T>(shape), sweep_(ctx, shape, params, direction == Direction::y) {
    if (params.line_order == LineOrder::simultaneous) scratch_ = Field<T>(ctx, shape);
  }

  void set_up(Context& ctx, const GridOperator<T>& a) override {
    this->expects_shape(a);
    sweep_.set_up(ctx, a);
  }
  void smooth(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<T> x, int sweeps, Guess guess,
              SweepOrder order, Ghosts ghosts_of_x) override {
    const auto hold = this->begin(ctx, a, b, x);
    if (sweeps == 0 && guess == Guess::zero) set(ctx, T(0), x);
    auto from = sweep_.start(ctx, x, {guess, ghosts_of_x});
    const bool in_place = sweep_.line_order() == LineOrder::zebra;
    FieldView<T> current = x, other = in_place ? x : scratch_.view();
    for (int s = 0; s < sweeps; ++s) {
      sweep_(ctx, direction, a, b, current, from.ghosts, other, from.guess, order);
      std::swap(current, other);
      from = {Guess::given, sweep_.ghosts_after(direction)};
    }
    if (current.data != x.data) copy<T, T>(ctx, current, x);
  }

  [[nodiscard]] SomeRows rows_read(SweepOrder order) const override { return sweep_.rows_read(direction, order); }
  [[nodiscard]] bool fills_halo(SweepOrder /*order*/) const override { return sweep_.fills_halo(direction); }
  [[nodiscard]] std::optional<typename Smoother<T>::Reach> reach(int sweeps) const override {
    return {{sweep_.rows_reached(sweeps), direction == Direction::y}};
  }
  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 3.0 + coefficient_words; }

 private:
  LineSweep<T> sweep_;
  Field<T> scratch_;
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
