#include <stratum/core/device/recording.hpp>

#include <stdexcept>
#include <vector>

#include "support/backends.hpp"

namespace {

using namespace stratum;

template <class T>
class RecordingTest : public test::OnEverySetting<T> {
 protected:
  using Number = T;
  static constexpr GridLayout<2> shape{9, 5};

  Field<Number> filled(double value) {
    Field<Number> v(this->ctx(), shape);
    set(this->ctx(), static_cast<Number>(value), v.view());
    return v;
  }
  double value_of(const Field<Number>& v) { return norm_max(this->ctx(), v.cview()); }
};

// y = 2 x, again and again, over more pairs of buffers than are remembered; x changes between the runs.
TEST_ON_EVERY_SETTING(RecordingTest, EveryPairOfBuffersGetsItsOwnResult) {
  auto& ctx = this->ctx();
  Recording recording;
  std::vector<Field<T>> inputs, outputs;
  for (int k = 0; k < 7; ++k) {
    inputs.push_back(this->filled(0));
    outputs.push_back(this->filled(0));
  }
  const auto run = [&](std::size_t k) {
    recording.run(ctx, inputs[k].view().data, outputs[k].view().data,
                  [&] { copy_scaled<T, T>(ctx, 2, inputs[k].cview(), outputs[k].view()); });
  };
  for (const std::size_t pairs : {1U, 2U, 3U, 7U})
    for (int round = 1; round <= 4; ++round)
      for (std::size_t k = 0; k < pairs; ++k) {
        const double value = 10 * static_cast<double>(k) + round;
        set(ctx, static_cast<T>(value), inputs[k].view());
        run(k);
        EXPECT_EQ(this->value_of(outputs[k]), 2 * value) << pairs << " pairs, round " << round << ", pair " << k;
      }
}

TEST_ON_EVERY_SETTING(RecordingTest, WorkThatThrowsIsNotRemembered) {
  auto& ctx = this->ctx();
  Recording recording;
  Field<T> x = this->filled(3), y = this->filled(0);
  bool fails = false;
  const auto run = [&] {
    recording.run(ctx, x.view().data, y.view().data, [&] {
      copy_scaled<T, T>(ctx, 2, x.cview(), y.view());
      if (fails) throw std::runtime_error("no");
    });
  };
  run();
  fails = true;
  EXPECT_THROW(run(), std::runtime_error);
  fails = false;
  set(ctx, T(5), x.view());
  run();
  run();
  EXPECT_EQ(this->value_of(y), 10);
}

// After `clear` the work may be another one with the same buffers.
TEST_ON_EVERY_SETTING(RecordingTest, ForgetsWhenTold) {
  auto& ctx = this->ctx();
  Recording recording;
  Field<T> x = this->filled(3), y = this->filled(0);
  double factor = 2;
  const auto run = [&] {
    recording.run(ctx, x.view().data, y.view().data, [&] { copy_scaled<T, T>(ctx, factor, x.cview(), y.view()); });
  };
  for (int k = 0; k < 3; ++k) run();
  EXPECT_EQ(this->value_of(y), 6);
  factor = 4;
  recording.clear();
  for (int k = 0; k < 3; ++k) {
    run();
    EXPECT_EQ(this->value_of(y), 12);
  }
}

}  // namespace
