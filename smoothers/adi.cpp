// Alternating direction line relaxation (ADI-TRIDI): x lines, then y lines. One application counts as two sweeps.
// Robust for cells stretched either way, to any aspect ratio. Source: Goeddeke, Strzodka 2011, Section 3.5.
//
// Backward order runs y lines, then x lines, each with its colours reversed.

#include <stratum/core/field/blas.hpp>
#include <stratum/smoothers/line_sweep.hpp>

namespace stratum {

void register_adi(SmootherRegistry& registry);

namespace {

template <class T>
class Adi final : public Smoother<T> {
 public:
  Adi(Context& ctx, const GridLayout<2>& shape, const SmootherParams& params)
      : Smoother<T>(shape), sweep_(ctx, shape, params, true) {
    if (params.line_order == LineOrder::simultaneous) scratch_ = Field<T>(ctx, shape);
  }

  void set_up(Context& ctx, const GridOperator<T>& a) override {
    this->expects_shape(a);
    sweep_.set_up(ctx, a);
  }
  void smooth(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<T> x, int sweeps, Guess guess,
              SweepOrder order, Ghosts ghosts_of_x) override {
    const auto hold = this->begin(ctx, a, b, x);
    expects(sweeps % 2 == 0, "adi counts an application as two sweeps; sweeps must be even, not ", sweeps);
    if (sweeps == 0 && guess == Guess::zero) set(ctx, T(0), x);
    auto from = sweep_.start(ctx, x, {guess, ghosts_of_x});
    const auto [first, second] =
        order == SweepOrder::forward ? std::pair(Direction::x, Direction::y) : std::pair(Direction::y, Direction::x);
    // Simultaneous sweeps go to the scratch vector and come back.
    const FieldView<T> between = sweep_.line_order() == LineOrder::zebra ? x : scratch_.view();
    for (int s = 0; s < sweeps; s += 2) {
      sweep_(ctx, first, a, b, x, from.ghosts, between, from.guess, order);
      sweep_(ctx, second, a, b, between, sweep_.ghosts_after(first), x, Guess::given, order);
      from = {Guess::given, sweep_.ghosts_after(second)};
    }
  }

  [[nodiscard]] SomeRows rows_read(SweepOrder order) const override {
    return sweep_.rows_read(order == SweepOrder::forward ? Direction::x : Direction::y, order);
  }
  [[nodiscard]] bool fills_halo(SweepOrder order) const override {
    return sweep_.fills_halo(order == SweepOrder::forward ? Direction::y : Direction::x);
  }
  [[nodiscard]] std::optional<typename Smoother<T>::Reach> reach(int sweeps) const override {
    return {{sweep_.rows_reached(sweeps), true}};
  }
  [[nodiscard]] int sweeps_per_application() const override { return 2; }
  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 3.0 + coefficient_words; }

 private:
  LineSweep<T> sweep_;
  Field<T> scratch_;
};

}  // namespace

void register_adi(SmootherRegistry& registry) {
  registry.add<Adi>("adi", "alternating line relaxation, x then y, for cells stretched either way");
}

}  // namespace stratum
