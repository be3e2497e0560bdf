// Line solves are compiled for registers of several widths, of which a machine uses the widest that it has. Each must give
// what the narrowest gives, up to rounding: a new machine then tests what older ones run.

#include <algorithm>
#include <cmath>
#include <vector>

#include <stratum/solvers/lines/cpu/thomas.hpp>

#include "support/backends.hpp"
#include "support/registers.hpp"

namespace {

using namespace stratum;
using line::LineScratch;
using test::Values;

template <class T>
class RegistersTest : public testing::Test {
 protected:
  static constexpr int w = line::batch_width<T>, nx = 2 * w + 9, ny = 2 * w + 3;

  /// solve(x, scratch, run) hands its functor to `run`, once for each kind of registers.
  template <class Solve>
  void expect_the_same_from_all(const Solve& solve) {
    const Values start = random_.values(std::size_t{nx} * ny);
    std::vector<Values> results;
    const auto with = [&](auto run) {
      Field<T> x = test::to_device<T>(ctx_, {nx, ny}, start);
      const auto size = LineScratch<T>::size({nx, ny}, 1, StorageFormat::tensor);
      Field<T> memory(ctx_, {static_cast<int>(size), 1});
      solve(x.view(), LineScratch<T>(&memory.view()(-1, 0), std::max(nx, ny), size), run);
      results.push_back(test::to_host(ctx_, x));
    };
    test::with_all_registers(with);
    const double largest = std::abs(*std::ranges::max_element(results[0], {}, [](double v) { return std::abs(v); }));
    std::size_t at = 0;
    ASSERT_GT(std::ranges::count_if(results[0], [&](double v) { return v != static_cast<T>(start[at++]); }), nx);
    for (const Values& result : results)
      for (std::size_t k = 0; k < result.size(); ++k)
        ASSERT_NEAR(result[k], results[0][k], test::tolerance<T> * largest) << "at " << k % nx << ", " << k / nx;
  }

  Context ctx_{Backend::cpu, 1};
  test::Random random_{7};
  GridOperator<T> a_ = test::random_operator<T>(ctx_, random_, nx, ny, StorageFormat::tensor).a;
  Field<T> b_ = test::random_vector<T>(ctx_, random_, {nx, ny});
  TensorView<T> view_ = std::get<TensorOperator<T>>(a_.storage()).view();
};

using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(RegistersTest, Numbers);

TYPED_TEST(RegistersTest, LinesAlongX) {
  using T = TypeParam;
  using Rhs = line::LineRhs<Direction::x, true, TensorView<T>, T>;
  for (const int count : {this->w, this->w - 3})
    this->expect_the_same_from_all([&](FieldView<T> x, const LineScratch<T>& scratch, auto run) {
      const Rhs rhs{this->view_, this->b_.cview(), x};
      run(line::SolveBatch<Rhs, T>{rhs, {Direction::x, 1, 2, count}, this->nx, T(1), T(0), x, scratch});
    });
}

TYPED_TEST(RegistersTest, PanelsOfLinesAlongY) {
  using T = TypeParam;
  constexpr int columns = 2 * line::batch_width<T>;
  for (const bool from_zero : {false, true})
    for (const T omega : {T(1), T(0.7)})
      for (const int start : {2, -1}) {  // inside the grid, and over its left side
        const int begin = std::max(start, 0), end = start + columns - (start < 0 ? 4 : 0);
        this->expect_the_same_from_all([&](FieldView<T> x, const LineScratch<T>& scratch, auto run) {
          const line::PanelSweep<TensorView<T>, T> sweep{this->view_, this->b_.cview(), x, x, omega, from_zero, false};
          run(line::SolvePanel<TensorView<T>, T>{sweep, {start, begin, end, end, scratch}, line::Colours::both});
        });
      }
}

}  // namespace
