// Vectors of other libraries in solves (multigrid/structured/dense_vectors.hpp): classes like Eigen's.

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <gmock/gmock.h>

#include <stratum/multigrid/structured/box_matrix_solver.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

namespace {

using namespace stratum;

/// As Eigen::VectorXd is, and with a stride a row of a matrix that is stored by columns.
class Vector {
 public:
  explicit Vector(std::ptrdiff_t n, double value = 0) : numbers_(static_cast<std::size_t>(n), value) {}
  [[nodiscard]] double* data() { return numbers_.data(); }
  [[nodiscard]] const double* data() const { return numbers_.data(); }
  [[nodiscard]] std::ptrdiff_t size() const { return static_cast<std::ptrdiff_t>(numbers_.size()) / stride_; }
  [[nodiscard]] std::ptrdiff_t innerStride() const { return stride_; }
  void set_stride(std::ptrdiff_t stride) { stride_ = stride; }

 private:
  std::vector<double> numbers_;
  std::ptrdiff_t stride_ = 1;
};

struct Rows {
  std::vector<int> start{0}, column;
  std::vector<double> value;
};

/// 2 d points around each node of a box.
Rows laplacian(const std::array<int, 3>& n) {
  Rows a;
  const int dimensions = n[2] > 1 ? 3 : 2;
  for (int k = 0; k < n[2]; ++k)
    for (int j = 0; j < n[1]; ++j)
      for (int i = 0; i < n[0]; ++i) {
        const std::array<int, 3> at{i, j, k};
        std::array<int, 3> stride{1, n[0], n[0] * n[1]};
        const int row = i + j * stride[1] + k * stride[2];
        a.column.push_back(row);
        a.value.push_back(2 * dimensions);
        for (std::size_t d = 0; d < 3; ++d)
          for (const int step : {-1, 1})
            if (at[d] + step >= 0 && at[d] + step < n[d]) {
              a.column.push_back(row + step * stride[d]);
              a.value.push_back(-1);
            }
        a.start.push_back(static_cast<int>(a.column.size()));
      }
  return a;
}

double residual(const Rows& a, const Vector& b, const Vector& x) {
  double sum = 0;
  for (std::size_t k = 0; k + 1 < a.start.size(); ++k) {
    double r = b.data()[k];
    for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e)
      r -= a.value[e] * x.data()[a.column[e]];
    sum += r * r;
  }
  return std::sqrt(sum);
}

TEST(DenseVectors, AreSolvedWith) {
  Context ctx(Backend::cpu, 1);
  const Rows a = laplacian({17, 12, 1});
  MatrixSolver solver = MatrixSolver::from_csr(ctx, a.start, a.column, a.value, 17, 12);
  const Vector b(17 * 12, 1);
  Vector x(17 * 12), z(17 * 12);
  EXPECT_EQ(solver(ctx, b, x).status, Status::converged);
  EXPECT_LT(residual(a, b, x), 1.1e-8 * std::sqrt(17 * 12));
  std::vector<double> y(17 * 12), expected(17 * 12);
  EXPECT_EQ(solver.solve(ctx, b, y).status, Status::converged);
  solver.apply(ctx, b, z);
  solver.apply(ctx, std::vector<double>(17 * 12, 1), expected);
  for (std::size_t k = 0; k < y.size(); ++k) {
    EXPECT_EQ(y[k], x.data()[k]);
    EXPECT_EQ(z.data()[k], expected[k]);
  }
  z.set_stride(2);
  EXPECT_THAT([&] { (void)solver(ctx, b, z); }, testing::ThrowsMessage<UsageError>(testing::HasSubstr("lie 2 apart")));
}

TEST(DenseVectors, AreSolvedWithInBoxes) {
  Context ctx(Backend::cpu, 1);
  const Rows a = laplacian({6, 5, 7});
  BoxMatrixSolver solver(ctx, rows_of_csr<int>(a.start, a.column, a.value), {6, 5, 7});
  const Vector b(6 * 5 * 7, 1);
  Vector x(6 * 5 * 7);
  EXPECT_EQ(solver.solve(ctx, b, x).status, Status::converged);
  EXPECT_LT(residual(a, b, x), 1.1e-8 * std::sqrt(6 * 5 * 7));
}

}  // namespace
