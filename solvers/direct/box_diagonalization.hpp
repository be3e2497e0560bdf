#pragma once

// Fast diagonalization in a box: the direct solution of A x = v for A of core/operators/box_operator.hpp by the modes of x and
// y and by lines along z. With K V = M V Lambda and V^T M V = 1 in x and in y,
//
//     w = Vy^T Vx^T v ,    (Kz + (lambda_i + lambda_j + c) Mz) u_ij = w_ij  for all i, j ,    x = Vx Vy u .
//
// Products with V are dense ones, or Fourier transforms (solvers/direct/mode_products.hpp).
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
// Of several ranks each has planes of its own, a part of every line; products stay local. A part is eliminated down to its last
// unknown R, while the last one of the part before, L, stays in: with p_k what has become of L's coupling,
//
//     D_k = p_k + g_(k+1) + E_k ,  p_(k+1) = g_(k+1) p_k / D_k ,  E_(k+1) = e_(k+1) + g_(k+1) E_k / D_k ,  E_L += p_k E_k / D_k ,
//     y_k = (w_k + g_k y_(k-1)) / D_k ,  w_L += p_k y_k .
//
// That leaves a line of one unknown a rank, whose couplings and pivots every rank has made for itself at the beginning, and 2
// numbers a line and rank, w_L and w_R, which are gathered. All ranks solve it alike, and u_k = y_k + (p_k u_L + g_(k+1)
// u_(k+1)) / D_k. Beside what stands below 4 P to 5 P numbers a line are kept on P ranks. One gather is all that ranks say to
// each other.
//
// Memory: four matrices at most, and room for some planes: a thread's on a CPU, so that the products of a plane stay in its
// cache, and half of v on a GPU, at most 4 GiB. Traffic beside the products, which take at most 4 (nx + ny) operations a
// number: 4 words a number. On a GPU a thread has a line: it keeps E / D of every eighth row, and forms the others anew on its
// way back. Nothing waits for the stream. Source: as in multigrid/poisson_solver_3d.hpp.

#include <array>
#include <memory>
#include <span>
#include <vector>

#include <stratum/core/operators/box_operator.hpp>
#include <stratum/solvers/direct/dense_products.hpp>
#include <stratum/solvers/direct/line_modes.hpp>
#include <stratum/solvers/direct/mode_products.hpp>

namespace stratum {

class BoxDiagonalization {
 public:
  BoxDiagonalization() = default;
  /// Modes of x and y as ModeProducts::modes makes them; in a memory dry run they are not looked at. `cuts`: of several ranks
  /// the first plane of each, and the number of planes; none of one rank.
  BoxDiagonalization(Context& ctx, const std::array<AxisFactors, 3>& axes, double reaction, const LineModes& x,
                     const LineModes& y, std::span<const int> cuts = {});

  /// x = A^-1 b, or x + A^-1 b where `add`. v is scratch, and may be b. b and v have padded_size(nx) numbers a row and
  /// padded_size(ny) rows a plane, those beyond nx and ny zero. x has as much room; what stands there stays with `add`, and
  /// else may be zero afterwards.
  void apply(Context& ctx, FieldView<const double, 3> b, FieldView<double, 3> v, FieldView<double, 3> x, bool add);

  /// Another c; the modes are the same. Every one of several ranks then eliminates the lines of all anew.
  void set_reaction(Context& ctx, double c);

  /// What multiplies.
  [[nodiscard]] const std::string& products() const { return products_->description(); }

 private:
  /// What lines of so many rows of the grid keep on a GPU.
  [[nodiscard]] std::int64_t numbers_of_lines(int rows) const;
  /// work(thread, its scratch); work(first column, how many, row, scratch) for all columns.
  template <class Work>
  void on_threads(const Context& ctx, const Work& work) const;
  template <class Work>
  void on_columns(const Context& ctx, const Work& work) const;
  /// Of a CPU's thread; work(first plane, how many, room for their rows, as much again, scratch) for all of this rank's planes.
  [[nodiscard]] int planes_together() const;
  template <class Work>
  void on_planes(const Context& ctx, const Work& work) const;
  template <class Run>
  void in_batches(const Run& run) const;
  /// Of a thread's scratch what products take.
  [[nodiscard]] std::int64_t panel() const;
  void join_parts(Context& ctx);
  void to_modes_on_host(const Context& ctx, const FieldView<const double, 3>& b, const FieldView<double, 3>& v);
  void from_modes_on_host(const Context& ctx, const FieldView<const double, 3>& v, const FieldView<double, 3>& x,
                          bool add);
  void solve_lines(Context& ctx, const FieldView<double, 3>& v);
  void solve_parts(Context& ctx, const FieldView<double, 3>& v);

  std::array<int, 3> n_{};  // on this rank
  double reaction_ = 0;
  bool periodic_lines_ = false;
  std::shared_ptr<void> numbers_, planes_;  // of the lines; scratch
  ModeProducts x_, y_;
  AxisFactorsView lines_{};  // from this rank's first one on
  std::vector<int> cuts_;    // of several ranks
  std::int64_t room_ = 0;    // numbers of planes_
  int rank_ = 0, ranks_ = 1;
  std::shared_ptr<void> joints_, sides_;  // of all ranks' parts: the line that they leave, and what is gathered
  std::shared_ptr<DenseProducts> products_;
};

}  // namespace stratum
