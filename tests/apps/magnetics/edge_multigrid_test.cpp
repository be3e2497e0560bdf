#include <stratum/magnetics/edge_multigrid.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/magnetics/team20_problem.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
#include <stratum/solvers/solver.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Values = std::vector<double>;

Values product(const SparseRows& a, const Values& x) {
  Values y(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < y.size(); ++i)
    for (auto k = std::size_t(a.start[i]); k < std::size_t(a.start[i + 1]); ++k)
      y[i] += a.value[k] * x[std::size_t(a.column[k])];
  return y;
}

double largest(const Values& x) {
  double size = 0;
  for (const double v : x) size = std::max(size, std::abs(v));
  return size;
}

/// Random widths, and a coarser grid of which some planes are left out.
std::pair<BoxGrid, BoxGrid> nested(test::Random& random) {
  std::array<Values, 3> fine, coarse;
  for (std::size_t d = 0; d < 3; ++d) {
    double at = 0;
    for (std::size_t i = 0; i <= 6 + d; ++i) {
      fine[d].push_back(at);
      if (i % 2 == 0 || i == 5 || i == 6 + d) coarse[d].push_back(at);
      at += random.uniform(0.05, 1);
    }
  }
  return {BoxGrid(fine), BoxGrid(coarse)};
}

class EdgeTransfer : public testing::TestWithParam<EdgeElement> {};
INSTANTIATE_TEST_SUITE_P(All, EdgeTransfer, testing::Values(EdgeElement::hexahedron, EdgeElement::tetrahedron),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST_P(EdgeTransfer, TakesGradientsToGradients) {
  test::Random random(11);
  Context ctx(Backend::cpu, 1);
  const auto [fine_grid, coarse_grid] = nested(random);
  const EdgeElements fine(fine_grid, GetParam()), coarse(coarse_grid, EdgeElement::hexahedron);
  const SparseRows p = edge_prolongation(fine, coarse);
  p.validate();
  const Values phi = random.values(coarse.kernel_size());
  const Values image = product(p, product(coarse.gradient(), phi));
  EXPECT_GT(largest(image), 0.1);
  const Values one(std::size_t(fine.elements()), 1.0);
  EXPECT_LT(largest(fine.apply(ctx, one, image)), 1e-12 * largest(image));
}

TEST(EdgeTransfer, CoarseMatrixIsThatOfTheNestedSpace) {
  test::Random random(12);
  Context ctx(Backend::cpu, 1);
  const auto [fine_grid, coarse_grid] = nested(random);
  const EdgeElements fine(fine_grid, EdgeElement::hexahedron), coarse(coarse_grid, EdgeElement::hexahedron);
  const SparseRows p = edge_prolongation(fine, coarse);
  const Values x = random.values(coarse.unknowns());
  const Values galerkin =
      product(transposed(p), product(fine.curl_curl(ctx, Values(std::size_t(fine.elements()), 0.3)), product(p, x)));
  const Values assembled = product(coarse.curl_curl(ctx, Values(std::size_t(coarse.elements()), 0.3)), x);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(galerkin[i], assembled[i], 1e-13 * largest(assembled));
}

TEST(EdgeTransfer, RefusesCoarsePlanesThatAreNotThere) {
  const EdgeElements fine(BoxGrid({Values{0, 1, 2}, Values{0, 1, 2}, Values{0, 1, 2}}), EdgeElement::hexahedron);
  const EdgeElements coarse(BoxGrid({Values{0, 1.5, 2}, Values{0, 1, 2}, Values{0, 1, 2}}), EdgeElement::hexahedron);
  EXPECT_THAT([&] { (void)edge_prolongation(fine, coarse); }, ThrowsMessage<UsageError>(HasSubstr("1.5")));
}

struct Device {
  EdgeElements elements;
  std::vector<team20::Material> materials;
  EdgeMultigridParams params;

  explicit Device(const team20::GridParams& grid, EdgeElement element = EdgeElement::hexahedron)
      : elements(team20::make_grid(grid), element), materials(team20::materials(elements.grid())) {
    std::vector<int> marks;
    for (const auto m : materials) marks.push_back(team20::is_steel(m) ? 1 : 0);
    params.kept = planes_between_marks(elements.grid(), marks);
  }
  [[nodiscard]] Values nu(double permeability) const {
    Values all;
    for (int e = 0; e < elements.elements(); ++e)
      all.push_back(team20::is_steel(materials[std::size_t(elements.box_of(e))]) ? 1 / permeability : 1);
    return all;
  }
};

TEST(EdgeCoarsening, KeepsThePlanesBetweenMaterialsAndMergesSmallCellsFirst) {
  const Device device({3.2e-3, 1.3});
  const auto grids = coarsened(device.elements.grid(), device.params);
  EXPECT_GE(grids.size(), 4U);
  for (const auto& grid : grids) EXPECT_NO_THROW((void)team20::materials(grid));  // all faces are there
  double sum = 0;
  for (const auto& grid : grids) sum += EdgeElements(grid, EdgeElement::hexahedron).unknowns();
  EXPECT_LT(sum, 2 * device.elements.unknowns());
  EXPECT_LE(EdgeElements(grids.back(), EdgeElement::hexahedron).unknowns(), device.params.coarsest);
  // No cell is wider than twice the median on the second grid that was not so before.
  for (int d = 0; d < 3; ++d)
    for (int i = 0; i < grids[1].cells(d); ++i) {
      const auto& p = grids[0].planes(d);
      const bool merged = std::count_if(p.begin(), p.end(), [&](double at) {
                            return at > grids[1].plane(d, i) + 1e-9 && at < grids[1].plane(d, i + 1) - 1e-9;
                          }) > 0;
      if (merged) {
        EXPECT_LT(grids[1].width(d, i), 6.5e-3);
      }
    }
}

class EdgeMultigridTest : public test::OnEveryBackend {
 protected:
  /// Iterations of CG to 1e-8; -1 where it does not get there.
  template <class Low = double>
  int iterations(const Device& device, double permeability) {
    const Values nu = device.nu(permeability);
    const SparseRows a = device.elements.curl_curl(ctx(), nu);
    const auto b = vector_from_host(ctx(), device.elements.load(ctx(), team20::current_potential(1000), 2));
    return iterations<Low>(EdgeMultigrid<Low>(ctx(), device.elements, a, nu, device.params), a, b);
  }
  template <class Low>
  int iterations(EdgeMultigrid<Low> multigrid, const SparseRows& a, const Field<double>& b) {
    const auto shape = GridLayout<2>::flat(a.rows);
    std::shared_ptr<Preconditioner<double>> m;
    if constexpr (std::is_same_v<Low, float>)
      m = std::make_shared<PrecisionCast<double, float>>(ctx(), shape, multigrid);
    else
      m = std::make_shared<EdgeMultigrid<double>>(multigrid);
    Field<double> x(ctx(), shape);
    const auto report = make_solver<double>(ctx(), "cg", shape)
                            ->solve(ctx(), CsrMatrix<double>(ctx(), a), m.get(), b.cview(), x.view(), {.rtol = 1e-8});
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    return report.status == Status::converged ? report.iterations : -1;
  }
};
INSTANTIATE_ON_EVERY_BACKEND(EdgeMultigridTest);

TEST_P(EdgeMultigridTest, TakesFewIterationsWhateverThePermeability) {
  const Device device({4.6e-3, 1.3});
  EXPECT_EQ(device.elements.unknowns(), 43181);
  EXPECT_LE(iterations(device, 1), 14);
  for (const double permeability : {200.0, 1e5}) {
    const int count = iterations(device, permeability);
    EXPECT_LE(count, 18) << permeability;
    EXPECT_NEAR(iterations<float>(device, permeability), count, 1) << permeability;
  }
}

TEST_P(EdgeMultigridTest, ThinGapsCostNothing) { EXPECT_LE(iterations(Device({7.7e-3, 1.45, 16}), 1000), 18); }

// The auxiliary space of the hexahedra: as many iterations on every mesh.
TEST_P(EdgeMultigridTest, TetrahedraOfCubesTakeAsManyOnEveryMesh) {
  test::Random random(4);
  for (const int n : {8, 12, 16}) {
    Values p;
    for (int i = 0; i <= n; ++i) p.push_back(1.0 * i / n);
    const EdgeElements elements(BoxGrid({p, p, p}), EdgeElement::tetrahedron);
    const Values nu(std::size_t(elements.elements()), 1.0);
    const SparseRows a = elements.curl_curl(ctx(), nu);
    const auto b = vector_from_host(ctx(), product(a, random.values(a.rows)));
    EXPECT_LE(iterations(EdgeMultigrid<double>(ctx(), elements, a, nu), a, b), 15) << n;
  }
}

TEST_P(EdgeMultigridTest, IsLinearSymmetricPositiveAndAllocatesNothing) {
  const Device device({11e-3, 1.5});
  const Values nu = device.nu(1000);
  const SparseRows a = device.elements.curl_curl(ctx(), nu);
  EdgeMultigrid<double> m(ctx(), device.elements, a, nu, device.params);
  EXPECT_GE(m.unknowns().size(), 2U);
  test::Random random(8);
  // Right-hand sides without gradients, which are what the systems have.
  const auto r = vector_from_host(ctx(), product(a, random.values(a.rows)));
  const auto s = vector_from_host(ctx(), product(a, random.values(a.rows)));
  Field<double> mr(ctx(), a.rows), ms(ctx(), a.rows), sum(ctx(), a.rows), msum(ctx(), a.rows);
  reserve_reductions(ctx(), mr.shape());
  const auto before = ctx().memory()->allocations.load();
  m.apply(ctx(), r.cview(), mr.view());
  m.apply(ctx(), s.cview(), ms.view());
  EXPECT_EQ(ctx().memory()->allocations.load(), before);
  const double product_rs = dot<double>(ctx(), mr.cview(), s.cview());
  EXPECT_NEAR(product_rs, dot<double>(ctx(), r.cview(), ms.cview()),
              1e-11 * norm2(ctx(), mr.cview()) * norm2(ctx(), s.cview()));
  EXPECT_GT(dot<double>(ctx(), mr.cview(), r.cview()), 0);
  copy<double, double>(ctx(), r.cview(), sum.view());
  axpy<double, double>(ctx(), -3, s.cview(), sum.view());
  m.apply(ctx(), sum.cview(), msum.view());
  axpy<double, double>(ctx(), -1, mr.cview(), msum.view());
  axpy<double, double>(ctx(), 3, ms.cview(), msum.view());
  EXPECT_LT(norm2(ctx(), msum.cview()), 1e-11 * norm2(ctx(), mr.cview()));
}

TEST_P(EdgeMultigridTest, RefusesWhatDoesNotFit) {
  const Device device({20e-3, 2});
  const Values nu = device.nu(1000);
  const SparseRows a = device.elements.curl_curl(ctx(), nu);
  const auto make = [&](const SparseRows& matrix, const Values& of_elements, const EdgeMultigridParams& params) {
    EdgeMultigrid<double>(ctx(), device.elements, matrix, of_elements, params);
  };
  EXPECT_THROW(make(device.elements.gradient(), nu, device.params), UsageError);
  EXPECT_THROW(make(a, {1.0}, device.params), UsageError);
  EXPECT_THROW(make(a, nu, {{std::vector<bool>{true}, {}, {}}}), UsageError);
  EXPECT_THROW((void)planes_between_marks(device.elements.grid(), {1}), UsageError);
}

}  // namespace
