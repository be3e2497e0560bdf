#include <stratum/core/field/field.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/backends.hpp"

namespace {

using namespace stratum;

static_assert(!std::is_copy_constructible_v<Field<double>>, "copies of vectors are explicit");
static_assert(std::is_nothrow_move_constructible_v<Field<double>>);
static_assert(std::is_trivially_copyable_v<FieldView<double>>);
static_assert(std::is_convertible_v<FieldView<double>, FieldView<const double>>);
static_assert(!std::is_convertible_v<FieldView<const double>, FieldView<double>>);

template <class T>
class FieldTest : public test::OnEverySetting<T> {};

TEST_ON_EVERY_SETTING(FieldTest, IsZeroWhenMadeWithHaloAndPadding) {
  for (const auto& [nx, ny] : test::small_shapes) {
    const Field<T> v(this->ctx(), test::unknowns(nx, ny));
    EXPECT_TRUE(test::halo_is_zero(this->ctx(), v));
    for (const double x : test::to_host(this->ctx(), v)) EXPECT_EQ(x, 0);
  }
}

TEST_ON_EVERY_SETTING(FieldTest, CopiesFromAndToHostWithoutTouchingTheHalo) {
  test::Random random(1);
  for (const auto& [nx, ny] : test::small_shapes) {
    const auto shape = test::unknowns(nx, ny);
    test::Values values = random.values(static_cast<std::size_t>(shape.nodes()));
    for (double& x : values) x = static_cast<double>(static_cast<T>(x));
    const auto v = test::to_device<T>(this->ctx(), shape, values);
    EXPECT_EQ(test::to_host(this->ctx(), v), values);
    EXPECT_TRUE(test::halo_is_zero(this->ctx(), v));
  }
}

TEST_ON_EVERY_SETTING(FieldTest, RowsAreAlignedAndHoldTheHalo) {
  for (const int nx : {1, 14, 15, 16, 31, 511, 512, 1023}) {
    const Field<T> v(this->ctx(), test::unknowns(nx, 3));
    EXPECT_GT(v.cview().pitch, nx);
    // Column -1 of each row starts on a cache line.
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.cview().data - 1) % 64, 0U) << nx;
    EXPECT_EQ(v.cview().pitch * static_cast<std::int64_t>(sizeof(T)) % 64, 0) << nx;
    EXPECT_LE(v.cview().pitch * 5 * static_cast<std::int64_t>(sizeof(T)), field_bytes<T>(this->backend(), v.shape()));
  }
}

TEST_ON_EVERY_SETTING(FieldTest, CountsItsMemory) {
  auto& memory = *this->ctx().memory();
  const auto allocations = memory.allocations.load();
  const auto bytes = memory.bytes.load();
  {
    const Field<T> v(this->ctx(), test::unknowns(100, 50));
    EXPECT_EQ(memory.allocations, allocations + 1);
    EXPECT_EQ(memory.bytes, bytes + field_bytes<T>(this->backend(), v.shape()));
  }
  EXPECT_EQ(memory.bytes, bytes);
  EXPECT_GE(memory.peak_bytes, field_bytes<T>(this->backend(), test::unknowns(100, 50)));
}

TEST_ON_EVERY_SETTING(FieldTest, MovesWithoutCopying) {
  Field<T> v(this->ctx(), 5);
  const T* data = v.cview().data;
  const Field<T> w = std::move(v);
  EXPECT_EQ(w.cview().data, data);
  EXPECT_EQ(w.shape().nx, 5);
  EXPECT_EQ(w.shape().ny, 1);
}

TEST_ON_EVERY_SETTING(FieldTest, EmptyAndFlatVectorsExist) {
  EXPECT_TRUE(Field<T>().empty());
  EXPECT_FALSE(Field<T>(this->ctx(), 1).empty());
}

TEST_ON_EVERY_SETTING(FieldTest, AFlatVectorTakesLittleMoreThanItsNumbers) {
  auto& ctx = this->ctx();
  const auto before = ctx.memory()->bytes.load();
  Field<T> v(ctx, 100000);
  EXPECT_LT(static_cast<double>(ctx.memory()->bytes - before), 1.01 * 100000 * sizeof(T));
  EXPECT_EQ(v.shape().halo_rows(), 0);
  EXPECT_EQ(test::unknowns(100, 1).halo_rows(), 1);
  set(ctx, T(3), v.view());
  EXPECT_TRUE(test::halo_is_zero(ctx, v));
  EXPECT_TRUE(stratum::halo_is_zero(ctx, v));
}

// Memory of the caller's: here another Field's.
TEST_ON_EVERY_SETTING(FieldTest, BorrowsMemoryWithoutAllocatingOrCopying) {
  auto& ctx = this->ctx();
  const GridLayout<2> shape = test::unknowns(17, 5);
  const FieldStorage layout(this->backend(), shape);
  Field<T> memory(ctx, static_cast<int>(layout.size) + 32);
  T* start = memory.view().data - 1;  // on a multiple of 64 bytes
  const auto before = ctx.memory()->allocations.load();
  auto v = Field<T>::borrow(ctx, start + layout.first, shape, layout.pitch);
  EXPECT_EQ(ctx.memory()->allocations, before);
  EXPECT_EQ(v.view().data, start + layout.first);
  EXPECT_EQ(v.shape(), shape);
  EXPECT_TRUE(test::halo_is_zero(ctx, v));
  EXPECT_TRUE(stratum::halo_is_zero(ctx, v));
  set(ctx, T(3), v.view());
  EXPECT_TRUE(stratum::halo_is_zero(ctx, v));
  std::vector<T> numbers(static_cast<std::size_t>(memory.shape().nx));
  copy_to_host(ctx, memory.cview(), numbers.data());
  EXPECT_EQ(std::count(numbers.begin(), numbers.end(), T(3)), 17 * 5);
  EXPECT_EQ(numbers[static_cast<std::size_t>(layout.first - 1)], T(3));
  for (const auto& [i, j] : {std::pair{-1, -1}, {17, 5}, {3, -1}, {3, 5}, {-1, 2}, {17, 2}}) {
    FieldView<T> one = v.view();
    one.data = &one(i, j);
    one.nx = one.ny = 1;
    set(ctx, std::numeric_limits<T>::quiet_NaN(), one);
    EXPECT_FALSE(stratum::halo_is_zero(ctx, v)) << i << ", " << j;
    set(ctx, T(0), one);
  }
}

TEST_ON_EVERY_SETTING(FieldTest, RefusesToBorrowWhatKernelsCannotUse) {
  auto& ctx = this->ctx();
  Field<T> v(ctx, test::unknowns(20, 5));
  T* node = v.view().data;
  const std::int64_t pitch = v.view().pitch;
  EXPECT_NO_THROW((void)Field<T>::borrow(ctx, node, test::unknowns(20, 5), pitch));
  EXPECT_THROW((void)Field<T>::borrow(ctx, nullptr, test::unknowns(20, 5), pitch), UsageError);
  EXPECT_THROW((void)Field<T>::borrow(ctx, node + 1, test::unknowns(20, 5), pitch), UsageError) << "alignment";
  EXPECT_THROW((void)Field<T>::borrow(ctx, node, test::unknowns(20, 5), pitch + 1), UsageError) << "pitch";
  EXPECT_THROW((void)Field<T>::borrow(ctx, node, test::unknowns(32, 5), 32), UsageError) << "no room for the halo";
  EXPECT_THROW((void)Field<T>::borrow(ctx, node, test::unknowns(0, 5), pitch), UsageError);
  if (this->backend() == Backend::cuda) {
    alignas(64) static T host[1024];
    EXPECT_THROW((void)Field<T>::borrow(ctx, host + 161, test::unknowns(3, 3), 16), UsageError) << "host memory";
  }
}

TEST(ContextOnAStream, NeedsTheCudaBackend) {
  if (cuda_available()) GTEST_SKIP() << "there is one";
  EXPECT_THROW((void)Context::on_stream(nullptr), ResourceError);
}

// In the order of the caller's stream, without one of its own.
TEST(ContextOnAStream, RunsOnTheStreamThatItWasGiven) {
  if (!cuda_available()) GTEST_SKIP() << test::not_available();
  const Context owner(Backend::cuda);
  for (void* stream : {owner.stream(), static_cast<void*>(nullptr)}) {
    Context ctx = Context::on_stream(stream);
    EXPECT_EQ(ctx.stream(), stream);
    EXPECT_TRUE(ctx.on_gpu());
    auto x = test::to_device<double>(ctx, test::unknowns(9, 7), test::Values(63, 2.0));
    EXPECT_EQ(norm2(ctx, x.cview()), std::sqrt(4.0 * 63));
  }
}

TEST(VectorErrors, NegativeShapesAreRefused) {
  Context ctx;
  EXPECT_THROW(Field<double>(ctx, GridLayout<2>{-1, 2}), UsageError);
  EXPECT_THROW(Field<double>(ctx, GridLayout<2>{2, -1}), UsageError);
}

TEST(VectorErrors, WhatDoesNotFitSaysSo) {
  Context ctx;
  try {
    const Field<double> v(ctx, GridLayout<2>{1 << 26, 1 << 24});
    FAIL() << "8 PiB were allocated";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("GiB"), std::string::npos) << error.what();
  }
}

TEST(Pitch, PowersOfTwoArePaddedOnTheCpu) {
  for (int nx = 1; nx < 5000; ++nx) {
    EXPECT_GT(row_pitch(Backend::cpu, {nx}), nx);
    EXPECT_EQ(row_pitch(Backend::cpu, {nx}) % 16, 0);
    EXPECT_NE(row_pitch(Backend::cpu, {nx}) % 512, 0);
  }
}

TEST(ContextTest, RefusesNegativeThreads) {
  EXPECT_THROW(Context(Backend::cpu, -1), UsageError);
  EXPECT_EQ(Context(Backend::cpu, 3).threads(), 3);
  EXPECT_GE(Context(Backend::cpu).threads(), 1);
}

TEST(ContextTest, DescribesItself) {
  EXPECT_EQ(Context(Backend::cpu, 1).description(), "cpu, 1 thread");
  EXPECT_EQ(Context(Backend::cpu, 2).description(), "cpu, 2 threads");
  EXPECT_GT(available_memory(Context()), 0);
}

TEST(ContextTest, CudaWithoutADeviceIsAResourceError) {
  if (cuda_available()) GTEST_SKIP() << "there is a device";
  EXPECT_THROW(Context(Backend::cuda), ResourceError);
}

}  // namespace
