#pragma once

// Matrix decomposition: the direct solution of A x = b for a tensor operator A = Kx (x) My + Mx (x) (Ky + E) by the modes of
// one direction and line solves along the other. With (Ky + E) V = My V Lambda and V^T My V = 1,
//
//     B' = B V ,    (Kx + lambda_c Mx) u_c = b'_c  for every mode c ,    X = U V^T ,
//
// two products with a small dense matrix, and between them a tridiagonal system for every mode, which line solves of a tensor
// operator take as they take any other (smoothers/line_sweep.hpp). Source: Buzbee, Golub, Nielson, On Direct Methods for Solving
// Poisson's Equations, SIAM J. Numer. Anal. 7, 1970; as matrix decomposition: Bialecki, Fairweather, Karageorghis, Numer.
// Algorithms 56, 2011.
//
// The modes are those of the shorter direction, of n nodes, or of one with thin layers beside Neumann or Robin boundaries; the
// other may be of any length N. On a GPU three kernels, of 4 n^2 N operations and 6 n N words, replace all coarser levels of a
// cycle, which cost launches. Products are formed by tensor cores, in float from the leading and the trailing bits of each
// number, 22 in all. In float rounding x leaves a thousandth of the residual of smooth data for 255 x 255 unknowns on the named
// meshes, a hundredth for 511 x 511.

#include <memory>
#include <vector>

#include <stratum/smoothers/line_sweep.hpp>
#include <stratum/solvers/direct/rounded_modes.hpp>

namespace stratum {

template <class T>
class PartialDiagonalisation final : public Preconditioner<T> {
 public:
  static constexpr int max_modes = 520;

  /// Null unless `a` is a tensor operator between ends that are not periodic, of at most max_modes unknowns in a direction
  /// whose modes survive rounding (solvers/direct/rounded_modes.hpp), and beside Neumann or Robin boundaries of the other
  /// direction there are no layers so thin that rounding x feeds cycles there (in float 1e-9 of a line); and, of more than 64
  /// modes in double, the GPU has half as many operations in double as in float. 2 ms on the host for n = 255 and 6 for 511, by
  /// 16 threads. `singular`: A 1 = 0; of b's part along that mode x has some multiple, about a thousand times what smooth b
  /// leaves. A memory dry run takes for granted that all goes well.
  [[nodiscard]] static std::unique_ptr<PartialDiagonalisation> make(Context& ctx, const GridOperator<T>& a,
                                                                    bool singular = false);

  /// For A + c Mx (x) My, A being what it was made of and c of either sign: modes stay, their values in one direction move by
  /// c. Where T is float, A had better not have a large mass term itself, in which its stiffness is rounded away. Allocates
  /// nothing on the device; waits for the stream.
  void set_mass(Context& ctx, double c);
  /// x = A^-1 b
  void apply(Context& ctx, FieldView<const T> b, FieldView<T> x) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  PartialDiagonalisation(Context& ctx, const GridOperator<T>& a, Direction modes);
  /// False where there are none. `other`: factors of the other direction.
  [[nodiscard]] bool find_modes(Context& ctx, const LineFactors& line, const LineFactors& other, double reaction,
                                bool singular);

  GridLayout<2> shape_;
  Direction direction_;         // of the modes
  std::vector<double> values_;  // not rounded to T
  Field<T> matrices_;           // V by rows of nodes, then by rows of modes, padded with zeros
  GridOperator<T> lines_;       // Kx (x) 1 + Mx (x) Lambda
  LineSweep<T> sweep_;
  Field<T> u_, zeros_;  // zeros on CPUs alone
};

}  // namespace stratum
