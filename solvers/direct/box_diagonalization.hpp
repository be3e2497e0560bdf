#pragma once

// Fast diagonalization in a box: the direct solution of A x = v for A of core/operators/box_operator.hpp by the modes of x and y and by
// lines along z. With K V = M V Lambda and V^T M V = 1 in x and in y,
//
//     w = Vy^T Vx^T v ,    (Kz + (lambda_i + lambda_j + c) Mz) u_ij = w_ij  for all i, j ,    x = Vx Vy u .
//
// Lines are eliminated by what their rows have left, never by a difference: with beta = lambda_i + lambda_j + c, couplings
// g_k = k_k - beta m_k and row sums e_k = 3 beta (m_k + m_(k+1)),
//
//     E_0 = e_0 + g_0 ,   D_k = g_(k+1) + E_k ,   E_(k+1) = e_(k+1) + g_(k+1) E_k / D_k .
//
// Periodic lines: the last unknown is taken out, and what it gives to the others is 1 less the solution for the row sums, so that
// nothing is subtracted from its neighbours. A pivot of zero belongs to constants of a singular problem; its part of x is
// zero.
//
// Memory: four matrices, and room for some planes. On a CPU planes are taken one a thread, so that the four products of one stay in
// its cache. Traffic: 7 words a number beside the products, which take 4 (nx + ny) operations a number.
// Nothing waits for the stream. Source: as in multigrid/poisson_solver_3d.hpp.

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

  /// x = x + A^-1 v. v is used up: it has padded_size(nx) numbers a row and padded_size(ny) rows a plane, those beyond nx and ny
  /// zero. x may be written as far: it must have as much room, and it keeps what stands there.
  void apply(Context& ctx, FieldView<double, 3> v, FieldView<double, 3> x);

  /// What multiplies.
  [[nodiscard]] const std::string& products() const { return products_->description(); }

 private:
  void apply_on_host(const Context& ctx, const FieldView<double, 3>& v, const FieldView<double, 3>& x);

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
