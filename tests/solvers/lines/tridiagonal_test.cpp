#include <stratum/solvers/lines/tridiagonal.hpp>

#include <array>
#include <barrier>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include <stratum/solvers/lines/algebra/cyclic_reduction.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

constexpr auto every_method = {TridiagonalMethod::segments, TridiagonalMethod::cyclic_reduction,
                               TridiagonalMethod::cyclic_reduction_in_place};
constexpr auto both_directions = {Direction::x, Direction::y};

/// Diagonally dominant systems with coefficients of both signs on the lines of a grid; what couples to no unknown is not zero.
struct Lines {
  Direction direction;
  int nx, ny;
  Values lower, centre, upper, b;

  Lines(test::Random& random, Direction d, int length, int count)
      : direction(d), nx(d == Direction::x ? length : count), ny(d == Direction::x ? count : length) {
    const std::size_t nodes = static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny);
    lower = random.values(nodes), upper = random.values(nodes), b = random.values(nodes);
    centre = random.values(nodes, 0.1, 1);
    for (std::size_t k = 0; k < nodes; ++k) {
      centre[k] += std::abs(lower[k]) + std::abs(upper[k]);
      if (random.uniform(0, 1) < 0.3) centre[k] = -centre[k];
    }
  }

  /// Elimination from the first unknown to the last, in double.
  [[nodiscard]] Values solution() const {
    const int length = direction == Direction::x ? nx : ny, count = direction == Direction::x ? ny : nx;
    Values x = b, d = centre;
    for (int line = 0; line < count; ++line) {
      const auto at = [&](int i) {
        return static_cast<std::size_t>(direction == Direction::x ? line * nx + i : i * nx + line);
      };
      for (int i = 1; i < length; ++i) {
        const double m = lower[at(i)] / d[at(i - 1)];
        d[at(i)] -= m * upper[at(i - 1)];
        x[at(i)] -= m * x[at(i - 1)];
      }
      x[at(length - 1)] /= d[at(length - 1)];
      for (int i = length - 2; i >= 0; --i) x[at(i)] = (x[at(i)] - upper[at(i)] * x[at(i + 1)]) / d[at(i)];
    }
    return x;
  }
};

/// Lines in the memory of a backend.
template <class T>
struct OnDevice {
  Field<T> lower, centre, upper, b;

  OnDevice(Context& ctx, const Lines& lines)
      : lower(test::to_device<T>(ctx, test::unknowns(lines.nx, lines.ny), lines.lower)),
        centre(test::to_device<T>(ctx, test::unknowns(lines.nx, lines.ny), lines.centre)),
        upper(test::to_device<T>(ctx, test::unknowns(lines.nx, lines.ny), lines.upper)),
        b(test::to_device<T>(ctx, test::unknowns(lines.nx, lines.ny), lines.b)) {}
  [[nodiscard]] TridiagonalView<T> view() const { return {lower.view(), centre.view(), upper.view()}; }
};

template <class T>
class TridiagonalTest : public test::OnEverySetting<T> {
 protected:
  void solves(TridiagonalMethod method, Direction direction, int length, int count) {
    SCOPED_TRACE(testing::Message() << to_string(method) << " along " << (direction == Direction::x ? "x, " : "y, ")
                                    << count << " lines of " << length);
    test::Random random(static_cast<std::uint32_t>(151 + length));
    const Lines lines(random, direction, length, count);
    const OnDevice<T> a(this->ctx(), lines);
    Field<T> x(this->ctx(), a.b.shape());
    set(this->ctx(), T(std::nan("")), x.view());
    TridiagonalSolver<T> solver(this->ctx(), x.shape(), direction, method);
    solver.solve(this->ctx(), a.view(), a.b.cview(), x.view());
    EXPECT_LT(reference::relative_difference(test::to_host(this->ctx(), x), lines.solution()), test::tolerance<T>);
    EXPECT_TRUE(test::halo_is_zero(this->ctx(), x));
  }
};

TEST_ON_EVERY_SETTING(TridiagonalTest, AgreesWithElimination) {
  for (const auto method : every_method)
    for (const auto direction : both_directions) {
      for (const int length : {1, 2, 3, 4, 5, 31, 32, 33, 64, 100, 127, 1023, 1024, 1025})
        this->solves(method, direction, length, 5);
      this->solves(method, direction, 37, 1);
      this->solves(method, direction, 129, 260);
    }
}

TEST_ON_EVERY_SETTING(TridiagonalTest, SolvesLongLines) {
  for (const auto direction : both_directions) {
    for (const int length : {8191, 32769, 36865}) this->solves(TridiagonalMethod::segments, direction, length, 3);
    for (const int length : {2047, 4500}) {
      this->solves(TridiagonalMethod::cyclic_reduction, direction, length, 3);
      this->solves(TridiagonalMethod::cyclic_reduction_in_place, direction, length, 3);
    }
  }
}

TEST_ON_EVERY_SETTING(TridiagonalTest, SolvesInPlaceAndRepeatsBits) {
  for (const auto method : every_method)
    for (const auto direction : both_directions) {
      test::Random random(152);
      const Lines lines(random, direction, 301, 70);
      OnDevice<T> a(this->ctx(), lines);
      Field<T> x(this->ctx(), a.b.shape());
      TridiagonalSolver<T> solver(this->ctx(), x.shape(), direction, method);
      solver.solve(this->ctx(), a.view(), a.b.cview(), x.view());
      const auto allocations = this->ctx().memory()->allocations.load();
      solver.solve(this->ctx(), a.view(), a.b.cview(), a.b.view());
      EXPECT_EQ(this->ctx().memory()->allocations.load(), allocations);
      EXPECT_EQ(test::to_host(this->ctx(), a.b), test::to_host(this->ctx(), x)) << to_string(method);
    }
}

TEST_ON_EVERY_SETTING(TridiagonalTest, RefusesBadInput) {
  using testing::HasSubstr;
  using testing::ThrowsMessage;
  Context& ctx = this->ctx();
  test::Random random(153);
  OnDevice<T> a(ctx, Lines(random, Direction::x, 20, 4));
  Field<T> x(ctx, a.b.shape()), turned(ctx, test::unknowns(4, 20));
  TridiagonalSolver<T> solver(ctx, x.shape(), Direction::x);
  const auto refuses = [&](const auto& solve, const char* why) {
    EXPECT_THAT(solve, ThrowsMessage<UsageError>(HasSubstr(why)));
  };
  refuses([&] { solver.solve(ctx, a.view(), a.b.cview(), turned.view()); }, "x must be 20 x 4, not 4 x 20");
  refuses([&] { solver.solve(ctx, a.view(), turned.cview(), x.view()); }, "b must be 20 x 4, not 4 x 20");
  for (auto band : {&TridiagonalView<T>::lower, &TridiagonalView<T>::centre, &TridiagonalView<T>::upper}) {
    auto wrong = a.view();
    wrong.*band = turned.cview();
    refuses([&] { solver.solve(ctx, wrong, a.b.cview(), x.view()); }, " must be 20 x 4, not 4 x 20");
  }
  auto wide = a.view();
  wide.upper.pitch += 16;
  refuses([&] { solver.solve(ctx, wide, a.b.cview(), x.view()); }, "one pitch, not ");
  refuses([&] { TridiagonalSolver<T>(ctx, GridLayout<2>{-1, 3}, Direction::x); }, "-1 x 3");
  if (ctx.on_gpu()) {
    for (const auto method : {TridiagonalMethod::cyclic_reduction, TridiagonalMethod::cyclic_reduction_in_place})
      refuses([&] { TridiagonalSolver<T>(ctx, test::unknowns(20000, 3), Direction::x, method); }, "not 20000");
  } else {
    Context more(Backend::cpu, test::cpu_threads + 1);
    refuses([&] { solver.solve(more, a.view(), a.b.cview(), x.view()); }, "made for 2 threads, not 3");
  }
}

TEST_ON_EVERY_SETTING(TridiagonalTest, LeavesNoLinesAlone) {
  for (const auto method : every_method) {
    const GridLayout<2> shape = test::unknowns(5, 0);
    Field<T> v(this->ctx(), shape);
    TridiagonalSolver<T> solver(this->ctx(), shape, Direction::x, method);
    EXPECT_NO_THROW(solver.solve(this->ctx(), {v.cview(), v.cview(), v.cview()}, v.cview(), v.view()));
  }
}

// --- the layouts of cyclic reduction ------------------------------------------------------------------------------------

const std::vector<int> lengths{1,   2,   3,    5,    31,   32,   33,   63,   64,   65,
                               100, 127, 1000, 1023, 1024, 1025, 4096, 8191, 8192, 9001};

/// Members of a team that really run side by side, as the threads of a block do.
struct Crew {
  int rank, size;
  std::barrier<>* meeting;
  void sync() const { meeting->arrive_and_wait(); }
};

template <class Layout>
class CyclicLayoutTest : public testing::Test {};
using Layouts = testing::Types<cyclic::EvenOdd<float>, cyclic::EvenOdd<double>, cyclic::InPlace<double>>;
TYPED_TEST_SUITE(CyclicLayoutTest, Layouts);

TYPED_TEST(CyclicLayoutTest, EquationsAndSolutionsOfALevelAreApart) {
  for (const int n : lengths) {
    const TypeParam layout(n);
    ASSERT_EQ(layout.count(layout.levels - 1), 1);
    for (int k = 0; k < layout.levels; ++k) {
      std::set<int> equations, solutions;
      for (int alpha = 0; alpha < layout.count(k); ++alpha) {
        equations.insert(layout.equation(k, alpha));
        solutions.insert(layout.solution(k, alpha));
      }
      // What a level leaves for the way back: its even equations, those of finer levels, and its solution.
      for (int finer = 0; finer < k; ++finer)
        for (int alpha = 0; alpha < layout.count(finer); alpha += 2) {
          EXPECT_FALSE(equations.contains(layout.equation(finer, alpha))) << n << ": " << k << " over " << finer;
          EXPECT_FALSE(solutions.contains(layout.equation(finer, alpha))) << n << ": " << k << " over " << finer;
        }
      ASSERT_EQ(static_cast<int>(equations.size()), layout.count(k));
      ASSERT_EQ(static_cast<int>(solutions.size()), layout.count(k));
      EXPECT_GE(std::min(*equations.begin(), *solutions.begin()), 0);
      EXPECT_LT(std::max(*equations.rbegin(), *solutions.rbegin()), layout.slots());
    }
  }
}

TYPED_TEST(CyclicLayoutTest, ATeamSolvesAsOneDoes) {
  using T = std::conditional_t<std::is_same_v<TypeParam, cyclic::EvenOdd<float>>, float, double>;
  test::Random random(154);
  for (const int n : {1, 2, 3, 5, 31, 33, 100, 127, 128}) {
    const TypeParam layout(n);
    const Lines lines(random, Direction::x, n, 1);
    const auto solve = [&](int size) {
      std::vector<cyclic::Pair<T>> memory(2 * static_cast<std::size_t>(layout.slots()) + 2);
      const cyclic::System<T> system(&memory[0].even, layout.slots());
      for (int i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        system.put(layout.equation(0, i), {static_cast<T>(lines.lower[at]), static_cast<T>(lines.centre[at]),
                                           static_cast<T>(lines.upper[at]), static_cast<T>(lines.b[at])});
      }
      std::barrier<> meeting(size);
      std::vector<std::jthread> crew;
      crew.reserve(static_cast<std::size_t>(size));
      for (int rank = 0; rank < size; ++rank)
        crew.emplace_back([&, rank] { cyclic::solve(layout, system, Crew{rank, size, &meeting}); });
      crew.clear();
      Values x;
      for (int i = 0; i < n; ++i) x.push_back(system.v[layout.solution(0, i)]);
      return x;
    };
    const Values alone = solve(1);
    EXPECT_LT(reference::relative_difference(alone, lines.solution()), test::tolerance<T>) << n;
    for (const int size : {3, 8, 16}) EXPECT_EQ(solve(size), alone) << n << " by " << size;
  }
}

TEST(CyclicReduction, TakesHalfAsMuchAgainAndSomePadding) {
  for (const int n : lengths) {
    EXPECT_EQ(cyclic::InPlace<float>(n).slots(), n);
    // At most 128 bytes a level: runs begin on the other half of the banks than the one before.
    const cyclic::EvenOdd<float> layout(n);
    EXPECT_LE(layout.slots(), n + n / 2 + 32 * layout.levels) << n;
  }
}

/// The most often that one access of a warp meets the same bank: accesses of `words` numbers of type T, 128 bytes at a time.
template <class T, class Slot>
int worst_bank(int lanes, int words, const Slot& slot) {
  const int bytes = words * static_cast<int>(sizeof(T)), at_a_time = 128 / bytes;
  int worst = 0;
  for (int first = 0; first < lanes; first += at_a_time) {
    std::array<std::set<int>, 32> met;  // addresses, in units of 4 bytes
    for (int lane = first; lane < std::min(lanes, first + at_a_time); ++lane)
      for (int w = 0; w < bytes / 4; ++w) {
        const int address = slot(lane) * static_cast<int>(sizeof(T)) / 4 + w;
        met[static_cast<std::size_t>(address % 32)].insert(address);
      }
    for (const auto& addresses : met) worst = std::max(worst, static_cast<int>(addresses.size()));
  }
  return worst;
}

/// The worst of all accesses to shared memory that a warp makes in cyclic::solve, in loading level 0 and in storing the result.
template <class Layout, class T>
int worst_access(int n) {
  const Layout layout(n);
  int worst = 0;
  const auto look = [&](int first, int count, int words, const auto& slot) {
    const int lanes = std::min(32, count - first);
    if (lanes > 0) worst = std::max(worst, worst_bank<T>(lanes, words, [&](int lane) { return slot(first + lane); }));
  };
  for (int first = 0; first < n; first += 32) {
    look(first, n, 1, [&](int i) { return layout.equation(0, i); });
    look(first, n, 1, [&](int i) { return layout.solution(0, i); });
  }
  for (int k = 0; k < layout.levels; ++k) {
    const int odd = layout.count(k + 1), even = layout.count(k) - odd;
    for (int first = 0; first < even; first += 32) {
      look(first, odd, 1, [&](int o) { return layout.equation(k, 2 * o); });
      look(first, odd, 1, [&](int o) { return layout.equation(k, 2 * o + 1); });
      look(first, even - 1, 1, [&](int o) { return layout.equation(k, 2 * o + 2); });
      look(first, odd, 1, [&](int o) { return layout.equation(k + 1, o); });
      look(first, even, 1, [&](int e) { return layout.equation(k, 2 * e); });
      look(std::max(first, 1), even, 1, [&](int e) { return layout.solution(k + 1, e - 1); });
      look(first, odd, 1, [&](int e) { return layout.solution(k + 1, e); });
      look(first, even, Layout::in_place || k == 0 ? 1 : 2, [&](int e) { return layout.solution(k, 2 * e); });
    }
  }
  return worst;
}

TEST(CyclicReduction, EvenAndOddApartMeetNoBankTwice) {
  for (const int n : lengths) {
    EXPECT_EQ((worst_access<cyclic::EvenOdd<float>, float>(n)), 1) << n;
    EXPECT_EQ((worst_access<cyclic::EvenOdd<double>, double>(n)), 1) << n;
  }
}

TEST(CyclicReduction, InPlaceMeetsOneBankWithAWholeWarp) {
  EXPECT_EQ((worst_access<cyclic::InPlace<float>, float>(1024)), 32);
  EXPECT_EQ((worst_access<cyclic::InPlace<double>, double>(1024)), 16);  // half a warp at a time
}

}  // namespace
