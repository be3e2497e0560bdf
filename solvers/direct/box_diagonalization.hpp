#pragma once

// Fast diagonalization in a box: the direct solution of A x = v for A of core/operators/box_operator.hpp by the modes of x and
// y and by lines along z. With K V = M V Lambda and V^T M V = 1 in x and in y,
//
//     w = Vy^T Vx^T v ,    (Kz + (lambda_i + lambda_j + c) Mz) u_ij = w_ij  for all i, j ,    x = Vx Vy u .
//
// Lines are eliminated by what their rows have left, never by a difference: with beta = lambda_i + lambda_j + c, couplings
// g_k = k_k - beta m_k and row sums e_k = 3 beta (m_k + m_(k+1)),
//
//     E_0 = e_0 + g_0 ,   D_k = g_(k+1) + E_k ,   E_(k+1) = e_(k+1) + g_(k+1) E_k / D_k .
//
// Periodic lines: the last unknown is taken out, and what it gives to the others is 1 less the solution for the row sums, so
// that nothing is subtracted from its neighbours. A pivot of zero belongs to constants of a singular problem; its part of x is
// zero.
//
// Memory: four matrices, and room for some planes: a thread's on a CPU, so that the products of a plane stay in its cache, and
// an eighth of v on a GPU. Traffic beside the products, which take 4 (nx + ny) operations a number: 4 words a number. On a GPU
// a thread has a line: it keeps E / D of every eighth row, and forms the others anew on its way back. Nothing waits for the
// stream. Source: as in multigrid/poisson_solver_3d.hpp.

#include <array>
#include <memory>

#include <stratum/core/operators/box_operator.hpp>
#include <stratum/solvers/direct/dense_products.hpp>
#include <stratum/solvers/direct/line_modes.hpp>

namespace stratum {

class BoxDiagonalization {
 public:
  BoxDiagonalization() = default;
  /// Modes of x and y as rows of V^T; in a memory dry run they are not looked at.
  BoxDiagonalization(Context& ctx, const std::array<AxisFactors, 3>& axes, double reaction, const LineModes& x,
                     const LineModes& y);

  /// x = A^-1 b, or x + A^-1 b where `add`. v is scratch, and may be b. b and v have padded_size(nx) numbers a row and
  /// padded_size(ny) rows a plane, those beyond nx and ny zero. x has as much room; what stands there stays with `add`, and
  /// else may be zero afterwards.
  void apply(Context& ctx, FieldView<const double, 3> b, FieldView<double, 3> v, FieldView<double, 3> x, bool add);

  /// What multiplies.
  [[nodiscard]] const std::string& products() const { return products_->description(); }

 private:
  /// What lines of so many rows of the grid keep on a GPU.
  [[nodiscard]] std::int64_t numbers_of_lines(int rows) const;
  void apply_on_host(const Context& ctx, const FieldView<const double, 3>& b, const FieldView<double, 3>& v,
                     const FieldView<double, 3>& x, bool add);

  std::array<int, 3> n_{};
  double reaction_ = 0;
  bool periodic_lines_ = false;
  std::shared_ptr<void> numbers_, planes_;
  DenseMatrix x_forward_, x_back_, y_forward_, y_back_;
  const double *values_x_ = nullptr, *values_y_ = nullptr;
  AxisFactorsView lines_{};
  std::int64_t room_ = 0;  // numbers of planes_
  std::shared_ptr<DenseProducts> products_;
};

}  // namespace stratum
