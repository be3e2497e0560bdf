// What every smoother promises, over everything in the registry, in both line orders, every operator storage format, every
// precision and on every backend. A new smoother is in here by being registered.

#include <cmath>
#include <cstring>
#include <memory>

#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/smoothers/smoother.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

enum class Number { in_double, in_float };

struct Case {
  std::string smoother;
  LineOrder line_order;
  Backend backend;
  Number number;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.smoother << ", " << to_string(c.line_order); }

std::vector<Case> every_case() {
  std::vector<Case> cases;
  const auto registry = builtin_smoothers();
  for (const auto& [name, entry] : registry.entries())
    for (const auto order : {LineOrder::zebra, LineOrder::simultaneous})
      for (const auto backend : {Backend::cpu, Backend::cuda})
        for (const auto number : {Number::in_double, Number::in_float}) cases.push_back({name, order, backend, number});
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return message(info.param.smoother, "_", to_string(info.param.line_order), "_",
                 test::backend_name(info.param.backend), info.param.number == Number::in_float ? "_float" : "_double");
}

class SmootherContract : public test::WithContext<testing::TestWithParam<Case>> {
 protected:
  void SetUp() override { begin(GetParam().backend); }

  template <class T>
  [[nodiscard]] std::unique_ptr<Smoother<T>> make(const GridLayout<2>& shape) {
    SmootherParams params;
    params.line_order = GetParam().line_order;
    return builtin_smoothers().make<T>(ctx(), GetParam().smoother, shape, params);
  }

  /// Calls check(T(), operator of every storage format and its oracle) for every shape, with T the number of the case; between
  /// Dirichlet sides.
  template <class Check>
  void for_every_operator(const Check& check) {
    if (GetParam().number == Number::in_double)
      for_every_operator_in<double>(check, false);
    else
      for_every_operator_in<float>(check, false);
  }
  /// On periodic grids, too.
  template <class Check>
  void for_every_boundary(const Check& check) {
    for_every_operator(check);
    if (HasFailure()) return;
    if (GetParam().number == Number::in_double)
      for_every_operator_in<double>(check, true);
    else
      for_every_operator_in<float>(check, true);
  }

  template <class T>
  [[nodiscard]] Field<T> random_vector(const GridLayout<2>& shape) {
    return test::random_vector<T>(ctx(), random_, shape);
  }

 private:
  template <class T, class Check>
  void for_every_operator_in(const Check& check, bool periodic) {
    for (const auto& [nx, ny] : test::small_shapes)
      for (const auto format : test::every_storage_format)
        for (const auto& [x, y] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
          if ((x || y) != periodic || (x && nx < 3) || (y && ny < 3)) continue;
          SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format)
                                          << (x ? ", periodic in x" : "") << (y ? ", periodic in y" : ""));
          const auto [oracle, a] = test::random_operator<T>(ctx(), random_, nx, ny, format, x, y);
          check(T(), a, oracle);
          if (HasFailure()) return;  // one is enough; the others would fill the screen
        }
  }

  test::Random random_{61};
};

TEST_P(SmootherContract, TheExactSolutionIsAFixedPoint) {
  for_every_boundary([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil&) {
    const auto smoother = make<T>(a.shape());
    auto x = random_vector<T>(a.shape());
    const Values exact = test::to_host(ctx(), x);
    Field<T> b(ctx(), a.shape());
    a.apply(ctx(), x.cview(), b.view());
    for (const auto order : {SweepOrder::forward, SweepOrder::backward}) {
      smoother->smooth(ctx(), a, b.cview(), x.view(), 2 * smoother->sweeps_per_application(), Guess::given, order);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx(), x), exact), 20 * test::tolerance<T>);
    }
  });
}

TEST_P(SmootherContract, AZeroGuessEqualsAGivenZero) {
  for_every_boundary([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil& oracle) {
    const auto smoother = make<T>(a.shape());
    const auto b = random_vector<T>(a.shape());
    for (const auto order : {SweepOrder::forward, SweepOrder::backward})
      for (const int applications : {1, 2, 3}) {
        const int sweeps = applications * smoother->sweeps_per_application();
        Field<T> given(ctx(), a.shape());
        smoother->smooth(ctx(), a, b.cview(), given.view(), sweeps, Guess::given, order);
        // Whatever x holds must not matter.
        auto zero = test::to_device<T>(ctx(), a.shape(), Values(oracle.size(), std::nan("")));
        smoother->smooth(ctx(), a, b.cview(), zero.view(), sweeps, Guess::zero, order);
        EXPECT_LT(reference::relative_difference(test::to_host(ctx(), zero), test::to_host(ctx(), given)),
                  test::tolerance<T>)
            << applications << " applications";
      }
  });
}

TEST_P(SmootherContract, RowsThatAreNotReadDoNotMatter) {
  for_every_boundary([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil& oracle) {
    const auto smoother = make<T>(a.shape());
    const auto b = random_vector<T>(a.shape());
    for (const auto order : {SweepOrder::forward, SweepOrder::backward}) {
      const SomeRows read = smoother->rows_read(order);
      if (read == SomeRows::all) continue;
      const int sweeps = smoother->sweeps_per_application();
      Values numbers = test::to_host(ctx(), random_vector<T>(a.shape()));
      auto expected = test::to_device<T>(ctx(), a.shape(), numbers);
      for (std::size_t k = 0; k < oracle.size(); ++k) {
        const int j = static_cast<int>(k) / a.shape().nx + a.shape().origin_y;
        if ((j % 2 != 0) != (read == SomeRows::odd)) numbers[k] = std::nan("");
      }
      auto x = test::to_device<T>(ctx(), a.shape(), numbers);
      smoother->smooth(ctx(), a, b.cview(), expected.view(), sweeps, Guess::given, order);
      smoother->smooth(ctx(), a, b.cview(), x.view(), sweeps, Guess::given, order);
      EXPECT_EQ(test::to_host(ctx(), x), test::to_host(ctx(), expected));
    }
  });
}

TEST_P(SmootherContract, NoStepsFromAZeroGuessGiveZero) {
  for_every_boundary([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil& oracle) {
    const auto smoother = make<T>(a.shape());
    const auto b = random_vector<T>(a.shape());
    auto x = test::to_device<T>(ctx(), a.shape(), Values(oracle.size(), std::nan("")));
    smoother->smooth(ctx(), a, b.cview(), x.view(), 0, Guess::zero, SweepOrder::forward);
    EXPECT_EQ(test::to_host(ctx(), x), Values(oracle.size(), 0.0));
    auto kept = random_vector<T>(a.shape());
    const Values before = test::to_host(ctx(), kept);
    smoother->smooth(ctx(), a, b.cview(), kept.view(), 0, Guess::given, SweepOrder::forward);
    EXPECT_EQ(test::to_host(ctx(), kept), before);
  });
}

TEST_P(SmootherContract, StepsFollowOneAnother) {
  for_every_boundary([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil&) {
    const auto smoother = make<T>(a.shape());
    const int step = smoother->sweeps_per_application();
    const auto b = random_vector<T>(a.shape());
    auto once = random_vector<T>(a.shape());
    Field<T> twice(ctx(), a.shape());
    copy(ctx(), once.cview(), twice.view());
    smoother->smooth(ctx(), a, b.cview(), once.view(), 3 * step, Guess::given, SweepOrder::forward);
    for (int k = 0; k < 3; ++k)
      smoother->smooth(ctx(), a, b.cview(), twice.view(), step, Guess::given, SweepOrder::forward);
    EXPECT_LT(reference::relative_difference(test::to_host(ctx(), twice), test::to_host(ctx(), once)),
              test::tolerance<T>);
  });
}

TEST_P(SmootherContract, IsLinear) {
  for_every_boundary([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil& oracle) {
    const auto smoother = make<T>(a.shape());
    const int sweeps = 2 * smoother->sweeps_per_application();
    Field<T> b[2], x[2], sum_b(ctx(), a.shape()), sum_x(ctx(), a.shape());
    const double weight[2] = {0.75, -1.5};
    for (int k = 0; k < 2; ++k) {
      b[k] = random_vector<T>(a.shape());
      x[k] = random_vector<T>(a.shape());
      axpy(ctx(), weight[k], b[k].cview(), sum_b.view());
      axpy(ctx(), weight[k], x[k].cview(), sum_x.view());
    }
    Values expected(oracle.size(), 0.0);
    double largest = 0;
    for (int k = 0; k < 2; ++k) {
      smoother->smooth(ctx(), a, b[k].cview(), x[k].view(), sweeps, Guess::given, SweepOrder::forward);
      const Values part = test::to_host(ctx(), x[k]);
      for (std::size_t n = 0; n < part.size(); ++n) {
        expected[n] += weight[k] * part[n];
        largest = std::max(largest, std::abs(part[n]));
      }
    }
    smoother->smooth(ctx(), a, sum_b.cview(), sum_x.view(), sweeps, Guess::given, SweepOrder::forward);
    const Values found = test::to_host(ctx(), sum_x);
    for (std::size_t n = 0; n < found.size(); ++n)
      ASSERT_NEAR(found[n], expected[n], 10 * test::tolerance<T> * largest);
  });
}

// With x = B b after k sweeps from zero, forward and backward are adjoint: (B_f r, s) = (r, B_b s). For symmetric A that is
// (A E_f u, v) = (A u, E_b v) with E = I - B A, so that forward before and backward after make a symmetric cycle.
TEST_P(SmootherContract, ForwardAndBackwardAreAdjoint) {
  for_every_boundary([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil&) {
    if (a.format() == StorageFormat::nine_band) return;  // its random coefficients are not symmetric
    const auto smoother = make<T>(a.shape());
    for (const int applications : {1, 2}) {
      const int sweeps = applications * smoother->sweeps_per_application();
      const auto r = random_vector<T>(a.shape()), s = random_vector<T>(a.shape());
      Field<T> forward(ctx(), a.shape()), backward(ctx(), a.shape());
      smoother->smooth(ctx(), a, r.cview(), forward.view(), sweeps, Guess::zero, SweepOrder::forward);
      smoother->smooth(ctx(), a, s.cview(), backward.view(), sweeps, Guess::zero, SweepOrder::backward);
      const double scale = norm2(ctx(), forward.cview()) * norm2(ctx(), s.cview()) +
                           norm2(ctx(), backward.cview()) * norm2(ctx(), r.cview());
      EXPECT_NEAR(dot(ctx(), forward.cview(), s.cview()), dot(ctx(), r.cview(), backward.cview()),
                  test::tolerance<T> * scale)
          << applications << " applications";
    }
  });
}

TEST_P(SmootherContract, HalosStayZero) {
  for_every_operator([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil&) {
    const auto smoother = make<T>(a.shape());
    const auto b = random_vector<T>(a.shape());
    auto x = random_vector<T>(a.shape());
    for (const auto guess : {Guess::given, Guess::zero})
      for (const auto order : {SweepOrder::forward, SweepOrder::backward})
        smoother->smooth(ctx(), a, b.cview(), x.view(), 3 * smoother->sweeps_per_application(), guess, order);
    EXPECT_TRUE(test::halo_is_zero(ctx(), x));
    EXPECT_TRUE(test::halo_is_zero(ctx(), b));
  });
}

TEST_P(SmootherContract, TheRightHandSideIsLeftAlone) {
  for_every_boundary([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil&) {
    const auto smoother = make<T>(a.shape());
    const auto b = random_vector<T>(a.shape());
    const Values before = test::to_host(ctx(), b);
    Field<T> x(ctx(), a.shape());
    smoother->smooth(ctx(), a, b.cview(), x.view(), 2 * smoother->sweeps_per_application(), Guess::zero,
                     SweepOrder::forward);
    EXPECT_EQ(test::to_host(ctx(), b), before);
  });
}

TEST_P(SmootherContract, NothingIsAllocatedWhileSmoothing) {
  for_every_boundary([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil&) {
    const auto smoother = make<T>(a.shape());
    const auto b = random_vector<T>(a.shape());
    Field<T> x(ctx(), a.shape());
    const auto before = ctx().memory()->allocations.load();
    for (const auto order : {SweepOrder::forward, SweepOrder::backward})
      for (const auto guess : {Guess::zero, Guess::given})
        smoother->smooth(ctx(), a, b.cview(), x.view(), 2 * smoother->sweeps_per_application(), guess, order);
    EXPECT_EQ(ctx().memory()->allocations, before);
  });
}

TEST_P(SmootherContract, TwoRunsGiveTheSameBits) {
  for_every_boundary([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil&) {
    const auto b = random_vector<T>(a.shape());
    Values first;
    for (int run = 0; run < 2; ++run) {
      const auto smoother = make<T>(a.shape());
      Field<T> x(ctx(), a.shape());
      smoother->smooth(ctx(), a, b.cview(), x.view(), 2 * smoother->sweeps_per_application(), Guess::zero,
                       SweepOrder::forward);
      if (run == 0) first = test::to_host(ctx(), x);
      EXPECT_EQ(test::to_host(ctx(), x), first);
    }
  });
}

TEST_P(SmootherContract, SaysWhatItMoves) {
  for_every_operator([&]<class T>(T, const GridOperator<T>& a, const reference::Stencil&) {
    // At least x and b are read and x is written.
    EXPECT_GE(make<T>(a.shape())->words_per_step(a.coefficient_words()), 3 + a.coefficient_words());
    EXPECT_LE(make<T>(a.shape())->words_per_step(a.coefficient_words()), 2 * (4 + a.coefficient_words()));
  });
}

TEST_P(SmootherContract, OneUnknownIsSolvedUpToTheDamping) {
  const auto check = [&]<class T>(T) {
    const auto a = test::nine_band_operator<T>(ctx(), [] {
      reference::Stencil s(1, 1);
      s.at(0, 0, 0, 0) = 4;
      return s;
    }());
    SmootherParams params;
    params.line_order = GetParam().line_order;
    params.damping = 1;
    const auto smoother = builtin_smoothers().make<T>(ctx(), GetParam().smoother, a.shape(), params);
    const auto b = test::to_device<T>(ctx(), a.shape(), {2.0});
    Field<T> x(ctx(), a.shape());
    smoother->smooth(ctx(), a, b.cview(), x.view(), smoother->sweeps_per_application(), Guess::zero,
                     SweepOrder::forward);
    EXPECT_NEAR(test::to_host(ctx(), x)[0], 0.5, 1e-7);
  };
  if (GetParam().number == Number::in_double)
    check(double());
  else
    check(float());
}

INSTANTIATE_TEST_SUITE_P(, SmootherContract, testing::ValuesIn(every_case()), case_name);

struct FormAndShape {
  StorageFormat format;
  int nx, ny;
};
std::vector<FormAndShape> every_shape() {
  std::vector<FormAndShape> all;
  for (const auto format : test::every_storage_format) {
    all.push_back({format, 203, 171});
    all.push_back({format, 511, 40});
    all.push_back({format, 40, 511});
  }
  return all;
}

// On grids large enough that threads share the work, several subdomains of columns or of rows each.
TEST(SmootherThreads, TheNumberOfThreadsDoesNotChangeABit) {
  const auto registry = builtin_smoothers();
  for (const auto& [name, entry] : registry.entries())
    for (const auto line_order : {LineOrder::zebra, LineOrder::simultaneous})
      for (const auto& [format, nx, ny] : every_shape()) {
        SCOPED_TRACE(testing::Message() << name << ", " << to_string(line_order) << ", " << to_string(format) << ", "
                                        << nx << " x " << ny);
        Values expected;
        for (const int threads : {1, 2, 3, 5}) {
          test::Random random(62);
          Context ctx(Backend::cpu, threads);
          const auto [oracle, a] = test::random_operator<double>(ctx, random, nx, ny, format);
          const auto b = test::random_vector<double>(ctx, random, a.shape());
          auto x = test::random_vector<double>(ctx, random, a.shape());
          SmootherParams params;
          params.line_order = line_order;
          const auto smoother = builtin_smoothers().make<double>(ctx, name, a.shape(), params);
          const int sweeps = 2 * smoother->sweeps_per_application();
          smoother->smooth(ctx, a, b.cview(), x.view(), sweeps, Guess::zero, SweepOrder::forward);
          smoother->smooth(ctx, a, b.cview(), x.view(), sweeps, Guess::given, SweepOrder::backward);
          if (threads == 1) expected = test::to_host(ctx, x);
          EXPECT_EQ(test::to_host(ctx, x), expected) << threads << " threads";
          EXPECT_TRUE(test::halo_is_zero(ctx, x));
        }
      }
}

}  // namespace
