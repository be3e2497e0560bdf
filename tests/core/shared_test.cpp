#include <stratum/core/shared.hpp>

#include <gtest/gtest.h>

#include <type_traits>

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/core/reentrancy_guard.hpp>

namespace {

using namespace stratum;

struct Part {
  explicit Part(int v) : value(v) {}
  virtual ~Part() = default;
  Part(const Part&) = default;
  Part& operator=(const Part&) = default;
  int value;
};
struct Mine final : Part {
  using Part::Part;
};
struct Known final : Part, Handle {
  using Part::Part;
};
struct Other {};

// What somebody else keeps does not compile; the rest does.
static_assert(!std::is_constructible_v<Shared<Part>, Mine&>);
static_assert(!std::is_constructible_v<Shared<Part>, const Mine&>);
static_assert(!std::is_constructible_v<Shared<const Part>, Mine&>);
static_assert(!std::is_constructible_v<Shared<Part>, Mine*>);
static_assert(!std::is_constructible_v<Shared<Part>, Other>);
static_assert(std::is_constructible_v<Shared<Part>, Mine>);
static_assert(std::is_constructible_v<Shared<Part>, Known&>);
static_assert(std::is_constructible_v<Shared<const Part>, const Known&>);
static_assert(std::is_constructible_v<Shared<Part>, std::shared_ptr<Mine>>);
static_assert(std::is_constructible_v<Shared<Part>, std::unique_ptr<Part>>);
static_assert(std::is_constructible_v<Shared<Part>, std::nullptr_t>);
static_assert(std::is_constructible_v<Shared<const LinearOperator<double>>, const GridOperator<double>&>);

TEST(SharedTest, KeepsWhatItIsMadeFromAlive) {
  Shared<Part> part = Mine(3);
  EXPECT_EQ(part->value, 3);
  auto pointer = std::make_shared<Mine>(4);
  part = pointer;
  pointer.reset();
  EXPECT_EQ(part->value, 4);
  part = std::make_unique<Known>(5);
  const Shared<Part> copy = part;
  part = nullptr;
  EXPECT_EQ(part.get(), nullptr);
  EXPECT_EQ(copy->value, 5);
}

TEST(InUseTest, OneHoldAtATime) {
  ReentrancyGuard guard;
  {
    const auto entered = guard.enter("thing");
    EXPECT_THROW((void)guard.enter("thing"), UsageError);
  }
  EXPECT_NO_THROW((void)guard.enter("thing"));
}

}  // namespace
