// Hierarchies made from a matrix alone.

#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include <gmock/gmock.h>

#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/krylov/refinement.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

#include "support/backends.hpp"
#include "support/cell_coefficients.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class T>
class MatrixHierarchy : public test::OnEverySetting<T> {
 protected:
  using Number = T;
  Field<Number> random_vector(const GridLayout<2>& shape) {
    return test::random_vector<Number>(this->ctx(), random_, shape);
  }
  /// One cycle from zero.
  Values cycle(Multigrid<Number>& multigrid, const Field<Number>& b) {
    Field<Number> x(this->ctx(), b.shape());
    multigrid.apply(this->ctx(), b.cview(), x.view());
    EXPECT_TRUE(test::halo_is_zero(this->ctx(), x));
    return test::to_host(this->ctx(), x);
  }
  /// Iterations to a residual of 1e-8 with a cycle of this precision: CG where the cycle is symmetric, else refinement.
  SolveReport solve(const GridOperator<double>& a, Multigrid<Number>& multigrid) {
    auto& ctx = this->ctx();
    const auto b = test::to_device<double>(ctx, a.shape(), random_.values(static_cast<std::size_t>(a.shape().nodes())));
    Field<double> x(ctx, a.shape());
    std::optional<PrecisionCast<double, float>> cast;
    Preconditioner<double>* m = nullptr;
    if constexpr (std::is_same_v<Number, float>)
      m = &cast.emplace(ctx, a.shape(), multigrid);
    else
      m = &multigrid;
    StoppingParams stop;
    stop.max_iterations = 60;
    if (multigrid.is_symmetric())
      return ConjugateGradients<double>(ctx, a.shape()).solve(ctx, a, m, b.cview(), x.view(), stop);
    return Refinement<double>(ctx, a.shape()).solve(ctx, a, *m, b.cview(), x.view(), stop);
  }
  test::Random random_{211};
};

TEST_ON_EVERY_SETTING(MatrixHierarchy, OfTheLaplacianIsTheHierarchyOfItsMeshes) {
  auto& ctx = this->ctx();
  for (const auto& [cells_x, cells_y] : {std::pair{2, 2}, {32, 32}, {12, 20}, {7, 32}, {9, 15}})
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << cells_x << " x " << cells_y << " cells, " << to_string(format));
      const TensorMesh<2> mesh{Axis(this->random_.widths(cells_x)), Axis(this->random_.widths(cells_y))};
      const auto a = assemble_laplace<double>(ctx, mesh, format);
      MultigridParams params;
      params.exact_below = 0;  // a GPU would end the one cycle so, products not being of tensor form
      Multigrid<T> assembled(ctx, mesh_hierarchy(mesh), format, params), product(ctx, a, mesh, params);
      ASSERT_EQ(product.levels(), assembled.levels());
      const auto b = this->random_vector(mesh.unknowns());
      EXPECT_LT(reference::relative_difference(this->cycle(product, b), this->cycle(assembled, b)),
                20 * test::tolerance<T>);
    }
}

// By what the matrix couples, which is what the shape of the cells says where K = 1 (of 3 x 3 unknowns one counts).
TEST_ON_EVERY_SETTING(MatrixHierarchy, SmootherAutoChoosesByTheMatrixAsByItsMesh) {
  auto& ctx = this->ctx();
  MultigridParams params;
  params.smoother = "auto";
  for (const char* name : {"U1", "U3", "A3"}) {
    const auto mesh = make_mesh(mesh_family(name), 5);
    const auto a = assemble_laplace<double>(ctx, mesh, StorageFormat::symmetric);
    Multigrid<T> assembled(ctx, mesh_hierarchy(mesh), StorageFormat::symmetric, params), product(ctx, a, mesh, params);
    const auto expected = assembled.level_reports(), chosen = product.level_reports();
    ASSERT_EQ(chosen.size(), expected.size());
    for (std::size_t l = 2; l < chosen.size(); ++l) EXPECT_EQ(chosen[l].smoother, expected[l].smoother) << name << l;
    const auto report = this->solve(a, product);
    EXPECT_EQ(report.status, Status::converged) << name << ": " << report.reason;
    EXPECT_LE(report.iterations, 20) << name;
  }
}

TEST_ON_EVERY_SETTING(MatrixHierarchy, WithoutWidthsIsThatOfEqualWidths) {
  auto& ctx = this->ctx();
  const TensorMesh<2> mesh{bisected(3.0, 4), bisected(3.0, 4)};
  const auto a = assemble_laplace<double>(ctx, mesh, StorageFormat::nine_band);
  Multigrid<T> known(ctx, a, mesh, {}), unknown(ctx, a, {});
  const auto b = this->random_vector(mesh.unknowns());
  EXPECT_LT(reference::relative_difference(this->cycle(unknown, b), this->cycle(known, b)), test::tolerance<T>);
}

TEST_ON_EVERY_SETTING(MatrixHierarchy, SolvesWithCoefficientsThatJumpByAThousand) {
  auto& ctx = this->ctx();
  // Blocks whose boundaries lie between coarse lines, a checkerboard of blocks, and a strip.
  const auto island = [](int i, int j) { return i > 37 && i < 90 && j > 21 && j < 75 ? 1e3 : 1.0; };
  const auto board = [](int i, int j) { return (i / 13 + j / 11) % 2 == 0 ? 1e3 : 1.0; };
  const auto strip = [](int /*i*/, int j) { return j >= 61 && j < 64 ? 1e-3 : 1.0; };
  const auto one = [](int /*i*/, int /*j*/) { return 1.0; };
  const auto count = [&](const auto& k, StorageFormat format) {
    const auto oracle = test::variable_laplace(127, 127, k);
    const auto a = format == StorageFormat::symmetric ? test::symmetric_operator<double>(ctx, oracle)
                                                      : test::nine_band_operator<double>(ctx, oracle);
    MultigridParams params;
    params.symmetric = true;
    Multigrid<T> multigrid(ctx, a, params);
    const SolveReport report = this->solve(a, multigrid);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    return report.iterations;
  };
  for (const auto format : {StorageFormat::symmetric, StorageFormat::nine_band}) {
    EXPECT_LE(count(island, format), 11);
    EXPECT_LE(count(board, format), 13);
    EXPECT_LE(count(strip, format), 11);
    EXPECT_LE(count(one, format), 6);
  }
}

TEST_ON_EVERY_SETTING(MatrixHierarchy, SolvesAnisotropicAndNonsymmetricMatricesOfAnySize) {
  auto& ctx = this->ctx();
  for (const auto& [nx, ny] : {std::pair{63, 63}, {1, 1}, {1, 40}, {47, 95}, {24, 24}, {30, 64}})
    for (const auto& [vx, vy] : {std::pair{0.0, 0.0}, {1.0, 0.5}, {-0.3, 2.0}}) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << " unknowns, velocity " << vx << ", " << vy);
      const auto a = test::nine_band_operator<double>(ctx, test::convection(nx, ny, vx, vy));
      Multigrid<T> multigrid(ctx, a, {});
      const SolveReport report = this->solve(a, multigrid);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      EXPECT_LE(report.iterations, 10);
    }
}

TEST_ON_EVERY_SETTING(MatrixHierarchy, UpdateGivesTheHierarchyOfTheNewCoefficientsAndAllocatesNothing) {
  auto& ctx = this->ctx();
  // A coarsest level of one unknown, of many, and of all.
  for (const auto& [nx, ny] : {std::pair{31, 15}, {39, 27}, {8, 12}, {1, 1}})
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << " unknowns, " << to_string(format));
      auto a = test::random_operator<double>(ctx, this->random_, nx, ny, format).a;
      auto other = test::random_operator<double>(ctx, this->random_, nx, ny, format).a;
      Multigrid<T> multigrid(ctx, a, {});
      const auto b = this->random_vector(a.shape());
      Field<T> x(ctx, a.shape());
      // Often enough that a GPU replays what it recorded.
      for (int k = 0; k < 3; ++k) multigrid.apply(ctx, b.cview(), x.view());
      const auto expect_that_of = [&](const GridOperator<double>& operator_now, const char* what) {
        const auto before = ctx.memory()->allocations.load();
        multigrid.update(ctx, operator_now);
        EXPECT_EQ(ctx.memory()->allocations, before) << what;
        Multigrid<T> fresh(ctx, operator_now, {});
        for (int k = 0; k < 3; ++k) {
          multigrid.apply(ctx, b.cview(), x.view());
          EXPECT_EQ(test::to_host(ctx, x), this->cycle(fresh, b)) << what << ", cycle " << k;
        }
      };
      expect_that_of(other, "in other memory");
      assign(ctx, other, a);
      set(ctx, T(0), x.view());
      expect_that_of(a, "in the first memory again");
      std::visit(
          [&](auto& storage) {
            const auto thrice = [&](Field<double>& numbers) {
              if (!numbers.empty()) copy_scaled<double, double>(ctx, 3.0, numbers.cview(), numbers.view());
            };
            if constexpr (requires { storage.band; }) {
              for (auto& band : storage.band) thrice(band);
            } else if constexpr (requires { storage.k; }) {
              for (auto& k : storage.k) thrice(k);
            } else {
              thrice(storage.kx);
              thrice(storage.ky);
            }
          },
          a.storage());
      expect_that_of(a, "changed in place");
    }
}

TEST_ON_EVERY_SETTING(MatrixHierarchy, BadInputIsRefused) {
  auto& ctx = this->ctx();
  const auto oracle = this->random_.stencil(15, 15, false);
  const auto a = test::nine_band_operator<double>(ctx, oracle);
  const auto message_of = [](const auto& f) {
    try {
      f();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto uniform = [](int x, int y) { return uniform_mesh({x - 1, y - 1}); };
  EXPECT_THAT(message_of([&] { Multigrid<T>(ctx, a, uniform(16, 8), {}); }),
              testing::HasSubstr("16 x 8 cells has 15 x 7 unknowns; the matrix is for 15 x 15"));
  Multigrid<T> multigrid(ctx, a, {});
  const auto five = test::symmetric_operator<double>(ctx, this->random_.stencil(15, 15, true));
  const auto small = test::nine_band_operator<double>(ctx, this->random_.stencil(7, 15, false));
  EXPECT_THAT(message_of([&] { multigrid.update(ctx, five); }), testing::HasSubstr("given was a symmetric one"));
  EXPECT_THAT(message_of([&] { multigrid.update(ctx, small); }), testing::HasSubstr("7 x 15"));
  auto bad = oracle;
  bad.at(1, 1, 3, 3) = std::numeric_limits<double>::quiet_NaN();
  const auto not_finite = test::nine_band_operator<double>(ctx, bad);
  EXPECT_THAT(message_of([&] { multigrid.update(ctx, not_finite); }), testing::HasSubstr("nan"));
  EXPECT_THAT(message_of([&] { Multigrid<T>(ctx, not_finite, {}); }), testing::HasSubstr("nan"));
  Multigrid<T> assembled(ctx, mesh_hierarchy(uniform(16, 16)), StorageFormat::nine_band, {});
  EXPECT_THAT(message_of([&] { assembled.update(ctx, a); }), testing::HasSubstr("assembled from meshes"));
  MultigridParams automatic;
  automatic.smoother = "auto";
  EXPECT_THAT(message_of([&] { Multigrid<T>(ctx, a, automatic); }), testing::HasSubstr("widths"));
  // Alone on its level, a matrix of this size is out of proportion for LU.
  const auto large = test::nine_band_operator<double>(ctx, test::convection(400, 400, 1, 1));
  MultigridParams symmetric;
  symmetric.symmetric = true;
  EXPECT_THAT(message_of([&] { Multigrid<T>(ctx, large, symmetric); }),
              testing::HasSubstr("not: node (0, 0) has -1 towards (1, 0), which has -2 back"));
  auto little = this->random_.stencil(15, 15, true);
  little.at(1, 1, 3, 4) *= 1 + 1e-14;
  EXPECT_EQ(message_of([&] { Multigrid<T>(ctx, test::nine_band_operator<double>(ctx, little), symmetric); }),
            "accepted");
  little.at(1, 1, 3, 4) *= 1 + 1e-6;
  EXPECT_THAT(message_of([&] { Multigrid<T>(ctx, test::nine_band_operator<double>(ctx, little), symmetric); }),
              testing::HasSubstr("node (3, 4) has"));
  for (const auto format : {StorageFormat::symmetric, StorageFormat::nine_band}) {
    auto hollow = this->random_.stencil(15, 15, true);
    hollow.at(0, 0, 9, 6) = hollow.at(0, 0, 2, 7) = 0;
    const auto operator_of = [&](const reference::Stencil& s) {
      return format == StorageFormat::symmetric ? test::symmetric_operator<double>(ctx, s)
                                                : test::nine_band_operator<double>(ctx, s);
    };
    EXPECT_THAT(message_of([&] { Multigrid<T>(ctx, operator_of(hollow), {}); }),
                testing::HasSubstr("diagonal entry at node (9, 6) is zero"));
    EXPECT_THAT(message_of([&] { Multigrid<T>(ctx, operator_of(reference::Stencil(15, 15)), {}); }),
                testing::HasSubstr("node (0, 0) is zero"));
  }
  if constexpr (std::is_same_v<T, float>) {
    auto huge = oracle;
    huge.at(0, 0, 3, 3) = 1e39;
    EXPECT_THAT(message_of([&] { Multigrid<T>(ctx, test::nine_band_operator<double>(ctx, huge), {}); }),
                testing::HasSubstr("does not fit the precision"));
  }
}

TEST_ON_EVERY_SETTING(MatrixHierarchy, VectorsThatDoNotFitAreRefused) {
  auto& ctx = this->ctx();
  Multigrid<T> multigrid(ctx, test::nine_band_operator<double>(ctx, this->random_.stencil(63, 63, true)), {});
  Field<T> small(ctx, test::unknowns(10, 10)), r(ctx, test::unknowns(63, 63)), z(ctx, r.shape());
  const auto message_of = [&](FieldView<const T> b, FieldView<T> x) {
    try {
      multigrid.apply(ctx, b, x);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message_of(r.cview(), z.view()), "accepted");
  EXPECT_THAT(message_of(r.cview(), small.view()), testing::HasSubstr("x must be 63 x 63, not 10 x 10"));
  EXPECT_THAT(message_of(small.cview(), z.view()), testing::HasSubstr("b must be 63 x 63"));
  EXPECT_THAT(message_of(r.cview(), FieldView<T>{nullptr, 63, 63, 64}), testing::HasSubstr("no memory"));
  if (!ctx.on_gpu()) return;
  std::vector<T> host(64 * 65);
  EXPECT_THAT(message_of(r.cview(), FieldView<T>{&host[65], 63, 63, 64}),
              testing::HasSubstr("x does not lie in memory of the device"));
  EXPECT_EQ(message_of(r.cview(), z.view()), "accepted");
}

TEST_ON_EVERY_SETTING(MatrixHierarchy, KeepsAliveWhatItUses) {
  auto& ctx = this->ctx();
  const auto oracle = this->random_.stencil(31, 31, true);
  const auto a = test::nine_band_operator<double>(ctx, oracle);
  const auto b = test::to_device<double>(ctx, a.shape(), this->random_.values(31 * 31));
  const auto result = [&](Preconditioner<double>& m) {
    Field<double> z(ctx, a.shape());
    m.apply(ctx, b.cview(), z.view());
    return test::to_host(ctx, z);
  };
  Multigrid<T> kept(ctx, a, {});
  PrecisionCast<double, T> expected(ctx, a.shape(), kept);
  // Matrix, cycle and cast are all somebody else's temporaries.
  std::optional<PrecisionCast<double, T>> m;
  {
    Multigrid<T> cycle(ctx, test::nine_band_operator<double>(ctx, oracle), {});
    m.emplace(ctx, a.shape(), cycle);
  }
  const Values trash = this->random_.values(31 * 31 * 20);
  const auto over_it = test::to_device<double>(ctx, GridLayout<2>::flat(31 * 31 * 20), trash);
  EXPECT_EQ(result(*m), result(expected));
  PrecisionCast<double, double> twice(ctx, a.shape(), *m);
  m.reset();
  EXPECT_EQ(result(twice), result(expected));
}

/// Twice at once on one cycle: the right answer or an error, never a wrong answer.
TEST(MultigridThreads, TwoThreadsOnOneCycleAreToldSo) {
  Context ctx(Backend::cpu, 1);
  test::Random random(12);
  const auto a = test::nine_band_operator<double>(ctx, random.stencil(63, 63, true));
  Multigrid<double> cycle(ctx, a, {});
  const auto b = test::to_device<double>(ctx, a.shape(), random.values(63 * 63));
  Field<double> z(ctx, a.shape());
  cycle.apply(ctx, b.cview(), z.view());
  const Values expected = test::to_host(ctx, z);
  std::atomic<int> refused = 0, wrong = 0;
  const auto rounds = [&] {
    Context own(Backend::cpu, 1);
    Field<double> mine(own, a.shape());
    for (int k = 0; k < 200; ++k) try {
        cycle.apply(own, b.cview(), mine.view());
        if (test::to_host(own, mine) != expected) ++wrong;
      } catch (const UsageError& error) {
        if (std::string(error.what()).find("in use") != std::string::npos) ++refused;
      }
  };
  std::thread other(rounds);
  rounds();
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(refused, 0) << "the two never met";
}

}  // namespace
