#include <stratum/core/vector.hpp>

#include <cstdint>
#include <type_traits>

#include "support/backends.hpp"

namespace {

using namespace stratum;

static_assert(!std::is_copy_constructible_v<Vector<double>>, "copies of vectors are explicit");
static_assert(std::is_nothrow_move_constructible_v<Vector<double>>);
static_assert(std::is_trivially_copyable_v<GridView<double>>);
static_assert(std::is_convertible_v<GridView<double>, GridView<const double>>);
static_assert(!std::is_convertible_v<GridView<const double>, GridView<double>>);

template <class S>
class VectorTest : public test::OnEverySetting<S> {};
TYPED_TEST_SUITE(VectorTest, test::EverySetting);

TYPED_TEST(VectorTest, IsZeroWhenMadeWithHaloAndPadding) {
  using T = typename TypeParam::Number;
  for (const auto& [nx, ny] : test::small_shapes) {
    const Vector<T> v(this->ctx(), test::unknowns(nx, ny));
    EXPECT_TRUE(test::halo_is_zero(this->ctx(), v));
    for (const double x : test::to_host(this->ctx(), v)) EXPECT_EQ(x, 0);
  }
}

TYPED_TEST(VectorTest, CopiesFromAndToHostWithoutTouchingTheHalo) {
  using T = typename TypeParam::Number;
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

TYPED_TEST(VectorTest, RowsAreAlignedAndHoldTheHalo) {
  using T = typename TypeParam::Number;
  for (const int nx : {1, 14, 15, 16, 31, 511, 512, 1023}) {
    const Vector<T> v(this->ctx(), test::unknowns(nx, 3));
    EXPECT_GT(v.cview().pitch, nx);
    // Column -1 of each row starts on a cache line.
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.cview().data - 1) % 64, 0U) << nx;
    EXPECT_EQ(v.cview().pitch * static_cast<std::int64_t>(sizeof(T)) % 64, 0) << nx;
    EXPECT_LE(v.cview().pitch * 5 * static_cast<std::int64_t>(sizeof(T)),
              vector_bytes<T>(TypeParam::backend, v.shape()));
  }
}

TYPED_TEST(VectorTest, CountsItsMemory) {
  using T = typename TypeParam::Number;
  auto& memory = *this->ctx().memory();
  const auto allocations = memory.allocations.load();
  const auto bytes = memory.bytes.load();
  {
    const Vector<T> v(this->ctx(), test::unknowns(100, 50));
    EXPECT_EQ(memory.allocations, allocations + 1);
    EXPECT_EQ(memory.bytes, bytes + vector_bytes<T>(TypeParam::backend, v.shape()));
  }
  EXPECT_EQ(memory.bytes, bytes);
  EXPECT_GE(memory.peak_bytes, vector_bytes<T>(TypeParam::backend, test::unknowns(100, 50)));
}

TYPED_TEST(VectorTest, MovesWithoutCopying) {
  using T = typename TypeParam::Number;
  Vector<T> v(this->ctx(), 5);
  const T* data = v.cview().data;
  const Vector<T> w = std::move(v);
  EXPECT_EQ(w.cview().data, data);
  EXPECT_EQ(w.shape().nx, 5);
  EXPECT_EQ(w.shape().ny, 1);
}

TYPED_TEST(VectorTest, EmptyAndFlatVectorsExist) {
  using T = typename TypeParam::Number;
  EXPECT_TRUE(Vector<T>().empty());
  EXPECT_FALSE(Vector<T>(this->ctx(), 1).empty());
}

TEST(VectorErrors, NegativeShapesAreRefused) {
  Context ctx;
  EXPECT_THROW(Vector<double>(ctx, GridShape{-1, 2}), UsageError);
  EXPECT_THROW(Vector<double>(ctx, GridShape{2, -1}), UsageError);
}

TEST(VectorErrors, WhatDoesNotFitSaysSo) {
  Context ctx;
  try {
    const Vector<double> v(ctx, GridShape{1 << 26, 1 << 24});
    FAIL() << "8 PiB were allocated";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("GiB"), std::string::npos) << error.what();
  }
}

TEST(Pitch, PowersOfTwoArePaddedOnTheCpu) {
  for (int nx = 1; nx < 5000; ++nx) {
    EXPECT_GT(row_pitch(Backend::cpu, nx), nx);
    EXPECT_EQ(row_pitch(Backend::cpu, nx) % 16, 0);
    EXPECT_NE(row_pitch(Backend::cpu, nx) % 512, 0);
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
