// Kernels of lines along y in which clusters of blocks wait for each other (solvers/lines/cuda/dispatch.hpp names them), on two
// streams of a GPU at once: neither has the device to itself, so that its clusters do not all run at the same time.

#include <barrier>
#include <thread>

#include <stratum/core/field/blas.hpp>
#include <stratum/smoothers/smoother.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class T>
class LinesOfOneStream {
 public:
  LinesOfOneStream(int nx, int ny, StorageFormat format) : a_(made(nx, ny, format)) {
    SmootherParams params;
    params.format = format;
    smoother_ = builtin_smoothers().make<T>(ctx_, "line_y", a_.shape(), params);
    b_ = test::random_vector<T>(ctx_, random_, a_.shape());
    start_ = test::random_vector<T>(ctx_, random_, a_.shape());
    x_ = Field<T>(ctx_, a_.shape());
  }
  /// Both orders of the colours, one kernel after the other.
  [[nodiscard]] Values smoothed(int times) {
    copy<T, T>(ctx_, start_.cview(), x_.view());
    for (int n = 0; n < times; ++n)
      smoother_->smooth(ctx_, a_, b_.cview(), x_.view(), 2, n == 0 ? Guess::zero : Guess::given,
                        n % 2 == 0 ? SweepOrder::forward : SweepOrder::backward);
    return test::to_host(ctx_, x_);
  }

 private:
  [[nodiscard]] GridOperator<T> made(int nx, int ny, StorageFormat format) {
    auto operators = test::random_operator<T>(ctx_, random_, nx, ny, format, false, false, true);
    return std::move(operators.a);
  }

  Context ctx_{Backend::cuda};
  test::Random random_{3};
  GridOperator<T> a_;
  std::unique_ptr<Smoother<T>> smoother_;
  Field<T> b_, start_, x_;
};

template <class T>
void expect_the_same_beside_another_stream(int nx, int ny, StorageFormat format) {
  SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format) << ", " << sizeof(T) << " bytes");
  constexpr int times = 25;
  LinesOfOneStream<T> one(nx, ny, format), other(nx, ny, format);
  const Values expected = one.smoothed(times);
  for (int round = 0; round < 5; ++round) {
    Values found[2];
    std::barrier both(2);
    const auto run = [&](LinesOfOneStream<T>& lines, Values& x) {
      both.arrive_and_wait();
      x = lines.smoothed(times);
    };
    std::thread beside([&] { run(other, found[1]); });
    run(one, found[0]);
    beside.join();
    EXPECT_EQ(found[0], expected);
    EXPECT_EQ(found[1], expected);
  }
}

TEST(ConcurrentLines, TwoStreamsGiveWhatOneGives) {
  if (!test::available(Backend::cuda)) GTEST_SKIP() << test::not_available();
  // A tile for each cluster.
  expect_the_same_beside_another_stream<float>(1023, 1023, StorageFormat::tensor);
  expect_the_same_beside_another_stream<double>(1023, 1023, StorageFormat::tensor);
  expect_the_same_beside_another_stream<float>(1023, 1023, StorageFormat::cell);
  expect_the_same_beside_another_stream<float>(1023, 1023, StorageFormat::symmetric);
  expect_the_same_beside_another_stream<double>(1023, 1023, StorageFormat::nine_band);
  // Several tiles for each: persistent_columns.
  expect_the_same_beside_another_stream<float>(2100, 2047, StorageFormat::tensor);
}

}  // namespace
