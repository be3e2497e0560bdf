// Matrices as other people have them: read, detected about, solved; and refused with the row that is wrong.

#include <stratum/multigrid/structured/matrix_solver.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>

#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include <gmock/gmock.h>

#include "matrices.hpp"

namespace {

using namespace stratum;
using namespace test::matrices;
using reference::norm;
using testing::HasSubstr;

/// Nine-point: bilinear elements on a named mesh.
Matrix elements(const char* mesh, int level) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<2> m = make_mesh(mesh_family(mesh), level);
  const SparseRows a = sparse_rows(ctx, assemble_operator<double>(ctx, m, StorageFormat::nine_band, {}));
  return {m.unknowns().nx, m.unknowns().ny, a.start, a.column, a.value};
}

/// Unknown u of the result is unknown order[u] of a.
Matrix reordered(const Matrix& a, const std::vector<int>& order) {
  std::vector<int> place(order.size());
  for (std::size_t u = 0; u < order.size(); ++u) place[static_cast<std::size_t>(order[u])] = static_cast<int>(u);
  Matrix r{a.nx, a.ny, {0}, {}, {}};
  for (const int k : order) {
    for (int e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e) {
      r.column.push_back(place[static_cast<std::size_t>(a.column[static_cast<std::size_t>(e)])]);
      r.value.push_back(a.value[static_cast<std::size_t>(e)]);
    }
    r.start.push_back(static_cast<int>(r.column.size()));
  }
  return r;
}

/// Columns, as Eigen has them unless told otherwise; of a symmetric matrix.
struct Compressed {
  static constexpr bool IsRowMajor = false;
  const Matrix& a;
  bool has_gaps = false;
  [[nodiscard]] bool isCompressed() const { return !has_gaps; }
  [[nodiscard]] const int* outerIndexPtr() const { return a.start.data(); }
  [[nodiscard]] const int* innerIndexPtr() const { return a.column.data(); }
  [[nodiscard]] const double* valuePtr() const { return a.value.data(); }
  [[nodiscard]] int outerSize() const { return a.rows(); }
};

class MatrixSolverTest : public SolvesMatrices {};

INSTANTIATE_ON_EVERY_BACKEND(MatrixSolverTest);

// Deflation, which it would look for by itself, is not for them.
TEST_P(MatrixSolverTest, ConjugateGradientsInFloat) {
  MatrixSolverParams params;
  params.solver.precision = Precision::residual_replacement;
  for (const char* mesh : {"U1", "A3"}) expect_solved(elements(mesh, 6), 12, params);
}

TEST_P(MatrixSolverTest, FindsTheOrderOfUnknowns) {
  const Matrix x_first = FivePoint{}.matrix(), y_first = FivePoint{.y_first = true}.matrix();
  EXPECT_EQ(from_csr(x_first).rows().numbering, Numbering::x_first);
  EXPECT_EQ(from_csr(y_first).rows().numbering, Numbering::y_first);
  expect_solved(x_first, 8);
  expect_solved(y_first, 8);
  // Distances along y look like diagonals of the other order, and its ends like a periodic direction.
  const Matrix alike = FivePoint{.nx = 30, .ny = 29, .y_first = true}.matrix();
  const MatrixSolver solver = from_csr(alike);
  EXPECT_EQ(solver.rows().numbering, Numbering::y_first);
  EXPECT_FALSE(solver.rows().periodic_x || solver.rows().periodic_y);
  expect_solved(alike, 8);
}

TEST_P(MatrixSolverTest, TakesAnOrderThatIsGiven) {
  Matrix a = FivePoint{.nx = 31, .ny = 17}.matrix();
  fix(a, {5, 40, 200}, 3);
  std::vector<int> order(static_cast<std::size_t>(a.rows()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  const Matrix shuffled = reordered(a, order);
  MatrixSolverParams params;
  params.numbering = order;
  expect_solved(shuffled, 9, params);
  expect_refused(shuffled,
                 "is no neighbour of it on a grid of 31 x 17 nodes numbered along x or along y; of another order");
  params.numbering[3] = params.numbering[4];
  expect_refused(shuffled, "unknowns 3 and 4 are both said to be node", params);
  params.numbering[3] = a.rows();
  expect_refused(shuffled, "unknown 3 is said to be node 527 of a grid of 31 x 17", params);
  params.numbering.pop_back();
  expect_refused(shuffled, "there are 526 nodes given for 527 unknowns", params);
}

TEST_P(MatrixSolverTest, EveryWayInGivesTheSame) {
  const Matrix a = elements("A3", 5);
  const std::vector<double> b = random_numbers(a.rows());
  const auto solution = [&](MatrixSolver solver) {
    std::vector<double> x(b.size(), 0.0);
    EXPECT_EQ(solver.solve(ctx(), b, x).status, Status::converged);
    return x;
  };
  const std::vector<double> expected = solution(from_csr(a));
  EXPECT_LE(relative_residual(a, b, expected), 1e-8);

  const std::vector<std::int64_t> long_start(a.start.begin(), a.start.end()),
      long_column(a.column.begin(), a.column.end());
  const std::vector<unsigned> unsigned_column(a.column.begin(), a.column.end());
  EXPECT_EQ(solution(MatrixSolver::from_csr(ctx(), long_start, long_column, a.value, a.nx, a.ny)), expected);
  EXPECT_EQ(solution(MatrixSolver::from_csr(ctx(), long_start, unsigned_column, a.value, a.nx, a.ny)), expected);
  EXPECT_EQ(solution(MatrixSolver::from_csr(ctx(), a.start.data(), a.column.data(), a.value.data(), a.nx, a.ny)),
            expected);

  const std::vector<std::int64_t> far{(std::int64_t{1} << 32) + 5};
  expect_usage_error([&] { (void)MatrixSolver::from_coo(ctx(), far, far, std::vector<double>{1}, a.nx, a.ny); },
                     "index 4294967301 does not fit 32 bits");

  // Entries in any order, halves of them twice.
  std::vector<int> row, column;
  std::vector<double> value;
  for (int half = 0; half < 2; ++half)
    for (int k = a.rows(); k-- > 0;)
      for (int e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e) {
        row.push_back(k);
        column.push_back(a.column[static_cast<std::size_t>(e)]);
        value.push_back(a.value[static_cast<std::size_t>(e)] / 2);
      }
  EXPECT_EQ(solution(MatrixSolver::from_coo(ctx(), row, column, value, a.nx, a.ny)), expected);

  const SparseRows rows = sparse_rows(ctx(), from_csr(a).rows().a);
  EXPECT_EQ(solution(MatrixSolver(ctx(), rows, a.nx, a.ny)), expected);
  EXPECT_EQ(solution(make_solver(ctx(), from_csr(a).rows().a)), expected);

  std::vector<double> bands(9 * b.size(), 0.0);
  for (int k = 0; k < a.rows(); ++k)
    for (int e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e) {
      const int m = a.column[static_cast<std::size_t>(e)];
      bands[static_cast<std::size_t>(band_index(m % a.nx - k % a.nx, m / a.nx - k / a.nx)) * b.size() +
            static_cast<std::size_t>(k)] = a.value[static_cast<std::size_t>(e)];
    }
  EXPECT_EQ(solution(MatrixSolver::from_bands(ctx(), bands, a.nx, a.ny)), expected);
  const std::span<const double> five = std::span(bands).subspan(4 * b.size());
  EXPECT_EQ(solution(MatrixSolver::from_bands(ctx(), five, a.nx, a.ny)), expected);
  struct View {
    const double* data;
    std::array<int, 3> extents;
    [[nodiscard]] int extent(int k) const { return extents[static_cast<std::size_t>(k)]; }
    double operator()(int k, int j, int i) const { return data[(k * extents[1] + j) * extents[2] + i]; }
  };
  EXPECT_EQ(solution(MatrixSolver::from_bands(ctx(), View{bands.data(), {9, a.ny, a.nx}})), expected);

  EXPECT_EQ(solution(MatrixSolver::from_matrix(ctx(), Compressed{a}, a.nx, a.ny)), expected);
  Matrix outside = a;
  outside.column.back() = a.rows();
  expect_usage_error([&] { (void)MatrixSolver::from_matrix(ctx(), Compressed{outside}, a.nx, a.ny); },
                     "columns must increase");
}

TEST_P(MatrixSolverTest, ColumnsOfARowMayComeInAnyOrderAndRepeat) {
  const Matrix a = elements("A3", 4);
  Matrix turned = a;
  for (std::size_t k = 0; k + 1 < a.start.size(); ++k) {
    std::reverse(turned.column.begin() + a.start[k], turned.column.begin() + a.start[k + 1]);
    std::reverse(turned.value.begin() + a.start[k], turned.value.begin() + a.start[k + 1]);
  }
  Matrix repeated{a.nx, a.ny, {0}, {}, {}};
  for (std::size_t k = 0; k + 1 < a.start.size(); ++k) {
    for (const double share : {0.25, 0.75})
      for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e) {
        repeated.column.push_back(a.column[e]);
        repeated.value.push_back(share * a.value[e]);
      }
    repeated.start.push_back(static_cast<int>(repeated.column.size()));
  }
  expect_solved(turned, 12);
  expect_solved(repeated, 12);
}

TEST_P(MatrixSolverTest, FindsSymmetryAndKeepsFiveBandsWhereTheySuffice) {
  Matrix a = elements("A3", 4);
  const MatrixSolver solver = from_csr(a);
  EXPECT_TRUE(solver.rows().symmetric && solver.is_symmetric());
  EXPECT_EQ(solver.rows().a.format(), StorageFormat::symmetric);
  // Rounding apart: symmetric, but five bands would be another matrix.
  a.value[1] *= 1 + 1e-13;
  EXPECT_TRUE(from_csr(a).rows().symmetric);
  EXPECT_EQ(from_csr(a).rows().a.format(), StorageFormat::nine_band);
  expect_solved(a, 12);
  a.value[1] *= 1.5;
  EXPECT_FALSE(from_csr(a).rows().symmetric);
  EXPECT_FALSE(from_csr(a).is_symmetric());
  expect_solved(a, 12);
  MatrixSolverParams claim;
  claim.symmetric = true;
  expect_refused(a, "the matrix is said to be symmetric and is not: row ", claim);
}

TEST_P(MatrixSolverTest, FindsWhatItsSidesAre) {
  const auto ends = [&](const FivePoint& p) {
    const GridRows& rows = from_csr(p.matrix()).rows();
    return std::array{rows.west, rows.east, rows.south, rows.north};
  };
  constexpr auto d = BoundaryType::dirichlet, n = BoundaryType::neumann, p = BoundaryType::periodic;
  for (const double stretched : {1.0, 1e-3, 1e3}) {
    EXPECT_THAT(ends({.hx = stretched}), testing::ElementsAre(d, d, d, d));
    EXPECT_THAT(ends({.hx = stretched, .west = false}), testing::ElementsAre(n, d, d, d));
    EXPECT_THAT(ends({.hx = stretched, .east = false, .south = false}), testing::ElementsAre(d, n, n, d));
    EXPECT_THAT(ends({.hx = stretched, .reaction = 1e-4, .west = false, .east = false, .south = false, .north = false}),
                testing::ElementsAre(n, n, n, n));
    EXPECT_THAT(ends({.hx = stretched, .periodic_x = true}), testing::ElementsAre(p, p, d, d));
    EXPECT_THAT(ends({.hx = stretched, .north = false, .periodic_x = true, .y_first = true, .jump = 100}),
                testing::ElementsAre(p, p, d, n));
  }
  for (const bool y_first : {false, true}) {
    expect_solved(
        FivePoint{.nx = 65, .ny = 33, .west = false, .north = false, .y_first = y_first, .jump = 1e3}.matrix(), 10);
    expect_solved(FivePoint{.nx = 64, .ny = 33, .hx = 0.1, .periodic_x = true, .y_first = y_first}.matrix(), 12);
    expect_solved(
        FivePoint{.nx = 30, .ny = 30, .reaction = 0.1, .periodic_x = true, .periodic_y = true, .y_first = y_first}
            .matrix(),
        10);
  }
}

// As rows look otherwise where a mass matrix dominates: the number of cells says which nodes there are.
TEST_P(MatrixSolverTest, TheNumberOfWidthsSaysWhatSidesAre) {
  const auto ends = [&](const FivePoint& p, std::size_t cells_x, std::size_t cells_y) {
    MatrixSolverParams params;
    params.widths_x.assign(cells_x, 1.0);
    params.widths_y.assign(cells_y, 1.0);
    const GridRows& rows = from_csr(p.matrix(), params).rows();
    return std::array{rows.west, rows.east, rows.south, rows.north};
  };
  constexpr auto d = BoundaryType::dirichlet, n = BoundaryType::neumann, p = BoundaryType::periodic;
  EXPECT_THAT(ends({}, 11, 9), testing::ElementsAre(n, n, n, n));
  EXPECT_THAT(ends({}, 11, 11), testing::ElementsAre(n, n, d, d));
  EXPECT_THAT(ends({.south = false, .north = false}, 13, 11), testing::ElementsAre(d, d, d, d));
  EXPECT_THAT(ends({.west = false}, 12, 11), testing::ElementsAre(n, d, d, d));
  EXPECT_THAT(ends({.periodic_x = true}, 12, 9), testing::ElementsAre(p, p, n, n));
}

TEST_P(MatrixSolverTest, SmallAndThinGrids) {
  for (const auto& [nx, ny] : {std::pair{1, 1}, {1, 9}, {9, 1}, {2, 2}, {2, 31}, {3, 200}, {1000, 2}}) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny);
    expect_solved(FivePoint{.nx = nx, .ny = ny}.matrix(), 10);
  }
}

TEST_P(MatrixSolverTest, SingularMatricesLoseTheirMeans) {
  FivePoint neumann{.nx = 33, .ny = 20, .west = false, .east = false, .south = false, .north = false, .jump = 100};
  const Matrix a = neumann.matrix();
  MatrixSolver solver = from_csr(a);
  EXPECT_TRUE(solver.rows().singular);
  std::vector<double> b = random_numbers(a.rows());
  std::vector<double> x(b.size(), 0.0);
  expect_usage_error([&] { (void)solver(ctx(), b, x); }, "the matrix is singular, and the right-hand side sums to ");
  const double mean = std::accumulate(b.begin(), b.end(), 0.0) / a.rows();
  for (auto& v : b) v -= mean;
  expect_solved(solver, a, b, 10);
  EXPECT_EQ(solver(ctx(), b, x).status, Status::converged);
  EXPECT_NEAR(std::accumulate(x.begin(), x.end(), 0.0), 0, 1e-9);

  MatrixSolverParams project;
  project.project = true;
  MatrixSolver projecting = from_csr(a, project);
  for (auto& v : b) v += 1;
  EXPECT_EQ(projecting(ctx(), b, x).status, Status::converged);
  for (auto& v : b) v -= 1;
  EXPECT_LE(relative_residual(a, b, x), 1.1e-8);

  neumann.reaction = 1e-6;
  EXPECT_FALSE(from_csr(neumann.matrix()).rows().singular);
  expect_solved(neumann.matrix(), 12);
}

TEST_P(MatrixSolverTest, AClaimToBeSingularIsTested) {
  const FivePoint neumann{.nx = 12, .ny = 9, .west = false, .east = false, .south = false, .north = false};
  EXPECT_TRUE(from_csr(neumann.matrix(), {.singular = true}).rows().singular);
  expect_refused(FivePoint{}.matrix(), "the matrix is said to be singular, and a row of it sums to 2",
                 {.singular = true});
}

TEST_P(MatrixSolverTest, RowsThatHoldNothingButTheirDiagonalAreSolvedFirst) {
  // All around, as programs that keep Dirichlet nodes have them: other rows still couple to them.
  Matrix a = FivePoint{.nx = 34, .ny = 21}.matrix();
  std::vector<int> around;
  for (int j = 0; j < a.ny; ++j)
    for (int i = 0; i < a.nx; ++i)
      if (i == 0 || j == 0 || i == a.nx - 1 || j == a.ny - 1) around.push_back(j * a.nx + i);
  fix(a, around, -1e5);
  MatrixSolver solver = from_csr(a);
  EXPECT_TRUE(solver.rows().symmetric);
  EXPECT_EQ(solver.rows().left_nx, a.nx - 2);
  EXPECT_EQ(solver.rows().left_ny, a.ny - 2);
  EXPECT_EQ(solver.rows().fixed, around);
  std::vector<double> b = random_numbers(a.rows()), x(b.size(), 0.0);
  for (const int k : around) b[static_cast<std::size_t>(k)] *= 1e5;  // values of order one
  ASSERT_EQ(solver(ctx(), b, x).status, Status::converged);
  for (const int k : around) EXPECT_EQ(x[static_cast<std::size_t>(k)], b[static_cast<std::size_t>(k)] / -1e5);
  std::vector<double> r = product(a, x);
  for (std::size_t k = 0; k < r.size(); ++k) r[k] -= b[k];
  EXPECT_LE(norm(r), 1e-6);

  // One side, half a side, an island.
  for (const auto& fixed_where : {+[](int i, int) { return i == 0; }, +[](int i, int j) { return i == 0 && j < 9; },
                                  +[](int i, int j) { return i > 10 && i < 20 && j > 5 && j < 11; }}) {
    FivePoint p{.nx = 33, .ny = 21, .west = false, .east = false, .south = false, .north = false, .y_first = true};
    Matrix some = p.matrix();
    std::vector<int> fixed;
    for (int i = 0; i < p.nx; ++i)
      for (int j = 0; j < p.ny; ++j)
        if (fixed_where(i, j)) fixed.push_back(p.number(i, j));
    fix(some, fixed, 2);
    EXPECT_FALSE(from_csr(some).rows().singular);
    expect_solved(some, 12);
  }
}

TEST_P(MatrixSolverTest, NoNumberInARowThatNothingCouplesToIsNoSuccess) {
  FivePoint p;
  Matrix a = p.matrix();
  std::vector<int> frame;
  for (int k = 0; k < a.rows(); ++k)
    if (const int i = k % a.nx, j = k / a.nx; i == 0 || j == 0 || i + 1 == a.nx || j + 1 == a.ny) frame.push_back(k);
  fix(a, frame, 2);
  MatrixSolver solver = from_csr(a);
  for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<double> b = random_numbers(a.rows()), x(b.size(), 0.0);
    b[0] = wrong;  // a corner, between identity rows
    const SolveReport report = solver(ctx(), b, x);
    EXPECT_EQ(report.status, Status::non_finite);
    EXPECT_EQ(report.reason, "the right-hand side is not finite");
  }
  expect_solved(solver, a, random_numbers(a.rows()), 8);
}

TEST_P(MatrixSolverTest, IsAPreconditioner) {
  const Matrix a = elements("A3", 6);
  MatrixSolver m = from_csr(a);
  const SparseRows rows{a.rows(), a.rows(), a.start, a.column, a.value, 0};
  const CsrMatrix<double> csr(ctx(), rows);
  Field<double> b = vector_from_host(ctx(), random_numbers(a.rows())), x(ctx(), a.rows());
  const auto report = ConjugateGradients<double>(ctx(), csr.shape()).solve(ctx(), csr, m, b.cview(), x.view());
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(report.iterations, 12);

  // On the grid and on the host the same map.
  const std::vector<double> r = random_numbers(a.rows(), 3);
  std::vector<double> z(r.size()), on_grid(r.size());
  m.apply(ctx(), r, z);
  const GridLayout<2> grid = m.rows().a.shape();
  Field<double> rg(ctx(), grid), zg(ctx(), grid);
  copy_from_host(ctx(), r.data(), rg.view());
  m.apply(ctx(), rg.cview(), zg.view());
  copy_to_host(ctx(), zg.cview(), on_grid.data());
  EXPECT_EQ(z, on_grid);
}

TEST_P(MatrixSolverTest, UpdatesAndRefusesWhatWouldTakeAnother) {
  FivePoint p{.nx = 40, .ny = 31, .y_first = true};
  Matrix a = p.matrix();
  fix(a, {5}, 2);
  MatrixSolver solver = from_csr(a);
  p.jump = 500;
  p.hx = 0.01;
  Matrix other = p.matrix();
  fix(other, {5}, 7);
  solver.update_csr(ctx(), other.start, other.column, other.value);
  expect_solved(solver, other, random_numbers(a.rows()), 14);
  const auto refused = [&](const Matrix& changed, const char* why) {
    expect_usage_error([&] { solver.update_csr(ctx(), changed.start, changed.column, changed.value); }, why);
  };
  refused(p.matrix(), "row 5 held nothing but its diagonal before");
  Matrix skewed = other;
  skewed.value[static_cast<std::size_t>(other.start[100])] *= 2;
  refused(skewed, "the matrix was symmetric and is not any more: row ");
  // Parts of it may stand where the matrix was: nothing is solved by them.
  std::vector<double> b = random_numbers(a.rows()), x(b.size(), 0.0);
  const char* const why = "the latest update was refused";
  expect_usage_error([&] { (void)solver(ctx(), b, x); }, why);
  expect_usage_error([&] { solver.apply(ctx(), b, x); }, why);
  Field<double> on_grid(ctx(), solver.rows().a.shape()), there(ctx(), on_grid.shape());
  expect_usage_error([&] { (void)solver.solve(ctx(), on_grid.cview(), there.view()); }, why);
  expect_usage_error([&] { solver.apply(ctx(), on_grid.cview(), there.view()); }, why);
  EXPECT_EQ(x, std::vector<double>(x.size(), 0.0));
  expect_usage_error([&] { solver.set_stop({.rtol = -1}); }, "rtol must be");
  solver.update_csr(ctx(), a.start, a.column, a.value);  // stops as before
  expect_solved(solver, a, random_numbers(a.rows()), 9);
}

TEST_P(MatrixSolverTest, WhatIsNoMatrixForTheGridIsRefused) {
  const Matrix a = FivePoint{}.matrix();
  const auto with = [&](const auto& change) {
    Matrix changed = a;
    change(changed);
    return changed;
  };
  expect_refused(with([](Matrix& m) { m.value[20] = std::numeric_limits<double>::quiet_NaN(); }),
                 "row 5 has the entry nan in column 5");
  expect_refused(with([](Matrix& m) { m.column[20] = 119; }),
                 "row 5 couples to 119, which is no neighbour of it on a grid of 12 x 10");
  expect_refused(with([](Matrix& m) { m.column[20] = 120; }),
                 "row 5 has an entry in column 120 of 12 x 10 = 120 unknowns");
  expect_refused(with([](Matrix& m) { m.column[20] = -1; }), "row 5 has an entry in column -1");
  expect_refused(with([](Matrix& m) { m.start[7] = 0; }), "row starts must not decrease: number 7");
  expect_refused(with([](Matrix& m) {
                   for (auto& k : m.start) ++k;
                   for (auto& k : m.column) ++k;
                 }),
                 "; rows and columns are counted from 0");
  expect_usage_error(
      [&] {
        (void)MatrixSolver::from_matrix(ctx(), Compressed{a, true}, a.nx, a.ny);
      },
      "call makeCompressed()");
  expect_refused(with([](Matrix& m) { m.nx = 11; }),
                 "a matrix on a grid of 110 nodes has 110 rows and one row start more, not 121");
  expect_refused(with([](Matrix& m) { m.nx = 0; }), "a grid must have 1 x 1 to 2^31 - 1 nodes, not 0 x 10");
  expect_refused(with([](Matrix& m) { m.value.pop_back(); }), "columns for");
  expect_refused(with([](Matrix& m) { m.value.front() = -4; }),
                 "row 0 has the diagonal entry -4; all must be positive, or all negative");
  MatrixSolverParams params;
  params.widths_x.assign(7, 1.0);
  expect_refused(
      a, "in x the matrix has 12 nodes between dirichlet and dirichlet boundaries, which are 13 intervals; widths of 7",
      params);
  MatrixSolver solver = from_csr(a);
  std::vector<double> b(119), x(120);
  expect_usage_error([&] { (void)solver(ctx(), b, x); },
                     "the matrix has 120 rows; the arrays hold 119 and 120 numbers");
}

TEST_P(MatrixSolverTest, AnySolverTakesACycleInSinglePrecision) {
  const Matrix a = elements("U1", 6);
  const MatrixSolver read = from_csr(a);
  const GridOperator<double>& op = read.rows().a;
  MultigridParams params;
  params.symmetric = true;
  Multigrid<float> cycle(ctx(), op, params);
  Field<double> b(ctx(), op.shape()), x(ctx(), op.shape());
  set(ctx(), 1, b.view());
  ConjugateGradients<double> cg(ctx(), op.shape());
  for (int round = 0; round < 2; ++round) {
    set(ctx(), 0, x.view());
    const SolveReport report = cg.solve(ctx(), op, cycle, b.cview(), x.view());
    EXPECT_EQ(report.status, Status::converged);
    EXPECT_LE(report.iterations, 6);
  }
}

}  // namespace
