#include <stratum/solvers/direct/dense_inverse.hpp>

#include <gmock/gmock.h>

#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"
#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class T>
class DenseInverseTest : public test::OnEverySetting<T> {
 protected:
  /// How far A^-1 A x, A x rounded, is from x.
  [[nodiscard]] double error_of(const GridOperator<double>& a, const Field<double>& x) {
    auto& ctx = this->ctx();
    DenseInverse<T> inverse(ctx, a);
    Field<double> b(ctx, a.shape());
    a.apply(ctx, x.cview(), b.view());
    Field<T> narrow(ctx, a.shape()), found(ctx, a.shape());
    copy<double, T>(ctx, b.cview(), narrow.view());
    inverse.apply(ctx, narrow.cview(), found.view());
    return reference::relative_difference(test::to_host(ctx, found), test::to_host(ctx, x));
  }
};

TEST_ON_EVERY_SETTING(DenseInverseTest, AgreesWithEliminationInEveryForm) {
  auto& ctx = this->ctx();
  test::Random random(131);
  for (const auto& [nx, ny] :
       {std::pair{1, 1}, {1, 7}, {9, 2}, {8, 8}, {64, 1}, {17, 17}, {31, 31}, {12, 80}, {33, 33}})
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
      const auto [oracle, a] = test::random_operator<double>(ctx, random, nx, ny, format);
      DenseInverse<T> inverse(ctx, a);
      const auto b = test::random_vector<T>(ctx, random, a.shape());
      Field<T> x(ctx, a.shape());
      const auto before = ctx.memory()->allocations.load();
      inverse.apply(ctx, b.cview(), x.view());
      inverse.factor(ctx, a);
      EXPECT_EQ(ctx.memory()->allocations, before);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), reference::solve(oracle, test::to_host(ctx, b))),
                test::tolerance<T>);
    }
}

TEST_ON_EVERY_SETTING(DenseInverseTest, UndoesPeriodicOperators) {
  auto& ctx = this->ctx();
  test::Random random(133);
  for (const auto& [nx, ny] : {std::pair{3, 3}, {7, 6}, {5, 8}, {4, 11}, {16, 16}})
    for (const auto& [periodic_x, periodic_y] : {std::pair{true, false}, {false, true}, {true, true}})
      for (const auto format : test::every_storage_format) {
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format) << (periodic_x ? ", x" : "")
                                        << (periodic_y ? ", y" : ""));
        const auto a = test::random_operator<double>(ctx, random, nx, ny, format, periodic_x, periodic_y).a;
        EXPECT_LT(this->error_of(a, test::random_vector<double>(ctx, random, a.shape())), 10 * test::tolerance<T>);
      }
}

// Cells stretched by up to 10^8: elimination meets rows that differ as much.
TEST_ON_EVERY_SETTING(DenseInverseTest, HoldsOnStretchedMeshes) {
  auto& ctx = this->ctx();
  for (const char* name : {"A3", "A5"}) {
    SCOPED_TRACE(name);
    const auto a = assemble_laplace<double>(ctx, make_mesh(mesh_family(name), 5), StorageFormat::tensor);
    Field<double> ones(ctx, a.shape());
    set(ctx, 1.0, ones.view());
    EXPECT_LT(this->error_of(a, ones), test::tolerance<T>);
  }
}

TEST_ON_EVERY_SETTING(DenseInverseTest, ExchangesRowsWhereTheDiagonalIsSmall) {
  auto& ctx = this->ctx();
  test::Random random(134);
  auto oracle = test::random_operator<double>(ctx, random, 6, 5, StorageFormat::nine_band).oracle;
  for (int j = 0; j < 5; ++j)
    for (int i = 0; i < 6; ++i) oracle.at(0, 0, i, j) *= 1e-8;
  const auto a = test::nine_band_operator<double>(ctx, oracle);
  EXPECT_LT(this->error_of(a, test::random_vector<double>(ctx, random, a.shape())), 1e3 * test::tolerance<T>);
}

// Periodic both ways: constants are in the null space. The result has no mean, and neither does what it was made from.
TEST_ON_EVERY_SETTING(DenseInverseTest, ASingularOperatorIsSolvedWithoutAMean) {
  auto& ctx = this->ctx();
  const Axis line = Axis({0.1, 0.3, 0.25, 0.35}).with_boundaries(BoundaryType::periodic, BoundaryType::periodic);
  const auto a = assemble_laplace<double>(ctx, {line, line}, StorageFormat::tensor);
  DenseInverse<T> inverse(ctx, a, true);
  test::Random random(132);
  const auto b = test::random_vector<T>(ctx, random, a.shape());
  Field<T> x(ctx, a.shape());
  inverse.apply(ctx, b.cview(), x.view());
  const Values given = test::to_host(ctx, b), found = test::to_host(ctx, x);
  double mean = 0, sum = 0;
  for (const double value : given) mean += value / static_cast<double>(given.size());
  for (const double value : found) sum += value;
  EXPECT_NEAR(sum, 0, 100 * test::tolerance<T>);
  Field<double> wide(ctx, a.shape()), ax(ctx, a.shape());
  copy<T, double>(ctx, x.cview(), wide.view());
  a.apply(ctx, wide.cview(), ax.view());
  const Values image = test::to_host(ctx, ax);
  for (std::size_t k = 0; k < image.size(); ++k) EXPECT_NEAR(image[k], given[k] - mean, 20 * test::tolerance<T>);
}

TEST(DenseInverseErrors, SingularAndLargeOperatorsAreRefused) {
  Context ctx(Backend::cpu, 1);
  const Axis line = Axis({0.1, 0.3, 0.25, 0.35}).with_boundaries(BoundaryType::periodic, BoundaryType::periodic);
  const auto singular = assemble_laplace<double>(ctx, {line, line}, StorageFormat::tensor);
  EXPECT_THROW(DenseInverse<double>(ctx, singular), BreakdownError);
  EXPECT_THROW(DenseInverse<double>(ctx, GridOperator<double>(TensorOperator<double>(ctx, test::unknowns(109, 10)))),
               UsageError)
      << "1090 unknowns";
}

// Not "singular": the entries, or sums of them, are beyond the largest double.
TEST(DenseInverseErrors, OverflowIsToldWithTheRow) {
  Context ctx(Backend::cpu, 1);
  auto a = assemble_laplace<double>(ctx, {Axis({0.1, 0.3, 0.25}), Axis({1.0, 2.0, 1.0})}, StorageFormat::nine_band);
  std::get<NineBandMatrix<double>>(a.storage()).band[4].view()(1, 1) = std::numeric_limits<double>::infinity();
  EXPECT_THAT(test::error_text<BreakdownError>([&] { (void)DenseInverse<double>(ctx, a); }),
              testing::AllOf(testing::HasSubstr("row 3 of 4"), testing::HasSubstr("overflows")));
}

}  // namespace
