// What every method of the table promises, in every precision and on every backend. A new method is in here by being in the
// table.

#include <cmath>
#include <functional>

#include <stratum/solvers/krylov/krylov.hpp>

#include "support/backends.hpp"
#include "support/preconditioners.hpp"

namespace {

using namespace stratum;
using reference::Dense;
using test::Values;

struct Case {
  SolverEntry method;
  Backend backend;
  bool in_float;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
void PrintTo(const Case& c, std::ostream* out) { *out << c.method.name; }

std::vector<Case> every_case() {
  std::vector<Case> cases;
  for (const auto& [name, method] : solver_entries())
    for (const auto backend : {Backend::cpu, Backend::cuda})
      for (const bool in_float : {false, true}) cases.push_back({method, backend, in_float});
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return message(info.param.method.name, "_", test::backend_name(info.param.backend),
                 info.param.in_float ? "_float" : "_double");
}

class SolverContract : public test::WithContext<testing::TestWithParam<Case>> {
 protected:
  void SetUp() override { begin(GetParam().backend); }
  [[nodiscard]] const SolverEntry& method() const { return GetParam().method; }
  [[nodiscard]] bool is(std::string_view name) const { return method().name == name; }
  test::Random random_{501};
};

/// The body of a test, for the precision of the case.
template <class T>
struct Body {
  Context& ctx;
  const SolverEntry& method;
  test::Random& random;

  static constexpr bool in_float = std::is_same_v<T, float>;
  /// What a solve can be asked for in T.
  static constexpr double rtol = in_float ? 1e-4 : 1e-10;

  /// Diagonally dominant, so that even richardson with Jacobi converges; symmetric where the method needs it.
  [[nodiscard]] test::RandomOperator<T> system(int nx, int ny) {
    return test::random_operator<T>(ctx, random, nx, ny,
                                    method.symmetric ? StorageFormat::symmetric : StorageFormat::nine_band);
  }
  [[nodiscard]] Field<T> random_vector(const GridLayout<2>& shape) {
    return test::random_vector<T>(ctx, random, shape);
  }
  [[nodiscard]] static StoppingParams stop(double tolerance = rtol, int max_iterations = 2000) {
    StoppingParams params;
    params.rtol = tolerance;
    params.max_iterations = max_iterations;
    return params;
  }
  SolveReport solve(const LinearOperator<T>& a, Preconditioner<T>* m, const Field<T>& b, Field<T>& x,
                    const StoppingParams& params) {
    SolveReport report = make_solver<T>(ctx, method.name, a.shape())->solve(ctx, a, m, b.cview(), x.view(), params);
    // Whatever happened, the report tells the truth about x.
    Field<T> r(ctx, a.shape());
    a.residual(ctx, b.cview(), x.cview(), r.view());
    const double residual = norm2(ctx, r.cview());
    if (std::isfinite(residual) && report.status != Status::diverged) {
      EXPECT_DOUBLE_EQ(report.residual, residual);
    }
    const double target = std::max(params.rtol * report.reference_norm_value, params.atol);
    EXPECT_FALSE(report.status == Status::converged && residual > target) << report.reason;
    EXPECT_FALSE(report.reason.empty());
    EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
    EXPECT_TRUE(test::halo_is_zero(ctx, x));
    return report;
  }

  void iterates_agree_with_the_oracle() {
    constexpr int steps = 6;
    const auto [stencil, a] = system(5, 4);
    const Field<T> b = random_vector(a.shape());
    test::Smoothing<T> jacobi(ctx, a, "jacobi", 1.0);
    const Dense dense(stencil);
    Dense m(dense.n);
    for (std::size_t i = 0; i < m.n; ++i) m(i, i) = 1 / dense(i, i);
    const Values rhs = test::to_host(ctx, b);
    reference::Iterates expected;
    if (method.name == "richardson")
      expected = reference::richardson(dense, m, rhs, steps);
    else if (method.name == "cg" || method.name == "fcg")
      expected = reference::conjugate_gradients(dense, m, rhs, steps);
    else if (method.name == "bicgstab")
      expected = reference::bicgstab(dense, m, rhs, steps);
    else
      expected = reference::smallest_residuals(dense, m, rhs, steps, method.name == "cr");
    for (int k = 1; k <= steps; ++k) {
      Field<T> x(ctx, a.shape());
      const auto report = solve(a, &jacobi, b, x, stop(1e-15, k));
      EXPECT_EQ(report.iterations, k);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), expected[static_cast<std::size_t>(k - 1)]),
                in_float ? 1e-3 : 1e-10)
          << "iteration " << k;
    }
  }

  void solves_random_systems() {
    for (const auto& [nx, ny] : test::small_shapes) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny);
      const auto [stencil, a] = system(nx, ny);
      const Field<T> b = random_vector(a.shape());
      test::Smoothing<T> jacobi(ctx, a, "jacobi", 1.0);
      for (Preconditioner<T>* m : std::initializer_list<Preconditioner<T>*>{&jacobi, nullptr}) {
        if (m == nullptr && method.name == "richardson") continue;  // does not converge
        Field<T> x = random_vector(a.shape());
        const auto report = solve(a, m, b, x, stop());
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        EXPECT_LT(
            reference::relative_difference(test::to_host(ctx, x), reference::solve(stencil, test::to_host(ctx, b))),
            in_float ? 2e-2 : 1e-7);
        EXPECT_GE(report.inner_iterations, m == nullptr ? 0 : report.iterations);
      }
    }
  }

  void special_input() {
    const auto [stencil, a] = system(17, 13);
    test::Smoothing<T> jacobi(ctx, a, "jacobi", 1.0);
    const Field<T> b = random_vector(a.shape()), zero(ctx, a.shape());
    Field<T> x(ctx, a.shape());

    auto report = solve(a, &jacobi, zero, x, stop());
    EXPECT_EQ(report.status, Status::converged) << "zero right-hand side";
    EXPECT_EQ(report.iterations, 0);
    EXPECT_EQ(norm_max(ctx, x.cview()), 0);

    set(ctx, T(1), x.view());
    report = solve(a, &jacobi, zero, x, stop());
    EXPECT_EQ(report.status, Status::converged) << "zero right-hand side from a guess";
    EXPECT_EQ(report.reference_norm, ReferenceNorm::initial);
    EXPECT_LT(norm_max(ctx, x.cview()), 1e-2);

    set(ctx, T(0), x.view());
    report = solve(a, &jacobi, b, x, stop(rtol, 2));
    EXPECT_EQ(report.status, Status::max_iterations);
    EXPECT_EQ(report.iterations, 2);

    report = solve(a, &jacobi, b, x, stop());
    ASSERT_EQ(report.status, Status::converged) << report.reason;
    const Values solution = test::to_host(ctx, x);
    report = solve(a, &jacobi, b, x, stop());
    EXPECT_EQ(report.status, Status::converged) << "exact guess";
    EXPECT_EQ(report.iterations, 0);
    EXPECT_EQ(test::to_host(ctx, x), solution);

    for (const double bad : {std::nan(""), HUGE_VAL}) {
      Values values(221, 1.0);
      values[100] = bad;
      const auto bad_b = test::to_device<T>(ctx, a.shape(), values);
      set(ctx, T(0), x.view());
      report = solve(a, &jacobi, bad_b, x, stop());
      EXPECT_EQ(report.status, Status::non_finite) << "right-hand side " << bad;
      EXPECT_EQ(report.iterations, 0);
      x = test::to_device<T>(ctx, a.shape(), values);
      report = solve(a, &jacobi, b, x, stop());
      EXPECT_EQ(report.status, Status::non_finite) << "guess " << bad;
    }
  }

  void a_tolerance_below_rounding() {
    const auto [stencil, a] = system(17, 13);
    test::Smoothing<T> jacobi(ctx, a, "jacobi", 1.0);
    const Field<T> b = random_vector(a.shape());
    Field<T> x(ctx, a.shape());
    auto params = stop(1e-22, 100000);
    const auto report = solve(a, &jacobi, b, x, params);
    EXPECT_EQ(report.status, Status::round_off_limit) << report.reason;
    EXPECT_LT(report.iterations, 5000);
    EXPECT_LT(report.residual, (in_float ? 1e-5 : 1e-14) * report.reference_norm_value);
    params.rtol = 1e-300;
    set(ctx, T(0), x.view());
    EXPECT_EQ(solve(a, &jacobi, b, x, params).status, Status::round_off_limit);
    // From a solution to rounding nothing is left for a tolerance relative to its own residual.
    params.reference_norm = ReferenceNorm::initial;
    params.rtol = 1e-3;
    const auto again = solve(a, &jacobi, b, x, params);
    EXPECT_EQ(again.status, Status::round_off_limit) << again.reason;
    EXPECT_EQ(again.iterations, 0);
  }

  void preconditioners_that_fail() {
    const auto [stencil, a] = system(9, 9);
    const Field<T> b = random_vector(a.shape());
    const bool stationary = method.name == "richardson";
    {
      test::ScaledIdentity<T> nothing(0);
      Field<T> x(ctx, a.shape());
      EXPECT_EQ(solve(a, &nothing, b, x, stop()).status, stationary ? Status::stagnated : Status::breakdown);
      EXPECT_EQ(norm_max(ctx, x.cview()), 0);
    }
    {
      test::ScaledIdentity<T> not_a_number(std::nan(""));
      Field<T> x(ctx, a.shape());
      EXPECT_EQ(solve(a, &not_a_number, b, x, stop()).status, stationary ? Status::diverged : Status::breakdown);
      EXPECT_TRUE(stationary || norm_max(ctx, x.cview()) == 0);
    }
    {
      test::ScaledIdentity<T> negative(-1);
      Field<T> x(ctx, a.shape());
      const Status expected = stationary ? Status::diverged : method.symmetric ? Status::breakdown : Status::converged;
      EXPECT_EQ(solve(a, &negative, b, x, stop()).status, expected);
    }
  }

  /// Symmetric with as many negative as positive eigenvalues: either solved, or the report says what happened.
  void indefinite_operator() {
    const auto [stencil, a] = test::random_operator<T>(ctx, random, 7, 7, StorageFormat::symmetric);
    const Field<T> b = random_vector(a.shape());
    for (const double shift : {5.0, 1e3}) {
      const test::Shifted<T> indefinite(a, shift);
      Field<T> x(ctx, a.shape());
      const auto report = solve(indefinite, nullptr, b, x, stop());
      EXPECT_TRUE(std::isfinite(norm2(ctx, x.cview())) || report.status == Status::diverged);
      const bool minimises = method.name == "gcr" || method.name == "gmres" || method.name == "cr";
      const Status expected = method.name == "cg" || method.name == "fcg" ? Status::breakdown
                              : method.name == "richardson"               ? Status::diverged
                              : minimises && shift > 100                  ? Status::converged
                                                                          : report.status;
      EXPECT_EQ(report.status, expected) << report.reason;
    }
  }

  void what_is_not_constant_and_symmetric() {
    const auto [stencil, a] = system(9, 9);
    const Field<T> b = random_vector(a.shape());
    for (const auto& [constant, symmetric] : {std::pair{true, false}, {false, true}, {false, false}}) {
      test::ScaledInverse<T> m(ctx, test::random_operator<T>(ctx, random, 9, 9, StorageFormat::symmetric).a, 1,
                               constant, symmetric);
      Field<T> x(ctx, a.shape());
      if (!method.constant_symmetric) continue;
      try {
        (void)solve(a, &m, b, x, stop());
        ADD_FAILURE() << "not refused";
      } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("gmres"), std::string::npos) << error.what();
      }
      EXPECT_EQ(norm_max(ctx, x.cview()), 0);
    }
    if (method.constant_symmetric) return;
    test::Smoothing<T> varying(ctx, a, "jacobi", 0.7, true);
    Field<T> x(ctx, a.shape());
    EXPECT_EQ(solve(a, &varying, b, x, stop()).status, Status::converged);
  }

  void runs_are_alike() {
    const auto [stencil, a] = system(31, 40);
    test::Smoothing<T> jacobi(ctx, a, "jacobi", 1.0);
    const Field<T> b = random_vector(a.shape());
    const auto solver = make_solver<T>(ctx, method.name, a.shape(), {5});
    Values first;
    std::vector<double> history;
    for (int run = 0; run < 2; ++run) {
      Field<T> x(ctx, a.shape());
      const auto allocations = ctx.memory()->allocations.load();
      std::vector<double> seen;
      const auto report =
          solver->solve(ctx, a, jacobi, b.cview(), x.view(), stop(), [&](int iteration, double residual) {
            EXPECT_EQ(iteration, static_cast<int>(seen.size()));
            seen.push_back(residual);
          });
      EXPECT_EQ(report.status, Status::converged);
      EXPECT_EQ(seen, report.history);
      if (run == 1) {
        EXPECT_EQ(ctx.memory()->allocations.load(), allocations) << "nothing is allocated after the first solve";
        EXPECT_EQ(report.history, history);
        EXPECT_EQ(test::to_host(ctx, x), first);
      }
      history = report.history;
      first = test::to_host(ctx, x);
    }
  }

  void misuse() {
    const auto [stencil, a] = system(5, 4);
    const auto solver = make_solver<T>(ctx, method.name, a.shape());
    const Field<T> b(ctx, a.shape()), long_b(ctx, test::unknowns(6, 4));
    Field<T> x(ctx, a.shape()), tall_x(ctx, test::unknowns(5, 5));
    EXPECT_THROW((void)solver->solve(ctx, a, nullptr, long_b.cview(), x.view()), UsageError);
    EXPECT_THROW((void)solver->solve(ctx, a, nullptr, b.cview(), tall_x.view()), UsageError);
    EXPECT_THROW((void)solver->solve(ctx, a, nullptr, b.cview(), x.view(), stop(-1)), UsageError);
    EXPECT_THROW(
        (void)make_solver<T>(ctx, method.name, test::unknowns(6, 4))->solve(ctx, a, nullptr, b.cview(), x.view()),
        UsageError);
    EXPECT_THROW((void)make_solver<T>(ctx, method.name, a.shape(), {0}), UsageError);
  }
};

#define CONTRACT(Name, member)                         \
  TEST_P(SolverContract, Name) {                       \
    if (GetParam().in_float)                           \
      Body<float>{ctx(), method(), random_}.member();  \
    else                                               \
      Body<double>{ctx(), method(), random_}.member(); \
  }

CONTRACT(IteratesAgreeWithTheOracle, iterates_agree_with_the_oracle)
CONTRACT(SolvesRandomSystems, solves_random_systems)
CONTRACT(StatusesOfSpecialInput, special_input)
CONTRACT(AToleranceBelowRoundingStagnates, a_tolerance_below_rounding)
CONTRACT(PreconditionersThatFail, preconditioners_that_fail)
CONTRACT(AnIndefiniteOperator, indefinite_operator)
CONTRACT(RefusesOrTakesWhatIsNotConstantAndSymmetric, what_is_not_constant_and_symmetric)
CONTRACT(RunsAreAlikeAndAllocateNothing, runs_are_alike)
CONTRACT(MisuseIsRefused, misuse)

INSTANTIATE_TEST_SUITE_P(, SolverContract, testing::ValuesIn(every_case()), case_name);

TEST(SolverTable, NamesWhatThereIs) {
  Context ctx;
  try {
    (void)make_solver<double>(ctx, "sor", {4, 4});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "unknown solver 'sor'; known: bicgstab, cg, cr, fcg, gcr, gmres, richardson");
  }
  for (const auto& [name, entry] : solver_entries()) EXPECT_EQ(&solver_entry(name), &entry);
}

/// Steepest descent: what a user might write.
template <class T>
class SteepestDescent final : public Solver<T> {
 public:
  SteepestDescent(Context& ctx, const GridLayout<2>& shape, const SolverParams& /*params*/)
      : Solver<T>(shape), r_(ctx, shape), ar_(ctx, shape) {}

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b, FieldView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override {
    KrylovIteration<T> iteration(ctx, a, m, b, x, r_.view(), stop, monitor);
    while (!iteration.done()) {
      a.apply(ctx, r_.cview(), ar_.view());
      axpy<T, T>(ctx, dot<T>(ctx, r_.cview(), r_.cview()) / dot<T>(ctx, r_.cview(), ar_.cview()), r_.cview(), x);
      iteration.advance_truly();
    }
    return iteration.finish();
  }

  Field<T> r_, ar_;
};

TEST(SolverTable, TakesASolverOfTheUsers) {
  Context ctx(Backend::cpu, 1);
  SolverRegistry registry = builtin_solvers();
  registry.add<SteepestDescent>("steepest_descent", "for this test", {.symmetric = true, .vectors = 2});
  EXPECT_THROW(registry.add<SteepestDescent>("cg", "a name that is taken"), UsageError);
  test::Random random(502);
  const auto [oracle, a] = test::random_operator<float>(ctx, random, 6, 5, StorageFormat::symmetric);
  const auto b = test::random_vector<float>(ctx, random, a.shape());
  Field<float> x(ctx, a.shape());
  StoppingParams stop;
  stop.rtol = 1e-4;
  const auto report =
      registry.make<float>(ctx, "steepest_descent", a.shape())->solve(ctx, a, nullptr, b.cview(), x.view(), stop);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_TRUE(registry.find("steepest_descent").symmetric);
  // A registry is a value: another is not changed.
  EXPECT_FALSE(solver_entries().contains("steepest_descent"));
}

TEST(SolverTable, VectorsAreAsDeclared) {
  for (const auto& [name, entry] : solver_entries())
    for (const int restart : {1, 7}) {
      Context ctx;
      const auto solver = make_solver<double>(ctx, entry.name, {16, 16}, {restart});
      EXPECT_EQ(ctx.memory()->bytes.load(),
                (entry.vectors + restart * entry.vectors_per_restart) * field_bytes<double>(Backend::cpu, {16, 16}))
          << entry.name;
    }
}

}  // namespace
