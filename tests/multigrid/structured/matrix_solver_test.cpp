// Matrices as other people have them: read, detected about, solved; and refused with the row that is wrong.

#include <stratum/multigrid/structured/matrix_solver.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using reference::norm;
using testing::HasSubstr;

struct Matrix {
  int nx = 0, ny = 0;
  std::vector<int> start{0}, column;
  std::vector<double> value;

  [[nodiscard]] int rows() const { return nx * ny; }
};

/// Five-point differences of -div(k grad u) + c u on cells hx x hy, what reaches across a side either kept on the diagonal
/// (Dirichlet) or left out (Neumann).
struct FivePoint {
  int nx = 12, ny = 10;
  double hx = 1, hy = 1, reaction = 0;
  bool west = true, east = true, south = true, north = true;  // Dirichlet's
  bool periodic_x = false, periodic_y = false, y_first = false;
  double jump = 1;

  [[nodiscard]] double k(int i, int j) const { return i > nx / 3 && i < nx / 2 && j > ny / 4 ? jump : 1; }
  [[nodiscard]] int number(int i, int j) const { return y_first ? i * ny + j : j * nx + i; }
  [[nodiscard]] Matrix matrix() const {
    std::vector<std::map<int, double>> rows(static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny));
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        auto& row = rows[static_cast<std::size_t>(number(i, j))];
        row[number(i, j)] += reaction;
        for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
          int p = i + dx, q = j + dy;
          if (periodic_x) p = (p + nx) % nx;
          if (periodic_y) q = (q + ny) % ny;
          const bool inside = p >= 0 && p < nx && q >= 0 && q < ny;
          const bool dirichlet = dx < 0 ? west : dx > 0 ? east : dy < 0 ? south : north;
          if (!inside && !dirichlet) continue;
          const double there = inside ? k(p, q) : k(i, j);
          const double link = 2 / (1 / k(i, j) + 1 / there) * (dx != 0 ? hy / hx : hx / hy);
          row[number(i, j)] += link;
          if (inside) row[number(p, q)] -= link;
        }
      }
    Matrix a{nx, ny, {0}, {}, {}};
    for (const auto& row : rows) {
      for (const auto& [m, v] : row) {
        a.column.push_back(m);
        a.value.push_back(v);
      }
      a.start.push_back(static_cast<int>(a.column.size()));
    }
    return a;
  }
};

/// Nine-point: bilinear elements on a named mesh.
Matrix elements(const char* mesh, int level) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<2> m = make_mesh(mesh_family(mesh), level);
  const SparseRows a = sparse_rows(ctx, assemble_operator<double>(ctx, m, StorageFormat::nine_band, {}));
  return {m.unknowns().nx, m.unknowns().ny, a.start, a.column, a.value};
}

/// Rows of these unknowns hold nothing but this.
void fix(Matrix& a, const std::vector<int>& unknowns, double diagonal) {
  for (const int k : unknowns)
    for (int e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e)
      a.value[static_cast<std::size_t>(e)] = a.column[static_cast<std::size_t>(e)] == k ? diagonal : 0;
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

std::vector<double> product(const Matrix& a, const std::vector<double>& x) {
  std::vector<double> y(x.size(), 0.0);
  for (std::size_t k = 0; k < y.size(); ++k)
    for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e)
      y[k] += a.value[e] * x[static_cast<std::size_t>(a.column[e])];
  return y;
}

template <class Call>
void expect_usage_error(const Call& call, const char* why) {
  EXPECT_THAT(call, testing::ThrowsMessage<UsageError>(HasSubstr(why)));
}

/// ||b - A x|| / ||b||
double relative_residual(const Matrix& a, const std::vector<double>& b, const std::vector<double>& x) {
  std::vector<double> r = product(a, x);
  for (std::size_t k = 0; k < r.size(); ++k) r[k] = b[k] - r[k];
  return norm(r) / norm(b);
}

std::vector<double> random_numbers(int n, unsigned seed = 7) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (auto& v : x) v = uniform(generator);
  return x;
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

class MatrixSolverTest : public test::OnEveryBackend {
 protected:
  MatrixSolver from_csr(const Matrix& a, const MatrixSolverParams& params = {}) {
    return MatrixSolver::from_csr(ctx(), a.start, a.column, a.value, a.nx, a.ny, params);
  }
  /// Solves with a random right-hand side; the residual is the matrix's own.
  void expect_solved(MatrixSolver& solver, const Matrix& a, std::vector<double> b, int most_iterations) {
    std::vector<double> x(b.size(), 0.0);
    const SolveReport report = solver(ctx(), b, x);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(report.iterations, most_iterations);
    EXPECT_LE(relative_residual(a, b, x), 1.1e-8);
  }
  void expect_solved(const Matrix& a, int most_iterations, const MatrixSolverParams& params = {}) {
    MatrixSolver solver = from_csr(a, params);
    expect_solved(solver, a, random_numbers(a.rows()), most_iterations);
  }
  void expect_refused(const Matrix& a, const char* why, const MatrixSolverParams& params = {}) {
    expect_usage_error([&] { (void)from_csr(a, params); }, why);
  }
};

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

TEST_P(MatrixSolverTest, NonsymmetricMatrices) {
  Matrix a = FivePoint{.nx = 63, .ny = 40}.matrix();
  for (std::size_t k = 0; k + 1 < a.start.size(); ++k)  // transport along x, upwind
    for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e) {
      if (a.column[e] == static_cast<int>(k)) a.value[e] += 0.5;
      if (a.column[e] == static_cast<int>(k) - 1) a.value[e] -= 0.5;
    }
  const MatrixSolver solver = from_csr(a);
  EXPECT_FALSE(solver.rows().symmetric);
  EXPECT_EQ(solver.solver().params().method, Method::gmres);
  expect_solved(a, 12);
}

/// Five-point finite differences of -Laplace u + v u_x (upwind) between Dirichlet boundaries on cells of these widths: rows
/// divided by the volumes around their nodes.
Matrix differences(const std::vector<double>& hx, const std::vector<double>& hy, double v = 0) {
  Matrix a{static_cast<int>(hx.size()) - 1, static_cast<int>(hy.size()) - 1, {0}, {}, {}};
  for (std::size_t j = 0; j + 1 < hy.size(); ++j)
    for (std::size_t i = 0; i + 1 < hx.size(); ++i) {
      const double x = (hx[i] + hx[i + 1]) / 2, y = (hy[j] + hy[j + 1]) / 2;
      const double west = 1 / (hx[i] * x) + v / hx[i], east = 1 / (hx[i + 1] * x);
      const double south = 1 / (hy[j] * y), north = 1 / (hy[j + 1] * y);
      const int k = static_cast<int>(j) * a.nx + static_cast<int>(i);
      const auto add = [&a](bool there, int m, double value) {
        if (!there) return;
        a.column.push_back(m);
        a.value.push_back(value);
      };
      add(j > 0, k - a.nx, -south);
      add(i > 0, k - 1, -west);
      add(true, k, west + east + south + north);
      add(i + 2 < hx.size(), k + 1, -east);
      add(j + 2 < hy.size(), k + a.nx, -north);
      a.start.push_back(static_cast<int>(a.column.size()));
    }
  return a;
}

/// n cells in 0 .. 1, half of them within `layer` of the end.
std::vector<double> with_layer(int n, double layer) {
  std::vector<double> h(static_cast<std::size_t>(n), 2 * (1 - layer) / n);
  std::fill(h.begin() + n / 2, h.end(), 2 * layer / n);
  return h;
}

// Galerkin products of rows as they stand would take 100 iterations and more: they add up rows of volumes 10^4 apart.
TEST_P(MatrixSolverTest, RowsDividedByVolumesThatJumpAreScaled) {
  const std::vector<double> even = with_layer(64, 0.5), layer = with_layer(64, 1e-4);
  expect_solved(differences(layer, even), 12);
  expect_solved(differences(even, layer), 12);
  expect_solved(differences(layer, layer), 12);
  const Matrix transported = differences(layer, layer, 1e3), plain = differences(even, even, 10);
  expect_solved(transported, 12);
  MatrixSolverParams some;
  some.solver.multigrid.sweeps = 4;  // a GPU's default is fewer
  for (const auto method : {Method::multigrid, Method::bicgstab}) {
    some.solver.method = method;
    expect_solved(transported, 30, some);
  }
  some = {};
  some.solver.precision = Precision::full;
  expect_solved(transported, 12, some);

  // Scales come and go with the numbers.
  MatrixSolver solver = from_csr(plain);
  for (const Matrix& now : {transported, plain, transported}) {
    solver.update_csr(ctx(), now.start, now.column, now.value);
    expect_solved(solver, now, random_numbers(now.rows()), 12);
  }
  EXPECT_FALSE(solver.is_symmetric());
  const std::vector<double> exact(static_cast<std::size_t>(transported.rows()), 1.0);
  std::vector<double> z(exact.size());
  solver.apply(ctx(), product(transported, exact), z);
  for (std::size_t k = 0; k < z.size(); ++k) z[k] -= exact[k];
  EXPECT_LT(norm(z), 0.3 * norm(exact));
}

TEST_P(MatrixSolverTest, RowsDividedByACoefficientAreScaled) {
  Matrix a = FivePoint{.nx = 63, .ny = 50}.matrix();
  for (int k = 0; k < a.rows(); ++k)
    for (int e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e)
      a.value[static_cast<std::size_t>(e)] *= (k % 63 / 8 + k / 63 / 8) % 2 == 0 ? 1 : 1e4;
  expect_solved(a, 10);
}

/// Half cells at Neumann or Robin boundaries: -Laplace u by rows that all sum to zero, and not symmetric.
Matrix half_cells(int nx, int ny) {
  Matrix a{nx, ny, {0}, {}, {}};
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      a.column.push_back(j * nx + i);
      a.value.push_back(4);
      for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
        const int p = i + dx, q = j + dy;
        if (p < 0 || p >= nx || q < 0 || q >= ny) continue;
        const bool mirrored = dx != 0 ? (i == 0 || i == nx - 1) : (j == 0 || j == ny - 1);
        a.column.push_back(q * nx + p);
        a.value.push_back(mirrored ? -2 : -1);
      }
      a.start.push_back(static_cast<int>(a.column.size()));
    }
  return a;
}

TEST_P(MatrixSolverTest, SingularMatricesWithHalfCells) {
  const Matrix a = half_cells(33, 40);
  MatrixSolver solver = from_csr(a);
  EXPECT_TRUE(solver.solver().params().multigrid.singular);
  std::vector<double> exact = random_numbers(a.rows());
  const double mean = std::accumulate(exact.begin(), exact.end(), 0.0) / a.rows();
  for (double& v : exact) v -= mean;
  std::vector<double> b = product(a, exact), x = random_numbers(a.rows(), 3);
  ASSERT_EQ(solver(ctx(), b, x).status, Status::converged);
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], exact[k], 1e-6) << k;

  for (double& v : b) v += 1;
  expect_usage_error([&] { (void)solver(ctx(), b, x); }, "its rows scaled as makes the matrix symmetric");
  MatrixSolver projecting = from_csr(a, {.project = true});
  ASSERT_EQ(projecting(ctx(), b, x).status, Status::converged);
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], exact[k], 1e-6) << k;
}

// The norm of the right-hand side is that of the penalties: 1e-8 of it says nothing about other rows.
TEST_P(MatrixSolverTest, PenaltiesHideNoRows) {
  const FivePoint neumann{.nx = 33, .ny = 40, .west = false, .east = false, .south = false, .north = false};
  for (const double penalty : {1e4, 1e8, 1e12, 1e17, 1e30}) {
    Matrix a = neumann.matrix();
    std::vector<double> exact;
    int penalised = 0;
    for (int k = 0; k < a.rows(); ++k) {
      const int i = k % a.nx, j = k / a.nx;
      exact.push_back(std::sin(0.1 * i + 0.05 * j));
      if (i > 0 && i < a.nx - 1 && j > 0 && j < a.ny - 1) continue;
      ++penalised;
      for (int e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e)
        if (a.column[static_cast<std::size_t>(e)] == k) a.value[static_cast<std::size_t>(e)] += penalty;
    }
    MatrixSolver solver = from_csr(a);
    EXPECT_EQ(solver.rows().fixed_in_all, penalty > 1e16 ? penalised : 0);
    const std::vector<double> b = product(a, exact);
    std::vector<double> x(b.size(), 0.0);
    EXPECT_EQ(solver(ctx(), b, x).status, Status::converged) << penalty;
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], exact[k], 2e-6) << penalty << ", " << k;
  }
  // One node that is held.
  Matrix a = neumann.matrix();
  const int middle = 20 * a.nx + 16;
  for (int e = a.start[middle]; e < a.start[middle + 1]; ++e)
    if (a.column[static_cast<std::size_t>(e)] == middle) a.value[static_cast<std::size_t>(e)] += 1e30;
  MatrixSolver solver = from_csr(a);
  EXPECT_EQ(solver.rows().fixed, std::vector<int>{middle});
  const std::vector<double> exact = random_numbers(a.rows()), b = product(a, exact);
  std::vector<double> x(b.size(), 0.0);
  EXPECT_EQ(solver(ctx(), b, x).status, Status::converged);
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], exact[k], 1e-5) << k;
}

TEST_P(MatrixSolverTest, AConstantBetweenNaturalSidesIsFoundAtOnce) {
  const Matrix a =
      FivePoint{.nx = 33, .ny = 40, .reaction = 0.01, .west = false, .east = false, .south = false, .north = false}
          .matrix();
  const std::vector<double> b(static_cast<std::size_t>(a.rows()), 1.0);
  std::vector<double> x(b.size(), 0.0);
  MatrixSolver solver = from_csr(a);
  const SolveReport report = solver(ctx(), b, x);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(report.iterations, 1);
  for (const double v : x) ASSERT_NEAR(v, 100, 1e-8);
}

/// Islands of k = 10^6 in a sea of 1.
Matrix islands(int n, double inside) {
  Matrix a{n, n, {0}, {}, {}};
  const auto k = [=](int i, int j) { return i % 32 > 10 && i % 32 < 25 && j % 32 > 8 && j % 32 < 20 ? inside : 1.0; };
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      double diagonal = 0;
      for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
        const double link = 2 / (1 / k(i, j) + 1 / k(i + dx, j + dy));
        diagonal += link;
        if (i + dx < 0 || i + dx >= n || j + dy < 0 || j + dy >= n) continue;
        a.column.push_back((j + dy) * n + i + dx);
        a.value.push_back(-link);
      }
      a.column.push_back(j * n + i);
      a.value.push_back(diagonal);
      a.start.push_back(static_cast<int>(a.column.size()));
    }
  return a;
}

TEST_P(MatrixSolverTest, IsolatedPartsThatAreStronglyCoupledAreDeflated) {
  const Matrix a = islands(127, 1e6);
  MatrixSolverParams with;
  with.solver.multigrid.exact_below = 0;  // with an exact level a cycle of a GPU sees by itself what is isolated there
  MatrixSolver solver = from_csr(a, with);
  EXPECT_EQ(solver.solver().deflation(), "by 16 inclusions, x in two parts");
  expect_solved(solver, a, random_numbers(a.rows()), 14);
  EXPECT_EQ(solver.solver().params().interpolation, InterpolationKind::matrix);
  MatrixSolverParams without = with;
  without.solver.deflate.by = DeflateBy::none;
  const std::vector<double> b = random_numbers(a.rows());
  const auto iterations = [&](MatrixSolver some) {
    std::vector<double> x(b.size(), 0.0);
    return some(ctx(), b, x).iterations;
  };
  EXPECT_LT(iterations(solver), iterations(from_csr(a, without)));

  // Other numbers, other vectors, or none.
  const Matrix even = islands(127, 1);
  solver.update_csr(ctx(), even.start, even.column, even.value);
  EXPECT_THAT(solver.solver().deflation(), HasSubstr("none: K jumps by 1"));
  EXPECT_EQ(solver.solver().params().interpolation, InterpolationKind::bilinear);
  expect_solved(solver, even, b, 7);
  solver.update_csr(ctx(), a.start, a.column, a.value);
  EXPECT_EQ(solver.solver().params().interpolation, InterpolationKind::matrix);
  expect_solved(solver, a, b, 14);
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
