// Conjugate gradients whose host submits an iteration before it has the numbers of the one before.

#include <cmath>

#include <stratum/mesh/partition.hpp>
#include <stratum/solvers/mixed/reliable_cg.hpp>

#include "support/stretched_laplace.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Counting;

class QueuedStepsTest : public test::StretchedLaplace {};
INSTANTIATE_ON_EVERY_BACKEND(QueuedStepsTest);

TEST_P(QueuedStepsTest, UpdatesComeAnIterationLaterAndTheResidualIsTheTrueOne) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  const auto b = rhs(a.shape());
  const Counting<float> inner(f);
  Field<double> x(ctx(), a.shape()), y(ctx(), a.shape());
  ReliableCg plain(ctx(), a.shape(), {.ahead = false}), ahead(ctx(), a.shape(), {.ahead = true});
  const auto wanted = plain.solve(ctx(), a, f, b.cview(), x.view(), to(1e-11));
  for (int twice = 0; twice < 2; ++twice) {
    set(ctx(), 0.0, y.view());
    inner.products = 0;
    const auto report = ahead.solve(ctx(), a, inner, b.cview(), y.view(), to(1e-11));
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_DOUBLE_EQ(report.residual, true_residual(a, b, y));
    EXPECT_NEAR(report.iterations, wanted.iterations, 0.03 * wanted.iterations);
    EXPECT_EQ(inner.products, report.iterations) << "none is taken in vain";
    EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
    EXPECT_NEAR(ahead.updates(), plain.updates(), 2);
    // Until the first update is due both do the same.
    for (std::size_t k = 0; k < 10; ++k) EXPECT_NEAR(report.history[k], wanted.history[k], 1e-5 * wanted.history[k]);
  }
}

TEST_P(QueuedStepsTest, StopsAtTheLimit) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  const auto b = rhs(a.shape());
  for (const int most : {1, 2, 3, 8}) {
    const Counting<float> inner(f);
    Field<double> x(ctx(), a.shape());
    StoppingParams stop = to(1e-11);
    stop.max_iterations = most;
    const auto report = ReliableCg(ctx(), a.shape(), {.ahead = true}).solve(ctx(), a, inner, b.cview(), x.view(), stop);
    EXPECT_EQ(report.status, Status::max_iterations);
    EXPECT_EQ(report.iterations, most);
    EXPECT_EQ(inner.products, most);
    EXPECT_DOUBLE_EQ(report.residual, true_residual(a, b, x));
  }
}

/// -A
template <class T>
class Negative final : public LinearOperator<T> {
 public:
  explicit Negative(const LinearOperator<T>& a) : a_(a) {}
  [[nodiscard]] GridLayout<2> shape() const override { return a_.shape(); }
  void apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const override {
    set(ctx, T(0), y);
    a_.residual(ctx, y, x, y);
  }
  void residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const override {
    Field<T> product(ctx, shape());
    apply(ctx, x, product.view());
    if (b.data != r.data) copy<T, T>(ctx, b, r);
    axpy<T, T>(ctx, -1, product.cview(), r);
  }

 private:
  const LinearOperator<T>& a_;
};

TEST_P(QueuedStepsTest, AnOperatorThatIsNotPositiveLeavesXAlone) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  const auto b = rhs(a.shape());
  Field<double> x(ctx(), a.shape());
  ReliableCg solver(ctx(), a.shape(), {.ahead = true});
  const auto report = solver.solve(ctx(), Negative<double>(a), Negative<float>(f), b.cview(), x.view(), to(1e-8));
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(norm_max(ctx(), x.cview()), 0);
  // What it has left behind is nothing of the next solve's.
  EXPECT_EQ(solver.solve(ctx(), a, f, b.cview(), x.view(), to(1e-8)).status, Status::converged);
}

TEST_P(QueuedStepsTest, AMonitorThatThrowsLeavesTheSolverFitForAnother) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  const auto b = rhs(a.shape());
  Field<double> x(ctx(), a.shape()), y(ctx(), a.shape());
  ReliableCg solver(ctx(), a.shape(), {.ahead = true});
  const auto wanted = solver.solve(ctx(), a, f, b.cview(), y.view(), to(1e-8));
  EXPECT_THROW((void)solver.solve(ctx(), a, f, b.cview(), x.view(), to(1e-8),
                                  [](int iteration, double /*norm*/) {
                                    if (iteration == 5) throw std::runtime_error("enough");
                                  }),
               std::runtime_error);
  set(ctx(), 0.0, x.view());
  EXPECT_EQ(solver.solve(ctx(), a, f, b.cview(), x.view(), to(1e-8)).history, wanted.history);
}

TEST(QueuedSteps, OnSeveralSubdomainsTheirNumbersAreAddedUp) {
  const TensorMesh<2> mesh = make_mesh(mesh_family("U2"), 6);
  std::vector<int> iterations;
  for (const int count : {1, 2, 3}) {
    std::vector<int> of_subdomains(static_cast<std::size_t>(count));
    const auto result = test::on_subdomains(Backend::cpu, count, [&](Context& ctx) -> test::Values {
      const int rank = count > 1 ? ctx.communicator()->rank() : 0;
      const GridLayout<2> shape = Subdomain(mesh, count, rank, 1).unknowns();
      const auto a = assemble_operator<double>(ctx, mesh, StorageFormat::tensor, {}, shape);
      const auto f = assemble_operator<float>(ctx, mesh, StorageFormat::tensor, {}, shape);
      Field<double> b(ctx, shape), x(ctx, shape);
      set(ctx, 1.0, b.view());
      StoppingParams stop;
      stop.rtol = 1e-9;
      stop.max_iterations = 1000;
      const auto report = ReliableCg(ctx, shape, {.ahead = true}).solve(ctx, a, f, b.cview(), x.view(), stop);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      of_subdomains[static_cast<std::size_t>(rank)] = report.iterations;
      return {};
    });
    EXPECT_FALSE(result.failed());
    for (const int n : of_subdomains) EXPECT_EQ(n, of_subdomains.front());
    iterations.push_back(of_subdomains.front());
  }
  EXPECT_NEAR(iterations[1], iterations[0], 2);
  EXPECT_NEAR(iterations[2], iterations[0], 2);
}

}  // namespace
