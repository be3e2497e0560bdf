#include <stratum/multigrid/transfer/transfer.hpp>
#include <stratum/smoothers/smoother.hpp>

#include <cmath>
#include <tuple>
#include <utility>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

/// Cells in x and y; the last of an odd number stays alone, two are not coarsened.
constexpr std::pair<int, int> every_size[] = {{4, 4},   {4, 2},    {2, 4},   {8, 3}, {5, 8}, {12, 20}, {64, 6},
                                              {6, 130}, {100, 36}, {2, 128}, {3, 3}, {2, 7}, {131, 67}};

template <class T>
class TransferTest : public test::OnEverySetting<T> {
 protected:
  using Number = T;
  template <class Check>
  void for_every_mesh(const Check& check) {
    for (const auto& [cells_x, cells_y] : every_size) {
      SCOPED_TRACE(testing::Message() << cells_x << " x " << cells_y << " cells");
      const TensorMesh<2> fine{Axis(random_.widths(cells_x, 3)), Axis(random_.widths(cells_y, 3))};
      const TensorMesh<2> coarse = fine.coarser();
      check(fine, coarse, Transfer<Number>(this->ctx(), fine, coarse));
    }
  }
  Field<Number> random_vector(const GridLayout<2>& shape) {
    return test::random_vector<Number>(this->ctx(), random_, shape);
  }
  /// The defect of P e without P e, where it `fuses`, and P e with an update in either precision.
  void expect_fused_interpolation(const Transfer<double>& transfer, const GridOperator<double>& a, bool fuses) {
    auto& ctx = this->ctx();
    const auto b = test::random_vector<double>(ctx, random_, a.shape());
    const auto e = test::random_vector<double>(ctx, random_, transfer.coarse_shape());
    Field<double> interpolant(ctx, a.shape());
    transfer.prolongate(ctx, e.cview(), interpolant.view());
    ASSERT_EQ(transfer.fuses_interpolation(ctx, a, b.cview()), fuses);
    if (fuses) {
      Field<double> r(ctx, a.shape()), fused(ctx, a.shape());
      set(ctx, 7.0, fused.view());
      a.scaled_residual(ctx, 3, b.cview(), interpolant.cview(), r.view());
      transfer.interpolated_residual(ctx, a, 3, b.cview(), e.cview(), fused.view());
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, fused), test::to_host(ctx, r)),
                10 * test::tolerance<double>);
      EXPECT_TRUE(test::halo_is_zero(ctx, fused));
    }
    const auto expect_update = [&]<class Z>(Field<Z> z) {
      Field<double> x(ctx, a.shape()), sum(ctx, a.shape());
      copy<double, Z>(ctx, b.cview(), z.view());
      copy(ctx, interpolant.cview(), x.view());
      axpy<Z, double>(ctx, -2, z.cview(), x.view());
      set(ctx, 7.0, sum.view());
      transfer.prolongate_plus(ctx, e.cview(), -2, z.cview(), sum.view());
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, sum), test::to_host(ctx, x)),
                test::tolerance<double>);
      EXPECT_TRUE(test::halo_is_zero(ctx, sum));
    };
    expect_update(Field<float>(ctx, a.shape()));
    expect_update(Field<double>(ctx, a.shape()));
  }
  test::Random random_{91};
};

TEST_ON_EVERY_SETTING(TransferTest, AgreesWithTheOracle) {
  auto& ctx = this->ctx();
  this->for_every_mesh([&](const TensorMesh<2>& fine, const TensorMesh<2>& coarse, const Transfer<T>& transfer) {
    const auto &hx = fine.x().widths(), &hy = fine.y().widths();
    const auto xc = this->random_vector(coarse.unknowns());
    const auto xf = this->random_vector(fine.unknowns());
    const Values interpolated = reference::prolongate(hx, hy, test::to_host(ctx, xc));

    Field<T> f(ctx, fine.unknowns()), c(ctx, coarse.unknowns());
    set(ctx, T(7), f.view());
    transfer.prolongate(ctx, xc.cview(), f.view());
    EXPECT_LT(reference::relative_difference(test::to_host(ctx, f), interpolated), test::tolerance<T>);
    EXPECT_TRUE(test::halo_is_zero(ctx, f));

    copy(ctx, xf.cview(), f.view());
    transfer.prolongate_add(ctx, xc.cview(), f.view());
    Values sum = test::to_host(ctx, xf);
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += interpolated[k];
    EXPECT_LT(reference::relative_difference(test::to_host(ctx, f), sum), test::tolerance<T>);
    EXPECT_TRUE(test::halo_is_zero(ctx, f));

    for (const SomeRows some : {SomeRows::even, SomeRows::odd}) {
      copy(ctx, xf.cview(), f.view());
      transfer.prolongate_add(ctx, xc.cview(), f.view(), some);
      const Values got = test::to_host(ctx, f), before = test::to_host(ctx, xf);
      for (std::size_t k = 0; k < sum.size(); ++k) {
        const bool odd = (static_cast<int>(k) / fine.unknowns().nx + fine.unknowns().origin_y) % 2 != 0;
        if (odd == (some == SomeRows::odd) || got[k] != before[k]) {
          EXPECT_NEAR(got[k], sum[k], 10 * test::tolerance<T> * (1 + std::abs(sum[k])));
        }
      }
      EXPECT_TRUE(test::halo_is_zero(ctx, f));
    }

    const Values restricted = reference::restrict_to(hx, hy, test::to_host(ctx, xf));
    const auto expect_restricted = [&] {
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, c), restricted), test::tolerance<T>);
      EXPECT_TRUE(test::halo_is_zero(ctx, c));
    };
    set(ctx, T(7), c.view());
    transfer.restrict_to(ctx, xf.cview(), c.view());
    expect_restricted();
    set(ctx, T(7), c.view());
    const double norm = norm2(ctx, xf.cview());
    EXPECT_NEAR(transfer.restrict_and_measure(ctx, xf.cview(), c.view()), norm, 1e-12 * norm);
    expect_restricted();
  });
}

TEST_ON_EVERY_SETTING(TransferTest, RestrictResidualAgreesWithTheOracleInEveryForm) {
  auto& ctx = this->ctx();
  this->for_every_mesh([&](const TensorMesh<2>& fine, const TensorMesh<2>& coarse, const Transfer<T>& transfer) {
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(to_string(format));
      const auto [oracle, a] =
          test::random_operator<T>(ctx, this->random_, fine.unknowns().nx, fine.unknowns().ny, format);
      const auto b = this->random_vector(fine.unknowns()), x = this->random_vector(fine.unknowns());
      Field<T> d(ctx, coarse.unknowns());
      set(ctx, T(7), d.view());
      const auto before = ctx.memory()->allocations.load();
      transfer.restrict_residual(ctx, a, b.cview(), x.cview(), d.view());
      EXPECT_EQ(ctx.memory()->allocations, before);
      const Values expected =
          reference::restrict_to(fine.x().widths(), fine.y().widths(),
                                 reference::residual(oracle, test::to_host(ctx, b), test::to_host(ctx, x)));
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, d), expected), test::tolerance<T>);
      EXPECT_TRUE(test::halo_is_zero(ctx, d));
    }
  });
}

TEST_ON_EVERY_SETTING(TransferTest, RestrictionIsTheTransposeOfProlongation) {
  auto& ctx = this->ctx();
  this->for_every_mesh([&](const TensorMesh<2>& fine, const TensorMesh<2>& coarse, const Transfer<T>& transfer) {
    const auto xc = this->random_vector(coarse.unknowns());
    const auto xf = this->random_vector(fine.unknowns());
    Field<T> up(ctx, fine.unknowns()), down(ctx, coarse.unknowns());
    transfer.prolongate(ctx, xc.cview(), up.view());
    transfer.restrict_to(ctx, xf.cview(), down.view());
    EXPECT_NEAR(dot(ctx, up.cview(), xf.cview()), dot(ctx, xc.cview(), down.cview()),
                test::tolerance<T> * norm2(ctx, up.cview()) * norm2(ctx, xf.cview()));
  });
}

// Every pair of ends. A GPU, which has kernels of its own, beside a CPU.
TEST_ON_EVERY_SETTING(TransferTest, NaturalSides) {
  auto& ctx = this->ctx();
  Context cpu(Backend::cpu, 1);
  using Ends = std::pair<BoundaryType, BoundaryType>;
  constexpr auto dirichlet = BoundaryType::dirichlet, neumann = BoundaryType::neumann;
  const std::pair<Ends, Ends> every_pair[] = {{{dirichlet, neumann}, {dirichlet, neumann}},
                                              {{neumann, neumann}, {neumann, neumann}},
                                              {{neumann, dirichlet}, {neumann, dirichlet}},
                                              {{neumann, neumann}, {dirichlet, dirichlet}},
                                              {{dirichlet, dirichlet}, {neumann, neumann}}};
  for (const auto& [cells_x, cells_y] : every_size)
    for (const auto& [ends_x, ends_y] : every_pair) {
      SCOPED_TRACE(testing::Message() << cells_x << " x " << cells_y << " cells, " << to_string(ends_x.first) << " .. "
                                      << to_string(ends_x.second) << " x " << to_string(ends_y.first) << " .. "
                                      << to_string(ends_y.second));
      const auto line = [&](int cells, const Ends& ends) {
        return Axis(this->random_.widths(cells, 3)).with_boundaries(ends.first, ends.second);
      };
      const TensorMesh<2> fine{line(cells_x, ends_x), line(cells_y, ends_y)}, coarse = fine.coarser();
      const Transfer<T> transfer(ctx, fine, coarse), on_cpu(cpu, fine, coarse);
      const auto a = assemble_laplace<T>(ctx, fine, StorageFormat::tensor);
      const auto e = this->random_vector(coarse.unknowns());
      const auto b = this->random_vector(fine.unknowns()), x = this->random_vector(fine.unknowns());
      Field<T> r(ctx, fine.unknowns()), up(ctx, fine.unknowns()), d(ctx, coarse.unknowns()),
          down(ctx, coarse.unknowns());
      transfer.prolongate(ctx, e.cview(), up.view());
      a.residual(ctx, b.cview(), x.cview(), r.view());
      transfer.restrict_to(ctx, r.cview(), down.view());
      EXPECT_NEAR(dot(ctx, up.cview(), r.cview()), dot(ctx, e.cview(), down.cview()),
                  test::tolerance<T> * norm2(ctx, up.cview()) * norm2(ctx, r.cview()));
      transfer.restrict_residual(ctx, a, b.cview(), x.cview(), d.view());
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, d), test::to_host(ctx, down)), test::tolerance<T>);
      const double norm = norm2(ctx, r.cview());
      EXPECT_NEAR(transfer.restrict_and_measure(ctx, r.cview(), d.view()), norm, 1e-12 * norm);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, d), test::to_host(ctx, down)), test::tolerance<T>);

      const auto host_e = test::to_device<T>(cpu, coarse.unknowns(), test::to_host(ctx, e));
      const auto host_r = test::to_device<T>(cpu, fine.unknowns(), test::to_host(ctx, r));
      Field<T> host_up(cpu, fine.unknowns()), host_down(cpu, coarse.unknowns());
      on_cpu.prolongate(cpu, host_e.cview(), host_up.view());
      on_cpu.restrict_to(cpu, host_r.cview(), host_down.view());
      const Values expected = test::to_host(cpu, host_up);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, up), expected), test::tolerance<T>);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, down), test::to_host(cpu, host_down)),
                test::tolerance<T>);
      for (const SomeRows some : {SomeRows::even, SomeRows::odd}) {
        set(ctx, T(0), up.view());
        transfer.prolongate_add(ctx, e.cview(), up.view(), some);
        const Values got = test::to_host(ctx, up);
        for (std::size_t k = 0; k < got.size(); ++k) {
          const bool odd = (static_cast<int>(k) / fine.unknowns().nx + fine.unknowns().origin_y) % 2 != 0;
          if (odd == (some == SomeRows::odd) || got[k] != 0) {
            EXPECT_NEAR(got[k], expected[k], 10 * test::tolerance<T>);
          }
        }
      }
      EXPECT_TRUE(test::halo_is_zero(ctx, up));
      EXPECT_TRUE(test::halo_is_zero(ctx, d));
    }
}

// Nested bilinear elements: P^T A P is the coarse operator.
TEST_ON_EVERY_SETTING(TransferTest, TheCoarseOperatorIsTheGalerkinProduct) {
  auto& ctx = this->ctx();
  this->for_every_mesh([&](const TensorMesh<2>& fine, const TensorMesh<2>& coarse, const Transfer<T>& transfer) {
    const auto a = assemble_laplace<T>(ctx, fine, StorageFormat::tensor);
    const auto x = this->random_vector(coarse.unknowns());
    Field<T> up(ctx, fine.unknowns()), image(ctx, fine.unknowns()), down(ctx, coarse.unknowns());
    transfer.prolongate(ctx, x.cview(), up.view());
    a.apply(ctx, up.cview(), image.view());
    transfer.restrict_to(ctx, image.cview(), down.view());
    const auto oracle = reference::laplace(coarse.x().widths(), coarse.y().widths());
    // Fine terms are larger than their sum by the ratio of the widths.
    EXPECT_LT(reference::relative_difference(test::to_host(ctx, down), reference::apply(oracle, test::to_host(ctx, x))),
              50 * test::tolerance<T>);
  });
}

// The defect of an interpolant without the interpolant, on a GPU; and interpolation with an update, anywhere.
TEST_ON_EVERY_SETTING(TransferTest, InterpolationFusedWithDefectAndUpdate) {
  if constexpr (std::is_same_v<T, double>) {
    auto& ctx = this->ctx();
    this->for_every_mesh([&](const TensorMesh<2>& fine, const TensorMesh<2>& coarse, const Transfer<double>& transfer) {
      const bool halved = fine.x().size() > coarse.x().size() && fine.y().size() > coarse.y().size();
      this->expect_fused_interpolation(transfer, assemble_laplace<double>(ctx, fine, StorageFormat::tensor),
                                       ctx.on_gpu() && halved);
    });
  }
}

// The same beside Neumann or Robin boundaries, where the last interval of an odd number has a node of its own, and with a
// reaction term.
TEST_ON_EVERY_SETTING(TransferTest, TheDefectOfAnInterpolantBesideNaturalSides) {
  if constexpr (std::is_same_v<T, double>) {
    auto& ctx = this->ctx();
    if (!ctx.on_gpu()) return;
    constexpr auto neumann = BoundaryType::neumann;
    for (const auto& [cells_x, cells_y] : {std::pair{4, 4}, {5, 8}, {8, 5}, {7, 9}, {128, 66}, {131, 67}, {258, 129}})
      for (const double reaction : {0.0, 40.0})
        for (const auto& [first_x, first_y, last] :
             {std::tuple{BoundaryType::dirichlet, BoundaryType::dirichlet, neumann},
              {neumann, neumann, neumann},
              {neumann, BoundaryType::dirichlet, neumann},
              {BoundaryType::dirichlet, neumann, neumann},
              {neumann, neumann, BoundaryType::dirichlet}}) {
          SCOPED_TRACE(testing::Message()
                       << cells_x << " x " << cells_y << " cells, c = " << reaction << ", " << to_string(first_x)
                       << " x " << to_string(first_y) << " .. " << to_string(last));
          const TensorMesh<2> fine{Axis(this->random_.widths(cells_x, 3)).with_boundaries(first_x, last),
                                   Axis(this->random_.widths(cells_y, 3)).with_boundaries(first_y, last)};
          OperatorTerms terms;
          terms.reaction = reaction;
          if (first_x == neumann) terms.left.constant = 2;
          if (first_y == neumann) terms.bottom.constant = 7;
          if (last == neumann) terms.right.constant = 3;
          if (last == neumann) terms.top.constant = 5;
          this->expect_fused_interpolation(Transfer<double>(ctx, fine, fine.coarser()),
                                           assemble_operator<double>(ctx, fine, StorageFormat::tensor, terms), true);
        }
  }
}

TEST(TransferThreads, TheNumberOfThreadsDoesNotChangeABit) {
  test::Random random(92);
  const TensorMesh<2> fine{Axis(random.widths(206)), Axis(random.widths(150))};
  const TensorMesh<2> coarse = fine.coarser();
  const Values host_b = random.values(205 * 149), host_x = random.values(205 * 149);
  Values expected;
  for (const int threads : {1, 2, 3, 5}) {
    Context ctx(Backend::cpu, threads);
    const auto a = assemble_laplace<double>(ctx, fine, StorageFormat::tensor);
    const Transfer<double> transfer(ctx, fine, coarse);
    const auto b = test::to_device<double>(ctx, fine.unknowns(), host_b);
    const auto x = test::to_device<double>(ctx, fine.unknowns(), host_x);
    Field<double> d(ctx, coarse.unknowns());
    transfer.restrict_residual(ctx, a, b.cview(), x.cview(), d.view());
    if (threads == 1) expected = test::to_host(ctx, d);
    EXPECT_EQ(test::to_host(ctx, d), expected) << threads << " threads";
    EXPECT_LT(reference::relative_difference(
                  expected,
                  reference::restrict_to(
                      fine.x().widths(), fine.y().widths(),
                      reference::residual(reference::laplace(fine.x().widths(), fine.y().widths()), host_b, host_x))),
              1e-12);
  }
}

}  // namespace
