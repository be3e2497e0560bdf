// What every preconditioner of the registry promises, in every precision and on every backend. A new one is in here by being
// registered.

#include <cmath>
#include <functional>

#include <gmock/gmock.h>

#include <stratum/solvers/preconditioner.hpp>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;

struct Case {
  PreconditionerEntry entry;
  Backend backend;
  bool in_float;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
void PrintTo(const Case& c, std::ostream* out) { *out << c.entry.name; }

std::vector<Case> every_case() {
  std::vector<Case> cases;
  const auto registry = builtin_preconditioners();
  for (const auto& [name, entry] : registry.entries())
    for (const auto backend : {Backend::cpu, Backend::cuda})
      for (const bool in_float : {false, true}) cases.push_back({entry, backend, in_float});
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = message(info.param.entry.name, "_", test::backend_name(info.param.backend),
                             info.param.in_float ? "_float" : "_double");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class PreconditionerContract : public test::WithContext<testing::TestWithParam<Case>> {
 protected:
  void SetUp() override { begin(GetParam().backend); }
  [[nodiscard]] const PreconditionerEntry& entry() const { return GetParam().entry; }
  test::Random random_{601};
};

/// Nodes that couple with their neighbours alone, so that vectors of the grid will do, too. An M-matrix.
SparseRows on_grid(test::Random& random, int nx, int ny) {
  auto stencil = random.stencil(nx, ny, true);
  std::vector<SparseEntry> entries;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          if (stencil.inside(i + dx, j + dy)) {
            const double value = stencil.coefficient(dx, dy, i, j);
            entries.push_back({j * nx + i, (j + dy) * nx + i + dx, dx == 0 && dy == 0 ? value : -std::abs(value)});
          }
  return sparse_rows(nx * ny, nx * ny, std::move(entries));
}

double dot_of(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// The body of a test, for the precision of the case.
template <class T>
struct Body {
  Context& ctx;
  const PreconditionerEntry& entry;
  test::Random& random;

  [[nodiscard]] std::unique_ptr<Preconditioner<T>> make(Context& on, const SparseRows& a,
                                                        const GridLayout<2>& shape) const {
    if constexpr (std::is_same_v<T, float>)
      return entry.make_float(on, shape, {a});
    else
      return entry.make_double(on, shape, {a});
  }
  /// M^-1 r, by the third of three calls: a GPU may record the second and replay it.
  [[nodiscard]] Values apply(Context& on, Preconditioner<T>& m, const GridLayout<2>& shape, const Values& r) const {
    const auto on_device = test::to_device<T>(on, shape, r);
    Field<T> z(on, shape);
    for (int k = 0; k < 3; ++k) m.apply(on, on_device.cview(), z.view());
    EXPECT_TRUE(test::halo_is_zero(on, z));
    return test::to_host(on, z);
  }

  void linear_symmetric_and_definite() const {
    for (const auto& [nx, ny] : test::small_shapes) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny);
      const auto a = on_grid(random, nx, ny);
      const auto shape = test::unknowns(nx, ny);
      const auto m = make(ctx, a, shape);
      EXPECT_TRUE(m->is_constant());
      EXPECT_TRUE(m->is_symmetric());
      const auto n = static_cast<std::size_t>(a.rows);
      const auto r = random.values(n), s = random.values(n);
      Values both(n);
      for (std::size_t i = 0; i < n; ++i) both[i] = static_cast<double>(static_cast<T>(2 * r[i] - 3 * s[i]));
      const auto of_r = apply(ctx, *m, shape, r), of_s = apply(ctx, *m, shape, s),
                 of_both = apply(ctx, *m, shape, both);
      Values sum(n);
      for (std::size_t i = 0; i < n; ++i) sum[i] = 2 * of_r[i] - 3 * of_s[i];
      constexpr double bound = 10 * test::tolerance<T>;
      EXPECT_LT(reference::relative_difference(of_both, sum), bound);
      EXPECT_NEAR(dot_of(of_r, s), dot_of(r, of_s), bound * std::sqrt(dot_of(of_r, of_r) * dot_of(s, s)));
      EXPECT_GT(dot_of(of_r, r), 0);
    }
  }

  void the_same_on_any_vectors_and_any_backend() const {
    Context host;
    for (const auto& [nx, ny] : test::small_shapes) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny);
      const auto a = on_grid(random, nx, ny);
      const auto r = random.values(static_cast<std::size_t>(a.rows));
      const auto grid = test::unknowns(nx, ny), flat = test::flat(a.rows);
      const auto expected = apply(host, *make(host, a, grid), grid, r);
      EXPECT_LT(reference::relative_difference(apply(ctx, *make(ctx, a, grid), grid, r), expected), test::tolerance<T>);
      if (entry.on_grid) continue;
      EXPECT_LT(reference::relative_difference(apply(ctx, *make(ctx, a, flat), flat, r), expected), test::tolerance<T>);
    }
  }

  void any_matrix() const {
    if (entry.on_grid) return;
    Context host;
    for (const int n : {1, 2, 50, 700}) {
      SCOPED_TRACE(testing::Message() << n << " rows");
      const auto a = test::random_m_matrix(random, n, 3);
      const auto r = random.values(static_cast<std::size_t>(n));
      const auto flat = test::flat(n);
      EXPECT_LT(reference::relative_difference(apply(ctx, *make(ctx, a, flat), flat, r),
                                               apply(host, *make(host, a, flat), flat, r)),
                test::tolerance<T>);
    }
  }

  void the_matrix_may_go() const {
    auto a = on_grid(random, 9, 7);
    const auto shape = test::unknowns(9, 7);
    const auto r = random.values(63);
    const auto m = make(ctx, a, shape);
    const auto before = apply(ctx, *m, shape, r);
    std::fill(a.value.begin(), a.value.end(), 0.0);
    EXPECT_EQ(apply(ctx, *m, shape, r), before);
  }

  void apply_allocates_nothing() const {
    const auto a = on_grid(random, 9, 7);
    const auto shape = test::unknowns(9, 7);
    const auto m = make(ctx, a, shape);
    const Field<T> r(ctx, shape);
    Field<T> z(ctx, shape);
    const auto allocations = ctx.memory()->allocations.load();
    for (int k = 0; k < 3; ++k) m->apply(ctx, r.cview(), z.view());
    EXPECT_EQ(ctx.memory()->allocations.load(), allocations);
  }

  void errors() const {
    const auto a = on_grid(random, 4, 3);
    EXPECT_THROW((void)make(ctx, a, test::unknowns(5, 3)), UsageError);
    const auto m = make(ctx, a, test::unknowns(4, 3));
    Field<T> right(ctx, test::unknowns(4, 3)), wrong(ctx, test::unknowns(3, 4));
    EXPECT_THROW(m->apply(ctx, wrong.cview(), right.view()), UsageError);
    EXPECT_THROW(m->apply(ctx, right.cview(), wrong.view()), UsageError);
    // Rows count from where the matrix says.
    SparseRows without = sparse_rows(3, 3, {{0, 0, 1}, {1, 1, 1}});
    without.first_row = 1;
    EXPECT_THAT(test::error_text<BreakdownError>([&] { (void)make(ctx, without, test::flat(3)); }),
                testing::HasSubstr("row 3"));
    const auto lopsided = sparse_rows(2, 2, {{0, 0, 1}, {1, 1, 1}, {0, 1, 1}});
    if (entry.symmetric) {
      EXPECT_THAT(test::error_text<UsageError>([&] { (void)make(ctx, lopsided, test::flat(2)); }),
                  testing::HasSubstr("symmetric"));
    }
  }
};

#define CONTRACT(name, member)                              \
  TEST_P(PreconditionerContract, name) {                    \
    if (GetParam().in_float)                                \
      Body<float>{this->ctx(), entry(), random_}.member();  \
    else                                                    \
      Body<double>{this->ctx(), entry(), random_}.member(); \
  }
CONTRACT(LinearSymmetricAndDefinite, linear_symmetric_and_definite)
CONTRACT(TheSameOnAnyVectorsAndAnyBackend, the_same_on_any_vectors_and_any_backend)
CONTRACT(AnyMatrix, any_matrix)
CONTRACT(TheMatrixMayGo, the_matrix_may_go)
CONTRACT(ApplyAllocatesNothing, apply_allocates_nothing)
CONTRACT(Errors, errors)
#undef CONTRACT

INSTANTIATE_TEST_SUITE_P(, PreconditionerContract, testing::ValuesIn(every_case()), case_name);

TEST(Preconditioners, UsersAddTheirOwn) {
  auto registry = builtin_preconditioners();
  registry.add({{.on_grid = true}, "mine", "nothing", nullptr, nullptr});
  EXPECT_TRUE(registry.find("mine").on_grid);
  EXPECT_FALSE(builtin_preconditioners().entries().contains("mine"));
  EXPECT_THAT(test::error_text<UsageError>([&] { (void)registry.find("ilu"); }),
              testing::AllOf(testing::HasSubstr("ilu"), testing::HasSubstr("block-ic"), testing::HasSubstr("mine")));
}

}  // namespace
